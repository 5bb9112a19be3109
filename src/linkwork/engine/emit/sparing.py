"""Which of several programs a tile runs: one with fewer operations, if what it does without is zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwork.engine.emit.call_frame import listed
from linkwork.engine.emit.repeating import any_lane
from linkwork.engine.emit.writer import Writer
from linkwork.engine.ir.program import Program, Subroutine

_CHAINS = 4
"""Numbers that are looked at at once, of which none waits for another."""


@dataclass(frozen=True, eq=False)
class Spared:
    """A whole program for arguments of which some numbers, by array and place, are zero: the same results with fewer
    operations.
    """

    program: Program
    zeros: Mapping[str, Sequence[int]]


def calls_of(w: Writer, what: Subroutine, symbol: str, arguments: str, given: str, lanes: int) -> None:
    """Call ``symbol``, or the first of ``symbol.sparing1``, ... whose given numbers are zero in all lanes."""
    end = w.block("used")
    for k, (zeros, _) in enumerate(what.sparing, 1):
        here, otherwise = w.block("sparing"), w.block("otherwise")
        w.branch(_all_zero(w, {given: zeros}, lanes), here, otherwise)
        w.begin(here)
        w.do(f"call void @{symbol}.sparing{k}{arguments}")
        w.jump(end)
        w.begin(otherwise)
    w.do(f"call void @{symbol}{arguments}")
    w.jump(end)
    w.begin(end)


def choice(symbol: str, takes: Sequence[tuple[str, str]], returns: str, spared: Spared, lanes: int) -> str:
    """The function ``symbol``, which runs ``symbol.sparing`` if it can, ``symbol.full`` otherwise; ``takes`` has type
    and name of what each of the three takes.
    """
    w = Writer()
    arguments = listed((kind, f"%{name}") for kind, name in takes)
    here, otherwise = w.block("sparing"), w.block("otherwise")
    w.branch(_all_zero(w, {f"%{array}": places for array, places in spared.zeros.items()}, lanes), here, otherwise)
    for label, own in ((here, f"{symbol}.sparing"), (otherwise, f"{symbol}.full")):
        w.begin(label)
        call = f"call {returns} @{own}({arguments})"
        if returns == "void":
            w.do(call)
            w.do("ret void")
        else:
            w.do(f"ret {returns} {w.let(call)}")
    return w.function(f"internal {returns} @{symbol}({', '.join(f'{kind} %{name}' for kind, name in takes)})")


def _all_zero(w: Writer, numbers: Mapping[str, Sequence[int]], lanes: int) -> str:
    """Whether some numbers of arrays are zero, of either sign, in all lanes."""
    kind, nothing, one = ("i64", "0", "1") if lanes == 1 else (f"<{lanes} x i64>", "zeroinitializer", "splat (i64 1)")
    some = [nothing] * _CHAINS
    pointers = (w.at(array, place * lanes) for array, places in numbers.items() for place in places)
    for k, pointer in enumerate(pointers):
        n = k % _CHAINS
        some[n] = w.let(f"or {kind} {some[n]}, {w.load(pointer, kind, 8 * lanes)}")
    found, *others = some
    for other in others:
        found = w.let(f"or {kind} {found}, {other}")
    differs = w.let(f"icmp ne {kind} {w.let(f'shl {kind} {found}, {one}')}, {nothing}")  # without signs
    return w.let(f"xor i1 {any_lane(w, differs, lanes)}, true")
