// The parts of the Model Lab that need no browser.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bytesText, metricText, nounText, shapeText, timeText } from "../../../web/lab/format.js";
import { emptyState, fromLink, toLink } from "../../../web/lab/link.js";
import { commandLine, toCsv, toHtmlPage, toJson } from "../../../web/lab/out/report.js";
import { groupBars } from "../../../web/lab/show/strip.js";

const METRICS = ["sqnr", "mse"];

describe("The lab's link", () => {
  it("is #lab alone for the state at the start", () => {
    assert.equal(toLink(emptyState()), "#lab");
  });

  it("brings back what it was made of", () => {
    const state = {
      ...emptyState(),
      metric: "mse",
      filter: "fc & 1=",
      sort: "-int4-g32",
      budget: 12_345,
      pins: { "a=b.weight": "int8-channel", __proto__x: "keep" },
      sample: "digits.onnx",
    };
    assert.deepEqual(fromLink(toLink(state), METRICS), state);
  });

  it("ignores values that no lab writes", () => {
    const read = fromLink("#lab?metric=toString&budget=-1&pin=x&pin==y", METRICS);
    assert.deepEqual(read, emptyState());
  });
});

describe("The lab's reports", () => {
  const row = {
    name: 'a "b", c',
    shape: [2, 3],
    dtype: "float32",
    scheme: "int8-tensor",
    bytes: 10,
    mse: 0,
    max: 0,
    sqnr: Number.POSITIVE_INFINITY,
    cosine: 1,
  };

  it("quote names in comma-separated values", () => {
    assert.equal(
      toCsv([row]).split("\r\n")[1],
      '"a ""b"", c",2x3,float32,int8-tensor,10,0,0,Infinity,1',
    );
  });

  it("write infinities as text in JSON", () => {
    assert.equal(JSON.parse(toJson(row)).sqnr, "Infinity");
  });

  it("escape names in HTML", () => {
    const page = toHtmlPage("<x>", [{ ...row, name: "<script>" }], "");
    assert.ok(page.includes("&lt;script&gt;") && !page.includes("<script>"));
  });

  it("quote names for the shell", () => {
    const text = commandLine({ name: "it's.onnx", bytes: 99, pins: { "a b": "int8-channel" } });
    assert.match(text, /^npx zeropoint analyze 'it'\\''s\.onnx'$/m);
    assert.match(text, /--size 99B --pin 'a b=int8-channel' -o plan\.json$/m);
    assert.match(text, /-o 'it'\\''s-quantized\.onnx' --verify$/m);
  });
});

describe("The lab's numbers", () => {
  it("are short and have units", () => {
    assert.deepEqual([0, 999, 1000, 203_888, 5.4e9].map(bytesText), [
      "0 B",
      "999 B",
      "1.0 kB",
      "204 kB",
      "5.4 GB",
    ]);
    assert.equal(shapeText([]), "scalar");
    assert.equal(shapeText([64, 784]), "64 × 784");
    assert.equal(nounText(1, "tensor"), "1 tensor");
    assert.equal(metricText("sqnr", Number.POSITIVE_INFINITY), "exact");
    assert.equal(metricText("mse", 0.000123), "1.2 e-4");
    assert.equal(timeText(200), "3 minutes");
  });
});

describe("The overview strip", () => {
  it("joins neighbours that are too narrow to be seen, and loses no bytes", () => {
    const small = Array.from({ length: 50 }, (_, i) => ({
      name: `t${i}`,
      byteLength: 1,
      isKept: true,
    }));
    const large = { name: "w", byteLength: 1_000_000, isKept: false };
    const { bars, total } = groupBars([...small, large]);
    assert.deepEqual(
      bars.map(({ first, count }) => [first, count]),
      [
        ["t0", 50],
        ["w", 1],
      ],
    );
    assert.equal(
      bars.reduce((sum, { bytes }) => sum + bytes, 0),
      total,
    );
  });
});
