"""States in and out of tiles: packs rows into lanes, runs the kernel, and unpacks the results."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.emit import streaming
from linkwork.engine.emit.call_frame import Interface, listed
from linkwork.engine.emit.streaming import Target, transposed
from linkwork.engine.emit.writer import (
    SUMS,
    Writer,
    constant,
    past,
    sweep,
    vector,
    zero,
)

TOO_LARGE = 8
"""The bit of a status that says that a number of an argument is larger than its interface allows."""
_WIDE = 8
"""Numbers that are checked for finiteness together."""


def pack(lanes: int) -> str:
    """i1 pack(source, stride, valid, count, tile): true if all numbers are finite.

    Lanes without a state of their own get the last one's.
    """
    w, kind = Writer(), vector(lanes)
    rows = [w.at("%source", w.mul(state, "%stride")) for state in _states(w, lanes, "%valid")]
    whole, final = _blocks(w, lanes)
    with w.loop(0, whole, lanes, [(kind, zero(lanes))] * SUMS) as many:
        start = _start(w, many.counter, final)
        columns = w.columns([w.at(row, start) for row in rows])
        first = w.mul(start, lanes)
        for k, column in enumerate(columns):
            w.store(column, w.at("%tile", w.add(first, k * lanes)), kind, 8 * lanes)
        many.carry(*w.watch_all(many.carried, columns, lanes))
    with w.loop(whole, "%count", 1, [(kind, w.total(many.carried, kind))]) as one:
        numbers = [w.load(w.at(row, one.counter)) for row in rows]
        column = w.vector(numbers) if lanes > 1 else numbers[0]
        w.store(column, w.at("%tile", w.mul(one.counter, lanes)), kind, 8 * lanes)
        one.carry(w.watch(one.carried[0], column, kind))
    w.do(f"ret i1 {w.is_finite(one.carried[0], lanes)}")
    given = "ptr nocapture %source, i64 %stride, i64 %valid, i64 %count, ptr nocapture %tile"
    return w.function(f"internal i1 @pack({given})")


def unpack(lanes: int) -> str:
    """i1 unpack(tile, target, stride, valid, count): the first ``valid`` states of a tile into rows; true if finite.

    A zero loses its sign here, so that it has the same bits whichever way it was computed.
    """
    w, kind = Writer(), vector(lanes)
    whole, final = _blocks(w, lanes, w.compare("eq", "%valid", lanes))
    rows = [w.at("%target", w.mul("%stride", lane)) for lane in range(lanes)]
    with w.loop(0, whole, lanes, [(kind, zero(lanes))] * SUMS) as many:
        start = _start(w, many.counter, final)
        values, sums = transposed(w, lanes, start, many.carried)
        for row, numbers in zip(rows, values, strict=True):
            w.store(numbers, w.at(row, start), kind)
        many.carry(*sums)
    fine = w.is_finite(w.total(many.carried, kind), lanes)
    with w.loop(0, "%valid", 1, [("double", "0.0")]) as state:
        row = w.mul(state.counter, "%stride")
        with w.loop(whole, "%count", 1, [("double", state.carried[0])]) as one:
            number = w.load(w.at("%tile", w.add(w.mul(one.counter, lanes), state.counter)))
            number = w.let(f"fadd double {number}, 0.0")
            w.store(number, w.at("%target", w.add(row, one.counter)))
            one.carry(w.watch(one.carried[0], number, "double"))
        state.carry(one.carried[0])
    w.do(f"ret i1 {w.all_of([fine, w.is_finite(state.carried[0], 1)])}")
    return w.function(
        "internal i1 @unpack(ptr nocapture %tile, ptr nocapture %target, i64 %stride, i64 %valid, i64 %count)"
    )


def _blocks(w: Writer, lanes: int, wanted: str = "true") -> tuple[str, str]:
    """The numbers of a state that are moved in blocks of ``lanes``: all, if there are so many; and where the last block
    begins, which ends with the state and may overlap the one before.
    """
    final = w.sub("%count", lanes)
    blocks = w.all_of([w.compare("sge", final, 0), wanted])
    return w.either(blocks, "i64", "%count", 0), final


def _start(w: Writer, k: str, final: str) -> str:
    return w.either(w.compare("slt", k, final), "i64", k, final)


def tiles(w: Writer, interface: Interface, lanes: int) -> list[str]:
    """Pointers to a tile for each argument and result, one after another in %buffer."""
    found = ["%buffer"]
    for count in interface.counts[:-1]:
        found.append(w.at(found[-1], w.mul(count, lanes)))
    return found


def batch(interface: Interface, lanes: int, rows: bool = False) -> str:
    """The function ``batch``, for a kernel that leaves its results in tiles, or one that writes ``rows``."""
    w, given = Writer(), len(interface.arguments)
    interface.batch.read(w)
    places = tiles(w, interface, lanes)
    results = list(zip(interface.result_names, interface.counts[given:], strict=True))
    streamed = streaming.much(w, interface.counts[given:])
    with w.loop(0, "%states", lanes, [("i64", "0")]) as tile:
        left = w.sub("%states", tile.counter)
        full = w.compare("sge", left, lanes)
        valid = w.either(full, "i64", lanes, left)
        fine = _packed(w, interface, tile.counter, valid, places)
        targets = []
        for name, count in results:
            begin = w.load(interface.batch.pointer(w, "%words", name), "i64")
            targets.append(streaming.target(w, f"%{name}", begin, tile.counter, count, w.all_of([full, streamed])))
        if rows:
            good = [_run_rows(w, interface, places, targets, full, valid)]
        else:
            w.do(f"call void @kernel({interface.kernel_call(places)})")
            good = []
            for (_, count), place, target in zip(results, places[given:], targets, strict=True):
                beyond = f"call i1 @stream(ptr {place}, ptr {target.pointer}, i64 {count}, i64 {target.address})"
                usual = f"call i1 @unpack(ptr {place}, ptr {target.pointer}, i64 {count}, i64 {valid}, i64 {count})"
                good.append(w.one_of(target.streamed, "i1", beyond, usual))
        bad_in = w.let(f"or i64 {w.either(w.all_of(fine), 'i64', 0, 1)}, {past_in(w, interface, places, lanes)}")
        bad_out = w.either(w.all_of(good), "i64", 0, 2)
        bad = w.let(f"or i64 {bad_in}, {bad_out}")
        tile.carry(w.let(f"or i64 {tile.carried[0]}, {bad}"))
    with w.when(streamed):
        w.do("fence seq_cst")  # non-temporal stores are visible when others look
    w.do(f"ret i64 {tile.carried[0]}")
    parts = [past(), w.function("i64 @batch(ptr nocapture %words)")]
    return "\n".join(parts if rows else [streaming.stream(lanes), *parts])


def _packed(w: Writer, interface: Interface, first: str, valid: str, places: Sequence[str]) -> list[str]:
    """Packs the arguments of a tile whose first state is given; whether all are finite."""
    fine = []
    for name, count, place in zip(interface.argument_names, interface.counts, places, strict=False):
        stride = f"%{name}_stride"
        for_all = w.compare("eq", stride, 0)
        once = w.all_of([for_all, w.compare("ne", first, 0)])  # one row for all stays where it is
        source, new = w.at(f"%{name}", w.mul(first, stride)), w.either(once, "i64", 0, count)
        fine.append(w.let(f"call i1 @pack(ptr {source}, i64 {stride}, i64 {valid}, i64 {new}, ptr {place})"))
    return fine


def _states(w: Writer, lanes: int, valid: str) -> list[str]:
    """The state of a tile in each lane: lanes without one of their own have the last one's."""
    last = w.sub(valid, 1)
    return [w.either(w.compare("slt", lane, last), "i64", lane, last) for lane in range(lanes)]


