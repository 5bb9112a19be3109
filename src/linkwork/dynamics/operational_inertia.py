"""The operational-space inertia matrix of points."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from linkwork.arguments import switch
from linkwork.dynamics.arguments import Array, Frames
from linkwork.dynamics.at_points import AtPoints, Question
from linkwork.dynamics.inversion import as_damping
from linkwork.model.model import Model


def operational_inertia(
    model: Model,
    q: ArrayLike,
    frames: Frames,
    method: str = "auto",
    damping: float = 0.0,
    pseudo_inverse: bool = False,
    *,
    out: Array | None = None,
) -> Array:
    """Λ = (J M⁻¹ Jᵀ)⁻¹: the operational-space inertia matrix, the inertia felt at the points.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects, on any bodies.
        method: for Λ⁻¹, as in ``operational_inertia_inverse``.
        damping: added to the diagonal of Λ⁻¹ (1/kg, 1/(kg m²)), so that Λ exists in every configuration.
        pseudo_inverse: return the pseudo-inverse of Λ⁻¹, which equals Λ where Λ exists.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 6m, 6m), symmetric, in the frames' own axes: kg, kg m, kg m²; three rows and columns for a point with axes
        "position" or "rotation".

    Raises:
        SingularError: if the mechanism cannot move the points independently in all the axes asked for (Λ⁻¹ is
            singular); the error names the points and the rank.

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
    answer = _INERTIA.at(model, frames, method)
    if pseudo_inverse is not False:
        pseudo_inverse = switch("pseudo_inverse", pseudo_inverse)
    found: Array = answer(out, q, as_damping(damping), pseudo_inverse=pseudo_inverse)
    return found


def _inertia(points: AtPoints, q: Array, damping: Any) -> tuple[Array]:
    return (points.inertia(points.inertia_inverse(q), damping),)


_INERTIA = Question(
    "operational_inertia", _inertia, (("q", "configuration"), ("damping", "scalar")), ("rr",), columns=False
)
