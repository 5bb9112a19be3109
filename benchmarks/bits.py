"""A digest of every result's bits, to compare two versions of the code: refactoring must not change a bit.

    python benchmarks/bits.py before.json            records: robot, function and kind of call -> digest
    python benchmarks/bits.py after.json             the same with other code on the path
    python benchmarks/bits.py --compare before.json after.json

Twenty-five robots, chains and trees; every public function and method; one state, a batch of 13, the rolled form and
the interpreter. Results are the same on every machine, so records can be compared across machines too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.engine.mode import form
from linkwork.files import write_text

FILES = {
    **dict.fromkeys(("ur5_robot.urdf", "panda.urdf", "xarm7.urdf", "allegro_right_hand.urdf", "baxter.urdf"), False),
    **dict.fromkeys(("anymal.urdf", "go1.urdf", "talos_reduced.urdf", "g1_29dof_rev_1_0.urdf", "solo12.urdf"), True),
    **dict.fromkeys(("hyq_no_sensors.urdf", "romeo_small.urdf"), True),
}
"""Files of example-robot-data, and whether they float; one that a version of that package lacks is skipped."""

MECHANISMS: dict[str, Callable[[], lw.Model]] = {
    "humanoid": lw.mechanisms.humanoid,
    "humanoid, floating": lambda: lw.mechanisms.humanoid(floating_base=True),
    "branched": lw.mechanisms.branched_30dof,
    "serial": lw.mechanisms.serial_30dof,
    "star": lambda: lw.mechanisms.star(12),
    "binary tree": lambda: lw.mechanisms.binary_tree(5),
    "rope": lambda: lw.mechanisms.rope(60),
    "chain of 7": lambda: lw.mechanisms.serial_chain(7),
    "chain of 60 spherical": lambda: lw.mechanisms.serial_chain(60, "spherical"),
    "chain of 120": lambda: lw.mechanisms.serial_chain(120),
    "chain of 70, mixed": lambda: lw.mechanisms.serial_chain(70, ("revolute", "prismatic", "universal")),
    "comb": lambda: comb(80),
    "free box": lw.mechanisms.free_box,
}


def comb(length: int) -> lw.Model:
    """A long chain with a side branch on every fifth link, which the constraint-force method reorders."""
    builder = lw.Builder("comb")
    parent = None
    for k in range(length):
        builder.add_body(
            f"link{k}",
            *([parent] if parent else []),
            joint=lw.joints.Revolute("y"),
            placement=lw.placement(xyz=(0.1, 0.0, 0.0)),
            mass=1.0,
            com=(0.05, 0.01, 0.0),
            inertia=(0.01, 0.02, 0.03),
        )
        if k % 5 == 2:
            builder.add_body(
                f"tooth{k}",
                f"link{k}",
                lw.joints.Revolute("x"),
                placement=lw.placement(xyz=(0.0, 0.1, 0.0)),
                mass=0.2,
                com=(0.0, 0.05, 0.0),
                inertia=(0.001, 0.002, 0.003),
            )
        parent = f"link{k}"
    return builder.build()


def models() -> Iterator[tuple[str, lw.Model]]:
    known = {Path(str(file)).name: file for file in files("example-robot-data") or ()}
    for name, floating in FILES.items():
        if name in known:
            yield name, lw.load(str(known[name].locate()), floating_base=floating)
    for name, make in MECHANISMS.items():
        yield name, make()


def calls(model: lw.Model, batch: tuple[int, ...]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every function, ready to be called with random states of this batch."""
    rng = np.random.default_rng(len(model.bodies))
    q, v = lw.random_state(model, rng, shape=batch)
    a, tau = rng.normal(size=(2, *batch, model.nv))
    f = rng.normal(size=(*batch, len(model.bodies), 6))
    frames = [model.frame_names[-1], lw.Point(model.frame_names[len(model.frame_names) // 2], offset=(0.1, 0.2, 0.3))]
    small = len(model.bodies) <= 60
    yield "neutral", lambda: lw.neutral(model)
    yield "integrate", lambda: lw.integrate(model, q, v)
    yield "difference", lambda: lw.difference(model, q, lw.integrate(model, q, 0.1 * v))
    yield "energy", lambda: lw.energy(model, q, v)
    yield "momentum", lambda: lw.momentum(model, q, v)
    yield "centre_of_mass", lambda: lw.centre_of_mass(model, q)
    yield "forward_kinematics", lambda: lw.forward_kinematics(model, q, frames)
    for reference in ("local", "world", "local_world_aligned"):
        yield f"jacobian/{reference}", lambda r=reference: lw.jacobian(model, q, frames, reference=r)
        yield f"velocity/{reference}", lambda r=reference: lw.frame_velocity(model, q, v, frames, reference=r)
        yield (
            f"acceleration/{reference}",
            lambda r=reference: lw.frame_acceleration(model, q, v, a, frames, reference=r),
        )
        yield f"drift/{reference}", lambda r=reference: lw.jacobian_drift(model, q, v, frames, reference=r)
    yield "inverse_dynamics", lambda: lw.inverse_dynamics(model, q, v, a)
    yield "inverse_dynamics, loaded", lambda: lw.inverse_dynamics(model, q, v, a, f)
    yield "nonlinear_effects", lambda: lw.nonlinear_effects(model, q, v)
    yield "gravity_torques", lambda: lw.gravity_torques(model, q)
    yield "mass_matrix", lambda: lw.mass_matrix(model, q)
    for method in ("articulated_body", "composite_body", "unit_vector", "virtual_work", "constraint_force"):
        if small or method in ("articulated_body", "virtual_work", "constraint_force"):
            yield f"forward/{method}", lambda m=method: lw.forward_dynamics(model, q, v, tau, method=m)
            yield f"forward/{method}, loaded", lambda m=method: lw.forward_dynamics(model, q, v, tau, f, method=m)
    if small:
        for method in ("virtual_work_split", "virtual_work_unsplit", "constraint_force_world"):
            yield f"forward/{method}", lambda m=method: lw.forward_dynamics(model, q, v, tau, method=m)
    for method in ("articulated_body", "virtual_work"):
        for frame in ("child", "parent", "world"):
            yield (
                f"reactions/{method}/{frame}",
                lambda m=method, s=frame: lw.forward_dynamics_and_reactions(model, q, v, tau, f, method=m, frame=s),
            )
    for method in ("chang_khatib", "extended_propagator", "pv", "sparse", "dense", "auto"):
        if small and (method == "auto" or len(model.bodies) < 26):
            yield f"inertia⁻¹/{method}", lambda m=method: lw.operational_inertia_inverse(model, q, frames, method=m)
            yield f"inertia/{method}", lambda m=method: lw.operational_inertia(model, q, frames[0], method=m)
    if small:
        yield "operational_space", lambda: lw.operational_space(model, q, v, frames[0])
        weld = lw.Weld(frames[0])
        yield "constrained", lambda: lw.constrained_dynamics(model, q, v, tau, [weld])
    step = {"dt": 1e-3, "steps": 5, "record": 2}
    driven = {"q_target": lw.neutral(model), "kp": 30.0, "kd": 3.0, "damping": 0.5, "friction": 0.1, **step}
    yield "rollout", lambda: lw.rollout(model, q, v, tau, **step)
    yield "rollout, driven", lambda: lw.rollout(model, q, v, effort_limits=20.0, **driven)
    if not batch and small:
        yield "simulate", lambda: path_of(lw.simulate(model, q, v, 4e-3, 1e-3))
        yield "simulate, rk4", lambda: path_of(lw.simulate(model, q, v, 4e-3, 1e-3, integrator="runge_kutta_4"))


def path_of(path: lw.Trajectory) -> tuple[Any, ...]:
    return path.t, path.q, path.v


def digest(result: Any) -> str:
    found = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, np.ndarray | float | int | np.generic):
            array = np.ascontiguousarray(part, dtype=np.float64)
            found.update(repr(array.shape).encode() + array.tobytes())
        elif isinstance(part, tuple | list):
            for item in part:
                add(item)
        elif hasattr(part, "__dict__"):
            for name in sorted(part.__dict__):
                add(part.__dict__[name])

    add(result)
    return found.hexdigest()[:16]


def recorded() -> Iterator[tuple[str, str]]:
    ways: tuple[tuple[str, tuple[int, ...], str | None], ...] = (
        ("one", (), None), ("one again", (), None), ("batch", (13,), None), ("rolled", (3,), "rolled"),
        ("interpreted", (2,), "interpreted"),
    )  # fmt: skip
    for name, model in models():
        print(name, file=sys.stderr, flush=True)
        for way, batch, engine in ways:
            for function, run in calls(model, batch):
                if way == "interpreted" and function.startswith(("inertia", "rollout")) and len(model.bodies) > 12:
                    continue
                with form(engine) if engine else nullcontext(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        found = digest(run())
                    except lw.LinkworkError as error:
                        found = f"{type(error).__name__}"
                yield f"{name}: {function}, {way}", found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("files", nargs="+", help="where to write, or with --compare two files")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    if not options.compare:
        write_text(options.files[0], json.dumps(dict(recorded()), indent=0, ensure_ascii=False))
        return
    before, after = (json.loads(Path(name).read_text()) for name in options.files)
    different = [key for key in before.keys() & after.keys() if before[key] != after[key]]
    for key in sorted(different):
        print("DIFFERS", key, before[key], after[key])
    missing = before.keys() ^ after.keys()
    print(f"{len(before)} and {len(after)} results, {len(different)} differ, {len(missing)} in one file only")
    sys.exit(bool(different or missing))


if __name__ == "__main__":
    main()
