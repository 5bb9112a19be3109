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


def measured_on(data: Mapping[str, Any]) -> str:
    """The machine and the version of the data."""
    machine = data["machine"]
    return (
        f"Measured on {machine['cores']} cores of {machine['cpu']} ({machine['lanes']} lanes, load {machine['load']} "
        f"before), commit {data['commit']}, {data['when'][:10]}; the data are in docs/data."
    )
