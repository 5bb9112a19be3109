"""Virtual work as Yamane and Nakamura print it, for study: with links split as in their section 4, and without.

``virtual_work_unsplit``: the recursion with explicit blocks Ω of Φ⁻¹ (Eq. 43). Joint m, between links m and p, is
coupled to the joints on link m and those already joined on p; Φₘₓ = -Kₘ A⁻¹ₘ X Kₓᵀ for a child x of m, +
Kₘ Xᵀ A⁻¹ₚ Xₓ Kₓᵀ for a sibling. Φ_J is the same with the rows K_J of joint m instead of Kₘ:

    inward    M = (Sₘ - Σ Φₘₓ Ωₓᵧ Φₘᵧᵀ)⁻¹,   nₘ = M (aₘ - Σ Φₘₓ nₓ),   over all x, y of both kinds      Eqs. 36, 37
              Ωₓᵧ += Bₓ M Bᵧᵀ,   Ωₓₘ = -Bₓ M,   nₓ -= Bₓ nₘ,   Bₓ = Σ Ωₓᵧ Φₘᵧᵀ,   for the siblings       Eqs. 43, 35
    outward   nₓ -= Σ Ωₓᵧ Φₘᵧᵀ nₘ,   for the children of m, with Ω as it was before m                     Eqs. 46, 47
              q̈ₘ = Σ Φ_Jₘₓ nₓ - a_Jₘ,   over m, the parent, the children and all siblings x              Eqs. 50, 53

On a link with k joints this is k³/3 block products (the paper says the whole is O(n²) at worst; a star shows O(n³)).
The signs above are ours too: the paper gives only the first. Φ_J is not symmetric, so that S_{Ji,i+1} stands in Eq. 53
where S_{Ji+1,i}ᵀ is printed.

``virtual_work_split``: the same with links split: a link with n > 3 joints becomes n - 2 links on fixed joints, so that
each has at most 3 (Figure 3). Every part has an equal share of the link's inertia and external force: any positive
shares that sum to one are exact on paper, and these lose the fewest digits. O(n), but the fixed joints cost as much as
others, and the shares cost digits. Rolled code is that of ``virtual_work_unsplit`` for the mechanism with split links
(``model.splitting``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwork.algorithms.tree import Body, BodyForces, FamilyTree, Field, JointField, JointValues, Tree, fields
from linkwork.inside import Node, Walks, alone, parts_of
from linkwork.joints import Fixed
from linkwork.spatial import Factor, Force, Mobility, Motion, RigidMobility, Transform, Wrenches
from linkwork.spatial.matrices import Column, Matrix, Row, applied, minus, negated, plus, product, transposed, units


def virtual_work_split(
    tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, with every link split until it has at most three joints."""
    split = SplitTree(tree)
    (accelerations,) = virtual_work_unsplit(
        split, split.share(q), split.share(v), split.share(tau), split.share_forces(f_ext)
    )
    qdd: JointField = tree.field()
    for body in tree.outward():
        qdd[body] = accelerations[split.first[body.index]]
    return (qdd,)


