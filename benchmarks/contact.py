"""Contacts compared with MuJoCo, on robots of the package gymnasium, and ANYmal with balls as feet: the tables of
docs/contact.md.

pip install gymnasium
python benchmarks/contact.py                      time of a step, beside mujoco.rollout, both to the file's tolerance
python benchmarks/contact.py --exact              ours to rounding, MuJoCo to the file's tolerance
python benchmarks/contact.py --agreement          errors of accelerations, and the divergence over 1,000 steps
python benchmarks/contact.py ant anymal_b         these robots only
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

os.environ.setdefault("MUJOCO_GL", "disable")

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout as theirs

import linkwork as lw
from linkwork_lab.bench.peers.mujoco import mjcf

FOLDER = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
FEET = [f"{side}_FOOT" for side in ("LF", "LH", "RF", "RH")]


def loaded(name: str) -> tuple[Any, lw.Model, Any]:
    """A robot in MuJoCo and as a Model, with its contacts."""
    if name == "anymal_b":
        model = lw.load(name, floating_base=True)
        contacts = [lw.Contact(foot, lw.Sphere(0.03), friction=0.8) for foot in FEET]
        m = mujoco.MjModel.from_xml_string(_on_feet(model))
    else:
        path = FOLDER / f"{name}.xml"
        m, model = mujoco.MjModel.from_xml_path(str(path)), lw.load(path)
        contacts = model.contacts
    m.opt.cone, m.opt.integrator, m.opt.solver = 1, 0, 2  # elliptic, Euler, Newton
    return m, model, contacts


def _on_feet(model: lw.Model) -> str:
    """ANYmal as MJCF, with a floor, balls as feet, joint limits, and motors."""
    root = ElementTree.fromstring(mjcf(model))
    (option,) = root.findall("option")
    option.clear()
    option.attrib.update(timestep="0.002", gravity="0 0 -9.81")
    (world,) = root.findall("worldbody")
    ElementTree.SubElement(world, "geom", type="plane", size="9 9 1", friction="0.8", conaffinity="1", contype="0")
    bodies, motors = list(world.iter("body")), ElementTree.SubElement(root, "actuator")
    for k, (body, own) in enumerate(zip(model.bodies, bodies, strict=True)):
        (joint,) = own.findall("joint")
        joint.set("name", f"j{k}")
        if joint.get("type") == "hinge":
            joint.attrib.update(limited="true", range=f"{float(body.limits.lower[0])} {float(body.limits.upper[0])}")
            ElementTree.SubElement(motors, "motor", joint=f"j{k}", gear="20")
    for foot in FEET:
        frame = model.frame(foot)
        place = " ".join(repr(float(x)) for x in frame.placement.translation.numbers())
        on = {"pos": place, "size": "0.03", "friction": "0.8", "conaffinity": "0"}
        ElementTree.SubElement(bodies[frame.body - 1], "geom", on)
    return ElementTree.tostring(root, encoding="unicode")


def begin(m: Any, count: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """States near that of the file: MuJoCo's, and q and v."""
    d, size = mujoco.MjData(m), mujoco.mj_stateSize(m, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states, q, v = np.zeros((count, size)), np.zeros((count, m.nq)), np.zeros((count, m.nv))
    for k in range(count):
        mujoco.mj_resetData(m, d)
        d.qvel[:] = 0.3 * rng.normal(size=m.nv)
        for joint in np.flatnonzero(m.jnt_type != 0):
            d.qpos[m.jnt_qposadr[joint]] += 0.05 * rng.normal()
        if not d.qpos[:3].any():  # a file that gives no height
            d.qpos[2] = 0.6
        mujoco.mj_getState(m, d, states[k], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        q[k], v[k] = ours(m, d.qpos, d.qvel)
    return states, q, v


def turns(m: Any, qpos: Any) -> list[tuple[int, int, Any]]:
    """For each free joint: the indices of its coordinates and velocities, and its rotation."""
    found, matrix = [], np.zeros(9)
    for joint in np.flatnonzero(m.jnt_type == 0):
        at = m.jnt_qposadr[joint]
        mujoco.mju_quat2Mat(matrix, qpos[at + 3 : at + 7])
        found.append((at, m.jnt_dofadr[joint], matrix.reshape(3, 3).copy()))
    return found


def ours(m: Any, qpos: Any, qvel: Any) -> tuple[Any, Any]:
    """A MuJoCo state as linkwork's q and v."""
    q, v = qpos.copy(), qvel.copy()
    for at, rate, turn in turns(m, qpos):
        q[at + 3 : at + 7] = qpos[[at + 4, at + 5, at + 6, at + 3]]
        v[rate : rate + 3] = turn.T @ v[rate : rate + 3]
    return q, v


def driven(m: Any, control: Any) -> Any:
    """The joint forces of motors (..., nv)."""
    gear = np.zeros((m.nu, m.nv))
    gear[np.arange(m.nu), m.jnt_dofadr[m.actuator_trnid[:, 0]]] = m.actuator_gear[:, 0]
    low, high = m.actuator_ctrlrange.T
    return np.where(m.actuator_ctrllimited, np.clip(control, low, high), control) @ gear


def acceleration_error(name: str, count: int = 40) -> str:
    """The largest error over random states above and in the ground, relative to the largest acceleration of a state."""
    (m, model, contacts), rng, worst, touching, limits = loaded(name), np.random.default_rng(5), 0.0, 0, 0
    m.opt.tolerance, m.opt.iterations, m.opt.ls_iterations = 0.0, 200, 200
    d, found = mujoco.MjData(m), []
    for _ in range(count):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, rng.normal(size=m.nv) * (1.0 if name == "swimmer" else 0.25), 1.0)
        if name == "anymal_b":
            d.qpos[2] = 0.55 + 0.05 * rng.normal()
        d.qvel[:], d.ctrl[:] = rng.normal(size=m.nv), rng.uniform(-1.0, 1.0, m.nu)
        mujoco.mj_forward(m, d)
        passive = d.qfrc_spring + d.qfrc_damper + d.qfrc_actuator
        found.append((*ours(m, d.qpos, d.qvel), passive, d.qpos.copy(), d.qacc.copy()))
        touching, limits = touching + d.ncon, limits + d.nl
    q, v, tau, qpos, there = (np.array(each) for each in zip(*found, strict=True))
    a, _ = lw.contact_dynamics(model, q, v, tau, contacts, dt=m.opt.timestep, constraints=model.constraints)
    for k in range(count):
        for _, rate, turn in turns(m, qpos[k]):
            a[k, rate : rate + 3] = turn @ (
                a[k, rate : rate + 3] + np.cross(v[k, rate + 3 : rate + 6], v[k, rate : rate + 3])
            )
        worst = max(worst, abs(a[k] - there[k]).max() / abs(there[k]).max())
    return f"error {worst:.0e} ({touching} contacts, {limits} limits in {count} states)"


def together(name: str, steps: int) -> str:
    """The divergence of trajectories with random torques, and that of MuJoCo's own if they begin 1e-15 apart."""
    (m, model, contacts), rng, count = loaded(name), np.random.default_rng(1), 4
    m.opt.tolerance, m.opt.iterations, m.opt.ls_iterations = 0.0, 200, 200
    states, q, v = begin(m, count, rng)
    control = rng.uniform(-1.0, 1.0, (count, steps, m.nu))
    run = lw.rollout(
        model, q, v, driven(m, control), dt=m.opt.timestep, contacts=contacts, effort_limits=False, diverged="nan"
    )
    nearly = states.copy()
    nearly[:, 1 : 1 + m.nq] *= 1.0 + 1e-15 * rng.choice([-1.0, 1.0], (count, m.nq))
    data = [mujoco.MjData(m)]
    there, beside = (theirs.rollout(m, data, each, control)[0][..., 1 : 1 + m.nq].copy() for each in (states, nearly))
    own = there.copy()
    for at, _, _ in turns(m, there[0, 0]):
        own[..., at + 3 : at + 7] = there[..., [at + 4, at + 5, at + 6, at + 3]]
    apart, spread = (abs(each).max(axis=(0, 2)) for each in (run.q[:, 1:] - own, beside - there))
    last = [f"{apart[k - 1]:.0e} ({spread[k - 1]:.0e})" for k in (10, 100, 300, steps)]
    return f"apart after 10, 100, 300, {steps} steps (MuJoCo's from 1e-15 apart): {', '.join(last)}"


def timed(call: Any) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def compare(name: str, count: int, steps: int, runs: int, exact: bool) -> str:
    (m, model, contacts), rng = loaded(name), np.random.default_rng(1)
    if not exact:
        listed = contacts if isinstance(contacts, lw.Contacts) else lw.Contacts(tuple(contacts))
        contacts = dataclasses.replace(listed, tolerance=m.opt.tolerance)
    states, q, v = begin(m, count, rng)
    control = rng.uniform(-1.0, 1.0, (count, steps, m.nu))
    tau = driven(m, control)

    def run() -> Any:
        return lw.rollout(
            model, q, v, tau, dt=m.opt.timestep, record=steps, contacts=contacts, effort_limits=False, diverged="nan"
        )

    run()
    pairs = [(timed(run), timed(lambda: theirs.rollout(m, [mujoco.MjData(m)], states, control))) for _ in range(runs)]
    here, there = (min(each) for each in zip(*pairs, strict=True))
    each, ratios = 1e6 / (count * steps), sorted(b / a for a, b in pairs)
    return (
        f"{here * each:.2f} µs a step, mujoco.rollout {there * each:.2f} µs, ×{there / here:.1f} "
        f"(pairs of runs ×{ratios[0]:.1f} to ×{ratios[-1]:.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*")
    parser.add_argument("--agreement", action="store_true")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    lw.set_threads(1)
    warnings.simplefilter("ignore")
    timing = ["half_cheetah", "ant", "humanoid"]
    all_of_them = ["half_cheetah", "hopper", "walker2d", "ant", "humanoid", "swimmer", "anymal_b"]
    for name in asked.robots or (all_of_them if asked.agreement else timing):
        if asked.agreement:
            print(f"{name}: {acceleration_error(name)}; {together(name, asked.steps)}", flush=True)
        else:
            print(f"{name}: {compare(name, asked.count, asked.steps, asked.runs, asked.exact)}", flush=True)


if __name__ == "__main__":
    main()
