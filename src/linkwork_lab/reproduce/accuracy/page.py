"""The tables of docs/accuracy.md, and the figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork_lab.reproduce.accuracy.algorithms import COLUMNS, DERIVATIVES, INVERSE
from linkwork_lab.reproduce.accuracy.cases import CASES
from linkwork_lab.reproduce.accuracy.methods import METHODS, OURS
from linkwork_lab.reproduce.markdown import METHODS as LABELS
from linkwork_lab.reproduce.markdown import table
from linkwork_lab.reproduce.pictures import Styles, figure, save
from linkwork_lab.reproduce.virtual_work.plots import STYLES as OF_OURS

NEAR, BEHIND = 10.0, 1e4
"""Methods within the first factor of the best are as good; those beyond the second have lost digits."""
NAMES = LABELS | {"pin WORLD": "Pinocchio, world", "pin LOCAL": "Pinocchio, local", "mujoco": "MuJoCo"}
STYLES: Styles = OF_OURS | {
    "constraint_force": {"color": "C5", "marker": "P"},
    "assembly": {"color": "C2", "marker": "D"},
    "pin WORLD": {"color": "C6", "marker": "1"},
    "pin LOCAL": {"color": "C6", "marker": "2"},
    "mujoco": {"color": "C8", "marker": "*"},
}


def tables(data: dict[str, Any]) -> dict[str, str]:
    """The tables, by their places on the page."""
    errors = data["errors"]
    return {
        "machine": _libraries(data),
        "claims": _advice(errors),
        "errors": table(
            ["relative error of q̈", *(NAMES[name] for name in METHODS)],
            [[CASES[case].label, *map(_short, row.values())] for case, row in errors.items()],
        ),
        "rounding": table(
            ["mechanism", *COLUMNS.values()],
            [[mechanism, *map(_short, row.values())] for mechanism, row in data["algorithms"].items()],
        ),
        "derivatives": table(
            ["derivatives", *DERIVATIVES.values(), f"`{INVERSE}`"],
            [[mechanism, *map(_short, row.values())] for mechanism, row in data.get("derivatives", {}).items()],
        ),
    }


def _libraries(data: dict[str, Any]) -> str:
    """The versions of the libraries; errors of ours are the same on every machine."""
    runs = dict.fromkeys(f"commit {stamp['commit']}, {stamp['when'][:10]}" for stamp in data["stamps"].values())
    versions = data["versions"]
    return (
        f"Pinocchio {versions['pin']}, MuJoCo {versions['mujoco']}; {'; '.join(runs)}. Errors of linkwork are the same "
        "on every machine. The data are in docs/data."
    )


def _short(error: float | None) -> str | None:
    return None if error is None else f"{error:.0e}"


def _advice(errors: dict[str, Any]) -> str:
    rows = []
    for case, row in errors.items():
        ours = {name: row[name] for name in OURS if row[name] is not None}
        best = min(ours.values())
        good = [NAMES[name] for name, error in ours.items() if error <= NEAR * best]
        bad = [f"{NAMES[name]} ({error:.0e})" for name, error in ours.items() if error > BEHIND * best]
        rows.append([CASES[case].label, ", ".join(good), ", ".join(bad) or None])
    return table(["mechanism", "within a digit of the best of ours", "more than four digits behind"], rows)


def draw(data: dict[str, Any], folder: Path) -> list[Path]:
    """The errors: a row for each mechanism, a mark for each method."""
    errors = data["errors"]
    picture = figure(9.0, 1.5 + 0.36 * len(errors))
    axes = picture.subplots()
    for name in METHODS:
        points = [(row[name], y) for y, row in enumerate(errors.values()) if row[name]]
        if points:
            look = STYLES[name] | {"label": NAMES[name], "linestyle": "none", "markersize": 8}
            axes.plot(*zip(*points, strict=True), **look)
    axes.set_xscale("log")
    axes.set_yticks(range(len(errors)), [CASES[case].label for case in errors])
    axes.invert_yaxis()
    axes.set(xlabel="relative error of q̈ (against 50 digits)", ylabel="mechanism")
    axes.grid(True, which="major", alpha=0.3)
    picture.legend(loc="outside lower center", ncols=5, fontsize=8)
    return save(picture, folder, "errors")
