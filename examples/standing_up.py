"""ANYmal is dropped, lands on its feet and its belly, comes to rest, and stands up.

Its feet are spheres and its belly is a box; both may touch the floor, with friction (``lw.Contact``). During the fall
the legs are held by soft springs, too soft for its weight. Then a whole-body controller takes over, whose supports are
the four feet: it raises the centre of mass along a path and keeps the trunk level, with contact forces inside friction
cones somewhat narrower than the floor's.

Run it, optionally with the path of an image to write. It checks that all contact forces push and lie in their friction
cones, that the belly carries weight first and none finally, that the feet roll and hardly slip while the robot rises,
and that they then carry the weight, distributed as the controller commands.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

LEGS = ("LF", "RF", "LH", "RH")
DROP, RISE, STAY = 0.8, 1.0, 0.4  # s
HEIGHT = 0.43  # m: final height of the centre of mass
DT, HOLD = 0.002, 2
FRICTION, RELIED_ON = 0.8, 0.6
FOOT = 0.03  # m


def legs(hip: float, knee: float) -> dict[str, float]:
    """Joint angles with all knees bent, the front ones backward and the hind ones forward."""
    ahead = {leg: 1.0 if leg.endswith("F") else -1.0 for leg in LEGS}
    return {f"{leg}_{joint}": sign * x for leg, sign in ahead.items() for joint, x in (("HFE", hip), ("KFE", -knee))}


def main() -> int:
    dog = lw.load("anymal_b", floating_base=True)
    feet = [f"{leg}_FOOT" for leg in LEGS]
    touching = [lw.Contact(foot, lw.Sphere(FOOT), friction=FRICTION) for foot in feet]
    touching.append(lw.Contact("base", lw.Box((0.25, 0.12, 0.12)), friction=FRICTION))
    start = dog.configuration(legs(1.0, 2.0))
    start[2] = 0.5

    supports = [lw.control.Support(foot, friction=RELIED_ON, radius=FOOT) for foot in feet]
    controller: lw.control.WholeBodyController | None = None

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        nonlocal controller
        if t < DROP:
            return np.where(dog.actuated, 15.0 * lw.difference(dog, q, start) - 1.5 * v, 0.0)
        if controller is None:  # it has come to rest: the path up begins here
            here = lw.centre_of_mass(dog, q)
            middle = lw.forward_kinematics(dog, q, feet)[:, :2, 3].mean(axis=0)
            way = lw.control.MinimumJerk(here, [*middle, HEIGHT], RISE, begin=DROP)
            level = lw.control.Task(lw.Point("base", axes="rotation"), np.eye(3))
            goals = [[lw.control.CentreOfMass(way), level]]
            controller = lw.control.WholeBodyController(dog, goals, supports, lw.control.Posture())
        return controller.torque(t, q, v)

    motion = lw.simulate(
        dog, start, np.zeros(dog.nv), DROP + RISE + STAY, DT, torque=torque, hold=HOLD, record=HOLD,
        contacts=touching, contact_forces=True,
    )  # fmt: skip
    forces = motion.constraint_forces[..., :3]
    along, across = forces[..., 2], np.hypot(forces[..., 0], forces[..., 1])
    belly, carried = along[:, 4:].sum(axis=1), along[:, :4].sum(axis=1)
    rests = int(DROP / (DT * HOLD)) - 1
    weight = 9.81 * dog.mass
    assert controller is not None
    told = controller.command(motion.t[-1], motion.q[-1], motion.v[-1]).forces
    speed = lw.frame_velocity(dog, motion.q[rests:], motion.v[rests:], feet, "local_world_aligned")
    sole = speed[..., :3] + np.cross(speed[..., 3:], [0.0, 0.0, -FOOT])  # of the lowest points, which should not slip
    slip = np.linalg.norm(sole, axis=-1).sum(axis=0).max() * DT * HOLD
    height = lw.centre_of_mass(dog, motion.q)[:, 2]

    print(f"{dog.name}: dropped, the floor gives at most {along.sum(axis=1).max() / weight:.1f} times the weight")
    print(f"at rest the belly bears {belly[rests]:.0f} N of {weight:.0f} N, at {height[rests]:.3f} m")
    print(f"standing, the feet bear {along[-1, :4].round(1)} N, the centre of mass is at {height[-1]:.3f} m")
    print(f"rising, the soles creep by {1e3 * slip:.1f} mm; the largest torque is {np.abs(motion.tau).max():.0f} N m")
    if len(sys.argv) > 1:
        lw.draw(dog, motion.q[[0, rests, -1]], path=sys.argv[1], view=(-60.0, 15.0))
    holds = {
        "the floor pushes": along.min() >= 0.0,
        "forces lie in their cones": (across <= FRICTION * along + 1e-6).all(),
        "it comes to rest on its belly": np.abs(motion.v[rests]).max() < 0.05 and belly[rests] > 0.2 * weight,
        "it gets up": abs(height[-1] - HEIGHT) < 0.005 and belly[-1] == 0.0,
        "its feet roll and do not slip": slip < 0.01,
        "its feet bear it": abs(carried[-1] - weight) < 0.01 * weight,
        "each as it was told": np.abs(along[-1, :4] - told[:, 2]).max() < 0.05 * weight,
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
