// Ranges narrower than that of the smallest and largest value: of least squared error, or between
// percentiles.

import { wrongKind, wrongNumber } from "../base/check.js";
import type { DType } from "../base/dtype.js";
import { checkStatus, rangeError, typeError } from "../base/errors.js";
import { checkOptions, isPlainObject } from "../base/options.js";
import { type NumberArray, setArray, subarrayOf } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import type { SlicesWithRows } from "../tensor/granularity.js";
import { type Block, blocksOf, gather, isLong } from "../tensor/slice-blocks.js";
import { TILE } from "../tensor/tiles.js";

/** The range that codes have to cover; see `ChooseQParamsOptions`. */
export type RangeChoice = "minmax" | "mse" | "hqq" | { readonly percentile: number };

/** The percentile of a range, from 50 to 100; 0 for the range of least squared error. */
type Percentile = number;

/** How qparams are searched. */
export type Search = Percentile | "hqq";

/** @returns undefined for the range of the smallest and largest value */
export function checkRange(where: string, value: unknown): Search | undefined {
  const argument = "options.range";
  if (value === undefined || value === "minmax") return undefined;
  if (value === "hqq") return value;
  if (value === "mse") return 0;
  if (!isPlainObject(value)) {
    const wanted = '"minmax", "mse", "hqq" or { percentile }';
    const error = typeof value === "string" ? rangeError : typeError;
    throw wrongKind("ZP_INVALID_OPTION", where, argument, wanted, value, error);
  }
  const { percentile } = checkOptions(where, value, ["percentile"], argument);
  if (typeof percentile === "number" && percentile >= 50 && percentile <= 100) return percentile;
  const name = `${argument}.percentile`;
  throw wrongNumber("ZP_INVALID_OPTION", where, name, "a number from 50 to 100", percentile);
}

/** The qparams that a range is searched for. */
export interface Choice {
  readonly dtype: DType;
  readonly choice: "symmetric" | "affine" | "offset";
  readonly includeZero: boolean;
}

/** Arrays of one scale for each slice, and one zero point or offset. */
export interface SearchedQParams {
  readonly scales: Float64Array | Float32Array;
  readonly zeroPoints: Int32Array | Float32Array;
}

/** Values of a slice that are searched at a time. */
const widthOf = (block: Block): number => (isLong(block) ? TILE : block.inner);

/** The parts of a block's slices, in each pass: copies one after the other to an address of the heap. */
function* partsOf(
  memory: Core["memory"],
  where: string,
  data: NumberArray,
  block: Block,
  passes: number,
  xAt: number,
): Generator<{ part: number; isFirst: boolean; isLast: boolean }, void, undefined> {
  const { start, inner } = block;
  const end = start + inner;
  const width = widthOf(block);
  for (let pass = 0; pass < passes; pass++) {
    for (let at = start; at < end; at += width) {
      const part = Math.min(width, end - at);
      gather(memory, where, data, { ...block, start: at, inner: part }, xAt);
      yield { part, isFirst: pass === 0 && at === start, isLast: at + part === end };
    }
  }
}

/**
 * Chooses the qparams of all slices by half-quadratic splitting: slices within a tile together, a longer one
 * in tiles, once for each iteration.
 * @param ranges  minimum and maximum of each slice, interleaved; finite
 */
export function searchHalfQuadratic(
  { memory, module }: Core,
  where: string,
  data: NumberArray,
  counts: SlicesWithRows,
  { dtype, choice, includeZero }: Choice,
  ranges: Float32Array,
  chosen: SearchedQParams,
): void {
  for (const block of blocksOf(counts)) {
    const { outer, slices, inner, first } = block;
    const width = widthOf(block);
    const scales = new Float64Array(slices);
    const [xAt, slicesAt, stateAt, rangesAt, scalesAt, shiftsAt] = memory.layOut(
      where,
      4 * outer * slices * width,
      4 * 4,
      module.halfQuadraticStateBytes() + 16 * slices,
      8 * slices,
      8 * slices,
      4 * slices,
    );
    try {
      memory.write("Float32Array", rangesAt, subarrayOf(ranges, 2 * first, 2 * (first + slices)));
      const passes = width < inner ? module.halfQuadraticPasses() : 1;
      for (const { part, isFirst, isLast } of partsOf(memory, where, data, block, passes, xAt)) {
        memory.write("Uint32Array", slicesAt, [outer, slices, part, 0]);
        const status = module.halfQuadratic(
          xAt,
          slicesAt,
          dtype,
          choice,
          includeZero,
          isFirst,
          isLast,
          stateAt,
          rangesAt,
          scalesAt,
          shiftsAt,
        );
        checkStatus(where, status);
      }
      memory.read(scalesAt, scales);
      setArray(chosen.scales, scales, first);
      memory.read(shiftsAt, subarrayOf(chosen.zeroPoints, first, first + slices));
    } finally {
      memory.end();
    }
  }
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
  { dtype, choice, includeZero }: Choice,
  percentile: Percentile,
  ranges: Float32Array,
): void {
  for (const block of blocksOf(counts)) {
    const { outer, slices, inner, first } = block;
    const width = widthOf(block);
    const own = subarrayOf(ranges, 2 * first, 2 * (first + slices));
    const [xAt, slicesAt, stateAt, rangesAt] = memory.layOut(
      where,
      4 * outer * slices * width,
      4 * 4,
      module.searchStateBytes(),
      8 * slices,
    );
    try {
      memory.write("Float32Array", rangesAt, own);
      const passes = width < inner && percentile > 0 ? 32 : 1;
      for (const { part, isFirst, isLast } of partsOf(memory, where, data, block, passes, xAt)) {
        memory.write("Uint32Array", slicesAt, [outer, slices, part, 0]);
        const status = module.searchRanges(
          xAt,
          slicesAt,
          dtype,
          choice,
          includeZero,
          percentile,
          isFirst,
          isLast,
          stateAt,
          rangesAt,
        );
        checkStatus(where, status);
      }
      memory.read(rangesAt, own);
    } finally {
      memory.end();
    }
  }
}
