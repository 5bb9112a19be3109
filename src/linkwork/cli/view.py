"""``linkwork view``: a mechanism or a motion in the browser."""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path

import numpy as np
from rich.console import Console

from linkwork.cli.info import find
from linkwork.errors import ArgumentError
from linkwork.model import Model, mechanisms
from linkwork.simulation.trajectory import Trajectory
from linkwork.viewer import show
from linkwork.viewer.looks import SHAPES


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="+",
        metavar="FILE|MECHANISM|RUN.npz",
        help="a URDF or MJCF file, a built-in mechanism, or a trajectory that was saved; several stand side by side",
    )
    parser.add_argument("--model", metavar="FILE|MECHANISM", help="of a trajectory, where it is no built-in mechanism")
    parser.add_argument("--floating-base", action="store_true", help="put the root on a free joint")
    parser.add_argument("--shapes", choices=SHAPES, default="visual", help="what to show of bodies (visual)")
    parser.add_argument(
        "--root", action="append", default=[], metavar="DIR", help="a folder that meshes may be in; may be repeated"
    )
    parser.add_argument("--port", type=int, default=0, help="of the page (any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, open nothing")


def run(options: argparse.Namespace, console: Console) -> int:
    models = [_model_of(text, options) for text in options.what]
    view = show(models, shapes=options.shapes, roots=options.root, port=options.port, browser=not options.no_browser)
    console.print(f"{view.url} shows {', '.join(options.what)}; Ctrl-C ends it")
    console.file.flush()
    view.wait()
    return 0


def _model_of(text: str, options: argparse.Namespace) -> Model | Trajectory:
    if Path(text).suffix.lower() != ".npz":
        return find(text, options.floating_base)
    return Trajectory.load(text, find(options.model or _titles(text), options.floating_base))


def _titles(path: str) -> str:
    """The name of the model of a saved trajectory, if it is a built-in mechanism."""
    try:
        with np.load(path, allow_pickle=False) as file:
            name = str(file["model"])[:100]
    except FileNotFoundError:
        raise ArgumentError(f"there is no file {path}") from None
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise ArgumentError(f"{path} holds no trajectory that Trajectory.save has written") from None
    if name not in mechanisms.NAMES:
        raise ArgumentError(f"{path} is a motion of {name!r}; say with --model which file or mechanism that is")
    return name
