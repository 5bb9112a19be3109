"""The operational-space inertia matrix and the dynamics at operational points: all methods, against Pinocchio and laws.

Bounds are relative to the largest number: 1e-9 against Pinocchio; for laws 1e-10, or more where a matrix is inverted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork.algorithms import ALGORITHMS, OPERATIONAL
from linkwork.algorithms.fewest_operations import fewest_operations
from linkwork.cli.count import counted
from linkwork.inside import machine_code
from linkwork.model import Frame, Model
from linkwork.model.junctions import common_ancestor, junctions_of
from linkwork.model.paths import paths_of
from linkwork_lab.reproduce.counting import as_written, folded
from linkwork_lab.reproduce.operational_inertia import growth
from linkwork_lab.reproduce.operational_inertia.humanoid import two_arms
from linkwork_lab.studies import EXPLICIT_INVERSE
from programs import operations_done, planned, task_of
from strategies import Array, State, close, law, pool
from test_pinocchio import Pair, make

ROBOTS = {"ur5": 1, "allegro_hand": 5, "solo12": 4, "anymal": 2, "g1": 8, "talos": 3, "larger": 6}
"""The number of points for each."""


def spread(names: Sequence[str], count: int) -> list[str]:
    """This number of the names, from the first to the last."""
    return [names[round(k)] for k in np.linspace(0, len(names) - 1, count)]


def transpose(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def points_of(model: Model) -> list[str | lw.Point]:
    """Difficult points: two on one body, one behind another, one on the world, one with an offset."""
    first, *_, last = (name for name in model.frame_names if name != "world")
    return [last, lw.Point(first, (0.1, -0.2, 0.3)), lw.Point(last, (0.0, 0.1, 0.0)), model.frame_names[-2]]


@pytest.mark.parametrize("method", OPERATIONAL)
@pytest.mark.parametrize("name", ROBOTS)
def test_every_method_gives_pinocchios_matrix(name: str, method: str) -> None:
    pair: Pair = make(name)
    shared = [frame for frame in pair.model.frame_names if pair.there.existFrame(frame)]
    frames = spread(shared, ROBOTS[name])

    def inverse(data: pin.Data, q: Array) -> Array:
        ids = [pair.there.getFrameId(frame) for frame in frames]
        J = np.vstack([pin.computeFrameJacobian(pair.there, data, q, i, pin.LOCAL) for i in ids])
        upper = np.triu(pin.crba(pair.there, data, q))
        return J @ np.linalg.solve(upper + np.triu(upper, 1).T, J.T)

    with lw.form("auto" if name == "ur5" else "interpreted"):  # compiled code has the same bits (test_bits)
        found = lw.operational_inertia_inverse(pair.model, pair.state.q, frames, method)
    close(found, pair.each(inverse), 1e-9)


# Laws of every tree of every joint kind, in every form


@law(pool())
def test_all_methods_are_j_m_inverse_j_transposed_and_symmetric(s: State) -> None:
    """Interpreted: compiled code has the same bits (test_bits)."""
    points = points_of(s.model)
    with lw.interpreted():
        J, M = lw.jacobian(s.model, s.q, points), lw.mass_matrix(s.model, s.q)
        responses = transpose(np.linalg.solve(M, transpose(J)))
        close(lw.force_responses(s.model, s.q, points), responses, 1e-10)
        for method in OPERATIONAL:
            inverse = lw.operational_inertia_inverse(s.model, s.q, points, method)
            close(inverse, responses @ transpose(J), 1e-10)
            assert np.array_equal(inverse, transpose(inverse))


@pytest.mark.usefixtures("engine")
@law()
def test_the_inverse_has_no_negative_direction(s: State) -> None:
    inverse = lw.operational_inertia_inverse(s.model, s.q, points_of(s.model))
    values = np.linalg.eigvalsh(inverse)
    assert (values >= -1e-12 * np.abs(values).max(initial=1e-300)).all()


@pytest.mark.usefixtures("engine")
@law()
def test_damped_inertia_and_pseudo_inverse(s: State) -> None:
    points = points_of(s.model)[:2]
    inverse = lw.operational_inertia_inverse(s.model, s.q, points)
    damped = lw.operational_inertia(s.model, s.q, points, damping=0.5)
    close(damped @ (inverse + 0.5 * np.eye(12)), np.broadcast_to(np.eye(12), inverse.shape), 1e-10)
    assert np.array_equal(damped, transpose(damped))
    pseudo = lw.operational_inertia(s.model, s.q, points, pseudo_inverse=True)
    close(inverse @ pseudo @ inverse, inverse, 1e-8)


@pytest.fixture(scope="module")
def humanoid() -> Model:
    return lw.mechanisms.humanoid()


@pytest.fixture(scope="module")
def arms() -> Model:
    return two_arms()


HANDS = ["left_hand", "right_hand"]


@pytest.fixture
def held(engine: str, arms: Model) -> tuple[Model, list[str | lw.Point]]:
    """Two arms and their hands. Compiled code is shorter: arms without wrists, and the hands' positions."""
    if engine == "interpreted":
        return arms, [*HANDS]
    builder = lw.Builder("two short arms")
    solid: dict[str, Any] = {"mass": 2.0, "com": (0.1, 0.0, -0.1), "inertia": (0.02, 0.03, 0.01)}
    builder.add_body("torso", joint=lw.joints.Revolute("z"), **solid)
    for side, y in (("left", 0.2), ("right", -0.2)):
        builder.add_body(f"{side}_arm", "torso", lw.joints.Spherical(), lw.placement((0.0, y, 0.3)), **solid)
        builder.add_body(f"{side}_hand", f"{side}_arm", lw.joints.Revolute("y"), lw.placement((0.1, 0, -0.3)), **solid)
    return builder.build(), [lw.Point(hand, (0.1, 0.2, -0.3), "position") for hand in HANDS]


