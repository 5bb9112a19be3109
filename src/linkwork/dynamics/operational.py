"""The inverse of the operational-space inertia matrix, and force responses."""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.algorithms import OPERATIONAL
from linkwork.arguments import choice
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, Frames, PointSet, as_frames
from linkwork.model.model import Model

_AUTO = "auto"
METHODS = (*OPERATIONAL, _AUTO)
_INVERSES = {method: f"operational/{method}" for method in OPERATIONAL}


def inertia_inverse(
    model: Model, q: ArrayLike, frames: Frames, method: str = "auto", *, out: Array | None = None
) -> Array:
    """Λ⁻¹ = J M⁻¹ Jᵀ without constraints."""
    if type(method) is not str or method not in _INVERSES:
        method = chosen(as_frames(model, frames), method)
    return call.every_frames(_INVERSES[method], model, frames, out, q)


def force_responses(model: Model, q: ArrayLike, frames: Frames, *, out: Array | None = None) -> Array:
    """J M⁻¹: the joint accelerations due to unit forces at points, by propagation; neither J nor M⁻¹ is formed.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 6m, nv): a row for each force (per N) or moment (per N m) in the frame's own axes; three rows for a
        point with axes "position" or "rotation". Its transpose is M⁻¹ Jᵀ.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder()
        >>> _ = builder.add_body("cart", joint=lw.joints.Prismatic("x"), mass=2.0)
        >>> lw.force_responses(builder.build(), [0.0], [lw.Point("cart", axes="position")])
        array([[0.5],
               [0. ],
               [0. ]])
    """
    return call.every_frames("force_responses", model, frames, out, q)


def chosen(asked: PointSet, method: str) -> str:
    """The method for Λ⁻¹, with "auto" resolved by its rule."""
    if method is _AUTO:
        return asked.method
    return asked.method if choice("method", method, METHODS) == _AUTO else method
