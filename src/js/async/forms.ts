// What the asynchronous functions do, loaded with the first call of one: their work in pieces.

import {
  arrayLength,
  checkStillThere,
  type NumberArray,
  newArray,
  setArray,
  subarrayOf,
} from "../arrays.js";
import { aroundAxis, type CheckedTensor, sizeOf } from "../check.js";
import type { Overflow } from "../core/baseline.js";
import type { Core } from "../core.js";
import { type Codes, type CodesByQDType, DTYPES, type DType, type QDType } from "../dtype.js";
import {
  chooseError,
  chosenResult,
  type ElementwiseOperation,
  emptyError,
} from "../elementwise.js";
import type { Measured } from "../error.js";
import { disposed } from "../errors.js";
import { laidOut, oneSlice, type SliceCounts } from "../granularity.js";
import { runOn } from "../init.js";
import type { Accumulate, Batch, CheckedLinear } from "../linear.js";
import type { ElementType } from "../memory.js";
import { freeAxes, type Piecewise } from "../model/layer.js";
import { type CheckedPacked, packedSize } from "../pack.js";
import { type NumberList, PackedWeight, type WeightCodes } from "../packed-weight.js";
import {
  type CheckedOptions,
  type CheckedQuantized,
  type LaidOutQParams,
  type QuantizedTensor,
  quantizedResult,
  type ScaleAndZeroPoint,
} from "../qparams.js";
import type {
  CheckedQTensor,
  TensorQParams,
  TorchQParams,
  TorchQuantizedTensor,
} from "../qtensor.js";
import { Tensor } from "../tensor.js";
import { tileQParams, tilesOf } from "../tiles.js";
import {
  chooseDynamic,
  type DynamicSource,
  quantizedFrom,
  type ToFakeQuantize,
  type ToQuantize,
} from "../torch.js";
import { type TorchOperation, typesOf } from "../torch-elementwise.js";
import type { Look, Question } from "../uniform.js";
import { activationFor } from "../w8a8.js";
import type { Procedure } from "../work.js";
import { type AsyncSettings, type Progress, runHere, throwIfAborted } from "./background.js";
import { pause } from "./executors.js";
import type { Job, Piece, Step } from "./job.js";
import type { ResultArray, ResultType } from "./tasks.js";

export { perform } from "./job.js";

/** Values of a piece: few enough for one to be copied in a fraction of a millisecond. */
const PIECE = 2 ** 19;
/** Products of a piece of a layer: some ten milliseconds. */
const PRODUCTS = 2 ** 27;

// ---- Results

/** Has pieces performed that fill a result. */
async function collect(
  job: Job,
  type: ResultType,
  length: number,
  pieces: () => Iterable<Piece>,
): Promise<ResultArray> {
  await job.perform({ kind: "open", type, length });
  if (length > 0) await job.performAll(pieces());
  const { result } = await job.perform({ kind: "close" });
  return result as ResultArray;
}

/** How much is copied without a pause: some milliseconds at most. */
const COPY = 2 ** 22;

/** Copies a result to where the caller wants it; or gives it as it is. */
async function deliver<T extends NumberArray>(
  where: string,
  result: T,
  out: T | undefined,
): Promise<T> {
  if (out === undefined) return result;
  const size = arrayLength(result);
  for (let start = 0; start < size; start += COPY) {
    if (start > 0) await pause();
    checkStillThere(where, out, size);
    setArray(out, subarrayOf(result, start, Math.min(size, start + COPY)), start);
  }
  return out;
}

/** The tensor of a float32 result: a new one, or the one that `out` asks for. */
async function deliverTensor(
  where: string,
  result: ResultArray,
  shape: readonly number[],
  out: Tensor | undefined,
): Promise<Tensor> {
  const values = result as Float32Array;
  if (out === undefined) return new Tensor(values, shape);
  await deliver(where, values, out.data);
  return out;
}

// ---- Quantizing

/** Chooses qparams. */
export async function chooseQParams(
  job: Job,
  x: CheckedTensor,
  options: CheckedOptions,
): Promise<ScaleAndZeroPoint> {
  job.total = x.size;
  const chosen = await choose(job, x, options);
  job.drop();
  return chosen;
}

/**
 * Quantizes, with qparams that are given or chosen first.
 * @param argument  what messages call the tensor
 */
