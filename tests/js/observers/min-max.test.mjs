import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import {
  MinMaxObserver,
  MovingAverageMinMaxObserver,
  MovingAveragePerChannelMinMaxObserver,
  PerChannelMinMaxObserver,
} from "zeropoint/torch";
import { refuses } from "../support/asserts.mjs";
import { assertTensor, cases, decodeTensor } from "../support/vectors.mjs";
import { assertQParams, assertRange, optionsOf, restored } from "./asserts.mjs";

await init();

/** The classes by name, and how many cases there are of each. */
const MIN_MAX_FAMILY = {
  MinMaxObserver: [MinMaxObserver, 16],
  MovingAverageMinMaxObserver: [MovingAverageMinMaxObserver, 20],
  PerChannelMinMaxObserver: [PerChannelMinMaxObserver, 21],
  MovingAveragePerChannelMinMaxObserver: [MovingAveragePerChannelMinMaxObserver, 25],
};

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

  const one = tensor([[1, 2]]);
  const two = tensor([
    [5, 0],
    [0, 3],
  ]);

  it("of another number of channels are refused", () => {
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
  });

  it("of one channel are repeated for several with compat, as in PyTorch", () => {
    const torch = new PerChannelMinMaxObserver({ compat: "torch" });
    torch.observe(one);
    torch.observe(two);
    assert.deepEqual([...torch.minVal.data], [0, 0]);
    assert.deepEqual([...torch.maxVal.data], [5, 3]);
    torch.observe(one);
    assert.deepEqual([...torch.maxVal.data], [5, 3]);
    torch.observe(tensor([[-8, 9]]));
    assert.deepEqual([...torch.minVal.data], [-8, -8]);
    assert.deepEqual([...torch.maxVal.data], [9, 9]);
    refuses(
      () => torch.observe(tensor([[1], [2], [3]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /must have 2 channels, .* got 3/,
    );
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
