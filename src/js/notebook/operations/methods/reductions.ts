// Methods that give one element for many, or put elements in order: sums, extremes, statistics, sorting.

import type { CloseKeywords, ReduceKeywords, SumKeywords } from "../../tensor/keywords.js";
import type { Keywords, Pair } from "./calls.js";

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
