"""Lines in a figure, and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linkwork.pictures import figure, write

__all__ = ["Styles", "figure", "lines", "save"]

Styles = dict[str, dict[str, Any]]
"""Styles of lines, by the names of methods."""


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write the figure as PNG and as SVG."""
    png = write(figure, folder / f"{name}.png", dpi=100)
    figure.set_layout_engine("none")  # keep the layout of the first file: computing it takes longest
    return [png, write(figure, folder / f"{name}.svg", "figure", metadata={"Date": None})]


def lines(
    styles: Styles, axes: Any, x: Sequence[float], values: Mapping[str, Sequence[Any]], scale: float, log: str = ""
) -> None:
    """A line for each method, with axes logarithmic as ``log`` says; None is omitted."""
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
    axes.minorticks_off()
    if "x" in log and max(x) < 100 * min(x):
        axes.set_xticks(x, [f"{at:g}" for at in x], fontsize=7)
    for method, numbers in values.items():
        points = [(at, number * scale) for at, number in zip(x, numbers, strict=True) if number is not None]
        if points:
            plain: dict[str, Any] = {
                "label": method.replace("_", " "),
                "marker": ".",
                "markersize": 4,
                "linewidth": 1.2,
            }
            axes.plot(*zip(*points, strict=True), **plain | styles.get(method, {}))
    axes.grid(True, which="major", alpha=0.3)
