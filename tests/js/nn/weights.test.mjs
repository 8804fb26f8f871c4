import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, linear, QuantizedLinear, quantizationError, quantize, tensor } from "zeropoint";
import {
  convert,
  Embedding,
  LayerNorm,
  Linear,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  PlaceholderObserver,
  predefinedQConfigs,
  prepare,
  QConfig,
  QConfigMapping,
  quantizeDynamic,
  quantizePerTensor,
  ReLU,
  Sequential,
  Softmax,
  Tanh,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { refuses, sameTensor } from "../support/asserts.mjs";
import { floats, makeModel, weights, x } from "../support/models.mjs";

await init();

describe("an observer whose qparams have another number of channels than the weight", () => {
  class One extends PerChannelMinMaxObserver {
    calculateQParams() {
      const { scale, zeroPoint } = super.calculateQParams();
      const one = ({ data }) => ({ data: data.slice(0, 1), shape: [1] });
      return { scale: one(scale), zeroPoint: one(zeroPoint) };
    }
  }
  const weight = tensor([
    [1, 2],
    [3, 4],
  ]);
  const layers = {
    Linear: [new Linear(weight), { dtype: "qint8", qscheme: "per_channel_symmetric" }],
    Embedding: [
      new Embedding(weight),
      { dtype: "quint8", qscheme: "per_channel_affine_float_qparams" },
    ],
  };
  for (const [what, [layer, options]] of Object.entries(layers)) {
    it(`is refused: ${what}`, () => {
      const qconfig = new QConfig({
        activation: PlaceholderObserver,
        weight: One.withArgs(options),
      });
      refuses(
        () => convert(prepare(new Sequential([layer]), qconfig)),
        RangeError,
        "ZP_SHAPE_MISMATCH",
        /^convert: scales must have length 2, .* got 1 \(in layer "0", /,
      );
    });
  }
});

describe("a weight that cannot be quantized", () => {
  const bad = new Sequential({ fc: new Linear(tensor([[NaN, 1]])) });
  const where = /MinMaxObserver.* \(x is the weight\) \(in layer "fc", Linear\)$/;
  it("is named in the error, for every kind of quantization", () => {
    refuses(() => quantizeDynamic(bad), RangeError, "ZP_NON_FINITE", where);
    const groups = new WeightOnlyQConfig({ groupSize: 0 });
    const message =
      /^quantize: options\.groupSize .* \(x is the weight\) \(in layer "fc", Linear\)$/;
    refuses(() => quantizeDynamic(bad, groups), RangeError, "ZP_INVALID_GROUP_SIZE", message);
  });
});

describe("a weight without values", () => {
  const empty = new Sequential({ fc: new Linear(tensor(new Float32Array(0), [0, 3])) });
  const observer = (chAxis) =>
    PerChannelMinMaxObserver.withArgs({
      dtype: "qint8",
      qscheme: "per_channel_symmetric",
      chAxis,
    });
  const dynamic = (chAxis) =>
    new QConfig({
      activation: predefinedQConfigs.default_dynamic_qconfig.activation,
      weight: observer(chAxis),
    });

  it("needs an axis within its shape", () => {
    for (const chAxis of [-5, 2]) {
      refuses(
        () => quantizeDynamic(empty, dynamic(chAxis)),
        RangeError,
        "ZP_INVALID_OPTION",
        `quantizeDynamic: options.chAxis must be an integer from -2 to 1, got ${chAxis} (in layer "fc", Linear)`,
      );
    }
    quantizeDynamic(empty, dynamic(-2)).dispose();
  });

  it("has no SQNR, nor has an output without values, as quantizationError has none", () => {
    const report = quantizeDynamic(empty, dynamic(0)).report(tensor([[1, 2, 3]]));
    assert.equal(report.layers[0].weightSqnr, NaN);
    assert.equal(report.outputSqnr, NaN);
    assert.equal(quantizationError(new Float32Array(0), new Float32Array(0), "sqnr"), NaN);
  });
});

describe("quantized weights", () => {
  it("end where the observer's codes end, as PyTorch's do", () => {
    const model = new Sequential(new Linear(tensor([[1, -1]])));
    const ones = tensor([
      [1, 0],
      [0, 1],
    ]);
    for (const [options, largest] of [
      [{}, 127 / 127.5],
      [{ reduceRange: true }, 63 / 63.5],
      [{ quantMin: -10, quantMax: 9 }, 9 / 9.5],
    ]) {
      const weight = MinMaxObserver.withArgs({
        dtype: "qint8",
        qscheme: "per_tensor_symmetric",
        ...options,
      });
      const qconfig = new QConfig({ activation: PlaceholderObserver, weight });
      const quantized = convert(prepare(model, qconfig));
      const [first, second] = quantized.forward(ones).data;
      assert.ok(Math.abs(first - largest) < 1e-6, `${first}`);
      assert.ok(Math.abs(second + 1) < 0.06, `${second}`);
      quantized.dispose();
    }
  });
});

describe("dynamic layers", () => {
  it("are those of QuantizedLinear", () => {
    for (const [qconfig, axis] of [
      [undefined, undefined],
      [predefinedQConfigs.default_dynamic_qconfig, undefined],
      [predefinedQConfigs.per_channel_dynamic_qconfig, 0],
    ]) {
      for (const reduceRange of [true, false]) {
        const quantized = quantizeDynamic(makeModel(), qconfig, { reduceRange });
        const make = (weight, bias) =>
          new QuantizedLinear(weight, { activations: "dynamic", axis, bias, reduceRange });
        const first = new ReLU().forward(make(weights.fc1, weights.bias1).forward(x));
        const second = new Tanh().forward(make(weights.fc2).forward(first));
        sameTensor(quantized.forward(x), make(weights.fc3, weights.bias3).forward(second));
        quantized.dispose();
      }
    }
  });

  it("leave embeddings and all other layers alone", () => {
    const model = new Sequential({
      tokens: new Embedding(floats([5, 8])),
      norm: new LayerNorm(8),
      fc: new Linear(weights.fc1),
      out: new Softmax(),
    });
    const quantized = quantizeDynamic(model);
    assert.deepEqual(
      quantized.report().layers.map(({ method }) => method),
      ["float32", "float32", "dynamic", "float32"],
    );
    const y = quantized.forward({ data: Int32Array.of(0, 4), shape: [2] });
    assert.deepEqual([...y.shape], [2, 16]);
    quantized.dispose();
  });

  it("cannot be static", () => {
    refuses(
      () => quantizeDynamic(makeModel(), predefinedQConfigs.default_qconfig),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /quantizeDynamic: layer "fc1" has a static QConfig, which takes calibration/,
    );
  });

  it("refuse NaN with the name of the layer", () => {
    const quantized = quantizeDynamic(makeModel());
    refuses(
      () => quantized.forward({ data: new Float32Array(8).fill(NaN), shape: [1, 8] }),
      RangeError,
      "ZP_NON_FINITE",
      /input must be finite.* \(in layer "fc1", Linear\)/,
    );
    quantized.dispose();
  });
});

describe("weights alone", () => {
  for (const options of [
    {},
    { dtype: "int4", groupSize: 4 },
    { dtype: "int4", groupSize: 3 },
    { dtype: "uint2", scheme: "affine", axis: 1 },
  ]) {
    it(`in the arithmetic of quantize: ${JSON.stringify(options)}`, () => {
      const quantized = quantizeDynamic(makeModel(), new WeightOnlyQConfig(options));
      const first = linear(x, quantize(weights.fc1, options), weights.bias1);
      const second = linear(new ReLU().forward(first), quantize(weights.fc2, options));
      const third = linear(
        new Tanh().forward(second),
        quantize(weights.fc3, options),
        weights.bias3,
      );
      sameTensor(quantized.forward(x), third);
      quantized.dispose();
    });
  }

  it("prints a weight-only QConfig whatever its options, which a conversion checks", () => {
    assert.equal(
      String(new WeightOnlyQConfig({ bits: 3, axis: 0 })),
      'WeightOnlyQConfig({"bits":3,"axis":0})',
    );
    const dtype = [];
    dtype.push(dtype);
    assert.equal(String(new WeightOnlyQConfig({ dtype })), 'WeightOnlyQConfig({"dtype":[[…]]})');
  });

  it("in any number of bits: the largest code is that of the bits", () => {
    let last = Infinity;
    for (const bits of [8, 7, 6, 5, 4, 3, 2]) {
      const quantized = quantizeDynamic(makeModel(), new WeightOnlyQConfig({ bits, axis: 0 }));
      const [{ weightSqnr, sizeInBytes }] = quantized.report().layers;
      assert.ok(weightSqnr < last, `${bits} bits: ${weightSqnr} dB`);
      assert.equal(sizeInBytes, (128 * bits) / 8 + 4 * 16 + 4 * 16);
      last = weightSqnr;
      quantized.dispose();
    }
    const exact = quantizeDynamic(makeModel(), new WeightOnlyQConfig({ bits: 4, groupSize: 4 }));
    const same = quantizeDynamic(
      makeModel(),
      new WeightOnlyQConfig({ dtype: "int4", groupSize: 4 }),
    );
    sameTensor(exact.forward(x), same.forward(x));
  });

  it("in any number of bits: infinities become the codes that finite weights end at", () => {
    const weight = tensor([[1, Infinity, -Infinity, NaN]]);
    const ones = [0, 1, 2, 3].map((i) => [0, 1, 2, 3].map((j) => Number(i === j)));
    for (const [bits, most] of [
      [2, 1],
      [3, 3],
      [4, 7],
      [5, 15],
      [8, 127],
    ]) {
      for (const layer of [new Linear(weight), new Embedding(weight)]) {
        const qconfig = new WeightOnlyQConfig({ bits, nonFinite: "ignore" });
        const mapping = new QConfigMapping().setGlobal(qconfig);
        const quantized = convert(prepare(new Sequential([layer]), mapping));
        const y = quantized.forward(layer instanceof Linear ? tensor(ones) : tensor([0]));
        const codes = Array.from(y.data, (value) => Math.round(value * most) + 0);
        assert.deepEqual(codes, [most, most, -most, 0], `${bits} bits`);
        quantized.dispose();
      }
    }
  });

  it("by PyTorch's observers, where the activations are a placeholder", () => {
    const qconfig = new QConfig({
      activation: PlaceholderObserver,
      weight: MinMaxObserver.withArgs({ dtype: "quint8" }),
    });
    const model = new Sequential({ fc: new Linear(weights.fc1) });
    const quantized = quantizeDynamic(model, qconfig);
    const observer = new MinMaxObserver();
    observer.observe(weights.fc1);
    const { scale, zeroPoint } = observer.calculateQParams();
    const q = quantizePerTensor(weights.fc1, scale, zeroPoint, "quint8");
    const expected = linear(x, { ...q, dtype: "uint8", scheme: "affine" });
    sameTensor(quantized.forward(x), expected);
    quantized.dispose();
  });
});
