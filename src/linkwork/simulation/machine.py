"""Steps of ``lw.simulate`` in machine code: the plant and the integrator, traced as they are.

The state that a step updates is q, v, the accelerations, driving forces and constraint wrenches there (these five are
recorded), the forces of friction and stops over the step that begins there, and the step's number. A step that code
cannot do, because constraints may be redundant or the search for joints at stops does not end, gives NaN; it is then
done in Python, as is every error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork.algorithms import STUDIES
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape, trace
from linkwork.dynamics.arguments import Array
from linkwork.engine.ir.program import Program
from linkwork.engine.mode import current_form
from linkwork.engine.plans import Plan, TracedTask, code_for_trace
from linkwork.engine.plans.costs import most, within
from linkwork.engine.plans.straight_line import StraightLine
from linkwork.engine.rollout import run_over_time
from linkwork.engine.trace.isomorphic import branches_of
from linkwork.simulation.plant import Answer, Plant
from linkwork.simulation.record import Record
from linkwork.simulation.scene import NEXT, NOW, RECORDED, Scene, spaces_of
from linkwork.simulation.stages import Stages, ask
from linkwork.simulation.step import Step
from linkwork.simulation.step_arguments import DEFAULT

_SPAN = 0.05
"""Seconds of work after which control returns to Python, for the progress bar."""


class _Text:
    """The functions of a step that are traced."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.of = scene, scene.step

    def advance(
        self, q: Any, v: Any, a: Any, tau: Any, wrenches: Any, clock: Any, dt: Any, extra: Any = None,
        said: Any = None, **given: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """The state dt later."""
        scene, law = self.scene, self.of.driving(given)
        plant = self._plant(law if said is None else lambda count, t, q, v: said, dt, given)
        plant.extra = extra
        q, v = self.of.integrated(plant, clock[0] * dt, q, v, a, dt)
        now = clock[0] + 1.0
        phase, t = clock[1], now * dt
        plant.use({name: given.get(NEXT + name, given[NOW + name]) for name in scene.parts})
        tau = law(0, t, q, v)
        if said is not None:
            phase = np.where(phase + 1.0 < scene.hold, phase + 1.0, 0.0)
            tau = np.where(phase == 0.0, tau, said)
        answer = plant.answer(t, q, v, tau, extra)
        return (q, v, *_happening(answer, True), *([] if said is None else [tau]), np.stack([now, phase]))

    def driven(self, q: Any, v: Any, tau: Any, t: Any, dt: Any, **given: Any) -> tuple[Any, ...]:
        """The state dt later, and the accelerations, forces and wrenches for driving forces computed by Python."""
        plant = self._plant(lambda count, t, q, v: tau, dt, given)
        answer = plant.answer(t, q, v, tau)
        state = self.of.integrated(plant, t, q, v, answer.a, dt)
        return *state, *_happening(answer, bool(self.scene.wrenches))

    def asking(self, q: Any, v: Any, tau: Any, t: Any, dt: Any, **given: Any) -> tuple[Any, ...]:
        """The state dt later, where Python computes the driving forces of each evaluation. The first call passes on the
        accelerations, forces and wrenches at the beginning of the step, whose driving forces are already known.
        """
        told: list[tuple[Any, ...]] = []
        plant = self._plant(
            lambda count, t, q, v: ask(np.shape(tau), t, q, v, *(told.pop() if told else ())), dt, given
        )
        answer = plant.answer(t, q, v, tau)
        told.append(_happening(answer, bool(self.scene.wrenches)))
        return self.of.integrated(plant, t, q, v, answer.a, dt)

    def _plant(self, source: Callable[..., Any], dt: Any, given: Mapping[str, Any]) -> Plant:
        step, own = self.of, {name: given[NOW + name] for name in self.scene.parts}
        # a step that may be held by stops or friction computes the mass matrix once, for that and for its
        # accelerations; it is dearer than articulated bodies for larger robots
        once = step.joints and not step.several and step.contacts is None and not step.in_loops
        once = once and step.method == DEFAULT
        method = "composite_body" if once and within("composite", step.model) else None
        return step.plant(dt, own, source=source, load=step.load, method=method)


def _happening(answer: Answer, wrenches: bool) -> tuple[Any, ...]:
    """Accelerations, driving forces, and, where there are any, wrenches, and the forces of friction and stops."""
    found = (answer.a, answer.tau, answer.wrenches if wrenches else None, answer.extra)
    return tuple(each for each in found if each is not None)


# Running


class Machine:
    """Steps of a simulation in machine code, from any state."""

    def __init__(self, scene: Scene, plan: Plan, dt: float, steps: int, given: Mapping[str, Array]) -> None:
        """``given``: the arguments of a step besides dt, (steps or 1, numbers)."""
        self.scene, self.plan, self.steps = scene, plan, steps
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
        answer: Answer,
        said: Array | None,
        states: Record,
    ) -> tuple[int, Array, Array, Answer, Array | None]:
        """Advance from step k as far as one call goes: the step reached, the state there with its answer, and the
        forces of the law, if they are ``said`` for several steps.
        """
        scene = self.scene
        a, tau, wrenches, extra = answer
        parts = [q, v, a, tau, wrenches.ravel()]
        if scene.step.joints:
            parts.append(np.zeros(scene.step.model.nv) if extra is None else extra)
        if scene.hold and said is not None:
            parts.append(said)
        clock = np.array([float(k), float(k % max(scene.hold, 1))])
        before = [np.array(part, dtype=np.float64)[None] for part in (*parts, clock)]
        while True:
            span = min(self._span, self.steps - k)
            now = [part.copy() for part in before]
            given = [(rows if len(rows) == 1 else rows[k : k + span])[None] for rows in self._given]
            status = run_over_time(self.plan, now, given, states.arrays, span, every, 1, k, self.steps, sure=False)
            if not status:
                k, before = k + span, now
                self._span = min(2 * self._span, self._longest)
                states.filled(k)
                break
            if span == 1:
                self._span = 1
                break
            self._span = span // 2
        q, v, a, tau, wrenches = (part[0] for part in before[:RECORDED])
        last = Answer(a, tau, wrenches.reshape(-1, 6), before[RECORDED][0] if scene.step.joints else None)
        return k, q, v, last, before[-2][0] if scene.hold else None


