"""The constraint force algorithm for fewer processors than links: each takes a segment of the chain.

The same block-tridiagonal system as in ``constraint_force``, eliminated in another order. Segments are worked on at
the same time. Within a segment the joints go one after the other, all but the last, so that the last joints of all
segments are left: a small system of the same form. On P processors these are about N / P + P steps.

    segments  R, ω over the whole segment                                                           _turn
    head      its joints go, one after the other; then what the last link before each segment is    _eliminate_head
    segments  outward:  c, pᴬ, W = I⁻¹, u = W (K_Jᵀ τ - pᴬ) of a link,   uₚ -= Wₚ X K_Jᵀ τ of       _eliminate_inside
                        the one before it
                        Y = K (W + Xᵀ Wₚ X) Kᵀ,   E = -K Xᵀ Wₚ Kₚᵀ,   r = K (c - u + Xᵀ uₚ)
                        the joint before goes:  L D Lᵀ = Yₚ,   A = L⁻¹ Fₚ,   B = L⁻¹ Eᵀ,   z = L⁻¹ rₚ
                        Y -= Bᵀ D⁻¹ B,   r -= Bᵀ D⁻¹ z,   F = -Bᵀ D⁻¹ A,   and likewise with A before the segment
    seams     n of the last joints, one after the other                                             _solve_seams
    segments  outward:  r again, since n before the segment is known, by L and D, which were kept   _substitute_inside
              inward:   n = L⁻ᵀ D⁻¹ (z - B nᵢ₊₁),   f = K_Jᵀ τ + Kᵀ n,   a = W (f - Xᵢ₊₁ fᵢ₊₁ - pᴬ)
              outward:  q̈ = K_J (a - Xᵀ aₚ - c)
    seams     q̈ of the last joints, from a of the links behind them                                 _accelerate_seams
    head      inward:   n, f, a;   outward:   q̈                                                     _substitute_head

Side branches are articulated bodies, as in ``constraint_force``, worked on at the same time; I is then Iᴬ.

F couples a joint to the one before its segment. Of the first elimination nothing is kept but L and D, so that the
second goes without Y: the rest is found again, since what a long chain takes in memory is slower than arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.chain_links import ChainLinks, Link, Stand
from linkwork.algorithms.constraint_force import Turned, turned_further
from linkwork.algorithms.cyclic_reduction import coupling, eliminate, reduced
from linkwork.algorithms.side_branches import SideBranches
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, Segment, SegmentedTree, fields
from linkwork.spatial import Columns, Factor, Force, Mat3, Motion, Vec3
from linkwork.spatial.matrices import Column, Matrix, minus_applied, padded_with_identity, plus, transposed


def constraint_force_segments(
    tree: SegmentedTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body, these lined up."""
    branches = SideBranches(tree, q, v, tau, f_ext) if tree.branched else None
    work = Elimination(tree, ChainLinks(tree, q, v, tau, f_ext, branches))
    _turn(work)
    if branches:
        branches.gather(work.turned)
    _eliminate_head(work)
    _eliminate_inside(work)
    _solve_seams(work)
    _substitute_inside(work)
    _accelerate_seams(work)
    _substitute_head(work)
    if branches:
        branches.leave(work.qdd)
    return (work.qdd,)


class Block(NamedTuple):
    """Y and r of a joint, as far as the joints before it are eliminated."""

    Y: Matrix
    r: Column


class Gone(NamedTuple):
    """What a joint that was eliminated leaves for its n."""

    B: Matrix
    D: Factor
    z: Column

    def solve(self, behind: Column) -> Column:
        """n, from n of the joint behind."""
        return self.D.complete(minus_applied(self.z, self.B, behind))


class Known(NamedTuple):
    """A link of a segment that was come to, and r of its joint."""

    link: Link
    r: Column


class Front(NamedTuple):
    """A link of a segment that was come to, and Y, F and r of its joint."""

    link: Link
    Y: Matrix
    F: Matrix
    r: Column


class Ends(NamedTuple):
    """n of the joint before a segment, and of its last joint."""

    before: Column
    last: Column


