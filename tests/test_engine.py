"""The tracer, the intermediate code and its definition, and machine code: all give the interpreter's bits.
``test_verifier`` has the checks of programs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.algorithms import ALGORITHMS
from linkwork.inside import evaluate, operations
from linkwork.spatial import LARGEST_ANGLE, atan2, elementary, sin_cos, sqrt, where_less
from programs import (
    BASELINE,
    arguments_of,
    bits,
    evaluated,
    is_about_frames,
    machine,
    planned,
    run_program,
    task_of,
    traced,
)
from strategies import FAMILIES, Array, pool_to_compile, state_of

# The definition of the intermediate code against the interpreter


@pytest.mark.parametrize("form", ["specialised", "rolled"])
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name in FAMILIES])
def test_programs_are_well_formed_and_mean_what_the_text_means(name: str, form: str) -> None:
    """On one tree of the pool for each algorithm, all of them by turns."""
    number = [*ALGORITHMS].index(name) % len(pool_to_compile())
    model = pool_to_compile()[number]
    about = is_about_frames(ALGORITHMS[name], model)
    task = task_of(ALGORITHMS[name], model, model.frame_names[1::4] if about else ())
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
    task = task_of(ALGORITHMS[name], model)
    arguments = arguments_of(task, state_of(model, 1))
    expected = evaluate(task.algorithm, model, [a.ravel().tolist() for a in arguments])
    for result, numbers in zip(evaluated(task, "rolled, one state", arguments), expected, strict=True):
        assert np.array_equal(bits(result), bits(numbers))


def test_right_hand_sides_take_the_lanes_of_one_state() -> None:
    """Three of a ball joint: most operations are on lanes."""
    model = lw.mechanisms.serial_chain(3, joint=lw.joints.Spherical())
    code = planned(task_of(ALGORITHMS["mass_matrix_inverse"], model), "rolled").text(1)
    wide, narrow = (len(re.findall(rf" = f(?:add|sub|mul) {kind} ", code)) for kind in ("<4 x double>", "double"))
    assert 0 < narrow < 4 * wide


@pytest.mark.parametrize("form", ["specialised", "rolled"])
def test_an_absent_force_and_the_world_alone(form: str) -> None:
    model = lw.mechanisms.pendulum()
    task = task_of(ALGORITHMS["inverse_dynamics"], model, absent=("f_ext",))
    (tau,) = evaluated(task, form, [np.array([0.3]), np.array([1.0]), np.array([2.0])])
    assert np.array_equal(tau, lw.inverse_dynamics(model, [0.3], [1.0], [2.0]))


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


def program_of(expressions: Sequence[Any], expand: bool) -> Any:
    return traced(lambda *arguments: [value(each, arguments, []) for each in expressions], 4, expand)


numbers = st.floats(-1e3, 1e3) | st.sampled_from(CONSTANTS)


@settings(max_examples=40)
@given(st.lists(expressions, min_size=1, max_size=6), st.lists(numbers, min_size=4, max_size=4))
def test_folding_and_sharing_keep_every_bit(trees: list[Any], arguments: list[float]) -> None:
    try:
        programs = [program_of(trees, expand) for expand in (True, False)]
    except (ZeroDivisionError, OverflowError, ValueError):
        return  # constants alone: the text itself says no
    expected = np.array([plain(tree, arguments) for tree in trees])
    fine = np.isfinite(expected)
    for program in programs:
        (results,) = run_program(program, [len(trees)], [np.array(arguments)])
        assert np.array_equal(bits(results)[fine], bits(expected)[fine])
    if fine.any():
        lanes = 1 if len(trees) % 2 else 4
        result = machine(programs[0], np.array([arguments] * 3), len(trees), lanes)[2]
        assert np.array_equal(bits(result)[fine], bits(expected)[fine]), lanes


def test_the_constant_2_is_not_instruction_2() -> None:
    """The number of an instruction and a constant are equal to Python."""
    program = program_of([("*", 1, 2), ("*", 1, 2.0), ("-", 3, 1.0), ("-", 3, 1), ("less", 3, 0.0, 1, 2)], True)
    (results,) = run_program(program, [5], [np.array([5.0, 7.0, 11.0, 13.0])])
    assert results.tolist() == [77.0, 14.0, 12.0, 6.0, 11.0]


def test_a_common_subexpression_is_computed_once() -> None:
    found = lw.compile(lambda x, y: (x * y + y * x, x - y, -y - -x), x=(), y=()).count()
    assert (found["mul"], found["add"], found["sub"]) == (1, 1, 1)
    assert lw.compile(lambda x: (np.sin(np.negative(np.negative(x))), np.sin(x)), x=()).count()["sin"] == 1


@pytest.mark.parametrize(
    "expression",
    [("+", 0, 0.0), ("+", 0.0, 0), ("-", 0, 0.0), ("*", 0, 1.0), ("*", 1.0, 0), ("*", 0, 0.0), ("-", 0, 0)],
)
def test_what_changes_nothing_costs_nothing(expression: Any) -> None:
    assert not {"add", "sub", "mul", "neg"} & {*program_of([expression], True).operations}


def test_what_no_result_needs_is_left_out() -> None:
    """The last sine does not affect a first frame; and every number in the code is used."""
    arm = lw.mechanisms.serial_30dof()
    assert operations(ALGORITHMS["frame_placements"], arm, [arm.frame(arm.body_names[0])])["sin"] <= 1
    text = lw.compile(lambda q: lw.mass_matrix(arm, q), q=arm.nq).text()
    made, uses = re.findall(r"^(%\d+) = ", text, re.MULTILINE), re.findall(r"%\d+", text)
    assert made and {*made} == {number for number, times in Counter(uses).items() if times > 1}


def test_a_traced_value_has_no_truth() -> None:
    for decide in (lambda x: bool(x), lambda x: bool(x < 1.0), lambda x: float(x)):
        with pytest.raises(TypeError, match="where_less"):
            traced(lambda x, decide=decide: [decide(x)], 1)


# Sine, cosine and arc tangent as machine code


def compiled(lanes: int, cpu: tuple[str, str] | None, inputs: Array) -> Array:
    return machine(program_of([("sin", 0), ("cos", 0), ("atan2", 0, 1)], True), inputs, 3, lanes, cpu)


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
