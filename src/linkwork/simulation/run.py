"""The loop of a simulation over its steps: by machine code as far as that goes, else by Python."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.errors import TracingError
from linkwork.progress import Bar
from linkwork.simulation.integrators import Step
from linkwork.simulation.machine import Machine, Scene, machine_for, stages_for
from linkwork.simulation.plant import Plant
from linkwork.simulation.record import Record
from linkwork.simulation.resistance import StictionAndStops
from linkwork.simulation.stages import Asking
from linkwork.simulation.torques import Told
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
        self.asking: Asking | None = None
        """Steps for which Python says the driving forces, or None if code cannot do them."""

    def prepare(self, scene: Scene, hold: int, given: Mapping[str, Array], q: Array, v: Array) -> None:
        """Find code for the steps; where there is none, or it is not worth while, Python does them."""
        try:
            self._prepare(scene, hold, given, q, v)
        except (TracingError, ZeroDivisionError, OverflowError):  # a constant of the model: Python says which
            self.machine = self.asking = None

    def _prepare(self, scene: Scene, hold: int, given: Mapping[str, Array], q: Array, v: Array) -> None:
        if scene.driven != "given":
            self.machine = machine_for(scene, self.dt, self.steps, given)
            return
        stages = stages_for(scene, self.steps, hold)
        if stages is None:
            return
        plant, source, rows = self.plant, self.plant.source, {"dt": np.array(self.dt), **given}
        fixed = [np.array(rows[name], order="C").reshape(shape) for name, shape in scene.given.items()]
        if isinstance(source, Told):
            self.asking = stages.asking(source.ask, source.checked, fixed, q, v)
        else:  # what was said is held
            self.asking = stages.asking(lambda t, q, v: source(plant.step, t, q, v), np.asarray, fixed, q, v)

    def go(self, q: Array, v: Array) -> None:
        """All steps, from a state on."""
        k, steps, every, dt, bar, add = 0, self.steps, self.every, self.dt, self.bar, self.states.add
        asking = self.asking
        while True:
            self.t, self.v = k * dt, v
            answer, begun = self._answer(k, q, v)
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
            after = None if asking is None or begun is None else asking.finish(q, v, begun)
            if after is None:
                q, v = self.step(self.plant, self.t, q, v, answer[0], dt)
                q = self.resistance.clip(q) if self.resistance.any else q
            else:
                q, v = after
            if bar is not None:
                bar(k)
            k += 1

    def _answer(self, k: int, q: Array, v: Array) -> tuple[tuple[Array, Array, Array], tuple[Array, ...] | None]:
        """What happens at step k, and what code has begun there, if it can do the step."""
        plant, t = self.plant, self.t
        plant.step, plant.extra = k, None
        asking, source = self.asking, plant.source
        said = None if asking is None else asking.begin(t, q, v)
        if asking is not None and isinstance(said, tuple):
            a, plant.tau, *rest = asking.happening(said)
            if self.resistance.any:
                plant.extra = rest.pop()
            return (a, plant.tau, rest[0] if rest else plant.no_wrenches), said
        tau = said if isinstance(said, np.ndarray) else source(k, t, q, v)
        plant.tau = tau = source.limited(tau) if isinstance(source, Told) else tau
        answer = plant.driven(t, q, v, tau)
        if self.resistance.any:
            plant.extra = self.resistance.forces(plant, t, q, v, answer, self.dt)
            if plant.extra is not None:
                answer = plant.driven(t, q, v, tau)
        return answer, None
