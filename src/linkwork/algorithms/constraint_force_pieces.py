"""The constraint force algorithm for fewer processors than links: each takes a piece of the chain.

The same block-tridiagonal system as in ``constraint_force``, eliminated in another order. Pieces are worked on at the
same time. Within a piece the joints between its first and its last go one after the other, so that the first and last
joints of all pieces are left: a small system of the same form. On P processors these are about N / P + P steps.

    pieces    R, ω over the whole piece                         then ω before each piece, one piece after the other
    pieces    outward:  c, pᴬ, W = I⁻¹, u = W (K_Jᵀ τ - pᴬ) of a link,   uₚ -= Wₚ X K_Jᵀ τ of the one before it
                        Y = K (W + Xᵀ Wₚ X) Kᵀ,   E = -K Xᵀ Wₚ Kₚᵀ,   r = K (c - u + Xᵀ uₚ)
                        the joint before goes:  L D Lᵀ = Yₚ,   A = L⁻¹ Fₚ,   B = L⁻¹ Eᵀ,   z = L⁻¹ rₚ
                        Y -= Bᵀ D⁻¹ B,   r -= Bᵀ D⁻¹ z,   F = -Bᵀ D⁻¹ A,   and likewise with A at the piece's first
    seams     n₁ and n₂ of the first and last joints, one after the other
    pieces    outward:  the same again without F, which n₁ replaces, and kept
              inward:   n = L⁻ᵀ D⁻¹ (z - B nᵢ₊₁),   f = K_Jᵀ τ + Kᵀ n,   a = W (f - Xᵢ₊₁ fᵢ₊₁ - pᴬ)
              outward:  q̈ = K_J (a - Xᵀ aₚ - c)

F couples a joint to the first of its piece. Eliminating twice costs less than to keep it all: what a long chain takes
in memory is slower than arithmetic, and this way only one piece is kept at a time.
"""

from __future__ import annotations

from typing import Any

from linkwork.algorithms.constraint_force import bias_force, filled, relative_bias, turned_further
from linkwork.algorithms.cyclic_reduction import Matrix, coupling, eliminate, minus, transposed
from linkwork.model.tree import Tree
from linkwork.spatial import Factor, Force, Mat3, Motion, RigidMobility, Transform, Vec3, Wrenches

Gone = tuple[Matrix, Factor, list[Any]]
"""B, D and z of a joint that was eliminated."""


