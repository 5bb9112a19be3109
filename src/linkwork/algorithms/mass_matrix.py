"""The joint-space mass matrix by the composite-rigid-body algorithm (CRBA), O(n·depth).

    inward    Iᶜₚ += Xᵢ Iᶜᵢ Xᵢᵀ,   F = Iᶜᵢ Sᵢ,   Mᵢᵢ = Sᵢᵀ F + rotor
              and for each ancestor j of i:   F ← X F,   Mᵢⱼ = Fᵀ Sⱼ

Walker, Orin 1982 (method 3), in the form of Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2. Pairs of
joints of which neither is the other's ancestor have no entry: they are zero.
"""

from __future__ import annotations

from linkwork.algorithms.tree import Field, JointValues, Tree
from linkwork.spatial import Force, Inertia, Subspace, Transform, plus_diagonal
from linkwork.spatial.matrices import Matrix, columns


def mass_matrix(tree: Tree, q: JointValues) -> tuple[Field[Matrix]]:
    """M, as blocks for each joint and its ancestors, above and below the diagonal."""
    X: Field[Transform] = tree.field()
    S: Field[Subspace] = tree.field()
    I: Field[Inertia] = tree.field()
    F: Field[list[Force]] = tree.field()
    M: Field[Matrix] = tree.field()

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        I[body] = body.inertia

    I[tree.world] = Inertia.zero()
    for body in tree.inward():
        I[body.parent] = I[body.parent] + X[body].to_parent(I[body])
        F[body] = S[body].through(I[body])
        M[body, body] = plus_diagonal(S[body].project(F[body]), body.rotor)
        F[body.parent] = [X[body].to_parent(force) for force in F[body]]
        for ancestor in tree.ancestors(body):
            M[ancestor, body] = S[ancestor].project(F[ancestor])
            M[body, ancestor] = columns(M[ancestor, body], body.joint.nv)
            F[ancestor.parent] = [X[ancestor].to_parent(force) for force in F[ancestor]]

    return (M,)
