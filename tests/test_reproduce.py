"""The paper's experiments in their quick form: the data, and the files that are written."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork import cli, pictures
from linkwork.algorithms import ALGORITHMS, OPERATIONAL
from linkwork.spatial import sin_cos
from linkwork_lab.reproduce import counting, longest_path, schedule, truth, virtual_work
from linkwork_lab.reproduce.clock import crossover
from linkwork_lab.reproduce.constraint_force.chains import CHAINS
from linkwork_lab.reproduce.constraint_force.times import _scalar
from linkwork_lab.reproduce.operational_inertia import many_points
from linkwork_lab.reproduce.operational_inertia.growth import winners
from linkwork_lab.reproduce.steps import steps as steps_of
from linkwork_lab.reproduce.virtual_work import swing
from strategies import close, state_of

PICTURES = {
    "virtual-work": "figure4 figure5 figure6 figure7 stars long counts errors errors_masses",
    "operational-inertia": "humanoid links points map figure4 visits",
    "constraint-force": "times steps processors branches errors claim",
}


class Reproduced(NamedTuple):
    """The output of an experiment in its quick form: its folder with the data, and its figures before saving."""

    folder: Path
    data: Any
    pictures: dict[str, Any]


def reproduced(experiment: str, folder: Path) -> Reproduced:
    drawn: dict[str, Any] = {}

    def keep(picture: Any, folder: Path, name: str) -> list[Path]:
        picture.set_layout_engine("none")  # finding a layout and drawing points take longest
        picture.draw_without_rendering()
        drawn[name] = picture
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"linkwork_lab.reproduce.{experiment.replace('-', '_')}.plots.save", keep)
        assert cli.main(["reproduce", experiment, "--quick", "--out", str(folder)]) == 0
    return Reproduced(folder, json.loads((folder / "data.json").read_text(encoding="utf-8")), drawn)


@pytest.fixture(scope="module")
def of_virtual_work(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    return reproduced("virtual-work", tmp_path_factory.mktemp("virtual-work"))


@pytest.fixture(scope="module")
def data(of_virtual_work: Reproduced) -> Any:
    return of_virtual_work.data


def test_saved_data_can_be_shown_again(
    of_virtual_work: Reproduced, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virtual_work, "draw", lambda data, folder: [])  # pictures take long
    saved = of_virtual_work.folder / "data.json"
    assert cli.main(["reproduce", "virtual-work", "--from-json", str(saved), "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "serial, 30 DoF" in out and "articulated body" in out and "the paper says" in out
    assert (tmp_path / "data.json").read_bytes() == saved.read_bytes()


def test_saved_data_that_cannot_be_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none.json"
    assert cli.main(["reproduce", "virtual-work", "--from-json", str(missing), "--out", str(tmp_path)]) == 2
    assert str(missing) in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("chain", ["serial", "branched"])
def test_chains_fall_and_keep_their_energy(data: Any, chain: str) -> None:
    swung = data["swings"][chain]
    assert swung["drift"] < 1e-6
    first, last = np.array(swung["points"])[[0, -1]]
    assert np.ptp(first[..., 2]) < 1e-9, "it starts in a horizontal plane"
    assert last[..., 2].min() < first[..., 2].min() - 0.5
    assert np.linalg.norm(last[:, 1] - last[:, 0], axis=1) == pytest.approx(0.3)


def test_the_integration_is_of_fourth_order() -> None:
    model, q0 = swing.branched()
    v0 = np.random.default_rng(0).normal(size=model.nv)

    def end(steps: int) -> np.ndarray:
        q, v = q0, v0
        for _ in range(steps):
            q, v = swing.runge_kutta(
                model, lambda q, v: lw.forward_dynamics(model, q, v, np.zeros(30)), q, v, 0.05 / steps
            )
        return np.concatenate([q, v])

    exact = end(160)
    order = math.log2(abs(end(10) - exact).max() / abs(end(20) - exact).max())
    assert 3.7 < order < 4.5


def test_all_results_agreed_before_they_were_timed(data: Any) -> None:
    times = data["times"]
    for experiment in (times["serial"], times["long"], *times["stars"].values()):
        for name, seconds in experiment["seconds"].items():
            assert seconds[0] is not None and seconds[0] > 0.0, name


def test_counts_on_stars_are_linear_with_splitting_and_cubic_without(data: Any) -> None:
    counts = data["counts"]["stars"]
    assert np.diff(counts["sizes"]).tolist() == [1, 1, 1, 1]
    totals = {name: np.array(numbers) for name, numbers in counts["totals"].items()}
    for name in ("articulated_body", "virtual_work", "virtual_work_split"):
        assert not np.diff(totals[name], 2).any(), f"{name} is linear"
    assert not np.diff(totals["unit_vector"], 3).any() and (np.diff(totals["unit_vector"], 2) > 0).all()
    assert (
        not np.diff(totals["virtual_work_unsplit"], 4).any() and (np.diff(totals["virtual_work_unsplit"], 3) > 0).all()
    )


def test_folding_only_takes_operations_away(data: Any) -> None:
    for rows in data["counts"]["by_kind"].values():
        for row in rows.values():
            assert 0 < sum(row["folded"].values()) < sum(row["written"].values())
            assert row["folded"]["sine, cosine"] <= row["written"]["sine, cosine"]


def test_operations_are_counted_by_kind() -> None:
    found = counting.as_written(ALGORITHMS["articulated_body"], lw.mechanisms.pendulum())
    assert found["sine, cosine"] == 2 and found["divide"] == 1 and found["square root"] == 0


def test_errors_are_small_where_the_mechanism_is_well_made(data: Any) -> None:
    for case in data["rounding"]["over_size"].values():
        for method, errors in case["errors"].items():
            assert max(errors) < 1e-12, (case["label"], method)


def test_errors_tell_the_methods_apart_on_ill_matched_masses(data: Any) -> None:
    worst = {
        name: {m: e[-1] for m, e in case["errors"].items()} for name, case in data["rounding"]["over_ratio"].items()
    }
    assert worst["floating"]["virtual_work"] < 1e-12 < worst["floating"]["articulated_body"]
    assert worst["first"]["articulated_body"] < 1e-12 < worst["first"]["virtual_work"] < 1e-5
    assert worst["first"]["virtual_work"] < worst["first"]["virtual_work_unsplit"], "factors keep digits"


def test_truth_and_error_of_a_known_result() -> None:
    pendulum = lw.mechanisms.pendulum()
    q, v, tau = np.array([0.3]), np.array([0.0]), np.array([0.0])
    (exact,) = truth.exact(ALGORITHMS["articulated_body"], pendulum, [q, v, tau, None])
    result = lw.forward_dynamics(pendulum, q, v, tau)
    assert truth.relative_error(result.tolist(), exact) < 1e-15
    assert truth.relative_error((1.001 * result).tolist(), exact) == pytest.approx(1e-3)


def test_crossover() -> None:
    assert crossover([1, 2, 3], [0.0, 1.0, 4.0], [1.0, 2.0, 3.0]) == pytest.approx(2.5)
    assert crossover([1, 2], [2.0, 3.0], [1.0, 1.0]) == 1
    assert crossover([1, 2], [1.0, 1.0], [2.0, 3.0]) is None
    assert crossover([1, 2, 3], [0.0, 2.0, None], [1.0, 1.0, 1.0]) == pytest.approx(1.5)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(pictures, "import_module", absent)
    with pytest.raises(lw.MissingExtraError, match=r"linkwork\[plot\]"):
        pictures.figure(1.0, 1.0)
    monkeypatch.setattr(truth, "import_module", absent)
    truth._context.cache_clear()
    with pytest.raises(lw.MissingExtraError, match="mpmath"):
        truth.relative_error([1.0], [1.0])


@pytest.fixture(scope="module")
def of_operational_inertia(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    return reproduced("operational-inertia", tmp_path_factory.mktemp("operational-inertia"))


@pytest.fixture(scope="module")
def operational(of_operational_inertia: Reproduced) -> Any:
    return of_operational_inertia.data


def test_all_operational_methods_agreed_and_were_timed(operational: Any) -> None:
    humanoid = operational["humanoid"]
    assert humanoid["links"] == 7 and humanoid["points"] == ["left_hand", "right_hand"]
    for seconds in (*humanoid["seconds"].values(), operational["servo"]):
        assert all(time > 0.0 for time in seconds.values())
    assert all(list(seconds) == list(OPERATIONAL) for seconds in humanoid["seconds"].values())
    for found in (*operational["over_links"].values(), *operational["over_points"].values()):
        assert set(winners(found["operations"])) <= set(OPERATIONAL)
        for name, times in found.get("seconds", {}).items():
            sizes = found["links" if name == "explicit_inverse" else "depth"]
            most = 10 if name == "explicit_inverse" else 20
            short = [time for time, size in zip(times, sizes, strict=True) if size <= most]
            assert len(times) == len(found["links"]) and all(time is not None for time in short), name
    for found in operational["map"].values():
        assert np.shape([winners(row) for row in found["seconds"]]) == (len(found["points"]), len(found["links"]))


def test_operations_of_the_operational_inertia_are_linear_in_links(operational: Any) -> None:
    found = operational["over_links"]["chains"]
    assert not np.diff(found["links"], 2).any() and set(found["points"]) == {2}
    for name in ("chang_khatib", "extended_propagator", "pv", "sparse"):
        assert not np.diff(found["operations"][name], 2).any(), name
    assert found["operations"]["dense"][1] > 2.5 * found["operations"]["dense"][0]


def test_operations_of_the_operational_inertia_grow_with_points_as_the_paper_says(operational: Any) -> None:
    found = operational["over_points"]["fan"]
    assert found["points"] == [1, 2, 3, 4] and set(found["links"]) == {20}
    assert not np.diff(found["operations"]["chang_khatib"], 3).any(), "nm + m² for the inverse"
    tree = operational["over_points"]["tree"]
    assert tree["points"] == [1, 2, 3, 4] and set(tree["links"]) == {7}
    step6 = [operational["inversion"]["operations"][k] for k in range(4)]
    assert np.diff(step6, 3)[0] == pytest.approx(6 * 6**3 * 7 / 3, rel=0.2), "and m³ for its inversion"


def test_many_points_on_a_floating_base_move_as_they_are_asked_to() -> None:
    """Motors alone, and feet at rest: the points' accelerations are those of the law, the pelvis gets no torque."""
    model = many_points.robot()
    with lw.interpreted():
        law = many_points.ManyPoints(model, many_points.POINTS[16])
        q = lw.integrate(model, law.q0, 0.01 * np.random.default_rng(1).normal(size=model.nv))
        v = np.zeros(model.nv)
        torque = law.torque(0.3, q, v)
        places = lw.forward_kinematics(model, q, law.points)
        feet = [lw.Weld(foot, placement=place) for foot, place in zip(many_points.FEET, places[:2], strict=True)]
        a, _ = lw.constrained_dynamics(model, q, v, torque, feet)
        found = lw.frame_acceleration(model, q, v, a, law.points, "local_world_aligned")
    at, speed, change = law.reference(0.3)
    asked = change + many_points.DAMPING * speed + many_points.STIFFNESS * (at - places[2:, :3, 3])
    assert not torque[:6].any()
    np.testing.assert_allclose(found[2:, :3], asked, atol=1e-7 * np.abs(asked).max())
    assert np.abs(found[:2]).max() < 1e-9


