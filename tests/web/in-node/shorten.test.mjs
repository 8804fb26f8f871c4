// Values cut to the room of an output; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isTuple, tuple } from "zeropoint/notebook";
import { fromPage } from "../from-page.mjs";

const { shortened } = await fromPage("notebook/worker/shorten.js");

describe("shortened", () => {
  it("returns a value that fits as it is", () => {
    const values = ["abc", [1, [2, "three"]], { a: "b" }, tuple(1, "x"), new Float32Array(9), null];
    for (const value of values) assert.equal(shortened(value, 100), value);
  });

  it("cuts texts wherever they are", () => {
    const long = "x".repeat(1000);
    assert.equal(shortened(long, 10), "x".repeat(10));
    assert.deepEqual(shortened([1, long], 10), [1, "x".repeat(8)]);
    assert.deepEqual(shortened({ a: { b: long } }, 10), { a: { b: "x".repeat(8) } });
  });

  it("cuts lists, typed arrays and objects with many entries", () => {
    assert.equal(shortened(Array(1e6).fill(1), 100).length, 99);
    assert.equal(shortened(new Float32Array(1e6), 100).length, 100);
    const rows = Array.from({ length: 1000 }, () => Array(1000).fill(1));
    assert.ok(shortened(rows, 5000).flat().length <= 5000);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i]));
    assert.deepEqual(Object.keys(shortened(many, 4)), ["k0", "k1", "k2"]);
  });

  it("keeps a tuple a tuple, and ends in a list that contains itself", () => {
    const cut = shortened(tuple("x".repeat(50), 1), 10);
    assert.ok(isTuple(cut));
    assert.deepEqual([...cut], ["x".repeat(9)]);
    const round = [];
    round.push(round);
    assert.equal(shortened(round, 100), round);
  });
});
