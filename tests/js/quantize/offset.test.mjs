import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  chooseQParams,
  fakeQuantize,
  init,
  linear,
  pack,
  QuantizedLinear,
  quantizationError,
  quantize,
  tensor,
  unpack,
  unpackLinear,
} from "zeropoint";
import { WeightOnlyQConfig } from "zeropoint/torch";
import { fuzzLimits } from "../support/arbitraries.mjs";
import {
  DTYPE_NAMES,
  DTYPES,
  Random,
  refuses,
  sameCodes,
  sameFloats,
  sameTensor,
} from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { slicesOf } from "../support/reference.mjs";

await init();

const f32 = Math.fround;
const listOf = (given) => (typeof given === "number" ? [given] : [...given.data]);

/** Math.round to even. */
function nearest(value) {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}

/** Scale and offset of a range, in plain JavaScript. */
function offsetFor(min, max, dtype) {
  const { qmin, qmax } = DTYPES[dtype];
  if (min === max) return { scale: 1, offset: min };
  const [least, most] = [2 ** -126, (2 - 2 ** -23) * 2 ** 127];
  const scale = Math.min(Math.max((max - min) / (qmax - qmin), least), most);
  return { scale, offset: f32(min - scale * qmin) };
}

/** A code in plain JavaScript. */
function codeOf(x, scale, offset, dtype) {
  const { qmin, qmax } = DTYPES[dtype];
  const steps = f32(f32((Number.isNaN(x) ? 0 : x) - offset) / f32(scale));
  return Math.min(Math.max(nearest(steps), qmin), qmax);
}

const dequantized = (code, scale, offset) => f32(f32(f32(scale) * f32(code)) + offset);

/** Values on one side of 0. */
function positives(shape, seed) {
  const random = new Random(seed);
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, () => random.between(1, 2)),
    shape,
  );
}

const slicings = [{}, { axis: 0 }, { axis: 1 }, { groupSize: 5 }];

describe('zeroPoint: "float"', () => {
  it("reaches from the smallest to the largest value", () => {
    const q = quantize(tensor([1, 1.5, 2.5]), { dtype: "uint4", zeroPoint: "float" });
    assert.deepEqual(q, {
      data: Uint8Array.of(0, 5, 15),
      shape: [3],
      dtype: "uint4",
      scheme: "affine",
      scale: 0.1,
      offset: 1,
    });
  });

  it("gives signed codes an offset in the middle", () => {
    const { scale, offset } = chooseQParams(tensor([1, 2.5]), {
      dtype: "int4",
      zeroPoint: "float",
    });
    assert.deepEqual([scale, offset], [0.1, f32(1.8)]);
  });

  it("restores a constant slice exactly, for every dtype", () => {
    for (const dtype of DTYPE_NAMES) {
      const x = tensor([3.3, 3.3, 0, 0, -1e-42, -1e-42], [3, 2]);
      sameTensor(fakeQuantize(x, { dtype, axis: 0, zeroPoint: "float" }), x);
    }
  });

  it("quantizes columns that exclude 0 by 40 dB better than includeZero: false", () => {
    const x = positives([64, 48], 1);
    const sqnr = (options) =>
      quantizationError(x, fakeQuantize(x, { dtype: "uint8", axis: 1, ...options }), "sqnr");
    assert.ok(sqnr({ scheme: "affine", includeZero: false }) < 10);
    assert.ok(sqnr({ zeroPoint: "float" }) > 50);
    assert.ok(sqnr({ zeroPoint: "float" }) > sqnr({ scheme: "affine" }) + 5);
  });

  it("survives pack and unpack, structuredClone, and options", () => {
    for (const slices of slicings) {
      const x = positives([7, 11], 2);
      const options = { dtype: "uint3", zeroPoint: "float", ...slices };
      const q = quantize(x, options);
      assert.deepEqual(unpack(pack(q), q), q);
      assert.deepEqual(unpack(pack(q), structuredClone(q)), q);
      assert.deepEqual(quantize(x, chooseQParams(x, options)), q);
      assert.deepEqual(quantize(x, q), q);
      const { data: codes, ...meta } = q;
      assert.deepEqual(unpack(pack({ ...meta, data: codes }), meta), q);
    }
  });

  it("takes a given offset as a number, a list or a tensor", () => {
    const x = tensor([1, 2, 3, 4], [2, 2]);
    const given = { dtype: "uint4", scale: 1 };
    assert.deepEqual([...quantize(x, { ...given, offset: 1 }).data], [0, 1, 2, 3]);
    assert.deepEqual([...quantize(x, { ...given, axis: 0, offset: [1, 2] }).data], [0, 1, 1, 2]);
    const broadcast = quantize(x, { ...given, offset: tensor([[1, 2]]) });
    assert.deepEqual([...broadcast.data], [0, 0, 2, 2]);
    assert.deepEqual(broadcast.offset, { data: Float32Array.of(1, 2), shape: [1, 2] });
    assert.equal(quantize(x, { ...given, offset: 0.1 }).offset, f32(0.1));
  });

  it("makes NaN the code of 0, and saturates infinities", () => {
    const options = { dtype: "uint8", scale: 0.5, offset: -2 };
    const x = tensor([Number.NaN, Infinity, -Infinity, 0]);
    assert.deepEqual([...quantize(x, options).data], [4, 255, 0, 4]);
    assert.deepEqual([...fakeQuantize(x, options).data], [0, 125.5, -2, 0]);
  });

  it("gives a layer that appends rows, and gives them back", () => {
    const rows = positives([10, 24], 3);
    for (const slices of [{ axis: 0 }, { groupSize: 7 }, {}]) {
      const options = { dtype: "uint4", zeroPoint: "float", ...slices };
      const layer = new QuantizedLinear(rows, options);
      const { weight } = unpackLinear(layer.append(rows));
      const { data } = quantize(rows, options);
      sameCodes(weight.data, Uint8Array.of(...data, ...data));
      const x = positives([3, 24], 4);
      sameTensor(layer.forward(x), linear(x, weight));
      layer.dispose();
    }
  });

  it("prints in layers", () => {
    const layer = new QuantizedLinear(tensor([[1, 2]]), { dtype: "uint4", zeroPoint: "float" });
    const text = "QuantizedLinear(in_features=2, out_features=1, dtype=uint4, zero_point=float)";
    assert.equal(String(layer), text);
    assert.equal(layer.sizeInBytes, 1 + 8);
    layer.dispose();
    const qconfig = new WeightOnlyQConfig({ dtype: "uint4", zeroPoint: "float" });
    assert.equal(String(qconfig), 'WeightOnlyQConfig({"dtype":"uint4","zeroPoint":"float"})');
  });
});

