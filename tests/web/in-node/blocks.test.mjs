// The figure of blocks: its weights, and what it says of bytes and values, against the core.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import { loadModel } from "../../../scripts/cost/model.mjs";
import { fromPage } from "../from-page.mjs";

const { LAYOUTS } = await fromPage("figures/blocks/layouts.js");
const { WEIGHTS } = await fromPage("figures/blocks/weights.js");
const { block } = await fromPage("figures/drawings/block.js");

before(() => zeropoint.init());

/** All text of a tree. */
const textOf = (node) =>
  typeof node === "object" ? node.children.map(textOf).join("") : String(node);

/** Random bytes, whose scales are moderate numbers. */
function randomBlock({ type }, length, seed) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  };
  const bytes = Uint8Array.from({ length }, next);
  const halves = { q8_0: [0], q4_0: [0], q4_k: [0, 2], q6_k: [208] }[type] ?? [];
  for (const at of halves) bytes[at + 1] = 0x20 | (bytes[at + 1] & 0x9f & ~0x40);
  if (type === "mxfp4") bytes[0] = 100 + (bytes[0] % 50);
  // An unsigned float8.
  if (type === "nvfp4") for (let at = 0; at < 4; at++) bytes[at] %= 0x7f;
  return bytes;
}

/** The number of a formula whose symbols have been replaced by numbers. */
function evaluate(layout, terms) {
  const source = layout.formula
    .map((part) => terms.find(({ symbol }) => symbol === part)?.number ?? part)
    .map((part) => (typeof part === "number" ? `(${part})` : part))
    .join("")
    .replaceAll("·", "*")
    .replaceAll("−", "-")
    .replaceAll("^", "**");
  return new Function(`return ${source};`)();
}

describe("the weights of the figure of blocks", () => {
  it("are those of the network of notebook 6, rounded to four decimals", async () => {
    const { layers } = await loadModel();
    const start = 19 * 784 + 256;
    const own = layers[0].weight.data.subarray(start, start + 256);
    assert.deepEqual(
      Array.from(own, (value) => Math.round(value * 1e4) / 1e4 + 0),
      Array.from(WEIGHTS, (value) => Number(value.toFixed(4))),
    );
  });
});

describe("the layout of a block", () => {
  for (const layout of LAYOUTS) {
    const [length] = [layout.fields.at(-1).end];
    it(`gives the values that the core gives, for random bytes: ${layout.name}`, () => {
      for (let seed = 1; seed <= 20; seed++) {
        const bytes = randomBlock(layout, length, seed);
        const shape = [layout.values];
        const { data } = zeropoint.dequantizeBlocks(bytes, layout.type, shape);
        for (let i = 0; i < layout.values; i++) {
          const terms = layout.termsOf(bytes, i, zeropoint);
          const numbers = Object.fromEntries(terms.map(({ symbol, number }) => [symbol, number]));
          const parts =
            Math.abs(numbers.d * numbers.sc * numbers.q) + Math.abs(numbers.dmin * numbers.m);
          // Four roundings of float32, each relative to a part of the sum, in q4_k; at most two in the others.
          const bound = 4 * 2 ** -24 * (layout.type === "q4_k" ? parts : Math.abs(data[i]));
          const difference = Math.abs(evaluate(layout, terms) - data[i]);
          assert.ok(difference <= bound, `seed ${seed}, value ${i}: ${difference}`);
        }
      }
    });

    it(`names for each byte the values that change with it, and no others: ${layout.name}`, () => {
      const bytes = randomBlock(layout, length, 7);
      const shape = [layout.values];
      const read = (each) => zeropoint.dequantizeBlocks(each, layout.type, shape).data;
      const right = read(bytes);
      const terms = Array.from(right, (_, i) => layout.termsOf(bytes, i, zeropoint));
      for (let at = 0; at < length; at++) {
        const changing = new Set();
        for (let bit = 0; bit < 8; bit++) {
          const changed = bytes.slice();
          changed[at] ^= 1 << bit;
          for (const [i, value] of read(changed).entries()) {
            if (!Object.is(value, right[i])) changing.add(i);
          }
        }
        const named = terms.flatMap((each, i) =>
          each.some((term) => term.bytes.includes(at)) ? [i] : [],
        );
        for (const i of changing) assert.ok(named.includes(i), `byte ${at}, value ${i}`);
        // A value that is zero, or whose scale is, need not change.
        for (const i of named) {
          const isZero = terms[i].some(({ number }) => number === 0) || right[i] === 0;
          assert.ok(changing.has(i) || isZero, `byte ${at}, value ${i}`);
        }
      }
    });

    it(`has a field for each byte: ${layout.name}`, () => {
      const { length: bytes } = zeropoint.quantizeBlocks(
        { data: WEIGHTS.slice(0, layout.values), shape: [layout.values] },
        layout.type,
      );
      const starts = layout.fields.map(({ start }) => start);
      const ends = layout.fields.map(({ end }) => end);
      assert.deepEqual([...starts, bytes], [0, ...ends]);
    });
  }
});

describe("the figure of blocks", () => {
  const detail = (type, kind, index) => {
    const { tree, others } = block.detail({ type }, zeropoint, kind, index);
    return { text: textOf(tree), others };
  };

  it("gives a value's equation with its numbers, and its bytes", () => {
    const { text, others } = detail("q4_0", "value", 9);
    assert.match(text, /^Value 9 = d · \(q − 8\) = 0\.04852 · \(0 − 8\) = −0\.3882\./);
    assert.match(text, /The weight is −0\.3639, off by −0\.0243\./);
    assert.match(text, /d: bytes 0 and 1; q: byte 11, its low four bits\.$/);
    assert.deepEqual(others, { byte: [0, 1, 11] });
  });

  it("gives a byte's bits, and the values that it makes", () => {
    const { text, others } = detail("q4_0", "byte", 2);
    assert.match(text, /^Byte 2 is B7, in bits 1011 0111\./);
    assert.match(text, /q = 7 of value 0, its low four bits/);
    assert.match(text, /q = 11 of value 16, its high four bits/);
    assert.deepEqual(others, { value: [0, 16] });
  });

  it("says of a byte of scales which groups share it", () => {
    const { text, others } = detail("q4_k", "byte", 4);
    assert.match(text, /sc = 45 of values 0 to 31, its low six bits/);
    assert.match(text, /sc = 53 of values 128 to 159, with byte 12/);
    assert.equal(others.value.length, 64);
  });
});
