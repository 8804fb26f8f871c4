// The values of any tensor, dequantized: their range and a histogram.

import { library } from "../../shell/library.js";
import { escapeGlob } from "../names.js";
import { opened } from "./opened.js";

/** Tensors of more values are read in parts: 64 MB in float32. */
const LARGEST_READ = 2 ** 24;
const BINS = 120;

/**
 * @typedef {import("../show/drawer.js").Histogram} Histogram  min and max: of all values, NaN left out
 */

/**
 * The histogram of a tensor.
 * @param {string} name
 * @returns {Promise<Histogram>}
 */
export async function valuesOf(name) {
  const { shape } = /** @type {any} */ ((await opened().tensors).get(name));
  const size = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  return size <= LARGEST_READ ? await histogramOf(await opened().read(name)) : await inParts(name);
}

/** That of a large weight, which an analysis reads row by row. @param {string} name */
async function inParts(name) {
  const zp = await library();
  const options = { schemes: ["float16"], include: [escapeGlob(name)], histogram: BINS };
  for await (const row of zp.analyze(opened(), options)) {
    if (row.name === name && row.histogram) return row.histogram;
  }
  throw new Error(`${name} is too large to be read at once, and no weight that is read in parts`);
}

/** @param {import("zeropoint").Tensor} x */
export async function histogramOf(x) {
  const zp = await library();
  const observer = await zp.histogramObserver({ bins: BINS });
  await observer.observe(x);
  const { histogram, minVal, maxVal } = observer;
  const [counts, min, max] = await Promise.all([histogram, minVal, maxVal]);
  observer.dispose();
  return { counts: [...counts.data], min: min.data[0], max: max.data[0] };
}
