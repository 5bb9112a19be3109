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
so no result depends on units. Nor does its rounding: with M = W Wᵀ, the vectors Wᵀ u and W⁻¹ v have no unit, and there
M is the identity, S₁ and T₂ are orthogonal, and every product above is an orthogonal projection:

    Wᵀ S₁ = Q₁ R₁,   W⁻¹ T₂ = Q₂ R₂,   S₁ (S₁ᵀMS₁)⁻¹ S₁ᵀ = W⁻ᵀ Q₁ Q₁ᵀ W⁻¹ = W⁻ᵀ (1 - Q₂ Q₂ᵀ) W⁻¹

Every array may have leading batch dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import Array, finite_array, go_together, memory_for, once
from linkwork.errors import ArgumentError, SingularError
from linkwork.properties import cached_property

SYMMETRY = 1e-10
"""The largest difference between M and its transpose, relative to the diagonal of its row and that of its column."""
_LARGEST = 1e100
RANK = 1e-12
"""The smallest singular value, relative to the largest, of independent columns, which are first scaled to equal length
in the metric M.
"""
RECIPROCITY = 1e-10
"""The largest cosine, in the metric M, between columns that are reciprocal."""


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
    matrix, motions, forces = _over_states(matrix, S1, T2)
    root, n = _Root.of(matrix), matrix.shape[-1]
    motion_basis = None if motions is None else _independent("S1", root.of_motions(_evened(motions)))
    force_basis = None if forces is None else _independent("T2", root.of_forces(_evened(forces)))
    if motion_basis is None:
        assert force_basis is not None
        motion_basis = _orthogonal_complement(force_basis)
        motions = root.to_motions(motion_basis)
    elif force_basis is None:
        force_basis = _orthogonal_complement(motion_basis)
        forces = root.to_forces(force_basis)
    assert motions is not None and forces is not None
    if motion_basis.shape[-1] + force_basis.shape[-1] != n:
        raise ArgumentError(
            f"S1 and T2 must have {n} columns together, but have {motion_basis.shape[-1]} and {force_basis.shape[-1]}"
        )
    cosine = np.abs(_t(motion_basis) @ force_basis).max(initial=0.0)
    if cosine > RECIPROCITY:
        worst = np.abs(_t(motions) @ forces).max()
        raise ArgumentError(f"S1 and T2 must be reciprocal, S1ᵀ T2 = 0, but it has {worst:.3g}")
    return ChangeOfBasis(matrix, motions, forces)


def _over_states(matrix: Array, S1: ArrayLike | None, T2: ArrayLike | None) -> tuple[Array, Array | None, Array | None]:
    """M and the given columns, with the leading dimensions of all."""
    n = matrix.shape[-1]
    columns = {name: _columns(name, x, n) for name, x in (("S1", S1), ("T2", T2)) if x is not None}
    try:
        batch = np.broadcast_shapes(matrix.shape[:-2], *(x.shape[:-2] for x in columns.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in {"M": matrix, **columns}.items())
        raise ArgumentError(f"the leading dimensions of {shapes} do not go together") from None
    wide = {name: np.broadcast_to(x, (*batch, *x.shape[-2:])) for name, x in columns.items()}
    return np.broadcast_to(matrix, (*batch, n, n)), wide.get("S1"), wide.get("T2")


class _Root(NamedTuple):
    """W of M = W Wᵀ: the diagonal's square roots, which have the units, times a triangular matrix with rows of length
    one.
    """

    scale: Array
    factor: Array

    @staticmethod
    def of(matrix: Array) -> _Root:
        scale = np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))[..., None]
        return _Root(scale, np.asarray(np.linalg.cholesky(matrix / scale / _t(scale)), dtype=np.float64))

    def of_motions(self, u: Array) -> Array:
        """Wᵀ u, of columns."""
        with memory_for("vectors", u.shape):
            return np.asarray(_t(self.factor) @ (self.scale * u))

    def of_forces(self, v: Array) -> Array:
        """W⁻¹ v."""
        with memory_for("vectors", v.shape):
            return _divided(self.factor, v / self.scale)

    def to_motions(self, u: Array) -> Array:
        """W⁻ᵀ u."""
        with memory_for("vectors", u.shape):
            return np.asarray(_divided(_t(self.factor), u) / self.scale)

    def to_forces(self, v: Array) -> Array:
        """W v."""
        with memory_for("vectors", v.shape):
            return np.asarray(self.scale * (self.factor @ v))


