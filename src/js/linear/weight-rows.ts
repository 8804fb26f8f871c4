// Rows of weights on their way into packed weights: codes as they are, and codes of float weights, quantized
// a tile at a time, so that no array holds all of them.

import { DTYPES } from "../base/dtype.js";
import {
  checkStillThere,
  codesArray,
  type NumberArray,
  newArray,
  setArray,
  subarrayOf,
} from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { applyQParams } from "../quantize/apply-qparams.js";
import type { CheckedMeta } from "../quantize/check.js";
import type { ScaleAndZeroPoint } from "../quantize/quantized-tensor.js";
import type { CheckedTensor } from "../tensor/check.js";
import { checkSlices, laidOut } from "../tensor/granularity.js";
import type { MainModule } from "../wasm/baseline.js";
import { type NumberList, type WeightCodes, type WeightLayout, weightLayout } from "./weight.js";

/** A weight that is read row by row. */
export interface WeightRows extends WeightLayout {
  /** The codes of `count` rows from `first` on, one per byte; valid until the next call. */
  readonly rows: (first: number, count: number) => NumberArray;
}

/**
 * The addends of a packed weight's codes: none if all zero points are the code that is packed as 0, which is
 * 0 of signed codes, and of unsigned ones half the range of the 2, 4 or 8 bits that they take.
 */
export function shiftOf({ dtype, zeroPoints, hasOffsets }: WeightLayout): WeightShift {
  if (hasOffsets) return "offsets";
  const { qmin, bits } = DTYPES[dtype];
  const center = qmin < 0 ? 0 : bits > 4 ? 128 : bits > 2 ? 8 : 2;
  for (let i = 0; i < zeroPoints.length; i++) if (zeroPoints[i] !== center) return "zeroPoints";
  return "none";
}

export type WeightShift = Parameters<MainModule["beginWeight"]>[5];

/** Whether all outputs share their scales. */
export const isShared = ({ granularity }: WeightLayout): boolean =>
  granularity === "perTensor" || granularity === "perInput";

/** The scales or zero points of `count` rows from `first` on. */
export function partOf<T extends NumberList>(
  weight: WeightLayout,
  numbers: T,
  first: number,
  count: number,
): T {
  if (isShared(weight) || weight.outFeatures === count) return numbers;
  const perRow = numbers.length / weight.outFeatures;
  const [start, end] = [first * perRow, (first + count) * perRow];
  return (
    Array.isArray(numbers)
      ? numbers.slice(start, end)
      : subarrayOf(numbers as NumberArray, start, end)
  ) as T;
}

/** The codes of a quantized weight, row by row. */
export function rowsOfCodes(where: string, weight: WeightCodes): WeightRows {
  const { codes, outFeatures, inFeatures } = weight;
  const rows = (first: number, count: number) => {
    checkStillThere(where, codes, outFeatures * inFeatures);
    return subarrayOf(codes, first * inFeatures, (first + count) * inFeatures);
  };
  return { ...weight, rows };
}

/** Quantizes rows of a float weight into an array. */
export type QuantizeRows = (x: CheckedTensor, first: number, out: Int8Array | Uint8Array) => void;

/** The codes of a float weight, row by row. All tiles use the same array. */
export function rowsOfFloats(
  where: string,
  x: CheckedTensor,
  layout: WeightLayout,
  quantizeRows: QuantizeRows,
): WeightRows {
  const { dtype, inFeatures } = layout;
  let tile = newArray(where, codesArray(dtype), 0) as Int8Array | Uint8Array;
  const rows = (first: number, count: number) => {
    const size = count * inFeatures;
    if (tile.length < size) tile = newArray(where, codesArray(dtype), size) as typeof tile;
    checkStillThere(where, x.data, x.size);
    const data = subarrayOf(x.data, first * inFeatures, first * inFeatures + size);
    const out = subarrayOf(tile, 0, size);
    quantizeRows({ data, shape: [count, inFeatures], size }, first, out);
    return out;
  };
  return { ...layout, rows };
}

/** The codes of a float weight that is quantized as by `quantize`, with given qparams. */
export function quantizedRows(
  core: Core,
  where: string,
  x: CheckedTensor,
  checked: CheckedMeta,
): WeightRows {
  const layout = weightLayout(where, checked);
  const { granularity, dtype, scales, zeroPoints, hasOffsets } = layout;
  const { groupSize } = checked.slices;
  const axis = granularity === "perOutput" ? 0 : granularity === "perInput" ? 1 : undefined;
  return rowsOfFloats(where, x, layout, (part, first, out) => {
    const laid = laidOut(checkSlices(where, "options", part.shape, axis, groupSize));
    const [scale, zeroPoint] = [scales, zeroPoints].map((numbers) => ({
      data: partOf(layout, numbers, first, part.shape[0]),
      shape: laid.viewQShape,
    }));
    const own =
      granularity === "perTensor"
        ? { scale: scales[0], zeroPoint: zeroPoints[0] }
        : ({ scale, zeroPoint } as ScaleAndZeroPoint);
    const qparams = { ...own, ...laid, hasOffsets };
    applyQParams(
      core,
      where,
      "quantize",
      "Float32Array",
      part.data,
      part.size,
      qparams,
      dtype,
      out,
    );
  });
}

/** Two lists, one after the other; scales and zero points that outputs share stay as they are. */
export function joined(weight: WeightLayout, numbers: NumberList, more: NumberList): NumberList {
  if (isShared(weight)) return numbers;
  const Type = numbers instanceof Int32Array ? Int32Array : Float32Array;
  const all = newArray<Int32Array | Float32Array>(
    "QuantizedLinear.append",
    Type,
    numbers.length + more.length,
  );
  setArray(all, numbers as NumberArray, 0);
  setArray(all, more as NumberArray, numbers.length);
  return all;
}
