"""URDF: a tree of links and joints.

The reader is strict where a mistake would change the mechanism, and ignores elements without effect on its motion
(transmissions, extensions of simulators); readable visual and collision geometry is kept for viewing. Mistakes that
other readers ignore are ignored with a warning, unless ``strict``. Conventions are Pinocchio's, except that a
continuous joint is one angle.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.errors import ModelError
from linkwork.formats.urdf_geometry import looks_of
from linkwork.formats.urdf_parts import Connection, Robot, link_inertias, near, origin_placements, warn
from linkwork.formats.xml import Element, quoted
from linkwork.joints import Free
from linkwork.model import WORLD, Model
from linkwork.model.builder import with_own_frames
from linkwork.model.inertias import NOTHING, about_centre, check_inertia
from linkwork.model.merging import merged
from linkwork.model.model import Body, Frame, Limits
from linkwork.model.placements import IDENTITY

if TYPE_CHECKING:
    from linkwork.model.constraints import Coupling

ROOT_JOINT = "root_joint"
EXTENSION = "linkwork"
"""The element for data that URDF cannot express."""
_GRAVITY = (0.0, 0.0, -9.81)
_COUPLED = ("revolute", "continuous", "prismatic")


def model_of(
    robot: Robot,
    *,
    floating_base: bool,
    joint_order: str | None,
    fixed_joints: str,
    kept: Collection[str] = (),
) -> Model:
    """The mechanism of a <robot>; the options are those of ``lw.load``, checked; ``kept`` bodies are not merged."""
    element, links, connections = robot.root, robot.links, list(robot.joints.values())
    name = element.get("name") or Path(element.path).stem
    robot.check_ends()
    if not links:
        raise element.error(f"robot {quoted(name)} has no <link>; was the xacro macro that makes them never called?")
    root = _root(robot)
    meshes, shapes = looks_of(element, links)
    extension = element.child(EXTENSION)
    usual = "pinocchio" if extension is None else "file"
    order = {"pinocchio": _depth_first, "file": _file_order}[joint_order or usual]

    x, y, z = _GRAVITY if extension is None else extension.measures("gravity", 3, _GRAVITY)
    body_names = {link: link for link in links}
    if floating_base or root != WORLD:
        body_names.update(_moving_world(links))
    named = [Frame(WORLD, 0, IDENTITY)]
    if not floating_base and root != WORLD:
        named.append(Frame(root, 0, IDENTITY, "link"))
    joints = list(order(root, connections))
    if len(joints) + 1 < len(links):
        raise _loop(connections, {root, *(joint.child for joint in joints)})
    couplings = _couplings(joints, robot.strict)
    numbers = {root: int(floating_base)}  # of each link's body
    for number, joint in enumerate(joints, numbers[root] + 1):
        numbers[joint.child] = number
    places = origin_placements(robot)
    stay, parts = {*kept, *_kept_bodies(extension)}, set[str]()
    if fixed_joints == "merge":  # the inertia of a part need not be valid by itself, that of the whole must be
        whole = [joint for joint in joints if joint.kind == "fixed" and body_names[joint.child] not in stay]
        parts = {body_names[end] for joint in whole for end in (joint.parent, joint.child)}
    inertias = link_inertias(robot, {link: body_names[link] for link in numbers}, parts)
    bodies = []
    if floating_base:
        joint_name = _unused(ROOT_JOINT, {joint.name for joint in connections})
        free = Free()
        bodies.append(Body(body_names[root], joint_name, 0, free, IDENTITY, inertias[0], (), Limits.none(free)))
    for joint, inertia in zip(joints, inertias[1:], strict=True):
        own, carrier, place = body_names[joint.child], numbers[joint.parent], places[joint.place]
        bodies.append(Body(own, joint.name, carrier, joint.joint, place, inertia, (), joint.limits))
    looks = tuple(replace(shape, body=numbers[link]) for link, shape in shapes)
    frames = with_own_frames(named, bodies)
    base = NOTHING if floating_base else inertias[0]
    rest = tuple(meshes), tuple(couplings), (), looks
    model = Model(name, tuple(bodies), frames, (x, y, z), *rest, base_inertia=base)
    if fixed_joints == "merge":
        model = merged(model, lambda body: body.name not in stay)
        for body in model.bodies:
            if body.name in parts and body.inertia.mass:
                check_inertia(f"body {body.name!r}", float(body.inertia.mass), about_centre(body.inertia))
    if extension is None:
        return model
    from linkwork.formats.urdf_extension import completed

    return completed(extension, model)


# The graph


def _root(robot: Robot) -> str:
    roots = [name for name in robot.links if name not in robot.carriers]
    if not roots:
        raise _loop(list(robot.joints.values()), set())
    if len(roots) > 1:
        raise robot.links[roots[1]].error(
            f"there are {len(roots)} roots, {quoted(roots[0])} and {quoted(roots[1])} among them; "
            "each link but one must be the child of a joint"
        )
    return roots[0]


def _loop(connections: list[Connection], reached: set[str]) -> ModelError:
    """The error for links that form a loop and are not connected to the root."""
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


def _depth_first(root: str, connections: list[Connection]) -> Iterator[Connection]:
    """Pinocchio's order: a joint, then all beyond it, then the next; those of one link by the bytes of their names."""
    below = _by_parent(connections)
    for joints in below.values():
        if len(joints) > 1:
            joints.sort(key=attrgetter("name"), reverse=True)
    stack = below[root]
    while stack:
        joint = stack.pop()
        yield joint
        stack += below.get(joint.child, ())


