"""Pictures without a display: a figure, and its files."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from linkwork.errors import MissingExtraError


def figure(width: float, height: float) -> Any:
    """An empty figure (inches) that no window shows."""
    try:
        matplotlib = import_module("matplotlib")
        module = import_module("matplotlib.figure")
    except ImportError:
        raise MissingExtraError("pictures need matplotlib: pip install 'linkwork[plot]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "linkwork"  # the same picture, the same file
    return module.Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """The figure as PNG and as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    figure.savefig(png, dpi=100)
    figure.set_layout_engine("none")  # as it was found for the first file: finding it takes longest
    figure.savefig(svg, metadata={"Date": None})
    return [png, svg]
