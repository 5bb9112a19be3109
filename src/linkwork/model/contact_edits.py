"""Contacts of edited models: those of the remaining parts, renamed, and those of several models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwork.errors import ModelError, warn_caller
from linkwork.model.all_contacts import Contacts

if TYPE_CHECKING:
    from linkwork.model.medium import Medium
    from linkwork.model.model import Model

NONE = Contacts()


def left_contacts(
    model: Model,
    frames: Collection[str],
    joints: Collection[str],
    new_name: Callable[[str], str] = str,
    prefix: str = "",
    constraints: Sequence[int] | None = None,
) -> Contacts:
    """The contacts of a model between these frames, and the softness of these joints and of ``constraints``
    (all if None), under their new names. The reference keeps the coordinates of these joints.
    """
    contacts = model.contacts
    if contacts == NONE:
        return contacts

    def of(names: Collection[str], rows: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
        return tuple((new_name(name), *rest) for name, *rest in rows if name in names)

    bonds, medium = contacts.bonds, contacts.medium
    if constraints is not None and len(bonds) == len(model.constraints):
        bonds = tuple(bonds[k] for k in constraints)
    return replace(
        contacts,
        each=tuple(
            replace(each, frame=new_name(each.frame), on=new_name(each.on), name=each.name and prefix + each.name)
            for each in contacts
            if each.frame in frames and each.on in frames
        ),
        limits=of(joints, contacts.limits),
        friction=of(joints, contacts.friction),
        centres=of(frames, contacts.centres),
        rotors=of(frames, contacts.rotors),
        reference=None if contacts.reference is None else _coordinates(model, contacts.reference, joints),
        bonds=bonds,
        medium=None if medium is None else replace(medium, boxes=of(frames, medium.boxes)),
    )


def _coordinates(model: Model, q: tuple[float, ...], joints: Collection[str]) -> tuple[float, ...]:
    """The coordinates of these joints."""
    bodies = zip(model.q_start, model.bodies, strict=True)
    slices = ((start, body.joint.nq) for start, body in bodies if body.joint_name in joints)
    return tuple(x for start, count in slices for x in q[start : start + count])


def joined_contacts(parts: Sequence[tuple[str, Contacts]]) -> Contacts:
    """The contacts of several models, with the names of these, as those of one; global settings are those of the first
    model that has them. References and bonds are left to the caller, who knows the order of joints and constraints.
    """
    there = [(name, part) for name, part in parts if part != NONE]
    if not there:
        return NONE
    settings: dict[str, Any] = {name: getattr(NONE, name) for name in ("friction_ratio", "tolerance")}
    medium = None
    for name, part in there:
        for what, value in settings.items():
            settings[what] = _settled(name, what, getattr(part, what), value, getattr(NONE, what))
        medium = _joined_medium(name, part.medium, medium)
    rows: dict[str, Any] = {
        what: tuple(row for _, part in there for row in getattr(part, what))
        for what in ("each", "limits", "friction", "centres", "rotors", "left_out")
    }
    rows["left_out"] = tuple(dict.fromkeys(rows["left_out"]))
    return Contacts(**rows, **settings, medium=medium)


def _joined_medium(name: str, medium: Medium | None, before: Medium | None) -> Medium | None:
    """The medium of a model and that of those before it, with the boxes of both."""
    if medium is None or before is None:
        return medium or before
    bare, other = (replace(one, boxes=()) for one in (before, medium))
    if bare != other:
        warn_caller(f"model {name!r} moves in {other}, and is added to one in {bare}, which holds for all")
    return replace(before, boxes=before.boxes + medium.boxes)


def _settled(name: str, what: str, value: float, before: float, default: float) -> float:
    if before == default or value in (before, default):
        return value if before == default else before
    warn_caller(
        f"contacts of model {name!r} have {what} {value:g}, and are added to ones of {before:g}, which holds for all"
    )
    return before


def check_contacts(model: Model) -> None:
    """Raise an error for contacts that do not fit their model."""
    contacts = model.contacts
    ends = [end for one in contacts for end in (one.frame, one.on)] + [frame for frame, _ in contacts.centres]
    for frame in dict.fromkeys([*ends, *contacts.resisted]):
        model.frame(frame)
    for joint in dict.fromkeys([joint for joint, _, _ in contacts.limits] + [joint for joint, _ in contacts.friction]):
        model.joint_index(joint)
    if contacts.reference is not None and len(contacts.reference) != model.nq:
        count = len(contacts.reference)
        raise ModelError(f"reference of contacts has {count} number(s) for model {model.name!r} of nq = {model.nq}")
