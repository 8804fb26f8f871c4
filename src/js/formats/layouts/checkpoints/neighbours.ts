// The names of tensors by what they stand beside: in one module, below one another, and in a tree of scales.

import type { FileDType } from "../../dtypes.js";
import type { TensorInfo } from "../unpack.js";
import { FLOATS8 } from "./patterns.js";

export const INTEGERS: readonly FileDType[] = [
  ...(["int8", "uint8", "int16", "uint16", "int32", "uint32"] as const),
];
export const SMALL_FLOATS: readonly FileDType[] = [
  ...FLOATS8,
  ...(["float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"] as const),
];

/** Whether a tensor of this dtype may hold codes. */
export const isCodes = (dtype: FileDType): boolean =>
  INTEGERS.includes(dtype) || SMALL_FLOATS.includes(dtype);

/** Names of what belongs to codes. */
export const OF_CODES =
  /scale|absmax|amax|zero|quant|codebook|scb$|g_idx|biases$|offset|lut$|qmap|permute|_perm$|(^|_)zps?$/i;

/** Names of what belongs to the activations of a module, not to its weight. */
export const OF_ACTIVATIONS =
  /^((input|output|act|activation|[qkv]|kv|[qkv]_proj|prob|bmm\w*)_(scale|zero|global_scale|amax)\w*|scale_input|scale_output|qscale_act)$/i;

/** Whether a name within a module is that of a scale, or another number, of its activations. */
export const isOfActivations = (name: string): boolean => OF_ACTIVATIONS.test(name);

/** Names of modules that hold the scales of others. */
const TREE = /^(\w*_)?(scales?|scale_inv|absmax|amax|zeros?|zero_points?|quant_params|qparams)$/i;

/** What a name is called within its module, and the module. */
export function splitName(name: string): [module: string, own: string] {
  const end = Math.max(name.lastIndexOf("."), name.lastIndexOf("/"));
  return [name.slice(0, Math.max(end, 0)), name.slice(end + 1)];
}

/** The longest name that is compared with names of modules. */
const MOST_LETTERS = 256;

/** The deepest name that is looked for in a tree of scales. */
const MOST_MODULES = 16;

/** Names of tensors by what they stand beside. */
export class Neighbours {
  readonly #inModule = new Map<string, string[]>();
  /** Those of a module that belong to codes by their names. */
  readonly #ofCodes = new Map<string, string[]>();
  /** Names that go on after a dot, by the name of a tensor. */
  readonly #below = new Map<string, string[]>();
  /** Names that go on after an underscore, by the name of a tensor. */
  readonly #after = new Map<string, string[]>();
  /**
   * Names outside of a module that belong to its codes, by the name of these: "a.q_scale", "a.scale_q", and
   * "scales.a.q.weight" in a tree of scales, for "a.q.weight".
   */
  readonly #outside = new Map<string, string[]>();
  /** Names in a tree of scales, by those without it, and with "*" for it. */
  readonly #trees = new Map<string, string[]>();

  constructor(tensors: ReadonlyMap<string, TensorInfo>) {
    for (const name of tensors.keys()) {
      const [module, own] = splitName(name);
      add(this.#inModule, module, name);
      if (OF_CODES.test(own)) add(this.#ofCodes, module, name);
      for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
        const above = name.slice(0, dot);
        if (tensors.has(above)) add(this.#below, above, name);
      }
      const start = name.length - own.length;
      for (let at = own.indexOf("_", 1); at > 0; at = own.indexOf("_", at + 1)) {
        const before = name.slice(0, start + at);
        if (tensors.has(before)) add(this.#after, before, name);
      }
      for (const codes of codesInside(name))
        if (tensors.has(codes)) add(this.#outside, codes, name);
      for (const [i, path] of modulesOf(name)) {
        if (!TREE.test(path[i])) continue;
        add(this.#trees, [...path.slice(0, i), ...path.slice(i + 1)].join("."), name);
        add(this.#trees, withoutModule(path, i), name);
      }
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

  after(name: string): readonly string[] {
    return this.#after.get(name) ?? [];
  }

  outside(name: string): readonly string[] {
    return this.#outside.get(name) ?? [];
  }

  /** Names of the same path but for a module of scales. */
  inTrees(name: string): readonly string[] {
    if (this.#trees.size === 0) return [];
    const found = [...(this.#trees.get(name) ?? [])];
    for (const [i, path] of modulesOf(name))
      found.push(...(this.#trees.get(withoutModule(path, i)) ?? []));
    return found;
  }
}

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
    if (OF_CODES.test(own.slice(0, at))) yield `${name.slice(0, start)}${rest}.weight`;
  }
}

/** The path of a name that is not too deep, with the index of each of its modules. */
function* modulesOf(name: string): Generator<readonly [number, readonly string[]]> {
  const path = name.split(".", MOST_MODULES + 1);
  if (path.length > MOST_MODULES || name.length > MOST_LETTERS) return;
  for (let i = 0; i < path.length - 1; i++) yield [i, path];
}

/** A path with "*" for one of its modules. */
const withoutModule = (path: readonly string[], i: number): string =>
  [...path.slice(0, i), "*", ...path.slice(i + 1)].join(".");

function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
