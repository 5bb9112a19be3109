"""Impedance control with the robot's own inertia: a point yields to forces like a body on a spring and a damper.

With ν the velocity of the point relative to its reference, Λ its operational inertia, and f = ∂U/∂x of a spring,

    F = Λ ν̇_ref + μ + p - ½ Λ̇ ν - D ν - f     so that     Λ ν̇ + ½ Λ̇ ν + D ν + f = F_ext
    d/dt (½ νᵀ Λ ν + U) = νᵀ F_ext - νᵀ D ν

Stored energy grows by the work of external forces alone: the robot is passive, whatever it touches. Nothing but Λ̇ makes
this so: forces that cancel Coriolis terms do work on the changing inertia, and ½ Λ̇ ν takes it back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.control.goals import Situation, Task, Wanted
from linkwork.control.references import Reference, Sample
from linkwork.control.rotations import array_of, coordinate_rate, cross, log, scalars
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.operational_rates import inertia_with_rate
from linkwork.errors import ArgumentError
from linkwork.model.model import Point

_AXES = "local_world_aligned"


class Impedance(Task):
    """Let a point follow a reference with a stiffness and a damping of its own: unlike ``Task``, which makes it move as
    a unit mass, it keeps the robot's inertia, and is passive against forces at the point.

    Passive it is in the first level and alone there; below others, and beside others, it still comes to rest.

    Args:
        point: a frame's name or an ``lw.Point`` with axes "pose", "position" or "rotation".
        reference: a ``Reference``, or a constant value, as of ``Task``.
        kp: stiffness, N/m and N m/rad: one number, or one for each axis (3 or 6, linear first), in world axes; of the
            rotation vector of R R_refᵀ for rotations.
        kd: damping, N s/m and N m s/rad, likewise.

    Example:
        >>> import linkwork as lw
        >>> person = lw.mechanisms.humanoid()
        >>> hand = lw.control.Impedance(lw.Point("left_hand", axes="position"), [0.3, 0.3, 1.0], kp=400.0, kd=60.0)
        >>> controller = lw.control.OperationalSpaceController(person, [hand], lw.control.Posture(lw.neutral(person)))
        >>> controller.torque(0.0, lw.neutral(person), [0.0] * 24).shape
        (24,)
    """

    def __init__(
        self, point: str | Point, reference: Reference | ArrayLike, kp: ArrayLike = 400.0, kd: ArrayLike = 40.0
    ) -> None:
        if kd is None:
            raise ArgumentError("kd of an impedance must be its damping (N s/m, N m s/rad): numbers, not None")
        super().__init__(point, reference, kp, kd)

    def energy(self, t: float, placement: ArrayLike) -> float:
        """U (J), the energy of the springs at time t (s), for a placement (4, 4) of the point."""
        return float(0.5 * self.kp @ self.error(t, placement) ** 2)

    def asked(self, samples: Sequence[Sample], kp: Array, kd: Array, now: Situation, first: int, seen: int) -> Wanted:
        sample, place, twist = samples[0], now.placements[first], now.velocity[6 * first : 6 * first + 6]
        turn, axes = place[:3, :3], self.point.axes
        relative, springs, carried = [], [], []
        if axes != "rotation":
            target = sample.value if axes == "position" else sample.value[:3, 3]
            relative.append(turn @ twist[:3] - sample.velocity[:3])
            springs.append(kp[:3] * (place[:3, 3] - target))
            carried.append(sample.acceleration[:3])
        if axes != "position":
            off = turn @ sample.value[:3, :3].T
            along = off @ sample.velocity[-3:]
            spin, (x, y, z) = turn @ twist[3:] - along, log(off)
            relative.append(spin)
            pull = scalars(kp[-3:] * array_of((x, y, z)))
            springs.append(array_of(coordinate_rate((-x, -y, -z), pull)))  # V⁻ᵀ K e: V⁻ᵀ of e is V⁻¹ of -e
            carried.append(off @ sample.acceleration[-3:] + cross(scalars(spin), scalars(along)))
        speed = np.concatenate(relative)
        inertia, change = inertia_with_rate(now.model, now.q, now.v, self.point, _AXES, now.constraints, now.held_at)
        forces = 0.5 * (change @ speed) + kd * speed + np.concatenate(springs)
        world = np.concatenate(carried) - np.linalg.solve(inertia, forces)
        parts = []
        if axes != "rotation":
            parts.append(world[:3] @ turn - cross(scalars(twist[3:]), scalars(twist[:3])))
        if axes != "position":
            parts.append(world[-3:] @ turn)
        return Wanted(np.concatenate(parts), None)
