import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  chooseQParams,
  create,
  dequantize,
  fakeQuantize,
  fakeQuantizePerChannel,
  fakeQuantizePerTensor,
  init,
  linear,
  pack,
  quantizationError,
  quantize,
  quantizePerChannel,
  quantizePerTensor,
  quantizePerTensorDynamic,
  tensor,
  unpack,
} from "zeropoint";
import { Background, runJob } from "../../dist/async/background.js";
import { Job } from "../../dist/async/job.js";
import { Performer } from "../../dist/async/tasks.js";
import { loadBuild } from "../../dist/build.js";
import { embedded } from "../../dist/embedded.js";
import { PackedWeight } from "../../dist/packed-weight.js";
import { Random, rejects, sameCodes, sameDeep, sameFloats, sameTensor } from "./support.mjs";

await init();

/** More values than a piece has. */
const LONG = 15 * 70_729;

function values(length, seed = 60) {
  const period = new Random(seed).normal(4091);
  return Float32Array.from({ length }, (_, i) => period[i % 4091] * (1 + (i % 7) + i / length));
}

const long = { data: values(LONG), shape: [5, LONG / 5] };
const small = tensor([
  [191.6, -13.5, 728.6],
  [92.14, 295.5, -184],
  [0, 684.6, 245.5],
]);

/** Replaces the constructor of workers, of Node's or of the page; returns how to undo that. */
function replaceWorkers(replace) {
  if (globalThis.process === undefined) {
    const { Worker } = globalThis;
    globalThis.Worker = replace(Worker);
    return () => {
      globalThis.Worker = Worker;
    };
  }
  const { getBuiltinModule } = process;
  process.getBuiltinModule = (name) => {
    const found = getBuiltinModule.call(process, name);
    return name === "node:worker_threads" ? { Worker: replace(found.Worker) } : found;
  };
  return () => {
    process.getBuiltinModule = getBuiltinModule;
  };
}

/** The workers that start while `work` runs, which may be made to fail. */
async function withWorkers(replace, work) {
  const started = [];
  const undo = replaceWorkers((Worker) => {
    class Recorded extends Worker {
      constructor(...args) {
        super(...args);
        started.push(this);
      }
    }
    return replace(Recorded);
  });
  try {
    return await work(started);
  } finally {
    undo();
  }
}

/** What a script prints that Node runs to its end. */
function runScript(script) {
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.equal(run.stderr, "");
  assert.equal(run.status, 0);
  return run.stdout;
}

function sameQuantized(actual, expected) {
  sameCodes(actual.data, expected.data);
  sameDeep({ ...actual, data: 0 }, { ...expected, data: 0 });
}