export async function quantize(
  job: Job,
  x: CheckedTensor,
  options: CheckedOptions,
  out: Codes | undefined,
  argument?: string,
): Promise<QuantizedTensor> {
  const { qparams, result } = await applied(job, "quantize", x, options, argument);
  const data = await deliver(job.where, result as Codes, out);
  return quantizedResult(data, x.shape, qparams, options);
}

/** Quantizes and dequantizes. */
export async function fakeQuantize(
  job: Job,
  x: CheckedTensor,
  options: CheckedOptions,
  out: Tensor | undefined,
): Promise<Tensor> {
  const { result } = await applied(job, "fakeQuantize", x, options);
  return await deliverTensor(job.where, result, x.shape, out);
}

/** Chooses qparams, unless they are given, and applies them; either counts for as much as the other. */
async function applied(
  job: Job,
  operation: ElementwiseOperation,
  x: CheckedTensor,
  options: CheckedOptions,
  argument?: string,
): Promise<{ qparams: ScaleAndZeroPoint; result: ResultArray }> {
  const { given, dtype, slices } = options;
  const { data, size } = x;
  job.total = (given === undefined ? 2 : 1) * size;
  const qparams = given ?? (await choose(job, x, options, argument));
  const both = { ...(given ?? laidOut(slices)), ...qparams };
  return { qparams, result: await apply(job, operation, "Float32Array", data, size, both, dtype) };
}

/** Qparams that fit, chosen piece by piece. */
async function choose(
  job: Job,
  x: CheckedTensor,
  options: CheckedOptions,
  argument = "x",
): Promise<ScaleAndZeroPoint> {
  const { where } = job;
  const { given: _, ...settings } = options;
  const { slices } = settings;
  const { outer, slices: count, inner } = slices;
  if (count !== 0 && outer * inner === 0) throw emptyError(where, argument, x.shape, slices);
  await join(job, x, slices, options.nonFinite === "ignore" ? "ignore" : "keep");
  const { chosen } = await job.perform({ kind: "choose", options: settings });
  if (chosen === undefined || chosen.status !== "kOk") {
    throw chooseError(where, argument, x, slices, chosen?.status ?? "");
  }
  return chosenResult(x.shape, slices, chosen);
}

/** Makes ranges the job's result. */
async function join(
  job: Job,
  x: Pick<CheckedTensor, "data" | "size">,
  counts: SliceCounts,
  nonFinite: "keep" | "ignore",
): Promise<void> {
  await job.perform({ kind: "openRanges", slices: counts.slices });
  if (x.size > 0) await job.performAll(rangePieces(job, x, counts, nonFinite));
}

function* rangePieces(
  job: Job,
  { data, size }: Pick<CheckedTensor, "data" | "size">,
  { outer, slices, inner }: SliceCounts,
  nonFinite: "keep" | "ignore",
): Generator<Piece> {
  for (const tile of tilesOf([outer, slices, inner], [slices, 1], PIECE)) {
    const input = job.piece(data, size, tile.start, tile.size);
    const { shape, qStart } = tile;
    yield {
      step: { kind: "ranges", input, shape, start: 2 * qStart, nonFinite },
      amount: tile.size,
    };
  }
}

/** Runs an element-wise function piece by piece. */
async function apply(
  job: Job,
  operation: ElementwiseOperation,
  inputType: ElementType,
  input: NumberArray,
  size: number,
  qparams: LaidOutQParams,
  dtype: DType,
): Promise<ResultArray> {
  const type = operation === "quantize" ? DTYPES[dtype].arrayName : "Float32Array";
  return await collect(job, type, size, function* () {
    const { viewShape, viewQShape } = qparams;
    for (const tile of tilesOf(viewShape, viewQShape, PIECE)) {
      const { start, size: amount, shape, qShape } = tile;
      const own = copied(tileQParams(qparams, tile));
      const step: Step = {
        kind: "apply",
        start,
        operation,
        inputType,
        input: job.piece(input, size, start, amount, inputType),
        size: amount,
        qparams: { ...own, viewShape: shape, viewQShape: qShape },
        dtype,
      };
      yield { step, amount };
    }
  });
}

/** Qparams that no other tile shares memory with: a message takes all of an array's memory along. */
function copied({ scale, zeroPoint }: ScaleAndZeroPoint): ScaleAndZeroPoint {
  if (typeof scale === "number" || typeof zeroPoint === "number") return { scale, zeroPoint };
  return {
    scale: { data: scale.data.slice(), shape: scale.shape },
    zeroPoint: { data: zeroPoint.data.slice(), shape: zeroPoint.shape },
  };
}

