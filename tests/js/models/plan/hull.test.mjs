// Convex hulls of options, by hand.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hullsOf } from "../../../internal/models.mjs";

const hulls = (starts, bytes, errors) => {
  const {
    starts: own,
    options,
    slopes,
  } = hullsOf({
    starts: Int32Array.from(starts),
    bytes: Float64Array.from(bytes),
    errors: Float64Array.from(errors),
  });
  return [own, options, slopes].map((array) => [...array]);
};

describe("hullsOf", () => {
  it("has every option whose byte saves less than that of the option before", () => {
    const [starts, options, slopes] = hulls([0, 3], [1, 2, 4], [10, 4, 2]);
    assert.deepEqual(
      [starts, options],
      [
        [0, 3],
        [0, 1, 2],
      ],
    );
    assert.deepEqual(slopes, [Number.POSITIVE_INFINITY, 6, 1]);
  });

  it("leaves out options above the line between their neighbours, in each group", () => {
    // 1 byte more saves 1, and the next one 9: on average 5.
    const [starts, options, slopes] = hulls([0, 3, 5], [1, 2, 3, 7, 9], [10, 9, 0, 6, 5]);
    assert.deepEqual(
      [starts, options],
      [
        [0, 2, 4],
        [0, 2, 3, 4],
      ],
    );
    assert.deepEqual(slopes, [Number.POSITIVE_INFINITY, 5, Number.POSITIVE_INFINITY, 0.5]);
  });
});
