"""Digests of everything that generated code depends on, so that kept code is used only where it fits."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.joints.joint import is_built_in
from linkwork.model.model import Frame, Model

if TYPE_CHECKING:
    from linkwork.engine.ir.program import Program
    from linkwork.engine.trace.tables import Kind

SOURCES = ("spatial", "joints", "model", "algorithms", "engine", "compiled", "dynamics", "control", "simulation")
"""The packages that generated code follows from."""


def of_sources(root: Path) -> str:
    """Of every source file of these packages, however deep, with its path. Without path objects, which would take more
    than reading does.
    """
    folders = [entry for part in SOURCES for entry in os.walk(root / part)]
    files = [os.path.join(folder, name) for folder, _, names in folders for name in names if name.endswith(".py")]
    digest, start = hashlib.sha256(), len(os.path.join(root, ""))
    for path in sorted(files):
        with open(path, "rb", buffering=0) as file:
            digest.update(path[start:].encode() + b"\0" + file.read() + b"\0")
    return digest.hexdigest()


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


def of_kinds(kinds: Sequence[Kind]) -> str | None:
    """Of the kinds that rolled code is made for; None if a joint is not linkwork's own."""
    if not all(is_built_in(kind.joint) for kind in kinds):
        return None
    return key(
        [
            (type(kind.joint).__name__, kind.key[0][1:], kind.rotor, kind.doubtful, kind.fixed, kind.alone, kind.root)
            for kind in kinds
        ]
    )


def of_program(program: Program) -> str:
    """Of a traced program: what to go by where a joint is not linkwork's own, for its code may depend on anything."""
    from linkwork.engine.ir.program import text

    return hashlib.sha256(text(program).encode()).hexdigest()


def key(*parts: object) -> str:
    """One digest of many."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
