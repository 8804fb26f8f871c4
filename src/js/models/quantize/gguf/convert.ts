// A tensor of a file in another dtype, converted tile by tile while it is written.

import { isReadableBlock } from "../../../base/block-types.js";
import { rangeError, type ZeropointError } from "../../../base/errors.js";
import { fieldOf } from "../../../base/fields.js";
import type { KeptCore } from "../../../core/init.js";
import { bytesOf, type FileDType } from "../../../formats/dtypes.js";
import { ggmlTypeNumber } from "../../../formats/gguf/types.js";
import type { FileTensor, WritableTensor } from "../../../formats/source.js";
import { convertTile, type StoredTile, valuesOf } from "./tile.js";

/** Values of a tile at most, unless a row with importance has more: whole blocks of every type. */
const TILE_LENGTH = 2 ** 18;

/** Dtypes of values that are quantized. */
const FLOATS: readonly FileDType[] = ["float32", "float16", "bfloat16", "float64"];

/** Integers of GGUF that hold all values of a dtype that GGUF has not. */
const WIDER: { readonly [dtype: string]: FileDType } = {
  bool: "int8",
  int4: "int8",
  int2: "int8",
  uint4: "int8",
  uint2: "int8",
  uint8: "int16",
  uint16: "int32",
  float8_e4m3fn: "float32",
  float8_e5m2: "float32",
  float8_e4m3fnuz: "float32",
  float8_e5m2fnuz: "float32",
  float8_e8m0fnu: "float32",
  float4_e2m1fn: "float32",
};

/** A dtype of GGUF that holds all values of a dtype. @returns undefined if there is none */
export const storedType = (dtype: FileDType): FileDType | undefined =>
  ggmlTypeNumber(dtype) >= 0 ? dtype : fieldOf(WIDER, dtype);

/**
 * Whether a tensor of one dtype can be converted to another one.
 * @param requantize  whether block types can, too
 */
export const isConvertible = (from: FileDType, to: FileDType, requantize: boolean): boolean =>
  from === to ||
  FLOATS.includes(from) ||
  storedType(from) === to ||
  (requantize && isReadableBlock(from));

/**
 * A tensor in another dtype: float32 converted row by row, as ggml does.
 * @param importance  of the columns, or of the columns of each matrix
 */
export function convertTensor(
  where: string,
  core: KeptCore,
  tensor: FileTensor,
  dtype: FileDType,
  importance?: Float32Array,
): WritableTensor {
  const { name, shape } = tensor;
  if (tensor.dtype === dtype) return tensor;
  const bytes = (): AsyncGenerator<Uint8Array> => convert(where, core, tensor, dtype, importance);
  return { name, shape, dtype, bytes };
}

async function* convert(
  where: string,
  core: KeptCore,
  tensor: FileTensor,
  dtype: FileDType,
  importance: Float32Array | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const ranges = [...tilesOf(tensor.shape, importance)];
  let ahead = readTile(tensor, ranges[0]);
  for (const [i, range] of ranges.entries()) {
    const stored = await ahead;
    // The next tile is read while this one is computed.
    ahead = readTile(tensor, ranges[i + 1]);
    ahead.catch(() => {});
    const count = range.end - range.begin;
    const tile = { bytes: stored, dtype: tensor.dtype, count };
    let converted: Uint8Array;
    try {
      converted = convertTile(core, tile, dtype, range.importance);
    } catch (error) {
      throw located(where, core, error, tensor.name, tile, range.begin);
    }
    yield converted;
  }
}

/** Values [begin, end) of a tensor. */
interface TileRange {
  readonly begin: number;
  readonly end: number;
  /** Of the columns; then the tile is whole rows of one matrix. */
  readonly importance: Float32Array | undefined;
}

/** Cuts a tensor into tiles: of whole blocks or, with importance, of whole rows of one matrix. */
function* tilesOf(
  shape: readonly number[],
  importance: Float32Array | undefined,
): Generator<TileRange> {
  const count = shape.reduce((product, length) => product * length, 1);
  const columns = shape.at(-1) ?? 1;
  const matrix = importance === undefined ? count : columns * (shape.at(-2) ?? 1);
  const rows = Math.max(1, Math.floor(TILE_LENGTH / columns));
  const step = importance === undefined ? TILE_LENGTH : columns * rows;
  for (let start = 0; start < count; start += matrix) {
    // One for each column of all matrices, or of each.
    const first = importance?.length === columns ? 0 : (start / matrix) * columns;
    const weights = importance?.subarray(first, first + columns);
    for (let begin = start; begin < start + matrix; begin += step) {
      yield { begin, end: Math.min(start + matrix, begin + step), importance: weights };
    }
  }
}

/** The bytes of a tile in one array. @param range  undefined behind the last tile */
async function readTile(tensor: FileTensor, range: TileRange | undefined): Promise<Uint8Array> {
  if (range === undefined) return new Uint8Array(0);
  const { dtype } = tensor;
  const [first, last] = [range.begin, range.end].map((count) => bytesOf(dtype, count) as number);
  let tile: Uint8Array | undefined;
  let at = 0;
  for await (const chunk of tensor.bytes(first, last)) {
    // The reader's own array, if it gave the whole tile at once.
    if (chunk.length === last - first) return chunk;
    tile ??= new Uint8Array(last - first);
    tile.set(chunk, at);
    at += chunk.length;
  }
  return tile ?? new Uint8Array(0);
}

/** An error of a tile as one of its tensor. @param begin  index of the tile's first value in the tensor */
function located(
  where: string,
  core: KeptCore,
  error: unknown,
  name: string,
  tile: StoredTile,
  begin: number,
): unknown {
  const { code, message } = error as Partial<ZeropointError>;
  if (code !== "ZP_NON_FINITE") return error;
  const label = `tensor ${JSON.stringify(name)}`;
  const values = valuesOf(core, tile);
  const index = values.findIndex((value) => !Number.isFinite(value));
  const problem =
    index < 0
      ? `${label}, from value ${begin} on: ${message}`
      : `${label} must be finite, but value ${begin + index} is ${values[index]}`;
  return rangeError("ZP_NON_FINITE", where, problem);
}
