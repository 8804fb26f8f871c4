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
  const groupSize = granularity === "perGroup" ? layout.groupSize : undefined;
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

/** How many times the room of a list is multiplied when it is full. */
const GROWTH = 1.125;

/**
 * Scales or zero points of a weight that rows are appended to, with room for more: appending copies what is appended,
 * and the whole list only when the room is used up.
 */
export class GrowingList {
  #numbers: Int32Array | Float32Array | readonly number[];
  /** Length of the list, in an array that may have room for more. */
  #length: number;
  /** Whether the array is this object's own, so that it may be written beyond the length. */
  #isOwn = false;

  constructor(numbers: NumberList) {
    this.#numbers = numbers as Int32Array;
    this.#length = numbers.length;
  }

  /** The list with others after it, which `keep` makes the list; until then nothing has changed. */
  joined(more: NumberList): Int32Array | Float32Array {
    const where = "QuantizedLinear.append";
    const length = this.#length + more.length;
    const own = this.#numbers;
    const hasRoom = this.#isOwn && own.length >= length;
    const Type: typeof Int32Array | typeof Float32Array =
      own instanceof Int32Array ? Int32Array : Float32Array;
    const all = hasRoom
      ? (own as Float32Array)
      : newArray<Int32Array | Float32Array>(where, Type, Math.ceil(length * GROWTH));
    if (!hasRoom) setArray(all, this.#list(), 0);
    setArray(all, more as NumberArray, this.#length);
    return subarrayOf(all, 0, length);
  }

  /** Keeps a result of `joined`. */
  keep(joined: Int32Array | Float32Array): void {
    const { buffer } = joined;
    const room = buffer.byteLength / joined.BYTES_PER_ELEMENT;
    this.#numbers =
      joined instanceof Int32Array
        ? new Int32Array(buffer, 0, room)
        : new Float32Array(buffer, 0, room);
    this.#length = joined.length;
    this.#isOwn = true;
  }

  #list(): NumberArray {
    const numbers = this.#numbers;
    return (
      Array.isArray(numbers) ? numbers : subarrayOf(numbers as Float32Array, 0, this.#length)
    ) as NumberArray;
  }
}
