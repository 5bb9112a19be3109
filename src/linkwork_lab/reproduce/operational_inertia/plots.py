"""The figures of the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.algorithms import OPERATIONAL
from linkwork_lab.reproduce.operational_inertia import visit_plots
from linkwork_lab.reproduce.operational_inertia.growth import winners
from linkwork_lab.reproduce.pictures import figure, lines, save

STYLES: dict[str, dict[str, Any]] = {
    "chang_khatib": {"label": "Chang, Khatib", "color": "C0", "marker": "o"},
    "extended_propagator": {"label": "extended propagators", "color": "C2", "marker": "D", "linestyle": "-."},
    "pv": {"label": "PV-OSIMr", "color": "C1", "marker": "v"},
    "sparse": {"label": "sparse rows of L⁻ᵀ Jᵀ", "color": "C5", "marker": "^"},
    "dense": {"label": "J M⁻¹ Jᵀ, sparse factors", "color": "0.35", "marker": "s", "linestyle": "--"},
    "explicit_inverse": {"label": "J A⁻¹ Jᵀ, A⁻¹ formed", "color": "C4", "marker": "P", "linestyle": ":"},
    "inversion": {"label": "then Λ from Λ⁻¹ (step 6)", "color": "C3", "marker": "x", "linestyle": ":"},
}
"""One style for each method in all figures."""


def draw(data: dict[str, Any], folder: Path) -> list[Path]:
    """All figures, as PNG and as SVG."""
    pictures = {
        "humanoid": _humanoid(data["humanoid"], data["servo"]),
        "links": _links(data["over_links"]),
        "points": _points(data["over_points"], data["inversion"]),
        "map": _map(data["map"]),
        "figure4": visit_plots.steps(data["visits"]),
        "visits": visit_plots.methods(data["visits"], {name: STYLES[name]["label"] for name in OPERATIONAL}),
    }
    if "many_points" in data:
        pictures["many_points"] = _many_points([*data["many_points"].values()])
    return [file for name, picture in pictures.items() for file in save(picture, folder, name)]


def _humanoid(data: dict[str, Any], servo: dict[str, float]) -> Any:
    """Bars from a tenth of a microsecond on, beside the two times of the paper."""
    picture = figure(9.5, 4.4)
    axes = picture.subplots()
    seconds, paper = data["seconds"], data["paper"]
    looks = {"call": ("a call from Python", 1.0), "code": ("its code alone", 0.6), "batch": ("in a batch", 0.3)}
    names = list(seconds["call"])
    for shift, (what, (label, alpha)) in enumerate(looks.items()):
        places = [k + 0.26 * (shift - 1) for k in range(len(names))]
        times = [1e6 * seconds[what][name] for name in names]
        bars = axes.barh(places, times, 0.24, color="C0", alpha=alpha, label=f"one Λ, {label}")
        axes.bar_label(bars, fmt="%.2g µs", padding=3, fontsize=8)
    steps = [1e6 * servo["control"], 1e6 * servo["simulated"]]
    bars = axes.barh([len(names), len(names) + 0.6], steps, 0.4, color="C2", label="one step of the servo")
    axes.bar_label(bars, fmt="%.3g µs", padding=3, fontsize=8)
    axes.set_yticks(
        [*range(len(names)), len(names), len(names) + 0.6],
        [*(STYLES[name]["label"] for name in names), "control of both hands", "control and simulation"],
    )
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set(xlim=(0.1, 5e4), xlabel="time (µs, logarithmic)", ylabel="method, or step of the servo")
    for micro, text, side in (
        (1e6 * paper["seconds"], "Λ in the paper:\nunder 1 ms", "right"),
        (1e6 / paper["hertz"], "servo in the paper:\n300 Hz, 3333 µs", "left"),
    ):
        axes.axvline(micro, color="C3", linestyle="--", linewidth=1.2)
        axes.annotate(text, (micro, 0.5), xycoords=("data", "axes fraction"), xytext=(4 if side == "left" else -4, 0),
                      textcoords="offset points", ha=side, color="C3", fontsize=9)  # fmt: skip
    picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    title = f"{data['links']} links, both hands (m = 2): here, and the paper's humanoid of 24 on a 266 MHz Pentium II"
    axes.set_title(title, fontsize=10)
    return picture


def _many_points(runs: list[dict[str, Any]]) -> Any:
    """The time of the law, and of Λ⁻¹ in it, over the points."""
    picture = figure(6.5, 4.0)
    axes = picture.subplots()
    points = [run["points"] for run in runs]
    for what, label, look in (("control", "the law, called from Python", "C2"), ("inverse", "Λ⁻¹ alone", "C0")):
        axes.plot(points, [1e6 * run["seconds"][what] for run in runs], marker="o", color=look, label=label)
    axes.set(xlabel="points that are controlled", ylabel="time (µs)", ylim=(0.0, None), xticks=points)
    axes.set_title(f"{runs[0]['links']} links, floating base, both feet on the ground", fontsize=10)
    axes.legend()
    return picture


def _links(data: dict[str, Any]) -> Any:
    picture = figure(9.5, 6.6)
    panels = picture.subplots(2, 2, sharex=True)
    for row, name, what in (
        (panels[0], "chains", "serial chains, points in the middle and at the tip"),
        (panels[1], "trees", "binary trees, points on two leaves"),
    ):
        rows = data[name]
        lines(STYLES, row[0], rows["links"], rows["operations"], 1.0, log="xy")
        lines(STYLES, row[1], rows["links"], rows["seconds"], 1e6, log="xy")
        first = rows["operations"]["chang_khatib"][0] / rows["links"][0]
        row[0].plot(rows["links"], [0.2 * first * n for n in rows["links"]], color="0.75", linewidth=1.0,
                    label="as steep as this: linear in n", zorder=0)  # fmt: skip
        row[0].set_title(what, fontsize=10)
        row[1].set_title(what, fontsize=10)
        row[0].set(ylabel="operations of Λ⁻¹, as written")
        row[1].set(ylabel="time of Λ⁻¹ (µs)")
    marks = [10, 30, 100, 300, 1000]
    for axes in panels[1]:
        axes.set_xticks(marks, [str(n) for n in marks], fontsize=9)
        axes.set_xlabel("links n")
    _legend(picture, panels[0][0])
    picture.suptitle("Two points, more and more links: linear in n, except J M⁻¹ Jᵀ (on chains cubic)", fontsize=11)
    return picture


def _points(data: dict[str, Any], inversion: dict[str, Any]) -> Any:
    picture = figure(11.0, 6.0)
    panels = picture.subplots(2, 3, sharex=True, sharey="col")
    for row, name, what in (
        (panels[0], "tree", f"binary tree of {data['tree']['links'][0]} links, points on leaves"),
        (panels[1], "humanoid", "humanoid of 24 links"),
    ):
        rows, folded = data[name], data[f"{name}_folded"]
        lines(STYLES, row[0], rows["points"], rows["operations"], 1e-3)
        lines(STYLES, row[0], inversion["points"], {"inversion": inversion["operations"]}, 1e-3)
        lines(STYLES, row[1], folded["points"], folded["operations"], 1e-3)
        lines(STYLES, row[2], rows["points"], rows["seconds"], 1e6, log="y")
        row[0].set(ylabel="operations (thousands)")
        row[1].set(ylabel="operations (thousands)")
        row[2].set(ylabel="time (µs, logarithmic)")
        for axes, kind in zip(row, ("as written", "code for it alone", "code for any mechanism"), strict=True):
            axes.set_title(f"{what}:\n{kind}", fontsize=10)
    most = max(x for name in ("tree", "humanoid") for line in data[name]["operations"].values() for x in line if x)
    panels[0][0].set_ylim(0.0, 1.1e-3 * most)
    panels[0][1].set_ylim(0.0, None)
    for axes in panels[1]:
        axes.set_xticks([1, 2, 4, 6, 8, 10, 12, 14, 16])
        axes.set_xlabel("points m")
    _legend(picture, panels[0][0])
    picture.suptitle("Λ⁻¹ of the same mechanism, more and more points", fontsize=11)
    return picture


def _map(data: dict[str, Any]) -> Any:
    """A cell for each number of links and points, in the colour of the fastest method, with its time."""
    picture = figure(10.5, 4.2)
    panels = picture.subplots(1, 2)
    handles: dict[str, Any] = {}
    for axes, name, what in (
        (panels[0], "chains", "serial chains, points along them"),
        (panels[1], "trees", "binary trees, points on leaves"),
    ):
        grid = data[name]
        for y, row in enumerate(grid["seconds"]):
            for x, method in enumerate(winners(row)):
                bar = axes.bar(x, 0.94, 0.94, y - 0.47, color=STYLES[method]["color"], alpha=0.55)
                handles.setdefault(STYLES[method]["label"], bar)
                time = row[method][x]
                text = f"{1e6 * time:.3g} µs\n({row['chang_khatib'][x] / time:.1f})"
                axes.text(x, y, text, ha="center", va="center", fontsize=8)
        axes.set_xticks(range(len(grid["links"])), grid["links"])
        axes.set_yticks(range(len(grid["points"])), grid["points"])
        axes.set(xlabel="links n", ylabel="points m")
        axes.set(xlim=(-0.5, len(grid["links"]) - 0.5), ylim=(-0.5, len(grid["points"]) - 0.5))
        axes.set_title(what, fontsize=10)
    picture.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=9)
    picture.suptitle(
        "The fastest method for Λ⁻¹, its time, and (how many times as long Chang and Khatib's takes)", fontsize=11
    )
    return picture


def _legend(picture: Any, axes: Any) -> None:
    picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
