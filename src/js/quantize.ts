// tensor + qparams -> integer values.

import { codesArray, newArray } from "./arrays.js";
import {
  type CheckedTensor,
  checkOptions,
  checkOut,
  checkTensor,
  looksQuantized,
  type TensorInput,
} from "./check.js";
import type { Core } from "./core.js";
import { type Codes, DTYPES, type DType } from "./dtype.js";
import { applyGivenOrChosen } from "./elementwise.js";
import { activeCore } from "./init.js";
import {
  arraysOf,
  type CheckedOptions,
  checkQuantizeOptions,
  type GranularityOf,
  type NeedsDType,
  type QParamInput,
  QUANTIZE_OPTIONS,
  type QuantizedTensor,
  type QuantizeOptions,
  quantizedResult,
} from "./qparams.js";

const KNOWN_OPTIONS = [...QUANTIZE_OPTIONS, "out"];

/**
 * The options of a call, among which a quantized tensor may stand for the qparams it holds.
 * @param known  the options there are
 */
export function quantizeOptions(
  where: string,
  options: unknown,
  known: readonly string[] = KNOWN_OPTIONS,
): Record<string, unknown> {
  return checkOptions(
    where,
    options,
    looksQuantized(options) ? [...known, "data", "shape"] : known,
  );
}

/**
 * Quantizes a tensor, all being checked but `out`.
 * @param argument  what messages call the tensor
 */
export function quantizeValues(
  core: Core,
  where: string,
  argument: string,
  x: CheckedTensor,
  checked: CheckedOptions,
  out?: unknown,
): QuantizedTensor {
  const { dtype, given } = checked;
  const { data: values, size } = x;
  let data: Codes;
  if (out === undefined) {
    data = newArray(where, codesArray(dtype), size);
  } else {
    const { arrayName } = DTYPES[dtype];
    const inputs = [values, ...arraysOf(given)];
    data = checkOut(where, "options.out", out, arrayName, size, inputs) as Codes;
  }
  const qparams = applyGivenOrChosen(core, where, argument, x, checked, "quantize", data);
  return quantizedResult(data, x.shape, qparams, checked);
}

/**
 * Quantizes a tensor:
 *
 *     data[i] = clamp(round_half_even(x[i] / scale + zeroPoint), qmin, qmax)
 *
 * in separately rounded float32 operations. Scale and zero point are chosen as `chooseQParams` does,
 * or given: `quantize(x, chooseQParams(x, options))` is `quantize(x, options)`. With given ones,
 * infinities saturate and NaN becomes the zero point.
 *
 * Source: linear_q_with_scale_and_zero_point of the course notebooks, which divides, then adds, then
 * rounds. torch.quantize_per_tensor multiplies by the reciprocal and rounds before adding.
 *
 * @param x  float32, any shape; other numbers are rounded to float32
 * @param options.dtype      default: `"int8"`
 * @param options.scheme     default: `"symmetric"`, which takes a signed dtype; for given qparams, what
 *   their zero points show
 * @param options.axis       one scale per index of this axis; negative counts from the end
 * @param options.groupSize  one scale per so many consecutive values of the last axis
 * @param options.includeZero, options.nonFinite  see `chooseQParams`
 * @param options.scale      units per step, finite and > 0: a number, or numbers that broadcast
 * @param options.zeroPoint  integers that the dtype holds, in the same forms; default: 0
 * @param options.out        an array of the dtype's type for the codes, apart from the other arrays; the
 *   result then shares the memory of tensors given as scale and zero point, of which it else has copies
 * @returns the codes with their shape and qparams, as plain data
 * @throws {RangeError} `ZP_INVALID_SCALE`, `ZP_INVALID_ZERO_POINT`, `ZP_SHAPE_MISMATCH`,
 *   `ZP_INVALID_OUT`, and what `chooseQParams` throws
 * @throws {TypeError} `ZP_CONFLICTING_OPTIONS` for a zero point without a scale, and what
 *   `chooseQParams` throws
 * @example quantize(tensor([0.5, 1.5, 2.5]), { scale: 1, zeroPoint: 0 }).data // Int8Array [0, 2, 2]
 */
export function quantize<
  D extends DType = "int8",
  Axis extends number | undefined = undefined,
  Size extends number | undefined = undefined,
  Scale extends QParamInput | undefined = undefined,
  Zero extends QParamInput | undefined = undefined,
>(
  x: TensorInput,
  options?: QuantizeOptions<D | DType, Axis, Size, Scale, Zero> &
    NeedsDType<D> & {
      /** Where to write the codes: an array of the dtype's type, apart from the other arrays. */
      out?: Codes<D> | undefined;
    },
): QuantizedTensor<D, GranularityOf<Axis, Size, Scale, Zero>> {
  const where = "quantize";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const given = quantizeOptions(where, options);
  const { out } = given;
  const checked = checkQuantizeOptions(where, given, checkedX.shape, out === undefined);
  const result = quantizeValues(core, where, "x", checkedX, checked, out);
  return result as QuantizedTensor<D, GranularityOf<Axis, Size, Scale, Zero>>;
}
