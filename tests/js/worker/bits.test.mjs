// A connection computes the bits of the synchronous library, in a worker and on the calling thread.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connect } from "zeropoint/worker";
import {
  Random,
  rejects,
  sameCodes,
  sameDeep,
  sameFloats,
  sameTensor,
} from "../support/asserts.mjs";
import { zeropoint } from "../support/exports.mjs";

const { build } = await zeropoint.init();

/** More values than a batch has. */
const SHAPE = [5, 3, 75_000];
const LONG = 5 * 3 * 75_000;

function values(length, seed = 60) {
  const period = new Random(seed).normal(4091);
  return new Float32Array(length).map((_, i) => period[i % 4091] * (1 + (i % 7) + i / length));
}

const long = { data: values(LONG), shape: SHAPE };
const small = zeropoint.tensor([
  [191.6, -13.5, 728.6],
  [92.14, 295.5, -184],
  [0, 684.6, 245.5],
]);

function sameQuantized(actual, expected) {
  sameCodes(actual.data, expected.data);
  sameDeep({ ...actual, data: 0 }, { ...expected, data: 0 });
}

/** Both places run the same batches, so that some forms are enough for the second. */
const SLICINGS = {
  "a worker": [
    {},
    { axis: 0 },
    { axis: 1 },
    { axis: -1 },
    { groupSize: 15_000 },
    { groupSize: 700 },
  ],
  "this thread": [{}, { axis: 1 }],
};

