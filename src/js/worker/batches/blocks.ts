// quantizeBlocks and dequantizeBlocks in batches.

import { arrayName, subarrayOf } from "../../base/typed-arrays.js";
import type { Zeropoint } from "../library/zeropoint.js";
import { type Box, type Fields, isObject, isShape, largeTensor, product, VALUES } from "./boxes.js";
import { type Batches, outputOf, overBoxes, tensorOf } from "./over-boxes.js";

/** Values of a batch of blocks: searching the scales of one value takes up to 0.2 microseconds. */
const BLOCK_VALUES = 2 ** 15;
/** Values of the largest block. */
const BLOCK = 256;

type BlockFunction<Name extends "quantizeBlocks" | "dequantizeBlocks"> = Parameters<
  Zeropoint[Name]
>;

export async function* quantizeBlocks(
  zp: Zeropoint,
  [x, type, options = {}]: readonly unknown[],
): Batches {
  const large = largeTensor(x, BLOCK_VALUES);
  if (large === undefined || !isObject(options)) return undefined;
  const { shape } = large;
  const row = shape.at(-1) ?? 1;
  const { importance, out } = options;
  if (importance !== undefined && row > BLOCK_VALUES) return undefined;
  // The size of a block and of its bytes, from one row.
  const of = type as BlockFunction<"quantizeBlocks">[1];
  const rowBytes = zp.quantizeBlocks({ data: new Float32Array(row), shape: [row] }, of).length;
  const size = (large.data.length / row) * rowBytes;
  const bytes = outputOf(out, Uint8Array, size) as Uint8Array;
  if (bytes?.length !== size) return undefined;
  const flat = {
    ...large,
    shape: importance === undefined ? [large.data.length] : [size / rowBytes, row],
  };
  const run = (part: Fields, { offset, size: values }: Box) => {
    const from = (offset / row) * rowBytes;
    return zp.quantizeBlocks(part as unknown as BlockFunction<"quantizeBlocks">[0], of, {
      ...options,
      out: subarrayOf(bytes, from, from + (values / row) * rowBytes),
    } as object);
  };
  const isDone = yield* overBoxes(flat, BLOCK, 0, run, BLOCK_VALUES);
  return isDone && bytes;
}

export async function* dequantizeBlocks(
  zp: Zeropoint,
  [bytes, type, shape, options = {}]: readonly unknown[],
): Batches {
  const large = largeTensor(bytes, 0);
  if (large === undefined || !isShape(shape) || !isObject(options)) return undefined;
  const { out } = options;
  const size = product(shape);
  const row = shape.at(-1) ?? 1;
  const rowBytes = (large.data.length / size) * row;
  if (
    size <= VALUES ||
    !Number.isInteger(rowBytes) ||
    (arrayName(out) === undefined && out !== undefined)
  )
    return undefined;
  const data = outputOf(out, Float32Array, size) as Float32Array;
  if (data?.length !== size) return undefined;
  // Whole blocks of any type: 256 values.
  const align = (BLOCK * large.data.length) / size;
  if (!Number.isInteger(align)) return undefined;
  const run = (part: Fields, { offset, size: count }: Box) => {
    const [start, values] = [offset, count].map((at) => (at / large.data.length) * size);
    return zp.dequantizeBlocks(
      part.data as Uint8Array,
      type as BlockFunction<"dequantizeBlocks">[1],
      [values],
      { out: subarrayOf(data, start, start + values) },
    );
  };
  const isDone = yield* overBoxes(large, align, 0, run, Math.floor((VALUES * align) / BLOCK));
  return isDone && tensorOf(out, data, shape);
}
