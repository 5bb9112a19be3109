"""Virtual work as section 4 of Yamane and Nakamura has it, for study: with links split, and without.

``virtual_work_split``: a link with n > 3 joints becomes n - 2 links on fixed joints, so that each has at most 3
(Figure 3). Every part has an equal share of the link's inertia and external force: any positive shares that sum to
one are exact on paper, and these lose the fewest digits. Then ``virtual_work`` as it stands. O(n), but the fixed
joints cost as much as others, and the shares digits.

``virtual_work_unsplit``: the paper's recursion with explicit blocks Ω of Φ⁻¹ (Eq. 43). Joint m, between links m and
p, meets the joints that hang on link m and those which already hang on p; Φₘₓ = -Kₘ A⁻¹ₘ X Kₓᵀ for a child x of m, +
Kₘ Xᵀ A⁻¹ₚ Xₓ Kₓᵀ for a sibling:

    inward    M = (Sₘ - Σ Φₘₓ Ωₓᵧ Φₘᵧᵀ)⁻¹,   nₘ = M (aₘ - Σ Φₘₓ nₓ),   over all x, y of both kinds      Eqs. 36, 37
              Ωₓᵧ += Bₓ M Bᵧᵀ,   Ωₓₘ = -Bₓ M,   nₓ -= Bₓ nₘ,   Bₓ = Σ Ωₓᵧ Φₘᵧᵀ,   for the siblings       Eqs. 43, 35
    outward   nₓ -= Σ Ωₓᵧ Φₘᵧᵀ nₘ,   for the children of m, whose Ω is that before m came                 Eqs. 46, 47

On a link with k joints this is k³/3 block products (the paper says the whole is O(n²) at worst; a star shows O(n³)).
Minus and plus above are ours too: the paper gives only the first. The walks here go over children, so there is no
rolled form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, KnownTree, fields
from linkwork.algorithms.virtual_work import virtual_work
from linkwork.joints import Fixed
from linkwork.model.tree import Node, Walks
from linkwork.spatial import Factor, Force, Mobility, Motion, RigidMobility, Transform, Wrenches
from linkwork.spatial.matrices import Column, Matrix, applied, minus, product, transposed, units

MOST_JOINTS = 3
"""On one link, after splitting."""


def virtual_work_split(
    tree: KnownTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, with every link split until it has at most three joints."""
    split = SplitTree(tree)
    (parted,) = virtual_work(split, split.share(q), split.share(v), split.share(tau), split.share_forces(f_ext))
    qdd: JointField = tree.field()
    for body in tree.outward():
        qdd[body] = parted[split.first[body.index]]
    return (qdd,)


