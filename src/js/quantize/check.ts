// Scales, zero points and quantized tensors as arguments: checks.

import { checkChoice, checkDType, isIntegerWithin, wrongKind, wrongNumber } from "../base/check.js";
import { type Codes, DTYPES, type DType } from "../base/dtype.js";
import { type ErrorCode, rangeError, typeError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import {
  arePositive,
  areWithin,
  arrayLength,
  arrayName,
  copyOf,
  isShared,
  subarrayOf,
} from "../base/typed-arrays.js";
import { checkNested, checkTensor, QuantizedFields, readQuantized } from "../tensor/check.js";
import { checkCodes, checkZeroPoint } from "../tensor/codes.js";
import {
  broadcasts,
  checkSlices,
  type Layout,
  laidOut,
  qparamsShape,
  type ShapedNumbers,
  type Slices,
  spread,
} from "../tensor/granularity.js";
import { checkOwnShape, checkSize, sizeOf } from "../tensor/shape.js";
import type { LaidOutQParams, Purpose, Rule, Scheme } from "./quantized-tensor.js";

/** Qparams that fit a tensor. */
export interface CheckedQParams extends LaidOutQParams {
  /** The first zero point that is not 0, or 0. */
  readonly nonzero: number;
  readonly hasOffsets: boolean;
}

/** Zero points, or offsets in their place. */
export interface Shift {
  readonly value: unknown;
  readonly hasOffsets: boolean;
}

/** The one of zero points and offsets that is given; both missing: zero points of undefined. */
export function checkShift(
  where: string,
  prefix: string,
  zeroPoint: unknown,
  offset: unknown,
): Shift {
  if (offset === undefined) return { value: zeroPoint, hasOffsets: false };
  if (zeroPoint === undefined) return { value: offset, hasOffsets: true };
  throw typeError(
    "ZP_CONFLICTING_OPTIONS",
    where,
    `${prefix}.offset takes the place of ${prefix}.zeroPoint, got both`,
  );
}

/**
 * Checks scale and zero point against a tensor's shape and granularity.
 * @param prefix    name of the object that holds them, for messages
 * @param shift     zero points, or offsets
 * @param isCopied  whether to copy tensors among them, for objects that outlive the call
 * @param rule      the course's takes scales that are finite and > 0, the other rules any number
 */
export function checkQParams(
  where: string,
  prefix: string,
  scale: unknown,
  shift: Shift,
  shape: readonly number[],
  slices: Slices,
  dtype: DType,
  isCopied: boolean,
  rule: Rule = "course",
): CheckedQParams {
  const isAny = rule !== "course";
  const { value: zeroPoint, hasOffsets } = shift;
  const perTensor = slices.granularity === "perTensor";
  const { qmin, qmax } = DTYPES[dtype];
  // Fast path for two valid numbers. Errors are found below.
  if (
    perTensor &&
    !hasOffsets &&
    typeof scale === "number" &&
    (isAny || isScale(scale)) &&
    isIntegerWithin(zeroPoint, qmin, qmax)
  ) {
    const nonzero = zeroPoint + 0; // -0 becomes 0
    return { scale, zeroPoint: nonzero, nonzero, hasOffsets, rule, ...laidOut(slices) };
  }
  const scales = numbersOf(
    where,
    `${prefix}.scale`,
    scale,
    "ZP_INVALID_SCALE",
    Float32Array,
    isCopied,
  );
  const scaleIndex =
    isAny || (scales.data instanceof Float32Array && arePositive(scales.data))
      ? -1
      : scales.data.findIndex((value) => !isScale(value));
  if (scaleIndex !== -1) {
    checkScale(where, nameOf(`${prefix}.scale`, scale, scaleIndex), scales.data[scaleIndex]);
  }
  if (hasOffsets) {
    return checkOffsets(where, prefix, scale, scales, zeroPoint, shape, slices, isCopied);
  }
  const zeros = numbersOf(
    where,
    `${prefix}.zeroPoint`,
    zeroPoint,
    "ZP_INVALID_ZERO_POINT",
    Int32Array,
    isCopied,
  );
  const isInteger = zeros.data instanceof Int32Array;
  const nonzero =
    isInteger && areWithin(zeros.data, 0, 0) ? 0 : (zeros.data.find((value) => value !== 0) ?? 0);
  const zeroIndex =
    isInteger && (nonzero === 0 || areWithin(zeros.data, qmin, qmax))
      ? -1
      : zeros.data.findIndex((value) => !isIntegerWithin(value, qmin, qmax));
  if (zeroIndex !== -1) {
    const name = nameOf(`${prefix}.zeroPoint`, zeroPoint, zeroIndex);
    checkZeroPoint(where, name, zeros.data[zeroIndex], DTYPES[dtype], `dtype ${dtype}`);
  }
  const target = perTensor
    ? commonShape(where, prefix, { scale: scales.shape, zeroPoint: zeros.shape }, shape)
    : qparamsShape(shape, slices);
  const scaleData = spread(where, `${prefix}.scale`, scales, target, slices, Float32Array);
  const zeroData = spread(where, `${prefix}.zeroPoint`, zeros, target, slices, Int32Array);
  const scaleTensor = { data: scaleData, shape: target };
  const zeroTensor = { data: zeroData, shape: [...target] };
  const layout = layoutFor(shape, slices, target);
  return { scale: scaleTensor, zeroPoint: zeroTensor, nonzero, hasOffsets, rule, ...layout };
}

/** The layout of qparams of shape `target`. */
const layoutFor = (shape: readonly number[], slices: Slices, target: readonly number[]): Layout =>
  slices.granularity !== "perTensor" || sizeOf(target) === 1
    ? laidOut(slices)
    : { viewShape: shape, viewQShape: target, viewGroup: 0, blocks: undefined };

/** Checks offsets beside checked scales. */
function checkOffsets(
  where: string,
  prefix: string,
  scale: unknown,
  scales: ShapedNumbers,
  offset: unknown,
  shape: readonly number[],
  slices: Slices,
  isCopied: boolean,
): CheckedQParams {
  const name = `${prefix}.offset`;
  const offsets = numbersOf(where, name, offset, "ZP_INVALID_OFFSET", Float32Array, isCopied);
  const index = offsets.data.findIndex((value) => !Number.isFinite(Math.fround(value)));
  if (index !== -1) {
    const own = nameOf(name, offset, index);
    const value = offsets.data[index];
    throw wrongNumber("ZP_INVALID_OFFSET", where, own, "finite, as float32 too", value);
  }
  const shared = { nonzero: 0, hasOffsets: true };
  const perTensor = slices.granularity === "perTensor";
  if (perTensor && typeof scale === "number" && typeof offset === "number") {
    return { scale, zeroPoint: Math.fround(offset), ...shared, ...laidOut(slices) };
  }
  const target = perTensor
    ? commonShape(where, prefix, { scale: scales.shape, offset: offsets.shape }, shape)
    : qparamsShape(shape, slices);
  return {
    scale: {
      data: spread(where, `${prefix}.scale`, scales, target, slices, Float32Array),
      shape: target,
    },
    zeroPoint: {
      data: spread(where, name, offsets, target, slices, Float32Array),
      shape: [...target],
    },
    ...shared,
    ...layoutFor(shape, slices, target),
  };
}

/** Whether a number, rounded to float32, is a valid scale: finite and > 0. */
function isScale(value: number): boolean {
  const rounded = Math.fround(value);
  return rounded > 0 && rounded < Infinity;
}

/** Checks one scale. @throws {TypeError|RangeError} `ZP_INVALID_SCALE` */
export function checkScale(where: string, argument: string, value: unknown): number {
  if (typeof value === "number" && isScale(value)) return value;
  throw wrongNumber("ZP_INVALID_SCALE", where, argument, "finite and > 0, as float32 too", value);
}

/** The name of a number in messages: the argument, or an element of it. */
function nameOf(argument: string, given: unknown, index: number): string {
  return typeof given === "number" ? argument : `${argument}[${index}]`;
}

/** A number, nested numbers or a tensor as an array; a view of the given array where no copy is needed. */
function numbersOf(
  where: string,
  argument: string,
  value: unknown,
  code: ErrorCode,
  Own: Float32ArrayConstructor | Int32ArrayConstructor,
  isCopied: boolean,
): ShapedNumbers {
  if (typeof value === "number") return { data: Float64Array.of(value), shape: [] };
  if (Array.isArray(value)) return checkNested(where, argument, value, Float64Array);
  if (typeof value !== "object" || value === null) {
    throw wrongKind(code, where, argument, "a number, a list of numbers or a tensor", value);
  }
  const { data: given, shape, size } = checkTensor(where, argument, value, Float64Array);
  const Type = arrayName(given) === Own.name ? Own : Float64Array;
  // A view of the intrinsic type: the given array may be of a subclass that overrides methods or length.
  if (!isCopied && Type === Own && !isShared(given)) {
    return { data: subarrayOf(given, 0, size) as Float32Array | Int32Array, shape };
  }
  const data = copyOf<Float32Array | Int32Array | Float64Array>(where, given, Type, size);
  return { data, shape };
}

/** The shape that scale and zero point, or offset, broadcast to. It must broadcast to the tensor's shape. */
function commonShape(
  where: string,
  prefix: string,
  shapes: Readonly<Record<string, readonly number[]>>,
  shape: readonly number[],
): number[] {
  const [scaleShape, zeroShape] = Object.values(shapes);
  // A single number fits every tensor, even nested in more axes than the tensor has.
  const isOne = (own: readonly number[]) => sizeOf(own) === 1;
  for (const [name, own] of Object.entries(shapes)) {
    if (isOne(own) || broadcasts(own, shape)) continue;
    throw rangeError(
      "ZP_SHAPE_MISMATCH",
      where,
      `${prefix}.${name} of shape ${showShape(own)} must broadcast against shape ` +
        showShape(shape),
    );
  }
  if (isOne(scaleShape) && !isOne(zeroShape)) return [...zeroShape];
  if (isOne(zeroShape) && !isOne(scaleShape)) return [...scaleShape];
  const [short, long] = [scaleShape, zeroShape].sort((a, b) => a.length - b.length);
  const lead = long.length - short.length;
  return long.map((length, axis) => (length === 1 && axis >= lead ? short[axis - lead] : length));
}

const SCHEMES = ["symmetric", "affine"] as const;

/** Checks a scheme against the dtype: symmetric needs a signed one. */
export function checkScheme(
  where: string,
  prefix: string,
  value: unknown,
  fallback: Scheme,
  dtype: DType,
): Scheme {
  const argument = `${prefix}.scheme`;
  if (value === "asymmetric") {
    throw rangeError(
      "ZP_INVALID_SCHEME",
      where,
      `${argument} must be "affine" for a zero point that is chosen, got "asymmetric"`,
    );
  }
  const scheme = checkChoice(where, argument, value, SCHEMES, fallback, "ZP_INVALID_SCHEME");
  if (scheme === "affine" || DTYPES[dtype].qmin < 0) return scheme;
  throw rangeError(
    "ZP_INVALID_SCHEME",
    where,
    `${argument} must be "affine" for dtype ${dtype}, which has no negative codes, got "symmetric"`,
  );
}

/** The scheme of given qparams: the option, or derived from the zero points. */
export function checkGivenScheme(
  where: string,
  prefix: string,
  scheme: unknown,
  { nonzero, hasOffsets }: CheckedQParams,
  dtype: DType,
): Scheme {
  const shown = nonzero === 0 && !hasOffsets && DTYPES[dtype].qmin < 0 ? "symmetric" : "affine";
  const said = checkScheme(where, prefix, scheme, shown, dtype);
  if (said === "symmetric" && hasOffsets) throw offsetScheme(where, prefix);
  if (said === "symmetric" && nonzero !== 0) {
    const argument = `${prefix}.zeroPoint`;
    const wanted = "0 for the symmetric scheme";
    throw wrongKind("ZP_INVALID_ZERO_POINT", where, argument, wanted, nonzero, rangeError);
  }
  return said;
}

/** The error for the symmetric scheme with an offset. */
export const offsetScheme = (where: string, prefix: string): Error =>
  typeError(
    "ZP_CONFLICTING_OPTIONS",
    where,
    `${prefix}.scheme must be "affine" with an offset, got "symmetric"`,
  );

/** A quantized tensor after its checks, without its codes. */
export interface CheckedMeta extends Purpose {
  readonly qparams: CheckedQParams;
  readonly shape: number[];
  readonly size: number;
}

/** A quantized tensor after its checks. */
export interface CheckedQuantized extends CheckedMeta {
  readonly codes: Codes;
}

/**
 * Checks everything about a quantized tensor but its codes.
 * @param isCopied      as in `checkQParams`
 * @param wanted        its description in messages
 * @param checkContent  compares codes or bytes with the shape. It is called before scales are spread over the shape:
 *   work and memory are bounded by data that exist.
 * @param rule          as in `checkQParams`
 */
export function checkQuantizedMeta(
  where: string,
  argument: string,
  value: unknown,
  isCopied: boolean,
  wanted = "a quantized tensor: { data,",
  checkContent?: (shape: readonly number[], dtype: DType, fields: QuantizedFields) => void,
  rule?: Rule,
): CheckedMeta {
  const given = readQuantized(value);
  if (!(given instanceof QuantizedFields)) {
    throw wrongKind(
      "ZP_INVALID_TENSOR",
      where,
      argument,
      `${wanted} shape, dtype, scale, zeroPoint }`,
      value,
    );
  }
  const { scheme, scale, zeroPoint, offset, axis, groupSize, blockShape } = given;
  const dtype = checkDType(where, `${argument}.dtype`, given.dtype);
  const shape = checkOwnShape(where, argument, given.shape, given.dims);
  const slices = checkSlices(where, argument, shape, axis, groupSize, blockShape);
  checkContent?.(shape, dtype, given);
  const shift = checkShift(where, argument, zeroPoint, offset);
  const qparams = checkQParams(where, argument, scale, shift, shape, slices, dtype, isCopied, rule);
  const checkedScheme = checkGivenScheme(where, argument, scheme, qparams, dtype);
  return { qparams, shape, size: sizeOf(shape), dtype, scheme: checkedScheme, slices };
}

/**
 * Checks everything about a quantized tensor.
 * @param isCopied, rule  as in `checkQParams`
 */
export function checkQuantized(
  where: string,
  argument: string,
  value: unknown,
  isCopied: boolean,
  rule?: Rule,
): CheckedQuantized {
  let codes: Codes | undefined;
  const checkContent = (shape: readonly number[], dtype: DType, { data }: QuantizedFields) => {
    codes = checkCodes(where, `${argument}.data`, data, dtype);
    checkSize(where, argument, shape, arrayLength(codes));
  };
  const meta = checkQuantizedMeta(where, argument, value, isCopied, undefined, checkContent, rule);
  const checked = codes as unknown as Codes;
  // Reading scales may run a user's code, which may resize the array.
  checkSize(where, argument, meta.shape, arrayLength(checked));
  return { ...meta, codes: checked };
}
