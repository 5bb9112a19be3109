"""Public functions of a model by their names: their arguments and results, with units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from linkwork.arguments import Array
from linkwork.compiled.arrays import array_of, numbers
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.compiling import compiled
from linkwork.compiled.results import names_of
from linkwork.dynamics.arguments import as_frames
from linkwork.engine.plans.costs import within
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError, UnknownNameError
from linkwork.exports.identifiers import array_names
from linkwork.exports.unit import Part, Samples, Unit
from linkwork.late import imported
from linkwork.model.model import Model

Q, V, TAU, A = "q", "v", "tau", "a"


class Argument(NamedTuple):
    """What an argument is: its space, and a sentence."""

    space: str
    about: str


ARGUMENTS: Mapping[str, Argument] = {
    "q": Argument("configuration", "configuration, rad or m; quaternions as x, y, z, w"),
    "q0": Argument("configuration", "configuration, rad or m"),
    "q1": Argument("configuration", "configuration, rad or m"),
    "v": Argument("velocity", "velocity, rad/s or m/s"),
    "dv": Argument("velocity", "motion from q, rad or m"),
    "a": Argument("velocity", "acceleration, rad/s^2 or m/s^2"),
    "tau": Argument("velocity", "joint forces, N m or N"),
    "f_ext": Argument("wrenches", "external force (N) and moment (N m) on each body, in the body's frame"),
    "targets": Argument("placements", "target placements of the frames, 4 x 4 each"),
}
_FRAMES = "of the frames"


class Named(NamedTuple):
    """A public function: its arguments, what its results are called, and what it computes."""

    arguments: Sequence[str]
    results: Sequence[tuple[str, str, str]]
    about: str
    optional: Sequence[str] = ()


_ACCELERATION = ("qdd", "velocity", "joint accelerations, rad/s^2 or m/s^2")
_FORCES = ("tau", "velocity", "joint forces, N m or N")
_M = ("M", "matrix", "mass matrix, kg m^2, kg m or kg")
_MINV = ("Minv", "matrix", "inverse of the mass matrix")

FUNCTIONS: Mapping[str, Named] = {
    "forward_kinematics": Named([Q], [("placements", "", f"placements {_FRAMES} in the world, 4 x 4 each (m)")],
                                "placements of frames in the world"),
    "jacobian": Named([Q], [("J", "", "rows of linear (m), then angular velocity of each frame, for each joint")],
                      "Jacobians of frames"),
    "jacobian_drift": Named([Q, V], [("drift", "", f"accelerations {_FRAMES} at joint accelerations of zero")],
                            "the time derivative of the Jacobians, times the velocity"),
    "frame_velocity": Named([Q, V], [("velocity", "", f"linear (m/s), then angular velocity (rad/s) {_FRAMES}")],
                            "velocities of frames"),
    "frame_acceleration": Named([Q, V, A], [("acceleration", "", f"linear, then angular acceleration {_FRAMES}")],
                                "accelerations of frames"),
    "centre_of_mass": Named([Q], [("centre", "", "position in the world, m")], "the centre of mass"),
    "energy": Named([Q, V], [("kinetic", "", "J"), ("potential", "", "J")], "kinetic and potential energy"),
    "momentum": Named([Q, V], [("momentum", "", "linear (kg m/s), then angular (kg m^2/s)")], "the momentum"),
    "integrate": Named([Q, "dv"], [("q_next", "configuration", "configuration")], "the configuration dv away from q"),
    "difference": Named(["q0", "q1"], [("dv", "velocity", "motion from q0 to q1")],
                        "the motion from one configuration to another"),
    "forward_dynamics": Named([Q, V, TAU], [_ACCELERATION], "joint accelerations by forward dynamics", ["f_ext"]),
    "inverse_dynamics": Named([Q, V, A], [_FORCES], "joint forces by inverse dynamics", ["f_ext"]),
    "mass_matrix": Named([Q], [_M], "the mass matrix"),
    "mass_matrix_inverse": Named([Q], [_MINV], "the inverse of the mass matrix"),
    "nonlinear_effects": Named([Q, V], [_FORCES], "joint forces of gravity and velocity"),
    "gravity_torques": Named([Q], [_FORCES], "joint forces that hold the mechanism against gravity"),
    "forward_dynamics_derivatives": Named(
        [Q, V, TAU], [("da_dq", "matrix", "by q"), ("da_dv", "matrix", "by v"), _MINV],
        "derivatives of forward dynamics", ["f_ext"]),
    "inverse_dynamics_derivatives": Named(
        [Q, V, A], [("dtau_dq", "matrix", "by q"), ("dtau_dv", "matrix", "by v"), _M],
        "derivatives of inverse dynamics", ["f_ext"]),
    "torque_regressor": Named([Q, V, A], [("Y", "", "joint forces for each inertial parameter")],
                              "the regressor of joint forces"),
    "forward_dynamics_and_reactions": Named(
        [Q, V, TAU], [_ACCELERATION, ("wrenches", "wrenches", "what each joint transmits: N, N m")],
        "joint accelerations and the wrenches that joints transmit", ["f_ext"]),
    "inverse_dynamics_and_reactions": Named(
        [Q, V, A], [_FORCES, ("wrenches", "wrenches", "what each joint transmits: N, N m")],
        "joint forces and the wrenches that joints transmit", ["f_ext"]),
    "operational_inertia": Named([Q], [("Lambda", "", "kg, kg m, kg m^2")], "the operational-space inertia"),
    "operational_inertia_inverse": Named([Q], [("Lambda_inverse", "", "")], "its inverse"),
    "operational_space": Named([Q, V], [], "inertia, bias and more of operational space"),
    "effective_mass": Named([Q], [("mass", "", "kg")], "the mass that is felt at a point along a direction"),
    "dynamically_consistent_inverse": Named([Q], [("Jbar", "", "")], "the dynamically consistent inverse"),
    "constrained_dynamics": Named([Q, V, TAU], [_ACCELERATION], "joint accelerations under constraints", ["f_ext"]),
    "constrained_dynamics_and_reactions": Named([Q, V, TAU], [_ACCELERATION], "the same, with wrenches", ["f_ext"]),
    "constrained_inverse_dynamics": Named([Q, V, A], [_FORCES], "joint forces under constraints", ["f_ext"]),
    "contact_dynamics": Named([Q, V, TAU], [_ACCELERATION, ("forces", "", "contact forces in world axes, N")],
                              "joint accelerations with contacts", ["f_ext"]),
    "contact_points": Named([Q], [("points", "", "positions in the world, m")], "points of contacts"),
    "inverse_kinematics": Named(
        ["targets", "q0"],
        [("q", "configuration", "configuration, rad or m"), ("error", "", "distance (m) and angle (rad) of each frame"),
         ("converged", "", "1 if all errors are within the tolerance, otherwise 0"),
         ("iterations", "", "configurations evaluated")],
        "a configuration that brings frames to target placements"),
}  # fmt: skip
_ELSEWHERE = {
    "load": "it reads files", "save": "it writes files", "show": "it is a page", "save_html": "it writes files",
    "simulate": "it calls Python in every step; export 'step', which has the loop of time",
    "rollout": "it is a loop of time around 'step', which can be exported",
    "linearise": "export lw.jacobian_of of a function of lw.compile",
    "random_state": "it draws random numbers", "neutral": "it is a constant", "close_loops": "it warns and raises",
}  # fmt: skip


def named_unit(name: str, model: Model, function: str, options: Mapping[str, Any]) -> Unit:
    """A public function of a model, with options as Python takes them; ``inputs`` are optional arguments to have."""
    if function not in FUNCTIONS:
        if function in _ELSEWHERE:
            raise ArgumentError(f"{function} cannot be exported: {_ELSEWHERE[function]}")
        raise UnknownNameError("function to export", function, [*FUNCTIONS, "step"], "linkwork")
    what = FUNCTIONS[function]
    names, options = _checked(function, options)
    parts = [_argument(model, key, options) for key in names]
    call = getattr(imported("linkwork"), function)

    def text(**arrays: Any) -> Any:
        value = call(model, **arrays, **options)
        return vars(value) if is_dataclass(value) else value

    made = compiled(function, text, {part.called: part.shape for part in parts})
    results = _results(model, made, what)
    return Unit(name, made, parts, results, f"{what.about[0].upper()}{what.about[1:]} of '{model.name}'.", model, 0,
                _pivots(model) if function in _SINGULAR else None)  # fmt: skip


def _checked(function: str, options: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The arguments of the exported function, and the options with which it is made."""
    what, options = FUNCTIONS[function], dict(options)
    inputs = options.pop("inputs", ())
    inputs = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    for extra in inputs:
        if extra not in what.optional:
            listed = ", ".join(map(repr, what.optional)) or "none"
            raise ArgumentError(f"inputs: {function} has no optional argument {extra!r} to export; it has {listed}")
    if function == "operational_space" and "frames" in options:
        options["points"] = options.pop("frames")
    names, has = [*what.arguments, *inputs], signature(getattr(imported("linkwork"), function)).parameters
    for key in options:
        if key not in has:
            raise ArgumentError(f"{function} has no option {key!r}; it has {', '.join(k for k in has if k != 'model')}")
        if key in names or key in ("out", *ARGUMENTS):
            raise ArgumentError(f"{key} is an argument of the exported function, or no option of an export")
    return names, options


