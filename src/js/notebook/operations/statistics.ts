// Many elements to one, or to as many: variance, products, norms, quantiles, running sums, histograms.

import { show } from "../../base/format-value.js";
import { checkFlag, checkScalar } from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { binary } from "../tensor/binary.js";
import { isScalar } from "../tensor/cast.js";
import { checkDType, dtypes, type NumberStorage, type Storage } from "../tensor/dtype.js";
import { extreme, extremeAlong, kept, reduction } from "../tensor/reduce.js";
import { narrow } from "../tensor/shapes.js";
import { softmax } from "../tensor/softmax.js";
import { clone, convert } from "../tensor/unary.js";
import { allocate, checkInteger, countOf, elements, permute, type View } from "../tensor/view.js";
import {
  checkFloat,
  checkView,
  doubles,
  type NamedViews,
  operation,
  runsAlong,
} from "./operation.js";

/** The values of a view, of which those along some axes become one; without axes, all of them. */
interface Slices {
  /** Values that become one. */
  readonly length: number;
  readonly values: Storage;
  /** The shape of the results. */
  readonly shape: readonly number[];
}

function slicesOf(view: View, axes: ReadonlySet<number> | undefined, keepdim: boolean): Slices {
  const all = [...view.shape.keys()];
  const gone = axes ?? new Set(all);
  const kept = all.filter((axis) => !gone.has(axis));
  const order = [...kept, ...all.filter((axis) => gone.has(axis))];
  return {
    length: countOf([...gone].map((axis) => view.shape[axis])),
    values: elements(permute(view, order)),
    shape: view.shape.flatMap((size, axis) => (gone.has(axis) ? (keepdim ? [1] : []) : [size])),
  };
}

/** Reduces float slices by a function of their values in double precision; the result is rounded once. */
function reduceFloats(
  where: string,
  view: View,
  args: readonly unknown[],
  reduce: (values: NumberStorage) => number,
): View {
  checkFloat(where, view);
  const { length, values, shape } = slicesOf(view, ...reduction(where, view.shape.length, args));
  const out = allocate(view.dtype, shape);
  const { storage } = out;
  for (let i = 0; i < storage.length; i++) {
    storage[i] = reduce(values.subarray(i * length, (i + 1) * length) as NumberStorage);
  }
  return out;
}

/** The largest of values and another one; NaN if there is any. */
const largestOf = (values: NumberStorage, least: number): number => {
  let most = least;
  for (let i = 0; i < values.length; i++) most = Math.max(most, values[i]);
  return most;
};

const sumOf = (values: NumberStorage, term: (value: number) => number): number => {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += term(values[i]);
  return total;
};

/** The variance, by the mean and the squared distances from it. */
function variance(values: NumberStorage, correction: number): number {
  const mean = sumOf(values, (value) => value) / values.length;
  return sumOf(values, (value) => (value - mean) ** 2) / Math.max(0, values.length - correction);
}

function spread(
  where: string,
  view: View,
  finish: (variance: number) => number,
  args: readonly unknown[],
): View {
  // std(unbiased), or std(dim, unbiased, keepdim).
  const isFlagFirst = typeof args[0] === "boolean";
  const [dim, unbiased, keepdim, correction] = isFlagFirst
    ? [undefined, args[0], args[1], args[3]]
    : args;
  if (unbiased !== undefined && correction !== undefined) {
    throw pythonError("TypeError", `${where}: takes unbiased or correction, not both`);
  }
  const by = checkScalar(where, "correction", correction ?? 1);
  const lost = unbiased === undefined ? Number(by) : Number(checkFlag(where, "unbiased", unbiased));
  return reduceFloats(where, view, [dim, keepdim], (values) => finish(variance(values, lost)));
}

function prod(where: string, view: View, dim?: unknown, keepdim?: unknown, type?: unknown): View {
  const isFloat = view.dtype.category === "float";
  const dtype =
    type === undefined ? (isFloat ? view.dtype : dtypes.int64) : checkDType(where, type);
  const source = convert(view, dtype);
  const { length, values, shape } = slicesOf(
    source,
    ...reduction(where, view.shape.length, [dim, keepdim]),
  );
  const out = allocate(dtype, shape);
  const { storage } = out;
  for (let i = 0; i < storage.length; i++) {
    const own = values.subarray(i * length, (i + 1) * length);
    if (own instanceof BigInt64Array) {
      let product = 1n;
      for (const value of own) product = BigInt.asIntN(64, product * value);
      storage[i] = product;
    } else {
      let product = 1;
      for (const value of own as NumberStorage) product *= value;
      storage[i] = product;
    }
  }
  return out;
}

