import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { create, dequantize, init, linear, QuantizedLinear, quantize, tensor } from "zeropoint";
import { loadBuild } from "../../dist/build.js";
import { embedded } from "../../dist/embedded.js";
import { Memory } from "../../dist/memory.js";
import { PackedWeight } from "../../dist/packed-weight.js";
import { dot } from "./reference.mjs";
import { Random, refuses, sameFloats, sameTensor } from "./support.mjs";

await init();

const ACCUMULATE = ["exact", "float32"];
const WEIGHT_DTYPES = ["int2", "int4", "int8", "uint2", "uint4", "uint8"];

/** Ways to quantize a weight whose rows have a multiple of `groupSize` values. */
function weightOptions(groupSize) {
  const kinds = WEIGHT_DTYPES.flatMap((dtype) => [
    ...(dtype.startsWith("u") ? [] : [{ dtype }]),
    { dtype, scheme: "affine" },
  ]);
  const slicings = [{}, { axis: 0 }, { axis: 1 }, { groupSize }];
  return kinds.flatMap((kind) => slicings.map((slicing) => ({ ...kind, ...slicing })));
}

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
    if (groupSize !== undefined) slice = Math.floor(i / groupSize);
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
      const bias = tensor([Infinity, NaN]);
      sameFloats(linear(tensor([1, 1, 1]), w, bias, { accumulate }).data, [Infinity, NaN]);
    });
  }

  it("does not overflow on the way in exact sums", () => {
    const big = tensor([3e38, 3e38, -3e38]);
    sameFloats(linear(big, tensor([[1, 1, 1]])).data, [3e38]);
  });

  it("gives a row the same bits alone and in a batch", () => {
    const random = new Random(54);
    const w = tensor(random.normal(9 * 37), [9, 37]);
    const input = random.normal(11 * 37);
    const together = linear(tensor(input, [11, 37]), w);
    for (let m = 0; m < 11; m++) {
      const alone = linear(tensor(input.slice(37 * m, 37 * (m + 1))), w);
      sameFloats(alone.data, together.data.subarray(9 * m, 9 * (m + 1)), `row ${m}`);
    }
  });

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

