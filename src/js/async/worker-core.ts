// The core of the worker that the asynchronous functions have: the build of the instance that asks,
// compiled already.

// Imported, not loaded when needed: bundlers make one plain file of a worker.
import startOwn from "../core/baseline.js";
import startShared from "../core/baseline-threads.js";
import { type Binary, buildOf, Core, isShared } from "../core.js";
import { instantiate, type Start } from "../instantiate.js";
import type { CoreModule } from "../memory.js";

/** Starts the build that the asking thread has. */
export async function startHere({ name, module }: Binary): Promise<Core> {
  // Emscripten's modules of both builds are the same but for a file's name.
  const start = isShared(name) ? startShared : startOwn;
  const { bindings } = await instantiate(start as Start, module);
  return new Core(bindings as CoreModule, buildOf(name));
}
