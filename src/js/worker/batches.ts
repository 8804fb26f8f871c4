// Functions that run in batches: contiguous boxes of values, or rows. Between two batches a call can be
// stopped, reports its progress, and gives the event loop a turn. Arrays of the calling thread are read
// batch by batch. Results have the same bits, since no result of the library depends on batch sizes.
//
// If a batch throws, the whole call runs instead, and throws with the message for the whole arguments.

import type { DType, QDType } from "../base/dtype.js";
import { arrayName, codesArray, type NumberArray, subarrayOf } from "../base/typed-arrays.js";
import type { ErrorTotal } from "../quantize/metrics.js";
import { Tensor } from "../tensor/tensor.js";
import { TorchQuantizedTensor } from "../torch/tensor.js";
import { dequantizeBlocks, quantizeBlocks } from "./block-batches.js";
import {
  alignmentOf,
  boxesOf,
  cutChannels,
  cutQParams,
  type Fields,
  isObject,
  isShape,
  type Large,
  largeTensor,
  partOf,
  partsOf,
  product,
  VALUES,
} from "./boxes.js";
import type { Names } from "./objects.js";
import { type Batches, outputOf, overBoxes, tensorOf } from "./over-boxes.js";
import type { Zeropoint } from "./zeropoint.js";

/** Multiplications of a batch: on the calling thread, which has other work, and in a worker. */
const PRODUCTS = { here: 2 ** 27, worker: 2 ** 30 };
/** Values of a batch that holds all channels. */
const CHANNEL_VALUES = 2 ** 20;

type QuantizedPart = Parameters<Zeropoint["dequantize"]>[0];

async function* dequantize(zp: Zeropoint, [q, options]: readonly unknown[]): Batches {
  const large = largeTensor(q);
  if (large === undefined) return undefined;
  const { out } = (options ?? {}) as Fields;
  const data = outputOf(out, Float32Array, large.data.length) as Float32Array;
  if (data?.length !== large.data.length) return undefined;
  const isDone = yield* overBoxes(large, alignmentOf(large.fields), 0, (part, box) => {
    const qparams = cutQParams(large.fields, large.shape, box);
    if (qparams === undefined) return undefined;
    return zp.dequantize({ ...part, ...qparams } as unknown as QuantizedPart, {
      ...(options as object),
      out: partOf(data, box),
    });
  });
  return isDone && tensorOf(out, data, large.shape);
}

async function* chooseQParams(
  zp: Zeropoint,
  [x, options = {}]: readonly unknown[],
): Batches<Fields> {
  const large = largeTensor(x);
  if (large === undefined || !isObject(options)) return undefined;
  const { axis, groupSize, range } = options;
  const { shape } = large;
  if (range !== undefined && range !== "minmax") return undefined;
  if (axis !== undefined && groupSize !== undefined) return undefined;
  const choose = (part: unknown, own: object) =>
    zp.chooseQParams(part as Float32Array, own) as unknown as Fields &
      Record<Parameter, Parametric>;

  if (groupSize !== undefined) {
    const parts: (Fields & Record<Parameter, Parametric>)[] = [];
    const align = alignmentOf(options);
    const first = yield* overBoxes(large, align, 0, (part) => {
      parts.push(choose(part, options));
      return parts[0];
    });
    return { ...first, ...joined(parts, (length) => [length, 1]) };
  }
  if (axis === undefined) {
    const observer = new zp.MinMaxObserver();
    yield* overBoxes(large, 1, 0, (part) => observer.observe(part as never));
    const [min, max] = [observer.minVal.data[0], observer.maxVal.data[0]];
    return Number.isFinite(max - min) ? choose(Float32Array.of(min, max), options) : undefined;
  }
  const rank = shape.length;
  if (!Number.isInteger(axis) || (axis as number) < -rank || (axis as number) >= rank)
    return undefined;
  const channel = ((axis as number) + rank) % rank;
  const count = shape[channel];
  const inner = product(shape.slice(channel + 1));
  const outer = product(shape.slice(0, channel));
  const shapeOf = () => shape.map((length, i) => (i === channel ? length : 1));
  if (count * inner > CHANNEL_VALUES && outer > 1) return undefined;
  const flat = { ...large, shape: outer === 1 ? [count, inner] : [outer, count, inner] };
  if (outer === 1) {
    if (inner > CHANNEL_VALUES) return undefined;
    const parts: (Fields & Record<Parameter, Parametric>)[] = [];
    const first = yield* overBoxes(
      flat,
      1,
      0,
      (part) => {
        parts.push(choose(part, { ...options, axis: 0 }));
        return parts[0];
      },
      Math.max(VALUES, inner),
    );
    return { ...first, axis: channel, ...joined(parts, shapeOf) };
  }
  const observer = new zp.PerChannelMinMaxObserver({ chAxis: 1 });
  yield* overBoxes(
    flat,
    1,
    0,
    (part) => observer.observe(part as never),
    Math.max(VALUES, count * inner),
  );
  const [min, max] = [observer.minVal.data, observer.maxVal.data];
  const ranges = new Float32Array(2 * count);
  for (let i = 0; i < count; i++) {
    if (!Number.isFinite(max[i] - min[i])) return undefined;
    ranges.set([min[i], max[i]], 2 * i);
  }
  const chosen = choose({ data: ranges, shape: [count, 2] }, { ...options, axis: 0 });
  return { ...chosen, axis: channel, ...joined([chosen], shapeOf) };
}

