// The methods of torch.Tensor that tables of operations give, for TypeScript. Each optional argument may be replaced by
// an object of keyword arguments.

import type { Scalar } from "../tensor/cast.js";
import type {
  AddKeywords,
  Bounds,
  CloseKeywords,
  DivideKeywords,
  ReduceKeywords,
  RoundKeywords,
  SumKeywords,
} from "../tensor/keywords.js";

/** Values and where they are: a tuple that also has names. */
export type Pair<T> = readonly [values: T, indices: T] & {
  readonly values: T;
  readonly indices: T;
};

/** Keyword arguments, by Python's names. */
export interface Keywords {
  [name: string]: unknown;
}

/** The second operand of an operator, as a keyword. */
export interface Other<T> {
  /** The right operand. */
  other: T | Scalar;
}

/** Sizes, one by one or as an array. */
export type SizeList = readonly number[] | readonly [readonly number[]];

/** Order. */
export interface SortingMethods<T> {
  /**
   * The values along a dimension in order, and where they were; NaN is the largest, and equal values keep their order.
   * Source: `torch.sort`.
   */
  sort(dim?: number | Keywords, descending?: boolean | Keywords, keywords?: Keywords): Pair<T>;
  /** The places of `sort`. Source: `torch.argsort`. */
  argsort(dim?: number | Keywords, descending?: boolean | Keywords, keywords?: Keywords): T;
  /**
   * The `k` largest values along a dimension, and where they are, the first of equals first. PyTorch does not say which
   * of equals it takes.
   * Source: `torch.topk`.
   * @throws {RangeError} RuntimeError if there are fewer than k
   */
  topk(
    k: number | Keywords,
    dim?: number | Keywords,
    largest?: boolean | Keywords,
    sorted?: boolean | Keywords,
  ): Pair<T>;
  /** The k-th smallest value along a dimension, from 1 on, and where it is. Source: `torch.kthvalue`. */
  kthvalue(k: number | Keywords, dim?: number | Keywords, keepdim?: boolean): Pair<T>;
  /**
   * The median of all values, or with `dim` along a dimension and where it is: the lower of two, NaN if there is any.
   * Source: `torch.median`.
   */
  median(): T;
  median(dim: number | Keywords, keepdim?: boolean | Keywords): Pair<T>;
  /** The largest values so far along a dimension, and where they are. Source: `torch.cummax`. */
  cummax(dim: number | Keywords): Pair<T>;
  /** The smallest values so far along a dimension, and where they are. Source: `torch.cummin`. */
  cummin(dim: number | Keywords): Pair<T>;
  /**
   * The different values in ascending order; with `return_inverse` and `return_counts` also where each value is among them,
   * and how often it occurs. Source: `torch.unique`, without `dim`.
   */
  unique(keywords?: { sorted?: boolean; return_inverse?: false; return_counts?: false }): T;
  unique(keywords: Keywords): readonly T[];
  /** How many of the ascending `boundaries` are below each value; with `right`, or equal. Source: `torch.bucketize`. */
  bucketize(boundaries: T | Keywords, keywords?: Keywords): T;
}