def test_inertia_and_consistent_inverse(held: tuple[Model, list[str | lw.Point]], engine: str) -> None:
    arms, hands = held
    q, _ = lw.random_state(arms, 3, 3)
    points = [hands[0], lw.Point(HANDS[1], (0.1, 0.0, 0.2), "position")]
    rows = 9 if engine == "interpreted" else 6
    identity = np.broadcast_to(np.eye(rows), (3, rows, rows))
    for method in OPERATIONAL if engine == "interpreted" else ("sparse",):
        inertia = lw.operational_inertia(arms, q, points, method)
        inverse = lw.operational_inertia_inverse(arms, q, points, method)
        close(inertia @ inverse, identity, 1e-9)
        assert np.array_equal(inertia, transpose(inertia))
        assert (np.linalg.eigvalsh(inertia) > 0.0).all()
    consistent = lw.dynamically_consistent_inverse(arms, q, points)
    close(lw.jacobian(arms, q, points) @ consistent, identity, 1e-9)


def test_the_null_space_does_not_accelerate_the_points(held: tuple[Model, list[str | lw.Point]]) -> None:
    arms, hands = held
    rng = np.random.default_rng(4)
    q, v = lw.random_state(arms, rng, 3)
    tau, push = rng.normal(size=(2, 3, arms.nv)) * 10.0
    quiet = lw.null_space_torque(arms, q, push, hands)
    assert np.abs(quiet).max() > 1.0

    def accelerations(torque: Array) -> Array:
        return accelerated(arms, hands, q, v, lw.forward_dynamics(arms, q, v, torque))

    close(accelerations(tau + quiet), accelerations(tau), 1e-9)
    space = lw.operational_space(arms, q, v, hands)
    close(space.null_space_torque(push), quiet, 1e-9)


def accelerated(model: Model, points: Sequence[str | lw.Point], q: Array, v: Array, a: Array) -> Array:
    """The accelerations desired at points: J a + dJ/dt v."""
    return (lw.jacobian(model, q, points) @ a[..., None])[..., 0] + lw.jacobian_drift(model, q, v, points)


def test_forces_at_the_points_give_the_accelerations_they_are_for(held: tuple[Model, list[str | lw.Point]]) -> None:
    arms, hands = held
    rng = np.random.default_rng(5)
    q, v = lw.random_state(arms, rng, 3)
    space = lw.operational_space(arms, q, v, hands)
    wanted = rng.normal(size=space.drift.shape)
    tau = space.torque(space.force(wanted))
    a = lw.forward_dynamics(arms, q, v, tau)
    close(accelerated(arms, hands, q, v, a), wanted, 1e-8)
    mu, p = lw.operational_bias(arms, q, v, hands)
    close(mu, space.coriolis, 1e-12)
    close(p, space.gravity, 1e-12)
    close(
        space.jacobian @ space.consistent_inverse, np.broadcast_to(np.eye(wanted.shape[1]), space.inertia.shape), 1e-9
    )
    still = lw.operational_space(arms, q, 0.0 * v, hands)
    close(still.coriolis, 0.0 * wanted, 1e-9, scale=np.abs(p).max())


