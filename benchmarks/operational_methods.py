"""Which method for Λ⁻¹ is fastest where: the study behind ``method="auto"`` of ``lw.operational_inertia``.

    python benchmarks/operational_methods.py            prints how well the rule does on the stored data
    python benchmarks/operational_methods.py --measure  counts and times again, minutes (docs/data)
    python benchmarks/operational_methods.py --write    puts the tables into docs/operational-inertia.md

Operations are those of code for one mechanism, where its numbers are constants, on robots of example-robot-data (on a
fixed base, and on a floating one if they have four ends), built-in mechanisms and random trees of up to 50 bodies, with
bodies times points at most 320: operations are counted by tracing, which takes seconds if both are many. Times are of
code for any mechanism, which larger ones run: one state on one lane, the best of many samples, all methods in turn and
their results compared first. Points are on ends, or on any bodies.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.algorithms.fewest_operations import fewest_operations_on
from linkwork.engine.plans import looped
from linkwork.engine.run.threads import cores
from linkwork.files import write_text
from linkwork.model import Frame, Model
from linkwork_lab.bench import pages
from linkwork_lab.bench.machine import commit, machine, versions
from linkwork_lab.reproduce.clock import Runner, race
from linkwork_lab.reproduce.counting import folded
from linkwork_lab.reproduce.operational_inertia import growth

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "data" / "operational-methods.json"
POINTS = (1, 2, 4, 8, 16)
MOST = 320
"""Largest number of bodies times points in a counted case."""
CLOSE = 1.15
"""Costs up to this factor times the least count as won."""
JOINTS = (lw.joints.Revolute("z"), lw.joints.Revolute((1.0, 2.0, 2.0)), lw.joints.Prismatic("x"), lw.joints.Spherical())

Case = tuple[str, Model, list[Frame]]


def robots() -> Iterator[tuple[str, Model]]:
    """Robots of example-robot-data for which code is specialised; one of several with the same joints."""
    seen = set()
    warnings.simplefilter("ignore", lw.LinkworkWarning)
    paths = sorted(Path(str(file.locate())) for file in files("example-robot-data") or () if file.suffix == ".urdf")
    for path in paths:
        try:
            model = lw.load(path)
        except lw.LinkworkError:
            continue
        joints = tuple((body.parent, body.joint.kind()) for body in model.bodies)
        if len(model.bodies) > 1 and not looped(model) and joints not in seen:
            seen.add(joints)
            yield path.stem, model
            if len(ends(model)) >= 4:
                yield f"{path.stem}, floating", lw.load(path, floating_base=True)


def ready() -> Iterator[tuple[str, Model]]:
    names = "serial_chain:7 serial_chain:12 serial_chain:30 rope:20 star:4 star:8 binary_tree:4 binary_tree:5 humanoid"
    for name in (*names.split(), "serial_30dof", "branched_30dof"):
        yield name, lw.mechanisms.by_name(name)
    yield "humanoid, floating", lw.mechanisms.humanoid(floating_base=True)


def random_tree(bodies: int, reach: int, seed: int) -> Model:
    """Each body is attached to one of the ``reach`` before it, so that a small reach makes long limbs."""
    rng = np.random.default_rng(seed)
    builder = lw.Builder(f"tree of {bodies}, reach {reach}")
    names = ["world"]
    for k in range(bodies):
        parent = names[int(rng.integers(max(0, len(names) - reach), len(names)))]
        inertia = {"mass": 1.0, "com": rng.normal(size=3) * 0.1, "inertia": rng.uniform(0.5, 0.6, 3)}
        placed = lw.placement(rng.normal(size=3), rpy=rng.normal(size=3))
        joint = JOINTS[int(rng.integers(len(JOINTS)))]
        names.append(builder.add_body(f"body{k}", parent, joint, placement=placed, **inertia))
    return builder.build()


def trees(sizes: Sequence[int]) -> Iterator[tuple[str, Model]]:
    for bodies in sizes:
        for reach in (2, 4, bodies):
            model = random_tree(bodies, reach, bodies + reach)
            yield model.name, model


def ends(model: Model) -> list[int]:
    """Bodies without children."""
    parents = {body.parent for body in model.bodies}
    return [k for k in range(1, len(model.bodies) + 1) if k not in parents]


def cases(models: Iterator[tuple[str, Model]]) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for name, model in models:
        for points in POINTS:
            for kind, bodies in (("ends", ends(model)), ("any", list(range(1, len(model.bodies) + 1)))):
                if points <= len(bodies):
                    chosen = sorted(rng.choice(bodies, points, replace=False).tolist())
                    yield f"{name}, {kind}", model, [model.frame(model.body_names[k - 1]) for k in chosen]


def described(name: str, model: Model, frames: Sequence[Frame]) -> dict[str, Any]:
    bodies = [frame.body for frame in frames]
    shape = {"parents": [body.parent for body in model.bodies], "nv": [body.joint.nv for body in model.bodies]}
    return {"case": name, **shape, "points": bodies}


def count(case: Case) -> dict[str, Any] | None:
    """The cost of each method; None if a joint of the file moves no inertia."""
    name, model, frames = case
    try:
        counts = {m: sum(folded(method, model, frames).values()) for m, method in growth.METHODS.items()}
    except ZeroDivisionError:
        return None
    return described(name, model, frames) | {"cost": counts}


def counted() -> list[dict[str, Any]]:
    sources = (robots(), ready(), trees((8, 16, 32, 48)))
    every = [case for source in sources for case in cases(source) if len(case[1].bodies) * len(case[2]) <= MOST]
    with ProcessPoolExecutor(cores()) as pool:
        return [found for found in pool.map(count, every, chunksize=4) if found]


def timed() -> list[dict[str, Any]]:
    found = []
    larger: dict[str, Callable[[int], growth.Case]] = {
        **{f"chain of {n}, along it": lambda m, n=n: growth.chain(n, m) for n in (60, 100, 300, 1000)},
        **{f"binary tree of {2**n - 1}, ends": lambda m, n=n: growth.tree(n, m) for n in (6, 7, 8, 10)},
    }
    every = [(name, *make(points)) for name, make in larger.items() for points in POINTS]
    for name, model, frames in (*every, *cases(trees((60, 200)))):
        runners = {m: Runner(algorithm, "rolled") for m, algorithm in growth.METHODS.items()}
        if model.depth > 100:
            del runners["dense"]
        seconds = race(model, runners, 20, 0.002, frames)
        found.append(described(name, model, frames) | {"cost": seconds})
    return found


def measure() -> dict[str, Any]:
    facts = {"machine": machine(), "versions": versions(), "commit": commit()}
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"), **facts, "operations": counted(), "seconds": timed(),
    }  # fmt: skip


def auto(case: dict[str, Any]) -> str:
    """The method chosen by the rule."""
    return fewest_operations_on(tuple(case["parents"]), tuple(case["nv"]), tuple(case["points"]))


def scores(cases: Sequence[dict[str, Any]]) -> str:
    """The result of always using each method, and of the rule."""
    lines = ["| always | least | within 15 % | on average | at worst |", "|---|---|---|---|---|"]
    for method in (*growth.METHODS, "auto"):
        costs = [(case["cost"].get(auto(case) if method == "auto" else method), case["cost"]) for case in cases]
        ratios = [own / min(x for x in every.values() if x) for own, every in costs if own]
        row = (
            f"{sum(r == 1.0 for r in ratios)} of {len(ratios)}",
            f"{sum(r <= CLOSE for r in ratios)}",
            f"{np.mean(ratios):.2f}",
            f"{max(ratios):.2f}",
        )
        lines.append(f"| {method} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def tables(data: dict[str, Any]) -> str:
    operations = [case for case in data["operations"] if any(case["cost"].values())]  # some are fixed altogether
    seconds = data["seconds"]
    return "\n".join(
        [
            f"Operations of code for one mechanism, {len(operations)} cases; costs over those of the cheapest method:",
            "",
            scores(operations),
            "",
            f"Times of code for any mechanism, {len(seconds)} cases of 60 to 1,023 links "
            f"({data['machine']['cpu']}, commit {data['commit']}):",
            "",
            scores(seconds),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="count and time anew, and keep the data")
    parser.add_argument("--write", action="store_true", help="tables into docs/operational-inertia.md")
    options = parser.parse_args()
    if options.measure:
        found = measure()
        lists = {key: found.pop(key) for key in ("operations", "seconds")}
        rows = {key: ",\n".join("  " + json.dumps(case) for case in cases) for key, cases in lists.items()}
        parts = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
        parts += [f" {json.dumps(key)}: [\n{text}\n ]" for key, text in rows.items()]
        write_text(DATA, "{\n" + ",\n".join(parts) + "\n}\n")
    data = json.loads(DATA.read_text(encoding="utf-8"))
    text = tables(data)
    print(text)
    if options.write:
        pages.put(ROOT / "docs" / "operational-inertia.md", "methods", text)


if __name__ == "__main__":
    main()
