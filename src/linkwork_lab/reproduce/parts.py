"""The data of an experiment in parts, by their places: each can be measured again while the others are kept.

Counts are the same on every machine, so a test computes them again, and pages cannot have others. Times and errors are
stamped with the commit that they were measured on, the day, the machine and its load before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from linkwork import ArgumentError
from linkwork_lab.bench.machine import conditions

Say = Callable[[str], None]
"""Tells the user what is being measured."""
COUNTS = "counts"
"""The name of all parts that are exact."""
OF_MACHINE = ("cpu", "cores", "lanes", "load")
"""What a stamp tells of the machine."""


@dataclass(frozen=True)
class Part:
    """One part: its measurement, whose result JSON can hold, and whether it is exact."""

    measure: Callable[[], Any]
    exact: bool = False


Parts = dict[str, Part]
"""By places: "times/stars" is data["times"]["stars"]."""


def counted(count: Callable[..., Any], *arguments: Any) -> Part:
    """A part with the same result on every machine."""
    return Part(partial(count, *arguments), exact=True)


def measured(measure: Callable[..., Any], *arguments: Any) -> Part:
    """A part whose result depends on the machine."""
    return Part(partial(measure, *arguments))


def measure(
    settings: Any,
    parts: Parts,
    say: Say,
    earlier: Mapping[str, Any] | None = None,
    again: Sequence[str] = (),
) -> dict[str, Any]:
    """The data of all parts; with ``earlier`` data, of those at or below the places ``again`` only. "counts" are
    all exact parts.
    """  # fmt: skip
    chosen = {place: part for place, part in parts.items() if not again or any(_is(place, part, a) for a in again)}
    for name in again:
        if not any(_is(place, part, name) for place, part in parts.items()):
            raise ArgumentError(f"there is no part {name!r}; there are {COUNTS}, {', '.join(parts)}")
    now = conditions(settings)
    stamp = {"when": now["when"], "commit": now["commit"], **{name: now["machine"][name] for name in OF_MACHINE}}
    data = dict(earlier or now)
    if not all(part.exact for part in chosen.values()):
        data |= now
    stamps = data.setdefault("stamps", {})
    for place, part in chosen.items():
        say(place)
        _put(data, place.split("/"), part.measure())
        if not part.exact:
            stamps[place] = stamp
    return data


def at(data: Any, place: str) -> Any:
    """The part of the data at a place."""
    for key in place.split("/"):
        data = data[key]
    return data


def _is(place: str, part: Part, name: str) -> bool:
    return part.exact if name == COUNTS else f"{place}/".startswith(f"{name}/")


def _put(data: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    """Store a part; what others have stored below its place stays."""
    key, *rest = keys
    if rest:
        _put(data.setdefault(key, {}), rest, value)
    elif isinstance(value, dict):
        data[key] = data.get(key, {}) | value
    else:
        data[key] = value
