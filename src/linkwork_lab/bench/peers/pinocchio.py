"""Pinocchio with the same bodies, joints and frame.

The model is built joint by joint with Pinocchio's specialised joint types where the axis is a coordinate axis, as its
own URDF reader does.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import Model
from linkwork.joints import Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.spatial import Transform
from linkwork_lab.bench.cases import STEP, Case, States
from linkwork_lab.bench.contest import Contestant, UnavailableError, by_loop, flat, library
from linkwork_lab.bench.machine import available_memory

Array = NDArray[np.float64]
Call = tuple[str, Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]


def note() -> str:
    """The instruction set of this build, as reported by its Eigen."""
    pin = _pin()
    try:
        simd = str(import_module("eigenpy").SimdInstructionSetsInUse())
    except (ImportError, AttributeError):
        simd = "unknown (the wheel on PyPI targets SSE2)"
    return f"Pinocchio {pin.__version__}, vector instructions compiled in: {simd}"


def create(model: Model) -> Pinocchio:
    size = 2 * 5 * 8.0 * model.nv**3  # about five tensors of nv³ numbers, temporarily twice
    if 1.2 * size > available_memory():
        raise UnavailableError(f"Pinocchio needs about {size / 1e9:.0f} GB for {model.name!r}")
    return Pinocchio(_pin(), model)


def _pin() -> Any:
    return library("pinocchio", "Pinocchio", "pin")


class Pinocchio:
    """A model and its data."""

    def __init__(self, pin: Any, model: Model) -> None:
        self.pin = pin
        self.model = there = pin.Model()
        there.gravity.linear = np.array(model.gravity)
        ids = [0]
        for body in model.bodies:
            joint = there.addJoint(
                ids[body.parent], _joint(pin, body.joint), _placement(pin, body.placement), body.joint_name
            )
            solid = model.body(body.name)
            inertia = pin.Inertia(solid.mass, np.array(solid.com), np.array(solid.inertia))
            there.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
            there.addFrame(pin.Frame(body.name, joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME), False)
            ids.append(joint)
        there.armature[:] = model.armature
        self.depth_first = _depth_first([body.parent for body in model.bodies])
        self.pools: dict[int, Any] = {1: pin.ModelPool(there, 1)}
        self.data = self.pools[1].getData(0)  # not one more: it takes gigabytes for a chain of 500

    def single(self, case: Case, states: States) -> Contestant | None:
        entry = self._function(case, states.frames(case))
        if entry is None or (case.name in _IN_ROWS and not self.depth_first):
            return None  # it requires, without checking, that the joints of every subtree are consecutive
        how, function, before, after = entry
        inputs = [(*before, *arguments, *after) for arguments in states.one_by_one(case)]
        answer = _IN_ROWS.get(case.name, flat)
        return Contestant(how, function, inputs, len(states), answer)

    def batch(self, case: Case, states: States, threads: int) -> Contestant | None:
        names = {"forward_dynamics": "abaInParallel", "inverse_dynamics": "rneaInParallel"}
        if case.base not in names:
            return by_loop(self.single, case, states, threads)
        name = names[case.base]
        if threads not in self.pools:
            self.pools[threads] = self.pin.ModelPool(self.model, threads)
        out = np.empty((len(states), self.model.nv))
        columns = [array.T for array in states.arguments(case)]  # a column for each state, contiguous
        inputs = [(threads, self.pools[threads], *columns, out.T)]
        return Contestant(
            f"pin.{name}", getattr(self.pin, name), inputs, len(states), lambda _raw, _k: out.ravel().copy()
        )

    def _function(self, case: Case, frames: list[str]) -> Call | None:
        """The function called, and its arguments before and after those of the state."""
        pin, model, data = self.pin, self.model, self.data
        both = (model, data)
        plain = {
            "forward_dynamics": "aba", "inverse_dynamics": "rnea", "mass_matrix": "crba",
            "nonlinear_effects": "nonLinearEffects", "gravity_torques": "computeGeneralizedGravity",
            "centre_of_mass": "centerOfMass", "inverse_dynamics_derivatives": "computeRNEADerivatives",
            "forward_dynamics_derivatives": "computeABADerivatives", "mass_matrix_inverse": "computeMinverse",
            "torque_regressor": "computeJointTorqueRegressor",
        }  # fmt: skip
        if case.base in plain:
            name = plain[case.base]
            return f"pin.{name}", getattr(pin, name), both, ()
        if case.base in ("integrate", "difference"):
            return f"pin.{case.base}", getattr(pin, case.base), (model,), ()
        if case.base == "jacobian":
            return "pin.computeFrameJacobian", pin.computeFrameJacobian, both, (model.getFrameId(frames[0]), pin.LOCAL)
        if case.base == "operational_inertia_inverse":
            return "pin.computeDelassusMatrix", pin.computeDelassusMatrix, both, (*self._contacts(frames), 0.0)
        if case.base == "constrained_dynamics":
            models, datas = self._contacts(frames)
            pin.initConstraintDynamics(model, data, models, datas)
            return (
                "pin.constraintDynamics",
                pin.constraintDynamics,
                both,
                (models, datas, pin.ProximalSettings(0, 0, 1)),
            )
        several = self._steps(frames[0]).get(case.base)
        return several and (*several, (), ())

    def _contacts(self, frames: list[str]) -> tuple[Any, Any]:
        """Frames welded to the world, whose Delassus matrix is Λ⁻¹."""
        pin, models, datas = self.pin, self.pin.StdVec_RigidConstraintModel(), self.pin.StdVec_RigidConstraintData()
        for name in frames:
            frame = self.model.frames[self.model.getFrameId(name)]
            kind, where = pin.ContactType.CONTACT_6D, (frame.parentJoint, frame.placement)
            models.append(pin.RigidConstraintModel(kind, self.model, *where, pin.LOCAL))
            datas.append(models[len(models) - 1].createData())
        return models, datas

    def _steps(self, frame: str) -> dict[str, tuple[str, Callable[..., Any]]]:
        """Cases that take more than one call."""
        pin, model, data, tip = self.pin, self.model, self.data, self.model.getFrameId(frame)
        zero = np.zeros(model.nv)

        def placement(q: Array) -> Any:
            pin.forwardKinematics(model, data, q)
            return pin.updateFramePlacement(model, data, tip).homogeneous

        def velocity(q: Array, v: Array) -> Any:
            pin.forwardKinematics(model, data, q, v)
            return pin.getFrameVelocity(model, data, tip, pin.LOCAL).vector

        def acceleration(q: Array, v: Array, a: Array = zero) -> Any:
            pin.forwardKinematics(model, data, q, v, a)
            return pin.getFrameAcceleration(model, data, tip, pin.LOCAL).vector

        def velocity_derivatives(q: Array, v: Array) -> Any:
            pin.computeForwardKinematicsDerivatives(model, data, q, v, zero)
            return pin.getFrameVelocityDerivatives(model, data, tip, pin.LOCAL)

        def acceleration_derivatives(q: Array, v: Array, a: Array) -> Any:
            pin.computeForwardKinematicsDerivatives(model, data, q, v, a)
            return pin.getFrameAccelerationDerivatives(model, data, tip, pin.LOCAL)[1:]

        def energy(q: Array, v: Array) -> Any:
            return pin.computeKineticEnergy(model, data, q, v), pin.computePotentialEnergy(model, data, q)

        def momentum(q: Array, v: Array) -> Any:
            return pin.computeCentroidalMomentum(model, data, q, v).vector

        nv, step = model.nv, np.empty((2 * model.nv, 3 * model.nv))
        ahead, after = step[:nv], step[nv:]

        def linearise(q: Array, v: Array, tau: Array) -> Array:
            """The Jacobian of a step, v⁺ = v + h a, then q⁺ = q ⊕ h v⁺, with columns for q, v and tau."""
            da_dq, da_dv, upper = pin.computeABADerivatives(model, data, q, v, tau)
            after[:, :nv], after[:, nv : 2 * nv] = STEP * da_dq, STEP * da_dv
            after[:, 2 * nv :] = STEP * (np.triu(upper) + np.triu(upper, 1).T)
            np.einsum("ii->i", after[:, nv : 2 * nv])[:] += 1.0
            by_q, by_v = pin.dIntegrate(model, q, STEP * (v + STEP * data.ddq))
            ahead[:] = STEP * (by_v @ after)
            ahead[:, :nv] += by_q
            return step

        return {
            "linearise": ("pin.computeABADerivatives, pin.dIntegrate", linearise),
            "forward_kinematics": ("pin.forwardKinematics", placement),
            "frame_velocity": ("pin.forwardKinematics", velocity),
            "frame_acceleration": ("pin.forwardKinematics", acceleration),
            "jacobian_drift": ("pin.forwardKinematics", acceleration),
            "frame_velocity_derivatives": ("pin.computeForwardKinematicsDerivatives", velocity_derivatives),
            "frame_acceleration_derivatives": ("pin.computeForwardKinematicsDerivatives", acceleration_derivatives),
            "energy": ("pin.computeKineticEnergy, pin.computePotentialEnergy", energy),
            "momentum": ("pin.computeCentroidalMomentum", momentum),
        }


def _depth_first(parents: list[int]) -> bool:
    """Whether each body's parent is the body before it or one of that one's ancestors."""
    path = [0]
    for body, parent in enumerate(parents, 1):
        if parent not in path:
            return False
        path = [*path[: path.index(parent) + 1], body]
    return True


def _symmetric(matrix: Any, _: int) -> Array:
    upper = np.triu(matrix)  # Pinocchio need not fill the rest
    return (upper + np.triu(upper, 1).T).ravel()


def _symmetric_last(matrices: Any, _: int) -> Array:
    """Three matrices, the last of which is symmetric."""
    return np.concatenate([np.ravel(matrices[0]), np.ravel(matrices[1]), _symmetric(matrices[2], 0)])


def _two_blocks(step: Any, _: int) -> Array:
    """A and B, from one matrix with both side by side."""
    columns = step.shape[-1] // 3 * 2
    return np.concatenate([np.ravel(step[:, :columns]), np.ravel(step[:, columns:])])


_IN_ROWS: dict[str, Callable[[Any, int], Array]] = {
    "linearise": _two_blocks,
    "mass_matrix": _symmetric,
    "mass_matrix_inverse": _symmetric,
    "inverse_dynamics_derivatives": _symmetric_last,
    "forward_dynamics_derivatives": _symmetric_last,
    "torque_regressor": flat,
    "constrained_dynamics 2": flat,
}
"""Functions that are correct only for joints in depth-first order, and how to complete their results."""


def _joint(pin: Any, joint: Joint) -> Any:
    match joint:
        case Revolute(axis) | Prismatic(axis):
            kind = type(joint).__name__
            direction = tuple(float(x) for x in axis.direction.numbers())
            for letter, unit in zip("XYZ", np.eye(3), strict=True):
                if direction == tuple(unit):
                    return getattr(pin, f"JointModel{kind[0]}{letter}")()
            return getattr(pin, f"JointModel{kind}Unaligned")(*direction)
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
    raise UnavailableError(f"Pinocchio has no joint like {type(joint).__name__}")


def _placement(pin: Any, place: Transform) -> Any:
    return pin.SE3(np.array(place.rotation.numbers()).reshape(3, 3), np.array(place.translation.numbers()))
