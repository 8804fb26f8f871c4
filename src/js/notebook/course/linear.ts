// quantized_linear_W8A32_without_bias.

import { checkOperand } from "../operations/operation.js";
import { bindArguments } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { dtypes } from "../tensor/dtype.js";
import { linear } from "../tensor/linear.js";
import { checkTensor, type Tensor, type TensorOrScalar } from "../tensor/tensor.js";

// ---------------------------------------------------------------------------------------------

/**
 * A linear layer with int8 weights and float32 activations, as notebook 5 has it.
 *
 *   torch.nn.functional.linear(input, q_w.to(torch.float32) * s_w + z_w)
 *
 * The zero point is added, in units of the weights, where `(q_w - z_w) * s_w` would be right; this
 * makes no difference for symmetric weights, whose zero point is 0. `QuantizedLinear` of
 * "zeropoint" does it right.
 *
 * Source: notebook 5.
 *
 * @param input  float32 [..., K]
 * @param q_w    int8 [N, K]
 * @param s_w, z_w  numbers, or tensors that broadcast with `q_w`
 * @returns float32 [..., N], accumulated in double precision
 * @throws {RangeError} AssertionError for other dtypes; RuntimeError for shapes that do not fit
 */
export function quantized_linear_W8A32_without_bias(
  input: Tensor,
  q_w: Tensor,
  s_w: TensorOrScalar,
  z_w: TensorOrScalar,
): Tensor;

export function quantized_linear_W8A32_without_bias(
  input: Tensor,
  keywords: { q_w: Tensor; s_w: TensorOrScalar; z_w: TensorOrScalar },
): Tensor;

export function quantized_linear_W8A32_without_bias(...args: unknown[]): Tensor {
  const where = "quantized_linear_W8A32_without_bias";
  const [x, q, s, z] = bindArguments(where, ["input", "q_w", "s_w", "z_w"], args);
  const input = checkTensor(where, "input", x);
  const codes = checkTensor(where, "q_w", q);
  if (input.dtype !== dtypes.float32) {
    throw pythonError(
      "AssertionError",
      `${where}: input must be torch.float32, got ${input.dtype}`,
    );
  }
  if (codes.dtype !== dtypes.int8) {
    throw pythonError("AssertionError", `${where}: q_w must be torch.int8, got ${codes.dtype}`);
  }
  checkOperand(where, "s_w", s);
  checkOperand(where, "z_w", z);
  const weight = codes
    .float()
    .mul(s as TensorOrScalar)
    .add(z as TensorOrScalar);
  return linear(where, input, weight, undefined);
}
