"""The joints and links of a URDF file: kinds, placements, limits and inertias.

A file may have hundreds of thousands of them. So each is processed as soon as its element has ended, and the element is
freed; numbers are read, checked and computed as arrays, by the same code that serves a single body; only errors are
handled one by one. Identical elements share one object.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from linkwork.arguments import Array
from linkwork.errors import ModelError, suggestion, warn_caller
from linkwork.formats.xml import NONE, Element, Measure, quoted, table
from linkwork.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from linkwork.model.inertias import NOTHING, check_inertia, clearly_possible
from linkwork.model.model import Limits
from linkwork.model.placements import IDENTITY, as_placement, placements, rotations
from linkwork.spatial import Inertia, Sym3, Transform, Vec3
from linkwork.spatial.functions import LARGEST_ANGLE

_ZERO, _X = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)
_ORIGIN: tuple[Measure, ...] = (("xyz", 3, _ZERO), ("rpy", 3, _ZERO))
_MASS: tuple[Measure, ...] = (("value", 1, None),)
_MOMENTS: tuple[Measure, ...] = tuple((name, 1, None) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
_BLOCK = 1024

KINDS: dict[str, Callable[[Sequence[float]], Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": lambda _: Fixed(),
    "floating": lambda _: Free(),
    "planar": lambda _: Planar(),
}


class Connection(NamedTuple):
    """A <joint>: the names of the links that it connects, and its properties."""

    name: str
    kind: str
    parent: str
    child: str
    element: Element
    joint: Joint
    limits: Limits
    place: int
    """The index of its <origin> among the distinct ones; -1 for none."""
    mimic: Element | None


def warn(element: Element, message: str) -> None:
    """Warn, with the location of an element."""
    warn_caller(f"{element.path}:{element.line}:{element.column}: {message}")


def near(name: str, names: Iterable[str]) -> str:
    """A suggestion among names of bounded length: comparing takes quadratic time."""
    return suggestion(name, [one for one in names if len(one) <= 60][:500]) if len(name) <= 60 else ""


class Robot:
    """The links and joints of a <robot>, processed one by one; other elements remain in it."""

    def __init__(self, root: Element, strict: bool) -> None:
        self.root, self.strict = root, strict
        self.links: dict[str, Element] = {}  # with their content except <inertial>
        self.joints: dict[str, Connection] = {}
        self.origins = _Rows(_ORIGIN)
        self.solids = _Rows(_MASS, _MOMENTS, _ORIGIN)
        self.solid: dict[str, int] = {}  # by link, the index of its <inertial> among the distinct ones
        self.carriers: dict[str, str] = {}  # by link, the joint that carries it
        self._unknown: list[tuple[Element, str, str]] = []  # ends of joints on links that may follow later
        self._kinds: dict[str, Joint] = {}
        self._limits: dict[str, Limits] = {}

    @staticmethod
    def of(root: Element, strict: bool) -> Robot:
        """All links and joints of an element that has been read as a whole."""
        robot = Robot(root, strict)
        children, root.children = root.children, []
        for child in children:
            robot.take(child)
        return robot

    @property
    def name(self) -> str:
        return self.root.get("name") or Path(self.root.path).stem

    def take(self, element: Element) -> None:
        """Process a child of the <robot>."""
        if element.tag == "link":
            self._link(element)
        elif element.tag == "joint":
            self._joint(element)
        elif element.tag.startswith("xacro:"):
            raise element.error("this is a xacro file; expand it with xacro first")
        else:
            self.root.children.append(element)

    def _link(self, element: Element) -> None:
        name = element.word("name")
        if name in self.links:
            raise element.error(f"there is already a link named {quoted(name)}, at line {self.links[name].line}")
        self.links[name] = element
        inertial = element.child("inertial")
        if inertial is None:
            return
        parts = inertial.parts("mass", "inertia", "origin")
        mass, moments = parts.get("mass") or inertial.need("mass"), parts.get("inertia") or inertial.need("inertia")
        self.solid[name] = self.solids.number(mass, moments, parts.get("origin") or _NOWHERE)
        if "-" in (mass.get("value") or "") and mass.measures("value", 1)[0] < 0.0:
            raise mass.error(f"the mass of link {quoted(name)} must not be negative, but is {mass.get('value')}")
        others = len(element.children) > 1
        element.children = [part for part in element.children if part is not inertial] if others else NONE

    def _joint(self, element: Element) -> None:
        name = element.word("name")
        if name in self.joints:
            there = self.joints[name].element
            raise element.error(f"there is already a joint named {quoted(name)}, at line {there.line}")
        kind = element.word("type")
        if kind not in KINDS:
            raise element.error(f"joint {quoted(name)} has the unknown type {quoted(kind)}{near(kind, KINDS)}")
        parts = element.parts("parent", "child", "origin", "limit", "dynamics", "mimic")
        parent, child = self._end(element, parts, "parent", name), self._end(element, parts, "child", name)
        if child in self.carriers:
            raise element.error(
                f"link {quoted(child)} is the child of two joints, {quoted(self.carriers[child])} and {quoted(name)}; "
                "a loop or a second parent cannot be"
            )
        self.carriers[child] = name
        origin = parts.get("origin")
        place = -1 if origin is None else self.origins.number(origin)
        joint = self._kind_of(name, kind, element, parts)
        limits = self._limits_of(name, kind, joint, element, parts)
        element.children = NONE
        self.joints[name] = Connection(name, kind, parent, child, element, joint, limits, place, parts.get("mimic"))

    def _end(self, element: Element, parts: Mapping[str, Element], tag: str, name: str) -> str:
        end = parts.get(tag) or element.need(tag)
        link = end.word("link")
        if link not in self.links:
            self._unknown.append((end, name, link))
        return link

    def check_ends(self) -> None:
        """Reject joints on links that do not exist."""
        for end, name, link in self._unknown:
            if link not in self.links:
                raise end.error(f"joint {quoted(name)}: there is no link named {quoted(link)}{near(link, self.links)}")

    def _kind_of(self, name: str, kind: str, element: Element, parts: Mapping[str, Element]) -> Joint:
        """The kind of a joint; joints of the same kind and axis share one object."""
        axis = None if kind == "fixed" else self._axis(name, element, parts)
        key = kind if axis is None else "\0".join([kind, *axis.flat])
        joint = None if kind == "planar" else self._kinds.get(key)
        if joint is None:
            direction = list(_X) if axis is None else axis.measures("xyz", 3, _X)
            if kind == "planar" and axis is not None and (direction[0] or direction[1]):
                # Pinocchio ignores the axis; so do we, so that vectors can be exchanged, but with a warning
                warn(axis, f"planar joint {quoted(name)} moves in the x-y plane of its frame, whatever its axis says")
            try:
                joint = self._kinds[key] = KINDS[kind](direction)
            except ModelError as error:
                raise (axis or element).error(f"joint {quoted(name)}: {error}") from None
        return joint

    def _axis(self, name: str, element: Element, parts: Mapping[str, Element]) -> Element | None:
        """The <axis> of a joint; the first of several, as in other readers, unless ``strict``."""
        axis = parts.get("axis")
        if axis is None or len(parts) == len(element.children):
            return axis
        axes = [child for child in element.children if child.tag == "axis"]
        if len(axes) > 1:
            if self.strict:
                element.child("axis")  # raises the error for two
            warn(axes[1], f"joint {quoted(name)} has a second <axis>, which is left out")
        return axes[0]

    def _limits_of(self, name: str, kind: str, joint: Joint, element: Element, parts: Mapping[str, Element]) -> Limits:
        """The limits of a joint; joints with the same limits share one object."""
        limit, dynamics = parts.get("limit"), parts.get("dynamics")
        text = kind, *(limit.flat if limit else ("",)), "\1", *(dynamics.flat if dynamics else ())
        key = "\0".join(text)
        limits = self._limits.get(key)
        if limits is None:
            lower, upper, *others, warned = self._numbers(name, kind, element, limit, dynamics)
            limits = Limits((lower,) * joint.nq, (upper,) * joint.nq, *((x,) * joint.nv for x in others))
            if not warned:
                self._limits[key] = limits
        return limits

    def _numbers(
        self, name: str, kind: str, element: Element, limit: Element | None, dynamics: Element | None
    ) -> tuple[float, float, float, float, float, float, bool]:
        """Lower, upper, velocity, effort, damping and friction; and whether there is something to warn of."""
        lower, upper, velocity, effort, damping, friction = -inf, inf, inf, inf, 0.0, 0.0
        if kind == "fixed":
            return lower, upper, velocity, effort, damping, friction, False
        warned = False
        if limit is not None:
            effort = limit.number("effort", inf)
            velocity = limit.number("velocity", inf)
            if kind in ("revolute", "prismatic"):
                lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
                if lower > upper:
                    message = f"joint {quoted(name)}: the lower limit is above the upper one"
                    if self.strict:
                        raise limit.error(message)
                    warn(limit, f"{message}; it has no limits")
                    lower, upper, warned = -inf, inf, True  # Bullet's convention for no limits
        elif kind in ("revolute", "prismatic"):
            warn(element, f"{kind} joint {quoted(name)} has no <limit>; it is read as without limits")
            warned = True
        if dynamics is not None:
            damping, friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
        return lower, upper, velocity, effort, damping, friction, warned


class _Rows:
    """The numbers of elements, or of groups of elements, as rows of an array; those with the same text share a row."""

    def __init__(self, *columns: Sequence[Measure]) -> None:
        self._columns = columns
        self._rows: dict[str, int] = {}
        self._waiting: list[tuple[Element, ...]] = []
        self._blocks: list[Array] = []

    def number(self, *elements: Element) -> int:
        """The row of these elements."""
        key = "\1".join(["\0".join(element.flat) for element in elements])  # separators that cannot occur in XML
        number = self._rows.get(key)
        if number is None:
            number = self._rows[key] = len(self._rows)
            self._waiting.append(elements)
            if len(self._waiting) == _BLOCK:
                self._read()
        return number

    def _read(self) -> None:
        tables = zip(*self._waiting, strict=True)
        self._blocks.append(np.concatenate(list(map(table, tables, self._columns)), axis=1))
        self._waiting = []

    def numbers(self) -> Array:
        """All rows."""
        if self._waiting:
            self._read()
        return np.concatenate(
            [np.empty((0, sum(count for some in self._columns for _, count, _ in some))), *self._blocks]
        )


def origin_placements(robot: Robot) -> list[Transform]:
    """The distinct placements of joints on their parents."""
    numbers = robot.origins.numbers()
    places = placements(numbers[:, :3], numbers[:, 3:])
    for k in np.flatnonzero((np.abs(numbers[:, 3:]) > LARGEST_ANGLE).any(axis=1)).tolist():
        joint = next(joint for joint in robot.joints.values() if joint.place == k)
        try:
            as_placement(f"joint {joint.name!r}", places[k])
        except ModelError as error:
            raise joint.element.error(str(error)) from None
    return [*places, IDENTITY]  # at index -1


def link_inertias(robot: Robot, names: Mapping[str, str], unjudged: Container[str] = ()) -> list[Inertia]:
    """The inertia of each link, about its frame, zero where there is no <inertial>, in the order of ``names``, which
    are those of links' bodies. Those of ``unjudged`` links, parts of other bodies, need not be valid by themselves.
    """
    numbers = robot.solids.numbers()
    mass, second, place = numbers[:, 0], numbers[:, 1:7], numbers[:, 7:]
    about_com = Sym3(*second.T).congruence(rotations(place[:, 3:]))  # all at once: arrays are scalars, too
    doubtful = set(np.flatnonzero(~np.asarray(clearly_possible(about_com))).tolist())
    for link, name in names.items() if doubtful else ():
        k = robot.solid.get(link)
        if k in doubtful and name not in unjudged:
            one = Sym3(*(float(part[k]) for part in about_com.numbers()))
            check_inertia(f"body {name!r}", float(mass[k]), one)
    whole = Inertia.from_com(mass, Vec3(*place[:, :3].T), about_com)
    rows = np.stack(whole.numbers(), axis=-1).tolist()
    inertias = [Inertia(m, Vec3(x, y, z), Sym3(*moment)) for m, x, y, z, *moment in rows]
    solid = robot.solid
    return [inertias[solid[link]] if link in solid else NOTHING for link in names]


def _nowhere() -> Element:
    """An empty <origin>, for inertias without one."""
    origin = Element.__new__(Element)
    origin.path, origin.tag, origin.line, origin.column, origin.flat, origin.children = "", "origin", 1, 1, [], NONE
    return origin


_NOWHERE = _nowhere()
