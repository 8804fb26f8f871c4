// The values of any tensor of a file, tile by tile: element types, and ggml's block types.

import { BLOCK_NAMES, type BlockName } from "../../base/block-types.js";
import { rangeError } from "../../base/errors.js";
import { type KeptCore, runOn } from "../../core/init.js";
import { decodeValues, type FileDType, isBlockType } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import { readValues } from "../../formats/values.js";
import { dequantizeBlocks } from "../../quantize/blocks.js";

const isBlock = (dtype: FileDType): dtype is BlockName =>
  (BLOCK_NAMES as readonly string[]).includes(dtype);

/** Decodes little-endian bytes to float32; each value is rounded once. @param core  decodes ggml's block types */
export function decodeTile(
  core: KeptCore,
  dtype: FileDType,
  bytes: Uint8Array,
  out: Float32Array,
): Float32Array {
  if (!isBlock(dtype)) return decodeValues(dtype, bytes, out);
  runOn(core("Model.read"), () => dequantizeBlocks(bytes, dtype, [out.length], { out }));
  return out;
}

/**
 * Checks that values of a dtype can be read.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for complex numbers, and for ggml's lattice and internal block types
 */
export function checkDecodable(where: string, { name, dtype }: FileTensor): void {
  const isReadable = isBlock(dtype) || !(isBlockType(dtype) || dtype.startsWith("complex"));
  if (isReadable) return;
  const kind = dtype.startsWith("iq")
    ? "a lattice type of ggml, which is kept byte for byte"
    : "no";
  const why = kind === "no" ? "has no float32 values" : `is ${kind}`;
  const problem = `${dtype} of ${JSON.stringify(name)} ${why}; readBytes reads the bytes`;
  throw rangeError("ZP_UNSUPPORTED_DTYPE", where, problem);
}

/**
 * The values of a tensor in row-major order, as float32, in tiles.
 * @param core  decodes ggml's block types
 * @param tileLength  values of a tile, a multiple of 256; the last tile is shorter
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE`, `ZP_INVALID_FILE`
 */
export function readTiles(
  where: string,
  core: KeptCore,
  tensor: FileTensor,
  tileLength?: number,
): AsyncGenerator<Float32Array, void, undefined> {
  checkDecodable(where, tensor);
  return readValues(tensor, tileLength, (...tile) => decodeTile(core, ...tile));
}