type Parameter = "scale" | "zeroPoint" | "offset";

interface Parametric {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** Joins the parameters of consecutive slices, in order, into those of all slices. */
function joined(
  parts: readonly Record<Parameter, Parametric | undefined>[],
  shapeOf: (length: number) => readonly number[],
): Fields {
  const all: Record<string, unknown> = {};
  for (const name of ["scale", "zeroPoint", "offset"] as const) {
    const arrays = parts.flatMap((part) => part[name]?.data ?? []);
    if (arrays.length === 0) continue;
    const length = arrays.reduce((sum, array) => sum + array.length, 0);
    const data = new (arrays[0].constructor as Float32ArrayConstructor)(length);
    let at = 0;
    for (const array of arrays) {
      data.set(array, at);
      at += array.length;
    }
    all[name] = { data, shape: shapeOf(length) };
  }
  return all;
}

/** Share of choosing qparams in the whole work, if quantizing follows. */
const CHOOSING = 0.4;

/** Options with explicit qparams: the given ones, else chosen ones. */
async function* withQParams(zp: Zeropoint, x: unknown, options: Fields): Batches<Fields> {
  const { scale, zeroPoint, offset } = options;
  if (scale !== undefined) {
    const isPlain = [scale, zeroPoint ?? 0, offset ?? 0].every((each) => typeof each === "number");
    return isPlain ? options : undefined;
  }
  if (offset !== undefined || (zeroPoint !== undefined && zeroPoint !== "float")) return undefined;
  const choosing = Object.fromEntries(Object.entries(options).filter(([name]) => name !== "out"));
  const batches = chooseQParams(zp, [x, choosing]);
  let step = await batches.next();
  while (step.done !== true) {
    yield CHOOSING * step.value;
    step = await batches.next();
  }
  const chosen = step.value;
  return chosen && { ...options, ...qparamsOf(chosen) };
}

/** Scale and zero point, or offset, of qparams; the other one undefined. */
const qparamsOf = ({ scale, zeroPoint, offset }: Fields): Fields => ({ scale, zeroPoint, offset });

async function* quantize(zp: Zeropoint, [x, options = {}]: readonly unknown[]): Batches<Fields> {
  const large = largeTensor(x);
  if (large === undefined || !isObject(options)) return undefined;
  const given = yield* withQParams(zp, x, options);
  if (given === undefined) return undefined;
  const { out, dtype = "int8" } = given;
  if (typeof dtype !== "string" || !/^u?int\d+$/.test(dtype)) return undefined;
  const data = outputOf(out, codesArray(dtype as DType), large.data.length);
  if (data?.length !== large.data.length) return undefined;
  const done = options.scale === undefined ? CHOOSING : 0;
  const first = yield* overBoxes(large, alignmentOf(given), done, (part, box) => {
    const own = cutQParams(given, large.shape, box);
    if (own === undefined) return undefined;
    return zp.quantize(
      part as unknown as Float32Array,
      { ...given, ...own, out: partOf(data, box) } as object,
    );
  });
  if (first === undefined) return undefined;
  const own = Object.entries(qparamsOf(given)).filter(([, value]) => value !== undefined);
  const chosen = typeof given.scale === "number" ? {} : Object.fromEntries(own);
  return { ...first, ...chosen, data, shape: [...large.shape] };
}

async function* fakeQuantize(zp: Zeropoint, [x, options = {}]: readonly unknown[]): Batches {
  const large = largeTensor(x);
  if (large === undefined || !isObject(options)) return undefined;
  const given = yield* withQParams(zp, x, options);
  if (given === undefined) return undefined;
  const data = outputOf(given.out, Float32Array, large.data.length);
  if (data?.length !== large.data.length) return undefined;
  const done = options.scale === undefined ? CHOOSING : 0;
  const isDone = yield* overBoxes(large, alignmentOf(given), done, (part, box) => {
    const own = cutQParams(given, large.shape, box);
    if (own === undefined) return undefined;
    return zp.fakeQuantize(
      part as unknown as Float32Array,
      { ...given, ...own, out: partOf(data, box) } as object,
    );
  });
  return isDone && tensorOf(given.out, data, large.shape);
}

const bitsOf = (dtype: unknown): number => Number(/\d+$/.exec(String(dtype))?.[0] ?? 0);

async function* pack(zp: Zeropoint, [q]: readonly unknown[]): Batches {
  const large = largeTensor(q);
  const bits = bitsOf(large?.fields.dtype);
  if (large === undefined || typeof large.fields.scale !== "number" || bits === 0) return undefined;
  const flat = { ...large, shape: [large.data.length] };
  const bytes = new Uint8Array(Math.ceil((flat.data.length * bits) / 8));
  const isDone = yield* overBoxes(flat, 8, 0, (codes, { offset }) => {
    const part = zp.pack(codes as unknown as Parameters<typeof zp.pack>[0]);
    bytes.set(part, (offset * bits) / 8);
    return part;
  });
  return isDone && bytes;
}

async function* unpack(zp: Zeropoint, [bytes, meta]: readonly unknown[]): Batches {
  const { shape, dtype, scale } = (meta ?? {}) as Fields;
  const bits = bitsOf(dtype);
  if (!isShape(shape) || typeof scale !== "number" || bits === 0) return undefined;
  const size = product(shape);
  const large = largeTensor(bytes);
  if (large?.data.length !== Math.ceil((size * bits) / 8)) return undefined;
  const data = new (codesArray(dtype as DType))(size);
  // Boxes of whole groups of eight codes.
  const first = yield* overBoxes(large, bits < 8 ? bits : 4, 0, ({ data: part }, box) => {
    const start = (box.offset * 8) / bits;
    const count = Math.min(size - start, (box.size * 8) / bits);
    const own = { ...(meta as object), shape: [count] } as unknown as Parameters<
      typeof zp.unpack
    >[1];
    const codes = zp.unpack(part as Uint8Array, own);
    data.set(codes.data as Int8Array, start);
    return codes;
  });
  return first && { ...first, data, shape: [...shape] };
}

async function* torch(
  zp: Zeropoint,
  name:
    | "quantizePerTensor"
    | "quantizePerChannel"
    | "fakeQuantizePerTensor"
    | "fakeQuantizePerChannel",
  [x, scale, zeroPoint, ...rest]: readonly unknown[],
): Batches {
  const large = largeTensor(x);
  if (large === undefined) return undefined;
  const isChannel = name.endsWith("Channel");
  const isFake = name.startsWith("fake");
  const axis = isChannel ? rest[0] : undefined;
  const at = isFake ? rest.length - 1 : Number(isChannel) + 1;
  const options = isObject(rest[at]) ? rest[at] : {};
  const before = isObject(rest[at]) ? rest.slice(0, at) : rest;
  const { shape } = large;
  if (
    isChannel &&
    !(Number.isInteger(axis) && (axis as number) >= 0 && (axis as number) < shape.length)
  ) {
    return undefined;
  }
  const channels = shape[axis as number];
  const lengthOf = (value: unknown) =>
    ((isObject(value) && "data" in value ? value.data : value) as ArrayLike<number>)?.length;
  if (isChannel && [scale, zeroPoint].some((value) => lengthOf(value) !== channels))
    return undefined;
  const type = isFake ? Float32Array : codesArray(String(rest[Number(isChannel)]) as QDType);
  const data = outputOf(options.out, type as Float32ArrayConstructor, large.data.length);
  if (data?.length !== large.data.length) return undefined;
  const call = (zp as unknown as Names)[name];
  const first = yield* overBoxes(large, 1, 0, (part, box) => {
    const own = [scale, zeroPoint].map((value) =>
      isChannel ? cutChannels(value, axis, box) : value,
    );
    return call(part, ...own, ...before, { ...options, out: partOf(data, box) });
  });
  if (first === undefined || isFake) return first && tensorOf(options.out, data, shape);
  const { dtype, qscheme } = first as unknown as TorchQuantizedTensor;
  let whole = first as unknown as TorchQuantizedTensor;
  if (isChannel) {
    // One call on one value per channel gives the parameters of all channels in the function's own form.
    const ones = shape.map((length, i) => (i === axis ? length : 1));
    const one = { data: new Float32Array(channels), shape: ones };
    whole = call(one, scale, zeroPoint, axis, dtype) as TorchQuantizedTensor;
  }
  return new TorchQuantizedTensor(
    data as Int8Array,
    [...shape],
    dtype,
    qscheme,
    whole.scale,
    whole.zeroPoint,
    axis as number | undefined,
  );
}

/** Rows of a weight that are multiplied at once, at least. */
const COLUMNS = 64;

/** Multiplies rows of the weight with rows of the input, a box of the result at a time. */
async function* linear(
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
  const biases = (isObject(bias) && "data" in bias ? bias.data : bias) as
    | NumberArray
    | undefined
    | null;
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

async function* makeLayer(zp: Zeropoint, [weight, options = {}]: readonly unknown[]): Batches {
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

interface Forward {
  readonly inFeatures: number;
  readonly outFeatures: number;
  forward(x: unknown, out?: unknown): unknown;
}

async function* forward(
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

/** Whole tiles of the core's sums. */
const SUMS = 4096;

async function* quantizationError(
  zp: Zeropoint,
  [a, b, metric, options]: readonly unknown[],
): Batches<number> {
  const { axis, groupSize } = (options ?? {}) as Fields;
  if (axis !== undefined || groupSize !== undefined) return undefined;
  const [x, y] = [largeTensor(a), largeTensor(b)];
  if (x === undefined || String(y?.shape) !== String(x.shape)) return undefined;
  const total = x.data.length;
  const others = partsOf({ ...(y as Large), shape: [total] }, boxesOf([total], SUMS, VALUES));
  let sum: ErrorTotal | undefined;
  for await (const [part, { offset, size }] of partsOf(
    { ...x, shape: [total] },
    boxesOf([total], SUMS, VALUES),
  )) {
    const other = (await others.next()).value[0] as Fields;
    const pair = [part, other] as unknown as [Tensor, Tensor];
    sum = zp.measurePart(...pair, metric as "mse", offset, total, sum);
    yield (offset + size) / total;
  }
  return sum?.value;
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
  quantizePerTensor: (zp, args) => torch(zp, "quantizePerTensor", args),
  quantizePerChannel: (zp, args) => torch(zp, "quantizePerChannel", args),
  fakeQuantizePerTensor: (zp, args) => torch(zp, "fakeQuantizePerTensor", args),
  fakeQuantizePerChannel: (zp, args) => torch(zp, "fakeQuantizePerChannel", args),
};

/** The positions of the arguments whose arrays a function or method reads part by part. */
export function partialArguments(self: object | undefined, name: string): readonly number[] {
  if (self !== undefined) return name === "forward" && rowwise.has(self) ? [0] : [];
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
    if (name === "forward" && "inFeatures" in self)
      return yield* forward(self as Forward, args, products);
    if (name === "calibrate") return yield* calibrate(self as Calibrated, args);
    return undefined;
  } catch (error) {
    // Running the whole call would show the model earlier batches a second time.
    if (name === "calibrate") throw error;
    return undefined;
  }
}
