"""``linkwork demo``: a humanoid puts a box on the floor while keeping its posture."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from linkwork.files import write_text
from linkwork.progress import saying
from linkwork_lab import demo
from linkwork_lab.bench.machine import conditions


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("out") / "demo", metavar="DIR", help="where to write (out/demo)"
    )
    parser.add_argument("--quick", action="store_true", help="coarse steps and no animation: seconds")


def run(options: argparse.Namespace, console: Console) -> int:
    options.out.mkdir(parents=True, exist_ok=True)
    scene = demo.scene()
    body = scene.model
    console.print(f"{body.name}: {len(body.bodies)} bodies, {body.nv} degrees of freedom, two welds")
    with saying() as say:
        say("simulating")
        settings = demo.Settings.quick() if options.quick else demo.Settings()
        motion, results = demo.measure(scene, settings)
    data = conditions(settings) | results
    file = options.out / "summary.json"
    write_text(file, json.dumps(data, indent=1, allow_nan=False) + "\n")
    with saying() as say:
        say("drawing")
        files = [file, *demo.draw(scene, motion, data, options.out, moving=not options.quick)]
    good = demo.summarise(data["numbers"], console)
    console.print(f"wrote {', '.join(path.name for path in files)} into {options.out}")
    return 0 if good else 1
