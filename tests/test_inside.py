"""``linkwork.inside``: what studies use besides public names, bad input of it, and code of algorithms of one's own."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import inside
from linkwork.algorithms import ALGORITHMS, SEGMENTS, Algorithm

ROOT = Path(__file__).resolve().parent.parent
LAB = sorted((ROOT / "src" / "linkwork_lab").rglob("*.py"))
ARM = lw.mechanisms.serial_chain(3)


def documented() -> dict[str, set[str]]:
    """The modules of the table in docs/extending.md, with their names; all of them if there are none."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").split("## A package beside linkwork")[1]
    found: dict[str, set[str]] = {}
    modules: list[str] = []
    for first, second in re.findall(r"^\| ([^|]*) ?\| ([^|]*) \|", page, re.MULTILINE):
        modules = re.findall(r"`([^`]+)`", first) or modules
        for module in modules:
            found.setdefault(module, set()).update(re.findall(r"`([^`]+)`", second))
    return found


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Modules and names of linkwork that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "linkwork":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("linkwork."))


def test_the_lab_uses_only_what_is_documented() -> None:
    table = documented()
    leaks = []
    for path in LAB:
        for module, name in imports(path):
            names = table.get("linkwork.algorithms.*" if module.startswith("linkwork.algorithms.") else module)
            public = name in lw.__all__ if module == "linkwork" else not name.startswith("_")
            if names is None or not public or (names and name not in names):
                leaks.append(f"{path.relative_to(ROOT)}: {name} of {module}")
    assert leaks == []


def test_everything_inside_is_documented() -> None:
    assert documented()["linkwork.inside"] == set(inside.__all__) - {"Cut", "Host", "LoopConditions"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda code: code(np.zeros((4, 2))), r"arrays \(states, 3\), not \(4, 2\)"),
        (lambda code: code(np.zeros(3)), r"arrays \(states, 3\), not \(3,\)"),
        (lambda code: code(), r"arrays \(states, 3\), not none"),
        (lambda code: code(np.zeros((0, 3))), r"arrays \(states, 3\), not \(0, 3\)"),
        (lambda code: code(np.zeros((4, 3)), np.zeros((4, 3))), r"not \(4, 3\), \(4, 3\)"),
    ],
)
def test_wrong_arrays_never_reach_the_code(call: Callable[[Any], Any], message: str) -> None:
    for form in ("rolled", "interpreted"):
        with pytest.raises(lw.ArgumentError, match=message):
            call(inside.machine_code(ALGORITHMS["gravity_torques"], ARM, form=form))


def test_forms_lanes_and_segments_that_cannot_be_are_refused() -> None:
    with pytest.raises(lw.ArgumentError, match="form must be one of"):
        inside.machine_code(ALGORITHMS["mass_matrix"], ARM, form="fast")
    with pytest.raises(lw.ArgumentError, match=r"lanes must be 1, .* or None, not 3"):
        inside.machine_code(ALGORITHMS["mass_matrix"], ARM, lanes=3)
    for algorithm, segments in ((SEGMENTS, 16), (SEGMENTS, 0), (ALGORITHMS["articulated_body"], 16)):
        with pytest.raises(lw.ArgumentError, match="segments"):
            inside.one_state(algorithm, ARM, segments=segments)
    with pytest.raises(lw.ArgumentError, match="arrays"):
        inside.one_state(ALGORITHMS["gravity_torques"], ARM)(np.zeros(2))


def scaled(factor: float) -> Algorithm:
    """An algorithm of one's own: its name and its source say nothing of what it computes."""

    def text(tree: Any, q: Any) -> tuple[Any]:
        result = tree.field()
        for body in tree.outward():
            result[body] = [factor * number for number in q[body]]
        return (result,)

    return Algorithm("scaled", text, (("q", "configuration"),), ("velocity",))


@pytest.mark.parametrize("form", ["specialised", "rolled"])
def test_algorithms_of_one_name_get_their_own_code(form: str) -> None:
    q = np.arange(12.0).reshape(4, 3)
    for factor in (2.0, 3.0, 2.0):
        (found,) = inside.machine_code(scaled(factor), ARM, form=form)(q)
        assert np.array_equal(found, factor * q)
