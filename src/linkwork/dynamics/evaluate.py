"""Evaluation of any function of a mechanism over any scalar type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from linkwork.algorithms import ALGORITHMS, Algorithm
from linkwork.arguments import choice
from linkwork.dynamics.arguments import Frames, as_frames, check_model
from linkwork.engine.plans.task import moved
from linkwork.engine.spaces import SPACES
from linkwork.engine.trace.interpreter import evaluate as interpreted
from linkwork.errors import ArgumentError, shown, suggestion
from linkwork.model.model import Model
from linkwork.spatial.foreign import Foreign, is_foreign, unwrapped

_OTHER_TEXTS = {
    "forward_dynamics": "articulated_body",
    "forward_kinematics": "frame_placements",
    "frame_velocity": "frame_velocities",
    "frame_acceleration": "frame_accelerations",
    "operational_inertia_inverse": "operational/sparse",
    "forward_dynamics_and_reactions": "articulated_body_reactions/child",
    "inverse_dynamics_and_reactions": "inverse_dynamics_reactions/child",
}
"""Functions whose algorithm has another name: that of their default method."""
NAMES = (
    "centre_of_mass", "difference", "energy", "forward_dynamics", "forward_dynamics_and_reactions",
    "forward_dynamics_derivatives", "forward_kinematics", "frame_acceleration", "frame_velocity", "gravity_torques",
    "integrate", "inverse_dynamics", "inverse_dynamics_and_reactions", "inverse_dynamics_derivatives", "jacobian",
    "jacobian_drift", "mass_matrix", "mass_matrix_inverse", "momentum", "momentum_derivatives", "nonlinear_effects",
    "operational_inertia_inverse", "torque_regressor",
)  # fmt: skip
"""The functions that can be evaluated."""
_OF_FRAMES = {"poses", "jacobian", "twists", "stacked_twists", "operational"}


def evaluate(
    function: str, model: Model, *arguments: Any, frames: Frames | None = None, reference: str = "local", **named: Any
) -> Any:
    """A function of a mechanism over any scalar type: mpmath numbers of 50 digits, dual numbers, CasADi symbols or
    traced numbers.

    The algorithm's own Python code runs on one state. A scalar needs arithmetic with floats and with its own kind, and
    the comparison ``<``; docs/scalars.md lists the rest, and the libraries whose scalars work as they are.

    Args:
        function: the name of a public function that maps a state to numbers, such as "forward_dynamics",
            "inverse_dynamics", "mass_matrix", "energy", "forward_kinematics" or "jacobian".
        model: the mechanism.
        *arguments: the function's arguments, by position or by name, each a (nested) list, an array of objects, or a
            vector of symbols, with the numbers of one state; ``f_ext`` (nbodies, 6) may be left out.
        frames: for functions of frames: names or ``lw.Point`` objects.
        reference: for functions of frames: "local", "world" or "local_world_aligned".
        **named: arguments by name.

    Returns:
        The function's result as an array of these scalars (of float64 if all are floats), or as one scalar; several
        results as a tuple.

    Example:
        >>> import linkwork as lw, mpmath
        >>> arm = lw.mechanisms.double_pendulum()
        >>> with mpmath.workdps(50):
        ...     q = [mpmath.mpf(1) / 3, mpmath.mpf(1) / 7]
        ...     a = lw.evaluate("forward_dynamics", arm, q, [0.0, 0.0], [0.0, 0.0])
        ...     print(mpmath.nstr(a[0], 40))
        -2.466992136849901640974287052454305113912
    """
    check_model(model)
    arguments, frames, reference = _ordered(function, arguments, named, frames, reference)
    algorithm = _algorithm(function, reference)
    point_set = None if frames is None else as_frames(model, frames)
    if point_set is None and _OF_FRAMES.intersection(algorithm.results):
        raise ArgumentError(f"{function} is a function of frames; pass frames=")
    placed = () if point_set is None else moved(point_set.frames, point_set.offsets)
    least = sum(name != "f_ext" for name, _ in algorithm.arguments)
    if not least <= len(arguments) <= len(algorithm.arguments):
        takes = ", ".join(name for name, _ in algorithm.arguments)
        raise ArgumentError(f"{function} takes ({takes}), but got {len(arguments)} argument(s)")
    flat: list[Sequence[Any] | None] = [None] * len(algorithm.arguments)
    for k, ((name, space), value) in enumerate(zip(algorithm.arguments, arguments, strict=False)):
        if value is not None or name != "f_ext":
            flat[k] = _numbers_of(model, name, SPACES[space].shape(model, len(placed)), value)
    results = interpreted(algorithm, model, flat, placed)
    shaped = [
        _shaped(numbers, SPACES[space].shape(model, len(placed)))
        for space, numbers in zip(algorithm.results, results, strict=True)
    ]
    return shaped[0] if len(shaped) == 1 else tuple(shaped)


def _ordered(
    function: Any, arguments: tuple[Any, ...], named: dict[str, Any], frames: Any, reference: Any
) -> tuple[tuple[Any, ...], Any, str]:
    """The arguments of one state in the function's order, then frames and reference, which may follow them."""
    if not isinstance(function, str) or function not in NAMES:
        raise ArgumentError(f"there is no function {shown(function)} to evaluate{suggestion(function, NAMES)}")
    algorithm = _algorithm(function, "local")
    order = [name for name, _ in algorithm.arguments]
    if _OF_FRAMES.intersection(algorithm.results):
        more: Sequence[Any] = arguments[len(order) :]
        if more and frames is None:
            frames, *more = more
        if len(more) == 1 and reference == "local" and f"{_OTHER_TEXTS.get(function, function)}/local" in ALGORITHMS:
            reference, more = more[0], ()
        arguments = (*arguments[: len(order)], *more)
    choice("reference", reference, ("local", "world", "local_world_aligned"))
    return (*arguments, *_by_name(function, order, len(arguments), named)), frames, reference


