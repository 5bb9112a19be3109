"""Derivatives of accelerations with contacts, by the implicit function theorem at the solution.

The gradient g(a, p) of the problem is zero at its solution for all parameters p (state, forces), so that

    da = -H⁻¹ (∂g/∂p) dp,      H = M + Jᵀ H J

Where a contact opens or closes, or changes from sticking to sliding, a has a kink: the derivative is the one-sided one
of the computed solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwork.compiled.arrays import numbers
from linkwork.dynamics.contact.boxes import Touch
from linkwork.dynamics.contact.costs import Holds
from linkwork.dynamics.contact.dense import Dense
from linkwork.dynamics.contact.sparse import solved
from linkwork.spatial import Scalar, Vec3
from linkwork.spatial.elementary import varying_as

if TYPE_CHECKING:
    from linkwork.dynamics.contact.by_joints import ByJoints
    from linkwork.dynamics.contact.text import Twist


def differentiable(
    text: ByJoints, problem: Dense, a: Sequence[Scalar], found: Sequence[Touch], columns: Sequence[Twist],
    v: Sequence[Scalar], dt: Scalar | None,
) -> list[Scalar]:  # fmt: skip
    """The accelerations, with their derivatives."""
    H = {place: varying_as(x, 0.0) for place, x in problem.at(a).hessian.items()}
    fixed, holds = [varying_as(x, 0.0) for x in a], problem.holds
    joints = Holds([], holds.joints, holds.bonds, holds.ratio)
    g = problem._replace(holds=joints).at(fixed).gradient
    pushes, spins = text.forces(found, columns, v, fixed, dt)
    owners = (one for one in text.contacts for _ in range(one.points))
    for touch, push, spin, one in zip(found, numbers(pushes).tolist(), spins, owners, strict=True):
        for end, sign in ((one.frame, -1.0), (one.on, 1.0)):
            for dof in text.path(end):
                own = columns[dof]
                g[dof] = g[dof] + sign * (own.at(touch.point).dot(Vec3(*push)) + own.angular.dot(spin))
    return [varying_as(x, -y) for x, y in zip(a, solved(H, g, text.sparsity), strict=True)]
