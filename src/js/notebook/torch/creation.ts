// torch.tensor, torch.zeros and similar functions.

import { show, showShape } from "../../base/format-value.js";
import {
  bindArguments,
  bindSizes,
  checkScalar,
  flattenSizes,
  hasKeyword,
  splitKeywords,
} from "../python/arguments.js";
import { pythonError } from "../python/errors.js";
import { cast, isInt, isScalar, type Scalar, storeChecked } from "../tensor/cast.js";
import { checkDType, type DType, dtypes, type Storage } from "../tensor/dtype.js";
import { checkTensor, Tensor, tensorOf, viewOf } from "../tensor/tensor.js";
import { clone, convert } from "../tensor/unary.js";
import { allocate, checkInteger, countOf, rowMajorView, type View } from "../tensor/view.js";

/** Keywords of functions that make tensors. */
export interface CreationKeywords {
  /** The dtype of the new tensor. The default is that of the function. */
  dtype?: DType;
}

/** Sizes, one by one or as an array, then perhaps keywords. */
export type SizeArguments =
  | readonly [sizes: readonly number[], keywords?: CreationKeywords]
  | readonly [keywords: { size: readonly number[] } & CreationKeywords]
  | readonly [...sizes: number[]]
  | readonly [...sizes: number[], keywords: CreationKeywords];

/** Values of `torch.tensor`: nested numbers, arrays of numbers, tensors. */
export type TensorData =
  | Scalar
  | Tensor
  | Storage
  | Uint32Array
  | { readonly data: ArrayLike<number>; readonly shape: readonly number[] }
  | readonly TensorData[];

const MAX_DIMENSIONS = 64;

/**
 * Makes a tensor of numbers; always a copy.
 *
 * Without `dtype`: bool if there are booleans only, int64 if all numbers are whole, else float32.
 * (JS cannot tell 1.0 from 1: write float(1), or give `dtype: torch.float32`.) Typed arrays and
 * tensors keep their dtype.
 *
 * Source: `torch.tensor`.
 *
 * @param data   numbers nested as deep as the tensor has dimensions, a typed array, a tensor, or
 *   `{ data, shape }` such as the tensors of "zeropoint"
 * @param dtype  the dtype to convert to
 * @throws {TypeError} for anything but numbers
 * @throws {RangeError} ValueError for rows of different lengths; RuntimeError for integers that the
 *   dtype cannot hold
 * @example torch.tensor([1, 2, 3], { dtype: torch.float32 }) // tensor([1., 2., 3.])
 */
export function tensor(data: TensorData, dtype?: DType | CreationKeywords): Tensor;

export function tensor(...args: unknown[]): Tensor {
  const where = "torch.tensor";
  const isTensorLike = args.length === 1 && typedSource(args[0]) !== undefined;
  const parameters = ["data", "dtype?"];
  const [data, type] = isTensorLike ? args : bindArguments(where, parameters, args);
  const dtype = type === undefined ? undefined : checkDType(where, type);
  const source = typedSource(data);
  if (source !== undefined) {
    const view = checkSource(where, source);
    const copy = clone(view);
    return dtype === undefined ? tensorOf(copy) : tensorOf(copy).to(dtype);
  }
  const shape = shapeOfNested(where, data);
  const values: Scalar[] = [];
  // Without elements, PyTorch does not look at further rows.
  if (countOf(shape) > 0) collect(where, data, shape, 0, "data", values);
  const inferred = dtype ?? inferDType(values);
  const view = allocate(inferred, shape);
  storeChecked(where, view.storage, inferred, values);
  return tensorOf(view);
}

/** A typed array with its shape. */
interface TypedSource {
  readonly storage: Storage | Uint32Array | ArrayLike<number>;
  readonly shape: readonly number[];
}

