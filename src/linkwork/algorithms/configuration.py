"""Moving on the configuration manifold, and measuring along it: joint by joint, exact."""

from __future__ import annotations

from typing import Any

from linkwork.model.tree import Tree


def integrate(tree: Tree, q: Any, dv: Any) -> tuple[Any]:
    """The configuration after moving at the constant rate dv for a unit of time."""
    moved = tree.field()
    for body in tree.outward():
        moved[body] = body.joint.integrate(q[body], dv[body])
    return (moved,)


def difference(tree: Tree, q0: Any, q1: Any) -> tuple[Any]:
    """The constant rate that leads from q0 to q1 in a unit of time."""
    rates = tree.field()
    for body in tree.outward():
        rates[body] = body.joint.difference(q0[body], q1[body])
    return (rates,)
