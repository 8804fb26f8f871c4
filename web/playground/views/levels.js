// The codes in use, and the real number of each code.

import { sliceOf } from "./geometry.js";

/** @typedef {import("../worker/evaluate.js").Evaluation} Evaluation */

/**
 * The least and the greatest code in use. With the dtype's limits instead, colours would hardly differ.
 * @param {ArrayLike<number>} codes
 * @param {{ qmin: number, qmax: number }} limits
 */
export function usedCodes(codes, { qmin, qmax }) {
  let [least, greatest] = [qmax, qmin];
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] < least) least = codes[i];
    if (codes[i] > greatest) greatest = codes[i];
  }
  return { least, greatest };
}

/**
 * The real number of each code, for the slice of an element.
 * @param {Evaluation} evaluation
 * @param {{ qmin: number, qmax: number }} limits
 * @param {number} element
 */
export function levelsOf({ scales, zeroPoints, isOffset, slices }, { qmin, qmax }, element) {
  const slice = sliceOf(slices, element);
  const scale = scales[slice] ?? scales[0];
  const zero = zeroPoints[slice] ?? zeroPoints[0] ?? 0;
  return Array.from({ length: qmax - qmin + 1 }, (_, i) =>
    isOffset ? scale * (qmin + i) + zero : scale * (qmin + i - zero),
  );
}
