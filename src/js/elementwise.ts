// quantize, dequantize and fakeQuantize on the core: whole where a tensor is small, else in tiles.

import { arrayName, checkStillThere, type NumberArray, newArray, subarrayOf } from "./arrays.js";
import type { CheckedTensor } from "./check.js";
import type { Core } from "./core.js";
import type { DType } from "./dtype.js";
import { checkStatus, rangeError, refused, type ZeropointError } from "./errors.js";
import { laidOut, qparamsShape, type Slices } from "./granularity.js";
import { bytesIn, type ElementType } from "./memory.js";
import type {
  CheckedOptions,
  LaidOutQParams,
  ScaleAndZeroPoint,
  ScaleTensor,
  ZeroPointTensor,
} from "./qparams.js";
import { showShape } from "./show.js";
import { rangesOf, TILE, tileQParams, tilesOf } from "./tiles.js";

/** A core function from elements and qparams to elements. */
export type ElementwiseOperation = "quantize" | "dequantize" | "fakeQuantize";

/**
 * Runs an element-wise core function with given qparams, tile by tile.
 * @param size  how many values `input` had when it was checked, and `out` has
 */
export function applyQParams(
  core: Core,
  where: string,
  operation: ElementwiseOperation,
  inputType: ElementType,
  input: NumberArray,
  size: number,
  qparams: LaidOutQParams,
  dtype: DType,
  out: NumberArray,
): void {
  const { viewShape, viewQShape } = qparams;
  if (size <= TILE) {
    if (size === 0) return;
    applyTile(core, where, operation, inputType, input, size, viewShape, qparams, viewQShape, {
      dtype,
      out,
    });
    return;
  }
  checkStillThere(where, input, size);
  for (const tile of tilesOf(viewShape, viewQShape)) {
    const { start, size: count, shape, qShape } = tile;
    const part = subarrayOf(input, start, start + count);
    const own = tileQParams(qparams, tile);
    applyTile(core, where, operation, inputType, part, count, shape, own, qShape, {
      dtype,
      out: subarrayOf(out, start, start + count),
    });
  }
}

/** The same for values that the heap takes at once. */
function applyTile(
  core: Core,
  where: string,
  operation: ElementwiseOperation,
  inputType: ElementType,
  input: NumberArray,
  size: number,
  shape: readonly number[],
  { scale, zeroPoint }: ScaleAndZeroPoint,
  qShape: readonly number[],
  { dtype, out }: { readonly dtype: DType; readonly out: NumberArray },
): void {
  const { memory } = core;
  const count = typeof scale === "number" ? 1 : scale.data.length;
  const [inputAt, scaleAt, zeroPointAt, shapeAt, qShapeAt, outAt] = memory.layOut(
    where,
    bytesIn(inputType, size),
    4 * count,
    4 * count,
    4 * shape.length,
    4 * qShape.length,
    bytesIn(arrayName(out) as ElementType, size),
  );
  try {
    memory.copyIn(where, inputType, inputAt, input, size);
    writeNumbers(core, "Float32Array", scaleAt, scale);
    writeNumbers(core, "Int32Array", zeroPointAt, zeroPoint);
    memory.write("Uint32Array", shapeAt, shape);
    memory.write("Uint32Array", qShapeAt, qShape);
    const status = core.module[operation](
      inputAt,
      shapeAt,
      shape.length,
      scaleAt,
      zeroPointAt,
      qShapeAt,
      qShape.length,
      dtype,
      outAt,
    );
    checkStatus(where, status);
    memory.read(outAt, out, size);
  } finally {
    memory.end();
  }
}

function writeNumbers(
  { memory }: Core,
  type: "Float32Array" | "Int32Array",
  offset: number,
  value: number | ScaleTensor | ZeroPointTensor,
): void {
  if (typeof value === "number") memory.writeOne(type, offset, value);
  else memory.write(type, offset, value.data);
}

/** What is chosen for each slice: for a tensor in double precision, for channels and groups in float32. */
export interface Chosen {
  readonly scales: Float64Array | Float32Array;
  readonly zeroPoints: Int32Array;
}

/** Where a tensor's qparams are put, for the moment before they become numbers. */
const ONE_CHOSEN: Chosen = {
  scales: /* @__PURE__ */ new Float64Array(1),
  zeroPoints: /* @__PURE__ */ new Int32Array(1),
};

/** Room for what is chosen. */
export function chosenFor(where: string, { granularity, slices }: Slices): Chosen {
  const Type = granularity === "perTensor" ? Float64Array : Float32Array;
  return {
    scales: newArray<Float64Array | Float32Array>(where, Type, slices),
    zeroPoints: newArray(where, Int32Array, slices),
  };
}

