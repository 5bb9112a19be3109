"""The figures of the experiment."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

from linkwork_lab.reproduce.constraint_force.parallel import PROCESSORS
from linkwork_lab.reproduce.pictures import figure, lines, save

STYLES: dict[str, dict[str, Any]] = {
    "articulated_body": {"label": "articulated body", "color": "0.35", "marker": "^", "linestyle": ":"},
    "virtual_work": {"label": "virtual work", "color": "C0", "marker": "o"},
    "constraint_force": {"label": "constraint force", "color": "C3", "marker": "s"},
    "constraint_force_scalar": {"label": "constraint force, one lane", "color": "C3", "marker": "s"},
    "constraint_force_lanes": {"label": "constraint force, lanes", "color": "C1", "marker": "v"},
    "constraint_force_team": {"label": "constraint force, lanes and threads", "color": "C2", "marker": "D"},
    "constraint_force_segments": {
        "label": "constraint force, in segments",
        "color": "C1",
        "marker": "v",
        "linestyle": "-.",
    },
    "constraint_force_world": {"label": "constraint force, as the paper has it", "color": "C4", "marker": "x"},
}
"""One style for each method in all figures."""

TITLES = {
    "revolute": "parallel hinges",
    "spherical": "spherical joints",
    "mixed": "hinges, universal, spherical in turn",
    "irregular": "the same in random order",
    "floating": "spherical joints, floating base",
    "branched": "hinges, with side branches",
}


def draw(data: dict[str, Any], folder: Path) -> list[Path]:
    """All figures, as PNG and as SVG; of times and errors only if they were measured."""
    pictures = {
        **({"times": _times(data)} if "times" in data else {}),
        **({"errors": _errors(data["rounding"])} if "rounding" in data else {}),
        "steps": _steps(data["growth"]),
        "processors": _processors([*data["gains"].values()]),
        "branches": _branches(data["branches"]),
        "claim": _claim(data["claim"]),
    }
    return [file for name, picture in pictures.items() for file in save(picture, folder, name)]


def _times(data: dict[str, Any]) -> Any:
    picture = figure(11.0, 7.0)
    panels = picture.subplots(2, 3, sharex=True, sharey=True).ravel()
    lanes, threads = data["machine"]["lanes"], data["machine"]["cores"]
    for axes, (name, chain) in zip(panels, data["times"].items(), strict=False):
        ratios = {
            method: [None if time is None else time / n for time, n in zip(line, chain["links"], strict=True)]
            for method, line in chain["seconds"].items()
        }
        lines(STYLES, axes, chain["links"], ratios, 1e9, log="xy")
        axes.axvline(50.0, color="0.8", linewidth=0.8, zorder=0)
        axes.set_title(TITLES[name], fontsize=10)
    ticks = [30, 50, 100, 200, 300, 500, 1000]
    panels[0].set_yticks(ticks, [str(tick) for tick in ticks])
    for axes in panels[::3]:
        axes.set_ylabel("time of a state (ns a link)")
    for axes in panels[3:]:
        axes.set_xlabel("links")
    for axes in panels[len(data["times"]) :]:
        axes.set_axis_off()
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    picture.suptitle(
        f"One state of a chain: {lanes} lanes, {threads} threads (left of the line: specialised code)",
        fontsize=11,
    )
    return picture


def _steps(growth: dict[str, Any]) -> Any:
    picture = figure(11.0, 7.4)
    (depth, span), (path, work) = picture.subplots(2, 2)
    looks = {name: {"label": TITLES[name], "marker": marker} for name, marker in zip(growth, "osvD", strict=True)}
    for axes, what in ((depth, "depth"), (span, "span")):
        first = next(iter(growth.values()))
        lines(looks, axes, first["links"], {name: row[what] for name, row in growth.items()}, 1.0, log="x")
    links = next(iter(growth.values()))["links"]
    depth.plot(links, [4.0 * log2(n) + 12.0 for n in links], color="0.6", linestyle="--", label="4 log₂ N + 12")
    for name, row in growth.items():
        per_link = [total / n for total, n in zip(row["work"]["constraint_force"], links, strict=True)]
        lines(looks, work, links, {name: per_link}, 1.0, log="x")
    for name, row in growth.items():
        lines(looks, path, links, {name: row["path"]["constraint_force"]}, 1.0, log="xy")
    first = next(iter(growth))
    serial = growth[first]["path"]["articulated_body"]
    path.plot(links, serial, color="0.6", linestyle=":", label=f"articulated body, {TITLES[first]}")
    path.set(xlabel="links N", ylabel="operations (logarithmic)")
    path.set_title("operations on the longest path", fontsize=10)
    path.legend(*[side[-1:] for side in path.get_legend_handles_labels()], fontsize=8)
    work.set_ylim(0.0, None)
    depth.set(xlabel="links N", ylabel="steps", ylim=(0.0, None))
    depth.set_title("steps that must follow each other", fontsize=10)
    span.set(xlabel="links N", ylabel="operations", ylim=(0.0, None))
    span.set_title("operations that must, on N processors", fontsize=10)
    work.set(xlabel="links N", ylabel="operations a link")
    work.set_title("all operations, for each link", fontsize=10)
    for axes in (depth, span, path, work):
        axes.set_xticks(links, [str(n) for n in links], fontsize=7)
    picture.legend(*depth.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    return picture


def _processors(gains: list[dict[str, Any]]) -> Any:
    """A panel for each machine."""
    names = list(gains[0]["machines"])
    picture = figure(12.0, 4.8)
    panels = picture.subplots(1, len(names), sharex=True, sharey=True)
    for axes, machine in zip(panels, names, strict=True):
        for shade, chain in enumerate(gains):
            for name, look in (("constraint_force", "-"), ("constraint_force_segments", ":")):
                line = chain["machines"][machine].get(name)
                if line:
                    what = "" if name == "constraint_force" else f", in {chain['segments']} segments"
                    style = {"color": f"C{shade}", "linestyle": look, "label": f"{chain['links']:,} links{what}"}
                    lines({name: style}, axes, line["processors"], {name: line["gain"]}, 1.0, log="xy")
        axes.axhline(1.0, color="0.35", linewidth=0.8)
        axes.set(xlabel="processors")
        axes.set_title(machine, fontsize=10)
    most = max(line["processors"][-1] for chain in gains for line in chain["machines"][names[0]].values())
    marks = [count for count in PROCESSORS if count <= most]
    panels[0].set_xticks(marks, [f"{count:,}" for count in marks], fontsize=8)
    panels[0].set(ylabel="times sooner than articulated bodies on one")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    picture.suptitle(
        "What processors would gain on a chain of hinges: a schedule of the recorded operations", fontsize=11
    )
    return picture


def _branches(data: dict[str, Any]) -> Any:
    picture = figure(11.0, 4.0)
    depth, time, work = picture.subplots(1, 3)
    looks = {
        "branched": {"label": "with branches of log₂ N links", "color": "C2", "marker": "o"},
        "plain": {"label": "without", "color": "0.35", "marker": "^", "linestyle": ":"},
    }
    links, bodies = data["links"], {"branched": data["bodies"], "plain": data["links"]}
    per_body = {
        name: [total / count for total, count in zip(line, bodies[name], strict=True)]
        for name, line in data["work"].items()
    }
    for axes, values, unit, label in (
        (depth, data["depth"], "steps", "steps that must follow each other"),
        (time, data["time"], "operations", "operations that must, on N processors"),
        (work, per_body, "operations a body", "all operations, for each body"),
    ):
        lines(looks, axes, links, values, 1.0, log="x")
        axes.set(xlabel="links N of the main chain", ylabel=unit, ylim=(0.0, None))
        axes.set_title(label, fontsize=10)
        axes.set_xticks(links, [str(n) for n in links], fontsize=8)
    depth.legend(fontsize=9, loc="lower right")
    return picture


def _claim(claim: dict[str, Any]) -> Any:
    """A row for each kind of joint, a mark for each form."""
    picture = figure(11.0, 4.6)
    panels = picture.subplots(1, 2, sharey=True)
    marks = dict(zip(claim["m"], ("x", "+", "o", "s"), strict=True))
    for axes, unit, what in ((panels[0], "m", "lengths in metres"), (panels[1], "mm", "the same in millimetres")):
        for (form, mark), colour in zip(marks.items(), ("C3", "C1", "C0", "C2"), strict=True):
            axes.plot(claim[unit][form], range(len(claim["joints"])), mark, color=colour, label=form, fillstyle="none")
        axes.set_xscale("log")
        axes.axvline(1e-8, color="0.8", linewidth=0.8, zorder=0)
        axes.set(xlabel="relative error of q̈ (against 50 digits)")
        axes.set_title(what, fontsize=10)
        axes.grid(True, alpha=0.3)
    panels[0].set_yticks(range(len(claim["joints"])), claim["joints"])
    panels[0].set(ylabel="joints of the chain")
    panels[0].invert_yaxis()
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    picture.suptitle(f"Chains of {claim['links']} links: the original algorithm, and this one", fontsize=11)
    return picture


def _errors(cases: dict[str, Any]) -> Any:
    picture = figure(11.0, 6.8)
    panels = picture.subplots(2, 3, sharex=True, sharey=True).ravel()
    for axes, case in zip(panels, cases.values(), strict=True):
        lines(STYLES, axes, case["values"], case["errors"], 1.0, log="xy")
        axes.set_title(case["label"], fontsize=10)
    for axes in panels[::3]:
        axes.set_ylabel("relative error of q̈")
    for axes in panels[3:]:
        axes.set_xlabel("links")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    return picture
