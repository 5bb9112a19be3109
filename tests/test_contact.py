"""Contact: against MuJoCo, laws of mechanics, and the errors for bad input."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.contact.boxes import Solid, box_touches
from linkwork.dynamics.held import held_by
from linkwork.engine.plans.costs import costs
from linkwork.simulation import off_constraints
from linkwork.spatial import Mat3, Transform, Vec3
from strategies import Array

OPTIONS = (
    '<option cone="elliptic" solver="Newton" timestep="0.004" tolerance="0" iterations="200" ls_iterations="200" '
    'impratio="2"/>'
)
SCENES = {
    "legs": """
      <default><geom conaffinity="0"/></default>
      <worldbody><geom type="plane" size="9 9 1" friction="0.8" conaffinity="1"/>
      <body name="trunk" pos="0 0 0.3"><freejoint/><geom type="box" size=".2 .1 .05" condim="1"/>
        <body name="left" pos="0.1 0.1 0"><joint name="hip" axis="0 1 0" range="-30 60" damping="0.2" armature="0.01"/>
          <geom type="capsule" fromto="0 0 0 0 0 -.2" size="0.04" friction="0.5" solimp="0.8 0.99 0.002 0.3 3"/>
          <body pos="0 0 -.2">
            <joint name="knee" axis="0 1 0" range="-90 5" frictionloss="0.4" stiffness="3" margin=".1"/>
            <geom name="foot" size="0.05" pos="0 0 -.15" solref="0.01 0.7"/></body></body>
        <body name="right" pos="0.1 -0.1 0"><joint type="ball" damping="0.1"/>
          <geom type="ellipsoid" size="0.05 0.06 0.2" pos="0 0 -.15" margin="0.01"/></body></body></worldbody>""",
    "planes": """
      <default><geom conaffinity="0"/></default>
      <worldbody><geom type="plane" size="9 9 1" euler="10 5 0" friction="0.3" conaffinity="1"/>
      <geom type="plane" size="9 9 1" pos="0.3 0 0" zaxis="-1 0 0.1" condim="1" conaffinity="1"/>
      <body pos="0 0 0.3"><freejoint/>
        <geom type="box" size=".1 .2 .15" friction="0.6 0.03" condim="4" solref="-800 -30"/></body>
      <body pos="-.5 0 0.3"><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
        <geom type="capsule" size=".1 .2" condim="6" friction="0.7 0.02 0.03"/>
        <body pos="0 1 0"><joint type="ball"/><geom type="cylinder" size=".1 .2"/></body></body></worldbody>""",
    "bonds": """
      <default><geom conaffinity="0"/></default>
      <worldbody><geom type="plane" size="9 9 1" conaffinity="1"/>
      <body name="one" pos="0 0 0.2"><freejoint/><geom size="0.1"/>
        <body name="arm" pos="0.1 0 0"><joint name="p" axis="0 1 0"/><geom type="capsule" size="0.03 0.1"/></body>
        <body name="leg" pos="0 0.1 0"><joint name="r" axis="1 0 0"/><geom type="capsule" size="0.03 0.1"/></body>
      </body><body name="two" pos="0.3 0 0.2"><freejoint/><geom size="0.1"/></body></worldbody>
      <equality><connect body1="one" body2="two" anchor="0.15 0 0" solref="0.03 0.8"/>
        <joint joint1="p" joint2="r" polycoef="0.1 -0.5 0 0 0" solimp="0.7 0.9 0.05"/></equality>""",
    "welds": """
      <default><geom conaffinity="0"/></default>
      <worldbody><geom type="plane" size="9 9 1" conaffinity="1"/><site name="hook" pos="0 .2 .3" euler="20 0 10"/>
      <body name="one" pos="0 0 0.2"><freejoint/><geom size="0.1"/>
        <body name="arm" pos="0.1 0 0"><joint name="p" axis="0 1 0"/><geom type="capsule" size="0.03 0.1"/>
          <site name="eye" pos=".1 .1 0"/></body></body>
      <body name="two" pos="0.3 0 0.2"><freejoint/><geom size="0.1"/></body></worldbody>
      <equality><weld body1="arm" body2="two" anchor="0.15 0.1 0" relpose=".2 .1 0 1 .3 .2 .1" solref="0.03 0.8"/>
        <weld body1="one" anchor=".1 0 .3" solimp="0.7 0.9 0.05"/>
        <weld site1="hook" site2="eye" solref="0.05 1"/></equality>""",
    "rotors": """
      <default><geom conaffinity="0"/></default>
      <worldbody><geom type="plane" size="9 9 1" conaffinity="1"/>
      <body name="one" pos="0 0 0.1"><joint type="free" armature="0.7"/><geom size="0.1" mass="1"/>
        <body name="arm" pos="0.1 0 0"><joint axis="0 1 0" armature="0.1"/><geom type="capsule" size="0.03 0.1"/></body>
      </body></worldbody>""",
    "swimmer": """
      <option density="900" viscosity="0.5" wind="0.2 -0.1 0.3"/><default><geom conaffinity="0"/></default>
      <worldbody><geom type="plane" size="9 9 1" conaffinity="1"/>
      <body pos="0 0 0.2"><freejoint/><geom type="capsule" size="0.1 0.3" euler="0 80 0"/>
        <body pos="0.3 0 0"><joint axis="0 1 0" stiffness="2" damping="0.1"/>
          <geom type="box" size="0.2 0.1 0.02" pos="0.2 0 0"/><body name="fin" pos="0.4 0 0"><geom size="0.1"/></body>
        </body></body></worldbody>""",
    "level": """
      <default><geom conaffinity="0"/></default>
      <worldbody><geom type="plane" size="9 9 1" conaffinity="1"/><geom size="0.1" pos="0 0 0.15" conaffinity="1"/>
      <body pos="0 0 0.09"><joint axis="0 0 1"/><geom size="0.1" pos="0.5 0 0" friction="0.5"/><geom size="0.05"/>
        <body pos="0.5 0 0"><joint axis="0 0 1"/><geom type="capsule" size="0.1 0.2" pos="0.3 0 0" euler="0 90 0"/>
          <geom size="0.05" pos="0.3 0 1"/></body></body></worldbody>""",
    "pairs": """
      <worldbody><geom name="post" type="capsule" size="0.1 0.5" contype="2" conaffinity="2" friction="0.2"/>
      <geom type="box" size="0.1 0.2 0.1" pos="0.1 0.1 0.3" euler="10 20 30" contype="4" conaffinity="2"/>
      <body name="one" pos="0.15 0 0"><freejoint/><geom name="a" size="0.1" contype="2" condim="3" priority="1"/></body>
      <body name="two" pos="0.1 0.15 0"><freejoint/>
        <geom name="b" type="capsule" size="0.08 0.2" euler="70 10 0" conaffinity="2" solmix="3"/>
        <body name="three" pos="0 0 0.2"><joint axis="1 0 0"/>
          <geom name="c" size="0.09" contype="2" conaffinity="2" condim="4"/></body></body></worldbody>
      <contact><pair geom1="a" geom2="c" condim="1" margin="0.02"/><exclude body1="one" body2="two"/></contact>""",
}


def scene(name: str, tmp_path: Path, options: str = OPTIONS) -> tuple[mujoco.MjModel, lw.Model]:
    path = tmp_path / f"{name.replace(' ', '_')}.xml"
    path.write_text(f'<mujoco model="{name}">{options}{SCENES.get(name, "")}</mujoco>')
    return mujoco.MjModel.from_xml_path(str(path)), lw.load(path, fixed_joints="keep")


def turned(m: Any, d: Any, joint: int) -> Array:
    matrix = np.zeros(9)
    start = m.jnt_qposadr[joint] + (3 if m.jnt_type[joint] == 0 else 0)
    mujoco.mju_quat2Mat(matrix, d.qpos[start : start + 4])
    return matrix.reshape(3, 3)


def ours(m: Any, d: Any) -> tuple[Array, Array]:
    """A MuJoCo state as linkwork's q and v."""
    q, v = d.qpos.copy(), d.qvel.copy()
    for j in range(m.njnt):
        i, k = m.jnt_qposadr[j], m.jnt_dofadr[j]
        if m.jnt_type[j] == 0:
            v[k : k + 3] = turned(m, d, j).T @ v[k : k + 3]
        if m.jnt_type[j] < 2:
            i += 3 if m.jnt_type[j] == 0 else 0
            q[i : i + 4] = d.qpos[[i + 1, i + 2, i + 3, i]]
    return q, v


