// Starts the workers of a core with shared memory. Loaded only if more than one thread is requested.

import type { WasmMemory, WasmModule } from "../../base/platform.js";
import type { MainModule as ThreadsModule } from "../../wasm/baseline-threads.js";
import { Staging } from "./staging.js";
import {
  type AnyWorker,
  afterFreeSeconds,
  listen,
  listenForEnd,
  START_LIMIT,
  workerConstructor,
} from "./workers.js";

export type { ThreadsModule };

/** The message to a worker; see src/js/core/threads/worker.ts. */
export interface Shared {
  readonly module: WasmModule;
  readonly memory: WasmMemory;
}

/** The workers that started. */
export interface Workers {
  /** The number of workers. */
  readonly count: number;
  /** The reason for fewer threads than requested. */
  readonly reason: string | undefined;
  /** Staging memory for large copies to the shared memory, if any. */
  readonly staging?: Staging | undefined;
  /** Ends them. */
  end(): void;
}

/** The same as the calling thread's stack (scripts/build/emcc-flags.txt), since work runs on both. */
const STACK_BYTES = 256 * 1024;
/** Its value in src/core/parallel.h. */
const DEAD = 2;

function newWorker(): AnyWorker {
  const Worker = workerConstructor();
  if (Worker === undefined) throw new Error("there are no workers here");
  // Bundlers recognize exactly this expression. Node's own options are not for the worker: --eval runs a
  // script, and --import one that may start workers again.
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module", execArgv: [] });
}

/** Whether this thread may block in Atomics.wait; a page's main thread may not. */
function maySleep(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
    return true;
  } catch {
    return false;
  }
}

/** Starts one worker and waits until it runs. @throws {Error} if it does not start */
function startWorker(
  core: ThreadsModule,
  shared: Shared,
  index: number,
  workers: AnyWorker[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stack = core.allocate(STACK_BYTES);
    if (stack === 0) throw new Error("there is no memory for its stack");
    const state = core.workerState(index);
    const worker = newWorker();
    workers.push(worker);
    const stop = afterFreeSeconds(START_LIMIT, () => reject(new Error("it did not answer")));
    const lose = (why: string): void => {
      stop();
      // From here on the core gives no work to this worker.
      Atomics.store(new Int32Array(shared.memory.buffer), state / 4, DEAD);
      reject(new Error(why));
    };
    listen(worker, "message", () => {
      stop();
      worker.unref?.();
      resolve();
    });
    listenForEnd(worker, lose);
    // Stacks grow downwards and are aligned to 16 bytes.
    const top = (stack + STACK_BYTES) & ~15;
    worker.postMessage({ ...shared, index, state, stack: top >>> 0 }, []);
  });
}

/** Starts workers. @throws {Error} if one does not start; the others are then ended */
export async function start(core: ThreadsModule, shared: Shared, wanted: number): Promise<Workers> {
  const workers: AnyWorker[] = [];
  const end = (): void => {
    core.endWorkers();
    for (const worker of workers) worker.terminate();
  };
  try {
    const starts = Array.from({ length: wanted }, (_, i) => startWorker(core, shared, i, workers));
    await Promise.all(starts);
  } catch (error) {
    end();
    throw error;
  }
  core.startWorkers(wanted, maySleep());
  return { count: wanted, reason: undefined, end, staging: openStaging(shared.memory) };
}

function openStaging(heap: WasmMemory): Staging | undefined {
  try {
    return new Staging(heap);
  } catch {
    return undefined;
  }
}
