// compressed-tensors: packed codes, and plain int8 with a scale.
// Source: compressed-tensors 0.18 and the packing before 0.17.

import {
  misfit,
  type QuantizedValues,
  type StoredPart,
  type StoredParts,
  transpose,
  unpackDense,
  unpackWithinWords,
} from "../unpack.js";
import type { QuantizationConfig } from "./config.js";
import { rowsOf, scaleBlockOf } from "./floats.js";
import { floats, groupIndexOf, sizeOf, textOf, valueDtype, words } from "./parts.js";

/**
 * Bits of compressed-tensors' packed codes, and whether they are packed as before 0.17.
 * @returns undefined if the columns do not fit in this width
 */
export function packingOf(
  width: number,
  columns: number,
  config: QuantizationConfig | undefined,
): { readonly bits: number; readonly isOld: boolean } | undefined {
  const fits = (each: number) => width === Math.ceil((columns * each) / 32);
  const fitsOld = (each: number) => width === Math.ceil(columns / Math.floor(32 / each));
  const packingIn = (candidates: readonly number[]) => {
    const dense = candidates.find(fits);
    const old = candidates.find(fitsOld);
    if (columns < 0 || (dense === undefined && old === undefined)) return undefined;
    // Where both packings have this width, the version of the writer decides.
    const isOld = old !== undefined && (dense === undefined || config?.isOldPacking === true);
    return { bits: (isOld ? old : dense) as number, isOld };
  };
  const known = (config?.bits ?? []).filter((each) => each >= 1 && each <= 8);
  // The width decides where it is of none of the configuration's bits.
  return packingIn(known) ?? packingIn([4, 8, 2, 1, 3, 5, 6, 7]);
}

/** The lengths that weight_shape holds, of int64 or, as some writers have it, int32. */
export function lengthsOf(part: StoredPart): number[] {
  const buffer = part.bytes.slice().buffer;
  if (part.dtype === "int64") return Array.from(new BigInt64Array(buffer), Number);
  if (part.dtype === "int32") return Array.from(new Int32Array(buffer));
  throw misfit(part, "int64 or int32", part.dtype);
}

/** Unpacks rows, packed or plain. */
export function unpackRows(
  { packed, codes: plain, scale, shape: given, zeroPoint, groupIndex }: StoredParts,
  config: QuantizationConfig | undefined,
): QuantizedValues {
  let shape: readonly number[];
  let codes: Int8Array;
  let unpack = unpackDense;
  let bits = 8;
  if (packed === undefined) {
    shape = plain.shape;
    codes = new Int8Array(plain.bytes.slice().buffer);
  } else {
    shape = lengthsOf(given);
    const [rows, columns] = shape;
    if (shape.length !== 2 || !shape.every(Number.isSafeInteger) || rows !== packed.shape[0]) {
      throw misfit(given, `the shape of codes in words ${textOf(packed.shape)}`, textOf(shape));
    }
    const packing = packingOf(packed.shape[1], columns, config);
    if (packing === undefined) {
      throw misfit(packed, `words of ${columns} codes a row`, textOf(packed.shape));
    }
    bits = packing.bits;
    if (packing.isOld) unpack = unpackWithinWords;
    const half = 2 ** (bits - 1);
    const unsigned = unpack(words(packed), rows, columns, bits);
    codes = new Int8Array(unsigned.buffer);
    for (let i = 0; i < codes.length; i++) codes[i] = unsigned[i] - half;
  }
  const [rows, columns] = shape;
  const size = sizeOf(scale.shape);
  const groups = scale.shape[1] ?? 1;
  const block = packed === undefined ? scaleBlockOf(shape, scale.shape, config) : undefined;
  const isBlock = block !== undefined && block.rows > 1 && size !== 1;
  const granularity = size === 1 && rows !== 1 ? "tensor" : groups === 1 ? "channel" : "group";
  const isFit = block !== undefined || (size === rows * groups && columns % groups === 0);
  if (granularity !== "tensor" && !isFit) {
    throw misfit(scale, `scales of ${textOf(shape)}`, textOf(scale.shape));
  }
  const groupSize = block?.columns ?? columns / groups;
  const result = {
    codes,
    shape: [rows, columns] as const,
    isTransposed: false,
    granularity,
    groupSize: granularity === "group" ? groupSize : columns,
    scale: isBlock ? rowsOf(floats(scale), rows, groups, block) : floats(scale),
    scaleShape: isBlock ? [rows, groups] : scale.shape,
    valueDtype: valueDtype(scale),
  } as const;
  if (isBlock && zeroPoint !== undefined) {
    throw misfit(zeroPoint, "missing beside scales of blocks", textOf(zeroPoint.shape));
  }
  return {
    ...result,
    ...zeroPointOf(zeroPoint, rows, groups, bits, unpack, scale.shape),
    ...groupIndexOf(groupIndex, columns, groups, "or none"),
  };
}

function zeroPointOf(
  part: StoredPart | undefined,
  rows: number,
  groups: number,
  bits: number,
  unpack: typeof unpackDense,
  scaleShape: readonly number[],
): { zeroPoint?: Int32Array } {
  if (part === undefined) return {};
  if (part.dtype === "int8") {
    if (textOf(part.shape) !== textOf(scaleShape)) {
      throw misfit(part, `zero points of scales ${textOf(scaleShape)}`, textOf(part.shape));
    }
    return { zeroPoint: Int32Array.from(new Int8Array(part.bytes.slice().buffer)) };
  }
  // Packed along rows: each column of words is a stream of its own.
  const [height, width] = part.shape;
  const least = unpack === unpackDense ? (rows * bits) / 32 : rows / Math.floor(32 / bits);
  if (part.dtype !== "int32" || width !== groups || height !== Math.ceil(least)) {
    const expected = `int32 words of zero points of ${rows} rows of ${groups} groups`;
    throw misfit(part, expected, `${part.dtype} ${textOf(part.shape)}`);
  }
  const columns = transpose(words(part), height, width);
  const codes = transpose(unpack(columns, groups, rows, bits), groups, rows);
  return { zeroPoint: Int32Array.from(codes, (code) => code - 2 ** (bits - 1)) };
}
