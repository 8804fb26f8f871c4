// A byte or a value of a block in words: what it makes, and what it is made of.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h } from "../../shell/drawing/tree.js";
import { LAYOUTS } from "./layouts.js";
import { WEIGHTS } from "./weights.js";

/**
 * @typedef {import("./layouts.js").Layout} Layout
 * @typedef {import("./layouts.js").Term} Term
 * @typedef {import("../../shell/drawing/tree.js").Tree} Tree
 * @typedef {{ layout: Layout, weights: Float32Array, bytes: Uint8Array, restored: Float32Array, terms: Term[][] }}
 *   Block  terms: of each value
 */

/** @type {Map<string, Block>} */
const made = new Map();

/**
 * The block of a format.
 * @param {string} type
 * @param {import("../index.js").Zeropoint} zeropoint
 * @returns {Block}
 */
export function blockOf(type, zeropoint) {
  const found = made.get(type);
  if (found) return found;
  const layout = LAYOUTS.find((each) => each.type === type) ?? LAYOUTS[0];
  const weights = WEIGHTS.slice(0, layout.values);
  const shape = [layout.values];
  const bytes = zeropoint.quantizeBlocks({ data: weights, shape }, layout.type);
  const restored = zeropoint.dequantizeBlocks(bytes, layout.type, shape).data;
  const terms = Array.from(weights, (_, i) => layout.termsOf(bytes, i, zeropoint));
  const block = { layout, weights, bytes, restored, terms };
  made.set(type, block);
  return block;
}

/** Four digits, without an exponent: scales of scales are small. @param {number} value */
const digits = (value) =>
  Math.abs(value) < 1e-3 && Math.abs(value) > 1e-6
    ? Number(value.toPrecision(4)).toFixed(9).replace(/0+$/, "").replace("-", "−")
    : formatNumber(value);

/** @param {number} byte */
export const hex = (byte) => byte.toString(16).toUpperCase().padStart(2, "0");

/** @param {Layout} layout @param {number} at */
export const fieldOf = ({ fields }, at) =>
  /** @type {import("./layouts.js").Field} */ (fields.find(({ end }) => at < end));

/** The values that a byte takes part in. @param {Block} block @param {number} at */
export const valuesOf = ({ terms }, at) =>
  [...terms.keys()].filter((i) => terms[i].some(({ bytes }) => bytes.includes(at)));

/** The bytes that make a value. @param {Block} block @param {number} i */
export const bytesOf = ({ terms }, i) => [...new Set(terms[i].flatMap(({ bytes }) => bytes))];

/** The class of a term's colour. @param {Layout} layout @param {Term} term */
const inkOf = (layout, { bytes }) => fieldOf(layout, bytes[0]).ink || null;

/** Places in words: "0 to 31 and 64 to 95". @param {number[]} places  in order */
function runs(places) {
  /** @type {[number, number][]} */
  const found = [];
  for (const place of places) {
    const last = found.at(-1);
    if (last?.[1] === place - 1) last[1] = place;
    else found.push([place, place]);
  }
  return found.map(([a, b]) => (a === b ? `${a}` : `${a} to ${b}`)).join(" and ");
}

/**
 * @param {Block} block
 * @param {number} at
 * @returns {Tree}
 */
export function byteTree(block, at) {
  const { layout, bytes, terms } = block;
  /** @type {Map<string, { term: Term, values: number[] }>} */
  const byId = new Map();
  for (const [i, ofValue] of terms.entries()) {
    for (const term of ofValue) {
      if (!term.bytes.includes(at)) continue;
      const entry = byId.get(term.id) ?? { term, values: [] };
      entry.values.push(i);
      byId.set(term.id, entry);
    }
  }
  const bits = bytes[at].toString(2).padStart(8, "0");
  return h(
    "div",
    {},
    h(
      "p",
      {},
      h("strong", {}, `Byte ${at}`),
      ` is ${hex(bytes[at])}, in bits ${bits.slice(0, 4)} ${bits.slice(4)}.`,
    ),
    h(
      "ul",
      {},
      [...byId.values()].map(({ term, values }) => {
        const others = term.bytes.filter((other) => other !== at);
        const of = values.length === 1 ? "value" : "values";
        return h(
          "li",
          {},
          h("span", { class: inkOf(layout, term) }, `${term.symbol} = ${digits(term.number)}`),
          ` of ${of} ${runs(values)}`,
          others.length > 0 && `, with byte ${others.join(" and ")}`,
          others.length === 0 && term.part && `, ${term.part}`,
        );
      }),
    ),
  );
}

/** @param {Layout} layout */
export const formulaTree = ({ formula }) => h("span", { class: "block-formula" }, formula.join(""));

/**
 * @param {Block} block
 * @param {number} i
 * @returns {Tree}
 */
export function valueTree(block, i) {
  const { layout, weights, restored, terms } = block;
  const numbers = layout.formula.map((part) => {
    const term = terms[i].find(({ symbol }) => symbol === part);
    if (!term) return part;
    return h("span", { class: inkOf(layout, term) }, digits(term.number));
  });
  const error = Number((restored[i] - weights[i]).toPrecision(3));
  return h(
    "div",
    {},
    h(
      "p",
      {},
      h("strong", {}, `Value ${i}`),
      " = ",
      formulaTree(layout),
      " = ",
      numbers,
      " = ",
      h("span", { class: "ink-real" }, digits(restored[i])),
      ".",
    ),
    h(
      "p",
      {},
      "The weight is ",
      h("span", { class: "ink-real" }, digits(weights[i])),
      ", off by ",
      h("span", { class: "ink-error" }, digits(error)),
      ".",
    ),
    h(
      "p",
      { class: "block-sources" },
      terms[i]
        .map(({ symbol, bytes, part }) => {
          const of = bytes.length === 1 ? "byte" : "bytes";
          return `${symbol}: ${of} ${bytes.join(" and ")}${part ? `, ${part}` : ""}`;
        })
        .join("; "),
      ".",
    ),
  );
}
