"""Spill slots for values with long live ranges: in ``work``, each as wide as there are lanes, or on the stack of code
for one state, each as wide as the widest value.

A value occupies a slot from its definition to its last reload; then another value takes it. LLVM would give most of
these values stack slots of their own, more than fit into the first-level cache.

Long code is bound by instruction fetch, and on x86 a load or store is three of eight bytes shorter if its address is a
register plus an 8-bit displacement. So some registers point into the slots, and the slots within their reach go to the
values with the most uses for the length of their live range. (AVX-512 scales that byte by whole vectors; there no
register is needed.) Vector code that stays in the CPU's cache of decoded instructions gains nothing by it, nor by
slots: LLVM spills little there.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from linkwork.engine.ir.program import ARITHMETIC, Operand, Program

LONG_WAIT = 40
"""Steps without a use, after which a value is no longer in a register."""
_BASES, _BYTE = 10, 256
"""Registers that point into ``work``, and the bytes that one reaches."""
LONG = 2_000
"""Steps of a program that does not stay in the cache of decoded instructions."""

_WAITING = {*ARITHMETIC, "final", "part", "vector", "extract"}
"""Operations whose values may be spilled."""

Step = tuple[int | None, Sequence[Operand]]
"""The value that is defined, if any, and those that are used."""


@dataclass(frozen=True)
class Slots:
    """``of``: the slots of values; ``count``: of all of them; ``reach``: how many a register reaches, of so many
    ``bases``.
    """

    of: dict[int, int]
    count: int
    reach: int
    bases: int


NO_SLOTS = Slots({}, 0, 1, 0)


def slots(program: Program, steps: Sequence[Step], lanes: int, by_registers: bool) -> Slots:
    """The slots of a program's values, by its ``steps``; ``by_registers`` says whether addresses may be shortened."""
    made = {n: k for k, (n, _) in enumerate(steps) if n is not None and program.operations[n] in _WAITING}
    used, last, loads = dict(made), dict[int, int](), dict[int, int]()
    for k, (_, operands) in enumerate(steps):
        for x in operands:
            if type(x) is int and x in made:
                if k - used[x] > LONG_WAIT:
                    loads[x], last[x] = loads.get(x, 0) + 1, k
                used[x] = k
    waiting = [n for n in made if n in loads]
    reach = _BYTE // (8 * lanes)
    near = reach * _BASES if by_registers and len(steps) > LONG else 0
    spans = {n: (made[n], last[n]) for n in waiting}
    often = sorted(waiting, key=lambda n: (last[n] - made[n]) / (1 + loads[n]))
    found = _near([(n, *spans[n]) for n in often], near)
    near = reach * -(-(1 + max(found.values(), default=-1)) // reach)
    free: list[int] = []
    taken: list[tuple[int, int]] = []  # until when, and which
    for n in (n for n in waiting if n not in found):
        while taken and taken[0][0] < made[n]:
            free.append(heappop(taken)[1])
        found[n] = free.pop() if free else near + len(taken)
        heappush(taken, (last[n], found[n]))
    count = max([near, *(1 + slot for slot in found.values())])
    return Slots(found, count, reach, near // reach)


def _near(values: Sequence[tuple[int, int, int]], count: int) -> dict[int, int]:
    """Values, each with the steps of its live range, in the first of so many slots that is free then."""
    found: dict[int, int] = {}
    taken: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for n, begin, end in values:
        for slot, others in enumerate(taken):
            k = bisect(others, (begin, end))
            if (k == 0 or others[k - 1][1] < begin) and (k == len(others) or end < others[k][0]):
                others.insert(k, (begin, end))
                found[n] = slot
                break
    return found
