import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { chooseQParams, fakeQuantize, init, quantizationError, quantize, tensor } from "zeropoint";
import { WeightOnlyQConfig } from "zeropoint/torch";
import { fuzzLimits } from "../support/arbitraries.mjs";
import { DTYPES, Random, refuses } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { chooseFor } from "../support/reference.mjs";

await init();

const f32 = Math.fround;

/** Math.round to even. */
function nearest(value) {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}

const clamp = (value, { qmin, qmax }) => Math.min(Math.max(value, qmin), qmax);

/** A sum in four parts, value i in part i % 4. */
class Sum {
  parts = [0, 0, 0, 0];
  add(i, value) {
    this.parts[i % 4] += value;
  }
  get total() {
    const [a, b, c, d] = this.parts;
    return a + c + (b + d);
  }
}

/** Half-quadratic splitting in plain JavaScript, as the header of qparams.h states it. */
function halfQuadratic(values, { dtype, scheme, zeroPoint }) {
  const limits = DTYPES[dtype];
  const isFloat = zeroPoint === "float";
  const isSymmetric = !isFloat && scheme !== "affine";
  const [min, max] = [Math.min(...values), Math.max(...values)];
  let [scale, offset] = [1, min];
  if (!isFloat) {
    const chosen = chooseFor(values, { dtype, scheme: isSymmetric ? "symmetric" : "affine" });
    scale = f32(chosen.scale);
    offset = f32(-chosen.zeroPoint * scale);
  } else if (min !== max) {
    const exact = (max - min) / (limits.qmax - limits.qmin);
    scale = f32(exact);
    offset = f32(min - exact * limits.qmin);
  }
  let best;
  let beta = 10;
  for (let pass = 0; pass <= 20; pass++, beta *= 1.01) {
    const zero = isFloat || isSymmetric ? 0 : clamp(nearest(-offset / scale), limits);
    const sums = Array.from({ length: 5 }, () => new Sum());
    const [errors, codes, squares, targets, products] = sums;
    const threshold = f32(1 / beta);
    for (const [i, x] of values.entries()) {
      const own = isFloat
        ? clamp(nearest(f32(f32(x - offset) / scale)), limits)
        : clamp(nearest(f32(f32(x / scale) + zero)), limits);
      const y = isFloat ? f32(f32(scale * own) + offset) : f32(scale * f32(own - zero));
      errors.add(i, f32(x - y) ** 2);
      const q = clamp(nearest(f32(f32(x - offset) / scale)), limits);
      const error = f32(x - f32(f32(scale * q) + offset));
      const size = f32(Math.abs(error) / scale);
      const root = (value) => f32(Math.sqrt(value));
      const fourth = root(root(size));
      const power = f32(1 / f32(fourth * root(root(fourth))));
      const kept = f32(Math.max(f32(size - f32(power * threshold)), 0) * scale);
      const target = f32(x - Math.sign(error) * kept);
      codes.add(i, q);
      squares.add(i, q * q);
      targets.add(i, target);
      products.add(i, q * target);
    }
    if (best === undefined || errors.total < best.error) {
      best = { scale, shift: isFloat ? offset : zero, error: errors.total };
    }
    const n = values.length;
    const divisor = isSymmetric ? squares.total : n * squares.total - codes.total ** 2;
    const dividend = isSymmetric
      ? products.total
      : n * products.total - codes.total * targets.total;
    if (divisor > 0 && dividend / divisor > 0) scale = f32(dividend / divisor);
    if (!isSymmetric) offset = f32((targets.total - scale * codes.total) / n);
  }
  return best;
}

/** Values with heavy tails: quotients of sums of uniform ones. */
function heavy(size, random) {
  return Float32Array.from({ length: size }, () => {
    let sum = 0;
    for (let i = 0; i < 6; i++) sum += random.between(-1, 1);
    return sum / random.between(0.2, 1);
  });
}

const ways = [
  ["int4", {}],
  ["int2", {}],
  ["uint4", { scheme: "affine" }],
  ["int3", { scheme: "affine" }],
  ["uint3", { zeroPoint: "float" }],
  ["int8", { zeroPoint: "float" }],
];

