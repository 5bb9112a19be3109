"""Long chains cut into segments: the cut, agreement with articulated-body, the same bits on any lanes and threads."""

from __future__ import annotations

import gc
import pickle
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS, SEGMENTS
from linkwork.engine.emit import mailbox as places
from linkwork.engine.run import helper_threads, threads
from linkwork.inside import costs, interpret
from linkwork.joints import Fixed, Free, Joint, Revolute, Spherical, Universal
from linkwork.model import Model, segments
from linkwork.model.segments import SHORTEST, blended, cut, limbs, lined_up
from linkwork.model.tree import Tree
from programs import BASELINE, bits, planned, run_loops, task_of
from strategies import JOINTS, Array, Cam, State, close, random_inertia, random_placement, state_of


def chain(joints: Iterable[Joint], seed: int = 0, rotors: int = 0) -> Model:
    """A chain in which every ``rotors``-th body has a rotor; none by default."""
    rng = np.random.default_rng(seed)
    builder = lw.Builder(f"chain{seed}", gravity=rng.normal(size=3) * 5.0)
    last = "world"
    for number, joint in enumerate(joints):
        rotor = rng.uniform(0.1, 0.5, size=joint.nv) if rotors and number % rotors == rotors - 1 else 0.0
        last = builder.add_body(f"b{number}", last, joint, random_placement(rng), armature=rotor, **random_inertia(rng))
    return builder.build()


def branched(joints: Sequence[Joint], seed: int) -> Model:
    """A chain with side branches of one to three bodies, numbered as they come."""
    rng = np.random.default_rng(seed)
    builder = lw.Builder(f"branched{seed}", gravity=rng.normal(size=3) * 5.0)
    last = "world"
    for number, joint in enumerate(joints):
        last = end = builder.add_body(f"b{number}", last, joint, random_placement(rng), **random_inertia(rng))
        for k in range(int(rng.integers(1, 4)) if number % 9 == 4 else 0):
            side = MIX[int(rng.integers(2))]
            end = builder.add_body(f"s{number}_{k}", end, side, random_placement(rng), **random_inertia(rng))
    return builder.build()


MIX = (Revolute("y"), Spherical(), Cam(0.2))


@cache
def chains() -> dict[str, Model]:
    """Chains of few kinds each: the code's length depends on the kinds of bodies, not on their number."""
    any_kind = np.random.default_rng(3).integers(2, size=51)
    return {
        "revolute": chain([Revolute("z")] * 51),
        "floating": chain([Free(), *[Revolute((1.0, 2.0, 3.0))] * 65], 1, rotors=1),
        "mixed": chain(MIX[::2] * 32, 2),
        "bushy": branched(MIX[1:2] * 53, 5),
        "irregular": chain([MIX[::2][k] for k in any_kind], 3),
    }


@cache
def expected(name: str) -> tuple[State, Array]:
    """A few states, and the interpreter's results with floats for each."""
    model = chains()[name]
    state = state_of(model, 7, (3,))
    given = state.q, state.v, state.tau, state.f_ext
    with lw.interpreted():
        each = [lw.forward_dynamics(model, *(x[k] for x in given), method="constraint_force") for k in range(3)]
    return state, np.array(each)


def by_articulated_bodies(model: Model, s: State) -> Array:
    """Interpreted: nothing is compiled for the reference."""
    with lw.interpreted():
        return lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext)


def arguments(state: State, k: int) -> list[Array]:
    return [x[k].reshape(1, -1) for x in (state.q, state.v, state.tau, state.f_ext)]


# The cut


@pytest.mark.parametrize("name", ["revolute", "floating", "mixed", "irregular"])
def test_a_cut_covers_the_chain(name: str) -> None:
    model = chains()[name]
    found = cut(model)
    assert found is not None
    assert found.head + found.count * found.length == len(model.bodies)
    assert found.count % 16 == 0 and found.length >= SHORTEST
    assert found.uniform == (name != "irregular")
    kinds = [(body.joint.kind(), bool(body.armature)) for body in model.bodies[found.head :]]
    rows = [kinds[start : start + found.length] for start in range(0, len(kinds), found.length)]
    assert found.uniform == all(row == rows[0] for row in rows)
    tree = Tree(model)
    segments = [body.index for segment in tree.segments() for body in segment.outward()]
    assert [*(body.index for body in tree.head()), *segments] == [*range(1, len(model.bodies) + 1)]


