"""The constraint force algorithm as the paper has it, for study: world coordinates, bias by inverse dynamics, any I_X.

    outward, inward   τ -= inverse dynamics at q̈ = 0; from here on everything is at rest, and nothing weighs
    inward            Iᴬ, pᴬ of the side branches
    parallel          T₁′ = Pᵀ B,   B = I_X h (hᵀ I_X h)⁻¹,   T₂ = Pᵀ h^⊥,   W = (Iᴬ)⁻¹               below Eq. 16
    along             T₂ᵀ W T₂ n = -T₂ᵀ W t,   t = T₁′ τ - pᴬ, by cyclic reduction                    Eq. 16
    parallel          q̈ = T₁′ᵀ W (t + T₂ n)                                                           Eq. 16
    outward           q̈ of the side branches

Featherstone, Fijany 1999, section 4. The result does not depend on I_X. pᴬ is not in the paper, but needed. So are
rotors, here √r B with a compliance of 1. Inverse dynamics is two walks from link to link, not scans: what this form is
kept for is its rounding error, which ``constraint_force`` avoids.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from linkwork.algorithms.constraint_force import coupled, filled
from linkwork.algorithms.cyclic_reduction import cyclic_reduction
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.model.tree import Node, Tree
from linkwork.spatial import (
    AnyWrenches,
    ArticulatedInertia,
    Factor,
    Force,
    Mat3,
    Mobility,
    Motion,
    Sym3,
    Transform,
    combination,
    plus_diagonal,
    sqrt,
)

IDENTITY = ArticulatedInertia(Sym3.diagonal(1.0, 1.0, 1.0), Mat3.zero(), Sym3.diagonal(1.0, 1.0, 1.0))


def constraint_force_world(
    tree: Tree,
    q: Any,
    v: Any,
    tau: Any,
    f_ext: Any,
    I_X: Callable[[Node], ArticulatedInertia] = lambda body: IDENTITY,
    tip: int | None = None,
) -> tuple[Any]:
    """q̈, from configuration, velocity, joint forces and the external force on each body.

    ``I_X`` gives any symmetric positive definite mapping for each body, in the world's coordinates.
    """
    X, X0, S, IA, pA, U, D, u = (tree.field() for _ in range(8))
    H, B, W, t, free, Y, E, r, a, qdd = (tree.field() for _ in range(10))
    chain = tree.main_chain(tip)
    branches, on_chain = tree.branches(chain), {body.index for body in chain}
    (needed,) = inverse_dynamics(tree, q, v, tree.still(), f_ext)
    X0[tree.world], a[tree.world] = Transform.identity(), Motion.zero()
    W[tree.world], free[tree.world] = Mobility.zero(), Motion.zero()

    for body in tree.outward():
        X[body] = body.placement * body.joint.transform(q[body])
        X0[body] = X0[body.parent] * X[body]
        S[body] = body.joint.subspace(q[body])
        IA[body], pA[body] = body.inertia.articulated(), Force.zero()
        u[body] = [x - y for x, y in zip(tau[body], needed[body], strict=True)]

    for level in (*reversed(branches), chain):
        for body in level:
            for child in tree.children(body):
                if child.index not in on_chain:
                    Ia = S[child].released(IA[child], U[child], D[child], child.rotor)
                    pa = pA[child] + combination(U[child], D[child].solve(u[child]))
                    IA[body], pA[body] = IA[body] + X[child].to_parent(Ia), pA[body] + X[child].to_parent(pa)
            if body.index not in on_chain:
                U[body] = S[body].through(IA[body])
                D[body] = Factor.of_matrix(plus_diagonal(S[body].project(U[body]), body.rotor))
                u[body] = [x - p for x, p in zip(u[body], S[body].dot(pA[body]), strict=True)]

    for body in chain:
        h = [X0[body].to_parent(column) for column in S[body].columns()]
        B[body] = AnyWrenches(_reciprocal(h, I_X(body)))
        held = [X0[body].to_parent(wrench) for wrench in _wrenches(S[body].complement())]
        rotor = [column * sqrt(inertia) for column, inertia in zip(B[body].columns, body.rotor, strict=False)]
        H[body] = AnyWrenches([*held, *rotor], len(rotor))
        W[body] = Mobility.of_inertia(X0[body].to_parent(IA[body]))
        t[body] = B[body].times(u[body]) - X0[body].to_parent(pA[body])
    for body, after in pairwise(chain):
        t[body] = t[body] - B[after].times(u[after])

    width = max((len(H[body].compliance) for body in chain), default=0)
    for body in chain:
        free[body] = W[body] * t[body]
        Y[body] = filled(H[body].project(W[body] + W[body.parent]), width)
        right = H[body].dot(free[body.parent] - free[body])
        r[body] = [*right, *[0.0] * (width - len(right))]
        if body.parent.index:
            E[body] = coupled(H[body], W[body.parent].columns(), H[body.parent], width)

    n = cyclic_reduction(tree, chain, Y, E, r)

    for body in chain:
        force = H[body].times(n[body][: len(H[body].compliance)])
        t[body] = t[body] + force
        if body.parent.index:
            t[body.parent] = t[body.parent] - force
    for body in chain:
        a[body] = W[body] * t[body]
        qdd[body] = B[body].dot(a[body] - a[body.parent])  # Eq. 16

    for body in chain:
        a[body] = X0[body].to_child(a[body])
    for level in branches:
        for body in level:
            A = X[body].to_child(a[body.parent])
            qdd[body] = D[body].solve([force - A.dot(column) for force, column in zip(u[body], U[body], strict=True)])
            a[body] = A + S[body].times(qdd[body])

    return (qdd,)


def _reciprocal(h: list[Motion], I_X: ArticulatedInertia) -> list[Force]:
    """The columns of I_X h (hᵀ I_X h)⁻¹."""
    felt = [I_X * column for column in h]
    factor = Factor.of_matrix([[row.dot(column) for column in felt] for row in h])
    units = ([float(i == k) for i in range(len(h))] for k in range(len(h)))
    return [combination(felt, factor.solve(unit)) for unit in units]


def _wrenches(wrenches: Any) -> list[Force]:
    """Each wrench of a set, of unit size."""
    count = len(wrenches.compliance)
    return [wrenches.times([float(i == k) for i in range(count)]) for k in range(count)]
