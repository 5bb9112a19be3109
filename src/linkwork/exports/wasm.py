"""The target "wasm": a WebAssembly module with a wrapper in JavaScript, types for TypeScript and a test for Node; of a
step, also a page in which the mechanism moves.
"""

from __future__ import annotations

from linkwork.engine.code.cross import machine
from linkwork.exports.c99 import iterates
from linkwork.exports.objects import code_of
from linkwork.exports.readme import readme
from linkwork.exports.samples import samples_of
from linkwork.exports.self_test import SOLVER_TOLERANCE, TOLERANCE
from linkwork.exports.unit import Unit
from linkwork.exports.wasm_binary import Module, module_of

_STACK, _LARGE_STACK = 2**18, 2**23
"""Bytes of the stack: of formulas, and of functions that iterate, which keep rows there."""
_CHUNK = 256
"""States that are computed in one call of a batch."""

_SCRIPT = """\
// {about}
// {provenance}

export const sizes = {{ {sizes} }};
export const workspace = {workspace};
const inputs = [{inputs}], outputs = [{outputs}];
const stack = [{bottom}, {top}], chunk = {chunk};

// The functions of a module: its bytes, or where it is; beside this file if left out.
export async function load(source = new URL("./{name}.wasm", import.meta.url)) {{
  let bytes = source;
  if (source instanceof URL || typeof source === "string") {{
    const url = new URL(source, import.meta.url);
    if (url.protocol === "file:" && typeof process !== "undefined") {{
      const {{ readFile }} = await import("node:fs/promises");
      bytes = await readFile(url);
    }} else {{
      bytes = await (await fetch(url)).arrayBuffer();
    }}
  }}
  return new {kind}(await WebAssembly.compile(bytes));
}}

export class {kind} {{
  constructor(module) {{
    const numbers = [...inputs, ...outputs].reduce((sum, name) => sum + sizes[name], 0);
    const end = stack[1] + 8 * ((1 + chunk) * numbers + workspace + 8);
    const memory = new WebAssembly.Memory({{ initial: Math.ceil(end / 65536) }});
    const env = {{
      __linear_memory: memory,
      __stack_pointer: new WebAssembly.Global({{ value: "i32", mutable: true }}, stack[1]),
      __indirect_function_table: new WebAssembly.Table({{ initial: {table}, element: "anyfunc" }}),
    }};
    this.code = new WebAssembly.Instance(module, {{ env }}).exports;
    this.memory = memory;
    let at = stack[1];
    const take = (count) => {{ const place = at; at += 8 * count; return place; }};
    this.places = [...inputs, ...outputs].map((name) => take(sizes[name]));
    this.rows = [...inputs, ...outputs].map((name) => take(chunk * sizes[name]));
    this.places.push(take(workspace));
    const view = (place, count) => new Float64Array(memory.buffer, place, count);
    // The arrays that call() reads and writes, by name.
    this.arrays = Object.fromEntries([...inputs, ...outputs].map((name, k) => [name, view(this.places[k], sizes[name])]));
    this.batches = [...inputs, ...outputs].map((name, k) => view(this.rows[k], chunk * sizes[name]));
  }}

  // Computes from the numbers in arrays; returns a status, 0 if all is well.
  call() {{
    return this.code.{name}(...this.places);
  }}

  // What a status says.
  status(status) {{
    const bytes = new Uint8Array(this.memory.buffer), first = this.code.{name}_status(status);
    return String.fromCharCode(...bytes.subarray(first, bytes.indexOf(0, first)));
  }}

  // The results for one state, new arrays by name.
  {name}({parameters}) {{
    [{parameters}].forEach((numbers, k) => this.arrays[inputs[k]].set(checked(inputs[k], numbers, sizes[inputs[k]])));
    const status = this.call();
    if (status) throw new RangeError(this.status(status));
    return Object.fromEntries(outputs.map((name) => [name, this.arrays[name].slice()]));
  }}

  // The results for many states, whose numbers follow one another in each array.
  batch(states, {parameters}) {{
    const given = [{parameters}].map((numbers, k) => checked(inputs[k], numbers, states * sizes[inputs[k]]));
    const found = outputs.map((name) => new Float64Array(states * sizes[name]));
    for (let first = 0; first < states; first += chunk) {{
      const few = Math.min(chunk, states - first);
      given.forEach((numbers, k) => {{
        const size = sizes[inputs[k]];
        this.batches[k].set(numbers.subarray(first * size, (first + few) * size));
      }});
      const status = this.code.{name}_batch(few, ...this.rows, this.places[this.places.length - 1], 0);
      if (status) throw new RangeError(this.status(status));
      found.forEach((numbers, k) => {{
        const rows = this.batches[inputs.length + k];
        numbers.set(rows.subarray(0, few * sizes[outputs[k]]), first * sizes[outputs[k]]);
      }});
    }}
    return Object.fromEntries(outputs.map((name, k) => [name, found[k]]));
  }}{run}
}}

function checked(name, numbers, size) {{
  const array = numbers instanceof Float64Array ? numbers : Float64Array.from(numbers);
  if (array.length !== size) throw new RangeError(`${{name}} must have ${{size}} numbers, not ${{array.length}}`);
  return array;
}}
"""
_RUN = """

  // So many steps in place, from the state in arrays; returns a status.
  run(steps) {{
    const places = this.places;
    return this.code.{name}_run(steps, ...places.slice(0, inputs.length), places[places.length - 1], 0);
  }}"""
