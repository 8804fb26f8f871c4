// The text that a cell's print(...) writes.

import { printed } from "zeropoint/notebook";

/** @typedef {{ sep?: string | null, end?: string | null, flush?: boolean }} Keywords */

/**
 * The text of Python's print: values with `sep` between them and `end` behind, named in an object at the
 * end, as named arguments are everywhere in cells. Any other object is a value, and so is one alone.
 * @param {unknown[]} values
 */
export function printedText(values) {
  const last = values.at(-1);
  const hasKeywords = values.length > 1 && isKeywords(last);
  const { sep, end } = hasKeywords ? last : /** @type {Keywords} */ ({});
  const shown = hasKeywords ? values.slice(0, -1) : values;
  return shown.map((value) => printed(value)).join(sep ?? " ") + (end ?? "\n");
}

/**
 * @param {unknown} value
 * @returns {value is Keywords}
 */
function isKeywords(value) {
  if (typeof value !== "object" || value === null) return false;
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  const entries = Object.entries(value);
  return entries.length > 0 && entries.every(([name, each]) => isKeyword(name, each));
}

/**
 * @param {string} name
 * @param {unknown} value  null and undefined are the default, as Python's None
 */
function isKeyword(name, value) {
  if (name === "flush") return typeof value === "boolean";
  return (name === "sep" || name === "end") && typeof (value ?? "") === "string";
}
