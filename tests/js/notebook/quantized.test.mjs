// Notebook 4's part of torch, quantized tensors, observers and QConfigs, against what PyTorch
// answered and printed.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import {
  display,
  HistogramObserver,
  init,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  PerChannelMinMaxObserver,
  PlaceholderObserver,
  printed,
  QConfig,
  RecordingObserver,
  repr,
  torch,
} from "zeropoint/notebook";
import { assertScalar, assertTensor, cases, decodeTensor } from "../support/vectors.mjs";

before(async () => {
  await init();
});

const seeds = cases("seeds");
const seed = (id) => {
  const found = seeds.find((one) => one.id === `seeds/003.${id}`);
  assert.ok(found, id);
  return found;
};

function tensorFrom(encoded) {
  const { data, shape } = decodeTensor(encoded);
  return torch.tensor({ data, shape });
}

function raises(call, pythonType, message) {
  assert.throws(call, (error) => {
    const isTypeError = pythonType === "TypeError" || pythonType === "NotImplementedError";
    assert.equal(error.pythonType, pythonType, error.stack);
    assert.ok(error instanceof (isTypeError ? TypeError : RangeError), error.stack);
    assert.match(error.message, message);
    return true;
  });
}

const x = () => tensorFrom(seed("per_tensor").in.x);

