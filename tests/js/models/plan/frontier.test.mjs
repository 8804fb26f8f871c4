// frontier against plan, and the text of a plan.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { describePlan, frontier, plan } from "zeropoint/models";
import { fuzzLimits } from "../../support/arbitraries.mjs";
import { Random } from "../../support/asserts.mjs";
import { randomRows, rowsOf, two } from "./rows.mjs";

describe("frontier", () => {
  it("has points whose errors plan has with their bytes", () => {
    fc.assert(
      fc.property(randomRows, (rows) => {
        const points = frontier(rows, { points: 1000 });
        for (const [i, { bytes, error }] of points.entries()) {
          const made = plan(rows, { bytes });
          assert.ok(Math.abs(made.error - error) <= 24 * 2 ** -53 * Math.max(error, made.error));
          if (i > 0) assert.ok(bytes > points[i - 1].bytes && error <= points[i - 1].error);
        }
      }),
      fuzzLimits(1, 300),
    );
  });

  it("has the first, the last and at most as many points as asked for", () => {
    const random = new Random(7);
    const rows = rowsOf(
      Object.fromEntries(
        Array.from({ length: 300 }, (_, i) => [
          `t${i}`,
          { s: [random.integer(1, 9), random.between(0.5, 1)], l: [random.integer(10, 99), 0.1] },
        ]),
      ),
    );
    const all = frontier(rows, { points: 2000 });
    const some = frontier(rows, { points: 10 });
    assert.equal(all.length, 301);
    assert.ok(some.length > 5 && some.length <= 10, `${some.length}`);
    assert.deepEqual([some[0], some.at(-1)], [all[0], all.at(-1)]);
  });
});

describe("describePlan", () => {
  it("describes size, error, distance from the best, and the schemes with their reasons", () => {
    const rows = rowsOf({
      a: { ...two, parameters: 50 },
      norm: { keep: [5, 0], reason: "a norm", parameters: 50 },
    });
    assert.deepEqual(describePlan(plan(rows, { bytes: 15 })).split("\n"), [
      "2 tensors, 15 B, 1.200 bits per weight",
      "error 0.2500, the least possible (squared error of the weights by their squared values, by share of the parameters)",
      "Weight error is not accuracy: measure that with the quantized model.",
      "  keep: 1 tensor",
      "    a norm: 1 tensor",
      "  small: 1 tensor",
    ]);
    const made = { ...plan(rows, { bytes: 15 }), gap: 0.000234, metric: "output" };
    assert.match(describePlan(made), /within 0\.02 % of the least possible/);
    assert.doesNotMatch(describePlan(made), /accuracy/);
  });
});
