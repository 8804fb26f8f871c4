// torch.stack and torch.cat.

import { show } from "../../base/format-value.js";
import { bindArguments } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { promoteTypes } from "../tensor/promotion.js";
import { checkTensor, type Tensor, tensorOf } from "../tensor/tensor.js";
import { allocate, checkAxis } from "../tensor/view.js";

/** Puts tensors of one shape side by side along a new dimension. Source: `torch.stack`. */
export function stack(tensors: readonly Tensor[], dim?: number | { dim?: number }): Tensor;

export function stack(keywords: JoinKeywords): Tensor;

export function stack(...args: unknown[]): Tensor {
  const where = "torch.stack";
  const { list, dim } = bindJoin(where, args);
  const different = list.find((other) => String(other.shape) !== String(list[0].shape));
  if (different !== undefined) {
    throw pythonError(
      "RuntimeError",
      `${where}: all tensors must have the same shape, got ${list[0].shape} and ${different.shape}`,
    );
  }
  const axis = checkAxis(where, dim, list[0].dim() + 1);
  return cat(
    list.map((one) => one.unsqueeze(axis)),
    axis,
  );
}

/** Joins tensors along a dimension that they have. Source: `torch.cat`. */
export function cat(tensors: readonly Tensor[], dim?: number | { dim?: number }): Tensor;

export function cat(keywords: JoinKeywords): Tensor;

export function cat(...args: unknown[]): Tensor {
  const where = "torch.cat";
  const { list, dim } = bindJoin(where, args);
  if (list.some((one) => one.dim() === 0)) {
    throw pythonError("RuntimeError", `${where}: 0-d tensors cannot be joined; use torch.stack`);
  }
  const dtype = list.map((one) => one.dtype).reduce(promoteTypes);
  // PyTorch accepts tensors of shape [0] beside any others: only their dtype counts.
  const joined = list.filter((one) => one.dim() > 1 || one.numel() > 0);
  if (joined.length === 0) return tensorOf(allocate(dtype, [0]));
  const [first] = joined;
  const axis = checkAxis(where, dim, first.dim());
  const matches = (one: Tensor): boolean =>
    one.dim() === first.dim() &&
    one.shape.every((length, other) => other === axis || length === first.shape[other]);
  const misfit = joined.find((one) => !matches(one));
  if (misfit !== undefined) {
    throw pythonError(
      "RuntimeError",
      `${where}: shapes must agree except in dimension ${dim}, got ` +
        `${first.shape} and ${misfit.shape}`,
    );
  }
  const total = joined.reduce((sum, one) => sum + one.size(axis), 0);
  const shape = first.shape.map((length, other) => (other === axis ? total : length));
  const out = tensorOf(allocate(dtype, shape));
  let start = 0;
  for (const one of joined) {
    out.narrow(axis, start, one.size(axis)).copy_(one);
    start += one.size(axis);
  }
  return out;
}

/** Joins tensors side by side: vectors one after the other, others along dimension 1. Source: `torch.hstack`. */
export function hstack(tensors: readonly Tensor[] | { tensors: readonly Tensor[] }): Tensor;

export function hstack(...args: unknown[]): Tensor {
  const { list } = bindJoin("torch.hstack", args, ["tensors"]);
  const rows = list.map((one) => (one.dim() === 0 ? one.reshape(1) : one));
  return cat(rows, rows[0].dim() === 1 ? 0 : 1);
}

/** Joins tensors one below the other; vectors are rows. Source: `torch.vstack`. */
export function vstack(tensors: readonly Tensor[] | { tensors: readonly Tensor[] }): Tensor;

export function vstack(...args: unknown[]): Tensor {
  const { list } = bindJoin("torch.vstack", args, ["tensors"]);
  return cat(list.map((one) => (one.dim() < 2 ? one.reshape(1, -1) : one)));
}

/** Arguments of stack and cat by name. */
export interface JoinKeywords {
  /** At least one. */
  tensors: readonly Tensor[];
  /** The dimension along which they are joined. Default: 0. */
  dim?: number;
}

function bindJoin(
  where: string,
  args: readonly unknown[],
  parameters = ["tensors", "dim?"],
): { list: Tensor[]; dim: unknown } {
  const [tensors, dim = 0] = bindArguments(where, parameters, args);
  if (!Array.isArray(tensors) || tensors.length === 0) {
    throw pythonError(
      Array.isArray(tensors) ? "RuntimeError" : "TypeError",
      `${where}: tensors must be an array of tensors, at least one, got ${show(tensors)}`,
    );
  }
  return { list: tensors.map((one, i) => checkTensor(where, `tensors[${i}]`, one)), dim };
}
