"""Hostile arguments for every public callable: a call returns a valid result or raises one of linkwork's errors.

Every public function, constructor and method is found by introspection of the package; ``VALID`` holds arguments for
those that need some. A call takes valid arguments, of which one or two are replaced by something hostile. Calls run in
child processes with limits on memory and processor time, so that a crash or a hang is attributed to its call.

    python tests/fuzz.py --calls 100000 --seed 7        # what make fuzz does
    python tests/fuzz.py --seed 7 --only 1234           # one of these calls again, with its traceback
    python tests/fuzz.py --each                         # each argument replaced by each hostile thing, once
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import faulthandler
import importlib
import inspect
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.errors import LinkworkError, LinkworkWarning
from linkwork.spatial import Transform

MOST_MEMORY = 3 * 2**30
"""Bytes of address space beyond those of a child at its start."""
MOST_TAKEN = 2**29
"""Bytes by which one call may raise a child's peak memory: no call should allocate more."""
MOST_SECONDS = 30
"""Seconds of processor time for one call, which does not depend on the load of the machine."""


# Valid arguments


@cache
def model() -> lw.Model:
    """A small mechanism with an angle, a length, a rotation and a free body; with limits, damping and friction."""
    builder = lw.Builder("fuzzed")
    solid: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.2), "inertia": (0.1, 0.1, 0.1)}
    builder.add_body("column", joint=lw.joints.Prismatic("z"), **solid)
    hinge = lw.joints.Revolute("y")
    builder.add_body("arm", "column", hinge, lower=-3.0, upper=3.0, damping=0.1, friction=0.1, **solid)
    builder.add_body("slide", "arm", lw.joints.Prismatic((1, 1, 0)), lw.placement((0.3, 0, 0)), effort=100.0, **solid)
    builder.add_body("hand", "slide", lw.joints.Spherical(), lw.placement((0.2, 0, 0), (0.1, 0.2, 0.3)), **solid)
    builder.add_body("box", joint=lw.joints.Free(), placement=lw.placement((1, 0, 0)), actuated=True, **solid)
    builder.add_frame("tip", "hand", lw.placement((0.1, 0, 0)))
    return builder.build()


@cache
def joints_only() -> lw.Model:
    return lw.mechanisms.double_pendulum()


@cache
def loadable() -> lw.Model:
    """One that a file can hold."""
    return model().locked({"joint_hand": [0.0, 0.0, 0.0, 1.0]})


@cache
def motion() -> lw.Trajectory:
    return lw.simulate(joints_only(), [0.5, 0.2], [0.0, 0.0], 0.05, 0.01)


def numbers(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=count)


@cache
def feet() -> list[lw.Contact]:
    return [lw.Contact("tip", lw.Sphere(0.1))]


def configuration() -> np.ndarray:
    return lw.random_state(model(), 1)[0]


def builder() -> lw.Builder:
    started = lw.Builder("started")
    started.add_body("arm", joint=lw.joints.Revolute("y"), mass=1.0, com=(0.1, 0.0, 0.0))
    return started


@cache
def folder() -> Path:
    """The folder of this process, for files that calls read and write; it is removed when the process ends."""
    kept = tempfile.TemporaryDirectory(prefix="linkwork-fuzz-", ignore_cleanup_errors=True)
    atexit.register(kept.cleanup)
    return Path(kept.name)


def enter_folder() -> None:
    """Work in a subfolder of it, so that "../up" is in it, too."""
    inner = folder() / "inner"
    inner.mkdir(exist_ok=True)
    os.chdir(inner)


@cache
def urdf() -> str:
    path = folder() / "fuzzed.urdf"
    path.write_text('<robot name="r"><link name="a"/></robot>')
    return str(path)


@cache
def saved() -> str:
    return str(motion().save(folder() / "kept.npz"))


@cache
def driven() -> lw.Model:
    """The same with a motor and a servo."""
    servo = lw.Actuator("servo", {"joint_slide": 1.0}, gain=5.0, bias=(0.0, -5.0, -1.0), control_range=(-1.0, 1.0))
    return replace(model(), actuators=(lw.Actuator("motor", {"joint_arm": 2.0}), servo))


def task() -> lw.control.Task:
    return lw.control.Task(lw.Point("tip", axes="position"), [0.3, 0.1, 0.2])


def held() -> lw.control.HeldObject:
    return lw.control.HeldObject("box", [lw.Weld("hand", "box")], np.eye(4))


TRIANGLE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
"""The places of three hands on an object."""


def controller() -> lw.control.OperationalSpaceController:
    return lw.control.OperationalSpaceController(model(), [task()], lw.control.Posture(configuration()))


def basis() -> lw.ChangeOfBasis:
    return lw.change_of_basis(np.diag([1.0, 2.0, 3.0]), S1=[[1.0], [0.0], [1.0]])


def space() -> lw.OperationalSpace:
    return lw.operational_space(model(), configuration(), numbers(12), ["tip"], damping=0.1)


BY_NAME: dict[str, Callable[[], Any]] = {
    "model": model,
    "q": configuration,
    "q0": configuration,
    "q1": lambda: lw.random_state(model(), 2)[0],
    "v": lambda: numbers(12, 1),
    "dv": lambda: numbers(12, 2),
    "a": lambda: numbers(12, 3),
    "tau": lambda: numbers(12, 4),
    "dq": lambda: numbers(12, 6),
    "da": lambda: numbers(12, 7),
    "dtau": lambda: numbers(12, 8),
    "weights": lambda: numbers(12, 9),
    "df_ext": lambda: numbers(30, 10).reshape(5, 6),
    "dparameters": lambda: numbers(50, 11).reshape(5, 10),
    "f_ext": lambda: numbers(30, 5).reshape(5, 6),
    "frames": lambda: ["tip", lw.Point("box", (0.1, 0.2, 0.3))],
    "points": lambda: ["tip"],
    "held": held,
    "trajectory": motion,
    "t": lambda: 0.3,
    "placement": lambda: lw.placement((0.1, 0, 0)),
    "frame_a": lambda: "tip",
    "frame_b": lambda: "box",
    "axis": lambda: "y",
}
"""Valid arguments by the name of a parameter. A parameter with a default takes that, if it is not here."""

