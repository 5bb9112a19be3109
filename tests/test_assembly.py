"""Assembly of sub-chains: correct on any tree and with loops, in a number of steps that grows with the logarithm,
counted as operations on the longest path. ``test_closed_chains`` and ``test_constraints`` compare with MuJoCo and
Pinocchio.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import log2

import mpmath
import numpy as np
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, Algorithm, closing
from linkwork.inside import evaluate, machine_code
from linkwork.model import Model
from linkwork.model.assembly import assembly_of
from linkwork_lab.reproduce.closed_chains.ladders import comb, ladder, star
from linkwork_lab.reproduce.counting import as_written
from linkwork_lab.reproduce.longest_path import longest_path
from programs import planned, run_loops, task_of
from strategies import Array, close, pool, state_of
from test_closed_chains import EVERY, LOOPS, ROWS, arguments, holds, pulled_bar

context = mpmath.mp.clone()
context.dps = 50
ASSEMBLY = ALGORITHMS["assembly"]


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
    held = assembly_of([0, *range(100)], [(0, 90), (0, 60), (1, 80), (1, 0)])
    assert held.parts[-1].closed == (1,) and sum(0 in part.closed for part in held.parts) == 1


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
