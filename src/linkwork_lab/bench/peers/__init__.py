"""Other libraries, if they are installed: one module each, imported only on request."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from linkwork import Model, UnknownNameError
from linkwork_lab.bench.cases import Case, States
from linkwork_lab.bench.contest import Contestant, UnavailableError

_MODULES = {"pin": "linkwork_lab.bench.peers.pinocchio", "mujoco": "linkwork_lab.bench.peers.mujoco"}
NAMES = tuple(_MODULES)


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
    found: dict[str, Factory] = {}
    notes: dict[str, str] = {}
    for name in names:
        if name not in _MODULES:
            raise UnknownNameError("peer", name, NAMES, "linkwork bench")
        module = import_module(_MODULES[name])
        try:
            notes[name] = module.note()
            found[name] = module.create
        except UnavailableError as error:
            notes[name] = str(error)
    return found, notes
