"""Operational-space and joint-space control: the closed loop, checked against closed forms."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.control import CubicSpline, OperationalSpaceController, Posture, Task
from strategies import Array

HANDS = ["left_hand", "right_hand"]
LEGS = [f"{side}_{part}_pitch" for side in ("left", "right") for part in ("hip", "knee", "ankle")]
PERSON = lw.mechanisms.humanoid().locked(LEGS)
"""A humanoid with locked legs: a quarter less code to compile."""
NV = PERSON.nv


def moved(pose: Array, by: object, turn: object) -> Array:
    result = pose.copy()
    result[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ pose[:3, :3]
    result[:3, 3] += by
    return result


def state(seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return 0.4 * rng.normal(size=NV), 0.3 * rng.normal(size=NV)


def simulated(
    model: lw.Model, controller: object, q: Array, v: Array, duration: float, dt: float = 2e-3
) -> lw.Trajectory:
    return lw.simulate(
        model, q, v, duration, dt, torque=controller, integrator="runge_kutta_4", effort_limits=False, damping=False
    )


def response(stiffness: float, damping: float, error: float, rate: float, times: Array) -> Array:
    """The closed form of ë + D ė + K e = 0, at equal steps of time."""
    step = expm(np.array([[0.0, 1.0], [-stiffness, -damping]]) * times[1])
    states = [np.array([error, rate])]
    for _ in times[1:]:
        states.append(step @ states[-1])
    return np.array(states)[:, 0]


def assert_follows(task: Task, point: str | lw.Point, q: Array, v: Array, motion: lw.Trajectory) -> None:
    h = 1e-5
    model = motion.model

    def error(t: float, x: Array) -> Array:
        return task.error(t, lw.forward_kinematics(model, x, [point])[0])

    before, after = (error(s * h, lw.integrate(model, q, s * h * v)) for s in (-1, 1))
    errors = np.array([error(t, x) for t, x in zip(motion.t, motion.q, strict=True)])
    assert abs(errors[0]).max() > 1e-2
    for k, rate in enumerate((after - before) / (2 * h)):
        wanted = response(task.kp[k], task.kd[k], errors[0, k], rate, motion.t)
        assert abs(errors[:, k] - wanted).max() < 1e-6


def test_errors_of_position_and_rotation_obey_their_law_to_1e_6() -> None:
    q, v = state(0)
    left, right = lw.forward_kinematics(PERSON, q, HANDS)
    path = CubicSpline(
        [-0.2, 0.3, 0.8],
        [
            moved(left, [0.02, 0.03, 0.05], [0.5, 0.3, 0.1]),
            moved(left, [0.0, 0.05, 0.08], [0.9, 0.0, 0.1]),
            moved(left, [0.05, 0.05, 0.1], [0.0, 0.6, -0.3]),
        ],
    )
    follow = Task("left_hand", path, kp=[100, 50, 80, 100, 60, 90], kd=[5, 20, 10, 4, 20, 11])
    stay = Task("right_hand", moved(right, [0.05, 0.0, 0.1], [1.0, 1.9, 0.6]), kp=60.0)  # 127 degrees off
    controller = OperationalSpaceController(PERSON, [[follow, stay]], Posture(np.zeros(NV)))
    motion = simulated(PERSON, controller, q, v, 0.6)
    for i, task in enumerate((follow, stay)):
        assert_follows(task, HANDS[i], q, v, motion)


@pytest.mark.parametrize("axes", ["position", "rotation"])
def test_parts_of_a_pose_obey_it_too(axes: str) -> None:
    q, v = state(1)
    point = lw.Point("left_hand", (0.0, 0.02, -0.1), axes)
    place = Task(lw.Point("left_hand", point.offset), np.eye(4)).points
    pose = moved(lw.forward_kinematics(PERSON, q, place)[0], [0.1, -0.1, 0.1], [0.4, -0.5, 0.3])
    task = Task(point, pose[:3, 3] if axes == "position" else pose[:3, :3], kp=150.0, kd=9.0)
    motion = simulated(PERSON, OperationalSpaceController(PERSON, [task], Posture()), q, v, 0.4)
    assert_follows(task, place[0], q, v, motion)


def test_it_is_khatib_s_law() -> None:
    """JᵀF + Nᵀτ with F = Λ a + μ + p, by the functions of task space."""
    q, v = state(2)
    points = [lw.Point("left_hand", axes="position"), lw.Point("right_hand")]
    poses = lw.forward_kinematics(PERSON, q, HANDS)
    tasks = [Task(points[0], poses[0, :3, 3] + 0.1), Task(points[1], moved(poses[1], [0, 0.1, 0], [0.2, 0.1, 0]))]
    posture = Posture(np.zeros(NV), kp=30.0, kd=5.0)
    torque = OperationalSpaceController(PERSON, [tasks], posture).torque(0.0, q, v)

    with lw.interpreted():
        space = lw.operational_space(PERSON, q, v, points)
        a = lw.forward_dynamics(PERSON, q, v, torque)
        force = space.force(space.jacobian @ a + space.drift)
        springs = -30.0 * q - 5.0 * lw.mass_matrix(PERSON, q) @ v
        right = space.torque(force) + space.null_space_torque(springs + lw.nonlinear_effects(PERSON, q, v))
    assert abs(torque - right).max() < 1e-9 * abs(torque).max()


def test_the_posture_accelerates_no_point() -> None:
    points = [lw.Point("left_hand"), lw.Point("right_hand", axes="position"), lw.Point("head_top", axes="rotation")]
    for seed in range(10):
        q, v = state(seed)
        with lw.interpreted():
            poses = lw.forward_kinematics(PERSON, q, [*HANDS, "head_top"])
            responses = lw.force_responses(PERSON, q, points)
        goals = [poses[0], poses[1, :3, 3], poses[2, :3, :3]]
        levels = [Task(point, goal) for point, goal in zip(points, goals, strict=True)]
        posture = Posture(np.ones(NV), kp=1000.0)
        with_posture = OperationalSpaceController(PERSON, levels, posture).command(0.0, q, v)
        without = OperationalSpaceController(PERSON, levels).command(0.0, q, v)
        assert abs(with_posture.posture).max() > 10.0
        assert (
            abs(responses @ with_posture.posture).max() < 1e-13 * abs(responses).max() * abs(with_posture.posture).max()
        )
        assert abs(with_posture.torque - without.torque - with_posture.posture).max() < 1e-9


def test_a_posture_ends_where_its_springs_have_least_energy() -> None:
    q, v = state(3)
    hand = lw.Point("left_hand", axes="position")
    task = Task(hand, lw.forward_kinematics(PERSON, q, ["left_hand"])[0, :3, 3])
    controller = OperationalSpaceController(PERSON, [task], Posture(np.zeros(NV)))
    motion = lw.simulate(PERSON, q, 0 * v, 20.0, 0.01, torque=controller, effort_limits=False)
    end = motion.q[-1]
    J = lw.jacobian(PERSON, end, [hand])
    gradient = 25.0 * lw.mass_matrix(PERSON, np.zeros(NV)).diagonal() * end
    along = gradient - J.T @ np.linalg.lstsq(J.T, gradient, rcond=None)[0]  # what a motion of the joints would gain
    assert abs(along).max() < 1e-3 < 0.1 < abs(gradient).max()


def test_priorities_are_strict_over_many_levels() -> None:
    chain = lw.mechanisms.serial_chain(6, joint="spherical")
    q, v = lw.random_state(chain, 4)
    points = [lw.Point(f"body{k}", (1.0, 0.0, 0.0), "position") for k in (6, 4, 4, 3, 5)]
    points[2] = lw.Point("body4", (0.5, 0.0, 0.0), "position")  # nearly what the level before took
    rng = np.random.default_rng(0)
    goals = [rng.normal(size=3) for _ in points]
    levels = [Task(point, goal, kp=50.0) for point, goal in zip(points, goals, strict=True)]

    def accelerations(count: int) -> Array:
        torque = OperationalSpaceController(chain, levels[:count], Posture()).torque(0.0, q, v)
        a = lw.forward_dynamics(chain, q, v, torque)
        return lw.jacobian(chain, q, points) @ a + lw.jacobian_drift(chain, q, v, points)

    with lw.interpreted():  # five controllers at five sets of points: not worth compiling
        reached = [accelerations(count) for count in range(1, len(levels) + 1)]
    for count, found in enumerate(reached, 1):
        fewer, more = found[: 3 * count], reached[-1][: 3 * count]
        assert abs(more - fewer).max() < 1e-9 * abs(fewer).max()


def test_a_level_that_contradicts_one_above_changes_nothing_and_says_so() -> None:
    q, v = state(5)
    hand = lw.Point("left_hand", axes="position")
    here = lw.forward_kinematics(PERSON, q, ["left_hand"])[0, :3, 3]
    first, opposed = Task(hand, here + 0.1), Task(hand, here - 0.1)
    # The same place, asked on the palm: three motions that are taken, and three rotations that are not.
    free = Task(lw.Point("left_hand"), moved(np.eye(4), here, [0.1, 0.2, 0.3]))
    alone = OperationalSpaceController(PERSON, [first]).command(0.0, q, v)
    both = OperationalSpaceController(PERSON, [first, opposed]).command(0.0, q, v)
    assert abs(both.torque - alone.torque).max() < 1e-9
    assert [level.rank for level in both.levels] == [3, 0] and both.levels[1].singular.shape == (3, 3)
    three = OperationalSpaceController(PERSON, [first, free]).command(0.0, q, v)
    assert [level.rank for level in three.levels] == [3, 3]
    J, M = lw.jacobian(PERSON, q, ["left_hand"]), lw.mass_matrix(PERSON, q)
    change = J @ np.linalg.solve(M, three.torque - alone.torque)
    assert abs(change[:3]).max() < 1e-9 and abs(change[3:]).max() > 1.0


def test_a_singular_direction_is_dropped_damped_or_refused() -> None:
    """An arm of two rods in a plane, stretched or nearly so, whose tip is to come nearer."""
    arm = lw.mechanisms.serial_chain(2, joint=lw.joints.Revolute("z"))
    task, v = Task(lw.Point("tip", axes="position"), [1.5, 0.2, 0.0]), np.zeros(2)
    dropped = OperationalSpaceController(arm, [task]).command(0.0, [0.0, 0.0], v)
    assert dropped.levels[0].rank == 1 and np.isfinite(dropped.torque).all()
    directions = np.abs(dropped.levels[0].singular)
    assert np.allclose(directions[:, 1], 0.0) and np.allclose(directions.max(axis=1), 1.0)  # along the arm, and up
    with pytest.raises(lw.SingularError, match=r"level 1 .* only 1 can be caused"):
        OperationalSpaceController(arm, [task], singular="raise").torque(0.0, [0.0, 0.0], v)
    # Near the singularity the torque of the plain inverse is huge; damped, it is small and has no jump.
    damped = OperationalSpaceController(arm, [task], singular="damp", threshold=1e-5)
    torques = np.array([damped.torque(0.0, [0.0, bend], v) for bend in np.linspace(0.0, 0.02, 501)])
    plain = OperationalSpaceController(arm, [task], threshold=1e-12).torque(0.0, [0.0, 1e-4], v)
    assert abs(plain).max() > 20 * abs(torques).max()
    assert abs(np.diff(torques, axis=0)).max() < 0.05 * abs(torques).max()


@pytest.mark.parametrize(("handling", "free"), [("drop", True), ("damp", False)])
def test_a_singular_direction_is_free_for_others_only_if_dropped(handling: str, free: bool) -> None:
    arm = lw.mechanisms.serial_chain(3, joint=lw.joints.Revolute("z"))
    tip = lw.Point("tip", axes="position")
    q, v = np.array([0.3, 0.002, -0.001]), np.zeros(3)  # nearly stretched
    task, posture = Task(tip, [1.5, 0.2, 0.0]), Posture([0.0, 1.0, 1.0])
    controller = OperationalSpaceController(arm, [task], posture, singular=handling, threshold=1e-4)
    command = controller.command(0.0, q, v)
    assert command.levels[0].rank == 1 and abs(command.posture).max() > 1.0
    caused, directions = lw.force_responses(arm, q, [tip]) @ command.posture, command.levels[0].singular
    singular = directions @ caused
    assert abs(caused - directions.T @ singular).max() < 1e-12
    assert abs(singular).max() > 1e-2 if free else abs(singular).max() < 1e-12


def test_torque_limits() -> None:
    q, v = state(6)
    task = Task("left_hand", moved(lw.forward_kinematics(PERSON, q, ["left_hand"])[0], [1, 1, 1], [1, 0, 1]), 900.0)
    posture = Posture(np.zeros(NV))
    wanted = OperationalSpaceController(PERSON, [task], posture).command(0.0, q, v)
    most = PERSON.effort_limit
    assert (abs(wanted.torque) > most).any() and (abs(wanted.compensation) < most).all()
    clipped = OperationalSpaceController(PERSON, [task], posture, limits="clip").command(0.0, q, v)
    assert np.array_equal(clipped.torque, np.clip(wanted.torque, -most, most))
    scaled = OperationalSpaceController(PERSON, [task], posture, limits="scale").command(0.0, q, v)
    assert 0.0 < scaled.factor < 1.0 and abs(abs(scaled.torque / most).max() - 1.0) < 1e-12
    extra = wanted.torque - wanted.compensation
    assert abs(scaled.torque - wanted.compensation - scaled.factor * extra).max() < 1e-9
    J = lw.force_responses(PERSON, q, ["left_hand"])  # the way the hand is pushed is the same
    assert abs(J @ (scaled.torque - scaled.compensation) - scaled.factor * (J @ extra)).max() < 1e-9


def test_computed_torque_obeys_its_law_at_every_joint() -> None:
    q, v = state(8)
    path = lw.control.CubicSpline([-0.5, 0.2, 0.9], np.random.default_rng(1).normal(size=(3, NV)) * 0.5)
    stiffness, damping = np.linspace(30.0, 90.0, NV), np.linspace(3.0, 20.0, NV)
    controller = lw.control.ComputedTorque(PERSON, path, stiffness, damping)
    motion = simulated(PERSON, controller, q, v, 0.5)
    start = path.at(0.0)
    for k in range(NV):
        wanted = response(stiffness[k], damping[k], q[k] - start.value[k], v[k] - start.velocity[k], motion.t)
        actual = [x[k] - path.at(t).value[k] for t, x in zip(motion.t, motion.q, strict=True)]
        assert abs(actual - wanted).max() < 1e-6


def test_limits_of_nothing_are_refused() -> None:
    builder = lw.Builder("stuck")
    builder.add_body("rod", joint=lw.joints.Revolute("y"), mass=1.0, com=(1, 0, 0), effort=0.0)
    with pytest.raises(lw.ArgumentError, match="gives 'joint_rod' an effort limit of 0"):
        lw.control.ComputedTorque(builder.build(), [0.0], limits="scale")


def damped_arm(damping: float) -> lw.Model:
    builder, last = lw.Builder(), "world"
    for k, axis in enumerate("yzy"):
        solid = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.1, 0.1, 0.1), "damping": damping * (k + 1)}
        last = builder.add_body(f"rod{k}", last, lw.joints.Revolute(axis), lw.placement((0.5, 0, 0)), **solid)
    return builder.build()


def test_the_model_s_damping_is_compensated() -> None:
    q, v = np.array([0.3, -0.5, 0.9]), np.array([0.5, 0.1, -0.4])
    task = Task(lw.Point("rod2", (0.3, 0.0, 0.0), "position"), [1.0, 0.2, 0.3])
    torques = []
    for model in (damped_arm(0.7), damped_arm(0.0)):
        both = OperationalSpaceController(model, [task]), lw.control.ComputedTorque(model, 0 * q)
        torques.append(np.array([controller.torque(0.0, q, v) for controller in both]))
    assert abs(torques[0] - torques[1] - damped_arm(0.7).damping * v).max() < 1e-12


@pytest.mark.parametrize("make", [lw.control.ComputedTorque, lw.control.PDPlusGravity])
def test_joint_controllers_bring_any_joint_to_its_place(make: Callable[..., object]) -> None:
    builder, last = lw.Builder(), "world"
    kinds = (lw.joints.Spherical(), lw.joints.Prismatic("x"), lw.joints.Universal("x", "y"), lw.joints.Revolute("z"))
    for k, joint in enumerate(kinds):
        place = lw.placement((0.5, 0.0, 0.0))
        last = builder.add_body(f"body{k}", last, joint, place, mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    model = builder.build()
    rng = np.random.default_rng(2)
    q, v = lw.random_state(model, rng)
    goal = lw.integrate(model, q, 0.5 * rng.normal(size=model.nv))
    controller = make(model, goal, kp=20.0, kd=9.0)
    motion = simulated(model, controller, q, 0 * v, 10.0, 5e-3)
    assert abs(lw.difference(model, motion.q[-1], goal)).max() < 1e-2 < abs(lw.difference(model, q, goal)).max()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Task(3, [0, 0, 0]), "point must be a frame's name"),
        (lambda: Task("left_hand", [0, 0, 0]), r"shape \(4, 4\) for axes 'pose', not \(3,\)"),
        (
            lambda: Task("left_hand", np.eye(4), kp=-1.0),
            "kp of the task on 'left_hand' must be finite and",
        ),
        (lambda: Task("left_hand", np.eye(4), kp=[1, 2]), "must be one number or 6"),
        (lambda: Task("left_hand", None), "reference of the task on 'left_hand' must hold real numbers"),
        (lambda: Posture("bent"), "q of the posture must hold real numbers"),
        (lambda: Posture(kp=3.0), "kp of a posture needs q"),
        (lambda: Posture(kd=None), "kd of a posture must be one number"),  # type: ignore[arg-type]
        (lambda: Task("left_hand", np.eye(4)).error(0.0, [1.0, 2.0]), r"placement must have shape \(4, 4\)"),
        (
            lambda: lw.control.PDPlusGravity(PERSON, [0.0] * NV).torque(0.0, [0.0] * NV, [np.inf] * NV),
            r"v\[0\] \(joint",
        ),
        (
            lambda: lw.control.augmented_object(PERSON, [0.0] * NV, [0.0] * NV, 3),
            "held must be an lw.control.HeldObject",
        ),  # type: ignore[arg-type]
        (lambda: OperationalSpaceController(PERSON, [Task("left_hand", np.eye(4))], [0.0]), "an lw.control.Posture"),
        (lambda: OperationalSpaceController(PERSON, []), "at least one"),
        (lambda: OperationalSpaceController(PERSON, Task("left_hand", np.eye(4))), "must be a list"),
        (lambda: OperationalSpaceController(PERSON, ["left_hand"]), "not 'left_hand'"),
        (lambda: OperationalSpaceController(PERSON, [[]]), r"not \[\]"),
        (lambda: OperationalSpaceController(PERSON, [Task("left_hnd", np.eye(4))]), "did you mean 'left_hand'"),
        (
            lambda: OperationalSpaceController(PERSON, [Task("left_hand", np.eye(4))], limits="cut"),
            "limits must be one",
        ),
        (lambda: OperationalSpaceController(PERSON, [Task("left_hand", np.eye(4))], singular="no"), "singular must be"),
        (lambda: OperationalSpaceController(PERSON, [Task("left_hand", np.eye(4))], threshold=2.0), "threshold must"),
        (lambda: OperationalSpaceController(PERSON, [Task("left_hand", np.eye(4))], threshold="a"), "threshold must"),
        (
            lambda: OperationalSpaceController(PERSON, [Task("left_hand", np.eye(4))], Posture([0.0])),
            "q of the posture",
        ),
        (lambda: OperationalSpaceController("arm", [Task("left_hand", np.eye(4))]), "model must be a linkwork Model"),
        (lambda: lw.control.ComputedTorque(PERSON, [0.0] * 17), r"reference must have shape \(\.\.\., 18\)"),
        (
            lambda: lw.control.ComputedTorque(
                lw.mechanisms.free_box(), lw.control.MinimumJerk([0.0] * 7, [1.0] * 7, 1.0)
            ),
            "has rotations in q, so only a constant",
        ),
    ],
)
def test_controllers_that_cannot_be(make: Callable[[], object], message: str) -> None:
    with pytest.raises(lw.ArgumentError, match=message):
        make()


# Compiled laws


def _arm(floating: bool = False) -> lw.Model:
    """Four joints with skew axes and torque limits; on a free base if requested."""
    builder = lw.Builder("arm")
    last = "world"
    if floating:
        last = builder.add_body("base", joint=lw.joints.Free(), mass=5.0, inertia=(0.2, 0.2, 0.2))
    for k, axis in enumerate("zyxy"):
        place = lw.placement((0.1, 0.05 * k, 0.3), (0.2 * k, 0.1, 0.3))
        numbers = {"mass": 2.0, "com": (0.1, 0.02, 0.05), "inertia": (0.03, 0.02, 0.04), "effort": 9.0, "damping": 0.1}
        last = builder.add_body(f"link{k}", last, lw.joints.Revolute(axis), place, **numbers)
    builder.add_frame("tip", last, lw.placement((0.2, 0.1, 0.1)))
    return builder.build()


class _Circle(lw.control.Reference):
    """A reference of a user's own."""

    shape = (3,)

    def at(self, t: float) -> lw.control.Sample:
        c, s = 0.3 * np.cos(t), 0.3 * np.sin(t)
        return lw.control.Sample(np.array([c, s, 0.8]), np.array([-s, c, 0.0]), np.array([-c, -s, 0.0]))


