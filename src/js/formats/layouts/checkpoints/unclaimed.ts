// Tensors that no layout claims although they, or others beside them, look like codes and scales: reading them as they are
// would give codes as values.

import type { Budget } from "../../budget.js";
import type { FileDType } from "../../dtypes.js";
import type { TensorInfo } from "../unpack.js";
import type { QuantizationConfig } from "./config.js";
import {
  INTEGERS,
  isCodes,
  Neighbours,
  OF_ACTIVATIONS,
  OF_CODES,
  SMALL_FLOATS,
  splitName,
} from "./neighbours.js";
import { sizeOf } from "./parts.js";
import { CODE_NAMES, FLOATS8, INNER_CODE_NAMES } from "./patterns.js";

/** The names of tensors of a weight that a layout claims; the first is that of its codes. */
export interface Claim {
  readonly parts: readonly string[];
}

/** Tensors that were not understood. */
export interface Unclaimed {
  /** What was not understood about each tensor of codes, by its name: names of tensors, or words of a configuration. */
  readonly reasons: ReadonlyMap<string, readonly string[]>;
  /** Tensors beside them, such as scales, which are numbers of their own. */
  readonly companions: ReadonlySet<string>;
  /** Claims that are taken back, as there is more beside their codes than they understand. */
  readonly dropped: ReadonlySet<Claim>;
}

/** Names of codes that have a module of their own, in which everything belongs to them. */
const ALONE = ["weight", "weight_packed", "qweight"];

/** Names of ordinary tensors in the module of a weight. */
const ORDINARY = /(^|_)bias$|^running_(mean|var)$|^num_batches_tracked$|^logit_scale$/;

/** Short names of scales, which are of floats if their sizes fit. */
const SHORT = /^(s|sc|scl|sf|ws|d|step|delta|mult|multiplier|factor|mag|inv|rcp|range|max)$/;

/** The largest module whose tensors are compared by their sizes: that of a layer has few. */
const MOST_OF_LAYER = 16;

/** Names beside a weight that only quantizers use. */
const CERTAIN =
  /^(weight_(scale|zero|absmax|quant|codebook|packed)\w*|scale_weight|comfy_quant|scb|per_channel_scale|weights_scaling_factor)$/i;

/** Names of scales of a module's inputs: a module that has one has quantized weights. */
const isOfInputs = (name: string): boolean =>
  /^((input|act|activation)_(global_)?scale|scale_input|qscale_act)$/.test(splitName(name)[1]);

/** Names of whole numbers that are no codes. */
const NUMBERS = /bias$|mask|ids$|index|indices|position|token|table|vocab/i;

/** Names of scales that have no other meaning beside a tensor of float8. */
const SCALES = /^(scale|scales|scale_inv|weight_scale|absmax)$/i;

/** A tensor that tells readers how float8 is scaled in a whole file. */
const FILE_MARKER = /(^|\.)scaled_fp8$/;

/** Tensors that hold text or a table about others. */
const MARKS = /\.(comfy_quant|quant_map|nested_quant_map|quant_state\.\w+|weight_format)$/;

const isOrdinary = (text: string): boolean => ORDINARY.test(text) || OF_ACTIVATIONS.test(text);

/** Whether a tensor of floats may scale codes by its size: a divisor of theirs. */
function isScaleBySize(other: TensorInfo | undefined, { shape }: TensorInfo): boolean {
  if (other === undefined || shape.length < 2 || !SCALE_DTYPES.includes(other.dtype)) return false;
  const [size, count] = [sizeOf(shape), sizeOf(other.shape)];
  return count > 0 && count < size && size % count === 0;
}

const SCALE_DTYPES: readonly FileDType[] = [
  ...(["float64", "float32", "float16", "bfloat16", "float8_e8m0fnu"] as const),
];

