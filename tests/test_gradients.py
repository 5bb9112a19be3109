"""Derivatives through time: linearised steps, and losses propagated backward through rollouts, against differences."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import linearising
from linkwork.inside import costs, evaluate
from linkwork.simulation.rollouts import gradients
from programs import evaluated, task_of
from strategies import Array, close

CHAIN = lw.mechanisms.serial_chain(3)
LAW = lw.compile(lambda t, q, v, g: -g * v - 0.5 * q, t=(), q=3, v=3, g=3)
COST = lw.compile(lambda t, q, v, tau, w: w * (q @ q) + 0.1 * (tau @ tau) + v @ v, t=(), q=3, v=3, tau=3, w=())


def mixed() -> lw.Model:
    builder = lw.Builder("mixed")
    solid = {"mass": 1.0, "inertia": (0.1, 0.2, 0.15), "com": (0.1, 0.0, 0.05)}
    builder.add_body("base", joint=lw.joints.Free(), **solid)
    builder.add_body("ball", "base", lw.joints.Spherical(), lw.placement((0.3, 0, 0)), **solid)
    builder.add_body("cross", "ball", lw.joints.Universal("x", "y"), lw.placement((0, 0.3, 0)), **solid)
    return builder.build()


def by_differences(model: lw.Model, q: Array, v: Array, tau: Array, dt: float, **options: Any) -> tuple[Array, Array]:
    def step(q: Array, v: Array, tau: Array) -> Array:
        run = lw.rollout(model, q, v, tau[None], dt=dt, steps=1, **options)
        return np.concatenate([lw.difference(model, after, run.q[-1]), run.v[-1]])

    after = lw.rollout(model, q, v, tau[None], dt=dt, steps=1, **options).q[-1]
    h, columns = 1e-6, []
    for which in range(3):
        for unit in np.eye(model.nv):
            ends = []
            for sign in (h, -h):
                moved = [q, v, tau]
                moved[which] = lw.integrate(model, q, sign * unit) if which == 0 else moved[which] + sign * unit
                ends.append(step(*moved))
            columns.append((ends[0] - ends[1]) / (2.0 * h))
    both = np.stack(columns, axis=1)
    return both[:, : 2 * model.nv], both[:, 2 * model.nv :]


OPTIONS: dict[str, dict[str, Any]] = {
    "free": {},
    "driven": {"damping": 2.0, "friction": 0.3, "kp": 20.0, "q_target": np.zeros(3), "kd": 3.0},
    "by a law": {"torque": LAW, "parameters": (np.array([0.1, 0.2, 0.3]),)},
    "held": {"constraints": [lw.Coupling(*CHAIN.joint_names[:2])]},
    "loaded": {"f_ext": np.arange(18.0).reshape(3, 6)},
    "heavier": {"inertias": 1.5 * CHAIN.inertial_parameters, "armature": [0.1, 0.2, 0.3], "damping": 0.5},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_step_is_linearised(name: str) -> None:
    q, v, tau = np.random.default_rng(0).normal(size=(3, 3))
    room = np.full((6, 6), np.nan), np.full((6, 3), np.nan)
    found = lw.linearise(CHAIN, q, v, tau, dt=0.01, out=room, **OPTIONS[name])
    assert found.A is room[0] and found.B is room[1]
    A, B = by_differences(CHAIN, q, v, tau, 0.01, **OPTIONS[name])
    close(found.A, A, 1e-8)
    close(found.B, B, 1e-7)
    if name == "by a law":
        with costs(linearised_whole=0), lw.interpreted():
            as_many = lw.linearise(CHAIN, q, v, tau, dt=0.01, **OPTIONS[name])
        close(as_many.A, found.A, 1e-12)
        close(as_many.B, found.B, 1e-12)


def test_a_step_is_linearised_in_the_tangent_space() -> None:
    model = mixed()
    q, v = lw.random_state(model, 1)
    tau = np.random.default_rng(2).normal(size=model.nv)
    A, B = lw.linearise(model, q, v, tau, dt=0.02, damping=0.5)
    with lw.interpreted():
        expected = by_differences(model, q, v, tau, 0.02, damping=0.5)
        many = lw.linearise(model, np.stack([q, q]), v, dt=0.02, damping=0.5)
    close(A, expected[0], 1e-8)
    close(B, expected[1], 1e-7)
    assert many.A.shape == (2, 2 * model.nv, 2 * model.nv) and np.array_equal(many.A[0], many.A[1])


def test_a_plain_step_is_linearised_alike_however_it_is_called() -> None:
    model = lw.mechanisms.serial_chain(2)
    q, v = lw.random_state(model, 1, shape=3)
    tau = np.full(model.nv, 0.5)
    first = [lw.linearise(model, x, y, tau, dt=0.02) for x, y in zip(q, v, strict=True)]
    for k in range(3):  # served by now, as are batches after the first
        again, many = lw.linearise(model, q[k], v[k], tau, dt=0.02), lw.linearise(model, q, v, tau, dt=0.02)
        for one, other, all_of_them in zip(first[k], again, many, strict=True):
            assert np.array_equal(one, other) and np.array_equal(one, all_of_them[k])
    for wanted in ((), (0,)):  # no states, after what serves plain steps was found
        assert lw.linearise(model, q[0], v[0], np.zeros((*wanted, model.nv)), dt=0.02).B.shape[:-2] == wanted
    for states, found in ((0, first[0]), (slice(None), many), (slice(None), many)):
        room = lw.Linearised(*(np.full_like(array, np.nan) for array in found))
        again = lw.linearise(model, q[states], v[states], tau, dt=0.02, out=room)
        assert again.A is room.A and again.B is room.B
        assert np.array_equal(again.A, found.A) and np.array_equal(again.B, found.B)
    q32 = q.astype(np.float32)
    expected = lw.linearise(model, q32.astype(np.float64), v, tau, dt=0.02)
    for given in ((q32, v, tau), (np.repeat(q32, 2, axis=1)[:, ::2], v.tolist(), np.asfortranarray(tau))):
        room = lw.Linearised(*(np.full_like(array, np.nan) for array in many))
        for again in (lw.linearise(model, *given, dt=0.02), lw.linearise(model, *given, dt=0.02, out=room)):
            assert np.array_equal(again.A, expected.A) and np.array_equal(again.B, expected.B)
    with pytest.raises(lw.ArgumentError, match=r"out\[1\] must be a float64 array of shape \(3, 4, 2\)"):
        lw.linearise(model, q, v, tau, dt=0.02, out=(many.A, many.A))
    with pytest.raises(lw.ArgumentError, match="must not overlap q"):
        lw.linearise(model, many.A[:, 0, :2], v, tau, dt=0.02, out=many)
    assert not np.array_equal(lw.linearise(model, q[0], v[0], tau, dt=0.01).A, first[0].A)
    assert not np.array_equal(lw.linearise(model, q[0], v[0], tau, dt=0.02, damping=1.0).A, first[0].A)
    with pytest.raises(lw.ArgumentError, match="tau"):
        lw.linearise(model, q[0], v[0], [1.0, np.nan], dt=0.02)
    with pytest.raises(lw.ArgumentError, match="dt"):
        lw.linearise(model, q[0], v[0], tau, dt=-0.02)
    with pytest.raises(lw.SingularError, match=r"^linearised_step: the numbers overflow; v of joint 'joint1' is 1e"):
        lw.linearise(model, q[0], [1e200, 0.0], tau, dt=0.02)
    with pytest.raises(lw.ArgumentError, match="a tuple of 2 arrays, one for each result, not a tuple of 3"):
        lw.linearise(model, q[0], v[0], tau, dt=0.02, out=(first[0].A,) * 3)  # type: ignore[arg-type]


def test_a_driven_step_is_served_with_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = lw.mechanisms.serial_chain(2)
    q, v = lw.random_state(model, 1, shape=3)
    tau, target, forces = np.full(model.nv, 0.5), np.array([0.3, -0.2]), np.ones((2, 6))
    driven: list[dict[str, Any]] = [
        {},
        {"kd": 2},
        {"q_target": target, "kp": 3.0, "kd": np.array([1.0, 2.0]), "v_target": 0.5 * target, "f_ext": forces},
    ]
    for options in driven:
        with lw.interpreted():
            expected = lw.linearise(model, q, v, tau, dt=0.02, **options)
        for given in ((q, v), (q[0], v[0])):
            lw.linearise(model, *given, tau, dt=0.02, **options)
        with monkeypatch.context() as patch:
            patch.setattr(
                "linkwork.simulation.rollouts.linearise.request_of", None
            )  # what is served asks for nothing more
            many = lw.linearise(model, q, v, tau, dt=0.02, out=lw.Linearised(*map(np.empty_like, expected)), **options)
            one = lw.linearise(model, q[1].tolist(), v[1], tau, dt=0.02, **options)
        for wanted, all_of_them, alone in zip(expected, many, one, strict=True):
            assert np.array_equal(all_of_them, wanted) and np.array_equal(alone, wanted[1])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"q_target": target}, "q_target needs kp"),
        ({"kp": 3.0}, "kp needs q_target"),
        ({"v_target": target}, "v_target needs kd"),
        ({"q_target": target[:1], "kp": 3.0}, r"q_target must have shape \(..., 2\)"),
        ({"kd": np.nan}, r"kd\[0\] .* is nan"),
        ({"q_target": many.A[0, 0, :2], "kp": 3.0, "out": many}, r"out\[0\] must not overlap q_target"),
    ]
    for options, words in wrong:
        with pytest.raises(lw.ArgumentError, match=words):
            lw.linearise(model, q, v, tau, dt=0.02, **options)


def test_a_step_held_by_the_models_own_constraints_is_linearised_for_its_own_time() -> None:
    builder = lw.Builder("held")
    builder.add_body("bob", joint=lw.joints.Revolute("y"), mass=1.0, com=(0.0, 0.0, -1.0))
    model = builder.build(constraints=[lw.Coupling("joint_bob", "joint_bob", 0.0, 0.2)])
    q, v, tau = np.array([[0.1], [0.3], [0.0]])
    for dt in (0.01, 0.01, 0.02):  # the stabilisation takes ten steps
        own = lw.linearise(model, q, v, tau, dt=dt)
        said = lw.linearise(model, q, v, tau, dt=dt, constraints=model.constraints)
        assert np.array_equal(own.A, said.A) and np.array_equal(own.B, said.B)


def test_a_linearised_step_has_the_same_bits_in_loops() -> None:
    model = mixed()
    q, v = lw.random_state(model, 1)
    task = task_of(linearising(["tau", "damping"]), model)
    given = [q, v, np.array([0.02]), np.ones(model.nv), np.full(model.nv, 0.5)]
    expected = evaluate(task.algorithm, model, [x.tolist() for x in given])
    for result, numbers in zip(evaluated(task, "rolled", given), expected, strict=True):
        assert np.array_equal(result, np.array(numbers) + 0.0)


def run(q: Array, v: Array, tau: Array, g: Array, w: Array) -> lw.Rollout:
    return lw.rollout(
        CHAIN, q, v, tau, dt=0.02, cost=COST, torque=LAW, parameters=(g,), cost_parameters=(w,), damping=0.1, record=5
    )


@pytest.mark.parametrize("checkpoints", [None, 1, 23])
def test_a_loss_is_pulled_back_through_a_rollout(checkpoints: int | None) -> None:
    rng = np.random.default_rng(0)
    arguments = [*rng.normal(size=(2, 3)), 0.3 * rng.normal(size=(23, 3)), np.array([0.1, 0.2, 0.3]), np.array(0.7)]
    first = run(*arguments)
    of_q, of_v = rng.normal(size=first.q.shape), rng.normal(size=first.v.shape)
    gradients = first.pullback(of_q, of_v, 2.0, checkpoints=checkpoints)
    own = [
        gradients.q, gradients.v, gradients.parts["tau"], gradients.parameters[0], gradients.cost_parameters[0],
    ]  # fmt: skip

    def loss(given: list[Array]) -> float:
        again = run(*given)
        assert again.cost is not None
        return float((of_q * again.q).sum() + (of_v * again.v).sum() + 2.0 * again.cost)

    h = 1e-6
    for k, found in enumerate(own):
        numeric = np.zeros(arguments[k].size)
        for i in range(numeric.size):
            ends = []
            for sign in (h, -h):
                moved = list(arguments)
                moved[k] = arguments[k].copy()
                moved[k].flat[i] += sign
                ends.append(loss(moved))
            numeric[i] = (ends[0] - ends[1]) / (2.0 * h)
        close(found.ravel(), numeric, 3e-8)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_states_that_are_all_kept_are_not_done_again(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    q, v = lw.random_state(CHAIN, 3)
    with lw.interpreted():
        found = lw.rollout(CHAIN, q, v, dt=0.01, steps=steps)
        expected = found.pullback(np.ones_like(found.v), checkpoints=1)
        runs, states = [], gradients._states
        monkeypatch.setattr(gradients, "_states", lambda *given: runs.append(given) or states(*given))  # type: ignore[func-returns-value]
        again = found.pullback(np.ones_like(found.v), checkpoints=max(1, steps))
    assert len(runs) == 1 and np.array_equal(again.q, expected.q) and np.array_equal(again.v, expected.v)


def test_a_target_has_its_gradient_in_the_tangent_space() -> None:
    """Of a ball joint, whose target is a quaternion."""
    builder = lw.Builder("ball")
    builder.add_body("ball", joint=lw.joints.Spherical(), mass=1.0, inertia=(0.1, 0.2, 0.15), com=(0.1, 0.0, 0.05))
    model = builder.build()
    q, v = lw.random_state(model, 2)
    target = lw.integrate(model, q, [0.3, -0.2, 0.5])

    def run(target: Array) -> lw.Rollout:
        return lw.rollout(model, q, v, q_target=target, kp=3.0, dt=0.02, steps=6)

    def loss(change: Array) -> float:
        return float(run(lw.integrate(model, target, change)).v[-1] @ [1.0, 2.0, 3.0])

    weights = np.zeros((7, 3))
    weights[-1] = [1.0, 2.0, 3.0]
    found = run(target).pullback(v=weights).parts["q_target"]
    h = 1e-6
    close(found, np.array([[[(loss(h * unit) - loss(-h * unit)) / (2.0 * h) for unit in np.eye(3)]]]), 3e-8)


def test_trajectories_of_their_own_have_gradients_of_their_own() -> None:
    rng = np.random.default_rng(1)
    q, tau = rng.normal(size=(4, 3)), rng.normal(size=(4, 10, 3))
    shared = np.array([0.1, 0.2, 0.3])
    many = run(q, np.zeros(3), tau, shared, np.array(1.0)).pullback()
    alone = [run(q[k], np.zeros(3), tau[k], shared, np.array(1.0)).pullback() for k in range(4)]
    assert many.q.shape == (4, 3) and many.parts["tau"].shape == (4, 10, 3)
    for k in range(4):
        assert np.array_equal(many.q[k], alone[k].q) and np.array_equal(many.parts["tau"][k], alone[k].parts["tau"][0])
    close(many.parameters[0][0, 0], sum(one.parameters[0][0, 0] for one in alone), 1e-13)  # summed: it is shared


def test_a_gradient_through_a_thousand_steps_is_that_of_50_digits() -> None:
    """A pendulum that swings for 2 s: the derivative of its last angle by its first, by a difference with 50 digits."""
    model = lw.mechanisms.pendulum()
    steps, dt, start = 1000, 0.002, 0.7
    last = np.zeros((steps + 1, 1))
    last[-1] = 1.0
    gradients = lw.rollout(model, [start], [0.0], dt=dt, steps=steps, damping=False, friction=False).pullback(q=last)
    (body,) = model.bodies
    inertia = lw.mass_matrix(model, [0.0])[0, 0]
    weight = lw.gravity_torques(model, [np.pi / 2])[0] * np.sign(body.inertia.numbers()[0])
    with mpmath.workdps(50):
        h = mpmath.mpf("1e-20")
        ends = []
        for sign in (h, -h):
            q, v = mpmath.mpf(start) + sign, mpmath.mpf(0)
            for _ in range(steps):
                v -= mpmath.mpf(dt) * weight * mpmath.sin(q) / inertia
                q += mpmath.mpf(dt) * v
            ends.append(q)
        exact = float((ends[0] - ends[1]) / (2 * h))
    close(gradients.q, np.array([exact]), 1e-9)


def test_steps_with_loops_have_the_same_derivatives() -> None:
    """Through time and of one step: as for mechanisms of many bodies, which are simulated step by step."""
    q, v = np.random.default_rng(3).normal(size=(2, 3))
    tau, kept = np.random.default_rng(4).normal(size=(2, 7, 3)), np.ones((8, 3))
    cost = lw.compile(lambda t, q, v, tau: q @ q + t * (tau @ tau), t=(), q=3, v=3, tau=3)
    found = []
    model = lw.mechanisms.serial_chain(3)
    for form in ("straight", "looped"):
        with lw.form(form), lw.interpreted():
            law = lw.compile(lambda t, q, v, k: k * lw.gravity_torques(model, q) + t * v, t=(), q=3, v=3, k=())
            assert law.has_loops == (form == "looped")
            options: Any = {"dt": 0.02, "damping": 0.1, "torque": law, "parameters": [0.3]}
            gradients = lw.rollout(model, q, v, tau[0], cost=cost, **options).pullback(q=kept, v=-kept, cost=2.0)
            A, B = lw.linearise(model, np.stack([q, v]), v, tau[0, :1], **options)
        found.append([gradients.q, gradients.v, gradients.parts["tau"], gradients.parameters[0], A, B])
    for straight, looped in zip(*found, strict=True):
        close(looped, straight, 1e-12)


@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_constrained_steps_with_loops_have_the_same_derivatives(damping: float) -> None:
    """Damping adds to rotor inertias, which are an argument of code with loops."""
    q, v, tau = np.random.default_rng(3).normal(size=(3, 3))
    found = []
    model = lw.mechanisms.serial_chain(3)
    plane = lw.PointOnPlane.at(model, q, "tip", normal="x")
    options: Any = {"dt": 0.02, "constraints": plane, "damping": damping}
    for form in ("straight", "looped"):
        with lw.form(form), lw.interpreted():
            gradients = lw.rollout(model, q, v, np.stack([tau, v]), **options).pullback(q=np.ones((3, 3)))
            found.append([*lw.linearise(model, q, v, tau, **options), gradients.q, gradients.parts["tau"]])
    for straight, looped in zip(*found, strict=True):
        close(looped, straight, 1e-11)


def test_a_constrained_step_that_is_joined_from_parts_can_be_written_in_place() -> None:
    model = lw.mechanisms.serial_chain(3)
    q, v, tau = np.random.default_rng(3).normal(size=(3, 3))
    options: Any = {"dt": 0.02, "constraints": lw.PointOnPlane.at(model, q, "tip", normal="x")}
    with costs(derived_whole=2), lw.interpreted():
        first = lw.linearise(model, q, v, tau, **options)
        expected = [array.copy() for array in first]
        again = lw.linearise(model, q, v, tau, out=(first.A, first.B), **options)
    assert again.A is first.A and all(map(np.array_equal, again, expected))


def test_a_chain_of_kernels_linearises_a_constrained_step_of_many_joints() -> None:
    """One state or many, driven and loaded, in place, and for constraints that differ in placements only."""
    model = mixed()
    q, v = lw.random_state(model, 1, shape=3)
    rng = np.random.default_rng(2)
    tau, loads = rng.normal(size=(3, model.nv)), rng.normal(size=(len(model.bodies), 6))
    for at in (0, 1):
        ball = lw.Ball.at(model, q[at], "cross")
        options: Any = {"dt": 0.02, "constraints": [ball], "stabilisation": 0.1, "damping": 0.5, "f_ext": loads}
        found = lw.linearise(model, q, v, tau, **options)
        with lw.interpreted():
            expected = lw.linearise(model, q, v, tau, **options)
        for one, other in zip(found, expected, strict=True):
            close(one, other, 1e-11)
        for _ in range(3):  # by Python, then by code
            again, alone = (lw.linearise(model, *own, **options) for own in ((q, v, tau), (q[1], v[1], tau[1])))
            assert all(map(np.array_equal, again, found)) and np.array_equal(alone.A, found.A[1])
        lw.linearise(model, q, v, tau, **options, out=tuple(again))
        assert all(map(np.array_equal, again, found))
        if at == 0:
            A, B = by_differences(model, q[1], v[1], tau[1], **options)
            close(found.A[1], A, 1e-7)
            close(found.B[1], B, 1e-7)
    with pytest.raises(lw.SingularError, match="only 3 are independent"):
        lw.linearise(model, q, v, tau, dt=0.02, constraints=[ball, lw.Ball.at(model, q[0], "cross")])
    with pytest.raises(lw.ArgumentError, match="stabilisation must be a positive number"):
        lw.linearise(model, q, v, tau, dt=0.02, constraints=[ball], stabilisation=-1.0)


def test_what_has_no_gradient_is_said() -> None:
    plain = lw.rollout(CHAIN, np.zeros(3), np.zeros(3), dt=0.01, steps=3)
    with pytest.raises(lw.ArgumentError, match="the rollout had no cost"):
        plain.pullback()
    with pytest.raises(lw.ArgumentError, match="the rollout had none"):
        plain.pullback(cost=1.0)
    with pytest.raises(lw.ArgumentError, match=r"q must have shape \(4, 3\)"):
        plain.pullback(q=np.ones((2, 3)))
    with pytest.raises(lw.ArgumentError, match="checkpoints must be an integer of 1 or more"):
        plain.pullback(q=np.ones((4, 3)), checkpoints=0)
    driven = lw.rollout(CHAIN, np.zeros(3), np.zeros(3), dt=0.01, steps=3, policy=lambda t, q, v: -v)
    with pytest.raises(lw.ArgumentError, match="without a policy has gradients"):
        driven.pullback(q=np.ones((4, 3)))


def test_a_linearised_step_is_not_traced() -> None:
    with pytest.raises(lw.TracingError, match=r"lw\.linearise cannot be traced; call it with arrays"):
        lw.compile(lambda q: lw.linearise(CHAIN, q, q, dt=0.01).A, q=3)


def test_no_states_have_no_derivatives() -> None:
    with lw.interpreted():
        A, B = lw.linearise(CHAIN, np.zeros((0, 3)), np.zeros(3), dt=0.01, f_ext=np.zeros((0, 1, 3, 6)))
    assert A.shape == (0, 6, 6) and B.shape == (0, 6, 3)


def test_redundant_constraints_are_named() -> None:
    """A ball joint also constrains a planar chain out of its plane: in any state, and where the arm is stretched."""
    chain = lw.mechanisms.serial_chain(3)
    state = [0.1, 0.2, 0.3], np.zeros(3)
    with pytest.raises(lw.SingularError, match=r"'world'\) hold 3 motions, of which only 2 are independent"):
        lw.linearise(chain, *state, dt=0.01, constraints=lw.Ball.at(chain, state[0], "tip"))
    builder = lw.Builder()
    for k, axis in enumerate("yzx"):
        builder.add_body(f"b{k}", f"b{k - 1}" if k else "world", lw.joints.Prismatic(axis), mass=1.0)
    slides = builder.build()
    held = [lw.PointOnPlane("b2", normal="x"), lw.PointOnPlane("b2", normal=(1.0, 0.0, 1e-12))]
    with pytest.raises(lw.SingularError, match="hold 2 motions, of which only 1 are independent"):
        lw.linearise(slides, *np.zeros((2, 3)), dt=0.01, constraints=held)
