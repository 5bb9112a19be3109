"""Descriptions of a Model: as a printed tree, as HTML for notebooks, and as plain data for JSON."""

from __future__ import annotations

import io
import math
from typing import Any

from rich.table import Table

from linkwork.model.model import WORLD, Body, Model
from linkwork.plain import as_html as escaped
from linkwork.plain import console, one_line


def as_data(model: Model) -> dict[str, Any]:
    """The mechanism as data for JSON; an infinite limit is null."""
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
        "frames": [{"name": frame.name, "body": names[frame.body], "kind": frame.kind} for frame in model.frames],
    }


def summary(model: Model) -> str:
    """One line: number of bodies, mass, degrees of freedom, depth."""
    return (
        f"{one_line(model.name)}: {len(model.bodies)} bodies, {model.mass:.6g} kg, {model.nv} degrees of freedom"
        f" (nq {model.nq}), depth {model.depth}"
    )


DEEPEST_DRAWN = 30
"""A deeper tree is listed with a column of parents instead: its indentation would be too wide."""

_NUMBERS = ("mass kg", "range", "effort")


def as_table(model: Model, most: int) -> Table:
    """The tree as rows, bodies indented under their parents; at most ``most`` bodies."""
    headings, rows = _cells(model, most)
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in _NUMBERS else "left")
    for row in rows:
        table.add_row(*row)
    return table


def as_text(model: Model, most: int) -> str:
    """The summary and the tree."""
    plain = console(file=io.StringIO(), color_system=None)
    with plain.capture() as captured:
        plain.print(as_table(model, most))
    lines = [summary(model), *(line.rstrip() for line in captured.get().splitlines())]
    return "\n".join(lines)


def as_html(model: Model, most: int) -> str:
    """The same as HTML, with names escaped."""
    headings, rows = _cells(model, most)
    right = [heading in _NUMBERS for heading in headings]

    def line(tag: str, cells: list[str]) -> str:
        sides = ("right" if number else "left" for number in right)
        return "".join(
            f'<{tag} style="text-align:{side};white-space:pre">{escaped(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=False)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{line('th', headings)}</tr></thead>"
    # A notebook looks for formulas in HTML, but not in these classes.
    table = '<table class="tex2jax_ignore mathjax_ignore">'
    return f"{table}<caption>{escaped(summary(model))}</caption>{head}<tbody>{body}</tbody></table>"


def _cells(model: Model, most: int) -> tuple[list[str], list[list[str]]]:
    """The headings and the rows of the table."""
    as_tree = model.depth <= DEEPEST_DRAWN
    order = _depth_first(model) if as_tree else [(index, "") for index in range(1, len(model.bodies) + 1)]
    names = (WORLD, *model.body_names)
    headings = ["body", *([] if as_tree else ["parent"]), "joint", "kind", *_NUMBERS, "frames"]
    extra = _extra_frames(model)
    rows = []
    if as_tree or 0 in extra:
        rows.append([WORLD, *[""] * (len(headings) - 2), extra.get(0, "")])
    for index, prefix in order[:most]:
        body = model.bodies[index - 1]
        parent = [] if as_tree else [one_line(names[body.parent])]
        numbers = f"{body.inertia.mass:.4g}", _range(body), _numbers(body.limits.effort)
        joint = one_line(body.joint_name), body.joint.describe()
        rows.append([prefix + one_line(body.name), *parent, *joint, *numbers, extra.get(index, "")])
    if len(model.bodies) > most:
        rows.append([f"... and {len(model.bodies) - most} more"])
    return headings, rows


def _depth_first(model: Model) -> list[tuple[int, str]]:
    """Bodies in the order of a printed tree, each with the lines drawn before its name."""
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
    """Frames that are not a body's or a joint's own, by body: named frames, and links that are merged into bodies."""
    default = {WORLD, *model.body_names, *model.joint_names}
    extra: dict[int, list[str]] = {}
    for frame in model.frames:
        if frame.name not in default and frame.kind != "joint":
            extra.setdefault(frame.body, []).append(frame.name)
    return {body: ", ".join(map(one_line, names)) for body, names in extra.items()}


def _range(body: Body) -> str:
    pairs = zip(body.limits.lower, body.limits.upper, strict=True)
    texts = [f"{low:.3g} to {high:.3g}" for low, high in pairs if math.isfinite(low) or math.isfinite(high)]
    return ", ".join(texts)


def _numbers(values: tuple[float, ...]) -> str:
    finite = [f"{value:.4g}" for value in values if math.isfinite(value)]
    return finite[0] if len(set(finite)) == 1 else ", ".join(finite)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
