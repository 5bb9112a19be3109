"""How constrained dynamics varies with the state: accelerations and the forces of constraints, differentiated
implicitly.

With s the sizes of the constraints' forces, C their rows over the motions of frames, J the frames' Jacobian, K = C J,
and c(q, v, a) the rates that they hold at zero,

    M a + h = τ + Jᵀ Cᵀ s              c(q, v, a) = 0                  ∂c/∂a = K

    ∂a = ∂a₀ + M⁻¹ Kᵀ ∂s               (K M⁻¹ Kᵀ) ∂s = - ∂c - K ∂a₀

where ∂a₀ is the derivative of forward dynamics under constant forces s, which turn with their frames: ∂a₀/∂q has
M⁻¹ Jᵀ ∂(Cᵀ s)/∂q beside the derivative that ``algorithms`` finds. What constraints see of their frames, places and
motions, is differentiated by its trace; how places and motions vary with q and v is known by recursion.

One text, over arrays: traced, it is one kernel for a model of few joints; over floats it joins kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.batches import all_converted, put_into
from linkwork.compiled.arrays import TracedArray, is_traced
from linkwork.compiled.tracing import Shape
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.constraint_solvers import JoinedSolver, Solver, TracedSolver
from linkwork.dynamics.constraint_variations import seen, unit_wrenches, variations
from linkwork.dynamics.coupled_joints import Couplings, as_couplings, coupled_sizes
from linkwork.dynamics.derivatives import (
    forward_dynamics_derivatives,
    frame_acceleration_derivatives,
    frame_velocity_derivatives,
)
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, conditions, held_by, loads_of, one_by_one
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity, jacobian, neutral
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.engine.mode import current_form
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

MOST_WHOLE = 9
"""Degrees of freedom up to which one kernel is made: its time of compilation grows faster than their square."""

MOST_JOINED = 70
"""Bodies times pairs of frames up to which what constraints do is one kernel: two feet of a humanoid, 25,000
instructions; four frames would be more than twice as many.
"""

Responses = Callable[[Any, Any], tuple[Any, Any, Any, Any]]
"""(forces (..., nv), wrenches on bodies) -> a, da_dq, da_dv and M⁻¹ of the tree under them."""


class ConstrainedDerivatives(NamedTuple):
    """The derivatives of ``lw.constrained_dynamics``, in the tangent space.

    Attributes:
        da_dq, da_dv, da_dtau: (..., nv, nv), of the accelerations.
        dw_dq, dw_dv, dw_dtau: (..., k, 6, nv), of the wrenches on frame a of each constraint, in its own axes.
    """

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    dw_dq: Array
    dw_dv: Array
    dw_dtau: Array


@call.routed("q", "v", "tau", "f_ext", choices=("stabilisation",), objects=("constraints",))
def constrained_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint] | Constraint,
    f_ext: ArrayLike | None = None,
    stabilisation: float | None = None,
    *,
    out: tuple[Array, Array, Array, Array, Array, Array] | None = None,
) -> ConstrainedDerivatives:
    """The derivatives of ``lw.constrained_dynamics`` with respect to q, v and tau.

    Args:
        model: the mechanism, a tree.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        constraints: k of those that ``lw.constrained_dynamics`` takes; none of them may be redundant.
        f_ext: external force (N) and moment (N m) on each body, in the body's own frame, with which it turns (...,
            nbodies, 6); none if left out.
        stabilisation: the time (s) in which errors die out, which is differentiated too; none if left out.
        out: a tuple of six arrays for the results, written in place and returned; new ones if left out.

    Returns:
        ``ConstrainedDerivatives``: da_dq, da_dv and da_dtau (..., nv, nv), then dw_dq, dw_dv and dw_dtau (..., k, 6,
        nv), a column for each degree of freedom.

    Raises:
        SingularError: if constraints are redundant; it names them and the rank.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> gears = lw.Coupling(*reversed(arm.joint_names), ratio=2.0)
        >>> found = lw.constrained_dynamics_derivatives(arm, [0.1, 0.2], [0.0, 0.0], [1.0, 0.0], [gears])
        >>> bool(abs(found.da_dtau[1] - 2.0 * found.da_dtau[0]).max() < 1e-12)
        True
    """
    held = held_by(model, constraints)
    settings = held.settings(stabilisation, 0.0)
    if _is_whole(held):
        kernel = _kernel(held, f_ext is not None, stabilisation is not None)
        values, fixed = (q, v, tau) if f_ext is None else (q, v, tau, f_ext), (held.placements, settings)
        answer = kernel.quick(out, *values, *fixed)
        if answer is not None:
            arguments, table = (*(None for _ in values), *fixed), model._memo.quick
            call.keep_route(
                constrained_dynamics_derivatives, table, values, (stabilisation, constraints), kernel.holder, arguments,
                call.tuples(ConstrainedDerivatives), *held.constraints,
            )  # fmt: skip
            return ConstrainedDerivatives(*answer)
        answer = kernel.converted(out, *values, *fixed)
        if answer is not None:
            return ConstrainedDerivatives(*answer)
    elif _is_joined(held):
        given = [q, v, tau, f_ext]
        found = _joined_quickly(held, given, settings, stabilisation is not None)
        if found is None:
            found = _joined_quickly(held, all_converted(given, out), settings, stabilisation is not None)
        if found is not None:
            apart = {"q": q, "v": v, "tau": tau, "f_ext": f_ext}
            return found if out is None else ConstrainedDerivatives(*put_into(out, *found, apart=apart))
    return ConstrainedDerivatives(*_checked(held, q, v, tau, f_ext, settings, stabilisation is not None, out))


def _checked(
    held: HeldBy, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None, settings: Array,
    stabilised: bool, out: Any,
) -> Sequence[Array]:  # fmt: skip
    """The same for any arguments: by the kernel, and where it has no result, or there is none, joined."""
    model = held.model
    spaces = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))
    given, batch = as_batch(model, spaces, [q, v, tau, f_ext])
    q_, v_, tau_, f_ext_ = given
    assert q_ is not None and v_ is not None and tau_ is not None
    asked = settings if stabilised else None
    if any(isinstance(each, TracedArray) for each in given):
        return _text(held, q_, v_, tau_, f_ext_, held.placements, asked, TracedSolver(held.name, 0.0))
    found: Sequence[Array]
    if not held.constraints:
        free = forward_dynamics_derivatives(model, q_, v_, tau_, f_ext_)
        found = (*free, *(np.zeros((*batch, 0, 6, model.nv)) for _ in range(3)))
    elif _is_whole(held) and current_form() != "rolled":
        kernel = _kernel(held, f_ext_ is not None, stabilised)
        loads = [] if f_ext_ is None else [f_ext_]
        found, _, fine = kernel.attempt([q_, v_, tau_, *loads, held.placements, settings])
        if not fine.all():  # Python judges the rank
            found = _joined(held, q_, v_, tau_, f_ext_, asked)
    else:
        found = _joined(held, q_, v_, tau_, f_ext_, asked)
    written: tuple[Array, ...] = put_into(out, *found, apart={"q": q, "v": v, "tau": tau, "f_ext": f_ext})
    return written


def _joined(
    held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, settings: Array | None
) -> tuple[Array, ...]:
    if _is_joined(held) and current_form() != "rolled":
        values = [q, v, tau, *([] if f_ext is None else [f_ext]), held.placements, _or_zeros(settings)]
        found, _, fine = _held_kernel(held, f_ext is not None, settings is not None).attempt(values)
        if fine.all():
            return _closed(held, q, v, tau, found)
    solver = JoinedSolver(held.name, 0.0, "constrained_dynamics_derivatives")
    solver.advice = "Leave out what is redundant"
    return _text(held, q, v, tau, f_ext, held.placements, settings, solver)


def _is_joined(held: HeldBy) -> bool:
    """Whether a kernel finds what constraints do, and how that varies, beside the derivatives of a larger tree."""
    size = len(held.model.bodies) * len(held.a)
    return held.whole and held.couplings is None and not _is_whole(held) and size <= MOST_JOINED


def _joined_quickly(
    held: HeldBy, given: Sequence[Any], settings: Array, stabilised: bool
) -> ConstrainedDerivatives | None:
    """The same for plain arrays, which code checks; None for others, and for states that it leaves."""
    q, v, tau, f_ext = given
    values = (q, v, tau) if f_ext is None else (q, v, tau, f_ext)
    found = _held_kernel(held, f_ext is not None, stabilised).quick(None, *values, held.placements, settings)
    return None if found is None else _closed(held, q, v, tau, found)


def _closed(held: HeldBy, q: Array, v: Array, tau: Array, found: Sequence[Array]) -> ConstrainedDerivatives:
    """From what the kernel has found."""
    loads, *around = found
    nv = held.model.nv
    free = np.empty((3, *loads.shape[:-2], nv, nv))
    forward_dynamics_derivatives(held.model, q, v, tau, loads, out=(free[0], free[1], free[2]))
    solver = JoinedSolver(held.name, 0.0, "constrained_dynamics_derivatives")
    return _with_constraints(held, Around(*around), free, solver)


def _is_whole(held: HeldBy) -> bool:
    return held.model.nv <= MOST_WHOLE and held.compiled


def _kernel(held: HeldBy, loaded: bool, stabilised: bool) -> CompiledFunction:
    """The text as one kernel."""
    model, nv, k = held.model, held.model.nv, len(held.constraints)

    def text(q: Any, v: Any, tau: Any, placements: Any, settings: Any, f_ext: Any = None) -> Any:
        given = settings if stabilised else None
        return _text(held, q, v, tau, f_ext, placements, given, TracedSolver(held.name, 0.0))

    def made() -> CompiledFunction:
        from linkwork.compiled.law import law

        shapes: dict[str, Shape] = {"q": (model.nq,), "v": (nv,), "tau": (nv,)}
        if loaded:
            shapes["f_ext"] = (len(model.bodies), 6)
        shapes |= {"placements": held.placements.shape, "settings": (3,)}
        results = [*[(nv, nv)] * 3, *[(k, 6, nv)] * 3]
        name = "constrained_dynamics_derivatives"
        return law(name, text, shapes, results, model, held.frames, held.kinds, loaded, stabilised)

    return held.kept_law(("derivatives", loaded, stabilised), made)


# The text


@np.errstate(all="ignore")  # what is not finite is said by the solver
def _text(
    held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, placements: Array, settings: Array | None,
    solver: Solver,
) -> tuple[Array, ...]:  # fmt: skip
    model = held.model
    sizes = sizes_of(held, q, v, tau, f_ext, placements, settings, solver)

    def responses(forces: Any, loads: Any) -> tuple[Any, Any, Any, Any]:
        return forward_dynamics(model, q, v, forces, loads), *forward_dynamics_derivatives(model, q, v, forces, loads)

    found = derivatives_of(held, q, v, tau, f_ext, sizes, placements, settings, solver, responses)
    return tuple(found)


def sizes_of(
    held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, placements: Array, settings: Array | None,
    solver: Solver, model: Model | None = None,
) -> Array:  # fmt: skip
    """The sizes (..., r) of the constraints' forces; of a ``model`` with other rotors, if it is given."""
    own = held.model if model is None else model
    couplings = as_couplings(held.model, held.constraints)
    free = forward_dynamics(own, q, v, tau, f_ext)
    if couplings is not None:
        return coupled_sizes(own, couplings, q, v, free, settings, solver)[0]
    ends = held.ends
    places, V = forward_kinematics(own, q, ends), frame_velocity(own, q, v, ends)
    C, rates, _ = seen(held, q, places, V, frame_acceleration(own, q, v, free, ends), placements, settings)
    return solver.solve(C @ operational_inertia_inverse(own, q, ends) @ transposed(C), -rates)


