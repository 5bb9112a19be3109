"""Everything that steps, in every combination, against one slow step and against laws of mechanics."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
import reference_step
from reference_step import condition
from strategies import close

Array = Any

DT = 2e-3
OPTIONS = ("stops", "friction", "loops", "couplings", "contacts", "actuators", "springs")
EULER, RUNGE_KUTTA = "semi_implicit_euler", "runge_kutta_4"
STATES = 4
LONG = 1200
"""Steps for which a simulation of six bodies runs in code."""


GROUNDED = 0.05 - 7e-4
"""The height (m) of a tip whose sphere touches the ground."""
LOOPS: list[lw.Constraint] = [
    lw.PointOnPlane("l tip", placement=lw.placement((0.0, 0.0, 0.1))),
    lw.Ball("r tip", placement=lw.placement((0.0, 0.0, GROUNDED))),
]
COUPLINGS: list[lw.Constraint] = [
    lw.Coupling("joint_r0", "joint_l0", ratio=-0.5),
    lw.Coupling("joint_l1", "joint_l0", ratio=0.7, offset=0.1),
]


@cache
def robot(bodies: int) -> lw.Model:
    """A floating base with two limbs of hinges: some have limits, some friction, some springs, all damping."""
    rng = np.random.default_rng(bodies)
    builder = lw.Builder(f"two limbs of {bodies // 2}")
    builder.add_body("base", joint=lw.joints.Free(), mass=2.0, inertia=(0.05, 0.06, 0.07))
    before = {"l": "base", "r": "base"}
    for k in range(bodies - 1):
        side = "lr"[k % 2]
        name, axis = f"{side}{k // 2}", ("x", "y", (0.6, 0.0, 0.8))[k % 3]
        builder.add_body(
            name, before[side], lw.joints.Revolute(axis),
            lw.placement((0.15, 0.1 if side == "l" else -0.1, 0.0) if before[side] == "base" else (0.2, 0.0, 0.0)),
            mass=0.5 + 0.5 * rng.random(), com=(0.1, 0.02, 0.01), inertia=(0.004, 0.005, 0.006),
            damping=0.05, friction=0.3 if k in (1, 2, 4) else 0.0, stiffness=4.0 if k in (0, 3) else 0.0, springref=0.1,
            lower=-0.6 if k < 4 else -np.inf, upper=0.7 if k < 5 else np.inf, effort=3.0,
        )  # fmt: skip
        before[side] = name
    for side, name in before.items():
        builder.add_frame(f"{side} tip", name, lw.placement((0.2, 0.0, 0.0)))
    return builder.build()


@dataclass(frozen=True)
class Case:
    """Options of a step."""

    options: tuple[str, ...]
    bodies: int
    integrator: str = EULER

    def __str__(self) -> str:
        how = "" if self.integrator == EULER else ", Runge-Kutta"
        return f"{'+'.join(self.options) or 'nothing'} {self.bodies}{how}"

    @property
    def model(self) -> lw.Model:
        return robot(self.bodies)

    def has(self, option: str) -> bool:
        return option in self.options

    @property
    def contacts(self) -> list[lw.Contact] | None:
        if not self.has("contacts"):
            return None
        ball = lw.Sphere(0.05)
        return [lw.Contact("l tip", ball, friction=0.6), lw.Contact("r tip", ball, friction=0.4, dimensions=1)]

    @property
    def constraints(self) -> list[lw.Constraint]:
        return (LOOPS if self.has("loops") else []) + (COUPLINGS if self.has("couplings") else [])

    @property
    def targets(self) -> dict[str, Any]:
        if not self.has("actuators"):
            return {}
        target, gain = lw.neutral(self.model), np.zeros(self.model.nv)
        target[7:], gain[6:] = 0.3, 20.0
        return {"q_target": target, "kp": gain, "kd": 0.05 * gain}

    def drive(self, t: float, q: Array, v: Array) -> Array:
        """The driving forces."""
        tau = np.zeros(self.model.nv)
        if self.has("actuators"):
            tau[6:] = 20.0 * (0.3 - q[7:]) - v[6:]
        return tau

    @property
    def law(self) -> Any:
        """A compiled law, the same as the targets, or weak damping."""
        nv = self.model.nv
        if self.has("actuators"):
            return lw.compile(
                lambda t, q, v: np.concatenate([np.zeros(6), 20.0 * (0.3 - q[7:]) - v[6:]]),
                t=(), q=self.model.nq, v=nv,
            )  # fmt: skip
        return lw.compile(lambda t, q, v: 0.0 * v, t=(), q=self.model.nq, v=nv)

    @property
    def given(self) -> dict[str, Any]:
        """The options as arguments."""
        return {
            "joint_limits": self.has("stops"), "friction": self.has("friction"), "springs": self.has("springs"),
            "constraints": self.constraints, "contacts": self.contacts,
        }  # fmt: skip

    @property
    def friction_law(self) -> str:
        """That of rollouts: smoothed friction takes Euler's method."""
        return "smoothed" if self.integrator == EULER else "stiction"

    @property
    def repeated(self) -> dict[str, Any]:
        """The options as arguments of rollouts and their derivatives."""
        return {**self.given, "friction_law": self.friction_law, "integrator": self.integrator}

    def reference(self, friction: str) -> reference_step.Step:
        return reference_step.Step(
            self.model, DT, self.drive, self.has("stops"), friction if self.has("friction") else "",
            self.has("springs"), self.constraints, self.contacts, self.integrator,
        )  # fmt: skip

    @property
    def states(self) -> tuple[Array, Array]:
        return states(self.model, self.has("loops"), self.has("couplings"))


