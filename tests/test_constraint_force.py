"""The constraint force algorithm: against articulated-body on any mechanism, invariances, depth and accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import floor, log2
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, CHAIN_METHODS, Algorithm
from linkwork.algorithms.constraint_force import constraint_force, joined_motion
from linkwork.algorithms.cyclic_reduction import cyclic_reduction
from linkwork.algorithms.parallel_prefix import parallel_prefix
from linkwork.inside import evaluate
from linkwork.joints import Fixed, Free, Joint, Revolute, Spherical
from linkwork.model import Model
from linkwork.model.tree import Tree
from linkwork.spatial import ArticulatedInertia
from linkwork_lab.reproduce.steps import steps
from linkwork_lab.reproduce.truth import exact, relative_error
from linkwork_lab.studies.constraint_force_world import constraint_force_world
from robots import ROBOTS
from strategies import (
    JOINTS,
    Array,
    State,
    close,
    floating,
    law,
    pool,
    random_inertia,
    random_placement,
    random_tree,
    renumbered,
    state_of,
)

METHODS = CHAIN_METHODS
ARGUMENTS = ALGORITHMS["constraint_force"].arguments


def agree(model: Model, relative: float = 1e-9, seed: int = 0, methods: Iterable[str] = METHODS) -> None:
    s = state_of(model, seed)  # over plain floats the interpreter is fastest
    with lw.interpreted():
        expected = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext)
        for method in methods:
            close(lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, method=method), expected, relative, what=method)


def chain(joints: Iterable[Joint], seed: int = 0, rotors: bool = False, branches: int = 0) -> Model:
    """Bodies in series, then side branches of random length on any body."""
    rng = np.random.default_rng(seed)
    builder = lw.Builder(f"chain{seed}", gravity=rng.normal(size=3) * 5.0)
    last, joints = "world", list(joints)
    bodies = []

    def add(name: str, parent: str, joint: Joint) -> str:
        rotor = rng.uniform(0.1, 0.5, size=joint.nv) if rotors and rng.random() < 0.5 else 0.0
        return builder.add_body(name, parent, joint, random_placement(rng), armature=rotor, **random_inertia(rng))

    for number, joint in enumerate(joints):
        last = add(f"b{number}", last, joint)
        bodies.append(last)
    for number in range(branches):
        last = str(rng.choice(bodies[: max(1, len(bodies) - 2)]))
        for part in range(int(rng.integers(1, 3))):
            last = add(f"side{number}_{part}", last, JOINTS[int(rng.integers(len(JOINTS)))])
    return builder.build()


# Agreement with articulated bodies


@pytest.mark.parametrize("length", [1, 2, 3, 6])
@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.describe())
def test_chains_of_every_joint_kind(joint: Joint, length: int) -> None:
    agree(chain([joint] * length, seed=length))
    agree(chain([joint] * length, seed=length, rotors=True))


@pytest.mark.parametrize("seed", range(8))
def test_mixed_chains_with_side_branches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joints = [JOINTS[k] for k in rng.integers(len(JOINTS), size=9)]
    agree(chain(joints, seed))
    agree(chain([Free(), *joints], seed, rotors=True, branches=seed))


@law(pool())
def test_any_mechanism(s: State) -> None:
    with lw.interpreted():
        expected = lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext)
        for method in METHODS:
            close(lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext, method=method), expected, 1e-9, what=method)


@law(floating())
def test_floating_mechanisms(s: State) -> None:
    with lw.interpreted():
        expected = lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext)
        for method in METHODS:
            close(lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext, method=method), expected, 1e-9, what=method)


LACKING = {"human", "icub", "icub_reduced", "iris", "romeo", "romeo_laas_small", "ur3"}
"""Robots with bodies without inertia, (iris) with limits that are no angles, or (ur3) without links."""


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
def test_every_example_robot() -> None:
    """Every other one on a base that is free."""
    for number, path in enumerate(ROBOTS):
        if path.stem not in LACKING:
            model = lw.merge_fixed(lw.load(path, floating_base=number % 2 == 0))
            s = state_of(model, 1)
            with lw.interpreted():
                expected = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext)
                found = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, method="constraint_force")
            close(found, expected, 1e-9, what=path.name)


@pytest.mark.parametrize("name", ["pendulum", "free_box", "humanoid", "star:30", "binary_tree:5", "rope:20"])
def test_ready_mechanisms(name: str) -> None:
    agree(lw.mechanisms.by_name(name), 1e-8 if name == "rope:20" else 1e-9)


def test_compiled_code_gives_the_same_bits_and_long_chains_are_interpreted() -> None:
    model = chain([JOINTS[k] for k in (12, 4, 17)], rotors=True, branches=1)
    s = state_of(model, 3, (5,))
    for method in METHODS:
        with lw.interpreted():
            expected = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, method=method)
        for name in ("specialised", "rolled", "auto"):
            with lw.form(name):
                found = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, method=method)
            assert (found == expected).all(), (method, name)
    long = lw.mechanisms.serial_chain(51)
    s = state_of(long, 0)
    a = lw.forward_dynamics(long, s.q, s.v, s.tau, method="constraint_force")
    with lw.interpreted():
        assert (a == lw.forward_dynamics(long, s.q, s.v, s.tau, method="constraint_force")).all()
        close(a, lw.forward_dynamics(long, s.q, s.v, s.tau), 1e-11)
    with pytest.raises(lw.ArgumentError, match=r"tau\[0\] \(joint 'joint1'\) is nan"):
        lw.forward_dynamics(long, s.q, s.v, s.tau * np.nan, method="constraint_force")


def test_a_body_without_inertia_is_named() -> None:
    builder = lw.Builder()
    builder.add_body("arm", joint=Revolute("y"), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tip", "arm", Revolute("z"), armature=0.1)
    for method in METHODS:
        with pytest.raises(lw.SingularError, match=f"{method}: body 'tip' has mass .* use method='articulated_body'"):
            lw.forward_dynamics(builder.build(), [0, 0], [0, 0], [0, 0], method=method)


def test_models_without_bodies_or_freedom() -> None:
    assert lw.forward_dynamics(lw.Builder().build(), [], [], [], method="constraint_force").shape == (0,)
    agree(chain([Fixed()] * 3))


# Invariances


def run(text: Any, s: State, tree: Tree | None = None, **options: Any) -> Array:
    algorithm = Algorithm("constraint_force", partial(text, **options), ARGUMENTS, ("velocity",), ())
    (found,) = evaluate(algorithm, s.model, [x.ravel().tolist() for x in (s.q, s.v, s.tau, s.f_ext)], tree=tree)
    return np.array(found)


@pytest.mark.parametrize("seed", range(4))
def test_the_choice_of_the_main_chain_does_not_matter(seed: int) -> None:
    model = random_tree(seed, JOINTS, 8)
    s = state_of(model, seed)
    expected = run(constraint_force, s)
    for tip in range(1, 9):
        close(run(constraint_force, s, tip=tip), expected, 1e-11, what=f"tip {tip}")
        close(run(constraint_force_world, s, tip=tip), expected, 1e-10, what=f"tip {tip}, world")


def test_the_main_chain_can_be_chosen() -> None:
    model = random_tree(3, (Revolute("x"), Spherical(), Free()), 6)
    s = state_of(model, 0)
    with lw.interpreted():
        expected = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext)
        for name in model.body_names:
            for method in METHODS:
                slow = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, method, main_chain=name)
                close(slow, expected, 1e-10)
    for name in (model.body_names[0], model.body_names[-1]):
        found = [lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, METHODS[0], main_chain=name) for _ in range(2)]
        close(found[0], expected, 1e-10)
        assert (found[0] == found[1]).all()
    with pytest.raises(lw.UnknownNameError, match="has no body named 'b99'"):
        lw.forward_dynamics(model, s.q, s.v, s.tau, method="constraint_force", main_chain="b99")
    with pytest.raises(lw.ArgumentError, match=r"main_chain is for the methods constraint_force, .* has none"):
        lw.forward_dynamics(model, s.q, s.v, s.tau, main_chain="b1")


@pytest.mark.parametrize("seed", range(4))
def test_the_choice_of_i_x_does_not_matter(seed: int) -> None:
    model = random_tree(seed + 20, JOINTS, 8)
    s = state_of(model, seed)
    rng = np.random.default_rng(seed)
    expected = run(constraint_force_world, s)
    halves = rng.normal(size=(9, 6, 6))
    choices = [ArticulatedInertia.from_rows((half @ half.T + 0.3 * np.eye(6)).tolist()) for half in halves]
    close(run(constraint_force_world, s, I_X=lambda body: choices[body.index]), expected, 1e-10)
    close(run(constraint_force_world, s, I_X=lambda body: body.inertia.articulated()), expected, 1e-10)


def test_i_x_can_be_chosen() -> None:
    model = random_tree(21, JOINTS, 4)
    s = state_of(model, 2, (2,))
    rng = np.random.default_rng(0)
    halves = rng.normal(size=(4, 6, 6))
    given = halves @ np.swapaxes(halves, 1, 2)
    given = given + np.swapaxes(given, 1, 2) + np.eye(6)
    with lw.interpreted():
        expected = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext)
    found = []
    for i_x in (None, np.eye(6), given[0], given):
        for tip in (None, model.body_names[2]):
            found.append(lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, METHODS[1], main_chain=tip, i_x=i_x))
            close(found[-1], expected, 1e-9)
    assert (found[0] == found[2]).all() and (found[2] != found[6]).any()
    for wrong, said in ((np.eye(5), "shape"), (np.eye(6) - 2 * np.eye(6), "'b0' must be symm"), (["a"], "numbers")):
        with pytest.raises(lw.ArgumentError, match=said):
            lw.forward_dynamics(model, s.q, s.v, s.tau, method=METHODS[1], i_x=wrong)
    with pytest.raises(lw.ArgumentError, match="i_x is for the method 'constraint_force_world'"):
        lw.forward_dynamics(model, s.q, s.v, s.tau, method=METHODS[0], i_x=np.eye(6))


def test_numbering_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    model = random_tree(5, (Revolute("x"), Spherical(), Free(), Fixed()), 9)
    other = renumbered(model, rng)
    s = state_of(model, 0)
    named = {body.joint_name: k for k, body in enumerate(model.bodies)}
    places = [named[body.joint_name] for body in other.bodies]
    q, v, tau = (
        np.concatenate([x[start[p] : start[p] + getattr(model.bodies[p].joint, n)] for p in places])
        for x, start, n in ((s.q, model.q_start, "nq"), (s.v, model.v_start, "nv"), (s.tau, model.v_start, "nv"))
    )
    with lw.interpreted():
        a = lw.forward_dynamics(model, s.q, s.v, s.tau, s.f_ext, method="constraint_force")
        b = lw.forward_dynamics(other, q, v, tau, s.f_ext[places], method="constraint_force")
    turned = np.concatenate([a[model.v_start[p] : model.v_start[p] + model.bodies[p].joint.nv] for p in places])
    close(b, turned, 1e-11)


class Shuffled(Tree):
    """A tree whose parallel loops take their items in any order."""

    def parallel(self, items: Iterable[Any]) -> Iterator[Any]:
        order = list(items)
        np.random.default_rng(len(order)).shuffle(order)
        return iter(order)


def test_the_turns_of_a_step_need_nothing_of_each_other() -> None:
    model = chain([JOINTS[k % len(JOINTS)] for k in range(23)], branches=5, rotors=True)
    s = state_of(model, 0)
    assert (run(constraint_force, s, Shuffled(model)) == run(constraint_force, s)).all()


def test_forces_of_constraint_are_the_reactions() -> None:
    model = chain([Free(), *(JOINTS[k % len(JOINTS)] for k in range(12))], branches=4)
    s = state_of(model, 2)
    with lw.interpreted():
        _, wrenches = lw.forward_dynamics_and_reactions(model, s.q, s.v, s.tau, s.f_ext)
    found: dict[int, Any] = {}

    def text(tree: Tree, *fields: Any) -> tuple[Any]:
        qdd, f = joined_motion(tree, *fields)
        found.update({body.index: f[body].numbers() for body in tree.main_chain()})
        return (qdd,)

    run(text, s)
    assert len(found) == 13
    for index, wrench in found.items():
        close(wrench, wrenches[index - 1], 1e-10, scale=np.abs(wrenches).max())


# Its parts


@pytest.mark.parametrize("count", [*range(1, 18), 31, 32, 33])
def test_prefixes_and_cyclic_reduction_of_any_length(count: int) -> None:
    tree = Tree(lw.mechanisms.serial_chain(count))
    bodies, words = tree.main_chain(), tree.field()
    for body in bodies:
        words[body] = chr(64 + body.index)  # joining words does not commute
    parallel_prefix(tree, bodies, words, lambda a, b: a + b)
    assert [words[body] for body in bodies] == ["".join(chr(64 + k) for k in range(1, n + 2)) for n in range(count)]

    rng = np.random.default_rng(count)
    size = 3
    full = np.zeros((count * size, count * size))
    for k in range(count):
        part = rng.normal(size=(size, 2 * size)) if k else rng.normal(size=(size, size))
        where = slice((k - 1) * size if k else 0, (k + 1) * size)
        full[where, where] += part.T @ part
    full += 0.1 * np.eye(count * size)
    right = rng.normal(size=(count, size))
    Y, E, r = (tree.field() for _ in range(3))
    for k, body in enumerate(bodies):
        own = slice(k * size, (k + 1) * size)
        Y[body], r[body] = np.tril(full[own, own]).tolist(), right[k].tolist()
        E[body] = full[own, (k - 1) * size : k * size].tolist() if k else []
    n = cyclic_reduction(tree, bodies, Y, E, r)
    expected = np.linalg.solve(full, right.ravel())
    close(np.array([n[body] for body in bodies]).ravel(), expected, 1e-11)


def test_chains_and_branches_of_a_tree() -> None:
    tree = Tree(lw.mechanisms.binary_tree(4))
    bodies = tree.main_chain()
    assert [body.parent.index for body in bodies] == [0, *(body.index for body in bodies[:-1])]
    assert len(bodies) == 4
    levels = tree.branches(bodies)
    before = {0, *(body.index for body in bodies)}
    for level in levels:
        assert {body.parent.index for body in level} <= before
        assert not before & {body.index for body in level}
        before |= {body.index for body in level}
    assert before == set(range(16))
    assert [body.index for body in tree.main_chain(3)][-1] == 3


# Depth and work


@pytest.mark.parametrize("joint", ["revolute", "spherical"])
def test_depth_grows_as_the_logarithm_and_work_as_the_length(joint: str) -> None:
    entry = ALGORITHMS["constraint_force"]
    found = {n: steps(entry, lw.mechanisms.serial_chain(n, joint)) for n in (1, 2, 7, 8, 64, 100, 256, 512)}
    for n, cost in found.items():
        assert cost.depth <= 4 * floor(log2(n)) + 10
        assert cost.alone == 6  # -g, twice
    assert found[512].depth - found[64].depth == 3 * 4
    assert abs(found[512].work / found[256].work - 2.0) < 0.01
    most = max(max(cost.longest) for cost in found.values())
    assert most <= max(found[64].longest)  # a turn costs the same however long the chain
    assert found[512].time(512) <= found[512].work / 60
    assert found[512].time(1) >= found[512].work


def test_side_branches_add_their_length_only() -> None:
    """The paper: branches of length log N keep the depth at O(log N)."""

    def comb(n: int) -> Model:
        rng = np.random.default_rng(0)
        builder = lw.Builder()
        last = "world"
        for k in range(n):
            last = end = builder.add_body(f"b{k}", last, Revolute("z"), random_placement(rng), **random_inertia(rng))
            for j in range(min(floor(log2(n)), n - 1 - k)):
                end = builder.add_body(f"s{k}_{j}", end, Revolute("x"), random_placement(rng), **random_inertia(rng))
        return builder.build()

    entry = ALGORITHMS["constraint_force"]
    for n in (8, 16, 32):
        cost = steps(entry, comb(n))
        assert cost.depth <= 4 * floor(log2(n)) + 10 + 3 * floor(log2(n))
    agree(comb(8), 1e-9, methods=["constraint_force"])


# Digits

context = mpmath.mp.clone()
context.dps = 50


@pytest.mark.parametrize("angles", [3.1, 0.3])
def test_long_chains_keep_more_digits_than_articulated_bodies(angles: float) -> None:
    n = 300
    model = lw.mechanisms.serial_chain(n)
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-angles, angles, n), rng.normal(size=n), rng.normal(size=n)
    given = [x.tolist() for x in (q, v, tau)]
    exact = [[context.mpf(x) for x in numbers] for numbers in given]
    tree = exact_tree(model, context.mpf)
    (truth,) = evaluate(ALGORITHMS["articulated_body"], model, [*exact, None], tree=tree)
    size = max(map(abs, truth))

    def error(entry: Algorithm) -> float:
        (rough,) = evaluate(entry, model, [*given, None])
        return float(max(abs(x - y) for x, y in zip(rough, truth, strict=True)) / size)

    ours, articulated = error(ALGORITHMS["constraint_force"]), error(ALGORITHMS["articulated_body"])
    assert ours <= articulated
    assert ours < 1e-12
    assert error(ALGORITHMS["constraint_force_world"]) > 100 * ours


def test_a_thousand_links_keep_more_digits_than_articulated_bodies() -> None:
    n = 1000
    model = lw.mechanisms.serial_chain(n)
    rng = np.random.default_rng(1)
    state = rng.uniform(-3.1, 3.1, n), rng.normal(size=n), rng.normal(size=n)
    (truth,) = exact(ALGORITHMS["articulated_body"], model, [*state, None])
    in_segments, articulated = (
        relative_error(lw.forward_dynamics(model, *state, method=method).tolist(), truth)
        for method in ("constraint_force", "articulated_body")
    )
    (numbers,) = evaluate(ALGORITHMS["constraint_force"], model, [*(x.tolist() for x in state), None])
    assert in_segments <= articulated and relative_error(numbers, truth) <= articulated
    assert in_segments < 1e-14
