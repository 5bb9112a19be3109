"""Batches of a program that is mostly one repeat: a lane takes the next state as soon as its own is done.

States take different numbers of iterations. In whole tiles all lanes would wait for the slowest; here each continues
with another state, until there are none left. A state's numbers are the same either way.

    before     the initial numbers of the repeat, for all lanes of a tile
    program    the repeated program
    after      the results, for all lanes of a tile
    batch      as in ``kernel``
"""

from __future__ import annotations

from linkwork.engine.emit.call_frame import Interface, listed
from linkwork.engine.emit.kernel import Kernel
from linkwork.engine.emit.packing import pack, tiles
from linkwork.engine.emit.repeating import any_lane, interface_of, tables_with, unfinished
from linkwork.engine.emit.writer import Writer, constant, declarations, vector
from linkwork.engine.ir.passes import Around


def module(around: Around, interface: Interface, lanes: int) -> str:
    """The text of an LLVM module for lanes, more than one."""
    what = around.what
    begun = interface.inside(interface.arguments, (what.state + what.given,))
    ended = interface.inside((*interface.arguments, what.state), interface.results)
    parts = [
        Kernel(around.before, begun, lanes, "before").text(),
        Kernel(what.program, interface_of(what, interface), lanes, "program").text(),
        Kernel(around.after, ended, lanes, "after").text(),
        pack(lanes),
        _take_lane(lanes),
        _give_lane(lanes),
        _batch(around, interface, lanes),
        declarations({lanes}),
    ]
    return "\n".join(parts)


def _batch(around: Around, interface: Interface, lanes: int) -> str:
    w, what, kind, whole = Writer(), around.what, vector(lanes), f"<{lanes} x i64>"
    interface.batch.read(w)
    places, given = tiles(w, interface, lanes), len(interface.arguments)
    arguments, results = places[:given], places[given:]
    state, given_to, new, flag, fresh = (
        w.let(f"alloca [{lanes * size} x double], align 64")
        for size in (what.state, what.given, what.state, 1, what.state + what.given)
    )
    rows, turns = (w.let(f"alloca [{lanes} x i64], align 64") for _ in range(2))
    left, following, status = (w.let("alloca i64, align 8") for _ in range(3))
    tables = tables_with("null", calls=True)

    def call(name: str, *arrays: str) -> None:
        w.do(f"call void @{name}({listed([*(('ptr', array) for array in arrays), *tables])})")

    def blend(mask: str | None, source: str, start: int, target: str, count: int) -> None:
        """Copies numbers of all lanes, or of those of a mask, from one array into another."""
        with w.loop(0, lanes * count, lanes) as one:
            value = w.load(w.at(source, w.add(one.counter, lanes * start)), kind, 8 * lanes)
            place = w.at(target, one.counter)
            if mask is not None:
                old = w.load(place, kind, 8 * lanes)
                value = w.let(f"select <{lanes} x i1> {mask}, {kind} {value}, {kind} {old}")
            w.store(value, place, kind, 8 * lanes)

    def begin(mask: str | None, current: str) -> None:
        call("before", *arguments, fresh)
        blend(mask, fresh, 0, current, what.state)
        blend(mask, fresh, what.state, given_to, what.given)

    nothing, some = w.block("nothing"), w.block("some")
    w.branch(w.compare("eq", "%states", 0), nothing, some)
    w.begin(nothing)
    w.do("ret i64 0")
    w.begin(some)

    # The first states
    valid = w.either(w.compare("slt", "%states", lanes), "i64", "%states", lanes)
    fine = []
    for name, count, place in zip(interface.argument_names, interface.counts, arguments, strict=False):
        packed = f"ptr %{name}, i64 %{name}_stride, i64 {valid}, i64 {count}, ptr {place}"
        fine.append(w.let(f"call i1 @pack({packed})"))
    w.store(w.either(w.all_of(fine), "i64", 0, 1), status, "i64")
    for lane in range(lanes):
        w.store(w.either(w.compare("slt", lane, valid), "i64", lane, -1), w.at(rows, lane, "i64"), "i64")
        w.store(0, w.at(turns, lane, "i64"), "i64")
    w.store(valid, following, "i64")
    w.store(valid, left, "i64")
    begin(None, state)

    # Iterations of all lanes
    turn, look, done, again, end = (w.block(name) for name in ("turn", "look", "done", "again", "end"))
    before = w.label
    w.jump(turn)
    w.begin(turn)
    old, other = w.name(), w.name()
    w.let(f"phi ptr [ {state}, %{before} ], [ {other}, %{again} ]", old)
    w.let(f"phi ptr [ {new}, %{before} ], [ {old}, %{again} ]", other)
    call("program", old, given_to, other, flag)
    taken = w.let(f"add {whole} {w.load(turns, whole, 64)}, splat (i64 1)")
    w.store(taken, turns, whole, 64)
    going = w.let(f"fcmp ogt {kind} {w.load(flag, kind, 8 * lanes)}, {constant(0.5, lanes)}")
    more = w.let(f"icmp ult {whole} {taken}, splat (i64 {what.most})")
    busy = w.let(f"icmp sge {whole} {w.load(rows, whole, 64)}, zeroinitializer")
    bits = f"<{lanes} x i1>"
    ended = w.let(f"xor {bits} {w.let(f'and {bits} {going}, {more}')}, splat (i1 true)")
    ended = w.let(f"and {bits} {ended}, {busy}")
    w.jump(look)
    w.begin(look)
    w.branch(any_lane(w, ended, lanes), done, again)

    # Lanes that are done write their results and take another state
    w.begin(done)
    if not what.may_stop:
        left_over = w.let(f"and {bits} {ended}, {going}")
        with w.when(any_lane(w, left_over, lanes)):
            unfinished(w, left_over, other, what.state, lanes)
    call("after", *arguments, other, *results)
    for lane in range(lanes):
        with w.when(w.let(f"extractelement {bits} {ended}, i32 {lane}")):
            own = w.at(rows, lane, "i64")
            row = w.load(own, "i64")
            for name, count, place in zip(interface.result_names, interface.counts[given:], results, strict=True):
                target = w.at(f"%{name}", w.mul(row, count))
                w.do(f"call void @give_lane(ptr {place}, i64 {lane}, ptr {target}, i64 {count}, ptr {status})")
            number = w.load(following, "i64")
            there = w.compare("slt", number, "%states")
            w.store(w.either(there, "i64", number, -1), own, "i64")
            w.store(w.sub(w.load(left, "i64"), w.either(there, "i64", 0, 1)), left, "i64")
            with w.when(there):
                w.store(w.add(number, 1), following, "i64")
                w.store(0, w.at(turns, lane, "i64"), "i64")
                for name, count, place in zip(interface.argument_names, interface.counts, arguments, strict=False):
                    source = w.at(f"%{name}", w.mul(number, f"%{name}_stride"))
                    w.do(f"call void @take_lane(ptr {source}, i64 {count}, ptr {place}, i64 {lane}, ptr {status})")
    refilled = w.let(f"icmp eq {whole} {w.load(turns, whole, 64)}, zeroinitializer")
    with w.when(any_lane(w, refilled, lanes)):
        begin(refilled, other)
    w.branch(w.compare("eq", w.load(left, "i64"), 0), end, again)
    w.begin(again)
    w.jump(turn)
    w.begin(end)
    w.do(f"ret i64 {w.load(status, 'i64')}")
    return w.function("i64 @batch(ptr nocapture %words)")


