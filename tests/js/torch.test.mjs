// torch.quantize_per_tensor and its kin against what PyTorch answered.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  create,
  dequantize,
  fakeQuantizePerChannel,
  fakeQuantizePerTensor,
  init,
  intRepr,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
  tensor,
} from "zeropoint";
import {
  INSPECT,
  Random,
  refuses,
  sameCodes,
  sameFloats,
  sameTensor,
  specialValues,
} from "./support.mjs";
import { assertTensor, cases, decodeScalar, decodeTensor } from "./vectors.mjs";

await init();

const QDTYPES = { qint8: Int8Array, quint8: Uint8Array, qint32: Int32Array };
const LIMITS = { qint8: [-128, 127], quint8: [0, 255], qint32: [-(2 ** 31), 2 ** 31 - 1] };

/** Runs a test for every case of an operation, and says at the end how many there were. */
function forCases(file, op, count, run) {
  const all = cases(file).filter((item) => item.op === op);
  it(`covers all ${count} cases of ${op}`, () => assert.equal(all.length, count));
  for (const { id, in: input, out, note } of all) it(`${id} ${note ?? ""}`, () => run(input, out));
}

/** A list of channels' qparams as JavaScript has it: floats, int32, or int64 as BigInts. */
const list = (encoded) => decodeTensor(encoded).data;

