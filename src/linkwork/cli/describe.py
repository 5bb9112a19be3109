"""A Model in words and numbers: as a printed tree, and as plain data for JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.markup import escape
from rich.table import Table

from linkwork.model import WORLD, Body, Model


def as_data(model: Model) -> dict[str, Any]:
    """The mechanism as JSON can hold it; a limit that is infinite is null."""
    names = (WORLD, *model.body_names)
    return {
        "name": model.name,
        "mass": model.mass,
        "nq": model.nq,
        "nv": model.nv,
        "depth": model.depth,
        "gravity": list(model.gravity),
        "bodies": [
            {
                "name": body.name,
                "parent": names[body.parent],
                "mass": body.inertia.mass,
                "joint": {
                    "name": body.joint_name,
                    "kind": body.joint.describe(),
                    "nq": body.joint.nq,
                    "nv": body.joint.nv,
                    "armature": list(body.armature or (0.0,) * body.joint.nv),
                    **{key: [_or_none(x) for x in values] for key, values in vars(body.limits).items()},
                },
            }
            for body in model.bodies
        ],
        "frames": [{"name": frame.name, "body": names[frame.body]} for frame in model.frames],
    }


def summary(model: Model) -> str:
    """One line: how much, how many, how deep."""
    return (
        f"{model.name}: {len(model.bodies)} bodies, {model.mass:.6g} kg, {model.nv} degrees of freedom"
        f" (nq {model.nq}), depth {model.depth}"
    )


DEEPEST_DRAWN = 30
"""A deeper tree is listed with a column of parents instead: its indentation would run off the page."""


def as_table(model: Model, most: int) -> Table:
    """The tree as rows, bodies indented under what carries them; at most so many bodies."""
    drawn = model.depth <= DEEPEST_DRAWN
    order = _depth_first(model) if drawn else [(index, "") for index in range(1, len(model.bodies) + 1)]
    names = (WORLD, *model.body_names)
    table = Table(box=None, pad_edge=False)
    for heading in ("body", "joint", "kind") if drawn else ("body", "parent", "joint", "kind"):
        table.add_column(heading)
    for heading in ("mass kg", "range", "effort"):
        table.add_column(heading, justify="right")
    table.add_column("frames")
    extra = _extra_frames(model)
    if drawn or 0 in extra:
        table.add_row(WORLD, *[""] * (len(table.columns) - 2), extra.get(0, ""))
    for index, prefix in order[:most]:
        body = model.bodies[index - 1]
        table.add_row(
            prefix + escape(body.name),
            *([] if drawn else [escape(names[body.parent])]),
            escape(body.joint_name),
            escape(body.joint.describe()),
            f"{body.inertia.mass:.4g}",
            _range(body),
            _numbers(body.limits.effort),
            extra.get(index, ""),
        )
    if len(model.bodies) > most:
        table.add_row(f"... and {len(model.bodies) - most} more")
    return table


def _depth_first(model: Model) -> list[tuple[int, str]]:
    """Bodies in the order of a printed tree, each with the lines before its name."""
    children: dict[int, list[int]] = {}
    for index, body in enumerate(model.bodies, 1):
        children.setdefault(body.parent, []).append(index)
    order: list[tuple[int, str]] = []
    waiting = [(index, "") for index in reversed(children.get(0, []))]
    while waiting:
        index, margin = waiting.pop()
        last = index == children[model.bodies[index - 1].parent][-1]
        order.append((index, margin + ("└ " if last else "├ ")))
        waiting += [(child, margin + ("  " if last else "│ ")) for child in reversed(children.get(index, []))]
    return order


def _extra_frames(model: Model) -> dict[int, str]:
    """Frames that are not just a body or a joint, by body."""
    own = {WORLD, *model.body_names, *model.joint_names}
    named: dict[int, list[str]] = {}
    for frame in model.frames:
        if frame.name not in own:
            named.setdefault(frame.body, []).append(escape(frame.name))
    return {body: ", ".join(names) for body, names in named.items()}


def _range(body: Body) -> str:
    pairs = zip(body.limits.lower, body.limits.upper, strict=True)
    shown = [f"{low:.3g} to {high:.3g}" for low, high in pairs if math.isfinite(low) or math.isfinite(high)]
    return ", ".join(shown)


def _numbers(values: tuple[float, ...]) -> str:
    finite = [f"{value:.4g}" for value in values if math.isfinite(value)]
    return finite[0] if len(set(finite)) == 1 else ", ".join(finite)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
