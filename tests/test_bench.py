"""``linkwork bench``: its comparisons, checks and saved data. No time is asserted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import linkwork as lw
from linkwork import cli
from linkwork.algorithms import FORWARD_DYNAMICS
from linkwork_lab.bench import Settings, Subject, chains, measure, measurements, standard, subjects, without
from linkwork_lab.bench.cases import CASES, States
from linkwork_lab.bench.contest import Contestant, UnavailableError, contest, difference, ours
from linkwork_lab.bench.peers import factories, mujoco, pinocchio
from linkwork_lab.bench.plot import plot_chains
from linkwork_lab.bench.report import FOOTNOTE, chain_table, duration, markdown
from linkwork_lab.bench.targets import compare

TINY = Settings(
    visits=1,
    rounds=1,
    seconds=1e-5,
    batch=9,
    large=18,
    singles=2,
    threads=(9, 18),
    first_rounds=1,
    chains=(2, 5),
    chain_batch=9,
    memory=(20, 2000),
    rollout=(9, 5),
    rollout_memory=2000,
)
CHAIN = Subject("chain", "serial_chain:1", floating_base=True, large=True)


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return measure([CHAIN], ["pin", "mujoco"], TINY)


def test_of_several_visits_the_best_time_counts() -> None:
    def row(own: float, in_place: float, peer: float, disturbed: bool) -> dict[str, Any]:
        pin = {"agrees": True, "seconds": peer, "ratio": peer / own, "disturbed": disturbed}
        other = {"how": "loop", "agrees": False}
        return {"function": "energy", "seconds": own, "in_place": in_place, "peers": {"pin": pin, "mujoco": other}}

    one, other = row(2.0, 1.0, 6.0, True), row(1.0, 3.0, 5.0, False)
    slow, fast = ({"rows": [one], "articulated_body": one}, {"rows": [other], "articulated_body": other})
    found = measurements.best_of({**slow, "memory": {"growth": 1}}, {**fast, "memory": None})
    best = row(1.0, 1.0, 5.0, False)
    assert found == {"rows": [best], "articulated_body": best, "memory": {"growth": 1}}


def test_every_public_function_of_states_is_measured() -> None:
    unmeasured = "load neutral random_state interpreted form set_threads get_threads placement merge_fixed".split()
    # of models with actuators; the interpreter over any scalars
    unmeasured += "actuator_torques evaluate".split()
    # searches, whose time depends on what they are asked for (docs/inverse_kinematics.md)
    unmeasured += "inverse_kinematics follow_path close_loops pose_error".split()
    unmeasured += "with_inertial_parameters system_check compile jvp vjp jacobian_of save".split()
    unmeasured += ["constrained_dynamics_derivatives"]
    # others with a little more: the same recursion, and a placement of frames
    unmeasured += "inverse_dynamics_and_reactions external_wrench".split()
    # by benchmarks/contact.py, beside mujoco.rollout
    unmeasured += "contact_dynamics contact_points collision_contacts".split()
    # pictures and files
    unmeasured += "draw motion_sequence animate save_html show export".split()
    # made of measured ones, measured by `linkwork reproduce operational-inertia`, or in a table of its own
    operational = (
        "operational_inertia operational_bias dynamically_consistent_inverse null_space_torque "
        "effective_mass change_of_basis rollout simulate operational_inertia_rate operational_inertia_derivatives "
        "constrained_dynamics_and_reactions impact"
    ).split()
    functions = {name for name in lw.__all__ if name.islower() and callable(getattr(lw, name))}
    missing = functions.difference(unmeasured, operational, (case.base for case in CASES))
    assert missing == set()
    methods = [case.name.split(" ")[1] for case in CASES if case.base == "forward_dynamics"]
    assert methods == list(FORWARD_DYNAMICS)


def test_the_data_is_complete(data: dict[str, Any]) -> None:
    data = json.loads(json.dumps(data))
    keys = "schema when machine versions commit settings notes models threads rollouts chains memory targets"
    assert list(data) == keys.split()
    assert data["machine"]["cores"] >= 1 and data["machine"]["lanes"] in (2, 4, 8) and data["machine"]["cpu"]
    assert data["versions"]["linkwork"] == lw.__version__ and data["versions"]["numpy"] == np.__version__
    (model,) = data["models"]
    assert (model["name"], model["bodies"], model["nv"], model["absent"]) == ("chain", 2, 7, {})
    kinds = {(row["kind"], row["states"]) for row in model["rows"]}
    assert kinds == {("single", 1), ("batch", 1), ("batch", 4), ("batch", 9), ("batch", 18)}
    assert {row["function"] for row in model["rows"]} == {case.name for case in CASES if case.least_nv <= 7}
    for row in model["rows"]:
        assert row["seconds"] > 0
        ours_alone = (  # no one call
            "forward_dynamics_and_reactions",
            "force_responses",
            "momentum_derivatives",
            "control.OperationalSpaceController",
        )
        products = row["function"].endswith(("_vjp", "_jvp"))
        alone = row["threads"] > 1 and row["function"] not in ("forward_dynamics articulated_body", "inverse_dynamics")
        assert "pin" in row["peers"] or row["function"] in ours_alone or products or alone
        for peer in row["peers"].values():
            assert peer["agrees"] and peer["error"] <= 1e-8 and peer["seconds"] > 0 and peer["ratio"] > 0
    for which in ("cold", "cached"):
        times = model["first_call"][which]
        assert times["process"] > times["call"] > 0 and times["process"] > times["import"] > 0
        assert times["process"] > times["beyond"] > times["call"]
        assert set(times["calls"]) == {case.name for case in CASES[1:] if case.least_nv <= 7}
    for threaded in data["threads"]:
        assert {row["states"] for row in threaded["rows"]} == {9, 18}
        assert all(row["seconds"] > 0 and row["all_threads"] > 0 and row["beside"] > 0 for row in threaded["rows"])
    (rolled,) = data["rollouts"]
    assert (rolled["name"], rolled["nv"], rolled["trajectories"], rolled["steps"]) == ("chain", 1, 9, 5)
    for kind in ("each", "last"):
        (peer,) = rolled[kind]["peers"].values()
        assert rolled[kind]["seconds"] > 0 and peer["how"] == "mujoco.rollout"
        assert peer["agrees"] and peer["error"] <= 1e-12 and peer["ratio"] > 0
    for kind in ("semi_implicit_euler", "runge_kutta_4", "mppi"):
        assert rolled[kind]["seconds"] > 0 and rolled[kind]["peers"]["mujoco"]["agrees"]
    assert rolled["law"]["seconds"] > 0 and rolled["simulated_law"]["seconds"] > 0
    assert rolled["memory"]["finite"] and rolled["memory"]["steps"] == 2000
    assert [chain["n"] for chain in data["chains"]] == [2, 5]
    peaks = data["memory"]["peak_bytes"]
    assert 0 < peaks["1"] < peaks["2000"]
    assert all(chain[kind]["peers"]["pin"]["ratio"] > 0 for chain in data["chains"] for kind in ("single", "batch"))


@pytest.mark.parametrize("library", [pinocchio, mujoco])
def test_a_peer_that_computes_something_else_is_flagged_and_not_timed(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = library.create(lw.mechanisms.serial_chain(2))
    states = States.random(lw.mechanisms.serial_chain(2), 5)
    right, wrong = (peer.single(CASES[0], states) for _ in range(2))
    monkeypatch.setattr(wrong, "function", lambda *given, honest=wrong.function: honest(*given) * (1 + 1e-6))
    mine = ours(CASES[0], states.model, states, single=True)
    _, rows = contest(mine, {"right": right, "wrong": wrong}, 1, 1e-5)
    assert rows["right"]["agrees"] and rows["right"]["ratio"] > 0
    assert not rows["wrong"]["agrees"] and "ratio" not in rows["wrong"]
    assert rows["wrong"]["error"] == pytest.approx(1e-6, rel=1e-3)


def test_a_disagreement_shows_in_the_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = pinocchio.Pinocchio.single

    def lying(self: Any, case: Any, states: States) -> Contestant | None:
        found = honest(self, case, states)
        if found is not None and case.name == "gravity_torques":
            found.answer = lambda raw, k: np.array(raw) + 0.5
        return found

    monkeypatch.setattr(pinocchio.Pinocchio, "single", lying)
    few = [case for case in CASES if case.name in ("forward_dynamics articulated_body", "gravity_torques")]
    monkeypatch.setattr(measurements, "CASES", few)
    monkeypatch.setattr(Settings, "quick", lambda: Settings(**{**vars(TINY), "chains": ()}))
    monkeypatch.setattr(
        measurements, "first_calls", lambda *_: {"function": "", "cold": _NO_TIMES, "cached": _NO_TIMES}
    )
    assert cli.main(["bench", "pendulum", "--quick", "--peers", "pin"]) == 0
    printed = capsys.readouterr().out
    line, small = (line for line in printed.splitlines() if line.startswith("gravity_torques"))
    assert "×" not in small  # a peer that differs has no ratio
    assert line.count("differs by") >= 2 and "×" not in line
    assert FOOTNOTE in printed and "SSE" in printed


_NO_TIMES = {"process": 1.0, "import": 1.0, "load": 1.0, "call": 1.0, "beyond": 1.0, "calls": {}}


def test_what_was_saved_can_be_printed_and_plotted(
    data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "bench.json"
    saved.write_text(json.dumps(data))
    assert cli.main(["bench", "--from-json", str(saved), "--markdown"]) == 0
    text = capsys.readouterr().out
    assert (
        text.startswith("| robot | function | one call | Pinocchio | MuJoCo |")
        and "chain (7) | forward dynamics" in text
    )
    assert markdown(data).strip() == text.strip() and ("own limit" in text) == (data["machine"]["cores"] > 1)
    files = plot_chains(data, tmp_path / "deep" / "chains")
    assert [file.suffix for file in files] == [".png", ".svg"] and all(file.stat().st_size > 1000 for file in files)
    assert cli.main(["bench", "--from-json", str(tmp_path / "nothing.json")]) == 2
    saved.write_text(json.dumps({**data, "schema": 1}))
    capsys.readouterr()
    assert cli.main(["bench", "--from-json", str(saved)]) == 2
    assert "measure again" in capsys.readouterr().err


def test_tables_are_written_between_the_markers_of_a_page(
    data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, page = tmp_path / "bench.json", tmp_path / "page.md"
    saved.write_text(json.dumps(data))
    other = "<!-- other -->\nkept\n<!-- end -->\n"
    page.write_text(f"# Times\n{other}<!-- bench -->\nold\n<!-- end -->\nafter\n{other}", encoding="utf-8")
    assert cli.main(["bench", "--from-json", str(saved), "--write", str(page)]) == 0
    expected = f"# Times\n{other}<!-- bench -->\n{markdown(data)}\n<!-- end -->\nafter\n{other}"
    assert page.read_text(encoding="utf-8") == expected
    for wrong in ("nothing", "<!-- bench -->\n", "<!-- bench -->\n<!-- end --><!-- bench -->\n<!-- end -->"):
        page.write_text(wrong, encoding="utf-8")
        capsys.readouterr()
        assert cli.main(["bench", "pendulum", "--write", str(page)]) == 2  # before anything is measured
        assert "<!-- bench -->" in capsys.readouterr().err
        assert page.read_text(encoding="utf-8") == wrong


def test_peers_on_chains_are_compared_with_what_a_user_s_call_takes(
    data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Contestant] = []

    def spied(mine: Contestant, *rest: Any) -> Any:
        asked.append(mine)
        return contest(mine, *rest)

    monkeypatch.setattr(chains, "contest", spied)
    available, _ = factories(["pin", "mujoco"])
    measured = chains.measure_chain(10, available, 1, 1e-5, 9)
    assert [(mine.function, mine.states) for mine in asked] == [(lw.forward_dynamics, 9), (lw.forward_dynamics, 9)]
    assert [mine.best for mine in asked] == [measured[kind]["seconds"] for kind in ("single", "batch")]
    for chain in (measured, *data["chains"]):
        for kind in ("single", "batch"):
            assert set(chain[kind]["peers"]) == {"pin", "mujoco"}
            for peer in chain[kind]["peers"].values():
                assert peer["ratio"] == peer["seconds"] / chain[kind]["seconds"]
    heading, (first, *_) = chain_table(data)
    joints, states, pin = (
        data["chains"][0]["n"],
        data["chains"][0]["states"],
        data["chains"][0]["batch"]["peers"]["pin"],
    )
    batch = heading.index("batch, a joint")
    assert first[batch] == duration(data["chains"][0]["batch"]["seconds"] / joints)
    shown = first[batch + heading[batch:].index("Pinocchio")].replace("~", "")
    assert shown == f"{duration(pin['seconds'] / joints)} ×{pin['ratio']:.1f}"
    assert first[-1] == str(states)


def test_targets_are_compared_only_where_they_were_measured(data: dict[str, Any]) -> None:
    whats = [row["what"] for row in compare(data)]
    assert all("states on" in what or "memory" in what for what in whats)  # a chain has no other target
    named = {**data, "models": [{**data["models"][0], "name": "Panda"}]}
    rows = {row["what"]: row for row in compare(named)}
    row = rows["Panda ABA, one call"]
    assert row["target"] == 4.0 and row["met"] in (None, row["measured"] >= 4.0)
    named = {**data, "models": [{**data["models"][0], "name": "Talos"}]}
    targets = {row["what"]: row["target"] for row in compare(named)}
    assert targets["Talos operational_inertia_inverse 2, single"] == 3.0
    assert targets["Talos operational_inertia_inverse 4, batch"] == 15.0
    cached = rows["Panda first result from cache, beyond import numpy"]
    assert cached["met"] == (cached["measured"] <= 0.15)


def test_differences_are_relative_and_see_what_is_not_finite() -> None:
    one = np.array([1.0, -2.0])
    assert difference([one], [one]) == 0.0
    assert difference([one], [np.array([1.0, -2.2])]) == pytest.approx(0.1)
    assert difference([one], [np.array([1.0, np.nan])]) == np.inf
    assert difference([one], [np.array([1.0])]) == np.inf


def test_the_same_states_for_everyone() -> None:
    states = States.random(lw.mechanisms.serial_chain(2), 3, seed=4)
    again = States.random(lw.mechanisms.serial_chain(2), 3, seed=4)
    for name, array in states.fields.items():
        assert np.array_equal(array, again.fields[name])
        assert np.array_equal(states.repeated(7).fields[name][6], array[0])


def test_peers_that_cannot_take_part_say_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnavailableError, match="Universal"):
        mujoco.create(lw.mechanisms.rope(2))
    assert cli.main(["bench", "pendulum", "--peers", "drake"]) == 2
    assert "no peer named 'drake'" in capsys.readouterr().err

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("linkwork_lab.bench.contest.import_module", missing)
    found, notes = factories(["pin"])
    assert found == {} and "not installed" in notes["pin"]


def test_without_the_example_robots_ready_mechanisms_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    robots, _ = standard()
    assert [robot.name for robot in robots] == ["UR5", "Panda", "ANYmal", "G1", "Talos"]

    def missing(name: str) -> Any:
        raise subjects.PackageNotFoundError(name)

    monkeypatch.setattr(subjects, "files", missing)
    ready, which = standard()
    assert [subject.model.nv for subject in ready] == [30, 7] and "not installed" in which


def test_an_optimisation_is_measured_by_turning_it_off(capsys: pytest.CaptureFixture[str]) -> None:
    times = without.compare(CHAIN, "rows,packing", ["inverse_dynamics", "rollout"], [1, 9], rounds=1)
    assert {name: list(row) for name, row in times.items()} == {"inverse_dynamics": [1, 9], "rollout": [1, 9]}
    assert all(seconds > 0.0 for row in times.values() for both in row.values() for seconds in both)
    without.print_comparison(CHAIN, "rows,packing", times, Console(width=200))
    table = capsys.readouterr().out
    assert "one call" in table and "9 states" in table and table.count("×") == 4
    assert cli.main(["bench", "serial_chain:1", "--without", "rows,haste"]) != 0
    assert "'haste' is none of rows" in capsys.readouterr().err