/** Dequantizes. */
export async function dequantize(
  job: Job,
  { qparams, codes, shape, size, dtype }: CheckedQuantized,
  out: Tensor | undefined,
): Promise<Tensor> {
  job.total = size;
  const { arrayName } = DTYPES[dtype];
  const result = await apply(job, "dequantize", arrayName, codes, size, qparams, dtype);
  return await deliverTensor(job.where, result, shape, out);
}

// ---- PyTorch's own functions

/** Dequantizes a tensor of one of PyTorch's dtypes. */
export async function dequantizeTorch(
  job: Job,
  { codes, shape, size, dtype, qparams }: CheckedQTensor,
  out: Tensor | undefined,
): Promise<Tensor> {
  job.total = size;
  const x = { data: codes, shape, size };
  const result = await applyTorch(job, x, qparams, { kind: "dequantize", dtype });
  return await deliverTensor(job.where, result, shape, out);
}

/** Quantizes to one of PyTorch's dtypes. */
export async function quantizeTorch<D extends QDType>(
  job: Job,
  task: ToQuantize<D>,
  overflow: Overflow,
  out: CodesByQDType[D] | undefined,
): Promise<TorchQuantizedTensor<D>> {
  job.total = task.x.size;
  return await quantizedTorch(job, task, overflow, out);
}

/** The same with qparams that are chosen first; either counts for as much as the other. */
export async function quantizeTorchDynamic<D extends QDType>(
  job: Job,
  source: DynamicSource<D>,
  overflow: Overflow,
  out: CodesByQDType[D] | undefined,
): Promise<TorchQuantizedTensor<D>> {
  job.total = 2 * source.x.size;
  const range = await rangeOf(job, source.x);
  const task = chooseDynamic(job.core, job.where, source, range, overflow);
  return await quantizedTorch(job, task, overflow, out);
}

async function quantizedTorch<D extends QDType>(
  job: Job,
  task: ToQuantize<D>,
  overflow: Overflow,
  out: CodesByQDType[D] | undefined,
): Promise<TorchQuantizedTensor<D>> {
  const { x, dtype, qparams } = task;
  const result = await applyTorch(job, x, qparams, { kind: "quantize", dtype, overflow });
  return quantizedFrom(task, await deliver(job.where, result as CodesByQDType[D], out));
}

/** Quantizes to one of PyTorch's dtypes, and dequantizes. */
export async function fakeQuantizeTorch(
  job: Job,
  { x, limits, qparams }: ToFakeQuantize,
  overflow: Overflow,
  out: Tensor | undefined,
): Promise<Tensor> {
  job.total = x.size;
  const result = await applyTorch(job, x, qparams, { kind: "fakeQuantize", ...limits, overflow });
  return await deliverTensor(job.where, result, x.shape, out);
}

/** Runs a function piece by piece. */
async function applyTorch(
  job: Job,
  x: CheckedTensor,
  qparams: TorchQParams,
  operation: TorchOperation,
): Promise<ResultArray> {
  const pieces = () => torchPieces(job, x, qparams, operation);
  return await collect(job, typesOf(operation).to, x.size, pieces);
}

function* torchPieces(
  job: Job,
  { data, shape, size }: CheckedTensor,
  qparams: TorchQParams,
  operation: TorchOperation,
): Generator<Piece> {
  const { from } = typesOf(operation);
  if (!("axis" in qparams)) {
    for (const { start, size: amount } of tilesOf([size], [], PIECE)) {
      const input = job.piece(data, size, start, amount, from);
      const kind = "torchPerTensor";
      yield { step: { kind, start, input, size: amount, qparams, operation }, amount };
    }
    return;
  }
  const { axis, scales, zeroPoints } = qparams;
  for (const tile of tilesOf(aroundAxis(shape, axis), [shape[axis], 1], PIECE)) {
    const { start, size: amount, qStart, qCount } = tile;
    const step: Step = {
      kind: "torchPerChannel",
      start,
      input: job.piece(data, size, start, amount, from),
      size: amount,
      shape: tile.shape,
      scales: scales.slice(qStart, qStart + qCount),
      zeroPoints: zeroPoints.slice(qStart, qStart + qCount),
      operation,
    };
    yield { step, amount };
  }
}

// ---- Packing

