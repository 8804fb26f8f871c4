import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, init, tensor } from "zeropoint";
import * as torch from "zeropoint/torch";
import {
  FixedQParamsObserver,
  HistogramObserver,
  Linear,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  NoopObserver,
  PerChannelMinMaxObserver,
  PlaceholderObserver,
  prepare,
  QConfig,
  RecordingObserver,
  ReuseInputObserver,
  Sequential,
} from "zeropoint/torch";
import { INSPECT, refuses } from "../support/asserts.mjs";
import { restored } from "./asserts.mjs";

await init();

describe("the state of an observer", () => {
  it("cannot be changed through its getters", () => {
    const observer = new MinMaxObserver();
    observer.observe(tensor([1, 2]));
    observer.minVal.data[0] = -5;
    assert.equal(observer.minVal.data[0], 1);
    const histogram = new HistogramObserver({ bins: 2 });
    histogram.observe(tensor([1, 2]));
    histogram.histogram.data[0] = 9;
    assert.equal(histogram.histogram.data[0], 1);
  });

  it("is cleared by reset", () => {
    for (const make of [
      () => new MinMaxObserver(),
      () => new MovingAverageMinMaxObserver(),
      () => new PerChannelMinMaxObserver(),
      () => new MovingAveragePerChannelMinMaxObserver(),
      () => new HistogramObserver({ bins: 8 }),
      () => new RecordingObserver(),
    ]) {
      const observer = make();
      observer.observe(tensor([[1, 2]]));
      assert.notEqual(JSON.stringify(observer), JSON.stringify(make()));
      observer.reset();
      assert.equal(JSON.stringify(observer), JSON.stringify(make()));
    }
  });

  it("stays as it was when a batch is refused", () => {
    for (const observer of [
      new MinMaxObserver(),
      new MovingAverageMinMaxObserver(),
      new PerChannelMinMaxObserver(),
      new MovingAveragePerChannelMinMaxObserver(),
      new HistogramObserver({ bins: 8 }),
    ]) {
      observer.observe(tensor([[1, 2]]));
      const before = JSON.stringify(observer);
      for (const bad of [NaN, Infinity, -Infinity, 1e300]) {
        const x = { data: Float64Array.of(5, bad), shape: [1, 2] };
        refuses(() => observer.observe(x), RangeError, "ZP_NON_FINITE", /x must/);
      }
      refuses(() => observer.observe([1, 2]), TypeError, "ZP_INVALID_TENSOR", /observe: x must be/);
      assert.equal(JSON.stringify(observer), before);
    }
  });

  it("prints as PyTorch prints it", () => {
    const observer = new MinMaxObserver();
    assert.equal(String(observer), "MinMaxObserver(min_val=inf, max_val=-inf)");
    observer.observe(tensor([1, 2]));
    assert.equal(String(observer), "MinMaxObserver(min_val=1.0, max_val=2.0)");
    assert.equal(String(new HistogramObserver()), "HistogramObserver(min_val=inf, max_val=-inf)");
    const channels = new PerChannelMinMaxObserver();
    assert.equal(
      String(channels),
      "PerChannelMinMaxObserver(min_val=tensor([]), max_val=tensor([]))",
    );
    channels.observe(tensor([[1, 2]]));
    assert.equal(
      String(channels),
      "PerChannelMinMaxObserver(min_val=tensor([1.]), max_val=tensor([2.]))",
    );
    assert.equal(String(new PlaceholderObserver()), "PlaceholderObserver()");
  });

  it("prints lists of several lines below its name, as PyTorch's modules do", () => {
    const many = new PerChannelMinMaxObserver();
    many.observe(
      tensor(
        Float32Array.from({ length: 18 }, (_, i) => i / 3),
        [18, 1],
      ),
    );
    assert.equal(
      String(many),
      `PerChannelMinMaxObserver(
  min_val=tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333, 2.6667,
          3.0000, 3.3333, 3.6667, 4.0000, 4.3333, 4.6667, 5.0000, 5.3333, 5.6667]), max_val=tensor([0.0000, 0.3333, 0.6667, 1.0000, 1.3333, 1.6667, 2.0000, 2.3333, 2.6667,
          3.0000, 3.3333, 3.6667, 4.0000, 4.3333, 4.6667, 5.0000, 5.3333, 5.6667])
)`,
    );
  });

  it("prints the same in Node's console, without its private fields", () => {
    const observer = new MinMaxObserver();
    assert.equal(observer[INSPECT](), String(observer));
    const factory = MinMaxObserver.withArgs({ dtype: "qint8" });
    assert.equal(factory[INSPECT](), String(factory));
  });

  it("and the qparams print as tensors", () => {
    const observer = new MinMaxObserver();
    observer.observe(tensor([-1, 2]));
    const { scale, zeroPoint } = observer.calculateQParams();
    assert.equal(String(scale), "tensor([0.0118])");
    assert.equal(String(zeroPoint), "tensor([85], dtype=torch.int32)");
    const symmetric = new MinMaxObserver({ qscheme: "per_tensor_symmetric" });
    symmetric.observe(tensor([-1, 2]));
    assert.equal(String(symmetric.calculateQParams().zeroPoint), "tensor([128])");
  });
});

