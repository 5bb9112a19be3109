"""Derivatives of the momentum about the centre of mass with respect to q and q̇, O(n).

    outward   V = X⁻¹ Vₚ + S q̇,   Ψ̇ = Vₚ × S,   h = I V                     every body in its own frame
    inward    I and h are summed over subtrees
    joint j   ∂h/∂q̇ = I S     ∂h/∂q = I Ψ̇ + S ×* h, and the centre of mass moves by (I S).linear / m

transformed to the centre of mass, in the world's axes, where its motion subtracts ∂c/∂q × (total linear momentum) from
the angular part. ∂h/∂q̇ is the centroidal momentum matrix (Orin, Goswami 2008). Rotors have no spatial momentum.
"""

from __future__ import annotations

from linkwork.algorithms.centroid import momentum, whole_inertia
from linkwork.algorithms.tree import Field, JointValues, Tree, fields
from linkwork.joints.variation import variation
from linkwork.spatial import Force, Inertia, Motion, Subspace, Transform


def momentum_derivatives(tree: Tree, q: JointValues, v: JointValues) -> tuple[Field[list[Force]], Field[list[Force]]]:
    """∂h/∂q and ∂h/∂q̇, a column for each degree of freedom."""
    X0, whole = whole_inertia(tree, q)
    per_mass = 1.0 / whole[tree.world].mass
    centre = whole[tree.world].moment * per_mass
    (total,) = momentum(tree, q, v)
    X: Field[Transform] = tree.field()
    S: Field[Subspace] = tree.field()
    I: Field[Inertia] = tree.field()
    h: Field[Force] = tree.field()
    (V,) = fields(tree, Motion, 1)
    Psi_d: Field[list[Motion]] = tree.field()
    by_q: Field[list[Force]] = tree.field()
    by_v: Field[list[Force]] = tree.field()
    V[tree.world] = Motion.zero()
    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        Vp = X[body].to_child(V[body.parent])
        V[body] = Vp + S[body].times(v[body])
        Psi_d[body] = [Vp.cross(column) for column in S[body].columns()]
        varied = variation(body.joint, q[body], v[body])
        if varied is not None:
            sigma = [S_q.times(v[body]) for S_q in varied.S_q]
            Psi_d[body] = [x + s for x, s in zip(Psi_d[body], sigma, strict=True)]
        I[body] = body.inertia
        h[body] = body.inertia * V[body]

    I[tree.world], h[tree.world] = Inertia.zero(), Force.zero()
    for body in tree.inward():
        there = Transform(X0[body].rotation, X0[body].translation - centre)
        by_v[body] = [there.to_parent(force) for force in S[body].through(I[body])]
        carried = [
            there.to_parent(I[body] * psi + column.cross(h[body]))
            for psi, column in zip(Psi_d[body], S[body].columns(), strict=True)
        ]
        by_q[body] = [
            Force(force.linear, force.angular - (moved.linear * per_mass).cross(total.linear))
            for force, moved in zip(carried, by_v[body], strict=True)
        ]
        I[body.parent] = I[body.parent] + X[body].to_parent(I[body])
        h[body.parent] = h[body.parent] + X[body].to_parent(h[body])
    return by_q, by_v
