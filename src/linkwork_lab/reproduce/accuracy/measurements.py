"""The whole experiment, in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork_lab.reproduce import rounding
from linkwork_lab.reproduce.accuracy import algorithms
from linkwork_lab.reproduce.accuracy.cases import CASES
from linkwork_lab.reproduce.accuracy.methods import METHODS, methods
from linkwork_lab.reproduce.parts import Parts, Say, measured


@dataclass(frozen=True)
class Settings:
    """The extent of the measurements: the worst of so many states."""

    cases: tuple[str, ...] = tuple(CASES)
    states: int = 3
    mechanisms: tuple[str, ...] = tuple(algorithms.MECHANISMS)
    differentiated: tuple[str, ...] = tuple(algorithms.DIFFERENTIATED)
    states_of_algorithms: int = 5

    @staticmethod
    def quick() -> Settings:
        return Settings(
            cases=("balls", "star"), states=1, mechanisms=("humanoid",), differentiated=(), states_of_algorithms=1
        )


def parts(quick: bool, say: Say) -> tuple[Settings, Parts]:
    """The parts that ``linkwork reproduce accuracy`` measures."""
    s = Settings.quick() if quick else Settings()
    return s, {
        **{f"errors/{name}": measured(errors, name, s.states, say) for name in s.cases},
        **{
            f"algorithms/{name}": measured(algorithms.errors, name, s.states_of_algorithms, say)
            for name in s.mechanisms
        },
        **{
            f"derivatives/{name}": measured(algorithms.derivatives, name, s.states_of_algorithms, say)
            for name in s.differentiated
        },
    }


def errors(name: str, states: int, say: Say) -> dict[str, Any]:
    """The worst error of every method on a case; None where it cannot be run, or is not installed."""
    say(f"rounding: {CASES[name].label}")
    case = CASES[name]
    model = case.make()
    worst = rounding.worst(model, methods(model), (case.state(model, seed) for seed in range(states)))
    return {method: worst.get(method) for method in METHODS}
