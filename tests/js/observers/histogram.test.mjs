import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import {
  HistogramObserver,
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  PerChannelMinMaxObserver,
} from "zeropoint/torch";
import { Random, refuses, sameFloats } from "../support/asserts.mjs";
import { assertTensor, cases, decodeTensor } from "../support/vectors.mjs";
import { assertQParams, assertRange, optionsOf, restored } from "./asserts.mjs";

await init();

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

  it("reports a range that is wider than float32", () => {
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

  it("names an earlier batch with NaN in the error, where PyTorch fails, too", () => {
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

  it("refuses bins that are not a positive integer", () => {
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
