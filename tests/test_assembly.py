"""Assembly of sub-chains: correct on any tree and with loops, in a number of steps that grows with the logarithm,
counted as operations on the longest path. ``test_closed_chains`` and ``test_constraints`` compare with MuJoCo and
Pinocchio.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import log2
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, Algorithm, closing
from linkwork.inside import evaluate, machine_code
from linkwork.model import Model
from linkwork.model.assembly import assembly_of
from linkwork_lab.reproduce.closed_chains.ladders import comb, ladder, snake, star
from linkwork_lab.reproduce.counting import as_written
from linkwork_lab.reproduce.longest_path import longest_path
from programs import planned, run_loops, task_of
from strategies import Array, close, pool, state_of
from test_closed_chains import EVERY, LOOPS, ROWS, arguments, holds, pulled_bar

context = mpmath.mp.clone()
context.dps = 50
ASSEMBLY = ALGORITHMS["assembly"]
SOLID: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.02, 0.03, 0.025)}


@pytest.mark.parametrize("number", [0, 1, 2, 3], ids=lambda number: pool()[number].name)
def test_any_tree_accelerates_as_by_articulated_bodies(number: int) -> None:
    s = state_of(pool()[number], 1, (2,))
    with lw.interpreted():
        found = lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext, method="assembly")
        close(found, lw.forward_dynamics(s.model, s.q, s.v, s.tau, s.f_ext), 1e-11)


def test_loops_are_closed_as_by_virtual_work_at_fifty_digits() -> None:
    given = [[context.mpf(x) for x in array.ravel().tolist()] for array in arguments(EVERY, LOOPS, ROWS, 4)]
    one, two = (
        evaluate(closing(method=method), EVERY, given, LOOPS, exact_tree(EVERY, context.mpf, LOOPS))
        for method in ("virtual_work", "assembly")
    )
    for x, y in zip(one, two, strict=True):
        assert max(abs(a - b) for a, b in zip(x, y, strict=True)) < 1e-38


def test_a_closed_chain_with_its_reactions() -> None:
    model, constraints, q = pulled_bar()
    v, tau = np.random.default_rng(2).normal(size=(2, model.nv))
    with lw.interpreted():
        one, two = (
            lw.constrained_dynamics_and_reactions(
                model, q, v, tau, constraints, stabilisation=0.1, method=method, frame="world"
            )
            for method in ("articulated_body", "assembly")
        )
        for x, y in zip(one, two, strict=True):
            close(x, y, 1e-9)
        twice = [lw.Ball("bar", "left"), lw.Ball("bar", "left")]
        with pytest.raises(lw.errors.SingularError, match="hold 6 motions, of which only 3"):
            lw.constrained_dynamics(model, q, v, tau, twice, method="assembly")


TREES: dict[str, Callable[[int], Model]] = {
    "chain": lambda n: lw.mechanisms.serial_chain(n),
    "star": star,
    "comb": comb,
    "binary tree": lambda n: lw.mechanisms.binary_tree(n.bit_length() - 1),
}


def test_operations_on_the_longest_path_grow_as_the_logarithm(golden: Callable[[str, str], None]) -> None:
    """Each doubling of the links adds the same number, whatever the tree; with a loop on every fourth link, too."""
    counts: dict[str, dict[str, list[int]]] = {}
    for name, make in TREES.items():
        trees = [make(n) for n in (4, 8, 16, 32)]
        paths = [longest_path(ASSEMBLY, tree) for tree in trees]
        assert paths[3] - paths[2] <= max(64, paths[2] - paths[1]) and paths[3] < 720
        written = [sum(as_written(ASSEMBLY, tree).values()) for tree in trees[:3]]
        counts[name] = {"links": [4, 8, 16, 32], "longest path": paths, "operations as written": written}
    loops = [ladder(k) for k in (1, 2, 4, 8)]
    paths = [longest_path(closing(method="assembly"), each.model, each.holds) for each in loops]
    assert paths[3] - paths[2] <= paths[2] - paths[1] + 64
    counts["ladder"] = {"loops": [1, 2, 4, 8], "longest path": paths}
    golden("assembly.json", json.dumps(counts, indent=1) + "\n")


def test_no_tree_takes_many_levels() -> None:
    """Random trees, from bushy to stringy by the distance to a parent, and the worst cases for either balance."""
    rng, n = np.random.default_rng(0), 2_000
    trees = [[0, *(int(rng.integers(max(0, k - reach), k)) for k in range(1, n))] for reach in (n, 30, 3)]
    hairy: list[int] = [0, 0]  # a path with ever longer chains attached
    while len(hairy) < n:
        hairy += [hairy[-1] + 1, *range(len(hairy) + 1, len(hairy) + 30)]
    for parents in (*trees, [0, *range(n)], [0, 0, *[1] * n], _valid(hairy)):
        assert len(assembly_of(parents).levels) <= 3 * log2(len(parents)) + 6


def test_loops_with_the_world_are_closed_on_paths_from_it() -> None:
    """One on a side branch at the link that carries the branch, one with two bodies where both are."""
    chain = assembly_of([0, *range(100)], [(0, 90), (0, 60), (1, 80), (1, 0), (2, 7), (3, 20), (3, 40), (3, 0)])
    at = {loop: part for part in chain.parts for loop in part.closed}
    assert [(at[loop].kind, at[loop].body) for loop in (1, 2)] == [("link", 80), ("link", 7)]
    assert at[0].kind == at[3].kind == "joined" and sum(len(part.closed) for part in chain.parts) == 4
    branched = assembly_of([0, 0, 1, 2, 3, 4, 2, 6], [(0, 7), (1, 6)])
    (where,) = (part for part in branched.parts if part.closed)
    assert (where.kind, where.body, set(where.closed)) == ("link", 2, {0, 1})
    assert max(len(part.loops) for part in branched.parts) == 2, "open along the branch"


@pytest.mark.parametrize("base", ["floating", "fixed"])
def test_holds_on_the_path_and_on_branches_agree_with_virtual_work(base: str) -> None:
    """A chain with branches of two links, held to the ground at links of both."""
    builder, last = lw.Builder(), "world"
    for k in range(6):
        joint = lw.joints.Free() if base == "floating" and not k else lw.joints.Universal("y", "z")
        last = builder.add_body(f"spine{k}", last, joint, lw.placement((0.3 if k else 0.0, 0, 0)), **SOLID)
        if k % 2:
            leg = builder.add_body(f"leg{k}", last, lw.joints.Spherical(), lw.placement((0, 0.1, 0)), **SOLID)
            builder.add_body(f"foot{k}", leg, lw.joints.Revolute("x"), lw.placement((0, 0.2, 0)), **SOLID)
    model = builder.build()
    constraints = [lw.PointOnPlane(name) for name in ("spine2", "foot1", "spine5", "foot5", "leg3")]
    rng = np.random.default_rng(3)
    q = lw.integrate(model, lw.neutral(model), 0.2 * rng.normal(size=model.nv))
    v, tau = rng.normal(size=(2, model.nv))
    for engine in ("interpreted", "auto"):
        with lw.form(engine):
            one, two = (
                lw.constrained_dynamics_and_reactions(model, q, v, tau, constraints, method=method)
                for method in ("virtual_work", "assembly")
            )
        for x, y in zip(one, two, strict=True):
            close(x, y, 1e-10)


def test_many_holds_leave_the_depth_logarithmic() -> None:
    """A snake on the ground: with each doubling of its links, all of them held, the same number of operations more."""
    snakes = [snake(n) for n in (4, 8, 16, 32)]
    paths = [longest_path(closing(method="assembly"), each.model, each.holds) for each in snakes]
    assert np.ptp(np.diff(paths)) == 0 and paths[1] - paths[0] <= 70
    serial = longest_path(closing(), snakes[-1].model, snakes[-1].holds)
    assert 5 * paths[-1] < serial


def _valid(parents: Sequence[int]) -> list[int]:
    return [min(parent, max(0, k - 1)) for k, parent in enumerate(parents)]


def test_code_has_the_bits_of_the_interpreter() -> None:
    model, frames = lw.mechanisms.serial_chain(3, lw.joints.Revolute("y")), holds(("a", 3))
    given = [arguments(model, frames, {"a": 1}, seed) for seed in range(3)]
    flat = [np.stack([state[k].ravel() for state in given]) for k in range(7)]
    entry = closing(method="assembly")
    plan = planned(task_of(entry, model, frames), "specialised")
    together, status = plan.run(flat, 3)
    assert status == 0
    for state in range(3):
        alone, _ = plan.run([array[state : state + 1] for array in flat], 1)
        expected = evaluate(entry, model, [array.ravel().tolist() for array in given[state]], frames)
        for one, two, three in zip(together, alone, expected, strict=True):
            assert one[state].tobytes() == two[0].tobytes() == (np.array(three) + 0.0).tobytes()


def rolled_results(entry: Algorithm, model: Model, frames: Sequence[lw.Frame], given: Sequence[Array]) -> list[Array]:
    """The results by the definition of the intermediate code, after the program has been verified."""
    return run_loops(planned(task_of(entry, model, frames), "rolled", lanes=2).loops, given)


def test_one_loop_over_levels_has_the_bits_of_the_text() -> None:
    """Joints whose subspaces vary, and loops."""
    s = state_of(pool()[1], 1)
    found = rolled_results(ASSEMBLY, s.model, (), [s.q, s.v, s.tau, s.f_ext])
    expected = evaluate(ASSEMBLY, s.model, [each.ravel().tolist() for each in (s.q, s.v, s.tau, s.f_ext)])
    assert (found[0] + 0.0).tobytes() == (np.array(expected[0]) + 0.0).tobytes()
    model, frames = (
        lw.mechanisms.serial_chain(6, lw.joints.Revolute("y")),
        holds(("a", 2), ("a", 5), ("b", 4), ("b", 6)),
    )
    given, entry = arguments(model, frames, {"a": 2, "b": 1}, 0), closing(method="assembly")
    expected = evaluate(entry, model, [array.ravel().tolist() for array in given], frames)
    for one, two in zip(rolled_results(entry, model, frames, given), expected, strict=True):
        assert (one + 0.0).tobytes() == (np.array(two) + 0.0).tobytes()


def test_lanes_and_threads_do_not_change_a_bit() -> None:
    """For parts of a comb, which may be anywhere, and for a batch."""
    model = comb(14)
    s = state_of(model, 1, (3,))
    given = (s.q, s.v, s.tau)
    (expected,) = machine_code(ASSEMBLY, model, form="interpreted")(*given)
    plan = planned(task_of(ASSEMBLY, model, absent=("f_ext",)), "rolled", lanes=2)
    (together,), status = plan.run(given, 3)
    assert status == 0 and together.tobytes() == (expected + 0.0).tobytes()
    for threads in (1, 2, 2, 2):
        plan.team.threads = threads
        for k in range(3):
            (alone,), _ = plan.run([array[k : k + 1] for array in given], 1)
            assert alone.tobytes() == together[k : k + 1].tobytes()


def test_loops_that_are_many_and_unlike_are_interpreted() -> None:
    model = lw.mechanisms.serial_chain(60)
    frames = holds(*((str(k), body) for k in range(20) for body in (1 + k, 60 - k)))
    assert type(planned(task_of(closing(method="assembly"), model, frames))).__name__ == "Interpreted"
    assert type(planned(task_of(ASSEMBLY, model))).__name__ == "Looped"
