"""``linkwork info``: the contents of a model file or a built-in mechanism."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console

from linkwork.errors import ArgumentError, UnknownNameError
from linkwork.formats import load, robots
from linkwork.model import Model, mechanisms
from linkwork.model.describe import as_data, as_table, summary


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--most", type=int, default=200, metavar="N", help="print at most so many bodies (200)")


def run(options: argparse.Namespace, console: Console) -> int:
    model = find(options.model, options.floating_base)
    if options.json:
        console.file.write(json.dumps(as_data(model), ensure_ascii=False) + "\n")
    else:
        console.print(summary(model))
        console.print(as_table(model, options.most))
    return 0


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a model, for ``find``."""
    parser.add_argument(
        "model",
        metavar="FILE|ROBOT|MECHANISM",
        help="a URDF or MJCF file, a robot that `linkwork robots` lists, or a built-in mechanism, as in "
        "serial_chain:10:spherical; there are " + ", ".join(mechanisms.NAMES),
    )
    parser.add_argument("--floating-base", action="store_true", help="put the root on a free joint")


def find(text: str, floating_base: bool = False) -> Model:
    """The model of a file, the built-in mechanism of that name, or the robot."""
    path = Path(text)
    if path.suffix in (".urdf", ".xml", ".mjcf") or path.exists() or len(path.parts) > 1:
        return load(path, floating_base=floating_base)
    if text.partition(":")[0] in mechanisms.NAMES:
        return mechanisms.by_name(text, floating_base=floating_base)
    robot = robots.find(text)
    if isinstance(robot, robots.Robot):
        return load(text, floating_base=floating_base)
    try:
        return mechanisms.by_name(text)
    except UnknownNameError as error:
        raise ArgumentError(f"{text}: there is no such file, {robot}; {error}") from None
