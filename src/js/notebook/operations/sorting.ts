// Order: sort, topk, unique and their relatives.

import { show } from "../../base/format-value.js";
import { checkFlag } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { type DType, dtypes, type Storage } from "../tensor/dtype.js";
import { checkAxis, checkInteger, elements, rowMajorView, type View } from "../tensor/view.js";
import { checkView, type NamedViews, operation, type Result, runsAlong } from "./operation.js";

/** Less than 0 if `a` comes before `b` in ascending order, where NaN is the largest value. */
function compare(a: number | bigint, b: number | bigint): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
}

/** The places of a run's values in order; equal values stay in their own. */
function orderOf(values: Storage, descending: boolean): number[] {
  const sign = descending ? -1 : 1;
  return [...values.keys()].sort((i, j) => sign * compare(values[i], values[j]) || i - j);
}

function pair(name: string, values: View, indices: View): NamedViews {
  return { typeName: `torch.return_types.${name}`, items: { values, indices } };
}

/** The first `kept` values of each run in an order, and their places. */
function ordered(
  where: string,
  name: string,
  view: View,
  dim: unknown,
  keptOf: (length: number) => number,
  descending: boolean,
): NamedViews {
  const runs = runsAlong(where, view, dim);
  const { length, count, values } = runs;
  const kept = keptOf(length);
  const out = view.dtype.allocate(count * kept);
  const places = new BigInt64Array(count * kept);
  for (let run = 0; run < count; run++) {
    const own = values.subarray(run * length, (run + 1) * length) as Storage;
    const order = orderOf(own, descending);
    for (let i = 0; i < kept; i++) {
      out[run * kept + i] = own[order[i]];
      places[run * kept + i] = BigInt(order[i]);
    }
  }
  const whole = (storage: Storage, dtype: DType): View => runs.result(storage, dtype, kept);
  return pair(name, whole(out, view.dtype), whole(places, dtypes.int64));
}

function sort(where: string, view: View, dim: unknown = -1, descending?: unknown): NamedViews {
  const isDescending = checkFlag(where, "descending", descending);
  return ordered(where, "sort", view, dim, (length) => length, isDescending);
}

function topk(
  where: string,
  view: View,
  k: unknown,
  dim: unknown = -1,
  largest: unknown = true,
): NamedViews {
  const wanted = checkInteger(where, "k", k);
  const descending = checkFlag(where, "largest", largest);
  const checked = (length: number): number => {
    if (wanted >= 0 && wanted <= length) return wanted;
    throw pythonError("RuntimeError", `${where}: k must be from 0 to ${length}, got ${wanted}`);
  };
  return ordered(where, "topk", view, dim, checked, descending);
}

/** The value of each run at a place of its ascending order, and where it is. */
function atPlace(
  where: string,
  name: string,
  view: View,
  dim: unknown,
  keep: unknown,
  placeOf: (run: Storage) => number,
): NamedViews {
  const keepdim = checkFlag(where, "keepdim", keep);
  const runs = runsAlong(where, view, dim);
  const { length, count, values } = runs;
  if (length === 0) {
    throw pythonError("IndexError", `${where}: dimension ${runs.axis} has size 0`);
  }
  const out = view.dtype.allocate(count);
  const places = new BigInt64Array(count);
  for (let run = 0; run < count; run++) {
    const own = values.subarray(run * length, (run + 1) * length) as Storage;
    const index = orderOf(own, false)[placeOf(own)];
    out[run] = own[index];
    places[run] = BigInt(index);
  }
  const kept = keepdim ? 1 : undefined;
  const whole = (storage: Storage, dtype: DType): View => runs.result(storage, dtype, kept);
  return pair(name, whole(out, view.dtype), whole(places, dtypes.int64));
}

function kthvalue(
  where: string,
  view: View,
  k: unknown,
  dim: unknown = -1,
  keepdim?: unknown,
): NamedViews {
  const wanted = checkInteger(where, "k", k);
  return atPlace(where, "kthvalue", view, dim, keepdim, ({ length }) => {
    if (wanted >= 1 && wanted <= length) return wanted - 1;
    throw pythonError("RuntimeError", `${where}: k must be from 1 to ${length}, got ${wanted}`);
  });
}

/** The place of the median in ascending order: the lower of two, or a NaN. */
function medianPlace(values: Storage): number {
  let numbers = 0;
  for (const value of values) if (!Number.isNaN(value)) numbers++;
  return numbers < values.length ? numbers : Math.floor((values.length - 1) / 2);
}

