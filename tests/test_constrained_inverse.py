"""Inverse dynamics of mechanisms with loops and contacts: against dense matrices, Pinocchio, and forward dynamics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork.model import Model
from linkwork_lab.bench.peers import pinocchio
from strategies import Array, close


def walker() -> tuple[Model, list[lw.Constraint], Array]:
    """A trunk on two legs of three joints, one foot welded to the ground, the other held there by a ball."""
    builder = lw.Builder("walker")
    trunk = builder.add_body("trunk", joint=lw.joints.Free(), mass=5.0, com=(0.02, 0, 0.1), inertia=(0.1, 0.2, 0.3))
    for side, y in (("left", 0.1), ("right", -0.1)):
        last = trunk
        for k, axis in enumerate("yxy"):
            place = lw.placement((0.02, y if k == 0 else 0.01, -0.2), (0.1, 0.2, 0.1 * k))
            solid = {"mass": 0.6, "com": (0, 0.01, -0.05), "inertia": (0.01, 0.02, 0.01)}
            last = builder.add_body(f"{side}{k}", last, lw.joints.Revolute(axis), place, **solid)
    model = builder.build()
    q, _ = lw.random_state(model, 1)
    feet = lw.forward_kinematics(model, q, ["left2", "right2"])
    return model, [lw.Weld("left2", placement=feet[0]), lw.Ball("right2", placement=feet[1])], q


WALKER, FEET, STANDING = walker()


def moving(constraints: list[lw.Constraint], states: int = 5) -> tuple[Array, Array, Array, Array]:
    """States, motor torques, and the accelerations that the constraints allow for them."""
    rng = np.random.default_rng(4)
    with lw.interpreted():
        q = lw.integrate(WALKER, STANDING, 0.3 * rng.normal(size=(states, WALKER.nv)))
        v, tau = rng.normal(size=(2, states, WALKER.nv))
        tau[:, :6] = 0.0
        return q, v, tau, lw.constrained_dynamics(WALKER, q, v, tau, constraints)[0]


def test_two_feet_by_dense_matrices_and_forward_dynamics() -> None:
    q, v, _, a = moving(FEET)
    found, wrenches = lw.constrained_inverse_dynamics(WALKER, q, v, a, FEET)
    assert not found[:, :6].any()
    with lw.interpreted():
        again, felt = lw.constrained_dynamics(WALKER, q, v, found, FEET)
    close(again, a, 1e-10)
    close(felt, wrenches, 1e-10)
    for k in range(len(q)):
        points = ["left2", lw.Point("right2", axes="position")]
        with lw.interpreted():
            J, needed = lw.jacobian(WALKER, q[k], points), lw.inverse_dynamics(WALKER, q[k], v[k], a[k])
        smallest = np.linalg.pinv(J.T[:6]) @ needed[:6]
        close(wrenches[k].ravel()[:9], smallest, 1e-10)
        assert not wrenches[k, 1, 3:].any()
        close(found[k, 6:], (needed - J.T @ smallest)[6:], 1e-10)
        alone = lw.constrained_inverse_dynamics(WALKER, q[k], v[k], a[k], FEET)
        assert np.array_equal(alone[0], found[k]) and np.array_equal(alone[1], wrenches[k])
    out = np.empty_like(found), np.empty_like(wrenches)
    assert lw.constrained_inverse_dynamics(WALKER, q, v, a, FEET, out=out) is out
    assert np.array_equal(out[0], found) and np.array_equal(out[1], wrenches)


def test_one_foot_gives_back_what_was_applied() -> None:
    """Fewer forces than unactuated degrees of freedom: the motion determines them, with external loads and without."""
    loads = np.random.default_rng(6).normal(size=(5, len(WALKER.bodies), 6))
    for constraint, load in ((lw.Ball("left2"), None), (lw.Weld("left2"), loads)):
        q, v, tau, _ = moving(FEET)
        with lw.interpreted():
            a, wrenches = lw.constrained_dynamics(WALKER, q, v, tau, [constraint], f_ext=load)
        found = lw.constrained_inverse_dynamics(WALKER, q, v, a, [constraint], f_ext=load)
        close(found[0], tau, 1e-10)
        close(found[1], wrenches, 1e-10)


def test_pinocchio_s_inverse_dynamics_agrees() -> None:
    """With the wrenches on the feet as external forces it gives the same torques, and zero for the base."""
    q, v, _, a = moving(FEET)
    tau, wrenches = lw.constrained_inverse_dynamics(WALKER, q, v, a, FEET)
    there = pinocchio.create(WALKER).model
    data = there.createData()
    for k in range(len(q)):
        forces = pin.StdVec_Force()
        for name in there.names:
            mine = [w for body, w in zip(("left2", "right2"), wrenches[k], strict=True) if name == f"joint_{body}"]
            forces.append(pin.Force(mine[0]) if mine else pin.Force.Zero())
        close(pin.rnea(there, data, q[k], v[k], a[k], forces), tau[k], 1e-10, scale=float(np.abs(tau).max()))


def test_redundant_constraints_and_motors_everywhere() -> None:
    q, v, _, a = moving(FEET, 2)
    tau, wrenches = lw.constrained_inverse_dynamics(WALKER, q, v, a, [*FEET, FEET[0]])
    once = lw.constrained_inverse_dynamics(WALKER, q, v, a, FEET)
    with lw.interpreted():
        again, _ = lw.constrained_dynamics(WALKER, q, v, tau, FEET)
    close(again, a, 1e-8)
    close(wrenches[:, 0], wrenches[:, 2], 1e-9)  # the smallest are shared alike
    assert np.linalg.norm(wrenches) < np.linalg.norm(once[1])
    tau, wrenches = lw.constrained_inverse_dynamics(WALKER, q, v, a, FEET, actuated=np.ones(WALKER.nv, dtype=bool))
    assert np.array_equal(tau, lw.inverse_dynamics(WALKER, q, v, a)) and not wrenches.any()
    tau, wrenches = lw.constrained_inverse_dynamics(WALKER, q, v, a, [], actuated=np.ones(WALKER.nv, dtype=bool))
    assert wrenches.shape == (2, 0, 6)


def test_a_motion_that_cannot_be_made() -> None:
    q, v, tau, _ = moving(FEET)
    with lw.interpreted():
        a, _ = lw.constrained_dynamics(WALKER, q, v, tau, [lw.Ball("left2")])
    a[3, 1] += 0.5
    words = r"cannot be made at state \[3\] of the batch: joint 'joint_trunk' has no motor, and the constraints Ball.*"
    with pytest.raises(lw.SingularError, match=words + r" N \(or N m\) are missing in its degree of freedom \d"):
        lw.constrained_inverse_dynamics(WALKER, q, v, a, [lw.Ball("left2")])
    with pytest.raises(lw.SingularError, match=r"cannot be made: joint 'joint_trunk' .* no constraint is there"):
        lw.constrained_inverse_dynamics(WALKER, q[0], v[0], a[0], [])
    for wrong in ([True] * 3, [1.0] * WALKER.nv, "all"):
        with pytest.raises(lw.ArgumentError, match="actuated must be a mask of 12 truth values"):
            lw.constrained_inverse_dynamics(WALKER, q, v, a, FEET, wrong)


def test_forward_and_inverse_of_the_same_constraints_have_kernels_of_their_own() -> None:
    arm = lw.mechanisms.serial_chain(3)
    held: list[lw.Constraint] = [lw.Ball("tip")]
    q, v, still = np.array([0.3, 0.5, -0.4]), np.zeros(3), np.zeros(3)
    with lw.interpreted():
        for mask in ([True] * 3, [False, True, True]):
            tau, _ = lw.constrained_inverse_dynamics(arm, q, v, still, held, mask)
            a, _ = lw.constrained_dynamics(arm, q, v, tau, held, proximal=1e-6)
            assert abs(a).max() < 1e-8 and (np.array(mask) | (tau == 0.0)).all()
