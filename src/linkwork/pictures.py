"""Pictures without a display: a matplotlib figure without a window, and its file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from linkwork.arguments import file_path
from linkwork.errors import ArgumentError, MissingExtraError
from linkwork.files import replacing


def figure(width: float, height: float) -> Any:
    """An empty figure; sizes in inches."""
    try:
        matplotlib = import_module("matplotlib")
        module = import_module("matplotlib.figure")
    except ImportError:
        raise MissingExtraError("pictures need matplotlib: pip install 'linkwork[plot]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "linkwork"  # equal pictures give equal files
    return module.Figure(figsize=(width, height), layout="constrained")


def write(figure: Any, path: str | Path, dpi: float | str = 120, **options: Any) -> Path:
    """Write the figure to a file in the format of its suffix; the options are those of matplotlib's ``savefig``."""
    to = file_path("path", path)
    known = figure.canvas.get_supported_filetypes()
    if to.suffix[1:].lower() not in known:
        raise ArgumentError(f"a picture's name must end in one of .{', .'.join(sorted(known))}; {path} does not")
    with replacing(to) as beside:
        figure.savefig(beside, dpi=dpi, **options)
    return to
