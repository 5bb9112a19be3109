"""The loop of a simulation over its steps: in machine code where possible, otherwise in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.errors import TracingError
from linkwork.progress import Bar
from linkwork.simulation.integrators import Integrator
from linkwork.simulation.machine import Machine, machine_for, stages_for
from linkwork.simulation.plant import Answer, Plant
from linkwork.simulation.record import Record
from linkwork.simulation.scene import Scene
from linkwork.simulation.stages import Asking
from linkwork.simulation.torques import Hold, TorqueFunction
from linkwork.simulation.watching import ViewerLoads

_AT_ONCE = 32
"""Steps of compiled code that calls a Python function, between two checks for signals."""


class Run:
    """A plant, an integrator, and the record of the run.

    Attributes:
        t: the time (s) reached.
        v: the velocity there.
        interrupted: whether the run ended early.
    """

    def __init__(
        self,
        plant: Plant,
        parts: Mapping[str, Array],
        integrator: Integrator,
        states: Record,
        steps: int,
        every: int,
        dt: float,
        bar: Bar | None,
        watched: ViewerLoads | None = None,
    ) -> None:
        self.plant, self.integrator, self.states = plant, integrator, states
        self.parts, self.varying = parts, any(len(rows) > 1 for rows in parts.values())
        self.steps, self.every, self.dt, self.bar, self.watched = steps, every, dt, bar, watched
        self.t, self.v, self.interrupted = 0.0, np.zeros(0), False
        self._use(0)
        self.machine: Machine | None = None
        self.asking: Asking | None = None
        """Compiled steps whose driving forces a Python function computes; None if code cannot do them."""

    def _use(self, k: int) -> None:
        """The parts of step k act from now on."""
        self.plant.use({name: rows[min(k, len(rows) - 1)] for name, rows in self.parts.items()})

    def prepare(self, scene: Scene, rows: Mapping[str, Array], q: Array, v: Array) -> None:
        """Find compiled code for the steps, whose arguments besides dt are in ``rows``, (steps or 1, numbers); where
        there is none, or it does not pay off, they are done in Python.
        """
        try:
            self._prepare(scene, rows, q, v)
        except (TracingError, ZeroDivisionError, OverflowError):  # a constant of the model: the Python step explains it
            self.machine = self.asking = None

    def _prepare(self, scene: Scene, rows: Mapping[str, Array], q: Array, v: Array) -> None:
        if scene.driven != "given":
            self.machine = machine_for(scene, self.dt, self.steps, rows)
            return
        stages = None if scene.over_time else stages_for(scene, self.steps)
        if stages is None:
            return
        source, rows = self.plant.source, {"dt": np.array(self.dt), **rows}
        fixed = [np.array(rows[name], order="C").reshape(shape) for name, shape in scene.given.items()]
        if isinstance(source, TorqueFunction):
            self.asking = stages.asking(source.ask, source.checked, fixed, q, v, self.states)
            return

        def held(t: float, q: Array, v: Array) -> Any:
            assert self.asking is not None
            return source(self.asking.step, t, q, v)

        self.asking = stages.asking(held, np.asarray, fixed, q, v, self.states)

    def go(self, q: Array, v: Array) -> None:
        """Do all steps, beginning in a state."""
        if self.asking is not None:
            self._go_asking(self.asking, q, v)
            return
        k, steps = 0, self.steps
        while True:
            self.t, self.v = k * self.dt, v
            answer = self._answer(k, q, v)
            self._keep(k, q, v, answer)
            if k < steps and self.machine is not None:
                k, q, v, answer = self._in_code(self.machine, k, q, v, answer)
            if k == steps:
                return
            q, v = self._stepped(q, v, answer)
            self._tell(k)
            k += 1

    def _keep(self, k: int, q: Array, v: Array, answer: Answer) -> None:
        """Record and show a state."""
        if k % self.every == 0 or k == self.steps:
            self.states.add(self.t, q, v, *answer[:3])
        if self.watched is not None:
            self.watched.see(self.t, q, v, answer)

    def _tell(self, k: int) -> None:
        if self.bar is not None:
            self.bar(k)

    def _in_code(
        self, machine: Machine, k: int, q: Array, v: Array, answer: Answer
    ) -> tuple[int, Array, Array, Answer]:
        """The state that code reaches from step k, and its answer."""
        plant, source = self.plant, self.plant.source
        said = source.tau if isinstance(source, Hold) else None
        k, q, v, answer, said = machine.go_on(
            k, self.every, q, v, answer._replace(extra=plant.extra), said, self.states
        )
        if isinstance(source, Hold) and said is not None:
            source.tau = said
        self.t, self.v, plant.count, plant.tau, plant.extra = k * self.dt, v, k, *answer[1::2]
        self._tell(k)
        return k, q, v, answer

    def _go_asking(self, asking: Asking, q: Array, v: Array) -> None:
        """Do all steps, beginning in a state, with driving forces from a Python function: in compiled code, and in
        Python where that cannot. There is no viewer here, as a viewer's load is a Python function.
        """
        plant = self.plant
        asking.at(0, q, v, plant.tau)
        while True:
            until = min(asking.step + _AT_ONCE, self.steps)
            try:
                asking.go_on(until)
            finally:
                k, q, v, begun = asking.step, asking.q, asking.v, asking.begun
                self.t, self.v, plant.count, plant.tau = k * self.dt, v, k, asking.last
            if begun is not None:
                answer = self._begun(asking.happening(begun))
            else:
                answer = self._answer(k, q, v, asking.said)
                if k % self.every == 0 or k == self.steps:
                    self.states.add(self.t, q, v, *answer[:3])
            if k == self.steps:
                return
            self._tell(k)
            if begun is None or k < until:
                asking.at(k + 1, *self._stepped(q, v, answer), plant.tau)

    def _stepped(self, q: Array, v: Array, answer: Answer) -> tuple[Array, Array]:
        """The state after a step in Python."""
        q, v = self.integrator(self.plant, self.t, q, v, answer.a, self.dt)
        return self.plant.of.within(q), v

    def _begun(self, happening: tuple[Array, ...]) -> Answer:
        """Accelerations, driving forces and wrenches at the beginning of a step that compiled code has begun."""
        plant = self.plant
        a, plant.tau, *rest = happening
        plant.extra = rest.pop() if plant.of.joints else None
        return Answer(a, plant.tau, rest[0] if rest else plant.no_wrenches)

    def _answer(self, k: int, q: Array, v: Array, said: Array | None = None) -> Answer:
        """Accelerations, driving forces and wrenches at step k; ``said`` are the driving forces, if already known."""
        plant, t = self.plant, self.t
        plant.count = k
        if self.varying:
            self._use(k)
        return plant.answer(t, q, v, plant.source(k, t, q, v) if said is None else said, plant.extra)
