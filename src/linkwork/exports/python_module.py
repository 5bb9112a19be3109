"""The target "python": a module that calls a shared library beside it, and needs NumPy alone."""

from __future__ import annotations

from linkwork.engine.code.cross import machine
from linkwork.exports.c99 import iterates
from linkwork.exports.objects import code_of, linked
from linkwork.exports.readme import readme
from linkwork.exports.samples import samples_of
from linkwork.exports.self_test import SOLVER_TOLERANCE, TOLERANCE
from linkwork.exports.unit import Part, Unit

_MODULE = '''\
"""{about}

{provenance}

Needs NumPy, and {library} beside this file. Run this file to test it.
"""

import ctypes
import pathlib
import sys
import threading

import numpy as np

ARGUMENTS = {arguments}
RESULTS = {results}
WORKSPACE = {workspace}

_library = ctypes.CDLL(str(pathlib.Path(__file__).resolve().with_name({library!r})))
_batch, _status = _library.{name}_batch, _library.{name}_status
_batch.restype, _status.restype, _status.argtypes = ctypes.c_int, ctypes.c_char_p, [ctypes.c_int]
_own = threading.local()


class SingularError(ArithmeticError):
    """The result does not exist for a state."""


def {name}({parameters}, out=None):
    """{about}

    Arguments have any leading (batch) axes, which broadcast. Results are written into ``out`` if it is given.

{described}

    Raises ValueError for arguments that are not finite or have the wrong shape, SingularError if a result does not exist.
    """
    arrays = [_array(key, shape, value) for (key, shape), value in zip(ARGUMENTS.items(), ({parameters},))]
    axes = np.broadcast_shapes(*(array.shape[: array.ndim - len(shape)] for array, shape in zip(arrays, ARGUMENTS.values())))
    rows = [np.ascontiguousarray(np.broadcast_to(array, axes + shape)) for array, shape in zip(arrays, ARGUMENTS.values())]
    found = [np.empty(axes + shape) for shape in RESULTS.values()]
    where = ctypes.c_size_t(0)
    count = int(np.prod(axes, dtype=np.int64))
    status = _batch(ctypes.c_size_t(count), *map(_pointer, rows + found), _workspace(), ctypes.byref(where))
    if status:
        _raise(status, axes, where.value)
    if out is not None:
        for target, result in zip(out if len(found) > 1 else [out], found):
            target[...] = result
        return out
    return found[0] if len(found) == 1 else tuple(found)

{run}
def _array(key, shape, value):
    array = np.asarray(value, dtype=np.float64)
    if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
        raise ValueError(f"{{key}} must have shape (..., {{', '.join(map(str, shape))}}), but has shape {{array.shape}}")
    return array


def _pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def _workspace():
    if not hasattr(_own, "workspace"):
        _own.workspace = np.zeros(WORKSPACE + 1)
    return _pointer(_own.workspace)


def _raise(status, axes, where):
    state = f" in state {{list(map(int, np.unravel_index(where, axes)))}} of the batch" if axes else ""
    kind = ValueError if status < {first_result} else SingularError
    raise kind(_status(status).decode() + state)


def self_test():
    """Whether states give the expected results: their number, and that of the numbers whose bits differ."""
    states = [[float.fromhex(x) for x in row] for row in SAMPLES]
    wrong = 0
    for row in states:
        place, given, expected = 0, [], []
        for shapes, into in ((ARGUMENTS, given), (RESULTS, expected)):
            for shape in shapes.values():
                size = int(np.prod(shape, dtype=np.int64))
                into.append(np.array(row[place : place + size]).reshape(shape))
                place += size
        found = {name}(*given)
        for x, y in zip(found if isinstance(found, tuple) else [found], expected):
            if not np.allclose(x, y, rtol=0.0, atol={tolerance!r} * max(1.0, float(abs(y).max(initial=0.0)))):
                raise AssertionError(f"{{x}} is not {{y}}")
            wrong += int((np.asarray(x).view(np.int64) != y.view(np.int64)).sum())
    return len(states), wrong


SAMPLES = (
{samples}
)

if __name__ == "__main__":
    states, wrong = self_test()
    sys.stdout.write(f"{name}: {{states}} states, {{wrong}} numbers with other bits: passed\\n")
'''
_RUN = '''
_repeat = _library.{name}_run
_repeat.restype = ctypes.c_int


def run(steps, {parameters}):
    """The state after so many steps from one state; the other arguments are the same in every step."""
    arrays = [np.array(np.broadcast_to(_array(key, shape, value), shape), order="C")
              for (key, shape), value in zip(ARGUMENTS.items(), ({parameters},))]
    where = ctypes.c_size_t(0)
    status = _repeat(ctypes.c_size_t(steps), *map(_pointer, arrays), _workspace(), ctypes.byref(where))
    if status:
        raise SingularError(f"{{_status(status).decode()}} in step {{where.value}}")
    return tuple(arrays[:{count}])

'''


def files(unit: Unit, provenance: str, triple: str | None = None, cpu: str | None = None) -> dict[str, str | bytes]:
    """The files of the target."""
    code = code_of(unit, provenance, machine(triple, cpu))
    library = f"lib{unit.name}.so"
    samples = samples_of(unit)
    rows = [
        [x for part in (*samples.arguments, *samples.results) for x in part[k].tolist()] for k in range(len(samples))
    ]
    parameters = ", ".join(part.name for part in unit.arguments)
    text = _MODULE.format(
        about=_plain(unit.about), provenance=provenance, library=library, name=unit.name, parameters=parameters,
        arguments=_shapes(unit.arguments), results=_shapes(unit.results), workspace=code.text.workspace,
        described="\n".join(f"    {part.name} {part.shape}: {_plain(part.about or part.called)}"
                            for part in (*unit.arguments, *unit.results)),
        first_result=code.text.status.results,
        run=_RUN.format(name=unit.name, parameters=parameters, count=unit.over_time) if unit.over_time else "",
        samples="\n".join(f"    [{', '.join(repr(x.hex()) for x in row)}]," for row in rows),
        tolerance=SOLVER_TOLERANCE if iterates(unit.function.program) else TOLERANCE,
    )  # fmt: skip
    names = [part.name for part in unit.results]
    call = f"```python\nfrom {unit.name} import {unit.name}\n\n{', '.join(names)} = {unit.name}({parameters})\n```\n\n" \
           "Arguments have any leading (batch) axes."  # fmt: skip
    build = f"`{unit.name}.py` and `{library}` go into one folder of Python's path; `python {unit.name}.py` tests them. " \
            f"The library is for {code.machine.triple}, CPU {code.machine.cpu}."  # fmt: skip
    return {
        f"{unit.name}.py": text,
        library: linked(code, library),
        f"{unit.name}.h": code.text.header(),
        "README.md": readme(unit, code.text, provenance, build, call),
    }


def _plain(text: str) -> str:
    """Text that a docstring can hold."""
    return text.encode("ascii", "replace").decode().replace("\\", "/").replace('"', "'")


def _shapes(parts: list[Part] | tuple[Part, ...] | object) -> str:
    listed = ", ".join(f'"{part.name}": {part.shape!r}' for part in parts)  # type: ignore[attr-defined]
    return "{" + listed + "}"
