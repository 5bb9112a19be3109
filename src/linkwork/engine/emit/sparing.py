"""Which of several variants a tile runs: one with fewer operations, if some numbers have the values that it assumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwork.engine.emit.call_frame import listed
from linkwork.engine.emit.repeating import any_lane
from linkwork.engine.emit.writer import Writer, bits, vector, zero
from linkwork.engine.ir.program import Program, Subroutine

_CHAINS = 4
"""Numbers that are compared at once, independently of each other."""


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


def passed_on(what: Subroutine) -> list[int | float] | None:
    """The results of a subroutine whose only variant passes on given values, by their places, or constants; None for
    others.
    """
    if len(what.sparing) != 1:
        return None
    (_, program), places, found = what.sparing[0], dict[int, int](), dict[int, int | float]()
    for n in program.root.order:
        operation, address = program.operations[n], program.details[n]
        if operation == "load":
            places[n] = address.offset
        elif operation == "store":
            (value,) = program.operands[n]
            found[address.offset] = places[value] if type(value) is int else value
        else:
            return None
    return [found[k] for k in range(what.state)]


def some_lane(w: Writer, values: Sequence[str], lanes: int) -> str:
    """Whether any of these is not zero in some lane."""
    kind, bit = vector(lanes), "i1" if lanes == 1 else f"<{lanes} x i1>"
    differ = [w.let(f"fcmp une {kind} {value}, {zero(lanes)}") for value in values]
    found, *others = differ
    for other in others:
        found = w.let(f"or {bit} {found}, {other}")
    return any_lane(w, found, lanes)


def symbols(symbol: str, spared: Sequence[Spared]) -> list[str]:
    """The symbols of the kernels of a program: the variants that are spared some numbers, then the whole one."""
    return [*(f"{symbol}.sparing{k}" for k in range(1, 1 + len(spared))), f"{symbol}.full" if spared else symbol]


def choice(symbol: str, takes: Sequence[tuple[str, str]], returns: str, spared: Sequence[Spared], lanes: int) -> str:
    """The function ``symbol``, which runs the first of its kernels (``symbols``) that can; ``takes`` has type and name
    of the parameters of each of them.
    """
    w = Writer()
    parameters = listed((kind, f"%{name}") for kind, name in takes)
    *variants, whole = symbols(symbol, spared)

    def run(kernel: str) -> None:
        call = f"call {returns} @{kernel}({parameters})"
        w.do(call if returns == "void" else f"%{kernel} = {call}")
        w.do("ret void" if returns == "void" else f"ret {returns} %{kernel}")

    for each, kernel in zip(spared, variants, strict=True):
        here, otherwise = w.block("sparing"), w.block("otherwise")
        w.branch(all_these(w, {f"%{array}": own for array, own in each.often.items()}, lanes), here, otherwise)
        w.begin(here)
        run(kernel)
        w.begin(otherwise)
    run(whole)
    return w.function(f"internal {returns} @{symbol}({parameters})")


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


def _joined(w: Writer, some: Sequence[str], kind: str) -> str:
    """The bitwise or of them."""
    found, *others = some
    for other in others:
        found = w.let(f"or {kind} {found}, {other}")
    return found
