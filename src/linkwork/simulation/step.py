"""One time step of a mechanism: a value, and its text over arrays, of floats or of traced numbers.

What acts is in ``plant``, how it is integrated in ``integrators``. Simulations, rollouts, their linearisation and their
gradients run or differentiate this text; records, viewers and Python functions are around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms import STEP_PARTS
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.dynamics.arguments import Array
from linkwork.engine.code import fingerprint
from linkwork.engine.plans import Plan, looped
from linkwork.late import LateFunction
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Constraint
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.simulation.integrators import integrator_of
from linkwork.simulation.plant import Plant

if TYPE_CHECKING:
    from linkwork.dynamics.contact.law import Touching
    from linkwork.simulation.coupled import Together
    from linkwork.simulation.events import Events
    from linkwork.simulation.stops import Joint

limits_of = LateFunction("linkwork.simulation.coupled:limits_of")
moving_together = LateFunction("linkwork.simulation.coupled:moving_together")
size_of_events = LateFunction("linkwork.simulation.event_steps:size_of")
stepped = LateFunction("linkwork.simulation.event_steps:stepped")
subroutine = LateFunction("linkwork.compiled.subroutine:subroutine")
touching = LateFunction("linkwork.dynamics.contact.law:touching")
varied = LateFunction("linkwork.dynamics.varied:varied")


@dataclass(frozen=True)
class Step:
    """What a time step does; it can be pickled.

    Attributes:
        integrator: its name.
        law: (t, q, v, *parameters) -> tau.
        load: (t, q, v) -> external wrenches.
        cost: (t, q, v, tau, *parameters) -> number.
        told: what Python functions say in the evaluations of a step, which are inputs then: "torque", "load".
        hold: after how many steps the law is evaluated, whose forces then act in between; 0 for every evaluation of the
            accelerations.
        constraints: those that are active from the start, with their time constant (s), ``stabilisation``, and
            ``proximal`` damping.
        joints: those with stops or stiction.
        contacts: None for none.
        rough: whether dry joint friction is a row of the contact problem.
        contact_forces: whether the forces of contacts are part of the answer.
        method: of the accelerations, a name that ``lw.forward_dynamics`` or ``lw.constrained_dynamics`` takes.
        varied: the parameters of the mechanism that are data.
        events: that attach and detach constraints; None for none.
        switched: whether it is data which constraints are active, and where they hold.
    """

    model: Model
    integrator: str = "semi_implicit_euler"
    law: CompiledFunction | None = None
    load: CompiledFunction | None = None
    cost: CompiledFunction | None = None
    hold: int = 0
    constraints: tuple[Constraint, ...] = ()
    stabilisation: float = 0.0
    proximal: float = 0.0
    joints: tuple[Joint, ...] = ()
    contacts: Contacts | None = None
    rough: bool = False
    contact_forces: bool = False
    method: str = "articulated_body"
    varied: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    events: Events | None = None
    switched: bool = False

    @cached_property
    def plans(self) -> dict[tuple[Any, ...], Plan]:
        """Its plans over time that jobs have asked for, in this process."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "plans"}

    @property
    def several(self) -> bool:
        """Whether a step evaluates the accelerations several times."""
        return self.integrator != "semi_implicit_euler"

    @property
    def plain(self) -> bool:
        """Whether nothing acts but its parts."""
        more = self.functions or self.constraints or self.joints or self.varied or self.several
        return not more and self.contacts is None and self.events is None

    @property
    def wrenches(self) -> int:
        """The number of wrenches in an answer."""
        if self.touching is None:
            return len(self.constraints if self.events is None else self.events.constraints)
        return self.touching.points if self.contact_forces else 0

    @property
    def size_of_sums(self) -> int:
        """The size of the state besides q and v."""
        return self.events_to + (self.model.nv + 1 if self.hold else 0)

    @property
    def events_from(self) -> int:
        """Where the numbers of events begin in it."""
        return 2 + (self.model.nv if self.contacts is not None else 0)

    @property
    def events_to(self) -> int:
        """Where they end."""
        return self.events_from + (0 if self.events is None else int(size_of_events(self.events)))

    @property
    def told_shapes(self) -> dict[str, tuple[int, ...]]:
        """The inputs for what Python functions say: a row for each evaluation."""
        rows, sizes = 4 if self.several else 1, {"torque": (self.model.nv,), "load": (len(self.model.bodies), 6)}
        return {f"told_{name}": (rows, *sizes[name]) for name in self.told}

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
        always = bool(self.constraints) and not self.switched
        found: Together | None = moving_together(self.model, self.constraints) if always else None
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
        own = [each for each in (self.law, self.load, self.cost) if each is not None]
        return own if self.events is None else [*own, *self.events.functions]

    @cached_property
    def with_all(self) -> Step:
        """The step with all constraints that are ever active, of which only some may be."""
        assert self.events is not None
        return replace(self, constraints=self.events.constraints, events=None, switched=True)

    def mechanism(self, own: Sequence[Any]) -> Model:
        """The model with its varied parameters."""
        if not own:
            return self.model
        found: Model = varied(self.model, **dict(zip(self.varied, own, strict=True)))
        return found

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
        python = self.told, self.hold
        events = None if self.events is None else (self.events.digest, self.stabilisation, self.proximal)
        own = self.integrator, functions, python, constraints, settings, self.joints, contacts, self.varied, self.method
        return (*own, events, self.switched)

    def key(self, name: str, *more: object) -> str | None:
        """The key of code of this step; None if it is not known without tracing."""
        tree = _fingerprint(self.model)
        limits = (self.model.lower_limit.tolist(), self.model.upper_limit.tolist(), self.model.friction.tolist())
        bounded = limits if self.contacts is not None else ()
        return None if tree is None else fingerprint.key(name, tree, self.digests, bounded, *more)

    # The text

    def plant(self, dt: Any, inputs: Mapping[str, Any], **options: Any) -> Plant:
        """The mechanism with its forces in a step of length dt; ``inputs`` are ``STEP_PARTS``, varied
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

    def advance(self, q: Any, v: Any, sums: Any, dt: Any, **inputs: Any) -> tuple[Any, Any, Any]:
        """The state after a step, in order: q, v, and ``sums``, which are the number of steps done, the cost so far,
        with contacts nv accelerations, where the search for their forces begins, and with a law that is held its forces
        and for how many steps these have acted.

        ``inputs`` are all other arguments of a step, by name: its parts, the varied parameters, and the parameters of
        the law ("law_000", ...) and of the cost.
        """
        return self._evaluated(q, v, sums, dt, inputs, False)[0][:3]

    def observed(self, q: Any, v: Any, sums: Any, dt: Any, **inputs: Any) -> tuple[Any, ...]:
        """``advance``; then accelerations over the step, the driving forces, and the wrenches of constraints or
        contacts, all in the state at its beginning.
        """
        return self._evaluated(q, v, sums, dt, inputs)[0]

    def points(self, q: Any, v: Any, sums: Any, dt: Any, **inputs: Any) -> tuple[Any, ...]:
        """The states, q and v of each, in which a step evaluates the accelerations after its first evaluation."""
        points = self._evaluated(q, v, sums, dt, inputs)[1]
        return tuple(each for point in points[1:] for each in point)

    def _evaluated(
        self, q: Any, v: Any, sums: Any, dt: Any, inputs: Mapping[str, Any], observed: bool = True
    ) -> tuple[tuple[Any, ...], list[tuple[Any, Any]]]:
        """What is observed, and the states in which the source of driving forces was evaluated. Of steps with events
        the answer is right only if it is ``observed``.
        """
        nv, t, total, points = self.model.nv, sums[0] * dt, sums[1], list[tuple[Any, Any]]()
        law = self.driving(inputs)

        def source(count: Any, t: Any, q: Any, v: Any) -> Any:
            points.append((q, v))
            return inputs["told_torque"][len(points) - 1] if "torque" in self.told else law(count, t, q, v)

        def load(t: Any, q: Any, v: Any) -> Any:
            return inputs["told_load"][len(points) - 1]

        tau, more = source(0, t, q, v), []
        if self.hold:
            phase, tau = sums[-1], np.where(sums[-1] > 0.0, sums[-1 - nv : -1], tau)
            more = [tau, np.stack([np.where(phase + 1.0 < self.hold, phase + 1.0, 0.0)])]
        start = None if self.contacts is None else sums[2 : 2 + nv]
        plant = self.plant(dt, inputs, source=source, load=load if "load" in self.told else self.load, start=start)
        if self.hold:
            plant.source = lambda *_: tau
        answer = plant.answer(t, q, v, tau)
        if self.cost is not None:
            total = total + self.cost(t, q, v, answer.tau, *numbered("cost", inputs))
        following = *self.integrated(plant, t, q, v, answer.a, dt), answer
        if self.events is not None:
            said = {"said": tau} if self.hold else {}
            here = t, q, v, sums[self.events_from : self.events_to], dt
            *following, numbers = stepped(self, *here, following, {**inputs, **said}, observed)
            more = [numbers, *more]
        if self.contacts is not None:
            more = [answer.a if self.several else plant.start, *more]
        q, v, answer = following
        now = np.stack([sums[0] + 1.0, total])
        return (q, v, np.concatenate([now, *more]) if more else now, *answer), points


def numbered(name: str, inputs: Mapping[str, Any]) -> list[Any]:
    """Parameters of a law or a cost, in order."""
    return [value for key, value in inputs.items() if key.startswith(f"{name}_")]


@kept_with_model
def _fingerprint(model: Model) -> str | None:
    """The fingerprint of the model with all its frames and their names, which constraints refer to; or None."""
    own = fingerprint.of_model(model, model.frames)
    return None if own is None else fingerprint.key(own, model.frame_names, model.joint_names)
