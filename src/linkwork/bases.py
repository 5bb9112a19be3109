"""The change-of-basis technique: a decomposition of a symmetric positive definite mapping by a subspace of its domain.

U and V are dual vector spaces of dimension n (motions and forces, say), M: U → V is symmetric and positive definite,
and S₁ ⊂ U has dimension r. Then there are S₂, T₁, T₂, unique as spaces, with

    S₁ ⊕ S₂ = U,   T₁ ⊕ T₂ = V,   T₁ = M S₁,   T₂ = M S₂,   S₁ ⊥ T₂,   S₂ ⊥ T₁                              Eq. 1
    [S₁ S₂]ᵀ [T₁ T₂] = 1:   T₂ = S₁^⊥,   T₁ = M S₁ (S₁ᵀ M S₁)⁻¹,   S₂ = M⁻¹ T₂ (T₂ᵀ M⁻¹ T₂)⁻¹              Eq. 2

and in this basis M is block-diagonal: two decoupled systems. If M is the inertia of
a mechanism and S₁ the accelerations that a constraint permits, one of them is free and the other immobilised:

    constrained = unconstrained - immobilised:   S₁ (S₁ᵀMS₁)⁻¹ S₁ᵀ = M⁻¹ - M⁻¹T₂ (T₂ᵀM⁻¹T₂)⁻¹ T₂ᵀM⁻¹           Eq. 8

Featherstone, Fijany, A technique for analysing constrained rigid-body systems, and its application to the Constraint
Force Algorithm, 1999, sections 2 and 3. "Reciprocal" (⊥) is a relation between U and V; neither has an inner product,
so no result here depends on units or on the choice of a basis. Nor does the test of independence: M measures
lengths and angles in U, and M⁻¹ in V. Every array may have leading batch dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import Array, finite_array, go_together, memory_for, once
from linkwork.errors import ArgumentError, SingularError
from linkwork.properties import cached_property

SYMMETRY = 1e-10
"""The largest difference between M and its transpose, relative to its largest entry."""
_LARGEST = 1e100
RANK = 1e-12
"""The smallest singular value, relative to the largest, of independent columns, which are first scaled to equal length
in the metric M.
"""


def change_of_basis(M: ArrayLike, S1: ArrayLike | None = None, T2: ArrayLike | None = None) -> ChangeOfBasis:
    """The dual bases in which M is block-diagonal, from M and one of S₁ and T₂, or both.

    They are the bases of Eq. 2 for the subspaces of Eq. 1.

    Args:
        M: symmetric and positive definite (..., n, n).
        S1: independent columns that span a subspace of U (..., n, r), for instance the motions that a constraint
            permits.
        T2: independent columns that span a subspace of V (..., n, n - r), for instance the constraint forces; they
            must be reciprocal to S1. If one of S1 and T2 is left out, it is computed from the other.

    Returns:
        The bases, and the decomposition of M; see ``ChangeOfBasis``.

    Raises:
        ArgumentError: if shapes are wrong, M is not symmetric positive definite, or S1 and T2 are not reciprocal.
        SingularError: if columns are linearly dependent.

    Example:
        >>> import linkwork as lw
        >>> slope = lw.change_of_basis([[2.0, 0.0], [0.0, 2.0]], S1=[[0.6], [-0.8]])  # 2 kg on a slope
        >>> slope.constrained([0.0, -20.0])  # under its weight
        array([ 4.8, -6.4])
        >>> slope.constraint_force([0.0, -20.0]).round(12)  # what the slope gives
        array([9.6, 7.2])
    """
    matrix = _positive_definite(_moderate("M", M))
    if S1 is None and T2 is None:
        raise ArgumentError("change_of_basis needs S1 or T2, but has neither")
    with memory_for("columns, or as many as M has", matrix.shape):
        return _spanned(matrix, S1, T2)


def _spanned(matrix: Array, S1: ArrayLike | None, T2: ArrayLike | None) -> ChangeOfBasis:
    """The bases for M and the given columns."""
    n = matrix.shape[-1]
    s1, t2 = (None if x is None else _columns(name, x, n) for name, x in (("S1", S1), ("T2", T2)))
    if s1 is None and t2 is not None:
        s1 = _reciprocal_complement(t2)
    elif t2 is None and s1 is not None:
        t2 = _reciprocal_complement(s1)
    assert s1 is not None and t2 is not None
    if s1.shape[-1] + t2.shape[-1] != n:
        raise ArgumentError(f"S1 and T2 must have {n} columns together, but have {s1.shape[-1]} and {t2.shape[-1]}")
    try:
        batch = np.broadcast_shapes(matrix.shape[:-2], s1.shape[:-2], t2.shape[:-2])
    except ValueError:
        raise ArgumentError(
            f"the leading dimensions of M {matrix.shape}, S1 {s1.shape} and T2 {t2.shape} do not go together"
        ) from None
    matrix, s1, t2 = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (matrix, s1, t2))
    root = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    if S1 is not None:
        _independent("S1", _t(root) @ _evened(s1))
    if T2 is not None:
        _independent("T2", _divided(root, _evened(t2)))
        if S1 is not None:
            _check_reciprocal(s1, t2)
    return ChangeOfBasis(matrix, s1, t2)


def _check_reciprocal(s1: Array, t2: Array) -> None:
    product = np.abs(_t(s1) @ t2)
    lengths = np.linalg.norm(s1, axis=-2)[..., :, None] * np.linalg.norm(t2, axis=-2)[..., None, :]
    if (product > 1e-10 * lengths).any():
        raise ArgumentError(f"S1 and T2 must be reciprocal, S1ᵀ T2 = 0, but it has {product.max():.3g}")


@dataclass(frozen=True, eq=False)
class ChangeOfBasis:
    """M in the basis pair [S₁ S₂], [T₁ T₂]; made by ``lw.change_of_basis``. Vectors are (..., n)."""

    M: Array
    S1: Array
    T2: Array

    @cached_property
    def inertia(self) -> Array:
        """S₁ᵀ M S₁ (r×r): M from S₁ to T₁."""
        return _t(self.S1) @ self.M @ self.S1

    @cached_property
    def mobility(self) -> Array:
        """T₂ᵀ M⁻¹ T₂: M⁻¹ from T₂ to S₂."""
        return _t(self.T2) @ self._answer

    @cached_property
    def _answer(self) -> Array:
        """M⁻¹ T₂."""
        return _divided(self.M, self.T2)

    @cached_property
    def T1(self) -> Array:
        """M S₁ (S₁ᵀ M S₁)⁻¹, Eq. 2."""
        return _t(_divided(self.inertia, _t(self.S1) @ self.M))

    @cached_property
    def S2(self) -> Array:
        """M⁻¹ T₂ (T₂ᵀ M⁻¹ T₂)⁻¹, Eq. 2."""
        return _t(_divided(self.mobility, _t(self._answer)))

    @cached_property
    def X_U(self) -> Array:
        """[T₁ T₂]ᵀ: coordinates (α₁, α₂) of a vector of U. Its inverse is [S₁ S₂]."""
        return _t(np.concatenate([self.T1, self.T2], axis=-1))

    @cached_property
    def X_V(self) -> Array:
        """[S₁ S₂]ᵀ: coordinates (β₁, β₂) of a vector of V. Its inverse is [T₁ T₂]."""
        return _t(np.concatenate([self.S1, self.S2], axis=-1))

    @cached_property
    def block_diagonal(self) -> Array:
        """X_V M X_U⁻¹ = diag(S₁ᵀ M S₁, (T₂ᵀ M⁻¹ T₂)⁻¹)."""
        r = self.S1.shape[-1]
        result = np.zeros(self.M.shape)
        result[..., :r, :r], result[..., r:, r:] = self.inertia, np.linalg.inv(self.mobility)
        return result

    @cached_property
    def components(self) -> tuple[Array, Array]:
        """M as a sum: M S₁ (S₁ᵀMS₁)⁻¹ S₁ᵀM, from S₁ to T₁, and T₂ (T₂ᵀM⁻¹T₂)⁻¹ T₂ᵀ, from S₂ to T₂."""
        return self.T1 @ _t(self.M @ self.S1), self.T2 @ _divided(self.mobility, _t(self.T2))

    @cached_property
    def inverse_components(self) -> tuple[Array, Array]:
        """M⁻¹ as a sum (Eq. 3): S₁ (S₁ᵀMS₁)⁻¹ S₁ᵀ, which is the constrained system's, and the immobilised part."""
        return self.S1 @ _divided(self.inertia, _t(self.S1)), self.S2 @ _t(self._answer)

    def constrained(self, v: ArrayLike) -> Array:
        """u = S₁ (S₁ᵀ M S₁)⁻¹ S₁ᵀ v: the motion (..., n) in S₁ that v (..., n) causes, Eq. 7."""
        return _apply(self.S1, _solve(self.inertia, _apply(_t(self.S1), self._vector(v))))

    def constrained_by_difference(self, v: ArrayLike) -> Array:
        """The same as the unconstrained minus the immobilised motion: M⁻¹ v - M⁻¹T₂ (T₂ᵀM⁻¹T₂)⁻¹ T₂ᵀM⁻¹ v, Eq. 9."""
        free = _solve(self.M, self._vector(v))
        return free - _apply(self._answer, _solve(self.mobility, _apply(_t(self.T2), free)))

    def constraint_force(self, v: ArrayLike) -> Array:
        """v_c ∈ T₂ (..., n), with M u = v + v_c for the motion u in S₁."""
        return -_apply(self.T2, _apply(_t(self.S2), self._vector(v)))

    def coordinates(self, beta: ArrayLike, T1: ArrayLike | None = None) -> Array:
        """α₁ (..., r) of u = S₁ α₁ for an input v with S₁ᵀ v = ``beta`` = β₁ (..., r), by Eq. 10 with any T₁′
        (``any_T1``) as ``T1`` (..., n, r); T₁ if left out.
        """
        t1 = self.T1 if T1 is None else _moderate("T1", T1)
        if t1.shape[-2:] != self.S1.shape[-2:] or not go_together(t1.shape[:-2], self.S1.shape[:-2]):
            raise ArgumentError(f"T1 must have shape (..., {self.S1.shape[-2]}, {self.S1.shape[-1]}), not {t1.shape}")
        off = np.abs(_t(self.S1) @ t1 - np.eye(t1.shape[-1])).max(initial=0.0)
        if off > 1e-8 * max(1.0, np.abs(self.S1).max(initial=0.0) * np.abs(t1).max(initial=0.0)):
            raise ArgumentError(f"T1 must have S1ᵀ T1 = 1, but is off by {off:.3g}; any_T1 makes one")
        given = _moderate("beta", beta)
        if given.shape[-1:] != t1.shape[-1:] or not go_together(given.shape[:-1], t1.shape[:-2]):
            raise ArgumentError(f"beta must have shape (..., {t1.shape[-1]}), not {given.shape}")
        return _apply(_t(t1), self.constrained_by_difference(_apply(t1, given)))

    def any_T1(self, A: ArrayLike) -> Array:
        """T₁′ = A S₁ (S₁ᵀ A S₁)⁻¹ for any symmetric positive definite A (n×n): S₁ᵀ T₁′ = 1, and T₁′ ⊕ T₂ = V."""
        given = _positive_definite(_moderate("A", A), "A")
        if given.shape[-1] != self.M.shape[-1] or not go_together(given.shape[:-2], self.M.shape[:-2]):
            raise ArgumentError(f"A must have shape {self.M.shape}, as M has, not {given.shape}")
        image = given @ self.S1
        return _t(_divided(_t(self.S1) @ image, _t(image)))

    def _vector(self, v: ArrayLike) -> Array:
        vector = _moderate("v", v)
        if vector.shape[-1:] != self.M.shape[-1:] or not go_together(vector.shape[:-1], self.M.shape[:-2]):
            raise ArgumentError(
                f"v must have shape (..., {', '.join(map(str, self.M.shape[:-1]))}), as M has, not {vector.shape}"
            )
        return vector


