"""The tables of the experiment on the console."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from linkwork_lab.reproduce.constraint_force.plots import STYLES, TITLES
from linkwork_lab.reproduce.tables import over, title


def summarise(data: dict[str, Any], console: Console) -> None:
    """Print the data of the figures as numbers."""
    console.print(f"{data['machine']['lanes']} lanes, {data['machine']['cores']} threads")
    for name, found in data["times"].items():
        title(console, f"{TITLES[name]}: ns of a state for each link")
        over(console, "links", found["links"], _each(found["seconds"], found["links"]), lambda x: f"{x * 1e9:.1f}")
        title(console, f"{TITLES[name]}: times as fast as articulated bodies")
        over(console, "links", found["links"], _ratios(found["seconds"]), lambda x: f"{x:.2f}")
    console.print("- was not measured, or its result was off by more than 1e-8")
    for name, found in data.get("pieces", {}).items():
        title(console, f"{TITLES[name]}, {found['links']} links: µs of a state")
        over(
            console,
            "pieces",
            found["pieces"],
            {form: found[form] for form in ("lanes", "team")},
            lambda x: f"{x * 1e6:.0f}",
        )
    for name, found in data["growth"].items():
        title(console, f"{TITLES[name]}: steps (loops), operations that follow each other on one processor a link")
        over(console, "links", found["links"], {"steps": found["depth"], "span": found["span"]}, str)
        title(console, f"{TITLES[name]}: operations on the longest path, whatever the processors")
        over(console, "links", found["links"], found["path"], str)
        title(console, f"{TITLES[name]}: operations for each link")
        columns = _each(found["work"], found["links"])
        over(console, "links", found["links"], columns, lambda x: f"{x:.0f}")
    links = data["settings"]["operations"]
    for name, rows in data["operations"].items():
        text = ", ".join(f"{method} {row['folded']} ({row['written']})" for method, row in rows.items())
        console.print(f"{TITLES[name]}, {links} links, operations folded (as written): {text}")
    _gains([*data["gains"].values()], console)
    found = data["branches"]
    title(console, "side branches of log₂ N links on every link of a chain")
    columns = {"bodies": found["bodies"]} | {
        f"{what}, {name}": line for what in ("depth", "time", "path") for name, line in found[what].items()
    }
    counts = {"branched": found["bodies"], "plain": found["links"]}
    columns |= {f"work a body, {name}": _each({name: line}, counts[name])[name] for name, line in found["work"].items()}
    over(console, "links", found["links"], columns, lambda x: f"{x:.0f}")
    console.print(f"largest difference from articulated bodies: {max(found['difference']):.0e}")
    _claim(data["claim"], data["bias"], console)
    for case in data["rounding"].values():
        title(console, f"error: {case['label']}")
        over(console, case["axis"], case["values"], case["errors"], lambda x: f"{x:.0e}")


def _claim(claim: dict[str, Any], bias: dict[str, Any], console: Console) -> None:
    for what, unit in (
        ("error against 50 digits, lengths in metres", "m"),
        ("the same, lengths in millimetres", "mm"),
        ("how far results in the two units differ", "units"),
    ):
        title(console, f"chains of {claim['links']} links: {what}")
        table = Table(box=None, pad_edge=False)
        for heading in ("joints", *claim[unit]):
            table.add_column(heading, justify="left" if heading == "joints" else "right")
        for k, joints in enumerate(claim["joints"]):
            table.add_row(joints, *(f"{row[k]:.0e}" for row in claim[unit].values()))
        console.print(table)
    title(console, "side branches of log₂ N links: error with and without their bias forces")
    over(console, "links", bias["links"], {what: bias[what] for what in ("with", "without")}, lambda x: f"{x:.0e}")


def _each(lines: dict[str, list[Any]], counts: list[int]) -> dict[str, list[Any]]:
    return {
        name: [None if x is None else x / count for x, count in zip(line, counts, strict=True)]
        for name, line in lines.items()
    }


def _ratios(seconds: dict[str, list[float | None]]) -> dict[str, list[float | None]]:
    """The ratio of the articulated-body algorithm's time to that of each other method."""
    base = seconds["articulated_body"]
    return {
        name: [None if b is None or x is None else b / x for b, x in zip(base, line, strict=True)]
        for name, line in seconds.items()
        if name != "articulated_body"
    }


def _gains(gains: list[dict[str, Any]], console: Console) -> None:
    for machine in gains[0]["machines"]:
        title(console, f"parallel hinges, {machine}: times sooner than articulated bodies on one processor")
        columns: dict[str, dict[int, str]] = {}
        for found in gains:
            for name, line in found["machines"][machine].items():
                what = STYLES[name]["label"] if name == "constraint_force" else f"in {found['segments']} segments"
                cells = zip(line["processors"], line["gain"], line["messages"], strict=True)
                columns[f"{found['links']} links, {what}"] = {p: f"{gain:.2f} ({m:.0%})" for p, gain, m in cells}
        counts = max((list(column) for column in columns.values()), key=len)
        over(console, "processors", counts, {name: [c.get(p) for p in counts] for name, c in columns.items()}, str)
    console.print("in parentheses: what part of the path that decides the time are messages")