def rows_in_place(interface: Interface, zeroed: bool) -> str:
    """The function ``batch`` for one lane, where a row is a tile: the kernel reads and writes the caller's arrays, with
    the results ``zeroed`` first if need be.
    """
    w, given = Writer(), len(interface.arguments)
    interface.batch.read(w)
    names = [*interface.argument_names, *interface.result_names]
    strides = [f"%{name}" for name in interface.stride_names] + interface.counts[given:]
    with w.loop(0, "%states", 1, [("i64", "0")]) as state:
        rows = [w.at(f"%{name}", w.mul(state.counter, stride)) for name, stride in zip(names, strides, strict=True)]
        arrays = list(zip(rows, interface.counts, strict=True))
        fine = [w.let(f"call i1 @finite(ptr {row}, i64 {count})") for row, count in arrays[:given]]
        for row, count in arrays[given:] if zeroed else ():
            with w.loop(0, count) as one:
                w.store("0.0", w.at(row, one.counter))
        w.do(f"call void @kernel({interface.kernel_call(rows)})")
        good = [w.let(f"call i1 @settle(ptr {row}, i64 {count})") for row, count in arrays[given:]]
        bad = w.let(f"or i64 {w.either(w.all_of(fine), 'i64', 0, 1)}, {w.either(w.all_of(good), 'i64', 0, 2)}")
        bad = w.let(f"or i64 {bad}, {past_in(w, interface, rows)}")
        state.carry(w.let(f"or i64 {state.carried[0]}, {bad}"))
    w.do(f"ret i64 {state.carried[0]}")
    sweeps = [sweep("finite", _WIDE), sweep("settle", _WIDE, unsigned_zeros=True), past()]
    return "\n".join([*sweeps, w.function("i64 @batch(ptr nocapture %words)")])