VALID: dict[str, dict[str, Callable[[], Any]]] = {
    "Actuator": {"name": lambda: "motor", "joints": lambda: {"joint_arm": 2.0}},
    "actuator_torques": {"model": driven, "control": lambda: numbers(2, 12)},
    "external_wrench": {"wrenches": lambda: {"tip": numbers(6, 12), lw.Point("box", axes="position"): numbers(3, 13)}},
    "save": {"model": loadable, "path": lambda: str(folder() / "written.urdf")},
    "effective_mass": {"point": lambda: "tip", "direction": lambda: [1.0, 2.0, 0.0]},
    "constrained_dynamics": {
        "constraints": lambda: [lw.Ball("tip")],
        "stabilisation": lambda: 0.1,
        "proximal": lambda: 1e-6,
    },
    "constrained_dynamics_and_reactions": {
        "constraints": lambda: [lw.Ball("tip")],
        "stabilisation": lambda: 0.1,
        "proximal": lambda: 1e-6,
    },
    "constrained_dynamics_derivatives": {"constraints": lambda: [lw.Ball("tip")], "stabilisation": lambda: 0.1},
    "impact": {"constraints": lambda: [lw.Ball("tip")], "proximal": lambda: 1e-6},
    "constrained_inverse_dynamics": {
        "constraints": lambda: [lw.Ball("tip")],
        "actuated": lambda: np.ones(12, dtype=bool),
    },
    "inverse_kinematics": {
        "targets": lambda: lw.forward_kinematics(model(), configuration(), ["tip"]),
        "frames": lambda: ["tip"],
        "restarts": lambda: 2,
        "weights": lambda: [2.0],
    },
    "follow_path": {
        "targets": lambda: np.tile(lw.forward_kinematics(model(), configuration(), ["tip"]), (3, 1, 1, 1)),
        "frames": lambda: ["tip"],
        "restarts": lambda: 2,
        "weights": lambda: [2.0],
        "dt": lambda: 0.01,
    },
    "pose_error": {
        "X": lambda: np.eye(4),
        "X_target": lambda: lw.forward_kinematics(model(), configuration(), ["tip"]),
    },
    "close_loops": {"constraints": lambda: [lw.PointOnPlane("tip")]},
    "contact_dynamics": {"contacts": feet, "dt": lambda: 0.01},
    "contact_points": {"contacts": feet},
    "collision_contacts": {"against": lw.Plane},
    "mechanisms.rod": {"mass": lambda: 1.0, "length": lambda: 0.5, "radius": lambda: 0.1},
    "mechanisms.box": {"mass": lambda: 1.0, "size": lambda: [0.1, 0.2, 0.3]},
    "mechanisms.ball": {"mass": lambda: 1.0, "radius": lambda: 0.1},
    "Sphere": {"radius": lambda: 0.1},
    "Capsule": {"radius": lambda: 0.1, "half_length": lambda: 0.2},
    "Cylinder": {"radius": lambda: 0.1, "half_length": lambda: 0.2},
    "Box": {"half_sides": lambda: (0.1, 0.2, 0.3)},
    "Ellipsoid": {"half_axes": lambda: (0.1, 0.2, 0.3)},
    "HeightField": {"heights": lambda: np.arange(6.0).reshape(2, 3), "half_size": lambda: (1.0, 2.0)},
    "Contact": {
        "frame": lambda: "tip",
        "shape": lambda: lw.Sphere(0.1),
        "on": lambda: "world",
        "placement": lambda: lw.placement((0.1, 0, 0)),
    },
    "Medium": {"boxes": lambda: (("tip", lw.placement(), (0.1, 0.2, 0.3)),)},
    "Contacts": {"each": lambda: tuple(feet())},
    "Coupling": {"joint_a": lambda: "joint_arm", "joint_b": lambda: "joint_slide"},
    "Rolling": {"radius": lambda: 0.3},
    "operational_inertia": {"damping": lambda: 0.1},
    "operational_space": {"damping": lambda: 0.1},
    "operational_inertia_rate": {"frames": lambda: [lw.Point("tip", axes="position")]},
    "operational_inertia_derivatives": {"frames": lambda: [lw.Point("tip", axes="position")]},
    "dynamically_consistent_inverse": {"frames": lambda: [lw.Point("tip", axes="position")]},
    "null_space_torque": {"frames": lambda: [lw.Point("tip", axes="position")]},
    "operational_bias": {"frames": lambda: [lw.Point("tip", axes="position")]},
    "with_inertial_parameters": {"parameters": lambda: model().inertial_parameters},
    "simulate": {
        "duration": lambda: 0.02,
        "dt": lambda: 0.01,
        "tau": lambda: None,
        "f_ext": lambda: None,
        "progress": lambda: False,
    },
    "linearise": {"dt": lambda: 0.01},
    "rollout": {"dt": lambda: 0.01, "steps": lambda: 2, "f_ext": lambda: None},
    "BreakingForce": {"constraint": lambda: lw.Ball("tip"), "force": lambda: 10.0},
    "Event": {"when": lambda: 0.1, "attach": lambda: lw.Ball("tip")},
    "export": {"function": lambda: "energy", "folder": lambda: str(folder() / "exported")},
    "Rollout.trajectory": {"index": lambda: 0},
    "change_of_basis": {"M": lambda: np.diag([1.0, 2.0, 3.0]), "S1": lambda: [[1.0], [0.0], [1.0]]},
    "ChangeOfBasis.constrained": {"v": lambda: numbers(3)},
    "ChangeOfBasis.constrained_by_difference": {"v": lambda: numbers(3)},
    "ChangeOfBasis.constraint_force": {"v": lambda: numbers(3)},
    "ChangeOfBasis.coordinates": {"beta": lambda: [1.0]},
    "ChangeOfBasis.any_T1": {"A": lambda: np.eye(3)},
    "OperationalSpace.force": {"acceleration": lambda: numbers(6)},
    "OperationalSpace.torque": {"force": lambda: numbers(6)},
    "load": {"path": urdf},
    "draw": {"frames": lambda: ["tip"]},
    "animate": {"path": lambda: str(folder() / "motion.gif"), "frames": list, "fps": lambda: 20.0},
    "motion_sequence": {"times": lambda: 2, "frames": list},
    "save_html": {"path": lambda: str(folder() / "motion.html"), "frames": list, "fps": lambda: 20.0},
    "set_threads": {"count": lambda: 1},
    "random_state": {"rng": lambda: 0},
    "Builder.add_body": {
        "name": lambda: "new",
        "parent": lambda: "arm",
        "joint": lambda: lw.joints.Revolute("x"),
        "mass": lambda: 1.0,
        "com": lambda: (0.1, 0.2, 0.3),
        "inertia": lambda: (0.1, 0.1, 0.1),
    },
    "Builder.add_frame": {"name": lambda: "new", "body": lambda: "arm"},
    "Builder.add_model": {"parent": lambda: "arm", "prefix": lambda: "other_"},
    "Model": {"name": lambda: "model", "bodies": lambda: model().bodies, "frames": lambda: model().frames},
    "Model.body_index": {"name": lambda: "arm"},
    "Model.joint_index": {"name": lambda: "joint_arm"},
    "Model.frame": {"name": lambda: "tip"},
    "Model.frame_index": {"name": lambda: "tip"},
    "Model.joint": {"name": lambda: "joint_arm"},
    "Model.body": {"name": lambda: "arm"},
    "Model.body_of": {"frame": lambda: "tip"},
    "Model.q_slice": {"name": lambda: "joint_hand"},
    "Model.v_slice": {"name": lambda: "joint_hand"},
    "Model.configuration": {"joints": lambda: {"joint_arm": 0.3, "joint_hand": [0.0, 0.0, 0.0, 1.0]}},
    "Model.locked": {"joints": lambda: {"joint_arm": 0.3, "joint_slide": 0.1}, "q": lambda: None},
    "Model.with_gravity": {"gravity": lambda: (0.0, 0.0, -1.62)},
    "Model.with_payload": {
        "frame": lambda: "tip",
        "mass": lambda: 2.0,
        "com": lambda: (0.1, 0.0, 0.0),
        "inertia": lambda: (0.1, 0.1, 0.1),
    },
    "Model.with_inertias": {"inertias": lambda: {"arm": {"mass": 2.0}, "slide": model().inertial_parameters[2]}},
    "Model.subtree": {"body": lambda: "slide"},
    "Model.renamed": {"prefix": lambda: "other_", "names": lambda: {"tip": "end"}, "name": lambda: "renamed"},
    "Model.permutation": {"names": lambda: list(model().joint_names)},
    "Frame": {"name": lambda: "frame", "body": lambda: 1},
    "Point": {"frame": lambda: "tip"},
    "Trajectory": {
        name: lambda name=name: getattr(motion(), name) for name in inspect.signature(lw.Trajectory).parameters
    },
    "Trajectory.__getitem__": {"which": lambda: slice(0, 3)},
    "Trajectory.resample": {"times": lambda: 0.01},
    "Trajectory.save": {"path": lambda: str(folder() / "motion.npz")},
    "Trajectory.load": {"path": saved, "model": joints_only},
    "Trajectory.plot": {"joints": lambda: "joint1"},
    "mechanisms.serial_chain": {"n": lambda: 2},
    "mechanisms.star": {"n": lambda: 2},
    "mechanisms.rope": {"n": lambda: 2},
    "mechanisms.binary_tree": {"depth": lambda: 2},
    "mechanisms.by_name": {"text": lambda: "serial_chain:2"},
    "control.Constant": {"value": lambda: [1.0, 2.0]},
    "control.CubicSpline": {"times": lambda: [0.0, 1.0, 2.0], "values": lambda: [[0.0], [1.0], [0.0]]},
    "control.MinimumJerk": {"start": lambda: [0.0], "end": lambda: [1.0], "duration": lambda: 1.0},
    "control.Task": {"point": lambda: lw.Point("tip", axes="position"), "reference": lambda: [0.3, 0.1, 0.2]},
    "control.Task.error": {"placement": lambda: np.eye(4)},
    "control.Impedance": {"point": lambda: lw.Point("tip", axes="position"), "reference": lambda: [0.3, 0.1, 0.2]},
    "control.Impedance.error": {"placement": lambda: np.eye(4)},
    "control.Impedance.energy": {"placement": lambda: np.eye(4)},
    "control.VirtualLinkage": {"placements": lambda: TRIANGLE},
    "control.VirtualLinkage.wrenches": {"resultant": lambda: numbers(6), "tensions": lambda: numbers(3)},
    "control.VirtualLinkage.measured": {"wrenches": lambda: numbers(18).reshape(3, 6)},
    "control.HeldObject": {
        "body": lambda: "box",
        "welds": lambda: [lw.Weld("hand", "box")],
        "reference": lambda: np.eye(4),
        "internal": lambda: numbers(6).reshape(1, 6),
    },
    "control.HeldObject.error": {"placement": lambda: np.eye(4)},
    "control.AugmentedObject.internal": {"wrenches": lambda: numbers(6).reshape(1, 6)},
    "control.Posture": {"kp": lambda: 10.0},
    "control.OperationalSpaceController": {
        "levels": lambda: [task()],
        "posture": lambda: lw.control.Posture(configuration()),
    },
    "control.ComputedTorque": {"reference": configuration},
    "control.PDPlusGravity": {"reference": configuration},
    "control.CentreOfMass": {"reference": lambda: [0.0, 0.0, 1.0]},
    "control.Support": {"frame": lambda: "tip", "corners": lambda: [[0.1, 0.0, 0.0], [-0.1, 0.0, 0.0]]},
    "control.WholeBodyController": {
        "levels": lambda: [task()],
        "supports": lambda: [lw.control.Support("tip")],
        "posture": lambda: lw.control.Posture(configuration()),
    },
}
"""Valid arguments of one callable, before those by name."""

