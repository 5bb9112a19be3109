"""Figures like Figure 4 of the paper: the tree of links, with the operations at each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork_lab.reproduce.pictures import figure

PANELS = {
    "a": "step 1, outward: X",
    "b": "step 2, inward: L",
    "c": "step 3, outward: Ω of a link",
    "d": "step 4, outward: Ω of two links",
}
"""The panels of the paper's figure."""


def steps(data: dict[str, Any]) -> Any:
    """A row for each number of points, a panel for each step of Table 1."""
    picture = figure(11.0, 2.9 * len(data["points"]))
    panels = picture.subplots(len(data["points"]), len(PANELS), squeeze=False)
    for row, points, bodies, counts in zip(panels, data["points"], data["bodies"], data["steps"], strict=True):
        for axes, (panel, title) in zip(row, PANELS.items(), strict=True):
            _tree(axes, data["parents"], bodies, counts[panel])
            axes.set_title(f"({panel}) {title}\n{points} points, {_sum(counts[panel])}", fontsize=9)
    picture.suptitle("Table 1 on a branching robot, as Fig. 4: dotted links need no computation", fontsize=11)
    return picture


def methods(data: dict[str, Any], labels: dict[str, str]) -> Any:
    """A row for each number of points, a panel for each method."""
    picture = figure(13.0, 3.2 * len(data["points"]))
    panels = picture.subplots(len(data["points"]), len(labels), squeeze=False)
    for k, (row, points) in enumerate(zip(panels, data["points"], strict=True)):
        for axes, (name, label) in zip(row, labels.items(), strict=True):
            counts = data["added"][k][name]
            _tree(axes, data["parents"], data["bodies"][k], counts)
            pairs = f"{data['at_points'][k][name]} at points and pairs"
            axes.set_title(f"{label}, {points} points\n{_sum(counts)}\nand {pairs}", fontsize=8)
    picture.suptitle("What points add to the work at each link, by method (operations, as written)", fontsize=11)
    return picture


def _sum(operations: Sequence[int]) -> str:
    visited = sum(count > 0 for count in operations)
    return f"{visited} of {len(operations)} links, {sum(operations)} operations"


def _tree(axes: Any, parents: Sequence[int], points: Sequence[int], operations: Sequence[int]) -> None:
    """Links as nodes below their parents, with the operations there; links without any are dotted."""
    places = _places(parents)
    for link, parent in enumerate(parents, 1):
        (x, y), (px, py) = places[link], places[parent]
        busy = operations[link - 1] > 0
        look = {"color": "C0", "linewidth": 1.6} if busy else {"color": "0.6", "linewidth": 1.0, "linestyle": ":"}
        axes.plot((px, x), (py, y), zorder=1, **look)
        axes.plot(x, y, marker="o", markersize=5, zorder=2, color="C0" if busy else "0.8")
        if busy:
            axes.annotate(str(operations[link - 1]), (x, y), xytext=(4, 3), textcoords="offset points", fontsize=6)
    axes.plot(*places[0], marker="s", markersize=6, color="0.3")
    for link in points:
        x, y = places[link]
        axes.plot(x, y - 0.35, marker="^", markersize=7, color="C3")
    axes.set_axis_off()
    axes.margins(0.08, 0.12)


def _places(parents: Sequence[int]) -> list[tuple[float, float]]:
    """Positions of the nodes: leaves side by side, a parent in the middle above its children; the world is number 0."""
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for link, parent in enumerate(parents, 1):
        children[parent].append(link)
    depth = [0] * len(children)
    for link, parent in enumerate(parents, 1):
        depth[link] = depth[parent] + 1
    x = [0.0] * len(children)
    leaves = 0
    order = [0]
    for node in order:
        order += children[node]
    order_of_leaves: list[int] = []
    ahead = [0]
    while ahead:
        node = ahead.pop()
        order_of_leaves.append(node)
        ahead += reversed(children[node])
    for node in order_of_leaves:
        if not children[node]:
            x[node], leaves = float(leaves), leaves + 1
    for node in reversed(order):
        if children[node]:
            x[node] = sum(x[child] for child in children[node]) / len(children[node])
    return [(x[node], -float(depth[node])) for node in range(len(children))]
