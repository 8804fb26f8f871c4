// linear, QuantizedLinear and its forward in batches of rows.

import { hasField } from "../../base/fields.js";
import { arrayName, type NumberArray, subarrayOf } from "../../base/typed-arrays.js";
import { Tensor } from "../../tensor/tensor.js";
import type { Zeropoint } from "../library/zeropoint.js";
import {
  boxesOf,
  cutQParams,
  type Fields,
  isObject,
  largeTensor,
  partsOf,
  VALUES,
} from "./boxes.js";
import { type Batches, outputOf, tensorOf } from "./over-boxes.js";
import { quantize } from "./quantize.js";

/** Rows of a weight that are multiplied at once, at least. */
const COLUMNS = 64;

/** Multiplies rows of the weight with rows of the input, a box of the result at a time. */
export async function* linear(
  zp: Zeropoint,
  [input, weight, bias, options]: readonly unknown[],
  products: number,
): Batches {
  const x = largeTensor(input, 0);
  const w = largeTensor(weight, 0);
  if (x === undefined || w?.shape.length !== 2 || (options as Fields | undefined)?.out)
    return undefined;
  const [n, k] = w.shape;
  const m = x.data.length / k;
  if (x.shape.at(-1) !== k || n * k + m * n * (k / 2 ** 8) <= VALUES) return undefined;
  const biases = (
    isObject(bias) && hasField(bias, "data") ? (bias as { data?: unknown }).data : bias
  ) as NumberArray | undefined | null;
  if (biases && (arrayName(biases) === undefined || biases.length !== n)) return undefined;
  const y = new Float32Array(m * n);
  // All rows of the input by some of the weight, which is prepared once, unless the input is large.
  const columns = Math.min(n, Math.max(COLUMNS, Math.floor(products / (m * k))));
  const rows = Math.min(m, Math.max(1, Math.floor(products / (columns * k))));
  const values = x.data as NumberArray;
  for await (const [codes, box] of partsOf(w, boxesOf([n, k], 1, columns * k))) {
    const qparams = cutQParams(w.fields, w.shape, box);
    if (qparams === undefined) return undefined;
    const part = { ...codes, ...qparams } as unknown as Parameters<typeof zp.linear>[1];
    const column = box.start[0];
    const count = box.shape[0];
    const own = biases && subarrayOf(biases, column, column + count);
    for (let row = 0; row < m; row += rows) {
      const height = Math.min(rows, m - row);
      const batch = {
        ...x.fields,
        data: subarrayOf(values, row * k, (row + height) * k),
        shape: [height, k],
      };
      const { data } = zp.linear(batch as unknown as Float32Array, part, own, options as object);
      if (count === n) y.set(data, row * n);
      else {
        for (let i = 0; i < height; i++) {
          y.set(data.subarray(i * count, (i + 1) * count), (row + i) * n + column);
        }
      }
      yield (column * m + (row + height) * count) / (n * m);
    }
  }
  return new Tensor(y, [...x.shape.slice(0, -1), n]);
}

/** Layers whose rows do not depend on each other. */
const rowwise = new WeakSet<object>();

/** Whether `forward` of an object may run in batches of rows. */
export const isRowwise = (object: object): boolean => rowwise.has(object);

export async function* makeLayer(
  zp: Zeropoint,
  [weight, options = {}]: readonly unknown[],
): Batches {
  const { bias, activations = "float32", accumulate, reduceRange, ...choosing } = options as Fields;
  let own = weight;
  let rest = options as object;
  const large = largeTensor(weight);
  if (large !== undefined && activations === "float32" && large.fields.dtype === undefined) {
    own = (yield* quantize(zp, [weight, choosing])) ?? weight;
    if (own !== weight)
      rest = { bias, activations, accumulate, ...(reduceRange !== undefined && { reduceRange }) };
  }
  const layer = new zp.QuantizedLinear(own as Float32Array, rest);
  if (activations === "float32") rowwise.add(layer);
  return layer;
}

export interface Forward {
  readonly inFeatures: number;
  readonly outFeatures: number;
  forward(x: unknown, out?: unknown): unknown;
}

export async function* forward(
  layer: Forward,
  [input, out]: readonly unknown[],
  products: number,
): Batches {
  const x = largeTensor(input, 0);
  const { inFeatures: k, outFeatures: n } = layer;
  if (x === undefined || !rowwise.has(layer) || x.shape.at(-1) !== k) return undefined;
  const m = x.data.length / k;
  // Batches may end at any row: no row's result depends on the rows beside it.
  const rows = Math.max(4, Math.floor(Math.min(products / (k * n), VALUES / k)));
  if (m <= rows) return undefined;
  const y = outputOf(out, Float32Array, m * n) as Float32Array;
  if (y?.length !== m * n) return undefined;
  const flat = { ...x, shape: [m, k] };
  for await (const [part, { start, shape }] of partsOf(flat, boxesOf(flat.shape, 1, rows * k))) {
    const end = start[0] + shape[0];
    layer.forward(part, y.subarray(start[0] * n, end * n));
    yield end / m;
  }
  return tensorOf(out, y, [...x.shape.slice(0, -1), n]);
}
