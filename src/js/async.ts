// The asynchronous forms: what the functions of the same names do, off this thread.

import { arrayLength, checkStillThere, type NumberArray, setArray, subarrayOf } from "./arrays.js";
import type { ResultArray, ResultType } from "./async-work.js";
import {
  ASYNC_OPTIONS,
  type AsyncOptions,
  checkAsync,
  type Job,
  type Piece,
  runJob,
  type Step,
} from "./background.js";
import {
  type CheckedTensor,
  checkOptions,
  checkOut,
  checkTensor,
  type TensorInput,
} from "./check.js";
import type { OutOption } from "./dequantize.js";
import { type Codes, DTYPES, type DType } from "./dtype.js";
import { chooseError, chosenResult, type Elementwise, emptyError } from "./elementwise.js";
import { checkMeasured, type Metric } from "./error.js";
import { laidOut } from "./granularity.js";
import { activeCore } from "./init.js";
import { type CheckedLinear, checkLinear, type LinearOptions } from "./linear.js";
import type { ElementType } from "./memory.js";
import {
  CHOOSE_OPTIONS,
  type CheckedOptions,
  type CheckedQParams,
  type ChooseQParamsOptions,
  checkQuantized,
  checkQuantizeOptions,
  type FromArguments,
  type GranularityOf,
  type QParamInput,
  type QParams,
  QUANTIZE_OPTIONS,
  type QuantizedTensor,
  type QuantizedTensorInput,
  type QuantizeOptions,
  qparamsResult,
  quantizedResult,
  type ScaleAndZeroPoint,
} from "./qparams.js";
import {
  type CheckedQTensor,
  checkQTensor,
  looksTorchQuantized,
  QDTYPES,
  type TorchQuantizedTensorInput,
} from "./qtensor.js";
import { quantizeOptions } from "./quantize.js";
import { checkTensorOut, Tensor } from "./tensor.js";
import { tileQParams, tilesOf } from "./tiles.js";

/** Values of a piece: few enough for one to be copied in a fraction of a millisecond. */
export const PIECE = 2 ** 19;

/** Ranges and choosing count for half of what quantizing counts: half the bytes, and no result. */
const QUANTIZE_ASYNC = [...QUANTIZE_OPTIONS, "out", ...ASYNC_OPTIONS];

// ---- Parts of jobs

/** Chooses qparams piece by piece. */
async function choose(
  job: Job,
  where: string,
  x: CheckedTensor,
  options: CheckedOptions,
): Promise<ScaleAndZeroPoint> {
  const { slices, dtype, scheme, includeZero, nonFinite } = options;
  const { outer, slices: count, inner } = slices;
  if (count !== 0 && outer * inner === 0) throw emptyError(where, "x", x.shape, slices);
  await job.perform({ kind: "openRanges", slices: count });
  await job.performAll(rangePieces(job, x, options));
  const settings = { dtype, scheme, includeZero, nonFinite };
  const { chosen } = await job.perform({ kind: "choose", options: settings });
  if (chosen === undefined || chosen.status !== "kOk") {
    throw chooseError(where, "x", x, slices, chosen?.status ?? "");
  }
  return chosenResult(where, x.shape, slices, chosen);
}

function* rangePieces(
  job: Job,
  { data, size }: CheckedTensor,
  { slices: { outer, slices, inner }, nonFinite }: CheckedOptions,
): Generator<Piece> {
  if (size === 0) return;
  const kept = nonFinite === "ignore" ? "ignore" : "keep";
  for (const tile of tilesOf([outer, slices, inner], [slices, 1], PIECE)) {
    const input = job.piece(data, size, tile.start, tile.size);
    const { shape, qStart } = tile;
    const start = 2 * qStart;
    yield { step: { kind: "ranges", input, shape, start, nonFinite: kept }, amount: tile.size };
  }
}

