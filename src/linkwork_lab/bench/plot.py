"""A plot of time against the length of a chain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.pictures import figure, write


def plot_chains(data: dict[str, Any], path: Path) -> list[Path]:
    """Time of a state against joints, on logarithmic axes, written as PNG and as SVG.

    Returns:
        The files.
    """
    picture = figure(7, 4.5)
    axes = picture.subplots()
    chains = data["chains"]
    lengths = [chain["n"] for chain in chains]
    for kind, marker in (("single", "o"), ("batch", "s")):
        label = "one state" if kind == "single" else "a state of a batch"
        axes.loglog(lengths, [c[kind]["seconds"] for c in chains], f"{marker}-", label=f"linkwork, {label}")
        for name in sorted({name for c in chains for name in c[kind]["peers"]}):
            points = [(c["n"], c[kind]["peers"][name]["seconds"]) for c in chains if _timed(c[kind], name)]
            if points:
                axes.loglog(*zip(*points, strict=True), f"{marker}--", label=f"{name}, {label}")
    axes.set(xlabel="revolute joints in the chain", ylabel="time of a state (s)", title="Forward dynamics, one thread")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize="small")
    return [write(picture, path.with_suffix(suffix), dpi=150) for suffix in (".png", ".svg")]


def _timed(row: dict[str, Any], name: str) -> bool:
    return "seconds" in row["peers"].get(name, {})
