"""The target "c99": a header, a source, a self-test, a CMake file and a README."""

from __future__ import annotations

from linkwork.engine.ir.program import Program, Repeat, inner
from linkwork.exports.c_source import CText
from linkwork.exports.readme import readme
from linkwork.exports.samples import samples_of
from linkwork.exports.self_test import self_test
from linkwork.exports.templates import filled
from linkwork.exports.unit import Unit


def files(unit: Unit, provenance: str) -> dict[str, str]:
    """All files of an export."""
    text = CText(unit, provenance)
    name = unit.name
    return {
        f"{name}.h": text.header(),
        f"{name}.c": text.body(),
        f"{name}_test.c": self_test(unit, samples_of(unit), text.workspace, iterates(unit.routine.program), provenance),
        "CMakeLists.txt": filled("CMakeLists.txt", name=name, provenance=provenance, sources=f"{name}.c {name}.h"),
        "README.md": readme(unit, text, provenance),
    }


def iterates(program: Program) -> bool:
    """Whether a program repeats another until that is done."""
    return any(isinstance(what, Repeat) or iterates(what.program) for what in inner(program))