/** Packs codes. */
export async function pack(
  job: Job,
  { codes, size, dtype }: CheckedQuantized,
): Promise<Uint8Array> {
  job.total = size;
  const { arrayName } = DTYPES[dtype];
  const result = await collect(job, "Uint8Array", packedSize(size, dtype), function* () {
    for (const { start, size: amount } of tilesOf([size], [], PIECE)) {
      const input = job.piece(codes, size, start, amount, arrayName) as Codes;
      // A piece but the last one is a whole number of bytes.
      const own = { start: packedSize(start, dtype), count: packedSize(amount, dtype) };
      const kind = "convertBits";
      yield { step: { kind, operation: "pack", input, dtype, size: amount, ...own }, amount };
    }
  });
  return result as Uint8Array;
}

/** Unpacks bytes. */
export async function unpack(job: Job, packed: CheckedPacked): Promise<QuantizedTensor> {
  const { bytes, size, dtype } = packed;
  job.total = size;
  const codes = await collect(job, DTYPES[dtype].arrayName, size, function* () {
    for (const { start, size: amount } of tilesOf([size], [], PIECE)) {
      const [first, count] = [packedSize(start, dtype), packedSize(amount, dtype)];
      const input = job.piece(bytes, packedSize(size, dtype), first, count, "Uint8Array") as Codes;
      const own = { start, count: amount };
      const kind = "convertBits";
      yield { step: { kind, operation: "unpack", input, dtype, size: amount, ...own }, amount };
    }
  });
  return quantizedResult(codes as Codes, packed.shape, packed.qparams, packed);
}

// ---- Observing

/** The range of each slice of a weight. */
export async function rangesOf(
  job: Job,
  x: CheckedTensor,
  counts: SliceCounts,
): Promise<Float32Array> {
  job.total = x.size;
  return await ranges(job, x, counts, "keep");
}

/** The range of each slice. */
async function ranges(...work: Parameters<typeof join>): Promise<Float32Array> {
  const [job] = work;
  await join(...work);
  const { result } = await job.perform({ kind: "close" });
  return result as Float32Array;
}

/** Answers what an observer asks about a batch. */
export async function observe(job: Job, x: CheckedTensor, look: Look): Promise<void> {
  let done = 0;
  for (let step = look.next(); step.done !== true; done += x.size) {
    job.total = done + step.value.passes * x.size;
    step = look.next(await answer(job, x, step.value));
  }
}

async function answer(
  job: Job,
  x: CheckedTensor,
  question: Question,
): Promise<Float32Array | Uint32Array> {
  if (question.kind === "ranges") return await ranges(job, x, question.counts, question.nonFinite);
  const { data, size } = x;
  const { range, bins } = question;
  const counts = await collect(job, "Uint32Array", bins, function* () {
    for (const { start, size: amount } of tilesOf([size], [], PIECE)) {
      const input = job.piece(data, size, start, amount);
      yield { step: { kind: "counts", input, size: amount, range }, amount };
    }
  });
  return counts as Uint32Array;
}

// ---- Measuring

/** Measures how far two tensors are apart. */
export async function quantizationError(job: Job, tensors: Measured): Promise<number> {
  job.total = tensors.size;
  const { measured } = await job.performAll(errorPieces(job, tensors));
  job.drop();
  return measured as number;
}

function* errorPieces(job: Job, { a, b, size: total, metric }: Measured): Generator<Piece> {
  for (let begin = 0; begin === 0 || begin < total; begin += PIECE) {
    const size = Math.min(PIECE, total - begin);
    const step: Step = {
      kind: "error",
      a: job.piece(a, total, begin, size),
      b: job.piece(b, total, begin, size),
      metric,
      begin,
      size,
      total,
    };
    yield { step, amount: size };
  }
}

// ---- Multiplying

/** Multiplies by a weight that goes along in pieces. */
export async function linear(job: Job, call: CheckedLinear, out?: Tensor): Promise<Tensor> {
  const { outShape, outSize } = call.batch;
  job.total = outSize;
  const result = await collect(job, "Float32Array", outSize, () => linearPieces(job, call));
  return await deliverTensor(job.where, result, outShape, out);
}

