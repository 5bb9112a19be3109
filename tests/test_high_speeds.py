"""Results that lose digits at high speeds, where velocity terms cancel, come with a warning; others do not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, FORWARD_DYNAMICS
from linkwork.inside import evaluate
from linkwork.joints import Joint, Revolute
from linkwork.model import Model
from robots import robot
from strategies import JOINTS, random_tree

Array = NDArray[np.float64]
MP = mpmath.MPContext()
MP.dps = 50
METHODS = (*FORWARD_DYNAMICS, "constraint_force", "assembly")
LOST = r"about \d+ of 16 digits are lost to rounding"


def hinge() -> Model:
    """A flywheel on an oblique axis, whose acceleration does not depend on its speed."""
    builder = lw.Builder("flywheel")
    builder.add_body("wheel", joint=Revolute((0.3, -0.5, 0.8)), mass=1.0, com=(0.1, 0.2, -0.1), inertia=(1, 0.8, 0.6))
    return builder.build()


def called(name: str, model: Model, q: Array, v: Array, tau: Array) -> tuple[Any, bool]:
    """The result, and whether a warning of high speeds came with it."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        if name == "nonlinear_effects":
            result = lw.nonlinear_effects(model, q, v)
        elif name not in METHODS:
            result = getattr(lw, name)(model, q, v, tau)
        else:
            result = lw.forward_dynamics(model, q, v, tau, method=name)
    return result, any("velocity terms" in str(each.message) for each in given)


def error(name: str, model: Model, q: Array, v: Array, tau: Array) -> float:
    """Relative to the largest number, or to that for 1 rad/s², of the same floats with 50 digits."""

    def result(number: Callable[[float], Any], *tree: Any) -> list[Any]:
        state = [q, v, *([] if name == "nonlinear_effects" else [tau])]
        numbers = [[number(x) for x in array.tolist()] for array in state]
        found: list[Any] = evaluate(ALGORITHMS[name], model, [*numbers, *[None] * (len(state) > 2)], (), *tree)[0]
        return found

    exact = result(MP.mpf, exact_tree(model, MP.mpf))
    inertia = max(body.inertia.mass + sum(body.inertia.second.numbers()) for body in model.bodies)
    least = inertia if name in ("inverse_dynamics", "nonlinear_effects") else 1.0
    off = max(abs(MP.mpf(a) - b) for a, b in zip(result(float), exact, strict=True))
    return float(off / max(max(map(abs, exact)), least))


def mechanism(rng: np.random.Generator, joints: list[Joint]) -> tuple[Model, Array, Array]:
    """A random tree, and a state with one joint that is much faster than the others, or all of them fast."""
    model = random_tree(int(rng.integers(10**9)), joints, len(joints))
    q = np.array([x for body in model.bodies for x in body.joint.random(rng)])
    speed = 10 ** rng.uniform(3, 12)
    v = rng.normal(size=model.nv) * rng.choice([0.0, 1.0, speed])
    v[rng.integers(model.nv)] = speed
    return model, q, v


def oblique(rng: np.random.Generator, count: int) -> list[Joint]:
    return [Revolute(tuple(rng.normal(size=3))) for _ in range(count)]


