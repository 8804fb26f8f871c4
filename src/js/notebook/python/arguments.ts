// Python's calling convention: positional arguments, then keywords as one plain object at the end.

import { define } from "../../base/fields.js";
import { show } from "../../base/format-value.js";
import { isPlainObject } from "../../base/options.js";
import { isScalar, type Scalar } from "../tensor/cast.js";
import { pythonError } from "./errors.js";

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
 * @param parameters  names in Python's order; a name that ends in "?" may be left out, and be None;
 *   those after "*" are keywords only
 * @param args        positional arguments, then perhaps an object of keyword arguments
 * @returns the arguments in the parameters' order, undefined where one was left out
 * @throws {TypeError} for too many, missing, unknown or repeated arguments
 */
export function bindArguments(
  where: string,
  parameters: readonly string[],
  args: readonly unknown[],
): unknown[] {
  if (args.length === 0 && parameters.length === 0) return [];
  const { positional, keywords } = splitKeywords(args);
  const known = parameters.filter((name) => name !== "*");
  const names = known.map((name) => name.replace("?", ""));
  const star = parameters.indexOf("*");
  const most = star < 0 ? names.length : star;
  if (positional.length > most) {
    const list = (some: readonly string[]): string =>
      some.length > 0 ? ` (${some.join(", ")})` : "";
    const rest = star < 0 ? "" : ` and keywords${list(names.slice(most))}`;
    throw pythonError(
      "TypeError",
      `${where}: takes ${count(most, "argument")}${list(names.slice(0, most))}${rest}, ` +
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
  known.forEach((name, i) => {
    if (name.endsWith("?")) bound[i] ??= undefined;
    else if (bound[i] === undefined) {
      throw pythonError("TypeError", `${where}: the argument ${name} is missing`);
    }
  });
  return bound;
}

/** A function whose arguments have been matched with parameters, as `bindArguments` returns them. */
export function bindFunction(
  where: string,
  parameters: readonly string[],
  work: (...bound: never[]) => unknown,
): (...args: unknown[]) => unknown {
  return function (this: unknown, ...args) {
    return work.apply(this, bindArguments(where, parameters, args) as never[]);
  };
}

/**
 * Adds matching of arguments with parameters to methods.
 * @returns the original methods, which take the result of `bindArguments`
 */
export function bindMethods<Names extends string>(
  owner: string,
  prototype: object,
  signatures: { readonly [name in Names]: readonly string[] },
): { readonly [name in Names]: (...bound: never[]) => unknown } {
  const methods = prototype as { [name in Names]: (...bound: never[]) => unknown };
  const before = {} as typeof methods;
  for (const name of Object.keys(signatures) as Names[]) {
    before[name] = methods[name];
    const value = bindFunction(`${owner}.${name}`, signatures[name], methods[name]);
    define(methods, name, { value });
  }
  return before;
}

/**
 * Matches arguments that begin with sizes, one by one or as an array.
 * @param name      the keyword for the sizes
 * @param keywords  other keywords
 * @returns the sizes, then the arguments named in `keywords`
 */
export function bindSizes(
  where: string,
  name: string,
  keywords: readonly string[],
  args: readonly unknown[],
): [sizes: readonly unknown[], ...others: unknown[]] {
  const split = splitKeywords(args);
  const given = split.positional.length > 0 ? [flattenSizes(split.positional)] : [];
  const bound = bindArguments(where, [name, "*", ...keywords], [...given, split.keywords]);
  return [flattenSizes([bound[0]]), ...bound.slice(1)];
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
