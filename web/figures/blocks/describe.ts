// A byte or a value of a block in words: what it makes, and what it is made of.

import { formatNumber } from "../../shell/drawing/numbers.js";
import { h, type Tree } from "../../shell/drawing/tree.js";
import type { Zeropoint } from "../index.js";
import { type Field, LAYOUTS, type Layout, type Term } from "./layouts.js";
import { WEIGHTS } from "./weights.js";

/** terms: of each value. */
type Block = {
  layout: Layout;
  weights: Float32Array;
  bytes: Uint8Array;
  restored: Float32Array;
  terms: Term[][];
};

const made = new Map<string, Block>();

/** The block of a format. */
export function blockOf(type: string, zeropoint: Zeropoint): Block {
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

/** Four digits, without an exponent: scales of scales are small. */
const digits = (value: number) =>
  Math.abs(value) < 1e-3 && Math.abs(value) > 1e-6
    ? Number(value.toPrecision(4)).toFixed(9).replace(/0+$/, "").replace("-", "−")
    : formatNumber(value);

export const hex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, "0");

export const fieldOf = ({ fields }: Layout, at: number) =>
  fields.find(({ end }) => at < end) as Field;

/** The values that a byte takes part in. */
export const valuesOf = ({ terms }: Block, at: number) =>
  [...terms.keys()].filter((i) => terms[i].some(({ bytes }) => bytes.includes(at)));

/** The bytes that make a value. */
export const bytesOf = ({ terms }: Block, i: number) => [
  ...new Set(terms[i].flatMap(({ bytes }) => bytes)),
];

/** The class of a term's colour. */
const inkOf = (layout: Layout, { bytes }: Term) => fieldOf(layout, bytes[0]).ink || null;

/**
 * Places in words: "0 to 31 and 64 to 95".
 * @param places  in order
 */
function runs(places: number[]) {
  const found: [number, number][] = [];
  for (const place of places) {
    const last = found.at(-1);
    if (last?.[1] === place - 1) last[1] = place;
    else found.push([place, place]);
  }
  return found.map(([a, b]) => (a === b ? `${a}` : `${a} to ${b}`)).join(" and ");
}

export function byteTree(block: Block, at: number): Tree {
  const { layout, bytes, terms } = block;
  const byId = new Map<string, { term: Term; values: number[] }>();
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

export const formulaTree = ({ formula }: Layout) =>
  h("span", { class: "block-formula" }, formula.join(""));

export function valueTree(block: Block, i: number): Tree {
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
