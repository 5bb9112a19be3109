"""M⁻¹, and M⁻¹ R for right-hand sides R, by articulated bodies, O(n) for each column; M is never formed.

    for each column, p and P zero at first
    inward    u = R - Sᵀ p,   y = D⁻¹ u,   pₚ += p + U y
    outward   x = y - Kᵀ Pₚ,   P = Pₚ + S x                     with K = U D⁻¹

What articulated bodies do with joint forces alone (Featherstone 1983), in the frame of the root (``root_frame``), where
nothing is moved. The columns of one joint are taken together. What is zero in a column, because a joint is no ancestor
of another, is zero when the text is traced, and costs nothing then. M⁻¹ itself has full blocks for all joints of one
root; those of one side of the diagonal are copied to the other, so that it is symmetric to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from linkwork.algorithms.force_propagators import Propagators
from linkwork.algorithms.root_frame import root_frames
from linkwork.algorithms.tree import Field, JointValues, OrderedTree, Tree
from linkwork.spatial import Columns, Factor, Force, Motion, Subspace, Transform, combination
from linkwork.spatial.matrices import Matrix, columns, minus, units


class Joints(Protocol):
    """What articulated bodies find at each joint, in the bodies' own frames."""

    S: Field[Subspace]
    U: Field[list[Force]]
    D: Field[Factor]


class GivingWay(NamedTuple):
    """How a joint gives way: its motions S, U = Iᴬ S and K = U D⁻¹, in the root's frame, and D."""

    S: Columns
    U: list[Force]
    K: list[Force]
    D: Factor


def mass_matrix_inverse(tree: OrderedTree, q: JointValues) -> tuple[Field[Matrix]]:
    """M⁻¹, a block for each pair of joints."""
    X0, _ = root_frames(tree, q)
    (X,) = solve(tree, giving_way(tree, X0, Propagators(tree, q)), identity(tree))
    return (symmetric(tree, X),)


def giving_way(tree: Tree, X0: Field[Transform], found: Joints) -> Field[GivingWay]:
    """What the joints do, as it was found in the bodies' own frames, in the frames of their roots."""
    joints: Field[GivingWay] = tree.field()
    for body in tree.outward():
        X, D = X0[body], found.D[body]
        S = Columns([X.to_parent(column) for column in found.S[body].columns()])
        U = [X.to_parent(force) for force in found.U[body]]
        K = [combination(U, D.solve(unit)) for unit in units(body.joint.nv)]
        joints[body] = GivingWay(S, U, K, D)
    return joints


def identity(tree: Tree) -> Field[Matrix]:
    """1, as a block for each pair of joints."""
    one = nothing(tree)
    for body in tree.outward():
        one[body, body] = units(body.joint.nv)
    return one


def symmetric(tree: OrderedTree, X: Field[Matrix]) -> Field[Matrix]:
    """The lower blocks of a symmetric matrix above as well."""
    full: Field[Matrix] = tree.field()
    for body in tree.outward():
        for other in tree.bodies_back_from(body):
            full[other, body] = columns(X[body, other], other.joint.nv)
            full[body, other] = X[body, other]
        rows = X[body, body]
        full[body, body] = [[rows[max(i, k)][min(i, k)] for k in range(len(rows))] for i in range(len(rows))]
    return full


def nothing(tree: Tree) -> Field[Matrix]:
    """Zero for each pair of joints."""
    R: Field[Matrix] = tree.field()
    for body in tree.outward():
        for other in tree.outward():
            R[body, other] = [[0.0] * other.joint.nv for _ in range(body.joint.nv)]
    return R


def solve(tree: Tree, joints: Field[GivingWay], *right: Field[Matrix]) -> list[Field[Matrix]]:
    """M⁻¹ R for each right-hand side R, a block for each pair of joints."""
    p: Field[list[Force]] = tree.field()
    P: Field[list[Motion]] = tree.field()
    y: Field[Matrix] = tree.field()
    found: list[Field[Matrix]] = [tree.field() for _ in right]
    for column in tree.outward():
        each = column.joint.nv
        count = each * len(right)
        p[tree.world], P[tree.world] = [Force.zero()] * count, [Motion.zero()] * count
        for body in tree.outward():
            p[body] = [Force.zero()] * count
        for body in tree.inward():
            S, U, _, D = joints[body]
            forces = [numbers for R in right for numbers in columns(R[body, column], each)]
            y[body] = [D.solve(minus(r, S.dot(force))) for r, force in zip(forces, p[body], strict=True)]
            felt = [force + combination(U, given) for force, given in zip(p[body], y[body], strict=True)]
            p[body.parent] = [x + f for x, f in zip(p[body.parent], felt, strict=True)]
        for body in tree.outward():
            S, _, K, _ = joints[body]
            x = [
                minus(given, [motion.dot(k) for k in K]) for given, motion in zip(y[body], P[body.parent], strict=True)
            ]
            P[body] = [motion + S.times(rates) for motion, rates in zip(P[body.parent], x, strict=True)]
            for k, X in enumerate(found):
                X[body, column] = columns(x[k * each : (k + 1) * each], body.joint.nv)
    return found
