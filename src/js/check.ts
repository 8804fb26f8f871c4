// Argument checks: every message names the argument, what it takes and what it got.

import {
  type ArrayConstructor,
  arrayLength,
  arrayName,
  checkNumberArray,
  findMisfit,
  isArray,
  lengthOf,
  type NumberArray,
  newArray,
  overlap,
} from "./arrays.js";
import {
  type CodesOf,
  DTYPES,
  type DType,
  type Limits,
  QDTYPE_NAMES,
  type QDType,
} from "./dtype.js";
import { editDistance } from "./edit-distance.js";
import { type ErrorCode, rangeError, typeError, type ZeropointError } from "./errors.js";
import { kindOf, show, showShape } from "./show.js";

/** Axes a tensor may have, as in PyTorch and in the core. */
const MAX_RANK = 64;
/** The largest length of an axis, and the most elements, that the core counts in 32 bits. */
const MAX_COUNT = 2 ** 32 - 1;

/** What the library takes as a tensor of numbers. */
export type TensorInput =
  | {
      /** Values in row-major order; anything but `Float32Array` is rounded to float32. */
      readonly data: ArrayLike<number>;
      /** The length of each axis, outermost first. */
      readonly shape: ArrayLike<number>;
      readonly scale?: never;
    }
  | {
      readonly data: ArrayLike<number>;
      /** The shape under its other name, as in ONNX Runtime's tensors. */
      readonly dims: ArrayLike<number>;
      readonly scale?: never;
    }
  | NumberArray;

/** A tensor after its checks: a private shape, and data that is safe to copy. */
export interface CheckedTensor {
  readonly data: NumberArray;
  readonly shape: number[];
  readonly size: number;
}

/** How many elements a shape has. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (const length of shape) {
    if (length === 0) return 0;
    size *= length;
  }
  return size;
}

/** Whether two shapes are the same. */
export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((length, axis) => length === b[axis]);
}

/** How many elements lie outside an axis, along it and inside of it. */
export function aroundAxis(
  shape: readonly number[],
  axis: number,
): [outer: number, length: number, inner: number] {
  return [sizeOf(shape.slice(0, axis)), shape[axis], sizeOf(shape.slice(axis + 1))];
}

/** Copies a shape. @throws {TypeError|RangeError} if it is not a list of lengths */
export function checkShape(where: string, argument: string, value: unknown): number[] {
  const name = arrayName(value);
  if (!Array.isArray(value) && (name === undefined || name.startsWith("Big"))) {
    throw wrongKind("ZP_INVALID_SHAPE", where, argument, "an array of lengths", value);
  }
  const given = value as ArrayLike<unknown>;
  const rank = lengthOf(given);
  if (!Number.isInteger(rank) || rank < 0 || rank > MAX_RANK) {
    throw rangeError(
      "ZP_INVALID_SHAPE",
      where,
      `${argument} must have at most ${MAX_RANK} axes, got ${show(rank)}`,
    );
  }
  const shape = new Array<number>(rank);
  for (let axis = 0; axis < rank; axis++) {
    const length = given[axis];
    if (!isIntegerWithin(length, 0, Infinity)) {
      const name = `${argument}[${axis}]`;
      throw wrongNumber("ZP_INVALID_SHAPE", where, name, "an integer >= 0", length);
    }
    if (length > MAX_COUNT) {
      throw rangeError(
        "ZP_SIZE_OVERFLOW",
        where,
        `${argument}[${axis}] must be less than 2^32, got ${length}`,
      );
    }
    shape[axis] = length + 0; // -0 becomes 0
  }
  return shape;
}

/** Copies the shape that something has under either of its names. */
export function checkOwnShape(
  where: string,
  argument: string,
  shape: unknown,
  dims: unknown,
): number[] {
  return shape === undefined && dims !== undefined
    ? checkShape(where, `${argument}.dims`, dims)
    : checkShape(where, `${argument}.shape`, shape);
}

/**
 * Checks that a shape and data belong together.
 * @param hint  what the message ends with
 */
