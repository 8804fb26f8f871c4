// Rows that are appended to a layer: checks, and quantization of float rows like the layer's own.

import { rangeError, typeError } from "../base/errors.js";
import { ownFields } from "../base/fields.js";
import { showShape } from "../base/format-value.js";
import type { Core } from "../core/core.js";
import type { AnyQParams, ScaleTensor } from "../quantize/quantized-tensor.js";
import { type CheckedTensor, checkTensor, looksQuantized } from "../tensor/check.js";
import { int8Rows, int8Scales } from "./int8-weight.js";
import { checkDynamicWeight, checkReady, sourceOfCodes, toQuantized } from "./layer-options.js";
import { checkMatrix, type NumberList, type WeightLayout } from "./weight.js";
import { isShared, type WeightRows } from "./weight-rows.js";

/** The layer that rows are appended to. */
export interface Grown {
  readonly layout: WeightLayout;
  readonly qparams: AnyQParams;
  /** Whether activations are quantized on the fly. */
  readonly isDynamic: boolean;
  /** Options by which the layer chooses qparams, besides dtype, scheme and granularity. */
  readonly how: Record<string, unknown>;
}

/** Checks a weight whose rows are to be appended. */
export function appendedRows(core: Core, where: string, weight: unknown, layer: Grown): WeightRows {
  const { layout, isDynamic } = layer;
  if (looksQuantized(weight)) {
    const { rows } = sourceOfCodes(where, checkReady(where, weight, {}));
    checkInFeatures(where, [rows.outFeatures, rows.inFeatures], layout);
    checkSame(where, rows, layout);
    if (isDynamic) checkDynamicWeight(where, rows);
    return rows;
  }
  const x = checkTensor(where, "weight", weight);
  const [outFeatures] = checkInFeatures(where, checkMatrix(where, x.shape), layout);
  const { dtype, granularity } = layout;
  // The others are quantized as by quantize.
  const isTorch = isDynamic && dtype === "int8" && granularity !== "perGroup";
  return isTorch
    ? dynamicRows(core, where, x, { ...layout, outFeatures })
    : floatRows(core, where, x, layer);
}

/** Float rows, quantized as the layer's own: with its scales where outputs share them, else with theirs. */
function floatRows(
  core: Core,
  where: string,
  x: CheckedTensor,
  { layout, qparams, how }: Grown,
): WeightRows {
  const { granularity, dtype } = layout;
  const { scheme, scale, zeroPoint, offset } = qparams;
  const axis = granularity === "perOutput" ? 0 : granularity === "perInput" ? 1 : undefined;
  const groupSize = granularity === "perGroup" ? layout.groupSize : undefined;
  const chosen = layout.hasOffsets ? { zeroPoint: "float" } : {};
  // Options that choose a scale do not go with a given one.
  const given = isShared(layout)
    ? { scale, zeroPoint, offset, range: undefined, includeZero: undefined }
    : chosen;
  const options = { ...how, dtype, scheme, axis, groupSize, ...given };
  return toQuantized(core, where, x, ownFields(options))().rows;
}

function dynamicRows(
  core: Core,
  where: string,
  x: CheckedTensor,
  layout: WeightLayout,
): WeightRows {
  const { outFeatures } = layout;
  const own = isShared(layout)
    ? layout
    : {
        ...layout,
        scales: int8Scales(core, where, x, true),
        zeroPoints: new Int32Array(outFeatures),
      };
  return int8Rows(core, where, x, own);
}

function checkInFeatures(
  where: string,
  shape: readonly [number, number],
  { inFeatures }: WeightLayout,
): readonly [number, number] {
  if (shape[1] === inFeatures) return shape;
  throw rangeError(
    "ZP_SHAPE_MISMATCH",
    where,
    `weight must have ${inFeatures} values in each row, as the layer has, got shape ${showShape(shape)}`,
  );
}

/** Checks that quantized rows have the layer's dtype and granularity, and its scales where outputs share them. */
function checkSame(where: string, rows: WeightRows, layer: WeightLayout): void {
  if (rows.dtype !== layer.dtype) {
    throw rangeError(
      "ZP_UNSUPPORTED_DTYPE",
      where,
      `weight.dtype must be "${layer.dtype}", as the layer has, got "${rows.dtype}"`,
    );
  }
  if (rows.granularity !== layer.granularity || rows.groupSize !== layer.groupSize) {
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      `weight must have scales ${granularityText(layer)}, as the layer has, got ${granularityText(rows)}`,
    );
  }
  if (rows.hasOffsets !== layer.hasOffsets) {
    const [own, other] = layer.hasOffsets ? ["offset", "zeroPoint"] : ["zeroPoint", "offset"];
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      `weight must have ${own}, as the layer has, got ${other}`,
    );
  }
  if (!isShared(layer)) return;
  if (areEqual(rows.scales, layer.scales) && areEqual(rows.zeroPoints, layer.zeroPoints)) return;
  throw rangeError(
    "ZP_INVALID_SCALE",
    where,
    "weight must have the layer's own scale and zero point, which all outputs share; layers with " +
      "axis: 0 or groupSize take rows with scales of their own",
  );
}

function granularityText({ granularity, groupSize }: WeightLayout): string {
  if (granularity === "perGroup") return `for groups of ${groupSize}`;
  if (granularity === "perTensor") return "for the whole weight";
  return granularity === "perOutput" ? "for each output (axis 0)" : "for each input (axis 1)";
}

function areEqual(a: NumberList, b: NumberList): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (Math.fround(a[i]) !== Math.fround(b[i])) return false;
  return true;
}

/** The qparams of a layer after its rows were appended. */
export function grownQParams(qparams: AnyQParams, layout: WeightLayout): AnyQParams {
  const { scales, zeroPoints, hasOffsets } = layout;
  if (isShared(layout)) return qparams;
  const perRow = qparams.blockShape === undefined ? 1 : (qparams.scale as ScaleTensor).shape[1];
  const shape = [scales.length / perRow, perRow];
  return {
    ...qparams,
    scale: { data: scales as Float32Array, shape },
    [hasOffsets ? "offset" : "zeroPoint"]: { data: zeroPoints, shape: [...shape] },
  } as AnyQParams;
}
