// Many elements to one in the dtype's own arithmetic: sum, mean, extremes and their places, all and any, equality.

import { sameShape } from "../../tensor/shape.js";
import { checkFlag } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { binary } from "../tensor/binary.js";
import { checkDType, dtypes } from "../tensor/dtype.js";
import {
  type ExtremeName,
  everyElement,
  extreme,
  extremeAlong,
  extremeIndex,
  kept,
  mean,
  reduction,
  sum,
  truth,
} from "../tensor/reduce.js";
import { convert } from "../tensor/unary.js";
import { checkAxis, countOf, elements, rowMajorView, type View } from "../tensor/view.js";
import { isclose } from "./elementwise.js";
import { checkView, type Operation, operation } from "./operation.js";

/** Converted to a dtype that was given. */
function typed(where: string, view: View, dtype: unknown): View {
  return dtype === undefined ? view : convert(view, checkDType(where, dtype));
}

/** Converted first; a sum of integers is int64, and then what was asked for. */
function total(where: string, view: View, dim: unknown, keepdim: unknown, dtype: unknown): View {
  const source = typed(where, view, dtype);
  const result = sum(where, source, ...reduction(where, view.shape.length, [dim, keepdim]));
  return typed(where, result, dtype);
}

/** `torch.amax`, `torch.amin`. */
const extremes = (name: ExtremeName): Operation =>
  operation("dim? keepdim?", (where, view, ...args: unknown[]) => {
    const [axes, keepdim] = reduction(where, view.shape.length, args);
    if (axes === undefined) return kept(view, extreme(where, name, view), keepdim);
    // From the last axis to the first, so that those before keep their numbers.
    return [...axes]
      .sort((a, b) => b - a)
      .reduce((part, axis) => extremeAlong(where, name, part, axis, keepdim).values, view);
  });

/** `torch.argmax`, `torch.argmin`. */
const place = (name: ExtremeName): Operation =>
  operation("dim? keepdim?", (where, view, dim: unknown, keep: unknown) => {
    const rank = view.shape.length;
    const count = countOf(view.shape);
    const axis = dim === undefined ? undefined : checkAxis(where, dim, rank);
    const keepdim = checkFlag(where, "keepdim", keep);
    const along =
      axis === undefined ? undefined : extremeAlong(where, name, view, axis, keepdim).indices;
    if (along === undefined && count === 0) {
      throw pythonError("IndexError", `${where}: a tensor without elements has no ${name}`);
    }
    // PyTorch compares no bools, but does not notice along a dimension that leaves nothing to compare.
    const isCompared = rank === 0 || along === undefined || countOf(along.shape) !== count;
    if (view.dtype === dtypes.bool && isCompared) {
      throw pythonError("RuntimeError", `${where}: does not take a bool tensor; convert with to()`);
    }
    if (along !== undefined) return along;
    const index = BigInt(extremeIndex(name, elements(view)));
    return kept(view, rowMajorView(BigInt64Array.of(index), dtypes.int64, []), keepdim);
  });

/** `torch.all`, `torch.any`. */
const truths = (name: "all" | "any"): Operation =>
  operation("dim? keepdim?", (where, view, ...args: unknown[]) =>
    truth(name, view, ...reduction(where, view.shape.length, args)),
  );

function equal(where: string, view: View, given: unknown): boolean {
  const other = checkView(where, "other", given);
  return sameShape(view.shape, other.shape) && everyElement(binary(where, "eq", view, other));
}

/** Operations that reduce. */
export const reductions = {
  sum: operation("dim? keepdim? * dtype?", total),
  mean: operation(
    "dim? keepdim? * dtype?",
    (where, view, dim: unknown, keepdim: unknown, dtype: unknown) =>
      mean(
        where,
        typed(where, view, dtype),
        ...reduction(where, view.shape.length, [dim, keepdim]),
      ),
  ),
  amax: extremes("max"),
  amin: extremes("min"),
  argmax: place("max"),
  argmin: place("min"),
  all: truths("all"),
  any: truths("any"),
  equal: operation("other", equal),
  allclose: operation("other rtol? atol? equal_nan?", (where, view, other, ...rest: unknown[]) =>
    everyElement(isclose(where, view, checkView(where, "other", other), ...rest)),
  ),
};
