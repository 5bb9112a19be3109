"""Dynamics with loop closures and contacts: against Pinocchio and MuJoCo, the dense equations, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork.dynamics.constrained_call import ConstrainedFunction
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.constraint_solvers import JoinedSolver
from linkwork.dynamics.held import HeldBy, held_by
from linkwork.inside import costs
from linkwork.model import Body, Limits, Model
from linkwork.spatial import Inertia, Mat3, Sym3, Transform, Vec3
from strategies import Array, close
from test_pinocchio import make

SOLID = {"mass": 1.0, "inertia": (0.02, 0.03, 0.025)}


@cache
def four_bar() -> tuple[Model, list[lw.Constraint], Array]:
    """Crank, coupler and rocker in the plane y = 0; the rocker's end is held at (0.9, 0, 0)."""
    builder = lw.Builder("four_bar")
    last, x = "world", 0.0
    for name, length in (("crank", 0.3), ("coupler", 0.8), ("rocker", 0.6)):
        joint = lw.joints.Revolute("y")
        last = builder.add_body(name, last, joint, lw.placement((x, 0, 0)), com=(length / 2, 0, 0), **SOLID)
        x = length
    builder.add_frame("end", last, lw.placement((x, 0, 0)))
    builder.add_frame("pivot", "world", lw.placement((0.9, 0.0, 0.0)))
    model = builder.build()
    loop: list[lw.Constraint] = [lw.Hinge("end", "pivot", axis="y")]
    return model, loop, assembled(model, loop, np.array([-1.0, 0.6, 1.2]))


@cache
def stewart() -> tuple[Model, list[lw.Constraint], Array]:
    """A platform on six legs: each leg a universal joint, a slider and, to the platform, a ball that closes a loop."""
    builder = lw.Builder("stewart")
    builder.add_body("platform", joint=lw.joints.Free(), mass=5.0, inertia=(0.2, 0.2, 0.4))
    loops: list[lw.Constraint] = []
    for leg in range(6):
        angle = np.pi / 3 * leg
        foot = (np.cos(angle + 0.2 * (-1) ** leg), np.sin(angle + 0.2 * (-1) ** leg), 0.0)
        top = (0.5 * np.cos(angle - 0.3 * (-1) ** leg), 0.5 * np.sin(angle - 0.3 * (-1) ** leg), 0.0)
        lower = builder.add_body(f"lower{leg}", "world", lw.joints.Universal("x", "y"), lw.placement(foot), **SOLID)
        upper = builder.add_body(f"upper{leg}", lower, lw.joints.Prismatic("z"), lw.placement((0, 0, 0.5)), **SOLID)
        builder.add_frame(f"tip{leg}", upper, lw.placement((0, 0, 0.4)))
        builder.add_frame(f"ball{leg}", "platform", lw.placement(top))
        loops.append(lw.Ball(f"tip{leg}", f"ball{leg}"))
    model = builder.build()
    q = lw.neutral(model)
    q[2] = 0.9
    return model, loops, assembled(model, loops, q)


@cache
def carrying() -> tuple[Model, list[lw.Constraint], Array]:
    """The humanoid with both hands on a box."""
    robot = lw.mechanisms.humanoid()
    q = lw.neutral(robot)
    q[:] = np.random.default_rng(7).uniform(-0.2, 0.2, robot.nq)
    with lw.interpreted():
        left, right = lw.forward_kinematics(robot, q, ["left_hand", "right_hand"])
    middle = 0.5 * (left[:3, 3] + right[:3, 3])
    joint = lw.joints.Free()
    box = Body(
        "box", "box_joint", 0, joint, Transform.identity(),
        Inertia.from_com(4.0, Vec3.zero(), Sym3.diagonal(0.1, 0.1, 0.1)), (), Limits.none(joint),
    )  # fmt: skip
    frames = (*robot.frames, lw.Frame("box", len(robot.bodies) + 1, Transform.identity()))
    model = Model("carrying", (*robot.bodies, box), frames, robot.gravity)

    def held(hand: Array) -> Transform:
        return Transform(Mat3(*hand[:3, :3].ravel()), Vec3(*(hand[:3, 3] - middle)))

    welds: list[lw.Constraint] = [lw.Weld("left_hand", "box", held(left)), lw.Weld("right_hand", "box", held(right))]
    return model, welds, np.concatenate([q, middle, [0.0, 0.0, 0.0, 1.0]])


