// tensor -> scale and zero point.

import type { DType } from "../base/dtype.js";
import { checkStatus, rangeError, refused, type ZeropointError } from "../base/errors.js";
import { showShape } from "../base/format-value.js";
import { checkOptions } from "../base/options.js";
import {
  arrayLength,
  arrayName,
  checkStillThere,
  type NumberArray,
  newArray,
  subarrayOf,
  valueAt,
} from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import { activeCore } from "../core/init.js";
import { bytesIn, type ElementType } from "../core/views.js";
import { type CheckedTensor, checkTensor, type TensorInput } from "../tensor/check.js";
import {
  evenParts,
  laidOut,
  layoutOf,
  qparamsShape,
  type Slices,
  type SlicesWithRows,
} from "../tensor/granularity.js";
import { rangesOf } from "../tensor/range.js";
import { TILE, tilesOf } from "../tensor/tiles.js";
import { applyQParams } from "./apply-qparams.js";
import {
  CHOOSE_OPTIONS,
  type CheckedOptions,
  type ChooseQParamsOptions,
  checkQuantizeOptions,
  type FromArguments,
  type GranularityOf,
  type NeedsDType,
  type NeedsScheme,
  type OneOfBoth,
} from "./options.js";
import { type QParams, qparamsResult, type ScaleAndZeroPoint } from "./quantized-tensor.js";
import { searchRanges } from "./range-search.js";

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
 * @param options.groupSize    number of consecutive values of the last axis that share a scale; if it
 *   does not divide the axis, the last group of every row is short
 * @param options.includeZero  affine: widen the range to contain 0; default: true. false gives the
 *   notebooks' range, which serves values on both sides of 0 only: elsewhere the zero point is clamped, and
 *   codes do not reach the values. For uint8 columns of values from 1 to 2 it gives an SQNR of 8.4 dB, and
 *   true 56.6 dB
 * @param options.range        `"minmax"` (default), `"mse"` for the range of least squared error, or
 *   `{ percentile: p }`, see `ChooseQParamsOptions`
 * @param options.nonFinite    `"throw"` (default) refuses NaN and infinities; `"ignore"` skips them
 * @returns scale and zero point with the other fields that `quantize` needs
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
  // D is inferred. With D alone, editors would complete its default and no other dtype.
  options?: ChooseQParamsOptions<D | DType, Axis, Size> &
    NeedsDType<D> &
    NeedsScheme<D> &
    OneOfBoth<Axis, Size>,
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

/** Qparams chosen per slice: in double precision for a tensor, in float32 for channels and groups. */
interface Chosen {
  readonly scales: Float64Array | Float32Array;
  readonly zeroPoints: Int32Array;
}

/** Scratch for the qparams of a tensor, reused by every call. */
const ONE_CHOSEN: Chosen = {
  scales: /* @__PURE__ */ new Float64Array(1),
  zeroPoints: /* @__PURE__ */ new Int32Array(1),
};

/** Arrays for the qparams to be chosen. */
function chosenFor(where: string, { granularity, slices }: Slices): Chosen {
  const Type = granularity === "perTensor" ? Float64Array : Float32Array;
  return {
    scales: newArray<Float64Array | Float32Array>(where, Type, slices),
    zeroPoints: newArray(where, Int32Array, slices),
  };
}

/**
 * Chooses qparams for a tensor, and applies them if an operation is given: on one copy in the heap if
 * the tensor is small, else in a second pass over the tiles, so that nothing is written if choosing
 * fails.
 */
