"""The README and the pages of docs/: their code runs as it stands, and their links lead somewhere.

Text right after some code is its expected output.
A page about another library has tables with a column of its code and one of ours: both are run, and must give the same.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
import shutil
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
import robots
from linkwork import cli
from linkwork_lab import reproduce
from linkwork_lab.bench import pages

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
DOCS = [path for path in sorted((ROOT / "docs").glob("**/*.md")) if "generated" not in path.parts]
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = r"(?:\n\n```text\n(?P<printed>.*?)^```$)?"
PARTS = re.compile(r"^```python\n(?P<code>.*?)^```$" + PRINTED + r"|^\| (?P<row>[^\n]*) \|$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")
COMMAND = re.compile(r"^    ((?:linkwork|make|python) .*)$|`(linkwork [^`]+)`", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def anchors(text: str) -> set[str]:
    """The headings of a page, as GitHub converts them to anchors."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    broken = []
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):  # elsewhere
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


MANY = "M = lw.mass_matrix(person, q[0])"
"""The beginning of the README's code that calls many functions of a humanoid."""
assert README.read_text(encoding="utf-8").count(MANY) == 1
RUNNABLE = [path for path in (README, *DOCS) if CODE.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", RUNNABLE, ids=name)
def test_the_code_of_a_page_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    assert text.count("```python") == len(CODE.findall(text))  # every block is closed
    for file in robots.ROBOTS:
        if f'"{file.name}"' in text:
            shutil.copy(file, tmp_path)
    names: dict[str, object] = {}
    compared, printing = 0, np.get_printoptions()  # which a page may change for itself
    library = path.stem.startswith("from-")  # a page about another one; compiled code is compared with it elsewhere
    for part in PARTS.finditer(text):
        # many functions of robots, each once: code would take longer to make
        short = library or path.stem in ("day", "dynamics") or MANY in (part["code"] or "")
        with (
            warnings.catch_warnings(),
            np.printoptions(**printing),
            lw.interpreted() if short else nullcontext(),
        ):
            warnings.simplefilter("error")
            if part["code"]:
                exec(compile(part["code"], name(path), "exec"), names)
                printing = np.get_printoptions()
                printed = capsys.readouterr().out
                assert part["printed"] is None or same_text(printed, part["printed"]), printed
            else:
                compared += same_on_both_sides(part["row"], names)
    assert compared > 10 if library else compared == 0


def same_text(printed: str, claimed: str) -> bool:
    """The same words, and numbers up to their last digit, which may depend on how NumPy was built."""
    ours, theirs = ([float(number) for number in NUMBER.findall(text)] for text in (printed, claimed))
    words = [NUMBER.sub("#", text).split() for text in (printed, claimed)]
    return words[0] == words[1] and len(ours) == len(theirs) and np.allclose(ours, theirs, rtol=0, atol=0.0101)


def same_on_both_sides(row: str, names: dict[str, object]) -> bool:
    """Whether a row's second and third cells are code; if so, they must have the same value."""
    cells = [re.fullmatch(r"`([^`]+)`", cell) for cell in row.split(" | ")]
    if len(cells) != 3 or cells[1] is None or cells[2] is None:
        return False
    theirs, ours = (np.array(value(cell[1], names)).squeeze() for cell in cells[1:] if cell)
    assert theirs.shape == ours.shape and theirs.size, row
    if theirs.dtype.kind == "U":
        assert theirs.tolist() == ours.tolist(), row
    else:
        assert np.allclose(theirs, ours, rtol=1e-9, atol=1e-9), row
    return True


def value(code: str, names: dict[str, object]) -> Any:
    """Statements are run, and the expression that they end in has a value."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), code
    exec(compile(tree, code, "exec"), names)
    return eval(compile(ast.Expression(last.value), code, "eval"), names)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_the_commands_of_a_page_are_understood(path: Path) -> None:
    """None of them is run; but every option, target and program that they name exists."""
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for found in COMMAND.findall(path.read_text(encoding="utf-8")):
        program, *words = shlex.split(found[0] or found[1], comments=True)
        if program == "make":
            assert words[0] in targets, words
        elif program == "python" and words[0] not in ("-m", "-c"):
            assert (ROOT / words[0]).exists(), words
        elif program == "linkwork" and words[0].islower() and "|" not in words:
            parser = argparse.ArgumentParser(exit_on_error=False)
            cli.command(words[0]).arguments(parser)
            if words[1:]:  # otherwise a sentence names the command
                parser.parse_args([word for word in words[1:] if word != "..."])


def test_the_readme_s_first_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\n    (<Model.*?)\n", text, re.DOTALL)
    assert found
    exec(found[1], {})
    printed, claimed = capsys.readouterr().out.strip(), found[2]
    words, error = claimed.rsplit(" ", 1)
    assert printed.startswith(words + " ")
    # The last digits depend on how NumPy was built; the size of the error does not.
    assert float(printed.rsplit(" ", 1)[1]) < 100 * float(error)


def test_the_readme_is_short_and_shows_every_use() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.count("\n") <= 120
    code = "\n".join(CODE.findall(text))
    uses = ("lw.load(", "lw.forward_dynamics(", "lw.simulate(", "lw.rollout(", "lw.control.OperationalSpaceController(")
    assert [use for use in uses if use not in code] == []
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in text] == []


def test_the_readme_has_the_times_of_the_tables() -> None:
    rows = re.findall(
        r"^\| G1 \(35\) \| forward dynamics \|(.*)\|$", PERFORMANCE.read_text(encoding="utf-8"), re.MULTILINE
    )
    one, pinocchio, _, batch, pinocchio_batch, _ = (cell.split() for cell in rows[0].split("|"))
    unit = {"ns": 1e-3, "µs": 1.0}
    one_call, share = (float(time[0]) * unit[time[1]] for time in (one, batch))
    faster, faster_batch = (float(cell[-1].lstrip("×")) for cell in (pinocchio, pinocchio_batch))
    text = " ".join(README.read_text(encoding="utf-8").split())
    assert f"in {share:.2g} µs a state in a batch of 4,096, {faster_batch:.0f} times as fast as Pinocchio" in text
    assert f"in {one_call:.2g} µs in a single call from Python, {faster:.0f} times as fast" in text


@pytest.mark.parametrize(
    ("page", "table"),
    [("performance", "bench"), ("performance", "fresh memory"), ("accuracy", "rounding"), ("simulation", "drift")],
)
def test_tables_have_their_markers(page: str, table: str) -> None:
    path = ROOT / "docs" / f"{page}.md"
    head, tail = pages.around(path, table)
    assert head and tail and "|" in path.read_text(encoding="utf-8")[len(head) : -len(tail)]


@pytest.mark.parametrize("experiment", reproduce.EXPERIMENTS)
def test_the_tables_of_a_page_are_those_of_its_data(experiment: str) -> None:
    path = ROOT / "docs" / f"{experiment}.md"
    data = json.loads((ROOT / "docs" / "data" / f"{experiment}.json").read_text(encoding="utf-8"))
    found = reproduce.EXPERIMENTS[experiment].tables(data)
    marked = {*re.findall(r"^<!-- (?!end)(.*) -->$", path.read_text(encoding="utf-8"), re.MULTILINE)}
    assert marked - {"methods", "elementary"} == {*found}, "these are written by scripts in benchmarks"
    for name, table in found.items():
        head, tail = pages.around(path, name)
        assert path.read_text(encoding="utf-8") == f"{head}{table}\n{tail}", name
