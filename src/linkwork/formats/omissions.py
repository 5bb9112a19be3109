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
            count, examples = self._kinds.setdefault(kind, (0, []))
            self._kinds[kind] = count + 1, [*examples, name][:_NAMED]
        if unnamed:
            count, examples = self._kinds[kind]
            self._kinds[kind] = count + unnamed, examples

    def texts(self) -> list[str]:
        """A text for each kind: what, how many, and some of their names."""
        return [
            f"{kind} ({count}: {', '.join(map(quoted, examples))}{', ...' if count > len(examples) else ''})"
            for kind, (count, examples) in self._kinds.items()
        ]
