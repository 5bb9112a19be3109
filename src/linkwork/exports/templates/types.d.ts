// {{provenance}}

export declare const sizes: { {{sizes}} };
export declare const workspace: number;

/** The functions of a module: its bytes, or where it is; beside this file if left out. */
export declare function load(source?: URL | string | BufferSource): Promise<{{kind}}>;

/** {{about}} */
export declare class {{kind}} {
  constructor(module: WebAssembly.Module);
  /** The arrays that call reads and writes, by name. */
  readonly arrays: { {{arrays}} };
  /** Computes from the numbers in arrays; returns a status, 0 if all is well. */
  call(): number;
  /** What a status says. */
  status(status: number): string;
  /** The results for one state, new arrays by name. */
  {{name}}({{one}}): { {{results}} };
  /** The results for many states, whose numbers follow one another in each array. */
  batch(states: number, {{one}}): { {{results}} };{{run}}
}
