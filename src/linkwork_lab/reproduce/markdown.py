"""Tables of a page in Markdown, generated from measured data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

METHODS = {
    "chang_khatib": "Chang, Khatib",
    "extended_propagator": "extended propagators",
    "pv": "PV-OSIMr",
    "sparse": "sparse rows",
    "dense": "J M⁻¹ Jᵀ, sparse factors",
    "explicit_inverse": "J A⁻¹ Jᵀ, A⁻¹ formed",
    "articulated_body": "articulated body",
    "virtual_work": "virtual work",
    "constraint_force": "constraint force",
}
"""The names of methods on pages."""


def table(heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; None is a dash."""
    lines = [f"| {' | '.join(heading)} |", "|---" * len(heading) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join('-' if x is None else str(x) for x in row)} |" for row in rows)])


def across(corner: str, columns: Sequence[Any], lines: Mapping[str, Sequence[Any]], form: str) -> str:
    """A row for each line, a column for each value of the independent variable."""
    rows = [
        [METHODS.get(name, name), *(None if x is None else format(x, form) for x in line)]
        for name, line in lines.items()
    ]
    return table([corner, *(f"{column:,}" if isinstance(column, int) else column for column in columns)], rows)


IDLE = 0.5
"""The load of the last minute before a measurement up to which a machine is idle."""


def measured_on(data: Mapping[str, Any]) -> str:
    """The machine, and the commits and conditions of times and errors."""
    machine, runs = data["machine"], dict[tuple[Any, ...], list[str]]()
    for place, stamp in data["stamps"].items():
        runs.setdefault((stamp["commit"], stamp["when"][:10], stamp["load"]), []).append(place)
    told = "; ".join(
        f"commit {commit}, {day}, {_state(load)}" + (f": {', '.join(places)}" if len(runs) > 1 else "")
        for (commit, day, load), places in runs.items()
    )
    return (
        f"Times and errors were measured on {machine['cores']} cores of {machine['cpu']} ({machine['lanes']} lanes); "
        f"{told}. Counts are exact, and those of the code: a test computes them again. The data are in docs/data."
    )


def _state(load: float | None) -> str:
    if load is not None and load <= IDLE:
        return f"the machine otherwise idle (load {load})"
    return f"under a load of {load} before, so that times may be off by half"


def load_of(data: Mapping[str, Any]) -> float:
    """The largest load of a machine before times of these data were measured."""
    return max((stamp["load"] or 0.0 for stamp in data["stamps"].values()), default=0.0)
