// Quantized tensors and their qparams: types, checks, results.

import { type Codes, DTYPES, type DType } from "../base/dtype.js";
import { fieldsOf } from "../base/fields.js";
import { showShape } from "../base/format-value.js";
import { copyLike, type NumberArray } from "../base/typed-arrays.js";
import type { TensorInput } from "../tensor/check.js";
import type { Granularity, Layout, Slices } from "../tensor/granularity.js";
import type { NestedNumbers } from "../tensor/tensor.js";

/** `symmetric`: zero point 0. `affine`: a zero point chosen so that real 0 is exact, or a real offset. */
export type Scheme = "symmetric" | "affine";

/** Scales of channels or groups: float32. */
export interface ScaleTensor {
  /** Units per step; finite and > 0. */
  readonly data: Float32Array;
  /** Broadcasts against the shape of the quantized tensor. */
  readonly shape: readonly number[];
}

/** Zero points of channels or groups, of the same shape as the scales. */
export interface ZeroPointTensor {
  /** The codes of 0. */
  readonly data: Int32Array;
  /** The shape of the scales. */
  readonly shape: readonly number[];
}

/** Offsets of channels or groups: float32, of the same shape as the scales. */
export interface OffsetTensor {
  /** The values that the code 0 stands for; finite. */
  readonly data: Float32Array;
  /** The shape of the scales. */
  readonly shape: readonly number[];
}

/** The fields of all qparams, for each granularity. */
interface ScaleFields<D extends DType, G extends Granularity> {
  /** Units per step; finite and > 0. */
  readonly scale: G extends "perTensor" ? number : ScaleTensor;
  /** The dtype of the codes. */
  readonly dtype: D;
  /** How the zero point was chosen. */
  readonly scheme: Scheme;
  /** Per channel: the axis, counted from 0. */
  readonly axis?: G extends "perChannel" ? number : undefined;
  /** Per group: the number of consecutive values of the last axis that share a scale. */
  readonly groupSize?: G extends "perGroup" ? number : undefined;
  /** Per block: the number of values of a block on each axis. */
  readonly blockShape?: G extends "perBlock" ? readonly number[] : undefined;
}

/** The fields of qparams with zero points, for each granularity. */
export interface QParamsFields<D extends DType, G extends Granularity> extends ScaleFields<D, G> {
  /** The code that stands for 0. */
  readonly zeroPoint: G extends "perTensor" ? number : ZeroPointTensor;
  /** Offsets take the place of zero points. */
  readonly offset?: undefined;
}

/** The fields of qparams with real offsets, for each granularity. */
export interface OffsetQParamsFields<D extends DType, G extends Granularity>
  extends ScaleFields<D, G> {
  /** The value that the code 0 stands for: x ≈ scale · code + offset. A float32. */
  readonly offset: G extends "perTensor" ? number : OffsetTensor;
  /** Offsets take the place of zero points. */
  readonly zeroPoint?: undefined;
}

/** The field of the granularity that is there. */
type OwnSlices<G extends Granularity> = G extends "perChannel"
  ? { readonly axis: number }
  : G extends "perGroup"
    ? { readonly groupSize: number }
    : G extends "perBlock"
      ? { readonly blockShape: readonly number[] }
      : unknown;

/**
 * Scale and zero point with dtype, scheme and granularity, as `quantize` needs them. Plain data.
 *
 * Per tensor, `scale` and `zeroPoint` are numbers, the scale in double precision. Per channel they
 * are tensors of shape [1, …, n, …, 1], with the n channels at `axis`; per group of shape
 * [rows × groups, 1], where a row is one of the last axis and has ceil(length / groupSize) groups; per block of the number of
 * blocks on each axis. Scales that were given as a tensor without an axis keep their shape. The type of
 * `scale` distinguishes the granularities at run time:
 *
 * @example const scalesOf = (q: QParams) => (typeof q.scale === "number" ? [q.scale] : q.scale.data);
 */
export type QParams<D extends DType = DType, G extends Granularity = Granularity> = QParamsFields<
  D,
  G
> &
  OwnSlices<G>;

/**
 * Scale and real offset with dtype, scheme and granularity, as `zeroPoint: "float"` gives them: the same as
 * `QParams`, with `offset` in the place and form of `zeroPoint`.
 */
export type OffsetQParams<
  D extends DType = DType,
  G extends Granularity = Granularity,