@cache
def rolling() -> tuple[Model, list[lw.Constraint], Array]:
    """A disc that rolls, leaning, on a plane that a slider carries up and down, and that is tilted."""
    builder = lw.Builder("rolling")
    builder.add_body("lift", joint=lw.joints.Prismatic("z"), mass=3.0, inertia=(0.1, 0.1, 0.1))
    builder.add_frame("plane", "lift", lw.placement((0.1, 0.2, 0.3), rpy=(0.2, -0.1, 0.3)))
    builder.add_body("disc", joint=lw.joints.Free(), mass=2.0, inertia=(0.05, 0.05, 0.1))
    model = builder.build()
    contact: list[lw.Constraint] = [lw.Rolling("disc", "plane", radius=0.4, axis="z")]
    q = np.concatenate([[0.1, 0.0, 0.0, 0.8], [0.5, 0.2, 0.1, 0.9]])
    q[4:] /= np.linalg.norm(q[4:])
    return model, contact, assembled(model, contact, q)


MECHANISMS = {"four_bar": four_bar, "stewart": stewart, "carrying": carrying, "rolling": rolling}


def errors(model: Model, constraints: Sequence[lw.Constraint], q: Array) -> Array:
    """The errors of the constraints: six numbers of each, and zero in directions that are not constrained."""
    off = []
    for c in constraints:
        with lw.interpreted():
            a, b = lw.forward_kinematics(model, q, [c.frame_a, c.frame_b])
        goal = np.eye(4)
        goal[:3, :3] = np.reshape(c.placement.rotation.numbers(), (3, 3))
        goal[:3, 3] = c.placement.translation.numbers()
        there = np.linalg.inv(b @ goal) @ a
        rows = c.rows(there[:3, :3])
        off.append(rows @ c.error(there[:3, 3], there[:3, :3]))
    return np.concatenate(off)


def rows_of(model: Model, constraints: Sequence[lw.Constraint], q: Array) -> Array:
    """The constraints' Jacobian, from its definition."""
    rows = []
    for c in constraints:
        with lw.interpreted():
            a, b = lw.forward_kinematics(model, q, [c.frame_a, c.frame_b])
            J_a, J_b = np.split(lw.jacobian(model, q, [c.frame_a, c.frame_b]), 2)
        X = np.zeros((6, 6))
        b_in_a = np.linalg.inv(a) @ b
        R, p = b_in_a[:3, :3], b_in_a[:3, 3]
        X[:3, :3] = X[3:, 3:] = R
        X[:3, 3:] = np.cross(p, R, axisb=0).T if R.ndim == 1 else np.array([np.cross(p, column) for column in R.T]).T
        J = J_a - X @ J_b
        goal = np.reshape(c.placement.rotation.numbers(), (3, 3))
        rows.append(c.rows((R @ goal).T) @ J)
    return np.concatenate(rows)


def assembled(model: Model, constraints: Sequence[lw.Constraint], q: Array) -> Array:
    """A configuration near q in which the loops are closed, by Newton's iteration."""
    for _ in range(50):
        step = np.linalg.lstsq(rows_of(model, constraints, q), -errors(model, constraints, q), rcond=1e-10)[0]
        with lw.interpreted():
            q = lw.integrate(model, q, step)
        if np.abs(errors(model, constraints, q)).max() < 1e-14:
            break
    return q


def moving(model: Model, constraints: Sequence[lw.Constraint], q: Array, seed: int) -> Array:
    """A velocity that satisfies the constraints."""
    C = rows_of(model, constraints, q)
    v = np.random.default_rng(seed).normal(size=model.nv)
    return v - np.linalg.pinv(C, rcond=1e-10) @ (C @ v)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_equations_of_constrained_motion_hold(name: str, engine: str) -> None:
    """M a + h = τ + Cᵀ λ and d/dt (C v) = 0, the latter as a difference: Yamane and Nakamura, Eq. 7."""
    model, constraints, q = MECHANISMS[name]()
    v = moving(model, constraints, q, 1)
    tau = np.random.default_rng(2).normal(size=model.nv)
    a, wrenches = lw.constrained_dynamics(model, q, v, tau, constraints, proximal=1e-6)
    with lw.interpreted():
        effects = lw.nonlinear_effects(model, q, v)
        left = lw.mass_matrix(model, q) @ a + effects - tau
        force = np.zeros(model.nv)
        for c, wrench in zip(constraints, wrenches, strict=True):
            world = lw.forward_kinematics(model, q, [c.frame_a, c.frame_b])
            b_in_a = np.linalg.inv(world[0]) @ world[1]
            turned = b_in_a[:3, :3].T
            opposite = np.concatenate(
                [turned @ wrench[:3], turned @ (wrench[3:] - np.cross(b_in_a[:3, 3], wrench[:3]))]
            )
            J_a, J_b = np.split(lw.jacobian(model, q, [c.frame_a, c.frame_b]), 2)
            force += J_a.T @ wrench - J_b.T @ opposite
        close(left, force, 1e-8, scale=np.abs(effects).max())
        h = 1e-4
        ends = []
        for t in (h, -h):
            there = lw.integrate(model, q, t * (v + 0.5 * t * a))
            ends.append(rows_of(model, constraints, there) @ (v + t * a))
    C = rows_of(model, constraints, q)
    close((ends[0] - ends[1]) / (2 * h), 0.0 * ends[0], 1e-5, scale=np.abs(C).max() * np.abs(a).max())


