"""Rollouts with laws and costs inside the time loop, policies, constraints, loads and stops."""

from __future__ import annotations

import multiprocessing
import pickle
from collections import UserList
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.arguments import Array
from linkwork.simulation import step_arguments
from programs import bits
from strategies import close
from test_constraints import four_bar

ARM = lw.mechanisms.double_pendulum()
RNG = np.random.default_rng(3)
Q, V = RNG.normal(size=(5, 2)), RNG.normal(size=(5, 2))
START: dict[str, Any] = {"model": ARM, "q": Q, "v": V, "dt": 0.01}


def spring(t: Any, q: Any, v: Any, target: Any, gain: Any) -> Any:
    return gain * (target - q) - 2.0 * v + 0.1 * np.sin(t)


def price(t: Any, q: Any, v: Any, tau: Any, weight: Any) -> Any:
    return weight * (q @ q) + 0.01 * (tau @ tau) + t


@cache
def law() -> lw.CompiledFunction:
    return lw.compile(spring, t=(), q=2, v=2, target=2, gain=())


@cache
def cost() -> lw.CompiledFunction:
    return lw.compile(price, t=(), q=2, v=2, tau=2, weight=())


def stepped(law_at: Any, steps: int, **more: Any) -> lw.Rollout:
    """The same, by one rollout per step, with the forces of a function of the step, q and v."""
    q, v, qs, vs = Q, V, [Q], [V]
    for k in range(steps):
        tau = law_at(k, q, v)
        _, q_, v_ = lw.rollout(ARM, q, v, tau[..., None, :], dt=0.01, steps=1, **more)
        q, v = q_[:, -1], v_[:, -1]
        qs.append(q)
        vs.append(v)
    return lw.Rollout(np.arange(steps + 1) * 0.01, np.stack(qs, axis=1), np.stack(vs, axis=1))


def assert_same(a: lw.Rollout, b: lw.Rollout) -> None:
    for one, other in zip(a, b, strict=True):
        assert np.array_equal(bits(one), bits(other))
    if a.cost is not None and b.cost is not None:
        assert np.array_equal(bits(a.cost), bits(b.cost))


@pytest.mark.parametrize("rows", [(), (1, 1), (6,), (5, 1), (5, 6)], ids=["all", "one", "step", "trajectory", "each"])
def test_a_law_takes_parameters_for_all_for_each_trajectory_or_for_each_step(rows: tuple[int, ...]) -> None:
    target = np.random.default_rng(0).normal(size=(*rows, 2))
    drag: dict[str, Any] = {"damping": 0.1, "friction": 0.2, "effort_limits": [3.0, np.inf]}
    found = lw.rollout(**START, steps=6, torque=law(), parameters=(target, 5.0), **drag)
    every = np.broadcast_to(target if rows != (6,) else target[None], (5, 6, 2))
    assert_same(found, stepped(lambda k, q, v: law()(k * 0.01, q, v, every[:, k], 5.0), 6, **drag))
    assert_same(found, lw.rollout(**START, steps=6, torque=law(), parameters={"gain": 5.0, "target": target}, **drag))


def test_a_law_adds_to_what_else_drives() -> None:
    tau = np.random.default_rng(0).normal(size=(4, 2))
    both = lw.rollout(**START, tau=tau, torque=law(), parameters=([0.1, 0.2], 5.0), q_target=[0.3, 0.0], kp=2.0)
    alone = lw.compile(lambda t, q, v, tau: tau + spring(t, q, v, np.array([0.1, 0.2]), 5.0), t=(), q=2, v=2, tau=2)
    other = lw.rollout(**START, torque=alone, parameters=(tau,), q_target=[0.3, 0.0], kp=2.0)
    close(both.q, other.q, 1e-13)


