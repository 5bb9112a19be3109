"""The visual and collision geometry of a URDF file. It does not affect the motion: invalid elements are ignored."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import NamedTuple

import numpy as np

from linkwork.errors import FormatError
from linkwork.formats.xml import Element
from linkwork.model.geometry import Geometry
from linkwork.model.placements import placements

Colour = tuple[float, float, float, float]
_ZERO = (0.0, 0.0, 0.0)
_MOST = 1_000_000
"""The largest number of shapes; a file with more is not meant for viewing."""


class _Found(NamedTuple):
    link: str
    origin: tuple[list[float], list[float]]
    visual: bool
    kind: str
    size: tuple[float, ...]
    colour: Colour | None
    mesh: str


def looks_of(robot: Element, links: Mapping[str, Element]) -> tuple[list[str], list[tuple[str, Geometry]]]:
    """The file names of all meshes of visuals and collisions, each once; and the shapes of all links, each with its
    link's name: its body is determined later.
    """
    with_parts = {name: link for name, link in links.items() if link.children}
    return _meshes(with_parts), _geometry(robot, with_parts)


def _meshes(links: Mapping[str, Element]) -> list[str]:
    parts = (part for link in links.values() for part in link.children)
    files = (element.get("filename") for part in parts for element in part.walk() if element.tag == "mesh")
    return list(dict.fromkeys(file for file in files if file is not None))


def _geometry(robot: Element, links: Mapping[str, Element]) -> list[tuple[str, Geometry]]:
    folder = os.path.dirname(os.path.abspath(robot.path))
    materials = _materials(robot, links)
    looks = [one for name, link in links.items() for one in _shapes(name, link, materials)][:_MOST]
    origins = np.array([one.origin for one in looks]).reshape(-1, 2, 3)
    places = placements(origins[:, 0], origins[:, 1])
    return [
        (one.link, Geometry(0, place, one.kind, one.size, one.visual, not one.visual, one.colour, one.mesh, folder))
        for one, place in zip(looks, places, strict=True)
        if all(map(isfinite, place.numbers()))
    ]


def _shapes(link: str, element: Element, materials: Mapping[str, Colour]) -> Iterator[_Found]:
    for part in element.children:
        if part.tag in ("visual", "collision"):
            try:
                yield _shape(link, part, materials)
            except FormatError:
                continue


def _shape(link: str, part: Element, materials: Mapping[str, Colour]) -> _Found:
    origin, shape = part.child("origin"), part.need("geometry").children
    if len(shape) != 1:
        raise part.error("a shape is one of box, sphere, cylinder, capsule and mesh")
    one = shape[0]
    mesh = ""
    if one.tag == "box":
        size = tuple(one.measures("size", 3))
    elif one.tag == "sphere":
        size = tuple(one.measures("radius", 1))
    elif one.tag in ("cylinder", "capsule"):
        size = (*one.measures("radius", 1), *one.measures("length", 1))
    elif one.tag == "mesh":
        mesh, size = one.word("filename"), tuple(one.measures("scale", 3, (1.0, 1.0, 1.0)))
    else:
        raise one.error("there is no such shape")
    if not mesh and min(size) <= 0.0:
        raise one.error("a shape has a size")
    place = (
        [list(_ZERO)] * 2 if origin is None else [origin.measures("xyz", 3, _ZERO), origin.measures("rpy", 3, _ZERO)]
    )
    material = part.child("material")
    colour = None if material is None else _colour(material) or materials.get(material.get("name") or "")
    return _Found(link, (place[0], place[1]), part.tag == "visual", one.tag, size, colour, mesh)


def _materials(robot: Element, links: Mapping[str, Element]) -> dict[str, Colour]:
    """Colours by name: those of the robot, and those defined in a link's visual."""
    colours: dict[str, Colour] = {}
    parts = (part for link in links.values() for part in link.children)
    for part in (child for holder in (robot, *parts) for child in holder.children if child.tag == "material"):
        colour = _colour(part)
        if colour is not None:
            colours.setdefault(part.get("name") or "", colour)
    return colours


def _colour(material: Element) -> Colour | None:
    try:
        rgba = material.need("color").measures("rgba", 4)
    except FormatError:
        return None
    red, green, blue, opacity = (min(max(x, 0.0), 1.0) for x in rgba)
    return red, green, blue, opacity
