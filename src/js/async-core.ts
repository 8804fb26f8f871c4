// The core of the worker that the asynchronous functions have.

import type { Build, Core } from "./build.js";
import start from "./core/baseline.js";
import { Memory } from "./memory.js";

/** What the worker needs to know to start. */
export interface WorkerStart {
  readonly build: Build;
}

/** Loads the build that the asking thread has. */
export async function startHere({ build }: WorkerStart): Promise<Core> {
  const module = await start({ printErr: () => {} });
  return { module, memory: new Memory(module), build, threads: 1 };
}