def test_costs_are_summed_over_the_steps_and_no_state_is_kept() -> None:
    given: dict[str, Any] = {"torque": law(), "parameters": ([0.1, 0.2], 5.0), "effort_limits": 1.0, "steps": 7}
    path = lw.rollout(**START, **given)
    priced = lw.rollout(**START, **given, cost=cost(), cost_parameters=(np.arange(5.0)[:, None],), record=0)
    assert priced.t.shape == (0,) and priced.q.shape == (5, 0, 2) and priced.v.shape == (5, 0, 2)
    expected = np.zeros(5)
    for k in range(7):
        tau = np.clip(law()(0.01 * k, path.q[:, k], path.v[:, k], [0.1, 0.2], 5.0), -1.0, 1.0)
        expected += cost()(0.01 * k, path.q[:, k], path.v[:, k], tau, np.arange(5.0))
    assert priced.cost is not None
    close(priced.cost, expected, 1e-14)
    kept = lw.rollout(**START, **given, cost=cost(), cost_parameters=(np.arange(5.0)[:, None],), record=3)
    assert_same(lw.Rollout(*kept), lw.Rollout(path.t[[0, 3, 6, 7]], path.q[:, [0, 3, 6, 7]], path.v[:, [0, 3, 6, 7]]))
    assert kept.cost is not None and np.array_equal(bits(kept.cost), bits(priced.cost))
    alone = lw.rollout(ARM, Q[2], V[2], dt=0.01, **given, cost=cost(), cost_parameters=(2.0,), record=0)
    assert alone.cost is not None and alone.cost.shape == () and bits(alone.cost) == bits(priced.cost[2])


@pytest.mark.usefixtures("worth_threads")
def test_forms_threads_and_processes_give_the_same_bits() -> None:
    given: dict[str, Any] = {
        **START, "torque": law(), "parameters": (np.zeros((5, 1, 2)), 5.0), "cost": cost(), "cost_parameters": (1.0,),
        "steps": 6, "record": 4, "joint_limits": True, "f_ext": np.ones((2, 6)),
    }  # fmt: skip
    found = lw.rollout(**given)
    with lw.interpreted():
        assert_same(found, lw.rollout(**given))
    lw.set_threads(2)
    try:
        assert_same(found, lw.rollout(**given))
    finally:
        lw.set_threads(None)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert_same(found, lw.rollout(**given, executor=pool, chunk=2))
    again = lw.rollout(**given, out=found)
    assert again is found and again.cost is not None
    copy = pickle.loads(pickle.dumps(found))
    assert_same(copy, found)
    close(copy.trajectory(2).tau, found.trajectory(2).tau, 1e-15)


def test_a_plain_function_is_compiled() -> None:
    def weight(t: Any, q: Any, v: Any) -> Any:
        return lw.gravity_torques(ARM, q)

    held = lw.rollout(ARM, Q, 0.0 * V, torque=weight, dt=0.01, steps=20)
    assert abs(held.q - Q[:, None]).max() < 1e-12


def test_a_policy_is_asked_for_the_whole_batch_every_few_steps() -> None:
    asked = []

    def policy(t: float, q: Array, v: Array) -> Array:
        asked.append((t, q.shape))
        return -3.0 * q

    held = lw.rollout(
        **START, policy=policy, hold=4, steps=10, record=3, damping=0.3, cost=cost(), cost_parameters=(0,)
    )
    assert [t for t, _ in asked] == pytest.approx([0.0, 0.04, 0.08]) and asked[0][1] == (5, 2)
    first: Array = np.zeros(0)

    def said(k: int, q: Array, v: Array) -> Array:
        nonlocal first
        first = -3.0 * q if k % 4 == 0 else first
        return first

    by_step = stepped(said, 10, damping=0.3)
    keep = [0, 3, 6, 9, 10]
    assert np.array_equal(held.q, by_step.q[:, keep]) and np.array_equal(held.v, by_step.v[:, keep])
    path = held.trajectory(1)
    close(path.tau, [-3.0 * by_step.q[1, k] for k in (0, 0, 4, 8, 8)], 1e-14)
    assert held.cost is not None and (held.cost > 0.0).all()


def test_loads_act_on_bodies() -> None:
    box = lw.mechanisms.free_box(mass=2.0)
    lift = np.zeros((2, 1, 1, 6))
    lift[:, 0, 0, 2] = 2.0 * 9.81, 2.0 * 9.81 + 4.0
    found = lw.rollout(box, lw.neutral(box), np.zeros(6), f_ext=lift, dt=0.1, steps=10)
    close(found.v[:, -1, 2], [0.0, 2.0], 1e-13)
    assert found.trajectory(1).a[0, 2] == pytest.approx(2.0)