def theirs(m: Any, d: Any, a: Array, v: Array) -> Array:
    """Accelerations in MuJoCo's axes."""
    a = a.copy()
    for j in range(m.njnt):
        k = m.jnt_dofadr[j]
        if m.jnt_type[j] == 0:
            a[k : k + 3] = turned(m, d, j) @ (a[k : k + 3] + np.cross(v[k + 3 : k + 6], v[k : k + 3]))
    return a


@pytest.mark.parametrize("name", SCENES)
def test_accelerations_and_forces_are_mujoco_s(name: str, tmp_path: Path) -> None:
    m, model = scene(name, tmp_path)
    d, rng = mujoco.MjData(m), np.random.default_rng(5)
    states, answers, upward, touching = [], [], [], 0
    for _ in range(25):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv) * (0.1 if name == "pairs" else 0.25), 1.0)
        d.qvel[:] = rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        q, v = ours(m, d)
        states.append((q, v, d.qfrc_spring + d.qfrc_damper, d.qpos.copy()))
        answers.append(d.qacc.copy())
        touching += d.ncon
        force, total = np.zeros(6), np.zeros(3)
        for k, contact in enumerate(d.contact):
            mujoco.mj_contactForce(m, d, k, force)
            total += contact.frame.reshape(3, 3).T @ force[:3]
        upward.append(total)
    assert touching > 20
    Q, V, passive = (np.array([state[k] for state in states]) for k in range(3))
    with lw.interpreted():
        a, forces = lw.contact_dynamics(model, Q, V, passive, model.contacts, dt=0.004, constraints=model.constraints)
    for k, answer in enumerate(answers):
        d.qpos[:] = states[k][3]
        assert abs(theirs(m, d, a[k], V[k]) - answer).max() < 1e-9 * abs(answer).max()
        if name == "planes":  # the world is on one side of every contact
            assert np.allclose(forces[k].sum(axis=0), upward[k], rtol=1e-8, atol=1e-8 * abs(forces[k]).max())


GYMNASIUM = ("half_cheetah", "hopper", "walker2d", "ant", "humanoid", "swimmer")