_TYPES = """\
// {provenance}

export declare const sizes: {{ {sizes} }};
export declare const workspace: number;

/** The functions of a module: its bytes, or where it is; beside this file if left out. */
export declare function load(source?: URL | string | BufferSource): Promise<{kind}>;

/** {about} */
export declare class {kind} {{
  constructor(module: WebAssembly.Module);
  /** The arrays that call reads and writes, by name. */
  readonly arrays: {{ {arrays} }};
  /** Computes from the numbers in arrays; returns a status, 0 if all is well. */
  call(): number;
  /** What a status says. */
  status(status: number): string;
  /** The results for one state, new arrays by name. */
  {name}({one}): {{ {results} }};
  /** The results for many states, whose numbers follow one another in each array. */
  batch(states: number, {one}): {{ {results} }};{run}
}}
"""
_TEST = """\
// The self-test: node {name}_test.mjs
import {{ load, sizes }} from "./{name}.js";

const samples = [
{samples}
];
const inputs = [{inputs}], outputs = [{outputs}], tolerance = {tolerance};
const f = await load();
const number = (word) => new Float64Array(new BigUint64Array([word]).buffer)[0];
let other = 0, wrong = 0;
const compare = (found, expected) => expected.forEach((x, k) => {{
  const largest = expected.reduce((sum, y) => Math.max(sum, Math.abs(y)), 1);
  other += Object.is(found[k], x) ? 0 : 1;
  wrong += Math.abs(found[k] - x) <= tolerance * largest ? 0 : 1;
}});
const rows = samples.map((row) => {{
  const numbers = row.map(number), parts = {{}};
  for (const name of [...inputs, ...outputs]) parts[name] = numbers.splice(0, sizes[name]);
  return parts;
}});
for (const row of rows) {{
  const found = f.{name}(...inputs.map((name) => row[name]));
  for (const name of outputs) compare(found[name], row[name]);
}}
const all = f.batch(rows.length, ...inputs.map((name) => rows.flatMap((row) => row[name])));
for (const name of outputs) compare(all[name], rows.flatMap((row) => row[name]));
const nothing = inputs.map((name) => new Float64Array(sizes[name]).fill(NaN));
try {{
  f.{name}(...nothing);
  wrong += inputs.length ? 1 : 0;
}} catch (error) {{
  if (!(error instanceof RangeError)) throw error;
}}
console.log(`{name}: ${{rows.length}} states, ${{other}} numbers with other bits: ${{wrong ? "FAILED" : "passed"}}`);
process.exitCode = wrong ? 1 : 0;
"""