INSTANCES: dict[str, Callable[[], Any]] = {
    "Builder": builder,
    "Model": model,
    "Trajectory": motion,
    "Rollout": lambda: lw.rollout(joints_only(), [[0.5, 0.2]], [0.0, 0.0], dt=0.01, steps=2),
    "ChangeOfBasis": basis,
    "OperationalSpace": space,
    "control.Task": task,
    "control.Impedance": lambda: lw.control.Impedance(lw.Point("tip", axes="position"), [0.3, 0.1, 0.2]),
    "control.VirtualLinkage": lambda: lw.control.VirtualLinkage(TRIANGLE),
    "control.HeldObject": held,
    "control.AugmentedObject": lambda: lw.control.augmented_object(model(), configuration(), numbers(12), held()),
    "control.OperationalSpaceController": controller,
    "control.ComputedTorque": lambda: lw.control.ComputedTorque(model(), configuration()),
    "control.PDPlusGravity": lambda: lw.control.PDPlusGravity(model(), configuration()),
    "control.WholeBodyController": lambda: lw.control.WholeBodyController(model(), [task()], []),
    "control.Constant": lambda: lw.control.Constant([1.0]),
    "control.CubicSpline": lambda: lw.control.CubicSpline([0.0, 1.0], [[0.0], [1.0]]),
    "control.MinimumJerk": lambda: lw.control.MinimumJerk([0.0], [1.0], 1.0),
}
"""The classes whose methods are called, each on a new valid object."""