for (const place of ["a worker", "this thread"]) {
  describe(`The asynchronous functions, in ${place}`, () => {
    let zp;
    let offThread;
    let undo = () => {};
    before(async () => {
      zp = await create();
      if (place === "this thread") undo = replaceWorkers(() => undefined);
      await zp.quantizeAsync(small, {
        onProgress: (progress) => {
          ({ offThread } = progress);
        },
      });
    });
    after(() => undo());

    it("say where they run", () => {
      assert.equal(offThread, place === "a worker");
    });

    const slicings = [{}, { axis: 0 }, { axis: -1 }, { groupSize: LONG / 5 / 3 }];
    for (const slicing of slicings) {
      it(`quantize and fake-quantize with the same bits: ${JSON.stringify(slicing)}`, async () => {
        const options = { dtype: "uint4", scheme: "affine", ...slicing };
        for (const x of [small, long]) {
          const own = slicing.groupSize && x === small ? { ...options, groupSize: 3 } : options;
          const q = quantize(x, own);
          sameQuantized(await zp.quantizeAsync(x, own), q);
          sameTensor(await zp.fakeQuantizeAsync(x, own), fakeQuantize(x, own));
          sameDeep(await zp.chooseQParamsAsync(x, own), chooseQParams(x, own));
          sameTensor(await zp.dequantizeAsync(q), dequantize(q));
        }
      });
    }

    it("choose from ranges without zero, and from what is finite", async () => {
      const { data, shape } = long;
      const positive = { data: data.map((value) => 5 + Math.abs(value)), shape };
      const negative = { data: data.map((value) => -5 - Math.abs(value)), shape };
      const rare = { data: data.map((value, i) => (i % 3 ? value : Number.NaN)), shape };
      const none = { data: data.map(() => Number.NaN), shape };
      const options = { scheme: "affine", includeZero: false, nonFinite: "ignore" };
      for (const axis of [undefined, 0]) {
        for (const x of [positive, negative, rare]) {
          const expected = chooseQParams(x, { ...options, axis });
          assert.deepEqual(await zp.chooseQParamsAsync(x, { ...options, axis }), expected);
        }
        const message = await zp.chooseQParamsAsync(none, { ...options, axis }).catch(String);
        assert.throws(
          () => chooseQParams(none, { ...options, axis }),
          (error) => String(error) === message.replace("Async", ""),
        );
      }
    });

    it("quantize with given qparams", async () => {
      const options = { scale: tensor(values(5).map(Math.abs), [5, 1]), dtype: "int16" };
      sameQuantized(await zp.quantizeAsync(long, options), quantize(long, options));
    });

    it("quantize numbers that are not float32", async () => {
      const data = Float64Array.from(long.data, (value) => value * 1.0000001);
      sameQuantized(await zp.quantizeAsync(data), quantize(data));
      const bytes = new Uint8Array(LONG).map((_, i) => i);
      sameQuantized(await zp.quantizeAsync(bytes), quantize(bytes));
    });

    const zeroPoints = {
      integers: [1, 2, 3, 4, 5],
      floats: Float32Array.of(1.25, 2, 3, 4, 5),
    };
    const scales = [0.1, 0.2, 0.3, 0.4, 0.5];

    it("dequantize PyTorch's tensors", async () => {
      const perTensor = quantizePerTensor(long, 0.1, 3, "quint8");
      sameTensor(await zp.dequantizeAsync(perTensor), dequantize(perTensor));
      for (const zeros of Object.values(zeroPoints)) {
        const perChannel = quantizePerChannel(long, scales, zeros, 0, "qint8");
        sameTensor(await zp.dequantizeAsync(perChannel), dequantize(perChannel));
      }
    });

    it("run PyTorch's functions on whole tensors with the same bits", async () => {
      // An infinity and NaN tell whether compat has come along.
      const odd = { data: long.data.with(LONG - 1, Number.NaN).with(0, -Infinity), shape: [LONG] };
      for (const options of [{}, { compat: "torch" }]) {
        for (const dtype of ["qint8", "quint8", "qint32"]) {
          const q = quantizePerTensor(odd, 0.1, 3, dtype, options);
          sameQuantized(await zp.quantizePerTensorAsync(odd, 0.1, 3, dtype, options), q);
        }
        sameTensor(
          await zp.fakeQuantizePerTensorAsync(odd, 0.1, 3, 0, 15, options),
          fakeQuantizePerTensor(odd, 0.1, 3, 0, 15, options),
        );
      }
      for (const reduceRange of [false, true]) {
        sameQuantized(
          await zp.quantizePerTensorDynamicAsync(long, "qint8", reduceRange),
          quantizePerTensorDynamic(long, "qint8", reduceRange),
        );
      }
      const low = { data: long.data.with(LONG - 1, -Infinity), shape: [LONG] };
      const options = { compat: "torch" };
      const q = quantizePerTensorDynamic(low, "quint8", true, options);
      assert.equal(q.scale, Infinity);
      sameQuantized(await zp.quantizePerTensorDynamicAsync(low, "quint8", true, options), q);
    });

    for (const [kind, zeros] of Object.entries(zeroPoints)) {
      it(`run PyTorch's functions on channels with the same bits: ${kind}`, async () => {
        const { data, shape } = long;
        for (const [x, axis] of [
          [long, 0],
          [{ data, shape: [shape[1], 5] }, 1],
        ]) {
          sameQuantized(
            await zp.quantizePerChannelAsync(x, scales, zeros, axis, "quint8"),
            quantizePerChannel(x, scales, zeros, axis, "quint8"),
          );
          sameTensor(
            await zp.fakeQuantizePerChannelAsync(x, scales, zeros, axis, 0, 15),
            fakeQuantizePerChannel(x, scales, zeros, axis, 0, 15),
          );
        }
      });
    }

    for (const dtype of ["uint2", "int4", "uint8", "int16", "int32"]) {
      it(`pack ${dtype} into the same bytes, and unpack them`, async () => {
        for (const length of [LONG, LONG - 3, 5, 0]) {
          const x = { data: long.data.subarray(0, length), shape: [length] };
          const scheme = dtype.startsWith("u") ? "affine" : "symmetric";
          const q = quantize(x, { dtype, scheme, scale: 1.7 });
          const bytes = pack(q);
          sameCodes(await zp.packAsync(q), bytes);
          sameQuantized(await zp.unpackAsync(bytes, q), unpack(bytes, q));
        }
      });
    }

    it("unpack bytes of a class of the user's that claims another length", async () => {
      class Long extends Uint8Array {
        get length() {
          return 99;
        }
      }
      const q = quantize(small, { dtype: "int4" });
      sameQuantized(await zp.unpackAsync(new Long(pack(q)), q), q);
    });

    it("measure with the same bits", async () => {
      const b = long.data.map((value, i) => value + (i % 5) * 0.01);
      for (const metric of ["mse", "mae", "max", "sqnr", "cosine"]) {
        const error = await zp.quantizationErrorAsync(long.data, b, metric);
        assert.equal(error, quantizationError(long.data, b, metric), metric);
      }
    });

    const weights = [
      ["float", (w) => w],
      ["per tensor", (w) => quantize(w)],
      ["per row", (w) => quantize(w, { axis: 0, dtype: "uint8", scheme: "affine" })],
      ["per column", (w) => quantize(w, { axis: 1 })],
      ["per group", (w) => quantize(w, { groupSize: 125, dtype: "int4" })],
      ["qint8", (w) => quantizePerTensor(w, 0.1, 0, "qint8")],
    ];
    for (const [name, weightOf] of weights) {
      it(`multiply with the same bits: ${name}`, async () => {
        const k = 1000;
        const w = weightOf({ data: values(1100 * k, 61), shape: [1100, k] });
        const bias = values(1100, 62);
        for (const rows of [1, 3]) {
          const x = { data: values(rows * k, 63), shape: [rows, 1, k] };
          sameTensor(await zp.linearAsync(x, w, bias), linear(x, w, bias));
        }
      });
    }

    it("multiply more rows than fit a piece", async () => {
      const k = 2 ** 17;
      const x = { data: values(25 * k), shape: [25, k] };
      const w = { data: values(6 * k, 64), shape: [6, k] };
      let pieces = 0;
      const onProgress = () => pieces++;
      sameTensor(await zp.linearAsync(x, w, null, { onProgress }), linear(x, w));
      assert.equal(pieces, 3 * 2);
      const q = quantize(w, { axis: 0 });
      const options = { accumulate: "float32" };
      sameTensor(await zp.linearAsync(x, q, null, options), linear(x, q, null, options));
    });

    const floats = { data: values(200 * 1500, 71), shape: [200, 1500] };
    const layers = [
      ["per tensor", (w, bias) => new zp.QuantizedLinear(w, { bias })],
      ["4 bits per group", (w) => new zp.QuantizedLinear(w, { dtype: "int4", groupSize: 125 })],
      ["summed in float32", (w) => new zp.QuantizedLinear(w, { axis: 0, accumulate: "float32" })],
      [
        "dynamic activations",
        (w, bias) => new zp.QuantizedLinear(w, { activations: "dynamic", axis: 0, bias }),
      ],
      [
        "dynamic activations of 8 bits",
        (w) => new zp.QuantizedLinear(w, { activations: "dynamic", reduceRange: false }),
      ],
    ];
    for (const [name, layerOf] of layers) {
      it(`run a layer with the same bits: ${name}`, async () => {
        const layer = layerOf(floats, values(200, 72));
        for (const rows of [1, 1051]) {
          const x = { data: values(rows * 1500, 73), shape: [rows, 1500] };
          const y = layer.forward(x);
          const seen = [];
          const onProgress = (progress) => seen.push(progress);
          sameTensor(await layer.forwardAsync(x, { onProgress }), y);
          const out = tensor(new Float32Array(rows * 200), [rows, 200]);
          assert.equal(await layer.forwardAsync(x, { out }), out);
          sameFloats(out.data, y.data);
          const { done, total, offThread: off } = seen.at(-1);
          assert.deepEqual([done, off], [total, place === "a worker"]);
          assert.ok(rows === 1 || seen.length > 2, `${seen.length} pieces`);
        }
        layer.dispose();
      });
    }

    // In more than one piece.
    const wide = { data: values(401 * 1500, 74), shape: [401, 1500] };
    const doubles = { data: Float64Array.from(wide.data, (w) => w * 1.0000001), shape: wide.shape };
    const zeros = Array.from({ length: 401 }, () => 0);
    const perOutput = [zeros.map((_, i) => 1 + i / 100), zeros, 0, "qint8"];
    const int4 = { dtype: "int4", groupSize: 125 };
    for (const [name, weight, options, passes] of [
      ["float weights", wide, {}, 4],
      ["float weights and a bias", wide, { ...int4, bias: values(401, 75) }, 4],
      ["given scales", doubles, { scale: tensor(values(401).map(Math.abs), [401, 1]) }, 3],
      ["dynamic activations", wide, { activations: "dynamic", bias: values(401, 75) }, 4],
      [
        "one scale for each output",
        doubles,
        { activations: "dynamic", axis: 0, reduceRange: false },
        4,
      ],
      ["quantized weights", quantize(wide, { dtype: "uint2", scheme: "affine", axis: 1 }), {}, 2],
      ["a qint8 weight", quantizePerChannel(wide, ...perOutput), { accumulate: "float32" }, 2],
    ]) {
      it(`make a layer with the same bits: ${name}`, async () => {
        const seen = [];
        const onProgress = (progress) => seen.push(progress);
        const layer = await zp.quantizedLinearAsync(weight, { ...options, onProgress });
        const expected = new zp.QuantizedLinear(weight, options);
        assert.ok(layer instanceof zp.QuantizedLinear);
        assert.equal(String(layer), String(expected));
        sameDeep(layer.qparams, expected.qparams);
        const { accumulate, inFeatures, outFeatures } = layer;
        assert.deepEqual([accumulate, inFeatures, outFeatures], [expected.accumulate, 1500, 401]);
        for (const rows of [1, 9]) {
          const x = { data: values(rows * 1500, 76), shape: [rows, 1500] };
          const y = expected.forward(x);
          sameTensor(layer.forward(x), y);
          sameTensor(await layer.forwardAsync(x), y);
        }
        layer.dispose();
        assert.ok(seen.length >= passes, `${seen.length} pieces`);
        seen.forEach(({ done, total, offThread: off }, i) => {
          assert.ok(done > (seen[i - 1]?.done ?? 0) && total === seen[0].total);
          assert.equal(off, place === "a worker");
        });
        assert.equal(seen.at(-1).done, seen[0].total);
      });
    }

    it("make layers without values", async () => {
      for (const shape of [
        [0, 3],
        [3, 0],
      ]) {
        const weight = tensor([], shape);
        const options = { activations: "dynamic", axis: 0, bias: values(shape[0]) };
        const layer = await zp.quantizedLinearAsync(weight, options);
        const x = tensor(new Float32Array(2 * shape[1]), [2, shape[1]]);
        sameTensor(layer.forward(x), new zp.QuantizedLinear(weight, options).forward(x));
      }
    });

    it("refuse what layers cannot be made from", async () => {
      const ninth = values(1200);
      ninth[9] = Number.NaN;
      const x = tensor(ninth, [12, 100]);
      const bad = [
        [
          x,
          {},
          RangeError,
          "ZP_NON_FINITE",
          /^quantizedLinearAsync: weight must be finite.*value 9 is/,
        ],
        [
          x,
          { activations: "dynamic", axis: 0 },
          RangeError,
          "ZP_NON_FINITE",
          /^quantizedLinearAsync: weight must be finite .* got values from NaN to NaN$/,
        ],
        [
          tensor([1]),
          {},
          RangeError,
          "ZP_SHAPE_MISMATCH",
          /^quantizedLinearAsync: weight must have/,
        ],
        [
          small,
          { bias: tensor([1]) },
          RangeError,
          "ZP_SHAPE_MISMATCH",
          /^quantizedLinearAsync: options.bias/,
        ],
        [
          small,
          { dtype: "int16" },
          RangeError,
          "ZP_UNSUPPORTED_DTYPE",
          /^quantizedLinearAsync: opt/,
        ],
        [small, { sginal: 1 }, TypeError, "ZP_UNKNOWN_OPTION", /did you mean signal/],
        [quantize(small), { axis: 0 }, TypeError, "ZP_CONFLICTING_OPTIONS", /quantized already$/],
        [
          quantize(small, { dtype: "int4" }),
          { activations: "dynamic" },
          RangeError,
          "ZP_UNSUPPORTED_DTYPE",
          /^quantizedLinearAsync: weight must have dtype "int8"/,
        ],
      ];
      for (const [weight, options, ...what] of bad) {
        await rejects(zp.quantizedLinearAsync(weight, options), ...what);
      }
    });

    it("make no layer when they are told to stop", async () => {
      // The last one when there is nothing left to do.
      for (const most of [0, 0.4, 0.8, 1]) {
        const controller = new AbortController();
        const onProgress = ({ done, total }) => {
          if (done >= most * total) controller.abort(new Error("enough"));
        };
        const { signal } = controller;
        const work = zp.quantizedLinearAsync(wide, { signal, onProgress });
        await assert.rejects(work, /^Error: enough$/);
      }
      const signal = AbortSignal.abort(new Error("before"));
      await assert.rejects(zp.quantizedLinearAsync(wide, { signal }), /^Error: before$/);
    });

    it("run layers without values, and of values that are not float32", async () => {
      for (const [n, k, rows] of [
        [0, 3, 2],
        [2, 0, 3],
        [2, 3, 0],
      ]) {
        const weight = quantizePerTensor(tensor(new Float32Array(n * k), [n, k]), 1, 0, "qint8");
        const input = tensor(new Float32Array(rows * k), [rows, k]);
        for (const activations of ["float32", "dynamic"]) {
          const layer = new zp.QuantizedLinear(weight, { activations, bias: values(n) });
          sameTensor(await layer.forwardAsync(input), layer.forward(input));
        }
      }
      const layer = new zp.QuantizedLinear(floats);
      const x = { data: Float64Array.from(values(1500)), shape: [1, 1500] };
      sameTensor(await layer.forwardAsync(x), layer.forward(x));
    });

    it("run a subclass's own forward", async () => {
      class Doubled extends zp.QuantizedLinear {
        forward(x, out) {
          const y = super.forward(x, out);
          y.data.forEach((value, i) => {
            y.data[i] = 2 * value;
          });
          return y;
        }
      }
      class Both extends Doubled {
        async forwardAsync(x, options) {
          const y = await super.forwardAsync(x, options);
          return tensor([y.data[0]]);
        }
      }
      const x = tensor([[1, 2, 3]]);
      const y = new zp.QuantizedLinear(small).forward(x);
      const layer = new Doubled(small);
      const out = new Float32Array(y.data.length);
      const seen = [];
      const onProgress = ({ offThread, reason }) => seen.push([offThread, reason]);
      const result = await layer.forwardAsync(x, { out, onProgress });
      assert.equal(result.data, out);
      sameTensor(result, { data: y.data.map((value) => 2 * value), shape: y.shape });
      assert.deepEqual(seen, [[false, "QuantizedLinear is quick on the calling thread"]]);
      // What both forms are changed to is what runs.
      assert.equal((await new Both(small).forwardAsync(x)).data[0], y.data[0]);
      const signal = AbortSignal.abort(new Error("enough"));
      await assert.rejects(layer.forwardAsync(x, { signal }), /^Error: enough$/);
      await rejects(layer.forwardAsync(x, { sginal: 1 }), TypeError, "ZP_UNKNOWN_OPTION", /./);
    });

    it("refuse what a layer refuses", async () => {
      const where = "QuantizedLinear.forwardAsync";
      const layer = new zp.QuantizedLinear(small, { activations: "dynamic" });
      const bad = [
        [() => layer.forwardAsync(tensor([1, 2, 3])), RangeError, "ZP_SHAPE_MISMATCH"],
        [() => layer.forwardAsync(small, { sginal: 1 }), TypeError, "ZP_UNKNOWN_OPTION"],
        [
          () => layer.forwardAsync(small, { out: new Float32Array(8) }),
          RangeError,
          "ZP_INVALID_OUT",
        ],
        [() => layer.forwardAsync(tensor([[1, Number.NaN, 2]])), RangeError, "ZP_NON_FINITE"],
      ];
      for (const [work, type, code] of bad) {
        await rejects(work(), type, code, new RegExp(`^${where}: `));
      }
      const signal = AbortSignal.abort(new Error("enough"));
      await assert.rejects(layer.forwardAsync(small, { signal }), /^Error: enough$/);
      layer.dispose();
      await rejects(
        layer.forwardAsync(small),
        TypeError,
        "ZP_DISPOSED",
        /^Quan.*forwardAsync: the l/,
      );
    });

    it("stop when the layer is disposed in the midst", async () => {
      const layer = new zp.QuantizedLinear(floats);
      const x = { data: values(2001 * 1500, 74), shape: [2001, 1500] };
      const work = layer.forwardAsync(x, { onProgress: () => layer.dispose() });
      await rejects(work, TypeError, "ZP_DISPOSED", /^QuantizedLinear\.forwardAsync: the layer is/);
      sameQuantized(await zp.quantizeAsync(small), quantize(small));
    });

    it("take and give tensors without values", async () => {
      const none = { data: new Float32Array(0), shape: [0, 4] };
      sameQuantized(await zp.quantizeAsync(none, { scale: 1 }), quantize(none, { scale: 1 }));
      assert.ok(Number.isNaN(await zp.quantizationErrorAsync(none, none)));
      const w = { data: new Float32Array(8), shape: [2, 4] };
      assert.deepEqual((await zp.linearAsync(none, w)).shape, [0, 2]);
      const noColumns = { data: new Float32Array(0), shape: [3, 0] };
      const noK = { data: new Float32Array(0), shape: [2, 0] };
      const bias = values(2);
      sameTensor(await zp.linearAsync(noColumns, noK, bias), {
        data: [...bias, ...bias, ...bias],
        shape: [3, 2],
      });
      await rejects(zp.quantizeAsync(none), RangeError, "ZP_EMPTY", /^quantizeAsync: x has no/);
    });

    const observers = [
      ["MinMaxObserver", {}],
      ["MovingAverageMinMaxObserver", { averagingConstant: 0.3 }],
      ["PerChannelMinMaxObserver", { chAxis: -1 }],
      ["MovingAveragePerChannelMinMaxObserver", { dtype: "qint8" }],
      ["HistogramObserver", { bins: 77 }],
      ["RecordingObserver", {}],
      ["PlaceholderObserver", {}],
      ["FixedQParamsObserver", { scale: 0.1, zeroPoint: 3 }],
    ];
    for (const [name, options] of observers) {
      it(`show batches to observers, which hold the same bits: ${name}`, async () => {
        const [here, away] = [new zp[name](options), new zp[name](options)];
        const { data, shape } = long;
        const wider = { data: data.map((value) => 3 * value - 1), shape };
        const narrow = { data: data.map((value) => value / 2), shape };
        for (const batch of [{ data: new Float32Array(0), shape: [0, 5] }, narrow, long, wider]) {
          const seen = [];
          const onProgress = (progress) => seen.push(progress);
          here.observe(batch);
          assert.equal(await away.observeAsync(batch, { onProgress }), batch);
          sameDeep(away.toJSON(), here.toJSON());
          seen.forEach(({ done, total }, i) => {
            assert.ok(done > (seen[i - 1]?.done ?? 0) && done <= total);
          });
          if (batch.data.length === 0) continue;
          assert.equal(seen.at(-1).done, seen.at(-1).total);
          if (!/Min|Hist/.test(name)) continue;
          assert.equal(seen[0].offThread, place === "a worker");
          assert.ok(seen.length > 2, `${seen.length} pieces`);
        }
        assert.equal(String(away), String(here));
      });
    }

    it("show observers what float32 does not hold, and what PyTorch lets in", async () => {
      const doubles = { data: Float64Array.from(long.data, (value) => value / 3), shape: [LONG] };
      const infinite = {
        data: long.data.map((value, i) => (i % 99 ? value : 1 / 0)),
        shape: [LONG],
      };
      const [here, away] = [0, 0].map(() => new zp.HistogramObserver({ compat: "torch" }));
      for (const batch of [doubles, infinite, doubles]) {
        here.observe(batch);
        await away.observeAsync(batch);
      }
      sameDeep(away.toJSON(), here.toJSON());
    });

    it("count a batch again where the range has changed in the midst", async () => {
      const [here, away] = [new zp.HistogramObserver(), new zp.HistogramObserver()];
      const first = away.observeAsync(long, {
        onProgress({ done, total }) {
          if (away.isUnobserved && done > total / 2) away.observe(small);
        },
      });
      await first;
      here.observe(small);
      here.observe(long);
      sameDeep(away.toJSON(), here.toJSON());
    });

    it("take several batches at once, each as a whole", async () => {
      const [here, away] = [new zp.HistogramObserver(), new zp.HistogramObserver()];
      const batches = [1, 7, 3].map((by) => long.data.map((value) => by * value));
      await Promise.all(batches.map((batch) => away.observeAsync(batch)));
      for (const batch of batches) here.observe(batch);
      const sum = ({ histogram }) => histogram.data.reduce((total, count) => total + count, 0);
      assert.deepEqual([away.minVal, away.maxVal], [here.minVal, here.maxVal]);
      assert.ok(Math.abs(sum(away) - 3 * LONG) < 3, `${sum(away)} of ${3 * LONG}`);
    });

    it("leave an observer as it was when they refuse or are stopped", async () => {
      for (const name of ["MovingAveragePerChannelMinMaxObserver", "HistogramObserver"]) {
        const observer = new zp[name]();
        observer.observe(long);
        const before = observer.toJSON();
        const wide = { data: long.data.map((value) => 2 * value), shape: long.shape };
        for (const at of [1, 2]) {
          const controller = new AbortController();
          let calls = 0;
          const onProgress = () => {
            calls++;
            if (calls === at) controller.abort(new Error("enough"));
          };
          const { signal } = controller;
          await assert.rejects(observer.observeAsync(wide, { signal, onProgress }), /enough/);
        }
        const where = `${name}.observeAsync`;
        const odd = {
          data: wide.data.map((value, i) => (i === 70_000 ? 1 / 0 : value)),
          shape: [5, LONG / 5],
        };
        for (const [work, type, code, message] of [
          [
            () => observer.observeAsync(odd),
            RangeError,
            "ZP_NON_FINITE",
            `${where}: x must be finite`,
          ],
          [() => observer.observeAsync("x"), TypeError, "ZP_INVALID_TENSOR", `${where}: x must be`],
          [
            () => observer.observeAsync(small, { sginal: 1 }),
            TypeError,
            "ZP_UNKNOWN_OPTION",
            `${where}: .*did you mean signal`,
          ],
        ]) {
          await rejects(work(), type, code, new RegExp(`^${message}`));
        }
        assert.deepEqual(observer.toJSON(), before);
      }
      const signal = AbortSignal.abort();
      const passive = new zp.RecordingObserver();
      await assert.rejects(passive.observeAsync(small, { signal }), { name: "AbortError" });
      assert.equal(passive.tensors.length, 0);
    });

    it("write to out, and give it", async () => {
      const out = new Int8Array(LONG);
      const q = await zp.quantizeAsync(long, { out });
      assert.equal(q.data, out);
      sameCodes(out, quantize(long).data);
      const y = tensor(new Float32Array(LONG), long.shape);
      assert.equal(await zp.dequantizeAsync(q, { out: y }), y);
      sameFloats(y.data, dequantize(q).data);
      const floats = new Float32Array(LONG);
      assert.equal((await zp.fakeQuantizeAsync(long, { out: floats })).data, floats);
      sameFloats(floats, y.data);
      assert.equal(await zp.fakeQuantizePerTensorAsync(long, 1, 0, -8, 7, { out: y }), y);
      sameTensor(y, fakeQuantizePerTensor(long, 1, 0, -8, 7));
      for (const [work, now] of [
        [
          () => zp.quantizePerTensorAsync(long, 1, 0, "qint8", { out }),
          quantizePerTensor(long, 1, 0, "qint8"),
        ],
        [
          () => zp.quantizePerTensorDynamicAsync(long, "qint8", false, { out }),
          quantizePerTensorDynamic(long, "qint8"),
        ],
      ]) {
        assert.equal((await work()).data, out);
        sameCodes(out, now.data);
      }
      const sum = new Float32Array(2);
      const w = tensor([1, 2, 3, 4], [2, 2]);
      const result = await zp.linearAsync(tensor([1, 1]), w, null, { out: sum });
      assert.equal(result.data, sum);
      assert.deepEqual([...sum], [3, 7]);
    });

    it("tell how far they have come", async () => {
      const seen = [];
      await zp.quantizeAsync(long, { axis: 0, onProgress: (progress) => seen.push(progress) });
      assert.ok(seen.length > 4);
      seen.forEach(({ done, total }, i) => {
        assert.equal(total, 2 * LONG);
        assert.ok(done > (seen[i - 1]?.done ?? 0));
      });
      assert.equal(seen.at(-1).done, 2 * LONG);
      const q = quantize(long, { dtype: "int4" });
      const torch = [];
      for (const [size, work] of [
        [LONG, (own) => zp.quantizePerTensorAsync(long, 1, 0, "qint8", own)],
        [2 * LONG, (own) => zp.quantizePerTensorDynamicAsync(long, "quint8", true, own)],
        [LONG, (own) => zp.fakeQuantizePerTensorAsync(long, 1, 0, 0, 15, own)],
        [LONG, (own) => zp.packAsync(q, own)],
        [LONG, (own) => zp.unpackAsync(pack(q), q, own)],
      ]) {
        torch.length = 0;
        await work({ onProgress: ({ done, total }) => torch.push([done, total]) });
        assert.ok(torch.length > 1);
        assert.ok(torch.every(([, total]) => total === size));
        assert.deepEqual(torch.at(-1), [size, size]);
      }
      for (const { offThread: off, reason } of seen) {
        assert.equal(off, place === "a worker");
        assert.equal(
          reason,
          off ? undefined : "a worker could not be started: there are no workers here",
        );
      }
    });

    it("stop when they are told to, and work on", async () => {
      const controller = new AbortController();
      const out = new Int8Array(LONG).fill(9);
      let calls = 0;
      const onProgress = () => {
        calls++;
        if (calls === 2) controller.abort(new Error("enough"));
      };
      const promise = zp.quantizeAsync(long, { signal: controller.signal, onProgress, out });
      await assert.rejects(promise, /^Error: enough$/);
      assert.ok(out.every((code) => code === 9));
      const stopped = calls;
      sameQuantized(await zp.quantizeAsync(long), quantize(long));
      assert.ok(stopped <= 4 && calls === stopped, `${calls} pieces after the second`);
    });

    it("take their listener from the signal again", async () => {
      const listeners = new Set();
      const signal = {
        aborted: false,
        addEventListener: (_, listener) => listeners.add(listener),
        removeEventListener: (_, listener) => listeners.delete(listener),
      };
      let during;
      const onProgress = () => {
        during = listeners.size;
      };
      await zp.quantizeAsync(small, { signal, onProgress });
      assert.deepEqual([during, listeners.size], [1, 0]);
      await assert.rejects(zp.quantizeAsync(tensor([1, Number.NaN]), { signal }));
      assert.equal(listeners.size, 0);
    });

    it("do not begin when they were told to stop before", async () => {
      const onProgress = () => assert.fail("begun");
      const signal = AbortSignal.abort();
      await assert.rejects(zp.quantizeAsync(small, { signal, onProgress }), {
        name: "AbortError",
      });
      await assert.rejects(zp.linearAsync(small, small, null, { signal }), { name: "AbortError" });
    });

    it("are stopped by a timeout of the signal", async () => {
      const signal = AbortSignal.timeout(1);
      const x = { data: long.data, shape: [LONG] };
      const work = async () => {
        for (;;) await zp.quantizeAsync(x, { signal });
      };
      await assert.rejects(work(), { name: "TimeoutError" });
    });

    it("are stopped by what onProgress throws", async () => {
      let calls = 0;
      const onProgress = () => {
        calls++;
        throw new SyntaxError("mine");
      };
      await assert.rejects(zp.dequantizeAsync(quantize(long), { onProgress }), SyntaxError);
      await zp.quantizeAsync(long);
      assert.equal(calls, 1);
    });

    it("tell of no progress where there is nothing to do", async () => {
      const onProgress = () => assert.fail("done / total would be NaN");
      await zp.quantizationErrorAsync(tensor([]), tensor([]), "mse", { onProgress });
    });

    it("let this thread's events have their turn", async () => {
      // Messages, for browsers let the timers of a page that is not in front wait.
      const { port1, port2 } = new MessageChannel();
      let turns = 0;
      port1.onmessage = () => turns++;
      const onProgress = () => port2.postMessage(0);
      await zp.quantizeAsync({ data: values(2 ** 23), shape: [2 ** 23] }, { onProgress });
      port1.close();
      assert.ok(turns >= 5, `${turns} turns`);
    });

    it("reject what the synchronous ones refuse", async () => {
      const bad = [
        [() => zp.quantizeAsync("x"), TypeError, "ZP_INVALID_TENSOR", /^quantizeAsync: x must be/],
        [
          () => zp.quantizeAsync(small, { axis: 2 }),
          RangeError,
          "ZP_INVALID_AXIS",
          "quantizeAsync: options.axis must be 0 or 1 for shape [3, 3], got 2",
        ],
        [
          () => zp.quantizeAsync(small, { sginal: 1 }),
          TypeError,
          "ZP_UNKNOWN_OPTION",
          /did you mean signal/,
        ],
        [
          () => zp.quantizeAsync(small, { signal: 1 }),
          TypeError,
          "ZP_INVALID_OPTION",
          /AbortSignal, got 1/,
        ],
        [
          () => zp.quantizeAsync(small, { signal: { aborted: false, addEventListener() {} } }),
          TypeError,
          "ZP_INVALID_OPTION",
          /must be an AbortSignal, got an object with aborted, addEventListener$/,
        ],
        [() => zp.dequantizeAsync(small), TypeError, "ZP_INVALID_TENSOR", /^dequantizeAsync: q/],
        [
          () => zp.fakeQuantizeAsync(small, { onProgress: 3 }),
          TypeError,
          "ZP_INVALID_FUNCTION",
          "fakeQuantizeAsync: options.onProgress must be a function, got 3",
        ],
        [
          () => zp.chooseQParamsAsync(tensor([1, Number.NaN])),
          RangeError,
          "ZP_NON_FINITE",
          /^chooseQParamsAsync: x must be finite to choose a scale, but value 1 is NaN/,
        ],
        [
          () => zp.quantizationErrorAsync(small, tensor([1])),
          RangeError,
          "ZP_SHAPE_MISMATCH",
          /^quantizationErrorAsync: b must have the shape of a/,
        ],
        [
          () => zp.quantizePerTensorAsync(small, 1, 300, "quint8"),
          RangeError,
          "ZP_INVALID_ZERO_POINT",
          /^quantizePerTensorAsync: zeroPoint must be/,
        ],
        [
          () => zp.quantizePerChannelAsync(small, [1, 2], [0, 0], 0, "qint8"),
          RangeError,
          "ZP_SHAPE_MISMATCH",
          /^quantizePerChannelAsync: scales must/,
        ],
        [
          () => zp.quantizePerTensorDynamicAsync(tensor([Number.NaN]), "qint8"),
          RangeError,
          "ZP_NON_FINITE",
          /^quantizePerTensorDynamicAsync: x must be finite/,
        ],
        [
          () => zp.fakeQuantizePerTensorAsync(small, 1, 0, 15, 0),
          RangeError,
          "ZP_INVALID_QUANT_RANGE",
          /^fakeQuantizePerTensorAsync: quantMin must/,
        ],
        [
          () =>
            zp.fakeQuantizePerChannelAsync(small, [1, 1, 1], [0, 0, 0], 0, 0, 15, { sginal: 1 }),
          TypeError,
          "ZP_UNKNOWN_OPTION",
          /^fakeQuantizePerChannelAsync: .*did you mean signal/,
        ],
        [() => zp.packAsync(small), TypeError, "ZP_INVALID_TENSOR", /^packAsync: q must/],
        [
          () => zp.unpackAsync(new Uint8Array(1), quantize(small)),
          RangeError,
          "ZP_INVALID_BYTES",
          /^unpackAsync: bytes must have length 9/,
        ],
        [
          () => zp.linearAsync(small, tensor([1])),
          RangeError,
          "ZP_SHAPE_MISMATCH",
          /^linearAsync: weight/,
        ],
      ];
      for (const [work, type, code, message] of bad) await rejects(work(), type, code, message);
    });

    it("refuse an array that is transferred before they are done", async () => {
      const data = values(LONG);
      const promise = zp.quantizeAsync(data, {
        onProgress: () => {
          if (data.length > 0) structuredClone(data, { transfer: [data.buffer] });
        },
      });
      await rejects(
        promise,
        TypeError,
        "ZP_DETACHED",
        `quantizeAsync: an array, Float32Array, was resized or transferred while it was in use: it had ${LONG} ` +
          "values, now it has 0",
      );
      sameQuantized(await zp.quantizeAsync(small), quantize(small));
    });

    it("are rejected with an AbortError by a signal that does not say why", async () => {
      const silent = { addEventListener() {}, removeEventListener() {} };
      const signal = { aborted: true, ...silent };
      await assert.rejects(zp.quantizeAsync(small, { signal }), { name: "AbortError" });
      let abort;
      const addEventListener = (_, listener) => {
        abort = listener;
      };
      const later = { aborted: false, ...silent, addEventListener };
      const stopped = zp.quantizeAsync(small, { signal: later });
      abort();
      await assert.rejects(stopped, { name: "AbortError" });
    });

    it("run side by side", async () => {
      const xs = [61, 62, 63, 64].map((seed) => ({ data: values(LONG, seed), shape: [LONG] }));
      const results = await Promise.all(xs.map((x) => zp.quantizeAsync(x)));
      results.forEach((q, i) => {
        sameQuantized(q, quantize(xs[i]));
      });
    });

    it("are rejected when their instance is disposed, and from then on", async () => {
      const own = await create();
      const inTheMidst = new Promise((resolve, reject) => {
        const onProgress = () => own.dispose();
        own.quantizeAsync(long, { onProgress }).then(resolve, reject);
      });
      const beside = own.dequantizeAsync(quantize(long));
      const why = "this instance was disposed";
      await rejects(inTheMidst, TypeError, "ZP_DISPOSED", `quantizeAsync: ${why}`);
      await rejects(beside, TypeError, "ZP_DISPOSED", `dequantizeAsync: ${why}`);
      await rejects(own.quantizeAsync(small), TypeError, "ZP_DISPOSED", `quantizeAsync: ${why}`);
      own.dispose();
      sameQuantized(await zp.quantizeAsync(long), quantize(long));
    });

    it("leave the arguments to their owner", async () => {
      const data = values(LONG);
      const q = quantize(data);
      const scale = tensor([1, 2, 3], [3, 1]);
      await zp.quantizeAsync(data);
      await zp.dequantizeAsync(q);
      await zp.quantizeAsync(small, { scale });
      await zp.linearAsync(small, quantize(small, { axis: 0 }), scale.data);
      assert.equal(data.length, LONG);
      assert.equal(q.data.length, LONG);
      assert.equal(scale.data.length, 3);
    });
  });
}

