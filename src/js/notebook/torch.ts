// The part of torch that the notebooks use, and what belongs beside it.

import { show } from "../show.js";
import { bindArguments, checkScalar, flattenSizes, splitKeywords } from "./arguments.js";
import { cast, isInt, isScalar, type Scalar, storeChecked } from "./cast.js";
import { checkDType, DType, dtypes, finfo, iinfo, type Storage } from "./dtype.js";
import { type BinaryName, binary, clone } from "./elementwise.js";
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
  checkTensor,
  operandOf,
  Tensor,
  type TensorOrScalar,
  tensorOf,
  type ValuesAndIndices,
  viewOf,
} from "./tensor.js";
import { allocate, checkInteger, countOf, rowMajorView, type View } from "./view.js";

/** Keywords of functions that make tensors. */
interface CreationKeywords {
  /** The dtype of the new tensor. The default is that of the function. */
  dtype?: DType;
}

/** Sizes, one by one or as an array, then perhaps keywords. */
type SizeArguments =
  | readonly [sizes: readonly number[], keywords?: CreationKeywords]
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
 * (JS cannot tell 1.0 from 1; give `dtype: torch.float32` for whole floats.) Typed arrays and
 * tensors keep their dtype.
 *
 * @param data   numbers nested as deep as the tensor has dimensions, a typed array, a tensor, or
 *   `{ data, shape }` such as the tensors of "zeropoint"
 * @param dtype  the dtype to convert to
 * @throws {TypeError} for what is no number
 * @throws {RangeError} ValueError for rows of different lengths; RuntimeError for integers that the
 *   dtype cannot hold
 * @example torch.tensor([1, 2, 3], { dtype: torch.float32 }) // tensor([1., 2., 3.])
 * Source: torch.tensor.
 */
