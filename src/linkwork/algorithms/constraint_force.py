"""Forward dynamics by constraint forces (CFA), O(log n) steps on O(n) processors.

Links start as free bodies a = I⁻¹ f (Eq. 12); those of a main chain from the world to a tip are joined by the forces
T₂ n, T₂ = Pᵀ H^⊥, that keep their joints' motions in range: T₂ᵀ I⁻¹ T₂ n = -T₂ᵀ a_free (Eqs. 9, 16), a block for each
joint, coupled to those before and behind it. Side branches are part of the chain's bodies, as articulated bodies.
With K = (h^⊥)ᵀ, K_J h = 1, Xᵀ from parent to child, X the other way, and i - 1 for the body before i on the chain:

    along     R, ω of all bodies, by parallel prefix of (R, ω)∘(R′, ω′) = (RR′, R′ᵀω + ω′)
    parallel  c = a - Xᵀ aₚ at q̈ = 0,   Iᴬ = I,   pᴬ = (ω × (ω × h), ω × I ω) - f                     h: first moment
    inward    Iᴬ, pᴬ of the side branches, level by level, up to the bodies of the chain
    parallel  W = (Iᴬ)⁻¹,   t = K_Jᵀ τ - Xᵢ₊₁ (K_Jᵀ τ)ᵢ₊₁ - pᴬ,   u = W t                             Eqs. 11, 16
    parallel  Y = K (W + Xᵀ Wᵢ₋₁ X) Kᵀ,   E = -K Xᵀ Wᵢ₋₁ Kᵢ₋₁ᵀ,   r = K (c - u + Xᵀ uᵢ₋₁)              T₂ᵀ I⁻¹ T₂
    along     Y n + E nᵢ₋₁ + Eᵢ₊₁ᵀ nᵢ₊₁ = r, by cyclic reduction
    parallel  a = u + W (Kᵀ n - Xᵢ₊₁ (Kᵀ n)ᵢ₊₁),   then   q̈ = K_J (a - Xᵀ aᵢ₋₁ - c)                   Eq. 16
    outward   a, q̈ of the side branches

Featherstone, Fijany, A technique for analysing constrained rigid-body systems, and its application to the Constraint
Force Algorithm, 1999. Deviations from the paper, and their reasons:

- Link coordinates: P has -Xᵀ below its diagonal. World coordinates lose digits far from the world's origin.
- The right-hand side comes from the free accelerations u, not from inverse dynamics: fewer steps, more digits.
  ``constraint_force_world`` does both as in the paper.
- Accelerations are those of the points at the frames' origins, the derivative of velocity in a frame at rest,
  not spatial ones: linear velocities, which grow along a chain, then enter nowhere, and only ω accumulates.
  For r, ω, u, w the joint's offset, the parent's angular velocity and the joint's own velocity, all in the child's
  axes, c = Ṡ q̇ + (ω × (ω × r) + 2 ω × u + w × u, ω × w).
- "No part of the CFA needs to be changed" for side branches does not hold: their bias forces pᴬ enter t.
- Of T₁′ only K_J is needed, and any with K_J h = 1 will do; this is the freedom of I_X in the paper.
- Blocks of different size 6 - n are padded to the largest with rows of the identity, whose unknowns come out as 0.
- Rotors of inertia r, not in the paper, are additional rows √r K_J of K with a compliance of 1, as in ``virtual_work``.
- Gravity is the world's acceleration -g. There is a single main chain, the longest path; other branches of the world
  are side branches, too. A side branch enters the system by its Iᴬ alone, which takes a step for each of its links. A
  second chain, joined by constraint forces, would have to respond to the unknown acceleration of the link that carries
  it, by six more columns, and hand over what these are reduced to: a part that is hung in ``assembly``, which is the
  method for trees of several long chains (docs/constraint-force.md says why its depth is less).

Every link needs an inertia, and neighbours of very different mass cost digits; see ``lw.forward_dynamics``. Steps are
at most 4 log₂ n + 12, 3 for each level of side branches, and log₂ k - 1 for each where k > 2 of them are on one body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from linkwork.algorithms.articulated import ArticulatedBodies, Share
from linkwork.algorithms.cyclic_reduction import cyclic_reduction
from linkwork.algorithms.pairwise_sum import gather_inward
from linkwork.algorithms.parallel_prefix import accumulate
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, KnownTree, fields
from linkwork.spatial import (
    Force,
    Inertia,
    Mat3,
    Mobility,
    Motion,
    RigidMobility,
    Subspace,
    Transform,
    Vec3,
    Wrenches,
)
from linkwork.spatial.matrices import Column, Matrix, applied, padded, padded_with_identity, transposed

Turned = tuple[Mat3, Vec3]
"""Rotation and angular velocity (in the last axes) over a stretch of a chain."""


def constraint_force(
    tree: KnownTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces, tip: int | None = None
) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body.

    ``tip`` is the number of the body at the end of the main chain; the longest path if it is None.
    """
    qdd, _ = joined_motion(tree, q, v, tau, f_ext, tip)
    return (qdd,)


