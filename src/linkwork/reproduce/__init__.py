"""Experiments of the papers done again, and what these left open: pictures, data and a summary in one folder.

pictures, tables, markdown, clock, counting, steps, longest_path, schedule, truth and rounding are what experiments
share. Each experiment is a package that offers ``measure`` (plain data that JSON can hold), ``draw`` (pictures of
them), ``summarise`` (tables of them on the console) and ``tables`` (those of its page, by their places there; the one
of "claims" says what the paper claims and what was found).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from linkwork.reproduce import closed_chains, constraint_force, operational_inertia, virtual_work


class Experiment(Protocol):
    """What an experiment offers."""

    def measure(self, quick: bool, say: Callable[[str], None]) -> dict[str, Any]: ...

    def draw(self, data: dict[str, Any], folder: Path) -> list[Path]: ...

    def summarise(self, data: dict[str, Any], console: Console) -> None: ...

    def tables(self, data: dict[str, Any]) -> dict[str, str]: ...


EXPERIMENTS: dict[str, Experiment] = {
    "virtual-work": virtual_work,
    "operational-inertia": operational_inertia,
    "constraint-force": constraint_force,
    "closed-chains": closed_chains,
}
"""By the names that the command line takes."""

__all__ = ["EXPERIMENTS", "Experiment"]