describe("quantizePerTensor", () => {
  it("tells options, which it does not take, from a scale", () => {
    refuses(
      () => quantizePerTensor(tensor([1]), { scale: 1, zeroPoint: 0, dtype: "qint8" }),
      TypeError,
      "ZP_INVALID_SCALE",
      "quantizePerTensor: scale must be a number or a tensor of one value, got an object with scale, " +
        "zeroPoint, dtype",
    );
  });

  forCases("torch_quantize", "quantize_per_tensor", 45, (input, out) => {
    const x = decodeTensor(input.x);
    const args = [x, decodeScalar(input.scale), input.zero_point, input.dtype];
    if (out.raises) {
      refuses(() => quantizePerTensor(...args), RangeError, "ZP_INVALID_ZERO_POINT", /zeroPoint/);
      return;
    }
    for (const options of [{}, { compat: "torch" }]) {
      const q = quantizePerTensor(...args, options);
      assertTensor(q.data, q.shape, out.int_repr, "int_repr");
      assertTensor(dequantize(q).data, q.shape, out.dequantize, "dequantize");
      assert.ok(Object.is(q.scale, decodeScalar(out.q_scale)));
      assert.equal(q.zeroPoint, out.q_zero_point);
    }
  });

  forCases("torch_quantize", "quantize_per_tensor_special", 16, (input, out) => {
    const x = decodeTensor(input.x);
    const args = [x, decodeScalar(input.scale), input.zero_point, input.dtype];
    const torch = quantizePerTensor(...args, { compat: "torch" });
    assertTensor(torch.data, torch.shape, out.portable, "portable");
    const sound = quantizePerTensor(...args);
    assert.deepEqual([...sound.data], out.ref_saturating.data);
    assert.deepEqual([...sound.shape], out.ref_saturating.shape);
  });

  forCases("fuzz", "quantize_per_tensor_portable", 10, (input, out) => {
    const x = decodeTensor(input.x);
    const scale = decodeScalar(input.scale);
    for (const dtype of Object.keys(QDTYPES)) {
      const torch = quantizePerTensor(x, scale, input.zero_point, dtype, { compat: "torch" });
      assertTensor(torch.data, torch.shape, out[dtype], dtype);
      const sound = quantizePerTensor(x, scale, input.zero_point, dtype);
      assert.deepEqual([...sound.data], out[`ref_saturating_${dtype}`].data.map(Number));
    }
    const fake = fakeQuantizePerTensor(x, scale, input.zero_point, 0, 127, { compat: "torch" });
    assertTensor(fake.data, fake.shape, out.fake_quantize_0_127, "fake quantize");
  });

  it("has the fields that dequantize needs, as plain data", () => {
    const q = quantizePerTensor(tensor([[0.5, 1.5]]), 1, 1, "quint8");
    assert.deepEqual(
      { ...q },
      {
        data: Uint8Array.of(1, 3),
        shape: [1, 2],
        dtype: "quint8",
        scheme: "affine",
        qscheme: "per_tensor_affine",
        scale: 1,
        zeroPoint: 1,
      },
    );
    sameTensor(dequantize(structuredClone(q)), dequantize(q));
  });

  it("takes tensors of one value, the scale widened and the zero point truncated", () => {
    const x = tensor([0.5]);
    const q = quantizePerTensor(x, tensor(1e-2), tensor([2.7]), "qint8");
    assert.equal(q.scale, 0.009999999776482582);
    assert.equal(q.zeroPoint, 2);
    assert.equal(quantizePerTensor(x, [[0.5]], BigInt64Array.of(-3n), "qint8").zeroPoint, -3);
    assert.equal(quantizePerTensor(x, 1, tensor(-0.5), "qint8").zeroPoint, 0);
  });

  it("keeps an infinity on its side and makes NaN the zero point", () => {
    const x = new Float32Array([Infinity, -Infinity, NaN, 1e30, -1e30]);
    const codes = quantizePerTensor(x, 0.1, 200, "quint8").data;
    assert.deepEqual([...codes], [255, 0, 200, 255, 0]);
  });

  it("writes to options.out", () => {
    const out = new Int8Array(2);
    const q = quantizePerTensor(tensor([1, 2]), 1, 0, "qint8", { out });
    assert.equal(q.data, out);
    assert.deepEqual([...out], [1, 2]);
  });

  const x = tensor([1, 2]);
  const cycle = [];
  cycle.push(cycle);
  const refused = {
    "integers, as PyTorch does": [
      () => quantizePerTensor(new Int32Array(2), 1, 0, "qint8"),
      TypeError,
      "ZP_INVALID_TENSOR",
      /x must be a float32 tensor, .* got data of type Int32Array/,
    ],
    "float64, as PyTorch does": [
      () => quantizePerTensor(new Float64Array(2), 1, 0, "qint8"),
      TypeError,
      "ZP_INVALID_TENSOR",
      /got data of type Float64Array/,
    ],
    "a dtype of the other family": [
      () => quantizePerTensor(x, 1, 0, "int8"),
      RangeError,
      "ZP_INVALID_DTYPE",
      'quantizePerTensor: dtype must be "qint8", "quint8" or "qint32", got "int8"',
    ],
    "a scale of several values": [
      () => quantizePerTensor(x, tensor([1, 2]), 0, "qint8"),
      TypeError,
      "ZP_INVALID_SCALE",
      /scale must be a number or a tensor of one value/,
    ],
    "a scale that contains itself": [
      () => quantizePerTensor(x, cycle, 0, "qint8"),
      TypeError,
      "ZP_INVALID_SCALE",
      /scale must be a number or a tensor of one value, got \[\[…\]\]/,
    ],
    "a fractional zero point": [
      () => quantizePerTensor(x, 1, 0.5, "qint8"),
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      "quantizePerTensor: zeroPoint must be an integer from -128 to 127 for dtype qint8, got 0.5",
    ],
    "an unknown compat": [
      () => quantizePerTensor(x, 1, 0, "qint8", { compat: "onnx" }),
      RangeError,
      "ZP_INVALID_OPTION",
      'quantizePerTensor: options.compat must be "torch", got "onnx"',
    ],
    "an out of another type": [
      () => quantizePerTensor(x, 1, 0, "qint8", { out: new Uint8Array(2) }),
      TypeError,
      "ZP_INVALID_OUT",
      /out must be of type Int8Array/,
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, ...expected));
  }

  it("equals the formula for random floats and special values", () => {
    const random = new Random(31);
    for (let round = 0; round < 60; round++) {
      const dtype = random.pick(Object.keys(QDTYPES));
      const [qmin, qmax] = LIMITS[dtype];
      const data = round % 2 ? random.normal(37, 50) : specialValues(37, round);
      const scale = Math.fround(10 ** random.between(-3, 3));
      const zeroPoint = random.integer(Math.max(qmin, -100), 100);
      const inverse = Math.fround(1 / scale);
      const expected = QDTYPES[dtype].from(data, (value) => {
        const steps = roundHalfEven(Math.fround(value * inverse));
        const code = Math.fround(Math.fround(zeroPoint) + steps);
        return Number.isNaN(code) ? zeroPoint : Math.min(Math.max(code, qmin), qmax);
      });
      sameCodes(quantizePerTensor(data, scale, zeroPoint, dtype).data, expected, `round ${round}`);
    }
  });
});

