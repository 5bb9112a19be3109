"""Triangles of mesh files. The format is recognised by the content, sizes are bounded, and errors are reported."""

from __future__ import annotations

import re
from array import array
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.errors import FormatError
from linkwork.files import open_regular
from linkwork.viewer.meshes.bounds import MAX_BYTES, MAX_CORNERS, MAX_TRIANGLES, MAX_VERTICES, within
from linkwork.viewer.meshes.collada import collada

_LONGEST = 200  # characters of a reason, which may quote the file
_STL = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
# Lines of a text, each after the end of the one before:
_VERTEX = re.compile(rb"[\r\n][ \t]*vertex[ \t]+([^\r\n]*)", re.IGNORECASE)
_PART = re.compile(rb"[\r\n][ \t]*([vf])[ \t]+([^\r\n]*)")


class Triangles(NamedTuple):
    """Triangles by their vertices (m, 3, 3), in the file's units, and their colour, if the file has one."""

    corners: Array
    colour: tuple[float, float, float, float] | None = None


def read(path: str) -> list[Triangles]:
    """The triangles of a file, one item for each colour.

    Raises:
        FormatError: if it cannot be read.
    """
    try:
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FormatError(f"cannot read the file: {error.strerror or error}", path) from None
    if len(data) > MAX_BYTES:
        raise FormatError(f"the mesh has more than {MAX_BYTES // 2**20} MiB", path)
    kind = path.rpartition(".")[2].lower()
    try:
        with np.errstate(all="ignore"):  # whatever overflows is refused below
            parts = _triangles(data, kind, path)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise FormatError(f"this is no mesh that can be read: {str(error)[:_LONGEST]}", path) from None
    parts = [part for part in parts if len(part.corners)]
    if not parts:
        raise FormatError("the mesh has no triangles", path)
    for part in parts:
        if not abs(part.corners).max() < 1e9:  # NaN included
            raise FormatError("the mesh has corners that are no finite places", path)
    return parts


def _triangles(data: bytes, kind: str, path: str) -> list[Triangles]:
    if kind == "stl":
        return [Triangles(_stl(data))]
    if kind == "obj":
        return [Triangles(_obj(data))]
    if kind == "dae":
        return [Triangles(corners, colour) for corners, colour in collada(data, path)]
    raise FormatError(f"meshes of the kind .{kind[:10]} are not read; .stl, .obj and .dae are", path)


def _stl(data: bytes) -> Array:
    """The triangles of an STL file: binary if its length says so, otherwise text."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) >= 84 + 50 * count and (count or not data.lstrip().startswith(b"solid")):
        within(count, MAX_TRIANGLES, "triangles")
        return np.frombuffer(data, _STL, count, 84)["corners"].astype(np.float64)
    places = array("d")
    for line in _VERTEX.finditer(b"\n" + data):
        places.extend(_place(line[1]))
        within(len(places) // 9, MAX_TRIANGLES, "triangles")
    if len(places) % 9:
        raise ValueError("its vertices do not come in threes")
    return np.asarray(places, dtype=np.float64).reshape(-1, 3, 3)


def _obj(data: bytes) -> Array:
    """The triangles of an OBJ file; a face of more than three vertices becomes a triangle fan."""
    places, faces = array("d"), array("q")
    for line in _PART.finditer(b"\n" + data):
        if line[1] == b"v":
            places.extend(_place(line[2]))
            within(len(places) // 3, MAX_VERTICES, "vertices")
            continue
        words = line[2].split(None, MAX_CORNERS)
        within(len(words), MAX_CORNERS, "corners in a face")
        count = len(places) // 3
        corners = [int(word.partition(b"/")[0]) for word in words]
        corners = [corner - 1 if corner > 0 else count + corner for corner in corners]
        for b, c in pairwise(corners[1:]):
            faces.extend((corners[0], b, c))
        within(len(faces) // 3, MAX_TRIANGLES, "triangles")
    vertices = np.asarray(places, dtype=np.float64).reshape(-1, 3)
    index = np.asarray(faces, dtype=np.int64).reshape(-1, 3)
    if index.size and not 0 <= index.min() <= index.max() < len(vertices):
        raise ValueError("a face has a corner that is not there")
    return vertices[index]


def _place(words: bytes) -> tuple[float, float, float]:
    """The first three numbers of a line."""
    first = words.split(None, 3)[:3]
    if len(first) < 3:
        raise ValueError("a vertex has fewer than three coordinates")
    return float(first[0]), float(first[1]), float(first[2])