def test_constraints_hold_as_they_do_in_a_simulation() -> None:
    model, loop, q = four_bar()
    push = lw.compile(lambda t, q, v: np.stack([1.0 + 0.0 * t, -0.5 * v[1], 0.0]), t=(), q=3, v=3)
    options: dict[str, Any] = {"constraints": loop, "proximal": 1e-6}
    found = lw.rollout(model, q, np.zeros(3), dt=2e-3, steps=50, torque=push, damping=True, **options)
    path = lw.simulate(model, q, np.zeros(3), 0.1, 2e-3, torque=lambda t, q, v: [1.0, -0.5 * v[1], 0.0], **options)
    close(found.q, path.q, 1e-10)
    close(found.trajectory().constraint_forces, path.constraint_forces, 1e-6)
    with pytest.raises(lw.SimulationError, match="of which only 2 are independent"):
        lw.rollout(model, q, np.zeros(3), dt=2e-3, steps=5, constraints=loop)


def test_a_loop_with_redundant_conditions_is_rolled_out_and_linearised() -> None:
    """A planar linkage in an oblique plane, closed by a hinge: five constraint rows, of which two are independent up to
    rounding. The same motion with these two alone.
    """
    builder = lw.Builder()
    plane = lw.placement(rpy=(0.3, 0.5, 0.2))
    last, place = "world", plane
    for k in range(3):
        joint, solid = lw.joints.Revolute("y"), {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.1, 0.1, 0.1)}
        last, place = builder.add_body(f"bar{k}", last, joint, place, **solid), lw.placement((1, 0, 0))
    builder.add_frame("end", last, place)
    builder.add_frame("post", "world", np.array(plane) @ np.array(lw.placement((1.2, 0.0, 0.1))))
    model = builder.build()
    hinge = lw.Hinge("end", "post", axis="y")
    q = lw.close_loops(model, [-0.9, 1.3, 1.2], hinge)
    planes = [lw.PointOnPlane("end", "post", normal=axis) for axis in "xz"]
    v = lw.impact(model, q, [1.0, 0.0, 0.0], planes)[0]
    with lw.interpreted():
        found = lw.rollout(model, q, v, dt=2e-3, steps=20, constraints=hinge, proximal=1e-6)
        wanted = lw.rollout(model, q, v, dt=2e-3, steps=20, constraints=planes)
        close(found.q, wanted.q, 1e-10)
        one = lw.linearise(model, q, v, dt=2e-3, constraints=hinge, proximal=1e-6)
        two = lw.linearise(model, q, v, dt=2e-3, constraints=planes)
        close(one.A, two.A, 1e-8)
        close(one.B, two.B, 1e-8)


@cache
def fenced() -> lw.Model:
    """Joints with limits on one side, on both, or none, one of them in a branch."""
    builder = lw.Builder("fenced")
    turn, solid = lw.joints.Revolute("y"), {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.1, 0.1, 0.1)}
    builder.add_body("a", joint=turn, lower=-0.5, upper=0.7, damping=0.1, **solid)
    builder.add_body("b", "a", turn, lw.placement((1, 0, 0)), upper=0.3, **solid)
    builder.add_body("c", "b", lw.joints.Prismatic("x"), lw.placement((1, 0, 0)), lower=-0.2, upper=0.2, **solid)
    builder.add_body("d", "a", lw.joints.Spherical(), lw.placement((0.5, 0, 0)), **solid)
    return builder.build()


def test_joints_stop_at_their_limits_as_in_a_simulation() -> None:
    model = fenced()
    q, v = lw.neutral(model), np.array([3.0, -4.0, 1.0, 0.2, 0.3, 0.4])
    found = lw.rollout(model, q, v, dt=2e-3, steps=1000, joint_limits=True)
    path = lw.simulate(model, q, v, 2.0, 2e-3, joint_limits=True)
    close(found.q, path.q, 1e-10)
    assert (found.q[:, :3] >= [-0.5, -np.inf, -0.2]).all() and (found.q[:, :3] <= [0.7, 0.3, 0.2]).all()
    assert (abs(found.q[:, 0] - 0.7) < 1e-12).any()


