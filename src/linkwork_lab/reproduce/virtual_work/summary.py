"""The tables of the experiment on the console."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from linkwork.algorithms import STUDIES
from linkwork_lab.reproduce.tables import over, title
from linkwork_lab.reproduce.virtual_work.counts import cheaper_from, power


def summarise(data: dict[str, Any], console: Console) -> None:
    """Print the data of the figures as numbers."""
    for name, swing in data["swings"].items():
        console.print(
            f"{name} chain, 30 DoF: {swing['times'][-1]:.2f} s in steps of {swing['step'] * 1e3:g} ms, "
            f"energy drifts by {swing['drift']:.1e} of the largest kinetic energy, "
            f"{swing['largest_kinetic_energy']:.0f} J"
        )
    times = data["times"]
    for heading, table in (
        ("Figure 6: serial chains, µs for a state", times["serial"]),
        ("Figure 7: stars, µs for a state, code for any mechanism", times["stars"]["rolled"]),
        ("Figure 7: stars, µs for a state, code for one star", times["stars"]["specialised"]),
        ("long chains, µs for a state", times["long"]),
    ):
        title(console, heading)
        over(console, "DoF", table["dof"], table["seconds"], lambda x: f"{x * 1e6:.2f}")
    console.print("- was not measured, or its result was off by more than 1e-8")
    _crossovers(times, console)
    for name, rows in data["counts"]["by_kind"].items():
        title(console, f"operations: {name}")
        _kinds(console, rows)
    for name in ("chains", "stars"):
        found = data["counts"][name]
        text = ", ".join(f"{method} {power(found, method):.2f}" for method in found["totals"])
        console.print(f"\noperations on {name} grow at the end as the power of the size: {text}")
        for method in ("virtual_work", *STUDIES):
            console.print(f"{name}, operations: {method} {_where(cheaper_from(found, method))} unit vector")
    for kind in ("over_size", "over_ratio"):
        for case in data["rounding"][kind].values():
            title(console, f"error: {case['label']}")
            over(console, case["axis"], case["values"], case["errors"], lambda x: f"{x:.0e}")


def _crossovers(times: dict[str, Any], console: Console) -> None:
    for label, found in (
        ("serial chains", times["serial"]),
        ("stars", times["stars"]["rolled"]),
        ("stars, code for one star", times["stars"]["specialised"]),
    ):
        for method, at in found["crossovers"].items():
            console.print(f"{label}, time: {method} {_where(at)} unit vector")


def _where(at: float | None) -> str:
    return "never costs less than" if at is None else f"costs less from {at:.1f} DoF on than"


def _kinds(console: Console, rows: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("method")
    kinds = list(next(iter(rows.values()))["folded"])
    for name in (*kinds, "total, folded", "total, as written"):
        table.add_column(name, justify="right")
    for method, row in rows.items():
        totals = (sum(row["folded"].values()), sum(row["written"].values()))
        table.add_row(method, *(str(n) for n in (*row["folded"].values(), *totals)))
    console.print(table)