def test_what_has_no_segments() -> None:
    assert cut(lw.mechanisms.serial_chain(47)) is None
    assert cut(lw.mechanisms.serial_chain(48)) is not None
    assert cut(lw.mechanisms.binary_tree(7)) is None
    assert lined_up(lw.mechanisms.serial_chain(60)) is None
    with pytest.raises(lw.ModelError, match=r"model 'serial_chain' is no chain that is long enough to be cut"):
        next(Tree(lw.mechanisms.serial_chain(47)).head())


def test_longer_chains_have_more_segments_whose_length_stays_bounded() -> None:
    for n in (4_000, 10_000, 50_000):
        found = cut(lw.mechanisms.serial_chain(n))
        assert found is not None
        assert 80 <= found.length <= 250 and found.head < found.count


# Results


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.describe())
def test_chains_of_every_joint_kind(joint: Joint) -> None:
    model = chain([joint] * 50, 5, rotors=2)
    s = state_of(model, 3)
    (found,) = interpret(SEGMENTS, model, [s.q, s.v, s.tau, s.f_ext], ())
    close(found, by_articulated_bodies(model, s), 1e-9)


@pytest.mark.parametrize("name", ["irregular", "bushy"])
def test_public_calls_have_the_interpreters_bits(name: str) -> None:
    model = chains()[name]
    state, wanted = expected(name)
    given = state.q, state.v, state.tau, state.f_ext
    batch = lw.forward_dynamics(model, *given, method="constraint_force")
    assert np.array_equal(bits(batch), bits(wanted))
    close(wanted, by_articulated_bodies(model, state), 1e-9)
    with lw.interpreted():
        assert np.array_equal(bits(lw.forward_dynamics(model, *given, method="constraint_force")), bits(wanted))
    for k in (0, 1, 2):  # the first goes the long way, the others the short one
        one = lw.forward_dynamics(model, *(x[k] for x in given), method="constraint_force")
        assert np.array_equal(bits(one), bits(wanted[k]))
    assert ("constraint_force" in model._memo.quick) == (name == "irregular")
    if name == "bushy":  # a copy is traced anew, which takes long
        again = pickle.loads(pickle.dumps(model))
        one = lw.forward_dynamics(again, *(x[0] for x in given), method="constraint_force")
        assert np.array_equal(bits(one), bits(wanted[0]))


def test_side_branches_of_one_shape_are_lanes_whatever_their_number() -> None:
    """Five of one shape, on four lanes: the last group overlaps; one of another: alone on all lanes; an odd end."""
    rng = np.random.default_rng(8)
    builder = lw.Builder("limbs")

    def add(name: str, parent: str, joint: Joint) -> str:
        return builder.add_body(name, parent, joint, random_placement(rng), **random_inertia(rng))

    last = "world"
    for k in range(50):
        last = add(f"b{k}", last, Revolute("z"))
    for number, k in enumerate((3, 3, 20, 41, 49)):
        side = add(f"s{number}", f"b{k}", Revolute("y"))
        add(f"t{number}", side, Revolute("y"))
        add(f"u{number}", side, Revolute("y"))
        if number == 2:
            add("other", "world", Revolute("x"))
    last = add("end", last, Revolute("x"))
    for k in range(3):
        last = add(f"end{k}", last, Revolute("y"))
    model = builder.build()
    lined = lined_up(model)
    assert lined is not None and lined_up(lined.model) is None
    found = cut(lined.model)
    assert found is not None and found.chain == 50 and found.uniform
    assert sorted((same.count, same.length) for same in limbs(lined.model)) == [(1, 1), (1, 4), (5, 3)]
    state = state_of(model, 1, (2,))
    numbers = [x.reshape(2, -1) for x in (state.q, state.v, state.tau, state.f_ext)]
    task = task_of(ALGORITHMS["constraint_force"], model)
    (plain,), _ = planned(task, "interpreted").run(numbers, 2)
    plan = planned(task, lanes=4)
    close(plain, by_articulated_bodies(model, state), 1e-10)
    assert plan.inner.team.loops.group == 4
    for threads_wanted in (1, 2):
        plan.inner.team.threads = threads_wanted
        (one,), status = plan.run([x[1:] for x in numbers], 1)
        assert status == 0 and np.array_equal(bits(one[0]), bits(plain[1]))