export function runChoose(
  core: Core,
  where: string,
  argument: string,
  x: CheckedTensor,
  options: CheckedOptions,
  operation?: { name: "quantize" | "fakeQuantize"; out: NumberArray },
): ScaleAndZeroPoint {
  const { slices, dtype } = options;
  const { outer, slices: count, inner } = slices;
  if (count !== 0 && outer * inner === 0) throw emptyError(where, argument, x.shape, slices);
  const chosen = slices.granularity === "perTensor" ? ONE_CHOSEN : chosenFor(where, slices);
  const isSmall = x.size <= TILE && options.range === undefined;
  if (count !== 0) {
    if (!isSmall) checkStillThere(where, x.data, x.size);
    const status = isSmall
      ? chooseTile(core, where, x.data, x.size, slices, options, chosen, operation)
      : chooseTiles(core, where, x.data, slices, options, chosen);
    if (status !== "kOk") throw chooseError(where, argument, x, slices, status);
  }
  const result = chosenResult(x.shape, slices, chosen);
  if (operation !== undefined && !isSmall) {
    const { name, out } = operation;
    const qparams = { ...result, ...laidOut(slices) };
    applyQParams(core, where, name, "Float32Array", x.data, x.size, qparams, dtype, out);
  }
  return result;
}

/** Chooses qparams for a tensor in tiles. @returns the core's status */
function chooseTiles(
  core: Core,
  where: string,
  data: NumberArray,
  counts: SlicesWithRows,
  options: CheckedOptions,
  chosen: Chosen,
): string {
  const { outer, slices, inner, row } = counts;
  const { range, nonFinite } = options;
  if (outer === 1 && Math.max(inner, row) <= TILE && range === undefined) {
    return chooseSlices(core, where, data, counts, options, chosen);
  }
  if (row === 0) {
    const keep = nonFinite === "ignore" ? "ignore" : "keep";
    const ranges = rangesOf(core, where, data, counts, keep);
    if (range !== undefined) searchRanges(core, where, data, counts, options, range, ranges);
    const ends = { outer: 1, slices, inner: 2, row: 0 };
    return chooseSlices(core, where, ranges, ends, options, chosen);
  }
  for (const part of evenParts(slices / Math.ceil(row / inner), row, inner)) {
    const values = subarrayOf(data, part.start, part.start + part.slices * part.inner);
    const own = partOf(chosen, part.qStart, part.slices);
    const even = { ...part, outer: 1, row: 0 };
    const status = chooseTiles(core, where, values, even, options, own);
    if (status !== "kOk") return status;
  }
  return "kOk";
}

/** The qparams of consecutive slices. */
function partOf({ scales, zeroPoints }: Chosen, start: number, count: number): Chosen {
  const end = start + count;
  return {
    scales: subarrayOf(scales, start, end),
    zeroPoints: subarrayOf(zeroPoints, start, end),
  };
}

/**
 * Chooses qparams for consecutive slices, each within one tile. The slices are those of a tensor, or
 * their ranges: the two ends of a slice's range have the same qparams as the slice.
 * @returns the core's status
 */
function chooseSlices(
  core: Core,
  where: string,
  data: NumberArray,
  counts: SlicesWithRows,
  options: Pick<CheckedOptions, "dtype" | "scheme" | "includeZero" | "nonFinite">,
  chosen: Chosen,
): string {
  const { viewShape, viewQShape, viewGroup } = layoutOf(counts);
  let status = "kOk";
  for (const { start, size, qStart, qCount } of tilesOf(viewShape, viewQShape, TILE, viewGroup)) {
    if (size === 0 || status !== "kOk") break;
    const values = subarrayOf(data, start, start + size);
    const own = partOf(chosen, qStart, qCount);
    status = chooseTile(core, where, values, size, { ...counts, slices: qCount }, options, own);
  }
  return status;
}

/** The chosen qparams in the form of results. */
function chosenResult(
  shape: readonly number[],
  slices: Slices,
  { scales, zeroPoints }: Chosen,
): ScaleAndZeroPoint {
  if (slices.granularity === "perTensor") {
    return { scale: scales[0], zeroPoint: zeroPoints[0] };
  }
  const target = qparamsShape(shape, slices);
  return {
    scale: { data: scales as Float32Array, shape: target },
    zeroPoint: { data: zeroPoints, shape: [...target] },
  };
}

