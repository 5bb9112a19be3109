"""Pages agree with the measurements: their tables come from the data in docs/data, and so do their figures."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matplotlib import image

import linkwork as lw
from linkwork import cli
from linkwork_lab.bench import pages
from linkwork_lab.reproduce.counting import folded
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


def test_counts_of_the_study_are_those_of_the_code() -> None:
    """For a built-in mechanism, counted again."""
    model = lw.mechanisms.star(4)
    cases = [case for case in data_of("operational-methods")["operations"] if case["case"].startswith("star:4,")]
    assert cases
    for case in cases:
        frames = [model.frame(model.body_names[body - 1]) for body in case["points"]]
        counts = {name: sum(folded(method, model, frames).values()) for name, method in METHODS.items()}
        assert counts == case["cost"]
