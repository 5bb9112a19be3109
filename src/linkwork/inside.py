"""What is inside a call, for studies of algorithms: their texts over scalars of your own, on trees of your own; what a
mechanism is cut into; and the operations, forms and machine code of an algorithm.

Everything that a package beside linkwork may use besides the public names and ``linkwork.algorithms`` is here
(docs/extending.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import Algorithm
from linkwork.arguments import integer
from linkwork.dynamics.closed_chains import loop_rows
from linkwork.dynamics.held import held_by
from linkwork.engine.code import jit
from linkwork.engine.ir.program import count
from linkwork.engine.plans import Plan, Task, form_of, plan_for
from linkwork.engine.plans.costs import costs
from linkwork.engine.plans.one_state import by_segments
from linkwork.engine.plans.specialised import specialised_program
from linkwork.engine.run.threads import cores
from linkwork.engine.spaces import flatten, size
from linkwork.engine.trace.interpreter import evaluate, interpret
from linkwork.errors import ArgumentError, shown
from linkwork.model.constraints import Constraint
from linkwork.model.fields import Field
from linkwork.model.loops import loops_of
from linkwork.model.model import Frame, Model
from linkwork.model.segment_walks import Seam, Segment
from linkwork.model.segments import Cut, cut, cut_into
from linkwork.model.splitting import parts_of
from linkwork.model.tree import Node, Tree, Walks, alone

__all__ = [
    "Cut",
    "Field",
    "Host",
    "LoopConditions",
    "Node",
    "Seam",
    "Segment",
    "Tree",
    "Walks",
    "alone",
    "cores",
    "costs",
    "cut",
    "evaluate",
    "flatten",
    "form_of",
    "host",
    "interpret",
    "loop_conditions",
    "loops_of",
    "machine_code",
    "one_state",
    "operations",
    "parts_of",
    "size",
]

Array = NDArray[np.float64]

_ABSENT = ("f_ext", "df_ext")
"""Arguments without which operations are counted and code is made: there are no external forces."""


class Host(NamedTuple):
    """What code is made for, and by what: LLVM's name of the CPU, float64 numbers in a vector, LLVM's version."""

    cpu: str
    lanes: int
    llvm: str


def host() -> Host:
    """This machine.

    Example:
        >>> from linkwork.inside import host
        >>> host().lanes in (1, 2, 4, 8)
        True
    """
    cpu = jit.host()
    return Host(cpu[0], jit.lanes(cpu), jit.version())


def operations(algorithm: Algorithm, model: Model, frames: Sequence[Frame] = ()) -> Counter[str]:
    """How many instructions of each kind the code of an algorithm has for one model: its numbers are constants, what
    they make redundant is removed, and common subexpressions are merged. Without external forces.

    Args:
        algorithm: of ``linkwork.algorithms``, or your own.
        model: the mechanism.
        frames: those that the algorithm is about, as ``model.frame(name)`` returns them.

    Returns:
        "add", "mul", "sqrt", "sin", ... to how many there are for one state.

    Example:
        >>> import linkwork as lw
        >>> from linkwork.algorithms import ALGORITHMS
        >>> from linkwork.inside import operations
        >>> sorted(operations(ALGORITHMS["gravity_torques"], lw.mechanisms.pendulum()).items())
        [('mul', 2), ('sin', 1)]
    """
    return count(specialised_program(algorithm, model, _ABSENT, frames, expand=False))


def machine_code(
    algorithm: Algorithm,
    model: Model,
    frames: Sequence[Frame] = (),
    form: str = "auto",
    lanes: int | None = None,
) -> Callable[..., list[Array]]:
    """A function that runs an algorithm over many states, without external forces.

    Args:
        algorithm: of ``linkwork.algorithms``, or your own.
        model: the mechanism.
        frames: those that the algorithm is about, as ``model.frame(name)`` returns them.
        form: "straight" (code for this model), "looped" (the model in tables), "interpreted", or "auto" (``lw.form``).
        lanes: states side by side in a vector, 1 or the host's (None).

    Returns:
        A function of arrays (states, numbers) of the arguments except external forces, which returns those of the
        results, matrices flat.

    Example:
        >>> import numpy as np
        >>> import linkwork as lw
        >>> from linkwork.algorithms import ALGORITHMS
        >>> from linkwork.inside import machine_code
        >>> arm = lw.mechanisms.serial_chain(3)
        >>> code = machine_code(ALGORITHMS["mass_matrix"], arm, form="looped", lanes=1)
        >>> (M,) = code(np.zeros((100, 3)))
        >>> M.shape, bool(np.allclose(M[0].reshape(3, 3), lw.mass_matrix(arm, np.zeros(3))))
        ((100, 9), True)
    """
    plan = plan_for(_task(algorithm, model, frames), form=form, lanes=_lanes(lanes))
    return lambda *arguments: _run(plan, arguments)


def one_state(
    algorithm: Algorithm, model: Model, lanes: int | None = None, segments: int | None = None
) -> Callable[..., Array]:
    """A function that computes one state as the public functions do, by the builtin if it is served by one.

    Args:
        algorithm: of ``linkwork.algorithms``, or your own; without frames.
        model: the mechanism.
        lanes: 1 or the host's (None).
        segments: how many a long chain is cut into, a multiple of 16, for an algorithm whose form is "segmented";
            None for the number that suits it.

    Returns:
        A function of arrays (numbers,) of the arguments except external forces, which returns the first result.

    Example:
        >>> import numpy as np
        >>> import linkwork as lw
        >>> from linkwork.algorithms import SEGMENTS
        >>> from linkwork.inside import one_state
        >>> chain = lw.mechanisms.serial_chain(60)
        >>> q, v = lw.random_state(chain, 0)
        >>> a = one_state(SEGMENTS, chain, segments=16)(q, v, 0.0 * v)
        >>> bool(np.allclose(a, lw.forward_dynamics(chain, q, v, 0.0 * v)))
        True
    """
    task, chosen = _task(algorithm, model), _lanes(lanes)
    if segments is None:
        plan = plan_for(task, lanes=chosen)
    elif "segmented" not in algorithm.forms or cut_into(model, integer("segments", segments, 1)) is None:
        raise ArgumentError(f"{algorithm.name} of {model.name!r} cannot be cut into {segments} segments")
    else:
        plan = by_segments(task, lanes=chosen, pieces=segments)
    served = plan.served("one")

    def run(*state: Array) -> Array:
        found = served(None, *state) if served else None
        return _run(plan, [array[None] for array in state])[0][0] if found is None else np.asarray(found)

    return run


def _task(algorithm: Algorithm, model: Model, frames: Sequence[Frame] = ()) -> Task:
    absent = tuple(name for name, _ in algorithm.arguments if name in _ABSENT)
    return Task(algorithm, model, absent, frames)


def _lanes(lanes: int | None) -> int | None:
    most = jit.lanes(jit.host())
    if lanes not in (None, 1, most):
        raise ArgumentError(f"lanes must be 1, {most} or None, not {shown(lanes)}")
    return lanes


def _run(plan: Plan, arguments: Sequence[Array]) -> list[Array]:
    """The results of a plan for arrays (states, numbers), which are checked: code reads them as they are."""
    widths = plan.task.arguments
    arrays = [np.ascontiguousarray(array, dtype=np.float64) for array in arguments]
    states = len(arrays[0]) if arrays and arrays[0].ndim else 0
    shapes = [array.shape for array in arrays]
    if not states or shapes != [(states, width) for width in widths]:
        wanted = ", ".join(f"(states, {width})" for width in widths)
        raise ArgumentError(f"arguments must be arrays {wanted}, not {', '.join(map(str, shapes)) or 'none'}")
    return list(plan.run(arrays, states)[0])


class LoopConditions(NamedTuple):
    """Constraints as ``linkwork.algorithms.closing()`` takes them: the ``frames`` at which they hold bodies, and for
    one state the ``arguments`` after q, v and tau, flat: "conditions", "bias" and "compliance".
    """

    frames: tuple[Frame, ...]
    arguments: tuple[Array, Array, Array]


def loop_conditions(model: Model, constraints: Sequence[Constraint], q: Array, v: Array) -> LoopConditions:
    """The conditions of constraints on the bodies that they hold, for one state.

    Args:
        model: the mechanism.
        constraints: those that close its loops.
        q: configuration, (nq,).
        v: velocity, (nv,).

    Example:
        >>> import numpy as np
        >>> import linkwork as lw
        >>> from linkwork.algorithms import closing
        >>> from linkwork.inside import loop_conditions, machine_code
        >>> arm = lw.mechanisms.serial_chain(4)
        >>> q, v = lw.random_state(arm, 0)
        >>> pinned = [lw.PointOnPlane("tip", normal="y")]
        >>> frames, conditions = loop_conditions(arm, pinned, q, v)
        >>> code = machine_code(closing(), arm, frames, form="looped")
        >>> a = code(*(x[None] for x in (q, v, 0.0 * v, *conditions)))[0][0]
        >>> bool(np.allclose(a, lw.constrained_dynamics(arm, q, v, 0.0 * v, pinned)[0]))
        True
    """
    held = held_by(model, constraints)
    conditions = loop_rows(held, q, v, held.placements, None)
    arguments = (conditions.C.ravel(), conditions.bias.ravel(), conditions.unused.ravel())
    return LoopConditions(tuple(held.hold_frames), arguments)
