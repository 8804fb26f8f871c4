// Ranges narrower than that of the smallest and largest value: of least squared error, or between
// percentiles.

import { wrongKind, wrongNumber } from "../base/check.js";
import { checkStatus } from "../base/errors.js";
import { checkOptions, isPlainObject } from "../base/options.js";
import { type NumberArray, subarrayOf } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import type { SlicesWithRows } from "../tensor/granularity.js";
import { blocksOf, gather, isLong } from "../tensor/slice-blocks.js";
import { TILE } from "../tensor/tiles.js";
import type { Purpose } from "./quantized-tensor.js";

/** The range that codes have to cover; see `ChooseQParamsOptions`. */
export type RangeChoice = "minmax" | "mse" | { readonly percentile: number };

/** The percentile of a range, from 50 to 100; 0 for the range of least squared error. */
type Percentile = number;

/** @returns undefined for the range of the smallest and largest value */
export function checkRange(where: string, value: unknown): Percentile | undefined {
  const argument = "options.range";
  if (value === undefined || value === "minmax") return undefined;
  if (value === "mse") return 0;
  if (!isPlainObject(value)) {
    const wanted = '"minmax", "mse" or { percentile }';
    throw wrongKind("ZP_INVALID_OPTION", where, argument, wanted, value);
  }
  const { percentile } = checkOptions(where, value, ["percentile"], argument);
  if (typeof percentile === "number" && percentile >= 50 && percentile <= 100) return percentile;
  const name = `${argument}.percentile`;
  throw wrongNumber("ZP_INVALID_OPTION", where, name, "a number from 50 to 100", percentile);
}

/**
 * Narrows the ranges of all slices, in place: slices within a tile together, a longer one in tiles, and
 * in 32 passes if each finds one bit of a percentile.
 * @param ranges  minimum and maximum of each slice, interleaved
 */
export function searchRanges(
  { memory, module }: Core,
  where: string,
  data: NumberArray,
  counts: SlicesWithRows,
  {
    dtype,
    scheme,
    includeZero,
  }: Pick<Purpose, "dtype" | "scheme"> & { readonly includeZero: boolean },
  percentile: Percentile,
  ranges: Float32Array,
): void {
  for (const block of blocksOf(counts)) {
    const { outer, slices, inner, first, start } = block;
    const end = start + inner;
    const width = isLong(block) ? TILE : inner;
    const own = subarrayOf(ranges, 2 * first, 2 * (first + slices));
    const [xAt, stateAt, rangesAt] = memory.layOut(
      where,
      4 * outer * slices * width,
      module.searchStateBytes(),
      8 * slices,
    );
    try {
      memory.write("Float32Array", rangesAt, own);
      const passes = width < inner && percentile > 0 ? 32 : 1;
      for (let pass = 0; pass < passes; pass++) {
        for (let at = start; at < end; at += width) {
          const part = Math.min(width, end - at);
          gather(memory, where, data, { ...block, start: at, inner: part }, xAt);
          const status = module.searchRanges(
            xAt,
            outer,
            slices,
            part,
            dtype,
            scheme,
            includeZero,
            percentile,
            pass === 0 && at === start,
            at + part === end,
            stateAt,
            rangesAt,
          );
          checkStatus(where, status);
        }
      }
      memory.read(rangesAt, own);
    } finally {
      memory.end();
    }
  }
}
