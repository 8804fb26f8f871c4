import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, quantizationError, tensor } from "zeropoint";
import {
  convert,
  getDefaultQConfig,
  HistogramObserver,
  Linear,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  PerChannelMinMaxObserver,
  predefinedObservers,
  predefinedQConfigs,
  prepare,
  QConfig,
  quantizePerChannel,
  quantizePerTensor,
  ReLU,
  Sequential,
  Tanh,
} from "zeropoint/torch";
import { refuses, sameFloats } from "../support/asserts.mjs";
import { batches, floats, makeModel, weights, x } from "../support/models.mjs";

await init();

/** round_half_even of a double. */
function roundHalfEven(value) {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

/** A static linear layer, worked out in plain numbers. */
function staticLinear(codes, rows, input, weight, bias, output) {
  const { data: qw, shape, scale } = weight;
  const [n, k] = shape;
  const scales = typeof scale === "number" ? new Float32Array(n).fill(scale) : scale.data;
  const out = new Uint8Array(rows * n);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < n; column++) {
      let sum = 0;
      for (let i = 0; i < k; i++) {
        sum += (codes[row * k + i] - input.zeroPoint) * qw[column * k + i];
      }
      const step = input.scale * scales[column];
      if (bias !== undefined) sum += roundHalfEven(bias.data[column] / step);
      const multiplier = Math.fround(step / output.scale);
      const steps = roundHalfEven(Math.fround(Math.fround(sum) * multiplier));
      out[row * n + column] = Math.min(Math.max(steps + output.zeroPoint, 0), 255);
    }
  }
  return out;
}

const qparamsOf = (observer, shift = 0) => {
  const { scale, zeroPoint } = observer.calculateQParams();
  return { scale: scale.data[0], zeroPoint: zeroPoint.data[0] + shift };
};

