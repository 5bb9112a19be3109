"""The constraint force algorithm for fewer processors than links: each takes a segment of the chain.

The block-tridiagonal system of ``constraint_force``, eliminated in another order. Segments are processed in parallel.
Within a segment the joints are eliminated one after another, all but the last, so that the seams are left: the
last joints of all segments, and the joint before the first. They form a small system of the same structure, which is
solved by cyclic reduction. On P processors this takes about N / P + 2 log₂ P steps of a joint's block, and short steps
one after another: ω is carried over the P segments, and each side branch is added to the chain.

    segments  R, ω over the whole segment                                                           _turn
    head      its joints are eliminated one after another; then ω at each seam                      _eliminate_head
    segments  quantities of the last link alone                                                     _stand_at_seams
    segments  outward:  c, pᴬ, W = I⁻¹, u = W (K_Jᵀ τ - pᴬ) of a link,   uₚ -= Wₚ X K_Jᵀ τ of       _eliminate_inside
                        the one before it
                        Y = K (W + Xᵀ Wₚ X) Kᵀ,   E = -K Xᵀ Wₚ Kₚᵀ,   r = K (c - u + Xᵀ uₚ)
                        eliminate the joint before:  L D Lᵀ = Yₚ,   A = L⁻¹ Fₚ,   B = L⁻¹ Eᵀ,   z = L⁻¹ rₚ
                        Y -= Bᵀ D⁻¹ B,   r -= Bᵀ D⁻¹ z,   F = -Bᵀ D⁻¹ A,   and likewise with A before the segment
    seams     Y and r from both sides, then n by cyclic reduction                                   _solve_seams
    segments  outward:  r again, since n before the segment is known, by L and D, which were kept   _substitute_inside
              inward:   n = L⁻ᵀ D⁻¹ (z - B nᵢ₊₁),   f = K_Jᵀ τ + Kᵀ n,   a = W (f - Xᵢ₊₁ fᵢ₊₁ - pᴬ)
              outward:  q̈ = K_J (a - Xᵀ aₚ - c)
    segments  q̈ of the last joint, from a of the link behind it                                     _accelerate_seams
    head      inward:   n, f, a;   outward:   q̈                                                     _substitute_head

Side branches are articulated bodies, as in ``constraint_force``, also in parallel; I is then Iᴬ.

This is a text of its own, since ``constraint_force`` keeps every quantity of every link, finds ω by parallel prefix and
sums side branches pairwise, so that its longest chain of steps is logarithmic; a processor that has many links would do
more arithmetic so, and wait for their memory. Segments of one link each are the one case of both, and there this text
would take N steps for ω.

F couples a joint to the one before its segment. Only L and D of the first elimination are stored, so that the
second needs no Y: the rest is recomputed, since memory traffic on a long chain is slower than arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.algorithms.chain_links import ChainLinks, Link, Stand
from linkwork.algorithms.constraint_force import Turned, turned_further
from linkwork.algorithms.cyclic_reduction import coupling, cyclic_reduction, eliminate, reduced
from linkwork.algorithms.segmented_tree import Segment, SegmentedTree
from linkwork.algorithms.side_branches import SideBranches
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, fields
from linkwork.spatial import Columns, Factor, Force, Mat3, Motion, Vec3
from linkwork.spatial.matrices import Column, Matrix, minus_applied, padded_with_identity, plus, transposed


def constraint_force_segments(
    tree: SegmentedTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body, with the bodies lined up."""
    branches = SideBranches(tree, q, v, tau, f_ext) if tree.branched else None
    work = Elimination(tree, ChainLinks(tree, q, v, tau, f_ext, branches))
    _turn(work)
    if branches:
        branches.gather(work.turned)
    _eliminate_head(work)
    _stand_at_seams(work)
    _eliminate_inside(work)
    _solve_seams(work)
    _substitute_inside(work)
    _accelerate_seams(work)
    _substitute_head(work)
    if branches:
        branches.leave(work.qdd)
    return (work.qdd,)


class Block(NamedTuple):
    """Y and r of a joint, with the joints before it eliminated."""

    Y: Matrix
    r: Column


class Gone(NamedTuple):
    """The data of an eliminated joint from which its n is found."""

    B: Matrix
    D: Factor
    z: Column

    def solve(self, behind: Column) -> Column:
        """n, from n of the joint behind."""
        return self.D.complete(minus_applied(self.z, self.B, behind))


class Known(NamedTuple):
    """The current link of a segment, and r of its joint."""

    link: Link
    r: Column


class Front(NamedTuple):
    """The current link of a segment, and Y, F and r of its joint."""

    link: Link
    Y: Matrix
    F: Matrix
    r: Column