describe("Quantized tensors", () => {
  it("are PyTorch's per tensor: codes, values, scale and print", () => {
    const { out, torch_repr } = seed("per_tensor");
    const q = torch.quantize_per_tensor(x(), torch.tensor(1e-2), torch.tensor(0), {
      dtype: torch.qint8,
    });
    assertTensor(q.int_repr().data, q.shape, out.int_repr, "int_repr");
    assertTensor(q.dequantize().data, q.shape, out.dequantize, "dequantize");
    assertScalar(q.q_scale(), out.q_scale, "q_scale");
    assert.equal(q.q_zero_point(), 0);
    assert.equal(printed(q), torch_repr);
    assert.equal(display(q), torch_repr);
    assert.equal(String(q.qscheme()), "torch.per_tensor_affine");
    assert.equal(q.dtype, torch.qint8);
    assert.equal(q.int_repr().dtype, torch.int8);
    assert.ok(torch.is_tensor(q) && q.is_quantized);
  });

  it("are PyTorch's per channel with floating zero points", () => {
    const { in: given, out, torch_repr } = seed("per_channel");
    const scales = tensorFrom(given.scales);
    const zeroPoints = torch.zeros(3);
    const q = torch.quantize_per_channel(x(), scales, zeroPoints, { dtype: torch.qint8, axis: 0 });
    assertTensor(q.int_repr().data, q.shape, out.int_repr, "int_repr");
    assertTensor(q.dequantize().data, q.shape, out.dequantize, "dequantize");
    assert.equal(printed(q), torch_repr);
    assert.equal(q.qscheme(), torch.per_channel_affine_float_qparams);
    assert.equal(q.q_per_channel_axis(), 0);
    assert.equal(repr(q.q_per_channel_scales()), repr(scales));
    assert.equal(repr(q.q_per_channel_zero_points()), "tensor([0., 0., 0.])");
    const positional = torch.quantize_per_channel(x(), scales, zeroPoints, 0, torch.qint8);
    assert.equal(printed(positional), torch_repr);
  });

  it("keep integer zero points and double scales per channel", () => {
    const scales = torch.tensor([0.01, 0.001, 0.05]);
    const zeroPoints = torch.zeros(3, { dtype: torch.int64 });
    const q = torch.quantize_per_channel(x(), scales, zeroPoints, 0, torch.quint8);
    assert.equal(q.qscheme(), torch.per_channel_affine);
    assert.equal(q.q_per_channel_scales().dtype, torch.float64);
    assert.equal(q.q_per_channel_scales().tolist()[0], Math.fround(0.01));
    assert.equal(repr(q.q_per_channel_zero_points()), "tensor([0, 0, 0])");
    assert.equal(q.int_repr().dtype, torch.uint8);
  });

  it("do not share their codes", () => {
    const q = torch.quantize_per_tensor(x(), 0.01, 0, torch.qint8);
    q.int_repr().fill_(0);
    assert.equal(q.int_repr().tolist()[0][0], 58);
  });

  it("are made of float32 alone", () => {
    const { qint8 } = torch;
    for (const dtype of [torch.int64, torch.int8, torch.float64, torch.bool]) {
      const x = torch.ones(2, { dtype });
      const error = { name: "RangeError", pythonType: "RuntimeError" };
      assert.throws(() => torch.quantize_per_tensor(x, 1, 0, qint8), error);
      const [scales, zeros] = [torch.ones(2), torch.zeros(2, { dtype: torch.int32 })];
      assert.throws(() => torch.quantize_per_channel(x, scales, zeros, 0, qint8), error);
    }
  });

  it("take strided tensors, and PyTorch's codes for NaN and infinities", () => {
    const q = torch.quantize_per_tensor(x().t(), 0.01, 0, torch.qint8);
    assert.deepEqual(q.int_repr().tolist(), [
      [58, 38, -82],
      [86, -20, 64],
    ]);
    const wild = torch.tensor([Number.NaN, Number.POSITIVE_INFINITY]);
    const codes = torch.quantize_per_tensor(wild, 1, 3, torch.qint8).int_repr();
    assert.deepEqual(codes.tolist(), [-128, -128]);
  });

  it("refuse what PyTorch refuses, with Python's exceptions and names", () => {
    const per = torch.quantize_per_tensor;
    raises(() => per(x(), 0.1, 0, torch.int8), "RuntimeError", /qint32, got torch\.int8$/);
    raises(() => per(x(), 0.1, 0, "qint8"), "TypeError", /dtype must be torch\.qint8/);
    raises(() => per(x(), 0.1, 200, torch.qint8), "RuntimeError", /^torch\.\S+: zero_point must/);
    raises(() => per(x(), 0.1), "TypeError", /zero_point is missing/);
    raises(() => per([1], 0.1, 0, torch.qint8), "TypeError", /input/);
    const channels = torch.quantize_per_channel;
    const scales = torch.tensor([0.1, 0.2, 0.3]);
    raises(() => channels(x(), scales, scales, -1, torch.qint8), "RuntimeError", /axis/);
    raises(() => channels(x(), scales, scales, 1, torch.qint8), "RuntimeError", /scales/);
    raises(() => channels(x(), scales.long(), scales, 0, torch.qint8), "RuntimeError", /floating/);
    const one = torch.tensor(1);
    raises(() => per(x(), scales, one, torch.qint8), "RuntimeError", /scale must be/);
    raises(() => per(x(), one, scales, torch.qint8), "RuntimeError", /zero_point must be/);
    raises(() => per(x(), scales, 0, torch.qint8), "TypeError", /scale must be/);
    raises(() => per(x(), 1, scales, torch.qint8), "TypeError", /zero_point must be/);
    const q = channels(x(), scales, torch.zeros(3), 0, torch.qint8);
    raises(() => q.q_scale(), "RuntimeError", /q_per_channel_scales/);
    raises(() => per(x(), 1, 0, torch.qint8).q_per_channel_axis(), "RuntimeError", /no channels/);
  });
});

describe("Constants", () => {
  it("print as in Python", () => {
    assert.equal(
      repr([torch.qint8, torch.quint8, torch.qint32, torch.quint4x2]),
      "[torch.qint8, torch.quint8, torch.qint32, torch.quint4x2]",
    );
    for (const name of [
      "per_tensor_affine",
      "per_tensor_symmetric",
      "per_channel_affine",
      "per_channel_symmetric",
      "per_channel_affine_float_qparams",
    ]) {
      assert.equal(printed(torch[name]), `torch.${name}`);
    }
  });
});