describe('zeroPoint: "float" refuses', () => {
  const x = tensor([1, 2]);
  const float = { dtype: "uint4", zeroPoint: "float" };
  const conflict = [TypeError, "ZP_CONFLICTING_OPTIONS"];
  const refused = [
    ["the symmetric scheme", { ...float, dtype: "int4", scheme: "symmetric" }, ...conflict],
    ["a scale", { ...float, scale: 1 }, ...conflict],
    ["an offset", { ...float, offset: 1 }, ...conflict],
    ["includeZero: true", { ...float, includeZero: true }, ...conflict],
    ["an offset without a scale", { offset: 1 }, ...conflict],
    ["an offset beside a zero point", { scale: 1, offset: 1, zeroPoint: 0 }, ...conflict],
    ["a symmetric offset", { scale: 1, offset: 1, scheme: "symmetric" }, ...conflict],
    ["an infinite offset", { scale: 1, offset: Infinity }, RangeError, "ZP_INVALID_OFFSET"],
    ["an offset beyond float32", { scale: 1, offset: 1e39 }, RangeError, "ZP_INVALID_OFFSET"],
    ["an offset that is text", { scale: 1, offset: "1" }, TypeError, "ZP_INVALID_OFFSET"],
  ];
  for (const [name, options, type, code] of refused) {
    it(name, () => refuses(() => quantize(x, options), type, code, /^quantize: options\./));
  }

  it("a zero point for chooseQParams", () => {
    const message = /^chooseQParams: options\.zeroPoint must be "float"/;
    refuses(() => chooseQParams(x, { zeroPoint: 3 }), TypeError, "ZP_INVALID_OPTION", message);
  });

  it("NaN while it chooses, unless they are ignored", () => {
    const nan = tensor([1, Number.NaN, 2]);
    refuses(() => quantize(nan, float), RangeError, "ZP_NON_FINITE", /^quantize: x must be finite/);
    assert.equal(quantize(nan, { ...float, nonFinite: "ignore" }).offset, 1);
  });

  it("rows with a zero point for a layer with offsets", () => {
    const weight = tensor([[1, 2]]);
    const layer = new QuantizedLinear(weight, { ...float, axis: 0 });
    const rows = quantize(weight, { dtype: "uint4", scheme: "affine", axis: 0 });
    const message = /^QuantizedLinear\.append: weight must have offset/;
    refuses(() => layer.append(rows), TypeError, "ZP_CONFLICTING_OPTIONS", message);
    layer.dispose();
  });

  it("such a weight with dynamic activations", () => {
    const q = quantize(tensor([[1, 2]]), { dtype: "int8", zeroPoint: "float" });
    const make = () => new QuantizedLinear(q, { activations: "dynamic" });
    refuses(
      make,
      RangeError,
      "ZP_INVALID_SCHEME",
      /^QuantizedLinear: weight must have zero points/,
    );
  });
});