LEFT_OUT = {
    **dict.fromkeys(
        (
            *("ChangeOfBasis", "CompiledFunction", "ConstrainedDerivatives", "Gradients", "IKResult", "Linearised"),
            *("EventRecord", "Happened", "OperationalSpace", "Rollout", "SystemReport"),
        ),
        "a result, made by a function",
    ),
    **dict.fromkeys(("control.AugmentedObject", "control.Command", "control.Level", "control.LinkForces"), "a result"),
    "control.WholeBodyCommand": "a result",
    **dict.fromkeys(("Constraint", "Controller", "control.Reference", "joints.Joint"), "abstract"),
    "control.Sample": "what a reference of the user's own gives",
    "control.Task.wanted": "for the controller",
    "control.Task.asked": "for the controller",
    "control.Task.passive": "for the controller",
    "control.Impedance.wanted": "for the controller",
    "control.Impedance.asked": "for the controller",
    "control.Impedance.passive": "for the controller",
    "control.HeldObject.linkage": "of three hands or more; see test_virtual_linkage.py",
    "control.HeldObject.wanted": "for the controller",
    "control.HeldObject.asked": "for the controller",
    "control.HeldObject.passive": "for the controller",
    **dict.fromkeys(("show", "View"), "starts a server; see test_show.py"),
    **dict.fromkeys(("compile", "jvp", "vjp", "jacobian_of"), "takes a function; see OPERATIONS, test_compile.py"),
    "evaluate": "takes any scalars, which it never looks at; see test_scalars.py",
    "interpreted": "takes nothing",
    "form": "does nothing until it is entered; tests/test_plans.py names wrong forms",
    "get_threads": "takes nothing",
    "system_check": "takes nothing",
}
"""Public callables that are not called, and why. Methods of joints and the types of ``lw.spatial`` are others: they
compute with any scalar and never ask what it is."""


# Checks of a result


def use_point(point: lw.Point) -> Any:
    return lw.jacobian(model(), configuration(), [point])


def use_constraint(constraint: lw.Constraint) -> Any:
    return lw.constrained_dynamics(model(), configuration(), numbers(12), numbers(12), [constraint], None, 0.1, 1e-6)


def use_model(made: lw.Model) -> Any:
    if made.nv > 50:
        return None
    q, v = lw.random_state(made, 0)
    lw.energy(made, q, v)
    return lw.forward_dynamics(made, q, v, v)


def use_joint(joint: lw.joints.Joint) -> Any:
    started = builder()
    started.add_body("next", "arm", joint, mass=1.0, inertia=(1.0, 1.0, 1.0))
    return use_model(started.build())


def use_reference(reference: lw.control.Reference) -> Any:
    return tuple(reference.at(0.3)), tuple(reference.at(5.0))


def use_goal(goal: Any) -> Any:
    return lw.control.OperationalSpaceController(model(), [goal]).torque(0.1, configuration(), numbers(12))


def use_posture(posture: lw.control.Posture) -> Any:
    made = lw.control.OperationalSpaceController(model(), [task()], posture)
    return made.torque(0.1, configuration(), numbers(12))


def use_frame(frame: lw.Frame) -> Any:
    return use_model(lw.Model("framed", model().bodies, (frame,)))


USES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (lw.Point, use_point),
    (lw.Constraint, use_constraint),
    (lw.Model, use_model),
    (lw.Frame, use_frame),
    (lw.joints.Joint, use_joint),
    (lw.control.Reference, use_reference),
    (lw.control.Task, use_goal),
    (lw.control.HeldObject, use_goal),
    (lw.control.Posture, use_posture),
)
"""Operations on an object that was made from hostile arguments: it must be as good as any other."""

NOT_ALWAYS_FINITE = {"effective_mass", "Trajectory"}
"""What a point feels that cannot move, and what a trajectory was made of."""

ARRAYS = {"q", "q0", "q1", "v", "dv", "a", "tau", "f_ext", "direction", "acceleration", "force", "beta"}
ARRAYS |= {"dq", "da", "dtau", "weights", "df_ext", "dparameters"}
ARRAYS |= {"control"}
OPTIONS = {"method", "reference", "frame", "damping", "stabilisation", "proximal", "t"}
"""Arguments on which the last axes of a result do not depend; array arguments may add leading axes."""


def shapes(result: Any) -> list[tuple[int, ...]]:
    """Of all arrays in a result."""
    if isinstance(result, tuple):
        return [shape for one in result for shape in shapes(one)]
    return [result.shape] if isinstance(result, np.ndarray) else []


