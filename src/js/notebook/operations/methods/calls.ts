// Arguments and results of methods, of tensors of the type T.

import type { Scalar } from "../../tensor/cast.js";

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
export interface OtherKeyword<T> {
  /** The right operand. */
  other: T | Scalar;
}

/** Sizes, one by one or as an array. */
export type SizeList = readonly number[] | readonly [readonly number[]];
