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

/** The group of each input; none if there is a negative one among them. */
export function groupIndexOf(
  part: StoredPart | undefined,
  inputs: number,
  groups: number,
): { groupIndex?: Int32Array } {
  if (part === undefined) return {};
  if (part.dtype !== "int32" || sizeOf(part.shape) !== inputs) {
    throw misfit(part, `int32 [${inputs}]`, `${part.dtype} ${textOf(part.shape)}`);
  }
  const groupIndex = new Int32Array(part.bytes.slice().buffer);
  const tooLarge = groupIndex.find((group) => group >= groups);
  if (tooLarge !== undefined) throw misfit(part, `groups below ${groups}`, tooLarge);
  return groupIndex.some((group) => group < 0) ? {} : { groupIndex };
}
