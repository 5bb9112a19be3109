"""Derivatives of a program with loops, in forward mode: each value and each field gets a tangent beside it."""

from __future__ import annotations

from linkwork.engine.ir.program import Program
from linkwork.engine.trace.differentiate import change_of
from linkwork.engine.trace.tracer import Tracer
from linkwork.engine.trace.transcribe import Transcriber, active, slot_of
from linkwork.spatial import Scalar


def push_loops(program: Program, arguments: int, results: int) -> Program:
    """The program of a rolled one's results, and their changes: of its arguments, so many, and as many tangents; it
    returns its results, so many, and as many changes. Its fields are not laid out, elementary functions not expanded.
    """
    pushing = _Pushing(program, Tracer(expand=False), arguments, results)
    pushing.block(program.root)
    return pushing.tracer.program


class _Pushing(Transcriber):
    def __init__(self, program: Program, tracer: Tracer, arguments: int, results: int) -> None:
        super().__init__(program, tracer)
        self.arguments, self.results = arguments, results
        self.active, self.slots = active(program)
        self.changes: dict[int, Scalar] = {}

    def of_changes(self, array: str) -> str:
        """The tangent of an array."""
        for name, count in (("argument", self.arguments), ("result", self.results)):
            if array.startswith(name):
                return f"{name}{int(array.removeprefix(name)) + count}"
        return f"{array}d"

    def computed(self, n: int) -> Scalar:
        self.values[n] = super().computed(n)
        self.changes[n] = change_of(self.program, n, self.values, self.changes) if n in self.active else 0.0
        return self.values[n]

    def load(self, n: int) -> Scalar:
        address = self.program.details[n]
        beside = self.placed(address, self.of_changes(address.array))
        self.changes[n] = self.read(beside) if n in self.active else 0.0
        return super().load(n)

    def store(self, n: int) -> None:
        super().store(n)
        address, (x,) = self.program.details[n], self.program.operands[n]
        if slot_of(address) in self.slots or address.array.startswith("result"):
            change = self.changes[x] if type(x) is int else 0.0
            self.tracer.store(self.placed(address, self.of_changes(address.array)), change)
