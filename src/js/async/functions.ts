// The asynchronous forms: what the functions of the same names do, off this thread.

import { checkOut, checkTensor, type TensorInput } from "../check.js";
import type { OutOption } from "../dequantize.js";
import { type Codes, DTYPES, type DType } from "../dtype.js";
import { checkMeasured, type Metric } from "../error.js";
import { activeCore } from "../init.js";
import { arraysOfCall, checkLinear, type LinearOptions } from "../linear.js";
import {
  type AnyQuantizeOptions,
  CHOOSE_OPTIONS,
  type ChooseQParamsOptions,
  checkQuantized,
  checkQuantizeOptions,
  type FromArguments,
  type GranularityOf,
  type NeedsDType,
  type QParamInput,
  type QParams,
  QUANTIZE_OPTIONS,
  type QuantizedTensor,
  type QuantizedTensorInput,
  type QuantizeOptions,
  qparamsResult,
} from "../qparams.js";
import { checkQTensor, looksTorchQuantized, type TorchQuantizedTensorInput } from "../qtensor.js";
import { quantizeOptions } from "../quantize.js";
import { checkGivenOut, type Tensor } from "../tensor.js";
import {
  ASYNC_OPTIONS,
  type AsyncOptions,
  checkAsync,
  checkAsyncOptions,
  runJob,
} from "./background.js";

const QUANTIZE_ASYNC = [...QUANTIZE_OPTIONS, "out", ...ASYNC_OPTIONS];

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
  options?: QuantizeOptions<D | DType, Axis, Size, Scale, Zero> &
    NeedsDType<D> &
    AsyncOptions & {
      /** Where to write the codes: an array of the dtype's type, apart from `x`. */
      out?: Codes<D> | undefined;
    },
): Promise<QuantizedTensor<D, GranularityOf<Axis, Size, Scale, Zero>>> {
  const where = "quantizeAsync";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const given = quantizeOptions(where, options, QUANTIZE_ASYNC);
  const settings = checkAsync(where, given);
  const { data, shape, size } = checkedX;
  const checked = checkQuantizeOptions(where, given, shape, true);
  const { arrayName } = DTYPES[checked.dtype];
  const out =
    given.out === undefined
      ? undefined
      : (checkOut(where, "options.out", given.out, arrayName, size, [data]) as Codes);
  const result: QuantizedTensor = await runJob(
    core,
    where,
    settings,
    "quantize",
    checkedX,
    checked,
    out,
  );
  return result as QuantizedTensor<D, GranularityOf<Axis, Size, Scale, Zero>>;
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
  options?: ChooseQParamsOptions<D | DType, Axis, Size> & NeedsDType<D> & AsyncOptions,
): Promise<QParams<FromArguments<D>, GranularityOf<Axis, Size>>> {
  const where = "chooseQParamsAsync";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const { given, settings } = checkAsyncOptions(where, options, CHOOSE_OPTIONS);
  const checked = checkQuantizeOptions(where, given, checkedX.shape, true);
  const chosen = await runJob(core, where, settings, "chooseQParams", checkedX, checked);
  const result: QParams = qparamsResult(chosen, checked);
  return result as QParams<FromArguments<D>, GranularityOf<Axis, Size>>;
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
  const { given, settings } = checkAsyncOptions(where, options, ["out"]);
  const checked = looksTorchQuantized(q)
    ? checkQTensor(where, "q", q)
    : checkQuantized(where, "q", q, true);
  const out = checkGivenOut(where, given.out, checked.shape, checked.size, [checked.codes]);
  return "scheme" in checked
    ? await runJob(core, where, settings, "dequantize", checked, out)
    : await runJob(core, where, settings, "dequantizeTorch", checked, out);
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
  options?: AnyQuantizeOptions & OutOption & AsyncOptions,
): Promise<Tensor> {
  const where = "fakeQuantizeAsync";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const given = quantizeOptions(where, options, QUANTIZE_ASYNC);
  const settings = checkAsync(where, given);
  const { data, shape, size } = checkedX;
  const checked = checkQuantizeOptions(where, given, shape, true);
  const out = checkGivenOut(where, given.out, shape, size, [data]);
  return await runJob(core, where, settings, "fakeQuantize", checkedX, checked, out);
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
 * @example const decibels = await quantizationErrorAsync(weight, dequantize(q), "sqnr");
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
  const { settings } = checkAsyncOptions(where, options);
  return await runJob(core, where, settings, "quantizationError", checked);
}

/** What `linearAsync` takes beside its tensors. */
export interface LinearAsyncOptions extends LinearOptions, AsyncOptions {}

/**
 * `linear`, off this thread; `quantizeAsync` says how. The worker gets the weight in pieces, with
 * every call anew.
 *
 * @param input    float32 of shape [..., K]
 * @param weight   float32 of shape [N, K], or a quantized tensor as `linear` takes it
 * @param bias     float32 of shape [N]; default: none
 * @param options.accumulate  as in `linear`; with `"float32"` a weight that goes in several pieces may
 *   be summed by other digits than in one, within the same bound
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
  const { given, settings } = checkAsyncOptions(where, options, ["accumulate", "out"]);
  const call = checkLinear(where, input, weight, bias, given.accumulate);
  const { outShape, outSize } = call.batch;
  const out = checkGivenOut(where, given.out, outShape, outSize, arraysOfCall(call));
  return await runJob(core, where, settings, "linear", call, out);
}
