"""Forward dynamics of closed chains from the principle of virtual work: loop joints inside the recursion, O(n k²).

A loop constrains bodies of a tree relative to each other by up to six conditions on their accelerations, Σ C a + γ = 0,
with one C for each body that it holds. Its constraint forces λ are unknowns like those of any joint, and act as Cᵀ λ
(Eqs. 6, 7, 21). While links are joined from the leaves to the root, as in ``virtual_work``, the acceleration of a link
and the residual s of a loop's conditions are

    a = u + W d + Σ R λ,        s = s₀ + Rᵀ d + Σ T λ        over the loops that are open at the link

    attached  R += W Cᵀ,   T += C R + (C R)ᵀ + C W Cᵀ,   s₀ += γ + C u             where a loop holds a link
    joined    L D Lᵀ, G, y of ``virtual_work``,   B = L⁻¹ K (R - Xᵀ Rₚ)            a joint
    closed    L D Lᵀ = T,   G = -L⁻¹ Rᵀ,   y = -L⁻¹ s₀,   B = L⁻¹ T of the others  a loop whose holds have all met
    either    Wₚ -= Gᵀ D⁻¹ G,   uₚ -= Gᵀ D⁻¹ y,   Rₚ += Gᵀ D⁻¹ B,   s₀ += Bᵀ D⁻¹ y,   T -= Bᵀ D⁻¹ B
    back      n or λ = L⁻ᵀ D⁻¹ (y + G dₚ - Σ B λ),   in the reverse order

So closing a loop is the elimination of one more joint, at the link where its paths meet. The cost of a joint grows with
the square of the number k of loops that are open there: O(n) for any number of loops, if few are open at a time. A loop
that holds one body to the world is closed on that body at once: any number of contacts with the ground costs O(n).

Yamane, Nakamura, O(N) forward dynamics computation of open kinematic chains based on the principle of virtual work,
leave closed chains to future work; Eq. 7, which they start from, solves for all loops together, O(N³). Conditions that
a loop does not have are rows of zeros with a compliance of 1, so that every loop has six; their forces are 0.

Where constraints depend on each other, a pivot of a loop or of a joint vanishes. If a pivot is below the level of
rounding, the forces are non-finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.algorithms.reactions import seen
from linkwork.algorithms.tree import BodyForces, Field, JointField, JointValues, LoopedTree, OpenLoop, Values, fields
from linkwork.algorithms.virtual_work import Links, weighted
from linkwork.spatial import Factor, Force, Motion, Scalar, where_less
from linkwork.spatial.matrices import Column, Matrix, columns, dot, minus_applied, plus_rows, transposed

ROWS = 6
"""Conditions of each loop."""
MOST_LOST = 1e7
"""The largest ratio by which a pivot may be smaller than without any other joint or loop."""


def closed_chains(
    tree: LoopedTree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    f_ext: BodyForces,
    conditions: Values[Column],
    bias: Values[Column],
    compliance: Values[Column],
    frame: str = "child",
    judged: bool = True,
) -> tuple[JointField, Field[Force], Field[Column]]:
    """q̈, the wrench that each joint transmits to its child, expressed in a frame as in ``reactions``, and the forces of
    each hold's loop.

    For each hold, ``conditions`` are the six rows of C in its body's frame, for accelerations that include -g; ``bias``
    and ``compliance`` are its contributions to γ and to the diagonal of T.
    """
    links = Links(tree, q, v, tau, f_ext, whole=True)
    loops = _Loops(tree, links, judged)
    C: Field[list[Force]] = tree.field()
    found: Field[Column] = tree.field()
    for hold in tree.frames():
        C[hold] = [Force.from_numbers(conditions[hold][ROWS * k : ROWS * (k + 1)]) for k in range(ROWS)]
        found[hold] = [0.0] * ROWS

    for body in tree.inward():
        for end in tree.attached(body):
            loops.attach(end, C[end.frame], bias[end.frame], compliance[end.frame])
        for loop in tree.closed(body):
            loops.close(loop)
        links.join(body)
        loops.carry(body)
        for loop in tree.closed_behind(body):
            loops.close(loop)

    for body in tree.outward():
        for loop in tree.closed_behind(body, back=True):
            loops.solve(loop)
        loops.hold(body)
        for loop in tree.closed(body, back=True):
            loops.solve(loop)
        for end in tree.attached(body):
            found[end.frame] = loops.force[end.loop]
            for force, size in zip(C[end.frame], loops.force[end.loop], strict=True):
                links.d[end.body] = links.d[end.body] + force * size

    motion = links.motion()
    return motion.qdd, seen(tree, motion.f, motion.X, frame), found


class _Loops:
    """The unknowns of the loops during the joining of links."""

    def __init__(self, tree: LoopedTree, links: Links, judged: bool) -> None:
        self.tree, self.links, self.judged = tree, links, judged
        self.R: Field[list[Motion]] = tree.field()
        """At strands: the response of a link to the forces of a loop."""
        T, B = fields(tree, Matrix, 2)
        s, alone, y, force = fields(tree, Column, 4)
        self.T, self.B, self.s, self.alone, self.y, self.force = T, B, s, alone, y, force
        self.D: Field[Factor] = tree.field()
        self.G: Field[list[Motion]] = tree.field()
        self.rest: JointField = tree.field()
        self.left: Field[Column] = tree.field()
        for strand in tree.strands():
            self.R[strand] = [Motion.zero()] * ROWS
        for coupling in tree.couplings():
            T[coupling] = [[0.0] * ROWS for _ in range(ROWS)]
        for loop in tree.loops():
            s[loop], alone[loop], force[loop] = [0.0] * ROWS, [0.0] * ROWS, [0.0] * ROWS

    def attach(self, hold: Any, C: list[Force], bias: Column, compliance: Column) -> None:
        tree, R, T, s = self.tree, self.R, self.T, self.s
        W, u, loop = self.links.W[hold.body], self.links.u[hold.body], hold.loop
        for other in tree.others(hold):
            felt = [[answer.dot(force) for answer in R[other.onward]] for force in C]
            self._put(hold, other, plus_rows(T[tree.coupling(hold, other)], felt))
        given = [W * force for force in C]
        before = [[answer.dot(force) for answer in R[hold.onward]] for force in C]
        own = [[answer.dot(force) for answer in given] for force in C]
        more = plus_rows(plus_rows(before, transposed(before)), own)
        for k in range(ROWS):
            more[k][k] = more[k][k] + compliance[k]
        T[tree.coupling(hold, hold)] = plus_rows(T[tree.coupling(hold, hold)], more)
        self.alone[loop] = [x + own[k][k] + compliance[k] for k, x in enumerate(self.alone[loop])]
        R[hold.onward] = [x + answer for x, answer in zip(R[hold.onward], given, strict=True)]
        s[loop] = [x + y + u.dot(force) for x, y, force in zip(s[loop], bias, C, strict=True)]

    def carry(self, body: Any) -> None:
        """Carry the loops across a joint that has just been joined."""
        K, D, X, R = self.links.K[body], self.links.D[body], self.links.X[body], self.R
        for loop in self.tree.crossings(body):
            answers = zip(R[loop.strand], R[loop.onward], strict=True)
            felt = [D.forward(K.dot(here - X.to_child(there))) for here, there in answers]
            self.B[loop] = transposed(felt)
        self._fold(lambda: self.tree.crossings(body), self.links.G[body], D, self.links.y[body])

    def close(self, loop: Any) -> None:
        """Eliminate a loop once all bodies that it holds have been joined."""
        tree, T, links = self.tree, self.T, self.links
        D = self.D[loop.loop] = Factor.of_matrix(T[tree.coupling(loop, loop)])
        by_direction = zip(*(answer.numbers() for answer in self.R[loop.onward]), strict=True)
        sides = [D.forward([-number for number in numbers]) for numbers in by_direction]
        G = self.G[loop.loop] = [Motion.from_numbers(row) for row in transposed(sides)]
        y = self.y[loop.loop] = D.forward([-number for number in self.s[loop.loop]])
        for other in tree.others(loop):
            self.B[other] = transposed([D.forward(column) for column in transposed(T[tree.coupling(loop, other)])])
        links.W[loop.body] = links.W[loop.body].minus(G, D.inverse_pivots)
        links.u[loop.body] = links.u[loop.body] - weighted(G, D, y)
        self._fold(lambda: tree.others(loop), G, D, y)

    def _fold(self, crossings: Any, G: list[Motion], D: Factor, y: Sequence[Scalar]) -> None:
        """Update the loops that are still open after an elimination."""
        tree, B, R, T = self.tree, self.B, self.R, self.T
        for loop in crossings():
            by_row = columns(B[loop], ROWS)
            R[loop.onward] = [x + weighted(G, D, column) for x, column in zip(R[loop.onward], by_row, strict=True)]
            self.s[loop.loop] = [
                x + _product(column, D, y) for x, column in zip(self.s[loop.loop], by_row, strict=True)
            ]
        for loop in crossings():
            for other in tree.from_here(loop):
                one, two = columns(B[loop], ROWS), columns(B[other], ROWS)
                gone = [[_product(x, D, y) for y in two] for x in one]
                self._put(loop, other, _minus(T[tree.coupling(loop, other)], gone))

    def _put(self, loop: OpenLoop, other: OpenLoop, block: Matrix) -> None:
        self.T[self.tree.coupling(other, loop)] = transposed(block)
        self.T[self.tree.coupling(loop, other)] = block

    def hold(self, body: Any) -> None:
        """The constraint forces of a joint."""
        links = self.links
        self.rest[body] = links.known(body)
        for loop in self.tree.crossings(body):
            self.rest[body] = minus_applied(self.rest[body], self.B[loop], self.force[loop.loop])
        K, known = links.K[body], self.rest[body]
        if self.judged:
            known = sound(known, links.D[body], [row[-1] for row in K.project(links.A[body].full())])
        links.hold(body, known)

    def solve(self, loop: Any) -> None:
        """The forces of a loop."""
        d, number = self.links.d[loop.body], loop.loop
        self.left[number] = [x + row.dot(d) for x, row in zip(self.y[number], self.G[number], strict=True)]
        for other in self.tree.others(loop):
            self.left[number] = minus_applied(self.left[number], self.B[other], self.force[other.loop])
        known: Sequence[Scalar] = self.left[number]
        if self.judged:
            known = sound(known, self.D[number], self.alone[number])
        self.force[number] = self.D[number].complete(known)


def sound(known: Sequence[Scalar], D: Factor, alone: Sequence[Scalar]) -> Sequence[Scalar]:
    """``known``, or non-finite numbers if a pivot is unreliable: if it is much smaller than the diagonal of the matrix
    before anything is joined.
    """
    trusted: Scalar = 0.0
    for inverse, number in zip(D.inverse_pivots, alone, strict=True):
        lost = inverse * number
        trusted = where_less(0.0, lost, where_less(lost, MOST_LOST, trusted, float("nan")), float("nan"))
    return [number + trusted for number in known]


def _product(x: Column, D: Factor, y: Sequence[Scalar]) -> Scalar:
    """xᵀ D⁻¹ y, for columns that may be empty."""
    return dot([a * weight for a, weight in zip(x, D.inverse_pivots, strict=True)], y) if x else 0.0


def _minus(A: Matrix, B: Matrix) -> Matrix:
    return [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]
