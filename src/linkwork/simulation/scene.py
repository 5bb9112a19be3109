"""The description of a simulation that compiled steps depend on, and the arrays that a step takes and updates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape
from linkwork.dynamics.contact.law import Touching
from linkwork.engine.code import fingerprint
from linkwork.engine.spaces import SPACES, Space
from linkwork.model.constraints import Constraint
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.properties import cached_property
from linkwork.simulation.coupled import Together, moving_together
from linkwork.simulation.integrators import Step
from linkwork.simulation.stops import Joint

RECORDED = 5
"""The number of arrays of the state that are recorded; they are the first."""
_SPACES = {"q": SPACES["configuration"], "f_ext": SPACES["wrenches"]}
_SPACES |= dict.fromkeys(("v", "a", "tau", "extra", "following"), SPACES["velocity"])


def spaces_of(names: Iterable[str]) -> list[Space | None]:
    """The space of each argument of a step, by name; None for an argument that belongs to no joints or bodies."""
    return [_SPACES.get(name) for name in names]


@dataclass(frozen=True)
class Scene:
    """All that compiled code of a step depends on.

    Attributes:
        integrator: its name; ``step`` is its function.
        driven: "nothing", "table", "law", or "given", if a Python function computes the driving forces.
        law: of (t, q, v, *parameters).
        hold: the number of steps between two evaluations of the law; 0 for every evaluation.
        loaded: whether there are constant external wrenches.
        load: a compiled function of external wrenches.
        joints: those with friction or stops.
        springs: whether the model's springs act.
    """

    model: Model
    integrator: str
    step: Step
    constraints: tuple[Constraint, ...]
    stabilisation: float
    proximal: float
    damping: tuple[float, ...]
    effort: tuple[float, ...]
    joints: tuple[Joint, ...]
    driven: str
    law: CompiledFunction | None = None
    hold: int = 0
    loaded: bool = False
    load: CompiledFunction | None = None
    springs: bool = False
    touching: Touching | None = None
    contact_forces: bool = False

    @property
    def several(self) -> bool:
        """Whether a step evaluates the accelerations several times."""
        return self.integrator != "semi_implicit_euler"

    @cached_property
    def together(self) -> Together | None:
        """The couplings, if there are no other constraints."""
        return moving_together(self.model, self.constraints)

    @property
    def parameters(self) -> dict[str, Shape]:
        """The parameters of the law, with their shapes."""
        own = [] if self.law is None else list(self.law.shapes.values())[3:]
        return {f"law_{k:03}": shape for k, shape in enumerate(own)}

    @property
    def state(self) -> dict[str, Shape]:
        """The arrays of the state, which a step updates."""
        model = self.model
        shapes: dict[str, Shape] = {"q": (model.nq,)}
        shapes |= dict.fromkeys(("v", "a", "tau"), (model.nv,))
        shapes["wrenches"] = (self.wrenches, 6)
        if self.joints:
            shapes["extra"] = (model.nv,)
        return shapes | {"clock": (2,)}

    @property
    def wrenches(self) -> int:
        """The number of wrenches recorded."""
        if self.touching is None:
            return len(self.constraints)
        return self.touching.points if self.contact_forces else 0

    @property
    def given(self) -> dict[str, Shape]:
        """The arguments of a step besides the state."""
        shapes: dict[str, Shape] = {"dt": ()}
        if self.driven == "table":
            shapes["following"] = (self.model.nv,)
        if self.loaded:
            shapes["f_ext"] = (len(self.model.bodies), 6)
        return shapes | self.parameters

    def key(self, name: str) -> str | None:
        """The key of the code; None if it is not known without tracing."""
        own = _fingerprint(self.model)
        if own is None:
            return None
        held = [(type(one).__name__, one.kind(), one.placement.numbers()) for one in self.constraints]
        laws = [None if law is None else law.digest for law in (self.law, self.load)]
        touching = None if self.touching is None else (self.touching.digest, self.contact_forces)
        springs = (self.model.stiffness.tolist(), self.model.springref.tolist()) if self.springs else ()
        limits = self.effort if self.law is not None or self.driven == "given" else ()
        numbers_of = (self.damping, limits, self.joints, springs)
        settings = (self.stabilisation, self.proximal) if held else ()
        driven = (self.driven, laws, self.hold, self.loaded, touching)
        return fingerprint.key(name, own, self.integrator, held, settings, numbers_of, *driven)


@kept_with_model
def _fingerprint(model: Model) -> str | None:
    own = fingerprint.of_model(model, model.frames)
    return None if own is None else fingerprint.key(own, model.frame_names, model.joint_names)
