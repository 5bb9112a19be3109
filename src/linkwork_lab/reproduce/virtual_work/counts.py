"""Operations of every forward-dynamics method by kind, on the same mechanisms, and their growth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Any

from linkwork import Model, mechanisms
from linkwork.algorithms import ALGORITHMS, FORWARD_DYNAMICS, STUDIES
from linkwork_lab.reproduce.clock import crossover
from linkwork_lab.reproduce.counting import as_written, folded
from linkwork_lab.reproduce.parts import Say

METHODS = {name: ALGORITHMS[name] for name in (*FORWARD_DYNAMICS, *STUDIES)}

MECHANISMS: dict[str, Callable[[], Model]] = {
    "humanoid": mechanisms.humanoid,
    "humanoid, floating": lambda: mechanisms.humanoid(floating_base=True),
    "chain of 10 hinges": lambda: mechanisms.serial_chain(10),
    "chain of 10 spherical": lambda: mechanisms.serial_chain(10, "spherical"),
    "star of 12": lambda: mechanisms.star(12),
}


def chain(n: int) -> Model:
    return mechanisms.serial_chain(n, "spherical")


def by_kind(make: Callable[[], Model]) -> dict[str, Any]:
    """For each method the operations of each kind, as written and folded."""
    model = make()
    return {
        method: {"written": as_written(entry, model), "folded": folded(entry, model)}
        for method, entry in METHODS.items()
    }


def growth(make: Callable[[int], Model], sizes: Sequence[int], say: Say) -> dict[str, Any]:
    """Totals as written over a mechanism's size."""
    totals: dict[str, list[int]] = {method: [] for method in METHODS}
    dof = []
    for n in sizes:
        model = make(n)
        say(f"counts: {model.name} of {n}")
        dof.append(model.nv)
        for method, entry in METHODS.items():
            totals[method].append(sum(as_written(entry, model).values()))
    return {"sizes": list(sizes), "dof": dof, "totals": totals}


def power(counts: dict[str, Any], method: str) -> float:
    """The exponent of the growth over the size, at the end."""
    (*_, few, many), (*_, less, more) = counts["sizes"], counts["totals"][method]
    return log(more / less) / log(many / few)


def cheaper_from(counts: dict[str, Any], method: str) -> float | None:
    """The degrees of freedom from which on a method costs less than unit vectors."""
    return crossover(counts["dof"], counts["totals"]["unit_vector"], counts["totals"][method])
