// Input and bias of linear layers: checks.

import { rangeError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import type { NumberArray } from "../base/typed-arrays.js";
import { type CheckedTensor, checkTensor } from "../tensor/check.js";
import { sizeOf } from "../tensor/shape.js";
import type { FloatWeight } from "./weight.js";

export function checkBias(
  where: string,
  argument: string,
  value: unknown,
  outFeatures: number,
): NumberArray | undefined {
  if (value === undefined || value === null) return undefined;
  const { data, shape, size } = checkTensor(where, argument, value);
  if (shape.length !== 1 || size !== outFeatures) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} must have shape [${outFeatures}], one value per row of weight, ` +
        `got ${showShape(shape)}`,
    );
  }
  return data;
}

/** Rows of input. */
export type Rows = Pick<CheckedTensor, "data" | "size"> & { readonly rows: number };

/** Rows of input after their checks, and the shape of the output. */
export interface Batch extends CheckedTensor, Rows {
  readonly outShape: number[];
  readonly outSize: number;
}

/** The input as rows of inFeatures values, and the shape of the output. */
export function checkInput(
  where: string,
  value: unknown,
  { outFeatures, inFeatures }: Pick<FloatWeight, "outFeatures" | "inFeatures">,
): Batch {
  const { data, shape, size } = checkTensor(where, "input", value);
  if (shape.at(-1) !== inFeatures) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `input must have ${inFeatures} values on its last axis, as weight of shape ` +
        `${showShape([outFeatures, inFeatures])} has, got shape ${showShape(shape)}`,
    );
  }
  const leading = shape.slice(0, -1);
  const outShape = [...leading, outFeatures];
  const outSize = sizeOf(outShape);
  if (outSize >= 2 ** 32) {
    throw rangeError(
      "ZP_SIZE_OVERFLOW",
      where,
      `the result must have fewer than 2^32 values, got shape ${showShape(outShape)}`,
    );
  }
  return { data, shape, size, rows: sizeOf(leading), outShape, outSize };
}