def test_joints_in_random_order_are_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert blended(chain([Revolute("y"), *[Spherical()] * 3] * 13 + [Revolute("y")] * 5)) is None, "too short"
    monkeypatch.setattr(segments, "WORTH_BLENDING", 50)
    kinds = (Revolute("y"), Spherical(), Universal())
    order = np.random.default_rng(4).integers(3, size=52)
    model = chain([kinds[k] for k in order], 6)
    found = blended(model)
    assert found is not None and not cut(model).uniform and cut(found).uniform  # type: ignore[union-attr]
    assert {body.joint.nv for body in found.bodies} == {3}
    state = state_of(model, 2, (2,))
    numbers = [x.reshape(2, -1) for x in (state.q, state.v, state.tau, state.f_ext)]
    (plain,), _ = planned(task_of(SEGMENTS, model), "interpreted").run(numbers, 2)
    close(plain, by_articulated_bodies(model, state), 1e-10)
    plan = planned(task_of(SEGMENTS, model), lanes=4)
    assert plan.team.loops.group == 4
    for threads_wanted in (1, 2):
        plan.team.threads = threads_wanted
        (one,), status = plan.run([x[1:] for x in numbers], 1)
        assert status == 0 and np.array_equal(bits(one[0]), bits(plain[1]))
    (both,), status = plan.run(numbers, 2)
    assert status == 0 and np.array_equal(bits(both), bits(plain))
    assert blended(chains()["revolute"]) is None, "in order already"
    assert blended(chains()["irregular"]) is None, "a joint of a user's own"
    assert blended(chain([kinds[k] for k in order], 6, rotors=2)) is None


@pytest.mark.parametrize(
    "name, cpu, lanes",
    [("revolute", None, 1), ("mixed", BASELINE, 2), ("floating", None, 4), ("revolute", None, 8)],
)
def test_lanes_do_not_change_a_bit(name: str, cpu: tuple[str, str] | None, lanes: int) -> None:
    state, wanted = expected(name)
    run = planned(task_of(SEGMENTS, chains()[name]), cpu=cpu, lanes=lanes)
    (found,), status = run.run(arguments(state, 1), 1)
    assert status == 0 and np.array_equal(bits(found[0]), bits(wanted[1]))


def test_the_evaluator_agrees_and_the_program_is_well_formed() -> None:
    model = chains()["mixed"]
    state, wanted = expected("mixed")
    loops = planned(task_of(SEGMENTS, model), lanes=1).loops
    (found,) = run_loops(loops, arguments(state, 2))
    assert np.array_equal(bits(found), bits(wanted[2]))


def in_threads(jobs: Sequence[threading.Thread]) -> None:
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()


@pytest.mark.parametrize("count", [2, 3])
@costs(one_thread=0)
def test_a_team_does_not_change_a_bit(count: int) -> None:
    """Many calls, from several threads at once, each with helper threads that may or may not join in time."""
    model = chains()["revolute"]
    state, wanted = expected("revolute")
    given = state.q, state.v, state.tau, state.f_ext
    wrong: list[int] = []

    def call(which: int) -> None:
        for k in range(200):
            one = lw.forward_dynamics(model, *(x[(which + k) % 3] for x in given), method="constraint_force")
            if not np.array_equal(bits(one), bits(wanted[(which + k) % 3])):
                wrong.append(k)

    lw.set_threads(count)
    try:
        in_threads([threading.Thread(target=call, args=(which,)) for which in range(count)])
    finally:
        lw.set_threads(None)
    assert not wrong


