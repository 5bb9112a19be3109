"""The tracer, the intermediate code and its definition, and machine code: all give the interpreter's bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.engine.emit.call_frame import TABLES
from linkwork.engine.ir import evaluator
from linkwork.engine.ir.address import Address
from linkwork.engine.ir.layout import laid_out
from linkwork.engine.ir.lists import pack_lists
from linkwork.engine.ir.program import Block, Loop, Program, count, text
from linkwork.engine.plans import Task
from linkwork.engine.plans.loops import BodyLoops
from linkwork.engine.plans.specialised import specialised_program as specialise
from linkwork.engine.spaces import SPACES
from linkwork.engine.trace.rolled import roll
from linkwork.engine.trace.tracer import Tracer
from linkwork.inside import evaluate
from linkwork.model import Model
from linkwork.spatial import LARGEST_ANGLE, atan2, elementary, sin_cos, sqrt, where_less
from programs import BASELINE, arguments_of, bits, evaluated, machine
from strategies import FAMILIES, Array, pool_to_compile, state_of
from verifier import InvalidProgram, verify

# The definition of the intermediate code against the interpreter


def frames_of(model: Model, name: str) -> list[lw.Frame]:
    spaces = ALGORITHMS[name].results
    wanted = any(SPACES[space].of_frames for space in spaces)
    return [model.frame(frame) for frame in model.frame_names[1::4]] if wanted else []


@pytest.mark.parametrize("form", ["specialised", "rolled"])
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name in FAMILIES])
def test_programs_are_well_formed_and_mean_what_the_text_means(name: str, form: str) -> None:
    """On one tree of the pool for each algorithm, all of them by turns."""
    number = [*ALGORITHMS].index(name) % len(pool_to_compile())
    model = pool_to_compile()[number]
    task = Task(ALGORITHMS[name], model, (), frames_of(model, name))
    arguments = arguments_of(task, state_of(model, number))
    expected = evaluate(ALGORITHMS[name], model, [a.ravel().tolist() for a in arguments], task.frames)
    for result, numbers in zip(evaluated(task, form, arguments), expected, strict=True):
        assert np.array_equal(bits(result), bits(numbers)), model.name


@pytest.mark.parametrize(
    ("name", "joint"),
    [("forward_dynamics_derivatives", lw.joints.Revolute("y")), ("mass_matrix_inverse", lw.joints.Spherical())],
)
def test_items_of_lists_take_lanes_and_keep_their_bits(name: str, joint: lw.joints.Joint) -> None:
    """Two right-hand sides of a hinge, twelve of a free joint, three of a ball joint."""
    model = lw.mechanisms.serial_chain(2, joint=joint, floating_base=True)
    task = Task(ALGORITHMS[name], model)
    arguments = arguments_of(task, state_of(model, 1))
    expected = evaluate(task.algorithm, model, [a.ravel().tolist() for a in arguments])
    for result, numbers in zip(evaluated(task, "rolled, one state", arguments), expected, strict=True):
        assert np.array_equal(bits(result), bits(numbers))


def test_right_hand_sides_take_the_lanes_of_one_state() -> None:
    """Three of a ball joint: a quarter of all operations is saved."""
    model = lw.mechanisms.serial_chain(3, joint=lw.joints.Spherical())
    task = Task(ALGORITHMS["mass_matrix_inverse"], model)
    narrow = BodyLoops(task).program
    wide = pack_lists(narrow)
    assert narrow.widths.count(4) == 0 < wide.widths.count(4)
    assert count(wide).total() <= 0.75 * count(narrow).total()


@pytest.mark.parametrize("form", ["specialised", "rolled"])
def test_an_absent_force_and_the_world_alone(form: str) -> None:
    model = lw.mechanisms.pendulum()
    task = Task(ALGORITHMS["inverse_dynamics"], model, ("f_ext",))
    (tau,) = evaluated(task, form, [np.array([0.3]), np.array([1.0]), np.array([2.0])])
    assert np.array_equal(tau, lw.inverse_dynamics(model, [0.3], [1.0], [2.0]))


def test_the_text_of_a_small_program(golden: Callable[[str, str], None]) -> None:
    pendulum, algorithm = lw.mechanisms.pendulum(), ALGORITHMS["inverse_dynamics"]
    golden("pendulum_specialised.txt", text(specialise(algorithm, pendulum, ("f_ext",), expand=False)))
    tables = BodyLoops(Task(algorithm, pendulum)).model_tables
    rolled = roll(algorithm, tables.kinds, tables.width, ("f_ext",), expand=False)
    laid_out(rolled)
    golden("pendulum_rolled.txt", text(rolled))


# The tracer

CONSTANTS = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -4.0, 1e-3, 7.25]
OPERATIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "+": (2, lambda a, b: a + b),
    "-": (2, lambda a, b: a - b),
    "*": (2, lambda a, b: a * b),
    "/": (2, lambda a, b: a / b),
    "neg": (1, lambda a: -a),
    "sqrt": (1, sqrt),
    "less": (4, where_less),
    "sin": (1, lambda a: sin_cos(a)[0]),
    "cos": (1, lambda a: sin_cos(a)[1]),
    "atan2": (2, atan2),
    "exp": (1, elementary.exp),
    "log": (1, elementary.log),
    "remainder": (2, elementary.remainder),
}
leaves = st.integers(0, 3) | st.sampled_from(CONSTANTS)
expressions = st.recursive(
    leaves,
    lambda inner: st.sampled_from(sorted(OPERATIONS)).flatmap(
        lambda name: st.tuples(st.just(name), *[inner] * OPERATIONS[name][0])
    ),
    max_leaves=12,
)


def value(expression: Any, arguments: Sequence[Any], seen: list[Any]) -> Any:
    """An expression over any scalars; ``seen`` receives every intermediate value."""
    if isinstance(expression, tuple):
        name, *operands = expression
        result = OPERATIONS[name][1](*(value(operand, arguments, seen) for operand in operands))
    else:
        result = arguments[expression] if isinstance(expression, int) else expression
    seen.append(result)
    return result


def plain(expression: Any, arguments: Sequence[float]) -> float:
    """Its value in floats, or NaN if any intermediate value is NaN."""
    seen: list[float] = []
    try:
        result = value(expression, arguments, seen)
    except (ZeroDivisionError, OverflowError, ValueError):
        return math.nan
    return float(result) if all(map(math.isfinite, seen)) else math.nan


def traced(expressions: Sequence[Any], expand: bool) -> Program:
    tracer = Tracer(expand)
    arguments = [tracer.load(Address("argument0", k)) for k in range(4)]
    for k, expression in enumerate(expressions):
        tracer.store(Address("result0", k), value(expression, arguments, []))
    return tracer.program


numbers = st.floats(-1e3, 1e3) | st.sampled_from(CONSTANTS)


@settings(max_examples=40)
@given(st.lists(expressions, min_size=1, max_size=6), st.lists(numbers, min_size=4, max_size=4))
def test_folding_and_sharing_keep_every_bit(trees: list[Any], arguments: list[float]) -> None:
    try:
        programs = [traced(trees, expand) for expand in (True, False)]
    except (ZeroDivisionError, OverflowError, ValueError):
        return  # constants alone: the text itself says no
    expected = np.array([plain(tree, arguments) for tree in trees])
    fine = np.isfinite(expected)
    for program in programs:
        verify(program, ["argument0", "result0"])
        results = [math.nan] * len(trees)
        evaluator.run(program, {"argument0": list(arguments), "result0": results})
        assert np.array_equal(bits(results)[fine], bits(expected)[fine])
    if fine.any():
        lanes = 1 if len(trees) % 2 else 4
        result = machine(programs[0], np.array([arguments] * 3), len(trees), lanes)[2]
        assert np.array_equal(bits(result)[fine], bits(expected)[fine]), lanes


def test_the_constant_2_is_not_instruction_2() -> None:
    """The number of an instruction and a constant are equal to Python."""
    program = traced([("*", 1, 2), ("*", 1, 2.0), ("-", 3, 1.0), ("-", 3, 1), ("less", 3, 0.0, 1, 2)], True)
    results = [math.nan] * 5
    evaluator.run(program, {"argument0": [5.0, 7.0, 11.0, 13.0], "result0": results})
    assert results == [77.0, 14.0, 12.0, 6.0, 11.0]


def test_a_common_subexpression_is_computed_once() -> None:
    twice = ("+", ("*", 0, 1), ("*", 1, 0))
    found = count(traced([twice, ("-", 0, 1), ("-", ("neg", 1), ("neg", 0))], True))
    assert (found["mul"], found["add"], found["sub"]) == (1, 1, 1)
    same = ("sin", ("neg", ("neg", 0)))
    assert count(traced([same, ("sin", 0)], False))["sin"] == 1


@pytest.mark.parametrize(
    "expression",
    [("+", 0, 0.0), ("+", 0.0, 0), ("-", 0, 0.0), ("*", 0, 1.0), ("*", 1.0, 0), ("*", 0, 0.0), ("-", 0, 0)],
)
def test_what_changes_nothing_costs_nothing(expression: Any) -> None:
    assert not count(traced([expression], True))


def test_what_no_result_needs_is_left_out() -> None:
    """The velocity of a pendulum does not affect its gravity torque, nor the last sine a first frame."""
    arm = lw.mechanisms.serial_30dof()
    near = specialise(ALGORITHMS["frame_placements"], arm, (), [arm.frame(arm.body_names[0])], expand=False)
    assert count(near)["sin"] <= 1
    for program in (near, specialise(ALGORITHMS["mass_matrix"], arm)):
        used = {x for n in program.walk() for x in program.operands[n] if type(x) is int}
        assert all(n in used or program.operations[n] == "store" for n in program.walk())


def test_a_traced_value_has_no_truth() -> None:
    x = Tracer().load(Address("argument0", 0))
    for decide in (lambda: bool(x), lambda: bool(x < 1.0), lambda: float(x)):
        with pytest.raises(TypeError, match="where_less"):
            decide()


# Sine, cosine and arc tangent as machine code


def compiled(lanes: int, cpu: tuple[str, str] | None, inputs: Array) -> Array:
    return machine(traced([("sin", 0), ("cos", 0), ("atan2", 0, 1)], True), inputs, 3, lanes, cpu)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("cpu", [None, BASELINE], ids=["host", "sse2"])
def test_sine_cosine_and_arc_tangent_have_the_interpreters_bits(lanes: int, cpu: tuple[str, str] | None) -> None:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (2, 30000))
    x, y = signs * np.exp(rng.uniform(np.log(1e-300), np.log(1.2 * LARGEST_ANGLE), (2, 30000)))
    x[:4000] = rng.integers(-(10**7), 10**7, 4000) * (np.pi / 4)
    special = [0.0, -0.0, LARGEST_ANGLE, -LARGEST_ANGLE, 1e9, 1e100, 1e300, -1e308, math.inf, math.nan, 5e-324]
    x[4000 : 4000 + len(special)] = special
    inputs = np.stack([x, y, y, y], axis=1)
    with np.errstate(all="ignore"):
        expected = np.stack([*sin_cos(x), atan2(x, y)], axis=1)
    result = compiled(lanes, cpu, inputs)
    fine = np.isfinite(expected)
    assert fine.mean() > 0.95 and np.array_equal(fine, np.isfinite(result))
    assert np.array_equal(bits(result)[fine], bits(expected)[fine])
    singles = [sin_cos(float(number)) for number in x[3900:4200]]
    agree = fine[3900:4200, :2]
    assert np.array_equal(bits(singles)[agree], bits(result[3900:4200, :2])[agree])


# The verifier


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
