"""``linkwork robots``: the robots that can be loaded by name."""

from __future__ import annotations

import argparse
import json

from rich.console import Console
from rich.table import Table

from linkwork.formats.robots import ADVICE, robots
from linkwork.plain import one_line


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print names, sources and files as JSON")


def run(options: argparse.Namespace, console: Console) -> int:
    entries = robots()
    if options.json:
        data = [{"name": robot.name, "source": robot.source, "path": str(robot.path)} for robot in entries]
        console.file.write(json.dumps(data, ensure_ascii=False) + "\n")
        return 0
    if not entries:
        console.print(f"There are none: {ADVICE}.")
        return 0
    table = Table(box=None, pad_edge=False)
    for heading in ("robot", "of", "file"):
        table.add_column(heading)
    for robot in entries:
        table.add_row(*map(one_line, (robot.name, robot.source, robot.path.name)))
    console.print(table)
    return 0
