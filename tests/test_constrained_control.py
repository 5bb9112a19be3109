"""Operational-space control of robots on supports: motors alone, the forces that the supports supply, and both together
in constrained dynamics. In a simulation with contacts: examples/reach_on_two_feet.py.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import HeldObject, MinimumJerk, OperationalSpaceController, Posture, Task
from strategies import Array, close
from test_constrained_points import FEET, HAND, corners, standing, welds
from test_held_object import flying, placed

MODEL, Q, V = standing()
HERE = lw.forward_kinematics(MODEL, Q, ["hand"])[0, :3, 3]
THERE = HERE + np.array([0.05, 0.02, -0.03])


def controller(held: list[lw.Constraint], **options: Any) -> OperationalSpaceController:
    posture = options.pop("posture", Posture(Q))
    return OperationalSpaceController(MODEL, [Task(HAND, THERE, kp=100.0)], posture, constraints=held, **options)


def reached(tau: Array) -> tuple[Array, Array]:
    """The acceleration of the hand in world axes, and the wrenches at the feet."""
    with lw.interpreted():
        a, wrenches = lw.constrained_dynamics(MODEL, Q, V, tau, welds(MODEL, Q))
        J, drift = (
            lw.jacobian(MODEL, Q, [HAND], "local_world_aligned"),
            lw.jacobian_drift(MODEL, Q, V, [HAND], "local_world_aligned"),
        )
    return J @ a + drift, wrenches


@pytest.mark.parametrize("how", ["welds", "corners"])
def test_motors_alone_move_the_hand_as_told_and_feet_feel_what_is_announced(how: str) -> None:
    law = controller(welds(MODEL, Q) if how == "welds" else corners(MODEL, Q))
    if how == "corners":  # 24 rows of rank 12
        with lw.interpreted():
            command = law.command(0.0, Q, V)
        tau = command.torque
    else:
        tau, command = law.torque(0.0, Q, V), law.command(0.0, Q, V)
        close(tau, command.torque, 1e-10)
        assert np.array_equal(law.torques(0.0, np.array([Q, Q]), np.array([V, V]))[1], tau)
    assert not tau[:6].any() and command.levels[0].rank == 3
    hand, wrenches = reached(tau)
    with lw.interpreted():
        speed = (lw.jacobian(MODEL, Q, [HAND], "local_world_aligned") @ V)[:3]
    assert np.allclose(hand, 100.0 * (THERE - HERE) - 20.0 * speed, atol=1e-8)
    if how == "welds":
        close(command.reactions, wrenches, 1e-9)
    else:
        forces = command.reactions[:, :3].reshape(2, 4, 3)
        close(forces.sum(axis=1), wrenches[:, :3], 1e-9)
        assert not command.reactions[:, 3:].any()


def test_of_all_reactions_the_nearest_to_the_desired_ones_are_used() -> None:
    """Without any, those of least squares; what a desire changes is internal, and moves nothing."""
    held, rng = welds(MODEL, Q), np.random.default_rng(7)
    desired = 20.0 * rng.normal(size=(2, 6))
    plain, wanting = controller(held), controller(held, reactions=desired)
    one, other = plain.command(0.0, Q, V), wanting.command(0.0, Q, V)
    a, b = reached(one.torque), reached(other.torque)
    assert np.allclose(a[0], b[0], atol=1e-8)
    close(a[1], one.reactions, 1e-9)
    close(b[1], other.reactions, 1e-9)
    with lw.interpreted():
        base = lw.jacobian(MODEL, Q, FEET)[:, :6]
    inside = np.eye(12) - base @ np.linalg.pinv(base)
    close(inside @ one.reactions.ravel(), np.zeros(12), 1e-9, scale=abs(one.reactions).max())
    close(inside @ other.reactions.ravel(), inside @ desired.ravel(), 1e-9)
    close(wanting.torque(0.0, Q, V), other.torque, 1e-10)


def test_levels_limits_and_references_work_on_supports_too() -> None:
    held = welds(MODEL, Q)
    with lw.interpreted():
        pelvis = lw.forward_kinematics(MODEL, Q, ["trunk"])[0]
    path = MinimumJerk(HERE, THERE, 0.5)
    levels = [Task(lw.Point("trunk", axes="rotation"), pelvis[:3, :3]), Task(HAND, path)]
    law = OperationalSpaceController(MODEL, levels, Posture(Q), constraints=held, limits="scale")
    lw.jacobian(MODEL, Q, [HAND])  # points and constraints keep their code
    lw.operational_inertia_inverse(MODEL, Q, [HAND], constraints=held)
    again = pickle.loads(pickle.dumps(law))
    for t in (0.1, 0.3):
        command = law.command(t, Q, V)
        assert [level.rank for level in command.levels] == [3, 3] and command.factor == 1.0
        with lw.interpreted():
            assert np.array_equal(again.command(t, Q, V).torque, command.torque)
        a, _ = reached(command.torque)
        sample, speed = path.at(t), None
        with lw.interpreted():
            speed = (lw.jacobian(MODEL, Q, [HAND], "local_world_aligned") @ V)[:3]
        wanted = sample.acceleration + 100.0 * (sample.value - HERE) + 20.0 * (sample.velocity - speed)
        assert np.allclose(a, wanted, atol=1e-8)


def test_a_person_on_two_feet_moves_a_box_in_both_hands() -> None:
    """Hands carry the box, the ground carries both, and motors alone do it. Legs have three hinges: 9 of 12 rows."""
    person = lw.mechanisms.humanoid(floating_base=True)
    bent = {"hip_pitch": -0.4, "knee_pitch": 0.8, "ankle_pitch": -0.4, "elbow_pitch": -0.8, "shoulder_pitch": -0.3}
    q = person.configuration({f"{side}_{name}": x for side in ("left", "right") for name, x in bent.items()})
    hands = ["left_hand", "right_hand"]
    builder = lw.Builder("person with a box")
    builder.add_model(person)
    builder.add_body("box", joint=lw.joints.Free(), mass=3.0, inertia=(0.03, 0.04, 0.05))
    with lw.interpreted():
        poses = lw.forward_kinematics(person, q, hands)
        middle = poses[:, :3, 3].mean(axis=0)
        for hand, pose in zip(hands, poses, strict=True):
            pose[:3, 3] -= middle
            builder.add_frame(f"{hand}_grip", "box", pose)
        model = builder.build()
        q, v = np.array([*q, *middle, 0.0, 0.0, 0.0, 1.0]), np.zeros(model.nv)
        grips = [lw.Weld(hand, f"{hand}_grip") for hand in hands]
        feet = [lw.Weld.at(model, q, foot) for foot in ("left_foot", "right_foot")]
        there = lw.forward_kinematics(model, q, ["box"])[0]
        there[:3, 3] += [0.02, 0.01, 0.05]
        law = OperationalSpaceController(model, [HeldObject("box", grips, there)], Posture(q), constraints=feet)
        command = law.command(0.0, q, v)
        tau = command.torque
        a, wrenches = lw.constrained_dynamics(model, q, v, tau, [*feet, *grips], proximal=1e-6)
    assert command.levels[0].rank == 12 and not tau[~model.actuated].any()
    assert np.allclose(a[-6:], [2.0, 1.0, 5.0, 0.0, 0.0, 0.0], atol=1e-5)
    close(command.reactions, wrenches[:2], 1e-4)


def test_a_point_that_the_supports_hold_is_a_singular_direction() -> None:
    held = welds(MODEL, Q)
    foot = Task(lw.Point("left5", axes="position"), HERE)
    law = OperationalSpaceController(MODEL, [foot, Task(HAND, THERE)], constraints=held)
    with lw.interpreted():
        levels = law.command(0.0, Q, V).levels
        assert [level.rank for level in levels] == [0, 3]
        with pytest.raises(lw.SingularError, match="level 1 of the controller asks for 3 accelerations"):
            strict = OperationalSpaceController(MODEL, [foot], constraints=held, singular="raise")
            strict.command(0.0, Q, V)


def test_supports_that_cannot_carry_the_robot_are_named() -> None:
    law = controller([lw.Ball.at(MODEL, Q, "left5")])
    with lw.interpreted(), pytest.raises(lw.SingularError) as error:
        law.command(0.0, Q, 0 * V)
    for part in ("OperationalSpaceController: the motion cannot be made", "no motor", "Ball('left5', 'world')"):
        assert part in str(error.value)


def test_arguments_that_contradict_each_other_are_refused() -> None:
    held = welds(MODEL, Q)
    with pytest.raises(lw.ArgumentError, match="reactions are the wrenches of constraints; pass constraints, too"):
        OperationalSpaceController(MODEL, [Task(HAND, HERE)], reactions=np.zeros((2, 6)))
    with pytest.raises(lw.ArgumentError, match=r"reactions must have shape \(2, 6\), .* not \(3, 6\)"):
        controller(held, reactions=np.zeros((3, 6)))
    with pytest.raises(lw.ArgumentError, match=r"reactions must be 12 numbers for 2 constraints, not \(3,\)"):
        controller(held, reactions=lw.control.Constant([0.0, 0.0, 1.0]))
    with pytest.raises(lw.ArgumentError, match="has no frame named 'left6'"):
        controller([lw.Weld("left6")])
    model, grips, q = flying(3)
    held_object = HeldObject("plate", grips, placed(model, q))
    with pytest.raises(lw.ArgumentError, match="constraints hold 'hand0' to 'grip0', and so does a held object"):
        OperationalSpaceController(model, [held_object], constraints=[lw.Weld("hand0", "grip0")])
