"""The contacts of an MJCF file: which geoms may collide, their friction and softness, by MuJoCo's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.formats.mjcf_parts import FREE
from linkwork.formats.omissions import Omissions
from linkwork.model.all_contacts import Contacts
from linkwork.model.contacts import Box, Capsule, Contact, Cylinder, Ellipsoid, HeightField, Plane, Softness, Sphere
from linkwork.model.medium import Medium
from linkwork.spatial import Mat3, Quaternion, Transform, Vec3

_PLANE, _FIELD, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX = range(7)  # mjtGeom
_KINDS = ("plane", "height field", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "distance field")
_PARTNERS = {
    _SPHERE: (_PLANE, _FIELD, _SPHERE),
    _CAPSULE: (_PLANE, _FIELD, _SPHERE, _CAPSULE),
    _ELLIPSOID: (_PLANE,),
    _CYLINDER: (_PLANE,),
    _BOX: (_PLANE, _SPHERE, _BOX),
}
"""The kinds of geoms that each kind may collide with, of those before it or its own."""
_NO_FRICTION_LOSS, _NO_LIMITS, _NO_CONTACT, _NO_PARENT_FILTER = (1 << k for k in (2, 3, 4, 9))  # mjtDisableBit
_LEAST, _LEAST_FRICTION = 1e-15, 1e-5  # mjMINVAL, mjMINMU
_MOST_GEOMS = 2000
_MOST_CONTACTS = 20_000


def contacts_of(
    m: Any, bodies: list[str], joints: list[str], reference: tuple[float, ...], equalities: Sequence[int]
) -> Contacts:
    """The contacts of a compiled MuJoCo model, given the names of its bodies and joints, and which of its equality
    constraints are constraints of the model.
    """
    reader = _Reader(m, bodies)
    limits = () if m.opt.disableflags & _NO_LIMITS else _limits(m, joints)
    contacts = [] if m.opt.disableflags & _NO_CONTACT else reader.contacts()
    frictions = tuple(
        (joints[j], _softness(m.dof_solref[m.jnt_dofadr[j]], m.dof_solimp[m.jnt_dofadr[j]])) for j in range(m.njnt)
    )
    places = [(bodies[k], m.body_ipos[k].tolist()) for k in range(1, m.nbody)]
    centres = tuple((name, (x, y, z)) for name, (x, y, z) in places)
    heavy = [j for j in range(m.njnt) if m.jnt_type[j] == FREE and m.dof_armature[m.jnt_dofadr[j]]]
    rotors = tuple((bodies[m.jnt_bodyid[j]], float(m.dof_armature[m.jnt_dofadr[j]])) for j in heavy)
    bonds = tuple(_softness(m.eq_solref[e], m.eq_solimp[e]) for e in equalities)
    return Contacts(
        tuple(contacts), limits, frictions, float(m.opt.impratio), reference, centres, bonds,
        medium=_medium(m, bodies, reader), rotors=rotors, left_out=tuple(reader.omissions.texts()),
    )  # fmt: skip


def _medium(m: Any, bodies: list[str], reader: _Reader) -> Medium | None:
    """The fluid in which bodies move: MuJoCo's model of inertia boxes."""
    if not (m.opt.density or m.opt.viscosity):
        return None
    boxes = []
    for k in range(1, m.nbody):
        geoms = range(m.body_geomadr[k], m.body_geomadr[k] + m.body_geomnum[k])
        if any(m.geom_fluid[geom, 0] for geom in geoms):
            reader.omissions.add("the medium's forces on bodies with geoms that are ellipsoids in it", [bodies[k]])
        elif m.body_mass[k] >= _LEAST:
            first, second, third = m.body_inertia[k].tolist()
            squares = second + third - first, first + third - second, first + second - third
            x, y, z = (float(np.sqrt(max(_LEAST, square) / m.body_mass[k] * 6.0)) for square in squares)
            boxes.append((bodies[k], _placement(m.body_ipos[k], m.body_iquat[k]), (x, y, z)))
    wind, density, viscosity = m.opt.wind.tolist(), float(m.opt.density), float(m.opt.viscosity)
    return Medium(density, viscosity, (wind[0], wind[1], wind[2]), tuple(boxes))


