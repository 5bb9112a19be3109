"""Equality constraints, mimic joints, actuators and springs of a file, against MuJoCo and by hand."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.formats import mjcf_parts
from linkwork.inside import costs
from strategies import Array

GEOM = '<geom type="box" size=".1 .2 .3" pos=".05 -.02 .1" euler="10 20 30"/>'
WORLD = f"""<worldbody><site name="nail" pos=".3 .2 1"/>
  <body name="one" pos="0 0 1" euler="0 30 0"><joint name="a" axis="0 1 0" pos=".1 0 .1" ref="20"/>{GEOM}
    <body name="two" pos=".5 0 0"><joint name="b" axis="1 0 0" ref="-10"/>{GEOM}
      <site name="tip" pos=".2 .1 0" euler="5 6 7"/>
      <body name="three" pos="0 .3 0"><joint name="c" type="slide" axis="0 0 1"/>
        <joint name="d" type="ball" pos="0 0 .1"/>{GEOM}</body></body></body>
  <body name="free" pos="1 1 1" euler="10 20 30"><freejoint/>{GEOM}<site name="top" pos="0 .1 .2"/></body>
  </worldbody>"""
EQUALITIES = {
    "connect": '<connect body1="two" body2="free" anchor=".1 .2 .3"/>',
    "connect to the world": '<connect body1="three" anchor="0 0 .4"/>',
    "connect of sites": '<connect site1="tip" site2="top"/>',
    "weld": '<weld body1="two" body2="free" relpose=".3 .2 .1 1 .2 .3 .4" anchor=".1 0 .2"/>',
    "weld as it is": '<weld body1="three" body2="free"/>',
    "weld of sites": '<weld site1="nail" site2="top"/>',
    "weld without torque": '<weld body1="two" body2="free" torquescale="0" anchor=".1 0 .2"/>',
    "joints": '<joint joint1="a" joint2="c" polycoef=".1 -2 0 0 0"/>',
    "one joint": '<joint joint1="b" polycoef=".2 1 0 0 0"/>',
}
OPTIONS = '<option timestep="0.001"><flag contact="disable"/></option>'


def read(folder: Path, rest: str, world: str = WORLD) -> tuple[lw.Model, Any]:
    path = folder / "robot.xml"
    path.write_text(f'<mujoco model="m">{OPTIONS}{world}{rest}</mujoco>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return lw.load(path), mujoco.MjModel.from_xml_path(str(path))


def state_there(m: Any, q: Array, v: Array) -> tuple[Any, Array]:
    """MuJoCo's data for our state, and the matrix T with qvel = T v."""
    d, turn = mujoco.MjData(m), np.eye(m.nv)
    d.qpos[:] = q
    for joint in range(m.njnt):
        at, dof, kind = m.jnt_qposadr[joint], m.jnt_dofadr[joint], m.jnt_type[joint]
        if kind in (mjcf_parts.FREE, mjcf_parts.BALL):
            at += 3 if kind == mjcf_parts.FREE else 0
            d.qpos[at : at + 4] = np.roll(q[at : at + 4], 1)
        if kind == mjcf_parts.FREE:
            rotation = np.empty(9)
            mujoco.mju_quat2Mat(rotation, d.qpos[at : at + 4])
            turn[dof : dof + 3, dof : dof + 3] = rotation.reshape(3, 3)
    d.qvel[:] = turn @ v
    return d, turn


def state_here(m: Any, d: Any) -> Array:
    """Our configuration for MuJoCo's data."""
    q = d.qpos.copy()
    for joint in range(m.njnt):
        at, kind = m.jnt_qposadr[joint], m.jnt_type[joint]
        if kind in (mjcf_parts.FREE, mjcf_parts.BALL):
            at += 3 if kind == mjcf_parts.FREE else 0
            q[at : at + 4] = np.roll(q[at : at + 4], -1)
    return q