/** A norm of values: the p-th root of the sum of their p-th powers. */
function normOf(values: NumberStorage, p: number): number {
  if (p === 2) return Math.sqrt(sumOf(values, (value) => value * value));
  if (p === 1) return sumOf(values, Math.abs);
  if (p === 0) return sumOf(values, (value) => Number(value !== 0));
  if (Math.abs(p) === Number.POSITIVE_INFINITY) {
    const magnitudes = Array.from(values as Float64Array, Math.abs);
    return magnitudes.reduce(
      p > 0 ? (a, b) => Math.max(a, b) : (a, b) => Math.min(a, b),
      p > 0 ? 0 : p * -1,
    );
  }
  return sumOf(values, (value) => Math.abs(value) ** p) ** (1 / p);
}

function norm(where: string, view: View, p: unknown = 2, dim?: unknown, keepdim?: unknown): View {
  if (p !== "fro" && !isScalar(p)) {
    throw pythonError("TypeError", `${where}: p must be a number or "fro", got ${show(p)}`);
  }
  const order = p === "fro" ? 2 : Number(p);
  return reduceFloats(where, view, [dim, keepdim], (values) => normOf(values, order));
}

function logsumexp(where: string, view: View, dim: unknown, keepdim?: unknown): View {
  return reduceFloats(where, view, [dim, keepdim], (values) => {
    const most = largestOf(values, Number.NEGATIVE_INFINITY);
    const shift = Math.abs(most) === Number.POSITIVE_INFINITY ? 0 : most;
    return Math.log(sumOf(values, (value) => Math.exp(value - shift))) + shift;
  });
}

function logSoftmax(where: string, view: View, dim: unknown): View {
  checkFloat(where, view, "NotImplementedError");
  const runs = runsAlong(where, view, dim);
  const { length, count } = runs;
  const values = runs.values as NumberStorage;
  const out = view.dtype.allocate(values.length);
  for (let run = 0; run < count; run++) {
    const own = values.subarray(run * length, (run + 1) * length) as NumberStorage;
    const most = largestOf(own, Number.NEGATIVE_INFINITY);
    const rest = Math.log(sumOf(own, (value) => Math.exp(value - most)));
    for (let i = 0; i < length; i++) out[run * length + i] = own[i] - most - rest;
  }
  return runs.result(out, view.dtype, length);
}

function countNonzero(where: string, view: View, dim?: unknown): View {
  const { length, values, shape } = slicesOf(view, ...reduction(where, view.shape.length, [dim]));
  const out = allocate(dtypes.int64, shape);
  for (let i = 0; i < out.storage.length; i++) {
    const own = values.subarray(i * length, (i + 1) * length) as NumberStorage;
    out.storage[i] = BigInt(sumOf(own, (value) => (Number(value) !== 0 ? 1 : 0)));
  }
  return out;
}

function aminmax(where: string, view: View, dim?: unknown, keep?: unknown): NamedViews {
  const keepdim = checkFlag(where, "keepdim", keep);
  const of = (name: "min" | "max"): View => {
    if (dim !== undefined) {
      const axis = runsAlong(where, view, dim).axis;
      return extremeAlong(where, name, view, axis, keepdim).values;
    }
    return kept(view, extreme(where, name, view), keepdim);
  };
  return { typeName: "torch.return_types.aminmax", items: { min: of("min"), max: of("max") } };
}

/** Sums, or products, so far along a dimension: floats in double precision, each rounded once. */
function running(where: string, view: View, dim: unknown, type: unknown, isSum: boolean): View {
  const isFloat = view.dtype.category === "float";
  const dtype =
    type === undefined ? (isFloat ? view.dtype : dtypes.int64) : checkDType(where, type);
  const runs = runsAlong(where, convert(view, dtype), dim);
  const { length, values } = runs;
  const out = dtype.allocate(values.length);
  if (values instanceof BigInt64Array) {
    let total = 0n;
    for (let i = 0; i < values.length; i++) {
      if (i % length === 0) total = isSum ? 0n : 1n;
      total = BigInt.asIntN(64, isSum ? total + values[i] : total * values[i]);
      out[i] = total;
    }
  } else {
    let total = 0;
    for (let i = 0; i < values.length; i++) {
      if (i % length === 0) total = isSum ? 0 : 1;
      total = isSum ? total + values[i] : total * values[i];
      out[i] = total;
    }
  }
  return runs.result(out, dtype, length);
}