def _by_name(function: str, order: Sequence[str], count: int, named: Mapping[str, Any]) -> list[Any]:
    """The arguments by name, in the function's order, after so many by position."""
    for name in named:
        if name not in order:
            raise ArgumentError(f"{function} has no argument {shown(name)} here{suggestion(name, order)}")
        if order.index(name) < count:
            raise ArgumentError(f"{function} got {name} twice")
    left = order[count:]
    missing = [name for name in left if name not in named and name != "f_ext"]
    if named and missing:
        raise ArgumentError(f"{function} takes ({', '.join(order)}), but got no {missing[0]}")
    return [named[name] for name in left if name in named]


def _algorithm(function: str, reference: str) -> Algorithm:
    name = _OTHER_TEXTS.get(function, function)
    return ALGORITHMS[name if name in ALGORITHMS else f"{name}/{reference}"]


def _numbers_of(model: Model, name: str, shape: tuple[int, ...], value: Any) -> list[Any]:
    """The scalars of an argument of this shape."""
    numbers = _scalars(value)
    if len(numbers) != prod(shape):
        raise ArgumentError(
            f"{name} must have shape {shape} for model {model.name!r}, the numbers of one state, but has "
            f"{len(numbers)} number(s)"
        )
    return [Foreign(number) if is_foreign(number) else number for number in numbers]


def _scalars(value: Any) -> list[Any]:
    """All scalars of nested lists, an array, or a vector of symbols, in order; NumPy scalars become Python's."""
    if isinstance(value, np.ndarray | np.generic):
        return value.ravel().tolist() if isinstance(value, np.ndarray) else [value.item()]
    if isinstance(value, list | tuple):
        return [number for item in value for number in _scalars(item)]
    if isinstance(value, int) and not isinstance(value, bool):
        return [float(value)]
    if isinstance(value, str | bytes | bool) or value is None:
        raise ArgumentError(f"arguments must be lists of scalars, not {shown(value)}")
    elements = getattr(value, "elements", None)  # CasADi vectors
    return list(elements()) if callable(elements) else [value]


def _shaped(numbers: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """The numbers as an array of this shape, or the single number."""
    plain = [unwrapped(number) for number in numbers]
    if not shape:
        return plain[0]
    made = np.empty(len(plain), dtype=object)
    made[:] = plain
    if all(isinstance(number, float) for number in plain):
        return made.astype(np.float64).reshape(shape)
    return made.reshape(shape)
