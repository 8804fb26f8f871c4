import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { dequantize, fakeQuantize, init, quantizationError, quantize } from "zeropoint";
import { Random, refuses } from "../support/asserts.mjs";

await init();

const E4M3 = "float8_e4m3fn";
const E5M2 = "float8_e5m2";
const E2M1 = "float4_e2m1";
const one = (value, dtype, scale = 1) => quantize(Float32Array.of(value), { dtype, scale }).data[0];
const decoded = (code, dtype) =>
  dequantize({ data: Uint8Array.of(code), shape: [1], dtype, scale: 1 }).data[0];

describe("Codes that are floats", () => {
  it("are the nearest of all values, those of even patterns at ties", () => {
    const random = new Random(8);
    for (const [dtype, top] of [
      [E4M3, 0x7e],
      [E5M2, 0x7b],
      [E2M1, 7],
    ]) {
      const values = Array.from({ length: top + 1 }, (_, code) => decoded(code, dtype));
      const sign = dtype === E2M1 ? 8 : 0x80;
      for (const [code, value] of values.entries()) {
        assert.equal(one(value, dtype), code, `${dtype} ${value}`);
        assert.equal(one(-value, dtype), code | sign, `${dtype} ${-value}`);
        if (code === top) continue;
        const middle = (value + values[code + 1]) / 2;
        assert.equal(one(middle, dtype), code + (code % 2), `${dtype} ${middle}`);
        const between = random.between(value, values[code + 1]);
        const nearest = between < middle ? code : code + 1;
        assert.equal(one(between, dtype), nearest, `${dtype} ${between}`);
      }
      assert.equal(one(Infinity, dtype), top);
      assert.equal(one(-1e9, dtype), top | sign);
      assert.equal(one(NaN, dtype), dtype === E2M1 ? 7 : 0x7f);
    }
    assert.deepEqual(
      Array.from({ length: 16 }, (_, code) => decoded(code, E2M1)),
      [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6],
    );
  });

  it("of float4_e2m1 lose the sign of -0 with ONNX's rule, which adds a zero point of 0", () => {
    const x = Float32Array.of(-0, -1e-40, 0);
    const codes = (dtype, rule) => [...quantize(x, { dtype, scale: 2, rule }).data];
    assert.deepEqual(codes(E2M1, "onnx"), [0, 8, 0]);
    assert.deepEqual(codes(E2M1, "course"), [8, 8, 0]);
    assert.deepEqual(codes(E4M3, "onnx"), [0x80, 0x80, 0]);
    const fake = fakeQuantize(x, { dtype: E2M1, scale: 2, rule: "onnx" });
    assert.deepEqual([...fake.data], [0, -0, 0]);
    const wrong = () => quantize(x, { dtype: E2M1, rule: "onxx" });
    refuses(wrong, RangeError, "ZP_INVALID_OPTION", /options\.rule/);
  });

  it("are torchao's, with its scales, for every block of float32", () => {
    const url = new URL("../../vectors/torchao.json", import.meta.url);
    const { cases } = JSON.parse(readFileSync(url, "utf8"));
    const bytesOf = ({ b64 }) => Uint8Array.from(Buffer.from(b64, "base64"));
    const floats = (tensor) => new Float32Array(bytesOf(tensor).buffer);
    let count = 0;
    for (const { id, fn, args, in: inputs, out } of cases) {
      const dtype = `float8_${args.float8Dtype}`;
      if (fn !== "float8" || inputs.x.t !== "f32" || ![E4M3, E5M2].includes(dtype)) continue;
      const scale = { data: floats(out.scale), shape: out.scale.shape };
      // torchao divides by scales of 0 and infinity, too.
      const given = { dtype, scale, blockShape: args.block, rule: "torch" };
      const x = { data: floats(inputs.x), shape: inputs.x.shape };
      const q = quantize(x, given);
      const isNaN8 = (code) => (dtype === E4M3 ? (code & 127) === 127 : (code & 127) > 0x7c);
      const codes = (data) => [...data].map((code) => (isNaN8(code) ? "NaN" : code));
      assert.deepEqual(codes(q.data), codes(bytesOf(out.q)), id);
      const values = dequantize(q, { rule: "torch" }).data;
      assert.deepEqual([...values], [...floats(out.dq)], id);
      count++;
    }
    assert.ok(count > 5, `${count} cases`);
  });

  const random = new Random(9);
  const x = {
    data: Float32Array.from({ length: 63 }, () => random.between(-2, 3)),
    shape: [7, 9],
  };
  for (const own of [
    {},
    { axis: 0 },
    { axis: 1 },
    { groupSize: 4 },
    { blockShape: [2, 4] },
    { blockShape: [-1, 3] },
  ]) {
    it(`have scales of max|x| over the largest value: ${JSON.stringify(own)}`, () => {
      for (const [dtype, most, least] of [
        [E4M3, 448, 28],
        [E5M2, 57344, 22],
        [E2M1, 6, 12],
      ]) {
        const q = quantize(x, { dtype, ...own });
        // int8's scales are max|x| / 127, of the same slices.
        const { scale, data, ...rest } = quantize(x, own);
        const listed = (one) => (typeof one === "number" ? [one] : [...one.data]);
        for (const [i, each] of listed(scale).entries()) {
          const ratio = (listed(q.scale)[i] * most) / (each * 127);
          assert.ok(Math.abs(ratio - 1) < 1e-6, `${ratio}`);
        }
        assert.deepEqual(q.scale.shape, scale.shape);
        assert.deepEqual(q.blockShape, rest.blockShape);
        const values = dequantize(q);
        assert.deepEqual(fakeQuantize(x, { dtype, ...own }).data, values.data);
        assert.ok(quantizationError(x, values, "sqnr") > least);
        assert.deepEqual(dequantize(structuredClone(q)).data, values.data);
      }
    });
  }

  it("of zeros and of nothing have scale 1", () => {
    assert.equal(quantize(new Float32Array(3), { dtype: E4M3 }).scale, 1);
    assert.equal(quantize(new Float32Array(0), { dtype: E2M1 }).data.length, 0);
  });

  const good = { data: Uint8Array.of(1), shape: [1], dtype: E2M1, scale: 1 };
  for (const [work, type, code, message] of [
    [
      () => quantize(x, { dtype: E4M3, zeroPoint: 3, scale: 1 }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.zeroPoint must be undefined with dtype float8_e4m3fn/,
    ],
    [
      () => quantize(Float32Array.of(1, NaN), { dtype: E4M3 }),
      RangeError,
      "ZP_NON_FINITE",
      /value 1 is NaN/,
    ],
    [() => quantize(x, { dtype: E4M3, scale: 0 }), RangeError, "ZP_INVALID_SCALE", /> 0/],
    [
      () => dequantize({ ...good, data: Uint8Array.of(16) }),
      RangeError,
      "ZP_INVALID_CODES",
      /q\.data/,
    ],
    [() => dequantize({ ...good, shape: [2] }), RangeError, "ZP_SHAPE_MISMATCH", /\[2\]/],
  ]) {
    it(`refuse by name: ${code}: ${message.source}`, () => refuses(work, type, code, message));
  }
});
