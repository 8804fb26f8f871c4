// Values as messages print them: short, and without throwing.

import { fieldOf } from "./fields.js";
import { arrayLength, arrayName } from "./typed-arrays.js";

const LONGEST = 48;

/** The method that Node, Deno and Bun print an object with. */
export const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * Key of the layers and models of this copy of the library; a page may have loaded it twice. Of an object's
 * handle it is the handle's text in messages.
 */
export const OWN = Symbol();

/** The kind of an object, of any realm: "Object", "Map", "Promise". */
export const kindOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice(8, -1);

/** A list of lengths as messages print it: [3, 4]. */
export function showShape(shape: readonly number[]): string {
  if (shape.length <= 8) return `[${shape.join(", ")}]`;
  return `[${shape.slice(0, 6).join(", ")}, …] (${shape.length} axes)`;
}

/** A value as messages print it: short, and without throwing. */
export function show(value: unknown): string {
  try {
    return describe(value);
  } catch {
    return "an object";
  }
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shortened(value));
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value === "bigint") return shortened(`${value}n`);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return shortened(String(value));
  const name = arrayName(value);
  if (name !== undefined) return `${name}(${arrayLength(value)})`;
  if (Array.isArray(value)) return describeList(value);
  const kind = kindOf(value);
  if (kind === "Promise") return "a Promise: is await missing?";
  if (kind !== "Object") return withArticle(kind);
  const own = (value as { readonly [OWN]?: unknown })[OWN];
  if (typeof own === "string") return own;
  // A layer. Its constructor's name may be minified.
  const typeName = fieldOf(value as { readonly typeName?: unknown }, "typeName");
  if (typeof typeName === "string") {
    return (
      withArticle(typeName) + (OWN in value ? "" : " that this copy of zeropoint did not make")
    );
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return "an empty object";
  if (keys[0] === "0") return "an object as JSON or a Proxy makes of typed arrays";
  return shortened(`an object with ${keys.slice(0, 6).join(", ")}`);
}

const withArticle = (name: string): string =>
  shortened(`${"AEIO".includes(name.charAt(0)) ? "an" : "a"} ${name}`);

function describeList(list: readonly unknown[]): string {
  const shown = list.slice(0, 4).map((item) => (Array.isArray(item) ? "[…]" : show(item)));
  if (list.length > 4) shown.push("…");
  const text = `[${shown.join(", ")}]`;
  return text.length <= LONGEST ? text : `an array of length ${list.length}`;
}

function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
}