class _Span(NamedTuple):
    """Columns as Q R c: orthonormal columns, a triangular matrix with columns of length one, and their lengths."""

    Q: Array
    R: Array
    lengths: Array

    @staticmethod
    def of(columns: Array) -> _Span:
        lengths = np.linalg.norm(columns, axis=-2, keepdims=True)
        Q, R = np.linalg.qr(columns / lengths)
        return _Span(Q, R, lengths)

    def square(self) -> Array:
        """(Q R c)ᵀ Q R c."""
        return np.asarray(_t(self.R * self.lengths) @ (self.R * self.lengths))

    def inverse_square(self) -> Array:
        """((Q R c)ᵀ Q R c)⁻¹."""
        half = _divided(self.R, np.broadcast_to(np.eye(self.R.shape[-1]), self.R.shape)) / _t(self.lengths)
        return np.asarray(half @ _t(half))

    def reciprocal(self) -> Array:
        """Q R⁻ᵀ c⁻¹: the columns of the same space whose products with these are one and zero."""
        return np.asarray(_t(_divided(self.R, _t(self.Q))) / self.lengths)

    def project(self, columns: Array) -> Array:
        """Q Qᵀ of columns."""
        with memory_for("vectors", columns.shape):
            return np.asarray(self.Q @ (_t(self.Q) @ columns))


@dataclass(frozen=True, eq=False)
class ChangeOfBasis:
    """M in the basis pair [S₁ S₂], [T₁ T₂]; made by ``lw.change_of_basis``. Vectors are (..., n)."""

    M: Array
    S1: Array
    T2: Array

    @cached_property
    def _root(self) -> _Root:
        return _Root.of(self.M)

    @cached_property
    def _motions(self) -> _Span:
        """Wᵀ S₁."""
        return _Span.of(self._root.of_motions(self.S1))

    @cached_property
    def _forces(self) -> _Span:
        """W⁻¹ T₂."""
        return _Span.of(self._root.of_forces(self.T2))

    @cached_property
    def inertia(self) -> Array:
        """S₁ᵀ M S₁ (r×r): M from S₁ to T₁."""
        return self._motions.square()

    @cached_property
    def mobility(self) -> Array:
        """T₂ᵀ M⁻¹ T₂: M⁻¹ from T₂ to S₂."""
        return self._forces.square()

    @cached_property
    def T1(self) -> Array:
        """M S₁ (S₁ᵀ M S₁)⁻¹, Eq. 2."""
        return self._root.to_forces(self._motions.reciprocal())

    @cached_property
    def S2(self) -> Array:
        """M⁻¹ T₂ (T₂ᵀ M⁻¹ T₂)⁻¹, Eq. 2."""
        return self._root.to_motions(self._forces.reciprocal())

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
        result[..., :r, :r], result[..., r:, r:] = self.inertia, self._forces.inverse_square()
        return result

    @cached_property
    def components(self) -> tuple[Array, Array]:
        """M as a sum: M S₁ (S₁ᵀMS₁)⁻¹ S₁ᵀM, from S₁ to T₁, and T₂ (T₂ᵀM⁻¹T₂)⁻¹ T₂ᵀ, from S₂ to T₂."""
        first, second = (self._root.to_forces(span.Q) for span in (self._motions, self._forces))
        return first @ _t(first), second @ _t(second)

    @cached_property
    def inverse_components(self) -> tuple[Array, Array]:
        """M⁻¹ as a sum (Eq. 3): S₁ (S₁ᵀMS₁)⁻¹ S₁ᵀ, which is the constrained system's, and the immobilised part."""
        first, second = (self._root.to_motions(span.Q) for span in (self._motions, self._forces))
        return first @ _t(first), second @ _t(second)

    def constrained(self, v: ArrayLike) -> Array:
        """u = S₁ (S₁ᵀ M S₁)⁻¹ S₁ᵀ v: the motion (..., n) in S₁ that v (..., n) causes, Eq. 7."""
        free = self._root.of_forces(self._vector(v))
        return _vectors(self._root.to_motions(self._motions.project(free)))

    def constrained_by_difference(self, v: ArrayLike) -> Array:
        """The same as the unconstrained minus the immobilised motion: M⁻¹ v - M⁻¹T₂ (T₂ᵀM⁻¹T₂)⁻¹ T₂ᵀM⁻¹ v, Eq. 9."""
        free = self._root.of_forces(self._vector(v))
        return _vectors(self._root.to_motions(free - self._forces.project(free)))

    def constraint_force(self, v: ArrayLike) -> Array:
        """v_c ∈ T₂ (..., n), with M u = v + v_c for the motion u in S₁."""
        free = self._root.of_forces(self._vector(v))
        return -_vectors(self._root.to_forces(self._forces.project(free)))

    def coordinates(self, beta: ArrayLike, T1: ArrayLike | None = None) -> Array:
        """α₁ (..., r) of u = S₁ α₁ for an input v with S₁ᵀ v = ``beta`` = β₁ (..., r), by Eq. 10 with any T₁′
        (``any_T1``) as ``T1`` (..., n, r); T₁ if left out.
        """
        t1 = self.T1 if T1 is None else _moderate("T1", T1)
        if t1.shape[-2:] != self.S1.shape[-2:] or not go_together(t1.shape[:-2], self.S1.shape[:-2]):
            raise ArgumentError(f"T1 must have shape (..., {self.S1.shape[-2]}, {self.S1.shape[-1]}), not {t1.shape}")
        off = np.abs(_t(self.S1) @ t1 - np.eye(t1.shape[-1]))
        lengths = np.linalg.norm(self._root.of_forces(t1), axis=-2, keepdims=True)
        if (off > 1e-8 * _t(self._motions.lengths) * lengths).any():
            raise ArgumentError(f"T1 must have S1ᵀ T1 = 1, but is off by {off.max():.3g}; any_T1 makes one")
        numbers = _moderate("beta", beta)
        if numbers.shape[-1:] != t1.shape[-1:] or not go_together(numbers.shape[:-1], t1.shape[:-2]):
            raise ArgumentError(f"beta must have shape (..., {t1.shape[-1]}), not {numbers.shape}")
        return _vectors(_t(t1) @ self.constrained_by_difference(_vectors(t1 @ numbers[..., None]))[..., None])

    def any_T1(self, A: ArrayLike) -> Array:
        """T₁′ = A S₁ (S₁ᵀ A S₁)⁻¹ for any symmetric positive definite A (n×n): S₁ᵀ T₁′ = 1, and T₁′ ⊕ T₂ = V."""
        matrix = _positive_definite(_moderate("A", A), "A")
        if matrix.shape[-1] != self.M.shape[-1] or not go_together(matrix.shape[:-2], self.M.shape[:-2]):
            raise ArgumentError(f"A must have shape {self.M.shape}, as M has, not {matrix.shape}")
        root = _Root.of(matrix)
        return root.to_forces(_Span.of(root.of_motions(self.S1)).reciprocal())

    def _vector(self, v: ArrayLike) -> Array:
        """A vector of V, as a column."""
        vector = _moderate("v", v)
        if vector.shape[-1:] != self.M.shape[-1:] or not go_together(vector.shape[:-1], self.M.shape[:-2]):
            raise ArgumentError(
                f"v must have shape (..., {', '.join(map(str, self.M.shape[:-1]))}), as M has, not {vector.shape}"
            )
        return vector[..., None]


