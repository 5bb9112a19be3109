"""Plants faults in a copy of the sources, one at a time, and says which test finds each.

    python benchmarks/planted_faults.py [NUMBER ...]

A fault is a sign, a term, an index or an order that is wrong, at least one in each room of the library. The tests that
should see it run until the first failure; the script's status is the number of faults that none has found. Before and
after a change of the tests, all must be found.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "docs", "benchmarks", "examples", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile")


class Fault(NamedTuple):
    """What is replaced by what, in which module, and the tests that should see it: files, or tests of one."""

    module: str
    right: str
    wrong: str
    tests: str


FAULTS = [
    Fault(
        "spatial/transform.py", "return Transform(back, -back.apply(", "return Transform(back, back.apply(", "spatial"
    ),
    Fault("spatial/inertia.py", "self.second.apply(w) + h.cross(v))", "self.second.apply(w) - h.cross(v))", "spatial"),
    Fault(
        "spatial/rates.py",
        '"tanh": (lambda a, r: 1.0 - r * r,)',
        '"tanh": (lambda a, r: 1.0 + r * r,)',
        "derivatives_of",
    ),
    Fault("joints/helical.py", "* (self.pitch * q[0]))", "* (-self.pitch * q[0]))", "joints"),
    Fault(
        "algorithms/inverse_dynamics.py",
        "A[body] + V[body].cross(body.inertia * V[body]) - f_ext",
        "A[body] - f_ext",
        "truth pinocchio",
    ),
    Fault("algorithms/articulated_body.py", "+ V[body].cross(moved)\n", "- V[body].cross(moved)\n", "laws"),
    Fault("model/inertias.py", "xx, xy, xz, yy, yz, zz = matrix", "xx, xy, yz, yy, xz, zz = matrix", "model"),
    Fault(
        "formats/urdf_parts.py", "damping, friction = dynamics.number(", "friction, damping = dynamics.number(", "urdf"
    ),
    Fault("formats/mjcf.py", 'limits["lower"], limits["upper"] = m', 'limits["upper"], limits["lower"] = m', "mjcf"),
    Fault(
        "engine/ir/merge.py",
        "return address.array, address.offset, terms",
        "return address.array, 0, terms",
        "engine bits",
    ),
    Fault(
        "engine/trace/tracer.py",
        "return self.sub(b, program.operands[a][0])",
        "return self.add(b, program.operands[a][0])",
        "engine",
    ),
    Fault("engine/emit/arithmetic.py", '"sub": "fsub"', '"sub": "fadd"', "engine bits"),
    Fault(
        "engine/plans/permuted.py",
        "results = [Taken(np.argsort(order.places(space)))",
        "results = [Taken(order.places(space))",
        "segments",
    ),
    Fault("engine/plans/planner.py", '"rolled" if loops else', '"specialised" if loops else', "plans"),
    Fault(
        "engine/emit/loops.py",
        "if all(times[number] == 1 for",
        "if all(times[number] >= 1 for",
        "verifier",
    ),
    Fault("engine/emit/columns.py", "address.offset * self.stride", "address.offset", "constrained_derivatives"),
    Fault("engine/emit/columns.py", "'i64', 0, 2)", "'i64', 0, 0)", "constrained_derivatives"),
    Fault("engine/trace/overwriting.py", "return not strictly", "return True", "rolled_derivatives"),
    Fault(
        "engine/code/cache.py",
        "content[:first] != _MAGIC or not hmac.compare_digest(_digest(key, image), digest):",
        "content[:first] != _MAGIC:",
        "cache",
    ),
    Fault(
        "dynamics/coupled_joints.py",
        "+ settings[0] * times(held.rows, v)",
        "- settings[0] * times(held.rows, v)",
        "constraints",
    ),
    Fault("dynamics/pose_errors.py", "there[k][3] - here[k][3]", "here[k][3] - there[k][3]", "inverse_kinematics"),
    Fault("dynamics/contact/bonds.py", "[k * d * error for", "[-k * d * error for", "contact"),
    Fault(
        "dynamics/contact/by_bodies.py",
        "Bond(J, -rate - pull, D)",
        "Bond(J, -rate + pull, D)",
        "contact_many_bodies::test_a_matrix_and_articulated_bodies_carry_the_same_problem",
    ),
    Fault("simulation/integrators.py", "2.0 * (a2 + a3) + a4", "(a2 + a3) + a4", "simulation"),
    Fault("simulation/rollouts/gradients.py", "weights, now + 1, steps", "weights, now, steps", "gradients"),
    Fault("simulation/step_arguments.py", "10.0 * dt", "-10.0 * dt", "rollout simulation"),
    Fault(
        "control/joint_space.py", "kp * behind + kd * slower, gravity", "kp * behind - kd * slower, gravity", "control"
    ),
    Fault("control/priorities.py", "basis - self._taken @ shared", "basis + self._taken @ shared", "control"),
    Fault(
        "compiled/linear_algebra.py",
        "value = value - L[i][k] * L[j][k]",
        "value = value + L[i][k] * L[j][k]",
        "compile",
    ),
    Fault("bases.py", "_t(self.factor) @ (self.scale * u)", "self.factor @ (self.scale * u)", "change_of_basis"),
    Fault(
        "batches.py",
        "len(different) > 1 else next",
        "len(different) > 2 else next",
        "batches::test_batch_dimensions_broadcast",
    ),
    Fault("engine/targets/language.py", '"sub": "{0} - {1}"', '"sub": "{0} + {1}"', "export"),
    Fault("engine/targets/llvm_module.py", "fcmp uno double {difference}", "fcmp ord double {difference}", "export"),
    Fault("exports/status.py", "first = number + k *", "first = number + 1 + k *", "export"),
    Fault("viewer/forces.py", "_in_world(poses, wrenches[..., :3])", "_in_world(poses, wrenches[..., 3:])", "show"),
    Fault("viewer/camera.py", "[-sin(a), cos(a), 0.0]", "[sin(a), cos(a), 0.0]", "viewer"),
]


def planted(fault: Fault, folder: Path) -> None:
    """Plant a fault in a copy."""
    path = folder / "src" / "linkwork" / fault.module
    text = path.read_text(encoding="utf-8")
    assert text.count(fault.right) == 1, f"{fault.module} has {fault.right!r} {text.count(fault.right)} times"
    path.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")


def finder(fault: Fault, folder: Path) -> str:
    """The first test that fails, or why the tests do not even begin; empty if all pass."""
    parts = [name.partition("::") for name in fault.tests.split()]
    files = [f"tests/test_{name}.py{mark}{test}" for name, mark, test in parts]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    assert failed, done.stdout[-2000:] + done.stderr[-2000:]
    return str(failed[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help=f"of the faults, 1 to {len(FAULTS)}")
    numbers = parser.parse_args().numbers or range(1, len(FAULTS) + 1)
    lost = 0
    for number in numbers:
        fault, start = FAULTS[number - 1], time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="linkwork-fault-") as name:
            folder = Path(name)
            for part in COPIED:
                source = ROOT / part
                copy = shutil.copytree if source.is_dir() else shutil.copy2
                copy(source, folder / part)
            planted(fault, folder)
            found = finder(fault, folder)
        lost += not found
        took = time.perf_counter() - start
        print(f"{number:2} {fault.module}: {found or 'NOT FOUND by test_' + fault.tests} ({took:.0f} s)", flush=True)
    print(f"{len(numbers) - lost} of {len(numbers)} faults found")
    return lost


if __name__ == "__main__":
    sys.exit(main())