def _tasks() -> list[Any]:
    turns = [Rotation.from_rotvec(r).as_matrix() for r in ([0.1, 0.2, 0.3], [1.0, -0.5, 0.2], [0.3, 1.2, -0.4])]
    ends = [[0.3, 0.2, 0.7], [0.5, -0.1, 0.9]]
    return [
        Task(lw.Point("tip", axes="position"), lw.control.MinimumJerk(ends[0], ends[1], 1.5, 0.2), kp=80.0),
        Task(lw.Point("tip", (0.1, 0, 0), "position"), CubicSpline([0.0, 0.7, 2.0], [*ends, ends[0]]), [90.0, 80, 70]),
        Task(lw.Point("tip", axes="rotation"), CubicSpline([0.0, 0.7, 2.0], turns), kd=7.0),
        Task(lw.Point("tip", axes="rotation"), turns[1]),
        Task(lw.Point("tip", axes="position"), _Circle()),
    ]


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("limits", ["none", "clip", "scale"])
def test_the_compiled_law_is_the_command(number: int, limits: str) -> None:
    """Interpreted: the trace is the same, and needs no compiler."""
    arm = _arm()
    posture = [None, Posture(), Posture(np.zeros(4)), Posture(np.ones(4), 20.0, [1.0, 2.0, 3.0, 4.0])][number % 4]
    controller = OperationalSpaceController(arm, [_tasks()[number]], posture, limits=limits, threshold=1e-8)
    rng = np.random.default_rng(number)
    q, v, t = rng.uniform(-1.0, 1.0, (6, 4)), rng.normal(size=(6, 4)), np.linspace(-0.2, 2.2, 6)
    factors = []
    with lw.interpreted():
        torques = controller.torques(t, q, v)
        for k in range(6):
            command = controller.command(float(t[k]), q[k], v[k])
            factors.append(command.factor)
            assert command.levels[0].rank == 3  # the kernel's own way
            assert controller._law is not None and controller._law.attempt(float(t[k]), q[k], v[k]) is not None
            assert abs(torques[k] - command.torque).max() < 1e-11 * max(1.0, abs(command.torque).max())
            assert np.array_equal(controller.torque(float(t[k]), q[k], v[k]), torques[k])
    if limits == "scale":
        assert min(factors) < 1.0


