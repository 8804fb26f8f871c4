// Half floats as input: each function gives the result of the same values in float32.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, quantizationError, quantize, tensor } from "zeropoint";
import {
  HistogramObserver,
  Linear,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  quantizePerChannel,
  quantizePerTensor,
  RecordingObserver,
} from "zeropoint/torch";
import { Random, refuses, sameDeep, sameFloats, sameTensor } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";

await init();

/** The value of a bit pattern, by its definition: sign, exponent, mantissa. */
function valueOfBits(bits, dtype) {
  const [exponentBits, mantissaBits] = dtype === "float16" ? [5, 10] : [8, 7];
  const top = 2 ** exponentBits - 1;
  const bias = 2 ** (exponentBits - 1) - 1;
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> mantissaBits) & top;
  const fraction = (bits & (2 ** mantissaBits - 1)) / 2 ** mantissaBits;
  if (exponent === top) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0
    ? sign * fraction * 2 ** (1 - bias)
    : sign * (1 + fraction) * 2 ** (exponent - bias);
}

const ALL = Uint16Array.from({ length: 65536 }, (_, bits) => bits);
const DTYPES = ["float16", "bfloat16"];
const { Float16Array } = globalThis;

/** Random bit patterns of values from 2^-8 to 2, of either sign. */
function patterns(length, dtype, seed) {
  const random = new Random(seed);
  const [bias, mantissaBits] = dtype === "float16" ? [15, 10] : [127, 7];
  return Uint16Array.from(random.normal(length), (value, i) => {
    const exponent = bias - (i % 8);
    const mantissa = Math.floor(Math.abs(value) * 1000) % 2 ** mantissaBits;
    return (value < 0 ? 0x8000 : 0) | (exponent << mantissaBits) | mantissa;
  });
}

const floatsOf = (bits, dtype) => Float32Array.from(bits, (one) => valueOfBits(one, dtype));

/** Forms of the same tensor, by name. */
function formsOf(bits, shape, dtype) {
  const moved = new Uint16Array(bits.length + 3);
  moved.set(bits, 1);
  const shared = new Uint16Array(new SharedArrayBuffer(2 * bits.length));
  shared.set(bits);
  return {
    "with dtype": { data: bits, shape, dtype },
    "as ONNX Runtime has them": { type: dtype, data: bits, dims: shape },
    "at an odd place": { data: moved.subarray(1, 1 + bits.length), shape, dtype },
    "in shared memory": { data: shared, shape, dtype },
    ...(Float16Array && dtype === "float16" && { "as a Float16Array": typed(bits, shape) }),
  };
}

const typed = (bits, shape) => ({
  data: new Float16Array(bits.buffer, bits.byteOffset, bits.length),
  shape,
});

describe("tensor", () => {
  for (const dtype of DTYPES) {
    it(`is exact for every ${dtype}`, () => {
      const { data } = tensor({ data: ALL, shape: [65536], dtype });
      sameFloats(data, floatsOf(ALL, dtype));
    });
  }
});

