"""The longest path of dependent operations, as written: the time on any number of processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork import Frame, Model
from linkwork.algorithms import Algorithm
from linkwork_lab.reproduce.counting import traverse


def longest_path(algorithm: Algorithm, model: Model, frames: Sequence[Frame] = ()) -> int:
    """Operations on the longest path from the arguments to a result, for one state without external forces.

    Example:
        >>> from linkwork.algorithms import ALGORITHMS
        >>> from linkwork import mechanisms
        >>> chains = [mechanisms.serial_chain(n) for n in (8, 16, 32)]
        >>> paths = [longest_path(ALGORITHMS["constraint_force"], chain) for chain in chains]
        >>> paths[2] - paths[1] == paths[1] - paths[0]  # as the logarithm
        True
    """
    results = traverse(algorithm, model, Depth(0), frames)
    return max((_depth(number) for numbers in results for number in numbers), default=0)


def _depth(number: Any) -> int:
    return number.depth if isinstance(number, Depth) else 0


class Depth:
    """A scalar without a value that knows the length of the path to it; choosing between two numbers costs nothing."""

    __slots__ = ("depth",)

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __add__(self, other: Any) -> Depth:
        return Depth(1 + max(self.depth, _depth(other)))

    __sub__ = __mul__ = __truediv__ = __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __add__

    def __neg__(self) -> Depth:
        return Depth(1 + self.depth)

    sqrt = __neg__

    def elementary(self, names: tuple[str, ...], text: Any, operands: tuple[Any, ...]) -> Any:
        results = tuple(Depth(1 + max(map(_depth, operands))) for _ in names)
        return results[0] if len(results) == 1 else results

    def __lt__(self, other: Any) -> Depth:
        return Depth(max(self.depth, _depth(other)))

    __gt__ = __lt__

    def select(self, chosen: Any, other: Any) -> Depth:
        return Depth(max(self.depth, _depth(chosen), _depth(other)))
