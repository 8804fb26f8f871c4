// quantization_error.

import { show, showShape } from "../../base/format-value.js";
import { sameShape } from "../../tensor/shape.js";
import * as core from "../core.js";
import { bindArguments } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { dtypes } from "../tensor/dtype.js";
import { checkTensor, Tensor, viewOf } from "../tensor/tensor.js";
import { elements } from "../tensor/view.js";

// ---------------------------------------------------------------------------------------------

/** Ways to measure an error. */
export type ErrorType = "mse" | "mae";

/**
 * How far a dequantized tensor is from the original.
 *
 *   "mse"  mean((original - dequantized)^2)
 *   "mae"  mean(|original - dequantized|)
 *
 * in float32, in PyTorch's order of addition.
 *
 * Source: notebook 2.
 *
 * @param original_tensor, dequantized_tensor  of one shape
 * @param error_type  default: "mse"
 * @returns a number that float32 holds; NaN for no elements
 * @throws checked in this order: {TypeError} if only one is a tensor; {RangeError} ValueError if
 *   the shapes differ; {TypeError} if neither is a tensor; {RangeError} RuntimeError for bools,
 *   ValueError for an unknown `error_type`, RuntimeError for integers
 */
export function quantization_error(
  original_tensor: Tensor,
  dequantized_tensor: Tensor,
  error_type?: ErrorType | { error_type?: ErrorType },
): number;

export function quantization_error(...args: unknown[]): number {
  const where = "quantization_error";
  const parameters = ["original_tensor", "dequantized_tensor", "error_type?"];
  const [original, dequantized, errorType = "mse"] = bindArguments(where, parameters, args);
  if (kindOf(original) !== kindOf(dequantized)) {
    throw pythonError(
      "TypeError",
      `${where}: both must be tensors, got ${show(original)} and ${show(dequantized)}`,
    );
  }
  const shapes = [original, dequantized].map((each) => (each instanceof Tensor ? each.shape : []));
  if (!sameShape(shapes[0], shapes[1])) {
    const texts = shapes.map(showShape).join(" and ");
    throw pythonError("ValueError", `${where}: the shapes differ: ${texts}`);
  }
  const a = checkTensor(where, "original_tensor", original);
  const b = checkTensor(where, "dequantized_tensor", dequantized);
  const isKnown = errorType === "mse" || errorType === "mae";
  const bothFloat32 = a.dtype === dtypes.float32 && b.dtype === dtypes.float32;
  if (isKnown && bothFloat32 && a.is_contiguous() && b.is_contiguous()) {
    const [aValues, bValues] = [elements(viewOf(a)), elements(viewOf(b))];
    return core.quantizationError(
      where,
      errorType,
      aValues as Float32Array,
      bValues as Float32Array,
    );
  }
  const difference = a.sub(b);
  if (!isKnown) {
    throw pythonError(
      "ValueError",
      `${where}: error_type must be "mse" or "mae", got ${show(errorType)}`,
    );
  }
  const terms = errorType === "mse" ? difference.square() : difference.abs();
  if (!terms.is_floating_point()) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes float tensors, got ${a.dtype} and ${b.dtype}; convert with float() first`,
    );
  }
  return terms.mean().item();
}

function kindOf(value: unknown): unknown {
  return typeof value === "object" && value !== null ? Object.getPrototypeOf(value) : typeof value;
}