/** Some rows of the input times some rows of the weight. */
function* linearPieces(
  job: Job,
  { weight, batch, bias, accumulate }: CheckedLinear,
): Generator<Piece> {
  const { inFeatures: k, outFeatures: width } = weight;
  const most = Math.max(1, Math.floor(PIECE / Math.max(1, k)));
  const weightStep = Math.min(width, most);
  for (const [row, rows] of rowPieces(batch.rows, most)) {
    for (let first = 0; first < width; first += weightStep) {
      const count = Math.min(weightStep, width - first);
      const data = job.piece(batch.data, batch.size, row * k, rows * k) as Float32Array;
      const biasPart = bias && job.piece(bias, width, first, count);
      const step: Step = {
        kind: "linear",
        batch: { data, size: rows * k, rows },
        ...weightPart(job, weight, first, count),
        bias: biasPart as Float32Array | undefined,
        accumulate,
        start: row * width + first,
        width,
      };
      yield { step, amount: rows * count };
    }
  }
}

/** Rows that are worth reading a weight for. */
const FEWEST_ROWS = 8;

/**
 * Pieces of so many rows, or a few more: [first, count]. In float32 a row's result depends on its place
 * among four, and on whether there are eight; here it is what it is in one piece.
 */
function* rowPieces(rows: number, wanted: number): Generator<[number, number]> {
  const step = Math.max(FEWEST_ROWS, 4 * Math.floor(wanted / 4));
  for (let row = 0; row < rows; ) {
    const left = rows - row;
    const count = left < step + FEWEST_ROWS ? left : step;
    yield [row, count];
    row += count;
  }
}

/** Some rows of a weight. */
function weightPart(
  job: Job,
  weight: CheckedLinear["weight"],
  first: number,
  count: number,
): Pick<Extract<Step, { kind: "linear" }>, "values" | "weight"> {
  const { inFeatures: k, outFeatures: n } = weight;
  const rows = (array: NumberArray, type: ElementType) =>
    job.piece(array, n * k, first * k, count * k, type);
  if ("values" in weight) {
    const values = rows(weight.values, "Float32Array");
    return { values, weight: { outFeatures: count, inFeatures: k } };
  }
  const { codes, scales, zeroPoints, ...rest } = weight;
  const { granularity, dtype } = rest;
  const each = granularity === "perOutput" || granularity === "perGroup" ? scales.length / n : 0;
  const end = each === 0 ? scales.length : (first + count) * each;
  // Copied, since a message takes all of an array's memory along.
  const own = (type: typeof Float32Array | typeof Int32Array, all: NumberList) =>
    type.from(all as ArrayLike<number>).slice(first * each, end);
  return {
    values: rows(codes, DTYPES[dtype].arrayName),
    weight: {
      ...rest,
      outFeatures: count,
      scales: own(Float32Array, scales),
      zeroPoints: own(Int32Array, zeroPoints),
    },
  };
}

/** Packs a weight, which counts for as much as sending it. */
export async function packWeight(
  job: Job,
  { codes, ...weight }: WeightCodes,
  bias: NumberArray | undefined,
): Promise<PackedWeight> {
  const { outFeatures: n, inFeatures: k } = weight;
  const size = n * k;
  job.total = 2 * size;
  const type = DTYPES[weight.dtype].arrayName;
  await job.perform({ kind: "open", type, length: size });
  const { result } = await job.performAll(
    (function* () {
      for (const { start, size: amount } of tilesOf([size], [], PIECE)) {
        yield {
          step: { kind: "copy", start, input: job.piece(codes, size, start, amount, type) },
          amount,
        };
      }
      const own = bias && (job.piece(bias, n, 0, n) as Float32Array);
      yield { step: { kind: "packWeight", weight, bias: own }, amount: size };
    })(),
  );
  const bytes = result as Uint8Array;
  const biasOffset = bias === undefined ? 0 : bytes.length - 4 * n;
  return new PackedWeight(job.core, job.where, {
    outFeatures: n,
    inFeatures: k,
    bytes,
    biasOffset,
  });
}

/** How a layer computes. */
interface LayerSettings {
  readonly accumulate: Accumulate;
  /** Of dynamic activations; undefined for float32. */
  readonly reduceRange: boolean | undefined;
}

/** Multiplies by a packed weight, which the executor keeps. */
export async function forward(
  job: Job,
  weight: PackedWeight,
  { accumulate, reduceRange }: LayerSettings,
  batch: Batch,
  out: Tensor | undefined,
): Promise<Tensor> {
  const { outShape, outSize, size } = batch;
  job.total = outSize + (reduceRange === undefined ? 0 : size);
  let activation: TensorQParams | undefined;
  if (reduceRange !== undefined && outSize > 0) {
    activation = activationFor(job.core, job.where, await rangeOf(job, batch), reduceRange);
  }
  const pieces = layerPieces(job, weight, batch, "Float32Array", { accumulate, activation });
  const result = await collect(job, "Float32Array", outSize, await pieces);
  return await deliverTensor(job.where, result, outShape, out);
}