def past_in(w: Writer, interface: Interface, arrays: Sequence[str], lanes: int = 1) -> str:
    """A bit of the status if a number of one state, or of a tile of so many, is too large."""
    status = "0"
    for k, most in interface.most:
        count = w.mul(interface.counts[k], lanes)
        given = f"ptr {arrays[k]}, i64 {count}, double {constant(most * most, 1)}"
        status = w.either(w.let(f"call i1 @past({given})"), "i64", TOO_LARGE, status)
    return status


def _run_rows(
    w: Writer,
    interface: Interface,
    places: Sequence[str],
    targets: Sequence[Target],
    full: str,
    valid: str,
) -> str:
    """Calls a kernel that writes rows: into the caller's array, or into the tile's buffer if the batch ends within the
    tile, or if they bypass the caches from there.
    """
    given = len(interface.arguments)
    rows, parts = [], []
    for target, place, count in zip(targets, places[given:], interface.counts[given:], strict=True):
        there = w.all_of([full, w.let(f"xor i1 {target.streamed}, true")])
        rows.append(w.either(there, "ptr", target.pointer, place))
        parts.append((place, target, w.mul(valid, count)))
    good = w.let(f"call i1 @kernel({interface.kernel_call([*places[:given], *rows])})")
    for place, target, count in parts:
        with w.when(target.streamed):
            copied = f"ptr {place}, ptr {target.pointer}, i64 {count}, i64 {target.address}"
            w.do(f"call void @copy_lines({copied})")
        w.do(f"call void @copy(ptr {place}, ptr {target.pointer}, i64 {w.either(full, 'i64', 0, count)})")
    return good


def compile_time_integers(numbers: Sequence[int]) -> str:
    """A function ``integer`` that returns compile-time integers, number 0 being how many there are."""
    numbers = [len(numbers), *numbers]
    w = Writer()
    w.do(f"ret i64 {w.load(w.at('@integers', '%which', 'i64'), 'i64')}")
    array = f"@integers = internal constant [{len(numbers)} x i64] [{listed(('i64', str(n)) for n in numbers)}]\n"
    return array + w.function("i64 @integer(i64 %which)")
