"""The change of basis: reciprocity, Eqs. 1, 2, 3 and 8 as laws, three ways to constrained dynamics, clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwork as lw
from strategies import Array, close

sizes = st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
batches = st.sampled_from([(), (3,), (2, 2)])
seeds = st.integers(0, 2**32 - 1)


def positive_definite(rng: np.random.Generator, n: int, batch: tuple[int, ...] = ()) -> Array:
    """With eigenvalues from 0.1 to 10."""
    q, _ = np.linalg.qr(rng.normal(size=(*batch, n, n)))
    half = q * 10.0 ** rng.uniform(-0.5, 0.5, size=(*batch, 1, n))
    return half @ np.swapaxes(half, -1, -2)


def t(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def problem(size: tuple[int, int], batch: tuple[int, ...], seed: int) -> tuple[np.random.Generator, Array, Any]:
    rng = np.random.default_rng(seed)
    n, r = size
    M = positive_definite(rng, n, batch)
    return rng, M, lw.change_of_basis(M, positive_definite(rng, n, batch)[..., :r])


@given(sizes, batches, seeds)
def test_the_spaces_are_reciprocal_images_of_each_other(size: Any, batch: Any, seed: int) -> None:
    _, M, b = problem(size, batch, seed)
    n, r = size
    one = np.broadcast_to(np.eye(n), (*batch, n, n))
    S, T = np.concatenate([b.S1, b.S2], -1), np.concatenate([b.T1, b.T2], -1)
    scale = np.abs(S).max() * np.abs(T).max()
    close(t(S) @ T, one, 1e-11, scale=scale)  # the condition above Eq. 2: so the sums of Eq. 1 are direct
    close(S @ t(T), one, 1e-11, scale=scale)
    close(t(b.S1) @ b.T2, np.zeros((*batch, r, n - r)), 1e-12, scale=np.abs(b.S1).max(initial=1.0))
    close(b.T1 @ b.inertia, M @ b.S1, 1e-11)  # T₁ = M S₁
    close(M @ b.S2 @ b.mobility, b.T2 + 0.0, 1e-11, scale=np.abs(M).max())  # T₂ = M S₂
    close(b.X_U @ S, one, 1e-11, scale=scale)
    close(b.X_V @ T, one, 1e-11, scale=scale)
    close(t(b.X_U), np.linalg.inv(b.X_V), 1e-11)


@given(sizes, batches, seeds)
def test_m_and_its_inverse_fall_into_two_parts(size: Any, batch: Any, seed: int) -> None:
    _, M, b = problem(size, batch, seed)
    close(b.X_V @ M @ np.linalg.inv(b.X_U), b.block_diagonal, 1e-11)
    close(b.components[0] + b.components[1], M, 1e-11)
    inverse = np.linalg.inv(M)
    close(b.inverse_components[0] + b.inverse_components[1], inverse, 1e-11)  # Eq. 3
    immobile = inverse @ b.T2 @ np.linalg.solve(b.mobility, t(b.T2) @ inverse)
    close(b.inverse_components[0], inverse - immobile, 1e-11, scale=np.abs(inverse).max())  # Eq. 8


@given(sizes, batches, seeds)
def test_three_ways_to_constrained_dynamics(size: Any, batch: Any, seed: int) -> None:
    rng, M, b = problem(size, batch, seed)
    n, r = size
    v = rng.normal(size=(*batch, n))
    u, scale = b.constrained(v), np.abs(np.linalg.inv(M)).max() * np.abs(v).max()
    close(b.constrained_by_difference(v), u, 1e-11, scale=scale)  # Eq. 9
    force = b.constraint_force(v)
    close((M @ u[..., None])[..., 0], v + force, 1e-11, scale=np.abs(v).max())
    close((t(b.T2) @ u[..., None])[..., 0], np.zeros((*batch, n - r)), 1e-11, scale=scale)  # u in S₁
    close((t(b.S1) @ force[..., None])[..., 0], np.zeros((*batch, r)), 1e-11, scale=np.abs(v).max())
    beta = (t(b.S1) @ v[..., None])[..., 0]
    alpha = np.linalg.solve(b.inertia, beta[..., None])[..., 0]  # Eq. 6
    for T1 in (None, b.any_T1(np.eye(n)), b.any_T1(positive_definite(rng, n))):  # Eq. 10
        size_of = np.abs(b.T1 if T1 is None else T1).max(initial=1.0)
        close(b.coordinates(beta, T1), alpha, 1e-11, scale=scale * size_of**2)
        if T1 is not None and r:
            close(t(b.S1) @ T1, np.broadcast_to(np.eye(r), (*batch, r, r)), 1e-11, scale=size_of)


@given(sizes, seeds)
def test_it_may_start_from_either_space_and_from_any_basis(size: Any, seed: int) -> None:
    rng, M, b = problem(size, (), seed)
    n, r = size
    v = rng.normal(size=n)
    scale = np.abs(np.linalg.inv(M)).max() * np.abs(v).max()
    for other in (
        lw.change_of_basis(M, T2=b.T2),
        lw.change_of_basis(M, b.S1, b.T2),
        lw.change_of_basis(M, b.S1 @ positive_definite(rng, r)),
    ):
        close(other.constrained(v), b.constrained(v), 1e-8, scale=scale)
    X = positive_definite(rng, n)  # units and axes of U: u′ = X u, v′ = X⁻ᵀ v, S₁′ = X S₁, M′ = X⁻ᵀ M X⁻¹
    back = np.linalg.inv(X)
    seen = lw.change_of_basis(0.5 * (back.T @ M @ back + (back.T @ M @ back).T), X @ b.S1)
    scale = np.abs(X @ np.linalg.inv(M) @ X).max() * np.abs(back.T @ v).max()
    close(seen.constrained(back.T @ v), X @ b.constrained(v), 1e-8, scale=scale)


@pytest.mark.parametrize("unit", [1e-14, 1e-6, 1.0, 1e6, 1e14])
def test_whether_columns_are_independent_does_not_depend_on_units(unit: float) -> None:
    """A body that slides and turns, its lengths in metres or in much larger or smaller units."""
    E = np.diag([unit, unit, 1.0])  # u′ = E u, v′ = E⁻¹ v
    M = np.linalg.inv(E) @ np.array([[2.0, 0.0, 0.3], [0.0, 2.0, 0.1], [0.3, 0.1, 1.0]]) @ np.linalg.inv(E)
    S1 = np.array([[1.0, 1.0], [0.5, 0.5], [1.0, 2.0]])
    same = np.array([[1.0, 1.0], [0.5, 0.5], [1.0, 1.0 + 1e-15]])
    v = np.array([1.0, 2.0, 3.0])
    u = lw.change_of_basis(M, E @ S1).constrained(np.linalg.solve(E, v))
    close(np.linalg.solve(E, u), lw.change_of_basis(E @ M @ E, S1).constrained(v), 1e-12)
    with pytest.raises(lw.SingularError, match="the columns of S1 depend on each other"):
        lw.change_of_basis(M, E @ same)
    with pytest.raises(lw.SingularError, match="the columns of T2 depend on each other"):
        lw.change_of_basis(M, T2=np.linalg.solve(E, same))
    lw.change_of_basis(M, T2=np.linalg.solve(E, S1))


@given(sizes, seeds, st.sampled_from([1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9]), st.sampled_from(["S1", "T2", "both"]))
def test_no_result_depends_on_units(size: Any, seed: int, unit: float, start: str) -> None:
    """Units of every coordinate of U, with those of V such that products with U have a unit of their own, and units of
    the columns of S₁ and T₂: the same numbers but for rounding, each in its unit.
    """
    rng, M, b = problem(size, (), seed)
    n, r = size
    E, a, d = unit ** rng.integers(0, 2, n), unit ** rng.integers(0, 2, r), unit ** rng.integers(0, 2, n - r)
    power = unit ** rng.integers(-1, 2)  # u′ = E u, v′ = power v / E
    S1, T2, A = E[:, None] * b.S1 * a, power * b.T2 / E[:, None] * d, positive_definite(rng, n)
    given = {"S1": {"S1": S1}, "T2": {"T2": T2}, "both": {"S1": S1, "T2": T2}}[start]
    seen = lw.change_of_basis(power * M / np.outer(E, E), **given)
    v = rng.normal(size=n)
    for found, expected, of_units in (
        (seen.constrained(power * v / E), b.constrained(v), E),
        (seen.constrained_by_difference(power * v / E), b.constrained_by_difference(v), E),
        (seen.constraint_force(power * v / E), b.constraint_force(v), power / E),
        *((x, y, power / np.outer(E, E)) for x, y in zip(seen.components, b.components, strict=True)),
        *((x, y, np.outer(E, E) / power) for x, y in zip(seen.inverse_components, b.inverse_components, strict=True)),
    ):
        close(found / of_units, expected, 1e-11, scale=1.0 + np.abs(expected).max())
    if start != "both":
        return
    for found, expected, of_units in (
        (seen.T1, b.T1, 1.0 / np.outer(E, a)),
        (seen.S2, b.S2, np.outer(E, 1.0 / d) / power),
        (seen.inertia, b.inertia, power * np.outer(a, a)),
        (seen.mobility, b.mobility, power * np.outer(d, d)),
        (seen.coordinates(a * (b.S1.T @ v) * power), b.coordinates(b.S1.T @ v), 1.0 / a),
        (seen.any_T1(A / np.outer(E, E)), b.any_T1(A), 1.0 / np.outer(E, a)),
    ):
        close(found / of_units, expected, 1e-10, scale=1.0 + np.abs(expected).max(initial=0.0))


def test_arguments_broadcast() -> None:
    rng = np.random.default_rng(0)
    M, S1, v = positive_definite(rng, 4, (3, 1)), rng.normal(size=(2, 4, 2)), rng.normal(size=(5, 1, 1, 4))
    b = lw.change_of_basis(M, S1)
    u = b.constrained(v)
    assert u.shape == (5, 3, 2, 4)
    close(u[4, 2, 1], lw.change_of_basis(M[2, 0], S1[1]).constrained(v[4, 0, 0]), 1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"M": np.ones(3), "S1": np.eye(3)}, lw.ArgumentError, r"M must have shape \(\.\.\., n, n\), not \(3,\)"),
        ({"M": [[1, 2], [0, 1]], "S1": np.eye(2)}, lw.ArgumentError, "M must be symmetric, but differs .* by 2"),
        ({"M": [[1, 2], [2, 1]], "S1": np.eye(2)}, lw.ArgumentError, "positive definite, but has an eigenvalue of -1"),
        ({"M": [[np.nan]], "S1": [[1.0]]}, lw.ArgumentError, "M must be finite"),
        ({"M": "inertia", "S1": [[1.0]]}, lw.ArgumentError, "M must hold real numbers"),
        ({"M": np.eye(3)}, lw.ArgumentError, "needs S1 or T2"),
        ({"M": np.eye(3), "S1": np.ones((2, 1))}, lw.ArgumentError, r"S1 must have shape \(\.\.\., 3, r\).*\(2, 1\)"),
        ({"M": np.eye(2), "S1": np.ones((2, 3))}, lw.ArgumentError, "S1 must have shape"),
        ({"M": np.eye(3), "S1": np.ones((3, 2))}, lw.SingularError, "the columns of S1 depend on each other"),
        ({"M": np.eye(3), "T2": np.zeros((3, 1))}, lw.SingularError, "T2 has a column of zeros"),
        ({"M": np.eye(2), "S1": [[1], [0]], "T2": [[1], [1]]}, lw.ArgumentError, "S1 and T2 must be reciprocal"),
        ({"M": np.eye(3), "S1": np.eye(3)[:, :1], "T2": np.eye(3)[:, 1:2]}, lw.ArgumentError, "3 columns together"),
        ({"M": [np.eye(2)] * 2, "S1": np.ones((3, 2, 1))}, lw.ArgumentError, "leading dimensions .* do not"),
    ],
)  # fmt: skip
def test_bad_arguments_are_told(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        lw.change_of_basis(**arguments)


def test_bad_vectors_are_told() -> None:
    b = lw.change_of_basis(np.eye(3), np.eye(3)[:, :2])
    with pytest.raises(lw.ArgumentError, match=r"v must have shape \(\.\.\., 3\), as M has, not \(2,\)"):
        b.constrained([1.0, 2.0])
    with pytest.raises(lw.ArgumentError, match=r"beta must have shape \(\.\.\., 2\), not \(3,\)"):
        b.coordinates([1.0, 2.0, 3.0])
    with pytest.raises(lw.ArgumentError, match="T1 must have S1ᵀ T1 = 1, but is off by 1"):
        b.coordinates([1.0, 2.0], 2.0 * b.T1)
    with pytest.raises(lw.ArgumentError, match=r"T1 must have shape \(\.\.\., 3, 2\), not \(3, 3\)"):
        b.coordinates([1.0, 2.0], np.eye(3))
    with pytest.raises(lw.ArgumentError, match="A must be symmetric"):
        b.any_T1([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