/** Many elements to one, or to as many. */
export interface StatisticsMethods<T> {
  /**
   * The variance of all values, or along dimensions, with `correction` values less in the divisor (default: 1). Computed in
   * double precision and rounded once, so that the last bit may differ from PyTorch's.
   * Source: `torch.var`.
   */
  var(
    dim?: number | readonly number[] | boolean | Keywords,
    unbiased?: boolean | Keywords,
    keepdim?: boolean | Keywords,
  ): T;
  /** The square root of `var`. Source: `torch.std`. */
  std(
    dim?: number | readonly number[] | boolean | Keywords,
    unbiased?: boolean | Keywords,
    keepdim?: boolean | Keywords,
  ): T;
  /** The product of all values, or along a dimension; integers give int64, which wraps. Source: `torch.prod`. */
  prod(dim?: number | Keywords, keepdim?: boolean | Keywords, keywords?: Keywords): T;
  /**
   * The p-th root of the sum of p-th powers of magnitudes, by default the length of the vector of all values; Infinity: the
   * largest magnitude; 0: how many are not 0. Computed in double precision and rounded once.
   * Source: `torch.norm`.
   */
  norm(
    p?: number | "fro" | Keywords,
    dim?: number | readonly number[] | Keywords,
    keepdim?: boolean | Keywords,
  ): T;
  /**
   * exp(t - max) over its sum, along a dimension: the nearest float32, a few ulps from PyTorch's.
   * @throws {RangeError} RuntimeError for integers, IndexError
   */
  softmax(dim: number | { dim: number }): T;
  /** The logarithm of `softmax`. Source: `torch.log_softmax`. */
  log_softmax(dim: number | Keywords): T;
  /** The logarithm of the sum of exponentials. Source: `torch.logsumexp`. */
  logsumexp(dim: number | readonly number[] | Keywords, keepdim?: boolean | Keywords): T;
  /** How many values are not 0. Source: `torch.count_nonzero`. */
  count_nonzero(dim?: number | readonly number[] | Keywords): T;
  /** The smallest and the largest value, of all or along a dimension. Source: `torch.aminmax`. */
  aminmax(keywords?: Keywords): readonly [min: T, max: T] & { readonly min: T; readonly max: T };
  /**
   * Sums so far along a dimension: floats in double precision, each rounded; integers as int64.
   * Source: `torch.cumsum`.
   */
  cumsum(dim: number | Keywords, keywords?: Keywords): T;
  /** Products so far, likewise. Source: `torch.cumprod`. */
  cumprod(dim: number | Keywords, keywords?: Keywords): T;
  /** Differences of neighbours along a dimension, `n` times. Source: `torch.diff`. */
  diff(n?: number | Keywords, dim?: number | Keywords): T;
  /**
   * The value below which a share `q` of the values lies, from 0 to 1, or several for a tensor `q`.
   * Its rank among them is computed in double precision.
   * Source: `torch.quantile`, of PyTorch 2.14.
   */
  quantile(
    q: number | T | Keywords,
    dim?: number | Keywords,
    keepdim?: boolean | Keywords,
    keywords?: Keywords,
  ): T;
  /**
   * How many values lie in each of `bins` equal parts of [min, max]; by default of their own range. Source:
   * `torch.histc`.
   */
  histc(bins?: number | Keywords, min?: number | Keywords, max?: number | Keywords): T;
  /** How often each integer from 0 on occurs, or the sum of its weights. Source: `torch.bincount`. */
  bincount(weights?: T | null | Keywords, minlength?: number | Keywords): T;
}

/** Elements by mask or index. */
export interface SelectionMethods<T> {
  /**
   * The elements where a bool tensor is true, and those of `other` elsewhere.
   * @throws {RangeError} RuntimeError for a condition that is not bool
   */
  where(condition: T, other: T | Scalar): T;
  where(keywords: { condition: T; other: T | Scalar }): T;
  /**
   * The elements for which a bool tensor is true, in one dimension: Python's t[mask]. Source: `torch.masked_select`.
   */
  masked_select(mask: T | Keywords): T;
  /** A copy with `value` where a bool tensor is true. Source: `torch.masked_fill`. */
  masked_fill(mask: T | Keywords, value?: Scalar | T | Keywords): T;
  /** The slices of a dimension that a tensor of indices names. Source: `torch.index_select`. */
  index_select(dim: number | Keywords, index?: T | Keywords): T;
  /** For each index, the element at it along a dimension. Source: `torch.gather`. */
  gather(dim: number | Keywords, index?: T | Keywords): T;
  /** A copy with the elements of `src`, or a number, at indices along a dimension. Source: `torch.scatter`. */
  scatter(dim: number | Keywords, index?: T | Keywords, src?: T | Scalar | Keywords): T;
  /** As `scatter`, adding to what is there. Source: `torch.scatter_add`. */
  scatter_add(dim: number | Keywords, index?: T | Keywords, src?: T | Keywords): T;
  /** The elements at places in row-major order. Source: `torch.take`. */
  take(index: T | Keywords): T;
  /** The indices of elements that are not 0, a row for each. Source: `torch.nonzero`. */
  nonzero(keywords?: { as_tuple?: false }): T;
  nonzero(keywords: { as_tuple: true }): readonly T[];
  /** The same. Source: `torch.argwhere`. */
  argwhere(): T;
}

