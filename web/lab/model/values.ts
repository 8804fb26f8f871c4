// The values of any tensor, dequantized: their range and a histogram.

import type { Tensor } from "zeropoint";
import { library } from "../../shell/library.js";
import { escapeGlob } from "../names.js";
import type { Histogram } from "./detail.js";
import { opened } from "./opened.js";

/** Tensors of more values are read in parts: 64 MB in float32. */
const LARGEST_READ = 2 ** 24;
const BINS = 120;

/** The histogram of a tensor, and the range of all its values; NaN is left out. */
export async function valuesOf(name: string): Promise<Histogram> {
  const { shape } = (await opened().tensors).get(name) as any;
  const size = shape.reduce((a: number, b: number) => a * b, 1);
  return size <= LARGEST_READ ? await histogramOf(await opened().read(name)) : await inParts(name);
}

/** That of a large weight, which an analysis reads row by row. */
async function inParts(name: string) {
  const zp = await library();
  const options = { schemes: ["float16"], include: [escapeGlob(name)], histogram: BINS };
  for await (const row of zp.analyze(opened(), options)) {
    if (row.name === name && row.histogram) return row.histogram;
  }
  throw new Error(`${name} is too large to be read at once, and no weight that is read in parts`);
}

export async function histogramOf(x: Tensor) {
  const zp = await library();
  const observer = await zp.histogramObserver({ bins: BINS });
  await observer.observe(x);
  const { histogram, minVal, maxVal } = observer;
  const [counts, min, max] = await Promise.all([histogram, minVal, maxVal]);
  observer.dispose();
  return { counts: [...counts.data], min: min.data[0], max: max.data[0] };
}
