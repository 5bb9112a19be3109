"""The time loop around a kernel that makes one step: ``time_loop``, in LLVM IR.

The kernel's first arguments are the state, as its first results are; the other arguments are given, constant or for
each step, the other results are observations of the state in which the step begins. The states of a tile stay in lanes
from step to step, in two alternating buffers.

It takes the words of ``Interface.time_loop``. A record's number is its step's over ``every``, rounded up; the state of
record 0 is left to the caller, the last step is always recorded. One step beyond the last observes the last state. The
states are read and written, so that the loop can resume where it stopped. Status bits: 1 a given number is not finite,
2 a record is not finite.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.emit.call_frame import Interface
from linkwork.engine.emit.packing import tiles
from linkwork.engine.emit.writer import Writer


def time_loop(interface: Interface, lanes: int) -> str:
    """The text of the function, and of those that only it calls."""
    w, sizes = Writer(), interface.counts
    counts = sizes[len(interface.arguments) :]
    interface.time_loop.read(w)
    places = tiles(w, interface, lanes)
    state, observed = interface.state, interface.records[len(interface.state[: interface.recorded]) :]
    given = range(len(state), len(interface.arguments))
    status = w.let("alloca i64, align 8")
    w.store(0, status, "i64")

    def row(start: str, index: str, stride: str) -> str:
        return w.at(start, w.mul(index, stride))

    with w.loop(0, "%trajectories", lanes) as tile:
        first = tile.counter
        left = w.sub("%trajectories", first)
        valid = w.either(w.compare("sge", left, lanes), "i64", lanes, left)

        def take(source: str, k: int) -> None:
            moved = f"ptr {source}, i64 %given{k}_stride, i64 {valid}, i64 {sizes[k]}, ptr {places[k]}"
            w.do(f"call void @take({moved}, ptr {status})")

        def give(source: str, target: str, size: str, stride: str) -> None:
            moved = f"ptr {source}, ptr {target}, i64 {stride}, i64 {valid}, i64 {size}"
            w.do(f"call void @give({moved}, ptr {status})")

        own = [row(f"%state{k}", first, sizes[k]) for k in state]
        for k in state:
            moved = f"ptr {own[k]}, i64 {sizes[k]}, i64 {valid}, i64 {sizes[k]}, ptr {places[k]}"
            w.let(f"call i1 @pack({moved})")
        sources = {k: row(f"%given{k}", first, f"%given{k}_stride") for k in given}
        for k in given:
            take(sources[k], k)
        results = places[len(interface.arguments) :]
        buffers = [*(places[k] for k in state), *results[: len(state)]]
        with w.loop(0, "%steps", 1, [("ptr", place) for place in buffers]) as step:
            old, new = step.carried[: len(state)], step.carried[len(state) :]
            for k in given:
                with w.when(w.compare("ne", f"%given{k}_pace", 0)):
                    take(row(sources[k], step.counter, f"%given{k}_pace"), k)
            own_results = [*new, *results[len(state) :]]
            w.do(f"call void @kernel({interface.kernel_call([*old, *(places[k] for k in given), *own_results])})")
            begun = w.add("%done", step.counter)

            def record(count: str, which: Sequence[int]) -> None:
                whole = w.compare("eq", w.let(f"urem i64 {count}, %every"), 0)
                due = w.let(f"or i1 {whole}, {w.compare('eq', count, '%total')}")
                with w.when(w.all_of([due, w.compare("sle", count, "%total")])):
                    number = w.let(f"udiv i64 {w.add(count, w.sub('%every', 1))}, %every")
                    for k in which:
                        records = row(f"%records{k}", first, f"%records{k}_stride")
                        size = counts[k]
                        give(own_results[k], row(records, number, size), size, f"%records{k}_stride")

            if observed:
                record(begun, observed)
            record(w.add(begun, 1), state[: interface.recorded])
            step.carry(*new, *old)
        for k in state:
            give(step.carried[k], own[k], sizes[k], sizes[k])
    w.do(f"ret i64 {w.load(status, 'i64')}")
    return "\n".join([w.function("i64 @time_loop(ptr nocapture %words)"), _take(), _give()])


def _moved(head: str, call: str, bit: int) -> str:
    """A function that packs or unpacks a tile by a call, and sets a bit of the status unless everything was finite."""
    w = Writer()
    bad = w.either(w.let(f"call i1 {call}"), "i64", 0, bit)
    w.store(w.let(f"or i64 {w.load('%status', 'i64')}, {bad}"), "%status", "i64")
    w.do("ret void")
    return w.function(f"internal void {head}")


def _take() -> str:
    """The given numbers of a step, into a tile."""
    head = "@take(ptr %source, i64 %stride, i64 %valid, i64 %count, ptr %tile, ptr %status)"
    return _moved(head, "@pack(ptr %source, i64 %stride, i64 %valid, i64 %count, ptr %tile)", 1)


def _give() -> str:
    """A tile of the state into rows."""
    head = "@give(ptr %tile, ptr %target, i64 %stride, i64 %valid, i64 %count, ptr %status)"
    return _moved(head, "@unpack(ptr %tile, ptr %target, i64 %stride, i64 %valid, i64 %count)", 2)
