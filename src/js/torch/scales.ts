// Checks of scales and zero points in PyTorch's forms.

import { isIntegerWithin, wrongKind } from "../base/check.js";
import type { Limits } from "../base/dtype.js";
import { type ErrorCode, rangeError } from "../base/errors.js";
import { fieldsOf } from "../base/fields.js";
import { showShape } from "../base/format-value.js";
import { isHalf } from "../base/halves.js";
import {
  type ArrayConstructor,
  arrayName,
  checkNumberArray,
  copyOf,
  halvesOf,
  isArray,
  lengthOf,
  type NumberArray,
  newArray,
} from "../base/typed-arrays.js";
import { checkElement, readTensor, TensorFields } from "../tensor/check.js";
import { checkZeroPoint } from "../tensor/codes.js";
import { checkAxis } from "../tensor/granularity.js";
import { checkOwnShape, checkSize } from "../tensor/shape.js";

/** One scale and zero point for a tensor; the scale in double precision. */
export interface TensorQParams {
  readonly scale: number;
  readonly zeroPoint: number;
}

/** Qparams of every channel of an axis. */
export interface ChannelQParams {
  readonly axis: number;
  readonly scales: Float32Array | Float64Array;
  /** Floating zero points make the scheme per_channel_affine_float_qparams. */
  readonly zeroPoints: Int32Array | Float32Array;
}

/** The mapping from codes of a quantized dtype to values. */
export type TorchQParams = TensorQParams | ChannelQParams;

/** Whether qparams are per channel. */
export const areOfChannels = (qparams: TorchQParams): qparams is ChannelQParams =>
  Object.hasOwn(qparams, "axis");

/** The deepest nesting of a value, the same as of tensors. */
const DEEPEST = 64;

/** The value of a tensor of one value, in any form; undefined for anything else. */
function oneValue(value: unknown): number | undefined {
  let level = value;
  if (!isArray(level)) {
    if (typeof level !== "object" || level === null) return undefined;
    const { data, shape, dims } = fieldsOf(level);
    if ((shape ?? dims) === undefined) return undefined;
    level = data;
  }
  for (let depth = 0; depth < DEEPEST; depth++) {
    if (!isArray(level) || lengthOf(level) !== 1) return undefined;
    level = level[0];
    if (typeof level === "number") return level;
    if (typeof level === "bigint") return Number(level);
  }
  return undefined;
}

/** Checks one scale: a number, or a tensor of one value. PyTorch accepts every number. */
export function checkOneScale(where: string, argument: string, value: unknown): number {
  const scale = typeof value === "number" ? value : oneValue(value);
  if (scale !== undefined) return scale;
  throw wrongKind("ZP_INVALID_SCALE", where, argument, "a number or a tensor of one value", value);
}

/** Checks one zero point: an integer, or a tensor of one value, which is truncated as PyTorch does. */
export function checkOneZeroPoint(
  where: string,
  argument: string,
  value: unknown,
  limits: Limits,
  kind: string,
): number {
  const one = oneValue(value);
  const zeroPoint = typeof value === "number" ? value : one && Math.trunc(one);
  if (zeroPoint === undefined) {
    throw wrongKind(
      "ZP_INVALID_ZERO_POINT",
      where,
      argument,
      "an integer or a tensor of one value",
      value,
    );
  }
  return checkZeroPoint(where, argument, zeroPoint, limits, kind);
}

/**
 * Checks a one-dimensional list of numbers: a typed array, a plain array, or a tensor of either.
 * @param code  of the error for anything else
 */
