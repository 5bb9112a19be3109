"""A pass over programs with loops: identical cases of a loop become one.

Code that depends only on a joint's number of degrees of freedom is the same for joints of many kinds; nested loops have
a case for every pair of kinds, and would repeat it as often.
"""

from __future__ import annotations

from typing import Any

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.program import Block, Loop, Program


def merge_cases(program: Program, block: Block | None = None) -> None:
    """Keep one of several identical cases, in every loop, the innermost first."""
    for n in (block or program.root).order:
        if program.operations[n] != "loop":
            continue
        loop: Loop = program.details[n]
        kept: dict[Any, int] = {}
        cases = []
        for kind, case in loop.cases:
            merge_cases(program, case)
            first = kept.setdefault(_shape(program, case, {loop.counter: 0}), kind)
            if first == kind:
                cases.append((kind, case))
            else:  # and so do those merged into it before
                loop.same = {other: first if it == kind else it for other, it in loop.same.items()} | {kind: first}
        loop.cases = cases
        if len(cases) == 1:  # every kind does the same
            loop.kind, loop.same = None, {}


def _shape(program: Program, block: Block, local: dict[int, int]) -> tuple[Any, ...]:
    """What a block does, with its own values numbered from its start; ``local`` has those of the enclosing blocks,
    numbered the same way.
    """

    def value(x: Any) -> Any:
        if type(x) is int:
            return ("local", local[x]) if x in local else x
        return repr(x)  # distinguishes zeros of either sign

    def place(address: Address | None) -> Any:
        if address is None:
            return None
        terms = tuple((value(index), stride) for index, stride in address.terms)
        return address.array, address.offset, terms, value(address.lane), value(address.lane_stride)

    shape: list[Any] = []
    for n in block.order:
        operation, detail = program.operations[n], program.details[n]
        if operation == "loop":
            ends = (value(detail.start), value(detail.stop))
            local[detail.counter] = len(local)
            detail_shape: Any = (
                (detail.walk, detail.first, detail.last, *ends, place(detail.kind), place(detail.successor)),
                tuple((kind, _shape(program, case, local)) for kind, case in detail.cases),
                tuple(sorted(detail.same.items())),
            )
        else:
            detail_shape = place(detail) if isinstance(detail, Address) else detail
        shape.append((operation, tuple(map(value, program.operands[n])), program.widths[n], detail_shape))
        local[n] = len(local)
    return tuple(shape)
