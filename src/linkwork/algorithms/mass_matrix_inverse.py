"""M⁻¹ by articulated bodies, O(n²), and products with it; M is never formed.

A unit force at joint i, the row of M⁻¹, accelerates each body by some P. A force f on body b then accelerates joint i
by fᵀ P of b. This also holds for the force K = -U D⁻¹ on the parent p of joint j due to a unit force at j.

    for each joint j inward, and each joint i that it carries, k = Kᵢ at first
               yᵢⱼ = D⁻¹ Sᵀ k,  k += K Sᵀ k;   yᵢᵢ = D⁻¹,  and for other pairs it is zero
    for each joint i, the last first, bodies j depth first, P of the world zero
    to i       Yⱼ = yᵢⱼ + Kᵀ Pₚ = (M⁻¹)ᵢⱼ
    after i    Yⱼ = (M⁻¹)ⱼᵢ, known by symmetry, needed for X only
    for each   P = Pₚ + S Yⱼ,   Xᵢⱼ += fⱼᵀ Pₚ

This is the articulated-body algorithm with joint forces alone (Featherstone 1983), in the frame of the root
(``root_frame``), where nothing is transformed. X are accelerations while the parents of joints j are held, and f the
forces on these parents; the accelerations due to their release are added (``forward_dynamics_derivatives``). M⁻¹ is
symmetric to the last bit.

Several rows may be computed side by side, as the tree groups them: the quantities of a joint are then loaded once for
all of them, and the rows are independent.

By symmetry Yⱼ of ancestors could be reused instead, from rows in the other order, without y. But then no
joint compensates for the rounding of P of its parent, and it accumulates: M⁻¹ of a rope has a tenth of the error this
way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from linkwork.algorithms.force_propagators import Propagators
from linkwork.algorithms.root_frame import root_frames
from linkwork.algorithms.tree import Body, Field, JointValues, OrderedTree, Tree
from linkwork.spatial import Columns, Factor, Force, Motion, Subspace, Transform, combination
from linkwork.spatial.matrices import Matrix, columns, plus, units


class Joints(Protocol):
    """The articulated-body quantities of each joint, in the bodies' own frames."""

    S: Field[Subspace]
    U: Field[list[Force]]
    D: Field[Factor]


class GivingWay(NamedTuple):
    """The response of a joint: its motions S and K = -U D⁻¹ of U = Iᴬ S, in the root's frame, and D."""

    S: Columns
    K: list[Force]
    D: Factor

    def inverse(self) -> Matrix:
        """D⁻¹."""
        return [self.D.solve(unit) for unit in units(len(self.K))]


def mass_matrix_inverse(tree: OrderedTree, q: JointValues) -> tuple[Field[Matrix]]:
    """M⁻¹, a block for each pair of joints."""
    X0, _ = root_frames(tree, q)
    (Y,) = zeros(tree, 1)
    respond(tree, giving_way(tree, X0, Propagators(tree, q)), Y)
    return (Y,)


def giving_way(tree: Tree, X0: Field[Transform], bodies: Joints) -> Field[GivingWay]:
    """The joints' quantities transformed from the bodies' own frames to those of their roots."""
    joints: Field[GivingWay] = tree.field()
    for body in tree.outward():
        X, D = X0[body], bodies.D[body]
        S = Columns([X.to_parent(column) for column in bodies.S[body].columns()])
        U = [X.to_parent(force) for force in bodies.U[body]]
        joints[body] = GivingWay(S, [-combination(U, D.solve(unit)) for unit in units(body.joint.nv)], D)
    return joints


def zeros(tree: OrderedTree, count: int) -> list[Field[Matrix]]:
    """So many matrices, zero for each pair of a joint and one before it, to which ``respond`` adds."""
    matrices: list[Field[Matrix]] = [tree.field() for _ in range(count)]
    for body in tree.depth_first():
        for other in tree.bodies_before(body):
            for X in matrices:
                X[body, other] = [[0.0] * other.joint.nv for _ in range(body.joint.nv)]
    return matrices


Taken = Callable[[Body, Body, list[Matrix]], None]
"""A function that takes the blocks of a pair of joints: those of each X and last that of M⁻¹."""


