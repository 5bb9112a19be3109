"""The tables of docs/operational-inertia.md."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from linkwork.algorithms import OPERATIONAL
from linkwork_lab.reproduce.markdown import METHODS, across, measured_on, table
from linkwork_lab.reproduce.operational_inertia.growth import winners


def tables(data: dict[str, Any]) -> dict[str, str]:
    """The tables, by their places on the page."""
    chains, trees = data["over_links"]["chains"], data["over_links"]["trees"]
    fan, tree = data["over_points"]["fan"], data["over_points"]["tree"]
    dense = ("chang_khatib", "sparse", "dense", "explicit_inverse")
    few = [k for k, time in enumerate(chains["seconds"]["explicit_inverse"]) if time is not None]
    micro = {name: [_micro(time) for time in chains["seconds"][name]] for name in (*OPERATIONAL, "explicit_inverse")}
    return {
        "machine": measured_on(data),
        "claims": _claims(data),
        "humanoid": _humanoid(data["humanoid"]),
        "many_points": _many_points([*data.get("many_points", {}).values()]),
        "on_the_ground": _on_the_ground([*data.get("on_the_ground", {}).values()]),
        "visits": _visits(data["visits"]),
        "growth": table(
            [
                "operations as written",
                "for each link of a chain, 2 points",
                "third differences over the points of a fan",
            ],
            [[METHODS[m], *_growth(chains, fan, m)] for m in OPERATIONAL],
        ),
        "baseline": across(
            "µs of Λ⁻¹ (operations as written), chain, 2 points",
            [f"{chains['links'][k]} links" for k in few],
            {m: [f"{1e6 * chains['seconds'][m][k]:.1f} ({chains['operations'][m][k]:,})" for k in few] for m in dense},
            "",
        ),
        "chains": across("µs of Λ⁻¹, chain, 2 points", chains["links"], micro, ".1f"),
        "trees": across(
            "µs of Λ⁻¹, binary tree, 2 points",
            trees["links"],
            {name: [_micro(time) for time in trees["seconds"][name]] for name in OPERATIONAL},
            ".1f",
        ),
        "points": across(
            f"operations as written, tree of {tree['links'][0]} links, points",
            tree["points"],
            {name: tree["operations"][name] for name in OPERATIONAL}
            | {"then Λ from Λ⁻¹ (step 6)": data["inversion"]["operations"]},
            ",",
        ),
        "map": "\n\n".join(_map(name, grid) for name, grid in data["map"].items()),
    }


def _claims(data: dict[str, Any]) -> str:
    seconds, servo, paper = data["humanoid"]["seconds"], data["servo"], data["humanoid"]["paper"]
    call, code = seconds["call"]["chang_khatib"], seconds["code"]["chang_khatib"]
    rates = [1.0 / servo[what] for what in ("control", "simulated")]
    chains, fan = data["over_links"]["chains"], data["over_points"]["fan"]
    (slope, thirds), visits = _growth(chains, fan, "chang_khatib"), data["visits"]
    explicit = [k for k, time in enumerate(chains["seconds"]["explicit_inverse"]) if time is not None]
    last = explicit[-1]
    faster, fewer = (
        chains[what]["explicit_inverse"][last] / chains[what]["chang_khatib"][last]
        for what in ("seconds", "operations")
    )
    busy = [sum(count > 0 for count in row["d"]) for row in visits["steps"]]
    return table(
        ["the paper says", "here", ""],
        [
            [
                "Λ of the 24-link humanoid at both hands in less than 1 ms (266 MHz Pentium II)",
                f"{1e6 * call:.1f} µs as a call from Python, {1e6 * code:.2f} µs the code alone",
                f"agrees; 1 ms is {paper['seconds'] / call:.0f} and {paper['seconds'] / code:.0f} times that",
            ],
            [
                "a servo rate of 300 Hz with it",
                f"{rates[0]:,.0f} Hz, with the simulated robot {rates[1]:,.0f} Hz, with a posture and "
                "without the box; `linkwork demo` times the controller with it ([control.md](control.md))",
                f"{rates[0] / paper['hertz']:.0f} and {rates[1] / paper['hertz']:.0f} times",
            ],
            [
                "no computation on links off the paths (Fig. 4)",
                f"step 4 visits {' and '.join(map(str, busy))} of {len(visits['parents'])} links "
                f"for {' and '.join(map(str, visits['points']))} points",
                "agrees",
            ],
            ["O(n) for a fixed number of points", f"{slope} more operations for each link of a chain", "agrees"],
            ["O(nm + m³)", f"third differences of Λ⁻¹ over m are {thirds}, so nm + m²; its inversion m³", "agrees"],
            [
                "much better than the symbolic method, O(n³ + m³), as n grows",
                f"at {chains['links'][last]} links of a chain {fewer:.0f} times fewer operations than with A⁻¹ formed, "
                f"{faster:.0f} times faster",
                "agrees for long mechanisms",
            ],
        ],
    )


def _humanoid(data: dict[str, Any]) -> str:
    rows = []
    for method, counts in data["operations"].items():
        totals = {form: sum(counts["inertia"][form].values()) for form in ("folded", "written")}
        times = [f"{1e6 * data['seconds'][what][method]:.2f} µs" for what in ("call", "code", "batch")]
        rows.append([METHODS[method], *times, f"{totals['folded']} ({totals['written']})"])
    heading = ["one Λ", "call from Python", "code alone", "in a batch", "operations, folded (as written)"]
    return table(heading, rows)


def _on_the_ground(runs: list[dict[str, Any]]) -> str:
    rows = []
    for run in runs:
        law, whole = run["shown"]["law"], run["shown"]["whole_body"]
        times = [run["seconds"][name] for name in ("law", "whole_body")]
        rows.append(
            [
                run["points"], run["rows"], "kernel" if run["compiled"] else "NumPy",
                *(f"{1e6 * time:,.0f} µs, {1.0 / time:,.0f} Hz" for time in times),
                *(f"{seen['off'] * 1e3:.2f} mm, {seen['feet'] * 1e3:.2f} mm" for seen in (law, whole)),
                *(f"{max(seen['least'], 0.0):.0f} N, {seen['friction']:.2f}" for seen in (law, whole)),
            ]
        )  # fmt: skip
    header = [
        "points", "rows", "the law is", "the law", "whole-body", "the law: points off, feet moved",
        "whole-body: the same", "the law: least push of a corner, friction used", "whole-body: the same",
    ]  # fmt: skip
    return table(header, rows)


def _many_points(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["points"], run["rows"], f"{1e6 * run['seconds']['inverse']:.1f} µs",
            f"{1e6 * run['seconds']['control']:.0f} µs", f"{1.0 / run['seconds']['control']:,.0f} Hz",
            f"{1e6 * run['off']:.0f} µm", f"{1e6 * run['feet']:.1f} µm",
        ]
        for run in runs
    ]  # fmt: skip
    heading = ["points", "rows", "Λ⁻¹", "the law", "rate", "points off by at most", "feet moved by at most"]
    return table(heading, rows)


def _visits(data: dict[str, Any]) -> str:
    rows = []
    for k, points in enumerate(data["points"]):
        for method, row in data["added"][k].items():
            links = sum(count > 0 for count in row)
            rows.append([points, METHODS[method], links, f"{sum(row):,}", f"{data['at_points'][k][method]:,}"])
    return table(["points", "method", "links visited", "operations there", "at points and pairs"], rows)


def _growth(chains: dict[str, Any], fan: dict[str, Any], method: str) -> tuple[str, str]:
    counts = [(n, x) for n, x in zip(chains["links"], chains["operations"][method], strict=True) if x is not None]
    slopes = {(b - a) / (m - n) for (n, a), (m, b) in pairwise(counts)}
    thirds = fan["operations"][method]
    for _ in range(3):
        thirds = [b - a for a, b in pairwise(thirds)]
    differences = "0" if not any(thirds) else ", ".join(map(str, thirds))
    return f"{slopes.pop():,.0f}" if len(slopes) == 1 else "not linear", differences


def _map(name: str, grid: dict[str, Any]) -> str:
    rows = [
        [points, *(f"{METHODS[m]} ({row['chang_khatib'][k] / row[m][k]:.1f})" for k, m in enumerate(winners(row)))]
        for points, row in zip(grid["points"], grid["seconds"], strict=True)
    ]
    return table([f"{name}: points", *(f"{n} links" for n in grid["links"])], rows)


def _micro(time: float | None) -> float | None:
    return None if time is None else 1e6 * time
