"""Accelerations, or the forces that a motion takes, together with what the joints transmit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import FRAMES
from linkwork.arguments import choice
from linkwork.batches import put_into
from linkwork.compiled.arrays import is_traced, numbers
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, Asked, as_frames, as_given, check_model
from linkwork.dynamics.light_bodies import check_inertias
from linkwork.dynamics.loads import from_frame, in_frame
from linkwork.engine.mode import current_form
from linkwork.engine.plans import MOST_BODIES
from linkwork.errors import ArgumentError, shown, suggestion
from linkwork.model.model import Model, Point

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

METHODS = ("articulated_body", "virtual_work")
_FORWARD = {method: {frame: f"{method}_reactions/{frame}" for frame in FRAMES} for method in METHODS}
_INVERSE = {frame: f"inverse_dynamics_reactions/{frame}" for frame in FRAMES}


@call.public(_FORWARD, "method", "frame")
def forward_dynamics_and_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    method: str = "articulated_body",
    frame: str | Point = "child",
    *,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Accelerations, and the wrench that every joint transmits to the body it carries.

    The wrench holds constraint forces and joint forces together: with gravity, f_ext and the wrenches of its
    children's joints (reversed) it is all that acts on the body. A fixed joint transmits six numbers of constraint; a
    free joint tau alone. An armature r stands between tau and the body, which feels tau - r a along the joint's own
    motions.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); none if
            left out.
        method: "articulated_body" (the faster one), or "virtual_work", for which the wrenches are the unknowns
            themselves. Virtual work is the more accurate where a light body floats at the root, the less where a body
            is far lighter than its neighbours, of which it warns; every body needs an inertia.
        frame: where the wrenches are seen from: "child" (the frame of the body that the joint carries, which is also
            the joint's own), "parent" (the frame of the body that carries the joint), "world", or any frame's name, or
            an ``lw.Point``. Moments are about the origin of that frame.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        a (..., nv), rad/s² or m/s², and wrenches (..., njoints, 6), force (N) then moment (N m), in the order of
        ``model.joint_names``.

    Raises:
        SingularError: if a joint can move without moving any inertia, or, by virtual work, if a body has no inertia;
            it is named.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("shelf", mass=3.0)
        >>> _ = builder.add_body("box", "shelf", lw.joints.Prismatic("x"), lw.placement((0.5, 0, 0)), mass=2.0)
        >>> a, wrenches = lw.forward_dynamics_and_reactions(builder.build(), [0.0], [0.0], [4.0])
        >>> a
        array([2.])
        >>> wrenches.round(12) + 0.0  # the shelf carries both, and holds against the push
        array([[  4.,   0.,  50.,   0., -10.,   0.],
               [  4.,   0.,  20.,   0.,   0.,   0.]])
    """
    if not (isinstance(frame, str) and frame in FRAMES):
        choice("method", method, METHODS)
        return _seen(model, q, v, tau, f_ext, method, frame, out=out)
    name = f"{choice('method', method, METHODS)}_reactions/{frame}"
    check_model(model)
    check_inertias(method, model)
    return call.every(name, model, out, q, v, tau, f_ext)


@call.public(_INVERSE, "frame")
def inverse_dynamics_and_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    frame: str | Point = "child",
    *,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """The joint forces that a motion takes, and the wrench that every joint transmits to the body it carries.

    The wrench is what ``forward_dynamics_and_reactions`` has at the same motion: constraint forces and joint forces
    together. At rest it is what a bearing, or a sensor in a wrist, bears of the weight beyond it.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6), as
            ``lw.external_wrench`` makes it; none if left out.
        frame: where the wrenches are seen from: "child" (the frame of the body that the joint carries, which is also
            the joint's own), "parent" (the frame of the body that carries the joint), "world", or any frame's name, or
            an ``lw.Point``. Moments are about the origin of that frame.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        tau (..., nv), N or N m, and wrenches (..., njoints, 6), force (N) then moment (N m), in the order of
        ``model.joint_names``.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("shelf", mass=3.0)
        >>> _ = builder.add_body("box", "shelf", lw.joints.Prismatic("x"), lw.placement((0.5, 0, 0)), mass=2.0)
        >>> tau, wrenches = lw.inverse_dynamics_and_reactions(builder.build(), [0.0], [0.0], [2.0])
        >>> tau
        array([4.])
        >>> wrenches.round(12) + 0.0
        array([[  4.,   0.,  50.,   0., -10.,   0.],
               [  4.,   0.,  20.,   0.,   0.,   0.]])
    """
    if isinstance(frame, str) and frame in FRAMES:
        return call.every(_INVERSE[frame], model, out, q, v, a, f_ext)
    return _seen(model, q, v, a, f_ext, _INVERSELY, frame, out=out)


_INVERSELY = "inverse"