/** Ends a worker from outside, as far as its maker can tell. */
function crash(worker) {
  if (worker.on) worker.terminate();
  else worker.dispatchEvent(new ErrorEvent("error", { message: "it ended with 1" }));
}

/** What comes of a task that only the caller waits for. */
function ask(worker, task) {
  return new Promise((resolve) => {
    const hear = ({ id, outcome, error }) => {
      if (id !== -1) return;
      worker.off?.("message", hear).unref();
      resolve(outcome ?? { error });
    };
    if (worker.on) worker.on("message", hear).ref();
    else worker.addEventListener("message", ({ data }) => hear(data));
    worker.postMessage({ id: -1, task: { where: "test", ...task } }, []);
  });
}

/** Options that stop the work after its first piece. */
function stopping() {
  const controller = new AbortController();
  const onProgress = () => controller.abort(new Error("stopped"));
  return { signal: controller.signal, onProgress };
}

describe("The worker", () => {
  it("is one, started by the first call and shared by all", async () => {
    const zp = await create();
    await withWorkers(
      (Worker) => Worker,
      async (started) => {
        assert.equal(started.length, 0);
        await Promise.all([zp.quantizeAsync(small), zp.chooseQParamsAsync(small)]);
        await zp.quantizeAsync(small);
        assert.equal(started.length, 1);
      },
    );
  });

  it("is each instance's own", async () => {
    await withWorkers(
      (Worker) => Worker,
      async (started) => {
        for (const zp of [await create(), await create()]) await zp.quantizeAsync(small);
        assert.equal(started.length, 2);
      },
    );
  });

  it("gets the weight of a layer once, and forgets it with the layer", async () => {
    const posted = [];
    const listening = (Worker) =>
      class extends Worker {
        postMessage(message, transfer) {
          const { kind = "start", bytes } = message.task ?? {};
          posted.push(bytes ? `${kind} ${bytes.length > 3000}` : kind);
          super.postMessage(message, transfer);
        }
      };
    const zp = await create();
    const weight = tensor(values(40 * 100), [40, 100]);
    const x = tensor(values(200), [2, 100]);
    await withWorkers(listening, async (started) => {
      const layer = new zp.QuantizedLinear(weight, { axis: 0 });
      const y = layer.forward(x);
      const both = await Promise.all([layer.forwardAsync(x), layer.forwardAsync(x)]);
      for (const again of [...both, await layer.forwardAsync(x)]) sameTensor(again, y);
      const expected = (kind) => posted.filter((found) => found.startsWith(kind)).length;
      assert.deepEqual(
        [expected("hold true"), expected("forward"), expected("release")],
        [1, 3, 0],
      );
      // Another worker knows nothing of it.
      crash(started[0]);
      await new Promise((resolve) => setTimeout(resolve, 50));
      sameTensor(await layer.forwardAsync(x), y);
      assert.deepEqual([started.length, expected("hold true"), expected("release")], [2, 2, 0]);
      layer.dispose();
      assert.equal(expected("release"), 1);
      await zp.quantizeAsync(small);
    });
  });

  it("gives back the memory of weights that it forgets", async () => {
    const core = await loadBuild("test", embedded, { build: "baseline" });
    const weight = new PackedWeight(core, "test", {
      ...{ outFeatures: 2048, inFeatures: 8192, dtype: "int8", granularity: "perTensor" },
      ...{ codes: new Int8Array(2 ** 24), groupSize: 0, scales: [1], zeroPoints: [0] },
    });
    const copy = weight.copy("test", () => {});
    const performer = new Performer();
    const common = { job: 0, where: "test", weight: 7 };
    // More than WebAssembly's memory holds at a time.
    for (let held = 0; held < 2 ** 32; held += copy.bytes.length) {
      performer.perform(core, { kind: "hold", ...common, ...copy });
      performer.perform(core, { kind: "release", ...common });
    }
  });

  it("is ended with its instance, and not before", async () => {
    let ended = 0;
    const counted = (Worker) =>
      class extends Worker {
        terminate() {
          ended++;
          return super.terminate();
        }
      };
    const [zp, other] = [await create(), await create()];
    await withWorkers(counted, async () => {
      for (const instance of [zp, other]) await instance.quantizeAsync(small);
      assert.equal(ended, 0);
      zp.dispose();
      assert.equal(ended, 1);
      sameQuantized(await other.quantizeAsync(small), quantize(small));
    });
  });

  it("may end: its work is rejected, and the next call starts another", async () => {
    const zp = await create();
    await withWorkers(
      (Worker) => Worker,
      async (started) => {
        const work = zp.quantizeAsync(long, { onProgress: () => crash(started[0]) });
        await rejects(
          work,
          Error,
          "ZP_WORKER_LOST",
          "quantizeAsync: the worker ended before its work did: it ended with 1",
        );
        sameQuantized(await zp.quantizeAsync(long), quantize(long));
        assert.equal(started.length, 2);
      },
    );
  });

  it("hands over what goes wrong in it, with type and code, and works on", async () => {
    let changed = {};
    const changing = (Worker) =>
      class extends Worker {
        postMessage(message, transfer) {
          const { task } = message;
          const isMeant = task !== undefined && task.kind === changed.kind;
          super.postMessage(
            isMeant ? { ...message, task: { ...task, ...changed } } : message,
            transfer,
          );
        }
      };
    const zp = await create();
    await withWorkers(changing, async (started) => {
      for (const [change, type, code, message] of [
        [
          { kind: "open", length: 2 ** 53 },
          RangeError,
          "ZP_OUT_OF_MEMORY",
          /^quantizeAsync: not enough memory for an array of 9007199254740992 values/,
        ],
        [
          { kind: "apply", size: 10 },
          TypeError,
          "ZP_DETACHED",
          /^quantizeAsync: an array, Float32Array, was/,
        ],
        [{ kind: "apply", qparams: null }, Error, undefined, /null/],
      ]) {
        changed = change;
        await rejects(zp.quantizeAsync(small), type, code, message);
        changed = {};
        sameQuantized(await zp.quantizeAsync(small), quantize(small));
      }
      assert.equal(started.length, 1);
    });
  });

  it("forgets what it kept for work that is done, was stopped or has failed", async () => {
    const jobs = new Set();
    const listening = (Worker) =>
      class extends Worker {
        postMessage(message, transfer) {
          if (message.task && message.id !== -1) jobs.add(message.task.job);
          super.postMessage(message, transfer);
        }
      };
    const zeros = { ...long, data: new Float32Array(LONG) };
    const zp = await create();
    await withWorkers(listening, async (started) => {
      for (const run of [
        (options) => zp.quantizeAsync(long, options),
        (options) => zp.chooseQParamsAsync(long, options),
        (options) => zp.quantizationErrorAsync(long, zeros, "max", options),
        (options) => zp.linearAsync(long, long, null, options),
      ]) {
        await run({});
        await assert.rejects(run(stopping()), /^Error: stopped$/);
        const throwing = () => assert.fail("thrown");
        await assert.rejects(run({ onProgress: throwing }), /thrown/);
      }
      await assert.rejects(zp.chooseQParamsAsync(tensor([1, Number.NaN])), {
        code: "ZP_NON_FINITE",
      });
      assert.equal(jobs.size, 13);
      for (const job of jobs) {
        // The last of two pieces, without a difference: there is one if the first is still known.
        const last = { a: new Float32Array(1), b: new Float32Array(1), begin: 2 ** 19, size: 1 };
        const error = { kind: "error", job, ...last, total: 2 ** 19 + 1, metric: "max" };
        const { measured } = await ask(started[0], error);
        const { result } = await ask(started[0], { kind: "close", job });
        assert.deepEqual({ measured, result }, { measured: 0, result: undefined });
      }
    });
    zp.dispose();
  });

  it("ends with its instance, and lets Node end at once", () => {
    const script = `
      import { create } from "zeropoint";
      import { Worker } from "node:worker_threads";
      const { getBuiltinModule } = process;
      const ends = [];
      process.getBuiltinModule = (name) => {
        const found = getBuiltinModule.call(process, name);
        if (name !== "node:worker_threads") return found;
        class Recorded extends Worker {
          constructor(...args) {
            super(...args);
            ends.push(new Promise((resolve) => this.once("exit", resolve)));
          }
        }
        return { Worker: Recorded };
      };
      const started = performance.now();
      const running = await create();
      await running.quantizeAsync(new Float32Array(9));
      running.dispose();
      const late = setTimeout(() => console.log("late"), 2000);
      await ends[0];
      console.log("ended");
      clearTimeout(late);
      // One that has not answered yet.
      const starting = await create();
      const work = starting.quantizeAsync(new Float32Array(9)).catch(({ code }) => console.log(code));
      setTimeout(() => starting.dispose());
      await work;
      await ends[1];
      process.on("exit", () => console.log(performance.now() - started < 5000));`;
    assert.equal(runScript(script), "ended\nZP_DISPOSED\ntrue\n");
  });

  it("may be missing: the work is done here, and the reason is told", async () => {
    const broken = [
      [() => undefined, "there are no workers here"],
      [
        () =>
          class {
            constructor() {
              throw new Error("not allowed");
            }
          },
        "not allowed",
      ],
      [
        (Worker) =>
          class extends Worker {
            postMessage() {
              super.postMessage({ start: { name: "baseline", module: "none" } }, []);
            }
          },
        /WebAssembly/,
      ],
    ];
    // A page under a strict policy must not ask for such an address.
    if (globalThis.process !== undefined) {
      const withoutFile = (Worker) =>
        class extends Worker {
          constructor() {
            super(new URL("data:text/javascript,throw new Error('no such file')"));
          }
        };
      broken.push([withoutFile, "no such file"]);
    }
    for (const [replace, why] of broken) {
      const zp = await create();
      await withWorkers(replace, async () => {
        let last;
        const onProgress = (progress) => {
          last = progress;
        };
        sameQuantized(await zp.quantizeAsync(small, { onProgress }), quantize(small));
        assert.equal(last.offThread, false);
        const [, reason] = /^a worker could not be started: (.*)$/.exec(last.reason);
        if (typeof why === "string") assert.equal(reason, why);
        else assert.match(reason, why);
      });
    }
  });

  it("is tried once more after it could not start, and then no more", async () => {
    for (const [failures, expected] of [
      [1, [false, true, true]],
      [2, [false, false, false]],
    ]) {
      const zp = await create();
      let left = failures;
      const failing = (Worker) =>
        class extends Worker {
          constructor(...made) {
            if (left-- > 0) throw new Error("busy");
            super(...made);
          }
        };
      await withWorkers(failing, async () => {
        const places = [];
        for (let call = 0; call < 3; call++) {
          let last;
          const onProgress = ({ offThread }) => {
            last = offThread;
          };
          await zp.quantizeAsync(small, { onProgress });
          places.push(last);
        }
        assert.deepEqual(places, expected);
      });
    }
  });

  it("need not answer for the work to be stopped", async () => {
    const silent = (Worker) =>
      class extends Worker {
        postMessage() {}
      };
    const zp = await create();
    await withWorkers(silent, async (started) => {
      const controller = new AbortController();
      const work = zp.quantizeAsync(small, { signal: controller.signal });
      setTimeout(() => controller.abort(new Error("now")), 10);
      await assert.rejects(work, /^Error: now$/);
      await started[0].terminate();
    });
  });

  it("lets Node end when the work was stopped before it began", () => {
    const script = `
      import { init, quantizeAsync } from "zeropoint";
      await init();
      const controller = new AbortController();
      quantizeAsync(new Float32Array(9), { signal: controller.signal }).catch(console.log);
      controller.abort("stopped");`;
    assert.equal(runScript(script), "stopped\n");
  });

  it("keeps Node alive while it works, and no longer", () => {
    const script = `
      import { init, quantizeAsync } from "zeropoint";
      await init();
      let place;
      const onProgress = ({ offThread, reason }) => {
        place = offThread || reason;
      };
      const x = new Float32Array(2 ** 22).fill(2);
      quantizeAsync(x, { onProgress }).then(({ data }) => console.log(place, data[9]));`;
    assert.equal(runScript(script), "true 127\n");
  });
});

