"""From a public function to an engine: arguments checked once, then machine code or the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.dynamics.arguments import Array, Asked, as_batch
from linkwork.engine import mode
from linkwork.engine.function import function
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan
from linkwork.engine.plans.task import moved
from linkwork.engine.spaces import SPACES
from linkwork.engine.trace.interpreter import evaluate
from linkwork.errors import SingularError
from linkwork.model.memo import Quick
from linkwork.model.model import Frame, Model
from linkwork.model.tree import Node, Tree
from linkwork.spatial import LARGEST_ANGLE, LONGEST


def call(
    algorithm: str | Algorithm,
    model: Model,
    values: Sequence[ArrayLike | None],
    frames: Sequence[Frame] = (),
    offsets: Sequence[float] = (),
    quick: Quick | None = None,
) -> list[Array]:
    """The results of an algorithm, of the catalogue if it is a name, for arguments as the user gave them.

    ``offsets`` moves the frames, three numbers each, without new code being made for it. What is made for single states
    is kept in ``quick``, or with the model.
    """
    if isinstance(algorithm, str):
        algorithm = ALGORITHMS[algorithm]
    form = current_form()
    arguments, batch = as_batch(model, algorithm.arguments, values, len(frames), finite=form == "interpreted")
    if 0 in batch:
        as_batch(model, algorithm.arguments, values, len(frames))
        return [np.empty((*batch, *SPACES[space].shape(model, len(frames)))) for space in algorithm.results]
    absent = tuple(name for (name, _), array in zip(algorithm.arguments, arguments, strict=True) if array is None)
    states = prod(batch)
    rows = [_rows(array, batch, states) for array in arguments if array is not None]
    try:
        plan = function(algorithm, model, absent, frames, bool(offsets), form)
        found, status = plan.run(rows, states, offsets)
    except (ZeroDivisionError, OverflowError):  # a constant of the model, or the only state
        found, status = [], 2
    if status:
        as_batch(model, algorithm.arguments, values, len(frames))  # an argument that is not finite is said first
        where = _first_not_finite(found, batch)
        state = [None if array is None else array[where] for array in arguments]
        raise diagnose(algorithm, model, state, moved(frames, offsets))
    if not batch and form == "auto":
        _keep_short_path(plan, model._memo.quick if quick is None else quick)
    return [result.reshape((*batch, *shape)) for result, shape in zip(found, plan.task.shapes, strict=True)]


def _first_not_finite(results: Sequence[Array], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The first state of a batch with a result that is not finite."""
    finite = np.ones(prod(batch), dtype=bool)
    for result in results:
        finite &= np.isfinite(result).all(axis=1)
    return tuple(int(k) for k in np.unravel_index(int(np.argmin(finite)), batch)) if batch else ()


def _keep_short_path(plan: Plan, quick: Quick) -> None:
    """From now on, ``quick`` and ``quick_frames`` can take one state of plain arrays."""
    single = plan.single()
    if single is not None:
        algorithm = plan.task.algorithm
        loaded = any(name == "f_ext" for name, _ in algorithm.arguments) and "f_ext" not in plan.task.absent
        quick[(algorithm.name, "f_ext") if loaded else algorithm.name] = single


def quick(name: str, model: Model, *values: ArrayLike | None) -> Any:
    """What an algorithm results in, an array or several: for one state of plain arrays at once, else by ``call``."""
    try:
        answer = None if mode.forced else model._memo.quick[name](*values)
    except AttributeError:  # not a model, which ``call`` will say
        answer = None
    return every(name, model, *values) if answer is None else answer


def every(name: str, model: Model, *values: ArrayLike | None) -> Any:
    """The same by ``call`` at once; an external force may be left out at the end."""
    absent = [None] * (len(ALGORITHMS[name].arguments) - len(values))
    results = call(name, model, [*values, *absent])
    return results[0] if len(results) == 1 else tuple(results)


def quick_frames(name: str, asked: Asked, *values: ArrayLike) -> Any:
    """Like ``quick``, for an algorithm that is asked about frames."""
    answer = None if mode.forced else asked.quick[name](*values, *asked.moves)
    if answer is not None:
        return answer
    results = call(name, asked.model, values, asked.frames, asked.offsets, asked.quick)
    return results[0] if len(results) == 1 else tuple(results)


