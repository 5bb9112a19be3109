"""The steps of ``lw.simulate`` as machine code: the results are the same, as are the steps left to Python."""

from __future__ import annotations

import os
import signal
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.inside import costs
from linkwork.simulation import impulses
from linkwork.simulation import run as loop
from linkwork.simulation.impulses import Matrix, searched
from linkwork.simulation.plant import Plant
from linkwork.simulation.stops import Joint, resisting_joints
from strategies import close

BOTH = pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
ARRAYS = ("t", "q", "v", "a", "tau", "constraint_forces")


@pytest.fixture(autouse=True)
def worth_while() -> Iterator[None]:
    """Compile code however few steps there are."""
    with costs(interpreted=0):
        yield


@cache
def arm(friction: float = 0.0, lower: float = -np.inf) -> lw.Model:
    """A hinge, a slider and a ball, damped."""
    builder = lw.Builder("arm")
    solid = {"mass": 1.0, "com": (0.3, 0, 0.1), "inertia": (0.1, 0.12, 0.15)}
    limits = {"lower": lower, "upper": -lower}
    builder.add_body("a", joint=lw.joints.Revolute("y"), damping=0.1, friction=friction, **limits, **solid)
    builder.add_body("b", "a", lw.joints.Prismatic("x"), lw.placement((0.5, 0, 0)), effort=0.5, **limits, **solid)
    builder.add_body("c", "a", lw.joints.Spherical(), lw.placement((0.5, 0, 0)), damping=0.02, **solid)
    return builder.build()


def run(model: lw.Model, **more: Any) -> lw.Trajectory:
    v = more.pop("v", np.array([1.0, 0.5, 0.1, 0.2, -0.3]))
    return lw.simulate(model, lw.neutral(model), v, **{"duration": 0.3, "dt": 0.005, **more})


def interpreted(model: lw.Model, **more: Any) -> lw.Trajectory:
    with lw.interpreted():
        return run(model, **more)