function roundHalfEven(value) {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

describe("quantizePerChannel", () => {
  forCases("torch_quantize", "quantize_per_channel", 89, (input, out) => {
    const x = decodeTensor(input.x);
    const scales = decodeTensor(input.scales);
    const zeroPoints = decodeTensor(input.zero_points);
    const args = [x, scales, zeroPoints, input.axis, input.dtype];
    if (out.raises) {
      const { message } = out.raises;
      const code = /axis/.test(message)
        ? "ZP_INVALID_AXIS"
        : /zero_point 200/.test(message)
          ? "ZP_INVALID_ZERO_POINT"
          : "ZP_SHAPE_MISMATCH";
      refuses(() => quantizePerChannel(...args), RangeError, code, /^quantizePerChannel: /);
      return;
    }
    for (const options of [{}, { compat: "torch" }]) {
      const q = quantizePerChannel(...args, options);
      assertTensor(q.data, q.shape, out.int_repr, "int_repr");
      assertTensor(dequantize(q).data, q.shape, out.dequantize, "dequantize");
      assert.equal(q.qscheme, out.qscheme);
      assert.equal(q.axis, input.axis);
      assert.deepEqual([...q.scale.data], [...list(out.q_per_channel_scales)]);
      const zeros = list(out.q_per_channel_zero_points);
      assert.deepEqual([...q.zeroPoint.data], Array.from(zeros, Number));
      const shape = q.shape.map((length, axis) => (axis === input.axis ? length : 1));
      assert.deepEqual([...q.scale.shape], shape);
      assert.deepEqual([...q.zeroPoint.shape], shape);
    }
  });

  forCases("torch_quantize", "quantize_per_channel_special", 2, (input, out) => {
    const args = [decodeTensor(input.x), list(input.scales), list(input.zero_points), input.axis];
    const q = quantizePerChannel(...args, input.dtype, { compat: "torch" });
    assertTensor(q.data, q.shape, out.int_repr, "int_repr");
    // By default NaN becomes the code nearest to the zero point, 5, and infinities saturate.
    const sound = quantizePerChannel(...args, input.dtype).data;
    const [qmin, qmax] = LIMITS[input.dtype];
    assert.deepEqual([...sound.slice(0, 3)], [5, qmax, qmin]);
  });

  const x = tensor([
    [0.5, 1.5],
    [2.5, -0.5],
  ]);

  it("selects the scheme by the kind of array that the zero points are in", () => {
    const affine = "per_channel_affine";
    const floating = "per_channel_affine_float_qparams";
    const schemes = [
      [[0, 0], affine],
      [new Int32Array(2), affine],
      [new Int8Array(2), affine],
      [new BigInt64Array(2), affine],
      [{ data: new Int32Array(2), shape: [2] }, affine],
      [new Float32Array(2), floating],
      [new Float64Array(2), floating],
      [tensor([0, 0]), floating],
    ];
    for (const [zeroPoints, qscheme] of schemes) {
      assert.equal(quantizePerChannel(x, [1, 1], zeroPoints, 0, "qint8").qscheme, qscheme);
    }
  });

  it("rounds before adding integers, and after adding floats", () => {
    const ones = [1, 1];
    assert.deepEqual([...quantizePerChannel(x, ones, [1, 1], 0, "qint8").data], [1, 3, 3, 1]);
    const halves = Float32Array.of(1, 1);
    assert.deepEqual([...quantizePerChannel(x, ones, halves, 0, "qint8").data], [2, 2, 4, 0]);
  });

  it("keeps float64 scales, rounds lists to float32", () => {
    assert.deepEqual(
      quantizePerChannel(x, Float64Array.of(0.1, 0.2), [0, 0], 0, "qint8").scale.data,
      Float64Array.of(0.1, 0.2),
    );
    assert.deepEqual(
      quantizePerChannel(x, [0.1, 0.2], [0, 0], 0, "qint8").scale.data,
      Float32Array.of(0.1, 0.2),
    );
  });

  it("survives structuredClone and takes tensors without values", () => {
    const q = quantizePerChannel(x, [0.5, 1], Float32Array.of(0.5, 2), 1, "quint8");
    sameTensor(dequantize(structuredClone(q)), dequantize(q));
    const empty = quantizePerChannel(tensor([], [0, 2]), [1, 1], [0, 0], 1, "qint8");
    assert.equal(empty.data.length, 0);
    assert.equal(dequantize(empty).data.length, 0);
  });

  const refused = {
    "qint32 with floating zero points": [
      () => quantizePerChannel(x, [1, 1], new Float32Array(2), 0, "qint32"),
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      /dtype must be "qint8" or "quint8" with floating zero points/,
    ],
    "scales that are integers": [
      () => quantizePerChannel(x, new Int32Array(2), [0, 0], 0, "qint8"),
      TypeError,
      "ZP_INVALID_SCALE",
      /scales must be floating/,
    ],
    "fractional zero points in a list": [
      () => quantizePerChannel(x, [1, 1], [0, 0.5], 0, "qint8"),
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /zeroPoints\[1\] must be an integer from -128 to 127 for dtype qint8, got 0\.5/,
    ],
    "a tensor without axes": [
      () => quantizePerChannel(tensor(1), [1], [0], 0, "qint8"),
      RangeError,
      "ZP_INVALID_AXIS",
      /axis must be given for a tensor with axes, not for shape \[\], got 0$/,
    ],
    "an axis counted from the end": [
      () => quantizePerChannel(x, [1, 1], [0, 0], -1, "qint8"),
      RangeError,
      "ZP_INVALID_AXIS",
      "quantizePerChannel: axis must be 0 or 1 for shape [2, 2], got -1",
    ],
    "too few scales": [
      () => quantizePerChannel(x, [1], [0, 0], 0, "qint8"),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "quantizePerChannel: scales must have length 2, one for each index of axis 0 of shape " +
        "[2, 2], got 1",
    ],
    "scales that claim another length": [
      () => {
        class Long extends Float32Array {
          get length() {
            return 2;
          }
        }
        quantizePerChannel(x, Long.of(1), [0, 0], 0, "qint8");
      },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /scales must have length 2, .*, got 1$/,
    ],
    "a list that grows while it is read": [
      () => {
        let reads = 0;
        const get = (list, key) => (key === "length" && reads++ > 1 ? 5 : Reflect.get(list, key));
        quantizePerChannel(x, new Proxy([1, 1], { get }), [0, 0], 0, "qint8");
      },
      TypeError,
      "ZP_INVALID_SCALE",
      "quantizePerChannel: scales[2] must be a number, got undefined",
    ],
    "a list of words": [
      () => quantizePerChannel(x, ["1", 1], [0, 0], 0, "qint8"),
      TypeError,
      "ZP_INVALID_SCALE",
      'quantizePerChannel: scales[0] must be a number, got "1"',
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, ...expected));
  }
});