@pytest.mark.parametrize("name", [*METHODS, "inverse_dynamics", "nonlinear_effects", "forward_dynamics_derivatives"])
def test_digits_lost_at_high_speeds_are_told_of(name: str) -> None:
    rng, lost, fine = np.random.default_rng(len(name)), 0, 0
    moving = [joint for joint in JOINTS if joint.nv]
    for k in range(24):
        joints = [moving[i] for i in rng.integers(len(moving), size=1 + k // 2 % 3)]
        model, q, v = mechanism(rng, oblique(rng, len(joints)) if k % 2 else joints)
        tau = rng.normal(size=model.nv)
        with lw.interpreted():
            _, told = called(name, model, q, v, tau)
        off = error(name, model, q, v, tau)
        assert told or off < 3e-8, f"{joints} at {v} is off by {off:.2g}"
        if told and off < 1e-9:  # rounding did no harm at this very speed, by chance
            off = max(error(name, model, q, s * v, tau) for s in np.linspace(0.7, 0.97, 12))
        assert not told or off > 1e-9, f"{joints} at {v} is off by {off:.2g}"
        lost, fine = lost + told, fine + (not told)
    assert fine > 5 and (lost > 2 or "derivatives" in name)


def test_a_warning_names_method_state_and_joint_and_changes_no_bit() -> None:
    """Builtins serve slow states, and leave fast ones to Python: one state, and a batch."""
    model, q, tau = hinge(), np.array([0.3]), np.array([0.5])
    slow, fast = np.array([0.99 * 2e3]), np.array([1.2345e7])
    for function, name in (
        (lw.forward_dynamics, "articulated_body"),
        (lw.inverse_dynamics, "inverse_dynamics"),
        (lambda *given: lw.forward_dynamics_and_reactions(*given)[0], "articulated_body_reactions/child"),
    ):
        for _ in range(3):
            function(model, q, slow, tau)
        with pytest.warns(
            lw.LinkworkWarning, match=rf"^{name}: {LOST} of model 'flywheel', most of them at joint 'joint_wheel': "
        ):
            one = function(model, q, fast, tau)
        with lw.interpreted(), pytest.warns(lw.LinkworkWarning):
            assert np.array_equal(function(model, q, fast, tau), one)
    several = np.tile(slow, (3, 7, 1))
    for _ in range(3):
        lw.forward_dynamics(model, q, several, tau)
    several[2, 4] = -fast
    with pytest.warns(lw.LinkworkWarning, match=rf"^articulated_body: {LOST} in state \(2, 4\) of .*speed of 1.2e\+07"):
        batch = lw.forward_dynamics(model, q, several, tau)
    with lw.interpreted(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(lw.forward_dynamics(model, q, several, tau), batch)


def test_motions_that_end_at_high_speed_are_told_of() -> None:
    """Once, whatever a step calls."""
    model, fast = hinge(), [1.2345e7]
    with lw.interpreted():
        lw.rollout(model, [0.0], [100.0], dt=1e-3, steps=5)
        with pytest.warns(
            lw.LinkworkWarning, match=rf"^{LOST} in accelerations at the end of trajectory \[1\] of model"
        ) as given:
            lw.rollout(model, [[0.0], [0.0]], [[100.0], fast], dt=1e-3, steps=5, record=3)
        assert len(given) == 1
        with pytest.warns(
            lw.LinkworkWarning, match=rf"^{LOST} in accelerations at the end of the simulation of model"
        ) as given:
            lw.simulate(model, [0.0], fast, duration=0.003, dt=1e-3)
        assert len(given) == 1
        lw.rollout(model, [0.0], fast, tau=[1e13], dt=1e-3, steps=5)  # driven so hard that digits remain


def test_code_inside_other_code_runs_at_high_speeds() -> None:
    """The status that leaves a call to Python is no failure of a stage."""
    model = lw.mechanisms.rope(60)
    law = lw.compile(lambda q, v: lw.inverse_dynamics(model, q, v, 0.0 * v), q=model.nq, v=model.nv)
    q, v = lw.neutral(model), np.full(model.nv, 1e5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = lw.inverse_dynamics(model, q, v, 0.0 * v)
    for given in (v, np.stack([v] * 9)):
        assert np.array_equal(law(q, given), np.broadcast_to(expected, given.shape))


FILES = (
    "ur5_robot.urdf", "panda.urdf", "g1_29dof_rev_1_0.urdf", "anymal.urdf", "talos_reduced.urdf", "icub.urdf",
    "alex_nub_hands.urdf", "laikago.urdf", "solo12.urdf", "quadruped.urdf",
)  # fmt: skip
"""The last ones have limits of up to 1e4 rad/s."""


@pytest.mark.parametrize("name", FILES)
def test_no_robot_alarms_at_a_hundred_times_its_limits(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.load(robot(name), floating_base=True)
    rng, count = np.random.default_rng(5), 40
    limits = np.where(np.isfinite(model.velocity_limit), model.velocity_limit, 10.0)
    q = np.array([[x for body in model.bodies for x in body.joint.random(rng)] for _ in range(count)])
    v = 100.0 * limits * rng.choice([-1.0, 1.0, 1.0, 0.3, 0.0], size=(count, model.nv))
    tau = rng.normal(size=(count, model.nv))
    with lw.interpreted():
        for what in ("articulated_body", "composite_body", "inverse_dynamics", "nonlinear_effects"):
            assert not called(what, model, q, v, tau)[1]


def test_squares_of_speeds_may_overflow_without_a_word() -> None:
    """A slider's speed does not matter, however high; no warning of NumPy's says otherwise."""
    builder = lw.Builder("slider")
    builder.add_body("a", joint=lw.joints.Prismatic("x"), mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.1, 0.1))
    builder.add_body("b", "a", lw.joints.Revolute("y"), mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.1, 0.1))
    model = builder.build()
    with lw.interpreted():
        fast, slow = (
            lw.inverse_dynamics_derivatives(model, np.zeros(2), np.array([v, 0.0]), np.zeros(2)) for v in (-1e200, 0.0)
        )
    for found, expected in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(found, expected)
