import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import {
  chooseQParams,
  dequantize,
  fakeQuantize,
  init,
  pack,
  quantizationError,
  quantize,
  tensor,
  unpack,
} from "zeropoint";
import {
  fakeQuantizePerChannel,
  fakeQuantizePerTensor,
  HistogramObserver,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
} from "zeropoint/torch";
import { embedded, loadBuild, runOn } from "../../internal/core.mjs";
import { rangesOf, TILE, tilesOf } from "../../internal/tensor.mjs";
import { Random, refuses, sameCodes, sameDeep, sameFloats } from "../support/asserts.mjs";
import {
  chooseFor,
  dequantizeValue,
  meanError,
  quantizeValue,
  slicesOf,
} from "../support/reference.mjs";

await init();

const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** The position among qparams of shape `qShape` that each element of `shape` uses. */
function broadcastIndices(shape, qShape) {
  const lead = shape.length - qShape.length;
  const strides = shape.map(() => 0);
  let stride = 1;
  for (let axis = qShape.length - 1; axis >= 0; axis--) {
    if (qShape[axis] !== 1) strides[lead + axis] = stride;
    stride *= qShape[axis];
  }
  return Array.from({ length: product(shape) }, (_, i) => {
    let at = 0;
    let rest = i;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += (rest % shape[axis]) * strides[axis];
      rest = Math.floor(rest / shape[axis]);
    }
    return at;
  });
}

describe("tilesOf", () => {
  /** Checks every promise that a tile makes. */
  const check = (shape, qShape, limit) => {
    const message = `${JSON.stringify({ shape, qShape, limit })}`;
    const used = broadcastIndices(shape, qShape);
    let next = 0;
    for (const tile of tilesOf(shape, qShape, limit)) {
      assert.equal(tile.start, next, message);
      assert.equal(tile.size, product(tile.shape), message);
      assert.equal(tile.qCount, product(tile.qShape), message);
      assert.equal(tile.shape.length, shape.length, message);
      assert.equal(tile.qShape.length, qShape.length, message);
      assert.ok(tile.size >= 1 && tile.size <= limit, message);
      const own = broadcastIndices(tile.shape, tile.qShape);
      own.forEach((index, i) => {
        assert.equal(tile.qStart + index, used[tile.start + i], `${message} value ${next + i}`);
      });
      next += tile.size;
    }
    assert.equal(next, product(shape), message);
  };

  it("cuts along the outermost axis of which an index fits", () => {
    const tiles = [...tilesOf([4, 3, 2], [3, 1], 12)];
    assert.deepEqual(
      tiles.map(({ start, shape, qStart, qShape }) => ({ start, shape, qStart, qShape })),
      [
        { start: 0, shape: [2, 3, 2], qStart: 0, qShape: [3, 1] },
        { start: 12, shape: [2, 3, 2], qStart: 0, qShape: [3, 1] },
      ],
    );
  });

  it("gives each tile the qparams of its channels", () => {
    const tiles = [...tilesOf([2, 3, 4], [3, 1], 4)];
    assert.deepEqual(
      tiles.map(({ start, qStart, qCount }) => [start, qStart, qCount]),
      [0, 1, 2, 0, 1, 2].map((channel, i) => [4 * i, channel, 1]),
    );
  });

  it("makes tiles of about one size", () => {
    const sizes = [...tilesOf([10_000], [], 4096)].map(({ size }) => size);
    assert.deepEqual(sizes, [3392, 3392, 3216]);
  });

  it("covers every value once, with its own qparams, for shapes of all kinds", () => {
    const random = new Random(40);
    for (let round = 0; round < 400; round++) {
      const shape = Array.from({ length: random.integer(0, 4) }, () => random.integer(1, 7));
      const from = random.integer(0, shape.length);
      const qShape = shape.slice(from).map((length) => (random.integer(0, 1) ? length : 1));
      check(shape, qShape, random.integer(1, 60));
    }
  });
});

