// Observers against what PyTorch answered after every batch.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  convert,
  convertAsync,
  create,
  defaultWeightObserver,
  FixedQParamsObserver,
  HistogramObserver,
  init,
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
  tensor,
} from "zeropoint";
import { DTYPES, INSPECT, Random, refuses, sameFloats } from "./support.mjs";
import { assertTensor, cases, decodeTensor, sameBits } from "./vectors.mjs";

await init();

/** The classes by name, and how many cases there are of each. */
const MIN_MAX_FAMILY = {
  MinMaxObserver: [MinMaxObserver, 16],
  MovingAverageMinMaxObserver: [MovingAverageMinMaxObserver, 20],
  PerChannelMinMaxObserver: [PerChannelMinMaxObserver, 21],
  MovingAveragePerChannelMinMaxObserver: [MovingAveragePerChannelMinMaxObserver, 25],
};

const OPTION_NAMES = {
  dtype: "dtype",
  qscheme: "qscheme",
  reduce_range: "reduceRange",
  quant_min: "quantMin",
  quant_max: "quantMax",
  eps: "eps",
  averaging_constant: "averagingConstant",
  ch_axis: "chAxis",
  bins: "bins",
};

/** Python's keyword arguments as options. */
function optionsOf(args) {
  const known = Object.entries(args).filter(([name]) => name in OPTION_NAMES);
  return Object.fromEntries(known.map(([name, value]) => [OPTION_NAMES[name], value]));
}

/** Asserts that zero points are PyTorch's, of the same dtype. */
function assertZeroPoint({ data, shape, dtype }, expected) {
  assert.deepEqual([...shape], expected.shape);
  if (expected.t === "f32") {
    assertTensor(data, shape, expected, "zero point");
    return;
  }
  assert.equal(dtype, expected.t);
  assert.deepEqual([...data], expected.data);
}

function assertQParams({ scale, zeroPoint }, expected) {
  assertTensor(scale.data, scale.shape, expected.scale, "scale");
  assertZeroPoint(zeroPoint, expected.zero_point);
}

/** Equal bits, but a zero may have either sign: that of a minimum of zeros is not defined. */
function assertRange({ data, shape }, expected, message) {
  assert.deepEqual([...shape], expected.shape, message);
  const wanted = decodeTensor(expected).data;
  assert.equal(data.length, wanted.length);
  for (let i = 0; i < data.length; i++) {
    assert.ok(sameBits(data[i] + 0, wanted[i] + 0), `${message}: ${data[i]}, not ${wanted[i]}`);
  }
}

/** An observer that has been to JSON and back. */
function restored(observer) {
  return observer.constructor.fromJSON(JSON.parse(JSON.stringify(observer)));
}

describe("observers of the min/max family", () => {
  for (const [name, [type, count]] of Object.entries(MIN_MAX_FAMILY)) {
    const all = cases("observers").filter(({ op }) => op === name);
    it(`${name}: covers all ${count} cases`, () => assert.equal(all.length, count));

    for (const { id, in: input, out, note } of all) {
      it(`${id} ${name} ${note ?? JSON.stringify(input)}`, () => {
        if (out.steps) follow(type, input, out.steps);
        else observeOnce(type, input, out, note);
      });
    }
  }

  /** Batch after batch, in PyTorch's way and in the default way, and saved and restored between. */
  function follow(type, input, steps) {
    const observers = [{}, { compat: "torch" }].map(
      (compat) => new type({ ...optionsOf(input), ...compat }),
    );
    let saved = new type(optionsOf(input));
    for (const step of steps) {
      const x = decodeTensor(step.x);
      saved = restored(saved);
      for (const observer of [...observers, saved]) {
        assert.equal(observer.observe(x), x);
        assertRange(observer.minVal, step.min_val, "minVal");
        assertRange(observer.maxVal, step.max_val, "maxVal");
        assertQParams(observer.calculateQParams(), step);
      }
    }
  }

  function observeOnce(type, input, out, note) {
    const x = decodeTensor(input.x);
    const torch = new type({ compat: "torch" });
    torch.observe(x);
    assertRange(torch.minVal, out.min_val, "minVal");
    assertRange(torch.maxVal, out.max_val, "maxVal");
    if (out.raises) {
      refuses(
        () => torch.calculateQParams(),
        RangeError,
        "ZP_NON_FINITE",
        /min NaN must be at mos/,
      );
    } else {
      assertQParams(torch.calculateQParams(), out);
    }
    const sound = new type();
    if (x.data.every(Number.isFinite)) {
      sound.observe(x);
      assertQParams(sound.calculateQParams(), out);
      return;
    }
    assert.match(note, /NaN|Inf|infinities/);
    refuses(() => sound.observe(x), RangeError, "ZP_NON_FINITE", /observe: x must be finite/);
    assert.ok(sound.isUnobserved);
  }
});

