"""Viewers that watch a running simulation and may pull at bodies: the argument ``viewer=`` of ``lw.simulate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, shown
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model


class Snapshot(NamedTuple):
    """A state of a running simulation: its time (s), the arrays of ``lw.Trajectory``, and the external wrenches
    (nbodies, 6) on its bodies, each in its own frame, including those of the viewer's hand.
    """

    t: float
    q: Array
    v: Array
    a: Array
    tau: Array
    constraint_forces: Array
    f_ext: Array


class Viewer(Protocol):
    """The calls that a simulation makes to a viewer; ``lw.show`` makes one."""

    def begin(self, model: Model, constraints: Sequence[Constraint], contacts: Contacts | None) -> None:
        """A simulation begins; its constraint forces are those of the contacts, if there are any."""

    def pulled(self, q: Array, v: Array) -> Array:
        """The wrench (nbodies, 6) that the hand exerts on each body, in its own frame."""

    def see(self, state: Snapshot) -> bool:
        """Show a state at its time; returns whether to go on."""

    def done(self) -> None:
        """The simulation has ended."""


class ViewerClosed(Exception):
    """The viewer has ended the simulation."""


def as_viewer(viewer: Any) -> Viewer:
    """The viewer, checked."""
    if not all(callable(getattr(viewer, name, None)) for name in ("begin", "pulled", "see", "done")):
        raise ArgumentError(f"viewer must be a view, as from lw.show, not {shown(viewer)}")
    found: Viewer = viewer
    return found


class ViewerLoads:
    """The external wrenches of a simulation, with those that the viewer's hand adds; passes states on to the viewer."""

    def __init__(self, viewer: Viewer, load: Any) -> None:
        self.viewer, self._load, self._last = viewer, load, np.zeros((0, 6))

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The wrenches (nbodies, 6)."""
        self._last = self.viewer.pulled(q, v)
        if self._load is not None:
            self._last = self._last + np.asarray(self._load(t, q, v) if callable(self._load) else self._load)
        return self._last

    def see(self, t: float, q: Array, v: Array, a: Array, tau: Array, wrenches: Array) -> None:
        """Pass a state on, right after its accelerations, driving forces and constraint forces were computed."""
        if not self.viewer.see(Snapshot(t, q, v, a, tau, wrenches, self._last)):
            raise ViewerClosed