function tensor(data: TensorData, dtype?: DType | CreationKeywords): Tensor;
function tensor(...args: unknown[]): Tensor {
  const where = "torch.tensor";
  const isTensorLike = args.length === 1 && typedSource(args[0]) !== undefined;
  const parameters = ["data", "dtype?"];
  const [data, type] = isTensorLike ? args : bindArguments(where, parameters, args);
  const dtype = type === undefined || type === null ? undefined : checkDType(where, type);
  const source = typedSource(data);
  if (source !== undefined) {
    const view = checkSource(where, source);
    const copy = clone(view);
    return dtype === undefined ? tensorOf(copy) : tensorOf(copy).to(dtype);
  }
  const shape = shapeOfNested(where, data);
  const values: Scalar[] = [];
  collect(where, data, shape, 0, "data", values);
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
      `${where}: ${storage.length} values do not fill shape ${show([...shape])}`,
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
  const { positional, keywords } = splitKeywords(args);
  for (const name of Object.keys(keywords)) {
    if (name !== "dtype" && name !== "size") {
      throw pythonError(
        "TypeError",
        `${where}: has no argument ${show(name)}; it takes sizes and dtype`,
      );
    }
  }
  const given = "size" in keywords ? [keywords.size] : positional;
  const dtype = checkDType(where, keywords.dtype ?? dtypes.float32);
  return { shape: checkSizes(where, flattenSizes(given)), dtype };
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
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 * @example torch.zeros(2, 3)
 * Source: torch.zeros.
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
  return tensorOf(allocate(type, [...model.shape]));
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
 * whole, else float32.
 * @throws {RangeError} RuntimeError if `step` is 0 or leads away from `end`
 * @example torch.arange(3) // tensor([0, 1, 2])
 * Source: torch.arange.
 */
function arange(end: number, keywords?: CreationKeywords): Tensor;
function arange(start: number, end: number, keywords?: CreationKeywords): Tensor;
function arange(start: number, end: number, step: number, keywords?: CreationKeywords): Tensor;
function arange(...args: unknown[]): Tensor {
  const where = "torch.arange";
  const { positional } = splitKeywords(args);
  const names = positional.length === 1 ? ["end"] : ["start", "end", "step?"];
  const bound = bindArguments(where, [...names, "dtype?"], args);
  const [start, end, step] = positional.length === 1 ? [0, bound[0], 1] : [...bound.slice(0, 3)];
  const from = Number(checkScalar(where, "start", start));
  const to = Number(checkScalar(where, "end", end));
  const by = Number(checkScalar(where, "step", step ?? 1));
  if (by === 0 || !Number.isFinite((to - from) / by) || (to - from) / by < 0) {
    throw pythonError("RuntimeError", `${where}: step ${by} does not lead from ${from} to ${to}`);
  }
  const count = Math.ceil((to - from) / by);
  const type = bound[names.length];
  const dtype = type === undefined ? inferDType([from, to, by]) : checkDType(where, type);
  // Values of the accumulation dtype, double precision, rounded once.
  const values = Float64Array.from({ length: count }, (_, i) => from + by * i);
  return tensorOf(rowMajorView(cast(values, dtypes.float64, dtype), dtype, [count]));
}

// ---------------------------------------------------------------------------------------------
// Random tensors.

/** Starts the random numbers again. Source: torch.manual_seed. */
function manual_seed(seed: number | bigint): void {
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
function initial_seed(): number | bigint {
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
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 * Source: torch.rand.
 */
function rand(...args: SizeArguments): Tensor {
  return random("torch.rand", args, fillUniform);
}

/**
 * Standard normal random numbers. For the same seed they are PyTorch's, except that the last bits
 * may differ: PyTorch's logarithm, sine and cosine depend on the machine.
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 * Source: torch.randn.
 */
function randn(...args: SizeArguments): Tensor {
  return random("torch.randn", args, fillNormal);
}

/**
 * Random integers from `low` (default: 0) up to but not including `high`, int64 by default; the
 * same as PyTorch's for the same seed.
 * Source: torch.randint.
 */
function randint(high: number, size: readonly number[], keywords?: CreationKeywords): Tensor;
function randint(
  low: number,
  high: number,
  size: readonly number[],
  keywords?: CreationKeywords,
): Tensor;
function randint(...args: unknown[]): Tensor {
  const where = "torch.randint";
  const { positional } = splitKeywords(args);
  const hasLow = !Array.isArray(positional[1]);
  const names = hasLow ? ["low", "high", "size"] : ["high", "size"];
  const bound = bindArguments(where, [...names, "dtype?"], args);
  const [low, high, sizes, type] = hasLow ? bound : [0, ...bound];
  const from = BigInt(checkInteger(where, "low", low));
  const to = BigInt(checkInteger(where, "high", high));
  if (from >= to) {
    throw pythonError("RuntimeError", `${where}: low ${from} must be less than high ${to}`);
  }
  const shape = checkSizes(where, flattenSizes([sizes]));
  const values = fillIntegers(defaultGenerator(), from, to, countOf(shape));
  const dtype = checkDType(where, type ?? dtypes.int64);
  return tensorOf(rowMajorView(values, dtypes.int64, shape)).to(dtype);
}

// ---------------------------------------------------------------------------------------------
// Functions that are methods too.

/** A method called as a function: the tensor is its first argument. */
function asFunction<Args extends unknown[], Result>(
  name: string,
  method: (this: Tensor, ...args: Args) => Result,
): (input: Tensor, ...args: Args) => Result {
  return (input, ...args) => method.apply(checkTensor(`torch.${name}`, "input", input), args);
}

const { prototype } = Tensor;

function operation(name: BinaryName): (input: TensorOrScalar, other: TensorOrScalar) => Tensor {
  const where = `torch.${name}`;
  return (input, other) => {
    const [a, b] = [operandOf(where, "input", input), operandOf(where, "other", other)];
    return tensorOf(binary(where, name, a, b));
  };
}

/** `torch.max` and `torch.min`: of all values, of two tensors, or along a dimension. */
type Extreme = {
  (input: Tensor): Tensor;
  (input: Tensor, other: Tensor): Tensor;
  (input: Tensor, dim: number, keepdim?: boolean): ValuesAndIndices;
};

/** Puts tensors of one shape side by side along a new dimension. Source: torch.stack. */
function stack(tensors: readonly Tensor[], dim: number = 0): Tensor {
  const where = "torch.stack";
  const list = checkList(where, tensors);
  const different = list.find((other) => String(other.shape) !== String(list[0].shape));
  if (different !== undefined) {
    throw pythonError(
      "RuntimeError",
      `${where}: all tensors must have the same shape, got ${list[0].shape} and ${different.shape}`,
    );
  }
  return cat(
    list.map((one) => one.unsqueeze(dim)),
    dim,
  );
}

/** Joins tensors along a dimension that they have. Source: torch.cat. */
function cat(tensors: readonly Tensor[], dim: number = 0): Tensor {
  const where = "torch.cat";
  const list = checkList(where, tensors);
  const rank = list[0].dim();
  const axis = rank === 0 ? 0 : dim < 0 ? dim + rank : dim;
  const matches = (one: Tensor): boolean =>
    one.dim() === rank &&
    one.shape.every((length, other) => other === axis || length === list[0].shape[other]);
  const misfit = list.find((one) => !matches(one));
  if (misfit !== undefined || rank === 0) {
    throw pythonError(
      "RuntimeError",
      `${where}: shapes must agree except in dimension ${dim}, got ` +
        `${list[0].shape} and ${(misfit ?? list[0]).shape}`,
    );
  }
  const dtype = list.map((one) => one.dtype).reduce(promoteTypes);
  const total = list.reduce((sum, one) => sum + one.size(axis), 0);
  const shape = list[0].shape.map((length, other) => (other === axis ? total : length));
  const out = tensorOf(allocate(dtype, shape));
  let start = 0;
  for (const one of list) {
    out.narrow(axis, start, one.size(axis)).copy_(one);
    start += one.size(axis);
  }
  return out;
}

function checkList(where: string, tensors: unknown): readonly Tensor[] {
  if (!Array.isArray(tensors) || tensors.length === 0) {
    throw pythonError("TypeError", `${where}: takes an array of tensors, got ${show(tensors)}`);
  }
  return tensors.map((one, i) => checkTensor(where, `tensors[${i}]`, one));
}

/**
 * input . weight^T + bias
 * @param input   [..., K]. @param weight  [N, K] or [K]. @param bias  [N]
 * @returns [..., N]; float32 is accumulated in double precision
 * @throws {RangeError} RuntimeError for shapes or dtypes that do not fit
 * Source: torch.nn.functional.linear.
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
 * @example new torch.distributions.normal.Normal(0, 1).sample([3, 4])
 * Source: torch.distributions.normal.Normal.
 */
class Normal {
  /** The mean. */
  readonly loc: Tensor;
  /** The standard deviation. */
  readonly scale: Tensor;

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
function makeSize(lengths: readonly number[]): Size {
  return size(checkSizes("torch.Size", lengths));
}

/**
 * The part of PyTorch's `torch` that the notebooks use. Names, arguments, results and printing are
 * PyTorch 2.6's.
 */
export const torch = {
  Tensor,
  Size: makeSize,
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

  iinfo,
  finfo,
  promote_types: promoteTypes,
  /** The dtype in which two operands are combined. */
  result_type: (a: TensorOrScalar, b: TensorOrScalar): DType =>
    resultType(
      operandOf("torch.result_type", "tensor1", a),
      operandOf("torch.result_type", "tensor2", b),
    ),
  is_tensor: (value: unknown): value is Tensor | QuantizedTensor =>
    value instanceof Tensor || value instanceof QuantizedTensor,
  is_floating_point: (input: Tensor): boolean => input.is_floating_point(),

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

  abs: asFunction("abs", prototype.abs),
  neg: asFunction("neg", prototype.neg),
  square: asFunction("square", prototype.square),
  sqrt: asFunction("sqrt", prototype.sqrt),
  reciprocal: asFunction("reciprocal", prototype.reciprocal),
  round: asFunction("round", prototype.round),
  floor: asFunction("floor", prototype.floor),
  ceil: asFunction("ceil", prototype.ceil),
  trunc: asFunction("trunc", prototype.trunc),
  isnan: asFunction("isnan", prototype.isnan),
  isinf: asFunction("isinf", prototype.isinf),
  isfinite: asFunction("isfinite", prototype.isfinite),
  clamp: asFunction<unknown[], Tensor>("clamp", prototype.clamp as never) as {
    (input: Tensor, min?: Scalar | null, max?: Scalar | null): Tensor;
    (input: Tensor, keywords: { min?: Scalar | null; max?: Scalar | null }): Tensor;
  },
  pow: asFunction("pow", prototype.pow),
  add: operation("add"),
  sub: operation("sub"),
  mul: operation("mul"),
  div: operation("div"),
  true_divide: operation("div"),
  maximum: operation("maximum"),
  minimum: operation("minimum"),
  eq: operation("eq"),
  ne: operation("ne"),
  lt: operation("lt"),
  le: operation("le"),
  gt: operation("gt"),
  ge: operation("ge"),

  sum: asFunction<unknown[], Tensor>("sum", prototype.sum as never) as Reduction,
  mean: asFunction<unknown[], Tensor>("mean", prototype.mean as never) as Reduction,
  max: asFunction<unknown[], never>("max", prototype.max as never) as Extreme,
  min: asFunction<unknown[], never>("min", prototype.min as never) as Extreme,
  all: asFunction("all", prototype.all),
  any: asFunction("any", prototype.any),
  equal: asFunction("equal", prototype.equal),
  allclose: asFunction<unknown[], boolean>("allclose", prototype.allclose as never) as {
    (input: Tensor, other: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): boolean;
    (
      input: Tensor,
      other: Tensor,
      keywords: { rtol?: number; atol?: number; equal_nan?: boolean },
    ): boolean;
  },
  reshape: (input: Tensor, shape: readonly number[]): Tensor =>
    checkTensor("torch.reshape", "input", input).reshape(shape),
  flatten: (input: Tensor): Tensor => checkTensor("torch.flatten", "input", input).flatten(),
  squeeze: (input: Tensor, dim?: number): Tensor =>
    checkTensor("torch.squeeze", "input", input).squeeze(dim),
  unsqueeze: (input: Tensor, dim: number): Tensor =>
    checkTensor("torch.unsqueeze", "input", input).unsqueeze(dim),
  transpose: (input: Tensor, dim0: number, dim1: number): Tensor =>
    checkTensor("torch.transpose", "input", input).transpose(dim0, dim1),

  nn: { functional: { linear: functionalLinear } },
  distributions: { normal: { Normal } },

  quantize_per_tensor,
  quantize_per_channel,
  quantization,
  ao: { quantization },
} as const;

/** `torch.sum` and `torch.mean`: over all values, or along dimensions. */
type Reduction = {
  (input: Tensor, dim?: number | readonly number[], keepdim?: boolean): Tensor;
  (input: Tensor, keywords: { dim?: number | readonly number[]; keepdim?: boolean }): Tensor;
};