/** Elements in other places. */
export interface ArrangementMethods<T> {
  /** A range of indices of a dimension, sharing memory. @throws {RangeError} IndexError, RuntimeError */
  narrow(dim: number, start: number, length: number): T;
  narrow(keywords: { dim: number; start: number; length: number }): T;
  /** Without the dimensions of size 1, or without one of them, sharing memory. */
  squeeze(dim?: number): T;
  squeeze(keywords: { dim?: number }): T;
  /** With one more dimension, of size 1, sharing memory. */
  unsqueeze(dim: number): T;
  unsqueeze(keywords: { dim: number }): T;
  /** A matrix with rows and columns exchanged, sharing memory; vectors stay. @throws {RangeError} RuntimeError */
  t(): T;
  /** With two dimensions exchanged, sharing memory. */
  transpose(dim0: number, dim1: number): T;
  transpose(keywords: { dim0: number; dim1: number }): T;
  /** With its dimensions in another order, sharing memory. @throws {RangeError} RuntimeError, IndexError */
  permute(...dims: SizeList | [{ dims: readonly number[] }]): T;
  /**
   * Stretched, sharing memory: dimensions of size 1 repeat. -1 keeps a size.
   * @throws {RangeError} RuntimeError
   */
  expand(...size: SizeList | [{ size: readonly number[] }]): T;
  /** A copy with dimensions in reverse. Source: `torch.flip`. */
  flip(...dims: SizeList | [Keywords]): T;
  /** A copy in which elements move along dimensions, and those beyond the end to its start. Source: `torch.roll`. */
  roll(
    shifts: number | readonly number[] | Keywords,
    dims?: number | readonly number[] | Keywords,
  ): T;
  /** The tensor several times along each dimension. Source: Tensor.repeat. */
  repeat(...repeats: SizeList | [Keywords]): T;
  /** The same, where leading numbers may be missing. Source: `torch.tile`. */
  tile(...dims: SizeList | [Keywords]): T;
  /** Each element, or each slice of a dimension, several times. Source: `torch.repeat_interleave`. */
  repeat_interleave(repeats: number | T | Keywords, dim?: number | Keywords): T;
  /** Parts of a size, or of several, sharing memory. Source: `torch.split`. */
  split(split_size: number | readonly number[] | Keywords, dim?: number | Keywords): readonly T[];
  /** So many parts, or fewer, sharing memory. Source: `torch.chunk`. */
  chunk(chunks: number | Keywords, dim?: number | Keywords): readonly T[];
  /** The slices of a dimension, sharing memory. Source: `torch.unbind`. */
  unbind(dim?: number | Keywords): readonly T[];
  /** All elements in one dimension; a copy where they must move. Source: `torch.ravel`. */
  ravel(): T;
  /** In the shape of another tensor, sharing memory. Source: Tensor.view_as. */
  view_as(other: T | Keywords): T;
  /** In the shape of another tensor; a copy where elements must move. Source: Tensor.reshape_as. */
  reshape_as(other: T | Keywords): T;
  /** With one dimension as several. Source: `torch.unflatten`. */
  unflatten(dim: number | Keywords, sizes?: readonly number[] | Keywords): T;
  /** With dimensions moved to other places, sharing memory. Source: `torch.movedim`. */
  movedim(
    source: number | readonly number[] | Keywords,
    destination?: number | readonly number[] | Keywords,
  ): T;
  /** The same as `transpose`. Source: `torch.swapaxes`. */
  swapaxes(axis0: number | Keywords, axis1?: number | Keywords): T;
  /** Stretched to a shape, sharing memory. Source: `torch.broadcast_to`. */
  broadcast_to(size: readonly number[] | Keywords): T;
  /** Stretched to the shape of another tensor. Source: Tensor.expand_as. */
  expand_as(other: T | Keywords): T;
  /** The elements on a diagonal of two dimensions, sharing memory. Source: `torch.diagonal`. */
  diagonal(offset?: number | Keywords, dim1?: number | Keywords, dim2?: number | Keywords): T;
  /** A matrix with a vector on a diagonal, or a matrix's diagonal. Source: `torch.diag`. */
  diag(diagonal?: number | Keywords): T;
  /** A copy with 0 above a diagonal. Source: `torch.tril`. */
  tril(diagonal?: number | Keywords): T;
  /** A copy with 0 below a diagonal. Source: `torch.triu`. */
  triu(diagonal?: number | Keywords): T;
}

