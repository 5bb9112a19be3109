"""Placements from user input: positions with angles, quaternions or matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from struct import pack, unpack
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import Array, all_floats, array, real, several
from linkwork.errors import ArgumentError, ModelError, shown
from linkwork.spatial import Mat3, Quaternion, Scalar, Transform, Vec3, X, Y, Z, sin_cos

if TYPE_CHECKING:

    class Placed:
        """The type of a placement field: it accepts what ``as_placement`` does, and stores a Transform."""

        def __get__(self, owner: object, kind: object = None) -> Transform: ...
        def __set__(self, owner: object, value: Transform | ArrayLike) -> None: ...

else:
    Placed = Transform

HERE: Any = Transform.identity
"""The default factory of a placement."""
IDENTITY = Transform.identity()
"""One shared object for the identity: a large model has many, and they need no multiplication."""
_QUARTER, _SINES, _COSINES = 0.5 * math.pi, (0.0, 1.0, 0.0, -1.0), (1.0, 0.0, -1.0, 0.0)


def placement(
    xyz: Sequence[float] | Vec3 = (0.0, 0.0, 0.0),
    rpy: Sequence[float] | Vec3 | None = None,
    *,
    quaternion: Sequence[float] | Quaternion | None = None,
    matrix: ArrayLike | Transform | Mat3 | None = None,
) -> Transform:
    """A placement from a position and a rotation; the rotation is the identity, or given in one of three ways.

    Args:
        xyz: position of the child frame's origin in the parent frame (m).
        rpy: rotations (rad) about the parent's fixed x, then y, then z axis, as in URDF.
        quaternion: (x, y, z, w), of any non-zero length.
        matrix: a rotation matrix (3, 3), or (4, 4) including the position, as ``lw.forward_kinematics`` returns it.

    Returns:
        The placement of the child frame in the parent frame; ``numpy.array`` converts it to a 4×4 matrix.

    Raises:
        ModelError: if two rotations or two positions are given, or a matrix is not a rotation.

    Example:
        >>> import linkwork as lw
        >>> import numpy as np
        >>> place = lw.placement(xyz=(0.0, 0.0, 0.5), quaternion=(0, 0, 1, 1))
        >>> place.translation
        Vec3(0.0, 0.0, 0.5)
        >>> np.array(place)
        array([[ 0. , -1. ,  0. ,  0. ],
               [ 1. ,  0. ,  0. ,  0. ],
               [ 0. ,  0. ,  1. ,  0.5],
               [ 0. ,  0. ,  0. ,  1. ]])
    """
    position = Vec3(*several("xyz", xyz, 3, ModelError))
    ways = [name for name, way in (("rpy", rpy), ("quaternion", quaternion), ("matrix", matrix)) if way is not None]
    if len(ways) > 1:
        raise ModelError(f"a placement has one rotation; {' and '.join(ways)} are given")
    if quaternion is not None:
        parts = several("quaternion", quaternion, 4, ModelError)
        longest = max(map(abs, parts))
        if not 1e-100 < longest < 1e100:
            raise ModelError(f"quaternion must be (x, y, z, w) of a length that is not zero, not {shown(quaternion)}")
        return Transform(Quaternion(*(part / longest for part in parts)).matrix(), position)
    if matrix is not None:
        numbers = numbers_of(matrix)
        if numbers.shape == (3, 3):
            whole = np.eye(4)
            whole[:3, :3] = numbers
            return Transform(as_placement("matrix", whole).rotation, position)
        if numbers.shape != (4, 4):
            raise ModelError(f"matrix must be a rotation (3, 3), or a placement (4, 4), not {shown(matrix)}")
        if any(position):
            raise ModelError("a placement has one position; xyz is given, and matrix (4, 4) has another")
        return as_placement("matrix", matrix)
    angles = (0.0, 0.0, 0.0) if rpy is None else several("rpy", rpy, 3, ModelError)
    return Transform(_rotation(pack("3d", *angles)), position)


def placements(xyz: Array, rpy: Array) -> list[Transform]:
    """The placements of many positions (n, 3) and angles (n, 3); those with equal angles share one rotation."""
    data = np.ascontiguousarray(rpy).tobytes()
    keys = [data[k : k + 24] for k in range(0, len(data), 24)]  # bitwise, as a zero has a sign
    distinct = list(dict.fromkeys(keys))
    rows = np.stack(rotations(np.frombuffer(b"".join(distinct)).reshape(-1, 3)).numbers(), axis=-1).tolist()
    shared = {key: Mat3(*row) for key, row in zip(distinct, rows, strict=True)}
    return [Transform(shared[key], Vec3(x, y, z)) for key, (x, y, z) in zip(keys, xyz.tolist(), strict=True)]


def rotations(rpy: Array) -> Mat3:
    """The rotations of many angles (n, 3): the same function over arrays; angles that are too large give NaN."""
    with np.errstate(all="ignore"):
        return Mat3(*np.broadcast_arrays(*_of_rpy(*rpy.T).numbers()))


def as_placement(where: str, value: Any) -> Transform:
    """A checked placement: a Transform, or one from a 4×4 matrix."""
    if not isinstance(value, Transform):
        matrix = numbers_of(value)
        if matrix.shape != (4, 4) or matrix[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
            hint = "; lw.placement(xyz) makes one of a position" if matrix.shape == (3,) else ""
            raise ModelError(
                f"placement of {where} must come from lw.placement(...) or be a 4×4 matrix [[R, p], [0, 1]], "
                f"not {shown(value)}{hint}"
            )
        value = Transform(Mat3(*matrix[:3, :3].ravel().tolist()), Vec3(*matrix[:3, 3].tolist()))
    if not isinstance(value.rotation, Mat3) or not isinstance(value.translation, Vec3):
        raise ModelError(f"placement of {where} must be a rotation and a position, not {shown(value)}")
    numbers = value.numbers()
    if not all_floats(numbers):
        numbers = list(map(real, numbers))
    xx, xy, xz, yx, yy, yz, zx, zy, zz, *place = numbers  # unpacked for speed: a large model has many
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


def numbers_of(value: Any) -> Array:
    """Numbers of any shape; empty if anything else is among them."""
    try:
        return array("", value)
    except ArgumentError:
        return np.empty(0)


@lru_cache(maxsize=1024)
def _rotation(rpy: bytes) -> Mat3:
    """The rotation of roll, pitch and yaw as bytes, so that a zero keeps its sign; robots have few distinct ones."""
    return _of_rpy(*unpack("3d", rpy))


def _of_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Mat3:
    return Z.rotation(*_turn(yaw)) * (Y.rotation(*_turn(pitch)) * X.rotation(*_turn(roll)))


def _turn(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine; exact if the angle is the float nearest to a multiple of a quarter turn."""
    several = isinstance(angle, np.ndarray)
    quarters = np.rint(angle / _QUARTER) if several else round(angle / _QUARTER)
    exact = angle == quarters * _QUARTER
    if several:
        sine, cosine = sin_cos(angle)
        which = (quarters % 4).astype(np.intp)
        return np.where(exact, np.take(_SINES, which), sine), np.where(exact, np.take(_COSINES, which), cosine)
    return (_SINES[quarters % 4], _COSINES[quarters % 4]) if exact else sin_cos(angle)
