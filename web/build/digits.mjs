// Makes the digits and the network of notebook 6, the network as model files for the lab, and the images that the search
// view searches, before the page is built or served, which imports the addresses of these files.

import { pathToFileURL } from "node:url";

/**
 * @param {{ folder: string }} options  scripts/cost, whose scripts are loaded late: they need the built package
 * @returns {import("vite").Plugin}
 */
export function digits({ folder }) {
  const script = (/** @type {string} */ name) => import(pathToFileURL(`${folder}/${name}`).href);
  return {
    name: "zeropoint-digits",
    async buildStart() {
      await (await script("samples.mjs")).makeSamples();
      await (await script("images.mjs")).makeImages();
    },
  };
}