@cache
def usual_shapes(name: str) -> list[tuple[int, ...]]:
    """The shapes that a callable returns for its valid arguments."""
    target = next(target for target in targets() if target.name == name)
    with lw.interpreted():
        return shapes(target.get()(**{name: valid() for name, valid in target.arguments.items()}))


def misshapen(call: Call, result: Any) -> str | None:
    """Whether an array has other last axes than it has for valid arguments."""
    if not call.hostile.keys() <= ARRAYS | OPTIONS or call.target.name in ("rollout", "simulate"):
        return None
    for usual, came in zip(usual_shapes(call.target.name), shapes(result), strict=True):
        if came[len(came) - len(usual) :] != usual:
            return f"a result of shape {came} in place of {usual}"
    return None


def unsound(result: Any) -> str | None:
    """The defect of returned numbers, if there is one."""
    if isinstance(result, lw.Trajectory):
        return unsound([result.t, result.q, result.v, result.a, result.tau, result.constraint_forces])
    if isinstance(result, lw.IKResult):
        return unsound([result.q, result.error, result.iterations])
    if isinstance(result, tuple | list):
        return next((reason for one in result if (reason := unsound(one))), None)
    if isinstance(result, np.ndarray) and result.dtype.kind == "f" and not np.isfinite(result).all():
        return "a result that is not finite"
    if isinstance(result, np.ndarray) and result.dtype.kind not in "fi":
        return f"a result of dtype {result.dtype}"
    return None


# Callables


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "*": lambda x, constant: x * constant,
    "reversed -": lambda x, constant: constant - x,
    "@": lambda x, constant: constant @ x,
    "where": lambda x, constant: np.where(x > 0.0, constant, x),
    "concatenate": lambda x, constant: np.concatenate([x, constant]),
    "mass_matrix": lambda x, constant: lw.mass_matrix(joints_only(), x[:2] + constant[:2]),
    "energy": lambda x, constant: lw.energy(joints_only(), x[:2], constant[:2]),
    "result": lambda x, constant: {"x": x, "constant": constant},
}
CONSTANTS = {"constant": lambda: numbers(3, 14), "x": lambda: numbers(3, 15)}


def compiled(operation: Callable[[Any, Any], Any], constant: Any, x: Any) -> Any:
    """The result of a compiled function that has a constant, which must not be one that a mask hides."""
    found = lw.compile(lambda x: operation(x, constant), x=3)(x)
    assert not np.ma.isMaskedArray(constant) or not np.ma.getmaskarray(constant).any(), "masked numbers were used"
    return tuple(found.values()) if isinstance(found, dict) else found


@dataclass(frozen=True)
class Target:
    """A public callable: how to get it (a method on a new object), and factories of its valid arguments."""

    name: str
    get: Callable[[], Callable[..., Any]]
    arguments: dict[str, Callable[[], Any]]


def targets() -> list[Target]:
    """Every public callable; an error if one needs arguments that are not known here."""
    found = []
    for prefix, module in (("", lw), ("control.", lw.control), ("mechanisms.", lw.mechanisms), ("joints.", lw.joints)):
        for name in module.__all__:
            thing = getattr(module, name)
            full = prefix + name
            if not callable(thing) or (full in LEFT_OUT and not isinstance(thing, type)):
                continue
            if isinstance(thing, type) and issubclass(thing, BaseException):
                continue
            if full not in LEFT_OUT:
                found.append(_target(full, lambda thing=thing: thing, thing))
            if full in INSTANCES:
                found += _methods(full, thing)
    for name, operation in OPERATIONS.items():
        found.append(Target(f"compile {name}", lambda operation=operation: partial(compiled, operation), CONSTANTS))
    missing = INSTANCES.keys() - {target.name.rpartition(".")[0] for target in found}
    assert not missing, f"nothing public is called of {missing}"
    return found


def _methods(owner: str, cls: type) -> Iterator[Target]:
    for name, _ in inspect.getmembers(cls, inspect.isfunction):
        full = f"{owner}.{name}"
        if (name.startswith("_") and name != "__getitem__") or full in LEFT_OUT:
            continue
        yield _target(full, lambda name=name: getattr(INSTANCES[owner](), name), getattr(INSTANCES[owner](), name))


def _target(name: str, get: Callable[[], Any], thing: Callable[..., Any]) -> Target:
    own, arguments = VALID.get(name, {}), {}
    for parameter in inspect.signature(thing).parameters.values():
        valid = own.get(parameter.name) or BY_NAME.get(parameter.name)
        if valid is None:
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            if parameter.default is parameter.empty:
                raise KeyError(f"VALID in tests/fuzz.py needs an argument {parameter.name!r} for {name}")
            valid = lambda default=parameter.default: default  # noqa: E731
        arguments[parameter.name] = valid
    return Target(name, get, arguments)


# Hostile arguments