function median(where: string, view: View, dim?: unknown, keepdim?: unknown): Result {
  if (view.dtype === dtypes.bool) {
    throw pythonError(
      "NotImplementedError",
      `${where}: does not take a bool tensor; convert with to()`,
    );
  }
  if (dim !== undefined) return atPlace(where, "median", view, dim, keepdim, medianPlace);
  const values = elements(view);
  const out = view.dtype.allocate(1);
  if (values.length > 0) out[0] = values[orderOf(values, false)[medianPlace(values)]];
  else if (view.dtype.category === "float") out[0] = Number.NaN;
  return rowMajorView(out, view.dtype, []);
}

/** The largest, or smallest, value so far along a dimension, and where it is: the last of equals. */
function extremeSoFar(where: string, name: string, view: View, dim: unknown, sign: 1 | -1): Result {
  const runs = runsAlong(where, view, dim);
  const { length, count, values } = runs;
  const out = view.dtype.allocate(values.length);
  const places = new BigInt64Array(values.length);
  for (let run = 0; run < count; run++) {
    let best = run * length;
    for (let i = best; i < (run + 1) * length; i++) {
      if (Number.isNaN(values[i])) best = i;
      else if (!Number.isNaN(values[best]) && sign * compare(values[i], values[best]) >= 0)
        best = i;
      out[i] = values[best];
      places[i] = BigInt(best - run * length);
    }
  }
  const indices = runs.result(places, dtypes.int64, length);
  return pair(name, runs.result(out, view.dtype, length), indices);
}

function unique(
  where: string,
  view: View,
  _sorted?: unknown,
  inverse?: unknown,
  counts?: unknown,
  dim?: unknown,
): Result {
  if (dim !== undefined) {
    throw pythonError("NotImplementedError", `${where}: dim is not supported here`);
  }
  const values = elements(view);
  const order = orderOf(values, false);
  const found: number[] = []; // the first place of each value
  const times: number[] = [];
  const places = new BigInt64Array(values.length);
  for (const at of order) {
    // Each NaN is a value of its own, as in PyTorch.
    if (found.length === 0 || values[at] !== values[found[found.length - 1]]) {
      found.push(at);
      times.push(0);
    }
    times[times.length - 1]++;
    places[at] = BigInt(found.length - 1);
  }
  const out = view.dtype.allocate(found.length);
  found.forEach((at, i) => {
    out[i] = values[at];
  });
  const whole = rowMajorView(out, view.dtype, [found.length]);
  const totals = BigInt64Array.from(times, BigInt);
  const others = [
    ...(checkFlag(where, "return_inverse", inverse)
      ? [rowMajorView(places, dtypes.int64, view.shape)]
      : []),
    ...(checkFlag(where, "return_counts", counts)
      ? [rowMajorView(totals, dtypes.int64, [found.length])]
      : []),
  ];
  return others.length === 0 ? whole : [whole, ...others];
}

/** How many values of a sorted list are below a value, or also equal to it. */
function placeAmong(sorted: Storage, value: number | bigint, right: boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compare(sorted[middle], value);
    if (order < 0 || (right && order === 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function bucketize(where: string, view: View, boundaries: unknown, right?: unknown): View {
  const limits = checkView(where, "boundaries", boundaries);
  checkAxis(where, 0, limits.shape.length);
  if (limits.shape.length !== 1) {
    const got = `a tensor of ${limits.shape.length} dimensions`;
    throw pythonError("RuntimeError", `${where}: boundaries must have 1 dimension, got ${got}`);
  }
  const isRight = checkFlag(where, "right", right);
  const sorted = elements(limits);
  const places = BigInt64Array.from(elements(view) as Float64Array, (value) =>
    BigInt(placeAmong(sorted, value, isRight)),
  );
  return rowMajorView(places, dtypes.int64, view.shape);
}

/** An order that has no meaning for a tensor is refused. */
function checkPlaces(where: string, value: unknown): void {
  if (value === undefined || typeof value === "boolean") return;
  throw pythonError("TypeError", `${where}: stable must be true or false, got ${show(value)}`);
}

/** Operations by order. */
export const sorting = {
  sort: operation("dim? descending? * stable?", (where, view, dim, descending, stable) => {
    checkPlaces(where, stable);
    return sort(where, view, dim, descending);
  }),
  argsort: operation("dim? descending? * stable?", (where, view, dim, descending, stable) => {
    checkPlaces(where, stable);
    return sort(where, view, dim, descending).items.indices;
  }),
  topk: operation("k dim? largest? sorted?", topk),
  kthvalue: operation("k dim? keepdim?", kthvalue),
  median: operation("dim? keepdim?", median),
  cummax: operation("dim", (where, view, dim) => extremeSoFar(where, "cummax", view, dim, 1)),
  cummin: operation("dim", (where, view, dim) => extremeSoFar(where, "cummin", view, dim, -1)),
  unique: operation("sorted? return_inverse? return_counts? dim?", unique),
  bucketize: operation("boundaries * right?", bucketize),
};
