// Models off the main thread: what their forward gives, with signal and progress.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  convert,
  convertAsync,
  create,
  defaultPerChannelQConfig,
  defaultQConfig,
  Embedding,
  floatQParamsWeightOnlyQConfig,
  HistogramObserver,
  init,
  LayerNorm,
  Linear,
  MinMaxObserver,
  perChannelDynamicQConfig,
  prepare,
  QConfig,
  QConfigMapping,
  quantizeDynamic,
  quantizeDynamicAsync,
  ReLU,
  Sequential,
  Sigmoid,
  Softmax,
  Tanh,
  tensor,
  WeightOnlyQConfig,
} from "zeropoint";
import { PackedWeight } from "../../dist/packed-weight.js";
import { Random, rejects, sameTensor } from "./support.mjs";

await init();

const random = new Random(78);
const floats = (...shape) =>
  tensor(random.normal(shape.reduce((product, length) => product * length, 1)), shape);

const model = new Sequential({
  fc1: new Linear(floats(96, 64), { bias: floats(96) }),
  relu: new ReLU(),
  fc2: new Linear(floats(80, 96)),
  norm: new LayerNorm(80, { weight: floats(80) }),
  head: new Sequential({
    sigmoid: new Sigmoid(),
    fc3: new Linear(floats(10, 80), { bias: floats(10) }),
    half: ({ data, shape }) => ({ data: data.map((value) => value / 2), shape }),
    softmax: new Softmax(),
  }),
});
const names = model.layers.map(({ name }) => name);

/** Enough rows for several pieces of a layer. */
const x = floats(7, 801, 64);
const small = floats(3, 64);

const converted = (qconfig, options) => {
  const prepared = prepare(model, qconfig, options);
  prepared.forward(small);
  return convert(prepared);
};

const models = [
  ["float32", () => model],
  ["prepared", () => prepare(model, defaultQConfig)],
  ["static", () => converted(defaultQConfig)],
  ["static, nothing fused", () => converted(defaultPerChannelQConfig, { fuse: false })],
  ["dynamic", () => quantizeDynamic(model, perChannelDynamicQConfig)],
  ["weights alone", () => converted(new WeightOnlyQConfig({ dtype: "int4", groupSize: 16 }))],
  [
    "of all kinds",
    () =>
      converted(
        new QConfigMapping()
          .setGlobal(new WeightOnlyQConfig({ bits: 5 }))
          .setModuleName("fc1", defaultQConfig)
          .setModuleName("fc2", perChannelDynamicQConfig),
      ),
  ],
];

