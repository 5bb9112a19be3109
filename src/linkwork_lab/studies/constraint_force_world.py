"""The constraint force algorithm as published, for study: world coordinates, bias by inverse dynamics, any I_X.

    along             X₀, V = Σ h q̇, A = -g + Σ (V × h q̇ + ḣ q̇), then Σ I A + V ×* I V of all bodies behind: by scans
                      τ -= hᵀ of that, inverse dynamics at q̈ = 0; from here on everything is at rest, without gravity
    inward            Iᴬ, pᴬ of the side branches
    parallel          T₁′ = Pᵀ B,   B = I_X h (hᵀ I_X h)⁻¹,   T₂ = Pᵀ h^⊥,   W = (Iᴬ)⁻¹               below Eq. 16
    along             T₂ᵀ W T₂ n = -T₂ᵀ W t,   t = T₁′ τ - pᴬ, by cyclic reduction                    Eq. 16
    parallel          q̈ = T₁′ᵀ W (t + T₂ n)                                                           Eq. 16
    outward           q̈ of the side branches

Featherstone, Fijany 1999, section 4. The result does not depend on I_X. pᴬ is not in the paper, but needed. So are
rotors, here √r B with a compliance of 1. Every pass along the chain is a scan, so that steps grow as log₂ n; side
branches go level by level. This form is kept for its rounding error, which ``constraint_force`` avoids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from linkwork.algorithms.articulated import ArticulatedBodies, Share
from linkwork.algorithms.constraint_force import coupled, follow_branches
from linkwork.algorithms.cyclic_reduction import cyclic_reduction
from linkwork.algorithms.pairwise_sum import gather_inward
from linkwork.algorithms.parallel_prefix import accumulate, parallel_prefix
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, KnownTree, fields
from linkwork.spatial import (
    AnyWrenches,
    ArticulatedInertia,
    Factor,
    Force,
    Mat3,
    Mobility,
    Motion,
    Subspace,
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

    ``I_X`` gives any symmetric positive definite mapping for each body, in world coordinates. For study only:
    ``original`` uses h for B, as the algorithm before this paper does; without ``bias`` pᴬ of the side branches does
    not act on the chain, as in the paper.
    """
    step = ArticulatedBodies(tree, moving=False)
    X, S, IA, pA, u = step.X, step.S, step.IA, step.pA, step.u
    X0: Field[Transform] = tree.field()
    H, B = fields(tree, AnyWrenches, 2)
    W: Field[Mobility] = tree.field()
    share: Field[Share] = tree.field()
    t, joint_force = fields(tree, Force, 2)
    free, a = fields(tree, Motion, 2)
    Y, E = fields(tree, Matrix, 2)
    r: Field[Column] = tree.field()
    qdd: JointField = tree.field()
    chain = tree.main_chain(tip)
    branches, on_chain, bodies = tree.branches(chain), {body.index for body in chain}, list(tree.outward())
    a[tree.world], free[tree.world] = Motion.zero(), Motion.zero()
    W[tree.world] = Mobility.zero()

    for body in tree.parallel(bodies):
        X[body] = body.placement * body.joint.transform(q[body])
        S[body] = body.joint.subspace(q[body])
        X0[body] = X[body]
    accumulate(tree, chain, branches, X0, Transform.__mul__)
    load = _joint_wrenches(tree, chain, branches, X0, S, q, v, f_ext)
    for body in tree.parallel(bodies):
        IA[body], pA[body] = body.inertia.articulated(), Force.zero()
        u[body] = minus(tau[body], S[body].dot(X0[body].to_child(load[body])))

    def gather(body: Body, shares: list[Share]) -> None:
        for contribution in shares:
            step.receive(body, contribution)
        if body.index not in on_chain:
            step.factor(body)
            step.drive(body, u[body])
            share[body] = step.share(body)

    gather_inward(tree, chain, branches, share, Share.together, gather)

    def span(body: Body) -> None:
        """B, and H with its rotors."""
        h = [X0[body].to_parent(column) for column in S[body].columns()]
        B[body] = AnyWrenches(as_forces(h) if original else _reciprocal(h, I_X(body)))
        wrenches = [X0[body].to_parent(wrench) for wrench in S[body].complement().units()]
        rotor = [column * sqrt(inertia) for column, inertia in zip(B[body].columns, body.rotor, strict=False)]
        H[body] = AnyWrenches([*wrenches, *rotor], len(rotor))

    for body in tree.parallel(chain):
        span(body)
        W[body] = Mobility.of_inertia(X0[body].to_parent(IA[body]))
        joint_force[body] = B[body].times(u[body])

    behind = {body.index: after for body, after in pairwise(chain)}

    def total_on(body: Body, force: Field[Force]) -> Force:
        """Pᵀ of forces at the joints."""
        after = behind.get(body.index)
        return force[body] - force[after] if after else force[body]

    width = max((len(H[body].compliance) for body in chain), default=0)
    for body in tree.parallel(chain):
        t[body] = total_on(body, joint_force) - X0[body].to_parent(pA[body]) if bias else total_on(body, joint_force)
        free[body] = W[body] * t[body]
    for body in tree.parallel(chain):
        Y[body] = padded_with_identity(H[body].project(W[body] + W[body.parent]), width)
        r[body] = padded(H[body].dot(free[body.parent] - free[body]), width)
        if body.parent.index:
            E[body] = coupled(H[body], W[body.parent].columns(), H[body.parent], width)

    n = cyclic_reduction(tree, chain, Y, E, r)

    for body in tree.parallel(chain):
        joint_force[body] = H[body].times(n[body][: len(H[body].compliance)])
    for body in tree.parallel(chain):
        a[body] = W[body] * (t[body] + total_on(body, joint_force))
    for body in tree.parallel(chain):
        qdd[body] = B[body].dot(a[body] - a[body.parent])  # Eq. 16

    for body in tree.parallel(chain):
        a[body] = X0[body].to_child(a[body])
    follow_branches(tree, step, branches, a, qdd)

    return (qdd,)


