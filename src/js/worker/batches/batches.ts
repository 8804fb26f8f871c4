// Functions that run in batches: contiguous boxes of values, or rows. Between two batches a call can be
// stopped, reports its progress, and gives the event loop a turn. Arrays of the calling thread are read
// batch by batch. Results have the same bits, since no result of the library depends on batch sizes.
//
// If a batch throws, the whole call runs instead, and throws with the message for the whole arguments.

import { hasField } from "../../base/fields.js";
import type { Zeropoint } from "../library/zeropoint.js";
import { dequantizeBlocks, quantizeBlocks } from "./blocks.js";
import { chooseQParams } from "./choose-qparams.js";
import { type Forward, forward, isRowwise, linear, makeLayer } from "./linear.js";
import type { Batches } from "./over-boxes.js";
import { pack, unpack } from "./pack.js";
import { quantizationError } from "./quantization-error.js";
import { dequantize, fakeQuantize, quantize } from "./quantize.js";
import { torchFunction } from "./torch.js";

/** Multiplications of a batch: on the calling thread, which has other work, and in a worker. */
const PRODUCTS = { here: 2 ** 27, worker: 2 ** 30 };

interface Calibrated {
  calibrate(batches: readonly unknown[]): unknown;
}

async function* calibrate(model: Calibrated, [batches]: readonly unknown[]): Batches {
  if (!Array.isArray(batches)) return undefined;
  for (const [i, batch] of batches.entries()) {
    model.calibrate([batch]);
    yield (i + 1) / batches.length;
  }
  return model;
}

/** Functions in batches by name. */
const FUNCTIONS: Readonly<
  Record<string, (zp: Zeropoint, args: readonly unknown[], products: number) => Batches>
> = {
  chooseQParams,
  quantize,
  dequantize,
  fakeQuantize,
  pack,
  unpack,
  quantizeBlocks,
  dequantizeBlocks,
  linear,
  quantizationError,
  QuantizedLinear: makeLayer,
  quantizePerTensor: (zp, args) => torchFunction(zp, "quantizePerTensor", args),
  quantizePerChannel: (zp, args) => torchFunction(zp, "quantizePerChannel", args),
  fakeQuantizePerTensor: (zp, args) => torchFunction(zp, "fakeQuantizePerTensor", args),
  fakeQuantizePerChannel: (zp, args) => torchFunction(zp, "fakeQuantizePerChannel", args),
};

/** The positions of the arguments whose arrays a function or method reads part by part. */
export function partialArguments(self: object | undefined, name: string): readonly number[] {
  if (self !== undefined) return name === "forward" && isRowwise(self) ? [0] : [];
  if (name === "linear") return [1];
  if (name === "quantizationError") return [0, 1];
  return Object.hasOwn(FUNCTIONS, name) ? [0] : [];
}

/** The batches of a call; they return undefined for a call that runs as a whole. */
export async function* inBatches(
  zp: Zeropoint,
  self: object | undefined,
  name: string,
  args: readonly unknown[],
  isOffThread: boolean,
): Batches {
  const products = isOffThread ? PRODUCTS.worker : PRODUCTS.here;
  try {
    if (self === undefined)
      return Object.hasOwn(FUNCTIONS, name)
        ? yield* FUNCTIONS[name](zp, args, products)
        : undefined;
    if (name === "forward" && hasField(self, "inFeatures"))
      return yield* forward(self as Forward, args, products);
    if (name === "calibrate") return yield* calibrate(self as Calibrated, args);
    return undefined;
  } catch (error) {
    // Running the whole call would show the model earlier batches a second time.
    if (name === "calibrate") throw error;
    return undefined;
  }
}
