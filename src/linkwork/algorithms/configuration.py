"""Exact integration and differences on the configuration manifold, joint by joint."""

from __future__ import annotations

from linkwork.algorithms.tree import JointField, JointValues, Tree


def integrate(tree: Tree, q: JointValues, dv: JointValues) -> tuple[JointField]:
    """The configuration after moving at the constant velocity dv for unit time."""
    moved: JointField = tree.field()
    for body in tree.outward():
        moved[body] = body.joint.integrate(q[body], dv[body])
    return (moved,)


def difference(tree: Tree, q0: JointValues, q1: JointValues) -> tuple[JointField]:
    """The constant velocity that leads from q0 to q1 in unit time."""
    rates: JointField = tree.field()
    for body in tree.outward():
        rates[body] = body.joint.difference(q0[body], q1[body])
    return (rates,)
