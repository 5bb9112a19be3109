"""The site's table of contents is docs/index.md itself: each heading with its links becomes a part of the sidebar.

So the index reads on its own, and nothing is listed twice. A page that it does not name yet stands under "More".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from generated import LINK, on_site

REFERENCE = "generated/reference/index"
LOOK_UP = "Look up"
SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def sections(index: str) -> dict[str, dict[str, str]]:
    """The pages of each section of the index, as Sphinx names them, with the words of their links."""
    found = {}
    for title, text in SECTION.findall(index):
        links = {page_of(link): words[:1].upper() + words[1:] for words, link, _ in LINK.findall(text)}
        found[title] = links
    found.setdefault(LOOK_UP, {})[REFERENCE] = "Reference"
    return found


def page_of(link: str) -> str:
    """A link of the index as Sphinx names the page."""
    return re.sub(r"^docs/|\.\w+$", "", on_site(posixpath.normpath(f"docs/{link}")))


def with_contents(index: str, pages: Iterable[str]) -> str:
    """The index with a hidden table of contents for each section, and one for pages that it does not name."""
    parts = sections(index)
    named = {page for part in parts.values() for page in part} | {"index"}
    trees = [_tree(title, [f"{words} <{page}>" for page, words in part.items()]) for title, part in parts.items()]
    more = sorted(page for page in pages if page not in named and "/" not in page)
    reference = f"- [Reference]({REFERENCE}.rst): every public name, from its docstring\n"
    gallery = index.index("\n", index.index("](../examples)")) + 1
    return "\n".join([index[:gallery] + reference + index[gallery:], *trees, *([_tree("More", more)] if more else [])])


def _tree(title: str, entries: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```", ""])
