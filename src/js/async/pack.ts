// The asynchronous forms of pack and unpack.

import type { DType } from "../dtype.js";
import type { Granularity } from "../granularity.js";
import { activeCore } from "../init.js";
import { checkPacked, type QuantizedTensorMeta } from "../pack.js";
import { checkQuantized, type QuantizedTensor, type QuantizedTensorInput } from "../qparams.js";
import { type AsyncOptions, checkAsyncOptions, runJob } from "./background.js";

/**
 * `pack`, off this thread; `quantizeAsync` says how.
 *
 * @param q        what `quantize` returns, or an object with the same fields
 * @param options  `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `pack` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `pack` and `quantizeAsync` throw
 * @example const bytes = await packAsync(q);
 */
export async function packAsync(
  q: QuantizedTensorInput,
  options?: AsyncOptions,
): Promise<Uint8Array> {
  const where = "packAsync";
  const core = activeCore(where);
  const checked = checkQuantized(where, "q", q, false);
  const { settings } = checkAsyncOptions(where, options);
  return await runJob(core, where, settings, "pack", checked);
}

/**
 * `unpack`, off this thread; `quantizeAsync` says how.
 *
 * @param bytes    ceil(n · bits / 8) bytes, in the order that `pack` states
 * @param meta     the other fields of the quantized tensor, as in `unpack`
 * @param options  `signal` and `onProgress` as in `quantizeAsync`
 * @returns a promise of what `unpack` returns
 * @throws {TypeError|RangeError|Error} (as a rejection) what `unpack` and `quantizeAsync` throw
 * @example const q = await unpackAsync(bytes, { shape, dtype: "int4", scale, zeroPoint: 0 });
 */
export async function unpackAsync<D extends DType, G extends Granularity>(
  bytes: Uint8Array,
  meta: QuantizedTensor<D, G>,
  options?: AsyncOptions,
): Promise<QuantizedTensor<D, G>>;
export async function unpackAsync<D extends DType>(
  bytes: Uint8Array,
  meta: QuantizedTensorMeta<D>,
  options?: AsyncOptions,
): Promise<QuantizedTensor<D>>;
export async function unpackAsync(
  bytes: Uint8Array,
  meta: QuantizedTensorMeta,
  options?: AsyncOptions,
): Promise<QuantizedTensor> {
  const where = "unpackAsync";
  const core = activeCore(where);
  const checked = checkPacked(where, bytes, meta);
  const { settings } = checkAsyncOptions(where, options);
  return await runJob(core, where, settings, "unpack", checked);
}
