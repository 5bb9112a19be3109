"""Contacts of edited models: those of the remaining parts, renamed, and those of several models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from linkwork.errors import ModelError, warn_caller
from linkwork.model.all_contacts import Contacts

if TYPE_CHECKING:
    from linkwork.model.model import Model

NONE = Contacts()


def left_contacts(
    model: Model,
    frames: Collection[str],
    joints: Collection[str],
    called: Callable[[str], str] = str,
    prefix: str = "",
    held: Sequence[int] | None = None,
) -> Contacts:
    """The contacts of a model between these frames, and the softness of these joints and of the constraints ``held``
    (all if None), under their new names. The reference keeps the coordinates of these joints.
    """
    contacts = model.contacts
    if contacts == NONE:
        return contacts
    reference = contacts.reference
    if reference is not None:
        reference = tuple(
            x
            for name, start, body in zip(model.joint_names, model.q_start, model.bodies, strict=True)
            if name in joints
            for x in reference[start : start + body.joint.nq]
        )
    bonds, medium = contacts.bonds, contacts.medium
    if held is not None and len(bonds) == len(model.constraints):
        bonds = tuple(bonds[k] for k in held)
    if medium is not None:
        boxes = tuple((called(frame), place, sides) for frame, place, sides in medium.boxes if frame in frames)
        medium = replace(medium, boxes=boxes)
    return replace(
        contacts,
        each=tuple(
            replace(each, frame=called(each.frame), on=called(each.on), name=each.name and prefix + each.name)
            for each in contacts
            if each.frame in frames and each.on in frames
        ),
        limits=tuple((called(joint), soft, margin) for joint, soft, margin in contacts.limits if joint in joints),
        friction=tuple((called(joint), soft) for joint, soft in contacts.friction if joint in joints),
        centres=tuple((called(frame), place) for frame, place in contacts.centres if frame in frames),
        reference=reference,
        bonds=bonds,
        medium=medium,
    )


def joined_contacts(parts: Sequence[tuple[str, Contacts]]) -> Contacts:
    """The contacts of several models, with the names of these, as those of one; global settings are those of the first
    model that has them. References and bonds are left to the caller, who knows the order of joints and constraints.
    """
    there = [(name, part) for name, part in parts if part != NONE]
    if not there:
        return NONE
    settled = {"friction_ratio": NONE.friction_ratio, "tolerance": NONE.tolerance}
    medium = None
    for name, part in there:
        for what, value in settled.items():
            settled[what] = _settled(name, what, getattr(part, what), value, getattr(NONE, what))
        if medium is None or part.medium is None:
            medium = part.medium if medium is None else medium
            continue
        bare, other = (replace(each, boxes=()) for each in (medium, part.medium))
        if bare != other:
            warn_caller(f"model {name!r} moves in {other}, and is added to one in {bare}, which holds for all")
        medium = replace(medium, boxes=medium.boxes + part.medium.boxes)
    contacts = [part for _, part in there]
    return Contacts(
        each=tuple(each for part in contacts for each in part),
        limits=tuple(each for part in contacts for each in part.limits),
        friction=tuple(each for part in contacts for each in part.friction),
        centres=tuple(each for part in contacts for each in part.centres),
        left_out=tuple(dict.fromkeys(each for part in contacts for each in part.left_out)),
        medium=medium,
        friction_ratio=settled["friction_ratio"],
        tolerance=settled["tolerance"],
    )


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
    ends = [end for each in contacts for end in (each.frame, each.on)] + [frame for frame, _ in contacts.centres]
    ends += [] if contacts.medium is None else [frame for frame, _, _ in contacts.medium.boxes]
    for frame in dict.fromkeys(ends):
        model.frame(frame)
    for joint in dict.fromkeys([joint for joint, _, _ in contacts.limits] + [joint for joint, _ in contacts.friction]):
        model.joint_index(joint)
    if contacts.reference is not None and len(contacts.reference) != model.nq:
        count = len(contacts.reference)
        raise ModelError(f"reference of contacts has {count} number(s) for model {model.name!r} of nq = {model.nq}")
