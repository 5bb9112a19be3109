"""Forward dynamics by unit vectors, O(n²) and a factorisation: M q̈ = τ - b, each column of M by inverse dynamics.

    for each degree of freedom k   M eₖ = inverse dynamics at q̇ = 0, q̈ = eₖ, without gravity
    solve                          M q̈ = τ - b(q, v)

Walker, Orin, Efficient dynamic computer simulation of robotic mechanisms (1982), method 1: the baseline of Yamane and
Nakamura's Figures 6 and 7. The columns of one joint are found together, by one walk over the whole tree. The
factorisation is that of ``composite_body``: Cholesky's, in an order that leaves out the zeros which branches make, so
on a chain it is the dense one.
"""

from __future__ import annotations

from typing import Any

from linkwork.algorithms.composite_body import solve_along_tree
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, plus_diagonal


def unit_vector(tree: Tree, q: Any, v: Any, tau: Any, f_ext: Any) -> tuple[Any]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    (b,) = inverse_dynamics(tree, q, v, tree.still(), f_ext)
    X, S, A, F, M, x = (tree.field() for _ in range(6))

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        x[body] = [t - bias for t, bias in zip(tau[body], b[body], strict=True)]

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

    return (solve_along_tree(tree, M, x),)