describe("What the asynchronous functions do", () => {
  /** An instance whose executor never finishes what it is asked. */
  const makeCore = () => ({
    background: Object.assign(new Background(), {
      executors: { choose: async () => ({ perform: () => new Promise(() => {}) }), end() {} },
    }),
  });
  const question = { kind: "ranges", counts: { slices: 1 }, nonFinite: "keep", passes: 1 };
  /** What an observer asks about a batch: nothing, something, or it does not get that far. */
  const nothing = { next: () => ({ done: true }) };
  const forever = { next: () => ({ done: false, value: question }) };
  const fail = {
    next() {
      throw new Error("mine");
    },
  };
  const show = (core, settings, look) =>
    runJob(core, "test", settings, "observe", { size: 0 }, look);

  const immediate = globalThis.setImmediate !== undefined;
  const onlyNode = immediate ? false : "pages give every message a turn of its own";
  it("gives others their turn, however quick the answers are", { skip: onlyNode }, async () => {
    let turns = 0;
    let timer = setImmediate(function turn() {
      turns++;
      timer = setImmediate(turn);
    });
    const executor = {
      offThread: true,
      window: 2,
      // Two milliseconds, and an answer that waits for nobody.
      async perform() {
        for (const end = performance.now() + 2; performance.now() < end; );
        return {};
      },
    };
    const job = new Job(undefined, "test", {}, executor, new Promise(() => {}));
    await job.performAll(Array.from({ length: 30 }, () => ({ step: {}, amount: 1 })));
    clearImmediate(timer);
    assert.ok(turns >= 5, `${turns} turns`);
  });

  it("is no longer told of the instance's end when it is over", async () => {
    const core = makeCore();
    const { stops } = core.background;
    const run = (look) => show(core, {}, look);
    await run(nothing);
    await assert.rejects(run(fail), /^Error: mine$/);
    assert.equal(stops.size, 0);
    const pending = run(forever);
    assert.equal(stops.size, 1);
    core.background.end();
    await rejects(pending, TypeError, "ZP_DISPOSED", /^test: this instance was disposed/);
    assert.equal(stops.size, 0);
  });

  it("shares its listener with all that the signal stops, while one of them is on its way", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const calls = [];
    for (const name of ["addEventListener", "removeEventListener"]) {
      signal[name] = (...args) => {
        calls.push(name);
        AbortSignal.prototype[name].apply(signal, args);
      };
    }
    const run = (look) => show(makeCore(), { signal }, look);
    const first = run(forever);
    const second = run(forever);
    await run(nothing);
    await assert.rejects(run(fail), /^Error: mine$/);
    assert.deepEqual(calls, ["addEventListener"]);
    controller.abort(new Error("enough"));
    for (const stopped of [first, second]) await assert.rejects(stopped, /^Error: enough$/);
    assert.deepEqual(calls, ["addEventListener", "removeEventListener"]);
  });

  it("is loaded with the first call, whose arguments are read before", () => {
    const script = `
      import { init, quantizeAsync } from "zeropoint";
      await init();
      const x = { data: [1, 2], shape: [2] };
      const options = { scale: 1 };
      const work = quantizeAsync(x, options);
      x.data[0] = x.shape[0] = options.scale = 7;
      console.log(...(await work).data);
      await quantizeAsync("x").catch(({ code }) => console.log(code));`;
    assert.equal(runScript(script), "1 2\nZP_INVALID_TENSOR\n");
  });

  it("starts no worker if the instance is disposed while it is loaded", () => {
    const script = `
      import { create } from "zeropoint";
      const zp = await create();
      const { getBuiltinModule } = process;
      process.getBuiltinModule = (name) => {
        console.log(name);
        return getBuiltinModule.call(process, name);
      };
      const layer = new zp.QuantizedLinear({ data: [1, 2], shape: [1, 2] }, { scale: 1 });
      const work = zp.quantizeAsync(new Float32Array(9));
      zp.dispose();
      await work.catch(({ code }) => console.log(code));
      // Layers go on.
      const onProgress = ({ offThread, reason }) => console.log(offThread, reason);
      const { data } = await layer.forwardAsync(new Float32Array(2).fill(1), { onProgress });
      console.log(...data);`;
    assert.equal(runScript(script), "ZP_DISPOSED\nfalse its instance is disposed\n3\n");
  });

  it("may fail to load: the promise is rejected, and says why", () => {
    const hooks = `export async function resolve(name, context, next) {
      if (name.endsWith("/forms.js")) throw new Error("offline");
      return next(name, context);
    }`;
    const script = `
      import { register } from "node:module";
      register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)});
      const { init, quantize, quantizeAsync } = await import("zeropoint");
      await init();
      const x = Float32Array.of(127);
      await quantizeAsync(x).catch(({ code, message }) => console.log(code, message));
      console.log(...quantize(x).data);`;
    assert.equal(
      runScript(script),
      "ZP_LOAD_FAILED quantizeAsync: the asynchronous functions could not be loaded: offline\n127\n",
    );
  });
});
