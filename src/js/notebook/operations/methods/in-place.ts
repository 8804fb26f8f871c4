// The methods of torch.Tensor whose result goes into the tensor itself, for TypeScript.

import type { Scalar } from "../../tensor/cast.js";
import type {
  AddKeywords,
  ClampKeywords,
  DivideKeywords,
  RoundKeywords,
} from "../../tensor/keywords.js";
import type { OtherKeyword } from "./calls.js";

/** Methods that also have a form in place. */
export const IN_PLACE = [
  ...["add", "sub", "mul", "div", "abs", "neg", "round", "clamp"],
  ...["square", "sqrt", "reciprocal", "exp", "log", "sigmoid", "tanh", "relu", "floor", "ceil"],
  ...["trunc", "pow", "rsqrt", "sign", "frac", "nan_to_num", "clamp_min", "clamp_max"],
  ...["remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift"],
  ...["bitwise_right_shift", "masked_fill", "scatter", "scatter_add", "tril", "triu"],
] as const;

/** Methods whose result goes into the tensor itself. */
export interface InPlaceMethods<T> {
  /** Python's t += other. */
  add_(other: T | Scalar, keywords?: AddKeywords): T;
  add_(keywords: OtherKeyword<T> & AddKeywords): T;
  /** Python's t -= other. */
  sub_(other: T | Scalar, keywords?: AddKeywords): T;
  sub_(keywords: OtherKeyword<T> & AddKeywords): T;
  /** Python's t *= other. */
  mul_(other: T | Scalar | OtherKeyword<T>): T;
  /** Python's t /= other. */
  div_(other: T | Scalar, keywords?: DivideKeywords): T;
  div_(keywords: OtherKeyword<T> & DivideKeywords): T;
  /** `abs` in place. */
  abs_(): T;
  /** `neg` in place. */
  neg_(): T;
  /** `round` in place. */
  round_(keywords?: RoundKeywords): T;
  /** `clamp` in place. */
  clamp_(min?: Scalar | null, max?: Scalar | null): T;
  clamp_(keywords: ClampKeywords): T;
  /** `square` in place. */
  square_(): T;
  /** `sqrt` in place. */
  sqrt_(): T;
  /** `reciprocal` in place. */
  reciprocal_(): T;
  /** `exp` in place. */
  exp_(): T;
  /** `log` in place. */
  log_(): T;
  /** `sigmoid` in place. */
  sigmoid_(): T;
  /** `tanh` in place. */
  tanh_(): T;
  /** `relu` in place. */
  relu_(): T;
  /** `floor` in place. */
  floor_(): T;
  /** `ceil` in place. */
  ceil_(): T;
  /** `trunc` in place. */
  trunc_(): T;
  /** `rsqrt` in place. */
  rsqrt_(): T;
  /** `sign` in place. */
  sign_(): T;
  /** `frac` in place. */
  frac_(): T;
  /** `pow` in place. */
  pow_(exponent: T | Scalar | { exponent: T | Scalar }): T;
  /** `nan_to_num` in place. */
  nan_to_num_(nan?: number, posinf?: number, neginf?: number): T;
  /** `clamp_min` in place. */
  clamp_min_(min: Scalar | T): T;
  /** `clamp_max` in place. */
  clamp_max_(max: Scalar | T): T;
  /** `remainder` in place. */
  remainder_(other: T | Scalar): T;
  /** `fmod` in place. */
  fmod_(other: T | Scalar): T;
  /** `bitwise_and` in place. */
  bitwise_and_(other: T | Scalar): T;
  /** `bitwise_or` in place. */
  bitwise_or_(other: T | Scalar): T;
  /** `bitwise_xor` in place. */
  bitwise_xor_(other: T | Scalar): T;
  /** `bitwise_left_shift` in place. */
  bitwise_left_shift_(other: T | Scalar): T;
  /** `bitwise_right_shift` in place. */
  bitwise_right_shift_(other: T | Scalar): T;
  /** `masked_fill` in place. */
  masked_fill_(mask: T, value: Scalar | T): T;
  /** `scatter` in place. */
  scatter_(dim: number, index: T, src: T | Scalar): T;
  /** `scatter_add` in place. */
  scatter_add_(dim: number, index: T, src: T): T;
  /** `tril` in place. */
  tril_(diagonal?: number): T;
  /** `triu` in place. */
  triu_(diagonal?: number): T;
}