@pytest.mark.parametrize("name", EQUALITIES)
def test_an_equality_holds_what_mujocos_does(tmp_path: Path, name: str) -> None:
    model, m = read(tmp_path, f"<equality>{EQUALITIES[name]}</equality>")
    (constraint,) = model.constraints
    q, v = lw.random_state(model, 3)
    d, _ = state_there(m, q, 0.0 * v)
    for _ in range(12):  # to where it holds
        mujoco.mj_forward(m, d)
        J = d.efc_J.reshape(-1, m.nv)[: d.ne]
        mujoco.mj_integratePos(m, d.qpos, -np.linalg.pinv(J) @ d.efc_pos[: d.ne], 1.0)
    mujoco.mj_forward(m, d)
    q = state_here(m, d)
    turn = state_there(m, q, v)[1]
    J = d.efc_J.reshape(-1, m.nv)[: d.ne]
    J = J[abs(J).max(axis=1) > 0.0]  # a weld without torque has empty rows
    assert abs(d.efc_pos[: d.ne]).max() < 1e-12
    with lw.interpreted():
        a, wrenches = lw.constrained_dynamics(model, q, 0.0 * v, v, model.constraints)
    np.testing.assert_allclose(J @ turn @ a, 0.0, atol=1e-9 * abs(a).max())
    # and nothing else: the force that is needed lies in the rows' span
    with lw.interpreted():
        needed = lw.mass_matrix(model, q) @ (a - lw.forward_dynamics(model, q, 0.0 * v, v))
    left = needed - (J @ turn).T @ np.linalg.lstsq((J @ turn).T, needed, rcond=None)[0]
    assert abs(needed).max() > 1e-3 and abs(left).max() < 1e-9 * abs(needed).max()
    assert wrenches.shape == (1, 6) and constraint is model.constraints[0]
    if name not in ("weld", "joints"):
        return
    with lw.interpreted():
        path = lw.simulate(model, q, 0.0 * v, 0.04, 0.004)
    d, _ = state_there(m, path.q[-1], path.v[-1])  # by default it holds in a simulation
    mujoco.mj_forward(m, d)
    assert abs(d.efc_pos[: d.ne]).max() < 1e-3 < abs(path.q[-1] - q).max()


def test_numbers_of_mujocos_enumerations() -> None:
    kinds = mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD, mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtObj.mjOBJ_SITE
    assert tuple(map(int, kinds)) == mjcf_parts.EQUALITIES
    laws = mujoco.mjtDyn.mjDYN_NONE, mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
    assert tuple(map(int, laws)) == mjcf_parts.LAWS and int(mujoco.mjtTrn.mjTRN_SITE) == mjcf_parts.TO_SITE


ACTUATORS = """<tendon><fixed name="cable"><joint joint="a" coef="2"/><joint joint="c" coef="-3"/></fixed></tendon>
  <actuator><motor name="hip" joint="a" gear="3" ctrllimited="true" ctrlrange="-.5 .7"/>
  <position joint="b" kp="40" kv="2" gear="1.5" forcelimited="true" forcerange="-9 4"/>
  <velocity name="slide" joint="c" kv="5"/><motor name="pull" tendon="cable" gear="2"/>
  <motor name="shoulder" joint="d" gear="1 2 3"/><motor name="rotor" site="top" gear="0 0 1 .1 0 .2"/></actuator>"""


def test_actuators_are_mujocos(tmp_path: Path) -> None:
    model, m = read(tmp_path, ACTUATORS)
    assert [one.name for one in model.actuators] == ["hip", "actuator1", "slide", "pull", "shoulder", "rotor"]
    hip, servo, _, pull, _, rotor = model.actuators
    assert hip.gears == (("a", (3.0,)),) and hip.control_range == (-0.5, 0.7) and hip.force_range == (-np.inf, np.inf)
    assert (servo.gain, servo.bias, servo.force_range) == (40.0, (0.0, -40.0, -2.0), (-9.0, 4.0))
    assert pull.gears == (("a", (4.0,)), ("c", (-6.0,))) and rotor.frame == "top"
    assert model.actuated.astype(int).tolist() == [1, 1, 1, 1, 1, 1, *[0] * 6]
    rng = np.random.default_rng(1)
    q, v = lw.random_state(model, rng, shape=4)
    control = rng.normal(size=(4, 6))
    with lw.interpreted():
        tau = lw.actuator_torques(model, q, v, control)
    for k in range(4):
        d, turn = state_there(m, q[k], v[k])
        d.ctrl[:] = control[k]
        mujoco.mj_forward(m, d)
        np.testing.assert_allclose(tau[k], turn.T @ d.qfrc_actuator, rtol=0, atol=1e-12 * abs(tau).max())
    law = lw.compile(lambda q, v, u: lw.actuator_torques(model, q, v, u), q=model.nq, v=model.nv, u=6)
    with lw.interpreted():
        np.testing.assert_array_equal(law(q, v, control), tau)


