// The tensors of a quantized weight, as numbers.

import { decodeValues } from "../../dtypes.js";
import { misfit, type StoredPart, type ValueDType } from "../unpack.js";

export const textOf = (shape: readonly number[]): string => `[${shape.join(", ")}]`;

export const sizeOf = (shape: readonly number[]): number =>
  shape.reduce((size, length) => size * length, 1);

export function floats(part: StoredPart): Float32Array {
  return decodeValues(part.dtype, part.bytes, new Float32Array(sizeOf(part.shape)));
}

export function words(part: StoredPart): Uint32Array {
  const { dtype, bytes } = part;
  if (dtype === "int32" || dtype === "uint32") return new Uint32Array(bytes.slice().buffer);
  throw misfit(part, "words of 32 bits", dtype);
}

export const valueDtype = (scale: StoredPart): ValueDType => {
  const { dtype } = scale;
  if (dtype === "float32" || dtype === "float16" || dtype === "bfloat16") return dtype;
  throw misfit(scale, "scales of float32, float16 or bfloat16", dtype);
};

/**
 * The group of each input. Negative ones count from the last group, as in GPTQ's kernels; compressed-tensors has them for a
 * group index that is not set, and takes none.
 */
export function groupIndexOf(
  part: StoredPart | undefined,
  inputs: number,
  groups: number,
  counts: "from the end" | "or none",
): { groupIndex?: Int32Array } {
  if (part === undefined) return {};
  if (part.dtype !== "int32" || sizeOf(part.shape) !== inputs) {
    throw misfit(part, `int32 [${inputs}]`, `${part.dtype} ${textOf(part.shape)}`);
  }
  const given = new Int32Array(part.bytes.slice().buffer);
  const isNone = counts === "or none" && given.some((group) => group < 0);
  const least = isNone ? -Infinity : -groups;
  const outside = given.find((group) => group >= groups || group < least);
  if (outside !== undefined) throw misfit(part, `groups below ${groups}`, outside);
  return isNone ? {} : { groupIndex: given.map((group) => (group < 0 ? group + groups : group)) };
}