def test_levels_and_singular_states_agree_with_the_command() -> None:
    """Two levels that together demand more than the arm can do near its singularity: both paths, state by state."""
    arm = lw.mechanisms.serial_chain(3, joint=lw.joints.Revolute("z"))
    tip, elbow = lw.Point("tip", axes="position"), lw.Point("tip", axes="rotation")
    levels = [Task(tip, [1.5, 0.5, 0.0]), Task(elbow, np.eye(3))]
    controller = OperationalSpaceController(arm, levels, Posture([0.1, 0.2, 0.3]), threshold=1e-4)
    bends = np.concatenate([np.linspace(0.0, 0.02, 5), [0.5, 1.0]])
    q = np.array([[0.3, bend, -0.5 * bend] for bend in bends])
    v = np.random.default_rng(0).normal(size=q.shape)
    with lw.interpreted():
        torques = controller.torques(0.0, q, v)
        law = controller._law
        assert law is not None
        served = [law.attempt(0.0, q[k], v[k]) is not None for k in range(len(q))]
        ranks = []
        for k in range(len(q)):
            command = controller.command(0.0, q[k], v[k])
            ranks.append(sum(level.rank for level in command.levels))
            assert abs(torques[k] - command.torque).max() < 1e-9 * abs(command.torque).max()
    assert served == [rank == 3 for rank in ranks] and set(ranks) == {2, 3}  # out of the plane nothing can move