def _refusing(name: str, *methods: str) -> Any:
    """An object some of whose methods raise."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no")

    return type(name, (), dict.fromkeys(methods, refuse))()


def _made_folder(name: str) -> Path:
    made = folder() / name
    made.mkdir(exist_ok=True)
    return made


def _made_pipe(name: str) -> str:
    path = folder() / name
    if not path.exists():
        os.mkfifo(path)
    return str(path)


@cache
def _made_socket(name: str) -> str:
    path = folder() / name
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    _kept.append(made)
    return str(path)


_kept: list[object] = []
"""What lives as long as this process."""


class _Executor:
    """Its futures are made from the result of a job."""

    def __init__(self, future: Callable[[Any], Any]) -> None:
        self.future = future

    def submit(self, function: Callable[[Any], Any], job: Any) -> Any:
        return self.future(function(job))


def _done(result: Any, error: BaseException | None = None) -> Future[Any]:
    future: Future[Any] = Future()
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
    return future


EXECUTORS: dict[str, Callable[[], Any]] = {
    "futures": lambda: _Executor(_done),
    "no futures": lambda: _Executor(lambda result: None),
    "futures without results": lambda: _Executor(lambda result: _done(None)),
    "futures of other results": lambda: _Executor(lambda result: _done(result[1:])),
    "futures of lists": lambda: _Executor(lambda result: _done(list(result))),
    "futures of other shapes": lambda: _Executor(lambda result: _done((*(part[:0] for part in result[:-1]), 0))),
    "futures that are cancelled": lambda: _Executor(lambda result: _done(None, CancelledError())),
    "futures of workers that ended": lambda: _Executor(lambda result: _done(None, SystemExit(3))),
}
"""Executors whose futures may be anything."""


class _Lying:
    def __array__(self, *_: Any, **__: Any) -> Any:
        return "no array"

    def __float__(self) -> Any:
        return "no number"

    __index__ = __int__ = __len__ = __bool__ = __iter__ = __float__


def nested(depth: int) -> list[Any]:
    found: list[Any] = [1.0]
    for _ in range(depth):
        found = [found]
    return found


# fmt: off
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 2**31, 2**63, 2**64, -(2**63), 10**12, 10**30,
    0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 5e-324, 1e-310, 1e200, 1e-200, 0.1,
    1j, complex("nan"), Fraction(1, 3), Decimal("0.1"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"),
    "", "x", "1.0", "auto", "tip", "\ud800", "\0", "x\ny", "../up", "nan", b"", b"1.0", b"tip", bytearray(b"x"),
    [], (), {}, set(), frozenset({1}), {"a": 1}, [[]], [[1.0], [1.0, 2.0]], [None], ["a"], [1.0, "a"], [[], [1.0]],
    range(3), range(10**12), int, object, Ellipsis, NotImplemented, slice(None), np, ValueError("x"), len,
    np.array(1.0), np.zeros(0), np.zeros((0, 3)), np.zeros(3), np.eye(3), np.zeros((1,) * 20), np.array("auto"),
    np.array(["tip"]), np.array(["auto", "auto"]), np.array([b"x"]), np.array([1.0, None]), np.array(None),
    np.zeros(3, "f8,i4"), np.zeros(3, "M8[s]"), np.zeros(3, "m8[s]"), np.datetime64("2020"), np.timedelta64(1, "s"),
    np.float16(1), np.longdouble(1), np.float32("nan"), np.int8(-1), np.uint64(2**63), np.complex64(1), np.True_,
    np.str_("tip"), np.bytes_(b"x"), np.void(b"x"), np.random.RandomState, np.random.Generator,
)
# fmt: on
ANYTHING: dict[str, Callable[[], Any]] = {repr(value)[:40]: lambda value=value: value for value in VALUES}
ANYTHING |= {
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "10**5000": lambda: 10**5000,
    "a long text": lambda: "a" * 10**6,
    "nested 60": lambda: nested(60),
    "nested 5000": lambda: nested(5000),
    "a generator": lambda: (0.5 for _ in range(3)),
    "an endless iterator": itertools.count,
    "an exhausted iterator": lambda: iter(()),
    "a lambda": lambda: lambda *_: 0.0,
    "an object": object,
    "masked": lambda: np.ma.masked,
    "memory of two dimensions": lambda: memoryview(np.zeros((2, 3))),
    "memory of no dimensions": lambda: memoryview(np.array(1.0)),
    "masked array": lambda: np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]),
    "masked in a list": lambda: [np.ma.masked, 1.0, 2.0],
    "a matrix": lambda: np.asmatrix([[1.0]]),
    "a random state": lambda: np.random.RandomState(0),
    "a bit generator": lambda: np.random.PCG64(0),
    "a recarray": lambda: np.rec.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")]),
    "an array that refuses": lambda: _refusing("Array", "__array__"),
    "a float that refuses": lambda: _refusing("Float", "__float__", "__index__"),
    "a length that refuses": lambda: _refusing("Length", "__len__", "__getitem__", "__iter__"),
    "equality that refuses": lambda: _refusing("Equal", "__eq__", "__hash__"),
    "truth that refuses": lambda: _refusing("Truth", "__bool__"),
    "a repr that refuses": lambda: _refusing("Repr", "__repr__", "__str__"),
    "a path that refuses": lambda: _refusing("Path", "__fspath__"),
    "a folder": lambda: str(folder()),
    "a folder as a picture": lambda: _made_folder("folder.png"),
    "a folder as a motion": lambda: _made_folder("folder.npz"),
    "a path below a file": lambda: f"{urdf()}/x.png",
    "a missing file": lambda: folder() / "missing" / "x.npz",
    "a file of another kind": urdf,
    "a pipe": lambda: _made_pipe("pipe.urdf"),
    "a socket": lambda: _made_socket("socket"),
    "an endless file": lambda: Path("/dev/zero"),
    "a full disk": lambda: "/dev/full",
    "a place for no file": lambda: "/proc/none/x.svg",
    "a liar": _Lying,
    "a model": joints_only,
    "a point": lambda: lw.Point("tip"),
    "a point of another model": lambda: lw.Point("nowhere"),
    "a weld": lambda: lw.Weld("tip"),
    "a joint": lambda: lw.joints.Free(),
    "a transform of nonsense": lambda: Transform("x", 3),
    "a trajectory": motion,
    "a trajectory's class": lambda: lw.Trajectory,
    "a reference": lambda: lw.control.Constant([1.0, 2.0, 3.0]),
}


ANYTHING |= EXECUTORS


def _huge_batch(good: np.ndarray) -> np.ndarray:
    return np.broadcast_to(good, (10**9, *good.shape))


def _with(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(good: np.ndarray) -> np.ndarray:
        bad = np.array(good, dtype=float)
        bad[(-1,) * bad.ndim] = value
        return bad

    return change


def _unaligned(good: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"x" + good.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(good.shape)


def _read_only(good: np.ndarray) -> np.ndarray:
    good = good.copy()
    good.flags.writeable = False
    return good


VARIANTS: dict[str, Callable[[np.ndarray], Any]] = {
    **{f"as {kind}": lambda good, kind=kind: good.astype(kind) for kind in "f2 f4 g i8 i1 O U c16 ? >f8 M8[s]".split()},
    **{f"with {value}": _with(value) for value in (np.nan, np.inf, 1e308, -1e200, 1e-320, 1e9)},
    "zeros": np.zeros_like,
    "times 1e300": lambda good: good * 1e300,
    "negative": lambda good: -good,
    "an axis more": lambda good: good[..., None],
    "a batch": lambda good: np.stack([good, good]),
    "a batch of three": lambda good: np.stack([good] * 3),
    "an empty batch": lambda good: np.empty((0, *good.shape)),
    "a huge batch": _huge_batch,
    "cut off": lambda good: good[..., :-1],
    "doubled": lambda good: np.concatenate([good, good], axis=-1),
    "flat": lambda good: good.ravel(),
    "transposed": lambda good: good.T,
    "Fortran": np.asfortranarray,
    "backwards": lambda good: good[::-1].copy()[::-1],
    "spread": lambda good: np.repeat(good, 2, axis=-1)[..., ::2],
    "read-only": _read_only,
    "unaligned": _unaligned,
    "masked": lambda good: np.ma.array(good, mask=np.arange(good.size).reshape(good.shape) == 0),
    "not masked": lambda good: np.ma.array(good),
    "masked in lists": lambda good: [np.ma.array(good.ravel(), mask=True)] * 2,
    "as a list": lambda good: good.tolist(),
    "as a tuple": lambda good: tuple(good),
    "as a generator": lambda good: (number for number in good),
    "as a memoryview": lambda good: memoryview(np.ascontiguousarray(good)),
    "as a memoryview of more dimensions": lambda good: memoryview(np.stack([good, good])),
    "as fractions": lambda good: [Fraction(number) for number in good.ravel().tolist()],
    "first alone": lambda good: good.ravel()[0],
}
"""Variants of a valid array."""


def _array_of(good: Any) -> np.ndarray | None:
    """A valid argument as an array, if it is one of numbers."""
    if isinstance(good, np.ndarray | list | tuple | float | int) and not isinstance(good, bool):
        with contextlib.suppress(Exception):
            array = np.asarray(good, dtype=np.float64)
            return array if array.ndim else array.reshape(1)
    return None


# Calls


@dataclass(frozen=True)
class Call:
    """One call: its callable, the replaced arguments with their replacements, the form in which it runs, and whether
    warnings are errors.
    """

    target: Target
    hostile: dict[str, str]
    form: str
    strict: bool = False

    def __str__(self) -> str:
        replaced = ", ".join(f"{name}={what}" for name, what in self.hostile.items())
        return f"{self.target.name}({replaced}) {self.form}{' -W error' if self.strict else ''}"

    def arguments(self) -> dict[str, Any]:
        made = {name: valid() for name, valid in self.target.arguments.items()}
        for name, what in self.hostile.items():
            made[name] = ANYTHING[what]() if what in ANYTHING else VARIANTS[what](_array_of(made[name]))
        return made


SLOW = {"draw", "animate", "motion_sequence", "save_html", "Trajectory.plot", "Trajectory.to_dataframe"}
"""A call of these takes as long as a hundred others."""

ENDLESS = {
    ("rollout", "steps", "record"): "years of steps, with no record of them, are what was asked for",
    ("simulate", "duration", "record"): "the same",
    ("simulate", "dt", "record"): "the same",
}
"""Pairs of arguments that are not replaced together, and why."""


STRICT = 0.1
"""Of the calls, warnings are errors in so many."""

CALLED_BACK = ("torque", "f_ext", "executor", "policy", "cost")
"""Arguments that may be functions: exceptions of these propagate unchanged."""


class Plan:
    """The calls of a seed, in an order that depends on nothing else."""

    def __init__(self, seed: int, forms: Sequence[str]) -> None:
        self.seed, self.forms = seed, forms
        self.targets = [target for target in targets() if target.arguments]
        self.weights = np.array([0.02 if target.name in SLOW else 1.0 for target in self.targets])
        self.weights /= self.weights.sum()

    def call(self, index: int) -> Call:
        """The call of that number: calls can be made in any order."""
        rng = np.random.default_rng((self.seed, index))
        target = self.targets[rng.choice(len(self.targets), p=self.weights)]
        names = list(target.arguments)
        some = rng.choice(len(names), size=min(len(names), 1 + int(rng.random() < 0.3)), replace=False)
        chosen = {names[i]: self._hostile(target, names[i], rng) for i in some}
        if any(owner == target.name and set(pair) <= chosen.keys() for owner, *pair in ENDLESS):
            chosen = dict(list(chosen.items())[:1])
        return Call(target, chosen, self.forms[rng.integers(len(self.forms))], bool(rng.random() < STRICT))

    def _hostile(self, target: Target, name: str, rng: np.random.Generator) -> str:
        if name == "executor" and rng.random() < 0.5:
            return list(EXECUTORS)[rng.integers(len(EXECUTORS))]
        changed = _array_of(target.arguments[name]()) is not None and rng.random() < 0.5
        options = list(VARIANTS if changed else ANYTHING)
        return options[rng.integers(len(options))]


class Each(Plan):
    """Each argument of each callable replaced by each hostile thing alone, once."""

    def __init__(self, seed: int, forms: Sequence[str]) -> None:
        super().__init__(seed, forms)
        self.calls = [
            Call(target, {name: what}, "interpreted")
            for target in self.targets
            for name, valid in target.arguments.items()
            for what in (*ANYTHING, *(VARIANTS if _array_of(valid()) is not None else ()))
            if target.name not in SLOW
        ]

    def call(self, index: int) -> Call:
        return self.calls[index]


def outcome(call: Call) -> str:
    """ "result" or "error" for what is allowed; otherwise a description of the defect."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = call.arguments()
    except Exception:  # a variant that this argument does not have
        return "none"
    if any(callable(arguments.get(name)) for name in CALLED_BACK):
        return "none"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("error" if call.strict else "always")
        try:
            with lw.form(call.form):
                function = call.target.get()
                result = function(**arguments)
                bad = unsound(result) or misshapen(call, result)
                owner = getattr(function, "__self__", None)
                if isinstance(owner, lw.Builder) and not isinstance(result, lw.Model):
                    result = owner.build()
                for cls, use in USES:
                    if isinstance(result, cls):
                        bad = bad or unsound(use(result))
        except LinkworkWarning:
            bad, came = None if call.strict else "a warning is raised", "error"
        except LinkworkError as error:
            bad, came = None if "a long text" in call.hostile.values() else _unsaid(error), "error"
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            inside = next((frame for frame in reversed(frames) if "linkwork" in frame.filename), frames[-1])
            where = f"{Path(inside.filename).name}:{inside.lineno}"
            bad, came = f"{type(error).__name__} at {where}: {_safe(error)}"[:300], "error"
        else:
            came = "result"
        finally:
            lw.set_threads(None)
    if bad and call.target.name in NOT_ALWAYS_FINITE and bad == "a result that is not finite":
        bad = None
    foreign = [w for w in told if not issubclass(w.category, LinkworkWarning)]
    if bad is None and foreign:
        place = f"{Path(foreign[0].filename).name}:{foreign[0].lineno}"
        bad = f"{foreign[0].category.__name__} at {place}: {foreign[0].message}"[:300]
    return bad or came


