"""Derivatives of a rolled program, in either mode, and of these again: the order of the passes."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.ir.merge import merge_cases
from linkwork.engine.ir.passes import eliminate_dead_code
from linkwork.engine.ir.program import Program
from linkwork.engine.trace.pull_loops import LOST, pull_loops
from linkwork.engine.trace.push_loops import push_loops
from linkwork.engine.trace.tracer import Tracer
from linkwork.engine.trace.transcribe import Transcriber
from linkwork.errors import TracingError


def derive_loops(program: Program, ways: Sequence[str], arguments: int, results: int, what: str) -> Program:
    """A rolled program, traced with elementary functions as one instruction each, of so many arguments and results,
    with its derivatives "forward" or "backward"; elementary functions are expanded. ``what`` is for an error.
    """
    for way in ways:
        eliminate_dead_code(program)
        merge_cases(program)
        if way == "forward":
            program = push_loops(program, arguments, results)
            arguments, results = 2 * arguments, 2 * results
        else:
            program = pull_loops(program, arguments, results)
            arguments, results = arguments + results, results + arguments
            eliminate_dead_code(program)
            if any(program.operations[n] == "load" and program.details[n].array == LOST for n in program.walk()):
                raise TracingError(
                    f"{what} overwrites, within more than two loops, what its derivatives backward need; "
                    f"differentiate it forward, by lw.jvp",
                    "",
                )
    written = Transcriber(program, Tracer())
    written.block(program.root)
    return written.tracer.program
