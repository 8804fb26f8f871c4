// Calls that may take long run in batches: layers on many rows, and models on lists of batches. Between two batches a
// call can be stopped, reports its progress, and gives the event loop a turn. Results have the same bits, since no
// result depends on the rows beside it.

import { hasField } from "../../base/fields.js";
import { sameShape } from "../../tensor/shape.js";
import { asTensor, Tensor } from "../../tensor/tensor.js";

/** Multiplications of a batch: on the calling thread, which has other work, and in a worker. */
const PRODUCTS = { here: 2 ** 27, worker: 2 ** 30 };

/** Values of a batch of the input, at most. */
const VALUES = 2 ** 20;

/** Yields the finished share of the work, 0 to 1, and returns the result. */
type Batches = Generator<number, unknown>;

interface Calibrated {
  calibrate(batches: readonly unknown[]): unknown;
}

interface Layer {
  readonly inFeatures: number;
  readonly outFeatures: number;
  forward(input: unknown, out: unknown): unknown;
}

/** The batches of a call; undefined for a call that runs as a whole. */
export function batchesOf(
  self: object | undefined,
  name: string,
  args: readonly unknown[],
  isOffThread: boolean,
): Batches | undefined {
  if (self === undefined) return undefined;
  if (name === "calibrate" && Array.isArray(args[0])) {
    return calibrate(self as Calibrated, args[0]);
  }
  // With dynamic activations all rows share one scale.
  const isLinear = name === "forward" && hasField(self, "inFeatures");
  const { activations } = self as { activations?: unknown };
  if (!isLinear || activations !== "float32") return undefined;
  return forward(self as Layer, args, isOffThread ? PRODUCTS.worker : PRODUCTS.here);
}

function* calibrate(model: Calibrated, batches: readonly unknown[]): Batches {
  for (const [i, batch] of batches.entries()) {
    model.calibrate([batch]);
    yield (i + 1) / batches.length;
  }
  return model;
}

function* forward(layer: Layer, [input, out]: readonly unknown[], products: number): Batches {
  const { inFeatures: k, outFeatures: n } = layer;
  const x = tensorOf(input);
  const { data, shape } = x ?? { data: new Float32Array(0), shape: [] };
  const m = data.length / k;
  // Batches may end at any row.
  const rows = Math.max(4, Math.floor(Math.min(products / (k * n), VALUES / k)));
  const outShape = [...shape.slice(0, -1), n];
  const y = out === undefined ? new Float32Array(m > rows ? m * n : 0) : outputOf(out, outShape);
  // The layer itself takes an input of one batch, and refuses a wrong input or output with its own message.
  if (!(m > rows) || shape.at(-1) !== k || y?.length !== m * n) {
    return layer.forward(input, out);
  }
  for (let row = 0; row < m; row += rows) {
    const end = Math.min(m, row + rows);
    const part = new Tensor(data.subarray(row * k, end * k), [end - row, k]);
    layer.forward(part, y.subarray(row * n, end * n));
    yield end / m;
  }
  return out instanceof Tensor ? out : new Tensor(y, outShape);
}

/** An input as a tensor; undefined for what is none. */
function tensorOf(input: unknown): Tensor | undefined {
  try {
    return asTensor("forward", "input", input);
  } catch {
    return undefined;
  }
}

/** The values of an output; undefined for one that a layer refuses. */
function outputOf(out: unknown, shape: readonly number[]): Float32Array | undefined {
  if (out instanceof Tensor) {
    return Array.isArray(out.shape) && sameShape(out.shape, shape) ? out.data : undefined;
  }
  return out instanceof Float32Array ? out : undefined;
}
