"""An object held by several hands: the augmented object, its control, and the forces inside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.linalg import expm, null_space
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.control import HeldObject, OperationalSpaceController, Posture, augmented_object
from strategies import Array

AXES = "zyyxyxz"
Make = Callable[[], tuple[lw.Model, list[lw.Weld], Array]]


@cache
def holding() -> tuple[lw.Model, list[lw.Weld], Array]:
    """Two arms of seven hinges on a turning column, with a plate between their hands, and a configuration."""
    builder = lw.Builder("holding")
    solid = {"mass": 1.5, "com": (0.0, 0.0, 0.15), "inertia": (0.02, 0.03, 0.01)}
    builder.add_body("column", joint=lw.joints.Revolute("z"), mass=10.0, inertia=(0.5, 0.5, 0.4))
    names = ["hand0", "hand1"]
    for k, name in enumerate(names):
        angle = np.pi * k
        last = "column"
        place = lw.placement((0.4 * np.cos(angle), 0.4 * np.sin(angle), 0.0), (0.0, 0.0, angle))
        for i, axis in enumerate(AXES):
            last = builder.add_body(f"link{k}{i}", last, lw.joints.Revolute(axis), place, **solid)
            place = lw.placement((0.0, 0.0, 0.3))
        builder.add_frame(name, last, lw.placement((0.0, 0.0, 0.1), (0.1, 0.2, 0.3)))
    arms = builder.build()
    q = np.concatenate([[0.2], *([0.3, -0.6, 1.5, 0.5, 1.0, -0.6, 0.1] for _ in names)])
    poses = lw.forward_kinematics(arms, q, names)
    middle = np.eye(4)
    middle[:3, :3], middle[:3, 3] = Rotation.from_rotvec([0.2, 0.1, 0.4]).as_matrix(), poses[:, :3, 3].mean(axis=0)
    builder.add_body("plate", joint=lw.joints.Free(), mass=4.0, com=(0.02, 0.01, -0.01), inertia=(0.1, 0.12, 0.2))
    for k, pose in enumerate(poses):
        builder.add_frame(f"grip{k}", "plate", np.linalg.inv(middle) @ pose)
    quaternion = Rotation.from_matrix(middle[:3, :3]).as_quat()
    model = builder.build()
    welds = [lw.Weld(name, f"grip{k}") for k, name in enumerate(names)]
    return model, welds, np.concatenate([q, middle[:3, 3], quaternion])


@cache
def flying(hands: int = 3) -> tuple[lw.Model, list[lw.Weld], Array]:
    """Free hands around a plate."""
    builder = lw.Builder("flying")
    for k in range(hands):
        inertia = {"mass": 1.0 + k, "com": (0.1, 0, 0), "inertia": (0.02, 0.03, 0.04)}
        builder.add_body(f"hand{k}", joint=lw.joints.Free(), **inertia, actuated=True)
    builder.add_body("plate", joint=lw.joints.Free(), mass=4.0, com=(0.02, 0.01, -0.01), inertia=(0.1, 0.12, 0.2))
    q = []
    for k in range(hands):
        place, turn = [np.cos(2.0 * k), np.sin(2.0 * k), 0.1 * k], Rotation.from_rotvec([0.3 * k, 0.2, 0.1])
        grip = np.eye(4)
        grip[:3, :3], grip[:3, 3] = turn.as_matrix(), place
        builder.add_frame(f"grip{k}", "plate", grip)
        q += [*place, *turn.as_quat()]
    return builder.build(), [lw.Weld(f"hand{k}", f"grip{k}") for k in range(hands)], np.array([*q, *[0.0] * 6, 1.0])


def moving(model: lw.Model, welds: list[lw.Weld], q: Array, seed: int) -> Array:
    """A velocity with which the hands stay on the plate."""
    with lw.interpreted():
        J = lw.jacobian(model, q, [w.frame_a for w in welds]) - lw.jacobian(model, q, [w.frame_b for w in welds])
    ways = null_space(J)
    return 0.5 * ways @ np.random.default_rng(seed).normal(size=ways.shape[1])


def placed(model: lw.Model, q: Array) -> Array:
    return lw.forward_kinematics(model, q, ["plate"])[0]


def shifted(pose: Array) -> Array:
    result = pose.copy()
    result[:3, :3] = Rotation.from_rotvec([0.1, 0.2, -0.1]).as_matrix() @ pose[:3, :3]
    result[:3, 3] += [0.03, -0.02, 0.05]
    return result


@pytest.mark.parametrize("make", [holding, flying, lambda: flying(1)], ids=["two arms", "three hands", "one hand"])
def test_the_augmented_object_moves_as_the_closed_chain_does(make: Make) -> None:
    model, welds, q = make()
    v = moving(model, welds, q, 0)
    held = HeldObject("plate", welds, placed(model, q))
    whole = augmented_object(model, q, v, held)
    with lw.interpreted():
        J, responses = lw.jacobian(model, q, held.hands), lw.force_responses(model, q, held.hands)
    rng = np.random.default_rng(1)
    for _ in range(3):
        tau = np.concatenate([5.0 * rng.normal(size=model.nv - 6), np.zeros(6)])
        with lw.interpreted():
            a, _ = lw.constrained_dynamics(model, q, v, tau, welds)
        force = whole.grasp_map @ np.linalg.solve(responses @ J.T, responses @ tau)  # F⊕ = W J̄ᵀ τ
        right = whole.inertia @ a[-6:] + whole.coriolis + whole.gravity
        assert abs(force - right).max() < 1e-9 * abs(right).max()
    assert np.allclose(whole.inertia, whole.inertia.T) and np.linalg.eigvalsh(whole.inertia).min() > 0.0
    assert np.allclose(whole.grasp_map @ whole.shares, np.eye(6))
    assert abs(whole.internal(whole.shares @ rng.normal(size=6))).max() < 1e-12


@pytest.mark.parametrize("make", [holding, flying], ids=["two arms", "three hands"])
def test_internal_forces_are_what_was_commanded_and_move_nothing(make: Make) -> None:
    model, welds, q = make()
    v = moving(model, welds, q, 2)
    rng = np.random.default_rng(3)
    pose, posture = shifted(placed(model, q)), Posture(q)
    relaxed = OperationalSpaceController(model, [HeldObject("plate", welds, pose)], posture)
    a0, w0 = lw.constrained_dynamics(model, q, v, relaxed.torque(0.0, q, v), welds)
    for squeeze in 30.0 * rng.normal(size=(3, len(welds), 6)):
        held = HeldObject("plate", welds, pose, internal=squeeze)
        strained = OperationalSpaceController(model, [held], posture)
        a, wrenches = lw.constrained_dynamics(model, q, v, strained.torque(0.0, q, v), welds)
        whole = augmented_object(model, q, v, held)
        wanted = whole.internal(squeeze)
        assert abs(wanted).max() > 5.0 and abs(whole.grasp_map @ wanted.ravel()).max() < 1e-12
        assert abs(whole.internal(-wrenches) - wanted).max() < 1e-9  # what the hands feel is the opposite
        assert abs(whole.internal(-w0)).max() < 1e-9
        assert abs(a - a0).max() < 1e-9 * abs(a0).max()


def test_the_posture_moves_the_arms_and_not_the_object() -> None:
    model, welds, q = holding()
    v = moving(model, welds, q, 5)
    held = HeldObject("plate", welds, shifted(placed(model, q)))
    found = []
    for posture in (None, Posture(0.5 * q, kp=200.0)):
        torque = OperationalSpaceController(model, [held], posture).torque(0.0, q, v)
        found.append(lw.constrained_dynamics(model, q, v, torque, welds))
    (a, wrenches), (a_posture, wrenches_posture) = found
    assert abs(a_posture - a)[:-6].max() > 10.0
    assert abs(a_posture - a)[-6:].max() < 1e-9 and abs(wrenches_posture - wrenches).max() < 1e-9


def test_the_object_obeys_its_law_to_1e_6_and_the_squeeze_holds_on_the_way() -> None:
    model, welds, q = holding()
    v = 0.3 * moving(model, welds, q, 4)
    start = placed(model, q)
    path = lw.control.CubicSpline([-0.3, 0.2, 0.7], [start, shifted(start), shifted(shifted(start))])
    squeeze = lw.control.MinimumJerk(np.zeros(12), [10, 5, 0, 0, 1, 0, -10, 0, 5, 0, 0, 1], duration=0.4)
    held = HeldObject("plate", welds, path, kp=[80, 100, 120, 90, 60, 100], kd=15.0, internal=squeeze)
    controller = OperationalSpaceController(model, [held], Posture(q))
    motion = lw.simulate(
        model, q, v, 0.4, 2e-3, torque=controller, constraints=welds, integrator="runge_kutta_4", effort_limits=False
    )
    h = 1e-5
    before, after = (held.error(s * h, placed(model, lw.integrate(model, q, s * h * v))) for s in (-1, 1))
    errors = np.array([held.error(t, placed(model, x)) for t, x in zip(motion.t, motion.q, strict=True)])
    for k, rate in enumerate((after - before) / (2 * h)):
        step = expm(np.array([[0.0, 1.0], [-held.kp[k], -held.kd[k]]]) * motion.t[1])
        state = np.array([errors[0, k], rate])
        for actual in errors[:, k]:
            assert abs(actual - state[0]) < 1e-6
            state = step @ state
    for i in range(0, len(motion.t), 20):
        whole = augmented_object(model, motion.q[i], motion.v[i], held)
        measured = whole.internal(-motion.constraint_forces[i])
        wanted = whole.internal(squeeze.at(motion.t[i]).value.reshape(2, 6))
        assert abs(measured - wanted).max() < 1e-3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m, w: HeldObject("plate", [], np.eye(4)), "one for each hand"),
        (lambda m, w: HeldObject("plate", 5, np.eye(4)), "one for each hand"),
        (lambda m, w: HeldObject("plate", w, np.eye(4), internal="hard"), "must hold real numbers"),
        (lambda m, w: HeldObject("plate", [lw.Ball("hand0", "grip0")], np.eye(4)), "must be lw.Weld"),
        (
            lambda m, w: HeldObject("plate", [lw.Weld("hand0", "grip0", lw.placement((0, 0, 1)))], np.eye(4)),
            "name the places as frames",
        ),
        (lambda m, w: HeldObject("plate", w, [0, 0, 1]), r"must be a pose \(4, 4\)"),
        (lambda m, w: HeldObject("plate", w, np.eye(4), internal=[1.0]), r"must have shape \(2, 6\)"),
        (lambda m, w: HeldObject("plate", w, np.eye(4), internal=lw.control.Constant([1.0])), "must be 12 numbers"),
        (lambda m, w: augmented_object(m, [0.0], [0.0], HeldObject("plate", w, np.eye(4))), "q must have shape"),
        (
            lambda m, w: OperationalSpaceController(m, [HeldObject("column", w, np.eye(4))]),
            "'column' must be a body on a free joint of the world, but is on a Revolute joint",
        ),
        (
            lambda m, w: OperationalSpaceController(m, [HeldObject("plate", [lw.Weld("grip0", "hand0")], np.eye(4))]),
            "'hand0' is no place on the held object",
        ),
    ],
)
def test_held_objects_that_cannot_be(make: Callable[[lw.Model, list[lw.Weld]], object], message: str) -> None:
    model, welds, _ = holding()
    with pytest.raises(lw.ArgumentError, match=message):
        make(model, welds)
