// tensor -> scale and zero point.

import { wrongKind } from "../base/check.js";
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
import { type Blocks, bandsOf, evenBlocks, reorder } from "../tensor/blocks.js";
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
  type BlockShape,
  CHOOSE_OPTIONS,
  type CheckedOptions,
  type ChooseQParamsOptions,
  checkQuantizeOptions,
  choiceOf,
  type FromArguments,
  type GranularityOf,
  type NeedsDType,
  type NeedsScheme,
  type OneOfBoth,
  type RuleOption,
} from "./options.js";
import {
  type OffsetTensor,
  type QParamsOf,
  qparamsResult,
  type ScaleAndZeroPoint,
  type ZeroPointTensor,
} from "./quantized-tensor.js";
import { searchHalfQuadratic, searchRanges } from "./range-search.js";

/**
 * Chooses a scale and a zero point that fit a tensor's values, in double precision:
 *
 *     symmetric   scale = max|x| / qmax              zeroPoint = 0
 *     affine      scale = (max - min) / (qmax - qmin)
 *                 zeroPoint = clamp(round_half_even(qmin - min / scale), qmin, qmax)
 *     "float"     scale = (max - min) / (qmax - qmin)
 *                 offset = min - scale * qmin, as float32
 *
 * With `zeroPoint: "float"` the codes reach from min to max, whether 0 is between them or not, and a slice of
 * equal values c gets scale 1 and offset c, so that it is restored exactly. Otherwise an all-zero
 * slice gets scale 1, and a range of zero width is widened to contain 0. A scale below the smallest normal
 * float32 is raised to it. Per channel and per group, scales are rounded to float32.
 *
 * The other rules compute in float32 and always include 0: lo = min(0, min), hi = max(0, max).
 *
 *     "onnx"   symmetric   scale = max(-lo, hi) / qmax
 *              affine      scale = (hi - lo) / (qmax - qmin)
 *                          zeroPoint = round_half_even(clamp(qmin - lo / scale, qmin, qmax))
 *     "torch"  symmetric   scale = max(max(-lo, hi) / ((qmax - qmin) / 2), 2^-23)
 *              affine      scale = max((hi - lo) / (qmax - qmin), 2^-23)
 *                          zeroPoint = clamp(qmin - round_half_even(lo / scale), qmin, qmax)
 *
 * With "onnx", values whose scale would be 0 get scale 1 and the zero point nearest to 0.
 *
 * Source: get_q_scale_symmetric and get_q_scale_and_zero_point of the course notebooks; ONNX's
 * DynamicQuantizeLinear, which has uint8 only, and ONNX Runtime's quantizer; MinMaxObserver of PyTorch,
 * whose symmetric scales divide by 127.5.
 *
 * @param x  float32, any shape; other numbers are rounded to float32
 * @param options.dtype        default: `"int8"`
 * @param options.scheme       default: `"symmetric"`, which takes a signed dtype
 * @param options.axis         one scale per index of this axis; negative counts from the end
 * @param options.groupSize    number of consecutive values of the last axis that share a scale; if it
 *   does not divide the axis, the last group of every row is short
 * @param options.blockShape   the number of values of a block on each axis, -1 for the whole axis; blocks at the
 *   end of an axis may be shorter
 * @param options.zeroPoint    `"float"` for an `offset` instead of a zero point
 * @param options.includeZero  affine: widen the range to contain 0; default: true. false gives the
 *   notebooks' range, which serves values on both sides of 0 only: elsewhere the zero point is clamped, and
 *   codes do not reach the values. For uint8 columns of values from 1 to 2 it gives an SQNR of 8.4 dB, and
 *   true 56.6 dB, `zeroPoint: "float"` more than both
 * @param options.range        `"minmax"` (default), `"mse"` for the range of least squared error, `"hqq"` for
 *   half-quadratic splitting, or `{ percentile: p }`, see `ChooseQParamsOptions`
 * @param options.rule         `"course"` (default), `"onnx"` or `"torch"`
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
  Zero extends "float" | undefined = undefined,
  Block extends BlockShape | undefined = undefined,
>(
  x: TensorInput,
  // D is inferred. With D alone, editors would complete its default and no other dtype.
  options?: ChooseQParamsOptions<D | DType, Axis, Size, Zero, Block> &
    NeedsDType<D> &
    NeedsScheme<D, undefined, Zero> &
    OneOfBoth<Axis, Size, Block> &
    RuleOption,
): QParamsOf<FromArguments<D>, GranularityOf<Axis, Size, undefined, undefined, Block>, Zero> {
  const where = "chooseQParams";
  const core = activeCore(where);
  const checkedX = checkTensor(where, "x", x);
  const known = checkOptions(where, options, [...CHOOSE_OPTIONS, "rule"]);
  if (known.zeroPoint !== undefined && known.zeroPoint !== "float") {
    const wanted = '"float" if given: an offset, not a zero point';
    throw wrongKind("ZP_INVALID_OPTION", where, "options.zeroPoint", wanted, known.zeroPoint);
  }
  const checked = checkQuantizeOptions(where, known, checkedX.shape, false);
  const chosen = runChoose(core, where, "x", checkedX, checked);
  const result = qparamsResult(chosen, checked);
  return result as QParamsOf<
    FromArguments<D>,
    GranularityOf<Axis, Size, undefined, undefined, Block>,
    Zero
  >;
}

/** Qparams chosen per slice: in double precision for a tensor, in float32 for channels and groups. */
interface Chosen {
  readonly scales: Float64Array | Float32Array;
  /** Zero points, or offsets as float32. */
  readonly zeroPoints: Int32Array | Float32Array;
}