class SplitTree(Walks):
    """A tree in which no link but the world has more than three joints."""

    def __init__(self, tree: Tree) -> None:
        self._tree, self.gravity, self.world, self.doubtful = tree, tree.gravity, tree.world, tree.doubtful
        self.first: dict[int, Body] = {0: tree.world}  # for each old body, the part that its own joint carries
        self._bodies: list[tuple[Node, Body, float]] = []  # each part, its old body, its share
        old = list(tree.outward())
        nodes = [self.world]
        parts = parts_of([body.parent.index for body in old])
        lone = alone([part.parent for part in parts])
        for index, parent, share, first in parts:
            body, part = old[index - 1], Node()
            part.index, part.parent = len(nodes), nodes[parent]
            part.joint, part.placement, part.rotor = Fixed(), Transform.identity(), ()
            if first:
                part.joint, part.placement, part.rotor = body.joint, body.placement, body.rotor
                self.first[index] = part
            part.doubtful, part.alone = body.doubtful and first, lone[len(nodes) - 1]
            part.inertia = body.inertia.of([x * share for x in body.inertia.numbers()])
            nodes.append(part)
            self._bodies.append((part, body, share))

    def field(self) -> Field[Any]:
        return self._tree.field()

    def outward(self) -> Iterator[Node]:
        return (part for part, _, _ in self._bodies)

    def inward(self) -> Iterator[Node]:
        return (part for part, _, _ in reversed(self._bodies))

    def children_inward(self, body: Body) -> Iterator[Node]:
        return (part for part in self.inward() if part.parent is body)

    def siblings_behind(self, body: Body) -> Iterator[Node]:
        return (part for part in self.children_inward(body.parent) if part.index > body.index)

    def share(self, field: JointValues) -> JointField:
        """An argument of the old tree for this one: a part on a fixed joint has no coordinates."""
        new: JointField = self.field()
        for part, body, _ in self._bodies:
            new[part] = field[body] if self.first[body.index] is part else []
        return new

    def share_forces(self, f_ext: BodyForces) -> Field[Force]:
        new: Field[Force] = self.field()
        for part, body, share in self._bodies:
            new[part] = f_ext[body] * share
        return new


