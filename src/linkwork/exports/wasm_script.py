"""The wrapper of a WebAssembly module in JavaScript."""

from __future__ import annotations

from linkwork.exports.c99 import iterates
from linkwork.exports.templates import filled
from linkwork.exports.unit import Unit
from linkwork.exports.wasm_binary import Module

_STACK, _LARGE_STACK = 2**18, 2**23
"""Bytes of the stack: of formulas, and of functions that iterate, which keep rows there."""
_CHUNK = 256
"""States that are computed in one call of a batch."""


def script(unit: Unit, provenance: str, module: Module, workspace: int) -> str:
    """The wrapper in JavaScript."""
    parts = [*unit.arguments, *unit.results]
    bottom = -(-module.data_end // 64) * 64
    stack = _LARGE_STACK if iterates(unit.routine.program) else _STACK
    return filled(
        "wrapper.js",
        about=one_comment(unit.about), provenance=provenance, name=unit.name, kind=class_name(unit.name),
        sizes=", ".join(f"{part.name}: {part.size}" for part in parts), workspace=workspace + 8,
        inputs=", ".join(f'"{part.name}"' for part in unit.arguments),
        outputs=", ".join(f'"{part.name}"' for part in unit.results),
        parameters=", ".join(part.name for part in unit.arguments), bottom=bottom, top=bottom + stack, chunk=_CHUNK,
        puts="\n    ".join(f'put("{part.name}", {part.name}, this.arrays.{part.name});' for part in unit.arguments),
        slices=", ".join(f"{part.name}: this.arrays.{part.name}.slice()" for part in unit.results),
        table=module.table_size + 16, run=filled("wrapper_run.js", name=unit.name) if unit.over_time else "",
    )  # fmt: skip


def class_name(name: str) -> str:
    """The name of the class of functions."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_")) + "Module"


def one_comment(text: str) -> str:
    """Text that a comment can hold."""
    return text.encode("ascii", "replace").decode().replace("*/", "* /").replace("\n", " ")
