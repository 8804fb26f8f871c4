// Laws of the torch family: quantized tensors, observers, dynamic layers; in every build, with the same
// bits in all of them.

import assert from "node:assert/strict";
import { describe } from "node:test";
import fc from "fast-check";
import { init, tensor } from "zeropoint";
import {
  anyValues,
  finiteValues,
  law,
  layersOf,
  shapes,
  tameValues,
  tensorOf,
} from "../support/arbitraries.mjs";
import { sameCodes, sameFloats, sameTensor } from "../support/asserts.mjs";
import { roundHalfEven } from "../support/reference.mjs";

await init();

const f32 = Math.fround;
const QDTYPES = {
  qint8: [-128, 127],
  quint8: [0, 255],
  qint32: [-(2 ** 31), 2 ** 31 - 1],
};
const qdtypes = fc.constantFrom("qint8", "quint8", "qint32");
/** Scales whose float32 reciprocal is finite. */
const scales = fc.oneof(
  fc.float({ min: 2 ** -20, max: 2 ** 20, noNaN: true }),
  fc.constantFrom(1, 0.5, 0.1, 2 ** -100, 2 ** 100),
);

/** clamp(round_half_even(x · (1 / scale)) + zeroPoint), each operation rounded to float32. */
function codeOf(x, scale, zeroPoint, [qmin, qmax]) {
  const steps = f32(x * f32(1 / f32(scale)));
  if (Number.isNaN(steps)) return zeroPoint;
  if (!Number.isFinite(steps)) return steps > 0 ? qmax : qmin;
  return Math.min(qmax, Math.max(qmin, f32(f32(zeroPoint) + roundHalfEven(steps))));
}

const zeroPointFor = ([qmin, qmax], number) => qmin + (number % (qmax - qmin + 1));

describe("quantized tensors", () => {
  law(
    "have the codes of the reference for any value, and its values",
    [shapes.chain((shape) => tensorOf(shape, anyValues)), qdtypes, scales, fc.nat()],
    (zp, x, dtype, scale, number) => {
      const limits = QDTYPES[dtype];
      const zeroPoint = zeroPointFor(limits, number);
      const q = zp.quantizePerTensor(x, scale, zeroPoint, dtype);
      x.data.forEach((value, i) => {
        assert.equal(q.data[i], codeOf(value, scale, zeroPoint, limits), `${value}`);
      });
      const values = zp.dequantize(q).data;
      q.data.forEach((code, i) => {
        assert.ok(Object.is(values[i], f32(f32(scale) * f32((code - zeroPoint) | 0))), `${code}`);
      });
      sameCodes(zp.intRepr(q).data, q.data);
      return q;
    },
  );

  law(
    "per channel are each channel's own",
    [
      shapes.chain((shape) => tensorOf(shape, anyValues)),
      qdtypes,
      fc.array(scales, { minLength: 140, maxLength: 140 }),
      fc.nat(),
      fc.nat(),
    ],
    (zp, x, dtype, many, number, which) => {
      const axis = which % x.shape.length;
      const count = x.shape[axis];
      const inner = x.shape.slice(axis + 1).reduce((a, b) => a * b, 1);
      const own = Float32Array.from(many.slice(0, count));
      const zeroPoints = Int32Array.from(own, (_, i) =>
        zeroPointFor(QDTYPES[dtype], number + 7 * i),
      );
      const q = zp.quantizePerChannel(x, own, zeroPoints, axis, dtype);
      for (let channel = 0; channel < count; channel++) {
        const mine = (data) => data.filter((_, i) => Math.floor(i / inner) % count === channel);
        const single = zp.quantizePerTensor(mine(x.data), own[channel], zeroPoints[channel], dtype);
        sameCodes(mine(q.data), single.data);
      }
      return zp.dequantize(q);
    },
  );

  law(
    "are what fake quantizing rounds to, where no sum wraps",
    [shapes.chain((shape) => tensorOf(shape)), scales, fc.nat()],
    (zp, x, scale, number) => {
      for (const dtype of ["qint8", "quint8"]) {
        const [qmin, qmax] = QDTYPES[dtype];
        const zeroPoint = zeroPointFor([qmin, qmax], number);
        const y = zp.fakeQuantizePerTensor(x, scale, zeroPoint, qmin, qmax);
        sameTensor(y, zp.dequantize(zp.quantizePerTensor(x, scale, zeroPoint, dtype)));
      }
    },
  );

  law(
    "chosen on the fly have qparams that quantize to the same",
    [shapes.chain((shape) => tensorOf(shape)), fc.constantFrom("qint8", "quint8"), fc.boolean()],
    (zp, x, dtype, reduceRange) => {
      const q = zp.quantizePerTensorDynamic(x, dtype, reduceRange);
      assert.deepEqual(zp.quantizePerTensor(x, q.scale, q.zeroPoint, dtype), q);
      return q;
    },
  );
});