class Elimination:
    """What is known of a chain at each stage, and where: at segments, at the seam that was come to, or at bodies."""

    def __init__(self, tree: SegmentedTree, links: ChainLinks) -> None:
        self.tree, self.links, self.seam = tree, links, tree.seam
        self.qdd: JointField = tree.field()

        # At segments
        self.turned: Field[Turned] = tree.field()
        self.start: Field[Link] = tree.field()
        """The link before the segment."""
        self.front: Field[Front] = tree.field()
        self.known_front: Field[Known] = tree.field()
        """The same once n before the segment is known."""
        self.taken: Field[Block] = tree.field()
        """What the segment's joints add to Y and r of the joint before it."""
        self.gone_before: Field[Gone] = tree.field()
        """The joint before the segment."""
        self.ends: Field[Ends] = tree.field()
        self.n: Field[Column] = tree.field()
        """Of the joint that was come to."""
        self.onward: Field[Force] = tree.field()
        """What the link that was come to passes on to the next: X f of that one."""
        self.a_before, self.carried_last = fields(tree, Motion, 2)
        """a of the link before the segment; what a of its last link were at q̈ = 0."""

        # At the seam
        self.known: Field[Link] = tree.field()
        self.reached: Field[Block] = tree.field()
        self.n_behind: Field[Column] = tree.field()
        self.a_last: Field[Motion] = tree.field()
        self.passed: Field[Force] = tree.field()

        # At bodies of the head, and of a segment while it is worked on
        self.head_stand, self.stand = fields(tree, Stand, 2)
        self.head_gone: Field[Gone] = tree.field()
        self.gone: Field[tuple[Matrix, Column]] = tree.field()
        """B and z of the joint before a body; its D outlives the iteration in which it is found."""
        self.D: Field[Factor] = tree.persistent_field()
        self.head_a, self.a = fields(tree, Motion, 2)

    def note(self, body: Body, a: Motion) -> None:
        """Keep a of a body for its side branches, if there are any."""
        if self.links.branches:
            self.links.branches.a[body] = a


def _gone(D: Factor, r: Column, E: Matrix) -> Gone:
    """A joint is eliminated; D has the factors of its Y, E couples the one behind to it."""
    return Gone(transposed([D.forward(row) for row in E]), D, D.forward(r))


def _turn(work: Elimination) -> None:
    """Rotation and angular velocity over each segment."""
    turned = work.turned
    for segment in work.tree.segments():
        turned[segment] = Mat3.identity(), Vec3.zero()
        for body in segment.outward():
            turn = work.links.place(body).rotation, work.links.moved(body).angular
            turned[segment] = turned_further(turned[segment], turn)


def _eliminate_head(work: Elimination) -> None:
    """The head's joints, link by link; then the links before each segment."""
    tree, links, seam, known, reached, start = work.tree, work.links, work.seam, work.known, work.reached, work.start
    known[seam] = links.world()
    reached[seam] = Block(padded_with_identity([], links.width), [0.0] * links.width)
    for body in tree.head():
        before, block = known[seam], reached[seam]
        links.place(body)
        work.head_stand[body], known[seam] = links.on(body, before.w)
        Y, E, r, r_before = links.row(body, work.head_stand[body], known[seam], before, block.r)
        gone = work.head_gone[body] = _gone(Factor.of_matrix(block.Y), r_before, E)
        eliminate(Y, r, *gone)
        reached[seam] = Block(Y, r)
    for segment in tree.segments_outward():
        start[segment] = known[seam]
        for body in segment.outward(-1):
            R, turn = work.turned[segment]
            _, known[seam] = links.alone(body, R.apply_transpose(start[segment].w) + turn)


def _eliminate_inside(work: Elimination) -> None:
    """All joints of a segment but the last, from the first; what they leave behind it, and before it."""
    links, front, taken = work.links, work.front, work.taken
    for segment in work.tree.segments():
        for body in segment.outward(0, 1):
            before = work.start[segment]
            stand, link = links.on(body, before.w)
            Y, E, r, r_before = links.row(body, stand, link, before, [0.0] * links.width)
            front[segment] = Front(link, Y, transposed(E), r)
            taken[segment] = Block([[0.0 for _ in row] for row in Y], r_before)
        for body in segment.outward(1):
            before, Yp, F, rp = front[segment]
            D = work.D[body] = Factor.of_matrix(Yp)
            A = transposed([D.forward(column) for column in F])
            stand, link = links.on(body, before.w)
            Y, E, r, rp = links.row(body, stand, link, before, rp)
            B, D, z = _gone(D, rp, E)
            eliminate(Y, r, B, D, z)
            front[segment] = Front(link, Y, coupling(B, A, D), r)
            first = taken[segment]
            eliminate(first.Y, first.r, A, D, z)
            taken[segment] = first