/** Scratch for the qparams of a tensor, reused by every call. */
const ONE_CHOSEN: Chosen = {
  scales: /* @__PURE__ */ new Float64Array(1),
  zeroPoints: /* @__PURE__ */ new Int32Array(1),
};

/** Arrays for the qparams to be chosen. */
function chosenFor(
  where: string,
  { granularity, slices }: Slices,
  { hasOffsets }: CheckedOptions,
): Chosen {
  const Type = granularity === "perTensor" ? Float64Array : Float32Array;
  return {
    scales: newArray<Float64Array | Float32Array>(where, Type, slices),
    zeroPoints: newArray<Int32Array | Float32Array>(
      where,
      hasOffsets ? Float32Array : Int32Array,
      slices,
    ),
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
  const isOne = slices.granularity === "perTensor" && !options.hasOffsets;
  const chosen = isOne ? ONE_CHOSEN : chosenFor(where, slices, options);
  const isSmall = x.size <= TILE && options.range === undefined && !slices.isScattered;
  if (count !== 0) {
    if (!isSmall) checkStillThere(where, x.data, x.size);
    const status = isSmall
      ? chooseTile(core, where, x.data, x.size, slices, options, chosen, operation)
      : slices.isScattered
        ? chooseBlocks(core, where, x.data, slices.blocks as Blocks, options, chosen)
        : chooseTiles(core, where, x.data, slices, options, chosen);
    if (status !== "kOk") throw chooseError(where, argument, x, slices, status);
  }
  const result = chosenResult(x.shape, slices, chosen, options);
  if (operation !== undefined && !isSmall) {
    const { name, out } = operation;
    const qparams = { ...result, ...laidOut(slices) };
    applyQParams(core, where, name, "Float32Array", x.data, x.size, qparams, dtype, out);
  }
  return result;
}

/** Chooses qparams for blocks whose values have to be reordered first. @returns the core's status */
function chooseBlocks(
  core: Core,
  where: string,
  data: NumberArray,
  blocks: Blocks,
  options: CheckedOptions,
  chosen: Chosen,
): string {
  for (const band of bandsOf(blocks)) {
    const values = newArray(where, Float32Array, band.size);
    reorder(band.blocks, subarrayOf(data, band.start, band.start + band.size), values);
    for (const { first, start, slices, inner } of evenBlocks(band.blocks)) {
      const part = subarrayOf(values, start, start + slices * inner);
      const own = partOf(chosen, band.first + first, slices);
      const counts = { outer: 1, slices, inner, row: 0 };
      const status = chooseTiles(core, where, part, counts, options, own);
      if (status !== "kOk") return status;
    }
  }
  return "kOk";
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
    if (range !== undefined) {
      const { dtype, includeZero } = options;
      const choice = { dtype, choice: choiceOf(options), includeZero };
      if (range === "hqq") {
        // Throws for slices that no qparams can be chosen for.
        const status = chooseSlices(core, where, ranges, endsOf(slices), options, chosen);
        if (status !== "kOk") return status;
        searchHalfQuadratic(core, where, data, counts, choice, ranges, chosen);
        return status;
      }
      searchRanges(core, where, data, counts, choice, range, ranges);
    }
    return chooseSlices(core, where, ranges, endsOf(slices), options, chosen);
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

/** The ends of ranges as slices of two values. */
const endsOf = (slices: number): SlicesWithRows => ({ outer: 1, slices, inner: 2, row: 0 });

/** The qparams of consecutive slices. */
function partOf({ scales, zeroPoints }: Chosen, start: number, count: number): Chosen {
  const end = start + count;
  return {
    scales: subarrayOf(scales, start, end),
    zeroPoints: subarrayOf(zeroPoints, start, end),
  };
}

/**
 * Chooses qparams for consecutive slices, each within one tile. The slices are parts of a tensor, or
 * their ranges: the two ends of a slice's range have the same qparams as the slice.
 * @returns the core's status
 */
function chooseSlices(
  core: Core,
  where: string,
  data: NumberArray,
  counts: SlicesWithRows,
  options: CheckedOptions,
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
  { hasOffsets, rule }: CheckedOptions,
): ScaleAndZeroPoint {
  if (slices.granularity === "perTensor") {
    return { scale: scales[0], zeroPoint: zeroPoints[0], hasOffsets, rule };
  }
  const target = qparamsShape(shape, slices);
  return {
    scale: { data: scales as Float32Array, shape: target },
    zeroPoint: { data: zeroPoints, shape: [...target] } as ZeroPointTensor | OffsetTensor,
    hasOffsets,
    rule,
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
  options: CheckedOptions,
  { scales, zeroPoints }: Chosen,
  operation?: { name: "quantize" | "fakeQuantize"; out: NumberArray },
): string {
  const { dtype, includeZero, nonFinite, hasOffsets, rule } = options;
  const { outer, slices: count, inner, row } = counts;
  const isDouble = scales instanceof Float64Array;
  const out = operation?.out;
  const [xAt, slicesAt, shapeAt, qShapeAt, rangesAt, scale64At, zeroPointAt, outAt] = memory.layOut(
    where,
    4 * size,
    4 * 4,
    4 * 3,
    4 * 2,
    8 * count,
    12 * count,
    4 * count,
    out ? bytesIn(arrayName(out) as ElementType, size) : 0,
  );
  // The scales as float32 follow those in double precision.
  const scaleAt = scale64At + 8 * count;
  try {
    memory.copyIn(where, "Float32Array", xAt, x, size);
    memory.write("Uint32Array", slicesAt, [outer, count, inner, row]);
    let status: string = module.chooseQParams(
      xAt,
      slicesAt,
      dtype,
      choiceOf(options),
      includeZero,
      rule,
      nonFinite,
      rangesAt,
      scale64At,
      zeroPointAt,
    );
    if (status !== "kOk") return status;
    if (isDouble) {
      // No views of the heap for single numbers: they would cost more than a small tensor does.
      scales[0] = memory.readOne("Float64Array", scale64At);
      const type = hasOffsets ? "Float32Array" : "Int32Array";
      zeroPoints[0] = memory.readOne(type, zeroPointAt);
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
      hasOffsets,
      rule,
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

/** Slices in messages. */
const NAMES = { perChannel: "channel", perGroup: "group", perBlock: "block" } as const;

function emptyError(
  where: string,
  argument: string,
  shape: readonly number[],
  slices: Slices,
): ZeropointError {
  const { granularity, outer, inner } = slices;
  const slice = granularity === "perTensor" ? argument : `a ${NAMES[granularity]} of ${argument}`;
  const lack = outer * inner === 0 ? "has no values" : "has no finite values";
  return rangeError(
    "ZP_EMPTY",
    where,
    `${slice} ${lack} to choose a scale from, got shape ${showShape(shape)}` +
      (where === "chooseQParams" ? "" : "; options.scale gives one"),
  );
}
