"""Docstrings are plain text with ``code`` in it: what else reStructuredText would read as markup is escaped."""

from __future__ import annotations

import re
from typing import Any

MARKUP = re.compile(r"(``.*?``|:\w+:`.*?`)|\*(?=\S)|(?<=\w)_(?!\w)|\|")
EXAMPLE = re.compile(r"\s*(>>>|\.\.\. )")
ARGUMENT = re.compile(r"\s*\*{1,2}\w+: ")


def escaped(line: str) -> str:
    """A line of text, its stars, bars and last underscores taken literally."""
    return MARKUP.sub(lambda found: found[0] if found[1] else f"\\{found[0]}", line)


def laid_out(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText: examples as they are, drawings and formulas that are set in as such."""
    found: list[str] = []
    literal = example = False
    above = " "
    for index, line in enumerate(lines):
        set_in = line.startswith("    ")
        literal = (literal and (set_in or not line.strip())) or (
            set_in and index > 0 and not lines[index - 1].strip() and above[:1] != " "
        )
        example = bool(EXAMPLE.match(line)) or (example and bool(line.strip()))
        if literal and set_in and above[:1] != " ":
            found += ["::", ""]
        found.append(line if literal or example or ARGUMENT.match(line) else escaped(line))
        above = line if line.strip() else above
    return found


def plain(app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """What autodoc asks for each docstring."""
    lines[:] = laid_out(lines)


def left_out(app: Any, what: str, name: str, thing: object, skip: bool, options: Any) -> bool | None:
    """The fields of a named tuple are told by its own docstring."""
    return True if str(getattr(thing, "__doc__", "")).startswith("Alias for field number") else None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", left_out)
    app.connect("autodoc-process-docstring", plain, priority=100)  # before sections are read
