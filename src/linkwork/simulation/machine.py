"""Steps of ``lw.simulate`` in machine code: the plant and the integrator, traced as they are.

The state that a step updates is q, v, the accelerations, driving forces and constraint wrenches there (these five are
recorded), the forces of friction and stops over the step that begins there, and the step's number. A step that code
cannot do, because constraints may be redundant or a few iterations do not determine which joints are held, gives NaN;
it is then done in Python, as is every error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np

from linkwork.compiled.arrays import is_traced, numbers, traced
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.subroutine import subroutine
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.coupled_joints import as_couplings
from linkwork.dynamics.dynamics import mass_matrix
from linkwork.engine.ir.program import Program
from linkwork.engine.mode import current_form
from linkwork.engine.plans import MOST_BODIES, Plan, TracedTask, code_for_trace
from linkwork.engine.plans.traced import Traced
from linkwork.engine.rollout import run_over_time
from linkwork.engine.trace.isomorphic import branches_of
from linkwork.simulation.coupled import with_leaders
from linkwork.simulation.held import stopped, stopped_in_loops
from linkwork.simulation.plant import Answer, Plant
from linkwork.simulation.record import Record
from linkwork.simulation.scene import RECORDED, Scene, spaces_of
from linkwork.simulation.stages import Stages, ask
from linkwork.simulation.stops import going_on, within_limits
from linkwork.spatial import total, where_less

_FEW = 12
"""Bodies up to which composite bodies take no longer than articulated ones."""
WORTH = 200
"""Steps per body, over all runs together, from which on code is compiled, which takes as long as some thousands of
steps in Python; in one run if there are friction or stops, since a run must not depend on those before it then, and a
tenth as many, because these make Python slow, unless they are in loops, which make code long.
"""
FEWEST = 100
"""Steps of one run from which on the cache is searched for code."""
_MOST_IN_LOOPS = 160
"""Joints that may be held times bodies, up to which these joints may be part of loops."""
_LARGEST = 100
"""Bodies up to which code is compiled: compile time grows faster than the code's size."""
_SPAN = 0.05
"""Seconds of work after which control returns to Python, for the progress bar."""


