"""MJCF files of other packages against MuJoCo: which load, and which agree in mass matrix, accelerations and a step.

    python benchmarks/files.py FOLDER ...      for instance the folders of installed packages
    python benchmarks/files.py FOLDER --each   also one line for each file

A file counts if MuJoCo loads it and something moves in it. Random states near the file's own one, with random controls
of the motors: the joint-space mass matrix and the accelerations without contacts and constraints must agree to 1e-9
(the joint forces are MuJoCo's own), and the velocities after one step of ``lw.rollout`` with ``model.contacts``, from
the controls alone, with those of ``mj_step`` to 1e-6; each relative to the largest number. Options are those of the
file, but elliptic cones, the Euler integrator with implicit damping, and Newton's method without a tolerance.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import linkwork as lw

STATES = 3
LIMITS = 1e-9, 1e-9, 1e-6
SECONDS = 60
_MODEL = re.compile(rb"<mujoco[\s>]")
_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
_LINE = "| {} | {} | {} | {} | {} | {} |"


@dataclass
class Outcome:
    """What became of a file: the largest errors of the mass matrix, the accelerations and a step, as far as they could
    be computed; why no more of them, and what linkwork says that it leaves out.
    """

    path: Path
    loads: bool = False
    errors: list[float] = field(default_factory=list)
    refusal: str = ""
    left_out: str = ""

    @property
    def agrees(self) -> list[bool]:
        return [error <= most for error, most in zip(self.errors, LIMITS, strict=False)] + [False] * (
            3 - len(self.errors)
        )


class TooSlow(Exception):
    """A file takes longer than ``SECONDS``."""


def files(folder: Path) -> Iterator[Path]:
    """All MJCF files in a folder."""
    for path in sorted(folder.rglob("*.xml")):
        if _MODEL.search(path.read_bytes()[:100_000]):
            yield path


def there(path: Path) -> Any:
    """MuJoCo's model with the options of the comparison; None if it does not load or nothing moves."""
    try:
        m = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, RuntimeError, TypeError, mujoco.FatalError):
        return None
    m.opt.cone, m.opt.integrator, m.opt.solver = 1, 0, 2  # elliptic, Euler, Newton
    m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    m.opt.tolerance, m.opt.iterations, m.opt.ls_iterations = 0.0, 200, 200
    return m if m.nv else None


def converted(m: Any, d: Any) -> tuple[Any, Any, Any]:
    """q and v of MuJoCo's state, and the matrix T with qvel = T v."""
    q, T = d.qpos.copy(), np.eye(m.nv)
    for joint in np.flatnonzero(m.jnt_type < 2):  # free and ball joints
        i, k = m.jnt_qposadr[joint], m.jnt_dofadr[joint]
        if m.jnt_type[joint] == 0:
            i += 3
            turn = np.empty(9)
            mujoco.mju_quat2Mat(turn, d.qpos[i : i + 4])
            T[k : k + 3, k : k + 3] = turn.reshape(3, 3)
        q[i : i + 4] = np.roll(d.qpos[i : i + 4], -1)
    return q, T.T @ d.qvel, T


def compared(m: Any, model: lw.Model, seed: int) -> Iterator[float]:
    """The errors of the mass matrix, the accelerations and a step in one state."""
    d, rng = mujoco.MjData(m), np.random.default_rng(seed)
    mujoco.mj_integratePos(m, d.qpos, 0.05 * rng.normal(size=m.nv), 1.0)
    d.qvel[:] = 0.3 * rng.normal(size=m.nv)
    ranges = np.where(m.actuator_ctrllimited[:, None], m.actuator_ctrlrange, [-1.0, 1.0])
    d.ctrl[:] = np.clip(rng.uniform(-1.0, 1.0, m.nu), *ranges.T)
    mujoco.mj_forward(m, d)
    q, v, T = converted(m, d)
    full = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, full)
    yield _error(lw.mass_matrix(model, q), T.T @ full @ T)
    a = T @ lw.forward_dynamics(model, q, v, T.T @ (d.qfrc_passive + d.qfrc_actuator))
    for joint in np.flatnonzero(m.jnt_type == 0):
        k = m.jnt_dofadr[joint]
        a[k : k + 3] += T[k : k + 3, k : k + 3] @ np.cross(v[k + 3 : k + 6], v[k : k + 3])
    yield _error(a, d.qacc_smooth)
    tau = lw.actuator_torques(model, q, v, d.ctrl) if m.nu else None
    motion = lw.rollout(model, q, v, tau, dt=m.opt.timestep, steps=1, contacts=model.contacts)
    mujoco.mj_step(m, d)
    yield _error(motion.v[-1], converted(m, d)[1])


