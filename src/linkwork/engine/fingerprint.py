"""Digests of everything that generated code depends on, so that kept code is used only where it fits."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from linkwork.engine.roll import Kind
from linkwork.joints import Joint
from linkwork.model.model import Frame, Model


@cache
def library() -> str:
    """Of linkwork's own source."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for part in ("spatial", "joints", "model", "algorithms", "engine"):
        for path in sorted((root / part).glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def of_model(model: Model, frames: Sequence[Frame]) -> str | None:
    """Of all numbers and joints of a model, names left out; None if a joint's source cannot be had."""
    parts: list[Any] = [model.gravity]
    for body in model.bodies:
        source = of_joint(type(body.joint))
        if source is None:
            return None
        parts.append((body.parent, source, repr(body.joint), body.placement.numbers(), body.inertia.numbers(), body.armature))
    parts.append([(frame.body, frame.placement.numbers()) for frame in frames])
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def of_kinds(kinds: Sequence[Kind]) -> str | None:
    """Of the kinds that rolled code is made for."""
    parts: list[Any] = []
    for kind in kinds:
        source = of_joint(type(kind.joint))
        if source is None:
            return None
        parts.append((source, repr(kind.key[0][1:]), kind.rotor, repr(kind.fixed)))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def of_joint(kind: type[Joint]) -> str | None:
    """Of a joint class: its name for linkwork's own, the source of its module for a user's."""
    if kind.__module__.startswith("linkwork."):
        return kind.__qualname__
    sources = []
    for base in kind.__mro__:
        if base.__module__.startswith("linkwork.") or base.__module__ in ("builtins", "abc"):
            continue
        try:
            sources.append(inspect.getsource(sys.modules[base.__module__]))
        except (OSError, TypeError, KeyError):
            return None
    return f"{kind.__module__}.{kind.__qualname__}:{hashlib.sha256(repr(sources).encode()).hexdigest()}"


def key(*parts: object) -> str:
    """One digest of many."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
