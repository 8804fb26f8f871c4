// tensor <-> ggml's block types: codes and scales in one sequence of bytes.

import { BLOCK_NAMES, BLOCKS, type BlockName } from "../base/block-types.js";
import { checkChoice, wrongKind } from "../base/check.js";
import { checkStatus, rangeError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import { checkOptions } from "../base/options.js";
import {
  arrayLength,
  arrayName,
  asFloat32,
  checkNumberArray,
  checkStillThere,
  type NumberArray,
  newArray,
  subarrayOf,
  valueAt,
} from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import { type CheckedTensor, checkTensor, type TensorInput } from "../tensor/check.js";
import { checkOut } from "../tensor/codes.js";
import { checkShape, checkSize, sizeOf } from "../tensor/shape.js";
import { checkTensorOut, type OutOption, type Tensor } from "../tensor/tensor.js";
import { TILE } from "../tensor/tiles.js";

/** A block type, by ggml's name in lower case. */
type LowerCaseType = BlockName | "f16" | "bf16";

/** ggml's block types, by their names in lower or upper case. */
export type BlockType = LowerCaseType | Uppercase<LowerCaseType>;

/** Options of `quantizeBlocks`. */
export interface QuantizeBlocksOptions {
  /**
   * One weight for each column, finite and >= 0: how much an error there counts. q4_0 to q5_1, the K types,
   * iq4_nl and iq4_xs use it, the others ignore it.
   */
  importance?: TensorInput | undefined;
  /** Array for the bytes; must not overlap the other arrays. */
  out?: Uint8Array | undefined;
}

const TYPES: readonly LowerCaseType[] = ["f16", "bf16", ...BLOCK_NAMES];

/** Checks the name of a block type; upper and lower case are the same. */
function checkType(where: string, value: unknown): LowerCaseType {
  const name = typeof value === "string" ? value.toLowerCase() : value;
  const isKnown = (TYPES as readonly unknown[]).includes(name);
  return checkChoice(where, "type", isKnown ? name : value, TYPES, undefined, "ZP_INVALID_DTYPE");
}

/** Values of a block, and bytes of a block. */
const sizesOf = (type: LowerCaseType): readonly [values: number, bytes: number] =>
  type === "f16" || type === "bf16" ? [1, 2] : BLOCKS[type];

/**
 * Checks that rows are whole blocks.
 * @returns the length of a row and the number of bytes of all
 */
function checkRows(
  where: string,
  argument: string,
  type: LowerCaseType,
  shape: readonly number[],
  size: number,
): { row: number; bytes: number } {
  const [blockValues, blockBytes] = sizesOf(type);
  const row = shape.at(-1) ?? 1;
  if (row % blockValues !== 0) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} must have a multiple of ${blockValues} as its last length for ${type}, got ` +
        showShape(shape),
    );
  }
  return { row, bytes: (size / blockValues) * blockBytes };
}

/**
 * Quantizes a tensor to blocks of ggml's types, as the files of llama.cpp hold them. Each row, that is each
 * run along the last axis, is whole blocks: 32 values (64 for nvfp4 and q2_0, 128 for q1_0, 256 for the K types,
 * iq4_xs, tq1_0 and tq2_0; 1 for f16 and bf16). The lattice types (iq1, iq2, iq3) are not among the types; `openModel`
 * reads them.
 *
 * Source: ggml_quantize_chunk() of ggml, compiled without contraction; the bytes are equal.
 *
 * @param x     float32, finite; other numbers are rounded to float32
 * @param type  ggml's name, in lower or upper case: `"q8_0"`, `"Q4_K"`, `"f16"`
 * @param options.importance  one weight for each column, as in an importance matrix of llama.cpp
 * @param options.out         a Uint8Array for the bytes
 * @returns the bytes of consecutive blocks
 * @throws {RangeError} `ZP_NON_FINITE`, naming the value; `ZP_SHAPE_MISMATCH` if rows are not whole blocks;
 *   `ZP_INVALID_DTYPE`, `ZP_INVALID_OPTION`, `ZP_INVALID_OUT`, `ZP_OUT_OF_MEMORY`
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_DTYPE`, `ZP_UNKNOWN_OPTION`, `ZP_DETACHED`
 * @example quantizeBlocks(tensor(new Float32Array(64), [2, 32]), "q8_0").length // 68
 */
export function quantizeBlocks(
  x: TensorInput,
  type: BlockType,
  options?: QuantizeBlocksOptions,
): Uint8Array {
  const where = "quantizeBlocks";
  const core = activeCore(where);
  const checked = checkTensor(where, "x", x);
  const kind = checkType(where, type);
  const { shape, size, data } = checked;
  const { row, bytes } = checkRows(where, "x", kind, shape, size);
  const { importance, out } = checkOptions(where, options, ["importance", "out"]);
  const weights = importance === undefined ? undefined : checkImportance(where, importance, row);
  const result =
    out === undefined
      ? newArray(where, Uint8Array, bytes)
      : checkOut(where, "options.out", out, "Uint8Array", bytes, [data, weights]);
  // A getter of the options may have changed the values.
  checkStillThere(where, data, size);
  if (size > 0) runQuantize(core, where, checked, kind, row, weights, result as Uint8Array);
  return result as Uint8Array;
}

function checkImportance(where: string, value: unknown, row: number): Float32Array {
  const argument = "options.importance";
  const { data, size } = checkTensor(where, argument, value);
  if (size !== row) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} must have one weight for each of ${row} columns, got ${size}`,
    );
  }
  const weights = asFloat32(where, data);
  for (let i = 0; i < size; i++) {
    if (weights[i] >= 0 && weights[i] < Infinity) continue;
    throw rangeError(
      "ZP_INVALID_OPTION",
      where,
      `${argument} must hold finite weights >= 0, but weight ${i} is ${weights[i]}`,
    );
  }
  return weights;
}

function runQuantize(
  { module, memory }: Core,
  where: string,
  { data, size }: CheckedTensor,
  type: LowerCaseType,
  row: number,
  weights: Float32Array | undefined,
  out: Uint8Array,
): void {
  const [blockValues, blockBytes] = sizesOf(type);
  // With weights, whole rows: the weights of 32-value types contain the mean square of the row. Blocks do
  // not depend on their row otherwise, so that rows count as one.
  const step = weights === undefined ? TILE : row * Math.max(1, Math.floor(TILE / row));
  const tile = Math.min(size, step);
  const [xAt, outAt, weightsAt] = memory.layOut(
    where,
    4 * tile,
    (tile / blockValues) * blockBytes,
    weights === undefined ? 0 : 4 * row,
  );
  try {
    if (weights !== undefined) memory.copyIn(where, "Float32Array", weightsAt, weights, row);
    for (let start = 0; start < size; start += tile) {
      const count = Math.min(tile, size - start);
      const part = subarrayOf(data, start, start + count);
      memory.copyIn(where, "Float32Array", xAt, part, count);
      const status = module.quantizeBlocks(
        xAt,
        count,
        weights === undefined ? count : row,
        type,
        weights === undefined ? 0 : weightsAt,
        outAt,
      );
      if (status === "kNonFinite") throw nonFinite(where, part, start);
      checkStatus(where, status);
      const from = (start / blockValues) * blockBytes;
      const bytes = (count / blockValues) * blockBytes;
      memory.read(outAt, subarrayOf(out, from, from + bytes));
    }
  } finally {
    memory.end();
  }
}

function nonFinite(where: string, part: NumberArray, start: number): Error {
  let index = 0;
  const last = arrayLength(part) - 1;
  while (index < last && Number.isFinite(Math.fround(valueAt(part, index)))) index++;
  return rangeError(
    "ZP_NON_FINITE",
    where,
    `x must be finite as float32, but value ${start + index} is ${valueAt(part, index)}`,
  );
}

/**
 * Dequantizes blocks of ggml's types to float32.
 *
 * Source: the `to_float` functions of ggml; the bits are equal, and NaN stays NaN.
 *
 * @param bytes  consecutive blocks, as `quantizeBlocks` returns them or a GGUF file holds them
 * @param type   ggml's name, in lower or upper case
 * @param shape  the shape of the values; the last axis is whole blocks
 * @param options.out  where to write the values
 * @returns float32, of the shape
 * @throws {TypeError} `ZP_INVALID_BYTES` if `bytes` is not a Uint8Array; `ZP_INVALID_SHAPE`, `ZP_INVALID_DTYPE`
 * @throws {RangeError} `ZP_INVALID_BYTES` if there are more or fewer bytes than the shape needs;
 *   `ZP_SHAPE_MISMATCH` if rows are not whole blocks; `ZP_INVALID_DTYPE`, `ZP_INVALID_OUT`, `ZP_OUT_OF_MEMORY`
 * @example dequantizeBlocks(new Uint8Array([0, 0x3c]), "f16", [1]).data // Float32Array [1]
 */
export function dequantizeBlocks(
  bytes: Uint8Array,
  type: BlockType,
  shape: ArrayLike<number>,
  options?: OutOption,
): Tensor {
  const where = "dequantizeBlocks";
  const core = activeCore(where);
  const kind = checkType(where, type);
  const ownShape = checkShape(where, "shape", shape);
  const size = sizeOf(ownShape);
  checkSize(where, "the result", ownShape, size);
  const { bytes: needed } = checkRows(where, "shape", kind, ownShape, size);
  const { out } = checkOptions(where, options, ["out"]);
  const name = arrayName(bytes);
  if (name !== "Uint8Array") {
    throw wrongKind("ZP_INVALID_BYTES", where, "bytes", "of type Uint8Array", bytes);
  }
  const blocks = checkNumberArray(where, "bytes", name, bytes, "ZP_INVALID_BYTES") as Uint8Array;
  if (arrayLength(blocks) !== needed) {
    throw rangeError(
      "ZP_INVALID_BYTES",
      where,
      `bytes must have length ${needed} for ${kind} of shape ${showShape(ownShape)}, ` +
        `got ${arrayLength(blocks)}`,
    );
  }
  const checked = checkTensorOut(where, "options.out", out, ownShape, size, [blocks]);
  checkStillThere(where, blocks, needed);
  if (size > 0) runDequantize(core, where, blocks, kind, size, checked.data);
  return checked.result;
}

function runDequantize(
  { module, memory }: Core,
  where: string,
  blocks: Uint8Array,
  type: LowerCaseType,
  size: number,
  out: Float32Array,
): void {
  const [blockValues, blockBytes] = sizesOf(type);
  const tile = Math.min(size, TILE);
  const [blocksAt, outAt] = memory.layOut(where, (tile / blockValues) * blockBytes, 4 * tile);
  try {
    for (let start = 0; start < size; start += tile) {
      const count = Math.min(tile, size - start);
      const from = (start / blockValues) * blockBytes;
      const bytes = (count / blockValues) * blockBytes;
      memory.copyIn(where, "Uint8Array", blocksAt, subarrayOf(blocks, from, from + bytes), bytes);
      checkStatus(where, module.dequantizeBlocks(blocksAt, bytes, type, outAt));
      memory.read(outAt, subarrayOf(out, start, start + count));
    }
  } finally {
    memory.end();
  }
}