for (const zp of builds) {
  describe(`Half floats: ${zp.name}`, () => {
    for (const dtype of DTYPES) {
      it(`are exact in the core: ${dtype}`, () => {
        const bits = ALL.filter((one) => Number.isFinite(valueOfBits(one, dtype)));
        const half = { data: bits, shape: [bits.length], dtype };
        const values = floatsOf(bits, dtype);
        assert.equal(zp.quantizationError(half, values, "max"), 0);
        assert.equal(zp.quantizationError(values, half, "max"), 0);
        // 2^-14 and -2^-24 differ in one place from all others.
        const other = values.slice();
        other[1] *= 2;
        assert.notEqual(zp.quantizationError(half, other, "max"), 0);
      });

      it(`are quantized, measured and multiplied as their values: ${dtype}`, () => {
        for (const shape of [
          [5, 70],
          [3, 1, 33],
          [2, 150_001],
        ]) {
          const size = shape.reduce((a, b) => a * b, 1);
          const bits = patterns(size, dtype, 400 + shape.length);
          const x = { data: floatsOf(bits, dtype), shape };
          for (const [form, half] of Object.entries(formsOf(bits, shape, dtype))) {
            for (const slicing of [{}, { axis: 0 }, { axis: -1 }, { groupSize: 32 }]) {
              const options = { dtype: "int4", scheme: "affine", ...slicing };
              sameDeep(zp.chooseQParams(half, options), zp.chooseQParams(x, options), form);
              sameDeep(zp.quantize(half, options), zp.quantize(x, options), form);
              sameTensor(zp.fakeQuantize(half, options), zp.fakeQuantize(x, options));
            }
            const coarse = zp.fakeQuantize(x, { dtype: "int4" });
            for (const metric of ["mse", "mae", "sqnr", "cosine"]) {
              const expected = zp.quantizationError(x, coarse, metric);
              assert.equal(zp.quantizationError(half, coarse, metric), expected, form);
            }
          }
        }
      });

      it(`are input, weight and bias of linear layers: ${dtype}`, () => {
        const [n, k] = [9, 70];
        const [xBits, wBits, bBits] = [3 * k, n * k, n].map((size, i) =>
          patterns(size, dtype, 410 + i),
        );
        const half = (data, ...shape) => ({ data, shape, dtype });
        const float = (data, ...shape) => ({ data: floatsOf(data, dtype), shape });
        const [x, w, b] = [half(xBits, 3, k), half(wBits, n, k), half(bBits, n)];
        const [x32, w32, b32] = [float(xBits, 3, k), float(wBits, n, k), float(bBits, n)];
        sameTensor(zp.linear(x, w, b), zp.linear(x32, w32, b32));
        const q = zp.quantize(w, { axis: 0 });
        sameTensor(zp.linear(x, q, b), zp.linear(x32, q, b32));
        for (const options of [
          { axis: 0 },
          { dtype: "int4", groupSize: 32 },
          { activations: "dynamic" },
        ]) {
          const layer = new zp.QuantizedLinear(w, { ...options, bias: b });
          const plain = new zp.QuantizedLinear(w32, { ...options, bias: b32 });
          sameTensor(layer.forward(x), plain.forward(x32));
          layer.dispose();
          plain.dispose();
        }
      });
    }
  });
}

describe("Half floats", () => {
  it("are watched by observers as their values", () => {
    for (const dtype of DTYPES) {
      const bits = patterns(600, dtype, 420);
      const half = { data: bits, shape: [20, 30], dtype };
      const x = tensor(floatsOf(bits, dtype), [20, 30]);
      for (const Observer of [MinMaxObserver, PerChannelMinMaxObserver, HistogramObserver]) {
        const [own, plain] = [new Observer(), new Observer()];
        own.observe(half);
        plain.observe(x);
        sameDeep(own.toJSON(), plain.toJSON());
      }
      const recording = new RecordingObserver();
      recording.observe(half);
      sameTensor(recording.tensors[0], x);
    }
  });

  it("are parameters of float layers, scales and zero points", () => {
    const bits = patterns(6, "bfloat16", 421);
    const values = floatsOf(bits, "bfloat16");
    sameTensor(
      new Linear({ data: bits, shape: [2, 3], dtype: "bfloat16" }).weight,
      tensor(values, [2, 3]),
    );
    const x = tensor([
      [1, -2],
      [3, 4],
    ]);
    const scale = { data: Uint16Array.of(0x3800, 0x3400), shape: [2, 1], dtype: "float16" };
    const zeroPoint = { data: Uint16Array.of(0x3c00, 0xc000), shape: [2, 1], dtype: "float16" };
    const q = quantize(x, { axis: 0, scale, zeroPoint });
    assert.deepEqual([...q.data], [3, -3, 10, 14]);
    assert.deepEqual([...q.scale.data, ...q.zeroPoint.data], [0.5, 0.25, 1, -2]);
    const scales = { data: Uint16Array.of(0x3800, 0x3400), shape: [2], dtype: "float16" };
    const torch = quantizePerChannel(x, scales, [0, 0], 0, "qint8");
    assert.deepEqual([...torch.data], [2, -4, 12, 16]);
  });

  it("name the value that is not finite", () => {
    const half = { data: Uint16Array.of(0x3c00, 0x7c00, 0x7e00), shape: [3], dtype: "float16" };
    refuses(() => quantize(half), RangeError, "ZP_NON_FINITE", /value 1 is Infinity/);
    const { scale } = quantize(half, { nonFinite: "ignore" });
    assert.equal(scale, 1 / 127);
  });

  it("must stay clear of out", () => {
    const data = new Uint16Array(4);
    const out = new Float32Array(data.buffer, 0, 2);
    refuses(
      () =>
        builds[0].linear({ data, shape: [2, 2], dtype: "float16" }, tensor([[1, 2]]), null, {
          out,
        }),
      RangeError,
      "ZP_INVALID_OUT",
      /share memory/,
    );
  });

  it("are refused by PyTorch's functions, as there", () => {
    const half = { data: Uint16Array.of(0x3c00), shape: [1], dtype: "bfloat16" };
    refuses(
      () => quantizePerTensor(half, 1, 0, "qint8"),
      TypeError,
      "ZP_INVALID_TENSOR",
      /got data of type bfloat16/,
    );
  });

  it("are integers in a Uint16Array without a dtype", () => {
    assert.deepEqual([...tensor({ data: Uint16Array.of(0x3c00), shape: [1] }).data], [0x3c00]);
    const plain = { data: Uint16Array.of(0x3c00), shape: [1], dtype: "uint16" };
    assert.deepEqual([...tensor(plain).data], [0x3c00]);
  });
});

