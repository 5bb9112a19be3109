"""Someone who watches a simulation while it runs, and may pull at bodies: what ``viewer=`` of ``lw.simulate`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, shown
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model


class Seen(NamedTuple):
    """A state of a simulation that runs: its time (s), as much of it as ``lw.Trajectory`` has, and the loads
    (nbodies, 6) on its bodies, each in its own frame, those of the hand among them.
    """

    t: float
    q: Array
    v: Array
    a: Array
    tau: Array
    constraint_forces: Array
    f_ext: Array


class Viewer(Protocol):
    """What a simulation tells a viewer, and asks it; ``lw.show`` makes one."""

    def begin(self, model: Model, constraints: Sequence[Constraint], contacts: Contacts | None) -> None:
        """A simulation begins, whose constraint forces are those of the contacts, if there are any."""

    def pulled(self, q: Array, v: Array) -> Array:
        """The wrench (nbodies, 6) on each body, in its own frame, that a hand exerts."""

    def see(self, state: Seen) -> bool:
        """A state, at its time; whether to go on."""

    def done(self) -> None:
        """The simulation has ended."""


class Ended(Exception):
    """The viewer has had enough."""


def as_viewer(viewer: Any) -> Viewer:
    """Checked."""
    if not all(callable(getattr(viewer, name, None)) for name in ("begin", "pulled", "see", "done")):
        raise ArgumentError(f"viewer must be a view, as from lw.show, not {shown(viewer)}")
    found: Viewer = viewer
    return found


class Watched:
    """A simulation's loads, with those that the viewer's hand adds, and what the viewer sees of its states."""

    def __init__(self, viewer: Viewer, load: Any) -> None:
        self.viewer, self._load, self._last = viewer, load, np.zeros((0, 6))

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Wrenches (nbodies, 6)."""
        self._last = self.viewer.pulled(q, v)
        if self._load is not None:
            self._last = self._last + np.asarray(self._load(t, q, v) if callable(self._load) else self._load)
        return self._last

    def see(self, t: float, q: Array, v: Array, answer: tuple[Array, Array, Array]) -> None:
        """A state, right after its accelerations, driving forces and constraint forces were found."""
        if not self.viewer.see(Seen(t, q, v, *answer, self._last)):
            raise Ended