def joined_motion(
    tree: KnownTree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    f_ext: BodyForces,
    tip: int | None = None,
    dual: Callable[[Subspace], Wrenches] = lambda S: S.dual(),
) -> tuple[JointField, Field[Force]]:
    """q̈, and the wrench that each joint of the main chain transmits to its child; ``dual`` gives K_J of a joint."""
    step = ArticulatedBodies(tree)
    X, S, c, IA, pA = step.X, step.S, step.c, step.IA, step.pA
    K: Field[Wrenches] = tree.field()
    J: Field[Wrenches] = tree.field()
    turned: Field[Turned] = tree.field()
    share: Field[Share] = tree.field()
    W: Field[Mobility] = tree.field()
    moved, free, a = fields(tree, Motion, 3)
    t, f, constraint = fields(tree, Force, 3)
    Y, E = fields(tree, Matrix, 2)
    r: Field[Column] = tree.field()
    qdd: JointField = tree.field()
    chain = tree.main_chain(tip)
    branches, bodies, on_chain = tree.branches(chain), list(tree.outward()), {body.index for body in chain}
    turned[tree.world], a[tree.world] = (Mat3.identity(), Vec3.zero()), -tree.gravity
    W[tree.world], free[tree.world] = Mobility.zero(), -tree.gravity

    for body in tree.parallel(bodies):
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        moved[body] = S[body].times(v[body])
        turned[body] = X[body].rotation, moved[body].angular

    accumulate(tree, chain, branches, turned, turned_further)

    for body in tree.parallel(bodies):
        (_, above), (_, w) = turned[body.parent], turned[body]
        c[body] = body.joint.bias(q[body], v[body]) + relative_bias(X[body], above, moved[body])
        IA[body], pA[body] = body.inertia.articulated(), bias_force(body.inertia, w) - f_ext[body]

    def gather(body: Body, shares: list[Share]) -> None:
        """Side branches, inward."""
        for each in shares:
            step.receive(body, each)
        if body.index not in on_chain:
            step.factor(body)
            step.drive(body, tau[body])
            share[body] = step.share(body)
        else:
            K[body], J[body] = S[body].complement(body.rotor), dual(S[body])
            f[body] = J[body].times(tau[body])

    gather_inward(tree, chain, branches, share, Share.together, gather)
    behind = {body.index: after for body, after in pairwise(chain)}

    def total_on(body: Body, force: Field[Force]) -> Force:
        """The total on a body of forces that act on the joints' children, and reversed on their parents: Pᵀ f."""
        after = behind.get(body.index)
        return force[body] - X[after].to_parent(force[after]) if after else force[body]

    for body in tree.parallel(chain):
        branched = any(child.index not in on_chain for child in tree.children(body))
        W[body] = Mobility.of_inertia(IA[body]) if branched else RigidMobility.of_inertia(body.inertia).full()
        t[body] = total_on(body, f) - pA[body]  # T₁′ τ - pᴬ of Eq. 16
        free[body] = W[body] * t[body]  # Eq. 11

    width = max((len(K[body].compliance) for body in chain), default=0)
    for body in tree.parallel(chain):
        half, felt = W[body.parent].across(X[body])
        Y[body] = padded_with_identity(K[body].project(W[body] + felt), width)
        r[body] = padded(K[body].dot(c[body] - free[body] + X[body].to_child(free[body.parent])), width)
        if body.parent.index:
            E[body] = coupled(K[body], half, K[body.parent], width)

    n = cyclic_reduction(tree, chain, Y, E, r)

    for body in tree.parallel(chain):
        constraint[body] = K[body].times(n[body][: len(K[body].compliance)])
        f[body] = f[body] + constraint[body]
    for body in tree.parallel(chain):
        a[body] = W[body] * (t[body] + total_on(body, constraint))
    for body in tree.parallel(chain):
        qdd[body] = J[body].dot(a[body] - X[body].to_child(a[body.parent]) - c[body])  # T₁′ᵀ a of Eq. 16

    follow_branches(tree, step, branches, a, qdd)

    return qdd, f


def follow_branches(
    tree: KnownTree, step: ArticulatedBodies, branches: Sequence[Sequence[Body]], a: Field[Motion], qdd: JointField
) -> None:
    """q̈ and a of the side branches, outward."""
    for level in branches:
        for body in tree.parallel(level):
            step.follow(body, a, qdd)


def relative_bias(X: Transform, above: Vec3, moved: Motion) -> Motion:
    """c without Ṡ q̇, for a child with joint velocity S q̇ on a parent with angular velocity ``above``."""
    R, slid, spun = X.rotation, moved.linear, moved.angular
    carried = R.apply_transpose(above)
    swung = R.apply_transpose(above.cross(above.cross(X.translation)))
    return Motion(swung + carried.cross(slid) * 2.0 + spun.cross(slid), carried.cross(spun))


def bias_force(inertia: Inertia, w: Vec3) -> Force:
    """The bias force of a body that rotates about its origin at ω: (ω × (ω × h), ω × I ω)."""
    whirl = Motion(Vec3.zero(), w)
    return whirl.cross(inertia * whirl)


def turned_further(before: Turned, after: Turned) -> Turned:
    """The combination over two consecutive stretches of a chain."""
    (R, w), (Q, x) = before, after
    return R * Q, Q.apply_transpose(w) + x


def coupled(K: Wrenches, half: Sequence[Motion], before: Wrenches, width: int) -> Matrix:
    """-K (Xᵀ W) Kᵢ₋₁ᵀ, from the columns of Xᵀ W, padded with zeros."""
    rows = transposed([column.numbers() for column in half])
    felt = (Motion.from_numbers(applied(rows, wrench.numbers())) for wrench in before.units())
    columns = [padded(K.dot(-motion), width) for motion in felt]
    columns += [[0.0] * width for _ in range(width - len(columns))]
    return transposed(columns)