class Pulls(NamedTuple):
    """What constraints do to the tree: joint forces (..., nv), or 0, and wrenches on bodies with the external ones."""

    forces: Any
    loads: Any


def pulls_of(held: HeldBy, q: Array, v: Array, sizes: Array, f_ext: Array | None, placements: Array) -> Pulls:
    """From the sizes of the constraints' forces."""
    couplings = as_couplings(held.model, held.constraints)
    if couplings is not None:
        return Pulls(times(couplings.rows.T, sizes), f_ext)
    places, V = forward_kinematics(held.model, q, held.ends), frame_velocity(held.model, q, v, held.ends)
    C, _, _ = seen(held, q, places, V, None, placements, None)
    return Pulls(0.0, loads_of(held, C, sizes, f_ext))


def derivatives_of(
    held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, sizes: Array, placements: Array,
    settings: Array | None, solver: Solver, responses: Responses,
) -> ConstrainedDerivatives:  # fmt: skip
    """From the sizes of the constraints' forces, and what the tree does under given forces."""
    couplings = as_couplings(held.model, held.constraints)
    if couplings is not None:
        return _of_couplings(held, couplings, q, tau, f_ext, sizes, settings, solver, responses)
    known = _seen(held, q, v, placements, settings)
    a, *free = responses(tau, loads_of(held, known.C, sizes, f_ext))
    return _with_constraints(held, _around(held, q, v, a, sizes, placements, settings, known), free, solver)


