import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chooseQParams, dequantize, init, quantize, tensor } from "zeropoint";
import {
  DTYPE_NAMES,
  DTYPES,
  LENGTHS,
  Random,
  SPECIAL_VALUES,
  sameCodes,
  specialValues,
} from "../support/asserts.mjs";
import { quantizeTensor, quantizeValue } from "../support/reference.mjs";
import { x } from "./small.mjs";

await init();

describe("quantize with given qparams", () => {
  it("gives the notebooks' codes for scale 3.5 and zero point -70", () => {
    assert.deepEqual(quantize(x, { scale: 3.5, zeroPoint: -70 }), {
      data: Int8Array.of(-15, -74, 127, -44, 14, -123, -70, 126, 0),
      shape: [3, 3],
      dtype: "int8",
      scheme: "affine",
      scale: 3.5,
      zeroPoint: -70,
    });
  });

  it("rounds ties to even, after adding the zero point", () => {
    const ties = tensor([0.5, 1.5, 2.5, -0.5, -1.5]);
    assert.deepEqual([...quantize(ties, { scale: 1 }).data], [0, 2, 2, 0, -2]);
    // 2.5 + 1 = 3.5 rounds to 4; rounding first would give 3.
    assert.deepEqual([...quantize(ties, { scale: 1, zeroPoint: 1 }).data], [2, 2, 4, 0, 0]);
  });

  it("divides by the scale as float32", () => {
    const codes = quantize(tensor([0.75]), { scale: 0.1, dtype: "int16" }).data;
    assert.equal(codes[0], quantizeValue(0.75, 0.1, 0, "int16"));
  });

  it("saturates infinities and makes NaN the zero point", () => {
    const values = tensor([Infinity, -Infinity, NaN, 1e30, -1e30]);
    for (const dtype of DTYPE_NAMES) {
      const { qmin, qmax } = DTYPES[dtype];
      const codes = quantize(values, { dtype, scale: 0.5, zeroPoint: 1 }).data;
      assert.deepEqual([...codes], [qmax, qmin, 1, qmax, qmin], dtype);
    }
  });

  it("saturates int32 at both ends instead of wrapping around", () => {
    const values = tensor([2147483648, 4e9, -2147483648, -4e9]);
    const codes = quantize(values, { dtype: "int32", scale: 1 }).data;
    assert.deepEqual([...codes], [2147483647, 2147483647, -2147483648, -2147483648]);
  });

  it("takes a zero point of 0 where none is given", () => {
    const q = quantize(tensor([1]), { scale: 0.5 });
    assert.deepEqual([q.data[0], q.zeroPoint, q.scheme], [2, 0, "symmetric"]);
  });

  it("calls given qparams affine unless a signed dtype has zero points of 0 only", () => {
    const scheme = (options) => quantize(tensor([1, 2]), { scale: 1, ...options }).scheme;
    assert.equal(scheme({}), "symmetric");
    assert.equal(scheme({ dtype: "uint8" }), "affine");
    assert.equal(scheme({ zeroPoint: 3 }), "affine");
    assert.equal(scheme({ zeroPoint: [0, 3] }), "affine");
    assert.equal(scheme({ zeroPoint: [0, 0] }), "symmetric");
    assert.equal(scheme({ scheme: "affine" }), "affine");
  });

  it("keeps the scale in double precision", () => {
    assert.equal(quantize(x, { scale: 0.1 }).scale, 0.1);
  });

  it("writes 0 for a zero point of -0", () => {
    assert.ok(Object.is(quantize(x, { scale: 1, zeroPoint: -0 }).zeroPoint, 0));
  });

  it("needs no values", () => {
    for (const shape of [[0], [3, 0], [2 ** 20, 2 ** 20, 2 ** 20, 0]]) {
      const q = quantize(tensor(new Float32Array(0), shape), { scale: 1 });
      sameCodes(q.data, new Int8Array(0));
      assert.deepEqual(q.shape, shape);
    }
  });

  it("takes a subnormal scale", () => {
    const codes = quantize(tensor([3e-45]), { scale: 1e-45 }).data;
    assert.deepEqual([...codes], [2]);
  });
});

