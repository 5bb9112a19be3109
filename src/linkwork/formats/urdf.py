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
from typing import TYPE_CHECKING

from linkwork.errors import ModelError
from linkwork.formats.urdf_geometry import looks_of
from linkwork.formats.urdf_parts import Connection, Robot, link_inertias, near, origin_placements, warn
from linkwork.formats.xml import Element, quoted
from linkwork.joints import Free
from linkwork.model import WORLD, Model
from linkwork.model.builder import with_own_frames
from linkwork.model.geometry import Geometry
from linkwork.model.inertias import NOTHING, about_centre, check_inertia
from linkwork.model.merging import merged
from linkwork.model.model import Body, Frame, Limits
from linkwork.model.placements import IDENTITY
from linkwork.model.queries import unused

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
    fixed: Collection[str] = (),
) -> Model:
    """The mechanism of a <robot>; the options are those of ``lw.load``, checked; ``fixed`` bodies are not merged."""
    element, links = robot.root, robot.links
    robot.check_ends()
    if not links:
        raise element.error(
            f"robot {quoted(robot.name)} has no <link>; was the xacro macro that makes them never called?"
        )
    root = _root(robot)
    meshes, shapes = looks_of(element, links)
    extension = element.child(EXTENSION)
    x, y, z = _GRAVITY if extension is None else extension.measures("gravity", 3, _GRAVITY)
    on_world = root != WORLD and not floating_base
    body_names = dict(zip(links, links, strict=True))
    if floating_base or on_world:
        body_names |= _moving_world(links)
    joints = _joints(robot, root, joint_order or ("pinocchio" if extension is None else "file"))
    couplings = _couplings(joints, robot.strict)
    numbers = {root: int(floating_base)}  # of each link's body
    numbers |= {joint.child: number for number, joint in enumerate(joints, numbers[root] + 1)}
    places = origin_placements(robot)
    stay = {*fixed, *_kept_bodies(extension)}
    merging = fixed_joints == "merge"  # the inertia of a part need not be valid by itself, that of the whole must be
    parts = _merged_names(joints, body_names, stay) if merging else set[str]()
    base, *inertias = link_inertias(robot, {link: body_names[link] for link in numbers}, parts)
    bodies = []
    if floating_base:
        joint_name, free = unused(ROOT_JOINT, robot.joints), Free()
        bodies.append(Body(body_names[root], joint_name, 0, free, IDENTITY, base, (), Limits.none(free)))
        base = NOTHING
    for joint, inertia in zip(joints, inertias, strict=True):
        name, carrier, place = body_names[joint.child], numbers[joint.parent], places[joint.place]
        bodies.append(Body(name, joint.name, carrier, joint.joint, place, inertia, (), joint.limits))
    frames = with_own_frames([Frame(WORLD, 0, IDENTITY), *[Frame(root, 0, IDENTITY, "link")] * on_world], bodies)
    rest = tuple(meshes), tuple(couplings), (), _on_bodies(shapes, numbers)
    model = Model(robot.name, tuple(bodies), frames, (x, y, z), *rest, base_inertia=base)
    if merging:
        model = _merged(model, stay, parts)
    if extension is None:
        return model
    from linkwork.formats.urdf_extension import completed

    return completed(extension, model)


def _on_bodies(shapes: Iterable[tuple[str, Geometry]], numbers: dict[str, int]) -> tuple[Geometry, ...]:
    """The shapes of links as those of their bodies."""
    return tuple(replace(shape, body=numbers[link]) for link, shape in shapes)


def _merged_names(joints: list[Connection], body_names: dict[str, str], stay: set[str]) -> set[str]:
    """The bodies at both ends of fixed joints, except of bodies that ``stay``."""
    fixed = [joint for joint in joints if joint.kind == "fixed" and body_names[joint.child] not in stay]
    return {body_names[end] for joint in fixed for end in (joint.parent, joint.child)}


def _merged(model: Model, stay: set[str], parts: set[str]) -> Model:
    """The model without fixed joints, except of bodies that ``stay``; the inertias that are sums are checked."""
    model = merged(model, lambda body: body.name not in stay)
    for body in model.bodies:
        if body.name in parts and body.inertia.mass:
            check_inertia(f"body {body.name!r}", float(body.inertia.mass), about_centre(body.inertia))
    return model


# The graph


def _joints(robot: Robot, root: str, order: str) -> list[Connection]:
    """All joints, in this order: each one after that of its parent."""
    connections = list(robot.joints.values())
    joints = list({"pinocchio": _depth_first, "file": _file_order}[order](root, connections))
    if len(joints) + 1 < len(robot.links):
        raise _loop(connections, {root, *(joint.child for joint in joints)})
    return joints


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
    joint, visited = next(iter(carrier.values())), set[str]()
    while joint.name not in visited:
        visited.add(joint.name)
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
    kinds = {joint.name: joint.kind for joint in joints} if following else {}
    leads: dict[str, str] = {}
    couplings = []
    for joint, mimic in following:
        leader, ratio, offset = mimic.get("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        if not leader:
            reason = "it does not say which"
        elif leader not in kinds:
            reason = f"there is no joint named {quoted(leader)}{near(leader, kinds)}"
        elif joint.kind not in _COUPLED or kinds[leader] not in _COUPLED:
            reason = f"{quoted(leader)} and it must be joints of one degree of freedom"
        elif _leader(leads, leader) == joint.name:
            reason = "joints mimic each other in a circle"
        else:
            from linkwork.model.constraints import Coupling  # imported late: few joints mimic others

            leads[joint.name] = leader
            couplings.append(Coupling(joint.name, leader, ratio, offset))
            continue
        message = f"joint {quoted(joint.name)} mimics another, but {reason}"
        if strict:
            raise mimic.error(message)
        warn(mimic, f"{message}; it is read as an independent coordinate")
    return couplings


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
    name = unused(f"{WORLD}_link", links)
    warn(links[WORLD], f"link {WORLD!r} is not the world here; its body is named {name!r}")
    return {WORLD: name}
