// Makes the digits and the network of notebook 6, and the network as model files for the lab, before the page is built or
// served, which imports the addresses of these files.

import { pathToFileURL } from "node:url";

/**
 * @param {{ script: string }} options  scripts/cost/samples.mjs, loaded late: it needs the built package
 * @returns {import("vite").Plugin}
 */
export function digits({ script }) {
  return {
    name: "zeropoint-digits",
    async buildStart() {
      const { makeSamples } = await import(pathToFileURL(script).href);
      await makeSamples();
    },
  };
}
