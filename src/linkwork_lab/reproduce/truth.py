"""The reference for rounding errors: the same algorithm with 50 digits, with the model's floats taken as exact."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import Frame, MissingExtraError, Model
from linkwork.algorithms import Algorithm
from linkwork.inside import evaluate

DIGITS = 50

Array = NDArray[np.float64]


def exact(
    algorithm: Algorithm, model: Model, arguments: Sequence[Array | None], frames: Sequence[Frame] = ()
) -> list[list[Any]]:
    """The results for one state, as numbers of 50 digits; None stands for no external forces."""
    number = _context().mpf
    values = [None if array is None else [number(x) for x in array.tolist()] for array in arguments]
    return evaluate(algorithm, model, values, frames)


def relative_error(numbers: Sequence[float], truth: Sequence[Any]) -> float:
    """max |x - x₅₀| / max |x₅₀|."""
    number = _context().mpf
    worst = max(abs(number(float(x)) - t) for x, t in zip(numbers, truth, strict=True))
    return float(worst / max(abs(t) for t in truth))


@cache
def _context() -> Any:
    try:
        context = import_module("mpmath").MPContext()
    except ImportError:
        raise MissingExtraError("the truth of 50 digits needs mpmath: pip install mpmath") from None
    context.dps = DIGITS
    return context
