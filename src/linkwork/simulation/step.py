"""One time step of a mechanism: a value, and its text over arrays, of floats or of traced numbers.

What acts is in ``plant``, how it is integrated in ``integrators``. Simulations, rollouts, their linearisation and their
gradients run or differentiate this text; records, viewers and Python functions are around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms import STEP_PARTS
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array
from linkwork.engine.code import fingerprint
from linkwork.engine.plans import looped
from linkwork.late import LateFunction
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Constraint
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.simulation.integrators import integrator_of
from linkwork.simulation.plant import Answer, Plant

if TYPE_CHECKING:
    from linkwork.dynamics.contact.law import Touching
    from linkwork.simulation.coupled import Together
    from linkwork.simulation.stops import Joint

limits_of = LateFunction("linkwork.simulation.coupled:limits_of")
moving_together = LateFunction("linkwork.simulation.coupled:moving_together")
subroutine = LateFunction("linkwork.compiled.subroutine:subroutine")
touching = LateFunction("linkwork.dynamics.contact.law:touching")


@dataclass(frozen=True)
class Step:
    """What a time step does; it can be pickled.

    Attributes:
        integrator: its name.
        law: (t, q, v, *parameters) -> tau.
        load: (t, q, v) -> external wrenches.
        cost: (t, q, v, tau, *parameters) -> number.
        constraints: with their time constant (s), ``stabilisation``, and ``proximal`` damping.
        joints: those with stops or stiction.
        contacts: None for none.
        rough: whether dry joint friction is a row of the contact problem.
        contact_forces: whether the forces of contacts are part of the answer.
        method: of the accelerations, a name that ``lw.forward_dynamics`` or ``lw.constrained_dynamics`` takes.
        varied: the parameters of the mechanism that are data.
    """

    model: Model
    integrator: str = "semi_implicit_euler"
    law: CompiledFunction | None = None
    load: CompiledFunction | None = None
    cost: CompiledFunction | None = None
    constraints: tuple[Constraint, ...] = ()
    stabilisation: float = 0.0
    proximal: float = 0.0
    joints: tuple[Joint, ...] = ()
    contacts: Contacts | None = None
    rough: bool = False
    contact_forces: bool = False
    method: str = "articulated_body"
    varied: tuple[str, ...] = ()

    @property
    def several(self) -> bool:
        """Whether a step evaluates the accelerations several times."""
        return self.integrator != "semi_implicit_euler"

    @property
    def implicit(self) -> bool:
        """Whether damping acts with the velocity at the end of the step."""
        return not self.several

    @property
    def touching(self) -> Touching | None:
        """The mechanism with its contacts."""
        if self.contacts is None:
            return None
        problem: Touching = touching(self.model, self.contacts, True, self.rough, self.constraints)
        return problem

    @cached_property
    def together(self) -> Together | None:
        """The couplings, if there are no other constraints."""
        found: Together | None = moving_together(self.model, self.constraints) if self.constraints else None
        return found

    @cached_property
    def stops(self) -> bool:
        """Whether joints stop at their limits."""
        return any(isfinite(joint.lower) or isfinite(joint.upper) for joint in self.joints)

    @cached_property
    def limits(self) -> tuple[list[int], Array, Array]:
        """The coordinates that have limits, and these."""
        found: tuple[list[int], Array, Array] = limits_of(self.joints, self.together)
        return found

    @property
    def in_loops(self) -> bool:
        """Whether joints with stops or stiction are part of loops, not just coupled in straight code."""
        return bool(self.joints and self.constraints) and (self.together is None or looped(self.model))

    @property
    def functions(self) -> list[CompiledFunction]:
        """The compiled functions in the step."""
        return [each for each in (self.law, self.load, self.cost) if each is not None]

    @property
    def has_loops(self) -> bool:
        """Whether code of the step has loops over bodies."""
        return looped(self.model) or any(each.has_loops for each in self.functions)

    @property
    def digests(self) -> tuple[object, ...]:
        """All that code depends on, besides the model's tree and arguments."""
        functions = [None if each is None else each.digest for each in (self.law, self.load, self.cost)]
        constraints = [(type(one).__name__, one.kind(), one.placement.numbers()) for one in self.constraints]
        settings = (self.stabilisation, self.proximal) if constraints else ()
        contacts = () if self.contacts is None else (self.contacts.digest, self.rough, self.contact_forces)
        return self.integrator, functions, constraints, settings, self.joints, contacts, self.method, self.varied

    def key(self, name: str, *more: object) -> str | None:
        """The key of code of this step; None if it is not known without tracing."""
        tree = _fingerprint(self.model)
        limits = (self.model.lower_limit.tolist(), self.model.upper_limit.tolist(), self.model.friction.tolist())
        bounded = limits if self.contacts is not None else ()
        return None if tree is None else fingerprint.key(name, tree, self.digests, bounded, *more)

    # The text

    def plant(self, dt: Any, inputs: Mapping[str, Any], **options: Any) -> Plant:
        """The mechanism with its forces in a step of length dt; ``inputs`` are parts of ``algorithms.step``, varied
        parameters, and parameters of the law.
        """
        parts = {name: inputs[name] for name in STEP_PARTS if name in inputs}
        return Plant(self, dt, parts, [inputs[name] for name in self.varied], **options)

    def driving(self, inputs: Mapping[str, Any]) -> Any:
        """The source of a plant, (count, t, q, v) -> driving forces: those of the law, or None. Over traced numbers a
        compiled law replays its program, which so becomes part of the step's.
        """
        law, parameters = self.law, numbered("law", inputs)
        if law is None:
            return lambda count, t, q, v: None

        def text(*arguments: Any) -> list[Any]:
            return [law(*arguments)]

        function = subroutine(text) if self.several else text  # emitted once
        return lambda count, t, q, v: function(t, q, v, *parameters)[0]

    def integrated(self, plant: Plant, t: Any, q: Any, v: Any, a: Any, dt: Any) -> tuple[Any, Any]:
        """The state dt later, within the position limits if these are applied."""
        q, v = integrator_of(self)(plant, t, q, v, a, dt)
        return self.within(q), v

    def within(self, q: Any) -> Any:
        """A configuration, with joints that rounding carried beyond a limit put back to it."""
        if not self.stops:
            return q
        at, lower, upper = self.limits
        q = q.copy()
        q[at] = np.clip(q[at], lower, upper)
        return q

    def answer(self, q: Any, v: Any, sums: Any, dt: Any, **inputs: Any) -> tuple[Any, Any, Any]:
        """Accelerations over the step, the driving forces, and the wrenches of the constraints."""
        answer = self._begun(q, v, sums, dt, inputs)[1]
        return answer.a, answer.tau, answer.wrenches

    def advance(self, q: Any, v: Any, sums: Any, dt: Any, **inputs: Any) -> tuple[Any, Any, Any]:
        """The state after a step, in order: q, v, and ``sums``, which are the number of steps done, the cost so far,
        and with contacts nv accelerations, where the search for their forces begins.

        ``inputs`` are all other arguments of a step, by name: its parts, the varied parameters, and the parameters of
        the law ("law_000", ...) and of the cost.
        """
        plant, answer = self._begun(q, v, sums, dt, inputs)
        t, total = sums[0] * dt, sums[1]
        if self.cost is not None:
            total = total + self.cost(t, q, v, answer.tau, *numbered("cost", inputs))
        q, v = self.integrated(plant, t, q, v, answer.a, dt)
        more = np.stack([sums[0] + 1.0, total])
        return (
            q,
            v,
            more if self.contacts is None else np.concatenate([more, answer.a if self.several else plant.start]),
        )

    def _begun(self, q: Any, v: Any, sums: Any, dt: Any, inputs: Mapping[str, Any]) -> tuple[Plant, Answer]:
        """The plant of a step, and its answer in the state at the step's beginning."""
        start = None if self.contacts is None else sums[2:]
        plant = self.plant(dt, inputs, source=self.driving(inputs), start=start)
        t = sums[0] * dt
        return plant, plant.answer(t, q, v, plant.source(0, t, q, v))


def numbered(name: str, inputs: Mapping[str, Any]) -> list[Any]:
    """Parameters of a law or a cost, in order."""
    return [value for key, value in inputs.items() if key.startswith(f"{name}_")]


@kept_with_model
def _fingerprint(model: Model) -> str | None:
    """The fingerprint of the model with all its frames and their names, which constraints refer to; or None."""
    own = fingerprint.of_model(model, model.frames)
    return None if own is None else fingerprint.key(own, model.frame_names, model.joint_names)
