"""What is exported: a compiled function, with what its numbers are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from linkwork.arguments import Array
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.engine.code import fingerprint
from linkwork.engine.spaces import SPACES
from linkwork.engine.targets.routine import Routine, routine_of
from linkwork.model.model import Model
from linkwork.properties import cached_property

Samples = Callable[[np.random.Generator], Array]
"""Draws an argument of one state."""
_ROWS = 64
"""Rows of an array that are told apart in messages."""


@dataclass(frozen=True)
class Part:
    """An argument or a result.

    Attributes:
        name: in the generated text; ``called`` is what Python calls it.
        about: what it is, with units.
        model, space: of what it is a number for each joint or body, if it is that.
    """

    name: str
    called: str
    shape: tuple[int, ...]
    about: str = ""
    model: Model | None = None
    space: str = ""
    samples: Samples | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def owners(self) -> list[str]:
        """To what the numbers of each row belong; one text if the rows are not told apart."""
        if not self.shape or not 0 < self.shape[0] <= _ROWS:
            return [self.called]
        rows = range(self.shape[0])
        if self.model is None or self.space not in SPACES:
            return [f"{self.called}[{k}]" for k in rows]
        space, rest = SPACES[self.space], (0,) * (len(self.shape) - 1)
        return [f"{self.called}[{k}], of {space.coordinate(self.model, (k, *rest))}," for k in rows]

    def drawn(self, random: np.random.Generator) -> Array:
        """Numbers for a test."""
        draw = self.samples or (lambda random: random.normal(size=self.shape))
        return np.asarray(draw(random), dtype=np.float64).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class Unit:
    """A function to export.

    Attributes:
        about: what it computes, in a sentence.
        model: the mechanism, if it is one function of one.
        over_time: the number of its first arguments that are the state which its results advance; 0 for no step.
        pivots: a function of q, the inertia that each joint moves in it, by which a singular joint is named.
        notes: more for who reads the exported text.
        page: of a step, its length (s), and what makes the units of a page: a step that takes joint forces and wrenches
            on bodies, and the placements of all bodies.
    """

    name: str
    function: CompiledFunction
    arguments: Sequence[Part]
    results: Sequence[Part]
    about: str
    model: Model | None = None
    over_time: int = 0
    pivots: CompiledFunction | None = None
    notes: Sequence[str] = field(default_factory=list)
    page: tuple[float, Callable[[], tuple[Unit, Unit]]] | None = None

    @cached_property
    def routine(self) -> Routine:
        """Its program, and what that calls."""
        return routine_of(self.function.task)

    @cached_property
    def pivots_routine(self) -> Routine | None:
        """Those of the pivots."""
        return None if self.pivots is None else routine_of(self.pivots.task)

    @property
    def trace_digest(self) -> str:
        """Of what is computed, number by number."""
        called = [fingerprint.of_model(what.model, what.frames) for what in self.routine.called]
        return fingerprint.key(fingerprint.of_program(self.routine.program), called)

    @property
    def model_digest(self) -> str | None:
        """Of the mechanism's numbers."""
        return None if self.model is None else fingerprint.of_model(self.model, self.model.frames)