describe("calculateQParams", () => {
  const all = cases("calculate_qparams");

  it("covers all cases", () => {
    assert.equal(all.filter(({ op }) => op === "calculate_qparams").length, 62);
    assert.equal(all.filter(({ op }) => op === "MinMaxObserver").length, 5);
    assert.equal(all.length, 67);
  });

  const REASONS = [
    [/reduce range/, "ZP_INVALID_QSCHEME"],
    [/quantization range|qmin/, "ZP_INVALID_QUANT_RANGE"],
    [/qscheme only support/, "ZP_INVALID_QSCHEME"],
  ];

  for (const { id, op, in: input, out } of all) {
    it(`${id} ${JSON.stringify(input).slice(0, 100)}`, () => {
      const options = optionsOf(input);
      if (op === "MinMaxObserver") {
        const [, code] = REASONS.find(([pattern]) => pattern.test(out.raises.message));
        refuses(() => new MinMaxObserver(options), RangeError, code, /^MinMaxObserver: options\./);
      } else if (out.rows) {
        let seen = 0;
        for (const row of out.rows) {
          const [min, max] = [row.min, row.max].map(Number);
          const observer = new MinMaxObserver({ ...options, compat: "torch" });
          assert.deepEqual([observer.quantMin, observer.quantMax], [out.quant_min, out.quant_max]);
          observer.observe(Float32Array.of(min, max));
          const { scale, zeroPoint } = observer.calculateQParams();
          assertTensor(scale.data, scale.shape, row.scale, `${min} ${max}`);
          assert.deepEqual([...zeroPoint.data], [row.zero_point], `${min} ${max}`);
          seen++;
        }
        assert.equal(seen, 21);
      } else {
        calculatesPerChannel(input, out);
      }
    });
  }

  const random = cases("fuzz").filter(({ op }) => op === "calculate_qparams");
  it("covers all random ranges", () => assert.equal(random.length, 12));
  for (const { id, in: input, out } of random) {
    it(`${id} ${input.dtype} ${input.qscheme}`, () => {
      assert.equal(decodeTensor(input.min).data.length, 160);
      calculatesPerChannel(input, { ...out, min: input.min, max: input.max });
    });
  }

  /** Ranges of channels: observed as two columns, one of minima and one of maxima. */
  function calculatesPerChannel(input, out) {
    const [min, max] = [decodeTensor(out.min).data, decodeTensor(out.max).data];
    const data = Float32Array.from({ length: 2 * min.length }, (_, i) =>
      i % 2 === 0 ? min[i >> 1] : max[i >> 1],
    );
    const observer = new PerChannelMinMaxObserver(optionsOf(input));
    observer.observe({ data, shape: [min.length, 2] });
    assertQParams(observer.calculateQParams(), out);
  }
});

