// Keyword arguments of tensor methods: types, and the signatures by which calls are bound.

import type { RoundingMode } from "./binary.js";
import type { Scalar } from "./cast.js";
import type { DType } from "./dtype.js";

/** Keywords of add and sub. */
export interface AddKeywords {
  /** Factor of the other operand. Default: 1. */
  alpha?: Scalar;
}

/** Keywords of div. */
export interface DivideKeywords {
  /** Rounding mode of the quotients; integers then stay integers. Default: none. */
  rounding_mode?: RoundingMode | null;
}

/** Keywords of allclose. */
export interface CloseKeywords {
  /** The distance allowed for each unit of the other tensor's magnitude. Default: 1e-5. */
  rtol?: number;
  /** The distance allowed everywhere. Default: 1e-8. */
  atol?: number;
  /** Whether NaN is close to NaN. Default: false. */
  equal_nan?: boolean;
}

/** Keywords of round. */
export interface RoundKeywords {
  /** Number of decimals; negative: tens, hundreds, … Default: 0. */
  decimals?: number;
}

/** Keywords of sum and mean. */
export interface SumKeywords extends ReduceKeywords {
  /** The dtype to which the elements are converted first. Default: their own; int64 for sums of integers. */
  dtype?: DType;
}

/** Keywords of reductions. */
export interface ReduceKeywords {
  /** The reduced dimensions. Default: all. */
  dim?: number | readonly number[];
  /** Whether the reduced dimensions are kept, with length 1. Default: false. */
  keepdim?: boolean;
}

/** Keywords of clamp. */
export interface ClampKeywords {
  /** The lower bound. Default: none. */
  min?: Scalar | null;
  /** The upper bound. Default: none. */
  max?: Scalar | null;
}

// Keyword names of methods. Methods without an entry match their arguments in their own code.
const NOTHING: readonly string[] = [];

const OTHER = ["other"];

/** The parameters of methods in Python's order, as `bindArguments` takes them. */
export const signatures = {
  dim: NOTHING,
  size: ["dim?"],
  numel: NOTHING,
  nelement: NOTHING,
  stride: ["dim?"],
  storage_offset: NOTHING,
  element_size: NOTHING,
  is_floating_point: NOTHING,
  is_contiguous: NOTHING,
  item: NOTHING,
  tolist: NOTHING,
  numpy: NOTHING,
  select: ["dim", "index"],
  set: ["index", "value"],
  flatten: ["start_dim?", "end_dim?"],
  contiguous: NOTHING,
  clone: NOTHING,
  detach: NOTHING,
  to: ["dtype"],
  type_as: OTHER,
  float: NOTHING,
  double: NOTHING,
  char: NOTHING,
  byte: NOTHING,
  short: NOTHING,
  int: NOTHING,
  long: NOTHING,
  bool: NOTHING,
  copy_: OTHER,
  fill_: ["value"],
  zero_: NOTHING,
} satisfies Readonly<Record<string, readonly string[]>>;
