"""References of a model to joints and frames by name: in its constraints, actuators and contacts. A new field of a
model with such references must be added to ``references`` and ``check_references``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwork.errors import LinkworkError, ModelError, shown
from linkwork.model.contact_edits import check_contacts, left_contacts

if TYPE_CHECKING:
    from linkwork.model.constraints import Constraint
    from linkwork.model.model import Model


def references(
    model: Model,
    frames: Collection[str] | None = None,
    joints: Collection[str] | None = None,
    new_name: Callable[[str], str] = str,
    prefix: str = "",
) -> dict[str, Any]:
    """The fields of a model that refer only to these frames and joints, or to any, under their new names."""
    there = set(model.frame_names if frames is None else frames)
    moving = set(model.joint_names if joints is None else joints)
    ties = [
        k
        for k, one in enumerate(model.constraints)
        if (one.joint_names() or there.issuperset(one.frame_names())) and moving.issuperset(one.joint_names())
    ]
    constraints = [model.constraints[k].renamed(new_name, new_name) for k in ties]
    actuators = []
    for one in model.actuators:
        gears = tuple((new_name(joint), gear) for joint, gear in one.gears if joint in moving)
        if gears or (one.frame is not None and one.frame in there):
            frame = None if one.frame is None else new_name(one.frame)
            actuators.append(replace(one, name=prefix + one.name, joints=gears, frame=frame))
    contacts = left_contacts(model, there, moving, new_name, prefix, ties)
    return {"constraints": tuple(constraints), "actuators": tuple(actuators), "contacts": contacts}


def without_idle(model: Model) -> Model:
    """The model without constraints and contacts between two frames of one body, which no joint moves."""
    active = [k for k, one in enumerate(model.constraints) if not _is_idle(model, one)]
    touching = tuple(one for one in model.contacts if model.frame(one.frame).body != model.frame(one.on).body)
    if len(active) == len(model.constraints) and len(touching) == len(model.contacts):
        return model
    contacts = left_contacts(model, model.frame_names, model.joint_names, constraints=active)
    constraints = tuple(model.constraints[k] for k in active)
    return replace(model, constraints=constraints, contacts=replace(contacts, each=touching))


def _is_idle(model: Model, constraint: Constraint) -> bool:
    return not constraint.joint_names() and len({model.frame(name).body for name in constraint.frame_names()}) < 2


def check_references(model: Model) -> None:
    """Raise an error for constraints, actuators and contacts that do not fit their model."""
    from linkwork.model.actuators import Actuator
    from linkwork.model.constraints import Constraint

    for what, one, parts in (("constraints", Constraint, model.constraints), ("actuators", Actuator, model.actuators)):
        if not isinstance(parts, tuple) or not all(isinstance(part, one) for part in parts):
            raise ModelError(f"{what} of model {model.name!r} must be a tuple of these, not {shown(parts)}")
    for constraint in model.constraints:
        for name in constraint.frame_names():
            model.frame(name)
        try:
            constraint.grips(model)
        except LinkworkError as error:
            raise ModelError(f"{constraint!r} of model {model.name!r}: {error}") from None
    names = [actuator.name for actuator in model.actuators]
    for actuator in model.actuators:
        if names.count(actuator.name) > 1:
            raise ModelError(f"model {model.name!r} has two actuators named {actuator.name!r}; names must be unique")
        if actuator.frame is not None:
            model.frame(actuator.frame)
        for joint, gear in actuator.gears:
            count = model.bodies[model.joint_index(joint)].joint.nv
            if len(gear) != count:
                raise ModelError(
                    f"actuator {actuator.name!r} has {len(gear)} gear(s) for joint {joint!r} of {count} degree(s) of "
                    f"freedom"
                )
    check_contacts(model)
