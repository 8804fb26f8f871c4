// The eager workflow: layers, prepare, calibrate, convert, quantizeDynamic, reports.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  convert,
  create,
  defaultDebugQConfig,
  defaultDynamicQConfig,
  defaultPerChannelQConfig,
  defaultPerChannelSymmetricQNNPACKQConfig,
  defaultPerChannelWeightObserver,
  defaultQATQConfig,
  defaultQConfig,
  defaultQuint8WeightQConfig,
  defaultWeightObserver,
  dequantize,
  Embedding,
  float16DynamicQConfig,
  floatQParamsWeightOnlyQConfig,
  floatQParamsWeightOnlyQConfig4Bit,
  getDefaultQConfig,
  HistogramObserver,
  init,
  LayerNorm,
  Linear,
  linear,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  PerChannelMinMaxObserver,
  PlaceholderObserver,
  perChannelDynamicQConfig,
  prepare,
  QConfig,
  QConfigMapping,
  QuantizedLinear,
  quantizationError,
  quantize,
  quantizeDynamic,
  quantizePerChannel,
  quantizePerTensor,
  ReLU,
  Sequential,
  Sigmoid,
  Softmax,
  Tanh,
  tensor,
  WeightOnlyQConfig,
} from "zeropoint";
import { INSPECT, Random, refuses, rejects, sameFloats, sameTensor } from "./support.mjs";

await init();

const random = new Random(77);
const floats = (shape, deviation = 1) => {
  const size = shape.reduce((product, length) => product * length, 1);
  return tensor(random.normal(size, deviation), shape);
};

/** A model as people have them: three linear layers and what goes between. */
const weights = {
  fc1: floats([16, 8]),
  bias1: floats([16]),
  fc2: floats([12, 16]),
  fc3: floats([4, 12]),
  bias3: floats([4]),
};
const makeModel = () =>
  new Sequential({
    fc1: new Linear(weights.fc1, { bias: weights.bias1 }),
    relu: new ReLU(),
    fc2: new Linear(weights.fc2),
    tanh: new Tanh(),
    fc3: new Linear(weights.fc3, { bias: weights.bias3 }),
  });
const batches = Array.from({ length: 5 }, () => floats([6, 8]));
const x = floats([10, 8]);

