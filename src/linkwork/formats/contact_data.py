"""Contacts as plain data that JSON can hold, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from linkwork.model.all_contacts import Contacts
from linkwork.model.contacts import Box, Capsule, Contact, Cylinder, Ellipsoid, HeightField, Plane, Softness, Sphere
from linkwork.model.medium import Medium
from linkwork.spatial import Transform

_KINDS = {kind.__name__: kind for kind in (Sphere, Capsule, Cylinder, Box, Ellipsoid, Plane, HeightField, Softness)}
_NONE = Contacts()


def contact_data(contact: Contact) -> dict[str, Any]:
    """One contact, without its default values."""
    default = Contact("frame")
    names = (field.name for field in fields(contact))
    return {
        name: _plain(getattr(contact, name))
        for name in names
        if name == "frame" or getattr(contact, name) != getattr(default, name)
    }


def rest_data(contacts: Contacts) -> dict[str, Any]:
    """The settings of all contacts together, without default values."""
    names = (field.name for field in fields(contacts) if field.name != "each")
    data = {name: _plain(getattr(contacts, name)) for name in names if getattr(contacts, name) != getattr(_NONE, name)}
    if contacts.medium is not None:
        medium = contacts.medium
        boxes = [[frame, place.numbers(), sides] for frame, place, sides in medium.boxes]
        data["medium"] = [medium.density, medium.viscosity, medium.wind, boxes]
    return data


def contact_of(data: Any) -> Contact:
    """The contact of data made by ``contact_data``."""
    return Contact(**dict(_arguments(data)))


def contacts_of(contacts: list[Contact], rest: Any) -> Contacts:
    """Contacts from single ones and from data made by ``rest_data``."""
    parts = dict(_arguments({name: value for name, value in rest.items() if name != "medium"}))
    if "medium" in rest:
        density, viscosity, wind, boxes = rest["medium"]
        volumes = tuple((frame, _placement(numbers), tuple(sides)) for frame, numbers, sides in boxes)
        parts["medium"] = Medium(density, viscosity, tuple(wind), volumes)
    return Contacts(tuple(contacts), **parts)


def _plain(value: Any) -> Any:
    if isinstance(value, Transform):
        return value.numbers()
    if type(value).__name__ in _KINDS:
        return {type(value).__name__: {field.name: _plain(getattr(value, field.name)) for field in fields(value)}}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _arguments(data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        yield name, _placement(value) if name in ("placement", "on_placement") else _restored(value)


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, parts),) = value.items()
        return _KINDS[kind](**{name: _restored(part) for name, part in parts.items()})
    return tuple(map(_restored, value)) if isinstance(value, list) else value


def _placement(numbers: Any) -> Transform:
    return Transform.identity().of([float(number) for number in numbers])
