"""What a file says and a Model does not have: counted by kinds, for one warning."""

from __future__ import annotations

from collections.abc import Iterable

from linkwork.formats.xml import quoted

_NAMED = 3
"""Names that a text gives of each kind."""


class Omissions:
    """What is left out, by kinds in the plural: how many, and the first names."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[int, list[str]]] = {}

    def add(self, kind: str, names: Iterable[str], unnamed: int = 0) -> None:
        """Add things of a kind, and how many more there are."""
        for name in names:
            count, named = self._kinds.setdefault(kind, (0, []))
            self._kinds[kind] = count + 1, [*named, name][:_NAMED]
        if unnamed:
            count, named = self._kinds[kind]
            self._kinds[kind] = count + unnamed, named

    def texts(self) -> list[str]:
        """A text for each kind: what, how many, and some of their names."""
        return [
            f"{kind} ({count}: {', '.join(map(quoted, named))}{', ...' if count > len(named) else ''})"
            for kind, (count, named) in self._kinds.items()
        ]
