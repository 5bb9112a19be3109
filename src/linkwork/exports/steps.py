"""One step of a simulation as a unit, which exports also repeat over time."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from linkwork.algorithms import STEP_PARTS
from linkwork.arguments import seconds
from linkwork.compiled.compiling import compiled
from linkwork.dynamics.kinematics import neutral
from linkwork.engine.spaces import SPACES
from linkwork.errors import ArgumentError
from linkwork.exports.identifiers import array_names
from linkwork.exports.named import named_unit, samples_in
from linkwork.exports.unit import Part, Unit
from linkwork.model.model import Model
from linkwork.simulation.rollouts.request import request_of
from linkwork.simulation.rollouts.rollout import rollout

_OPTIONS = (
    "torque", "parameters", "cost", "cost_parameters", "constraints", "stabilisation", "proximal", "joint_limits",
    "contacts", "friction", "friction_law", "integrator", "method", "springs", "effort_limits", "damping", "kp", "kd",
)  # fmt: skip
"""Those of ``lw.rollout`` that a step has."""
_INPUTS = {
    "tau": "joint forces, N m or N", "q_target": "target configuration, rad or m",
    "v_target": "target velocity, rad/s or m/s", "f_ext": "external force (N) and moment (N m) on each body",
}  # fmt: skip
_PYTHON = ("policy", "executor", "hold", "record", "steps")


def step_unit(name: str, model: Model, options: Mapping[str, Any]) -> Unit:
    """A step of ``lw.rollout``: its options, ``dt``, and ``inputs``, the arrays that each step takes."""
    chosen = _checked(options)
    inputs = _inputs(chosen.pop("inputs", None), chosen["torque"] is None)
    dt = seconds("dt", chosen.pop("dt"))
    arrays = {key: SPACES[STEP_PARTS[key]].shape(model, 0) for key in inputs}
    zeros: dict[str, Any] = {key: np.zeros((1, *shape)) for key, shape in arrays.items()}
    if "q_target" in zeros:
        zeros["q_target"] = neutral(model)[None]
    others = {key: zeros.get(key) for key in ("q_target", "v_target", "f_ext")}
    state = {"q": neutral(model), "v": np.zeros(model.nv), "tau": zeros.get("tau")}
    request = request_of(model, {**state, **others, **chosen}, dt, 1, 1)
    step, job = request.job.step, request.job
    fixed = {key: job.parts[key][0, 0].reshape(shape) for key, shape in job.all_shapes.items() if key not in arrays}

    def text(q: Any, v: Any, progress: Any, **arguments: Any) -> tuple[Any, ...]:
        named = {key: value for key, value in (fixed | arguments).items() if key in job.all_shapes and key != "dt"}
        return step.advance(q, v, progress, dt, **named)

    size = step.size_of_sums
    shapes = {"q": (model.nq,), "v": (model.nv,), "progress": (size,), **arrays}
    about = "steps done, cost so far" + (", accelerations where the search for contact forces begins" * (size > 2))
    parts = [
        Part("q", "q", (model.nq,), "configuration, rad or m; quaternions as x, y, z, w", model, "configuration",
             samples_in(model, "configuration")),
        Part("v", "v", (model.nv,), "velocity, rad/s or m/s", model, "velocity"),
        Part("progress", "progress", (size,), f"{about}; zeros at first", None, "", lambda _: np.zeros(size)),
    ]  # fmt: skip
    for own, (key, shape) in zip(array_names(arrays), arrays.items(), strict=True):
        space = STEP_PARTS[key]
        parts.append(Part(own, key, shape, _INPUTS[key], model, space, samples_in(model, space)))
    results = [
        Part(f"{part.name}_next", f"{part.called}_next", part.shape, f"{part.about.split(';')[0]}, after the step",
             part.model, part.space)
        for part in parts[:3]
    ]  # fmt: skip
    made = compiled("step", text, shapes)
    notes = [f"A step lasts {dt!r} s."]

    def shown() -> tuple[Unit, Unit]:
        own = step_unit("page_step", model, {**options, "inputs": ["tau", "f_ext"]})
        return own, named_unit("page_placements", model, "forward_kinematics", {"frames": list(model.body_names)})

    about = f"One time step of '{model.name}'."
    return Unit(name, made, parts, results, about, model, 3, None, notes, (dt, shown))


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a step, with the default of each that is left out."""
    for key in options:
        if key in _PYTHON:
            why = "a policy is a Python function" if key == "policy" else "it is of lw.rollout"
            raise ArgumentError(f"{key} cannot be exported: {why}")
        if key not in (*_OPTIONS, "dt", "inputs"):
            raise ArgumentError(f"a step has no option {key!r}; it has dt, inputs, {', '.join(_OPTIONS)}")
    if "dt" not in options:
        raise ArgumentError("a step needs dt, the time step (s)")
    defaults = {name: each.default for name, each in signature(rollout).parameters.items() if name in _OPTIONS}
    chosen = {**defaults, **options}
    if chosen["torque"] is not None and not hasattr(chosen["torque"], "program"):
        raise ArgumentError("torque is a Python function, which cannot be exported; make it a law by lw.compile")
    return chosen


def _inputs(names: Any, driven: bool) -> list[str]:
    """The arrays that each step takes besides the state."""
    if names is None:
        return ["tau"] if driven else []
    listed = [names] if isinstance(names, str) else list(names)
    for key in listed:
        if key not in _INPUTS:
            raise ArgumentError(f"inputs: a step has no input {key!r}; it has {', '.join(map(repr, _INPUTS))}")
    return [key for key in _INPUTS if key in listed]
