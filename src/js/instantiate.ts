// Runs a compiled core with the module that Emscripten made for it.

import type { WasmInstance, WasmMemory, WasmModule } from "./platform.js";

/** What Emscripten's module takes. */
export interface ModuleOptions {
  instantiateWasm(
    imports: Record<string, Record<string, WasmMemory>>,
    receive: (instance: WasmInstance) => void,
  ): object;
}

/** Emscripten's module of a build. */
export type Start = (options: ModuleOptions) => Promise<unknown>;

/** A core that runs. */
export interface Started {
  /** The core's functions. */
  readonly bindings: unknown;
  /** Its memory, if that is not its own alone. */
  readonly shared: WasmMemory | undefined;
}

/** @throws {Error} what the engine throws */
export async function instantiate(start: Start, module: WasmModule): Promise<Started> {
  let shared: WasmMemory | undefined;
  const bindings = await new Promise((resolve, reject) => {
    const instantiateWasm: ModuleOptions["instantiateWasm"] = (imports, receive) => {
      const memories = Object.values(imports).map(({ memory }) => memory);
      shared = memories.find((memory) => memory instanceof WebAssembly.Memory);
      let instance: WasmInstance;
      try {
        // At once, for the reason that compileBytes gives.
        instance = new WebAssembly.Instance(module, imports);
      } catch {
        WebAssembly.instantiate(module, imports).then(receive).catch(reject);
        return {};
      }
      receive(instance);
      return {};
    };
    start({ instantiateWasm }).then(resolve, reject);
  });
  return { bindings, shared };
}