@cache
def states(model: lw.Model, loops: bool, couplings: bool) -> tuple[Array, Array]:
    """States in which some joints run into their limits, some rub, some rest, and tips touch the ground."""
    found: list[tuple[Array, Array]] = []
    for seed in range(STATES):
        rng = np.random.default_rng(seed)
        q, v = lw.neutral(model), 0.5 * rng.normal(size=model.nv)
        q[7:] = 0.3 * rng.uniform(-1.0, 1.0, model.nq - 7)
        q[3:7] = rng.normal(size=4) * 0.2 + [0.0, 0.0, 0.0, 1.0]
        q[3:7] /= np.linalg.norm(q[3:7])
        limits = model.upper_limit[7:]
        for k in np.flatnonzero(np.isfinite(limits)):
            if rng.random() < 0.5:  # about to reach a limit, with different speeds
                q[7 + k], v[6 + k] = limits[k] - 1e-3 * rng.random(), 3.0 * rng.random()
        v[6 + rng.permutation(model.nv - 6)[: 1 + seed]] = 0.0
        followers = [condition(model, one, q, v) for one in COUPLINGS if couplings]
        for row, errors, _ in followers:
            joint = int(row.argmax())
            q[joint + 1] -= errors[0]
            v[joint] -= row[0] @ v
        heights = (GROUNDED, GROUNDED if seed % 2 else 0.1)
        tips = [
            lw.PointOnPlane(tip, placement=lw.placement((0.0, 0.0, z)))
            for tip, z in zip(("l tip", "r tip"), heights, strict=True)
        ]
        ends = LOOPS if loops else tips
        with lw.interpreted():
            for _ in range(30):  # the base brings the tips to the ground, or to where they are held
                J, errors = map(np.concatenate, list(zip(*held(model, ends, q, v), strict=True))[:2])
                step = np.zeros(model.nv)
                step[:6] = -np.linalg.pinv(J[:, :6]) @ errors
                q = lw.integrate(model, q, step * min(1.0, 0.3 / np.linalg.norm(step)) if step.any() else step)
            assert abs(errors).max() < 1e-12
            if loops:
                v[:6] -= np.linalg.pinv(J[:, :6]) @ J @ v
        found.append((q, v))
    Q, V = map(np.array, zip(*found, strict=True))
    return Q, V


def held(model: lw.Model, ends: list[lw.Constraint], q: Array, v: Array) -> list[tuple[Array, Array, Array]]:
    return [condition(model, one, q, v) for one in ends]


# The matrix


PAIRS = [*itertools.combinations(OPTIONS, 2)]
FEW: dict[int, list[tuple[str, ...]]] = {
    6: [
        (),
        ("stops", "friction"),
        ("friction", "loops"),
        ("loops", "contacts"),
        ("couplings",),
        ("actuators", "springs"),
    ],
    60: [(), ("stops", "friction"), ("couplings",)],
}
"""What the suite has of derivatives, whose code takes longest; test_contact_many_bodies has contacts of many bodies."""


def some(every: int) -> list[tuple[str, ...]]:
    """One of so many pairs of options, and the options that are in none of these."""
    pairs = PAIRS[::every]
    return [(), *((option,) for option in OPTIONS if not any(option in pair for pair in pairs)), *pairs]


