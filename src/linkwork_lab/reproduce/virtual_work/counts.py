"""Operations of every forward-dynamics method by kind, on the same mechanisms, and their growth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Any

from linkwork import Model, mechanisms
from linkwork.algorithms import ALGORITHMS, FORWARD_DYNAMICS, STUDIES
from linkwork_lab.reproduce.clock import crossover
from linkwork_lab.reproduce.counting import as_written, folded

METHODS = {name: ALGORITHMS[name] for name in (*FORWARD_DYNAMICS, *STUDIES)}

MECHANISMS: dict[str, Callable[[], Model]] = {
    "humanoid": mechanisms.humanoid,
    "humanoid, floating": lambda: mechanisms.humanoid(floating_base=True),
    "chain of 10 hinges": lambda: mechanisms.serial_chain(10),
    "chain of 10 spherical": lambda: mechanisms.serial_chain(10, "spherical"),
    "star of 12": lambda: mechanisms.star(12),
}

Say = Callable[[str], None]


def by_kind(names: Sequence[str], say: Say) -> dict[str, Any]:
    """For each mechanism and method the operations of each kind, as written and folded."""
    table: dict[str, Any] = {}
    for name in names:
        say(f"counts: {name}")
        model = MECHANISMS[name]()
        table[name] = {
            method: {"written": as_written(entry, model), "folded": folded(entry, model)}
            for method, entry in METHODS.items()
        }
    return table


def growth(make: Callable[[int], Model], sizes: Sequence[int], say: Say) -> dict[str, Any]:
    """Totals as written over a mechanism's size, and the exponent of the growth of each at the end."""
    totals: dict[str, list[int]] = {method: [] for method in METHODS}
    dof = []
    for n in sizes:
        model = make(n)
        say(f"counts: {model.name} of {n}")
        dof.append(model.nv)
        for method, entry in METHODS.items():
            totals[method].append(sum(as_written(entry, model).values()))
    powers = {method: log(counts[-1] / counts[-2]) / log(sizes[-1] / sizes[-2]) for method, counts in totals.items()}
    crossovers = {
        method: crossover(dof, totals["unit_vector"], totals[method]) for method in ("virtual_work", *STUDIES)
    }
    return {"sizes": list(sizes), "dof": dof, "totals": totals, "powers": powers, "crossover_dof": crossovers}