/** A tensor of two axes, and options. */
const cases = fc
  .record({
    rows: fc.integer({ min: 1, max: 9 }),
    columns: fc.integer({ min: 1, max: 40 }),
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    middle: fc.constantFrom(0, 0.5, -3, 1000),
    dtype: fc.constantFrom(...DTYPE_NAMES),
    slices: fc.constantFrom(...slicings, { groupSize: 16 }),
  })
  .map(({ rows, columns, seed, middle, dtype, slices }) => {
    const random = new Random(seed);
    const data = Float32Array.from(
      { length: rows * columns },
      () => middle + random.between(-1, 1),
    );
    return { x: tensor(data, [rows, columns]), options: { dtype, ...slices, zeroPoint: "float" } };
  });

for (const zp of builds) {
  describe(`real offsets, ${zp.name}`, () => {
    it("agree with plain JavaScript for every dtype and granularity", () => {
      const check = ({ x, options }) => {
        const { dtype } = options;
        const { count, of } = slicesOf(x.shape, options);
        const slices = Array.from({ length: count }, () => []);
        for (let i = 0; i < x.data.length; i++) slices[of(i)].push(x.data[i]);
        const chosen = slices.map((s) => offsetFor(Math.min(...s), Math.max(...s), dtype));
        const q = zp.quantize(x, options);
        const scales = chosen.map(({ scale }) =>
          typeof q.scale === "number" ? scale : f32(scale),
        );
        assert.deepEqual(listOf(q.scale), scales);
        assert.deepEqual(
          listOf(q.offset),
          chosen.map(({ offset }) => offset),
        );
        const at = (i) => [f32(scales[of(i)]), chosen[of(i)].offset];
        const codes = q.data.map((_, i) => codeOf(x.data[i], ...at(i), dtype));
        sameCodes(q.data, codes);
        const values = Float32Array.from(codes, (code, i) => dequantized(code, ...at(i)));
        sameFloats(zp.dequantize(q).data, values);
        sameFloats(zp.fakeQuantize(x, options).data, values);
      };
      fc.assert(fc.property(cases, check), fuzzLimits(1, 200));
    });

    const narrow = cases.filter(({ options }) => DTYPES[options.dtype].bits <= 8);

    /** Three rows of inputs for a weight. */
    function inputFor({ shape: [n, k] }) {
      const random = new Random(n * k);
      const data = Float32Array.from({ length: 3 * k }, () => random.between(-1, 1));
      return tensor(data, [3, k]);
    }

    it("multiply in a layer as in linear", () => {
      const check = ({ x: weight, options }) => {
        const input = inputFor(weight);
        const layer = new zp.QuantizedLinear(weight, options);
        sameTensor(layer.forward(input), zp.linear(input, zp.quantize(weight, options)));
        layer.dispose();
      };
      fc.assert(fc.property(narrow, check), fuzzLimits(1, 200));
    });

    it("multiply within the bound of exact sums", () => {
      const check = ({ x: weight, options }) => {
        const [n, k] = weight.shape;
        const input = inputFor(weight);
        const q = zp.quantize(weight, options);
        const y = zp.linear(input, q);
        const { of } = slicesOf(weight.shape, options);
        const [scales, offsets] = [listOf(q.scale).map(f32), listOf(q.offset)];
        for (let i = 0; i < y.data.length; i++) {
          const [row, output] = [Math.floor(i / n), i % n];
          let [sum, sizes] = [0, 0];
          for (let j = 0; j < k; j++) {
            const at = output * k + j;
            // Exact but for the sum's rounding in double.
            const w = scales[of(at)] * q.data[at] + offsets[of(at)];
            sum += input.data[row * k + j] * w;
            sizes += Math.abs(input.data[row * k + j] * w);
          }
          // linear's bound, and 2^-40 for the sum here.
          const bound = ((k + 1) * 2 ** -24 + 2 ** -40) * sizes;
          assert.ok(Math.abs(y.data[i] - sum) <= bound, `${y.data[i]} for ${sum}`);
        }
      };
      fc.assert(fc.property(narrow, check), fuzzLimits(1, 200));
    });

    it("search ranges that are no worse than the whole one", () => {
      const check = ({ x, options }) => {
        const error = (range) =>
          zp.quantizationError(x, zp.fakeQuantize(x, { ...options, range }), "mse");
        // mse is a float32 mean.
        assert.ok(error("mse") <= error("minmax") * (1 + 1e-5));
      };
      fc.assert(fc.property(cases, check), fuzzLimits(1, 50));
    });
  });
}
