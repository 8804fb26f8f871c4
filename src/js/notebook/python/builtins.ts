// Python's values in JavaScript: tuples and shapes, and how Python and IPython print what a cell
// shows.

import { define } from "../../base/fields.js";
import { INSPECT, show } from "../../base/format-value.js";
import { isPlainObject } from "../../base/options.js";
import { roundHalfEven } from "../../base/round.js";
import { floatRepr } from "../../tensor/python-repr.js";
import { fromInt64, isInt, PythonFloat } from "../tensor/cast.js";
import { checkInteger } from "../tensor/view.js";
import { bindArguments } from "./arguments.js";
import { type PythonError, pythonError } from "./errors.js";
import { type Brackets, flat, layOut, type Node } from "./pretty.js";

/** Marks arrays that Python would print as a tuple, and holds the text where that differs. */
const TUPLE = Symbol.for("zeropoint.notebook.tuple");

/**
 * A Python tuple: a frozen array, so it can be indexed, taken apart and compared as one. Only
 * `repr`, `str` and `display` treat it differently: plain arrays print as lists.
 */
export type Tuple<Items extends readonly unknown[] = readonly unknown[]> = Readonly<Items>;

/** A tensor's shape: a frozen array that prints as "torch.Size([3, 1])". */
export type Size = readonly number[] & {
  /** The number of elements of a tensor of this shape. */
  numel(): number;
};

/**
 * Makes a tuple.
 * @example const [q, scale] = tuple(quantized, 0.5);
 */
export function tuple<const Items extends readonly unknown[]>(...items: Items): Tuple<Items> {
  const result = [...items] as unknown as Items;
  define(result, TUPLE, { value: true });
  return Object.freeze(result);
}

/** Makes a tuple with a custom text and named items, as torch's named tuples have. */
export function namedTuple<Names extends string>(
  typeName: string,
  items: { readonly [name in Names]: unknown },
): readonly unknown[] {
  const names = Object.keys(items) as Names[];
  const result = names.map((name) => items[name]);
  const text = (): string =>
    `${typeName}(\n${names.map((name) => `${name}=${repr(items[name])}`).join(",\n")})`;
  for (const name of names) define(result, name, { value: items[name] });
  return hideText(result, text);
}

/** Makes a tensor's shape. */
export function size(lengths: readonly number[]): Size {
  const result = [...lengths];
  const numel = (): number => lengths.reduce((count, length) => count * length, 1);
  define(result, "numel", { value: numel });
  return hideText(result, () => `torch.Size([${lengths.join(", ")}])`) as unknown as Size;
}

// The text is no enumerable property: the array stays equal to a plain one.
function hideText<T extends unknown[]>(array: T, text: () => string): T {
  define(array, TUPLE, { value: true });
  define(array, "toString", { value: text });
  define(array, INSPECT, { value: text });
  return Object.freeze(array);
}

/** Whether a value is a tuple or a shape. */
export function isTuple(value: unknown): value is Tuple {
  return Array.isArray(value) && TUPLE in value;
}

/** Whether an array has a custom text, as shapes and named tuples have. */
function hasOwnText(value: readonly unknown[]): boolean {
  return Object.hasOwn(value, "toString");
}

/**
 * Python's float(...): JavaScript cannot tell 3.0 from 3, so a whole number that is a float says so.
 * It prints as one, and `torch` takes it as one; arithmetic gives plain numbers.
 * @example repr(float(-184)) // "-184.0"
 * @example torch.tensor([float(3)]).dtype // torch.float32
 */
export function float(value: unknown): number {
  return new PythonFloat(toNumber("float", value)) as unknown as number;
}

/**
 * Python's round(x) and round(x, ndigits): to the nearest integer, or to the nearest number with `ndigits`
 * decimals; computed from the exact value, ties to even. Negative `ndigits` round to tens, hundreds, …
 * @throws {RangeError} without `ndigits`, ValueError for NaN and OverflowError for infinities
 * @example round(-76.5) // -76
 * @example
 * // The nearest double to 2.675 is below it.
 * round(2.675, 2) // 2.67
 */
export function round(
  number: unknown,
  ndigits?: number | null | { ndigits?: number | null },
): number;

export function round(...args: unknown[]): number {
  const where = "round";
  const [value, digits] = bindArguments(where, ["number", "ndigits?"], args);
  if (digits !== undefined) return roundTo(where, value, checkInteger(where, "ndigits", digits));
  if (typeof value === "bigint") return fromInt64(value) as number;
  const number = toNumber(where, value);
  checkFinite(where, number);
  return roundHalfEven(number) + 0; // an int has no -0
}

/** More digits than any double has before or after the decimal point. */
const MOST_DIGITS = 400;

