"""Derivatives of constrained dynamics: accelerations and constraint forces, by implicit differentiation.

With s the magnitudes of the constraint forces, C the constraint rows over the motions of frames, J the frames'
Jacobian, K = C J the constraint Jacobian, and c(q, v, a) the rates that the constraints hold at zero,

    M a + h = τ + Jᵀ Cᵀ s              c(q, v, a) = 0                  ∂c/∂a = K

    ∂a = ∂a₀ + M⁻¹ Kᵀ ∂s               (K M⁻¹ Kᵀ) ∂s = - ∂c - K ∂a₀

where ∂a₀ is the derivative of forward dynamics under constant magnitudes s. The forces turn with their frames, so
∂a₀/∂q is the derivative from ``algorithms`` plus M⁻¹ Jᵀ ∂(Cᵀ s)/∂q. The constraints' dependence on the placements and
motions of their frames is differentiated through its trace; the dependence of these on q and v is found by recursion.

The method is written once, over arrays. Traced, it is one kernel for a model of few joints; on floats it combines
several kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.batches import put_into
from linkwork.compiled.arrays import TracedArray
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
from linkwork.dynamics.held import HeldBy, held_by, loads_of
from linkwork.dynamics.kinematics import forward_kinematics, frame_acceleration, frame_velocity, jacobian
from linkwork.dynamics.operational import operational_inertia_inverse
from linkwork.engine.mode import current_form
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.spatial.small_matrices import times, transposed

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

MOST_WHOLE = 9
"""Degrees of freedom up to which one kernel is compiled: compile time grows faster than their square."""

Responses = Callable[[Any, Any], tuple[Any, Any, Any, Any]]
"""(joint forces (..., nv), wrenches on bodies) -> a, da_dq, da_dv and M⁻¹ of the tree under these forces."""


class ConstrainedDerivatives(NamedTuple):
    """The derivatives of ``lw.constrained_dynamics``, in the tangent space.

    Attributes:
        da_dq, da_dv, da_dtau: (..., nv, nv), of the accelerations.
        dw_dq, dw_dv, dw_dtau: (..., k, 6, nv), of the wrenches on frame a of each constraint, in the frame's own axes.
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
        constraints: k constraints, as in ``lw.constrained_dynamics``; they must not be redundant.
        f_ext: external force (N) and moment (N m) on each body, constant in the body's own frame (..., nbodies, 6);
            zero if left out.
        stabilisation: time constant (s) of Baumgarte stabilisation, which is differentiated too; none if left out.
        out: a tuple of six arrays for the results, written in place and returned; new ones if left out.

    Returns:
        ``ConstrainedDerivatives``: da_dq, da_dv and da_dtau (..., nv, nv), then dw_dq, dw_dv and dw_dtau (..., k, 6,
        nv), a column for each degree of freedom.

    Raises:
        SingularError: if constraints are redundant; the error names them and the rank.

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
    return ConstrainedDerivatives(*_checked(held, q, v, tau, f_ext, settings, stabilisation is not None, out))


def _checked(
    held: HeldBy, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None, settings: Array,
    stabilised: bool, out: Any,
) -> Sequence[Array]:  # fmt: skip
    """The derivatives for any valid arguments: by the kernel if there is one, and on floats for other states."""
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
        if not fine.all():  # on floats, the rank is determined
            found = _joined(held, q_, v_, tau_, f_ext_, asked)
    else:
        found = _joined(held, q_, v_, tau_, f_ext_, asked)
    written: tuple[Array, ...] = put_into(out, *found, apart={"q": q, "v": v, "tau": tau, "f_ext": f_ext})
    return written


def _joined(
    held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, settings: Array | None
) -> tuple[Array, ...]:
    solver = JoinedSolver(held.name, 0.0, "constrained_dynamics_derivatives")
    solver.advice = "Leave out what is redundant"
    return _text(held, q, v, tau, f_ext, held.placements, settings, solver)


def _is_whole(held: HeldBy) -> bool:
    return held.model.nv <= MOST_WHOLE and held.compiled


def _kernel(held: HeldBy, loaded: bool, stabilised: bool) -> CompiledFunction:
    """The derivatives as one kernel."""
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


