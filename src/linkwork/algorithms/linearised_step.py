"""A linearised time step: the derivatives of q and v after it with respect to q, v and τ before it, O(n²).

    motion     (M + diag r) a = f - bias     δa = a_q δq + a_v δv + (M + diag r)⁻¹ (δf - a δr)
    rates      δv⁺ = δv + dt δa
    positions  q⁺ = q ⊕ dt v⁺                δq⁺ = C δq + dt E δv⁺

The joint forces f and the drag r, which is added to rotor inertias, are those of ``joint_drive``. Their derivatives
with respect to a joint's own q, v and τ, and the blocks C and E of q ⊕ s, are found by dual numbers; a_q and a_v are
those of ``forward_dynamics_derivatives``. All derivatives with respect to q are in tangent spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from linkwork.algorithms.articulated_body import articulated_motion
from linkwork.algorithms.forward_dynamics_derivatives import accelerations_vary
from linkwork.algorithms.inverse_dynamics_derivatives import moving
from linkwork.algorithms.joint_drive import force_and_rotor, forces
from linkwork.algorithms.mass_matrix_inverse import zeros
from linkwork.algorithms.tree import Body, BodyForces, Field, JointValues, OrderedTree
from linkwork.spatial import Coordinates, Scalar
from linkwork.spatial.dual import along, rate_of
from linkwork.spatial.matrices import Matrix, columns, dot, plus_rows, unit


class _Own(NamedTuple):
    """Derivatives of a joint's f - a r with respect to its own q, v and τ, and of q⁺ to q (C) and velocity (dt E)."""

    by_q: Matrix
    by_v: Matrix
    by_tau: Matrix
    C: Matrix
    dtE: Matrix


def linearised_step(
    tree: OrderedTree,
    q: JointValues,
    v: JointValues,
    dt: Scalar,
    f_ext: BodyForces | None = None,
    **parts: JointValues,
) -> tuple[list[list[Field[Matrix]]], list[list[Field[Matrix]]]]:
    """∂q⁺ and ∂v⁺ with respect to q and v, then with respect to τ: a block for each pair of joints. ``parts`` are those
    of ``joint_drive``, tau among them.
    """
    load = tree.unloaded() if f_ext is None else f_ext
    force, rotor = forces(tree, q, v, dt, **parts)
    articulated = articulated_motion(tree, q, v, force, load, rotor)
    motion = moving(tree, q, v, articulated.qdd, load)
    own: Field[_Own] = tree.field()
    of_q: list[Field[Matrix]] = [tree.field() for _ in range(3)]
    of_v = zeros(tree, 3)  # hold a_q, a_v and M⁻¹ until these are taken

    for body in tree.outward():
        own[body] = _own(
            body, q[body], v[body], articulated.qdd[body], dt, {name: each[body] for name, each in parts.items()}
        )

    def taken(body: Body, column: Body, blocks: list[Matrix]) -> None:
        """From derivatives of accelerations with respect to a joint to those of q and v after the step."""
        if blocks:
            (a_q, a_v, Y), n, dtE, here = blocks, column.joint.nv, own[body].dtE, own[column]
            by_q, by_v, by_tau = (_product(Y, each, n) for each in (here.by_q, here.by_v, here.by_tau))
            changes = (plus_rows(a_q, by_q), plus_rows(a_v, by_v), by_tau)
            for change, positions, rates in zip(changes, of_q, of_v, strict=True):
                rates[body, column] = rate = _scaled(dt, change)
                positions[body, column] = _product(dtE, rate, n)

    accelerations_vary(tree, articulated, motion, of_v[0], of_v[1], of_v[2], taken)

    for body in tree.outward():
        _, _, _, C, dtE = own[body]
        of_v[1][body, body] = plus_rows(of_v[1][body, body], [unit(k, body.joint.nv) for k in range(body.joint.nv)])
        of_q[0][body, body] = plus_rows(of_q[0][body, body], C)
        of_q[1][body, body] = plus_rows(of_q[1][body, body], dtE)

    return [of_q[:2], of_v[:2]], [of_q[2:], of_v[2:]]


def _own(
    body: Body, q: Coordinates, v: Coordinates, a: Coordinates, dt: Scalar, parts: Mapping[str, Coordinates]
) -> _Own:
    joint, n = body.joint, body.joint.nv
    directions = [unit(k, n) for k in range(n)]

    def change(q: Coordinates, v: Coordinates, parts: Mapping[str, Coordinates]) -> Coordinates:
        force, rotor = force_and_rotor(body, q, v, dt, parts)
        rates = [rate_of(number) for number in force]
        return [x - w * rate_of(r) for x, w, r in zip(rates, a, rotor, strict=True)] if rotor else rates

    moved = [joint.integrate(q, along([0.0] * n, e)) for e in directions]
    step = [dt * (w + dt * x) for w, x in zip(v, a, strict=True)]
    after = joint.integrate(q, step)

    def turned(to: Coordinates) -> Coordinates:
        return [rate_of(number) for number in joint.difference(after, to)]

    derivatives = (
        [change(at, v, parts) for at in moved],
        [change(q, along(v, e), parts) for e in directions],
        [change(q, v, {**parts, "tau": along(parts["tau"], e)}) for e in directions],
        [turned(joint.integrate(at, step)) for at in moved],
        [turned(joint.integrate(q, along(step, e))) for e in directions],
    )
    by_q, by_v, by_tau, C, E = (columns(each, n) for each in derivatives)
    return _Own(by_q, by_v, by_tau, C, _scaled(dt, E))


def _scaled(x: Scalar, rows: Matrix) -> Matrix:
    return [[x * number for number in row] for row in rows]


def _product(A: Matrix, B: Matrix, n: int) -> Matrix:
    """A B, for B of n columns."""
    return [[dot(row, column) for column in columns(B, n)] for row in A]
