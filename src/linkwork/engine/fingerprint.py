"""Digests of everything that generated code depends on, so that kept code is used only where it fits."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from linkwork.engine.ir import Program, text
from linkwork.engine.tables import Kind
from linkwork.joints import Joint
from linkwork.model.model import Frame, Model


@cache
def library() -> str:
    """Of linkwork's own source."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for part in ("spatial", "joints", "model", "algorithms", "engine"):
        for path in sorted((root / part).rglob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def of_model(model: Model, frames: Sequence[Frame]) -> str | None:
    """Of all numbers and joints of a model, names left out; None if a joint is not linkwork's own."""
    if not all(own(body.joint) for body in model.bodies):
        return None
    parts: list[Any] = [model.gravity]
    for body in model.bodies:
        numbers = (body.placement.numbers(), body.inertia.numbers(), body.armature)
        parts.append((body.parent, repr(body.joint), numbers))
    parts.append([(frame.body, frame.placement.numbers()) for frame in frames])
    return key(parts)


def of_kinds(kinds: Sequence[Kind]) -> str | None:
    """Of the kinds that rolled code is made for; None if a joint is not linkwork's own."""
    if not all(own(kind.joint) for kind in kinds):
        return None
    return key([(type(kind.joint).__name__, kind.key[0][1:], kind.rotor, kind.fixed) for kind in kinds])


def of_program(program: Program) -> str:
    """Of a traced program: what to go by where a joint is not linkwork's own, for its code may depend on anything."""
    return hashlib.sha256(text(program).encode()).hexdigest()


def own(joint: Joint) -> bool:
    """Whether a joint is one of linkwork's, whose text is known."""
    return type(joint).__module__.startswith("linkwork.")


def key(*parts: object) -> str:
    """One digest of many."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
