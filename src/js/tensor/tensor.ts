// A tensor: float32 values in row-major order plus a shape.

import { wrongKind } from "../base/check.js";
import { rangeError } from "../base/errors.js";
import { fieldsOf } from "../base/fields.js";
import { INSPECT, showShape } from "../base/format-value.js";
import { explainReceivers } from "../base/receivers.js";
import { arrayName, copyOf, type NumberArray, newArray } from "../base/typed-arrays.js";
import { type CheckedTensor, checkNested, checkTensor, type TensorInput } from "./check.js";
import { checkOut } from "./codes.js";
import { formatTensor } from "./print.js";
import { checkShape, checkSize, sameShape } from "./shape.js";

/**
 * Float32 values in row-major order with a shape. Made by `tensor`. A copy by `structuredClone` has the
 * same fields and is accepted everywhere, but prints as a plain object. Plain data: every function reads
 * each field once and checks it, so the fields may change between calls.
 */
export class Tensor {
  /** The values, the last axis varying fastest. */
  declare readonly data: Float32Array;
  /** The length of each axis, outermost first; empty for a single value. */
  declare readonly shape: readonly number[];

  static {
    explainReceivers(Tensor, "Tensor", (object) => Object.hasOwn(object, "data"));
  }

  /** @internal */
  constructor(data: Float32Array, shape: readonly number[]) {
    this.data = data;
    this.shape = shape;
  }

  /**
   * The tensor as PyTorch prints it.
   * @example String(tensor([[1, 2.5]])) // "tensor([[1.0000, 2.5000]])"
   */
  toString(): string {
    return formatTensor({ data: this.data, shape: this.shape, dtype: "float32" });
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/** A number, or nested arrays of numbers with equal lengths at each level. */
export type NestedNumbers = number | NumberArray | readonly NestedNumbers[];

/**
 * Makes a tensor with a copy of the values, rounded to float32.
 * @param values  nested numbers, a typed array, or another tensor in any of its forms
 * @param shape   shape of the tensor; default: that of the nesting
 * @throws {TypeError} `ZP_INVALID_TENSOR` if `values` holds anything but numbers; `ZP_DETACHED`
 * @throws {RangeError} `ZP_INVALID_SHAPE` if the nesting is ragged or a length is not an integer
 *   >= 0; `ZP_SHAPE_MISMATCH` if the shape does not fit the number of values
 * @example tensor([[191.6, -13.5], [92.14, 295.5]]).shape // [2, 2]
 * @example tensor(new Float32Array(6), [2, 3])
 */
export function tensor(
  values: NestedNumbers | TensorInput,
  shape?: ArrayLike<number> | undefined,
): Tensor {
  const { data, shape: ownShape } = checkValues(values);
  if (shape === undefined) return new Tensor(data, ownShape);
  const newShape = checkShape("tensor", "shape", shape);
  // A hint for raw bytes, as of a file or a response, given in the place of values.
  const hint = arrayName(values) === "Uint8Array" ? "; bytes need a Float32Array over them" : "";
  checkSize("tensor", "values", newShape, data.length, hint);
  return new Tensor(data, newShape);
}

/** The values as a new array. */
function checkValues(values: unknown): Pick<Tensor, "data" | "shape"> {
  if (typeof values === "number" || Array.isArray(values)) {
    return checkNested("tensor", "values", values, Float32Array);
  }
  if (arrayName(values) === undefined && (typeof values !== "object" || values === null)) {
    throw wrongKind(
      "ZP_INVALID_TENSOR",
      "tensor",
      "values",
      "a number, nested arrays of numbers, a typed array or a tensor",
      values,
    );
  }
  return copyTensor("tensor", checkTensor("tensor", "values", values));
}

/** A Tensor itself, or a copy of a tensor in any other form. */
export function asTensor(where: string, argument: string, value: unknown): Tensor {
  return value instanceof Tensor ? value : copyTensor(where, checkTensor(where, argument, value));
}

/** A tensor with a copy of the values. */
export function copyTensor(where: string, { data, shape, size }: CheckedTensor): Tensor {
  return new Tensor(copyOf(where, data, Float32Array, size), shape);
}

/**
 * The tensor for a float32 result: a new one, or `out`.
 * @param out     a Float32Array of the result's length, a tensor of its shape, or undefined
 * @param inputs  the input arrays of the result, which `out` must stay clear of
 */
export function checkTensorOut(
  where: string,
  argument: string,
  out: unknown,
  shape: readonly number[],
  size: number,
  inputs: readonly (NumberArray | undefined)[],
): CheckedOut {
  if (out === undefined) return resultOf(newArray(where, Float32Array, size), shape);
  if (arrayName(out) !== undefined) {
    const data = checkOut(where, argument, out, "Float32Array", size, inputs);
    return resultOf(data as Float32Array, shape);
  }
  const { data, shape: given } = fieldsOf(Object(out));
  if (data === undefined || given === undefined) {
    throw wrongKind("ZP_INVALID_OUT", where, argument, "a Float32Array or a tensor", out);
  }
  const outShape = checkShape(where, `${argument}.shape`, given);
  if (!sameShape(outShape, shape)) {
    throw rangeError(
      "ZP_INVALID_OUT",
      where,
      `${argument} must have shape ${showShape(shape)}, got ${showShape(outShape)}`,
    );
  }
  const values = checkOut(where, `${argument}.data`, data, "Float32Array", size, inputs);
  return out instanceof Tensor
    ? { result: out, data: values as Float32Array }
    : resultOf(values as Float32Array, outShape);
}

/** A tensor for a result, and the array for its values. */
interface CheckedOut {
  readonly result: Tensor;
  /** The data of `result` at the time of the check; a user may replace the field later. */
  readonly data: Float32Array;
}

const resultOf = (data: Float32Array, shape: readonly number[]): CheckedOut => ({
  result: new Tensor(data, shape),
  data,
});

/** Output of a float32 result: an array of its length, or a tensor of its shape. */
export interface OutOption {
  /** Must not overlap any input. The result uses its memory; a `Tensor` is itself the result. */
  out?: Float32Array | Tensor | undefined;
}
