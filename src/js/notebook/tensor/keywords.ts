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

// Keyword names of methods. Methods without an entry match their arguments in their own code.
const NOTHING: readonly string[] = [];

const OTHER = ["other"];

const SCALED = ["other", "*", "alpha?"];

const DIVISOR = ["other", "*", "rounding_mode?"];

const DECIMALS = ["*", "decimals?"];

const ALONG = ["dim?", "keepdim?"];

const TYPED_ALONG = [...ALONG, "*", "dtype?"];

const BOUNDS = ["min?", "max?"];

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
  narrow: ["dim", "start", "length"],
  set: ["index", "value"],
  flatten: ["start_dim?", "end_dim?"],
  squeeze: ["dim?"],
  unsqueeze: ["dim"],
  t: NOTHING,
  transpose: ["dim0", "dim1"],
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
  round: DECIMALS,
  add: SCALED,
  sub: SCALED,
  rsub: SCALED,
  div: DIVISOR,
  rdiv: OTHER,
  pow: ["exponent"],
  matmul: OTHER,
  softmax: ["dim"],
  where: ["condition", "other"],
  clamp: BOUNDS,
  clip: BOUNDS,
  sum: TYPED_ALONG,
  mean: TYPED_ALONG,
  amax: ALONG,
  amin: ALONG,
  argmax: ALONG,
  argmin: ALONG,
  all: ALONG,
  any: ALONG,
  equal: OTHER,
  allclose: ["other", "rtol?", "atol?", "equal_nan?"],
  add_: SCALED,
  sub_: SCALED,
  mul_: OTHER,
  div_: DIVISOR,
  abs_: NOTHING,
  neg_: NOTHING,
  round_: DECIMALS,
  clamp_: BOUNDS,
  copy_: OTHER,
  fill_: ["value"],
  zero_: NOTHING,
} satisfies Readonly<Record<string, readonly string[]>>;
