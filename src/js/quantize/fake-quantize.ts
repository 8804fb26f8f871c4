// tensor + qparams -> the values that the codes would represent.

import type { DType } from "../base/dtype.js";
import { activeCore } from "../core/init.js";
import { checkTensor, type TensorInput } from "../tensor/check.js";
import { checkTensorOut, type OutOption, type Tensor } from "../tensor/tensor.js";
import {
  type FloatCodesDType,
  type FloatCodesOptions,
  fakeQuantizeToFloats,
  isFloatDType,
  type NeedsFloat,
} from "./float-codes.js";
import {
  type BlockShape,
  checkQuantizeOptions,
  type NeedsScheme,
  type OneOfBoth,
  type QuantizeOptions,
  quantizeOptions,
  type RuleOption,
} from "./options.js";
import { applyGivenOrChosen } from "./quantize.js";
import { arraysOf, type QParamInput } from "./quantized-tensor.js";

/**
 * Quantizes and dequantizes in one pass: the values that the codes would represent. Bit for bit
 * `dequantize(quantize(x, options))`, without the codes.
 *
 * Source: linear_q_with_scale_and_zero_point, then linear_dequantization, of the course notebooks;
 * `rule: "torch"` has torch.fake_quantize_*'s order of operations.
 *
 * @param x  float32, any shape; other numbers are rounded to float32
 * @param options  as in `quantize`, but `out` is a Float32Array or a Tensor
 * @returns float32, of the shape of `x`
 * @throws {TypeError|RangeError} as `quantize`
 * @example fakeQuantize(tensor([0.3, 0.9]), { scale: 0.5 }).data // Float32Array [0.5, 1]
 */
export function fakeQuantize<F extends FloatCodesDType | DType>(
  x: TensorInput,
  options: FloatCodesOptions<F> & NeedsFloat<F> & OutOption,
): Tensor;

export function fakeQuantize<
  D extends DType = "int8",
  Axis extends number | undefined = undefined,
  Size extends number | undefined = undefined,
  Scale extends QParamInput | undefined = undefined,
  Zero extends QParamInput | "float" | undefined = undefined,
  Block extends BlockShape | undefined = undefined,
>(
  x: TensorInput,
  options?: QuantizeOptions<D | DType, Axis, Size, Scale, Zero, Block> &
    NeedsScheme<D, Scale, Zero> &
    OneOfBoth<Axis, Size, Block> &
    RuleOption &
    OutOption,
): Tensor;

export function fakeQuantize(x: TensorInput, options?: object): Tensor {
  const where = "fakeQuantize";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const { data, shape, size } = checkedX;
  const given = quantizeOptions(where, options);
  if (isFloatDType(given.dtype)) return fakeQuantizeToFloats(where, checkedX, given);
  const { out } = given;
  const checked = checkQuantizeOptions(where, given, shape, false);
  const inputs = [data, ...arraysOf(checked.given)];
  const { result, data: values } = checkTensorOut(where, "options.out", out, shape, size, inputs);
  applyGivenOrChosen(core, where, "x", checkedX, checked, "fakeQuantize", values);
  return result;
}
