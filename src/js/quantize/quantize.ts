// tensor + qparams -> integer values.

import { type Codes, DTYPES, type DType } from "../base/dtype.js";
import { codesArray, type NumberArray, newArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import { type CheckedTensor, checkTensor, type TensorInput } from "../tensor/check.js";
import { checkOut } from "../tensor/codes.js";
import { applyQParams } from "./apply-qparams.js";
import {
  type FloatCodesDType,
  type FloatCodesOptions,
  type FloatQuantizedTensor,
  isFloatDType,
  type NeedsFloat,
  quantizeToFloats,
} from "./float-codes.js";
import {
  type BlockShape,
  type CheckedOptions,
  checkQuantizeOptions,
  type GranularityOf,
  type NeedsDType,
  type NeedsScheme,
  type OneOfBoth,
  type QuantizeOptions,
  quantizeOptions,
  type RuleOption,
} from "./options.js";
import { runChoose } from "./qparams.js";
import {
  type AnyQuantizedTensor,
  arraysOf,
  type QParamInput,
  type QuantizedTensorOf,
  quantizedResult,
  type ScaleAndZeroPoint,
} from "./quantized-tensor.js";

/**
 * Quantizes a checked tensor with checked options. Checks `out`.
 * @param argument  name of the tensor in messages
 */
function quantizeValues(
  core: Core,
  where: string,
  argument: string,
  x: CheckedTensor,
  checked: CheckedOptions,
  out?: unknown,
): AnyQuantizedTensor {
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
 * in separately rounded float32 operations; with an offset (`zeroPoint: "float"`)
 *
 *     data[i] = clamp(round_half_even((x[i] - offset) / scale), qmin, qmax)
 *
 * The other rules round before they add the zero point:
 *
 *     "onnx"    data[i] = clamp(round_half_even(x[i] / scale) + zeroPoint, qmin, qmax)
 *     "torch"   data[i] = clamp(round_half_even(x[i] * (1 / scale)) + zeroPoint, qmin, qmax)
 *
 * where "onnx" adds integers and "torch" float32 numbers. They take any scale, by the formula.
 *
 * Scale and zero point are chosen as by `chooseQParams`,
 * or given: `quantize(x, chooseQParams(x, options))` is `quantize(x, options)`. With given ones,
 * infinities saturate and NaN becomes the zero point, with an offset the code of 0.
 *
 * Source: linear_q_with_scale_and_zero_point of the course notebooks, which divides, then adds, then
 * rounds; ONNX's QuantizeLinear and WebNN's quantizeLinear; torch.quantize_per_tensor.
 *
 * With a dtype of floats (`"float8_e4m3fn"`, `"float8_e5m2"`, `"float4_e2m1"`) the codes are bit patterns of
 * x / scale, rounded half to even and saturated; the scale is max|x| over the largest value of the type. The rule
 * `"onnx"` adds the zero point 0 for float4_e2m1, so that -0 becomes 0.
 *
 * @param x  float32, any shape; other numbers are rounded to float32
 * @param options.dtype      default: `"int8"`
 * @param options.scheme     default: `"symmetric"`, which takes a signed dtype; for given qparams,
 *   `"symmetric"` if all zero points are 0 and the dtype is signed, else `"affine"`
 * @param options.axis       one scale per index of this axis; negative counts from the end
 * @param options.groupSize  number of consecutive values of the last axis that share a scale; if it
 *   does not divide the axis, the last group of every row is short
 * @param options.blockShape  one scale for each n-dimensional block, the number of its values on each axis
 * @param options.includeZero  see `chooseQParams`
 * @param options.nonFinite  see `chooseQParams`
 * @param options.range  see `chooseQParams`
 * @param options.rule       the order of operations: `"course"` (default), `"onnx"` or `"torch"`
 * @param options.scale      units per step, finite and > 0: a number, or numbers that broadcast
 * @param options.zeroPoint  integers that the dtype holds, in the same forms; default: 0
 * @param options.offset     values of the code 0, in the same forms, instead of zero points
 * @param options.out        an array of the dtype's type for the codes; must not overlap the other
 *   arrays. The result then shares the memory of tensors given as scale and zero point; without `out`
 *   it holds copies
 * @returns the codes with their shape and qparams, as plain data
 * @throws {RangeError} `ZP_INVALID_SCALE`, `ZP_INVALID_ZERO_POINT`, `ZP_SHAPE_MISMATCH`,
 *   `ZP_INVALID_OUT`, and as `chooseQParams`
 * @throws {TypeError} `ZP_CONFLICTING_OPTIONS` for a zero point without a scale or a range with one, and
 *   as `chooseQParams`
 * @example quantize(tensor([0.5, 1.5, 2.5]), { scale: 1, zeroPoint: 0 }).data // Int8Array [0, 2, 2]
 */
export function quantize<F extends FloatCodesDType | DType>(
  x: TensorInput,
  options: FloatCodesOptions<F> & NeedsFloat<F> & { out?: Uint8Array | undefined },
): FloatQuantizedTensor<Extract<NoInfer<F>, FloatCodesDType>>;

export function quantize<
  D extends DType = "int8",
  Axis extends number | undefined = undefined,
  Size extends number | undefined = undefined,
  Scale extends QParamInput | undefined = undefined,
  Zero extends QParamInput | "float" | undefined = undefined,
  Block extends BlockShape | undefined = undefined,
>(
  x: TensorInput,
  options?: QuantizeOptions<D | DType, Axis, Size, Scale, Zero, Block> &
    NeedsDType<D> &
    NeedsScheme<D, Scale, Zero> &
    OneOfBoth<Axis, Size, Block> &
    RuleOption & {
      /** Array for the codes, of the dtype's type; must not overlap the other arrays. */
      out?: Codes<D> | undefined;
    },
): QuantizedTensorOf<D, GranularityOf<Axis, Size, Scale, Zero, Block>, Zero>;

export function quantize(
  x: TensorInput,
  options?: object,
): AnyQuantizedTensor | FloatQuantizedTensor {
  const where = "quantize";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const given = quantizeOptions(where, options);
  if (isFloatDType(given.dtype)) return quantizeToFloats(where, checkedX, given);
  const { out } = given;
  const checked = checkQuantizeOptions(where, given, checkedX.shape, out === undefined);
  return quantizeValues(core, where, "x", checkedX, checked, out);
}

/** Applies the qparams in the options to a tensor, or chooses and applies them. @returns the qparams */
export function applyGivenOrChosen(
  core: Core,
  where: string,
  argument: string,
  x: CheckedTensor,
  options: CheckedOptions,
  name: "quantize" | "fakeQuantize",
  out: NumberArray,
): ScaleAndZeroPoint {
  const { given, dtype } = options;
  if (given === undefined) return runChoose(core, where, argument, x, options, { name, out });
  applyQParams(core, where, name, "Float32Array", x.data, x.size, given, dtype, out);
  return given;
}