describe("quantizePerTensorDynamic", () => {
  forCases("torch_quantize", "quantize_per_tensor_dynamic", 16, (input, out) => {
    const q = quantizePerTensorDynamic(decodeTensor(input.x), input.dtype, input.reduce_range);
    assert.ok(Object.is(q.scale, decodeScalar(out.scale)), `${q.scale}`);
    assert.equal(q.zeroPoint, out.zero_point);
    assertTensor(q.data, q.shape, out.int_repr, "int_repr");
    assertTensor(dequantize(q).data, q.shape, out.dequantize, "dequantize");
  });

  forCases("dynamic_linear", "choose_qparams", 52, (input, out) => {
    const x = decodeTensor(input.x);
    const choose = (options) => quantizePerTensorDynamic(x, "quint8", input.reduce_range, options);
    const scale = out.raises ? Number.NaN : decodeScalar(out.scale);
    if (Number.isFinite(scale)) {
      const q = choose();
      assert.ok(Object.is(q.scale, scale), `${q.scale}`);
      assert.equal(q.zeroPoint, out.zero_point);
      return;
    }
    refuses(choose, RangeError, "ZP_NON_FINITE", /x must be finite to choose a scale/);
    const torch = () => choose({ compat: "torch" });
    if (out.zero_point >= 0) {
      assert.equal(torch().scale, scale);
      assert.equal(torch().zeroPoint, out.zero_point);
    } else {
      // NaN; and +Infinity, whose zero point -2^31 PyTorch's own quantization refuses.
      refuses(torch, RangeError, "ZP_NON_FINITE", /x must be finite/);
    }
  });

  it("chooses qparams for random ranges as PyTorch does", () => {
    const [{ in: input, out }] = cases("fuzz").filter(({ op }) => op === "choose_qparams_rows");
    const [min, max] = [decodeTensor(input.min).data, decodeTensor(input.max).data];
    const plain = decodeTensor(out.scale).data;
    const reduced = decodeTensor(out.scale_reduce_range).data;
    assert.equal(min.length, 160);
    for (let i = 0; i < min.length; i++) {
      const x = Float32Array.of(min[i], max[i]);
      const full = quantizePerTensorDynamic(x, "quint8");
      assert.ok(Object.is(full.scale, plain[i]), `${i}: ${full.scale}, not ${plain[i]}`);
      assert.equal(full.zeroPoint, out.zero_point[i]);
      const half = quantizePerTensorDynamic(x, "quint8", true);
      assert.ok(Object.is(half.scale, reduced[i]), `${i}: ${half.scale}, not ${reduced[i]}`);
      assert.equal(half.zeroPoint, out.zero_point_reduce_range[i]);
    }
  });

  it("gives a tensor without values the scale 0.1", () => {
    const q = quantizePerTensorDynamic(tensor([]), "quint8");
    assert.deepEqual([q.scale, q.zeroPoint, q.data.length], [0.1, 0, 0]);
  });

  it("refuses qint32", () => {
    refuses(
      () => quantizePerTensorDynamic(tensor([1]), "qint32"),
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      'quantizePerTensorDynamic: dtype must be "qint8" or "quint8", got "qint32"',
    );
    refuses(
      () => quantizePerTensorDynamic(tensor([1])),
      TypeError,
      "ZP_INVALID_DTYPE",
      'quantizePerTensorDynamic: dtype must be "qint8" or "quint8", got undefined',
    );
  });
});

