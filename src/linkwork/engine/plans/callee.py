"""A task, named by its algorithm, whose code with loops other code calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkwork.algorithms import Algorithm, named
from linkwork.engine.plans.task import Task, moved
from linkwork.errors import TracingError
from linkwork.model.model import Frame, Model

MOST_COUNTED = 1000
"""Bodies up to which operations are counted, which takes a trace of them all."""


@dataclass(frozen=True)
class Callee:
    """What a "call" in a traced program computes: an algorithm of the catalogue, arguments left out, at frames that
    offsets move; with derivatives, as a task has them.
    """

    algorithm: str
    model: Model
    absent: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    offsets: tuple[float, ...] = ()
    derivatives: tuple[str, ...] = ()

    def task(self) -> Task:
        return Task(self._named, self.model, self.absent, self.frames, bool(self.offsets), derivatives=self.derivatives)

    @property
    def argument_sizes(self) -> Sequence[int]:
        """How many numbers each of its arguments has."""
        return self.task().arguments

    @property
    def result_sizes(self) -> Sequence[int]:
        """How many numbers each of its results has."""
        return self.task().results

    @property
    def _named(self) -> Algorithm:
        found = named(self.algorithm)
        assert found is not None
        return found

    def count(self) -> Counter[str]:
        """How often each operation is done for one state, as if the loops over bodies were unrolled; for derivatives,
        and for very many bodies, one "call".
        """
        from linkwork.engine.ir.program import count
        from linkwork.engine.plans.specialised import specialised_program

        if self.derivatives or len(self.model.bodies) > MOST_COUNTED:
            return Counter(call=1)
        frames = moved(self.frames, self.offsets)
        return count(specialised_program(self._named, self.model, self.absent, frames, expand=False))

    def derived(self, way: str) -> Callee:
        """The same with its derivatives, "forward" or "backward"."""
        if "rolled" not in self._named.forms:
            raise TracingError(
                f"{self} takes a long chain by segments, which is not differentiated; use another method, such as "
                f"'articulated_body'",
                "",
            )
        if "backward" in self.derivatives and way == "backward":
            raise TracingError(
                f"{self}, of a mechanism of many bodies, is differentiated backward only once; differentiate what goes "
                f"backward forward, by lw.jvp",
                "",
            )
        return replace(self, derivatives=(*self.derivatives, way))

    def gives(self, other: Callee) -> bool:
        """Whether its first results, for the same first arguments, are those of another."""
        return self.derivatives[: len(other.derivatives)] == other.derivatives and (
            replace(self, derivatives=()) == replace(other, derivatives=())
        )

    def __str__(self) -> str:
        return " ".join([f"{self.algorithm} of {self.model.name!r}", *self.derivatives])
