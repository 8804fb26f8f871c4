import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, linear, QuantizedLinear, quantize, tensor } from "zeropoint";
import { Random, sameFloats, sameTensor } from "../support/asserts.mjs";
import { dot, slicesOf } from "../support/reference.mjs";
import { ACCUMULATE, weightOptions } from "./cases.mjs";

await init();

/**
 * Asserts that y is input · weightᵀ + bias within the documented bound.
 * @param weight  the real values, not rounded to float32 where the library does not round them
 */
function within(y, input, weight, bias, k, accumulate, message = "") {
  const n = weight.length / k;
  const rows = input.length / k;
  assert.equal(y.length, rows * n);
  for (let m = 0; m < rows; m++) {
    for (let i = 0; i < n; i++) {
      const own = bias?.[i] ?? 0;
      const exact = dot(
        input.subarray(m * k, (m + 1) * k),
        weight.subarray(i * k, (i + 1) * k),
        own,
      );
      const bound =
        accumulate === "exact"
          ? 2 ** -24 * ((k + 1) * exact.magnitude + Math.abs(own))
          : 2 ** -23 * (k + 2) * (exact.magnitude + Math.abs(own));
      const error = Math.abs(y[m * n + i] - exact.y);
      // The reference itself sums in double precision, whose error is 2^-29 of the bound or less.
      assert.ok(error <= bound * (1 + 2 ** -20), `${message} [${m}, ${i}]: off by ${error}`);
    }
  }
}

/** The values of a quantized tensor in double precision: scale * (code - zero point). */
function realValues(q) {
  const { data, shape, scale, zeroPoint, groupSize } = q;
  const columns = shape[1];
  return Float64Array.from(data, (code, i) => {
    if (typeof scale === "number") return Math.fround(scale) * (code - zeroPoint);
    let slice = q.axis === 0 ? Math.floor(i / columns) : i % columns;
    if (groupSize !== undefined) slice = slicesOf(shape, q).of(i);
    return scale.data[slice] * (code - zeroPoint.data[slice]);
  });
}