def _file_order(root: str, connections: list[Connection]) -> Iterator[Connection]:
    """The file's order, except that a joint comes after the one that carries its parent."""
    line = {joint.name: index for index, joint in enumerate(connections)}
    below = _by_parent(connections)
    ready = [(line[joint.name], joint.name, joint) for joint in below[root]]
    heapq.heapify(ready)
    while ready:
        _, _, joint = heapq.heappop(ready)
        yield joint
        for child in below[joint.child]:
            heapq.heappush(ready, (line[child.name], child.name, child))


def _by_parent(connections: list[Connection]) -> defaultdict[str, list[Connection]]:
    below = defaultdict(list)
    for joint in connections:
        below[joint.parent].append(joint)
    return below


def _kept_bodies(extension: Element | None) -> set[str]:
    """Bodies on fixed joints that remain bodies."""
    parts = [] if extension is None else extension.children
    return {part.word("name") for part in parts if part.tag == "body" and part.get("fixed") == "keep"}


# Couplings and geometry


def _couplings(joints: list[Connection], strict: bool) -> list[Coupling]:
    """Joints that mimic others, each as a coupling; invalid ones are ignored, as in readers without mimic joints."""
    following = [(joint, joint.mimic) for joint in joints if joint.mimic and joint.kind != "fixed"]
    known = {joint.name: joint for joint in joints} if following else {}
    leads: dict[str, str] = {}
    found = []
    for joint, mimic in following:
        other, ratio, offset = mimic.get("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        reason = None
        if other not in known:
            reason = (
                f"there is no joint named {quoted(other)}{near(other, known)}" if other else "it does not say which"
            )
        elif any(kind not in _COUPLED for kind in (joint.kind, known[other].kind)):
            reason = f"{quoted(other)} and it must be joints of one degree of freedom"
        elif _leader(leads, other) == joint.name:
            reason = "joints mimic each other in a circle"
        else:
            leads[joint.name] = other
        if reason is None:
            from linkwork.model.constraints import Coupling  # imported late: few joints mimic others

            assert other is not None
            found.append(Coupling(joint.name, other, ratio, offset))
            continue
        message = f"joint {quoted(joint.name)} mimics another, but {reason}"
        if strict:
            raise mimic.error(message)
        warn(mimic, f"{message}; it is read as an independent coordinate")
    return found


def _leader(leads: dict[str, str], name: str) -> str:
    """The joint that a joint finally follows, which follows none itself; paths are compressed on the way."""
    way = []
    while name in leads:
        way.append(name)
        name = leads[name]
    leads.update(dict.fromkeys(way, name))
    return name


# Names


def _moving_world(links: dict[str, Element]) -> dict[str, str]:
    """A new name for a link named "world" that is not the world, as that name is taken."""
    if WORLD not in links:
        return {}
    name = _unused(f"{WORLD}_link", links)
    warn(links[WORLD], f"link {WORLD!r} is not the world here; its body is named {name!r}")
    return {WORLD: name}


def _unused(name: str, taken: Iterable[str]) -> str:
    names = set(taken)
    while name in names:
        name += "_"
    return name