describe("linear refuses", () => {
  const x = tensor([[1, 2]]);
  const w = tensor([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  const q = quantize(w);
  const cases = [
    [
      "an input that is no tensor",
      () => linear([1, 2], w),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^linear: input must be a tensor/,
    ],
    [
      "a quantized input",
      () => linear(q, w),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^linear: input must be .* got a quantized tensor/,
    ],
    [
      "a weight that is no tensor",
      () => linear(x),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^linear: weight must be a tensor.* got undefined$/,
    ],
    [
      "an input of another length",
      () => linear(tensor([1, 2, 3]), w),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "linear: input must have 2 values on its last axis, as weight of shape [3, 2] has, got shape [3]",
    ],
    [
      "a single value",
      () => linear(tensor(1), w),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /got shape \[\]$/,
    ],
    [
      "a weight of one axis",
      () => linear(x, tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "linear: weight must have shape [outFeatures, inFeatures], got [2]",
    ],
    [
      "a weight of three axes",
      () => linear(x, tensor([[[1, 2]]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /got \[1, 1, 2\]$/,
    ],
    [
      "a quantized weight of one axis",
      () => linear(x, quantize(tensor([1, 2]))),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /^linear: weight must have shape .* got \[2\]$/,
    ],
    [
      "a bias of another length",
      () => linear(x, w, tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "linear: bias must have shape [3], one value per row of weight, got [2]",
    ],
    [
      "a bias of two axes",
      () => linear(x, w, tensor([[1, 2, 3]])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /got \[1, 3\]$/,
    ],
    [
      "options in the place of the bias",
      () => linear(x, w, { accumulate: "float32" }),
      TypeError,
      "ZP_INVALID_TENSOR",
      "linear: bias must be a tensor: { data, shape }, { data, dims } or a typed array, got an object with accumulate",
    ],
    [
      "an unknown way to accumulate",
      () => linear(x, w, null, { accumulate: "float64" }),
      RangeError,
      "ZP_INVALID_OPTION",
      'linear: options.accumulate must be "exact" or "float32", got "float64"',
    ],
    [
      "an unknown option",
      () => linear(x, w, null, { bias: x }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      'linear: options has no "bias"; it takes accumulate, out',
    ],
    [
      "one scale per weight",
      () =>
        linear(
          x,
          quantize(w, {
            scale: [
              [1, 2],
              [3, 4],
              [5, 6],
            ],
          }),
        ),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "linear: weight.scale must be one number, one per row, one per column or one per group, got shape [3, 2] for a weight of shape [3, 2]",
    ],
    [
      "codes out of range",
      () => linear(x, { ...q, dtype: "int4", data: Int8Array.of(1, 2, 3, 4, 5, 99) }),
      RangeError,
      "ZP_INVALID_CODES",
      /^linear: weight\.data\[5\] must be from -8 to 7/,
    ],
    [
      "a quantized weight with a scale of 0",
      () => linear(x, { ...q, scale: 0 }),
      RangeError,
      "ZP_INVALID_SCALE",
      /^linear: weight\.scale/,
    ],
  ];
  for (const [name, work, type, code, message] of cases) {
    it(name, () => refuses(work, type, code, message));
  }

  for (const dtype of ["int16", "uint16", "int32"]) {
    it(`${dtype} weights by name`, () => {
      const wide = quantize(w, { dtype, scheme: "affine" });
      refuses(
        () => linear(x, wide),
        RangeError,
        "ZP_UNSUPPORTED_DTYPE",
        `linear: weight.dtype must be a dtype of 2 to 8 bits for the weight of a linear layer, got "${dtype}"`,
      );
    });
  }

  it("results of 2^32 values and more, though nothing is stored", () => {
    const tall = { data: new Float32Array(0), shape: [70_000, 0] };
    refuses(
      () => linear(tall, tall),
      RangeError,
      "ZP_SIZE_OVERFLOW",
      "linear: the result must have fewer than 2^32 values, got shape [70000, 70000]",
    );
  });

  it("results that the core has no room for, and works on", () => {
    const tall = { data: new Float32Array(0), shape: [40_000, 0] };
    refuses(
      () => linear(tall, tall),
      RangeError,
      "ZP_OUT_OF_MEMORY",
      /^linear: .*6400000\d+ bytes/,
    );
    sameFloats(linear(x, w).data, [5, 11, 17]);
  });
});

describe("PackedWeight", () => {
  it("gives its memory back when the core refuses the weight", async () => {
    const { module } = await loadBuild("test", embedded, { build: "baseline" });
    const blocks = new Set();
    const refusing = {
      ...module,
      allocate(bytes) {
        const address = module.allocate(bytes);
        blocks.add(address);
        return address;
      },
      release(address) {
        blocks.delete(address);
        module.release(address);
      },
      packWeight: () => "kInvalidScale",
    };
    const memory = new Memory(refusing);
    const weight = {
      ...{ outFeatures: 1, inFeatures: 2, dtype: "int8", granularity: "perTensor", groupSize: 0 },
      ...{ codes: Int8Array.of(1, 2), scales: [1], zeroPoints: [0] },
    };
    const pack = () => new PackedWeight({ module: refusing, memory }, "test", weight);
    assert.throws(pack, { code: "ZP_INVALID_SCALE" });
    // The scratch block stays, as always.
    assert.deepEqual([...blocks], memory.layOut("test", 0));
  });
});

describe("QuantizedLinear", () => {
  const random = new Random(70);
  const w = tensor(random.normal(6 * 32), [6, 32]);
  const bias = tensor(random.normal(6));
  const x = tensor(random.normal(2 * 3 * 32), [2, 3, 32]);

  it("computes what linear computes, bit for bit, from float weights and from codes", () => {
    for (const accumulate of ACCUMULATE) {
      for (const options of weightOptions(8)) {
        const q = quantize(w, options);
        for (const ownBias of [undefined, bias]) {
          const expected = linear(x, q, ownBias, { accumulate });
          const fromFloat = new QuantizedLinear(w, { ...options, bias: ownBias, accumulate });
          const fromCodes = new QuantizedLinear(q, { bias: ownBias, accumulate });
          sameTensor(fromFloat.forward(x), expected, JSON.stringify(options));
          sameTensor(fromCodes.forward(x), expected, JSON.stringify(options));
          fromFloat.dispose();
          fromCodes.dispose();
        }
      }
    }
  });

  it("says what it is", () => {
    const layer = new QuantizedLinear(w, { dtype: "int4", groupSize: 8 });
    const { data, shape, ...qparams } = quantize(w, { dtype: "int4", groupSize: 8 });
    assert.equal(layer.inFeatures, 32);
    assert.equal(layer.outFeatures, 6);
    assert.equal(layer.accumulate, "exact");
    assert.deepEqual(layer.qparams, qparams);
    assert.deepEqual(shape, [6, 32]);
    assert.equal(data.length, 192);
    layer.dispose();
  });

  it("keeps weights and bias of its own", () => {
    const q = quantize(w);
    const ownBias = tensor(bias);
    const layer = new QuantizedLinear(q, { bias: ownBias });
    const expected = layer.forward(x);
    q.data.fill(0);
    ownBias.data.fill(0);
    sameTensor(layer.forward(x), expected);
    layer.dispose();
  });

  it("works beside other layers and other work", () => {
    const layers = Array.from({ length: 20 }, (_, i) => new QuantizedLinear(w, { scale: i + 1 }));
    const expected = layers.map((_, i) => linear(x, quantize(w, { scale: i + 1 })));
    for (let i = 0; i < 20; i += 2) layers[i].dispose();
    quantize(tensor(new Float32Array(100_000).fill(1)));
    for (let i = 1; i < 20; i += 2) {
      sameTensor(layers[i].forward(x), expected[i]);
      layers[i].dispose();
    }
  });

  it("takes a weight without rows or columns", () => {
    const noRows = new QuantizedLinear(tensor(new Float32Array(0), [0, 3]), { scale: 1 });
    sameTensor(noRows.forward(tensor([1, 2, 3])), { data: [], shape: [0] });
    const noColumns = new QuantizedLinear(tensor(new Float32Array(0), [2, 0]), {
      scale: 1,
      bias: Float32Array.of(1, 2),
    });
    sameTensor(noColumns.forward(tensor([])), { data: [1, 2], shape: [2] });
    noRows.dispose();
    noColumns.dispose();
  });

  it("takes null for no bias", () => {
    const layer = new QuantizedLinear(w, { bias: null });
    sameTensor(layer.forward(x), linear(x, quantize(w)));
    layer.dispose();
  });

  it("writes into out, an array or a tensor, and returns it", () => {
    const layer = new QuantizedLinear(w, { axis: 0 });
    const expected = layer.forward(x);
    const array = new Float32Array(36);
    const fromArray = layer.forward(x, array);
    assert.equal(fromArray.data, array);
    sameTensor(fromArray, expected);
    const whole = tensor(new Float32Array(36), [2, 3, 6]);
    assert.equal(layer.forward(x, whole), whole);
    sameTensor(whole, expected);
    layer.dispose();
  });

  it("prints as PyTorch's layers do", () => {
    const text = (options) => {
      const layer = new QuantizedLinear(w, options);
      layer.dispose();
      return String(layer);
    };
    const start = "QuantizedLinear(in_features=32, out_features=6, dtype=";
    assert.equal(text(), `${start}int8)`);
    assert.equal(text({ axis: 0 }), `${start}int8, axis=0)`);
    assert.equal(text({ dtype: "int4", groupSize: 8 }), `${start}int4, group_size=8)`);
    assert.equal(text({ activations: "dynamic" }), `${start}int8, activations=dynamic)`);
  });

  it("writes to what a clone of a tensor holds", () => {
    const layer = new QuantizedLinear(w);
    const out = { data: new Float32Array(36), shape: [2, 3, 6] };
    const result = layer.forward(x, out);
    assert.equal(result.data, out.data);
    sameTensor(result, layer.forward(x));
    layer.dispose();
  });

  it("is written where a function without a layer is told to", () => {
    const bias = tensor(new Float32Array(6).fill(2));
    for (const weight of [w, quantize(w)]) {
      const out = tensor(new Float32Array(36), [2, 3, 6]);
      assert.equal(linear(x, weight, bias, { out }), out);
      sameTensor(out, linear(x, weight, bias));
      const { data } = weight === w ? w : x;
      const shared = data.subarray(0, 36);
      const message = "linear: options.out must not share memory with an input";
      const work = () => linear(x, weight, bias, { out: shared });
      refuses(work, RangeError, "ZP_INVALID_OUT", message);
    }
  });

  it("is done at once where there are no outputs, however many rows", () => {
    const layer = new QuantizedLinear(quantize(tensor([], [0, 0]), { scale: 1 }));
    const none = () => tensor(new Float32Array(0), [2 ** 32 - 1, 0]);
    const out = none();
    assert.equal(layer.forward(none(), out), out);
    layer.dispose();
  });

  it("refuses a wrong out, untouched", () => {
    const layer = new QuantizedLinear(w);
    const where = "QuantizedLinear.forward: out";
    const wrong = [
      [
        new Float64Array(36),
        TypeError,
        `${where} must be of type Float32Array, got Float64Array(36)`,
      ],
      [new Float32Array(35), RangeError, `${where} must have length 36, got 35`],
      [tensor(new Float32Array(36)), RangeError, `${where} must have shape [2, 3, 6], got [36]`],
      [{}, TypeError, `${where} must be a Float32Array or a tensor, got an empty object`],
      [x.data.subarray(0, 36), RangeError, `${where} must not share memory with an input`],
    ];
    const before = Float32Array.from(x.data);
    for (const [out, type, message] of wrong) {
      refuses(() => layer.forward(x, out), type, "ZP_INVALID_OUT", message);
    }
    sameFloats(x.data, before);
    layer.dispose();
  });

  it("refuses an input of another length, and works on", () => {
    const layer = new QuantizedLinear(w);
    refuses(
      () => layer.forward(tensor([1, 2])),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "QuantizedLinear.forward: input must have 32 values on its last axis, as weight of shape " +
        "[6, 32] has, got shape [2]",
    );
    refuses(
      () => layer.forward(),
      TypeError,
      "ZP_INVALID_TENSOR",
      /forward: input must be a tensor/,
    );
    sameTensor(layer.forward(x), linear(x, quantize(w)));
    layer.dispose();
  });

  const q = quantizeLater();
  function quantizeLater() {
    return { data: new Int8Array(192), shape: [6, 32], dtype: "int8", scale: 1, zeroPoint: 0 };
  }
  const refused = [
    [
      "what is no tensor",
      [[1, 2]],
      {},
      TypeError,
      "ZP_INVALID_TENSOR",
      /^QuantizedLinear: weight must be a tensor/,
    ],
    [
      "a weight of one axis",
      tensor([1, 2]),
      {},
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "QuantizedLinear: weight must have shape [outFeatures, inFeatures], got [2]",
    ],
    [
      "activations of another kind",
      w,
      { activations: "static" },
      RangeError,
      "ZP_INVALID_OPTION",
      'QuantizedLinear: options.activations must be "float32" or "dynamic", got "static"',
    ],
    [
      "int16",
      w,
      { dtype: "int16" },
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      'QuantizedLinear: options.dtype must be a dtype of 2 to 8 bits for the weight of a linear layer, got "int16"',
    ],
    [
      "int32 codes",
      { ...q, dtype: "int32", data: new Int32Array(192) },
      {},
      RangeError,
      "ZP_UNSUPPORTED_DTYPE",
      /weight\.dtype must be a dtype of 2 to 8 bits/,
    ],
    [
      "options to quantize codes that are there",
      q,
      { axis: 0 },
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      "QuantizedLinear: options.axis says how to quantize, but weight is quantized already",
    ],
    [
      "a bias of another length",
      w,
      { bias: [1, 2] },
      TypeError,
      "ZP_INVALID_TENSOR",
      /options\.bias must be a tensor.*got an array/,
    ],
    [
      "a bias that is too long",
      w,
      { bias: new Float32Array(7) },
      RangeError,
      "ZP_SHAPE_MISMATCH",
      "QuantizedLinear: options.bias must have shape [6], one value per row of weight, got [7]",
    ],
    [
      "an unknown way to accumulate",
      w,
      { accumulate: "int32" },
      RangeError,
      "ZP_INVALID_OPTION",
      /options\.accumulate must be "exact" or "float32"/,
    ],
    [
      "a misspelt option",
      w,
      { activation: "float32" },
      TypeError,
      "ZP_UNKNOWN_OPTION",
      'QuantizedLinear: options has no "activation"; did you mean activations?',
    ],
    [
      "a group size that does not divide",
      w,
      { groupSize: 5 },
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      /^QuantizedLinear: options\.groupSize .* divides the last axis of shape \[6, 32\]/,
    ],
    [
      "a weight with NaN",
      tensor([[NaN]]),
      {},
      RangeError,
      "ZP_NON_FINITE",
      /^QuantizedLinear: weight must be finite .* value 0 is NaN/,
    ],
    [
      "a weight without values to choose a scale from",
      tensor(new Float32Array(0), [2, 0]),
      { axis: 0 },
      RangeError,
      "ZP_EMPTY",
      /^QuantizedLinear: a channel of weight has no values/,
    ],
  ];
  for (const [name, weight, options, type, code, message] of refused) {
    it(`refuses ${name}`, () => {
      refuses(() => new QuantizedLinear(weight, options), type, code, message);
    });
  }

  it("must be made with new", () => {
    assert.throws(() => QuantizedLinear(w), TypeError);
  });
});

describe("QuantizedLinear.dispose", () => {
  const w = tensor(new Random(80).normal(12), [3, 4]);
  const x = tensor([1, 2, 3, 4]);

  it("ends the layer, and may be called again", () => {
    const layer = new QuantizedLinear(w);
    layer.dispose();
    layer.dispose();
    refuses(
      () => layer.forward(x),
      TypeError,
      "ZP_DISPOSED",
      "QuantizedLinear.forward: the layer is disposed and cannot be used any more",
    );
    assert.equal(layer.inFeatures, 4);
  });

  it("counts from within a call, whose memory another layer may get", () => {
    const ones = tensor([[1, 1, 1, 1]]);
    for (const activations of ["float32", "dynamic"]) {
      const disposing = (layer, field, data, shape) => ({
        get [field]() {
          layer.dispose();
          new QuantizedLinear(tensor(new Float32Array(12).fill(100), [3, 4]), { activations });
          return data;
        },
        shape,
      });
      const calls = [
        (layer) => layer.forward(disposing(layer, "data", ones.data, [1, 4])),
        (layer) => layer.forward(ones, disposing(layer, "data", new Float32Array(3), [1, 3])),
        (layer) => {
          layer.dispose();
          return layer.forward(ones, tensor([[0, 0, 0]]));
        },
      ];
      for (const call of calls) {
        const layer = new QuantizedLinear(w, { activations });
        refuses(() => call(layer), TypeError, "ZP_DISPOSED", /the layer is disposed/);
      }
    }
  });

  it("is what `using` calls", { skip: typeof Symbol.dispose !== "symbol" }, () => {
    const layer = new QuantizedLinear(w);
    layer[Symbol.dispose]();
    refuses(() => layer.forward(x), TypeError, "ZP_DISPOSED", /disposed/);
    assert.deepEqual(Object.keys(QuantizedLinear.prototype), []);
  });

  it("is all there is where the engine has no Symbol.dispose", () => {
    const script = `
      const { dispose, ...others } = Object.getOwnPropertyDescriptors(Symbol);
      globalThis.Symbol = Object.defineProperties(() => undefined, others);
      const { init, tensor, QuantizedLinear } = await import("zeropoint");
      await init();
      const layer = new QuantizedLinear(tensor([[1, 2]]));
      layer.dispose();
      console.log(Object.getOwnPropertyNames(QuantizedLinear.prototype).join());
    `;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module"], {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      input: script,
      encoding: "utf8",
    });
    assert.equal(stderr, "");
    assert.equal(stdout, "constructor,forward,forwardAsync,dispose,toString\n");
  });

  it("leaves other layers alone, however often it is called", () => {
    const first = new QuantizedLinear(w);
    first.dispose();
    const second = new QuantizedLinear(w);
    first.dispose();
    const third = new QuantizedLinear(tensor(new Float32Array(12).fill(9), [3, 4]));
    sameTensor(second.forward(x), linear(x, quantize(w)));
    second.dispose();
    third.dispose();
  });

  it("gives the memory back, so that any number of layers may follow each other", async () => {
    const { QuantizedLinear: Layer, quantize: own } = await create();
    const big = { data: new Float32Array(2 ** 22).fill(1), shape: [2 ** 11, 2 ** 11] };
    const q = own(big);
    // 1200 layers of 4 MiB are more than the heap can ever hold.
    for (let i = 0; i < 1200; i++) new Layer(q).dispose();
    const layer = new Layer(q);
    assert.equal(Math.round(layer.forward(new Float32Array(2 ** 11).fill(1)).data[0]), 2 ** 11);
    layer.dispose();
  });

  it("is made up for by the garbage collector", async () => {
    const { setFlagsFromString } = await import("node:v8");
    const { runInNewContext } = await import("node:vm");
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    const { QuantizedLinear: Layer, quantize: own } = await create();
    const q = own({ data: new Float32Array(2 ** 24).fill(1), shape: [2 ** 12, 2 ** 12] });
    // 400 layers of 16 MiB are more than the heap can ever hold, and nobody disposes of them.
    for (let i = 0; i < 400; i++) {
      new Layer(q);
      if (i % 16 === 15) {
        collect();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
  });
});
