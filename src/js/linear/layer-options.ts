// Arguments of QuantizedLinear: checks, and the quantization of a float weight.

import { checkBoolean, checkChoice } from "../base/check.js";
import type { DType } from "../base/dtype.js";
import { rangeError, typeError } from "../base/errors.js";
import { fieldOf } from "../base/fields.js";
import { show } from "../base/format-value.js";
import type { NumberArray } from "../base/typed-arrays.js";
import type { Core } from "../core/core.js";
import {
  type CheckedMeta,
  type CheckedQuantized,
  checkQParams,
  checkQuantized,
} from "../quantize/check.js";
import {
  type AnyQuantizeOptions,
  checkQuantizeOptions,
  type FittingScheme,
  type OneGranularity,
  QUANTIZE_OPTIONS,
} from "../quantize/options.js";
import { runChoose } from "../quantize/qparams.js";
import {
  type CheckedTensor,
  checkTensor,
  looksQuantized,
  type TensorInput,
} from "../tensor/check.js";
import { checkSlices } from "../tensor/granularity.js";
import { checkBias } from "./input.js";
import { int8Rows, int8Scales } from "./int8-weight.js";
import { checkAccumulate } from "./linear.js";
import type { Accumulate } from "./multiply.js";
import {
  checkMatrix,
  checkWeightDType,
  fromTorch,
  type WeightLayout,
  weightCodes,
  weightLayout,
} from "./weight.js";
import { quantizedRows, rowsOfCodes, type WeightRows } from "./weight-rows.js";

/** Options of all kinds of layers. */
interface AnyLinearOptions extends Omit<AnyQuantizeOptions, "dtype"> {
  /** Of 1 to 8 bits; for dynamic activations a signed one. Default: `"int8"`. */
  dtype?: Exclude<DType, "int16" | "int32" | "uint16"> | undefined;
  /** float32 of shape [outFeatures]. Default: none. */
  bias?: TensorInput | null | undefined;
  /**
   * The precision of the input in products: `"float32"` (the default), or `"dynamic"`: quantized to 8
   * bits on the fly, as in PyTorch's dynamic quantization.
   */
  activations?: "float32" | "dynamic" | undefined;
  /**
   * With `"dynamic"` activations: use 7 of their 8 bits. PyTorch does so to avoid overflow in some of its
   * kernels; no kernel here overflows, so `false` is as safe and more exact. PyTorch's qnnpack engine
   * always uses 8 bits: `false` gives its results bit for bit. Default: true.
   */
  reduceRange?: boolean | undefined;
  /** Default: `"exact"`. */
  accumulate?: Accumulate | undefined;
}

/** Options of `new QuantizedLinear` for float32 activations. */
export interface FloatLinearOptions extends AnyLinearOptions {
  activations?: "float32" | undefined;
  reduceRange?: undefined;
}

/**
 * Options of `new QuantizedLinear` for dynamic activations. A weight of int8 that is not in groups is quantized as in
 * PyTorch's dynamic layers; options that choose its scales otherwise are refused.
 */
export interface DynamicLinearOptions extends AnyLinearOptions {
  activations: "dynamic";
  dtype?: "int2" | "int3" | "int4" | "int5" | "int6" | "int7" | "int8" | undefined;
  scheme?: "symmetric" | undefined;
  zeroPoint?: undefined;
  offset?: undefined;
  accumulate?: "exact" | undefined;
}

/** Options that both kinds of activations take, where the kind is known only at run time. */
interface CommonLinearOptions extends Omit<DynamicLinearOptions, "activations" | "reduceRange"> {
  /** Either kind. */
  activations: "float32" | "dynamic";
  /** Only for `"dynamic"`. */
  reduceRange?: undefined;
}

/** Options of `new QuantizedLinear`: how to quantize a float weight, and how to compute. */
export type QuantizedLinearOptions = (
  | DynamicLinearOptions
  | CommonLinearOptions
  | (FloatLinearOptions & FittingScheme)
) &
  OneGranularity;

/** The arguments of `new QuantizedLinear` after their checks. */
interface Source {
  readonly accumulate: Accumulate;
  /** For dynamic activations; undefined for float32. */
  readonly reduceRange: boolean | undefined;
  readonly bias: NumberArray | undefined;
  /** The weight; a float one with the qparams of its options. */
  readonly weight: () => SourceWeight;
}

/** A weight to be packed. */
export interface SourceWeight {
  readonly rows: WeightRows;
  readonly meta: CheckedMeta;
}

/** Options by which qparams are chosen, except those that a layer's qparams determine. */
export function choosingOptions(options: Record<string, unknown>): Record<string, unknown> {
  const told = [
    "dtype",
    "scheme",
    "axis",
    "groupSize",
    "blockShape",
    "scale",
    "zeroPoint",
    "offset",
  ];
  const names = QUANTIZE_OPTIONS.filter((name) => !told.includes(name));
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}

export const LAYER_OPTIONS = [
  "bias",
  "activations",
  "reduceRange",
  "accumulate",
  ...QUANTIZE_OPTIONS,
];