/** Products by name. Float32 is accumulated in double precision and rounded once. */
export interface ProductMethods<T> {
  /**
   * Python's t @ other: the product of matrices or vectors; dimensions before the last two broadcast.
   * @throws {RangeError} RuntimeError for dtypes or shapes that do not fit
   */
  matmul(other: T | { other: T }): T;
  /** The product of two matrices. Source: `torch.mm`. */
  mm(mat2: T | Keywords): T;
  /** The product of a matrix and a vector. Source: `torch.mv`. */
  mv(vec: T | Keywords): T;
  /** The product of two vectors. Source: `torch.dot`. */
  dot(tensor: T | Keywords): T;
  /** The products of as many matrices. Source: `torch.bmm`. */
  bmm(mat2: T | Keywords): T;
  /** The matrix of all products of two vectors' elements. Source: `torch.outer`. */
  outer(vec2: T | Keywords): T;
  /** The sum of a matrix's diagonal. Source: `torch.trace`. */
  trace(): T;
}

/** Operators, rounding and limits. */
export interface ArithmeticMethods<T> {
  /**
   * Python's t + other; with `alpha`, t + alpha * other.
   * @throws {RangeError} RuntimeError for a float `alpha` with integers
   */
  add(other: T | Scalar, keywords?: AddKeywords): T;
  add(keywords: Other<T> & AddKeywords): T;
  /**
   * Python's t - other; with `alpha`, t - alpha * other. An integer tensor minus a Python int stays
   * in its dtype and wraps.
   */
  sub(other: T | Scalar, keywords?: AddKeywords): T;
  sub(keywords: Other<T> & AddKeywords): T;
  /** Python's other - t; with `alpha`, other - alpha * t. */
  rsub(other: T | Scalar, keywords?: AddKeywords): T;
  rsub(keywords: Other<T> & AddKeywords): T;
  /** Python's t * other. */
  mul(other: T | Scalar | Other<T>): T;
  /**
   * Python's t / other: true division; integers are divided in float32. With `rounding_mode`, the
   * quotients are cut off: "trunc" towards zero, "floor" downwards, as Python's t // other.
   * @throws {RangeError} RuntimeError with `rounding_mode` for integers divided by 0
   */
  div(other: T | Scalar, keywords?: DivideKeywords): T;
  div(keywords: Other<T> & DivideKeywords): T;
  /**
   * Python's number / t, which PyTorch computes as t.reciprocal() * number, rounding twice.
   * `torch.div(number, t)` rounds once.
   */
  rdiv(other: T | Scalar | Other<T>): T;
  /** Python's t ** exponent. */
  pow(exponent: T | Scalar | { exponent: T | Scalar }): T;
  /** The larger of both, element by element. */
  maximum(other: T | Other<T>): T;
  /** The smaller of both, element by element. */
  minimum(other: T | Other<T>): T;
  /** Python's t == other. */
  eq(other: T | Scalar | Other<T>): T;
  /** Python's t != other. */
  ne(other: T | Scalar | Other<T>): T;
  /** Python's t < other. */
  lt(other: T | Scalar | Other<T>): T;
  /** Python's t <= other. */
  le(other: T | Scalar | Other<T>): T;
  /** Python's t > other. */
  gt(other: T | Scalar | Other<T>): T;
  /** Python's t >= other. */
  ge(other: T | Scalar | Other<T>): T;
  /**
   * The nearest whole numbers, ties to the even ones. Integers stay.
   * @throws {RangeError} RuntimeError for `decimals` of integers
   */
  round(keywords?: RoundKeywords): T;
  /**
   * Limits every element to [min, max]; NaN stays NaN. Either bound may be left out.
   * @throws {RangeError} RuntimeError without bounds, or if one does not fit in the dtype
   */
  clamp(min?: Scalar | null, max?: Scalar | null): T;
  clamp(keywords: Bounds): T;
  /** The same as `clamp`. */
  clip(min?: Scalar | null, max?: Scalar | null): T;
  clip(keywords: Bounds): T;
}

