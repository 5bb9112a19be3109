"""Derivatives of compiled functions: ``lw.jvp``, ``lw.vjp`` and ``lw.jacobian_of``.

A derivative is itself a compiled function, made from the function's program in forward or reverse mode; so it can be
used wherever the function can, and be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np

from linkwork.algorithms import ALGORITHMS
from linkwork.compiled.arrays import array_of, numbers, traced
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.compiled.compiling import compile, compiled
from linkwork.compiled.tracing import Shape
from linkwork.engine.trace.differentiate import pulled, pushed
from linkwork.engine.trace.specialise import specialise
from linkwork.errors import ArgumentError, shown
from linkwork.model.memo import kept_with_model
from linkwork.model.model import Model

_OF = " of "
"""In the name of each derivative, as in "jvp of law"."""


def jvp(function: CompiledFunction | Callable[..., Any], /, **shapes: Any) -> CompiledFunction:
    """The product of a function's Jacobian with a vector: how its results change if its arguments do (forward mode).

    Args:
        function: of ``lw.compile``; any other is compiled first.
        shapes: for ``lw.compile``, if it is still to be compiled.

    Returns:
        A compiled function of the arguments and of as many tangents, named d_q for an argument q, which returns
        the result and its change, both in the function's own structure. The tangent of an argument that was declared a
        configuration of a model (``q=(model, "configuration")``) has nv numbers: q ⊕ d_q. If the function
        is a derivative that has an argument d_q itself, the tangent of q is named dd_q.

    Example:
        >>> import linkwork as lw
        >>> import numpy as np
        >>> slope = lw.jvp(lambda x: np.sin(x) * x[0], x=2)
        >>> value, change = slope([0.0, 1.0], d_x=[1.0, 0.0])
        >>> change
        array([0.       , 0.84147098])
    """
    f = _compiled(function, shapes)
    tangents = {name: _new_name(f, f"d_{name}") for name in f.shapes}

    def text(**given: Any) -> Any:
        arguments = [_flat(given[name]) for name in f.shapes]
        directions = [_lifted(f, name, arguments[k], _flat(given[tangents[name]])) for k, name in enumerate(f.shapes)]
        results, (changes,) = pushed(f.program, arguments, [directions])
        return _structured(f, results), _structured(f, changes)

    more = {tangent: _tangent_shape(f, name) for name, tangent in tangents.items()}
    return compiled(f"jvp{_OF}{f.name}", text, {**f.shapes, **more}, f.configurations)


def vjp(function: CompiledFunction | Callable[..., Any], /, **shapes: Any) -> CompiledFunction:
    """The product of a vector with a function's Jacobian: how a weighted sum of its results changes with each of its
    arguments (reverse mode). It takes at most some four times the operations of the function.

    Args:
        function: of ``lw.compile``; any other is compiled first.
        shapes: for ``lw.compile``, if it is still to be compiled.

    Returns:
        A compiled function of the arguments and of the weights of each result, named w0, w1, ... (ww0 of a derivative
        that has w0 itself), which returns the result, and the gradients in a tuple, one for each argument. The gradient
        of an argument declared a configuration of a model (``q=(model, "configuration")``) has nv numbers, for q ⊕ δ.

    Example:
        >>> import linkwork as lw
        >>> pull = lw.vjp(lambda x, y: x * y, x=2, y=2)
        >>> value, (dx, dy) = pull([1.0, 2.0], [3.0, 4.0], w0=[1.0, 1.0])
        >>> dx, dy
        (array([3., 4.]), array([1., 2.]))
    """
    f = _compiled(function, shapes)
    weights = {_new_name(f, f"w{k}"): shape for k, shape in enumerate(f.result_shapes)}

    def text(**given: Any) -> Any:
        arguments = [_flat(given[name]) for name in f.shapes]
        results, (gradients,) = pulled(f.program, arguments, [[_flat(given[name]) for name in weights]])
        found = [_lowered(f, name, arguments[k], gradients[k]) for k, name in enumerate(f.shapes)]
        return _structured(f, results), tuple(found)

    return compiled(f"vjp{_OF}{f.name}", text, {**f.shapes, **weights}, f.configurations)


def jacobian_of(
    function: CompiledFunction | Callable[..., Any], of: str | Sequence[str] | None = None, /, **shapes: Any
) -> CompiledFunction:
    """The Jacobian of a function: the derivative of each number of its result with respect to each of its arguments.

    Args:
        function: of ``lw.compile``; any other is compiled first.
        of: the name of an argument, or several; all of them if left out.
        shapes: for ``lw.compile``, if it is still to be compiled.

    Returns:
        A compiled function of the same arguments. It returns for each result, in the function's structure, an
        array (..., *shape of the result, *shape of the argument), and for several arguments a tuple of these. An
        argument that was declared a configuration of a model (``q=(model, "configuration")``) is differentiated in the
        tangent space: nv numbers, for q ⊕ δ.

    Example:
        >>> import linkwork as lw
        >>> arm = lw.mechanisms.serial_chain(2)
        >>> stiffness = lw.jacobian_of(lambda q: lw.gravity_torques(arm, q), q=2)
        >>> stiffness([0.1, 0.2]).shape
        (2, 2)
    """
    f = _compiled(function, shapes)
    chosen = _chosen(f, of)
    forward = sum(prod(_tangent_shape(f, name)) for name in chosen) <= sum(map(prod, f.result_shapes))

    def text(**given: Any) -> Any:
        arguments = [_flat(given[name]) for name in f.shapes]
        J = _by_columns(f, chosen, arguments) if forward else _by_rows(f, chosen, arguments)
        edges = np.cumsum([prod(_tangent_shape(f, name)) for name in chosen])[:-1]
        leaves, rows = [], np.split(J, np.cumsum([prod(shape) for shape in f.result_shapes])[:-1])
        for shape, part in zip(f.result_shapes, rows, strict=True):
            of_each = zip(chosen, np.split(part, edges, axis=1), strict=True)
            parts = [traced(own.reshape((*shape, *_tangent_shape(f, name))).copy()) for name, own in of_each]
            leaves.append(tuple(parts) if len(parts) > 1 else parts[0])
        return f._result(tuple(leaves))

    return compiled(f"jacobian{_OF}{f.name}", text, f.shapes, f.configurations)


def _by_columns(f: CompiledFunction, chosen: Sequence[str], arguments: list[list[Any]]) -> Any:
    """The Jacobian of all numbers of the results with respect to those of the chosen arguments, in forward mode."""
    own = list(zip(f.shapes, arguments, strict=True))
    directions = [
        [_lifted(f, each, q, unit) if each == name else [0.0] * len(q) for each, q in own]
        for name in chosen
        for unit in np.eye(prod(_tangent_shape(f, name))).tolist()
    ]
    _, changes = pushed(f.program, arguments, directions)
    rows = sum(map(prod, f.result_shapes))
    columns = [[x for leaf in change for x in leaf] for change in changes]
    return np.array(columns, dtype=object).reshape((len(directions), rows)).T


def _by_rows(f: CompiledFunction, chosen: Sequence[str], arguments: list[list[Any]]) -> Any:
    """The same, in reverse mode."""
    edges, owners = np.cumsum([prod(shape) for shape in f.result_shapes]), [*map(list(f.shapes).index, chosen)]
    weights = [[part.tolist() for part in np.split(unit, edges[:-1])] for unit in np.eye(edges[-1])]
    _, gradients = pulled(f.program, arguments, weights)
    own = list(zip(chosen, owners, strict=True))
    rows = [[_lowered(f, name, arguments[k], each[k]) for name, k in own] for each in gradients]
    flat = [[x for array in row for x in numbers(array).flat] for row in rows]
    return np.array(flat, dtype=object).reshape((len(flat), sum(prod(_tangent_shape(f, name)) for name in chosen)))


# Configurations: the tangent space


def _tangent_shape(f: CompiledFunction, name: str) -> Shape:
    model = f.configurations.get(name)
    return f.shapes[name] if model is None else (model.nv,)


@kept_with_model
def _moving(model: Model) -> Any:
    """The program of q ⊕ δ."""
    return specialise(ALGORITHMS["integrate"], model, expand=False)


def _lifted(f: CompiledFunction, name: str, q: list[Any], tangent: list[Any]) -> list[Any]:
    """How an argument's numbers change along a tangent."""
    model = f.configurations.get(name)
    return tangent if model is None else lifted(model, q, tangent)


