// Options of observers: dtype, qscheme and range of codes.

import { checkChoice, checkFinite } from "../base/check.js";
import { DTYPES, type DTypeInfo } from "../base/dtype.js";
import { rangeError } from "../base/errors.js";
import { checkQuantLimit } from "../tensor/codes.js";

/** The integer dtypes that observers choose qparams for, by PyTorch's names. */
export type ObserverDType =
  | "qint8"
  | "quint8"
  | "qint32"
  | "quint4x2"
  | "int8"
  | "uint8"
  | "int16"
  | "uint16"
  | "int32";

/** The mapping of an observer's range to codes, by PyTorch's names. */
export type QScheme =
  | "per_tensor_affine"
  | "per_tensor_symmetric"
  | "per_channel_affine"
  | "per_channel_symmetric"
  | "per_channel_affine_float_qparams";

/** Options whose names are known. */
type Given = Readonly<Record<string, unknown>>;

/** All integer dtypes of observers. */
export const OBSERVER_DTYPES: readonly ObserverDType[] = [
  "qint8",
  "int8",
  "quint8",
  "uint8",
  "qint32",
  "int32",
  "int16",
  "uint16",
  "quint4x2",
];

/** Limits of an observer's dtype; quint4x2 is two 4-bit codes per byte. */
export function infoOf(dtype: ObserverDType): DTypeInfo {
  return DTYPES[dtype === "quint4x2" ? "uint4" : dtype];
}

/** The schemes of one scale for a tensor. */
export const PER_TENSOR = ["per_tensor_affine", "per_tensor_symmetric"] as const;

/** The schemes of one scale for each channel. */
export const PER_CHANNEL = [
  "per_channel_affine",
  "per_channel_symmetric",
  "per_channel_affine_float_qparams",
] as const;

/** All schemes. */
const QSCHEMES: readonly QScheme[] = [...PER_TENSOR, ...PER_CHANNEL];

/** Checks the name of a dtype. */
export function checkObserverDType<D extends string>(
  where: string,
  value: unknown,
  dtypes: readonly D[],
  fallback: D,
): D {
  return checkChoice(where, "options.dtype", value, dtypes, fallback, "ZP_INVALID_DTYPE");
}

/** Checks a scheme against a list; `undefined` means its first element. */
export function checkQScheme(
  where: string,
  value: unknown,
  qschemes: readonly QScheme[] = QSCHEMES,
): QScheme {
  const [fallback] = qschemes;
  return checkChoice(where, "options.qscheme", value, qschemes, fallback, "ZP_INVALID_QSCHEME");
}

/** Checks the smallest scale; `undefined` means 2⁻²³, torch.finfo(torch.float32).eps. */
export function checkEps(where: string, value: unknown): number {
  return checkFinite(where, "options.eps", value, 2 ** -23);
}

/** Checks quantMin or quantMax; either may be undefined. */
export function checkLimit(
  where: string,
  name: "quantMin" | "quantMax",
  options: Given,
): number | undefined {
  const value = options[name];
  return value === undefined ? undefined : checkQuantLimit(where, `options.${name}`, value);
}

/** Whether the options give the range of codes. A single limit is ignored, as in PyTorch. */
export function hasCustomRange({ quantMin, quantMax }: Given): boolean {
  return quantMin !== undefined && quantMax !== undefined;
}

/**
 * The smallest and the largest code: from the options, else of the dtype.
 *
 * Source: calculate_qmin_qmax.
 */
export function checkCodeRange(
  where: string,
  dtype: ObserverDType,
  reduceRange: boolean,
  options: Given,
): readonly [min: number, max: number] {
  const limits = [checkLimit(where, "quantMin", options), checkLimit(where, "quantMax", options)];
  const isCustom = hasCustomRange(options);
  const { qmin, qmax, bits } = infoOf(dtype);
  const [low, high] = isCustom ? (limits as [number, number]) : [qmin, qmax];
  const problem =
    low > 0 || high < 0
      ? "must contain 0"
      : low >= high
        ? "must hold more than one code"
        : (dtype === "qint8" || dtype === "int8") && high - low > 255
          ? `must hold at most 256 codes for dtype ${dtype}`
          : undefined;
  if (problem !== undefined) {
    throw rangeError(
      "ZP_INVALID_QUANT_RANGE",
      where,
      `options.quantMin to options.quantMax ${problem}, got ${low} to ${high}`,
    );
  }
  const divide = reduceRange && (isCustom || bits === 8) ? 2 : 1;
  return [Math.floor(low / divide), Math.floor(high / divide)];
}
