"""What searches of ``least_squares`` for a model have in common: residuals, how large they are, and code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.law import law
from linkwork.compiled.tracing import Shape
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.kinematics import neutral
from linkwork.dynamics.least_squares import MOST_ITERATIONS, SETTINGS, Search, sampled
from linkwork.dynamics.search_coordinates import Coordinates, Follower, Limits
from linkwork.model.model import Frame, Model
from linkwork.properties import cached_property

_FIRST_DAMPING, _FIRST_PULL = 0.5, 1e-2
"""λ and the weight of a posture at first, over the mean square of J's singular values."""
_PROBES = 32
"""Configurations by which J is measured."""


class Problem(ABC):
    """Residuals over the configurations of a model that are to become zero.

    Attributes:
        coordinates: that matter.
        groups: the residuals whose length must be within a tolerance.
        posture: whether the configuration is to stay near one.
        size: the mean square of the singular values of J, weighted as the residuals are by default.
    """

    name: str
    size: float

    def __init__(
        self,
        model: Model,
        frames: Sequence[Frame],
        bodies: Sequence[int],
        groups: Sequence[Sequence[int]],
        posture: bool = False,
        followers: Sequence[Follower] = (),
    ) -> None:
        self.model, self.frames, self.posture = model, frames, posture
        self.coordinates = Coordinates(model, bodies, followers)
        self.groups = tuple(map(tuple, groups))
        self._fixed: dict[tuple[bool, float, int, bool], list[Array]] = {}
        self.search = Search(self.coordinates, self.residuals, self.groups, posture)

    @abstractmethod
    def residuals(self, q: Any, argument: Any) -> tuple[Any, Any]:
        """e (..., r) and J (..., r, nv), minus its derivative, for an argument of the problem."""

    @property
    @abstractmethod
    def argument(self) -> tuple[str, Shape]:
        """The name and the shape of that argument."""

    @property
    @abstractmethod
    def what(self) -> tuple[object, ...]:
        """What code follows from besides the model and the frames."""

    @property
    @abstractmethod
    def is_compiled(self) -> bool:
        """Whether one kernel is made of it; a mechanism may have too many bodies."""

    def configurations(self) -> Array:
        """Some, over all of the limits."""
        own, model = self.coordinates, self.model
        limits = Limits.of(own, model.lower_limit, model.upper_limit, True, 1.0)
        rest = np.tile(neutral(model), (_PROBES, 1))
        drawn = own.anew(sampled(np.arange(float(_PROBES)), limits.base, limits.span), rest)
        return np.asarray(own.whole(drawn, rest))

    def fixed(self, limits: bool, length: float, restarts: int, from_middle: bool = False) -> list[Array]:
        """What a search takes first after where it begins: limits, starts for sliders without any being taken within a
        ``length`` (m), and settings; restarts begin in the middle, unless the first start did. Made once, but for many
        different numbers.
        """
        key = limits, length, restarts, from_middle
        if key not in self._fixed:
            if len(self._fixed) >= 100:
                self._fixed.clear()
            self._fixed[key] = self._made(*key)
        return self._fixed[key]

    def _made(self, limits: bool, length: float, restarts: int, from_middle: bool) -> list[Array]:
        model = self.model
        found = Limits.of(self.coordinates, model.lower_limit, model.upper_limit, limits, length)
        iterations = (2.0 if self.posture else 1.0) * MOST_ITERATIONS
        pull = _FIRST_PULL * self.size if self.posture else 0.0
        numbers = (_FIRST_DAMPING * self.size, iterations, float(restarts), pull, 0.0 if from_middle else 1.0)
        return [found.low, found.high, found.base, found.span, np.array(numbers)]

    def text(self, q0: Any, *given: Any, batch: int = 0) -> tuple[Any, Any, Any]:
        """The configuration, the length of each group that it leaves, and iterations."""
        if not self.coordinates.v:  # nothing to search for
            q = self.coordinates.whole(q0[..., []], q0)
            return q, self._lengths(q, given[-1]), np.ones(q0.shape[:-1])
        q, total = self.search.found(q0, *given, batch=batch)
        return q, self._lengths(q, given[-1]), total

    def _lengths(self, q: Any, argument: Any) -> Any:
        e, _ = self.residuals(q, argument)
        return np.stack([np.sqrt((e[..., list(group)] ** 2).sum(axis=-1)) for group in self.groups], axis=-1)

    def solved(self, q0: Array, *given: Array) -> tuple[Array, Array, Array]:
        """The same for rows of configurations: by the kernel, or by the text over arrays."""
        if not self.is_compiled or not self.coordinates.v:
            return self.text(q0, *given, batch=1)
        served: tuple[Array, Array, Array] | None = self.law.quick(None, q0, *given)
        if served is not None:
            return served
        (q, lengths, total), _, _ = self.law.attempt([q0, *given])
        return q, lengths, total

    @cached_property
    def law(self) -> CompiledFunction:
        own, groups, rows = self.coordinates, len(self.groups), sum(map(len, self.groups))
        shapes: dict[str, Shape] = {"q0": (self.model.nq,)}
        shapes |= {name: (len(own.q),) for name in ("low", "high")} | {name: (len(own.v),) for name in ("base", "span")}
        shapes |= {"settings": (len(SETTINGS),), "weights": (rows,), "tolerances": (groups,)}
        if self.posture:
            shapes["posture"] = (self.model.nq,)
        name, shape = self.argument
        shapes[name] = shape

        def text(**values: Any) -> Any:
            return self.text(*values.values())

        results: list[Shape] = [(self.model.nq,), (groups,), ()]
        return law(self.name, text, shapes, results, self.model, self.frames, (*self.what, self.posture))