@pytest.mark.parametrize("way", [lw.interpreted, nullcontext], ids=["interpreted", "served"])
def test_gains_and_references_may_change_while_a_controller_is_used(way: Callable[[], Any]) -> None:
    arm = _arm()
    task = _tasks()[0]
    controller = OperationalSpaceController(arm, [task], Posture(np.zeros(4)))
    follow = lw.control.ComputedTorque(arm, np.zeros(4))
    q, v = np.array([0.3, -0.2, 0.5, 0.4]), np.full(4, 0.1)
    with way():
        for change in ("gain", "limits", "attributes", "reference"):
            before = [(controller.torque(0.5, q, v), follow.torque(0.5, q, v)) for _ in range(3)][-1]
            if change == "limits":
                follow._viscous, controller._viscous = np.ones(4), np.ones(4)
            elif change == "gain":
                task.kp[:] = 20.0
                follow.kp = np.full(4, 3.0)
            elif change == "attributes":
                task.__dict__, follow.__dict__ = dict(vars(task)), dict(vars(follow))
                task.kp, follow.kp = np.full(3, 9.0), np.full(4, 9.0)
            else:
                task.reference = _Circle()
                follow.reference = lw.control.MinimumJerk(np.zeros(4), np.ones(4), 1.0)
            torque = controller.torque(0.5, q, v)
            assert abs(torque - before[0]).max() > 1e-2
            assert abs(torque - controller.command(0.5, q, v).torque).max() < 1e-11 * abs(torque).max()
            assert abs(follow.torque(0.5, q, v) - before[1]).max() > 1e-2
        task.kp[1] = follow.kd[2] = np.nan
        for one, named in ((controller, r"task\.kp\[1\]"), (follow, r"kd\[2\]")):
            with pytest.raises(lw.ArgumentError, match=rf"^{named} of .* is nan; it must be finite"):
                one.torque(0.5, q, v)


