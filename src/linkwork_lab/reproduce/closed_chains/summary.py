"""The tables of the experiment on the console."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from linkwork_lab.reproduce.closed_chains.page import tables
from linkwork_lab.reproduce.tables import title

HEADINGS = {
    "times": "one state of a ladder, over its loops",
    "operations": "operations of the recursion: loops that close at once, that all stay open, and on the ground",
    "in_parallel": "one state by assembly, over lanes and threads",
    "depth": "operations on the longest path",
    "loops": "operations on the longest path, with loops",
    "machine": "where",
}


def summarise(data: dict[str, Any], console: Console) -> None:
    """Print the tables of the page."""
    found = tables(data)
    for name, heading in HEADINGS.items():
        if name in found:
            title(console, heading)
            console.print(found[name], soft_wrap=True)