/** Many elements to one in the dtype's own arithmetic. */
export interface ReductionMethods<T> {
  /** The sum of all elements, or along dimensions. Integers give int64. */
  sum(dim?: number | readonly number[], keepdim?: boolean | SumKeywords): T;
  sum(keywords: SumKeywords): T;
  /**
   * The mean of all elements, or along dimensions.
   * @throws {RangeError} RuntimeError for integers
   */
  mean(dim?: number | readonly number[], keepdim?: boolean | SumKeywords): T;
  mean(keywords: SumKeywords): T;
  /** The largest elements along a dimension, or of all. */
  amax(dim?: number | readonly number[], keepdim?: boolean): T;
  amax(keywords: ReduceKeywords): T;
  /** The smallest elements along a dimension, or of all. */
  amin(dim?: number | readonly number[], keepdim?: boolean): T;
  amin(keywords: ReduceKeywords): T;
  /** Where the largest element is: its place in row-major order, or along a dimension. */
  argmax(dim?: number, keepdim?: boolean): T;
  argmax(keywords: { dim?: number; keepdim?: boolean }): T;
  /** Where the smallest element is: its place in row-major order, or along a dimension. */
  argmin(dim?: number, keepdim?: boolean): T;
  argmin(keywords: { dim?: number; keepdim?: boolean }): T;
  /** Whether all elements, or all along dimensions, are other than 0: bool, or uint8 of uint8. */
  all(dim?: number | readonly number[], keepdim?: boolean): T;
  all(keywords: ReduceKeywords): T;
  /** Whether any element is other than 0, likewise. */
  any(dim?: number | readonly number[], keepdim?: boolean): T;
  any(keywords: ReduceKeywords): T;
  /**
   * Whether another tensor has the same shape and the same values, of whatever dtype.
   *
   * Source: `torch.equal`.
   */
  equal(other: T | { other: T }): boolean;
  /**
   * Whether |t - other| <= atol + rtol * |other| everywhere, of bools as float32.
   * @throws {RangeError} RuntimeError if the dtypes differ
   */
  allclose(other: T, rtol?: number, atol?: number, equal_nan?: boolean): boolean;
  allclose(other: T, keywords: CloseKeywords): boolean;
  allclose(keywords: { other: T } & CloseKeywords): boolean;
}

/**
 * Element-wise functions. Those that are not exact are computed in double precision and rounded once; PyTorch's differ by
 * up to 1 ulp, which depends on the machine.
 */
