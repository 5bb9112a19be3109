"""Triangles of a COLLADA file: its geometries as placed by its scene, in the colours of their materials.

The scene is a graph: a node may place another many times, and that one a third. So it is walked first, which counts
instances and triangles, and triangles are placed when all are within bounds. Every list of numbers is read once.

The file's up axis is ignored, as in other readers of robots' meshes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.formats.xml import Element, Texts, parse
from linkwork.viewer.mesh import Indices
from linkwork.viewer.meshes.bounds import (
    MAX_COLOURS,
    MAX_CORNERS,
    MAX_INSTANCES,
    MAX_NESTING,
    MAX_NUMBERS,
    MAX_TRIANGLES,
    MAX_VERTICES,
    within,
)

Colour = tuple[float, float, float, float]
_PIECES = re.compile(r"\S.{0,262144}\S*", re.DOTALL)  # of a text, between words
_MOST_EXACT = 2**53  # the largest whole number up to which a float64 has all
_FACES = ("triangles", "polylist", "polygons")


class _Faces(NamedTuple):
    """A list of triangles: vertices (n, 3), their indices (m, 3), and the symbol of its material."""

    vertices: Array
    triangles: Indices
    material: str


class _Child(NamedTuple):
    """A node or geometry in a node: its placement (4, 4) there, and materials by symbol."""

    element: Element
    place: Array
    materials: dict[str, str | None]


class _Placed(NamedTuple):
    faces: _Faces
    place: Array
    materials: dict[str, str | None]


def collada(data: bytes, path: str) -> list[tuple[Array, Colour | None]]:
    """Triangles (m, 3, 3), m, of each colour."""
    texts: Texts = {}
    root = parse(data, path, texts=texts)
    return _Document(root, texts).parts()


class _Document:
    def __init__(self, root: Element, texts: Texts) -> None:
        self.root, self.texts = root, texts
        self.by_id = {name: element for element in root.walk() if (name := element.get("id"))}
        self.solids: list[_Placed] = []
        self.instances = self.triangles = 0
        self._children: dict[Element, list[_Child]] = {}
        self._faces: dict[Element, list[_Faces]] = {}
        self._positions: dict[Element, Array] = {}
        self._colours: dict[Element | str | None, Colour | None] = {}

    def parts(self) -> list[tuple[Array, Colour | None]]:
        unit = next((element.get("meter") for element in self.root.walk() if element.tag == "unit"), None)
        scale = np.diag([*[float(unit or 1.0)] * 3, 1.0])
        scenes = [element for element in self.root.walk() if element.tag == "visual_scene"]
        for scene in scenes:
            self.walk(scene, scale, 0)
        if not scenes:
            for shape in [element for element in self.root.walk() if element.tag == "geometry"]:
                self.place(_Child(shape, scale, {}))
        colours: dict[Colour | None, list[Array]] = {}
        for faces, place, materials in self.solids:
            colour = self.colour(materials.get(faces.material, faces.material))
            corners = faces.vertices[faces.triangles] @ place[:3, :3].T + place[:3, 3]
            colours.setdefault(colour, []).append(corners)
            within(len(colours), MAX_COLOURS, "colours")
        return [(np.concatenate(lists), colour) for colour, lists in colours.items()]

    def walk(self, node: Element, place: Array, depth: int) -> None:
        """Place all geometry below a node; ``place`` is its placement."""
        within(depth, MAX_NESTING, "nodes in each other, or a circle of them")
        for child in self.children(node):
            there = child._replace(place=place @ child.place)
            if child.element.tag == "geometry":
                self.place(there)
            else:
                self.instances = within(self.instances + 1, MAX_INSTANCES, "instances")
                self.walk(child.element, there.place, depth + 1)

    def place(self, geometry: _Child) -> None:
        lists = self.faces(geometry.element)
        self.instances = within(self.instances + max(len(lists), 1), MAX_INSTANCES, "instances")
        self.triangles = within(
            self.triangles + sum(len(faces.triangles) for faces in lists), MAX_TRIANGLES, "triangles"
        )
        self.solids += [_Placed(faces, geometry.place, geometry.materials) for faces in lists]

    def children(self, node: Element) -> list[_Child]:
        """The nodes and geometries in a node, those included to which it refers; a transform is of all that follow."""
        if node not in self._children:
            rows, place = list[_Child](), np.eye(4)
            for part in node.children:
                if part.tag in ("matrix", "translate", "rotate", "scale"):
                    place = place @ self.transform(part)
                elif part.tag == "node":
                    rows.append(_Child(part, place, {}))
                elif part.tag == "instance_node":
                    rows.append(_Child(self.named(part.get("url"), "node"), place, {}))
                elif part.tag == "instance_geometry":
                    bound = [one for one in part.walk() if one.tag == "instance_material"]
                    materials = {one.get("symbol") or "": one.get("target") for one in bound}
                    rows.append(_Child(self.named(part.get("url"), "geometry"), place, materials))
            self._children[node] = rows
        return self._children[node]

    def transform(self, part: Element) -> Array:
        numbers = self.numbers(part)
        matrix = np.eye(4)
        if part.tag == "matrix":
            return numbers.reshape(4, 4)
        if part.tag == "translate":
            matrix[:3, 3] = numbers
        elif part.tag == "scale":
            matrix[:3, :3] = np.diag(numbers)
        else:
            axis, angle = numbers[:3] / (np.linalg.norm(numbers[:3]) or 1.0), np.radians(numbers[3])
            cross = np.cross(axis, np.eye(3)).T  # by columns: cross @ v is axis × v
            matrix[:3, :3] += np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
        return matrix

    def faces(self, geometry: Element) -> list[_Faces]:
        """The lists of faces of a geometry."""
        if geometry not in self._faces:
            parts = [part for mesh in _of_tag(geometry, "mesh") for part in _of_tag(mesh, *_FACES)]
            self._faces[geometry] = [self.listed(part) for part in parts]
        return self._faces[geometry]

    def listed(self, part: Element) -> _Faces:
        """A list of faces as triangles; larger faces become triangle fans."""
        inputs = _of_tag(part, "input")
        stride = 1 + max(int(one.get("offset") or 0) for one in inputs)
        (vertex,) = [one for one in inputs if one.get("semantic") == "VERTEX"]
        positions = self.positions(self.named(vertex.get("source")))
        material = part.get("material") or ""
        lists = [self.whole(element) for element in _of_tag(part, "p")]
        if not lists:
            return _Faces(positions, np.zeros((0, 3), dtype=np.int64), material)
        index = np.concatenate(lists)[int(vertex.get("offset") or 0) :: stride]
        if part.tag == "triangles":
            counts = np.full(len(index) // 3, 3)
        elif part.tag == "polygons":
            counts = np.array([len(one) // stride for one in lists])
        else:
            counts = self.whole(_of_tag(part, "vcount")[0])
        if len(index) and not 0 <= index.min() <= index.max() < len(positions):
            raise ValueError("a face has a corner that is not there")
        return _Faces(positions, _fans(index, counts), material)

    def positions(self, element: Element) -> Array:
        """The positions of <vertices>, or of the <source> that these refer to."""
        if element.tag == "vertices":
            inputs = [one for one in _of_tag(element, "input") if one.get("semantic") == "POSITION"]
            element = self.named(inputs[0].get("source"))
        if element not in self._positions:
            arrays = _of_tag(element, "float_array")
            accessors = [one for one in element.walk() if one.tag == "accessor"]
            stride = int(accessors[0].get("stride") or 3) if accessors else 3
            places = self.numbers(arrays[0]).reshape(-1, stride)[:, :3]
            within(len(places), MAX_VERTICES, "vertices")
            self._positions[element] = places
        return self._positions[element]

    def colour(self, material: str | None) -> Colour | None:
        """The diffuse colour of a material, if it has a plain one."""
        if material not in self._colours:
            element = self.by_id.get((material or "").removeprefix("#"))
            below = () if element is None else element.walk()
            effect = next((one.get("url") for one in below if one.tag == "instance_effect"), None)
            self._colours[material] = self.diffuse(effect)
        return self._colours[material]

    def diffuse(self, effect: str | None) -> Colour | None:
        element = self.by_id.get((effect or "").removeprefix("#"))
        if element is not None and element not in self._colours:
            plain: Element | None = element
            for tag in ("diffuse", "color"):
                plain = next((one for one in plain.walk() if one.tag == tag), None) if plain is not None else None
            colour = None
            if plain is not None:
                red, green, blue = np.clip(self.numbers(plain)[:3], 0.0, 1.0).tolist()
                colour = red, green, blue, 1.0
            self._colours[element] = colour
        return None if element is None else self._colours[element]

    def named(self, reference: str | None, tag: str = "") -> Element:
        """The element that a reference names; of this tag, if one is given."""
        name = (reference or "").removeprefix("#")
        element = self.by_id.get(name)
        if element is None or tag not in ("", element.tag):
            raise ValueError(f"it refers to {name[:60]!r}, which is not there")
        return element

    def numbers(self, element: Element) -> Array:
        """The numbers of a text, piece by piece: as Python's objects they would take ten times the memory."""
        arrays, count = list[Array](), 0
        for piece in _PIECES.finditer("".join(self.texts.get(element, ()))):
            arrays.append(np.array(piece[0].split(), dtype=np.float64))
            count = within(count + len(arrays[-1]), MAX_NUMBERS, "numbers in a list")
        return np.concatenate(arrays) if arrays else np.zeros(0)

    def whole(self, element: Element) -> Indices:
        """The whole numbers of a text."""
        numbers = self.numbers(element)
        if not (abs(numbers) <= _MOST_EXACT).all():  # NaN included
            raise ValueError("an index is no whole number")
        return numbers.astype(np.int64)


def _of_tag(element: Element, *tags: str) -> list[Element]:
    """The children of these tags."""
    return [child for child in element.children if child.tag in tags]


def _fans(index: Indices, counts: Indices) -> Indices:
    """The triangles of polygons of so many corners, one after another."""
    within(int(counts.max(initial=0)), MAX_CORNERS, "corners in a face")
    if counts.sum() > len(index) or (len(counts) and counts.min() < 0):
        raise ValueError("its polygons have other corners than it says")
    many = np.maximum(counts - 2, 0)
    within(int(many.sum()), MAX_TRIANGLES, "triangles")
    first = np.repeat(np.cumsum(counts) - counts, many)
    step = np.arange(len(first)) - np.repeat(np.cumsum(many) - many, many)
    return np.stack([index[first], index[first + step + 1], index[first + step + 2]], axis=1)
