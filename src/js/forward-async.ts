// The asynchronous form of a layer's forward.

import { checkGivenOut, collect, deliverTensor, PIECE, rowPieces } from "./async.js";
import {
  ASYNC_OPTIONS,
  type AsyncOptions,
  checkAsync,
  type Job,
  type Piece,
  runJob,
} from "./background.js";
import type { Core } from "./build.js";
import { checkOptions } from "./check.js";
import type { OutOption } from "./dequantize.js";
import type { Accumulate, Batch } from "./linear.js";
import type { PackedWeight } from "./packed-weight.js";
import type { Tensor } from "./tensor.js";
import { tilesOf } from "./tiles.js";
import { type Activation, activationFor } from "./w8a8.js";

/** Products of a piece: some ten milliseconds. */
const PRODUCTS = 2 ** 27;

/** How a layer computes. */
interface Settings {
  readonly accumulate: Accumulate;
  /** Of dynamic activations; undefined for float32. */
  readonly reduceRange: boolean | undefined;
}

/** `QuantizedLinear.forwardAsync`, with a checked input. */
export async function forwardAsync(
  core: Core,
  where: string,
  weight: PackedWeight,
  { accumulate, reduceRange }: Settings,
  batch: Batch,
  options: (OutOption & AsyncOptions) | undefined,
): Promise<Tensor> {
  const given = checkOptions(where, options, ["out", ...ASYNC_OPTIONS]);
  const settings = checkAsync(where, given);
  const { outShape, outSize, size } = batch;
  const out = checkGivenOut(where, given.out, outShape, outSize, [batch.data]);
  const total = outSize + (reduceRange === undefined ? 0 : size);
  return await runJob(core, where, settings, total, async (job) => {
    let activation: Activation | undefined;
    if (reduceRange !== undefined && outSize > 0) {
      activation = activationFor(core, where, await rangeOf(job, batch), reduceRange);
    }
    const held = await job.weight(weight);
    const result = await collect(job, "Float32Array", outSize, function* (): Generator<Piece> {
      const { inFeatures: k, outFeatures: n } = weight;
      const wanted = Math.min(PRODUCTS / (k * n + 1), PIECE / (k + 1));
      for (const [row, rows] of rowPieces(batch.rows, wanted)) {
        weight.checkAlive(where);
        const input = job.piece(batch.data, size, row * k, rows * k);
        const start = row * n;
        yield {
          step: { kind: "forward", weight: held, input, rows, accumulate, activation, start },
          amount: rows * n,
        };
      }
    });
    return await deliverTensor(where, result, outShape, out);
  });
}

/** The range of all values; PyTorch takes an input without values for one of zeros. */
async function rangeOf(job: Job, { data, size }: Batch): Promise<Iterable<number>> {
  if (size === 0) return [0, 0];
  await job.perform({ kind: "openRanges", slices: 1 });
  await job.performAll(
    (function* (): Generator<Piece> {
      for (const { start, size: amount } of tilesOf([size], [], PIECE)) {
        const input = job.piece(data, size, start, amount);
        const shape = [1, 1, amount];
        yield { step: { kind: "ranges", input, shape, start: 0, nonFinite: "keep" }, amount };
      }
    })(),
  );
  const { result } = await job.perform({ kind: "close" });
  return result as Float32Array;
}
