"""``linkwork export``: a function of a mechanism as files for other languages and machines."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from linkwork.cli.info import add_model, find
from linkwork.errors import ArgumentError
from linkwork.exports.export import TARGETS, export
from linkwork.exports.identifiers import default_name
from linkwork.plain import one_line


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("function", metavar="FUNCTION", help="a public function, such as forward_dynamics, or step")
    parser.add_argument("--target", default="c99", metavar="TARGET", help=f"{', '.join(TARGETS)} (c99)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="the folder to write (./MODEL_FUNCTION)")
    parser.add_argument("--name", help="the name of the exported function (MODEL_FUNCTION)")
    parser.add_argument("--frame", action="append", metavar="NAME", help="a frame, of functions of these; repeatable")
    parser.add_argument("--triple", help="the machine, of object, shared and python: aarch64-linux-gnu (this one)")
    parser.add_argument("--cpu", help="its CPU, as LLVM names it, such as cortex-a72 (a plain one)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the function: dt=0.001"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    model = find(options.model, options.floating_base)
    more: dict[str, Any] = dict(map(_option, options.option))
    if options.frame:
        more["frames"] = options.frame
    folder = options.out or Path(default_name(model.name, options.function))
    paths = export(
        options.function, folder, options.target, model=model, name=options.name, triple=options.triple,
        cpu=options.cpu, **more,
    )  # fmt: skip
    for path in paths:
        console.print(one_line(str(path)), highlight=False, soft_wrap=True)
    return 0


def _option(text: str) -> tuple[str, Any]:
    """NAME=VALUE, with a value of JSON: a number, true, a list of names; other text is a name itself."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise ArgumentError(f"--option must be NAME=VALUE, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
