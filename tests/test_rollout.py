"""``lw.rollout``: the same numbers as step by step, the same bits everywhere, and physically plausible motions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, step_forces
from linkwork.engine import rollout as engine_rollout
from linkwork.inside import evaluate
from linkwork_lab.bench.peers.mujoco import mjcf
from programs import bits
from robots import robot
from strategies import Array, close, models_of_form, random_tree, state_of


def block(friction: float = 0.0, damping: float = 0.0, effort: float = np.inf) -> lw.Model:
    """2 kg on a horizontal rail."""
    builder = lw.Builder("block")
    rail = lw.joints.Prismatic("x")
    limits = {"friction": friction, "damping": damping, "effort": effort}
    builder.add_body("block", joint=rail, mass=2.0, **limits)
    return builder.build()


@cache
def tree() -> lw.Model:
    """Sines and quaternions on a branching tree, with and without rotors."""
    kinds = (lw.joints.Free(), lw.joints.Revolute((1.0, 2.0, 3.0)), lw.joints.Spherical())
    return random_tree(400, kinds, 5, name="rolling")


def driven(model: lw.Model, batch: tuple[int, ...], steps: int) -> dict[str, Any]:
    """Every argument of a rollout, different for each trajectory and step."""
    rng = np.random.default_rng(7)
    q, v = lw.random_state(model, rng, shape=batch)
    targets = np.stack([lw.random_state(model, rng, shape=batch)[0] for _ in range(steps)], axis=-2)
    return {
        "q": q,
        "v": 0.1 * v,
        "tau": rng.normal(size=(*batch, steps, model.nv)),
        "q_target": targets,
        "kp": rng.uniform(0.0, 2.0, size=(*batch, model.nv)),
        "v_target": rng.normal(size=(steps, model.nv)),
        "kd": 0.1,
        "effort_limits": np.where(np.arange(model.nv) % 2, 1.5, np.inf),
        "damping": rng.uniform(0.0, 1.0, size=model.nv),
        "friction": np.where(np.arange(model.nv) % 3, 0.2, 0.0),
        "dt": 2e-3,
    }


def assert_same(a: lw.Rollout, b: lw.Rollout) -> None:
    for one, other in zip(a, b, strict=True):
        assert np.array_equal(bits(one), bits(other))


@pytest.mark.usefixtures("engine")
def test_it_is_forward_dynamics_and_integrate_over_and_over_to_the_bit() -> None:
    for model in models_of_form()[:3]:
        state = state_of(model, 3, (3,))
        rng = np.random.default_rng(1)
        tau = rng.normal(size=(3, 4, model.nv))
        found = lw.rollout(model, state.q, 0.2 * state.v, tau, dt=0.01)
        q, v = state.q, 0.2 * state.v
        for step in range(4):
            v = v + 0.01 * lw.forward_dynamics(model, q, v, tau[:, step])
            q = lw.integrate(model, q, 0.01 * v)
            assert np.array_equal(bits(found.q[:, step + 1]), bits(q)), f"{model.name}, step {step}"
            assert np.array_equal(bits(found.v[:, step + 1]), bits(v + 0.0)), f"{model.name}, step {step}"


def test_drive_and_drag_are_what_they_say() -> None:
    """Against the mass matrix: (M + dt D) a = u - D v - bias, with u clamped."""
    model, steps = tree(), 5
    given = driven(model, (4,), steps)
    found = lw.rollout(model, **given, steps=steps)
    dt, q, v = given["dt"], given["q"], given["v"]
    for step in range(steps):
        with lw.interpreted():
            error = lw.difference(model, q, given["q_target"][:, step])
            mass, effects = lw.mass_matrix(model, q), lw.nonlinear_effects(model, q, v)
        u = given["tau"][:, step] + given["kp"] * error + given["kd"] * (given["v_target"][step] - v)
        u = np.clip(u, -given["effort_limits"], given["effort_limits"])
        drag = given["damping"] + given["friction"] / np.maximum(abs(v), 1e-3)
        left = mass + dt * drag[:, :, None] * np.eye(model.nv)
        right = u - drag * v - effects
        v = v + dt * np.linalg.solve(left, right[..., None])[..., 0]
        with lw.interpreted():
            q = lw.integrate(model, q, dt * v)
        close(found.v[:, step + 1], v, 1e-11)
        close(found.q[:, step + 1], q, 1e-11)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest, worth_threads: None) -> Iterator[int]:
    lw.set_threads(request.param)
    yield request.param
    lw.set_threads(None)


@cache
def expected(every: int) -> lw.Rollout:
    with lw.interpreted():
        return lw.rollout(tree(), **driven(tree(), (19,), 11), record=every)


@pytest.mark.parametrize("which", ["specialised", "rolled"])
def test_all_forms_threads_and_slices_give_the_same_bits(
    which: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for every in (1, 4, 100):
        for slice_of_time in (0.1, 1e-12):  # all at once, and step by step
            monkeypatch.setattr(engine_rollout, "_SLICE", slice_of_time)
            with lw.form(which):
                assert_same(lw.rollout(tree(), **driven(tree(), (19,), 11), record=every), expected(every))


def test_alone_and_in_a_batch_and_continued_the_bits_are_the_same() -> None:
    model, given, whole = tree(), driven(tree(), (19,), 11), expected(1)
    over_time = ("tau", "q_target")
    for k in (0, 7, 18):
        own = {name: given[name][k] for name in ("q", "v", "kp", *over_time)}
        assert_same(lw.rollout(model, **{**given, **own}), lw.Rollout(whole.t, whole.q[k], whole.v[k]))
    early = {**given, "v_target": given["v_target"][:4], **{name: given[name][:, :4] for name in over_time}}
    late = {**given, "v_target": given["v_target"][4:], **{name: given[name][:, 4:] for name in over_time}}
    half = lw.rollout(model, **early)
    rest = lw.rollout(model, **{**late, "q": half.q[:, -1], "v": half.v[:, -1]})
    assert np.array_equal(bits(rest.q), bits(whole.q[:, 4:])) and np.array_equal(bits(rest.v), bits(whole.v[:, 4:]))


def test_long_chains_have_rolled_code() -> None:
    model = lw.mechanisms.serial_chain(60)
    q, v = lw.random_state(model, 0, shape=9)
    found = lw.rollout(model, q, v, dt=1e-3, steps=3, record=3, damping=0.5)
    with lw.interpreted():
        assert_same(found, lw.rollout(model, q, v, dt=1e-3, steps=3, record=3, damping=0.5))


def test_the_error_of_a_step_against_50_digits() -> None:
    model, given = tree(), driven(tree(), (), 1)
    algorithm = step_forces(("tau", "q_target", "kp", "v_target", "kd", "effort", "damping", "friction"))
    effort, damping = np.minimum(given["effort_limits"], 1e300), given.get("damping", model.damping)
    full = {**given, "kd": np.full(model.nv, 0.1), "effort": effort, "dt": [given["dt"]], "damping": damping}
    context = mpmath.mp.clone()
    context.dps = 50
    numbers = {
        name: [context.mpf(float(x)) for x in np.ravel(full.get(name, getattr(model, name, None)))]
        for name, _ in algorithm.arguments
    }
    exact = exact_tree(model, context.mpf)
    forces, rotors, _ = evaluate(algorithm, model, list(numbers.values()), tree=exact)
    q, v, (dt,) = (numbers[name] for name in ("q", "v", "dt"))
    state = [q, v, forces, None]
    (a,) = evaluate(ALGORITHMS["articulated_body"], model, state, tree=exact_tree(model, context.mpf), rotors=rotors)
    end = [x + dt * y for x, y in zip(v, a, strict=True)]
    moved = [q, [dt * x for x in end]]
    (after,) = evaluate(ALGORITHMS["integrate"], model, moved, tree=exact_tree(model, context.mpf))
    found = lw.rollout(model, **given, steps=1)
    close(found.q[1], [float(x) for x in after], 1e-14)
    close(found.v[1], [float(x) for x in end], 1e-14)


def test_records_are_the_first_every_so_many_and_the_last() -> None:
    model = block()
    t, q, v = lw.rollout(model, [1.0], [2.0], dt=0.5, steps=7, record=3)
    assert t.tolist() == [0.0, 1.5, 3.0, 3.5]
    assert q[:, 0].tolist() == [1.0, 4.0, 7.0, 8.0] and v[:, 0].tolist() == [2.0] * 4
    nothing = lw.rollout(model, [1.0], [2.0], dt=0.5, steps=0)
    assert nothing.t.tolist() == [0.0] and nothing.q.tolist() == [[1.0]]
    assert lw.rollout(model, np.zeros((0, 1)), [0.0], dt=1.0, steps=4).q.shape == (0, 5, 1)


def test_arguments_broadcast() -> None:
    model = block()
    force = np.array([[[1.0]], [[2.0]]])  # two constant forces
    found = lw.rollout(model, np.zeros((3, 1, 1)), [0.0], force, dt=0.1, steps=4, kd=np.zeros((1, 2, 1)))
    assert found.q.shape == (3, 2, 5, 1)
    assert np.allclose(found.v[..., -1, 0], [0.2, 0.4])
    shared = lw.rollout(model, np.zeros((3, 1)), [0.0], [[1.0], [-1.0]], dt=0.1)
    assert np.allclose(shared.v[..., 0], [0.0, 0.05, 0.0])


def test_arrays_may_lie_in_memory_as_they_like() -> None:
    model = lw.mechanisms.double_pendulum()
    q, v = lw.random_state(model, 0, shape=9)
    tau = np.random.default_rng(0).normal(size=(9, 5, 2))
    plain = lw.rollout(model, q, v, tau, dt=1e-3)
    assert_same(plain, lw.rollout(model, *map(np.asfortranarray, (q, v, tau)), dt=1e-3))
    assert_same(plain, lw.rollout(model, np.repeat(q, 2, 1)[:, ::2], v[::-1][::-1], tau.tolist(), dt=1e-3))


def test_an_earlier_result_is_written_into() -> None:
    model = block()
    first = lw.rollout(model, np.zeros((9, 1)), [1.0], dt=0.1, steps=4)
    again = lw.rollout(model, np.ones((9, 1)), [1.0], dt=0.2, steps=4, out=first)
    assert again is first and again.t[-1] == 0.8
    assert_same(again, lw.rollout(model, np.ones((9, 1)), [1.0], dt=0.2, steps=4))
    on = lw.rollout(model, first.q[:, -1], first.v[:, -1], dt=0.2, steps=4, out=first)  # from its own last state
    assert np.allclose(on.q[:, -1], 1.0 + 8 * 0.2)


@pytest.mark.filterwarnings("ignore:prismatic joint")  # its fingers run out of their range
def test_it_agrees_with_mujoco_to_rounding() -> None:
    """The same scheme: Euler, damping at the step's end. Panda, and a chain of ball joints for the manifold."""
    mujoco = pytest.importorskip("mujoco")
    rollout = pytest.importorskip("mujoco.rollout")
    panda = lw.load(robot("panda.urdf"))
    balls = lw.mechanisms.serial_chain(3, "spherical")
    for model, damping in ((panda, panda.damping), (balls, np.full(9, 0.1))):
        there = mujoco.MjModel.from_xml_string(mjcf(model).replace('eulerdamp="disable"', ""))
        there.opt.timestep, there.dof_damping[:] = 1e-3, damping
        q, v = lw.random_state(model, 0, shape=10)
        tau = np.random.default_rng(1).normal(size=(10, 100, model.nv))
        ours = lw.rollout(model, q, v, tau, dt=1e-3, damping=damping, effort_limits=np.inf, constraints=())
        start = np.concatenate([np.zeros((10, 1)), to_mujoco(model, q), v], axis=1)
        with rollout.Rollout(nthread=0) as roll:
            spec = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value
            theirs, _ = roll.rollout(there, [mujoco.MjData(there)], start, tau, control_spec=spec)
        for step, relative in ((1, 1e-13), (100, 1e-11)):
            both = np.concatenate([to_mujoco(model, ours.q[:, step]), ours.v[:, step]], axis=1)
            close(theirs[:, step - 1, 1:], both, relative, what=f"step {step}")


