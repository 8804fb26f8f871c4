// Script of a worker: runs the same compiled module on the same memory, with a separate stack. Computes
// until the core ends the worker, and receives no message after the first. Imports nothing, so that it
// works as a plain file from any bundler.

interface WorkerMessage {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** Start of the worker's stack: the end of its block, since the stack grows downwards. */
  readonly stack: number;
  readonly index: number;
  /** Address of the worker's state word. */
  readonly state: number;
}

interface WorkerExports {
  _emscripten_stack_restore(stack: number): void;
  zeropoint_serve(worker: number): void;
}

interface Port {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: { data: WorkerMessage }) => void): void;
  start?(): void;
  close(): void;
}

/** Its value in src/core/parallel.h. */
const DEAD = 2;

interface WorkerThreads {
  readonly parentPort: Port | null;
}

const scope = globalThis as unknown as Port & {
  process?: { getBuiltinModule?: (name: string) => WorkerThreads };
};
const port = scope.process?.getBuiltinModule?.("node:worker_threads").parentPort ?? scope;

port.addEventListener("message", ({ data: { module, memory, stack, index, state } }) => {
  try {
    const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      imports[from] ??= {};
      // A worker only computes; all imported functions belong to the calling thread.
      imports[from][name] =
        kind === "memory"
          ? memory
          : () => {
              throw new Error(`a worker called ${name}`);
            };
    }
    const { exports } = new WebAssembly.Instance(module, imports);
    const core = exports as unknown as WorkerExports;
    core._emscripten_stack_restore(stack);
    port.postMessage("ready");
    core.zeropoint_serve(index);
  } catch (error) {
    Atomics.store(new Int32Array(memory.buffer), state / 4, DEAD);
    throw error;
  }
  port.close();
});
port.start?.();

export {};
