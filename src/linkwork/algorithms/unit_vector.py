"""Forward dynamics by unit vectors, O(n²) and a factorisation: M q̈ = τ - b, each column of M by inverse dynamics.

    for each degree of freedom k   M eₖ = inverse dynamics at q̇ = 0, q̈ = eₖ, without gravity
    solve                          M q̈ = τ - b(q, v)

Walker, Orin, Efficient dynamic computer simulation of robotic mechanisms (1982), method 1: the baseline of Yamane and
Nakamura's Figures 6 and 7. The columns of one joint are found together, by one pass over the whole tree. The
factorisation is that of ``composite_body``: Cholesky's, in an order without fill-in between branches, so
on a chain it is the dense one.
"""

from __future__ import annotations

from linkwork.algorithms.composite_body import solve_along_tree
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.rounding import composite_terms
from linkwork.algorithms.tree import BodyForces, Field, JointField, JointValues, Tree
from linkwork.spatial import Force, Motion, Subspace, Transform, plus_diagonal
from linkwork.spatial.matrices import Column, Matrix, minus


def unit_vector(tree: Tree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    (b,) = inverse_dynamics(tree, q, v, tree.still(), f_ext)
    X: Field[Transform] = tree.field()
    S: Field[Subspace] = tree.field()
    A: Field[list[Motion]] = tree.field()
    F: Field[list[Force]] = tree.field()
    M: Field[Matrix] = tree.field()
    x: Field[Column] = tree.field()

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        x[body] = minus(tau[body], b[body])

    for moving in tree.outward():
        units = range(moving.joint.nv)
        A[tree.world], F[tree.world] = [Motion.zero() for _ in units], [Force.zero() for _ in units]
        for body in tree.outward():
            A[body] = [Motion.zero() for _ in units]
        A[moving] = S[moving].columns()
        for body in tree.outward():
            carried = [X[body].to_child(motion) for motion in A[body.parent]]
            A[body] = [own + motion for own, motion in zip(A[body], carried, strict=True)]
            F[body] = [body.inertia * motion for motion in A[body]]
        for body in tree.inward():
            M[body, moving] = S[body].project(F[body])
            passed = [X[body].to_parent(force) for force in F[body]]
            F[body.parent] = [own + force for own, force in zip(F[body.parent], passed, strict=True)]
        M[moving, moving] = plus_diagonal(M[moving, moving], moving.rotor)

    return (solve_along_tree(tree, M, x, composite_terms(tree, q)),)