@pytest.mark.parametrize("record", [1, 10])
def test_what_a_policy_loses_is_explained(record: int) -> None:
    given: dict[str, Any] = {**START, "steps": 40, "hold": 3, "record": record}
    with pytest.raises(
        lw.SimulationError, match=r"step 7 \(.*what policy\(t, q, v\) returns at t = 0.06 s is not finite"
    ):
        lw.rollout(**given, policy=lambda t, q, v: np.where(t > 0.05, np.nan, v))
    with pytest.raises(
        lw.SimulationError, match=r"trajectory \[0\] .* in step 3 .*: joint .* was the fastest one step"
    ):
        lw.rollout(**given, policy=lambda t, q, v: 1e9 * v)


def test_states_at_stops_and_away_from_them_share_a_tile() -> None:
    """Those that nothing holds have the same bits as alone, and as without stops; gradients are of either kind."""
    model = fenced()
    q, v = np.tile(lw.neutral(model), (5, 1)), 0.1 * np.ones((5, 6))
    q[1, 0], v[1, 0], q[3, 1], v[3, 1] = 0.69, 9.0, 0.3, 2.0
    given: dict[str, Any] = {"dt": 2e-3, "steps": 3, "joint_limits": True}
    found = lw.rollout(model, q, v, **given)
    assert found.q[1, 2, 0] == 0.7 and found.q[3, 1, 1] == 0.3
    free = lw.rollout(model, q, v, dt=2e-3, steps=3)
    for k in range(5):
        assert_same(lw.rollout(model, q[k], v[k], **given), lw.Rollout(found.t, found.q[k], found.v[k]))
        assert np.array_equal(found.v[k], free.v[k]) == (k not in (1, 3))
    weights, h = np.zeros((5, 4, 6)), 1e-6
    weights[:, -1] = np.arange(1.0, 7.0)
    gradient = found.pullback(v=weights).v
    for k in range(6):
        up, down = (lw.rollout(model, q, v + sign * h * np.eye(6)[k], **given).v[:, -1] for sign in (1, -1))
        close(gradient[:, k], (up - down) @ np.arange(1.0, 7.0) / (2.0 * h), 1e-6, scale=1.0)


def test_joints_of_a_loop_stop_at_their_limits_as_in_a_simulation() -> None:
    """The crank of a four-bar linkage is driven one way, where the rocker stops first, and the other."""
    model, loop, q = four_bar()
    ends = {0: (q[0] - 0.2, q[0] + 0.3), 2: (q[2] - 1.0, q[2] + 0.05)}
    bodies = list(model.bodies)
    for k, (low, high) in ends.items():
        limits = replace(bodies[k].limits, lower=(float(low),), upper=(float(high),))
        bodies[k] = replace(bodies[k], limits=limits)
    model = replace(model, bodies=tuple(bodies))
    given: dict[str, Any] = {"constraints": loop, "proximal": 1e-8, "joint_limits": True}
    tau = np.zeros((2, 60, 3))
    tau[0, :, 0], tau[1, :, 0] = 9.0, -9.0
    many = lw.rollout(model, q, np.zeros(3), tau, dt=5e-3, **given)
    for k, joint, end in ((0, 2, ends[2][1]), (1, 0, ends[0][0])):
        one = lw.simulate(model, q, np.zeros(3), 0.3, 5e-3, tau=tau[k], **given)
        close(many.q[k], one.q, 1e-10)
        close(many.v[k], one.v, 1e-9)
        close(many.trajectory(k).constraint_forces[:-1], one.constraint_forces[:-1], 1e-6)
        assert many.q[k, -1, joint] == end and (many.q[k, 1:, joint] != end).any()
        assert abs(lw.forward_kinematics(model, many.q[k], ["end"])[:, 0, :3, 3] - [0.9, 0.0, 0.0]).max() < 1e-3
    with lw.interpreted():
        assert lw.rollout(model, q, np.zeros(3), tau[1], dt=5e-3, **given).q.tobytes() == many.q[1].tobytes()


def test_a_trajectory_of_a_rollout_is_that_of_a_simulation() -> None:
    tau = np.random.default_rng(0).normal(size=(20, 2))
    many = lw.rollout(**START, tau=tau, steps=20, record=6)
    one = lw.simulate(ARM, Q[3], V[3], 0.2, 0.01, tau=tau, record=6)
    path = many.trajectory(3)
    assert isinstance(path, lw.Trajectory) and path.model is ARM
    for name in ("t", "q", "v", "a", "tau", "constraint_forces"):
        close(getattr(path, name), getattr(one, name), 1e-11)
    grid = lw.rollout(ARM, Q[:4].reshape(2, 2, 2), [0.0, 0.0], dt=0.01, steps=3)
    close(grid.trajectory((1, -1)).q, grid.q[1, 1], 1e-15)


