// Patterns of tensor names: * for any text, ? for one character, {a,b} for alternatives.

import { rangeError, typeError } from "../base/errors.js";
import { show } from "../base/format-value.js";

/** A pattern that names are compared with. */
export interface Glob {
  readonly pattern: string;
  /** Whether the whole name matches. */
  matches(name: string): boolean;
  /**
   * The name without its alternatives: names with one key differ only in the alternative of {a,b}.
   * @returns undefined if the name does not match
   */
  key(name: string): string | undefined;
}

const MAX_LENGTH = 1000;

/**
 * Reads a pattern.
 * @param argument  the argument's name in messages
 * @throws {TypeError} `ZP_INVALID_OPTION` if it is not a string
 * @throws {RangeError} `ZP_INVALID_OPTION` if it is longer than 1000 characters, or a brace has no partner
 */
export function parseGlob(where: string, argument: string, given: unknown): Glob {
  if (typeof given !== "string") {
    const problem = `${argument} must be a pattern of names, got ${show(given)}`;
    throw typeError("ZP_INVALID_OPTION", where, problem);
  }
  const refuse = (wanted: string): Error =>
    rangeError("ZP_INVALID_OPTION", where, `${argument} must ${wanted}, got ${show(given)}`);
  if (given.length > MAX_LENGTH) throw refuse(`have at most ${MAX_LENGTH} characters`);
  // A name alone, of which lists have thousands.
  if (!/[*?{}]/.test(given)) {
    return {
      pattern: given,
      matches: (name) => name === given,
      key: (name) => (name === given ? "" : undefined),
    };
  }
  const program: Step[] = [];
  /** Of every open brace: the jumps from the ends of its alternatives, and the split before the last one. */
  const braces: { jumps: Jump[]; split: Split }[] = [];
  const split = (): Split => {
    const step: Split = { kind: "split", first: program.length + 1, second: 0 };
    program.push(step);
    return step;
  };
  for (const [token] of given.matchAll(/\*+|[\s\S]/gu)) {
    const brace = braces.at(-1);
    if (token.startsWith("*")) {
      if (brace === undefined) program.push({ kind: "capture" });
      const start = program.length;
      const loop = split();
      program.push({ kind: "any" }, { kind: "jump", to: start });
      loop.second = program.length;
      if (brace === undefined) program.push({ kind: "capture" });
    } else if (token === "?") {
      if (brace === undefined)
        program.push({ kind: "capture" }, { kind: "any" }, { kind: "capture" });
      else program.push({ kind: "any" });
    } else if (token === "{") {
      braces.push({ jumps: [], split: split() });
    } else if (brace !== undefined && (token === "," || token === "}")) {
      if (token === ",") {
        const jump: Jump = { kind: "jump", to: 0 };
        program.push(jump);
        brace.jumps.push(jump);
        brace.split.second = program.length;
        brace.split = split();
        continue;
      }
      // The last alternative has no other one after it.
      brace.split.second = brace.split.first;
      for (const jump of brace.jumps) jump.to = program.length;
      braces.pop();
    } else if (token === "}") throw refuse("open a brace before it closes one");
    else program.push({ kind: "text", text: token });
  }
  if (braces.length > 0) throw refuse("close each brace");
  return {
    pattern: given,
    matches: (name) => run(program, name) !== undefined,
    key: (name) => run(program, name),
  };
}

/** Goes on with one of two steps; the first is preferred. */
interface Split {
  readonly kind: "split";
  readonly first: number;
  second: number;
}

interface Jump {
  readonly kind: "jump";
  to: number;
}

/** A step of a pattern: a character, any character, an end of a captured text, or where to go on. */
type Step =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "any" }
  | { readonly kind: "capture" }
  | Split
  | Jump;

/** The ends of captured texts, the last one first. */
interface Captured {
  readonly position: number;
  readonly before: Captured | undefined;
}

/**
 * Runs all ways through a pattern at once, character by character, the preferred ways first: the time is at most the
 * product of both lengths, whatever the pattern is.
 * @returns the captured texts, joined by U+0000; undefined if the name does not match
 */
function run(program: readonly Step[], name: string): string | undefined {
  const letters = [...name];
  const seen = new Int32Array(program.length + 1).fill(-1);
  let ways: { step: number; captured: Captured | undefined }[] = [];
  for (let position = 0; position <= letters.length; position++) {
    const next: typeof ways = [];
    /** Steps that take no character are followed at once. */
    const follow = (from: number, ends: Captured | undefined): void => {
      let [step, captured] = [from, ends];
      while (seen[step] !== position) {
        seen[step] = position;
        const own = program[step];
        if (own?.kind === "jump") step = own.to;
        else if (own?.kind === "capture") {
          captured = { position, before: captured };
          step++;
        } else if (own?.kind === "split") {
          follow(own.first, captured);
          step = own.second;
        } else {
          next.push({ step, captured });
          return;
        }
      }
    };
    if (position === 0) follow(0, undefined);
    for (const { step, captured } of ways) {
      const own = program[step];
      const isTaken =
        own?.kind === "any" || (own?.kind === "text" && own.text === letters[position - 1]);
      if (isTaken) follow(step + 1, captured);
    }
    ways = next;
    if (ways.length === 0) return undefined;
  }
  const end = ways.find(({ step }) => step === program.length);
  return end && textsOf(letters, end.captured).join("\0");
}

function textsOf(letters: readonly string[], captured: Captured | undefined): string[] {
  const texts: string[] = [];
  for (let end = captured; end?.before !== undefined; end = end.before.before) {
    texts.unshift(letters.slice(end.before.position, end.position).join(""));
  }
  return texts;
}
