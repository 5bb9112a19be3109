"""Tables on the console: a heading, and a row for each size with a column for each method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def title(console: Console, text: str) -> None:
    console.print(f"\n{text}", style="bold")


def over(
    console: Console,
    heading: str,
    values: Sequence[float],
    lines: Mapping[str, Sequence[Any]],
    write: Callable[[Any], str],
) -> None:
    """One row for each value; - for None."""
    table = Table(box=None, pad_edge=False)
    for name in (heading, *lines):
        table.add_column(name, justify="right")
    for k, value in enumerate(values):
        table.add_row(f"{value:g}", *("-" if line[k] is None else write(line[k]) for line in lines.values()))
    console.print(table)