/**
 * Finds what no layout claims.
 * @param budget  bounds the pairs of tensors that are compared, of which a file may have as many as names squared
 * @param unreadable  reasons for modules whose marker, and for claims whose tensors, were not understood, by the name of
 *   the codes
 */
export function findUnclaimed(
  budget: Budget,
  tensors: ReadonlyMap<string, TensorInfo>,
  claims: readonly Claim[],
  config: QuantizationConfig | undefined,
  unreadable: ReadonlyMap<string, readonly string[]>,
): Unclaimed {
  const neighbours = new Neighbours(tensors);
  const claimed = new Set(claims.flatMap(({ parts }) => parts));
  const fileMarkers = [...tensors.keys()].filter((name) => FILE_MARKER.test(name));
  const reasons = new Map<string, readonly string[]>();
  const companions = new Set<string>();
  const isFree = (name: string): boolean => !claimed.has(name) && !FILE_MARKER.test(name);

  /** Names beside a tensor of codes that are none of its activations' and nobody's parts. */
  function companionsOf(name: string, info: TensorInfo, isOfLayout: boolean): string[] {
    const { dtype } = info;
    const [module, own] = splitName(name);
    const below = neighbours.below(name).filter(isFree);
    // Names of a module that may have any number of tensors are compared with those alone that can belong to codes.
    let near: readonly string[] = [];
    if (ALONE.includes(own)) near = neighbours.beside(name);
    else if (isCodes(dtype)) near = neighbours.ofCodesBeside(name);
    budget.spend(`openModel: ${name}`, 0, 8 * near.length);
    const others = near.filter((other) => other !== name && isFree(other));
    const named = others.map((other) => [other, splitName(other)[1]] as const);
    const isOfCodes = (text: string): boolean => OF_CODES.test(text) && !OF_ACTIVATIONS.test(text);
    const beside = named.filter(([, text]) => {
      if (ALONE.includes(own) && isCodes(dtype))
        return !ORDINARY.test(text) && !OF_ACTIVATIONS.test(text);
      if (!isCodes(dtype)) return own === "weight" && CERTAIN.test(text);
      const goesOn = text.startsWith(`${own}_`) && !ORDINARY.test(text);
      const isSmall = SMALL_FLOATS.includes(dtype);
      if (goesOn && isOfCodes(text.slice(own.length))) return true;
      const isScaled = isSmall && !SCALES.test(own) && !ORDINARY.test(own);
      if (isScaled && SCALES.test(text)) return !isOfLayout;
      return !isOfLayout && INTEGERS.includes(dtype) && module !== "" && isOfCodes(text);
    });
    const byName = beside.map(([other]) => other);
    const isMark = (other: string): boolean => OF_CODES.test(other.slice(name.length));
    if (!isCodes(dtype)) return [...below.filter(isMark), ...byName];
    const fits = (other: string): boolean => isScaleBySize(tensors.get(other), info);
    const after = neighbours
      .after(name)
      .filter((other) => isFree(other) && !isOrdinary(splitName(other)[1]) && fits(other));
    const marks = below.filter((other) => isMark(other) || fits(other));
    if (isOfLayout) return [...new Set([...marks, ...byName, ...after])];
    const outside = neighbours.outside(name).filter(isFree);
    const inTrees = neighbours.inTrees(name).filter((other) => isFree(other) && fits(other));
    const layer = neighbours.beside(name);
    const bySize = (layer.length <= MOST_OF_LAYER ? layer : []).filter((other) => {
      const [, text] = splitName(other);
      if (other === name || !isFree(other) || isOrdinary(text) || !fits(other)) return false;
      // Names at the root are no layer's: they may be of anything.
      if (SHORT.test(text)) return true;
      if (module === "" || INTEGERS.includes(dtype)) return module !== "";
      const [stem] = /^.*_(?=[^_]*$)/.exec(own) ?? [own];
      return text.startsWith(stem) || text.endsWith(`_${own}`);
    });
    return [...new Set([...marks, ...byName, ...outside, ...after, ...inTrees, ...bySize])];
  }

  const dropped = new Set<Claim>();
  for (const claim of claims) {
    const [codes] = claim.parts;
    const info = tensors.get(codes) as TensorInfo;
    const found = companionsOf(codes, info, true);
    const why = config?.refused;
    if (found.length === 0 && why === undefined) continue;
    dropped.add(claim);
    reasons.set(codes, [...(why ? [why] : []), ...found]);
    for (const name of [...found, ...claim.parts.slice(1)]) companions.add(name);
  }
  for (const { parts } of dropped) for (const part of parts) claimed.delete(part);
  const hasScaledFloats = claims.some(
    (claim) =>
      !dropped.has(claim) && FLOATS8.includes(tensors.get(claim.parts[0])?.dtype as FileDType),
  );

  /** Why codes of a checkpoint that is quantized are no values. */
  function reasonOf(name: string, { dtype, shape }: TensorInfo): string | undefined {
    const [module, own] = splitName(name);
    const isWide = shape.length >= 2 && shape.every((length) => length > 0);
    if (isWide && CODE_NAMES.test(own)) return "codes without their scales";
    if (own === "compressed" && tensors.has(name.replace(/compressed$/, "bitmask"))) {
      return "its bitmask, of sparse weights";
    }
    const centroids = name.replace(/indices$/, "centroids.weight");
    if (centroids !== name && tensors.has(centroids)) return centroids;
    if (/(^|_)bias$/.test(own) && INTEGERS.includes(dtype) && shape.length === 1)
      return "codes of a bias without scales";
    if (!isWide || !isCodes(dtype)) return undefined;
    if (INNER_CODE_NAMES.test(own)) return "codes without their scales";
    if (config?.refused !== undefined) return config.refused;
    if (/^(q_)?weight$|_proj$/.test(own) && INTEGERS.includes(dtype)) return "codes without scales";
    const isScaled = FLOATS8.includes(dtype) && own === "weight";
    if (isScaled && fileMarkers.length > 0) return `the marker ${fileMarkers[0]}`;
    const ofInputs = isScaled ? neighbours.beside(name).find(isOfInputs) : undefined;
    if (ofInputs !== undefined) return `no scale, which its inputs have: ${ofInputs}`;
    if (isScaled && hasScaledFloats) return "no scale, which others of this file have";
    const { method, isIgnored } = config ?? {};
    const isOfMethod = method !== undefined && isIgnored?.(module) !== true;
    const isByte = (dtype === "int8" || dtype === "uint8") && !NUMBERS.test(own);
    if (isOfMethod && (SMALL_FLOATS.includes(dtype) || isByte)) {
      return `no scale, in a model of quant_method ${method}`;
    }
    return undefined;
  }

  const free = [...tensors].filter(
    ([name]) => isFree(name) && !reasons.has(name) && !MARKS.test(name),
  );
  const foundBeside = new Map(free.map(([name, info]) => [name, companionsOf(name, info, false)]));
  for (const found of foundBeside.values()) for (const name of found) companions.add(name);
  for (const [name, info] of free) {
    const known = unreadable.get(name) ?? [];
    const found = foundBeside.get(name) as string[];
    // A single number is a scale itself.
    if (known.length + found.length > 0 && info.shape.every((length) => length <= 1)) continue;
    const why = found.length > 0 || companions.has(name) ? undefined : reasonOf(name, info);
    const refused = found.length > 0 ? config?.refused : undefined;
    const all = [...known, ...(refused ? [refused] : []), ...found, ...(why ? [why] : [])];
    if (all.length > 0) reasons.set(name, [...new Set(all)]);
  }
  for (const names of unreadable.values())
    for (const name of names) if (tensors.has(name)) companions.add(name);
  for (const name of reasons.keys()) companions.delete(name);
  return { reasons, companions, dropped };
}