describe("fakeQuantizePerTensor", () => {
  forCases("fake_quantize", "fake_quantize_per_tensor_affine", 28, (input, out) => {
    const x = decodeTensor(input.x);
    const args = [x, decodeScalar(input.scale), input.zero_point, input.quant_min, input.quant_max];
    if (out.raises) {
      const code = /zero_point/.test(out.raises.message)
        ? "ZP_INVALID_ZERO_POINT"
        : "ZP_INVALID_QUANT_RANGE";
      refuses(() => fakeQuantizePerTensor(...args), RangeError, code, /^fakeQuantizePerTensor: /);
      return;
    }
    const torch = fakeQuantizePerTensor(...args, { compat: "torch" });
    assertTensor(torch.data, torch.shape, out.y, "compat");
    const [, scale, zeroPoint, low, high] = args;
    const codes = quantizePerTensor(x, scale, zeroPoint, "qint32", { compat: "torch" }).data;
    assert.deepEqual(maskOf(codes, low, high), out.mask);
    if (x.data.every(Number.isFinite) && args[1] > 0) {
      sameFiniteFakes(fakeQuantizePerTensor(...args), torch, x, args[1]);
    }
  });

  it("saturates infinities and makes NaN 0", () => {
    const x = Float32Array.of(Infinity, -Infinity, NaN);
    sameFloats(fakeQuantizePerTensor(x, 0.5, 3, 0, 15).data, [6, -1.5, 0]);
  });

  it("writes to options.out, and takes tensors of one value", () => {
    const out = new Float32Array(2);
    const y = fakeQuantizePerTensor(tensor([0.3, 9]), tensor(0.5), tensor([0]), 0, 15, { out });
    assert.equal(y.data, out);
    sameFloats(out, [0.5, 7.5]);
  });

  it("refuses limits that int32 does not hold", () => {
    refuses(
      () => fakeQuantizePerTensor(tensor([1]), 1, 0, 0, 2 ** 31),
      RangeError,
      "ZP_INVALID_QUANT_RANGE",
      "fakeQuantizePerTensor: quantMax must be an integer that int32 holds, got 2147483648",
    );
    refuses(
      () => fakeQuantizePerTensor(tensor([1]), 1, 0, "0", 1),
      TypeError,
      "ZP_INVALID_QUANT_RANGE",
      'fakeQuantizePerTensor: quantMin must be an integer that int32 holds, got "0"',
    );
  });
});

/** PyTorch's mask: which values fall on a code of the range without being cut off. */
function maskOf(codes, low, high) {
  return Array.from(codes, (code) => code >= low && code <= high);
}

