// plan against brute force, in any order of rows.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DEFAULT_SAME, frontier, plan } from "zeropoint/models";
import { fuzzLimits } from "../../support/arbitraries.mjs";
import { Random, refuses } from "../../support/asserts.mjs";
import { randomRows, rowsOf, two } from "./rows.mjs";

/** The least error within a budget, of all choices. @param isByShare  weights tensors by their parameters */
function bruteForce(rows, budget, isByShare) {
  const total = [...new Map(rows.map((row) => [row.name, row.parameters])).values()];
  const parameters = Math.max(
    1,
    total.reduce((a, b) => a + b, 0),
  );
  const weightOf = (row) => (isByShare ? row.parameters / parameters : 1 / total.length);
  let choices = [{ bytes: 0, error: 0 }];
  for (const name of new Set(rows.map((row) => row.name))) {
    const own = rows.filter((row) => row.name === name);
    choices = choices.flatMap(({ bytes, error }) =>
      own.map((row) => ({
        bytes: bytes + row.bytes,
        error: error + row.relative * weightOf(row),
      })),
    );
  }
  return Math.min(...choices.filter(({ bytes }) => bytes <= budget).map(({ error }) => error));
}

/** Sums of at most a dozen doubles in another order: 12 roundings of 2^-53. */
const SLACK = 1 + 12 * 2 ** -53;

const smallestOf = (rows) =>
  [...new Set(rows.map(({ name }) => name))].reduce(
    (sum, name) =>
      sum + Math.min(...rows.filter((row) => row.name === name).map(({ bytes }) => bytes)),
    0,
  );

