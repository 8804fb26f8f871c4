// The opened model, the rows of its analysis and the inputs of its layers, which all commands share.

import { openModel } from "zeropoint/models";

/** @type {import("zeropoint/models").Model | undefined} */
let model;

/** Rows of the analysis by tensor. @type {Map<string, any[]>} */
export const rows = new Map();

/** Inputs of weights by their names, as analyze takes them. @type {Map<string, any>} */
export const activations = new Map();

/** Inputs for running an ONNX model, by name. @type {Map<string, { dtype: any, shape: readonly number[], data: ArrayBufferView }>} */
export const feeds = new Map();

/** @returns {import("zeropoint/models").Model} */
export function opened() {
  if (!model) throw new Error("no model is open");
  return model;
}

let opening = Promise.resolve();

/**
 * Opens a file in the place of the one before. Calls wait for each other, so that the last one's file stays and the
 * others are closed.
 * @param {File[]} given
 */
export function openGiven(given) {
  const result = opening.then(() => replaceModel(given));
  opening = result.then(
    () => {},
    () => {},
  );
  return result;
}

/** @param {File[]} given */
async function replaceModel(given) {
  await model?.close();
  model = undefined;
  for (const each of [rows, activations, feeds]) each.clear();
  model = await openFiles(given, (path) => `this file needs ${path} beside it: drop both`);
  return model;
}

/**
 * Opens the file that names the others.
 * @param {File[]} given
 * @param {(path: string) => string} missing  the message for a file that is not there
 */
export function openFiles(given, missing) {
  return openModel(mainOf(given), {
    externalData: (path) => {
      const name = path.split("/").at(-1);
      const found = given.find((file) => file.name === name);
      if (!found) throw new Error(missing(path));
      return found;
    },
  });
}

/** The file that names the others, or the first of several numbered ones. @param {File[]} given */
export function mainOf(given) {
  const inOrder = [...given].sort((a, b) => (a.name < b.name ? -1 : 1));
  const order = [/\.index\.json$/, /^model\.json$/, /\.onnx$/, /\.(safetensors|gguf|npz|npy)$/];
  for (const pattern of order) {
    const found = inOrder.find(({ name }) => pattern.test(name));
    if (found) return found;
  }
  return given[0];
}