/** Source: CPython's float_round and int.__round__, which compute with the exact value. */
function roundTo(where: string, given: unknown, ndigits: number): number {
  const isWhole = isInt(given) || typeof given === "boolean";
  const value = typeof given === "bigint" ? given : toNumber(where, given);
  if (isWhole && ndigits >= 0) return fromInt64(BigInt(value)) as number;
  if (ndigits > MOST_DIGITS || !(isWhole || Number.isFinite(value))) return given as number;
  // value = numerator / 2^exponent
  let numerator = value;
  let exponent = 0n;
  for (; typeof numerator === "number" && !Number.isInteger(numerator); exponent++) numerator *= 2;
  const places = 10n ** BigInt(Math.min(Math.abs(ndigits), MOST_DIGITS));
  const rounded =
    ndigits < 0
      ? divideHalfEven(BigInt(numerator), places << exponent) * places
      : divideHalfEven(BigInt(numerator) * places, 1n << exponent);
  if (isWhole) return fromInt64(rounded) as number;
  const magnitude = Number(`${rounded < 0n ? -rounded : rounded}e${-Math.max(ndigits, 0)}`);
  if (!Number.isFinite(magnitude)) {
    throw pythonError("OverflowError", `${where}: the rounded value is too large for a float`);
  }
  const isNegative = value < 0 || Object.is(value, -0);
  const result = isNegative ? -magnitude : magnitude;
  return given instanceof PythonFloat ? float(result) : result;
}

/** Divides by a positive number and rounds, ties to even. */
function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  const magnitude = numerator < 0n ? -numerator : numerator;
  const quotient = magnitude / denominator;
  const twice = 2n * (magnitude % denominator);
  const isUp = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  const rounded = quotient + (isUp ? 1n : 0n);
  return numerator < 0n ? -rounded : rounded;
}

/**
 * Python's int(x), which cuts off the decimals, and int(text, base).
 * @param base  from 2 to 36, or 0 for the base of the text's prefix; default: 10
 * @returns a BigInt beyond 2^53
 * @throws {RangeError} ValueError for NaN and for a text that is no such number, OverflowError for
 *   infinities
 * @example int(-2.7) // -2
 * @example int("ff", 16) // 255
 */
export function int(x: unknown, base?: number | { base?: number }): number;

export function int(...args: unknown[]): number {
  const where = "int";
  const [value, base] = bindArguments(where, ["x", "base?"], args);
  if (typeof value === "string") {
    return parseInteger(where, value, checkInteger(where, "base", base ?? 10));
  }
  if (base !== undefined) {
    throw pythonError("TypeError", `${where}: base takes a string to read, got ${show(value)}`);
  }
  if (typeof value === "bigint") return fromInt64(value) as number;
  const number = toNumber(where, value);
  checkFinite(where, number);
  return Math.trunc(number) + 0;
}

const BASES: { readonly [prefix in string]?: number } = { "0b": 2, "0o": 8, "0x": 16 };

function parseInteger(where: string, text: string, base: number): number {
  if (base !== 0 && !(base >= 2 && base <= 36)) {
    throw pythonError("ValueError", `${where}: base must be 0 or from 2 to 36, got ${base}`);
  }
  const [, sign, word = ""] = /^([+-]?)(\w+)$/.exec(text.trim().toLowerCase()) ?? [];
  const marked = BASES[word.slice(0, 2)];
  const isMarked = marked !== undefined && (base === 0 || base === marked);
  const radix = isMarked ? marked : base || 10;
  const body = isMarked ? word.slice(2).replace(/^_/, "") : word;
  const digits = body.replaceAll("_", "");
  const isOctalLike = base === 0 && !isMarked && /^0.*[1-9]/.test(digits);
  let value = 0n;
  let isNumber = /^[0-9a-z]+(_[0-9a-z]+)*$/.test(body) && !isOctalLike;
  for (const digit of digits) {
    const worth = Number.parseInt(digit, 36);
    isNumber &&= worth < radix;
    if (isNumber) value = value * BigInt(radix) + BigInt(worth);
  }
  if (!isNumber) {
    throw pythonError("ValueError", `${where}: ${show(text)} is no int of base ${base}`);
  }
  return fromInt64(sign === "-" ? -value : value) as number;
}

function toNumber(where: string, value: unknown): number {
  const isNothing = value === null || value === undefined || value === "";
  const number = isNothing ? Number.NaN : numberOf(where, value);
  if (Number.isNaN(number) && typeof value !== "number" && typeof value !== "object") {
    throw pythonError("TypeError", `${where}: takes a number, got ${show(value)}`);
  }
  return number;
}

/** `Number(value)`, which symbols and some objects refuse. */
function numberOf(where: string, value: unknown): number {
  try {
    return Number(value);
  } catch (cause) {
    if ((cause as Partial<PythonError> | null | undefined)?.pythonType !== undefined) throw cause;
    const error = pythonError("TypeError", `${where}: takes a number, got ${show(value)}`);
    throw Object.assign(error, { cause });
  }
}

/** @throws {RangeError} where Python cannot make an int */
export function checkFinite(where: string, value: number): void {
  if (Number.isNaN(value)) {
    throw pythonError("ValueError", `${where}: NaN cannot be made a whole number`);
  }
  if (!Number.isFinite(value)) {
    throw pythonError("OverflowError", `${where}: an infinity cannot be made a whole number`);
  }
}

export { floatRepr };

