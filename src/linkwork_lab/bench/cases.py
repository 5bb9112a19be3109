"""The cases of the benchmark: every public function that maps states to numbers, and the states that it is timed on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwork as lw
from linkwork import Linearised, LinkworkWarning, Model, Point, linearise
from linkwork.algorithms import FORWARD_DYNAMICS
from linkwork.control import OperationalSpaceController, Posture, Task

Array = NDArray[np.float64]

STEP = 1e-4
"""Time step, s: short enough for the light fingers of a random robot."""


@dataclass(frozen=True)
class Case:
    """A public function: its name (and method, if it has several), the fields of a state that it takes, and itself."""

    name: str
    arguments: tuple[str, ...]
    function: Callable[..., Any]
    frames: int = 0
    """The number of frames that it is called with."""
    feet: bool = False
    """Whether these are feet: the ends of a robot's first limbs."""
    least_nv: int = 0
    """The least number of degrees of freedom that a mechanism needs for it."""

    @property
    def base(self) -> str:
        """The function's own name."""
        return self.name.split(" ")[0]


def _forward(method: str) -> Callable[..., Any]:
    if method == FORWARD_DYNAMICS[0]:  # the default, called as a user would
        return lw.forward_dynamics
    return partial(lw.forward_dynamics, method=method)


@cache
def _welds(frames: tuple[str, ...]) -> tuple[lw.Weld, ...]:
    return tuple(lw.Weld(frame) for frame in frames)


@cache
def _wrenches(shape: tuple[int, ...]) -> Array:
    """An array for wrenches that are not used."""
    return np.empty(shape)


def _welded(model: Model, q: Array, v: Array, tau: Array, frames: list[str], out: Array | None = None) -> Array:
    """Accelerations with frames welded to the world."""
    both = None if out is None else (out, _wrenches((*out.shape[:-1], len(frames), 6)))
    return lw.constrained_dynamics(model, q, v, tau, _welds(tuple(frames)), out=both)[0]


def _inverse(model: Model, q: Array, v: Array, a: Array, frames: list[str], out: Array | None = None) -> Array:
    """Motor forces with frames welded to the world."""
    both = None if out is None else (out, _wrenches((*out.shape[:-1], len(frames), 6)))
    return lw.constrained_inverse_dynamics(model, q, v, a, _welds(tuple(frames)), out=both)[0]


@cache
def _spaces(nv: int, rows: int, batch: tuple[int, ...]) -> dict[str, Array]:
    """Arrays for the other results of an operational space."""
    shapes = {"jacobian": (rows, nv), "drift": (rows,), "inertia_inverse": (rows, rows), "inertia": (rows, rows)}
    shapes |= {"consistent_inverse": (nv, rows), "gravity": (rows,)}
    return {name: np.empty((*batch, *shape)) for name, shape in shapes.items()}


def _space(model: Model, q: Array, v: Array, frames: list[str], out: Array | None = None) -> Array:
    """A whole operational space, of which the Coriolis forces are returned."""
    if out is None:
        return lw.operational_space(model, q, v, frames).coriolis
    space = lw.OperationalSpace(**_spaces(model.nv, out.shape[-1], out.shape[:-1]), coriolis=out)
    return lw.operational_space(model, q, v, frames, out=space).coriolis


