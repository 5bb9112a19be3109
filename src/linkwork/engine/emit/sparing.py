"""Which program of a subroutine a tile runs: one with fewer operations, if what it does without is zero."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.emit.repeating import any_lane
from linkwork.engine.emit.writer import Writer
from linkwork.engine.ir.program import Subroutine


def calls_of(w: Writer, what: Subroutine, symbol: str, arguments: str, given: str, lanes: int) -> None:
    """Call ``symbol``, or the first of ``symbol.sparing1``, ... whose given numbers are zero in all lanes."""
    end = w.block("used")
    for k, (zeros, _) in enumerate(what.sparing, 1):
        here, otherwise = w.block("sparing"), w.block("otherwise")
        w.branch(_all_zero(w, given, zeros, lanes), here, otherwise)
        w.begin(here)
        w.do(f"call void @{symbol}.sparing{k}{arguments}")
        w.jump(end)
        w.begin(otherwise)
    w.do(f"call void @{symbol}{arguments}")
    w.jump(end)
    w.begin(end)


def _all_zero(w: Writer, place: str, numbers: Sequence[int], lanes: int) -> str:
    """Whether some numbers of an array are zero, of either sign, in all lanes."""
    kind, nothing, one = ("i64", "0", "1") if lanes == 1 else (f"<{lanes} x i64>", "zeroinitializer", "splat (i64 1)")
    some = nothing
    for k in numbers:
        some = w.let(f"or {kind} {some}, {w.load(w.at(place, k * lanes), kind, 8 * lanes)}")
    differs = w.let(f"icmp ne {kind} {w.let(f'shl {kind} {some}, {one}')}, {nothing}")  # without signs
    return w.let(f"xor i1 {any_lane(w, differs, lanes)}, true")
