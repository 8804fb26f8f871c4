// The asynchronous forms of PyTorch's own functions.

import type { TensorInput } from "../check.js";
import type { Core } from "../core.js";
import type { QDType } from "../dtype.js";
import { activeCore } from "../init.js";
import type { TorchQuantizedTensor } from "../qtensor.js";
import { checkGivenOut, type Tensor } from "../tensor.js";
import {
  checkCodesOut,
  checkDynamic,
  checkFakePerChannel,
  checkFakePerTensor,
  checkPerChannel,
  checkPerTensor,
  checkTorchOptions,
  type ToFakeQuantize,
  type ToQuantize,
  type TorchFakeQuantizeOptions,
  type TorchQuantizeOptions,
  type TorchScale,
  type TorchScales,
  type TorchZeroPoint,
  type TorchZeroPoints,
} from "../torch.js";
import { ASYNC_OPTIONS, type AsyncOptions, checkAsync, runJob } from "./background.js";

/** What the asynchronous forms of `quantizePerTensor` and its kin take beside their arguments. */
export interface TorchQuantizeAsyncOptions<D extends QDType = QDType>
  extends TorchQuantizeOptions<D>,
    AsyncOptions {}

/** What the asynchronous forms of `fakeQuantizePerTensor` and its kin take beside their arguments. */
export interface TorchFakeQuantizeAsyncOptions extends TorchFakeQuantizeOptions, AsyncOptions {}

/** The options of these functions after their checks, but for `out`. */
function checkAsyncTorch(where: string, options: unknown) {
  const { given, ...checked } = checkTorchOptions(where, options, ASYNC_OPTIONS);
  return { ...checked, settings: checkAsync(where, given) };
}

/** Quantizes what is checked but for its options. */
async function quantizeAway<D extends QDType>(
  core: Core,
  where: string,
  task: ToQuantize<D>,
  options: unknown,
): Promise<TorchQuantizedTensor<D>> {
  const { settings, overflow, out } = checkAsyncTorch(where, options);
  const codes = checkCodesOut(where, task, out);
  const q = await runJob(core, where, settings, "quantizeTorch", task, overflow, codes);
  return q as TorchQuantizedTensor<D>;
}

/** Quantizes and dequantizes what is checked but for its options. */
async function fakeQuantizeAway(
  core: Core,
  where: string,
  task: ToFakeQuantize,
  options: unknown,
): Promise<Tensor> {
  const { settings, overflow, out } = checkAsyncTorch(where, options);
  const { data, shape, size } = task.x;
  const result = checkGivenOut(where, out, shape, size, [data]);
  return await runJob(core, where, settings, "fakeQuantizeTorch", task, overflow, result);
}

/**
 * `quantizePerTensor`, off this thread; `quantizeAsync` says how.
 *
 * @param x          float32, any shape
 * @param scale      as in `quantizePerTensor`
 * @param zeroPoint  as in `quantizePerTensor`
 * @param dtype      `"qint8"`, `"quint8"` or `"qint32"`
 * @param options    those of `quantizePerTensor`, and `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `quantizePerTensor` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `quantizePerTensor` and `quantizeAsync`
 *   throw
 * @example const q = await quantizePerTensorAsync(x, 0.1, 10, "quint8", { signal });
 */
export async function quantizePerTensorAsync<D extends QDType>(
  x: TensorInput,
  scale: TorchScale,
  zeroPoint: TorchZeroPoint,
  dtype: D,
  options?: TorchQuantizeAsyncOptions<D>,
): Promise<TorchQuantizedTensor<D, "perTensor">> {
  const where = "quantizePerTensorAsync";
  const core = activeCore(where);
  const task = checkPerTensor(where, x, scale, zeroPoint, dtype);
  return (await quantizeAway(core, where, task, options)) as TorchQuantizedTensor<D, "perTensor">;
}

/**
 * `quantizePerChannel`, off this thread; `quantizeAsync` says how.
 *
 * @param x           float32 with at least one axis
 * @param scales      as in `quantizePerChannel`, of shape [x.shape[axis]]
 * @param zeroPoints  as in `quantizePerChannel`, of the same shape
 * @param axis        0 <= axis < rank
 * @param dtype       `"qint8"`, `"quint8"` or, with integer zero points, `"qint32"`
 * @param options     those of `quantizePerChannel`, and `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `quantizePerChannel` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `quantizePerChannel` and `quantizeAsync`
 *   throw
 * @example const q = await quantizePerChannelAsync(weight, scales, zeroPoints, 0, "qint8");
 */