def test_a_point_mass_is_felt_as_its_mass(engine: str) -> None:
    builder = lw.Builder()
    last = "world"
    for axis in "xyz":
        mass = {"mass": 3.0, "inertia": (1e-3,) * 3} if axis == "z" else {"mass": 1e-9, "inertia": (1e-12,) * 3}
        last = builder.add_body(f"slide_{axis}", last, lw.joints.Prismatic(axis), **mass)
    model = builder.build()
    point = lw.Point(last, axes="position")
    close(lw.operational_inertia(model, [0.1, 0.2, 0.3], [point]), 3.0 * np.eye(3), 1e-8)
    for direction in ([1, 0, 0], [1, 2, -2]):
        assert lw.effective_mass(model, [0.1, 0.2, 0.3], last, direction) == pytest.approx(3.0, rel=1e-8)


def test_effective_mass_is_infinite_where_nothing_moves() -> None:
    arm = lw.mechanisms.serial_chain(2)
    assert lw.effective_mass(arm, [0.1, 0.2], "tip", [0, 0, 1]) == np.inf
    stretched = lw.effective_mass(arm, [[0.0, 0.0], [0.0, 1.0]], "tip", [1, 0, 0])
    assert stretched[0] > 1e12 and 0.0 < stretched[1] < 1e3


def test_moving_points_need_no_new_code(arms: Model) -> None:
    q, _ = lw.random_state(arms, 6)
    method = fewest_operations(arms, (arms.frame("left_hand").body,))
    for x in (0.0, 0.1, 0.2):
        point = [lw.Point("left_hand", (x, 0.3, 0.0))]
        J = lw.jacobian(arms, q, point)
        expected = J @ np.linalg.solve(lw.mass_matrix(arms, q), J.T)
        close(lw.operational_inertia_inverse(arms, q, point), expected, 1e-10)
    made = [key for key in arms._memo.plans if key[0] == f"operational/{method}" and len(key[2]) == 1]
    assert 0 < len(made) <= 2  # with offsets, and without


# Singular and wrong


def test_a_planar_arm_has_no_pose_inertia(engine: str) -> None:
    arm = lw.mechanisms.serial_chain(3)
    with pytest.raises(lw.SingularError, match=r"of the 6 numbers asked of 'tip' \(pose\) .* only 3 independently"):
        lw.operational_inertia(arm, [0.1, 0.2, 0.3], ["tip"])


def test_two_fingers_of_one_hand_are_not_independent(arms: Model) -> None:
    q, _ = lw.random_state(arms, 1, (2,))
    fingers = ["left_hand", lw.Point("left_hand", (0.1, 0.0, 0.0))]
    with lw.interpreted():
        with pytest.raises(lw.SingularError, match=r"singular at state \[0\] .* 'left_hand' .* only 6 independently"):
            lw.operational_inertia(arms, q, fingers)
        assert np.isfinite(lw.operational_inertia(arms, q, fingers, damping=1e-6)).all()


@pytest.mark.parametrize("engine", ["interpreted"], indirect=True)
def test_wrong_arguments_are_named(humanoid: Model, engine: str) -> None:
    q = lw.neutral(humanoid)
    with pytest.raises(lw.ArgumentError, match=r"method must be one of 'chang_khatib'.* did you mean 'chang_khatib'"):
        lw.operational_inertia(humanoid, q, HANDS, method="changkhatib")
    with pytest.raises(lw.ArgumentError, match="damping must be a number of 0 or more"):
        lw.operational_inertia(humanoid, q, HANDS, damping=-1.0)
    with pytest.raises(lw.UnknownNameError, match="no frame named 'left_hnd'"):
        lw.operational_inertia_inverse(humanoid, q, ["left_hnd"])
    with pytest.raises(lw.ArgumentError, match="direction must be three finite numbers"):
        lw.effective_mass(humanoid, q, "left_hand", [0, 0, 0])
    with pytest.raises(lw.ArgumentError, match="method must be one of"):
        lw.effective_mass(humanoid, q, "left_hand", [0, 0, 1], ["auto"])  # type: ignore[arg-type]