describe("HistogramObserver", () => {
  it("takes 7 symmetric bits of quint8, as PyTorch's does", () => {
    const observer = new HistogramObserver({ qscheme: "per_tensor_symmetric", reduceRange: true });
    observer.observe(tensor([-3, 1, 2, 5]));
    observer.observe(tensor([7, 1]));
    const { scale, zeroPoint } = observer.calculateQParams();
    assert.deepEqual([...scale.data, ...zeroPoint.data], [Math.fround(0.11015932), 128]);
  });

  const all = cases("histogram");

  it("covers all cases", () => {
    assert.equal(all.filter(({ op }) => op === "HistogramObserver").length, 22);
    // linspace and histc are primitives of the core, tested natively; histc also below.
    assert.equal(all.length, 30);
  });

  for (const { id, op, in: input, out, note } of all) {
    if (op === "HistogramObserver") {
      it(`${id} ${note ?? `bins ${input.bins}`}`, () => {
        if (out.steps) follow(input, out.steps);
        else observeOnce(input, out, note);
      });
    } else if (op === "histc") {
      it(`${id} counts as torch.histc does`, () => {
        const observer = new HistogramObserver({ bins: input.bins });
        observer.observe(decodeTensor(input.x));
        assertTensor(observer.histogram.data, observer.histogram.shape, out.hist, "counts");
      });
    }
  }

  function assertState(observer, expected) {
    assertTensor(observer.histogram.data, observer.histogram.shape, expected.histogram, "counts");
    assertRange(observer.minVal, expected.min_val, "minVal");
    assertRange(observer.maxVal, expected.max_val, "maxVal");
  }

  function follow(input, steps) {
    const torch = new HistogramObserver({ ...optionsOf(input), compat: "torch" });
    const sound = new HistogramObserver(optionsOf(input));
    let saved = torch;
    let soundAgrees = true;
    for (const step of steps) {
      const x = decodeTensor(step.x);
      // PyTorch drops infinities; by default they are refused, and the two part company.
      if (!x.data.every(Number.isFinite)) {
        refuses(() => sound.observe(x), RangeError, "ZP_NON_FINITE", /must be finite/);
        soundAgrees = false;
      }
      saved = restored(saved);
      const agreeing = soundAgrees ? [torch, saved, sound] : [torch, saved];
      for (const observer of new Set(agreeing)) {
        observer.observe(x);
        assertState(observer, step);
        const { min, max } = observer.searchRange();
        sameFloats(Float32Array.of(min), decodeTensor(step.search_min).data, "search");
        sameFloats(Float32Array.of(max), decodeTensor(step.search_max).data, "search");
        assertQParams(observer.calculateQParams(), step);
      }
    }
  }

  function observeOnce(input, out, note) {
    const x = decodeTensor(input.x);
    const torch = new HistogramObserver({ bins: input.bins, compat: "torch" });
    if (note === "NaN") {
      refuses(() => torch.observe(x), RangeError, "ZP_NON_FINITE", /x must not hold NaN/);
    } else {
      torch.observe(x);
    }
    assertState(torch, out);
    if (out.raises) {
      refuses(() => torch.calculateQParams(), RangeError, "ZP_NON_FINITE", /must be at most max/);
    } else {
      assertQParams(torch.calculateQParams(), out);
    }
    const sound = new HistogramObserver({ bins: input.bins });
    if (x.data.every(Number.isFinite)) {
      sound.observe(x);
      assertState(sound, out);
    } else {
      refuses(() => sound.observe(x), RangeError, "ZP_NON_FINITE", /observe: x must/);
      assert.ok(sound.isUnobserved);
      assert.ok(sound.histogram.data.every((count) => count === 0));
    }
  }

  it("counts a constant first batch as often as the next has values, as PyTorch 2.6 does", () => {
    const observer = new HistogramObserver({ bins: 4 });
    observer.observe(new Float32Array(100)).fill(0);
    observer.observe(tensor([-1, 3, 3]));
    assert.deepEqual([...observer.histogram.data], [1, 3, 0, 2]);
  });

  it("is the same in tiles as in one piece, and stops counting at 2^24 as float32 does", () => {
    const n = 3_000_017;
    const data = new Float32Array(n);
    for (let i = 0; i < n; i++) data[i] = ((i * 2654435761) % 2 ** 32) / 2 ** 32;
    const observer = new HistogramObserver({ bins: 10 });
    observer.observe(data);
    const [min, max] = [observer.minVal.data[0], observer.maxVal.data[0]];
    const expected = new Float32Array(10);
    const width = Math.fround(max - min);
    for (const value of data) {
      const offset = Math.fround(Math.fround(value - min) * 10);
      expected[Math.min(9, Math.trunc(Math.fround(offset / width)))]++;
    }
    sameFloats(observer.histogram.data, expected);

    const ones = new HistogramObserver({ bins: 1 });
    ones.observe(new Float32Array(2 ** 24 + 5).fill(1));
    assert.equal(ones.histogram.data[0], 2 ** 24);
  });

  it("refuses integers, as PyTorch does, and takes float64", () => {
    refuses(
      () => new HistogramObserver().observe(new Int32Array(3)),
      TypeError,
      "ZP_INVALID_TENSOR",
      /x must hold floats, as PyTorch counts no integers, got data of type Int32Array/,
    );
    const observer = new HistogramObserver({ bins: 2 });
    observer.observe(Float64Array.of(0, 1, 2));
    assert.deepEqual([...observer.histogram.data], [1, 2]);
  });

  it("says that a range is wider than float32", () => {
    for (const options of [{}, { compat: "torch" }]) {
      const observer = new HistogramObserver(options);
      observer.observe(tensor([-(2 ** 127), 2 ** 127]));
      refuses(
        () => observer.calculateQParams(),
        RangeError,
        "ZP_NON_FINITE",
        `HistogramObserver.calculateQParams: min ${-(2 ** 127)} must be at most max ${2 ** 127}, and ` +
          `float32 hold their difference`,
      );
    }
  });

  it("refuses one value beyond 2^53 for a first batch, as torch.histc does", () => {
    const observer = new HistogramObserver({ bins: 2 });
    for (const value of [2 ** 54, -3e37, 9007200328482816]) {
      refuses(
        () => observer.observe(tensor([value, value])),
        RangeError,
        "ZP_INVALID_TENSOR",
        `HistogramObserver.observe: x must hold values that differ, got ${Math.fround(value)} alone, ` +
          "which is beyond 2^53: bins around it would have no width",
      );
      assert.equal(observer.minVal.data[0], Infinity);
    }
    observer.observe(tensor([2 ** 53, 2 ** 53]));
    assert.deepEqual([...observer.histogram.data], [2, 0]);
  });

  it("says that a batch before held NaN, where PyTorch cannot go on", () => {
    const observer = new HistogramObserver({ compat: "torch" });
    const message = (what) =>
      `HistogramObserver.observe: ${what} must not hold NaN, which has no place in a histogram`;
    const observe = (...values) => observer.observe(tensor(values));
    refuses(() => observe(NaN), RangeError, "ZP_NON_FINITE", message("x"));
    refuses(() => observe(1, 2), RangeError, "ZP_NON_FINITE", message("a batch before x"));
    observer.reset();
    observe(1, 2);
    assert.equal(observer.maxVal.data[0], 2);
  });

  it("refuses bins that are no count", () => {
    for (const bins of [0, 1.5, 2 ** 21]) {
      refuses(
        () => new HistogramObserver({ bins }),
        RangeError,
        "ZP_INVALID_OPTION",
        `HistogramObserver: options.bins must be an integer from 1 to 1048576, got ${bins}`,
      );
    }
  });
});