describe("rangesOf", () => {
  let core;
  before(async () => {
    core = await loadBuild("test", embedded, { build: "baseline" });
  });

  it("joins the ranges of a slice that many tiles share", () => {
    const size = 3 * TILE + 5;
    const data = new Float32Array(size).fill(1);
    data[TILE - 1] = -3;
    data[size - 1] = 8;
    assert.deepEqual(
      [...rangesOf(core, "test", data, { outer: 1, slices: 1, inner: size }, "keep")],
      [-3, 8],
    );
  });

  it("keeps a NaN wherever it is, and to its own slice", () => {
    const [outer, slices, inner] = [3, 2, TILE - 7];
    for (let tile = 0; tile < outer; tile++) {
      const data = new Float32Array(outer * slices * inner).fill(2);
      data[tile * slices * inner + 3] = Number.NaN;
      const ranges = rangesOf(core, "test", data, { outer, slices, inner }, "keep");
      assert.deepEqual([...ranges], [Number.NaN, Number.NaN, 2, 2]);
      const ignored = rangesOf(core, "test", data, { outer, slices, inner }, "ignore");
      assert.deepEqual([...ignored], [2, 2, 2, 2]);
    }
  });

  it("finds the one finite value of a slice", () => {
    const data = new Float32Array(4 * TILE).fill(Infinity);
    data[4 * TILE - 1] = 5;
    const counts = { outer: 2, slices: 2, inner: TILE };
    const ranges = rangesOf(core, "test", data, counts, "ignore");
    assert.deepEqual([...ranges], [Infinity, -Infinity, 5, 5]);
  });
});

/** A tensor of several tiles whose values differ from tile to tile and from channel to channel. */
function large(shape, seed = 41) {
  const random = new Random(seed);
  const period = random.normal(4093);
  const size = product(shape);
  const data = new Float32Array(size).map(
    (_, i) => period[i % 4093] * (1 + (i % 13)) * (1 + Math.floor(i / TILE)),
  );
  return { data, shape };
}

