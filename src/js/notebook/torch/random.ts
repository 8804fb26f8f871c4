// Random tensors.

import { show } from "../../base/format-value.js";
import { explainReceivers } from "../../base/receivers.js";
import {
  bindArguments,
  checkScalar,
  flattenSizes,
  hasKeyword,
  splitKeywords,
} from "../python/arguments.js";
import { refuseUnknownOf } from "../python/attributes.js";
import { floatRepr } from "../python/builtins.js";
import { pythonError } from "../python/errors.js";
import { cast, isInt } from "../tensor/cast.js";
import { checkDType, type DType, dtypes, integerLimits } from "../tensor/dtype.js";
import { checkTensor, Tensor, tensorOf } from "../tensor/tensor.js";
import { allocate, checkInteger, countOf, rowMajorView } from "../tensor/view.js";
import {
  type CreationKeywords,
  checkSizes,
  creation,
  full,
  type SizeArguments,
} from "./creation.js";
import {
  defaultGenerator,
  fillIntegers,
  fillNormal,
  fillUniform,
  type Generator,
} from "./generator.js";

/** Seeds the random numbers. Source: `torch.manual_seed`. */
export function manual_seed(seed: number | bigint | { seed: number | bigint }): void;

export function manual_seed(...args: unknown[]): void {
  const [seed] = bindArguments("torch.manual_seed", ["seed"], args);
  if (typeof seed === "number" && Number.isInteger(seed) && !Number.isSafeInteger(seed)) {
    throw pythonError(
      "ValueError",
      `torch.manual_seed: seed must be a BigInt beyond 2^53 - 1, where a number is not exact, got ${seed}`,
    );
  }
  if (!isInt(seed)) {
    throw pythonError("TypeError", `torch.manual_seed: seed must be whole, got ${show(seed)}`);
  }
  const least = -(1n << 63n);
  if (BigInt(seed) < least || BigInt(seed) >= 1n << 64n) {
    throw pythonError("RuntimeError", `torch.manual_seed: seed ${seed} does not fit in 64 bits`);
  }
  defaultGenerator().seed(BigInt(seed));
}

/** The last seed. Source: `torch.initial_seed`. */
export function initial_seed(): number | bigint;

