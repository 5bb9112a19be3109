"""A Model as a URDF file.

As much as possible is written as plain URDF, so that other programs can read the file. Data that URDF cannot express
(gravity, armature, infinite limits, the last digits of a rotation) are in one element at the end, which they ignore:
``urdf_extension``.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from linkwork.arguments import file_path
from linkwork.errors import ArgumentError, LinkworkWarning, ModelError, shown, warn_caller
from linkwork.files import write_text
from linkwork.formats import urdf
from linkwork.formats.urdf_extension import LARGEST, OTHERS, differences
from linkwork.formats.urdf_parts import Robot
from linkwork.formats.xml import attribute, parse
from linkwork.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from linkwork.model.constraints import Coupling
from linkwork.model.model import WORLD, Body, Frame, Model
from linkwork.model.queries import mass_com_inertia, name_of, unused
from linkwork.spatial import Inertia, Mat3, Transform, Vec3

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def save(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a mechanism to a URDF file, which ``lw.load`` reads back equal: ``lw.load(path) == model``.

    Other programs read the same tree, masses, limits and mimic joints. Data that URDF cannot express are in an element
    ``<linkwork>`` at the end of the file, which they ignore. ``model.geometry`` is not written.

    Args:
        model: the mechanism. URDF has revolute, prismatic, fixed, planar and free joints; spherical, universal,
            cylindrical and helical joints are floating joints in the file, with a warning: other programs read them as
            free.
        path: of the file, which must end in ".urdf"; an existing file is replaced.

    Returns:
        The path.

    Raises:
        ModelError: if a joint is of a user-defined class, or XML cannot hold a name; it names the joint or the name.
        FileError: if the file cannot be written.

    Warns:
        LinkworkWarning: of joints that URDF does not have.

    Example:
        >>> import tempfile
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2).with_payload("tip", 0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = lw.save(arm, f"{folder}/arm.urdf")
        ...     lw.load(path) == arm
        True
    """
    if not isinstance(model, Model):
        raise ArgumentError(f"model must be a linkwork Model, not {shown(model)}")
    to = file_path("path", path)
    if to.suffix.lower() != ".urdf":
        raise ArgumentError(f"lw.save writes URDF, so the path must end in '.urdf', not {shown(path)}")
    write_text(to, as_urdf(model))
    others = [body for body in model.bodies if type(body.joint) in OTHERS.values()]
    if others:
        more = f", as {len(others) - 1} more" if len(others) > 1 else ""
        warn_caller(
            f"joint {others[0].joint_name!r} is {others[0].joint.describe()}, which URDF does not have: it is floating "
            f"in the file{more}. lw.load reads back what it is; other programs read it as free"
        )
    return to


def as_urdf(model: Model) -> str:
    """The text of the file."""
    head = ['<?xml version="1.0"?>', f"<robot name={_text('the model', model.name or 'mechanism')}>"]
    plain = [*head, *(f"  {line}" for line in _Writer(model).lines())]
    fixed = {body.name for body in model.bodies if isinstance(body.joint, Fixed)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinkworkWarning)
        root = parse("\n".join([*plain, "</robot>"]).encode(), "robot.urdf")
        robot = Robot.of(root, strict=False)
        read = urdf.model_of(robot, floating_base=False, joint_order="file", fixed_joints="merge", fixed=fixed)
    rest = (f"  {line}" for line in differences(model, read))
    return "\n".join([*plain, *rest, "</robot>", ""])


class _Writer:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.joints = set(model.joint_names)
        self.followers = _mimics(model)
        on_world = (frame for frame in model.frames if frame.body == 0 and frame.kind == "link")
        roots = (frame.name for frame in on_world if frame.placement == Transform.identity())
        self.root = next((name for name in roots if name not in model.body_names), WORLD)

    def lines(self) -> Iterator[str]:
        yield from _link(self.root, self.model.base_inertia)
        for body in self.model.bodies:
            yield from _link(body.name, body.inertia)
            yield from self.joint(body)
        for name, joint, frame in self.extra_links():
            yield f"<link name={_text('a frame', name)}/>"
            yield f'<joint name={_text("a joint", joint)} type="fixed">'
            yield from self.ends(frame.body, name, frame.placement)
            yield "</joint>"

    def ends(self, parent: int, child: str, place: Transform) -> Iterator[str]:
        carrier = name_of(self.model, parent) if parent else self.root
        yield f"  <parent link={_text('a link', carrier)}/>"
        yield f"  <child link={_text('a link', child)}/>"
        if place != Transform.identity():
            yield f"  {_origin(place.translation, place.rotation)}"

    def joint(self, body: Body) -> Iterator[str]:
        kind, joint = _kind(body), body.joint
        yield f'<joint name={_text("a joint", body.joint_name)} type="{kind}">'
        yield from self.ends(body.parent, body.name, body.placement)
        if isinstance(joint, Revolute | Prismatic):
            yield f'  <axis xyz="{_numbers(joint.axis.direction)}"/>'
        elif isinstance(joint, Planar):
            yield '  <axis xyz="0 0 1"/>'
        yield from _limits(body, kind)
        follows = self.followers.get(body.joint_name)
        if follows is not None:
            leader = f"joint={_text('a joint', follows.joint_b)}"
            yield f'  <mimic {leader} multiplier="{follows.ratio!r}" offset="{follows.offset!r}"/>'
        yield "</joint>"

    def extra_links(self) -> Iterator[tuple[str, str, Frame]]:
        """Frames other than those of bodies and joints, each as a link on a fixed joint: both names, and the frame.

        A link that was merged into its parent has the frame of its joint. A frame named by the user gets a joint of the
        same name.
        """
        default = {WORLD, self.root, *self.model.body_names, *self.model.joint_names}
        others = [frame for frame in self.model.frames if frame.name not in default]
        fixed = [frame for frame in others if frame.kind == "joint"]
        for frame in others:
            if frame.kind == "link":
                pairs = (one for one in fixed if (one.body, one.placement) == (frame.body, frame.placement))
                pair = next(pairs, None)
                if pair is not None:
                    fixed.remove(pair)
                yield frame.name, self.unused(frame.name if pair is None else pair.name), frame
        for frame in others:
            if frame.kind == "frame" or frame in fixed:
                yield frame.name, self.unused(frame.name), frame

    def unused(self, name: str) -> str:
        self.joints.add(name := unused(name, self.joints))
        return name


