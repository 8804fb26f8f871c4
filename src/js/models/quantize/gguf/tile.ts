// The values of one tile, from one dtype to another.

import { fieldOf } from "../../../base/fields.js";
import { type KeptCore, runOn } from "../../../core/init.js";
import type { FileDType } from "../../../formats/dtypes.js";
import { type BlockType, quantizeBlocks } from "../../../quantize/blocks.js";
import type { TensorInput } from "../../../tensor/check.js";
import { decodeTile } from "../../open/values.js";
import { checkScales } from "./check-scales.js";

const INTEGERS: {
  readonly [dtype: string]: { from(values: Float32Array): Int8Array | Int16Array | Int32Array };
} = { int8: Int8Array, int16: Int16Array, int32: Int32Array };

/** Names of half floats among the block types. */
const BLOCK_TYPES: { readonly [dtype: string]: BlockType } = { float16: "f16", bfloat16: "bf16" };

/** A tile as it is stored. */
export interface StoredTile {
  readonly bytes: Uint8Array;
  readonly dtype: FileDType;
  /** Its number of values. */
  readonly count: number;
}

/**
 * Converts a tile: whole blocks of the new dtype, or whole rows.
 * @param importance  of the columns
 * @throws {RangeError} `ZP_NON_FINITE` for values that are not finite, or too large for the scales of the blocks
 */
export function convertTile(
  core: KeptCore,
  stored: StoredTile,
  dtype: FileDType,
  importance: Float32Array | undefined,
): Uint8Array {
  const integers = fieldOf(INTEGERS, dtype);
  if (integers !== undefined) return new Uint8Array(integers.from(valuesOf(core, stored)).buffer);
  if (dtype === "float32") return new Uint8Array(valuesOf(core, stored).buffer);
  const x = tensorOf(core, stored, importance?.length ?? stored.count);
  const weights = importance && { importance: { data: importance, shape: [importance.length] } };
  const type = fieldOf(BLOCK_TYPES, dtype) ?? (dtype as BlockType);
  const bytes = runOn(core("quantizeModel"), () => quantizeBlocks(x, type, weights));
  checkScales(bytes, dtype);
  return bytes;
}

/** The values of a tile as a tensor; float32 and half floats without a copy where they are aligned. */
function tensorOf(core: KeptCore, stored: StoredTile, columns: number): TensorInput {
  const { bytes, dtype, count } = stored;
  const shape = [count / columns, columns];
  const array = fieldOf(ARRAYS, dtype);
  if (array === undefined) return { data: valuesOf(core, stored), shape };
  const { buffer, byteOffset } =
    bytes.byteOffset % array.BYTES_PER_ELEMENT === 0 ? bytes : bytes.slice();
  const data = new array(buffer as ArrayBuffer, byteOffset, count);
  return { data, shape, dtype: dtype as "float32" };
}

/** Arrays of the dtypes that the core reads. */
const ARRAYS: {
  readonly [dtype: string]: typeof Float32Array | typeof Uint16Array | undefined;
} = { float32: Float32Array, float16: Uint16Array, bfloat16: Uint16Array };

/** The values of a tile. */
export const valuesOf = (core: KeptCore, { bytes, dtype, count }: StoredTile): Float32Array =>
  decodeTile(core, dtype, bytes, new Float32Array(count));
