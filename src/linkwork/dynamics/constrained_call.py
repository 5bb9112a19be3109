"""The path of a public function of states with constraints, from its arguments to its kernel.

Each such function is one text over arrays. Traced, it is one kernel for a model and its constraints, with the held
placements and the settings of the solver as data; on floats it combines several kernels, for mechanisms of many bodies,
and for states of which the kernel has no result: there an error says why, or the rank is determined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from linkwork.batches import put_into
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.constraint_solvers import JoinedSolver, Solver, TracedSolver
from linkwork.dynamics.held import HeldBy
from linkwork.engine.spaces import SPACES

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

Shape = tuple[int, ...]


class Case(NamedTuple):
    """What a kernel is for, besides the constraints: choices of the function, whether there are external forces,
    stabilisation and proximal damping.
    """

    choices: tuple[Any, ...]
    loaded: bool
    stabilised: bool
    damped: bool


class ConstrainedFunction(ABC):
    """A function of states with constraints."""

    name: ClassVar[str]
    arguments: ClassVar[tuple[tuple[str, str], ...]]
    """Names and spaces; the last one, of external forces, may be left out."""

    @abstractmethod
    def text(self, state: ConstrainedState, choices: tuple[Any, ...]) -> tuple[Array, ...]:
        """The results, over arrays of floats or of traced numbers."""

    @abstractmethod
    def free(self, state: ConstrainedState, choices: tuple[Any, ...]) -> tuple[Array, ...]:
        """The results without any constraint."""

    @abstractmethod
    def shapes(self, held: HeldBy, choices: tuple[Any, ...]) -> list[Shape]:
        """The shapes of the results for one state."""

    def check(self, held: HeldBy, choices: tuple[Any, ...]) -> None:
        """Raise an error, or warn, for a model that these choices do not suit."""
        return

    def identity(self, held: HeldBy, choices: tuple[Any, ...]) -> object:
        """What a kernel depends on besides its case and the constraints."""
        return ()

    def joined(self, state: ConstrainedState, choices: tuple[Any, ...]) -> tuple[Array, ...]:
        """The results on floats."""
        return self.text(state, choices)

    def __call__(
        self, held: HeldBy, choices: tuple[Any, ...], values: Sequence[Any], out: Any,
        stabilisation: float | None = None, proximal: float = 0.0,
    ) -> Any:  # fmt: skip
        """The results for the arguments of a public function."""
        # True and 1 + 0j also equal 1.0
        key = (self.name, *choices, len(values), stabilisation, type(stabilisation), proximal, type(proximal))
        answer = call.recall(held.quick, key, out, *values)
        if answer is not None:
            return answer
        settings = held.settings(stabilisation, proximal)
        case = Case(
            choices, "f_ext" in dict(self.arguments[: len(values)]), stabilisation is not None, bool(settings[2])
        )
        law = held.laws.get((self.name, case))
        if law is not None:
            answer = call.serve_by(law, held.quick, key, (held.placements, settings), out, *values)
            if answer is not None:
                return answer
        return self._checked(held, case, values, settings, out)

    def _checked(self, held: HeldBy, case: Case, values: Sequence[Any], settings: Array, out: Any) -> Any:
        """The results for any valid arguments: by the kernel if there is one, and on floats for other states."""
        given, batch = as_batch(held.model, self.arguments[: len(values)], values)
        self.check(held, case.choices)
        apart = dict(zip((name for name, _ in self.arguments), values, strict=False))
        chosen, proximal = settings if case.stabilised else None, float(settings[2])

        def state(solver: Solver, which: Any = ...) -> ConstrainedState:
            own = [each if which is ... else each[which] for each in given if each is not None]
            return ConstrainedState(held, solver, held.placements, chosen, *own)

        if any(map(is_traced, given)):
            return self.text(state(TracedSolver(held.name, proximal, self.name)), case.choices)
        joined = JoinedSolver(held.name, proximal, self.name)
        law = self.law(held, case) if held.constraints else None
        if law is None:
            results = self.joined if held.constraints else self.free
            return put_into(out, *results(state(joined), case.choices), apart=apart)
        found, _, fine = law.attempt([*given, held.placements, settings])
        if not fine.all():
            where = np.unravel_index(np.flatnonzero(~fine), batch) if batch else ()
            joined.states = [list(map(int, each)) for each in zip(*where, strict=True)]
            for array, own in zip(found, self.joined(state(joined, where), case.choices), strict=True):
                array[where] = own
        return put_into(out, *found, apart=apart)

    def law(self, held: HeldBy, case: Case) -> CompiledFunction | None:
        """The kernel of a case, if there is one."""
        return held.short_law((self.name, case), lambda: self.kernel(held, case, optional=True))

    def kernel(self, held: HeldBy, case: Case, **options: Any) -> CompiledFunction:
        """A new kernel."""
        from linkwork.compiled.law import law

        def text(placements: Any, settings: Any, **values: Any) -> Any:
            solver = TracedSolver(held.name, settings[2].item() if case.damped else 0.0, self.name)
            chosen = settings if case.stabilised else None
            return self.text(ConstrainedState(held, solver, placements, chosen, *values.values()), case.choices)

        shapes, results = self.argument_shapes(held, case.loaded), self.shapes(held, case.choices)
        what = held.kinds, case, self.identity(held, case.choices)
        return law(self.name, text, shapes, results, held.model, held.frames, *what, **options)

    def argument_shapes(self, held: HeldBy, loaded: bool) -> dict[str, Shape]:
        """The shapes of a kernel's arguments."""
        several = self.arguments if loaded or len(self.arguments) == 2 else self.arguments[:-1]
        shapes = {name: SPACES[space].shape(held.model, 0) for name, space in several}
        return {**shapes, "placements": held.placements.shape, "settings": (3,)}