function checkList(
  where: string,
  argument: string,
  value: unknown,
  code: ErrorCode,
): NumberArray | BigInt64Array | readonly number[] {
  const given = readTensor(value);
  const isTensor = given instanceof TensorFields;
  const data = isTensor ? given.data : value;
  const element = isTensor
    ? checkElement(where, argument, data, given.dtype, given.type)
    : undefined;
  const name = arrayName(data);
  if (name === undefined && !Array.isArray(data)) {
    throw wrongKind(code, where, argument, "a typed array, a list of numbers or a tensor", value);
  }
  if (isTensor) {
    const axes = checkOwnShape(where, argument, given.shape, given.dims);
    checkSize(where, argument, axes, lengthOf(data as ArrayLike<unknown>));
    if (axes.length !== 1) {
      throw rangeError(
        "ZP_SHAPE_MISMATCH",
        where,
        `${argument} must have one axis, got shape ${showShape(axes)}`,
      );
    }
  }
  if (name === "BigInt64Array") return data as BigInt64Array;
  if (name !== undefined) {
    const numbers = checkNumberArray(where, argument, name, data, code);
    return isHalf(element) ? copyOf(where, halvesOf(numbers, element), Float32Array) : numbers;
  }
  // A copy: a proxy may return different elements the next time.
  const { length } = data as unknown[];
  const list = Array.from({ length }, (_, i) => (data as unknown[])[i]);
  const wrong = list.findIndex((item) => typeof item !== "number");
  if (wrong === -1) return list as number[];
  throw wrongKind(code, where, `${argument}[${wrong}]`, "a number", list[wrong]);
}

/** Names of the arguments of per-channel qparams. */
interface ChannelArguments {
  readonly scales: string;
  readonly zeroPoints: string;
  readonly axis: string;
}

/**
 * Checks qparams of channels and copies them: scales to float32, or float64 if given as such; zero points
 * to int32, or to float32 if given in an array of floats.
 * @param kind       as in `checkZeroPoint`
 * @param areFloats  whether plain lists of zero points (arrays restored from JSON) count as floats
 */
export function checkChannels(
  where: string,
  names: ChannelArguments,
  scales: unknown,
  zeroPoints: unknown,
  axis: unknown,
  shape: readonly number[],
  limits: Limits,
  kind: string,
  areFloats = false,
): ChannelQParams {
  // PyTorch counts this axis from 0 only.
  const checkedAxis = checkAxis(where, names.axis, axis, shape, 0);
  const channels = shape[checkedAxis];
  const scaleList = checkList(where, names.scales, scales, "ZP_INVALID_SCALE");
  const scaleType = arrayName(scaleList);
  if (scaleType !== undefined && !scaleType.startsWith("Float")) {
    throw wrongKind(
      "ZP_INVALID_SCALE",
      where,
      `${names.scales}`,
      "floating: a Float32Array, a Float64Array or a list",
      scaleList,
    );
  }
  const zeroList = checkList(where, names.zeroPoints, zeroPoints, "ZP_INVALID_ZERO_POINT");
  for (const [name, list] of [
    [names.scales, scaleList],
    [names.zeroPoints, zeroList],
  ] as const) {
    const length = lengthOf(list);
    if (length === channels) continue;
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${name} must have length ${channels}, one for each index of axis ${checkedAxis} ` +
        `of shape ${showShape(shape)}, got ${length}`,
    );
  }
  const Scales: ArrayConstructor<Float64Array | Float32Array> =
    scaleType === "Float64Array" ? Float64Array : Float32Array;
  const scaleData = numbersIn(where, Scales, channels, scaleList);
  if (arrayName(zeroList)?.startsWith("Float") ?? areFloats) {
    const floating = numbersIn(where, Float32Array, channels, zeroList);
    return { axis: checkedAxis, scales: scaleData, zeroPoints: floating };
  }
  const integers = newArray(where, Int32Array, channels);
  for (let i = 0; i < channels; i++) {
    const zeroPoint = Number(zeroList[i]);
    if (!isIntegerWithin(zeroPoint, limits.qmin, limits.qmax)) {
      const name = `${names.zeroPoints}[${i}]`;
      checkZeroPoint(where, name, zeroPoint, limits, kind);
    }
    integers[i] = zeroPoint;
  }
  return { axis: checkedAxis, scales: scaleData, zeroPoints: integers };
}

/** A copy of numbers in a new array of the given type. */
function numbersIn<T extends Float32Array | Float64Array>(
  where: string,
  type: ArrayConstructor<T>,
  count: number,
  list: NumberArray | BigInt64Array | readonly number[],
): T {
  const numbers = newArray(where, type, count);
  for (let i = 0; i < count; i++) numbers[i] = Number(list[i]);
  return numbers;
}
