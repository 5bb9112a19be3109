"""The target "c99": a header, a source, a self-test, a CMake file and a README."""

from __future__ import annotations

from linkwork.engine.ir.program import Program, Repeat, inner
from linkwork.exports.c_source import CText
from linkwork.exports.readme import readme
from linkwork.exports.samples import samples_of
from linkwork.exports.self_test import self_test
from linkwork.exports.unit import Unit

_CMAKE = """\
# {provenance}
cmake_minimum_required(VERSION 3.10)
project({name} C)

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name} {sources})
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
# Without -ffp-contract=off, CPUs with fused multiply-add give other last bits.
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PUBLIC -ffp-contract=off PRIVATE -fno-math-errno)
endif()
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()

enable_testing()
add_executable({name}_test {name}_test.c)
target_link_libraries({name}_test {name})
add_test(NAME {name} COMMAND {name}_test)
"""


def files(unit: Unit, provenance: str) -> dict[str, str]:
    """All files of an export."""
    text = CText(unit, provenance)
    name = unit.name
    return {
        f"{name}.h": text.header(),
        f"{name}.c": text.body(),
        f"{name}_test.c": self_test(
            unit, samples_of(unit), text.workspace, iterates(unit.function.program), provenance
        ),
        "CMakeLists.txt": _CMAKE.format(name=name, provenance=provenance, sources=f"{name}.c {name}.h"),
        "README.md": readme(unit, text, provenance),
    }


def iterates(program: Program) -> bool:
    """Whether a program repeats another until that is done."""
    return any(isinstance(what, Repeat) or iterates(what.program) for what in inner(program))
