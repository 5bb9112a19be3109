"""Rollouts with contacts beside ``mujoco.rollout``, on robots of the package gymnasium: the table of docs/contact.md.

pip install gymnasium
python benchmarks/contact.py half_cheetah ant humanoid
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("MUJOCO_GL", "disable")

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout as theirs

import linkwork as lw

FOLDER = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def begin(m: Any, count: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """States near that of the file: MuJoCo's, and q and v."""
    d, size = mujoco.MjData(m), mujoco.mj_stateSize(m, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states, q, v = np.zeros((count, size)), np.zeros((count, m.nq)), np.zeros((count, m.nv))
    for k in range(count):
        mujoco.mj_resetData(m, d)
        d.qvel[:] = 0.3 * rng.normal(size=m.nv)
        for joint in np.flatnonzero(m.jnt_type != 0):
            d.qpos[m.jnt_qposadr[joint]] += 0.05 * rng.normal()
        mujoco.mj_getState(m, d, states[k], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        q[k], v[k] = d.qpos, d.qvel
        for joint in np.flatnonzero(m.jnt_type == 0):  # upright, so that velocities are the same in both axes
            i = m.jnt_qposadr[joint] + 3
            q[k, i : i + 4] = d.qpos[[i + 1, i + 2, i + 3, i]]
    return states, q, v


def timed(call: Any) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def compare(name: str, count: int, steps: int) -> str:
    path, rng = FOLDER / f"{name}.xml", np.random.default_rng(1)
    m, model = mujoco.MjModel.from_xml_path(str(path)), lw.load(path)
    m.opt.cone, m.opt.integrator, m.opt.solver = 1, 0, 2  # elliptic, Euler, Newton
    states, q, v = begin(m, count, rng)
    control = rng.uniform(-1.0, 1.0, (count, steps, m.nu))
    gear = np.zeros((m.nu, m.nv))
    gear[np.arange(m.nu), m.jnt_dofadr[m.actuator_trnid[:, 0]]] = m.actuator_gear[:, 0]
    low, high = m.actuator_ctrlrange.T
    tau = np.where(m.actuator_ctrllimited, np.clip(control, low, high), control) @ gear

    def run() -> Any:
        return lw.rollout(
            model, q, v, tau, dt=m.opt.timestep, record=steps, contacts=model.contacts, effort_limits=False,
            diverged="nan",
        )  # fmt: skip

    run()
    here = min(timed(run) for _ in range(3))
    there = min(timed(lambda: theirs.rollout(m, [mujoco.MjData(m)], states, control)) for _ in range(2))
    each = 1e6 / (count * steps)
    return f"{name}: {here * each:.2f} µs a step, mujoco.rollout {there * each:.2f} µs, ×{there / here:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", default=["half_cheetah", "ant", "humanoid"])
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--steps", type=int, default=1000)
    asked = parser.parse_args()
    lw.set_threads(1)
    warnings.simplefilter("ignore")
    for name in asked.robots:
        print(compare(name, asked.count, asked.steps))


if __name__ == "__main__":
    main()
