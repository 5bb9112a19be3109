"""Pictures without a display: a matplotlib figure that no window shows, and its file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from linkwork.arguments import file_path
from linkwork.errors import ArgumentError, MissingExtraError
from linkwork.files import replacing


def figure(width: float, height: float) -> Any:
    """An empty figure (inches)."""
    try:
        matplotlib = import_module("matplotlib")
        module = import_module("matplotlib.figure")
    except ImportError:
        raise MissingExtraError("pictures need matplotlib: pip install 'linkwork[plot]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "linkwork"  # the same picture, the same file
    return module.Figure(figsize=(width, height), layout="constrained")


def write(figure: Any, path: str | Path, dpi: float | str = 120, **options: Any) -> Path:
    """The figure as a file of the kind that its name says; the options are those of matplotlib's ``savefig``."""
    to = file_path("path", path)
    known = figure.canvas.get_supported_filetypes()
    if to.suffix[1:].lower() not in known:
        raise ArgumentError(f"a picture's name must end in one of .{', .'.join(sorted(known))}; {path} does not")
    with replacing(to) as beside:
        figure.savefig(beside, dpi=dpi, **options)
    return to
