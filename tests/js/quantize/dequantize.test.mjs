import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, fakeQuantize, init, quantize, tensor } from "zeropoint";
import {
  DTYPE_NAMES,
  DTYPES,
  LENGTHS,
  Random,
  refuses,
  SPECIAL_VALUES,
  sameFloats,
  sameTensor,
  specialValues,
} from "../support/asserts.mjs";
import { dequantizeValue, quantizeTensor, quantizeValue } from "../support/reference.mjs";

await init();

const x = tensor([
  [191.6, -13.5, 728.6],
  [92.14, 295.5, -184],
  [0, 684.6, 245.5],
]);

describe("dequantize", () => {
  it("gives the notebooks' values for scale 3.5 and zero point -70", () => {
    const values = dequantize(quantize(x, { scale: 3.5, zeroPoint: -70 }));
    sameFloats(values.data, [192.5, -14, 689.5, 91, 294, -185.5, 0, 686, 245]);
    assert.deepEqual(values.shape, [3, 3]);
    assert.match(String(values), /^tensor\(\[\[ 192\.5000/);
  });

  it("takes a quantized tensor after structuredClone", () => {
    for (const options of [
      {},
      { axis: 1 },
      { groupSize: 3, scheme: "affine", dtype: "uint4" },
      { groupSize: 2, scheme: "affine", dtype: "uint4" },
    ]) {
      const q = quantize(x, options);
      sameTensor(dequantize(structuredClone(q)), dequantize(q));
    }
  });

  it("takes a quantized tensor without its scheme, and dims for shape", () => {
    const q = { data: Int8Array.of(1, 2), dims: [2], dtype: "int8", scale: 0.5, zeroPoint: 1 };
    sameFloats(dequantize(q).data, [0, 0.5]);
  });

  it("names dims in errors if the shape was given as dims", () => {
    const common = { data: Int8Array.of(1), scale: 1, zeroPoint: 0 };
    for (const dtype of ["int8", "qint8"]) {
      const negative = "dequantize: q.dims[0] must be an integer >= 0, got -1";
      const q = { ...common, dtype };
      const wrong = () => dequantize({ ...q, dims: [-1] });
      refuses(wrong, RangeError, "ZP_INVALID_SHAPE", negative);
      const none = "dequantize: q.shape must be an array of lengths, got null";
      const both = () => dequantize({ ...q, dims: [1], shape: null });
      refuses(both, TypeError, "ZP_INVALID_SHAPE", none);
    }
  });

  it("takes one scale in a tensor for a value of shape []", () => {
    const one = { data: Float32Array.of(0.5), shape: [1] };
    const q = { data: Int8Array.of(4), shape: [], dtype: "int8", scale: one, zeroPoint: 0 };
    sameTensor(dequantize(q), { data: [2], shape: [] });
  });

  it("needs no values", () => {
    const q = quantize(tensor(new Float32Array(0), [2, 0]), { scale: 1 });
    sameTensor(dequantize(q), { data: [], shape: [2, 0] });
  });

  for (const dtype of DTYPE_NAMES) {
    it(`agrees with the reference on the codes of ${dtype} at lengths around a vector's`, () => {
      const { qmin, qmax, array } = DTYPES[dtype];
      const random = new Random(21);
      for (const length of LENGTHS) {
        for (const zeroPoint of [0, qmin, qmax]) {
          for (const scale of [1, 0.1, 3.5, 1e-45, 3e38]) {
            const codes = array.from({ length }, (_, i) =>
              i < 2 ? [qmin, qmax][i] : random.integer(qmin, qmax),
            );
            const q = { data: codes, shape: [length], dtype, scale, zeroPoint };
            const expected = Array.from(codes, (code) => dequantizeValue(code, scale, zeroPoint));
            sameFloats(dequantize(q).data, expected, `scale ${scale}, zero point ${zeroPoint}:`);
          }
        }
      }
    });
  }

  it("agrees with the reference per channel and per group, on any axis", () => {
    const random = new Random(22);
    for (const inner of LENGTHS.slice(1)) {
      const shape = [3, 2, inner];
      const data = random.normal(6 * inner, 5);
      for (const slicing of [{ axis: 0 }, { axis: 1 }, { axis: 2 }, { groupSize: inner }]) {
        for (const kind of [{}, { dtype: "uint8", scheme: "affine" }, { dtype: "int16" }]) {
          const options = { ...kind, ...slicing };
          const { values } = quantizeTensor(data, shape, options);
          const q = quantize(tensor(data, shape), options);
          sameFloats(dequantize(q).data, values, JSON.stringify(options));
        }
      }
    }
  });

  it("writes into out, an array or a tensor, and returns it", () => {
    const q = quantize(x);
    const expected = dequantize(q);
    const array = new Float32Array(9);
    const result = dequantize(q, { out: array });
    assert.equal(result.data, array);
    sameTensor(result, expected);
    const whole = tensor(new Float32Array(9), [3, 3]);
    assert.equal(dequantize(q, { out: whole }), whole);
    sameTensor(whole, expected);
  });
});

describe("dequantize refuses", () => {
  const q = quantizeLater;
  function quantizeLater(changes) {
    const base = { data: Int8Array.of(1, 2, 3, 4), shape: [2, 2], dtype: "int8", scheme: "affine" };
    return { ...base, scale: 0.5, zeroPoint: 1, ...changes };
  }
  const form = "q must be a quantized tensor: { data, shape, dtype, scale, zeroPoint }";
  const cases = [
    ["nothing", undefined, TypeError, "ZP_INVALID_TENSOR", `${form}, got undefined`],
    [
      "a tensor of values",
      tensor([1]),
      TypeError,
      "ZP_INVALID_TENSOR",
      `${form}, got an object with data, shape`,
    ],
    ["an array", [1], TypeError, "ZP_INVALID_TENSOR", `${form}, got [1]`],
    [
      "an unknown dtype",
      q({ dtype: "quint2" }),
      RangeError,
      "ZP_INVALID_DTYPE",
      /^dequantize: q\.dtype must be "int2", .* got "quint2"$/,
    ],
    ["no dtype", q({ dtype: undefined }), TypeError, "ZP_INVALID_DTYPE", /got undefined$/],
    [
      "codes of another type",
      q({ dtype: "uint8" }),
      TypeError,
      "ZP_INVALID_CODES",
      "q.data must be of type Uint8Array for dtype uint8, got Int8Array(4)",
    ],
    [
      "codes in a list",
      q({ data: [1, 2, 3, 4] }),
      TypeError,
      "ZP_INVALID_CODES",
      "q.data must be of type Int8Array for dtype int8, got [1, 2, 3, 4]",
    ],
    ["no codes", q({ data: undefined }), TypeError, "ZP_INVALID_CODES", /got undefined$/],
    [
      "codes beyond int4",
      q({ dtype: "int4", data: Int8Array.of(7, -8, 8, 0) }),
      RangeError,
      "ZP_INVALID_CODES",
      "q.data[2] must be from -8 to 7 for dtype int4, got 8",
    ],
    [
      "codes beyond uint2",
      q({ dtype: "uint2", data: Uint8Array.of(0, 3, 0, 4) }),
      RangeError,
      "ZP_INVALID_CODES",
      "q.data[3] must be from 0 to 3 for dtype uint2, got 4",
    ],
    [
      "more codes than the shape holds",
      q({ shape: [3] }),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "q of shape [3] must have 3 values, got 4",
    ],
    [
      "no shape",
      q({ shape: undefined }),
      TypeError,
      "ZP_INVALID_SHAPE",
      "q.shape must be an array of lengths, got undefined",
    ],
    [
      "a scale of 0",
      q({ scale: 0 }),
      RangeError,
      "ZP_INVALID_SCALE",
      "q.scale must be finite and > 0, as float32 too, got 0",
    ],
    [
      "no zero point",
      q({ zeroPoint: undefined }),
      TypeError,
      "ZP_INVALID_ZERO_POINT",
      "q.zeroPoint must be a number, a list of numbers or a tensor, got undefined",
    ],
    [
      "a zero point beyond the dtype",
      q({ zeroPoint: 128 }),
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /^dequantize: q\.zeroPoint must be an integer from -128 to 127/,
    ],
    [
      "an unknown scheme",
      q({ scheme: "log" }),
      RangeError,
      "ZP_INVALID_SCHEME",
      'q.scheme must be "symmetric" or "affine", got "log"',
    ],
    [
      "symmetric with an unsigned dtype",
      q({ data: new Uint8Array(4), dtype: "uint8", zeroPoint: 0, scheme: "symmetric" }),
      RangeError,
      "ZP_INVALID_SCHEME",
      'q.scheme must be "affine" for dtype uint8, which has no negative codes, got "symmetric"',
    ],
    [
      "symmetric with a zero point",
      q({ scheme: "symmetric" }),
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      "q.zeroPoint must be 0 for the symmetric scheme, got 1",
    ],
    [
      "an axis it does not have",
      q({ axis: 2 }),
      RangeError,
      "ZP_INVALID_AXIS",
      "q.axis must be 0 or 1 for shape [2, 2], got 2",
    ],
    [
      "a group size of 0",
      q({ groupSize: 0 }),
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      "q.groupSize must be a positive integer, got 0",
    ],
    [
      "axis and group size",
      q({ axis: 0, groupSize: 2 }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      "q.axis and q.groupSize exclude each other, got both",
    ],
    [
      "scales for other channels",
      q({ axis: 0, scale: [1, 2, 3] }),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "q.scale must be one number, 2 numbers or a tensor of shape [2, 1], got shape [3]",
    ],
    [
      "scales that do not broadcast",
      q({ scale: [1, 2, 3] }),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "q.scale of shape [3] must broadcast against shape [2, 2]",
    ],
  ];
  for (const [name, value, type, code, text] of cases) {
    it(name, () => {
      const message = typeof text === "string" ? `dequantize: ${text}` : text;
      refuses(() => dequantize(value), type, code, message);
    });
  }

  it("detached codes", () => {
    const data = new Int8Array(4);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    refuses(
      () => dequantize(q({ data })),
      TypeError,
      "ZP_DETACHED",
      /^dequantize: the memory of q\.data,/,
    );
  });

  it("options that it does not have", () => {
    refuses(
      () => dequantize(q({}), { dtype: "int8" }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      'dequantize: options has no "dtype"; it takes out, rule',
    );
  });

  it("out of another type, length or shape", () => {
    const wrong = (out, type, text) => {
      const message = `dequantize: options.out${text}`;
      refuses(() => dequantize(q({}), { out }), type, "ZP_INVALID_OUT", message);
    };
    wrong(new Float64Array(4), TypeError, " must be of type Float32Array, got Float64Array(4)");
    wrong(
      { data: new Float32Array(4) },
      TypeError,
      " must be a Float32Array or a tensor, got an object with data",
    );
    wrong(new Float32Array(5), RangeError, " must have length 4, got 5");
    wrong(tensor([1, 2, 3, 4]), RangeError, " must have shape [2, 2], got [4]");
    wrong(tensor([[1, 2, 3, 4]]), RangeError, " must have shape [2, 2], got [1, 4]");
    wrong(
      tensor([
        [
          [1, 2],
          [3, 4],
        ],
      ]),
      RangeError,
      " must have shape [2, 2], got [1, 2, 2]",
    );
  });

  it("out that overlaps the codes or the scale", () => {
    const buffer = new ArrayBuffer(16);
    const overlapping = [
      { data: new Int8Array(buffer, 4, 4) },
      { scale: { data: new Float32Array(buffer, 0, 1).fill(2), shape: [1, 1] } },
    ];
    for (const fields of overlapping) {
      refuses(
        () => dequantize(q(fields), { out: new Float32Array(buffer) }),
        RangeError,
        "ZP_INVALID_OUT",
        "dequantize: options.out must not share memory with an input",
      );
    }
  });
});

describe("fakeQuantize", () => {
  const options = [
    undefined,
    { scheme: "affine", dtype: "uint8" },
    { dtype: "int4", axis: 0 },
    { dtype: "uint2", scheme: "affine", axis: -1 },
    { dtype: "int2", groupSize: 3 },
    { scale: 3.5, zeroPoint: -70 },
    { scale: [1, 2, 3], dtype: "int16" },
    { scale: [[1], [2], [3]], zeroPoint: [1, 2, 3], dtype: "uint16" },
    { dtype: "int32" },
  ];
  for (const option of options) {
    it(`is quantize, then dequantize: ${JSON.stringify(option)}`, () => {
      sameTensor(fakeQuantize(x, option), dequantize(quantize(x, option)));
    });
  }

  for (const dtype of DTYPE_NAMES) {
    it(`agrees with the reference on every float in ${dtype}`, () => {
      const { qmin, qmax } = DTYPES[dtype];
      for (const length of LENGTHS) {
        for (let start = 0; start < SPECIAL_VALUES.length; start++) {
          const scale = [1, 0.1, 3.5, 1e-38][start % 4];
          const zeroPoint = [0, qmin, qmax][start % 3];
          const values = specialValues(length, start);
          const expected = Array.from(values, (value) =>
            dequantizeValue(quantizeValue(value, scale, zeroPoint, dtype), scale, zeroPoint),
          );
          const actual = fakeQuantize(tensor(values), { dtype, scale, zeroPoint });
          sameFloats(actual.data, expected, `scale ${scale}, zero point ${zeroPoint}, ${values}:`);
        }
      }
    });
  }

  it("takes the qparams of a quantized tensor", () => {
    const q = quantize(x, { axis: 0 });
    sameTensor(fakeQuantize(x, q), dequantize(q));
  });

  it("writes into out", () => {
    const out = tensor(new Float32Array(9), [3, 3]);
    assert.equal(fakeQuantize(x, { axis: 0, out }), out);
    sameTensor(out, dequantize(quantize(x, { axis: 0 })));
    const array = new Float32Array(9);
    assert.equal(fakeQuantize(x, { scale: 3.5, out: array }).data, array);
    sameTensor({ data: array, shape: [3, 3] }, fakeQuantize(x, { scale: 3.5 }));
  });

  it("needs no values where qparams are given", () => {
    const none = tensor(new Float32Array(0), [0, 2]);
    sameTensor(fakeQuantize(none, { scale: 1 }), { data: [], shape: [0, 2] });
  });

  it("refuses what quantize refuses, in its own name", () => {
    refuses(
      () => fakeQuantize(x, { axis: 2 }),
      RangeError,
      "ZP_INVALID_AXIS",
      "fakeQuantize: options.axis must be 0 or 1 for shape [3, 3], got 2",
    );
    refuses(() => fakeQuantize(x, { scale: 0 }), RangeError, "ZP_INVALID_SCALE", /^fakeQuantize: /);
    refuses(() => fakeQuantize([1]), TypeError, "ZP_INVALID_TENSOR", /^fakeQuantize: x must be/);
    refuses(() => fakeQuantize(tensor([NaN])), RangeError, "ZP_NON_FINITE", /^fakeQuantize: /);
  });

  it("refuses to write over its input", () => {
    const values = Float32Array.of(1, 2);
    const input = { data: values, shape: [2] };
    const message = "fakeQuantize: options.out must not share memory with an input";
    refuses(() => fakeQuantize(input, { out: values }), RangeError, "ZP_INVALID_OUT", message);
    const options = { groupSize: 1, scale: { data: values, shape: [2, 1] }, out: values };
    const other = { data: Float32Array.of(3, 4), shape: [2] };
    refuses(() => fakeQuantize(other, options), RangeError, "ZP_INVALID_OUT", message);
  });
});
