"""Accuracy beside peers: mechanisms that are exact in every library, and the errors that the page has."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork import cli
from linkwork_lab.reproduce.accuracy import algorithms, measurements, page
from linkwork_lab.reproduce.accuracy.cases import CASES
from linkwork_lab.reproduce.accuracy.methods import METHODS, OURS

KEPT = json.loads((Path(__file__).parents[1] / "docs" / "data" / "accuracy.json").read_text(encoding="utf-8"))


def rational(numbers: Any) -> np.ndarray:
    return np.vectorize(lambda x: Fraction(float(x)), otypes=[object])(np.asarray(numbers, dtype=object))


@pytest.mark.parametrize("name", CASES)
def test_bodies_are_the_same_about_their_centre_and_about_their_frame(name: str) -> None:
    """So a library that keeps either has no rounding in its model; and orientations are of length one."""
    model = CASES[name].make()
    for body in model.bodies[:3] + model.bodies[-3:]:
        solid = model.body(body.name)
        mass, com, inertia = (rational(x) for x in (solid.mass, solid.com, solid.inertia))
        assert (rational(body.inertia.moment.numbers()) == mass * com).all()
        second = rational(np.reshape(body.inertia.second.full().numbers(), (3, 3)))
        assert (second == inertia + mass * (com @ com * rational(np.eye(3)) - np.outer(com, com))).all()
        assert inertia[0, 0] <= inertia[1, 1] + inertia[2, 2] and not any(inertia[np.triu_indices(3, 1)])
    q, v, _ = CASES[name].state(model, 0)
    assert v.any() == CASES[name].moving
    for body, start in zip(model.bodies, model.q_start, strict=True):
        if body.joint.nq > 1:
            end = start + body.joint.nq
            assert sum(rational(q[end - 4 : end]) ** 2) == 1


@pytest.mark.parametrize("name", ["star", "balls"])
def test_errors_on_the_page_are_those_of_the_code(name: str) -> None:
    """Ours to the last bit; other libraries have other builds."""
    again, kept = measurements.errors(name, KEPT["settings"]["states"], lambda what: None), KEPT["errors"][name]
    assert list(again) == list(kept) == list(METHODS)
    assert {method: again[method] for method in OURS} == {method: kept[method] for method in OURS}
    for method in set(METHODS) - set(OURS):
        if again[method] is not None:
            assert kept[method] / 300 < again[method] < 300 * kept[method], method


def test_the_page_says_which_method_to_take() -> None:
    rows = page.tables(KEPT)["claims"].splitlines()[2:]
    assert len(rows) == len(CASES) == 13
    assert all(error < 0.1 for row in KEPT["errors"].values() for error in row.values() if error), "the same mechanism"
    by_label = {cells[1].strip(): cells[2:] for cells in (row.split("|") for row in rows)}
    assert "virtual work" in by_label[CASES["tip"].label][0] and "virtual work" in by_label[CASES["first"].label][1]


def test_the_command_measures_draws_and_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(page, "save", lambda picture, folder, name: drawn.setdefault(name, picture) and [])
    few = measurements.Settings(
        cases=("star",),
        states=1,
        mechanisms=("star of 12",),
        differentiated=("chain of 10 revolute",),
        states_of_algorithms=1,
    )
    monkeypatch.setattr(measurements.Settings, "quick", staticmethod(lambda: few))
    assert cli.main(["reproduce", "accuracy", "--quick", "--out", str(tmp_path)]) == 0
    data = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))
    assert set(data["stamps"]) == {"errors/star", "algorithms/star of 12", "derivatives/chain of 10 revolute"}
    own, other = data["derivatives"]["chain of 10 revolute"], algorithms.INVERSE
    assert all(error < 1e-11 for name, error in own.items() if name != other) and (own[other] or 0.0) < 1e-8
    assert all(0.0 < data["errors"]["star"][method] < 1e-13 for method in OURS)
    assert all(error < 1e-14 for error in data["algorithms"]["star of 12"].values())
    (axes,) = drawn["errors"].axes
    assert len(axes.get_lines()) == sum(error is not None for error in data["errors"]["star"].values())
    assert "| 24 links on one link |" in capsys.readouterr().out
