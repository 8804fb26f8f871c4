import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, quantizationError, quantize, tensor } from "zeropoint";
import { LENGTHS, Random, refuses } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { meanError, slicesOf } from "../support/reference.mjs";

await init();

const METRICS = ["mse", "mae", "max", "sqnr", "cosine"];
const none = { data: new Float32Array(0), shape: [0] };

describe("quantizationError", () => {
  it("is the notebooks' error, mse by default", () => {
    const x = tensor([
      [191.6, -13.5, 728.6],
      [92.14, 295.5, -184],
      [0, 684.6, 245.5],
    ]);
    assert.equal(quantizationError(x, dequantize(quantize(x, { axis: 0 }))), 1.8084441423416138);
    const given = dequantize(quantize(x, { scale: 3.5, zeroPoint: -70 }));
    assert.equal(quantizationError(x, given, "mse"), 170.87530517578125);
  });

  const a = tensor([3, -4, 0, 1]);
  const b = tensor([3, -2, 1, 1]);
  const byHand = {
    mse: 5 / 4,
    mae: 3 / 4,
    max: 2,
    sqnr: 10 * Math.log10(26 / 5),
    cosine: 18 / Math.sqrt(26 * 15),
  };
  for (const metric of METRICS) {
    it(`${metric} is what it says`, () => {
      const value = quantizationError(a, b, metric);
      // Some engines' logarithm and square root of the expected value round otherwise.
      assert.ok(Math.abs(value - byHand[metric]) <= 1e-15 * Math.abs(byHand[metric]), `${value}`);
    });

    it(`${metric} is NaN for no values`, () => {
      assert.equal(quantizationError(none, none, metric), Number.NaN);
    });

    it(`${metric} is NaN where a value is`, () => {
      for (const length of LENGTHS.slice(1)) {
        const ones = tensor(new Float32Array(length).fill(1));
        for (const at of [0, length - 1]) {
          const values = new Float32Array(length).fill(1);
          values[at] = Number.NaN;
          assert.equal(quantizationError(tensor(values), ones, metric), Number.NaN);
          assert.equal(quantizationError(ones, tensor(values), metric), Number.NaN);
        }
      }
    });
  }

  it("of equal tensors is 0, or Infinity dB, or cosine 1", () => {
    assert.equal(quantizationError(a, a, "mse"), 0);
    assert.equal(quantizationError(a, a, "mae"), 0);
    assert.equal(quantizationError(a, a, "max"), 0);
    assert.equal(quantizationError(a, a, "sqnr"), Number.POSITIVE_INFINITY);
    assert.equal(quantizationError(a, a, "cosine"), 1);
  });

  it("has cosine NaN for a zero vector", () => {
    const zeros = tensor([0, 0, 0, 0]);
    assert.equal(quantizationError(a, zeros, "cosine"), Number.NaN);
    assert.equal(quantizationError(zeros, a, "cosine"), Number.NaN);
  });

  it("uses the first tensor as the signal", () => {
    assert.equal(quantizationError(b, a, "sqnr"), 10 * Math.log10(15 / 5));
  });

  for (const metric of ["mse", "mae"]) {
    it(`has the bits of PyTorch's one-thread mean: ${metric}`, () => {
      const random = new Random(31);
      for (const length of [
        1, 7, 8, 9, 31, 32, 33, 127, 128, 255, 1000, 4096, 5003, 40_001, 70_000,
      ]) {
        const one = random.normal(length, 100);
        const other = random.normal(length, 100);
        assert.equal(
          quantizationError(tensor(one), tensor(other), metric),
          meanError(one, other, metric),
          `${length} values`,
        );
      }
    });
  }

  /** max, sqnr and cosine of two arrays, computed in doubles. */
  function inDoubles(one, other) {
    const differences = Array.from(one, (value, i) => value - other[i]);
    const sumOf = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
    const signal = sumOf(one, one);
    return {
      max: Math.max(...differences.map(Math.abs)),
      sqnr: 10 * Math.log10(signal / sumOf(differences, differences)),
      cosine: sumOf(one, other) / Math.sqrt(signal * sumOf(other, other)),
    };
  }

  it("sums max, sqnr and cosine in double precision", () => {
    const random = new Random(32);
    for (const length of LENGTHS.slice(1)) {
      const one = random.normal(length, 3);
      const other = random.normal(length, 3);
      for (const [metric, value] of Object.entries(inDoubles(one, other))) {
        const actual = quantizationError(tensor(one), tensor(other), metric);
        // Sums of n doubles in two orders differ by at most n roundings of the largest partial sum.
        const bound = 4 * length * 2 ** -52 * Math.max(1, Math.abs(value));
        assert.ok(Math.abs(actual - value) <= bound, `${metric}: ${actual}, ${value}`);
      }
    }
  });

  it("does not overflow in double precision where float32 would", () => {
    const big = tensor([1e30, -1e30]);
    assert.equal(quantizationError(big, tensor([0, 0]), "mse"), Number.POSITIVE_INFINITY);
    assert.equal(quantizationError(big, tensor([-1e30, -1e30]), "cosine"), 0);
    assert.equal(quantizationError(big, tensor([0, 0]), "sqnr"), 0);
  });

  it("compares typed arrays and tensors of every form", () => {
    assert.equal(quantizationError(Float32Array.of(1, 2), { data: [1, 4], dims: [2] }), 2);
  });
});

