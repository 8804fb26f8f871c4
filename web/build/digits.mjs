// Sees to it that the digits and the network of notebook 6 are there when the page is built or served:
// ../digits.js imports the address of their file.

import { pathToFileURL } from "node:url";

/**
 * @param {{ script: string }} options  scripts/cost/model.mjs, loaded late: it needs the built package
 * @returns {import("vite").Plugin}
 */
export function digits({ script }) {
  return {
    name: "zeropoint-digits",
    async buildStart() {
      const { makeModel } = await import(pathToFileURL(script).href);
      await makeModel();
    },
  };
}