def _t(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _apply(matrix: Array, vector: Array) -> Array:
    with memory_for("vectors", vector.shape):
        return np.asarray((matrix @ vector[..., None])[..., 0])


def _solve(matrix: Array, vector: Array) -> Array:
    return _divided(matrix, vector[..., None])[..., 0]


def _divided(matrix: Array, right: Array) -> Array:
    with memory_for("vectors", right.shape):
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def _moderate(name: str, value: ArrayLike) -> Array:
    """Numbers whose squares are finite."""
    given = finite_array(name, value)
    largest = np.abs(once(given)).max(initial=0.0)
    if largest > _LARGEST:
        raise ArgumentError(f"{name} must hold numbers of at most {_LARGEST:g}, but has {largest:.3g}")
    return given


def _positive_definite(matrix: Array, name: str = "M") -> Array:
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ArgumentError(f"{name} must have shape (..., n, n), not {matrix.shape}")
    with memory_for("matrices", matrix.shape):
        skew = np.abs(matrix - _t(matrix)).max(initial=0.0)
        if skew > SYMMETRY * np.abs(matrix).max(initial=0.0):
            raise ArgumentError(f"{name} must be symmetric, but differs from its transpose by {skew:.3g}")
        even = 0.5 * (matrix + _t(matrix))
        try:
            np.linalg.cholesky(even)
        except np.linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(even).min())
            raise ArgumentError(f"{name} must be positive definite, but has an eigenvalue of {least:.3g}") from None
        return even


