// input · weightᵀ + bias on the core.

import { checkStatus } from "../base/errors.js";
import { checkStillThere, type NumberArray, subarrayOf } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { aligned } from "../core/memory.js";
import { TILE } from "../tensor/tiles.js";
import type { Batch, Rows } from "./input.js";
import { PackedWeight } from "./packed-weight.js";
import { type FloatWeight, isFloat, type WeightCodes } from "./weight.js";
import { rowsOfCodes } from "./weight-rows.js";

/**
 * Precision of sums: `"exact"`, the default, is accurate to about one float32 rounding and has the same
 * bits in every build, engine and batch; `"float32"` may be faster, depending on the build.
 */
export type Accumulate = "exact" | "float32";

/** Tiles of a float weight that threads divide among themselves: fewer would not be worth waking them. */
const THREADED_TILES = 32;

/**
 * input · weightᵀ + bias with a float weight, which is copied to the heap a tile of rows at a time: the
 * heap holds the input, the result and one tile.
 */
function multiplyFloats(
  { module, memory, threads }: Core,
  where: string,
  { outFeatures, inFeatures, values }: FloatWeight,
  bias: NumberArray | undefined,
  accumulate: Accumulate,
  { data, size, rows }: Rows,
  out: Float32Array,
): void {
  const tile = threads > 1 ? THREADED_TILES * TILE : TILE;
  const most = Math.max(1, Math.min(outFeatures, Math.floor(tile / Math.max(inFeatures, 1))));
  const [xAt, valuesAt, biasAt, outAt] = memory.layOut(
    where,
    4 * size,
    4 * most * inFeatures,
    bias === undefined ? 0 : 4 * outFeatures,
    4 * rows * outFeatures,
  );
  try {
    memory.copyIn(where, "Float32Array", xAt, data, size);
    if (bias !== undefined) {
      memory.copyIn(where, "Float32Array", biasAt, bias, outFeatures);
    }
    checkStillThere(where, values, outFeatures * inFeatures);
    for (let first = 0; first < outFeatures; first += most) {
      const count = Math.min(most, outFeatures - first);
      const start = first * inFeatures;
      const part =
        count === outFeatures ? values : subarrayOf(values, start, start + count * inFeatures);
      memory.copyIn(where, "Float32Array", valuesAt, part, count * inFeatures);
      const status = module.linear(
        xAt,
        rows,
        inFeatures,
        valuesAt,
        count,
        bias === undefined ? 0 : biasAt + 4 * first,
        accumulate,
        outAt + 4 * first,
        outFeatures,
      );
      checkStatus(where, status);
    }
    memory.read(outAt, out, rows * outFeatures);
  } finally {
    memory.end();
  }
}

/** input · weightᵀ + bias with a packed weight and the bias in its block. */
export function multiplyPacked(
  { module, memory }: Pick<Core, "module" | "memory">,
  where: string,
  weight: PackedWeight,
  accumulate: Accumulate,
  data: NumberArray,
  rows: number,
  out: Float32Array,
): void {
  const size = rows * weight.inFeatures;
  // One block for all three: a list of three offsets would be garbage in every call.
  const xBytes = aligned(4 * size);
  const scratchBytes = aligned(weight.scratchBytes(rows));
  const xAt = memory.reserve(where, xBytes + scratchBytes + 4 * rows * weight.outFeatures);
  const scratchAt = xAt + xBytes;
  const outAt = scratchAt + scratchBytes;
  try {
    memory.copyIn(where, "Float32Array", xAt, data, size);
    const status = module.linearPacked(
      xAt,
      rows,
      weight.at,
      weight.biasAt,
      accumulate,
      scratchAt,
      outAt,
    );
    checkStatus(where, status);
    if (memory.holds(xAt)) {
      memory.read(outAt, out, rows * weight.outFeatures);
      return;
    }
  } finally {
    memory.end();
  }
  multiplyPacked({ module, memory }, where, weight, accumulate, data, rows, out);
}

/** Arguments of `linear` after their checks. */
export interface CheckedLinear {
  readonly weight: FloatWeight | WeightCodes;
  readonly batch: Batch;
  readonly bias: NumberArray | undefined;
  readonly accumulate: Accumulate;
}

/** The operands of a product. */
interface Product extends Omit<CheckedLinear, "batch"> {
  readonly batch: Rows;
}

/** Computes a product that is not empty. Packs a quantized weight for the call. */
export function multiply(core: Core, where: string, product: Product, out: Float32Array): void {
  const { weight, batch, bias, accumulate } = product;
  if (isFloat(weight)) {
    multiplyFloats(core, where, weight, bias, accumulate, batch, out);
    return;
  }
  const packed = new PackedWeight(core, where, rowsOfCodes(where, weight), bias);
  try {
    multiplyPacked(core, where, packed, accumulate, batch.data, batch.rows, out);
  } finally {
    packed.dispose();
  }
}
