"""Λ from Λ⁻¹, or an error about the points if Λ⁻¹ is singular."""

from __future__ import annotations

from math import inf

import numpy as np

from linkwork.algorithms import INVERSION
from linkwork.algorithms.inversion import SINGULAR
from linkwork.arguments import not_negative, switch
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics.arguments import Array, PointSet
from linkwork.dynamics.call import call
from linkwork.engine.plans.costs import most
from linkwork.errors import SingularError
from linkwork.model.model import WORLD, Frame
from linkwork.spatial import Transform


def as_damping(damping: float) -> float:
    """The damping as a float; a fast path for floats."""
    return damping if type(damping) is float and 0.0 <= damping < inf else not_negative("damping", damping)


def inverted(asked: PointSet, inverse: Array, damping: float = 0.0, pseudo_inverse: bool = False) -> Array:
    """Λ from the Λ⁻¹ of points, or an error that names them and the rank."""
    damping = as_damping(damping)
    size = inverse.shape[-1]
    matrix = inverse + damping * np.eye(size) if damping or pseudo_inverse is not False else inverse
    if pseudo_inverse is not False and switch("pseudo_inverse", pseudo_inverse):
        return np.asarray(np.linalg.pinv(matrix, rcond=1e-11, hermitian=True), dtype=np.float64)
    if 0 < size <= 6 * most("inverted") or is_traced(matrix):
        try:
            grouped = triples(asked, size // 3)
            (found,) = call(INVERSION.name, asked.model, [matrix], grouped.frames, table=grouped.quick)
        except SingularError:
            raise _deficient(asked, *_scaled(matrix)) from None
        return found
    scaled, diagonal = _scaled(matrix)
    try:
        pivots = np.einsum("...ii->...i", np.linalg.cholesky(scaled)) ** 2
    except np.linalg.LinAlgError:
        pivots = np.zeros(size)
    if not (pivots > SINGULAR).all():
        raise _deficient(asked, scaled, diagonal)
    result = np.linalg.inv(scaled) / (diagonal[..., :, None] * diagonal[..., None, :])
    return 0.5 * (result + np.swapaxes(result, -1, -2))


def triples(asked: PointSet, count: int) -> PointSet:
    """Frames for an algorithm that uses no mechanism: ``count`` times three numbers."""
    known = asked.model._memo.frames
    key = (triples, count)  # cannot equal a user's frames
    if key not in known:
        known[key] = PointSet(asked.model, (Frame(WORLD, 0, Transform.identity()),) * count, (), ())
    found: PointSet = known[key]
    return found


def _scaled(matrix: Array) -> tuple[Array, Array]:
    """The matrix scaled to a unit diagonal, and the square roots of its diagonal."""
    diagonal = np.sqrt(np.einsum("...ii->...i", matrix))
    with np.errstate(all="ignore"):
        return matrix / (diagonal[..., :, None] * diagonal[..., None, :]), diagonal


def check_mobility(asked: PointSet, inverse: Array, scales: Array, where: str) -> None:
    """Raise an error that names the points if Λ⁻¹ is singular; its rounding errors are relative to ``scales``."""
    units = np.sqrt(scales)
    with np.errstate(all="ignore"):
        scaled = np.nan_to_num(inverse / (units[..., :, None] * units[..., None, :]))
    if not (np.linalg.eigvalsh(scaled) > SINGULAR * inverse.shape[-1]).all():
        raise _deficient(asked, scaled, np.sqrt(np.einsum("...ii->...i", inverse)), where)


def _deficient(asked: PointSet, scaled: Array, diagonal: Array, under: str = "") -> SingularError:
    scaled = np.nan_to_num(scaled) * (diagonal[..., :, None] > 0.0)
    ranks = (np.linalg.eigvalsh(scaled) > 1e-11 * scaled.shape[-1]).sum(axis=-1)
    where = tuple(int(i) for i in np.unravel_index(int(np.argmin(ranks)), ranks.shape))
    points = ", ".join(f"{point.frame!r} ({point.axes})" for point in asked.points)
    state = f" at state {list(where)} of the batch" if where else ""
    return SingularError(
        f"operational_inertia: the inverse is singular{state}: of the {scaled.shape[-1]} numbers asked of {points} "
        f"model {asked.model.name!r} can move only {ranks[where]} independently{under}. Ask for fewer points or axes "
        f"(lw.Point(..., axes='position')), or pass damping or pseudo_inverse=True"
    )
