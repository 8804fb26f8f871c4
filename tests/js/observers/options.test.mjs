import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import {
  HistogramObserver,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  NoopObserver,
  PerChannelMinMaxObserver,
} from "zeropoint/torch";
import { DTYPES, refuses } from "../support/asserts.mjs";

await init();

describe("options", () => {
  const refused = {
    "a per-channel qscheme per tensor": [
      () => new HistogramObserver({ qscheme: "per_channel_affine" }),
      RangeError,
      "ZP_INVALID_QSCHEME",
      'HistogramObserver: options.qscheme must be "per_tensor_affine" or "per_tensor_symmetric", ' +
        'got "per_channel_affine"',
    ],
    "a per-tensor qscheme per channel": [
      () => new PerChannelMinMaxObserver({ qscheme: "per_tensor_affine" }),
      RangeError,
      "ZP_INVALID_QSCHEME",
      /options\.qscheme must be "per_channel_affine", "per_channel_symmetric" or/,
    ],
    "7 symmetric bits of quint8": [
      () => new MovingAverageMinMaxObserver({ qscheme: "per_tensor_symmetric", reduceRange: true }),
      RangeError,
      "ZP_INVALID_QSCHEME",
      /reduceRange must be false for a symmetric qscheme with dtype quint8/,
    ],
    "float dtypes": [
      () => new MinMaxObserver({ dtype: "float16" }),
      RangeError,
      "ZP_INVALID_DTYPE",
      /options\.dtype must be "qint8"/,
    ],
    "dynamic moving averages": [
      () => new MovingAverageMinMaxObserver({ isDynamic: true }),
      RangeError,
      "ZP_INVALID_OPTION",
      /options\.isDynamic must be false for this observer/,
    ],
    "dynamic histograms": [
      () => new HistogramObserver({ isDynamic: true }),
      RangeError,
      "ZP_INVALID_OPTION",
      /options\.isDynamic must be false/,
    ],
    "dynamic channels": [
      () => new MovingAveragePerChannelMinMaxObserver({ isDynamic: true, averagingConstant: 1 }),
      RangeError,
      "ZP_INVALID_OPTION",
      /options\.isDynamic must be false/,
    ],
    "a fractional code": [
      () => new MinMaxObserver({ quantMin: 0, quantMax: 7.5 }),
      RangeError,
      "ZP_INVALID_QUANT_RANGE",
      "MinMaxObserver: options.quantMax must be an integer that int32 holds, got 7.5",
    ],
    "codes as text": [
      () => new MinMaxObserver({ quantMin: "0", quantMax: 7 }),
      TypeError,
      "ZP_INVALID_QUANT_RANGE",
      /options\.quantMin must be an integer that int32 holds, got "0"/,
    ],
    "an eps that is not a number": [
      () => new MinMaxObserver({ eps: Number.NaN }),
      RangeError,
      "ZP_INVALID_OPTION",
      "MinMaxObserver: options.eps must be a finite number, got NaN",
    ],
    "an averaging constant without end": [
      () => new MovingAverageMinMaxObserver({ averagingConstant: Number.POSITIVE_INFINITY }),
      RangeError,
      "ZP_INVALID_OPTION",
      /options\.averagingConstant must be a finite number, got Infinity/,
    ],
    "an eps below 0": [
      () => new MinMaxObserver({ eps: -1 }),
      RangeError,
      "ZP_INVALID_OPTION",
      "MinMaxObserver: options.eps must be >= 0, got -1",
    ],
    "options of other observers": [
      () => new MinMaxObserver({ bins: 3 }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /MinMaxObserver: options has no "bins"/,
    ],
  };
  for (const [what, [work, ...expected]] of Object.entries(refused)) {
    it(`refuse ${what}`, () => refuses(work, ...expected));
  }

  it("take dynamic observers where PyTorch does", () => {
    assert.ok(new MinMaxObserver({ isDynamic: true }).isDynamic);
    assert.ok(new MovingAverageMinMaxObserver({ isDynamic: true, averagingConstant: 1 }).isDynamic);
  });

  it("ignore a quantMin without a quantMax, as PyTorch does", () => {
    const { quantMin, quantMax } = new MinMaxObserver({ quantMin: 5 });
    assert.deepEqual([quantMin, quantMax], [0, 255]);
  });

  it("round down half of a negative limit", () => {
    const options = { dtype: "qint8", quantMin: -127, quantMax: 127, reduceRange: true };
    const { quantMin, quantMax } = new MinMaxObserver(options);
    assert.deepEqual([quantMin, quantMax], [-64, 63]);
  });

  it("know the codes of every dtype", () => {
    for (const [dtype, { qmin, qmax, bits }] of Object.entries(DTYPES)) {
      if (bits < 8) continue;
      const { quantMin, quantMax } = new MinMaxObserver({ dtype });
      assert.deepEqual([quantMin, quantMax], [qmin, qmax]);
    }
  });
});

describe("options are read once and copied", () => {
  /** Options that give 16 bins, and how often they were asked. */
  const counting = () => {
    const counted = {
      reads: 0,
      options: {
        get bins() {
          counted.reads++;
          return 16;
        },
      },
    };
    return counted;
  };

  it("by observers", () => {
    const options = { bins: 16, dtype: "qint8", eps: undefined };
    const observer = new HistogramObserver(options);
    options.bins = 32;
    options.eps = 1;
    assert.deepEqual({ ...observer.options }, { bins: 16, dtype: "qint8" });
    assert.equal(HistogramObserver.fromJSON(observer.toJSON()).bins, 16);
    const counted = counting();
    assert.equal(new HistogramObserver(counted.options).options.bins, 16);
    assert.equal(counted.reads, 1);
  });

  it("by observers without qparams", () => {
    const options = { dtype: "qint8" };
    const observer = new NoopObserver(options);
    options.dtype = "quint8";
    assert.deepEqual([observer.dtype, observer.options.dtype], ["qint8", "qint8"]);
  });

  it("by factories", () => {
    const options = { bins: 16 };
    const factory = HistogramObserver.withArgs(options);
    const dynamic = { bins: () => 16 };
    const callable = HistogramObserver.withCallableArgs(dynamic);
    options.bins = 32;
    dynamic.bins = () => 32;
    assert.deepEqual([factory.args.bins, factory().bins, callable().bins], [16, 16, 16]);
    assert.match(String(factory), /bins=16/);
    const counted = counting();
    HistogramObserver.withArgs(counted.options)();
    assert.equal(counted.reads, 1);
  });
});

describe("withArgs", () => {
  it("makes factories whose later options win", () => {
    const factory = MinMaxObserver.withArgs({ dtype: "qint8", quantMin: -8, quantMax: 7 });
    const wider = factory.withArgs({ quantMin: -100, quantMax: 100 });
    assert.deepEqual({ ...wider.args }, { dtype: "qint8", quantMin: -100, quantMax: 100 });
    assert.equal(wider.observerClass, MinMaxObserver);
    const observer = wider({ quantMax: 50 });
    assert.ok(observer instanceof MinMaxObserver);
    assert.deepEqual([observer.dtype, observer.quantMin, observer.quantMax], ["qint8", -100, 50]);
    assert.equal(factory().quantMax, 7);
    assert.notEqual(factory(), factory());
  });

  it("calls functions for options whenever it makes an observer, unless given", () => {
    let calls = 0;
    const next = () => 4 * ++calls;
    const factory = HistogramObserver.withCallableArgs({ bins: next }).withArgs({ dtype: "qint8" });
    assert.equal(factory().bins, 4);
    assert.equal(factory().bins, 8);
    assert.equal(factory({ bins: 3 }).bins, 3);
    assert.equal(calls, 2);
    assert.equal(factory().dtype, "qint8");
  });

  it("prints what Python prints, one partial inside the other", () => {
    const name = "<class 'torch.ao.quantization.observer.MinMaxObserver'>";
    const factory = MinMaxObserver.withArgs({ quantMin: 0 });
    assert.equal(String(factory), `functools.partial(${name}, quant_min=0){}`);
    assert.equal(
      String(factory.withArgs({ eps: 1e-5 })),
      `functools.partial(functools.partial(${name}, quant_min=0){}, eps=1e-05){}`,
    );
    const zero = () => 0;
    assert.equal(
      String(MinMaxObserver.withCallableArgs({ quantMin: zero })),
      `functools.partial(${name}){'quant_min': <function zero>}`,
    );
  });

  it("refuses anything but options, and checks options when it makes an observer", () => {
    refuses(() => MinMaxObserver.withArgs(3), TypeError, "ZP_INVALID_OPTIONS", /must be an object/);
    refuses(
      () => MinMaxObserver.withCallableArgs({ eps: 1 }),
      TypeError,
      "ZP_INVALID_FUNCTION",
      /options\.eps must be a function that gives the option, got 1/,
    );
    const factory = MinMaxObserver.withArgs({ epz: 1 });
    refuses(() => factory(), TypeError, "ZP_UNKNOWN_OPTION", /did you mean eps/);
  });
});
