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
  let source = "";
  let depth = 0;
  for (const [token] of given.matchAll(/\*+|[\s\S]/gu)) {
    if (token.startsWith("*")) source += depth > 0 ? "[\\s\\S]*" : "([\\s\\S]*)";
    else if (token === "?") source += depth > 0 ? "[\\s\\S]" : "([\\s\\S])";
    else if (token === "{") {
      depth++;
      source += "(?:";
    } else if (token === "}") {
      if (depth-- === 0) throw refuse("open a brace before it closes one");
      source += ")";
    } else if (token === "," && depth > 0) source += "|";
    else source += token.replace(/[\\^$.|+()[\]/]/, "\\$&");
  }
  if (depth > 0) throw refuse("close each brace");
  const regex = new RegExp(`^${source}$`, "u");
  return {
    pattern: given,
    matches: (name) => regex.test(name),
    key: (name) => regex.exec(name)?.slice(1).join("\0"),
  };
}
