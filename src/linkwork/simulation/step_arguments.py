"""The arguments of a step, checked in one place for ``lw.simulate``, ``lw.rollout`` and ``lw.linearise``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import CLOSING
from linkwork.arguments import Array, choice, is_listed, not_negative, once, positive, switch
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.dynamics import FORWARD_METHODS
from linkwork.errors import ArgumentError, shown
from linkwork.late import LateFunction
from linkwork.model.all_contacts import Contacts, as_contacts
from linkwork.model.constraints import Constraint, as_constraints
from linkwork.model.contacts import Contact
from linkwork.model.model import Model
from linkwork.simulation.arguments import friction_of, warn_of_no_effort
from linkwork.simulation.laws import as_law, parameters_of
from linkwork.simulation.parts import constant_parts, driving_parts
from linkwork.simulation.step import Step

if TYPE_CHECKING:
    from linkwork.simulation.events import Data
    from linkwork.simulation.stops import Joint

as_parameters = LateFunction("linkwork.dynamics.varied:as_parameters")
events_of = LateFunction("linkwork.simulation.events:events_of")
resisting_joints = LateFunction("linkwork.simulation.stops:resisting_joints")

DEFAULT = "articulated_body"
"""The method of a step's accelerations, if it is left out."""
METHODS = (DEFAULT, *CLOSING)
"""Those of a step with constraints."""
FRICTION_LAWS = ("stiction", "smoothed")


VARIED = ("inertias", "armature", "placements")
"""Parameters of the mechanism that may be data."""


class StepArguments(NamedTuple):
    """What a call says about its steps.

    Attributes:
        step: all that is part of their code.
        parts: the arrays that drive and resist, of ``STEP_PARTS``, each (..., T or 1, numbers).
        inputs: their other inputs, by key: varied parameters, those of the law and of the cost, numbers of events.
    """

    step: Step
    parts: dict[str, Array]
    inputs: Data

    @property
    def called(self) -> dict[str, Array]:
        """The other inputs by their names in messages."""
        return {name: array for name, array, _ in self.inputs.values()}


def step_arguments(
    model: Model,
    dt: float,
    arguments: Mapping[str, Any],
    driven: bool = False,
    load: Any = None,
    wrenches: bool = False,
) -> StepArguments:
    """Those of a public function, from all its ``arguments`` by name; the rest as in ``options_of``."""
    step, constant = options_of(model, dt, arguments, driven, load, wrenches)
    step, of_events = _with_events(step, arguments.get("events"))
    present = {name: arguments[name] for name in VARIED if arguments.get(name) is not None}
    varied = as_parameters(model, present) if present else {}
    if varied:
        step = replace(step, varied=tuple(varied))
    inputs = {
        **varied,
        **parameters_of(step.law, "law", "parameters", arguments["parameters"], 3),
        **parameters_of(step.cost, "cost", "cost_parameters", arguments.get("cost_parameters"), 4),
        **of_events,
    }
    return StepArguments(step, constant | driving_parts(model, arguments), inputs)


class Options(NamedTuple):
    """What a call says besides arrays: the step, without the parameters of the mechanism that are data, and the parts
    that are the same in all of its steps.
    """

    step: Step
    parts: dict[str, Array]


def options_of(
    model: Model,
    dt: float,
    arguments: Mapping[str, Any],
    driven: bool = False,
    load: Any = None,
    wrenches: bool = False,
) -> Options:
    """The options of a public function, from all its ``arguments`` by name; those of an earlier call, if they are
    the same. ``driven`` says whether a Python function drives, ``load`` is a compiled one for external wrenches, and
    ``wrenches`` says whether those of contacts are observed.
    """
    drives = driven or not arguments["torque"] is arguments["tau"] is arguments["kp"] is arguments["kd"] is None
    if drives and arguments["effort_limits"] is True:
        warn_of_no_effort(model)
    objects, own = [load, *(arguments.get(name) for name in _OBJECTS)], (dt, drives, wrenches)
    try:
        key = (own, *map(_identity, objects), *(_number(arguments.get(name)) for name in _SIMPLE))
    except _NoIdentityError:
        return _options(model, dt, arguments, drives, load, wrenches)
    options: dict[Any, tuple[Options, list[Any]]] = model._memo.derived.setdefault(options_of, {})
    if key not in options:
        if len(options) >= _MOST_KEPT:
            options.clear()
        # the identities of objects are part of the key, so they must live
        options[key] = _options(model, dt, arguments, drives, load, wrenches), objects
    return options[key][0]


_MOST_KEPT = 100
"""Options of calls that are kept with a model."""
_SIMPLE = ("damping", "friction", "springs", "effort_limits", "stabilisation", "proximal", "joint_limits", "integrator",
           "friction_law", "method")  # fmt: skip
_OBJECTS = ("torque", "cost", "constraints", "contacts")


class _NoIdentityError(Exception):
    """A value that identifies no options: it may change, or is made anew in each call."""


