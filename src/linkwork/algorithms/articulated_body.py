"""Forward dynamics by articulated bodies (ABA), O(n): the accelerations that forces cause.

    outward   Vᵢ = Xᵢ⁻¹ Vₚ + Sᵢ q̇ᵢ,   cᵢ = Ṡᵢ q̇ᵢ + Vᵢ × Sᵢ q̇ᵢ,   Iᴬᵢ = Iᵢ,   pᴬᵢ = Vᵢ ×* Iᵢ Vᵢ - fᵢ
    inward    Uᵢ = Iᴬᵢ Sᵢ,   Dᵢ = Sᵢᵀ Uᵢ + rotor,   uᵢ = τᵢ - Sᵢᵀ pᴬᵢ
              Iᵃ = Iᴬᵢ - Uᵢ Dᵢ⁻¹ Uᵢᵀ,   pᵃ = pᴬᵢ + Iᵃ cᵢ + Uᵢ Dᵢ⁻¹ uᵢ
              Iᴬₚ += Xᵢ Iᵃ Xᵢᵀ,   pᴬₚ += Xᵢ pᵃ
    outward   a′ = Xᵢ⁻¹ Aₚ + cᵢ,   q̈ᵢ = Dᵢ⁻¹ (uᵢ - Uᵢᵀ a′),   Aᵢ = a′ + Sᵢ q̈ᵢ          A of the world is -g

Featherstone 1983, in the form of Rigid Body Dynamics Algorithms (2008), table 7.1, in link coordinates. Iᵃ is formed
by the subspace, which knows that nothing is felt along the joint's own motions.
"""

from __future__ import annotations

from typing import Any

from linkwork.model.tree import Tree
from linkwork.spatial import ArticulatedInertia, Factor, Force, Motion, combination, plus_diagonal


def articulated_body(tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any) -> tuple[Any]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    qdd, *_ = articulated_motion(tree, q, v, tau, f_ext)
    return (qdd,)


def articulated_motion(
    tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any, rotor: Any = None
) -> tuple[Any, Any, Any, Any, Any]:
    """q̈, articulated inertias, accelerations (with -g), articulated bias forces, and placements in the parents.

    ``rotor`` is a field that stands in for the rotors of the bodies.
    """
    rotor = rotor or tree.rotors()
    X, S, V, c, IA, pA, U, D, u, A, qdd = (tree.field() for _ in range(11))
    V[tree.world], A[tree.world] = Motion.zero(), -tree.gravity
    IA[tree.world], pA[tree.world] = ArticulatedInertia.zero(), Force.zero()

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        moved = S[body].times(v[body])
        V[body] = X[body].to_child(V[body.parent]) + moved
        c[body] = body.joint.bias(q[body], v[body]) + V[body].cross(moved)
        IA[body] = body.inertia.articulated()
        pA[body] = V[body].cross(body.inertia * V[body]) - f_ext[body]

    for body in tree.inward():
        U[body] = S[body].through(IA[body])
        D[body] = Factor.of_matrix(plus_diagonal(S[body].project(U[body]), rotor[body]))
        u[body] = [t - p for t, p in zip(tau[body], S[body].dot(pA[body]), strict=True)]
        Ia = S[body].released(IA[body], U[body], D[body], rotor[body])
        pa = pA[body] + Ia * c[body] + combination(U[body], D[body].solve(u[body]))
        IA[body.parent] = IA[body.parent] + X[body].to_parent(Ia)
        pA[body.parent] = pA[body.parent] + X[body].to_parent(pa)

    for body in tree.outward():
        a = X[body].to_child(A[body.parent]) + c[body]
        qdd[body] = D[body].solve([force - a.dot(column) for force, column in zip(u[body], U[body], strict=True)])
        A[body] = a + S[body].times(qdd[body])

    return qdd, IA, A, pA, X
