// Scale and zero point: given or chosen, and what makes a tensor of codes a quantized tensor.

import {
  arePositive,
  areWithin,
  arrayLength,
  arrayName,
  type NumberArray,
  newArray,
  subarrayOf,
} from "./arrays.js";
import {
  checkBoolean,
  checkChoice,
  checkCodes,
  checkDType,
  checkNested,
  checkOptions,
  checkOwnShape,
  checkSize,
  checkTensor,
  checkZeroPoint,
  isIntegerWithin,
  looksQuantized,
  sizeOf,
  type TensorInput,
  wrongKind,
  wrongNumber,
} from "./check.js";
import { type Codes, DTYPES, type DType } from "./dtype.js";
import { runChoose } from "./elementwise.js";
import { type ErrorCode, rangeError, typeError } from "./errors.js";
import {
  broadcasts,
  checkSlices,
  type Granularity,
  type Layout,
  laidOut,
  qparamsShape,
  type ShapedNumbers,
  type Slices,
  spread,
} from "./granularity.js";
import { activeCore } from "./init.js";
import { showShape } from "./show.js";
import type { NestedNumbers } from "./tensor.js";

// ---------------------------------------------------------------------------------------------
// Types.

/** `symmetric`: zero point 0. `affine`: a zero point chosen so that real 0 is exact. */
export type Scheme = "symmetric" | "affine";

/** Scales of channels or groups: float32, of a shape that broadcasts against the tensor's. */
export interface ScaleTensor {
  /** Units per step; finite and > 0. */
  readonly data: Float32Array;
  /** Broadcastable against the tensor they belong to. */
  readonly shape: readonly number[];
}

/** Zero points of channels or groups, of the same shape as the scales. */
export interface ZeroPointTensor {
  /** The codes that stand for 0. */
  readonly data: Int32Array;
  /** That of the scales. */
  readonly shape: readonly number[];
}

/** The fields of qparams, of which each granularity has its own. */
export interface QParamsFields<D extends DType, G extends Granularity> {
  /** Units per step; finite and > 0. */
  readonly scale: G extends "perTensor" ? number : ScaleTensor;
  /** The code that stands for 0. */
  readonly zeroPoint: G extends "perTensor" ? number : ZeroPointTensor;
  /** The dtype of the codes. */
  readonly dtype: D;
  /** How the zero point was chosen. */
  readonly scheme: Scheme;
  /** Per channel: the axis, counted from 0. */
  readonly axis?: G extends "perChannel" ? number : undefined;
  /** Per group: how many consecutive values of the last axis share a scale. */
  readonly groupSize?: G extends "perGroup" ? number : undefined;
}

/**
 * Scale and zero point with what they were made for: all that `quantize` needs. Plain data.
 *
 * Per tensor, `scale` and `zeroPoint` are numbers, the scale in double precision. Per channel they
 * are tensors of shape [1, …, n, …, 1], with the n channels at `axis`; per group of shape
 * [rows × groups, 1]. Scales that were given as a tensor without an axis keep their shape. Where it is not
 * known before which of these there are, the scale tells:
 *
 * @example const scalesOf = (q: QParams) => (typeof q.scale === "number" ? [q.scale] : q.scale.data);
 */
export type QParams<D extends DType = DType, G extends Granularity = Granularity> = QParamsFields<
  D,
  G
> &
  (G extends "perChannel"
    ? { readonly axis: number }
    : G extends "perGroup"
      ? { readonly groupSize: number }
      : unknown);

/** How qparams print: dtype=int8, axis=0. */
export function qparamsText({ dtype, axis, groupSize }: QParams): string {
  const granularity =
    groupSize !== undefined
      ? `, group_size=${groupSize}`
      : axis !== undefined
        ? `, axis=${axis}`
        : "";
  return `dtype=${dtype}${granularity}`;
}

/** What `quantize` takes beside the tensor, of any dtype and granularity. */
export type AnyQuantizeOptions = QuantizeOptions<
  DType,
  number | undefined,
  number | undefined,
  QParamInput | undefined,
  QParamInput | undefined
>;

/** Integer values, their shape and their qparams: all that `dequantize` needs. Plain data. */
export type QuantizedTensor<D extends DType = DType, G extends Granularity = Granularity> = QParams<
  D,
  G
> & {
  /** The codes in row-major order; sub-byte codes take one element each. */
  readonly data: Codes<D>;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
};

