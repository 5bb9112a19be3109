"""Public functions of the operational-space inertia matrix, and of what a controller at task level needs besides."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import OPERATIONAL
from linkwork.algorithms.operational_inertia import SINGULAR
from linkwork.dynamics.arguments import Array, Asked, Frames, as_frames, choice
from linkwork.dynamics.call import quick_frames
from linkwork.engine.function import MOST_BODIES
from linkwork.engine.mode import current_form
from linkwork.errors import ArgumentError, SingularError
from linkwork.model.model import Model

METHODS = (*OPERATIONAL, "auto")
MOST_POINTS = 4
"""Up to here Λ is inverted by compiled code."""
SHORT = 6
"""Degrees of freedom up to which the factors of M are the shortest way to Λ⁻¹."""


def operational_inertia_inverse(model: Model, q: ArrayLike, frames: Frames, method: str = "auto") -> Array:
    """Λ⁻¹ = J M⁻¹ Jᵀ: how points accelerate under forces at them. It exists in every configuration.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects, on any bodies; several may be on one.
        method: "chang_khatib", O(nm + m²); "extended_propagator", O(n + md + m²) for tree depth d; "pv", O(n + m²);
            "dense", J M⁻¹ Jᵀ from sparse factors of M; or "auto": "dense" for a mechanism of at most six degrees of
            freedom, "pv" for any other, which take the fewest operations on nearly all robots that were counted.

    Returns:
        (..., 6m, 6m), symmetric, in the frames' own axes: 1/kg, 1/(kg m), 1/(kg m²); three rows and columns for a
        point that asks for "position" or "rotation".

    Raises:
        SingularError: if a joint can move without moving any inertia.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> lw.operational_inertia_inverse(builder.build(), [0.0], [lw.Point("cart", axes="position")])
        array([[0.5, 0. , 0. ],
               [0. , 0. , 0. ],
               [0. , 0. , 0. ]])
    """
    asked = as_frames(model, frames)
    return _chosen(asked, quick_frames(f"operational/{_method(model, method)}", model, asked, q))


def operational_inertia(
    model: Model,
    q: ArrayLike,
    frames: Frames,
    method: str = "auto",
    damping: float = 0.0,
    pseudo_inverse: bool = False,
) -> Array:
    """Λ = (J M⁻¹ Jᵀ)⁻¹: the inertia that is felt at points, the operational-space inertia matrix.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects, on any bodies.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        damping: added to the diagonal of Λ⁻¹ (1/kg, 1/(kg m²)), which makes Λ exist everywhere.
        pseudo_inverse: give the pseudo-inverse of Λ⁻¹, which is Λ where Λ exists.

    Returns:
        (..., 6m, 6m), symmetric, in the frames' own axes: kg, kg m, kg m²; three rows and columns for a point that
        asks for "position" or "rotation".

    Raises:
        SingularError: if the mechanism cannot move the points in all the ways asked for independently; it names the
            points and the rank.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> _ = builder.add_body("bob", "cart", lw.joints.Prismatic("y"), mass=1.0)
        >>> lw.operational_inertia(builder.build(), [0.0, 0.0], ["bob"], pseudo_inverse=True)[:3, :3].round(12) + 0.0
        array([[3., 0., 0.],
               [0., 1., 0.],
               [0., 0., 0.]])
    """
    asked = as_frames(model, frames)
    chosen = _method(model, method)
    if not damping >= 0.0:
        raise ArgumentError(f"damping must be a number from 0, not {damping!r}")
    if (
        pseudo_inverse
        or len(asked.frames) > MOST_POINTS
        or len(model.bodies) > MOST_BODIES
        or current_form() == "rolled"
        or not asked.frames
    ):
        return inverted(model, asked, operational_inertia_inverse(model, q, frames, chosen), damping, pseudo_inverse)
    kept, added = _kept(asked, damping)
    try:
        return _chosen(asked, quick_frames(f"operational_inertia/{chosen}", model, asked, q, kept, added))
    except SingularError:
        inverted(model, asked, operational_inertia_inverse(model, q, frames, chosen), damping, pseudo_inverse)
        raise


def force_responses(model: Model, q: ArrayLike, frames: Frames) -> Array:
    """J M⁻¹: the joint accelerations that unit forces at points cause, by propagation; neither J nor M⁻¹ is formed.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.

    Returns:
        (..., 6m, nv): a row for each force (per N) or moment (per N m) in the frame's own axes; three rows for a
        point that asks for "position" or "rotation". Its transpose is M⁻¹ Jᵀ.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> lw.force_responses(builder.build(), [0.0], [lw.Point("cart", axes="position")])
        array([[0.5],
               [0. ],
               [0. ]])
    """
    asked = as_frames(model, frames)
    return asked.rows(quick_frames("force_responses", model, asked, q), axis=-2)


def inverted(model: Model, asked: Asked, inverse: Array, damping: float = 0.0, pseudo_inverse: bool = False) -> Array:
    """Λ from Λ⁻¹, or an error that says of which points and with what rank."""
    size = inverse.shape[-1]
    matrix = inverse + damping * np.eye(size)
    if pseudo_inverse:
        return np.asarray(np.linalg.pinv(matrix, rcond=1e-11, hermitian=True), dtype=np.float64)
    diagonal = np.sqrt(np.einsum("...ii->...i", matrix))
    with np.errstate(all="ignore"):
        scaled = matrix / (diagonal[..., :, None] * diagonal[..., None, :])
    try:
        pivots = np.einsum("...ii->...i", np.linalg.cholesky(scaled)) ** 2
    except np.linalg.LinAlgError:
        pivots = np.zeros(size)
    if not (pivots > SINGULAR).all():
        raise _deficient(model, asked, np.nan_to_num(scaled), diagonal)
    result = np.linalg.inv(scaled) / (diagonal[..., :, None] * diagonal[..., None, :])
    return 0.5 * (result + np.swapaxes(result, -1, -2))


def _deficient(model: Model, asked: Asked, scaled: Array, diagonal: Array) -> SingularError:
    scaled = scaled * (diagonal[..., :, None] > 0.0)
    ranks = (np.linalg.eigvalsh(scaled) > 1e-11 * scaled.shape[-1]).sum(axis=-1)
    where = tuple(int(i) for i in np.unravel_index(int(np.argmin(ranks)), ranks.shape))
    points = ", ".join(f"{point.frame!r} ({point.axes})" for point in asked.points)
    state = f" at state {list(where)} of the batch" if where else ""
    return SingularError(
        f"operational_inertia: the inverse is singular{state}: of the {scaled.shape[-1]} numbers asked of {points} "
        f"model {model.name!r} can move only {ranks[where]} independently. Ask for fewer points or axes "
        f"(lw.Point(..., axes='position')), or pass damping or pseudo_inverse=True"
    )


def _method(model: Model, method: str) -> str:
    if method == "auto":
        return "dense" if model.nv <= SHORT else "pv"
    return choice("method", method, METHODS)


def _chosen(asked: Asked, matrix: Array) -> Array:
    return asked.rows(asked.rows(matrix, axis=-1), axis=-2)


@lru_cache(maxsize=256)
def _kept(asked: Asked, damping: float) -> tuple[Array, Array]:
    """Which of each frame's six numbers are asked for, as ones, and what to add to the diagonal."""
    parts = {"pose": (1, 1), "position": (1, 0), "rotation": (0, 1)}
    kept = np.repeat([parts[point.axes] for point in asked.points], 3, axis=1).astype(np.float64)
    return kept, np.where(kept > 0.0, damping, 1.0)