describe("large batches", () => {
  const n = 3_000_017;
  const random = new Random(5);
  const data = new Float32Array(n);
  for (let i = 0; i < n; i++) data[i] = random.between(-3, 3);
  data[2_999_999] = 7;
  data[1_048_575] = -9;

  it("go through a min/max observer in tiles, whose joint range is that of the whole", () => {
    const observer = new MinMaxObserver();
    observer.observe(data);
    assert.deepEqual([observer.minVal.data[0], observer.maxVal.data[0]], [-9, 7]);
    const moving = new MovingAverageMinMaxObserver();
    moving.observe(data);
    assert.deepEqual([moving.minVal.data[0], moving.maxVal.data[0]], [-9, 7]);
  });

  it("keep a NaN of any tile, and refuse it by default", () => {
    const holed = data.slice();
    holed[2_000_000] = NaN;
    const torch = new MinMaxObserver({ compat: "torch" });
    torch.observe(holed);
    assert.ok(Number.isNaN(torch.minVal.data[0]) && Number.isNaN(torch.maxVal.data[0]));
    refuses(() => new MinMaxObserver().observe(holed), RangeError, "ZP_NON_FINITE", /holds NaN/);
  });

  // Channels smaller than a tile, larger than one, and a row of all channels larger than one.
  for (const [shape, chAxis] of [
    [[300, 10_000], 0],
    [[300, 10_000], 1],
    [[2, 1_500_000], 0],
    [[2, 1_500_000], 1],
    [[2, 3, 500_000], 1],
    [[3, 500, 2000], -1],
    [[3, 500, 2000], 0],
  ]) {
    it(`per channel ${chAxis} of [${shape}]`, () => {
      const size = shape.reduce((product, length) => product * length, 1);
      const x = { data: data.subarray(0, size), shape };
      const observer = new PerChannelMinMaxObserver({ chAxis });
      observer.observe(x);
      const axis = (chAxis + shape.length) % shape.length;
      const inner = shape.slice(axis + 1).reduce((product, length) => product * length, 1);
      const min = new Float32Array(shape[axis]).fill(Infinity);
      const max = new Float32Array(shape[axis]).fill(-Infinity);
      for (let i = 0; i < size; i++) {
        const channel = Math.floor(i / inner) % shape[axis];
        if (data[i] < min[channel]) min[channel] = data[i];
        if (data[i] > max[channel]) max[channel] = data[i];
      }
      sameFloats(observer.minVal.data, min);
      sameFloats(observer.maxVal.data, max);
    });
  }

  it("leave no copy behind: the observer holds no more than its range", () => {
    const observer = new MinMaxObserver();
    observer.observe(data);
    assert.ok(JSON.stringify(observer).length < 200);
  });
});

