"""Experiments of the papers repeated, and questions that these left open: figures and data in one folder, and tables.

Each experiment is a package with ``parts`` (of its data, which JSON can hold), ``draw`` (figures of them)
and ``tables`` (in Markdown, by their places on its page; "claims" compares the paper's claims with the results).

    parts                           data in parts: exact counts; times and errors with the commit of their code
    counting, clock                 operations and times
    steps, longest_path, schedule   parallelism: sequential steps, dependent operations, processors
    truth, rounding                 50 digits, and errors against them
    pictures, markdown              figures, and tables
    operational_inertia, virtual_work, closed_chains, constraint_force, accuracy
                                    the experiments
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from linkwork_lab.reproduce import accuracy, closed_chains, constraint_force, operational_inertia, virtual_work
from linkwork_lab.reproduce.parts import Parts


class Experiment(Protocol):
    """The interface of an experiment."""

    def parts(self, quick: bool, say: Callable[[str], None]) -> tuple[Any, Parts]: ...

    def draw(self, data: dict[str, Any], folder: Path) -> list[Path]: ...

    def tables(self, data: dict[str, Any]) -> dict[str, str]: ...


EXPERIMENTS: dict[str, Experiment] = {
    "virtual-work": virtual_work,
    "operational-inertia": operational_inertia,
    "constraint-force": constraint_force,
    "closed-chains": closed_chains,
    "accuracy": accuracy,
}
"""The experiments by their names on the command line."""

__all__ = ["EXPERIMENTS", "Experiment"]
