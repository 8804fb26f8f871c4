// Some of the values of a tensor -> bytes of another dtype.

import { fieldOf } from "../../../base/fields.js";
import { type KeptCore, runOn } from "../../../core/init.js";
import { bytesOf, type FileDType } from "../../../formats/dtypes.js";
import { type BlockType, quantizeBlocks } from "../../../quantize/blocks.js";
import { floatsOf, tensorOf, type Values } from "../../weights/values.js";
import { encodeFloats } from "../halves.js";
import { checkScales } from "./check-scales.js";

const INTEGERS: {
  readonly [dtype: string]: { from(values: Float32Array): Int8Array | Int16Array | Int32Array };
} = { int8: Int8Array, int16: Int16Array, int32: Int32Array };

/** Names of half floats among the block types. */
const BLOCK_TYPES: { readonly [dtype: string]: BlockType } = { float16: "f16", bfloat16: "bf16" };

/**
 * Converts values: whole blocks of the new dtype, or whole rows.
 * @param importance  of the columns
 * @param out  memory for blocks, used if it is of their length
 * @throws {RangeError} `ZP_NON_FINITE` for values that are not finite, or too large for the scales of the blocks
 */
export function convertValues(
  core: KeptCore,
  values: Values,
  dtype: FileDType,
  importance: Float32Array | undefined,
  out?: Uint8Array,
): Uint8Array {
  const integers = fieldOf(INTEGERS, dtype);
  if (integers !== undefined) return new Uint8Array(integers.from(floatsOf(values)).buffer);
  if (dtype === "float32") return encodeFloats(floatsOf(values), dtype);
  const columns = importance?.length ?? values.length;
  const x = tensorOf(values, [values.length / columns, columns]);
  const type = fieldOf(BLOCK_TYPES, dtype) ?? (dtype as BlockType);
  const options = {
    ...(importance && { importance: { data: importance, shape: [importance.length] } }),
    ...(out?.length === bytesOf(dtype, values.length) && { out }),
  };
  const bytes = runOn(core("quantizeModel"), () => quantizeBlocks(x, type, options));
  checkScales(bytes, dtype);
  return bytes;
}
