"""Queries of a model: its joints and bodies by name, configurations, the tree as text."""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.arguments import array, finite_array, integer, memory_for
from linkwork.errors import ArgumentError, shown
from linkwork.joints import Free
from linkwork.model.memo import kept_with_model
from linkwork.model.placements import as_placement, numbers_of
from linkwork.spatial import Inertia, Transform, Vec3, quaternion_of

if TYPE_CHECKING:
    from linkwork.model.model import Body, Frame, Model, Point
    from linkwork.model.views import BodyView, JointView

Array = NDArray[np.float64]
WORLD = "world"
"""The name of the fixed frame."""
MOST_SHOWN = 200
"""The number of bodies printed by default."""


def link_names(model: Model) -> tuple[str, ...]:
    """The frames that are links: bodies, and links of a file that are merged into bodies."""
    return tuple(frame.name for frame in model.frames if frame.kind == "link")


def frame_index(model: Model, name: str) -> int:
    """The index of a frame in ``frame_names``."""
    return model._index("frame", name, model._frame_index, model.frame_names)


def joint(model: Model, name: str) -> JointView:
    """All data of a joint.

    Args:
        name: a name in ``model.joint_names``.

    Returns:
        A ``JointView``: its type, the bodies that it connects, its slices of q and v, its limits.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(3)
        >>> elbow = arm.joint("joint2")
        >>> elbow.kind.describe(), elbow.parent, elbow.child, elbow.v
        ('revolute z', 'body1', 'body2', slice(1, 2, None))
    """
    from linkwork.model.views import JointView  # imported late

    index = model.joint_index(name)
    body = model.bodies[index]
    parent, q, v = name_of(model, body.parent), slice_of(model, "q", index), slice_of(model, "v", index)
    rest = body.placement, body.limits, body.armature or (0.0,) * body.joint.nv, is_driven(body)
    return JointView(name, index, body.joint, parent, body.name, q, v, *rest)


def body(model: Model, name: str) -> BodyView:
    """All data of a body.

    Args:
        name: a name in ``model.body_names``.

    Returns:
        A ``BodyView``: its parent and children, its mass, centre of mass and inertia, the frames on it.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(3)
        >>> link = arm.body("body2")
        >>> link.parent, link.children, link.mass, link.com, link.frames
        ('body1', ('body3',), 1.0, (0.5, 0.0, 0.0), ('body2', 'joint2'))
    """
    from linkwork.model.views import BodyView

    index = model.body_index(name)
    body, number = model.bodies[index], index + 1
    children = tuple(other.name for other in model.bodies if other.parent == number)
    frames = tuple(frame.name for frame in model.frames if frame.body == number)
    mass, com, about = mass_com_inertia(body.inertia)
    solid = mass, tuple(com.tolist()), tuple(map(tuple, about.tolist()))
    return BodyView(name, index, body.joint_name, name_of(model, body.parent), children, frames, *solid)


def body_of(model: Model, frame: str) -> str:
    """The name of the body that carries a frame, or "world"."""
    return name_of(model, model.frame(frame).body)


def q_slice(model: Model, name: str) -> slice:
    """The slice of a joint's coordinates in q: ``q[..., model.q_slice(name)]``."""
    return slice_of(model, "q", model.joint_index(name))


def v_slice(model: Model, name: str) -> slice:
    """The slice of a joint's degrees of freedom in v, a and tau: ``v[..., model.v_slice(name)]``."""
    return slice_of(model, "v", model.joint_index(name))


def configuration(model: Model, joints: Mapping[str, ArrayLike], q: ArrayLike | None = None) -> Array:
    """A configuration with given coordinates of some joints, and the others unchanged.

    Args:
        joints: for each joint name, its coordinates (rad, m): a number, or as many as it has; leading (batch)
            axes are allowed, (..., nq of the joint). A free joint's may be a placement, or its 4×4 matrix.
        q: the other joints' coordinates (..., nq); the neutral configuration, ``lw.neutral(model)``, if left out.

    Returns:
        q (..., nq), a new array.

    Raises:
        UnknownNameError: if the model has no such joint.
        ArgumentError: if a joint has a different number of coordinates.

    Example:
        >>> import linkwork as lw
        >>> lw.mechanisms.serial_chain(3).configuration({"joint2": -2.2})
        array([ 0. , -2.2,  0. ])
    """
    if not isinstance(joints, Mapping):
        raise ArgumentError(f'joints must map names to coordinates, as in {{"joint1": 0.5}}, not {shown(joints)}')
    whole = _resting(model) if q is None else finite_array("q", q)
    if whole.ndim == 0 or whole.shape[-1] != model.nq:
        raise ArgumentError(f"q must have shape (..., {model.nq}) for model {model.name!r}, not {whole.shape}")
    parts = [(model.q_slice(name), coordinates(model, name, value)) for name, value in joints.items()]
    try:
        batch = np.broadcast_shapes(whole.shape[:-1], *(part.shape[:-1] for _, part in parts))
    except ValueError:
        shapes = ", ".join(str(part.shape) for _, part in parts)
        raise ArgumentError(f"leading axes do not go together: q has shape {whole.shape}, joints {shapes}") from None
    with memory_for("configurations", (*batch, model.nq)):
        result: Array = np.array(np.broadcast_to(whole, (*batch, model.nq)))
    for where, part in parts:
        result[..., where] = part
    return result


