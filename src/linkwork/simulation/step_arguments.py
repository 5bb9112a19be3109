"""The arguments of a step, checked in one place for ``lw.simulate``, ``lw.rollout`` and ``lw.linearise``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import CLOSING
from linkwork.arguments import Array, choice, not_negative, once, positive, switch
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
    from linkwork.simulation.stops import Joint

resisting_joints = LateFunction("linkwork.simulation.stops:resisting_joints")

DEFAULT = "articulated_body"
"""The method of a step's accelerations, if it is left out."""
METHODS = (DEFAULT, *CLOSING)
"""Those of a step with constraints."""
FRICTION_LAWS = ("stiction", "smoothed")


def step_of(
    model: Model,
    dt: float,
    *,
    integrator: str,
    friction_law: str,
    friction: bool | ArrayLike,
    torque: Any,
    constraints: Any,
    stabilisation: Any,
    proximal: Any,
    joint_limits: Any,
    contacts: Any,
    cost: Any = None,
    load: Any = None,
    contact_forces: bool = False,
    method: Any = DEFAULT,
) -> tuple[Step, bool | ArrayLike]:
    """The step, without the parameters of the mechanism that are data; and the friction (..., nv) that is a part of it,
    rather than a property of the joints or a row of the contact problem.
    """
    choice("friction_law", friction_law, FRICTION_LAWS)
    stopped, smoothed = switch("joint_limits", joint_limits), friction_law == "smoothed"
    rough = contacts is not None and switch("friction", friction, " beside contacts, where it is the model's")
    stuck = np.zeros(model.nv) if contacts is not None else _stiction(model, friction, smoothed, integrator)
    step = Step(
        model,
        integrator,
        None if torque is None else as_law(model, "torque", torque, (model.nv,)),
        load,
        None if cost is None else as_law(model, "cost", cost, (), ("tau",)),
        model.constraints if constraints is None else as_constraints(constraints),
        10.0 * dt if stabilisation is None else positive("stabilisation", stabilisation),
        not_negative("proximal", proximal),
        _joints(model, stuck, stopped and contacts is None),
        None if contacts is None else as_contacts(contacts),
        rough,
        contact_forces,
        method,
    )
    _check_method(step, constraints is None)
    step.touching  # noqa: B018  # raises an error for invalid contacts
    return step, friction if smoothed and contacts is None else False


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
