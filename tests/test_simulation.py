"""Simulation: orders of convergence, conservation laws, closed forms, and comparison with MuJoCo and Pinocchio."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import linkwork as lw
from linkwork.dynamics.arguments import Array
from robots import robot
from strategies import close, floating, pool_to_compile
from test_constraints import four_bar
from test_mjcf import MODELS, to_linkwork, write

EVERY_KIND = pool_to_compile()[:5]
FREE_OF_LOSS = {"damping": False, "friction": False}


def last(
    model: lw.Model, q: Array, v: Array, duration: float, dt: float, integrator: str, **more: Any
) -> lw.Trajectory:
    """The first and the last state."""
    return lw.simulate(model, q, v, duration, dt, integrator=integrator, record=10**9, **more)


def distance(a: lw.Trajectory, b: lw.Trajectory) -> float:
    """The distance of two last states."""
    return float(max(abs(lw.difference(a.model, a.q[-1], b.q[-1])).max(), abs(a.v[-1] - b.v[-1]).max()))


def order(errors: list[float]) -> Array:
    return np.log2(np.array(errors[:-1]) / errors[1:])


# Orders and conservation


@pytest.mark.parametrize("model", EVERY_KIND, ids=lambda model: model.name)
def test_integrators_converge_with_their_order_for_every_joint_kind(model: lw.Model) -> None:
    q, v = lw.random_state(model, 1)
    truth = last(model, q, v, 0.2, 0.02, "adaptive", rtol=1e-12, atol=1e-13, **FREE_OF_LOSS)
    for integrator, expected, steps in (("semi_implicit_euler", 1, (200, 400)), ("runge_kutta_4", 4, (25, 50))):
        ends = [last(model, q, v, 0.2, 0.2 / n, integrator, **FREE_OF_LOSS) for n in steps]
        assert order([distance(end, truth) for end in ends]) == pytest.approx([expected], abs=0.1)


def test_energy_drifts_with_the_order_of_the_integrator() -> None:
    model = lw.mechanisms.double_pendulum()
    for integrator, expected in (("semi_implicit_euler", 1), ("runge_kutta_4", 4)):
        drifts = []
        for steps in (200, 400, 800):
            path = lw.simulate(model, [1.5, -0.4], [0.0, 1.0], 1.0, 1.0 / steps, integrator=integrator)
            energy = sum(path.energy)
            drifts.append(abs(energy - energy[0]).max())
        assert order(drifts) == pytest.approx([expected] * 2, abs=0.35)
    path = lw.simulate(model, [1.5, -0.4], [0.0, 1.0], 1.0, 0.1, integrator="adaptive", rtol=1e-12, atol=1e-13)
    close(sum(path.energy), np.full(len(path), sum(path.energy)[0]), 1e-12)


@pytest.mark.parametrize("model", floating(), ids=lambda model: model.name)
def test_momentum_of_a_free_base_stays_to_rounding_for_ten_seconds(model: lw.Model) -> None:
    q, v = lw.random_state(model, 3)
    path = lw.simulate(model, q, 0.3 * v, 10.0, 2e-3, integrator="runge_kutta_4", record=250, **FREE_OF_LOSS)
    momentum = lw.momentum(model, path.q, path.v)
    weight = model.mass * np.array(model.gravity)
    expected = momentum[0] + np.concatenate([path.t[:, None] * weight, np.zeros((len(path), 3))], axis=1)
    close(momentum[:, :3], expected[:, :3], 1e-12)
    close(momentum[:, 3:], expected[:, 3:], 1e-12, scale=abs(expected).max() * 1.0)  # linear momentum at 1 m


def test_a_pendulum_swings_as_jacobi_s_functions_say() -> None:
    model, start = lw.mechanisms.pendulum(), 2.0
    rate = np.sqrt(lw.gravity_torques(model, [np.pi / 2])[0] / lw.mass_matrix(model, [0.0])[0, 0])
    path = lw.simulate(model, [start], [0.0], 3.0, 1e-3, integrator="runge_kutta_4", record=100)
    k = np.sin(start / 2)
    sn = ellipj(ellipk(k**2) - rate * path.t, k**2)[0]
    close(path.q[:, 0], 2.0 * np.arcsin(k * sn), 1e-11)


# Other engines


MJCF = """<mujoco model="m"><option gravity="0 0 -9.81" timestep="0.002" integrator="{integrator}">
  <flag contact="disable"/></option><worldbody>
  <body pos="0 0 1"><joint axis="0 1 0" damping="0.7" armature="0.02"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/>
    <body pos=".4 0 0"><joint axis="1 0 1" damping="5"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 .1"/>
      <body pos=".3 0 .1"><joint type="slide" axis="0 0 1" damping="0.2"/><geom type="box" size=".05 .02 .04"/></body>
      <body pos=".3 0 .1"><joint axis="0 1 0"/><geom type="box" pos="0 0 .1" size=".05 .02 .1"/></body></body></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("integrator", "theirs"), [("semi_implicit_euler", "Euler"), ("runge_kutta_4", "RK4")], ids=lambda name: name
)
def test_mujoco_goes_the_same_way(integrator: str, theirs: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(MJCF.format(integrator=theirs))
    model = lw.load(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    data.qpos[:], data.qvel[:], tau = rng.normal(size=4), rng.normal(size=4), rng.normal(size=4)
    data.qfrc_applied[:] = tau
    ours = lw.simulate(model, data.qpos.copy(), data.qvel.copy(), 0.5, 0.002, tau=tau, integrator=integrator)
    for k in range(250):
        mujoco.mj_step(m, data)
        close(ours.q[k + 1], data.qpos, 1e-9)
        close(ours.v[k + 1], data.qvel, 1e-8)


def test_mujoco_s_free_bodies_and_balls_go_the_same_way_to_order_one(tmp_path: Path) -> None:
    """MuJoCo keeps the velocity of a free body in world axes, so its steps differ from ours."""
    world = MODELS["free"].replace('damping="2" frictionloss=".3"', "")
    path = write(tmp_path, world, head='<option><flag contact="disable" limit="disable"/></option>')
    model, m = lw.load(path), mujoco.MjModel.from_xml_path(str(path))
    rng = np.random.default_rng(0)
    start = mujoco.MjData(m)
    start.qvel[:] = rng.normal(size=m.nv)
    mujoco.mj_integratePos(m, start.qpos, rng.normal(size=m.nv), 0.3)
    q, v, _ = to_linkwork(m, start.qpos, start.qvel)
    truth = last(model, q, v, 0.2, 1e-3, "runge_kutta_4")
    errors = []
    for dt in (1e-3, 5e-4):
        m.opt.timestep = dt
        data = mujoco.MjData(m)
        data.qpos[:], data.qvel[:] = start.qpos, start.qvel
        for _ in range(round(0.2 / dt)):
            mujoco.mj_step(m, data)
        there, speed, _ = to_linkwork(m, data.qpos, data.qvel)
        errors.append(max(abs(lw.difference(model, truth.q[-1], there)).max(), abs(truth.v[-1] - speed).max()))
    assert errors[0] < 1e-2 and order(errors) == pytest.approx([1.0], abs=0.1)


def test_pinocchio_s_accelerations_lead_the_same_way() -> None:
    path = robot("solo12.urdf")
    model = lw.load(path, floating_base=True)
    there = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data = there.createData()
    rng = np.random.default_rng(5)
    q = lw.integrate(model, lw.neutral(model), 0.3 * rng.normal(size=model.nv))
    v, tau = 0.5 * rng.normal(size=model.nv), 0.02 * rng.normal(size=model.nv)  # it weighs 2 kg
    # The same steps: the same numbers.
    ours = lw.simulate(model, q, v, 0.1, 1e-3, tau=tau, effort_limits=False, **FREE_OF_LOSS)
    here, speed = q.copy(), v.copy()
    for _ in range(100):
        speed = speed + 1e-3 * pin.aba(there, data, here, speed, tau)
        here = pin.integrate(there, here, 1e-3 * speed)
    close(ours.q[-1], here, 1e-10)
    close(ours.v[-1], speed, 1e-9)
    # An integration of quaternions as four numbers by scipy: the same motion, to order 4.

    def rates(t: float, state: Array) -> Array:
        turn, speed = pin.Quaternion(*(state[[6, 3, 4, 5]] / np.linalg.norm(state[3:7]))), state[there.nq :]
        spin = pin.Quaternion(0.0, *speed[3:6])
        here = np.concatenate([state[:3], turn.coeffs(), state[7 : there.nq]])
        moved = np.concatenate([turn.matrix() @ speed[:3], 0.5 * (turn * spin).coeffs(), speed[6:]])
        return np.concatenate([moved, pin.aba(there, data, here, speed, tau)])

    found = solve_ivp(rates, (0.0, 0.1), np.concatenate([q, v]), method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    truth = found[: there.nq], found[there.nq :]
    errors = []
    for steps in (50, 100):
        end = last(model, q, v, 0.1, 0.1 / steps, "runge_kutta_4", tau=tau, effort_limits=False, **FREE_OF_LOSS)
        errors.append(abs(end.v[-1] - truth[1]).max() + abs(lw.difference(model, end.q[-1], truth[0])).max())
    assert order(errors) == pytest.approx([4.0], abs=0.2)


# Damping, friction, limits


def slider(**joint: float) -> lw.Model:
    builder = lw.Builder("slider")
    builder.add_body("sled", joint=lw.joints.Prismatic("x"), mass=2.0, joint_name="rail", **joint)
    return builder.build()


def test_damping_is_exponential_and_never_too_strong_for_euler() -> None:
    model = slider(damping=3.0)
    for integrator, relative in (("semi_implicit_euler", 2e-3), ("runge_kutta_4", 1e-11), ("adaptive", 1e-9)):
        path = lw.simulate(model, [0.0], [1.0], 1.0, 1e-3, integrator=integrator)
        close(path.v[-1], [np.exp(-1.5)], relative)
    path = lw.simulate(slider(damping=1e6), [0.0], [1.0], 1.0, 0.1)
    assert abs(path.v[1:]).max() < 1e-4 and abs(path.q[-1, 0] - 2e-6) < 1e-9
    stiff = lw.simulate(slider(damping=1e6), [0.0], [1.0], 1.0, 0.1, integrator="adaptive", solver="Radau")
    assert abs(stiff.q[-1, 0] - 2e-6) < 1e-9
    assert lw.simulate(slider(damping=1e6), [0.0], [1.0], 1.0, 0.1, damping=False).v[-1] == 1.0


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4", "adaptive"])
def test_friction_stops_a_sled_holds_it_and_lets_it_go(integrator: str) -> None:
    model = slider(friction=3.0)
    path = lw.simulate(model, [0.0], [1.0], 1.0, 1e-3, integrator=integrator)
    assert abs(path.q[-1, 0] - 1.0 / 3.0) < 1e-3 and path.v.min() >= -1e-15 and path.v[-1] < 1e-15
    held = lw.simulate(model, [0.5], [0.0], 1.0, 1e-2, tau=[2.9], integrator=integrator)
    assert abs(held.q - 0.5).max() < 1e-12
    slipping = lw.simulate(model, [0.0], [0.0], 1.0, 1e-2, tau=[-5.0], integrator=integrator)
    close(slipping.v[:, 0], -slipping.t, 1e-12)
    assert lw.simulate(model, [0.0], [1.0], 1.0, 1e-2, friction=False).v[-1] == 1.0


def rubbing(friction: float) -> lw.Model:
    """A chain of seven links with friction and limits."""
    builder = lw.Builder("rubbing")
    parent, rod = "world", {"mass": 1.0, "com": (0.15, 0.0, 0.0), "inertia": (1e-3, 8e-3, 8e-3)}
    for k in range(7):
        axis, place = "yzx"[k % 3], lw.placement(xyz=(0.3 * bool(k), 0.0, 0.0))
        joint = lw.joints.Revolute(axis)
        parent = builder.add_body(f"link{k}", parent, joint, place, friction=friction, lower=-0.5, upper=0.7, **rod)
    return builder.build()


# Runge and Kutta's stages see another velocity than the one that friction was found for, in the step of an impact.
@pytest.mark.parametrize(("integrator", "most"), [("semi_implicit_euler", 1e-12), ("runge_kutta_4", 1e-7)])
def test_friction_and_stops_never_add_energy_and_come_to_rest(integrator: str, most: float) -> None:
    model = rubbing(2.0)
    q = np.linspace(-0.3, 0.3, 7)
    path = lw.simulate(model, q, np.zeros(7), 3.0, 2e-3, integrator=integrator, joint_limits=True)
    energy = np.add(*path.energy)
    assert energy[0] - energy[-1] > 50.0 and np.diff(energy).max() < most * abs(energy).max()
    assert (path.q >= -0.5).all() and (path.q <= 0.7).all() and (path.q[-1] == 0.7).any()
    assert abs(path.v[-100:]).max() < 1e-10  # nothing creeps, nothing chatters


@pytest.mark.parametrize("seed", range(10))
def test_what_friction_and_stops_do_in_a_step_takes_energy(seed: int) -> None:
    model, dt, rng = rubbing(1.0), 1e-3, np.random.default_rng(seed)
    q, v, tau = (
        np.where(rng.random(7) < 0.5, 0.7, rng.uniform(-0.5, 0.7, 7)),
        3.0 * rng.normal(size=7),
        rng.normal(size=7),
    )
    free = v + dt * lw.forward_dynamics(model, q, v, tau)
    path = lw.simulate(model, q, v, dt, dt, tau=tau, joint_limits=True)
    before, after = (lw.energy(model, q, speed)[0] for speed in (free, path.v[1]))
    assert after < before
    assert (path.q[1] >= -0.5).all() and (path.q[1] <= 0.7).all()


def test_without_the_option_limits_of_position_do_not_count() -> None:
    model = rubbing(0.0)
    assert lw.simulate(model, np.zeros(7), np.zeros(7), 0.5, 1e-3).q.max() > 0.7


def test_a_stop_in_a_loop_stops_the_loop() -> None:
    model, loops, q = four_bar()
    crank = replace(model.bodies[0], limits=replace(model.bodies[0].limits, lower=(-3.0,), upper=(float(q[0]) + 0.2,)))
    held = lw.Model("held", (crank, *model.bodies[1:]), model.frames, model.gravity)
    path = lw.simulate(held, q, np.zeros(3), 0.5, 2e-3, constraints=loops, proximal=1e-6, joint_limits=True)
    free = lw.simulate(model, q, np.zeros(3), 0.5, 2e-3, constraints=loops, proximal=1e-6)
    assert free.q[:, 0].max() > q[0] + 0.3  # it would go on
    assert path.q[:, 0].max() <= q[0] + 0.2 and abs(path.v[-1]).max() < 1e-3


def test_efforts_are_cut_off_at_the_limits() -> None:
    model = slider(effort=4.0)
    path = lw.simulate(model, [0.0], [0.0], 1.0, 0.1, torque=lambda t, q, v: [100.0 * (1 - 2 * t)])
    assert path.tau.max() == 4.0 and path.tau.min() == -4.0
    assert lw.simulate(model, [0.0], [0.0], 1.0, 0.1, tau=[9.0]).tau[3] == 4.0
    assert lw.simulate(model, [0.0], [0.0], 1.0, 0.1, tau=[9.0], effort_limits=False).tau[3] == 9.0
    with pytest.warns(lw.LinkworkWarning, match="effort limit of 0 for 'rail'"):
        lw.simulate(slider(effort=0.0), [0.0], [0.0], 1.0, 0.1, tau=[9.0])


# Loops


def test_a_four_bar_linkage_stays_closed_and_keeps_its_energy() -> None:
    model, loops, q = four_bar()
    drifts = []
    for dt in (4e-3, 2e-3):
        path = lw.simulate(
            model,
            q,
            np.zeros(3),
            0.5,
            dt,
            constraints=loops,
            proximal=1e-6,
            integrator="runge_kutta_4",
            stabilisation=0.02,
        )
        gap = lw.forward_kinematics(model, path.q, ["end"])[:, 0, :3, 3] - [0.9, 0.0, 0.0]
        energy = sum(path.energy)
        assert abs(gap).max() < 1e-6
        drifts.append(abs(energy - energy[0]).max())
    assert drifts[1] < 1e-6 and order(drifts) == pytest.approx([4.0], abs=0.2)
    assert path.constraint_forces.shape == (251, 1, 6)
    a, wrenches = lw.constrained_dynamics(
        model, path.q[7], path.v[7], np.zeros(3), loops, stabilisation=0.02, proximal=1e-6
    )
    close(path.a[7], a, 1e-12)
    close(path.constraint_forces[7], wrenches, 1e-12)
