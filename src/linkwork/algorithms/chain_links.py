"""The links of a chain as free bodies, and the joints between them: state-dependent quantities, computed on demand.

    link     pᴬ,   W = I⁻¹,   u = W (K_Jᵀ τ - pᴬ),   W Kᵀ                   I is Iᴬ where side branches are gathered in
    joint    X,   c,   Y = K (W + Xᵀ Wₚ X) Kᵀ,   E = -K Xᵀ Wₚ Kₚᵀ,   r = K (c - u + Xᵀ uₚ)
    back     f = K_Jᵀ τ + Kᵀ n,   a = W (f - Xᵢ₊₁ fᵢ₊₁ - pᴬ),   q̈ = K_J (a - Xᵀ aₚ - c)

Nothing but X is stored here, since on a long chain arithmetic is cheaper than memory. Quantities are those of
``constraint_force``; blocks are padded to the largest with rows of the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.algorithms.constraint_force import bias_force, relative_bias
from linkwork.algorithms.segmented_tree import SegmentedTree
from linkwork.algorithms.side_branches import SideBranches
from linkwork.algorithms.tree import Body, BodyForces, Field, JointValues
from linkwork.spatial import Force, Mobility, Motion, RigidMobility, Scalar, Transform, Vec3, Wrenches
from linkwork.spatial.matrices import Column, Matrix, padded, padded_with_identity, transposed


class Link(NamedTuple):
    """A link on its own."""

    w: Vec3
    """ω."""
    W: Mobility | RigidMobility
    u: Motion
    WK: list[Motion]
    """W Kᵀ, a motion for each wrench of the link's joint."""


class Stand(NamedTuple):
    """The relation of a link to the one before, besides X."""

    c: Motion
    pA: Force


class Row(NamedTuple):
    """The row of a joint in the block-tridiagonal system, and r of the joint before, which feels its τ."""

    Y: Matrix
    E: Matrix
    r: Column
    r_before: Column


class ChainLinks:
    """The links and joints of a mechanism's chain in one state."""

    def __init__(
        self,
        tree: SegmentedTree,
        q: JointValues,
        v: JointValues,
        tau: JointValues,
        f_ext: BodyForces,
        branches: SideBranches | None,
    ) -> None:
        self.tree, self.q, self.v, self.tau, self.f_ext, self.branches = tree, q, v, tau, f_ext, branches
        self.width = tree.most_constraints
        self.X: Field[Transform] = tree.persistent_field()

    def world(self) -> Link:
        """The world as the link before the first one."""
        still = Mobility.zero() if self.branches else RigidMobility.zero()
        return Link(Vec3.zero(), still, -self.tree.gravity, [Motion.zero()] * self.width)

    def place(self, body: Body) -> Transform:
        """X, which is stored: sines and cosines take longer than memory."""
        X = self.X[body] = body.placement * body.joint.transform(self.q[body])
        return X

    def moved(self, body: Body) -> Motion:
        """S q̇."""
        return body.joint.subspace(self.q[body]).times(self.v[body])

    def constraints(self, body: Body) -> Wrenches:
        """K."""
        return body.joint.subspace(self.q[body]).complement(body.rotor)

    def dual(self, body: Body) -> Wrenches:
        """K_J."""
        return body.joint.subspace(self.q[body]).dual()

    def driven(self, body: Body) -> Force:
        """K_Jᵀ τ."""
        return self.dual(body).times(self.tau[body])

    def mobility(self, body: Body) -> Mobility | RigidMobility:
        """W."""
        return Mobility.of_inertia(self.branches.IA[body]) if self.branches else RigidMobility.of_inertia(body.inertia)

    def alone(self, body: Body, w: Vec3) -> tuple[Force, Link]:
        """pᴬ of a link with angular velocity ω, and the link."""
        pA = self.branches.pA[body] if self.branches else bias_force(body.inertia, w) - self.f_ext[body]
        W, K = self.mobility(body), self.constraints(body)
        answers = [W * wrench for wrench in K.units()]
        padding = [Motion.zero()] * (self.width - len(answers))
        return pA, Link(w, W, W * (self.driven(body) - pA), [*answers, *padding])

    def on(self, body: Body, above: Vec3) -> tuple[Stand, Link]:
        """A link whose parent has the angular velocity ``above``."""
        X, moved = self.X[body], self.moved(body)
        c = body.joint.bias(self.q[body], self.v[body]) + relative_bias(X, above, moved)
        pA, link = self.alone(body, X.rotation.apply_transpose(above) + moved.angular)
        return Stand(c, pA), link

    def row(self, body: Body, stand: Stand, link: Link, before: Link, r_before: Sequence[Scalar]) -> Row:
        """The row of the joint between two links; r of the joint before is updated with τ of this one."""
        X, K = self.X[body], self.constraints(body)
        back = X.to_parent(self.driven(body))
        right = K.dot(stand.c - link.u + X.to_child(before.u - before.W * back))
        Y = padded_with_identity(K.project(link.W.full() + before.W.felt(X)), self.width)
        E = transposed([padded(K.dot(-X.to_child(answer)), self.width) for answer in before.WK])
        felt = [x + answer.dot(back) for x, answer in zip(r_before, before.WK, strict=True)]
        return Row(Y, E, padded(right, self.width), felt)

    def transmitted(self, body: Body, n: Sequence[Scalar]) -> Force:
        """f."""
        K = self.constraints(body)
        return self.driven(body) + K.times(n[: len(K.compliance)])

    def acceleration(self, body: Body, stand: Stand, f: Force, passed: Force) -> Motion:
        """a, from the joint's force minus the force passed on to the next link."""
        return self.mobility(body) * (f - passed - stand.pA)

    def joint_acceleration(self, body: Body, stand: Stand, a: Motion, a_before: Motion) -> Column:
        """q̈."""
        return self.dual(body).dot(a - self.X[body].to_child(a_before) - stand.c)
