// The smallest and the largest value of a whole tensor, and a histogram of its values.

import type { NumberArray } from "../../base/typed-arrays.js";
import type { Core } from "../../core/core.js";
import type { Range } from "../range-search.js";
import type { TensorPasses } from "./passes.js";
import type { ValueHistogram } from "./row.js";

/** The smallest and the largest value. */
export async function rangeOf(core: Core, passes: TensorPasses): Promise<Range> {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for await (const values of passes.values()) {
    const [low, high] = minMax(core, passes.where, values);
    min = Math.min(min, low);
    max = Math.max(max, high);
  }
  return [min, max];
}

function minMax({ module, memory }: Core, where: string, values: NumberArray): Range {
  const [at, outAt] = memory.layOut(where, 4 * values.length, 8);
  try {
    memory.write("Float32Array", at, values);
    module.minMax(at, values.length, outAt);
    return [memory.readOne("Float32Array", outAt), memory.readOne("Float32Array", outAt + 4)];
  } finally {
    memory.end();
  }
}

/** Numbers of values in bins of equal width. @param range  finite */
export async function histogramOf(
  { module, memory }: Core,
  passes: TensorPasses,
  [min, max]: Range,
  bins: number,
): Promise<ValueHistogram> {
  const { where } = passes;
  const counts: number[] = new Array(bins).fill(0);
  const own = new Uint32Array(bins);
  for await (const values of passes.values()) {
    const [at, countsAt] = memory.layOut(where, 4 * values.length, 4 * bins);
    try {
      memory.write("Float32Array", at, values);
      memory.write("Uint32Array", countsAt, new Uint32Array(bins));
      // All values of a constant tensor are in the first bin.
      if (min < max) {
        module.countIntoBins(at, values.length, min, max, countsAt, bins);
        memory.read(countsAt, own);
      } else own[0] = values.length;
    } finally {
      memory.end();
    }
    for (let i = 0; i < bins; i++) counts[i] += own[i];
  }
  return { min, max, counts };
}