// Where x / scale does not fit in int64, only compat is PyTorch's.
function sameFiniteFakes(actual, expected, x, scale) {
  for (let i = 0; i < x.data.length; i++) {
    if (Math.abs(x.data[i] / scale) >= 2 ** 62) continue;
    assert.ok(Object.is(actual.data[i], expected.data[i]), `value ${i}`);
  }
}

describe("fakeQuantizePerChannel", () => {
  forCases("fake_quantize", "fake_quantize_per_channel_affine", 28, (input, out) => {
    const x = decodeTensor(input.x);
    const { axis, quant_min: low, quant_max: high } = input;
    const args = [x, list(input.scale), list(input.zero_point), axis, low, high];
    if (out.raises) {
      assert.throws(() => fakeQuantizePerChannel(...args), { code: /^ZP_/ });
      return;
    }
    if (input.zero_point.t === "int32") {
      const codes = quantizePerChannel(...args.slice(0, 4), "qint32", { compat: "torch" }).data;
      assert.deepEqual(maskOf(codes, low, high), out.mask);
    }
    for (const options of [{}, { compat: "torch" }]) {
      const y = fakeQuantizePerChannel(...args, options);
      assertTensor(y.data, y.shape, out.y, JSON.stringify(options));
    }
  });

  it("clamps values beyond int32 as PyTorch does, around a floating zero point", () => {
    const values = Float32Array.of(1e30, -1e30, Infinity, NaN, 3e9, -3e9, 1e18, 4294967296);
    const args = [tensor(values, [1, 8]), [0.5], Float32Array.of(20.25), 0, -74, 258];
    const [low, high] = [-47.125, 118.875];
    sameFloats(fakeQuantizePerChannel(...args, { compat: "torch" }).data, [
      low,
      low,
      low,
      low,
      high,
      low,
      high,
      high,
    ]);
    sameFloats(fakeQuantizePerChannel(...args).data, [
      high,
      low,
      high,
      -0.125,
      high,
      low,
      high,
      high,
    ]);
  });

  const x = tensor([[1], [2]]);
  const refused = {
    "int64 zero points, as PyTorch does": [
      () => fakeQuantizePerChannel(x, [1, 1], new BigInt64Array(2), 0, 0, 255),
      TypeError,
      "ZP_INVALID_ZERO_POINT",
      /must be an Int32Array, a Float32Array or a list, got type BigInt64Array/,
    ],
    "float64 scales, as PyTorch does": [
      () => fakeQuantizePerChannel(x, new Float64Array(2), [0, 0], 0, 0, 255),
      TypeError,
      "ZP_INVALID_SCALE",
      /scales must be a Float32Array or a list, got type Float64Array/,
    ],
    "a zero point outside the range": [
      () => fakeQuantizePerChannel(x, [1, 1], [0, 300], 0, 0, 255),
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      "fakeQuantizePerChannel: zeroPoints[1] must be an integer from 0 to 255 for this quant " +
        "range, got 300",
    ],
    "another number of scales": [
      () => fakeQuantizePerChannel(x, [1, 1, 1], [0, 0], 0, 0, 255),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /scales must have length 2/,
    ],
    "an axis counted from the end": [
      () => fakeQuantizePerChannel(x, [1, 1], [0, 0], -1, 0, 255),
      RangeError,
      "ZP_INVALID_AXIS",
      /axis must be 0 or 1 for shape \[2, 1\], got -1$/,
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, ...expected));
  }
});

// A FakeQuantize module observes, chooses qparams, and fake-quantizes with them.
describe("observe and fake-quantize, as FakeQuantize does", () => {
  const OBSERVERS = {
    default_fake_quant: () => new MovingAverageMinMaxObserver({ ...range(0, 255, true) }),
    default_weight_fake_quant: () =>
      new MovingAverageMinMaxObserver({
        ...range(-128, 127),
        dtype: "qint8",
        qscheme: "per_tensor_symmetric",
      }),
    default_per_channel_weight_fake_quant: () =>
      new MovingAveragePerChannelMinMaxObserver({
        ...range(-128, 127),
        dtype: "qint8",
        qscheme: "per_channel_symmetric",
      }),
  };
  function range(quantMin, quantMax, reduceRange = false) {
    return { quantMin, quantMax, reduceRange };
  }
  forCases("fake_quantize", "FakeQuantize", 3, (input, out) => {
    const observer = OBSERVERS[input.name]();
    assert.deepEqual([observer.quantMin, observer.quantMax], [input.quant_min, input.quant_max]);
    for (const step of out.steps) {
      const x = decodeTensor(step.x);
      observer.observe(x);
      const { scale, zeroPoint } = observer.calculateQParams();
      assertTensor(scale.data, scale.shape, step.scale, "scale");
      assert.deepEqual([...zeroPoint.data], step.zero_point);
      const { quantMin: low, quantMax: high } = observer;
      const y = input.name.includes("per_channel")
        ? fakeQuantizePerChannel(x, scale, zeroPoint, 0, low, high)
        : fakeQuantizePerTensor(x, scale, zeroPoint, low, high);
      assertTensor(y.data, y.shape, step.y, "y");
    }
  });
});

