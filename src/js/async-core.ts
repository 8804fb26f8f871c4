// The core of the worker that the asynchronous functions have: the build of the instance that asks,
// compiled already.

import type { BinaryName } from "./binary.js";
import type { Core } from "./build.js";
// Imported, not loaded when needed: bundlers make one plain file of a worker.
import startOwn from "./core/baseline.js";
import startShared from "./core/baseline-threads.js";
import { instantiate, type Start } from "./instantiate.js";
import { type CoreModule, Memory } from "./memory.js";
import type { WasmModule } from "./platform.js";

/** What the worker needs to know to start. */
export interface WorkerStart {
  readonly name: BinaryName;
  readonly module: WasmModule;
}

/** Starts the build that the asking thread has. */
export async function startHere({ name, module }: WorkerStart): Promise<Core> {
  // Emscripten's modules of both builds are the same but for a file's name.
  const start = name.endsWith("-threads") ? startShared : startOwn;
  const bindings = (await instantiate(start as Start, module)).bindings as CoreModule;
  // What works on a core needs no more of it than this.
  return { module: bindings, memory: new Memory(bindings) } as Core;
}