def test_threads_may_share_a_controller() -> None:
    q, v, t = np.array([0.3, -0.2, 0.5, 0.4]), np.full(4, 0.1), np.array([0.5, 0.6, 1.5, 1.6])
    path = CubicSpline([0.0, 1.0, 2.0, 3.0], np.random.default_rng(0).normal(size=(4, 4)))
    follow = lw.control.ComputedTorque(_arm(), path)
    wanted = [follow.torques(t, q, v) for _ in range(2)][-1]

    left = 0

    def switch(frame: FrameType, _event: str, _argument: object) -> Any:
        """Another thread runs before one of its instructions."""
        nonlocal left
        frame.f_trace_opcodes = frame.f_code.co_name == "served"
        left -= frame.f_trace_opcodes
        if frame.f_trace_opcodes and left == 0:
            follow.torque(2.5, q, v)
        return switch

    before = sys.gettrace()
    for instruction in range(1, 150):
        left = instruction
        sys.settrace(switch)
        try:
            found = follow.torques(t, q, v)
        finally:
            sys.settrace(before)
        assert np.array_equal(found, wanted)
    assert left > 0  # all of them


def test_references_of_a_users_own_share_code_whatever_they_are_made_of() -> None:
    def at(self: object, t: float) -> lw.control.Sample:
        return lw.control.Sample(np.full(4, t), np.ones(4), np.full(4, 0.1))

    of_constant = type("OfConstant", (lw.control.Constant,), {"at": at})(np.zeros(4))
    of_reference = type("OfReference", (lw.control.Reference,), {"at": at, "shape": (4,)})()
    arm, q, v = _arm(), np.array([0.3, -0.2, 0.5, 0.4]), np.full(4, 0.1)
    with lw.interpreted():
        wanted = lw.control.ComputedTorque(arm, of_reference)._by_floats(0.5, q, v)
        for reference in (of_constant, of_reference):
            found = lw.control.ComputedTorque(arm, reference).torque(0.5, q, v)
            assert abs(found - wanted).max() < 1e-11 * abs(wanted).max()