export async function quantizePerChannelAsync<D extends QDType>(
  x: TensorInput,
  scales: TorchScales,
  zeroPoints: TorchZeroPoints,
  axis: number,
  dtype: D,
  options?: TorchQuantizeAsyncOptions<D>,
): Promise<TorchQuantizedTensor<D, "perChannel">> {
  const where = "quantizePerChannelAsync";
  const core = activeCore(where);
  const task = checkPerChannel(where, x, scales, zeroPoints, axis, dtype);
  return (await quantizeAway(core, where, task, options)) as TorchQuantizedTensor<D, "perChannel">;
}

/**
 * `quantizePerTensorDynamic`, off this thread; `quantizeAsync` says how.
 *
 * @param x            float32, any shape
 * @param dtype        `"qint8"` or `"quint8"`
 * @param reduceRange  true: use half the codes; default: false
 * @param options      those of `quantizePerTensorDynamic`, and `signal` and `onProgress` as in
 *   `quantizeAsync`
 * @returns a promise of what `quantizePerTensorDynamic` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `quantizePerTensorDynamic` and
 *   `quantizeAsync` throw
 * @example const q = await quantizePerTensorDynamicAsync(x, "quint8");
 */
export async function quantizePerTensorDynamicAsync<D extends "qint8" | "quint8">(
  x: TensorInput,
  dtype: D,
  reduceRange?: boolean,
  options?: TorchQuantizeAsyncOptions<D>,
): Promise<TorchQuantizedTensor<D, "perTensor">> {
  const where = "quantizePerTensorDynamicAsync";
  const core = activeCore(where);
  const source = checkDynamic(where, x, dtype, reduceRange);
  const { settings, overflow, out } = checkAsyncTorch(where, options);
  const codes = checkCodesOut(where, source, out);
  const result = await runJob(
    core,
    where,
    settings,
    "quantizeTorchDynamic",
    source,
    overflow,
    codes,
  );
  return result as TorchQuantizedTensor<D, "perTensor">;
}

/**
 * `fakeQuantizePerTensor`, off this thread; `quantizeAsync` says how.
 *
 * @param x          float32, any shape
 * @param scale      as in `fakeQuantizePerTensor`
 * @param zeroPoint  as in `fakeQuantizePerTensor`
 * @param quantMin, quantMax  the codes that may be used; integers that int32 holds
 * @param options    those of `fakeQuantizePerTensor`, and `signal` and `onProgress` as in
 *   `quantizeAsync`
 * @returns a promise of what `fakeQuantizePerTensor` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `fakeQuantizePerTensor` and
 *   `quantizeAsync` throw
 * @example const y = await fakeQuantizePerTensorAsync(x, 0.1, 0, -128, 127);
 */
export async function fakeQuantizePerTensorAsync(
  x: TensorInput,
  scale: TorchScale,
  zeroPoint: TorchZeroPoint,
  quantMin: number,
  quantMax: number,
  options?: TorchFakeQuantizeAsyncOptions,
): Promise<Tensor> {
  const where = "fakeQuantizePerTensorAsync";
  const core = activeCore(where);
  const task = checkFakePerTensor(where, x, scale, zeroPoint, quantMin, quantMax);
  return await fakeQuantizeAway(core, where, task, options);
}

/**
 * `fakeQuantizePerChannel`, off this thread; `quantizeAsync` says how.
 *
 * @param x           float32 with at least one axis
 * @param scales      as in `fakeQuantizePerChannel`, of shape [x.shape[axis]]
 * @param zeroPoints  as in `fakeQuantizePerChannel`, of the same shape
 * @param axis        0 <= axis < rank
 * @param quantMin, quantMax  the codes that may be used; integers that int32 holds
 * @param options     those of `fakeQuantizePerChannel`, and `signal` and `onProgress` as in
 *   `quantizeAsync`
 * @returns a promise of what `fakeQuantizePerChannel` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `fakeQuantizePerChannel` and
 *   `quantizeAsync` throw
 * @example const y = await fakeQuantizePerChannelAsync(weight, scales, zeroPoints, 0, -128, 127);
 */
export async function fakeQuantizePerChannelAsync(
  x: TensorInput,
  scales: TorchScales,
  zeroPoints: TorchZeroPoints,
  axis: number,
  quantMin: number,
  quantMax: number,
  options?: TorchFakeQuantizeAsyncOptions,
): Promise<Tensor> {
  const where = "fakeQuantizePerChannelAsync";
  const core = activeCore(where);
  const task = checkFakePerChannel(where, x, scales, zeroPoints, axis, quantMin, quantMax);
  return await fakeQuantizeAway(core, where, task, options);
}
