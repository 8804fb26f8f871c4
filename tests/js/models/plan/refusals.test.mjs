// Wrong rows and options of plan, frontier and describePlan.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describePlan, frontier, plan } from "zeropoint/models";
import { refuses } from "../../support/asserts.mjs";
import { rowsOf, two } from "./rows.mjs";

describe("plan", () => {
  const rows = rowsOf({ a: two });
  for (const [title, given, options, type, code, message] of [
    ["rows that are none", 5, { bytes: 1 }, TypeError, "ZP_INVALID_ROW", /^plan: rows must be/],
    ["a row that is none", [1], { bytes: 1 }, TypeError, "ZP_INVALID_ROW", /rows\[0\] must be/],
    [
      "a row without a name",
      [{ scheme: "s" }],
      { bytes: 1 },
      TypeError,
      "ZP_INVALID_ROW",
      /rows\[0\]\.name must be a text, got undefined/,
    ],
    [
      "bytes that are no count",
      [{ ...rows[0], bytes: -1 }],
      { bytes: 1 },
      RangeError,
      "ZP_INVALID_ROW",
      /rows\[0\]\.bytes must be an integer of at least 0, got -1/,
    ],
    [
      "an error that is NaN",
      [{ ...rows[0], relative: Number.NaN }],
      { bytes: 1 },
      RangeError,
      "ZP_INVALID_ROW",
      /rows\[0\]\.relative must be a finite number of at least 0, got NaN/,
    ],
    [
      "a scheme that is there twice",
      [...rows, rows[0]],
      { bytes: 1 },
      RangeError,
      "ZP_INVALID_ROW",
      /have "a" with scheme small twice/,
    ],
    [
      "numbers of parameters that differ",
      [rows[0], { ...rows[1], parameters: 7 }],
      { bytes: 1 },
      RangeError,
      "ZP_INVALID_ROW",
      /rows\[1\]\.parameters must be as in other rows of "a", 100, got 7/,
    ],
    ["no budget", rows, {}, TypeError, "ZP_INVALID_OPTION", /must have a budget/],
    [
      "two budgets",
      rows,
      { bytes: 1, ratio: 1 },
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.bytes and options\.ratio are two budgets/,
    ],
    ["an unknown option", rows, { size: 1 }, TypeError, "ZP_UNKNOWN_OPTION", /no "size"/],
    ["a budget of 0", rows, { bytes: 0 }, RangeError, "ZP_INVALID_OPTION", /above 0, got 0/],
    [
      "a ratio of unknown bytes",
      rows,
      { ratio: 1 },
      RangeError,
      "ZP_INVALID_ROW",
      /needs bytesBefore/,
    ],
    [
      "a pin that matches nothing",
      rows,
      { bytes: 100, pin: { "b*": "small" } },
      RangeError,
      "ZP_INVALID_OPTION",
      /names "b\*", which no tensor/,
    ],
    [
      "a pin to a scheme without a row",
      rows,
      { bytes: 100, pin: { a: "int9" } },
      RangeError,
      "ZP_INVALID_OPTION",
      /the scheme int9 of options.pin for "a"/,
    ],
    [
      "pins that contradict a group",
      rowsOf({ a: two, b: two }),
      { bytes: 100, same: [["a", "b"]], pin: { a: "small", b: "large" } },
      RangeError,
      "ZP_INVALID_OPTION",
      /small and large for tensors that must agree, "a", "b"/,
    ],
    [
      "a group without a common scheme",
      rowsOf({ a: { s: [1, 1] }, b: { t: [1, 1] } }),
      { bytes: 100, same: ["{a,b}"] },
      RangeError,
      "ZP_INVALID_OPTION",
      /one scheme for each of "a", "b"/,
    ],
    [
      "a pattern with an open brace",
      rows,
      { bytes: 100, same: ["{a"] },
      RangeError,
      "ZP_INVALID_OPTION",
      /options\.same\[0\] must close each brace, got "\{a"/,
    ],
    [
      "an unknown metric",
      rows,
      { bytes: 100, metric: "accuracy" },
      RangeError,
      "ZP_INVALID_OPTION",
      /options\.metric must be "layers"/,
    ],
  ]) {
    it(`refuses ${title}`, () => {
      refuses(() => plan(given, options), type, code, message);
    });
  }
});

describe("plan, frontier and describePlan", () => {
  const rows = rowsOf({ a: two });
  const JUNK = [
    ...[
      undefined,
      null,
      true,
      0,
      -1,
      Number.NaN,
      1n,
      "",
      "a",
      Symbol("s"),
      () => 1,
      [],
      [null],
      [[]],
      {},
    ],
    ...[new Map(), new Proxy({}, {}), new Float32Array(3), [{}], [{ name: "a" }], { schemes: {} }],
    ...[
      { schemes: { a: 1 }, reasons: { a: 1 }, bytes: 1, bitsPerWeight: 1, error: 1 },
      [rows[0], 5],
    ],
    ...[{ bytes: "1" }, { minSqnr: "x" }, { bytes: 99, pin: 5 }, { bytes: 99, pin: { a: 5 } }],
    ...[
      { bytes: 99, same: 5 },
      { bytes: 99, same: [5] },
      { bytes: 99, same: [[5]] },
    ],
    ...[
      { bytes: 99, metric: 5 },
      { bytes: 99, metric: () => "x" },
      { bytes: 99, format: "npy" },
    ],
    ...[{ points: 1 }, { points: 3, minSqnr: 1e9 }, { bytes: 1e300 }, { bytes: 5e-324 }],
  ];

  it("return, or throw an error of this library, for any value", () => {
    let refused = 0;
    for (const junk of JUNK) {
      for (const call of [
        () => plan(junk, { bytes: 99 }),
        () => plan(rows, junk),
        () => frontier(junk),
        () => frontier(rows, junk),
        () => describePlan(junk),
      ]) {
        try {
          call();
        } catch (error) {
          assert.match(String(error.code), /^ZP_/, error.stack);
          refused++;
        }
      }
    }
    assert.ok(refused > 100, `${refused}`);
  });

  it("read nothing that Object.prototype has", () => {
    const polluted = {
      relative: 0,
      sqnr: 99,
      sha256: "x",
      format: "gguf",
      outputRelative: 0,
      bytesBefore: 1,
    };
    const expected = plan(rows, { bytes: 15 });
    try {
      for (const [name, value] of Object.entries(polluted)) {
        Object.defineProperty(Object.prototype, name, { value, configurable: true });
      }
      assert.deepEqual(plan(rows, { bytes: 15 }), expected);
      refuses(
        () => plan([{ name: "a", scheme: "s", bytes: 1, parameters: 1 }], { bytes: 15 }),
        TypeError,
        "ZP_INVALID_ROW",
        /rows\[0\]\.relative must be/,
      );
    } finally {
      for (const name of Object.keys(polluted)) delete Object.prototype[name];
    }
  });
});