describe("layers compute", () => {
  it("Linear: what linear computes", () => {
    const layer = new Linear(weights.fc1, { bias: weights.bias1 });
    sameTensor(layer.forward(x), linear(x, weights.fc1, weights.bias1));
    assert.deepEqual([layer.inFeatures, layer.outFeatures, layer.sizeInBytes], [8, 16, 4 * 144]);
  });

  it("ReLU: the positive part, NaN and -0 as they are", () => {
    const y = new ReLU().forward(Float32Array.of(-1, -0, 0, 2, NaN, Infinity, -Infinity));
    sameFloats(y.data, [0, -0, 0, 2, NaN, Infinity, 0]);
  });

  it("Sigmoid and Tanh: close to what they are called", () => {
    const values = Float32Array.of(-100, -1, 0, 1, 100);
    const sigmoid = new Sigmoid().forward(values).data;
    assert.deepEqual([sigmoid[0] < 1e-40, sigmoid[2], sigmoid[4]], [true, 0.5, 1]);
    assert.ok(Math.abs(sigmoid[3] - 0.7310585786300049) < 2 ** -24);
    const tanh = new Tanh().forward(values).data;
    assert.deepEqual([tanh[0], tanh[2], tanh[4]], [-1, 0, 1]);
    assert.ok(Math.abs(tanh[3] - 0.7615941559557649) < 2 ** -24);
  });

  it("Softmax: shares along an axis, of large values too", () => {
    const last = new Softmax().forward(
      tensor([
        [1000, 1000],
        [0, Math.log(3)],
      ]),
    );
    for (const [i, share] of [0.5, 0.5, 0.25, 0.75].entries()) {
      assert.ok(Math.abs(last.data[i] - share) < 2 ** -23);
    }
    const first = new Softmax({ axis: 0 }).forward(tensor([[1], [1]]));
    assert.deepEqual([...first.data], [0.5, 0.5]);
  });

  it("LayerNorm: mean 0 and variance 1 over the last axes", () => {
    const plain = new LayerNorm(2, { eps: 0 }).forward(tensor([[1, 3]]));
    assert.deepEqual([...plain.data], [-1, 1]);
    const affine = new LayerNorm([2, 1], {
      eps: 0,
      weight: tensor([[2], [3]]),
      bias: tensor([[10], [20]]),
    }).forward(tensor([[[1], [3]]]));
    assert.deepEqual([...affine.data], [8, 23]);
  });

  it("Embedding: rows by index", () => {
    const table = new Embedding(
      tensor([
        [1, 2],
        [3, 4],
        [5, 6],
      ]),
    );
    const y = table.forward({ data: Int32Array.of(2, 0), shape: [2, 1] });
    assert.deepEqual([...y.shape], [2, 1, 2]);
    assert.deepEqual([...y.data], [5, 6, 1, 2]);
  });

  it("Embedding: rows beyond what float32 counts, from a plain list", () => {
    const rows = 2 ** 24 + 2;
    const data = new Float32Array(rows);
    data[rows - 1] = 7;
    const table = new Embedding({ data, shape: [rows, 1] });
    assert.deepEqual([...table.forward({ data: [rows - 1], shape: [1] }).data], [7]);
  });

  it("nothing at once, whatever its shape", () => {
    const none = { data: new Float32Array(0), shape: [2 ** 32 - 1, 0] };
    for (const layer of [new Softmax(), new LayerNorm(0), new ReLU()]) {
      assert.deepEqual(layer.forward(none).shape, none.shape);
    }
    assert.deepEqual(new Softmax({ axis: 0 }).forward(none).shape, none.shape);
  });

  it("no weight with more rows than scales have room for, and no values", () => {
    for (const shape of [
      [2 ** 32 - 1, 0],
      [0, 2 ** 32 - 1],
    ]) {
      const none = { data: new Float32Array(0), shape };
      for (const make of [
        () => new Linear(none),
        () => new Embedding(none),
        () => new QuantizedLinear(none, { activations: "dynamic", axis: 0 }),
      ]) {
        refuses(make, RangeError, "ZP_SIZE_OVERFLOW", /has 4294967295 channels and no values$/);
      }
    }
  });

  it("copies of their parameters", () => {
    const weight = tensor([[1]]);
    const layer = new Linear(weight);
    weight.data[0] = 5;
    assert.equal(layer.forward(tensor([2])).data[0], 2);
  });

  const refused = {
    "a weight of one axis": [
      () => new Linear(tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "Linear: weight must have shape [outFeatures, inFeatures], got [2]",
    ],
    "a bias of another length": [
      () => new Linear(tensor([[1, 2]]), { bias: tensor([1, 2]) }),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "Linear: options.bias must have shape [1], got [2]",
    ],
    "an index beyond the table": [
      () => new Embedding(tensor([[1]])).forward(Int32Array.of(0, 1)),
      RangeError,
      "ZP_INVALID_TENSOR",
      "Embedding.forward: indices must be integers from 0 to 0, but value 1 is 1",
    ],
    "an index into no rows": [
      () => new Embedding(tensor([], [0, 1])).forward(Int32Array.of(0)),
      RangeError,
      "ZP_INVALID_TENSOR",
      "Embedding.forward: indices must be none, for there are no rows, but value 0 is 0",
    ],
    "half an index": [
      () => new Embedding(tensor([[1], [2]])).forward(tensor([0.5])),
      RangeError,
      "ZP_INVALID_TENSOR",
      /value 0 is 0\.5/,
    ],
    "an axis that is not there": [
      () => new Softmax({ axis: 2 }).forward(tensor([[1]])),
      RangeError,
      "ZP_INVALID_AXIS",
      "Softmax.forward: x must have axis 2, options.axis, got shape [1, 1]",
    ],
    "no axis to normalize": [
      () => new LayerNorm([]),
      RangeError,
      "ZP_INVALID_SHAPE",
      "LayerNorm: normalizedShape must have lengths, got []",
    ],
    "another shape to normalize": [
      () => new LayerNorm(3).forward(tensor([[1, 2]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "LayerNorm.forward: x must have [3] for its last axes, got shape [1, 2]",
    ],
    "unknown options": [
      () => new Linear(tensor([[1]]), { biass: tensor([1]) }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /did you mean bias/,
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`and refuse ${what}`, () => refuses(work, ...expected));
  }
});

describe("Sequential", () => {
  it("runs its layers and functions in order", () => {
    const double = (value) =>
      tensor(
        value.data.map((item) => 2 * item),
        value.shape,
      );
    const model = new Sequential([new Linear(tensor([[1, 1]])), double, new ReLU()]);
    assert.deepEqual([...model.forward(tensor([[1, 2]])).data], [6]);
    assert.deepEqual(
      model.layers.map(({ name, layer }) => [name, layer.typeName]),
      [
        ["0", "Linear"],
        ["1", "Function"],
        ["2", "ReLU"],
      ],
    );
  });

  it("takes layers themselves, as PyTorch does", () => {
    const layers = [new Linear(tensor([[1, 1]])), (value) => value, new ReLU()];
    assert.equal(String(new Sequential(...layers)), String(new Sequential(layers)));
    assert.equal(String(new Sequential(layers[0])), String(new Sequential([layers[0]])));
    assert.equal(String(new Sequential(layers[1])), String(new Sequential([layers[1]])));
    assert.equal(String(new Sequential()), "Sequential()");
  });

  it("takes what a function returns in any form of tensor", () => {
    const model = new Sequential([({ data }) => ({ data: [...data, 1], dims: [2] })]);
    const y = model.forward(Float32Array.of(5));
    assert.deepEqual([...y.data], [5, 1]);
    assert.deepEqual([...y.shape], [2]);
  });

  it("joins the names of models in models", () => {
    const head = new Sequential({ fc: new Linear(tensor([[1]])), out: new Softmax() });
    const model = new Sequential({ body: new ReLU(), head });
    assert.deepEqual(
      model.layers.map(({ name }) => name),
      ["body", "head.fc", "head.out"],
    );
    assert.equal(
      String(model),
      `Sequential(
  (body): ReLU()
  (head): Sequential(
    (fc): Linear(in_features=1, out_features=1, bias=False)
    (out): Softmax(dim=-1)
  )
)`,
    );
  });

  it("print in Node's console as they do as text, whatever becomes of them", () => {
    const model = makeModel();
    assert.equal(x[INSPECT](), String(x));
    const report = quantizeDynamic(model).report();
    assert.equal(report[INSPECT](), String(report));
    assert.equal(model[INSPECT](), String(model));
    const prepared = prepare(model, defaultQConfig);
    assert.equal(prepared[INSPECT](), String(prepared));
    prepared.forward(floats([2, 8]));
    const quantized = convert(prepared);
    assert.equal(quantized[INSPECT](), String(quantized));
  });

  it("take a layer's weight for what it is before its options", () => {
    refuses(
      () => new Linear(8, 16),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^Linear: weight must be .* got 8$/,
    );
  });

  it("says so once in the error's stack, which reaches to the caller", () => {
    const prepared = prepare(makeModel(), defaultQConfig).calibrate([floats([2, 8])]);
    for (const model of [makeModel(), prepared, convert(prepared)]) {
      const caller = () => model.forward(floats([2, 9]));
      assert.throws(caller, ({ stack }) => {
        // Firefox and Safari leave the message out of it.
        assert.ok(stack.split("(in layer").length <= 2, stack);
        assert.match(stack, /\bcaller\b/);
        return true;
      });
    }
  });

  it("says in errors which layer it was", () => {
    refuses(
      () => makeModel().forward(floats([2, 9])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "Linear.forward: input must have 8 values on its last axis, as weight of shape [16, 8] has, " +
        'got shape [2, 9] (in layer "fc1", Linear)',
    );
    const broken = new Sequential({ mine: () => "no tensor" });
    refuses(
      () => broken.forward(x),
      TypeError,
      "ZP_INVALID_TENSOR",
      /what the function returns must be a tensor.* \(in layer "mine", Function\)$/,
    );
    const waiting = new Sequential({ mine: async (input) => input });
    refuses(
      () => waiting.forward(x),
      TypeError,
      "ZP_INVALID_MODEL",
      "Function.forward: layers are synchronous, and the function returns a Promise " +
        '(in layer "mine", Function)',
    );
  });

  it("lets a function's own errors pass as they are", () => {
    const error = new Error("mine");
    const model = new Sequential([
      () => {
        throw error;
      },
    ]);
    assert.throws(() => model.forward(x), error);
    assert.equal(error.message, "mine");
  });

  const refused = {
    "a class": [
      () => new Sequential([ReLU]),
      /layers\[0\] must be a layer .* got a class; new makes/,
    ],
    "no layer": [() => new Sequential({ fc: 3 }), /layers\.fc must be a layer .* got 3/],
    "a dot in a name": [() => new Sequential({ "a.b": new ReLU() }), /got "a\.b"/],
    "a Map": [
      () => new Sequential(new Map([["fc", new ReLU()]])),
      /must be an object.* got a Map$/,
    ],
    "a Promise of layers": [() => new Sequential(Promise.resolve([])), /is await missing/],
    "a quantized model": [
      () => new Sequential(quantizeDynamic(makeModel())),
      /got a QuantizedModel$/,
    ],
    "a hole": [() => new Sequential(new Array(1)), /layers\[0\] .* got undefined$/],
    "no layers": [
      () => new Sequential(undefined),
      /must be an object, a list or layers .* undefined/,
    ],
    "a list beside a layer": [
      () => new Sequential([new ReLU()], new ReLU()),
      /layers\[0\] must be a layer .* got \[a ReLU\]$/,
    ],
  };
  for (const [what, [work, message]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, TypeError, "ZP_INVALID_MODEL", message));
  }
});

describe("an observer that gives qparams for other channels than the weight has", () => {
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

describe("a subclass with a forward of its own", () => {
  const twice = (y) =>
    tensor(
      y.data.map((value) => 2 * value),
      y.shape,
    );
  class Twice extends Linear {
    forward(x) {
      return twice(super.forward(x));
    }
  }
  class TwiceEmbedding extends Embedding {
    forward(x) {
      return twice(super.forward(x));
    }
  }
  class Residual extends Sequential {
    forward(x) {
      const y = super.forward(x);
      return tensor(
        y.data.map((value, i) => x.data[i] + value),
        y.shape,
      );
    }
  }
  class Negative extends ReLU {
    forward(x) {
      return tensor(
        super.forward(x).data.map((value) => -value),
        x.shape,
      );
    }
  }
  const one = tensor([[1, 2]]);
  const identity = tensor([
    [1, 0],
    [0, 1],
  ]);
  const makeEach = {
    Linear: () => new Twice(identity),
    Sequential: () => new Residual({ same: new Linear(identity) }),
    "Sequential in one": () => new Sequential({ in: new Residual([(x) => x]) }),
  };

  it("is given the very input on either thread", async () => {
    const seen = [];
    class Looking extends ReLU {
      forward(x) {
        seen.push(x);
        return super.forward(x);
      }
    }
    new Looking().forward(one);
    await new Looking().forwardAsync(one);
    await new Sequential([new Looking()]).forwardAsync(one);
    assert.deepEqual(
      seen.map((x) => x === one),
      [true, true, true],
    );
  });

  for (const [what, make] of Object.entries(makeEach)) {
    it(`keeps it wherever it runs: ${what}`, async () => {
      const layer = make();
      const model = new Sequential({ layer });
      const mapping = new QConfigMapping().setGlobal(defaultQConfig).setObjectType("Linear", null);
      for (const run of [
        layer,
        model,
        prepare(model, defaultQConfig),
        quantizeDynamic(model),
        convert(prepare(model, mapping)),
      ]) {
        assert.deepEqual([...run.forward(one).data], [2, 4]);
        assert.deepEqual([...(await run.forwardAsync(one)).data], [2, 4]);
      }
    });
  }

  it("keeps that of an Embedding", () => {
    const model = new Sequential([new TwiceEmbedding(identity)]);
    const quantized = quantizeDynamic(
      model,
      new QConfigMapping().setGlobal(floatQParamsWeightOnlyQConfig),
    );
    assert.deepEqual([...quantized.forward(Int32Array.of(1)).data], [0, 2]);
  });

  it("lets no ReLU of the kind be fused, nor run on codes", () => {
    const model = new Sequential({ fc: new Linear(identity), negative: new Negative() });
    for (const fuse of [true, false]) {
      const quantized = convert(prepare(model, defaultQConfig, { fuse }).calibrate([one]));
      const { data } = quantized.forward(one);
      assert.ok(data[0] < -0.9 && data[1] < -1.9, String(data));
      quantized.dispose();
    }
  });

  it("finds nothing else to change in an elementwise layer, which codes could pass by", () => {
    class Six extends ReLU {
      map(value) {
        return Math.min(6, Math.max(0, value));
      }
    }
    assert.deepEqual([...new Six().forward(tensor([-1, 9])).data], [0, 9]);
  });

  it("runs in pieces only what is known to be free to be cut", async () => {
    class Shares extends Sigmoid {
      forward(x) {
        const { data, shape } = super.forward(x);
        return tensor(
          data.map((value, i) => value / data[data.length - 1 - i]),
          shape,
        );
      }
    }
    const long = floats([300, 1000]);
    sameTensor(await new Shares().forwardAsync(long), new Shares().forward(long));
  });

  it("leaves a forwardAsync that goes with it alone", async () => {
    class Both extends Twice {
      async forwardAsync(x) {
        return twice(await super.forwardAsync(x));
      }
    }
    class BothResidual extends Residual {
      async forwardAsync(x) {
        const y = await super.forwardAsync(x);
        return tensor(
          y.data.map((value, i) => x.data[i] + value),
          y.shape,
        );
      }
    }
    for (const layer of [new Both(identity), new BothResidual([(x) => x])]) {
      assert.deepEqual([...(await layer.forwardAsync(one)).data], [2, 4]);
    }
  });

  it("is refused where it alone is to be quantized, and for a whole model", () => {
    const residual = makeEach.Sequential();
    for (const layer of [makeEach.Linear(), residual, new TwiceEmbedding(identity)]) {
      const named = new QConfigMapping().setModuleName("it", new WeightOnlyQConfig());
      refuses(
        () => quantizeDynamic(new Sequential({ it: layer }), named),
        RangeError,
        "ZP_UNSUPPORTED_QCONFIG",
        /^quantizeDynamic: .* forward of its own .* \(in layer "it", /,
      );
    }
    refuses(
      () => prepare(residual, defaultQConfig),
      TypeError,
      "ZP_INVALID_MODEL",
      "prepare: model must be a Sequential, got one with a forward of its own",
    );
  });
});

describe("a weight that cannot be quantized", () => {
  const bad = new Sequential({ fc: new Linear(tensor([[NaN, 1]])) });
  const where = /MinMaxObserver.* \(x is the weight\) \(in layer "fc", Linear\)$/;
  it("is named, however it is quantized", () => {
    refuses(() => quantizeDynamic(bad), RangeError, "ZP_NON_FINITE", where);
    const groups = new WeightOnlyQConfig({ groupSize: 3 });
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
    new QConfig({ activation: defaultDynamicQConfig.activation, weight: observer(chAxis) });

  it("needs an axis that it has", () => {
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

describe("a model without layers", () => {
  it("speaks of itself", async () => {
    const none = new Sequential({});
    for (const [name, model] of Object.entries({
      Sequential: none,
      PreparedModel: prepare(none, defaultQConfig),
      QuantizedModel: quantizeDynamic(none),
    })) {
      const message = new RegExp(`^${name}\\.forward: x must be a tensor`);
      refuses(() => model.forward("x"), TypeError, "ZP_INVALID_TENSOR", message);
      await rejects(model.forwardAsync("x"), TypeError, "ZP_INVALID_TENSOR", message);
    }
  });
});

describe("calibrate", () => {
  it("takes whatever can be iterated", () => {
    const seen = (given) =>
      JSON.stringify(prepare(makeModel(), defaultQConfig).calibrate(given).observers);
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
      const prepared = prepare(makeModel(), defaultQConfig);
      refuses(
        () => prepared.calibrate(value),
        TypeError,
        "ZP_INVALID_TENSOR",
        /^PreparedModel\.calibrate: batches must be a list of tensors, got .*; forward and/,
      );
    });
  }
});

describe("QConfigMapping", () => {
  it("means all layers of a model in the model by its name, and one of them by its own", () => {
    const fc = () => new Linear(tensor([[1]]));
    const inner = new Sequential({ one: fc(), two: fc() });
    const model = new Sequential({ head: new Sequential({ inner }), last: fc() });
    const mapping = new QConfigMapping()
      .setModuleName("head", new WeightOnlyQConfig())
      .setModuleName("head.inner.two", null)
      .setModuleNameRegex("head.*", perChannelDynamicQConfig)
      .setGlobal(defaultQConfig);
    const plans = prepare(model, mapping).steps.map(({ name, plan }) => [name, plan.method]);
    assert.deepEqual(plans, [
      ["head.inner.one", "weight-only"],
      ["head.inner.two", "float32"],
      ["last", "static"],
    ]);
    const unknown = new QConfigMapping().setModuleName("head.in", null);
    refuses(() => prepare(model, unknown), RangeError, "ZP_INVALID_MODEL", /no layer "head\.in"/);
  });

  it("prints what is said, in Node's console, too", () => {
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

  it("refuses a name that is none", () => {
    const message = "QConfigMapping.qconfigFor: name must be a string, got 3";
    refuses(() => new QConfigMapping().qconfigFor(3), TypeError, "ZP_INVALID_OPTION", message);
  });
});

describe("prepare", () => {
  it("computes what the model computes", () => {
    const model = makeModel();
    const prepared = prepare(model, defaultQConfig);
    for (const batch of batches) sameTensor(prepared.forward(batch), model.forward(batch));
  });

  it("puts observers where floats become codes, and at every static layer", () => {
    const prepared = prepare(makeModel(), defaultQConfig);
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

  it("lets them see their batches: a fused layer's after the ReLU", () => {
    const model = makeModel();
    for (const fuse of [true, false]) {
      const prepared = prepare(model, defaultQConfig, { fuse }).calibrate(batches);
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
    const [one, other] = [1, 2].map(() => prepare(makeModel(), defaultQConfig));
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
    const prepared = prepare(new Sequential({ fc: new Linear(tensor([[1]])) }), defaultQConfig);
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
  const weight = defaultPerChannelWeightObserver;
  const refused = {
    "what is no model": [
      () => prepare([fc], defaultQConfig),
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
      () => prepare(makeModel(), new QConfigMapping().setModuleName("fc4", defaultQConfig)),
      RangeError,
      "ZP_INVALID_MODEL",
      'prepare: the model has no layer "fc4", which the QConfigMapping names; it has fc1, relu, ' +
        "fc2, tanh, fc3",
    ],
    "QConfigs for training": [
      () => prepare(only(fc), defaultQATQConfig),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /quantization-aware training.* \(in layer "layer", Linear\)/,
    ],
    float16: [
      () => prepare(only(fc), float16DynamicQConfig),
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
      () => prepare(only(table), defaultQConfig),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /Embedding takes floatQParamsWeightOnlyQConfig/,
    ],
    "unknown options": [
      () => prepare(only(fc), defaultQConfig, { inplace: true }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /has no "inplace"/,
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(work, ...expected));
  }
});

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

  for (const [name, qconfig, perChannel] of [
    ["defaultQConfig", defaultQConfig, false],
    ["defaultPerChannelQConfig", defaultPerChannelQConfig, true],
    ['getDefaultQConfig("x86")', getDefaultQConfig("x86"), true],
  ]) {
    it(`follow the formula, layer after layer: ${name}`, () => {
      const model = makeModel();
      const prepared = prepare(model, qconfig).calibrate(batches);
      const quantized = convert(prepared);
      const { fc1, fc2, fc3 } = prepared.observers;
      const [in1, out1, out2] = [fc1.input, fc1.output, fc2.output].map((o) => qparamsOf(o));
      const q1 = quantizedWeight(weights.fc1, perChannel);
      const q2 = quantizedWeight(weights.fc2, perChannel);
      const q3 = quantizedWeight(weights.fc3, perChannel);

      const codes = quantizePerTensor(x, in1.scale, in1.zeroPoint, "quint8").data;
      const hidden = staticLinear(codes, 10, in1, q1, weights.bias1, out1).map((code) =>
        Math.max(code, out1.zeroPoint),
      );
      const codes2 = staticLinear(hidden, 10, out1, q2, undefined, out2);
      const floats2 = dequantize({
        data: codes2,
        shape: [10, 12],
        dtype: "quint8",
        scale: out2.scale,
        zeroPoint: out2.zeroPoint,
      });
      const [in3, out3] = [fc3.input, fc3.output].map((observer) => qparamsOf(observer));
      const into3 = quantizePerTensor(
        new Tanh().forward(floats2),
        in3.scale,
        in3.zeroPoint,
        "quint8",
      );
      const codes3 = staticLinear(into3.data, 10, in3, q3, weights.bias3, out3);
      const y = quantized.forward(x);
      assert.deepEqual([...y.shape], [10, 4]);
      for (let i = 0; i < codes3.length; i++) {
        const steps = (codes3[i] - out3.zeroPoint) * Math.fround(out3.scale);
        assert.equal(y.data[i], Math.fround(steps), `value ${i}`);
      }
      quantized.dispose();
    });
  }

  it("keep qint8 activations by moving them up by 128, which changes nothing", () => {
    const model = new Sequential({ fc: new Linear(weights.fc1, { bias: weights.bias1 }) });
    const prepared = prepare(model, defaultPerChannelSymmetricQNNPACKQConfig).calibrate(batches);
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

  it("take inputs of any number of axes, and none without rows", () => {
    const quantized = convert(prepare(makeModel(), defaultQConfig).calibrate(batches));
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

  it("add a bias that is far from what their weights do, to outputs that hardly depend on inputs", () => {
    for (const weight of [0, 1e-6, 1e-5]) {
      const model = new Sequential(new Linear(tensor([[weight], [1]]), { bias: tensor([5, 0]) }));
      const prepared = prepare(model, defaultPerChannelQConfig).calibrate([tensor([[0], [1]])]);
      const quantized = convert(prepared);
      const [first, second] = quantized.forward(tensor([[1]])).data;
      assert.ok(Math.abs(first - 5) < 0.02, `${first}`);
      assert.ok(Math.abs(second - 1) < 0.02, `${second}`);
      quantized.dispose();
    }
  });

  it("need calibration", () => {
    refuses(
      () => convert(prepare(makeModel(), defaultQConfig)),
      RangeError,
      "ZP_EMPTY",
      /the observer of this layer's input has seen no values.*\(in layer "fc1", Linear\)/,
    );
  });

  it("need symmetric qint8 weights", () => {
    refuses(
      () => convert(prepare(makeModel(), defaultQuint8WeightQConfig).calibrate(batches)),
      RangeError,
      "ZP_UNSUPPORTED_QCONFIG",
      /weights must be qint8 with zero points 0/,
    );
    refuses(
      () => convert(prepare(makeModel(), defaultDebugQConfig).calibrate(batches)),
      TypeError,
      "ZP_NO_QPARAMS",
      /RecordingObserver\.calculateQParams: .* \(in layer "fc1", Linear\)/,
    );
  });

  it("refuse zero points that are no codes, and say whose they are", () => {
    const activation = MinMaxObserver.withArgs({ quantMin: 0, quantMax: 1000 });
    const qconfig = new QConfig({ activation, weight: defaultWeightObserver });
    const model = new Sequential(new Linear(tensor([[-1, -2]])));
    refuses(
      () => convert(prepare(model, qconfig).calibrate([tensor([[1, 1]])])),
      RangeError,
      "ZP_INVALID_ZERO_POINT",
      /zero point of this layer's output must be from 0 to 255, got 1000 of MinMaxObserver.*layer "0"/,
    );
  });

  it("know models and layers of another copy of the library, as a page may load it twice", () => {
    const other = { typeName: "Sequential", forward: (x) => x };
    const got = "got a Sequential that this copy of zeropoint did not make";
    const refused = (work, message) => refuses(work, TypeError, "ZP_INVALID_MODEL", message);
    refused(() => prepare(other, defaultQConfig), `prepare: model must be a Sequential, ${got}`);
    refused(() => new Sequential([other]), new RegExp(`layers\\[0\\] must be a layer .*, ${got}$`));
    const own = prepare(new Sequential(), defaultQConfig);
    refused(() => prepare(own, defaultQConfig), /must be a Sequential, got a PreparedModel$/);
  });

  it("of a Linear and its ReLU observe every batch twice, as PyTorch's fused modules do", () => {
    const activation = MovingAverageMinMaxObserver.withArgs({ averagingConstant: 0.5 });
    const qconfig = new QConfig({ activation, weight: defaultWeightObserver });
    const model = new Sequential(new Linear(tensor([[1]])), new ReLU());
    const prepared = prepare(model, qconfig).calibrate([1, 2, 3].map((x) => tensor([[x]])));
    assert.equal(prepared.observers[0].output.maxVal.data[0], 2.6875);
  });

  it("come out alike for every observer that chooses well", () => {
    for (const activation of [
      MinMaxObserver,
      MovingAverageMinMaxObserver.withArgs({ averagingConstant: 0.5 }),
      HistogramObserver,
    ]) {
      const qconfig = new QConfig({ activation, weight: defaultPerChannelWeightObserver });
      const quantized = convert(prepare(makeModel(), qconfig).calibrate([...batches, x]));
      assert.ok(quantizationError(makeModel().forward(x), quantized.forward(x), "sqnr") > 20);
      quantized.dispose();
    }
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
      [defaultDynamicQConfig, undefined],
      [perChannelDynamicQConfig, 0],
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
      () => quantizeDynamic(makeModel(), defaultQConfig),
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

describe("embeddings", () => {
  const table = floats([6, 8]);
  const indices = { data: Int32Array.of(5, 0, 5, 3), shape: [2, 2] };
  const model = new Sequential({ tokens: new Embedding(table) });

  const rowsOf = ({ data }) => {
    const out = new Float32Array(4 * 8);
    indices.data.forEach((row, i) => {
      out.set(data.subarray(row * 8, row * 8 + 8), i * 8);
    });
    return out;
  };

  it("are quantized by rows with floating zero points, as in PyTorch", () => {
    const mapping = new QConfigMapping().setObjectType(Embedding, floatQParamsWeightOnlyQConfig);
    const quantized = quantizeDynamic(model, mapping);
    const observer = new PerChannelMinMaxObserver({ qscheme: "per_channel_affine_float_qparams" });
    observer.observe(table);
    const { scale, zeroPoint } = observer.calculateQParams();
    const q = quantizePerChannel(table, scale, zeroPoint, 0, "quint8");
    const y = quantized.forward(indices);
    assert.deepEqual([...y.shape], [2, 2, 8]);
    const expected = Float32Array.from(q.data, (code, i) => {
      const row = Math.floor(i / 8);
      return scale.data[row] * code - Math.fround(scale.data[row] * zeroPoint.data[row]);
    });
    sameFloats(y.data, rowsOf({ data: expected }));
    assert.equal(quantized.sizeInBytes, 48 + 6 * 8);
  });

  it("of 8 bits come out with the bits of torch.ops.quantized.embedding_byte", () => {
    const model = new Sequential(new Embedding(tensor([[0.1, 0.2, 0.35, 1.07]])));
    const mapping = new QConfigMapping().setGlobal(floatQParamsWeightOnlyQConfig);
    const { data } = quantizeDynamic(model, mapping).forward(tensor([0]));
    // dequantize() of the same weight gives 0.1989019513130188 and 0.35105881094932556.
    const expected = [
      0.10000000149011612, 0.19890196621418, 0.35105884075164795, 1.0700000524520874,
    ];
    assert.deepEqual([...data], expected);
  });

  it("of 4 bits come out with the bits of torch.ops.quantized.embedding_4bit, and not beyond float16", () => {
    const mapping = new QConfigMapping().setGlobal(floatQParamsWeightOnlyQConfig4Bit);
    const look = (...row) => {
      const model = new Sequential(new Embedding(tensor([row])));
      return [...quantizeDynamic(model, mapping).forward(tensor([0])).data];
    };
    assert.deepEqual(
      look(0.1, 0.2, 0.35, 1.07),
      [0.0999755859375, 0.229248046875, 0.3585205078125, 1.06951904296875],
    );
    // A scale among float16's subnormal numbers.
    assert.deepEqual(look(-1e-6, 2e-6), [-1.0132789611816406e-6, 1.6689300537109375e-6]);
    assert.deepEqual(look(-1e6, 1e6), [Number.NaN, Number.NaN]);
  });

  it("in 4 bits use 16 codes", () => {
    const mapping = new QConfigMapping().setGlobal(floatQParamsWeightOnlyQConfig4Bit);
    const quantized = quantizeDynamic(model, mapping);
    const options = { dtype: "quint4x2", qscheme: "per_channel_affine_float_qparams" };
    const observer = new PerChannelMinMaxObserver(options);
    observer.observe(table);
    const { scale, zeroPoint } = observer.calculateQParams();
    const q = quantizePerChannel(table, scale, zeroPoint, 0, "quint8");
    const codes = q.data.map((code) => Math.min(code, 15));
    assert.ok(new Set(codes).size > 8);
    const { data } = quantized.forward(indices);
    const [exact, steps] = [rowsOf(dequantize({ ...q, data: codes })), rowsOf(q)];
    // The scale and the bias of a row are float16: 11 digits.
    data.forEach((value, i) => {
      const row = indices.data[Math.floor(i / 8)];
      const bias = scale.data[row] * zeroPoint.data[row];
      const least = scale.data[row] * steps[i] + Math.abs(bias);
      assert.ok(Math.abs(value - exact[i]) <= least * 2 ** -11, `value ${i}`);
    });
    assert.equal(quantized.sizeInBytes, 24 + 6 * 4);
    assert.match(String(quantized), /QuantizedEmbedding\(num_embeddings=6, .*quint4x2,/);
  });

  for (const options of [{}, { axis: 0 }, { axis: 1, dtype: "int4" }, { groupSize: 4 }]) {
    it(`by quantize: ${JSON.stringify(options)}`, () => {
      const mapping = new QConfigMapping().setGlobal(new WeightOnlyQConfig(options));
      const quantized = quantizeDynamic(model, mapping);
      sameFloats(quantized.forward(indices).data, rowsOf(dequantize(quantize(table, options))));
    });
  }

  it("are looked up all at once: many rows cost little more than their values", () => {
    const [rows, columns] = [4000, 16];
    const large = floats([rows, columns]);
    const all = Int32Array.from({ length: rows }, (_, i) => i);
    for (const options of [{}, { axis: 0 }, { groupSize: 4 }]) {
      const qconfig = new QConfigMapping().setGlobal(new WeightOnlyQConfig(options));
      const quantized = quantizeDynamic(new Sequential([new Embedding(large)]), qconfig);
      const q = quantize(large, options);
      const time = (work) => {
        const times = Array.from({ length: 5 }, () => {
          const start = performance.now();
          work();
          return performance.now() - start;
        });
        return Math.min(...times);
      };
      // Row by row took over 40 times as long.
      const [asked, whole] = [() => quantized.forward(all), () => dequantize(q)].map(time);
      assert.ok(asked < 15 * whole + 2, `${asked} ms beside ${whole} ms`);
      sameTensor(quantized.forward(all), dequantize(q));
      assert.deepEqual([...quantized.forward(new Int32Array(0)).shape], [0, columns]);
    }
  });

  it("refuse indices that are none", () => {
    const mapping = new QConfigMapping().setObjectType("Embedding", new WeightOnlyQConfig());
    const quantized = quantizeDynamic(model, mapping);
    refuses(
      () => quantized.forward(Int32Array.of(6)),
      RangeError,
      "ZP_INVALID_TENSOR",
      /indices must be integers from 0 to 5, but value 0 is 6 \(in layer "tokens", Embedding\)/,
    );
  });
});

describe("layers that choose for themselves", () => {
  it("static, dynamic, weight-only and float32 in one model", () => {
    const mapping = new QConfigMapping()
      .setGlobal(defaultPerChannelQConfig)
      .setModuleName("fc2", new WeightOnlyQConfig({ dtype: "int4", groupSize: 8 }))
      .setModuleNameRegex("fc3", perChannelDynamicQConfig);
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

describe("report", () => {
  const model = makeModel();
  const quantized = convert(prepare(model, defaultPerChannelQConfig).calibrate(batches));
  const report = quantized.report(x);

  it("counts bytes: codes, scales, int32 biases, qparams of activations", () => {
    const [fc1, relu, fc2, tanh, fc3] = report.layers;
    assert.equal(fc1.sizeInBytes, 128 + 4 * 16 + 4 * 16 + 24);
    assert.equal(fc2.sizeInBytes, 192 + 4 * 12 + 12);
    assert.equal(fc3.sizeInBytes, 48 + 4 * 4 + 4 * 4 + 24);
    assert.equal(relu.sizeInBytes + tanh.sizeInBytes, 0);
    assert.equal(report.sizeInBytes, fc1.sizeInBytes + fc2.sizeInBytes + fc3.sizeInBytes);
    assert.equal(report.sizeInBytes, quantized.sizeInBytes);
    assert.equal(report.floatSizeInBytes, 4 * (128 + 16 + 192 + 48 + 4));
    assert.equal(report.floatSizeInBytes, model.sizeInBytes);
  });

  it("measures weights against the float weights", () => {
    const observer = new PerChannelMinMaxObserver({
      dtype: "qint8",
      qscheme: "per_channel_symmetric",
    });
    observer.observe(weights.fc2);
    const { scale, zeroPoint } = observer.calculateQParams();
    const q = quantizePerChannel(weights.fc2, scale, zeroPoint, 0, "qint8");
    const expected = quantizationError(weights.fc2, dequantize(q), "sqnr");
    assert.ok(Math.abs(report.layers[2].weightSqnr - expected) < 1e-9);
    assert.equal(report.layers[1].weightSqnr, undefined);
  });

  it("measures outputs against the float model's, those of fused layers after the ReLU", () => {
    const [fc1, relu, , , fc3] = report.layers;
    assert.equal(fc1.outputSqnr, relu.outputSqnr);
    const expected = quantizationError(model.forward(x), quantized.forward(x), "sqnr");
    assert.ok(Math.abs(fc3.outputSqnr - expected) < 1e-9);
    assert.equal(report.outputSqnr, fc3.outputSqnr);
    assert.ok(fc1.outputSqnr > 25 && fc3.outputSqnr > 25, String(report));
  });

  it("joins several inputs, and needs none", () => {
    const halves = [x.data.subarray(0, 40), x.data.subarray(40)].map((data) =>
      tensor(data, [5, 8]),
    );
    const joined = quantized.report(halves);
    assert.ok(Math.abs(joined.outputSqnr - report.outputSqnr) < 1e-9);
    assert.equal(quantized.report().outputSqnr, undefined);
  });

  it("is exact where nothing is quantized", () => {
    const untouched = convert(prepare(model, new QConfigMapping()));
    assert.equal(untouched.report(x).outputSqnr, Infinity);
    assert.equal(untouched.sizeInBytes, model.sizeInBytes);
  });

  it("prints an SQNR that is no finite number as what it is, and only Infinity as exact", () => {
    const printed = (weight, x) => {
      const layers = new Sequential([new Linear(tensor([weight]))]);
      const report = quantizeDynamic(layers, new WeightOnlyQConfig()).report(tensor([x]));
      return String(report).split("\n").at(-1).split(/ {2,}/).at(-1);
    };
    assert.equal(printed([1, 1], [1, -1]), "exact");
    // 63.5 steps become 64: an output of 0 becomes noise alone.
    assert.equal(printed([1, 0.5], [1, -2]), "-Infinity dB");
    assert.equal(printed([1, 0.5], [1, NaN]), "NaN dB");
  });

  it("prints as a table", () => {
    const small = new Sequential({ fc: new Linear(tensor([[1, 0.5]])), relu: new ReLU() });
    const table = String(quantizeDynamic(small).report(tensor([[1, 1]])));
    assert.equal(
      table,
      `layer  type    method   bytes  of  weights  outputs
fc     Linear  dynamic      6   8  ${report0(small)}
relu   ReLU    float32      0   0        -  ${report1(small)}
all                         6   8        -  ${report1(small)}`,
    );
  });

  const decibels = (value) => `${value.toFixed(1)} dB`.padStart(7);
  const report0 = (small) => {
    const { layers } = quantizeDynamic(small).report(tensor([[1, 1]]));
    return `${decibels(layers[0].weightSqnr)}  ${decibels(layers[0].outputSqnr)}`;
  };
  const report1 = (small) => decibels(quantizeDynamic(small).report(tensor([[1, 1]])).outputSqnr);
});

describe("what a layer throws", () => {
  it("is passed on if it is no error at all", () => {
    for (const value of [null, undefined, "text"]) {
      const thrower = () => {
        throw value;
      };
      let thrown = "nothing";
      try {
        new Sequential([thrower]).forward(x);
      } catch (error) {
        thrown = error;
      }
      assert.equal(thrown, value);
    }
  });
});

describe("QuantizedModel", () => {
  it("prints how weights are quantized, of a single output too", () => {
    const model = new Sequential(new Linear(tensor([[1, 2]])));
    const text = (qconfig) => String(quantizeDynamic(model, qconfig));
    assert.match(text(perChannelDynamicQConfig), /qscheme=torch\.per_channel_affine\)/);
    assert.match(text(defaultDynamicQConfig), /qscheme=torch\.per_tensor_affine\)/);
  });

  it("prints its layers in the manner of PyTorch", () => {
    const model = new Sequential({ a: new Linear(tensor([[1]])), r: new ReLU() });
    const quantized = convert(prepare(model, defaultQConfig).calibrate([tensor([[0], [1.27]])]));
    assert.equal(
      String(quantized),
      `QuantizedModel(
  (a): QuantizedLinearReLU(in_features=1, out_features=1, scale=0.009999999776482582, ` +
        `zero_point=0, qscheme=torch.per_tensor_affine)
  (r): ReLU()
)`,
    );
    assert.match(
      String(quantizeDynamic(model)),
      /\(a\): DynamicQuantizedLinear\(in_features=1, out_features=1, dtype=torch\.qint8, qscheme=/,
    );
  });

  it("leaves the float model as it was", () => {
    const model = makeModel();
    const before = model.forward(x);
    const quantized = convert(prepare(model, defaultQConfig).calibrate(batches));
    quantized.forward(x);
    sameTensor(model.forward(x), before);
    assert.equal(quantized.model, model);
    quantized.dispose();
    sameTensor(model.forward(x), before);
  });

  it("goes on when its instance was disposed of, however it computes", async () => {
    const table = tensor([
      [1, 2],
      [3, 4],
    ]);
    const qconfigs = {
      static: defaultQConfig,
      dynamic: perChannelDynamicQConfig,
      "weight-only": new WeightOnlyQConfig({ axis: 0 }),
    };
    for (const [method, qconfig] of Object.entries(qconfigs)) {
      const zp = await create();
      const float = new zp.Sequential({ fc: new zp.Linear(weights.fc1), relu: new zp.ReLU() });
      const prepared = zp.prepare(float, qconfig).calibrate([x]);
      const quantized = zp.convert(prepared);
      const [expected, report] = [quantized.forward(x), String(quantized.report(x))];
      const embedding = zp.quantizeDynamic(
        new zp.Sequential(new zp.Embedding(table)),
        new QConfigMapping().setObjectType(Embedding, new WeightOnlyQConfig()),
      );
      zp.dispose();
      sameTensor(quantized.forward(x), expected, method);
      sameTensor(await quantized.forwardAsync(x), expected, method);
      assert.equal(String(quantized.report(x)), report);
      assert.equal(String(await quantized.reportAsync(x)), report);
      assert.equal(embedding.forward(Int32Array.of(1)).data.length, 2);
      sameTensor(convert(prepared).forward(x), expected, method);
    }
  });

  it("cannot be used after dispose(), which may be called again", () => {
    for (const quantized of [
      quantizeDynamic(makeModel()),
      quantizeDynamic(makeModel(), new WeightOnlyQConfig()),
      convert(prepare(makeModel(), defaultQConfig).calibrate(batches)),
    ]) {
      quantized.dispose();
      quantized.dispose();
      const message = "QuantizedModel.forward: the model is disposed and cannot be used any more";
      refuses(() => quantized.forward(x), TypeError, "ZP_DISPOSED", message);
    }
  });

  it("cannot be used after dispose() without a layer that has memory to free, either", async () => {
    const table = new Sequential(new Embedding(tensor([[1, 2]])), new ReLU());
    const quantized = quantizeDynamic(table, new QConfigMapping());
    const one = Int32Array.of(0);
    assert.deepEqual([...quantized.forward(one).data], [1, 2]);
    quantized.dispose();
    refuses(() => quantized.forward(one), TypeError, "ZP_DISPOSED", /^QuantizedModel.forward: /);
    const pending = quantized.forwardAsync(one);
    await rejects(pending, TypeError, "ZP_DISPOSED", /^QuantizedModel.forwardAsync: /);
  });

  it("frees its memory at the end of a using block", () => {
    if (typeof Symbol.dispose !== "symbol") return;
    const quantized = quantizeDynamic(makeModel());
    quantized[Symbol.dispose]();
    refuses(() => quantized.forward(x), TypeError, "ZP_DISPOSED", /disposed/);
  });

  it("is made by convert of nothing else but a prepared model", () => {
    refuses(
      () => convert(makeModel()),
      TypeError,
      "ZP_INVALID_MODEL",
      /convert: prepared must be what prepare returned/,
    );
  });

  it("gives the same codes in every instance", async () => {
    const instance = await create();
    const model = new instance.Sequential({
      fc1: new instance.Linear(weights.fc1, { bias: weights.bias1 }),
      relu: new instance.ReLU(),
      fc2: new instance.Linear(weights.fc2),
      tanh: new instance.Tanh(),
      fc3: new instance.Linear(weights.fc3, { bias: weights.bias3 }),
    });
    const prepared = instance.prepare(model, instance.defaultPerChannelQConfig);
    const quantized = instance.convert(prepared.calibrate(batches));
    const own = convert(prepare(makeModel(), defaultPerChannelQConfig).calibrate(batches));
    sameTensor(quantized.forward(x), own.forward(x));
    assert.equal(String(quantized.report(x)), String(own.report(x)));
    quantized.dispose();
    own.dispose();
  });
});
