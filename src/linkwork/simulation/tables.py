"""A trajectory as a DataFrame and as plots."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.arguments import is_listed
from linkwork.errors import ArgumentError, MissingExtraError, shown
from linkwork.model.model import Model
from linkwork.pictures import figure, legend, put, write

if TYPE_CHECKING:
    from linkwork.simulation.trajectory import Trajectory

_FORCES = ("fx", "fy", "fz", "mx", "my", "mz")


def dataframe(trajectory: Trajectory) -> Any:
    """A pandas DataFrame with two levels of columns."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise MissingExtraError("to_dataframe needs pandas: pip install 'linkwork[simulation]'") from None
    model = trajectory.model
    columns: dict[tuple[str, str], Any] = {}
    for name in ("q", "v", "a", "tau"):
        labels = coordinates(model, "q" if name == "q" else "v")
        columns |= {(name, label): getattr(trajectory, name)[:, i] for i, label in enumerate(labels)}
    for k in range(trajectory.constraint_forces.shape[1]):
        for i, label in enumerate(_FORCES):
            columns[f"constraint{k + 1}", label] = trajectory.constraint_forces[:, k, i]
    for label, values in zip(("kinetic", "potential"), trajectory.energy, strict=True):
        columns["energy", label] = values
    return pandas.DataFrame(columns, index=pandas.Index(trajectory.t, name="t"))


def plot(trajectory: Trajectory, joints: Any, path: str | Path | None) -> Any:
    """A figure of four panels over time."""
    model = trajectory.model
    chosen = [joints] if isinstance(joints, str) else model.joint_names if joints is None else joints
    if not is_listed(chosen):
        raise ArgumentError(f"joints must be a list of joints' names, not {shown(joints)}")
    picture = figure(9.0, 6.5)
    panels = picture.subplots(2, 2, sharex=True)
    drawn = (("q", "position (rad, m)"), ("v", "velocity (rad/s, m/s)"), ("tau", "driving force (N m, N)"))
    for axes, (name, title) in zip(panels.flat, drawn, strict=False):
        of = "q" if name == "q" else "v"
        labels = coordinates(model, of)
        for joint in chosen:
            index = model.joint_index(joint)
            start = (model.q_start if of == "q" else model.v_start)[index]
            count = getattr(model.bodies[index].joint, f"n{of}")
            for i in range(start, start + count):
                axes.plot(trajectory.t, getattr(trajectory, name)[:, i], linewidth=1.0, label=labels[i])
        axes.set_title(title, fontsize=9, loc="left")
    kinetic, potential = trajectory.energy
    last = panels.flat[-1]
    low = potential.min() if len(trajectory) else 0.0
    for values, label in ((kinetic, "kinetic"), (potential - low, "potential"), (kinetic + potential - low, "total")):
        last.plot(trajectory.t, values, linewidth=1.0, label=label)
    last.set_title(f"energy (J), potential from {low:.4g} J", fontsize=9, loc="left")
    last.legend(fontsize=7)
    if 0 < len(panels.flat[0].lines) <= 12:
        legend(panels.flat[0], fontsize=7)
    for axes in panels.flat:
        axes.grid(True, alpha=0.3)
        axes.tick_params(labelsize=7)
    for axes in panels[-1]:
        axes.set_xlabel("t (s)", fontsize=8)
    put(picture.suptitle("", fontsize=10), model.name)
    if path is not None:
        write(picture, path)
    return picture


def coordinates(model: Model, of: str) -> list[str]:
    """A label for each coordinate of q or v: the joint's name, with an index if the joint has several."""
    labels = []
    for body in model.bodies:
        count = body.joint.nq if of == "q" else body.joint.nv
        labels += [body.joint_name] if count == 1 else [f"{body.joint_name}[{k}]" for k in range(count)]
    return labels