@pytest.mark.parametrize("limits", ["none", "scale"])
@pytest.mark.parametrize("kind", [lw.control.ComputedTorque, lw.control.PDPlusGravity], ids=["computed", "pd"])
def test_joint_space_laws_of_batches(kind: Any, limits: str) -> None:
    arm = _arm()
    controller = kind(arm, lw.control.MinimumJerk(np.zeros(4), np.ones(4), 1.0), 60.0, limits=limits)
    rng = np.random.default_rng(2)
    q, v, t = rng.uniform(-1.0, 1.0, (3, 4)), rng.normal(size=(3, 4)), np.array([0.1, 0.5, 1.4])
    found = controller.torques(t, q, v)
    assert np.array_equal(found[1], controller.torque(0.5, q[1], v[1]))
    controller._law = None  # by the text over floats
    for k in range(3):
        torque = controller.torque(float(t[k]), q[k], v[k])
        assert abs(found[k] - torque).max() < 1e-11 * abs(torque).max()
    assert np.array_equal(controller.torques(t, q, v)[2], torque)


def test_a_controller_inside_a_compiled_function_and_in_a_pickle() -> None:
    arm = _arm()
    steady, curved = (OperationalSpaceController(arm, [_tasks()[k]], Posture(np.zeros(4))) for k in (0, 1))
    follow = lw.control.ComputedTorque(arm, np.ones(4))
    q, v = np.array([0.3, -0.2, 0.5, 0.4]), np.full(4, 0.1)
    with lw.interpreted():
        law = lw.compile(lambda t, q, v: steady.torque(t, q, v) + follow.torque(t, q, v), t=(), q=4, v=4)
        right = steady.torque(0.5, q, v) + follow.torque(0.5, q, v)
        assert abs(law(0.5, q, v) - right).max() < 1e-12 * abs(right).max()
        at_once = lw.compile(lambda q, v: curved.torque(1.1, q, v), q=4, v=4)
        assert abs(at_once(q, v) - curved.torque(1.1, q, v)).max() < 1e-11
        with pytest.raises(lw.TracingError, match="a reference of several stretches of time"):
            lw.compile(lambda t, q, v: curved.torque(t, q, v), t=(), q=4, v=4)
        for controller in (curved, follow):
            again = pickle.loads(pickle.dumps(controller))
            assert np.array_equal(again.torque(0.5, q, v), controller.torque(0.5, q, v))


