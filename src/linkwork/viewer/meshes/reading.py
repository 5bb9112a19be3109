"""Triangles of mesh files. The format is recognised by the content, sizes are bounded, and errors are reported."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.arguments import Array
from linkwork.errors import FormatError
from linkwork.files import open_regular
from linkwork.viewer.meshes.collada import collada

MAX_BYTES = 128 * 2**20
_STL = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


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
        if kind == "stl":
            found = [Triangles(_stl(data))]
        elif kind == "obj":
            found = [Triangles(_obj(data))]
        elif kind == "dae":
            found = [Triangles(corners, colour) for corners, colour in collada(data, path)]
        else:
            raise FormatError(f"meshes of the kind .{kind[:10]} are not read; .stl, .obj and .dae are", path)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise FormatError(f"this is no mesh that can be read: {error}", path) from None
    found = [part for part in found if len(part.corners)]
    if not found:
        raise FormatError("the mesh has no triangles", path)
    for part in found:
        if not abs(part.corners).max() < 1e9:  # NaN included
            raise FormatError("the mesh has corners that are no finite places", path)
    return found


def _stl(data: bytes) -> Array:
    """The triangles of an STL file: binary if its length says so, otherwise text."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) >= 84 + 50 * count and (count or not data.lstrip().startswith(b"solid")):
        return np.frombuffer(data, _STL, count, 84)["corners"].astype(np.float64)
    words = [line.split()[1:4] for line in data.splitlines() if line.lstrip()[:6].lower() == b"vertex"]
    if len(words) % 3:
        raise ValueError("its vertices do not come in threes")
    return np.array(words, dtype=np.float64).reshape(-1, 3, 3)


def _obj(data: bytes) -> Array:
    """The triangles of an OBJ file; a face of more than three vertices becomes a triangle fan."""
    vertices: list[list[bytes]] = []
    faces: list[tuple[int, int, int]] = []
    for line in data.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            vertices.append(words[1:4])
        elif words[0] == b"f":
            corners = [int(word.partition(b"/")[0]) for word in words[1:]]
            corners = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
            faces += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
    places: NDArray[np.float64] = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    index = np.array(faces, dtype=np.int64).reshape(-1, 3)
    if index.size and not 0 <= index.min() <= index.max() < len(places):
        raise ValueError("a face has a corner that is not there")
    return places[index]