def _placement(position: Any, quaternion: Any) -> Transform:
    w, x, y, z = quaternion.tolist()
    turn: Mat3 = Quaternion(x, y, z, w).normalized().matrix()
    return Transform(turn, Vec3(*position.tolist()))


def _limits(m: Any, joints: list[str]) -> tuple[tuple[str, Softness, float], ...]:
    return tuple(
        (joints[j], _softness(m.jnt_solref[j], m.jnt_solimp[j]), float(m.jnt_margin[j])) for j in range(m.njnt)
    )


def _softness(solref: Any, solimp: Any) -> Softness:
    first, second = solref.tolist()
    a, b, c, d, e = solimp.tolist()
    return Softness(first, second, (a, b, c, d, e))


class _Reader:
    def __init__(self, m: Any, bodies: list[str]) -> None:
        self.m, self.bodies = m, bodies
        self.omissions = Omissions()
        import mujoco

        self.sums = int(mujoco.__version__.partition(".")[0]) >= 4
        self.names = [m.geom(k).name or f"geom{k} of {bodies[m.geom_bodyid[k]]}" for k in range(m.ngeom)]

    def margin(self, margins: Any, gaps: Any) -> float:
        """The distance at which two geoms begin to push: the sum of their margins; in MuJoCo 3 the larger, without the
        gap.
        """
        return float(sum(margins)) if self.sums else float(max(margins) - max(gaps))

    def contacts(self) -> list[Contact]:
        m, rows = self.m, []
        paired = set()
        for k in range(m.npair):
            a, b = int(m.pair_geom1[k]), int(m.pair_geom2[k])
            paired.add((min(a, b), max(a, b)))
            friction = m.pair_friction[k].tolist()
            if friction[0] != friction[1] and m.pair_dim[k] > 1:
                ends = f"{self.names[a]} and {self.names[b]}"
                self.omissions.add("friction of pairs that varies with direction, of which the first is taken", [ends])
            soft = _softness(m.pair_solref[k], m.pair_solimp[k])
            margin = self.margin(m.pair_margin[k : k + 1], m.pair_gap[k : k + 1])
            rows.append(self.contact(a, b, int(m.pair_dim[k]), friction[::2], soft, margin))
        for a, b in self.pairs():
            if (a, b) not in paired:
                rows.append(self.contact(a, b, *self.mixed(a, b)))
        return [one for one in rows if one is not None]

    def pairs(self) -> list[tuple[int, int]]:
        """Geoms that may collide, by bodies and bit masks."""
        m = self.m
        able = np.flatnonzero((m.geom_contype != 0) | (m.geom_conaffinity != 0))
        if able.size > _MOST_GEOMS:
            self.omissions.add("contacts of too many geoms", (self.names[k] for k in able))
            return []
        weld = m.body_weldid[m.geom_bodyid[able]]
        parent = m.body_weldid[m.body_parentid[weld]]
        kind, like = m.geom_contype[able], m.geom_conaffinity[able]
        meet = ((kind[:, None] & like[None, :]) | (like[:, None] & kind[None, :])) != 0
        meet &= weld[:, None] != weld[None, :]
        if not m.opt.disableflags & _NO_PARENT_FILTER:
            moving = (weld[:, None] != 0) & (weld[None, :] != 0)
            family = (weld[:, None] == parent[None, :]) | (parent[:, None] == weld[None, :])
            meet &= ~(moving & family)
        excluded = {(int(s) >> 16, int(s) & 0xFFFF) for s in m.exclude_signature}
        rows = []
        for i, j in np.argwhere(np.triu(meet)):
            a, b = int(able[i]), int(able[j])
            ends = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
            if ends in excluded or ends[::-1] in excluded:
                continue
            rows.append((a, b))
        if len(rows) > _MOST_CONTACTS:
            first = f"{self.names[rows[0][0]]} and {self.names[rows[0][1]]}"
            self.omissions.add("contacts of too many pairs of geoms", [first], len(rows) - 1)
            return []
        return rows

    def mixed(self, a: int, b: int) -> tuple[int, Sequence[float], Softness, float]:
        """Condim, friction (sliding, torsional, rolling), softness and margin of a pair of geoms."""
        m = self.m
        margin = self.margin(m.geom_margin[[a, b]], m.geom_gap[[a, b]])
        if m.geom_priority[a] != m.geom_priority[b]:
            k = a if m.geom_priority[a] > m.geom_priority[b] else b
            soft = _softness(m.geom_solref[k], m.geom_solimp[k])
            return int(m.geom_condim[k]), m.geom_friction[k].tolist(), soft, margin
        weights = m.geom_solmix[a], m.geom_solmix[b]
        if weights[0] >= _LEAST and weights[1] >= _LEAST:
            share = weights[0] / (weights[0] + weights[1])
        else:
            share = 0.5 if max(weights) < _LEAST else (0.0 if weights[0] < _LEAST else 1.0)
        first, second = m.geom_solref[a], m.geom_solref[b]
        both = first[0] > 0.0 and second[0] > 0.0
        solref = share * first + (1.0 - share) * second if both else np.minimum(first, second)
        solimp = share * m.geom_solimp[a] + (1.0 - share) * m.geom_solimp[b]
        friction = np.maximum(m.geom_friction[a], m.geom_friction[b]).tolist()
        return int(max(m.geom_condim[a], m.geom_condim[b])), friction, _softness(solref, solimp), margin

    def contact(
        self, a: int, b: int, dimensions: int, friction: Sequence[float], softness: Softness, margin: float
    ) -> Contact | None:
        m = self.m
        if m.geom_type[a] > m.geom_type[b]:
            a, b = b, a
        geom, other = int(m.geom_type[b]), int(m.geom_type[a])
        called = f"{self.names[b]} and {self.names[a]}"
        if other not in _PARTNERS.get(geom, ()):
            self.omissions.add(f"contacts of a {_KINDS[geom]} and a {_KINDS[other]}", [called])
            return None
        on = self.bodies[m.geom_bodyid[a]] if m.geom_bodyid[a] else "world"
        return Contact(
            self.bodies[m.geom_bodyid[b]] if m.geom_bodyid[b] else "world",
            self.shape(b),  # type: ignore[arg-type]
            self.shape(a),  # type: ignore[arg-type]
            on,
            friction=friction[0],
            dimensions=dimensions,
            torsional_friction=max(friction[1], _LEAST_FRICTION),
            rolling_friction=max(friction[2], _LEAST_FRICTION),
            placement=_placement(m.geom_pos[b], m.geom_quat[b]),
            on_placement=_placement(m.geom_pos[a], m.geom_quat[a]),
            softness=softness,
            margin=margin,
            name=called,
        )

    def shape(self, k: int) -> object:
        kind, (x, y, z) = int(self.m.geom_type[k]), self.m.geom_size[k].tolist()
        if kind == _PLANE:
            return Plane()
        if kind == _FIELD:
            return self.field(int(self.m.geom_dataid[k]))
        if kind == _SPHERE:
            return Sphere(x)
        if kind == _CAPSULE:
            return Capsule(x, y)
        if kind == _CYLINDER:
            return Cylinder(x, y)
        return Ellipsoid((x, y, z)) if kind == _ELLIPSOID else Box((x, y, z))

    def field(self, k: int) -> HeightField:
        m = self.m
        rows, columns, first = int(m.hfield_nrow[k]), int(m.hfield_ncol[k]), int(m.hfield_adr[k])
        numbers = m.hfield_data[first : first + rows * columns].reshape(rows, columns).astype(np.float64)
        x, y, height, _ = m.hfield_size[k].tolist()
        return HeightField(height * numbers, (x, y))
