// Codes with scales along one axis: the form that quantized tensors of all layouts are brought to.

import { fieldOf } from "../../base/fields.js";
import { decodeValues, type FileDType } from "../dtypes.js";
import { type QuantizedValues, roundTo, type ValueDType } from "./unpack.js";

/** Arrays of unpacked codes. */
export type CodeArray = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array;

/** Unpacked codes, and how to make values of them. */
export interface ScaledCodes<Codes = CodeArray> {
  /** Row-major, one element a code. */
  readonly codes: Codes;
  readonly shape: readonly number[];
  /** The axis along which scales change; undefined: one scale for all. */
  readonly axis: number | undefined;
  /**
   * Indices of the axis that share a scale, which is then of the shape with `axis` divided by it, rounded up.
   * Undefined: one scale for each index of the axis.
   */
  readonly blockSize: number | undefined;
  /** The block of each index of the axis, where blocks are not runs of neighbours. */
  readonly blockIndex?: Int32Array | undefined;
  readonly scale: Float32Array;
  /** value = scale * (code - zeroPoint); of the scale's length. Default: 0. */
  readonly zeroPoint?: Int32Array | Float32Array | undefined;
  /** value = scale * code + offset; of the scale's length. Instead of a zero point. */
  readonly offset?: Float32Array | undefined;
  /** The type that values are rounded to. */
  readonly valueDtype: ValueDType;
}

/** The integers in the bytes of a tensor. @returns undefined for other dtypes than integers below 64 bits */
export function integersOf(
  dtype: FileDType,
  bytes: Uint8Array,
  count: number,
): CodeArray | undefined {
  const { buffer } = bytes.slice();
  switch (dtype) {
    case "int8":
      return new Int8Array(buffer, 0, count);
    case "uint8":
      return new Uint8Array(buffer, 0, count);
    case "int16":
      return new Int16Array(buffer, 0, count);
    case "uint16":
      return new Uint16Array(buffer, 0, count);
    case "int32":
      return new Int32Array(buffer, 0, count);
    case "int4":
    case "int2":
      return Int8Array.from(decodeValues(dtype, bytes, new Float32Array(count)));
    case "uint4":
    case "uint2":
      return Uint8Array.from(decodeValues(dtype, bytes, new Float32Array(count)));
    default:
      return undefined;
  }
}

/** Sizes of a shape around an axis, and the number of blocks along it. */
function around({
  shape,
  axis,
  blockSize,
}: ScaledCodes<unknown>): [outer: number, length: number, inner: number, blocks: number] {
  const product = (lengths: readonly number[]): number => lengths.reduce((a, b) => a * b, 1);
  if (axis === undefined) return [1, 1, product(shape), 1];
  const length = shape[axis];
  const blocks = Math.ceil(length / (blockSize ?? 1));
  return [product(shape.slice(0, axis)), length, product(shape.slice(axis + 1)), blocks];
}

/** The number of scales that codes need. */
export function scaleCount(q: Omit<ScaledCodes, "codes" | "scale" | "valueDtype">): number {
  const [outer, , inner, blocks] = around(q as ScaledCodes);
  return q.axis === undefined ? 1 : q.blockSize === undefined ? blocks : outer * blocks * inner;
}

/** Calls visit(position of the code, position of its scale) for all codes, in order. */
export function eachCode(
  q: ScaledCodes<CodeArray | Float32Array>,
  visit: (at: number, scaleAt: number) => void,
): void {
  const [outer, length, inner, blocks] = around(q);
  const { axis, blockSize } = q;
  const blockIndex = fieldOf(q, "blockIndex");
  for (let o = 0, at = 0; o < outer; o++) {
    for (let a = 0; a < length; a++) {
      const block = blockIndex?.[a] ?? Math.floor(a / (blockSize ?? 1));
      for (let i = 0; i < inner; i++, at++) {
        const scaleAt =
          axis === undefined ? 0 : blockSize === undefined ? a : (o * blocks + block) * inner + i;
        visit(at, scaleAt);
      }
    }
  }
}

/**
 * The values of codes: code - zero point, times the scale, plus the offset, each rounded to float32, then to the type.
 * Codes of float8 and float4 are given as their values.
 */
export function dequantizeScaled(q: ScaledCodes<CodeArray | Float32Array>): Float32Array {
  const { codes, scale, valueDtype } = q;
  const [zeroPoint, offset] = [fieldOf(q, "zeroPoint"), fieldOf(q, "offset")];
  const values = new Float32Array(codes.length);
  eachCode(q, (at, s) => {
    const product = Math.fround(codes[at] - (zeroPoint?.[s] ?? 0)) * scale[s];
    const value = offset === undefined ? product : Math.fround(product) + offset[s];
    values[at] = roundTo(valueDtype, value);
  });
  return values;
}

/** A matrix of integer codes of a checkpoint as codes with scales. */
export function scaledOf(q: QuantizedValues & { readonly codes: CodeArray }): ScaledCodes {
  const { codes, shape, granularity, scale, valueDtype } = q;
  const [zeroPoint, offset] = [fieldOf(q, "zeroPoint"), fieldOf(q, "offset")];
  const isGroup = granularity === "group";
  const axis = granularity === "tensor" ? undefined : isGroup && !q.isTransposed ? 1 : 0;
  const blockSize = isGroup ? q.groupSize : undefined;
  const own = { codes, shape, axis, blockSize, scale, zeroPoint, offset, valueDtype };
  const groupIndex = fieldOf(q, "groupIndex");
  const isPlain = groupIndex?.every((group, i) => group === Math.floor(i / q.groupSize)) ?? true;
  return isPlain ? own : { ...own, blockIndex: groupIndex };
}
