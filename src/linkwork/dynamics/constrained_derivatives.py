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
from linkwork.batches import put_into
from linkwork.compiled.arrays import TracedArray
from linkwork.compiled.tracing import Shape
from linkwork.dynamics import call
from linkwork.dynamics.arguments import Array, as_batch
from linkwork.dynamics.constraint_solvers import JoinedSolver, Solver, TracedSolver
from linkwork.dynamics.derivatives import forward_dynamics_derivatives
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import HeldBy, conditions, held_by, loads_of, one_by_one
from linkwork.dynamics.held_derivatives import (
    AlongColumns,
    Around,
    ConstrainedDerivatives,
    around_constraints,
    derivatives_of,
    seen_frames,
    sizes_of,
    with_constraints,
)
from linkwork.dynamics.kinematics import neutral
from linkwork.dynamics.operational import force_responses, operational_inertia_inverse
from linkwork.dynamics.redundant_derivatives import of_redundant
from linkwork.engine.code import fingerprint
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan, Task, TracedTask, plan_for
from linkwork.engine.plans.costs import within
from linkwork.errors import TracingError
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.compiled.compiled_function import CompiledFunction
    from linkwork.engine.ir.program import Program
    from linkwork.engine.plans.chain import Columns

_NAME = "constrained_dynamics_derivatives"


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
    held, values = held_by(model, constraints), (q, v, tau) if f_ext is None else (q, v, tau, f_ext)
    choices = _NAME, f_ext is None, stabilisation, type(stabilisation), proximal, type(proximal)
    answer = call.recall(held.quick, choices, out, *values)
    if answer is not None:
        return tuple.__new__(ConstrainedDerivatives, answer)
    settings = held.settings(stabilisation, proximal)
    if not settings[2] and _is_compiled(held):  # for redundant constraints Python looks at the rank
        kernel = _kernel(held, f_ext is not None, stabilisation is not None)
        answer = call.serve_by(kernel, held.quick, choices, (held.placements, settings), out, *values)
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
    elif _is_compiled(held) and current_form() in (
        "auto",
        *(["interpreted", "specialised"] if _is_whole(held) else []),
    ):
        kernel = _kernel(held, f_ext_ is not None, stabilised)
        loads = [] if f_ext_ is None else [f_ext_]
        found, _, fine = kernel.attempt([q_, v_, tau_, *loads, held.placements, settings])
        if not fine.all():  # on floats, the rank is determined
            bad = ~fine.reshape(batch)
            load = None if f_ext_ is None else f_ext_[bad]
            for array, own in zip(found, _joined(held, q_[bad], v_[bad], tau_[bad], load, asked), strict=True):
                array[bad] = own
    else:
        found = _joined(held, q_, v_, tau_, f_ext_, asked)
    written: tuple[Array, ...] = put_into(out, *found, apart={"q": q, "v": v, "tau": tau, "f_ext": f_ext})
    return written


def _joined(
    held: HeldBy, q: Array, v: Array, tau: Array, f_ext: Array | None, settings: Array | None
) -> tuple[Array, ...]:
    solver = JoinedSolver(held.name, 0.0, "constrained_dynamics_derivatives")
    return _text(held, q, v, tau, f_ext, held.placements, settings, solver)


def _is_whole(held: HeldBy) -> bool:
    return within("derived_whole", held.model.nv) and held.whole


def is_chained(held: HeldBy) -> bool:
    """Whether three kernels compute them, for a tree too large for ``_is_whole``."""
    size = len(held.model.bodies) * len(held.a)
    return held.whole and held.couplings is None and not _is_whole(held) and within("derived_in_a_chain", size)


def _is_compiled(held: HeldBy) -> bool:
    return _is_whole(held) or is_chained(held)


def _kernel(held: HeldBy, loaded: bool, stabilised: bool) -> CompiledFunction:
    """The derivatives as one kernel, or as a chain of three."""
    model, nv, k = held.model, held.model.nv, len(held.constraints)

    def text(q: Any, v: Any, tau: Any, placements: Any, settings: Any, f_ext: Any = None) -> Any:
        given = settings if stabilised else None
        return _text(held, q, v, tau, f_ext, placements, given, TracedSolver(held.name, 0.0))

    def made() -> CompiledFunction:
        from linkwork.compiled.law import law

        shapes, results = _shapes(held, loaded), [*[(nv, nv)] * 3, *[(k, 6, nv)] * 3]
        name, what = "constrained_dynamics_derivatives", (held.kinds, loaded, stabilised)
        planned = partial(_chain, held, loaded, stabilised) if is_chained(held) else None
        return law(name, text, shapes, results, model, held.frames, *what, planned=planned)

    return held.kept_law(("derivatives", loaded, stabilised), made)


