// The qparams of a slice that arrives in parts: the range of least squared error, and half-quadratic splitting.
// The same bits as from quantize, which has the whole slice.

import { checkStatus } from "../base/errors.js";
import type { NumberArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import type { LinearScheme } from "./scheme.js";

/** A range; {NaN, NaN} if a value is NaN. */
export type Range = readonly [min: number, max: number];

/** Values that share a scale, in parts that begin at multiples of 4. */
export interface Slice {
  readonly length: number;
  /** The values from front to back, each part valid until the next one is asked for. */
  parts(): AsyncIterable<NumberArray>;
}

/** Narrows a finite range to that of least squared error. */
export async function searchRange(
  { module, memory }: Core,
  where: string,
  { dtype, isAffine }: Pick<LinearScheme, "dtype" | "isAffine">,
  slice: Slice,
  range: Range,
): Promise<Range> {
  const state = new Uint8Array(module.searchStateBytes());
  const found = Float32Array.of(...range);
  let left = slice.length;
  for await (const values of slice.parts()) {
    const isFirst = left === slice.length;
    left -= values.length;
    const [at, slicesAt, stateAt, rangeAt] = memory.layOut(
      ...([where, 4 * values.length, 4 * 4, state.length, 8] as const),
    );
    try {
      memory.write("Float32Array", at, values);
      memory.write("Uint8Array", stateAt, state);
      memory.write("Float32Array", rangeAt, found);
      memory.write("Uint32Array", slicesAt, [1, 1, values.length, 0]);
      const status = module.searchRanges(
        ...([at, slicesAt, dtype, isAffine ? "affine" : "symmetric", true, 0] as const),
        ...([isFirst, left === 0, stateAt, rangeAt] as const),
      );
      checkStatus(where, status);
      memory.read(stateAt, state);
      memory.read(rangeAt, found);
    } finally {
      memory.end();
    }
  }
  return [found[0], found[1]];
}

/**
 * Chooses a scale and a zero point by half-quadratic splitting, in one pass for each iteration; in one pass over a
 * slice of a single part.
 * @param range  finite
 * @param float  choose a real offset instead of a zero point
 */
export async function searchHalfQuadratic(
  { module, memory }: Core,
  where: string,
  { dtype, isAffine }: Pick<LinearScheme, "dtype" | "isAffine">,
  slice: Slice,
  range: Range,
  float?: "float",
): Promise<{ readonly scale: number; readonly zero: number }> {
  const choice = float ? "offset" : isAffine ? "affine" : "symmetric";
  const state = new Uint8Array(module.halfQuadraticStateBytes());
  const ends = Float32Array.of(...range);
  let scale = 0;
  let zero = 0;
  const passes = module.halfQuadraticPasses();
  for (let pass = 0; pass < passes; pass++) {
    let left = slice.length;
    for await (const values of slice.parts()) {
      const isFirst = pass === 0 && left === slice.length;
      left -= values.length;
      // The core runs all iterations on a slice that it has as a whole.
      if (isFirst && left === 0) pass = passes;
      const [at, slicesAt, stateAt, rangeAt, scaleAt, zeroAt] = memory.layOut(
        ...([where, 4 * values.length, 4 * 4, state.length, 8, 8, 4] as const),
      );
      try {
        memory.write("Float32Array", at, values);
        memory.write("Uint8Array", stateAt, state);
        memory.write("Float32Array", rangeAt, ends);
        memory.write("Uint32Array", slicesAt, [1, 1, values.length, 0]);
        const status = module.halfQuadratic(
          ...([at, slicesAt, dtype, choice, true] as const),
          ...([isFirst, left === 0, stateAt, rangeAt, scaleAt, zeroAt] as const),
        );
        checkStatus(where, status);
        memory.read(stateAt, state);
        scale = memory.readOne("Float64Array", scaleAt);
        zero = memory.readOne(float ? "Float32Array" : "Int32Array", zeroAt);
      } finally {
        memory.end();
      }
    }
  }
  return { scale, zero };
}
