// PyTorch's quantize, dequantize and fake quantize on the core, in tiles.

import {
  type CodesByQDType,
  DTYPES,
  type DTypeInfo,
  type Limits,
  type QDType,
} from "../base/dtype.js";
import { checkStatus } from "../base/errors.js";
import { checkStillThere, type NumberArray, subarrayOf } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { bytesIn } from "../core/views.js";
import type { CheckedTensor } from "../tensor/check.js";
import { aroundAxis, sizeOf } from "../tensor/shape.js";
import { TILE, tilesOf } from "../tensor/tiles.js";
import type { Overflow } from "../wasm/baseline.js";
import {
  areOfChannels,
  type ChannelQParams,
  type TensorQParams,
  type TorchQParams,
} from "./scales.js";

/** An operation of the core, with its settings. */
type TorchOperation =
  | { readonly kind: "quantize"; readonly dtype: QDType; readonly overflow: Overflow }
  | { readonly kind: "dequantize"; readonly dtype: QDType }
  | ({ readonly kind: "fakeQuantize"; readonly overflow: Overflow } & Limits);

/** The types of their input and output arrays. */
type TorchArrayName = "Float32Array" | DTypeInfo["arrayName"];

/** Input and output array types of an operation. */
function typesOf(operation: TorchOperation): {
  readonly from: TorchArrayName;
  readonly to: TorchArrayName;
} {
  const float = "Float32Array";
  if (operation.kind === "fakeQuantize") return { from: float, to: float };
  const { arrayName: codes } = DTYPES[operation.dtype];
  return operation.kind === "quantize" ? { from: float, to: codes } : { from: codes, to: float };
}

/** Runs an operation with one scale and zero point on the core, in tiles. */
function runPerTensor(
  core: Core,
  where: string,
  input: NumberArray,
  size: number,
  { scale, zeroPoint }: TensorQParams,
  operation: TorchOperation,
  out: Float32Array | CodesByQDType[QDType],
): void {
  const { memory, module } = core;
  const types = typesOf(operation);
  const tile = Math.min(size, TILE);
  const [from, to] = memory.layOut(where, bytesIn(types.from, tile), bytesIn(types.to, tile));
  try {
    for (let start = 0; start < size; start += tile) {
      const count = Math.min(tile, size - start);
      const isWhole = count === size;
      const part = isWhole ? input : subarrayOf(input, start, start + count);
      memory.copyIn(where, types.from, from, part, count);
      let status: string;
      if (operation.kind === "quantize") {
        const { dtype, overflow } = operation;
        status = module.quantizePerTensor(from, count, scale, zeroPoint, dtype, overflow, to);
      } else if (operation.kind === "dequantize") {
        status = module.dequantizePerTensor(from, count, scale, zeroPoint, operation.dtype, to);
      } else {
        const { qmin, qmax, overflow } = operation;
        status = module.fakeQuantizePerTensor(
          from,
          count,
          scale,
          zeroPoint,
          qmin,
          qmax,
          overflow,
          to,
        );
      }
      checkStatus(where, status);
      if (!memory.holds(from)) {
        runPerTensor(core, where, input, size, { scale, zeroPoint }, operation, out);
        return;
      }
      memory.read(to, isWhole ? out : subarrayOf(out, start, start + count), count);
    }
  } finally {
    memory.end();
  }
}

/** Runs an operation on the core, in tiles. */
export function runTorch(
  core: Core,
  where: string,
  { data: input, shape, size }: CheckedTensor,
  qparams: TorchQParams,
  operation: TorchOperation,
  out: Float32Array | CodesByQDType[QDType],
): void {
  if (size === 0) return;
  checkStillThere(where, input, size);
  if (!areOfChannels(qparams)) {
    runPerTensor(core, where, input, size, qparams, operation, out);
    return;
  }
  const { axis, scales, zeroPoints } = qparams;
  const view = aroundAxis(shape, axis);
  if (size <= TILE) {
    runChannelTile(core, where, input, view, scales, zeroPoints, operation, out);
    return;
  }
  for (const tile of tilesOf(view, [shape[axis], 1])) {
    const end = tile.start + tile.size;
    const last = tile.qStart + tile.qCount;
    runChannelTile(
      core,
      where,
      subarrayOf(input, tile.start, end),
      tile.shape,
      subarrayOf(scales, tile.qStart, last),
      subarrayOf(zeroPoints, tile.qStart, last),
      operation,
      subarrayOf(out, tile.start, end),
    );
  }
}

/** The common type of the core's functions for these operations. */
type CoreFunction = (...args: readonly (number | string)[]) => string;

/** For integer and floating zero points. Literals: concatenated property names are looked up slowly. */
const CHANNEL_FUNCTIONS = {
  quantize: ["quantizePerChannel", "quantizePerChannelFloatQParams"],
  dequantize: ["dequantizePerChannel", "dequantizePerChannelFloatQParams"],
  fakeQuantize: ["fakeQuantizePerChannel", "fakeQuantizePerChannelFloatQParams"],
} as const;

/** Arguments of an operation in addition to values and qparams. */
function settingsOf(operation: TorchOperation): readonly (number | string)[] {
  if (operation.kind === "dequantize") return [operation.dtype];
  const { overflow } = operation;
  return operation.kind === "quantize"
    ? [operation.dtype, overflow]
    : [operation.qmin, operation.qmax, overflow];
}

/** Runs an operation on one tile, of shape [outer, channels, inner]. */
function runChannelTile(
  { memory, module }: Core,
  where: string,
  input: NumberArray,
  shape: readonly number[],
  scales: ChannelQParams["scales"],
  zeroPoints: ChannelQParams["zeroPoints"],
  operation: TorchOperation,
  out: NumberArray,
): void {
  const size = sizeOf(shape);
  const floating = zeroPoints instanceof Float32Array;
  const { from, to } = typesOf(operation);
  // Scales are float32 for floating zero points and for fake quantization.
  const isFake = operation.kind === "fakeQuantize";
  const scaleType = floating || isFake ? "Float32Array" : "Float64Array";
  const zeroType = floating ? "Float32Array" : "Int32Array";
  const channels = scales.length;
  const [inputAt, shapeAt, scaleAt, zeroAt, outAt] = memory.layOut(
    where,
    bytesIn(from, size),
    4 * shape.length,
    bytesIn(scaleType, channels),
    4 * channels,
    bytesIn(to, size),
  );
  try {
    memory.copyIn(where, from, inputAt, input, size);
    memory.write("Uint32Array", shapeAt, shape);
    memory.write(scaleType, scaleAt, scales);
    memory.write(zeroType, zeroAt, zeroPoints);
    const args = [
      inputAt,
      shapeAt,
      shape.length,
      scaleAt,
      zeroAt,
      channels,
      1,
      ...settingsOf(operation),
      outAt,
    ];
    const run = module[CHANNEL_FUNCTIONS[operation.kind][floating ? 1 : 0]] as CoreFunction;
    checkStatus(where, run(...args));
    memory.read(outAt, out, size);
  } finally {
    memory.end();
  }
}
