"""Tables of a page in Markdown, generated from measured data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    "assembly": "assembly",
    "composite_body": "composite body",
    "unit_vector": "unit vector",
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
    """The machine, the commit and the load of times and errors."""
    runs: dict[str, list[str]] = {}
    for place, stamp in data["stamps"].items():
        runs.setdefault(_run(stamp), []).append(place)
    texts = [
        run + (f" ({', '.join(_groups(places, data['stamps']))})" if len(runs) > 1 else "")
        for run, places in runs.items()
    ]
    busy = load_of(data) > IDLE
    return (
        f"Times and errors were measured on {'; '.join(texts)}. "
        + ("Under such a load times may be off by half. " if busy else "The machine was otherwise idle. ")
        + "Counts are exact, and those of the code: a test counts again. The data are in docs/data."
    )


def _groups(places: Sequence[str], every: Iterable[str]) -> list[str]:
    """Places, those of a whole group by its name."""
    groups: dict[str, list[str]] = {}
    for place in every:
        groups.setdefault(place.split("/")[0], []).append(place)
    return [*dict.fromkeys(p.split("/")[0] if {*groups[p.split("/")[0]]} <= {*places} else p for p in places)]


def _run(stamp: Mapping[str, Any]) -> str:
    return (
        f"{stamp['cores']} cores of {stamp['cpu']}, {stamp['lanes']} lanes, load {stamp['load']} before, "
        f"commit {stamp['commit']}, {stamp['when'][:10]}"
    )


def load_of(data: Mapping[str, Any]) -> float:
    """The largest load of a machine before times of these data were measured."""
    return max((stamp["load"] or 0.0 for stamp in data["stamps"].values()), default=0.0)