def lifted(model: Model, q: list[Any], tangent: list[Any]) -> list[Any]:
    """How the numbers of a configuration change along a velocity."""
    _, ((change,),) = pushed(_moving(model), [q, [0.0] * model.nv], [[[0.0] * model.nq, tangent]])
    found: list[Any] = change
    return found


def _lowered(f: CompiledFunction, name: str, q: list[Any], gradient: list[Any]) -> Any:
    """A gradient in the tangent space, as an array."""
    model = f.configurations.get(name)
    if model is not None:
        _, ((_, gradient),) = pulled(_moving(model), [q, [0.0] * model.nv], [[gradient]])
    return array_of(gradient, _tangent_shape(f, name))


# Arrays and lists


def _compiled(function: CompiledFunction | Callable[..., Any], shapes: dict[str, Any]) -> CompiledFunction:
    if not isinstance(function, CompiledFunction):
        return compile(function, **shapes)
    if shapes:
        raise ArgumentError(f"{function.name} is compiled; its shapes are known")
    return function


def _chosen(f: CompiledFunction, of: Any) -> list[str]:
    """The arguments with respect to which a function is to be differentiated."""
    if of is None:
        return list(f.shapes)
    names = [of] if isinstance(of, str) else list(of) if isinstance(of, list | tuple) else []
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        known = ", ".join(map(repr, f.shapes))
        raise ArgumentError(f"of must be the name of an argument, or a list of several, among {known}, not {shown(of)}")
    for name in names:
        if name not in f.shapes:
            raise ArgumentError(f"{f.name} has no argument {name!r}; it has {', '.join(map(repr, f.shapes))}")
    return names


def _new_name(f: CompiledFunction, name: str) -> str:
    """The name of one more argument. What a user has called so can be renamed, what a derivative has cannot: there the
    first letter is doubled, as in dd_q.
    """
    while name in f.shapes:
        if _OF not in f.name:
            raise ArgumentError(f"{f.name} has an argument {name!r}, a name that its derivative needs; rename it")
        name = name[0] + name
    return name


def _flat(array: Any) -> list[Any]:
    return numbers(array).ravel().tolist()


def _structured(f: CompiledFunction, leaves: Sequence[Sequence[Any]]) -> Any:
    every = zip_longest(leaves, f.result_shapes, fillvalue=())  # the last may have no numbers
    return f._result(tuple(array_of(values, shape) for values, shape in every))
