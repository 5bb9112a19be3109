"""Energy, momentum and the centre of mass, O(n).

    T = ½ Σ Vᵢᵀ Iᵢ Vᵢ + ½ Σ rotor q̇²        U = -Σ mᵢ g·cᵢ        h = Σ X₀ᵢ Iᵢ Vᵢ        c = Σ mᵢ cᵢ / Σ mᵢ

Momentum is about the centre of mass, in the world's axes. Rotors have kinetic energy but no spatial momentum.
"""

from __future__ import annotations

from linkwork.algorithms.kinematics import motions, placements
from linkwork.algorithms.tree import Field, JointValues, Tree
from linkwork.spatial import Force, Inertia, Scalar, Transform, Vec3, total


def whole_inertia(tree: Tree, q: JointValues) -> tuple[Field[Transform], Field[Inertia]]:
    """Placements in the world, and the total inertia about the world's origin, at the world's node."""
    X0 = placements(tree, q)
    whole: Field[Inertia] = tree.field()
    whole[tree.world] = Inertia.zero()
    for body in tree.outward():
        whole[tree.world] = whole[tree.world] + X0[body].to_parent(body.inertia)
    return X0, whole


def centre_of_mass(tree: Tree, q: JointValues) -> tuple[Vec3]:
    """The centre of mass of the mechanism, in the world."""
    _, whole = whole_inertia(tree, q)
    return (whole[tree.world].moment * (1.0 / whole[tree.world].mass),)


def energy(tree: Tree, q: JointValues, v: JointValues) -> tuple[Scalar, Scalar]:
    """Kinetic and potential energy; the potential is zero with every mass at the world's origin."""
    _, whole = whole_inertia(tree, q)
    V, _ = motions(tree, q, v, tree.still())
    kinetic: Field[list[Scalar]] = tree.field()
    kinetic[tree.world] = [0.0]
    for body in tree.outward():
        moved = V[body].dot(body.inertia * V[body])
        spun = total(r * rate * rate for r, rate in zip(body.rotor, v[body], strict=bool(body.rotor)))
        kinetic[tree.world] = [kinetic[tree.world][0] + 0.5 * (moved + spun)]
    return kinetic[tree.world][0], -whole[tree.world].moment.dot(tree.gravity.linear)


def momentum(tree: Tree, q: JointValues, v: JointValues) -> tuple[Force]:
    """Linear and angular momentum about the centre of mass, in the world's axes."""
    X0, whole = whole_inertia(tree, q)
    V, _ = motions(tree, q, v, tree.still())
    h: Field[Force] = tree.field()
    h[tree.world] = Force.zero()
    for body in tree.outward():
        h[tree.world] = h[tree.world] + X0[body].to_parent(body.inertia * V[body])
    about = h[tree.world]
    centre = whole[tree.world].moment * (1.0 / whole[tree.world].mass)
    return (Force(about.linear, about.angular - centre.cross(about.linear)),)