def test_who_commands_a_joint_without_a_motor_is_warned() -> None:
    floating = _arm(floating=True)
    task = Task(lw.Point("tip", axes="position"), np.zeros(3))
    for make in (
        lambda model: OperationalSpaceController(model, [task]),
        lambda model: lw.control.PDPlusGravity(model, lw.neutral(model)),
        lambda model: lw.control.ComputedTorque(model, lw.neutral(model)),
    ):
        with pytest.warns(lw.LinkworkWarning, match=r"commands 'joint_base' of model 'arm', which has no mot") as told:
            make(floating)
        assert [each.filename for each in told] == [__file__]
        make(_arm())  # filtered warnings are errors


def test_a_state_of_the_wrong_size_is_said() -> None:
    controller = OperationalSpaceController(PERSON, [Task("left_hand", np.eye(4))])
    with pytest.raises(lw.ArgumentError, match=r"q must have shape"):
        controller.torque(0.0, [0.0] * 17, [0.0] * NV)
    with pytest.raises(lw.ArgumentError, match="one state at a time"):
        controller.torque(0.0, np.zeros((5, NV)), np.zeros((5, NV)))
    with pytest.raises(lw.ArgumentError, match=r"q\[3\] \(joint 'neck_pitch'\) is nan"):
        controller.torque(0.0, [0.0] * 3 + [np.nan] + [0.0] * 14, [0.0] * NV)


