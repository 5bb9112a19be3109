"""Forces at points of bodies converted to ``f_ext``: one implementation over arrays of floats or of traced numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import REFERENCES
from linkwork.arguments import array, choice, memory_for
from linkwork.batches import put_into
from linkwork.compiled.arrays import is_traced, numbers, traced
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, PointSet, as_array, as_frames
from linkwork.dynamics.kinematics import forward_kinematics
from linkwork.engine.plans.costs import most
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model, Point
from linkwork.spatial import Force, Mat3, Transform, Vec3
from linkwork.spatial.small_matrices import motion_matrix

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction


def external_wrench(
    model: Model,
    q: ArrayLike,
    wrenches: Mapping[str | Point, ArrayLike],
    reference: str = "local_world_aligned",
    *,
    out: Array | None = None,
) -> Array:
    """The ``f_ext`` of dynamics functions, from forces and moments at frames or points.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        wrenches: for each frame name or ``lw.Point``, the force (N) and then the moment (N m) that act there, (..., 6);
            three numbers for a point with axes "position" (a force) or "rotation" (a moment). A wrench on the world has
            no effect.
        reference: how the wrenches are expressed: "local_world_aligned" (in the world's axes, about the frame's
            origin), "local" (in the frame) or "world" (in the world's axes, about the world's origin).
        out: an array for the result, written in place and returned; a new one if left out.

    Returns:
        f_ext (..., nbodies, 6), N and N m: the wrench on each body, in the body's own frame.

    Raises:
        UnknownNameError: if the model has no such frame.

    Example:
        A weight of 3 kg hangs from the end of a horizontal arm:

        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2, joint=lw.joints.Revolute("y"))
        >>> f_ext = lw.external_wrench(arm, [0.0, 0.0], {"tip": [0, 0, -29.43, 0, 0, 0]})
        >>> lw.inverse_dynamics(arm, [0, 0], [0, 0], [0, 0], f_ext) - lw.gravity_torques(arm, [0, 0])
        array([-58.86, -29.43])
    """
    if type(wrenches) is not dict and not isinstance(wrenches, Mapping):
        raise ArgumentError(f'wrenches must be a dict, as in {{"hand": [0, 0, -10, 0, 0, 0]}}, not {shown(wrenches)}')
    point_set, values = as_frames(model, tuple(wrenches)), tuple(wrenches.values())
    choices = "external_wrench", reference, type(reference)
    answer: Array | None = call.recall(point_set.quick, choices, out, q, *values)
    if answer is not None:
        return answer
    choice("reference", reference, REFERENCES)
    law = _law(point_set, reference)
    if law is not None:
        answer = call.serve_by(law, point_set.quick, choices, point_set.fixed, out, q, *values)
        if answer is not None:
            return answer
    checked = [_numbers(point, value) for point, value in zip(point_set.points, wrenches.values(), strict=True)]
    if law is None or any(map(is_traced, (q, *checked))):
        places = forward_kinematics(model, q, point_set.points or ("world",))
        f_ext = _on_bodies(point_set, point_set.offsets, places, checked, reference)
    else:
        f_ext = law(as_array(model, "q", "configuration", q), *checked, *point_set.fixed)
    apart = {"q": q, **{f"wrench {k}": value for k, value in enumerate(wrenches.values())}}
    return f_ext if is_traced(f_ext) else put_into(out, f_ext, apart=apart)


def _law(point_set: PointSet, reference: str) -> CompiledFunction | None:
    """The kernel for wrenches at these points, whose offsets, if any, are the last argument; None for many points."""
    try:
        return point_set.answers[external_wrench, reference]
    except KeyError:
        few = 0 < len(point_set.frames) <= most("inverted")
        point_set.answers[external_wrench, reference] = law = _made(point_set, reference) if few else None
        return law


def _made(point_set: PointSet, reference: str) -> CompiledFunction:
    model, axes = point_set.model, [point.axes for point in point_set.points]
    shapes: dict[str, tuple[int, ...]] = {"q": (model.nq,)}
    shapes |= {f"wrench{k}": (6 if each == "pose" else 3,) for k, each in enumerate(axes)}

    def text(offsets: Sequence[Any], q: Any, **wrenches: Any) -> Any:
        (places,) = call.call("frame_placements", model, [q], point_set.frames, offsets)
        return _on_bodies(point_set, offsets, places, list(wrenches.values()), reference)

    results = [(len(model.bodies), 6)]
    return call.kernel_at(point_set, "external_wrench", text, shapes, results, reference, tuple(axes))


# The algorithm, over arrays


def _on_bodies(
    point_set: PointSet, offsets: Sequence[Any], places: Array, wrenches: Sequence[Any], reference: str
) -> Array:
    """Wrenches on all bodies, from wrenches at points whose placements are ``places``."""
    model = point_set.model
    try:
        batch = np.broadcast_shapes(places.shape[:-3], *(each.shape[:-1] for each in wrenches))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in wrenches)
        raise ArgumentError(
            f"leading axes of q, {places.shape[:-3]}, and wrenches, {shapes}, do not broadcast"
        ) from None
    with memory_for("external forces", (*batch, len(model.bodies), 6)):
        rows: list[Any] = [np.zeros((*batch, 6)) for _ in model.bodies]
        for k, (point, wrench) in enumerate(zip(point_set.points, wrenches, strict=True)):
            if point_set.frames[k].body:
                seen = _whole(point, wrench)
                if reference != "local":
                    seen = in_frame(places[..., k, :, :], seen[..., None, :], reference)[..., 0, :]
                index = point_set.frames[k].body - 1
                rows[index] = rows[index] + seen @ _to_body(point_set, k, offsets[3 * k : 3 * k + 3])
        return np.stack(rows, axis=-2) if rows else np.zeros((*batch, 0, 6))


def _numbers(point: Point, value: Any) -> Any:
    """The numbers of a wrench at a point, checked."""
    what = f"the wrench at {point.frame!r}"
    count = 6 if point.axes == "pose" else 3
    items: Any = traced(numbers(value)) if is_traced(value) else array(what, value, (count,))
    if items.ndim == 0 or items.shape[-1] != count:
        raise ArgumentError(f"{what} must be {count} numbers (..., {count}), but has shape {items.shape}")
    if not is_traced(items) and not np.isfinite(items).all():
        raise ArgumentError(f"{what} must be finite, not {shown(value)}")
    return items


def _whole(point: Point, wrench: Any) -> Any:
    """Force and moment (..., 6); the one that is not given is zero."""
    if point.axes == "pose":
        return wrench
    both = [wrench, np.zeros_like(wrench)]
    return np.concatenate(both if point.axes == "position" else both[::-1], axis=-1)


def in_frame(place: Array, wrenches: Array, reference: str) -> Array:
    """Wrenches (..., n, 6) in the world's axes, expressed in the frame at ``place`` (..., 4, 4): fᵀ X, where X maps the
    frame's motion vectors to the world's.
    """
    if reference != "world":
        place = place * _TURN_ALONE
    return wrenches @ motion_matrix(place)


_TURN_ALONE = np.array([[1.0, 1.0, 1.0, 0.0]] * 3 + [[0.0, 0.0, 0.0, 1.0]])


def from_frame(model: Model, q: ArrayLike, frame: str | Point, wrenches: Array) -> Array:
    """Wrenches (..., n, 6) about the world's origin, expressed in a frame."""
    return in_frame(forward_kinematics(model, q, (frame,))[..., 0, :, :], wrenches, "world")


def _to_body(point_set: PointSet, k: int, offset: Sequence[Any]) -> Array:
    """(6, 6): maps wrenches, as rows, from one of the frames, shifted by an offset, to the body that carries it."""
    place = point_set.frames[k].placement * Transform(Mat3.identity(), Vec3(*(offset or (0.0, 0.0, 0.0))))
    columns = [place.to_parent(Force.from_numbers([float(i == j) for i in range(6)])).numbers() for j in range(6)]
    plain = all(isinstance(number, float) for column in columns for number in column)
    return np.array(columns, dtype=np.float64) if plain else traced(np.array(columns, dtype=object))
