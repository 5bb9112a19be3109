"""The derivatives of a joint's subspace and bias with respect to its coordinates, by dual numbers.

Derivatives are in the tangent space: along degree of freedom k the configuration moves as by ``integrate``.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.joints.joint import Joint
from linkwork.spatial import Columns, Coordinates, Motion, Subspace
from linkwork.spatial.dual import Dual, along, rate_of
from linkwork.spatial.matrices import unit


class Variation(NamedTuple):
    """For each degree of freedom k: ∂S/∂qₖ, and the derivatives of the bias c = Ṡ q̇."""

    S_q: list[Columns]
    c_q: list[Motion]
    c_v: list[Motion]


def variation(joint: Joint, q: Coordinates, v: Coordinates) -> Variation | None:
    """The derivatives of the subspace and the bias at q and v; None if the subspace does not depend on q."""
    if not _varies(joint, q):
        return None
    still = [0.0] * joint.nv
    S_q, c_q, c_v = [], [], []
    for k in range(joint.nv):
        end = joint.integrate(q, along(still, unit(k, joint.nv)))
        S_q.append(Columns([_rate(column) for column in joint.subspace(end).columns()]))
        c_q.append(_rate(joint.bias(end, v)))
        c_v.append(_rate(joint.bias(q, along(v, unit(k, joint.nv)))))
    return Variation(S_q, c_q, c_v)


def _varies(joint: Joint, q: Coordinates) -> bool:
    """Whether any number of the subspace depends on a coordinate."""
    S: Subspace = joint.subspace(along(q, [1.0] * joint.nq))
    return any(isinstance(number, Dual) for column in S.columns() for number in column.numbers())


def _rate(motion: Motion) -> Motion:
    return Motion.from_numbers([rate_of(number) for number in motion.numbers()])
