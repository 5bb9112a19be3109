"""The inverse of the operational-space inertia matrix as J A⁻¹ Jᵀ with A⁻¹ formed, O(n³ + n²m + nm²).

    A = the joint-space inertia matrix, J = the Jacobian, both with explicit zeros
    for each joint k:   R = row k of A,   A ← A - Rᵀ Aₖₖ⁻¹ R,   row and column k ← Aₖₖ⁻¹ R,   Aₖₖ ← -Aₖₖ⁻¹
    then A is -A⁻¹:     Λ⁻¹ = J (A⁻¹ Jᵀ)

The symbolic method that Chang and Khatib compare with (2000, Eq. 14): the explicit inversion of a full matrix, which
does not exploit the tree. It is here to be counted and timed; ``dense`` is its form for use.
"""

from __future__ import annotations

from linkwork.algorithms.jacobian import jacobian
from linkwork.algorithms.mass_matrix import mass_matrix
from linkwork.algorithms.tree import Field, JointValues, PointedTree, Tree, fields
from linkwork.spatial import Factor, Motion
from linkwork.spatial.matrices import Matrix, columns, dot, units


def explicit_inverse(tree: PointedTree, q: JointValues) -> tuple[Field[list[Motion]]]:
    """Λ⁻¹ = J A⁻¹ Jᵀ, a block for each pair of frames."""
    (entries,) = jacobian(tree, q, "local")
    A = _negative_inverse(tree, q)
    J, Y, block = fields(tree, list[Motion], 3)

    for point in tree.frames():
        for body in tree.outward():
            J[point, body] = [Motion.zero()] * body.joint.nv
        for body in tree.path(point.body):
            J[point, body] = entries[point, body]
        for i in tree.outward():
            Y[point, i] = [Motion.zero()] * i.joint.nv
            for j in tree.outward():
                Y[point, i] = [
                    _minus(y, row, J[point, j]) for y, row in zip(Y[point, i], A[i, j], strict=True)
                ]  # A⁻¹ Jᵀ

    for point in tree.frames():
        for other in tree.frames():
            block[other, point] = [Motion.zero()] * 6
            for body in tree.outward():
                response = columns([y.numbers() for y in Y[point, body]], 6)
                there = block[other, point]
                block[other, point] = [
                    _minus(a, [-number for number in numbers], J[other, body])
                    for a, numbers in zip(there, response, strict=True)
                ]
    return (block,)


def _negative_inverse(tree: Tree, q: JointValues) -> Field[Matrix]:
    """-A⁻¹, a block for each two joints, by exchanging each joint's accelerations for its torques."""
    A = _blocks(tree, q)
    R, scaled = fields(tree, Matrix, 2)
    pivot: Field[Factor] = tree.field()

    for k in tree.outward():
        nv = k.joint.nv
        pivot[k] = Factor.of_matrix(A[k, k])
        for j in tree.outward():
            R[j] = columns(A[k, j], j.joint.nv)
            scaled[j] = [pivot[k].solve(column) for column in R[j]]
        for i in tree.outward():
            for j in tree.outward():
                A[i, j] = [
                    [a - dot(r, s) if nv else a for a, s in zip(row, scaled[j], strict=True)]
                    for row, r in zip(A[i, j], R[i], strict=True)
                ]
        for j in tree.outward():
            A[j, k], A[k, j] = scaled[j], columns(scaled[j], nv)
        A[k, k] = [[-number for number in pivot[k].solve(unit)] for unit in units(nv)]
    return A


def _blocks(tree: Tree, q: JointValues) -> Field[Matrix]:
    """The mass matrix, a block for each two joints."""
    (M,) = mass_matrix(tree, q)
    A: Field[Matrix] = tree.field()
    for i in tree.outward():
        for j in tree.outward():
            A[i, j] = [[0.0] * j.joint.nv for _ in range(i.joint.nv)]
    for i in tree.outward():
        A[i, i] = M[i, i]
        for j in tree.ancestors(i):
            A[i, j], A[j, i] = M[i, j], M[j, i]
    return A


def _minus(motion: Motion, weights: list[float], motions: list[Motion]) -> Motion:
    """a - Σ wₖ aₖ."""
    for weight, other in zip(weights, motions, strict=True):
        motion = motion - other * weight
    return motion
