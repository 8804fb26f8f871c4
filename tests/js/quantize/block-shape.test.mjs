import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  chooseQParams,
  dequantize,
  fakeQuantize,
  init,
  linear,
  pack,
  QuantizedLinear,
  quantizationError,
  quantize,
  unpack,
} from "zeropoint";
import { load, save } from "zeropoint/models";
import {
  chooseQParamsAffine,
  int4Tinygemm,
  int8Weight,
  quantizeAffine,
  quantizeHqq,
} from "zeropoint/torch";
import { Random, refuses } from "../support/asserts.mjs";

await init();

const random = new Random(38);
const valuesOf = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () =>
    random.between(-2, 3),
  ),
  shape,
});

/** The positions of the values of each block, found value by value. */
function positionsOf(shape, blockShape) {
  const size = blockShape.map((length, axis) => (length === -1 ? shape[axis] : length));
  const counts = shape.map((length, axis) => Math.ceil(length / size[axis]));
  const blocks = Array.from({ length: counts.reduce((a, b) => a * b, 1) }, () => []);
  const total = shape.reduce((a, b) => a * b, 1);
  for (let i = 0; i < total; i++) {
    let block = 0;
    for (let axis = 0, inside = total; axis < shape.length; axis++) {
      inside /= shape[axis];
      const index = Math.floor(i / inside) % shape[axis];
      block = block * counts[axis] + Math.floor(index / size[axis]);
    }
    blocks[block].push(i);
  }
  return { counts, blocks };
}

const SHAPES = [
  [[6, 8], [2, 4], "even blocks"],
  [[6, 8], [1, 4], "groups"],
  [[7, 9], [1, 4], "groups, the last one short"],
  [[6, 8], [1, -1], "rows"],
  [[6, 8], [-1, 1], "columns"],
  [[6, 8], [-1, -1], "one block"],
  [[6, 8], [1, 1], "single values"],
  [[6, 8], [4, 1], "groups of a column, as in ONNX"],
  [[7, 9], [3, 4], "short blocks on both axes"],
  [[4, 6, 5], [3, 4, 2], "three axes"],
  [[4, 6, 5], [2, 1, 1], "the first of three axes"],
  [[2, 3, 4, 5], [1, 2, 3, 2], "four axes"],
  [[5], [2], "one axis"],
  [[], [], "no axes"],
];
const OPTIONS = [
  { dtype: "int8" },
  { dtype: "uint4", scheme: "affine" },
  { dtype: "int4", zeroPoint: "float" },
  { dtype: "int4", range: "mse" },
  { dtype: "uint8", scheme: "affine", range: "hqq" },
  { dtype: "int8", range: { percentile: 90 } },
  { dtype: "uint8", scheme: "affine", rule: "onnx" },
];

describe("blockShape: every block is quantized as a tensor of its own", () => {
  for (const [shape, blockShape, what] of SHAPES) {
    it(`[${blockShape}] of [${shape}]: ${what}`, () => {
      const x = valuesOf(...shape);
      const { counts, blocks } = positionsOf(shape, blockShape);
      for (const options of OPTIONS) {
        const own = { ...options, blockShape };
        const q = quantize(x, own);
        assert.deepEqual(q.scale.shape, counts);
        assert.deepEqual(
          q.blockShape,
          blockShape.map((length, axis) => (length === -1 ? shape[axis] : length)),
        );
        assert.deepEqual(quantize(x, chooseQParams(x, own)), q);
        const values = dequantize(q).data;
        assert.deepEqual(fakeQuantize(x, own).data, values);
        const errors = quantizationError(x, { data: values, shape }, "mse", { blockShape });
        assert.deepEqual(errors.shape, counts);
        for (const [block, positions] of blocks.entries()) {
          const pick = (data) => positions.map((i) => data[i]);
          const alone = { data: Float32Array.from(pick(x.data)), shape: [1, positions.length] };
          const expected = quantize(alone, { ...options, axis: 0 });
          assert.equal(q.scale.data[block], expected.scale.data[0]);
          assert.deepEqual(pick(q.data), [...expected.data]);
          const restored = dequantize(expected);
          assert.deepEqual(pick(values), [...restored.data]);
          const error = quantizationError(alone, restored);
          assert.equal(errors.data[block], Math.fround(error));
        }
        assert.deepEqual(unpack(pack(q), q), q);
      }
    });
  }

  it("of more values than a tile", () => {
    const x = valuesOf(300, 700);
    const q = quantize(x, { blockShape: [128, 128] });
    const { counts, blocks } = positionsOf(x.shape, [128, 128]);
    assert.deepEqual(q.scale.shape, counts);
    for (const [block, positions] of blocks.entries()) {
      const most = Math.max(...positions.map((i) => Math.abs(x.data[i])));
      assert.equal(q.scale.data[block], Math.fround(most / 127));
    }
    const worst = quantizationError(x, dequantize(q), "max");
    assert.ok(worst > 0 && worst <= 1.01 * (Math.max(...q.scale.data) / 2), `${worst}`);
  });

  it("of no values", () => {
    const q = quantize({ data: new Float32Array(0), shape: [0, 4] }, { blockShape: [2, 2] });
    assert.deepEqual([q.scale.shape, q.data.length], [[0, 2], 0]);
  });

  it("with given scales, a list or a tensor of the blocks", () => {
    const x = valuesOf(4, 4);
    const scale = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };
    const q = quantize(x, { blockShape: [2, 2], scale, zeroPoint: [1, 2, 3, 4] });
    assert.deepEqual([...q.scale.data], [1, 2, 3, 4]);
    assert.equal(q.data[10], Math.round(x.data[10] / 4 + 4));
  });
});