def combinations(bodies: int, suite: Sequence[tuple[str, ...]], integrator: str = EULER, *rest: str) -> list[Any]:
    """All options and pairs of these, those outside of ``suite`` marked: ``make test`` leaves them to ``make steps``.
    Each of ``rest`` is taken with every combination, in the suite one of them in turn.
    """
    found, turn = [], 0
    for options in ((), *((option,) for option in OPTIONS), *PAIRS):
        case, inside = Case(options, bodies, integrator), options in suite
        for k, more in enumerate(rest or (None,)):
            later = [] if inside and (turn + k) % max(len(rest), 1) == 0 else [pytest.mark.later]
            choice = () if more is None else (more,)
            found.append(pytest.param(case, *choice, id="-".join([str(case), *choice]), marks=later))
        turn += inside
    return found


def repeated(six: Sequence[tuple[str, ...]], sixty: Sequence[tuple[str, ...]], *rest: str) -> list[Any]:
    """Those of rollouts and derivatives, of 6 and of 60 bodies; by Euler's method in the suite."""
    left = (combinations(bodies, (), RUNGE_KUTTA, *rest) for bodies in (6, 60))
    return [*combinations(6, six, EULER, *rest), *combinations(60, sixty, EULER, *rest), *itertools.chain(*left)]


def check_laws(case: Case, friction: str, q: Array, v: Array, end: Array, after: Array) -> None:
    """Laws of a step of semi-implicit Euler from q and v to ``after`` and ``end``."""
    model = case.model
    if case.has("stops") and not case.has("contacts"):
        assert (after[7:] >= model.lower_limit[7:]).all() and (after[7:] <= model.upper_limit[7:]).all()
    if case.has("contacts"):
        return
    with lw.interpreted():
        bare = case.reference(friction)
        bare.stops, bare.friction = False, bare.friction if friction == "smoothed" else ""
        _, free = bare(0.0, q, v)
        drag = model.damping + (model.friction / np.maximum(abs(v), 1e-3) if bare.friction else 0.0)
        M = lw.mass_matrix(model, q) + DT * np.diag(drag)
        energy = free @ M @ free
        assert end @ M @ end <= energy * (1.0 + 1e-12) + 1e-12, "stops and stiction take energy"
        if case.options == ("friction",) and friction == "stiction":
            impulse = (M @ (end - free))[6:]
            assert (impulse * end[6:] <= 1e-12).all() and (abs(impulse) <= DT * model.friction[6:] + 1e-12).all()
        if not case.has("loops"):  # forces between bodies change no momentum
            loose = v + DT * lw.forward_dynamics(model, q, v, np.zeros(model.nv))
            close(lw.momentum(model, q, end), lw.momentum(model, q, loose), 1e-10, scale=1.0)


SIMULATED = [(6, some(1), EULER), (6, some(1), RUNGE_KUTTA), (60, some(6), EULER), (60, some(21), RUNGE_KUTTA)]


@pytest.mark.parametrize("case", [case for each in SIMULATED for case in combinations(*each)])
def test_a_simulation_steps_as_the_reference(case: Case) -> None:
    integrator, (Q, V) = case.integrator, case.states

    def simulated(q: Array, v: Array) -> lw.Trajectory:
        return lw.simulate(case.model, q, v, DT, DT, torque=case.drive, integrator=integrator, **case.given)

    for q, v in zip(Q, V, strict=True):
        path, (after, end) = simulated(q, v), case.reference("stiction")(0.0, q, v)
        close(path.v[1], end, 1e-9, scale=1.0)
        close(path.q[1], after, 1e-11, scale=1.0)
        if integrator == EULER:
            check_laws(case, "stiction", q, v, path.v[1], path.q[1])


@pytest.mark.parametrize(("case", "driven"), repeated(some(2), some(6), "rollout", "law"))
def test_a_rollout_steps_as_the_reference(case: Case, driven: str) -> None:
    Q, V = case.states
    drive, law = ({"torque": case.law}, "stiction") if driven == "law" else (case.targets, case.friction_law)
    found = lw.rollout(case.model, Q, V, dt=DT, steps=2, **drive, **{**case.repeated, "friction_law": law})
    for k in range(STATES):
        for step in range(2):
            q, v, after, end = (array[k, step + n] for n in (0, 1) for array in (found.q, found.v))
            expected = case.reference(law)(step * DT, q, v)
            close(end, expected[1], 1e-9, scale=1.0)
            close(after, expected[0], 1e-11, scale=1.0)
            if case.integrator == EULER:
                check_laws(case, law, q, v, end, after)


