"""The step of a rollout with a law, a cost, constraints or stops, written over arrays and traced whole.

The forces and semi-implicit Euler are those of ``algorithms.step``; the law and the cost are traced into it. Its state
is q, v and ``sums``: the number of steps done, the cost, and the warm start of contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.algorithms import STEP_PARTS, step_forces, stepping
from linkwork.compiled.arrays import array_of, numbers, traced
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.constrained import constrained_dynamics
from linkwork.dynamics.contact.law import touching
from linkwork.dynamics.contact.text import Text
from linkwork.dynamics.dynamics import mass_matrix
from linkwork.dynamics.kinematics import integrate
from linkwork.dynamics.traced import traced_call
from linkwork.dynamics.varied import often, varied
from linkwork.engine.code import fingerprint
from linkwork.engine.ir.program import Program
from linkwork.engine.plans import MOST_BODIES, Plan, TracedTask, plan_for_trace
from linkwork.engine.trace.isomorphic import branches_of
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Constraint
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model
from linkwork.model.rotors import with_rotors
from linkwork.simulation.contact_steps import moved
from linkwork.simulation.coupled import moving_together, with_leaders
from linkwork.simulation.held import stopped, stopped_in_loops
from linkwork.simulation.stops import Joint, held_joints, within_limits

RECORDED = 2
"""The number of arrays of the state that are recorded: q and v."""


@dataclass(frozen=True)
class Extras:
    """The components of a step besides the parts of ``algorithms.step``; it can be pickled.

    Attributes:
        law: (t, q, v, *parameters) -> tau.
        cost: (t, q, v, tau, *parameters) -> number.
        constraints: with their time constant (s), ``stabilisation``, and ``proximal`` damping.
        stops: whether joints stop at their limits.
        contacts: None for none.
        rough: whether dry joint friction is a row of the contact problem.
        varied: the parameters of the mechanism that are data.
    """

    law: CompiledFunction | None = None
    cost: CompiledFunction | None = None
    constraints: tuple[Constraint, ...] = ()
    stabilisation: float = 0.0
    proximal: float = 0.0
    stops: bool = False
    contacts: Contacts | None = None
    rough: bool = False
    varied: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.law or self.cost or self.constraints or self.stops or self.varied) or self.contacts is not None

    def sums(self, model: Model) -> int:
        """The size of the state besides q and v: the steps done, the cost, and with contacts the last accelerations,
        which are the warm start of the next step.
        """
        return 2 if self.contacts is None else 2 + model.nv

    def apart(self, model: Model) -> bool:
        """Whether a law and a cost cannot be part of the step's code, because the rest of it is done in Python."""
        return bool(self.law or self.cost) and self.held_by_python(model)

    def calls(self, model: Model) -> bool:
        """Whether the step's code calls code with loops."""
        laws = [each for each in (self.law, self.cost) if each is not None]
        return len(model.bodies) > MOST_BODIES or any(law.has_loops for law in laws)

    def held_by_python(self, model: Model) -> bool:
        """Whether contacts are solved in Python in every step, because code has loops."""
        return self.contacts is not None and len(model.bodies) > MOST_BODIES

    @property
    def digests(self) -> tuple[object, ...]:
        """All that code depends on, besides the model and its parts."""
        laws = [None if each is None else each.digest for each in (self.law, self.cost)]
        held = [(type(one).__name__, one.kind(), one.placement.numbers()) for one in self.constraints]
        touching = () if self.contacts is None else (self.contacts.digest, self.rough)
        return *laws, held, (self.stabilisation, self.proximal) if held else (), self.stops, touching

    def step_plan(self, model: Model, shapes: Mapping[str, Shape], form: str) -> Plan:
        """The plan that repeats the step; ``shapes`` are those of all arguments besides the state, in order."""
        text = Step(model, self)
        state: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "sums": (self.sums(model),)}
        return self._plan("rollout", text.advance, model, state, list(state.values()), shapes, form, True)

    def answer_plan(self, model: Model, shapes: Mapping[str, Shape]) -> Plan:
        """The plan for accelerations, driving forces and wrenches in a state; not worth machine code."""
        text = Step(model, self)
        results = [(model.nv,), (model.nv,), (0 if self.contacts is not None else len(self.constraints), 6)]
        state: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "sums": (self.sums(model),)}
        return self._plan("rollout answer", text.answer, model, state, results, shapes, "interpreted", False)

    def _plan(
        self,
        name: str,
        text: Callable[..., tuple[Any, ...]],
        model: Model,
        state: Mapping[str, Shape],
        results: list[Shape],
        shapes: Mapping[str, Shape],
        form: str,
        over_time: bool,
    ) -> Plan:
        arguments = {**state, **shapes}
        bounded = self.stops or self.contacts is not None
        limits = (model.lower_limit.tolist(), model.upper_limit.tolist()) if bounded else ()
        limits = limits if self.contacts is None else (*limits, model.friction.tolist())
        own = _fingerprint(model)
        key = None if own is None else fingerprint.key(name, own, list(arguments.items()), self.digests, limits)
        plans, place = model._memo.plans, (key, form)
        found: Plan | None = plans.get(place) if key else None
        if found is not None:
            return found

        def program(isomorphic: bool = False) -> Program:
            return trace(name, text, arguments, isomorphic)[0]

        places = {name: f"argument{k}" for k, name in enumerate(arguments)}
        usual = {places[name]: own for name, own in often(model, arguments).items()}
        branches = branches_of(model, program)
        identity = None if self.calls(model) else key  # what is called is known from the trace alone
        task = TracedTask(
            program, list(arguments.values()), results, identity, None, over_time, RECORDED, usual, branches
        )
        found = plan_for_trace(task, f"the step of this rollout of {model.name!r}", form)
        if key:
            if len(plans) >= 1000:  # laws that change from call to call
                plans.clear()
            plans[place] = found
        return found


