"""How the operational-space inertia matrix of points changes with the configuration: derivatives of its own program, in
forward mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.batches import put_into
from linkwork.compiled.arrays import array_of, is_traced, numbers
from linkwork.compiled.derivatives import lifted
from linkwork.dynamics.arguments import Array, Frames, as_batch
from linkwork.dynamics.operational_inertia import INERTIA, operational_inertia
from linkwork.dynamics.questions import Answer, Constraints
from linkwork.engine.trace.differentiate import pushed
from linkwork.errors import SingularError
from linkwork.model.model import Model, Point

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction


def operational_inertia_rate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frames: Frames,
    reference: str = "local",
    *,
    constraints: Constraints = None,
    out: Array | None = None,
) -> Array:
    """Λ̇: how the operational-space inertia matrix changes over time, as the mechanism moves with a velocity.

    With J q̇ = ẋ of a velocity q̇ = J̄ ẋ, and μ of ``lw.operational_space`` there, ẋᵀ (Λ̇ ẋ - 2 μ) = 0: the Coriolis and
    centrifugal forces do no work of their own.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        reference: "local", "world" or "local_world_aligned", as in ``lw.jacobian``: the axes and origin of Λ, which
            move with the points or not.
        constraints: loops, supports and grasps that the mechanism obeys, as in ``lw.operational_space``; None if left
            out.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 6m, 6m), symmetric: kg/s, kg m/s, kg m²/s; three rows and columns for a point with axes "position" or
        "rotation".

    Raises:
        SingularError: as ``lw.operational_inertia``.

    Example:
        >>> import linkwork as lw
        >>> person, hand = lw.mechanisms.humanoid(), [lw.Point("left_hand", axes="position")]
        >>> q, v, h = lw.neutral(person) + 0.1, [0.2] * 24, 1e-6
        >>> rate = lw.operational_inertia_rate(person, q, v, hand)
        >>> before, after = (lw.operational_inertia(person, q + x, hand) for x in (-0.2 * h, 0.2 * h))
        >>> bool(abs((after - before) / (2.0 * h) - rate).max() < 1e-6)
        True
    """
    answer = INERTIA.at(model, frames, "auto", reference, constraints)
    if answer.rate is not None:
        found: Array | None = answer.rate.served(out, q, v, *answer.fixed)
        if found is not None:
            return found
    (here, speed), batch = as_batch(model, _STATE, (q, v))
    assert here is not None and speed is not None
    if not answer.rows:
        return put_into(out, np.zeros((*batch, 0, 0)), apart={"q": q, "v": v})
    if is_traced(here) or is_traced(speed):
        return inertia_and_rate(answer, here, speed)[1]
    answer.rate = _kernel(answer)
    (rate,), _, fine = answer.rate.attempt([here, speed, *answer.fixed])
    if not fine.all():
        first = np.unravel_index(int(np.argmin(fine)), batch) if batch else ()
        operational_inertia(model, here[first], frames, constraints=constraints)  # an error that names the points
        raise SingularError(
            "operational_inertia_rate: the constraints are so nearly redundant that it is not clear which of them "
            "stay so when the mechanism moves; leave out those that depend on others"
        )
    return put_into(out, rate, apart={"q": q, "v": v})


def operational_inertia_derivatives(
    model: Model,
    q: ArrayLike,
    frames: Frames,
    reference: str = "local",
    *,
    constraints: Constraints = None,
    out: Array | None = None,
) -> Array:
    """∂Λ/∂q: how the operational-space inertia matrix changes with each degree of freedom.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        frames: m names of ``model.frame_names`` or ``lw.Point`` objects.
        reference: "local", "world" or "local_world_aligned", as in ``lw.operational_inertia_rate``.
        constraints: loops, supports and grasps that the mechanism obeys; None if left out.
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        (..., 6m, 6m, nv): kg, kg m, kg m², for each rad or m of the degree of freedom, in the tangent space of q.

    Raises:
        SingularError: as ``lw.operational_inertia``.

    Example:
        >>> import linkwork as lw
        >>> person, hand = lw.mechanisms.humanoid(), [lw.Point("left_hand", axes="position")]
        >>> lw.operational_inertia_derivatives(person, lw.neutral(person), hand).shape
        (3, 3, 24)
    """
    (here,), _ = as_batch(model, (("q", "configuration"),), (q,))
    assert here is not None
    if is_traced(here):
        units = np.eye(model.nv)
        rates = [operational_inertia_rate(model, here, v, frames, reference, constraints=constraints) for v in units]
        return np.stack(rates, axis=-1)
    columns = operational_inertia_rate(
        model, here[..., None, :], np.eye(model.nv), frames, reference, constraints=constraints
    )
    return put_into(out, np.ascontiguousarray(np.moveaxis(columns, -3, -1)), apart={"q": q})


def inertia_with_rate(
    model: Model, q: Array, v: Array, point: Point, reference: str, constraints: Constraints, held_at: Any = None
) -> tuple[Array, Array]:
    """Λ and Λ̇ of a point, of floats or traced; ``held_at`` are traced placements that the constraints hold."""
    answer = INERTIA.at(model, point, "auto", reference, constraints or None)
    if is_traced(q) or is_traced(v):
        return inertia_and_rate(answer, q, v, answer.fixed if held_at is None else (held_at, *answer.asked.fixed))
    inertia = answer(None, q, 0.0)
    return inertia, operational_inertia_rate(model, q, v, point, reference, constraints=constraints or None)


def inertia_and_rate(answer: Answer, q: Array, v: Array, fixed: Sequence[Any] | None = None) -> tuple[Array, Array]:
    """Λ and Λ̇ of one traced state, by the program of Λ; ``fixed`` are its last arguments, if they are traced, too."""
    whole = answer.text_of()
    values = [q, np.zeros(()), *(answer.fixed if fixed is None else fixed)]
    arguments = [numbers(value).ravel().tolist() for value in values]
    tangents = [[0.0] * len(each) for each in arguments]
    tangents[0] = lifted(answer.asked.model, arguments[0], numbers(v).ravel().tolist())
    (value,), ((change,),) = pushed(whole.program, arguments, [tangents])
    inertia, rate = (array_of(each, whole.result_shapes[0]) for each in (value, change))
    sound = np.where(np.abs(inertia[:1, :1]) < np.inf, 0.0, np.nan)  # a singular matrix has no rate
    first = np.zeros(rate.shape)
    first[0, 0] = 1.0
    return inertia, rate + first * sound


def _kernel(answer: Answer) -> CompiledFunction:
    """The kernel of Λ̇, shared like that of Λ."""
    from linkwork.compiled.law import law

    model, whole = answer.asked.model, answer.text_of()
    name, known = "operational_inertia_rate", model._memo.laws
    key = (name, *answer.key)
    if key not in known:
        fixed = {name: shape for name, shape in whole.shapes.items() if name not in ("q", "damping")}

        def text(q: Any, v: Any, **fixed: Any) -> Any:
            return inertia_and_rate(answer, q, v, list(fixed.values()))[1]

        shapes = {"q": (model.nq,), "v": (model.nv,), **fixed}
        known[key] = law(name, text, shapes, whole.result_shapes, model, answer.asked.frames, *key[2:])
    found: CompiledFunction = known[key]
    return found


_STATE = (("q", "configuration"), ("v", "velocity"))
