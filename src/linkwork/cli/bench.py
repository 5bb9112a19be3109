"""``linkwork bench``: times of every public function, beside those of other libraries."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from rich.console import Console

from linkwork.cli.info import find
from linkwork.engine.code import jit
from linkwork.engine.optimisations import OPTIMISATIONS
from linkwork.errors import ArgumentError
from linkwork.files import write_text
from linkwork.progress import saying
from linkwork_lab.bench import Settings, Subject, measure, pages, standard
from linkwork_lab.bench.measurements import SCHEMA
from linkwork_lab.bench.peers import NAMES
from linkwork_lab.bench.plot import plot_chains
from linkwork_lab.bench.report import markdown, print_report
from linkwork_lab.bench.without import compare, print_comparison

NAME = "bench"
"""The name of its tables on a page."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="a URDF or MJCF file, or a built-in mechanism as for linkwork info; a standard set and chains if left out",
    )
    parser.add_argument("--floating-base", action="store_true", help="put the roots of the models on free joints")
    parser.add_argument(
        "--peers", default=",".join(NAMES), metavar="NAMES", help=f"to compare with, of {', '.join(NAMES)}; '' for none"
    )
    parser.add_argument("--json", type=Path, metavar="F", help="save everything")
    parser.add_argument("--from-json", type=Path, metavar="F", help="measure nothing: print what was saved")
    parser.add_argument(
        "--plot", type=Path, metavar="F", help="save a plot of time against chain length, F.png and F.svg"
    )
    parser.add_argument("--markdown", action="store_true", help="print short tables in Markdown instead")
    parser.add_argument(
        "--write",
        type=Path,
        metavar="F",
        help="put the short tables into a Markdown file, between <!-- bench --> and <!-- end -->",
    )
    parser.add_argument(
        "--lanes",
        type=int,
        choices=(2, 4, 8),
        help="measure as on a CPU whose vectors have so many float64 numbers, if this one has more",
    )
    parser.add_argument(
        "--without",
        metavar="NAMES",
        help="measure what optimisations of generated code bring, instead: the times without these, separated by "
        f"commas, beside those with all; of {', '.join(OPTIMISATIONS)}",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter chains: a few minutes")


def run(options: argparse.Namespace, console: Console) -> int:
    if options.write:
        pages.around(options.write, NAME)  # a wrong file is reported before anything is measured
    if options.without:
        return _without(options, console)
    if options.from_json:
        try:
            data = json.loads(options.from_json.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ArgumentError(f"--from-json {options.from_json}: {error}") from None
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ArgumentError(
                f"--from-json {options.from_json}: not saved by this version of linkwork bench; measure again"
            )
    else:
        data = _measure(options)
    if options.json:
        write_text(options.json, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    if options.plot:
        for file in plot_chains(data, options.plot):
            sys.stderr.write(f"linkwork: wrote {file}\n")
    if options.write:
        pages.put(options.write, NAME, markdown(data))
        sys.stderr.write(f"linkwork: wrote {options.write}\n")
    if options.markdown:
        console.print(markdown(data), soft_wrap=True)
    else:
        print_report(data, console)
    return 0


def _without(options: argparse.Namespace, console: Console) -> int:
    unknown = [name for name in options.without.split(",") if name not in OPTIMISATIONS]
    if unknown:
        raise ArgumentError(f"--without: {unknown[0]!r} is none of {', '.join(OPTIMISATIONS)}")
    if options.lanes:
        os.environ[jit.LANES] = str(options.lanes)
    with saying() as say:
        for subject in _subjects(options) or standard()[0]:
            times = compare(subject, options.without, rounds=3 if options.quick else 8, say=say)
            print_comparison(subject, options.without, times, console)
    return 0


def _subjects(options: argparse.Namespace) -> list[Subject]:
    """Those that are named."""
    for text in options.models:
        find(text, options.floating_base)  # a wrong name is reported before anything is measured
    return [Subject(Path(text).stem, text, options.floating_base) for text in options.models]


def _measure(options: argparse.Namespace) -> dict[str, object]:
    settings = Settings.quick() if options.quick else Settings()
    if options.lanes:
        os.environ[jit.LANES] = str(options.lanes)  # inherited by the processes that measure the first call
    if options.models:
        subjects = _subjects(options)
        settings = Settings(**{**vars(settings), "chains": settings.chains if options.plot else (), "memory": None})
    else:
        subjects, which = standard()
        sys.stderr.write(f"linkwork: {which}\n")
    peers = [name for name in options.peers.split(",") if name]
    with saying() as say:
        return measure(subjects, peers, settings, lambda what: say(f"measuring {what}"))