def tree(model: Model, most: int = MOST_SHOWN) -> None:
    """Print the tree: bodies, the joints that carry them, masses, ranges, frames; as ``linkwork info`` does.

    Args:
        most: the largest number of bodies to print.

    Example:
        >>> import linkwork as lw
        >>> lw.mechanisms.pendulum().tree() # doctest: +NORMALIZE_WHITESPACE
        pendulum: 1 bodies, 1 kg, 1 degrees of freedom (nq 1), depth 1
        body     joint   kind        mass kg  range  effort  frames
        world
        └ body1  joint1  revolute y        1                 tip
    """
    from linkwork.model.describe import as_text

    sys.stdout.write(as_text(model, integer("most", most, 0)) + "\n")


def html(model: Model) -> str:
    """The tree as HTML for notebooks."""
    from linkwork.model.describe import as_html

    return as_html(model, MOST_SHOWN)


# Helper functions


def name_of(model: Model, number: int) -> str:
    """The name of a body by its number in the tree."""
    return model.body_names[number - 1] if number else WORLD


def unused(name: str, names: Container[str]) -> str:
    """A name that is not taken: the name itself, or with underscores behind it."""
    while name in names:
        name += "_"
    return name


def what_it_is(model: Model, name: object) -> str:
    """For a message: what a name refers to that is not of the requested kind; empty if it is unknown."""
    if not isinstance(name, str) or name not in model._frame_index:
        return ""
    if name == WORLD:
        return "; it is the world, which carries the bodies and is none"
    if name in model._body_index:
        return "; it is a body"
    frame = model.frame(name)
    what = {"link": "a link", "joint": "the frame of a joint", "frame": "a frame"}[frame.kind]
    return f"; it is {what} on {name_of(model, frame.body)!r}"


def slice_of(model: Model, of: str, index: int) -> slice:
    joint = model.bodies[index].joint
    start, size = (model.q_start[index], joint.nq) if of == "q" else (model.v_start[index], joint.nv)
    return slice(start, start + size)


def coordinates(model: Model, name: str, value: Any) -> Array:
    """Checked coordinates of a joint (..., nq of the joint); those of a free one may be given as a placement."""
    joint = model.bodies[model.joint_index(name)].joint
    count = joint.nq
    if isinstance(joint, Free) and (isinstance(value, Transform) or numbers_of(value).shape == (4, 4)):
        place = as_placement(f"joint {name!r}", value)
        turn = quaternion_of(place.rotation)
        value = [*place.translation, *(part / math.hypot(*turn) for part in turn)]
    numbers = array(f"coordinates of joint {name!r}", value)
    if count == 1 and numbers.ndim == 0:
        numbers = numbers[None]
    if numbers.ndim == 0 or numbers.shape[-1] != count:
        raise ArgumentError(f"joint {name!r} has {count} coordinate(s), not {shown(value)}")
    if not np.isfinite(numbers).all():
        raise ArgumentError(f"coordinates of joint {name!r} must be finite, not {shown(value)}")
    return numbers


def pose(model: Model, q: ArrayLike, at: str | Point) -> Transform:
    """The placement of a frame or a point in the world, in one configuration."""
    numbers = finite_array("q", q)
    if numbers.shape != (model.nq,):
        raise ArgumentError(f"q must have shape ({model.nq},) for model {model.name!r}, not {numbers.shape}")
    frame: Frame = model.frame(at if isinstance(at, str) else at.frame)
    offset = Vec3.zero() if isinstance(at, str) else Vec3(*at.offset)
    path, number = [], frame.body
    while number:
        path.append(number - 1)
        number = model.bodies[number - 1].parent
    place = Transform.identity()
    for index in reversed(path):
        body = model.bodies[index]
        place = place * placement_of(body, numbers[slice_of(model, "q", index)].tolist())
    place = place * frame.placement
    return Transform(place.rotation, place.translation + place.rotation.apply(offset))


def placement_of(body: Body, coordinates: list[float]) -> Transform:
    """The placement of a body on its parent, for these joint coordinates."""
    try:
        place = body.placement * body.joint.transform(coordinates)
    except (ZeroDivisionError, OverflowError):
        place = None
    if place is None or not all(map(math.isfinite, map(float, place.numbers()))):
        raise ArgumentError(f"joint {body.joint_name!r} has no configuration {coordinates}: a rotation has length 1")
    return place


def is_driven(body: Body) -> bool:
    """Whether a motor drives the joint of a body."""
    return not isinstance(body.joint, Free) if body.actuated is None else body.actuated


def mass_com_inertia(inertia: Inertia) -> tuple[float, Array, Array]:
    """Mass (kg), centre of mass (3,) in m, and inertia about it (3, 3) in kg m², in the body's frame."""
    mass, moment = float(inertia.mass), np.array(inertia.moment, dtype=np.float64)
    second = np.array(inertia.second, dtype=np.float64)
    if mass == 0.0:
        return mass, np.zeros(3), second
    com = moment / mass
    return mass, com, second - mass * ((com @ com) * np.eye(3) - np.outer(com, com))


def _resting(model: Model) -> Array:
    return np.array([number for body in model.bodies for number in body.joint.neutral()], dtype=np.float64)


@kept_with_model
def weightless(model: Model) -> Model:
    """The model without gravity."""
    return replace(model, gravity=(0.0, 0.0, 0.0))
