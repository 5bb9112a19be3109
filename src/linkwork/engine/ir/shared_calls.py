"""Calls of code with loops that are made once, though several need their numbers."""

from __future__ import annotations

from linkwork.engine.ir.passes import copied
from linkwork.engine.ir.program import Program


def share_calls(program: Program) -> Program:
    """A program without calls that are unused, or whose numbers another returns, too: derivatives return the values."""
    operations, operands, details = program.operations, program.operands, program.details
    if "keep" in operations:  # rows are no operands, by which the order is found
        return program
    behind: dict[int, set[int]] = {}  # the calls whose parts an instruction needs, without those that these need
    givers: dict[int, int] = {}

    def needs(call: int, other: int) -> bool:
        seen, todo = {call}, [call]
        while todo:
            before = {givers.get(each, each) for each in behind[todo.pop()]} - seen
            seen |= before
            todo += before
        return other in seen

    calls: list[int] = []
    for n in program.root.order:
        own = [behind[x] for x in program.inputs(n)]
        behind[n] = {operands[n][0]} if operations[n] == "part" else set().union(*own)
        if operations[n] != "call":
            continue
        for other in calls:
            same = operands[n][: len(operands[other])] == operands[other] and details[n].gives(details[other])
            if same and other not in givers and not needs(n, other):
                givers[other] = n
        calls.append(n)
    found = copied(program)
    for n in program.root.order:
        if operations[n] == "part":
            found.operands[n] = (givers.get(operands[n][0], operands[n][0]),)
    found.root.order = _needed_in_order(found)
    return found


def _needed_in_order(program: Program) -> list[int]:
    """Everything that the stores of a program depend on, each instruction after its operands, and the stores."""
    order: list[int] = []
    placed: set[int] = set()
    for store in (n for n in program.root.order if program.operations[n] == "store"):
        todo = [store]
        while todo:
            missing = [x for x in program.operands[todo[-1]] if type(x) is int and x not in placed]
            if missing:
                todo += missing
                continue
            n = todo.pop()
            if n not in placed:
                placed.add(n)
                order.append(n)
    return order
