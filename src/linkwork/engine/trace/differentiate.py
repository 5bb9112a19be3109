"""Derivatives of a program without loops: in forward mode, along with its values, or in reverse, from what depends on
them.

Both run over any scalars. Over values that are being traced they write the derivative's own program, in which constants
fold, so that structural zeros cost nothing. Reverse mode takes no more than four instructions in all for each
instruction of the function.

A selection (``less``) has the derivative of the selected operand, whatever the other one is, 1 / 0 for instance; for
the other operations see ``spatial.rates``. A call of code with loops has a call of its derivatives (``derive_loops``).
Repeats and operations on rows are recomputed and have no derivative: a text declares by ``varying_as`` what a result
varies as, or by ``subroutine(..., symmetric=True)`` that it is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.engine.ir.evaluator import ARITHMETIC, WITH_PROGRAM, Kept
from linkwork.engine.ir.program import Operand, Program
from linkwork.engine.trace.replay import inlined
from linkwork.errors import TracingError
from linkwork.spatial import Scalar, where_less
from linkwork.spatial.rates import RATES

Numbers = Sequence[Scalar]


def pushed(
    program: Program, arguments: Sequence[Numbers], tangents: Sequence[Sequence[Numbers]]
) -> tuple[list[list[Scalar]], list[list[list[Scalar]]]]:
    """The results, and their changes for each of several tangents, each of which has numbers for all arguments."""
    program = inlined(program)
    values: dict[int, Any] = {}
    kept: Kept = {}
    changes: list[dict[int, Any]] = [{} for _ in tangents]
    for n in program.root.order:
        operation, detail = program.operations[n], program.details[n]
        if operation == "call":
            _push_call(program, n, values, changes)
            continue
        if operation != "store":
            values[n] = _value(program, n, values, arguments, kept)
        for tangent, change in zip(tangents, changes, strict=True):
            if operation == "load":
                change[n] = tangent[_number(detail.array)][detail.offset]
            elif operation == "part":
                whole = change[program.operands[n][0]]
                change[n] = whole if _is_zero(whole) else whole.part(_parts(program, n) + detail)
            elif operation in ARITHMETIC:
                change[n] = change_of(program, n, values, change)
            elif operation == "subroutine":
                change[n] = _push_symmetric(program, n, values, change, kept)
            elif operation == "final":
                of = change.get(program.operands[n][0])
                change[n] = _UNKNOWN if of is None else of[detail]
            elif operation == "store" and _of(program.operands[n][0], change) is _UNKNOWN:
                raise _no_derivative()
    results = _stored(program, lambda x: _of(x, values))
    return results, [_stored(program, lambda x, change=change: _of(x, change, 0.0)) for change in changes]  # type: ignore[misc]


def pulled(
    program: Program, arguments: Sequence[Numbers], cotangents: Sequence[Sequence[Numbers]]
) -> tuple[list[list[Scalar]], list[list[list[Scalar]]]]:
    """The results, and for each of several cotangents, which have numbers for all results, its product with the
    derivatives: numbers for all arguments.
    """
    program = inlined(program)
    values: dict[int, Any] = {}
    kept: Kept = {}
    for n in program.root.order:
        if program.operations[n] != "store":
            values[n] = _value(program, n, values, arguments, kept)
    doubtful = _doubtful(program)
    gradients = []
    for cotangent in cotangents:
        adjoint: dict[int, Scalar] = {}
        weights: dict[int, dict[int, Scalar]] = {}  # of the numbers of calls
        gradient: list[list[Scalar]] = [[0.0] * len(each) for each in arguments]
        for n in reversed(program.root.order):
            operation, operands, detail = program.operations[n], program.operands[n], program.details[n]
            if operation == "store":
                add(adjoint, operands[0], cotangent[_number(detail.array)][detail.offset])
            elif operation == "call" and n in weights:
                _pull_call(program, n, values, weights[n], adjoint)
            elif operation == "subroutine" and n in weights:
                _pull_symmetric(program, n, values, weights[n], adjoint, kept)
            elif n not in adjoint:
                continue
            elif operation == "load":
                number, k = _number(detail.array), detail.offset
                gradient[number][k] = adjoint[n]
            elif operation == "part":
                add(weights.setdefault(operands[0], {}), detail, adjoint[n])
            elif operation in ARITHMETIC:
                pull(program, n, values, adjoint, n in doubtful)
            elif operation == "final":
                if program.operations[operands[0]] != "subroutine":
                    raise _no_derivative()
                add(weights.setdefault(operands[0], {}), detail, adjoint[n])
        gradients.append(gradient)
    return _stored(program, lambda x: _of(x, values)), gradients


# Calls: their derivatives are calls of code that returns the same numbers first, and then those of the derivatives


def _parts(program: Program, n: int) -> int:
    """How many numbers the call returns that an instruction is part of."""
    return sum(program.details[program.operands[n][0]].task().results)


def _push_call(program: Program, n: int, values: dict[int, Any], changes: Sequence[dict[int, Any]]) -> None:
    given = [_of(x, values) for x in program.operands[n]]
    for change in changes:
        rates = [_of(x, change, 0.0) for x in program.operands[n]]
        if any(x is _UNKNOWN for x in rates):
            raise _no_derivative()
        if all(map(_is_zero, rates)):
            change[n] = 0.0
        else:
            change[n] = _called(program.details[n].derived("forward"), [*given, *rates])
    found = [change[n] for change in changes if not _is_zero(change[n])]
    values[n] = found[0] if found else _called(program.details[n], given)


def _pull_call(
    program: Program, n: int, values: dict[int, Any], weights: dict[int, Scalar], adjoint: dict[int, Scalar]
) -> None:
    callee, operands = program.details[n], program.operands[n]
    count = sum(callee.task().results)
    given = [_of(x, values) for x in operands]
    found = _called(callee.derived("backward"), [*given, *(weights.get(k, 0.0) for k in range(count))])
    for k, x in enumerate(operands):
        add(adjoint, x, found.part(count + k))


def _push_symmetric(
    program: Program, n: int, values: dict[int, Any], change: dict[int, Any], kept: Kept
) -> Sequence[Any]:
    """How the results of a symmetric subroutine change."""
    what, operands = program.details[n], program.operands[n]
    rates = [_of(x, change, 0.0) for x in operands]
    if any(x is _UNKNOWN for x in rates) or not all(map(_is_zero, rates[what.state :])):
        raise _no_derivative()
    if all(map(_is_zero, rates)):
        return rates[: what.state]
    given = [*rates[: what.state], *(_of(x, values) for x in operands[what.state :])]
    found: Sequence[Any] = WITH_PROGRAM["subroutine"](what, given, kept)
    return found


def _pull_symmetric(
    program: Program, n: int, values: dict[int, Any], weights: dict[int, Scalar], adjoint: dict[int, Scalar], kept: Kept
) -> None:
    what, operands = program.details[n], program.operands[n]
    given = [_of(x, values) for x in operands[what.state :]]
    found = WITH_PROGRAM["subroutine"](what, [*(weights.get(k, 0.0) for k in range(what.state)), *given], kept)
    for x, more in zip(operands[: what.state], found, strict=True):
        add(adjoint, x, more)


def _called(callee: Any, operands: Sequence[Any]) -> Any:
    return next(x for x in operands if hasattr(x, "called")).called(callee, operands)


def _number(array: str) -> int:
    """Which argument or result an array is."""
    return int(array.removeprefix("argument").removeprefix("result"))


_UNKNOWN: Any = object()
"""Stands for the change of a value that has no derivative."""


def _value(program: Program, n: int, values: dict[int, Any], arguments: Sequence[Numbers], kept: Kept) -> Any:
    """The value of an instruction; ``kept`` are the rows so far."""
    operation, operands, detail = program.operations[n], program.operands[n], program.details[n]
    if operation == "load":
        return arguments[_number(detail.array)][detail.offset]
    if operation == "constant":
        return detail
    if operation == "part":
        return values[operands[0]].part(detail)
    given = [_of(x, values) for x in operands]
    if operation == "call":
        return _called(detail, given)
    if operation == "final":
        return given[0][detail]
    if operation in ARITHMETIC:
        return ARITHMETIC[operation](*given)
    return WITH_PROGRAM[operation](detail, given, kept)


def _no_derivative() -> TracingError:
    return TracingError(
        "what is repeated until it has converged, or kept where a condition holds, is not differentiated: say by "
        "linkwork.spatial.elementary.varying_as what its result varies as",
        "",
    )


def _of(x: Operand, values: dict[int, Scalar], constant: float | None = None) -> Scalar:
    """A value; that of a constant is the constant itself, unless another is given."""
    if type(x) is int:
        return values[x]
    return x if constant is None else constant


def _stored(program: Program, value: Callable[[Operand], Scalar]) -> list[list[Scalar]]:
    """The numbers stored in each result, up to the last that has any."""
    found: dict[int, dict[int, Scalar]] = {}
    for n in program.root.order:
        if program.operations[n] == "store":
            address = program.details[n]
            found.setdefault(_number(address.array), {})[address.offset] = value(program.operands[n][0])
    every = [found.get(number, {}) for number in range(max(found, default=-1) + 1)]
    return [[numbers[k] for k in range(len(numbers))] for numbers in every]


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, float) and x == 0.0


def change_of(program: Program, n: int, values: dict[int, Scalar], change: dict[int, Scalar]) -> Scalar:
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


def pull(
    program: Program, n: int, values: dict[int, Scalar], adjoint: dict[int, Scalar], doubtful: bool = False
) -> None:
    """Propagate the adjoint of an instruction to its operands; if its rates may be infinite, an adjoint of 0 as 0."""
    operation, operands, own = program.operations[n], program.operands[n], adjoint[n]
    given = [_of(x, values) for x in operands]
    if operation == "varying_as":
        add(adjoint, operands[1], own)
        return
    if operation == "less":
        add(adjoint, operands[2], where_less(given[0], given[1], own, 0.0))
        add(adjoint, operands[3], where_less(given[0], given[1], 0.0, own))
        return
    for x, rate in zip(operands, RATES[operation], strict=True):
        if type(x) is int:
            more = rate(*given, values[n]) * own
            add(adjoint, x, where_less(own, 0.0, more, where_less(0.0, own, more, own)) if doubtful else more)


_FINITE = frozenset("mul sin cos atan2 tanh arcsinh cbrt hypot rint floor ceil trunc".split())
_OF_RATE_ONE = frozenset(("add", "sub", "neg", "varying_as"))
_RISKY = frozenset(RATES) - _FINITE - _OF_RATE_ONE
"""Operations whose value or rate may be non-finite for finite operands: quotients, logarithms, roots, exponentials."""


def _doubtful(program: Program) -> set[int]:
    """Instructions that results depend on through selections alone, and whose rates may be non-finite where they are
    not selected: 0 times such a rate is NaN.
    """
    operations = program.operations
    wild = _wild(program)
    plain: set[int] = set()  # needed whatever is selected
    for n in reversed(program.root.order) if wild else ():
        if operations[n] != "less" and (operations[n] not in ARITHMETIC or n in plain):
            plain.update(program.inputs(n))
    return {n for n in wild - plain if operations[n] != "less" and operations[n] not in _OF_RATE_ONE}


def _wild(program: Program) -> set[int]:
    """Instructions whose value or rate may be non-finite for finite arguments."""
    operations, operands = program.operations, program.operands
    wild: set[int] = set()
    for n in program.root.order:
        if operations[n] in ARITHMETIC:
            used = operands[n][2:] if operations[n] == "less" else operands[n]
            base = used[0] if operations[n] == "pow" else used[-1]
            risky = operations[n] in _RISKY and not _guarded(program, base)
            if risky or any(type(x) is int and x in wild for x in used):
                wild.add(n)
    return wild


def _guarded(program: Program, x: Operand) -> bool:
    """Whether an operand, or the number whose root it is, is a selection with a constant other than 0 in its place."""
    while type(x) is int and program.operations[x] == "sqrt":
        x = program.operands[x][0]
    constants: list[Operand] = []
    ends, known = [x], set()
    while ends:
        x = ends.pop()
        if type(x) is not int:
            constants.append(x)
        elif program.operations[x] == "less" and x not in known:
            known.add(x)
            ends += program.operands[x][2:]
    return len(constants) > 0 and 0.0 not in constants


def add(adjoint: dict[int, Scalar], x: Operand, more: Scalar) -> None:
    if type(x) is int and not _is_zero(more):
        adjoint[x] = adjoint[x] + more if x in adjoint else more
