"""Tables in Markdown pages, between the markers ``<!-- name -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from pathlib import Path

from linkwork import ArgumentError
from linkwork.files import write_text

_END = "<!-- end -->"


def refuse_idle(path: Path, load: float, idle: float) -> None:
    """Raise an error if the page says, outside of its tables, that the machine was idle, and it was not."""
    words = re.sub(rf"<!-- [^>]* -->\n.*?{_END}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    if load > idle and re.search(r"\bidle\b", words):
        raise ArgumentError(f"{path} says that the machine was idle, but its load was {load:g} before; measure again")


def put(path: Path, name: str, text: str) -> None:
    """Replace the text between the markers of that name."""
    head, tail = around(path, name)
    write_text(path, f"{head}{text}\n{tail}")


def around(path: Path, name: str) -> tuple[str, str]:
    """The page up to the first marker of that name, inclusive, and from the second one on."""
    begin = f"<!-- {name} -->\n"
    try:
        page = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"cannot read {path}: {error}") from None
    head, start, rest = page.partition(begin)
    _, end, tail = rest.partition(_END)
    if not (start and end) or begin in tail:
        raise ArgumentError(f"{path} must have the lines {begin.strip()} and {_END} once, around the tables")
    return head + begin, end + tail
