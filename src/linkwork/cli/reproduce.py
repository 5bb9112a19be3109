"""``linkwork reproduce``: repeat an experiment of one of the papers, with figures, data and a summary."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from linkwork.errors import ArgumentError
from linkwork.files import write_text
from linkwork.progress import saying
from linkwork_lab.bench import pages
from linkwork_lab.reproduce import EXPERIMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", choices=EXPERIMENTS, help="whose: %(choices)s", metavar="EXPERIMENT")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (out/EXPERIMENT)")
    parser.add_argument("--from-json", type=Path, metavar="F", help="measure nothing: draw and print what was saved")
    parser.add_argument("--page", type=Path, metavar="F", help="put the tables into a page, between its markers")
    parser.add_argument("--quick", action="store_true", help="small sizes only: seconds instead of minutes")


def run(options: argparse.Namespace, console: Console) -> int:
    experiment = EXPERIMENTS[options.experiment]
    if options.page:
        pages.around(options.page, "claims")  # a wrong file is reported before anything is measured
    folder: Path = options.out or Path("out") / options.experiment
    if options.from_json:
        try:
            data = json.loads(options.from_json.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ArgumentError(f"--from-json {options.from_json}: {error}") from None
    else:
        with saying() as say:
            data = experiment.measure(options.quick, say)
    file = folder / "data.json"
    write_text(file, json.dumps(data, indent=1, allow_nan=False) + "\n")
    files = [file, *experiment.draw(data, folder)]
    experiment.summarise(data, console)
    for name, text in experiment.tables(data).items():
        if options.page:
            pages.put(options.page, name, text)
        if options.page or name == "claims":
            console.print(f"\n{text}", soft_wrap=True)
    console.print(f"\nwrote {len(files)} files into {folder}")
    return 0
