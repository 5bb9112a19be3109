"""Whole-body control: what is commanded is possible, within cones and limits, and serves tasks in their order."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import CentreOfMass, Posture, Support, Task, WholeBodyController

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
    np.testing.assert_allclose(other.acceleration, command.acceleration, atol=1e-4)
    np.testing.assert_allclose(other.torque, command.torque, atol=1e-3)


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
        (lambda: Support(3), "frame of a support must be a frame's name"),  # type: ignore[arg-type]
        (lambda: WholeBodyController(PERSON, [], [Support("nose")]), "nose"),
        (lambda: WholeBodyController(PERSON, ["hand"], FEET), "levels must hold lw.control.Task"),  # type: ignore[list-item]
        (lambda: WholeBodyController(PERSON, [], FEET, solver="qp"), "solver must be"),
        (lambda: WholeBodyController(PERSON, [], FEET, limits="clip"), "limits must be 'effort' or 'none'"),
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
