// Application of qparams on the core: a small tensor at once, a larger one in tiles.

import type { DType } from "../base/dtype.js";
import { checkStatus } from "../base/errors.js";
import {
  ARRAYS,
  arrayName,
  checkStillThere,
  type NumberArray,
  newArray,
  newArrayLike,
  subarrayOf,
} from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { bytesIn, type ElementType } from "../core/views.js";
import { type Blocks, bandsOf, evenBlocks, reorder } from "../tensor/blocks.js";
import { sizeOf } from "../tensor/shape.js";
import { TILE, type Tile, tilesOf } from "../tensor/tiles.js";
import type { LaidOutQParams, ScaleAndZeroPoint } from "./quantized-tensor.js";

/** A core function from elements and qparams to elements. */
type ElementwiseOperation = "quantize" | "dequantize" | "fakeQuantize";

/**
 * Runs an element-wise core function with given qparams, tile by tile.
 * @param size  the number of values of `out`, and of `input` at the time of its check
 */
export function applyQParams(
  core: Core,
  where: string,
  operation: ElementwiseOperation,
  inputType: ElementType,
  input: NumberArray,
  size: number,
  qparams: LaidOutQParams,
  dtype: DType,
  out: NumberArray,
): void {
  const { viewShape, viewQShape, viewGroup, blocks } = qparams;
  if (blocks !== undefined) {
    applyToBlocks(core, where, operation, inputType, input, size, qparams, blocks, dtype, out);
    return;
  }
  if (size <= TILE) {
    if (size === 0) return;
    applyTile(core, where, operation, inputType, input, size, viewShape, qparams, viewQShape, {
      group: viewGroup,
      dtype,
      out,
    });
    return;
  }
  checkStillThere(where, input, size);
  for (const tile of tilesOf(viewShape, viewQShape, TILE, viewGroup)) {
    const { start, size: count, shape, qShape, group } = tile;
    const part = subarrayOf(input, start, start + count);
    const own = tileQParams(qparams, tile);
    applyTile(core, where, operation, inputType, part, count, shape, own, qShape, {
      group,
      dtype,
      out: subarrayOf(out, start, start + count),
    });
  }
}

/** The same for blocks whose values have to be reordered. */
function applyToBlocks(
  core: Core,
  where: string,
  operation: ElementwiseOperation,
  inputType: ElementType,
  input: NumberArray,
  size: number,
  qparams: ScaleAndZeroPoint,
  blocks: Blocks,
  dtype: DType,
  out: NumberArray,
): void {
  checkStillThere(where, input, size);
  for (const band of bandsOf(blocks)) {
    const values = newArray(where, ARRAYS[inputType as "Float32Array"], band.size);
    const results = newArrayLike(where, out, band.size);
    const end = band.start + band.size;
    reorder(band.blocks, subarrayOf(input, band.start, end), values);
    for (const { first, start, slices, inner } of evenBlocks(band.blocks)) {
      const count = slices * inner;
      const [qStart, qShape] = [band.first + first, [slices, 1]];
      const part = tileQParams(qparams, { qStart, qCount: slices, qShape });
      const laid = {
        ...part,
        viewShape: [slices, inner],
        viewQShape: qShape,
        viewGroup: 0,
        blocks: undefined,
      };
      const [from, to] = [values, results].map((all) => subarrayOf(all, start, start + count));
      applyQParams(core, where, operation, inputType, from, count, laid, dtype, to);
    }
    reorder(band.blocks, results, subarrayOf(out, band.start, end), true);
  }
}

/** The same for one tile. */
function applyTile(
  core: Core,
  where: string,
  operation: ElementwiseOperation,
  inputType: ElementType,
  input: NumberArray,
  size: number,
  shape: readonly number[],
  { scale, zeroPoint, hasOffsets = false, rule = "course" }: ScaleAndZeroPoint,
  qShape: readonly number[],
  {
    group,
    dtype,
    out,
  }: { readonly group: number; readonly dtype: DType; readonly out: NumberArray },
): void {
  const { memory } = core;
  const count = typeof scale === "number" ? 1 : sizeOf(qShape);
  const [inputAt, scaleAt, zeroPointAt, shapeAt, qShapeAt, outAt] = memory.layOut(
    where,
    bytesIn(inputType, size),
    4 * count,
    4 * count,
    4 * shape.length,
    4 * qShape.length,
    bytesIn(arrayName(out) as ElementType, size),
  );
  try {
    memory.copyIn(where, inputType, inputAt, input, size);
    writeNumbers(core, where, "Float32Array", scaleAt, scale, count);
    const type = hasOffsets ? "Float32Array" : "Int32Array";
    writeNumbers(core, where, type, zeroPointAt, zeroPoint, count);
    memory.write("Uint32Array", shapeAt, shape);
    memory.write("Uint32Array", qShapeAt, qShape);
    const status = core.module[operation](
      inputAt,
      shapeAt,
      shape.length,
      scaleAt,
      zeroPointAt,
      qShapeAt,
      qShape.length,
      group,
      dtype,
      hasOffsets,
      rule,
      outAt,
    );
    checkStatus(where, status);
    memory.read(outAt, out, size);
  } finally {
    memory.end();
  }
}

function writeNumbers(
  { memory }: Core,
  where: string,
  type: "Float32Array" | "Int32Array",
  offset: number,
  value: ScaleAndZeroPoint["scale" | "zeroPoint"],
  count: number,
): void {
  if (typeof value === "number") memory.writeOne(type, offset, value);
  else memory.copyIn(where, type, offset, value.data, count);
}

/** The qparams of one tile: a slice of the tensors; a number holds for all tiles. */
function tileQParams(
  qparams: ScaleAndZeroPoint,
  { qStart, qCount, qShape }: Pick<Tile, "qStart" | "qCount" | "qShape">,
): ScaleAndZeroPoint {
  const { scale, zeroPoint } = qparams;
  if (typeof scale === "number" || typeof zeroPoint === "number") return qparams;
  const end = qStart + qCount;
  return {
    ...qparams,
    scale: { data: subarrayOf(scale.data, qStart, end), shape: qShape },
    zeroPoint: { data: subarrayOf(zeroPoint.data, qStart, end), shape: qShape },
  } as ScaleAndZeroPoint;
}