> = OffsetQParamsFields<D, G> & OwnSlices<G>;

/** Qparams with zero points or offsets. */
export type AnyQParams<D extends DType = DType, G extends Granularity = Granularity> =
  | QParams<D, G>
  | OffsetQParams<D, G>;

/** Qparams as text: dtype=int8, axis=0. */
export function qparamsText(qparams: AnyQParams): string {
  const { dtype, axis, groupSize, blockShape, offset } = fieldsOf(qparams);
  const granularity =
    groupSize !== undefined
      ? `, group_size=${groupSize}`
      : blockShape !== undefined
        ? `, block_shape=${showShape(blockShape as number[])}`
        : axis !== undefined
          ? `, axis=${axis}`
          : "";
  return `dtype=${dtype}${granularity}${offset === undefined ? "" : ", zero_point=float"}`;
}

/** Codes and their shape. */
interface CodesFields<D extends DType> {
  /** The codes in row-major order; sub-byte codes take one element each. */
  readonly data: Codes<D>;
  /** The length of each axis, outermost first. */
  readonly shape: readonly number[];
}

/** Integer values, their shape and their qparams, as `dequantize` needs them. Plain data. */
export type QuantizedTensor<D extends DType = DType, G extends Granularity = Granularity> = QParams<
  D,
  G
> &
  CodesFields<D>;

/** A quantized tensor with real offsets instead of zero points. Plain data. */
export type OffsetQuantizedTensor<
  D extends DType = DType,
  G extends Granularity = Granularity,
> = OffsetQParams<D, G> & CodesFields<D>;

/** A quantized tensor with zero points or offsets. */
export type AnyQuantizedTensor<D extends DType = DType, G extends Granularity = Granularity> =
  | QuantizedTensor<D, G>
  | OffsetQuantizedTensor<D, G>;

/** Qparams with zero points, or with offsets for `zeroPoint: "float"`. */
export type QParamsOf<D extends DType, G extends Granularity, Zero> = Zero extends "float"
  ? OffsetQParams<D, G>
  : QParams<D, G>;

/** A quantized tensor with zero points, or with offsets for `zeroPoint: "float"`. */
export type QuantizedTensorOf<D extends DType, G extends Granularity, Zero> = Zero extends "float"
  ? OffsetQuantizedTensor<D, G>
  : QuantizedTensor<D, G>;

/** Scales or zero points as arguments: one number, or numbers that broadcast. */
export type QParamInput = NestedNumbers | TensorInput;

/** The fields of a quantized tensor as an argument, besides zero points or offsets. */
interface QuantizedInputFields<D extends DType> {
  /** The codes in row-major order; sub-byte codes take one element each. */
  readonly data: Codes<D>;
  /** The length of each axis. */
  readonly shape: ArrayLike<number>;
  /** The dtype of the codes. */
  readonly dtype: D;
  /** Units per step: a number, or a tensor broadcastable against `shape`. */
  readonly scale: QParamInput;
  /** Default: `"symmetric"` if all zero points are 0 and the dtype is signed, else `"affine"`. */
  readonly scheme?: Scheme | undefined;
  /** Per channel: the axis of the channels. */
  readonly axis?: number | undefined;
  /** Per group: the number of consecutive values of the last axis that share a scale. */
  readonly groupSize?: number | undefined;
  /** Per block: the number of values of a block on each axis; -1: the whole axis. */
  readonly blockShape?: readonly number[] | undefined;
}

/** Zero points or offsets of an argument. */
type ShiftInput =
  | {
      /** The code that stands for 0, in the form of the scale. */
      readonly zeroPoint: QParamInput;
      readonly offset?: undefined;
    }
  | {
      /** The value that the code 0 stands for, in the form of the scale. */
      readonly offset: QParamInput;
      readonly zeroPoint?: undefined;
    };

/** A quantized tensor as an argument: `scheme` may be missing, numbers may have any form. */
export type QuantizedTensorInput<D extends DType = DType> = QuantizedInputFields<D> & ShiftInput;

/** A quantized tensor without its codes, as `unpack` needs it to read packed bytes. */
export type QuantizedTensorMeta<D extends DType = DType> = Omit<QuantizedInputFields<D>, "data"> &
  ShiftInput;

/**
 * The order of operations from value to code: the course's, that of ONNX's QuantizeLinear, or that of
 * torch.quantize_per_tensor.
 */
export type Rule = "course" | "onnx" | "torch";