function diff(where: string, view: View, n: unknown = 1, dim: unknown = -1): View {
  const times = checkInteger(where, "n", n);
  if (view.shape.length === 0 || times < 0) {
    const got = view.shape.length === 0 ? "a 0-d tensor" : `n of ${times}`;
    throw pythonError(
      "RuntimeError",
      `${where}: takes a tensor of 1 dimension or more and n of 0 or more, got ${got}`,
    );
  }
  let left = clone(view);
  const { axis } = runsAlong(where, view, dim);
  for (let i = 0; i < times; i++) {
    const length = Math.max(0, left.shape[axis] - 1);
    const after = narrow(where, left, axis, left.shape[axis] - length, length);
    const before = narrow(where, left, axis, 0, length);
    left = binary(where, left.dtype === dtypes.bool ? "ne" : "sub", after, before);
  }
  return left;
}

const INTERPOLATIONS = ["linear", "lower", "higher", "midpoint", "nearest"];

/** The number between two neighbours of a sorted run, as torch.lerp rounds it. */
function between(
  round: (value: number) => number,
  below: number,
  above: number,
  weight: number,
): number {
  const distance = round(above - below);
  return weight < 0.5
    ? round(below + weight * distance)
    : round(above - distance * round(1 - weight));
}

function quantile(
  where: string,
  view: View,
  q: unknown,
  dim?: unknown,
  keep?: unknown,
  interpolation: unknown = "linear",
): View {
  checkFloat(where, view);
  const round = view.dtype === dtypes.float32 ? Math.fround : Number;
  const given = isScalar(q) ? undefined : checkView(where, "q", q);
  if (given && (given.dtype !== view.dtype || given.shape.length > 1)) {
    throw pythonError(
      "RuntimeError",
      `${where}: q must be a number or a tensor of at most 1 dimension and of the input's dtype`,
    );
  }
  if (!INTERPOLATIONS.includes(String(interpolation))) {
    const names = INTERPOLATIONS.join(", ");
    throw pythonError(
      "RuntimeError",
      `${where}: interpolation must be one of ${names}, got ${show(interpolation)}`,
    );
  }
  const shares = given ? [...doubles(given)] : [round(Number(q))];
  if (shares.some((share) => !(share >= 0 && share <= 1))) {
    throw pythonError("RuntimeError", `${where}: q must be from 0 to 1, got ${shares.join(", ")}`);
  }
  if (countOf(view.shape) === 0) {
    throw pythonError("RuntimeError", `${where}: a tensor without elements has no quantiles`);
  }
  const reduced = reduction(where, view.shape.length, [dim, keep]);
  if (Array.isArray(dim)) {
    throw pythonError("TypeError", `${where}: dim must be a whole number, got ${show(dim)}`);
  }
  const { length, values, shape } = slicesOf(view, ...reduced);
  const count = countOf(shape);
  const out = allocate(view.dtype, [...(given ? given.shape : []), ...shape]);
  for (let slice = 0; slice < count; slice++) {
    const sorted = (values as Float64Array).slice(slice * length, (slice + 1) * length).sort();
    const hasNaN = Number.isNaN(sorted[length - 1]);
    shares.forEach((share, i) => {
      const rank = share * (length - 1);
      const [low, high] = [Math.floor(rank), Math.ceil(rank)];
      const nearest = rank - low === 0.5 ? low + (low % 2) : Math.round(rank);
      const places = { lower: [low, low], higher: [high, high], nearest: [nearest, nearest] };
      const [from, to] = places[interpolation as keyof typeof places] ?? [low, high];
      const weight = interpolation === "midpoint" ? 0.5 : round(rank - low);
      out.storage[i * count + slice] = hasNaN
        ? Number.NaN
        : from === to
          ? sorted[from]
          : between(round, sorted[from], sorted[to], weight);
    });
  }
  return out;
}

