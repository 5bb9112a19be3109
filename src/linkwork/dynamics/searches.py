"""The common part of searches with ``least_squares`` for a model: residuals, their scale, and compiled code."""

from __future__ import annotations

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
"""The initial λ and weight of a posture, relative to the mean square of J's singular values."""
_PROBES = 32
"""Sample configurations at which J is evaluated for its scale."""


class Problem(Search):
    """Residuals over the configurations of a model that are to become zero.

    Attributes:
        argument: the name and shape of the problem's argument.
        what: the data that determine the compiled code, besides the model and the frames.
        size: the mean square of the singular values of J, with the default weights of the residuals.
    """

    name: str
    size: float
    argument: tuple[str, Shape]
    what: tuple[object, ...]

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

    def configurations(self) -> Array:
        """Sample configurations spread over the limits."""
        own, model = self.coordinates, self.model
        limits = Limits.of(own, model.lower_limit, model.upper_limit, True, 1.0)
        rest = np.tile(neutral(model), (_PROBES, 1))
        drawn = own.anew(sampled(np.arange(float(_PROBES)), limits.base, limits.span), rest)
        return np.asarray(own.whole(drawn, rest))

    def fixed(self, limits: bool, length: float, restarts: int, from_middle: bool = False) -> list[Array]:
        """The arguments of a search that follow the initial configuration: limits, with ``length`` (m) the range of
        starts for unlimited sliders, and settings. Restarts begin in the middle, unless the first start did. Cached.
        """
        key = limits, length, restarts, from_middle
        if key not in self._fixed:
            if len(self._fixed) >= 100:
                self._fixed.clear()
            self._fixed[key] = self._made(*key)
        return self._fixed[key]

    def _made(self, limits: bool, length: float, restarts: int, from_middle: bool) -> list[Array]:
        model = self.model
        box = Limits.of(self.coordinates, model.lower_limit, model.upper_limit, limits, length)
        iterations = (2.0 if self.posture else 1.0) * MOST_ITERATIONS
        pull = _FIRST_PULL * self.size if self.posture else 0.0
        numbers = (_FIRST_DAMPING * self.size, iterations, float(restarts), pull, 0.0 if from_middle else 1.0)
        return [box.low, box.high, box.base, box.span, np.array(numbers)]

    def text(self, q0: Any, *given: Any, batch: int = 0) -> tuple[Any, Any, Any]:
        """The configuration, the norm of each group of residuals there, and the number of iterations."""
        if not self.coordinates.v:  # nothing to search for
            q = self.coordinates.whole(q0[..., []], q0)
            return q, self.lengths(q, given[-1]), np.ones(q0.shape[:-1])
        q, total = self.nearest(q0, *given, batch=batch)
        return q, self.lengths(q, given[-1]), total

    def lengths(self, q: Any, argument: Any) -> Any:
        """The norm of each group of residuals."""
        e, _ = self.residuals(q, argument)
        return np.stack([np.sqrt((e[..., list(group)] ** 2).sum(axis=-1)) for group in self.groups], axis=-1)

    def solved(self, q0: Array, *fixed: Array) -> tuple[Array, Array, Array]:
        """The same for rows of configurations: by the kernel, or on arrays of floats."""
        if not self.coordinates.v or not self.law.fits:
            return self.text(q0, *fixed, batch=1)
        q, lengths, total = self.law.quick(None, q0, *fixed) or self.law.attempt([q0, *fixed])[0]
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
        what, own_class = (*self.what, self.posture), type(self).__module__.startswith("linkwork.")
        return law(self.name, text, shapes, results, self.model, self.frames, what, optional=True, identified=own_class)
