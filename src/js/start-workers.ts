// Starts the workers of a core with shared memory; loaded where more than one thread is asked for.

import type { WasmMemory } from "./platform.js";
import { Staging } from "./staging.js";
import type { Shared, ThreadsModule, Workers } from "./threads.js";
import { type AnyWorker, listen, listenForEnd, START_LIMIT, workerConstructor } from "./workers.js";

/** As much as the calling thread has (scripts/emcc-flags.txt): work runs on either. */
const STACK_BYTES = 256 * 1024;
/** Its value in src/core/parallel.h. */
const DEAD = 2;

function newWorker(): AnyWorker {
  const Worker = workerConstructor();
  if (Worker === undefined) throw new Error("there are no workers here");
  // Bundlers look for this very expression. Node's own options are not for the worker: --eval runs a
  // script, and --import one that may start workers again.
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module", execArgv: [] });
}

/** Whether this thread may sleep; a page's main thread may not. */
function maySleep(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
    return true;
  } catch {
    return false;
  }
}

/** One worker, up and running. @throws {Error} why it is not */
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
    const timer = setTimeout(() => reject(new Error("it did not answer")), START_LIMIT);
    const lose = (why: string): void => {
      clearTimeout(timer);
      // Its part of the work is known to be nobody's from here on.
      Atomics.store(new Int32Array(shared.memory.buffer), state / 4, DEAD);
      reject(new Error(why));
    };
    listen(worker, "message", () => {
      clearTimeout(timer);
      worker.unref?.();
      resolve();
    });
    listenForEnd(worker, lose);
    // Stacks grow downwards and are aligned to 16 bytes.
    const top = (stack + STACK_BYTES) & ~15;
    worker.postMessage({ ...shared, index, state, stack: top >>> 0 }, []);
  });
}

/** Starts workers. @throws {Error} if one cannot be started; then none is left */
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
