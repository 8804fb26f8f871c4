// Tensors that must have the same scheme, and the options that they have in common.

import { wrongKind } from "../../base/check.js";
import { rangeError } from "../../base/errors.js";
import { show } from "../../base/format-value.js";
import { checkObject } from "../../base/options.js";
import { type Glob, parseGlob } from "../glob.js";
import type { Choices } from "./hull.js";
import { byText, type Candidate, type PlanInput, type PlanTensor } from "./rows.js";

/**
 * The default of `same`: weights that engines multiply at once, by their names in Hugging Face's, Meta's and GGUF
 * files. Names that differ only in the alternative in braces get one scheme.
 */
export const DEFAULT_SAME: readonly string[] = /* @__PURE__ */ Object.freeze([
  "*{q_proj,k_proj,v_proj}.weight",
  "*{gate_proj,up_proj}.weight",
  "*.attention.{wq,wk,wv}.weight",
  "*.feed_forward.{w1,w3}.weight",
  "*.{query,key,value}.weight",
  "*.SelfAttention.{q,k,v}.weight",
  "*.{wi_0,wi_1}.weight",
  "*.{to_q,to_k,to_v}.weight",
  "blk.*.{attn_q,attn_k,attn_v}.weight",
  "blk.*.{ffn_gate,ffn_up}.weight",
  "blk.*.{ffn_gate_exps,ffn_up_exps}.weight",
  "blk.*.{ffn_gate_shexp,ffn_up_shexp}.weight",
]);

/** Tensors with one scheme. */
export interface Group {
  /** Sorted by name. */
  readonly tensors: readonly PlanTensor[];
  /** The schemes of each option, by its index in the choices. */
  readonly schemes: readonly string[];
  /** The reason why there is no choice, by tensor. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** The groups in the order of their first tensors, and their options. */
export interface Grouped {
  readonly groups: readonly Group[];
  readonly choices: Choices;
}

/** A pinned scheme and its pattern. */
interface Pin {
  readonly scheme: string;
  readonly glob: Glob;
}

/**
 * Groups tensors and finds the options of each group.
 * @throws {TypeError | RangeError} `ZP_INVALID_OPTION`
 */
export function groupTensors(
  where: string,
  input: PlanInput,
  options: {
    readonly pin: unknown;
    readonly same: unknown;
    readonly minSqnr: number | undefined;
    readonly format: string | undefined;
  },
): Grouped {
  const pins = readPins(where, options.pin);
  const pinned = pinsOf(where, pins, input);
  const members = unite(where, input, options.same);
  const groups: Group[] = [];
  const starts = [0];
  const bytes: number[] = [];
  const errors: number[] = [];
  for (const own of members) {
    const { candidates, reasons } = optionsOf(where, input, own, pinned, options);
    groups.push({ tensors: own, schemes: candidates.map(({ scheme }) => scheme), reasons });
    for (const option of candidates) {
      bytes.push(option.bytes);
      errors.push(option.error);
    }
    starts.push(bytes.length);
  }
  const choices = {
    starts: Int32Array.from(starts),
    bytes: Float64Array.from(bytes),
    errors: Float64Array.from(errors),
  };
  return { groups, choices };
}

function readPins(where: string, given: unknown): Pin[] {
  if (given === undefined) return [];
  const pins = Object.entries(checkObject(where, "options.pin", given));
  return pins.map(([pattern, scheme]) => {
    const glob = parseGlob(where, "a pattern of options.pin", pattern);
    if (typeof scheme === "string") return { glob, scheme: scheme.toLowerCase() };
    const argument = `options.pin[${show(pattern)}]`;
    throw wrongKind("ZP_INVALID_OPTION", where, argument, "the name of a scheme", scheme);
  });
}

/**
 * The pin of each tensor: the last one that matches. Norms, biases and others that are kept have no rows of another
 * scheme, and stay as they are.
 */
function pinsOf(where: string, pins: readonly Pin[], input: PlanInput): ReadonlyMap<string, Pin> {
  const found = new Map<string, Pin>();
  for (const pin of pins) {
    const matching = input.tensors.filter(({ name }) => pin.glob.matches(name));
    for (const { name } of matching) found.set(name, pin);
    if (matching.some((tensor) => !staysKept(input, tensor, pin))) continue;
    const [kept] = matching;
    const problem =
      kept === undefined
        ? "which no tensor of the rows matches"
        : `which only kept tensors match: ${show(kept.name)} is kept (${kept.reason ?? "it has no other row"})`;
    const named = `options.pin names ${show(pin.glob.pattern)}, ${problem}`;
    throw rangeError("ZP_INVALID_OPTION", where, named);
  }
  return found;
}

/** Whether a pin has no effect on a tensor. */
const staysKept = (input: PlanInput, tensor: PlanTensor, { scheme }: Pin): boolean =>
  scheme !== "keep" && input.isKept(tensor);

/** Lists of tensors that must agree, in the order of their first names. */
function unite(where: string, input: PlanInput, same: unknown): PlanTensor[][] {
  const { tensors } = input;
  const parents = Int32Array.from(tensors, (_, i) => i);
  const rootOf = (index: number): number => {
    let root = index;
    while (parents[root] !== root) root = parents[root];
    parents[index] = root;
    return root;
  };
  const firsts = new Map<string, number>();
  const join = (key: string, index: number): void => {
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, index);
    else {
      const [a, b] = [rootOf(first), rootOf(index)];
      parents[Math.max(a, b)] = Math.min(a, b);
    }
  };
  const keys = readSame(where, same);
  for (const [index, tensor] of tensors.entries()) {
    if (input.isKept(tensor)) continue;
    if (tensor.sha256 !== undefined && tensor.parameters > 0) {
      join(`sha256 ${tensor.parameters} ${tensor.sha256}`, index);
    }
    for (const key of keys(tensor.name)) join(key, index);
  }
  const members = new Map<number, PlanTensor[]>();
  for (const [index, tensor] of tensors.entries()) {
    const root = rootOf(index);
    const own = members.get(root);
    if (own === undefined) members.set(root, [tensor]);
    else own.push(tensor);
  }
  return [...members.values()];
}