describe("quantize with given scales that broadcast", () => {
  const y = tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const rows = Int8Array.of(1, 2, 3, 2, 2, 3);
  const columns = Int8Array.of(1, 1, 1, 4, 2, 2);
  const cases = {
    "a tensor of one scale per row": [{ scale: tensor([[1], [2]]) }, rows],
    "plain { data, shape }": [{ scale: { data: [1, 2], shape: [2, 1] } }, rows],
    "{ data, dims }": [{ scale: { data: Float32Array.of(1, 2), dims: [2, 1] } }, rows],
    "nested numbers": [{ scale: [[1], [2]] }, rows],
    "a list per channel with its axis": [{ scale: [1, 2], axis: 0 }, rows],
    "a typed array per channel": [{ scale: Float64Array.of(1, 2), axis: -2 }, rows],
    "a tensor that broadcasts to the channels": [{ scale: tensor([[1], [2]]), axis: 0 }, rows],
    "one number for all channels": [{ scale: 1, axis: 0 }, Int8Array.of(1, 2, 3, 4, 5, 6)],
    "one scale per column": [{ scale: [1, 2, 3] }, columns],
    "one scale per column, with its axis": [{ scale: [1, 2, 3], axis: 1 }, columns],
    "one scale per value": [
      {
        scale: [
          [1, 2, 3],
          [4, 5, 6],
        ],
      },
      Int8Array.of(1, 1, 1, 1, 1, 1),
    ],
    "one scale in a tensor of two axes": [{ scale: [[2]] }, Int8Array.of(0, 1, 2, 2, 2, 3)],
    "one scale per group": [{ scale: [1, 2], groupSize: 3 }, rows],
    "one scale per group, as results have it": [{ scale: [[1], [2]], groupSize: 3 }, rows],
    "one number for all groups": [{ scale: 2, groupSize: 1 }, Int8Array.of(0, 1, 2, 2, 2, 3)],
    "scales per row and zero points per column": [
      { scale: [[1], [2]], zeroPoint: [0, 10, 20] },
      Int8Array.of(1, 12, 23, 2, 12, 23),
    ],
    "one scale and zero points per row": [
      { scale: 1, zeroPoint: [[0], [10]] },
      Int8Array.of(1, 2, 3, 14, 15, 16),
    ],
    "zero points as floats that are whole": [
      { scale: 1, zeroPoint: tensor([[0], [10]]) },
      Int8Array.of(1, 2, 3, 14, 15, 16),
    ],
  };
  for (const [name, [options, codes]] of Object.entries(cases)) {
    it(name, () => {
      const q = quantize(y, options);
      sameCodes(q.data, codes);
      // The result's own fields must suffice to dequantize it.
      sameCodes(quantize(dequantize(q), q).data, codes);
    });
  }

  it("reports scales and zero points in one common shape", () => {
    const q = quantize(y, { scale: [[1], [2]], zeroPoint: [0, 10, 20] });
    assert.deepEqual(q.scale, { data: Float32Array.of(1, 1, 1, 2, 2, 2), shape: [2, 3] });
    assert.deepEqual(q.zeroPoint, { data: Int32Array.of(0, 10, 20, 0, 10, 20), shape: [2, 3] });
    assert.equal("axis" in q, false);
  });

  it("reports a list per channel in a shape that broadcasts", () => {
    const q = quantize(y, { scale: [1, 2], axis: 0 });
    assert.deepEqual(q.scale, { data: Float32Array.of(1, 2), shape: [2, 1] });
    assert.deepEqual(q.zeroPoint, { data: new Int32Array(2), shape: [2, 1] });
    assert.equal(q.axis, 0);
  });

  it("holds int32 zero points exactly", () => {
    const options = { dtype: "int32", scale: 1, axis: 0, zeroPoint: [2147483647, -2147483648] };
    assert.deepEqual(quantize(y, options).zeroPoint.data, Int32Array.of(2147483647, -2147483648));
  });

  it("shares nothing with what was given", () => {
    const scale = Float32Array.of(1, 2);
    const q = quantize(y, { scale, axis: 0 });
    scale[0] = 9;
    assert.equal(q.scale.data[0], 1);
  });

  it("broadcasts in four dimensions", () => {
    const random = new Random(3);
    const shape = [2, 3, 4, 5];
    const data = random.normal(120, 20);
    for (const scaleShape of [[4, 1], [3, 1, 5], [2, 1, 1, 5], [1, 1, 4, 5], [2, 3, 4, 5], [5]]) {
      const count = scaleShape.reduce((a, b) => a * b, 1);
      const scale = Float32Array.from({ length: count }, () => random.between(0.1, 2));
      const q = quantize(tensor(data, shape), { scale: { data: scale, shape: scaleShape } });
      const expected = Int8Array.from(data, (value, i) => {
        let rest = i;
        let at = 0;
        let stride = 1;
        for (let axis = 3; axis >= 0; axis--) {
          const length = scaleShape[axis - 4 + scaleShape.length] ?? 1;
          if (length !== 1) at += (rest % shape[axis]) * stride;
          stride *= length;
          rest = Math.floor(rest / shape[axis]);
        }
        return quantizeValue(value, scale[at], 0, "int8");
      });
      sameCodes(q.data, expected, `scale of shape [${scaleShape}]`);
    }
  });
});