class _Text:
    """The functions of a step that are traced."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def advance(
        self, q: Any, v: Any, a: Any, tau: Any, wrenches: Any, clock: Any, dt: Any, extra: Any = None, **given: Any
    ) -> tuple[Any, ...]:
        """The state dt later."""
        scene, parameters = self.scene, [value for key, value in given.items() if key.startswith("law_")]
        asked = scene.law is not None and not scene.hold

        def limited(t: Any, q: Any, v: Any, *parameters: Any) -> list[Any]:
            assert scene.law is not None
            return [_within(scene.law(t, q, v, *parameters), scene.effort)]

        once = subroutine(limited) if scene.several else limited

        def law(t: Any, q: Any, v: Any) -> Any:
            return once(t, q, v, *parameters)[0]

        plant = self._plant(lambda step, t, q, v: law(t, q, v) if asked else tau, dt, given.get("f_ext"))
        plant.extra = extra
        q, v = self._stepped(plant, clock[0] * dt, q, v, a, dt)
        now = clock[0] + 1.0
        phase, t = clock[1], now * dt
        if scene.driven == "table":
            tau = given["following"]
        elif scene.law is not None and scene.hold:
            phase = np.where(phase + 1.0 < scene.hold, phase + 1.0, 0.0)
            tau = np.where(phase == 0.0, law(t, q, v), tau)
        elif scene.law is not None:
            tau = law(t, q, v)
        a, wrenches, extra = self._answer(plant, t, q, v, tau, dt, extra)
        return (q, v, a, tau, wrenches, *([] if extra is None else [extra]), np.stack([now, phase]))

    def driven(self, q: Any, v: Any, tau: Any, t: Any, dt: Any, **given: Any) -> tuple[Any, ...]:
        """The state dt later, and the accelerations, forces and wrenches for driving forces computed by Python."""
        tau = _within(tau, self.scene.effort)
        plant = self._plant(lambda step, t, q, v: tau, dt, given.get("f_ext"))
        happening = self._happening(plant, t, q, v, tau, dt)
        return *self._stepped(plant, t, q, v, happening[0], dt), *happening

    def asking(self, q: Any, v: Any, tau: Any, t: Any, dt: Any, **given: Any) -> tuple[Any, ...]:
        """The state dt later, where Python computes the driving forces of each evaluation. The first call passes on the
        accelerations, forces and wrenches at the beginning of the step, whose driving forces are already known.
        """
        effort, told = self.scene.effort, list[tuple[Any, ...]]()

        def source(step: int, t: Any, q: Any, v: Any) -> Any:
            return _within(ask(np.shape(tau), t, q, v, *(told.pop() if told else ())), effort)

        plant = self._plant(source, dt, given.get("f_ext"))
        happening = self._happening(plant, t, q, v, _within(tau, effort), dt)
        told.append(happening)
        return self._stepped(plant, t, q, v, happening[0], dt)

    def _happening(self, plant: Plant, t: Any, q: Any, v: Any, tau: Any, dt: Any) -> tuple[Any, ...]:
        """Accelerations, driving forces, and, where there are any, wrenches, and the forces of friction and stops."""
        a, wrenches, plant.extra = self._answer(plant, t, q, v, tau, dt)
        found = (a, tau, wrenches if self.scene.wrenches else None, plant.extra)
        return tuple(each for each in found if each is not None)

    def _stepped(self, plant: Plant, t: Any, q: Any, v: Any, a: Any, dt: Any) -> tuple[Any, Any]:
        """The state dt later, within the position limits if these are applied."""
        q, v = self.scene.step(plant, t, q, v, a, dt)
        if self.scene.joints:
            q = _array(within_limits(numbers(q).tolist(), with_leaders(self.scene.joints, self.scene.together)))
        return q, v

    @property
    def _needs_mass(self) -> bool:
        """Whether a step that may be held by stops or friction computes the mass matrix once, for that and for its
        accelerations; it is dearer than articulated bodies for larger robots.
        """
        scene = self.scene
        held = scene.joints and not scene.several and scene.touching is None
        free = not scene.constraints or scene.together is not None
        return bool(held) and free and len(scene.model.bodies) <= _FEW

    def _plant(self, source: Callable[..., Any], dt: Any, f_ext: Any) -> Plant:
        scene = self.scene
        plant = Plant(
            scene.model,
            source,
            method="composite_body" if self._needs_mass else "articulated_body",
            constraints=scene.constraints,
            stabilisation=scene.stabilisation,
            proximal=scene.proximal,
            load=scene.load if scene.load is not None else f_ext,
            damping=np.array(scene.damping),
            implicit=dt if scene.integrator == "semi_implicit_euler" else None,
            springs=scene.springs,
            touching=scene.touching,
            dt=dt,
            contact_forces=scene.contact_forces,
        )
        if scene.several:
            plant.dynamics = subroutine(plant.dynamics)
        return plant

    def _answer(
        self, plant: Plant, t: Any, q: Any, v: Any, tau: Any, dt: Any, before: Any = None
    ) -> tuple[Any, Any, Any]:
        """Accelerations, wrenches, and the forces of friction and stops, None if there are none; ``before`` are those
        of the previous step, if they are known.
        """
        scene = self.scene
        plant.extra = None
        free = plant.driven(t, q, v, tau)
        if not scene.joints:
            return free.a, free.wrenches, None
        end, rate = v + dt * free.a, 1.0 / dt
        if _loops(scene) == "inside":
            return self._in_loops(plant, t, q, v, tau, dt, free, before)
        if _loops(scene):  # a step in which a stop is reached is left to Python
            beyond = total(going_on(scene.joints, numbers(end).tolist(), numbers(q).tolist(), numbers(dt).item()))
            return free.a + where_less(0.0, beyond, nan, 0.0), free.wrenches, 0.0 * v
        found, impulses, added = stopped(
            lambda q, dt: mass_matrix(plant.damped(dt), q), [dt], end, q, dt, scene.joints,
            scene.together, None if before is None else (before * dt, v),
        )  # fmt: skip
        wrenches = free.wrenches
        couplings = as_couplings(scene.model, scene.constraints)
        if couplings is not None and couplings.couplings:
            wrenches = wrenches + (added * rate)[:, None] * couplings.wrenches
        return free.a + (found - end) * rate, wrenches, impulses * rate

    def _in_loops(
        self, plant: Plant, t: Any, q: Any, v: Any, tau: Any, dt: Any, free: Answer, before: Any
    ) -> tuple[Any, Any, Any]:
        """The same for joints that are part of loops; ``free`` is the answer without friction and stops."""

        def moving(extra: Any, q: Any, v: Any, dt: Any, t: Any, tau: Any, *load: Any) -> tuple[Any, Any]:
            inside = self._plant(plant.source, dt, *(load or [plant.load]))
            inside.extra = extra
            answer = inside.driven(t, q, v, tau)
            return answer.a, answer.wrenches

        given = (t, tau, *([plant.load] if is_traced(plant.load) else []))
        return stopped_in_loops(moving, given, (free.a, free.wrenches), q, v, dt, self.scene.joints, before)


def _loops(scene: Scene) -> str:
    """Whether joints that may be held are part of loops, not just coupled; and if so, whether friction and stops are
    solved for "inside" code, or "outside", because that code would be too long.
    """
    if not (scene.joints and scene.constraints) or scene.together is not None:
        return ""
    return "inside" if len(scene.joints) * len(scene.model.bodies) <= _MOST_IN_LOOPS else "outside"


def _within(tau: Any, most: Sequence[float]) -> Any:
    """Driving forces clamped to the effort limits."""
    cut = []
    for u, limit in zip(numbers(tau).tolist(), most, strict=True):
        cut.append(where_less(limit, u, limit, where_less(u, -limit, -limit, u)) if np.isfinite(limit) else u)
    return _array(cut)


def _array(items: Sequence[Any]) -> Any:
    made = np.empty(len(items), dtype=object)
    made[:] = items
    return traced(made)


# Running


class Machine:
    """Steps of a simulation in machine code, from any state."""

    def __init__(self, scene: Scene, plan: Plan, dt: float, steps: int, given: Mapping[str, Array]) -> None:
        """``given``: the arguments of a step besides dt, (steps or 1, numbers)."""
        self.scene, self.plan, self.steps = scene, plan, steps
        self.leaves_stops = _loops(scene) == "outside"
        """Whether steps in which a joint is stopped are left to Python, as are those after them then."""
        rows = {"dt": np.array([[dt]]), **given}
        self._given = [rows[name].reshape(len(rows[name]), -1) for name in scene.given]
        self._longest = max(1, int(_SPAN / plan.task.seconds))
        self._span = self._longest

    def go_on(
        self,
        k: int,
        every: int,
        q: Array,
        v: Array,
        answer: tuple[Array, Array, Array],
        extra: Array | None,
        states: Record,
    ) -> tuple[int, Array, Array, Answer, Array | None]:
        """Advance from step k as far as one call goes: the step reached, and the state, forces and wrenches there."""
        scene = self.scene
        a, tau, wrenches = answer
        parts = [q, v, a, tau, wrenches.ravel()]
        if scene.joints:
            parts.append(np.zeros(scene.model.nv) if extra is None else extra)
        clock = np.array([float(k), float(k % scene.hold) if scene.hold else 0.0])
        before = [np.array(part, dtype=np.float64)[None] for part in (*parts, clock)]
        reached = k
        while True:
            span = min(self._span, self.steps - reached)
            now = [part.copy() for part in before]
            given = []
            for rows in self._given:
                given.append((rows if len(rows) == 1 else rows[reached : reached + span])[None])
            status = run_over_time(
                self.plan, now, given, states.arrays, span, every, 1, reached, self.steps, sure=False
            )
            if not status:
                reached, before = reached + span, now
                self._span = min(2 * self._span, self._longest)
                states.filled(reached)
                break
            if span == 1:
                self._span = 1
                break
            self._span = span // 2
        q, v, a, tau, wrenches = (part[0] for part in before[:RECORDED])
        last = Answer(a, tau, wrenches.reshape(-1, 6))
        return reached, q, v, last, before[RECORDED][0] if scene.joints else None


def machine_for(scene: Scene, dt: float, steps: int, given: Mapping[str, Array]) -> Machine | None:
    """Code that repeats the step, if it is in the cache or pays off."""
    text, arguments = _Text(scene).advance, {**scene.state, **scene.given}

    def program(isomorphic: bool = False) -> Program:
        return trace("simulate", text, arguments, isomorphic)[0]

    loops = _calls(scene)

    def make(key: str) -> Plan:
        task = TracedTask(
            program, list(arguments.values()), list(scene.state.values()), None if loops else key, 2e-6, True, RECORDED,
            branches=branches_of(scene.model, program, spaces_of(arguments)),
        )  # fmt: skip
        return code_for_trace(task)

    plan: Plan | None = _kept(scene, "simulate", steps, make, lambda plan: plan)
    return None if plan is None else Machine(scene, plan, dt, steps, given)


def stages_for(scene: Scene, steps: int, hold: int) -> Stages | None:
    """The code of a step whose driving forces Python computes, in each evaluation if they are not held; or None."""
    model, text, name = scene.model, _Text(scene), "asking" if scene.several and not hold else "driven"
    shapes: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), "t": (), **scene.given}
    after: list[Shape] = [(model.nq,), (model.nv,)]

    def program(isomorphic: bool = False) -> Program:
        return trace("simulate", text.driven, shapes, isomorphic)[0]

    def make(key: str) -> Stages:
        if name == "asking":
            return Stages.cut(text.asking, shapes, after)
        results = [*after, (model.nv,), (model.nv,)]
        results += [(scene.wrenches, 6)] if scene.wrenches else []
        results += [(model.nv,)] if scene.joints else []
        structure = (tuple, [None] * len(results))
        branches = branches_of(model, program, spaces_of(shapes))
        whole = CompiledFunction("simulate", shapes, program, structure, results, key, 1e-6, branches=branches)
        return Stages([(whole, range(len(shapes)))])

    found: Stages | None = _kept(scene, name, steps, make, lambda found: Traced(found.parts[0][0]._task))
    return found


def _calls(scene: Scene) -> bool:
    """Whether code of the step calls code with loops."""
    laws = [law for law in (scene.law, scene.load) if law is not None]
    return len(scene.model.bodies) > MOST_BODIES or any(law.has_loops for law in laws)


def _can_call(scene: Scene) -> bool:
    """Whether all of the step can call code with loops, whose tables hold no armature that depends on the step."""
    implicit = scene.integrator == "semi_implicit_euler" and any(scene.damping)
    alone = not (scene.joints or scene.constraints or scene.touching is not None or implicit)
    return alone or len(scene.model.bodies) <= MOST_BODIES


def _kept(scene: Scene, name: str, steps: int, make: Callable[[str], Any], plan_of: Callable[[Any], Traced]) -> Any:
    """The result of ``make``, kept with the model; None if code cannot do the step, or does not pay off."""
    model = scene.model
    size, loops = len(model.bodies) * (2.5 if scene.joints else 1.0), _calls(scene)
    if current_form() != "auto" or not model.nv or (size > _LARGEST and not loops):
        return None
    if loops and not (name == "simulate" and _can_call(scene)):
        return None  # the code has loops, and is called from Python
    if _loops(scene) == "outside" and any(joint.friction for joint in scene.joints):
        return None  # friction and constraints depend on each other: Python solves for them together
    key = scene.key(name)
    if key is None:
        return None
    known, place, count = model._memo.plans, (key, name), (key, name, "steps")
    if scene.joints:  # rounding differs where joints are held: the choice depends on this run alone
        worth = steps >= (1.0 if _loops(scene) == "inside" else 0.1) * WORTH * len(model.bodies)
        if not worth:
            return None
    else:
        known[count] = known.get(count, 0) + steps
        worth = known[count] >= WORTH * len(model.bodies)
    found = known.get(place)
    if found is None:
        if not worth and (name == "asking" or steps < FEWEST):  # whether code is cached is known only after tracing
            return None
        found = make(key)
        plan = plan_of(found)
        if not (plan.is_kept or (worth and not plan.excess)):
            return None
        known[place] = found
    return found