@call.routed("q", "v", "third", "f_ext", choices=("method", "frame"))
def _seen(
    model: Model, q: ArrayLike, v: ArrayLike, third: ArrayLike, f_ext: ArrayLike | None, method: str,
    frame: str | Point, *, out: tuple[Array, Array] | None,
) -> tuple[Array, Array]:  # fmt: skip
    """The same as a frame of the model, or a point, sees it: by one kernel, for few bodies. ``third`` is tau of a
    method of forward dynamics, or a of inverse dynamics.
    """
    if not (type(model) is Model and type(frame) in (str, Point) and frame in model._memo.frames):
        is_frame(model, frame)
    asked, name = as_frames(model, frame), "a" if method == _INVERSELY else "tau"
    values = (q, v, third) if f_ext is None else (q, v, third, f_ext)
    apart = {"q": q, "v": v, name: third, "f_ext": f_ext}

    def whole(q: Any, v: Any, third: Any, f_ext: Any = None) -> Any:
        if method == _INVERSELY:
            return inverse_dynamics_and_reactions(model, q, v, third, f_ext, "world")
        return forward_dynamics_and_reactions(model, q, v, third, f_ext, method, "world")

    law: CompiledFunction | None = None
    if len(model.bodies) <= MOST_BODIES:
        law = asked.answers.get((_seen, method, f_ext is None))
        if law is None:
            law = asked.answers[_seen, method, f_ext is None] = _law(asked, method, whole, f_ext is not None)
        fixed = (np.array(asked.offsets),) if asked.offsets else ()
        answer: tuple[Array, Array] | None = law.quick(out, *values, *fixed)
        if answer is not None:
            arguments, choices = (*(None for _ in values), *fixed), (method, frame)
            call.keep_route(_seen, model._memo.quick, values, choices, law.holder, arguments)
            return answer
        answer = law.converted(out, *values, *fixed)
        if answer is not None:
            return answer
    if law is not None and current_form() != "rolled" and not any(map(is_traced, values)):
        spaces = [("q", "configuration"), ("v", "velocity"), (name, "velocity"), ("f_ext", "wrenches")]
        given, _ = as_given(model, spaces[: len(values)], values)
        arrays = [each[0] for each in given if each is not None]
        if method != _INVERSELY:
            check_inertias(method, model)
        found, _, fine = law.attempt([*arrays, *fixed])
        if fine.all():
            return put_into(out, *found, apart=apart)
    return seen_from(frame, model, q, out, *whole(*values), apart=apart)


def _law(asked: Asked, method: str, whole: Callable[..., Any], loaded: bool) -> CompiledFunction:
    """The kernel, with the point's offset as the last argument if it has one."""
    from linkwork.compiled.law import law

    model, known = asked.model, asked.model._memo.laws
    key = ("reactions", method, asked.frames, bool(asked.offsets), loaded)
    if key not in known:
        nv, n = model.nv, len(model.bodies)
        shapes: dict[str, tuple[int, ...]] = {"q": (model.nq,), "v": (nv,), "third": (nv,)}
        shapes |= {"f_ext": (n, 6)} if loaded else {}
        shapes |= {"offsets": (3,)} if asked.offsets else {}

        def text(q: Any, offsets: Any = (), **others: Any) -> Any:
            first, wrenches = whole(q, **others)
            (places,) = call.call("frame_placements", model, [q], asked.frames, numbers(offsets).tolist())
            return first, in_frame(places[..., 0, :, :], wrenches, "world")

        known[key] = law("reactions", text, shapes, [(nv,), (n, 6)], model, asked.frames, method, bool(asked.offsets))
    found: CompiledFunction = known[key]
    return found


def is_frame(model: Model, frame: str | Point) -> bool:
    """Whether it is a frame of the model; an error if it is nothing that wrenches are seen from."""
    check_model(model)
    name = frame.frame if isinstance(frame, Point) else frame
    if isinstance(name, str) and (name in FRAMES or name in model.frame_names):
        return isinstance(frame, Point) or name not in FRAMES
    words = ", ".join(map(repr, FRAMES))
    near = suggestion(name, tuple(dict.fromkeys((*FRAMES, *model.frame_names))))
    raise ArgumentError(f"frame must be one of {words}, or a frame of model {model.name!r}, not {shown(frame)}{near}")


def seen_from(frame: str | Point, model: Model, q: ArrayLike, out: Any, *found: Array, apart: Mapping[str, Any]) -> Any:
    """What was found, the last of it wrenches about the world's origin, which a frame sees; it is put into ``out``,
    which must not overlap what is to stay ``apart``.
    """
    *others, wrenches = found
    seen = from_frame(model, q, frame, wrenches)
    return (*others, seen) if is_traced(seen) else put_into(out, *others, seen, apart=apart)
