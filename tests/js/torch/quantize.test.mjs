// torch.quantize_per_tensor and its kin against what PyTorch answered.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, tensor } from "zeropoint";
import {
  fakeQuantizePerTensor,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
} from "zeropoint/torch";
import { Random, refuses, sameCodes, sameTensor, specialValues } from "../support/asserts.mjs";
import { assertTensor, cases, decodeScalar, decodeTensor } from "../support/vectors.mjs";
import { forCases, list } from "./cases.mjs";

await init();

const QDTYPES = { qint8: Int8Array, quint8: Uint8Array, qint32: Int32Array };

const LIMITS = { qint8: [-128, 127], quint8: [0, 255], qint32: [-(2 ** 31), 2 ** 31 - 1] };

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
    "a list of fewer values than its length": [
      () => {
        const get = (list, key) => (key === "length" ? 5 : Reflect.get(list, key));
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