def test_wrong_actuators_are_named(tmp_path: Path) -> None:
    arm = lw.mechanisms.serial_chain(2)
    with pytest.raises(lw.ArgumentError, match=r"model 'serial_chain' has no actuators; lw\.Builder\.build takes some"):
        lw.actuator_torques(arm, [0.0, 0.0], [0.0, 0.0], [])
    with pytest.raises(lw.UnknownNameError, match="'elbo'"):
        replace(arm, actuators=(lw.Actuator("m", {"elbo": 1.0}),))
    with pytest.raises(lw.ModelError, match=r"actuator 'm' has 2 gear\(s\) for joint 'joint1' of 1 degree"):
        replace(arm, actuators=(lw.Actuator("m", {"joint1": (1.0, 2.0)}),))
    with pytest.raises(lw.ModelError, match="two actuators named 'm'"):
        replace(arm, actuators=(lw.Actuator("m", {"joint1": 1.0}), lw.Actuator("m", {"joint2": 1.0})))
    with pytest.raises(lw.ModelError, match="actuators of model 'serial_chain' must be a tuple of these, not 'm'"):
        replace(arm, actuators="m")  # type: ignore[arg-type]
    for wrong, words in (
        ({"joints": 3.0}, "joints of actuator 'm' must be a dict of gears by joints, not 3.0"),
        ({"joints": {"j": "x"}}, "gear of actuator 'm' at 'j' must be numbers, not 'x'"),
        ({"force_range": (1.0, 0.0)}, "force_range of actuator 'm' must begin below its end"),
        ({"gain": np.nan}, "gain of actuator 'm' must be a finite number"),
        ({"frame": "tip"}, r"wrench of actuator 'm' must be 6 number\(s\)"),
    ):
        with pytest.raises(lw.ModelError, match=words):
            lw.Actuator("m", **wrong)  # type: ignore[arg-type]
    path = tmp_path / "slow.xml"
    path.write_text(f"<mujoco>{WORLD}<actuator><general name='slow' joint='a' dyntype='filter'/></actuator></mujoco>")
    with pytest.warns(lw.LinkworkWarning, match=r"of actuators a state of its own \(filter\) \(1: 'slow'\)"):
        slow = lw.load(path)
    with pytest.raises(lw.ArgumentError, match="forces of actuator 'slow' are not known, since it has a state of its"):
        lw.actuator_torques(slow, lw.neutral(slow), np.zeros(slow.nv), [0.0])


SPRUNG = f"""<worldbody><body><joint name="a" axis="0 1 0" stiffness="20" springref="30" damping=".1"/>{GEOM}
  <body pos="1 0 0"><joint name="b" type="slide" stiffness="3" ref=".1"/>{GEOM}
    <body><joint type="ball" stiffness="4"/>{GEOM}</body></body></body></worldbody>"""