describe("Observers", () => {
  const OBSERVERS = {
    MovingAverageMinMaxObserver: () =>
      new MovingAverageMinMaxObserver({ qscheme: torch.per_tensor_affine }),
    HistogramObserver: () => new HistogramObserver(),
    MovingAveragePerChannelMinMaxObserver: () =>
      new MovingAveragePerChannelMinMaxObserver({ qscheme: torch.per_channel_symmetric }),
  };
  it("take quint4x2, which tensors do not", () => {
    const qscheme = torch.per_channel_affine;
    const observer = new PerChannelMinMaxObserver({ dtype: torch.quint4x2, qscheme });
    observer.forward(
      torch.tensor([
        [1.5, -2],
        [3, 4],
      ]),
    );
    const [scale, zeroPoint] = observer.calculate_qparams();
    assert.equal(String(scale), "tensor([0.2333, 0.2667])");
    assert.deepEqual(zeroPoint.tolist(), [9, 0]);
    assert.equal(observer.dtype, torch.quint4x2);
    assert.throws(
      () => torch.quantize_per_tensor(torch.tensor([1.5]), 0.1, 0, torch.quint4x2),
      /dtype must be torch\.qint8, torch\.quint8 or torch\.qint32/,
    );
  });

  for (const [name, make] of Object.entries(OBSERVERS)) {
    it(`${name}: qparams, range and print are PyTorch's`, () => {
      const { in: given, out, torch_repr } = seed(name);
      const observer = make();
      for (const batch of given.batches.map(tensorFrom)) {
        assert.equal(observer.forward(batch), batch);
      }
      const qparams = observer.calculate_qparams();
      const [scale, zeroPoint] = qparams;
      assertTensor(scale.data, scale.shape, out.scale, "scale");
      assert.deepEqual(zeroPoint.tolist(), [...out.zero_point.data].map(Number));
      assert.equal(zeroPoint.dtype, torch[out.zero_point.t]);
      assertTensor(observer.min_val.data, observer.min_val.shape, out.min_val, "min_val");
      assertTensor(observer.max_val.data, observer.max_val.shape, out.max_val, "max_val");
      assert.equal(observer.constructor.name, name);
      assert.equal(printed(name, qparams), `${name} ${torch_repr}`);
      observer.reset_min_max_vals();
      assert.equal(printed(observer.calculate_qparams()), "(tensor([1.]), tensor([0]))");
    });
  }

  it("take PyTorch's keyword arguments only", () => {
    const observer = new MinMaxObserver({
      dtype: torch.qint8,
      qscheme: torch.per_tensor_symmetric,
      quant_min: -127,
      quant_max: 127,
      reduce_range: false,
    });
    assert.equal(observer.dtype, torch.qint8);
    assert.equal(observer.qscheme, torch.per_tensor_symmetric);
    observer.forward(torch.tensor([-1.5, 2.54]));
    const { fround } = Math;
    assert.equal(observer.calculate_qparams()[0].item(), fround(fround(2.54) / 127));
    raises(() => new MinMaxObserver({ dtype: "qint8" }), "TypeError", /torch\.qint8/);
    raises(() => new MinMaxObserver({ reduceRange: true }), "TypeError", /no argument/);
    raises(() => new MinMaxObserver({ speed: 1 }), "TypeError", /speed/);
    raises(() => new MinMaxObserver(torch.qint8), "TypeError", /keyword arguments/);
    raises(
      () => new MinMaxObserver({ quant_min: 1, quant_max: 5 }),
      "AssertionError",
      /quant_min to quant_max must contain 0/,
    );
    raises(() => observer.forward([1, 2]), "TypeError", /forward: x/);
    const placeholder = new PlaceholderObserver({ dtype: torch.quint8 });
    raises(() => placeholder.calculate_qparams(), "Exception", /^PlaceholderObserver\.calculate_q/);
    raises(() => placeholder.min_val, "TypeError", /keeps no range/);
  });

  it("raise what PyTorch raises for unsupported options", () => {
    const { MinMaxObserver, PerChannelMinMaxObserver, HistogramObserver } =
      torch.quantization.observer;
    const refused = [
      [MinMaxObserver, { qscheme: torch.per_channel_affine }, "NotImplementedError"],
      [HistogramObserver, { qscheme: torch.per_channel_affine }, "NotImplementedError"],
      [PerChannelMinMaxObserver, { qscheme: torch.per_tensor_affine }, "NotImplementedError"],
      [PerChannelMinMaxObserver, { is_dynamic: true }, "NotImplementedError"],
      [
        MinMaxObserver,
        { qscheme: torch.per_tensor_symmetric, reduce_range: true },
        "NotImplementedError",
      ],
      [MinMaxObserver, { dtype: torch.float32 }, "AssertionError"],
      [MinMaxObserver, { quant_min: 0, quant_max: 0 }, "AssertionError"],
    ];
    for (const [observer, keywords, pythonType] of refused) {
      raises(() => new observer(keywords), pythonType, /./);
      raises(() => observer.with_args(keywords)(), pythonType, /./);
    }
  });

  it("raise what PyTorch raises for NaN", () => {
    const { MinMaxObserver, HistogramObserver } = torch.quantization.observer;
    const observer = new MinMaxObserver();
    observer.forward(torch.tensor([1, Number.NaN]));
    raises(() => observer.calculate_qparams(), "AssertionError", /min NaN/);
    raises(
      () => new HistogramObserver().forward(torch.tensor([1, Number.NaN])),
      "RuntimeError",
      /NaN/,
    );
  });

  it("raise what PyTorch raises for other axes and numbers of channels", () => {
    const { PerChannelMinMaxObserver } = torch.quantization.observer;
    const channels = new PerChannelMinMaxObserver({ ch_axis: 2 });
    raises(() => channels.forward(torch.ones(3)), "IndexError", /at least 2/);
    raises(() => channels.forward(torch.ones(3, 3)), "IndexError", /axis 2/);
    channels.forward(torch.ones(1, 1, 3));
    raises(() => channels.forward(torch.ones(1, 1, 2)), "RuntimeError", /3 channels/);
  });

  it("take integers, converted to float32", () => {
    const integers = torch.tensor([
      [-3, 0],
      [5, 2],
    ]);
    for (const name of ["MinMaxObserver", "MovingAverageMinMaxObserver", "RecordingObserver"]) {
      for (const dtype of [torch.int64, torch.int8, torch.bool]) {
        const observer = new torch.quantization.observer[name]();
        const x = integers.to(dtype);
        assert.equal(observer.forward(x), x);
      }
    }
    const { MinMaxObserver, PerChannelMinMaxObserver } = torch.quantization.observer;
    const whole = new MinMaxObserver();
    whole.forward({ x_orig: integers });
    assert.equal(`${whole.min_val} ${whole.max_val}`, "tensor(-3.) tensor(5.)");
    const channels = new PerChannelMinMaxObserver();
    channels.forward(integers);
    assert.deepEqual(channels.max_val.tolist(), [0, 5]);
  });

  it("count no integers in a histogram, but ignore them where there are none", () => {
    for (const dtype of [torch.int64, torch.int32, torch.bool]) {
      const observer = new torch.quantization.observer.HistogramObserver();
      assert.throws(() => observer.forward(torch.ones(2, { dtype })), {
        name: "RangeError",
        pythonType: "RuntimeError",
      });
      observer.forward(torch.ones(0, { dtype }));
    }
  });

  it("refuse arguments that they do not know", () => {
    const { MinMaxObserver } = torch.quantization.observer;
    const x = torch.ones(1);
    const calls = [
      () => new MinMaxObserver({}, 1),
      () => MinMaxObserver.with_args({}, {}),
      () => MinMaxObserver.with_args({})({}, 1),
      () => new MinMaxObserver().forward(x, x),
      () => new MinMaxObserver().forward(x, { axis: 0 }),
      () => new MinMaxObserver().calculate_qparams(x),
      () => new MinMaxObserver().reset_min_max_vals({ all: true }),
    ];
    for (const call of calls) assert.throws(call, { name: "TypeError", pythonType: "TypeError" });
  });

  it("let NaN pass as PyTorch does", () => {
    const observer = MinMaxObserver.with_args({ eps: 0.5 })();
    observer.forward(torch.tensor([1.5, Number.NaN]));
    assert.ok(Number.isNaN(observer.min_val.item()));
  });
});

