"""Pinocchio as an oracle: robots of the package example-robot-data, and random trees of every joint kind that it has.

Every result is compared to a relative 1e-10 of its largest number: of one state in the interpreter, which is fastest
over plain floats, otherwise of a batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
import robots
from linkwork.algorithms import FORWARD_DYNAMICS, INVERTING, REFERENCES
from linkwork.joints import Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model import Model
from linkwork.spatial import Transform
from strategies import KNOWN_TO_PINOCCHIO, Array, State, close, random_tree, state_of

ROBOTS = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "panda": ("panda_description/urdf/panda.urdf", False),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", False),
    "kinova": ("kinova_description/robots/kinova.urdf", False),  # has continuous joints
    "double_pendulum": ("double_pendulum_description/urdf/double_pendulum_continuous.urdf", False),
    "allegro_hand": ("allegro_hand_description/urdf/allegro_left_hand.urdf", False),
    "tiago": ("tiago_description/robots/tiago.urdf", False),  # continuous wheels, and mimic joints in its hand
    "solo12": ("solo_description/robots/solo12.urdf", True),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", True),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "icub": ("icub_description/robots/icub_reduced.urdf", True),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
    "talos": ("talos_data/robots/talos_reduced.urdf", True),
    "talos_fixed": ("talos_data/robots/talos_reduced.urdf", False),
}
TREES = {"every_kind": (300, None), "small": (301, 5), "larger": (302, 12)}
CONSTANT = "constant_subspaces"
"""A tree of joints whose subspaces do not vary with q."""

NAMES = {"local": pin.LOCAL, "world": pin.WORLD, "local_world_aligned": pin.LOCAL_WORLD_ALIGNED}


@dataclass(frozen=True)
class Pair:
    """One mechanism, in linkwork and in Pinocchio, in a state or a batch of them."""

    model: Model
    there: pin.Model
    frames: tuple[str, ...]
    state: State

    def q_there(self, q: Array) -> Array:
        """A configuration in Pinocchio's coordinates: a continuous joint is a cosine and a sine there."""
        parts = []
        for body, start in zip(self.model.bodies, self.model.q_start, strict=True):
            part = q[start : start + body.joint.nq]
            continuous = self.there.nqs[self.there.getJointId(body.joint_name)] == 2 and body.joint.nq == 1
            parts.append([np.cos(part[0]), np.sin(part[0])] if continuous else part)
        return np.concatenate(parts)

    def each(self, function: Callable[..., Array], *names: str) -> Array:
        """Pinocchio's result for every state, from ``function(data, q, *the other named vectors)``."""
        s = self.state
        results = []
        for k in np.ndindex(s.batch):
            others = [getattr(s, name)[k] for name in names]
            results.append(np.array(function(self.there.createData(), self.q_there(s.q[k]), *others)))
        return np.array(results).reshape((*s.batch, *results[0].shape))

    def forces(self, f_ext: Array) -> pin.StdVec_Force:
        forces = pin.StdVec_Force()
        forces.extend(pin.Force.Zero() for _ in range(self.there.njoints))
        for name, force in zip(self.model.joint_names, f_ext, strict=True):
            forces[self.there.getJointId(name)] = pin.Force(force)
        return forces


