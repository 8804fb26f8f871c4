// The image that a drawing becomes, and the texts of vectors; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { toDigit } = await fromPage("digits/to-digit.js");
const { readTexts, rowsWith } = await fromPage("search/texts.js");

const SIDE = 280;

/** Pixels with ink in a rectangle. */
function drawing(x, y, width, height) {
  const data = new Uint8ClampedArray(4 * SIDE * SIDE);
  for (let row = y; row < y + height; row++) {
    for (let column = x; column < x + width; column++) data[4 * (row * SIDE + column) + 3] = 255;
  }
  return data;
}

describe("The image of a drawing", () => {
  it("has its ink within 20 by 20 pixels in the middle, wherever it was drawn", () => {
    for (const [x, y] of [
      [0, 0],
      [90, 40],
      [180, 80],
    ]) {
      const pixels = toDigit(drawing(x, y, 100, 200), SIDE);
      const expected = Float32Array.from({ length: 784 }, (_, i) => {
        const [row, column] = [Math.floor(i / 28), i % 28];
        return row >= 4 && row < 24 && column >= 9 && column < 19 ? 1 : 0;
      });
      assert.deepEqual(pixels, expected, `${x}, ${y}`);
    }
  });

  it("keeps the centre of mass in the middle where the ink is uneven", () => {
    const data = drawing(40, 40, 200, 40);
    const stem = drawing(40, 40, 40, 200);
    for (let i = 3; i < data.length; i += 4) data[i] ||= stem[i];
    const pixels = toDigit(data, SIDE);
    let [sum, x, y] = [0, 0, 0];
    for (const [i, value] of pixels.entries()) {
      sum += value;
      x += value * ((i % 28) + 0.5);
      y += value * (Math.floor(i / 28) + 0.5);
    }
    assert.ok(Math.abs(x / sum - 14) < 1e-3 && Math.abs(y / sum - 14) < 1e-3);
  });

  it("is none for empty paper, and a dot stays a dot", () => {
    assert.equal(toDigit(drawing(0, 0, 0, 0), SIDE), undefined);
    const dot = toDigit(drawing(100, 100, 14, 14), SIDE);
    assert.ok(dot.filter((value) => value > 0).length <= 36);
  });
});

describe("The texts of vectors", () => {
  it("are lines, or a list in JSON", () => {
    assert.deepEqual(readTexts("a.txt", "one\r\ntwo\n\nfour\n"), ["one", "two", "", "four"]);
    assert.deepEqual(readTexts("a.json", '["one", 2, {"a": 1}]'), ["one", "2", '{"a":1}']);
    assert.throws(() => readTexts("a.json", "{"), /^Error: a.json is not JSON: /);
    assert.throws(() => readTexts("a.json", "3"), /a.json must be a list/);
  });

  it("are found by a part in any case, or by their number", () => {
    const texts = ["Apple", "pear", "pineAPPLE", "fig"];
    assert.deepEqual(rowsWith(texts, " apple ", 9), [0, 2]);
    assert.deepEqual(rowsWith(texts, "3", 9), [3]);
    assert.deepEqual(rowsWith(texts, "", 2), [0, 1]);
    assert.deepEqual(rowsWith(texts, "plum", 9), []);
  });
});
