"""``linkwork reproduce``: repeat an experiment of one of the papers, with figures, data and tables."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from linkwork.errors import ArgumentError
from linkwork.files import write_text
from linkwork.progress import saying
from linkwork_lab.bench import pages
from linkwork_lab.reproduce import EXPERIMENTS
from linkwork_lab.reproduce.markdown import IDLE, load_of
from linkwork_lab.reproduce.parts import measure


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", choices=EXPERIMENTS, help="whose: %(choices)s", metavar="EXPERIMENT")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (out/EXPERIMENT)")
    parser.add_argument("--from-json", type=Path, metavar="F", help="measure nothing: draw and print what was saved")
    parser.add_argument(
        "--again", action="append", default=[], metavar="PART",
        help="with --from-json: measure this part again, such as times/stars, or all counts",
    )  # fmt: skip
    parser.add_argument("--page", type=Path, metavar="F", help="put the tables into a page, between its markers")
    parser.add_argument("--quick", action="store_true", help="small sizes only: seconds instead of minutes")


def run(options: argparse.Namespace, console: Console) -> int:
    experiment = EXPERIMENTS[options.experiment]
    if options.page:
        pages.around(options.page, "claims")  # a wrong file is reported before anything is measured
    if options.again and not options.from_json:
        raise ArgumentError("--again needs --from-json, the data of all other parts")
    folder: Path = options.out or Path("out") / options.experiment
    data = _saved(options.from_json) if options.from_json else None
    if data is None or options.again:
        with saying() as say:
            data = measure(*experiment.parts(options.quick, say), say, data, options.again)
    if options.page:
        pages.refuse_idle(options.page, load_of(data), IDLE)
    file = folder / "data.json"
    write_text(file, json.dumps(data, indent=1, allow_nan=False) + "\n")
    files = [file, *experiment.draw(data, folder)]
    for name, text in experiment.tables(data).items():
        if options.page:
            pages.put(options.page, name, text)
        console.print(f"\n{text}", soft_wrap=True)
    console.print(f"\nwrote {len(files)} files into {folder}")
    return 0


def _saved(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArgumentError(f"--from-json {path}: {error}") from None