describe("QConfig", () => {
  it("prints every ready-made one as Python does", () => {
    const vectors = cases("qconfig").filter(({ out }) => typeof out.repr === "string");
    assert.equal(vectors.length, 4);
    for (const { in: given, out } of vectors) {
      assert.equal(printed(torch.quantization.qconfig[given.name]), out.repr, given.name);
      assert.equal(display(torch.ao.quantization.qconfig[given.name]), out.repr, given.name);
    }
  });

  const path = "torch.ao.quantization.observer";
  const activation = MovingAverageMinMaxObserver.with_args({
    qscheme: torch.per_tensor_affine,
    dtype: torch.quint8,
  });
  const weight = MovingAveragePerChannelMinMaxObserver.with_args({
    qscheme: torch.per_channel_symmetric,
  });

  it("holds and prints factories of observers", () => {
    const qconfig = new QConfig({ activation, weight });
    assert.equal(
      printed(qconfig),
      `QConfig(activation=functools.partial(<class '${path}.MovingAverageMinMaxObserver'>, ` +
        "qscheme=torch.per_tensor_affine, dtype=torch.quint8){}, " +
        `weight=functools.partial(<class '${path}.MovingAveragePerChannelMinMaxObserver'>, ` +
        "qscheme=torch.per_channel_symmetric){})",
    );
    assert.equal(qconfig.activation, activation);
  });

  it("has factories whose later arguments replace earlier ones", () => {
    const made = new QConfig({ activation, weight }).weight({ dtype: torch.qint8 });
    assert.ok(made instanceof MovingAveragePerChannelMinMaxObserver);
    assert.equal(made.dtype, torch.qint8);
    assert.equal(made.qscheme, torch.per_channel_symmetric);
    assert.equal(activation.with_args({ dtype: torch.qint8 })().dtype, torch.qint8);
  });

  it("has ready-made ones with PyTorch's observers", () => {
    const built = torch.quantization.qconfig.default_dynamic_qconfig.weight();
    assert.ok(built instanceof MinMaxObserver);
    const { default_debug_qconfig } = torch.quantization.qconfig;
    assert.equal(default_debug_qconfig.activation, RecordingObserver);
    assert.equal(repr(RecordingObserver), `<class '${path}.RecordingObserver'>`);
  });

  it("refuses an observer, as PyTorch does, and everything else", () => {
    const weight = MinMaxObserver;
    const made = new MinMaxObserver();
    raises(() => new QConfig({ activation: made, weight }), "ValueError", /got an observer/);
    raises(() => new QConfig({ activation: 1, weight }), "TypeError", /got 1/);
    raises(() => new QConfig({ weight }), "TypeError", /activation is missing/);
    assert.equal(new QConfig(null, null).activation, null);
  });
});

