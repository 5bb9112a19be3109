"""Digests of everything that generated code depends on, so that cached code is used only where it is valid."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.joints.joint import is_built_in
from linkwork.late import LateFunction
from linkwork.model.model import Frame, Model

if TYPE_CHECKING:
    from linkwork.engine.ir.program import Program
    from linkwork.engine.trace.tables import Kind

SOURCES = ("spatial", "joints", "model", "algorithms", "engine", "compiled", "dynamics", "control", "simulation")
"""The packages that generated code depends on."""


def of_sources(root: Path) -> str:
    """Of every source file of these packages, at any depth, with its path. Without path and file objects, which would
    take longer than reading does.
    """
    files = sorted(path for part in SOURCES for path in _files(f"{root}{os.sep}{part}"))
    digest, start = hashlib.sha256(), len(f"{root}{os.sep}")
    for path in files:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            digest.update(path[start:].encode() + b"\0")
            while block := os.read(handle, 2**20):
                digest.update(block)
        finally:
            os.close(handle)
        digest.update(b"\0")
    return digest.hexdigest()


def _files(folder: str) -> Iterator[str]:
    """The source files in a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.path
            elif "." not in entry.name and entry.is_dir():
                yield from _files(entry.path)


@cache
def library() -> str:
    """Of linkwork's own source."""
    return of_sources(Path(__file__).parents[2])


def of_model(model: Model, frames: Sequence[Frame]) -> str | None:
    """Of all numbers and joints of a model, names left out; None if a joint is not linkwork's own."""
    if not all(is_built_in(body.joint) for body in model.bodies):
        return None
    parts: list[Any] = [model.gravity]
    for body in model.bodies:
        numbers = (body.placement.numbers(), body.inertia.numbers(), body.armature)
        parts.append((body.parent, repr(body.joint), numbers))
    parts.append([(frame.body, frame.placement.numbers()) for frame in frames])
    return key(parts)


def of_kinds(kinds: Sequence[Kind], text: Any) -> str | None:
    """Of the kinds that rolled code is generated for; None if a joint or the algorithm's text is not linkwork's own."""
    if not is_own(text) or not all(is_built_in(kind.joint) for kind in kinds):
        return None
    return key(
        [
            (type(kind.joint).__name__, kind.key[0][1:], kind.rotor, kind.doubtful, kind.fixed, kind.alone, kind.root)
            for kind in kinds
        ]
    )


def is_own(text: Any) -> bool:
    """Whether the text of an algorithm is one of linkwork's own sources, which ``library`` includes."""
    while isinstance(text, partial):
        text = text.func
    module = text.module if isinstance(text, LateFunction) else getattr(text, "__module__", None)
    return str(module).startswith("linkwork.")


def of_program(program: Program) -> str:
    """Of a traced program: used if a joint or the algorithm is not linkwork's own, since its code may depend on
    anything.
    """
    from linkwork.engine.ir.program import text

    return hashlib.sha256(text(program).encode()).hexdigest()


def key(*parts: object) -> str:
    """One digest of many."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
