// The forms of a quantized weight in ONNX graphs, by target.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formsFor } from "../../../internal/models.mjs";

const LARGE = 2 ** 30 + 1;

describe("formsFor", () => {
  it("prefers packed weights in the browser where the floats would not fit in memory", () => {
    const [small, large] = [2 ** 30, LARGE].map((bytes) => formsFor("web", "float32", bytes));
    assert.notDeepEqual(small, large);
    assert.deepEqual(new Set(small), new Set(large));
    // Casting needs the memory of all floats: the last one to try.
    assert.equal(large.at(-1), small[1]);
  });

  it("does not depend on the size elsewhere", () => {
    for (const target of ["node", "webgpu", "portable"]) {
      assert.deepEqual(formsFor(target, "float32", LARGE), formsFor(target, "float32", 1), target);
    }
  });
});
