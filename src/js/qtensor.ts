// A tensor of PyTorch's quantized dtypes: codes, shape and qparams, printed as PyTorch prints it.

import {
  arrayLength,
  arrayName,
  checkNumberArray,
  isArray,
  lengthOf,
  type NumberArray,
  newArray,
} from "./arrays.js";
import {
  aroundAxis,
  checkCodes,
  checkOwnShape,
  checkQDType,
  checkSize,
  checkZeroPoint,
  isIntegerWithin,
  isQDType,
  looksQuantized,
  sizeOf,
  type TensorInput,
  wrongKind,
} from "./check.js";
import { type CodesByQDType, DTYPES, type Limits, type QDType } from "./dtype.js";
import { type ErrorCode, rangeError } from "./errors.js";
import { checkAxis } from "./granularity.js";
import { formatShape, formatTensor, formatWithSuffixes } from "./print.js";
import { floatRepr } from "./python-repr.js";
import { INSPECT, show, showShape } from "./show.js";

/** How the codes of a `TorchQuantizedTensor` stand for values, by PyTorch's names. */
export type TensorQScheme =
  | "per_tensor_affine"
  | "per_channel_affine"
  | "per_channel_affine_float_qparams";

/** Integers in row-major order plus a shape, printed as PyTorch prints them. Plain data. */
export class IntegerTensor<
  Data extends Int8Array | Uint8Array | Int32Array = Int8Array | Uint8Array | Int32Array,
