"""Edited models: joints locked, other masses, a payload, a subtree, other names.

Each function is a method of ``Model`` and returns a new one. A body's own data are kept, since bodies are replaced
field by field; references to joints and frames by name are updated by ``references``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import finite_array, several, text
from linkwork.errors import ArgumentError, ModelError, UnknownNameError, shown, warn_caller
from linkwork.joints import Fixed
from linkwork.model.inertias import NO_INERTIA, NO_OFFSET, NOTHING, as_inertia
from linkwork.model.merging import merged
from linkwork.model.queries import WORLD, coordinates, mass_com_inertia, placement_of, slice_of
from linkwork.model.references import references, without_idle
from linkwork.spatial import Transform, Vec3

if TYPE_CHECKING:
    from linkwork.model.constraints import Coupling
    from linkwork.model.model import Body, Limits, Model, Point

_SOLID = ("mass", "com", "inertia")
_OFF = 1e-6
"""The largest error of a coupling between locked joints, m or rad."""


def locked(model: Model, joints: Mapping[str, ArrayLike] | Collection[str], q: ArrayLike | None = None) -> Model:
    """The mechanism with some joints locked, and the bodies that they carried merged into their parents.

    All frames stay. A joint that a coupling of the model ties to a locked one is locked with it. The inertia of bodies
    that become fixed to the world is added to ``base_inertia``.

    Args:
        joints: for each joint name, the coordinates at which it is locked (rad, m): one number, or as many as it has
            coordinates; or names alone, locked at their coordinates in ``q``.
        q: a configuration (nq,) of the whole model; the neutral one, ``lw.neutral(model)``, if left out.

    Returns:
        A model without these joints; its q and v are those of the others, in the same order.

    Raises:
        UnknownNameError: if the model has no such joint.
        ArgumentError: if a joint has a different number of coordinates, or two locked joints contradict a coupling.

    Warns:
        LinkworkWarning: if a joint is locked outside its limits.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(3)
        >>> stiff = arm.locked({"joint2": 1.5707963267948966})
        >>> stiff.joint_names, stiff.mass
        (('joint1', 'joint3'), 3.0)
        >>> stiff.frame("body2").placement.translation
        Vec3(1.0, 0.0, 0.0)
    """
    places = _locked_at(model, joints, q)
    bodies = []
    for index, body in enumerate(model.bodies):
        if index in places:
            limits: Limits = type(body.limits).none(Fixed())
            place = placement_of(body, places[index])
            body = replace(body, joint=Fixed(), placement=place, limits=limits, armature=(), actuated=None)
        bodies.append(body)
    frozen = {model.joint_names[index] for index in places}
    stiff = replace(model, bodies=tuple(bodies), **references(model, joints=set(model.joint_names) - frozen))
    return without_idle(merged(stiff, lambda body: body.joint_name in frozen))


def with_gravity(model: Model, gravity: Sequence[float]) -> Model:
    """The mechanism under another gravity.

    Args:
        gravity: gravitational acceleration (3,) in the world's axes, m/s².

    Returns:
        A new model, otherwise unchanged.

    Example:
        >>> import linkwork as lw
        >>> lw.mechanisms.pendulum().with_gravity((0, 0, -1.62)).gravity
        (0.0, 0.0, -1.62)
    """
    x, y, z = several("gravity", gravity, 3)
    return replace(model, gravity=(x, y, z))


def with_payload(
    model: Model,
    frame: str | Point,
    mass: float,
    com: Sequence[float] = NO_OFFSET,
    inertia: Any = NO_INERTIA,
) -> Model:
    """The mechanism with a load fixed to it, in a hand or on a back.

    Args:
        frame: the frame that carries the load: its name, or an ``lw.Point``.
        mass: kg.
        com: the load's centre of mass in that frame (m).
        inertia: about its centre of mass in the frame's axes (kg m²): three principal values, the six numbers xx, xy,
            xz, yy, yz, zz, or a 3×3 matrix; a point mass if left out.

    Returns:
        A new model in which the frame's body includes the load; otherwise unchanged.

    Raises:
        UnknownNameError: if the model has no such frame.
        ModelError: if the frame is fixed to the world, where a load has no effect.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> loaded = arm.with_payload("tip", 3.0, com=(0.1, 0, 0))
        >>> loaded.mass - arm.mass, loaded.inertial_parameters[1, :2]
        (3.0, array([4. , 3.8]))
    """
    number, place = _place_of(model, frame)
    if number == 0:
        raise ModelError(f"a payload on {shown(frame)} moves nothing: that frame is a part of the world")
    load = place.to_parent(as_inertia(f"the payload on {shown(frame)}", mass, com, inertia))
    bodies = list(model.bodies)
    body = bodies[number - 1]
    bodies[number - 1] = replace(body, inertia=body.inertia + load)
    return replace(model, bodies=tuple(bodies))


def with_inertias(model: Model, inertias: Mapping[str, Mapping[str, Any] | ArrayLike] | ArrayLike) -> Model:
    """The mechanism with other masses, centres of mass and inertias of some bodies, or of all.

    Args:
        inertias: for each body name, a dict with any of "mass" (kg), "com" (m, in the body's frame) and "inertia"
            (kg m², about the centre of mass, as ``lw.Builder.add_body`` takes it), the others being unchanged; or
            ten numbers in the order of ``model.inertial_parameters``. Or such numbers for all bodies, (nbodies, 10).

    Returns:
        A new model, otherwise unchanged.

    Raises:
        UnknownNameError: if the model has no such body.
        ModelError: if a mass is negative, or a body without mass has a first moment.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> arm.with_inertias({"body2": {"mass": 5.0}}).mass
        6.0
    """
    from linkwork.model.parameters import replaced

    if not isinstance(inertias, Mapping):
        return replaced(model, inertias, "inertias")
    bodies = list(model.bodies)
    for name, new in inertias.items():
        index = model.body_index(name)
        if isinstance(new, Mapping):
            bodies[index] = _with_solid(bodies[index], new)
            continue
        numbers = finite_array(f"inertia of body {name!r}", new)
        if numbers.shape != (10,):
            raise ArgumentError(
                f"inertia of body {name!r} must be a dict of {', '.join(_SOLID)}, or ten numbers, not {shown(new)}"
            )
        parameters = model.inertial_parameters
        parameters[index] = numbers
        bodies[index] = replaced(model, parameters, "inertias").bodies[index]
    return replace(model, bodies=tuple(bodies))


def subtree(model: Model, body: str) -> Model:
    """A body with the joint that carries it and its whole subtree: an arm of a robot, a leg, a gripper.

    The parent of the body becomes the world of the new model, so that the joint keeps its placement on its parent.

    Args:
        body: a name in ``model.body_names``.

    Returns:
        A new model with the frames on its bodies. Constraints, actuators and contacts that involve other parts are left
        out, and so are those with the world, unless it was the parent of the body.

    Raises:
        UnknownNameError: if the model has no such body.

    Example:
        >>> import linkwork as lw
        >>> person = lw.mechanisms.humanoid()
        >>> arm = person.subtree("left_upper_arm")
        >>> arm.joint_names
        ('left_shoulder_yaw', 'left_elbow_pitch', 'left_wrist_yaw', 'left_wrist_roll', 'left_wrist_pitch')
    """
    root = model.body_index(body) + 1
    number, bodies = {0: 0}, []  # the new number of each body that is kept
    for old, one in enumerate(model.bodies, 1):
        if old == root or (one.parent and one.parent in number):
            bodies.append(replace(one, parent=0 if old == root else number[one.parent]))
            number[old] = len(bodies)
    frames = tuple(
        replace(frame, body=number[frame.body])
        for frame in model.frames
        if frame.name == WORLD or (frame.body and frame.body in number)
    )
    looks = tuple(replace(shape, body=number[shape.body]) for shape in model.geometry if number.get(shape.body))
    on_subtree = {frame.name for frame in frames}
    there = on_subtree - {WORLD} if model.bodies[root - 1].parent else on_subtree
    rest = references(model, frames=there, joints={one.joint_name for one in bodies})
    parts: dict[str, Any] = {"frames": frames, "geometry": looks, "base_inertia": NOTHING, **rest}
    return replace(model, name=body, bodies=tuple(bodies), **parts)


def renamed(model: Model, prefix: str = "", names: Mapping[str, str] | None = None, name: str | None = None) -> Model:
    """The mechanism under other names: a second arm of the same kind, or the names that another program uses.

    Args:
        prefix: put before the names of bodies, joints, frames, actuators and the model; the world keeps its name.
        names: new names for some bodies, joints and frames by their old ones; a name shared by several of these is
            changed in all. These get no prefix.
        name: name of the model; the old one with the prefix if left out.

    Returns:
        A new model, otherwise unchanged.

    Raises:
        UnknownNameError: if ``names`` has a name that the model does not have.
        ModelError: if two bodies, joints or frames would have the same name.

    Example:
        >>> import linkwork as lw
        >>> left = lw.mechanisms.double_pendulum().renamed("left_", {"tip": "hand"})
        >>> left.name, left.frame_names
        ('left_double_pendulum', ('world', 'hand', 'left_body1', 'left_body2', 'left_joint1', 'left_joint2'))
    """
    text("prefix", prefix)
    new_names = {} if names is None else names
    if not isinstance(new_names, Mapping):
        raise ArgumentError(f"names must map old names to new ones, not {shown(names)}")
    existing = {*model.body_names, *model.joint_names, *model.frame_names} - {WORLD}
    for old, new in new_names.items():
        if not isinstance(old, str) or old not in existing:
            raise UnknownNameError("body, joint or frame", old, sorted(existing), f"model {model.name!r}")
        if text(f"the new name of {old!r}", new) == WORLD:
            raise ModelError(f"{old!r} cannot be named {WORLD!r}: the world alone is")

    def new_name(old: str) -> str:
        return old if old == WORLD else new_names.get(old, prefix + old)

    bodies = tuple(
        replace(body, name=new_name(body.name), joint_name=new_name(body.joint_name)) for body in model.bodies
    )
    frames = tuple(replace(frame, name=new_name(frame.name)) for frame in model.frames)
    rest = references(model, new_name=new_name, prefix=prefix)
    return replace(model, name=prefix + model.name if name is None else name, bodies=bodies, frames=frames, **rest)


# Helper functions


def _locked_at(model: Model, joints: Mapping[str, ArrayLike] | Collection[str], q: ArrayLike | None) -> dict[int, Any]:
    """The coordinates at which each joint is locked, by its index."""
    if isinstance(joints, Mapping):
        if q is not None:
            raise ArgumentError("joints has the coordinates of the locked joints; q is for names alone")
        locks = {model.joint_index(name): _one_state(model, name, value) for name, value in joints.items()}
        _warn_of_range(model, locks)
    elif isinstance(joints, Collection) and not isinstance(joints, str | bytes) and getattr(joints, "ndim", 1) == 1:
        whole = model.configuration({}, q)
        if whole.ndim > 1:
            raise ArgumentError(f"q must be one configuration ({model.nq},), not {whole.shape}")
        indices = [model.joint_index(name) for name in joints]
        locks = {index: whole[slice_of(model, "q", index)].tolist() for index in indices}
    else:
        raise ArgumentError(f'joints must be a dict, as in {{"joint1": 0.5}}, or a list of names, not {shown(joints)}')
    from linkwork.model.constraints import Coupling

    ties = [one for one in model.constraints if isinstance(one, Coupling)]
    for _ in ties:  # couplings of couplings
        for tie in ties:
            locks |= _tied(model, tie, locks)
    for tie in ties:
        _check_tied(model, tie, locks)
    return locks


def _warn_of_range(model: Model, locks: Mapping[int, list[float]]) -> None:
    """Warn of a joint that is locked outside its limits, mostly because of a wrong unit."""
    for index, at in locks.items():
        body = model.bodies[index]
        low, high = body.limits.lower, body.limits.upper
        if len(at) == 1 and not low[0] <= at[0] <= high[0]:
            where = f"{at[0]:g}, outside of its range, {low[0]:g} to {high[0]:g}"
            warn_caller(f"joint {body.joint_name!r} is locked at {where}")


def _check_tied(model: Model, tie: Coupling, locks: Mapping[int, list[float]]) -> None:
    """Raise an error for a coupling that locked joints contradict."""
    a, b = (model.joint_index(name) for name in tie.joint_names())
    if a not in locks or b not in locks:
        return
    (at,), (other,) = locks[a], locks[b]
    follower = tie.ratio * other + tie.offset
    if abs(at - follower) > _OFF * max(1.0, abs(follower)):
        raise ArgumentError(
            f"joint {tie.joint_a!r} cannot be locked at {at:g} with joint {tie.joint_b!r} at {other:g}: a coupling of "
            f"the model has it at {follower:g} then; lock one of the two, and the other follows"
        )


def _tied(model: Model, tie: Coupling, locks: Mapping[int, list[float]]) -> dict[int, list[float]]:
    """The joint that a coupling ties to a locked one, if it is not locked itself."""
    a, b = (model.joint_index(name) for name in tie.joint_names())
    if b in locks and a not in locks:
        return {a: [tie.ratio * locks[b][0] + tie.offset]}
    if a in locks and b not in locks and tie.ratio:
        return {b: [(locks[a][0] - tie.offset) / tie.ratio]}
    return {}


def _one_state(model: Model, name: str, value: Any) -> list[float]:
    numbers = coordinates(model, name, value)
    if numbers.ndim > 1:
        raise ArgumentError(f"joint {name!r} is locked in one place, not in {shown(value)}")
    return numbers.tolist()


def _place_of(model: Model, frame: str | Point) -> tuple[int, Transform]:
    """The number of the body that carries a frame or point, and its placement there."""
    from linkwork.model.model import Point

    if isinstance(frame, str):
        entry = model.frame(frame)
        return entry.body, entry.placement
    if not isinstance(frame, Point):
        raise ArgumentError(f"frame must be a frame's name or an lw.Point, not {shown(frame)}")
    named, offset = model.frame(frame.frame), Vec3(*frame.offset)
    place = named.placement
    return named.body, Transform(place.rotation, place.translation + place.rotation.apply(offset))


def _with_solid(body: Body, changes: Mapping[str, Any]) -> Body:
    """A body with another mass, centre of mass or inertia about it."""
    for key in changes:
        if key not in _SOLID:
            raise UnknownNameError("part of an inertia", key, _SOLID, f"body {body.name!r}")
    mass, com, about = mass_com_inertia(body.inertia)
    parts = {"mass": mass, "com": com, "inertia": 0.5 * (about + np.transpose(about)), **changes}
    return replace(body, inertia=as_inertia(f"body {body.name!r}", *(parts[key] for key in _SOLID)))