@cache
def _controller(model: Model, frame: str) -> OperationalSpaceController:
    """A controller of one point, with a posture beneath."""
    task = Task(Point(frame, axes="position"), np.zeros(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinkworkWarning)  # a floating base, too, is assumed to be actuated
        return OperationalSpaceController(model, [task], Posture(lw.neutral(model)))


def _torque(model: Model, q: Array, v: Array, frames: list[str], out: Array | None = None) -> Array:
    """The torque of a controller."""
    controller = _controller(model, frames[0])
    return controller.torque(0.0, q, v) if q.ndim == 1 else controller.torques(0.0, q, v, out=out)


def _linearised(model: Model, q: Array, v: Array, tau: Array, out: tuple[Array, Array] | None = None) -> Linearised:
    """A linearised step without constraints or damping."""
    bare: dict[str, Any] = {"damping": False, "friction": False, "springs": False, "effort_limits": False}
    return linearise(model, q, v, tau, dt=STEP, constraints=(), out=out, **bare)


CASES: tuple[Case, ...] = (
    *(Case(f"forward_dynamics {method}", ("q", "v", "tau"), _forward(method)) for method in FORWARD_DYNAMICS),
    Case("forward_dynamics_and_reactions", ("q", "v", "tau"), lw.forward_dynamics_and_reactions),
    Case("inverse_dynamics", ("q", "v", "a"), lw.inverse_dynamics),
    Case("mass_matrix", ("q",), lw.mass_matrix),
    Case("nonlinear_effects", ("q", "v"), lw.nonlinear_effects),
    Case("gravity_torques", ("q",), lw.gravity_torques),
    Case("forward_kinematics", ("q",), lw.forward_kinematics, frames=1),
    Case("jacobian", ("q",), lw.jacobian, frames=1),
    Case("jacobian_drift", ("q", "v"), lw.jacobian_drift, frames=1),
    Case("frame_velocity", ("q", "v"), lw.frame_velocity, frames=1),
    Case("frame_acceleration", ("q", "v", "a"), lw.frame_acceleration, frames=1),
    *(Case(f"operational_inertia_inverse {m}", ("q",), lw.operational_inertia_inverse, frames=m) for m in (1, 2, 4)),
    Case("force_responses", ("q",), lw.force_responses, frames=1),
    Case("energy", ("q", "v"), lw.energy),
    Case("centre_of_mass", ("q",), lw.centre_of_mass),
    Case("momentum", ("q", "v"), lw.momentum),
    Case("inverse_dynamics_derivatives", ("q", "v", "a"), lw.inverse_dynamics_derivatives),
    Case("forward_dynamics_derivatives", ("q", "v", "tau"), lw.forward_dynamics_derivatives),
    Case("linearise", ("q", "v", "tau"), _linearised),
    Case("mass_matrix_inverse", ("q",), lw.mass_matrix_inverse),
    Case("torque_regressor", ("q", "v", "a"), lw.torque_regressor),
    Case("inverse_dynamics_vjp", ("q", "v", "a", "tau"), lw.inverse_dynamics_vjp),
    Case("forward_dynamics_vjp", ("q", "v", "tau", "a"), lw.forward_dynamics_vjp),
    Case("inverse_dynamics_jvp", ("q", "v", "a", "dv", "tau", "tau"), lw.inverse_dynamics_jvp),
    Case("forward_dynamics_jvp", ("q", "v", "tau", "dv", "a", "a"), lw.forward_dynamics_jvp),
    Case("momentum_derivatives", ("q", "v"), lw.momentum_derivatives),
    Case("frame_velocity_derivatives", ("q", "v"), lw.frame_velocity_derivatives, frames=1),
    Case("frame_acceleration_derivatives", ("q", "v", "a"), lw.frame_acceleration_derivatives, frames=1),
    Case("integrate", ("q", "dv"), lw.integrate),
    Case("difference", ("q", "q1"), lw.difference),
    Case("constrained_dynamics 2", ("q", "rest", "tau"), _welded, frames=2, feet=True, least_nv=24),
    Case("constrained_inverse_dynamics 2", ("q", "rest", "a"), _inverse, frames=2, feet=True, least_nv=24),
    Case("operational_space 2", ("q", "v"), _space, frames=2, feet=True, least_nv=18),
    Case("control.OperationalSpaceController", ("q", "v"), _torque, frames=1, least_nv=6),
)

CONSTRAINT_FORCE = Case("forward_dynamics constraint_force", ("q", "v", "tau"), _forward("constraint_force"))
"""Measured on long chains, for which it is intended."""


@dataclass(frozen=True)
class States:
    """A batch of states of a model, the same for all contestants."""

    model: Model
    fields: dict[str, Array]

    @staticmethod
    def random(model: Model, count: int, seed: int = 0) -> States:
        rng = np.random.default_rng(seed)
        q, v = lw.random_state(model, rng, count)
        a, tau = rng.normal(size=v.shape), rng.normal(size=v.shape)
        dv = 0.3 * v  # less than half a turn, so that ``difference`` is the inverse
        rest = np.zeros_like(v)  # held frames do not move, or libraries mean different accelerations by zero
        fields = {"q": q, "v": v, "rest": rest, "a": a, "tau": tau, "dv": dv, "q1": lw.integrate(model, q, dv)}
        return States(model, fields)

    def __len__(self) -> int:
        return len(self.fields["q"])

    def first(self, count: int) -> States:
        return States(self.model, {name: array[:count].copy() for name, array in self.fields.items()})

    def repeated(self, count: int) -> States:
        """These states repeated until there are ``count``."""
        times = -(-count // len(self))
        return States(self.model, {k: np.tile(x, (times, 1))[:count] for k, x in self.fields.items()})

    def frames(self, case: Case) -> list[str]:
        """The frames of a case: the last bodies of all branches, the model's very last first, then others; or its feet,
        or any one frame if it does not matter.
        """
        names, inner = self.model.body_names, {body.parent for body in self.model.bodies}
        order = range(1, len(names) + 1) if case.feet else range(len(names), 0, -1)
        ends_first = sorted(order, key=lambda index: index in inner)
        return [names[index - 1] for index, _ in zip(cycle(ends_first), range(case.frames or 1), strict=False)]

    def arguments(self, case: Case) -> tuple[Array, ...]:
        return tuple(self.fields[name] for name in case.arguments)

    def one_by_one(self, case: Case) -> list[tuple[Array, ...]]:
        """The arguments of each state, as separate arrays."""
        return [tuple(array[k].copy() for array in self.arguments(case)) for k in range(len(self))]
