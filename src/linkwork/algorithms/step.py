"""A step of a motion in time: what drives the joints, what drags on them, and semi-implicit Euler on the manifold, O(n).

    drive     u = τ + kp (q* ⊖ q) + kd (v* - v),   cut off at ± effort
    drag      d = damping + friction / max(|v|, 0.001),   a force of -d v⁺
    motion    (M + dt diag d) a = u - d v - bias,   v⁺ = v + dt a,   q⁺ = q ⊕ dt v⁺

The drive is what a motor holds for the whole step. The drag is taken at the end of the step, where it can never add
energy, however large it is: it stands beside the rotors on the diagonal of M. MuJoCo's Euler integrator treats damping
in the same way. Friction is Coulomb's down to 0.001 rad/s or m/s; a joint that it holds creeps slower than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.algorithms.articulated_body import articulated_motion
from linkwork.model.tree import Tree
from linkwork.spatial import Scalar, absolute, where_less

SLOWEST = 1e-3
"""The speed (rad/s or m/s) up to which friction grows."""


def step(tree: Tree, q: Any, v: Any, dt: Scalar, **parts: Any) -> tuple[Any, Any]:
    """Configuration and velocity after dt; ``parts`` are tau, q_target, kp, v_target, kd, effort, damping, friction,
    as far as they are there.
    """
    force, rotor, rate, moved = (tree.field() for _ in range(4))

    for body in tree.outward():
        here = {name: field[body] for name, field in parts.items()}
        drive, drag = _drive(body, q[body], v[body], here), _drag(v[body], here)
        force[body] = _both(drive, drag, v[body], lambda u, d, w: u - d * w) if drag else drive
        still = body.rotor or [0.0] * len(drag)
        rotor[body] = _both(still, drag, drag, lambda r, d, _: r + dt * d) if drag else body.rotor

    a, *_ = articulated_motion(tree, q, v, force, tree.unloaded(), rotor)

    for body in tree.outward():
        rate[body] = [w + dt * change for w, change in zip(v[body], a[body], strict=True)]
        moved[body] = body.joint.integrate(q[body], [dt * w for w in rate[body]])

    return moved, rate


def _drive(body: Any, q: Any, v: Any, here: dict[str, Any]) -> list[Scalar]:
    """What the motors do."""
    drive = here.get("tau") or [0.0] * body.joint.nv
    if "kp" in here:
        drive = _both(drive, here["kp"], body.joint.difference(q, here["q_target"]), lambda u, k, e: u + k * e)
    if "kd" in here:
        wanted = here.get("v_target") or [0.0] * body.joint.nv
        error = [goal - w for goal, w in zip(wanted, v, strict=True)]
        drive = _both(drive, here["kd"], error, lambda u, k, e: u + k * e)
    if "effort" in here:
        drive = [_within(u, most) for u, most in zip(drive, here["effort"], strict=True)]
    return drive


def _drag(v: Any, here: dict[str, Any]) -> list[Scalar]:
    """The force of damping and friction for each speed; empty where there is neither."""
    drag: list[Scalar] = here.get("damping") or []
    if "friction" in here:
        speeds = [where_less(absolute(w), SLOWEST, SLOWEST, absolute(w)) for w in v]
        held = [most / speed for most, speed in zip(here["friction"], speeds, strict=True)]
        drag = [d + more for d, more in zip(drag, held, strict=True)] if drag else held
    return drag


def _within(u: Scalar, most: Scalar) -> Scalar:
    return where_less(most, u, most, where_less(u, -most, -most, u))


def _both(a: Any, b: Any, c: Any, rule: Callable[[Scalar, Scalar, Scalar], Scalar]) -> list[Scalar]:
    return [rule(*numbers) for numbers in zip(a, b, c, strict=True)]
