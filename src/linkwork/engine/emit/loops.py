"""Loops of a program over bodies, in LLVM IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.engine import optimisations
from linkwork.engine.emit.carrying import Registers, carried
from linkwork.engine.ir.program import Loop

if TYPE_CHECKING:
    from linkwork.engine.emit.kernel import Kernel


def walk(w: Kernel, loop: Loop) -> None:
    """A loop over bodies, pairs of bodies, or paths."""
    tag, counter = w.block("L"), f"%v{loop.counter}"
    first, last = (bound if isinstance(bound, int) else f"%{bound}" for bound in (loop.first, loop.last))
    last = f"%v{loop.stop}" if loop.walk == "up" and loop.stop is not None else last
    start = str(last if loop.walk == "down" else first) if loop.start is None else f"%v{loop.start}"
    before, registers = w.label, registers_of(w, loop, tag)
    w.jump(f"{tag}.head")
    w.begin(f"{tag}.head")
    w.let(f"phi i64 [ {start}, %{before} ], [ %{tag}.next, %{tag}.latch ]", counter)
    registers.begin(before)
    if loop.walk == "climb":
        more = w.compare("ne", counter, "0" if loop.stop is None else f"%v{loop.stop}")
    elif loop.start is not None and loop.stop is not None:
        more = w.compare("slt", counter, f"%v{loop.stop}")
    else:
        more = w.compare("sge", counter, first) if loop.walk == "down" else w.compare("sle", counter, last)
    w.branch(more, f"{tag}.body", f"{tag}.done")
    w.begin(f"{tag}.body")
    cases(w, loop, tag, registers)
    w.begin(f"{tag}.latch")
    registers.end()
    if loop.successor is not None:
        w.load(w.integer(loop.successor), "i64", name=f"%{tag}.next")
    else:
        w.let(f"add i64 {counter}, {-1 if loop.walk == 'down' else 1}", f"%{tag}.next")
    w.jump(f"{tag}.head")
    w.begin(f"{tag}.done")


def cases(w: Kernel, loop: Loop, tag: str, registers: Registers) -> None:
    """The block of an iteration, or one of several."""
    w.handed |= registers.loads
    if loop.kind is None:
        number, block = loop.cases[0]
        w.instructions(block)
        registers.leave(number)
        w.jump(f"{tag}.latch")
        return
    kind = w.load(w.element(loop.kind, 1), "i64")
    labels = {kind: kind for kind, _ in loop.cases} | loop.same
    targets = " ".join(f"i64 {kind}, label %{tag}.case{first}" for kind, first in labels.items())
    registers.leave(None)
    w.do(f"switch i64 {kind}, label %{tag}.latch [ {targets} ]")
    for number, block in loop.cases:
        w.begin(f"{tag}.case{number}")
        w.instructions(block)
        registers.leave(number)
        w.jump(f"{tag}.latch")


def registers_of(w: Kernel, loop: Loop, tag: str) -> Registers:
    """The loop-carried registers of a loop: only for one state; several lanes have none to spare."""
    alone = w.lanes == 1 and optimisations.on("carrying")
    return Registers(w, carried(w.program, loop) if alone else None, tag)
