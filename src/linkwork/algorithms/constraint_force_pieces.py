"""The constraint force algorithm for fewer processors than links: each takes a piece of the chain.

The same block-tridiagonal system as in ``constraint_force``, eliminated in another order. Pieces are worked on at the
same time. Within a piece the joints go one after the other, all but the last, so that the last joints of all pieces
are left: a small system of the same form. On P processors these are about N / P + P steps.

    pieces    R, ω over the whole piece                         then ω before each piece, one piece after the other
    pieces    outward:  c, pᴬ, W = I⁻¹, u = W (K_Jᵀ τ - pᴬ) of a link,   uₚ -= Wₚ X K_Jᵀ τ of the one before it
                        Y = K (W + Xᵀ Wₚ X) Kᵀ,   E = -K Xᵀ Wₚ Kₚᵀ,   r = K (c - u + Xᵀ uₚ)
                        the joint before goes:  L D Lᵀ = Yₚ,   A = L⁻¹ Fₚ,   B = L⁻¹ Eᵀ,   z = L⁻¹ rₚ
                        Y -= Bᵀ D⁻¹ B,   r -= Bᵀ D⁻¹ z,   F = -Bᵀ D⁻¹ A,   and likewise with A before the piece
    seams     n of the last joints, one after the other
    pieces    outward:  the same again without F, since n before the piece is known, and kept
              inward:   n = L⁻ᵀ D⁻¹ (z - B nᵢ₊₁),   f = K_Jᵀ τ + Kᵀ n,   a = W (f - Xᵢ₊₁ fᵢ₊₁ - pᴬ)
              outward:  q̈ = K_J (a - Xᵀ aₚ - c)

Side branches are articulated bodies, as in ``constraint_force``, one body after the other; I is then Iᴬ.

F couples a joint to the one before its piece. Eliminating twice costs less than to keep it all: what a long chain takes
in memory is slower than arithmetic, and this way only one piece is kept at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.algorithms.constraint_force import bias_force, filled, relative_bias, turned_further
from linkwork.algorithms.cyclic_reduction import Matrix, coupling, eliminate, minus, transposed
from linkwork.model.tree import Tree
from linkwork.spatial import (
    ArticulatedInertia,
    Columns,
    Factor,
    Force,
    Mat3,
    Mobility,
    Motion,
    RigidMobility,
    Transform,
    Vec3,
    Wrenches,
    combination,
    plus_diagonal,
)

Gone = tuple[Matrix, Factor, list[Any]]
"""B, D and z of a joint that was eliminated."""


def constraint_force_pieces(tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any) -> tuple[Any]:
    """q̈, from configuration, velocity, joint forces and the external force on each body, these lined up."""
    turned, start, carried, taken, before, ends, near, onward, a_before, rest = (tree.field() for _ in range(10))
    reached, known, behind, moved_last, felt = (tree.field() for _ in range(5))  # at the seam that was come to
    made, gone, a = (tree.field() for _ in range(3))  # at bodies of the head
    inner, inner_gone, inner_a = (tree.field() for _ in range(3))  # at bodies of a piece, while it is worked on
    qdd = tree.field()
    IA, pA, whirl, motion = (tree.persistent_field() for _ in range(4))  # at all bodies, if there are side branches
    seam, width = tree.seam, tree.most_constraints
    nothing = [0.0] * width

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

    def mobility(body: Any) -> Any:
        return Mobility.of_inertia(IA[body]) if tree.branched else RigidMobility.of_inertia(body.inertia)

    def loose(body: Any, w: Vec3) -> tuple[Any, ...]:
        """A link on its own that turns at ω: pᴬ; then ω, W, u, W Kᵀ."""
        bias = pA[body] if tree.branched else bias_force(body.inertia, w) - f_ext[body]
        W, K = mobility(body), held(body)
        count = len(K.compliance)
        answers = [W * K.times([float(i == k) for i in range(count)]) for k in range(count)]
        return bias, (w, W, W * (pushed(body) - bias), [*answers, *[Motion.zero()] * (width - count)])

    def free(body: Any, above: Vec3) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The same on a parent that turns at ``above``: X, c, pᴬ; then ω, W, u, W Kᵀ."""
        X, moved = placed(body)
        c = body.joint.bias(q[body], v[body]) + relative_bias(X, above, moved)
        bias, link = loose(body, X.rotation.apply_transpose(above) + moved.angular)
        return (X, c, bias), link

    def joined(body: Any, made: Any, link: Any, W: Any, u: Any, M: Any, r: Any) -> tuple[Matrix, Matrix, Any, Any]:
        """Y, E, r of a link's joint, and r of the joint before, which now feels the reaction of K_Jᵀ τ."""
        (X, c, _), (_, own, mine, _), K = made, link, held(body)
        back = X.to_parent(pushed(body))
        right = K.dot(c - mine + X.to_child(u - W * back))
        Y = filled(K.project(own.full() + W.to_child(X).full()), width)
        E = transposed([[*K.dot(-X.to_child(answer)), *nothing[len(right) :]] for answer in M])
        return Y, E, [*right, *nothing[len(right) :]], [x + answer.dot(back) for x, answer in zip(r, M, strict=True)]

    def accelerated(body: Any, force: Force, passed: Force, bias: Force) -> Motion:
        """By its joint's force, less what it passes on to the next."""
        return mobility(body) * (force - passed - bias)

    def read(body: Any, made: Any, a: Motion, a_parent: Motion) -> list[Any]:
        X, c, _ = made
        return body.joint.subspace(q[body]).dual().dot(a - X.to_child(a_parent) - c)

    for piece in tree.segments():
        turned[piece] = Mat3.identity(), Vec3.zero()
        for body in piece.outward():
            X, moved = placed(body)
            turned[piece] = turned_further(turned[piece], (X.rotation, moved.angular))

    if tree.branched:
        turn_back = _gather_branches(tree, q, v, tau, f_ext, turned, IA, pA, whirl)

    # The head, link by link; then the links before each piece
    still = Mobility.zero() if tree.branched else RigidMobility.zero()
    known[seam] = Vec3.zero(), still, -tree.gravity, [Motion.zero()] * width
    reached[seam] = filled([], width), nothing
    for body in tree.head():
        (w, W, u, M), (Yp, rp) = known[seam], reached[seam]
        made[body], known[seam] = free(body, w)
        Y, E, r, rp = joined(body, made[body], known[seam], W, u, M, rp)
        gone[body] = _gone(Yp, rp, E)
        eliminate(Y, r, *gone[body])
        reached[seam] = Y, r
    for piece in tree.segments_outward():
        start[piece] = known[seam]
        for body in piece.outward(-1):
            R, turn = turned[piece]
            _, known[seam] = loose(body, R.apply_transpose(start[piece][0]) + turn)

    for piece in tree.segments():
        for body in piece.outward(0, 1):
            w, W, u, M = start[piece]
            own, link = free(body, w)
            Y, E, r, r1 = joined(body, own, link, W, u, M, nothing)
            carried[piece] = *link, Y, transposed(E), r
            taken[piece] = [[0.0 for _ in row] for row in Y], r1
        for body in piece.outward(1):
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

    # The last joint of each piece, from seam to seam and back
    for piece in tree.segments_outward():
        (Yp, rp), (Y1, r1), (*_, Y, F, r) = reached[seam], taken[piece], carried[piece]
        Yp = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(Yp, Y1, strict=True)]
        before[piece] = _gone(Yp, [x + y for x, y in zip(rp, r1, strict=True)], transposed(F))
        eliminate(Y, r, *before[piece])
        reached[seam] = Y, r
    Y, r = reached[seam]
    behind[seam] = Factor.of_matrix(Y).solve(r)
    _, _, u, M = known[seam]
    moved_last[seam] = u + Columns(M).times(behind[seam])
    for piece in tree.segments_inward():
        ends[piece] = _solved(before[piece], behind[seam]), behind[seam]
        behind[seam], _ = ends[piece]

    def force_on(piece: Any, body: Any) -> Force:
        """A joint's force on its child; for the next body inward, n and what it is to pass on."""
        X, _, _ = inner[body]
        force = transmitted(body, near[piece])
        onward[piece] = X.to_parent(force)
        return force

    def accelerate(piece: Any, body: Any) -> None:
        _, _, bias = inner[body]
        passed = onward[piece]
        inner_a[body] = accelerated(body, force_on(piece, body), passed, bias)
        motion[body] = inner_a[body]

    for piece in tree.segments():
        for body in piece.outward(0, 1):
            w, W, u, M = start[piece]
            inner[body], link = free(body, w)
            Y, E, r, _ = joined(body, inner[body], link, W, u, M, nothing)
            carried[piece] = *link, Y, minus(r, E, ends[piece][0])
        for body in piece.outward(1):
            w, W, u, M, Yp, rp = carried[piece]
            inner[body], link = free(body, w)
            Y, E, r, rp = joined(body, inner[body], link, W, u, M, rp)
            inner_gone[body] = _gone(Yp, rp, E)
            eliminate(Y, r, *inner_gone[body])
            carried[piece] = *link, Y, r
        _, near[piece] = ends[piece]
        for body in piece.inward(-1):
            force_on(piece, body)
            near[piece] = _solved(inner_gone[body], near[piece])
        for body in piece.inward(1, -1):
            accelerate(piece, body)
            near[piece] = _solved(inner_gone[body], near[piece])
        for body in piece.inward(0, 1):
            accelerate(piece, body)
            _, W, u, M = start[piece]
            a_before[piece] = u + Columns(M).times(ends[piece][0]) - W * onward[piece]
            qdd[body] = read(body, inner[body], inner_a[body], a_before[piece])
        for body in piece.outward(1, -1):
            qdd[body] = read(body, inner[body], inner_a[body], inner_a[body.parent])
        for body in piece.outward(-1):
            X, c, _ = inner[body]
            rest[piece] = X.to_child(inner_a[body.parent]) + c

    # What the last links of pieces do is known from those behind them
    for piece in tree.segments_inward():
        for body in piece.outward(-1):
            qdd[body] = body.joint.subspace(q[body]).dual().dot(moved_last[seam] - rest[piece])
            motion[body] = moved_last[seam]
        moved_last[seam], felt[seam] = a_before[piece], onward[piece]
    for body in tree.head_inward():
        X, _, bias = made[body]
        force = transmitted(body, behind[seam])
        a[body] = accelerated(body, force, felt[seam], bias)
        motion[body] = a[body]
        behind[seam], felt[seam] = _solved(gone[body], behind[seam]), X.to_parent(force)
    moved_last[seam] = -tree.gravity
    for body in tree.head():
        qdd[body] = read(body, made[body], a[body], moved_last[seam])
        moved_last[seam] = a[body]

    if tree.branched:
        turn_back(motion, qdd)
    return (qdd,)