def test_a_call_in_the_middle_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a signal handler: of the same code, and of code that needs more memory."""
    model, larger = chains()["revolute"], lw.mechanisms.serial_chain(400)
    state, wanted = expected("revolute")
    first, other = ([x[k].copy() for x in (state.q, state.v, state.tau, state.f_ext)] for k in (0, 1))
    lw.forward_dynamics(model, *first, method="constraint_force")
    (plan,) = (plan for key, plan in model._memo.plans.items() if key[:2] == ("constraint_force", ()))
    plan.busy[0] = 1  # what another call is at, the builtins leave to Python
    run, calls = plan.call_one, []

    def interrupted(words: Any) -> Any:
        calls.append(words)
        if len(calls) == 1:
            lw.forward_dynamics(larger, *np.ones((3, 400)), method="constraint_force")
            found = lw.forward_dynamics(model, *other, method="constraint_force")
            assert np.array_equal(bits(found), bits(wanted[1]))
        return run(words)

    monkeypatch.setattr(plan, "call_one", interrupted)
    found = lw.forward_dynamics(model, *first, method="constraint_force")
    plan.busy[0] = 0
    assert len(calls) == 2 and np.array_equal(bits(found), bits(wanted[0]))


@costs(one_thread=0)
def test_builtins_ask_helpers_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether these are awake or not, and none of them if one thread is wanted."""
    model = lw.mechanisms.serial_chain(100)
    q, v, tau = np.random.default_rng(0).normal(size=(3, model.nv))
    call = partial(lw.forward_dynamics, model, q, v, tau, method="constraint_force")
    lw.set_threads(2)
    try:
        wanted = call()
        assert all(np.array_equal(bits(call()), bits(wanted)) for _ in range(300))
        (plan,) = model._memo.plans.values()
        members = plan.team.members
        assert members and members == helper_threads.hired()[: len(members)]  # other tests may have hired more
        assert not any(helper._mailbox[places.CLAIMED] for helper in members)
        lw.set_threads(1)
        monkeypatch.setattr(plan, "call_one", None)
        assert np.array_equal(bits(call()), bits(wanted))
    finally:
        lw.set_threads(None)


@costs(one_thread=0)
def test_helpers_sleep_when_there_is_no_job_and_are_woken_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper_threads, "_helpers", [])
    model = pickle.loads(pickle.dumps(chains()["revolute"]))  # the same code by a plan of its own, which has a crew
    state, wanted = expected("revolute")
    given = state.q[0], state.v[0], state.tau[0], state.f_ext[0]
    lw.set_threads(2)
    try:
        for _ in range(3):
            found = lw.forward_dynamics(model, *given, method="constraint_force")
            assert np.array_equal(bits(found), bits(wanted[0]))
            (helper,) = helper_threads._helpers
            mailbox = helper._mailbox
            while mailbox[places.JOB] or not mailbox[places.ASLEEP]:
                time.sleep(0.05)  # it comes back for another job, and goes to sleep when there is none
            assert not mailbox[places.JOB] and not mailbox[places.BUSY] and not mailbox[places.CLAIMED]
    finally:
        lw.set_threads(None)


@costs(one_thread=0)
def test_without_more_threads_a_call_does_all_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(helper_threads, "_helpers", [])
    monkeypatch.setattr(threads, "_workers", [])
    monkeypatch.setattr(threading.Thread, "start", refused)
    model = chains()["revolute"]
    state, wanted = expected("revolute")
    given = state.q, state.v, state.tau, state.f_ext
    lw.set_threads(2)
    try:
        found = lw.forward_dynamics(model, *(x[0] for x in given), method="constraint_force")
        many = lw.forward_dynamics(model, *(np.repeat(x, 999, axis=0) for x in given), method="constraint_force")
    finally:
        lw.set_threads(None)
    assert np.array_equal(bits(found), bits(wanted[0]))
    assert np.array_equal(bits(many[::999]), bits(wanted))