def test_links_off_the_paths_are_not_visited(operational: Any) -> None:
    """Fig. 4: steps 1 and 2 are for all links, steps 3 and 4 for those on paths; points add work only there."""
    found = operational["visits"]
    parents = [0, *found["parents"]]
    assert len(parents) == 8 and found["points"] == [2, 4]
    for bodies, work, added in zip(found["bodies"], found["steps"], found["added"], strict=True):
        on_paths = set()
        for body in bodies:
            while body:
                on_paths.add(body)
                body = parents[body]
        assert all(count > 0 for panel in "ab" for count in work[panel])
        visited = {panel: {link for link, count in enumerate(work[panel], 1) if count} for panel in "cd"}
        assert visited["c"] == on_paths and visited["d"] == on_paths - {1}, "Ω of the root is its own"
        for method, row in added.items():
            assert {link for link, count in enumerate(row, 1) if count} == on_paths, method


@pytest.fixture(scope="module")
def of_constraint_force(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    return reproduced("constraint-force", tmp_path_factory.mktemp("constraint-force"))


@pytest.fixture(scope="module")
def constraint(of_constraint_force: Reproduced) -> Any:
    return of_constraint_force.data


@pytest.mark.parametrize("experiment", PICTURES)
def test_every_picture_is_drawn_and_every_axis_has_a_label(experiment: str, request: pytest.FixtureRequest) -> None:
    made: Reproduced = request.getfixturevalue(f"of_{experiment.replace('-', '_')}")
    assert [path.name for path in made.folder.iterdir()] == ["data.json"]
    assert set(made.pictures) == set(PICTURES[experiment].split())
    for name, picture in made.pictures.items():
        if picture.get_supxlabel() and picture.get_supylabel():
            continue
        for axes in picture.axes:
            if axes.axison:
                rows, columns = axes.get_shared_y_axes(), axes.get_shared_x_axes()
                assert any(other.get_ylabel() for other in rows.get_siblings(axes)), name
                assert any(other.get_xlabel() for other in columns.get_siblings(axes)), name


def test_all_forms_of_the_constraint_force_algorithm_agreed_and_were_timed(constraint: Any) -> None:
    for found in constraint["times"].values():
        assert found["links"] == [10, 100]
        for method, (short, long) in found["seconds"].items():
            assert long > 0.0, method
            assert (short is None) == method.endswith(("lanes", "team")), "short chains have one lane"
    found = constraint["pieces"]["spherical"]
    assert found["pieces"] == [16] and all(0.0 < found[form][0] < 1.0 for form in ("lanes", "team"))


def test_one_lane_runs_chains_that_are_worth_a_team_too() -> None:
    for links in (100, 2000):
        model = CHAINS["spherical"](links)
        s = state_of(model, 0)
        expected = lw.forward_dynamics(model, s.q, s.v, s.tau)
        close(np.asarray(_scalar(model)(s.q, s.v, s.tau)), expected, 1e-8)


def test_steps_grow_as_the_logarithm_and_operations_as_the_links(constraint: Any) -> None:
    assert list(constraint["growth"]) == ["revolute", "spherical", "mixed", "floating"]
    for found in constraint["growth"].values():
        assert found["links"] == [8, 16, 32]
        assert np.diff(found["depth"]).tolist() == [4, 4] and found["depth"][0] <= 4 * 3 + 12
        assert len(set(np.diff(found["span"]))) == 1, "as the logarithm, too"
        work = found["work"]["constraint_force"]
        assert 1.9 < work[2] / work[1] < 2.2
        assert all(ours > theirs for ours, theirs in zip(work, found["work"]["articulated_body"], strict=True))
    for rows in constraint["operations"].values():
        assert all(0 < row["folded"] < row["written"] for row in rows.values())


def test_the_original_algorithm_fails_where_the_paper_says_and_this_one_does_not(constraint: Any) -> None:
    found = constraint["claim"]
    sound = {"hinges", "sliders", "hinges and sliders", "universal joints", "hinges, floating base"}
    for unit in ("m", "mm"):
        for k, joints in enumerate(found["joints"]):
            errors = {form: row[k] for form, row in found[unit].items()}
            assert errors["this, at the joints"] < 1e-12 and errors["this, in the world"] < 1e-9, (joints, unit)
            assert (errors["original, at the joints"] < 1e-12) == (joints in sound), (joints, unit)
            assert (errors["original, in the world"] < 1e-9) == (joints == "sliders"), (joints, unit)
    for k, joints in enumerate(found["joints"]):
        differ = {form: row[k] for form, row in found["units"].items()}
        assert differ["this, at the joints"] < 1e-12
        if "screws" in joints:
            assert differ["original, at the joints"] > 1e3, "the error itself depends on units"


def test_side_branches_need_their_bias(constraint: Any) -> None:
    found = constraint["bias"]
    assert max(found["with"]) < 1e-11 and min(found["without"]) > 1e-2


def test_the_longest_path_grows_as_the_logarithm(constraint: Any) -> None:
    for name, found in constraint["growth"].items():
        first, second = np.diff(found["path"]["constraint_force"])
        assert first == second > 0, name
        serial = np.diff(found["path"]["articulated_body"])
        assert serial[1] == pytest.approx(2 * serial[0], rel=0.1), "in proportion to the links"
        assert all(path < span for path, span in zip(found["path"]["constraint_force"], found["span"], strict=True))


def test_a_longest_path_is_that_of_the_text() -> None:
    depth = longest_path.Depth
    a, b = depth(3), depth(5)
    assert (a + b).depth == (2.0 * b).depth == (-b).depth == b.sqrt().depth == 6 and sin_cos(a)[1].depth == 4
    assert (a < b).select(a, 1.0).depth == 5
    stars = [lw.mechanisms.star(k) for k in (8, 16, 32)]
    paths = [longest_path.longest_path(ALGORITHMS["constraint_force"], star) for star in stars]
    assert np.diff(paths).tolist() == [1, 1], "a body's branches are summed pairwise"
    turns = {max(steps_of(ALGORITHMS["constraint_force"], star).longest) for star in stars}
    assert len(turns) == 1, "no turn grows with the branches"
    for k, rounds in ((1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3)):
        deep = steps_of(ALGORITHMS["constraint_force"], lw.mechanisms.star(k + 1)).depth  # one end is on the chain
        assert deep == steps_of(ALGORITHMS["constraint_force"], lw.mechanisms.star(2)).depth + rounds


def test_the_form_of_the_paper_goes_along_the_chain_by_scans() -> None:
    world = ALGORITHMS["constraint_force_world"]
    costs = [steps_of(world, lw.mechanisms.serial_chain(n)) for n in (4, 8, 16)]
    assert np.diff([cost.depth for cost in costs]).tolist() == [10, 10] and not any(cost.alone for cost in costs)
    paths = [longest_path.longest_path(world, lw.mechanisms.serial_chain(n)) for n in (8, 16, 32)]
    assert paths[2] - paths[1] == paths[1] - paths[0]


def test_processors_gain_what_operations_allow(constraint: Any) -> None:
    for found in constraint["gains"].values():
        one, (free, *others) = found["articulated_body"], found["machines"].values()
        for form, line in free.items():
            gains = line["gain"]
            assert gains == sorted(gains), "more processors are never slower"
            assert gains[0] == pytest.approx(one / found["work"][form])
            assert all(gain <= p * gains[0] * (1 + 1e-12) for p, gain in zip(line["processors"], gains, strict=True))
            assert not any(line["messages"])
            for other in others:
                slower = other[form]
                assert all(mine <= ideal * (1 + 1e-12) for mine, ideal in zip(slower["gain"], gains, strict=True))
                assert slower["messages"][0] == 0.0 and all(0.0 < part < 1.0 for part in slower["messages"][1:])
    short, long = constraint["gains"].values()
    assert (short["segments"], long["segments"]) == (None, 16)
    ends = [found["machines"]["no communication"]["constraint_force"]["gain"][-1] for found in (short, long)]
    assert ends[1] > ends[0] > 1.0
    cluster = long["machines"]["cluster (MPI)"]["constraint_force"]
    assert max(cluster["gain"]) < 1.0 and cluster["messages"][-1] > 0.9, "messages eat the gain of a short chain"


def test_a_machine_runs_tasks_when_their_numbers_are_there() -> None:
    machine = schedule.Machine("two", 2, rate=10.0, latency=3.0, bandwidth=16.0)
    tasks = [
        schedule.Task(0.1, 20),
        schedule.Task(0.9, 10),
        schedule.Task(0.9, 10, {0: 4}),
        schedule.Task(None, 10, {2: 1, 0: 1}),
    ]
    alone, both = (schedule.run(tasks, machine, count) for count in (1, 2))
    assert (alone.seconds, alone.waiting) == (5.0, 0.0)
    # 2 s, a message of four numbers: 3 s + 2 s, 1 s, a message of one: 3 s + 0.5 s, 1 s
    assert both.seconds == 12.5 and both.waiting == pytest.approx(8.5 / 12.5)


def test_what_is_recorded_is_what_is_counted() -> None:
    chain = lw.mechanisms.serial_chain(6, "spherical")
    for name in ("articulated_body", "constraint_force", "virtual_work"):
        tasks = schedule.record(ALGORITHMS[name], chain)
        counted = sum(counting.as_written(ALGORITHMS[name], chain).values())
        assert sum(task.operations for task in tasks) == counted, name
        assert all(number < k for k, task in enumerate(tasks) for number in task.reads)
        assert (len(tasks) == 1) == (name != "constraint_force")


def test_side_branches_cost_steps_for_their_length_only(constraint: Any) -> None:
    found = constraint["branches"]
    assert found["bodies"] == [8 * 4, 16 * 5]
    assert max(found["difference"]) < 1e-11
    for n, branched, plain in zip(found["links"], found["depth"]["branched"], found["depth"]["plain"], strict=True):
        assert branched - plain == 3 * math.log2(n)
    each = [total / count for total, count in zip(found["work"]["branched"], found["bodies"], strict=True)]
    assert all(mine < total / n for mine, total, n in zip(each, found["work"]["plain"], found["links"], strict=True))


def test_errors_of_the_constraint_force_algorithm(constraint: Any) -> None:
    assert len(constraint["rounding"]) == 6
    for case in constraint["rounding"].values():
        assert case["values"] == [10, 60] and case["errors"]["constraint_force_segments"][0] is None
        for method in ("articulated_body", "virtual_work", "constraint_force", "constraint_force_segments"):
            assert 0.0 < case["errors"][method][1] < 1e-13, (case["label"], method)
        assert case["errors"]["constraint_force_world"][1] > 10 * case["errors"]["constraint_force"][1]


@pytest.mark.parametrize("name", CHAINS)
def test_chains_that_are_timed(name: str) -> None:
    model = CHAINS[name](70)
    assert len(model.bodies) == (10 * (1 + 3) if name == "branched" else 70)
    s = state_of(model, 0)
    with lw.interpreted():
        expected = lw.forward_dynamics(model, s.q, s.v, s.tau)
        close(lw.forward_dynamics(model, s.q, s.v, s.tau, method="constraint_force"), expected, 1e-10)