def constraint_force_pieces(tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any) -> tuple[Any]:
    """q̈, from configuration, velocity, joint forces and the external force on each body of an unbranched chain."""
    turned, spin, carried, taken, before, first, ends, near, a_end, a_before = (tree.field() for _ in range(10))
    reached, turning, behind, moved_last = (tree.field() for _ in range(4))  # at the seam that was come to
    made, gone, a = (tree.field() for _ in range(3))  # at bodies of the head
    inner, inner_gone, inner_a = (tree.field() for _ in range(3))  # at bodies of a piece, while it is worked on
    qdd = tree.field()
    seam, width = tree.seam, tree.most_constraints
    nothing, identity = [0.0] * width, filled([], width)

    def placed(body: Any) -> tuple[Transform, Motion]:
        """X and S q̇."""
        return body.placement * body.joint.transform(q[body]), body.joint.subspace(q[body]).times(v[body])

    def held(body: Any) -> Wrenches:
        """K."""
        return body.joint.subspace(q[body]).complement(body.rotor)

    def pushed(body: Any) -> Force:
        """K_Jᵀ τ."""
        return body.joint.subspace(q[body]).dual().times(tau[body])

    def transmitted(body: Any, n: list[Any]) -> Force:
        K = held(body)
        return pushed(body) + K.times(n[: len(K.compliance)])

    def free(body: Any, above: Vec3) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """A link on its own, on a parent that turns at ``above``: X, c, pᴬ, and ω, W, u, W Kᵀ."""
        X, moved = placed(body)
        w = X.rotation.apply_transpose(above) + moved.angular
        c = body.joint.bias(q[body], v[body]) + relative_bias(X, above, moved)
        pA = bias_force(body.inertia, w) - f_ext[body]
        W, K = RigidMobility.of_inertia(body.inertia), held(body)
        count = len(K.compliance)
        answers = [W * K.times([float(i == k) for i in range(count)]) for k in range(count)]
        return (X, c, pA), (w, W, W * (pushed(body) - pA), [*answers, *[Motion.zero()] * (width - count)])

    def joined(body: Any, made: Any, link: Any, W: Any, u: Any, M: Any, r: Any) -> tuple[Matrix, Matrix, Any, Any]:
        """Y, E, r of a link's joint, and r of the joint before, which now feels the reaction of K_Jᵀ τ."""
        (X, c, _), (_, own, mine, _), K = made, link, held(body)
        back = X.to_parent(pushed(body))
        right = K.dot(c - mine + X.to_child(u - W * back))
        Y = filled(K.project(own.full() + W.to_child(X).full()), width)
        E = transposed([[*K.dot(-X.to_child(answer)), *nothing[len(right) :]] for answer in M])
        return Y, E, [*right, *nothing[len(right) :]], [x + answer.dot(back) for x, answer in zip(r, M, strict=True)]

    def accelerated(body: Any, force: Force, passed: Force, pA: Force) -> Motion:
        """By its joint's force, less what it passes on to the next."""
        return RigidMobility.of_inertia(body.inertia) * (force - passed - pA)

    def read(body: Any, made: Any, a: Motion, a_parent: Motion) -> list[Any]:
        X, c, _ = made
        return body.joint.subspace(q[body]).dual().dot(a - X.to_child(a_parent) - c)

    for piece in tree.pieces():
        turned[piece] = Mat3.identity(), Vec3.zero()
        for body in piece.outward():
            X, moved = placed(body)
            turned[piece] = turned_further(turned[piece], (X.rotation, moved.angular))

    # The head, link by link, and how fast what is before each piece turns
    reached[seam] = Vec3.zero(), RigidMobility.zero(), -tree.gravity, [Motion.zero()] * width, identity, nothing
    for body in tree.head():
        w, W, u, M, Yp, rp = reached[seam]
        made[body], link = free(body, w)
        Y, E, r, rp = joined(body, made[body], link, W, u, M, rp)
        gone[body] = _gone(Yp, rp, E)
        eliminate(Y, r, *gone[body])
        reached[seam] = *link, Y, r
    turning[seam] = reached[seam][0]
    for piece in tree.pieces_outward():
        R, w = turned[piece]
        spin[piece] = turning[seam]
        turning[seam] = R.apply_transpose(spin[piece]) + w

    for piece in tree.pieces():
        for body in piece.outward(0, 1):
            _, link = free(body, spin[piece])
            carried[piece] = *link, identity, [nothing] * width, nothing
        for body in piece.outward(1, 2):
            w, W, u, M, _, _, r = carried[piece]
            own, link = free(body, w)
            Y, E, r, r1 = joined(body, own, link, W, u, M, r)
            carried[piece] = *link, Y, transposed(E), r
            taken[piece] = [[0.0 for _ in row] for row in Y], r1
        for body in piece.outward(2):
            w, W, u, M, Yp, F, rp = carried[piece]
            own, link = free(body, w)
            Y, E, r, rp = joined(body, own, link, W, u, M, rp)
            B, D, z = _gone(Yp, rp, E)
            A = transposed([D.forward(column) for column in F])
            eliminate(Y, r, B, D, z)
            carried[piece] = *link, Y, coupling(B, A, D), r
            Y1, r1 = taken[piece]
            eliminate(Y1, r1, A, D, z)
            taken[piece] = Y1, r1

    # The first and the last joint of each piece, from seam to seam and back
    for piece in tree.pieces_outward():
        for body in piece.outward(0, 1):
            _, W, u, M, Yp, rp = reached[seam]
            own, link = free(body, spin[piece])
            Y, E, r, rp = joined(body, own, link, W, u, M, rp)
            before[piece] = _gone(Yp, rp, E)
            eliminate(Y, r, *before[piece])
            Y1, r1 = taken[piece]
            w, W, u, M, Y2, F, r2 = carried[piece]
            Y1 = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(Y, Y1, strict=True)]
            first[piece] = _gone(Y1, [x + y for x, y in zip(r, r1, strict=True)], transposed(F))
            eliminate(Y2, r2, *first[piece])
            reached[seam] = w, W, u, M, Y2, r2
    *_, Y, r = reached[seam]
    behind[seam] = Factor.of_matrix(Y).solve(r), Force.zero()
    for piece in tree.pieces_inward():
        n2, passed = behind[seam]
        n1 = _solved(first[piece], n2)
        ends[piece] = n1, n2, passed
        for body in piece.outward(-1):
            K, (_, W, u, *_) = held(body), carried[piece]
            a_end[piece] = u + W * (K.times(n2[: len(K.compliance)]) - passed)
        for body in piece.outward(0, 1):
            X, _ = placed(body)
            behind[seam] = _solved(before[piece], n1), X.to_parent(transmitted(body, n1))
    for body in tree.head_inward():
        n, passed = behind[seam]
        X, _, pA = made[body]
        force = transmitted(body, n)
        a[body] = accelerated(body, force, passed, pA)
        behind[seam] = _solved(gone[body], n), X.to_parent(force)
    moved_last[seam] = -tree.gravity
    for body in tree.head():
        qdd[body] = read(body, made[body], a[body], moved_last[seam])
        moved_last[seam] = a[body]
    for piece in tree.pieces_outward():
        a_before[piece] = moved_last[seam]
        moved_last[seam] = a_end[piece]

    def hand_on(piece: Any, body: Any) -> tuple[list[Any], Force]:
        """n of a joint, and what it takes from the body before, whose acceleration is found on the way."""
        n, passed = near[piece]
        X, _, pA = inner[body]
        force = transmitted(body, n)
        inner_a[body] = accelerated(body, force, passed, pA)
        return n, X.to_parent(force)

    for piece in tree.pieces():
        for body in piece.outward(0, 1):
            inner[body], link = free(body, spin[piece])
            carried[piece] = *link, identity, nothing
        for body in piece.outward(1, 2):
            w, W, u, M, _, r = carried[piece]
            inner[body], link = free(body, w)
            Y, E, r, _ = joined(body, inner[body], link, W, u, M, r)
            carried[piece] = *link, Y, minus(r, E, ends[piece][0])
        for body in piece.outward(2):
            w, W, u, M, Yp, rp = carried[piece]
            inner[body], link = free(body, w)
            Y, E, r, rp = joined(body, inner[body], link, W, u, M, rp)
            inner_gone[body] = _gone(Yp, rp, E)
            eliminate(Y, r, *inner_gone[body])
            carried[piece] = *link, Y, r
        _, *near[piece] = ends[piece]
        for body in piece.inward(2):
            n, force = hand_on(piece, body)
            near[piece] = _solved(inner_gone[body], n), force
        for body in piece.inward(1, 2):
            _, force = hand_on(piece, body)
            near[piece] = ends[piece][0], force
        for body in piece.inward(0, 1):
            hand_on(piece, body)
            qdd[body] = read(body, inner[body], inner_a[body], a_before[piece])
        for body in piece.outward(1):
            qdd[body] = read(body, inner[body], inner_a[body], inner_a[body.parent])

    return (qdd,)


def _gone(Y: Matrix, r: list[Any], E: Matrix) -> Gone:
    """A joint is eliminated; E couples the one behind to it."""
    D = Factor.of_matrix(Y)
    return transposed([D.forward(row) for row in E]), D, D.forward(r)


def _solved(gone: Gone, after: list[Any]) -> list[Any]:
    """n of a joint that was eliminated, from that of the one behind."""
    B, D, z = gone
    scaled = zip(minus(z, B, after), D.inverse_pivots, strict=True)
    return D.backward([number * weight for number, weight in scaled])