# Cost


def operations(method: str, model: Model, frames: Sequence[str]) -> int:
    return counted(ALGORITHMS[f"operational/{method}"], model, [model.frame(name) for name in frames])["total"]


@pytest.mark.parametrize("method", ["chang_khatib", "extended_propagator", "pv", "sparse"])
def test_recursions_are_linear_in_the_bodies(method: str) -> None:
    """Each further body of a chain costs the same, with two points on it."""
    costs = []
    for bodies in (6, 9, 12, 15):
        chain = lw.mechanisms.serial_chain(bodies, "spherical")
        costs.append(operations(method, chain, ["tip", "body2"]))
    steps = np.diff(costs)
    assert (steps == steps[0]).all() and steps[0] > 0


def test_costs_grow_with_the_points_as_the_papers_say() -> None:
    """Points all along a chain: for a pair, the cost of pv and extended_propagator is constant, that of chang_khatib
    grows with the path between them, and that of sparse with their common ancestors.
    """
    chain = lw.mechanisms.serial_chain(12, "spherical")
    costs = {}
    for method in ("chang_khatib", "extended_propagator", "pv", "sparse"):
        counts = [operations(method, chain, spread(chain.body_names, m)) for m in (2, 4, 8)]
        costs[method] = counts
    eight = [costs[method][2] for method in ("pv", "extended_propagator", "sparse", "chang_khatib")]
    assert eight == sorted(eight)
    longer = lw.mechanisms.serial_chain(15, "spherical")
    for method in costs:
        slopes = []
        for m in (2, 4):  # the price of three bodies more, behind all points but the first
            frames = ["tip", *(f"body{k + 1}" for k in range(m - 1))]
            slopes.append(operations(method, longer, frames) - operations(method, chain, frames))
        assert (slopes[1] > 1.5 * slopes[0]) == (method == "chang_khatib"), (method, slopes)


def written(method: str, model: Model, frames: Sequence[Frame]) -> int:
    return sum(as_written(ALGORITHMS[f"operational/{method}"], model, frames).values())


def test_counts_as_written_are_those_of_the_golden_file(golden: Callable[[str, str], None]) -> None:
    """The cost of a program that does not know its mechanism: zeros of the geometry count, as would idle traversals."""
    cases = {
        "humanoid, both hands": growth.humanoid(2),
        **{f"tree of 127, {m} points": growth.tree(7, m) for m in (1, 2, 4, 8)},
        **{f"chain of 20, {m} points": growth.chain(20, m) for m in (1, 2, 4)},
    }
    counts = {name: {method: written(method, *case) for method in OPERATIONAL} for name, case in cases.items()}
    golden("counts_written.json", json.dumps(counts, indent=1) + "\n")


def branching(branches: int) -> Model:
    """A trunk, two limbs on its middle, and branches beside them."""
    builder = lw.Builder()
    for limb in ("trunk", "left", "right", *(f"branch{k}" for k in range(branches))):
        parent = "world" if limb == "trunk" else "trunk1"
        for k in range(3):
            mass = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (1.0, 1.1, 1.2)}
            parent = builder.add_body(f"{limb}{k}", parent, lw.joints.Revolute((1.0, 2.0, 3.0)), **mass)
    return builder.build()


ON_PATHS: tuple[list[str], ...] = ([], ["left2", "right2"], ["left2", "left1", "right2", "trunk2", "trunk1"])
"""Points that are on no branch."""


@pytest.mark.parametrize("method", ["chang_khatib", "extended_propagator", "pv", "sparse"])
def test_links_off_the_paths_cost_their_articulated_inertia_alone(method: str) -> None:
    """As written, a branch without points costs as much as with no points at all: Fig. 4, dotted nodes."""
    prices = []
    for points in ON_PATHS:
        bare, laden = (
            written(method, model, [model.frame(name) for name in points]) for model in (branching(0), branching(2))
        )
        prices.append(laden - bare)
    assert prices[0] > 0 and len(set(prices)) == 1


