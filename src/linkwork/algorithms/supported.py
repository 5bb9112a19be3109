"""Accelerations of a mechanism with soft supports at some frames and joints, by articulated bodies, O(n).

    (M + Σ Jₖᵀ Kₖ Jₖ + diag r) p = τ + Σ Jₖᵀ fₖ - M y         k over frames, Kₖ symmetric 6×6, fₖ a force

    outward   Yᵢ = Xᵢ⁻¹ Yₚ + Sᵢ yᵢ,   Iᴬᵢ = Iᵢ + Σ Xₖ Kₖ Xₖᵀ,   pᴬᵢ = Iᵢ Yᵢ - Σ Xₖ fₖ          of the frames on body i
    inward    as articulated bodies, with r added to the rotors; without velocities and gravity
    outward   Pᵢ = Xᵢ⁻¹ Pₚ + Sᵢ pᵢ;   yᵀ M y, yᵀ M p and pᵀ M p as sums over bodies with Iᵢ

A support K between a frame and the world acts as if its body's inertia were larger by it, so that the matrix
on the left, that of a Newton step of soft contacts, is never formed: Featherstone's recursion (1983) solves
with it, for any number of frames.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.articulated import ArticulatedBodies
from linkwork.algorithms.tree import Field, JointField, JointValues, PointedTree, Values, fields
from linkwork.spatial import ArticulatedInertia, Force, Motion, Scalar, total
from linkwork.spatial.matrices import minus

Numbers = Values[Sequence[Scalar]]


def supported(
    tree: PointedTree, q: JointValues, y: JointValues, tau: JointValues, rotor: JointValues, f: Numbers, K: Numbers
) -> tuple[JointField, Field[Motion], Scalar, Scalar, Scalar]:
    """p, the motions of frames by it, and yᵀ M y, yᵀ M p, pᵀ M p. ``rotor`` are the rotor inertias plus r; f (6) and
    K (21) of each frame are in its own axes.
    """
    step = ArticulatedBodies(tree, rotor, moving=False)
    X, S, IA, pA = step.X, step.S, step.IA, step.pA
    Y, P, moved = fields(tree, Motion, 3)
    p: JointField = tree.field()
    sums: Field[list[Scalar]] = tree.field()
    Y[tree.world] = P[tree.world] = Motion.zero()
    IA[tree.world], pA[tree.world] = ArticulatedInertia.zero(), Force.zero()
    sums[tree.world] = [0.0, 0.0, 0.0]

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        Y[body] = X[body].to_child(Y[body.parent]) + S[body].times(y[body])
        IA[body] = body.inertia.articulated()
        pA[body] = body.inertia * Y[body]

    for frame in tree.frames():
        held, pushed = ArticulatedInertia.zero().of(K[frame]), Force.from_numbers(f[frame])
        IA[frame.body] = IA[frame.body] + frame.placement.to_parent(held)
        pA[frame.body] = pA[frame.body] - frame.placement.to_parent(pushed)

    for body in tree.inward():
        step.factor(body)
        spun = [r * rate for r, rate in zip(body.rotor, y[body], strict=bool(body.rotor))]
        step.drive(body, minus(tau[body], spun) if spun else tau[body])
        step.hand_over(body)

    for body in tree.outward():
        step.follow(body, P, p)
        inertial = body.inertia * Y[body], body.inertia * P[body]
        own = [Y[body].dot(inertial[0]), P[body].dot(inertial[0]), P[body].dot(inertial[1])]
        pairs = (y[body], y[body]), (y[body], p[body]), (p[body], p[body])
        for k, (a, b) in enumerate(pairs):
            spun = [r * i * j for r, i, j in zip(body.rotor, a, b, strict=bool(body.rotor))]
            own[k] = total([own[k], *spun])
        sums[tree.world] = [x + more for x, more in zip(sums[tree.world], own, strict=True)]

    for frame in tree.frames():
        moved[frame] = frame.placement.to_child(P[frame.body])
    return p, moved, *sums[tree.world]