def _with_constraints(held: HeldBy, around: Around, free: Any, solver: Solver) -> ConstrainedDerivatives:
    """From the derivatives of the tree under constant forces of the constraints, with respect to q, v and tau: three
    matrices, which are used up.
    """
    nv, k = held.model.nv, len(held.constraints)
    free[0] = free[0] + (free[2] @ transposed(around.J)) @ around.forces_q
    da, ds = _constrained(around.K, free, (around.c_q, around.c_v, None), solver)
    dw = [around.units @ each for each in ds]
    dw[0] = dw[0] + around.wrenches_q
    return ConstrainedDerivatives(*da, *(each.reshape((*each.shape[:-2], k, 6, nv)) for each in dw))


class Around(NamedTuple):
    """What of constraints varies with q and v under given accelerations and forces of given sizes: rows K (..., r, nv)
    over velocities; the Jacobian of the frames that move (..., 6m, nv), and how the forces on these vary with q; how
    what is held at zero varies with q and with v, (..., r, nv); what takes sizes to wrenches (..., 6k, r), and how
    wrenches vary with q besides (..., 6k, nv).
    """

    K: Any
    J: Any
    forces_q: Any
    c_q: Any
    c_v: Any
    units: Any
    wrenches_q: Any


class _Seen(NamedTuple):
    """Where the constraints' frames are, how they move, and the rows over their motions, together and of each."""

    places: Any
    V: Any
    C: Any
    rows: Any


