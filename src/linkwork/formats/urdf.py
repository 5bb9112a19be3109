"""URDF: a tree of links and joints.

Strict where a mistake would change the mechanism, deaf to what does not move it (transmissions, extensions of
simulators); what can be read of visuals and collisions is kept to look at. Mistakes that other readers overlook are
overlooked with a warning, unless ``strict``. Conventions are Pinocchio's, but a continuous joint is one angle.
"""

from __future__ import annotations

import heapq
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from struct import pack
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import LinkworkWarning, ModelError, suggestion
from linkwork.formats.urdf_extension import TAG, completed, kept_bodies
from linkwork.formats.urdf_geometry import geometry_of, meshes_of
from linkwork.formats.xml import Element, quoted
from linkwork.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from linkwork.model import WORLD, Builder, Model
from linkwork.model.constraints import Coupling
from linkwork.model.inertias import about_centre, check_inertia
from linkwork.model.merging import merged
from linkwork.model.placements import placements
from linkwork.spatial import Mat3, Sym3, Transform

ROOT_JOINT = "root_joint"
_ZERO, _GRAVITY = (0.0, 0.0, 0.0), (0.0, 0.0, -9.81)
_COUPLED = ("revolute", "continuous", "prismatic")

_KINDS: dict[str, Callable[[list[float]], Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": lambda _: Fixed(),
    "floating": lambda _: Free(),
    "planar": lambda _: Planar(),
}


class _Connection(NamedTuple):
    """A <joint> with the names that it ties together."""

    name: str
    kind: str
    parent: str
    child: str
    element: Element


def model_of(
    robot: Element,
    *,
    floating_base: bool,
    joint_order: str | None,
    fixed_joints: str,
    strict: bool,
    kept: Collection[str] = (),
) -> Model:
    """The mechanism of a <robot>; the options are those of ``lw.load``, already checked, and bodies that are kept."""
    name = robot.get("name") or Path(robot.path).stem
    for child in robot.children:
        if child.tag.startswith("xacro:"):
            raise child.error("this is a xacro file; expand it with xacro first")
    links = _links(robot)
    connections = _connections(robot, links)
    if not links:
        raise robot.error(f"robot {quoted(name)} has no <link>; was the xacro macro that makes them never called?")
    root = _root(links, connections)
    meshes, shapes = meshes_of(robot), geometry_of(robot, links)
    extension = robot.child(TAG)
    usual = "pinocchio" if extension is None else "file"
    order = {"pinocchio": _depth_first, "file": _file_order}[joint_order or usual]

    joints = list(order(root, connections))
    if len(joints) + 1 < len(links):
        raise _loop(connections, {root, *(joint.child for joint in joints)})
    builder = Builder(name, _GRAVITY if extension is None else extension.measures("gravity", 3, _GRAVITY))
    bodies = {link: link for link in links}  # the name of each link's body
    if floating_base or root != WORLD:
        bodies.update(_moving_world(links))
    stay = {*kept, *kept_bodies(extension)}
    if fixed_joints == "merge":  # what a part is like does not matter, but what it becomes a part of
        whole = [joint for joint in joints if joint.kind == "fixed" and bodies[joint.child] not in stay]
        builder.judged_later = {bodies[end] for joint in whole for end in (joint.parent, joint.child)}
    (base,) = _inertials([links[root]])  # checked even where it becomes a part of the world
    if floating_base:
        joint_name = _unused(ROOT_JOINT, {joint.name for joint in connections})
        _add(builder, links[root], bodies[root], WORLD, Free(), joint_name=joint_name, **base)
    else:
        bodies[root] = WORLD
        if root != WORLD:
            builder.add_frame(root, WORLD, kind="link")
    couplings = _couplings(joints, strict)
    parts = _joints(joints, strict)
    inertials = _inertials(links[joint.child] for joint in joints)
    for joint, (kind, place, limits), inertial in zip(joints, parts, inertials, strict=True):
        ends = bodies[joint.child], bodies[joint.parent]
        _add(builder, joint.element, *ends, kind, place, joint_name=joint.name, **inertial, **limits)
    model = builder.build(meshes, constraints=couplings)
    if shapes:
        numbers = {link: 0 if body == WORLD else model.body_index(body) + 1 for link, body in bodies.items()}
        model = replace(model, geometry=tuple(replace(shape, body=numbers[link]) for link, shape in shapes))
    if fixed_joints == "merge":
        model = merged(model, lambda body: body.name not in stay)
        for body in model.bodies:
            if body.name in builder.judged_later and body.inertia.mass:
                check_inertia(f"body {body.name!r}", float(body.inertia.mass), about_centre(body.inertia))
    return model if extension is None else completed(extension, model)


# The graph


def _links(robot: Element) -> dict[str, Element]:
    links: dict[str, Element] = {}
    for element in robot.children:
        if element.tag == "link":
            name = element.word("name")
            if name in links:
                raise element.error(f"there is already a link named {quoted(name)}, at line {links[name].line}")
            links[name] = element
    return links


def _connections(robot: Element, links: dict[str, Element]) -> list[_Connection]:
    joints: dict[str, _Connection] = {}
    carriers: dict[str, str] = {}  # which joint carries a link
    for element in robot.children:
        if element.tag != "joint":
            continue
        name = element.word("name")
        if name in joints:
            raise element.error(f"there is already a joint named {quoted(name)}, at line {joints[name].element.line}")
        kind = element.word("type")
        if kind not in _KINDS:
            raise element.error(f"joint {quoted(name)} has the unknown type {quoted(kind)}{_near(kind, _KINDS)}")
        ends = []
        for tag in ("parent", "child"):
            end = element.need(tag)
            link = end.word("link")
            if link not in links:
                raise end.error(f"joint {quoted(name)}: there is no link named {quoted(link)}{_near(link, links)}")
            ends.append(link)
        parent, child = ends
        if child in carriers:
            raise element.error(
                f"link {quoted(child)} is the child of two joints, {quoted(carriers[child])} and {quoted(name)}; "
                "a loop or a second parent cannot be"
            )
        carriers[child] = name
        joints[name] = _Connection(name, kind, parent, child, element)
    return list(joints.values())


def _root(links: dict[str, Element], connections: list[_Connection]) -> str:
    children = {joint.child for joint in connections}
    roots = [name for name in links if name not in children]
    if not roots:
        raise _loop(connections, set())
    if len(roots) > 1:
        raise links[roots[1]].error(
            f"there are {len(roots)} roots, {quoted(roots[0])} and {quoted(roots[1])} among them; "
            "each link but one must be the child of a joint"
        )
    return roots[0]


def _loop(connections: list[_Connection], reached: set[str]) -> ModelError:
    """The error for links that hang on each other and not on the root."""
    carrier = {joint.child: joint for joint in connections if joint.child not in reached}
    joint, seen = next(iter(carrier.values())), set[str]()
    while joint.name not in seen:
        seen.add(joint.name)
        joint = carrier[joint.parent]
    around, link = [joint.child], joint.parent
    while link != joint.child and len(around) < 8:
        around.append(link)
        link = carrier[link].parent
    names = " on ".join(quoted(name) for name in [*around, link])
    return joint.element.error(f"joint {quoted(joint.name)} closes a loop: {names}")


def _depth_first(root: str, connections: list[_Connection]) -> Iterator[_Connection]:
    """Pinocchio's order: a joint, then all beyond it, then the next; those of one link by the bytes of their names."""
    below = _by_parent(connections)
    stack = sorted(below[root], key=lambda joint: joint.name, reverse=True)
    while stack:
        joint = stack.pop()
        yield joint
        stack.extend(sorted(below[joint.child], key=lambda joint: joint.name, reverse=True))


def _file_order(root: str, connections: list[_Connection]) -> Iterator[_Connection]:
    """The file's order, a joint waiting for the one that carries its parent."""
    line = {joint.name: index for index, joint in enumerate(connections)}
    below = _by_parent(connections)
    ready = [(line[joint.name], joint.name, joint) for joint in below[root]]
    heapq.heapify(ready)
    while ready:
        _, _, joint = heapq.heappop(ready)
        yield joint
        for child in below[joint.child]:
            heapq.heappush(ready, (line[child.name], child.name, child))


def _by_parent(connections: list[_Connection]) -> defaultdict[str, list[_Connection]]:
    below = defaultdict(list)
    for joint in connections:
        below[joint.parent].append(joint)
    return below


# The parts


def _joint(joint: _Connection, known: dict[tuple[str, bytes], Joint], strict: bool) -> Joint:
    """Its kind; joints of the same kind and axis share one object, since there may be many."""
    element = joint.element
    if joint.kind == "fixed":
        return Fixed()
    axis = element.child("axis") if strict else _first_axis(joint)
    direction = [1.0, 0.0, 0.0] if axis is None else axis.measures("xyz", 3, (1.0, 0.0, 0.0))
    if joint.kind == "planar" and axis is not None and (direction[0] or direction[1]):
        # Pinocchio does not look at the axis; neither do we, so that vectors can be handed over, but we say so.
        _warn(axis, f"planar joint {quoted(joint.name)} moves in the x-y plane of its frame, whatever its axis says")
    key = joint.kind, pack("3d", *direction)  # to the bit, as a zero has a sign
    try:
        if key not in known:
            known[key] = _KINDS[joint.kind](direction)
        return known[key]
    except ModelError as error:
        raise (axis or element).error(f"joint {quoted(joint.name)}: {error}") from None


def _first_axis(joint: _Connection) -> Element | None:
    """The first <axis>, as other readers have it."""
    found = [child for child in joint.element.children if child.tag == "axis"]
    if len(found) > 1:
        _warn(found[1], f"joint {quoted(joint.name)} has a second <axis>, which is left out")
    return found[0] if found else None


def _limits(joint: _Connection, strict: bool) -> dict[str, float]:
    limits: dict[str, float] = {}
    if joint.kind == "fixed":
        return limits
    limit, dynamics = joint.element.child("limit"), joint.element.child("dynamics")
    if limit is not None:
        for attribute in ("effort", "velocity"):
            if limit.get(attribute) is not None:
                limits[attribute] = limit.number(attribute)
        if joint.kind in ("revolute", "prismatic"):
            lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
            if lower <= upper:
                limits["lower"], limits["upper"] = lower, upper
            elif strict:
                raise limit.error(f"joint {quoted(joint.name)}: the lower limit is above the upper one")
            else:  # Bullet's sign for none
                _warn(limit, f"joint {quoted(joint.name)}: the lower limit is above the upper one; it has no limits")
    elif joint.kind in ("revolute", "prismatic"):
        _warn(joint.element, f"{joint.kind} joint {quoted(joint.name)} has no <limit>; it is read as without limits")
    if dynamics is not None:
        limits["damping"], limits["friction"] = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
    return limits


def _inertials(links: Iterable[Element]) -> list[dict[str, Any]]:
    """What ``Builder.add_body`` is told of each link's <inertial>; nothing where there is none."""
    found, turned = [], []
    origins, moments = [], []
    for link in links:
        options: dict[str, Any] = {}
        found.append(options)
        inertial = link.child("inertial")
        if inertial is None:
            continue
        weight, second = inertial.need("mass"), inertial.need("inertia")
        (mass,) = weight.measures("value", 1)
        if mass < 0.0:
            raise weight.error(f"the mass of link {quoted(link.word('name'))} must not be negative, but is {mass}")
        moments.append([second.measures(name, 1)[0] for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")])
        origins.append(_origin(inertial) or (_ZERO, _ZERO))
        options["mass"], options["com"] = mass, list(origins[-1][0])
        turned.append(options)
        link.children = []  # a large file goes as its model grows
    if turned:
        rotations = np.array([place.rotation.numbers() for place in placements(origins)])
        about_com = Sym3(*np.array(moments).T).congruence(Mat3(*rotations.T))  # all at once: arrays are scalars, too
        for options, numbers in zip(turned, np.stack(about_com.numbers(), axis=-1).tolist(), strict=True):
            options["inertia"] = numbers
    return found


def _joints(joints: list[_Connection], strict: bool) -> list[tuple[Joint, Transform | None, dict[str, float]]]:
    """Kind, placement (None where there is no <origin>) and limits of each joint."""
    known: dict[tuple[str, bytes], Joint] = {}
    kinds, origins, limits = [], [], []
    for joint in joints:
        kinds.append(_joint(joint, known, strict))
        origins.append(_origin(joint.element))
        limits.append(_limits(joint, strict))
        joint.element.children = []  # a large file goes as its model grows
    made = iter(placements([origin for origin in origins if origin is not None]))
    places = [None if origin is None else next(made) for origin in origins]
    return list(zip(kinds, places, limits, strict=True))


def _couplings(joints: list[_Connection], strict: bool) -> list[Coupling]:
    """Joints that mimic others, each as a coupling; what cannot be one is left out, as by readers that know none."""
    known = {joint.name: joint for joint in joints}
    follows: dict[str, str] = {}
    found = []
    for joint in joints:
        mimic = joint.element.child("mimic")
        if mimic is None or joint.kind == "fixed":
            continue
        other, ratio, offset = mimic.get("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        reason = None
        if other not in known:
            near = _near(other, known) if other else ""
            reason = f"there is no joint named {quoted(other)}{near}" if other else "it does not say which"
        elif any(kind not in _COUPLED for kind in (joint.kind, known[other].kind)):
            reason = f"{quoted(other)} and it must be joints of one degree of freedom"
        else:
            follows[joint.name] = other
            if _goes_round(follows, joint.name):
                reason = "joints mimic each other in a circle"
                del follows[joint.name]
        if reason is None:
            assert other is not None
            found.append(Coupling(joint.name, other, ratio, offset))
            continue
        message = f"joint {quoted(joint.name)} mimics another, but {reason}"
        if strict:
            raise mimic.error(message)
        _warn(mimic, f"{message}; it is read as an independent coordinate")
    return found


def _goes_round(follows: dict[str, str], name: str) -> bool:
    seen, now = {name}, follows[name]
    while now in follows and now not in seen:
        seen.add(now)
        now = follows[now]
    return now in seen


def _origin(element: Element) -> tuple[Sequence[float], Sequence[float]] | None:
    """Position, and roll, pitch and yaw, of its <origin>."""
    origin = element.child("origin")
    return None if origin is None else (origin.measures("xyz", 3, _ZERO), origin.measures("rpy", 3, _ZERO))


def _add(builder: Builder, element: Element, *arguments: Any, **options: Any) -> None:
    """Add a body; what the builder refuses has its place in the file."""
    try:
        builder.add_body(*arguments, **options)
    except ModelError as error:
        raise element.error(str(error)) from None


# Names


def _moving_world(links: dict[str, Element]) -> dict[str, str]:
    """A link named "world" that is not the world gets another name, for that one is taken."""
    if WORLD not in links:
        return {}
    name = _unused(f"{WORLD}_link", links)
    _warn(links[WORLD], f"link {WORLD!r} is not the world here; its body is named {name!r}")
    return {WORLD: name}


def _unused(name: str, taken: Iterable[str]) -> str:
    names = set(taken)
    while name in names:
        name += "_"
    return name


def _near(name: str, known: Iterable[str]) -> str:
    """A suggestion among names of a sane length: comparing is quadratic in it."""
    return suggestion(name, [each for each in known if len(each) <= 60][:500]) if len(name) <= 60 else ""


def _warn(element: Element, message: str) -> None:
    warnings.warn(f"{element.path}:{element.line}:{element.column}: {message}", LinkworkWarning, stacklevel=2)