function histc(
  where: string,
  view: View,
  bins: unknown = 100,
  min: unknown = 0,
  max: unknown = 0,
): View {
  checkFloat(where, view);
  const count = checkInteger(where, "bins", bins);
  if (count < 1) throw pythonError("RuntimeError", `${where}: bins must be above 0, got ${count}`);
  const round = view.dtype === dtypes.float32 ? Math.fround : Number;
  const values = elements(view) as Float32Array;
  let least = round(Number(checkScalar(where, "min", min)));
  let most = round(Number(checkScalar(where, "max", max)));
  if (least === most && values.length > 0) {
    least = Number(extreme(where, "min", view).storage[0]);
    most = Number(extreme(where, "max", view).storage[0]);
  }
  if (least === most) [least, most] = [round(least - 1), round(most + 1)];
  if (!Number.isFinite(least) || !Number.isFinite(most)) {
    throw pythonError("RuntimeError", `${where}: range of [${least}, ${most}] is not finite`);
  }
  if (least > most) {
    throw pythonError("RuntimeError", `${where}: max must be larger than min`);
  }
  const out = allocate(view.dtype, [count]);
  const width = round(most - least);
  for (const value of values) {
    if (!(value >= least && value <= most)) continue;
    const at = Math.trunc(round(round(round(value - least) * count) / width));
    out.storage[Math.min(at, count - 1)] = Number(out.storage[Math.min(at, count - 1)]) + 1;
  }
  return out;
}

function bincount(where: string, view: View, weights?: unknown, minlength: unknown = 0): View {
  const least = checkInteger(where, "minlength", minlength);
  if (view.dtype.category !== "integer" || view.shape.length !== 1) {
    throw pythonError(
      view.dtype.category === "float" ? "NotImplementedError" : "RuntimeError",
      `${where}: takes integers in 1 dimension, got ${view.dtype} in ${view.shape.length}`,
    );
  }
  if (least < 0) {
    throw pythonError("RuntimeError", `${where}: minlength must be 0 or more, got ${least}`);
  }
  const values = doubles(view);
  const negative = (values as Float64Array).find((value) => value < 0);
  if (negative !== undefined) {
    throw pythonError("RuntimeError", `${where}: values must be 0 or more, got ${negative}`);
  }
  const length = Math.max(least, largestOf(values, -1) + 1);
  if (weights === undefined) {
    const out = allocate(dtypes.int64, [length]);
    const counts = out.storage as BigInt64Array;
    for (const value of values) counts[value]++;
    return out;
  }
  const by = checkView(where, "weights", weights);
  if (by.shape.length !== 1 || by.shape[0] !== view.shape[0]) {
    throw pythonError("RuntimeError", `${where}: weights must be as many as the values`);
  }
  const dtype = by.dtype === dtypes.float32 ? dtypes.float32 : dtypes.float64;
  const out = allocate(dtype, [length]);
  const totals = out.storage as NumberStorage;
  doubles(by).forEach((weight: number, i: number) => {
    totals[values[i]] += weight;
  });
  return out;
}

/** Operations that reduce, count or accumulate. */
export const statistics = {
  var: operation("dim? unbiased? keepdim? * correction?", (where, view, ...args: unknown[]) =>
    spread(where, view, Number, args),
  ),
  std: operation("dim? unbiased? keepdim? * correction?", (where, view, ...args: unknown[]) =>
    spread(where, view, Math.sqrt, args),
  ),
  prod: operation("dim? keepdim? * dtype?", prod),
  norm: operation("p? dim? keepdim?", norm),
  softmax: operation("dim", softmax),
  log_softmax: operation("dim", logSoftmax),
  logsumexp: operation("dim keepdim?", logsumexp),
  count_nonzero: operation("dim?", countNonzero),
  aminmax: operation("* dim? keepdim?", aminmax),
  cumsum: operation("dim * dtype?", (where, view, dim, type) =>
    running(where, view, dim, type, true),
  ),
  cumprod: operation("dim * dtype?", (where, view, dim, type) =>
    running(where, view, dim, type, false),
  ),
  diff: operation("n? dim?", diff),
  quantile: operation("q dim? keepdim? * interpolation?", quantile),
  histc: operation("bins? min? max?", histc),
  bincount: operation("weights? minlength?", bincount),
};
