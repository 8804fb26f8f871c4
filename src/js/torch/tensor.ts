// A tensor of PyTorch's quantized dtypes: codes, shape and qparams, printed as PyTorch prints it.

import { checkQDType, isQDType, wrongKind } from "../base/check.js";
import { type CodesByQDType, DTYPES, type QDType } from "../base/dtype.js";
import { rangeError } from "../base/errors.js";
import { fieldsOf } from "../base/fields.js";
import { INSPECT, show } from "../base/format-value.js";
import { explainReceivers } from "../base/receivers.js";
import { arrayLength, isArray } from "../base/typed-arrays.js";
import { QuantizedFields, readQuantized, type TensorInput } from "../tensor/check.js";
import { checkCodes } from "../tensor/codes.js";
import { formatShape, formatTensor, formatWithSuffixes } from "../tensor/print.js";
import { floatRepr } from "../tensor/python-repr.js";
import { aroundAxis, checkOwnShape, checkSize, sizeOf } from "../tensor/shape.js";
import {
  areOfChannels,
  type ChannelQParams,
  checkChannels,
  checkOneScale,
  checkOneZeroPoint,
  type TensorQParams,
  type TorchQParams,
} from "./scales.js";

/** The mapping from codes of a `TorchQuantizedTensor` to values, by PyTorch's names. */
export type TensorQScheme =
  | "per_tensor_affine"
  | "per_channel_affine"
  | "per_channel_affine_float_qparams";

/** Scales of channels: float32, or float64 if given as float64. */
export interface ChannelScales {
  /** Units per step of each channel. */
  readonly data: Float32Array | Float64Array;
  /** [1, …, n, …, 1], with the n channels at the tensor's `axis`. */
  readonly shape: readonly number[];
}

/** Zero points of channels: int32, or float32 in per_channel_affine_float_qparams. */
export interface ChannelZeroPoints {
  /** The code of 0 in each channel. */
  readonly data: Int32Array | Float32Array;
  /** The shape of the scales. */
  readonly shape: readonly number[];
}

/**
 * A tensor of one of PyTorch's quantized dtypes: integer values, shape and qparams, as `dequantize`
 * needs them. Plain data: a copy by `structuredClone` has the same fields and is accepted everywhere,
 * but prints as a plain object. Made by `quantizePerTensor`, `quantizePerChannel` and
 * `quantizePerTensorDynamic`.
 */
export class TorchQuantizedTensor<
  D extends QDType = QDType,
  G extends "perTensor" | "perChannel" = "perTensor" | "perChannel",
