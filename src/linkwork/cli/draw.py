"""``linkwork draw``: an image of a model file or a built-in mechanism."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from linkwork.cli.info import add_model, find
from linkwork.dynamics.kinematics import neutral, random_state
from linkwork.errors import ArgumentError
from linkwork.files import harmless
from linkwork.model import Model
from linkwork.plain import one_line
from linkwork.viewer import draw
from linkwork.viewer.camera import VIEW


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--q",
        metavar="Q",
        help="the configuration: all its numbers with commas between them, some as joint=number (a joint of several "
        "numbers: joint=a:b:c), or random; neutral if left out; --q=-1,0 where it begins with a minus",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the picture, .png, .svg or .pdf (NAME.png)")
    parser.add_argument("--force", action="store_true", help="overwrite NAME.png, where --out names no file")
    parser.add_argument("--frames", metavar="NAMES", default="", help="frames to show as axes, commas between them")
    parser.add_argument("--view", type=float, nargs=2, default=VIEW, metavar=("AZIMUTH", "ELEVATION"))
    parser.add_argument("--seed", type=int, default=0, help="of a random configuration (0)")


def run(options: argparse.Namespace, console: Console) -> int:
    model = find(options.model, options.floating_base)
    frames = [name for name in options.frames.split(",") if name]
    path = options.out or _free(Path(f"{harmless(model.name)}.png"), options.force)
    draw(model, configuration(model, options.q, options.seed), frames=frames, view=tuple(options.view), path=path)
    console.print(f"{path}: {one_line(model.name)}, {len(model.bodies)} bodies")
    return 0


def _free(path: Path, force: bool) -> Path:
    """A default path; an error if the file exists, unless ``force``."""
    if not force and os.path.lexists(path):
        raise ArgumentError(f"{path} exists already; pass --force to overwrite it, or another name with --out")
    return path


def configuration(model: Model, text: str | None, seed: int = 0) -> NDArray[np.float64]:
    """The configuration given on the command line."""
    q = neutral(model)
    if text is None:
        return q
    if text == "random":
        return random_state(model, seed)[0]
    parts = text.split(",")
    if "=" not in text:
        numbers = [_number(part) for part in parts]
        if len(numbers) != model.nq:
            raise ArgumentError(f"--q holds {len(numbers)} numbers, but {model.name!r} has nq = {model.nq}")
        return np.array(numbers)
    for part in parts:
        name, _, value = part.partition("=")
        index = model.joint_index(name.strip())
        numbers = [_number(one) for one in value.split(":")]
        start, count = model.q_start[index], model.bodies[index].joint.nq
        if len(numbers) != count:
            raise ArgumentError(f"--q gives {len(numbers)} numbers for joint {name!r}, which has {count}")
        q[start : start + count] = numbers
    return q


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"--q must hold numbers, but has {text!r}") from None
