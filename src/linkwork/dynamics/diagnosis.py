"""Diagnosis of a non-finite result, by the interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

import numpy as np

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.arguments import Array
from linkwork.engine.spaces import SPACES
from linkwork.engine.trace.interpreter import evaluate
from linkwork.errors import SingularError
from linkwork.model.model import Frame, Model
from linkwork.model.segment_walks import Item
from linkwork.model.tree import Node, Tree
from linkwork.spatial import LARGEST_ANGLE, LONGEST


def diagnose(
    algorithm: Algorithm, model: Model, state: Sequence[Array | None], frames: Sequence[Frame]
) -> SingularError:
    """The error that says why a state of finite arguments has no finite result."""
    what, *_ = algorithm.name.split("+")  # a step's name without its parts
    for (name, space), array in zip(algorithm.arguments, state, strict=True):
        reason = None if array is None else _bad_argument(model, name, space, array)
        if reason:
            return SingularError(f"{what}: {reason}")
    flat = [None if a is None else a.ravel().tolist() for a in state]
    texts = [algorithm]
    if algorithm.segmented is not None:  # rounding may hide the cause in its algorithm for segments
        texts.append(ALGORITHMS["articulated_body"])
    for text in texts:
        tree = _Watched(model, frames)
        try:
            evaluate(text, model, flat, frames, tree)
        except ZeroDivisionError:
            if tree.at is None:
                if model.mass == 0.0:
                    return SingularError(f"{what}: model {model.name!r} has no mass")
                continue
            return SingularError(
                f"{what}: joint {model.joint_names[tree.at - 1]!r} {_no_inertia(algorithm, model, state)}"
            )
    return SingularError(f"{what}: the result is not finite at this state of model {model.name!r}")


def _bad_argument(model: Model, name: str, space: str, array: Array) -> str | None:
    """What is wrong with an argument, if its numbers are."""
    if space == "configuration":
        for body, start in zip(model.bodies, model.q_start, strict=True):
            reason = _bad_configuration(name, body.joint, array[start : start + body.joint.nq])
            if reason:
                return f"joint {body.joint_name!r}: {reason}"
    if not array.size or abs(array).max() <= (LARGEST_ANGLE if name == "dv" else 1e100):
        return None
    where = tuple(int(i) for i in np.unravel_index(int(abs(array).argmax()), array.shape))
    return f"the numbers overflow; {name} of {SPACES[space].coordinate(model, where)} is {array[where]:.3g}"


def _no_inertia(algorithm: Algorithm, model: Model, state: Sequence[Array | None]) -> str:
    """Why an algorithm divides by the inertia of a joint and finds zero."""
    if algorithm.name in ("composite_body", "unit_vector") and _articulated_body_can(model, state):
        return (
            "moves so little beside what it carries that rounding of the mass matrix leaves nothing of it. Use "
            "method='articulated_body', which forms no mass matrix"
        )
    return (
        "can move without moving any inertia (but what rounding leaves), so its acceleration is not determined. Give "
        "the bodies behind it mass and inertia, and frames near their centres of mass, or the joint an armature"
    )


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
        if largest > 1e-80 * LONGEST:  # products of two rotations overflow before LONGEST
            return (
                f"the rotation in {name} has a number of size {largest:.3g}, whose square is beyond what a float64 "
                f"holds; a quaternion, or a cosine and sine, should have length 1"
            )
    return None


class _Watched(Tree):
    """A tree that records the body at which an inward pass, or a step over bodies, is."""

    at: int | None = None

    def inward(self) -> Iterator[Node]:
        return self._watched(super().inward())

    def parallel(self, items: Iterable[Item]) -> Iterator[Item]:
        return self._watched(super().parallel(items))

    def _watched(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            self.at = item.index if isinstance(item, Node) else None
            yield item
        self.at = None
