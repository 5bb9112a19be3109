"""A joint of your own: a trolley on an elliptic track, defined outside the package, in one small class.

The trolley's frame follows the track and turns with it: x along the track, z across it. Its motion subspace varies with
q, so the joint also has a bias. Everything else, including the dynamics of the mechanism that hangs from the trolley,
comes from linkwork's algorithms. Run it: it checks that the input power is the rate of change of the energy.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import linkwork as lw
from linkwork.spatial import Columns, Coordinates, Mat3, Motion, Scalar, Subspace, Transform, Vec3, sin_cos, sqrt


@dataclass(frozen=True)
class EllipseTrack(lw.joints.Joint):
    """Travel along the ellipse (width cos q, 0, height sin q); q[0] is the ellipse's parameter (rad)."""

    width: float = 2.0
    height: float = 1.0
    nq, nv, angles = 1, 1, (0,)

    def transform(self, q: Coordinates) -> Transform:
        sine, cosine = sin_cos(q[0])
        _, _, tx, tz = self._track(q[0])
        # Columns: the tangent, y, and their completion to a right-handed frame.
        return Transform(
            Mat3(tx, 0.0, -tz, 0.0, 1.0, 0.0, tz, 0.0, tx), Vec3(self.width * cosine, 0.0, self.height * sine)
        )

    def subspace(self, q: Coordinates) -> Subspace:
        """The trolley moves along its own x at ds/dq, and rotates about y with the tangent."""
        speed, turn, _, _ = self._track(q[0])
        return Columns([Motion(Vec3(speed, 0.0, 0.0), Vec3(0.0, turn, 0.0))])

    def bias(self, q: Coordinates, v: Coordinates) -> Motion:
        """dS/dq v²: the change of the columns along the track."""
        sine, cosine = sin_cos(q[0])
        a, b = self.width, self.height
        speed, turn, _, _ = self._track(q[0])
        stretch = (a * a - b * b) * sine * cosine / speed  # d(speed)/dq
        return Motion(Vec3(stretch, 0.0, 0.0), Vec3(0.0, -2.0 * turn * stretch / speed, 0.0)) * (v[0] * v[0])

    def _track(self, q: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """ds/dq, the rotation about y per dq, and the unit tangent's x and z."""
        sine, cosine = sin_cos(q)
        dx, dz = -self.width * sine, self.height * cosine
        speed = sqrt(dx * dx + dz * dz)
        return speed, -self.width * self.height / (speed * speed), dx / speed, dz / speed


def build() -> lw.Model:
    """The trolley with a double pendulum below it."""
    builder = lw.Builder("trolley")
    builder.add_body("trolley", joint=EllipseTrack(), mass=5.0, inertia=(0.1, 0.2, 0.2), joint_name="track")
    rod = {"mass": 1.0, "com": (0.0, 0.0, -0.5), "inertia": (0.09, 0.09, 0.001)}
    builder.add_body("upper", "trolley", lw.joints.Revolute("y"), **rod)
    builder.add_body("lower", "upper", lw.joints.Spherical(), lw.placement(xyz=(0.0, 0.0, -1.0)), **rod)
    return builder.build()


def main() -> int:
    model = build()
    q, v = lw.random_state(model, np.random.default_rng(1), shape=100)
    tau = np.random.default_rng(2).normal(size=v.shape)
    a = lw.forward_dynamics(model, q, v, tau)

    torques = abs(lw.inverse_dynamics(model, q, v, a) - tau).max()
    methods = abs(lw.forward_dynamics(model, q, v, tau, method="composite_body") - a).max() / abs(a).max()

    # The energy a little later and a little earlier, along the motion with acceleration a.
    h = 1e-6
    after = lw.integrate(model, q, h * v + 0.5 * h * h * a), v + h * a
    before = lw.integrate(model, q, -h * v + 0.5 * h * h * a), v - h * a
    growth = (sum(lw.energy(model, *after)) - sum(lw.energy(model, *before))) / (2 * h)
    power = (tau * v).sum(-1)
    balance = (abs(growth - power) / (1.0 + abs(power))).max()

    print(f"{model.name} of {', '.join(body.joint.describe() for body in model.bodies)} joints, 100 states")
    print(f"inverse after forward dynamics gives the torques back to {torques:.1e} N m")
    print(f"two methods of forward dynamics agree to {methods:.1e}, power and dE/dt to {balance:.1e}")
    if len(sys.argv) > 1:
        start = lw.neutral(model)
        start[0] = 0.3
        run = lw.simulate(model, start, np.zeros(model.nv), 3.0, 2e-3, integrator="runge_kutta_4")
        lw.motion_sequence(run, 6, sys.argv[1], trails=["trolley", "lower"], view=(-85.0, 8.0))
    return 0 if torques < 1e-9 and methods < 1e-9 and balance < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