/**
 * Chooses qparams for a tensor, and applies them where an operation is named: in the same visit to
 * the core if the tensor is small, else in a second pass, so that nothing is written if the first
 * one refuses.
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
  const isSmall = x.size <= TILE;
  if (count !== 0) {
    const shape = [outer, count, inner];
    const status = isSmall
      ? chooseTile(core, where, x.data, shape, options, chosen, operation)
      : chooseTiles(core, where, x, slices, options, chosen);
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

/** Applies qparams to a tensor: those given in the options, or others that are chosen. @returns them */
export function applyGivenOrChosen(
  core: Core,
  where: string,
  argument: string,
  x: CheckedTensor,
  options: CheckedOptions,
  name: "quantize" | "fakeQuantize",
  out: NumberArray,
): ScaleAndZeroPoint {
  const { given, dtype } = options;
  if (given === undefined) return runChoose(core, where, argument, x, options, { name, out });
  applyQParams(core, where, name, "Float32Array", x.data, x.size, given, dtype, out);
  return given;
}

/** Chooses qparams for a tensor in tiles. @returns the core's status */
function chooseTiles(
  core: Core,
  where: string,
  { data, size }: CheckedTensor,
  slices: Slices,
  options: CheckedOptions,
  chosen: Chosen,
): string {
  checkStillThere(where, data, size);
  const { outer, inner } = slices;
  if (outer === 1 && inner <= TILE) return chooseSlices(core, where, data, inner, options, chosen);
  const keep = options.nonFinite === "ignore" ? "ignore" : "keep";
  const ranges = rangesOf(core, where, data, slices, keep);
  return chooseSlices(core, where, ranges, 2, options, chosen);
}

/**
 * Chooses qparams for slices that lie side by side, each in one tile: of a tensor, or their ranges,
 * which have the same qparams as the two values of each.
 * @param length  how many values a slice has
 * @returns the core's status
 */
export function chooseSlices(
  core: Core,
  where: string,
  data: NumberArray,
  length: number,
  options: Pick<CheckedOptions, "dtype" | "scheme" | "includeZero" | "nonFinite">,
  { scales, zeroPoints }: Chosen,
): string {
  const count = scales.length;
  let status = "kOk";
  for (const { start, size, shape, qStart, qCount } of tilesOf([1, count, length], [count, 1])) {
    if (size === 0 || status !== "kOk") break;
    const end = qStart + qCount;
    const own = {
      scales: scales.subarray(qStart, end),
      zeroPoints: zeroPoints.subarray(qStart, end),
    };
    status = chooseTile(core, where, subarrayOf(data, start, start + size), shape, options, own);
  }
  return status;
}

/** What was chosen, in the form that results have. */
export function chosenResult(
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
 * Chooses qparams for values that the heap takes at once, and applies them where an operation is
 * named.
 * @param shape  [outer, slices, inner]
 * @returns the core's status
 */
function chooseTile(
  { memory, module }: Core,
  where: string,
  x: NumberArray,
  shape: readonly number[],
  options: Pick<CheckedOptions, "dtype" | "scheme" | "includeZero" | "nonFinite">,
  { scales, zeroPoints }: Chosen,
  operation?: { name: "quantize" | "fakeQuantize"; out: NumberArray },
): string {
  const { dtype, scheme, includeZero, nonFinite } = options;
  const [outer, count, inner] = shape;
  const size = outer * count * inner;
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
      // Views of the heap for one number each would cost more than a small tensor does.
      scales[0] = memory.readOne("Float64Array", scale64At);
      zeroPoints[0] = memory.readOne("Int32Array", zeroPointAt);
    } else {
      memory.read(scaleAt, scales);
      memory.read(zeroPointAt, zeroPoints);
    }
    if (operation === undefined) return status;
    // [outer, slices, inner] has its channels on axis 1, whatever axis they were on.
    memory.write("Uint32Array", shapeAt, shape);
    memory.write("Uint32Array", qShapeAt, [count, 1]);
    status = module[operation.name](
      xAt,
      shapeAt,
      3,
      scaleAt,
      zeroPointAt,
      qShapeAt,
      2,
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

/** Why no qparams could be chosen. */
export function chooseError(
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
  const index = Array.prototype.findIndex.call(x, (value) => !Number.isFinite(Math.fround(value)));
  const value = x[index];
  const too = Number.isFinite(value) ? ", as float32 too," : "";
  return rangeError(
    "ZP_NON_FINITE",
    where,
    `${argument} must be finite${too} to choose a scale, but value ${index} is ` +
      `${value}; options.nonFinite: "ignore" skips such values`,
  );
}

export function emptyError(
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