export function checkSize(
  where: string,
  argument: string,
  shape: readonly number[],
  length: number,
  hint = "",
): void {
  const size = sizeOf(shape);
  if (size !== length) {
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${argument} of shape ${showShape(shape)} must have ${size} values, got ${length}${hint}`,
    );
  }
  if (size > MAX_COUNT) {
    throw rangeError(
      "ZP_SIZE_OVERFLOW",
      where,
      `${argument} must have fewer than 2^32 values, got ${size}`,
    );
  }
}

/** Whether a value is meant as a quantized tensor, right or wrong in its details. */
export function looksQuantized(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    arrayName(value) === undefined &&
    "dtype" in value &&
    "scale" in value
  );
}

const TENSOR_FORMS = "a tensor: { data, shape }, { data, dims } or a typed array";

/** What an array of numbers is copied to. */
type ListArray = typeof Float32Array | typeof Float64Array;

/**
 * Checks a tensor of numbers. A bare typed array is a tensor of one axis.
 * @param list  what data that is a plain array is copied to
 */
export function checkTensor(
  where: string,
  argument: string,
  value: unknown,
  list: ListArray = Float32Array,
): CheckedTensor {
  const name = arrayName(value);
  if (name !== undefined) {
    const data = checkNumberArray(where, argument, name, value, "ZP_INVALID_TENSOR");
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
  const { data: given, shape: givenShape, dims } = value as Record<string, unknown>;
  if (given === undefined || (givenShape === undefined && dims === undefined)) {
    throw wrongKind("ZP_INVALID_TENSOR", where, argument, TENSOR_FORMS, value);
  }
  const shape = checkOwnShape(where, argument, givenShape, dims);
  const data = checkData(where, `${argument}.data`, given, list);
  const size = arrayLength(data);
  checkSize(where, argument, shape, size);
  return { data, shape, size };
}

/** Data of a tensor: a typed array as it is, a plain array copied. */
function checkData(where: string, argument: string, value: unknown, list: ListArray): NumberArray {
  const name = arrayName(value);
  if (name !== undefined) {
    return checkNumberArray(where, argument, name, value, "ZP_INVALID_TENSOR");
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

/** A proxy of an array may say anything. */
function checkListLength(where: string, argument: string, length: unknown): void {
  if (typeof length === "number" && Number.isInteger(length) && length >= 0) return;
  throw wrongKind("ZP_INVALID_TENSOR", where, `${argument}.length`, "an integer >= 0", length);
}

function checkNumber(where: string, argument: string, value: unknown): number {
  if (typeof value === "number") return value;
  throw wrongKind("ZP_INVALID_TENSOR", where, argument, "a number", value);
}

/** Numbers, nested as deep as they like, as values in a new array and their shape. */
export function checkNested<T extends Float32Array | Float64Array>(
  where: string,
  argument: string,
  value: unknown,
  list: ArrayConstructor<T>,
): { data: T; shape: number[]; size: number } {
  const shape: number[] = [];
  // The first value of every level gives the shape; all others must agree.
  for (let level = value; ; level = (level as ArrayLike<unknown>)[0]) {
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
  const fill = (level: unknown, path: string, axis: number): void => {
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
    // Read once: a getter may say something else the next time.
    const length = lengthOf(list);
    if (length !== shape[axis]) {
      throw rangeError(
        "ZP_INVALID_SHAPE",
        where,
        `${path} must have length ${shape[axis]}, as its neighbours have, got ${show(length)}`,
      );
    }
    for (let i = 0; i < length; i++) {
      const item = list[i];
      // The path is only needed in an error; building it for every value would dominate.
      if (axis + 1 === shape.length && typeof item === "number") data[next++] = item;
      else fill(item, `${path}[${i}]`, axis + 1);
    }
  };
  fill(value, argument, 0);
  return { data, shape, size };
}

// ---------------------------------------------------------------------------------------------
// Options.

/** Whether a value is an object literal, of this realm or another. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * An object, and none of the engine's own: a Promise, a Map or an AbortSignal among them has no keys that
 * would tell that it holds no options.
 * @throws {TypeError} `ZP_INVALID_OPTIONS`
 */
export function checkObject(where: string, argument: string, value: unknown): object {
  if (kindOf(value) === "Object") return value as object;
  throw wrongKind("ZP_INVALID_OPTIONS", where, argument, "an object", value);
}

/** An options object whose every key is known. */
export function checkOptions(
  where: string,
  value: unknown,
  known: readonly string[],
  argument = "options",
): Record<string, unknown> {
  if (value === undefined) return {};
  const options = checkObject(where, argument, value);
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw unknownOption(where, argument, key, known);
  }
  return options as Record<string, unknown>;
}

function unknownOption(
  where: string,
  argument: string,
  key: string,
  known: readonly string[],
): ZeropointError {
  const near = nearest(key, known);
  const hint =
    near === undefined ? `it takes ${known.join(", ") || "none"}` : `did you mean ${near}?`;
  return typeError("ZP_UNKNOWN_OPTION", where, `${argument} has no ${show(key)}; ${hint}`);
}

/** The known key that a key is most likely a slip of: spelled otherwise, or two letters off. */
function nearest(key: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, "");
  let best: string | undefined;
  let bestDistance = 3;
  for (const candidate of known) {
    const distance = editDistance(plain(key).slice(0, 32), plain(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** One of a list of names; `undefined` means the default, if there is one. */
export function checkChoice<T extends string>(
  where: string,
  argument: string,
  value: unknown,
  choices: readonly T[],
  fallback: T | undefined,
  code: ErrorCode = "ZP_INVALID_OPTION",
): T {
  if (value === undefined && fallback !== undefined) return fallback;
  if (typeof value === "string" && (choices as readonly string[]).includes(value)) {
    return value as T;
  }
  const error = typeof value === "string" ? rangeError : typeError;
  const list = choices.map((choice) => `"${choice}"`);
  const last = list.pop();
  const names = list.length === 0 ? `${last}` : `${list.join(", ")} or ${last}`;
  throw wrongKind(code, where, argument, names, value, error);
}

/** true or false; `undefined` means the default. */
export function checkBoolean(
  where: string,
  argument: string,
  value: unknown,
  fallback: boolean,
): boolean {
  if (value === undefined) return fallback;
  if (typeof value === "boolean") return value;
  throw wrongKind("ZP_INVALID_OPTION", where, argument, "true or false", value);
}

/** A finite number; `undefined` means the default. */
export function checkFinite(
  where: string,
  argument: string,
  value: unknown,
  fallback: number,
): number {
  if (value === undefined) return fallback;
  if (Number.isFinite(value)) return value as number;
  throw wrongNumber("ZP_INVALID_OPTION", where, argument, "a finite number", value);
}

/** An integer of a range; `undefined` means the default. */
export function checkInteger(
  where: string,
  argument: string,
  value: unknown,
  fallback: number,
  low: number,
  high: number,
): number {
  if (value === undefined) return fallback;
  if (isIntegerWithin(value, low, high)) return value;
  const wanted = `an integer from ${low} to ${high}`;
  throw wrongNumber("ZP_INVALID_OPTION", where, argument, wanted, value);
}

/** What is said of a wrong kind of value. */
export function wrongKind(
  code: ErrorCode,
  where: string,
  argument: string,
  wanted: string,
  got: unknown,
  error = typeError,
): ZeropointError {
  return error(code, where, `${argument} must be ${wanted}, got ${show(got)}`);
}

/** What is said of a wrong number, and of what is none: that is of a wrong kind. */
export function wrongNumber(
  code: ErrorCode,
  where: string,
  argument: string,
  wanted: string,
  got: unknown,
): ZeropointError {
  const error = typeof got === "number" ? rangeError : typeError;
  return wrongKind(code, where, argument, wanted, got, error);
}

/** Whether a number is an integer of a range. */
export function isIntegerWithin(value: unknown, low: number, high: number): value is number {
  return Number.isInteger(value) && (value as number) >= low && (value as number) <= high;
}

/** The smallest or the largest code of a range. */
export function checkQuantLimit(where: string, argument: string, value: unknown): number {
  const { qmin, qmax } = DTYPES.int32;
  if (isIntegerWithin(value, qmin, qmax)) return value;
  const wanted = "an integer that int32 holds";
  throw wrongNumber("ZP_INVALID_QUANT_RANGE", where, argument, wanted, value);
}

/**
 * One zero point.
 * @param kind  what it is for, as "dtype int8"
 * @throws {TypeError|RangeError} `ZP_INVALID_ZERO_POINT`
 */
export function checkZeroPoint(
  where: string,
  argument: string,
  value: unknown,
  { qmin, qmax }: Limits,
  kind: string,
): number {
  if (isIntegerWithin(value, qmin, qmax)) return value + 0; // -0 becomes 0
  const wanted = `an integer from ${qmin} to ${qmax} for ${kind}`;
  throw wrongNumber("ZP_INVALID_ZERO_POINT", where, argument, wanted, value);
}

const DTYPE_NAMES = /* @__PURE__ */ (Object.keys(DTYPES) as DType[]).filter(
  (name) => !isQDType(name),
);

/** Whether a value is the name of one of PyTorch's quantized dtypes. */
export function isQDType(value: unknown): value is QDType {
  return (QDTYPE_NAMES as readonly unknown[]).includes(value);
}

/** The name of a quantized dtype. */
export function checkQDType(where: string, argument: string, value: unknown): QDType {
  return checkChoice(where, argument, value, QDTYPE_NAMES, undefined, "ZP_INVALID_DTYPE");
}

/** The name of a dtype; `undefined` means the default, if there is one. */
export function checkDType(
  where: string,
  argument: string,
  value: unknown,
  fallback?: DType,
): DType {
  return checkChoice(where, argument, value, DTYPE_NAMES, fallback, "ZP_INVALID_DTYPE");
}

// ---------------------------------------------------------------------------------------------
// Arrays of codes, and arrays to write to.

/** Codes of a dtype: the right array, its memory there, sub-byte codes in range. */
export function checkCodes<D extends DType | QDType>(
  where: string,
  argument: string,
  value: unknown,
  dtype: D,
): CodesOf<D> {
  const { arrayName: wanted, bits, qmin, qmax } = DTYPES[dtype];
  const name = arrayName(value);
  if (name !== wanted) {
    throw wrongKind(
      "ZP_INVALID_CODES",
      where,
      argument,
      `of type ${wanted} for dtype ${dtype}`,
      value,
    );
  }
  const codes = checkNumberArray(where, argument, name, value, "ZP_INVALID_CODES") as CodesOf<D>;
  const misfit = bits < 8 ? findMisfit(codes as Int8Array | Uint8Array, dtype) : -1;
  if (misfit !== -1) {
    throw rangeError(
      "ZP_INVALID_CODES",
      where,
      `${argument}[${misfit}] must be from ${qmin} to ${qmax} for dtype ${dtype}, ` +
        `got ${codes[misfit]}`,
    );
  }
  return codes;
}

/**
 * An array to write a result to: of the result's type and length, and apart from all inputs.
 * @param inputs  the arrays the result is computed from
 */
export function checkOut(
  where: string,
  argument: string,
  value: unknown,
  wanted: string,
  size: number,
  inputs: readonly (NumberArray | undefined)[],
): NumberArray {
  const name = arrayName(value);
  if (name !== wanted) {
    throw wrongKind("ZP_INVALID_OUT", where, argument, `of type ${wanted}`, value);
  }
  const out = checkNumberArray(where, argument, name, value, "ZP_INVALID_OUT");
  if (arrayLength(out) !== size) {
    throw rangeError(
      "ZP_INVALID_OUT",
      where,
      `${argument} must have length ${size}, got ${arrayLength(out)}`,
    );
  }
  for (const input of inputs) {
    if (input !== undefined && overlap(out, input)) {
      throw rangeError("ZP_INVALID_OUT", where, `${argument} must not share memory with an input`);
    }
  }
  return value as NumberArray;
}