def _seen(held: HeldBy, q: Any, v: Any, placements: Any, settings: Any) -> _Seen:
    places, V = forward_kinematics(held.model, q, held.ends), frame_velocity(held.model, q, v, held.ends)
    C, _, rows = seen(held, q, places, V, None, placements, settings)
    return _Seen(places, V, C, rows)


def _around(held: HeldBy, q: Any, v: Any, a: Any, sizes: Any, placements: Any, settings: Any, known: _Seen) -> Around:
    model, ends = held.model, held.ends
    places, V, C, rows = known
    J = jacobian(model, q, ends)
    moving = [6 * end + row for end, body in enumerate(held.bodies) if body for row in range(6)]
    Jm = J[..., moving, :]
    V_q, _ = frame_velocity_derivatives(model, q, v, ends)
    A_q, A_v, _ = frame_acceleration_derivatives(model, q, v, a, ends)
    A = frame_acceleration(model, q, v, a, ends)
    change = variations(held, q, places, V, A, placements, settings, sizes)
    c_q = change.rates_places @ Jm + change.rates_motions @ V_q[..., moving, :] + C @ A_q + change.rates_q
    c_v = change.rates_motions @ Jm + C @ A_v
    forces_q = (change.forces_places @ Jm)[..., moving, :]
    return Around(C @ J, Jm, forces_q, c_q, c_v, unit_wrenches(held, rows), change.wrenches_places @ Jm)