def _joint_wrenches(
    tree: KnownTree,
    chain: Sequence[Body],
    branches: Sequence[Sequence[Body]],
    X0: Field[Transform],
    S: Field[Subspace],
    q: JointValues,
    v: JointValues,
    f_ext: BodyForces,
) -> Field[Force]:
    """The wrench that each joint transmits at q̈ = 0, in world coordinates: inverse dynamics by scans."""
    joint_velocity, V, A = fields(tree, Motion, 3)
    F, subtree = fields(tree, Force, 2)
    bodies = list(tree.outward())

    for body in tree.parallel(bodies):
        joint_velocity[body] = V[body] = X0[body].to_parent(S[body].times(v[body]))
    accumulate(tree, chain, branches, V, Motion.__add__)
    for body in tree.parallel(bodies):
        A[body] = V[body].cross(joint_velocity[body]) + X0[body].to_parent(body.joint.bias(q[body], v[body]))
    accumulate(tree, chain, branches, A, Motion.__add__)
    for body in tree.parallel(bodies):
        inertia = X0[body].to_parent(body.inertia)
        rate = inertia * (A[body] - tree.gravity) + V[body].cross(inertia * V[body])
        F[body] = rate - X0[body].to_parent(f_ext[body])

    def gather(body: Body, forces: list[Force]) -> None:
        for force in forces:
            F[body] = F[body] + force
        subtree[body] = F[body]

    gather_inward(tree, chain, branches, subtree, Force.__add__, gather)
    parallel_prefix(tree, list(reversed(chain)), F, Force.__add__)
    return F


def as_forces(h: Sequence[Motion]) -> list[Force]:
    """Motions taken for forces with the same numbers, which no change of units or of axes permits."""
    return [Force.from_numbers(column.numbers()) for column in h]


def _reciprocal(h: list[Motion], I_X: ArticulatedInertia) -> list[Force]:
    """The columns of I_X h (hᵀ I_X h)⁻¹."""
    forces = [I_X * column for column in h]
    factor = Factor.of_matrix([[row.dot(column) for column in forces] for row in h])
    return [combination(forces, factor.solve(unit)) for unit in units(len(h))]
