"""What a solver gives up is no number: an error or a warning says so, with trajectory, time and problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.contact import articulated, newton
from linkwork.simulation import impulses
from reference_step import Step
from strategies import close

STOPS = r"the problem of the joints at their stops or held by friction is not solved after 1 iterations"
CONTACTS = r"the problem of the contact forces is not solved after 1 iterations"


def chain(count: int, mass: float, limit: float = 0.5) -> lw.Model:
    """Hinges with limits; each test takes masses of its own, so that no other test's code is meant."""
    builder, parent = lw.Builder("chain", gravity=(0.0, 0.0, 0.0)), "world"
    for k in range(count):
        solid = {"mass": mass, "com": (0.15, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
        place = lw.placement((0.3 * bool(k), 0.0, 0.0))
        hinge = lw.joints.Revolute("yzx"[k % 3])
        builder.add_body(f"l{k}", parent, hinge, place, lower=-limit, upper=limit, friction=0.2 * (k == 1), **solid)
        parent = f"l{k}"
    builder.add_frame("tip", parent, lw.placement((0.3, 0.0, 0.0)))
    return builder.build()


def near_limits(model: lw.Model, states: int) -> tuple[Any, Any, lw.Constraint]:
    """States that share a configuration near the limits, with speeds along a plane that holds the tip."""
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.5, 0.5, model.nq)
    q = np.where(rng.random(model.nq) < 0.7, np.sign(q) * (0.5 - 1e-4 * rng.random(model.nq)), q)
    plane = lw.PointOnPlane.at(model, q, "tip")
    row = lw.jacobian(model, q, ["tip"], reference="local_world_aligned")[2]
    v = 3.0 * rng.normal(size=(states, model.nv))
    return q, v - np.outer(v @ row, row) / (row @ row), plane


def test_stops_beside_constraints_are_solved_for_in_every_state() -> None:
    """Of a thousand states some take more than four guesses. None gains energy, but by the turning of the tip."""
    model = chain(6, 1.0)
    q, v, plane = near_limits(model, 1000)
    given: dict[str, Any] = {"dt": 2e-3, "constraints": [plane], "friction": False}
    made = lw.rollout(model, q, v, steps=1, joint_limits=True, **given)
    before, after = (lw.energy(model, made.q[:, k], made.v[:, k])[0] for k in (0, 1))
    assert (after < 1.1 * before).all() and (abs(made.q[:, 1]) <= 0.5).all()
    reference = Step(model, 2e-3, lambda t, q, v: 0.0 * v, stops=True, constraints=[plane])
    gains = after / before
    for k in (*np.argsort(gains)[-3:], *range(3)):
        close(made.v[k, 1], reference(0.0, q, v[k])[1], 1e-9, scale=1.0)
        path = lw.simulate(model, q, v[k], 2e-3, 2e-3, joint_limits=True, constraints=[plane], friction=False)
        close(made.v[k, 1], path.v[1], 1e-9, scale=1.0)


@pytest.mark.filterwarnings("ignore:linearise of .* instructions")
@pytest.mark.parametrize("loops", [False, True])
def test_stops_that_are_not_solved_for_are_said(loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model = chain(6, 1.5 + loops)
    q, v, plane = near_limits(model, 40)
    monkeypatch.setattr(impulses, "MOST_ROUNDS", 1)
    given: dict[str, Any] = {"dt": 2e-3, "steps": 3, "joint_limits": True, "constraints": [plane] if loops else ()}
    with pytest.raises(
        lw.SimulationError, match=rf"trajectory \[\d+\] .* in step 1 \(t = 0.002 s\): {STOPS}"
    ) as lost_one:
        lw.rollout(model, q, v, **given)
    assert lost_one.value.time == 0.002 and lost_one.value.joint in model.joint_names
    kept = lw.rollout(model, q, v, diverged="nan", **given)
    lost = ~np.isfinite(kept.q[:, -1]).all(axis=1)
    assert lost.any() and not lost.all() and np.isnan(kept.v[lost, -1]).all()
    one = {key: given[key] for key in ("dt", "joint_limits", "constraints")}
    with pytest.raises(lw.ArgumentError, match=rf"no finite derivatives at state \d+ .*: {STOPS}"):
        lw.linearise(model, np.tile(q, (40, 1)), v, **one)
    step = lw.rollout(model, q, v, steps=1, diverged="nan", **one)
    gradient = step.pullback(v=np.ones((40, 2, model.nv)))
    np.testing.assert_array_equal(np.isfinite(gradient.v).all(axis=1), np.isfinite(step.v[:, 1]).all(axis=1))
    with pytest.raises(lw.LinkworkError, match=STOPS):
        for speed in v:
            lw.simulate(model, q, speed, 0.01, 2e-3, joint_limits=True, constraints=given["constraints"])


@pytest.mark.filterwarnings("ignore:the motion begins with a deep penetration")
@pytest.mark.parametrize("bodies", [4, 60])
def test_contacts_that_are_not_solved_for_are_said(bodies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = chain(bodies, 2.5)
    touching = [lw.Contact(f"l{k}", lw.Sphere(0.02), friction=0.5) for k in range(1, 4)]
    rng = np.random.default_rng(1)
    q, v = 0.02 * rng.normal(size=(8, model.nq)), 5.0 * rng.normal(size=(8, model.nv))
    monkeypatch.setattr(newton, "MOST_ITERATIONS", 1)
    with pytest.raises(lw.SingularError, match=CONTACTS):
        lw.contact_dynamics(model, q, v, np.zeros(model.nv), touching)
    with pytest.raises(lw.SimulationError, match=rf"trajectory \[\d\] .* in step 1 \(t = 0.001 s\): {CONTACTS}"):
        lw.rollout(model, q, v, dt=1e-3, steps=2, contacts=touching)
    with pytest.raises(lw.LinkworkError, match=CONTACTS):
        for k in range(8):
            lw.simulate(model, q[k], v[k], 2e-3, 1e-3, contacts=touching)


@pytest.mark.filterwarnings("ignore:the motion begins with a deep penetration")
def test_contacts_between_many_bodies_that_are_not_solved_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method cannot tell: no row may change its zone along a direction that is none. Nor can derivatives."""
    model, shape = chain(60, 4.5), lw.Sphere(0.31)
    stiff = lw.Softness(impedance=(0.9999, 0.9999, 0.001, 0.5, 2.0))
    touching = [lw.Contact(f"l{k}", shape, shape, on=f"l{k + 2}", softness=stiff) for k in range(4)]
    rng = np.random.default_rng(1)
    q, v = 0.02 * rng.normal(size=model.nq), rng.normal(size=model.nv)
    monkeypatch.setattr(articulated, "MOST_GRADIENTS", 2)
    between = r"contact forces between bodies, or beside constraints, is not solved after 2 iterations"
    for call, error in (
        (lambda: lw.contact_dynamics(model, q, v, 0.0 * v, touching), lw.SingularError),
        (lambda: lw.rollout(model, q, v, dt=1e-3, steps=2, contacts=touching), lw.SimulationError),
        (lambda: lw.simulate(model, q, v, 2e-3, 1e-3, contacts=touching), lw.LinkworkError),
        (lambda: lw.linearise(model, q, v, dt=1e-3, contacts=touching), lw.ArgumentError),
    ):
        with lw.interpreted(), pytest.raises(error, match=between):
            call()


def test_forces_of_nearly_redundant_constraints_that_do_not_settle_are_said() -> None:
    """Two planes that differ by a ten-thousandth of a radian."""
    model = chain(4, 3.5)
    q = np.array([0.1, 0.2, -0.3, 0.2])
    planes = [lw.PointOnPlane.at(model, q, "tip", normal=(0.0, 3e-4 * k, 1.0)) for k in range(2)]
    with pytest.warns(lw.LinkworkWarning, match=r"'tip'.* nearly redundant, still change by .* of the largest"):
        lw.constrained_dynamics(model, q, np.ones(4), np.zeros(4), planes, proximal=1e-6)
    with pytest.warns(lw.LinkworkWarning, match=r"nearly redundant, still change by .* in state \[2\] of the batch"):
        lw.impact(model, q, [np.zeros(4), np.zeros(4), np.ones(4)], planes, proximal=1e-6)
    with pytest.raises(lw.SingularError, match=r"constrained_dynamics: the forces of the constraints .* nearly redund"):
        lw.simulate(model, q, np.ones(4), 2e-3, 1e-3, constraints=planes, proximal=1e-6, stabilisation=0.1)
    with pytest.raises(lw.SimulationError, match=r"trajectory \[0\] .*: the proximal iteration .* nearly redundant"):
        lw.rollout(model, [q], np.ones(4), dt=1e-3, steps=2, constraints=planes, proximal=1e-6, stabilisation=0.1)


def test_derivatives_do_not_depend_on_the_number_of_guesses() -> None:
    """Of these states some take four guesses, the last ones in which all joints change."""
    model, rng = chain(6, 1.0), np.random.default_rng(0)
    q, v = np.sign(rng.normal(size=(400, 6))) * (0.5 - 1e-4 * rng.random((400, 6))), 3.0 * rng.normal(size=(400, 6))
    given = {"dt": 2e-3, "joint_limits": True, "friction": False}
    A, _ = lw.linearise(model, q, v, **given)
    along = rng.normal(size=v.shape)
    ahead, behind = (lw.rollout(model, q, v + h * along, steps=1, **given).v[:, 1] for h in (1e-7, -1e-7))
    close(np.einsum("kij,kj->ki", A[:, 6:, 6:], along), (ahead - behind) / 2e-7, 1e-5, scale=1.0)


def test_a_joint_that_rests_at_its_stop_up_to_rounding_is_solved_for() -> None:
    """Two arms that are mirror images push a torso at its stop from both sides."""
    builder = lw.Builder("mirrored", gravity=(0.0, 0.0, 0.0))
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "lower": 0.0, "upper": 1.0}
    builder.add_body("torso", joint=lw.joints.Revolute("z"), **solid)
    for side in (1.0, -1.0):
        parent, at = "torso", 0.2
        for k, length in enumerate((0.9, 0.3, 0.7)):
            arm = {"mass": 0.7 + 0.1 * k, "com": (0.0, 0.13 * side, 0.0), "inertia": (0.01, 0.01, 0.01)}
            place, name = lw.placement((0.0, at * side, 0.0)), f"{side}{k}"
            builder.add_body(name, parent, lw.joints.Revolute("z"), place, lower=-0.3, upper=0.3, **arm)
            parent, at = name, length
    rng, q, v = np.random.default_rng(0), np.zeros((300, 7)), np.zeros((300, 7))
    bent, speed = 0.3 * np.sign(rng.normal(size=(300, 3))), 3.0 * rng.normal(size=(300, 3))
    q[:, 1:4], q[:, 4:], v[:, 1:4], v[:, 4:] = bent, -bent, speed, -speed
    made = lw.rollout(builder.build(), q, v, dt=2e-3, steps=20, joint_limits=True, friction=False)
    assert abs(made.v[:, :, 0]).max() < 1e-12


@pytest.mark.parametrize(("proximal", "tilt"), [(1e-4, 1e-5), (1e-3, 3e-5), (1e-2, 1e-4), (0.1, 3e-4)])
def test_a_slow_proximal_iteration_is_said(proximal: float, tilt: float) -> None:
    """Its steps hardly change since there is so much left to do."""
    model = chain(6, 3.6)
    q = np.array([0.1, -0.2, 0.3, -0.1, 0.2, -0.3])
    planes = [lw.PointOnPlane.at(model, q, "tip", normal=(0.0, tilt * k, 1.0)) for k in range(2)]
    with pytest.warns(lw.LinkworkWarning, match="still change by"):
        lw.constrained_dynamics(model, q, np.zeros(6), np.ones(6), planes, proximal=proximal)


@pytest.mark.parametrize("bodies", [3, 60])
def test_constraints_that_no_joint_moves_are_named(bodies: int) -> None:
    """Twice, with proximal damping, which is relative to what the constraints move: nothing."""
    model = lw.mechanisms.serial_chain(bodies)  # in a plane that its tip cannot leave
    q, planes = np.full(bodies, 0.1), [lw.PointOnPlane("tip")] * 2
    with pytest.raises(lw.SingularError, match=r"no joint moves what the constraints PointOnPlane.* hold"):
        lw.constrained_dynamics(model, q, 0.0 * q, 0.0 * q, planes, proximal=1e-6)
    with pytest.raises(lw.SimulationError, match=r"no joint moves what the constraints PointOnPlane.* hold"):
        lw.rollout(model, q[None], 0.0 * q, dt=1e-3, steps=2, constraints=planes, proximal=1e-6)