def to_mujoco(model: lw.Model, q: Array) -> Array:
    """Quaternions as (w, x, y, z)."""
    if model.nq == model.nv:
        return q
    return np.roll(q.reshape(len(q), -1, 4), 1, axis=-1).reshape(len(q), -1)


def test_the_error_is_of_first_order_and_energy_stays() -> None:
    """A conservative mechanism with a free base: errors halve with the step; the energy's do not grow over time."""
    model = tree()
    q, v = lw.random_state(model, 3, shape=4)
    v = 0.3 * v
    ends, drifts = [], []
    for halvings in range(3):
        steps = 200 * 2**halvings
        found = lw.rollout(model, q, v, dt=0.2 / steps, steps=steps, record=2**halvings)
        energy = sum(lw.energy(model, found.q, found.v))
        ends.append(found.q[:, -1])
        drifts.append(abs(energy - energy[:, :1]).max())
    close((ends[0] - ends[1]) / 2.0, ends[1] - ends[2], 0.03)
    assert np.allclose(np.array(drifts[:-1]) / drifts[1:], 2.0, rtol=0.05)
    swing = lw.rollout(lw.mechanisms.pendulum(), [1.0], [0.0], dt=1e-3, steps=100_000, record=10)
    energy = sum(lw.energy(lw.mechanisms.pendulum(), swing.q, swing.v))
    early, late = (abs(part - energy[0]).max() for part in (energy[:1000], energy[-1000:]))
    assert late < 1.01 * early  # bounded: the scheme is symplectic


