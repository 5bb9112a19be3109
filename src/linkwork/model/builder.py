"""Mechanisms written in code."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from struct import pack, unpack
from typing import Any

import numpy as np

from linkwork.arguments import Array, all_floats, array, one_or_each, real, several, text
from linkwork.errors import ArgumentError, LinkworkWarning, ModelError, UnknownNameError, shown
from linkwork.joints import Fixed, Joint
from linkwork.model.geometry import carried
from linkwork.model.model import WORLD, Body, Frame, Limits, Model
from linkwork.spatial import Inertia, Mat3, Scalar, Sym3, Transform, Vec3, X, Y, Z, sin_cos

NO_MASS = 0.0
NO_OFFSET = NO_INERTIA = (0.0, 0.0, 0.0)
_QUARTER, _SINES, _COSINES = 0.5 * math.pi, (0.0, 1.0, 0.0, -1.0), (1.0, 0.0, -1.0, 0.0)
_IDENTITY = Transform.identity()  # one object for all, as for the next: a large model has many
_NOTHING = Inertia.from_com(NO_MASS, Vec3(*NO_OFFSET), Sym3.zero())


def placement(
    xyz: Sequence[float] = (0.0, 0.0, 0.0),
    rpy: Sequence[float] = (0.0, 0.0, 0.0),
) -> Transform:
    """A placement from a position and roll, pitch, yaw.

    Args:
        xyz: position of the child frame's origin in the parent frame (m).
        rpy: rotations (rad) about the parent's fixed x, then y, then z axis, as in URDF.

    Returns:
        The placement of the child frame in the parent frame.

    Example:
        >>> import linkwork as lw
        >>> lw.placement(xyz=(0.0, 0.0, 0.5)).translation
        Vec3(0.0, 0.0, 0.5)
    """
    position = several("xyz", xyz, 3, ModelError)
    return Transform(_rotation(pack("3d", *several("rpy", rpy, 3, ModelError))), Vec3(*position))


def placements(places: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[Transform]:
    """The placements of many positions and angles, known to be finite numbers: the text of one, over arrays."""
    if not places:
        return []
    keys = [pack("3d", *rpy) for _, rpy in places]
    distinct = list(dict.fromkeys(keys))
    with np.errstate(all="ignore"):  # angles beyond measure become NaN, as one does
        turned = _turned(*np.frombuffer(b"".join(distinct)).reshape(-1, 3).T)
    rows = np.stack(np.broadcast_arrays(*turned.numbers()), axis=-1).tolist()
    rotations = {key: Mat3(*row) for key, row in zip(distinct, rows, strict=True)}
    return [Transform(rotations[key], Vec3(*xyz)) for key, (xyz, _) in zip(keys, places, strict=True)]


class Builder:
    """Collects bodies and frames, then makes a Model of them.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder("pendulum")
        >>> builder.add_body("rod", joint=lw.joints.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        'rod'
        >>> builder.add_frame("tip", "rod", lw.placement(xyz=(0, 0, -1)))
        'tip'
        >>> pendulum = builder.build()
        >>> float(lw.mass_matrix(pendulum, [0.0])[0, 0])
        0.35
    """

    def __init__(self, name: str = "mechanism", gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self.name = text("the name of a mechanism", name, ModelError)
        x, y, z = several("gravity", gravity, 3, ModelError)
        self.gravity = (x, y, z)
        self._bodies: list[Body] = []
        self._frames: dict[str, Frame] = {WORLD: Frame(WORLD, 0, _IDENTITY)}
        self._index = {WORLD: 0}
        self._joints: set[str] = set()
        self._same_limits: dict[tuple[bytes, int, int], Limits] = {}

    def add_body(
        self,
        name: str,
        parent: str = WORLD,
        joint: Joint | None = None,
        placement: Transform | None = None,
        *,
        mass: float = NO_MASS,
        com: Sequence[float] = NO_OFFSET,
        inertia: Any = NO_INERTIA,
        joint_name: str | None = None,
        armature: float | Sequence[float] = 0.0,
        lower: float | Sequence[float] = -math.inf,
        upper: float | Sequence[float] = math.inf,
        velocity: float | Sequence[float] = math.inf,
        effort: float | Sequence[float] = math.inf,
        damping: float | Sequence[float] = 0.0,
        friction: float | Sequence[float] = 0.0,
        actuated: bool | None = None,
    ) -> str:
        """Add a body and the joint that carries it.

        Args:
            name: of the body, and of its frame.
            parent: an earlier body, or "world".
            joint: its kind; fixed if left out.
            placement: of the joint on the parent; see ``lw.placement``.
            mass: kg.
            com: centre of mass in the body's frame (m).
            inertia: about the centre of mass, in the body's axes (kg m²): three principal values, the six numbers
                xx, xy, xz, yy, yz, zz, or a 3×3 matrix.
            joint_name: by default "joint_" and the body's name.
            armature: rotor inertia for each degree of freedom, or one for all.
            lower: position limit for each coordinate, or one for all; ``upper`` likewise.
            upper: see ``lower``.
            velocity: limit for each degree of freedom, or one for all; effort, damping and friction likewise.
            effort: see ``velocity``.
            damping: see ``velocity``.
            friction: see ``velocity``.
            actuated: whether a motor drives the joint; if left out, it has one unless it is free.

        Returns:
            The body's name.
        """
        joint = Fixed() if joint is None else joint
        text("the name of a body or joint", name, ModelError)
        if joint_name is not None:
            text("the name of a body or joint", joint_name, ModelError)
        if not isinstance(joint, Joint):
            raise ModelError(f"joint of body {name!r} must be one such as lw.joints.Revolute('z'), not {shown(joint)}")
        joint_name = f"joint_{name}" if joint_name is None else joint_name
        if name in self._index:
            raise ModelError(f"there is already a body named {name!r}; names must be unique")
        if joint_name in self._joints:
            raise ModelError(f"there is already a joint named {joint_name!r}; names must be unique")
        if not isinstance(parent, str) or parent not in self._index:
            raise UnknownNameError("body", parent, self._index, f"mechanism {self.name!r} so far")
        where = f"body {name!r}"
        nothing = inertia is NO_INERTIA and com is NO_OFFSET and mass is NO_MASS
        (kilograms,) = several(f"mass of {where}", [mass], 1, ModelError)
        if kilograms < 0.0:
            raise ModelError(f"mass of {where} must not be negative, but is {kilograms}")
        second = _second_moment(where, inertia)
        check_inertia(where, kilograms, second)
        here = f"joint {joint_name!r}"
        rotor = one_or_each(f"armature of {here}", armature, joint.nv, ModelError)
        if rotor and not 0.0 <= min(rotor) <= max(rotor) < math.inf:
            raise ModelError(f"armature of {here} must be finite and not negative, but is {rotor}")
        if not isinstance(actuated, bool | np.bool_ | None):
            raise ModelError(f"actuated of {here} must be True or False, not {shown(actuated)}")
        limits = self._limits(here, joint, (lower, upper, velocity, effort, damping, friction))
        self._bodies.append(
            Body(
                name,
                joint_name,
                self._index[parent],
                joint,
                _IDENTITY if placement is None else as_placement(here, placement),
                _NOTHING if nothing else _inertia(where, kilograms, com, second),
                rotor if any(rotor) else (),
                limits,
                None if actuated is None else bool(actuated),
            )
        )
        self._index[name] = len(self._bodies)
        self._joints.add(joint_name)
        return name

    def _limits(self, where: str, joint: Joint, given: tuple[Any, ...]) -> Limits:
        """Checked limits; joints of the same ones, to the bit, share one object, since there may be many."""
        plain = all_floats(given)
        key = pack("6d", *given) if plain else b"", joint.nq, joint.nv
        if plain and key in self._same_limits:
            return self._same_limits[key]
        names = ("lower limit", "upper limit", "velocity limit", "effort limit", "damping", "friction")
        counts = (joint.nq,) * 2 + (joint.nv,) * 4
        numbers = zip(names, given, counts, strict=True)
        limits = Limits(*(one_or_each(f"{name} of {where}", value, n, ModelError) for name, value, n in numbers))
        if plain:
            self._same_limits[key] = limits
        return limits

    def add_frame(self, name: str, body: str, placement: Transform | None = None) -> str:
        """Name a place on a body (or on "world").

        Args:
            name: unique among frames.
            body: which body carries it.
            placement: of the frame on the body; see ``lw.placement``.

        Returns:
            The frame's name.
        """
        text("the name of a frame", name, ModelError)
        if not isinstance(body, str) or body not in self._index:
            raise UnknownNameError("body", body, self._index, f"mechanism {self.name!r} so far")
        if name in self._frames or name in self._index:
            raise ModelError(f"there is already a frame named {name!r}; names must be unique")
        place = _IDENTITY if placement is None else as_placement(f"frame {name!r}", placement)
        self._frames[name] = Frame(name, self._index[body], place)
        return name

    def build(self, meshes: Sequence[str] = ()) -> Model:
        """The mechanism as an immutable Model. Bodies and joints get frames of their names, where these are not
        taken.
        """
        if isinstance(meshes, str) or not isinstance(meshes, Sequence):
            raise ModelError(f"meshes must be a list of paths, not {shown(meshes)}")
        for mesh in meshes:
            text("a mesh", mesh, ModelError)
        own = dict(self._frames)
        for index, body in enumerate(self._bodies, 1):
            if body.name not in own:
                own[body.name] = Frame(body.name, index, _IDENTITY)
        for index, body in enumerate(self._bodies, 1):
            if body.joint_name not in own:
                own[body.joint_name] = Frame(body.joint_name, index, _IDENTITY)
        return Model(self.name, tuple(self._bodies), tuple(own.values()), self.gravity, tuple(meshes))


def merge_fixed(model: Model) -> Model:
    """The same mechanism with every body on a fixed joint made a part of the body that carries it.

    Frames stay, on the body that now carries them. Bodies fixed to the world lose their inertia to it.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("arm", joint=lw.joints.Revolute("z"), mass=1.0)
        >>> _ = builder.add_body("tool", "arm", placement=lw.placement(xyz=(1, 0, 0)), mass=0.5)
        >>> merged = lw.merge_fixed(builder.build())
        >>> merged.body_names, merged.mass, merged.frame("tool").placement.translation
        (('arm',), 1.5, Vec3(1.0, 0.0, 0.0))
    """
    if not isinstance(model, Model):
        raise ArgumentError(f"model must be a linkwork Model, not {shown(model)}")
    if not any(isinstance(body.joint, Fixed) for body in model.bodies):
        return model
    here = _IDENTITY
    carrier: list[tuple[int, Transform]] = [(0, here)]  # of each old body: new index, placement on it
    bodies: list[Body] = []
    for body in model.bodies:
        parent, on_parent = carrier[body.parent]
        place = body.placement if on_parent is here else on_parent * body.placement
        if isinstance(body.joint, Fixed):
            carrier.append((parent, place))
            if parent:
                old = bodies[parent - 1]
                bodies[parent - 1] = _replace(old, inertia=old.inertia + place.to_parent(body.inertia))
        else:
            bodies.append(_replace(body, parent=parent, placement=place))
            carrier.append((len(bodies), here))
    frames, moved = [], dict[tuple[int, int], Transform]()
    for frame in model.frames:
        index, place = carrier[frame.body]
        if place is not here:  # the frames of a body and of its joint lie at one place
            key = frame.body, id(frame.placement)
            if key not in moved:
                moved[key] = place * frame.placement
        frames.append(Frame(frame.name, index, frame.placement if place is here else moved[key]))
    looks = carried(model.geometry, carrier)
    return Model(model.name, tuple(bodies), tuple(frames), model.gravity, model.meshes, looks)


def check_inertia(where: str, mass: float, second: Sym3) -> None:
    """Warn of an inertia about the centre of mass that no body can have."""
    if clearly_possible(second) or not any(second.numbers()):
        return
    if second.xy == second.xz == second.yz == 0.0:
        least, middle, most = sorted((second.xx, second.yy, second.zz))
        if least >= 0.0 and least + middle >= most:
            return
    moments = np.linalg.eigvalsh(np.array(second.full().numbers()).reshape(3, 3))
    slack = 1e-9 * max(abs(moments)) + 1e-300
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] * (1 - 1e-6) - slack:
        shown = ", ".join(f"{m:.4g}" for m in moments)
        warnings.warn(
            f"inertia of {where}: no body of mass {mass:g} has the principal moments {shown} kg m²; used as it is",
            LinkworkWarning,
            stacklevel=3,
        )


def clearly_possible(second: Sym3) -> bool:
    """Whether the principal moments clearly fulfil the triangle inequality, without computing them: the second moment
    of the mass, half the trace less the inertia, is positive definite by its leading minors.
    """
    half = 0.5 * (second.xx + second.yy + second.zz)
    x, y, z = half - second.xx, half - second.yy, half - second.zz
    xy, xz, yz = second.xy, second.xz, second.yz
    minor = x * y - xy * xy
    whole = z * minor - (2.0 * xy * xz * yz + x * yz * yz + y * xz * xz)
    return 1e-50 < half < 1e50 and x > 1e-9 * half and minor > 1e-9 * half * half and whole > 1e-9 * half * half * half


def _replace(body: Body, **changes: Any) -> Body:
    return Body(**{**body.__dict__, **changes})


@lru_cache(maxsize=1024)
def _rotation(rpy: bytes) -> Mat3:
    """Of roll, pitch and yaw as bytes, so that a zero keeps its sign; few robots have many different ones."""
    return _turned(*unpack("3d", rpy))


def _turned(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Mat3:
    return Z.rotation(*_turn(yaw)) * (Y.rotation(*_turn(pitch)) * X.rotation(*_turn(roll)))


def _turn(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine; exact where the angle is the float nearest to a multiple of a quarter turn."""
    several = isinstance(angle, np.ndarray)
    quarters = np.rint(angle / _QUARTER) if several else round(angle / _QUARTER)
    exact = angle == quarters * _QUARTER
    if several:
        sine, cosine = sin_cos(angle)
        which = (quarters % 4).astype(np.intp)
        return np.where(exact, np.take(_SINES, which), sine), np.where(exact, np.take(_COSINES, which), cosine)
    return (_SINES[quarters % 4], _COSINES[quarters % 4]) if exact else sin_cos(angle)


def _inertia(where: str, mass: float, com: Any, second: Sym3) -> Inertia:
    return Inertia.from_com(mass, Vec3(*several(f"com of {where}", com, 3, ModelError)), second)


def _second_moment(where: str, inertia: Any) -> Sym3:
    if inertia is NO_INERTIA:
        return Sym3.zero()
    if type(inertia) is list and len(inertia) == 6 and all_floats(inertia) and max(map(abs, inertia)) < 1e300:
        return Sym3(*inertia)
    matrix = _numbers(inertia)
    if matrix.shape == (3,):
        matrix = np.diag(matrix)
    elif matrix.shape == (6,):
        xx, xy, xz, yy, yz, zz = matrix
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if matrix.shape != (3, 3):
        raise ModelError(
            f"inertia of {where} must be 3 principal moments, 6 numbers or a 3×3 matrix, not {shown(inertia)}"
        )
    if not abs(matrix).max() < 1e300:
        raise ModelError(f"inertia of {where} must be finite, and less than 1e300 kg m², not {shown(inertia)}")
    if abs(matrix - matrix.T).max() > 1e-9 * abs(matrix).max():
        raise ModelError(f"inertia of {where} must be symmetric, not {shown(inertia)}")
    return Sym3(*(float(matrix[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))


def _numbers(value: Any) -> Array:
    """Numbers of any shape; none if there is something else among them."""
    try:
        return array("", value)
    except ArgumentError:
        return np.empty(0)


def as_placement(where: str, value: Any) -> Transform:
    """A placement, checked: a Transform, or one from a 4×4 matrix."""
    if not isinstance(value, Transform):
        matrix = _numbers(value)
        if matrix.shape != (4, 4) or matrix[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
            raise ModelError(
                f"placement of {where} must come from lw.placement(...) or be a 4×4 matrix, not {shown(value)}"
            )
        value = Transform(Mat3(*matrix[:3, :3].ravel().tolist()), Vec3(*matrix[:3, 3].tolist()))
    if not isinstance(value.rotation, Mat3) or not isinstance(value.translation, Vec3):
        raise ModelError(f"placement of {where} must be a rotation and a position, not {shown(value)}")
    numbers = value.numbers()
    if not all_floats(numbers):
        numbers = list(map(real, numbers))
    xx, xy, xz, yx, yy, yz, zx, zy, zz, *place = numbers  # written out: a large model has many
    off = max(
        abs(xx * xx + xy * xy + xz * xz - 1.0),
        abs(yx * yx + yy * yy + yz * yz - 1.0),
        abs(zx * zx + zy * zy + zz * zz - 1.0),
        abs(xx * yx + xy * yy + xz * yz),
        abs(xx * zx + xy * zy + xz * zz),
        abs(yx * zx + yy * zy + yz * zz),
    )
    volume = (xy * yz - xz * yy) * zx + (xz * yx - xx * yz) * zy + (xx * yy - xy * yx) * zz
    if not (off <= 1e-6 and volume >= 0.0 and all(map(math.isfinite, (*place, off, volume)))):
        raise ModelError(f"placement of {where} is not a rotation and a finite position: {shown(value)}")
    return value
