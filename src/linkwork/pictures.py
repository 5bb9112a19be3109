"""Pictures without a display: a matplotlib figure without a window, and its file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from linkwork.arguments import file_path
from linkwork.errors import ArgumentError, MissingExtraError
from linkwork.files import replacing
from linkwork.plain import one_line


def figure(width: float, height: float) -> Any:
    """An empty figure; sizes in inches."""
    try:
        matplotlib = import_module("matplotlib")
        module = import_module("matplotlib.figure")
    except ImportError:
        raise MissingExtraError("pictures need matplotlib: pip install 'linkwork[plot]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "linkwork"  # equal pictures give equal files
    return module.Figure(figsize=(width, height), layout="constrained")


def put(artist: Any, text: str) -> None:
    """Give a matplotlib text its words, to be shown as they stand: a name such as "$x^$" is no formula."""
    artist.set(text=one_line(text), parse_math=False, usetex=False)


def legend(axes: Any, **options: Any) -> None:
    """A legend of all lines with their labels as they stand; matplotlib would leave out those that begin with _."""
    box = axes.legend(axes.lines, [" "] * len(axes.lines), **options)
    for entry, line in zip(box.get_texts(), axes.lines, strict=True):
        put(entry, line.get_label())


def write(figure: Any, path: str | Path, dpi: float | str = 120, **options: Any) -> Path:
    """Write the figure to a file in the format of its suffix; the options are those of matplotlib's ``savefig``."""
    to = file_path("path", path)
    known = figure.canvas.get_supported_filetypes()
    if to.suffix[1:].lower() not in known:
        raise ArgumentError(f"a picture's name must end in one of .{', .'.join(sorted(known))}; {path} does not")
    with replacing(to) as beside:
        figure.savefig(beside, dpi=dpi, **options)
    return to
