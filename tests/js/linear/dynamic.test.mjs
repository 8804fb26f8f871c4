// Dynamic quantized linear layers against PyTorch's, and qint8 weights.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, dequantize, init, linear, QuantizedLinear, quantize, tensor } from "zeropoint";
import { quantizePerChannel, quantizePerTensor, quantizePerTensorDynamic } from "zeropoint/torch";
import { Random, refuses, sameFloats, sameTensor } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { assertScalar, assertTensor, cases, decodeTensor } from "../support/vectors.mjs";

await init();

describe("QuantizedLinear with dynamic activations", () => {
  const all = cases("dynamic_linear").filter(({ op }) => op === "dynamic_linear");

  it("covers all cases; those of qnnpack are PyTorch's own output bit for bit", () => {
    assert.equal(all.length, 32);
    assert.equal(all.filter(({ in: { engine } }) => engine === "qnnpack").length, 16);
  });

  for (const { id, in: input, out } of all) {
    const x = decodeTensor(input.x);
    const weight = decodeTensor(input.weight);
    const bias = input.bias === null ? undefined : decodeTensor(input.bias);
    const scales = decodeTensor(out.w_scale).data;
    const codes = decodeTensor(out.q_weight);
    const axis = input.per_channel ? { axis: 0 } : {};
    const given = input.per_channel
      ? { scale: scales, zeroPoint: new Int32Array(scales.length), ...axis }
      : { scale: scales[0], zeroPoint: 0 };
    const quantized = { data: codes.data, shape: codes.shape, dtype: "qint8", ...given };

    for (const reduceRange of [undefined, true, false]) {
      const options = { activations: "dynamic", bias, reduceRange };
      const expected = reduceRange === false ? out.reduce_range_false : out.reduce_range_true;
      const granularity = input.per_channel ? "per channel" : "per tensor";
      const title = `${id} ${input.engine} ${granularity}, reduceRange ${reduceRange}`;

      it(`quantizes the input, and sums products of codes, as PyTorch does: ${title}`, () => {
        const input8 = quantizePerTensorDynamic(x, "quint8", reduceRange !== false);
        assertScalar(input8.scale, expected.act_scale, "scale of the input");
        assert.equal(input8.zeroPoint, expected.act_zero_point);
        assertTensor(input8.data, input8.shape, expected.ref_qx, "codes of the input");
        assert.deepEqual(sums(input8, codes), expected.ref_acc.data);
      });

      it(`computes PyTorch's outputs from a float weight: ${title}`, () => {
        const layer = new QuantizedLinear(weight, { ...options, ...axis });
        const { scale } = layer.qparams;
        const own =
          typeof scale === "number" ? new Float32Array(scales.length).fill(scale) : scale.data;
        sameFloats(own, scales);
        const y = layer.forward(x);
        layer.dispose();
        assertTensor(y.data, y.shape, expected.ref_y, "output");
        if (reduceRange === out.engine_module_effective_reduce_range) nearEngine(y, input, out);
      });

      it(`computes PyTorch's outputs from a quantized weight: ${title}`, () => {
        const layer = new QuantizedLinear(quantized, options);
        const y = layer.forward(x);
        layer.dispose();
        assertTensor(y.data, y.shape, expected.ref_y, "output");
      });
    }
  }

  /** The integer sums between codes of the input and of the weight. */
  function sums({ data: qx, shape, zeroPoint }, { data: qw, shape: [n, k] }) {
    const rows = shape.slice(0, -1).reduce((product, length) => product * length, 1);
    return Array.from({ length: rows * n }, (_, index) => {
      const [row, column] = [Math.floor(index / n), index % n];
      let sum = 0;
      for (let i = 0; i < k; i++) sum += (qx[row * k + i] - zeroPoint) * qw[column * k + i];
      return sum;
    });
  }

  /** qnnpack: the same bits. onednn rescales in another order: within 2^-20 of the terms. */
  function nearEngine({ data }, { engine, bias }, out) {
    const expected = decodeTensor(out.engine_y_module).data;
    if (engine === "qnnpack") {
      sameFloats(data, expected);
      return;
    }
    const key = out.engine_module_effective_reduce_range
      ? "reduce_range_true"
      : "reduce_range_false";
    const { act_scale: scale, ref_acc: sums } = out[key];
    const weightScales = decodeTensor(out.w_scale).data;
    const biases = bias === null ? undefined : decodeTensor(bias).data;
    const n = weightScales.length;
    for (let i = 0; i < data.length; i++) {
      const product = Math.abs(Number(sums.data[i]) * scale.dec * weightScales[i % n]);
      const bound = 2 ** -20 * (product + Math.abs(biases?.[i % n] ?? 0)) + 1e-45;
      assert.ok(Math.abs(data[i] - expected[i]) <= bound, `value ${i}`);
    }
  }

  const weight = tensor([
    [1, -2],
    [0.5, 0.25],
  ]);
  const make = (options, w = weight) =>
    new QuantizedLinear(w, { activations: "dynamic", ...options });

  it("chooses one scale for all rows of an input", () => {
    const layer = make();
    const together = layer.forward(
      tensor([
        [0.001, 0.001],
        [100, 100],
      ]),
    );
    assert.equal(together.data[0], 0);
    assert.notEqual(layer.forward(tensor([[0.001, 0.001]])).data[0], 0);
  });

  it("takes int8 weights of the notebooks' arithmetic, if symmetric", () => {
    const x = tensor([[1, 2]]);
    const perRow = make({}, quantize(weight, { axis: 0 })).forward(x);
    assert.ok(Math.abs(perRow.data[0] - -3) < 0.1 && Math.abs(perRow.data[1] - 1) < 0.1);
    assert.equal(make({}, quantize(weight)).forward(x).shape[1], 2);
  });

  it("keeps leading axes, takes inputs without rows and layers without inputs or outputs", () => {
    const layer = make();
    assert.deepEqual([...layer.forward(tensor(new Float32Array(12), [2, 3, 2])).shape], [2, 3, 2]);
    assert.deepEqual([...layer.forward(tensor([], [0, 2])).shape], [0, 2]);
    const noInputs = make({ bias: tensor([1, 2]) }, tensor([], [2, 0]));
    assert.deepEqual([...noInputs.forward(tensor([], [3, 0])).data], [1, 2, 1, 2, 1, 2]);
    assert.deepEqual([...make({}, tensor([], [0, 2])).forward(tensor([[1, 2]])).shape], [1, 0]);
    const perOutput = make({ axis: 0 }, tensor([], [2, 0]));
    assert.deepEqual([...perOutput.forward(tensor([], [1, 0])).data], [0, 0]);
  });

  it("writes to out, and computes zeros for zeros", () => {
    const out = new Float32Array(2);
    assert.equal(make().forward(tensor([[0, 0]]), out).data, out);
    sameFloats(out, [0, 0]);
  });

  it("equals the formula on random layers", () => {
    const random = new Random(8);
    for (let round = 0; round < 12; round++) {
      const [m, k, n] = [random.integer(1, 5), random.integer(1, 70), random.integer(1, 9)];
      const w = { data: random.normal(n * k), shape: [n, k] };
      const x = { data: random.normal(m * k, 10), shape: [m, k] };
      const reduceRange = round % 2 === 0;
      const layer = make({ reduceRange }, w);
      sameFloats(layer.forward(x).data, byFormula(x, w, reduceRange), `round ${round}`);
      layer.dispose();
    }
  });

  /** The outputs by the formula: float32(sum of products of codes) · (scale of the input · scale of the weight). */
  function byFormula(x, w, reduceRange) {
    const max = w.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const wScale = Math.fround(max / 127.5);
    const [low, high] = [Math.min(0, ...x.data), Math.max(0, ...x.data)];
    const steps = reduceRange ? 127 : 255;
    const scale = (high - low) / steps;
    const zeroPoint = layerZeroPoint(low, high, scale, steps);
    const qx = quantizePerTensor(x, scale, zeroPoint, "quint8");
    const qw = quantizePerTensor(w, wScale, 0, "qint8");
    const multiplier = Math.fround(Math.fround(scale) * wScale);
    return Float32Array.from(sums(qx, qw), (sum) => Math.fround(sum) * multiplier);
  }

  function layerZeroPoint(low, high, scale, steps) {
    const fromLow = Math.abs(low / scale);
    const fromHigh = Math.abs(high / scale);
    const zeroPoint = -fromLow < steps - fromHigh ? -low / scale : steps - high / scale;
    const floor = Math.floor(zeroPoint);
    const rest = zeroPoint - floor;
    const rounded = rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
    return Math.min(Math.max(rounded, 0), steps);
  }

  const refused = {
    "NaN and infinities in the input": [
      () => make().forward(Float32Array.of(1, NaN) && { data: [1, NaN], shape: [1, 2] }),
      RangeError,
      "ZP_NON_FINITE",
      "QuantizedLinear.forward: input must be finite to choose a scale, got values from NaN to NaN",
    ],
    "an input of one axis, as PyTorch does": [
      () => make().forward(tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /input must have 2 axes or more, as PyTorch's dynamic layer takes it, got shape \[2\]/,
    ],
    "another number of inputs": [
      () => make().forward(tensor([[1, 2, 3]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /input must have 2 values on its last axis/,
    ],
    "NaN in the weight": [
      () => make({}, { data: [1, NaN], shape: [1, 2] }),
      RangeError,
      "ZP_NON_FINITE",
      /QuantizedLinear: weight must be finite to choose a scale/,
    ],
    "ranges for int8 weights": [
      () => make({ range: "mse" }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.range cannot be given with options\.activations: "dynamic", got "mse"/,
    ],
    "float32 sums": [
      () => make({ accumulate: "float32" }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.accumulate must be "exact"/,
    ],
    "scales of inputs": [
      () => make({ axis: 1 }),
      RangeError,
      "ZP_INVALID_AXIS",
      /options\.axis must be 0, for one scale for each output/,
    ],
    "weights with zero points": [
      () => make({}, quantize(weight, { scheme: "affine" })),
      RangeError,
      "ZP_INVALID_SCHEME",
      /weight must have zero points of 0/,
    ],
    "weights with scales of inputs": [
      () => make({}, quantize(weight, { axis: 1 })),
      RangeError,
      "ZP_INVALID_SCHEME",
      /weight must have one scale, or one for each output or group/,
    ],
    "unsigned weights": [
      () => make({}, quantize(weight, { dtype: "uint4", scheme: "affine" })),
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      /weight must have a signed dtype, got "uint4"/,
    ],
    "reduceRange without dynamic activations": [
      () => new QuantizedLinear(weight, { reduceRange: true }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.reduceRange is for options\.activations: "dynamic"/,
    ],
    "use after dispose()": [
      () => {
        const layer = make();
        layer.dispose();
        layer.dispose();
        layer.forward(tensor([[1, 2]]));
      },
      TypeError,
      "ZP_DISPOSED",
      "QuantizedLinear.forward: the layer is disposed and cannot be used any more",
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, ...expected));
  }

  it("runs on the core of its instance", async () => {
    const instance = await create();
    const layer = new instance.QuantizedLinear(weight, { activations: "dynamic" });
    sameTensor(layer.forward(tensor([[1, 2]])), make().forward(tensor([[1, 2]])));
    layer.dispose();
  });
});

describe("QuantizedLinear with dynamic activations and more inputs than an int32 sum holds", () => {
  for (const zp of builds) {
    // Inputs from 0 to the largest code have scale 1 and zero point 0: they are their own codes.
    for (const [reduceRange, largest] of [
      [true, 127],
      [false, 255],
    ]) {
      const forward = (x, codes, n) => {
        const k = x.length;
        const q = { data: codes, shape: [n, k], dtype: "int8", scale: 1, zeroPoint: 0 };
        const layer = new zp.QuantizedLinear(q, { activations: "dynamic", reduceRange });
        const { data } = layer.forward({ data: x, shape: [1, k] });
        layer.dispose();
        return data;
      };

      it(`adds the sums of every 2^16 inputs, codes up to ${largest}: ${zp.name}`, () => {
        // One input of each segment counts, 1 + 2 + 4 + 8; the weights of all others are 0.
        const x = new Float32Array(3 * 2 ** 16 + 1).fill(largest);
        const codes = new Int8Array(2 * x.length);
        for (let i = 0; i < 4; i++) {
          x[i * 2 ** 16] = 2 ** i;
          codes[i * 2 ** 16] = 1;
          codes[x.length + i * 2 ** 16] = -2;
        }
        sameFloats(forward(x, codes, 2), [15, -30]);
      });

      it(`sums 2^18 products of the largest codes exactly, ${largest}: ${zp.name}`, () => {
        const k = 2 ** 18;
        const codes = new Int8Array(2 * k).fill(127, 0, k).fill(-128, k);
        const sums = [127 * largest * k, -128 * largest * k];
        assert.ok(sums.every((sum) => Math.abs(sum) > 2 ** 31 && Math.fround(sum) === sum));
        sameFloats(forward(new Float32Array(k).fill(largest), codes, 2), sums);
      });
    }
  }
});

describe("qint8 weights", () => {
  const weight = tensor([
    [1, -2, 0.3],
    [0.5, 0.25, -0.7],
  ]);
  const x = tensor([
    [1, 2, 3],
    [-4, 5, 6],
  ]);

  const weights = {
    "per tensor": quantizePerTensor(weight, 0.02, 3, "qint8"),
    "per output": quantizePerChannel(weight, [0.02, 0.01], [1, -2], 0, "qint8"),
    "per input": quantizePerChannel(weight, [0.01, 0.02, 0.03], [0, 1, 2], 1, "qint8"),
  };
  for (const [how, q] of Object.entries(weights)) {
    it(`${how}: linear and QuantizedLinear multiply by what they stand for`, () => {
      const y = linear(x, q, tensor([1, 2]));
      const expected = linear(x, dequantize(q), tensor([1, 2]));
      for (let i = 0; i < 4; i++) {
        // Two roundings of each weight to float32 lie between the two.
        assert.ok(Math.abs(y.data[i] - expected.data[i]) <= 2 ** -22 * 40, `value ${i}`);
      }
      const layer = new QuantizedLinear(q, { bias: tensor([1, 2]) });
      sameTensor(layer.forward(x), y);
      assert.equal(layer.qparams.dtype, "int8");
      layer.dispose();
    });
  }

  it("are refused with floating zero points, and in other dtypes", () => {
    refuses(
      () => linear(x, quantizePerChannel(weight, [1, 1], Float32Array.of(0, 0), 0, "qint8")),
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /linear: weight\.zeroPoint must be integers/,
    );
    refuses(
      () => linear(x, quantizePerTensor(weight, 1, 0, "quint8")),
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      'linear: weight.dtype must be "qint8" for the weight of a linear layer, got "quint8"',
    );
    refuses(
      () => linear(x, quantizePerTensor(weight, 0, 0, "qint8")),
      RangeError,
      "ZP_INVALID_SCALE",
      /linear: weight\.scale must be finite and > 0/,
    );
  });
});
