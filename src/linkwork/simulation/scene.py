"""A simulation as compiled code repeats it: its step, and the arrays that a step takes and updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.algorithms import STEP_PARTS
from linkwork.compiled.tracing import Shape
from linkwork.dynamics.arguments import Array
from linkwork.engine.spaces import SPACES, Space
from linkwork.simulation.step import Step

RECORDED = 5
"""The number of arrays of the state that are recorded; they are the first."""
NOW, NEXT = "now_", "next_"
"""Before the name of a part of this step, and of the next one."""
_SPACES = {when + name: SPACES[space] for name, space in STEP_PARTS.items() for when in (NOW, NEXT)}
_SPACES |= {"q": SPACES["configuration"]} | dict.fromkeys(("v", "a", "tau", "extra", "said"), SPACES["velocity"])


def spaces_of(names: Iterable[str]) -> list[Space | None]:
    """The space of each argument of a step, by name; None for an argument that belongs to no joints or bodies."""
    return [_SPACES.get(name) for name in names]


@dataclass(frozen=True)
class Scene:
    """A step, and what surrounds it.

    Attributes:
        driven: "nothing", "law", or "given", if a Python function computes driving forces.
        hold: the number of steps between two evaluations of the law; 0 for every evaluation.
        parts: the parts of ``algorithms.step``, by name.
        over_time: those that differ from step to step.
    """

    step: Step
    driven: str
    hold: int = 0
    parts: tuple[str, ...] = ()
    over_time: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Shape]:
        """The parameters of the law, with their shapes."""
        law = self.step.law
        return {f"law_{k:03}": shape for k, shape in enumerate([] if law is None else list(law.shapes.values())[3:])}

    @property
    def state(self) -> dict[str, Shape]:
        """The arrays of the state, which a step updates."""
        model = self.step.model
        shapes: dict[str, Shape] = {"q": (model.nq,)}
        shapes |= dict.fromkeys(("v", "a", "tau"), (model.nv,))
        shapes["wrenches"] = (self.wrenches, 6)
        if self.step.joints:
            shapes["extra"] = (model.nv,)
        if self.hold:
            shapes["said"] = (model.nv,)
        return shapes | {"clock": (2,)}

    @property
    def wrenches(self) -> int:
        """The number of wrenches recorded."""
        touching = self.step.touching
        if touching is None:
            return len(self.step.constraints)
        return touching.points if self.step.contact_forces else 0

    @property
    def given(self) -> dict[str, Shape]:
        """The arguments of a step besides the state; those over time also for the next one."""
        own = {name: SPACES[space].shape(self.step.model, 0) for name, space in STEP_PARTS.items()}
        shapes: dict[str, Shape] = {"dt": (), **{NOW + name: own[name] for name in self.parts}}
        return shapes | {NEXT + name: own[name] for name in self.over_time} | self.parameters

    def rows(self, parts: Mapping[str, Array], parameters: Sequence[Array]) -> dict[str, Array]:
        """The arguments of the steps besides dt, (steps or 1, numbers), from the rows of all parts, and the parameters
        of the law.
        """
        flat = {name: rows.reshape(len(rows), -1) for name, rows in parts.items()}
        after = {NEXT + name: np.vstack([flat[name][1:], flat[name][-1:]]) for name in self.over_time}
        own = {name: array.reshape(1, -1) for name, array in zip(self.parameters, parameters, strict=True)}
        return {NOW + name: rows for name, rows in flat.items()} | after | own

    def key(self, name: str) -> str | None:
        """The key of the code; None if it is not known without tracing."""
        return self.step.key(name, self.parts, self.over_time, self.driven, self.hold)
