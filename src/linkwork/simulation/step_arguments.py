"""The arguments of a step, checked in one place for ``lw.simulate``, ``lw.rollout`` and ``lw.linearise``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import CLOSING
from linkwork.arguments import Array, choice, is_listed, not_negative, once, positive, switch
from linkwork.dynamics.dynamics import FORWARD_METHODS
from linkwork.errors import ArgumentError, shown
from linkwork.late import LateFunction
from linkwork.model.all_contacts import as_contacts
from linkwork.model.constraints import as_constraints
from linkwork.model.model import Model
from linkwork.simulation.arguments import friction_of
from linkwork.simulation.laws import as_law
from linkwork.simulation.step import Step

if TYPE_CHECKING:
    from linkwork.simulation.events import Data
    from linkwork.simulation.stops import Joint

events_of = LateFunction("linkwork.simulation.events:events_of")
resisting_joints = LateFunction("linkwork.simulation.stops:resisting_joints")

DEFAULT = "articulated_body"
"""The method of a step's accelerations, if it is left out."""
METHODS = (DEFAULT, *CLOSING)
"""Those of a step with constraints."""
FRICTION_LAWS = ("stiction", "smoothed")


def step_of(
    model: Model, dt: float, given: Mapping[str, Any], load: Any = None, contact_forces: bool = False
) -> tuple[Step, bool | ArrayLike]:
    """The step that the arguments of a public function describe, ``given`` by name, without the parameters of the
    mechanism that are data; and the friction (..., nv) that is a part of it, rather than a property of the joints or a
    row of the contact problem.
    """
    friction, contacts, torque, cost = given["friction"], given["contacts"], given["torque"], given.get("cost")
    choice("friction_law", given["friction_law"], FRICTION_LAWS)
    stopped, smoothed = switch("joint_limits", given["joint_limits"]), given["friction_law"] == "smoothed"
    rough = contacts is not None and switch("friction", friction, " beside contacts, where it is the model's")
    stuck = np.zeros(model.nv)
    if contacts is None:
        stuck = _stiction(model, friction, smoothed, given["integrator"])
    constraints, time_constant = given["constraints"], given["stabilisation"]
    step = Step(
        model,
        given["integrator"],
        law=None if torque is None else as_law(model, "torque", torque, (model.nv,)),
        load=load,
        cost=None if cost is None else as_law(model, "cost", cost, (), ("tau",)),
        constraints=model.constraints if constraints is None else as_constraints(constraints),
        stabilisation=10.0 * dt if time_constant is None else positive("stabilisation", time_constant),
        proximal=not_negative("proximal", given["proximal"]),
        joints=_joints(model, stuck, stopped and contacts is None),
        contacts=None if contacts is None else as_contacts(contacts),
        rough=rough,
        contact_forces=contact_forces,
        method=given.get("method", DEFAULT),
    )
    _check_method(step, constraints is None)
    step.touching  # noqa: B018  # raises an error for invalid contacts
    return step, friction if smoothed and contacts is None else False


def with_events(step: Step, events: Any) -> tuple[Step, Data]:
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
    known = isinstance(method, str)
    if step.contacts is not None and (step.integrator == "adaptive" or not (known and method == DEFAULT)):
        raise ArgumentError("contacts take the default method, and no adaptive integrator")
    if not step.constraints:
        choice("method", method, FORWARD_METHODS)
    elif not (known and method in METHODS):
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