for (const [place, slicings] of Object.entries(SLICINGS)) {
  const isWorker = place === "a worker";
  describe(`A connection to ${place}`, () => {
    let zp;
    before(async () => {
      zp = await connect({ entries: ["torch"], ...(!isWorker && { worker: false }) });
    });
    after(() => zp?.dispose());

    it("says where it runs", () => {
      assert.equal(zp.offThread, isWorker);
      assert.match(String(zp.reason), zp.offThread ? /undefined/ : /options.worker is false/);
      assert.equal(zp.threads, 1);
    });

    for (const slicing of slicings) {
      it(`quantizes with the same bits: ${JSON.stringify(slicing)}`, async () => {
        const options = { dtype: "uint4", scheme: "affine", ...slicing };
        const q = zeropoint.quantize(long, options);
        sameQuantized(await zp.quantize(long, options), q);
        sameTensor(await zp.fakeQuantize(long, options), zeropoint.fakeQuantize(long, options));
        sameDeep(await zp.chooseQParams(long, options), zeropoint.chooseQParams(long, options));
        const dequantized = zeropoint.dequantize(q);
        sameTensor(await zp.dequantize(q), dequantized);
        sameCodes(await zp.pack(q), zeropoint.pack(q));
        const { data, ...meta } = q;
        sameQuantized(
          await zp.unpack(zeropoint.pack(q), meta),
          zeropoint.unpack(zeropoint.pack(q), meta),
        );
        assert.equal(data.length, LONG);
      });
    }

    it("quantizes to blocks, and back, with the same bits", async () => {
      const x = { data: values(400 * 3072), shape: [400, 3072] };
      const importance = values(3072).map(Math.abs);
      for (const [type, options] of [["q8_0"], ["Q4_K", { importance }], ["f16"]]) {
        const blocks = zeropoint.quantizeBlocks(x, type, options);
        sameCodes(await zp.quantizeBlocks(x, type, options), blocks);
        const expected = zeropoint.dequantizeBlocks(blocks, type, x.shape);
        sameTensor(await zp.dequantizeBlocks(blocks, type, x.shape), expected);
        const out = new Uint8Array(blocks.length);
        assert.equal(await zp.quantizeBlocks(x, type, { ...options, out }), out);
        sameCodes(out, blocks);
      }
      x.data[1_000_000] = NaN;
      await rejects(
        zp.quantizeBlocks(x, "q4_0"),
        RangeError,
        "ZP_NON_FINITE",
        "quantizeBlocks: x must be finite as float32, but value 1000000 is NaN",
      );
    });

    it("takes half floats for the same values", async () => {
      const data = Uint16Array.from({ length: LONG }, (_, i) => 0x3c00 + (i % 1000));
      const half = { data, shape: SHAPE, dtype: "float16" };
      const ort = { data, dims: SHAPE, type: "bfloat16" };
      for (const x of [half, ort]) {
        const options = { dtype: "uint4", scheme: "affine", axis: 0 };
        sameQuantized(await zp.quantize(x, options), zeropoint.quantize(x, options));
        sameDeep(await zp.chooseQParams(x), zeropoint.chooseQParams(x));
        assert.equal(await zp.quantizationError(x, long), zeropoint.quantizationError(x, long));
      }
    });

    it("measures errors with the same bits", async () => {
      const other = { data: values(LONG, 64), shape: SHAPE };
      for (const metric of [undefined, "mae", "max", "sqnr", "cosine"]) {
        assert.equal(
          await zp.quantizationError(long, other, metric),
          zeropoint.quantizationError(long, other, metric),
        );
      }
      for (const [b, metric] of [
        [long.data, "mse"],
        [long, "least"],
        [small, "mse"],
      ]) {
        let thrown;
        try {
          zeropoint.quantizationError(long, b, metric);
        } catch (error) {
          thrown = error;
        }
        await rejects(
          zp.quantizationError(long, b, metric),
          RangeError,
          thrown.code,
          thrown.message,
        );
      }
    });

    it("quantizes with given qparams, and numbers that are not float32", async () => {
      const given = { scale: 0.37, zeroPoint: 3, dtype: "int16" };
      sameQuantized(await zp.quantize(long, given), zeropoint.quantize(long, given));
      const scale = zeropoint.tensor([1, 2, 3, 4, 5], [5, 1, 1]);
      sameQuantized(await zp.quantize(long, { scale }), zeropoint.quantize(long, { scale }));
      const doubles = Float64Array.from(long.data, (value) => value * 1.0000001);
      sameQuantized(await zp.quantize(doubles), zeropoint.quantize(doubles));
      const list = { data: [...long.data.subarray(0, 10_000)], shape: [10_000] };
      sameQuantized(await zp.quantize(list), zeropoint.quantize(list));
    });

    it("takes values that are not finite as the library does", async () => {
      const data = long.data.slice();
      data[LONG - 9] = Number.NaN;
      for (const axis of [undefined, 0, 1, 2]) {
        const x = { data, shape: SHAPE };
        const options = { scheme: "affine", nonFinite: "ignore", axis };
        sameQuantized(await zp.quantize(x, options), zeropoint.quantize(x, options));
        let thrown;
        try {
          zeropoint.quantize(x, { axis });
        } catch (error) {
          thrown = error;
        }
        await rejects(zp.quantize(x, { axis }), RangeError, "ZP_NON_FINITE", thrown.message);
      }
    });

    it("runs PyTorch's functions with the same bits", async () => {
      const perTensor = zeropoint.quantizePerTensor(long, 0.1, 3, "quint8");
      const got = await zp.quantizePerTensor(long, 0.1, 3, "quint8");
      sameQuantized(got, perTensor);
      assert.equal(String(got), String(perTensor));
      sameTensor(await zp.dequantize(perTensor), zeropoint.dequantize(perTensor));
      const scales = [0.1, 0.2, 0.3, 0.4, 0.5];
      for (const zeros of [[1, 2, 3, 4, 5], Float32Array.of(1.25, 2, 3, 4, 5)]) {
        const args = [long, scales, zeros, 0, "quint8"];
        const q = zeropoint.quantizePerChannel(...args);
        sameQuantized(await zp.quantizePerChannel(...args), q);
        sameTensor(await zp.dequantize(q), zeropoint.dequantize(q));
        const fake = [long, scales, zeros, 0, 0, 15];
        sameTensor(
          await zp.fakeQuantizePerChannel(...fake),
          zeropoint.fakeQuantizePerChannel(...fake),
        );
      }
      const fake = [long, 0.1, 3, 0, 15, { compat: "torch" }];
      sameTensor(await zp.fakeQuantizePerTensor(...fake), zeropoint.fakeQuantizePerTensor(...fake));
      sameQuantized(
        await zp.quantizePerTensorDynamic(long, "qint8", false),
        zeropoint.quantizePerTensorDynamic(long, "qint8", false),
      );
    });

    const k = 1000;
    const w = { data: values(1100 * k, 61), shape: [1100, k] };
    for (const [name, weight] of [
      ["float", w],
      ["per tensor", zeropoint.quantize(w)],
      ["per row", zeropoint.quantize(w, { axis: 0, dtype: "uint8", scheme: "affine" })],
      ["per column", zeropoint.quantize(w, { axis: 1 })],
      ["per group", zeropoint.quantize(w, { groupSize: 125, dtype: "int4" })],
    ].slice(isWorker ? 0 : 3)) {
      it(`multiplies with the same bits: ${name}`, async () => {
        const bias = values(1100, 62);
        for (const rows of [1, 150]) {
          const x = { data: values(rows * k, 63), shape: [rows, 1, k] };
          sameTensor(await zp.linear(x, weight, bias), zeropoint.linear(x, weight, bias));
          // Relaxed float32 sums may change bits when the engine optimizes a function of one instance.
          if (build === "relaxed") continue;
          const fast = { accumulate: "float32" };
          sameTensor(
            await zp.linear(x, weight, null, fast),
            zeropoint.linear(x, weight, null, fast),
          );
        }
      });
    }

    for (const options of [
      { axis: 0 },
      { dtype: "int4", groupSize: 125, bias: values(1100, 65) },
      { dtype: "int4", groupSize: 96 },
      { activations: "dynamic", axis: 0 },
    ]) {
      it(`makes and runs layers with the same bits: ${Object.keys(options)}`, async () => {
        const expected = new zeropoint.QuantizedLinear(w, options);
        const layer = await zp.quantizedLinear(w, options);
        assert.deepEqual([await layer.inFeatures, await layer.outFeatures], [k, 1100]);
        sameDeep(await layer.qparams, expected.qparams);
        for (const rows of [1, 200]) {
          const x = { data: values(rows * k, 66), shape: [rows, k] };
          const y = expected.forward(x);
          sameTensor(await layer.forward(x), y);
          const out = new Float32Array(rows * 1100);
          sameFloats((await layer.forward(x, out)).data, y.data);
          sameFloats(out, y.data);
        }
        layer.dispose();
        await rejects(layer.forward(w), TypeError, "ZP_DISPOSED", /QuantizedLinear.forward/);
      });
    }

    it("writes to the caller's own output, and returns it", async () => {
      const out = zeropoint.tensor(new Float32Array(LONG), SHAPE);
      const q = zeropoint.quantize(long, { axis: 0 });
      const result = await zp.dequantize(q, { out });
      sameTensor(out, zeropoint.dequantize(q));
      assert.equal(result, out);
      const short = new Float32Array(3);
      await rejects(zp.dequantize(q, { out: short }), RangeError, "ZP_INVALID_OUT", /3/);
    });

    it("holds observers, whose calls run in order", async () => {
      const expected = new zeropoint.HistogramObserver({ bins: 64 });
      const observer = await zp.histogramObserver({ bins: 64 });
      const pending = [long, small, long.data].map((x) => {
        expected.observe(x);
        return observer.observe(x);
      });
      const qparams = await observer.calculateQParams();
      const wanted = expected.calculateQParams();
      sameTensor(qparams.scale, wanted.scale);
      assert.equal(String(qparams.zeroPoint), String(wanted.zeroPoint));
      sameTensor(await observer.histogram, expected.histogram);
      assert.equal(await pending[0], long);
      const again = await zp.histogramObserver.fromJSON(await observer.toJSON());
      sameTensor((await again.calculateQParams()).scale, wanted.scale);
    });

    const makeModel = () => {
      const { LayerNorm, Linear, ReLU, Sequential } = zeropoint;
      const weight = { data: values(30 * 20, 67), shape: [30, 20] };
      return new Sequential({
        head: new Sequential({ fc: new Linear(weight, { bias: values(30) }), act: new ReLU() }),
        norm: new LayerNorm(30),
        last: new Linear({ data: values(4 * 30, 68), shape: [4, 30] }),
      });
    };
    const x = { data: values(8 * 20, 69), shape: [8, 20] };

    it("runs float models", async () => {
      const float = await zp.sequential({ model: makeModel() });
      sameTensor(await float.forward(x), makeModel().forward(x));
    });

    it("prepares, calibrates, converts and reports models", async () => {
      const mapping = new zeropoint.QConfigMapping()
        .setGlobal(zeropoint.predefinedQConfigs.default_qconfig)
        .setModuleNameRegex("la.t", zeropoint.predefinedQConfigs.per_channel_dynamic_qconfig);
      const expected = zeropoint.convert(zeropoint.prepare(makeModel(), mapping).calibrate([x, x]));

      const prepared = await zp.prepare(makeModel(), mapping);
      assert.equal(await prepared.calibrate([x, x]), prepared);
      const converted = await zp.convert(prepared);
      sameTensor(await converted.forward(x), expected.forward(x));
      const report = await converted.report(x);
      assert.equal(String(report), String(expected.report(x)));
      const observers = await prepared.observers;
      assert.deepEqual(
        Object.keys(observers).sort(),
        ["head.fc", "norm", "last"].filter((n) => n in observers).sort(),
      );
    });

    it("refuses what cannot leave the thread", async () => {
      const model = new zeropoint.Sequential([(x) => x]);
      await rejects(
        zp.prepare(model, zeropoint.predefinedQConfigs.default_qconfig),
        TypeError,
        "ZP_INVALID_OPTION",
        /must be data that can be sent to the worker, got a Function/,
      );
      await rejects(
        zp.quantize(small, { axis: 7 }),
        RangeError,
        "ZP_INVALID_AXIS",
        /^quantize: options.axis/,
      );
      await rejects(
        zp.quantize(small, { signal: 3 }),
        TypeError,
        "ZP_INVALID_OPTION",
        /options.signal/,
      );
    });
  });
}
