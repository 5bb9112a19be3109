"""Integrators on the configuration manifold.

An integrator takes the plant, the time, the state and its acceleration, and returns the state dt later. All of them
work for every joint, as they update configurations by ``lw.integrate`` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.arguments import choice
from linkwork.dynamics.arguments import Array
from linkwork.dynamics.kinematics import integrate
from linkwork.errors import ArgumentError, MissingExtraError, SingularError
from linkwork.late import LateFunction
from linkwork.model.model import Model
from linkwork.simulation.plant import Plant

if TYPE_CHECKING:
    from linkwork.simulation.step import Step

Tangent = LateFunction("linkwork.simulation.tangent:Tangent")
contact_euler = LateFunction("linkwork.simulation.contact_steps:contact_euler")

Integrator = Callable[[Plant, float, Array, Array, Array, float], tuple[Array, Array]]

INTEGRATORS = ("semi_implicit_euler", "runge_kutta_4", "adaptive")
SOLVERS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
"""Names of solvers in scipy.integrate."""


def semi_implicit_euler(plant: Plant, t: float, q: Array, v: Array, a: Array, dt: float) -> tuple[Array, Array]:
    """Semi-implicit Euler, order 1: the new velocity updates the configuration. Implicit damping is always stable."""
    v = v + dt * a
    return integrate(plant.model, q, dt * v), v


def runge_kutta_4(plant: Plant, t: float, q: Array, v: Array, a: Array, dt: float) -> tuple[Array, Array]:
    """A commutator-free Lie group method of order 4 (Celledoni, Marthinsen, Owren 2003). For plain coordinates it is
    the classical Runge-Kutta method; rotations take two exponentials in the last stage and in the result.
    """
    model, half = plant.model, 0.5 * dt
    moved = integrate(model, q, half * v)
    v2 = v + half * a
    a2 = plant(t + half, moved, v2).a
    v3 = v + half * a2
    a3 = plant(t + half, integrate(model, q, half * v2), v3).a
    v4 = v + dt * a3
    a4 = plant(t + dt, integrate(model, moved, dt * v3 - half * v), v4).a
    middle = 2.0 * (v2 + v3)
    q = integrate(model, q, (dt / 12.0) * (3.0 * v + middle - v4))
    q = integrate(model, q, (dt / 12.0) * (middle + 3.0 * v4 - v))
    return q, v + (dt / 6.0) * (a + 2.0 * (a2 + a3) + a4)


class Adaptive:
    """A scipy solver over δ and v, where q = q₀ ⊕ δ, with a new q₀ at every multiple of dt."""

    def __init__(self, model: Model, solver: str, rtol: float, atol: float) -> None:
        try:
            module: Any = import_module("scipy.integrate")
        except ImportError:
            raise MissingExtraError(
                "integrator='adaptive' needs scipy: pip install 'linkwork[simulation]'; the others need nothing"
            ) from None
        self._solver = getattr(module, solver)
        self._tolerances = {"rtol": rtol, "atol": atol}
        self._tangent = Tangent(model)
        for body in self._tangent.unknown:
            raise ArgumentError(
                f"joint {body.joint_name!r} is a {type(body.joint).__name__}, whose coordinates are no plain numbers "
                f"and whose tangent is not known; use integrator='runge_kutta_4'"
            )
        self._first: float | None = None

    def __call__(self, plant: Plant, t: float, q: Array, v: Array, a: Array, dt: float) -> tuple[Array, Array]:
        model, tangent, nv = plant.model, self._tangent, v.size

        def rates(time: float, state: Array) -> Array:
            offset, speed = state[:nv], state[nv:].copy()
            return np.concatenate(
                [tangent.rate(offset, speed), plant(t + time, integrate(model, q, offset.copy()), speed).a]
            )

        start = np.concatenate([np.zeros(nv), v])
        solver = self._solver(rates, 0.0, start, dt, first_step=self._first, **self._tolerances)
        longest = 0.0
        while solver.status == "running":
            solver.step()
            if solver.status == "failed":
                raise SingularError(f"{type(solver).__name__} could not keep to rtol {self._tolerances['rtol']:g}")
            longest = max(longest, solver.step_size)
        self._first = min(longest, dt) or None  # the last step is cut off at dt, and is no guide
        return integrate(model, q, solver.y[:nv].copy()), solver.y[nv:].copy()


def integrator_of(step: Step) -> Integrator:
    """The integrator of a step."""
    if step.several:
        return runge_kutta_4
    return semi_implicit_euler if step.contacts is None else contact_euler


def check_integrator(integrator: str, solver: str) -> None:
    """An error if there is no integrator of that name, or no such solver of the adaptive one."""
    choice("solver", solver, SOLVERS)
    choice("integrator", integrator, INTEGRATORS)
