"""The rate of change of the operational inertia, and impedance control by it: central differences, the work of Coriolis
forces, and the energy of the closed loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.control import Impedance, MinimumJerk, OperationalSpaceController, Posture, Task
from strategies import Array, close
from test_constrained_points import FEET, HAND, five_bar, standing, welds

MODEL, Q, V = standing()
HELD: dict[str, Any] = {"free": None, "welds": welds(MODEL, Q)}


def rate(v: Array, reference: str, held: Any, **options: Any) -> Array:
    return lw.operational_inertia_rate(MODEL, Q, v, [HAND], reference, constraints=held, **options)


CASES = [("free", "local"), ("welds", "local_world_aligned")]


@pytest.mark.parametrize(("how", "reference"), CASES)
def test_it_is_the_derivative_and_coriolis_forces_do_no_work_of_their_own(how: str, reference: str) -> None:
    """ẋᵀ (Λ̇ ẋ - 2 μ) = 0 for every velocity q̇ = J̄ ẋ, where μ is that of another text."""
    held = HELD[how]

    def space(q: Array, v: Array) -> lw.OperationalSpace:
        with lw.interpreted():
            return lw.operational_space(MODEL, q, v, [HAND], reference=reference, constraints=held)

    h = 1e-5
    ahead, behind = (space(lw.integrate(MODEL, Q, x * V), V).inertia for x in (h, -h))
    found = rate(V, reference, held)
    close(found, (ahead - behind) / (2.0 * h), 1e-7)
    assert np.array_equal(found, found.T)
    out = np.empty((3, 3))
    assert rate(V, reference, held, out=out) is out and np.array_equal(out, found)
    for x in np.random.default_rng(5).normal(size=(2, 3)):
        v = space(Q, V).consistent_inverse @ x
        assert abs(x @ rate(v, reference, held) @ x - 2.0 * x @ space(Q, v).coriolis) < 1e-11 * (x @ x)


def test_derivatives_by_q_are_the_rates_along_each_joint() -> None:
    held = HELD["welds"]
    derivatives = lw.operational_inertia_derivatives(MODEL, Q, [HAND], "local_world_aligned", constraints=held)
    assert derivatives.shape == (3, 3, MODEL.nv)
    close(derivatives @ V, rate(V, "local_world_aligned", held), 1e-12)
    once = rate(np.eye(MODEL.nv)[8], "local_world_aligned", held)
    assert np.array_equal(derivatives[..., 8], once)  # a batch has the bits of single states


def test_a_compiled_function_may_have_the_rate_in_it() -> None:
    arm, hand = lw.mechanisms.humanoid(), [lw.Point("left_hand", axes="position")]
    q, v = lw.random_state(arm, 2)
    f = lw.compile(lambda q, v: lw.operational_inertia_rate(arm, q, v, hand), q=arm.nq, v=arm.nv)
    close(f(q, v), lw.operational_inertia_rate(arm, q, v, hand), 1e-12)


def ship() -> tuple[lw.Model, Array, Array, list[lw.Constraint]]:
    """A free body with motors that carries a five-bar."""
    builder = lw.Builder("ship")
    solid: dict[str, Any] = {"mass": 3.0, "com": (0.1, 0.0, 0.0), "inertia": (0.3, 0.4, 0.5)}
    hull = builder.add_body("hull", joint=lw.joints.Free(), actuated=True, **solid)
    builder.add_model(five_bar()[0], parent=hull)
    model = builder.build()
    q, v = lw.random_state(model, 3)
    return model, q, v, [lw.Ball.at(model, q, "end0", "end1")]


def test_redundant_loops_have_a_rate_and_what_does_not_exist_has_none() -> None:
    """In a planar loop, along its own motion; a point of three axes cannot move out of the plane."""
    model, closed, q = five_bar()
    v = np.array([0.3, -0.5, 0.2, 0.1])
    point = lw.Point("lower0", (0.1, 0.2, 0.0), "position")
    with pytest.raises(lw.SingularError, match="can move only 2 independently under the constraints"):
        lw.operational_inertia_rate(model, q, v, [point], constraints=closed)
    with pytest.raises(lw.ArgumentError, match="reference must be one of"):
        rate(V, "body", None)
    whole, q, v, loops = ship()
    one = lw.operational_inertia_rate(whole, q, v, [point], constraints=loops)
    close(lw.operational_inertia_rate(whole, q, v, [point], constraints=[*loops, *loops]), one, 1e-9)


def test_many_bodies_and_no_points_have_rates_too() -> None:
    """Beyond 50 bodies, code with loops is differentiated; points have an offset there."""
    chain = lw.mechanisms.serial_chain(52, joint="spherical")
    q, v = lw.random_state(chain, 6)
    point, h = lw.Point(chain.body_names[8], (0.1, 0.2, 0.0), "position"), 1e-5
    ends = [lw.Ball.at(chain, q, "tip")]
    found = lw.operational_inertia_rate(chain, q, v, [point], constraints=ends)
    with lw.interpreted():
        ahead, behind = (
            lw.operational_inertia(chain, lw.integrate(chain, q, x * v), [point], constraints=ends) for x in (h, -h)
        )
    close(found, (ahead - behind) / (2.0 * h), 1e-6)
    assert lw.operational_inertia_rate(MODEL, Q, V, [], constraints=HELD["welds"]).shape == (0, 0)


# Impedance


def trunk() -> Array:
    with lw.interpreted():
        return lw.forward_kinematics(MODEL, Q, ["trunk"])[0]


def goal(axes: str) -> Impedance:
    """Towards a moving or a turned reference, with a stiffness for each axis."""
    place = trunk()
    there = place.copy()
    there[:3, :3] = Rotation.from_rotvec([0.3, -0.2, 0.4]).as_matrix() @ place[:3, :3]
    there[:3, 3] += [0.05, 0.02, -0.03]
    point = lw.Point("trunk", (0.1, 0.0, 0.2), axes)
    if axes == "rotation":
        return Impedance(point, there[:3, :3], kp=[40.0, 50.0, 60.0], kd=[3.0, 4.0, 5.0])
    if axes == "position":
        return Impedance(point, MinimumJerk(there[:3, 3], place[:3, 3], 1.0), kp=[300.0, 400.0, 500.0], kd=30.0)
    return Impedance(point, MinimumJerk(place, there, 1.0), kp=[300.0, 400.0, 500.0, 40.0, 50.0, 60.0], kd=20.0)


@pytest.mark.parametrize("axes", ["position", "rotation", "pose"])
def test_stored_energy_grows_by_the_work_of_external_forces_alone(axes: str) -> None:
    """On two feet: the change of ½ νᵀ Λ ν + U, by central differences along the motion that a push causes."""
    held, law, t, h = HELD["welds"], goal(axes), 0.4, 1e-5
    point = law.point
    rows = {"position": slice(0, 3), "rotation": slice(3, 6), "pose": slice(0, 6)}[axes]
    with lw.interpreted():
        controller = OperationalSpaceController(MODEL, [law], Posture(Q), constraints=held)
        J = lw.jacobian(MODEL, Q, [lw.Point(point.frame, point.offset)], "local_world_aligned")
        push = np.zeros(6)
        push[rows] = np.random.default_rng(8).normal(size=6)[rows] * 20.0
        tau = controller.command(t, Q, V).torque
        assert not tau[:6].any()
        a, _ = lw.constrained_dynamics(MODEL, Q, V, tau + J.T @ push, held)

        def state(s: float) -> tuple[float, Array]:
            """The stored energy and the relative velocity, s seconds later."""
            q, v = lw.integrate(MODEL, Q, s * V + 0.5 * s * s * a), V + s * a
            whole = lw.Point(point.frame, point.offset)
            place = lw.forward_kinematics(MODEL, q, [whole])[0]
            twist = lw.frame_velocity(MODEL, q, v, [whole], "local_world_aligned")[0]
            sample = law.reference.at(t + s)
            relative = []
            if axes != "rotation":
                relative.append(twist[:3] - sample.velocity[:3])
            if axes != "position":
                relative.append(twist[3:] - place[:3, :3] @ sample.value[:3, :3].T @ sample.velocity[-3:])
            nu = np.concatenate(relative)
            space = lw.operational_space(MODEL, q, v, [point], reference="local_world_aligned", constraints=held)
            return 0.5 * nu @ space.inertia @ nu + law.energy(t + s, place), nu

        slopes = [(state(s)[0] - state(-s)[0]) / (2.0 * s) for s in (h, 2.0 * h)]
        nu = state(0.0)[1]
    gained = (4.0 * slopes[0] - slopes[1]) / 3.0
    given, lost = nu @ push[rows], nu @ (law.kd * nu)
    assert abs(gained - (given - lost)) < 1e-6 * (abs(given) + abs(lost))
    assert abs(given) > 1.0 and lost > 0.1


@pytest.mark.parametrize("supported", [False, True])
def test_the_compiled_law_is_the_command(supported: bool) -> None:
    if supported:
        model, q, v, loops = ship()
        hull = Impedance("hull", MinimumJerk(np.eye(4), lw.forward_kinematics(model, q, ["hull"])[0], 1.0), kd=20.0)
        law = OperationalSpaceController(model, [hull], constraints=loops)
    else:
        law = OperationalSpaceController(lw.mechanisms.humanoid(), [humanoid_hand()])
        q, v = lw.random_state(law.model, 4)
    close(law.torque(0.4, q, v), law.command(0.4, q, v).torque, 1e-10)


def humanoid_hand() -> Impedance:
    return Impedance(lw.Point("left_hand", axes="position"), [0.3, 0.3, 1.0], kp=400.0, kd=60.0)


def test_it_is_a_task_if_the_inertia_is_taken_out() -> None:
    """At rest, the force of the springs is that of a task with the acceleration Λ⁻¹ K e."""
    person = lw.mechanisms.humanoid()
    q, _ = lw.random_state(person, 5)
    hand, still = humanoid_hand(), np.zeros(person.nv)
    with lw.interpreted():
        place = lw.forward_kinematics(person, q, ["left_hand"])[0]
        J = lw.jacobian(person, q, [hand.point], "local_world_aligned")
        inverse = lw.operational_space(person, q, still, [hand.point], reference="local_world_aligned").inertia_inverse
        error = hand.error(0.0, place)
        one = OperationalSpaceController(person, [hand]).command(0.0, q, still).torque
        other = OperationalSpaceController(person, [Task(hand.point, place[:3, 3])]).command(0.0, q, still).torque
        push = J.T @ (400.0 * error)
        close(one, other - push, 1e-10)
        a = lw.forward_dynamics(person, q, still, one)
        close(J @ a, -inverse @ (400.0 * error), 1e-9)


def test_an_impedance_needs_its_damping_and_feet_have_none() -> None:
    with pytest.raises(lw.ArgumentError, match="kd of an impedance must be its damping"):
        Impedance("trunk", np.eye(4), kd=None)  # type: ignore[arg-type]
    stuck = OperationalSpaceController(MODEL, [Impedance(FEET[0], np.eye(4))], constraints=HELD["welds"])
    with lw.interpreted(), pytest.raises(lw.SingularError, match="can move only 0 independently"):
        stuck.command(0.0, Q, V)