def virtual_work_unsplit(
    tree: FamilyTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, by explicit blocks of Φ⁻¹."""
    X: Field[Transform] = tree.field()
    K: Field[Wrenches] = tree.field()
    J: Field[Wrenches] = tree.field()
    A: Field[Mobility] = tree.field()
    V, c, u = fields(tree, Motion, 3)
    t, f = fields(tree, Force, 2)
    Phi, Phi_J, Omega, S, S_J, B = fields(tree, Matrix, 6)
    right, n, effect = fields(tree, Column, 3)
    qdd: JointField = tree.field()
    V[tree.world], A[tree.world], t[tree.world] = Motion.zero(), Mobility.zero(), Force.zero()
    u[tree.world] = -tree.gravity

    def children(m: Body) -> Iterator[Body]:
        """The children that are joined already; a free joint joins nothing."""
        return (x for x in tree.children_inward(m) if K[x].compliance)

    def siblings(m: Body) -> Iterator[Body]:
        return (x for x in tree.siblings_behind(m) if K[x].compliance)

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        subspace = body.joint.subspace(q[body])
        K[body], J[body] = subspace.complement(body.rotor), subspace.dual()  # Eqs. 9, 10
        joint_velocity = subspace.times(v[body])
        V[body] = X[body].to_child(V[body.parent]) + joint_velocity
        c[body] = body.joint.bias(q[body], v[body]) + V[body].cross(joint_velocity)
        A[body] = RigidMobility.of_inertia(body.inertia).full()
        f[body] = J[body].times(tau[body])
        t[body] = f_ext[body] - V[body].cross(body.inertia * V[body]) + f[body]  # Eq. 28
        n[body] = [0.0] * len(K[body].compliance)

    for body in tree.inward():
        u[body] = A[body] * t[body]
        t[body.parent] = t[body.parent] - X[body].to_parent(f[body])
        Omega[body, body] = _zero(K[body], K[body])
        for x in siblings(body):
            Omega[body, x], Omega[x, body] = _zero(K[body], K[x]), _zero(K[x], K[body])

    def cross_mobilities(m: Body) -> None:
        """Φ and Φ_J between a joint and those around it; of Φ_J, columns."""
        child, parent = units_of(m)
        for x in tree.children_inward(m):
            there = [-(A[m] * X[x].to_parent(pull)) for pull in K[x].units()]
            Phi[m, x], Phi_J[m, x] = projections(m, there)  # Eq. 39
            Phi_J[x, m] = [J[x].dot(-X[x].to_child(motion)) for motion in child]
        for x in tree.siblings_behind(m):
            there = [A[m.parent] * X[x].to_parent(pull) for pull in K[x].units()]
            Phi[m, x], Phi_J[m, x] = projections(m, [X[m].to_child(motion) for motion in there])
            Phi_J[x, m] = [J[x].dot(X[x].to_child(motion)) for motion in parent]
        S_J[m] = [J[m].dot(motion + X[m].to_child(shared)) for motion, shared in zip(child, parent, strict=True)]

    def units_of(m: Body) -> tuple[list[Motion], list[Motion]]:
        """The responses of a joint's link and of its parent to its unit forces."""
        pulls = K[m].units()
        return [A[m] * pull for pull in pulls], [A[m.parent] * X[m].to_parent(pull) for pull in pulls]

    def projections(m: Body, motions: list[Motion]) -> tuple[Matrix, Matrix]:
        return transposed([K[m].dot(motion) for motion in motions]), [J[m].dot(motion) for motion in motions]

    def join(m: Body, lack: Motion) -> None:
        """The force of a joint while those before it are free, and what it changes at its siblings."""
        for near in (children, siblings):
            for x in near(m):
                B[x] = _zero(K[x], K[m])
                for y in near(m):
                    B[x] = _plus(B[x], product(Omega[x, y], transposed(Phi[m, y])), 1.0)
        _, parent_mobility = A[m.parent].across(X[m])
        S[m] = K[m].project(A[m] + parent_mobility)  # Eq. 32
        right[m] = K[m].dot(lack)
        for near in (children, siblings):
            for x in near(m):
                S[m] = _plus(S[m], product(Phi[m, x], B[x]), -1.0)
                right[m] = minus(right[m], applied(Phi[m, x], n[x]))
        factor = Factor.of_matrix(S[m])
        Omega[m, m] = [factor.solve(unit) for unit in units(len(S[m]))]  # M of Eq. 37
        n[m] = applied(Omega[m, m], right[m])  # Eq. 36
        for x in siblings(m):
            n[x] = minus(n[x], applied(B[x], n[m]))  # Eq. 35
            Omega[x, m] = negated(product(B[x], Omega[m, m]))
            for y in siblings(m):
                Omega[x, y] = _plus(Omega[x, y], product(Omega[x, m], transposed(B[y])), -1.0)  # Eq. 43
            Omega[m, x] = transposed(Omega[x, m])

    for m in tree.inward():
        lack = c[m] - u[m] + X[m].to_child(u[m.parent])
        qdd[m] = [-number for number in J[m].dot(lack)]  # -a_J
        cross_mobilities(m)
        if K[m].compliance:
            join(m, lack)

    for m in tree.outward():
        if K[m].compliance:
            for y in children(m):
                effect[y] = applied(transposed(Phi[m, y]), n[m])
            for x in children(m):
                for y in children(m):
                    n[x] = minus(n[x], applied(Omega[x, y], effect[y]))  # Eq. 47

    for m in tree.outward():
        qdd[m] = _more(qdd[m], S_J[m], n[m])  # Eq. 53, and so are the next
        for x in tree.children_inward(m):
            qdd[m] = _more(qdd[m], Phi_J[m, x], n[x])
            qdd[x] = _more(qdd[x], Phi_J[x, m], n[m])
        for x in tree.siblings_behind(m):
            qdd[m] = _more(qdd[m], Phi_J[m, x], n[x])
            qdd[x] = _more(qdd[x], Phi_J[x, m], n[m])

    return (qdd,)


def _more(q: Row, columns: Matrix, sizes: Row) -> Row:
    """q plus a combination of columns."""
    for column, size in zip(columns, sizes, strict=True):
        q = plus(q, [number * size for number in column])
    return q


def _zero(rows: Wrenches, columns: Wrenches) -> Matrix:
    return [[0.0] * len(columns.compliance) for _ in rows.compliance]


def _plus(a: Matrix, b: Matrix, sign: float) -> Matrix:
    """a ± b, for full matrices or triangles."""
    return [[x + sign * y for x, y in zip(row, more, strict=False)] for row, more in zip(a, b, strict=True)]