describe("Tensors of many tiles", () => {
  const layouts = [
    ["per tensor", [2 * TILE + 77], {}],
    ["per channel, on the first axis", [5, TILE + 3], { axis: 0 }],
    ["per channel, on the last axis", [2 * TILE + 9, 3], { axis: 1 }],
    ["per channel, on a last axis longer than a tile", [3, TILE + 5], { axis: 1 }],
    ["per channel, on an axis between", [3, 1000, 151], { axis: 1 }],
    ["per channel, of tiles within an outer index", [2, 7, TILE / 4 + 1], { axis: 1 }],
    ["per group", [1500, 256], { groupSize: 32 }],
    ["per group, of groups longer than a tile", [2, 2 * TILE], { groupSize: 2 * TILE }],
    ["per group, with a short group in each row", [3000, 70], { groupSize: 32 }],
    ["per group, of one row longer than a tile", [2, TILE + 70], { groupSize: 32 }],
    ["per group, of a long group and a short one", [2, TILE + 70], { groupSize: TILE + 1 }],
  ];

  for (const [name, shape, slicing] of layouts) {
    describe(name, () => {
      const x = large(shape);
      const options = { dtype: "uint8", scheme: "affine", ...slicing };
      const slices = slicesOf(shape, slicing);
      let expected;
      before(() => {
        const min = new Float64Array(slices.count).fill(Infinity);
        const max = new Float64Array(slices.count).fill(-Infinity);
        x.data.forEach((value, i) => {
          const slice = slices.of(i);
          min[slice] = Math.min(min[slice], value);
          max[slice] = Math.max(max[slice], value);
        });
        const qparams = Array.from(min, (low, i) => chooseFor([low, max[i]], options));
        const codes = new Uint8Array(x.data.length);
        const values = new Float32Array(x.data.length);
        x.data.forEach((value, i) => {
          const { scale, zeroPoint } = qparams[slices.of(i)];
          codes[i] = quantizeValue(value, scale, zeroPoint, "uint8");
          values[i] = dequantizeValue(codes[i], scale, zeroPoint);
        });
        expected = { qparams, codes, values };
      });

      it("choose the qparams of all their values", () => {
        const { scale, zeroPoint } = chooseQParams(x, options);
        const scales = typeof scale === "number" ? [scale] : scale.data;
        const zeros = typeof zeroPoint === "number" ? [zeroPoint] : zeroPoint.data;
        const round = typeof scale === "number" ? (value) => value : Math.fround;
        sameDeep(
          [...scales],
          expected.qparams.map((one) => round(one.scale)),
        );
        sameDeep(
          [...zeros],
          expected.qparams.map((one) => one.zeroPoint),
        );
      });

      it("quantize, dequantize and fake-quantize as the reference does", () => {
        const q = quantize(x, options);
        sameCodes(q.data, expected.codes);
        sameFloats(dequantize(q).data, expected.values);
        sameFloats(fakeQuantize(x, options).data, expected.values);
        sameCodes(quantize(x, chooseQParams(x, options)).data, expected.codes);
      });

      it("write to out", () => {
        const out = new Uint8Array(x.data.length);
        const q = quantize(x, { ...options, out });
        assert.equal(q.data, out);
        sameCodes(out, expected.codes);
        const values = new Float32Array(x.data.length);
        assert.equal(dequantize(q, { out: values }).data, values);
        sameFloats(values, expected.values);
      });
    });
  }

  it("are read and written where they begin in their memory", () => {
    /** The same values elsewhere, among others. */
    const moved = (array) => {
      const memory = new array.constructor(array.length + 12).fill(99);
      memory.set(array, 5);
      return memory.subarray(5, 5 + array.length);
    };
    const { data } = large([2 * TILE + 77]);
    const q = quantize(data);
    const values = dequantize(q).data;
    const codes = moved(new Int8Array(data.length));
    sameCodes(quantize(moved(data), { out: codes }).data, q.data);
    assert.deepEqual([...new Int8Array(codes.buffer, 0, 5)], [99, 99, 99, 99, 99]);
    assert.equal(new Int8Array(codes.buffer).at(-7), 99);
    const out = moved(values);
    sameFloats(dequantize({ ...q, data: moved(q.data) }, { out: out.fill(0) }).data, values);
    sameFloats(fakeQuantize(moved(data)).data, values);
    const error = quantizationError(data, values);
    assert.equal(quantizationError(moved(data), moved(values)), error);
    sameDeep(unpack(pack({ ...q, data: moved(q.data) }), q).data, q.data);
  });

  it("leave out alone when the last value cannot be quantized", () => {
    const x = large([3 * TILE]);
    x.data[3 * TILE - 1] = Number.NaN;
    const out = new Int8Array(3 * TILE).fill(5);
    const message = /x must be finite to choose a scale, but value 393215 is NaN/;
    refuses(() => quantize(x, { out }), RangeError, "ZP_NON_FINITE", message);
    assert.ok(out.every((code) => code === 5));
  });

  it("take scales of any shape that broadcasts", () => {
    const shape = [40, 50, 300];
    const x = large(shape);
    for (const qShape of [[40, 1, 300], [40, 50, 1], [1, 50, 300], [40, 1, 1], [300]]) {
      const random = new Random(42);
      const scale = tensor(
        Array.from({ length: product(qShape) }, () => random.between(0.01, 0.1)),
        qShape,
      );
      const used = broadcastIndices(shape, qShape);
      const { data } = quantize(x, { scale });
      const expected = Int8Array.from(x.data, (value, i) =>
        quantizeValue(value, scale.data[used[i]], 0, "int8"),
      );
      sameCodes(data, expected, String(qShape));
    }
  });

  it("are measured in PyTorch's order, to the bit", () => {
    // Cascades pass their sums on at powers of 2: sizes on both sides of some.
    for (const size of [TILE + 1, 2 * TILE, 2 * TILE - 31, 5 * TILE + 4097]) {
      const a = large([size]).data;
      const b = a.map((value, i) => value * (1 + (i % 7) * 1e-3));
      for (const metric of ["mse", "mae"]) {
        assert.equal(quantizationError(a, b, metric), meanError(a, b, metric), `${metric} ${size}`);
      }
    }
  });

  it("are measured in double as at once", () => {
    const size = 2 * TILE + 7;
    const a = large([size]).data;
    const b = a.map((value, i) => value + (i % 11) * 0.25);
    const lanes = () => [0, 0, 0, 0];
    const sums = { aa: lanes(), bb: lanes(), ab: lanes(), noise: lanes() };
    for (let i = 0; i < size; i++) {
      sums.aa[i % 4] += a[i] * a[i];
      sums.bb[i % 4] += b[i] * b[i];
      sums.ab[i % 4] += a[i] * b[i];
      sums.noise[i % 4] += (a[i] - b[i]) ** 2;
    }
    const total = ([p0, p1, p2, p3]) => p0 + p2 + (p1 + p3);
    const { aa, bb, ab, noise } = sums;
    assert.equal(quantizationError(a, b, "sqnr"), 10 * Math.log10(total(aa) / total(noise)));
    assert.equal(quantizationError(a, b, "cosine"), total(ab) / Math.sqrt(total(aa) * total(bb)));
    b[TILE + 1] = a[TILE + 1] - 1000;
    assert.equal(quantizationError(a, b, "max"), Math.abs(a[TILE + 1] - b[TILE + 1]));
    b[3] = Number.NaN;
    for (const metric of ["mse", "mae", "max", "sqnr", "cosine"]) {
      assert.ok(Number.isNaN(quantizationError(a, b, metric)), metric);
    }
  });

  for (const dtype of ["int4", "uint2"]) {
    it(`pack and unpack as ${dtype}`, () => {
      const x = large([3 * TILE + 5]);
      const q = quantize(x, { dtype, scheme: "affine", scale: 7 });
      const bits = dtype === "int4" ? 4 : 2;
      const bytes = pack(q);
      assert.equal(bytes.length, Math.ceil((x.data.length * bits) / 8));
      const perByte = 8 / bits;
      for (let i = 0; i < bytes.length; i++) {
        let byte = 0;
        for (let k = 0; k < perByte; k++) {
          byte |= ((q.data[i * perByte + k] ?? 0) & (2 ** bits - 1)) << (k * bits);
        }
        if (bytes[i] !== byte) assert.fail(`byte ${i}: got ${bytes[i]}, expected ${byte}`);
      }
      sameCodes(unpack(bytes, q).data, q.data);
    });
  }

  describe("of the torch family", () => {
    /** What a function gives for pieces that are no longer than a tile. */
    const inPieces = (data, work) => {
      const parts = [];
      for (let i = 0; i < data.length; i += 50_000) parts.push(...work(data.slice(i, i + 50_000)));
      return parts;
    };
    const x = large([2 * TILE + 19]);

    it("are quantized, dequantized and fake-quantized per tensor", () => {
      const q = quantizePerTensor(x, 0.3, 2, "qint8");
      const codes = inPieces(x.data, (part) => quantizePerTensor(part, 0.3, 2, "qint8").data);
      sameCodes(q.data, Int8Array.from(codes));
      const values = inPieces(
        x.data,
        (part) => dequantize(quantizePerTensor(part, 0.3, 2, "qint8")).data,
      );
      sameFloats(dequantize(q).data, values);
      const fake = inPieces(x.data, (part) => fakeQuantizePerTensor(part, 0.3, 2, -8, 7).data);
      sameFloats(fakeQuantizePerTensor(x, 0.3, 2, -8, 7).data, fake);
    });

    it("are quantized with a scale chosen for all of them", () => {
      const { scale, zeroPoint, data } = quantizePerTensorDynamic(x, "quint8");
      let [min, max] = [Infinity, -Infinity];
      for (const value of x.data) {
        min = Math.min(min, value);
        max = Math.max(max, value);
      }
      const ends = quantizePerTensorDynamic(Float32Array.of(min, max), "quint8");
      assert.deepEqual([scale, zeroPoint], [ends.scale, ends.zeroPoint]);
      sameCodes(data, quantizePerTensor(x, scale, zeroPoint, "quint8").data);
    });

    const shapes = [
      [[3, TILE + 1], 0],
      [[TILE + 1, 3], 1],
      [[2, TILE + 1], 1],
      [[4, 50, 900], 1],
    ];
    const f32 = Math.fround;
    const roundToEven = (value) => {
      const below = Math.floor(value);
      if (value - below !== 0.5) return Math.round(value);
      return below % 2 === 0 ? below : below + 1;
    };
    for (const [shape, axis] of shapes) {
      const title = `axis ${axis} of shape ${shape.join(" × ")}`;
      const count = shape[axis];
      const scales = Float64Array.from({ length: count }, (_, i) => 0.1 + (i % 17) * 0.01);
      const zeros = Int32Array.from({ length: count }, (_, i) => (i % 5) - 2);
      const { of } = slicesOf(shape, { axis });
      const codesOf = ({ data }) =>
        Int8Array.from(data, (value, i) => {
          const steps = roundToEven(f32(value * f32(1 / f32(scales[of(i)]))));
          return Math.min(127, Math.max(-128, steps + zeros[of(i)]));
        });

      it(`are quantized and dequantized per channel, ${title}`, () => {
        const y = large(shape);
        const q = quantizePerChannel(y, scales, zeros, axis, "qint8");
        const codes = codesOf(y);
        sameCodes(q.data, codes);
        const values = Float32Array.from(codes, (code, i) =>
          f32((code - zeros[of(i)]) * scales[of(i)]),
        );
        sameFloats(dequantize(q).data, values);
      });

      it(`are fake-quantized per channel, ${title}`, () => {
        const y = large(shape);
        const fake = fakeQuantizePerChannel(y, Array.from(scales), zeros, axis, -128, 127);
        const values = Float32Array.from(codesOf(y), (code, i) =>
          f32((code - zeros[of(i)]) * f32(scales[of(i)])),
        );
        sameFloats(fake.data, values);
      });
    }

    it("are observed as a whole", () => {
      const y = large([700, 601]);
      const perTensor = new MinMaxObserver();
      perTensor.observe(y);
      const channels = new PerChannelMinMaxObserver({ chAxis: 1 });
      channels.observe(y);
      let [min, max] = [Infinity, -Infinity];
      const low = new Float32Array(601).fill(Infinity);
      y.data.forEach((value, i) => {
        min = Math.min(min, value);
        max = Math.max(max, value);
        low[i % 601] = Math.min(low[i % 601], value);
      });
      assert.deepEqual([perTensor.minVal.data[0], perTensor.maxVal.data[0]], [min, max]);
      sameFloats(channels.minVal.data, low);
      const histogram = new HistogramObserver({ bins: 16 });
      histogram.observe(y);
      assert.equal(
        histogram.histogram.data.reduce((a, b) => a + b),
        y.data.length,
      );
    });
  });
});

