"""Derivatives of forward dynamics with respect to configuration, velocity and joint forces.

    ∂q̈/∂q = -M⁻¹ ∂τ/∂q,   ∂q̈/∂q̇ = -M⁻¹ ∂τ/∂q̇,   ∂q̈/∂τ = M⁻¹,   all where τ = ID(q, q̇, q̈)

Carpentier, Mansard 2018. Articulated bodies give q̈ and, joint by joint, what applies M⁻¹ (``mass_matrix_inverse``); the
derivatives of inverse dynamics there are those of ``inverse_dynamics_derivatives``.
"""

from __future__ import annotations

from linkwork.algorithms.articulated_body import articulated_motion
from linkwork.algorithms.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.algorithms.mass_matrix_inverse import giving_way, identity, nothing, solve, symmetric
from linkwork.algorithms.root_frame import root_frames
from linkwork.algorithms.tree import BodyForces, Field, JointValues, OrderedTree, Tree
from linkwork.spatial.matrices import Matrix, negated


def forward_dynamics_derivatives(
    tree: OrderedTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[Field[Matrix], Field[Matrix], Field[Matrix]]:
    """∂q̈/∂q, ∂q̈/∂q̇ and M⁻¹, a block for each pair of joints."""
    found = articulated_motion(tree, q, v, tau, f_ext)
    dq, dv, _ = inverse_dynamics_derivatives(tree, q, v, found.qdd, f_ext)
    X0, _ = root_frames(tree, q)
    joints = giving_way(tree, X0, found.step)
    by_q, by_v, by_tau = solve(tree, joints, _opposite(tree, dq), _opposite(tree, dv), identity(tree))
    return by_q, by_v, symmetric(tree, by_tau)


def _opposite(tree: Tree, related: Field[Matrix]) -> Field[Matrix]:
    """The same with the other sign, and zero for joints that are not related."""
    R = nothing(tree)
    for body in tree.outward():
        R[body, body] = negated(related[body, body])
        for ancestor in tree.ancestors(body):
            R[body, ancestor] = negated(related[body, ancestor])
            R[ancestor, body] = negated(related[ancestor, body])
    return R
