"""What is to be computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from linkwork.algorithms import Algorithm
from linkwork.engine.run import threads
from linkwork.engine.spaces import OFFSETS, SPACES, shifted
from linkwork.model.model import Frame, Model

Shape = tuple[int, ...]
FAST = 2e3
"""The speed of a joint (rad/s or m/s) up to which rounding of velocity terms, of the size of its square times 1e-16, is
small enough; ``dynamics/high_speeds`` looks at states beyond it.
"""


class Signature:
    """The shapes of one state's arguments and results, and their cost.

    ``arguments`` and ``results`` have how many numbers one state has in each; ``over_time`` says that this is a step,
    whose first arguments are its first results, and that code repeats it; ``seconds`` is roughly what one state takes
    on one lane: enough to decide whether a thread pays off.
    """

    def __init__(
        self, argument_shapes: Sequence[Shape], shapes: Sequence[Shape], seconds: float, over_time: bool = False
    ) -> None:
        self.argument_shapes, self.shapes = list(argument_shapes), list(shapes)
        self.arguments, self.results = ([prod(shape) for shape in each] for each in (argument_shapes, shapes))
        self.seconds, self.over_time = seconds, over_time

    @property
    def inputs(self) -> list[int]:
        """How many numbers one state has in each array that code takes: the arguments, and offsets of frames."""
        return self.arguments

    @property
    def name(self) -> tuple[object, ...]:
        """What is computed, as far as code depends on it."""
        return ()

    @property
    def most(self) -> tuple[tuple[int, float], ...]:
        """The arguments, by their places, of which the builtins leave calls with larger numbers to Python."""
        return ()


class Task(Signature):
    """An algorithm for a model, some arguments left out, and frames that ``offsets`` may move, which code takes after
    the arguments: the same for all states, or, if ``placed``, as one more argument.

    With ``derivatives``, each "forward" or "backward", there are more
    arguments and results: tangents of the arguments and changes of the results, or weights of the results and gradients
    for the arguments. With ``rotors`` the rotor inertias of all joints are the last argument, not the model's. ``kept``
    are those of six rows for each frame that results have; all of them if None.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        model: Model,
        absent: tuple[str, ...] = (),
        frames: Sequence[Frame] = (),
        offsets: bool = False,
        derivatives: tuple[str, ...] = (),
        kept: tuple[int, ...] | None = None,
        rotors: bool = False,
        placed: bool = False,
    ) -> None:
        self.derivatives, self.kept, self.rotors, self.placed = derivatives, kept, rotors, placed
        self.algorithm, self.model, self.absent, self.frames = algorithm, model, absent, tuple(frames)
        self.offsets = offsets
        self.spaces = [SPACES[space] for name, space in algorithm.arguments if name not in absent]
        self.spaces += [*([SPACES["velocity"]] if rotors else []), *([OFFSETS] if placed else [])]
        self.result_spaces = [SPACES[space] for space in algorithm.results]
        argument_shapes = [space.shape(model, len(frames)) for space in self.spaces]
        shapes = [space.kept_shape(model, len(frames), kept) for space in self.result_spaces]
        seconds = threads.SECONDS * max(1, len(model.bodies))
        for way in derivatives:
            given, found = (argument_shapes, shapes) if way == "forward" else (shapes, argument_shapes)
            argument_shapes, shapes, seconds = [*argument_shapes, *given], [*shapes, *found], 3.0 * seconds
        super().__init__(argument_shapes, shapes, seconds)

    @property
    def inputs(self) -> list[int]:
        return [*self.arguments, 3 * len(self.frames)] if self.offsets else self.arguments

    @property
    def name(self) -> tuple[object, ...]:
        more: list[object] = [word for word in ("rotors", "placed", "offsets") if getattr(self, word)]
        more += [] if self.kept is None else [self.kept]
        return self.algorithm.name, self.absent, *self.derivatives, *more

    @property
    def most(self) -> tuple[tuple[int, float], ...]:
        if not self.algorithm.quadratic or self.derivatives:
            return ()
        names = [name for name, _ in self.algorithm.arguments if name not in self.absent]
        return ((names.index("v"), FAST),)

    @property
    def whole(self) -> Task:
        """The same with all rows."""
        return Task(self.algorithm, self.model, self.absent, self.frames, self.offsets)

    def places(self) -> list[list[int]]:
        """Which numbers of each result of the whole are those of a result."""
        frames = len(self.frames)
        return [space.kept_places(self.model, frames, self.kept) for space in self.result_spaces]


def moved(frames: Sequence[Frame], offsets: Sequence[float]) -> list[Frame]:
    """Frames with their offsets, three numbers each, in their placements."""
    if not offsets:
        return list(frames)
    return [
        replace(frame, placement=shifted(frame.placement, offsets[3 * i : 3 * i + 3])) for i, frame in enumerate(frames)
    ]