describe("static layers", () => {
  const quantizedWeight = (w, perChannel) => {
    const type = perChannel ? PerChannelMinMaxObserver : MinMaxObserver;
    const qscheme = perChannel ? "per_channel_symmetric" : "per_tensor_symmetric";
    const observer = new type({ dtype: "qint8", qscheme });
    observer.observe(w);
    const { scale, zeroPoint } = observer.calculateQParams();
    return perChannel
      ? quantizePerChannel(w, scale, zeroPoint, 0, "qint8")
      : quantizePerTensor(w, scale, 0, "qint8");
  };

  /** The outputs of the model, computed layer after layer from the observers' qparams. */
  function outputsByFormula({ fc1, fc2, fc3 }, perChannel) {
    const qparams = (observer) => qparamsOf(observer);
    const [in1, out1, out2] = [fc1.input, fc1.output, fc2.output].map(qparams);
    const [in3, out3] = [fc3.input, fc3.output].map(qparams);
    const [q1, q2, q3] = ["fc1", "fc2", "fc3"].map((layer) =>
      quantizedWeight(weights[layer], perChannel),
    );
    const codes = quantizePerTensor(x, in1.scale, in1.zeroPoint, "quint8").data;
    const hidden = staticLinear(codes, 10, in1, q1, weights.bias1, out1).map((code) =>
      Math.max(code, out1.zeroPoint),
    );
    const data = staticLinear(hidden, 10, out1, q2, undefined, out2);
    const floats = dequantize({ data, shape: [10, 12], dtype: "quint8", ...out2 });
    const tanh = new Tanh().forward(floats);
    const into3 = quantizePerTensor(tanh, in3.scale, in3.zeroPoint, "quint8").data;
    const last = staticLinear(into3, 10, in3, q3, weights.bias3, out3);
    return Float32Array.from(last, (code) => (code - out3.zeroPoint) * Math.fround(out3.scale));
  }

  for (const [name, qconfig, perChannel] of [
    ["predefinedQConfigs.default_qconfig", predefinedQConfigs.default_qconfig, false],
    [
      "predefinedQConfigs.default_per_channel_qconfig",
      predefinedQConfigs.default_per_channel_qconfig,
      true,
    ],
    ['getDefaultQConfig("x86")', getDefaultQConfig("x86"), true],
  ]) {
    it(`follow the formula, layer after layer: ${name}`, () => {
      const prepared = prepare(makeModel(), qconfig).calibrate(batches);
      const quantized = convert(prepared);
      const y = quantized.forward(x);
      assert.deepEqual([...y.shape], [10, 4]);
      sameFloats(y.data, outputsByFormula(prepared.observers, perChannel));
      quantized.dispose();
    });
  }

  it("keep qint8 activations by moving them up by 128, which changes nothing", () => {
    const model = new Sequential({ fc: new Linear(weights.fc1, { bias: weights.bias1 }) });
    const prepared = prepare(
      model,
      predefinedQConfigs.default_per_channel_symmetric_qnnpack_qconfig,
    ).calibrate(batches);
    const { input, output } = prepared.observers.fc;
    assert.equal(input.dtype, "qint8");
    const quantized = convert(prepared);
    const y = quantized.forward(x);
    const [into, out] = [qparamsOf(input, 128), qparamsOf(output, 128)];
    const codes = quantizePerTensor(x, into.scale, into.zeroPoint - 128, "qint8").data;
    const observer = new PerChannelMinMaxObserver({
      dtype: "qint8",
      qscheme: "per_channel_symmetric",
      quantMin: -127,
      quantMax: 127,
      eps: 2 ** -12,
    });
    observer.observe(weights.fc1);
    const { scale, zeroPoint } = observer.calculateQParams();
    const q = quantizePerChannel(weights.fc1, scale, zeroPoint, 0, "qint8");
    const moved = Uint8Array.from(codes, (code) => code + 128);
    const expected = staticLinear(moved, 10, into, q, weights.bias1, out);
    for (let i = 0; i < expected.length; i++) {
      assert.equal(y.data[i], Math.fround((expected[i] - out.zeroPoint) * Math.fround(out.scale)));
    }
    quantized.dispose();
  });

  it("take inputs of any number of axes, also without rows", () => {
    const quantized = convert(
      prepare(makeModel(), predefinedQConfigs.default_qconfig).calibrate(batches),
    );
    assert.deepEqual([...quantized.forward(tensor(x.data, [2, 5, 8])).shape], [2, 5, 4]);
    sameFloats(quantized.forward(tensor(x.data, [2, 5, 8])).data, quantized.forward(x).data);
    assert.deepEqual([...quantized.forward(tensor([], [0, 8])).shape], [0, 4]);
    assert.deepEqual([...quantized.forward(tensor(x.data.subarray(0, 8))).shape], [4]);
    refuses(
      () => quantized.forward(floats([2, 9])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /input must have 8 values on its last axis, as weight of shape \[16, 8\] has, got shape \[2, 9\] \(in layer "fc1", Linear\)/,
    );
    quantized.dispose();
  });

  it("add a bias that is much larger than the products", () => {
    for (const weight of [0, 1e-6, 1e-5]) {
      const model = new Sequential(new Linear(tensor([[weight], [1]]), { bias: tensor([5, 0]) }));
      const prepared = prepare(model, predefinedQConfigs.default_per_channel_qconfig).calibrate([
        tensor([[0], [1]]),
      ]);
      const quantized = convert(prepared);
      const [first, second] = quantized.forward(tensor([[1]])).data;
      assert.ok(Math.abs(first - 5) < 0.02, `${first}`);
      assert.ok(Math.abs(second - 1) < 0.02, `${second}`);
      quantized.dispose();
    }
  });

  it("need calibration", () => {
    refuses(
      () => convert(prepare(makeModel(), predefinedQConfigs.default_qconfig)),
      RangeError,
      "ZP_EMPTY",
      /the observer of this layer's input has seen no values.*\(in layer "fc1", Linear\)/,
    );
  });

  it("need symmetric qint8 weights", () => {
    refuses(
      () =>
        convert(
          prepare(makeModel(), predefinedQConfigs.default_quint8_weight_qconfig).calibrate(batches),
        ),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /weights must be qint8 with zero points 0/,
    );
    refuses(
      () =>
        convert(prepare(makeModel(), predefinedQConfigs.default_debug_qconfig).calibrate(batches)),
      TypeError,
      "ZP_NO_QPARAMS",
      /RecordingObserver\.calculateQParams: .* \(in layer "fc1", Linear\)/,
    );
  });

  it("refuse zero points that are not codes, and name their owner", () => {
    const activation = MinMaxObserver.withArgs({ quantMin: 0, quantMax: 1000 });
    const qconfig = new QConfig({
      activation,
      weight: predefinedObservers.default_weight_observer,
    });
    const model = new Sequential(new Linear(tensor([[-1, -2]])));
    refuses(
      () => convert(prepare(model, qconfig).calibrate([tensor([[1, 1]])])),
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /zero point of this layer's output must be from 0 to 255, got 1000 of MinMaxObserver.*layer "0"/,
    );
  });

  it("recognize models and layers of another copy of the library", () => {
    const other = { typeName: "Sequential", forward: (x) => x };
    const got = "got a Sequential that this copy of zeropoint did not make";
    const refused = (work, message) => refuses(work, TypeError, "ZP_INVALID_MODEL", message);
    refused(
      () => prepare(other, predefinedQConfigs.default_qconfig),
      `prepare: model must be a Sequential, ${got}`,
    );
    refused(() => new Sequential([other]), new RegExp(`layers\\[0\\] must be a layer .*, ${got}$`));
    const own = prepare(new Sequential(), predefinedQConfigs.default_qconfig);
    refused(
      () => prepare(own, predefinedQConfigs.default_qconfig),
      /must be a Sequential, got a PreparedModel$/,
    );
  });

  it("of a Linear and its ReLU observe every batch twice, as PyTorch's fused modules do", () => {
    const activation = MovingAverageMinMaxObserver.withArgs({ averagingConstant: 0.5 });
    const qconfig = new QConfig({
      activation,
      weight: predefinedObservers.default_weight_observer,
    });
    const model = new Sequential(new Linear(tensor([[1]])), new ReLU());
    const prepared = prepare(model, qconfig).calibrate([1, 2, 3].map((x) => tensor([[x]])));
    assert.equal(prepared.observers[0].output.maxVal.data[0], 2.6875);
  });

  it("reach more than 20 dB with every observer that chooses a range", () => {
    for (const activation of [
      MinMaxObserver,
      MovingAverageMinMaxObserver.withArgs({ averagingConstant: 0.5 }),
      HistogramObserver,
    ]) {
      const qconfig = new QConfig({
        activation,
        weight: predefinedObservers.default_per_channel_weight_observer,
      });
      const quantized = convert(prepare(makeModel(), qconfig).calibrate([...batches, x]));
      assert.ok(quantizationError(makeModel().forward(x), quantized.forward(x), "sqnr") > 20);
      quantized.dispose();
    }
  });

  it("gives a row the same bits in a batch of several blocks, through runs of layers and ReLUs", () => {
    const features = 2048;
    const linear = (n, k) => new Linear(floats([n, k]));
    const models = [
      [linear(features, 6), new ReLU(), linear(5, features), linear(7, 5)],
      [linear(features, 6), linear(5, features), new ReLU(), new ReLU()],
      [linear(9, 6), new Tanh(), linear(9, 9), new ReLU(), new Tanh()],
    ];
    const rows = 150;
    const batch = floats([rows, 6]);
    for (const layers of models) {
      const prepared = prepare(new Sequential(layers), predefinedQConfigs.default_qconfig);
      prepared.forward(batch);
      const quantized = convert(prepared);
      const all = quantized.forward(batch);
      const n = all.shape[1];
      for (const row of [0, 63, 64, 127, 128, rows - 1]) {
        const one = quantized.forward(tensor(batch.data.slice(row * 6, row * 6 + 6), [1, 6]));
        sameFloats(one.data, all.data.slice(row * n, row * n + n));
      }
      // The report runs layer by layer.
      const sqnr = quantized.report(batch).layers.at(-1).outputSqnr;
      const expected = quantizationError(new Sequential(layers).forward(batch), all, "sqnr");
      assert.ok(Math.abs(sqnr - expected) < 1e-6, `${sqnr} ${expected}`);
      quantized.dispose();
    }
  });
});