@pytest.mark.parametrize(("name", "kind"), [("solo12", "3D"), ("talos", "6D")])
def test_contacts_are_pinocchios(name: str, kind: str) -> None:
    pair = make(name, (2,))
    model, there = pair.model, pair.there
    parents = {body.parent for body in model.bodies}
    feet = [body.name for index, body in enumerate(model.bodies, 1) if index not in parents][:2]
    s = pair.state
    weld = lw.Weld if kind == "6D" else lw.Ball
    kinds = {"6D": pin.ContactType.CONTACT_6D, "3D": pin.ContactType.CONTACT_3D}
    for k, q in enumerate(s.q):
        q_there = pair.q_there(q)
        data = there.createData()
        pin.framesForwardKinematics(there, data, q_there)
        models = pin.StdVec_RigidConstraintModel()
        constraints = []
        for foot in feet:
            frame = there.frames[there.getFrameId(foot)]
            world = data.oMf[there.getFrameId(foot)]
            models.append(
                pin.RigidConstraintModel(
                    kinds[kind], there, frame.parentJoint, frame.placement, 0, world, pin.ReferenceFrame.LOCAL
                )
            )
            constraints.append(weld(foot, "world", Transform(Mat3(*world.rotation.ravel()), Vec3(*world.translation))))
        v = moving(model, constraints, q, k)
        datas = pin.StdVec_RigidConstraintData()
        datas.extend(one.createData() for one in models)
        pin.initConstraintDynamics(there, data, models, datas)
        settings = pin.ProximalSettings(1e-13, 1e-13, 1e-9, 50)
        expected = pin.constraintDynamics(there, data, q_there, v, s.tau[k], models, datas, settings)
        a, wrenches = lw.constrained_dynamics(model, q, v, s.tau[k], constraints)
        close(a, np.array(expected), 1e-7)
        for wrench, one in zip(wrenches, datas, strict=True):
            close(wrench[:3], np.array(one.contact_force.linear), 1e-6, scale=np.abs(wrenches).max())
        if name == "solo12" and k == 0:
            for method in ("virtual_work", "assembly"):
                with lw.interpreted():
                    a, wrenches = lw.constrained_dynamics(model, q, v, s.tau[k], constraints, method=method)
                close(a, np.array(expected), 1e-7)
                for wrench, one in zip(wrenches, datas, strict=True):
                    close(wrench[:3], np.array(one.contact_force.linear), 1e-6, scale=np.abs(wrenches).max())