def steps_of_python(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps that are computed in Python."""
    asked, own = [], Plant.answer

    def answer(self: Plant, t: Any, q: Any, *rest: Any) -> Any:
        if isinstance(t, float):  # no trace
            asked.append(self.count)
        return own(self, t, q, *rest)

    monkeypatch.setattr(Plant, "answer", answer)
    return asked


def law(t: Any, q: Any, v: Any) -> Any:
    return np.sin(3.0 * t) - 0.5 * v


@cache
def compiled_law() -> lw.CompiledFunction:
    return lw.compile(law, t=(), q=6, v=5)


WAYS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "table": {"tau": np.random.default_rng(0).normal(size=(60, 5)), "record": 7},
    "longer_table": {"tau": np.random.default_rng(0).normal(size=(61, 5)), "f_ext": np.ones((3, 6))},
    "law": {"torque": compiled_law()},
    "load": {"torque": compiled_law(), "f_ext": lw.compile(lambda t, q, v: np.ones((3, 6)) * v[0], t=(), q=6, v=5)},
    "held_law": {"torque": compiled_law(), "hold": 7, "record": 100},
    "constraints": {"constraints": [lw.Ball("b", placement=lw.placement((0.5, 0.0, 0.0)))], "proximal": 1e-6},
}


@BOTH
@pytest.mark.parametrize("way", WAYS)
def test_code_goes_the_same_way_to_the_bit(way: str, integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**WAYS[way], "integrator": integrator}
    asked = steps_of_python(monkeypatch)
    found = run(arm(), **given)
    assert not asked
    expected = interpreted(arm(), **given)
    for name in ARRAYS:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@costs(interpreted=50_000)
def test_short_runs_get_code_when_there_have_been_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then they are interpreted, with the same bits."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")
    model, asked = lw.mechanisms.serial_chain(3, link_length=0.37), list[bool]()
    go = loop.run_over_time

    def watched(plan: Any, *rest: Any) -> int:
        asked.append("Interpreted" in repr(plan))
        return go(plan, *rest)

    monkeypatch.setattr(loop, "run_over_time", watched)
    paths = [run(model, v=np.ones(3), duration=0.1) for _ in range(6)]
    assert asked[0] and not asked[-1] and asked == sorted(asked, reverse=True)
    for name in ARRAYS:
        assert all(np.array_equal(getattr(path, name), getattr(paths[0], name)) for path in paths), name


@pytest.mark.filterwarnings("ignore:prismatic joint")  # without stops it runs out of its range
@BOTH
def test_friction_and_stops_of_loops_are_solved_for_inside(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plane = lw.PointOnPlane("b", placement=lw.placement((0.5, 0.0, 0.0)), normal=(1, 0, 1))
    given: dict[str, Any] = {"constraints": [plane], "integrator": integrator}
    push, slow = {"tau": [0.0, 0.0, 0.0, 0.1, 0.0]}, {"torque": lambda t, q, v: -5.0 * v}
    for friction, stopped, more in ((0.0, True, push), (0.3, True, slow), (0.3, False, push)):
        model, options = arm(friction, -0.2), {"joint_limits": stopped, **given, **more}
        asked = steps_of_python(monkeypatch)
        found = run(model, **options)
        assert not asked or (integrator == "runge_kutta_4" and more is slow)
        assert (0 < found.q[:, 0].argmax() < 60 and found.q[:, 0].max() == 0.2) or not stopped
        expected = interpreted(model, **options)
        for name in ARRAYS:
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.filterwarnings("ignore:prismatic joint")  # without stops it runs out of its range
@BOTH
def test_friction_and_stops_are_solved_for_inside(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, push = arm(0.3, -0.2), {"tau": [3.0, -1.0, 0.0, 0.1, 0.0], "integrator": integrator}
    for joint_limits in (False, True):
        found = run(model, joint_limits=joint_limits, **push)
        expected = interpreted(model, joint_limits=joint_limits, **push)
        for name in ARRAYS:
            close(getattr(found, name), getattr(expected, name), 1e-9)
    assert found.q[:, 0].max() == 0.2


@cache
def geared(friction: float, upper: float = 0.4) -> tuple[lw.Model, list[lw.Coupling]]:
    """Five hinges with stops, two with friction: one leads two others, one of which, with another upper limit, leads a
    fourth; one is held.
    """
    builder, parent = lw.Builder("geared"), "world"
    for k, axis in enumerate("yzxyz"):
        solid = {"mass": 1.0 - 0.1 * k, "com": (0.1, 0.02 * k, 0.05), "inertia": (0.02, 0.03, 0.025)}
        limit = upper if k == 1 else 0.3 + 0.1 * k
        rubs = {"lower": -0.6, "upper": limit, "friction": friction * (k % 2), "damping": 0.05}
        builder.add_body(f"l{k}", parent, lw.joints.Revolute(axis), lw.placement((0.2, 0, 0)), **rubs, **solid)
        parent = f"l{k}"
    model = builder.build()
    lead, *others, still = model.joint_names
    pairs = ((others[0], lead, 0.5), (others[1], others[0], -0.8), (others[2], lead, 0.7), (still, still, 0.0))
    return model, [lw.Coupling(*pair) for pair in pairs]


@BOTH
def test_forces_of_couplings_know_of_friction_and_stops(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With friction until a stop is reached: then it is not determined which of the two holds the joint."""
    push = {"joint_limits": True, "integrator": integrator, "tau": [-3.0, 0.4, -0.2, 0.5, 0.3], "v": np.zeros(5)}
    for friction, duration, upper in ((0.2, 0.2, 0.4), (0.0, 0.4, 0.1), (0.0, 0.4, 0.4)):
        model, gears = geared(friction, upper)
        given = {"constraints": gears, "duration": duration, **push}
        with monkeypatch.context() as counted:
            asked = steps_of_python(counted)
            found = run(model, **given)
        assert not asked
        expected = interpreted(model, **given)
        for name in ARRAYS:
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name
        if not friction:
            assert found.q[-1, 0] == pytest.approx(min(0.3, 2.0 * upper))
    assert found.q[-1, 0] == 0.3 and abs(found.constraint_forces[-1]).max(axis=-1).min() > 0.1


def test_python_says_the_torque_of_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[float] = []

    def told(t: float, q: Any, v: Any) -> Any:
        calls.append(t)
        return law(t, q, v)

    rk = {"integrator": "runge_kutta_4"}
    held_down = {"constraints": WAYS["constraints"]["constraints"], "proximal": 1e-6}
    ways: list[dict[str, Any]] = [{}, {"hold": 3, "record": 7}, {"hold": 2, **rk}, rk, {**rk, **held_down}]
    for options in ways:
        found, count = run(arm(), torque=told, **options), len(calls)
        expected = run(arm(), torque=compiled_law(), **options)
        assert count == len(found.t) or "record" in options or options.get("integrator")
        for name in ARRAYS:
            close(getattr(found, name), getattr(expected, name), 1e-9)
        calls.clear()
    targets = {"q_target": np.tile(np.linspace(0.0, 0.3, 60)[:, None], (1, 6)), "kp": 2.0}
    targets["q_target"][:, 2:] = [0.0, 0.0, 0.0, 1.0]
    close(run(arm(), torque=told, **targets, **rk).q, run(arm(), torque=compiled_law(), **targets, **rk).q, 1e-9)
    for options in ({}, rk):
        given = {"joint_limits": True, **options}
        close(run(arm(0.3, -0.2), torque=told, **given).q, run(arm(0.3, -0.2), torque=compiled_law(), **given).q, 1e-9)


def test_laws_take_parameters_and_loads_may_be_compiled() -> None:
    spring = lw.compile(lambda t, q, v, gain, rest: gain * (rest - v), t=(), q=6, v=5, gain=(), rest=5)
    one = run(arm(), torque=spring, parameters=(2.0, np.ones(5)))
    other = run(arm(), torque=lambda t, q, v: 2.0 * (np.ones(5) - v), duration=0.3)
    close(one.q, other.q, 1e-14)
    assert np.array_equal(one.q, run(arm(), torque=spring, parameters={"rest": np.ones(5), "gain": 2.0}).q)
    lift = lw.compile(lambda t, q, v: np.ones((3, 6)) + 0.0 * t, t=(), q=6, v=5)
    close(run(arm(), f_ext=lift).q, run(arm(), f_ext=np.ones((3, 6))).q, 1e-14)


@pytest.mark.parametrize("torque", [compiled_law(), law], ids=["compiled", "function"])
@pytest.mark.parametrize("hold", [None, 3])
def test_what_code_cannot_do_python_does(torque: Any, hold: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a step with NaN results on."""
    model, given = arm(0.3, -0.2), {"torque": torque, "hold": hold, "joint_limits": True, "duration": 0.5}
    whole, go, by_step = run(model, **given), loop.run_over_time, loop.step_by_step

    def failing(plan: Any, state: Any, given: Any, into: Any, steps: int, *rest: Any) -> int:
        before = rest[2]
        status = go(plan, state, given, into, steps, *rest)
        if before <= 42 < before + steps:
            state[0][:] = np.nan
            return 2
        return status

    def each(*arguments: Any) -> Any:
        step = by_step(*arguments)
        return lambda number: 2 if number == 42 else step(number)

    monkeypatch.setattr(loop, "run_over_time", failing)
    monkeypatch.setattr(loop, "step_by_step", each)
    asked = steps_of_python(monkeypatch)
    found = run(model, **given)
    assert asked == [*range(42, 101)]
    for name in ARRAYS:
        close(getattr(found, name), getattr(whole, name), 1e-9)


@BOTH
@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_a_mechanism_of_many_bodies_is_called_by_code(
    damping: float, integrator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its dynamics is code with loops, whose armature is an argument."""
    builder, parent = lw.Builder("long"), "world"
    for k in range(55):
        hinge, place = lw.joints.Revolute("yzx"[k % 3]), lw.placement((0.2 * bool(k), 0.0, 0.0))
        solid = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
        builder.add_body(f"l{k}", parent, hinge, place, damping=damping, **solid)
        parent = f"l{k}"
    chain = builder.build()
    law = lw.compile(lambda t, q, v: lw.gravity_torques(chain, q) - v, t=(), q=55, v=55)
    given: dict[str, Any] = {"duration": 0.03, "dt": 1e-3, "integrator": integrator, "torque": law}
    v = np.random.default_rng(0).normal(size=55)
    asked = steps_of_python(monkeypatch)
    found = run(chain, v=v, **given)
    assert not asked
    expected = interpreted(chain, v=v, **{**given, "duration": 0.005})
    for name in ARRAYS[:5]:
        assert np.array_equal(getattr(found, name)[:6], getattr(expected, name)), name


@BOTH
def test_a_motion_that_blows_up_says_the_same(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    growing = lw.compile(lambda t, q, v: 1e3 * v * np.abs(v), t=(), q=6, v=5)
    options: dict[str, Any] = {"torque": growing, "duration": 3.0, "integrator": integrator, "effort_limits": False}
    with pytest.raises(lw.SimulationError) as code:
        run(arm(), **options)
    with pytest.raises(lw.SimulationError) as python:
        run(arm(), **{**options, "torque": lambda *state: growing(*state)})
    assert str(code.value) == str(python.value) and code.value.time == python.value.time
    paths = [error.value.trajectory for error in (code, python)]
    assert all(isinstance(path, lw.Trajectory) for path in paths)
    assert np.array_equal(*(path.q for path in paths if isinstance(path, lw.Trajectory)))


def test_a_joint_that_moves_no_inertia_is_named() -> None:
    builder = lw.Builder("light")
    builder.add_body("arm", joint=lw.joints.Revolute("z"), mass=1.0, com=(1, 0, 0))
    builder.add_body("tip", "arm", lw.joints.Revolute("z"))
    for torque in (None, lambda t, q, v: [0.0, 0.0]):
        with pytest.raises(lw.SingularError, match="joint 'joint_tip' can move without moving any inertia"):
            lw.simulate(builder.build(), [0.0, 0.0], [0.0, 0.0], 10.0, 0.01, torque=torque)


def test_ctrl_c_returns_what_there_is(interruptible: None, monkeypatch: pytest.MonkeyPatch) -> None:
    go = loop.run_over_time

    def interrupted(plan: Any, state: Any, given: Any, into: Any, steps: int, *rest: Any) -> int:
        if rest[2] >= 30:
            os.kill(os.getpid(), signal.SIGINT)
        return go(plan, state, given, into, steps, *rest)

    monkeypatch.setattr(loop, "run_over_time", interrupted)
    monkeypatch.setattr(loop, "_SPAN", 2e-6)  # a few steps
    path = run(arm())
    assert path.interrupted and 30 <= len(path) < 60
    monkeypatch.undo()
    assert np.array_equal(path.q, run(arm()).q[: len(path)])


def solution(M: Any, end: Any, q: Any, dt: float, joints: list[Joint]) -> tuple[Any, Any]:
    """Velocities and impulses, of all joints."""
    p, found = np.zeros(len(end)), searched(Matrix(M, [one.dof for one in joints]), joints, q, end, dt)
    p[[one.dof for one in joints]] = found[0]
    return found[1], p


def test_stops_and_friction_of_a_step_satisfy_their_law() -> None:
    """Over floats, with any masses: each joint is free, slides, sticks or is stopped as it should be."""
    model, rng = arm(0.3, -0.2), np.random.default_rng(0)
    joints, dt = resisting_joints(model, [0.3, 0.2, 0.0, 0.0, 0.0], True), 0.01
    for _ in range(50):
        A = rng.normal(size=(5, 5))
        M, end, q = A @ A.T + np.eye(5), rng.normal(size=5) * 10.0, np.clip(rng.normal(size=6), -0.2, 0.2)
        v, p = solution(M, end, q, dt, joints)
        close(M @ (v - end), p, 1e-11, scale=1.0)
        assert not p[2:].any()
        for joint, most in zip(joints, (0.3 * dt, 0.2 * dt), strict=True):
            below, above = (joint.lower - q[joint.coordinate]) / dt, (joint.upper - q[joint.coordinate]) / dt
            speed, push = v[joint.dof], p[joint.dof]
            assert below - 1e-9 <= speed <= above + 1e-9
            if below + 1e-9 < speed < above - 1e-9:
                assert abs(push) <= most + 1e-12 and (
                    abs(speed) < 1e-12 or push == pytest.approx(-np.sign(speed) * most)
                )
            else:
                assert push >= -most if speed < below + 1e-9 else push <= most


def test_guesses_do_not_go_round_in_circles() -> None:
    """The guesses for coupled joints with friction and stops would cycle if all of them always changed at once."""
    rng, n, dt = np.random.default_rng(79), 3, 0.01
    circles = 0
    for _ in range(4):
        A = rng.normal(size=(n, n)) * np.exp(rng.normal(size=n))[:, None]
        M, end, q = A @ A.T + 1e-3 * np.eye(n), 3.0 * rng.normal(size=n), np.clip(0.3 * rng.normal(size=n), -0.2, 0.2)
        joints = [Joint(i, i, -0.2, 0.2, float(0.3 * np.exp(2.0 * rng.normal()))) for i in range(n)]
        given = (M, end, q, dt, joints)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(impulses, "ALL_AT_ONCE", np.inf)
            circles += int(np.isnan(solution(*given)[0]).all())
        v, p = solution(*given)
        close(M @ (v - end), p, 1e-9, scale=1.0)
        assert (v * dt >= -0.2 - q - 1e-11).all() and (v * dt <= 0.2 - q + 1e-11).all() and (p * v <= 1e-9).all()
    assert circles == 2


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "other_model": ({"torque": lw.compile(lambda t, q, v: v, t=(), q=2, v=2)}, "compiled for another model"),
    "other_joints": (
        {"torque": lw.compile(lambda t, q, v: v, t=(), q=(lw.mechanisms.serial_chain(6), "configuration"), v=5)},
        "'q' is a configuration of 'serial_chain', whose joint .* is revolute, where joint 'joint_b' .* is prismatic",
    ),
    "missing": (
        {"torque": lw.compile(lambda t, q, v, k: k * v, t=(), q=6, v=5, k=())},
        "must be a tuple with the 1 parameter.s. of <lambda> .k.",
    ),
    "rows": (
        {"torque": lw.compile(lambda t, q, v, k: k * v, t=(), q=6, v=5, k=()), "parameters": ([1.0, 2.0],)},
        r"parameters\['k'\] must be finite numbers in its own shape",
    ),
    "alone": ({"parameters": (1.0,)}, "parameters needs what takes them"),
    "load": ({"f_ext": lw.compile(lambda t, q, v: v, t=(), q=6, v=5)}, r"must return an array of shape \(3, 6\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_law_is_named(case: str) -> None:
    changes, message = BAD[case]
    with pytest.raises(lw.ArgumentError, match=message):
        run(arm(), **changes)


@BOTH
def test_code_asks_python_itself(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function may keep its arguments, return the same array repeatedly, or anything that converts to numbers."""
    steps = steps_of_python(monkeypatch)
    kept: list[Any] = []
    again = np.empty(5)

    def reused(t: float, q: Any, v: Any) -> Any:
        kept.append((t, q, q.copy(), v, v.copy()))
        again[:] = law(t, q, v)
        return again

    def weakly(t: float, q: Any, v: Any) -> Any:
        seen.append((weakref.ref(v), v.copy()))
        assert all(np.array_equal(one(), then) for one, then in seen if one() is not None)
        return law(t, q, v)

    seen: list[Any] = []
    ways: list[Any] = [
        law,
        reused,
        lambda t, q, v: law(t, q, v).tolist(),
        lambda t, q, v: np.repeat(law(t, q, v), 2)[::2],
        weakly,
    ]
    found = [run(arm(), torque=way, integrator=integrator, duration=0.05) for way in ways]
    assert not steps or integrator == "runge_kutta_4"
    for name in ARRAYS:
        for other in found[1:]:
            assert np.array_equal(getattr(found[0], name), getattr(other, name)), name
    assert len(kept) == (11 if integrator == "semi_implicit_euler" else 41)
    for t, q, q_then, v, v_then in kept:
        assert type(t) is float and not q.flags.writeable and not v.flags.writeable
        assert np.array_equal(q, q_then) and np.array_equal(v, v_then)
    short = run(arm(), torque=lambda t, q, v: law(t, q, v).astype(np.float32), integrator=integrator, duration=0.05)
    close(short.q, found[0].q, 1e-6)


@BOTH
def test_what_python_says_wrongly_is_said(integrator: str) -> None:
    def late(value: Any) -> Any:
        def torque(t: float, q: Any, v: Any) -> Any:
            if t < 0.021:
                return law(t, q, v)
            return value() if callable(value) else value

        return torque

    def broken() -> None:
        raise RuntimeError("no torque today")

    given = {"integrator": integrator, "duration": 0.05}
    with pytest.raises(RuntimeError, match="no torque today") as caught:
        run(arm(), torque=late(broken), **given)
    assert [entry.name for entry in caught.traceback][-2:] == ["torque", "broken"]
    for wrong, words in ((np.zeros(4), "shape"), (None, "torque"), ("push", "torque"), (np.full(5, np.nan), "finite")):
        with pytest.raises(lw.errors.SimulationError, match=words) as stopped:
            run(arm(), torque=late(wrong), **given)
        assert len(stopped.value.trajectory) == 5
    with pytest.raises(TypeError, match="argument"):
        run(arm(), torque=lambda t, q: q, **given)


def test_a_load_that_varies_with_time_does_so_beside_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    lift = lw.compile(lambda t, q, v: np.ones((3, 6)) * np.sin(9.0 * t), t=(), q=6, v=5)
    given: dict[str, Any] = {"torque": law, "f_ext": lift, "duration": 0.1}
    expected = run(arm(), **{**given, "torque": compiled_law()})
    close(run(arm(), **given).q, expected.q, 1e-12)


def test_simulations_inside_each_other_keep_their_own_steps() -> None:
    rk: dict[str, Any] = {"integrator": "runge_kutta_4", "torque": law}
    alone = run(arm(), dt=0.01, duration=0.05, **rk).q

    def torque(t: float, q: Any, v: Any) -> Any:
        inside.append(run(arm(), dt=0.01, duration=0.05, **rk).q)
        return law(t, q, v)

    inside: list[Any] = []
    outer = run(arm(), dt=0.005, duration=0.01, integrator="runge_kutta_4", torque=torque).q
    assert np.array_equal(outer, run(arm(), dt=0.005, duration=0.01, **rk).q)
    assert len(inside) == 9 and all(np.array_equal(q, alone) for q in inside)
