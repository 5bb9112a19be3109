"""The number of operations of an algorithm: as written, and in machine code for one mechanism.

As written, every operation of the algorithm's source counts, even a multiplication by a zero of the geometry: the cost
of a program that does not know its mechanism, as in the papers. Folded, the mechanism's numbers are constants, and
operations that they make redundant are removed, as are common subexpressions. Operations that only choose between two
numbers do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from linkwork import Frame, Model
from linkwork.algorithms import Algorithm
from linkwork.inside import Tree, evaluate, operations, size

KINDS = {
    "add, subtract": ("add", "sub", "neg"),
    "multiply": ("mul",),
    "divide": ("div",),
    "square root": ("sqrt",),
    "sine, cosine": ("sin", "cos"),
}
"""The kinds of operations counted separately, with their names in the intermediate code."""


def as_written(algorithm: Algorithm, model: Model, frames: Sequence[Frame] = ()) -> dict[str, int]:
    """Operations of each kind for one state without external forces, about these frames."""
    counts: Counter[str] = Counter()
    traverse(algorithm, model, CountingScalar(counts), frames)
    return _by_kind(counts)


def traverse(
    algorithm: Algorithm, model: Model, scalar: Any, frames: Sequence[Frame] = (), tree: Tree | None = None
) -> Any:
    """The results for one state without external forces, with one scalar for all numbers of the arguments and, unless
    there is a ``tree`` with others, of the mechanism.
    """
    arguments = [
        None if name == "f_ext" else [scalar] * size(space, model, len(frames)) for name, space in algorithm.arguments
    ]
    return evaluate(algorithm, model, arguments, frames, tree or Tree(model, frames, lambda _: scalar))


def folded(algorithm: Algorithm, model: Model, frames: Sequence[Frame] = ()) -> dict[str, int]:
    """The same in specialised code, where the mechanism's numbers are constants."""
    return _by_kind(operations(algorithm, model, frames))


def _by_kind(counts: Counter[str]) -> dict[str, int]:
    unknown = set(counts).difference(*KINDS.values(), {"less"})
    if unknown:
        raise KeyError(f"operations of no kind: {sorted(unknown)}")
    return {kind: sum(counts[name] for name in names) for kind, names in KINDS.items()}


class CountingScalar:
    """A scalar without a value, which counts the operations on it."""

    __slots__ = ("counts",)

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts

    def _one(self, kind: str) -> CountingScalar:
        self.counts[kind] += 1
        return self

    def __add__(self, _: Any) -> CountingScalar:
        return self._one("add")

    def __sub__(self, _: Any) -> CountingScalar:
        return self._one("sub")

    def __mul__(self, _: Any) -> CountingScalar:
        return self._one("mul")

    def __truediv__(self, _: Any) -> CountingScalar:
        return self._one("div")

    def __neg__(self) -> CountingScalar:
        return self._one("neg")

    def __lt__(self, _: Any) -> CountingScalar:
        return self

    __gt__ = __lt__

    def select(self, chosen: Any, _: Any) -> Any:
        return chosen

    __radd__, __rsub__, __rmul__, __rtruediv__ = __add__, __sub__, __mul__, __truediv__

    def sqrt(self) -> CountingScalar:
        return self._one("sqrt")

    def elementary(self, names: tuple[str, ...], text: Any, operands: tuple[Any, ...]) -> Any:
        results = tuple(self._one(name) for name in names)
        return results[0] if len(results) == 1 else results
