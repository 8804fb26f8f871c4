// Python's calling convention: positional arguments, then keywords as one plain object at the end.

import { show } from "../show.js";
import { isScalar, type Scalar } from "./cast.js";
import { pythonError } from "./errors.js";
import { isPlainObject } from "./python.js";

/** Separates a trailing plain object, which holds keyword arguments, from the others. */
export function splitKeywords(args: readonly unknown[]): {
  positional: readonly unknown[];
  keywords: Readonly<Record<string, unknown>>;
} {
  const last = args[args.length - 1];
  if (!isPlainObject(last)) return { positional: args, keywords: {} };
  return { positional: args.slice(0, -1), keywords: last };
}

/** Whether a keyword argument is given. */
export function hasKeyword(args: readonly unknown[], name: string): boolean {
  return Object.hasOwn(splitKeywords(args).keywords, name);
}

/**
 * Matches arguments with parameters.
 *
 * @param parameters  names in Python's order; a name that ends in "?" may be left out
 * @param args        positional arguments, then perhaps an object of keyword arguments
 * @returns the arguments in the parameters' order, undefined where one was left out
 * @throws {TypeError} for too many, missing, unknown or repeated arguments
 * @example bindArguments("f", ["x", "dtype?"], [x, { dtype: torch.int8 }]) // [x, torch.int8]
 */
export function bindArguments(
  where: string,
  parameters: readonly string[],
  args: readonly unknown[],
): unknown[] {
  const { positional, keywords } = splitKeywords(args);
  const names = parameters.map((name) => name.replace("?", ""));
  if (positional.length > names.length) {
    throw pythonError(
      "TypeError",
      `${where}: takes ${count(names.length, "argument")} (${names.join(", ")}), ` +
        `got ${positional.length}`,
    );
  }
  const bound: unknown[] = names.map((_, i) => positional[i]);
  for (const [name, value] of Object.entries(keywords)) {
    const at = names.indexOf(name);
    if (at < 0) {
      throw pythonError(
        "TypeError",
        `${where}: has no argument ${show(name)}; it takes ${names.join(", ") || "none"}`,
      );
    }
    if (at < positional.length && positional[at] !== undefined) {
      throw pythonError("TypeError", `${where}: got two values for the argument ${name}`);
    }
    bound[at] = value;
  }
  parameters.forEach((name, i) => {
    if (bound[i] === undefined && !name.endsWith("?")) {
      throw pythonError("TypeError", `${where}: the argument ${name} is missing`);
    }
  });
  return bound;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** Sizes given one by one or as one array. */
export function flattenSizes(args: readonly unknown[]): readonly unknown[] {
  return args.length === 1 && Array.isArray(args[0]) ? args[0] : args;
}

/** true or false; undefined means false. @throws {TypeError} */
export function checkFlag(where: string, argument: string, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  throw pythonError("TypeError", `${where}: ${argument} must be true or false, got ${show(value)}`);
}

/** A number, BigInt or boolean. @throws {TypeError} */
export function checkScalar(where: string, argument: string, value: unknown): Scalar {
  if (isScalar(value)) return value;
  throw pythonError("TypeError", `${where}: ${argument} must be a number, got ${show(value)}`);
}
