import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  chooseQParams,
  dequantize,
  fakeQuantize,
  init,
  QuantizedLinear,
  quantize,
  tensor,
} from "zeropoint";
import { quantizePerTensor } from "zeropoint/torch";
import { connect } from "zeropoint/worker";
import { DTYPES, Random, refuses, sameFloats } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";

await init();

const f32 = Math.fround;
const NAMES = Object.keys(DTYPES);

/** Math.round to even, of any float32. */
function nearest(value) {
  if (!(Math.abs(value) < 2 ** 23)) return value;
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** The code of one value, in plain JavaScript. */
function codeOf(x, scale, zeroPoint, dtype, rule) {
  const { qmin, qmax } = DTYPES[dtype];
  if (rule === "onnx") {
    const rounded = nearest(f32(x / f32(scale)));
    if (Number.isNaN(rounded)) return zeroPoint;
    return clamp(clamp(rounded, -(2 ** 31), 2 ** 31 - 1) + zeroPoint, qmin, qmax);
  }
  const rounded = nearest(f32(x * f32(1 / f32(scale))));
  if (Number.isNaN(rounded)) return zeroPoint;
  return clamp(f32(rounded + f32(zeroPoint)), qmin, qmax);
}

/** Values with halves, huge ones, infinities and NaN. */
function valuesOf(random, count) {
  const special = [0.5, 1.5, 2.5, -0.5, -1.5, 3e38, -3e38, Infinity, -Infinity, NaN, 0, -0, 1e-40];
  const numbers = Array.from({ length: count - special.length }, (_, i) =>
    i % 4 === 0 ? Math.round(random.between(-40, 40)) / 2 : random.between(-300, 300),
  );
  return Float32Array.from([...special, ...numbers]);
}

describe('rule: "onnx"', () => {
  it("takes negative scales and 0 by the formula", () => {
    const x = tensor([-3, -1, 0, 1, 3, NaN]);
    const codes = (scale) => [...quantize(x, { scale, zeroPoint: 1, rule: "onnx" }).data];
    assert.deepEqual(codes(-1), [4, 2, 1, 0, -2, 1]);
    assert.deepEqual(codes(0), [-128, -128, 1, 127, 127, 1]);
    const fake = fakeQuantize(x, { scale: -1, zeroPoint: 1, rule: "onnx" });
    sameFloats(fake.data, Float32Array.of(-3, -1, -0, 1, 3, -0));
  });

  it("adds integers, where the course and PyTorch add float32 numbers", () => {
    const options = { dtype: "int32", scale: 1, zeroPoint: 2 ** 24 + 1 };
    const code = (rule) => quantize(tensor([2]), { ...options, rule }).data[0];
    assert.equal(code("onnx"), 2 ** 24 + 3);
    assert.equal(code("torch"), 2 ** 24 + 2);
    const huge = quantize(tensor([3e9, -3e9]), { ...options, rule: "onnx" });
    assert.deepEqual([...huge.data], [2 ** 31 - 1, -(2 ** 31) + 2 ** 24 + 1]);
  });

  it("gives all-zero values and scales that vanish scale 1", () => {
    for (const x of [tensor([0, 0]), tensor([0, 1e-45])]) {
      for (const dtype of ["int8", "uint8", "int16"]) {
        const options = { dtype, scheme: "affine", rule: "onnx" };
        const { scale, zeroPoint } = chooseQParams(x, options);
        assert.deepEqual([scale, zeroPoint], [1, 0], dtype);
      }
    }
  });

  it("divides by qmax for the symmetric scheme, in float32", () => {
    const { scale } = chooseQParams(tensor([0.3, -1.1]), { rule: "onnx" });
    assert.equal(scale, f32(f32(1.1) / 127));
  });
});

describe("values of int32 codes", () => {
  const codes = Int32Array.of(2 ** 24 + 2, 2 ** 31 - 1, -(2 ** 31), 7);
  const x = tensor([1, 3e9, -3e9, -(2 ** 24)]);
  const given = { dtype: "int32", scale: 1, zeroPoint: 2 ** 24 + 1 };

  for (const rule of ["onnx", "torch"]) {
    it(`multiplies exact differences, ${rule}`, () => {
      const q = { data: codes, shape: [4], scheme: "affine", ...given };
      const values = dequantize(q, { rule }).data;
      const exact = (code) => f32(code - given.zeroPoint);
      sameFloats(values, Float32Array.from(codes, exact));
      const quantized = quantize(x, { ...given, rule });
      sameFloats(fakeQuantize(x, { ...given, rule }).data, dequantize(quantized, { rule }).data);
      sameFloats(dequantize(quantized, { rule }).data, Float32Array.from(quantized.data, exact));
    });
  }

  it("multiplies differences of float32 numbers, course", () => {
    const q = { data: codes, shape: [4], scheme: "affine", ...given };
    assert.equal(dequantize(q).data[0], 2);
  });
});

describe('rule: "torch"', () => {
  it("gives the codes of quantizePerTensor", () => {
    const x = { data: valuesOf(new Random(3), 4000), shape: [4000] };
    for (const [dtype, own] of [
      ["int8", "qint8"],
      ["uint8", "quint8"],
    ]) {
      const given = { scale: 0.37, zeroPoint: 5 };
      const codes = quantize(x, { dtype, ...given, rule: "torch" }).data;
      assert.deepEqual(codes, quantizePerTensor(x, given.scale, given.zeroPoint, own).data);
    }
  });

  it("chooses as PyTorch's MinMaxObserver", () => {
    const x = tensor([0, 2, -3, -2.5, 1.34, 0.5]);
    const affine = chooseQParams(x, { dtype: "uint8", scheme: "affine", rule: "torch" });
    assert.deepEqual([affine.scale, affine.zeroPoint], [f32(5 / 255), 153]);
    const symmetric = chooseQParams(x, { rule: "torch" });
    assert.deepEqual([symmetric.scale, symmetric.zeroPoint], [f32(3 / 127.5), 0]);
    assert.equal(chooseQParams(tensor([0]), { rule: "torch" }).scale, 2 ** -23);
  });
});

describe("rule", () => {
  for (const library of builds) {
    it(`follows its formula for every dtype and granularity: ${library.name}`, () => {
      const random = new Random(7);
      const [rows, columns] = [6, 52];
      const x = { data: valuesOf(random, rows * columns), shape: [rows, columns] };
      for (const dtype of NAMES) {
        const { qmin, qmax } = DTYPES[dtype];
        const scales = (n) =>
          Array.from({ length: n }, () =>
            f32(random.between(0.01, 3) * (random.between(0, 1) < 0.3 ? -1 : 1)),
          );
        const zeros = (n) =>
          Array.from({ length: n }, () => clamp(Math.round(random.between(-9, 9)), qmin, qmax));
        const granularities = [
          [{}, scales(1), zeros(1), () => 0],
          [{ axis: 0 }, scales(rows), zeros(rows), (i) => Math.floor(i / columns)],
          [{ axis: 1 }, scales(columns), zeros(columns), (i) => i % columns],
          [{ groupSize: 13 }, scales(rows * 4), zeros(rows * 4), (i) => Math.floor(i / 13)],
          [
            { groupSize: 16 },
            scales(rows * 4),
            zeros(rows * 4),
            (i) => 4 * Math.floor(i / columns) + Math.floor((i % columns) / 16),
          ],
        ];
        for (const rule of ["onnx", "torch"]) {
          for (const [granularity, scale, zeroPoint, sliceOf] of granularities) {
            const one = scale.length === 1;
            const given = one ? { scale: scale[0], zeroPoint: zeroPoint[0] } : { scale, zeroPoint };
            const options = { dtype, scheme: "affine", ...granularity, ...given, rule };
            const q = library.quantize(x, options);
            const expected = Array.from(x.data, (value, i) =>
              codeOf(value, scale[sliceOf(i)], zeroPoint[sliceOf(i)], dtype, rule),
            );
            assert.deepEqual(
              [...q.data],
              expected,
              `${dtype} ${rule} ${JSON.stringify(granularity)}`,
            );
            const values = library.dequantize(q, { rule }).data;
            sameFloats(library.fakeQuantize(x, options).data, values);
            sameFloats(
              values,
              Float32Array.from(expected, (code, i) =>
                f32(scale[sliceOf(i)] * f32(f32(code) - zeroPoint[sliceOf(i)])),
              ),
            );
          }
        }
      }
    });
  }

  it("applies what it chose: quantize(x, chooseQParams(x, options)) is quantize(x, options)", () => {
    const random = new Random(11);
    for (const size of [7, 300_000]) {
      const data = Float32Array.from({ length: 2 * size }, () => random.between(-3, 5));
      const x = { data, shape: [2, size] };
      for (const rule of ["onnx", "torch"]) {
        for (const granularity of [{}, { axis: 0 }, { groupSize: 5 }]) {
          for (const options of [
            { dtype: "uint8", scheme: "affine", range: { percentile: 99 } },
            { dtype: "int4" },
          ]) {
            const all = { ...options, ...granularity, rule };
            const once = quantize(x, all);
            const { scheme, ...chosen } = chooseQParams(x, all);
            assert.deepEqual(quantize(x, { ...chosen, scheme, rule }), once);
            assert.deepEqual(fakeQuantize(x, all), dequantize(once));
          }
        }
      }
    }
  });

  it("holds for the batches of a connection", async () => {
    const random = new Random(13);
    const data = Float32Array.from({ length: 2 ** 20 + 5 }, () => random.between(-3, 5));
    const x = { data, shape: [data.length] };
    const zp = await connect();
    try {
      for (const rule of ["onnx", "torch"]) {
        const options = { dtype: "uint8", scheme: "affine", rule };
        const q = quantize(x, options);
        assert.deepEqual(await zp.quantize(x, options), q);
        assert.deepEqual(await zp.dequantize(q, { rule }), dequantize(q, { rule }));
        const negative = { scale: -0.25, zeroPoint: 3, rule };
        assert.deepEqual(await zp.fakeQuantize(x, negative), fakeQuantize(x, negative));
      }
    } finally {
      zp.dispose();
    }
  });

  it('is "course" by default', () => {
    const x = tensor([0.5, 1.5]);
    const given = { scale: 1, zeroPoint: 1 };
    assert.deepEqual(quantize(x, { ...given, rule: "course" }), quantize(x, given));
    assert.deepEqual([...quantize(x, given).data], [2, 2]);
    assert.deepEqual([...quantize(x, { ...given, rule: "onnx" }).data], [1, 3]);
  });

  it("refuses what it does not have, by name", () => {
    const x = tensor([1, 2]);
    const conflicts = [
      [{ zeroPoint: "float" }, '"onnx" has zero points, not offsets'],
      [{ scale: 1, offset: 0.5 }, '"onnx" has zero points, not offsets'],
      [{ includeZero: false }, '"onnx" always includes 0, and options.includeZero is false'],
      [{ range: "mse" }, '"onnx" chooses no range by its error, and options.range is "mse"'],
      [{ range: "hqq" }, '"onnx" chooses no range by its error, and options.range is "hqq"'],
    ];
    for (const [options, problem] of conflicts) {
      const work = () => quantize(x, { scheme: "affine", ...options, rule: "onnx" });
      refuses(work, TypeError, "ZP_CONFLICTING_OPTIONS", `quantize: options.rule: ${problem}`);
    }
    const wrong = /options\.rule must be "course", "onnx" or "torch", got "onxx"$/;
    refuses(() => quantize(x, { rule: "onxx" }), RangeError, "ZP_INVALID_OPTION", wrong);
    const q = quantize(x, { scale: -1, rule: "onnx" });
    refuses(() => dequantize(q, { rule: "onxx" }), RangeError, "ZP_INVALID_OPTION", wrong);
    refuses(() => dequantize(q), RangeError, "ZP_INVALID_SCALE", /q\.scale must be finite and > 0/);
    const text = () => quantize(x, { scale: "1", rule: "onnx" });
    refuses(text, TypeError, "ZP_INVALID_SCALE", /options\.scale must be a number/);
    const layer = () => new QuantizedLinear(tensor([[1, 2]]), { rule: "onnx" });
    refuses(layer, TypeError, "ZP_UNKNOWN_OPTION", /rule/);
  });

  it("leaves tensors of PyTorch's dtypes to PyTorch's formula", () => {
    const q = quantizePerTensor(tensor([1, 2]), 0.5, 3, "qint8");
    sameFloats(dequantize(q, { rule: "torch" }).data, dequantize(q).data);
    const work = () => dequantize(q, { rule: "onnx" });
    const problem = /options\.rule of a tensor of dtype qint8 is "torch", got "onnx"$/;
    refuses(work, TypeError, "ZP_CONFLICTING_OPTIONS", problem);
  });
});
