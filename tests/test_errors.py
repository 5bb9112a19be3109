"""Errors of the public functions for bad input: they name the cause. A call that fails changes nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS, FORWARD_DYNAMICS, INVERTING
from linkwork.joints import Fixed, Free, Joint, Planar, Revolute, Spherical, Universal
from linkwork.model import Model
from linkwork.spatial import LARGEST_ANGLE
from strategies import ASKED, CALLS, FAMILIES, FEW_FRAMES, FORMS, JOINTS, Cam, State, few_kinds, state_of

pytestmark = pytest.mark.usefixtures("engine")

MODEL = few_kinds()
STATE = state_of(MODEL, 1)
FRAMES = list(FEW_FRAMES)
CASES = [(name, argument, space) for name in CALLS for argument, space in ALGORITHMS[name].arguments]

TELLING = {ALGORITHMS[name].arguments: name for name in reversed(CALLS)}.values()
"""One function for each set of arguments."""

# What the public functions check before a form is chosen: each function in one form, each set of arguments in all.
in_every_form_once = pytest.mark.parametrize(
    ("engine", "name", "argument", "space"),
    [(form, *case) for form in FORMS for case in CASES if form == "interpreted" or case[0] in TELLING],
    indirect=["engine"],
)


def changed(s: State, argument: str, value: Any) -> State:
    field = {"q0": "q"}.get(argument, argument)
    return State(**{**s.__dict__, field: value})


def value_of(argument: str) -> np.ndarray:
    return getattr(STATE, {"q0": "q"}.get(argument, argument))


def may_be_left_out(name: str, argument: str) -> bool:
    """External forces, and any tangent that a product is taken with."""
    return argument == "f_ext" or ("_jvp" in name and argument.startswith("d"))


def bits(results: Any) -> list[bytes]:
    return [array.tobytes() for array in (results if isinstance(results, tuple) else (results,))]


# Shapes, types, numbers


@in_every_form_once
def test_a_wrong_shape_names_the_argument_and_both_shapes(name: str, argument: str, space: str) -> None:
    good = value_of(argument)
    for bad in (good[:-1], np.append(good, good, axis=0), np.float64(1.0), good[..., None]):
        with pytest.raises(lw.ArgumentError) as caught:
            CALLS[name](changed(STATE, argument, bad), FRAMES)
        message = str(caught.value)
        assert message.startswith(f"{argument} must have shape (..., {', '.join(map(str, good.shape))})")
        assert MODEL.name in message and str(np.shape(bad)) in message


class Stubborn:
    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("I will not")


@in_every_form_once
def test_a_wrong_type_names_the_argument(name: str, argument: str, space: str) -> None:
    good = value_of(argument)
    ragged = [[1.0], [1.0, 2.0]]
    odd = [good + 1j, good.astype(str), good.astype(object), good > 0, ragged, Stubborn(), "q", {"a": 1}]
    odd += [good.astype("M8[s]"), good.astype(np.longdouble)] + ([] if may_be_left_out(name, argument) else [None])
    for bad in odd:
        with pytest.raises(lw.ArgumentError, match=f"^{argument} ") as caught:
            CALLS[name](changed(STATE, argument, bad), FRAMES)
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("engine", "name", "argument", "space"),
    [(form, *case) for form in FORMS for case in CASES if case[0] in ASKED[form]],
    indirect=["engine"],
)
def test_a_number_that_is_not_finite_names_argument_place_and_joint(name: str, argument: str, space: str) -> None:
    """Compiled code checks for itself, so each function is called interpreted, and one of a family in each form."""
    batch = state_of(MODEL, 2, (3,))
    field = {"q0": "q"}.get(argument, argument)
    for (s, index), number in product(((STATE, ()), (batch, (1,))), (np.nan, np.inf, -np.inf)):
        bad = getattr(s, field).copy()
        last = (*index, *(n - 1 for n in bad.shape[len(index) :]))
        bad[last] = number
        with pytest.raises(lw.ArgumentError) as caught:
            CALLS[name](changed(s, argument, bad), FRAMES)
        of_bodies = space in ("wrenches", "parameters")
        who = f"body {MODEL.body_names[-1]!r}" if of_bodies else f"joint {MODEL.joint_names[-1]!r}"
        assert f"{argument}[{', '.join(map(str, last))}] ({who}) is {number}" in str(caught.value)


def test_batches_that_do_not_broadcast_are_listed() -> None:
    two, three = state_of(MODEL, 3, (2,)), state_of(MODEL, 3, (3,))
    with pytest.raises(lw.ArgumentError, match=r"do not broadcast: q \(2,\), v \(3,\), tau \(\), f_ext \(4,\)"):
        lw.forward_dynamics(MODEL, two.q, three.v, STATE.tau, state_of(MODEL, 3, (4,)).f_ext)


def test_what_is_no_model_is_refused() -> None:
    calls = [*CALLS.values(), lambda s, f: lw.neutral(s.model), lambda s, f: lw.random_state(s.model)]
    for call, nothing in product(calls, (None, "panda.urdf", 3)):
        with pytest.raises(lw.ArgumentError, match="model must be a linkwork Model"):
            call(changed(STATE, "model", nothing), FRAMES)
    with pytest.raises(lw.ArgumentError, match="model must be a linkwork Model"):
        lw.merge_fixed(None)  # type: ignore[arg-type]


# Names and options


def test_an_unknown_frame_is_named_with_a_near_one() -> None:
    for call in (
        CALLS[name] for name in CALLS if name.split("/")[0] in ("jacobian", "jacobian_drift", "frame_placements")
    ):
        with pytest.raises(lw.UnknownNameError, match=f"model '{MODEL.name}' has no frame named 'poss'.*'post'"):
            call(STATE, ["f0", "poss"])
    with pytest.raises(KeyError):
        lw.forward_kinematics(MODEL, STATE.q, lw.Point("nowhere"))
    for odd in (None, 3, [3], [None], np.array(["f0"])):
        with pytest.raises(lw.ArgumentError, match="frames must"):
            lw.jacobian(MODEL, STATE.q, odd)  # type: ignore[arg-type]


def test_unknown_bodies_and_joints_are_named() -> None:
    with pytest.raises(lw.UnknownNameError, match="no body named 'b99'"):
        MODEL.body_index("b99")
    with pytest.raises(lw.UnknownNameError, match="no joint named 'joint_b'"):
        MODEL.joint_index("joint_b")
    first = MODEL.joint_names[0]
    with pytest.raises(lw.ModelError, match=f"each joint once; {first!r} is there twice"):
        MODEL.permutation([first, MODEL.joint_names[1], first])


def test_a_bad_option_lists_the_options() -> None:
    with pytest.raises(
        lw.ArgumentError, match=r"method must be one of 'articulated_body', .* did you mean 'composite_body'"
    ):
        lw.forward_dynamics(MODEL, STATE.q, STATE.v, STATE.tau, method="compositebody")
    calls: tuple[Callable[[], Any], ...] = (
        lambda: lw.jacobian(MODEL, STATE.q, FRAMES, "globe"),
        lambda: lw.frame_velocity(MODEL, STATE.q, STATE.v, FRAMES, "globe"),
        lambda: lw.frame_acceleration(MODEL, STATE.q, STATE.v, STATE.a, FRAMES, "globe"),
        lambda: lw.jacobian_drift(MODEL, STATE.q, STATE.v, FRAMES, None),  # type: ignore[arg-type]
    )
    for call in calls:
        with pytest.raises(lw.ArgumentError, match="reference must be one of 'local', 'world', 'local_world_aligned'"):
            call()
    with pytest.raises(lw.ArgumentError, match=r"frame_velocity gives six numbers.*'f0' asks for 'position'"):
        lw.frame_velocity(MODEL, STATE.q, STATE.v, lw.Point("f0", axes="position"))
    with pytest.raises(lw.ArgumentError, match="rng must be"):
        lw.random_state(MODEL, "seed")  # type: ignore[arg-type]
    with pytest.raises(lw.ArgumentError, match="shape must be"):
        lw.random_state(MODEL, 0, shape=-1)


# States and models without a result


def arm(joint: Joint, **inertia: Any) -> Model:
    builder = lw.Builder("arm")
    builder.add_body("upper", joint=Revolute("z"), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_body("tip", "upper", joint, lw.placement((1, 0, 0), (0.1, 0.2, 0.3)), joint_name="wrist", **inertia)
    return builder.build()


MOVING = [joint for joint in JOINTS if joint.nv]
OF_EACH_SIZE = (Revolute("x"), Universal("x", "y"), Spherical(), Free(), Cam())
"""A joint of one, two, three and six freedoms, and one whose subspace varies."""


def in_forms(joints: Sequence[Joint], compiled: Sequence[Joint] = OF_EACH_SIZE) -> Any:
    """All of these joints in the interpreter, and where new code is compiled for each, one of each size, or fewer.

    Compiled code finds any non-finite result in the same way, whichever joint it comes from; test_bits shows that it
    has the interpreter's bits for every joint kind.
    """
    cases = [(form, joint) for form in FORMS for joint in joints if form == "interpreted" or joint in compiled]
    ids = [f"{form}-{joint.describe()}" for form, joint in cases]
    return pytest.mark.parametrize(("engine", "joint"), cases, ids=ids, indirect=["engine"])


@in_forms(MOVING)
def test_a_massless_tip_names_its_joint(joint: Joint) -> None:
    assert_singular(arm(joint), "articulated_body")


@pytest.mark.parametrize("method", [method for method in FORWARD_DYNAMICS[1:] if method not in INVERTING])
@in_forms(MOVING, [Revolute("x")])
def test_a_massless_tip_names_its_joint_by_any_method(joint: Joint, method: str) -> None:
    assert_singular(arm(joint), method)


def assert_singular(model: lw.Model, method: str) -> None:
    for batch in ((), (3,)):
        s = state_of(model, 4, batch)
        with pytest.raises(lw.SingularError, match=r"joint 'wrist' can move without moving any inertia.*armature"):
            lw.forward_dynamics(model, s.q, s.v, s.tau, method=method)
        assert np.isfinite(lw.inverse_dynamics(model, s.q, s.v, s.a)).all()


@pytest.mark.parametrize("method", [method for method in FORWARD_DYNAMICS if method not in INVERTING])
def test_an_armature_or_a_weld_makes_a_massless_tip_well_posed(method: str) -> None:
    for model in (arm(Revolute("x"), armature=0.1), arm(Fixed())):
        s = state_of(model, 5)
        a = lw.forward_dynamics(model, s.q, s.v, s.tau, method=method)
        np.testing.assert_allclose(lw.inverse_dynamics(model, s.q, s.v, a), s.tau, rtol=0, atol=1e-12)


def test_a_mechanism_without_mass_has_no_centre() -> None:
    model = lw.Builder("nothing").build()
    nowhere: tuple[Any, ...] = ([], np.empty((3, 0)))
    for q in nowhere:
        with pytest.raises(lw.SingularError, match="centre_of_mass: model 'nothing' has no mass"):
            lw.centre_of_mass(model, q)
    assert lw.mass_matrix(model, []).shape == (0, 0)


SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


@pytest.mark.parametrize(("joint", "count"), [(Spherical(), 4), (Free(), 4), (Planar(), 2)])
@pytest.mark.parametrize("length", [0.0, 1e-170])
def test_a_rotation_of_length_zero_names_its_joint(joint: Joint, count: int, length: float, engine: str) -> None:
    model = arm(joint, **SOLID)
    for s, bad in ((state_of(model, 6), ()), (state_of(model, 6, (3,)), (1,))):
        s.q[(*bad, slice(-count, None))] = length
        calls: tuple[Callable[[State], Any], ...] = (
            lambda s: lw.forward_kinematics(model, s.q, ["tip"]),
            lambda s: lw.integrate(model, s.q, s.v),
            lambda s: lw.mass_matrix(model, s.q),
            lambda s: lw.forward_dynamics(model, s.q, s.v, s.tau),
        )
        for call in calls if engine == "interpreted" else calls[-1:]:  # all share the joint's own text
            with pytest.raises(lw.SingularError, match="joint 'wrist': the rotation in q has length zero"):
                call(s)


@in_forms([joint for joint in JOINTS if joint.angles])
def test_a_gigantic_angle_names_its_joint(joint: Joint) -> None:
    model = arm(joint, **SOLID)
    wanted = (state_of(model, 7), ()), (state_of(model, 7, (3,)), (1,))
    for (s, bad), angle in product(wanted, (1.01 * LARGEST_ANGLE, -1e12, 1e18, 1e300)):
        s.q[(*bad, 1 + joint.angles[-1])] = angle
        with pytest.raises(lw.SingularError, match=r"joint 'wrist': q is an angle of .* whole turns"):
            lw.mass_matrix(model, s.q)


def test_numbers_that_overflow_name_their_joint() -> None:
    model = arm(Revolute("x"), **SOLID)
    with pytest.raises(lw.SingularError, match=r"overflow; v of joint 'joint_upper' is 1e\+200"):
        lw.nonlinear_effects(model, [0.0, 0.1], [1e200, 0.0])
    with pytest.raises(lw.SingularError, match=r"overflow; dv of joint 'wrist' is 1e\+12"):
        lw.integrate(arm(Spherical(), **SOLID), [0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 1e12, 0.0, 0.0])


# What stays


def test_a_call_that_fails_changes_nothing(engine: str) -> None:
    names = sorted(FAMILIES & ASKED[engine])
    before, blob = [bits(CALLS[name](STATE, FRAMES)) for name in names], pickle.dumps(MODEL)
    for name, argument, _ in (case for case in CASES if case[0] in names):
        bad = np.full_like(value_of(argument), np.nan)
        with pytest.raises(lw.ArgumentError):
            CALLS[name](changed(STATE, argument, bad), FRAMES)
        assert np.isnan(bad).all()
    for name, old in zip(names, before, strict=True):
        assert bits(CALLS[name](STATE, FRAMES)) == old
    assert pickle.dumps(MODEL) == blob


def test_four_threads_get_the_same_bits(engine: str) -> None:
    s = state_of(MODEL, 8, (5,))

    def work(_: int) -> list[list[bytes]]:
        with lw.form(engine):  # a form holds for one thread
            return [bits(CALLS[name](s, FRAMES)) for name in sorted(FAMILIES & ASKED[engine])]

    with ThreadPoolExecutor(4) as workers:
        results = list(workers.map(work, range(4)))
    alone = work(0)
    assert all(result == alone for result in results)


def test_errors_pickle_with_their_message() -> None:
    errors: list[Exception] = [
        lw.FormatError("bad", "robot.urdf", 3, 4, "joint"),
        lw.SingularError("no"),
        lw.ModelError("no"),
        lw.FileError(28, "No space left on device", "motion.npz"),
    ]
    for call in (lambda: MODEL.frame("nowhere"), lambda: lw.mass_matrix(MODEL, [1.0])):
        with pytest.raises(lw.LinkworkError) as caught:
            call()
        errors.append(caught.value)
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error) != ""
    assert pickle.loads(pickle.dumps(errors[0])).line == 3