def _unsaid(error: LinkworkError) -> str | None:
    message = str(error)
    return f"a message of {len(message)} characters" if not 0 < len(message) < 5000 else None


def _safe(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(no message)"


# Processes


def work(plan: Plan, indices: Sequence[int]) -> None:
    """The loop of a child: it prints each call that it begins, and the outcome."""
    _limit()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    enter_folder()
    for index in indices:
        print(json.dumps(["begin", index]), file=out, flush=True)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
        faulthandler.dump_traceback_later(20 * MOST_SECONDS, exit=True)  # for a call that only waits
        before = _most_had()
        came = outcome(plan.call(index))
        taken = _most_had() - before
        came = f"it took {taken >> 20} MB of memory" if taken > MOST_TAKEN else came
        print(json.dumps(["end", index, came]), file=out, flush=True)
    faulthandler.cancel_dump_traceback_later()
    os.chdir("/")


def _most_had() -> int:
    """Peak memory of this process, bytes, where the system reports it."""
    with contextlib.suppress(ImportError):
        resource = importlib.import_module("resource")
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)
    return 0


def _limit() -> None:
    """Limit memory, and the processor time of a call; a traceback is printed when that is exceeded."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # where there are no such limits
        resource = importlib.import_module("resource")
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY,) * 2)
    faulthandler.enable()
    if hasattr(signal, "SIGVTALRM"):
        faulthandler.register(signal.SIGVTALRM, chain=True)


@dataclass
class Report:
    """The outcomes of many calls."""

    counts: Counter[str]
    findings: dict[int, str]

    def text(self, plan: Plan) -> str:
        kinds: dict[str, list[int]] = {}
        for index, finding in sorted(self.findings.items()):
            call = plan.call(index)
            kinds.setdefault(f"{call.target.name}: {finding}"[:150], []).append(index)
        lines = [
            f"{len(indices):5} x {kind}   such as call {indices[0]}: {plan.call(indices[0])}"
            for kind, indices in sorted(kinds.items(), key=lambda item: -len(item[1]))
        ]
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        return "\n".join([*lines, f"{sum(self.counts.values())} calls with seed {plan.seed}: {counted}"])


def run(plan: Plan, first: int, count: int, share: int = 0, of: int = 1) -> Report:
    """Calls by one child process after the other: each continues after the call that ended the previous one."""
    report = Report(Counter(), {})
    todo = list(range(first + share, first + count, of))
    while todo:
        begun = None
        given = json.dumps([plan.seed, list(plan.forms), isinstance(plan, Each), todo])
        child = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        out, err = child.communicate(given)
        done = set()
        for line in out.splitlines():
            what, index, *rest = json.loads(line)
            if what == "begin":
                begun = index
                continue
            begun = None
            done.add(index)
            report.counts[rest[0] if rest[0] in ("result", "error", "none") else "findings"] += 1
            if rest[0] not in ("result", "error", "none"):
                report.findings[index] = rest[0]
        if begun is not None:
            done.add(begun)
            report.counts["findings"] += 1
            report.findings[begun] = f"the process ended with {child.returncode}: {err[-600:]}"
        elif len(done) < len(todo):
            raise RuntimeError(f"a child ended between two calls with {child.returncode}: {err[-2000:]}")
        todo = [index for index in todo if index not in done]
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--forms", default="interpreted,interpreted,interpreted,auto")
    parser.add_argument("--each", action="store_true", help="each argument replaced by each hostile thing, once")
    parser.add_argument("--only", type=int, help="make this call here, with its traceback")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        seed, forms, each, indices = json.loads(sys.stdin.read())
        work((Each if each else Plan)(seed, forms), indices)
        return 0
    plan = (Each if options.each else Plan)(options.seed, options.forms.split(","))
    if isinstance(plan, Each):
        options.calls = min(options.calls, len(plan.calls) - options.first)
    if options.only is not None:
        call = plan.call(options.only)
        print(call)  # noqa: T201
        enter_folder()
        with lw.form(call.form):
            result = call.target.get()(**call.arguments())
            for use in (use for cls, use in USES if isinstance(result, cls)):
                result = use(result)
            print(result)  # noqa: T201
        return 0
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(options.jobs) as pool:
        parts = [
            pool.submit(run, plan, options.first, options.calls, share, options.jobs) for share in range(options.jobs)
        ]
        reports = [part.result() for part in parts]
    whole = Report(sum((r.counts for r in reports), Counter()), {k: f for r in reports for k, f in r.findings.items()})
    print(whole.text(plan))  # noqa: T201
    return 1 if whole.findings else 0


if __name__ == "__main__":
    sys.exit(main())