@pytest.mark.parametrize("method", ["chang_khatib", "extended_propagator"])
def test_loops_in_code_leave_out_links_off_the_paths(method: str) -> None:
    """The same, counted while the rolled program runs; it is one program for all of these robots and points."""
    program = None
    prices = []
    for points in ON_PATHS[1:]:
        totals = []
        for model in (branching(0), branching(2)):
            loops = planned(task_of(ALGORITHMS[f"operational/{method}"], model, points), "rolled").loops
            program = vars(loops)["laid_out"] = program or loops.laid_out
            q, _ = lw.random_state(model, 1)
            (found,), done = operations_done(loops, [q])
            totals.append(done.total())
            with lw.interpreted():
                close(found.reshape(6 * len(points), -1), lw.operational_inertia_inverse(model, q, points), 1e-12)
        prices.append(totals[1] - totals[0])
    assert prices[0] == prices[1] > 0


def test_pairs_that_share_no_body_cost_nothing() -> None:
    """Two arms on the world: as much as each alone."""
    builder = lw.Builder()
    for name in ("left", "right"):
        builder.add_body(f"{name}1", "world", lw.joints.Revolute("x"), mass=1.0, inertia=(1.0, 1.0, 1.0))
        builder.add_body(f"{name}2", f"{name}1", lw.joints.Revolute("y"), mass=1.0, inertia=(1.0, 1.0, 1.0))
    model = builder.build()
    left, right = model.frame("left2"), model.frame("right2")
    for method in ("chang_khatib", "extended_propagator", "sparse"):
        none, *each, both = (written(method, model, points) for points in ([], [left], [right], [left, right]))
        assert both - none == sum(each) - 2 * none, method


def test_the_explicit_inverse_is_the_same_matrix_and_cubic(arms: Model) -> None:
    q, _ = lw.random_state(arms, 3)
    frames = [arms.frame(name) for name in HANDS]
    with lw.interpreted():
        expected = lw.operational_inertia_inverse(arms, q, HANDS)
    for form in ("interpreted", "looped"):
        (found,) = machine_code(EXPLICIT_INVERSE, arms, frames, form)(q[None])
        close(found.reshape(12, 12), expected, 1e-10)
    chains = [growth.chain(n, 1) for n in (4, 8, 12, 16, 20)]
    counts = [sum(as_written(EXPLICIT_INVERSE, *chain).values()) for chain in chains]
    assert not np.diff(counts, 4).any() and np.diff(counts, 3)[0] > 2 * 6 * 4**3 * 0.99


FEWEST = {
    "dense": [("ur5", 1), ("xarm7", 1), ("ur5", 4), ("panda", 3)],
    "chang_khatib": [("chain 20", 16)],
    "pv": [("humanoid", 1), ("chain 20", 2), ("chain 20", 4), ("icub", 6), ("talos", 3), ("anymal", 8), ("g1", 4)],
    "sparse": [
        *(("humanoid", points) for points in (6, 12, 16)), *(("tree 5", points) for points in (2, 8, 16)),
        ("solo12", 4),
    ],
}  # fmt: skip
"""Mechanisms and numbers of points, under the method that auto chooses."""


def test_auto_takes_few_operations() -> None:
    """At most 30 % more than the fewest, and in nine of ten cases at most 15 %."""
    ratios = []
    for method, name, points in ((method, *case) for method, cases in FEWEST.items() for case in cases):
        kind, _, size = name.partition(" ")
        if kind in ("tree", "chain", "humanoid"):
            made = {"tree": growth.tree, "chain": growth.chain}.get(kind)
            model, frames = made(int(size), points) if made else growth.humanoid(points)
        else:
            model = make(name).model
            frames = [model.frame(body) for body in spread(model.body_names, points)]
        assert fewest_operations(model, tuple(frame.body for frame in frames)) == method, (name, points)
        if len(model.bodies) * points > 80:
            continue  # counting takes long
        counts = {m: sum(folded(ALGORITHMS[f"operational/{m}"], model, frames).values()) for m in OPERATIONAL}
        ratios.append(counts[method] / min(counts.values()))
    assert max(ratios) < 1.3 and np.quantile(ratios, 0.9) < 1.15


