// linear: input · weightᵀ + bias, with float32 input and float or quantized weights.

import { checkChoice } from "../base/check.js";
import { checkOptions } from "../base/options.js";
import type { NumberArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import { checkQuantized } from "../quantize/check.js";
import type { QuantizedTensorInput } from "../quantize/quantized-tensor.js";
import { looksQuantized, type TensorInput } from "../tensor/check.js";
import { checkTensorOut, type OutOption, type Tensor } from "../tensor/tensor.js";
import type { TorchQuantizedTensorInput } from "../torch/tensor.js";
import { checkBias, checkInput } from "./input.js";
import { type Accumulate, type CheckedLinear, multiply } from "./multiply.js";
import { checkFloatWeight, fromTorch, isFloat, weightCodes } from "./weight.js";

/** Options of `linear`: the precision of sums, and the array for the result. */
export interface LinearOptions extends OutOption {
  /** Default: `"exact"`. */
  accumulate?: Accumulate | undefined;
}

export function checkAccumulate(where: string, value: unknown): Accumulate {
  return checkChoice(where, "options.accumulate", value, ["exact", "float32"], "exact");
}

/**
 * Multiplies rows by a weight matrix: input · weightᵀ + bias. A quantized weight is used in quantized
 * form, w = scale · (q − zeroPoint) or scale · q + offset, and never expanded to floats in memory. It is packed for every
 * call; `QuantizedLinear` packs it once.
 *
 * Results are exact to about one rounding to float32 and have the same bits everywhere, unless
 * `accumulate: "float32"` asks for a path that may be faster:
 *
 *     "exact"     |y − exact| ≤ (K + 1) · 2⁻²⁴ · Σ|x·w| + 2⁻²⁴ · |bias|, for a result that float32 can
 *                 hold as a normal number
 *     "float32"   float weights: |y − exact| ≤ (K + 2) · 2⁻²³ · (Σ|x·w| + |bias|), as long as float32
 *                 can hold all products and their sums as normal numbers; quantized weights: the
 *                 bound of "exact"
 *
 * NaN and infinities propagate as in torch.nn.functional.linear.
 *
 * Source: torch.nn.functional.linear, and quantized_linear_W8A32_without_bias of the course
 * notebooks, which adds the zero point instead of subtracting it.
 *
 * @param input   float32 of shape [..., K]
 * @param weight  float32 of shape [N, K], or a quantized tensor of that shape and 1 to 8 bits: per
 *   tensor, per channel on either axis or per group, symmetric or affine; qint8 with integer zero
 *   points too. N and K may be 0
 * @param bias    float32 of shape [N]; default: none
 * @param options.accumulate  `"exact"` (default) or `"float32"`
 * @param options.out         array for the result; must not overlap the other arrays
 * @returns float32 of shape [..., N]
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_INVALID_CODES`, `ZP_INVALID_OPTIONS`, `ZP_INVALID_OUT`
 * @throws {RangeError} `ZP_SHAPE_MISMATCH`, `ZP_INVALID_OUT`, `ZP_UNSUPPORTED_DTYPE` for more than 8 bits,
 *   `ZP_SIZE_OVERFLOW`, `ZP_OUT_OF_MEMORY`, and as `dequantize` for a quantized weight
 * @example
 * linear(tensor([1, 2]), tensor([[3, 4], [5, 6]]), tensor([0.5, 0])).data
 * // Float32Array [11.5, 17]
 */
export function linear(
  input: TensorInput,
  weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
  bias?: TensorInput | null | undefined,
  options?: LinearOptions,
): Tensor {
  const where = "linear";
  return runLinear(activeCore(where), where, input, weight, bias, options);
}

/** Checks the arguments of `linear`. */
function checkLinear(
  where: string,
  input: unknown,
  weight: unknown,
  bias: unknown,
  accumulate: unknown,
): CheckedLinear {
  const given = fromTorch(where, weight);
  const checked = looksQuantized(given)
    ? weightCodes(where, checkQuantized(where, "weight", given, true))
    : checkFloatWeight(where, given);
  return {
    weight: checked,
    batch: checkInput(where, input, checked),
    bias: checkBias(where, "bias", bias, checked.outFeatures),
    accumulate: checkAccumulate(where, accumulate),
  };
}

/** The input arrays of a product. */
const arraysOfCall = ({ batch, weight, bias }: CheckedLinear): (NumberArray | undefined)[] => [
  batch.data,
  isFloat(weight) ? weight.values : weight.codes,
  bias,
];

/** `linear` on a given core, with the caller's name in messages. */
export function runLinear(
  core: Core,
  where: string,
  input: TensorInput,
  weight: TensorInput | QuantizedTensorInput | TorchQuantizedTensorInput<"qint8">,
  bias?: TensorInput | null | undefined,
  options?: LinearOptions,
): Tensor {
  const given = checkOptions(where, options, ["accumulate", "out"]);
  const call = checkLinear(where, input, weight, bias, given.accumulate);
  const { outShape, outSize } = call.batch;
  const { result, data } = checkTensorOut(
    where,
    "options.out",
    given.out,
    outShape,
    outSize,
    arraysOfCall(call),
  );
  if (outSize > 0) multiply(core, where, call, data);
  return result;
}