def _error(ours: Any, theirs: Any) -> float:
    return float(abs(ours - theirs).max() / max(abs(theirs).max(), 1e-12))


def tried(path: Path) -> Outcome | None:
    """What becomes of a file; None if it is no model for MuJoCo itself."""
    m = there(path)
    if m is None:
        return None
    outcome = Outcome(path)
    signal.signal(signal.SIGALRM, _too_slow)
    signal.alarm(SECONDS)
    with warnings.catch_warnings(record=True) as caught, lw.interpreted():
        warnings.simplefilter("always")
        try:
            model = lw.load(path, fixed_joints="keep")
            outcome.loads = True
            for errors in zip(*(compared(m, model, seed) for seed in range(STATES)), strict=True):
                outcome.errors.append(max(errors))
        except (lw.LinkworkError, TooSlow) as error:
            outcome.refusal = f"{type(error).__name__}: {error}".replace(str(path), "")
        finally:
            signal.alarm(0)
    said = [str(one.message).replace(f"{path}: ", "") for one in caught]
    outcome.left_out = "; ".join(dict.fromkeys(text for text in said if re.search("left out|leave out", text)))
    return outcome


def _too_slow(*_: object) -> None:
    raise TooSlow(f"more than {SECONDS} s")


def report(outcomes: dict[Path, list[Outcome]]) -> str:
    """A row for each folder; then why files are refused, and what is left out where a step differs."""
    lines = [_LINE.format("folder", "files", "load", "mass matrix", "accelerations", "a step"), "|---" * 6 + "|"]
    sums = np.zeros(5, dtype=int)
    for folder, each in outcomes.items():
        counts = [len(each), sum(one.loads for one in each), *(sum(one.agrees[k] for one in each) for k in range(3))]
        sums += counts
        lines.append(_LINE.format(folder.name, *counts))
    lines += [_LINE.format("all", *sums), ""]
    everything = [one for each in outcomes.values() for one in each]
    other = [one.left_out or "nothing is left out" for one in everything if not one.refusal and not all(one.agrees)]
    for title, reasons in ("refused", [one.refusal for one in everything if one.refusal]), ("differs", other):
        alike = Counter(_NAMES.sub("_", reason)[:200] for reason in reasons)
        lines += [f"| {title} | files |", "|---|---|", *(f"| {one} | {n} |" for one, n in alike.most_common()), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=lambda text: Path(text).resolve())
    parser.add_argument("--each", action="store_true", help="one line for each file")
    options = parser.parse_args()
    outcomes: dict[Path, list[Outcome]] = {}
    with tempfile.TemporaryDirectory() as aside:
        os.chdir(aside)  # where MuJoCo writes a log of its warnings
        for folder in options.folders:
            outcomes[folder] = []
            for path in files(folder):
                outcome = tried(path)
                if outcome is None:
                    continue
                outcomes[folder].append(outcome)
                if options.each:
                    errors = " ".join(f"{error:.0e}" for error in outcome.errors)
                    print(path.relative_to(folder), errors, outcome.refusal, outcome.left_out, sep=" | ", flush=True)
    print(report(outcomes))


if __name__ == "__main__":
    main()
