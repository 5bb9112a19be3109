"""The site is complete without being built: every public name is in its reference once, every page in its contents."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import contents
import docstrings
import gallery
import generated
import links
import names
import pytest

import linkwork as lw
from linkwork_lab.bench import pages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^\.\. (?:auto\w+|py:data):: (\S+)$|^\.\. py:\w*module:: linkwork\.?(\S*)$", re.MULTILINE)


def things(name: str) -> list[object]:
    """The objects of public names, and their methods."""
    scope, _, inner = name.rpartition(".")
    thing = getattr(names.documented_in(f"linkwork.{scope}" if scope else "linkwork"), inner)
    methods = vars(thing).items() if inspect.isclass(thing) else ()
    return [thing, *(method for each, method in methods if callable(method) and not each.startswith("_"))]


def test_every_public_name_is_in_the_reference_once() -> None:
    entries: list[str] = []
    for page, text in generated.reference().items():
        if page not in ("index", "command-line"):
            scope = ""
            for name, module in ENTRY.findall(text):
                scope = scope if name else module
                entries += [f"{scope}.{name}".removeprefix(".")] if name else []
    assert Counter(entries) == Counter(names.public())
    exported = [name for name in lw.__all__ if not inspect.ismodule(getattr(lw, name))]
    assert set(exported) <= set(entries) and "control.Task" in entries and "mechanisms.humanoid" in entries


def test_the_overview_has_every_name_and_every_page() -> None:
    overview = generated.reference()["index"]
    assert all(f"<linkwork.{name}>`" in overview for name in names.public())
    assert all(f"\n   {page}\n" in overview for page in [*names.pages(), "command-line"])
    titles = [page.title for page in names.pages().values()]
    assert len(titles) == len(set(titles))


def test_every_plain_value_that_is_public_says_what_it_is() -> None:
    """Functions and classes have docstrings anyway; a value has one below it."""
    plain = [n for n in names.public() if not (inspect.isclass(things(n)[0]) or inspect.isroutine(things(n)[0]))]
    assert [name for name in plain if not generated.remark(name.rpartition(".")[2])] == []


def test_sections_of_docstrings_are_laid_out_as_such() -> None:
    """A continuation line is indented further: otherwise it would be read as another argument."""
    wrong = []
    for name in names.public():
        for thing in things(name):
            doc = inspect.getdoc(thing) or ""
            for section in re.findall(r"^(?:Args|Attributes|Raises):\n((?:\n| .*\n?)*)", doc, re.MULTILINE):
                lines = re.findall(r"^    (\S.*)$", section, re.MULTILINE)
                wrong += [f"{name}: {line}" for line in lines if not re.match(r"[\w*, ]+: \S", line)]
    assert wrong == []


def test_docstrings_are_plain_text_with_code() -> None:
    text = "Of x* and ``a*b``, |v|, q_:\n\n    a_ = *b\n\nArgs:\n    **more: any_.\n\nExample:\n    >>> x_ * y_\n    z_"
    assert docstrings.laid_out(text.split("\n")) == [
        *("Of x* and ``a*b``, \\|v\\|, q\\_:", "", "::", "", "    a_ = *b", ""),
        *("Args:", "    **more: any_.", "", "Example:", "    >>> x_ * y_", "    z_"),
    ]


def test_every_page_is_in_the_contents_once() -> None:
    listed = [page for part in contents.sections(INDEX).values() for page in part]
    assert len(listed) == len(set(listed))
    written = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    made = {f"generated/project/{page}" for page in generated.PROJECT.values()}
    made |= {"generated/gallery/index", contents.REFERENCE}
    assert {page for page in listed if "/" in page} == made
    assert {page for page in listed if "/" not in page} <= written  # others are shown under "More"
    assert INDEX.count("](../examples)") == 1


def test_a_page_that_the_index_does_not_name_is_shown_all_the_same() -> None:
    whole = contents.with_contents(INDEX, ["index", "start", "unheard_of", "generated/reference/index"])
    assert ":caption: More\n\nunheard_of\n```" in whole and "Start in five minutes <start>" in whole
    assert "From MuJoCo <from-mujoco>" in whole and f"({contents.REFERENCE}.rst)" in whole
    assert ":caption: More" not in contents.with_contents(INDEX, ["index", "start"])


def test_links_to_files_beside_docs_lead_to_their_pages() -> None:
    text = "[a](../examples/rope.py) [b](../CHANGELOG.md#top) [c](start.md) [d](https://a.b/c) [e](#here)"
    on_site = "[a](generated/gallery/rope.rst) [b](generated/project/changelog.md#top) [c](start.md) "
    assert generated.relinked(text, "docs", "docs") == on_site + "[d](https://a.b/c) [e](#here)"
    named = "[Start in five minutes](../../start.md)"
    assert generated.relinked("[docs/start.md](docs/start.md)", ".", "docs/generated/project") == named
    assert generated.relinked("[compile.md](compile.md#derivatives)", "docs", "docs") == "[](compile.md#derivatives)"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_has_a_title(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    title = gallery.title(text)
    assert 10 < len(title) < 70 and title[0].isupper()
    assert gallery.headed(text).startswith(f'"""\n{title}\n{"=" * len(title)}\n\n')
    assert "sys.exit(main(" in text
    if gallery.DRAWS.search(text):  # with the name of a picture as its only argument
        assert "sys.argv[2]" not in text and "int(sys.argv[1])" not in text


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="x"></h1><a href="b.html#y"></a><a href="c.html"></a><a href="#x"></a>')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#x"></a><a href="https://a.b"></a><script src="//a.b/c.js"></script>'
    )
    assert links.broken(tmp_path) == ["a.html: b.html#y", "a.html: c.html", "b.html: //a.b/c.js"]


def inside() -> ModuleType:
    path = ROOT / "benchmarks" / "inside.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_listings_of_a_call_are_what_the_code_makes() -> None:
    page = DOCS / "inside.md"
    whole = page.read_text(encoding="utf-8")
    for name, listing in inside().listings().items():
        head, tail = pages.around(page, name)
        assert whole[len(head) : len(whole) - len(tail)] == f"{listing}\n", f"{name}: benchmarks/inside.py --write"
    head, tail = pages.around(page, "text")
    shown = whole[len(head) : len(whole) - len(tail)].strip().splitlines()[1:-1]
    text = (ROOT / "src" / "linkwork" / "algorithms" / "articulated_body.py").read_text(encoding="utf-8")
    assert "\n".join(f"    {line}" for line in shown) in text


def test_the_page_about_the_browser_shows_a_robot_that_moves() -> None:
    page = gallery.with_live((DOCS / "export-browser.md").read_text(encoding="utf-8"))
    assert page.count("<iframe") == 1 and f"_static/{gallery.LIVE}.html" in page
    assert page.index("<iframe") < page.index("linkwork export panda step")
