"""The plain interpreter: an algorithm's text run as it stands, over floats, a batch in NumPy arrays, or mpmath."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.algorithms import Algorithm
from linkwork.engine.spaces import SPACES
from linkwork.model.model import Frame, Model
from linkwork.model.tree import Tree
from linkwork.spatial import Scalar


def evaluate(
    algorithm: Algorithm,
    model: Model,
    arguments: Sequence[Sequence[Scalar] | None],
    frames: Sequence[Frame] = (),
    tree: Tree | None = None,
    rotors: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Run an algorithm over flat lists of any scalars; None stands for no external forces, and for the model's own
    rotor inertias.
    """
    tree = tree or Tree(model, frames, _number(arguments))
    if rotors is not None:
        tree.set_rotors(SPACES["velocity"].scatter(model, rotors))
    fields: list[Any] = [
        tree.unloaded() if numbers is None else SPACES[space].scatter(model, numbers)
        for (_, space), numbers in zip(algorithm.arguments, arguments, strict=True)
    ]
    values = algorithm.text(tree, *fields)
    return [
        SPACES[space].gather(model, len(frames), value) for space, value in zip(algorithm.results, values, strict=True)
    ]


def _number(arguments: Sequence[Sequence[Scalar] | None]) -> Callable[[float], Scalar] | None:
    """Converts a float to an mpmath number, if the arguments are such numbers."""
    first: Scalar = next((number for numbers in arguments for number in numbers or ()), 0.0)
    return first.context.mpf if hasattr(first, "context") else None


def interpret(
    algorithm: Algorithm,
    model: Model,
    arguments: Sequence[NDArray[np.float64] | None],
    batch: tuple[int, ...],
    frames: Sequence[Frame] = (),
    rotors: NDArray[np.float64] | None = None,
) -> list[NDArray[np.float64]]:
    """Run an algorithm over checked arrays, each (*batch, *shape of its space); None stands for no external forces, and
    for the model's own rotor inertias.
    """
    flat: list[Sequence[Scalar] | None] = []
    for array in (*arguments, rotors):
        if array is None:
            flat.append(None)
        elif batch:
            flat.append(list(np.ascontiguousarray(np.moveaxis(array.reshape((*batch, -1)), -1, 0))))
        else:
            flat.append(array.ravel().tolist())
    with np.errstate(all="ignore"):
        results = evaluate(algorithm, model, flat[:-1], frames, rotors=flat[-1])
    arrays = []
    for space, numbers in zip(algorithm.results, results, strict=True):
        array = np.empty((*batch, len(numbers)))
        for k, number in enumerate(numbers):
            array[..., k] = number
        array += 0.0  # clears the sign of zeros, which depends on how they were computed
        arrays.append(array.reshape((*batch, *SPACES[space].shape(model, len(frames)))))
    return arrays