describe("observers", () => {
  const batchesOf = (values) =>
    fc.array(
      shapes.chain((shape) => tensorOf(shape, values)),
      { minLength: 1, maxLength: 4 },
    );
  const batches = batchesOf(finiteValues);
  const options = fc.record({
    dtype: fc.constantFrom("qint8", "quint8"),
    qscheme: fc.constantFrom("per_tensor_affine", "per_tensor_symmetric"),
  });

  law("see the range of all batches, in any order", [batches, options], (zp, xs, how) => {
    const watch = (order) => {
      const observer = new zp.MinMaxObserver(how);
      for (const x of order) assert.equal(observer.observe(x), x);
      return observer;
    };
    const all = watch(xs);
    const values = xs.flatMap((x) => [...x.data]);
    assert.ok(all.minVal.data[0] === Math.min(...values), `${all.minVal}`);
    assert.ok(all.maxVal.data[0] === Math.max(...values), `${all.maxVal}`);
    const backwards = watch([...xs].reverse());
    assert.deepEqual(backwards.calculateQParams(), all.calculateQParams());
    return all.calculateQParams();
  });

  for (const name of ["MinMaxObserver", "MovingAverageMinMaxObserver", "HistogramObserver"]) {
    // Ranges wider than float32's own lead histograms and averages to NaN, as in PyTorch.
    const some = name === "MinMaxObserver" ? batches : batchesOf(tameValues);
    law(
      `${name} goes on from its JSON as if nothing had happened`,
      [some, some, options],
      (zp, before, after, how) => {
        const observer = new zp[name](how);
        for (const x of before) observer.observe(x);
        const restored = zp[name].fromJSON(JSON.parse(JSON.stringify(observer)));
        const histories = [observer, restored].map((one) => {
          for (const x of after) one.observe(x);
          return [JSON.stringify(one), one.calculateQParams()];
        });
        assert.deepEqual(histories[1], histories[0]);
        return histories[0];
      },
      { runs: 60 },
    );
  }

  law(
    "histograms count every value of a first batch",
    [shapes.chain((shape) => tensorOf(shape, tameValues)), fc.integer({ min: 1, max: 300 })],
    (zp, x, bins) => {
      const observer = new zp.HistogramObserver({ bins });
      observer.observe(x);
      const counts = observer.histogram.data;
      assert.equal(counts.length, bins);
      assert.equal(
        counts.reduce((a, b) => a + b),
        x.data.length,
      );
      return counts;
    },
  );

  law(
    "per channel are each channel's own",
    [
      fc
        .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 9 }))
        .chain((shape) => tensorOf(shape)),
    ],
    (zp, x) => {
      const observer = new zp.PerChannelMinMaxObserver({ dtype: "qint8" });
      observer.observe(x);
      const { scale, zeroPoint } = observer.calculateQParams();
      const columns = x.shape[1];
      for (let row = 0; row < x.shape[0]; row++) {
        const single = new zp.MinMaxObserver({ dtype: "qint8" });
        single.observe(tensor(x.data.slice(row * columns, (row + 1) * columns)));
        const own = single.calculateQParams();
        assert.equal(scale.data[row], own.scale.data[0]);
        assert.equal(Number(zeroPoint.data[row]), Number(own.zeroPoint.data[0]));
      }
    },
  );
});

describe("dynamic layers", () => {
  law(
    "are quantizing the input, exact integer sums, and two float32 steps",
    [layersOf(finiteValues), fc.boolean(), fc.boolean()],
    (zp, { input, weight, bias }, perChannel, reduceRange) => {
      const how = { activations: "dynamic", reduceRange, bias, ...(perChannel ? { axis: 0 } : {}) };
      const layer = new zp.QuantizedLinear(weight, how);
      const y = layer.forward(input);
      const q = zp.quantizePerTensorDynamic(input, "quint8", reduceRange);
      // The layer's own weight, by its scales: those of PyTorch's observers.
      const observer = perChannel
        ? new zp.PerChannelMinMaxObserver({ dtype: "qint8", qscheme: "per_channel_symmetric" })
        : new zp.MinMaxObserver({ dtype: "qint8", qscheme: "per_tensor_symmetric" });
      observer.observe(weight);
      const { scale } = observer.calculateQParams();
      const [n, k] = weight.shape;
      const w = perChannel
        ? zp.quantizePerChannel(weight, scale.data, new Int32Array(n), 0, "qint8")
        : zp.quantizePerTensor(weight, scale.data[0], 0, "qint8");
      const expected = y.data.map((_, at) => {
        const [row, column] = [Math.floor(at / n), at % n];
        let sum = 0;
        for (let i = 0; i < k; i++) {
          sum += (q.data[row * k + i] - q.zeroPoint) * w.data[column * k + i];
        }
        const multiplier = f32(f32(q.scale) * scale.data[perChannel ? column : 0]);
        const product = f32(f32(sum) * multiplier);
        return bias ? f32(product + bias.data[column]) : product;
      });
      sameFloats(y.data, expected);
      layer.dispose();
      return y;
    },
  );
});

describe("models", () => {
  law(
    "converted compute finite values, and the same in every build",
    [
      layersOf(tameValues),
      fc.constantFrom("default_qconfig", "default_per_channel_qconfig", "default_dynamic_qconfig"),
    ],
    (zp, { input, weight, bias }, name) => {
      const model = new zp.Sequential([new zp.Linear(weight, { bias }), new zp.ReLU()]);
      let quantized;
      if (name === "default_dynamic_qconfig")
        quantized = zp.quantizeDynamic(model, zp.predefinedQConfigs[name]);
      else {
        const prepared = zp.prepare(model, zp.predefinedQConfigs[name]);
        prepared.forward(input);
        quantized = zp.convert(prepared);
      }
      const y = quantized.forward(input);
      assert.deepEqual([...y.shape], [input.shape[0], weight.shape[0]]);
      assert.ok(y.data.every(Number.isFinite), `${y}`);
      assert.ok(
        y.data.every((value) => value >= 0),
        `${y}`,
      );
      quantized.dispose();
      return y;
    },
    { runs: 60 },
  );
});
