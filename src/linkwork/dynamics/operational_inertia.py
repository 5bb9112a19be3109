"""The operational-space inertia matrix of points, and its inverse."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from linkwork.arguments import switch
from linkwork.dynamics.arguments import Array, Frames
from linkwork.dynamics.at_points import AtPoints
from linkwork.dynamics.inversion import as_damping
from linkwork.dynamics.operational import inertia_inverse
from linkwork.dynamics.questions import Constraints, Question
from linkwork.model.model import Model


def operational_inertia(
    model: Model,
    q: ArrayLike,
    frames: Frames,
    method: str = "auto",
    damping: float = 0.0,
    pseudo_inverse: bool = False,
    *,
    constraints: Constraints = None,
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
        constraints: loops, supports and grasps that the mechanism obeys, as in ``constrained_dynamics``; they may be
            redundant. None if left out.
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
    answer = INERTIA.at(model, frames, method, constraints=constraints)
    if pseudo_inverse is not False:
        pseudo_inverse = switch("pseudo_inverse", pseudo_inverse)
    found: Array = answer(out, q, as_damping(damping), pseudo_inverse=pseudo_inverse)
    return found


def _inertia(points: AtPoints, q: Array, damping: Any) -> tuple[Array]:
    return (points.inertia(points.inertia_inverse(q), damping),)


INERTIA = Question(
    "operational_inertia", _inertia, (("q", "configuration"), ("damping", "scalar")), ("rr",), columns=False
)


def operational_inertia_inverse(
    model: Model,
    q: ArrayLike,
    frames: Frames,
    method: str = "auto",
    *,
    constraints: Constraints = None,
    out: Array | None = None,
) -> Array:
    """Λ⁻¹ = J M⁻¹ Jᵀ, which maps forces at points to their accelerations. It exists in every configuration.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects, on any bodies; several may be on one body.
        method: "chang_khatib", O(nm + m²); "extended_propagator", O(n + md + m²) for tree depth d; "pv", O(n + m²);
            "sparse", O(n + md + m²d), Yᵀ D⁻¹ Y with M = Lᵀ D L, Y = L⁻ᵀ Jᵀ; "dense", J M⁻¹ Jᵀ from sparse factors of M;
            or "auto", which selects one of these by a rule on the tree and the points: in nine of ten cases counted,
            the one with the fewest operations or at most 15 % more.
        constraints: loops, supports and grasps that the mechanism obeys, as in ``constrained_dynamics``; they may be
            redundant. None if left out. What they hold has no mobility.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 6m, 6m), symmetric, in the frames' own axes: 1/kg, 1/(kg m), 1/(kg m²); three rows and columns for a
        point with axes "position" or "rotation".

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
    if constraints is None:
        return inertia_inverse(model, q, frames, method, out=out)
    found: Array = _INVERSE.at(model, frames, method, constraints=constraints)(out, q)
    return found


def _inverse(points: AtPoints, q: Array) -> tuple[Array]:
    return (points.inertia_inverse(q),)


_INVERSE = Question("operational_inertia_inverse", _inverse, (("q", "configuration"),), ("rr",), columns=False)
