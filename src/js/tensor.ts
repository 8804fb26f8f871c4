// A tensor: float32 values in row-major order plus a shape.

import { arrayName, type NumberArray, newArray } from "./arrays.js";
import {
  type CheckedTensor,
  checkNested,
  checkOut,
  checkShape,
  checkSize,
  checkTensor,
  sameShape,
  type TensorInput,
  wrongKind,
} from "./check.js";
import { rangeError } from "./errors.js";
import { formatTensor } from "./print.js";
import { INSPECT, showShape } from "./show.js";

/**
 * Float32 values in row-major order plus a shape. Made by `tensor`; a copy by `structuredClone` has
 * the same fields and serves as well, but prints as any object does.
 */
export class Tensor {
  /** The values, the last axis varying fastest. */
  declare readonly data: Float32Array;
  /** The length of each axis, outermost first; empty for a single value. */
  declare readonly shape: readonly number[];

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

/** A number, or arrays of numbers nested as deep as they like, each level of one length. */
export type NestedNumbers = number | NumberArray | readonly NestedNumbers[];

/**
 * Makes a tensor of its own values, rounded to float32; later changes to the input do not reach it.
 * @param values  nested numbers, a typed array, or another tensor in any of its forms
 * @param shape   the shape to give the values; default: as they are nested
 * @throws {TypeError} `ZP_INVALID_TENSOR` if `values` holds anything but numbers; `ZP_DETACHED`
 * @throws {RangeError} `ZP_INVALID_SHAPE` if the nesting is ragged or a length is not an integer
 *   >= 0; `ZP_SHAPE_MISMATCH` if the shape holds more or fewer values than there are
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
  // What a file or a response holds, taken for the values themselves.
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

/** A tensor as it is, of anything else that is taken for one a copy. */
export function asTensor(where: string, argument: string, value: unknown): Tensor {
  return value instanceof Tensor ? value : copyTensor(where, checkTensor(where, argument, value));
}

/** A tensor of values of its own. */
export function copyTensor(where: string, { data, shape, size }: CheckedTensor): Tensor {
  const values = newArray(where, Float32Array, size);
  values.set(data);
  return new Tensor(values, shape);
}

/**
 * The tensor that a float32 result is written to: a new one, or `out`.
 * @param out     a Float32Array of the result's length, a tensor of its shape, or undefined
 * @param inputs  the arrays the result is computed from, which `out` must stay clear of
 */
export function checkTensorOut(
  where: string,
  argument: string,
  out: unknown,
  shape: readonly number[],
  size: number,
  inputs: readonly (NumberArray | undefined)[],
): Tensor {
  if (out === undefined) return new Tensor(newArray(where, Float32Array, size), shape);
  if (arrayName(out) !== undefined) {
    const data = checkOut(where, argument, out, "Float32Array", size, inputs);
    return new Tensor(data as Float32Array, shape);
  }
  const { data, shape: given } = Object(out) as { data?: unknown; shape?: unknown };
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
  return out instanceof Tensor ? out : new Tensor(values as Float32Array, outShape);
}

/** `options.out` of an asynchronous function, checked; undefined if there is none. */
export function checkGivenOut(
  where: string,
  out: unknown,
  shape: readonly number[],
  size: number,
  inputs: readonly (NumberArray | undefined)[],
): Tensor | undefined {
  if (out === undefined) return undefined;
  return checkTensorOut(where, "options.out", out, shape, size, inputs);
}
