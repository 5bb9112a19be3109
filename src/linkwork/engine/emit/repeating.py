"""A program repeated over a state (``ir.program.Repeat``), in LLVM IR: a function of tiles for each of them.

Its state is in memory, so it may be of any size. In a tile all lanes run until the last one is done; those that are
done keep their numbers.
"""

from __future__ import annotations

from math import nan

from linkwork.engine.emit.call_frame import TABLES, Interface, listed
from linkwork.engine.emit.writer import Writer, constant, vector
from linkwork.engine.ir.program import Repeat

ROWS = "square"
"""The table in which an inner program finds the rows kept around it."""


def interface_of(what: Repeat, around: Interface) -> Interface:
    """The arrays of the repeated program inside one with an interface."""
    return around.inside((what.state, what.given), (what.state, 1))


def memory_of(what: Repeat) -> int:
    """Numbers of a repeat's memory, for one lane: the state, what is given, the next state, whether it continues."""
    return 2 * what.state + what.given + 1


def repeat(name: str, what: Repeat, lanes: int, problem: int = 0) -> str:
    """void name(memory, rows, data, ints), given the kernel ``name.program``; the first numbers of the memory are the
    state. The number of a ``problem`` that is left unsolved is stored where rows begin.
    """
    w, kind, bit = Writer(), vector(lanes), "i1" if lanes == 1 else f"<{lanes} x i1>"
    edges = [0, what.state, what.state + what.given, 2 * what.state + what.given]
    state, given, new, flag = (w.at("%memory", lanes * edge) for edge in edges)
    always = "true" if lanes == 1 else "splat (i1 true)"
    turn, done, still, following = w.block("turn"), w.block("done"), w.name(), w.name()
    w.jump(turn)
    w.begin(turn)
    latch = w.block("latch")
    number = w.let(f"phi i64 [ 0, %entry ], [ {following}, %{latch} ]")
    going = w.let(f"phi {bit} [ {always}, %entry ], [ {still}, %{latch} ]")
    tables = tables_with("%rows", calls=True)
    arrays = [("ptr", array) for array in (state, given, new, flag)]
    w.do(f"call void @{name}.program({listed([*arrays, *tables])})")
    with w.loop(0, lanes * what.state, lanes) as one:
        old, own = w.at(state, one.counter), w.load(w.at(new, one.counter), kind, 8 * lanes)
        if lanes > 1:  # one state leaves the loop when it is done
            kept = w.load(old, kind, 8 * lanes)
            own = w.let(f"select {bit} {going}, {kind} {own}, {kind} {kept}")
        w.store(own, old, kind, 8 * lanes)
    w.jump(latch)
    w.begin(latch)
    more = w.let(f"fcmp ogt {kind} {w.load(flag, kind, 8 * lanes)}, {constant(0.5, lanes)}")
    w.let(f"and {bit} {going}, {more}", still)
    w.let(f"add i64 {number}, 1", following)
    w.branch(w.all_of([any_lane(w, still, lanes), w.compare("ult", following, what.most)]), turn, done)
    w.begin(done)
    if not what.may_stop:
        with w.when(any_lane(w, still, lanes)):
            if problem:
                _tell(w, problem, still, state, what.state, lanes)
            unfinished(w, still, state, what.state, lanes)
    w.do("ret void")
    return w.function(f"internal void @{name}(ptr nocapture %memory, ptr %rows, ptr %data, ptr %ints)")


def _tell(w: Writer, problem: int, lanes_of: str, state: str, count: int, lanes: int) -> None:
    """Store the number of a problem, in the lanes of a mask whose numbers are finite: what is not is no fault of the
    solver.
    """
    kind, bit = vector(lanes), "i1" if lanes == 1 else f"<{lanes} x i1>"
    with w.loop(0, lanes * count, lanes, [(bit, lanes_of)]) as one:
        value = w.load(w.at(state, one.counter), kind, 8 * lanes)
        difference = w.let(f"fsub {kind} {value}, {value}")
        finite = w.let(f"fcmp ord {kind} {difference}, {difference}")
        one.carry(w.let(f"and {bit} {one.carried[0]}, {finite}"))
    before = w.load("%rows", kind, 8 * lanes)
    number = f"{kind} {constant(float(problem), lanes)}, {kind} {before}"
    w.store(w.let(f"select {bit} {one.carried[0]}, {number}"), "%rows", kind, 8 * lanes)


def unfinished(w: Writer, lanes_of: str, state: str, count: int, lanes: int) -> None:
    """Set the numbers of states that are not done to NaN, in the lanes of a mask."""
    kind, bit = vector(lanes), "i1" if lanes == 1 else f"<{lanes} x i1>"
    with w.loop(0, lanes * count, lanes) as one:
        place = w.at(state, one.counter)
        value = w.load(place, kind, 8 * lanes)
        value = w.let(f"select {bit} {lanes_of}, {kind} {constant(nan, lanes)}, {kind} {value}")
        w.store(value, place, kind, 8 * lanes)


def tables_with(rows: str, calls: bool = False) -> list[tuple[str, str]]:
    """The tables of a program inside another: ``square`` holds the kept rows, ``data`` and ``ints`` are those of the
    program around it if it may call code, and there are no others.
    """
    known = {ROWS: rows, "data": "%data" if calls else "null", "ints": "%ints" if calls else "null"}
    return [("ptr", known.get(name, "null")) for name in TABLES]


def any_lane(w: Writer, bits: str, lanes: int) -> str:
    """Whether a condition holds in some lane."""
    if lanes == 1:
        return bits
    return w.compare("ne", w.let(f"bitcast <{lanes} x i1> {bits} to i{lanes}"), 0, f"i{lanes}")
