"""Derivatives of constrained dynamics: the public function, and its kernels.

The method is written once, over arrays (``held_derivatives``). Traced, it is one kernel for a model of few joints, and
three for one of more: everything about the constraints, then the derivatives of the tree under their forces, then both
together, a column at a time. On floats it combines several kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import ALGORITHMS
from linkwork.compiled.tracing import Shape
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained_call import Case, ConstrainedFunction
from linkwork.dynamics.constrained_state import ConstrainedState
from linkwork.dynamics.constraint_solvers import TracedSolver
from linkwork.dynamics.derivatives import forward_dynamics_derivatives
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, conditions, held_by, loads_of, one_by_one
from linkwork.dynamics.held_derivatives import (
    AlongColumns,
    Around,
    ConstrainedDerivatives,
    around_constraints,
    derivatives_of,
    with_constraints,
)
from linkwork.dynamics.kinematics import neutral
from linkwork.dynamics.operational import force_responses, inertia_inverse
from linkwork.dynamics.redundant_derivatives import of_redundant
from linkwork.engine.code import fingerprint
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan, Task, TracedTask, plan_for
from linkwork.engine.plans.costs import looped, within
from linkwork.errors import TracingError
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction
    from linkwork.engine.ir.program import Program
    from linkwork.engine.plans.chain import Columns


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
    values = (q, v, tau) if f_ext is None else (q, v, tau, f_ext)
    derivatives = _DERIVATIVES(held_by(model, constraints), (), values, out, stabilisation, proximal)
    return tuple.__new__(ConstrainedDerivatives, derivatives)


class _Derivatives(ConstrainedFunction):
    """The derivatives as one kernel, or as a chain of three."""

    name = "constrained_dynamics_derivatives"
    arguments = (("q", "configuration"), ("v", "velocity"), ("tau", "velocity"), ("f_ext", "wrenches"))

    def shapes(self, held: HeldBy, choices: tuple[()]) -> list[Shape]:
        nv, k = held.model.nv, len(held.constraints)
        return [*[(nv, nv)] * 3, *[(k, 6, nv)] * 3]

    def free(self, state: ConstrainedState, choices: tuple[()]) -> tuple[Array, ...]:
        nv, q = state.held.model.nv, state.q
        free = forward_dynamics_derivatives(state.held.model, q, state.v, state.tau, state.f_ext)
        return *free, *(np.zeros((*q.shape[:-1], 0, 6, nv)) for _ in range(3))

    @np.errstate(all="ignore")  # the solver reports non-finite numbers
    def text(self, state: ConstrainedState, choices: tuple[()]) -> tuple[Array, ...]:
        model, q, v, proximal = state.held.model, state.q, state.v, state.solver.proximal
        if proximal and isinstance(state.solver, TracedSolver):
            raise TracingError(
                "constrained_dynamics_derivatives cannot be traced with proximal; lw.jvp of a function "
                "that calls lw.constrained_dynamics can"
            )
        if proximal:
            return tuple(of_redundant(state))

        def responses(forces: Any, loads: Any) -> tuple[Any, Any, Any, Any]:
            free = forward_dynamics_derivatives(model, q, v, forces, loads)
            return forward_dynamics(model, q, v, forces, loads), *free

        return tuple(derivatives_of(state, state.magnitudes(), responses))

    def law(self, held: HeldBy, case: Case) -> CompiledFunction | None:
        """None for redundant constraints, of which Python looks at the rank."""
        whole, form = _is_whole(held), current_form()
        if case.damped or not (whole or is_chained(held)):
            return None
        if form != "auto" and not (whole and form in ("interpreted", "specialised")):
            return None
        planned = None if whole else partial(_chain, held, case)
        return held.kept_law((self.name, case), lambda: self.kernel(held, case, planned=planned))


_DERIVATIVES = _Derivatives()


def _is_whole(held: HeldBy) -> bool:
    return within("derived_whole", held.model.nv) and held.whole


def is_chained(held: HeldBy) -> bool:
    """Whether three kernels compute them, for a tree too large for ``_is_whole``."""
    size = len(held.model.bodies) * len(held.a)
    called = looped(held.model)  # the kernels of a chain call no code with loops
    return (
        held.whole
        and not called
        and held.couplings is None
        and not _is_whole(held)
        and within("derived_in_a_chain", size)
    )


def _chain(held: HeldBy, case: Case, task: TracedTask) -> Plan:
    """The plan of three kernels. The second takes the forces of the constraints from the first as loads on bodies."""
    from linkwork.engine.plans.chain import Chain, Link

    count, around = len(task.arguments), _around_kernel(held, case)
    tree = plan_for(Task(ALGORITHMS["forward_dynamics_derivatives"], held.model))
    loads, *rest = range(count, count + len(around.result_shapes))
    free = range(rest[-1] + 1, rest[-1] + 4)
    closing = _closing(held, around, case)
    links = [Link(around.straight(), range(count)), Link(tree, [0, 1, 2, loads]), Link(closing, [*rest, *free])]
    return Chain(task, links, range(free[-1] + 1, free[-1] + 7))


def _around_kernel(held: HeldBy, case: Case) -> CompiledFunction:
    """The kernel of the wrenches on bodies, and of everything that depends on the constraints under these."""
    from linkwork.compiled.law import law

    model, solver = held.model, TracedSolver(held.name, 0.0)

    def text(placements: Any, settings: Any, **values: Any) -> Any:
        state = ConstrainedState(held, solver, placements, settings if case.stabilised else None, *values.values())
        q, v, rows, sizes = state.q, state.v, state.constraint_rows(), state.magnitudes()
        loads = loads_of(held, rows.C, sizes, state.f_ext)
        a = forward_dynamics(model, q, v, state.tau, loads)
        R, mobility = force_responses(model, q, held.ends), inertia_inverse(model, q, held.ends)
        around, along = around_constraints(state, a, sizes, rows, R, mobility)
        return loads, *around, *along

    results = [(len(model.bodies), 6), *_around_shapes(held), *_along_shapes(held, model.nv)]
    shapes = _DERIVATIVES.argument_shapes(held, case.loaded)
    return law("around_constraints", text, shapes, results, model, held.frames, held.kinds, case)


def _closing(held: HeldBy, around: CompiledFunction, case: Case) -> Columns:
    """The derivatives, from those of the tree and the constraints around the state, for a column."""
    nv, k, shared = held.model.nv, len(held.constraints), _around_shapes(held)
    first, second = len(shared), len(shared) + len(AlongColumns._fields)

    def text(*arrays: Any) -> Any:
        own, along = Around(*arrays[:first]), AlongColumns(*arrays[first:second])
        return tuple(with_constraints(held, own, along, arrays[second:], TracedSolver(held.name, 0.0)))

    shapes, results = [*shared, *_along_shapes(held, 1), *[(nv, 1)] * 3], [*[(nv, nv)] * 3, *[(k, 6, nv)] * 3]
    return over_columns(held, around, "with_constraints", text, shapes, range(first), results, second, case)


def over_columns(
    held: HeldBy, around: CompiledFunction, name: str, text: Callable[..., Any], shapes: Sequence[Shape],
    shared: Collection[int], results: Sequence[Shape], leading: int, what: object,
) -> Columns:  # fmt: skip
    """A text over one column of arrays, except those that all columns share, by their places. The
    ``leading`` ones are results of the kernel ``around``, after its first, whose constants become part of the program.
    """
    from linkwork.engine.plans.chain import Columns

    columns = results[0][-1]

    def traced() -> Program:
        from linkwork.compiled.tracing import trace
        from linkwork.engine.ir.program import constants
        from linkwork.engine.trace.replay import expanded

        arrays = {f"array{number}": shape for number, shape in enumerate(shapes)}
        program, _, _ = trace(name, lambda **given: text(*given.values()), arrays)
        of_arrays: dict[str, dict[int, float]] = {}
        for n in range(leading):
            numbers = constants(around.program, f"result{n + 1}")
            of_arrays[f"argument{n}"] = numbers if n in shared else _rows_of(numbers, columns)
        return expanded(program, of_arrays)

    digest = fingerprint.of_model(held.model, held.frames)
    identity = None if digest is None else fingerprint.key(name, digest, held.kinds, columns, what)
    return Columns(traced, columns, results, shared, identity)


def _rows_of(numbers: dict[int, float], columns: int) -> dict[int, float]:
    """The rows of a matrix that are the same in all columns, by some numbers of it."""
    rows = {}
    for row in {place // columns for place in numbers}:
        own = {numbers.get(row * columns + column) for column in range(columns)}
        if None not in own and len(own) == 1:
            rows[row] = numbers[row * columns]
    return rows


def _around_shapes(held: HeldBy) -> list[Shape]:
    """Of ``Around``."""
    r, nv, moving = rows_held(held), held.model.nv, moving_numbers(held)
    return [(r, nv), (r, moving), (moving, nv), (r, nv), (6 * len(held.constraints), r), (r * (r + 1) // 2,)]


def _along_shapes(held: HeldBy, columns: int) -> list[Shape]:
    """Of ``AlongColumns``, for so many columns."""
    r, moving = rows_held(held), moving_numbers(held)
    return [(rows, columns) for rows in (r, r, r, moving, 6 * len(held.constraints))]


def moving_numbers(held: HeldBy) -> int:
    """How many numbers the motions of all moving frames have."""
    return 6 * sum(map(bool, held.bodies))


def rows_held(held: HeldBy) -> int:
    """The number of motions that the constraints hold."""
    places, still = np.stack([np.eye(4)] * len(held.ends)), np.zeros((len(held.ends), 6))
    of_each = one_by_one(held, conditions(held, neutral(held.model), places, still, None, held.placements, None))
    return sum(rates.shape[-1] for rates in of_each[1])