def robot(name: str, batch: tuple[int, ...]) -> Pair:
    file, floating = ROBOTS[name]
    (path,) = (str(path) for path in robots.ROBOTS if path.as_posix().endswith("/" + file))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)  # some of the robots have mimic joints or odd inertias
        model = lw.load(path, floating_base=floating)
    there = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    shared = [frame for frame in model.frame_names if there.existFrame(frame)]
    return Pair(model, there, tuple(shared[:: max(1, len(shared) // 5)]), state_of(model, len(name), batch))


def tree(name: str, batch: tuple[int, ...]) -> Pair:
    seed, size = TREES.get(name, (303, None))
    kinds = [joint for joint in KNOWN_TO_PINOCCHIO if name != CONSTANT or not isinstance(joint, Universal)]
    model = random_tree(seed, kinds, size, name=name)
    there = pin.Model()
    there.gravity.linear = np.array(model.gravity)
    for body in model.bodies:
        parent = there.getJointId(model.joint_names[body.parent - 1]) if body.parent else 0
        joint = there.addJoint(parent, joint_there(body.joint), placement_there(body.placement), body.joint_name)
        there.appendBodyToJoint(joint, inertia_there(model, body.name), pin.SE3.Identity())
    there.armature[:] = model.armature
    for frame in model.frames:
        if frame.name != "world":
            joint = there.getJointId(model.joint_names[frame.body - 1]) if frame.body else 0
            kind = pin.FrameType.OP_FRAME
            there.addFrame(pin.Frame(f"{frame.name}", joint, 0, placement_there(frame.placement), kind), False)
    frames = tuple(frame for frame in model.frame_names if frame.startswith("f") or frame == "post")
    return Pair(model, there, frames, state_of(model, seed, batch))


def joint_there(joint: Joint) -> object:
    match joint:
        case Revolute(axis):
            return pin.JointModelRevoluteUnaligned(*axis.direction.numbers())
        case Prismatic(axis):
            return pin.JointModelPrismaticUnaligned(*axis.direction.numbers())
        case Helical(axis, pitch):
            return pin.JointModelHelicalUnaligned(*axis.direction.numbers(), pitch)
        case Universal(axis, second):
            return pin.JointModelUniversal(np.array(axis.direction.numbers()), np.array(second.direction.numbers()))
        case Planar():
            return pin.JointModelPlanar()
        case Spherical():
            return pin.JointModelSpherical()
        case Free():
            return pin.JointModelFreeFlyer()
    raise AssertionError(joint)


def placement_there(place: Transform) -> pin.SE3:
    return pin.SE3(np.array(place.rotation.numbers()).reshape(3, 3), np.array(place.translation.numbers()))


def inertia_there(model: Model, body: str) -> pin.Inertia:
    inertia = model.bodies[model.body_index(body)].inertia
    centre = np.array(inertia.moment.numbers()) / inertia.mass
    about_origin = np.array(inertia.second.full().numbers()).reshape(3, 3)
    steiner = inertia.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    return pin.Inertia(inertia.mass, centre, about_origin - steiner)


@cache
def make(name: str, batch: tuple[int, ...] = ()) -> Pair:
    return robot(name, batch) if name in ROBOTS else tree(name, batch)


COMPILED = {"specialised": ["ur5", "small"], "rolled": ["panda", "anymal"]}
"""Where code is compiled: test_bits shows for every algorithm that it has the interpreter's bits."""
LARGE = [("specialised", "talos")]
"""Robots whose code is long, and compiled for forward dynamics only."""
CASES = [("interpreted", name) for name in (*ROBOTS, *TREES)]
CASES += [(form, name) for form, names in COMPILED.items() for name in names]


def on_pairs(parameter: str | None = None, values: Sequence[str] = (), more: Sequence[tuple[str, str]] = ()) -> Any:
    """All mechanisms and ``more``, with all values of a parameter; where code is compiled, with the first."""
    every = [*CASES, *more]
    if parameter is None:
        return pytest.mark.parametrize(("engine", "pair"), every, indirect=True)
    cases = [(*case, value) for case in every for value in (values if case[0] == "interpreted" else values[:1])]
    return pytest.mark.parametrize(("engine", "pair", parameter), cases, indirect=["engine", "pair"])


@pytest.fixture
def pair(request: pytest.FixtureRequest, engine: str) -> Pair:
    return make(request.param, () if engine == "interpreted" else (2,))


@on_pairs()
def test_joints_stand_in_the_same_order(pair: Pair) -> None:
    assert [name for name, n in zip(pair.there.names, pair.there.nvs, strict=True) if n] == list(pair.model.joint_names)
    assert [n for n in pair.there.nvs if n] == [body.joint.nv for body in pair.model.bodies]
    assert pair.model.nv == pair.there.nv


@on_pairs()
def test_placements(pair: Pair) -> None:
    def placements(data: pin.Data, q: Array) -> list[Array]:
        pin.framesForwardKinematics(pair.there, data, q)
        return [data.oMf[pair.there.getFrameId(frame)].homogeneous for frame in pair.frames]

    close(lw.forward_kinematics(pair.model, pair.state.q, pair.frames), pair.each(placements), 1e-10)


@on_pairs("reference", REFERENCES)
def test_jacobians(pair: Pair, reference: str) -> None:
    def jacobians(data: pin.Data, q: Array) -> Array:
        ids = [pair.there.getFrameId(frame) for frame in pair.frames]
        return np.vstack([pin.computeFrameJacobian(pair.there, data, q, i, NAMES[reference]) for i in ids])

    close(lw.jacobian(pair.model, pair.state.q, pair.frames, reference), pair.each(jacobians), 1e-10)


@on_pairs("reference", REFERENCES)
def test_motions(pair: Pair, reference: str) -> None:
    s = pair.state
    accelerate = pin.getFrameClassicalAcceleration if reference == "local_world_aligned" else pin.getFrameAcceleration

    def motions(data: pin.Data, q: Array, v: Array, a: Array) -> Array:
        pin.forwardKinematics(pair.there, data, q, v, a)
        pin.updateFramePlacements(pair.there, data)
        ids = [pair.there.getFrameId(frame) for frame in pair.frames]
        velocities = [pin.getFrameVelocity(pair.there, data, i, NAMES[reference]).vector for i in ids]
        return np.array([velocities, [accelerate(pair.there, data, i, NAMES[reference]).vector for i in ids]])

    moving = pair.each(motions, "v", "a")
    drifting = pair.each(lambda data, q, v: motions(data, q, v, 0.0 * v), "v")
    close(lw.frame_velocity(pair.model, s.q, s.v, pair.frames, reference), moving[..., 0, :, :], 1e-10)
    close(lw.frame_acceleration(pair.model, s.q, s.v, s.a, pair.frames, reference), moving[..., 1, :, :], 1e-10)
    drift = lw.jacobian_drift(pair.model, s.q, s.v, pair.frames, reference)
    close(drift.reshape(drifting[..., 1, :, :].shape), drifting[..., 1, :, :], 1e-10)


@on_pairs()
def test_mass_matrix(pair: Pair) -> None:
    def crba(data: pin.Data, q: Array) -> Array:
        upper = np.triu(pin.crba(pair.there, data, q))
        return upper + np.triu(upper, 1).T

    close(lw.mass_matrix(pair.model, pair.state.q), pair.each(crba), 1e-10)


@on_pairs()
def test_inverse_dynamics(pair: Pair) -> None:
    s, there = pair.state, pair.there
    free = pair.each(lambda data, q, v, a: pin.rnea(there, data, q, v, a), "v", "a")
    close(lw.inverse_dynamics(pair.model, s.q, s.v, s.a), free, 1e-10)
    loaded = pair.each(lambda data, q, v, a, f: pin.rnea(there, data, q, v, a, pair.forces(f)), "v", "a", "f_ext")
    close(lw.inverse_dynamics(pair.model, s.q, s.v, s.a, s.f_ext), loaded, 1e-10)


@on_pairs()
def test_nonlinear_effects_and_gravity(pair: Pair) -> None:
    s, there = pair.state, pair.there
    effects = pair.each(lambda data, q, v: pin.nonLinearEffects(there, data, q, v), "v")
    close(lw.nonlinear_effects(pair.model, s.q, s.v), effects, 1e-10)
    gravity = pair.each(lambda data, q: pin.computeGeneralizedGravity(there, data, q))
    close(lw.gravity_torques(pair.model, s.q), gravity, 1e-10)


@on_pairs("method", FORWARD_DYNAMICS, more=LARGE)
def test_forward_dynamics(pair: Pair, method: str) -> None:
    s, there = pair.state, pair.there
    if pair.model.name.startswith("iCub") and method in INVERTING:
        with pytest.raises(lw.SingularError, match=r"body '.*' has mass .* and principal moments 0"):
            lw.forward_dynamics(pair.model, s.q, s.v, s.tau, method=method)
        return
    free = pair.each(lambda data, q, v, tau: pin.aba(there, data, q, v, tau), "v", "tau")
    close(lw.forward_dynamics(pair.model, s.q, s.v, s.tau, method=method), free, 1e-10)
    loaded = pair.each(lambda data, q, v, tau, f: pin.aba(there, data, q, v, tau, pair.forces(f)), "v", "tau", "f_ext")
    close(lw.forward_dynamics(pair.model, s.q, s.v, s.tau, s.f_ext, method=method), loaded, 1e-10)


@on_pairs("method", ["articulated_body", "virtual_work"])
def test_reactions(pair: Pair, method: str) -> None:
    """Pinocchio's data.f after inverse dynamics at our accelerations; its rotors, too, act on tau alone."""
    s, there = pair.state, pair.there
    if pair.model.name.startswith("iCub") and method in INVERTING:
        with pytest.raises(lw.SingularError, match=r"body '.*' has mass .* and principal moments 0"):
            lw.forward_dynamics_and_reactions(pair.model, s.q, s.v, s.tau, method=method)
        return

    def transmitted(data: pin.Data, q: Array, v: Array, a: Array, f: Array) -> Array:
        pin.rnea(there, data, q, v, a, pair.forces(f))
        return np.array([data.f[there.getJointId(name)].vector for name in pair.model.joint_names])

    a, wrenches = lw.forward_dynamics_and_reactions(pair.model, s.q, s.v, s.tau, s.f_ext, method=method)
    moving = replace(pair, state=replace(s, a=a))
    close(wrenches, moving.each(transmitted, "v", "a", "f_ext"), 1e-9)


@on_pairs()
def test_centre_of_mass_momentum_and_energy(pair: Pair) -> None:
    s, there, model = pair.state, pair.there, pair.model
    assert model.mass == pytest.approx(sum(inertia.mass for inertia in list(there.inertias)[1:]), rel=1e-14)
    centre = pair.each(lambda data, q: pin.centerOfMass(there, data, q))
    close(lw.centre_of_mass(model, s.q), centre, 1e-10)
    momentum = pair.each(lambda data, q, v: pin.computeCentroidalMomentum(there, data, q, v).vector, "v")
    close(lw.momentum(model, s.q, s.v), momentum, 1e-10)
    kinetic, potential = lw.energy(model, s.q, s.v)
    bare = there.copy()  # Pinocchio counts the energy of rotors for some joint kinds only
    bare.armature[:] = 0.0
    spun = 0.5 * s.v**2 @ model.armature
    close(kinetic - spun, pair.each(lambda data, q, v: pin.computeKineticEnergy(bare, data, q, v), "v"), 1e-10)
    close(potential, pair.each(lambda data, q: pin.computePotentialEnergy(there, data, q)), 1e-10)


# Derivatives, by the interpreter: test_bits shows for every algorithm that compiled code has its bits. Joints stand in
# depth-first order; Pinocchio's derivatives are wrong, without a word, if they were added in another, and for universal
# joints (they differ from differences of its own ``rnea``), for which test_derivatives has differences with 50 digits.
DIFFERENTIATED = [("interpreted", name) for name in ("panda", "kinova", "solo12", "talos", "small", CONSTANT)]


@pytest.mark.parametrize(("engine", "pair"), DIFFERENTIATED, indirect=True)
def test_derivatives_of_dynamics(pair: Pair) -> None:
    s, there = pair.state, pair.there

    def inverse(data: pin.Data, q: Array, v: Array, a: Array, f: Array) -> Array:
        pin.computeRNEADerivatives(there, data, q, v, a, pair.forces(f))
        return np.array([data.dtau_dq, data.dtau_dv, np.triu(data.M) + np.triu(data.M, 1).T])

    def forward(data: pin.Data, q: Array, v: Array, tau: Array, f: Array) -> Array:
        pin.computeABADerivatives(there, data, q, v, tau, pair.forces(f))
        return np.array([data.ddq_dq, data.ddq_dv, np.triu(data.Minv) + np.triu(data.Minv, 1).T])

    found = lw.inverse_dynamics_derivatives(pair.model, s.q, s.v, s.a, s.f_ext)
    for k, expected in enumerate(np.moveaxis(pair.each(inverse, "v", "a", "f_ext"), -3, 0)):
        close(found[k], expected, 1e-10)
    found = lw.forward_dynamics_derivatives(pair.model, s.q, s.v, s.tau, s.f_ext)
    for k, expected in enumerate(np.moveaxis(pair.each(forward, "v", "tau", "f_ext"), -3, 0)):
        close(found[k], expected, 1e-8)
    close(lw.mass_matrix_inverse(pair.model, s.q), found[2], 1e-10)


@pytest.mark.parametrize(("engine", "pair"), DIFFERENTIATED, indirect=True)
def test_regressor_and_parameters(pair: Pair) -> None:
    s, there = pair.state, pair.there
    regressor = pair.each(lambda data, q, v, a: pin.computeJointTorqueRegressor(there, data, q, v, a), "v", "a")
    close(lw.torque_regressor(pair.model, s.q, s.v, s.a), regressor, 1e-10)
    parameters = [inertia.toDynamicParameters() for inertia, n in zip(there.inertias, there.nvs, strict=True) if n]
    close(pair.model.inertial_parameters, np.array(parameters), 1e-12)


@pytest.mark.parametrize(("engine", "pair"), DIFFERENTIATED[2:], indirect=True)
def test_derivatives_of_frames_and_momentum(pair: Pair) -> None:
    s, there = pair.state, pair.there
    ids = [there.getFrameId(frame) for frame in pair.frames]

    def frames(data: pin.Data, q: Array, v: Array, a: Array, there_seen: Any) -> Array:
        pin.computeForwardKinematicsDerivatives(there, data, q, v, a)
        velocities = [pin.getFrameVelocityDerivatives(there, data, i, there_seen) for i in ids]
        accelerations = [pin.getFrameAccelerationDerivatives(there, data, i, there_seen)[1:] for i in ids]
        return np.array(
            [np.vstack(each) for each in (*zip(*velocities, strict=True), *zip(*accelerations, strict=True))]
        )

    for reference in ("local", "world"):
        expected = np.moveaxis(pair.each(partial(frames, there_seen=NAMES[reference]), "v", "a"), -3, 0)
        found = lw.frame_velocity_derivatives(pair.model, s.q, s.v, pair.frames, reference)
        for one, other in zip(found, expected[:2], strict=True):
            close(one, other, 1e-10)
        if reference == "local":  # seen from the world, Pinocchio's differ from differences of its accelerations
            accelerations = lw.frame_acceleration_derivatives(pair.model, s.q, s.v, s.a, pair.frames)
            for one, other in zip(accelerations, expected[2:], strict=True):
                close(one, other, 1e-10)
    _, dh_dv = lw.momentum_derivatives(pair.model, s.q, s.v)
    close(dh_dv, pair.each(lambda data, q: pin.ccrba(there, data, q, np.zeros(there.nv))), 1e-10)


@on_pairs()
def test_moving_on_the_manifold(pair: Pair) -> None:
    s, there = pair.state, pair.there
    step = 0.4 * s.v  # turns by less than pi
    moved = lw.integrate(pair.model, s.q, step)
    expected = pair.each(lambda data, q, v: pin.integrate(there, q, 0.4 * v), "v")
    after = replace(pair, state=replace(s, q=moved, q1=s.q))
    close(after.each(lambda data, q: q), expected, 1e-10)
    differences = after.each(lambda data, q, begin: pin.difference(there, pair.q_there(begin), q), "q1")
    close(lw.difference(pair.model, s.q, moved), differences, 1e-10)
