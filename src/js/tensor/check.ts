// Checks of tensor arguments.

import { checkChoice, wrongKind } from "../base/check.js";
import { rangeError, typeError } from "../base/errors.js";
import { fieldOf, fieldsOf, hasField, isPolluted } from "../base/fields.js";
import { show, showShape } from "../base/format-value.js";
import { isHalf } from "../base/halves.js";
import {
  ARRAYS,
  type ArrayConstructor,
  arrayLength,
  arrayName,
  checkNumberArray,
  halvesOf,
  isArray,
  lengthOf,
  type NumberArray,
  newArray,
} from "../base/typed-arrays.js";
import { checkOwnShape, checkSize, MAX_COUNT, MAX_RANK, sizeOf } from "./shape.js";

/**
 * The element type of a tensor. `"float16"` is a `Float16Array` or a `Uint16Array` of bit patterns,
 * `"bfloat16"` a `Uint16Array`, `"int64"` an `Int32Array` as `intRepr` gives it, `"bool"` a `Uint8Array`.
 */
export type ElementDType =
  | "float32"
  | "float64"
  | "float16"
  | "bfloat16"
  | "int8"
  | "uint8"
  | "int16"
  | "uint16"
  | "int32"
  | "uint32"
  | "int64"
  | "bool";

/** Values as an argument, with their element type. */
export interface TensorData {
  /** Values in row-major order; anything but `Float32Array` is rounded to float32. */
  readonly data: ArrayLike<number>;
  /**
   * The element type of the data, or an object with it as `name`, such as `torch.float32`. Needed for bit patterns
   * of half floats in a `Uint16Array`, which are integers without it; otherwise checked, if given.
   */
  readonly dtype?: ElementDType | { readonly name: string } | undefined;
  /** The same under its other name, as in ONNX Runtime's tensors. */
  readonly type?: string | undefined;
  /** A tensor with a scale is a quantized one. */
  readonly scale?: never;
}

/** Any form of a tensor of numbers that functions accept. */
export type TensorInput =
  | (TensorData & {
      /** The length of each axis, outermost first. */
      readonly shape: ArrayLike<number>;
    })
  | (TensorData & {
      /** The shape under its other name, as in ONNX Runtime's tensors. */
      readonly dims: ArrayLike<number>;
    })
  | NumberArray;

/** A tensor after its checks: a private shape, and data that is safe to copy. */
export interface CheckedTensor {
  readonly data: NumberArray;
  readonly shape: number[];
  readonly size: number;
}

/** A snapshot of a tensor's fields. */
export class TensorFields {
  declare readonly data: unknown;
  declare readonly shape: unknown;
  declare readonly dims: unknown;
  declare readonly dtype: unknown;
  declare readonly type: unknown;

  constructor(value: object) {
    const { data, shape, dims, dtype, type } = fieldsOf(value);
    this.data = data;
    this.shape = shape;
    this.dims = dims;
    this.dtype = dtype;
    this.type = type;
  }
}

/** Reads the fields of an object that may be a tensor; returns arrays and other values unchanged. */
export function readTensor(value: unknown): unknown {
  return typeof value === "object" && value !== null && !isArray(value)
    ? new TensorFields(value)
    : value;
}

/** A snapshot of a quantized tensor's fields. */
export class QuantizedFields {
  declare readonly data: unknown;
  declare readonly shape: unknown;
  declare readonly dims: unknown;
  declare readonly dtype: unknown;
  declare readonly scheme: unknown;
  declare readonly qscheme: unknown;
  declare readonly scale: unknown;
  declare readonly zeroPoint: unknown;
  declare readonly offset: unknown;
  declare readonly axis: unknown;
  declare readonly groupSize: unknown;
  declare readonly blockShape: unknown;

  constructor(value: object) {
    const fields = fieldsOf(value);
    this.data = fields.data;
    this.shape = fields.shape;
    this.dims = fields.dims;
    this.dtype = fields.dtype;
    this.scheme = fields.scheme;
    this.qscheme = fields.qscheme;
    this.scale = fields.scale;
    this.zeroPoint = fields.zeroPoint;
    this.offset = fields.offset;
    this.axis = fields.axis;
    this.groupSize = fields.groupSize;
    this.blockShape = fields.blockShape;
  }
}

