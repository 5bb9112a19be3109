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

from collections.abc import Callable, Sequence
from itertools import pairwise

from linkwork.algorithms.articulated import ArticulatedBodies
from linkwork.algorithms.constraint_force import coupled
from linkwork.algorithms.cyclic_reduction import cyclic_reduction
from linkwork.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, KnownTree, fields
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
    sqrt,
)
from linkwork.spatial.matrices import Column, Matrix, minus, padded, padded_with_identity, units

IDENTITY = ArticulatedInertia(Sym3.diagonal(1.0, 1.0, 1.0), Mat3.zero(), Sym3.diagonal(1.0, 1.0, 1.0))


def constraint_force_world(
    tree: KnownTree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    f_ext: BodyForces,
    I_X: Callable[[Body], ArticulatedInertia] = lambda body: IDENTITY,
    tip: int | None = None,
    original: bool = False,
    bias: bool = True,
) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body.

    ``I_X`` gives any symmetric positive definite mapping for each body, in the world's coordinates. For study alone:
    ``original`` takes h for B, as the algorithm before this paper does; without ``bias`` the chain does not feel pᴬ of
    its side branches, as the paper has it.
    """
    step = ArticulatedBodies(tree, moving=False)
    X, S, IA, pA, u = step.X, step.S, step.IA, step.pA, step.u
    X0: Field[Transform] = tree.field()
    H, B = fields(tree, AnyWrenches, 2)
    W: Field[Mobility] = tree.field()
    t: Field[Force] = tree.field()
    free, a = fields(tree, Motion, 2)
    Y, E = fields(tree, Matrix, 2)
    r: Field[Column] = tree.field()
    qdd: JointField = tree.field()
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
        u[body] = minus(tau[body], needed[body])

    for level in (*reversed(branches), chain):
        for body in level:
            for child in tree.children(body):
                if child.index not in on_chain:
                    step.hand_over(child)
            if body.index not in on_chain:
                step.factor(body)
                step.drive(body, u[body])

    for body in chain:
        h = [X0[body].to_parent(column) for column in S[body].columns()]
        B[body] = AnyWrenches(as_forces(h) if original else _reciprocal(h, I_X(body)))
        held = [X0[body].to_parent(wrench) for wrench in S[body].complement().units()]
        rotor = [column * sqrt(inertia) for column, inertia in zip(B[body].columns, body.rotor, strict=False)]
        H[body] = AnyWrenches([*held, *rotor], len(rotor))
        W[body] = Mobility.of_inertia(X0[body].to_parent(IA[body]))
        t[body] = B[body].times(u[body])
        if bias:
            t[body] = t[body] - X0[body].to_parent(pA[body])
    for body, after in pairwise(chain):
        t[body] = t[body] - B[after].times(u[after])

    width = max((len(H[body].compliance) for body in chain), default=0)
    for body in chain:
        free[body] = W[body] * t[body]
        Y[body] = padded_with_identity(H[body].project(W[body] + W[body.parent]), width)
        r[body] = padded(H[body].dot(free[body.parent] - free[body]), width)
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
            step.follow(body, a, qdd)

    return (qdd,)


def as_forces(h: Sequence[Motion]) -> list[Force]:
    """Motions taken for forces with the same numbers: what no change of units or of axes permits."""
    return [Force.from_numbers(column.numbers()) for column in h]


def _reciprocal(h: list[Motion], I_X: ArticulatedInertia) -> list[Force]:
    """The columns of I_X h (hᵀ I_X h)⁻¹."""
    felt = [I_X * column for column in h]
    factor = Factor.of_matrix([[row.dot(column) for column in felt] for row in h])
    return [combination(felt, factor.solve(unit)) for unit in units(len(h))]