# The algorithm, over arrays


@np.errstate(all="ignore")  # the solver reports non-finite numbers
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
    """The magnitudes (..., r) of the constraint forces; for a ``model`` with other rotor inertias, if it is given."""
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
    """The load of the constraints on the tree: joint forces (..., nv), or 0, and wrenches on bodies, f_ext included."""

    forces: Any
    loads: Any


def pulls_of(held: HeldBy, q: Array, v: Array, sizes: Array, f_ext: Array | None, placements: Array) -> Pulls:
    """The load on the tree from the magnitudes of the constraint forces."""
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
    """The derivatives, from the magnitudes of the constraint forces and the response of the tree to given forces."""
    couplings = as_couplings(held.model, held.constraints)
    if couplings is not None:
        return _of_couplings(held, couplings, q, tau, f_ext, sizes, settings, solver, responses)
    model, ends = held.model, held.ends
    nv, k = model.nv, len(held.constraints)
    places, V = forward_kinematics(model, q, ends), frame_velocity(model, q, v, ends)
    C, _, rows = seen(held, q, places, V, None, placements, settings)
    a, a_q, a_v, mobility = responses(tau, loads_of(held, C, sizes, f_ext))
    J = jacobian(model, q, ends)
    moving = [6 * end + row for end, body in enumerate(held.bodies) if body for row in range(6)]
    Jm = J[..., moving, :]
    V_q, _ = frame_velocity_derivatives(model, q, v, ends)
    A_q, A_v, _ = frame_acceleration_derivatives(model, q, v, a, ends)
    A = frame_acceleration(model, q, v, a, ends)
    change = variations(held, q, places, V, A, placements, settings, sizes)
    c_q = change.rates_places @ Jm + change.rates_motions @ V_q[..., moving, :] + C @ A_q + change.rates_q
    c_v = change.rates_motions @ Jm + C @ A_v
    a_q = a_q + mobility @ (transposed(J) @ (change.forces_places @ Jm))
    K = C @ J
    da, ds = _constrained(K, [a_q, a_v, mobility], [c_q, c_v, None], mobility, solver)
    units = unit_wrenches(held, rows)
    dw = [units @ each for each in ds]
    dw[0] = dw[0] + change.wrenches_places @ Jm
    return ConstrainedDerivatives(*da, *(each.reshape((*each.shape[:-2], k, 6, nv)) for each in dw))


def _constrained(
    K: Array, free: Sequence[Array], asked: Sequence[Array | None], mobility: Array, solver: Solver
) -> tuple[list[Array], list[Array]]:
    """Derivatives of accelerations and of constraint force magnitudes with respect to q, v and tau. ``free`` are the
    derivatives of the tree's accelerations under constant forces, ``asked`` those of the constrained rates.
    """
    answers = mobility @ transposed(K)
    nv = K.shape[-1]
    right = [-(K @ x) if c is None else -c - K @ x for x, c in zip(free, asked, strict=True)]
    all_sizes = solver.columns(K @ answers, np.concatenate(right, axis=-1))
    ds = [all_sizes[..., k * nv : (k + 1) * nv] for k in range(len(free))]
    return [x + answers @ own for x, own in zip(free, ds, strict=True)], ds


def _of_couplings(
    held: HeldBy, couplings: Couplings, q: Array, tau: Array, f_ext: Array | None, sizes: Array,
    settings: Array | None, solver: Solver, responses: Responses,
) -> ConstrainedDerivatives:  # fmt: skip
    """The derivatives for couplings of joints, whose rows over joint velocities are constant."""
    K = couplings.rows
    _, a_q, a_v, mobility = responses(tau + times(K.T, sizes), f_ext)
    asked: list[Any] = [None, None, None]
    if settings is not None:
        asked = [settings[1] * K, settings[0] * K, None]  # each joint has one coordinate, so dq/dt = v
    da, ds = _constrained(K, [a_q, a_v, mobility], asked, mobility, solver)
    return ConstrainedDerivatives(*da, *(each[..., None, :] * couplings.wrenches[..., None] for each in ds))
