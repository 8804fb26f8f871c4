// Jobs that a core gave to its workers. Results have the same bits on any number of threads, so they cannot show it.

import assert from "node:assert/strict";

/** Words before those of the workers' states, among which the job's number is (`Pool` in src/core/parallel.cpp). */
const WORDS = 1024;

/**
 * Finds the number of jobs in a core's memory: idle workers sleep on that word, and are woken here once.
 * @returns {Promise<() => number>} the number of jobs until now
 */
export async function jobCounter({ module, threads }) {
  const words = new Int32Array(module.HEAPU8.buffer);
  const end = module.workerState(0) / 4;
  // Workers look for jobs for some 100 microseconds before they sleep.
  for (let tries = 0; tries < 1000; tries++) {
    for (let word = end - WORDS; word < end; word++) {
      const woken = Atomics.notify(words, word);
      if (woken === 0) continue;
      assert.ok(woken < threads, `${woken} of ${threads} threads sleep`);
      return () => Atomics.load(words, word);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("no worker sleeps");
}
