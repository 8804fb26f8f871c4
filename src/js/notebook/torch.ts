// The part of torch that the notebooks use, and what belongs beside it.

import { show, showShape } from "../show.js";
import {
  bindArguments,
  bindFunction,
  bindSizes,
  checkScalar,
  flattenSizes,
  hasKeyword,
  splitKeywords,
} from "./arguments.js";
import { cast, isInt, isScalar, type Scalar, storeChecked } from "./cast.js";
import { checkDType, DType, dtypes, finfo, iinfo, integerLimits, type Storage } from "./dtype.js";
import { type BinaryName, binary, clone, convert } from "./elementwise.js";
import { pythonError } from "./errors.js";
import { linear } from "./linear.js";
import { quantization } from "./observers.js";
import { promoteTypes, resultType } from "./promotion.js";
import { floatRepr, type Size, size } from "./python.js";
import {
  QuantizedTensor,
  qdtypes,
  qschemes,
  quantize_per_channel,
  quantize_per_tensor,
} from "./quantized.js";
import {
  defaultGenerator,
  fillIntegers,
  fillNormal,
  fillUniform,
  type Generator,
} from "./random.js";
import {
  type AddKeywords,
  addition,
  type CloseKeywords,
  checkTensor,
  type DivideKeywords,
  division,
  methods,
  operandOf,
  type ReduceKeywords,
  type RoundKeywords,
  signatures,
  Tensor,
  type TensorOrScalar,
  tensorOf,
  type ValuesAndIndices,
  viewOf,
} from "./tensor.js";
import { allocate, checkAxis, checkInteger, countOf, rowMajorView, type View } from "./view.js";

/** Keywords of functions that make tensors. */
interface CreationKeywords {
  /** The dtype of the new tensor. The default is that of the function. */
  dtype?: DType;
}

/** Sizes, one by one or as an array, then perhaps keywords. */
type SizeArguments =
  | readonly [sizes: readonly number[], keywords?: CreationKeywords]
  | readonly [keywords: { size: readonly number[] } & CreationKeywords]
  | readonly [...sizes: number[]]
  | readonly [...sizes: number[], keywords: CreationKeywords];

/** What `torch.tensor` takes: numbers as deep as they like, arrays of numbers, tensors. */
export type TensorData =
  | Scalar
  | Tensor
  | Storage
  | Uint32Array
  | { readonly data: ArrayLike<number>; readonly shape: readonly number[] }
  | readonly TensorData[];

const MAX_DIMENSIONS = 64;

// ---------------------------------------------------------------------------------------------
// Making tensors.

/**
 * Makes a tensor of numbers; always a copy.
 *
 * Without `dtype`: bool if there are booleans only, int64 if all numbers are whole, else float32.
 * (JS cannot tell 1.0 from 1: write float(1), or give `dtype: torch.float32`.) Typed arrays and
 * tensors keep their dtype.
 *
 * Source: torch.tensor.
 *
 * @param data   numbers nested as deep as the tensor has dimensions, a typed array, a tensor, or
 *   `{ data, shape }` such as the tensors of "zeropoint"
 * @param dtype  the dtype to convert to
 * @throws {TypeError} for what is no number
 * @throws {RangeError} ValueError for rows of different lengths; RuntimeError for integers that the
 *   dtype cannot hold
 * @example torch.tensor([1, 2, 3], { dtype: torch.float32 }) // tensor([1., 2., 3.])
 */