describe("blockShape in files and layers", () => {
  it("is saved and loaded", async () => {
    const q = quantize(valuesOf(6, 9), { dtype: "int4", blockShape: [2, 4] });
    assert.deepEqual(await load(new Response(save({ q })).blob()), { q });
  });

  const x = valuesOf(3, 32);
  const weight = valuesOf(8, 32);
  for (const [blockShape, same] of [
    [[1, -1], { axis: 0 }],
    [[-1, 1], { axis: 1 }],
    [[1, 8], { groupSize: 8 }],
    [[-1, -1], {}],
  ]) {
    it(`[${blockShape}] of a weight is ${JSON.stringify(same)} to linear and QuantizedLinear`, () => {
      const given = { dtype: "int4" };
      const q = quantize(weight, { ...given, blockShape });
      const { data } = linear(x, quantize(weight, { ...given, ...same }));
      assert.deepEqual(linear(x, q).data, data);
      for (const layer of [
        new QuantizedLinear(q),
        new QuantizedLinear(weight, { ...given, blockShape }),
      ]) {
        assert.deepEqual(layer.forward(x).data, data);
        layer.dispose();
      }
    });
  }

  it("appended rows have scales of their own", () => {
    const layer = new QuantizedLinear(weight, { blockShape: [1, 8] });
    layer.append(weight);
    const once = linear(x, quantize(weight, { groupSize: 8 })).data;
    const { data } = layer.forward(x);
    assert.deepEqual(
      [...data.slice(0, 8), ...data.slice(8, 16)],
      [...once.slice(0, 8), ...once.slice(0, 8)],
    );
    assert.deepEqual(layer.qparams.scale.shape, [16, 4]);
    layer.dispose();
  });

  const close = (actual, expected) => {
    const worst = Math.max(...actual.map((value, i) => Math.abs(value - expected[i])));
    assert.ok(worst < 1e-4, `${worst}`);
  };
  const affine = (preset) => {
    const [scale, zeroPoint] = chooseQParamsAffine(weight, preset);
    const { blockSize, dtype, quantMin, quantMax, zeroPointDomain } = preset;
    const own = { blockSize, dtype, quantMin, quantMax, zeroPointDomain };
    return quantizeAffine(weight, { ...own, scale, zeroPoint });
  };
  for (const [what, q] of Object.entries({
    int8Weight: affine(int8Weight),
    "int4Tinygemm(8)": affine(int4Tinygemm(8)),
    quantizeHqq: quantizeHqq(weight, { groupSize: 8 }),
    "quantizeHqq, raw": quantizeHqq(weight, { groupSize: 8, raw: true }),
    "quantizeHqq, scaleOnly": quantizeHqq(weight, { groupSize: 8, scaleOnly: true }),
    "quantizeHqq, 1 bit": quantizeHqq(weight, { groupSize: 8, bits: 1, scaleOnly: true }),
  })) {
    it(`a result of torchao's is a weight: ${what}`, async () => {
      const { dequantizeAffine } = await import("zeropoint/torch");
      const expected = linear(x, dequantizeAffine(q)).data;
      close(linear(x, q).data, expected);
      const layer = new QuantizedLinear(q);
      close(layer.forward(x).data, expected);
      layer.dispose();
    });
  }
});

describe("blockShape refuses by name", () => {
  const x = valuesOf(4, 6);
  for (const [work, type, code, message] of [
    [
      () => quantize(x, { blockShape: [2] }),
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      /options\.blockShape must have a positive integer, or -1, for every axis of shape \[4, 6\]/,
    ],
    [
      () => quantize(x, { blockShape: [0, 2] }),
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      /for every axis of shape \[4, 6\]/,
    ],
    [
      () => quantize(x, { blockShape: 2 }),
      TypeError,
      "ZP_INVALID_GROUP_SIZE",
      /a list of one number for each axis/,
    ],
    [
      () => quantize(x, { blockShape: [2, 2], axis: 0 }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /options\.blockShape and options\.axis exclude each other/,
    ],
    [
      () => quantize(x, { blockShape: [2, 2], scale: [1, 2] }),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /options\.scale must be one number, 6 numbers or a tensor of shape \[2, 3\]/,
    ],
    [
      () => linear(valuesOf(1, 6), quantize(x, { blockShape: [2, 2] })),
      RangeError,
      "ZP_INVALID_GROUP_SIZE",
      /weight must have blocks that are rows, columns or groups of a row/,
    ],
    [
      () => quantize({ data: Float32Array.of(1, NaN), shape: [2] }, { blockShape: [1] }),
      RangeError,
      "ZP_NON_FINITE",
      /value 1 is NaN/,
    ],
  ]) {
    it(`${code}: ${message.source}`, () => refuses(work, type, code, message));
  }
});