describe("The heap", () => {
  it("grows by no more for a huge tensor than for one of a few tiles", async () => {
    const core = await loadBuild("test", embedded, { build: "baseline" });
    const work = (shape) => {
      const x = { data: new Float32Array(product(shape)), shape };
      x.data.fill(0.75);
      runOn(core, () => {
        for (const slicing of [{}, { axis: 0 }, { axis: 1 }, { groupSize: 8 }]) {
          const q = quantize(x, { dtype: "int4", ...slicing });
          dequantize(q);
          fakeQuantize(x, slicing);
          pack(q);
        }
        for (const metric of ["mse", "cosine", "max"]) quantizationError(x, x, metric);
        const half = { data: new Uint16Array(x.data.length).fill(0x3a00), shape, dtype: "float16" };
        quantize(half);
        assert.equal(quantizationError(x, half, "max"), 0);
        const channels = shape[0];
        const scales = new Array(channels).fill(0.1);
        quantizePerTensorDynamic(x, "qint8");
        quantizePerChannel(x, scales, new Array(channels).fill(0), 0, "qint8");
        new HistogramObserver().observe(x);
      });
      return core.module.HEAPU8.length;
    };
    const few = work([512, 1024]);
    assert.equal(work([4096, 4096]), few);
    assert.ok(few <= 32 * 2 ** 20, `${few} bytes`);
  });
});
