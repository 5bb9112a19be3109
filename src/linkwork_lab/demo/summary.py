"""The experiment in words and numbers."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from linkwork_lab.demo.experiment import PAPER_RATE, checks


def summarise(numbers: dict[str, Any], console: Console) -> bool:
    """Print the measurements and the checks; returns whether all hold."""
    table = Table(box=None, show_header=False)
    error = numbers["sampled_position_error"]
    sampled = "not measured" if error is None else f"{1e3 * error:.2g} mm"
    for what, value in (
        ("box off its spline", f"{1e6 * numbers['position_error']:.2g} µm, {1e6 * numbers['rotation_error']:.2g} µrad"),
        (f"the same, controlled {PAPER_RATE:.0f} times a second", sampled),
        (
            "hands accelerated by posture torques",
            f"{numbers['coupling']:.1e} m/s² (outside the null space {numbers['coupling_unprojected']:.3g} m/s²)",
        ),
        ("squeeze off what was commanded", f"{numbers['internal_error']:.1e} N"),
        ("posture changed by up to", f"{numbers['posture_change']:.2f} rad"),
        (
            "work of the joints, change of energy",
            f"{numbers['work']:.4f} J, {numbers['energy_change']:.4f} J",
        ),
        ("largest torque", f"{numbers['effort']:.0%} of its joint's limit"),
        (
            "controller",
            f"{numbers['rate']:.0f} Hz, {numbers['rate'] / PAPER_RATE:.1f} times the paper's {PAPER_RATE:.0f} Hz",
        ),
        ("in batches, on one core", f"{numbers['batch_rate']:,.0f} states a second"),
        (
            "simulation",
            f"{numbers['simulated_seconds']:g} s in {numbers['simulation_seconds']:.2g} s, "
            f"{numbers['simulated_seconds'] / numbers['simulation_seconds']:.1f} times real time",
        ),
    ):
        table.add_row(what, value)
    console.print(table)
    results = checks(numbers)
    for what, (good, words) in results.items():
        console.print(f"{'ok' if good else 'FAILED'}: {what}: {words}")
    return all(good for good, _ in results.values())