const cases = fc
  .record({
    rows: fc.integer({ min: 1, max: 6 }),
    columns: fc.integer({ min: 1, max: 70 }),
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    way: fc.constantFrom(...ways),
    slices: fc.constantFrom({}, { axis: 0 }, { axis: 1 }, { groupSize: 16 }),
  })
  .map(({ rows, columns, seed, way: [dtype, options], slices }) => ({
    x: tensor(heavy(rows * columns, new Random(seed)), [rows, columns]),
    options: { dtype, ...options, ...slices, range: "hqq" },
  }));

for (const zp of builds) {
  describe(`range "hqq", ${zp.name}`, () => {
    it("is half-quadratic splitting as its header states it", () => {
      const check = ({ x, options }) => {
        const { scale, zeroPoint, offset } = zp.chooseQParams(tensor(x.data), {
          ...options,
          axis: undefined,
          groupSize: undefined,
        });
        const expected = halfQuadratic([...x.data], options);
        assert.equal(scale, expected.scale);
        assert.equal(offset ?? zeroPoint, expected.shift + 0);
      };
      fc.assert(fc.property(cases, check), fuzzLimits(1, 100));
    });

    it("is never worse than the whole range, in any granularity", () => {
      const check = ({ x, options }) => {
        const error = (range) =>
          zp.quantizationError(x, zp.fakeQuantize(x, { ...options, range }), "mse");
        // mse is a float32 mean.
        assert.ok(error("hqq") <= error("minmax") * (1 + 1e-5));
      };
      fc.assert(fc.property(cases, check), fuzzLimits(1, 100));
    });

    it("gives slices that are longer than a tile what it gives shorter ones", () => {
      const size = 3 * 2 ** 17 + 5;
      const x = heavy(size, new Random(5));
      const options = { dtype: "uint4", zeroPoint: "float", range: "hqq" };
      const { scale, offset } = zp.chooseQParams(x, options);
      const rows = zp.chooseQParams(tensor(x, [1, size]), { ...options, axis: 0 });
      assert.deepEqual([...rows.scale.data, ...rows.offset.data], [scale, offset]);
      const columns = tensor(
        Float32Array.from({ length: 2 * size }, (_, i) => x[Math.floor(i / 2)]),
        [size, 2],
      );
      const both = zp.chooseQParams(columns, { ...options, axis: 1 });
      assert.deepEqual([...both.scale.data], [scale, scale]);
      assert.deepEqual([...both.offset.data], [offset, offset]);
    });
  });
}

describe('range "hqq"', () => {
  it("gains decibels over the whole range on heavy tails", () => {
    const x = tensor(heavy(2 ** 15, new Random(9)), [2 ** 10, 32]);
    const sqnr = (options, range) =>
      quantizationError(x, fakeQuantize(x, { ...options, groupSize: 32, range }), "sqnr");
    for (const [dtype, least] of [
      ["uint4", 0.4],
      ["uint3", 0.8],
      ["uint2", 1.5],
    ]) {
      const options = { dtype, zeroPoint: "float" };
      const gain = sqnr(options, "hqq") - sqnr(options, "minmax");
      assert.ok(gain > least, `${dtype} ${gain}`);
      assert.ok(sqnr(options, "hqq") > sqnr(options, "mse"), dtype);
    }
  });

  it("scales with powers of two", () => {
    const x = heavy(500, new Random(3));
    const options = { dtype: "uint3", zeroPoint: "float", range: "hqq" };
    const one = chooseQParams(x, options);
    const eighth = chooseQParams(
      x.map((value) => value / 8),
      options,
    );
    assert.deepEqual([eighth.scale, eighth.offset], [one.scale / 8, one.offset / 8]);
  });

  it("refuses what no qparams can be chosen for", () => {
    const options = { dtype: "int4", range: "hqq" };
    const nan = tensor([1, Number.NaN]);
    refuses(() => quantize(nan, options), RangeError, "ZP_NON_FINITE", /^quantize: x must be/);
    assert.equal(quantize(nan, { ...options, nonFinite: "ignore" }).data[0], 7);
    refuses(
      () => quantize(tensor([]), options),
      RangeError,
      "ZP_EMPTY",
      /^quantize: x has no values/,
    );
    refuses(
      () => quantize(tensor([1]), { ...options, scale: 1 }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.range/,
    );
    refuses(
      () => new WeightOnlyQConfig({ bits: 3, range: "hqq" }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /"hqq" measures the error of a dtype/,
    );
  });
});