class Elimination:
    """The quantities of a chain at each stage, stored at segments, at seams, at the current place of a walk, or at
    bodies.
    """

    def __init__(self, tree: SegmentedTree, links: ChainLinks) -> None:
        self.tree, self.links, self.here = tree, links, tree.along
        self.qdd: JointField = tree.field()

        # At segments
        self.turned: Field[Turned] = tree.field()
        self.w_last: Field[Vec3] = tree.field()
        """ω of the last link."""
        self.start: Field[Link] = tree.field()
        """The link before the segment."""
        self.front: Field[Front] = tree.field()
        self.known_front: Field[Known] = tree.field()
        """The same once n before the segment is known."""
        self.taken: Field[Block] = tree.field()
        """The contribution of the segment's joints to Y and r of the joint before it."""
        self.n: Field[Column] = tree.field()
        """Of the current joint."""
        self.onward: Field[Force] = tree.field()
        """The force that the current link passes on to the next: X f of that one."""
        self.carried_last: Field[Motion] = tree.field()
        """The acceleration a of the last link at q̈ = 0."""

        # At seams: of the joint, and of the link that hangs on it
        self.link: Field[Link] = tree.field()
        self.Y, self.E = fields(tree, Matrix, 2)
        self.r: Field[Column] = tree.field()
        self.added: Field[Block] = tree.field()
        """The contribution of the segment behind to Y and r."""
        self.n_seam: Field[Column] = tree.field()
        self.a_seam: Field[Motion] = tree.field()
        self.passed: Field[Force] = tree.field()
        """The force that the link passes on to the segment behind."""

        # At the current place of a walk along the chain
        self.known: Field[Link] = tree.field()
        self.reached: Field[Block] = tree.field()
        self.w: Field[Vec3] = tree.field()
        self.n_head: Field[Column] = tree.field()
        self.a_head: Field[Motion] = tree.field()
        self.passed_head: Field[Force] = tree.field()

        # At bodies of the head, and of a segment during its iteration
        self.head_stand, self.stand = fields(tree, Stand, 2)
        self.head_gone: Field[Gone] = tree.field()
        self.gone: Field[tuple[Matrix, Column]] = tree.field()
        """B and z of the joint before a body; its D outlives the iteration in which it is computed."""
        self.D: Field[Factor] = tree.persistent_field()
        self.head_a, self.a = fields(tree, Motion, 2)

    def note(self, body: Body, a: Motion) -> None:
        """Store a of a body for its side branches, if there are any."""
        if self.links.branches:
            self.links.branches.a[body] = a


def _gone(D: Factor, r: Column, E: Matrix) -> Gone:
    """Eliminate a joint; D has the factors of its Y, E couples the one behind to it."""
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
    """The head's joints, link by link; then ω at each seam."""
    tree, links, here, known, reached, w = work.tree, work.links, work.here, work.known, work.reached, work.w
    known[here] = links.world()
    reached[here] = Block(padded_with_identity([], links.width), [0.0] * links.width)
    for body in tree.head():
        before, block = known[here], reached[here]
        links.place(body)
        work.head_stand[body], known[here] = links.on(body, before.w)
        Y, E, r, r_before = links.row(body, work.head_stand[body], known[here], before, block.r)
        gone = work.head_gone[body] = _gone(Factor.of_matrix(block.Y), r_before, E)
        eliminate(Y, r, *gone)
        reached[here] = Block(Y, r)
    first, last = tree.first_seam, tree.last_seam
    work.link[first], (work.Y[first], work.r[first]) = known[here], reached[here]
    work.E[first] = [[0.0] * links.width for _ in range(links.width)]
    work.added[last] = Block([[0.0] * (k + 1) for k in range(links.width)], [0.0] * links.width)
    w[here] = known[here].w
    for segment in tree.segments_outward():
        R, turn = work.turned[segment]
        work.w_last[segment] = R.apply_transpose(w[here]) + turn
        w[here] = work.w_last[segment]


def _stand_at_seams(work: Elimination) -> None:
    """The last links of segments, for the segments behind them."""
    for segment in work.tree.segments(brief=True):
        for body in segment.outward(-1):
            _, work.link[segment.behind] = work.links.alone(body, work.w_last[segment])


def _eliminate_inside(work: Elimination) -> None:
    """Eliminate all joints of a segment but the last, from the first; contributions to the seams behind and before."""
    links, front, taken = work.links, work.front, work.taken
    for segment in work.tree.segments():
        work.start[segment] = work.link[segment.before]
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
        work.added[segment.before] = taken[segment]
        _, Y, F, r = front[segment]
        seam = segment.behind
        work.Y[seam], work.E[seam], work.r[seam] = Y, transposed(F), r