def _finish(w: Writer, total: str, bit: int) -> None:
    """Set a bit of the status unless all numbers were finite."""
    bad = w.either(w.is_finite(total, 1), "i64", 0, bit)
    w.store(w.let(f"or i64 {w.load('%status', 'i64')}, {bad}"), "%status", "i64")
    w.do("ret void")


def _take_lane(lanes: int) -> str:
    """A row into one lane of a tile."""
    w = Writer()
    with w.loop(0, "%count", 1, [("double", "0.0")]) as one:
        number = w.load(w.at("%source", one.counter))
        w.store(number, w.at("%tile", w.add(w.mul(one.counter, lanes), "%lane")))
        one.carry(w.watch(one.carried[0], number, "double"))
    _finish(w, one.carried[0], 1)
    head = "internal void @take_lane(ptr nocapture %source, i64 %count, ptr nocapture %tile, i64 %lane, ptr %status)"
    return w.function(head)


def _give_lane(lanes: int) -> str:
    """One lane of a tile into a row; a zero loses its sign."""
    w = Writer()
    with w.loop(0, "%count", 1, [("double", "0.0")]) as one:
        number = w.load(w.at("%tile", w.add(w.mul(one.counter, lanes), "%lane")))
        number = w.let(f"fadd double {number}, 0.0")
        w.store(number, w.at("%target", one.counter))
        one.carry(w.watch(one.carried[0], number, "double"))
    _finish(w, one.carried[0], 2)
    head = "internal void @give_lane(ptr nocapture %tile, i64 %lane, ptr nocapture %target, i64 %count, ptr %status)"
    return w.function(head)