@pytest.mark.parametrize("engine", ["interpreted"], indirect=True)
def test_auto_is_the_method_that_it_names(humanoid: Model, engine: str) -> None:
    """It is chosen before the form."""
    q, _ = lw.random_state(humanoid, 1)
    many = list(humanoid.body_names[::2])
    fingers = [lw.Point("left_hand", (x, 0.0, 0.0)) for x in (0.0, 0.1)]
    for frames, method in ((HANDS, "sparse"), (many, "sparse"), (fingers, "pv"), ([], "sparse"), (["world"], "pv")):
        auto = lw.operational_inertia_inverse(humanoid, q, frames)
        assert np.array_equal(auto, lw.operational_inertia_inverse(humanoid, q, frames, method))


# Junctions


def test_junctions_of_a_small_tree() -> None:
    #  0 - 1 - 2 - 3        two points on 3, one on 6, one on 5
    #       \   \ 6
    #        4 - 5
    parents = [0, 0, 1, 2, 1, 4, 2]
    table, of_points = junctions_of(parents, [3, 3, 6, 5])
    assert table == [(0, 0), (1, 0), (2, 1), (3, 2)]
    assert of_points == [3, 3, 2, 1]
    assert [common_ancestor(parents, *pair) for pair in ((3, 6), (3, 5), (3, 3), (2, 6), (0, 5))] == [2, 1, 3, 2, 0]
    assert junctions_of(parents, [3]) == ([(0, 0)], [0])


def test_stations_of_a_small_tree() -> None:
    #  0 - 1 - 2 - 3        two points on 3, one on 6, one on 5, one on the world
    #   \   \   \ 6
    #    7   4 - 5
    parents = [0, 0, 1, 2, 1, 4, 2, 0]
    found = paths_of(parents, [6, 3, 0, 5, 3])
    assert found.bodies == [1, 2, 3, 6, 4, 5]
    assert [station.body for station in found.stations] == [1, 2, 3, 6, 5]
    one, two, three, six, five = found.stations
    assert (one.behind, one.after, one.stations_behind, one.points) == ((2, 5), (5, 5), (2, 5), (1, 1))
    assert (two.behind, two.stations_behind, two.above) == ((3, 4), (3, 4), 1)
    assert (three.behind, three.after, three.above, three.points) == ((4, 4), (4, 7), 2, (1, 3))
    assert (six.after, six.above, five.after, five.above) == ((5, 7), 1, (7, 7), 0)
    assert found.points == [1, 4, 0, 3]
    assert [place.outermost for place in found.places] == [1, 1, 0, 1, 1]
    assert [(place.behind, place.after) for place in found.places] == [
        ((3, 4), (4, 5)), ((1, 3), (3, 5)), ((1, 1), (1, 1)), ((4, 5), (5, 5)), ((2, 3), (3, 5)),
    ]  # fmt: skip


def test_every_pair_that_shares_a_body_is_named_once() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        parents = [0, *(int(rng.integers(0, k)) for k in range(1, 12))]
        points = rng.integers(0, 12, size=6).tolist()
        found = paths_of(parents, points)
        pairs = [
            tuple(sorted((k, other)))
            for k, place in enumerate(found.places)
            for other in found.points[place.behind[0] - 1 : place.after[1] - 1]
        ]
        sharing = {(a, b) for a in range(6) for b in range(a, 6) if common_ancestor(parents, points[a], points[b])}
        assert sorted(pairs) == sorted(sharing)


# Everything at once, seen from any reference: one kernel, and the text over floats


def _arm(count: int = 4) -> Model:
    builder = lw.Builder("bent arm")
    last = "world"
    for k in range(count):
        place = lw.placement((0.1 * (k > 0), 0.05 * k, 0.2), (0.3 * k, -0.2, 0.1 * k))
        numbers = {"mass": 3.0 - 0.3 * k, "com": (0.1, 0.02, 0.05), "inertia": (0.03, 0.02, 0.04)}
        last = builder.add_body(f"link{k}", last, lw.joints.Revolute((0.3, -0.5, 1.0)), place, **numbers)
    builder.add_frame("tip", last, lw.placement((0.1, 0.2, 0.1), (0.4, 0.2, 0.1)))
    return builder.build()


