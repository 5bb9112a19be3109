"""M⁻¹, and -M⁻¹ R for right-hand sides R, by articulated bodies, O(n) for each column; M is never formed.

    for each column, p and P zero at first
    inward    u = -R - Sᵀ p,   y = D⁻¹ u,   pₚ += p + K u       with K = U D⁻¹
    outward   x = y - Kᵀ Pₚ,   P = Pₚ + S x

What articulated bodies do with joint forces alone (Featherstone 1983), in the frame of the root (``root_frame``), where
nothing is moved. R has blocks for joints of which one carries the other, as derivatives of joint forces have, so that
the inward recursion goes over what the column's joint carries and over its ancestors alone; for M⁻¹, where R = -1, over
these. M⁻¹ itself has full blocks for all joints of one root; those of one side of the diagonal are copied to the other,
so that it is symmetric to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """How a joint gives way: its motions S and K = U D⁻¹ of U = Iᴬ S, in the root's frame, and D."""

    S: Columns
    K: list[Force]
    D: Factor


def mass_matrix_inverse(tree: OrderedTree, q: JointValues) -> tuple[Field[Matrix]]:
    """M⁻¹, a block for each pair of joints."""
    X0, _ = root_frames(tree, q)
    (X,) = zeros(tree, 1)
    solve(tree, giving_way(tree, X0, Propagators(tree, q)), X)
    return (symmetric(tree, X),)


def giving_way(tree: Tree, X0: Field[Transform], found: Joints) -> Field[GivingWay]:
    """What the joints do, as it was found in the bodies' own frames, in the frames of their roots."""
    joints: Field[GivingWay] = tree.field()
    for body in tree.outward():
        X, D = X0[body], found.D[body]
        S = Columns([X.to_parent(column) for column in found.S[body].columns()])
        U = [X.to_parent(force) for force in found.U[body]]
        joints[body] = GivingWay(S, [combination(U, D.solve(unit)) for unit in units(body.joint.nv)], D)
    return joints


def zeros(tree: Tree, count: int) -> list[Field[Matrix]]:
    """So many matrices of zeros, a block for each pair of joints."""
    found: list[Field[Matrix]] = [tree.field() for _ in range(count)]
    for body in tree.outward():
        for other in tree.outward():
            for X in found:
                X[body, other] = [[0.0] * other.joint.nv for _ in range(body.joint.nv)]
    return found


def symmetric(tree: OrderedTree, X: Field[Matrix]) -> Field[Matrix]:
    """A symmetric matrix, its lower blocks above as well."""
    for body in tree.outward():
        rows = X[body, body]
        for other in tree.bodies_back_from(body):
            X[other, body] = columns(X[body, other], other.joint.nv)
        X[body, body] = [[rows[max(i, k)][min(i, k)] for k in range(len(rows))] for i in range(len(rows))]
    return X


Taken = Callable[[Body, Body, list[Matrix]], None]
"""What takes the blocks of a joint and a column, of each right-hand side and last of M⁻¹."""


def solve(
    tree: OrderedTree,
    joints: Field[GivingWay],
    inverse: Field[Matrix],
    *right: Field[Matrix],
    taken: Taken | None = None,
) -> None:
    """Find -M⁻¹ R of each right-hand side R, and M⁻¹: each stands in the place of R, and of ``inverse``, which is zero,
    unless it is ``taken``.
    """
    solution = _Solution(tree, joints, (*right, inverse))
    for column in tree.outward():
        solution.inward(column)
        solution.outward(column, taken or solution.put)


class _Solution:
    """Columns of right-hand sides, the last of which is that of M⁻¹, solved in place, those of one joint at a time."""

    def __init__(self, tree: OrderedTree, joints: Field[GivingWay], X: Sequence[Field[Matrix]]) -> None:
        self.tree, self.joints, self.X = tree, joints, X
        self.p, self.f = fields(tree, list, 2)
        self.P: Field[list[Motion]] = tree.field()

    def outward(self, column: Body, taken: Taken) -> None:
        """x of every joint."""
        P, n = self.P, column.joint.nv
        P[self.tree.world] = [Motion.zero()] * (len(self.X) * n)
        for body in self.tree.outward():
            S, K, _ = self.joints[body]
            y = [each for X in self.X for each in columns(X[body, column], n)]
            both = zip(y, P[body.parent], strict=True)
            x = [minus(given, [motion.dot(force) for force in K]) for given, motion in both]
            P[body] = [motion + S.times(rates) for motion, rates in zip(P[body.parent], x, strict=True)]
            taken(body, column, self.blocks(body, column, x))

    def inward(self, column: Body) -> None:
        """y of what the column's joint carries, of itself and of its ancestors, in the place of R."""
        tree, p, f, n = self.tree, self.p, self.f, column.joint.nv
        nothing, none = [Force.zero()] * (len(self.X) * n - n), [Force.zero()] * n
        p[column] = nothing
        for body in tree.carried_by(column):
            p[body] = nothing
        for body in tree.carried_by(column):
            felt = self.given(body, column, p[body])
            p[body.parent] = [x + force for x, force in zip(p[body.parent], felt, strict=True)]
        f[column.parent] = self.given(column, column, [*p[column], *none], units(n))
        for body in tree.ancestors(column):
            f[body.parent] = self.given(body, column, f[body], [[0.0] * body.joint.nv] * n)

    def given(self, body: Body, column: Body, p: Sequence[Force], last: Sequence[list[Scalar]] = ()) -> list[Force]:
        """Have a joint give way to forces p behind it and to its own, the ``last`` of which are no right-hand side's;
        what its parent feels.
        """
        S, K, D = self.joints[body]
        right = [R[body, column] for R in self.X[:-1]]
        tau = [*([-row[k] for row in R] for R in right for k in range(column.joint.nv)), *last]
        u = [minus(own, S.dot(force)) for own, force in zip(tau, p, strict=True)]
        self.put(body, column, self.blocks(body, column, [D.solve(each) for each in u]))
        return [force + combination(K, each) for force, each in zip(p, u, strict=True)]

    def blocks(self, body: Body, column: Body, x: Sequence[list[Scalar]]) -> list[Matrix]:
        """The columns of each matrix as its block; of the first ones, if there are no more."""
        n = column.joint.nv
        return [columns(x[k : k + n], body.joint.nv) for k in range(0, len(x), n)] if n else []

    def put(self, body: Body, column: Body, blocks: list[Matrix]) -> None:
        """Leave blocks in the places of the matrices."""
        for X, block in zip(self.X, blocks, strict=False):
            X[body, column] = block
