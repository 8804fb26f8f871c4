// Arguments that PyTorch's functions share: types, checks.

import { checkChoice } from "../base/check.js";
import { type CodesByQDType, DTYPES, type QDType } from "../base/dtype.js";
import { typeError } from "../base/errors.js";
import { checkOptions } from "../base/options.js";
import { elementName } from "../base/typed-arrays.js";
import { type CheckedTensor, checkTensor, type TensorInput } from "../tensor/check.js";
import { checkOut } from "../tensor/codes.js";
import type { OutOption } from "../tensor/tensor.js";
import type { Overflow } from "../wasm/baseline.js";
import type { TorchQParams } from "./scales.js";

/** Choice between sound results and PyTorch's own for NaN, infinities and overflow. */
export interface CompatOption {
  /**
   * `"torch"` reproduces PyTorch's results for NaN, infinities and values outside int32. Default: NaN
   * becomes the zero point and large values saturate; all other results are PyTorch's.
   */
  compat?: "torch" | undefined;
}

/** Options of `quantizePerTensor`, `quantizePerChannel` and `quantizePerTensorDynamic`. */
export interface TorchQuantizeOptions<D extends QDType = QDType> extends CompatOption {
  /** Array for the codes, of the dtype's type; must not overlap `x`. */
  out?: CodesByQDType[D] | undefined;
}

/** Options of `fakeQuantizePerTensor` and `fakeQuantizePerChannel`. */
export interface TorchFakeQuantizeOptions extends CompatOption, OutOption {}

/** One scale: a number, or a tensor of one value. */
export type TorchScale = number | TensorInput;

/** One zero point: an integer, or a tensor of one value, which is truncated to an integer. */
export type TorchZeroPoint = number | TensorInput | BigInt64Array;

/** Scales of channels: one axis; float32, or float64 if given in a Float64Array. */
export type TorchScales = TensorInput | readonly number[];

/**
 * Zero points of channels: one axis. The array type selects the scheme, whatever the values: floats (as
 * in torch.zeros(n)) or integers (Int32Array, BigInt64Array or a list).
 */
export type TorchZeroPoints = TensorInput | readonly number[] | BigInt64Array;

/** Checks `compat`. @returns whether it is `"torch"` */
export function checkCompat(where: string, value: unknown): boolean {
  if (value === undefined) return false;
  return checkChoice(where, "options.compat", value, ["torch"], undefined) === "torch";
}

/** Checks the options that PyTorch's functions share; `out` is checked later, against the tensor. */
export function checkTorchOptions(
  where: string,
  options: unknown,
): { readonly overflow: Overflow; readonly out: unknown } {
  const { compat, out } = checkOptions(where, options, ["compat", "out"]);
  return { overflow: checkCompat(where, compat) ? "torch" : "saturate", out };
}

/** Checks a float32 tensor. Refuses other floats and integers, as PyTorch does. */
export function checkFloatTensor(where: string, value: unknown): CheckedTensor {
  const checked = checkTensor(where, "x", value);
  const name = elementName(checked.data);
  if (name === "Float32Array") return checked;
  throw typeError(
    "ZP_INVALID_TENSOR",
    where,
    "x must be a float32 tensor, as PyTorch's function takes no other, got data of type " +
      `${name}; tensor(…) rounds it to float32`,
  );
}

/** Checks the array for codes, if given. */
export function checkCodesOut<D extends QDType>(
  where: string,
  { x: { data, size }, dtype }: Pick<ToQuantize<D>, "x" | "dtype">,
  out: unknown,
): CodesByQDType[D] | undefined {
  if (out === undefined) return undefined;
  const { arrayName: wanted } = DTYPES[dtype];
  return checkOut(where, "options.out", out, wanted, size, [data]) as CodesByQDType[D];
}

/** A tensor to quantize, with dtype and qparams. */
export interface ToQuantize<D extends QDType = QDType> {
  readonly x: CheckedTensor;
  readonly dtype: D;
  readonly qparams: TorchQParams;
}
