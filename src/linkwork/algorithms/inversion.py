"""The inverse of a symmetric positive definite matrix by its factors A = L D Lᵀ, in r³ operations: A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹.

Chang, Khatib 2000, step 6 of Table 1: Λ from Λ⁻¹. A pivot below ``SINGULAR`` times its diagonal entry makes the result
non-finite, so that the caller examines the matrix instead of using rounding errors. The algorithm uses no mechanism:
code for r numbers serves all models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from linkwork.algorithms.tree import Tree
from linkwork.spatial import Factor, Scalar, where_less
from linkwork.spatial.matrices import Matrix, units

SINGULAR = 1e-12


def inversion(tree: Tree | None, A: Matrix, scales: Sequence[Scalar] = ()) -> tuple[Matrix]:
    """A⁻¹, from the lower triangle of A. Its rounding errors are relative to ``scales``, or to its own diagonal."""
    n = len(A)
    factor = Factor.of_matrix(A)
    sound: Scalar = 0.0
    for r in range(n):
        scale = scales[r] if scales else A[r][r]
        stretched = factor.inverse_pivots[r] * scale  # at least 1 for a positive definite matrix
        sound = where_less(0.5, stretched, where_less(stretched, 1.0 / SINGULAR, sound, math.nan), math.nan)
    columns = [factor.solve(unit) for unit in units(n)]
    inverse = [[columns[min(r, c)][max(r, c)] for c in range(n)] for r in range(n)]
    inverse[0][0] = inverse[0][0] + sound
    return (inverse,)