def machine_for(scene: Scene, dt: float, steps: int, given: Mapping[str, Array]) -> Machine | None:
    """Code that repeats the step, if it is in the cache or pays off."""
    text, arguments = _Text(scene).advance, {**scene.state, **scene.given}

    def program(isomorphic: bool = False) -> Program:
        return trace("simulate", text, arguments, isomorphic)[0]

    loops = scene.step.has_loops

    def make(key: str) -> Plan:
        task = TracedTask(
            program, list(arguments.values()), list(scene.state.values()), None if loops else key, 2e-6, True, RECORDED,
            branches=branches_of(scene.step.model, program, spaces_of(arguments)),
        )  # fmt: skip
        return code_for_trace(task)

    plan: Plan | None = _kept(scene, "simulate", steps, make, lambda plan: plan)
    return None if plan is None else Machine(scene, plan, dt, steps, given)


def stages_for(scene: Scene, steps: int) -> Stages | None:
    """The code of a step whose driving forces Python computes, in each evaluation if they are not held; or None."""
    model, text, name = scene.step.model, _Text(scene), "asking" if scene.step.several and not scene.hold else "driven"
    shapes: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), "t": (), **scene.given}
    after: list[Shape] = [(model.nq,), (model.nv,)]

    def program(isomorphic: bool = False) -> Program:
        return trace("simulate", text.driven, shapes, isomorphic)[0]

    def make(key: str) -> Stages:
        if name == "asking":
            return Stages.cut(text.asking, shapes, after)
        results = [*after, (model.nv,), (model.nv,)]
        results += [(scene.wrenches, 6)] if scene.wrenches else []
        results += [(model.nv,)] if scene.step.joints else []
        structure = (tuple, [None] * len(results))
        branches = branches_of(model, program, spaces_of(shapes))
        whole = CompiledFunction("simulate", shapes, program, structure, results, key, 1e-6, branches=branches)
        return Stages([(whole, range(len(shapes)))])

    found: Stages | None = _kept(scene, name, steps, make, lambda found: code_for_trace(found.parts[0][0]._task))
    return found


def _can_do(step: Step, called: bool) -> bool:
    """Whether code can do the step, ``called`` once a step from Python or repeated by itself."""
    if current_form() != "auto" or not step.model.nv or step.method in STUDIES:
        return False
    if step.has_loops:
        return not called
    return within("simulated", len(step.model.bodies) * (2.5 if step.joints else 1.0))


def _pays(step: Step, steps: int, known: dict[Any, Any], count: Any) -> bool:
    """Whether so many steps take longer in Python than to compile: in this run, or in all runs together."""
    worth = most("python_steps") * len(step.model.bodies)
    if step.joints:  # rounding differs where joints are held: this run alone decides; Python is slow there
        return steps >= (1.0 if step.in_loops else 0.1) * worth
    known[count] = known.get(count, 0) + steps
    return bool(known[count] >= worth)


def _kept(
    scene: Scene, name: str, steps: int, make: Callable[[str], Any], plan_of: Callable[[Any], StraightLine]
) -> Any:
    """The result of ``make``, kept with the model; None if code cannot do the step, or does not pay off."""
    step, key = scene.step, scene.key(name)
    if key is None or not _can_do(step, name != "simulate"):
        return None
    known, place = step.model._memo.plans, (key, name)
    pays = _pays(step, steps, known, (*place, "steps"))
    found = known.get(place)
    if found is not None and (pays or not step.joints):
        return found
    # whether code is cached is known only after tracing
    if not pays and (step.joints or name == "asking" or steps < most("unsearched_steps")):
        return None
    found = make(key)
    plan = plan_of(found)
    if not (plan.is_kept or (pays and not plan.excess)):
        return None
    known[place] = found
    return found
