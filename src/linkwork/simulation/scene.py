"""A simulation as compiled code repeats it: its step, and the arrays that a step takes and updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from linkwork.compiled.tracing import Shape
from linkwork.dynamics.arguments import Array
from linkwork.engine.spaces import SPACES, Space
from linkwork.simulation.step import Step

RECORDED = 5
"""The number of arrays of the state that are recorded; they are the first."""
_SPACES = {"q": SPACES["configuration"], "f_ext": SPACES["wrenches"]}
_SPACES |= dict.fromkeys(("v", "a", "tau", "extra", "following"), SPACES["velocity"])


def spaces_of(names: Iterable[str]) -> list[Space | None]:
    """The space of each argument of a step, by name; None for an argument that belongs to no joints or bodies."""
    return [_SPACES.get(name) for name in names]


@dataclass(frozen=True)
class Scene:
    """A step, and what surrounds it.

    Attributes:
        driven: "nothing", "table", "law", or "given", if a Python function computes the driving forces.
        hold: the number of steps between two evaluations of the law; 0 for every evaluation.
        loaded: whether there are constant external wrenches.
        parts: the constant parts of the step, by name: damping, springs, effort limits.
    """

    step: Step
    driven: str
    hold: int = 0
    loaded: bool = False
    parts: Mapping[str, Array] = field(default_factory=dict)

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
        """The arguments of a step besides the state."""
        shapes: dict[str, Shape] = {"dt": ()}
        if self.driven == "table":
            shapes["following"] = (self.step.model.nv,)
        if self.loaded:
            shapes["f_ext"] = (len(self.step.model.bodies), 6)
        return shapes | self.parameters

    def key(self, name: str) -> str | None:
        """The key of the code; None if it is not known without tracing."""
        parts = [(part, array.tolist()) for part, array in self.parts.items()]
        return self.step.key(name, parts, self.driven, self.hold, self.loaded)
