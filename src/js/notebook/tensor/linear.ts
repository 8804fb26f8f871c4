// torch.nn.functional.linear.

import { showShape } from "../../base/format-value.js";
import { sameShape } from "../../tensor/shape.js";
import { pythonError } from "../python/errors.js";
import { dtypes } from "./dtype.js";
import { product } from "./product.js";
import { type Tensor, tensorOf, viewOf } from "./tensor.js";
import { allocate, countOf, elements } from "./view.js";

/**
 * input . weight^T + bias
 *
 * float32 is accumulated in double precision and rounded once, so results differ from PyTorch's,
 * whose order of addition is not defined, within (K + 1) 2^-24 sum|x w|. float64 is added in order.
 * Integers wrap.
 *
 * Source: `torch.nn.functional.linear`.
 *
 * @param input   [..., K]
 * @param weight  [N, K], or [K] for a single output without a dimension
 * @param bias    broadcasts with [..., N]
 * @returns [..., N]
 * @throws {RangeError} RuntimeError for shapes or dtypes that do not fit
 */
export function linear(
  where: string,
  input: Tensor,
  weight: Tensor,
  bias: Tensor | undefined,
): Tensor {
  const types = [input, weight, ...(bias ? [bias] : [])].map(({ dtype }) => dtype);
  if (types.some((type) => type !== types[0])) {
    throw pythonError(
      "RuntimeError",
      `${where}: input, weight and bias must have the same dtype, got ${types.join(", ")}`,
    );
  }
  const [xShape, wShape] = [viewOf(input).shape, viewOf(weight).shape];
  const k = xShape[xShape.length - 1];
  if (xShape.length === 0 || (wShape.length !== 1 && wShape.length !== 2) || wShape.at(-1) !== k) {
    throw pythonError(
      "RuntimeError",
      `${where}: input of shape ${showShape(xShape)} and weight of shape ${showShape(wShape)} do ` +
        "not fit: they must be [..., K] and [N, K]",
    );
  }
  // PyTorch multiplies and adds the bias at once here, which takes matrices.
  const isFused = xShape.length === 2 || (xShape.length === 3 && input.is_contiguous());
  if (bias && wShape.length === 1 && isFused) {
    throw pythonError(
      "RuntimeError",
      `${where}: with a bias and an input of shape ${showShape(xShape)}, weight must be [N, K], ` +
        `got shape ${showShape(wShape)}`,
    );
  }
  const lead = xShape.slice(0, -1);
  const n = wShape.length === 1 ? 1 : wShape[0];
  const shape = wShape.length === 1 ? lead : [...lead, n];
  const sizes = { m: countOf(lead), k, n };
  const out = allocate(input.dtype, shape);
  const isPlainBias = bias?.dim() === 1 && bias.shape[0] === n;
  const isInside = isPlainBias && input.dtype === dtypes.float32;
  product(
    where,
    { ...sizes, x: elements(viewOf(input)), w: elements(viewOf(weight)) },
    out.storage,
    isInside ? (elements(viewOf(bias as Tensor)) as Float32Array) : undefined,
  );
  const result = tensorOf(out);
  return bias && !isInside ? added(where, result, bias) : result;
}

/** The sum of a result and a bias that broadcasts to it; the result never broadcasts to the bias. */
function added(where: string, result: Tensor, bias: Tensor): Tensor {
  const sum = result.add(bias);
  if (sameShape(sum.shape, result.shape)) return sum;
  throw pythonError(
    "RuntimeError",
    `${where}: bias of shape ${showShape(bias.shape)} does not stretch to ${showShape(result.shape)}`,
  );
}
