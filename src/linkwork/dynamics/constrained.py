"""Dynamics with loop closures and bilateral contacts.

"articulated_body": the constraint forces solve (C Λ⁻¹ Cᵀ) λ = - C A_free - ..., with the Λ⁻¹ of all constrained frames:
Yamane and Nakamura's Eq. 7 for the loops alone, the tree being eliminated by articulated bodies. O(n + m²)
for Λ⁻¹, O(m³) for the solution, and O(n) for the accelerations. "virtual_work": loop closures are joints like any other
(``algorithms.closed_chains``), O(n) if few loops are open at a time.

Each method is written once, over arrays. Traced, it compiles to one kernel for a model and its constraints; on floats
it combines several kernels, for mechanisms of many bodies. Virtual work gives no result for states in which the
constraints may be redundant; these are computed by articulated bodies on floats, which determine the rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import CLOSING, FRAMES
from linkwork.arguments import choice, old_name
from linkwork.batches import put_into
from linkwork.compiled.arrays import TracedArray
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.closed_chains import joined_motion
from linkwork.dynamics.constraint_solvers import JoinedSolver, Solver, TracedSolver
from linkwork.dynamics.coupled_joints import coupled_motion
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, conditions, held_by, loads_of, one_by_one, over_ends, wrenches_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity
from linkwork.dynamics.light_bodies import check_inertias
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.dynamics.reactions import forward_dynamics_and_reactions, is_frame, seen_from
from linkwork.errors import ArgumentError, SingularError
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model, Point
from linkwork.spatial.small_matrices import transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

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
    return _found((method, None), held_by(model, constraints), q, v, tau, f_ext, stabilisation, proximal, out)


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
        return _found((method, frame), held, q, v, tau, f_ext, stabilisation, proximal, out)
    is_frame(model, frame)
    found = _found((method, "world"), held, q, v, tau, f_ext, stabilisation, proximal, None)
    return seen_from(frame, model, q, out, *found, apart={"q": q, "v": v, "tau": tau, "f_ext": f_ext})


Way = tuple[str, str | None]
"""A method, and the frame in which reactions are expressed, or None for no reactions."""


def _found(
    way: Way, held: HeldBy, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None,
    stabilisation: float | None, proximal: float, out: Any,
) -> Any:  # fmt: skip
    """The results."""
    if not isinstance(way[0], str) or way[0] not in METHODS:
        choice("method", way[0], METHODS)
    values = (q, v, tau) if f_ext is None else (q, v, tau, f_ext)
    choices = (way[0], way[1], f_ext is None, stabilisation, type(stabilisation), proximal, type(proximal))
    answer = call.recall(held.quick, choices, out, *values)
    if answer is not None:
        return answer
    settings = held.settings(stabilisation, proximal)
    law = held.laws.get((way, f_ext is not None, stabilisation is not None, bool(settings[2])))
    if law is not None:
        answer = call.serve_by(law, held.quick, choices, (held.placements, settings), out, *values)
        if answer is not None:
            return answer
    return _checked(way, held, q, v, tau, f_ext, stabilisation, settings, out)


def _checked(
    way: Way, held: HeldBy, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None,
    stabilisation: float | None, settings: Array, out: Any,
) -> Any:  # fmt: skip
    """The results for any valid arguments: by the kernel if there is one, and on floats for states without a result."""
    model = held.model
    spaces = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))
    given, batch = as_batch(model, spaces, [q, v, tau, f_ext])
    q_, v_, tau_, f_ext_ = given
    assert q_ is not None and v_ is not None and tau_ is not None
    stabilised = settings if stabilisation is not None else None
    apart = {"q": q, "v": v, "tau": tau, "f_ext": f_ext}
    if way[0] in CLOSING:
        check_inertias(way[0], model, 5)
    if any(isinstance(each, TracedArray) for each in given):
        tracing = TracedSolver(held.name, float(settings[2]))
        return _text(way)(held, q_, v_, tau_, f_ext_, held.placements, stabilised, tracing, way[1])
    if not held.constraints:
        free = _driven(model, q_, v_, tau_, f_ext_, way[1])
        return put_into(out, free[0], np.zeros((*batch, 0, 6)), *free[1:], apart=apart)
    law = _law(way, held, f_ext is not None, stabilisation is not None, bool(settings[2]))
    if law is None:
        return put_into(out, *_joined(way, held, q_, v_, tau_, f_ext_, stabilised, settings[2]), apart=apart)
    values = [q_, v_, tau_, *([] if f_ext_ is None else [f_ext_]), held.placements, settings]
    found, _, fine = law.attempt(values)
    for state in np.flatnonzero(~fine):
        where = tuple(int(i) for i in np.unravel_index(state, batch)) if batch else ()
        load = None if f_ext_ is None else f_ext_[where]
        solver = JoinedSolver(held.name, settings[2])
        alone = _motion(held, q_[where], v_[where], tau_[where], load, held.placements, stabilised, solver, way[1])
        for array, result in zip(found, alone, strict=True):
            array[where] = result
    return put_into(out, *found, apart=apart)


def _joined(
    way: Way, held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, settings: Array | None, proximal: Any
) -> tuple[Array, ...]:
    """The results on floats; by articulated bodies for states without a result by virtual work."""
    solver = JoinedSolver(held.name, proximal)
    if way[0] in CLOSING:
        try:
            return _text(way)(held, q, v, tau, f_ext, held.placements, settings, solver, way[1])
        except SingularError:
            pass
    return _motion(held, q, v, tau, f_ext, held.placements, settings, solver, way[1])


# The algorithm, over arrays


def _text(way: Way) -> Any:
    return partial(joined_motion, method=way[0]) if way[0] in CLOSING else _motion


@np.errstate(all="ignore")  # the solver reports non-finite numbers
def _motion(
    held: HeldBy,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None,
    placements: Array,
    settings: Array | None,
    solver: Solver,
    frame: str | None = None,
) -> tuple[Array, ...]:
    """Accelerations, constraint wrenches, and reactions if a ``frame`` for them is given. ``placements`` are the
    placements of a relative to b that the constraints hold; the first two ``settings`` are the Baumgarte gains.
    """
    model, ends = held.model, held.ends
    if held.couplings is not None and frame is None:
        return coupled_motion(model, held.couplings, q, v, tau, f_ext, settings, solver)
    free = forward_dynamics(model, q, v, tau, f_ext)
    places = forward_kinematics(model, q, ends)
    V, A = frame_velocity(model, q, v, ends), frame_acceleration(model, q, v, free, ends)
    rows, rates = one_by_one(held, conditions(held, q, places, V, A, placements, settings))
    C = np.concatenate([over_ends(held, own) for own in rows], axis=-2)
    wanted = -np.concatenate(rates, axis=-1)
    sizes = solver.solve(C @ operational_inertia_inverse(model, q, ends) @ transposed(C), wanted)
    a, *reactions = _driven(model, q, v, tau, loads_of(held, C, sizes, f_ext), frame)
    return a, wrenches_of(held, rows, sizes), *reactions


def _driven(model: Model, q: Array, v: Array, tau: Array, f_ext: Array | None, frame: str | None) -> tuple[Array, ...]:
    """Accelerations of the tree, and reactions if a ``frame`` for them is given."""
    if frame is None:
        return (forward_dynamics(model, q, v, tau, f_ext),)
    return forward_dynamics_and_reactions(model, q, v, tau, f_ext, frame=frame)


def _law(way: Way, held: HeldBy, loaded: bool, stabilised: bool, damped: bool) -> CompiledFunction | None:
    """The kernel, with or without external forces, stabilisation, and proximal damping, if there is one."""
    return held.short_law((way, loaded, stabilised, damped), lambda: _made(way, held, loaded, stabilised, damped))


def _made(way: Way, held: HeldBy, loaded: bool, stabilised: bool, damped: bool) -> CompiledFunction:
    from linkwork.compiled.law import law

    def text(q: Any, v: Any, tau: Any, placements: Any, settings: Any, f_ext: Any = None) -> Any:
        solver = TracedSolver(held.name, settings[2].item() if damped else 0.0)
        given = settings if stabilised else None
        return _text(way)(held, q, v, tau, f_ext, placements, given, solver, way[1])

    model = held.model
    shapes: dict[str, tuple[int, ...]] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
    if loaded:
        shapes["f_ext"] = (len(model.bodies), 6)
    shapes |= {"placements": held.placements.shape, "settings": (3,)}
    results = [(model.nv,), (len(held.constraints), 6), *([] if way[1] is None else [(len(model.bodies), 6)])]
    what = (held.kinds, loaded, stabilised, damped)
    return law("constrained_dynamics", text, shapes, results, model, held.frames, what, way, optional=True)
