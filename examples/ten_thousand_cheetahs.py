"""Ten thousand cheetahs under random torques: planar runners with contacts, all of them in one rollout.

The cheetah is the MJCF text below: a trunk that moves in a plane, two legs of three links, capsules that may touch the
floor, joint limits and springs. ``model.contacts`` are the contacts that the file implies. Each cheetah has its own
torques, which change every tenth of a second, all in one array; collisions, friction, limits, dynamics and integration
are one kernel.

Run it, optionally with the path of an image to write. It prints the rate, and checks that a cheetah computed alone
moves the same to the last bit, that the floor holds, that none ever has more forward momentum than friction can have
caused (the friction coefficient times the upward impulse of the floor), and that the energy falls once the torques have
ended.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import linkwork as lw

COUNT, STEPS, REST, HOLD, DT = 10_000, 120, 40, 10, 0.01
"""Number of cheetahs; steps, how many of these at the end are without torques, steps per torque; time step (s)."""
FRICTION = 0.4
CHEETAH = """
<mujoco model="cheetah">
  <compiler angle="radian"/>
  <option timestep="0.01" cone="elliptic"/>
  <default>
    <joint armature="0.1" damping="0.01" limited="true" solreflimit="0.02 1"/>
    <geom type="capsule" size="0.046" density="1000" contype="1" conaffinity="0" friction="0.4" condim="3"/>
    <motor ctrllimited="true" ctrlrange="-1 1"/>
  </default>
  <worldbody>
    <geom type="plane" size="40 40 1" conaffinity="1"/>
    <body name="trunk" pos="0 0 0.7">
      <joint name="x" type="slide" axis="1 0 0" limited="false" armature="0" damping="0"/>
      <joint name="z" type="slide" axis="0 0 1" limited="false" armature="0" damping="0"/>
      <joint name="pitch" axis="0 1 0" limited="false" armature="0" damping="0"/>
      <geom fromto="-0.5 0 0 0.5 0 0"/>
      <geom fromto="0.5 0 0 0.68 0 0.2"/>
      <body name="hind_thigh" pos="-0.5 0 0">
        <joint name="hind_hip" axis="0 1 0" range="-0.5 1.0" damping="6" stiffness="240"/>
        <geom fromto="0 0 0 0.16 0 -0.25"/>
        <body name="hind_shin" pos="0.16 0 -0.25">
          <joint name="hind_knee" axis="0 1 0" range="-0.8 0.8" damping="4.5" stiffness="180"/>
          <geom fromto="0 0 0 -0.25 0 -0.17"/>
          <body name="hind_foot" pos="-0.25 0 -0.17">
            <joint name="hind_ankle" axis="0 1 0" range="-0.4 0.8" damping="3" stiffness="120"/>
            <geom fromto="0 0 0 0.15 0 -0.13"/>
          </body>
        </body>
      </body>
      <body name="fore_thigh" pos="0.5 0 0">
        <joint name="fore_hip" axis="0 1 0" range="-1.0 0.7" damping="4.5" stiffness="180"/>
        <geom fromto="0 0 0 -0.14 0 -0.24"/>
        <body name="fore_shin" pos="-0.14 0 -0.24">
          <joint name="fore_knee" axis="0 1 0" range="-1.2 0.9" damping="3" stiffness="120"/>
          <geom fromto="0 0 0 0.11 0 -0.18"/>
          <body name="fore_foot" pos="0.11 0 -0.18">
            <joint name="fore_ankle" axis="0 1 0" range="-0.5 0.5" damping="1.5" stiffness="60"/>
            <geom fromto="0 0 0 0.1 0 -0.1"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="hind_hip" gear="120"/><motor joint="hind_knee" gear="90"/><motor joint="hind_ankle" gear="60"/>
    <motor joint="fore_hip" gear="120"/><motor joint="fore_knee" gear="60"/><motor joint="fore_ankle" gear="30"/>
  </actuator>
</mujoco>
"""


def load() -> lw.Model:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cheetah.xml"
        path.write_text(CHEETAH)
        return lw.load(path)


def main() -> int:
    cheetah = load()
    strength = np.array([0.0, 0.0, 0.0, 120.0, 90.0, 60.0, 120.0, 60.0, 30.0])  # N m; the trunk is not actuated
    rng = np.random.default_rng(0)
    tau = strength * np.repeat(rng.uniform(-1.0, 1.0, (COUNT, STEPS // HOLD, cheetah.nv)), HOLD, axis=1)
    tau[:, -REST:] = 0.0
    start, still = lw.neutral(cheetah), np.zeros((COUNT, cheetah.nv))

    def run(which: slice) -> lw.Rollout:
        return lw.rollout(
            cheetah, start, still[which], tau[which], dt=DT, steps=STEPS, record=HOLD, contacts=cheetah.contacts
        )

    few = run(slice(0, 3))  # compiles the code
    began = time.perf_counter()
    all_of_them = run(slice(None))
    took = time.perf_counter() - began
    q, v = all_of_them.q, all_of_them.v
    _, distance = lw.contact_points(cheetah, q[:, 1:], cheetah.contacts)
    deep = -distance.min(axis=-1)
    way, pitch = q[:, -1, 0], q[:, -1, 2]
    momentum = lw.momentum(cheetah, q, v)
    upward = 9.81 * cheetah.mass * all_of_them.t + momentum[..., 2]  # N s: the upward impulse of the floor until then
    beyond = (np.abs(momentum[..., 0]) - FRICTION * upward).max()  # N s
    kinetic, potential = lw.energy(cheetah, q, v)
    energy = kinetic + potential + 0.5 * (cheetah.stiffness * q**2).sum(axis=-1)
    coasting = np.diff(energy[:, -REST // HOLD - 1 :], axis=1)

    print(f"{COUNT:,} of {cheetah}, {sum(one.points for one in cheetah.contacts)} points of contact each")
    print(f"{COUNT * STEPS / took:,.0f} steps a second: {COUNT * STEPS * DT / took:,.0f} times as fast as real time")
    print(f"after {STEPS * DT:g} s they have gone {way.mean():+.3f} m on average, with a spread of {way.std():.3f} m")
    print(
        f"the fastest {way.max():+.2f} m and {way.min():+.2f} m; {np.mean(np.abs(pitch) > 1.6):.2%} lie on their backs"
    )
    print(
        f"limbs are {1e3 * np.median(deep):.1f} mm deep in the floor half of the time, {1e3 * deep.max():.0f} at most"
    )
    if len(sys.argv) > 1:
        shown = np.argsort(way)[[0, COUNT // 4, COUNT // 2, 3 * COUNT // 4, -1]]
        lw.draw(cheetah, q[shown, -1], path=sys.argv[1], view=(-80.0, 10.0))
    holds = {
        "one alone does the same to the bit": np.array_equal(few.q, q[:3]) and np.array_equal(few.v, v[:3]),
        "the floor holds": np.median(deep) < 0.002 and deep.max() < 0.1,
        "friction gives what the cone allows": beyond < 2.0,  # of 42 N s: the error of such steps
        "without torques energy falls": coasting.max() < 1.0 and coasting.sum(axis=1).max() < 0.0,
        "they spread to both sides": abs(np.median(way)) < 0.1 * way.std() and 0.2 < way.std() < 0.6,
    }
    print("\n".join(f"{'yes' if kept else 'NO '}  {what}" for what, kept in holds.items()))
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
