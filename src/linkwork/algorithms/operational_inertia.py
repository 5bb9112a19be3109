"""The operational-space inertia matrix Λ: the inverse of Λ⁻¹ by Cholesky's factors, O(m³) after any method for Λ⁻¹.

    A = E Λ⁻¹ E + diag(d)          E keeps the numbers that are asked for; d is the damping there, and 1 where none is
    asked for A = L D Lᵀ,   Λ = L⁻ᵀ D⁻¹ L⁻¹

Chang, Khatib 2000, step 6 of Table 1. A pivot that is less than ``SINGULAR`` of its diagonal number makes the result
no number, so that the caller looks at the matrix instead of using what rounding has left. The text needs to know how
many frames there are, so it has no rolled form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from linkwork.model.tree import Tree
from linkwork.spatial import Factor, Motion, where_less

SINGULAR = 1e-12


def operational_inertia(tree: Tree, q: Any, kept: Any, damping: Any, method: Callable[..., tuple[Any]]) -> tuple[Any]:
    """Λ, a block for each pair of frames."""
    (block,) = method(tree, q)
    frames, Lambda = list(tree.frames()), tree.field()
    keep = [number for frame in frames for number in kept[frame]]
    diagonal = [number for frame in frames for number in damping[frame]]

    rows: list[list[Any]] = []
    for frame in frames:
        blocks = [[motion.numbers() for motion in block[frame, other]] for other in frames[: frame.index + 1]]
        for k in range(6):
            r = len(rows)
            numbers = [column[k] for columns in blocks for column in columns][: r + 1]
            rows.append([number * (keep[r] * e) for number, e in zip(numbers, keep[: r + 1], strict=True)])
            rows[r][r] = rows[r][r] + diagonal[r]

    n = len(rows)
    factor = Factor.of_matrix(rows)
    sound: Any = 0.0
    for r in range(n):
        stretched = factor.inverse_pivots[r] * rows[r][r]  # at least 1 for a positive definite matrix
        sound = where_less(0.5, stretched, where_less(stretched, 1.0 / SINGULAR, sound, math.nan), math.nan)
    columns = [factor.solve([float(r == c) for r in range(n)]) for c in range(n)]
    full = [[columns[min(r, c)][max(r, c)] for r in range(n)] for c in range(n)]
    full[0][0] = full[0][0] + sound

    for i, frame in enumerate(frames):
        for j, other in enumerate(frames):
            Lambda[frame, other] = [
                Motion.from_numbers(column[6 * i : 6 * i + 6]) for column in full[6 * j : 6 * j + 6]
            ]
    return (Lambda,)