> {
  /** The values, the last axis varying fastest. */
  declare readonly data: Data;
  /** The length of each axis, outermost first. */
  declare readonly shape: readonly number[];
  /** The dtype that PyTorch's tensor has; int64 values are kept as int32. */
  declare readonly dtype: "int8" | "uint8" | "int32" | "int64";

  /** @internal */
  constructor(data: Data, shape: readonly number[], dtype: IntegerTensor["dtype"]) {
    this.data = data;
    this.shape = shape;
    this.dtype = dtype;
  }

  /**
   * The tensor as PyTorch prints it.
   * @example
   * const q = quantizePerTensor(tensor([5.8, 8.6]), 0.1, 0, "qint8");
   * String(intRepr(q)) // "tensor([58, 86], dtype=torch.int8)"
   */
  toString(): string {
    return formatTensor(this);
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/** Scales of channels: float32, or float64 if they were given so. */
export interface ChannelScales {
  /** Units per step of each channel. */
  readonly data: Float32Array | Float64Array;
  /** [1, …, n, …, 1], with the n channels at the tensor's `axis`. */
  readonly shape: readonly number[];
}

/** Zero points of channels: int32, or float32 in per_channel_affine_float_qparams. */
export interface ChannelZeroPoints {
  /** What stands for 0 in each channel. */
  readonly data: Int32Array | Float32Array;
  /** That of the scales. */
  readonly shape: readonly number[];
}

/**
 * A tensor of one of PyTorch's quantized dtypes: integer values, shape and qparams, all that
 * `dequantize` needs. Plain data: a copy by `structuredClone` has the same fields and serves as well,
 * but prints as any object does. Made by `quantizePerTensor` and its kin.
 */
export class TorchQuantizedTensor<
  D extends QDType = QDType,
  G extends "perTensor" | "perChannel" = "perTensor" | "perChannel",
> {
  /** The codes in row-major order, what `int_repr()` gives in PyTorch. */
  declare readonly data: CodesByQDType[D];
  /** The length of each axis, outermost first. */
  declare readonly shape: readonly number[];
  /** `"qint8"`, `"quint8"` or `"qint32"`. */
  declare readonly dtype: D;
  /** PyTorch's quantized tensors are all affine: symmetric ones have a zero point of 0 or 128. */
  declare readonly scheme: "affine";
  /** How the codes stand for values, by PyTorch's name. */
  declare readonly qscheme: TensorQScheme;
  /** Units per step; per tensor in double precision, `q_scale()` in PyTorch. */
  declare readonly scale: G extends "perTensor" ? number : ChannelScales;
  /** The code that stands for 0. */
  declare readonly zeroPoint: G extends "perTensor" ? number : ChannelZeroPoints;
  /** Per channel: the axis, counted from 0. */
  declare readonly axis: G extends "perChannel" ? number : undefined;

  /** @internal */
  constructor(
    data: CodesByQDType[D],
    shape: readonly number[],
    dtype: D,
    qscheme: TensorQScheme,
    scale: number | ChannelScales,
    zeroPoint: number | ChannelZeroPoints,
    axis?: number,
  ) {
    this.data = data;
    this.shape = shape;
    this.dtype = dtype;
    this.scheme = "affine";
    this.qscheme = qscheme;
    this.scale = scale as typeof this.scale;
    this.zeroPoint = zeroPoint as typeof this.zeroPoint;
    if (axis !== undefined) this.axis = axis as NonNullable<typeof this.axis>;
  }

  /**
   * The tensor as PyTorch prints it: its dequantized values, then everything else.
   * @example
   * String(quantizePerTensor(tensor([0.5]), 0.25, 0, "qint8"))
   * // "tensor([0.5000], size=(1,), dtype=torch.qint8,
   * //        quantization_scheme=torch.per_tensor_affine, scale=0.25, zero_point=0)"
   */
  toString(): string {
    try {
      return formatQuantized(checkQTensor("TorchQuantizedTensor", "this", this));
    } catch (error) {
      // Memory was transferred, or a field is another's.
      return `tensor(<${(error as Error).message}>)`;
    }
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/** A tensor of a quantized dtype as it may be given: `scheme` and `qscheme` may be missing. */
export interface TorchQuantizedTensorInput<D extends QDType = QDType> {
  /** The codes in row-major order. */
  readonly data: CodesByQDType[D];
  /** How many values each axis has. */
  readonly shape: ArrayLike<number>;
  /** `"qint8"`, `"quint8"` or `"qint32"`. */
  readonly dtype: D;
  /** Units per step: a number, or a tensor with one for each channel. */
  readonly scale: number | TensorInput;
  /** What stands for 0, in the form of the scale. */
  readonly zeroPoint: number | TensorInput;
  /** All of PyTorch's are affine. */
  readonly scheme?: "affine" | undefined;
  /** By PyTorch's name. Default: what the scale's form says. */
  readonly qscheme?: TensorQScheme | undefined;
  /** Per channel: the axis of the channels. */
  readonly axis?: number | undefined;
}

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

/** How the codes of a quantized dtype stand for values. */
export type TorchQParams = TensorQParams | ChannelQParams;

/** A tensor of a quantized dtype after its checks. */
export interface CheckedQTensor {
  readonly codes: Int8Array | Uint8Array | Int32Array;
  readonly shape: number[];
  readonly size: number;
  readonly dtype: QDType;
  readonly qparams: TorchQParams;
}

/** Whether a value is meant as a tensor of a quantized dtype, right or wrong in its details. */
export function looksTorchQuantized(value: unknown): boolean {
  return looksQuantized(value) && isQDType(value.dtype);
}

/** Checks everything about a tensor of a quantized dtype. */
export function checkQTensor(where: string, argument: string, value: unknown): CheckedQTensor {
  if (!looksQuantized(value)) {
    throw wrongKind(
      "ZP_INVALID_TENSOR",
      where,
      argument,
      "a tensor of dtype qint8, quint8 or qint32, as quantizePerTensor makes it",
      value,
    );
  }
  const { data, scale, zeroPoint, axis, qscheme } = value;
  const dtype = checkQDType(where, `${argument}.dtype`, value.dtype);
  const shape = checkOwnShape(where, argument, value.shape, value.dims);
  const codes = checkCodes(where, `${argument}.data`, data, dtype);
  checkSize(where, argument, shape, arrayLength(codes));
  const names = {
    scales: `${argument}.scale`,
    zeroPoints: `${argument}.zeroPoint`,
    axis: `${argument}.axis`,
  };
  const limits = DTYPES[dtype];
  const kind = `dtype ${dtype}`;
  const qparams =
    axis === undefined
      ? {
          scale: checkOneScale(where, names.scales, scale),
          zeroPoint: checkOneZeroPoint(where, names.zeroPoints, zeroPoint, limits, kind),
        }
      : checkChannels(
          where,
          names,
          listOf(scale),
          listOf(zeroPoint),
          axis,
          shape,
          limits,
          kind,
          show(qscheme).includes("float"),
        );
  checkSameScheme(where, argument, qscheme, qschemeOf(qparams));
  return { codes, shape, size: sizeOf(shape), dtype, qparams };
}

/** A tensor of channels' qparams as a list: its shape has been [1, …, n, …, 1] or [n]. */
function listOf(value: unknown): unknown {
  const data = (value as { data?: unknown } | null | undefined)?.data;
  return arrayName(value) === undefined && data !== undefined ? data : value;
}

function checkSameScheme(
  where: string,
  argument: string,
  given: unknown,
  actual: TensorQScheme,
): void {
  if (given === undefined || given === actual) return;
  throw rangeError(
    "ZP_INVALID_QSCHEME",
    where,
    `${argument}.qscheme must be "${actual}" for such qparams, got ${show(given)}`,
  );
}

/** PyTorch's name for how qparams are laid out. */
function qschemeOf(qparams: TorchQParams): TensorQScheme {
  if (!("axis" in qparams)) return "per_tensor_affine";
  return qparams.zeroPoints instanceof Float32Array
    ? "per_channel_affine_float_qparams"
    : "per_channel_affine";
}

/** How deep a value may be nested: as deep as a tensor may. */
const DEEPEST = 64;

/** The value of a tensor of one value, in any form; undefined for anything else. */
function oneValue(value: unknown): number | undefined {
  let level = value;
  if (!isArray(level)) {
    if (typeof level !== "object" || level === null) return undefined;
    const { data, shape, dims } = level as Record<string, unknown>;
    if ((shape ?? dims) === undefined) return undefined;
    level = data;
  }
  for (let depth = 0; depth < DEEPEST; depth++) {
    if (!isArray(level) || level.length !== 1) return undefined;
    level = level[0];
    if (typeof level === "number") return level;
    if (typeof level === "bigint") return Number(level);
  }
  return undefined;
}

/** One scale, as a number or as a tensor of one value. PyTorch takes every number. */
export function checkOneScale(where: string, argument: string, value: unknown): number {
  const scale = typeof value === "number" ? value : oneValue(value);
  if (scale !== undefined) return scale;
  throw wrongKind("ZP_INVALID_SCALE", where, argument, "a number or a tensor of one value", value);
}

/** One zero point: an integer, or a tensor of one value, which is truncated, as `.item()` is. */
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
 * A list of numbers of one axis: a typed array, a plain array, or a tensor of either.
 * @param code  of the error for anything else
 */
function checkList(
  where: string,
  argument: string,
  value: unknown,
  code: ErrorCode,
): NumberArray | BigInt64Array | readonly number[] {
  const isTensor = typeof value === "object" && value !== null && "data" in value;
  const { data, shape, dims } = (isTensor ? value : { data: value }) as Record<string, unknown>;
  const name = arrayName(data);
  if (name === undefined && !Array.isArray(data)) {
    throw wrongKind(code, where, argument, "a typed array, a list of numbers or a tensor", value);
  }
  if (isTensor) {
    const axes = checkOwnShape(where, argument, shape, dims);
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
  if (name !== undefined) return checkNumberArray(where, argument, name, data, code);
  // Copied, since a proxy may say something else the next time.
  const list = [...(data as unknown[])];
  const wrong = list.findIndex((item) => typeof item !== "number");
  if (wrong === -1) return list as number[];
  throw wrongKind(code, where, `${argument}[${wrong}]`, "a number", list[wrong]);
}

/** Names of the arguments that per-channel qparams come in. */
export interface ChannelArguments {
  readonly scales: string;
  readonly zeroPoints: string;
  readonly axis: string;
}

/**
 * Checks qparams of channels and copies them: scales to float32, or float64 if given so; zero points
 * to int32, or to float32 if they come in an array of floats.
 * @param kind       as `checkZeroPoint` takes it
 * @param areFloats  whether plain lists of zero points, as JSON makes them of arrays, are of floats
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
  const Scales = scaleType === "Float64Array" ? Float64Array : Float32Array;
  const scaleData = newArray<Float64Array | Float32Array>(where, Scales, channels);
  scaleData.set(scaleList as ArrayLike<number>);
  if (arrayName(zeroList)?.startsWith("Float") ?? areFloats) {
    const floating = newArray(where, Float32Array, channels);
    floating.set(zeroList as ArrayLike<number>);
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

/** A tensor of a quantized dtype with one scale and zero point, as a result. */
export function perTensorTensor<D extends QDType>(
  data: CodesByQDType[D],
  shape: readonly number[],
  dtype: D,
  { scale, zeroPoint }: TensorQParams,
): TorchQuantizedTensor<D, "perTensor"> {
  const qscheme = "per_tensor_affine";
  return new TorchQuantizedTensor<D, "perTensor">(data, shape, dtype, qscheme, scale, zeroPoint);
}

/** A tensor of a quantized dtype with qparams per channel, as a result. */
export function perChannelTensor<D extends QDType>(
  data: CodesByQDType[D],
  shape: readonly number[],
  dtype: D,
  qparams: ChannelQParams,
): TorchQuantizedTensor<D, "perChannel"> {
  const { axis, scales, zeroPoints } = qparams;
  const own = shape.map((length, index) => (index === axis ? length : 1));
  return new TorchQuantizedTensor<D, "perChannel">(
    data,
    shape,
    dtype,
    qschemeOf(qparams),
    { data: scales, shape: own },
    { data: zeroPoints, shape: [...own] },
    axis,
  );
}

// ---------------------------------------------------------------------------------------------
// Printing. Values are computed here, not on the core, so that a tensor prints without one.

function formatQuantized({ codes, shape, dtype, qparams }: CheckedQTensor): string {
  const suffixes = [
    `size=${formatShape(shape)}`,
    `dtype=torch.${dtype}`,
    `quantization_scheme=torch.${qschemeOf(qparams)}`,
  ];
  if ("axis" in qparams) {
    const { scales, zeroPoints, axis } = qparams;
    const count = [scales.length];
    const floating = zeroPoints instanceof Float32Array;
    // PyTorch keeps integer zero points as int64 and the scales beside them as float64.
    const [scaleType, zeroType] = floating ? ["float32", "float32"] : ["float64", "int64"];
    suffixes.push(
      `scale=${formatTensor({ data: scales, shape: count, dtype: scaleType })}`,
      `zero_point=${formatTensor({ data: zeroPoints, shape: count, dtype: zeroType })}`,
      `axis=${axis}`,
    );
  } else {
    suffixes.push(`scale=${floatRepr(qparams.scale)}`, `zero_point=${qparams.zeroPoint}`);
  }
  const valueAt = valuesOf(codes, shape, qparams);
  return formatWithSuffixes({ data: codes, shape, dtype: "float32", valueAt }, suffixes);
}

/** What codes stand for, one at a time. */
function valuesOf(
  codes: CheckedQTensor["codes"],
  shape: readonly number[],
  qparams: TorchQParams,
): (at: number) => number {
  if (!("axis" in qparams)) {
    const scale = Math.fround(qparams.scale);
    const { zeroPoint } = qparams;
    return (at) => Math.fround(scale * Math.fround((codes[at] - zeroPoint) | 0));
  }
  const { scales, zeroPoints, axis } = qparams;
  const [, , inner] = aroundAxis(shape, axis);
  const floating = zeroPoints instanceof Float32Array;
  return (at) => {
    const channel = Math.floor(at / inner) % scales.length;
    const steps = Math.fround(Math.fround(codes[at]) - Math.fround(zeroPoints[channel]));
    return Math.fround(steps * (floating ? Math.fround(scales[channel]) : scales[channel]));
  };
}