describe("linear with float weights", () => {
  it("multiplies by the transposed weight and adds the bias", () => {
    const y = linear(
      tensor([
        [1, 2],
        [3, 4],
      ]),
      tensor([
        [5, 6],
        [7, 8],
        [9, 10],
      ]),
      tensor([0.5, 0, -1]),
    );
    sameTensor(y, { data: [17.5, 23, 28, 39.5, 53, 66], shape: [2, 3] });
  });

  const shapes = [
    [[4], [3]],
    [
      [1, 4],
      [1, 3],
    ],
    [
      [2, 5, 4],
      [2, 5, 3],
    ],
    [
      [2, 1, 2, 4],
      [2, 1, 2, 3],
    ],
    [
      [0, 4],
      [0, 3],
    ],
    [
      [2, 0, 4],
      [2, 0, 3],
    ],
  ];
  const weight = tensor(new Random(50).normal(12), [3, 4]);
  for (const [shape, outShape] of shapes) {
    it(`gives input [${shape}] the shape [${outShape}]`, () => {
      const size = shape.reduce((a, b) => a * b, 1);
      const input = tensor(new Random(51).normal(size), shape);
      const y = linear(input, weight);
      assert.deepEqual(y.shape, outShape);
      within(y.data, input.data, weight.data, undefined, 4, "exact");
    });
  }

  it("adds the bias alone where there is nothing to sum", () => {
    const input = tensor(new Float32Array(0), [2, 0]);
    const none = tensor(new Float32Array(0), [3, 0]);
    sameTensor(linear(input, none), { data: [0, 0, 0, 0, 0, 0], shape: [2, 3] });
    const y = linear(input, none, tensor([1, 2, 3]));
    sameTensor(y, { data: [1, 2, 3, 1, 2, 3], shape: [2, 3] });
  });

  it("gives no values for no outputs", () => {
    const y = linear(tensor([[1, 2]]), tensor(new Float32Array(0), [0, 2]));
    sameTensor(y, { data: [], shape: [1, 0] });
  });

  it("takes leading axes whose product is beyond 32 bits where there are no values", () => {
    const input = { data: new Float32Array(0), shape: [70_000, 70_000, 0] };
    const y = linear(input, tensor(new Float32Array(0), [0, 0]));
    assert.deepEqual(y.shape, [70_000, 70_000, 0]);
  });

  for (const accumulate of ACCUMULATE) {
    it(`keeps its bound for every K and N around a vector's width: ${accumulate}`, () => {
      const random = new Random(52);
      for (const k of [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 333]) {
        for (const n of [1, 2, 3, 4, 5, 8, 9]) {
          const rows = 1 + ((k + n) % 4);
          const input = random.normal(rows * k, 10);
          const w = random.normal(n * k);
          const bias = random.normal(n);
          const y = linear(tensor(input, [rows, k]), tensor(w, [n, k]), bias, { accumulate });
          within(y.data, input, w, bias, k, accumulate, `K ${k}, N ${n}`);
        }
      }
    });

    it(`keeps its bound where terms cancel: ${accumulate}`, () => {
      const random = new Random(53);
      const k = 1000;
      const input = random.normal(k).map((value, i) => value * 10 ** (i % 12));
      const w = new Float32Array(k).fill(1);
      for (let i = 0; i < k; i += 2) input[i + 1] = -input[i];
      const y = linear(tensor(input, [k]), tensor(w, [1, k]), undefined, { accumulate });
      within(y.data, input, w, undefined, k, accumulate);
    });

    it(`passes on NaN and infinities as torch.nn.functional.linear does: ${accumulate}`, () => {
      const w = tensor([
        [1, 1, 1],
        [-1, 1, 0],
      ]);
      const rows = [
        [
          [NaN, 1, 1],
          [NaN, NaN],
        ],
        [
          [Infinity, 1, 1],
          [Infinity, -Infinity],
        ],
        [
          [Infinity, -Infinity, 1],
          [NaN, -Infinity],
        ],
        [
          [1, 1, Infinity],
          [Infinity, NaN],
        ],
      ];
      for (const [row, expected] of rows) {
        sameFloats(linear(tensor(row), w, null, { accumulate }).data, expected, `${row}`);
      }
    });

    it(`passes on NaN and infinities of a bias: ${accumulate}`, () => {
      const x = tensor([1, 1, 1]);
      const w = tensor([
        [1, 1, 1],
        [-1, 1, 0],
      ]);
      const bias = tensor([Infinity, NaN]);
      sameFloats(linear(x, w, bias, { accumulate }).data, [Infinity, NaN]);
    });
  }

  it("does not overflow on the way in exact sums", () => {
    const big = tensor([3e38, 3e38, -3e38]);
    sameFloats(linear(big, tensor([[1, 1, 1]])).data, [3e38]);
  });

  for (const accumulate of ACCUMULATE) {
    it(`gives rows the same bits in batches of every size, begun at every row: ${accumulate}`, () => {
      const random = new Random(54);
      const w = tensor(random.normal(9 * 37), [9, 37]);
      const input = random.normal(11 * 37);
      const layer = new QuantizedLinear(w, { accumulate });
      const products = [(x) => linear(x, w, null, { accumulate }), (x) => layer.forward(x)];
      for (const multiply of products) {
        const together = multiply(tensor(input, [11, 37])).data;
        for (let first = 0; first < 11; first++) {
          for (let end = first + 1; end <= 11; end++) {
            const batch = multiply(tensor(input.slice(37 * first, 37 * end), [end - first, 37]));
            const expected = together.subarray(9 * first, 9 * end);
            sameFloats(batch.data, expected, `rows ${first} to ${end}`);
          }
        }
      }
      layer.dispose();
    });
  }

  it("takes typed arrays for one row and for the bias", () => {
    sameFloats(linear(Float64Array.of(1, 2), tensor([[3, 4]]), Int8Array.of(1)).data, [12]);
  });
});

