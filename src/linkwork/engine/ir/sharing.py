"""Values that a subroutine would compute once more: its caller has them, and passes them on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from linkwork.engine.ir.address import Address
from linkwork.engine.ir.passes import copied, eliminate_dead_code
from linkwork.engine.ir.program import ARITHMETIC, Operand, Program, Subroutine

Known = dict[tuple[Any, ...], int]
"""The values that a program has computed so far, by operation and operands."""


def share_values(program: Program) -> Program:
    """The program, whose subroutines are also given the values that both compute from the same numbers: sines of joint
    angles, products of these. A subroutine that is used more than once stays as it is: its code is emitted once.
    """
    uses = Counter(program.details[n] for n in program.root.order if program.operations[n] == "subroutine")
    known: Known = {}
    for n in program.root.order:
        operation, operands = program.operations[n], program.operands[n]
        if operation in ARITHMETIC:
            known[_key(operation, operands)] = n
        elif operation == "subroutine" and uses[program.details[n]] == 1:
            program.details[n], program.operands[n] = _given_more(program.details[n], operands, known)
    return program


def _key(operation: str, operands: tuple[Operand, ...]) -> tuple[Any, ...]:
    """Types distinguish the constant 2.0 from instruction 2."""
    return operation, operands, tuple(map(type, operands))


def _given_more(
    what: Subroutine, operands: tuple[Operand, ...], known: Known
) -> tuple[Subroutine, tuple[Operand, ...]]:
    """The subroutine, and what it is given, after the values that its caller knows have become loads."""
    inside = copied(what.program)
    more = _with_loads_of_known(inside, operands, known)
    eliminate_dead_code(inside)
    loaded = {inside.details[n].offset for n in inside.root.order if inside.operations[n] == "load"}
    used = [value for value, place in more.items() if place in loaded]
    if not used:
        return what, operands
    places = {more[value]: what.given + k for k, value in enumerate(used)}
    for n in inside.root.order:
        if inside.operations[n] == "load":
            detail = inside.details[n]
            inside.details[n] = detail._replace(offset=places.get(detail.offset, detail.offset))
    return replace(what, program=inside, given=what.given + len(used)), (*operands, *used)


def _with_loads_of_known(inside: Program, operands: tuple[Operand, ...], known: Known) -> dict[int, int]:
    """Turn what a subroutine's program computes, but its caller knows, into loads; the caller's values, and their
    places after the subroutine's operands.
    """
    outside: dict[int, Operand] = {}  # of values inside, the caller's
    more: dict[int, int] = {}
    for n in inside.root.order:
        operation, own = inside.operations[n], inside.operands[n]
        if operation == "load":
            outside[n] = operands[inside.details[n].offset]
        elif operation in ARITHMETIC and all(type(x) is not int or x in outside for x in own):
            found = known.get(_key(operation, tuple(outside[x] if type(x) is int else x for x in own)))
            if found is not None:
                outside[n] = found
                place = more.setdefault(found, len(operands) + len(more))
                inside.operations[n], inside.operands[n], inside.details[n] = "load", (), Address("argument0", place)
    return more
