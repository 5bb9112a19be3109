"""Intermediate code whose faults no result of a correct library shows: the verifier, which every program of the other
tests passes, the merging of a loop's cases, what iterations hand over, and how code reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.kept_rows import KeptRows
from linkwork.engine.emit.loops import carried
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.merge import merge_cases
from linkwork.engine.ir.program import Block, Loop, Program, Repeat, Subroutine, inner, text
from linkwork.spatial import where_less
from programs import planned, task_of
from verifier import InvalidProgram, verify

TABLES = ("work", "square", "data", "ints")


def program_of(*instructions: tuple[str, tuple[Any, ...], Any] | tuple[str, tuple[Any, ...], Any, int]) -> Program:
    program = Program()
    for instruction in instructions:
        program.instruction(program.root, *instruction)
    return program


LOAD = ("load", (), Address("argument0", 0))
VECTOR = ("vector", (0, 0), None, 2)
BROKEN: dict[str, tuple[Program, str]] = {
    "unknown": (program_of(LOAD, ("power", (0, 0), None)), r"%1 \(power\): there is no such operation"),
    "too_few": (program_of(LOAD, ("add", (0,), None)), r"%1 \(add\): has 1 operands instead of 2"),
    "later": (program_of(LOAD, ("add", (0, 2), None), LOAD), r"%1 \(add\): operand 2 is no constant and no value"),
    "own": (program_of(("neg", (0,), None)), r"%0 \(neg\): operand 0"),
    "whole_constant": (program_of(LOAD, ("add", (0, True), None)), r"%1 \(add\): operand True"),
    "array": (program_of(("load", (), Address("argument7", 0))), r"%0 \(load\): array 'argument7' is not among"),
    "no_address": (program_of(("load", (), None)), r"%0 \(load\): has no address"),
    "written_argument": (program_of(LOAD, ("store", (0,), Address("argument0", 0))), r"%1 \(store\): .* be written"),
    "written_table": (program_of(LOAD, ("store", (0,), Address("data", 0))), r"%1 \(store\): .* be written"),
    "float_index": (program_of(LOAD, ("load", (), Address("data", 0, ((0, 4),)))), r"%1 \(load\): index %0 is no"),
    "stride": (program_of(("load", (), Address("data", 0, ((-1, "weight"),)))), r"size 'weight' is not known"),
    "unnamed_one": (program_of(("load", (), Address("data", 0, ((-1, 3),)))), r"needs the name of a size"),
    "negative": (program_of(("load", (), Address("data", -1))), r"before the beginning"),
    "index_of_floats": (
        program_of(("index", (), Address("data", 0))),
        r"%0 \(index\): integers are in 'ints' and 'work'",
    ),
    "load_of_ints": (program_of(("load", (), Address("ints", 0))), r"%0 \(load\): only integers are in 'ints'"),
    "float_as_index": (
        program_of(LOAD, ("store_index", (0,), Address("work", 0))),
        r"%1 \(store_index\): operand %0 is no integer defined before it",
    ),
    "written_ints": (
        program_of(("affine", (), Address("", 3)), ("store_index", (0,), Address("ints", 0))),
        r"%1 \(store_index\): array 'ints' must not be written",
    ),
    "detail": (program_of(LOAD, ("neg", (0,), "x")), r"%1 \(neg\): has a detail"),
    "too_narrow": (program_of(LOAD, ("neg", (0,), None, 2)), r"%1 \(neg\): has operands of \[1\] lanes, and 2 itself"),
    "too_wide": (program_of(LOAD, ("add", (0, (1.0, 2.0)), None)), r"%1 \(add\): has operands of \[1, 2\] lanes"),
    "wide_store": (program_of(LOAD, VECTOR, ("store", (1,), Address("result0", 0))), r"%2 \(store\)"),
    "few_in_vector": (program_of(LOAD, ("vector", (0, 0), None, 3)), r"%1 \(vector\): has 2 operands instead of 3"),
    "no_lane": (program_of(LOAD, VECTOR, ("extract", (1,), 2)), r"%2 \(extract\): there is no lane 2 of 2"),
    "narrow_lane": (program_of(LOAD, ("extract", (0,), 0)), r"%1 \(extract\): there is no lane 0 of 1"),
    "no_loop": (program_of(("loop", (), None)), r"%0 \(loop\): has no loop"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_verifier_names_the_broken_instruction(name: str) -> None:
    program, message = BROKEN[name]
    with pytest.raises(InvalidProgram, match=message):
        verify(program, ["argument0", "result0", *TABLES], ["bodies"])


def looped(
    walk: str = "up", last: int | str = "bodies", start: int | None = None, cases: int = 1, kind_known: bool = False
) -> Program:
    """A loop that stores an argument's number, negated, in each iteration."""
    program = program_of(LOAD)
    counter = program.instruction(Block(), "counter", ())
    blocks = []
    for case in range(cases):
        blocks.append((case, Block()))
        inner = program.instruction(blocks[-1][1], "neg", (0,))
        program.instruction(blocks[-1][1], "store", (inner,), Address("result0", 0, ((counter, 1),)))
    kind = Address("ints", 0, ((counter, 4),)) if kind_known else None
    program.instruction(program.root, "loop", (), Loop(walk, counter, 1, last, start, blocks, kind=kind))
    return program


def escaping() -> Program:
    program = looped()
    program.instruction(program.root, "store", (2,), Address("result0", 0))
    return program


