import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, linear, tensor } from "zeropoint";
import {
  convert,
  Embedding,
  getDefaultQConfig,
  HistogramObserver,
  Linear,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  predefinedObservers,
  predefinedQConfigs,
  prepare,
  QConfig,
  QConfigMapping,
  ReLU,
  Sequential,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { INSPECT, refuses, sameTensor } from "../support/asserts.mjs";
import { batches, makeModel, weights, x } from "../support/models.mjs";

await init();

describe("calibrate", () => {
  it("takes any iterable", () => {
    const seen = (given) =>
      JSON.stringify(
        prepare(makeModel(), predefinedQConfigs.default_qconfig).calibrate(given).observers,
      );
    const generator = function* () {
      yield* batches;
    };
    assert.equal(seen(new Set(batches)), seen(batches));
    assert.equal(seen(generator()), seen(batches));
  });

  const refused = {
    "a batch": x,
    "a batch without a shape": new Float32Array(8),
    nothing: undefined,
    "a text": "ab",
    "what comes later": (async function* () {})(),
  };
  for (const [what, value] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      const prepared = prepare(makeModel(), predefinedQConfigs.default_qconfig);
      refuses(
        () => prepared.calibrate(value),
        TypeError,
        "ZP_INVALID_TENSOR",
        /^PreparedModel\.calibrate: batches must be a list of tensors, got .*; forward takes one batch$/,
      );
    });
  }
});

describe("QConfigMapping", () => {
  it("applies to all layers of a nested model by its name, and to one of them by the full name", () => {
    const fc = () => new Linear(tensor([[1]]));
    const inner = new Sequential({ one: fc(), two: fc() });
    const model = new Sequential({ head: new Sequential({ inner }), last: fc() });
    const mapping = new QConfigMapping()
      .setModuleName("head", new WeightOnlyQConfig())
      .setModuleName("head.inner.two", null)
      .setModuleNameRegex("head.*", predefinedQConfigs.per_channel_dynamic_qconfig)
      .setGlobal(predefinedQConfigs.default_qconfig);
    const prepared = prepare(model, mapping);
    prepared.forward(tensor([[1]]));
    const { layers } = convert(prepared).report();
    const methods = layers.map(({ name, method }) => [name, method]);
    assert.deepEqual(methods, [
      ["head.inner.one", "weight-only"],
      ["head.inner.two", "float32"],
      ["last", "static"],
    ]);
    const unknown = new QConfigMapping().setModuleName("head.in", null);
    refuses(() => prepare(model, unknown), RangeError, "ZP_INVALID_MODEL", /no layer "head\.in"/);
  });

  it("prints its settings, in Node's console too", () => {
    const mapping = new QConfigMapping();
    assert.equal(String(mapping), "QConfigMapping(global: null)");
    mapping
      .setModuleName("head", null)
      .setModuleNameRegex("fc.*", new WeightOnlyQConfig({ bits: 3 }))
      .setObjectType(Linear, new QConfig({ activation: null, weight: null }));
    assert.equal(
      mapping[INSPECT](),
      "QConfigMapping(global: null, Linear: QConfig(activation=None, weight=None), " +
        '/^(?:fc.*)/: WeightOnlyQConfig({"bits":3}), head: null)',
    );
  });

  it("refuses a name that is not a string", () => {
    const message = "QConfigMapping.qconfigFor: name must be a string, got 3";
    refuses(() => new QConfigMapping().qconfigFor(3), TypeError, "ZP_INVALID_OPTION", message);
  });
});

