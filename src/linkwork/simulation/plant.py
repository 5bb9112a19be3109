"""The plant: the mechanism with all forces and constraints; from time and state to accelerations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compiled.arrays import TracedArray, numbers
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.constrained import constrained_dynamics
from linkwork.dynamics.constraint_solvers import TracedSolver
from linkwork.dynamics.contact.law import Touching
from linkwork.dynamics.coupled_joints import coupled_motion
from linkwork.dynamics.dynamics import forward_dynamics
from linkwork.dynamics.held import held_by
from linkwork.dynamics.kinematics import difference
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.model.rotors import with_rotors
from linkwork.simulation.arguments import returned
from linkwork.simulation.torques import Source
from linkwork.unsolved import strictly

Load = Callable[[float, Array, Array], ArrayLike]


class Answer(NamedTuple):
    """Accelerations (nv,), the driving forces (nv,), and the wrenches of the constraints (k, 6)."""

    a: Array
    tau: Array
    wrenches: Array


class Plant:
    """Accelerations of a model under driving forces, damping, springs, external wrenches and constraints.

    With ``implicit`` (s) set, damping acts on the velocity at the end of a step of that length. Then (M + dt D) a = τ -
    D v - ..., which is the same mechanism with armature dt D added, and costs no more.

    It is written over arrays: of floats, or of traced numbers, which become code (``machine``).
    """

    def __init__(
        self,
        model: Model,
        source: Source,
        *,
        method: str,
        constraints: Sequence[Constraint],
        stabilisation: float,
        proximal: float,
        load: Load | Array | None,
        damping: Array,
        implicit: Any,
        springs: bool = False,
        touching: Touching | None = None,
        dt: Any = None,
        contact_forces: bool = False,
    ) -> None:
        self.model, self.source, self.method = model, source, method
        self.constraints, self.stabilisation, self.proximal = tuple(constraints), stabilisation, proximal
        self.load = load
        self.damping = damping if damping.any() else None
        self.springs = (model.stiffness, model.springref) if springs and model.stiffness.any() else None
        self.touching, self.dt, self.contact_forces = touching, dt, contact_forces
        self.drag = None if touching is None or self.damping is None or implicit is None else implicit * self.damping
        self.implicit = self.damping is not None and implicit is not None
        self.solved = self.damped(implicit)
        self.step = 0
        self.tau = np.zeros(model.nv)
        """The last result of the torque source."""
        self.extra: Array | None = None
        """Joint forces (nv,) of friction and stops in this step."""
        self.last = np.zeros(model.nv)
        """Accelerations of the last step with contacts: the warm start of the next, where code has loops."""
        self.no_wrenches = np.zeros((0, 6))
        self.dynamics: Callable[..., Sequence[Array]] = self._dynamics
        """(q, v, forces, f_ext, dt) -> accelerations and wrenches; dt is used for contacts only."""

    def damped(self, dt: Any) -> Model:
        """The model with the armature that stands for damping at the end of a step of this length."""
        return _damped(self.model, dt) if self.implicit else self.model

    def __call__(self, t: float, q: Array, v: Array) -> Answer:
        """Accelerations, driving forces and constraint wrenches at a time, in a state."""
        self.tau = self.source(self.step, t, q, v)
        return self.driven(t, q, v, self.tau)

    def driven(self, t: float, q: Array, v: Array, tau: Array) -> Answer:
        """The same for given driving forces."""
        a, wrenches = self.accelerations(t, q, v, self.forces(q, v, tau))
        return Answer(a, tau, wrenches)

    def forces(self, q: Array, v: Array, tau: Array) -> Array:
        """Joint forces (nv,): driving, damping, springs, friction and stops."""
        forces = tau if self.damping is None else tau - self.damping * v
        if self.springs is not None:
            stiffness, rest = self.springs
            forces = forces + stiffness * difference(self.model, q, rest)
        return forces if self.extra is None else forces + self.extra

    def accelerations(self, t: float, q: Array, v: Array, forces: Array) -> tuple[Array, Array]:
        """Accelerations for given joint forces (..., nv), and the wrenches of the constraints."""
        f_ext = self._wrenches(t, q, v) if callable(self.load) else self.load
        a, wrenches = self.dynamics(q, v, forces, f_ext, None if self.touching is None else self.dt)
        return a, wrenches

    def _dynamics(self, q: Array, v: Array, forces: Array, f_ext: Any, dt: Any) -> Sequence[Array]:
        if self.touching is not None:
            return self._touched(self.touching, q, v, forces, f_ext, dt)
        if not self.constraints:
            return forward_dynamics(self.solved, q, v, forces, f_ext, self.method), self.no_wrenches
        if self.method == "composite_body":
            return self._coupled(q, v, forces, f_ext)
        with strictly():  # the next step is made from it
            return constrained_dynamics(
                self.solved, q, v, forces, self.constraints, f_ext, self.stabilisation, self.proximal, self.method
            )

    def _coupled(self, q: Array, v: Array, forces: Array, f_ext: Any) -> tuple[Array, Array]:
        """Accelerations of coupled joints over traced numbers, by composite bodies."""
        held = held_by(self.solved, self.constraints)
        assert held.couplings is not None
        settings, solver = held.settings(self.stabilisation, self.proximal), TracedSolver(held.name, self.proximal)
        return coupled_motion(self.solved, held.couplings, q, v, forces, f_ext, settings, solver, self.method)

    def _touched(
        self, touching: Touching, q: Array, v: Array, forces: Array, f_ext: Any, dt: Any
    ) -> tuple[Array, Array]:
        """Accelerations with contacts, and the contact wrenches if they are wanted."""
        wanted = self.contact_forces
        if isinstance(q, TracedArray):
            found = touching.text.step(q, v, forces, numbers(dt).item(), f_ext, self.drag, wanted)
        else:
            given = [each for each in (self.drag, f_ext) if each is not None]
            law = touching.step_law(f_ext is not None, self.drag is not None, wanted)
            answer = law(q, v, forces, dt, *given, **({"last": self.last} if touching.has_loops else {}))
            found = answer if wanted else (answer,)
        return found[0], found[1] if wanted else self.no_wrenches

    def _wrenches(self, t: float, q: Array, v: Array) -> Array:
        assert callable(self.load)
        expected = (len(self.model.bodies), 6)
        if isinstance(q, TracedArray):
            return self.load(t, q, v)  # type: ignore[return-value]
        q.setflags(write=False)  # the simulation's own arrays: read-only for the user
        v.setflags(write=False)
        return returned(self.model, "f_ext(t, q, v)", "wrenches", self.load(t, q, v), expected)


def _damped(model: Model, dt: Any) -> Model:
    """The model with its damping, times dt, as armature."""
    return _damped_for_good(model, dt) if isinstance(dt, float) else _with_damping(model, dt.item())


def _with_damping(model: Model, dt: Any) -> Model:
    return with_rotors(model, [rotor + dt * d for rotor, d in zip(model.armature.tolist(), model.damping, strict=True)])


_damped_for_good = lru_cache(maxsize=100)(_with_damping)
"""Returns the same object for the same arguments, as code is kept with the model."""
