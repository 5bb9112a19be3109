"""M⁻¹, and -M⁻¹ R for right-hand sides R, by articulated bodies, O(n) for each column; M is never formed.

    for each column, p and P zero at first
    inward    y = -D⁻¹ (R + Sᵀ p),   pₚ += p + U y
    outward   x = y - Kᵀ Pₚ,   P = Pₚ + S x                     with K = U D⁻¹

What articulated bodies do with joint forces alone (Featherstone 1983), in the frame of the root (``root_frame``), where
nothing is moved. R has blocks for joints of which one carries the other, as derivatives of joint forces have, so that
the inward recursion goes over what the column's joint carries and over its ancestors alone; for M⁻¹, where R = -1, over
these. M⁻¹ itself has full blocks for all joints of one root; those of one side of the diagonal are copied to the other,
so that it is symmetric to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from linkwork.algorithms.force_propagators import Propagators
from linkwork.algorithms.root_frame import root_frames
from linkwork.algorithms.tree import Body, Field, JointValues, OrderedTree, Tree, fields
from linkwork.spatial import Columns, Factor, Force, Motion, Scalar, Subspace, Transform, combination
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
    (X,) = solve(tree, giving_way(tree, X0, Propagators(tree, q)))
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


def symmetric(tree: OrderedTree, X: Field[Matrix]) -> Field[Matrix]:
    """A symmetric matrix, its lower blocks above as well."""
    for body in tree.outward():
        rows = X[body, body]
        for other in tree.bodies_back_from(body):
            X[other, body] = columns(X[body, other], other.joint.nv)
        X[body, body] = [[rows[max(i, k)][min(i, k)] for k in range(len(rows))] for i in range(len(rows))]
    return X


def solve(tree: OrderedTree, joints: Field[GivingWay], *right: Field[Matrix]) -> list[Field[Matrix]]:
    """-M⁻¹ R for each right-hand side R, and last M⁻¹, a block for each pair of joints."""
    columns_of = _Columns(tree, joints, right)
    found: list[Field[Matrix]] = [tree.field() for _ in (*right, None)]
    done: list[Field[Matrix]] = [tree.field() for _ in range(5)]  # columns of a joint but the last
    for column in tree.outward():
        each = range(column.joint.nv)
        for k in each[:-1]:
            for body, x in columns_of.outward(column, k):
                done[k][body] = x
        for body, x in columns_of.outward(column, each[-1]) if each else columns_of.none():
            for X, *numbers in zip(found, *(done[k][body] for k in each[:-1]), x, strict=True):
                X[body, column] = columns(numbers[: len(each)], body.joint.nv)
    return found


class _Columns:
    """Columns of -M⁻¹ R for each R, and of M⁻¹, one at a time."""

    def __init__(self, tree: OrderedTree, joints: Field[GivingWay], right: Sequence[Field[Matrix]]) -> None:
        self.tree, self.joints, self.right, self.count = tree, joints, right, len(right) + 1
        self.p, self.f = fields(tree, list, 2)
        self.y: Field[Matrix] = tree.field()
        self.P: Field[list[Motion]] = tree.field()

    def none(self) -> Iterator[tuple[Body, Matrix]]:
        """Every body, with zeros."""
        for body in self.tree.outward():
            yield body, self.zero(body)

    def zero(self, body: Body) -> Matrix:
        return [[0.0] * body.joint.nv] * self.count

    def outward(self, column: Body, k: int) -> Iterator[tuple[Body, Matrix]]:
        """Every body, with column k of a joint at its own."""
        self.inward(column, k)
        P = self.P
        P[self.tree.world] = [Motion.zero()] * self.count
        for body in self.tree.outward():
            S, _, K, _ = self.joints[body]
            both = zip(self.y[body], P[body.parent], strict=True)
            x = [minus(given, [motion.dot(force) for force in K]) for given, motion in both]
            P[body] = [motion + S.times(rates) for motion, rates in zip(P[body.parent], x, strict=True)]
            yield body, x

    def inward(self, column: Body, k: int) -> None:
        """y of every joint."""
        tree, p, f, y = self.tree, self.p, self.f, self.y
        nothing = [Force.zero()] * len(self.right)
        p[column] = nothing
        for body in tree.outward():
            y[body] = self.zero(body)
        for body in tree.carried_by(column):
            p[body] = nothing
        for body in tree.carried_by(column):
            given, felt = self.given(body, column, k, p[body])
            y[body] = [*given, [0.0] * body.joint.nv]
            p[body.parent] = [x + force for x, force in zip(p[body.parent], felt, strict=True)]
        carried, one = [*p[column], Force.zero()], units(column.joint.nv)[k]
        y[column], f[column.parent] = self.given(column, column, k, carried, one)
        for body in tree.ancestors(column):
            y[body], f[body.parent] = self.given(body, column, k, f[body], [0.0] * body.joint.nv)

    def given(
        self, body: Body, column: Body, k: int, p: Sequence[Force], *last: list[Scalar]
    ) -> tuple[Matrix, list[Force]]:
        """How a joint gives way to forces p behind it and to its own, and what its parent feels."""
        S, U, _, D = self.joints[body]
        own = [*([-row[k] for row in R[body, column]] for R in self.right), *last]
        y = [D.solve(minus(tau, S.dot(force))) for force, tau in zip(p, own, strict=True)]
        return y, [force + combination(U, given) for force, given in zip(p, y, strict=True)]