def respond(
    tree: OrderedTree,
    joints: Field[GivingWay],
    inverse: Field[Matrix],
    X: Sequence[Field[Matrix]] = (),
    pushed: Field[list[Force]] | None = None,
    taken: Taken | None = None,
) -> None:
    """Compute M⁻¹, and add to each X the accelerations due to the forces ``pushed`` on parents, as many for each X as
    the joint has degrees of freedom, one X after another. Blocks stay in their fields unless ``taken`` is given.
    """
    P: Field[list[Motion]] = tree.path_field()

    def answer(body: Body, forces: Sequence[Force], which: slice = slice(None)) -> Matrix:
        """fᵀ P of the body's parent, a row for each unit force."""
        return [[motion.dot(force) for force in forces] for motion in P[body.parent][which]]

    def move(rows: Sequence[Body], body: Body, Y: Matrix, begun: int) -> None:
        """Move a body with its parent and by its joint; X of the last rows, from ``begun`` on, is added to."""
        n, S, blocks = body.joint.nv, joints[body].S, []
        forces = [] if pushed is None else pushed[body]
        for number, each in enumerate(X):
            block = answer(body, forces[number * n : number * n + n])
            there = [row for joint in rows[begun:] for row in each[joint, body]]
            first = len(block) - len(there)
            blocks.append([*block[:first], *(plus(x, y) for x, y in zip(there, block[first:], strict=True))])
        P[body] = [motion + S.times(rates) for motion, rates in zip(P[body.parent], Y, strict=True)]
        for joint, *own in zip(rows, *(_parted(block, rows) for block in (*blocks, Y)), strict=True):
            if taken:
                taken(joint, body, own)
            else:
                for each, block in zip(X, own, strict=False):
                    each[joint, body] = block

    def completed(body: Body, alone: Matrix, which: slice = slice(None)) -> Matrix:
        """The acceleration of a joint: that with its parent held, and that due to its parent's motion."""
        return [plus(x, y) for x, y in zip(alone, answer(body, joints[body].K, which), strict=True)]

    def keep(rows: Sequence[Body], body: Body, Y: Matrix) -> None:
        """Store M⁻¹ of rows and a body before them, and by symmetry of the body and the rows."""
        for row, block in zip(rows, _parted(Y, rows), strict=True):
            inverse[row, body] = block
            inverse[body, row] = columns(block, body.joint.nv)

    _while_parents_are_held(tree, joints, inverse)
    for rows in tree.rows_inward():
        P[tree.world] = [Motion.zero()] * sum(row.joint.nv for row in rows)
        for body in tree.bodies_before(rows[0]):
            Y = completed(body, _together(inverse, rows, body))
            keep(rows, body, Y)
            move(rows, body, Y, 0)
        for k, body in enumerate(rows):  # each of the rows is before, at or after the body
            before, after = _together(inverse, rows[:k], body), rows[k + 1 :]
            own = slice(len(before), len(before) + body.joint.nv)
            inverse[body, body] = Y = _lower(completed(body, joints[body].inverse(), own))
            others = completed(body, _together(inverse, after, body), slice(own.stop, None))
            keep(after, body, others)
            move(rows, body, [*before, *Y, *others], k)
        for body in tree.bodies_after(rows[-1]) if X else ():
            move(rows, body, _together(inverse, rows, body), len(rows))


def _together(field: Field[Matrix], rows: Sequence[Body], body: Body) -> Matrix:
    """The rows of several joints' blocks, one below the other."""
    return [row for joint in rows for row in field[joint, body]]


def _parted(matrix: Matrix, rows: Sequence[Body]) -> list[Matrix]:
    """The blocks of several joints in a matrix that has a row for each degree of freedom."""
    below = iter(matrix)
    return [[next(below) for _ in range(joint.joint.nv)] for joint in rows]


def _while_parents_are_held(tree: OrderedTree, joints: Field[GivingWay], y: Field[Matrix]) -> None:
    """y, the response of a joint, with its parent held, to forces at the joints it carries."""
    k: Field[list[Force]] = tree.field()
    for body in tree.outward():
        k[body] = joints[body].K
    for body in tree.inward():
        S, K, D = joints[body]
        for row in tree.carried_by(body):
            u = [S.dot(force) for force in k[row]]
            y[row, body] = [D.solve(each) for each in u]
            k[row] = [force + combination(K, each) for force, each in zip(k[row], u, strict=True)]


def _lower(block: Matrix) -> Matrix:
    """A symmetric matrix, with its lower triangle copied to the upper one."""
    return [[block[max(i, k)][min(i, k)] for k in range(len(block))] for i in range(len(block))]