def files(unit: Unit, provenance: str) -> dict[str, str | bytes]:
    """The files of the target."""
    code = code_of(unit, provenance, machine("wasm32", None), short=True)
    name = unit.name
    functions = [name, f"{name}_batch", f"{name}_status", *([f"{name}_run"] if unit.over_time else [])]
    module = module_of(code.image, functions)
    samples = samples_of(unit)
    words = [
        ", ".join(f"0x{int.from_bytes(x.tobytes(), 'little'):x}n" for part in rows for x in part[k : k + 1].ravel())
        for k in range(len(samples))
        for rows in [(*samples.arguments, *samples.results)]
    ]
    iterating = iterates(unit.function.program)
    inputs = ", ".join(f'"{part.name}"' for part in unit.arguments)
    outputs = ", ".join(f'"{part.name}"' for part in unit.results)
    build = (
        f"Put `{name}.wasm` and `{name}.js` into one folder; `{name}.d.ts` has the types for TypeScript. "
        f"`node {name}_test.mjs` tests them. The module has {len(module.image):,} bytes and uses SIMD."
    )
    given = ", ".join(part.name for part in unit.arguments)
    call = f"""\
```js
import {{ load }} from "./{name}.js";

const f = await load();
const {{ {", ".join(part.name for part in unit.results)} }} = f.{name}({given});
```

`f.batch(states, ...)` computes many states; `f.call()` works on `f.arrays`, and copies nothing."""
    return {
        f"{name}.wasm": module.image,
        f"{name}.js": script(unit, provenance, module, code.text.workspace),
        f"{name}.d.ts": _types(unit, provenance),
        f"{name}_test.mjs": _TEST.format(
            name=name, samples="\n".join(f"  [{row}]," for row in words), inputs=inputs, outputs=outputs,
            tolerance=SOLVER_TOLERANCE if iterating else TOLERANCE,
        ),
        "README.md": readme(unit, code.text, provenance, build, call),
    }  # fmt: skip


def script(unit: Unit, provenance: str, module: Module, workspace: int) -> str:
    """The wrapper in JavaScript."""
    parts = [*unit.arguments, *unit.results]
    bottom = -(-module.data_end // 64) * 64
    stack = _LARGE_STACK if iterates(unit.function.program) else _STACK
    return _SCRIPT.format(
        about=_line(unit.about), provenance=provenance, name=unit.name, kind=class_name(unit.name),
        sizes=", ".join(f"{part.name}: {part.size}" for part in parts), workspace=workspace + 8,
        inputs=", ".join(f'"{part.name}"' for part in unit.arguments),
        outputs=", ".join(f'"{part.name}"' for part in unit.results),
        parameters=", ".join(part.name for part in unit.arguments), bottom=bottom, top=bottom + stack, chunk=_CHUNK,
        table=module.table_size + 16, run=_RUN.format(name=unit.name) if unit.over_time else "",
    )  # fmt: skip


def class_name(name: str) -> str:
    """The name of the class of functions."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_")) + "Module"


def _types(unit: Unit, provenance: str) -> str:
    parts = [*unit.arguments, *unit.results]
    run = "\n  /** So many steps in place, from the state in arrays; returns a status. */\n  run(steps: number): number;"
    return _TYPES.format(
        about=_line(unit.about), provenance=provenance, name=unit.name, kind=class_name(unit.name),
        sizes="; ".join(f"{part.name}: number" for part in parts),
        arrays="; ".join(f"{part.name}: Float64Array" for part in parts),
        one=", ".join(f"{part.name}: ArrayLike<number>" for part in unit.arguments),
        results="; ".join(f"{part.name}: Float64Array" for part in unit.results),
        run=run if unit.over_time else "",
    )  # fmt: skip


def _line(text: str) -> str:
    """Text that a comment can hold."""
    return text.encode("ascii", "replace").decode().replace("*/", "* /").replace("\n", " ")