def _t(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _vectors(columns: Array) -> Array:
    """The only column of each."""
    return columns[..., 0]


def _divided(matrix: Array, right: Array) -> Array:
    with memory_for("vectors", right.shape):
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def _moderate(name: str, value: ArrayLike) -> Array:
    """Numbers whose squares are finite."""
    numbers = finite_array(name, value)
    largest = np.abs(once(numbers)).max(initial=0.0)
    if largest > _LARGEST:
        raise ArgumentError(f"{name} must hold numbers of at most {_LARGEST:g}, but has {largest:.3g}")
    return numbers


def _positive_definite(matrix: Array, name: str = "M") -> Array:
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ArgumentError(f"{name} must have shape (..., n, n), not {matrix.shape}")
    with memory_for("matrices", matrix.shape):
        skew, diagonal = np.abs(matrix - _t(matrix)), np.diagonal(matrix, axis1=-2, axis2=-1)[..., None]
        scale = np.sqrt(np.abs(diagonal))
        if (skew > SYMMETRY * scale * _t(scale)).any():
            raise ArgumentError(f"{name} must be symmetric, but differs from its transpose by {skew.max():.3g}")
        even = 0.5 * (matrix + _t(matrix))
        try:
            if (diagonal <= 0.0).any():
                raise np.linalg.LinAlgError
            _Root.of(even)
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


def _independent(name: str, columns: Array) -> Array:
    """Columns of length one; an error if they are linearly dependent. M must be the identity in their coordinates."""
    unit = np.asarray(columns / np.linalg.norm(columns, axis=-2, keepdims=True))
    if unit.size:
        values = np.linalg.svd(unit, compute_uv=False)
        worst = float((values[..., -1] / values[..., 0]).min())
        if worst < RANK:
            raise SingularError(
                f"the columns of {name} depend on each other (singular values, of columns of one length, down to "
                f"{worst:.3g} of the largest); leave out those that add nothing"
            )
    return unit


def _evened(columns: Array) -> Array:
    """Columns scaled to a largest entry of 1, so that squares neither underflow nor overflow."""
    return np.asarray(columns / np.abs(columns).max(axis=-2, keepdims=True, initial=0.0))


def _orthogonal_complement(columns: Array) -> Array:
    """An orthonormal basis of the orthogonal complement of the columns."""
    q, _ = np.linalg.qr(columns, mode="complete")
    return np.asarray(q[..., columns.shape[-1] :])
