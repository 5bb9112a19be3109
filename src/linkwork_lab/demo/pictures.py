"""The paper's Figures 5 and 6 reproduced, and an animation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkwork import Trajectory, animate, motion_sequence, save_html
from linkwork.pictures import figure, write
from linkwork_lab.demo.scene import LOWERING, SIZE, Scene

VIEW = (-55.0, 12.0)


def draw(scene: Scene, motion: Trajectory, data: dict[str, Any], folder: Path, moving: bool = True) -> list[Path]:
    """Write sequence.png, curves.png, motion.html, which plays in a browser, and, if ``moving``, motion.gif."""
    boxes = {"box": SIZE}
    sequence = folder / "sequence.png"
    times = np.linspace(0.0, LOWERING, 7)
    motion_sequence(motion, times, sequence, boxes=boxes, view=VIEW, trails=["box"], ground=0.0)
    files = [sequence, write(_curves(scene, data["curves"]), folder / "curves.png")]
    title = "a humanoid puts a box on the floor"
    page = folder / "motion.html"
    files.append(save_html(motion, page, boxes=boxes, view=VIEW, trails=["box"], ground=0.0, title=title))
    if moving:
        files.append(animate(motion, folder / "motion.gif", boxes=boxes, view=VIEW, trails=["box"], ground=0.0))
    return files


def _curves(scene: Scene, curves: dict[str, Any]) -> Any:
    """Figure 6, and quantities that the paper describes in words."""
    picture = figure(10.0, 7.5)
    t = np.array(curves["t"])
    for place, (title, unit, columns, paint) in enumerate(
        [
            ("the box, on the spline it was told to follow (dots)", "position (m)", 2, _position),
            ("the box off its spline, which stops with a jump of acceleration", "off by (µm, µrad)", 2, _errors),
            ("how the posture had to change", "change of angle (rad)", 2, _posture),
            ("the hands' squeeze, on what was commanded (dots)", "force (N)", 1, _squeeze),
        ],
        1,
    ):
        axes = picture.add_subplot(2, 2, place)
        paint(axes, t, curves, scene)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("time (s)")
        axes.set_ylabel(unit)
        axes.axvline(LOWERING, color="0.7", linewidth=0.8)
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=7, ncols=columns)
    return picture


def _position(axes: Any, t: Any, curves: dict[str, Any], scene: Scene) -> None:
    for k, name in enumerate(("x, forward", "y, left", "z, up")):
        (line,) = axes.plot(t, np.array(curves["position"])[:, k], label=name)
        axes.plot(t[::10], np.array(curves["reference"])[::10, k], ".", color=line.get_color(), markersize=5)
    axes.axhline(0.5 * SIZE[2], color="0.5", linestyle=":", linewidth=1.0, label="z on the floor")


def _errors(axes: Any, t: Any, curves: dict[str, Any], scene: Scene) -> None:
    for k, name in enumerate("xyz"):
        (line,) = axes.plot(t, 1e6 * np.array(curves["position_error"])[:, k], label=name)
        axes.plot(t, 1e6 * np.array(curves["rotation_error"])[:, k], ":", color=line.get_color(), label=f"about {name}")


def _posture(axes: Any, t: Any, curves: dict[str, Any], scene: Scene) -> None:
    change = np.array(curves["posture"])
    names = scene.model.joint_names
    for part in ("hip", "knee", "ankle", "waist", "shoulder", "elbow", "wrist"):
        k = names.index(f"{part}_pitch" if part == "waist" else f"left_{part}_pitch")
        axes.plot(t, change[:, k], label=part)
    axes.plot(t, np.abs(change).max(axis=1), ":", color="0.6", label="largest of 24", zorder=0)


def _squeeze(axes: Any, t: Any, curves: dict[str, Any], scene: Scene) -> None:
    for k, name in enumerate(("left hand, along y", "right hand, along y")):
        (line,) = axes.plot(t, np.array(curves["internal"])[:, k, 1], label=name)
        axes.plot(t[::10], np.array(curves["internal_command"])[::10, k, 1], ".", color=line.get_color(), markersize=5)