def _columns(name: str, value: ArrayLike, n: int) -> Array:
    array = _moderate(name, value)
    if array.ndim < 2 or array.shape[-2] != n or array.shape[-1] > n:
        raise ArgumentError(f"{name} must have shape (..., {n}, r) with r ≤ {n}, as M is {n}×{n}, not {array.shape}")
    if (np.linalg.norm(array, axis=-2) == 0.0).any():
        raise SingularError(f"{name} has a column of zeros; its columns must be independent")
    return array


def _independent(name: str, measured: Array) -> None:
    """Raise an error for linearly dependent columns, given in coordinates in which M is the identity."""
    if not measured.size:
        return
    even = _evened(measured)
    values = np.linalg.svd(even / np.linalg.norm(even, axis=-2, keepdims=True), compute_uv=False)
    worst = float((values[..., -1] / values[..., 0]).min())
    if worst < RANK:
        raise SingularError(
            f"the columns of {name} depend on each other (singular values, of columns of one length, down to "
            f"{worst:.3g} of the largest); leave out those that add nothing"
        )


def _evened(columns: Array) -> Array:
    """Columns scaled to a largest entry of 1, so that squares neither underflow nor overflow."""
    return np.asarray(columns / np.abs(columns).max(axis=-2, keepdims=True, initial=0.0))


def _reciprocal_complement(columns: Array) -> Array:
    """A basis of the reciprocal complement of the columns."""
    q, _ = np.linalg.qr(columns, mode="complete")
    return np.asarray(q[..., columns.shape[-1] :])
