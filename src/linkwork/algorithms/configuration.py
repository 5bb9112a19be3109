"""Moving on the configuration manifold, and measuring along it: joint by joint, exact."""

from __future__ import annotations

from linkwork.algorithms.tree import JointField, JointValues, Tree


def integrate(tree: Tree, q: JointValues, dv: JointValues) -> tuple[JointField]:
    """The configuration after moving at the constant rate dv for a unit of time."""
    moved: JointField = tree.field()
    for body in tree.outward():
        moved[body] = body.joint.integrate(q[body], dv[body])
    return (moved,)


def difference(tree: Tree, q0: JointValues, q1: JointValues) -> tuple[JointField]:
    """The constant rate that leads from q0 to q1 in a unit of time."""
    rates: JointField = tree.field()
    for body in tree.outward():
        rates[body] = body.joint.difference(q0[body], q1[body])
    return (rates,)
