"""Forward and inverse dynamics together with the wrenches that the joints transmit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from linkwork.algorithms import FRAMES
from linkwork.arguments import choice
from linkwork.batches import put_into
from linkwork.compiled.arrays import is_traced
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, PointSet, as_frames, as_given, check_model
from linkwork.dynamics.light_bodies import check_inertias
from linkwork.dynamics.loads import from_frame, in_frame
from linkwork.engine.plans import looped
from linkwork.errors import ArgumentError, shown, suggestion
from linkwork.model.model import Model, Point

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

METHODS = ("articulated_body", "virtual_work")
_FORWARD = {method: {frame: f"{method}_reactions/{frame}" for frame in FRAMES} for method in METHODS}
_INVERSE = {frame: f"inverse_dynamics_reactions/{frame}" for frame in FRAMES}


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
    """Forward dynamics, and the wrench that every joint transmits to the body it carries.

    A joint's wrench is the sum of its constraint force and its joint force. Together with gravity, f_ext and the
    reversed wrenches of its children's joints it is the total force on the body. All six components of a fixed joint's
    wrench are constraint force; a free joint transmits tau alone. With an armature r, the body feels tau - r a along
    the joint's motion subspace.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        method: "articulated_body" (the faster one), or "virtual_work", whose unknowns are these wrenches. Virtual work
            is more accurate where a light body floats at the root, and less accurate where a body is far lighter than
            its neighbours, in which case it warns; every body needs an inertia.
        frame: the frame in which the wrenches are expressed: "child" (the frame of the body that the joint carries,
            which is also the joint's own), "parent" (the frame of the body that carries the joint), "world", the name
            of any frame, or an ``lw.Point``. Moments are about the origin of that frame.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        a (..., nv), rad/s² or m/s², and wrenches (..., njoints, 6), force (N) then moment (N m), in the order of
        ``model.joint_names``.

    Raises:
        SingularError: if a joint can move without moving any inertia, or, for virtual work, if a body has no inertia;
            the error names it.

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
    choice("method", method, METHODS)
    if not (isinstance(frame, str) and frame in FRAMES):
        return _seen(model, q, v, tau, f_ext, method, frame, out=out)
    name = _FORWARD[method][frame]
    answer: tuple[Array, Array] | None = call.served(name, model, out, q, v, tau, f_ext)
    if answer is not None:
        return answer
    check_inertias(method, model)
    return call.every(name, model, out, q, v, tau, f_ext)


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
    """Inverse dynamics, and the wrench that every joint transmits to the body it carries.

    The wrenches are those of ``forward_dynamics_and_reactions`` for the same motion: constraint force plus joint force.
    At rest they are the loads that a bearing, or a force sensor in a wrist, carries from the bodies beyond it.

    Args:
        model: the mechanism.
        q: configuration (..., nq).
        v: velocity (..., nv).
        a: acceleration (..., nv).
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6), as
            ``lw.external_wrench`` returns it; zero if left out.
        frame: the frame in which the wrenches are expressed: "child" (the frame of the body that the joint carries,
            which is also the joint's own), "parent" (the frame of the body that carries the joint), "world", the name
            of any frame, or an ``lw.Point``. Moments are about the origin of that frame.
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


def _seen(
    model: Model, q: ArrayLike, v: ArrayLike, third: ArrayLike, f_ext: ArrayLike | None, method: str,
    frame: str | Point, *, out: tuple[Array, Array] | None,
) -> tuple[Array, Array]:  # fmt: skip
    """The results with wrenches expressed in a frame of the model or at a point, by one kernel for few bodies.
    ``third`` is tau for a method of forward dynamics, a for inverse dynamics.
    """
    if not (type(model) is Model and type(frame) in (str, Point) and frame in model._memo.frames):
        is_frame(model, frame)
    point_set = as_frames(model, frame)
    values = (q, v, third) if f_ext is None else (q, v, third, f_ext)
    choices = "reactions", method, f_ext is None
    answer: tuple[Array, Array] | None = call.recall(point_set.quick, choices, out, *values)
    if answer is not None:
        return answer
    apart = dict(zip(("q", "v", "a" if method == _INVERSELY else "tau", "f_ext"), values, strict=False))
    if not looped(model):
        law = _law(point_set, method, f_ext is not None)
        answer = call.serve_by(law, point_set.quick, choices, point_set.fixed, out, *values)
        if answer is None and not any(map(is_traced, values)):
            answer = _by_kernel(law, model, method, apart, point_set.fixed, out)
        if answer is not None:
            return answer
    return seen_from(frame, model, q, out, *_in_the_world(model, method, *values), apart=apart)


def _by_kernel(
    law: CompiledFunction, model: Model, method: str, values: Mapping[str, Any], fixed: tuple[Array, ...], out: Any
) -> tuple[Array, Array] | None:
    """The results for any valid arguments; None if a state has none."""
    spaces = {"q": "configuration", "f_ext": "wrenches"}
    arrays, _ = as_given(model, [(name, spaces.get(name, "velocity")) for name in values], list(values.values()))
    if method != _INVERSELY:
        check_inertias(method, model)
    results, _, fine = law.attempt([*(each[0] for each in arrays if each is not None), *fixed])
    return put_into(out, *results, apart=values) if fine.all() else None


def _in_the_world(model: Model, method: str, q: Any, v: Any, third: Any, f_ext: Any = None) -> tuple[Array, Array]:
    """The results with wrenches expressed in the world."""
    if method == _INVERSELY:
        return inverse_dynamics_and_reactions(model, q, v, third, f_ext, "world")
    return forward_dynamics_and_reactions(model, q, v, third, f_ext, method, "world")


def _law(point_set: PointSet, method: str, loaded: bool) -> CompiledFunction:
    model, nv, n = point_set.model, point_set.model.nv, len(point_set.model.bodies)
    shapes = {"q": (model.nq,), "v": (nv,), "third": (nv,), **({"f_ext": (n, 6)} if loaded else {})}

    def text(offsets: Sequence[Any], q: Any, **others: Any) -> Any:
        first, wrenches = _in_the_world(model, method, q, **others)
        (places,) = call.call("frame_placements", model, [q], point_set.frames, offsets)
        return first, in_frame(places[..., 0, :, :], wrenches, "world")

    return call.kernel_at(point_set, "reactions", text, shapes, [(nv,), (n, 6)], method, loaded)


def is_frame(model: Model, frame: str | Point) -> bool:
    """Whether ``frame`` is a frame of the model rather than "child", "parent" or "world"; an error if it is neither."""
    check_model(model)
    name = frame.frame if isinstance(frame, Point) else frame
    if isinstance(name, str) and (name in FRAMES or name in model.frame_names):
        return isinstance(frame, Point) or name not in FRAMES
    words = ", ".join(map(repr, FRAMES))
    near = suggestion(name, tuple(dict.fromkeys((*FRAMES, *model.frame_names))))
    raise ArgumentError(f"frame must be one of {words}, or a frame of model {model.name!r}, not {shown(frame)}{near}")


def seen_from(
    frame: str | Point, model: Model, q: ArrayLike, out: Any, *results: Array, apart: Mapping[str, Any]
) -> Any:
    """``results`` with its last array, wrenches about the world's origin, expressed in a frame. They are written
    to ``out``, which must not overlap the arrays in ``apart``.
    """
    *others, wrenches = results
    seen = from_frame(model, q, frame, wrenches)
    return (*others, seen) if is_traced(seen) else put_into(out, *others, seen, apart=apart)
