"""The figures of the experiment."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork_lab.reproduce.counting import KINDS
from linkwork_lab.reproduce.pictures import Styles, figure, lines, save

STYLES: dict[str, dict[str, Any]] = {
    "virtual_work": {"label": "virtual work", "color": "C0", "marker": "o"},
    "unit_vector": {"label": "unit vector", "color": "C3", "marker": "s", "linestyle": "--"},
    "articulated_body": {"label": "articulated body", "color": "0.35", "marker": "^", "linestyle": ":"},
    "composite_body": {"label": "composite body", "color": "C1", "marker": "v", "linestyle": "--"},
    "virtual_work_split": {"label": "as printed, links split", "color": "C2", "marker": "D", "linestyle": "-."},
    "virtual_work_unsplit": {"label": "as printed", "color": "C4", "marker": "x"},
}
"""One style for each method in all figures."""


def draw(data: dict[str, Any], folder: Path) -> list[Path]:
    """All figures, as PNG and as SVG."""
    pictures = {
        "figure4": _swing(data["swings"]["serial"], "30-DoF serial chain", azimuth=0.0, elevation=0.0),
        "figure5": _swing(data["swings"]["branched"], "30-DoF branched chain", azimuth=-55.0, elevation=20.0),
        "figure6": _serial(data["times"]["serial"]),
        "figure7": _stars(data["times"]["stars"]["rolled"]),
        "stars": _specialised(data["times"]["stars"]["specialised"], data["counts"]["stars"]),
        "long": _long(data["times"]["long"]),
        "counts": _counts(data["counts"]),
        "errors": _errors(data["rounding"]["over_size"], 2),
        "errors_masses": _errors(data["rounding"]["over_ratio"], 3),
    }
    return [file for name, picture in pictures.items() for file in save(picture, folder, name)]


def _swing(data: dict[str, Any], title: str, azimuth: float, elevation: float) -> Any:
    """A panel for each snapshot, with the paths of the tips up to it."""
    times, columns = data["times"], 5
    rows = math.ceil(len(times) / columns)
    ways = _projected(np.array(data["tips"]), azimuth, elevation)  # (steps, tips, 2)
    places = [_projected(np.array(points), azimuth, elevation) for points in data["points"]]
    everything = np.concatenate([ways.reshape(-1, 2), *(place.reshape(-1, 2) for place in places)])
    low, high = everything.min(axis=0) - 0.2, everything.max(axis=0) + 0.2
    width, height = high - low
    picture = figure(10.0, rows * (1.85 * height / width + 0.45) + 0.4)
    panels = picture.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, time, place in zip(panels, times, places, strict=False):
        done = round(time / data["tips_apart"]) + 1
        for tip in range(ways.shape[1]):
            panel.plot(*ways[:done, tip].T, color=f"C{tip}", linewidth=0.8, alpha=0.6)
        for link in place:
            panel.plot(*link.T, color="black", linewidth=1.6, marker="o", markersize=2.5)
        panel.plot(0.0, 0.0, marker="s", color="C3", markersize=5)
        panel.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", title=f"{time:.2f} s")
        panel.title.set_fontsize(9)
        panel.tick_params(labelsize=7)
        panel.locator_params(nbins=4)
    for panel in panels[len(times) :]:
        panel.set_axis_off()
    picture.supxlabel("across (m)", fontsize=9)
    picture.supylabel("up (m)", fontsize=9)
    view = "side view" if not (azimuth or elevation) else f"seen {elevation:.0f}° from above, obliquely"
    picture.suptitle(
        f"{title} of spherical joints, let go at rest (red square: the ground; thin: way of a tip; {view}, m)",
        fontsize=10,
    )
    return picture


def _projected(points: NDArray[np.float64], azimuth: float, elevation: float) -> NDArray[np.float64]:
    """Points in the image plane, by parallel projection; from the -y axis if both angles (degrees) are zero."""
    a, e = math.radians(azimuth), math.radians(elevation)
    right = np.array([math.cos(a), math.sin(a), 0.0])
    up = np.array([-math.sin(a) * math.sin(e), math.cos(a) * math.sin(e), math.cos(e)])
    return np.asarray(points @ np.stack([right, up], axis=1))


PAPER: Styles = {
    "virtual_work_unsplit": {"label": "proposed method", "color": "black", "linestyle": "-"},
    "unit_vector": {"label": "unit vector method", "color": "black", "linestyle": "--"},
    "virtual_work_split": {"label": "proposed method, links split", "color": "black", "linestyle": "-."},
}
"""The paper's lines, in its style."""


def _serial(data: dict[str, Any]) -> Any:
    theirs = {name: PAPER[name] for name in ("virtual_work_unsplit", "unit_vector")}
    return _as_printed(data, theirs, "Figure 6 again: chains of spherical joints")