/** Whether a value is intended as a quantized tensor, even if its fields are invalid. */
export function looksQuantized(value: unknown): value is object {
  return (
    typeof value === "object" &&
    value !== null &&
    "scale" in value &&
    "dtype" in value &&
    arrayName(value) === undefined &&
    (!isPolluted() || (hasField(value, "scale") && hasField(value, "dtype")))
  );
}

/** Reads the fields of a value intended as a quantized tensor; returns any other value unchanged. */
export function readQuantized(value: unknown): unknown {
  return looksQuantized(value) && !(value instanceof QuantizedFields)
    ? new QuantizedFields(value)
    : value;
}

const TENSOR_FORMS = "a tensor: { data, shape }, { data, dims } or a typed array";

/** Constructor of the copy of a plain array of numbers. */
type ListArray = typeof Float32Array | typeof Float64Array;

/**
 * Checks a tensor of numbers. A bare typed array is a tensor of one axis.
 * @param list  constructor of the copy of data in a plain array
 */
export function checkTensor(
  where: string,
  argument: string,
  value: unknown,
  list: ListArray = Float32Array,
): CheckedTensor {
  const name = arrayName(value);
  if (name !== undefined) {
    const data = checkData(where, argument, value, undefined, list);
    const size = arrayLength(data);
    checkSize(where, argument, [size], size);
    return { data, shape: [size], size };
  }
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) {
    throw wrongKind("ZP_INVALID_TENSOR", where, argument, TENSOR_FORMS, value);
  }
  if (Array.isArray(value)) {
    throw typeError(
      "ZP_INVALID_TENSOR",
      where,
      `${argument} must be ${TENSOR_FORMS}, got an array; tensor(…) makes a tensor of it`,
    );
  }
  if (looksQuantized(value)) {
    throw typeError(
      "ZP_INVALID_TENSOR",
      where,
      `${argument} must be a tensor of real values, got a quantized tensor; ` +
        `dequantize(…) makes a tensor of it`,
    );
  }
  const { data: given, shape: givenShape, dims, dtype, type } = fieldsOf(value);
  if (typeof given === "function" && "dataSync" in value) {
    throw typeError(
      "ZP_INVALID_TENSOR",
      where,
      `${argument} must be ${TENSOR_FORMS}, got a tensor of TensorFlow.js; ` +
        "{ data: t.dataSync(), shape: t.shape } makes one of it",
    );
  }
  if (given === undefined || (givenShape === undefined && dims === undefined)) {
    throw wrongKind("ZP_INVALID_TENSOR", where, argument, TENSOR_FORMS, value);
  }
  const shape = checkOwnShape(where, argument, givenShape, dims);
  const element = checkElement(where, argument, given, dtype, type);
  const data = checkData(where, `${argument}.data`, given, element, list);
  const size = arrayLength(data);
  checkSize(where, argument, shape, size);
  return { data, shape, size };
}

/** Element types that arrays may declare besides the one in the array's name. */
const OTHER_ELEMENTS: { readonly [name: string]: readonly string[] } = {
  uint16: ["float16", "bfloat16"],
  uint8: ["bool"],
  int32: ["int64"],
};

/** The element type in the name of an array. */
const elementIn = (array: string): string => array.replace(/Clamped|Array/g, "").toLowerCase();

/**
 * Checks the element type that a tensor declares as `dtype` or as `type`.
 * @throws {TypeError|RangeError} `ZP_INVALID_DTYPE` if no function reads it, or it contradicts the data
 */
export function checkElement(
  where: string,
  argument: string,
  data: unknown,
  dtype: unknown,
  type: unknown,
): string | undefined {
  if (dtype === undefined && type === undefined) return undefined;
  const array = arrayName(data);
  // An array of BigInts has an error of its own.
  if (array?.startsWith("Big")) return undefined;
  const own = elementIn(array ?? "");
  // Lists hold values, not bit patterns.
  let choices = array
    ? [own, ...(fieldOf(OTHER_ELEMENTS, own) ?? [])]
    : [...Object.keys(ARRAYS).map(elementIn), "int64"];
  const named =
    typeof dtype === "object" && dtype !== null
      ? (fieldOf(dtype as { name?: unknown }, "name") ?? dtype)
      : dtype;
  for (const [name, given] of Object.entries({ dtype: named, type })) {
    if (given === undefined) continue;
    const of = `${argument}.${name}, for data of type ${array ?? "Array"},`;
    choices = [checkChoice(where, of, given, choices, undefined, "ZP_INVALID_DTYPE")];
  }
  return choices[0];
}