def _rows(array: Array, batch: tuple[int, ...], states: int) -> Array:
    """(states, numbers of one state): contiguous, or one row for all states where all are the same."""
    if not batch and array.flags.c_contiguous:
        return array.reshape(1, -1)
    if not any(array.strides[: len(batch)]) or states == 1:
        one = np.ascontiguousarray(array[(0,) * len(batch)]).reshape(1, -1)
        return np.broadcast_to(one, (states, one.shape[1]))
    return np.ascontiguousarray(array).reshape(states, -1)


def diagnose(
    algorithm: Algorithm, model: Model, state: Sequence[Array | None], frames: Sequence[Frame]
) -> SingularError:
    """Why one state of finite arguments gave no finite result."""
    for (name, space), array in zip(algorithm.arguments, state, strict=True):
        if array is None:
            continue
        if space == "configuration":
            for body, start in zip(model.bodies, model.q_start, strict=True):
                reason = _bad_configuration(name, body.joint, array[start : start + body.joint.nq])
                if reason:
                    return SingularError(f"{algorithm.name}: joint {body.joint_name!r}: {reason}")
        if array.size and abs(array).max() > (LARGEST_ANGLE if name == "dv" else 1e100):
            where = tuple(int(i) for i in np.unravel_index(int(abs(array).argmax()), array.shape))
            which = SPACES[space].coordinate(model, where)
            return SingularError(f"{algorithm.name}: the numbers overflow; {name} of {which} is {array[where]:.3g}")
    tree = _Watched(model, frames)
    try:
        evaluate(algorithm, model, [None if a is None else a.ravel().tolist() for a in state], frames, tree)
    except ZeroDivisionError:
        if tree.at is not None:
            joint = model.joint_names[tree.at - 1]
            if algorithm.name in ("composite_body", "unit_vector") and _articulated_body_can(model, state):
                return SingularError(
                    f"{algorithm.name}: joint {joint!r} moves so little beside what it carries that rounding of the "
                    f"mass matrix leaves nothing of it. Use method='articulated_body', which forms no mass matrix"
                )
            return SingularError(
                f"{algorithm.name}: joint {joint!r} can move without moving any inertia (but what rounding leaves), so "
                f"its acceleration is not determined. Give the bodies behind it mass and inertia, and frames near "
                f"their centres of mass, or the joint an armature"
            )
        if model.mass == 0.0:
            return SingularError(f"{algorithm.name}: model {model.name!r} has no mass")
    return SingularError(f"{algorithm.name}: the result is not finite at this state of model {model.name!r}")


def _articulated_body_can(model: Model, state: Sequence[Array | None]) -> bool:
    """Whether another method of forward dynamics has a result."""
    flat = [None if a is None else a.ravel().tolist() for a in state]
    try:
        return all(map(isfinite, evaluate(ALGORITHMS["articulated_body"], model, flat)[0]))
    except ZeroDivisionError:
        return False


def _bad_configuration(name: str, joint: object, q: Array) -> str | None:
    angles = [abs(float(q[k])) for k in joint.angles]  # type: ignore[attr-defined]
    if angles and max(angles) > LARGEST_ANGLE:
        return (
            f"{name} is an angle of {max(angles):.3g} rad; beyond {LARGEST_ANGLE:g} rad sine and cosine lose their "
            f"meaning. Bring it nearer to zero by whole turns"
        )
    ones = np.flatnonzero(joint.neutral())  # type: ignore[attr-defined]
    if ones.size:
        largest = float(abs(q[-4 if q.size != 4 or ones[0] == 3 else -2 :]).max())
        if largest < 1.0 / LONGEST:
            return f"the rotation in {name} has length zero; lw.neutral(model) shows a valid configuration"
        if largest > 1e-80 * LONGEST:  # products of two rotations overflow earlier
            return (
                f"the rotation in {name} has a number of size {largest:.3g}, whose square is beyond what a float64 "
                f"holds; a quaternion, or a cosine and sine, should have length 1"
            )
    return None


class _Watched(Tree):
    """A tree that remembers which body an inward walk has come to."""

    at: int | None = None

    def inward(self) -> Iterator[Node]:
        for node in super().inward():
            self.at = node.index
            yield node
        self.at = None
