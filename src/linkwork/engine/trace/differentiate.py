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

from linkwork.engine.ir.evaluator import ARITHMETIC, Run, called, used
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
    run = _run(inlined(program), arguments)
    changes: list[dict[int, Any]] = [{} for _ in tangents]
    for n in run.program.root.order:
        operation = run.program.operations[n]
        if operation == "call":
            _push_call(run, n, changes)
        elif operation == "store":
            (x,) = run.program.operands[n]
            if any(_of(x, change) is _UNKNOWN for change in changes):
                raise _no_derivative()
        else:
            run.instruction(n)
            for tangent, change in zip(tangents, changes, strict=True):
                if operation in ARITHMETIC:
                    change[n] = change_of(run.program, n, run.values, change)
                elif operation in _PUSHED:
                    change[n] = _PUSHED[operation](run, n, tangent, change)
    results = _stored(run.program, lambda x: _of(x, run.values))
    return results, [_stored(run.program, lambda x, change=change: _of(x, change, 0.0)) for change in changes]  # type: ignore[misc]


def pulled(
    program: Program, arguments: Sequence[Numbers], cotangents: Sequence[Sequence[Numbers]]
) -> tuple[list[list[Scalar]], list[list[list[Scalar]]]]:
    """The results, and for each of several cotangents, which have numbers for all results, its product with the
    derivatives: numbers for all arguments.
    """
    run = _run(inlined(program), arguments)
    for n in run.program.root.order:
        if run.program.operations[n] != "store":
            run.instruction(n)
    doubtful = _doubtful(run.program)
    gradients = [_gradient(run, cotangent, doubtful, arguments) for cotangent in cotangents]
    return _stored(run.program, lambda x: _of(x, run.values)), gradients


def _gradient(
    run: Run, cotangent: Sequence[Numbers], doubtful: set[int], arguments: Sequence[Numbers]
) -> list[list[Scalar]]:
    program, adjoint = run.program, dict[int, Scalar]()
    weights: dict[int, dict[int, Scalar]] = {}  # of the numbers of calls and subroutines
    gradient: list[list[Scalar]] = [[0.0] * len(each) for each in arguments]
    for n in reversed(program.root.order):
        operation, operands, detail = program.operations[n], program.operands[n], program.details[n]
        if operation == "store":
            add(adjoint, operands[0], cotangent[_number(detail.array)][detail.offset])
        elif n in weights:
            _PULLED[operation](run, n, weights[n], adjoint)
        elif n not in adjoint:
            continue
        elif operation == "load":
            gradient[_number(detail.array)][detail.offset] = adjoint[n]
        elif operation in ARITHMETIC:
            pull(program, n, run.values, adjoint, n in doubtful)
        elif operation in ("part", "final"):
            if program.operations[operands[0]] not in _PULLED:
                raise _no_derivative()
            add(weights.setdefault(operands[0], {}), detail, adjoint[n])
    return gradient


def _run(program: Program, arguments: Sequence[Numbers]) -> Run:
    arrays: dict[str, Any] = {f"argument{k}": numbers for k, numbers in enumerate(arguments)}
    return Run(program, arrays)


# Calls: their derivatives are calls of code that returns the same numbers first, and then those of the derivatives


def _push_part(run: Run, n: int, _: Sequence[Numbers], change: dict[int, Any]) -> Any:
    (whole,) = run.program.operands[n]
    if _is_zero(change[whole]):
        return change[whole]
    return change[whole].part(sum(run.program.details[whole].task().results) + run.program.details[n])


def _push_call(run: Run, n: int, changes: Sequence[dict[int, Any]]) -> None:
    operands, callee = run.program.operands[n], run.program.details[n]
    given = [run.value(x) for x in operands]
    for change in changes:
        rates = _rates(operands, change)
        zero = all(map(_is_zero, rates))
        change[n] = 0.0 if zero else called(callee.derived("forward"), [*given, *rates])
    found = [change[n] for change in changes if not _is_zero(change[n])]
    run.values[n] = found[0] if found else called(callee, given)


def _pull_call(run: Run, n: int, weights: dict[int, Scalar], adjoint: dict[int, Scalar]) -> None:
    callee, operands = run.program.details[n], run.program.operands[n]
    count = sum(callee.task().results)
    given = [*map(run.value, operands), *(weights.get(k, 0.0) for k in range(count))]
    found = called(callee.derived("backward"), given)
    for k, x in enumerate(operands):
        add(adjoint, x, found.part(count + k))


def _push_symmetric(run: Run, n: int, _: Sequence[Numbers], change: dict[int, Any]) -> Sequence[Any]:
    """How the results of a symmetric subroutine change."""
    what, operands = run.program.details[n], run.program.operands[n]
    rates = _rates(operands, change)
    if not all(map(_is_zero, rates[what.state :])):
        raise _no_derivative()
    if all(map(_is_zero, rates)):
        return rates[: what.state]
    return used(what, [*rates[: what.state], *map(run.value, operands[what.state :])], run.kept)


def _pull_symmetric(run: Run, n: int, weights: dict[int, Scalar], adjoint: dict[int, Scalar]) -> None:
    what, operands = run.program.details[n], run.program.operands[n]
    own = [weights.get(k, 0.0) for k in range(what.state)]
    found = used(what, [*own, *map(run.value, operands[what.state :])], run.kept)
    for x, more in zip(operands[: what.state], found, strict=True):
        add(adjoint, x, more)


def _rates(operands: Sequence[Operand], change: dict[int, Any]) -> list[Any]:
    """How operands change; an error if one has no derivative."""
    found = [_of(x, change, 0.0) for x in operands]
    if any(x is _UNKNOWN for x in found):
        raise _no_derivative()
    return found


def _push_load(run: Run, n: int, tangent: Sequence[Numbers], _: dict[int, Any]) -> Scalar:
    address = run.program.details[n]
    return tangent[_number(address.array)][address.offset]


def _push_final(run: Run, n: int, _: Sequence[Numbers], change: dict[int, Any]) -> Any:
    of = change.get(run.program.operands[n][0])
    return _UNKNOWN if of is None else of[run.program.details[n]]


_PUSHED: dict[str, Callable[..., Any]] = {
    "load": _push_load,
    "part": _push_part,
    "subroutine": _push_symmetric,
    "final": _push_final,
}
"""How what is no arithmetic changes."""
_PULLED: dict[str, Callable[..., None]] = {"call": _pull_call, "subroutine": _pull_symmetric}
"""What propagates the weights of several results."""


def _number(array: str) -> int:
    """Which argument or result an array is."""
    return int(array.removeprefix("argument").removeprefix("result"))


_UNKNOWN: Any = object()
"""Stands for the change of a value that has no derivative."""


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
