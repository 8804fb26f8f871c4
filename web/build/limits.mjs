// Sees to it that the benchmark's limits are there when the page is built or served: ../measure/measure-worker.ts
// imports their addresses.

import { pathToFileURL } from "node:url";

/**
 * @param {{ script: string }} options  tests/bench/limits/build.mjs
 * @returns {import("vite").Plugin}
 */
export function limits({ script }) {
  return {
    name: "zeropoint-limits",
    async buildStart() {
      const { buildLimits } = await import(pathToFileURL(script).href);
      await buildLimits();
    },
  };
}