describe("the state of an observer", () => {
  it("cannot be changed through what it gives", () => {
    const observer = new MinMaxObserver();
    observer.observe(tensor([1, 2]));
    observer.minVal.data[0] = -5;
    assert.equal(observer.minVal.data[0], 1);
    const histogram = new HistogramObserver({ bins: 2 });
    histogram.observe(tensor([1, 2]));
    histogram.histogram.data[0] = 9;
    assert.equal(histogram.histogram.data[0], 1);
  });

  it("is forgotten by reset", () => {
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

  it("prints the same in Node's console, and not what it is made of", () => {
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

describe("batches that do not fit", () => {
  it("of one axis are refused per channel, as in PyTorch", () => {
    refuses(
      () => new PerChannelMinMaxObserver().observe(tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "PerChannelMinMaxObserver.observe: x must have at least 2 axes, as PyTorch's observer takes " +
        "it, got shape [2]",
    );
  });

  it("without the channels' axis are refused", () => {
    refuses(
      () => new PerChannelMinMaxObserver({ chAxis: -3 }).observe(tensor([[1, 2]])),
      RangeError,
      "ZP_INVALID_AXIS",
      /x must have axis -3, options\.chAxis, got shape \[1, 2\]/,
    );
  });

  it("of another number of channels are refused; compat repeats a single one, as PyTorch does", () => {
    const [one, two] = [
      tensor([[1, 2]]),
      tensor([
        [5, 0],
        [0, 3],
      ]),
    ];
    for (const type of [PerChannelMinMaxObserver, MovingAveragePerChannelMinMaxObserver]) {
      const observer = new type();
      observer.observe(one);
      refuses(
        () => observer.observe(two),
        RangeError,
        "ZP_SHAPE_MISMATCH",
        /observe: x must have 1 channels, as the batches before it, got 2/,
      );
    }
    const torch = new PerChannelMinMaxObserver({ compat: "torch" });
    torch.observe(one);
    torch.observe(two);
    assert.deepEqual([...torch.minVal.data], [0, 0]);
    assert.deepEqual([...torch.maxVal.data], [5, 3]);
    torch.observe(one);
    assert.deepEqual([...torch.maxVal.data], [5, 3]);
    refuses(
      () => torch.observe(tensor([[1], [2], [3]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /must have 2 channels, .* got 3/,
    );
  });
});

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

  it("by observers that choose nothing", () => {
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

  it("refuses what is no options, and checks options when it makes an observer", () => {
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

describe("observers that choose nothing", () => {
  it("pass batches on and have no qparams", () => {
    for (const observer of [
      new PlaceholderObserver(),
      new NoopObserver(),
      new RecordingObserver(),
      new ReuseInputObserver(),
    ]) {
      const x = tensor([1]);
      assert.equal(observer.observe(x), x);
      refuses(
        () => observer.calculateQParams(),
        TypeError,
        "ZP_NO_QPARAMS",
        /calculateQParams: this observer chooses no scale and zero point/,
      );
    }
  });

  it("have PyTorch's defaults", () => {
    const { dtype, qscheme, eps, isDynamic, quantMin } = new PlaceholderObserver();
    assert.deepEqual(
      { dtype, qscheme, eps, isDynamic, quantMin },
      {
        dtype: "float32",
        qscheme: "per_tensor_affine",
        eps: 2 ** -23,
        isDynamic: false,
        quantMin: undefined,
      },
    );
    assert.equal(new NoopObserver().dtype, "float16");
    assert.equal(new RecordingObserver().dtype, "quint8");
  });

  it("RecordingObserver does not save what was transferred away", () => {
    const observer = new RecordingObserver();
    observer.observe(tensor([1, 2]));
    const [{ data }] = observer.tensors;
    structuredClone(data.buffer, { transfer: [data.buffer] });
    refuses(
      () => JSON.stringify(observer),
      TypeError,
      "ZP_DETACHED",
      /^RecordingObserver\.toJSON: the memory of tensors\[0\]\.data, of type Float32Array, is det/,
    );
  });

  it("RecordingObserver keeps copies", () => {
    const observer = new RecordingObserver();
    const x = tensor([1, 2]);
    observer.observe(x);
    x.data[0] = 5;
    assert.deepEqual([...observer.tensors[0].data], [1, 2]);
  });

  it("FixedQParamsObserver gives what it was given, rounded to float32", () => {
    const { scale, zeroPoint } = new FixedQParamsObserver({
      scale: 0.1,
      zeroPoint: 7,
    }).calculateQParams();
    sameFloats(scale.data, [0.1]);
    assert.deepEqual([...zeroPoint.data], [7]);
    refuses(() => new FixedQParamsObserver(), TypeError, "ZP_INVALID_SCALE", /, got undefined$/);
  });

  it("FixedQParamsObserver takes a scale that is not > 0, as PyTorch does, and convert does not", () => {
    for (const scale of [0, -1]) {
      const activation = FixedQParamsObserver.withArgs({ scale, zeroPoint: 0 });
      assert.equal(activation().calculateQParams().scale.data[0], scale);
      const model = new Sequential([new Linear(tensor([[1]]))]);
      const qconfig = new QConfig({ activation, weight: defaultWeightObserver });
      refuses(
        () => convert(prepare(model, qconfig)),
        RangeError,
        "ZP_INVALID_SCALE",
        "convert: the scale of this layer's input must be finite and > 0, as float32 too, got " +
          `${scale} (in layer "0", Linear)`,
      );
    }
  });

  it("FixedQParamsObserver refuses what float32 and int32 cannot hold", () => {
    const where = "FixedQParamsObserver: options";
    for (const scale of [NaN, Infinity, 1e300]) {
      refuses(
        () => new FixedQParamsObserver({ scale, zeroPoint: 0 }),
        RangeError,
        "ZP_INVALID_SCALE",
        `${where}.scale must be a number, finite as float32 too, got ${scale}`,
      );
    }
    for (const zeroPoint of [2 ** 32 + 5, 2 ** 31, 0.5, NaN, undefined, "1"]) {
      refuses(
        () => new FixedQParamsObserver({ scale: 1, zeroPoint }),
        typeof zeroPoint === "number" ? RangeError : TypeError,
        "ZP_INVALID_ZERO_POINT",
        `${where}.zeroPoint must be an integer from -2147483648 to 2147483647 for dtype int32, got ` +
          (typeof zeroPoint === "string" ? `"${zeroPoint}"` : zeroPoint),
      );
    }
    const last = new FixedQParamsObserver({ scale: 2 ** -149, zeroPoint: -(2 ** 31) });
    assert.equal(last.calculateQParams().zeroPoint.data[0], -(2 ** 31));
  });
});

describe("the edges of PyTorch's arithmetic", () => {
  const observe = (values, options) => {
    const observer = new MinMaxObserver(options);
    observer.observe(tensor(values));
    const { scale, zeroPoint } = observer.calculateQParams();
    return [scale.data[0], zeroPoint.data[0]];
  };

  it("all zero: the smallest scale and zero point 0", () => {
    assert.deepEqual(observe([0, 0]), [2 ** -23, 0]);
  });

  it("constant: a range from 0", () => {
    assert.deepEqual(observe([5]), [Math.fround(5 / 255), 0]);
    assert.deepEqual(observe([-5]), [Math.fround(5 / 255), 255]);
  });

  it("symmetric weights reach both ends: 127.5 steps on either side", () => {
    const options = { dtype: "qint8", qscheme: "per_tensor_symmetric" };
    assert.deepEqual(observe([-1, 1], options), [Math.fround(1 / 127.5), 0]);
  });

  it("subnormal: the smallest scale", () => {
    assert.deepEqual(observe([1e-40]), [2 ** -23, 0]);
  });
});

describe("instances", () => {
  it("make observers that run on their own core", async () => {
    const instance = await create();
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
  class Both extends Twice {
    async observeAsync(x) {
      await super.observeAsync(twice(x));
      return x;
    }
  }
  class BothAlone extends MinMaxObserver {
    observe = (x) => super.observe(twice(x));
    observeAsync = (x) => super.observeAsync(twice(x));
  }
  const x = tensor([1, 3]);

  for (const Observer of [Twice, TwiceHistogram, Both, BothAlone]) {
    it(`keeps it on either thread: ${Observer.name}`, async () => {
      const [here, away] = [new Observer(), new Observer()];
      here.observe(x);
      await away.observeAsync(x);
      assert.equal(here.maxVal.data[0], 6);
      assert.equal(away.maxVal.data[0], 6);
    });
  }

  it("is what a model is calibrated and its weights are quantized with", async () => {
    const model = new Sequential([new Linear(tensor([[1, 2]]))]);
    const qconfig = new QConfig({
      activation: Twice,
      weight: Twice.withArgs({ dtype: "qint8", qscheme: "per_tensor_symmetric" }),
    });
    const prepared = prepare(model, qconfig);
    await prepared.forwardAsync(tensor([[1, 3]]));
    const { input, output } = prepared.observers[0];
    assert.equal(input.maxVal.data[0], 6);
    assert.equal(output.maxVal.data[0], 14);
    const [here, away] = [convert(prepared), await convertAsync(prepared)];
    assert.equal(String(here.report()), String(away.report()));
    here.dispose();
    away.dispose();
  });
});
