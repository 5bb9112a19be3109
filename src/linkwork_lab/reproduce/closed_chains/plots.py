"""The figures of the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork_lab.reproduce.pictures import Styles, figure, lines, save

STYLES: Styles = {
    "virtual_work": {"label": "virtual work", "color": "C0", "marker": "o"},
    "articulated_body": {"label": "articulated body", "color": "0.35", "marker": "^", "linestyle": ":"},
    "constraint_force": {"label": "constraint force", "color": "C1", "marker": "s", "linestyle": "--"},
    "assembly": {"label": "assembly", "color": "C2", "marker": "D"},
    "recursion": {"label": "virtual work, the recursion alone", "color": "C0", "linestyle": "-."},
    "dense": {"label": "articulated body, loops together", "color": "0.35", "marker": "^", "linestyle": ":"},
}


def draw(data: dict[str, Any], folder: Path) -> list[Path]:
    """All figures, as PNG and as SVG; times only if they were measured."""
    pictures = {"depth": _depth(data["depth"], data["depth_of_loops"])}
    if "times" in data:
        pictures["loops"] = _loops(data["times"]["ladder"])
    return [file for name, picture in pictures.items() for file in save(picture, folder, name)]


def _loops(times: dict[str, Any]) -> Any:
    picture = figure(6.0, 4.0)
    axes = picture.subplots()
    curves = {
        "dense": times["articulated_body"],
        "virtual_work": times["virtual_work"],
        "recursion": times["recursion"],
    }
    lines(STYLES, axes, times["loops"], curves, 1e3, "xy")
    axes.set(xlabel="loops", ylabel="time of one state (ms)", title="a ladder: a closed chain on every link of a spine")
    axes.legend(fontsize=8)
    return picture


def _depth(trees: dict[str, Any], loops: dict[str, Any]) -> Any:
    picture = figure(13.0, 5.6)
    panels = picture.subplots(2, 4).ravel()
    for panel, (name, row) in zip(panels, trees.items(), strict=False):
        lines(STYLES, panel, row["links"], row["path"], 1.0, "xy")
        panel.set(title=name, xlabel="links", ylabel="operations on the longest path")
    for panel, name in zip(panels[len(trees) :], ("ladder", "rope ladder"), strict=True):
        row = loops[name]
        lines(STYLES, panel, row["loops"], row["path"], 1.0, "xy")
        panel.set(title=name, xlabel="loops", ylabel="operations on the longest path")
    panels[0].legend(fontsize=7)
    return picture