def test_a_controlled_arm_settles_at_its_target() -> None:
    model = random_tree(401, (lw.joints.Revolute("y"), lw.joints.Spherical()), 4, name="arm")
    rng = np.random.default_rng(0)
    target, _ = lw.random_state(model, rng)
    q = lw.integrate(model, target, 0.5 * rng.normal(size=(20, model.nv)))
    hold = lw.gravity_torques(model, target)
    gains = {"q_target": target, "kp": 200.0, "kd": 40.0}
    found = lw.rollout(model, q, np.zeros(model.nv), hold, dt=1e-3, steps=8000, record=8000, **gains)
    assert abs(lw.difference(model, found.q[:, 0], target)).max() > 0.5
    close(lw.difference(model, found.q[:, -1], target), np.zeros((20, model.nv)), 1e-6, scale=1.0)
    close(found.v[:, -1], np.zeros((20, model.nv)), 1e-6, scale=1.0)


def test_effort_is_limited() -> None:
    model = block(effort=3.0)
    pulled = lw.rollout(model, [0.0], [0.0], q_target=[100.0], kp=50.0, dt=0.01, steps=100)
    assert np.allclose(pulled.v[-1], 3.0 / 2.0)  # F t / m, for 1 s
    for anything in (False, np.inf):
        free = lw.rollout(model, [0.0], [0.0], [50.0], effort_limits=anything, dt=0.01, steps=100)
        assert np.allclose(free.v[-1], 50.0 / 2.0)
    with pytest.warns(lw.LinkworkWarning, match="effort limit of 0 for 'joint_block', so that nothing drives"):
        still = lw.rollout(block(effort=0.0), [0.0], [0.0], [50.0], dt=0.01, steps=100)
    assert not still.v.any()


