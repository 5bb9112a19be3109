"""What is to be computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from linkwork.algorithms import Algorithm
from linkwork.engine.spaces import SPACES, shifted
from linkwork.model.model import Frame, Model


class Task:
    """An algorithm for a model, some arguments left out, and frames that offsets may move.

    ``over_time`` says that the algorithm is a step, of ``stepping``, and that code repeats it. ``shapes`` are those of
    the results; ``arguments`` and ``results`` tell how many numbers one state has in each.
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
        self.spaces = [SPACES[space] for name, space in algorithm.arguments if name not in absent]
        self.result_spaces = [SPACES[space] for space in algorithm.results]
        self.argument_shapes, self.shapes = (
            [space.shape(model, len(frames)) for space in spaces] for spaces in (self.spaces, self.result_spaces)
        )
        self.arguments, self.results = (
            [prod(shape) for shape in shapes] for shapes in (self.argument_shapes, self.shapes)
        )


def moved(frames: Sequence[Frame], offsets: Sequence[float]) -> list[Frame]:
    """Frames with their offsets, three numbers each, in their placements."""
    if not offsets:
        return list(frames)
    return [
        replace(frame, placement=shifted(frame.placement, offsets[3 * i : 3 * i + 3])) for i, frame in enumerate(frames)
    ]
