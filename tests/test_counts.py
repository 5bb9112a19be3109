"""Claims of cost as tests: operation counts of every algorithm on the built-in mechanisms, and ``linkwork count``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import linkwork as lw
from linkwork import cli
from linkwork.cli.count import COUNTED, counted
from linkwork.inside import costs

MECHANISMS = [
    *("pendulum", "double_pendulum", "free_box", "serial_30dof", "branched_30dof", "humanoid"),
    *("serial_chain:20", "rope:3", "star:4", "binary_tree:4"),
]


def _dear(key: str) -> bool:
    return any(word in key for word in ("derivatives", "_jvp", "_vjp", "regressor", "mass_matrix_inverse"))


LARGE = ("serial_30dof", "branched_30dof", "serial_chain:20")
"""Mechanisms on which derivatives are not counted, which takes long."""


def test_operation_counts_are_those_of_the_golden_file(golden: Callable[[str, str], None]) -> None:
    counts = {}
    for name in MECHANISMS:
        model = lw.mechanisms.by_name(name)
        frame = model.frame(model.body_names[-1])
        few = {key: entry for key, entry in COUNTED.items() if name not in LARGE or not _dear(key)}
        rows = {key: " ".join(map(str, counted(entry, model, [frame]).values())) for key, entry in few.items()}
        counts[name] = {"add sub mul div sqrt sin+cos other total": "", **rows}
    golden("counts.json", json.dumps(counts, indent=1) + "\n")


@pytest.mark.parametrize("name", ["inverse_dynamics", "articulated_body", "nonlinear_effects", "gravity_torques"])
def test_recursions_are_linear_in_the_bodies(name: str) -> None:
    """Each further body of a chain costs the same."""
    chains = [lw.mechanisms.serial_chain(bodies, "spherical") for bodies in (5, 10, 15)]
    few, some, many = (counted(COUNTED[name], chain, [])["total"] for chain in chains)
    assert many - some == some - few > 0


def test_every_ready_mechanism_is_counted() -> None:
    assert {name.split(":")[0] for name in MECHANISMS} == set(lw.mechanisms.NAMES)


def test_count_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["count", "rope:3"]) == 0
    first, heading, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("rope: 3 bodies")
    assert heading.split("  ")[0] == "algorithm" and heading.endswith("total")
    table = {row.split()[0]: row.split()[1:] for row in rows[: len(COUNTED)]}
    assert table.keys() == COUNTED.keys()
    for numbers in table.values():
        *parts, total = map(int, numbers)
        assert sum(parts) == total
    assert rows[-1] == "For one state without external forces, and of frames only body3."


def test_count_takes_methods_and_a_frame_and_gives_json(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--method", "jacobian/world", "--method", "mass_matrix", "--frame", "left_hand", "--json"]
    assert cli.main(["count", "humanoid", *asked]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["frame"] == "left_hand" and list(data["counts"]) == ["jacobian/world", "mass_matrix"]
    model = lw.mechanisms.humanoid()
    expected = counted(COUNTED["jacobian/world"], model, [model.frame("left_hand")])
    assert data["counts"]["jacobian/world"] == expected and data["not_counted"] == []


@costs(listed_matrices=6)  # 60 bodies take long
def test_count_leaves_out_what_grows_too_fast_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["count", "serial_chain:7"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("Not counted for 7 bodies") and "mass_matrix" in last and "composite_body" in last
    assert cli.main(["count", "serial_chain:7", "--method", "mass_matrix"]) == 0
    assert "Not counted" not in capsys.readouterr().out


def test_count_of_an_unknown_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["count", "pendulum", "--method", "mass_matrx"]) == 2
    assert "did you mean 'mass_matrix'" in capsys.readouterr().err
