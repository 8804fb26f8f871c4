// A corner of a weight and its scheme as a link to the playground.

import { writeLink } from "../../playground/link.js";
import { DEFAULTS } from "../../playground/state.js";

/**
 * @param {{ shape: number[], values: Float32Array[], options: any }} corner  options: those of quantize, or undefined
 *   for a block type
 * @param {string} scheme
 * @returns {Promise<string>} the part of the link after the address of the page
 */
export async function playLink({ shape, values, options }, scheme) {
  const flat = new Float32Array(shape[0] * shape[1]);
  for (const [i, row] of values.entries()) flat.set(row, i * shape[1]);
  const source = /** @type {const} */ ({ kind: "given", name: "a layer", shape, values: flat });
  const { hash } = await writeLink({ settings: settingsOf(scheme, options), source });
  return hash;
}

/**
 * @param {string} scheme
 * @param {any} options
 * @returns {import("../../playground/state.js").Settings}
 */
function settingsOf(scheme, options) {
  if (!options) return { ...DEFAULTS, scheme };
  const { dtype, scheme: kind, axis, groupSize, range } = options;
  return {
    ...DEFAULTS,
    scheme: kind,
    bits: Number(dtype.replace(/\D/g, "")),
    isUnsigned: dtype.startsWith("u"),
    ...(axis !== undefined && { granularity: "channel", axis }),
    ...(groupSize !== undefined && { granularity: "group", groupSize }),
    ...(range === "mse" && { range }),
  };
}