NONE = Extras()


@kept_with_model
def _fingerprint(model: Model) -> str | None:
    """The fingerprint of the model with all its frames and their names, which constraints refer to; or None."""
    own = fingerprint.of_model(model, model.frames)
    return None if own is None else fingerprint.key(own, model.frame_names, model.joint_names)


class Step:
    """The functions of a step that are traced."""

    def __init__(self, model: Model, extras: Extras) -> None:
        self.model, self.extras = model, extras

    def answer(self, q: Any, v: Any, sums: Any, dt: Any, **given: Any) -> tuple[Any, Any, Any]:
        """Accelerations over the step, the driving forces, and the wrenches of the constraints."""
        _, end, drive, wrenches, _ = self._moved(q, v, sums, dt, given)
        return (end - v) / dt, drive, wrenches

    def advance(self, q: Any, v: Any, sums: Any, dt: Any, **given: Any) -> tuple[Any, Any, Any]:
        """The state after a step."""
        t, total = sums[0] * dt, sums[1]
        after, end, drive, _, last = self._moved(q, v, sums, dt, given)
        if self.extras.cost is not None:
            total = total + self.extras.cost(t, q, v, drive, *numbered("cost", given))
        more = np.stack([sums[0] + 1.0, total])
        return after, end, more if last is None else np.concatenate([more, last])

    def _moved(self, q: Any, v: Any, sums: Any, dt: Any, given: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """The state after a step, the driving forces, the constraint wrenches, and the warm start of contacts."""
        extras, t = self.extras, sums[0] * dt
        own = {name: given[name] for name in extras.varied}
        model = varied(self.model, **own) if own else self.model
        parts = {name: given[name] for name in STEP_PARTS if name in given}
        if extras.law is not None and model.nv:
            tau = extras.law(t, q, v, *numbered("law", given))
            parts["tau"] = parts["tau"] + tau if "tau" in parts else tau
        f_ext = parts.get("f_ext")

        def found(algorithm: Any) -> list[Any]:
            values = [q, v, dt, *(parts[name] for name, _ in algorithm.arguments[3:])]
            return traced_call(algorithm, model, values, (), ())

        force, rotors, drive = found(step_forces(parts))
        wrenches = traced(np.zeros((0, 6)).astype(object))
        if extras.contacts is not None:
            drag = dt * parts["damping"] if "damping" in parts else None
            step, start = numbers(dt).item(), sums[2:]
            of = touching(self.model, extras.contacts, True, extras.rough, extras.constraints)
            a, damped, _ = Text(of, model).motion(q, v, force, step, f_ext, start, drag)
            return *moved(model, q, v, damped, dt), drive, wrenches, a
        joints = held_joints(model, [0.0] * model.nv, True) if extras.stops else []
        together = moving_together(model, extras.constraints)
        loops = bool(extras.constraints) and together is None
        rotored = _Rotored(self.model, rotors, extras.varied, "damping" in parts or "friction" in parts)
        data = [rotored.traced, *own.values()]
        if extras.constraints:
            a, wrenches = self._constrained(rotored, data, q, v, dt, force, f_ext, joints if loops else [])
            end = v + dt * a
            after = integrate(model, q, dt * end)
        else:
            after, end = found(stepping(parts))
        if joints and not loops:

            def mass(q: Any, *data: Any) -> Any:
                return mass_matrix(rotored(*data), q)

            end, _, _ = stopped(mass, data, end, q, dt, joints, together)
            after = integrate(model, q, dt * end)
        if joints:
            after = array_of(within_limits(numbers(after).tolist(), with_leaders(joints, together)))
        return after, end, drive, wrenches, None

    def _constrained(
        self, rotored: _Rotored, data: Sequence[Any], q: Any, v: Any, dt: Any, force: Any, f_ext: Any,
        stops: Sequence[Joint],
    ) -> tuple[Any, Any]:  # fmt: skip
        """Accelerations and wrenches of a mechanism with constraints, and joints in loops that stop at their limits."""
        extras, count = self.extras, len(data)

        def moving(extra: Any, q: Any, v: Any, dt: Any, forces: Any, *more: Any) -> tuple[Any, Any]:
            model, load = rotored(*more[:count]), more[count] if len(more) > count else None
            driving = forces if extra is None else forces + extra
            return constrained_dynamics(
                model, q, v, driving, extras.constraints, load, extras.stabilisation, extras.proximal
            )

        given = [force, *data, *([] if f_ext is None else [f_ext])]
        free = moving(None, q, v, dt, *given)
        if not stops:
            return free
        a, wrenches, _ = stopped_in_loops(moving, given, free, q, v, dt, stops)
        return a, wrenches


class _Rotored:
    """The model with the armature that stands for its drag, and with its varied parameters, from traced arrays: those
    of the armature that are no constants, in ``traced``, then the parameters.
    """

    def __init__(self, model: Model, rotors: Any, varied: Sequence[str], drags: bool) -> None:
        self.model, self.varied, self.drags = model, varied, drags
        self.rotors = numbers(rotors).tolist()
        self.places = [k for k, x in enumerate(self.rotors) if not isinstance(x, float)]
        self.traced = array_of([self.rotors[k] for k in self.places])

    def __call__(self, traced_rotors: Any, *own: Any) -> Model:
        model = varied(self.model, **dict(zip(self.varied, own, strict=True))) if own else self.model
        if not self.drags:
            return model
        rotors = list(self.rotors)
        for k, x in zip(self.places, numbers(traced_rotors).tolist(), strict=True):
            rotors[k] = x
        return with_rotors(model, rotors)


def numbered(name: str, given: Mapping[str, Any]) -> list[Any]:
    """Parameters of a law or a cost, in order."""
    return [value for key, value in given.items() if key.startswith(f"{name}_")]
