// torch.nn.functional: losses, one_hot, pad.

import { show } from "../../base/format-value.js";
import { pad as padded } from "../operations/arrangement.js";
import { bindArguments, checkScalar } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { checkedScalarStorage } from "../tensor/cast.js";
import { dtypes } from "../tensor/dtype.js";
import { checkTensor, type Tensor, tensorOf, viewOf } from "../tensor/tensor.js";
import { allocate, checkInteger, elements } from "../tensor/view.js";

/** How a loss is reduced: to its mean, its sum, or not at all. */
export interface LossKeywords {
  /** Default: "mean". */
  reduction?: "mean" | "sum" | "none";
}

function reduced(where: string, loss: Tensor, reduction: unknown = "mean"): Tensor {
  if (reduction === "mean") return loss.mean();
  if (reduction === "sum") return loss.sum();
  if (reduction === "none") return loss;
  throw pythonError(
    "ValueError",
    `${where}: reduction must be "mean", "sum" or "none", got ${show(reduction)}`,
  );
}

function distance(
  name: string,
  args: readonly unknown[],
  of: (difference: Tensor) => Tensor,
): Tensor {
  const where = `torch.nn.functional.${name}`;
  const [input, target, reduction] = bindArguments(
    where,
    ["input", "target", "*", "reduction?"],
    args,
  );
  const difference = checkTensor(where, "input", input).sub(checkTensor(where, "target", target));
  return reduced(where, of(difference), reduction);
}

/** The mean of squared differences. Source: `torch.nn.functional.mse_loss`. */
export function mse_loss(input: Tensor, target: Tensor, keywords?: LossKeywords): Tensor;

export function mse_loss(...args: unknown[]): Tensor {
  return distance("mse_loss", args, (difference) => difference.square());
}

/** The mean of the magnitudes of differences. Source: `torch.nn.functional`.l1_loss. */
export function l1_loss(input: Tensor, target: Tensor, keywords?: LossKeywords): Tensor;

export function l1_loss(...args: unknown[]): Tensor {
  return distance("l1_loss", args, (difference) => difference.abs());
}

/**
 * The mean of -log(softmax) at the classes that are right.
 *
 * Source: `torch.nn.functional.cross_entropy`, for classes as indices.
 *
 * @param input   [N, classes] or [classes]. @param target  int64[N], or a 0-d tensor
 */
export function cross_entropy(input: Tensor, target: Tensor, keywords?: LossKeywords): Tensor;

export function cross_entropy(...args: unknown[]): Tensor {
  const where = "torch.nn.functional.cross_entropy";
  const [given, classes, reduction] = bindArguments(
    where,
    ["input", "target", "*", "reduction?"],
    args,
  );
  const input = checkTensor(where, "input", given);
  const target = checkTensor(where, "target", classes);
  if (input.dim() === 0 || input.dim() > 2 || target.dim() !== input.dim() - 1) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes input of shape [N, classes] and target of shape [N], got ${input.shape} and ${target.shape}`,
    );
  }
  const shares = input.log_softmax(-1);
  const loss = shares.gather(-1, target.unsqueeze(-1)).squeeze(-1).neg();
  return reduced(where, loss, reduction);
}

/**
 * A row of zeros with a one at each class. Source: `torch.nn.functional.one_hot`.
 * @param num_classes  default: one more than the largest class
 */
export function one_hot(tensor: Tensor, num_classes?: number | { num_classes?: number }): Tensor;

export function one_hot(...args: unknown[]): Tensor {
  const where = "torch.nn.functional.one_hot";
  const [given, count = -1] = bindArguments(where, ["tensor", "num_classes?"], args);
  const tensor = checkTensor(where, "tensor", given);
  if (tensor.dtype !== dtypes.int64) {
    throw pythonError(
      "RuntimeError",
      `${where}: takes a tensor of torch.int64, got ${tensor.dtype}`,
    );
  }
  const classes = Array.from(elements(viewOf(tensor)) as BigInt64Array, Number);
  const wanted = checkInteger(where, "num_classes", count);
  const most = classes.reduce((a, b) => Math.max(a, b + 1), 0);
  const size = wanted === -1 ? most : wanted;
  if (size < Math.max(most, 1) || classes.some((each) => each < 0)) {
    throw pythonError(
      "RuntimeError",
      `${where}: classes must be from 0 and below num_classes, got ${show(classes)} of ${size}`,
    );
  }
  const out = allocate(dtypes.int64, [...tensor.shape, size]);
  classes.forEach((each, i) => {
    out.storage[i * size + each] = 1n;
  });
  return tensorOf(out);
}

/**
 * A copy with more values around: two numbers for each dimension, from the last to the first.
 *
 * Source: `torch.nn.functional.pad` with mode "constant".
 */
export function pad(
  input: Tensor,
  pad: readonly number[],
  mode?: "constant" | { mode?: "constant"; value?: number | null },
  value?: number | null,
): Tensor;

export function pad(...args: unknown[]): Tensor {
  const where = "torch.nn.functional.pad";
  const parameters = ["input", "pad", "mode?", "value?"];
  const [given, sizes, mode = "constant", value = 0] = bindArguments(where, parameters, args);
  if (mode !== "constant") {
    throw pythonError(
      "NotImplementedError",
      `${where}: mode must be "constant", got ${show(mode)}`,
    );
  }
  const input = checkTensor(where, "input", given);
  const [fill] = checkedScalarStorage(where, checkScalar(where, "value", value), input.dtype);
  return tensorOf(padded(where, viewOf(input), sizes, fill));
}