function typedSource(value: unknown): View | TypedSource | undefined {
  if (value instanceof Tensor) return viewOf(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const storage = value as unknown as Storage;
    return { storage, shape: [storage.length] };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { data, shape } = value as { data?: unknown; shape?: unknown };
  if (!ArrayBuffer.isView(data) || !Array.isArray(shape)) return undefined;
  return { storage: data as unknown as Storage, shape: shape as readonly number[] };
}

function checkSource(where: string, source: View | TypedSource): View {
  if ("dtype" in source) return source;
  const { storage, shape } = source;
  const sizes = shape.map((length) => checkInteger(where, "shape", length));
  if (countOf(sizes) !== storage.length) {
    throw pythonError(
      "ValueError",
      `${where}: ${storage.length} values do not fill shape ${showShape(shape)}`,
    );
  }
  const found = Object.values(dtypes).find(
    (type) => type !== dtypes.bool && storage.constructor === type.allocate(0).constructor,
  );
  if (found !== undefined) return rowMajorView(storage as Storage, found, sizes);
  if (storage instanceof Uint32Array || storage instanceof BigUint64Array) {
    const wide = BigInt64Array.from(storage as ArrayLike<number>, (value) => BigInt(value));
    return rowMajorView(wide, dtypes.int64, sizes);
  }
  if (storage instanceof Uint8ClampedArray) {
    return rowMajorView(new Uint8Array(storage), dtypes.uint8, sizes);
  }
  throw pythonError("TypeError", `${where}: cannot make a tensor of ${show(storage)}`);
}

function shapeOfNested(where: string, data: unknown): number[] {
  const shape: number[] = [];
  let level = data;
  while (Array.isArray(level)) {
    if (shape.length === MAX_DIMENSIONS) {
      throw pythonError(
        "ValueError",
        `${where}: data must be nested at most ${MAX_DIMENSIONS} deep`,
      );
    }
    shape.push(level.length);
    if (level.length === 0) return shape;
    level = level[0];
  }
  return level instanceof Tensor ? [...shape, ...level.shape] : shape;
}

function collect(
  where: string,
  level: unknown,
  shape: readonly number[],
  axis: number,
  path: string,
  values: Scalar[],
): void {
  const list = level instanceof Tensor ? level.tolist() : level;
  if (axis === shape.length) {
    if (isScalar(list)) {
      values.push(list);
      return;
    }
    if (Array.isArray(list)) throw ragged(where, path, "a number", list);
    throw pythonError("TypeError", `${where}: ${path} must be a number, got ${show(list)}`);
  }
  if (!Array.isArray(list)) {
    if (!isScalar(list)) {
      throw pythonError("TypeError", `${where}: ${path} must hold numbers, got ${show(list)}`);
    }
    throw ragged(where, path, `an array of length ${shape[axis]}`, list);
  }
  if (list.length !== shape[axis]) {
    throw ragged(where, path, `an array of length ${shape[axis]}`, list);
  }
  for (let i = 0; i < list.length; i++) {
    const item: unknown = list[i];
    // The path is only needed in an error; building it for every value would dominate.
    if (axis + 1 === shape.length && isScalar(item)) values.push(item);
    else collect(where, item, shape, axis + 1, `${path}[${i}]`, values);
  }
}

function ragged(where: string, path: string, wanted: string, got: unknown): Error {
  return pythonError(
    "ValueError",
    `${where}: ${path} must be ${wanted}, as its neighbours are, got ${show(got)}`,
  );
}

function inferDType(values: readonly Scalar[]): DType {
  if (values.length === 0) return dtypes.float32;
  if (values.every((value) => typeof value === "boolean")) return dtypes.bool;
  const whole = values.every((value) => typeof value === "boolean" || isInt(value));
  return whole ? dtypes.int64 : dtypes.float32;
}

/** Sizes and a dtype from the arguments of zeros, ones, rand and randn. */
export function creation(
  where: string,
  args: readonly unknown[],
): { shape: number[]; dtype: DType } {
  const [sizes, dtype] = bindSizes(where, "size", ["dtype?"], args);
  return { shape: checkSizes(where, sizes), dtype: checkDType(where, dtype ?? dtypes.float32) };
}

export function checkSizes(where: string, sizes: readonly unknown[]): number[] {
  const shape = sizes.map((length) => checkInteger(where, "size", length));
  const negative = shape.find((length) => length < 0);
  if (negative !== undefined) {
    throw pythonError("RuntimeError", `${where}: a size must not be negative, got ${negative}`);
  }
  return shape;
}

/**
 * A tensor of zeros.
 *
 * Source: `torch.zeros`.
 *
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 * @example torch.zeros(2, 3)
 */
export function zeros(...args: SizeArguments): Tensor {
  const { shape, dtype } = creation("torch.zeros", args);
  return tensorOf(allocate(dtype, shape));
}

/** A tensor of ones; arguments as `zeros`. Source: `torch.ones`. */
export function ones(...args: SizeArguments): Tensor {
  const { shape, dtype } = creation("torch.ones", args);
  return tensorOf(allocate(dtype, shape)).fill_(1);
}

/** A tensor of zeros; no memory is left uninitialized. Source: `torch.empty`. */
export function empty(...args: SizeArguments): Tensor {
  const { shape, dtype } = creation("torch.empty", args);
  return tensorOf(allocate(dtype, shape));
}

/**
 * A tensor of one value. Without `dtype`: bool, int64 or float32, as the value is.
 * Source: `torch.full`.
 */
export function full(
  size: readonly number[],
  fill_value: Scalar,
  dtype?: DType | CreationKeywords,
): Tensor;

export function full(
  keywords: { size: readonly number[]; fill_value: Scalar } & CreationKeywords,
): Tensor;

export function full(...args: unknown[]): Tensor {
  const where = "torch.full";
  const [sizes, value, type] = bindArguments(where, ["size", "fill_value", "dtype?"], args);
  const fill = checkScalar(where, "fill_value", value);
  const dtype = type === undefined ? inferDType([fill]) : checkDType(where, type);
  const shape = checkSizes(where, flattenSizes([sizes]));
  return tensorOf(allocate(dtype, shape)).fill_(fill);
}

function like(where: string, args: readonly unknown[]): Tensor {
  const [input, dtype] = bindArguments(where, ["input", "dtype?"], args);
  const model = checkTensor(where, "input", input);
  const type = checkDType(where, dtype ?? model.dtype);
  // Keeps the memory layout, too.
  return tensorOf(convert(clone(viewOf(model)), type)).zero_();
}

/** Zeros in the shape and dtype of another tensor. Source: `torch.zeros_like`. */
export function zeros_like(input: Tensor, dtype?: DType | CreationKeywords): Tensor;

export function zeros_like(...args: unknown[]): Tensor {
  return like("torch.zeros_like", args);
}

/** Ones in the shape and dtype of another tensor. Source: `torch.ones_like`. */
export function ones_like(input: Tensor, dtype?: DType | CreationKeywords): Tensor;

export function ones_like(...args: unknown[]): Tensor {
  return like("torch.ones_like", args).fill_(1);
}

/**
 * The numbers from `start` up to but not including `end`. Without `dtype`: int64 if all three are
 * whole, else float32. For an integer dtype, `start` and `step` are truncated to integers first.
 * The last bit of float64 numbers may differ: PyTorch multiplies and adds in one rounding there.
 *
 * Source: `torch.arange`.
 *
 * @throws {RangeError} RuntimeError if `step` is 0 or leads away from `end`
 * @example torch.arange(3) // tensor([0, 1, 2])
 */
export function arange(end: number, keywords?: CreationKeywords): Tensor;

export function arange(start: number, end: number, keywords?: CreationKeywords): Tensor;

export function arange(
  start: number,
  end: number,
  step: number,
  keywords?: CreationKeywords,
): Tensor;

export function arange(
  keywords: { start?: number; end: number; step?: number } & CreationKeywords,
): Tensor;

export function arange(...args: unknown[]): Tensor {
  const where = "torch.arange";
  // A single number is the end; so is the keyword `end` without a start.
  const { positional } = splitKeywords(args);
  const isAlone = hasKeyword(args, "end")
    ? positional.length === 0 && !hasKeyword(args, "start")
    : positional.length === 1;
  const names = isAlone ? ["end"] : ["start", "end", "step?"];
  const bound = bindArguments(where, [...names, "*", "dtype?"], args);
  const given = isAlone ? [0, bound[0]] : bound.slice(0, 3);
  const numbers = [given[0], given[1], given[2] ?? 1].map((value, i) =>
    checkScalar(where, ["start", "end", "step"][i], value),
  );
  const type = bound[names.length];
  const dtype = type === undefined ? inferDType(numbers) : checkDType(where, type);
  const exact = numbers.map(Number);
  // Values of the accumulation dtype: float64, rounded once, or int64, to which all arguments are truncated first.
  const [from, to, by] = dtype.category === "integer" ? exact.map(Math.trunc) : exact;
  // PyTorch counts in float64, from the unrounded arguments, for all dtypes except int64.
  const [first, end, step] = dtype === dtypes.int64 ? [from, to, by] : exact;
  const count = Math.ceil((end - first) / step) + 0; // -0 becomes 0
  if (by === 0 || !Number.isFinite((to - from) / by) || (to - from) / by < 0 || count < 0) {
    throw pythonError("RuntimeError", `${where}: step ${by} does not lead from ${first} to ${end}`);
  }
  const lanes = 8;
  const vectors = dtype === dtypes.float32 ? count - (count % (2 * lanes)) : 0;
  const values = Float64Array.from({ length: count }, (_, i) => {
    if (i >= vectors) return from + by * i;
    // Float32 in vectors: the first value of each vector is rounded on its own.
    const lane = i % lanes;
    return Math.fround(from + by * (i - lane)) + lane * by;
  });
  return tensorOf(rowMajorView(cast(values, dtypes.float64, dtype), dtype, [count]));
}

/** A tensor of one value in the shape and dtype of another. Source: `torch.full_like`. */
export function full_like(
  input: Tensor,
  fill_value: Scalar | { fill_value: Scalar },
  dtype?: DType | CreationKeywords,
): Tensor;

export function full_like(...args: unknown[]): Tensor {
  const where = "torch.full_like";
  const [input, value, dtype] = bindArguments(where, ["input", "fill_value", "dtype?"], args);
  return like(where, [input, dtype]).fill_(checkScalar(where, "fill_value", value));
}

/** As `zeros_like`: no memory is left uninitialized. Source: `torch.empty_like`. */
export function empty_like(input: Tensor, dtype?: DType | CreationKeywords): Tensor;

export function empty_like(...args: unknown[]): Tensor {
  return like("torch.empty_like", args);
}

/** Keywords of `linspace` and `logspace`. */
type SpaceKeywords = { steps?: number; base?: number } & CreationKeywords;

/**
 * `steps` numbers from `start` to `end`, both included, at equal distances: the first half counted from `start`, the other
 * from `end`, in the dtype (float64 for integers, cut off).
 *
 * Source: `torch.linspace`; linspace_kernel (aten/src/ATen/native/cpu/RangeFactoriesKernel.cpp).
 *
 * @throws {RangeError} RuntimeError for a negative number of steps
 * @example torch.linspace(0, 1, 5) // tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
 */
export function linspace(
  start: number,
  end: number,
  steps: number | SpaceKeywords,
  keywords?: CreationKeywords,
): Tensor;

export function linspace(...args: unknown[]): Tensor {
  return spaced("torch.linspace", ["start", "end", "steps", "*", "dtype?"], args);
}

/**
 * `base` (default: 10) to the powers of `linspace`, rounded once; PyTorch's differ by 1 ulp at times.
 *
 * Source: `torch.logspace`.
 */
export function logspace(
  start: number,
  end: number,
  steps: number | SpaceKeywords,
  base?: number | SpaceKeywords,
  keywords?: CreationKeywords,
): Tensor;

export function logspace(...args: unknown[]): Tensor {
  return spaced("torch.logspace", ["start", "end", "steps", "base?", "*", "dtype?"], args);
}

function spaced(where: string, parameters: readonly string[], args: readonly unknown[]): Tensor {
  const bound = bindArguments(where, parameters, args);
  const [start, end] = ["start", "end"].map((name, i) =>
    Number(checkScalar(where, name, bound[i])),
  );
  const steps = checkInteger(where, "steps", bound[2]);
  if (steps < 0) {
    throw pythonError("RuntimeError", `${where}: steps must be 0 or more, got ${steps}`);
  }
  const type = bound[parameters.length - 2];
  const dtype = checkDType(where, type ?? dtypes.float32);
  const base = parameters.includes("base?")
    ? Number(checkScalar(where, "base", bound[3] ?? 10))
    : undefined;
  const round = dtype === dtypes.float32 ? Math.fround : Number;
  const [first, last] =
    dtype.category === "float" ? [round(start), round(end)] : [Math.trunc(start), Math.trunc(end)];
  const step = steps > 1 ? round(round(last - first) / (steps - 1)) : 0;
  const values = Float64Array.from({ length: steps }, (_, i) => {
    // One rounding for the product and the sum, as with PyTorch's fused instruction.
    const value =
      i < Math.floor(steps / 2) || steps === 1 ? first + step * i : last - step * (steps - i - 1);
    return base === undefined ? value : base ** round(value);
  });
  return tensorOf(rowMajorView(cast(values, dtypes.float64, dtype), dtype, [steps]));
}

/**
 * A matrix with ones on its diagonal.
 *
 * Source: `torch.eye`.
 *
 * @param n  rows. @param m  columns; default: n
 */
export function eye(n: number, m?: number | CreationKeywords, keywords?: CreationKeywords): Tensor;

export function eye(...args: unknown[]): Tensor {
  const where = "torch.eye";
  const [n, m, type] = bindArguments(where, ["n", "m?", "*", "dtype?"], args);
  const [rows, columns] = checkSizes(where, [n, m ?? n]);
  const out = allocate(checkDType(where, type ?? dtypes.float32), [rows, columns]);
  const one = out.storage instanceof BigInt64Array ? 1n : 1;
  for (let i = 0; i < Math.min(rows, columns); i++) out.storage[i * columns + i] = one;
  return tensorOf(out);
}