def _mimics(model: Model) -> dict[str, Coupling]:
    """The couplings that URDF can express: at most one for each follower, without cycles."""
    mimics: dict[str, Coupling] = {}
    plain = {body.joint_name for body in model.bodies if isinstance(body.joint, Revolute | Prismatic)}
    for constraint in model.constraints:
        if (
            isinstance(constraint, Coupling)
            and constraint.joint_a not in mimics
            and plain >= {constraint.joint_a, constraint.joint_b}
        ):
            leader: str | None = constraint.joint_b
            while leader is not None and leader != constraint.joint_a:
                leader = mimics[leader].joint_b if leader in mimics else None
            if leader is None:
                mimics[constraint.joint_a] = constraint
    return mimics


def _kind(body: Body) -> str:
    joint: Joint = body.joint
    if type(joint) is Revolute:
        return "continuous" if (body.limits.lower, body.limits.upper) == ((-math.inf,), (math.inf,)) else "revolute"
    kinds: dict[type, str] = {Prismatic: "prismatic", Fixed: "fixed", Free: "floating", Planar: "planar"}
    if type(joint) not in (*kinds, *OTHERS.values()):
        raise ModelError(
            f"joint {body.joint_name!r} is of a class of your own ({type(joint).__name__}), and cannot be written to a "
            f"file"
        )
    return kinds.get(type(joint), "floating")


def _link(called: str, inertia: Inertia) -> Iterator[str]:
    name = _text("a body", called)
    if not any(inertia.numbers()):
        yield f"<link name={name}/>"
        return
    mass, com, about = mass_com_inertia(inertia)
    entries = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    moments = " ".join(f'{key}="{float(about[i, j])!r}"' for key, i, j in entries)
    yield f"<link name={name}>"
    yield "  <inertial>"
    yield f"    {_origin(Vec3(*com.tolist()), Mat3.identity())}"
    yield f'    <mass value="{mass!r}"/>'
    yield f"    <inertia {moments}/>"
    yield "  </inertial>"
    yield "</link>"


def _limits(body: Body, kind: str) -> Iterator[str]:
    """URDF has one number for a joint; limits that differ between its degrees of freedom are omitted."""
    limits = body.limits
    if kind == "fixed":
        return
    words = {}
    if kind in ("revolute", "prismatic"):
        words = {"lower": limits.lower[0], "upper": limits.upper[0]}
    effort, velocity = (_same(values, math.inf) for values in (limits.effort, limits.velocity))
    if words or min(effort, velocity) < math.inf:  # other readers require both
        words |= {"effort": effort, "velocity": velocity}
        written = " ".join(f'{key}="{max(-LARGEST, min(LARGEST, value))!r}"' for key, value in words.items())
        yield f"  <limit {written}/>"
    damping, friction = (_same(values, 0.0) for values in (limits.damping, limits.friction))
    if damping or friction:
        yield f'  <dynamics damping="{damping!r}" friction="{friction!r}"/>'


def _same(values: tuple[float, ...], other: float) -> float:
    return values[0] if len(set(values)) == 1 and abs(values[0]) <= LARGEST else other


def _origin(place: Vec3, turn: Mat3) -> str:
    rpy = f' rpy="{_numbers(_angles(turn))}"' if turn != Mat3.identity() else ""
    return f'<origin xyz="{_numbers(place)}"{rpy}/>'


def _angles(turn: Mat3) -> Vec3:
    """Roll, pitch and yaw; at a pitch of ±90° the solution without roll."""
    level = math.hypot(turn.xx, turn.yx)
    pitch = math.atan2(-turn.zx, level)
    if level < 1e-9:
        return Vec3(0.0, pitch, math.atan2(-turn.xy, turn.yy))
    return Vec3(math.atan2(turn.zy, turn.zz), pitch, math.atan2(turn.yx, turn.xx))


def _numbers(vector: Vec3) -> str:
    return " ".join(repr(float(number) + 0.0) for number in vector)  # no -0.0


def _text(what: str, name: str) -> str:
    """A name as an XML attribute."""
    if not name:
        raise ModelError(f"{what} without a name cannot be written to a file; model.renamed gives it one")
    if _NO_XML.search(name):
        raise ModelError(f"the name {name!r} of {what} has characters that XML cannot hold; model.renamed changes it")
    return attribute(name)
