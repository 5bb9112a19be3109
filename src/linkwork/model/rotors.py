"""A model with other armatures: damping at the end of a step adds to a joint's rotor inertia."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linkwork.model.doubtful import own_shares
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model


def with_rotors(model: Model, rotors: Sequence[Any]) -> Model:
    """The model with these rotor inertias (nv,), floats or traced numbers. Checks for doubtful joints stay those of the
    original model.
    """
    bodies = []
    for body, start in zip(model.bodies, model.v_start, strict=True):
        numbers = tuple(rotors[start : start + body.joint.nv])
        plain = all(isinstance(number, float) and number == 0.0 for number in numbers)
        bodies.append(body if plain and not body.armature else replace(body, armature=numbers))
    result = Model(model.name, tuple(bodies), model.frames, model.gravity)
    result._memo.derived[own_shares.__wrapped__] = own_shares(model)  # type: ignore[attr-defined]
    return result


@kept_with_model
def rotors_apart(model: Model) -> tuple[Model, tuple[Any, ...]]:
    """A model without its rotor inertias, and these (nv,), if some of them are traced numbers; otherwise the model, and
    nothing.
    """
    if all(isinstance(number, float) for body in model.bodies for number in body.armature):
        return model, ()
    rotors = tuple(number for body in model.bodies for number in body.armature or (0.0,) * body.joint.nv)
    return with_rotors(model, [0.0] * model.nv), rotors