describe("Normal", () => {
  const { Normal } = torch.distributions.normal;

  it("samples what randn does, scaled and moved", () => {
    torch.manual_seed(7);
    const drawn = torch.randn(3, 4);
    torch.manual_seed(7);
    const sampled = new Normal(0, 1).sample([3, 4]);
    assert.equal(repr(sampled.shape), "torch.Size([3, 4])");
    assert.ok(torch.equal(sampled, drawn));
    torch.manual_seed(7);
    assert.ok(torch.equal(new Normal(-1, 2).sample([3, 4]), drawn.mul(2).sub(1)));
    assert.equal(new Normal(0, 1).sample().ndim, 0);
    assert.deepEqual([...new Normal(torch.zeros(5), 1).sample([2]).shape], [2, 5]);
    assert.equal(String(new Normal(0, 1)), "Normal(loc: 0.0, scale: 1.0)");
  });

  it("refuses a scale that is not above 0", () => {
    raises(() => new Normal(0, 0), "ValueError", /above 0/);
    raises(() => new Normal(0, Number.NaN), "ValueError", /above 0/);
    raises(() => new Normal("0", 1), "TypeError", /loc must be a number/);
  });
});

describe("a call of an observer", () => {
  const { observer } = torch.ao.quantization;

  for (const Observer of Object.values(observer)) {
    it(`is its forward: ${Observer.name}`, () => {
      const x = torch.tensor([
        [1, -2],
        [3, 0.5],
      ]);
      const [called, forwarded] = [new Observer(), new Observer()];
      assert.equal(called(x), x);
      assert.equal(forwarded.forward({ x }), x);
      assert.equal(repr(called), repr(forwarded));
      assert.ok(called instanceof Observer);
      assert.deepEqual(Reflect.ownKeys(called), []);
    });
  }

  it("has the argument and errors of forward", () => {
    const called = observer.MinMaxObserver.with_args({ dtype: torch.qint8 })();
    called({ x_orig: torch.tensor([-1.5, 2.54]) });
    assert.deepEqual([called.min_val.item(), called.max_val.item()], [-1.5, Math.fround(2.54)]);
    raises(() => called([1, 2]), "TypeError", /forward: x/);
  });
});
