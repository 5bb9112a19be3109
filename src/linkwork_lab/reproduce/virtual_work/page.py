"""The tables of docs/virtual-work.md."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from linkwork_lab.reproduce.markdown import measured_on, table
from linkwork_lab.reproduce.virtual_work.counts import cheaper_from, power
from linkwork_lab.reproduce.virtual_work.plots import STYLES

ALIKE = 1.25
"""Numbers that differ by no more than this factor are nearly the same."""
STRAIGHT = 0.15
"""A line is straight if no point deviates more from the best straight line, relative to the last point."""


def tables(data: dict[str, Any]) -> dict[str, str]:
    """The tables, by their places on the page."""
    times = data["times"]
    return {
        "machine": measured_on(data),
        "claims": _claims(data),
        "figure6": _over_dof("µs a state, serial chains, DoF", times["serial"]),
        "figure7": _over_dof("µs a state, stars, DoF", times["stars"]["rolled"]),
        "specialised": _over_dof("µs a state, code for one star, DoF", times["stars"]["specialised"]),
        "long": _over_dof("µs a state, links", times["long"], "links"),
        "operations": _operations(data["counts"]["by_kind"]),
        "sizes": _errors(data["rounding"]["over_size"], -1),
        "ratios": _errors(data["rounding"]["over_ratio"], -1),
        "swings": _swings(data["swings"]),
    }


def _label(method: str) -> str:
    return str(STYLES[method]["label"])


def _over_dof(corner: str, times: dict[str, Any], what: str = "dof") -> str:
    def cell(seconds: float | None) -> str | None:
        return None if seconds is None else f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"

    rows = [[_label(method), *map(cell, line)] for method, line in times["seconds"].items()]
    return table([corner, *(f"{x:,}" for x in times[what])], rows)


def _operations(by_kind: dict[str, Any]) -> str:
    def cell(row: dict[str, dict[str, int]]) -> str:
        return f"{sum(row['folded'].values()):,} ({sum(row['written'].values()):,})"

    methods = list(next(iter(by_kind.values())))
    rows = [[_label(method), *(cell(rows[method]) for rows in by_kind.values())] for method in methods]
    return table(["operations, folded (as written)", *by_kind], rows)


def _errors(cases: dict[str, Any], at: int) -> str:
    """The error of every method at the largest size or ratio that it was run with."""
    methods = list(dict.fromkeys(method for case in cases.values() for method in case["errors"]))
    rows = []
    for case in cases.values():
        cells = []
        for method in methods:
            pairs = zip(case["values"], case["errors"].get(method, ()), strict=False)
            points = [(value, error) for value, error in pairs if error is not None]
            value, error = points[at] if points else (None, None)
            where = "" if value in (None, case["values"][at]) else f" at {value:g}"
            cells.append(None if error is None else f"{error:.0e}{where}")
        rows.append([f"{case['label']}; {case['axis']} {case['values'][at]:g}", *cells])
    return table(["error", *map(_label, methods)], rows)


def _swings(swings: dict[str, Any]) -> str:
    rows = [
        [
            f"{name}, 30 DoF", f"{s['step'] * 1e3:g}", f"{s['times'][-1]:.2f}", f"{s['largest_kinetic_energy']:.0f}",
            f"{s['drift']:.1e}",
        ]
        for name, s in swings.items()
    ]  # fmt: skip
    heading = ["chain", "step (ms)", "time (s)", "largest kinetic energy (J)", "drift of the energy, relative to it"]
    return table(heading, rows)


def _claims(data: dict[str, Any]) -> str:
    """The paper's claims, the results, and whether they agree."""
    serial, stars, counts = data["times"]["serial"], data["times"]["stars"]["rolled"], data["counts"]
    printed, split, unsplit, unit = (
        serial["seconds"]["virtual_work_unsplit"],
        *(stars["seconds"][name] for name in ("virtual_work_split", "virtual_work_unsplit", "unit_vector")),
    )
    bent, bent_split = _bend(serial["dof"], printed), _bend(stars["dof"], split)
    at, at_split = serial["crossovers"]["virtual_work_unsplit"], stars["crossovers"]["virtual_work_split"]
    ratios = [a / b for a, b in zip(unsplit, unit, strict=True)]
    alike = [dof for dof, ratio in zip(stars["dof"], ratios, strict=True) if 1 / ALIKE <= ratio <= ALIKE]
    last_power = power(counts["stars"], "virtual_work_unsplit")
    ours = counts["stars"]["totals"]["virtual_work"][-1] / counts["stars"]["totals"]["virtual_work_split"][-1]
    rows = [
        [
            "time grows linearly with the degrees of freedom of a serial chain",
            f"no point is farther from a straight line than {ceil(100 * bent)} % of the longest time",
            _verdict(bent < STRAIGHT),
        ],
        [
            "faster than the unit vector method above 15 DoF",
            _sooner(at, cheaper_from(counts["chains"], "virtual_work_unsplit"), serial["dof"][-1]),
            _from(at, 15.0),
        ],
        [
            "stars without splitting cost nearly what unit vectors cost, for any number of end links",
            f"{min(ratios):.2f} to {max(ratios):.2f} times the time of unit vectors, within a quarter of it "
            + (f"up to {max(alike)} DoF" if alike else "nowhere"),
            _verdict(len(alike) == len(ratios), "agrees on these only" if alike else "does not agree"),
        ],
        [
            "without splitting O(N²) at worst",
            f"the power of N is {last_power:.2f} at the end of the counts, and fourth differences are zero: O(N³)",
            "does not agree",
        ],
        [
            "with splitting time is linear",
            f"no point is farther from a straight line than {ceil(100 * bent_split)} % of the longest time",
            _verdict(bent_split < STRAIGHT),
        ],
        [
            "with splitting faster than unit vectors above 30 DoF",
            _sooner(at_split, cheaper_from(counts["stars"], "virtual_work_split"), stars["dof"][-1]),
            _from(at_split, 30.0),
        ],
        [
            "splitting is needed for O(N)",
            f"not with factors that are folded into the parent: linear on any tree, and with "
            f"{counts['stars']['sizes'][-1]} end links {ours:.2f} times the operations",
            "a better way",
        ],
    ]
    return table(["the paper says", "here", ""], rows)


def _verdict(holds: bool, otherwise: str = "does not agree") -> str:
    return "agrees" if holds else otherwise


def _from(at: float | None, paper: float) -> str:
    """Whether lines cross where they do in the paper."""
    if at is None or at > ALIKE * paper:
        return "does not agree"
    return "agrees, and sooner" if at <= paper else "nearly, but later"


def _sooner(by_time: float | None, by_operations: float | None, last: int) -> str:
    texts = [f"not up to {last} DoF" if at is None else f"above {at:.1f} DoF" for at in (by_time, by_operations)]
    return f"{texts[0]} by time, {texts[1]} by operations as written"


def _bend(x: list[float], y: list[float]) -> float:
    """The deviation of points from the best straight line, relative to the last point."""
    fit = np.polyval(np.polyfit(x, y, 1), x)
    return float(np.abs(fit - y).max() / y[-1])