/** Runs work where no worker can be had. */
async function withoutWorkers(work) {
  if (globalThis.process === undefined) {
    const { Worker } = globalThis;
    globalThis.Worker = undefined;
    try {
      return await work();
    } finally {
      globalThis.Worker = Worker;
    }
  }
  const { getBuiltinModule } = process;
  process.getBuiltinModule = (name) =>
    name === "node:worker_threads" ? undefined : getBuiltinModule.call(process, name);
  try {
    return await work();
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
}

describe("Models off the main thread", () => {
  for (const [name, make] of models) {
    it(`give the same bits, and say how far they are: ${name}`, async () => {
      const own = make();
      const expected = own.forward(x);
      const seen = [];
      const onProgress = (progress) => seen.push(progress);
      sameTensor(await own.forwardAsync(x, { onProgress }), expected);
      assert.ok(seen.length > names.length);
      seen.forEach(({ done, total }, i) => {
        assert.equal(total, names.length);
        assert.ok(done > (seen[i - 1]?.done ?? 0), `${done} after ${seen[i - 1]?.done}`);
      });
      assert.equal(seen.at(-1).done, names.length);
      assert.ok(seen[0].offThread, seen[0].reason);
      sameTensor(await own.forwardAsync(small), own.forward(small));
      own.dispose?.();
    });
  }

  it("give them on this thread where no worker can be had", async () => {
    await withoutWorkers(async () => {
      const zp = await create();
      const layers = {};
      for (const { name, layer } of model.layers) {
        const { weight, bias } = layer;
        const isLinear = layer instanceof Linear;
        layers[name.replace(".", " ")] = isLinear ? new zp.Linear(weight, { bias }) : layer;
      }
      const own = new zp.Sequential(layers);
      const prepared = zp.prepare(own, defaultQConfig);
      prepared.forward(small);
      for (const each of [own, zp.convert(prepared), zp.quantizeDynamic(own)]) {
        const reasons = new Set();
        const onProgress = ({ offThread, reason }) => reasons.add(offThread || reason);
        sameTensor(await each.forwardAsync(x, { onProgress }), each.forward(x));
        assert.match([...reasons][0], /^a worker could not be started: there are no workers here/);
      }
      zp.dispose();
    });
  });

  it("show calibration batches to the same observers", async () => {
    const [here, elsewhere] = [prepare(model, defaultQConfig), prepare(model, defaultQConfig)];
    for (const batch of [small, x]) {
      here.forward(batch);
      await elsewhere.forwardAsync(batch);
    }
    const state = ({ observers }) => JSON.stringify(observers);
    assert.equal(state(elsewhere), state(here));
  });

  const tall = floats(9001, 64);
  const big = new Sequential({
    fc1: new Linear(tall, { bias: floats(9001) }),
    relu: new ReLU(),
    fc2: new Linear(floats(5, 9001)),
  });
  const mapping = (type, qconfig) => new QConfigMapping().setObjectType(type, qconfig);
  const table = new Sequential([new Embedding(tall), new Linear(floats(3, 64))]);
  const observed = (activation, weight) => new QConfig({ activation, weight });
  const perTensorHistogram = HistogramObserver.withArgs({
    dtype: "qint8",
    qscheme: "per_tensor_symmetric",
  });
  const conversions = [
    ["static", big, defaultQConfig],
    ["static per channel", big, defaultPerChannelQConfig],
    ["weights seen by a histogram", big, observed(MinMaxObserver, perTensorHistogram)],
    ["dynamic", big, perChannelDynamicQConfig],
    ["weights alone, observed", big, observed(null, defaultPerChannelQConfig.weight)],
    ["weights alone", big, new WeightOnlyQConfig({ dtype: "int4", groupSize: 1 })],
    ["weights alone, of 3 bits", big, new WeightOnlyQConfig({ bits: 3, axis: 0 })],
    ["a table", table, mapping("Embedding", floatQParamsWeightOnlyQConfig)],
    ["a table of 2 bits", table, mapping("Embedding", new WeightOnlyQConfig({ bits: 2 }))],
    ["nothing", big, mapping("Embedding", floatQParamsWeightOnlyQConfig)],
  ];
  for (const [name, float, qconfig] of conversions) {
    it(`are converted to the same: ${name}`, async () => {
      const prepared = prepare(float, qconfig);
      const input = float === table ? Int32Array.of(7, 9000) : small;
      prepared.forward(input);
      const here = convert(prepared);
      const seen = [];
      const onProgress = (progress) => seen.push(progress);
      const away = await convertAsync(prepared, { onProgress });
      sameTensor(away.forward(input), here.forward(input));
      assert.equal(String(away), String(here));
      assert.deepEqual(away.report(input), here.report(input));
      seen.forEach(({ done, total, offThread, reason }, i) => {
        assert.ok(offThread, reason);
        assert.ok(done > (seen[i - 1]?.done ?? 0) && total === seen[0].total);
      });
      assert.equal(seen.at(-1)?.done, seen.at(-1)?.total);
      assert.ok(name === "nothing" ? seen.length === 0 : seen.length > 3, `${seen.length} pieces`);
      here.dispose();
      away.dispose();
    });
  }

  it("report the same", async () => {
    for (const [, float, qconfig] of conversions) {
      const prepared = prepare(float, qconfig);
      const input = float === table ? Int32Array.of(7, 9000) : small;
      prepared.forward(input);
      const model = convert(prepared);
      for (const inputs of [input, [input, input], undefined]) {
        const seen = [];
        const onProgress = (progress) => seen.push(progress);
        const report = await model.reportAsync(inputs, { onProgress });
        assert.deepEqual(report, model.report(inputs));
        seen.forEach(({ done, total }, i) => {
          assert.ok(done > (seen[i - 1]?.done ?? 0) && total === seen[0].total);
        });
        assert.equal(seen.at(-1)?.done, seen.at(-1)?.total);
      }
      model.dispose();
    }
  });

  it("report of weights without values, to the end", async () => {
    const empty = new Sequential(new Linear(tensor([], [0, 3])), new Linear(tensor([], [2, 0])));
    const model = quantizeDynamic(empty);
    const seen = [];
    const onProgress = ({ done, total }) => seen.push(done / total);
    const report = await model.reportAsync(tensor([[1, 2, 3]]), { onProgress });
    assert.deepEqual(report, model.report(tensor([[1, 2, 3]])));
    assert.equal(report.layers[0].weightSqnr, Number.NaN);
    assert.equal(seen.at(-1), 1);
    model.dispose();
  });

  it("stop reporting, and tell which layer refuses its input", async () => {
    const model = quantizeDynamic(big);
    const controller = new AbortController();
    const { signal } = controller;
    const stopped = model.reportAsync(small, {
      signal,
      onProgress: () => controller.abort("enough"),
    });
    await assert.rejects(stopped, (reason) => reason === "enough");
    await assert.rejects(model.reportAsync(small, { signal }), (reason) => reason === "enough");
    const where = /\(in layer "fc1", Linear\)$/;
    await rejects(model.reportAsync([small, floats(2, 3)]), RangeError, "ZP_SHAPE_MISMATCH", where);
    await rejects(
      model.reportAsync(small, { x: 1 }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /reportAsync/,
    );
    model.dispose();
    await rejects(model.reportAsync(small), TypeError, "ZP_DISPOSED", /forward/);
  });

  it("are quantized dynamically to the same", async () => {
    for (const qconfig of [undefined, perChannelDynamicQConfig]) {
      const options = { reduceRange: qconfig === undefined };
      const here = quantizeDynamic(big, qconfig, options);
      const away = await quantizeDynamicAsync(big, qconfig, options);
      sameTensor(away.forward(small), here.forward(small));
      assert.equal(String(away), String(here));
      here.dispose();
      away.dispose();
    }
  });

  it("are converted on the instance that was asked", async () => {
    const zp = await create();
    const own = new zp.Sequential([new zp.Linear(tall)]);
    const [first, second] = await Promise.all([
      zp.quantizeDynamicAsync(own),
      zp.convertAsync(zp.prepare(own, new WeightOnlyQConfig({ bits: 5 }))),
    ]);
    const expected = first.forward(small);
    sameTensor(expected, quantizeDynamic(new Sequential([new Linear(tall)])).forward(small));
    const cores = [];
    class Watching extends MinMaxObserver {
      constructor() {
        super({ dtype: "qint8", qscheme: "per_tensor_symmetric" });
        cores.push(this.core);
      }
    }
    const twice = new zp.Sequential([new zp.Linear(tall), new zp.Linear(floats(2, 9001))]);
    const qconfig = new QConfig({ activation: null, weight: Watching });
    const third = await zp.convertAsync(zp.prepare(twice, qconfig));
    const { core } = new zp.MinMaxObserver();
    // Those that prepare looks at, and those that convert lets look at the weights.
    assert.equal(cores.length, 4);
    assert.ok(cores.every((each) => each === core));
    third.dispose();
    zp.dispose();
    await rejects(
      zp.quantizeDynamicAsync(own),
      TypeError,
      "ZP_DISPOSED",
      /^quantizeDynamicAsync: /,
    );
    second.dispose();
  });

  it("are not converted when they may not be, and free what they had packed", async () => {
    const controller = new AbortController();
    let highest = 0;
    const onProgress = ({ done, total }) => {
      highest = done / total;
      if (done > 0.95 * total) controller.abort(new Error("enough"));
    };
    const { signal } = controller;
    const work = quantizeDynamicAsync(big, undefined, { signal, onProgress });
    const { dispose } = PackedWeight.prototype;
    let freed = 0;
    PackedWeight.prototype.dispose = function () {
      freed++;
      dispose.call(this);
    };
    await assert.rejects(work, /^Error: enough$/);
    PackedWeight.prototype.dispose = dispose;
    assert.ok(highest > 0.95);
    assert.equal(freed, 1);
    await assert.rejects(
      convertAsync(prepare(big, perChannelDynamicQConfig), { signal }),
      /enough/,
    );
    const odd = new Sequential({
      a: new Linear(tall),
      b: new Linear({ data: new Float32Array(128).fill(1 / 0), shape: [2, 64] }),
    });
    for (const [refused, type, code, message] of [
      [() => convertAsync(big), TypeError, "ZP_INVALID_MODEL", /^convertAsync: prepared must/],
      [
        () => quantizeDynamicAsync(big, defaultQConfig),
        RangeError,
        "ZP_UNSUPPORTED_QCONFIG",
        /^quantizeDynamicAsync: layer "fc1" has a static QConfig/,
      ],
      [
        () => convertAsync(prepare(big, defaultQConfig)),
        RangeError,
        "ZP_EMPTY",
        /^convertAsync: the observer of this layer's input .*\(in layer "fc1", Linear\)$/,
      ],
      [
        () => quantizeDynamicAsync(odd),
        RangeError,
        "ZP_NON_FINITE",
        /^MinMaxObserver\.observeAsync: x must be finite.*\(in layer "b", Linear\)$/,
      ],
      [
        () => quantizeDynamicAsync(big, undefined, { reduceRnage: true }),
        TypeError,
        "ZP_UNKNOWN_OPTION",
        /^quantizeDynamicAsync: .*did you mean reduceRange/,
      ],
    ]) {
      await rejects(refused(), type, code, message);
    }
  });

  const long = floats(2, 300, 600);
  for (const [what, layer, input] of [
    ["ReLU", new ReLU(), long],
    ["Tanh", new Tanh(), { data: Float64Array.from(long.data), dims: long.shape }],
    ["Softmax along the last axis", new Softmax(), long],
    ["Softmax along an axis in the midst", new Softmax({ axis: 1 }), long],
    ["Softmax along the first axis", new Softmax({ axis: 0 }), long],
    ["LayerNorm over one axis", new LayerNorm(600), long],
    ["LayerNorm over all axes", new LayerNorm([2, 300, 600], { bias: long }), long],
    ["Embedding", new Embedding(floats(9, 5)), Int32Array.of(8, 0, 8)],
  ]) {
    it(`${what}: many values in pieces, with the same bits`, async () => {
      const seen = [];
      const onProgress = (progress) => seen.push(progress);
      sameTensor(await layer.forwardAsync(input, { onProgress }), layer.forward(input));
      const { done, total, offThread, reason } = seen.at(-1);
      assert.deepEqual([done, offThread], [total, false]);
      assert.equal(reason, `${layer.typeName} is quick on the calling thread`);
      if (/last|ReLU|one axis/.test(what)) assert.ok(seen.length > 1);
    });
  }

  it("look rows of a quantized table up", async () => {
    const table = new Sequential([new Embedding(floats(9, 64)), new Linear(floats(4, 64))]);
    const own = convert(
      prepare(
        table,
        new QConfigMapping().setObjectType("Embedding", floatQParamsWeightOnlyQConfig),
      ),
    );
    const indices = Int32Array.of(8, 0, 8);
    sameTensor(await own.forwardAsync(indices), own.forward(indices));
  });

  it("take and give tensors without values, and models without layers", async () => {
    const none = tensor(new Float32Array(0), [0, 64]);
    for (const [name, make] of models.filter(([name]) => name !== "prepared")) {
      const own = make();
      assert.deepEqual((await own.forwardAsync(none)).shape, [0, 10], name);
    }
    sameTensor(await new Sequential([]).forwardAsync(small), small);
  });

  it("stop when they are told to, in any layer", async () => {
    for (const layer of [0, 2, 3, 6]) {
      const controller = new AbortController();
      const onProgress = ({ done }) => {
        if (done > layer) controller.abort(new Error(`in ${layer}`));
        assert.ok(done <= layer + 1);
      };
      const work = model.forwardAsync(x, { signal: controller.signal, onProgress });
      await assert.rejects(work, { message: `in ${layer}` });
    }
    const signal = AbortSignal.abort();
    for (const [, make] of models) {
      await assert.rejects(make().forwardAsync(small, { signal }), { name: "AbortError" });
    }
    await assert.rejects(new ReLU().forwardAsync(long, { signal }), { name: "AbortError" });
  });

  it("stop when the model is disposed in the midst", async () => {
    for (const qconfig of [defaultQConfig, perChannelDynamicQConfig]) {
      const own = converted(qconfig);
      const onProgress = () => own.dispose();
      await rejects(own.forwardAsync(x, { onProgress }), TypeError, "ZP_DISPOSED", /in layer "f/);
    }
  });

  it("are stopped by what onProgress throws", async () => {
    const onProgress = () => {
      throw new SyntaxError("mine");
    };
    await assert.rejects(model.forwardAsync(x, { onProgress }), SyntaxError);
    await assert.rejects(new ReLU().forwardAsync(long, { onProgress }), SyntaxError);
  });

  it("pass on what is no error: of a signal, of onProgress, of a layer", async () => {
    const thrower = () => {
      throw null;
    };
    const one = new Sequential([new ReLU()]);
    const signal = AbortSignal.abort(null);
    for (const [what, work] of Object.entries({
      signal: () => one.forwardAsync(small, { signal }),
      "signal of a linear layer": () => model.forwardAsync(small, { signal }),
      onProgress: () => one.forwardAsync(small, { onProgress: thrower }),
      "onProgress of a linear layer": () => model.forwardAsync(small, { onProgress: thrower }),
      layer: () => new Sequential([thrower]).forwardAsync(small),
    })) {
      let thrown = "nothing";
      await work().catch((error) => {
        thrown = error;
      });
      assert.equal(thrown, null, what);
    }
  });

  it("are not converted on an instance that is disposed meanwhile", async () => {
    const weight = floats(64, 64);
    for (const convertOn of [
      (zp, model) => zp.convertAsync(zp.prepare(model, perChannelDynamicQConfig)),
      (zp, model) => zp.quantizeDynamicAsync(model),
      (zp, model) => zp.quantizeDynamicAsync(model, new WeightOnlyQConfig()),
    ]) {
      for (const ticks of [0, 1, 2, 3, 5, 8, 13]) {
        const zp = await create();
        const layers = [1, 2, 3].map(() => new zp.Linear(weight));
        const pending = convertOn(zp, new zp.Sequential(layers));
        const refused = rejects(pending, TypeError, "ZP_DISPOSED", /: this instance was disposed/);
        for (let i = 0; i < ticks; i++) await undefined;
        zp.dispose();
        await refused;
      }
    }
  });

  it("are not converted on one that is disposed at the end of a layer, either", async () => {
    const weight = floats(64, 64);
    for (const layers of [1, 2, 3]) {
      for (const qconfig of [perChannelDynamicQConfig, new WeightOnlyQConfig()]) {
        const zp = await create();
        const model = new zp.Sequential(Array.from({ length: 3 }, () => new zp.Linear(weight)));
        const onProgress = ({ done, total }) => {
          if (done >= (layers * total) / 3) zp.dispose();
        };
        const { dispose } = PackedWeight.prototype;
        let freed = 0;
        PackedWeight.prototype.dispose = function () {
          freed++;
          dispose.call(this);
        };
        try {
          await rejects(
            zp.quantizeDynamicAsync(model, qconfig, { onProgress }),
            TypeError,
            "ZP_DISPOSED",
            /: this instance was disposed/,
          );
        } finally {
          PackedWeight.prototype.dispose = dispose;
        }
        assert.equal(freed, layers - 1, "layers that were finished");
      }
    }
  });

  describe("reject", () => {
    let quantized;
    before(() => {
      quantized = converted(defaultQConfig);
    });
    after(() => quantized.dispose());

    const wide = floats(2, 65);
    for (const [what, work, type, code, message] of [
      [
        "an option they do not have",
        () => model.forwardAsync(small, { sginal: 1 }),
        TypeError,
        "ZP_UNKNOWN_OPTION",
        /^Sequential\.forwardAsync: .*did you mean signal/,
      ],
      [
        "a signal that is none",
        () => quantized.forwardAsync(small, { signal: 1 }),
        TypeError,
        "ZP_INVALID_OPTION",
        /^QuantizedModel\.forwardAsync: options\.signal/,
      ],
      [
        "a layer's options",
        () => new ReLU().forwardAsync(small, { onProgress: 1 }),
        TypeError,
        "ZP_INVALID_FUNCTION",
        /^ReLU\.forwardAsync: options\.onProgress/,
      ],
      [
        "an input that does not fit, by the layer's name",
        () => model.forwardAsync(wide),
        RangeError,
        "ZP_SHAPE_MISMATCH",
        /^Linear\.forwardAsync: input must have 64 .*\(in layer "fc1", Linear\)$/,
      ],
      [
        "an input that does not fit a static layer",
        () => quantized.forwardAsync(wide),
        RangeError,
        "ZP_SHAPE_MISMATCH",
        /^Linear\.forwardAsync: input must have 64 .*\(in layer "fc1", Linear\)$/,
      ],
      [
        "what is no tensor",
        () => new Sequential([new Tanh()]).forwardAsync("x"),
        TypeError,
        "ZP_INVALID_TENSOR",
        /^Tanh\.forwardAsync: x must be .*\(in layer "0", Tanh\)$/,
      ],
      [
        "many values without the axis",
        () => new Softmax({ axis: 3 }).forwardAsync(long),
        RangeError,
        "ZP_INVALID_AXIS",
        "Softmax.forward: x must have axis 3, options.axis, got shape [2, 300, 600]",
      ],
      [
        "what observers refuse",
        () => prepare(model, defaultQConfig).forwardAsync(floats(1, 64).data.fill(Number.NaN)),
        RangeError,
        "ZP_NON_FINITE",
        /\(in layer "fc1", Linear\)$/,
      ],
    ]) {
      it(what, () => rejects(work(), type, code, message));
    }
  });
});