def _stars(data: dict[str, Any]) -> Any:
    title = "Figure 7 again: end links that hang from one link on a spherical joint"
    unsplit = PAPER["virtual_work_unsplit"] | {"label": "proposed method, links not split"}
    return _as_printed(data, PAPER | {"virtual_work_unsplit": unsplit}, title)


def _as_printed(data: dict[str, Any], theirs: Styles, title: str) -> Any:
    """The paper's lines on its linear axes, then ours beside them."""
    picture = figure(11.0, 4.6)
    paper, beside = picture.subplots(1, 2, sharey=True)
    lines(theirs, paper, data["dof"], {name: data["seconds"][name] for name in theirs}, 1e6)
    lines(STYLES, beside, data["dof"], data["seconds"], 1e6)
    for axes in (paper, beside):
        axes.set(xlabel="degrees of freedom", ylabel="time of a state (µs)", xlim=(0, None), ylim=(0, None))
        axes.tick_params(labelleft=True)
        axes.legend(fontsize=9)
    paper.set_title("the paper's lines", fontsize=10)
    beside.set_title("ours beside them", fontsize=10)
    picture.suptitle(title, fontsize=11)
    return picture


def _specialised(times: dict[str, Any], counts: dict[str, Any]) -> Any:
    picture = figure(11.0, 4.6)
    operations, time = picture.subplots(1, 2)
    within = [k for k, dof in enumerate(counts["dof"]) if dof <= max(times["dof"])] or [0]
    totals = {name: [line[k] for k in within] for name, line in counts["totals"].items() if name != "composite_body"}
    lines(STYLES, operations, [counts["dof"][k] for k in within], totals, 1.0)
    lines(STYLES, time, times["dof"], times["seconds"], 1e6)
    for axes, what, heading in (
        (operations, "operations as written", "operations, whatever the star"),
        (time, "time of a state (µs)", "time, code for this one star"),
    ):
        axes.set(xlabel="degrees of freedom", ylabel=what, ylim=(0, None))
        axes.set_title(heading, fontsize=10)
    picture.legend(*operations.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    picture.suptitle("Stars: operations, and code that knows its star", fontsize=11)
    return picture


def _long(data: dict[str, Any]) -> Any:
    picture = figure(6.5, 4.2)
    axes = picture.subplots()
    lines(STYLES, axes, data["links"], data["seconds"], 1e6, log="xy")
    axes.set(xlabel="links on spherical joints", ylabel="time of a state (µs)")
    axes.set_title("Serial chains beyond the paper's", fontsize=10)
    axes.legend(fontsize=8)
    return picture


def _counts(data: dict[str, Any]) -> Any:
    picture = figure(11.0, 4.4)
    chains, stars, bars = picture.subplots(1, 3)
    for axes, name, title in ((chains, "chains", "chains of spherical joints"), (stars, "stars", "stars")):
        lines(STYLES, axes, data[name]["dof"], data[name]["totals"], 1.0, log="xy")
        axes.set(xlabel="degrees of freedom", ylabel="operations as written")
        axes.set_title(title, fontsize=10)
    chains.legend(fontsize=7)
    mechanism, table = next(iter(data["by_kind"].items()))
    bottom = np.zeros(len(table))
    labels = [STYLES.get(method, {}).get("label", method.replace("_", " ")) for method in table]
    for shade, kind in enumerate(KINDS):
        heights = np.array([row["folded"][kind] for row in table.values()])
        bars.barh(labels, heights, left=bottom, label=kind, color=f"C{shade}")
        bottom += heights
    bars.invert_yaxis()
    bars.set(xlabel="operations, geometry folded in", ylabel="method")
    bars.tick_params(labelsize=8)
    bars.set_title(f"{mechanism}: by kind", fontsize=10)
    bars.legend(fontsize=7, loc="upper right")
    return picture


def _errors(cases: dict[str, Any], columns: int) -> Any:
    """A panel for each case; the legend in an unused place, or below."""
    picture = figure(3.6 * columns + 0.6, 6.8)
    panels = picture.subplots(2, columns, sharey=True).ravel()
    handles: dict[str, Any] = {}
    for axes, case in zip(panels, cases.values(), strict=False):
        lines(STYLES, axes, case["values"], case["errors"], 1.0, log="xy")
        axes.set(xlabel=case["axis"])
        axes.set_title(case["label"], fontsize=10)
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    for axes in panels[::columns]:
        axes.set_ylabel("relative error of q̈")
    if len(cases) < len(panels):
        panels[-1].set_axis_off()
        panels[-1].legend(handles.values(), handles, loc="center", fontsize=9)
    else:
        picture.legend(handles.values(), handles, loc="outside lower center", ncols=3, fontsize=9)
    return picture
