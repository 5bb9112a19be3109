"""Derivatives of constrained dynamics: the public function, and its kernels.

The method is written once, over arrays (``held_derivatives``). Traced, it is one kernel for a model of few joints; on
floats it combines several kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.batches import all_converted, put_into
from linkwork.compiled.arrays import TracedArray
from linkwork.compiled.tracing import Shape
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.constraint_solvers import JoinedSolver, Solver, TracedSolver
from linkwork.dynamics.derivatives import forward_dynamics_derivatives
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, conditions, held_by, loads_of, one_by_one
from linkwork.dynamics.held_derivatives import (
    Around,
    ConstrainedDerivatives,
    around_constraints,
    derivatives_of,
    seen_frames,
    sizes_of,
    with_constraints,
)
from linkwork.dynamics.kinematics import neutral
from linkwork.dynamics.redundant_derivatives import of_redundant
from linkwork.engine.mode import current_form
from linkwork.errors import TracingError
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction

MOST_WHOLE = 9
"""Degrees of freedom up to which one kernel is compiled: compile time grows faster than their square."""

MOST_JOINED = 70
"""Bodies times pairs of frames up to which everything about the constraints is one kernel: two feet of a humanoid take
25,000 instructions, four frames more than twice as many.
"""


@call.routed("q", "v", "tau", "f_ext", choices=("stabilisation", "proximal"), objects=("constraints",))
def constrained_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Sequence[Constraint] | Constraint,
    f_ext: ArrayLike | None = None,
    stabilisation: float | None = None,
    proximal: float = 0.0,
    *,
    out: tuple[Array, Array, Array, Array, Array, Array] | None = None,
) -> ConstrainedDerivatives:
    """The derivatives of ``lw.constrained_dynamics`` with respect to q, v and tau.

    Args:
        model: the mechanism, a tree.
        q: configuration (..., nq).
        v: velocity (..., nv).
        tau: joint forces (..., nv), N or N m.
        constraints: k constraints, as in ``lw.constrained_dynamics``.
        f_ext: external force (N) and moment (N m) on each body, constant in the body's own frame (..., nbodies, 6);
            zero if left out.
        stabilisation: time constant (s) of Baumgarte stabilisation, which is differentiated too; none if left out.
        proximal: damping for constraints that are redundant, and equally so in nearby states; see
            ``lw.constrained_dynamics``. The derivatives are those of the smallest forces, whatever the damping.
        out: a tuple of six arrays for the results, written in place and returned; new ones if left out.

    Returns:
        ``ConstrainedDerivatives``: da_dq, da_dv and da_dtau (..., nv, nv), then dw_dq, dw_dv and dw_dtau (..., k, 6,
        nv), a column for each degree of freedom.

    Raises:
        SingularError: if constraints are redundant and ``proximal`` is 0; the error names them and the rank.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> gears = lw.Coupling(*reversed(arm.joint_names), ratio=2.0)
        >>> found = lw.constrained_dynamics_derivatives(arm, [0.1, 0.2], [0.0, 0.0], [1.0, 0.0], [gears])
        >>> bool(abs(found.da_dtau[1] - 2.0 * found.da_dtau[0]).max() < 1e-12)
        True
    """
    held = held_by(model, constraints)
    settings = held.settings(stabilisation, proximal)
    if settings[2]:
        pass  # Python looks at the rank
    elif _is_whole(held):
        kernel = _kernel(held, f_ext is not None, stabilisation is not None)
        values, fixed = (q, v, tau) if f_ext is None else (q, v, tau, f_ext), (held.placements, settings)
        answer = kernel.quick(out, *values, *fixed)
        if answer is not None:
            arguments, table = (*(None for _ in values), *fixed), model._memo.quick
            call.keep_route(
                constrained_dynamics_derivatives, table, values, (stabilisation, proximal, constraints), kernel.holder,
                arguments, call.tuples(ConstrainedDerivatives), *held.constraints,
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
    """The derivatives for any valid arguments: by the kernel if there is one, and on floats for other states."""
    model = held.model
    spaces = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))
    given, batch = as_batch(model, spaces, [q, v, tau, f_ext])
    q_, v_, tau_, f_ext_ = given
    assert q_ is not None and v_ is not None and tau_ is not None
    asked = settings if stabilised else None
    if any(isinstance(each, TracedArray) for each in given):
        if settings[2]:
            raise TracingError(
                "constrained_dynamics_derivatives cannot be traced with proximal; lw.jvp of a function "
                "that calls lw.constrained_dynamics can"
            )
        return _text(held, q_, v_, tau_, f_ext_, held.placements, asked, TracedSolver(held.name, 0.0))
    found: Sequence[Array]
    if not held.constraints:
        free = forward_dynamics_derivatives(model, q_, v_, tau_, f_ext_)
        found = (*free, *(np.zeros((*batch, 0, 6, model.nv)) for _ in range(3)))
    elif settings[2]:
        found = of_redundant(held, q_, v_, tau_, f_ext_, asked, float(settings[2]))
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
    if _is_joined(held) and current_form() != "rolled":
        values = [q, v, tau, *([] if f_ext is None else [f_ext]), held.placements, _or_zeros(settings)]
        found, _, fine = _held_kernel(held, f_ext is not None, settings is not None).attempt(values)
        if fine.all():
            return _closed(held, q, v, tau, found)
    solver = JoinedSolver(held.name, 0.0, "constrained_dynamics_derivatives")
    return _text(held, q, v, tau, f_ext, held.placements, settings, solver)


def _is_joined(held: HeldBy) -> bool:
    """Whether one kernel computes the constraint forces and rows with their derivatives, for a tree too large for
    ``_is_whole``; those of the tree are computed beside it.
    """
    size = len(held.model.bodies) * len(held.a)
    return held.whole and held.couplings is None and not _is_whole(held) and size <= MOST_JOINED


def _joined_quickly(
    held: HeldBy, given: Sequence[Any], settings: Array, stabilised: bool
) -> ConstrainedDerivatives | None:
    """The same for plain arrays, which code checks; None for others, and for states without a finite result."""
    q, v, tau, f_ext = given
    values = (q, v, tau) if f_ext is None else (q, v, tau, f_ext)
    found = _held_kernel(held, f_ext is not None, stabilised).quick(None, *values, held.placements, settings)
    return None if found is None else _closed(held, q, v, tau, found)


def _closed(held: HeldBy, q: Array, v: Array, tau: Array, found: Sequence[Array]) -> ConstrainedDerivatives:
    """The derivatives, from the results of ``_held_kernel``."""
    loads, *around = found
    nv = held.model.nv
    free = np.empty((3, *loads.shape[:-2], nv, nv))
    forward_dynamics_derivatives(held.model, q, v, tau, loads, out=(free[0], free[1], free[2]))
    solver = JoinedSolver(held.name, 0.0, "constrained_dynamics_derivatives")
    return with_constraints(held, Around(*around), free, solver)


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

        shapes, results = _shapes(held, loaded), [*[(nv, nv)] * 3, *[(k, 6, nv)] * 3]
        name = "constrained_dynamics_derivatives"
        return law(name, text, shapes, results, model, held.frames, held.kinds, loaded, stabilised)

    return held.kept_law(("derivatives", loaded, stabilised), made)


def _held_kernel(held: HeldBy, loaded: bool, stabilised: bool) -> CompiledFunction:
    """The kernel of the wrenches on bodies, and of everything that depends on the constraints under these."""
    model, nv, k = held.model, held.model.nv, len(held.constraints)

    def text(q: Any, v: Any, tau: Any, placements: Any, settings: Any, f_ext: Any = None) -> Any:
        given = settings if stabilised else None
        sizes = sizes_of(held, q, v, tau, f_ext, placements, given, TracedSolver(held.name, 0.0))
        known = seen_frames(held, q, v, placements, given)
        loads = loads_of(held, known.C, sizes, f_ext)
        a = forward_dynamics(model, q, v, tau, loads)
        return loads, *around_constraints(held, q, v, a, sizes, placements, given, known)

    def made() -> CompiledFunction:
        from linkwork.compiled.law import law

        r, moving = _size(held), 6 * sum(map(bool, held.bodies))
        shapes = _shapes(held, loaded)
        around = [(r, nv), (moving, nv), (moving, nv), (r, nv), (r, nv), (6 * k, r), (6 * k, nv)]
        results = [(len(model.bodies), 6), *around]
        return law("around_constraints", text, shapes, results, model, held.frames, held.kinds, loaded, stabilised)

    return held.kept_law(("around", loaded, stabilised), made)


def _shapes(held: HeldBy, loaded: bool) -> dict[str, Shape]:
    """The shapes of a kernel's arguments."""
    model = held.model
    shapes: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
    if loaded:
        shapes["f_ext"] = (len(model.bodies), 6)
    return {**shapes, "placements": held.placements.shape, "settings": (3,)}


def _or_zeros(settings: Array | None) -> Array:
    return np.zeros(3) if settings is None else settings


def _size(held: HeldBy) -> int:
    """The number of motions that the constraints hold."""
    places, still = np.stack([np.eye(4)] * len(held.ends)), np.zeros((len(held.ends), 6))
    found = one_by_one(held, conditions(held, neutral(held.model), places, still, None, held.placements, None))
    return sum(rates.shape[-1] for rates in found[1])


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
