"""A step is the same in a simulation and in a rollout, and what linearises it or runs it backward differentiates it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

NV, STEPS, DT = 4, 20, 2e-3


def chain(bodies: int = NV) -> lw.Model:
    builder, parent = lw.Builder("chain"), "world"
    solid = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
    joint = {"damping": 0.1, "friction": 0.05, "stiffness": 0.3, "effort": 3.0, "lower": -1.0, "upper": 1.0}
    for k in range(bodies):
        builder.add_body(
            f"l{k}", parent, lw.joints.Revolute("yzx"[k % 3]), lw.placement((0.2, 0.0, 0.0)), **solid, **joint
        )
        parent = f"l{k}"
    return builder.build()


CHAIN, RNG = chain(), np.random.default_rng(0)
Q, V = RNG.uniform(-0.9, 0.9, NV), RNG.normal(size=NV)
LAW = lw.compile(lambda t, q, v, gain: np.sin(9.0 * t) - gain * v, t=(), q=NV, v=NV, gain=())
TARGET: dict[str, Any] = {"q_target": RNG.normal(size=(STEPS, NV)), "kp": 20.0, "kd": 0.5}
DRIVES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "table": {"tau": RNG.normal(size=(STEPS, NV))},
    "target": TARGET,
    "law": {"torque": LAW, "parameters": (0.3,)},
    "all": {"torque": LAW, "parameters": (0.3,), "tau": np.ones(NV), "f_ext": RNG.normal(size=(STEPS, NV, 6))} | TARGET,
}
KINDS = [
    ("semi_implicit_euler", "stiction", False),
    ("semi_implicit_euler", "stiction", True),
    ("semi_implicit_euler", "smoothed", True),
    ("runge_kutta_4", "stiction", True),
]
kinds = pytest.mark.parametrize(("integrator", "friction_law", "joint_limits"), KINDS)


@kinds
@pytest.mark.parametrize("drive", DRIVES)
def test_a_simulation_and_a_rollout_do_the_same_steps(
    drive: str, integrator: str, friction_law: str, joint_limits: bool
) -> None:
    step = {"dt": DT, "integrator": integrator, "friction_law": friction_law, "joint_limits": joint_limits}
    one = lw.simulate(CHAIN, Q, V, STEPS * DT, **step, **DRIVES[drive])
    other = lw.rollout(CHAIN, Q, V, steps=STEPS, **step, **DRIVES[drive])
    answers = other.trajectory()
    for name in ("q", "v", "a", "tau"):
        assert np.array_equal(getattr(one, name), getattr(answers, name)), name


@pytest.mark.parametrize("drive", ["target", "law"])
def test_the_same_in_code_of_many_steps(drive: str) -> None:
    """A long simulation is compiled."""
    rows = 2000 // STEPS
    step = {"dt": DT, "joint_limits": True, "friction_law": "smoothed"}
    tiled = {name: np.tile(x, (rows, 1)) if name == "q_target" else x for name, x in DRIVES[drive].items()}
    one = lw.simulate(CHAIN, Q, V, 2000 * DT, **step, **tiled)
    other = lw.rollout(CHAIN, Q, V, steps=2000, **step, **tiled)
    assert np.array_equal(one.q, other.q) and np.array_equal(one.v, other.v)


@kinds
def test_derivatives_are_those_of_the_step(integrator: str, friction_law: str, joint_limits: bool) -> None:
    step = {"dt": DT, "integrator": integrator, "friction_law": friction_law, "joint_limits": joint_limits}
    A, B = lw.linearise(CHAIN, Q, V, np.ones(NV), **step)
    tau, eps = np.ones(NV), 1e-6

    def after(x: Any) -> Any:
        q, v = lw.integrate(CHAIN, Q, x[:NV]), V + x[NV : 2 * NV]
        _, q, v = lw.rollout(CHAIN, q, v, tau + x[2 * NV :], steps=1, **step)
        return np.concatenate([q[-1], v[-1]])

    columns = [(after(eps * unit) - after(-eps * unit)) / (2.0 * eps) for unit in np.eye(3 * NV)]
    assert abs(np.hstack([A, B]) - np.stack(columns, axis=1)).max() < 1e-6
    weights = np.zeros((2, NV))
    weights[1] = np.arange(1.0, NV + 1.0)
    gradient = lw.rollout(CHAIN, Q, V, tau, steps=1, **step).pullback(v=weights)
    assert abs(gradient.q - weights[1] @ A[NV:, :NV]).max() < 1e-12
    assert abs(gradient.parts["tau"].ravel() - weights[1] @ B[NV:]).max() < 1e-12


def test_an_error_names_what_a_step_cannot_do() -> None:
    with pytest.raises(lw.ArgumentError, match="friction_law='smoothed' takes integrator='semi_implicit_euler'"):
        lw.rollout(CHAIN, Q, V, dt=DT, steps=2, integrator="runge_kutta_4")
    with pytest.raises(lw.ArgumentError, match="integrator must be one of 'semi_implicit_euler', 'runge_kutta_4'"):
        lw.rollout(CHAIN, Q, V, dt=DT, steps=2, integrator="adaptive")


@kinds
def test_what_carries_the_inertia_changes_rounding_alone(
    integrator: str, friction_law: str, joint_limits: bool
) -> None:
    """A matrix, or articulated bodies, as beyond 50 bodies; in steps in which some joints stop and others rub."""
    step: dict[str, Any] = {"integrator": integrator, "friction_law": friction_law, "joint_limits": joint_limits}
    speeds, tau = 6.0 * V, np.array([4.0, -4.0, 3.0, 0.01])

    def computed() -> tuple[Any, ...]:
        path = lw.rollout(CHAIN, Q, speeds, tau, dt=0.01, steps=STEPS, **step)
        derivatives = lw.linearise(CHAIN, path.q[STEPS // 2], path.v[STEPS // 2], tau, dt=0.01, **step)
        return path.q, path.v, *derivatives

    found = computed()
    assert not joint_limits or (abs(found[0][-1]) == 1.0).any()
    with lw.form("looped"):
        other = computed()
    for a, b in zip(found, other, strict=True):
        assert abs(a - b).max() < 1e-9 * (1.0 + abs(a).max())


@pytest.mark.parametrize("friction_law", ["stiction", "smoothed"])
def test_a_joint_that_constraints_hold_disturbs_no_other(friction_law: str) -> None:
    """Forces do not move it, but by rounding, which says nothing of the inertia that it moves."""
    solid = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
    joint = {"lower": -1.0, "upper": 0.5, "friction": 0.1}

    def made(held: bool) -> lw.Model:
        builder = lw.Builder("two arms")
        if held:
            builder.add_body("a", "world", lw.joints.Revolute("y"), **solid, **joint)
            builder.add_frame("tip", "a", lw.placement((0.2, 0.0, 0.0)))
        builder.add_body("b", "world", lw.joints.Revolute("y"), **solid, **joint)
        builder.add_body("c", "b", lw.joints.Revolute("y"), lw.placement((0.2, 0.0, 0.0)), **solid, **joint)
        return builder.build()

    both, q, v = made(True), np.array([0.0, 0.2, 0.1]), np.array([0.0, 6.0, 5.0])
    plane = lw.PointOnPlane.at(both, q, "tip", normal=(0, 0, 1))
    step: dict[str, Any] = {"dt": 1e-3, "steps": 100, "joint_limits": True, "friction_law": friction_law}
    found = lw.rollout(both, q, v, constraints=[plane], **step)
    expected = lw.rollout(made(False), q[1:], v[1:], **step)
    assert abs(found.q[:, 1:] - expected.q).max() < 1e-12 and abs(found.v[:, 0]).max() < 1e-12
    assert found.q.max() == 0.5
