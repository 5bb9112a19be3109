"""Levels of strict priority: each acts in the dynamically consistent null space of all before it.

The joint forces that a level may still use are N Jᵀ, with N = 1 - U Uᵀ M⁻¹ and U an M⁻¹-orthonormal basis of the forces
of the levels before it, whose accelerations they do not change: J M⁻¹ N = 0. The remaining mobility, S = J M⁻¹ N Jᵀ, is
the inverse of the level's operational inertia (Λ⁻¹ for the first level). Its eigenvalues show in which directions the
level can accelerate its points. They are dimensionless: they are relative to the mobility that the points would have
with no level before, the mean over the three axes of a point's position or rotation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import nan

import numpy as np

from linkwork.compiled.arrays import numbers
from linkwork.control.rotations import array_of
from linkwork.dynamics.arguments import Array
from linkwork.errors import SingularError
from linkwork.spatial import Factor, Scalar, sqrt, total, where_less
from linkwork.spatial.matrices import unit

HANDLING = ("drop", "damp", "raise")
_NOTHING = 1e-12
"""An eigenvalue below this is rounding: no force causes an acceleration in that direction."""


@dataclass(frozen=True)
class Level:
    """The result of one level.

    Attributes:
        rank: how many of its ``size`` accelerations it commands in full.
        size: the number of accelerations desired.
        mobility: (size,), the eigenvalues of the remaining mobility, relative to that of the points without the levels
            before; ascending.
        singular: (k, size), unit rows: the directions, in the points' own axes and in those units, that were dropped or
            damped.
    """

    rank: int
    size: int
    mobility: Array
    singular: Array


class Hierarchy:
    """Accumulates the joint forces of levels, in order of priority."""

    def __init__(self, nv: int, handling: str, threshold: float) -> None:
        self._handling, self._threshold = handling, threshold
        self.forces = np.zeros(nv)
        self.levels: list[Level] = []
        self._taken = np.empty((nv, 0))  # U
        self._caused = np.empty((nv, 0))  # M⁻¹ U

    def add(self, jacobian: Array, responses: Array, acceleration: Array) -> None:
        """Add a level: accelerate rows J without changing the levels before. ``responses`` is J M⁻¹."""
        units = np.sqrt(_mean_of_three(len(jacobian)) @ (responses * jacobian).sum(axis=1))
        units[units == 0.0] = 1.0
        basis, caused = jacobian.T / units, responses.T / units
        for _ in range(2 if self.levels else 0):  # the second time to remove rounding errors
            shared = self._caused.T @ basis
            basis, caused = basis - self._taken @ shared, caused - self._caused @ shared
        eigenvalues, directions = np.linalg.eigh(basis.T @ caused)
        basis, caused = basis @ directions, caused @ directions
        short = int(np.searchsorted(eigenvalues, self._threshold, side="right"))  # eigenvalues are ascending
        missing = (acceleration - responses @ self.forces) / units @ directions
        inverse = np.zeros(len(units))
        inverse[short:] = 1.0 / eigenvalues[short:]
        kept = short
        if short and self._handling == "raise":
            raise SingularError(
                f"level {len(self.levels) + 1} of the controller asks for {len(units)} accelerations, of which only "
                f"{len(units) - short} can be caused without touching the levels before (smallest eigenvalue "
                f"{eigenvalues[0]:.2g}). Ask for fewer axes, or pass singular='drop' or 'damp'"
            )
        if short and self._handling == "damp":
            inverse[:short] = eigenvalues[:short].clip(0.0) / self._threshold**2
            kept = int(np.searchsorted(eigenvalues, _NOTHING, side="right"))
        self.forces = self.forces + basis @ (inverse * missing)
        lengths = np.sqrt(eigenvalues[kept:])
        self._taken = np.concatenate((self._taken, basis[:, kept:] / lengths), axis=1)
        self._caused = np.concatenate((self._caused, caused[:, kept:] / lengths), axis=1)
        self.levels.append(Level(len(units) - short, len(units), eigenvalues, directions[:, :short].T))

    def beneath(self, forces: Array) -> Array:
        """N τ: the part of joint forces (nv,) that does not accelerate anything that a level commands."""
        for _ in range(2):
            forces = forces - self._taken @ (self._caused.T @ forces)
        return forces


def regular_forces(mobility: Array, right: Array, sizes: Sequence[int], handling: str, threshold: float) -> Array:
    """F with Λ⁻¹ F = right, for levels of these sizes, over traced arrays; NaN where a level may be singular.

    In Λ⁻¹ = L D Lᵀ of all levels, in the units of ``Hierarchy``, the mobility that remains for a level is Lₖ Dₖ Lₖᵀ of
    its own rows. Its least eigenvalue is at least 1 / trace((Lₖ Dₖ Lₖᵀ)⁻¹). Rows that the mechanism cannot move in any
    state, such as those out of the plane of a planar leg, are dropped like any singular direction.
    """
    A, b = numbers(mobility).tolist(), numbers(right).tolist()
    mobilities = [A[k][k] for k in range(len(b))]
    units = _units(mobilities)
    moved = [not isinstance(x, float) or x > 0.0 for x in mobilities]
    rows = [k for k in range(len(b)) if moved[k]]
    factor = Factor.of_matrix([[A[r][c] * (units[r] * units[c]) for c in rows[: i + 1]] for i, r in enumerate(rows)])
    sound: Scalar = 0.0 if handling != "raise" or all(moved) else nan
    first = place = 0
    for size in sizes:
        count = sum(moved[place : place + size])
        pivots = factor.inverse_pivots[first : first + count]
        trace = _trace_of_inverse(Factor([row[first:] for row in factor.lower[first : first + count]], pivots))
        for pivot in pivots:
            sound = where_less(0.0, pivot, sound, nan)
        sound = where_less(trace * threshold, 1.0, sound, nan)
        first, place = first + count, place + size
    forces: list[Scalar] = [0.0] * len(b)
    for r, force in zip(rows, factor.solve([b[r] * units[r] for r in rows]), strict=True):
        forces[r] = force * units[r]
    return array_of([forces[0] + sound, *forces[1:]])


def _units(mobilities: list[Scalar]) -> list[Scalar]:
    """Units in which the mean mobility of each point's three translations, and three rotations, is 1."""
    units: list[Scalar] = []
    for k in range(0, len(mobilities), 3):
        mean = total(mobilities[k : k + 3]) / 3.0
        units += [1.0 / sqrt(where_less(0.0, mean, mean, 1.0))] * 3
    return units


def _trace_of_inverse(factor: Factor) -> Scalar:
    pivots = factor.inverse_pivots
    columns = [factor.forward(unit(k, len(pivots))) for k in range(len(pivots))]
    return total([0.0, *(x * x * d for column in columns for x, d in zip(column, pivots, strict=True))])


@lru_cache
def _mean_of_three(size: int) -> Array:
    """The matrix that replaces each three consecutive numbers by their mean."""
    return np.kron(np.eye(size // 3), np.full((3, 3), 1.0 / 3.0))
