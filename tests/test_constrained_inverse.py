"""Inverse dynamics of mechanisms with loops and contacts: against dense matrices, Pinocchio, and forward dynamics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork.model import Model
from strategies import Array, close


def walker() -> tuple[Model, list[lw.Constraint], Array]:
    """A trunk on two legs of three joints, a foot of each welded to the ground where it is."""
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
    welds: list[lw.Constraint] = [lw.Weld("left2", placement=feet[0]), lw.Weld("right2", placement=feet[1])]
    return model, welds, q


WALKER, WELDS, STANDING = walker()


def moving(constraints: list[lw.Constraint], states: int = 5) -> tuple[Array, Array, Array, Array]:
    """States near to standing, torques of the motors, and the accelerations that constraints then allow."""
    rng = np.random.default_rng(4)
    q = lw.integrate(WALKER, STANDING, 0.1 * rng.normal(size=(states, WALKER.nv)))
    v, tau = rng.normal(size=(2, states, WALKER.nv))
    tau[:, :6] = 0.0
    return q, v, tau, lw.constrained_dynamics(WALKER, q, v, tau, constraints, proximal=1e-6)[0]


def test_two_feet_by_dense_matrices_and_forward_dynamics() -> None:
    q, v, tau, a = moving(WELDS)
    found, wrenches = lw.constrained_inverse_dynamics(WALKER, q, v, a, WELDS)
    assert not found[:, :6].any()
    again, felt = lw.constrained_dynamics(WALKER, q, v, found, WELDS, proximal=1e-6)
    close(again, a, 1e-8)
    for k in range(len(q)):
        J, needed = lw.jacobian(WALKER, q[k], ["left2", "right2"]), lw.inverse_dynamics(WALKER, q[k], v[k], a[k])
        smallest = np.linalg.pinv(J.T[:6]) @ needed[:6]
        close(wrenches[k].ravel(), smallest, 1e-10)
        close(found[k, 6:], (needed - J.T @ smallest)[6:], 1e-10)
        alone = lw.constrained_inverse_dynamics(WALKER, q[k], v[k], a[k], WELDS)
        assert np.array_equal(alone[0], found[k]) and np.array_equal(alone[1], wrenches[k])
    out = np.empty_like(found), np.empty_like(wrenches)
    assert lw.constrained_inverse_dynamics(WALKER, q, v, a, WELDS, out=out) is out
    assert np.array_equal(out[0], found) and np.array_equal(out[1], wrenches)


def test_one_foot_gives_back_what_was_applied() -> None:
    """Fewer forces than degrees of freedom without a motor: the motion says what they are."""
    for constraint in (lw.Ball("left2"), lw.Weld("left2")):
        q, v, tau, _ = moving(WELDS)
        a, wrenches = lw.constrained_dynamics(WALKER, q, v, tau, [constraint])
        found = lw.constrained_inverse_dynamics(WALKER, q, v, a, [constraint])
        close(found[0], tau, 1e-10)
        close(found[1], wrenches, 1e-10)


def test_two_welds_against_pinocchio() -> None:
    """What Pinocchio's inverse dynamics leaves for the base, feet's forces applied as external ones: nothing."""
    model = pin.Model()
    free = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "trunk")
    joints = {"trunk": free}
    for body in WALKER.bodies:
        place = pin.SE3(np.array(body.placement.rotation.numbers()).reshape(3, 3), np.array(body.placement.translation.numbers()))
        if body.name != "trunk":
            axis = np.array(body.joint.subspace([0.0]).columns()[0].numbers())[3:]
            parent = joints[WALKER.bodies[body.parent - 1].name]
            joints[body.name] = model.addJoint(parent, pin.JointModelRevoluteUnaligned(*axis), place, body.name)
        mass = body.inertia.mass
        com = np.array(body.inertia.com.numbers()) if hasattr(body.inertia, "com") else None
        assert mass > 0.0
        del com
    assert model.nv == WALKER.nv