def test_the_example_of_the_page_runs() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "control.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    hand = lw.forward_kinematics(names["person"], names["motion"].q[-1], ["left_hand"])[0, :3, 3]
    assert abs(hand - names["here"] - 0.2).max() < 1e-4


def test_laws_of_many_bodies_are_compiled_and_traced() -> None:
    """Their kernels call code with loops."""
    chain = lw.mechanisms.serial_chain(51, [lw.joints.Revolute("z"), lw.joints.Revolute("y")], link_length=0.1)
    controller = lw.control.PDPlusGravity(chain, lw.neutral(chain))
    inside = lw.compile(lambda q, v: controller.torque(0.0, q, v), q=chain.nq, v=chain.nv)
    q, v = lw.random_state(chain, 0)
    with lw.interpreted():
        by_floats = controller._by_floats(0.0, q, v)
        for torque in (controller.torque(0.0, q, v), inside(q, v)):
            np.testing.assert_allclose(torque, by_floats, rtol=0, atol=1e-12 * abs(by_floats).max())


def test_a_batch_with_a_singular_state_runs_the_law_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once by the builtin, and once to see which states are singular."""
    arm = lw.mechanisms.serial_chain(2, lw.joints.Revolute("y"), link_length=0.5)
    reach = Task(lw.Point("tip", axes="position"), [0.5, 0.0, 0.5])
    controller = OperationalSpaceController(arm, [reach])
    q, v = np.array([[0.3, 0.5], [0.4, 0.6], [0.1, -0.7]]), np.zeros((3, 2))
    controller.torques(0.0, q, v)
    assert controller._law is not None
    law, runs = controller._law._kernel.law, []
    for name, own in (("quick", law.quick), ("attempt", law.attempt)):

        def run(*given: Any, name: str = name, own: Any = own) -> Any:
            runs.append(name)
            return own(*given)

        monkeypatch.setattr(law, name, run)
    controller.torques(0.0, q, v)
    assert runs == ["quick"]
    q[1, 1] = 0.0
    controller.torques(0.0, q, v)
    assert runs == ["quick", "quick", "attempt"]