describe("plan", () => {
  it("has the least error of all choices, and a bound below all of them", () => {
    fc.assert(
      fc.property(randomRows, fc.nat({ max: 200 }), fc.boolean(), (rows, more, isByShare) => {
        const budget = smallestOf(rows) + more;
        const best = bruteForce(rows, budget, isByShare);
        const metric = isByShare ? undefined : "layers";
        const { bytes, error, bound, gap, schemes } = plan(rows, { bytes: budget, metric });
        assert.ok(bytes <= budget);
        assert.ok(error <= best * SLACK, `${error} instead of ${best}`);
        assert.ok(bound <= best * SLACK, `the bound ${bound} is above ${best}`);
        assert.ok(error <= bound * (1 + gap) * SLACK);
        const chosen = rows.filter(({ name, scheme }) => schemes[name] === scheme);
        assert.equal(
          chosen.reduce((sum, row) => sum + row.bytes, 0),
          bytes,
        );
      }),
      fuzzLimits(1, 2000),
    );
  });

  it("is equal for every order of the rows", () => {
    fc.assert(
      fc.property(
        randomRows.chain((rows) =>
          fc.tuple(
            fc.constant(rows),
            fc.shuffledSubarray(rows, { minLength: rows.length, maxLength: rows.length }),
          ),
        ),
        fc.integer({ min: 0, max: 100 }),
        ([rows, shuffled], more) => {
          const budget = { bytes: smallestOf(rows) + more };
          assert.deepEqual(plan(shuffled, budget), plan(rows, budget));
        },
      ),
      fuzzLimits(1, 500),
    );
  });

  it("finds the best remainder where the steepest steps leave bytes over", () => {
    // The steepest step of a leaves 9 bytes, for which there is nothing; b and c together are better.
    const rows = rowsOf({
      a: { s: [1, 0.9], l: [11, 0.1] },
      b: { s: [1, 0.9], l: [10, 0.25] },
      c: { s: [1, 0.9], l: [10, 0.25] },
    });
    const { schemes, gap } = plan(rows, { bytes: 21 });
    assert.deepEqual(schemes, { a: "s", b: "l", c: "l" });
    assert.equal(gap, 0);
  });

  it("takes the first name of equal schemes, and of equal tensors the first by name", () => {
    const rows = rowsOf({ b: two, a: { ...two, also: [20, 0.25] } });
    assert.deepEqual(plan(rows, { bytes: 30 }).schemes, { a: "also", b: "small" });
  });

  it("counts bits per weight and the ratio over all tensors, kept ones included", () => {
    const rows = [
      ...rowsOf({ a: two, b: two }).map((row) => ({ ...row, bytesBefore: 40 })),
      { name: "norm", scheme: "keep", parameters: 50, bytes: 20, reason: "a norm" },
    ];
    const least = plan(rows, { bitsPerWeight: (8 * 40) / 250 });
    assert.deepEqual([least.bytes, least.bytesBefore, least.parameters], [40, 100, 250]);
    assert.deepEqual(least.reasons, { norm: "a norm" });
    assert.equal(plan(rows, { ratio: 0.5 }).bytes, 50);
    assert.equal(plan(rows, { ratio: 0.6 }).bytes, 60);
  });

  it("has the fewest bytes of which every tensor has minSqnr decibels", () => {
    const rows = [
      { name: "a", scheme: "s", parameters: 1, bytes: 1, sqnr: 10 },
      { name: "a", scheme: "m", parameters: 1, bytes: 2, sqnr: 20 },
      { name: "a", scheme: "l", parameters: 1, bytes: 3, sqnr: 30 },
      { name: "b", scheme: "s", parameters: 1, bytes: 1, sqnr: 25 },
    ];
    const { schemes, budget } = plan(rows, { minSqnr: 15 });
    assert.deepEqual(schemes, { a: "m", b: "s" });
    assert.deepEqual(budget, { minSqnr: 15 });
    refuses(
      () => plan(rows, { minSqnr: 28 }),
      RangeError,
      "ZP_IMPOSSIBLE_BUDGET",
      'plan: no scheme of the rows has 28 dB for "b"; analyze more schemes, or "keep"',
    );
  });

  it("takes an SQNR of null for infinite where the error is 0, as JSON has it", () => {
    const rows = rowsOf({ a: { s: [1, 0], keep: [2, 0] } }).map((row) => ({ ...row, sqnr: null }));
    assert.deepEqual(plan(rows, { minSqnr: 100 }).schemes, { a: "s" });
  });

  it("pins by patterns, of which the last one that matches counts", () => {
    const rows = rowsOf({ "x.1.w": two, "x.2.w": two, "y.w": two });
    const pin = { "x.*": "small", "x.2.?": "LARGE" };
    const { schemes, reasons } = plan(rows, { bytes: 100, pin });
    assert.deepEqual(schemes, { "x.1.w": "small", "x.2.w": "large", "y.w": "large" });
    assert.deepEqual(reasons, { "x.1.w": 'pinned by "x.*"', "x.2.w": 'pinned by "x.2.?"' });
  });

  it("keeps a tensor by a pin without a row of keep, if its bytes are known", () => {
    const rows = rowsOf({ a: two }).map((row) => ({ ...row, dtype: "float32" }));
    const { schemes, bytes, error } = plan(rows, { bytes: 1000, pin: { a: "keep" } });
    assert.deepEqual([schemes.a, bytes, error], ["keep", 400, 0]);
  });

  it("gives one scheme to q, k and v, and to gate and up, of each layer", () => {
    const names = ["blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.1.attn_q.weight"];
    const other = { small: [10, 0.9], large: [20, 0.1] };
    const rows = rowsOf({ [names[0]]: other, [names[1]]: two, [names[2]]: two });
    assert.deepEqual(Object.values(plan(rows, { bytes: 50 }).schemes), ["large", "large", "small"]);
    // Without groups, the remainder of 20 bytes goes to two of three.
    const { schemes } = plan(rows, { bytes: 40, same: [] });
    assert.deepEqual(Object.values(schemes), ["small", "large", "small"]);
    assert.ok(DEFAULT_SAME.length > 5);
    for (const [a, b] of [
      ["model.layers.3.self_attn.q_proj.weight", "model.layers.3.self_attn.v_proj.weight"],
      ["model.layers.3.mlp.gate_proj.weight", "model.layers.3.mlp.up_proj.weight"],
      ["encoder.layer.0.attention.self.query.weight", "encoder.layer.0.attention.self.key.weight"],
      ["blk.7.ffn_gate.weight", "blk.7.ffn_up.weight"],
    ]) {
      const { reasons } = plan(rowsOf({ [a]: two, [b]: two }), { bytes: 100 });
      assert.deepEqual(reasons, { [a]: `the same as ${b}`, [b]: `the same as ${a}` });
    }
  });

  it("leaves kept tensors out of groups", () => {
    const rows = rowsOf({
      "l.q_proj.weight": two,
      "l.k_proj.weight": { keep: [5, 0], reason: "small" },
    });
    const { schemes, reasons } = plan(rows, { bytes: 100 });
    assert.deepEqual(Object.values(schemes), ["keep", "large"]);
    assert.deepEqual(reasons, { "l.k_proj.weight": "small" });
  });

  it("gives tensors of equal bytes one scheme", () => {
    const sha256 = "ab".repeat(32);
    const rows = rowsOf({ embed: { ...two, sha256 }, head: { ...two, sha256 }, other: two });
    const { schemes } = plan(rows, { bytes: 50 });
    assert.deepEqual(schemes, { embed: "large", head: "large", other: "small" });
  });

  it("minimizes another metric, or a function of rows", () => {
    const rows = [
      { name: "a", scheme: "s", parameters: 1, bytes: 1, sqnr: 10, mse: 1, max: 3, cosine: 0.9 },
      { name: "a", scheme: "l", parameters: 1, bytes: 2, sqnr: 20, mse: 0, max: 4, cosine: 0.99 },
    ];
    const errorOf = (metric) => plan(rows, { bytes: 2, metric }).error;
    assert.equal(errorOf("relative"), 0.01);
    assert.equal(errorOf("mse"), 0);
    assert.equal(errorOf("max"), 3);
    assert.ok(Math.abs(errorOf("cosine") - 0.01) < 1e-15);
    assert.equal(
      errorOf(({ bytes }) => 5 * bytes),
      5,
    );
    assert.equal(plan(rows, { bytes: 2, metric: () => 1 }).metric, "custom");
  });

  it("minimizes the error of outputs where all rows have it", () => {
    const rows = rowsOf({ a: two }).map((row) => ({ ...row, outputRelative: 0.125 }));
    assert.equal(plan(rows, { bytes: 100 }).metric, "output");
    assert.equal(plan(rows.slice(1).concat(rowsOf({ b: two })), { bytes: 100 }).metric, "relative");
  });

  it("counts each weight alike by the metric layers, whatever its size, and kept tensors not at all", () => {
    const rows = rowsOf({
      large: { s: [10, 0.4], l: [20, 0.1] },
      tiny: { s: [1, 0.5], l: [11, 0.1] },
      norm: { keep: [1, 0], reason: "a norm" },
    }).map((row) => ({ ...row, parameters: row.name === "large" ? 1000 : 10 }));
    const { schemes, error } = plan(rows, { bytes: 22, metric: "layers" });
    assert.deepEqual(schemes, { large: "s", norm: "keep", tiny: "l" });
    assert.equal(error, 0.25);
    const byShare = plan(rows, { bytes: 22 }).schemes;
    assert.deepEqual(byShare, { large: "l", norm: "keep", tiny: "s" });
  });

  it("keeps kept tensors where a pin matches them with others, and reports it", () => {
    const rows = rowsOf({
      "l.weight": two,
      "l.norm": { keep: [5, 0], reason: "a norm" },
    });
    const { schemes, reasons } = plan(rows, { bytes: 100, pin: { "l.*": "small" } });
    assert.deepEqual(schemes, { "l.norm": "keep", "l.weight": "small" });
    assert.deepEqual(reasons, {
      "l.norm": 'a norm; not pinned by "l.*"',
      "l.weight": 'pinned by "l.*"',
    });
    assert.throws(
      () => plan(rows, { bytes: 100, pin: { "*.norm": "small" } }),
      /options\.pin names "\*\.norm", which only kept tensors match: "l\.norm" is kept \(a norm\)$/,
    );
    const kept = plan(rows, { bytes: 100, pin: { "*.norm": "keep" } });
    assert.deepEqual(kept.reasons, { "l.norm": 'pinned by "*.norm"' });
  });

  it("keeps a weight whose rows have no scheme of the format, with the reason", () => {
    const common = { parameters: 100, bytesBefore: 400, format: "gguf", relative: 0.5 };
    const rows = [
      { ...common, name: "a", scheme: "int8-channel", bytes: 100 },
      { ...common, name: "b", scheme: "int8-channel", bytes: 100 },
      { ...common, name: "b", scheme: "q8_0", bytes: 106 },
    ];
    const { schemes, reasons, bytes } = plan(rows, { bytes: 600 });
    assert.deepEqual(schemes, { a: "keep", b: "q8_0" });
    assert.deepEqual(reasons, { a: "no scheme among its rows that the format holds" });
    assert.equal(bytes, 506);
    assert.deepEqual(
      plan(rows.toReversed?.() ?? [...rows].reverse(), { bytes: 600 }).schemes,
      schemes,
    );
  });

  const ofFormats = {
    "int4-g32": [10, 0.5],
    q4_0: [10, 0.25],
    float16: [20, 0.1],
    keep: [40, 0],
  };
  const rowsOfSafetensors = rowsOf({ a: ofFormats, b: ofFormats }).map((row) => ({
    ...row,
    format: "safetensors",
  }));

  it("takes only schemes that the format has, by default that of the model", () => {
    const rows = rowsOfSafetensors;
    const chosen = (options) => plan(rows, { bytes: 20, ...options }).schemes.a;
    assert.equal(chosen(), "int4-g32");
    assert.equal(chosen({ format: "gguf" }), "q4_0");
    assert.equal(chosen({ format: "onnx" }), "int4-g32");
    assert.equal(chosen({ bytes: 40 }), "float16");
    assert.equal(plan(rows, { bytes: 20 }).format, "safetensors");
    // Rows of unknown or several formats have all schemes.
    assert.equal(
      plan([{ ...rows[0], format: undefined }, ...rows.slice(1)], { bytes: 20 }).schemes.a,
      "q4_0",
    );
  });

  it("refuses rows without a scheme of the format", () => {
    refuses(
      () =>
        plan(
          rowsOfSafetensors.filter(({ scheme }) => scheme === "q4_0"),
          { bytes: 20 },
        ),
      RangeError,
      "ZP_INVALID_OPTION",
      'plan: no row has one scheme that safetensors has for "a"',
    );
  });

  it("names the smallest possible budget, which then fits", () => {
    const rows = rowsOf({ a: two, b: two }).map((row) => ({ ...row, dtype: "float32" }));
    const refusal = (options, message) =>
      refuses(() => plan(rows, options), RangeError, "ZP_IMPOSSIBLE_BUDGET", message);
    const wanted = "must be at least";
    const schemes = "with the schemes of the rows";
    refusal({ bytes: 19 }, `plan: options.bytes ${wanted} 20 ${schemes}, got 19`);
    refusal(
      { bitsPerWeight: 0.5 },
      `plan: options.bitsPerWeight ${wanted} 0.8 ${schemes}, got 0.5`,
    );
    refusal({ ratio: 0.01 }, `plan: options.ratio ${wanted} 0.025 ${schemes}, got 0.01`);
    for (const fits of [{ bytes: 20 }, { bitsPerWeight: 0.8 }, { ratio: 0.025 }]) {
      assert.equal(plan(rows, fits).bytes, 20);
    }
  });

  it("has names like __proto__ as its own fields, and survives JSON", () => {
    const made = plan(rowsOf({ ["__proto__"]: two, constructor: two }), { bytes: 100 });
    assert.deepEqual(Object.keys(made.schemes), ["__proto__", "constructor"]);
    assert.deepEqual(JSON.parse(JSON.stringify(made)), made);
  });

  it("takes no rows for an empty plan", () => {
    assert.deepEqual(plan([], { bytes: 1 }).schemes, {});
    assert.deepEqual(frontier([]), [{ bytes: 0, error: 0, bitsPerWeight: 0 }]);
  });

  it("proves a gap below 0.02 % for 100 000 tensors of 10 schemes", () => {
    const random = new Random(24);
    const rows = [];
    for (let i = 0; i < 100_000; i++) {
      const parameters = 32 * random.integer(32, 4096);
      const scale = random.between(0.5, 2);
      for (let bits = 1; bits <= 10; bits++) {
        const relative = scale * random.between(0.8, 1.2) * 4 ** -bits;
        const bytes = (parameters * bits) / 8 + parameters / 16;
        rows.push({ name: `layers.${i}.weight`, scheme: `s${bits}`, parameters, bytes, relative });
      }
    }
    const { gap, bytes } = plan(rows, { bitsPerWeight: 4.5 });
    assert.ok(gap < 2e-4, `${gap}`);
    assert.ok(bytes > 0);
  });
});