describe("A dtype or type of a tensor", () => {
  const bits = Uint16Array.of(0x3c00);

  it("may say what the data is anyway", () => {
    for (const [dtype, data] of Object.entries({
      float32: Float32Array.of(1),
      float64: Float64Array.of(1),
      int8: Int8Array.of(1),
      uint8: Uint8ClampedArray.of(1),
      int16: Int16Array.of(1),
      uint32: Uint32Array.of(1),
      int64: Int32Array.of(1),
      bool: Uint8Array.of(1),
    })) {
      assert.deepEqual([...tensor({ data, shape: [1], dtype }).data], [1]);
      assert.deepEqual([...tensor({ data, dims: [1], type: dtype }).data], [1]);
      if (dtype === "bool") continue;
      assert.deepEqual([...tensor({ data: [1], shape: [1], dtype, type: dtype }).data], [1]);
    }
  });

  const refused = [
    [
      "float32 for 16 bits",
      { dtype: "float32", data: bits },
      RangeError,
      /x\.dtype, for data of type Uint16Array, must be "uint16", "float16" or "bfloat16", got "float32"/,
    ],
    [
      "float16 for float32",
      { type: "float16", data: Float32Array.of(1) },
      RangeError,
      /x\.type, .* must be "float32", got "float16"/,
    ],
    [
      "bfloat16 for a list",
      { dtype: "bfloat16", data: [1] },
      RangeError,
      /for data of type Array, must be .*"float32".* got "bfloat16"/,
    ],
    ["float16 for a list", { dtype: "float16", data: [1] }, RangeError, /got "float16"/],
    [
      "int8 for uint8",
      { type: "int8", data: Uint8Array.of(1) },
      RangeError,
      /must be "uint8" or "bool", got "int8"/,
    ],
    [
      "one that nothing reads",
      { type: "int4", data: Int8Array.of(1) },
      RangeError,
      /must be "int8", got "int4"/,
    ],
    ["text", { type: "string", data: ["a"] }, RangeError, /got "string"/],
    ["a number", { dtype: 10, data: bits }, TypeError, /got 10/],
    ["null", { dtype: null, data: bits }, TypeError, /got null/],
    [
      "a name of another kind",
      { dtype: { name: "float8" }, data: bits },
      RangeError,
      /got "float8"/,
    ],
    [
      "two that differ",
      { dtype: "float16", type: "bfloat16", data: bits },
      RangeError,
      /x\.type, .* must be "float16", got "bfloat16"/,
    ],
  ];
  if (Float16Array) {
    refused.push([
      "bfloat16 for a Float16Array",
      { dtype: "bfloat16", data: new Float16Array(1) },
      RangeError,
      /must be "float16", got "bfloat16"/,
    ]);
  }
  for (const [name, given, type, message] of refused) {
    it(`is refused if it contradicts the data or is unknown: ${name}`, () => {
      const x = { shape: [1], ...given };
      refuses(() => quantize(x), type, "ZP_INVALID_DTYPE", message);
      refuses(() => quantizationError(Float32Array.of(1), x), type, "ZP_INVALID_DTYPE", /./);
    });
  }

  it("of BigInts is refused for the BigInts", () => {
    const x = { type: "int64", data: BigInt64Array.of(1n), dims: [1] };
    refuses(() => quantize(x), TypeError, "ZP_INVALID_TENSOR", /BigInt/);
  });

  it("reads its bits as numbers no longer, which was silent", () => {
    const data = Uint16Array.from([0x3c00, 0xc000, 0x3800, 0]);
    const q = quantize({ type: "float16", data, dims: [4] }, { scale: 0.5, zeroPoint: 0 });
    assert.deepEqual([...q.data], [2, -4, 1, 0]);
  });
});
