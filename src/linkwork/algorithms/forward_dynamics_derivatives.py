"""Derivatives of forward dynamics with respect to configuration, velocity and joint forces.

    ∂q̈/∂q = -M⁻¹ ∂τ/∂q,   ∂q̈/∂q̇ = -M⁻¹ ∂τ/∂q̇,   ∂q̈/∂τ = M⁻¹,   all where τ = ID(q, q̇, q̈)

Carpentier, Mansard 2018. Articulated bodies give q̈ and, joint by joint, what applies M⁻¹ (``mass_matrix_inverse``); the
derivatives of inverse dynamics there are those of ``inverse_dynamics_derivatives``.
"""

from __future__ import annotations

from linkwork.algorithms.articulated_body import articulated_motion
from linkwork.algorithms.inverse_dynamics_derivatives import derivatives_of_forces, moving
from linkwork.algorithms.mass_matrix_inverse import giving_way, solve, symmetric, zeros
from linkwork.algorithms.tree import BodyForces, Field, JointValues, OrderedTree
from linkwork.spatial.matrices import Matrix


def forward_dynamics_derivatives(
    tree: OrderedTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[Field[Matrix], Field[Matrix], Field[Matrix]]:
    """∂q̈/∂q, ∂q̈/∂q̇ and M⁻¹, a block for each pair of joints."""
    found = articulated_motion(tree, q, v, tau, f_ext)
    motion = moving(tree, q, v, found.qdd, f_ext)
    by_q, by_v, by_tau = zeros(tree, 3)
    derivatives_of_forces(tree, motion, by_q, by_v)
    solve(tree, giving_way(tree, motion.X0, found.step), by_tau, by_q, by_v)
    return by_q, by_v, symmetric(tree, by_tau)
