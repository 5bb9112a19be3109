"""The README and the pages of docs/: their code runs as it stands, and their links lead somewhere."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from linkwork.bench import pages

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("**/*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def anchors(text: str) -> set[str]:
    """The headings of a page, as GitHub makes anchors of them."""
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


RUNNABLE = [path for path in (README, *DOCS) if CODE.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", RUNNABLE, ids=name)
def test_the_code_of_a_page_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    assert text.count("```python") == len(CODE.findall(text))  # every block is closed
    names: dict[str, object] = {}
    for block in CODE.findall(text):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(block, name(path), "exec"), names)


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


@pytest.mark.parametrize(
    ("page", "table"),
    [("performance", "bench"), ("performance", "fresh memory"), ("accuracy", "rounding"), ("simulation", "drift")],
)
def test_tables_have_their_markers(page: str, table: str) -> None:
    path = ROOT / "docs" / f"{page}.md"
    head, tail = pages.around(path, table)
    assert head and tail and "|" in path.read_text(encoding="utf-8")[len(head) : -len(tail)]
