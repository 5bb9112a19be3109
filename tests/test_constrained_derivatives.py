"""Derivatives of constrained dynamics: against differences, against Pinocchio, and by all methods."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork.inside import costs
from strategies import Array, close
from test_pinocchio import make


def mixed() -> lw.Model:
    builder = lw.Builder("mixed")
    solid = {"mass": 1.0, "inertia": (0.1, 0.2, 0.15), "com": (0.1, 0.0, 0.05)}
    builder.add_body("base", joint=lw.joints.Free(), **solid)
    builder.add_body("ball", "base", lw.joints.Spherical(), lw.placement((0.3, 0, 0)), **solid)
    builder.add_body("bar", "ball", lw.joints.Revolute("x"), lw.placement((0, 0.3, 0)), **solid)
    builder.add_body("slide", "bar", lw.joints.Prismatic("y"), lw.placement((0, 0.3, 0)), **solid)
    return builder.build()


MODEL = mixed()
Q, V = lw.random_state(MODEL, 1)
TAU = np.random.default_rng(2).normal(size=MODEL.nv)
LOADS = np.random.default_rng(3).normal(size=(4, 6))
OFF = lw.placement((0.1, 0.2, -0.1), rpy=(0.3, 0.2, 0.1))
PAIR = ("joint_slide", "joint_bar")
CASES: dict[str, Any] = {
    "weld": [lw.Weld("bar", placement=OFF)],
    "loop": [lw.Ball("slide", "base", OFF), lw.Hinge("ball", "world", OFF, axis="y")],
    "plane": [
        lw.PointOnPlane("bar", "base", OFF, normal=(0.1, 1.0, 0.2)),
        lw.Coupling("joint_slide", "joint_bar", 0.7, 0.1),
    ],
    "rolling": [lw.Rolling("slide", "world", OFF, radius=0.2, axis="y")],
    "coupling": lw.Coupling(*PAIR, ratio=-2.0, offset=0.3),
}


def by_differences(
    model: lw.Model, constraints: Any, stabilisation: float | None, proximal: float = 0.0, v0: Array = V
) -> list[Array]:
    h, found = 1e-4 if proximal else 1e-6, []  # more of a difference is rounding if forces are damped
    for which in range(3):
        columns = []
        for unit in np.eye(model.nv):
            ends = []
            for sign in (h, -h):
                state = [Q, v0, TAU]
                state[which] = lw.integrate(model, Q, sign * unit) if which == 0 else state[which] + sign * unit
                q, v, tau = state
                a, w = lw.constrained_dynamics(model, q, v, tau, constraints, LOADS, stabilisation, proximal)
                ends.append(np.concatenate([a, w.ravel()]))
            columns.append((ends[0] - ends[1]) / (2.0 * h))
        found.append(np.stack(columns, axis=1))
    return found


@pytest.mark.parametrize("name", CASES)
def test_they_are_limits_of_differences(name: str) -> None:
    stabilisation = None if name == "weld" else 0.1
    with lw.interpreted():
        found = lw.constrained_dynamics_derivatives(MODEL, Q, V, TAU, CASES[name], LOADS, stabilisation)
        expected = by_differences(MODEL, CASES[name], stabilisation)
    for k in range(3):
        close(np.concatenate([found[k], found[3 + k].reshape(-1, MODEL.nv)]), expected[k], 1e-7, what=f"{name} {k}")


def test_a_constraint_that_is_given_twice_shares_its_forces() -> None:
    for name, constraint in (("weld", lw.Weld("bar", placement=OFF)), ("coupling", CASES["coupling"])):
        with lw.interpreted():
            once = lw.constrained_dynamics_derivatives(MODEL, Q, V, TAU, constraint, LOADS, 0.1)
            again = lw.constrained_dynamics_derivatives(MODEL, Q, V, TAU, [constraint] * 2, LOADS, 0.1, 1e-6)
            alone = lw.constrained_dynamics_derivatives(MODEL, Q, V, TAU, constraint, LOADS, 0.1, proximal=1e-6)
        for k in range(3):
            close(again[k], once[k], 1e-9, what=name)
            close(again[3 + k], np.concatenate([once[3 + k]] * 2) / 2.0, 1e-9, what=name)
            close(alone[k], once[k], 1e-9, what=name)
            close(alone[3 + k], once[3 + k], 1e-9, what=name)


def test_redundant_constraints_are_limits_of_differences() -> None:
    """Of the smallest forces; the second set contradicts itself, and its forces are not accurate to be subtracted."""
    agreeing = [lw.Weld.at(MODEL, Q, "bar"), lw.Ball.at(MODEL, Q, lw.Point("bar", (0.3, 0.1, 0.0)))]
    for constraints, v in ((agreeing, 0.0 * V), ([lw.Weld("bar", placement=OFF), lw.Ball("slide")], V)):
        with lw.interpreted():
            found = lw.constrained_dynamics_derivatives(MODEL, [Q, Q], v, TAU, constraints, LOADS, 0.2, 1e-6)
            expected = by_differences(MODEL, constraints, 0.2, 1e-6, v)
        for k in range(3):
            close(found[k][1], expected[k][: MODEL.nv], 3e-4, what=f"a {k}")
            if v is not V:
                close(found[3 + k][1].reshape(-1, MODEL.nv), expected[k][MODEL.nv :], 3e-4, what=f"w {k}")


def test_one_kernel_joined_kernels_and_batches_agree() -> None:
    arm = lw.mechanisms.serial_chain(3)
    q, v = lw.random_state(arm, 0, shape=2)
    tau, constraints = np.array([0.3, -0.2, 0.1]), [lw.PointOnPlane("tip", placement=OFF)]
    with lw.interpreted():
        plain = lw.constrained_dynamics_derivatives(arm, q[0], v[0], tau, constraints, None, 0.1)
    with lw.form("looped"):
        joined = lw.constrained_dynamics_derivatives(arm, q, v, tau, constraints, None, 0.1)
    kernel = lw.constrained_dynamics_derivatives(arm, q, v, tau, constraints, None, 0.1)
    for one, two, three in zip(plain, joined, kernel, strict=True):
        close(two[0], one, 1e-11)
        assert np.array_equal(three[0], one)
        close(three[1], two[1], 1e-11)
    out = tuple(np.empty_like(each) for each in plain)
    again = lw.constrained_dynamics_derivatives(arm, q[0], v[0], tau, constraints, None, 0.1, out=out)  # type: ignore[arg-type]
    assert all(x is y and np.array_equal(x, z) for x, y, z in zip(again, out, plain, strict=True))


@costs(derived_whole=0)
def test_the_kernels_of_a_larger_tree_agree_with_one() -> None:
    """However they are called: one state or many, with arrays of other kinds, in place."""
    arm = lw.mechanisms.serial_chain(3)
    q, v = lw.random_state(arm, 0, shape=(2, 3))
    tau, loads, plane = np.array([0.3, -0.2, 0.1]), np.ones((3, 3, 6)), lw.PointOnPlane("tip", placement=OFF)
    for rest in ((), (loads, 0.1)):
        with lw.form("looped"):
            joined = lw.constrained_dynamics_derivatives(arm, q, v, tau, plane, *rest)
        for _ in range(2):  # by Python's checks, and then by code's
            found = lw.constrained_dynamics_derivatives(arm, q, v, tau, plane, *rest)
            out: Any = tuple(np.full_like(each, np.nan) for each in found)
            given = (q.tolist(), np.repeat(v, 2, axis=-1)[..., ::2], tau)
            again = lw.constrained_dynamics_derivatives(arm, *given, plane, *rest, out=out)
            for one, two, three, four in zip(joined, found, again, out, strict=True):
                close(two, one, 1e-10)
                assert three is four and np.array_equal(two, three) and two.flags.c_contiguous
            alone = lw.constrained_dynamics_derivatives(arm, q[0, 1], v[0, 1], tau, plane, *_of(rest, 1))
            assert all(np.array_equal(one[0, 1], two) for one, two in zip(found, alone, strict=True))
        with pytest.raises(lw.ArgumentError, match=r"out\[5\] must be a float64 array of shape \(2, 3, 1, 6, 3\)"):
            lw.constrained_dynamics_derivatives(arm, q, v, tau, plane, *rest, out=(*out[:5], out[0]))
    with pytest.raises(lw.ArgumentError, match=r"v\[0, 0, 0\] \(joint 'joint1'\) is nan"):
        lw.constrained_dynamics_derivatives(arm, q, np.full_like(v, np.nan), tau, plane)
    with pytest.raises(lw.SingularError, match="only 1 are independent"):
        lw.constrained_dynamics_derivatives(arm, q, v, tau, [plane, lw.PointOnPlane("tip", placement=OFF)])


def _of(rest: Any, k: int) -> Any:
    """The further arguments of one state."""
    return (rest[0][k], *rest[1:]) if rest else ()


def test_pinocchio_agrees() -> None:
    pair = make("solo12", (2,))
    model, there, q, tau = pair.model, pair.there, pair.state.q[0], pair.state.tau[0]
    feet = model.body_names[3:7:3]
    welds = [lw.Ball.at(model, q, foot) for foot in feet]
    with lw.interpreted():
        J = lw.jacobian(model, q, [lw.Point(foot, axes="position") for foot in feet])
    v = pair.state.v[0] - np.linalg.pinv(J) @ J @ pair.state.v[0]  # there, a place that moves has other derivatives
    q_there, data = pair.q_there(q), there.createData()
    pin.framesForwardKinematics(there, data, q_there)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for foot in feet:
        frame, place = there.frames[there.getFrameId(foot)], data.oMf[there.getFrameId(foot)]
        kind, seen = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
        models.append(pin.RigidConstraintModel(kind, there, frame.parentJoint, frame.placement, 0, place, seen))
    datas.extend(one.createData() for one in models)
    pin.initConstraintDynamics(there, data, models, datas)
    pin.constraintDynamics(there, data, q_there, v, tau, models, datas, pin.ProximalSettings(1e-13, 1e-13, 1e-9, 50))
    expected = pin.computeConstraintDynamicsDerivatives(there, data, models, datas)
    with lw.interpreted():
        found = lw.constrained_dynamics_derivatives(model, q, v, tau, welds)
    for k in range(3):
        close(found[k], np.array(expected[k]), 1e-6)
        forces = found[3 + k][:, :3].reshape(-1, model.nv)
        close(forces, np.array(expected[3 + k]), 1e-6)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(lw.SingularError, match="only 6 are independent"), lw.interpreted():
        lw.constrained_dynamics_derivatives(MODEL, Q, V, TAU, [lw.Weld("bar"), lw.Weld("bar", placement=OFF)])
    with pytest.raises(lw.ArgumentError, match=r"tau must have shape \(..., 11\)"):
        lw.constrained_dynamics_derivatives(MODEL, Q, V, TAU[:3], lw.Weld("bar"))
    with pytest.raises(lw.ArgumentError, match="proximal must be a number of 0 or more"):
        lw.constrained_dynamics_derivatives(MODEL, Q, V, TAU, lw.Weld("bar"), proximal=-1.0)
    damped = partial(lw.constrained_dynamics_derivatives, MODEL, Q, V, constraints=[lw.Weld("bar")], proximal=1e-6)
    with pytest.raises(lw.TracingError, match="cannot be traced with proximal"):
        lw.compile(lambda tau: damped(tau)[0], tau=MODEL.nv)
    free = lw.constrained_dynamics_derivatives(MODEL, Q, V, TAU, [])
    close(free.da_dq, lw.forward_dynamics_derivatives(MODEL, Q, V, TAU)[0], 1e-13)
    assert free.dw_dq.shape == (0, 6, MODEL.nv)
