"""Merging of bodies on fixed joints into the bodies that carry them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from linkwork.errors import ArgumentError, shown
from linkwork.joints import Fixed
from linkwork.model.geometry import carried
from linkwork.model.inertias import NOTHING
from linkwork.model.placements import IDENTITY
from linkwork.model.references import without_idle
from linkwork.spatial import Transform

if TYPE_CHECKING:
    from linkwork.model.model import Body, Model

Part = TypeVar("Part")


def merge_fixed(model: Model) -> Model:
    """The same mechanism with every body on a fixed joint merged into the body that carries it.

    Frames stay, on the body that now carries them. The inertia of bodies fixed to the world is added to
    ``base_inertia``.

    Args:
        model: the mechanism.

    Returns:
        The model without fixed joints.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("arm", joint=lw.joints.Revolute("z"), mass=1.0)
        >>> _ = builder.add_body("tool", "arm", placement=lw.placement(xyz=(1, 0, 0)), mass=0.5)
        >>> merged = lw.merge_fixed(builder.build())
        >>> merged.body_names, merged.mass, merged.frame("tool").placement.translation
        (('arm',), 1.5, Vec3(1.0, 0.0, 0.0))
    """
    from linkwork.model.model import Model

    if not isinstance(model, Model):
        raise ArgumentError(f"model must be a linkwork Model, not {shown(model)}")
    return without_idle(merged(model, lambda body: True))


def merged(model: Model, which: Callable[[Body], bool]) -> Model:
    """The same for selected bodies on fixed joints; all frames stay."""
    if not any(isinstance(body.joint, Fixed) and which(body) for body in model.bodies):
        return model
    here, base = IDENTITY, model.base_inertia
    carrier: list[tuple[int, Transform]] = [(0, here)]  # for each old body: new index, placement on it
    bodies: list[Body] = []
    for body in model.bodies:
        parent, on_parent = carrier[body.parent]
        place = body.placement if on_parent is here else on_parent * body.placement
        if isinstance(body.joint, Fixed) and which(body):
            carrier.append((parent, place))
            if parent:
                old = bodies[parent - 1]
                bodies[parent - 1] = _changed(old, inertia=old.inertia + place.to_parent(body.inertia))
            elif body.inertia != NOTHING:
                base = base + place.to_parent(body.inertia)
        else:
            bodies.append(_changed(body, parent=parent, placement=place))
            carrier.append((len(bodies), here))
    frames, places = [], dict[tuple[int, int], Transform]()
    for frame in model.frames:
        index, place = carrier[frame.body]
        if place is not here:  # the frames of a body and of its joint coincide
            key = frame.body, id(frame.placement)
            if key not in places:
                places[key] = place * frame.placement
        placement = frame.placement if place is here else places[key]
        frames.append(_changed(frame, body=index, placement=placement))
    looks = carried(model.geometry, carrier)
    return replace(model, bodies=tuple(bodies), frames=tuple(frames), geometry=looks, base_inertia=base)


def _changed(part: Part, **changes: Any) -> Part:
    """``dataclasses.replace`` without its per-field checks: a large model has many parts."""
    return type(part)(**{**part.__dict__, **changes})
