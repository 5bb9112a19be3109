"""A four-bar linkage: a motor turns the crank, and the loop of crank, coupler, rocker and ground stays closed.

The linkage is a tree of three links whose end is held in place by two constraints. Run it: the loop stays closed, the
rocker's angle agrees with Freudenstein's equation, and the energy equals the work of the motor, so that the constraints
have done no work.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.6  # m
MOTOR = 1.5  # N m


def build() -> lw.Model:
    """Three rods in the plane y = 0; the frame "end" of the last is to coincide with "pivot"."""
    builder = lw.Builder("four_bar")
    parent, x = "world", 0.0
    for name, length in (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER)):
        across = 2.0 * length**3 / 12.0  # a rod of 2 kg/m
        solid = {"mass": 2.0 * length, "com": (length / 2, 0.0, 0.0), "inertia": (1e-4, across, across)}
        parent = builder.add_body(name, parent, lw.joints.Revolute("y"), lw.placement(xyz=(x, 0.0, 0.0)), **solid)
        x = length
    builder.add_frame("end", "rocker", lw.placement(xyz=(ROCKER, 0.0, 0.0)))
    builder.add_frame("pivot", "world", lw.placement(xyz=(GROUND, 0.0, 0.0)))
    return builder.build()


def angles(crank: np.ndarray) -> np.ndarray:
    """Angles of crank, coupler and rocker in the plane (..., 3) from that of the crank: where two circles meet."""
    tip = CRANK * np.stack([np.cos(crank), np.sin(crank)], axis=-1)
    to = np.array([GROUND, 0.0]) - tip
    far = np.linalg.norm(to, axis=-1)
    inner = np.arccos((COUPLER**2 + far**2 - ROCKER**2) / (2 * COUPLER * far))
    coupler = np.arctan2(to[..., 1], to[..., 0]) + inner
    joint = tip + COUPLER * np.stack([np.cos(coupler), np.sin(coupler)], axis=-1)
    rocker = np.arctan2(-joint[..., 1], GROUND - joint[..., 0])
    return np.stack([crank, coupler, rocker], axis=-1)


def main() -> int:
    linkage = build()
    loop = [lw.PointOnPlane("end", "pivot", normal="x"), lw.PointOnPlane("end", "pivot", normal="z")]
    q = -np.diff(angles(np.array(0.5)), prepend=0.0)  # a rotation about y is from z to x
    path = lw.simulate(
        linkage, q, np.zeros(3), 0.6, 1e-3, tau=[MOTOR, 0.0, 0.0], constraints=loop, integrator="runge_kutta_4"
    )

    gap = abs(lw.forward_kinematics(linkage, path.q, ["end"])[:, 0, :3, 3] - [GROUND, 0.0, 0.0]).max()
    should = angles(-path.q[:, 0])[:, 2]
    rocker = -path.q.sum(axis=1)
    wrong = abs(np.exp(1j * should) - np.exp(1j * rocker)).max()
    energy = sum(path.energy)
    work = MOTOR * (path.q[:, 0] - q[0])
    balance = abs(energy - energy[0] - work).max() / work[-1]
    turns = (path.q[-1, 0] - q[0]) / (2 * np.pi)
    force = np.linalg.norm(path.constraint_forces[..., :3].sum(axis=1), axis=-1).max()
    print(f"{turns:.2f} turns of the crank in {path.t[-1]:g} s; the pivot of the rocker bears up to {force:.0f} N")
    print(f"loop open by {gap:.1e} m, rocker off Freudenstein's angle by {wrong:.1e} rad")
    print(f"work of the motor {work[-1]:.3f} J, in the energy to a relative {balance:.1e}")
    if len(sys.argv) > 1:
        lw.motion_sequence(path, 6, sys.argv[1], trails=["rocker"], view=(-80.0, 10.0))
    return 0 if gap < 1e-6 and wrong < 1e-5 and balance < 1e-5 and turns > 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
