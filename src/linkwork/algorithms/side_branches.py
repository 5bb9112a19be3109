"""Side branches of a long chain: gathered into the chain's bodies inward, and left outward, one body after the other.

    along     ω before each segment, from R, ω over the segments
    outward   ω,   Iᴬ = I,   pᴬ = (ω × (ω × h), ω × I ω) - f of all bodies,   X, S, c of the branches'
    inward    Iᴬ, pᴬ of the branches, up to the bodies of the chain
    outward   a, q̈ of the branches

Quantities are those of ``constraint_force``.
"""

from __future__ import annotations

from linkwork.algorithms.articulated import ArticulatedBodies
from linkwork.algorithms.constraint_force import Turned, bias_force, relative_bias
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, SegmentedTree, fields
from linkwork.spatial import ArticulatedInertia, Force, Motion, Vec3


class SideBranches:
    """Iᴬ and pᴬ of all bodies, side branches gathered in."""

    def __init__(
        self, tree: SegmentedTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
    ) -> None:
        self.tree, self.q, self.v, self.tau, self.f_ext = tree, q, v, tau, f_ext
        self.step = ArticulatedBodies(tree, judged=False)
        self.IA = self.step.IA = tree.persistent_field()
        self.pA = self.step.pA = tree.persistent_field()
        self.w: Field[Vec3] = tree.persistent_field()
        self.a: Field[Motion] = tree.persistent_field()
        """Of the chain's bodies, put there by who finds it; then of the branches' too."""

    def gather(self, turned: Field[Turned]) -> None:
        """From ``turned``, what each segment turns by."""
        tree, q, v, step, w = self.tree, self.q, self.v, self.step, self.w
        reached, inside = fields(tree, Vec3, 2)
        seam = tree.seam

        w[tree.world], reached[seam] = Vec3.zero(), Vec3.zero()
        step.IA[tree.world], step.pA[tree.world] = ArticulatedInertia.zero(), Force.zero()
        for body in tree.head():
            self._begin(body, reached[seam])
            reached[seam] = w[body]
        for segment in tree.segments_outward():
            R, turn = turned[segment]
            inside[segment] = reached[seam]
            reached[seam] = R.apply_transpose(inside[segment]) + turn
        for segment in tree.segments():
            for body in segment.outward():
                self._begin(body, inside[segment])
                inside[segment] = w[body]
        for body in tree.side_branches():
            self._begin(body, w[body.parent])
            step.X[body], step.S[body] = body.placement * body.joint.transform(q[body]), body.joint.subspace(q[body])
            moved = step.S[body].times(v[body])
            step.c[body] = body.joint.bias(q[body], v[body]) + relative_bias(step.X[body], w[body.parent], moved)

        for body in tree.side_branches_inward():
            step.factor(body)
            step.drive(body, self.tau[body])
            step.hand_over(body)

    def _begin(self, body: Body, above: Vec3) -> None:
        """ω, Iᴬ and pᴬ of a body whose parent turns at ``above``."""
        q, v, step, w = self.q, self.v, self.step, self.w
        R = body.placement.rotation * body.joint.transform(q[body]).rotation
        moved = body.joint.subspace(q[body]).times(v[body])
        w[body] = R.apply_transpose(above) + moved.angular
        step.IA[body], step.pA[body] = body.inertia.articulated(), bias_force(body.inertia, w[body]) - self.f_ext[body]

    def leave(self, qdd: JointField) -> None:
        """q̈ of the side branches, when a of the chain's bodies is there."""
        self.a[self.tree.world] = -self.tree.gravity
        for body in self.tree.side_branches():
            self.step.follow(body, self.a, qdd)