def mujocos_four_bar(q: Array, v: Array, tau: Array) -> Array:
    """Accelerations of ``four_bar`` by MuJoCo, whose constraints are soft, by 1e-4."""
    xml = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
      <body name="crank"><joint type="hinge" axis="0 1 0"/>
        <inertial pos="0.15 0 0" mass="1" diaginertia="0.02 0.03 0.025"/>
        <body name="coupler" pos="0.3 0 0"><joint type="hinge" axis="0 1 0"/>
          <inertial pos="0.4 0 0" mass="1" diaginertia="0.02 0.03 0.025"/>
          <body name="rocker" pos="0.8 0 0"><joint type="hinge" axis="0 1 0"/>
            <inertial pos="0.3 0 0" mass="1" diaginertia="0.02 0.03 0.025"/>
            <site name="end" pos="0.6 0 0"/></body></body></body>
      <site name="pivot" pos="0.9 0 0"/></worldbody>
      <equality><connect site1="end" site2="pivot" solref="0.02 1" solimp="0.9999 0.9999 0.001 0.5 2"/></equality>
      </mujoco>"""
    there = mujoco.MjModel.from_xml_string(xml)
    there.opt.tolerance, there.opt.iterations = 0.0, 200
    data = mujoco.MjData(there)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
    mujoco.mj_forward(there, data)
    return np.array(data.qacc)


def test_a_four_bar_moves_as_mujocos() -> None:
    model, constraints, q = four_bar()
    v, tau = moving(model, constraints, q, 3), np.array([1.0, -0.5, 0.2])
    a, _ = lw.constrained_dynamics(model, q, v, tau, constraints, proximal=1e-6)
    close(a, mujocos_four_bar(q, v, tau), 2e-3)


@pytest.mark.parametrize(
    ("name", "seconds", "steps"), [("four_bar", 10.0, 5000), ("stewart", 3.0, 375), ("carrying", 3.0, 900)]
)
def test_loops_stay_closed(name: str, seconds: float, steps: int) -> None:
    """Stabilised, the drift stays below a micrometre: 3 s are 150 times its time constant."""
    model, constraints, start = MECHANISMS[name]()
    q, v = start, np.zeros(model.nv)
    h, worst = seconds / steps, 0.0
    if name == "stewart":
        v = 0.2 * moving(model, constraints, q, 1)

    def rates(q: Array, v: Array) -> tuple[Array, Array]:
        tau = -0.5 * lw.mass_matrix(model, q) @ v
        if name == "carrying":  # the robot carries itself, and feels the box
            tau[:-6] += lw.gravity_torques(model, q)[:-6]
        if name == "stewart":  # springs in the legs' sliders carry the platform
            tau[8::3] -= 2000.0 * (q - start)[9::3]
        a, _ = lw.constrained_dynamics(model, q, v, tau, constraints, stabilisation=0.02, proximal=1e-6)
        return v, a

    for step in range(steps):
        k1 = rates(q, v)
        k2 = rates(lw.integrate(model, q, 0.5 * h * k1[0]), v + 0.5 * h * k1[1])
        k3 = rates(lw.integrate(model, q, 0.5 * h * k2[0]), v + 0.5 * h * k2[1])
        k4 = rates(lw.integrate(model, q, h * k3[0]), v + h * k3[1])
        mean = [(a + 2 * b + 2 * c + d) / 6.0 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        q, v = lw.integrate(model, q, h * mean[0]), v + h * mean[1]
        if step % 20 == 0:
            worst = max(worst, np.abs(errors(model, constraints, q)).max())
    assert worst < 1e-6


def test_the_kinds_of_constraints_hold_what_they_say(engine: str) -> None:
    builder = lw.Builder(gravity=(0, 0, -10))
    builder.add_body("box", joint=lw.joints.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1))
    box = builder.build()
    q, zero = lw.neutral(box), np.zeros(6)
    push = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    free = {"Weld": [], "Ball": [3, 4, 5], "Hinge": [5], "PointOnPlane": [0, 1, 3, 4, 5]}
    for kind, moves in free.items():
        a, wrenches = lw.constrained_dynamics(box, q, zero, push, [getattr(lw, kind)("box")])
        held = [k for k in range(6) if k not in moves]
        close(a[held], 0.0 * a[held], 1e-12, scale=10.0)
        assert (np.abs(a[moves]) > 0.1).all()
        close(wrenches[0][moves], 0.0 * a[moves], 1e-12, scale=10.0)
    batch = np.stack([push, 2.0 * push])
    a, wrenches = lw.constrained_dynamics(box, q, zero, batch, [lw.Ball("box")])
    assert a.shape == (2, 6) and wrenches.shape == (2, 1, 6)
    alone, _ = lw.constrained_dynamics(box, q, zero, 2.0 * push, [lw.Ball("box")])
    close(a[1], alone, 1e-14)
    a, wrenches = lw.constrained_dynamics(box, q, zero, push, [])
    assert wrenches.shape == (0, 6) and np.array_equal(a, lw.forward_dynamics(box, q, zero, push))


def test_redundant_constraints_are_named_or_shared() -> None:
    model, _, q = four_bar()
    zero = np.zeros(3)
    twice = [lw.Ball("end", "pivot"), lw.Ball("end", "pivot")]
    with pytest.raises(lw.SingularError, match=r"Ball\('end', 'pivot'\), .* hold 6 motions, of which only 2 are"):
        lw.constrained_dynamics(model, q, zero, zero, twice)
    a, wrenches = lw.constrained_dynamics(model, q, zero, zero, twice, proximal=1e-6)
    once, wrench = lw.constrained_dynamics(model, q, zero, zero, twice[:1], proximal=1e-6)
    close(a, once, 1e-8)
    close(wrenches[0], wrenches[1], 1e-8)
    close(wrenches.sum(axis=0), wrench[0], 1e-8)


@pytest.mark.parametrize("method", ["articulated_body", "virtual_work"])
@pytest.mark.parametrize("speed", [0.0, 1.0], ids=["agree", "contradict"])
def test_forces_of_redundant_constraints_are_the_smallest(method: str, speed: float) -> None:
    """Three welds on two links are consistent only as long as nothing moves."""
    builder = lw.Builder()
    builder.add_body("box", joint=lw.joints.Free(), com=(0.1, 0.2, 0.0), **SOLID)
    builder.add_body("arm", "box", lw.joints.Spherical(), lw.placement((0.3, 0.1, 0.2)), **SOLID)
    builder.add_frame("hand", "arm", lw.placement((0.1, 0.4, 0.0), rpy=(0.3, 0.2, 0.1)))
    model = builder.build()
    held = ["box", "arm", "hand"]
    q, v = lw.random_state(model, 5)
    v, tau = speed * v, np.linspace(-1.0, 1.0, 9)
    welds = [lw.Weld.at(model, q, frame) for frame in held]
    J = lw.jacobian(model, q, held, reference="local_world_aligned")
    drift = lw.jacobian_drift(model, q, v, held, reference="local_world_aligned")
    M, force = lw.mass_matrix(model, q), tau - lw.nonlinear_effects(model, q, v)
    A = J @ np.linalg.solve(M, J.T)
    wanted = np.linalg.pinv(A, rcond=1e-10, hermitian=True) @ (-drift - J @ np.linalg.solve(M, force))
    motion = np.linalg.solve(M, force + J.T @ wanted)
    R = lw.forward_kinematics(model, q, held)[:, :3, :3]

    def moved(q: Array, v: Array) -> tuple[Array, Array]:
        return lw.constrained_dynamics(model, q, v, tau, welds, proximal=1e-4, method=method)

    with lw.interpreted():
        for found in (moved, lw.compile(moved, q=model.nq, v=model.nv)):
            a, wrenches = found(q, v)
            close(a, motion, 1e-9, scale=10.0)
            close((wrenches.reshape(3, 2, 3) @ R.transpose(0, 2, 1)).ravel(), wanted, 1e-8)


def test_wrong_constraints_are_named() -> None:
    model, constraints, q = four_bar()
    zero = np.zeros(3)
    with pytest.raises(lw.ArgumentError, match=r"constraints must hold lw\.Weld, lw\.Ball"):
        lw.constrained_dynamics(model, q, zero, zero, ["end"])  # type: ignore[list-item]
    looked_at = iter(range(10**12))
    endless = type("Endless", (Sequence,), {"__len__": lambda _: 10**12, "__getitem__": lambda *_: next(looked_at)})()
    with pytest.raises(lw.ArgumentError, match="constraints must hold"):
        lw.close_loops(model, q, endless)
    assert next(looked_at) == 1, "the first is none, and no more are asked for"
    with pytest.raises(lw.UnknownNameError, match="no frame named 'endd'; did you mean 'end'"):
        lw.constrained_dynamics(model, q, zero, zero, [lw.Ball("endd")])
    for there in ("end", lw.Point("end", offset=(0.1, 0.0, 0.0)), model.body_of("end")):
        with pytest.raises(lw.ArgumentError, match=r"Weld\('end', .*\) holds two places of body '.*' to each other"):
            lw.constrained_dynamics(model, q, zero, zero, [lw.Weld("end", there)])
    with pytest.raises(lw.ArgumentError, match="proximal must be"):
        lw.constrained_dynamics(model, q, zero, zero, constraints, proximal=-1.0)


def test_an_axis_may_be_a_list_and_what_is_no_constraint_is_said() -> None:
    model, _, q = four_bar()
    v, tau = np.ones(3), np.zeros(3)
    as_name, as_list = (lw.Hinge("end", "pivot", axis=axis) for axis in ("y", [0.0, 1.0, 0.0]))
    a, _ = lw.constrained_dynamics(model, q, v, tau, [as_name], proximal=1e-6)
    same, _ = lw.constrained_dynamics(model, q, v, tau, [as_list], proximal=1e-6)
    close(a, same, 1e-9)
    tilted = [0.12345678901, 1.0, 0.5]  # which differs from the next in digits that an array does not print
    given = np.array([tilted, [0.12345678905, 1.0, 0.5]])
    kept = [lw.PointOnPlane("end", normal=normal) for normal in given]
    given[:] = 7.0  # what a constraint was made with is its own
    assert kept[0].normal == tuple(tilted) and len({kept[0], kept[1], lw.PointOnPlane("end", normal=tilted)}) == 2
    found = [lw.constrained_dynamics(model, q, v, tau, [one])[0] for one in kept]
    assert not np.array_equal(found[0], found[1])
    with pytest.raises(lw.ArgumentError, match="constraints must hold"):
        lw.constrained_dynamics(model, q, v, tau, [["end", "pivot"]])  # type: ignore[list-item]


def test_joints_that_gears_couple_move_together(engine: str) -> None:
    """Against the dense equations, with J = e_a - ratio e_b; rotors count."""
    builder = lw.Builder("geared")
    builder.add_body("base", joint=lw.joints.Revolute("y"), com=(0.1, 0, 0.2), armature=0.3, **SOLID)
    builder.add_body("slide", "base", lw.joints.Prismatic((1, 1, 0)), lw.placement((0.3, 0, 0)), armature=0.1, **SOLID)
    builder.add_body("screw", "base", lw.joints.Helical("z", 0.2), lw.placement((0, 0.3, 0)), com=(0.1, 0, 0), **SOLID)
    model = builder.build()
    base, slide, screw = model.joint_names
    gears = [lw.Coupling(slide, base, ratio=0.7, offset=0.1), lw.Coupling(screw, slide, ratio=-2.0)]
    J = np.array([[-0.7, 1.0, 0.0], [0.0, 2.0, 1.0]])
    q, v = lw.random_state(model, 3)
    tau = np.array([0.5, -1.0, 2.0])
    M, h = lw.mass_matrix(model, q), lw.nonlinear_effects(model, q, v)
    for time_constant in (None, 0.1):
        off = np.array([q[1] - 0.7 * q[0] - 0.1, q[2] + 2.0 * q[1]])
        wanted = np.zeros(2) if time_constant is None else -2.0 / 0.1 * J @ v - off / 0.01
        expected = np.linalg.solve(np.block([[M, -J.T], [J, np.zeros((2, 2))]]), np.concatenate([tau - h, wanted]))
        a, wrenches = lw.constrained_dynamics(model, q, v, tau, gears, stabilisation=time_constant)
        close(a, expected[:3], 1e-10)
        axis = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
        close(wrenches[0], np.concatenate([expected[3] * axis, np.zeros(3)]), 1e-9)
        close(wrenches[1] @ np.array([0, 0, 0.2, 0, 0, 1.0]), np.array(expected[4]), 1e-9)
    with pytest.raises(lw.UnknownNameError, match="no joint named 'slid'"):
        lw.constrained_dynamics(model, q, v, tau, [lw.Coupling("slid", base)])
    box = lw.mechanisms.free_box()
    with pytest.raises(lw.ArgumentError, match="one degree of freedom"):
        name = box.joint_names[0]
        lw.constrained_dynamics(box, lw.neutral(box), np.zeros(6), np.zeros(6), [lw.Coupling(name, name)])


@pytest.mark.parametrize(("axis", "moment", "share"), [("y", 0.5, 2.0 / 3.0), (None, 0.4, 5.0 / 7.0)])
def test_discs_and_balls_roll_down_a_slope(axis: str | None, moment: float, share: float, engine: str) -> None:
    """g sin(slope) divided by 1 + I / (m r²): a disc of 2/3, a ball of 5/7 of a slider."""
    slope, mass, radius = 0.3, 2.0, 0.25
    builder = lw.Builder("slope", gravity=(9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope)))
    builder.add_body("wheel", joint=lw.joints.Free(), mass=mass, inertia=(moment * mass * radius**2,) * 3)
    wheel = builder.build()
    q = lw.neutral(wheel)
    q[2] = radius
    v = np.array([1.0, 0.0, 0.0, 0.0, 1.0 / radius, 0.0])
    rolls = [lw.Rolling("wheel", radius=radius, axis=axis)]
    a, wrenches = lw.constrained_dynamics(wheel, q, v, np.zeros(6), rolls)
    close(a[0], np.array(share * 9.81 * np.sin(slope)), 1e-12)
    close(a[4] * radius, a[0] - 0.0 * a[0], 1e-12)
    close(wrenches[0][2], np.array(mass * 9.81 * np.cos(slope)), 1e-12)


def test_frames_held_elsewhere_take_no_new_code() -> None:
    model = lw.mechanisms.free_box()
    held = [HeldBy(model, (lw.Weld(model.body_names[0], placement=lw.placement((x, 0, 0))),)) for x in (0.1, 0.2)]
    q, zero = lw.neutral(model), np.zeros(6)
    for one in held:
        lw.constrained_dynamics(model, q, zero, zero, one.constraints, stabilisation=0.1)
    first, second = (held_by(model, one.constraints) for one in held)
    assert first is not second and len(first.laws) == 1 and first.laws is second.laws


def test_constrained_dynamics_inside_a_compiled_function() -> None:
    model, loop, q = four_bar()
    v = moving(model, loop, q, 3)

    def text(q: Array, v: Array) -> tuple[Array, Array]:
        return lw.constrained_dynamics(model, q, v, -0.1 * v, loop, stabilisation=0.02, proximal=1e-6)

    a, wrenches = lw.compile(text, q=model.nq, v=model.nv)(q, v)
    expected, forces = text(q, v)
    close(a, expected, 1e-11)
    close(wrenches, forces, 1e-9)


@pytest.mark.parametrize("method", ["articulated_body", "virtual_work"])
def test_redundant_constraints_of_many_bodies_have_the_same_bits_in_any_batch(
    method: str,
) -> None:
    """Each state iterates until it has converged itself, independently of others."""
    model = lw.mechanisms.serial_chain(4)
    q, v, tau = np.random.default_rng(0).normal(size=(3, 5, 4))
    twice = [lw.Ball.at(model, q[0], "tip"), lw.PointOnPlane.at(model, q[0], "tip", normal="x")]

    def found(*state: Array) -> tuple[Array, Array]:
        return lw.constrained_dynamics(model, *state, twice, stabilisation=0.1, proximal=1e-3, method=method)

    with lw.form("looped"), lw.interpreted():
        a, wrenches = found(q, v, tau)
        for k in range(len(q)):
            alone = found(q[k], v[k], tau[k])
            assert np.array_equal(alone[0], a[k]) and np.array_equal(alone[1], wrenches[k])


def test_a_state_that_the_kernel_leaves_has_the_same_bits_in_any_batch() -> None:
    """A four-bar linkage at its singular configuration, among others."""
    model, _, q = four_bar()
    loop = [lw.PointOnPlane("end", "pivot", normal="x"), lw.PointOnPlane("end", "pivot", normal="z")]
    states = np.stack([q, np.zeros(3), np.array([1e-9, 0.0, 0.0]), q + 0.01])
    zero = np.zeros(3)
    with pytest.raises(lw.SingularError, match="of which only 1 are"):
        lw.constrained_dynamics(model, states, zero, zero, loop)
    states = np.stack([q, np.array([0.0, 2e-4, 0.0]), q + 0.01])
    a, wrenches = lw.constrained_dynamics(model, states, zero, zero, loop)
    for k, state in enumerate(states):
        alone, forces = lw.constrained_dynamics(model, state, zero, zero, loop)
        assert np.array_equal(alone, a[k]) and np.array_equal(forces, wrenches[k])


def test_a_disc_that_lies_flat_does_not_roll() -> None:
    """Exactly, or up to rounding of its orientation; a compiled function reports the error of its Python function."""
    box = lw.mechanisms.free_box()
    name, zero, q = box.body_names[0], np.zeros(6), lw.neutral(box)
    tipped = np.array([*q[:3], np.sin(np.pi / 4), 0.0, 0.0, np.cos(np.pi / 4)])
    for state, axis in ((q, "z"), (tipped, "y")):
        discs = [lw.Rolling(name, radius=0.1, axis=axis)]
        rolling = lw.compile(lambda q: lw.constrained_dynamics(box, q, zero, zero, discs)[0], q=7)  # noqa: B023
        for call in (
            lambda: lw.constrained_dynamics(box, state, zero, zero, discs),  # noqa: B023
            lambda: lw.constrained_inverse_dynamics(box, state, zero, zero, discs, [False] * 6),  # noqa: B023
            lambda: rolling(np.stack([state, state])),  # noqa: B023
        ):
            with pytest.raises(lw.SingularError, match=rf"Rolling\('{name}', 'world'\) ask for is no number in this"):
                call()


def test_many_couplings_are_rows_over_velocities() -> None:
    """The same as by frames: a chain of couplings, a locked joint, loads, stabilisation; redundant ones."""
    builder = lw.Builder("many")
    solid: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.05, 0.02), "inertia": (0.1, 0.1, 0.1)}
    for k in range(6):
        joint = lw.joints.Revolute("y") if k % 2 else lw.joints.Prismatic((1, 1, 0))
        parent = f"b{k - 1}" if k else "world"
        builder.add_body(f"b{k}", parent, joint, lw.placement((0.2, 0.1, 0)), joint_name=f"j{k}", **solid)
    couplings = [
        lw.Coupling("j1", "j0", 2.0, 0.1), lw.Coupling("j2", "j1", -0.5), lw.Coupling("j3", "j3", 0.0, 0.3),
        lw.Coupling("j4", "j0", 1.0), lw.Coupling("j5", "j2", 0.7, 0.2),
    ]  # fmt: skip
    model = builder.build()
    q, v = lw.random_state(model, 0, shape=3)
    rng = np.random.default_rng(0)
    tau, load = rng.normal(size=(3, 6)), rng.normal(size=(3, 6, 6))
    with lw.interpreted():
        found = lw.constrained_dynamics(model, q, v, tau, couplings, load, 0.1)
        loose = lw.constrained_dynamics(model, q, v, tau, couplings)
        with pytest.raises(lw.SingularError, match="hold 6 motions, of which only 5 are independent"):
            lw.constrained_dynamics(model, q, v, tau, [*couplings, lw.Coupling("j4", "j0", 1.0)])
        by_frames = lw.constrained_dynamics_and_reactions(model, q, v, tau, couplings, load, 0.1)[:2]
        loose_by_frames = lw.constrained_dynamics_and_reactions(model, q, v, tau, couplings)[:2]
    for ours, theirs in ((found, by_frames), (loose, loose_by_frames)):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-11 * abs(other).max())


def test_constraints_whose_numbers_overflow_are_named() -> None:
    with pytest.raises(lw.SingularError, match="what the constraints gears hold overflows"):
        JoinedSolver("gears", 0.0).solve(np.array([[np.inf]]), np.array([1.0]))


def gears(count: int) -> tuple[lw.Model, list[lw.Coupling]]:
    """A chain whose joints all turn with the first."""
    model = lw.mechanisms.serial_chain(count + 1, lw.joints.Revolute("y"), link_length=0.2)
    first, *others = model.joint_names
    return model, [lw.Coupling(joint, first, 0.5) for joint in others]


def test_constraints_of_any_number_are_one_kernel() -> None:
    """Five couplings hold ten pairs of frames."""
    model, couplings = gears(5)
    q, v = lw.random_state(model, 0)
    found = [lw.impact(model, q, v, couplings) for _ in range(2)]
    kernels = [law for law in held_by(model, couplings).laws.values() if law.entry is not None]
    assert len(kernels) == 1
    with lw.interpreted():
        np.testing.assert_array_equal(lw.impact(model, q, v, couplings)[0], found[0][0])


def test_a_kernel_that_would_be_too_long_is_not_made() -> None:
    """Without a warning: NumPy joins shorter ones."""
    model, couplings = gears(3)
    q, v = lw.random_state(model, 0, 2)
    with lw.interpreted():
        with costs(traced=100):
            found = lw.impact(model, q, v, couplings)[0]
            assert not any(law.fits for law in held_by(model, couplings).laws.values())
        model, couplings = gears(3)
        np.testing.assert_allclose(lw.impact(model, q, v, couplings)[0], found, rtol=0, atol=1e-12)


def test_only_singular_states_of_a_batch_are_computed_on_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stretched arm hardly moves along itself: its kernels pass on such a state, and no other."""
    arm = lw.mechanisms.serial_chain(2, lw.joints.Revolute("y"), link_length=0.5)
    held = [lw.PointOnPlane("tip", normal=axis) for axis in "xz"]
    q, v = np.array([[0.3, 0.5], [0.2, 1e-5], [0.1, -0.7]]), np.ones((3, 2))
    passed = []
    joined = ConstrainedFunction.joined

    def count(function: ConstrainedFunction, state: ConstrainedState, choices: Any) -> Any:
        passed.append(state.q.shape)
        return joined(function, state, choices)

    monkeypatch.setattr(ConstrainedFunction, "joined", count)
    with lw.interpreted():
        impulses = lw.impact(arm, q, v, held)[1]
        derivatives = lw.constrained_dynamics_derivatives(arm, q, v, 0.0 * v, held)
        assert passed == [(1, 2), (1, 2)]
        for k in range(3):
            np.testing.assert_array_equal(lw.impact(arm, q[k], v[k], held)[1], impulses[k])
            alone = lw.constrained_dynamics_derivatives(arm, q[k], v[k], 0.0 * v[k], held)
            np.testing.assert_array_equal(alone.da_dq, derivatives.da_dq[k])
