// klDivergence: the difference of outputs as probabilities.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tensor } from "zeropoint";
import { klDivergence } from "zeropoint/models";
import { refuses } from "../../support/asserts.mjs";

describe("klDivergence", () => {
  it("is the mean of the divergences of the samples, by hand", () => {
    const original = tensor([
      [0, Math.log(3)],
      [5, 5],
    ]);
    const quantized = tensor([
      [0, 0],
      [1, 1],
    ]);
    // p = [1/4, 3/4], q = [1/2, 1/2]; the second sample has equal probabilities.
    const expected = (0.25 * Math.log(0.5) + 0.75 * Math.log(1.5)) / 2;
    assert.ok(Math.abs(klDivergence(original, quantized) - expected) < 1e-7);
    assert.equal(klDivergence(original, original), 0);
    assert.ok(klDivergence(tensor([1e30, 0]), tensor([0, 1e30])) > 1e29);
  });

  it("refuses other shapes, no values, and values that are not finite", () => {
    const x = tensor([[1, 2]]);
    refuses(() => klDivergence(x, tensor([1, 2])), RangeError, "ZP_SHAPE_MISMATCH", /got \[2\]/);
    const none = tensor(new Float32Array(0), [0, 2]);
    refuses(() => klDivergence(none, none), RangeError, "ZP_EMPTY", /no values/);
    const bad = tensor([[1, Number.NaN]]);
    refuses(
      () => klDivergence(x, bad),
      RangeError,
      "ZP_NON_FINITE",
      /quantized has NaN at index 1/,
    );
  });
});
