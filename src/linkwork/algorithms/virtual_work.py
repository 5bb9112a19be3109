"""Forward dynamics from the principle of virtual work, O(n): every joint's constraint force, and the accelerations.

Links start as free bodies of mobility W = A⁻¹ (Eq. 18) and are joined from the leaves to the root. A joint j between
link j and its parent p suppresses the relative motions given by its rows K, with K S = 0 and K_J S = 1 (Eqs.
9, 10):

    inward    t = f - b + K_Jᵀ τ - Σ X K_Jᵀ τ of the children,   u = A⁻¹ t                          Eq. 28
    inward    L D Lᵀ = S + K Xᵀ Wₚ X Kᵀ,   G = L⁻¹ K Xᵀ Wₚ,   y = L⁻¹ K (c - u + Xᵀ uₚ)             Eqs. 32, 37, 41
              Wₚ -= Gᵀ D⁻¹ G,   Sₚ -= (G Kₚᵀ)ᵀ D⁻¹ (G Kₚᵀ),   uₚ -= Gᵀ D⁻¹ y                        Eqs. 35, 41, 43
    outward   n = L⁻ᵀ D⁻¹ (y + G dₚ),   d += Kᵀ n,   dₚ -= X Kᵀ n                                   Eqs. 40, 47
    outward   a = A⁻¹ (t + d),   q̈ = K_J (a - Xᵀ aₚ - c)                                            Eqs. 48, 49

(Xᵀ here takes a motion from the parent to the child, X a force from the child to the parent; d sums the known
constraint forces.) Yamane, Nakamura, O(N) forward dynamics of open kinematic chains based on the principle of
virtual work. Deviations from the paper, and their reasons:

- Eqs. 13, 29 lack a term for a K that varies with q; h = K c, with c = Ṡ q̇ + V × S q̇, holds for every joint.
- Eqs. 23, 28 leave out the children's joint torques; t has them, and is complete before the joining starts.
- a_{i+1} below Eq. 32 lacks H_{i+1,i} A_i⁻¹ t_i. Eq. 16 means H_{J1,0}, H_{1,0}; the exceptions to Eq. 15 are links 0
  and i.
- H_{Cm,k} is 6×6, Eq. 38 starts at A₀⁻¹, the lower right of Eq. 45 is Φ of the joints behind i, Eq. 51 has γ_{JN}; in
  Eqs. 52, 53 S_{Ji,i+1} = -H_{Ji,i} A_i⁻¹ H_{i+1,i}ᵀ stands where S_{Ji+1,i}ᵀ is printed, for Φ_J is not symmetric.
  This algorithm avoids it.
- Instead of the explicit inverse M of Eq. 41 and blocks of Φ⁻¹ it keeps factors L D Lᵀ and folds joined links into
  the parent's W and u: W - Gᵀ D⁻¹ G is A⁻¹ minus the part of Φ_{i+1,i} Φ_i⁻¹ Φ_{i+1,i}ᵀ due to the parent's other
  joints. So a link may have any number of joints at the same cost for each, no link needs splitting, and about
  four digits are kept that inverses lose.
- The projection of W on a link's own joint, S = K W Kᵀ, is kept as well, since nothing else is needed of the W of a
  link with one child: W itself, 21 numbers, is for a second child, which depends on the first. So a chain never forms
  it, as the paper's recursion does not, and each joint costs less than there (``virtual_work_unsplit``).
- Eq. 11 (K K_Jᵀ = 0) is not needed.
- Gravity is the world's free acceleration -g; a fixed base is A₀⁻¹ = 0, a floating one a joint whose K is empty.
- Rotors of inertia r are not in the paper. They take r q̈ of the joint's force: the joint transmits K_Jᵀ(τ - r q̈) +
  Kᵀ n. With the unknown m = -√r q̈ this is one more wrench √r K_Jᵀ m, and √r K_J (a - Xᵀ aₚ - c) + m = 0 its
  condition: so K gets the rows √r K_J, with a compliance of 1 on their diagonal. That is Gauss's principle of least
  constraint with r q̈² in it; exact, symmetric, and valid for r = 0.

Every link needs an inertia, and neighbours of very different mass cost digits; see ``lw.forward_dynamics``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, Tree, fields
from linkwork.spatial import Factor, Force, Mobility, Motion, RigidMobility, Scalar, Transform, Wrenches
from linkwork.spatial.matrices import Matrix, plus_rows


class ConstrainedMotion(NamedTuple):
    """The results of the recursions."""

    qdd: JointField
    f: Field[Force]
    """The wrench that each joint transmits to its child."""
    X: Field[Transform]
    """Placements in the parents."""


def virtual_work(tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    return (constrained_motion(tree, q, v, tau, f_ext).qdd,)


def constrained_motion(
    tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> ConstrainedMotion:
    """Accelerations, and the wrenches of the joints."""
    links = Links(tree, q, v, tau, f_ext)
    for body in tree.inward():
        links.join(body)
    for body in tree.outward():
        links.hold(body, links.known(body))
    return links.motion()


class Links:
    """The links of a tree, free at first; then they are joined, and the wrenches of their joints are found.

    ``whole`` keeps W of every link, for other constraints on the links, such as loops, which may use and change it.
    """

    def __init__(
        self, tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces, whole: bool = False
    ) -> None:
        self.tree, self.whole = tree, whole
        X: Field[Transform] = tree.field()
        V, c, u = fields(tree, Motion, 3)
        t, d, f = fields(tree, Force, 3)
        K: Field[Wrenches] = tree.field()
        J: Field[Wrenches] = tree.field()
        A: Field[RigidMobility] = tree.field()
        W: Field[Mobility] = tree.field()
        S: Field[Matrix] = tree.field()
        self.D: Field[Factor] = tree.field()
        self.G: Field[list[Motion]] = tree.field()
        self.y: JointField = tree.field()
        self.X, self.c, self.u, self.t, self.d, self.f = X, c, u, t, d, f
        self.K, self.J, self.A, self.W, self.S = K, J, A, W, S
        V[tree.world], t[tree.world] = Motion.zero(), Force.zero()
        A[tree.world], W[tree.world] = RigidMobility.zero(), Mobility.zero()
        u[tree.world], d[tree.world] = -tree.gravity, Force.zero()

        for body in tree.outward():
            X[body] = body.placement * body.joint.transform(q[body])
            motions = body.joint.subspace(q[body])
            K[body], J[body] = motions.complement(body.rotor), motions.dual()  # Eqs. 9, 10
            moved = motions.times(v[body])
            V[body] = X[body].to_child(V[body.parent]) + moved
            c[body] = body.joint.bias(q[body], v[body]) + V[body].cross(moved)  # Eq. 12
            A[body] = RigidMobility.of_inertia(body.inertia)
            W[body] = A[body].full()
            if not whole:
                S[body] = K[body].project(W[body])
            f[body] = J[body].times(tau[body])
            t[body] = f_ext[body] - V[body].cross(body.inertia * V[body]) + f[body]  # Eq. 28
            d[body] = Force.zero()

        for body in tree.inward():
            u[body] = A[body] * t[body]
            t[body.parent] = t[body.parent] - X[body].to_parent(f[body])

    def join(self, body: Body) -> None:
        """Inward: join the body to its parent, whose W and u then are those of both."""
        W, u, S, X, K, D, G, y = self.W, self.u, self.S, self.X, self.K, self.D, self.G, self.y
        alone = not self.whole and body.alone
        parent = self.A[body.parent].full() if alone else W[body.parent]
        half, felt = parent.across_joint(X[body])
        own = K[body].project(W[body]) if self.whole else S[body]
        D[body] = Factor.of_matrix(plus_rows(own, K[body].square(felt)))  # S of Eq. 32, M⁻¹ of Eq. 41
        columns = [D[body].forward(K[body].dot(column)) for column in half]
        G[body] = [Motion.from_numbers(row) for row in zip(*columns, strict=True)]
        y[body] = D[body].forward(K[body].dot(self.c[body] - u[body] + X[body].to_child(u[body.parent])))  # a of Eq. 32
        u[body.parent] = u[body.parent] - weighted(G[body], D[body], y[body])  # Eq. 35
        if not alone:
            W[body.parent] = parent.minus(G[body], D[body].inverse_pivots)  # Eq. 43
        if not self.whole:
            for other in self.tree.joint_before(body):
                H = [K[other].dot(row) for row in G[body]]
                S[other] = _minus_square(S[other], H, D[body].inverse_pivots)  # Eq. 41

    def known(self, body: Body) -> list[Scalar]:
        """Outward: the right-hand side of a joint's constraint forces, without loops."""
        d = self.d[body.parent]
        return [number + row.dot(d) for number, row in zip(self.y[body], self.G[body], strict=True)]

    def hold(self, body: Body, known: Sequence[Scalar]) -> None:
        """Apply the constraint forces of a joint to the body and its parent."""
        force = self.K[body].times(self.D[body].complete(known))  # Eqs. 40, 47
        self.f[body] = self.f[body] + force
        self.d[body] = self.d[body] + force
        self.d[body.parent] = self.d[body.parent] - self.X[body].to_parent(force)

    def motion(self) -> ConstrainedMotion:
        """The motion, once all forces are known."""
        tree, X = self.tree, self.X
        a: Field[Motion] = tree.field()
        qdd: JointField = tree.field()
        a[tree.world] = -tree.gravity
        for body in tree.outward():
            a[body] = self.A[body] * (self.t[body] + self.d[body])  # Eq. 48
            qdd[body] = self.J[body].dot(a[body] - X[body].to_child(a[body.parent]) - self.c[body])  # Eq. 49
        return ConstrainedMotion(qdd, self.f, X)


def weighted(G: Sequence[Motion], D: Factor, numbers: Sequence[Scalar]) -> Motion:
    """Gᵀ D⁻¹ y."""
    result = Motion.zero()
    for row, weight, number in zip(G, D.inverse_pivots, numbers, strict=True):
        result = result + row * (weight * number)
    return result


def _minus_square(S: Matrix, H: Sequence[Sequence[Scalar]], weights: Sequence[Scalar]) -> Matrix:
    """The lower triangle of S - Hᵀ diag(w) H."""
    found = [list(row) for row in S]
    for h, weight in zip(H, weights, strict=True):
        scaled = [number * weight for number in h]
        for i, row in enumerate(found):
            for j in range(i + 1):
                row[j] = row[j] - scaled[i] * h[j]
    return found