def test_springs_act_as_mujocos(tmp_path: Path) -> None:
    model, m = read(tmp_path, "", SPRUNG)
    assert model.stiffness.tolist() == [20.0, 3.0, 4.0, 4.0, 4.0]
    assert model.springref == pytest.approx([np.radians(30), 0.0, 0.0, 0.0, 0.0, 1.0])
    q, v = lw.random_state(model, 2)
    with lw.interpreted():
        many = lw.rollout(model, q, v, dt=0.001, steps=20)
        one = lw.simulate(model, q, v, 0.02, 0.001)
        without = lw.rollout(model, q, v, dt=0.001, steps=20, springs=False)
        none = lw.simulate(model, q, v, 0.02, 0.001, springs=False)
    d, _ = state_there(m, q, v)
    for _ in range(20):
        mujoco.mj_step(m, d)
    np.testing.assert_allclose(many.v[-1], d.qvel, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(many.q, one.q)
    m.jnt_stiffness[:] = 0.0
    d, _ = state_there(m, q, v)
    for _ in range(20):
        mujoco.mj_step(m, d)
    np.testing.assert_allclose(without.v[-1], d.qvel, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(without.q, none.q)


def test_wrong_springs_are_named() -> None:
    for wrong, words in (
        ({"stiffness": -1.0}, "stiffness of joint 'joint_rod' must be finite and not negative"),
        ({"stiffness": 1.0, "springref": (1.0, 2.0)}, r"springref of joint 'joint_rod' must be 1 number\(s\), not 2"),
    ):
        with pytest.raises(lw.ModelError, match=words):
            lw.Builder().add_body("rod", joint=lw.joints.Revolute("y"), mass=1.0, **wrong)


# Couplings of the model


def gripper(friction: float = 0.0, **limits: float) -> lw.Model:
    """A hinge with two fingers, the second moving half as far as the first in the opposite direction."""
    builder = lw.Builder("gripper")
    builder.add_body("arm", joint=lw.joints.Revolute("y"), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    for name, mass in (("left", 0.5), ("right", 0.4)):
        builder.add_body(
            name, "arm", lw.joints.Prismatic("x"), mass=mass, joint_name=name, friction=friction, lower=-0.1, upper=0.1
        )
    return builder.build(constraints=[lw.Coupling("right", "left", -0.5, 0.02)])


START = [0.3, 0.01, 0.015], [0.2, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore:prismatic joint")  # without stops they run out of their range
@pytest.mark.parametrize("friction", [0.0, 0.3], ids=["smooth", "rough"])
def test_stops_and_friction_of_joints_that_move_together(monkeypatch: pytest.MonkeyPatch, friction: float) -> None:
    model = gripper(friction)
    tau = [0.0, 6.0, 0.0]
    with lw.interpreted():
        by_python = lw.simulate(model, *START, 0.16, 0.004, tau=tau, joint_limits=True)
        free = lw.simulate(model, *START, 0.16, 0.004, tau=tau)
        alone = lw.simulate(model, *START, 0.16, 0.004, tau=tau, constraints=())
    assert by_python.q[:, 1].max() == pytest.approx(0.1) and free.q[-1, 1] > 0.12  # the first is stopped
    np.testing.assert_allclose(by_python.q[:, 2], -0.5 * by_python.q[:, 1] + 0.02, atol=1e-9)
    assert abs(alone.q[-1, 2] + 0.5 * alone.q[-1, 1] - 0.02) > 0.01
    with costs(interpreted=0):
        by_code = lw.simulate(model, *START, 0.16, 0.004, tau=tau, joint_limits=True)
    np.testing.assert_allclose(by_code.q, by_python.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(by_code.v, by_python.v, rtol=0, atol=1e-9)
    clear = by_python.q[:, 1] < 0.08  # at a stop nobody can say which of the joints friction holds
    forces = by_code.constraint_forces[clear], by_python.constraint_forces[clear]
    np.testing.assert_allclose(*forces, rtol=0, atol=1e-9)
    if not friction:  # of which a rollout has another law
        with lw.interpreted():
            many = lw.rollout(model, *START, tau, dt=0.004, steps=40, joint_limits=True)
            np.testing.assert_allclose(many.q, by_python.q, rtol=0, atol=1e-9)
            loose = lw.rollout(model, *START, tau, dt=0.004, steps=40, constraints=())
            np.testing.assert_array_equal(loose.q, alone.q)


def test_what_follows_a_joint_stops_it() -> None:
    """The second finger reaches its limit first; a third follows the second, and one is held where it is."""
    builder = lw.Builder("fingers")
    builder.add_body("a", joint=lw.joints.Prismatic("x"), mass=1.0, joint_name="a", lower=-1.0, upper=1.0)
    builder.add_body("b", joint=lw.joints.Prismatic("x"), mass=1.0, joint_name="b", lower=-0.1, upper=0.5)
    builder.add_body("c", joint=lw.joints.Prismatic("x"), mass=1.0, joint_name="c", upper=0.3)
    builder.add_body("d", joint=lw.joints.Prismatic("x"), mass=1.0, joint_name="d", upper=0.3)
    couplings = [lw.Coupling("c", "b", 0.5), lw.Coupling("b", "a", -2.0), lw.Coupling("d", "d", 0.0, 0.2)]
    model = builder.build(constraints=couplings)
    q = [0.0, 0.0, 0.0, 0.2]
    with lw.interpreted():
        for pull, end in ((40.0, 0.05), (-40.0, -0.25)):  # b at -0.1, b at 0.5, where c is at 0.25
            many = lw.rollout(model, q, [0.0] * 4, [pull, 0.0, 0.0, 3.0], dt=0.02, steps=20, joint_limits=True)
            one = lw.simulate(model, q, [0.0] * 4, 0.4, 0.02, tau=[pull, 0.0, 0.0, 3.0], joint_limits=True)
            np.testing.assert_allclose(many.q[-1], [end, -2.0 * end, -end, 0.2], atol=1e-9)
            np.testing.assert_allclose(one.q[-1], many.q[-1], atol=1e-9)
        with pytest.raises(lw.ArgumentError, match=r"q of joint 'a' is 0\.06, outside the limits -0\.25 to 0\.05 that"):
            lw.rollout(model, [0.06, 0.0, 0.0, 0.2], [0.0] * 4, dt=0.01, steps=1, joint_limits=True)


def test_constraints_are_renamed() -> None:
    point = lw.Weld(lw.Point("tip", (1.0, 0.0, 0.0)), "base")
    renamed = point.renamed(lambda frame: f"left/{frame}", str)
    assert renamed == lw.Weld(lw.Point("left/tip", (1.0, 0.0, 0.0)), "left/base")
    assert (point.frame_names(), point.joint_names()) == (("tip", "base"), ())
    gears = lw.Coupling("a", "b", 2.0, 1.0)
    assert gears.renamed(str, lambda joint: f"left/{joint}") == lw.Coupling("left/a", "left/b", 2.0, 1.0)
    assert (gears.frame_names(), gears.joint_names()) == ((), ("a", "b"))
