// Parts of qparams that belong to a part of a tensor.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cutQParams } from "../../internal/worker.mjs";

describe("cutQParams", () => {
  it("cuts scales of groups, of which the last one of a row may be short", () => {
    const scale = { data: Float32Array.from({ length: 9 }, (_, i) => i), shape: [9, 1] };
    const cut = (offset, size) => {
      const { scale: part } = cutQParams({ scale, groupSize: 2 }, [3, 5], { offset, size });
      assert.deepEqual(part.shape, [part.data.length, 1]);
      return [...part.data];
    };
    assert.deepEqual(cut(0, 15), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(cut(5, 5), [3, 4, 5]);
    assert.deepEqual(cut(2, 2), [1]);
    assert.deepEqual(cut(4, 1), [2]);
    assert.deepEqual(cut(12, 3), [7, 8]);
  });
});