/** Multiplies codes by a packed weight, to codes. */
export async function forwardStatic(
  job: Job,
  weight: PackedWeight,
  codes: Uint8Array,
  activation: TensorQParams,
  output: TensorQParams,
  rows: number,
): Promise<Uint8Array> {
  const size = rows * weight.outFeatures;
  job.total = size;
  const batch = { data: codes, size: codes.length, rows };
  const how = { accumulate: "exact", activation, output } as const;
  const pieces = layerPieces(job, weight, batch, "Uint8Array", how);
  return (await collect(job, "Uint8Array", size, await pieces)) as Uint8Array;
}

/** Some rows of a layer's input at a time, for a weight that the executor has by then. */
async function layerPieces(
  job: Job,
  weight: PackedWeight,
  { data, size, rows }: Pick<Batch, "data" | "size" | "rows">,
  type: ElementType,
  how: Pick<Extract<Step, { kind: "forward" }>, "accumulate" | "activation" | "output">,
): Promise<() => Generator<Piece>> {
  const held = await job.weight(weight);
  const { inFeatures: k, outFeatures: n } = weight;
  const wanted = Math.min(PRODUCTS / (k * n + 1), PIECE / (k + 1));
  return function* () {
    for (const [row, count] of rowPieces(rows, wanted)) {
      weight.checkAlive(job.where);
      const input = job.piece(data, size, row * k, count * k, type);
      const start = row * n;
      const step: Step = { kind: "forward", weight: held, input, rows: count, start, ...how };
      yield { step, amount: count * n };
    }
  };
}

/** The range of all values; PyTorch takes an input without values for one of zeros. */
async function rangeOf(
  job: Job,
  { data, size }: Pick<CheckedTensor, "data" | "size">,
): Promise<Iterable<number>> {
  if (size === 0) return [0, 0];
  return await ranges(job, { data, size }, oneSlice(size), "keep");
}

// ---- Layers of models

/** Runs a layer on this thread, with a pause after every piece of about so many values. */
export async function forwardHere(
  layer: Piecewise,
  where: string,
  { data, shape, size: total }: CheckedTensor,
  piece: number,
  settings: AsyncSettings,
): Promise<Tensor> {
  const { signal, onProgress } = settings;
  const free = freeAxes(layer, shape);
  const unitShape = shape.slice(free);
  const unit = sizeOf(unitShape);
  const step = unit * Math.max(1, Math.floor(piece / unit));
  const result = newArray(where, Float32Array, total);
  for (let start = 0; start < total; start += step) {
    checkStillThere(where, data, total);
    const done = Math.min(total, start + step);
    const part = subarrayOf(data, start, done);
    // Of the same rank: a layer may count its axes from the outermost one.
    const lead = [...shape.slice(1, free).fill(1), (done - start) / unit];
    const own = onProgress && ((progress: Progress) => onProgress({ ...progress, done, total }));
    const y = await runHere(layer.typeName, { signal, onProgress: own }, () =>
      layer.forward({ data: part, shape: [...lead, ...unitShape] }),
    );
    result.set(y.data, start);
    await pause();
  }
  throwIfAborted(signal);
  return new Tensor(result, shape);
}

/**
 * Has the work of a procedure, `total` of its units, done on another thread.
 * @param where  who goes on only while the instance is there; undefined for what may outlive it
 */
export async function workAway<T>(
  core: Core,
  procedure: Procedure<T>,
  total: number,
  { signal, onProgress }: AsyncSettings,
  where?: string,
): Promise<T> {
  const check = (): void => {
    if (where !== undefined && core.isDisposed) throw disposed(where);
  };
  check();
  let before = 0;
  let step = runOn(core, () => procedure.next());
  while (step.done !== true) {
    const { amount, away } = step.value;
    const done = ({ done, total: all }: Progress) => before + (amount * done) / all;
    const own =
      onProgress && ((part: Progress) => onProgress({ ...part, done: done(part), total }));
    const outcome = await runOn(core, () => away({ signal, onProgress: own })).then(
      (value) => () => {
        check();
        return value;
      },
      (error) => () => {
        throw error;
      },
    );
    before += amount;
    step = runOn(core, () => procedure.next(outcome));
  }
  return step.value;
}
