"""Energy, momentum and the centre of mass, O(n).

    T = ½ Σ Vᵢᵀ Iᵢ Vᵢ + ½ Σ rotor q̇²        U = -Σ mᵢ g·cᵢ        h = Σ X₀ᵢ Iᵢ Vᵢ        c = Σ mᵢ cᵢ / Σ mᵢ

Momentum is about the centre of mass, in the world's axes; rotors carry energy but, as everywhere, no spatial momentum.
"""

from __future__ import annotations

from typing import Any

from linkwork.algorithms.kinematics import motions, placements
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Inertia, total


def _whole(tree: Tree, q: Any) -> tuple[Any, Any]:
    """Placements in the world, and the inertia of everything about the world's origin, at the world's node."""
    X0, whole = placements(tree, q), tree.field()
    whole[tree.world] = Inertia.zero()
    for body in tree.outward():
        whole[tree.world] = whole[tree.world] + X0[body].to_parent(body.inertia)
    return X0, whole


def centre_of_mass(tree: Tree, q: Any) -> tuple[Any]:
    """The centre of mass of the whole, in the world."""
    _, whole = _whole(tree, q)
    return (whole[tree.world].moment * (1.0 / whole[tree.world].mass),)


def energy(tree: Tree, q: Any, v: Any) -> tuple[Any, Any]:
    """Kinetic and potential energy; the potential is zero with every mass at the world's origin."""
    _, whole = _whole(tree, q)
    (V, _), kinetic = motions(tree, q, v, tree.still()), tree.field()
    kinetic[tree.world] = [0.0]
    for body in tree.outward():
        moved = V[body].dot(body.inertia * V[body])
        spun = total(r * rate * rate for r, rate in zip(body.rotor, v[body], strict=bool(body.rotor)))
        kinetic[tree.world] = [kinetic[tree.world][0] + 0.5 * (moved + spun)]
    return kinetic[tree.world][0], -whole[tree.world].moment.dot(tree.gravity.linear)


def momentum(tree: Tree, q: Any, v: Any) -> tuple[Any]:
    """Linear and angular momentum about the centre of mass, in the world's axes."""
    X0, whole = _whole(tree, q)
    (V, _), h = motions(tree, q, v, tree.still()), tree.field()
    h[tree.world] = Force.zero()
    for body in tree.outward():
        h[tree.world] = h[tree.world] + X0[body].to_parent(body.inertia * V[body])
    about = h[tree.world]
    centre = whole[tree.world].moment * (1.0 / whole[tree.world].mass)
    return (Force(about.linear, about.angular - centre.cross(about.linear)),)