/**
 * Chooses qparams for the `size` values of one tile, and applies them if an operation is given.
 * @returns the core's status
 */
function chooseTile(
  { memory, module }: Core,
  where: string,
  x: NumberArray,
  size: number,
  counts: SlicesWithRows,
  options: Pick<CheckedOptions, "dtype" | "scheme" | "includeZero" | "nonFinite">,
  { scales, zeroPoints }: Chosen,
  operation?: { name: "quantize" | "fakeQuantize"; out: NumberArray },
): string {
  const { dtype, scheme, includeZero, nonFinite } = options;
  const { outer, slices: count, inner, row } = counts;
  const isDouble = scales instanceof Float64Array;
  const out = operation?.out;
  const [xAt, shapeAt, qShapeAt, rangesAt, scale64At, scaleAt, zeroPointAt, outAt] = memory.layOut(
    where,
    4 * size,
    4 * 3,
    4 * 2,
    8 * count,
    8 * count,
    4 * count,
    4 * count,
    out ? bytesIn(arrayName(out) as ElementType, size) : 0,
  );
  try {
    memory.copyIn(where, "Float32Array", xAt, x, size);
    let status: string = module.chooseQParams(
      xAt,
      outer,
      count,
      inner,
      row,
      dtype,
      scheme,
      includeZero,
      nonFinite,
      rangesAt,
      scale64At,
      scaleAt,
      zeroPointAt,
    );
    if (status !== "kOk") return status;
    if (isDouble) {
      // No views of the heap for single numbers: they would cost more than a small tensor does.
      scales[0] = memory.readOne("Float64Array", scale64At);
      zeroPoints[0] = memory.readOne("Int32Array", zeroPointAt);
    } else {
      memory.read(scaleAt, scales);
      memory.read(zeroPointAt, zeroPoints);
    }
    if (operation === undefined) return status;
    const { viewShape, viewQShape, viewGroup } = layoutOf(counts);
    memory.write("Uint32Array", shapeAt, viewShape);
    memory.write("Uint32Array", qShapeAt, viewQShape);
    status = module[operation.name](
      xAt,
      shapeAt,
      viewShape.length,
      scaleAt,
      zeroPointAt,
      qShapeAt,
      viewQShape.length,
      viewGroup,
      dtype,
      outAt,
    );
    checkStatus(where, status);
    memory.read(outAt, operation.out, size);
    return status;
  } finally {
    memory.end();
  }
}

/** The error for values that no qparams can be chosen for. */
function chooseError(
  where: string,
  argument: string,
  { data, shape }: CheckedTensor,
  slices: Slices,
  status: string,
): ZeropointError {
  if (status === "kNonFinite") return nonFiniteError(where, argument, data);
  if (status === "kEmpty") return emptyError(where, argument, shape, slices);
  return refused(where, status);
}

function nonFiniteError(where: string, argument: string, x: NumberArray): ZeropointError {
  let index = 0;
  while (index < arrayLength(x) - 1 && Number.isFinite(Math.fround(valueAt(x, index)))) index++;
  const value = valueAt(x, index);
  const too = Number.isFinite(value) ? ", as float32 too," : "";
  return rangeError(
    "ZP_NON_FINITE",
    where,
    `${argument} must be finite${too} to choose a scale, but value ${index} is ` +
      `${value}; options.nonFinite: "ignore" skips such values`,
  );
}

function emptyError(
  where: string,
  argument: string,
  shape: readonly number[],
  slices: Slices,
): ZeropointError {
  const { granularity, outer, inner } = slices;
  const slice =
    granularity === "perTensor"
      ? argument
      : `a ${granularity === "perChannel" ? "channel" : "group"} of ${argument}`;
  const lack = outer * inner === 0 ? "has no values" : "has no finite values";
  return rangeError(
    "ZP_EMPTY",
    where,
    `${slice} ${lack} to choose a scale from, got shape ${showShape(shape)}; ` +
      `options.scale gives one`,
  );
}
