"""Routes: which code serves a call of a public function that is identified by its choices (``emit.routes``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.engine.emit.python_calls import BY_IDENTITY
from linkwork.engine.run.entries import Holder

_MOST = 1000
"""The size of a table at which its routes are dropped: choices may change from call to call."""


class Route(tuple[Any, ...]):
    """The capsule of an entry, what its results are converted to, and its arguments; it keeps alive what must live as
    long.
    """

    kept: tuple[object, ...]


def key_of(function: object, count: int, choices: Sequence[Any], known_by: Sequence[int]) -> tuple[Any, ...]:
    """The key of a call with so many arrays: the same as generated code makes."""
    key: list[Any] = [function, count]
    for choice, how in zip(choices, known_by, strict=True):
        key += [_identities(choice) if how == BY_IDENTITY else _value(choice), type(choice)]
    return tuple(key)


def _value(choice: Any) -> Any:
    if type(choice) is list:
        return choice[0] if len(choice) == 1 and type(choice[0]) is str else tuple(choice)
    return tuple(choice) if type(choice) is dict else choice


def _identities(choice: Any) -> Any:
    return tuple(map(id, choice)) if type(choice) in (list, tuple) else id(choice)


def keep(
    table: dict[Any, Any],
    key: tuple[Any, ...],
    holder: Holder,
    arguments: Sequence[Any],
    made: Callable[[Any], Any] | None,
    *kept: object,
) -> None:
    """From now on, a call with this key is served by the holder's entry.

    Args:
        table: of the model, or of the function.
        key: of the call.
        holder: of the entry.
        arguments: of the entry: an array, or None for the next one of the call.
        made: converts the results to what the function returns; None if they are returned as they are.
        kept: what must live as long, such as objects that the key identifies by their addresses.
    """
    if key not in table and len(table) >= _MOST:
        for old in list(table):  # at once: other threads may add to it
            if type(old) is tuple:
                table.pop(old, None)
    route = Route((holder[0], made, *arguments))
    route.kept = (holder, *kept)
    table[key] = route
