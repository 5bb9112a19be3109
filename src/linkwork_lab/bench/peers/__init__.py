"""Other libraries, if they are installed: one module each, imported only on request.

The modules:

    pinocchio, mujoco   the same bodies and joints there
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Protocol, TypeVar

from linkwork import Model, UnknownNameError
from linkwork_lab.bench.cases import Case, States
from linkwork_lab.bench.contest import Contestant, UnavailableError

_MODULES = {"pin": "linkwork_lab.bench.peers.pinocchio", "mujoco": "linkwork_lab.bench.peers.mujoco"}
NAMES = tuple(_MODULES)
Source = TypeVar("Source")
Result = TypeVar("Result")


class Peer(Protocol):
    """One library with one model in it."""

    def single(self, case: Case, states: States) -> Contestant | None:
        """The case state by state; None if the library does not compute it."""

    def batch(self, case: Case, states: States, threads: int) -> Contestant | None:
        """The case for all states at once, by the library's own batch or by a loop."""


Factory = Callable[[Model], Peer]
"""Builds the model in a library; raises ``UnavailableError`` if the library cannot represent it."""


def factories(names: list[str]) -> tuple[dict[str, Factory], dict[str, str]]:
    """The factory of each library, and notes: the instructions that its build uses, or why it does not take part."""
    for name in names:
        if name not in _MODULES:
            raise UnknownNameError("peer", name, NAMES, "linkwork bench")
    modules = {name: import_module(_MODULES[name]) for name in names}
    notes, absent = among(modules, lambda _, module: str(module.note()))
    return {name: modules[name].create for name in notes}, {name: (notes | absent)[name] for name in names}


def among(
    sources: Mapping[str, Source], make: Callable[[str, Source], Result]
) -> tuple[dict[str, Result], dict[str, str]]:
    """What is made of each, by name, or why it is unavailable."""
    results, absent = dict[str, Result](), dict[str, str]()
    for name, source in sources.items():
        try:
            results[name] = make(name, source)
        except UnavailableError as error:
            absent[name] = str(error)
    return results, absent
