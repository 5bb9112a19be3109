"""``lw.compile``: a user's function over NumPy arrays, traced and compiled like an algorithm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import Any

from linkwork.arguments import is_integer
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.tracing import Shape, trace
from linkwork.engine.ir.program import Program, same
from linkwork.engine.plans.traced import gives_up, giving_up
from linkwork.engine.spaces import SPACES
from linkwork.engine.trace.tracer import TooLong
from linkwork.errors import ArgumentError, TracingError, shown
from linkwork.model.memo import requested, requesting
from linkwork.model.model import Model

MOST_NUMBERS = 1_000_000
"""Of an argument, for one state."""


def compile(function: Callable[..., Any], /, **shapes: Any) -> CompiledFunction:
    """A function over NumPy arrays as machine code: a control law, a cost, a constraint, a step.

    The function is traced: it is run over arrays whose numbers record the operations on them. Inside, arithmetic,
    ``@``, slices, fixed indices, reductions, NumPy's functions (``np.sin``, ``np.where``, ``np.linalg.solve``, ...) and
    linkwork's own functions of kinematics, dynamics, operational space and constraints for a fixed model work as they
    do on arrays of floats. Control flow must not depend on values, except through ``np.where`` and the like.

    Args:
        function: of arrays, for one state; it is not changed, and called with arrays it returns the same numbers to
            rounding. It is run twice, to check that it does the same each time, and once more if a mechanism has limbs
            of the same kind, which one call computes side by side. An argument that has a default and no shape keeps
            its default.
        shapes: of each argument, for one state: an int, a tuple (``()`` for a single number), or a model and a space,
            such as ``(model, "configuration")``.

    Returns:
        A ``CompiledFunction`` with the same arguments, each with any leading (batch) axes, and ``out=``.

    Raises:
        TracingError: if something cannot be traced, with the line of the file and what to use instead.

    Example:
        >>> import linkwork as lw
        >>> import numpy as np
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> def law(q, v, target):
        ...     return lw.gravity_torques(arm, q) + 50.0 * np.tanh(target - q) - 5.0 * v
        >>> fast = lw.compile(law, q=arm.nq, v=arm.nv, target=arm.nq)
        >>> states = np.zeros((1000, 2))
        >>> fast(states, states, target=[0.1, 0.2]).shape
        (1000, 2)
    """
    name = getattr(function, "__name__", type(function).__name__)
    parameters = _parameters(name, function, shapes)
    configurations = {key: model for key in parameters if (model := _configuration_of(shapes[key])) is not None}
    return compiled(name, function, parameters, configurations, function)


def compiled(
    name: str,
    text: Callable[..., Any],
    shapes: Mapping[str, Shape],
    configurations: Mapping[str, Model] = MappingProxyType({}),
    function: Callable[..., Any] | None = None,
) -> CompiledFunction:
    """A text over arrays as a compiled function. It is traced now; and once more with calls of code with loops, if it
    is too long without these, or part of a text that is. A user's ``function`` may change: it is traced twice.
    """
    made = requested.get()

    def traced(form: str, first: bool = False, **options: Any) -> tuple[Program, Any, tuple[Shape, ...]]:
        with requesting(form), giving_up(first):
            return trace(name, text, shapes, **options)

    try:
        found = traced(made, first=not made)
    except TooLong:
        made = "rolled"
        found = traced(made)
    program, structure, results = found

    def unchanged() -> bool:
        again = traced(made, warns=False)
        return found[1:] == again[1:] and same(program, again[0])

    def in_form() -> Program:
        if requested.get() in (made, "") or (function is not None and not unchanged()):
            return program
        return traced(requested.get(), first=gives_up())[0]

    if function is not None and not unchanged():
        raise TracingError(
            f"{name} does not do the same each time that it is run; random numbers, clocks and counters must be "
            f"arguments",
            "",
        )
    branches = None if function is None else _branches(name, function, shapes, program)
    return CompiledFunction(
        name, shapes, in_form, structure, results, configurations=configurations, function=function, branches=branches
    )


def _branches(
    name: str, function: Callable[..., Any], parameters: Mapping[str, Shape], program: Program
) -> Callable[[], Program] | None:
    """The program with the same instructions for isomorphic branches, if a mechanism has them; also None if the
    function needs numbers that are not known then.
    """
    if not any(lane for _, lane in program.seeds.values()):
        return None
    try:
        narrow = trace(name, function, parameters, isomorphic=True, warns=False)[0]
    except TracingError:
        return None
    return lambda: narrow


def _parameters(name: str, function: Any, shapes: dict[str, Any]) -> dict[str, Shape]:
    """The shape of each argument, in the function's own order."""
    if not callable(function):
        raise ArgumentError(f"function must be a function of arrays, not {shown(function)}")
    try:
        signature = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise ArgumentError(f"the arguments of {name} cannot be found out; wrap it in a function of Python") from None
    listed = [key for parameter in signature.values() for key in _keys(name, parameter, shapes, signature)]
    for key in shapes:
        if key not in listed:
            names = ", ".join(map(repr, signature))
            raise ArgumentError(f"{name} has no argument {key!r}; it has {names or 'none'}")
    return {key: _shape(key, shapes[key]) for key in dict.fromkeys(listed)}


def _keys(
    name: str, parameter: inspect.Parameter, shapes: dict[str, Any], signature: Mapping[str, inspect.Parameter]
) -> list[str]:
    """The arguments with shapes that a function takes by this parameter."""
    if parameter.kind is parameter.VAR_KEYWORD:
        return [key for key in shapes if key not in signature]
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise ArgumentError(f"{name} takes any number of arguments (*{parameter.name}); name each of them")
    if parameter.name in shapes:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ArgumentError(f"{parameter.name} of {name} must not be positional only")
        return [parameter.name]
    if parameter.default is parameter.empty:
        raise ArgumentError(
            f"{name} takes {parameter.name!r}, whose shape is missing: lw.compile({name}, {parameter.name}=...)"
        )
    return []


def _configuration_of(given: Any) -> Model | None:
    """The model whose configuration an argument was declared to be."""
    if isinstance(given, tuple | list) and "configuration" in [part for part in given if isinstance(part, str)]:
        return next(part for part in given if isinstance(part, Model))
    return None


def _shape(name: str, given: Any) -> Shape:
    if is_integer(given):
        given = (given,)
    if isinstance(given, tuple | list) and len(given) == 2:
        model, space = given if isinstance(given[0], Model) else tuple(given)[::-1]
        if isinstance(model, Model) and isinstance(space, str):
            return _shape_in(name, model, space)
    if not isinstance(given, tuple | list) or not all(is_integer(n) and n >= 0 for n in given):
        raise ArgumentError(
            f"the shape of {name} must be an int, a tuple of ints, or a model and a space such as "
            f'(model, "configuration"), not {shown(given)}'
        )
    if prod(map(int, given)) > MOST_NUMBERS:
        raise ArgumentError(
            f"{name} has {prod(map(int, given)):,} numbers; a function is traced number by number, of arguments of up "
            f"to {MOST_NUMBERS:,}. The shape is that of one state: batches need none"
        )
    return tuple(map(int, given))


def _shape_in(name: str, model: Model, space: str) -> Shape:
    names = [key for key, one in SPACES.items() if not one.of_frames]
    if space not in names:
        raise ArgumentError(f"{name}: there is no space {space!r} of a model; there are {', '.join(map(repr, names))}")
    return SPACES[space].shape(model, 0)
