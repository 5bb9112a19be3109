"""Accelerations together with what the joints transmit."""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.algorithms import FRAMES
from linkwork.arguments import choice
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, check_model
from linkwork.dynamics.light_bodies import check_inertias
from linkwork.model.model import Model

METHODS = ("articulated_body", "virtual_work")
_NAMES = {(method, frame): f"{method}_reactions/{frame}" for method in METHODS for frame in FRAMES}


def forward_dynamics_and_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    method: str = "articulated_body",
    frame: str = "child",
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
        frame: "child" (the frame of the body that the joint carries, which is also the joint's own), "parent" (the
            frame of the body that carries the joint) or "world". Moments are about the origin of that frame.
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
    named = isinstance(method, str) and isinstance(frame, str) and _NAMES.get((method, frame))
    name = named or f"{choice('method', method, METHODS)}_reactions/{choice('frame', frame, FRAMES)}"
    answer: tuple[Array, Array] | None = call.tried(name, model, out, q, v, tau, f_ext)
    if answer is None:
        check_model(model)
        check_inertias(method, model)
        answer = call.every(name, model, out, q, v, tau, f_ext)
    return answer
