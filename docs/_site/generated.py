"""Pages that each build writes anew, into docs/generated: the reference, the command line, the root's files."""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import posixpath
import re
from functools import cache
from pathlib import Path

from docstrings import laid_out
from names import Page, documented_in, pages, public, summary

from linkwork import cli
from linkwork.files import write_text

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "docs" / "generated"
PROJECT = {"ARCHITECTURE.md": "architecture", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}
"""Files of the root that are pages of the site."""

LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def write() -> None:
    """Write all pages; one that has not changed keeps its file, so that Sphinx need not read it again."""
    wanted = {f"reference/{name}.rst": text for name, text in reference().items()}
    for file, page in PROJECT.items():
        wanted[f"project/{page}.md"] = relinked(
            (ROOT / file).read_text(encoding="utf-8"), ".", "docs/generated/project"
        )
    for name, text in wanted.items():
        path = GENERATED / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
    for folder in ("reference", "project"):
        for path in (GENERATED / folder).iterdir():
            if f"{folder}/{path.name}" not in wanted:
                path.unlink()


def relinked(text: str, here: str, there: str) -> str:
    """A Markdown page of the folder ``here`` with its links as they are on the site, where it is in ``there``. A link
    that shows the name of a file shows the title of the page, or of its section, instead.
    """

    def link(match: re.Match[str]) -> str:
        words, path, anchor = match[1], posixpath.normpath(posixpath.join(here, match[2])), match[3] or ""
        if words.removeprefix("docs/") == posixpath.basename(path) and path.endswith(".md"):
            words = "" if anchor else titles().get(on_site(path), "")
        return f"[{words}]({posixpath.relpath(on_site(path), there)}{anchor})"

    return LINK.sub(link, text)


@cache
def titles() -> dict[str, str]:
    """What docs/index.md calls the pages that it leads to, by their paths on the site."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    return {on_site(posixpath.normpath(f"docs/{path}")): words for words, path, _ in LINK.findall(index)}


def on_site(path: str) -> str:
    """Where a file of the project, by its path from the root, is in the sources of the site."""
    if path in PROJECT:
        return f"docs/generated/project/{PROJECT[path]}.md"
    if path == "README.md":
        return "docs/index.md"
    if path == "examples":
        return "docs/generated/gallery/index.rst"
    if path.startswith("examples/"):
        return f"docs/generated/gallery/{Path(path).stem}.rst"
    return path


def reference() -> dict[str, str]:
    """The pages of the reference as reStructuredText, by name."""
    found = {name: _page(page) for name, page in pages().items()}
    found["command-line"] = _command_line()
    found["index"] = _index()
    return found


def _title(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def _page(page: Page) -> str:
    lines = _title(page.title, "=")
    if page.scope != "linkwork":
        about = "\n".join(laid_out((inspect.getdoc(documented_in(page.scope)) or "").splitlines()))
        lines += [
            f".. py:module:: {page.scope}",
            "",
            f"Names of ``{page.scope.replace('linkwork', 'lw')}``.",
            "",
            about,
            "",
        ]
    else:
        lines += [f".. py:currentmodule:: {page.scope}", ""]
    for section in page.sections.values():
        if len(page.sections) > 1:
            lines += _title(section.title, "-")
        for name in section.names:
            lines += _entry(name, getattr(documented_in(page.scope), name))
    return "\n".join(lines)


def _entry(name: str, thing: object) -> list[str]:
    if inspect.isclass(thing):
        return [f".. autoclass:: {name}", "   :members:", ""]
    if inspect.isroutine(thing):
        return [f".. autofunction:: {name}", ""]
    return [f".. py:data:: {name}", "", *(f"   {line}" for line in remark(name).splitlines()), ""]


def remark(name: str) -> str:
    """The docstring under an assignment to this name, in whichever module of linkwork has one."""
    return _remarks().get(name, "")


@cache
def _remarks() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted((ROOT / "src" / "linkwork").rglob("*.py")):
        for line, after in itertools.pairwise(ast.parse(path.read_text(encoding="utf-8")).body):
            targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                for target in (inner for each in targets for inner in getattr(each, "elts", [each])):
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, inspect.cleandoc(str(after.value.value)))
    return found


def _index() -> str:
    """Every public name with the first sentence of its docstring."""
    lines = _title("Reference", "=")
    lines += [
        f"All {len(public())} public names, by what they are about. In code, ``lw`` is ``linkwork``: "
        "``import linkwork as lw``.",
        "",
    ]
    for name, page in pages().items():
        lines += [*_title(page.title, "-"), ".. list-table::", "   :widths: 35 65", "   :class: names", ""]
        for section in page.sections.values():
            for one in section.names:
                thing = getattr(documented_in(page.scope), one)
                shown = f"{page.scope}.{one}".replace("linkwork.", "lw.", 1)
                about = summary(thing) if not isinstance(thing, (int, float, dict, tuple)) else ""
                lines += [f"   * - :py:obj:`{shown} <{page.scope}.{one}>`", f"     - {about}"]
        lines += ["", f":doc:`{page.title} in full <{name}>`", ""]
    lines += [".. toctree::", "   :hidden:", "", *(f"   {name}" for name in pages()), "   command-line", ""]
    return "\n".join(lines)


def _command_line() -> str:
    """What ``linkwork COMMAND --help`` says."""
    lines = _title("Command line", "=")
    for name, about in cli.COMMANDS.items():
        parser = argparse.ArgumentParser(
            prog=f"linkwork {name}",
            description=about,
            formatter_class=lambda prog: argparse.HelpFormatter(prog, width=100),
        )
        cli.command(name).arguments(parser)
        lines += _title(f"linkwork {name}", "-")
        lines += [
            ".. code-block:: text",
            "",
            *(f"   {line}".rstrip() for line in parser.format_help().splitlines()),
            "",
        ]
    return "\n".join(lines)