describe("linear with quantized weights", () => {
  for (const accumulate of ACCUMULATE) {
    it(`keeps its bound for every dtype and granularity: ${accumulate}`, () => {
      const random = new Random(60);
      for (const [n, k, groupSize] of [
        [1, 1, 1],
        [3, 16, 8],
        [5, 34, 17],
        [8, 33, 11],
        [7, 64, 32],
        [9, 70, 32],
        [2, 3, 32],
      ]) {
        const w = tensor(random.normal(n * k), [n, k]);
        const input = random.normal(3 * k, 5);
        const bias = random.normal(n);
        for (const options of weightOptions(groupSize)) {
          const q = quantize(w, options);
          const y = linear(tensor(input, [3, k]), q, bias, { accumulate });
          const message = `N ${n}, K ${k}, ${JSON.stringify(options)}`;
          within(y.data, input, realValues(q), bias, k, accumulate, message);
        }
      }
    });
  }

  it("agrees with the dequantized weight to one more rounding", () => {
    const random = new Random(61);
    const w = tensor(random.normal(6 * 40), [6, 40]);
    const input = tensor(random.normal(40));
    for (const options of weightOptions(8)) {
      const q = quantize(w, options);
      const y = linear(input, q);
      const viaFloat = linear(input, dequantize(q));
      y.data.forEach((value, i) => {
        const row = dequantize(q).data.subarray(40 * i, 40 * (i + 1));
        const bound = 2 ** -24 * 3 * dot(input.data, row).magnitude;
        assert.ok(Math.abs(value - viaFloat.data[i]) <= bound, JSON.stringify(options));
      });
    }
  });

  it("takes scales that were given to quantize as a tensor without an axis", () => {
    const w = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    const x = tensor([1, 10, 100]);
    const forms = [
      [{ scale: [[1], [2]] }, { scale: [1, 2], axis: 0 }],
      [{ scale: [1, 2, 4] }, { scale: [1, 2, 4], axis: 1 }],
      [{ scale: [[1, 2, 4]] }, { scale: [1, 2, 4], axis: 1 }],
      [{ scale: [[0.5]] }, { scale: 0.5 }],
    ];
    for (const [given, same] of forms) {
      sameTensor(
        linear(x, quantize(w, given)),
        linear(x, quantize(w, same)),
        JSON.stringify(given),
      );
    }
  });

  it("adds the bias alone where there is nothing to sum", () => {
    const input = tensor(new Float32Array(0), [1, 0]);
    for (const option of [
      { scale: 1 },
      { scale: 1, axis: 0 },
      { scale: 1, axis: 1 },
      { scale: 1, groupSize: 4 },
    ]) {
      const q = quantize(tensor(new Float32Array(0), [2, 0]), option);
      sameTensor(linear(input, q, tensor([1, 2])), { data: [1, 2], shape: [1, 2] });
    }
  });

  it("gives no values for no outputs", () => {
    for (const option of [{ scale: 1 }, { axis: 0 }, { groupSize: 2 }]) {
      const q = quantize(tensor(new Float32Array(0), [0, 2]), option);
      sameTensor(linear(tensor([1, 2]), q), { data: [], shape: [0] });
    }
  });

  it("passes on NaN and infinities", () => {
    const q = quantize(tensor([[1, -1, 0]]), { scale: 1 });
    for (const accumulate of ACCUMULATE) {
      const y = (row) => linear(tensor(row), q, null, { accumulate }).data[0];
      assert.equal(y([Infinity, 1, 1]), Infinity);
      assert.equal(y([1, Infinity, 1]), -Infinity);
      assert.equal(y([Infinity, Infinity, 1]), NaN);
      assert.equal(y([1, 1, Infinity]), NaN);
      assert.equal(y([NaN, 1, 1]), NaN);
    }
  });
});
