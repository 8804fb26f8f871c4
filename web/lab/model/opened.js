// The opened model, the rows of its analysis and the inputs of its layers.

import { library } from "../../shell/library.js";
import { openFiles } from "./files.js";

/** @typedef {import("zeropoint/worker").ModelHandle} ModelHandle */

/** @type {ModelHandle | undefined} */
let model;

/** Rows of the analysis by tensor. @type {Map<string, any[]>} */
export const rows = new Map();

/** Moments of the inputs of weights by their names. @type {Map<string, any>} */
export const activations = new Map();

/** Inputs for running an ONNX model, by name. @type {Map<string, { type: string, dims: readonly number[], data: any }>} */
export const feeds = new Map();

/** The right classes of the inputs for running, as the array "labels" gives them. @type {Map<"labels", number[]>} */
export const labels = new Map();

/** @returns {ModelHandle} */
export function opened() {
  if (!model) throw new Error("no model is open");
  return model;
}

let opening = Promise.resolve();

/**
 * Opens a file in the place of the one before. Calls wait for each other, so that the last one's file stays and the
 * others are closed.
 * @param {import("./files.js").Given} given
 */
export function openGiven(given) {
  const result = opening.then(() => replaceModel(given));
  opening = result.then(
    () => {},
    () => {},
  );
  return result;
}

/** @param {import("./files.js").Given} given */
async function replaceModel(given) {
  model?.dispose();
  model = undefined;
  for (const each of [rows, activations, feeds, labels]) each.clear();
  model = await openFiles(
    await library(),
    given,
    (path) => `this file needs ${path} beside it: drop both`,
  );
  return model;
}