describe("intRepr", () => {
  it("gives a copy of the codes, printed as PyTorch prints it", () => {
    const q = quantizePerTensor(tensor([[1, -2]]), 1, 0, "qint8");
    const codes = intRepr(q);
    assert.equal(String(codes), "tensor([[ 1, -2]], dtype=torch.int8)");
    codes.data[0] = 7;
    assert.equal(q.data[0], 1);
    assert.equal(intRepr(quantizePerTensor(tensor([3]), 1, 0, "quint8")).dtype, "uint8");
    assert.equal(
      String(intRepr(quantizePerTensor(tensor([3]), 1, 0, "qint32"))),
      "tensor([3], dtype=torch.int32)",
    );
  });

  it("refuses other tensors", () => {
    refuses(() => intRepr(tensor([1])), TypeError, "ZP_INVALID_TENSOR", /intRepr: q must be a ten/);
  });
});

describe("String of a quantized tensor", () => {
  const seeds = cases("seeds").filter(({ id }) => /003\.per_(tensor|channel)$/.test(id));

  it("is what PyTorch prints in notebook 4", () => {
    assert.equal(seeds.length, 2);
    const [perTensor, perChannel] = seeds;
    const { x, scale_tensor: scale, dtype } = perTensor.in;
    const q = quantizePerTensor(decodeTensor(x), decodeTensor(scale), 0, dtype);
    assert.equal(String(q), perTensor.torch_repr);
    const { scales, zero_points: zeroPoints, axis } = perChannel.in;
    const channels = quantizePerChannel(
      decodeTensor(perChannel.in.x),
      decodeTensor(scales),
      decodeTensor(zeroPoints),
      axis,
      perChannel.in.dtype,
    );
    assert.equal(String(channels), perChannel.torch_repr);
  });

  it("is what Node's console prints, of integers likewise", () => {
    const q = quantizePerTensor(tensor([1, -2]), 1, 0, "qint8");
    for (const printed of [q, intRepr(q)]) assert.equal(printed[INSPECT](), String(printed));
  });

  // Printed by PyTorch 1.13, whose printer is that of 2.6.
  const x = tensor([
    [0.5827, 0.8619],
    [0.3827, -0.1982],
    [-0.8213, 0.6351],
  ]);
  it("shows float64 scales and int64 zero points with integer zero points", () => {
    const q = quantizePerChannel(x, [1e-2, 1e-3, 5e-2], [0, 1, 2], 0, "qint8");
    assert.equal(
      String(q),
      `tensor([[ 0.5800,  0.8600],
        [ 0.1260, -0.1290],
        [-0.8000,  0.6500]], size=(3, 2), dtype=torch.qint8,
       quantization_scheme=torch.per_channel_affine,
       scale=tensor([0.0100, 0.0010, 0.0500], dtype=torch.float64),
       zero_point=tensor([0, 1, 2]), axis=0)`,
    );
  });

  it("shows tensors without values, without axes, and large ones", () => {
    assert.equal(
      String(quantizePerTensor(tensor([], [2, 0]), 1e-2, 0, "qint8")),
      `tensor([], size=(2, 0), dtype=torch.qint8,
       quantization_scheme=torch.per_tensor_affine, scale=0.01, zero_point=0)`,
    );
    assert.equal(
      String(quantizePerTensor(tensor(3.3), 1 / 3, 0, "quint8")),
      `tensor(3.3333, size=(), dtype=torch.quint8,
       quantization_scheme=torch.per_tensor_affine, scale=0.3333333333333333,
       zero_point=0)`,
    );
    const many = Float32Array.from({ length: 1200 }, (_, i) => i);
    assert.equal(
      String(quantizePerTensor(many, 1e-2, 0, "qint32")),
      `tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.1970e+03, 1.1980e+03,
        1.1990e+03], size=(1200,), dtype=torch.qint32,
       quantization_scheme=torch.per_tensor_affine, scale=0.01, zero_point=0)`,
    );
    assert.equal(
      String(quantizePerTensor(tensor([1, 2, 3]), 1e-10, 0, "qint32")),
      `tensor([0.2147, 0.2147, 0.2147], size=(3,), dtype=torch.qint32,
       quantization_scheme=torch.per_tensor_affine, scale=1e-10, zero_point=0)`,
    );
    assert.equal(
      String(quantizePerTensor(tensor([1, 2, 3]), 1, 0, "qint32")),
      `tensor([1., 2., 3.], size=(3,), dtype=torch.qint32,
       quantization_scheme=torch.per_tensor_affine, scale=1.0, zero_point=0)`,
    );
  });
});