> {
  /** The codes in row-major order: PyTorch's `int_repr()`. */
  declare readonly data: CodesByQDType[D];
  /** The length of each axis, outermost first. */
  declare readonly shape: readonly number[];
  /** `"qint8"`, `"quint8"` or `"qint32"`. */
  declare readonly dtype: D;
  /** PyTorch's quantized tensors are all affine: symmetric ones have a zero point of 0 or 128. */
  declare readonly scheme: "affine";
  /** The mapping from codes to values, by PyTorch's name. */
  declare readonly qscheme: TensorQScheme;
  /** Units per step; per tensor in double precision, `q_scale()` in PyTorch. */
  declare readonly scale: G extends "perTensor" ? number : ChannelScales;
  /** The code that stands for 0. */
  declare readonly zeroPoint: G extends "perTensor" ? number : ChannelZeroPoints;
  /** Per channel: the axis, counted from 0. */
  declare readonly axis: G extends "perChannel" ? number : undefined;

  static {
    explainReceivers(TorchQuantizedTensor, "TorchQuantizedTensor", (object) =>
      Object.hasOwn(object, "data"),
    );
  }

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
   * The tensor as PyTorch prints it: its dequantized values, then size, dtype and qparams.
   * @example
   * String(quantizePerTensor(tensor([0.5]), 0.25, 0, "qint8"))
   * // "tensor([0.5000], size=(1,), dtype=torch.qint8,
   * //        quantization_scheme=torch.per_tensor_affine, scale=0.25, zero_point=0)"
   */
  toString(): string {
    try {
      return formatQuantized(checkQTensor("TorchQuantizedTensor", "this", this));
    } catch (error) {
      // The memory was transferred, or a field was overwritten.
      return `tensor(<${(error as Error).message}>)`;
    }
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/** A tensor of a quantized dtype as an argument: `scheme` and `qscheme` may be missing. */
export interface TorchQuantizedTensorInput<D extends QDType = QDType> {
  /** The codes in row-major order. */
  readonly data: CodesByQDType[D];
  /** The length of each axis. */
  readonly shape: ArrayLike<number>;
  /** `"qint8"`, `"quint8"` or `"qint32"`. */
  readonly dtype: D;
  /** Units per step: a number, or a tensor with one for each channel. */
  readonly scale: number | TensorInput;
  /** The code of 0, in the form of the scale. */
  readonly zeroPoint: number | TensorInput;
  /** All of PyTorch's are affine. */
  readonly scheme?: "affine" | undefined;
  /** By PyTorch's name. Default: derived from the form of the scale. */
  readonly qscheme?: TensorQScheme | undefined;
  /** Per channel: the axis of the channels. */
  readonly axis?: number | undefined;
}

/** A tensor of a quantized dtype after its checks. */
interface CheckedQTensor {
  readonly codes: Int8Array | Uint8Array | Int32Array;
  readonly shape: number[];
  readonly size: number;
  readonly dtype: QDType;
  readonly qparams: TorchQParams;
}

/**
 * Whether a value is intended as a tensor of a quantized dtype, even if its fields are invalid.
 * @param value  result of `readQuantized`
 */
export function looksTorchQuantized(value: unknown): boolean {
  return value instanceof QuantizedFields && isQDType(value.dtype);
}

/** Checks everything about a tensor of a quantized dtype. */
export function checkQTensor(where: string, argument: string, value: unknown): CheckedQTensor {
  const given = readQuantized(value);
  if (!(given instanceof QuantizedFields)) {
    throw wrongKind(
      "ZP_INVALID_TENSOR",
      where,
      argument,
      "a tensor of dtype qint8, quint8 or qint32, as quantizePerTensor makes it",
      value,
    );
  }
  const { data, scale, zeroPoint, axis, qscheme } = given;
  const dtype = checkQDType(where, `${argument}.dtype`, given.dtype);
  const shape = checkOwnShape(where, argument, given.shape, given.dims);
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

/** A tensor of per-channel qparams, of shape [1, …, n, …, 1] or [n], as a list. */
function listOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || isArray(value)) return value;
  return fieldsOf(value).data ?? value;
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

/** PyTorch's name for the scheme of qparams. */
function qschemeOf(qparams: TorchQParams): TensorQScheme {
  if (!areOfChannels(qparams)) return "per_tensor_affine";
  return qparams.zeroPoints instanceof Float32Array
    ? "per_channel_affine_float_qparams"
    : "per_channel_affine";
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

function formatQuantized({ codes, shape, dtype, qparams }: CheckedQTensor): string {
  const suffixes = [
    `size=${formatShape(shape)}`,
    `dtype=torch.${dtype}`,
    `quantization_scheme=torch.${qschemeOf(qparams)}`,
  ];
  if (areOfChannels(qparams)) {
    const { scales, zeroPoints, axis } = qparams;
    const count = [scales.length];
    const floating = zeroPoints instanceof Float32Array;
    // PyTorch stores integer zero points as int64, and their scales as float64.
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

/** The values of codes, computed one at a time. */
function valuesOf(
  codes: CheckedQTensor["codes"],
  shape: readonly number[],
  qparams: TorchQParams,
): (at: number) => number {
  if (!areOfChannels(qparams)) {
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
