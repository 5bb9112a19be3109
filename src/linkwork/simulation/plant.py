"""The plant: the mechanism with all forces and constraints; from time and state to accelerations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms import step_forces
from linkwork.compiled.arrays import is_traced, numbers
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.call import call
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.late import LateFunction
from linkwork.model.model import Model
from linkwork.unsolved import strictly

if TYPE_CHECKING:
    from linkwork.dynamics.contact.law import Touching
    from linkwork.simulation.resistance import Armature as OwnArmature
    from linkwork.simulation.step import Step
    from linkwork.simulation.torques import Source

# what most steps do not need
constrained_dynamics = LateFunction("linkwork.dynamics.constrained:constrained_dynamics")
constrained_state = LateFunction("linkwork.dynamics.constrained_state:ConstrainedState")
held_by = LateFunction("linkwork.dynamics.held:held_by")
motion = LateFunction("linkwork.dynamics.constrained:motion")
OfActive = LateFunction("linkwork.dynamics.constraint_solvers:OfActive")
as_couplings = LateFunction("linkwork.dynamics.coupled_joints:as_couplings")
Armature = LateFunction("linkwork.simulation.resistance:Armature")
in_python = LateFunction("linkwork.simulation.resistance:in_python")
subroutine = LateFunction("linkwork.compiled.subroutine:subroutine")
with_rotors = LateFunction("linkwork.model.rotors:with_rotors")
with_stops = LateFunction("linkwork.simulation.resistance:with_stops")
with_stops_in_loops = LateFunction("linkwork.simulation.resistance:with_stops_in_loops")

Load = Callable[[float, Array, Array], ArrayLike]


class Answer(NamedTuple):
    """Accelerations (nv,), the driving forces (nv,), and the wrenches of the constraints (k, 6)."""

    a: Array
    tau: Array
    wrenches: Array


class Forces(NamedTuple):
    """Joint forces (nv,): driving, damping, springs, friction and stops; the rotor inertias that make drag implicit,
    None for those of the model; and the driving forces alone.
    """

    joints: Array
    rotors: Array | None
    drive: Array


class Plant:
    """Accelerations of a mechanism in a step of length dt, written over arrays: of floats, or of traced numbers.

    Semi-implicit Euler evaluates damping and smoothed friction at the end of the step: (M + dt D) a = τ - D v - ...,
    which is the same mechanism with armature dt D added, and costs no more.

    A step begins with ``answer``, which finds the forces of friction and stops; these then act in all evaluations of
    the step. An integrator that needs further ones calls the plant, which asks the source for driving forces.

    Attributes:
        of: the step. dt: its length.
        own: the varied parameters of the mechanism.
        switches: which constraints are active (k,), and where they hold (grips, 4, 4), if these are data; or nothing.
        source: (count, t, q, v) -> driving forces besides the parts.
        count: the number of the step.
        tau: the last driving forces. acting: the last joint forces.
        extra: joint forces (nv,) of friction and stops in this step.
        start: accelerations of the last step with contacts, the warm start of the next; None for a cold one.
        accelerating: (q, v, forces, rotors, f_ext, dt, *varied parameters) -> accelerations and wrenches; dt is used
            for contacts only.
    """

    def __init__(
        self,
        of: Step,
        dt: Any,
        parts: Mapping[str, Any],
        own: Sequence[Any] = (),
        *,
        source: Source | None = None,
        load: Load | Array | None = None,
        start: Any = None,
        switches: Sequence[Any] = (),
    ) -> None:
        self.switches = list(switches)
        self.of, self.dt, self.own = of, dt, list(own)
        self.source: Source = source or (lambda count, t, q, v: None)
        self.start, self.touching, self._load = start, of.touching, load
        self.use(parts)
        self.model = self._mechanism(None, self.own)
        self.count, self.tau = 0, np.zeros(of.model.nv)
        self.acting = Forces(self.tau, None, self.tau)
        self.extra: Array | None = None
        self.no_wrenches = np.zeros((0, 6))
        self.accelerating: Callable[..., Sequence[Array]] = self._accelerations
        if of.several and is_traced(dt):
            self.accelerating = subroutine(self._accelerations)

    def use(self, parts: Mapping[str, Any]) -> None:
        """From now on these are the parts of the step: driving forces, targets and gains, springs, drag, wrenches."""
        self.load = parts.get("f_ext") if self._load is None else self._load
        self.parts = {name: part for name, part in parts.items() if name != "f_ext"}
        self.implicit = self.of.implicit and bool(self.parts.keys() & {"damping", "friction"})
        drags = self.touching is not None and self.implicit and "damping" in self.parts
        self.drag = self.dt * self.parts["damping"] if drags else None

    def __call__(self, t: float, q: Array, v: Array) -> Answer:
        """``driven`` by the forces of the source."""
        return self.driven(t, q, v, self.source(self.count, t, q, v))

    def driven(self, t: float, q: Array, v: Array, tau: Array | None) -> Answer:
        """Accelerations, driving forces and constraint wrenches at a time, in a state, where ``tau`` drives besides the
        parts, and the forces of friction and stops are those of this step so far.
        """
        self.acting = forces = self.forces(q, v, tau)
        a, wrenches = self.accelerations(t, q, v, forces.joints, forces.rotors)
        return Answer(a, forces.drive, wrenches)

    def forces(self, q: Array, v: Array, tau: Array | None) -> Forces:
        """The joint forces."""
        parts, both = self.parts, [each for each in (self.parts.get("tau"), tau) if each is not None]
        self.tau = both[0] + both[1] if len(both) > 1 else both[0] if both else np.zeros(self.of.model.nv)
        if not parts.keys() - {"tau"}:
            return Forces(self.tau if self.extra is None else self.tau + self.extra, None, self.tau)
        parts = {**parts, "tau": self.tau}
        algorithm = step_forces(parts)
        given = [parts[name] for name, _ in algorithm.arguments[3:]]
        dt = self.dt if self.implicit else 0.0
        joints, rotors, drive = call(algorithm, self.model, [q, v, dt, *given], table=self.of.model._memo.quick)
        self.tau = drive
        implicit = rotors if self.implicit and self.touching is None else None
        return Forces(joints if self.extra is None else joints + self.extra, implicit, drive)

    def accelerations(self, t: float, q: Array, v: Array, forces: Array, rotors: Array | None) -> tuple[Array, Array]:
        """Accelerations for given joint forces (..., nv), and the wrenches of the constraints."""
        f_ext = self._wrenches(t, q, v) if callable(self.load) else self.load
        dt = None if self.touching is None else self.dt
        a, wrenches = self.accelerating(q, v, forces, rotors, f_ext, dt, *self.own, *self.switches)
        return a, wrenches

    def answer(self, t: Any, q: Any, v: Any, tau: Any) -> Answer:
        """``driven``, with the forces of friction and stops over the step that begins here."""
        self.extra = None
        free, of, dt = self.driven(t, q, v, tau), self.of, self.dt
        if not of.joints:
            return free
        if not is_traced(q):
            self.extra = in_python(partial(self._pushed, t, q, v), free.a, of.model, of.joints, q, v, dt)
            return free if self.extra is None else self.driven(t, q, v, tau)
        rotors = self.acting.rotors
        own = Armature(partial(self._mechanism, None), None if rotors is None else numbers(rotors).tolist(), self.own)
        if of.in_loops:
            a, wrenches, self.extra = self._in_loops(own, t, q, v, free)
            return Answer(a, free.tau, wrenches)
        end, rate = v + dt * free.a, 1.0 / dt
        speeds, impulses, added = with_stops(own, of.joints, of.together, q, end, dt)
        couplings, wrenches = as_couplings(of.model, of.constraints), free.wrenches
        if couplings is not None and couplings.couplings:
            wrenches = wrenches + (added * rate)[:, None] * couplings.wrenches
        self.extra = impulses * rate
        return Answer(free.a + (speeds - end) * rate, free.tau, wrenches)

    def _pushed(self, t: float, q: Array, v: Array, extra: Array) -> Array:
        """Accelerations for rows of joint forces besides those that act."""
        return self.accelerations(t, q, v, self.acting.joints + extra, self.acting.rotors)[0]

    def _in_loops(self, armature: OwnArmature, t: Any, q: Any, v: Any, free: Answer) -> tuple[Any, Any, Any]:
        """Accelerations, wrenches, and forces of friction and stops, for joints that are part of loops."""
        of, count = self.of, len(armature.data)

        def moving(extra: Any, q: Any, v: Any, dt: Any, forces: Any, *more: Any) -> Sequence[Any]:
            data, switches, loads = more[:count], more[count:last], more[last:]
            f_ext = loads[0] if loads else constant
            return self._constrained(armature.model(data), q, v, forces + extra, f_ext, switches)

        load, last = self._wrenches(t, q, v) if callable(self.load) else self.load, count + len(self.switches)
        constant = None if is_traced(load) else load
        loads = [load] if constant is None and load is not None else []
        given = [self.acting.joints, *armature.data, *self.switches, *loads]
        return with_stops_in_loops(moving, (free.a, free.wrenches), of.model, of.joints, q, v, self.dt, given)

    def _mechanism(self, rotors: Any, own: Sequence[Any]) -> Model:
        """The model with its varied parameters, and the armature that stands for drag."""
        model = self.of.mechanism(own)
        if rotors is None:
            return model
        if is_traced(rotors):
            return with_rotors(model, numbers(rotors).tolist())
        return _with_rotors(model, tuple(rotors.tolist()))

    def _accelerations(
        self, q: Array, v: Array, forces: Array, rotors: Any, f_ext: Any, dt: Any, *own: Any
    ) -> Sequence[Array]:
        of, count = self.of, len(self.own)
        model, switches = self._mechanism(rotors, own[:count]), own[count:]
        if self.touching is not None:
            return self._touched(self.touching, model, q, v, forces, f_ext, dt)
        if not of.constraints:
            return forward_dynamics(model, q, v, forces, f_ext, of.method), self.no_wrenches
        return self._constrained(model, q, v, forces, f_ext, switches)

    def _constrained(
        self, model: Model, q: Array, v: Array, forces: Array, f_ext: Any, switches: Sequence[Any]
    ) -> Sequence[Array]:
        """Accelerations with constraints, of which those are active that the switches say, and their wrenches."""
        of = self.of
        if not switches:
            with strictly():  # the next step is made from it
                return constrained_dynamics(
                    model, q, v, forces, of.constraints, f_ext, of.stabilisation, of.proximal, of.method
                )
        held, (active, placements) = held_by(model, of.constraints), switches
        solver = OfActive(held.name, of.proximal, active=active[held.of_rows])
        settings = held.settings(of.stabilisation, of.proximal)
        return motion(constrained_state(held, solver, placements, settings, q, v, forces, f_ext))

    def _touched(
        self, touching: Touching, model: Model, q: Array, v: Array, forces: Array, f_ext: Any, dt: Any
    ) -> tuple[Array, Array]:
        """Accelerations with contacts, and the contact wrenches if they are wanted."""
        wanted = self.of.contact_forces
        if is_traced(q):
            text = touching.text_of(model)
            several = self.of.several  # this is a subroutine then, which starts cold
            motion = text.motion(q, v, forces, numbers(dt).item(), f_ext, None if several else self.start, self.drag)
            self.start = self.start if several else motion.a
            return motion.damped, text.wrenches(motion) if wanted else self.no_wrenches
        if not self.of.several and self.start is None:
            self.start = np.zeros_like(v)
        given = [each for each in (self.drag, self.start, f_ext) if each is not None]
        law = touching.step_law(f_ext is not None, self.drag is not None, wanted, self.start is not None)
        answer = law(q, v, forces, dt, *given)
        results = list(answer) if isinstance(answer, tuple) else [answer]
        if self.start is not None:
            self.start = results.pop()
        return results[0], results[1] if wanted else self.no_wrenches

    def _wrenches(self, t: float, q: Array, v: Array) -> Array:
        assert callable(self.load)
        return self.load(t, q, v)  # type: ignore[return-value]


@lru_cache(maxsize=100)
def _with_rotors(model: Model, rotors: tuple[float, ...]) -> Model:
    """The same object for the same arguments, as code is kept with the model."""
    found: Model = with_rotors(model, rotors)
    return found