/** Data of a tensor: the typed array itself, also as half floats, or a copy of a plain array. */
function checkData(
  where: string,
  argument: string,
  value: unknown,
  element: string | undefined,
  list: ListArray,
): NumberArray {
  const name = arrayName(value);
  if (name !== undefined) {
    const data = checkNumberArray(where, argument, name, value, "ZP_INVALID_TENSOR");
    const half = name === "Float16Array" ? "float16" : element;
    return isHalf(half) ? halvesOf(data, half) : data;
  }
  if (!Array.isArray(value)) {
    throw wrongKind(
      "ZP_INVALID_TENSOR",
      where,
      argument,
      "a typed array or an array of numbers",
      value,
    );
  }
  const { length } = value;
  checkListLength(where, argument, length);
  const data = newArray<Float32Array | Float64Array>(where, list, length);
  for (let i = 0; i < length; i++) {
    const item = value[i];
    // The path is only needed in an error; building it for every value would dominate.
    data[i] = typeof item === "number" ? item : checkNumber(where, `${argument}[${i}]`, item);
  }
  return data;
}

/** Checks a length: a proxy of an array may return any value. */
function checkListLength(where: string, argument: string, length: unknown): void {
  if (typeof length === "number" && Number.isInteger(length) && length >= 0) return;
  throw wrongKind("ZP_INVALID_TENSOR", where, `${argument}.length`, "an integer >= 0", length);
}

function checkNumber(where: string, argument: string, value: unknown): number {
  if (typeof value === "number") return value;
  throw wrongKind("ZP_INVALID_TENSOR", where, argument, "a number", value);
}

/** Nested numbers as a new array of values, with their shape. */
export function checkNested<T extends Float32Array | Float64Array>(
  where: string,
  argument: string,
  value: unknown,
  list: ArrayConstructor<T>,
): { data: T; shape: number[]; size: number } {
  const shape: number[] = [];
  // The first value of every level gives the shape; all others must agree. Kept, so that it is read only once.
  const firsts: unknown[] = [];
  for (let level = value; ; level = (level as ArrayLike<unknown>)[0]) {
    firsts.push(level);
    const name = arrayName(level);
    if (name !== undefined) checkNumberArray(where, argument, name, level, "ZP_INVALID_TENSOR");
    else if (!Array.isArray(level)) break;
    if (shape.length === MAX_RANK) {
      throw rangeError(
        "ZP_INVALID_SHAPE",
        where,
        `${argument} must be nested at most ${MAX_RANK} deep`,
      );
    }
    const length = lengthOf(level as ArrayLike<unknown>);
    checkListLength(where, argument, length);
    shape.push(length);
    if (length === 0 || name !== undefined) break;
  }
  const size = sizeOf(shape);
  if (size > MAX_COUNT) {
    throw rangeError(
      "ZP_SIZE_OVERFLOW",
      where,
      `${argument} must have fewer than 2^32 values, got shape ${showShape(shape)}`,
    );
  }
  const data = newArray(where, list, size);
  let next = 0;
  const fill = (level: unknown, path: string, axis: number, isFirst: boolean): void => {
    if (axis === shape.length) {
      data[next++] = checkNumber(where, path, level);
      return;
    }
    if (!isArray(level)) {
      throw rangeError(
        "ZP_INVALID_SHAPE",
        where,
        `${path} must be an array of length ${shape[axis]}, as its neighbours are, ` +
          `got ${show(level)}`,
      );
    }
    const list = level as ArrayLike<unknown>;
    // Read once: a getter may return another value the next time.
    const length = isFirst ? shape[axis] : lengthOf(list);
    if (length !== shape[axis]) {
      throw rangeError(
        "ZP_INVALID_SHAPE",
        where,
        `${path} must have length ${shape[axis]}, as its neighbours have, got ${show(length)}`,
      );
    }
    for (let i = 0; i < length; i++) {
      const isKept = isFirst && i === 0 && axis + 1 < firsts.length;
      const item = isKept ? firsts[axis + 1] : list[i];
      // The path is only needed in an error; building it for every value would dominate.
      if (axis + 1 === shape.length && typeof item === "number") data[next++] = item;
      else fill(item, `${path}[${i}]`, axis + 1, isKept);
    }
  };
  fill(value, argument, 0, true);
  return { data, shape, size };
}
