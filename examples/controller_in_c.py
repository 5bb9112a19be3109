"""A controller goes from Python to the robot: exported as C, built by CMake, run against the exported simulation.

The hand of a Panda follows a circle by operational-space control, written over NumPy arrays and compiled. The law and a
time step of the robot are exported as C; a program of thirty lines calls them a thousand times a second, as a robot's
computer would, and writes what it does to a file.

It needs a C compiler, and CMake if there is one. It checks that the log of ten seconds in C equals the rollout in
Python, and that the hand is on its circle.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw

STEP, STEPS, EVERY = 1e-3, 10_000, 10  # s; ten seconds, of which every tenth state is kept
READY = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8])
CENTRE, RADIUS, RATE = np.array([0.45, 0.0, 0.5]), 0.1, 2.0  # m, m, rad/s
HAND = [lw.Point("panda_hand", axes="position")]
STIFFNESS = 400.0  # 1/s²

PROGRAM = """
#include <stdio.h>
#include "law.h"
#include "plant.h"

int main(void)
{
    static double q[] = {%s}, v[plant_size_v], progress[plant_size_progress], tau[law_size_result];
    static double q_next[plant_size_q], v_next[plant_size_v], progress_next[plant_size_progress];
    static double law_workspace[law_size_workspace + 1], plant_workspace[plant_size_workspace + 1];
    FILE *log = fopen("log.bin", "wb");
    int status = (log == NULL) ? 1 : 0;
    for (int step = 0; (step <= %d) && (status == 0); ++step) {
        const double t = %r * step;
        if (step %% %d == 0) {
            (void)fwrite(q, sizeof q[0], plant_size_q, log);
        }
        status = law(&t, q, v, tau, law_workspace);
        if (status != 0) {
            puts(law_status(status));
            break;
        }
        status = plant(q, v, progress, tau, q_next, v_next, progress_next, plant_workspace);
        if (status != 0) {
            puts(plant_status(status));
            break;
        }
        for (int k = 0; k < plant_size_q; ++k) {
            q[k] = q_next[k];
            v[k] = v_next[k];
        }
        progress[0] = progress_next[0];
        progress[1] = progress_next[1];
    }
    return ((log != NULL) && (fclose(log) == 0) && (status == 0)) ? 0 : 1;
}
"""
BUILD = """
cmake_minimum_required(VERSION 3.10)
project(robot C)
enable_testing()
add_subdirectory(law)
add_subdirectory(plant)
add_executable(robot main.c)
target_link_libraries(robot law plant)
"""


def law_of(arm: lw.Model) -> lw.CompiledFunction:
    """Joint forces that bring the hand to its circle, and keep the joints near READY besides."""

    def law(t, q, v):
        angle, still = RATE * t, np.zeros(())
        out, along = np.stack([still, np.sin(angle), np.cos(angle)]), np.stack([still, np.cos(angle), -np.sin(angle)])
        place = lw.forward_kinematics(arm, q, ["panda_hand"])[0, :3, 3]
        space = lw.operational_space(arm, q, v, HAND, reference="local_world_aligned")
        J, error = space.jacobian, CENTRE + RADIUS * out - place
        wanted = STIFFNESS * error + 2.0 * STIFFNESS**0.5 * (RADIUS * RATE * along - J @ v) - RADIUS * RATE**2 * out
        force = space.inertia @ wanted + space.coriolis + space.gravity
        posture = lw.gravity_torques(arm, q) + 20.0 * (READY - q) - 4.0 * v
        rest = posture - J.T @ (space.consistent_inverse.T @ posture)  # what accelerates the hand is left out
        return J.T @ force + rest

    return lw.compile(law, t=(), q=(arm, "configuration"), v=arm.nv)


def built(folder: Path) -> Path | None:
    """The program, by CMake or by a compiler alone; None if there is none."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        return None
    if shutil.which("cmake"):
        commands = [["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build", "--target", "robot"]]
        program = folder / "build" / "robot"
    else:
        sources = ["main.c", "law/law.c", "plant/plant.c", "-Ilaw", "-Iplant", "-lm"]
        commands, program = [[compiler, "-std=c99", "-O2", *sources, "-o", "robot"]], folder / "robot"
    for command in commands:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return program


def main() -> int:
    try:
        whole = lw.load(next((name for name in sys.argv[1:] if name.endswith(".urdf")), "panda"))
    except lw.FormatError as error:
        sys.exit(f"pass a URDF of the Panda: {error}")
    arm = whole.locked(["panda_finger_joint1", "panda_finger_joint2"])
    law = law_of(arm)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lw.export(law, folder / "law", name="law")
        lw.export("step", folder / "plant", model=arm, dt=STEP, name="plant")
        start = ", ".join(map(repr, READY.tolist()))
        (folder / "main.c").write_text(PROGRAM % (start, STEPS, STEP, EVERY))
        (folder / "CMakeLists.txt").write_text(BUILD)
        program = built(folder)
        if program is None:
            print("there is no C compiler here")
            return 0
        subprocess.run([program], cwd=folder, check=True)
        logged = np.fromfile(folder / "log.bin").reshape(-1, arm.nq)
    rolled = lw.rollout(arm, READY, np.zeros(arm.nv), dt=STEP, steps=STEPS, record=EVERY, torque=law)
    apart = abs(logged - rolled.q).max()
    t = STEP * EVERY * np.arange(len(logged))
    places = lw.forward_kinematics(arm, logged, ["panda_hand"])[:, 0, :3, 3]
    goals = CENTRE + RADIUS * np.stack([0.0 * t, np.sin(RATE * t), np.cos(RATE * t)], axis=1)
    off = np.linalg.norm(places - goals, axis=1)
    print(f"{STEPS:,} steps in C and in Python: configurations {apart:.1e} rad apart")
    late = off[len(off) // 2 :].max()
    print(f"the hand is {off[0]:.2f} m off its circle at first, and {late:.1e} m in the second half")
    picture = next((name for name in sys.argv[1:] if name.endswith(".png")), None)
    if picture is not None:
        _plot(picture, t, logged, rolled.q, off)
    return 0 if apart < 1e-9 and late < 2e-3 else 1


def _plot(path: str, t: np.ndarray, logged: np.ndarray, rolled: np.ndarray, off: np.ndarray) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    above.plot(t, rolled, color="#c6ccd4", linewidth=4)
    above.plot(t, logged, linewidth=1)
    above.set_ylabel("joints, rad: C over Python")
    below.semilogy(t, np.maximum(off, 1e-12))
    below.set_ylabel("hand off its circle, m")
    below.set_xlabel("time, s")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    sys.exit(main())
