"""Pages agree with the measurements: their tables come from the data in docs/data, and so do their figures."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matplotlib import image

import linkwork as lw
from linkwork import cli
from linkwork_lab.bench import pages
from linkwork_lab.reproduce import EXPERIMENTS, parts, virtual_work
from linkwork_lab.reproduce.counting import folded
from linkwork_lab.reproduce.markdown import IDLE, load_of
from linkwork_lab.reproduce.operational_inertia import plots
from linkwork_lab.reproduce.operational_inertia.growth import METHODS
from linkwork_lab.reproduce.pictures import save

DOCS = Path(__file__).resolve().parent.parent / "docs"
KEPT = sorted((DOCS / "data").glob("*.json"))


def data_of(name: str) -> Any:
    return json.loads((DOCS / "data" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_data_say_where_and_of_what_they_are(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["machine"]["cpu"] and data["machine"]["lanes"] and data["versions"]["linkwork"] and data["when"]
    assert data["commit"] and not data["commit"].endswith("-dirty"), "measured on a commit that can be found again"


COUNTS = [
    (experiment, place)
    for experiment, its in EXPERIMENTS.items()
    for place, part in its.parts(False, lambda what: None)[1].items()
    if part.exact
]
A_WEEK = 7


def in_turn(cases: Sequence[Any]) -> list[Any]:
    """Some of them each day, so that in a week all have been; the others with ``--every-step``."""
    today = date.today().toordinal()
    marks = [() if (k + today) % A_WEEK == 0 else (pytest.mark.later,) for k in range(len(cases))]
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
        for case, mark in zip(cases, marks, strict=True)
    ]


@pytest.mark.parametrize(("experiment", "place"), in_turn(COUNTS))
def test_counts_on_pages_are_those_of_the_code(experiment: str, place: str) -> None:
    part = EXPERIMENTS[experiment].parts(False, lambda what: None)[1][place]
    again = json.loads(json.dumps(part.measure()))
    kept = parts.at(data_of(experiment), place)
    assert {key: kept.get(key) for key in again} == again, (
        f"linkwork reproduce {experiment} --from-json docs/data/{experiment}.json --again {place} "
        f"--page docs/{experiment}.md"
    )


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_times_and_errors_say_of_what_they_are(experiment: str) -> None:
    data = data_of(experiment)
    places = {
        place for place, part in EXPERIMENTS[experiment].parts(False, lambda what: None)[1].items() if not part.exact
    }
    assert places == set(data["stamps"]), "all of them, and no others"
    for stamp in data["stamps"].values():
        assert stamp["when"] and stamp["commit"] and not stamp["commit"].endswith("-dirty")
    pages.refuse_idle(DOCS / f"{experiment}.md", load_of(data), IDLE)


def test_a_page_of_a_busy_machine_does_not_say_that_it_was_idle(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- machine -->\nidle\n<!-- end -->\nThe machine was idle.\n", encoding="utf-8")
    pages.refuse_idle(page, 0.5, IDLE)
    with pytest.raises(lw.ArgumentError, match=r"page.md says that the machine was idle, but its load was 0.6 before"):
        pages.refuse_idle(page, 0.6, IDLE)
    page.write_text(page.read_text(encoding="utf-8").replace("The machine was idle.", ""), encoding="utf-8")
    pages.refuse_idle(page, 0.6, IDLE)


def test_some_parts_are_measured_again_and_the_others_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virtual_work, "draw", lambda data, folder: [])
    kept = data_of("virtual-work")
    kept["counts"]["by_kind"]["chain of 10 hinges"]["virtual_work"]["folded"]["divide"] = -1
    saved = tmp_path / "kept.json"
    saved.write_text(json.dumps(kept), encoding="utf-8")
    again = ["reproduce", "virtual-work", "--from-json", str(saved), "--out", str(tmp_path), "--again"]
    assert cli.main([*again, "counts/by_kind/chain of 10 hinges"]) == 0
    assert json.loads((tmp_path / "data.json").read_text(encoding="utf-8")) == data_of("virtual-work")
    assert cli.main([*again, "counts/by_kinds"]) == 2
    assert "there is no part 'counts/by_kinds'; there are counts, swings/serial, " in capsys.readouterr().err
    assert cli.main(["reproduce", "virtual-work", "--again", "times"]) == 2
    assert "--again needs --from-json" in capsys.readouterr().err


def test_a_figure_is_drawn_again_from_its_data(tmp_path: Path) -> None:
    data = data_of("operational-inertia")
    picture = plots._links(data["over_links"])
    shown = {line.get_label(): line.get_ydata() for line in picture.axes[0].get_lines()}
    counts = data["over_links"]["chains"]["operations"]
    for method in ("chang_khatib", "pv", "sparse"):
        assert np.array_equal(shown[plots.STYLES[method]["label"]], counts[method])
    assert [file.name for file in save(picture, tmp_path, "links")] == ["links.png", "links.svg"]
    assert (tmp_path / "links.svg").read_text(encoding="utf-8").startswith("<?xml")
    again, kept = (
        image.imread(folder / "links.png") for folder in (tmp_path, DOCS / "figures" / "operational-inertia")
    )
    assert again.shape == kept.shape and np.abs(again - kept).mean() < 0.02  # fonts differ a little from place to place


def test_a_page_without_markers_is_told_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, out = tmp_path / "page.md", tmp_path / "out"
    page.write_text("no tables\n", encoding="utf-8")
    assert cli.main(["reproduce", "virtual-work", "--quick", "--out", str(out), "--page", str(page)]) == 2
    assert "page.md must have the lines <!-- claims -->" in capsys.readouterr().err and not out.exists()


def study() -> ModuleType:
    path = DOCS.parent / "benchmarks" / "operational_methods.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_study_behind_auto_is_kept_with_its_data() -> None:
    module, data = study(), data_of("operational-methods")
    page = DOCS / "operational-inertia.md"
    head, tail = pages.around(page, "methods")
    whole = page.read_text(encoding="utf-8")
    assert whole[len(head) : len(whole) - len(tail)] == f"{module.tables(data)}\n", "operational_methods.py --write"
    ratios = [
        case["cost"][module.auto(case)] / min(cost for cost in case["cost"].values() if cost)
        for case in data["operations"]
        if any(case["cost"].values())  # not fixed altogether
    ]
    assert np.quantile(ratios, 0.9) < 1.15 and np.mean(ratios) < 1.05


@pytest.mark.parametrize("name", in_turn([name for name, _ in study().ready()]))
def test_counts_of_the_study_are_those_of_the_code(name: str) -> None:
    """For built-in mechanisms, counted again where there are few points."""
    model = dict(study().ready())[name]
    cases = [
        case
        for case in data_of("operational-methods")["operations"]
        if case["case"].rsplit(", ", 1)[0] == name and len(model.bodies) * len(case["points"]) <= 120
    ]
    assert cases
    for case in cases:
        frames = [model.frame(model.body_names[body - 1]) for body in case["points"]]
        counts = {method: sum(folded(entry, model, frames).values()) for method, entry in METHODS.items()}
        assert counts == case["cost"], "benchmarks/operational_methods.py --measure"