def doubled() -> Program:
    program = looped()
    program.root.order.append(0)
    return program


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (looped("sideways"), "walks 'sideways'"),
        (looped(last="frames"), "size 'frames' is not known"),
        (looped("climb", start=0), "start %0 is no integer"),
        (looped("down", start=0), "start %0 is no integer"),
        (looped("up", start=0), "walks 'up', which has no start"),
        (looped(cases=0), "has no cases"),
        (looped(cases=2), "has several cases and nothing that tells which"),
        (looped(cases=2, kind_known=True), "array 'ints' is not among"),
        (escaping(), r"\(store\): operand 2 is no constant and no value defined before it"),
        (doubled(), r"%0 \(load\): stands in the program twice"),
    ],
    ids=["walk", "last", "start", "start down", "start up", "cases", "kind", "table", "escape", "doubled"],
)
def test_the_verifier_checks_loops(program: Program, message: str) -> None:
    verify(looped(), ["argument0", "result0"], ["bodies"])
    with pytest.raises(InvalidProgram, match=message):
        verify(program, ["argument0", "result0"], ["bodies"])


def repeating(operand: Any, part: Any, value: float = 1.0) -> Program:
    body = Program()
    body.instruction(body.root, "store", (value,), Address("result0", 0))
    body.instruction(body.root, "store", (0.0,), Address("result1", 0))
    whole = Program()
    n = whole.instruction(whole.root, "repeat", operand, Repeat(body, 1, 0, 5))
    end = whole.instruction(whole.root, "final", (n,), part)
    whole.instruction(whole.root, "store", (end,), Address("result0", 0))
    return whole


def test_the_verifier_looks_inside_what_is_repeated() -> None:
    verify(repeating((2.0,), 0), ["result0"])
    for wrong in (repeating((), 0), repeating((2.0,), 1), repeating((2.0,), None), repeating((2.0,), 0, 1)):
        with pytest.raises(InvalidProgram):
            verify(wrong, ["result0"])


def test_the_verifier_checks_subroutines() -> None:
    wrong = Program()
    load = wrong.instruction(wrong.root, "load", (), Address("argument0", 0))
    wrong.instruction(wrong.root, "subroutine", (load,), Subroutine(Program(), 1, 0, (((1,), Program()),)))
    with pytest.raises(InvalidProgram, match="no such places"):
        verify(wrong, ["argument0"])
    whole = Program()
    whole.instruction(whole.root, "subroutine", (), Subroutine(Program(), 1, 0))
    for wrong in (whole, Program(["subroutine"], [()], [None], [1], whole.root)):
        with pytest.raises(InvalidProgram, match="subroutine"):
            verify(wrong, [])


def test_the_verifier_checks_rows() -> None:
    def sums(x: Any) -> Any:
        number, rows = numbers(x).item(), KeptRows("positive", 1, 1)
        rows.keep(where_less(0.0, number, 1.0, 0.0), [number])
        return array_of(rows.fold(lambda sum_, row, given: [sum_[0] + row[0]], [number], []))[0]

    program = lw.compile(sums, x=()).program
    verify(program, ("argument0", "result0"))
    broken = inner(program)[0].program
    broken.instruction(broken.root, "keep", (), "nothing")
    with pytest.raises(InvalidProgram, match="nothing with rows"):
        verify(program, ("argument0", "result0"))


def test_cases_that_are_merged_again_keep_all_kinds() -> None:
    """Two cases with the same instructions are merged; when a third joins them, all kinds lead to the same case."""
    program, values = Program(), (1.0, 2.0, 2.0)
    counter = program.instruction(Block(), "counter", ())
    loop = Loop("up", counter, 1, "last_body", None, [], kind=Address("ints", 0, ((counter, 1),)))
    stores = []
    for kind, value in enumerate(values):
        block = Block()
        stores.append(program.instruction(block, "store", (value,), Address("result0", 0, ((counter, 1),))))
        loop.cases.append((kind, block))
    program.instruction(program.root, "loop", (), loop)
    loop.cases.append((3, Block()))  # one that differs to the end
    merge_cases(program)
    assert loop.same == {2: 1}
    program.operands[stores[1]] = (1.0,)
    merge_cases(program)
    assert [kind for kind, _ in loop.cases] == [0, 3] and loop.same == {2: 0, 1: 0}


def test_a_number_that_a_loop_stores_twice_is_not_handed_over() -> None:
    """In whatever row: the next body may read the other."""
    task = task_of(ALGORITHMS["inverse_dynamics"], lw.mechanisms.binary_tree(4), absent=("f_ext",))
    program = planned(task, "rolled").loops.program
    walks = [program.details[n] for n in program.root.order if program.operations[n] == "loop"]
    walk, before = next((walk, each) for walk in walks if (each := carried(program, walk)))
    block = walk.cases[0][1]
    stores = [n for n in block.order if program.operations[n] == "store" and program.details[n].array == "work"]
    block.order.append(next(n for n in stores if program.details[n].offset == before.places[0][0]))
    after = carried(program, walk)
    assert after and {*before.places} - {*after.places} == {before.places[0]}


def test_the_text_of_a_small_program(golden: Callable[[str, str], None]) -> None:
    pendulum = lw.mechanisms.pendulum()
    straight = lw.compile(lambda q, v, a: lw.inverse_dynamics(pendulum, q, v, a), q=1, v=1, a=1)
    golden("pendulum_specialised.txt", straight.text())
    task = task_of(ALGORITHMS["inverse_dynamics"], pendulum, absent=("f_ext",))
    golden("pendulum_rolled.txt", text(planned(task, "rolled").loops.laid_out[0]))