/** Runs an element-wise function piece by piece. */
async function apply(
  job: Job,
  operation: Elementwise,
  inputType: ElementType,
  input: NumberArray,
  size: number,
  qparams: Omit<CheckedQParams, "slices">,
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

/** Has pieces performed that fill a result. */
export async function collect(
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

/** Qparams that no other tile shares memory with: a message takes all of an array's memory along. */
function copied({ scale, zeroPoint }: ScaleAndZeroPoint): ScaleAndZeroPoint {
  if (typeof scale === "number" || typeof zeroPoint === "number") return { scale, zeroPoint };
  return {
    scale: { data: scale.data.slice(), shape: scale.shape },
    zeroPoint: { data: zeroPoint.data.slice(), shape: zeroPoint.shape },
  };
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
    if (start > 0) await new Promise((resolve) => setTimeout(resolve));
    checkStillThere(where, out, size);
    setArray(out, subarrayOf(result, start, Math.min(size, start + COPY)), start);
  }
  return out;
}

/** The tensor of a float32 result: a new one, or the one that `out` asks for. */
export async function deliverTensor(
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

/** `options.out`, checked; undefined if there is none. */
export function checkGivenOut(
  where: string,
  out: unknown,
  shape: readonly number[],
  size: number,
  inputs: readonly NumberArray[],
): Tensor | undefined {
  if (out === undefined) return undefined;
  return checkTensorOut(where, "options.out", out, shape, size, inputs);
}

// ---- The functions

/**
 * `quantize`, off this thread: in a worker that starts with the first such call and serves all of
 * them, or on this thread with a pause after every piece where no worker can be had (`onProgress`
 * tells). The result has the same bits.
 *
 * The arguments are checked at once, and a mistake in them rejects the promise as `quantize` would
 * throw. The values are read while the promise is pending, piece by piece: leave them as they are
 * until it settles. `options.out` is written only when all is done.
 *
 * @param x        float32, any shape; other numbers are rounded to float32
 * @param options  those of `quantize`, and
 * @param options.signal      stops the work: the promise is rejected with the signal's reason
 * @param options.onProgress  called after every piece with `{ done, total, offThread, reason }`
 * @returns a promise of what `quantize` returns
 * @throws {TypeError|RangeError} (as a rejection) what `quantize` throws; `ZP_DETACHED` if `x` or `out`
 *   is resized or transferred before the end
 * @throws {Error} (as a rejection) `ZP_WORKER_LOST` if the worker ends before its work; the next call
 *   starts another
 * @example
 * const q = await quantizeAsync(weight, { axis: 0, signal: AbortSignal.timeout(1000) });
 */
export async function quantizeAsync<
  D extends DType = "int8",
  Axis extends number | undefined = undefined,
  Size extends number | undefined = undefined,
  Scale extends QParamInput | undefined = undefined,
  Zero extends QParamInput | undefined = undefined,
>(
  x: TensorInput,
  options?: QuantizeOptions<D, Axis, Size, Scale, Zero> &
    AsyncOptions & {
      /** Where to write the codes; an array of the dtype's type, apart from `x`. */
      out?: Codes<D> | undefined;
    },
): Promise<QuantizedTensor<D, GranularityOf<Axis, Size, Scale, Zero>>> {
  const where = "quantizeAsync";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const given = quantizeOptions(where, options, QUANTIZE_ASYNC);
  const settings = checkAsync(where, given);
  const { data: values, shape, size } = checkedX;
  const checked = checkQuantizeOptions(where, given, shape);
  const { dtype, scheme, slices } = checked;
  const { arrayName } = DTYPES[dtype];
  const out =
    given.out === undefined
      ? undefined
      : (checkOut(where, "options.out", given.out, arrayName, size, [values]) as Codes);
  const total = (checked.given === undefined ? 2 : 1) * size;
  return await runJob(core, where, settings, total, async (job) => {
    const qparams = checked.given ?? (await choose(job, where, checkedX, checked));
    const layout = checked.given ?? laidOut(slices);
    const both = { ...layout, ...qparams };
    const result = await apply(job, "quantize", "Float32Array", values, size, both, dtype);
    const data = await deliver(where, result as Codes, out);
    const q = quantizedResult(data, shape, qparams, dtype, scheme, slices);
    return q as QuantizedTensor<D, GranularityOf<Axis, Size, Scale, Zero>>;
  });
}

/**
 * `chooseQParams`, off this thread; `quantizeAsync` says how.
 *
 * @param x        float32, any shape; other numbers are rounded to float32
 * @param options  those of `chooseQParams`, and `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `chooseQParams` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `chooseQParams` and `quantizeAsync` throw
 * @example const { scale } = await chooseQParamsAsync(weight, { axis: 0 });
 */
export async function chooseQParamsAsync<
  D extends DType = "int8",
  Axis extends number | undefined = undefined,
  Size extends number | undefined = undefined,
>(
  x: TensorInput,
  options?: ChooseQParamsOptions<D, Axis, Size> & AsyncOptions,
): Promise<QParams<FromArguments<D>, GranularityOf<Axis, Size>>> {
  const where = "chooseQParamsAsync";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const given = checkOptions(where, options, [...CHOOSE_OPTIONS, ...ASYNC_OPTIONS]);
  const settings = checkAsync(where, given);
  const checked = checkQuantizeOptions(where, given, checkedX.shape);
  return await runJob(core, where, settings, checkedX.size, async (job) => {
    const chosen = await choose(job, where, checkedX, checked);
    job.drop();
    const { dtype, scheme, slices } = checked;
    const result: QParams = qparamsResult(chosen, dtype, scheme, slices);
    return result as QParams<FromArguments<D>, GranularityOf<Axis, Size>>;
  });
}

/**
 * `dequantize`, off this thread; `quantizeAsync` says how.
 *
 * @param q        what `quantize`, `quantizePerTensor` or `quantizePerChannel` returns, or an object
 *   with the same fields
 * @param options  those of `dequantize`, and `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `dequantize` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `dequantize` and `quantizeAsync` throw
 * @example const x = await dequantizeAsync(q);
 */
export async function dequantizeAsync(
  q: QuantizedTensorInput | TorchQuantizedTensorInput,
  options?: OutOption & AsyncOptions,
): Promise<Tensor> {
  const where = "dequantizeAsync";
  const core = activeCore(where);
  const given = checkOptions(where, options, ["out", ...ASYNC_OPTIONS]);
  const settings = checkAsync(where, given);
  if (looksTorchQuantized(q)) {
    const checked = checkQTensor(where, "q", q);
    const { shape, size, codes } = checked;
    const out = checkGivenOut(where, given.out, shape, size, [codes]);
    return await runJob(core, where, settings, size, async (job) => {
      const result = await collect(job, "Float32Array", size, () => torchPieces(job, checked));
      return await deliverTensor(where, result, shape, out);
    });
  }
  const { qparams, codes, shape, size, dtype } = checkQuantized(where, "q", q);
  const out = checkGivenOut(where, given.out, shape, size, [codes]);
  return await runJob(core, where, settings, size, async (job) => {
    const { arrayName } = DTYPES[dtype];
    const result = await apply(job, "dequantize", arrayName, codes, size, qparams, dtype);
    return await deliverTensor(where, result, shape, out);
  });
}

/** The pieces of a tensor of one of PyTorch's dtypes that is dequantized. */
function* torchPieces(
  job: Job,
  { codes, shape, size, dtype, qparams }: CheckedQTensor,
): Generator<Piece> {
  const type = QDTYPES[dtype].arrayName;
  if (!("axis" in qparams)) {
    for (const { start, size: amount } of tilesOf([size], [], PIECE)) {
      const input = job.piece(codes, size, start, amount, type);
      const operation = { kind: "dequantize", dtype, ...qparams } as const;
      yield { step: { kind: "torchPerTensor", start, input, size: amount, operation }, amount };
    }
    return;
  }
  const { axis, scales, zeroPoints } = qparams;
  const channels = shape[axis];
  const inner = shape.slice(axis + 1).reduce((product, length) => product * length, 1);
  const view = [size / channels / inner, channels, inner];
  for (const tile of tilesOf(view, [channels, 1], PIECE)) {
    const { start, size: amount, qStart, qCount } = tile;
    const step: Step = {
      kind: "torchPerChannel",
      start,
      input: job.piece(codes, size, start, amount, type),
      size: amount,
      shape: tile.shape,
      scales: scales.slice(qStart, qStart + qCount),
      zeroPoints: zeroPoints.slice(qStart, qStart + qCount),
      operation: { kind: "dequantize", dtype },
    };
    yield { step, amount };
  }
}

/**
 * `fakeQuantize`, off this thread; `quantizeAsync` says how.
 *
 * @param x        float32, any shape; other numbers are rounded to float32
 * @param options  those of `fakeQuantize`, and `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `fakeQuantize` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `fakeQuantize` and `quantizeAsync` throw
 * @example const y = await fakeQuantizeAsync(x, { dtype: "int4", groupSize: 32 });
 */
export async function fakeQuantizeAsync(
  x: TensorInput,
  options?: QuantizeOptions<
    DType,
    number | undefined,
    number | undefined,
    QParamInput | undefined,
    QParamInput | undefined
  > &
    OutOption &
    AsyncOptions,
): Promise<Tensor> {
  const where = "fakeQuantizeAsync";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const given = quantizeOptions(where, options, QUANTIZE_ASYNC);
  const settings = checkAsync(where, given);
  const { data: values, shape, size } = checkedX;
  const checked = checkQuantizeOptions(where, given, shape);
  const { dtype, slices } = checked;
  const out = checkGivenOut(where, given.out, shape, size, [values]);
  const total = (checked.given === undefined ? 2 : 1) * size;
  return await runJob(core, where, settings, total, async (job) => {
    const qparams = checked.given ?? (await choose(job, where, checkedX, checked));
    const layout = checked.given ?? laidOut(slices);
    const both = { ...layout, ...qparams };
    const result = await apply(job, "fakeQuantize", "Float32Array", values, size, both, dtype);
    return await deliverTensor(where, result, shape, out);
  });
}

/**
 * `quantizationError`, off this thread; `quantizeAsync` says how.
 *
 * @param a        float32, any shape: the signal
 * @param b        float32, of the same shape
 * @param metric   default: `"mse"`
 * @param options  `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `quantizationError` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `quantizationError` and `quantizeAsync`
 *   throw
 * @example const decibels = await quantizationErrorAsync(x, dequantize(q), "sqnr");
 */
export async function quantizationErrorAsync(
  a: TensorInput,
  b: TensorInput,
  metric?: Metric,
  options?: AsyncOptions,
): Promise<number> {
  const where = "quantizationErrorAsync";
  const core = activeCore(where);
  const checked = checkMeasured(where, a, b, metric);
  const settings = checkAsync(where, checkOptions(where, options, ASYNC_OPTIONS));
  return await runJob(core, where, settings, checked.size, async (job) => {
    const { measured } = await job.performAll(errorPieces(job, checked));
    job.drop();
    return measured as number;
  });
}

function* errorPieces(
  job: Job,
  { a, b, size: total, metric }: ReturnType<typeof checkMeasured>,
): Generator<Piece> {
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

/** What `linearAsync` takes beside its tensors. */
export interface LinearAsyncOptions extends LinearOptions, OutOption, AsyncOptions {}

/**
 * `linear`, off this thread; `quantizeAsync` says how. The worker gets the weight in pieces, with
 * every call anew.
 *
 * @param input    float32 of shape [..., K]
 * @param weight   float32 of shape [N, K], or a quantized tensor as `linear` takes it
 * @param bias     float32 of shape [N]; default: none
 * @param options.accumulate  as in `linear`
 * @param options.out         where to write the result
 * @param options.signal, options.onProgress  as in `quantizeAsync`
 * @returns a promise of what `linear` returns, float32 of shape [..., N]
 * @throws {TypeError|RangeError|Error} (as a rejection) what `linear` and `quantizeAsync` throw
 * @example const y = await linearAsync(x, quantize(weight, { axis: 0 }), bias);
 */
export async function linearAsync(
  input: TensorInput,
  weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
  bias?: TensorInput | null | undefined,
  options?: LinearAsyncOptions,
): Promise<Tensor> {
  const where = "linearAsync";
  const core = activeCore(where);
  const given = checkOptions(where, options, ["accumulate", "out", ...ASYNC_OPTIONS]);
  const settings = checkAsync(where, given);
  const call = checkLinear(where, input, weight, bias, given.accumulate);
  const { batch, weight: w } = call;
  const arrays = [batch.data, "values" in w ? w.values : w.codes];
  const out = checkGivenOut(where, given.out, batch.outShape, batch.outSize, arrays);
  return await runJob(core, where, settings, batch.outSize, async (job) => {
    const pieces = () => linearPieces(job, call);
    const result = await collect(job, "Float32Array", batch.outSize, pieces);
    return await deliverTensor(where, result, batch.outShape, out);
  });
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
        input: { data, shape: [rows, k] },
        weight: weightPart(job, weight, first, count),
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
export function* rowPieces(rows: number, wanted: number): Generator<[number, number]> {
  const step = Math.max(FEWEST_ROWS, 4 * Math.floor(wanted / 4));
  for (let row = 0; row < rows; ) {
    const left = rows - row;
    const count = left < step + FEWEST_ROWS ? left : step;
    yield [row, count];
    row += count;
  }
}

/** Some rows of a weight, as a tensor of their own. */
function weightPart(
  job: Job,
  weight: CheckedLinear["weight"],
  first: number,
  count: number,
): Extract<Step, { kind: "linear" }>["weight"] {
  const { inFeatures: k, outFeatures } = weight;
  const shape = [count, k];
  const rows = (array: NumberArray, type: ElementType) =>
    job.piece(array, outFeatures * k, first * k, count * k, type);
  if ("values" in weight) {
    return { data: rows(weight.values, "Float32Array") as Float32Array, shape };
  }
  const { dtype, granularity, groupSize, scales, zeroPoints } = weight;
  const data = rows(weight.codes, DTYPES[dtype].arrayName) as Codes;
  const common = { data, shape, dtype, scheme: "affine" } as const;
  const some = (from: number, to: number) => ({
    scale: Float32Array.from(scales as ArrayLike<number>).slice(from, to),
    zeroPoint: Int32Array.from(zeroPoints as ArrayLike<number>).slice(from, to),
  });
  if (granularity === "perTensor") {
    const [scale] = scales as readonly number[];
    const [zeroPoint] = zeroPoints as readonly number[];
    return { ...common, scale, zeroPoint };
  }
  if (granularity === "perInput") return { ...common, ...some(0, k), axis: 1 };
  if (granularity === "perOutput") return { ...common, ...some(first, first + count), axis: 0 };
  const groups = scales.length / outFeatures;
  return { ...common, ...some(first * groups, (first + count) * groups), groupSize };
}
