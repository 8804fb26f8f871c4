// Runs a compiled core: implements its imports (src/bindings/imports.js), and binds its functions as it
// registers them through embind (src/bindings). They take and return numbers, booleans and
// enumerations, which are strings here.

import type { WasmInstance, WasmMemory, WasmModule } from "../base/platform.js";
import type { MainModule } from "../wasm/baseline.js";

/** The functions of a core, and its heap. */
export type CoreModule = MainModule & {
  /** The whole memory, at its present size. */
  readonly HEAPU8: Uint8Array;
  /** With threads: called when a worker no longer answers. */
  workerLost?: () => void;
};

/** An instantiated core. */
interface Started {
  readonly bindings: CoreModule;
  /** The memory of a core with threads, for its workers. */
  readonly shared: WasmMemory | undefined;
}

type Value = number | string | boolean | undefined;

interface Exports {
  readonly memory?: WebAssembly.Memory;
  readonly __indirect_function_table: { get(pointer: number): (...values: Value[]) => number };
  __wasm_call_ctors(): void;
}

const PAGE = 65536;
/** The memory of a core with threads, as scripts/build/emcc-flags.txt declares it. */
const SHARED_MEMORY = { initial: 256, maximum: 65536, shared: true };
/** The last page is never allocated, so that the end of the memory has a 32-bit address. */
const MOST_BYTES = 65535 * PAGE;
/**
 * Memory grows by a 32nd more than requested, but at most by this many extra bytes: a growth takes
 * microseconds in engines that reserve the address space, and a heap should be no larger than its blocks.
 */
const MOST_AHEAD = 8 * 2 ** 20;

/** Grows a memory. @returns 1, or 0 if the engine refuses */
function grow(memory: WasmMemory, requested: number): number {
  const held = memory.buffer.byteLength;
  const ahead = Math.min(requested + Math.min(held / 32, MOST_AHEAD), MOST_BYTES);
  if (requested > MOST_BYTES) return 0;
  for (const bytes of [Math.max(requested, ahead), requested]) {
    try {
      memory.grow(Math.ceil((bytes - held) / PAGE));
      return 1;
    } catch {
      // Retry with a smaller size.
    }
  }
  return 0;
}

/** Instantiates on this thread if the engine permits it; see compileBytes() for the reason. */
async function instanceOf(module: WasmModule, imports: WebAssembly.Imports): Promise<WasmInstance> {
  try {
    return new WebAssembly.Instance(module, imports);
  } catch {
    return await WebAssembly.instantiate(module, imports);
  }
}

/** @throws {Error} the engine's own, if it refuses the module or its memory */
export async function instantiate(module: WasmModule): Promise<Started> {
  const isShared = WebAssembly.Module.imports(module).some(({ kind }) => kind === "memory");
  const shared = isShared ? new WebAssembly.Memory(SHARED_MEMORY) : undefined;
  let memory = shared as WasmMemory;
  let table: Exports["__indirect_function_table"];
  let heap = new Uint8Array(0);

  const bindings = {
    get HEAPU8(): Uint8Array {
      if (heap.buffer !== memory.buffer) heap = new Uint8Array(memory.buffer);
      return heap;
    },
  } as CoreModule;

  /** Zero-terminated text in memory. */
  const textAt = (pointer: number): string => {
    const start = pointer >>> 0;
    const bytes = bindings.HEAPU8.slice(start, bindings.HEAPU8.indexOf(0, start));
    return String.fromCharCode(...bytes);
  };

  /** For each enumeration type: values by name, and names by value. */
  const values: Record<number, Record<string, number>> = {};
  const names: Record<number, Record<number, string>> = {};
  /** The types that are registered: numbers, booleans and enumerations. */
  const known = new Set<number>();
  /** The types that are unsigned integers: results come with a sign. */
  const unsigned = new Set<number>();
  const addType = (type: number): void => {
    known.add(type);
  };

  const env: WebAssembly.ModuleImports = {
    _embind_register_void: addType,
    _embind_register_bool: addType,
    _embind_register_float: addType,
    _embind_register_integer(type: number, _name: number, _size: number, least: number) {
      addType(type);
      if (least === 0) unsigned.add(type);
    },
    _embind_register_enum(type: number) {
      addType(type);
      values[type] = {};
      names[type] = {};
    },
    _embind_register_enum_value(type: number, name: number, value: number) {
      const text = textAt(name);
      values[type][text] = value;
      names[type][value] = text;
    },
    _embind_register_function(
      name: number,
      count: number,
      types: number,
      _signature: number,
      _invoker: number,
      pointer: number,
    ) {
      const all = [...new Uint32Array(memory.buffer, types >>> 0, count)];
      // A text in place of an enumeration's value would become 0.
      if (!all.every((type) => known.has(type))) {
        throw new TypeError(`${textAt(name)} is registered before one of its types`);
      }
      const [result, ...parameters] = all;
      const resultNames = names[result];
      const isUnsigned = unsigned.has(result);
      const [A, B, C, D, E, F, G, H, I, J, K, L, M] = parameters.map((type) => values[type]);
      const core = table.get(pointer);
      // One function for all numbers of parameters, written out: each call of the library is one of these,
      // and WebAssembly ignores arguments beyond its parameters.
      const call = (
        a?: Value,
        b?: Value,
        c?: Value,
        d?: Value,
        e?: Value,
        f?: Value,
        g?: Value,
        h?: Value,
        i?: Value,
        j?: Value,
        k?: Value,
        l?: Value,
        m?: Value,
      ): Value => {
        const value = core(
          A ? A[a as string] : a,
          B ? B[b as string] : b,
          C ? C[c as string] : c,
          D ? D[d as string] : d,
          E ? E[e as string] : e,
          F ? F[f as string] : f,
          G ? G[g as string] : g,
          H ? H[h as string] : h,
          I ? I[i as string] : i,
          J ? J[j as string] : j,
          K ? K[k as string] : k,
          L ? L[l as string] : l,
          M ? M[m as string] : m,
        );
        return resultNames ? resultNames[value] : isUnsigned ? value >>> 0 : value;
      };
      Object.assign(bindings, { [textAt(name)]: call });
    },
    emscripten_resize_heap: (bytes: number) => grow(memory, bytes >>> 0),
    emscripten_get_now: () => performance.now(),
    zeropoint_worker_lost: () => bindings.workerLost?.(),
    ...(shared && { memory: shared }),
  };
  const { exports } = await instanceOf(module, { env });
  const core = exports as unknown as Exports;
  memory = shared ?? (core.memory as WasmMemory);
  table = core.__indirect_function_table;
  core.__wasm_call_ctors();
  return { bindings, shared };
}
