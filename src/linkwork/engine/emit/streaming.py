"""Results that do not fit into the caches are stored past them: whole cache lines are written, which need not be read
first, unlike lines that are written in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.engine import optimisations
from linkwork.engine.emit.writer import SUMS, Writer, vector, zero

MUCH = 2_000_000
"""Numbers of all results that exceed such caches. Smaller results are read back from there before they are evicted."""
_LINE = 8
"""Numbers of a cache line."""
_CHUNK = 8 * _LINE
"""Numbers of a row that are gathered before its lines are written."""


class Target(NamedTuple):
    """Where the rows of a tile go: a pointer, the same as an integer, and whether they bypass the caches."""

    pointer: str
    address: str
    streamed: str


def of_whole(w: Writer) -> str:
    """How many states the whole batch has."""
    return w.either(w.compare("sgt", "%whole", "%states"), "i64", "%whole", "%states")


def much(w: Writer, counts: Sequence[str]) -> str:
    """Whether results of so many numbers each are large, for all states of a batch."""
    if not optimisations.on("streaming"):
        return "false"
    total = "0"
    for count in counts:
        total = w.add(total, count)
    return w.compare("sgt", w.mul(of_whole(w), total), MUCH)


def target(w: Writer, array: str, begin: str, first: str, count: str, wanted: str) -> Target:
    """Where rows of so many numbers go from the ``first`` state on, in an array that begins at an address; past the
    caches if that is ``wanted``.
    """
    start = w.mul(first, count)
    address = w.add(begin, w.mul(start, 8))
    aligned = w.compare("eq", w.let(f"and i64 {address}, 7"), 0)
    return Target(w.at(array, start), address, w.all_of([wanted, aligned, w.compare("sge", count, _CHUNK)]))


def stream(lanes: int) -> str:
    """i1 stream(tile, target, count, address): the states of a full tile into consecutive rows, past the caches; true
    if finite. ``address`` is that of the target, and ``count`` at least a chunk.

    Rows begin anywhere in a cache line. A chunk of each is gathered after what is left of the one before, so that whole
    lines can be stored, row by row; the first and last lines of a row are stored as usual.
    """
    w, kind, line = Writer(), vector(lanes), vector(_LINE)
    width = _LINE + _CHUNK + _LINE  # the last one keeps rows from mapping to the same cache sets
    chunks = w.let(f"alloca [{lanes * width} x double], align 64")
    rows: list[
        tuple[str, str, str]
    ] = []  # where it goes, its chunk, and how many numbers its first line is ahead of it
    for lane in range(lanes):
        first = w.mul("%count", lane)
        begin = w.add(w.let("lshr i64 %address, 3"), first)
        ahead = w.sub(_LINE, w.let(f"and i64 {begin}, {_LINE - 1}"))
        rows.append((w.at("%target", first), w.at(chunks, lane * width), ahead))
    whole = w.let(f"and i64 %count, {-_CHUNK}")
    with w.loop(0, whole, _CHUNK, [(kind, zero(lanes))] * SUMS) as chunk:
        with w.loop(0, _CHUNK, lanes, [(kind, total) for total in chunk.carried]) as block:
            values, sums = transposed(w, lanes, w.add(chunk.counter, block.counter), block.carried)
            for (_, own, _), numbers in zip(rows, values, strict=True):
                w.store(numbers, w.at(own, w.add(block.counter, _LINE)), kind, 8 * lanes)
            block.carry(*sums)
        first = w.compare("eq", chunk.counter, 0)
        for row, own, ahead in rows:
            shared = w.all_of([first, w.compare("ne", ahead, _LINE)])  # with the row before
            with w.loop(0, w.either(shared, "i64", ahead, 0)) as one:
                w.store(w.load(w.at(own, w.add(one.counter, _LINE))), w.at(row, one.counter))
            source, target = w.at(own, ahead), w.at(row, w.sub(w.add(chunk.counter, ahead), _LINE))
            with w.loop(w.either(shared, "i64", _LINE, 0), _CHUNK, _LINE) as each:
                numbers = w.load(w.at(source, each.counter), line)
                w.do(f"store {line} {numbers}, ptr {w.at(target, each.counter)}, align 64, !nontemporal !0")
            w.store(w.load(w.at(own, _CHUNK), line, 64), own, line, 64)
        chunk.carry(*block.carried)
    for row, own, ahead in rows:
        with w.loop(ahead, _LINE) as one:
            w.store(w.load(w.at(own, one.counter)), w.at(row, w.sub(w.add(whole, one.counter), _LINE)))
    final = w.sub("%count", lanes)
    with w.loop(whole, "%count", lanes, [(kind, total) for total in chunk.carried]) as block:
        start = w.either(w.compare("slt", block.counter, final), "i64", block.counter, final)
        values, sums = transposed(w, lanes, start, block.carried)
        for (row, _, _), numbers in zip(rows, values, strict=True):
            w.store(numbers, w.at(row, start), kind)
        block.carry(*sums)
    w.do(f"ret i1 {w.is_finite(w.total(block.carried, kind), lanes)}")
    return w.function("internal i1 @stream(ptr nocapture %tile, ptr nocapture %target, i64 %count, i64 %address)")


def transposed(w: Writer, lanes: int, start: str, sums: Sequence[str]) -> tuple[list[str], list[str]]:
    """So many numbers of each state of a tile, with zeros made positive, and the sums that turn NaN with them."""
    first, kind, columns = w.mul(start, lanes), vector(lanes), []
    for k in range(lanes):
        column = w.load(w.at("%tile", w.add(first, k * lanes)), kind, 8 * lanes)
        columns.append(w.let(f"fadd {kind} {column}, {zero(lanes)}"))
    return w.transpose(columns), w.watch_all(sums, columns, lanes)


def copy_lines() -> str:
    """void copy_lines(from, to, count, address): copies numbers past the caches, ``address`` being the destination."""
    w, line = Writer(), vector(_LINE)
    into = w.let(f"and i64 {w.let('lshr i64 %address, 3')}, {_LINE - 1}")
    first = w.let(f"and i64 {w.sub(_LINE, into)}, {_LINE - 1}")
    last = w.sub("%count", _LINE - 1)
    with w.loop(0, first) as one:
        w.store(w.load(w.at("%from", one.counter)), w.at("%to", one.counter))
    with w.loop(first, last, _LINE) as each:
        numbers = w.load(w.at("%from", each.counter), line)
        w.do(f"store {line} {numbers}, ptr {w.at('%to', each.counter)}, align 64, !nontemporal !0")
    with w.loop(each.counter, "%count") as one:
        w.store(w.load(w.at("%from", one.counter)), w.at("%to", one.counter))
    w.do("ret void")
    head = "ptr noalias nocapture %from, ptr noalias nocapture %to, i64 %count, i64 %address"
    return w.function(f"internal void @copy_lines({head})")
