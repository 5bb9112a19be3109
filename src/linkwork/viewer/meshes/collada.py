"""Triangles of a COLLADA file: its geometries as placed by its scene, in the colours of their materials.

The file's up axis is ignored, as in other readers of robots' meshes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.formats.xml import Element, parse

Colour = tuple[float, float, float, float]
_DEEPEST = 50
_MOST_TRIANGLES = 5_000_000


def collada(data: bytes, path: str) -> list[tuple[Array, Colour | None]]:
    """Vertices (m, 3, 3), m, and colour of each part."""
    texts: dict[Element, str] = {}
    root = parse(data, path, texts=texts)
    return _Document(root, texts).parts()


class _Document:
    def __init__(self, root: Element, texts: dict[Element, str]) -> None:
        self.root, self.texts = root, texts
        self.by_id = {name: element for element in root.walk() if (name := element.get("id"))}
        self.count = 0

    def parts(self) -> list[tuple[Array, Colour | None]]:
        unit = next((element.get("meter") for element in self.root.walk() if element.tag == "unit"), None)
        scale = np.diag([*[float(unit or 1.0)] * 3, 1.0])
        scenes = [element for element in self.root.walk() if element.tag == "visual_scene"]
        found = [part for scene in scenes for part in self.node(scene, scale, 0)]
        if not scenes:  # geometries without a scene
            shapes = [element for element in self.root.walk() if element.tag == "geometry"]
            found = [part for shape in shapes for part in self.geometry(shape, scale, {})]
        return found

    def node(self, node: Element, place: Array, depth: int) -> Iterator[tuple[Array, Colour | None]]:
        """All geometry below a node; ``place`` is its placement."""
        if depth > _DEEPEST:
            raise ValueError("its nodes are nested too deep, or in a circle")
        for part in node.children:
            if part.tag in ("matrix", "translate", "rotate", "scale"):
                place = place @ self.transform(part)
            elif part.tag == "node":
                yield from self.node(part, place, depth + 1)
            elif part.tag == "instance_node":
                yield from self.node(self.named(part.get("url")), place, depth + 1)
            elif part.tag == "instance_geometry":
                bound = {
                    one.get("symbol") or "": self.colour(one.get("target"))
                    for one in part.walk()
                    if one.tag == "instance_material"
                }
                yield from self.geometry(self.named(part.get("url")), place, bound)

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

    def geometry(
        self, geometry: Element, place: Array, bound: dict[str, Colour | None]
    ) -> Iterator[tuple[Array, Colour | None]]:
        for mesh in (element for element in geometry.children if element.tag == "mesh"):
            for part in mesh.children:
                if part.tag in ("triangles", "polylist", "polygons"):
                    corners = self.corners(part)
                    self.count += len(corners)
                    if self.count > _MOST_TRIANGLES:
                        raise ValueError(f"it has more than {_MOST_TRIANGLES} triangles")
                    material = part.get("material") or ""
                    colour = bound[material] if material in bound else self.colour(material)
                    yield corners @ place[:3, :3].T + place[:3, 3], colour

    def corners(self, part: Element) -> Array:
        """The triangles of a part; larger faces become triangle fans."""
        inputs = [element for element in part.children if element.tag == "input"]
        stride = 1 + max(int(one.get("offset") or 0) for one in inputs)
        (vertex,) = [one for one in inputs if one.get("semantic") == "VERTEX"]
        positions = self.positions(self.named(vertex.get("source")))
        lists = [self.numbers(element).astype(np.int64) for element in part.children if element.tag == "p"]
        if not lists:
            return np.zeros((0, 3, 3))
        offset = int(vertex.get("offset") or 0)
        if part.tag == "polygons":
            counts = np.array([len(one) // stride for one in lists])
        counted = [element for element in part.children if element.tag == "vcount"]
        index = np.concatenate(lists)[offset::stride]
        if part.tag == "triangles":
            counts = np.full(len(index) // 3, 3)
        elif part.tag == "polylist":
            counts = self.numbers(counted[0]).astype(np.int64)
        if counts.sum() > len(index) or (len(counts) and counts.min() < 0):
            raise ValueError("its polygons have other corners than it says")
        if len(index) and not 0 <= index.min() <= index.max() < len(positions):
            raise ValueError("a face has a corner that is not there")
        many = np.maximum(counts - 2, 0)
        first = np.repeat(np.cumsum(counts) - counts, many)
        step = np.arange(len(first)) - np.repeat(np.cumsum(many) - many, many)
        return positions[np.stack([index[first], index[first + step + 1], index[first + step + 2]], axis=1)]

    def positions(self, element: Element) -> Array:
        """The positions of <vertices>, or of the <source> that these refer to."""
        if element.tag == "vertices":
            inputs = [one for one in element.children if one.tag == "input" and one.get("semantic") == "POSITION"]
            element = self.named(inputs[0].get("source"))
        arrays = [one for one in element.children if one.tag == "float_array"]
        accessors = [one for one in element.walk() if one.tag == "accessor"]
        stride = int(accessors[0].get("stride") or 3) if accessors else 3
        return self.numbers(arrays[0]).reshape(-1, stride)[:, :3]

    def colour(self, material: str | None) -> Colour | None:
        """The diffuse colour of a material, if it has a plain one."""
        element = self.by_id.get((material or "").removeprefix("#"))
        for tag in ("instance_effect", "diffuse", "color"):
            element = next((one for one in element.walk() if one.tag == tag), None) if element is not None else None
            if tag == "instance_effect" and element is not None:
                element = self.by_id.get((element.get("url") or "").removeprefix("#"))
        plain = element
        if plain is None:
            return None
        red, green, blue = np.clip(self.numbers(plain)[:3], 0.0, 1.0).tolist()
        return red, green, blue, 1.0

    def named(self, reference: str | None) -> Element:
        name = (reference or "").removeprefix("#")
        if name not in self.by_id:
            raise ValueError(f"it refers to {name[:60]!r}, which is not there")
        return self.by_id[name]

    def numbers(self, element: Element) -> Array:
        return np.array(self.texts.get(element, "").split(), dtype=np.float64)