describe("JSON", () => {
  it("holds infinities, NaN and -0, which JSON itself cannot", () => {
    const unobserved = new MinMaxObserver();
    assert.deepEqual(JSON.parse(JSON.stringify(unobserved)), {
      observer: "MinMaxObserver",
      options: {},
      state: { minVal: ["Infinity"], maxVal: ["-Infinity"] },
    });
    const observer = new MinMaxObserver({ compat: "torch" });
    observer.observe(Float32Array.of(-0, NaN));
    assert.ok(Number.isNaN(restored(observer).minVal.data[0]));
    const zero = new MinMaxObserver();
    zero.observe(Float32Array.of(-0));
    assert.ok(Object.is(restored(zero).minVal.data[0], -0));
  });

  it("restores options and state of every observer", () => {
    const observers = [
      new MinMaxObserver({ dtype: "qint8", quantMin: -127, quantMax: 127, eps: 2 ** -12 }),
      new MovingAverageMinMaxObserver({ averagingConstant: 0.3 }),
      new PerChannelMinMaxObserver({ chAxis: 1 }),
      new MovingAveragePerChannelMinMaxObserver({ chAxis: -1, averagingConstant: 0.5 }),
      new HistogramObserver({ bins: 16, reduceRange: true }),
      new RecordingObserver({ dtype: "qint8" }),
      new PlaceholderObserver({ dtype: "float16", isDynamic: true }),
      new NoopObserver({ dtype: "float32" }),
      new ReuseInputObserver(),
      new FixedQParamsObserver({ scale: 1 / 256, zeroPoint: 3 }),
    ];
    for (const observer of observers) {
      observer.observe(tensor([[0.1, 2, -3]]));
      const copy = restored(observer);
      assert.equal(copy.constructor, observer.constructor);
      assert.deepEqual(JSON.stringify(copy), JSON.stringify(observer));
      copy.observe(tensor([[7, 7, 7]]));
      observer.observe(tensor([[7, 7, 7]]));
      assert.deepEqual(JSON.stringify(copy), JSON.stringify(observer));
    }
  });

  const good = JSON.parse(JSON.stringify(new HistogramObserver({ bins: 2 })));
  const refused = {
    "another class": [
      { ...good, observer: "MinMaxObserver" },
      RangeError,
      "ZP_INVALID_STATE",
      'HistogramObserver.fromJSON: json.observer must be "HistogramObserver", got "MinMaxObserver"',
    ],
    "text that was not parsed": [
      JSON.stringify(good),
      TypeError,
      "ZP_INVALID_STATE",
      /json must be an object as toJSON or JSON\.parse makes it, got "/,
    ],
    "another number of bins": [
      { ...good, state: { ...good.state, histogram: [1] } },
      TypeError,
      "ZP_INVALID_STATE",
      /json\.state\.histogram must be a list of 2 numbers, got \[1\]/,
    ],
    "words among the numbers": [
      { ...good, state: { ...good.state, minVal: ["zero"] } },
      TypeError,
      "ZP_INVALID_STATE",
      /json\.state\.minVal must be a list of 1 numbers, got \["zero"\]/,
    ],
    "a range from above to below": [
      { ...good, state: { ...good.state, minVal: [3], maxVal: [2] } },
      RangeError,
      "ZP_INVALID_STATE",
      /json\.state\.minVal must be at most json\.state\.maxVal, got 3 and 2$/,
    ],
    "counts below 0": [
      { ...good, state: { ...good.state, histogram: [1, -1] } },
      RangeError,
      "ZP_INVALID_STATE",
      /json\.state\.histogram must be counts, 0 or more, got -1$/,
    ],
    "unknown options": [
      { ...good, options: { binz: 2 } },
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /did you mean bins/,
    ],
  };
  for (const [what, [json, ...expected]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => refuses(() => HistogramObserver.fromJSON(json), ...expected));
  }
});

describe("instances", () => {
  it("make observers that run on their own core", async () => {
    const instance = await create({}, torch);
    const observer = new instance.MinMaxObserver({ dtype: "qint8" });
    assert.ok(observer instanceof MinMaxObserver);
    observer.observe(tensor([-1, 2]));
    assert.equal(observer.calculateQParams().scale.data.length, 1);
    const made = instance.MinMaxObserver.withArgs({ dtype: "qint8" })();
    assert.ok(made instanceof MinMaxObserver);
    const copy = instance.MinMaxObserver.fromJSON(JSON.parse(JSON.stringify(observer)));
    assert.equal(JSON.stringify(copy), JSON.stringify(observer));
  });
});

describe("a subclass with an observe of its own", () => {
  const twice = ({ data, shape }) =>
    tensor(
      data.map((value) => 2 * value),
      shape,
    );
  class Twice extends MinMaxObserver {
    observe(x) {
      super.observe(twice(x));
      return x;
    }
  }
  class TwiceHistogram extends HistogramObserver {
    observe(x) {
      super.observe(twice(x));
      return x;
    }
  }
  const x = tensor([1, 3]);

  for (const Observer of [Twice, TwiceHistogram]) {
    it(`keeps it: ${Observer.name}`, () => {
      const observer = new Observer();
      observer.observe(x);
      assert.equal(observer.maxVal.data[0], 6);
    });
  }

  it("is called by calibration and by the quantization of weights", () => {
    const model = new Sequential([new Linear(tensor([[1, 2]]))]);
    const qconfig = new QConfig({
      activation: Twice,
      weight: Twice.withArgs({ dtype: "qint8", qscheme: "per_tensor_symmetric" }),
    });
    const prepared = prepare(model, qconfig);
    prepared.forward(tensor([[1, 3]]));
    const { input, output } = prepared.observers[0];
    assert.equal(input.maxVal.data[0], 6);
    assert.equal(output.maxVal.data[0], 14);
  });
});