def _gather_branches(
    tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any, turned: Any, IA: Any, pA: Any, whirl: Any
) -> Callable[[Any, Any], None]:
    """Iᴬ and pᴬ of all bodies, side branches gathered in; what finds q̈ of these in the end."""
    spin, turning = tree.field(), tree.field()
    X, S, c, U, D, u = (tree.field() for _ in range(6))
    seam = tree.seam

    def begin(body: Any, above: Vec3) -> None:
        R = body.placement.rotation * body.joint.transform(q[body]).rotation
        moved = body.joint.subspace(q[body]).times(v[body])
        whirl[body] = R.apply_transpose(above) + moved.angular
        IA[body], pA[body] = body.inertia.articulated(), bias_force(body.inertia, whirl[body]) - f_ext[body]

    whirl[tree.world], turning[seam] = Vec3.zero(), Vec3.zero()
    IA[tree.world], pA[tree.world] = ArticulatedInertia.zero(), Force.zero()
    for body in tree.head():
        begin(body, turning[seam])
        turning[seam] = whirl[body]
    for piece in tree.segments_outward():
        R, turn = turned[piece]
        spin[piece] = turning[seam]
        turning[seam] = R.apply_transpose(spin[piece]) + turn
    for piece in tree.segments():
        for body in piece.outward():
            begin(body, spin[piece])
            spin[piece] = whirl[body]
    for body in tree.side_branches():
        begin(body, whirl[body.parent])
        X[body], S[body] = body.placement * body.joint.transform(q[body]), body.joint.subspace(q[body])
        moved = S[body].times(v[body])
        c[body] = body.joint.bias(q[body], v[body]) + relative_bias(X[body], whirl[body.parent], moved)
    for body in tree.side_branches_inward():
        U[body] = S[body].through(IA[body])
        D[body] = Factor.of_matrix(plus_diagonal(S[body].project(U[body]), body.rotor))
        u[body] = [x - p for x, p in zip(tau[body], S[body].dot(pA[body]), strict=True)]
        Ia = S[body].released(IA[body], U[body], D[body], body.rotor)
        pa = pA[body] + Ia * c[body] + combination(U[body], D[body].solve(u[body]))
        IA[body.parent] = IA[body.parent] + X[body].to_parent(Ia)
        pA[body.parent] = pA[body.parent] + X[body].to_parent(pa)

    def turn_back(A: Any, qdd: Any) -> None:
        A[tree.world] = -tree.gravity
        for body in tree.side_branches():
            a = X[body].to_child(A[body.parent]) + c[body]
            qdd[body] = D[body].solve([force - a.dot(column) for force, column in zip(u[body], U[body], strict=True)])
            A[body] = a + S[body].times(qdd[body])

    return turn_back


def _gone(Y: Matrix, r: list[Any], E: Matrix) -> Gone:
    """A joint is eliminated; E couples the one behind to it."""
    D = Factor.of_matrix(Y)
    return transposed([D.forward(row) for row in E]), D, D.forward(r)


def _solved(gone: Gone, after: list[Any]) -> list[Any]:
    """n of a joint that was eliminated, from that of the one behind."""
    B, D, z = gone
    scaled = zip(minus(z, B, after), D.inverse_pivots, strict=True)
    return D.backward([number * weight for number, weight in scaled])
