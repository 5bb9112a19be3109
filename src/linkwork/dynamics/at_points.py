"""Operational-space quantities at points of a model, written over arrays of floats or of traced numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from linkwork.algorithms import INVERSION, Algorithm
from linkwork.algorithms.consistent_inverse import consistent_inverse, inertia_inverse
from linkwork.compiled.arrays import is_traced, numbers
from linkwork.dynamics.arguments import Array, PointSet
from linkwork.dynamics.call import call
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.inversion import inverted, triples
from linkwork.engine.plans import looped
from linkwork.model.model import Model
from linkwork.model.queries import weightless
from linkwork.spatial.small_matrices import motion_matrix, times, transposed


@dataclass(frozen=True)
class AtPoints:
    """Points, and the quantities computed at them. Arrays have those of the six rows of each point that it asks for."""

    asked: PointSet
    method: str
    """The method for Λ⁻¹."""
    reference: str
    """The axes and origin in which motions and forces are expressed."""
    offsets: Sequence[Any]
    pseudo_inverse: bool = False

    def jacobian(self, q: Array) -> Array:
        return self.asked.rows(self._whole(f"jacobian/{self.reference}", q), -2)

    def drift(self, q: Array, v: Array) -> Array:
        return self.asked.rows(self._whole(f"jacobian_drift/{self.reference}", q, v), -1)

    def accelerations_under(self, model: Model, q: Array, v: Array, tau: Any = None) -> Array:
        """J̇v + J M⁻¹ (τ - c - g): the accelerations of a model, which may be without gravity, under joint forces."""
        a = forward_dynamics(model, q, v, np.zeros(model.nv) if tau is None else tau)
        found = self._whole(f"frame_accelerations/{self.reference}", q, v, a)
        return self.asked.rows(found.reshape(*found.shape[:-2], 6 * found.shape[-2]), -1)

    def coasting(self, q: Array, v: Array) -> Array:
        """J̇v - J M⁻¹ c: the accelerations without gravity and joint forces."""
        return self.accelerations_under(weightless(self.asked.model), q, v)

    def free_fall(self, q: Array) -> Array:
        """-J M⁻¹ g, for the gravity torques g: the accelerations from rest."""
        return self.accelerations_under(self.asked.model, q, np.zeros(self.asked.model.nv))

    def inertia_inverse(self, q: Array, by_rows: bool = False) -> Array:
        """Λ⁻¹; set ``by_rows`` if ``consistent_inverse`` follows, which uses the same rows."""
        if by_rows and self.method == "sparse" and self._one_kernel(q):
            found = self._traced("inertia_inverse", inertia_inverse, "operational", q)
        else:
            found = self._whole(f"operational/{self.method}", q)
        if self.reference != "local":
            turn = self._turn(q)
            found = turn @ found @ transposed(turn)
            found = 0.5 * (found + transposed(found))
        return self.asked.rows(self.asked.rows(found, -1), -2)

    def responses(self, q: Array) -> Array:
        """J M⁻¹."""
        found = self._whole("force_responses", q)
        return self.asked.rows(found if self.reference == "local" else self._turn(q) @ found, -2)

    def consistent_inverse(self, q: Array, inertia: Array) -> Array:
        """J̄ = M⁻¹ Jᵀ Λ."""
        asked = self.asked
        if not self._one_kernel(q) or not is_traced(inertia) or inertia.ndim > 2:
            return transposed(self.responses(q)) @ inertia
        seen = np.eye(6 * len(asked.frames)) if self.reference == "local" else self._turn(q)
        return transposed(self.weighted_responses(q, inertia @ asked.rows(seen, -2)))

    def weighted_responses(self, q: Array, rows: Array) -> Array:
        """The product of rows (r, 6m) with J M⁻¹ in the points' own axes, in a kernel of one state."""
        count, size = len(rows), 6 * len(self.asked.frames)
        weights = np.zeros((size, size), dtype=object)
        weights[:count] = numbers(rows)
        text = partial(consistent_inverse, weights=weights.tolist())
        return self._traced("consistent_inverse", text, "responses", q)[:count]

    def accelerations(self, q: Array, tau: Array) -> Array:
        """J M⁻¹ τ."""
        if not is_traced(q) and not is_traced(tau):
            return times(self.responses(q), tau)
        free = weightless(self.asked.model)
        return self.accelerations_under(free, q, np.zeros(free.nv), tau)

    def inertia(self, inverse: Array, damping: Any) -> Array:
        """Λ from Λ⁻¹."""
        if not is_traced(inverse):
            return inverted(self.asked, inverse, float(damping), self.pseudo_inverse)
        size = inverse.shape[-1]
        frames = triples(self.asked, size // 3).frames
        return call(INVERSION.name, self.asked.model, [inverse + damping * np.eye(size)], frames)[0]

    def _one_kernel(self, q: Array) -> bool:
        """Whether a single state of few bodies is being traced."""
        return is_traced(q) and q.ndim == 1 and not looped(self.asked.model)

    def _traced(self, name: str, text: Callable[..., Any], result: str, q: Array) -> Array:
        """The result of a function that is not an algorithm of the catalogue."""
        from linkwork.dynamics.traced import traced_call

        algorithm = Algorithm(name, text, (("q", "configuration"),), (result,))
        return traced_call(algorithm, self.asked.model, [q], self.asked.frames, self.offsets)[0]

    def _whole(self, name: str, *values: Array) -> Array:
        """The result of an algorithm, six rows for each point."""
        asked = self.asked
        table = asked.quick if asked.kept is None else asked.whole
        return call(name, asked.model, values, asked.frames, self.offsets, table)[0]

    def _turn(self, q: Array) -> Array:
        """(6m, 6m): maps motions in the points' own axes to the reference."""
        places = self._whole("frame_placements", q)
        if self.reference == "local_world_aligned":
            places = places * np.array([[1.0, 1.0, 1.0, 0.0]] * 3 + [[0.0, 0.0, 0.0, 1.0]])
        blocks = motion_matrix(places)
        count = len(self.asked.frames)
        rows = []
        for i in range(count):
            nothing = np.zeros_like(blocks[..., i, :, :])
            rows.append(np.concatenate([blocks[..., i, :, :] if i == k else nothing for k in range(count)], axis=-1))
        return np.concatenate(rows, axis=-2)
