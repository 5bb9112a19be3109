"""Arrays of a page: concatenated, deflated and written as text."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.arguments import Array
from linkwork.viewer.mesh import Mesh

_KINDS = {"int8": "i8", "int16": "i16", "uint16": "u16", "uint32": "u32", "float32": "f32"}


class Numbers:
    """Collects arrays; each is identified by its type, its offset (bytes) and its length."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._meshes: dict[int, tuple[Mesh, dict[str, Any]]] = {}  # keeps the mesh alive, so that its id remains unique

    def add(self, array: NDArray[Any]) -> tuple[str, int, int]:
        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        place = _KINDS[array.dtype.name], self._size, int(array.size)
        self._parts += [data, bytes(-len(data) % 4)]
        self._size += len(data) + -len(data) % 4
        return place

    def mesh(self, mesh: Mesh) -> dict[str, Any]:
        """A mesh, stored once however often it is used; its vertices are quantised, which no eye can see."""
        if id(mesh) not in self._meshes:
            low, size = mesh.vertices.min(axis=0), np.ptp(mesh.vertices, axis=0)
            steps = np.rint((mesh.vertices - low) / np.maximum(size, 1e-12) * 65535.0)
            vertices = np.zeros((len(steps), 4), dtype=np.uint16)
            vertices[:, :3] = np.clip(steps, 0.0, 65535.0)
            normals = np.zeros((len(steps), 4), dtype=np.int8)
            normals[:, :3] = np.rint(np.clip(mesh.normals, -1.0, 1.0) * 127.0)
            small = len(steps) <= 65535
            places = {
                "low": low.tolist(),
                "size": size.tolist(),
                "vertices": self.add(vertices),
                "normals": self.add(normals),
                "faces": self.add(mesh.faces.astype(np.uint16 if small else np.uint32)),
            }
            self._meshes[id(mesh)] = mesh, places
        return self._meshes[id(mesh)][1]

    def places(self, points: Array) -> dict[str, Any]:
        """Points over time (K, n, 3), m, quantised by the range of each coordinate."""
        low, size = points.min(axis=(0, 1)), np.ptp(points, axis=(0, 1))
        step = np.maximum(size, 1e-9) / 65535.0
        steps = np.clip(np.rint((points - low) / step), 0.0, 65535.0) - 32768.0
        return {"low": low.tolist(), "step": step.tolist(), "track": self._track(steps.reshape(len(points), -1))}

    def poses(self, places: Array, turns: Array) -> dict[str, Any]:
        """Poses over time: positions (K, 3) and unit quaternions (K, 4)."""
        low, size = places.min(axis=0), np.ptp(places, axis=0)
        step = np.maximum(size, 1e-9) / 65535.0
        steps = np.clip(np.rint((places - low) / step), 0.0, 65535.0) - 32768.0
        track = self._track(np.concatenate([steps, np.rint(turns * 32767.0)], axis=1))
        return {"poses": True, "low": low.tolist(), "step": step.tolist(), "track": track}

    def _track(self, numbers: Array) -> tuple[str, int, int]:
        """Numbers over time (K, n) as differences modulo 2¹⁶, which are small and quick to deflate."""
        whole = numbers.astype(np.int16)
        changes = whole.copy()
        changes[1:] -= whole[:-1]
        return self.add(changes)

    def text(self) -> str:
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")