def _solve_seams(work: Elimination) -> None:
    """n of the last joint of each segment, from seam to seam and back."""
    tree, seam, reached, n, gone = work.tree, work.seam, work.reached, work.n_behind, work.gone_before
    for segment in tree.segments_outward():
        before, taken, (_, Y, F, r) = reached[seam], work.taken[segment], work.front[segment]
        Yp = [plus(*rows) for rows in zip(before.Y, taken.Y, strict=True)]
        gone[segment] = _gone(Factor.of_matrix(Yp), plus(before.r, taken.r), transposed(F))
        eliminate(Y, r, *gone[segment])
        reached[seam] = Block(Y, r)
    last = reached[seam]
    n[seam] = Factor.of_matrix(last.Y).solve(last.r)
    link = work.known[seam]
    work.a_last[seam] = link.u + Columns(link.WK).times(n[seam])
    for segment in tree.segments_inward():
        work.ends[segment] = Ends(gone[segment].solve(n[seam]), n[seam])
        n[seam] = work.ends[segment].before


def _substitute_inside(work: Elimination) -> None:
    """n, f, a and q̈ of all joints of a segment but the last."""
    links, front, n, a, qdd = work.links, work.known_front, work.n, work.a, work.qdd
    for segment in work.tree.segments():
        for body in segment.outward(0, 1):
            before = work.start[segment]
            work.stand[body], link = links.on(body, before.w)
            _, E, r, _ = links.row(body, work.stand[body], link, before, [0.0] * links.width)
            front[segment] = Known(link, minus_applied(r, E, work.ends[segment].before))
        for body in segment.outward(1):
            before, rp = front[segment]
            work.stand[body], link = links.on(body, before.w)
            _, E, r, rp = links.row(body, work.stand[body], link, before, rp)
            gone = _gone(work.D[body], rp, E)
            work.gone[body] = gone.B, gone.z
            front[segment] = Known(link, reduced(r, *gone))
        n[segment] = work.ends[segment].last
        for body in segment.inward(-1):
            _pass_on(work, segment, body)
            _substitute(work, segment, body)
        for body in segment.inward(1, -1):
            _accelerate(work, segment, body)
            _substitute(work, segment, body)
        for body in segment.inward(0, 1):
            _accelerate(work, segment, body)
            before = work.start[segment]
            moved = before.u + Columns(before.WK).times(work.ends[segment].before)
            work.a_before[segment] = moved - before.W * work.onward[segment]
            qdd[body] = links.joint_acceleration(body, work.stand[body], a[body], work.a_before[segment])
        for body in segment.outward(1, -1):
            qdd[body] = links.joint_acceleration(body, work.stand[body], a[body], a[body.parent])
        for body in segment.outward(-1):
            work.carried_last[segment] = links.X[body].to_child(a[body.parent]) + work.stand[body].c


def _substitute(work: Elimination, segment: Segment, body: Body) -> None:
    """n of the joint before a body, from its own."""
    B, z = work.gone[body]
    work.n[segment] = Gone(B, work.D[body], z).solve(work.n[segment])


def _pass_on(work: Elimination, segment: Segment, body: Body) -> Force:
    """A joint's force on its child, which the next link inward is to pass on."""
    force = work.links.transmitted(body, work.n[segment])
    work.onward[segment] = work.links.X[body].to_parent(force)
    return force


def _accelerate(work: Elimination, segment: Segment, body: Body) -> None:
    """A link, by its joint's force less what it passes on."""
    stand, passed = work.stand[body], work.onward[segment]
    work.a[body] = work.links.acceleration(body, stand, _pass_on(work, segment, body), passed)
    work.note(body, work.a[body])


def _accelerate_seams(work: Elimination) -> None:
    """What the last links of segments do is known from those behind them."""
    seam, a = work.seam, work.a_last
    for segment in work.tree.segments_inward():
        for body in segment.outward(-1):
            work.qdd[body] = work.links.dual(body).dot(a[seam] - work.carried_last[segment])
            work.note(body, a[seam])
        a[seam], work.passed[seam] = work.a_before[segment], work.onward[segment]


def _substitute_head(work: Elimination) -> None:
    """n, f, a and q̈ of the head's joints."""
    tree, links, seam, n, a, before = work.tree, work.links, work.seam, work.n_behind, work.head_a, work.a_last
    for body in tree.head_inward():
        stand = work.head_stand[body]
        force = links.transmitted(body, n[seam])
        a[body] = links.acceleration(body, stand, force, work.passed[seam])
        work.note(body, a[body])
        n[seam], work.passed[seam] = work.head_gone[body].solve(n[seam]), links.X[body].to_parent(force)
    before[seam] = -tree.gravity
    for body in tree.head():
        work.qdd[body] = links.joint_acceleration(body, work.head_stand[body], a[body], before[seam])
        before[seam] = a[body]