export function checkSource(
  core: Core,
  where: string,
  weight: unknown,
  options: Record<string, unknown>,
): Source {
  const activations = checkChoice(
    where,
    "options.activations",
    options.activations,
    ["float32", "dynamic"] as const,
    "float32",
  );
  const accumulate = checkAccumulate(where, options.accumulate);
  const reduceRange = checkBoolean(where, "options.reduceRange", options.reduceRange, true);
  const isDynamic = activations === "dynamic";
  if (isDynamic) checkDynamicOptions(where, options);
  else if (options.reduceRange !== undefined) {
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      'options.reduceRange is for options.activations: "dynamic", which is not given',
    );
  }
  const isQuantized = looksQuantized(weight);
  const isTorch = isDynamic && isTorchLike(options);
  const x = isQuantized ? checkReady(where, weight, options) : checkTensor(where, "weight", weight);
  const [outFeatures] = checkMatrix(where, x.shape);
  const source = isQuantized
    ? () => sourceOfCodes(where, x as CheckedQuantized)
    : isTorch
      ? toInt8(core, where, x as CheckedTensor, options.axis)
      : toQuantized(core, where, x as CheckedTensor, options);
  return {
    accumulate,
    reduceRange: isDynamic ? reduceRange : undefined,
    bias: checkBias(where, "options.bias", options.bias, outFeatures),
    weight: source,
  };
}

/** Checks a weight that is already quantized. */
export function checkReady(
  where: string,
  weight: unknown,
  options: Record<string, unknown>,
): CheckedQuantized {
  const extra = QUANTIZE_OPTIONS.find((name) => options[name] !== undefined);
  if (extra === undefined) return checkQuantized(where, "weight", fromTorch(where, weight), true);
  throw typeError(
    "ZP_CONFLICTING_OPTIONS",
    where,
    `options.${extra} says how to quantize, but weight is quantized already`,
  );
}

/** Checks options and returns a function that quantizes a weight by them. */
export function toQuantized(
  core: Core,
  where: string,
  x: CheckedTensor,
  options: Record<string, unknown>,
): () => SourceWeight {
  const checked = checkQuantizeOptions(where, options, x.shape, true);
  checkWeightDType(where, "options.dtype", checked.dtype);
  return () => {
    const { given, slices, dtype } = checked;
    const chosen = given ?? runChoose(core, where, "weight", x, checked);
    const shift = { value: chosen.zeroPoint, hasOffsets: checked.hasOffsets };
    const qparams = checkQParams(
      where,
      "weight",
      chosen.scale,
      shift,
      x.shape,
      slices,
      dtype,
      false,
    );
    const meta = { ...checked, qparams, shape: x.shape, size: x.size };
    return { meta, rows: quantizedRows(core, where, x, meta) };
  };
}

/** A weight that is already quantized. */
export function sourceOfCodes(where: string, checked: CheckedQuantized): SourceWeight {
  return { meta: checked, rows: rowsOfCodes(where, weightCodes(where, checked)) };
}

/** Whether a float weight is quantized as PyTorch's dynamic layers do it: to int8, not in groups. */
const isTorchLike = ({ dtype, groupSize, blockShape }: Record<string, unknown>): boolean =>
  (dtype === undefined || dtype === "int8") && groupSize === undefined && blockShape === undefined;

/** Refuses options that dynamic layers do not have; with int8, not in groups, there is one way to quantize. */
function checkDynamicOptions(where: string, options: Record<string, unknown>): void {
  const only: Readonly<Record<string, string>> = {
    dtype: "int8",
    scheme: "symmetric",
    accumulate: "exact",
  };
  if (/^uint/.test(String(options.dtype))) {
    throw rangeError(
      "ZP_UNSUPPORTED_DTYPE",
      where,
      `options.dtype must be a signed dtype with options.activations: "dynamic", got ${show(options.dtype)}`,
    );
  }
  const isTorch = isTorchLike(options);
  const names = isTorch ? QUANTIZE_OPTIONS : (["scheme", "zeroPoint", "offset"] as const);
  for (const name of [...names, "accumulate"]) {
    const wanted = fieldOf(only, name);
    if (name === "axis" || options[name] === undefined || options[name] === wanted) continue;
    const takes = wanted === undefined ? "cannot be given" : `must be ${show(wanted)}`;
    throw typeError(
      "ZP_CONFLICTING_OPTIONS",
      where,
      `options.${name} ${takes} with options.activations: "dynamic", got ${show(options[name])}`,
    );
  }
}

/** Returns a function that quantizes a weight for dynamic activations, as PyTorch does. */
function toInt8(core: Core, where: string, x: CheckedTensor, axis: unknown): () => SourceWeight {
  if (axis !== undefined && axis !== 0 && axis !== -2) {
    throw rangeError(
      "ZP_INVALID_AXIS",
      where,
      "options.axis must be 0, for one scale for each output, with " +
        `options.activations: "dynamic", got ${show(axis)}`,
    );
  }
  return () => {
    const { shape, size } = x;
    const scales = int8Scales(core, where, x, axis !== undefined);
    const slices = checkSlices(where, "options", shape, axis, undefined);
    const scale = axis === undefined ? scales[0] : scales;
    const zero = { value: 0, hasOffsets: false };
    const qparams = checkQParams(where, "weight", scale, zero, shape, slices, "int8", false);
    const meta = { dtype: "int8", scheme: "symmetric", slices, qparams, shape, size } as const;
    return { meta, rows: int8Rows(core, where, x, weightLayout(where, meta)) };
  };
}

/** Checks that a weight is suitable for dynamic activations: signed with zero points 0, not per input. */
export function checkDynamicWeight(where: string, weight: WeightLayout): void {
  const { dtype, granularity, zeroPoints, hasOffsets } = weight;
  const isUnsigned = dtype.startsWith("u");
  const problem = isUnsigned
    ? `a signed dtype, got "${dtype}"`
    : hasOffsets || Array.from(zeroPoints).some((zero) => zero !== 0)
      ? "zero points of 0"
      : granularity === "perInput"
        ? "one scale, or one for each output or group"
        : undefined;
  if (problem === undefined) return;
  throw rangeError(
    isUnsigned ? "ZP_UNSUPPORTED_DTYPE" : "ZP_INVALID_SCHEME",
    where,
    `weight must have ${problem} with options.activations: "dynamic"`,
  );
}