def _held_kernel(held: HeldBy, loaded: bool, stabilised: bool) -> CompiledFunction:
    """A kernel for the wrenches on bodies, and all that is around constraints under them."""
    model, nv, k = held.model, held.model.nv, len(held.constraints)

    def text(q: Any, v: Any, tau: Any, placements: Any, settings: Any, f_ext: Any = None) -> Any:
        given = settings if stabilised else None
        sizes = sizes_of(held, q, v, tau, f_ext, placements, given, TracedSolver(held.name, 0.0))
        known = _seen(held, q, v, placements, given)
        loads = loads_of(held, known.C, sizes, f_ext)
        a = forward_dynamics(model, q, v, tau, loads)
        return loads, *_around(held, q, v, a, sizes, placements, given, known)

    def made() -> CompiledFunction:
        from linkwork.compiled.law import law

        r, moving = _size(held), 6 * sum(map(bool, held.bodies))
        shapes: dict[str, Shape] = {"q": (model.nq,), "v": (nv,), "tau": (nv,)}
        if loaded:
            shapes["f_ext"] = (len(model.bodies), 6)
        shapes |= {"placements": held.placements.shape, "settings": (3,)}
        around = [(r, nv), (moving, nv), (moving, nv), (r, nv), (r, nv), (6 * k, r), (6 * k, nv)]
        results = [(len(model.bodies), 6), *around]
        return law("around_constraints", text, shapes, results, model, held.frames, held.kinds, loaded, stabilised)

    return held.kept_law(("around", loaded, stabilised), made)


def _or_zeros(settings: Array | None) -> Array:
    return np.zeros(3) if settings is None else settings


def _size(held: HeldBy) -> int:
    """How many motions the constraints hold."""
    places, still = np.stack([np.eye(4)] * len(held.ends)), np.zeros((len(held.ends), 6))
    found = one_by_one(held, conditions(held, neutral(held.model), places, still, None, held.placements, None))
    return sum(rates.shape[-1] for rates in found[1])


def _constrained(
    K: Array, free: Any, asked: Sequence[Array | None], solver: Solver
) -> tuple[Sequence[Array], Sequence[Array]]:
    """Derivatives of accelerations and of the sizes of forces, from those of the tree under constant forces and of what
    the constraints ask for, each with respect to q, v and tau.
    """
    answers = free[2] @ transposed(K)
    nv = K.shape[-1]
    if is_traced(answers):
        right = [-(K @ x) if c is None else -c - K @ x for x, c in zip(free, asked, strict=True)]
        all_sizes = solver.columns(K @ answers, np.concatenate(right, axis=-1))
        ds = [all_sizes[..., k * nv : (k + 1) * nv] for k in range(len(free))]
        return [x + answers @ own for x, own in zip(free, ds, strict=True)], ds
    every = free if isinstance(free, np.ndarray) else np.stack(free)
    rates = K @ every
    for own, c in zip(rates, asked, strict=True):
        if c is not None:
            own += c
    sizes = solver.columns(K @ answers, -rates)
    every += answers @ sizes
    return list(every), list(sizes)


def _of_couplings(
    held: HeldBy, couplings: Couplings, q: Array, tau: Array, f_ext: Array | None, sizes: Array,
    settings: Array | None, solver: Solver, responses: Responses,
) -> ConstrainedDerivatives:  # fmt: skip
    """The same for joints that move together, whose rows over velocities are constant."""
    K = couplings.rows
    _, a_q, a_v, mobility = responses(tau + times(K.T, sizes), f_ext)
    asked: list[Any] = [None, None, None]
    if settings is not None:
        asked = [settings[1] * K, settings[0] * K, None]  # joints of one number each: q moves as v does
    da, ds = _constrained(K, [a_q, a_v, mobility], asked, solver)
    return ConstrainedDerivatives(*da, *(each[..., None, :] * couplings.wrenches[..., None] for each in ds))
