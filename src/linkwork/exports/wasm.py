"""The target "wasm": a WebAssembly module with a wrapper in JavaScript, types for TypeScript and a test for Node; of a
step, also a page in which the mechanism moves.
"""

from __future__ import annotations

import json

from linkwork.engine.code.cross import machine
from linkwork.exports.c99 import iterates
from linkwork.exports.objects import code_of
from linkwork.exports.page import page
from linkwork.exports.readme import readme
from linkwork.exports.samples import samples_of
from linkwork.exports.self_test import SOLVER_TOLERANCE, TOLERANCE
from linkwork.exports.templates import filled
from linkwork.exports.unit import Unit
from linkwork.exports.wasm_binary import module_of
from linkwork.exports.wasm_script import class_name, one_comment, script


def files(unit: Unit, provenance: str) -> dict[str, str | bytes]:
    """The files of the target."""
    code = code_of(unit, provenance, machine("wasm32", None))
    name = unit.name
    functions = [name, f"{name}_batch", f"{name}_status", *([f"{name}_run"] if unit.over_time else [])]
    module = module_of(code.image, functions)
    samples = samples_of(unit)
    words = [
        ", ".join(f"0x{int.from_bytes(x.tobytes(), 'little'):x}n" for part in rows for x in part[k : k + 1].ravel())
        for k in range(len(samples))
        for rows in [(*samples.arguments, *samples.results)]
    ]
    iterating = iterates(unit.routine.program)
    inputs = ", ".join(f'"{part.name}"' for part in unit.arguments)
    outputs = ", ".join(f'"{part.name}"' for part in unit.results)
    build = (
        f"Put `{name}.wasm` and `{name}.js` into one folder; `{name}.d.ts` has the types for TypeScript. "
        f"`node {name}_test.mjs` tests them. The module has {len(module.image):,} bytes and uses SIMD."
    )
    arguments = ", ".join(part.name for part in unit.arguments)
    call = f"""\
```js
import {{ load }} from "./{name}.js";

const f = await load();
const {{ {", ".join(part.name for part in unit.results)} }} = f.{name}({arguments});
```

`f.batch(states, ...)` computes many states; `f.call()` works on `f.arrays`, and copies nothing."""
    return {
        f"{name}.wasm": module.image,
        f"{name}.js": script(unit, provenance, module, code.text.workspace),
        f"{name}.d.ts": _types(unit, provenance),
        f"{name}_test.mjs": filled(
            "test.mjs",
            name=name, samples="\n".join(f"  [{row}]," for row in words), inputs=inputs, outputs=outputs,
            tolerance=SOLVER_TOLERANCE if iterating else TOLERANCE,
        ),
        "package.json": json.dumps(_package(name)) + "\n",
        **({f"{name}.html": page(unit, provenance)} if unit.page else {}),
        "README.md": readme(unit, code.text, provenance, build, call),
    }  # fmt: skip


def _package(name: str) -> dict[str, str]:
    """What tells Node that the wrapper is a module."""
    return {"name": name.lower(), "type": "module", "main": f"{name}.js", "types": f"{name}.d.ts"}


def _types(unit: Unit, provenance: str) -> str:
    parts = [*unit.arguments, *unit.results]
    run = (
        "\n  /** So many steps in place, from the state in arrays; returns a status. */\n  run(steps: number): number;"
    )
    return filled(
        "types.d.ts",
        about=one_comment(unit.about), provenance=provenance, name=unit.name, kind=class_name(unit.name),
        sizes="; ".join(f"{part.name}: number" for part in parts),
        arrays="; ".join(f"{part.name}: Float64Array" for part in parts),
        one=", ".join(f"{part.name}: ArrayLike<number>" for part in unit.arguments),
        results="; ".join(f"{part.name}: Float64Array" for part in unit.results),
        run=run if unit.over_time else "",
    )  # fmt: skip
