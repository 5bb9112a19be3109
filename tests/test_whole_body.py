"""Whole-body control: commands are feasible, within friction cones and limits, and serve tasks in priority."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import CentreOfMass, Posture, Support, Task, WholeBodyController
from linkwork.control.supports import Moving, corner_rows

PERSON = lw.mechanisms.humanoid(floating_base=True)
SOLE = [[0.12, 0.04, 0.0], [0.12, -0.04, 0.0], [-0.06, 0.04, 0.0], [-0.06, -0.04, 0.0]]
FEET = [Support(f"{side}_foot", SOLE, friction=0.6) for side in ("left", "right")]
V = np.zeros(PERSON.nv)


def crouched() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    return lw.integrate(PERSON, lw.neutral(PERSON), np.where(PERSON.actuated, 0.1 * rng.normal(size=PERSON.nv), 0.0))


def levels(q: np.ndarray[Any, Any]) -> list[Any]:
    hand = lw.forward_kinematics(PERSON, q, ["left_hand"])[0, :3, 3]
    com = CentreOfMass(lw.centre_of_mass(PERSON, q) - [0.0, 0.0, 0.02], kp=20.0)
    upright = Task(lw.Point("pelvis", axes="rotation"), lw.forward_kinematics(PERSON, q, ["pelvis"])[0, :3, :3])
    return [[(com, 2.0), upright], Task(lw.Point("left_hand", axes="position"), hand + np.array([0.02, 0.0, 0.02]))]


@pytest.fixture(scope="module")
def command() -> lw.control.WholeBodyCommand:
    q = crouched()
    return WholeBodyController(PERSON, levels(q), FEET, Posture(q)).command(0.0, q, V)


def test_motors_and_ground_cause_the_acceleration_that_is_announced(command: lw.control.WholeBodyCommand) -> None:
    q = crouched()
    corners = [point for foot in FEET for point in foot.points]
    J = (
        lw.jacobian(PERSON, q, corners, "local_world_aligned")
        .reshape(len(corners), 6, -1)[:, :3]
        .reshape(-1, PERSON.nv)
    )
    a = lw.forward_dynamics(PERSON, q, V, command.torque + J.T @ command.forces.ravel())
    np.testing.assert_allclose(a, command.acceleration, rtol=0, atol=1e-8 * np.abs(a).max())
    assert np.abs(J @ a).max() < 1e-8  # the soles stand
    assert not command.torque[~PERSON.actuated].any()
    assert max(np.abs(error).max() for error in command.errors) < 1e-3  # all that is asked can be done


def test_forces_are_in_their_cones_and_bear_the_weight(command: lw.control.WholeBodyCommand) -> None:
    f = command.forces
    assert (np.hypot(f[:, 0], f[:, 1]) <= 0.6 * f[:, 2] + 1e-6).all() and (f[:, 2] >= -1e-6).all()
    moved = lw.momentum_derivatives(PERSON, crouched(), V)[1][:3] @ command.acceleration
    np.testing.assert_allclose(f.sum(axis=0), moved - PERSON.mass * np.array(PERSON.gravity), atol=1e-6)


def test_two_solvers_agree(command: lw.control.WholeBodyCommand) -> None:
    q = crouched()
    other = WholeBodyController(PERSON, levels(q), FEET, Posture(q), solver="piqp").command(0.0, q, V)
    np.testing.assert_allclose(other.acceleration, command.acceleration, atol=1e-8)
    np.testing.assert_allclose(other.torque, command.torque, atol=1e-4)


def test_a_lower_level_takes_nothing_from_a_higher_one_and_limits_of_torque_hold() -> None:
    q = crouched()
    hand = lw.forward_kinematics(PERSON, q, ["left_hand"])[0, :3, 3]
    far = Task(lw.Point("left_hand", axes="position"), hand + np.array([3.0, 0.0, 0.0]))
    first = CentreOfMass(lw.centre_of_mass(PERSON, q), kp=20.0)
    alone = WholeBodyController(PERSON, [first], FEET).command(0.0, q, V)
    both = WholeBodyController(PERSON, [first, far], FEET).command(0.0, q, V)
    np.testing.assert_allclose(both.errors[0], alone.errors[0], atol=1e-4)
    share = np.abs(both.torque[PERSON.actuated]) / PERSON.effort_limit[PERSON.actuated]
    assert 1.0 - 1e-6 < share.max() < 1.0 + 1e-6
    together = WholeBodyController(PERSON, [[first, (far, 10.0)]], FEET).command(0.0, q, V)
    assert np.abs(together.errors[0][:3]).max() > 10.0 * np.abs(both.errors[0]).max()


def test_soles_that_turn_stand_as_nearly_as_they_can() -> None:
    q, rng = crouched(), np.random.default_rng(5)
    v = 0.3 * rng.normal(size=PERSON.nv)
    command = WholeBodyController(PERSON, levels(q), FEET, Posture(q)).command(0.0, q, v)
    corners = [point for foot in FEET for point in foot.points]
    with lw.interpreted():
        J = (
            lw.jacobian(PERSON, q, corners, "local_world_aligned")
            .reshape(-1, 6, PERSON.nv)[:, :3]
            .reshape(-1, PERSON.nv)
        )
        a = lw.forward_dynamics(PERSON, q, v, command.torque - PERSON.damping * v + J.T @ command.forces.ravel())
    np.testing.assert_allclose(a, command.acceleration, rtol=0, atol=1e-7 * np.abs(a).max())


def test_corners_move_as_points_of_their_frame_against_what_they_stand_on() -> None:
    model = pair()
    rng = np.random.default_rng(2)
    q, v = lw.random_state(model, 1)
    corners = rng.normal(size=(3, 3))
    on_floor, on_other = Support("one", corners), Support("one", corners, on="two", normal=(0.0, 1.0, 0.0))
    with lw.interpreted():
        linear = [6 * k + i for k in range(3) for i in range(3)]
        J = lw.jacobian(model, q, on_floor.points, "local_world_aligned")[linear]
        drift = lw.jacobian_drift(model, q, v, on_floor.points, "local_world_aligned")[linear]
        places = lw.forward_kinematics(model, q, ["one", "two", *on_floor.points])
        inside = [lw.Point("two", tuple(np.linalg.solve(places[1], place[:, 3])[:3])) for place in places[2:]]
        under = lw.jacobian(model, q, inside, "local_world_aligned")[linear]
        rate = lw.jacobian_drift(model, q, v, inside, "local_world_aligned")[linear]
        frames = ["one", "two"]
        rows = lw.jacobian(model, q, frames, "local_world_aligned").reshape(2, 6, -1)
        rates = lw.jacobian_drift(model, q, v, frames, "local_world_aligned").reshape(2, 6)
    one, two = (Moving(*each) for each in zip(places[:2], rows, rates, rows @ v, strict=True))
    world = Moving(np.eye(4), np.zeros((6, model.nv)), np.zeros(6), np.zeros(6))
    for found, wanted in zip(corner_rows(on_floor, one, world), (J, drift), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    for found, wanted in zip(corner_rows(on_other, one, two), (J - under, drift - rate), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_ball_that_rolls_stands() -> None:
    model, radius, spin = pair(), 0.2, np.array([0.7, -1.1, 0.4])
    q, v = lw.neutral(model), np.zeros(model.nv)
    v[:3], v[3:6] = np.cross(spin, [0.0, 0.0, radius]), spin
    with lw.interpreted():
        command = WholeBodyController(model, [], [Support("one", radius=radius), Support("two")]).command(0.0, q, v)
    # its centre goes straight on, which in the axes of the body, as they turn, is an acceleration
    np.testing.assert_allclose(command.acceleration[:6], [*np.cross(v[:3], spin), 0.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(command.forces, [[0.0, 0.0, 2.0 * 9.81]] * 2, atol=1e-6)


def test_levels_above_may_leave_no_room() -> None:
    model = pair()
    q, v = lw.neutral(model), np.zeros(model.nv)
    sole = [[x, y, -0.3] for x in (0.1, -0.1) for y in (0.1, -0.1)]
    far = CentreOfMass([-3.0, 0.0, 0.0])  # the middle of both: asks for all on one edge, and all of the friction
    answers = []
    with lw.interpreted():
        for solver in ("daqp", "piqp"):
            supports = [Support("one", sole, 1.0), Support("two", sole, 1.0)]
            turned = Task(lw.Point("one", axes="rotation"), np.eye(3))
            answers.append(WholeBodyController(model, [far, turned], supports, solver=solver).command(0.0, q, v))
    for answer in answers:
        f = answer.forces
        assert (f[:, 2] > -1e-5).all() and abs(f[:, 2].sum() - 4.0 * 9.81) < 1e-5
    np.testing.assert_allclose(answers[0].forces, answers[1].forces, atol=1e-3)


def test_a_solver_that_gives_up_leaves_what_higher_levels_have_found(monkeypatch: pytest.MonkeyPatch) -> None:
    model = pair()
    controller = WholeBodyController(model, [CentreOfMass([0.0, 0.0, 0.0])], [Support("one"), Support("two")])
    with lw.interpreted():
        before = controller.command(0.0, lw.neutral(model), np.zeros(model.nv))
        monkeypatch.setattr(controller, "_solve", lambda *problem: None)
        after = controller.command(0.0, lw.neutral(model), np.zeros(model.nv))
    np.testing.assert_allclose(after.forces, before.forces, atol=1e-6)


def test_a_normal_of_any_length_has_length_one() -> None:
    assert Support("left_foot", normal=(0.0, 3e300, 4e300)).normal.tolist() == [0.0, 0.6, 0.8]


def pair() -> lw.Model:
    """Two free bodies."""
    builder = lw.Builder("pair")
    for name in ("one", "two"):
        builder.add_body(name, joint=lw.joints.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
    return builder.build()


def test_hands_hold_a_box_by_friction() -> None:
    builder, half = lw.Builder("gripper"), 0.1
    for side, sign in (("left", 1.0), ("right", -1.0)):
        builder.add_body(
            f"{side}_lift", joint=lw.joints.Prismatic("z"), mass=1.0, placement=lw.placement((0, sign * half, 0))
        )
        builder.add_body(f"{side}_hand", f"{side}_lift", lw.joints.Prismatic("y"), mass=1.0)
    builder.add_body("box", joint=lw.joints.Free(), mass=3.0, inertia=(0.02, 0.02, 0.02))
    gripper = builder.build()
    balls = [[0.05, 0.0, 0.0], [-0.05, 0.0, 0.0]]
    hands = [
        Support(f"{side}_hand", balls, 0.5, (0.0, sign, 0.0), least=20.0, on="box")
        for side, sign in (("left", 1.0), ("right", -1.0))
    ]
    rise = np.array([0.0, 0.0, 0.5])
    box = Task(lw.Point("box", axes="position"), lw.control.MinimumJerk(0.0 * rise, rise, 1.0), kp=50.0)
    q, v = lw.neutral(gripper), np.zeros(gripper.nv)
    with lw.interpreted():
        command = WholeBodyController(gripper, [box], hands).command(0.2, q, v)
    f = command.forces
    wanted = box.reference.at(0.2)
    a = wanted.acceleration[2] + 50.0 * wanted.value[2] + 2.0 * np.sqrt(50.0) * wanted.velocity[2]
    np.testing.assert_allclose(-f.sum(axis=0), [0.0, 0.0, 3.0 * (9.81 + a)], atol=1e-3)  # what the box feels
    assert (f[:2, 1] >= 20.0 - 1e-6).all() and (f[2:, 1] <= -20.0 + 1e-6).all()
    assert (np.hypot(f[:, 0], f[:, 2]) <= 0.5 * np.abs(f[:, 1]) + 1e-6).all()
    np.testing.assert_allclose(command.torque[[1, 3]], [-f[:2, 1].sum(), -f[2:, 1].sum()], atol=1e-6)
    assert not command.torque[4:].any()


def test_forces_and_torques_that_do_not_suffice_are_an_error() -> None:
    q = crouched()
    pressed = [Support("left_foot", SOLE, least=1e5)]
    with pytest.raises(lw.SingularError, match="no forces within the cones of friction and the limits of torque"):
        WholeBodyController(PERSON, [], pressed).command(0.0, q, V)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Support("left_foot", [[0.0, 0.0]]), "corners of the support of 'left_foot' must have shape (k, 3)"),
        (
            lambda: Support("left_foot", friction=-1.0),
            "friction of the support of 'left_foot' must be finite and not neg",
        ),
        (lambda: Support("left_foot", normal=(0, 0, 0)), "normal of the support of 'left_foot' must be a vector (3,)"),
        (lambda: Support("left_foot", least=2.0, most=1.0), "needs 0 <= least <= most"),
        (lambda: Support("left_foot", radius=-0.1), "radius of the support of 'left_foot'"),
        (lambda: Support("left_foot", on="left_foot"), "the support of 'left_foot' stands on itself"),
        (lambda: Support("left_foot", on=2), "on of a support must be a frame's name"),  # type: ignore[arg-type]
        (lambda: WholeBodyController(PERSON, [], [Support("left_foot", on="table")]), "table"),
        (lambda: Support(3), "frame of a support must be a frame's name"),  # type: ignore[arg-type]
        (lambda: WholeBodyController(PERSON, [], [Support("nose")]), "nose"),
        (lambda: WholeBodyController(PERSON, ["hand"], FEET), "levels must hold lw.control.Task"),  # type: ignore[list-item]
        (lambda: WholeBodyController(PERSON, [], FEET, solver="qp"), "solver must be"),
        (lambda: WholeBodyController(PERSON, [], FEET, limits="clip"), "limits must be 'effort' or 'none'"),
        (lambda: WholeBodyController(PERSON, [], limits=np.zeros(2)), "limits must be 'effort' or 'none'"),  # type: ignore[arg-type]
        (lambda: WholeBodyController(PERSON, [], ["left_foot"]), "supports must hold"),  # type: ignore[list-item]
        (lambda: WholeBodyController(PERSON, [(CentreOfMass([0, 0, 1]), 0.0)], FEET), "the weight of a task"),
        (lambda: CentreOfMass([0.0, 1.0]), "must have shape (3,)"),
    ],
)
def test_wrong_arguments_are_named(make: Any, words: str) -> None:
    with pytest.raises(lw.LinkworkError, match=re.escape(words)):
        make()


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "daqp", None)
    with pytest.raises(lw.MissingExtraError, match=r"pip install 'linkwork\[whole-body\]'"):
        WholeBodyController(PERSON, [], FEET)
