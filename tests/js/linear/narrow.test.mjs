// Layers with dynamic activations whose weights have fewer bits, or scales of groups.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { init, QuantizedLinear, quantize, tensor, unpackLinear } from "zeropoint";
import { load, save } from "zeropoint/models";
import { fuzzLimits } from "../support/arbitraries.mjs";
import { Random, refuses, sameCodes, sameFloats, sameTensor } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";

await init();

const f32 = Math.fround;

function floats(shape, seed) {
  const random = new Random(seed);
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, () => random.between(-1, 1)),
    shape,
  );
}

/** The layer in plain JavaScript: integer sums of groups, of at most 1024 products each. */
function dynamic(zp, x, { data, shape, scale, groupSize }, bias, reduceRange) {
  const [n, k] = shape;
  const qx = zp.quantizePerTensorDynamic(x, "quint8", reduceRange);
  const rows = x.shape[0];
  const scaleOf = (output, group) =>
    typeof scale === "number"
      ? f32(scale)
      : scale.data[groupSize === undefined ? output : output * Math.ceil(k / groupSize) + group];
  const hasGroups = groupSize !== undefined && groupSize < k;
  return Float32Array.from({ length: rows * n }, (_, index) => {
    const [row, output] = [Math.floor(index / n), index % n];
    let total = 0;
    const size = hasGroups ? groupSize : k;
    for (let first = 0, group = 0; first < k; first += size, group++) {
      const end = Math.min(k, first + size);
      for (let at = first; at < end; at += 1024) {
        let sum = 0;
        for (let i = at; i < Math.min(end, at + 1024); i++) {
          sum += (qx.data[row * k + i] - qx.zeroPoint) * data[output * k + i];
        }
        total += hasGroups ? sum * scaleOf(output, group) : sum;
      }
    }
    const product = hasGroups
      ? f32(f32(total) * f32(qx.scale))
      : f32(f32(total) * f32(f32(qx.scale) * scaleOf(output, 0)));
    return bias === undefined ? product : f32(product + bias.data[output]);
  });
}

const cases = fc.record({
  m: fc.integer({ min: 1, max: 9 }),
  n: fc.integer({ min: 1, max: 20 }),
  k: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(1030, 2100)),
  dtype: fc.constantFrom("int2", "int3", "int4", "int5", "int6", "int7", "int8"),
  slices: fc.constantFrom({}, { axis: 0 }, { groupSize: 1 }, { groupSize: 16 }, { groupSize: 37 }),
  reduceRange: fc.boolean(),
  hasBias: fc.boolean(),
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
});

for (const zp of builds) {
  describe(`layers with narrow or grouped weights and dynamic activations, ${zp.name}`, () => {
    it("are integer sums of groups, scaled in double", () => {
      const check = ({ m, n, k, dtype, slices, reduceRange, hasBias, seed }) => {
        const q = zp.quantize(floats([n, k], seed), { dtype, ...slices });
        const x = floats([m, k], seed + 1);
        const bias = hasBias ? floats([n], seed + 2) : undefined;
        const options = { activations: "dynamic", bias, reduceRange };
        const layer = new zp.QuantizedLinear(q, options);
        sameFloats(layer.forward(x).data, dynamic(zp, x, q, bias, reduceRange));
        layer.dispose();
      };
      fc.assert(fc.property(cases, check), fuzzLimits(1, 150));
    });
  });
}

describe("QuantizedLinear with dynamic activations", () => {
  const weight = floats([10, 70], 7);
  const x = floats([4, 70], 8);

  it("quantizes a float weight of another dtype, or in groups, as quantize does", () => {
    for (const options of [
      { dtype: "int4" },
      { dtype: "int4", axis: 0, range: "mse" },
      { dtype: "int3", groupSize: 32, range: "hqq" },
      { groupSize: 32 },
    ]) {
      const layer = new QuantizedLinear(weight, { activations: "dynamic", ...options });
      const q = quantize(weight, options);
      sameCodes(unpackLinear(layer).weight.data, q.data);
      sameTensor(layer.forward(x), new QuantizedLinear(q, { activations: "dynamic" }).forward(x));
      layer.dispose();
    }
  });

  it("appends rows to them, also after save and load", async () => {
    for (const options of [
      { dtype: "int4", groupSize: 16, range: "hqq" },
      { groupSize: 16, range: "mse" },
      { dtype: "int3", axis: 0 },
    ]) {
      const make = () => new QuantizedLinear(weight, { activations: "dynamic", ...options });
      const layer = make();
      const loaded = await load(await new Response(save(layer)).arrayBuffer());
      const both = tensor(Float32Array.of(...weight.data, ...weight.data), [20, 70]);
      const whole = new QuantizedLinear(both, { activations: "dynamic", ...options });
      sameTensor(layer.append(weight).forward(x), whole.forward(x));
      sameTensor(loaded.append(weight).forward(x), whole.forward(x));
    }
  });

  it("keeps the options by which append quantizes rows in a file", async () => {
    const rows = tensor([[1, 2, Number.NaN, 100]]);
    const options = { dtype: "uint4", zeroPoint: "float", groupSize: 4, nonFinite: "ignore" };
    for (const range of ["mse", "hqq", { percentile: 90 }]) {
      const layer = new QuantizedLinear(rows, { ...options, range });
      const loaded = await load(await new Response(save(layer)).arrayBuffer());
      assert.deepEqual(unpackLinear(loaded.append(rows)), unpackLinear(layer.append(rows)));
    }
  });

  it("refuses unsigned weights, zero points and scales of inputs", () => {
    const positive = tensor(weight.data.map(Math.abs), [10, 70]);
    const make = (options) => () =>
      new QuantizedLinear(quantize(positive, options), { activations: "dynamic" });
    refuses(
      make({ dtype: "uint4", scheme: "affine" }),
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      'QuantizedLinear: weight must have a signed dtype, got "uint4" with options.activations: "dynamic"',
    );
    const scheme = [RangeError, "ZP_INVALID_SCHEME"];
    refuses(make({ dtype: "int4", scheme: "affine" }), ...scheme, /zero points of 0/);
    refuses(make({ dtype: "int4", zeroPoint: "float" }), ...scheme, /zero points of 0/);
    refuses(make({ dtype: "int4", axis: 1 }), ...scheme, /one scale, or one for each/);
    refuses(
      () =>
        new QuantizedLinear(weight, { activations: "dynamic", dtype: "int4", scheme: "affine" }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.scheme must be "symmetric"/,
    );
  });
});