def test_long_chains_ask_the_law_in_every_step() -> None:
    chain = lw.mechanisms.serial_chain(60)
    q, v = lw.random_state(chain, 0, shape=3)
    target = np.random.default_rng(0).normal(size=(3, 1, 60))

    def pull(t: Any, q: Any, v: Any, target: Any) -> Any:
        return target - q - v

    one = lw.compile(pull, t=(), q=60, v=60, target=60)
    spent = lw.compile(lambda t, q, v, tau: tau @ tau, t=(), q=60, v=60, tau=60)
    given: dict[str, Any] = {"dt": 1e-3, "steps": 4, "damping": 0.5}
    found = lw.rollout(chain, q, v, torque=one, parameters=(target,), cost=spent, **given)
    pd = lw.rollout(chain, q, v, q_target=target, kp=1.0, kd=1.0, **given)
    close(found.q, pd.q, 1e-13)
    expected = sum((one(0.0, pd.q[:, k], pd.v[:, k], target[:, 0]) ** 2).sum(axis=-1) for k in range(4))
    assert found.cost is not None
    close(found.cost, expected, 1e-12)


OTHER = lw.mechanisms.serial_chain(3)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "ambiguous": ({"tau": np.zeros((5, 2)), "steps": None}, r"as many as there are trajectories.*tau\[:, None\]"),
    "law": ({"torque": 3.0}, "torque must be a function of .t, q, v, .... made by lw.compile, not 3.0"),
    "other_model": (
        {"torque": lw.compile(lambda t, q, v: v, t=(), q=3, v=3)},
        r"'q', for q, has shape \(3,\), but .* nq = 2 .* compiled for another model",
    ),
    "few_arguments": ({"torque": lw.compile(lambda q, v: v, q=2, v=2)}, r"must take \(t, q, v, ...\), but takes"),
    "result": ({"torque": lw.compile(lambda t, q, v: t, t=(), q=2, v=2)}, r"must return an array of shape \(2,\)"),
    "nested": ({"torque": lw.compile(lambda t, q, v: (-q,), t=(), q=2, v=2)}, r"but its result .* in a tuple, list or"),
    "controller": (
        {"torque": lw.control.PDPlusGravity(lw.mechanisms.double_pendulum(), [0.0, 0.0])},
        r"of a controller pass its function, controller\.torque",
    ),
    "nested_cost": ({"cost": lambda t, q, v, tau: {"price": q @ q}}, "one number, but its result .* in a tuple, list"),
    "cost_result": ({"cost": lw.compile(lambda t, q, v, tau: v, t=(), q=2, v=2, tau=2)}, "must return one number"),
    "parameters_of_plain": ({"torque": spring}, r"takes \(t, q, v, target, gain\).*lw.compile\(spring, t=\(\), q=2"),
    "no_parameters": ({"torque": law()}, "must be a tuple with the 2 parameter.s. of spring .target, gain., .*not 0"),
    "parameter_count": ({"torque": law(), "parameters": ([0.0, 0.0],)}, "not 1"),
    "parameter_name": ({"torque": law(), "parameters": {"goal": 1.0}}, "spring has no parameter 'goal'"),
    "parameter_missing": ({"torque": law(), "parameters": {"gain": 1.0}}, "'target' of spring is missing"),
    "parameter_shape": ({"torque": law(), "parameters": ([0.0], 1.0)}, r"parameters\['target'\] must have shape"),
    "parameter_rows": (
        {"torque": law(), "parameters": (np.zeros((4, 2)), 1.0)},
        r"parameters\['target'\] has 4 rows over time for 3 steps",
    ),
    "parameter_finite": ({"torque": law(), "parameters": ([0.0, np.nan], 1.0)}, r"parameters\['target'\] must be fin"),
    "parameters_alone": ({"parameters": (1.0,)}, "parameters needs what takes them"),
    "record": ({"record": 0}, "record must be an integer of 1 or more"),
    "out": (
        {"cost": cost(), "cost_parameters": (1.0,), "record": 0, "out": lw.rollout(**START, steps=3)},
        "out must be an lw.Rollout of",
    ),
    "policy": ({"policy": 3}, "policy must be a function of .t, q, v."),
    "policy_shape": ({"policy": lambda t, q, v: np.zeros((3, 2))}, r"must return joint forces of shape \(5, 2\)"),
    "policy_and_law": ({"policy": lambda t, q, v: v, "torque": law()}, "exclude each other"),
    "hold_alone": ({"hold": 2}, "hold is for a policy"),
    "limits": ({"joint_limits": 1.0}, "joint_limits must be True or False"),
    "loads": ({"f_ext": np.zeros((1, 6))}, "f_ext must have shape"),
    "load_nan": ({"f_ext": np.full((2, 6), np.nan)}, r"f_ext\[0, 0\] \(body 'body1'\) is nan"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_is_named(case: str) -> None:
    changes, message = BAD[case]
    with pytest.raises(lw.ArgumentError, match=message):
        lw.rollout(**{**START, "steps": 3, **changes})


def test_constraints_of_a_mechanism_of_many_bodies_hold() -> None:
    model, v, rng = lw.mechanisms.serial_chain(51), np.zeros(51), np.random.default_rng(0)
    q = 0.1 * rng.normal(size=51)
    q[0] = 2.0 * q[1]
    place = lw.forward_kinematics(model, q, ["tip"])[0]
    held = [lw.Coupling(model.joint_names[0], model.joint_names[1], 2.0, 0.0), lw.Ball("tip", placement=place)]
    push = lw.compile(lambda t, q, v: 0.1 * np.cos(t) - q, t=(), q=51, v=51)
    price = lw.compile(lambda t, q, v, tau: tau @ tau + t, t=(), q=51, v=51, tau=51)
    given: dict[str, Any] = {"torque": push, "constraints": held, "friction": False}
    with pytest.raises(lw.SimulationError, match=r"step 1 .*only 3 are independent"):  # in a plane
        lw.rollout(model, q, v, dt=5e-3, steps=3, cost=price, **given)
    given["proximal"] = 1e-6
    found = lw.rollout(model, np.stack([q, q]), v, dt=5e-3, steps=4, cost=price, **given)
    alone = lw.simulate(model, q, v, 2e-2, 5e-3, **given)
    assert np.array_equal(found.q[0], found.q[1]) and abs(alone.q[-1] - q).max() > 1e-4
    close(found.q[1], alone.q, 1e-12)
    close(found.v[1], alone.v, 1e-10)
    path = found.trajectory(1)
    close(path.tau[:-1], alone.tau[:-1], 1e-12)
    close(path.constraint_forces[:-1], alone.constraint_forces[:-1], 1e-8)
    close(found.cost, [(alone.tau[:-1] ** 2).sum() + alone.t[:-1].sum()] * 2, 1e-12)
    twice = lw.rollout(model, q, v, dt=5e-3, steps=3, **given, record=2)
    assert np.array_equal(twice.q, found.q[0, [0, 2, 3]])
    given = {"dt": 1e-3, "steps": 2, "constraints": held[:1], "friction": 0.1, "damping": 0.2}
    speeds = np.zeros((2, 51))
    speeds[:, 3] = 0.5, 1.0  # friction adds to rotors, to those of each trajectory by its speeds
    both = lw.rollout(model, q, speeds, **given)
    close(both.v[1], lw.rollout(model, q, speeds[1], **given).v, 1e-14)
    assert abs(both.v[1] - both.v[0]).max() > 0.1


def test_nothing_to_do_is_done() -> None:
    given: dict[str, Any] = {
        "torque": law(),
        "parameters": ([0.1, 0.2], 5.0),
        "cost": cost(),
        "cost_parameters": (1.0,),
    }
    none = lw.rollout(**START, **given, steps=0, record=0)
    assert none.cost is not None and none.cost.tolist() == [0.0] * 5
    assert lw.rollout(**{**START, "q": np.zeros((0, 2)), "v": [0.0, 0.0]}, **given, steps=3).q.shape == (0, 4, 2)
    builder = lw.Builder("stone")
    builder.add_body("stone", joint=lw.joints.Fixed(), mass=1.0)
    timed = lw.compile(lambda t, q, v, tau: t, t=(), q=0, v=0, tau=0)
    still = lw.compile(lambda t, q, v: v, t=(), q=0, v=0)
    waited = lw.rollout(builder.build(), np.zeros((2, 0)), [], torque=still, cost=timed, dt=0.1, steps=4, record=0)
    assert waited.cost is not None
    close(waited.cost, [0.6, 0.6], 1e-15)


def test_a_start_beyond_a_limit_is_refused() -> None:
    with pytest.raises(lw.ArgumentError, match=r"q of joint 'joint_b' is 0[.]5, outside its limits -inf to 0[.]3"):
        q = lw.neutral(fenced())
        q[1] = 0.5
        lw.rollout(fenced(), q, np.zeros(6), dt=0.01, steps=1, joint_limits=True)


def test_a_joint_that_moves_no_inertia_is_named() -> None:
    builder = lw.Builder("light")
    builder.add_body("arm", joint=lw.joints.Revolute("z"), mass=1.0, com=(1, 0, 0))
    builder.add_body("tip", "arm", lw.joints.Revolute("z"))
    still = lw.compile(lambda t, q, v: 0.0 * v, t=(), q=2, v=2)
    with pytest.raises(lw.SingularError, match="joint 'joint_tip' can move without moving any inertia"):
        lw.rollout(builder.build(), [0.0, 0.0], [0.0, 0.0], dt=0.01, steps=3, torque=still)


def test_a_law_that_has_no_number_is_named_with_its_time() -> None:
    root = lw.compile(lambda t, q, v: np.sqrt(0.045 - t) * np.ones(2), t=(), q=2, v=2)
    with pytest.raises(lw.SimulationError, match=r"in step 6 .t = 0[.]06 s.*the law in torque has no finite") as caught:
        lw.rollout(**START, steps=10, torque=root, record=10)
    assert isinstance(caught.value.trajectory, lw.Rollout)
    lost = lw.rollout(**START, steps=10, torque=root, diverged="nan")
    assert np.isfinite(lost.q[:, :6]).all() and np.isnan(lost.q[:, 6:]).all()
    dear = lw.compile(lambda t, q, v, tau: np.sqrt(0.045 - t), t=(), q=2, v=2, tau=2)
    with pytest.raises(lw.SimulationError, match=r"the cost of trajectory \[0\] is not finite"):
        lw.rollout(**START, steps=10, cost=dear)
    some = lw.rollout(**START, steps=10, policy=lambda t, q, v: np.where(q > 0.5, np.nan, 0.0), diverged="nan")
    gone = np.isnan(some.q[:, -1]).any(axis=-1)
    assert gone.tolist() == [bool((each > 0.5).any()) or bool(np.isnan(each).any()) for each in some.q]
    assert gone.any()


def test_a_call_that_differs_in_numbers_only_is_not_checked_as_a_whole_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """And has the results of a first call, its errors, and its gradients."""
    rng, joints = np.random.default_rng(5), ("joint1", "joint2")
    law = lw.compile(lambda t, q, v, gain: -gain * q, t=(), q=2, v=2, gain=2)
    weight = lw.compile(lambda t, q, v, tau, w: w * (q @ q), t=(), q=2, v=2, tau=2, w=())

    def arm() -> lw.Model:
        builder, parent = lw.Builder("arm"), "world"
        for k, name in enumerate(joints):
            builder.add_body(f"l{k}", parent, lw.joints.Revolute("y"), mass=1.0, com=(0.2, 0.0, 0.1), joint_name=name)
            parent = f"l{k}"
        return builder.build()

    model, gears = arm(), [lw.Coupling("joint2", "joint1", 0.5)]
    whole = step_arguments._options
    for more in ({}, {"q_target": True, "kp": 3.0, "kd": 0.1}, {"constraints": gears}):
        seen: list[int] = []
        monkeypatch.setattr(step_arguments, "_options", lambda *a, seen=seen, **k: seen.append(1) or whole(*a, **k))
        for _ in range(3):
            q, v, tau = rng.normal(size=(3, 4, 2))
            q[:, 1] = 0.5 * q[:, 0]
            given: dict[str, Any] = {
                "torque": law, "parameters": (rng.normal(size=(4, 1, 2)),), "cost": weight,
                "cost_parameters": (rng.normal(size=6),), "dt": 0.01, "steps": 6, **more,
            }  # fmt: skip
            if "q_target" in more:
                given["q_target"] = rng.normal(size=(6, 2))
            found = lw.rollout(model, q, v, tau[:, None], **given)
            count = len(seen)
            first = lw.rollout(arm(), q, v, tau[:, None], **given)
            assert len(seen) == count + 1
            del seen[count:]
            for one, other in zip((*found, found.cost), (*first, first.cost), strict=True):
                assert np.array_equal(one, other)
            gradients = [run.pullback(q=np.ones((4, 7, 2))) for run in (found, first)]
            assert np.array_equal(gradients[0].q, gradients[1].q)
        assert seen == ([] if "kp" in more else [1])  # what drives is no option
        ((kept, _),) = list(model._memo.derived[step_arguments.options_of].values())[-1:]
        assert all(array.size <= 2 for array in kept.parts.values())
        assert len(pickle.dumps(found._job)) < 100_000  # no code
        q[2, 1] = np.nan
        with pytest.raises(lw.ArgumentError, match=r"q\[2, 1\] .*is nan"):
            lw.rollout(model, q, v, tau[:, None], **given)
        tau[1, 0], q[2, 1] = np.inf, 0.5 * q[2, 0]
        with pytest.raises(lw.ArgumentError, match=r"tau\[1, 0, 0\] .*is inf"):
            lw.rollout(model, q, v, tau[:, None], **given)


@pytest.mark.parametrize(
    ("q", "v", "tau"),
    [((), (), ()), ((), (3,), ()), ((1,), (), (3, 1)), ((3,), (3,), (5,)), ((2, 3), (3,), (2, 1, 5)), ((0,), (), ())],
)
def test_calls_again_with_arrays_that_are_broadcast(q: Any, v: Any, tau: Any) -> None:
    rng = np.random.default_rng(6)
    model = lw.mechanisms.serial_chain(2)
    for _ in range(3):
        given = [rng.normal(size=(*shape, 2)) for shape in (q, v, tau)]
        found = lw.rollout(model, *given, dt=0.01, steps=5)
        first = lw.rollout(lw.mechanisms.serial_chain(2), *given, dt=0.01, steps=5)
        assert found.q.shape == first.q.shape and all(map(np.array_equal, found, first))


def test_a_function_that_is_compiled_in_each_call_is_compiled_in_each_call() -> None:
    gain, model, q = [1.0], lw.mechanisms.pendulum(), np.array([0.3])

    def law(t: Any, q: Any, v: Any) -> Any:
        return -gain[0] * q

    weak = [lw.rollout(model, q, 0.0 * q, torque=law, dt=0.01, steps=5).q for _ in range(2)]
    gain[0] = 50.0
    strong = lw.rollout(model, q, 0.0 * q, torque=law, dt=0.01, steps=5).q
    assert np.array_equal(*weak) and abs(strong[-1] - weak[0][-1]) > 1e-3


def test_other_sequences_of_constraints_may_change_between_calls() -> None:
    model = lw.mechanisms.serial_chain(3)
    q, v = np.array([[0.3, 0.5, -0.4], [0.5, -0.3, 0.2]])
    planes = [lw.PointOnPlane.at(model, q, frame, normal="x") for frame in ("tip", model.body_names[1])]
    held: UserList[Any] = UserList(planes[:1])
    found = []
    for plane in planes:
        held[0] = plane
        found.append(lw.rollout(model, q, v, dt=1e-3, steps=20, constraints=held).q)
        assert np.array_equal(found[-1], lw.rollout(model, q, v, dt=1e-3, steps=20, constraints=[plane]).q)
    assert not np.array_equal(*found)


def test_joints_without_effort_are_named_in_each_call_at_its_own_line() -> None:
    builder = lw.Builder("idle")
    builder.add_body("bob", joint=lw.joints.Revolute("y"), mass=1.0, com=(0.0, 0.0, -1.0), effort=0.0)
    model, zero = builder.build(), np.zeros(1)
    for _ in range(3):
        for function in (lw.rollout, lw.linearise):
            with pytest.warns(lw.LinkworkWarning, match="effort limit of 0 for 'joint_bob'") as said:
                function(model, zero, zero, zero, dt=1e-3, **({"steps": 3} if function is lw.rollout else {}))
            assert [each.filename for each in said] == [__file__]
