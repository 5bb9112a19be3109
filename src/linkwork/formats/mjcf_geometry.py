"""The visual geometry of an MJCF file, from a compiled MuJoCo model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from linkwork.model.geometry import Geometry
from linkwork.spatial import Mat3, Transform, Vec3

_KINDS = {2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box", 7: "mesh"}  # mjtGeom
_SEEN = 2
"""The last of the geom groups that MuJoCo shows by default; collision shapes are mostly in the next."""


def geometry_of(
    m: Any, path: str, folder: str, carriers: list[tuple[int, Transform]], rotation: Callable[[Any], Mat3]
) -> tuple[Geometry, ...]:
    """Its geoms except planes and height fields; ``carriers`` are the body and placement of each of its bodies. Meshes
    are relative to ``folder``, the root of the model.
    """
    here = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    shapes = []
    for geom in range(m.ngeom):
        kind = _KINDS.get(int(m.geom_type[geom]))
        if kind is None:
            continue
        body, on_body = carriers[int(m.geom_bodyid[geom])]
        place = on_body * Transform(rotation(m.geom_quat[geom]), Vec3(*m.geom_pos[geom].tolist()))
        x, y, z = m.geom_size[geom].tolist()
        size: tuple[float, ...] = {
            "sphere": (x,), "capsule": (x, 2.0 * y), "cylinder": (x, 2.0 * y), "ellipsoid": (x, y, z),
            "box": (2.0 * x, 2.0 * y, 2.0 * z),
        }.get(kind, ())  # fmt: skip
        mesh = ""
        if kind == "mesh":
            which = int(m.geom_dataid[geom])
            mesh = _file(m, which, here, folder)
            if not mesh:
                continue  # defined in the file itself
            size = tuple(m.mesh_scale[which].tolist())
            # MuJoCo has moved the mesh to its centre of mass; this undoes it.
            offset = Transform(rotation(m.mesh_quat[which]), Vec3(*m.mesh_pos[which].tolist()))
            place = place * offset.inverse()
        material = int(m.geom_matid[geom])
        rgba = (m.mat_rgba[material] if material >= 0 else m.geom_rgba[geom]).tolist()
        touches = bool(m.geom_contype[geom] or m.geom_conaffinity[geom])
        visible = int(m.geom_group[geom]) <= _SEEN
        if rgba[3] > 0.0 or touches:
            shapes.append(
                Geometry(body, place, kind, size, visible, touches, tuple(rgba), mesh, folder if mesh else "")
            )
    return tuple(shapes)


def _file(m: Any, mesh: int, here: str, folder: str) -> str:
    """The path of a mesh's file, relative to a folder; empty if it has none. MuJoCo's are relative to ``here``."""
    start = int(m.mesh_pathadr[mesh])
    if start < 0:
        return ""
    path = os.fsdecode(bytes(m.paths[start:]).partition(b"\0")[0])
    return os.path.relpath(os.path.join(here, path), folder)
