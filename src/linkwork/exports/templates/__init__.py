"""Texts of exported files, with places such as {{name}} to fill."""

from __future__ import annotations

from importlib import resources


def template(file: str) -> str:
    """A text."""
    return (resources.files(__name__) / file).read_text(encoding="utf-8")


def filled(file: str, **parts: object) -> str:
    """A text with its places filled."""
    first, *rest = template(file).split("{{")
    return first + "".join(str(parts[name]) + after for name, _, after in (part.partition("}}") for part in rest))
