// The workers of a core with shared memory.

import type { MainModule as ThreadsModule } from "./core/baseline-threads.js";
import type { WasmMemory, WasmModule } from "./platform.js";
import type { Staging } from "./staging.js";

export type { ThreadsModule };

/** What a worker is told; src/js/worker.ts. */
export interface Shared {
  readonly module: WasmModule;
  readonly memory: WasmMemory;
}

/** The workers that started. */
export interface Workers {
  /** How many there are. */
  readonly count: number;
  /** Why there are fewer than asked for. */
  readonly reason: string | undefined;
  /** By which way much is copied to the memory that they share, if not directly. */
  readonly staging?: Staging | undefined;
  /** Ends them. */
  end(): void;
}

/** Starts workers beside the calling thread. Never fails: where it cannot, there are fewer. */
export async function startWorkers(
  core: ThreadsModule,
  shared: Shared,
  wanted: number,
): Promise<Workers> {
  try {
    const { start } = await import("./start-workers.js");
    return await start(core, shared, wanted);
  } catch (error) {
    const reason = `a worker could not be started: ${error instanceof Error ? error.message : error}`;
    return { count: 0, reason, end: () => {} };
  }
}
