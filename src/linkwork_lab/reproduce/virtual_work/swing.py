"""Figures 4 and 5: chains of spherical joints that fall from a horizontal start."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import Model, energy, forward_dynamics, forward_kinematics, integrate, mechanisms, neutral

Array = NDArray[np.float64]

METHOD = "virtual_work"


def serial() -> tuple[Model, Array]:
    """The serial chain, straight and horizontal."""
    model = mechanisms.serial_30dof()
    return model, _turned(model, {0: (0.0, -math.pi / 2, 0.0)})


def branched() -> tuple[Model, Array]:
    """The branched chain, horizontal; its branches at 40 degrees to one side and 20 to the other."""
    model = mechanisms.branched_30dof()
    left, right = math.radians(40.0), math.radians(-20.0)
    return model, _turned(model, {0: (0.0, -math.pi / 2, 0.0), 4: (left, 0.0, 0.0), 7: (right, 0.0, 0.0)})


def swing(start: Callable[[], tuple[Model, Array]], step: float, pictures: int, apart: float) -> dict[str, Any]:
    """Snapshots at intervals of ``apart`` seconds, from rest, and the drift of the energy.

    Returns:
        times (s), points (for each time and link: its two ends, m), tips (their paths, at intervals of tips_apart
        seconds), and drift, the largest change of the energy relative to the largest kinetic energy.
    """
    model, q = start()
    v, limp = np.zeros(model.nv), np.zeros(model.nv)
    tips = [name for name in model.frame_names if name.startswith("tip")]

    def acceleration(q: Array, v: Array) -> Array:
        return forward_dynamics(model, q, v, limp, method=METHOD)

    steps = round(apart / step)
    between = max(1, steps // 15)
    times, points, ways, energies = [], [], [], []
    for k in range(steps * (pictures - 1) + 1):
        if k:
            q, v = runge_kutta(model, acceleration, q, v, step)
        if k % steps == 0:
            times.append(k * step)
            points.append(links(model, q).tolist())
        if k % between == 0:
            ways.append(forward_kinematics(model, q, tips)[:, :3, 3].tolist())
        energies.append([float(x) for x in energy(model, q, v)])
    kinetic, potential = np.array(energies).T
    drift = float(abs(kinetic + potential - kinetic[0] - potential[0]).max() / kinetic.max())
    return {
        "model": model.name, "method": METHOD, "step": step, "times": times, "points": points,
        "tips": ways, "tips_apart": between * step, "drift": drift, "largest_kinetic_energy": float(kinetic.max()),
    }  # fmt: skip


def runge_kutta(
    model: Model, acceleration: Callable[[Array, Array], Array], q: Array, v: Array, h: float
) -> tuple[Array, Array]:
    """One step of a commutator-free Runge-Kutta method of order four, which stays on the manifold.

    Celledoni, Marthinsen, Owren, Commutator-free Lie group methods (2003): increments are only applied in sequence,
    never transported, so ``integrate`` is the only function of a joint that it needs.
    """
    v1, a1 = v, acceleration(q, v)
    q2, v2 = integrate(model, q, 0.5 * h * v1), v + 0.5 * h * a1
    a2 = acceleration(q2, v2)
    q3, v3 = integrate(model, q, 0.5 * h * v2), v + 0.5 * h * a2
    a3 = acceleration(q3, v3)
    q4, v4 = integrate(model, q2, h * (v3 - 0.5 * v1)), v + h * a3
    a4 = acceleration(q4, v4)
    half = integrate(model, q, h / 12.0 * (3.0 * v1 + 2.0 * v2 + 2.0 * v3 - v4))
    q_new = integrate(model, half, h / 12.0 * (-v1 + 2.0 * v2 + 2.0 * v3 + 3.0 * v4))
    return q_new, v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)


def links(model: Model, q: Array) -> Array:
    """The two ends of each link, (links, 2, 3)."""
    reach = model.frame("tip" if "tip" in model.frame_names else "tip1").placement.numbers()[9:]
    poses = forward_kinematics(model, q, list(model.body_names))
    near = poses[:, :3, 3]
    return np.stack([near, near + poses[:, :3, :3] @ np.array(reach, dtype=np.float64)], axis=1)


def _turned(model: Model, turns: dict[int, tuple[float, float, float]]) -> Array:
    """The neutral configuration with some bodies' joints rotated, each by a rotation vector."""
    dv = np.zeros(model.nv)
    for body, turn in turns.items():
        dv[3 * body : 3 * body + 3] = turn  # every joint is spherical
    return integrate(model, neutral(model), dv)