/** Qparams as chosen or given. */
export interface ScaleAndZeroPoint {
  readonly scale: number | ScaleTensor;
  /** The zero points; or the offsets, if `hasOffsets`. */
  readonly zeroPoint: number | ZeroPointTensor | OffsetTensor;
  readonly hasOffsets?: boolean;
  /** Default: `"course"`. */
  readonly rule?: Rule;
}

/** Qparams with the shapes that the core needs. */
export interface LaidOutQParams extends ScaleAndZeroPoint, Layout {}

/** Scales or zero points as a list, also for a single number. */
export const listed = <A>(given: number | { readonly data: A }): A | [number] =>
  typeof given === "number" ? [given] : given.data;

/**
 * Bytes of a number of codes with their qparams: packed codes, float32 scales, int32 zero points unless
 * all are 0, float32 offsets.
 * @param bits  bits per code, at most the dtype's
 */
export function qparamsBytes(
  { dtype, scale, zeroPoint, offset }: Pick<AnyQParams, "dtype" | "scale" | "zeroPoint" | "offset">,
  count: number,
  bits = 32,
): number {
  const width = Math.min(bits, DTYPES[dtype].bits);
  const hasZeros =
    offset !== undefined ||
    listed(zeroPoint as number | ZeroPointTensor).some((zero) => zero !== 0);
  return Math.ceil((count * width) / 8) + (hasZeros ? 8 : 4) * listed(scale).length;
}

/** Bytes of a quantized tensor in stored form. */
export const storedBytes = (q: AnyQuantizedTensor, bits?: number): number =>
  qparamsBytes(q, q.data.length, bits);

/** The arrays that `out` must not overlap. */
export function arraysOf(qparams: ScaleAndZeroPoint | undefined): NumberArray[] {
  if (qparams === undefined) return [];
  const { scale, zeroPoint } = qparams;
  return typeof scale === "number" || typeof zeroPoint === "number"
    ? []
    : [scale.data, zeroPoint.data];
}

/** Dtype, scheme and slices of qparams. */
export interface Purpose {
  readonly dtype: DType;
  readonly scheme: Scheme;
  readonly slices: Slices;
}

/** Adds axis, group size or block shape to a result; leaves out fields that do not apply. */
function withSlices<T extends object>(result: T, { axis, groupSize, blocks }: Slices): T {
  const fields: { axis?: number; groupSize?: number; blockShape?: number[] } = result;
  if (axis !== undefined) fields.axis = axis;
  else if (groupSize !== undefined) fields.groupSize = groupSize;
  else if (blocks !== undefined) fields.blockShape = [...blocks.size];
  return result;
}

/** Qparams in the form of results. */
export function qparamsResult(
  qparams: ScaleAndZeroPoint,
  { dtype, scheme, slices }: Purpose,
): AnyQParams {
  const { scale, zeroPoint, hasOffsets } = qparams;
  const result = hasOffsets
    ? { dtype, scheme, scale, offset: zeroPoint }
    : { dtype, scheme, scale, zeroPoint };
  return withSlices(result, slices) as AnyQParams;
}

const SHAPED = ["scale", "zeroPoint", "offset"] as const;

/** Own copies of qparams in the fields of an object: a reader that writes to them changes only the copies. */
export function copiedQParams<Q extends object>(where: string, qparams: Q): Q {
  const copy = { ...qparams } as Record<string, unknown>;
  for (const name of SHAPED) {
    // A field of Object.prototype is none of the qparams.
    if (!Object.hasOwn(copy, name)) continue;
    const numbers = copy[name] as number | undefined | { data: NumberArray; shape: number[] };
    if (typeof numbers !== "object") continue;
    copy[name] = { data: copyLike(where, numbers.data), shape: [...numbers.shape] };
  }
  return copy as Q;
}

/**
 * A quantized tensor as a result. The fields are listed, since spreading an object takes longer than
 * quantizing a small tensor.
 */
export function quantizedResult(
  data: Codes,
  shape: readonly number[],
  { scale, zeroPoint, hasOffsets }: ScaleAndZeroPoint,
  { dtype, scheme, slices }: Purpose,
): AnyQuantizedTensor {
  const result = hasOffsets
    ? { data, shape, dtype, scheme, scale, offset: zeroPoint }
    : { data, shape, dtype, scheme, scale, zeroPoint };
  return withSlices(result, slices) as AnyQuantizedTensor;
}
