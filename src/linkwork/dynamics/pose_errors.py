"""The error of a frame's pose with respect to a target."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.algorithms import REFERENCES
from linkwork.arguments import array, choice
from linkwork.batches import broadcast, leading_axes
from linkwork.compiled.arrays import is_traced, numbers, traced
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError
from linkwork.spatial import Mat3, Vec3, atan2, quaternion_of, sqrt, where_less

_ORTHONORMAL = 1e-6
"""The largest deviation of a placement's R Rᵀ from the identity."""
_IDENTITY, _LAST = np.eye(3), np.array([0.0, 0.0, 0.0, 1.0])


def pose_error(X: ArrayLike, X_target: ArrayLike, reference: str = "local", *, out: Array | None = None) -> Array:
    """The motion vector from a placement to a target: to first order, J dq = error, with the same reference.

    Args:
        X: placements (..., 4, 4), as ``lw.forward_kinematics`` gives them.
        X_target: target placements (..., 4, 4).
        reference: the axes and origin in which the error is expressed, as in ``lw.jacobian``: "local" (those of X),
            "world" or "local_world_aligned" (the world's axes at the origin of X).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 6): the displacement of the origin (m), and the rotation vector of the shorter rotation, axis times angle
        (rad). In "local" and "local_world_aligned" their norms are the distance and angle between the placements.

    Example:
        >>> import linkwork as lw
        >>> import numpy as np
        >>> target = np.eye(4)
        >>> target[:3, 3] = 0.0, 0.5, 0.0
        >>> target[:2, :2] = [0.0, -1.0], [1.0, 0.0]  # a quarter turn about z
        >>> lw.pose_error(np.eye(4), target).round(4)
        array([0.    , 0.5   , 0.    , 0.    , 0.    , 1.5708])
    """
    text = _compiled(choice("reference", reference, REFERENCES))
    error: Array | None = text.quick(out, X, X_target)  # not None only for valid placements
    if error is not None:
        return error
    if is_traced(X) or is_traced(X_target):
        return _errors(X, X_target, reference)
    error = text.converted(out, X, X_target)
    if error is None:
        error = text(as_placements("X", X), as_placements("X_target", X_target), out=out)
    return error


def as_placements(what: str, value: Any, shape: tuple[int, ...] = (4, 4)) -> Array:
    """Placements (..., 4, 4), or an error that names what is wrong with them."""
    placements = array(what, value, shape)
    hint = "; lw.placement(xyz) makes a placement of a position" if placements.shape[-1:] == (3,) else ""
    leading_axes(what, placements, shape, hint=hint)
    apart = tuple(slice(None) if stride else slice(1) for stride in placements.strides[:-2])
    once = placements[apart]  # without the repetitions of a broadcast, which would take memory
    if not _are_placements(once).all():
        _refuse(what, once)
    return placements


@np.errstate(all="ignore")
def _are_placements(placements: Array) -> NDArray[np.bool_]:
    """Which of them have a valid rotation, and the last row 0, 0, 0, 1."""
    turn = placements[..., :3, :3]
    off = np.abs(turn @ np.swapaxes(turn, -1, -2) - _IDENTITY).max(axis=(-2, -1))
    good: NDArray[np.bool_] = (off <= _ORTHONORMAL) & (placements[..., 3, :] == _LAST).all(axis=-1)
    return good & (np.linalg.det(turn) > 0.0)


def _refuse(what: str, placements: Array) -> NoReturn:
    """Raise an error that says what is wrong with the first invalid placement."""
    if not np.isfinite(placements).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(placements))[0])
        raise ArgumentError(f"{what}{list(where)} is {placements[where]}; it must be finite")
    where = tuple(int(i) for i in np.argwhere(~_are_placements(placements))[0])
    at = f"{what}{list(where)}" if where else what
    raise ArgumentError(
        f"{at} is no placement: it must be [[R, p], [0, 1]] with a rotation R (R Rᵀ = 1 to {_ORTHONORMAL:g}, "
        f"determinant 1) and a last row of 0, 0, 0, 1"
    )


# The algorithm, over arrays


@cache
def _compiled(reference: str) -> CompiledFunction:
    from linkwork.compiled.compiling import compile

    def pose_error(X: Any, X_target: Any) -> Any:
        return _error(X, X_target, reference) / (_is_placement(X) * _is_placement(X_target))

    return compile(pose_error, X=(4, 4), X_target=(4, 4))


def _is_placement(X: Any) -> Any:
    """1 for a valid placement, 0 otherwise, so that dividing by it leaves no finite number."""
    rows = numbers(X).tolist()
    turn = _rotation(rows)
    product = (turn * turn.transpose()).numbers()
    near = [(entry - wanted, _ORTHONORMAL) for entry, wanted in zip(product, _IDENTITY.ravel().tolist(), strict=True)]
    near += [(entry - wanted, 0.0) for entry, wanted in zip(rows[3], _LAST.tolist(), strict=True)]
    good = 1.0
    for off, most in near:
        good = good * where_less(most, off, 0.0, where_less(off, -most, 0.0, 1.0))
    (a, b, c), (d, e, f), (g, h, i) = (row[:3] for row in rows[:3])
    return good * where_less(0.0, a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g), 1.0, 0.0)


def _errors(X: Any, X_target: Any, reference: str) -> Any:
    """The errors of traced placements (..., 4, 4)."""
    placements = {"X": numbers(X), "X_target": numbers(X_target)}
    for name, items in placements.items():
        if items.shape[-2:] != (4, 4):
            raise ArgumentError(f"{name} must have shape (..., 4, 4), but has shape {items.shape}")
    leading = broadcast(list(placements), [items.shape[:-2] for items in placements.values()])
    here, there = (np.broadcast_to(items, (*leading, 4, 4)).reshape(-1, 4, 4) for items in placements.values())
    errors = [numbers(_error(x, y, reference)) for x, y in zip(here, there, strict=True)]
    return traced(np.array(errors, dtype=object).reshape(*leading, 6))


def _error(X: Any, X_target: Any, reference: str) -> Any:
    """The error of one traced placement."""
    here, there = numbers(X).tolist(), numbers(X_target).tolist()
    place = Vec3(*(row[3] for row in here[:3]))
    R = Vec3(*(there[k][3] - here[k][3] for k in range(3)))
    turn = _rotation_vector(_rotation(there) * _rotation(here).transpose())
    if reference == "world":
        R = R + place.cross(turn)
    elif reference == "local":
        back = _rotation(here).transpose()
        R, turn = back.apply(R), back.apply(turn)
    made = np.empty(6, dtype=object)
    made[:] = [*R.numbers(), *turn.numbers()]
    return traced(made)


def _rotation(rows: Any) -> Mat3:
    return Mat3(*(rows[r][c] for r in range(3) for c in range(3)))


def _rotation_vector(rotation: Mat3) -> Vec3:
    """The rotation vector, axis times angle, of length at most pi."""
    q = quaternion_of(rotation)
    sine = sqrt(q.x * q.x + q.y * q.y + q.z * q.z)
    factor = where_less(0.0, sine, 2.0 * atan2(sine, q.w) / where_less(0.0, sine, sine, 1.0), 0.0)
    return Vec3(factor * q.x, factor * q.y, factor * q.z)
