"""Linear solvers for constraint forces.

For redundant constraints the forces are damped, and iteration removes the effect of the damping: (A + d) x' = b + d x.
Components in the range of A converge at a rate of d / (λ + d) for an eigenvalue λ of A. Along redundant directions,
λ = 0, each step adds the same amount b / d, which rounding, the drift of a simulation, or a conflict has left in b. So
the iteration ends when its steps no longer change, and the sum of these constant steps is subtracted. The result is
the minimum-norm solution, or the least-squares one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arguments import Array
from linkwork.compiled.arrays import numbers, traced
from linkwork.errors import ArgumentError, SingularError, warn_caller
from linkwork.spatial import Factor, absolute, total, where_less
from linkwork.spatial.small_matrices import times
from linkwork.unsolved import is_strict

_MOST_ITERATIONS = 100
_COMPILED_ITERATIONS = 8
_SETTLED = 1e-6
"""The error that is left after the last iteration, relative to the largest force, from which on there is a warning."""
_WELL_CONDITIONED = 1e-7
"""Relative to the largest diagonal entry: a smaller pivot means that the rank must be determined."""
_REDUNDANT = 1e-11
"""Relative to the largest diagonal entry: a smaller number means a motion that no constraint holds."""


Arrays = tuple[Array, ...]
"""Results of a motion, the constraint forces last."""


@dataclass(eq=False)
class _Named:
    """A solver for the constraints ``names``, with proximal damping, in a public function."""

    names: str
    proximal: Any
    function: str = "constrained_dynamics"


class TracedSolver(_Named):
    """By L D Lᵀ factors; non-finite results where pivots are small or the proximal iteration does not end soon."""

    def solve(self, matrix: Array, right: Array) -> Array:
        """The magnitudes of the constraint forces."""
        leading, size = right.shape[:-1], right.shape[-1]
        rows = numbers(matrix).reshape(-1, size, size).tolist()
        rights = numbers(right).reshape(-1, size).tolist()
        found = np.empty((len(rows), size), dtype=object)
        for k, (A, b) in enumerate(zip(rows, rights, strict=True)):
            try:
                found[k, :] = self._one(A, b)
            except ZeroDivisionError:  # a pivot that is structurally zero
                found[k, :] = np.nan
        return traced(found.reshape((*leading, size)))

    def system(self, matrix: Array) -> Array:
        """The matrix as ``columns`` takes it: the numbers of its factors."""
        return traced(np.array(Factor.of_matrix(numbers(matrix).tolist()).numbers(), dtype=object))

    def columns(self, system: Array, rights: Sequence[Array]) -> Sequence[Array]:
        """The same for many right-hand sides, each (..., r, c), after ``solve`` was called for one."""
        joined = numbers(np.concatenate(rights, axis=-1))
        factor = Factor([], [0.0] * len(joined)).of(list(numbers(system)[:, None]))
        found = traced(np.stack(factor.solve(list(joined))))  # row by row: each number is used for all columns in turn
        return np.split(found, np.cumsum([right.shape[-1] for right in rights])[:-1], axis=-1)

    def iterated(self, found: Arrays, step: Callable[[Array], Arrays]) -> Arrays:
        """The result of iterating ``step`` on the forces until they no longer change."""
        steps: list[Arrays] = []
        for _ in range(_COMPILED_ITERATIONS):
            before, found = found, step(found[-1])
            steps.append(_difference(found, before))
        proximal = traced(np.full((), self.proximal, dtype=object))
        change, largest = proximal * abs(steps[-1][-1] - steps[-2][-1]).max(), abs(found[-1]).max()
        a, *others = _without(found, steps[-1], len(steps) + 1)
        return a + np.where(change > 1e-13 * largest, np.nan, 0.0), *others

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
        steps: list[list[Any]] = []
        for _ in range(_COMPILED_ITERATIONS):
            following = factor.solve([y + damping * z for y, z in zip(b, x, strict=True)])
            steps.append([y - z for y, z in zip(following, x, strict=True)])
            x = following
        change = self.proximal * _largest([y - z for y, z in zip(steps[-1], steps[-2], strict=True)])
        sound = where_less(1e-13 * _largest(x), change, np.nan, 0.0)
        x = [y - float(len(steps) + 1) * z for y, z in zip(x, steps[-1], strict=True)]
        return [x[0] + sound, *x[1:]]


@dataclass(eq=False)
class OfActive(TracedSolver):
    """The same if only some constraints are active: the forces of the others are zero.

    ``active`` (r,) is more than 0.5 for the rows of active constraints.
    """

    active: Any = None

    def solve(self, matrix: Array, right: Array) -> Array:
        """The magnitudes of the constraint forces; the rows of inactive constraints are those of a diagonal matrix."""
        on, size = self.active > 0.5, len(self.active)
        scale = np.max(np.where(on, np.diagonal(matrix), 0.0))
        scale = np.where(scale > 0.0, scale, 1.0)
        flags = np.where(on, 1.0, 0.0)
        both = flags[:, None] * flags[None, :]
        matrix = np.where(both > 0.5, matrix, np.where(np.eye(size) > 0.5, scale, 0.0))
        return super().solve(matrix, np.where(on, right, 0.0))


def _difference(found: Arrays, before: Arrays) -> Arrays:
    return tuple(now - then for now, then in zip(found, before, strict=True))


def _without(found: Arrays, step: Arrays, count: int) -> Arrays:
    """The result less ``count`` times the step."""
    return tuple(now - float(count) * each for now, each in zip(found, step, strict=True))


def _largest(x: Sequence[Any]) -> Any:
    found = absolute(x[0])
    for number in x[1:]:
        found = where_less(found, absolute(number), absolute(number), found)
    return found


def no_number(function: str, names: str) -> SingularError:
    """The error for constraints without a finite solution."""
    return SingularError(
        f"{function}: what the constraints {names} ask for is no number in this state; a disc that lies flat on its "
        f"plane, for instance, does not roll"
    )


class JoinedSolver(_Named):
    """By Cholesky factors after a rank check; if damped, by the proximal iteration. For any number of states."""

    advice = "Leave out what is redundant, or pass proximal=1e-6"

    states: Sequence[list[int]] = ()
    """Where its states are in a batch, if they are some of it."""

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
                ranks = np.linalg.matrix_rank(matrix, hermitian=True, tol=_REDUNDANT * largest)
                if (ranks < size).any():
                    raise SingularError(
                        f"{self.function}: the constraints {self.names} hold {size} motions, of which only "
                        f"{ranks.min()} are independent. {self.advice}"
                    )
            return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0], dtype=np.float64)
        damping = self.proximal * diagonal.mean(axis=-1)[..., None]
        if not (damping > 0.0).all():
            raise SingularError(
                f"{self.function}: no joint moves what the constraints {self.names} hold, so that no force is "
                f"determined. Leave them out"
            )
        damped = np.linalg.inv(matrix + damping[..., None] * np.eye(size))
        (sizes,) = self._by_steps((times(damped, right),), lambda sizes: (times(damped, right + damping * sizes),))
        return np.asarray(sizes, dtype=np.float64)

    def system(self, matrix: Array) -> Array:
        return matrix

    def columns(self, system: Array, rights: Sequence[Array]) -> Sequence[Array]:
        if self.proximal:
            inverse = self.inverse(system)
            return [inverse @ right for right in rights]
        sizes = [right.shape[-1] for right in rights]
        found = np.asarray(np.linalg.solve(system, np.concatenate(rights, axis=-1)), dtype=np.float64)
        return np.split(found, np.cumsum(sizes)[:-1], axis=-1)

    def inverse(self, matrix: Array) -> Array:
        """That of a symmetric matrix, as far as it has one."""
        return np.asarray(np.linalg.pinv(matrix, rcond=_REDUNDANT, hermitian=True), dtype=np.float64)

    def iterated(self, found: Arrays, step: Callable[[Array], Arrays]) -> Arrays:
        return self._by_steps(found, step)

    def _by_steps(self, found: Arrays, step: Callable[[Array], Arrays]) -> Arrays:
        """The result of iterating ``step`` on the forces, the last array. Each state ends when its own steps no longer
        change, so that it has the same bits in any batch.
        """
        batch = found[0].shape[:-1]
        difference, count, going = found, np.ones(batch), np.ones(batch, dtype=bool)
        change = np.full(batch, np.inf)
        for _ in range(_MOST_ITERATIONS - 1):
            earlier, following = change, step(found[-1])
            now = tuple(map(np.subtract, following, found))
            change, largest = (_largest_of_each(x, batch) for x in (now[-1] - difference[-1], following[-1]))
            difference, found = _where(going, now, difference), _where(going, following, found)
            count += going
            going &= self.proximal * change > 1e-13 * largest
            if not going.any():
                break
        else:
            shrinking = np.maximum(1.0 - change[going] / earlier[going], _REDUNDANT)
            if (change[going] > _SETTLED * largest[going] * shrinking**2).any():  # a geometric series
                self._warn(change / largest, going)
        return tuple(x - _along(count, x) * y for x, y in zip(found, difference, strict=True))

    def _warn(self, change: NDArray[Any], going: NDArray[np.bool_]) -> None:
        """Warn of forces that have not settled; ``change`` is relative to them."""
        worst = np.unravel_index(int(np.where(going, change, -1.0).argmax()), going.shape)
        where = self.states[int(worst[0])] if self.states else list(map(int, worst))
        state = f" in state {where} of the batch" if where else ""
        message = (
            f"{self.function}: the forces of the constraints {self.names}, some of which are nearly redundant, still "
            f"change by {change[worst]:.1g} of the largest after {_MOST_ITERATIONS} iterations{state}; pass a smaller "
            f"proximal than {self.proximal:g}, or leave out what is redundant"
        )
        if is_strict():
            raise SingularError(message)
        warn_caller(message)


def _along(of_states: NDArray[Any], array: Array) -> NDArray[Any]:
    """A number for each state, with axes added to broadcast with an array."""
    return of_states.reshape((*of_states.shape, *[1] * (array.ndim - of_states.ndim)))


def _where(states: NDArray[np.bool_], new: Arrays, old: Arrays) -> Arrays:
    return tuple(np.where(_along(states, x), x, y) for x, y in zip(new, old, strict=True))


def _largest_of_each(array: Array, batch: tuple[int, ...]) -> NDArray[Any]:
    largest: NDArray[Any] = np.abs(array).max(axis=tuple(range(len(batch), array.ndim)), initial=0.0)
    return largest


def _well_conditioned(matrix: Array, largest: Array) -> bool:
    """Whether a matrix is clearly regular, judged by its pivots; otherwise its rank must be determined."""
    try:
        pivots = np.linalg.cholesky(matrix).diagonal(axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        return False
    return bool((pivots.min(axis=-1) ** 2 > _WELL_CONDITIONED * largest).all())


Solver = TracedSolver | JoinedSolver
"""Solves matrix · sizes = right; the matrix is symmetric, positive definite unless constraints are redundant."""