def test_bodies_lined_up_are_the_same_mechanism() -> None:
    model = chains()["bushy"]
    lined = lined_up(model)
    assert lined is not None and lined_up(lined.model) is None
    assert [model.body_names[k] for k in lined.bodies] == list(lined.model.body_names)
    state, _ = expected("bushy")
    a = by_articulated_bodies(model, state)
    q, v, tau, f_ext = state.q[:, lined.q], state.v[:, lined.v], state.tau[:, lined.v], state.f_ext[:, lined.bodies]
    with lw.interpreted():
        close(lw.forward_dynamics(lined.model, q, v, tau, f_ext), a[:, lined.v], 1e-10)
    with pytest.raises(lw.ArgumentError, match=r"tau\[7\] \(joint 'joint_b2'\) is inf"):
        bad = state.tau[0].copy()
        bad[7] = np.inf
        lw.forward_dynamics(model, state.q[0], state.v[0], bad, state.f_ext[0], method="constraint_force")


# What is wrong is said


def test_bad_arguments_are_named() -> None:
    model = lw.mechanisms.serial_chain(51, joint="spherical")
    s = state_of(model, 0)
    call = lw.forward_dynamics
    for _ in range(2):  # before and after there is a short way
        call(model, s.q, s.v, s.tau, method="constraint_force")
        with pytest.raises(lw.ArgumentError, match=r"tau\[0\] .* is nan"):
            call(model, s.q, s.v, s.tau * np.nan, method="constraint_force")
        with pytest.raises(lw.ArgumentError, match="q"):
            call(model, s.q[:-1], s.v, s.tau, method="constraint_force")
        flat = s.q.copy()
        flat[4:8] = 0.0
        with pytest.raises(lw.SingularError, match="joint 'joint2': the rotation in q has length zero"):
            call(model, flat, s.v, s.tau, method="constraint_force")
    wanted = call(model, s.q, s.v, s.tau, method="constraint_force")
    for tau in (s.tau.tolist(), np.repeat(s.tau, 2)[::2]):
        assert np.array_equal(call(model, s.q, s.v, tau, method="constraint_force"), wanted)


def test_a_link_without_inertia_is_named() -> None:
    model = chain([Revolute("z")] * 60)
    builder = lw.Builder()
    last = "world"
    for body in model.bodies:
        mass = {} if body.name == "b33" else {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
        last = builder.add_body(body.name, last, body.joint, body.placement, **mass)
    with pytest.raises(lw.SingularError, match="body 'b33' has mass"):
        lw.forward_dynamics(builder.build(), np.zeros(60), np.zeros(60), np.zeros(60), method="constraint_force")


def test_joints_without_freedom_and_batches_of_nothing() -> None:
    model = chain([Fixed(), Universal()] * 30, 8)
    s = state_of(model, 1)
    found = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, method="constraint_force")
    close(found, by_articulated_bodies(model, s), 1e-9)
    none = lw.forward_dynamics(model, s.q[None][:0], s.v, s.tau, s.f_ext, method="constraint_force")
    assert none.shape == (0, model.nv)
    rigid, nothing = chain([Fixed()] * 60), np.zeros((2, 0))
    for batch in (nothing, nothing[0]):
        assert lw.forward_dynamics(rigid, batch, batch, batch, method="constraint_force").shape == batch.shape


@pytest.mark.parametrize("method", ["articulated_body", "virtual_work", "constraint_force"])
def test_nothing_keeps_a_model_alive(method: str) -> None:
    model = lw.mechanisms.serial_chain(60)
    s = state_of(model, 0)
    for _ in range(2):
        lw.forward_dynamics(model, s.q, s.v, s.tau, method=method)
    kept = weakref.ref(model)
    del model, s
    gc.collect()
    assert kept() is None
