"""What a URDF file says of its joints and links: kinds, placements, limits and inertias.

A file may have hundreds of thousands of them. So numbers are read, checked and computed with as arrays, by the texts
that serve a single body, too; only what is wrong is looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from math import inf
from struct import pack
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import ModelError, warn_caller
from linkwork.formats.xml import Element, Wanted, quoted, table
from linkwork.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from linkwork.model.inertias import NOTHING, check_inertia, clearly_possible
from linkwork.model.model import Limits
from linkwork.model.placements import IDENTITY, as_placement, placements, rotations
from linkwork.spatial import Inertia, Sym3, Transform, Vec3
from linkwork.spatial.functions import LARGEST_ANGLE

_ZERO, _X = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)
_ORIGIN: tuple[Wanted, ...] = (("xyz", 3, _ZERO), ("rpy", 3, _ZERO))
_MOMENTS: tuple[Wanted, ...] = tuple((name, 1, None) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))

KINDS: dict[str, Callable[[Sequence[float]], Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": lambda _: Fixed(),
    "floating": lambda _: Free(),
    "planar": lambda _: Planar(),
}


class Connection(NamedTuple):
    """A <joint> with the names that it ties together, and the elements in it by their tags."""

    name: str
    kind: str
    parent: str
    child: str
    element: Element
    parts: dict[str, Element]


def warn(element: Element, message: str) -> None:
    """Warn of what stands at an element."""
    warn_caller(f"{element.path}:{element.line}:{element.column}: {message}")


# Joints


def joint_kinds(joints: Sequence[Connection], strict: bool) -> list[Joint]:
    """The kind of each joint; those of the same kind and axis share one object, since there may be many."""
    read: dict[tuple[str, ...], Joint] = {}  # by what the file says
    known: dict[tuple[str, bytes], Joint] = {}  # by kind and axis, to the bit, as a zero has a sign
    found = []
    for joint in joints:
        axis = None if joint.kind == "fixed" else _axis(joint, strict)
        key = (joint.kind,) if axis is None else (joint.kind, *axis.flat)
        kind = None if joint.kind == "planar" else read.get(key)
        if kind is None:
            kind = read[key] = _kind(joint, axis, known)
        found.append(kind)
    return found


def _kind(joint: Connection, axis: Element | None, known: dict[tuple[str, bytes], Joint]) -> Joint:
    direction = list(_X) if axis is None else axis.measures("xyz", 3, _X)
    if joint.kind == "planar" and axis is not None and (direction[0] or direction[1]):
        # Pinocchio does not look at the axis; neither do we, so that vectors can be handed over, but we say so.
        warn(axis, f"planar joint {quoted(joint.name)} moves in the x-y plane of its frame, whatever its axis says")
    key = joint.kind, pack("3d", *direction)
    try:
        if key not in known:
            known[key] = KINDS[joint.kind](direction)
        return known[key]
    except ModelError as error:
        raise (axis or joint.element).error(f"joint {quoted(joint.name)}: {error}") from None


def _axis(joint: Connection, strict: bool) -> Element | None:
    """Its <axis>; of several the first, as other readers have it, unless ``strict``."""
    axis = joint.parts.get("axis")
    if axis is None or len(joint.parts) == len(joint.element.children):
        return axis
    found = [child for child in joint.element.children if child.tag == "axis"]
    if len(found) > 1:
        if strict:
            joint.element.child("axis")  # says that there are two
        warn(found[1], f"joint {quoted(joint.name)} has a second <axis>, which is left out")
    return found[0]


def joint_placements(joints: Sequence[Connection]) -> list[Transform]:
    """Where each joint stands on its parent."""
    origins = [(joint, origin) for joint in joints if (origin := joint.parts.get("origin")) is not None]
    numbers = table([origin for _, origin in origins], _ORIGIN)
    places = placements(numbers[:, :3], numbers[:, 3:])
    for k in np.flatnonzero((np.abs(numbers[:, 3:]) > LARGEST_ANGLE).any(axis=1)).tolist():
        joint, _ = origins[k]
        try:
            as_placement(f"joint {joint.name!r}", places[k])
        except ModelError as error:
            raise joint.element.error(str(error)) from None
    made = iter(places)
    return [next(made) if "origin" in joint.parts else IDENTITY for joint in joints]


def joint_limits(joints: Sequence[Connection], kinds: Sequence[Joint], strict: bool) -> list[Limits]:
    """The limits of each joint; joints of the same ones share one object, since there may be many."""
    read: dict[tuple[Any, ...], Limits] = {}  # by what the file says
    known: dict[tuple[int, int, bytes], Limits] = {}  # to the bit
    found = []
    for joint, kind in zip(joints, kinds, strict=True):
        limit, dynamics = joint.parts.get("limit"), joint.parts.get("dynamics")
        key = joint.kind, tuple(limit.flat) if limit else None, tuple(dynamics.flat) if dynamics else None
        same = read.get(key)
        if same is None:
            numbers, said = _limits(joint, limit, dynamics, strict)
            exact = kind.nq, kind.nv, pack("6d", *numbers)
            if exact not in known:
                lower, upper, *others = numbers
                known[exact] = Limits((lower,) * kind.nq, (upper,) * kind.nq, *((x,) * kind.nv for x in others))
            same = known[exact]
            if not said:
                read[key] = same
        found.append(same)
    return found


def _limits(
    joint: Connection, limit: Element | None, dynamics: Element | None, strict: bool
) -> tuple[list[float], bool]:
    """Lower, upper, velocity, effort, damping and friction; and whether there was a warning to give."""
    lower, upper, velocity, effort, damping, friction = -inf, inf, inf, inf, 0.0, 0.0
    said = False
    if joint.kind == "fixed":
        return [lower, upper, velocity, effort, damping, friction], said
    if limit is not None:
        effort = limit.number("effort", inf)
        velocity = limit.number("velocity", inf)
        if joint.kind in ("revolute", "prismatic"):
            lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
            if lower > upper:
                if strict:
                    raise limit.error(f"joint {quoted(joint.name)}: the lower limit is above the upper one")
                warn(limit, f"joint {quoted(joint.name)}: the lower limit is above the upper one; it has no limits")
                lower, upper, said = -inf, inf, True  # Bullet's sign for none
    elif joint.kind in ("revolute", "prismatic"):
        warn(joint.element, f"{joint.kind} joint {quoted(joint.name)} has no <limit>; it is read as without limits")
        said = True
    if dynamics is not None:
        damping, friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
    return [lower, upper, velocity, effort, damping, friction], said


# Links


def link_inertias(links: Sequence[Element], names: Sequence[str], unjudged: Container[str] = ()) -> list[Inertia]:
    """The inertia of each link, about its frame, zero where there is no <inertial>; ``names`` are those of its body.
    Those of ``unjudged`` ones, parts of other bodies, may be any.
    """
    found = [NOTHING] * len(links)
    which, weights, moments, origins = [], [], [], []
    for k, link in enumerate(links):
        inertial = link.child("inertial")
        if inertial is not None:
            parts = inertial.parts("mass", "inertia", "origin")
            which.append(k)
            weights.append(parts.get("mass") or inertial.need("mass"))
            moments.append(parts.get("inertia") or inertial.need("inertia"))
            origins.append(parts.get("origin") or _nowhere(inertial))
            link.children = []  # a large file goes as its model grows
    if not which:
        return found
    mass = table(weights, (("value", 1, None),))[:, 0]
    for k in np.flatnonzero(mass < 0.0)[:1].tolist():
        name = quoted(links[which[k]].word("name"))
        raise weights[k].error(f"the mass of link {name} must not be negative, but is {mass[k]}")
    second, place = table(moments, _MOMENTS), table(origins, _ORIGIN)
    about_com = Sym3(*second.T).congruence(rotations(place[:, 3:]))  # all at once: arrays are scalars, too
    for k in np.flatnonzero(~np.asarray(clearly_possible(about_com))).tolist():
        if names[which[k]] in unjudged:
            continue
        one = Sym3(*(float(part[k]) for part in about_com.numbers()))
        check_inertia(f"body {names[which[k]]!r}", float(mass[k]), one)
    whole = Inertia.from_com(mass, Vec3(*place[:, :3].T), about_com)
    rows = np.stack(whole.numbers(), axis=-1).tolist()
    for k, (m, x, y, z, *moment) in zip(which, rows, strict=True):
        found[k] = Inertia(m, Vec3(x, y, z), Sym3(*moment))
    return found


def _nowhere(inertial: Element) -> Element:
    """An <origin> that says nothing, for an element that has none."""
    origin = Element.__new__(Element)
    origin.path, origin.tag, origin.line, origin.column = inertial.path, "origin", inertial.line, inertial.column
    origin.flat, origin.children = [], []
    return origin
