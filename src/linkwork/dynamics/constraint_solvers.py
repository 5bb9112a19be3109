"""Solving for the forces of constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.arguments import Array
from linkwork.compiled.arrays import numbers, traced
from linkwork.errors import ArgumentError, SingularError
from linkwork.spatial import Factor, absolute, total, where_less
from linkwork.spatial.small_matrices import times

_MOST_ITERATIONS = 100
_COMPILED_ITERATIONS = 8
_WELL_CONDITIONED = 1e-7
"""Of the largest number of the diagonal: a pivot below it asks for a closer look at the rank."""


Found = tuple[Array, Array, Array]
"""Accelerations, reactions, and the forces of constraints."""


class Solver(ABC):
    """Solves matrix · sizes = right, a symmetric matrix that is positive definite unless constraints are redundant."""

    def __init__(self, names: str, proximal: Any, function: str = "constrained_dynamics") -> None:
        self.names, self.proximal, self.function = names, proximal, function

    @abstractmethod
    def solve(self, matrix: Array, right: Array) -> Array:
        """The sizes."""

    @abstractmethod
    def columns(self, matrix: Array, right: Array) -> Array:
        """The same for many right-hand sides (..., r, c), after it was done for one."""

    @abstractmethod
    def iterated(self, found: Found, step: Callable[[Array], Found]) -> Found:
        """Accelerations, reactions and forces, by steps from forces to the next, until the forces do not change."""


class TracedSolver(Solver):
    """By factors L D Lᵀ; where pivots are small, or the proximal iteration does not end soon, no number results."""

    def solve(self, matrix: Array, right: Array) -> Array:
        leading, size = right.shape[:-1], right.shape[-1]
        rows = numbers(matrix).reshape(-1, size, size).tolist()
        rights = numbers(right).reshape(-1, size).tolist()
        found = np.empty((len(rows), size), dtype=object)
        for k, (A, b) in enumerate(zip(rows, rights, strict=True)):
            try:
                found[k, :] = self._one(A, b)
            except ZeroDivisionError:  # a pivot that is zero whatever the state
                found[k, :] = np.nan
        return traced(found.reshape((*leading, size)))

    def columns(self, matrix: Array, right: Array) -> Array:
        factor = Factor.of_matrix(numbers(matrix).tolist())
        found = np.array([factor.solve(column) for column in numbers(right).T.tolist()], dtype=object)
        return traced(found.reshape(right.shape[::-1]).T.copy())

    def iterated(self, found: Found, step: Callable[[Array], Found]) -> Found:
        before = found[2]
        for _ in range(_COMPILED_ITERATIONS):
            before, found = found[2], step(found[2])
        a, reactions, forces = found
        change, largest = abs(forces - before).max(), abs(forces).max()
        return a + np.where(change > 1e-13 * largest, np.nan, 0.0), reactions, forces

    def _one(self, A: list[list[Any]], b: list[Any]) -> list[Any]:
        size = len(A)
        largest = A[0][0]
        for k in range(1, size):
            largest = where_less(largest, A[k][k], A[k][k], largest)
        if isinstance(self.proximal, float) and not self.proximal:
            factor = Factor.of_matrix(A)
            sound: Any = 0.0
            for inverse_pivot in factor.inverse_pivots:
                share = inverse_pivot * (_WELL_CONDITIONED * largest)
                sound = where_less(0.0, share, where_less(share, 1.0, sound, np.nan), np.nan)
            x = factor.solve(b)
            return [x[0] + sound, *x[1:]]
        damping = self.proximal * (total(A[k][k] for k in range(size)) / float(size))
        factor = Factor.of_matrix(
            [[x + damping if r == c else x for c, x in enumerate(row)] for r, row in enumerate(A)]
        )
        x = factor.solve(b)
        step: Any = 0.0
        for iteration in range(_COMPILED_ITERATIONS):
            following = factor.solve([y + damping * z for y, z in zip(b, x, strict=True)])
            if iteration == _COMPILED_ITERATIONS - 1:
                step = _largest([y - z for y, z in zip(following, x, strict=True)])
            x = following
        sound = where_less(1e-13 * _largest(x), step, np.nan, 0.0)
        return [x[0] + sound, *x[1:]]


def _largest(x: Sequence[Any]) -> Any:
    found = absolute(x[0])
    for number in x[1:]:
        found = where_less(found, absolute(number), absolute(number), found)
    return found


def no_number(function: str, names: str) -> SingularError:
    """The error of constraints that ask for nothing that exists."""
    return SingularError(
        f"{function}: what the constraints {names} ask for is no number in this state; a disc that lies flat on its "
        f"plane, for instance, does not roll"
    )


class JoinedSolver(Solver):
    """By Cholesky's factors, after a look at the rank; if damped, by the proximal iteration. Any number of states."""

    advice = "Leave out what is redundant, or pass proximal=1e-6"

    def _check(self, right: Array) -> None:
        if np.isnan(right).any():
            raise no_number(self.function, self.names)
        if not np.isfinite(right).all():
            raise ArgumentError(
                "stabilisation must be several steps of the integration; what it asks of the constraints overflows"
            )

    def solve(self, matrix: Array, right: Array) -> Array:
        self._check(right)
        if not np.isfinite(matrix).all():
            raise SingularError(
                f"{self.function}: what the constraints {self.names} hold overflows; use smaller numbers"
            )
        size = matrix.shape[-1]
        diagonal = matrix.diagonal(axis1=-2, axis2=-1)
        if not self.proximal:
            largest = diagonal.max(axis=-1)
            if not _well_conditioned(matrix, largest):
                ranks = np.linalg.matrix_rank(matrix, hermitian=True, tol=1e-11 * largest)
                if (ranks < size).any():
                    raise SingularError(
                        f"{self.function}: the constraints {self.names} hold {size} motions, of which only "
                        f"{ranks.min()} are independent. {self.advice}"
                    )
            return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0], dtype=np.float64)
        damping = self.proximal * diagonal.mean(axis=-1)[..., None]
        damped = np.linalg.inv(matrix + damping[..., None] * np.eye(size))
        sizes = np.zeros_like(right)
        for _ in range(_MOST_ITERATIONS):
            following = times(damped, right + damping * sizes)
            step = np.abs(following - sizes).max(initial=0.0)
            sizes = following
            if step <= 1e-13 * np.abs(sizes).max(initial=0.0):
                break
        return sizes

    def columns(self, matrix: Array, right: Array) -> Array:
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)

    def iterated(self, found: Found, step: Callable[[Array], Found]) -> Found:
        for _ in range(_MOST_ITERATIONS):
            before, found = found[2], step(found[2])
            if np.abs(found[2] - before).max(initial=0.0) <= 1e-13 * np.abs(found[2]).max(initial=0.0):
                break
        return found


def _well_conditioned(matrix: Array, largest: Array) -> bool:
    """Whether a matrix is regular beyond doubt, by its pivots; else its rank must be found."""
    try:
        pivots = np.linalg.cholesky(matrix).diagonal(axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        return False
    return bool((pivots.min(axis=-1) ** 2 > _WELL_CONDITIONED * largest).all())