function tensor(data: TensorData, dtype?: DType | CreationKeywords): Tensor;
function tensor(...args: unknown[]): Tensor {
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
  // Once there can be no elements, PyTorch looks at no further rows.
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
function creation(where: string, args: readonly unknown[]): { shape: number[]; dtype: DType } {
  const [sizes, dtype] = bindSizes(where, "size", ["dtype?"], args);
  return { shape: checkSizes(where, sizes), dtype: checkDType(where, dtype ?? dtypes.float32) };
}

function checkSizes(where: string, sizes: readonly unknown[]): number[] {
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
 * Source: torch.zeros.
 *
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 * @example torch.zeros(2, 3)
 */
function zeros(...args: SizeArguments): Tensor {
  const { shape, dtype } = creation("torch.zeros", args);
  return tensorOf(allocate(dtype, shape));
}

/** A tensor of ones; arguments as `zeros`. Source: torch.ones. */
function ones(...args: SizeArguments): Tensor {
  const { shape, dtype } = creation("torch.ones", args);
  return tensorOf(allocate(dtype, shape)).fill_(1);
}

/** A tensor of zeros: nothing here is left uninitialized. Source: torch.empty. */
function empty(...args: SizeArguments): Tensor {
  const { shape, dtype } = creation("torch.empty", args);
  return tensorOf(allocate(dtype, shape));
}

/**
 * A tensor of one value. Without `dtype`: bool, int64 or float32, as the value is.
 * Source: torch.full.
 */
function full(
  size: readonly number[],
  fill_value: Scalar,
  dtype?: DType | CreationKeywords,
): Tensor;
function full(keywords: { size: readonly number[]; fill_value: Scalar } & CreationKeywords): Tensor;
function full(...args: unknown[]): Tensor {
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
  // Of the same memory layout too.
  return tensorOf(convert(clone(viewOf(model)), type)).zero_();
}

/** Zeros in the shape and dtype of another tensor. Source: torch.zeros_like. */
function zeros_like(input: Tensor, dtype?: DType | CreationKeywords): Tensor;
function zeros_like(...args: unknown[]): Tensor {
  return like("torch.zeros_like", args);
}

/** Ones in the shape and dtype of another tensor. Source: torch.ones_like. */
function ones_like(input: Tensor, dtype?: DType | CreationKeywords): Tensor;
function ones_like(...args: unknown[]): Tensor {
  return like("torch.ones_like", args).fill_(1);
}

/**
 * The numbers from `start` up to but not including `end`. Without `dtype`: int64 if all three are
 * whole, else float32. For an integer dtype, `start` and `step` are cut off to integers first.
 * The last bit of float64 numbers may differ: PyTorch multiplies and adds in one rounding there.
 *
 * Source: torch.arange.
 *
 * @throws {RangeError} RuntimeError if `step` is 0 or leads away from `end`
 * @example torch.arange(3) // tensor([0, 1, 2])
 */
function arange(end: number, keywords?: CreationKeywords): Tensor;
function arange(start: number, end: number, keywords?: CreationKeywords): Tensor;
function arange(start: number, end: number, step: number, keywords?: CreationKeywords): Tensor;
function arange(
  keywords: { start?: number; end: number; step?: number } & CreationKeywords,
): Tensor;
function arange(...args: unknown[]): Tensor {
  const where = "torch.arange";
  // A number alone is the end; so is one by that name, unless there is a start.
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
  // Values of the accumulation dtype: float64, rounded once, or int64, to which all is cut off first.
  const [from, to, by] = dtype.category === "integer" ? exact.map(Math.trunc) : exact;
  // PyTorch counts in float64, of numbers as they were given, but for int64.
  const [first, end, step] = dtype === dtypes.int64 ? [from, to, by] : exact;
  const count = Math.ceil((end - first) / step) + 0; // -0 becomes 0
  if (by === 0 || !Number.isFinite((to - from) / by) || (to - from) / by < 0 || count < 0) {
    throw pythonError("RuntimeError", `${where}: step ${by} does not lead from ${first} to ${end}`);
  }
  const lanes = 8;
  const vectors = dtype === dtypes.float32 ? count - (count % (2 * lanes)) : 0;
  const values = Float64Array.from({ length: count }, (_, i) => {
    if (i >= vectors) return from + by * i;
    // Float32 in vectors: each starts at a rounded value of its own.
    const lane = i % lanes;
    return Math.fround(from + by * (i - lane)) + lane * by;
  });
  return tensorOf(rowMajorView(cast(values, dtypes.float64, dtype), dtype, [count]));
}

// ---------------------------------------------------------------------------------------------
// Random tensors.

/** Starts the random numbers again. Source: torch.manual_seed. */
function manual_seed(seed: number | bigint | { seed: number | bigint }): void;
function manual_seed(...args: unknown[]): void {
  const [seed] = bindArguments("torch.manual_seed", ["seed"], args);
  if (!isInt(seed)) {
    throw pythonError("TypeError", `torch.manual_seed: seed must be whole, got ${show(seed)}`);
  }
  const least = -(1n << 63n);
  if (BigInt(seed) < least || BigInt(seed) >= 1n << 64n) {
    throw pythonError("RuntimeError", `torch.manual_seed: seed ${seed} does not fit in 64 bits`);
  }
  defaultGenerator().seed(BigInt(seed));
}

/** The seed that the random numbers started with. Source: torch.initial_seed. */
function initial_seed(): number | bigint;
function initial_seed(...args: unknown[]): number | bigint {
  bindArguments("torch.initial_seed", [], args);
  const seed = defaultGenerator().initialSeed;
  return Number.isSafeInteger(Number(seed)) ? Number(seed) : seed;
}

function random(
  where: string,
  args: readonly unknown[],
  fill: (generator: Generator, out: Float32Array | Float64Array) => void,
): Tensor {
  const { shape, dtype } = creation(where, args);
  if (dtype.category !== "float") {
    throw pythonError("RuntimeError", `${where}: dtype must be a float dtype, got ${dtype}`);
  }
  const view = allocate(dtype, shape);
  fill(defaultGenerator(), view.storage as Float32Array | Float64Array);
  return tensorOf(view);
}

/**
 * Uniform random numbers in [0, 1), the same as PyTorch's for the same seed.
 *
 * Source: torch.rand.
 *
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 */
function rand(...args: SizeArguments): Tensor {
  return random("torch.rand", args, fillUniform);
}

/**
 * Standard normal random numbers. For the same seed they are PyTorch's, except that the last bits
 * may differ: logarithm, sine and cosine depend on the machine and the engine. Fewer than 16 float32
 * values are computed in double precision, where that hardly ever shows.
 *
 * Source: torch.randn.
 *
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 */
function randn(...args: SizeArguments): Tensor {
  return random("torch.randn", args, fillNormal);
}

/**
 * Random integers from `low` (default: 0) up to but not including `high`, int64 by default; the
 * same as PyTorch's for the same seed.
 *
 * Source: torch.randint; random_from_to (aten/src/ATen/native/DistributionTemplates.h).
 *
 * @throws {RangeError} RuntimeError if `low` is not below `high`, or `dtype` cannot hold them
 */
function randint(
  high: number | bigint,
  size: readonly number[],
  keywords?: CreationKeywords,
): Tensor;
function randint(
  low: number | bigint,
  high: number | bigint,
  size: readonly number[],
  keywords?: CreationKeywords,
): Tensor;
function randint(...args: unknown[]): Tensor {
  const where = "torch.randint";
  // A number alone is `high`.
  const { positional } = splitKeywords(args);
  const numbers = positional.filter((value) => !Array.isArray(value)).length;
  const hasLow = numbers + Number(hasKeyword(args, "high")) > 1 || hasKeyword(args, "low");
  const names = hasLow ? ["low", "high", "size"] : ["high", "size"];
  const bound = bindArguments(where, [...names, "dtype?"], args);
  const [low, high, sizes, type] = hasLow ? bound : [0, ...bound];
  const from = checkInt64(where, "low", low);
  const to = checkInt64(where, "high", high);
  const shape = checkSizes(where, flattenSizes([sizes]));
  const dtype = checkDType(where, type ?? dtypes.int64);
  const [least, end] = dtype.category === "float" ? floatBounds(from, to, dtype) : [from, to];
  if (from >= to || least >= end) {
    throw pythonError("RuntimeError", `${where}: low ${from} must be less than high ${to}`);
  }
  if (dtype.category !== "float") {
    const { min, max } = dtype === dtypes.bool ? { min: 0n, max: 1n } : integerLimits(dtype);
    if (from < min || to - 1n > max) {
      throw pythonError("RuntimeError", `${where}: ${dtype} does not hold ${from} to ${to - 1n}`);
    }
  }
  const mayBeWide = dtype === dtypes.int64 || dtype.category === "float";
  const values = fillIntegers(defaultGenerator(), least, end, countOf(shape), mayBeWide);
  return tensorOf(rowMajorView(values, dtypes.int64, shape)).to(dtype);
}

/** A number or BigInt that an int64 holds. */
function checkInt64(where: string, argument: string, value: unknown): bigint {
  const big = typeof value === "bigint" ? value : BigInt(checkInteger(where, argument, value));
  if (BigInt.asIntN(64, big) === big) return big;
  throw pythonError("RuntimeError", `${where}: ${argument} ${big} does not fit in 64 bits`);
}

/**
 * Bounds moved inwards, so that rounding to a float dtype leads to none beyond those given.
 * Source: update_from, update_to (aten/src/ATen/native/DistributionTemplates.h).
 */
function floatBounds(from: bigint, to: bigint, dtype: DType): [from: bigint, to: bigint] {
  const digits = dtype === dtypes.float32 ? 24 : 53;
  const rounded = (value: bigint): bigint =>
    (
      cast(cast(BigInt64Array.of(value), dtypes.int64, dtype), dtype, dtypes.int64) as BigInt64Array
    )[0];
  // The distance of float numbers of this size.
  const spacing = (value: bigint): bigint => {
    const bits = (value < 0n ? -value : value).toString(2).length;
    return 1n << BigInt(Math.max(bits - digits, 0));
  };
  const afterFrom = rounded(from + 1n);
  const beforeTo = rounded(to - 1n);
  return [
    afterFrom < from ? afterFrom + spacing(from + 1n) : from,
    beforeTo >= to ? beforeTo - spacing(to - 1n) : to,
  ];
}

// ---------------------------------------------------------------------------------------------
// Functions that are methods too.

/** A method as a function: the tensor comes first, as `input`. */
function asFunction<Call>(name: keyof typeof signatures): Call {
  const where = `torch.${name}`;
  const method: (...bound: never[]) => unknown = methods[name];
  const work = (input: unknown, ...others: never[]): unknown =>
    method.apply(checkTensor(where, "input", input), others);
  return bindFunction(where, ["input", ...signatures[name]], work) as Call;
}

/** A function of this module with its arguments matched first. */
function takes<Call extends (...args: never[]) => unknown>(
  name: string,
  parameters: readonly string[],
  work: (...bound: never[]) => ReturnType<Call>,
): Call {
  return bindFunction(`torch.${name}`, parameters, work) as unknown as Call;
}

/** Takes a tensor. */
type Unary<Result = Tensor> = (input: Tensor | { input: Tensor }) => Result;

/** Takes a tensor and more, by position or by name. */
type OfTensor<Others extends readonly unknown[], Keywords, Result = Tensor> = {
  (input: Tensor, ...others: Others): Result;
  (input: Tensor, keywords: Keywords): Result;
  (keywords: { input: Tensor } & Keywords): Result;
};

/** Takes two operands. */
type Binary = {
  (input: TensorOrScalar, other: TensorOrScalar | { other: TensorOrScalar }): Tensor;
  (keywords: { input: TensorOrScalar; other: TensorOrScalar }): Tensor;
};

/** Takes two operands and keywords. */
type BinaryWith<Keywords> = {
  (input: TensorOrScalar, other: TensorOrScalar, keywords?: Keywords): Tensor;
  (input: TensorOrScalar, keywords: { other: TensorOrScalar } & Keywords): Tensor;
  (keywords: { input: TensorOrScalar; other: TensorOrScalar } & Keywords): Tensor;
};

function operation(name: BinaryName): Binary {
  const where = `torch.${name}`;
  return bindFunction(where, ["input", "other"], (input, other) => {
    const [a, b] = [operandOf(where, "input", input), operandOf(where, "other", other)];
    return tensorOf(binary(where, name, a, b));
  }) as Binary;
}

function sumOrDifference(name: "add" | "sub"): BinaryWith<AddKeywords> {
  const where = `torch.${name}`;
  return bindFunction(where, ["input", ...signatures[name]], (a, b, alpha) =>
    addition(where, name, a, b, alpha),
  ) as BinaryWith<AddKeywords>;
}

const div = bindFunction("torch.div", ["input", ...signatures.div], (a, b, mode) =>
  division("torch.div", a, b, mode),
) as BinaryWith<DivideKeywords>;

/** `torch.max` and `torch.min`: of all values, of two tensors, or along a dimension. */
type Extreme = {
  (input: Tensor): Tensor;
  (input: Tensor, other: Tensor): Tensor;
  (input: Tensor, dim: number, keepdim?: boolean): ValuesAndIndices;
  (input: Tensor, keywords: { dim: number; keepdim?: boolean }): ValuesAndIndices;
  (keywords: { input: Tensor; dim: number; keepdim?: boolean }): ValuesAndIndices;
  (keywords: { input: Tensor; other?: Tensor }): Tensor;
};

function extremeFunction(name: "max" | "min"): Extreme {
  const where = `torch.${name}`;
  const method = Tensor.prototype[name] as (...args: unknown[]) => unknown;
  return ((...args: unknown[]) => {
    const isPair = splitKeywords(args).positional[1] instanceof Tensor || hasKeyword(args, "other");
    const parameters = ["input", ...(isPair ? ["other"] : ["dim?", "keepdim?"])];
    const [input, ...others] = bindArguments(where, parameters, args);
    return method.apply(checkTensor(where, "input", input), others);
  }) as Extreme;
}

/** Puts tensors of one shape side by side along a new dimension. Source: torch.stack. */
function stack(tensors: readonly Tensor[], dim?: number | { dim?: number }): Tensor;
function stack(keywords: JoinKeywords): Tensor;
function stack(...args: unknown[]): Tensor {
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

/** Joins tensors along a dimension that they have. Source: torch.cat. */
function cat(tensors: readonly Tensor[], dim?: number | { dim?: number }): Tensor;
function cat(keywords: JoinKeywords): Tensor;
function cat(...args: unknown[]): Tensor {
  const where = "torch.cat";
  const { list, dim } = bindJoin(where, args);
  if (list.some((one) => one.dim() === 0)) {
    throw pythonError("RuntimeError", `${where}: 0-d tensors cannot be joined; use torch.stack`);
  }
  const dtype = list.map((one) => one.dtype).reduce(promoteTypes);
  // Tensors of shape [0] go with any others, as in PyTorch: only their dtype counts.
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

/** What stack and cat take, by name. */
interface JoinKeywords {
  /** At least one. */
  tensors: readonly Tensor[];
  /** The dimension along which they are joined. Default: 0. */
  dim?: number;
}

function bindJoin(where: string, args: readonly unknown[]): { list: Tensor[]; dim: unknown } {
  const [tensors, dim = 0] = bindArguments(where, ["tensors", "dim?"], args);
  if (!Array.isArray(tensors) || tensors.length === 0) {
    throw pythonError(
      Array.isArray(tensors) ? "RuntimeError" : "TypeError",
      `${where}: tensors must be an array of tensors, at least one, got ${show(tensors)}`,
    );
  }
  return { list: tensors.map((one, i) => checkTensor(where, `tensors[${i}]`, one)), dim };
}

/**
 * input . weight^T + bias
 *
 * Source: torch.nn.functional.linear.
 *
 * @param input   [..., K]. @param weight  [N, K] or [K]. @param bias  [N]
 * @returns [..., N]; float32 is accumulated in double precision
 * @throws {RangeError} RuntimeError for shapes or dtypes that do not fit
 */
function functionalLinear(
  input: Tensor,
  weight: Tensor,
  bias?: Tensor | null | { bias?: Tensor },
): Tensor;
function functionalLinear(...args: unknown[]): Tensor {
  const where = "torch.nn.functional.linear";
  const [x, w, b] = bindArguments(where, ["input", "weight", "bias?"], args);
  const input = checkTensor(where, "input", x);
  const weight = checkTensor(where, "weight", w);
  const bias = b === undefined || b === null ? undefined : checkTensor(where, "bias", b);
  return linear(where, input, weight, bias);
}

/**
 * The normal distribution.
 *
 * Source: torch.distributions.normal.Normal.
 *
 * @example new torch.distributions.normal.Normal(0, 1).sample([3, 4])
 */
class Normal {
  /** The mean. */
  declare readonly loc: Tensor;
  /** The standard deviation. */
  declare readonly scale: Tensor;

  /** @throws {RangeError} ValueError for a scale that is not above 0, or a mean that is NaN */
  constructor(loc: Tensor | number, scale: Tensor | number);
  constructor(keywords: { loc: Tensor | number; scale: Tensor | number });
  constructor(...args: unknown[]) {
    const where = "Normal";
    const [loc, scale] = bindArguments(where, ["loc", "scale"], args);
    this.loc = toFloats(where, "loc", loc);
    this.scale = toFloats(where, "scale", scale);
    if (this.loc.isnan().any().item() || !this.scale.gt(0).all().item()) {
      throw pythonError(
        "ValueError",
        `${where}: loc must not be NaN and scale must be above 0, got ${loc} and ${scale}`,
      );
    }
  }

  /**
   * Random values, the same as those of `torch.randn`, times scale plus loc.
   * @param sample_shape  default: one value for each of loc and scale
   */
  sample(sample_shape?: readonly number[] | { sample_shape: readonly number[] }): Tensor;
  sample(...args: unknown[]): Tensor {
    const [shape] = bindArguments("Normal.sample", ["sample_shape?"], args);
    const batch = this.loc.add(this.scale).shape;
    const sizes = checkSizes("Normal.sample", flattenSizes([shape ?? []]));
    return randn([...sizes, ...batch])
      .mul(this.scale)
      .add(this.loc);
  }

  /** As PyTorch prints it. */
  toString(): string {
    return `Normal(loc: ${describeParameter(this.loc)}, scale: ${describeParameter(this.scale)})`;
  }
}

function toFloats(where: string, argument: string, value: unknown): Tensor {
  if (value instanceof Tensor) return value.to(dtypes.float32);
  return full([], checkScalar(where, argument, value), dtypes.float32);
}

/** Python prints a distribution's parameter as its value, or as its size if it has several. */
function describeParameter(parameter: Tensor): string {
  return parameter.numel() === 1 ? floatRepr(parameter.item()) : String(parameter.shape);
}

/** Makes a shape, as torch.Size([3, 1]). */
function makeSize(sequence: readonly number[] = []): Size {
  return size(checkSizes("torch.Size", flattenSizes([sequence])));
}

/**
 * The part of PyTorch's `torch` that the notebooks use. Names, arguments, results and printing are
 * PyTorch 2.6's.
 */
export const torch = {
  Tensor,
  Size: takes<typeof makeSize>("Size", ["sequence?"], makeSize),
  dtype: DType,

  bool: dtypes.bool,
  uint8: dtypes.uint8,
  int8: dtypes.int8,
  int16: dtypes.int16,
  short: dtypes.int16,
  uint16: dtypes.uint16,
  int32: dtypes.int32,
  int: dtypes.int32,
  int64: dtypes.int64,
  long: dtypes.int64,
  float32: dtypes.float32,
  float: dtypes.float32,
  float64: dtypes.float64,
  double: dtypes.float64,
  ...qdtypes,
  ...qschemes,

  inf: Number.POSITIVE_INFINITY,
  nan: Number.NaN,
  pi: Math.PI,

  iinfo: takes<typeof iinfo>("iinfo", ["type"], iinfo),
  finfo: takes<typeof finfo>("finfo", ["type?"], finfo),
  promote_types: takes<typeof promoteTypes>("promote_types", ["type1", "type2"], (a, b) =>
    promoteTypes(checkDType("torch.promote_types", a), checkDType("torch.promote_types", b)),
  ),
  /** The dtype in which two operands are combined. */
  result_type: takes<(tensor: TensorOrScalar, other: TensorOrScalar) => DType>(
    "result_type",
    ["tensor", "other"],
    (a, b) =>
      resultType(
        operandOf("torch.result_type", "tensor", a),
        operandOf("torch.result_type", "other", b),
      ),
  ),
  is_tensor: (value: unknown): value is Tensor | QuantizedTensor =>
    value instanceof Tensor || value instanceof QuantizedTensor,
  is_floating_point: asFunction<Unary<boolean>>("is_floating_point"),

  tensor,
  as_tensor: tensor,
  zeros,
  ones,
  empty,
  full,
  zeros_like,
  ones_like,
  arange,
  manual_seed,
  initial_seed,
  rand,
  randn,
  randint,
  stack,
  cat,

  abs: asFunction<Unary>("abs"),
  neg: asFunction<Unary>("neg"),
  square: asFunction<Unary>("square"),
  sqrt: asFunction<Unary>("sqrt"),
  reciprocal: asFunction<Unary>("reciprocal"),
  round: asFunction<OfTensor<[], RoundKeywords>>("round"),
  floor: asFunction<Unary>("floor"),
  ceil: asFunction<Unary>("ceil"),
  trunc: asFunction<Unary>("trunc"),
  isnan: asFunction<Unary>("isnan"),
  isinf: asFunction<Unary>("isinf"),
  isfinite: asFunction<Unary>("isfinite"),
  clamp: asFunction<OfTensor<[min?: Scalar | null, max?: Scalar | null], ClampKeywords>>("clamp"),
  pow: asFunction<OfTensor<[exponent: number | bigint], { exponent: number | bigint }>>("pow"),
  add: sumOrDifference("add"),
  sub: sumOrDifference("sub"),
  mul: operation("mul"),
  div,
  true_divide: operation("div"),
  maximum: operation("maximum"),
  minimum: operation("minimum"),
  eq: operation("eq"),
  ne: operation("ne"),
  lt: operation("lt"),
  le: operation("le"),
  gt: operation("gt"),
  ge: operation("ge"),

  sum: asFunction<Reduction>("sum"),
  mean: asFunction<Reduction>("mean"),
  max: extremeFunction("max"),
  min: extremeFunction("min"),
  all: asFunction<Reduction>("all"),
  any: asFunction<Reduction>("any"),
  equal: asFunction<OfTensor<[other: Tensor], { other: Tensor }, boolean>>("equal"),
  allclose: asFunction<Close>("allclose"),
  reshape: takes<OfTensor<[shape: readonly number[]], { shape: readonly number[] }>>(
    "reshape",
    ["input", "shape"],
    (input, shape) => checkTensor("torch.reshape", "input", input).reshape(shape),
  ),
  flatten: asFunction<OfTensor<[start_dim?: number, end_dim?: number], FlattenKeywords>>("flatten"),
  squeeze: asFunction<OfTensor<[dim?: number], { dim?: number }>>("squeeze"),
  unsqueeze: asFunction<OfTensor<[dim: number], { dim: number }>>("unsqueeze"),
  transpose:
    asFunction<OfTensor<[dim0: number, dim1: number], { dim0: number; dim1: number }>>("transpose"),

  nn: { functional: { linear: functionalLinear } },
  distributions: { normal: { Normal } },

  quantize_per_tensor,
  quantize_per_channel,
  quantization,
  ao: { quantization },
} as const;

/** `torch.sum`, `mean`, `all` and `any`: over all values, or along dimensions. */
type Reduction = OfTensor<[dim?: number | readonly number[], keepdim?: boolean], ReduceKeywords>;

/** `torch.allclose`. */
type Close = OfTensor<
  [other: Tensor, rtol?: number | CloseKeywords, atol?: number, equal_nan?: boolean],
  { other: Tensor } & CloseKeywords,
  boolean
>;

/** Keywords of `torch.clamp`. */
interface ClampKeywords {
  /** Nothing is below it. */
  min?: Scalar | null;
  /** Nothing is above it. */
  max?: Scalar | null;
}

/** Keywords of `torch.flatten`. */
interface FlattenKeywords {
  /** The first dimension that is merged. Default: 0. */
  start_dim?: number;
  /** The last one. Default: -1. */
  end_dim?: number;
}