@pytest.mark.parametrize(
    ("case", "driven"),
    [
        *combinations(6, some(4), EULER, "law", "python"),
        *combinations(6, some(4), RUNGE_KUTTA, "python", "law"),
    ],
)
def test_a_simulation_in_code_steps_as_the_reference(case: Case, driven: str) -> None:
    """In a run that is long enough for code, whose driving forces a compiled law or a Python function computes."""
    integrator = case.integrator
    model, (Q, V) = case.model, case.states
    torque = case.law if driven == "law" else case.drive
    path = lw.simulate(model, Q[1], V[1], LONG * DT, DT, torque=torque, integrator=integrator, **case.given)
    for k in (0, 1, 7, 60, 300, LONG - 1):
        q, v, after, end = (array[k + n] for n in (0, 1) for array in (path.q, path.v))
        expected = case.reference("stiction")(k * DT, q, v)
        close(end, expected[1], 1e-9, scale=1.0)
        close(after, expected[0], 1e-11, scale=1.0)
        if integrator == EULER:
            check_laws(case, "stiction", q, v, end, after)
    if not case.has("actuators"):
        check_energy(case, path)


def check_energy(case: Case, path: lw.Trajectory) -> None:
    """Without drive energy does not grow, but by what a step of Euler's method is off, and by what is stored in
    contacts of a millimetre and less.
    """
    energy = np.add(*path.energy)
    if case.has("springs"):
        energy = energy + 0.5 * (case.model.stiffness[6:] * (path.q[:, 7:] - 0.1) ** 2).sum(axis=1)
    speed = np.abs(path.v).max()
    slack = 1e-9 if case.integrator == RUNGE_KUTTA and not case.options else DT * 10.0 * (1.0 + speed) ** 2
    assert energy.max() <= energy[0] + slack


@pytest.mark.filterwarnings("ignore:.* instructions")
@pytest.mark.parametrize("case", repeated(FEW[6], FEW[60]))
def test_derivatives_of_a_step_are_those_of_the_reference(case: Case) -> None:
    """Along a direction of the state and the driving forces: forward by lw.linearise, backward by pullback."""
    model, nv, (Q, V) = case.model, case.model.nv, (array[:2] for array in case.states)
    rng = np.random.default_rng(1)
    given: dict[str, Any] = {"dt": DT, **case.targets, **case.repeated}
    directions, weights = rng.normal(size=(2, 3 * nv)), rng.normal(size=(2, 2 * nv))
    if case.has("friction") and case.has("couplings"):  # joints that stick cannot move apart from their couplings
        for leader, follower, ratio in ((6, 7, -0.5), (6, 8, 0.7)):
            directions[:, [follower, nv + follower]] = ratio * directions[:, [leader, nv + leader]]
    with lw.interpreted():
        wanted = np.array([change(case, *each) for each in zip(Q, V, directions, strict=True)])
    A, B = lw.linearise(model, Q, V, np.zeros(nv), **given)
    found = np.einsum("kij,kj->ki", np.concatenate([A, B], axis=-1), directions)
    close(found, wanted, 1e-5 if case.has("contacts") else 1e-6)  # the reference solves for cones to 1e-12 by iteration
    made = lw.rollout(model, Q, V, np.zeros((2, 1, nv)), steps=1, **given)
    of_q, of_v = (np.stack([np.zeros_like(w), w], axis=1) for w in np.split(weights, 2, axis=1))
    gradient = made.pullback(q=of_q, v=of_v)
    parts = np.concatenate([gradient.q, gradient.v, gradient.parts["tau"].reshape(2, nv)], axis=1)
    close((parts * directions).sum(axis=1), (weights * found).sum(axis=1), 1e-10, scale=float(abs(found).max()))


def change(case: Case, q: Array, v: Array, direction: Array, h: float = 3e-7) -> Array:
    """The central difference of the reference along a direction of q, v and tau."""
    model, (of_q, of_v, of_tau) = case.model, np.split(direction, 3)
    step, ends = case.reference(case.friction_law), []
    after, _ = step(0.0, q, v)
    for sign in (h, -h):
        step.drive = lambda t, q, v, sign=sign: case.drive(t, q, v) + sign * of_tau
        there, end = step(0.0, lw.integrate(model, q, sign * of_q), v + sign * of_v)
        ends.append(np.concatenate([lw.difference(model, after, there), end]))
    return (ends[0] - ends[1]) / (2.0 * h)
