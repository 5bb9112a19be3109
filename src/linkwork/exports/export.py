"""``lw.export``: a compiled function as files that run without linkwork."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arguments import choice
from linkwork.compiled.compiled_function import CompiledFunction
from linkwork.errors import ArgumentError, shown
from linkwork.exports import c99, objects, python_module, wasm
from linkwork.exports.folder import checked, write
from linkwork.exports.identifiers import array_names, collides, default_name, function_name
from linkwork.exports.named import named_unit, result_names, samples_in
from linkwork.exports.unit import Part, Unit
from linkwork.late import imported
from linkwork.model.model import Model

Files = Mapping[str, str | bytes]
TARGETS: Mapping[str, Callable[..., Files]] = {
    "c99": c99.files,
    "object": objects.object_files,
    "shared": objects.shared_files,
    "wasm": wasm.files,
    "python": python_module.files,
}


def export(
    function: CompiledFunction | str | Any,
    folder: str | os.PathLike[str],
    target: str = "c99",
    *,
    model: Model | None = None,
    name: str | None = None,
    triple: str | None = None,
    cpu: str | None = None,
    **options: Any,
) -> list[Path]:
    """Write a function into a folder, so that it runs without linkwork: on a robot, in a simulator, in a browser.

    Results have the same bits as here wherever no product is fused with a sum. Each folder has a self-test with the
    expected bits, a README that says how to build and call, and in which order, frames and units numbers are, and
    ``export.json`` with linkwork's version and digests. Exporting again writes the same bytes.

    Args:
        function: one of ``lw.compile``; a controller of ``lw.control``, exported with its present gains and references;
            or a name: of a public function of a mechanism, such as "forward_dynamics" or "inverse_kinematics", or
            "step", one step of ``lw.rollout``, with the loop of time around it.
        folder: to write into: a new one, an empty one, or that of an earlier export, whose files are replaced.
        target: "c99" (a source and a header for C and C++), "object" (an object for ``triple`` and ``cpu``), "shared"
            (the same as a library; needs a linker), "wasm" (WebAssembly with a wrapper in JavaScript; of a step, also
            a page that shows it) or "python" (a module that needs NumPy and the library beside it).
        model: the mechanism of a function that is exported by its name.
        name: of the exported function; made from the names of the mechanism and the function if left out.
        triple: LLVM's name of a machine, such as "aarch64-linux-gnu"; "armv7", "thumbv7em" and "riscv64" are enough.
            This machine if left out.
        cpu: its CPU, such as "cortex-a72"; a plain one of that triple if left out, or this one.
        **options: of a function by its name, as in Python (``frames``, ``method``, ``constraints``, ``dt``, ...);
            ``inputs`` are optional arguments that it should have, such as ["f_ext"].

    Returns:
        The files.

    Raises:
        ArgumentError: for what cannot be exported, such as functions of Python, and for invalid names and options.
        LinkworkError: if a linker is missing.

    Example:
        >>> import pathlib, tempfile
        >>> import linkwork as lw
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = lw.export("energy", folder, model=lw.mechanisms.pendulum(), name="energy")
        ...     [path.name for path in files]
        ['CMakeLists.txt', 'README.md', 'energy.c', 'energy.h', 'energy_test.c', 'export.json']
    """
    choice("target", target, [*TARGETS])
    path = checked(folder)
    unit = unit_of(function, model, name, options)
    if not any(part.size for part in unit.results):
        raise ArgumentError(f"{unit.name} has no results: arrays without numbers, as of a mechanism that cannot move")
    if any(collides(part.name, unit.name) for part in (*unit.arguments, *unit.results)):
        raise ArgumentError(f"name {unit.name!r} collides with the name of an argument or a result; choose another")
    if target in ("c99", "wasm") and (triple is not None or cpu is not None):
        raise ArgumentError(f"triple and cpu are of the targets 'object', 'shared' and 'python', not of {target!r}")
    machine = {} if target in ("c99", "wasm") else {"triple": triple, "cpu": cpu}
    version = imported("linkwork").__version__
    files = TARGETS[target](unit, provenance(unit, version), **machine)
    about = {
        "linkwork": version,
        "target": target,
        "function": unit.name,
        "trace": unit.trace_digest,
        "model": unit.model_digest,
    }
    return write(path, files, about)


def unit_of(function: Any, model: Model | None, name: str | None, options: Mapping[str, Any]) -> Unit:
    """What is to be exported, under a name that is checked or made up."""
    if isinstance(function, str):
        return _named(function, model, name, options)
    if options:
        raise ArgumentError(
            f"{next(iter(options))} is an option of functions that are exported by their names, such as "
            f"'forward_dynamics'; a function of lw.compile has its options inside"
        )
    if model is not None:
        raise ArgumentError("model belongs to functions that are exported by their names; leave it out")
    if isinstance(function, CompiledFunction):
        return _compiled(function, name)
    if callable(getattr(function, "torque", None)) and isinstance(getattr(function, "model", None), Model):
        return _controller(function, name)
    if callable(function):
        raise ArgumentError(
            f"{getattr(function, '__name__', shown(function))} is a Python function, which cannot be exported; make it "
            f"one of lw.compile first: lw.compile({getattr(function, '__name__', 'function')}, ...)"
        )
    raise ArgumentError(f"function must be one of lw.compile, a controller, or a name, not {shown(function)}")


def _named(function: str, model: Model | None, name: str | None, options: Mapping[str, Any]) -> Unit:
    if not isinstance(model, Model):
        raise ArgumentError(f"{function!r} is exported for a mechanism: lw.export({function!r}, folder, model=...)")
    own = default_name(model.name, function) if name is None else function_name(name)
    if function == "step":
        from linkwork.exports.steps import step_unit

        return step_unit(own, model, options)
    return named_unit(own, model, function, options)


def _compiled(function: CompiledFunction, name: str | None) -> Unit:
    own = default_name(function.name) if name is None else function_name(name)
    called = [*function.shapes, *result_names(function)]
    names, count = array_names(called, own), len(function.shapes)
    arguments = []
    for label, (key, shape) in zip(names, function.shapes.items(), strict=False):
        model = function.configurations.get(key)
        space = "" if model is None else "configuration"
        draw = None if model is None else samples_in(model, space)
        arguments.append(Part(label, key, shape, "", model, space, draw))
    rows = zip(names[count:], called[count:], function.result_shapes, strict=True)
    results = [Part(label, key, shape) for label, key, shape in rows]
    models = [*dict.fromkeys(function.configurations.values())]
    return Unit(own, function, arguments, results, f"{function.name}.", models[0] if len(models) == 1 else None)


def _controller(controller: Any, name: str | None) -> Unit:
    """The law of a controller, with its present gains and references."""
    from linkwork.compiled.compiling import compile as compiled

    model, kind = controller.model, type(controller).__name__

    def torque(t: Any, q: Any, v: Any) -> Any:
        return controller.torque(t, q, v)

    law = compiled(torque, t=(), q=(model, "configuration"), v=(model, "velocity"))
    own = default_name(model.name, kind) if name is None else function_name(name)
    arguments = [
        Part("t", "t", (), "time, s", None, "", lambda _: np.zeros(())),
        Part("q", "q", (model.nq,), "configuration, rad or m", model, "configuration",
             samples_in(model, "configuration")),
        Part("v", "v", (model.nv,), "velocity, rad/s or m/s", model, "velocity"),
    ]  # fmt: skip
    results = [Part("tau", "tau", (model.nv,), "joint forces, N m or N", model, "velocity")]
    return Unit(own, law, arguments, results, f"The law of a {kind} of '{model.name}'.", model)


def provenance(unit: Unit, version: str) -> str:
    """A line that says where the files come from."""
    model = unit.model_digest
    of = f", model {model[:16]}" if model else ""
    return f"Made by linkwork {version}{of}, trace {unit.trace_digest[:16]}. Do not edit."
