// torch.quantize_per_tensor_dynamic.

import { checkBoolean, checkChoice } from "../base/check.js";
import { DTYPES, type QDType } from "../base/dtype.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import type { CheckedTensor, TensorInput } from "../tensor/check.js";
import { tensorRange } from "../tensor/range.js";
import type { Overflow } from "../wasm/baseline.js";
import {
  checkFloatTensor,
  checkTorchOptions,
  type ToQuantize,
  type TorchQuantizeOptions,
} from "./options.js";
import { chooseActivation, nonFiniteValues } from "./qparams.js";
import { quantizeTorch } from "./quantize.js";
import type { TorchQuantizedTensor } from "./tensor.js";

/**
 * Quantizes with one scale and zero point that are chosen from the values: from their range, widened
 * to contain 0, in double precision; a scale below 6.1e-5 is raised to that, and one that float32
 * cannot invert becomes 0.1.
 *
 * Source: torch.quantize_per_tensor_dynamic. It refuses a tensor without values; here such a tensor has
 * the scale 0.1, as in PyTorch's dynamic layers.
 *
 * @param x            float32, any shape
 * @param dtype        `"qint8"` or `"quint8"`
 * @param reduceRange  true: use half the codes, -64 to 63 or 0 to 127; default: false
 * @param options.compat  `"torch"`: -Infinity gives an infinite scale as in PyTorch
 * @param options.out     an array of the dtype's type for the codes; must not overlap `x`
 * @returns as `quantizePerTensor`
 * @throws {RangeError} `ZP_NON_FINITE` for NaN or an infinity, `ZP_UNSUPPORTED_DTYPE` for qint32,
 *   `ZP_INVALID_DTYPE`, `ZP_INVALID_OUT`, `ZP_OUT_OF_MEMORY`
 * @throws {TypeError} `ZP_INVALID_TENSOR` for anything but float32
 * @example quantizePerTensorDynamic(tensor([-1, 0, 1]), "quint8").zeroPoint // 128
 */
export function quantizePerTensorDynamic<D extends "qint8" | "quint8">(
  x: TensorInput,
  dtype: D,
  reduceRange?: boolean,
  options?: TorchQuantizeOptions<D>,
): TorchQuantizedTensor<D, "perTensor"> {
  const where = "quantizePerTensorDynamic";
  const core = activeCore(where);
  const source = checkDynamic(where, x, dtype, reduceRange);
  const { overflow, out } = checkTorchOptions(where, options);
  const range = minMax(core, where, source.x);
  const task = chooseDynamic(core, where, source, range, overflow);
  return quantizeTorch(core, where, task, overflow, out) as TorchQuantizedTensor<D, "perTensor">;
}

/** Arguments of `quantizePerTensorDynamic` after their checks. */
interface DynamicSource<D extends QDType = QDType> {
  readonly x: CheckedTensor;
  readonly dtype: D;
  readonly reduceRange: boolean;
}

/** Checks the arguments of `quantizePerTensorDynamic`. */
function checkDynamic<D extends QDType>(
  where: string,
  x: unknown,
  dtype: D,
  reduceRange: unknown,
): DynamicSource<D> {
  const checked = checkFloatTensor(where, x);
  const code = (dtype as QDType) === "qint32" ? "ZP_UNSUPPORTED_DTYPE" : "ZP_INVALID_DTYPE";
  const name = checkChoice(where, "dtype", dtype, ["qint8", "quint8"], undefined, code) as D;
  const reduce = checkBoolean(where, "reduceRange", reduceRange, false);
  return { x: checked, dtype: name, reduceRange: reduce };
}

/** Chooses the qparams of `quantizePerTensorDynamic`. */
function chooseDynamic<D extends QDType>(
  core: Core,
  where: string,
  { x, dtype, reduceRange }: DynamicSource<D>,
  [min, max]: Iterable<number>,
  overflow: Overflow,
): ToQuantize<D> {
  let qparams = chooseActivation(core, where, min, max, dtype, reduceRange);
  if (qparams === undefined && overflow === "torch" && min === -Infinity && max < Infinity) {
    const { qmax } = DTYPES[dtype];
    qparams = { scale: Infinity, zeroPoint: reduceRange ? Math.trunc(qmax / 2) : qmax };
  }
  if (qparams === undefined) throw nonFiniteValues(where, "x", [min, max]);
  return { x, dtype, qparams };
}

/** The smallest and largest value; both NaN if any value is NaN; both 0 for a tensor without values. */
function minMax(
  core: Core,
  where: string,
  { data, size }: CheckedTensor,
): readonly [min: number, max: number] {
  if (size === 0) return [0, 0];
  const [min, max] = tensorRange(core, where, data, size);
  return [min, max];
}
