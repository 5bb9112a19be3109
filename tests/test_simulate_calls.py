"""Torque sources of a simulation, its recorded states, and its early end."""

from __future__ import annotations

import os
import pickle
import signal
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import progress
from linkwork.dynamics.arguments import Array
from linkwork.simulation.impulses import response_of, searched
from linkwork.simulation.stops import Joint

ARM = lw.mechanisms.serial_chain(2, link_length=0.5)
Q, V = np.array([0.3, -0.2]), np.array([0.5, 0.0])


def run(**more: Any) -> lw.Trajectory:
    return lw.simulate(ARM, Q, V, 0.1, 0.01, **more)


# Torques


class Spring:
    """A controller that counts its calls."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1
        self.times.clear()

    def torque(self, t: float, q: Array, v: Array) -> list[float]:
        self.times.append(t)
        return [-5.0 * q[0], 0.0]


def test_functions_controllers_tables_and_numbers_are_the_same() -> None:
    spring = Spring()
    by_controller = run(torque=spring)
    assert isinstance(spring, lw.Controller) and spring.resets == 1
    close_times = np.arange(11) * 0.01
    assert spring.times == pytest.approx(close_times)
    by_function = run(torque=lambda t, q, v: (-5.0 * q[0], 0))
    by_table = run(tau=by_controller.tau[:10])
    by_longer_table = run(tau=by_controller.tau)
    for other in (by_function, by_table, by_longer_table):
        assert (other.q == by_controller.q).all()
    assert (by_controller.tau[:, 0] == -5.0 * by_controller.q[:, 0]).all()
    assert (run(tau=[1.0, 2.0]).q == run(tau=np.tile([1.0, 2.0], (10, 1))).q).all()
    assert (run(tau=[0, 0]).q == run().q).all()


def test_a_held_torque_is_asked_for_at_its_own_rate() -> None:
    spring = Spring()
    path = run(torque=spring, hold=5, integrator="runge_kutta_4")
    assert spring.times == pytest.approx([0.0, 0.05, 0.1])
    assert (path.tau[:5] == path.tau[0]).all() and path.tau[5, 0] == -5.0 * path.q[5, 0]


def test_runge_kutta_asks_within_the_step() -> None:
    spring = Spring()
    run(torque=spring, integrator="runge_kutta_4")
    assert spring.times[:4] == pytest.approx([0.0, 0.005, 0.005, 0.01])


def test_a_torque_cannot_change_the_state_that_it_is_shown() -> None:
    def meddling(t: float, q: Array, v: Array) -> Array:
        q[0] = 7.0
        return np.zeros(2)

    with pytest.raises(ValueError, match="read-only"):
        run(torque=meddling)
    assert Q[0] == 0.3 and Q.flags.writeable


def test_loads_act_on_bodies() -> None:
    box = lw.mechanisms.free_box(mass=2.0)
    lift = np.array([[0.0, 0.0, 2.0 * 9.81 + 4.0, 0.0, 0.0, 0.0]])
    path = lw.simulate(box, lw.neutral(box), np.zeros(6), 1.0, 0.01, f_ext=lift, integrator="runge_kutta_4")
    assert path.q[-1, 2] == pytest.approx(1.0)
    later = lw.simulate(box, lw.neutral(box), np.zeros(6), 1.0, 0.01, f_ext=lambda t, q, v: lift * (t >= 0.5))
    assert later.a[0, 2] == pytest.approx(-9.81) and later.a[-1, 2] == pytest.approx(2.0)


@pytest.mark.parametrize("method", ["composite_body", "virtual_work", "constraint_force"])
def test_every_method_leads_the_same_way(method: str) -> None:
    np.testing.assert_allclose(run(method=method).q, run().q, rtol=1e-12)


# What is kept


def test_every_kth_state_is_kept_and_the_last() -> None:
    every, some = run(), run(record=4)
    assert some.t == pytest.approx([0.0, 0.04, 0.08, 0.1])
    for name in ("q", "v", "a", "tau"):
        assert (getattr(some, name) == getattr(every, name)[[0, 4, 8, 10]]).all()
    assert every.t[7] == 7 * 0.01  # not a sum of ten steps
    np.testing.assert_array_equal(every.v[1:], every.v[:-1] + 0.01 * every.a[:-1])


def test_ctrl_c_returns_what_there_is(interruptible: None) -> None:
    def interrupting(t: float, q: Array, v: Array) -> Array:
        if t > 0.045:
            os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(2)

    path = run(torque=interrupting)
    assert path.interrupted and 4 <= len(path) <= 6 and "interrupted" in repr(path)
    assert (path.q == run().q[: len(path)]).all() and not run().interrupted


def test_a_torque_that_is_no_number_stops_with_time_joint_and_trajectory() -> None:
    with pytest.raises(lw.SimulationError, match=r"t = 0.05 s.*'joint2'.*nan") as caught:
        run(torque=lambda t, q, v: [0.0, np.nan if t > 0.045 else 0.0])
    error = caught.value
    assert error.time == 0.05 and error.joint == "joint2"
    assert isinstance(error.trajectory, lw.Trajectory) and (error.trajectory.q == run().q[:5]).all()
    again = pickle.loads(pickle.dumps(error))
    assert again.time == 0.05 and str(again) == str(error) and (again.trajectory.q == error.trajectory.q).all()


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4", "adaptive"])
def test_a_motion_that_blows_up_says_so(integrator: str) -> None:
    with pytest.raises(
        lw.SimulationError, match=r"stopped at t = .*joint 'joint\d'.*(blown up|could not keep)"
    ) as caught:
        lw.simulate(
            ARM, Q, V, 50.0, 0.05, torque=lambda t, q, v: 1e3 * v * abs(v), integrator=integrator, effort_limits=False
        )
    path = caught.value.trajectory
    assert isinstance(path, lw.Trajectory)
    assert len(path) >= 1 and np.isfinite(path.q).all() and path.t[-1] <= caught.value.time


def test_a_bar_is_shown_when_it_takes_long(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", float("inf"))  # however slow the machine is
    run(progress=True)
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich's way to be told that this is a terminal
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    run(progress=True)
    assert "simulating serial_chain" in capfd.readouterr().err
    run()
    assert capfd.readouterr().err == ""


# What is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": [1.0]}, r"q must have shape \(..., 2\)"),
        ({"q": [[0.0, 0.0]]}, "begins in one state"),
        ({"v": [0.0, np.inf]}, r"v\[1\] \(joint 'joint2'\) is inf"),
        ({"duration": 0.105}, r"must be a multiple of dt = 0.01 s; pass duration=0\.1"),
        ({"duration": -1.0}, "duration must be a positive number of seconds, not -1.0"),
        (
            {"duration": 1e300, "dt": 1e-300},
            r"steps must be at most 1,000,000,000,000,000,.* not inf \(duration 1e\+300 s in steps dt of 1e-300 s",
        ),
        ({"duration": 1e11, "dt": 1e-3}, "not enough memory for 100,000,000,000,001 states of 'serial_chain'"),
        ({"dt": True, "duration": 1.0}, "dt must be a positive number of seconds, not True"),
        ({"damping": -0.5}, r"damping of joint 'joint1' is -0\.5; it must be 0 or more"),
        ({"friction": "no"}, "friction must hold real numbers"),
        ({"friction": np.ones((3, 2))}, r"friction_law='stiction' is the same for all trajectories, \(2,\)"),
        ({"friction_law": "smooth"}, "friction_law must be one of 'stiction', 'smoothed', not 'smooth'"),
        ({"damping": np.ones((3, 2))}, r"damping must have shape \(2,\), but has shape \(3, 2\)"),
        ({"effort_limits": [1.0, 1.0, 1.0]}, "effort_limits must have shape"),
        ({"kp": 1.0}, "kp needs q_target"),
        ({"joint_limits": None}, "joint_limits must be True or False"),
        ({"solver": "Euler"}, "solver must be one of"),
        ({"proximal": "a little"}, "proximal must be a number of 0 or more"),
        ({"dt": "fast"}, "dt must be a positive number of seconds, not 'fast'"),
        ({"tau": np.zeros((3, 2))}, "tau has 3 rows over time for 10 steps; it must have a row for each step"),
        ({"tau": np.zeros((4, 10, 2))}, r"\(10, 2\), a row for each step, but has shape \(4, 10, 2\)"),
        ({"torque": lambda t, q, v: [1.0]}, r"torque\(t, q, v\) must have shape"),
        ({"torque": lambda t, q, v: np.zeros((1, 2))}, r"must return shape \(2,\)"),
        ({"tau": [np.nan, 0.0]}, r"tau\[0\] \(joint 'joint1'\) is nan"),
        ({"f_ext": np.zeros((1, 6))}, "f_ext must have shape"),
        ({"f_ext": np.zeros((4, 2, 6))}, "f_ext has 4 rows over time for 10 steps"),
        ({"f_ext": lambda t, q, v: np.zeros((3, 2, 6))}, "must return shape"),
        ({"integrator": "runge_kutta"}, "did you mean 'runge_kutta_4'"),
        ({"integrator": "adaptive", "solver": "RK4"}, "solver must be one of"),
        ({"integrator": "adaptive", "rtol": 0.0}, "rtol must be a positive number, not 0.0"),
        ({"method": "newton"}, "method must be one of"),
        ({"record": 0}, "record must be an integer of 1 or more"),
        ({"hold": 1.5}, "hold must be an integer of 1 or more"),
        ({"stabilisation": -1.0}, "stabilisation must be a positive number, not -1.0"),
        ({"constraints": "tip"}, "constraints must be a list"),
        ({"constraints": ["tip"]}, "constraints must hold lw.Weld"),
        ({"constraints": [lw.Ball("tip")], "method": "composite_body"}, "leave method 'composite_body' out"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    arguments = {"model": ARM, "q": Q, "v": V, "duration": 0.1, "dt": 0.01} | change
    with pytest.raises(lw.ArgumentError, match=message):
        lw.simulate(**arguments)


@pytest.mark.parametrize(
    ("of_joint", "name"), [("damping", "damping"), ("friction", "friction"), ("effort", "effort_limits")]
)
def test_a_model_s_negative_numbers_are_refused_unless_they_do_not_count(of_joint: str, name: str) -> None:
    builder = lw.Builder("slider")
    builder.add_body("sled", joint=lw.joints.Prismatic("x"), mass=2.0, joint_name="rail", **{of_joint: -1.0})
    model = builder.build()
    with pytest.raises(lw.ArgumentError, match=f"{name} of joint 'rail' is -1.0; it must be 0 or more") as simulated:
        lw.simulate(model, [0.0], [1.0], 0.1, 0.01)
    with pytest.raises(lw.ArgumentError) as rolled:
        lw.rollout(model, [0.0], [1.0], dt=0.01, steps=10)
    assert str(simulated.value) == str(rolled.value)
    assert lw.simulate(model, [0.0], [1.0], 0.1, 0.01, **{name: False}).v[-1] == 1.0


def test_the_same_mistake_gets_the_same_words_as_in_a_rollout() -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"dt": 0.0}, {"dt": 0.0}),
        ({"dt": 10**400}, {"dt": 10**400}),
        ({"record": 1.5}, {"record": 1.5}),
        ({"tau": np.zeros((3, 2))}, {"tau": np.zeros((3, 2))}),
    ]
    given: dict[str, Any] = {"model": ARM, "q": Q, "v": V, "dt": 0.01}
    for one, other in cases:
        with pytest.raises(lw.ArgumentError) as simulated:
            lw.simulate(**given | {"duration": 0.1} | one)
        with pytest.raises(lw.ArgumentError) as rolled:
            lw.rollout(**given | {"steps": 10} | other)
        said = str(rolled.value).partition(". Rows for each trajectory")[0]
        assert str(simulated.value) == said


def test_infinite_friction_locks_a_joint() -> None:
    builder = lw.Builder("slider")
    builder.add_body("sled", joint=lw.joints.Prismatic("z"), mass=2.0, joint_name="rail", friction=np.inf)
    path = lw.simulate(builder.build(), [0.0], [0.0], 0.1, 0.01, tau=[50.0])
    assert abs(path.q).max() < 1e-12


def test_one_row_of_torques_is_for_all_steps() -> None:
    assert (run(tau=[[0.3, -0.2]]).q == run(tau=[0.3, -0.2]).q).all()


def test_a_start_beyond_a_limit_is_refused_if_limits_count() -> None:
    builder = lw.Builder("slider")
    builder.add_body("sled", joint=lw.joints.Prismatic("x"), mass=2.0, joint_name="rail", lower=-1.0, upper=1.0)
    with pytest.raises(lw.ArgumentError, match=r"q of joint 'rail' is 1[.]5, outside its limits -1 to 1"):
        lw.simulate(builder.build(), [1.5], [0.0], 1.0, 0.1, joint_limits=True)


# The impulses of friction and stops


def test_a_function_cannot_move_the_mechanism_by_hand() -> None:
    def load(t: float, q: Array, v: Array) -> Array:
        q[0] = 1.0
        return np.zeros((2, 6))

    with pytest.raises(ValueError, match="read-only"):
        run(f_ext=load)


def test_a_mechanism_without_joints_stops_with_an_error_of_ours() -> None:
    builder = lw.Builder("stone")
    builder.add_body("stone", joint=lw.joints.Fixed(), mass=1.0)
    with pytest.raises(
        lw.SimulationError, match=r"'stone' stopped at t = 0\.06 s: torque\(t, q, v\) must have"
    ) as caught:
        lw.simulate(builder.build(), [], [], 0.1, 0.01, torque=lambda t, q, v: [1.0] if t > 0.055 else [])
    assert caught.value.joint is None and len(caught.value.trajectory) == 6


@pytest.mark.parametrize("seed", range(20))
def test_impulses_obey_the_law_of_each_joint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, rank, dt = 8, 8 if seed % 2 else 3, 0.01  # as in a loop: fewer motions than joints
    A = rng.normal(size=(n, rank))
    G, end, q = A @ A.T, A @ rng.normal(size=rank) * 2.0, np.zeros(n)
    limit, friction = 0.01 * rng.uniform(size=n), np.where(np.arange(n) < 6, 20.0 * rng.uniform(size=n), 0.0)
    limit[:3] = np.inf
    joints = [Joint(k, k, -limit[k], limit[k], friction[k]) for k in range(n)]
    order = sorted(range(n), key=lambda k: joints[k].kind())
    joints, G, end, limit, friction = (
        [joints[k] for k in order],
        G[np.ix_(order, order)],
        *(each[order] for each in (end, limit, friction)),
    )
    p, v = searched(response_of(G, np.ones(n)), [one._replace(coordinate=0) for one in joints], q, end, dt)
    assert abs(v - end - G @ p).max() < 1e-9
    most, reached = dt * friction, limit / dt
    assert (abs(v) <= reached + 1e-8).all()
    inside = abs(v) < reached - 1e-8
    assert (abs(p[inside]) <= most[inside]).all()
    slides = inside & (abs(v) > 1e-8)
    assert (p[slides] == -np.sign(v[slides]) * most[slides]).all()
    assert (p[~inside] * np.sign(v[~inside]) <= most[~inside] + 1e-12).all()
