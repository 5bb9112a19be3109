"""Side branches of a long chain, in parallel: inward they are added to the chain's bodies, outward accelerated.

    along     ω before each segment, from R, ω over the segments
    segments  ω,   Iᴬ = I,   pᴬ = (ω × (ω × h), ω × I ω) - f of the chain's bodies
    branches  outward:  ω,   Iᴬ, pᴬ,   X, S, c of a branch's bodies
              inward:   Iᴬ, pᴬ, up to the branch's contribution to the chain's body that carries it
    in turn   the contributions of the branches are added to the chain's bodies
    branches  outward:  a, q̈

Quantities are those of ``constraint_force``, which sums branches pairwise. Here they are added to the chain one after
another, and so are the values passed between them and the chain copied: as many short steps as there are branches.
"""

from __future__ import annotations

from linkwork.algorithms.articulated import ArticulatedBodies
from linkwork.algorithms.constraint_force import Turned, bias_force, relative_bias
from linkwork.algorithms.segmented_tree import SegmentedTree
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, fields
from linkwork.spatial import ArticulatedInertia, Force, Motion, Vec3


class SideBranches:
    """Iᴬ and pᴬ of the chain's bodies, side branches included."""

    def __init__(
        self, tree: SegmentedTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
    ) -> None:
        self.tree, self.q, self.v, self.tau, self.f_ext = tree, q, v, tau, f_ext
        self.IA: Field[ArticulatedInertia] = tree.persistent_field()
        self.pA: Field[Force] = tree.persistent_field()
        self.w: Field[Vec3] = tree.persistent_field()
        self.a: Field[Motion] = tree.persistent_field()
        """a of the chain's bodies, set by the caller."""
        self.step = step = ArticulatedBodies(tree, begun=False)
        step.c, step.U, step.D, step.u = (tree.persistent_field() for _ in range(4))
        self.share: Field[tuple[ArticulatedInertia, Force]] = tree.field()

    def gather(self, turned: Field[Turned]) -> None:
        """Add the branches to the chain's bodies; ``turned`` has the rotation and ω over each segment."""
        tree, step, w = self.tree, self.step, self.w
        reached, inside, above, turning = fields(tree, Vec3, 4)
        here = tree.along

        w[tree.world], reached[here] = Vec3.zero(), Vec3.zero()
        self.IA[tree.world], self.pA[tree.world] = ArticulatedInertia.zero(), Force.zero()
        for body in tree.head():
            self._begin(body, reached[here])
            reached[here] = w[body]
        for segment in tree.segments_outward():
            R, turn = turned[segment]
            inside[segment] = reached[here]
            reached[here] = R.apply_transpose(inside[segment]) + turn
        for segment in tree.segments():
            for body in segment.outward():
                self._begin(body, inside[segment])
                inside[segment] = w[body]

        for limb in tree.limbs_to_fill():
            for body in limb.outward(0, 1):
                above[limb] = w[body.parent]
        for limb in tree.limbs():
            for body in limb.outward(0, 1):
                turning[body] = self._stand(body, above[limb])
            for body in limb.outward(1):
                turning[body] = self._stand(body, turning[body.parent])
            for body in limb.inward(1):
                step.factor(body)
                step.drive(body, self.tau[body])
                step.hand_over(body)
            for body in limb.inward(0, 1):
                step.factor(body)
                step.drive(body, self.tau[body])
                share = step.share(body)
                self.share[limb] = share.IA, share.pA
        for limb in tree.limbs_in_turn():
            for body in limb.outward(0, 1):
                IA, pA = self.share[limb]
                self.IA[body.parent] = self.IA[body.parent] + IA
                self.pA[body.parent] = self.pA[body.parent] + pA

    def _begin(self, body: Body, above: Vec3) -> None:
        """ω, Iᴬ and pᴬ of a body of the chain whose parent has the angular velocity ``above``."""
        q, v, w = self.q, self.v, self.w
        R = body.placement.rotation * body.joint.transform(q[body]).rotation
        moved = body.joint.subspace(q[body]).times(v[body])
        w[body] = R.apply_transpose(above) + moved.angular
        self.IA[body], self.pA[body] = body.inertia.articulated(), bias_force(body.inertia, w[body]) - self.f_ext[body]

    def _stand(self, body: Body, above: Vec3) -> Vec3:
        """ω of a branch's body whose parent has the angular velocity ``above``; X, S, c, Iᴬ and pᴬ."""
        q, v, step = self.q, self.v, self.step
        self._place(body)
        step.begin(body)
        X, moved = step.X[body], step.S[body].times(v[body])
        w = X.rotation.apply_transpose(above) + moved.angular
        step.c[body] = body.joint.bias(q[body], v[body]) + relative_bias(X, above, moved)
        step.IA[body], step.pA[body] = body.inertia.articulated(), bias_force(body.inertia, w) - self.f_ext[body]
        return w

    def _place(self, body: Body) -> None:
        """X and S of a branch's body: computed twice, since arithmetic is cheaper than memory."""
        self.step.X[body] = body.placement * body.joint.transform(self.q[body])
        self.step.S[body] = body.joint.subspace(self.q[body])

    def leave(self, qdd: JointField) -> None:
        """q̈ of the side branches, once a of the chain's bodies is known."""
        tree, step = self.tree, self.step
        before, a = fields(tree, Motion, 2)
        self.a[tree.world] = -tree.gravity
        for limb in tree.limbs_to_fill():
            for body in limb.outward(0, 1):
                before[limb] = self.a[body.parent]
        for limb in tree.limbs():
            for body in limb.outward(0, 1):
                self._place(body)
                a[body] = step.moved(body, before[limb], qdd)
            for body in limb.outward(1):
                self._place(body)
                a[body] = step.moved(body, a[body.parent], qdd)