@pytest.mark.parametrize(
    ("reference", "engine"),
    [
        ("local", "interpreted"),
        ("world", "specialised"),
        ("local_world_aligned", "specialised"),
        ("local", "rolled"),
    ],
    indirect=["engine"],
)
def test_operational_space_is_what_dense_matrices_give(reference: str, engine: str) -> None:
    arm = _arm()
    points = [lw.Point("tip", (0.05, 0.0, 0.1), "position")]  # whose rows in the world need all six of its own
    q, v = lw.random_state(arm, 8, 5)
    space = lw.operational_space(arm, q, v, points, reference=reference)
    tau = np.random.default_rng(1).normal(size=(5, arm.nv))
    with lw.interpreted():
        J, drift = lw.jacobian(arm, q, points, reference), lw.jacobian_drift(arm, q, v, points, reference)
        M_inverse = np.linalg.inv(lw.mass_matrix(arm, q))
        gravity = lw.gravity_torques(arm, q)
        moving = lw.nonlinear_effects(arm, q, v) - gravity
        a = lw.forward_dynamics(arm, q, v, tau)
    inverse = J @ M_inverse @ transpose(J)
    inertia = np.linalg.inv(inverse)
    consistent = M_inverse @ transpose(J) @ inertia
    felt = transpose(consistent)
    assert np.array_equal(space.jacobian, J) and np.array_equal(space.drift, drift)
    close(space.inertia_inverse, inverse, 1e-12)
    assert np.array_equal(space.inertia, transpose(space.inertia))
    close(space.inertia, inertia, 1e-9)
    close(space.consistent_inverse, consistent, 1e-9)
    close(space.coriolis, (felt @ moving[..., None] - inertia @ drift[..., None])[..., 0], 1e-9)
    close(space.gravity, (felt @ gravity[..., None])[..., 0], 1e-9)
    # F = Λ a + μ + p is the same law from everywhere
    seen = (J @ a[..., None])[..., 0] + drift
    close(space.force(seen), (felt @ tau[..., None])[..., 0], 1e-8)
    # one state, and one written into the arrays of another
    alone = lw.operational_space(arm, q[2], v[2], points, reference=reference)
    for name, value in vars(alone).items():
        assert np.array_equal(value, getattr(space, name)[2])
    assert lw.operational_space(arm, q[3], v[3], points, reference=reference, out=alone) is alone
    assert np.array_equal(alone.consistent_inverse, space.consistent_inverse[3])


def test_a_singular_state_among_others_is_said_and_damping_helps(engine: str) -> None:
    arm = lw.mechanisms.serial_chain(3)
    tip = [lw.Point("tip", axes="position")]
    bent, straight = [0.3, 0.5, -0.4], [0.1, 0.0, 0.0]
    with pytest.raises(lw.SingularError, match=r"at state \[1\] of the batch: of the 3 numbers asked of 'tip'"):
        lw.operational_space(arm, [bent, straight], np.zeros(3), tip)
    damped = lw.operational_space(arm, [bent, straight], np.zeros(3), tip, damping=0.1)
    close(damped.inertia @ (damped.inertia_inverse + 0.1 * np.eye(3)), np.eye(3) + np.zeros((2, 3, 3)), 1e-12)
    other = lw.operational_space(arm, bent, np.zeros(3), tip, damping=0.2)  # the same code, another number
    close(other.inertia @ (other.inertia_inverse + 0.2 * np.eye(3)), np.eye(3), 1e-12)
    with pytest.raises(lw.ArgumentError, match="damping must"):
        lw.operational_space(arm, bent, np.zeros(3), tip, damping=-1.0)
    with pytest.raises(lw.ArgumentError, match="reference must be one of"):
        lw.operational_space(arm, bent, np.zeros(3), tip, damping=0.1, reference="body")
    with pytest.raises(lw.ArgumentError, match=r"out must be an lw.OperationalSpace"):
        lw.operational_space(arm, bent, np.zeros(3), tip, damping=0.1, out=np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(lw.ArgumentError, match=r"v\[1\] .* is nan"):
        lw.operational_space(arm, bent, [0.0, np.nan, 0.0], tip, damping=0.1)


def test_no_states_have_no_forces_at_points() -> None:
    model = lw.mechanisms.serial_chain(3)
    with lw.interpreted():
        space = lw.operational_space(model, np.empty((0, 3)), np.empty((0, 3)), ["tip"])
    assert space.coriolis.shape == space.gravity.shape == (0, 6)