/** The keys of a tensor by its name: tensors with a key in common must agree. */
function readSame(where: string, given: unknown): (name: string) => string[] {
  const list = given ?? DEFAULT_SAME;
  if (!Array.isArray(list)) {
    const wanted = "a list of patterns, or of lists of patterns";
    throw wrongKind("ZP_INVALID_OPTION", where, "options.same", wanted, given);
  }
  const rules = Array.from(list as readonly unknown[], (item, i) => {
    const argument = `options.same[${i}]`;
    if (!Array.isArray(item)) {
      const glob = parseGlob(where, argument, item);
      return (name: string) => {
        const key = glob.key(name);
        return key === undefined ? undefined : `${i} ${key}`;
      };
    }
    const globs = Array.from(item as readonly unknown[], (each, j) =>
      parseGlob(where, `${argument}[${j}]`, each),
    );
    return (name: string) => (globs.some((glob) => glob.matches(name)) ? `${i}` : undefined);
  });
  return (name) => rules.map((rule) => rule(name)).filter((key) => key !== undefined);
}

interface Option {
  readonly scheme: string;
  readonly bytes: number;
  readonly error: number;
}

/** The options of a group: by ascending bytes and descending error. */
function optionsOf(
  where: string,
  input: PlanInput,
  tensors: readonly PlanTensor[],
  pinned: ReadonlyMap<string, Pin>,
  {
    minSqnr,
    format,
  }: { readonly minSqnr: number | undefined; readonly format: string | undefined },
): { candidates: Option[]; reasons: ReadonlyMap<string, string> } {
  const names = () => tensors.map(({ name }) => show(name)).join(", ");
  const reasons = new Map<string, string>();
  let pin: Pin | undefined;
  for (const tensor of tensors) {
    const { name, reason } = tensor;
    const own = pinned.get(name);
    if (own !== undefined && staysKept(input, tensor, own)) {
      const why = reason === undefined ? "" : `${reason}; `;
      reasons.set(name, `${why}not pinned by ${JSON.stringify(own.glob.pattern)}`);
      continue;
    }
    if (own === undefined) {
      if (reason !== undefined && input.isKept(tensor)) reasons.set(name, reason);
      continue;
    }
    if (pin !== undefined && pin.scheme !== own.scheme) {
      const problem = `options.pin has ${pin.scheme} and ${own.scheme} for tensors that must agree, ${names()}`;
      throw rangeError("ZP_INVALID_OPTION", where, problem);
    }
    pin = own;
    reasons.set(name, `pinned by ${JSON.stringify(own.glob.pattern)}`);
  }
  if (tensors.length > 1) {
    for (const { name } of tensors) {
      const other = tensors.find((each) => each.name !== name) as PlanTensor;
      if (!reasons.has(name)) reasons.set(name, `the same as ${other.name}`);
    }
  }
  let common = candidatesOf(where, input, tensors[0], pin);
  for (const tensor of tensors.slice(1)) {
    const others = new Map(
      candidatesOf(where, input, tensor, pin).map((each) => [each.scheme, each]),
    );
    common = common.flatMap((option) => {
      const other = others.get(option.scheme);
      if (other === undefined) return [];
      const isAllowed = option.isAllowed && other.isAllowed;
      const bytes = option.bytes + other.bytes;
      const headerBytes = option.headerBytes + other.headerBytes;
      const error = option.error + other.error;
      return [{ scheme: option.scheme, bytes, headerBytes, error, isAllowed }];
    });
  }
  if (common.length === 0) {
    const wanted = pin === undefined ? "one scheme" : `the scheme ${pin.scheme} of options.pin`;
    const held = format === undefined ? "" : ` that ${format} has`;
    const problem = `no row has ${wanted}${held} for ${tensors.length > 1 ? "each of " : ""}${names()}`;
    throw rangeError("ZP_INVALID_OPTION", where, problem);
  }
  // A pin takes precedence over `minSqnr`.
  const allowed = pin === undefined ? common.filter(({ isAllowed }) => isAllowed) : common;
  if (allowed.length === 0) {
    const problem = `no scheme of the rows has ${minSqnr} dB for ${names()}; analyze more schemes, or "keep"`;
    throw rangeError("ZP_IMPOSSIBLE_BUDGET", where, problem);
  }
  return { candidates: undominated(allowed), reasons };
}

function candidatesOf(
  where: string,
  input: PlanInput,
  tensor: PlanTensor,
  pin: Pin | undefined,
): Candidate[] {
  const candidates = input.candidatesOf(where, tensor);
  if (pin === undefined) return candidates;
  const found = candidates.filter(({ scheme }) => scheme === pin.scheme);
  if (found.length > 0 || pin.scheme !== "keep" || tensor.bytesBefore === undefined) return found;
  return [{ scheme: "keep", bytes: tensor.bytesBefore, headerBytes: 0, error: 0, isAllowed: true }];
}

/** Options without the dominated ones: options for which another one is at least as good; of equal ones, the first name. */
function undominated(options: readonly Option[]): Option[] {
  const sorted = [...options].sort(
    (a, b) => a.bytes - b.bytes || a.error - b.error || byText(a.scheme, b.scheme),
  );
  let least = Number.POSITIVE_INFINITY;
  return sorted.filter(({ error }) => {
    if (error >= least) return false;
    least = error;
    return true;
  });
}
