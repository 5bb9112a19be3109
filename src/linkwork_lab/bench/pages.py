"""Tables in Markdown pages, between the markers ``<!-- name -->`` and ``<!-- end -->``."""

from __future__ import annotations

from pathlib import Path

from linkwork import ArgumentError
from linkwork.files import write_text

_END = "<!-- end -->"


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
    head, found, rest = page.partition(begin)
    _, end, tail = rest.partition(_END)
    if not (found and end) or begin in tail:
        raise ArgumentError(f"{path} must have the lines {begin.strip()} and {_END} once, around the tables")
    return head + begin, end + tail
