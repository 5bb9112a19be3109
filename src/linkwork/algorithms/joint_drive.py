"""The forces of a time step: drive, springs and drag of the joints, O(n).

    drive     u = τ + kp (q* ⊖ q) + kd (v* - v),   clamped to ± effort
    springs   s = stiffness (springref ⊖ q)
    drag      d = damping + friction / max(|v|, 0.001),   the force -d v⁺
    motion    (M + dt diag d) a = u + s - d v - bias,   v⁺ = v + dt a

The drive is held constant by the motors for the whole step; springs are evaluated at its beginning. The drag is
implicit, with the velocity at the step's end, so that it never adds energy, however large it is; it is added to the
rotor inertias on the diagonal of M. MuJoCo's Euler integrator treats damping in the same way. Friction is smoothed
Coulomb friction: constant down to 0.001 rad/s or m/s, and proportional to the speed below, so that a joint held by it
creeps more slowly than that. The other law, Coulomb friction with stiction, keeps such a
joint at rest (``simulation.stops``).
"""

from __future__ import annotations

from collections.abc import Mapping

from linkwork.algorithms.tree import Body, JointField, JointValues, Tree
from linkwork.joints import Joint
from linkwork.spatial import Coordinates, Scalar, absolute, where_less

SLOW = 1e-3
"""The speed (rad/s or m/s) below which smoothed Coulomb friction is proportional to the speed."""


def forces(
    tree: Tree, q: JointValues, v: JointValues, dt: Scalar, **parts: JointValues
) -> tuple[JointField, JointField]:
    """Joint forces, and rotor inertias that make the drag implicit; empty where there is no drag. ``parts`` are any of
    the fields tau, q_target, kp, v_target, kd, effort, stiffness, springref, damping and friction.
    """
    force: JointField = tree.field()
    rotor: JointField = tree.field()
    for body in tree.outward():
        here = {name: field[body] for name, field in parts.items()}
        force[body], rotor[body] = force_and_rotor(body, q[body], v[body], dt, here)
    return force, rotor


def force_and_rotor(
    body: Body, q: Coordinates, v: Coordinates, dt: Scalar, parts: Mapping[str, Coordinates]
) -> tuple[Coordinates, Coordinates]:
    """The force and rotor inertia of one joint."""
    drive, drag = _drive(body.joint, q, v, **parts), _drag(v, **parts)
    drive = _sprung(body.joint, q, drive, **parts)
    force = _plus_products(drive, drag, [-w for w in v]) if drag else drive
    return force, _plus_products(body.rotor or _zero(drag), drag, [dt] * len(drag)) if drag else body.rotor


def forces_and_drive(
    tree: Tree, q: JointValues, v: JointValues, dt: Scalar, **parts: JointValues
) -> tuple[JointField, JointField, JointField]:
    """The same with rotors for all joints, and the forces of the motors alone."""
    force, rotor = forces(tree, q, v, dt, **parts)
    drive: JointField = tree.field()
    for body in tree.outward():
        drive[body] = _drive(body.joint, q[body], v[body], **{name: field[body] for name, field in parts.items()})
        rotor[body] = rotor[body] or _zero(v[body])
    return force, rotor, drive


def _drive(
    joint: Joint,
    q: Coordinates,
    v: Coordinates,
    tau: Coordinates = (),
    q_target: Coordinates = (),
    kp: Coordinates = (),
    v_target: Coordinates = (),
    kd: Coordinates = (),
    effort: Coordinates = (),
    **_: Coordinates,
) -> Coordinates:
    """The forces of the motors."""
    drive = tau or [0.0] * joint.nv
    if kp:
        drive = _plus_products(drive, kp, joint.difference(q, q_target))
    if kd:
        drive = _plus_products(drive, kd, [goal - w for goal, w in zip(v_target or _zero(v), v, strict=True)])
    if effort:
        drive = [
            where_less(most, u, most, where_less(u, -most, -most, u)) for u, most in zip(drive, effort, strict=True)
        ]
    return drive


def _sprung(
    joint: Joint,
    q: Coordinates,
    drive: Coordinates,
    stiffness: Coordinates = (),
    springref: Coordinates = (),
    **_: Coordinates,
) -> Coordinates:
    """The drive plus the forces of springs."""
    return _plus_products(drive, stiffness, joint.difference(q, springref)) if stiffness else drive


def _drag(v: Coordinates, damping: Coordinates = (), friction: Coordinates = (), **_: Coordinates) -> Coordinates:
    """The force of damping and friction per unit of speed; empty where there is neither."""
    if not friction:
        return damping
    return [d + f for d, f in zip(damping or _zero(v), _smoothed_coulomb(v, friction), strict=True)]


def _smoothed_coulomb(v: Coordinates, friction: Coordinates) -> list[Scalar]:
    """Smoothed Coulomb friction per unit of speed."""
    speeds = [where_less(absolute(w), SLOW, SLOW, absolute(w)) for w in v]
    return [most / speed for most, speed in zip(friction, speeds, strict=True)]


def _plus_products(start: Coordinates, a: Coordinates, b: Coordinates) -> list[Scalar]:
    """start + a b, elementwise."""
    return [x + y * z for x, y, z in zip(start, a, b, strict=True)]


def _zero(like: Coordinates) -> list[Scalar]:
    return [0.0] * len(like)