def _argument(model: Model, key: str, options: Mapping[str, Any]) -> Part:
    what = ARGUMENTS[key]
    if key == "targets":
        return _targets(model, options)
    shape = SPACES[what.space].shape(model, 0)
    return Part(key, key, shape, what.about, model, what.space, samples_in(model, what.space))


def samples_in(model: Model, space: str) -> Samples | None:
    """Draws numbers of a space."""
    from linkwork.dynamics.kinematics import random_state

    return (lambda random: random_state(model, random)[0]) if space == "configuration" else None


def _targets(model: Model, options: Mapping[str, Any]) -> Part:
    from linkwork.dynamics.kinematics import forward_kinematics, random_state

    frames = options.get("frames")
    if frames is None:
        raise ArgumentError("inverse_kinematics needs frames=[...], the frames that have targets")
    count = len(as_frames(model, frames).frames)

    def draw(random: np.random.Generator) -> Array:
        return forward_kinematics(model, random_state(model, random)[0], frames)

    return Part("targets", "targets", (count, 4, 4), ARGUMENTS["targets"].about, None, "", draw)


def _results(model: Model, made: CompiledFunction, what: Named) -> list[Part]:
    """The results, by the names of this table, or else by those that Python has for them."""
    shapes = made.result_shapes
    if len(what.results) == len(shapes):
        listed = [(*each, shape) for each, shape in zip(what.results, shapes, strict=True)]
    else:
        named = result_names(made)
        listed = [(name, "", "", shape) for name, shape in zip(named, shapes, strict=True)]
        for k, (name, space, about) in enumerate(what.results[: len(shapes)]):
            listed[k] = (name, space, about, shapes[k])
    names = array_names([*what.arguments, *(f"{name}" for name, *_ in listed)])[len(what.arguments) :]
    return [
        Part(name, called, shape, about, model, space)
        for name, (called, space, about, shape) in zip(names, listed, strict=True)
    ]


def result_names(function: CompiledFunction) -> list[str]:
    """What the results of a compiled function are called."""
    names = names_of(function._structure, "result")
    return [name.removeprefix("result.").replace("']", "").replace("['", "_").removeprefix("result_") for name in names]


_SINGULAR = (
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_and_reactions",
    "mass_matrix_inverse",
)


def _pivots(model: Model) -> CompiledFunction | None:
    """The inertia that each joint moves while those nearer to the tips are free, and the one that it moves with them at
    rest; for mechanisms for which it is short.
    """
    from linkwork.dynamics.dynamics import mass_matrix

    if not within("straight", model):
        return None

    def pivots(q: Any) -> Any:
        rows = numbers(mass_matrix(model, q)).tolist()
        own = [rows[k][k] for k in range(model.nv)]
        for k in reversed(range(model.nv)):
            for i in range(k):
                if type(rows[k][i]) is float and rows[k][i] == 0.0:
                    continue
                ratio = rows[k][i] / rows[k][k]
                for j in range(i + 1):
                    rows[i][j] = rows[i][j] - ratio * rows[k][j]
        return array_of([rows[k][k] for k in range(model.nv)]), array_of(own)

    return compiled("pivots", pivots, {"q": (model.nq,)})
