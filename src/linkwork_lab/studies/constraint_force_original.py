"""The constraint force algorithm before the paper's correction, for study: h in place of T₁′.

    q̈ = Hᵀ P (I⁻¹ - I⁻¹ T₂ (T₂ᵀ I⁻¹ T₂)⁻¹ T₂ᵀ I⁻¹) Pᵀ H τ

Fijany, Sharf, D'Eleuterio, Parallel O(log N) algorithms for computation of manipulator forward dynamics (1995), Eq. 22,
as Featherstone and Fijany (1999, below their Eq. 16) compare with it: the only difference is PᵀH instead of T₁′. A
joint's motions are taken for forces with the same numbers, so it needs hᵀ h = 1, which holds for some joints in
coordinates at the joint and for nothing else. Everything else is ``constraint_force``.
"""

from __future__ import annotations

from linkwork.algorithms.constraint_force import joined_motion
from linkwork.algorithms.tree import BodyForces, JointField, JointValues, KnownTree
from linkwork.spatial import AnyWrenches
from linkwork_lab.studies.constraint_force_world import as_forces


def constraint_force_original(
    tree: KnownTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    qdd, _ = joined_motion(tree, q, v, tau, f_ext, dual=lambda S: AnyWrenches(as_forces(S.columns())))
    return (qdd,)