def _solve_seams(work: Elimination) -> None:
    """n of the joints at seams."""
    tree, Y, r = work.tree, work.Y, work.r
    for seam in tree.all_seams():
        added = work.added[seam]
        Y[seam] = [plus(*rows) for rows in zip(Y[seam], added.Y, strict=True)]
        r[seam] = plus(r[seam], added.r)
    n = work.n_seam = cyclic_reduction(tree, tree.seams, Y, work.E, r)
    last = tree.last_seam
    link = work.link[last]
    work.a_seam[last] = link.u + Columns(link.WK).times(n[last])


def _substitute_inside(work: Elimination) -> None:
    """n, f, a and q̈ of all joints of a segment but the last."""
    links, front, n, a, qdd = work.links, work.known_front, work.n, work.a, work.qdd
    for segment in work.tree.segments():
        for body in segment.outward(0, 1):
            before = work.start[segment]
            work.stand[body], link = links.on(body, before.w)
            _, E, r, _ = links.row(body, work.stand[body], link, before, [0.0] * links.width)
            front[segment] = Known(link, minus_applied(r, E, work.n_seam[segment.before]))
        for body in segment.outward(1):
            before, rp = front[segment]
            work.stand[body], link = links.on(body, before.w)
            _, E, r, rp = links.row(body, work.stand[body], link, before, rp)
            gone = _gone(work.D[body], rp, E)
            work.gone[body] = gone.B, gone.z
            front[segment] = Known(link, reduced(r, *gone))
        n[segment] = work.n_seam[segment.behind]
        for body in segment.inward(-1):
            _pass_on(work, segment, body)
            _substitute(work, segment, body)
        for body in segment.inward(1, -1):
            _accelerate(work, segment, body)
            _substitute(work, segment, body)
        for body in segment.inward(0, 1):
            _accelerate(work, segment, body)
            before, passed = work.start[segment], work.onward[segment]
            moved = before.u + Columns(before.WK).times(work.n_seam[segment.before]) - before.W * passed
            work.a_seam[segment.before], work.passed[segment.before] = moved, passed
            qdd[body] = links.joint_acceleration(body, work.stand[body], a[body], moved)
        for body in segment.outward(1, -1):
            qdd[body] = links.joint_acceleration(body, work.stand[body], a[body], a[body.parent])
        for body in segment.outward(-1):
            work.carried_last[segment] = links.X[body].to_child(a[body.parent]) + work.stand[body].c


def _substitute(work: Elimination, segment: Segment, body: Body) -> None:
    """n of the joint before a body, from its own."""
    B, z = work.gone[body]
    work.n[segment] = Gone(B, work.D[body], z).solve(work.n[segment])


def _pass_on(work: Elimination, segment: Segment, body: Body) -> Force:
    """A joint's force on its child, which the next link inward passes on."""
    force = work.links.transmitted(body, work.n[segment])
    work.onward[segment] = work.links.X[body].to_parent(force)
    return force


def _accelerate(work: Elimination, segment: Segment, body: Body) -> None:
    """The acceleration of a link, from its joint's force minus the force it passes on."""
    stand, passed = work.stand[body], work.onward[segment]
    work.a[body] = work.links.acceleration(body, stand, _pass_on(work, segment, body), passed)
    work.note(body, work.a[body])


def _accelerate_seams(work: Elimination) -> None:
    """q̈ of the last joints of segments, from the accelerations of the links behind them."""
    for segment in work.tree.segments(brief=True):
        for body in segment.outward(-1):
            a = work.a_seam[segment.behind]
            work.qdd[body] = work.links.dual(body).dot(a - work.carried_last[segment])
            work.note(body, a)


def _substitute_head(work: Elimination) -> None:
    """n, f, a and q̈ of the head's joints."""
    tree, links, here, n, a, before = work.tree, work.links, work.here, work.n_head, work.head_a, work.a_head
    n[here], work.passed_head[here] = work.n_seam[tree.first_seam], work.passed[tree.first_seam]
    for body in tree.head_inward():
        stand = work.head_stand[body]
        force = links.transmitted(body, n[here])
        a[body] = links.acceleration(body, stand, force, work.passed_head[here])
        work.note(body, a[body])
        n[here], work.passed_head[here] = work.head_gone[body].solve(n[here]), links.X[body].to_parent(force)
    before[here] = -tree.gravity
    for body in tree.head():
        work.qdd[body] = links.joint_acceleration(body, work.head_stand[body], a[body], before[here])
        before[here] = a[body]
