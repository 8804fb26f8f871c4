// The values of any tensor of a file, tile by tile: element types, and ggml's block types.

import { isLattice, isReadableBlock } from "../../base/block-types.js";
import { rangeError } from "../../base/errors.js";
import { type KeptCore, runOn } from "../../core/init.js";
import { decodeValues, type FileDType, isBlockType } from "../../formats/dtypes.js";
import type { FileTensor } from "../../formats/source.js";
import { readValues } from "../../formats/values.js";
import { dequantizeBlocks } from "../../quantize/blocks.js";
import { loadModule } from "../load-module.js";

type Lattices = typeof import("../../formats/gguf/lattices.js");

/** Decodes ggml's lattice types: a module that is downloaded when a file has them. */
let lattices: Lattices | undefined;

/** Makes lattice types decodable. */
export async function loadLattices(where: string): Promise<void> {
  lattices = await loadModule(where, import("../../formats/gguf/lattices.js"));
}

/** Decodes little-endian bytes to float32; each value is rounded once. @param core  decodes ggml's block types */
export function decodeTile(
  core: KeptCore,
  dtype: FileDType,
  bytes: Uint8Array,
  out: Float32Array,
): Float32Array {
  if (!isReadableBlock(dtype)) return decodeValues(dtype, bytes, out);
  if (isLattice(dtype)) (lattices as Lattices).decodeLattice(dtype, bytes, out);
  else runOn(core("Model.read"), () => dequantizeBlocks(bytes, dtype, [out.length], { out }));
  return out;
}

/**
 * Checks that values of a dtype can be read.
 * @throws {RangeError} `ZP_UNSUPPORTED_DTYPE` for complex numbers, and for ggml's block types of intermediate results (q8_1, q8_k)
 */
export function checkDecodable(where: string, { name, dtype }: FileTensor): void {
  if (isReadableBlock(dtype) || !(isBlockType(dtype) || dtype.startsWith("complex"))) return;
  const problem = `${dtype} of ${JSON.stringify(name)} has no float32 values; readBytes reads the bytes`;
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