/** Scales or zero points as they may be given: one number, or numbers that broadcast. */
export type QParamInput = NestedNumbers | TensorInput;

/** A quantized tensor as it may be given: `scheme` may be missing, numbers in any form. */
export interface QuantizedTensorInput<D extends DType = DType> {
  /** The codes in row-major order; sub-byte codes take one element each. */
  readonly data: Codes<D>;
  /** How many values each axis has. */
  readonly shape: ArrayLike<number>;
  /** The dtype of the codes. */
  readonly dtype: D;
  /** Units per step: a number, or a tensor broadcastable against `shape`. */
  readonly scale: QParamInput;
  /** The code that stands for 0, in the form of the scale. */
  readonly zeroPoint: QParamInput;
  /** Default: what the zero points show. */
  readonly scheme?: Scheme | undefined;
  /** Per channel: the axis of the channels. */
  readonly axis?: number | undefined;
  /** Per group: how many consecutive values of the last axis share a scale. */
  readonly groupSize?: number | undefined;
}

/** How qparams are chosen. */
export interface ChooseQParamsOptions<
  D extends DType = DType,
  Axis extends number | undefined = number | undefined,
  Size extends number | undefined = number | undefined,
> {
  /** Default: `"int8"`. */
  dtype?: D | undefined;
  /** Default: `"symmetric"`, which takes a signed dtype. */
  scheme?: Scheme | undefined;
  /** One scale per index of this axis; negative counts from the end. Not with `groupSize`. */
  axis?: Axis;
  /** One scale per so many consecutive values of the last axis, which it must divide. */
  groupSize?: Size;
  /** Affine: widen the range to contain 0, so that 0 is exact. Default: true. */
  includeZero?: boolean | undefined;
  /** What to do with NaN and infinities when choosing: refuse them (the default), or skip them. */
  nonFinite?: "throw" | "ignore" | undefined;
}

/** How a tensor is quantized: with given qparams, or with qparams chosen for it. */
export interface QuantizeOptions<
  D extends DType = DType,
  Axis extends number | undefined = number | undefined,
  Size extends number | undefined = number | undefined,
  Scale extends QParamInput | undefined = QParamInput | undefined,
  Zero extends QParamInput | undefined = QParamInput | undefined,
> extends ChooseQParamsOptions<D, Axis, Size> {
  /**
   * Units per step, instead of choosing; finite and > 0, in float32 too. One number, or numbers whose
   * shape broadcasts against the tensor's; with `axis` also a list of n, with `groupSize` one of
   * rows × groups.
   */
  scale?: Scale;
  /** The code that stands for 0, in the forms of `scale`; an integer the dtype holds. Default: 0. */
  zeroPoint?: Zero;
}

/**
 * A type that is inferred from arguments alone. Without it, the D of `chooseQParams(x)` as an argument
 * of `quantize` would be inferred from what `quantize` takes, which is every dtype.
 */
export type FromArguments<T> = [T][T extends unknown ? 0 : never];

/**
 * What options need where their dtype is not the default. Without it, `QuantizeOptions<"int4">`, which may
 * leave the dtype out, would be said to give int4.
 */
export type NeedsDType<D> = "int8" extends D ? unknown : { readonly dtype: D };

/** The granularity that options ask for. */
export type GranularityOf<Axis, Size, Scale = undefined, Zero = undefined> = Axis extends number
  ? "perChannel"
  : Size extends number
    ? "perGroup"
    : Scale extends number | undefined
      ? Zero extends number | undefined
        ? "perTensor"
        : "broadcast"
      : "broadcast";

// ---------------------------------------------------------------------------------------------
// Given qparams.

/** Qparams as chosen or given. */
export interface ScaleAndZeroPoint {
  readonly scale: number | ScaleTensor;
  readonly zeroPoint: number | ZeroPointTensor;
}

/** Qparams with the shapes that the core needs to know. */
export interface LaidOutQParams extends ScaleAndZeroPoint, Layout {}

/** Qparams that fit a tensor. */
export interface CheckedQParams extends LaidOutQParams {
  /** The first zero point that is not 0, or 0. */
  readonly nonzero: number;
}

/** Scales or zero points as a list, be it one or many. */
export const listed = <A>(given: number | { readonly data: A }): A | [number] =>
  typeof given === "number" ? [given] : given.data;