/**
 * Python's repr of a value.
 *
 * Safe integers and BigInts print as ints, all other numbers and -0 as floats; arrays as lists;
 * tuples in parentheses; null and undefined as None; plain objects and Maps as dicts; Sets as sets;
 * typed arrays as lists; objects of a class without a text as its name and a dict. Tensors, shapes and
 * dtypes print as PyTorch prints them.
 *
 * @example repr([1, 0.5, null, true]) // "[1, 0.5, None, True]"
 */
export function repr(value: unknown): string {
  return print(value, "python");
}

/** Python's str of a value: a string as it is, everything else as `repr`. */
export function str(value: unknown): string {
  return typeof value === "string" ? value : repr(value);
}

/**
 * What a notebook shows for the last value of a cell: `repr`, but lists, tuples and dicts that do
 * not fit into 79 columns, or hold something of several lines, take one line for each item.
 *
 * Source: IPython's pretty printer (IPython/lib/pretty.py).
 *
 * @returns undefined for None, which a notebook does not show
 */
export function display(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : print(value, "ipython");
}

/** The output of Python's print(...), without the newline at the end. */
export function printed(...values: readonly unknown[]): string {
  return values.map(str).join(" ");
}

/** Python's print(...), to the console. */
export function consolePrint(...values: readonly unknown[]): void {
  console.log(printed(...values));
}

// ---------------------------------------------------------------------------------------------

type Style = "python" | "ipython";

/** Values within each other that are printed. Python's limit is about as low, for its frames. */
const DEEPEST = 500;

function print(value: unknown, style: Style): string {
  const tree = toNode(value, new Set());
  return style === "python" ? flat(tree) : layOut(tree);
}

function toNode(value: unknown, outer: Set<unknown>): Node {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") {
    return isInt(value) && !Object.is(value, -0) ? value.toString() : floatRepr(value);
  }
  if (typeof value === "string") return stringRepr(value);
  if (typeof value === "function") {
    if (Object.hasOwn(value, "toString")) return String(value);
    const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "function";
    return `<${kind} ${value.name || "<lambda>"}>`;
  }
  if (typeof value === "symbol") return value.toString();
  if (outer.has(value)) return Array.isArray(value) ? "[...]" : "{...}";
  if (outer.size === DEEPEST) {
    const problem = `repr: maximum recursion depth exceeded, ${DEEPEST} values within each other`;
    throw pythonError("RuntimeError", problem);
  }
  const inner = new Set(outer).add(value);
  if (Array.isArray(value)) return listNode(value, inner);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    // Iterating an array whose memory is gone throws.
    return listNode(Array.prototype.slice.call(value), inner);
  }
  if (value instanceof Map) return dictNode([...value], inner);
  if (value instanceof Set) return setNode([...value], inner);
  if (value instanceof Error) return `${value.name}(${stringRepr(value.message)})`;
  if (isPlainObject(value) && !Object.hasOwn(value, "toString")) {
    return dictNode(Object.entries(value), inner);
  }
  if (value instanceof Promise) return "<Promise, not awaited>";
  const text = String(value);
  return /^\[object .*\]$/.test(text) ? objectNode(value, inner) : text;
}

function listNode(value: readonly unknown[], outer: Set<unknown>): Node {
  if (hasOwnText(value)) return String(value);
  const items = Array.from(value, (item) => [toNode(item, outer)]); // holes as undefined
  if (!isTuple(value)) return { open: "[", close: "]", items };
  return { open: "(", close: items.length === 1 ? ",)" : ")", items };
}

function dictNode(
  entries: readonly (readonly [unknown, unknown])[],
  outer: Set<unknown>,
): Brackets {
  const items = entries.map(([key, item]) => [toNode(key, outer), ": ", toNode(item, outer)]);
  return { open: "{", close: "}", items };
}

function setNode(values: readonly unknown[], outer: Set<unknown>): Node {
  if (values.length === 0) return "set()";
  return { open: "{", close: "}", items: values.map((item) => [toNode(item, outer)]) };
}

/** An object of a class without a text of its own: the class's name and the object's properties. */
function objectNode(value: object, outer: Set<unknown>): Node {
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  const name = value.constructor?.name || kind;
  if (kind !== "Object") return `<${name}>`;
  return { ...dictNode(Object.entries(value), outer), open: `${name} {` };
}

/** Control characters, unpaired surrogates, separators and the like. */
const UNPRINTABLE = /[\p{C}\p{Z}]/u;

/** Python's repr of a string: in single quotes, or in double quotes if it contains single quotes only. */
function stringRepr(value: string): string {
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  let text = "";
  for (const character of value) {
    const code = character.codePointAt(0) as number;
    if (character === quote || character === "\\") text += `\\${character}`;
    else if (character === "\n") text += "\\n";
    else if (character === "\r") text += "\\r";
    else if (character === "\t") text += "\\t";
    else if (character === " " || !UNPRINTABLE.test(character)) text += character;
    else if (code < 0x100) text += `\\x${hex(code, 2)}`;
    else if (code < 0x10000) text += `\\u${hex(code, 4)}`;
    else text += `\\U${hex(code, 8)}`;
  }
  return quote + text + quote;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
