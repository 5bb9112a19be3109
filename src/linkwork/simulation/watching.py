"""Someone who watches a simulation while it runs, and may pull at bodies: what ``viewer=`` of ``lw.simulate`` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model


class Viewer(Protocol):
    """What a simulation tells a viewer, and asks it; ``lw.show`` makes one."""

    def begin(self, model: Model) -> None:
        """A simulation begins."""

    def pulled(self, q: Array, v: Array) -> Array:
        """The wrench (nbodies, 6) on each body, in its own frame, that a hand exerts."""

    def see(self, t: float, q: Array, v: Array) -> bool:
        """A state at its time (s); whether to go on."""

    def done(self) -> None:
        """The simulation has ended."""


class Ended(Exception):
    """The viewer has had enough."""


def as_viewer(viewer: Any) -> Viewer | None:
    """Checked."""
    if viewer is not None and not all(
        callable(getattr(viewer, name, None)) for name in ("begin", "pulled", "see", "done")
    ):
        raise ArgumentError(f"viewer must be a view, as from lw.show, not {shown(viewer)}")
    return viewer


def with_hand(viewer: Viewer, load: Any) -> Callable[[float, Array, Array], Array]:
    """Wrenches as before, with those that the viewer's hand adds."""

    def both(t: float, q: Array, v: Array) -> Array:
        hand = viewer.pulled(q, v)
        if load is None:
            return hand
        return hand + np.asarray(load(t, q, v) if callable(load) else load)

    return both