def _number(value: Any) -> Any:
    """A number, a switch or a name; 1 and True differ."""
    if type(value) not in (type(None), bool, int, float, str):
        raise _NoIdentityError
    return type(value), value


def _identity(value: Any) -> Any:
    """An object, or some in a list, that cannot change."""
    if type(value) in (list, tuple):
        return tuple(map(id, value))
    if value is not None and not isinstance(value, (CompiledFunction, Constraint, Contact, Contacts)):
        raise _NoIdentityError
    return id(value)


def _options(
    model: Model, dt: float, arguments: Mapping[str, Any], drives: bool, load: Any, wrenches: bool
) -> Options:  # fmt: skip
    """The same, not kept."""
    step, friction = _step(model, dt, arguments, load, wrenches)
    return Options(step, constant_parts(model, arguments, friction, drives))


def _step(
    model: Model, dt: float, arguments: Mapping[str, Any], load: Any, wrenches: bool
) -> tuple[Step, bool | ArrayLike]:  # fmt: skip
    """The step, and the friction (..., nv) that is a part of it, rather than a property of the joints or a row of the
    contact problem.
    """
    friction, contacts, torque, cost = (
        arguments["friction"],
        arguments["contacts"],
        arguments["torque"],
        arguments.get("cost"),
    )
    choice("friction_law", arguments["friction_law"], FRICTION_LAWS)
    stopped, smoothed = switch("joint_limits", arguments["joint_limits"]), arguments["friction_law"] == "smoothed"
    rough = contacts is not None and switch("friction", friction, " beside contacts, where it is the model's")
    stuck = np.zeros(model.nv)
    if contacts is None:
        stuck = _stiction(model, friction, smoothed, arguments["integrator"])
    constraints, time_constant = arguments["constraints"], arguments["stabilisation"]
    step = Step(
        model,
        arguments["integrator"],
        law=None if torque is None else as_law(model, "torque", torque, (model.nv,)),
        load=load,
        cost=None if cost is None else as_law(model, "cost", cost, (), ("tau",)),
        constraints=model.constraints if constraints is None else as_constraints(constraints),
        stabilisation=10.0 * dt if time_constant is None else positive("stabilisation", time_constant),
        proximal=not_negative("proximal", arguments["proximal"]),
        joints=_joints(model, stuck, stopped and contacts is None),
        contacts=None if contacts is None else as_contacts(contacts),
        rough=rough,
        contact_forces=wrenches,
        method=arguments.get("method", DEFAULT),
    )
    _check_method(step, constraints is None)
    step.touching  # noqa: B018  # raises an error for invalid contacts
    return step, friction if smoothed and contacts is None else False


def _with_events(step: Step, events: Any) -> tuple[Step, Data]:
    """The step with events, and their data; the step itself if there are none."""
    if events is None or (is_listed(events) and not len(events)):
        return step, {}
    if step.contacts is not None:
        raise ArgumentError(
            "events change lw.Weld, lw.Ball, ... of a step without contacts; contacts come and go by themselves, so "
            "leave contacts or events out"
        )
    if step.integrator == "adaptive" or step.method != DEFAULT:
        raise ArgumentError("events take the default method, and no adaptive integrator")
    made, data = events_of(step.model, step.constraints, events)
    return replace(step, events=made), data


def _check_method(step: Step, by_default: bool) -> None:
    """An error if the method cannot do what the step does; ``by_default`` the constraints are those of the model."""
    method: Any = step.method
    is_name = isinstance(method, str)
    if step.contacts is not None and (step.integrator == "adaptive" or not (is_name and method == DEFAULT)):
        raise ArgumentError("contacts take the default method, and no adaptive integrator")
    if not step.constraints:
        choice("method", method, FORWARD_METHODS)
    elif not (is_name and method in METHODS):
        hint = "; or pass constraints=(), to leave out those of the model" if by_default else ""
        raise ArgumentError(
            f"constraints are solved for by {', '.join(METHODS)}; leave method {shown(method)} out{hint}"
        )


def _joints(model: Model, stiction: Array, stops: bool) -> tuple[Joint, ...]:
    """Those with stops or stiction."""
    return tuple(resisting_joints(model, stiction.tolist(), stops)) if stops or stiction.any() else ()


def _stiction(model: Model, friction: bool | ArrayLike, smoothed: bool, integrator: str) -> Array:
    """The friction (nv,) of joints that it may hold; 0 if it is smoothed."""
    most = friction_of(model, friction)
    if smoothed:
        if integrator != "semi_implicit_euler" and once(most).any():
            raise ArgumentError(
                "friction_law='smoothed' takes integrator='semi_implicit_euler', which evaluates it at the end of a "
                "step; pass friction_law='stiction', or friction=False"
            )
        return np.zeros(model.nv)
    if most.ndim > 1:
        raise ArgumentError(
            f"friction of friction_law='stiction' is the same for all trajectories, ({model.nv},), but has shape "
            f"{most.shape}; friction_law='smoothed' takes one for each"
        )
    return most
