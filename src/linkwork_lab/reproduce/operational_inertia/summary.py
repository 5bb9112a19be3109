"""The tables of the experiment on the console."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from rich.console import Console

from linkwork.algorithms import OPERATIONAL
from linkwork_lab.reproduce.operational_inertia.growth import winners
from linkwork_lab.reproduce.tables import over, title


def summarise(data: dict[str, Any], console: Console) -> None:
    """Print the data of the figures as numbers."""
    _humanoid(data["humanoid"], data["servo"], console)
    _many_points([*data.get("many_points", {}).values()], console)
    bush = f"binary tree of {data['over_points']['tree']['links'][0]} links"
    for heading, axis, found in (
        ("serial chains, 2 points", "links", data["over_links"]["chains"]),
        ("binary trees, 2 points", "links", data["over_links"]["trees"]),
        (bush, "points", data["over_points"]["tree"]),
        ("humanoid", "points", data["over_points"]["humanoid"]),
        (f"fan of {data['over_points']['fan']['links'][0]} links", "points", data["over_points"]["fan"]),
        (f"{bush}, folded", "points", data["over_points"]["tree_folded"]),
        ("humanoid, folded", "points", data["over_points"]["humanoid_folded"]),
        ("humanoid, code for it alone, folded", "points", data["over_points"]["humanoid_specialised"]),
    ):
        title(console, f"{heading}: operations of Λ⁻¹")
        over(console, axis, found[axis], found["operations"] | {"fewest": winners(found["operations"])}, str)
        if "seconds" in found:
            title(console, f"{heading}: µs of Λ⁻¹")
            over(console, axis, found[axis], found["seconds"] | {"fastest": winners(found["seconds"])}, _micro)
    _growth(data, console)
    _visits(data["visits"], console)
    title(console, "operations from Λ⁻¹ to Λ")
    over(console, "points", data["inversion"]["points"], {"operations": data["inversion"]["operations"]}, str)
    for name, found in data["map"].items():
        title(console, f"{name}: the fastest for a number of links and points")
        fastest = [winners(row) for row in found["seconds"]]
        columns = {f"{n} links": [row[k] for row in fastest] for k, n in enumerate(found["links"])}
        over(console, "points", found["points"], columns, str)
    console.print("- was not measured, or its result was off by more than 1e-8")


def _growth(data: dict[str, Any], console: Console) -> None:
    """The orders of growth, as differences of exact counts."""
    title(console, "how operations grow")
    chains, fan = data["over_links"]["chains"], data["over_points"]["fan"]
    for method in OPERATIONAL:
        counts = [(n, count) for n, count in zip(chains["links"], chains["operations"][method], strict=True) if count]
        each = {(b - a) / (m - n) for (n, a), (m, b) in pairwise(counts)}
        text = f"{each.pop():.0f} for each link of a chain" if len(each) == 1 else "not linear in the links of a chain"
        thirds = fan["operations"][method]
        for _ in range(3):
            thirds = [b - a for a, b in pairwise(thirds)]
        console.print(f"{method}: {text}; third differences over the points of the fan {thirds}")


def _visits(data: dict[str, Any], console: Console) -> None:
    """The additional operations due to points, and the number of links where they occur."""
    links = len(data["parents"])
    for points, added, pairs in zip(data["points"], data["added"], data["at_points"], strict=True):
        title(console, f"binary tree of {links} links, {points} points: what the points add, operations as written")
        for method, row in added.items():
            visited = sum(count > 0 for count in row)
            console.print(f"{method}: {sum(row)} at {visited} links, {pairs[method]} at points and pairs of them")


def _humanoid(data: dict[str, Any], servo: dict[str, float], console: Console) -> None:
    paper = data["paper"]
    title(console, f"robot of {data['links']} links, {' and '.join(data['points'])}: one Λ")
    for method, row in data["operations"].items():
        times = {what: seconds[method] for what, seconds in data["seconds"].items()}
        text = ", ".join(
            f"{what} {_micro(time)} µs ({paper['seconds'] / time:.0f} times)" for what, time in times.items()
        )
        total = {form: sum(row["inertia"][form].values()) for form in ("folded", "written")}
        console.print(f"{method}: {text}; {total['folded']} operations ({total['written']} as written)")
    console.print("times: as often as this goes into the paper's 1 ms")
    for what, time in servo.items():
        rate = 1.0 / time
        console.print(f"servo, {what}: {_micro(time)} µs, {rate:.0f} Hz, {rate / paper['hertz']:.0f} times the paper's")


def _many_points(runs: list[dict[str, Any]], console: Console) -> None:
    for run in runs:
        title(console, f"{run['points']} points of a robot of {run['links']} links on its feet, {run['rows']} rows")
        control, inverse = run["seconds"]["control"], run["seconds"]["inverse"]
        console.print(
            f"law {_micro(control)} µs, {1.0 / control:.0f} Hz, of which Λ⁻¹ {_micro(inverse)} µs; "
            f"in {run['simulated']} s of simulation points are off by {1e6 * run['off']:.0f} µm at most, "
            f"the feet moved by {1e6 * run['feet']:.1f} µm"
        )


def _micro(value: Any) -> str:
    return value if isinstance(value, str) else f"{value * 1e6:.2f}"
