"""Dynamics with loop closures and bilateral contacts.

"articulated_body": the constraint forces solve (C Λ⁻¹ Cᵀ) λ = - C A_free - ..., with the Λ⁻¹ of all constrained frames:
Yamane and Nakamura's Eq. 7 for the loops alone, the tree being eliminated by articulated bodies. O(n + m²)
for Λ⁻¹, O(m³) for the solution, and O(n) for the accelerations. "virtual_work": loop closures are joints like any other
(``algorithms.closed_chains``), O(n) if few loops are open at a time.

Each method is written once, over arrays (``constrained_call``). Virtual work gives no result for states in which the
constraints may be redundant; these are computed by articulated bodies on floats, which determine the rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import CLOSING, FRAMES
from linkwork.arguments import choice, old_name
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.closed_chains import joined_motion
from linkwork.dynamics.constrained_call import ConstrainedFunction, Shape
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.coupled_joints import coupled_motion
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, held_by, loads_of, wrenches_of
from linkwork.dynamics.light_bodies import check_inertias
from linkwork.dynamics.reactions import forward_dynamics_and_reactions, is_frame, seen_from
from linkwork.errors import ArgumentError, SingularError
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model, Point

METHODS = ("articulated_body", *CLOSING)


def constrained_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint] | Constraint,
    f_ext: ArrayLike | None = None,
    stabilisation: float | None = None,
    proximal: float = 0.0,
    method: str = "articulated_body",
    *,
    out: tuple[Array, Array] | None = None,
    time_constant: float | None = None,
) -> tuple[Array, Array]:
    """Forward dynamics with loop closures and bilateral contacts: accelerations and constraint forces.

    Contacts are bilateral here: they pull as well as push. ``lw.contact_dynamics`` has unilateral contacts.

    Args:
        model: the mechanism, a tree.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        constraints: k of ``lw.Weld``, ``lw.Ball``, ``lw.Hinge``, ``lw.PointOnPlane``, ``lw.Coupling``, ``lw.Rolling``;
            a single one stands for a list of one.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        stabilisation: time constant (s) of Baumgarte stabilisation: position and velocity errors of the constraints
            decay in this time, critically damped. It should be several integration steps. No stabilisation if left out.
        proximal: damping of the constraint forces, for redundant constraints, relative to the mean diagonal of the
            constraint matrix; iteration removes its effect again. 1e-6 is a good value. The result is the
            minimum-norm forces, or the least-squares ones where constraints contradict each other.
        method: "articulated_body" (the tree by articulated bodies, then all constraints together, O(n + k³); the faster
            one for a few constraints), "virtual_work" (every loop is closed as soon as the bodies it constrains have
            been joined, O(n) for any number of loops if few are open at a time, and for any number of contacts with the
            world; every body needs an inertia), or "assembly" (the same, with sub-chains joined pairwise, O(log n)
            steps on enough processors; beyond 50 bodies it is interpreted, which is slow, if loops are many and of
            different shape). All give the same result. A state whose constraints are nearly redundant is always
            computed by articulated bodies.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.
        time_constant: the old name of ``stabilisation``.

    Returns:
        a (..., nv), rad/s² or m/s², and wrenches (..., k, 6): the force (N) and moment (N m) on frame a of each
        constraint, in the frame's own axes; the opposite acts on frame b.

    Raises:
        SingularError: if constraints are redundant and ``proximal`` is 0; the error names them and the rank.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("box", joint=lw.joints.Free(), mass=2.0, inertia=(1, 1, 1))
        >>> box = builder.build()
        >>> a, wrenches = lw.constrained_dynamics(box, lw.neutral(box), [0.0] * 6, [0.0] * 6, [lw.Weld("box")])
        >>> a.round(12) + 0.0, wrenches.round(12) + 0.0
        (array([0., 0., 0., 0., 0., 0.]), array([[ 0.,  0., 20.,  0.,  0.,  0.]]))
    """
    if time_constant is not None:
        if stabilisation is not None:
            raise ArgumentError("time_constant is called stabilisation now; pass the new name alone")
        old_name("time_constant", "stabilisation")
        stabilisation = time_constant
    return _results((method, None), held_by(model, constraints), q, v, tau, f_ext, stabilisation, proximal, out)


def constrained_dynamics_and_reactions(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint] | Constraint,
    f_ext: ArrayLike | None = None,
    stabilisation: float | None = None,
    proximal: float = 0.0,
    method: str = "articulated_body",
    frame: str | Point = "child",
    *,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """Forward dynamics with loop closures and bilateral contacts: accelerations, constraint forces, and the wrench that
    every joint transmits.

    Args:
        model: the mechanism, a tree.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        constraints: k constraints, as in ``lw.constrained_dynamics``.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame (..., nbodies, 6); zero if
            left out.
        stabilisation: time constant (s) of Baumgarte stabilisation; none if left out. See ``lw.constrained_dynamics``.
        proximal: damping for redundant constraints. See ``lw.constrained_dynamics``.
        method: "articulated_body", or "virtual_work" and "assembly", whose unknowns are all these wrenches. See
            ``lw.constrained_dynamics``.
        frame: the frame in which the joints' wrenches are expressed: "child", "parent", "world", the name of any frame
            or an ``lw.Point``, as in ``lw.forward_dynamics_and_reactions``.
        out: a tuple of arrays for the results, written in place and returned; new ones if left out.

    Returns:
        a (..., nv), rad/s² or m/s²; wrenches (..., k, 6) on frame a of each constraint, in the frame's own axes; and
        reactions (..., njoints, 6), the wrench that each joint transmits to the body it carries. A wrench is force (N)
        then moment (N m).

    Raises:
        SingularError: if constraints are redundant and ``proximal`` is 0; the error names them and the rank.

    Example:
        >>> import linkwork as lw
        >>> builder = lw.Builder(gravity=(0, 0, -10))
        >>> _ = builder.add_body("bar", joint=lw.joints.Revolute("y"), mass=2.0, com=(0.5, 0, 0), inertia=(1, 1, 1))
        >>> _ = builder.add_frame("end", "bar", lw.placement((1, 0, 0)))
        >>> lies = lw.PointOnPlane("end", placement=lw.placement((1, 0, 0)))
        >>> found = lw.constrained_dynamics_and_reactions(builder.build(), [0.0], [0.0], [0.0], [lies])
        >>> [x.round(9).tolist() for x in found[1:]]  # each end of the bar carries half of it
        [[[0.0, 0.0, 10.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 10.0, 0.0, 0.0, 0.0]]]
    """
    held = held_by(model, constraints)
    if isinstance(frame, str) and frame in FRAMES:
        return _results((method, frame), held, q, v, tau, f_ext, stabilisation, proximal, out)
    is_frame(model, frame)
    found = _results((method, "world"), held, q, v, tau, f_ext, stabilisation, proximal, None)
    return seen_from(frame, model, q, out, *found, apart={"q": q, "v": v, "tau": tau, "f_ext": f_ext})


Way = tuple[str, str | None]
"""A method, and the frame in which reactions are expressed, or None for no reactions."""


def _results(
    way: Way, held: HeldBy, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None,
    stabilisation: float | None, proximal: float, out: Any,
) -> Any:  # fmt: skip
    """The results."""
    if not isinstance(way[0], str) or way[0] not in METHODS:
        choice("method", way[0], METHODS)
    values = (q, v, tau) if f_ext is None else (q, v, tau, f_ext)
    return _DYNAMICS(held, way, values, out, stabilisation, proximal)


class _Dynamics(ConstrainedFunction):
    """Accelerations, constraint wrenches, and reactions if the way has a frame for them."""

    name = "constrained_dynamics"
    arguments = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))

    def shapes(self, held: HeldBy, choices: Way) -> list[Shape]:
        nv, n = held.model.nv, len(held.model.bodies)
        return [(nv,), (len(held.constraints), 6), *([] if choices[1] is None else [(n, 6)])]

    def check(self, held: HeldBy, choices: Way) -> None:
        if choices[0] in CLOSING:
            check_inertias(choices[0], held.model, 6)

    def text(self, state: ConstrainedState, choices: Way) -> tuple[Array, ...]:
        method, frame = choices
        return joined_motion(state, frame, method) if method in CLOSING else _motion(state, frame)

    def joined(self, state: ConstrainedState, choices: Way) -> tuple[Array, ...]:
        """By articulated bodies for states without a result by virtual work."""
        try:
            return self.text(state, choices)
        except SingularError:
            if choices[0] not in CLOSING:
                raise
        return _motion(state, choices[1])

    def free(self, state: ConstrainedState, choices: Way) -> tuple[Array, ...]:
        a, *reactions = _driven(state, state.f_ext, choices[1])
        return a, np.zeros((*a.shape[:-1], 0, 6)), *reactions


_DYNAMICS = _Dynamics()


# The algorithm, over arrays


def motion(state: ConstrainedState) -> tuple[Array, ...]:
    """Accelerations and constraint wrenches by articulated bodies."""
    return _motion(state, None)


@np.errstate(all="ignore")  # the solver reports non-finite numbers
def _motion(state: ConstrainedState, frame: str | None) -> tuple[Array, ...]:
    """Accelerations, constraint wrenches, and reactions if a ``frame`` for them is given."""
    held, q, v = state.held, state.q, state.v
    if held.couplings is not None and frame is None:
        both = state.tau, state.f_ext, state.settings, state.solver
        return coupled_motion(held.model, held.couplings, q, v, *both)
    sizes, known = state.solution(held.model)
    a, *reactions = _driven(state, loads_of(held, known.C, sizes, state.f_ext), frame)
    return a, wrenches_of(held, known.rows, sizes), *reactions


def _driven(state: ConstrainedState, f_ext: Array | None, frame: str | None) -> tuple[Array, ...]:
    """Accelerations of the tree, and reactions if a ``frame`` for them is given."""
    model, q, v, tau = state.held.model, state.q, state.v, state.tau
    if frame is None:
        return (forward_dynamics(model, q, v, tau, f_ext),)
    return forward_dynamics_and_reactions(model, q, v, tau, f_ext, frame=frame)
