"""The target "python": a module that calls a shared library beside it, and needs NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.engine.code.cross import machine
from linkwork.exports.c99 import iterates
from linkwork.exports.objects import code_of, linked
from linkwork.exports.readme import readme
from linkwork.exports.samples import samples_of
from linkwork.exports.self_test import SOLVER_TOLERANCE, TOLERANCE
from linkwork.exports.templates import filled
from linkwork.exports.unit import Part, Unit

_CALL = """\
```python
from {name} import {name}

{results} = {name}({parameters})
```

Arguments have any leading (batch) axes."""
_BUILD = """\
`{name}.py` and `{library}` go into one folder of Python's path; `python {name}.py` tests them. The library is for
{triple}, CPU {cpu}."""


def files(unit: Unit, provenance: str, triple: str | None = None, cpu: str | None = None) -> dict[str, str | bytes]:
    """The files of the target."""
    code = code_of(unit, provenance, machine(triple, cpu))
    name, library = unit.name, f"lib{unit.name}.so"
    names = [part.name for part in unit.arguments]
    parameters, listed = ", ".join(names), f"({', '.join(names)}{',' * (len(names) == 1)})"
    run = filled("module_run.py.txt", name=name, parameters=parameters, count=unit.over_time) if unit.over_time else ""
    text = filled(
        "module.py.txt", about=_plain(unit.about), provenance=provenance, library=library,
        library_literal=repr(library), name=name, signature=", ".join([*names, "out=None"]), listed=listed,
        arguments=_shapes(unit.arguments), results=_shapes(unit.results), workspace=code.text.workspace,
        described=_described(unit), first_result=code.text.status.results, run=run, samples=_samples(unit),
        tolerance_literal=SOLVER_TOLERANCE if iterates(unit.routine.program) else TOLERANCE,
    )  # fmt: skip
    results = ", ".join(part.name for part in unit.results)
    call = _CALL.format(name=name, results=results, parameters=parameters)
    build = _BUILD.format(name=name, library=library, triple=code.machine.triple, cpu=code.machine.cpu)
    return {
        f"{name}.py": text,
        library: linked(code, library),
        f"{name}.h": code.text.header(),
        "README.md": readme(unit, code.text, provenance, build, call),
    }


def _samples(unit: Unit) -> str:
    """States with their results, each number with all its bits."""
    samples = samples_of(unit)
    rows = [*samples.arguments, *samples.results]
    lines = ([x.hex() for part in rows for x in part[k].tolist()] for k in range(len(samples)))
    return "\n".join(f"    {line!r}," for line in lines)


def _described(unit: Unit) -> str:
    parts = [*unit.arguments, *unit.results]
    return "\n".join(f"    {part.name} {part.shape}: {_plain(part.about or part.called)}" for part in parts)


def _plain(text: str) -> str:
    """Text that a docstring can hold."""
    return text.encode("ascii", "replace").decode().replace("\\", "/").replace('"', "'")


def _shapes(parts: Sequence[Part]) -> str:
    listed = ", ".join(f'"{part.name}": {part.shape!r}' for part in parts)
    return "{" + listed + "}"