/** The arrays that a result must not be written over while they are read. */
export function arraysOf(qparams: Partial<ScaleAndZeroPoint> | undefined): NumberArray[] {
  const { scale = 0, zeroPoint = 0 } = qparams ?? {};
  return typeof scale === "number" || typeof zeroPoint === "number"
    ? []
    : [scale.data, zeroPoint.data];
}

/**
 * Checks scale and zero point against a tensor's shape and granularity.
 * @param prefix    how messages name the object they were given in
 * @param isCopied  whether tensors among them are to be copied: for what outlives the call
 */
function checkQParams(
  where: string,
  prefix: string,
  scale: unknown,
  zeroPoint: unknown,
  shape: readonly number[],
  slices: Slices,
  dtype: DType,
  isCopied: boolean,
): CheckedQParams {
  const perTensor = slices.granularity === "perTensor";
  const { qmin, qmax } = DTYPES[dtype];
  // What is wrong with two numbers is found below.
  if (
    perTensor &&
    typeof scale === "number" &&
    isScale(scale) &&
    isIntegerWithin(zeroPoint, qmin, qmax)
  ) {
    const nonzero = zeroPoint + 0; // -0 becomes 0
    return { scale, zeroPoint: nonzero, nonzero, ...laidOut(slices) };
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
    scales.data instanceof Float32Array && arePositive(scales.data)
      ? -1
      : scales.data.findIndex((value) => !isScale(value));
  if (scaleIndex !== -1) {
    checkScale(where, nameOf(`${prefix}.scale`, scale, scaleIndex), scales.data[scaleIndex]);
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
    ? commonShape(where, prefix, scales.shape, zeros.shape, shape)
    : qparamsShape(shape, slices);
  const scaleData = spread(where, `${prefix}.scale`, scales, target, slices, Float32Array);
  const zeroData = spread(where, `${prefix}.zeroPoint`, zeros, target, slices, Int32Array);
  const scaleTensor = { data: scaleData, shape: target };
  const zeroTensor = { data: zeroData, shape: [...target] };
  const layout =
    !perTensor || scaleData.length === 1
      ? laidOut(slices)
      : { viewShape: shape, viewQShape: target };
  return { scale: scaleTensor, zeroPoint: zeroTensor, nonzero, ...layout };
}

/** Whether float32 can hold a number as a scale. */
function isScale(value: number): boolean {
  const rounded = Math.fround(value);
  return rounded > 0 && rounded < Infinity;
}

/** One scale. @throws {TypeError|RangeError} `ZP_INVALID_SCALE` */
export function checkScale(where: string, argument: string, value: unknown): number {
  if (typeof value === "number" && isScale(value)) return value;
  throw wrongNumber("ZP_INVALID_SCALE", where, argument, "finite and > 0, as float32 too", value);
}

/** How a message names one of several numbers. */
function nameOf(argument: string, given: unknown, index: number): string {
  return typeof given === "number" ? argument : `${argument}[${index}]`;
}

/** A number, nested numbers or a tensor, read where it lies unless it is to be copied or converted. */
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
  // A plain view, since what is given may be of a class with methods and a length of its own.
  if (!isCopied && Type === Own) {
    return { data: subarrayOf(given, 0, size) as Float32Array | Int32Array, shape };
  }
  const data = newArray<Float32Array | Int32Array | Float64Array>(where, Type, size);
  data.set(given);
  return { data, shape };
}

/** The shape that scale and zero point broadcast to, which must broadcast to the tensor's own. */
function commonShape(
  where: string,
  prefix: string,
  scaleShape: readonly number[],
  zeroShape: readonly number[],
  shape: readonly number[],
): number[] {
  // One number fits every tensor, however many axes it is wrapped in.
  const isOne = (own: readonly number[]) => sizeOf(own) === 1;
  for (const [name, own] of Object.entries({ scale: scaleShape, zeroPoint: zeroShape })) {
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

/** A scheme that a dtype can have. */
function checkScheme(
  where: string,
  prefix: string,
  value: unknown,
  fallback: Scheme,
  dtype: DType,
): Scheme {
  const argument = `${prefix}.scheme`;
  const scheme = checkChoice(where, argument, value, SCHEMES, fallback, "ZP_INVALID_SCHEME");
  if (scheme === "affine" || DTYPES[dtype].qmin < 0) return scheme;
  throw rangeError(
    "ZP_INVALID_SCHEME",
    where,
    `${argument} must be "affine" for dtype ${dtype}, which has no negative codes, got "symmetric"`,
  );
}

/** The scheme of given qparams: as said, else what the zero points show. */
function checkGivenScheme(
  where: string,
  prefix: string,
  scheme: unknown,
  { nonzero }: CheckedQParams,
  dtype: DType,
): Scheme {
  const shown = nonzero === 0 && DTYPES[dtype].qmin < 0 ? "symmetric" : "affine";
  const said = checkScheme(where, prefix, scheme, shown, dtype);
  if (said === "symmetric" && nonzero !== 0) {
    const argument = `${prefix}.zeroPoint`;
    const wanted = "0 for the symmetric scheme";
    throw wrongKind("ZP_INVALID_ZERO_POINT", where, argument, wanted, nonzero, rangeError);
  }
  return said;
}

/** What qparams are for. */
interface Purpose {
  readonly dtype: DType;
  readonly scheme: Scheme;
  readonly slices: Slices;
}

/** Adds what qparams are for, where it is not the whole tensor: fields that do not apply are left out. */
function withSlices<T extends object>(result: T, { axis, groupSize }: Slices): T {
  const fields: { axis?: number; groupSize?: number } = result;
  if (axis !== undefined) fields.axis = axis;
  else if (groupSize !== undefined) fields.groupSize = groupSize;
  return result;
}

/** Qparams as results have them. */
export function qparamsResult(
  { scale, zeroPoint }: ScaleAndZeroPoint,
  { dtype, scheme, slices }: Purpose,
): QParams {
  return withSlices({ dtype, scheme, scale, zeroPoint }, slices) as QParams;
}

/**
 * A quantized tensor as a result. Spelled out, since spreading an object takes longer than quantizing a
 * small tensor.
 */
export function quantizedResult(
  data: Codes,
  shape: readonly number[],
  { scale, zeroPoint }: ScaleAndZeroPoint,
  { dtype, scheme, slices }: Purpose,
): QuantizedTensor {
  const result = { data, shape, dtype, scheme, scale, zeroPoint };
  return withSlices(result, slices) as QuantizedTensor;
}

/** A quantized tensor after its checks, its codes aside. */
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
 * @param isCopied  as `checkQParams` takes it
 * @param wanted    what messages call it
 */
export function checkQuantizedMeta(
  where: string,
  argument: string,
  value: unknown,
  isCopied: boolean,
  wanted = "a quantized tensor: { data,",
): CheckedMeta {
  if (!looksQuantized(value)) {
    throw wrongKind(
      "ZP_INVALID_TENSOR",
      where,
      argument,
      `${wanted} shape, dtype, scale, zeroPoint }`,
      value,
    );
  }
  const { dtype: givenDType, scheme, scale, zeroPoint, axis, groupSize } = value;
  const dtype = checkDType(where, `${argument}.dtype`, givenDType);
  const shape = checkOwnShape(where, argument, value.shape, value.dims);
  const slices = checkSlices(where, argument, shape, axis, groupSize);
  const qparams = checkQParams(where, argument, scale, zeroPoint, shape, slices, dtype, isCopied);
  const checkedScheme = checkGivenScheme(where, argument, scheme, qparams, dtype);
  return { qparams, shape, size: sizeOf(shape), dtype, scheme: checkedScheme, slices };
}

/**
 * Checks everything about a quantized tensor.
 * @param isCopied  as `checkQParams` takes it
 */
export function checkQuantized(
  where: string,
  argument: string,
  value: unknown,
  isCopied: boolean,
): CheckedQuantized {
  const meta = checkQuantizedMeta(where, argument, value, isCopied);
  const { qparams, shape, size, dtype, scheme, slices } = meta;
  const { data } = value as { data?: unknown };
  const codes = checkCodes(where, `${argument}.data`, data, dtype);
  checkSize(where, argument, shape, arrayLength(codes));
  return { qparams, shape, size, dtype, scheme, slices, codes };
}

// ---------------------------------------------------------------------------------------------
// Options of quantize and its kin.

/** What `quantize`, `fakeQuantize` and `chooseQParams` are to do, after all checks. */
export interface CheckedOptions extends Purpose {
  readonly includeZero: boolean;
  readonly nonFinite: "throw" | "ignore";
  /** Undefined if they are to be chosen. */
  readonly given: CheckedQParams | undefined;
}

/** The options that `chooseQParams` takes. */
export const CHOOSE_OPTIONS = [
  "dtype",
  "scheme",
  "axis",
  "groupSize",
  "includeZero",
  "nonFinite",
] as const;

/** The options that say how to quantize. */
export const QUANTIZE_OPTIONS = [...CHOOSE_OPTIONS, "scale", "zeroPoint"] as const;

/**
 * Checks options against the tensor that they are for.
 * @param isCopied  as `checkQParams` takes it
 */
export function checkQuantizeOptions(
  where: string,
  options: Record<string, unknown>,
  shape: readonly number[],
  isCopied: boolean,
): CheckedOptions {
  const { scheme: givenScheme, axis, groupSize, scale, zeroPoint } = options;
  const dtype = checkDType(where, "options.dtype", options.dtype, "int8");
  const includeZero = checkBoolean(where, "options.includeZero", options.includeZero, true);
  const nonFinite = checkChoice(
    where,
    "options.nonFinite",
    options.nonFinite,
    ["throw", "ignore"] as const,
    "throw",
  );
  const slices = checkSlices(where, "options", shape, axis, groupSize);
  if (scale === undefined && zeroPoint !== undefined) {
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      "options.zeroPoint needs options.scale beside it, got zeroPoint alone",
    );
  }
  const zero = zeroPoint === undefined ? 0 : zeroPoint;
  const given =
    scale === undefined
      ? undefined
      : checkQParams(where, "options", scale, zero, shape, slices, dtype, isCopied);
  const scheme =
    given === undefined
      ? checkScheme(where, "options", givenScheme, "symmetric", dtype)
      : checkGivenScheme(where, "options", givenScheme, given, dtype);
  return { dtype, scheme, slices, includeZero, nonFinite, given };
}

// ---------------------------------------------------------------------------------------------
// The public function.

/**
 * Chooses a scale and a zero point that fit a tensor's values, in double precision:
 *
 *     symmetric   scale = max|x| / qmax              zeroPoint = 0
 *     affine      scale = (max - min) / (qmax - qmin)
 *                 zeroPoint = clamp(round_half_even(qmin - min / scale), qmin, qmax)
 *
 * An all-zero slice gets scale 1; a range of zero width is widened to contain 0; a scale below the
 * smallest normal float32 is raised to it. Per channel and per group, scales are rounded to float32.
 *
 * Source: get_q_scale_symmetric and get_q_scale_and_zero_point of the course notebooks. PyTorch's
 * symmetric observers divide by 127.5 instead.
 *
 * @param x  float32, any shape; other numbers are rounded to float32
 * @param options.dtype        default: `"int8"`
 * @param options.scheme       default: `"symmetric"`, which takes a signed dtype
 * @param options.axis         one scale per index of this axis; negative counts from the end
 * @param options.groupSize    one scale per so many consecutive values of the last axis
 * @param options.includeZero  affine: widen the range to contain 0; default: true. false gives the
 *   notebooks' range, whose zero point is clamped where 0 lies far outside
 * @param options.nonFinite    `"throw"` (default) refuses NaN and infinities; `"ignore"` skips them
 * @returns scale and zero point with all that `quantize` needs to use them
 * @throws {RangeError} `ZP_NON_FINITE`, `ZP_EMPTY`, `ZP_INVALID_AXIS`, `ZP_INVALID_GROUP_SIZE`,
 *   `ZP_INVALID_SCHEME` for symmetric with an unsigned dtype, `ZP_OUT_OF_MEMORY`
 * @throws {TypeError} `ZP_INVALID_TENSOR`, `ZP_CONFLICTING_OPTIONS` for both axis and groupSize
 * @example chooseQParams(tensor([0, 63.75]), { dtype: "uint8", scheme: "affine" }).scale // 0.25
 */
export function chooseQParams<
  D extends DType = "int8",
  Axis extends number | undefined = undefined,
  Size extends number | undefined = undefined,
>(
  x: TensorInput,
  // D is inferred. Were it alone, editors would offer its default and no other dtype.
  options?: ChooseQParamsOptions<D | DType, Axis, Size> & NeedsDType<D>,
): QParams<FromArguments<D>, GranularityOf<Axis, Size>> {
  const where = "chooseQParams";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const known = checkOptions(where, options, CHOOSE_OPTIONS);
  const checked = checkQuantizeOptions(where, known, checkedX.shape, false);
  const chosen = runChoose(core, where, "x", checkedX, checked);
  const result: QParams = qparamsResult(chosen, checked);
  return result as QParams<FromArguments<D>, GranularityOf<Axis, Size>>;
}
