"""The loop of a simulation over its steps: by machine code as far as that goes, else by Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.errors import TracingError
from linkwork.progress import Bar
from linkwork.simulation.integrators import Step
from linkwork.simulation.machine import Machine, Scene, function_for, machine_for, stages_for
from linkwork.simulation.plant import Plant
from linkwork.simulation.record import Record
from linkwork.simulation.resistance import StictionAndStops
from linkwork.simulation.stages import Begun, Stages
from linkwork.simulation.watching import Watched


class Run:
    """A plant, an integrator, and what is recorded.

    Attributes:
        t: the time (s) that was reached. v: the velocity there.
    """

    def __init__(
        self,
        plant: Plant,
        step: Step,
        resistance: StictionAndStops,
        states: Record,
        steps: int,
        every: int,
        dt: float,
        bar: Bar | None,
        watched: Watched | None = None,
    ) -> None:
        self.plant, self.step, self.resistance, self.states = plant, step, resistance, states
        self.steps, self.every, self.dt, self.bar, self.watched = steps, every, dt, bar, watched
        self.t, self.v = 0.0, np.zeros(0)
        self.machine: Machine | None = None
        self.driven: Callable[..., Any] | None = None
        """(None, q, v, tau, ...): a step for which Python says the driving forces, or None if code cannot do it."""
        self.stages: Stages | None = None
        """A step in which Python is asked for them several times."""
        self._given: list[Array] = []

    def prepare(self, scene: Scene, hold: int, given: Mapping[str, Array], q: Array, v: Array) -> None:
        """Find code for the steps; where there is none, or it is not worth while, Python does them."""
        try:
            self._prepare(scene, hold, given, q, v)
        except (TracingError, ZeroDivisionError, OverflowError):  # a constant of the model: Python says which
            self.machine = self.driven = self.stages = None

    def _prepare(self, scene: Scene, hold: int, given: Mapping[str, Array], q: Array, v: Array) -> None:
        if scene.driven != "given":
            self.machine = machine_for(scene, self.dt, self.steps, given)
            return
        shapes, rows = scene.given, {"dt": np.array(self.dt), **given}
        self._given = [np.array(rows[name], order="C").reshape(shape) for name, shape in shapes.items()]
        if scene.several and not hold:  # asked within a step, too
            stages = stages_for(scene, self.steps)
            self.stages = stages if stages is not None and stages.prepare(self._given, q, v) else None
            return
        function = function_for(scene, self.steps)
        if function is None:
            return
        function.attempt([q, v, np.zeros_like(v), *self._given])  # makes the code
        self.driven = function.quick

    def go(self, q: Array, v: Array) -> None:
        """All steps, from a state on."""
        k, steps, every, dt, bar, add = 0, self.steps, self.every, self.dt, self.bar, self.states.add
        while True:
            self.t, self.v = k * dt, v
            answer, after = self._answer(k, q, v)
            if k % every == 0 or k == steps:
                add(self.t, q, v, answer)
            if self.watched is not None:
                self.watched.see(self.t, q, v, answer)
            if k == steps:
                return
            if self.machine is not None:
                k, q, v, answer, self.plant.extra = self.machine.go_on(
                    k, every, q, v, answer, self.plant.extra, self.states
                )
                self.t, self.v, self.plant.step, self.plant.tau = k * dt, v, k, answer[1]
                if bar is not None:
                    bar(k)
                if k == steps:
                    return
            if isinstance(after, Begun):
                after = self._finished(after)
            if after is None:
                q, v = self.step(self.plant, self.t, q, v, answer[0], dt)
                q = self.resistance.clip(q) if self.resistance.any else q
            else:
                q, v = after
            if bar is not None:
                bar(k)
            k += 1

    def _finished(self, begun: Begun) -> tuple[Array, Array] | None:
        """The state after a step that has been begun, if code can do it."""
        plant, source = self.plant, self.plant.source

        def told(step: int, t: float, q: Array, v: Array) -> Array:
            plant.tau = tau = source(step, t, q, v)
            return tau

        assert self.stages is not None
        return self.stages.finish(told, plant.step, begun)

    def _answer(
        self, k: int, q: Array, v: Array
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, Array] | Begun | None]:
        """What happens at step k, and the state after it, if that was found on the way, or has been begun."""
        plant, t = self.plant, self.t
        plant.step, plant.extra = k, None
        tau = plant.tau = plant.source(k, t, q, v)
        if self.driven is not None:
            found = self.driven(None, q, v, tau, *self._given)
            if found is not None:
                a, wrenches, q, v = found
                return (a, tau, wrenches), (q, v)
        if self.stages is not None:
            begun = self.stages.begin(t, q, v, tau)
            if begun is not None:
                _, _, _, _, a, *rest = begun.found
                if self.resistance.any:
                    plant.extra = rest.pop()
                return (a, tau, rest[0] if rest else plant.no_wrenches), begun
        answer = plant.driven(t, q, v, tau)
        if self.resistance.any:
            plant.extra = self.resistance.forces(plant, t, q, v, answer, self.dt)
            if plant.extra is not None:
                answer = plant.driven(t, q, v, tau)
        return answer, None