describe("quantize in one call", () => {
  it("gives one scale per row, of shape [3, 1]", () => {
    const q = quantize(x, { axis: 0 });
    sameCodes(q.data, Int8Array.of(33, -2, 127, 40, 127, -79, 0, 127, 46));
    assert.deepEqual(q.scale.shape, [3, 1]);
    assert.deepEqual(Object.keys(q).sort(), [
      "axis",
      "data",
      "dtype",
      "scale",
      "scheme",
      "shape",
      "zeroPoint",
    ]);
  });

  const options = [
    {},
    { scheme: "affine" },
    { scheme: "affine", dtype: "uint8", includeZero: false },
    { axis: 0 },
    { axis: -1, scheme: "affine", dtype: "uint4" },
    { groupSize: 1, dtype: "int4" },
    { groupSize: 3, scheme: "affine", dtype: "uint2" },
    { dtype: "int32", axis: 1 },
  ];
  for (const option of options) {
    it(`equals choosing first: ${JSON.stringify(option)}`, () => {
      assert.deepEqual(quantize(x, chooseQParams(x, option)), quantize(x, option));
    });

    it(`takes a quantized tensor for its qparams: ${JSON.stringify(option)}`, () => {
      const q = quantize(x, option);
      assert.deepEqual(quantize(x, q), q);
    });
  }

  it("owns its shape", () => {
    const shape = [1, 2];
    const q = quantize({ data: Float32Array.of(1, 2), shape });
    shape[0] = 9;
    assert.deepEqual(q.shape, [1, 2]);
  });

  it("skips NaN and infinities when choosing qparams, and quantizes them as always", () => {
    const q = quantize(tensor([NaN, 127, Infinity, -Infinity]), { nonFinite: "ignore" });
    assert.deepEqual([...q.data], [0, 127, 127, -128]);
  });

  it("survives structuredClone", () => {
    for (const option of options) {
      const q = quantize(x, option);
      assert.deepEqual(structuredClone(q), q);
    }
  });
});

describe("quantize agrees with the reference on every float", () => {
  for (const dtype of DTYPE_NAMES) {
    const { qmin, qmax } = DTYPES[dtype];
    const zeroPoints = [0, 1, qmin, qmax];
    it(`${dtype}, at lengths around a vector's, ties, NaN, infinities and both ends`, () => {
      const random = new Random(11);
      for (const length of LENGTHS) {
        for (let start = 0; start < SPECIAL_VALUES.length; start++) {
          const scale = [1, 0.5, 0.1, 3.5, 1e-38, 1e38][start % 6];
          const zeroPoint = zeroPoints[start % 4];
          const inputs = [specialValues(length, start), random.anyFloats(length)];
          for (const values of inputs) {
            const expected = DTYPES[dtype].array.from(values, (value) =>
              quantizeValue(value, scale, zeroPoint, dtype),
            );
            const q = quantize(tensor(values), { dtype, scale, zeroPoint });
            sameCodes(q.data, expected, `scale ${scale}, zero point ${zeroPoint}, ${values}:`);
          }
        }
      }
    });

    it(`${dtype}, around every tie of its range`, () => {
      const low = Math.max(qmin, -300);
      const high = Math.min(qmax, 300);
      const values = [];
      for (let code = low - 1; code <= high + 1; code++) {
        for (const value of [code, code + 0.5]) {
          const bits = new Int32Array(Float32Array.of(value).buffer)[0];
          for (const near of [-1, 0, 1]) {
            values.push(new Float32Array(Int32Array.of(bits + near).buffer)[0]);
          }
        }
      }
      const all = Float32Array.from(values);
      const expected = DTYPES[dtype].array.from(all, (value) => quantizeValue(value, 1, 0, dtype));
      sameCodes(quantize(tensor(all), { dtype, scale: 1 }).data, expected);
    });
  }

  it("per channel and per group, on any axis", () => {
    const random = new Random(12);
    for (const inner of LENGTHS.slice(1)) {
      const shape = [3, 2, inner];
      const data = random.normal(6 * inner, 5);
      for (const slicing of [{ axis: 0 }, { axis: 1 }, { axis: 2 }, { groupSize: inner }]) {
        for (const kind of [{}, { dtype: "uint8", scheme: "affine" }, { dtype: "int4" }]) {
          const options = { ...kind, ...slicing };
          const { codes } = quantizeTensor(data, shape, options);
          sameCodes(quantize(tensor(data, shape), options).data, codes, JSON.stringify(options));
        }
      }
    }
  });
});
