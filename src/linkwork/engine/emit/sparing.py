"""Which of several variants a tile runs: one with fewer operations, if some numbers have the values that it assumes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linkwork.engine.emit.call_frame import listed
from linkwork.engine.emit.repeating import any_lane
from linkwork.engine.emit.writer import Value, Writer, bits
from linkwork.engine.ir.program import Program, Subroutine

_CHAINS = 4
"""Numbers that are compared at once, independently of each other."""
_TOGETHER = 2
"""Blocks of as many numbers as there are lanes that are compared together, if a row consists of such."""
_FIRST = 16
"""Numbers of a row that are compared before the others: if these are not the usual ones, the rest is skipped."""


@dataclass(frozen=True, eq=False)
class Spared:
    """A whole program for arguments of which some numbers, by array and place, are these: the same results with fewer
    operations.
    """

    program: Program
    often: Mapping[str, Mapping[int, float]]


def calls_of(w: Writer, what: Subroutine, symbol: str, arguments: str, given: str, lanes: int) -> None:
    """Call ``symbol``, or the first of ``symbol.sparing1``, ... whose given numbers are zero in all lanes."""
    end = w.block("used")
    for k, (zeros, _) in enumerate(what.sparing, 1):
        here, otherwise = w.block("sparing"), w.block("otherwise")
        w.branch(all_these(w, {given: dict.fromkeys(zeros, 0.0)}, lanes), here, otherwise)
        w.begin(here)
        w.do(f"call void @{symbol}.sparing{k}{arguments}")
        w.jump(end)
        w.begin(otherwise)
    w.do(f"call void @{symbol}{arguments}")
    w.jump(end)
    w.begin(end)


def symbols(symbol: str, spared: Sequence[Spared]) -> list[str]:
    """The symbols of the kernels of a program: the variants that are spared some numbers, then the whole one."""
    return [*(f"{symbol}.sparing{k}" for k in range(1, 1 + len(spared))), f"{symbol}.full" if spared else symbol]


def usual_numbers(spared: Iterable[Spared]) -> dict[str, Mapping[int, float]]:
    """The numbers, by array and place, that variants assume; of an array all or none."""
    return {array: own for each in spared for array, own in each.often.items()}


def chosen(w: Writer, spared: Sequence[Spared], usual: Mapping[str, str]) -> list[str]:
    """Whether each variant is the first that can run, given whether the numbers of each array are the usual ones."""
    found, left = [], "true"
    for each in spared:
        can = w.all_of([usual[array] for array in each.often])
        found.append(w.all_of([left, can]))
        left = w.all_of([left, w.let(f"xor i1 {can}, true")])
    return found


def first_of(w: Writer, kind: str, conditions: Sequence[str], lines: Sequence[str]) -> str:
    """The value of the first line whose condition holds, or of the last one, which has none; only that one runs."""
    end, found = w.block("end"), []
    for condition, line in zip((*conditions, ""), lines, strict=True):
        here, otherwise = w.block("sparing"), w.block("otherwise")
        if condition:
            w.branch(condition, here, otherwise)
            w.begin(here)
        if kind == "void":
            w.do(line)
        else:
            found.append(f"[ {w.let(line)}, %{w.label} ]")
        w.jump(end)
        if condition:
            w.begin(otherwise)
    w.begin(end)
    return "" if kind == "void" else w.let(f"phi {kind} {', '.join(found)}")


def choice(symbol: str, takes: Sequence[tuple[str, str]], returns: str, spared: Sequence[Spared], lanes: int) -> str:
    """The function ``symbol``, which runs the first of its kernels (``symbols``) that can; ``takes`` has type and name
    of the parameters of each of them.
    """
    w = Writer()
    arguments = listed((kind, f"%{name}") for kind, name in takes)
    usual = {array: all_these(w, {f"%{array}": own}, lanes) for array, own in usual_numbers(spared).items()}
    calls = [f"call {returns} @{own}({arguments})" for own in symbols(symbol, spared)]
    found = first_of(w, returns, chosen(w, spared, usual), calls)
    w.do(f"ret {returns} {found}".strip())
    return w.function(f"internal {returns} @{symbol}({', '.join(f'{kind} %{name}' for kind, name in takes)})")


def all_these(w: Writer, numbers: Mapping[str, Mapping[int, float]], lanes: int) -> str:
    """Whether numbers of arrays, by their places, are these in all lanes; a zero may have either sign."""
    kind, nothing, one = ("i64", "0", "1") if lanes == 1 else (f"<{lanes} x i64>", "zeroinitializer", "splat (i64 1)")
    zeros, others = [nothing] * _CHAINS, [nothing] * _CHAINS
    places = [(w.at(array, k * lanes), own) for array, given in numbers.items() for k, own in given.items()]
    for n, (pointer, own) in enumerate(places):
        some, found = zeros if own == 0.0 else others, w.load(pointer, kind, 8 * lanes)
        if own != 0.0:
            word = int(bits(own), 16)
            found = w.let(f"xor {kind} {found}, {word if lanes == 1 else f'splat (i64 {word})'}")
        some[n % _CHAINS] = w.let(f"or {kind} {some[n % _CHAINS]}, {found}")
    unsigned = w.let(f"shl {kind} {_joined(w, zeros, kind)}, {one}")
    differs = w.let(f"icmp ne {kind} {_joined(w, [unsigned, *others], kind)}, {nothing}")
    return w.let(f"xor i1 {any_lane(w, differs, lanes)}, true")


def usual_table(argument: str, count: int, own: Mapping[int, float], lanes: int) -> str:
    """The table that ``usual`` compares with an argument of so many numbers: for each block of as many as there are
    lanes, the usual ones, and a mask of the bits that count; a zero may have either sign.
    """
    width = lanes if count >= lanes else 1
    words = []
    for first in range(0, count, width):
        places = [k + min(first, count - width) for k in range(width)]
        words += [int(bits(own.get(k, 0.0)), 16) if own.get(k) else 0 for k in places]
        words += [0 if k not in own else 2**64 - 1 if own[k] else 2**63 - 1 for k in places]
    numbers = listed(("i64", str(word)) for word in words)
    return f"@usual.{argument} = internal constant [{len(words)} x i64] [{numbers}], align 64"


def usual(w: Writer, argument: str, rows: Sequence[str], count: int) -> str:
    """Whether rows of an argument have the numbers of its ``usual_table``."""
    lanes = len(rows)
    width = lanes if count >= lanes else 1
    step = next(n * width for n in (_TOGETHER, 1) if n == 1 or count % (n * width) == 0)
    kind, nothing = ("i64", "0") if width == 1 else (f"<{width} x i64>", "zeroinitializer")
    first, differs = min(_FIRST, count) // step * step, nothing
    stop: Value = first
    for begin in (0, first):
        with w.loop(begin, stop, step, [(kind, differs)]) as block:
            counted = block.carried
            for k in range(0, step, width):
                start = w.add(block.counter, k)
                table = w.at(f"@usual.{argument}", w.mul(start, 2), "i64")
                if count % width:  # the last block ends with the row
                    start = w.either(w.compare("slt", start, count - width), "i64", start, count - width)
                own, mask = (w.load(w.at(table, n * width, "i64"), kind) for n in range(2))
                found = [w.let(f"xor {kind} {w.load(w.at(row, start), kind)}, {own}") for row in rows]
                counted = [*counted, w.let(f"and {kind} {_joined(w, found, kind)}, {mask}")]
            block.carry(_joined(w, counted, kind))
        differs = block.carried[0]
        other = any_lane(w, w.let(f"icmp ne {kind} {differs}, {nothing}"), width)
        stop = w.either(other, "i64", 0, count)
    return w.let(f"xor i1 {other}, true")


def _joined(w: Writer, some: Sequence[str], kind: str) -> str:
    """The bitwise or of them."""
    found, *others = some
    for other in others:
        found = w.let(f"or {kind} {found}, {other}")
    return found
