"""Schedules long straight-line code around latency.

A CPU looks some hundred instructions ahead for those that it can issue. In a recursion over bodies these may all wait
for one division, while another limb, a thousand instructions on, could proceed. So the order is that of a simple CPU
model that issues ``_WIDTH`` instructions in each cycle, in program order, but skips those that would stall for longer
than ``_PATIENCE``, which a CPU hides by itself. It looks no further than ``_AHEAD``: values computed early are spilled
to memory.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush

from linkwork.engine.ir.program import ARITHMETIC, Block, Program

_WIDTH, _PATIENCE, _AHEAD = 2, 16, 400
_LATENCY, _LATENCIES = 4, {"load": 0, "div": 13, "sqrt": 20}
"""Cycles of latency."""
_LONG = 2_000
"""Instructions of a program; shorter ones stay in the cache of decoded instructions, unless spills make them longer."""
_FREE = {*ARITHMETIC, "load"}
"""Operations that may be anywhere after their operands; a store follows its value."""


def without_waiting(program: Program) -> Program:
    """The same program without loops in such an order, if it is long, and nothing in it must keep its place."""
    operations, operands = program.operations, program.operands
    order = [n for n in program.root.order if operations[n] != "store"]
    if len(order) < _LONG or any(operations[n] not in _FREE for n in order):
        return program
    found = [order[k] for k in _passing(program, order)]
    stores: dict[object, list[int]] = {}
    for n in program.root.order:
        if operations[n] == "store":
            (value,) = operands[n]
            stores.setdefault(value if type(value) is int else None, []).append(n)
    whole = [each for n in found for each in (n, *stores.get(n, ()))]
    return replace(program, root=Block([*whole, *stores.get(None, ())]))


def _passing(program: Program, order: list[int]) -> list[int]:
    """The places of instructions in the order in which that CPU issues them."""
    place = {n: k for k, n in enumerate(order)}
    users: list[list[int]] = [[] for _ in order]
    missing = []  # how many operands have not been issued
    for k, n in enumerate(order):
        made = {place[x] for x in program.operands[n] if type(x) is int}
        missing.append(len(made))
        for x in made:
            users[x].append(k)
    latencies = [_LATENCIES.get(program.operations[n], _LATENCY) for n in order]
    known = [0] * len(order)  # from which cycle on all operands are ready
    begun = [False] * len(order)
    beyond = [k for k, count in enumerate(missing) if not count]  # whose operands have been issued
    heapify(beyond)
    waiting: list[tuple[int, int]] = []
    ready: list[int] = []
    found: list[int] = []
    first, cycle = 0, 0
    while len(found) < len(order):
        while beyond and beyond[0] < first + _AHEAD:
            k = heappop(beyond)
            heappush(waiting, (known[k], k))
        while waiting and waiting[0][0] <= cycle + _PATIENCE:
            heappush(ready, heappop(waiting)[1])
        for _ in range(min(_WIDTH, len(ready))):
            k = heappop(ready)
            begun[k] = True
            found.append(k)
            there = max(cycle, known[k]) + latencies[k]
            for user in users[k]:
                known[user] = max(known[user], there)
                missing[user] -= 1
                if not missing[user]:
                    heappush(beyond, user)
        while first < len(order) and begun[first]:
            first += 1
        cycle += 1
    return found
