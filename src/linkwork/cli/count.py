"""``linkwork count``: how many operations each algorithm takes on a mechanism."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from linkwork.algorithms import ALGORITHMS, CHAIN_METHODS, Algorithm
from linkwork.cli.info import add_model, find
from linkwork.engine.ir.program import ARITHMETIC
from linkwork.engine.plans.costs import within
from linkwork.engine.spaces import SPACES
from linkwork.errors import UnknownNameError
from linkwork.inside import operations
from linkwork.model import WORLD, Frame, Model
from linkwork.model.describe import summary
from linkwork.plain import one_line

COLUMNS: dict[str, tuple[str, ...]] = {
    "add": ("add",),
    "subtract": ("sub",),
    "multiply": ("mul",),
    "divide": ("div",),
    "square root": ("sqrt",),
    "sine/cosine": ("sin", "cos"),
}
COLUMNS["other"] = tuple(name for name in ARITHMETIC if not any(name in names for names in COLUMNS.values()))
"""The kinds of operations counted separately, with their names in the intermediate code."""

COUNTED = {name: entry for name, entry in ALGORITHMS.items() if "rolled" in entry.forms or name in CHAIN_METHODS}

_SQUARED = {"matrix", "full_matrix", "regressor"}


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--method", action="append", metavar="NAME", help="count this algorithm only (may be repeated)")
    parser.add_argument("--frame", metavar="NAME", help="for algorithms that are asked about one (the last body's)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(options: argparse.Namespace, console: Console) -> int:
    model = find(options.model, options.floating_base)
    frame = model.frame(options.frame or (WORLD, *model.body_names)[-1])
    for name in options.method or ():
        if name not in COUNTED:
            raise UnknownNameError("algorithm", name, COUNTED, "linkwork")
    methods = options.method or [name for name, entry in COUNTED.items() if _is_listed(entry, model)]
    rest = [name for name in COUNTED if name not in methods] if not options.method else []
    counts = {name: counted(COUNTED[name], model, [frame]) for name in methods}
    if options.json:
        data = {"model": model.name, "frame": frame.name, "counts": counts, "not_counted": rest}
        console.file.write(json.dumps(data) + "\n")
        return 0
    console.print(summary(model))
    console.print(_table(counts))
    console.print(f"\nFor one state without external forces, and of frames only {one_line(frame.name)}.")
    if rest:
        console.print(f"Not counted for {len(model.bodies)} bodies unless asked for by --method: {', '.join(rest)}")
    return 0


def counted(algorithm: Algorithm, model: Model, frames: Sequence[Frame]) -> dict[str, int]:
    """The number of operations of each kind for one state, and their total."""
    about_frames = any(SPACES[space].of_frames for space in algorithm.results)
    counts = operations(algorithm, model, frames if about_frames else ())
    kinds = {kind: sum(counts[name] for name in names) for kind, names in COLUMNS.items()}
    return {**kinds, "total": sum(kinds.values())}


def _is_listed(algorithm: Algorithm, model: Model) -> bool:
    """Whether it is counted by default: not if that takes long, for costs that grow faster than linearly, too."""
    squared = _SQUARED.intersection(algorithm.results) or algorithm.name == "composite_body"
    return within("listed_matrices" if squared else "listed", model)


def _table(counts: dict[str, dict[str, int]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("algorithm")
    for heading in (*COLUMNS, "total"):
        table.add_column(heading, justify="right")
    for name, row in counts.items():
        table.add_row(name, *(str(number) for number in row.values()))
    return table
