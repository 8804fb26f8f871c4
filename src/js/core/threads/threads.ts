// The workers of a core with shared memory.

import type { Shared, ThreadsModule, Workers } from "./start-workers.js";

export type { Shared, ThreadsModule, Workers };

/** Starts workers in addition to the calling thread. Never throws: on failure there are fewer. */
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
