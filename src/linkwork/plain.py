"""Text that is shown as it stands, wherever: a name from a file may look like HTML, like markup of a console or of
Markdown, like a formula, or have characters that move the cursor.

One function for each place that gives some characters a meaning; ``pictures.put`` for matplotlib. The live view has
fields of viser that show text as it stands, and nothing in Markdown or HTML.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 10_000
"""Wider than any table, so that no row is wrapped: a wrapped tree cannot be read, or searched with grep."""
_MARKDOWN = re.compile(r"[\\`*<>\[\]|&$~]|(?<!\w)_|_(?!\w)")


def one_line(text: str) -> str:
    """A text with what cannot be printed written as in its repr: line ends, escape sequences of a terminal, marks that
    turn the direction of writing, half of a surrogate pair.

    Example:
        >>> from linkwork.plain import one_line
        >>> one_line("left\\narm")
        'left\\\\narm'
    """
    return text if text.isprintable() else "".join(x if x.isprintable() else repr(x)[1:-1] for x in text)


def lines(text: str) -> str:
    """The same of every line of a message."""
    return "\n".join(map(one_line, text.split("\n")))


def as_html(text: str) -> str:
    """A text in HTML, in an element or an attribute."""
    return html.escape(one_line(text))


def as_script(data: Any, **options: Any) -> str:
    """Data as JSON that does not end the script element in which it is; the options are those of ``json.dumps``."""
    return json.dumps(data, **options).replace("<", "\\u003c")


def as_markdown(text: str) -> str:
    """A text in a table of a Markdown page."""
    return _MARKDOWN.sub(r"\\\g<0>", one_line(text))


def console(**options: Any) -> Console:
    """rich's console without markup such as [red], without emoji such as :100:, and without colours of its own."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, width=WIDTH, **options)
