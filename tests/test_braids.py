"""Paths that many loops connect are assembled together: with few open ports, correct against dense equations, and in a
number of steps that grows with the logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from exact import exact_tree
from linkwork.algorithms import ALGORITHMS, closing
from linkwork.inside import evaluate
from linkwork.model import Model
from linkwork.model.assembly import Part, assembly_of
from linkwork.spatial import Transform
from linkwork_lab.reproduce.closed_chains.ladders import rope_ladder, state
from linkwork_lab.reproduce.counting import as_written
from linkwork_lab.reproduce.longest_path import longest_path
from strategies import close
from test_assembly import rolled_results
from test_closed_chains import arguments, holds

context = mpmath.mp.clone()
context.dps = 50
ENTRY = closing(method="assembly")
Tree = tuple[list[int], list[tuple[int, int]]]
"""Parents, and the holds of loops."""


def on_the_world(links: int, ropes: int = 2) -> Tree:
    """Ropes that hang from the world, with rungs between neighbours at every link."""
    parents = [rope * links + k if k else 0 for rope in range(ropes) for k in range(links)]
    rungs = range((ropes - 1) * links)
    return [0, *parents], [(rung, rung + 1 + side * links) for rung in rungs for side in (0, 1)]


def on_a_bar(links: int) -> Tree:
    """The same two, hung on one body."""
    parents, held = on_the_world(links)
    return [0, 0, *(parent + 1 for parent in parents[1:])], [(loop, body + 1) for loop, body in held]


def on_a_spine(links: int) -> Tree:
    """The same two, on different links of a chain of four."""
    parents, held = on_the_world(links)
    ropes = [parent + 4 if parent else (2, 3)[k > 0] for k, parent in enumerate(parents[1:])]
    return [0, 0, 1, 2, 3, *ropes], [(loop, body + 4) for loop, body in held]


def on_the_ground(links: int) -> Tree:
    """A chain of so many links, from the second of which another one goes, every link of which is held to the world."""
    behind = [2, *range(links + 1, 2 * links)]
    return [0, *range(links), *behind], [(k, links + 1 + k) for k in range(links)]


MAKE: dict[str, Callable[[int], Tree]] = {
    "world": on_the_world,
    "three": lambda links: on_the_world(links, 3),
    "bar": on_a_bar,
    "spine": on_a_spine,
    "ground": on_the_ground,
}


def ports(part: Part) -> int:
    return len(part.entries) + len(part.exits) + len(part.open)


@pytest.mark.parametrize("name", MAKE)
def test_few_loops_are_open_in_any_part(name: str) -> None:
    """The same number of ports for any length, and levels that grow as the logarithm."""
    most = []
    for links in (32, 256):
        parents, held = MAKE[name](links)
        found = assembly_of(parents, held)
        most.append(max(map(ports, found.parts)))
        assert len(found.levels) <= 3 * log2(len(parents)) + 6
        assert sorted(loop for part in found.parts for loop in part.closed) == sorted({loop for loop, _ in held})
    assert most[0] == most[1] <= 8


def test_few_loops_between_branches_stay_open() -> None:
    """Up to as many as the two paths have ends; and a wide net of short ropes is gathered, not assembled along."""
    for links, ends in ((4, 2), (5, 4)):
        found = assembly_of(*on_the_world(links))
        assert max(len(part.entries) + len(part.exits) for part in found.parts) == ends
    wide = assembly_of(*on_the_world(3, 64))
    assert max(len(part.entries) + len(part.exits) for part in wide.parts) == 2
    assert max(len(part.open) for part in wide.parts) == 6


def model_of(parents: Sequence[int]) -> Model:
    builder = lw.Builder()
    kinds = [lw.joints.Universal("y", "z"), lw.joints.Spherical(), lw.joints.Revolute("x"), lw.joints.Free()]
    for k, parent in enumerate(parents[1:], 1):
        place = lw.placement((0.3, 0.02 * (k % 5), -0.1))
        kind = kinds[0 if parent == 0 else k % 3] if k != 7 else kinds[3]
        solid: dict[str, Any] = {"mass": 1.0 + 0.1 * (k % 3), "com": (0.1, 0, 0.05), "inertia": (0.02, 0.03, 0.025)}
        builder.add_body(f"b{k}", f"b{parent}" if parent else "world", kind, place, **solid)
    return builder.build()


@pytest.mark.parametrize("name", MAKE)
def test_accelerations_and_forces_are_those_of_dense_equations_at_fifty_digits(name: str) -> None:
    """M a = τ - h + Jᵀ λ, J a = -J̇ v - bias; in floats to the digits that these have, and the rolled form has them."""
    parents, places = MAKE[name](6)
    model, frames = model_of(parents), holds(*((f"{loop}", body) for loop, body in places))
    rows = {frame.name: 1 for frame in frames}
    given = arguments(model, frames, rows, 5)
    exact = [[context.mpf(x) for x in array.ravel().tolist()] for array in given]
    q, v, tau, f_ext, C, bias, _ = exact
    nv, names, at = model.nv, list(rows), [lw.Frame("", body, Transform.identity()) for _, body in places]
    tree, seen = exact_tree(model, context.mpf), exact_tree(model, context.mpf, at)
    (M,) = evaluate(ALGORITHMS["mass_matrix"], model, [q], tree=tree)
    (h,) = evaluate(ALGORITHMS["inverse_dynamics"], model, [q, v, [context.mpf(0)] * nv, f_ext], tree=tree)
    (jacobian,) = evaluate(ALGORITHMS["jacobian/local"], model, [q], at, seen)
    (moved,) = evaluate(ALGORITHMS["frame_accelerations/local"], model, [q, v, [context.mpf(0)] * nv], at, seen)
    (poses,) = evaluate(ALGORITHMS["frame_placements"], model, [q], at, seen)
    size = nv + len(names)
    whole, right = context.matrix(size), context.matrix(size, 1)
    for i in range(nv):
        right[i] = tau[i] - h[i]
        for j in range(nv):
            whole[i, j] = M[nv * i + j]
    for k, frame in enumerate(frames):
        row, loop = C[36 * k : 36 * k + 6], nv + names.index(frame.name)
        pose, motion = poses[16 * k : 16 * k + 16], moved[6 * k : 6 * k + 6]
        for i in range(3):  # accelerations have -g in them
            motion[i] -= sum(pose[4 * r + i] * context.mpf(g) for r, g in enumerate(model.gravity))
        right[loop] -= bias[6 * k] + sum(x * y for x, y in zip(row, motion, strict=True))
        for j in range(nv):
            seen_by = sum(row[i] * jacobian[(6 * k + i) * nv + j] for i in range(6))
            whole[loop, j] += seen_by
            whole[j, loop] -= seen_by
    truth = [*context.lu_solve(whole, right)]
    a, _, forces = evaluate(ENTRY, model, exact, frames, exact_tree(model, context.mpf, frames))
    found = [*a, *(forces[6 * [frame.name for frame in frames].index(name)] for name in names)]
    assert max(abs(x - y) for x, y in zip(found, truth, strict=True)) < 1e-36
    rough = evaluate(ENTRY, model, [array.ravel().tolist() for array in given], frames)
    close(rough[0], np.array(a, dtype=float), 1e-10)
    if name == "spine":
        for one, two in zip(rolled_results(ENTRY, model, frames, given), rough, strict=True):
            assert (one + 0.0).tobytes() == (np.array(two) + 0.0).tobytes()


def test_a_rope_ladder_has_logarithmic_depth_and_linear_work() -> None:
    """With each doubling of the rungs the same number of operations in a row, and twice as many in all."""
    ladders = [rope_ladder(rungs) for rungs in (8, 16, 32)]
    paths = [longest_path(ENTRY, each.model, each.holds) for each in ladders]
    assert paths[2] - paths[1] == paths[1] - paths[0] <= 110
    work = [sum(as_written(ENTRY, each.model, each.holds).values()) for each in ladders]
    assert work[2] / work[1] < 2.1
    assert 3 * paths[1] < longest_path(closing(), ladders[1].model, ladders[1].holds)


def test_a_rope_ladder_moves_as_by_virtual_work() -> None:
    model, constraints, _ = rope_ladder(6)
    with lw.interpreted():
        one, two = (
            lw.constrained_dynamics_and_reactions(model, *state(model), constraints, method=method)
            for method in ("virtual_work", "assembly")
        )
    for x, y in zip(one, two, strict=True):
        close(x, y, 1e-11)