describe("quantizationError refuses", () => {
  const x = tensor([1, 2]);
  it("what is not a tensor, before it looks at shapes or metric", () => {
    refuses(
      () => quantizationError([1], x, "?"),
      TypeError,
      "ZP_INVALID_TENSOR",
      /: a must be a tensor/,
    );
    refuses(
      () => quantizationError(x, 1, "?"),
      TypeError,
      "ZP_INVALID_TENSOR",
      /: b must be a tensor/,
    );
    refuses(
      () => quantizationError(x),
      TypeError,
      "ZP_INVALID_TENSOR",
      /: b must be .* got undefined/,
    );
  });

  it("a quantized tensor, which must be dequantized first", () => {
    const message = /: b must be a tensor of real values, got a quantized tensor; dequantize\(…\)/;
    refuses(() => quantizationError(x, quantize(x)), TypeError, "ZP_INVALID_TENSOR", message);
  });

  const shapes = [
    [[2], [3]],
    [[2, 1], [2]],
    [
      [1, 2],
      [2, 1],
    ],
    [
      [0, 2],
      [2, 0],
    ],
    [[1], []],
  ];
  for (const [one, other] of shapes) {
    it(`shapes [${one}] and [${other}], before it looks at the metric`, () => {
      const of = (shape) => tensor(new Float32Array(shape.reduce((p, n) => p * n, 1)), shape);
      refuses(
        () => quantizationError(of(one), of(other), "?"),
        RangeError,
        "ZP_SHAPE_MISMATCH",
        `quantizationError: b must have the shape of a, [${one.join(", ")}], ` +
          `got [${other.join(", ")}]`,
      );
    });
  }

  it("an unknown metric", () => {
    refuses(
      () => quantizationError(x, x, "rmse"),
      RangeError,
      "ZP_INVALID_OPTION",
      'quantizationError: metric must be "mse", "mae", "max", "sqnr" or "cosine", got "rmse"',
    );
    refuses(() => quantizationError(x, x, 2), TypeError, "ZP_INVALID_OPTION", /got 2$/);
    refuses(() => quantizationError(x, x, null), TypeError, "ZP_INVALID_OPTION", /got null$/);
  });
});

for (const zp of builds) {
  describe(`quantizationError slice by slice, ${zp.name}`, () => {
    const random = new Random(77);
    const values = (size) => new Float32Array(size).map(() => random.between(-2, 3));

    /** The errors of all slices, each measured as a tensor. */
    const oneByOne = (a, b, shape, metric, options) => {
      const { count, of } = slicesOf(shape, options);
      const pairs = Array.from({ length: count }, () => [[], []]);
      for (let i = 0; i < a.length; i++) {
        pairs[of(i)][0].push(a[i]);
        pairs[of(i)][1].push(b[i]);
      }
      return Float32Array.from(pairs, ([x, y]) =>
        zp.quantizationError(Float32Array.from(x), Float32Array.from(y), metric),
      );
    };

    const cases = [
      [[4, 6, 10], { axis: 0 }, [4, 1, 1]],
      [[4, 6, 10], { axis: 1 }, [1, 6, 1]],
      [[4, 6, 10], { axis: -1 }, [1, 1, 10]],
      [[4, 6, 10], { groupSize: 5 }, [48, 1]],
      [[4, 6, 10], { groupSize: 4 }, [72, 1]],
      [[5000, 3], { axis: 1 }, [1, 3]],
      [[2, 140_000], { axis: 0 }, [2, 1]],
      [[140_000, 2], { axis: 1 }, [1, 2]],
    ];
    for (const [shape, options, expected] of cases) {
      for (const metric of METRICS) {
        it(`gives the ${metric} of each slice as a tensor: [${shape}], ${JSON.stringify(options)}`, () => {
          const size = shape.reduce((product, length) => product * length, 1);
          const [a, b] = [values(size), values(size)];
          const errors = zp.quantizationError(
            { data: a, shape },
            { data: b, shape },
            metric,
            options,
          );
          assert.deepEqual(errors.shape, expected);
          assert.deepEqual(errors.data, oneByOne(a, b, shape, metric, options));
        });
      }
    }
  });
}

describe("quantizationError with options", () => {
  const x = tensor([
    [1, 2],
    [3, 4],
  ]);

  it("is NaN for slices without values, and empty without slices", () => {
    const empty = { data: new Float32Array(0), shape: [3, 0] };
    const rows = quantizationError(empty, empty, "mse", { axis: 0 });
    assert.deepEqual([...rows.data], [NaN, NaN, NaN]);
    const columns = quantizationError(empty, empty, "mse", { axis: 1 });
    assert.deepEqual(columns.shape, [1, 0]);
  });

  it("is a number without axis and groupSize", () => {
    assert.equal(quantizationError(x, x, "mse", {}), 0);
    assert.equal(quantizationError(x, x, "mse", { axis: undefined }), 0);
  });

  it("refuses both, and others", () => {
    const measure = (options) => () => quantizationError(x, x, "mse", options);
    const both = { axis: 0, groupSize: 2 };
    refuses(measure(both), TypeError, "ZP_CONFLICTING_OPTIONS", /exclude each other/);
    refuses(measure({ axis: 2 }), RangeError, "ZP_INVALID_AXIS", /options.axis must be 0 or 1/);
    refuses(measure({ groupSize: 0 }), RangeError, "ZP_INVALID_GROUP_SIZE", /options.groupSize/);
    refuses(measure({ dim: 0 }), TypeError, "ZP_UNKNOWN_OPTION", /no "dim"/);
  });
});
