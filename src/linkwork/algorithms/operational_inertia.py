"""The operational-space inertia matrix Λ: any method for Λ⁻¹, then its inversion, O(m³).

    A = E Λ⁻¹ E + diag(d),   Λ = A⁻¹    E selects the rows asked for; d is the damping there, and 1 elsewhere

The algorithm depends on the number of frames, so it has no rolled form.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.algorithms.inversion import inversion
from linkwork.algorithms.tree import Field, JointValues, PointedTree, Values
from linkwork.spatial import Coordinates, Motion
from linkwork.spatial.matrices import Matrix


def operational_inertia(
    tree: PointedTree,
    q: JointValues,
    kept: Values[Coordinates],
    damping: Values[Coordinates],
    method: Callable[[PointedTree, JointValues], tuple[Field[list[Motion]]]],
) -> tuple[Field[list[Motion]]]:
    """Λ, a block for each pair of frames."""
    (block,) = method(tree, q)
    frames = list(tree.frames())
    Lambda: Field[list[Motion]] = tree.field()
    keep = [number for frame in frames for number in kept[frame]]
    diagonal = [number for frame in frames for number in damping[frame]]

    rows: Matrix = []
    for frame in frames:
        blocks = [[motion.numbers() for motion in block[frame, other]] for other in frames[: frame.index + 1]]
        for k in range(6):
            r = len(rows)
            numbers = [column[k] for columns in blocks for column in columns][: r + 1]
            rows.append([number * (keep[r] * e) for number, e in zip(numbers, keep[: r + 1], strict=True)])
            rows[r][r] = rows[r][r] + diagonal[r]

    (full,) = inversion(tree, rows)
    for i, frame in enumerate(frames):
        for j, other in enumerate(frames):
            Lambda[frame, other] = [
                Motion.from_numbers(column[6 * i : 6 * i + 6]) for column in full[6 * j : 6 * j + 6]
            ]
    return (Lambda,)
