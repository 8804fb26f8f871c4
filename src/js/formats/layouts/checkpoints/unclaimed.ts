// Tensors that no layout claims although they, or others beside them, look like codes and scales: reading them as they are
// would give codes as values.

import type { Budget } from "../../budget.js";
import type { FileDType } from "../../dtypes.js";
import type { TensorInfo } from "../unpack.js";
import type { QuantizationConfig } from "./config.js";
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

const INTEGERS: readonly FileDType[] = [
  ...(["int8", "uint8", "int16", "uint16", "int32", "uint32"] as const),
];
const SMALL_FLOATS: readonly FileDType[] = [
  ...FLOATS8,
  ...(["float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"] as const),
];

const isCodes = (dtype: FileDType): boolean =>
  INTEGERS.includes(dtype) || SMALL_FLOATS.includes(dtype);

/** Names of what belongs to codes. */
const OF_CODES =
  /scale|absmax|amax|zero|quant|codebook|scb$|g_idx|biases$|offset|lut$|qmap|permute|_perm$/i;

/** Names of what belongs to the activations of a module, not to its weight. */
const OF_ACTIVATIONS =
  /^((input|output|act|activation|[qkv]|kv|[qkv]_proj|prob|bmm\w*)_(scale|zero|global_scale|amax)\w*|scale_input|scale_output)$/i;

/** Whether a name within a module is that of a scale, or another number, of its activations. */
export const isOfActivations = (name: string): boolean => OF_ACTIVATIONS.test(name);

/** Names of codes that have a module of their own, in which everything belongs to them. */
const ALONE = ["weight", "weight_packed", "qweight"];

/** Names of ordinary tensors in the module of a weight. */
const ORDINARY = /(^|_)bias$|^running_(mean|var)$|^num_batches_tracked$/;

/** Names beside a weight that only quantizers use. */
const CERTAIN =
  /^(weight_(scale|zero|absmax|quant|codebook|packed)\w*|scale_weight|comfy_quant|scb|per_channel_scale|weights_scaling_factor)$/i;

/** Names of scales that have no other meaning beside a tensor of float8. */
const SCALES = /^(scale|scales|scale_inv|weight_scale|absmax)$/i;

/** A tensor that tells readers how float8 is scaled in a whole file. */
const FILE_MARKER = /(^|\.)scaled_fp8$/;

/** Tensors that hold text or a table about others. */
const MARKS = /\.(comfy_quant|quant_map|nested_quant_map|quant_state\.\w+|weight_format)$/;

/** What a name is called within its module, and the module. */
export function splitName(name: string): [module: string, own: string] {
  const dot = name.lastIndexOf(".");
  return [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
}

/** Names of tensors by what they stand beside. */
class Neighbours {
  readonly #inModule = new Map<string, string[]>();
  /** Those of a module that belong to codes by their names. */
  readonly #ofCodes = new Map<string, string[]>();
  /** Names that go on after a dot, by the name of a tensor. */
  readonly #below = new Map<string, string[]>();
  /**
   * Names outside of a module that belong to its codes, by the name of these: "a.q_scale", and "scales.a.q.weight" in a tree
   * of scales, for "a.q.weight".
   */
  readonly #outside = new Map<string, string[]>();

  constructor(tensors: ReadonlyMap<string, TensorInfo>) {
    for (const name of tensors.keys()) {
      const [module, own] = splitName(name);
      add(this.#inModule, module, name);
      if (OF_CODES.test(own)) add(this.#ofCodes, module, name);
      for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
        const above = name.slice(0, dot);
        if (tensors.has(above)) add(this.#below, above, name);
      }
      for (const codes of codesInside(name))
        if (tensors.has(codes)) add(this.#outside, codes, name);
    }
  }

  /** Names of the same module. */
  beside(name: string): readonly string[] {
    return this.#inModule.get(splitName(name)[0]) ?? [];
  }

  /** Names of the same module that belong to codes. */
  ofCodesBeside(name: string): readonly string[] {
    return this.#ofCodes.get(splitName(name)[0]) ?? [];
  }

  below(name: string): readonly string[] {
    return this.#below.get(name) ?? [];
  }

  outside(name: string): readonly string[] {
    return this.#outside.get(name) ?? [];
  }
}

/** The longest name that is compared with names of modules. */
const MOST_LETTERS = 256;

/** Names of codes that a tensor may belong to, which is not in their module. */
function* codesInside(name: string): Generator<string> {
  const [tree] = name.split(".", 1);
  if (OF_CODES.test(tree)) yield name.slice(tree.length + 1);
  const [, own] = splitName(name);
  if (own.length > MOST_LETTERS || !OF_CODES.test(own)) return;
  const start = name.length - own.length;
  for (let at = own.indexOf("_"); at > 0; at = own.indexOf("_", at + 1)) {
    const rest = own.slice(at + 1);
    if (OF_CODES.test(rest) && !OF_ACTIVATIONS.test(rest))
      yield `${name.slice(0, start + at)}.weight`;
  }
}

function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

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
  function companionsOf(name: string, { dtype }: TensorInfo, isOfLayout: boolean): string[] {
    const [, own] = splitName(name);
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
      if (isSmall && !SCALES.test(own) && SCALES.test(text)) return !isOfLayout;
      return !isOfLayout && INTEGERS.includes(dtype) && name.includes(".") && isOfCodes(text);
    });
    const isMark = (other: string): boolean => OF_CODES.test(other.slice(name.length));
    const outside = !isOfLayout && isCodes(dtype) ? neighbours.outside(name).filter(isFree) : [];
    return [...below.filter(isMark), ...beside.map(([other]) => other), ...outside];
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
    if (!isWide || !isCodes(dtype)) return undefined;
    if (INNER_CODE_NAMES.test(own)) return "codes without their scales";
    if (config?.refused !== undefined) return config.refused;
    if (/^(q_)?weight$/.test(own) && INTEGERS.includes(dtype)) return "codes without scales";
    const isScaled = FLOATS8.includes(dtype) && own === "weight";
    if (isScaled && fileMarkers.length > 0) return `the marker ${fileMarkers[0]}`;
    if (isScaled && hasScaledFloats) return "no scale, which others of this file have";
    const { method, isIgnored } = config ?? {};
    if (method !== undefined && SMALL_FLOATS.includes(dtype) && isIgnored?.(module) !== true) {
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
