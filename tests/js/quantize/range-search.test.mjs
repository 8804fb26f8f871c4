import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  chooseQParams,
  dequantize,
  fakeQuantize,
  init,
  linear,
  QuantizedLinear,
  quantizationError,
  quantize,
  tensor,
} from "zeropoint";
import { WeightOnlyQConfig } from "zeropoint/torch";
import { Random, refuses } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { chooseFor, dequantizeValue, quantizeValue, slicesOf } from "../support/reference.mjs";

await init();

const f32 = Math.fround;

/** Sums of twelve values each: nearly normal. */
function normals(n, seed) {
  const random = new Random(seed);
  return Float32Array.from({ length: n }, () => {
    let sum = 0;
    for (let i = 0; i < 12; i++) sum += random.between(-1, 1);
    return sum / 2;
  });
}

/** The search in plain JavaScript: the qparams of least squared error among the 49 ranges. */
function leastError(values, options) {
  let best;
  for (let k = 64; k >= 16; k--) {
    const ends = [Math.min(...values, 0), Math.max(...values, 0)];
    if (options.scheme !== "affine") ends[0] = -Math.max(-ends[0], ends[1]);
    const qparams = chooseFor(
      ends.map((end) => (end * k) / 64),
      options,
    );
    const { scale, zeroPoint } = qparams;
    const sums = [0, 0, 0, 0];
    for (const [i, x] of values.entries()) {
      const code = quantizeValue(x, scale, zeroPoint, options.dtype);
      sums[i % 4] += f32(x - dequantizeValue(code, scale, zeroPoint)) ** 2;
    }
    const error = sums[0] + sums[2] + (sums[1] + sums[3]);
    if (best === undefined || error < best.error) best = { ...qparams, error };
  }
  return best;
}

/** numpy.percentile of a list. */
function percentileOf(values, p) {
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * (p / 100);
  const below = Math.floor(place);
  const [low, high] = [sorted[below], sorted[Math.min(below + 1, sorted.length - 1)]];
  const t = place - below;
  return f32(t < 0.5 ? low + (high - low) * t : high - (high - low) * (1 - t));
}

/** The values of each slice. */
function slicesIn({ data, shape }, options) {
  const { count, of } = slicesOf(shape, options);
  const slices = Array.from({ length: count }, () => []);
  for (let i = 0; i < data.length; i++) slices[of(i)].push(data[i]);
  return slices.map((slice) => Float32Array.from(slice));
}

const listOf = (given) => (typeof given === "number" ? [given] : Array.from(given.data));

const GRANULARITIES = [
  {},
  { axis: 0 },
  { axis: 1 },
  { axis: 2 },
  { groupSize: 5 },
  { groupSize: 4 },
];
const DTYPES = [
  ["int2", "symmetric"],
  ["int4", "symmetric"],
  ["int8", "symmetric"],
  ["int4", "affine"],
  ["uint2", "affine"],
  ["uint8", "affine"],
];

for (const zp of builds) {
  describe(`range "mse", ${zp.name}`, () => {
    const x = zp.tensor(normals(6 * 11 * 5, 1), [6, 11, 5]);
    for (const granularity of GRANULARITIES) {
      for (const [dtype, scheme] of DTYPES) {
        const options = { dtype, scheme, ...granularity };
        it(`takes the range of a plain search for ${JSON.stringify(options)}`, () => {
          const chosen = zp.chooseQParams(x, { ...options, range: "mse" });
          const expected = slicesIn(x, granularity).map((values) => leastError(values, options));
          const isOne = typeof chosen.scale === "number";
          assert.deepEqual(
            listOf(chosen.scale),
            expected.map(({ scale }) => (isOne ? scale : f32(scale))),
          );
          assert.deepEqual(
            listOf(chosen.zeroPoint),
            expected.map(({ zeroPoint }) => zeroPoint),
          );
        });
      }
    }

    it("finds the same range in tiles, in one axis or another", () => {
      const data = normals(300_001, 2);
      const options = { dtype: "int4", range: "mse" };
      const whole = zp.chooseQParams(zp.tensor(data), options);
      const row = zp.chooseQParams(zp.tensor(data, [1, data.length]), { ...options, axis: 0 });
      assert.deepEqual([f32(whole.scale)], listOf(row.scale));
      const column = zp.chooseQParams(zp.tensor(data, [data.length, 1]), { ...options, axis: 1 });
      assert.deepEqual(column.scale.data, row.scale.data);
      const twice = Float32Array.from({ length: 2 * data.length }, (_, i) => data[i >> 1]);
      const columns = zp.chooseQParams(zp.tensor(twice, [data.length, 2]), { ...options, axis: 1 });
      assert.deepEqual(listOf(columns.scale), [row.scale.data[0], row.scale.data[0]]);
    });
  });

  describe(`range { percentile }, ${zp.name}`, () => {
    const x = zp.tensor(normals(6 * 11 * 5, 3), [6, 11, 5]);
    for (const granularity of GRANULARITIES) {
      for (const percentile of [50, 75.5, 99, 99.99, 100]) {
        const name = `${JSON.stringify(granularity)}, ${percentile}`;
        it(`interpolates as numpy.percentile: ${name}`, () => {
          const range = { percentile };
          const slices = slicesIn(x, granularity);
          const symmetric = zp.chooseQParams(x, { dtype: "int4", range, ...granularity });
          const isOne = typeof symmetric.scale === "number";
          const round = (scale) => (isOne ? scale : f32(scale));
          assert.deepEqual(
            listOf(symmetric.scale),
            slices.map((values) => round(percentileOf(values.map(Math.abs), percentile) / 7)),
          );
          const options = { dtype: "uint8", scheme: "affine" };
          const affine = zp.chooseQParams(x, { ...options, range, ...granularity });
          const expected = slices.map((values) =>
            chooseFor(
              [percentileOf(values, 100 - percentile), percentileOf(values, percentile)],
              options,
            ),
          );
          assert.deepEqual(
            listOf(affine.scale),
            expected.map(({ scale }) => round(scale)),
          );
          assert.deepEqual(
            listOf(affine.zeroPoint),
            expected.map(({ zeroPoint }) => zeroPoint),
          );
        });
      }
    }

    it("finds the percentile of a tensor in tiles", () => {
      const data = normals(300_001, 4);
      const options = { scheme: "affine", includeZero: false, range: { percentile: 99.9 } };
      const { scale } = zp.chooseQParams(zp.tensor(data), options);
      assert.equal(scale, (percentileOf(data, 99.9) - percentileOf(data, 100 - 99.9)) / 255);
    });
  });
}