describe("prepare", () => {
  it("computes what the model computes", () => {
    const model = makeModel();
    const prepared = prepare(model, predefinedQConfigs.default_qconfig);
    for (const batch of batches) sameTensor(prepared.forward(batch), model.forward(batch));
  });

  it("puts observers where floats are quantized, and at every static layer", () => {
    const prepared = prepare(makeModel(), predefinedQConfigs.default_qconfig);
    const roles = Object.fromEntries(
      Object.entries(prepared.observers).map(([name, observers]) => [name, Object.keys(observers)]),
    );
    // fc2 gets its codes through the ReLU; fc3 gets floats from tanh.
    assert.deepEqual(roles, {
      fc1: ["input", "output"],
      fc2: ["output"],
      fc3: ["input", "output"],
    });
  });

  it("shows observers their batches: a fused layer's after the ReLU", () => {
    const model = makeModel();
    for (const fuse of [true, false]) {
      const prepared = prepare(model, predefinedQConfigs.default_qconfig, { fuse }).calibrate(
        batches,
      );
      const input = new MinMaxObserver();
      const output = new MinMaxObserver();
      for (const batch of batches) {
        input.observe(batch);
        const y = linear(batch, weights.fc1, weights.bias1);
        output.observe(fuse ? new ReLU().forward(y) : y);
      }
      const { fc1 } = prepared.observers;
      assert.deepEqual(fc1.input.minVal, input.minVal);
      assert.deepEqual(fc1.input.maxVal, input.maxVal);
      assert.deepEqual(fc1.output.minVal, output.minVal);
      assert.deepEqual(fc1.output.maxVal, output.maxVal);
    }
  });

  it("makes new observers for every layer and every model", () => {
    const [one, other] = [1, 2].map(() => prepare(makeModel(), predefinedQConfigs.default_qconfig));
    one.forward(x);
    assert.ok(other.observers.fc1.output.isUnobserved);
    assert.notEqual(one.observers.fc1.output, one.observers.fc1.input);
  });

  it("gives observers whose state goes to JSON and back", () => {
    const prepared = prepare(makeModel(), getDefaultQConfig("x86")).calibrate(batches);
    const { output } = prepared.observers.fc1;
    const copy = HistogramObserver.fromJSON(JSON.parse(JSON.stringify(output)));
    assert.deepEqual(copy.calculateQParams(), output.calculateQParams());
  });

  it("prints the observers inside their layers", () => {
    const prepared = prepare(
      new Sequential({ fc: new Linear(tensor([[1]])) }),
      predefinedQConfigs.default_qconfig,
    );
    assert.equal(
      String(prepared),
      `PreparedModel(
  (fc): Linear(in_features=1, out_features=1, bias=False)(
    (input): MinMaxObserver(min_val=inf, max_val=-inf)
    (output): MinMaxObserver(min_val=inf, max_val=-inf)
  )
)`,
    );
  });

  const only = (layer) => new Sequential({ layer });
  const fc = new Linear(tensor([[1]]));
  const table = new Embedding(tensor([[1]]));
  const weight = predefinedObservers.default_per_channel_weight_observer;
  const refused = {
    "what is no model": [
      () => prepare([fc], predefinedQConfigs.default_qconfig),
      TypeError,
      "ZP_INVALID_MODEL",
      /model must be a Sequential, got \[a Linear\]/,
    ],
    "what is no QConfig": [
      () => prepare(only(fc), MinMaxObserver),
      TypeError,
      "ZP_INVALID_QCONFIG",
      "prepare: qconfig must be a QConfig, a WeightOnlyQConfig or a QConfigMapping, got a function",
    ],
    "null for all": [
      () => prepare(only(fc), null),
      TypeError,
      "ZP_INVALID_QCONFIG",
      /must be a QConfig, a WeightOnlyQConfig or a QConfigMapping, got null/,
    ],
    "a name that the model does not have": [
      () =>
        prepare(
          makeModel(),
          new QConfigMapping().setModuleName("fc4", predefinedQConfigs.default_qconfig),
        ),
      RangeError,
      "ZP_INVALID_MODEL",
      'prepare: the model has no layer "fc4", which the QConfigMapping names; it has fc1, relu, ' +
        "fc2, tanh, fc3",
    ],
    "QConfigs for training": [
      () => prepare(only(fc), predefinedQConfigs.default_qat_qconfig),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /quantization-aware training.* \(in layer "layer", Linear\)/,
    ],
    float16: [
      () => prepare(only(fc), predefinedQConfigs.float16_dynamic_qconfig),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /a placeholder for dynamic float16 activations is data only/,
    ],
    "activations of 32 bits": [
      () =>
        prepare(
          only(fc),
          new QConfig({ activation: MinMaxObserver.withArgs({ dtype: "qint32" }), weight }),
        ),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /activations of a static Linear must have dtype quint8 or qint8, got qint32/,
    ],
    "activations per channel": [
      () => prepare(only(fc), new QConfig({ activation: PerChannelMinMaxObserver, weight })),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /activations must have one scale/,
    ],
    "weights that nothing quantizes, before it is calibrated": [
      () => prepare(only(fc), new QConfig({ activation: MinMaxObserver, weight: null })),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /^prepare: weights must be quantized by an observer that chooses qparams, got null \(in layer/,
    ],
    "a static QConfig for an embedding, as PyTorch does": [
      () => prepare(only(table), predefinedQConfigs.default_qconfig),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /Embedding takes predefinedQConfigs.float_qparams_weight_only_qconfig/,
    ],
    "unknown options": [
      () => prepare(only(fc), predefinedQConfigs.default_qconfig, { inplace: true }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /has no "inplace"/,
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, ...expected));
  }
});

describe("layers with QConfigs of their own", () => {
  it("static, dynamic, weight-only and float32 in one model", () => {
    const mapping = new QConfigMapping()
      .setGlobal(predefinedQConfigs.default_per_channel_qconfig)
      .setModuleName("fc2", new WeightOnlyQConfig({ dtype: "int4", groupSize: 8 }))
      .setModuleNameRegex("fc3", predefinedQConfigs.per_channel_dynamic_qconfig);
    const model = makeModel();
    const quantized = convert(prepare(model, mapping).calibrate(batches));
    const report = quantized.report(x);
    assert.deepEqual(
      report.layers.map(({ name, type, method }) => [name, type, method]),
      [
        ["fc1", "Linear", "static"],
        ["relu", "ReLU", "float32"],
        ["fc2", "Linear", "weight-only"],
        ["tanh", "Tanh", "float32"],
        ["fc3", "Linear", "dynamic"],
      ],
    );
    // The codes of fc1, through the ReLU, become floats for fc2.
    const floatsOnly = convert(prepare(model, mapping.setModuleName("fc1", null)));
    assert.equal(floatsOnly.report().layers[0].method, "float32");
    assert.ok(report.outputSqnr > 15);
    quantized.dispose();
    floatsOnly.dispose();
  });
});