class SplitTree(Walks):
    """A tree in which no link but the world has more than three joints."""

    def __init__(self, tree: KnownTree) -> None:
        self._tree, self.gravity, self.world, self.doubtful = tree, tree.gravity, tree.world, tree.doubtful
        self.first: dict[int, Body] = {0: tree.world}  # the part of each old body that its own joint carries
        self._bodies: list[tuple[Node, Body, float]] = []  # each part, the old body, its share
        places: dict[int, list[Node]] = {}  # for each old body, where its next children go
        children: dict[int, int] = {}
        for body in tree.outward():
            children[body.parent.index] = children.get(body.parent.index, 0) + 1
        for body in tree.outward():
            parent = self.world if not body.parent.index else places[body.parent.index].pop(0)
            count = max(1, children.get(body.index, 0) + 1 - (MOST_JOINTS - 1))
            parts: list[Node] = []
            for number in range(count):
                part = Node()
                part.index, part.parent = len(self._bodies) + 1, parts[-1] if parts else parent
                part.joint, part.placement, part.rotor = body.joint, body.placement, body.rotor
                if number:
                    part.joint, part.placement, part.rotor = Fixed(), Transform.identity(), ()
                part.doubtful = body.doubtful and not number
                share = 1.0 / count
                part.inertia = body.inertia.of([x * share for x in body.inertia.numbers()])
                parts.append(part)
                self._bodies.append((part, body, share))
            self.first[body.index] = parts[0]
            places[body.index] = [*parts, parts[-1]]

    def field(self) -> Field[Any]:
        return self._tree.field()

    def outward(self) -> Iterator[Node]:
        return (part for part, _, _ in self._bodies)

    def inward(self) -> Iterator[Node]:
        return (part for part, _, _ in reversed(self._bodies))

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
    tree: KnownTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, by explicit blocks of Φ⁻¹."""
    X: Field[Transform] = tree.field()
    K: Field[Wrenches] = tree.field()
    J: Field[Wrenches] = tree.field()
    A: Field[Mobility] = tree.field()
    V, c, u, a = fields(tree, Motion, 4)
    t, f, d = fields(tree, Force, 3)
    Phi, Omega = fields(tree, Matrix, 2)
    n: Field[Column] = tree.field()
    qdd: JointField = tree.field()
    V[tree.world], A[tree.world], t[tree.world] = Motion.zero(), Mobility.zero(), Force.zero()
    u[tree.world], d[tree.world], a[tree.world] = -tree.gravity, Force.zero(), -tree.gravity
    hanging: dict[int, list[Body]] = {0: []}  # for each link the joints of its children, as they come

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        subspace = body.joint.subspace(q[body])
        K[body], J[body] = subspace.complement(body.rotor), subspace.dual()  # Eqs. 9, 10
        moved = subspace.times(v[body])
        V[body] = X[body].to_child(V[body.parent]) + moved
        c[body] = body.joint.bias(q[body], v[body]) + V[body].cross(moved)
        A[body] = RigidMobility.of_inertia(body.inertia).full()
        f[body] = J[body].times(tau[body])
        t[body] = f_ext[body] - V[body].cross(body.inertia * V[body]) + f[body]  # Eq. 28
        d[body], n[body] = Force.zero(), []
        hanging[body.index] = []

    for body in tree.inward():
        u[body] = A[body] * t[body]
        t[body.parent] = t[body.parent] - X[body].to_parent(f[body])

    for m in tree.inward():
        if not K[m].compliance:  # a free joint: nothing is joined
            continue
        children, siblings = hanging[m.index], hanging[m.parent.index]
        for x in children:
            Phi[m, x] = transposed([K[m].dot(-(A[m] * X[x].to_parent(pull))) for pull in K[x].units()])  # Eq. 39
        for x in siblings:
            pulled = (A[m.parent] * X[x].to_parent(pull) for pull in K[x].units())
            Phi[m, x] = transposed([K[m].dot(X[m].to_child(motion)) for motion in pulled])
        B = {
            x.index: _sum([product(Omega[x, y], transposed(Phi[m, y])) for y in near])
            for near in (children, siblings)
            for x in near
        }
        _, felt = A[m.parent].across(X[m])
        S = K[m].project(A[m] + felt)  # Eq. 32
        right = K[m].dot(c[m] - u[m] + X[m].to_child(u[m.parent]))
        for x in (*children, *siblings):
            S = _plus(S, product(Phi[m, x], B[x.index]), -1.0)
            right = minus(right, applied(Phi[m, x], n[x]))
        factor = Factor.of_matrix(S)
        M = [factor.solve(unit) for unit in units(len(S))]  # Eq. 37
        n[m] = applied(M, right)  # Eq. 36
        for x in siblings:
            n[x] = minus(n[x], applied(B[x.index], n[m]))  # Eq. 35
            BM = product(B[x.index], M)
            for y in siblings:
                Omega[x, y] = _plus(Omega[x, y], product(BM, transposed(B[y.index])), 1.0)  # Eq. 43
            Omega[x, m] = [[-number for number in row] for row in BM]
            Omega[m, x] = transposed(Omega[x, m])
        Omega[m, m] = M
        siblings.append(m)

    for m in tree.outward():
        pushed = {y.index: applied(transposed(Phi[m, y]), n[m]) for y in hanging[m.index] if n[m]}
        for x in hanging[m.index] if n[m] else ():
            for y in hanging[m.index]:
                n[x] = minus(n[x], applied(Omega[x, y], pushed[y.index]))  # Eq. 47
        force = K[m].times(n[m])
        d[m] = d[m] + force
        d[m.parent] = d[m.parent] - X[m].to_parent(force)

    for body in tree.outward():
        a[body] = A[body] * (t[body] + d[body])  # Eq. 48
        qdd[body] = J[body].dot(a[body] - X[body].to_child(a[body.parent]) - c[body])  # Eq. 49

    return (qdd,)


def _plus(a: Matrix, b: Matrix, sign: float) -> Matrix:
    """a ± b; of a triangle what it has."""
    return [[x + sign * y for x, y in zip(row, more, strict=False)] for row, more in zip(a, b, strict=True)]


def _sum(matrices: list[Matrix]) -> Matrix:
    result = matrices[0]
    for matrix in matrices[1:]:
        result = _plus(result, matrix, 1.0)
    return result