export function initial_seed(...args: unknown[]): number | bigint {
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
 * Source: `torch.rand`.
 *
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 */
export function rand(...args: SizeArguments): Tensor {
  return random("torch.rand", args, fillUniform);
}

/**
 * Standard normal random numbers. For the same seed they are PyTorch's, except that the last bits
 * may differ: logarithm, sine and cosine depend on the machine and the engine. Fewer than 16 float32
 * values are computed in double precision, where the difference is very rare.
 *
 * Source: `torch.randn`.
 *
 * @param args  sizes, one by one or as an array, then perhaps `{ dtype }` (default: torch.float32)
 */
export function randn(...args: SizeArguments): Tensor {
  return random("torch.randn", args, fillNormal);
}

/**
 * Random integers from `low` (default: 0) up to but not including `high`, int64 by default; the
 * same as PyTorch's for the same seed.
 *
 * Source: `torch.randint`; random_from_to (aten/src/ATen/native/DistributionTemplates.h).
 *
 * @throws {RangeError} RuntimeError if `low` is not below `high`, or `dtype` cannot hold them
 */
export function randint(
  high: number | bigint,
  size: readonly number[],
  keywords?: CreationKeywords,
): Tensor;

export function randint(
  low: number | bigint,
  high: number | bigint,
  size: readonly number[],
  keywords?: CreationKeywords,
): Tensor;

export function randint(...args: unknown[]): Tensor {
  const where = "torch.randint";
  // A single number is `high`.
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

/**
 * The integers below `n` in a random order, the same as PyTorch's for the same seed.
 *
 * Source: `torch.randperm`; randperm_cpu (aten/src/ATen/native/TensorFactories.cpp).
 */
export function randperm(n: number, keywords?: CreationKeywords): Tensor;

export function randperm(...args: unknown[]): Tensor {
  const where = "torch.randperm";
  const [n, type] = bindArguments(where, ["n", "*", "dtype?"], args);
  const [count] = checkSizes(where, [n]);
  const dtype = checkDType(where, type ?? dtypes.int64);
  const values = BigInt64Array.from({ length: count }, (_, i) => BigInt(i));
  const generator = defaultGenerator();
  for (let i = 0; i < count - 1; i++) {
    const other = i + Number(generator.integer(0n, BigInt(count - i), false));
    [values[i], values[other]] = [values[other], values[i]];
  }
  return tensorOf(rowMajorView(values, dtypes.int64, [count])).to(dtype);
}

/** Random values in the shape and dtype of another tensor. */
function randomLike(where: string, args: readonly unknown[], draw: typeof rand): Tensor {
  const [input, type] = bindArguments(where, ["input", "*", "dtype?"], args);
  const model = checkTensor(where, "input", input);
  const dtype = checkDType(where, type ?? model.dtype);
  if (dtype.category !== "float") {
    throw pythonError("NotImplementedError", `${where}: dtype must be a float dtype, got ${dtype}`);
  }
  return draw([...model.shape], { dtype });
}

/** `rand` in the shape and dtype of another tensor. Source: `torch.rand_like`. */
export function rand_like(input: Tensor, keywords?: CreationKeywords): Tensor;

export function rand_like(...args: unknown[]): Tensor {
  return randomLike("torch.rand_like", args, rand);
}

/** `randn` in the shape and dtype of another tensor. Source: `torch.randn_like`. */
export function randn_like(input: Tensor, keywords?: CreationKeywords): Tensor;

export function randn_like(...args: unknown[]): Tensor {
  return randomLike("torch.randn_like", args, randn);
}

/** A number or BigInt that an int64 holds. */
function checkInt64(where: string, argument: string, value: unknown): bigint {
  const big = typeof value === "bigint" ? value : BigInt(checkInteger(where, argument, value));
  if (BigInt.asIntN(64, big) === big) return big;
  throw pythonError("RuntimeError", `${where}: ${argument} ${big} does not fit in 64 bits`);
}

/**
 * Bounds moved inwards, so that rounding to a float dtype cannot leave the given range.
 * Source: update_from, update_to (aten/src/ATen/native/DistributionTemplates.h).
 */
function floatBounds(from: bigint, to: bigint, dtype: DType): [from: bigint, to: bigint] {
  const digits = dtype === dtypes.float32 ? 24 : 53;
  const rounded = (value: bigint): bigint =>
    (
      cast(cast(BigInt64Array.of(value), dtypes.int64, dtype), dtype, dtypes.int64) as BigInt64Array
    )[0];
  // The distance between neighbouring float numbers of this magnitude.
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

/**
 * The normal distribution.
 *
 * Source: `torch.distributions.normal.Normal`.
 *
 * @example new torch.distributions.normal.Normal(0, 1).sample([3, 4])
 */
export class Normal {
  /** The mean. */
  declare readonly loc: Tensor;
  /** The standard deviation. */
  declare readonly scale: Tensor;

  static {
    explainReceivers(Normal, "Normal", (object) => Object.hasOwn(object, "loc"));
  }

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
   * Random values: `torch.randn` of the same seed, times scale plus loc.
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

refuseUnknownOf(Normal, () => "Normal");

function toFloats(where: string, argument: string, value: unknown): Tensor {
  if (value instanceof Tensor) return value.to(dtypes.float32);
  return full([], checkScalar(where, argument, value), dtypes.float32);
}

/** Python prints a distribution's parameter as its value, or as its size if it has several. */
function describeParameter(parameter: Tensor): string {
  return parameter.numel() === 1 ? floatRepr(parameter.item()) : String(parameter.shape);
}
