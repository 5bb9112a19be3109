"""What is to be computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from linkwork.algorithms import Algorithm
from linkwork.engine.spaces import SPACES, Space, shifted
from linkwork.model.model import Frame, Model


class Task:
    """An algorithm for a model, some arguments left out, and frames that offsets may move.

    ``over_time`` says that the algorithm is a step, of ``stepping``, and that code repeats it.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        model: Model,
        absent: tuple[str, ...] = (),
        frames: Sequence[Frame] = (),
        offsets: bool = False,
        over_time: bool = False,
    ) -> None:
        self.algorithm, self.model, self.absent, self.frames = algorithm, model, absent, tuple(frames)
        self.offsets, self.over_time = offsets, over_time

    @cached_property
    def spaces(self) -> list[Space]:
        """Of the arguments that are there."""
        return [SPACES[space] for name, space in self.algorithm.arguments if name not in self.absent]

    @cached_property
    def argument_shapes(self) -> list[tuple[int, ...]]:
        return [space.shape(self.model, len(self.frames)) for space in self.spaces]

    @cached_property
    def arguments(self) -> list[int]:
        """How many numbers one state has in each argument."""
        return [space.size(self.model, len(self.frames)) for space in self.spaces]

    @cached_property
    def result_spaces(self) -> list[Space]:
        return [SPACES[space] for space in self.algorithm.results]

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of the results."""
        return [space.shape(self.model, len(self.frames)) for space in self.result_spaces]

    @cached_property
    def results(self) -> list[int]:
        """How many numbers one state has in each result."""
        return [space.size(self.model, len(self.frames)) for space in self.result_spaces]

    def moved_frames(self, offsets: Sequence[float]) -> list[Frame]:
        """The frames with their offsets, three numbers each, in their placements."""
        return moved(self.frames, offsets)


def moved(frames: Sequence[Frame], offsets: Sequence[float]) -> list[Frame]:
    """Frames with their offsets, three numbers each, in their placements."""
    if not offsets:
        return list(frames)
    return [
        replace(frame, placement=shifted(frame.placement, offsets[3 * i : 3 * i + 3])) for i, frame in enumerate(frames)
    ]
