import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import {
  fakeQuantizePerChannel,
  fakeQuantizePerTensor,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  quantizePerChannel,
  quantizePerTensor,
} from "zeropoint/torch";
import { refuses, sameFloats } from "../support/asserts.mjs";
import { assertTensor, decodeScalar, decodeTensor } from "../support/vectors.mjs";
import { forCases, list } from "./cases.mjs";

await init();

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
