// {{about}}
// {{provenance}}

export const sizes = { {{sizes}} };
export const workspace = {{workspace}};
const inputs = [{{inputs}}], outputs = [{{outputs}}];
const stack = [{{bottom}}, {{top}}], chunk = {{chunk}};

// The functions of a module: its bytes, or where it is; beside this file if left out.
export async function load(source = new URL("./{{name}}.wasm", import.meta.url)) {
  let bytes = source;
  if (source instanceof URL || typeof source === "string") {
    const url = new URL(source, import.meta.url);
    if (url.protocol === "file:" && typeof process !== "undefined") {
      const { readFile } = await import("node:fs/promises");
      bytes = await readFile(url);
    } else {
      bytes = await (await fetch(url)).arrayBuffer();
    }
  }
  return new {{kind}}(await WebAssembly.compile(bytes));
}

export class {{kind}} {
  constructor(module) {
    const numbers = [...inputs, ...outputs].reduce((sum, name) => sum + sizes[name], 0);
    const end = stack[1] + 8 * ((1 + chunk) * numbers + workspace + 8);
    const memory = new WebAssembly.Memory({ initial: Math.ceil(end / 65536) });
    const env = {
      __linear_memory: memory,
      __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, stack[1]),
      __indirect_function_table: new WebAssembly.Table({ initial: {{table}}, element: "anyfunc" }),
    };
    this.code = new WebAssembly.Instance(module, { env }).exports;
    this.memory = memory;
    let at = stack[1];
    const take = (count) => { const place = at; at += 8 * count; return place; };
    this.places = [...inputs, ...outputs].map((name) => take(sizes[name]));
    this.rows = [...inputs, ...outputs].map((name) => take(chunk * sizes[name]));
    this.places.push(take(workspace));
    const view = (place, count) => new Float64Array(memory.buffer, place, count);
    // The arrays that call() reads and writes, by name.
    this.arrays = Object.fromEntries([...inputs, ...outputs].map((name, k) => [name, view(this.places[k], sizes[name])]));
    this.batches = [...inputs, ...outputs].map((name, k) => view(this.rows[k], chunk * sizes[name]));
  }

  // Computes from the numbers in arrays; returns a status, 0 if all is well.
  call() {
    return this.code.{{name}}(...this.places);
  }

  // What a status says.
  status(status) {
    const bytes = new Uint8Array(this.memory.buffer), first = this.code.{{name}}_status(status);
    return String.fromCharCode(...bytes.subarray(first, bytes.indexOf(0, first)));
  }

  // The results for one state, new arrays by name.
  {{name}}({{parameters}}) {
    {{puts}}
    const status = this.call();
    if (status) throw new RangeError(this.status(status));
    return { {{slices}} };
  }

  // The results for many states, whose numbers follow one another in each array.
  batch(states, {{parameters}}) {
    const given = [{{parameters}}].map((numbers, k) => checked(inputs[k], numbers, states * sizes[inputs[k]]));
    const found = outputs.map((name) => new Float64Array(states * sizes[name]));
    for (let first = 0; first < states; first += chunk) {
      const few = Math.min(chunk, states - first);
      given.forEach((numbers, k) => {
        const size = sizes[inputs[k]];
        this.batches[k].set(numbers.subarray(first * size, (first + few) * size));
      });
      const status = this.code.{{name}}_batch(few, ...this.rows, this.places[this.places.length - 1], 0);
      if (status) throw new RangeError(this.status(status));
      found.forEach((numbers, k) => {
        const rows = this.batches[inputs.length + k];
        numbers.set(rows.subarray(0, few * sizes[outputs[k]]), first * sizes[outputs[k]]);
      });
    }
    return Object.fromEntries(outputs.map((name, k) => [name, found[k]]));
  }{{run}}
}

function checked(name, numbers, size) {
  if (numbers.length !== size) throw new RangeError(`${name} must have ${size} numbers, not ${numbers.length}`);
  return numbers instanceof Float64Array ? numbers : Float64Array.from(numbers);
}

// By a loop, which takes less time than set() for so few.
function put(name, numbers, array) {
  if (numbers.length !== array.length) checked(name, numbers, array.length);
  for (let k = 0; k < array.length; ++k) array[k] = numbers[k];
}