def _chain(held: HeldBy, loaded: bool, stabilised: bool, task: TracedTask) -> Plan:
    """The plan of three kernels. The second takes the forces of the constraints from the first as loads on bodies."""
    from linkwork.engine.plans.chain import Chain, Link

    given, around = len(task.arguments), _around_kernel(held, loaded, stabilised)
    tree = plan_for(Task(ALGORITHMS["forward_dynamics_derivatives"], held.model))
    loads, *rest = range(given, given + len(around.result_shapes))
    free = range(rest[-1] + 1, rest[-1] + 4)
    closing = _closing(held, around, loaded, stabilised)
    links = [Link(around.straight(), range(given)), Link(tree, [0, 1, 2, loads]), Link(closing, [*rest, *free])]
    return Chain(task, links, range(free[-1] + 1, free[-1] + 7))


def _around_kernel(held: HeldBy, loaded: bool, stabilised: bool) -> CompiledFunction:
    """The kernel of the wrenches on bodies, and of everything that depends on the constraints under these."""
    from linkwork.compiled.law import law

    model, solver = held.model, TracedSolver(held.name, 0.0)

    def text(q: Any, v: Any, tau: Any, placements: Any, settings: Any, f_ext: Any = None) -> Any:
        given = settings if stabilised else None
        sizes = sizes_of(held, q, v, tau, f_ext, placements, given, solver)
        known = seen_frames(held, q, v, placements, given)
        loads = loads_of(held, known.C, sizes, f_ext)
        a = forward_dynamics(model, q, v, tau, loads)
        R, mobility = force_responses(model, q, held.ends), operational_inertia_inverse(model, q, held.ends)
        around, along = around_constraints(held, q, v, a, sizes, placements, given, known, R, mobility, solver)
        return loads, *around, *along

    results = [(len(model.bodies), 6), *_around_shapes(held), *_along_shapes(held, model.nv)]
    what = (held.kinds, loaded, stabilised)
    return law("around_constraints", text, _shapes(held, loaded), results, model, held.frames, *what)


def _closing(held: HeldBy, around: CompiledFunction, *what: object) -> Columns:
    """The derivatives, from those of the tree and the constraints around the state, for a column."""
    nv, k, shared = held.model.nv, len(held.constraints), _around_shapes(held)
    first, second = len(shared), len(shared) + len(AlongColumns._fields)

    def text(*arrays: Any) -> Any:
        own, along = Around(*arrays[:first]), AlongColumns(*arrays[first:second])
        return tuple(with_constraints(held, own, along, arrays[second:], TracedSolver(held.name, 0.0)))

    shapes, results = [*shared, *_along_shapes(held, 1), *[(nv, 1)] * 3], [*[(nv, nv)] * 3, *[(k, 6, nv)] * 3]
    return over_columns(held, around, "with_constraints", text, shapes, range(first), results, second, what)


def over_columns(
    held: HeldBy, around: CompiledFunction, name: str, text: Callable[..., Any], shapes: Sequence[Shape],
    shared: Collection[int], results: Sequence[Shape], known: int, what: object,
) -> Columns:  # fmt: skip
    """A text over one column of arrays, except those that all columns share, by their places. The first ones are
    ``known``, as far as they are constant: the results of the kernel ``around`` after its first.
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
        for n in range(known):
            found = constants(around.program, f"result{n + 1}")
            of_arrays[f"argument{n}"] = found if n in shared else _rows_of(found, columns)
        return expanded(program, of_arrays)

    digest = fingerprint.of_model(held.model, held.frames)
    identity = None if digest is None else fingerprint.key(name, digest, held.kinds, columns, what)
    return Columns(traced, columns, results, shared, identity)


def _rows_of(numbers: dict[int, float], columns: int) -> dict[int, float]:
    """The rows of a matrix that are the same in all columns, by some numbers of it."""
    found = {}
    for row in {place // columns for place in numbers}:
        own = {numbers.get(row * columns + column) for column in range(columns)}
        if None not in own and len(own) == 1:
            found[row] = numbers[row * columns]
    return found


def _around_shapes(held: HeldBy) -> list[Shape]:
    """Of ``Around``."""
    r, nv, moving = rows_held(held), held.model.nv, moving_numbers(held)
    return [(r, nv), (r, moving), (moving, nv), (r, nv), (6 * len(held.constraints), r), (r * (r + 1) // 2,)]


def _along_shapes(held: HeldBy, columns: int) -> list[Shape]:
    """Of ``AlongColumns``, for so many columns."""
    r, moving = rows_held(held), moving_numbers(held)
    return [(rows, columns) for rows in (r, r, r, moving, 6 * len(held.constraints))]


def _shapes(held: HeldBy, loaded: bool) -> dict[str, Shape]:
    """The shapes of a kernel's arguments."""
    model = held.model
    shapes: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
    if loaded:
        shapes["f_ext"] = (len(model.bodies), 6)
    return {**shapes, "placements": held.placements.shape, "settings": (3,)}


def moving_numbers(held: HeldBy) -> int:
    """How many numbers the motions of all moving frames have."""
    return 6 * sum(map(bool, held.bodies))


def rows_held(held: HeldBy) -> int:
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
