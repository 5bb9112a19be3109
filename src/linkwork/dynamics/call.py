"""From a public function to an engine: arguments checked once, then machine code or the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.dynamics.arguments import Array, as_batch, name_coordinate
from linkwork.engine.interpreter import evaluate, interpret
from linkwork.engine.spaces import shape
from linkwork.errors import SingularError
from linkwork.model.model import Frame, Model
from linkwork.model.tree import Node, Tree
from linkwork.spatial import LARGEST_ANGLE


def call(name: str, model: Model, values: Sequence[ArrayLike | None], frames: Sequence[Frame] = ()) -> list[Array]:
    """The results of an algorithm of the catalogue for arguments as the user gave them."""
    algorithm = ALGORITHMS[name]
    arguments, batch = as_batch(model, algorithm.arguments, values)
    if 0 in batch:
        return [np.empty((*batch, *shape(space, model, len(frames)))) for space in algorithm.results]
    try:
        results = interpret(algorithm, model, arguments, batch, frames)
    except (ZeroDivisionError, OverflowError):
        first = (0,) * len(batch)  # a constant of the model: every state fails
        raise diagnose(algorithm, model, [None if a is None else a[first] for a in arguments], frames) from None
    for space, result in zip(algorithm.results, results, strict=True):
        states = np.isfinite(result).reshape((*batch, -1)).all(axis=-1)
        if not states.all():
            where = tuple(np.argwhere(~states)[0])
            raise diagnose(algorithm, model, [None if a is None else a[where] for a in arguments], frames)
        assert result.shape == (*batch, *shape(space, model, len(frames)))
    return results


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
            which = name_coordinate(model, space, where)
            return SingularError(f"{algorithm.name}: the numbers overflow; {name} of {which} is {array[where]:.3g}")
    tree = _Watched(model, frames)
    try:
        evaluate(algorithm, model, [None if a is None else a.ravel().tolist() for a in state], frames, tree)
    except ZeroDivisionError:
        if tree.at is not None:
            joint = model.joint_names[tree.at - 1]
            return SingularError(
                f"{algorithm.name}: joint {joint!r} can move without moving any inertia, so its acceleration is not "
                f"determined. Give the bodies behind it mass and inertia, or the joint an armature"
            )
        if model.mass == 0.0:
            return SingularError(f"{algorithm.name}: model {model.name!r} has no mass")
    return SingularError(f"{algorithm.name}: the result is not finite at this state of model {model.name!r}")


def _bad_configuration(name: str, joint: object, q: Array) -> str | None:
    angles = [abs(float(q[k])) for k in joint.angles]  # type: ignore[attr-defined]
    if angles and max(angles) > LARGEST_ANGLE:
        return (
            f"{name} is an angle of {max(angles):.3g} rad; beyond {LARGEST_ANGLE:g} rad sine and cosine lose their "
            f"meaning. Bring it nearer to zero by whole turns"
        )
    ones = np.flatnonzero(joint.neutral())  # type: ignore[attr-defined]
    if ones.size and abs(q[-4 if q.size != 4 or ones[0] == 3 else -2 :]).max() < 1e-150:
        return f"the rotation in {name} has length zero; lw.neutral(model) shows a valid configuration"
    return None


class _Watched(Tree):
    """A tree that remembers which body an inward walk has come to."""

    at: int | None = None

    def inward(self) -> Iterator[Node]:
        for node in super().inward():
            self.at = node.index
            yield node
        self.at = None
