// The text that a cell's print(...) writes.

import { printed } from "zeropoint/notebook";

type Keywords = { sep?: string | null; end?: string | null; flush?: boolean };

/**
 * The text of Python's print: values with `sep` between them and `end` behind, named in an object at the
 * end, as named arguments are everywhere in cells. Any other object is a value, and so is one alone.
 */
export function printedText(values: unknown[]) {
  const last = values.at(-1);
  const hasKeywords = values.length > 1 && isKeywords(last);
  const { sep, end } = hasKeywords ? last : ({} as Keywords);
  const shown = hasKeywords ? values.slice(0, -1) : values;
  return shown.map((value) => printed(value)).join(sep ?? " ") + (end ?? "\n");
}

function isKeywords(value: unknown): value is Keywords {
  if (typeof value !== "object" || value === null) return false;
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  const entries = Object.entries(value);
  return entries.length > 0 && entries.every(([name, each]) => isKeyword(name, each));
}

/** @param value  null and undefined are the default, as Python's None */
function isKeyword(name: string, value: unknown) {
  if (name === "flush") return typeof value === "boolean";
  return (name === "sep" || name === "end") && typeof (value ?? "") === "string";
}
