"""Derivatives of a program without loops: forward, with its values, or backward, from what depends on them.

Both run over any scalars. Over values that are being traced they write the derivative's own program, in which constants
fold, so that what is zero by structure costs nothing. The backward way takes for each instruction of the function no
more than four in all.

A choice (``less``) has the derivative of what is chosen; for the others see ``spatial.rates``. What is repeated, and
what is done with rows, is computed again and has no derivative: a text says by ``varying_as`` what a result varies as.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.engine.ir.evaluator import ARITHMETIC, Kept, folded, keep, mapped, repeated
from linkwork.engine.ir.program import WITHIN, Operand, Program
from linkwork.errors import TracingError
from linkwork.spatial import Scalar, where_less
from linkwork.spatial.rates import RATES

Numbers = Sequence[Scalar]


def pushed(
    program: Program, arguments: Sequence[Numbers], tangents: Sequence[Sequence[Numbers]]
) -> tuple[list[list[Scalar]], list[list[list[Scalar]]]]:
    """The results, and how they change for each of several tangents, of which each has numbers for all arguments."""
    values = _values(program, arguments)
    changes: list[dict[int, Scalar]] = []
    for tangent in tangents:
        change: dict[int, Scalar] = {}
        for n in program.root.order:
            operation, detail = program.operations[n], program.details[n]
            if operation == "load":
                change[n] = tangent[_number(detail.array)][detail.offset]
            elif operation in ARITHMETIC:
                change[n] = _change(program, n, values, change)
            elif operation == "final":
                change[n] = _UNKNOWN
            elif operation == "store" and _of(program.operands[n][0], change) is _UNKNOWN:
                raise _cannot("final")
        changes.append(change)
    results = _stored(program, lambda x: _of(x, values))
    return results, [_stored(program, lambda x, change=change: _of(x, change, 0.0)) for change in changes]  # type: ignore[misc]


def pulled(
    program: Program, arguments: Sequence[Numbers], cotangents: Sequence[Sequence[Numbers]]
) -> tuple[list[list[Scalar]], list[list[list[Scalar]]]]:
    """The results, and for each of several cotangents, which have numbers for all results, its product with the
    derivatives: numbers for all arguments.
    """
    values = _values(program, arguments)
    gradients = []
    for cotangent in cotangents:
        adjoint: dict[int, Scalar] = {}
        gradient: list[list[Scalar]] = [[0.0] * len(each) for each in arguments]
        for n in reversed(program.root.order):
            operation, operands, detail = program.operations[n], program.operands[n], program.details[n]
            if operation == "store":
                _add(adjoint, operands[0], cotangent[_number(detail.array)][detail.offset])
            elif n not in adjoint:
                continue
            elif operation == "load":
                number, k = _number(detail.array), detail.offset
                gradient[number][k] = adjoint[n]
            elif operation in ARITHMETIC:
                _pull(program, n, values, adjoint)
            elif operation == "final":
                raise _cannot("final")
        gradients.append(gradient)
    return _stored(program, lambda x: _of(x, values)), gradients


def _number(array: str) -> int:
    """Which argument or result an array is."""
    return int(array.removeprefix("argument").removeprefix("result"))


_UNKNOWN = object()
"""Stands for how a value changes that has no derivative."""


def _values(program: Program, arguments: Sequence[Numbers]) -> dict[int, Any]:
    values: dict[int, Any] = {}
    kept: Kept = {}
    for n in program.root.order:
        operation, detail = program.operations[n], program.details[n]
        operands = [_of(x, values) for x in program.operands[n]] if operation != "store" else []
        if operation == "load":
            values[n] = arguments[_number(detail.array)][detail.offset]
        elif operation == "constant":
            values[n] = detail
        elif operation in ARITHMETIC:
            values[n] = ARITHMETIC[operation](*operands)
        elif operation in ("keep", *WITHIN):
            does: dict[str, Callable[..., Any]] = {"keep": keep, "map": mapped, "fold": folded, "repeat": repeated}
            values[n] = does[operation](detail, operands, kept)
        elif operation == "final":
            values[n] = operands[0][detail]
        elif operation != "store":
            raise _cannot(operation)
    return values


def _cannot(operation: str) -> TracingError:
    if operation == "final":
        return TracingError(
            "what is repeated until it has converged, or kept where a condition holds, is not differentiated: say by "
            "linkwork.spatial.elementary.varying_as what its result varies as",
            "",
        )
    return TracingError(
        f"a program with a {operation!r} is not differentiated: what is computed for a mechanism of many bodies "
        f"stays in loops. Use lw.inverse_dynamics_derivatives and the like for these",
        "",
    )


def _of(x: Operand, values: dict[int, Scalar], constant: float | None = None) -> Scalar:
    """A value; that of a constant is the constant itself, unless another is given."""
    if type(x) is int:
        return values[x]
    return x if constant is None else constant


def _stored(program: Program, value: Callable[[Operand], Scalar]) -> list[list[Scalar]]:
    """What is stored in each result."""
    found: dict[int, dict[int, Scalar]] = {}
    for n in program.root.order:
        if program.operations[n] == "store":
            address = program.details[n]
            found.setdefault(_number(address.array), {})[address.offset] = value(program.operands[n][0])
    return [[numbers[k] for k in range(len(numbers))] for _, numbers in sorted(found.items())]


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, float) and x == 0.0


def _change(program: Program, n: int, values: dict[int, Scalar], change: dict[int, Scalar]) -> Scalar:
    """How the value of an instruction changes with its operands."""
    operation, operands = program.operations[n], program.operands[n]
    changes = [_of(x, change, 0.0) for x in operands]
    if operation == "varying_as":
        return changes[1]
    if any(x is _UNKNOWN for x in (changes[2:] if operation == "less" else changes)):
        return _UNKNOWN
    if operation == "less":
        if _is_zero(changes[2]) and _is_zero(changes[3]):
            return 0.0
        return where_less(_of(operands[0], values), _of(operands[1], values), changes[2], changes[3])
    if all(map(_is_zero, changes)):
        return 0.0
    total: Scalar = 0.0
    given = [_of(x, values) for x in operands]
    for k, rate in enumerate(RATES[operation]):
        if not _is_zero(changes[k]):
            total = total + rate(*given, values[n]) * changes[k]
    return total


def _pull(program: Program, n: int, values: dict[int, Scalar], adjoint: dict[int, Scalar]) -> None:
    """Hand the adjoint of an instruction on to its operands."""
    operation, operands, own = program.operations[n], program.operands[n], adjoint[n]
    given = [_of(x, values) for x in operands]
    if operation == "varying_as":
        _add(adjoint, operands[1], own)
        return
    if operation == "less":
        _add(adjoint, operands[2], where_less(given[0], given[1], own, 0.0))
        _add(adjoint, operands[3], where_less(given[0], given[1], 0.0, own))
        return
    for x, rate in zip(operands, RATES[operation], strict=True):
        if type(x) is int:
            _add(adjoint, x, rate(*given, values[n]) * own)


def _add(adjoint: dict[int, Scalar], x: Operand, more: Scalar) -> None:
    if type(x) is int and not _is_zero(more):
        adjoint[x] = adjoint[x] + more if x in adjoint else more