export interface ElementwiseMethods<T> {
  /** Magnitudes. Integers wrap: int8's -128 stays -128. */
  abs(): T;
  /** Python's -t. */
  neg(): T;
  /** Products with themselves. */
  square(): T;
  /** Square roots, correctly rounded. */
  sqrt(): T;
  /** 1 / t. */
  reciprocal(): T;
  /** e to the power of each element, within 1 ulp of PyTorch's. */
  exp(): T;
  /** Natural logarithms, within 1 ulp of PyTorch's. */
  log(): T;
  /** 1 / (1 + exp(-t)), within 2 ulps of PyTorch's. */
  sigmoid(): T;
  /** Hyperbolic tangents, within 2 ulps of PyTorch's. */
  tanh(): T;
  /** 0 for negative elements, the others as they are. */
  relu(): T;
  /** The next whole numbers below. */
  floor(): T;
  /** The next whole numbers above. */
  ceil(): T;
  /** Without decimals. */
  trunc(): T;
  /** Which elements are NaN. */
  isnan(): T;
  /** Which elements are infinite. */
  isinf(): T;
  /** Which elements are neither NaN nor infinite. */
  isfinite(): T;
  /** Logarithms to the base 2. */
  log2(): T;
  /** Logarithms to the base 10. */
  log10(): T;
  /** Logarithms of 1 + t. */
  log1p(): T;
  /** 2 to the power of each element. */
  exp2(): T;
  /** e to the power of each element, minus 1. */
  expm1(): T;
  /** Sines. */
  sin(): T;
  /** Cosines. */
  cos(): T;
  /** Tangents. */
  tan(): T;
  /** Angles of sines. */
  asin(): T;
  /** Angles of cosines. */
  acos(): T;
  /** Angles of tangents. */
  atan(): T;
  /** Hyperbolic sines. */
  sinh(): T;
  /** Hyperbolic cosines. */
  cosh(): T;
  /** The angles of points whose y is this tensor's, and x the other's. */
  atan2(other: T | Keywords): T;
  /** 1 / sqrt(t), rounded twice. */
  rsqrt(): T;
  /** -1, 0 or 1; 0 for NaN. */
  sign(): T;
  /** Which elements have a minus sign, -0 included. */
  signbit(): T;
  /** The decimals: t - trunc(t). @throws {RangeError} RuntimeError for integers */
  frac(): T;
  /** Which elements are 0. */
  logical_not(): T;
  /** All bits the other way; of bools, which are false. @throws {RangeError} RuntimeError for floats */
  bitwise_not(): T;
  /** Numbers in place of NaN (default: 0) and infinities (default: the dtype's limits). */
  nan_to_num(nan?: number | Keywords, posinf?: number | Keywords, neginf?: number | Keywords): T;
  /** As `clamp` with `min` alone; also a tensor of bounds. */
  clamp_min(min: Scalar | T | Keywords): T;
  /** As `clamp` with `max` alone; also a tensor of bounds. */
  clamp_max(max: Scalar | T | Keywords): T;
  /** Python's t % other, with the sign of the divisor. @throws {RangeError} RuntimeError for integers by 0 */
  remainder(other: T | Scalar | Keywords): T;
  /** C's remainder, with the sign of t. @throws {RangeError} RuntimeError for integers by 0 */
  fmod(other: T | Scalar | Keywords): T;
  /** Where both are not 0. */
  logical_and(other: T | Keywords): T;
  /** Where either is not 0. */
  logical_or(other: T | Keywords): T;
  /** Where exactly one is not 0. */
  logical_xor(other: T | Keywords): T;
  /** Python's t & other. @throws {RangeError} RuntimeError for floats */
  bitwise_and(other: T | Scalar | Keywords): T;
  /** Python's t | other. @throws {RangeError} RuntimeError for floats */
  bitwise_or(other: T | Scalar | Keywords): T;
  /** Python's t ^ other. @throws {RangeError} RuntimeError for floats */
  bitwise_xor(other: T | Scalar | Keywords): T;
  /** Python's t << other: 0 for counts below 0 or of all bits. @throws {RangeError} RuntimeError for floats */
  bitwise_left_shift(other: T | Scalar | Keywords): T;
  /** Python's t >> other, which keeps the sign. @throws {RangeError} RuntimeError for floats */
  bitwise_right_shift(other: T | Scalar | Keywords): T;
  /** Which elements are within atol + rtol * |other| of another tensor's. */
  isclose(
    other: T | Keywords,
    rtol?: number | Keywords,
    atol?: number | Keywords,
    equal_nan?: boolean,
  ): T;
}

/** Methods that tables of operations give. */
export interface OperationMethods<T>
  extends SortingMethods<T>,
    StatisticsMethods<T>,
    SelectionMethods<T>,
    ArrangementMethods<T>,
    ProductMethods<T>,
    ElementwiseMethods<T>,
    ArithmeticMethods<T>,
    ReductionMethods<T> {}