describe("dequantize of quantized dtypes", () => {
  const q = quantizePerChannel(tensor([[1, 2]]), [1, 2], [0, 0], 1, "qint8");

  it("takes codes that a getter gives once", () => {
    const given = [Int8Array.of(1, 2), Float64Array.of(3, 4)];
    const once = Object.defineProperty({ ...q }, "data", { get: () => given.shift() });
    sameFloats(dequantize(once).data, [1, 4]);
  });

  it("takes what JSON has made of the rest, of floating zero points too", () => {
    const x = tensor([[0.3, -0.4]]);
    for (const zeroPoints of [[1, 2], Float32Array.of(1, 2), Float32Array.of(0.1, -2.5)]) {
      const own = quantizePerChannel(x, [0.1, 0.3], zeroPoints, 1, "qint8");
      const { data, ...rest } = own;
      const json = JSON.stringify(rest, (_, v) => (ArrayBuffer.isView(v) ? Array.from(v) : v));
      const again = { ...JSON.parse(json), data };
      sameTensor(dequantize(again), dequantize(own));
      assert.deepEqual([...intRepr(again).data], [...data]);
    }
  });

  const refused = {
    "floating zero points without their qscheme": [
      { ...q, zeroPoint: [0.5, 0] },
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /q\.zeroPoint\[0\] must be an integer/,
    ],
    "floating zero points that are no numbers": [
      { ...q, zeroPoint: ["a", 0], qscheme: "per_channel_affine_float_qparams" },
      TypeError,
      "ZP_INVALID_ZERO_POINT",
      /q\.zeroPoint\[0\] must be a number, got "a"/,
    ],
    "a qscheme that is none": [
      { ...q, zeroPoint: [0.5, 0], qscheme: "float" },
      RangeError,
      "ZP_INVALID_QSCHEME",
      /q\.qscheme must be "per_channel_affine_float_qparams" for such qparams, got "float"/,
    ],
    "codes in another array": [
      { ...q, data: new Uint8Array(2) },
      TypeError,
      "ZP_INVALID_CODES",
      /q\.data must be of type Int8Array for dtype qint8/,
    ],
    "another number of codes": [
      { ...q, data: new Int8Array(3) },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /must have 2 values, got 3/,
    ],
    "a qscheme that the qparams do not have": [
      { ...q, qscheme: "per_tensor_affine" },
      RangeError,
      "ZP_INVALID_QSCHEME",
      /q\.qscheme must be "per_channel_affine" for such qparams/,
    ],
    "an axis that is not there": [
      { ...q, axis: 2 },
      RangeError,
      "ZP_INVALID_AXIS",
      /q\.axis must be 0 or 1 for shape \[1, 2\], got 2$/,
    ],
  };
  for (const [what, [value, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(() => dequantize(value), ...expected));
  }

  it("writes to options.out", () => {
    const out = new Float32Array(2);
    assert.equal(dequantize(q, { out }).data, out);
    sameFloats(out, [1, 2]);
  });

  it("runs on the core of an instance", async () => {
    const instance = await create();
    const own = instance.quantizePerTensor(tensor([1.5]), 0.5, 0, "qint8");
    sameFloats(instance.dequantize(own).data, [1.5]);
    sameFloats(dequantize(own).data, [1.5]);
  });
});