@pytest.mark.filterwarnings("ignore:.*(tendon|settotalmass):linkwork.LinkworkWarning")  # tendons without springs
@pytest.mark.parametrize("name", GYMNASIUM)
def test_robots_of_gymnasium_move_as_in_mujoco(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With contacts, limits and motors; the folder of these robots is found without importing the package."""
    package = find_spec("gymnasium")
    assert package is not None and package.origin is not None, "gymnasium is one of the tests' requirements"
    path = Path(package.origin).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    monkeypatch.chdir(tmp_path)  # where MuJoCo writes a log of its warnings
    m, model = mujoco.MjModel.from_xml_path(str(path)), lw.load(path)
    m.opt.cone, m.opt.integrator, m.opt.solver = 1, 0, 2  # elliptic, Euler, Newton
    m.opt.tolerance, m.opt.iterations, m.opt.ls_iterations = 0.0, 200, 200
    d, rng, held = mujoco.MjData(m), np.random.default_rng(5), 0
    found = []
    for _ in range(4):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv) * (1.5 if name == "swimmer" else 0.25), 1.0)
        d.qvel[:], d.ctrl[:] = rng.normal(size=m.nv), rng.uniform(-1.0, 1.0, m.nu)
        mujoco.mj_forward(m, d)
        found.append((*ours(m, d), d.qfrc_spring + d.qfrc_damper + d.qfrc_actuator, d.qpos.copy(), d.qacc.copy()))
        held += d.nefc
    q, v, tau, there, answers = (np.array(each) for each in zip(*found, strict=True))
    with lw.interpreted():
        a, _ = lw.contact_dynamics(model, q, v, tau, model.contacts, dt=m.opt.timestep)
    for k, answer in enumerate(answers):
        d.qpos[:] = there[k]
        assert abs(theirs(m, d, a[k], v[k]) - answer).max() < 1e-9 * abs(answer).max()
    assert held > 0


@pytest.mark.usefixtures("worth_threads")
def test_a_rollout_goes_as_mujoco_goes_to_the_bit_in_any_company(tmp_path: Path) -> None:
    m, model = scene("legs", tmp_path)
    d, rng, steps = mujoco.MjData(m), np.random.default_rng(0), 250
    speeds = rng.normal(size=(6, m.nv)) * np.linspace(0.0, 0.8, 6)[:, None]

    def begin(k: int) -> tuple[Array, Array]:
        mujoco.mj_resetData(m, d)
        d.qpos[2], d.qvel[:] = 0.45, speeds[k]
        return ours(m, d)

    starts = [begin(k) for k in range(6)]
    Q, V = (np.array([start[k] for start in starts]) for k in range(2))
    many = lw.rollout(model, Q, V, dt=0.004, steps=steps, contacts=model.contacts)
    for k in (0, 3):
        begin(k)
        worst = 0.0
        for step in range(1, steps + 1):
            mujoco.mj_step(m, d)
            worst = max(worst, float(abs(ours(m, d)[0] - many.q[k, step]).max()))
        assert worst < 1e-9 and d.ncon > 0
    alone = lw.rollout(model, Q[3], V[3], dt=0.004, steps=steps, contacts=model.contacts)
    assert np.array_equal(alone.q, many.q[3]) and np.array_equal(alone.v, many.v[3])
    lw.set_threads(2)
    try:
        spread = lw.rollout(model, np.tile(Q, (3, 1)), np.tile(V, (3, 1)), dt=0.004, steps=60, contacts=model.contacts)
    finally:
        lw.set_threads(None)
    assert np.array_equal(spread.q, np.tile(many.q[:, :61], (3, 1, 1)))
    few = lw.rollout(model, Q[::-1][1:4], V[::-1][1:4], dt=0.004, steps=steps, contacts=model.contacts)
    assert np.array_equal(few.q, many.q[::-1][1:4])
    with lw.interpreted():
        plain = lw.rollout(model, Q[2:4], V[2:4], dt=0.004, steps=8, contacts=model.contacts)
        motion = lw.simulate(model, Q[3], V[3], 0.032, 0.004, contacts=model.contacts, contact_forces=True)
    assert np.array_equal(plain.q, many.q[2:4, :9])
    assert np.allclose(motion.q, many.q[3, :9], atol=1e-12)
    assert motion.constraint_forces.shape == (9, sum(one.points for one in model.contacts), 6)
    assert many.trajectory(3).a.shape == (steps + 1, model.nv)


SAME_BOXES = int(mujoco.__version__.partition(".")[0]) >= 4  # MuJoCo 3 has other points of boxes


@pytest.mark.skipif(not SAME_BOXES, reason="MuJoCo 3 has other points of boxes")
def test_points_of_two_boxes_are_mujoco_s_and_each_other_s() -> None:
    rng, counts = np.random.default_rng(3), set()
    for trial in range(4):
        size, other = rng.uniform(0.05, 0.4, (2, 3))
        other, margin = size if trial == 1 else other, 0.02 * (trial % 2)
        geoms = [f'<geom type="box" size="{x[0]} {x[1]} {x[2]}" margin="{margin / 2}"/>' for x in (size, other)]
        bodies = "".join(f"<body><freejoint/>{geom}</body>" for geom in geoms)
        m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
        d = mujoco.MjData(m)
        for k in range(60):
            mujoco.mj_resetData(m, d)
            moves = rng.normal(size=12) * np.tile([0.2, 0.2, 0.2, 1.0, 1.0, 1.0], 2)
            moves[3:6] *= k % 3 == 0  # also boxes that are nearly level, or turned about z alone
            moves[9:] *= (1.0, 1e-3, np.array([0.0, 0.0, 1.0]))[k % 3]
            mujoco.mj_integratePos(m, d.qpos, moves, 1.0)
            mujoco.mj_forward(m, d)
            first, second = (
                Solid(Transform(Mat3(*d.geom_xmat[g].tolist()), Vec3(*d.geom_xpos[g].tolist())), Vec3(*half.tolist()))
                for g, half in enumerate((size, other))
            )
            found, swapped = (
                np.array(
                    [
                        [sign * x for x in t.normal] + [*t.point, t.distance]
                        for f, t in each
                        if f * (t.distance < margin)
                    ]
                )
                for sign, each in ((1, box_touches(second, first, margin)), (-1, box_touches(first, second, margin)))
            )
            there = np.array([[*c.frame[:3], *c.pos, c.dist] for c in d.contact if c.dist < margin])
            counts.add(len(there))
            for one in (found, swapped):
                assert len(one) == len(there)
                if len(there):
                    apart = abs(one[:, None] - there[None]).max(axis=-1)
                    assert apart.min(axis=0).max() < 1e-9 and apart.min(axis=1).max() < 1e-9
    assert counts >= {0, 1, 2, 3, 4, 5, 6}


STACK = """
  <worldbody><geom type="plane" size="9 9 1"/>
  <body name="lowest" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
  <body pos="0.02 -0.01 0.3005" euler="0 0 20"><freejoint/><geom type="box" size="0.1 0.1 0.1" condim="1"/></body>
  <body name="highest" pos="-0.01 0.02 0.501"><freejoint/><geom type="box" size="0.12 0.1 0.1"/></body></worldbody>
  <contact><exclude body1="lowest" body2="highest"/></contact>"""


def test_a_stack_of_boxes_stands_and_falls_as_mujoco_s(tmp_path: Path) -> None:
    m, model = scene("stack", tmp_path, OPTIONS + STACK)
    d, rng, steps = mujoco.MjData(m), np.random.default_rng(7), 2500
    pushes = rng.normal(size=(6, 2, m.nv)) * np.linspace(0.0, 1.0, 6)[:, None, None]

    def begin(k: int) -> tuple[Array, Array]:
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, 0.1 * pushes[k, 0], 1.0)
        d.qpos[2::7] += 0.05 * k * np.arange(1, 4)
        d.qvel[:] = pushes[k, 1]
        return ours(m, d)

    starts = [begin(k) for k in range(6)]
    Q, V = (np.array([start[k] for start in starts]) for k in range(2))
    contacts = model.contacts
    assert [one.points for one in contacts] == [4, 4, 4, 12, 12]
    run = lw.rollout(model, Q, V, dt=0.004, steps=steps, contacts=contacts)
    for k, most in ((0, steps), (1, 100), (3, 100), (5, 100)) if SAME_BOXES else ():
        begin(k)
        for _ in range(most):
            mujoco.mj_step(m, d)
        assert abs(ours(m, d)[0] - run.q[k, most]).max() < 1e-9 and d.ncon > 0
    # nothing overlaps in the beginning, and no impact adds energy
    total = np.add(*lw.energy(model, run.q, run.v))
    assert (total <= total[:, :1] + 1e-9).all() and (total[1:, -1] < 0.9 * total[1:, 0]).all()
    # ten seconds later it stands where it stood, but for some creeping, and the floor bears it
    assert abs(run.q[0, -1] - Q[0]).max() < 2e-3 and abs(run.v[0, -1]).max() < 1e-4
    with lw.interpreted():
        plain = lw.rollout(model, Q[3], V[3], dt=0.004, steps=2, contacts=contacts)
        points, distances = lw.contact_points(model, run.q[0, -1], contacts)
    assert np.array_equal(plain.q, run.q[3, :3])
    # of the twelve places of two boxes eight count here; the others are said to be far away
    touching, far = distances[12:24] < 0.0, distances[12:24] > 0.3
    assert touching.sum() == 8 and far.sum() == 4 and np.allclose(points[12:24, 2][touching], 0.2, atol=1e-3)


# Laws


def thing(*shapes: Any, mass: float = 2.0, gravity: Any = (0, 0, -9.81)) -> lw.Model:
    builder = lw.Builder("thing", gravity=gravity)
    builder.add_body("body", joint=lw.joints.Free(), mass=mass, inertia=(0.02, 0.03, 0.04), com=(0.01, 0.02, 0.0))
    for k, place in enumerate(shapes):
        builder.add_frame(f"foot{k}", "body", lw.placement(place))
    return builder.build()


FEET = ((0.2, 0.1, -0.1), (-0.2, 0.1, -0.1), (-0.2, -0.1, -0.1), (0.2, -0.1, -0.1), (0.0, 0.0, -0.1))


DAMPING, STIFFNESS = 2.0 / (0.95 * 0.02), 1.0 / (0.95 * 0.02) ** 2  # b and k of the softness that is used by default


def yielding(distance: Array, inverse_mass: float) -> tuple[Array, Array]:
    """d(r) and R of that softness."""
    x = np.minimum(abs(distance) / 0.001, 1.0)
    d = 0.9 + 0.05 * np.where(x < 0.5, 2.0 * x**2, 1.0 - 2.0 * (1.0 - x) ** 2)
    return d, (1.0 - d) / d * inverse_mass


def test_forces_lie_in_their_cones_and_do_not_depend_on_names_or_axes() -> None:
    model = thing(*FEET)
    contacts = [lw.Contact(f"foot{k}", lw.Sphere(0.02), friction=0.2 + 0.2 * k) for k in range(4)]
    rng = np.random.default_rng(2)
    q, v = np.tile(lw.neutral(model), (12, 1)), rng.normal(size=(12, 6))
    q[:, 2] = 0.118 + 0.01 * rng.normal(size=12)
    v *= np.linspace(0.0, 1.0, 12)[:, None]
    tau = rng.normal(size=(12, 6))
    with lw.interpreted():
        a, forces = lw.contact_dynamics(model, q, v, tau, contacts)
        again, backward = lw.contact_dynamics(model, q, v, tau, contacts[::-1])
        points, distances = lw.contact_points(model, q, contacts)
        # the same turned about z by an angle, in which the tangents turn as well
        angle = 0.7
        turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
        there = q.copy()
        there[:, :3] = q[:, :3] @ turn.T
        there[:, 3:] = [0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2)]
        same, turned_forces = lw.contact_dynamics(model, there, v, tau, contacts)
    normal, tangential = forces[..., 2], np.linalg.norm(forces[..., :2], axis=-1)
    mu = 0.2 + 0.2 * np.arange(4)
    assert (normal >= 0.0).all() and (tangential <= mu * normal * (1 + 1e-9) + 1e-12).all()
    assert (normal[distances >= 0.0] == 0.0).all() and (normal[distances < 0.0] > 0.0).any()
    sticks = (tangential < 0.9 * mu * normal) & (normal > 0.0)
    slides = (tangential > 0.999 * mu * normal) & (normal > 0.0)
    assert sticks.any() and slides.any()
    # Complementarity within the softness: y = J a - a_ref + R f lies in the dual of the cone, and across f.
    arms = points - q[:, None, :3]
    rate = a + np.hstack([np.cross(v[:, 3:], v[:, :3]), np.zeros((12, 3))])
    d, R = yielding(distances, 0.5)
    y = R[..., None] * forces
    for twist, times in ((rate, 1.0), (v, DAMPING)):
        y += times * (twist[:, None, :3] + np.cross(twist[:, None, 3:], arms))
    y[..., 2] += STIFFNESS * d * distances
    touch, size = distances < 0.0, np.linalg.norm(y, axis=-1)
    assert (y[..., 2] - mu * np.linalg.norm(y[..., :2], axis=-1) > -1e-9 * size - 1e-9)[touch].all()
    assert (abs((forces * y).sum(axis=-1)) <= 1e-9 * size * normal + 1e-9)[touch].all()
    assert (size[sticks] < 1e-7).all() and (size[slides] > 0.1).any()
    scale = abs(a).max(axis=-1, keepdims=True)
    assert (abs(again - a) < 1e-9 * scale).all() and (abs(same - a) < 1e-9 * scale).all()
    assert np.allclose(backward[:, ::-1], forces, rtol=1e-7, atol=1e-7 * abs(forces).max())
    assert np.allclose(turned_forces, forces @ turn.T, rtol=1e-7, atol=1e-7 * abs(forces).max())


def test_a_box_on_a_slope_stops_at_the_angle_of_the_cone() -> None:
    builder = lw.Builder("box")
    builder.add_body("box", joint=lw.joints.Free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    box, mu, g = builder.build(), 0.5, 9.81
    contact = lw.Contact("box", lw.Box((0.1, 0.1, 0.05)), friction=mu)
    slopes = np.array([0.0, 0.5, 0.9, 1.02, 1.1, 1.3]) * math.atan(mu)
    q = lw.neutral(box)
    q[2] = 0.0498
    # in the axes of the slope it is gravity that leans
    leans = np.zeros((6, 1, 1, 6))
    leans[:, 0, 0, 0], leans[:, 0, 0, 2] = g * np.sin(slopes), g * (1.0 - np.cos(slopes))
    begin = [0.3, 0.0, 0.0, 0.0, 0.0, 0.0]
    run = lw.rollout(box, q, begin, dt=0.004, steps=250, f_ext=leans, contacts=[contact])
    speeds, gain = run.v[:, -1, 0], g * (np.sin(slopes) - mu * np.cos(slopes))
    assert np.allclose(run.q[:3, -1, 0], -(0.3**2) / (2.0 * gain[:3]), rtol=0.05, atol=0.002)  # where it stops
    assert np.allclose(speeds[3:], 0.3 + gain[3:], rtol=0.05, atol=0.03) and (abs(run.q[:, -1, 3:6]) < 0.02).all()
    # where all points stick they do no work but for creeping, as softness says: R f_t = b v_t
    with lw.interpreted():
        _, distances = lw.contact_points(box, run.q[:2, -1], [contact])
    _, R = yielding(distances, 1.0)
    creep = g * np.sin(slopes[:2]) / (DAMPING * (1.0 / R).sum(axis=-1))
    assert np.allclose(speeds[:2], creep, rtol=1e-3, atol=1e-9) and (creep < 0.001).all()


def test_a_ball_rolls_and_no_impact_adds_energy() -> None:
    builder = lw.Builder("ball")
    builder.add_body("ball", joint=lw.joints.Free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    ball = builder.build()
    q = np.tile(lw.neutral(ball), (4, 1))
    q[:, 2] = [0.1, 0.2, 0.3, 0.5]
    contacts = [lw.Contact("ball", lw.Sphere(0.1), friction=0.4)]
    run = lw.rollout(ball, q, [1.0, 0, 0, 0, 0, 0], dt=0.004, steps=600, contacts=contacts)
    kinetic, potential = lw.energy(ball, run.q, run.v)
    total = kinetic + potential
    assert (total <= total[:, :1] + 1e-9).all() and (total[1:, -1] < 0.8 * total[1:, 0]).all()
    with lw.interpreted():
        turns = lw.forward_kinematics(ball, run.q[:, -1], ["ball"])[:, 0, :3, :3]
    speed, spin = ((turns @ part[..., None])[..., 0] for part in (run.v[:, -1, :3], run.v[:, -1, 3:]))
    assert np.allclose(speed[:, 0], 0.1 * spin[:, 1], atol=5e-3)
    assert np.allclose(speed[:, 0], 1.0 / 1.4, atol=0.02)  # 5/7 of what it slid with
    # it resists spinning by a moment, which is part of the wrench about the world's origin
    there, rough = lw.neutral(ball), [lw.Contact("ball", lw.Sphere(0.1), dimensions=4, torsional_friction=0.01)]
    there[2] = 0.0999
    with lw.interpreted():
        spun = lw.simulate(ball, there, [0, 0, 0, 0, 0, 5.0], 0.004, 0.004, contacts=rough, contact_forces=True)
    wrench = spun.constraint_forces[0, 0]
    assert wrench[2] > 0.0 and np.allclose(wrench / wrench[2], [0, 0, 1, 0, 0, -0.01], atol=1e-12)
    # and rolling: force and moment lie on one cone
    rough = [lw.Contact("ball", lw.Sphere(0.1), friction=0.7, dimensions=6, rolling_friction=0.02)]
    with lw.interpreted():
        rolled = lw.simulate(ball, there, [0.5, 0, 0, 0, 5.0, 0], 0.004, 0.004, contacts=rough, contact_forces=True)
    force, moment = np.split(rolled.constraint_forces[0, 0], 2)
    braked = moment[1] + 0.5 * 0.0001 * force[0]  # about the point, which is half-way down
    assert braked < 0.0 and math.isclose(math.hypot(force[0] / 0.7, braked / 0.02), force[2], rel_tol=1e-9)
    # Down a slope: where it touches nothing moves, so that friction does no work; f (1/m + r²/I + R) = g sin θ.
    slope = 0.3
    leaning = [lw.Contact("ball", lw.Sphere(0.1), lw.Plane((math.sin(slope), 0.0, math.cos(slope))), friction=0.4)]
    down = np.array([math.cos(slope), 0.0, -math.sin(slope)])
    there[:3] = 0.0999 * np.array([math.sin(slope), 0.0, math.cos(slope)])
    with lw.interpreted():
        point, distance = lw.contact_points(ball, there, leaning)
        spin = 2.0 / (0.1 + 0.5 * distance[0])  # rolls at 2 m/s
        a, forces = lw.contact_dynamics(ball, there, [*(2.0 * down), 0.0, spin, 0.0], np.zeros(6), leaning)
    arm = 0.1 + 0.5 * distance[0]
    held = 9.81 * math.sin(slope) / (1.0 + arm**2 / 0.004 + yielding(distance, 1.0)[1][0])
    assert math.isclose(-forces[0] @ down, held, rel_tol=1e-9)
    assert abs(forces[0] @ (2.0 * down + np.cross([0.0, spin, 0.0], point[0] - there[:3]))) < 1e-12
    turning = np.cross([0.0, spin, 0.0], 2.0 * down)
    assert math.isclose((a[:3] + turning) @ down, 9.81 * math.sin(slope) - held, rel_tol=1e-9)


def test_what_a_height_field_bears() -> None:
    ball = thing((0.0, 0.0, 0.0))
    x, y = np.meshgrid(np.linspace(-2, 2, 5), np.linspace(-1, 1, 4))
    field = lw.HeightField(0.1 * x - 0.2 * y, (2.0, 1.0))
    normal = np.array([-0.1, 0.2, 1.0]) / np.linalg.norm([-0.1, 0.2, 1.0])
    plane = lw.Plane(tuple(normal))
    q, v = np.tile(lw.neutral(ball), (20, 1)), np.random.default_rng(0).normal(size=(20, 6))
    q[:, :2] = np.random.default_rng(1).uniform(-0.9, 0.9, (20, 2))
    q[:, 2] = 0.1 * q[:, 0] - 0.2 * q[:, 1] + 0.09
    with lw.interpreted():
        found = [
            lw.contact_dynamics(ball, q, v, 0 * v, [lw.Contact("foot0", lw.Sphere(0.1), ground, friction=0.7)])
            for ground in (field, plane)
        ]
    assert np.allclose(found[0][0], found[1][0], rtol=1e-9) and np.allclose(found[0][1], found[1][1], rtol=1e-9)
    q[:, :2] = 50.0  # beyond its edge
    bumps = lw.HeightField([[0.0, 1.0], [0.5, 0.25]], (1.0, 1.0))
    with lw.interpreted():
        points, distances = lw.contact_points(ball, q[0], [lw.Contact("foot0", against=bumps)])
    assert distances[0] == q[0, 2] - 0.25 and points.shape == (1, 3)


# What is said


def test_a_tolerance_ends_the_search_sooner() -> None:
    box, rng = lw.mechanisms.free_box(), np.random.default_rng(3)
    each = (lw.Contact("box", lw.Box((0.15, 0.1, 0.05)), friction=0.6),)
    q = np.array([0.0, 0.0, 0.045, 0.0, 0.0, 0.0, 1.0]) + np.zeros((6, 1))
    v = rng.normal(size=(6, 6))

    def accelerations(tolerance: float) -> Array:
        with lw.interpreted():
            found: Array = lw.contact_dynamics(box, q, v, np.zeros(6), lw.Contacts(each, tolerance=tolerance))[0]
        return found

    exact = accelerations(0.0)
    errors = [abs(accelerations(tolerance) - exact).max() / abs(exact).max() for tolerance in (1e-1, 1e-8, 1e-30)]
    assert errors[0] > 1e-6 > errors[1] and errors[2] == 0.0  # of the last step, which is made, the square is left


@pytest.mark.parametrize("matrix", [True, False])
def test_equal_contacts_share_the_load(matrix: bool) -> None:
    builder = lw.Builder(f"{matrix}")
    for k, place in enumerate(((0.0, 0.0, 0.09), (0.05, 0.0, 0.25))):
        builder.add_body(f"ball{k}", "world", lw.joints.Free(), lw.placement(place), mass=2.0, inertia=(0.01,) * 3)
    model, ball = builder.build(), lw.Sphere(0.1)
    q, v = lw.neutral(model), np.zeros(12)
    apart = [lw.Contact("ball0", ball, friction=0.3), lw.Contact("ball1", ball, ball, on="ball0", dimensions=1)]
    with lw.interpreted(), costs(dense_contacts=10**9 if matrix else 0):
        a, forces = lw.contact_dynamics(model, q, v, 0.0 * v, [apart[0]] * 3 + [apart[1]] * 2)
    np.testing.assert_allclose(forces[:3], forces[:1].repeat(3, axis=0), rtol=1e-12)
    np.testing.assert_allclose(forces[3:], forces[3:4].repeat(2, axis=0), rtol=1e-12)
    together = forces[:3].sum(axis=0) - forces[3:].sum(axis=0)
    np.testing.assert_allclose(2.0 * a[:3], together - [0.0, 0.0, 2.0 * 9.81], atol=1e-10)


@pytest.mark.parametrize("bodies", [2, 60])
def test_a_contact_that_no_joint_opens_or_closes_is_refused_by_name(bodies: int) -> None:
    builder, parent = lw.Builder(), "world"
    for k in range(bodies):
        solid: dict[str, Any] = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
        builder.add_body(f"b{k}", parent, lw.joints.Revolute("y"), lw.placement((0.2, 0.0, 0.0)), **solid)
        parent = f"b{k}"
    builder.add_body("tool", "b1", lw.joints.Fixed(), lw.placement((0.1, 0.0, 0.0)), **solid)
    model, touch = builder.build(), lw.Contact("tool", lw.Sphere(0.3), lw.Sphere(0.3), on="b1")
    q, v = lw.neutral(model), np.zeros(model.nv)
    for call in (
        lambda: lw.contact_dynamics(model, q, v, v, [touch]),
        lambda: lw.linearise(model, q, v, dt=0.01, contacts=[touch]),
        lambda: lw.simulate(model, q, v, 0.1, 0.01, contacts=[touch]),
    ):
        with pytest.raises(lw.ArgumentError, match="'tool' is with 'b1', and no joint moves them apart"):
            call()


def test_bad_contacts_are_refused_by_name() -> None:
    with pytest.raises(lw.ArgumentError, match="tolerance of contacts must be a number of 0 or more, not -1"):
        lw.Contacts(tolerance=-1)
    model = thing(*FEET)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: lw.Sphere(0.0), "radius of a sphere"),
        (lambda: lw.Capsule(0.1, -1.0), "half_length of a capsule"),
        (lambda: lw.Cylinder(0.1, 0.0), "half_length of a cylinder"),
        (lambda: lw.Box((0.1, 0.0, 0.1)), "half_sides of a box"),
        (lambda: lw.Ellipsoid((0.1, 0.1)), "the half_axes of an ellipsoid must be 3"),
        (lambda: lw.Ellipsoid(0.1), r"three lengths \(m\), along x, y and z, not one: 0.1"),  # type: ignore[arg-type]
        (lambda: lw.Plane((0.0, 0.0, 0.0)), "normal of a plane"),
        (lambda: lw.HeightField([1.0, 2.0], (1, 1)), "at least 2 by 2"),
        (lambda: lw.Softness(0.02, -1.0), "both be positive"),
        (lambda: lw.Medium(-1.0), "density of a medium"),
        (lambda: lw.Medium(1.0, wind=(1.0, 2.0)), "wind"),
        (lambda: lw.Medium(1.0, boxes=(("foot0", lw.placement(), (1.0, 0.0, 1.0)),)), "sides of the box of 'foot0'"),
        (lambda: lw.Medium(1.0, boxes=(("foot0", 1.0, (1.0, 1.0, 1.0)),)), "placement of the box of 'foot0'"),
        (lambda: lw.Medium(1.0, boxes=((3, lw.placement(), (1.0, 1.0, 1.0)),)), "must be a name"),
        (lambda: lw.Medium(1.0, boxes=(3,)), "tuples of a frame"),
        (lambda: lw.Medium(1.0, boxes=3), "boxes of a medium"),
        (lambda: lw.Contacts(medium=3), "medium of contacts"),
        (lambda: lw.Contact("foot0", friction=-0.1), "friction of the contact of 'foot0'"),
        (lambda: lw.Contact("foot0", on="foot0"), "with itself"),
        (lambda: lw.Contact("foot0", "ball"), "shape of the contact of 'foot0'"),
        (lambda: lw.Contact("foot0", lw.Box((1, 1, 1)), lw.Capsule(1.0, 1.0)), "a box and a capsule may not"),
        (lambda: lw.Contact("foot0", lw.Box((1, 1, 1)), lw.HeightField(np.eye(2), (1, 1))), "height field"),
        (lambda: lw.Contact("foot0", dimensions=5), r"dimensions of .*\(and against rolling\), not 5"),
        (
            lambda: lw.Contact("foot0", dimensions=4, torsional_friction=0),
            "torsional_friction of the contact of 'foot0'",
        ),
        (lambda: lw.Contact("foot0", placement=3), "placement of"),
        (lambda: lw.Contact("foot0", placement=lw.spatial.Transform("a", "b")), "placement of"),
        (lambda: lw.contact_points(model, lw.neutral(model), [lw.Contact("hand")]), "hand"),
        (lambda: lw.contact_points(model, lw.neutral(model), [lw.Contact("foot0", on="foot1")]), "no joint moves them"),
        (lambda: lw.contact_points(model, lw.neutral(model), [1]), "lw.Contact objects"),
        (lambda: lw.contact_points(model, lw.neutral(model), "floor"), "list of lw.Contact"),
        (lambda: lw.contact_dynamics(model, lw.neutral(model), *np.zeros((2, 6)), [], constraints=3), "lw.Weld"),
        (
            lambda: lw.rollout(model, lw.neutral(model), np.zeros(6), dt=0.01, steps=1, contacts=[], friction=0.1),
            "friction",
        ),
        (
            lambda: lw.simulate(model, lw.neutral(model), np.zeros(6), 0.1, 0.1, contacts=[], method="composite_body"),
            "default method",
        ),
    ]
    for call, words in cases:
        with pytest.raises(lw.LinkworkError, match=words):
            call()


def test_the_collision_shapes_of_a_urdf_are_contacts_where_asked_for(tmp_path: Path) -> None:
    shapes = '<sphere radius="0.1"/>', '<box size="0.2 0.4 0.6"/>', '<cylinder radius="0.1" length="0.3"/>'
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial><collision><origin xyz="0 0 {k}"/><geometry>{shape}</geometry></collision></link>'
        for k, shape in enumerate(shapes)
    )
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/></joint>' for k in range(2)
    )
    path = tmp_path / "shapes.urdf"
    path.write_text(f'<robot name="shapes">{links}{joints}</robot>')
    model = lw.load(path, floating_base=True)
    assert not len(model.contacts)
    contacts = lw.collision_contacts(model, friction=0.4)
    assert [(one.frame, one.shape, one.friction) for one in contacts] == [
        ("l0", lw.Sphere(0.1), 0.4), ("l1", lw.Box((0.1, 0.2, 0.3)), 0.4), ("l2", lw.Cylinder(0.1, 0.15), 0.4),
    ]  # fmt: skip
    with lw.interpreted():
        _, distances = lw.contact_points(model, lw.neutral(model), contacts)
    assert np.allclose(distances, [-0.1, *[0.7] * 4, 1.85, 2.15, 1.85, 1.85])
    bumps = lw.collision_contacts(model, lw.HeightField(np.eye(2), (1, 1)))
    said = pytest.warns(lw.LinkworkWarning, match="leave out the box of 'l1'; the cylinder of 'l2'")
    with lw.interpreted(), said:
        lw.contact_points(model, lw.neutral(model), bumps)
    with pytest.raises(lw.ArgumentError, match="against must be"):
        lw.collision_contacts(model, against=3)


def test_a_start_off_constraints_is_said() -> None:
    model = thing(*FEET)
    q, v = lw.neutral(model), np.zeros(6)
    held = [lw.Ball("foot0", placement=lw.placement((0.2, 0.1, -0.15)))]
    said = r"off Ball\('foot0', 'world'\), by 0\.05 m or rad"
    with lw.interpreted():
        with pytest.warns(lw.LinkworkWarning, match=said):
            lw.simulate(model, q, v, 0.02, 0.01, constraints=held)
        touch = [lw.Contact("foot1", lw.Sphere(0.01), placement=lw.placement((0, 0, 1)))]  # beside which they are soft
        with pytest.warns(lw.LinkworkWarning, match=said + ".* will bring it there, softly"):
            lw.simulate(model, q, v, 0.02, 0.01, constraints=held, contacts=touch)
        with pytest.warns(lw.LinkworkWarning, match=said + " in state 1"):
            lw.rollout(model, [q - [0, 0, 0.05, 0, 0, 0, 0], q], v, dt=0.01, steps=2, constraints=held)
        q[2] = -0.05  # no warning
        lw.simulate(model, q, v, 0.01, 0.01, constraints=held)


def test_code_finds_among_many_starts_those_off_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = lw.mechanisms.serial_chain(2)
    held = [lw.Ball.at(arm, [0.0, 0.0], "tip"), lw.Coupling("joint2", "joint1")]
    starts = np.zeros((21, 2))
    starts[13] = 0.1, 0.2
    by_numpy = off_constraints._errors(held_by(arm, held), starts)
    monkeypatch.setattr(off_constraints, "_MANY", 2)
    by_code = off_constraints._errors(held_by(arm, held), starts)
    np.testing.assert_allclose(by_code, by_numpy, rtol=0, atol=1e-15)
    assert by_code[13, 1] == pytest.approx(0.1) and (by_code[[*range(13), *range(14, 21)]] < 1e-15).all()
    with pytest.warns(lw.LinkworkWarning, match=r"begins off Ball\('tip', 'world'\), by .* in state 13"):
        off_constraints.warn_of_errors(arm, starts, held, 0.1)


def test_a_deep_start_and_what_a_file_leaves_out_are_said(tmp_path: Path) -> None:
    model = thing(*FEET)
    q = lw.neutral(model)
    q[2] = 0.05
    with lw.interpreted(), pytest.warns(lw.LinkworkWarning, match=r"deep penetration: foot0 and world overlap by 0\.1"):
        lw.simulate(model, q, np.zeros(6), 0.01, 0.01, contacts=[lw.Contact("foot0", lw.Sphere(0.06))])
    box, starts = lw.Box((0.1, 0.1, 0.1)), np.tile(lw.neutral(model), (2, 1))
    starts[:, 2] = 0.2, 0.12
    said = r"body and world overlap by 0\.08 m in state 1"
    with lw.interpreted(), pytest.warns(lw.LinkworkWarning, match=said):
        lw.rollout(model, starts, np.zeros(6), dt=0.01, steps=1, contacts=[lw.Contact("body", box, box)])
    path = tmp_path / "left.xml"
    path.write_text(
        '<mujoco><option density="1"/><worldbody><geom type="plane" size="1 1 1"/><body name="tin" pos="0 0 1">'
        '<freejoint/><geom fluidshape="ellipsoid" size="0.1" contype="0" conaffinity="0"/><geom name="rock" '
        'type="mesh" mesh="rock" condim="6"/><geom size="0.1" condim="6"/></body></worldbody><asset><mesh name="rock" '
        'vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset></mujoco>'
    )
    loaded = lw.load(path)
    assert len(loaded.contacts) == 1
    with lw.interpreted(), pytest.warns(lw.LinkworkWarning, match="a mesh and a plane .*rock and .*'tin'"):
        lw.contact_points(loaded, lw.neutral(loaded), loaded.contacts)
    with lw.interpreted():  # once
        lw.contact_points(loaded, lw.neutral(loaded), loaded.contacts)
    assert dataclasses.replace(loaded, contacts=lw.Contacts()) != loaded


def test_derivatives_through_contacts_are_those_of_the_solution() -> None:
    """Against differences where a contact slides, sticks, and is active while a limit is passed."""
    builder = lw.Builder("hopper")
    builder.add_body("trunk", joint=lw.joints.Free(), mass=3.0, inertia=(0.02, 0.02, 0.01))
    builder.add_body("leg", "trunk", lw.joints.Prismatic("z"), mass=0.3, inertia=(1e-3, 1e-3, 1e-4), lower=-0.1)
    builder.add_frame("foot", "leg", lw.placement((0.0, 0.0, -0.3)))
    hopper = builder.build()
    ground = [lw.Contact("foot", lw.Sphere(0.03), friction=0.8), lw.Contact("trunk", lw.Sphere(0.05), friction=0.0)]
    q = np.tile(lw.neutral(hopper), (3, 1))
    q[:, 2], q[:, 7] = [0.328, 0.3295, 0.4295], [0.0, 0.0, -0.1003]
    q = lw.integrate(hopper, q, np.outer([1.0, 0.1, 0.1], [0, 0, 0, 0.02, 0.05, 0.1, 0]))
    v = np.array([[1.0, 0.2, 0, 0, 0, 0, 0], [0.001, 0.0, 0.01, 0, 0, 0, 0], [0.3, 0, 0, 0, 0.1, 0, 0]])
    tau = 0.1 * np.random.default_rng(3).normal(size=(3, 7))
    small = 1e-6 * np.eye(21).reshape(21, 3, 1, 7).swapaxes(0, 1)

    def both(q: Any, v: Any, tau: Any) -> Any:
        a, forces = lw.contact_dynamics(hopper, q, v, tau, ground)
        return np.concatenate([a, forces.reshape(6)])

    code = lw.compile(both, q=(hopper, "configuration"), v=7, tau=7)
    with lw.interpreted():
        ends = [code(lw.integrate(hopper, q, s * small[0]), v + s * small[1], tau + s * small[2]) for s in (1.0, -1.0)]
        push = code(q, v, tau)[:, 7:10]
        exact = np.concatenate(lw.jacobian_of(code)(q, v, tau), axis=-1)
    assert push[0, 2] > 0 and np.hypot(*push[0, :2]) == pytest.approx(0.8 * push[0, 2])  # slides
    assert push[1, 2] > 0 and np.hypot(*push[1, :2]) < 0.7 * push[1, 2]  # sticks
    for one, slope in zip(exact, np.moveaxis((ends[0] - ends[1]) / 2e-6, 0, -1), strict=True):
        assert one == pytest.approx(slope, rel=1e-6, abs=1e-7 * np.abs(slope).max())


def test_a_step_with_contacts_is_linearised_and_pulled_back() -> None:
    ball, touch = thing(), [lw.Contact("body", lw.Sphere(0.1), friction=0.5)]
    q, v, tau = np.r_[0, 0, 0.0995, 0, 0, 0, 1.0], np.r_[0.3, 0.1, -0.02, 0.0, 0.1, 0.2], np.zeros((1, 6))
    with lw.interpreted():
        A, B = lw.linearise(ball, q, v, tau[0], dt=0.002, contacts=touch)
        made = lw.rollout(ball, q, v, tau, dt=0.002, steps=1, contacts=touch)
        weights = np.arange(1.0, 7.0)
        found = made.pullback(v=np.stack([0.0 * weights, weights]))
        ends = [lw.rollout(ball, q, v + s * np.eye(6), dt=0.002, steps=1, contacts=touch) for s in (1e-6, -1e-6)]
    slope = np.swapaxes(ends[0].v[:, 1] - ends[1].v[:, 1], 0, 1) / 2e-6
    assert A[6:, 6:] == pytest.approx(slope, abs=1e-8) and np.abs(slope - np.eye(6)).max() > 0.01
    assert found.v == pytest.approx(weights @ A[6:, 6:]) and found.q == pytest.approx(weights @ A[6:, :6])
    assert found.parts["tau"][0, 0] == pytest.approx(weights @ B[6:])