describe("range", () => {
  const x = tensor(normals(64 * 32, 5), [64, 32]);
  const options = { dtype: "int4", groupSize: 16, range: "mse" };

  it('is "minmax" by default', () => {
    assert.deepEqual(quantize(x, { range: "minmax" }), quantize(x));
    assert.deepEqual(quantize(x, { range: undefined }), quantize(x));
  });

  it("serves quantize, fakeQuantize and QuantizedLinear alike", () => {
    const chosen = chooseQParams(x, options);
    const q = quantize(x, options);
    assert.deepEqual(q, quantize(x, chosen));
    assert.deepEqual(fakeQuantize(x, options).data, dequantize(q).data);
    const layer = new QuantizedLinear(x, options);
    assert.deepEqual(layer.qparams, chosen);
    assert.deepEqual(layer.forward(x).data, linear(x, q).data);
    layer.dispose();
  });

  it('has no more error with "mse" than with "minmax", and gains what the search gains', () => {
    for (const [dtype, least] of [
      ["int2", 2],
      ["int4", 0.5],
    ]) {
      const sqnr = (range) => quantizationError(x, fakeQuantize(x, { dtype, range }), "sqnr");
      const gain = sqnr("mse") - sqnr("minmax");
      assert.ok(gain > least, `${dtype} gains ${gain} dB`);
    }
  });

  it("skips NaN and infinities where told to, and refuses them otherwise", () => {
    const data = Float32Array.of(...normals(99, 6), Infinity, NaN);
    for (const range of ["mse", { percentile: 99 }]) {
      const given = { dtype: "int4", range };
      const finite = chooseQParams(tensor(data.slice(0, 99)), given);
      assert.deepEqual(chooseQParams(tensor(data), { ...given, nonFinite: "ignore" }), finite);
      refuses(() => chooseQParams(tensor(data), given), RangeError, "ZP_NON_FINITE", /value 99/);
    }
  });

  it("is refused unless it is one of the four, or beside a scale", () => {
    const bad = (range, type, message) =>
      refuses(() => quantize(x, { range }), type, "ZP_INVALID_OPTION", message);
    bad(
      "max",
      RangeError,
      /options.range must be "minmax", "mse", "hqq" or \{ percentile \}, got "max"/,
    );
    bad(null, TypeError, /options.range/);
    bad({}, TypeError, /options.range.percentile must be a number from 50 to 100, got undefined/);
    bad({ percentile: 49 }, RangeError, /from 50 to 100, got 49/);
    bad({ percentile: NaN }, RangeError, /got NaN/);
    bad({ percentile: "99" }, TypeError, /got "99"/);
    const unknown = { range: { percentile: 99, p: 1 } };
    refuses(() => quantize(x, unknown), TypeError, "ZP_UNKNOWN_OPTION", /options.range has no "p"/);
    const both = { scale: 1, range: "mse" };
    refuses(() => quantize(x, both), TypeError, "ZP_CONFLICTING_OPTIONS", /got both/);
  });

  it("is an option of WeightOnlyQConfig, but not mse with bits", () => {
    assert.equal(new WeightOnlyQConfig({ dtype: "int4", range: "mse" }).options.range, "mse");
    const bits = { bits: 3, range: "mse" };
    const make = () => new WeightOnlyQConfig(bits);
    refuses(make, TypeError, "ZP_CONFLICTING_OPTIONS", /needs options.dtype/);
  });
});