def test_drag_is_the_model_s_or_none_or_the_caller_s() -> None:
    model = block(friction=4.0, damping=0.5)
    start: dict[str, Any] = {"q": [0.0], "v": [3.0], "dt": 0.01, "steps": 50}
    assert_same(lw.rollout(model, **start), lw.rollout(block(), **start, friction=[4.0], damping=0.5))
    free = lw.rollout(model, **start, friction=False, damping=False)
    assert_same(free, lw.rollout(block(), **start))
    assert (free.v == 3.0).all()


def test_friction_stops_a_block_where_it_should_and_holds_it() -> None:
    found = lw.rollout(block(friction=4.0), [0.0], [3.0], dt=1e-4, steps=40_000, record=1000)
    assert found.q[-1, 0] == pytest.approx(3.0**2 / (2.0 * 4.0 / 2.0), rel=1e-3)  # v²/2a
    held = lw.rollout(block(friction=4.0), [0.0], [0.0], [3.0], dt=1e-3, steps=1000)
    assert 0.0 < held.v[-1, 0] < 1e-3 and held.q[-1, 0] < 1e-3  # it creeps at most
    moved = lw.rollout(block(friction=4.0), [0.0], [0.0], [6.0], dt=1e-4, steps=10_000)
    assert moved.v[-1, 0] == pytest.approx((6.0 - 4.0) / 2.0, rel=1e-2)


def test_drag_never_adds_energy_however_large() -> None:
    model = lw.mechanisms.double_pendulum()
    weightless = lw.Model(model.name, model.bodies, model.frames, (0.0, 0.0, 0.0))
    q, v = lw.random_state(weightless, 0, shape=50)
    for drag in ({"damping": 1e6}, {"friction": 1e6}, {"damping": 0.5, "friction": 0.3}):
        found = lw.rollout(weightless, q, v, dt=0.01, steps=300, **drag)
        kinetic, _ = lw.energy(weightless, found.q, found.v)
        assert (kinetic[:, 1:] <= kinetic[:, :-1]).all() and (kinetic[:, -1] < 0.5 * kinetic[:, 0]).all()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells a process's memory in this way")
def test_a_million_steps_take_no_memory() -> None:
    def pages() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    model = lw.mechanisms.pendulum()
    start = np.linspace(0.1, 1.0, 9)[:, None]

    def run(steps: int) -> lw.Rollout:
        return lw.rollout(model, start, [0.0], dt=1e-3, steps=steps, record=steps)

    run(1000)
    before = pages()
    end = run(1_000_000)
    assert pages() - before < 250  # a megabyte
    kinetic, potential = lw.energy(model, end.q, end.v)
    energy = kinetic + potential
    assert (abs(energy[:, 1] - energy[:, 0]) < 0.02).all()
