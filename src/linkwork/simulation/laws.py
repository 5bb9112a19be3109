"""Control laws and costs of a simulation: compiled functions of (t, q, v, ...), and their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arguments import Array, array
from linkwork.batches import leading_axes
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model

Parameters = Mapping[str, ArrayLike] | Sequence[ArrayLike] | Array | None
"""Parameters of a law: in order, by name, or the only one."""


def as_law(model: Model, name: str, value: Any, result: Shape, more: Sequence[str] = ()) -> CompiledFunction:
    """A compiled function of (t, q, v), of the arguments ``more``, which have the length of v, and of parameters; a
    plain function without parameters is compiled.
    """
    wanted: dict[str, Shape] = {"t": (), "q": (model.nq,), "v": (model.nv,), **dict.fromkeys(more, (model.nv,))}
    takes = ", ".join(wanted)
    if not isinstance(value, CompiledFunction):
        value = _compiled(name, value, wanted)
    first = list(value.shapes.items())[: len(wanted)]
    if len(first) < len(wanted):
        raise ArgumentError(f"{name}: {value.name} must take ({takes}, ...), but takes ({', '.join(value.shapes)})")
    for (key, shape), (own, expected) in zip(first, wanted.items(), strict=True):
        if shape != expected:
            raise ArgumentError(
                f"{name}: {value.name} takes ({takes}, ...), and its {key!r}, for {own}, has shape {shape}, but the "
                f"model {model.name!r} has nq = {model.nq} and nv = {model.nv}, which makes it {expected}; was it "
                f"compiled for another model?"
            )
        _check_joints(model, name, value, key)
    if value.result_shapes != [result] or value.nested:
        found = ", ".join(map(str, value.result_shapes))
        what = f"an array of shape {result}" if result else "one number"
        inside = " in a tuple, list or dict" if value.result_shapes == [result] else ""
        raise ArgumentError(f"{name}: {value.name} must return {what}, but its result has shape {found}{inside}")
    return value


def _check_joints(model: Model, name: str, law: CompiledFunction, key: str) -> None:
    """An error if a law was compiled for a configuration of another model, with other kinds of joints."""
    other = law.configurations.get(key)
    if other is None or other is model:
        return
    moving = [[body for body in each.bodies if body.joint.nq] for each in (other, model)]
    for own, here in zip(*moving, strict=False):
        kinds = [type(body.joint).__name__.lower() for body in (own, here)]
        if kinds[0] != kinds[1]:
            raise ArgumentError(
                f"{name}: {law.name} was compiled for another model: its {key!r} is a configuration of {other.name!r}, "
                f"whose joint {own.joint_name!r} is {kinds[0]}, where joint {here.joint_name!r} of {model.name!r} is "
                f"{kinds[1]}"
            )


def _compiled(name: str, function: Any, wanted: Mapping[str, Shape]) -> CompiledFunction:
    from linkwork.compiled.compiling import compile as compiled

    shapes = ", ".join(f"{key}={shape[0] if shape else '()'}" for key, shape in wanted.items())
    hint = f"lw.compile({getattr(function, '__name__', 'f')}, {shapes}, ...)"
    if not callable(function):
        takes = ", ".join(wanted)
        of_controller = callable(getattr(function, "torque", None))
        instead = "; of a controller pass its function, controller.torque" if of_controller else ""
        raise ArgumentError(
            f"{name} must be a function of ({takes}, ...) made by lw.compile, not {shown(function)}{instead}"
        )
    try:
        own = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ArgumentError(f"the arguments of {name} cannot be found out; compile it: {hint}") from None
    needed = [each for each in own if each.default is each.empty]
    if len(needed) != len(wanted) or any(each.kind is not each.POSITIONAL_OR_KEYWORD for each in needed):
        raise ArgumentError(
            f"{name} takes ({', '.join(each.name for each in own)}); what is no function of ({', '.join(wanted)}) "
            f"alone must be compiled with the shapes of its parameters: {hint}"
        )
    return compiled(function, **dict(zip((each.name for each in needed), wanted.values(), strict=True)))


def parameters_of(
    law: CompiledFunction | None, key_of: str, name: str, parameters: Any, state: int
) -> dict[str, tuple[str, Array, Shape]]:
    """For each parameter of a law after the first ``state`` arguments: its name for messages, an array (..., T or 1,
    numbers) and its shape in one step, under numbered keys. Whether they are finite is checked later.
    """
    own = [] if law is None else list(law.shapes.items())[state:]
    values = _listed(law, name, parameters, [key for key, _ in own])
    found = {}
    for k, ((key, shape), value) in enumerate(zip(own, values, strict=True)):
        called = f"{name}[{key!r}]"
        numbers = array(called, value, shape)
        axes = leading_axes(called, numbers, shape) or (1,)
        found[f"{key_of}_{k:03}"] = (called, numbers.reshape((*axes, int(np.prod(shape)))), shape)
    return found


def _listed(law: CompiledFunction | None, name: str, parameters: Any, own: list[str]) -> list[Any]:
    """The parameters in the law's order."""
    if law is None:
        if parameters is not None:
            raise ArgumentError(f"{name} needs what takes them; there is none")
        return []
    listed = ", ".join(own)
    if parameters is None:
        parameters = ()
    if isinstance(parameters, Mapping):
        return _by_name(law, name, parameters, own)
    if isinstance(parameters, np.ndarray) and len(own) == 1:
        return [parameters]
    if not isinstance(parameters, tuple | list) or len(parameters) != len(own):
        count = f"{len(parameters)}" if isinstance(parameters, tuple | list) else shown(parameters)
        raise ArgumentError(
            f"{name} must be a tuple with the {len(own)} parameter(s) of {law.name} ({listed or 'none'}), or a dict by "
            f"their names, not {count}"
        )
    return list(parameters)


def _by_name(law: CompiledFunction, name: str, parameters: Mapping[str, Any], own: list[str]) -> list[Any]:
    """The same from a dict."""
    listed = ", ".join(own)
    for key in parameters:
        if key not in own:
            raise ArgumentError(f"{name}: {law.name} has no parameter {key!r}; it has {listed or 'none'}")
    for key in own:
        if key not in parameters:
            raise ArgumentError(f"{name}: {key!r} of {law.name} is missing; it takes {listed}")
    return [parameters[key] for key in own]


def check_constant(parameters: Mapping[str, tuple[str, Array, Shape]]) -> None:
    """An error if those of a law in one motion are not finite, or not the same at all times."""
    for called, rows, _ in parameters.values():
        if rows.shape[:-1] != (1,) or not np.isfinite(rows).all():
            raise ArgumentError(f"{called} must be finite numbers in its own shape, the same at all times")
