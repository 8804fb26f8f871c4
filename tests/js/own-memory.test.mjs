// Arrays that objects of the library hand out: writing to them changes nothing but them.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init, QuantizedLinear, quantize, tensor, unpackLinear } from "zeropoint";
import * as models from "zeropoint/models";
import * as torch from "zeropoint/torch";
import {
  convert,
  Embedding,
  FixedQParamsObserver,
  HistogramObserver,
  LayerNorm,
  Linear,
  MinMaxObserver,
  PerChannelMinMaxObserver,
  predefinedQConfigs,
  prepare,
  quantizeDynamic,
  quantizePerChannel,
  RecordingObserver,
  ReLU,
  Sequential,
  Softmax,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { connect } from "zeropoint/worker";
import { Random, sameDeep } from "./support/asserts.mjs";
import { LAYERS, modelOf } from "./support/onnx/layers.mjs";
import { normals } from "./support/onnx/models.mjs";

const { analyze, frontier, openModel, plan, storedRows } = models;

await init();
const random = new Random(34);
const weight = tensor(random.normal(9 * 8), [9, 8]);
const bias = random.normal(9);
const x = tensor(random.normal(3 * 8), [3, 8]);
const indices = Int32Array.of(4, 0);
const OPTIONS = [
  {},
  { axis: 0 },
  { axis: 1 },
  { dtype: "int4", groupSize: 4 },
  { dtype: "uint4", groupSize: 4, zeroPoint: "float", scheme: "affine" },
  { dtype: "uint8", scheme: "affine", axis: 0 },
];

/** All typed arrays in plain data. */
function arraysIn(value, found = new Set(), seen = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(value);
  // Layers and models in others are subjects themselves.
  else if (Object(value) === value && ("forward" in value || "observe" in value)) return [];
  else if (typeof value === "object" && value !== null && !seen.has(value)) {
    seen.add(value);
    for (const field of value instanceof Map ? value.values() : Object.values(value)) {
      arraysIn(field, found, seen);
    }
  }
  return [...found];
}

/** The names of the fields and accessors of an object, and of its methods without arguments. */
function readable(object) {
  const names = new Set();
  for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      const isMethod = typeof value === "function";
      if (name === "constructor" || ["dispose", "reset", "structuredClone"].includes(name))
        continue;
      if (!isMethod || (value.length === 0 && !["report", "forward"].includes(name))) {
        names.add(name);
      }
    }
  }
  return [...names];
}

const read = (object, name) => {
  try {
    const value = object[name];
    return typeof value === "function" ? value.call(object) : value;
  } catch (error) {
    assert.match(error.code, /^ZP_/);
    return undefined;
  }
};

/** Everything that an object says and computes. */
const stateOf = (object, run) =>
  structuredClone([
    ...run(object),
    ...readable(object).map((name) => {
      const value = read(object, name);
      return [name, arraysIn(value).map((array) => array.slice()), String(value)];
    }),
  ]);

/** Overwrites all typed arrays in a value. @returns how many values there were */
function deface(value) {
  let count = 0;
  for (const array of arraysIn(value)) {
    array.fill(3);
    count += array.length;
  }
  return count;
}

/** The memory on which a float layer computes is its parameter, as in PyTorch: documented, and meant to be written. */
const LIVE = { Linear: ["weight", "bias"], Embedding: ["weight"], LayerNorm: ["weight", "bias"] };

const mixed = () =>
  new Sequential({
    fc1: new Linear(tensor(random.normal(64), [8, 8]), { bias: random.normal(8) }),
    relu: new ReLU(),
    norm: new LayerNorm(8),
    fc2: new Linear(quantize(weight, { axis: 0 })),
    softmax: new Softmax(),
  });
const calibrated = (observer) => {
  observer.observe(x);
  return observer;
};
const forward = (layer) => [layer.forward(x).data];
const select = (layer) => [layer.forward(indices).data];

const subjects = {
  ...Object.fromEntries(
    OPTIONS.flatMap((options) => [
      [
        `QuantizedLinear ${JSON.stringify(options)}`,
        [() => new QuantizedLinear(quantize(weight, options), { bias }), forward],
      ],
      [
        `QuantizedLinear that has grown ${JSON.stringify(options)}`,
        [
          () =>
            new QuantizedLinear(quantize(weight, options)).append(
              options.axis === 0 || options.groupSize ? weight : quantize(weight, options),
            ),
          forward,
        ],
      ],
      [
        `Linear of codes ${JSON.stringify(options)}`,
        [() => new Linear(quantize(weight, options)), forward],
      ],
      [
        `Embedding of codes ${JSON.stringify(options)}`,
        [() => new Embedding(quantize(weight, options)), select],
      ],
    ]),
  ),
  "QuantizedLinear, dynamic": [
    () => new QuantizedLinear(weight, { axis: 0, activations: "dynamic" }),
    forward,
  ],
  "Linear of a torch weight": [
    () =>
      new Linear(
        quantizePerChannel(weight, new Array(9).fill(0.1), new Array(9).fill(0), 0, "qint8"),
      ),
    forward,
  ],
  "Embedding of a torch weight": [
    () =>
      new Embedding(
        quantizePerChannel(weight, new Array(9).fill(0.1), new Array(9).fill(1), 0, "quint8"),
      ),
    select,
  ],
  Linear: [() => new Linear(weight, { bias }), forward],
  Embedding: [() => new Embedding(weight), select],
  LayerNorm: [
    () => new LayerNorm(8, { weight: random.normal(8), bias: random.normal(8) }),
    forward,
  ],
  Sequential: [mixed, forward],
  PreparedModel: [
    () => prepare(mixed(), predefinedQConfigs.default_qconfig).calibrate([x]),
    (model) => [convert(model).forward(x).data],
  ],
  "QuantizedModel, static": [
    () => convert(prepare(mixed(), predefinedQConfigs.default_qconfig).calibrate([x])),
    (model) => [model.forward(x).data, String(model.report(x))],
  ],
  "QuantizedModel, dynamic": [
    () => quantizeDynamic(mixed(), predefinedQConfigs.per_channel_dynamic_qconfig),
    (model) => [model.forward(x).data, String(model.report(x))],
  ],
  "QuantizedModel, weight-only": [
    () => quantizeDynamic(mixed(), new WeightOnlyQConfig({ dtype: "int4", groupSize: 4 })),
    (model) => [model.forward(x).data, String(model.report(x))],
  ],
  "QuantizedModel of embeddings": [
    () =>
      convert(
        prepare(
          new Sequential(new Embedding(weight)),
          predefinedQConfigs.float_qparams_weight_only_qconfig,
        ),
      ),
    (model) => [model.forward(indices).data, String(model.report(indices))],
  ],
  MinMaxObserver: [() => calibrated(new MinMaxObserver()), () => []],
  PerChannelMinMaxObserver: [() => calibrated(new PerChannelMinMaxObserver()), () => []],
  HistogramObserver: [() => calibrated(new HistogramObserver({ bins: 16 })), () => []],
  RecordingObserver: [() => calibrated(new RecordingObserver()), () => []],
  FixedQParamsObserver: [() => new FixedQParamsObserver({ scale: 1, zeroPoint: 0 }), () => []],
};

/** Overwrites all lists, maps and plain objects in a value, as far as they can be written. */
function overwrite(value, seen = new Set()) {
  if (Object(value) !== value || typeof value === "function" || seen.has(value)) return;
  seen.add(value);
  if (ArrayBuffer.isView(value)) {
    value.fill(3);
    return;
  }
  if (value instanceof Map) {
    for (const field of value.values()) overwrite(field, seen);
    return;
  }
  for (const field of Object.values(value)) overwrite(field, seen);
  const isPlain = Object.getPrototypeOf(value) === Object.prototype || Array.isArray(value);
  if (isPlain && !Object.isFrozen(value)) {
    for (const name of Object.keys(value)) value[name] = "overwritten";
  }
}

describe("Lists that functions of model files hand out", () => {
  const rowsOf = async (rows) => {
    const list = [];
    for await (const row of rows) list.push(row);
    return list;
  };
  const options = { schemes: ["int8-channel", "int4-g32"], worstRows: true, histogram: 4 };
  let model;
  before(async () => {
    model = await openModel(await modelOf(LAYERS.MatMul, normals(96 * 20)));
  });

  it("are no part of an open model", async () => {
    const before = structuredClone([model.inputs, [...model.tensors], [...model.metadata]]);
    assert.ok(model.inputs.length > 0 && model.inputs[0].shape.length > 0);
    overwrite([model.inputs, model.tensors, model.metadata, model.unreadable]);
    assert.throws(() => model.inputs.push("x"), TypeError);
    assert.throws(() => (model.inputs[0].shape[0] = 7), TypeError);
    sameDeep([model.inputs, [...model.tensors], [...model.metadata]], before);
  });

  it("are each row's own", async () => {
    const rows = await rowsOf(analyze(model, options));
    const before = structuredClone(rows);
    assert.ok(rows.length > 1);
    overwrite(rows[0]);
    sameDeep(rows.slice(1), before.slice(1));
    const known = structuredClone(before);
    overwrite(await rowsOf(analyze(model, { ...options, known })));
    sameDeep(known, before, "given rows of an interrupted analysis");
  });

  it("are not those of the rows that were given", async () => {
    const rows = await rowsOf(analyze(model, options));
    const before = structuredClone(rows);
    const stored = await storedRows(model, rows, { format: "onnx" });
    overwrite([stored, plan(rows, { bitsPerWeight: 20 }), frontier(rows)]);
    sameDeep(rows, before);
  });

  it("are not those of constants of a module", () => {
    for (const [name, value] of Object.entries({ ...torch, ...models })) {
      if (typeof value === "function" || Object(value) !== value) continue;
      const before = JSON.stringify(value);
      overwrite(value);
      assert.equal(JSON.stringify(value), before, name);
    }
  });
});

describe("Arrays that an object hands out", () => {
  for (const [title, [make, run]] of Object.entries(subjects)) {
    it(`are copies: ${title}`, () => {
      const object = make();
      const live = LIVE[object.typeName] ?? [];
      const before = stateOf(object, run);
      for (const name of readable(object)) {
        const isParameter = live.includes(name) && object.quantizedWeight === undefined;
        // The layers of a model are the objects themselves.
        if (
          isParameter ||
          (["layers", "model", "children"].includes(name) && object.report === undefined)
        )
          continue;
        if (deface(read(object, name)) === 0) continue;
        sameDeep(stateOf(object, run), before, `after a write to ${name}`);
      }
      if (!(object instanceof QuantizedLinear)) return;
      assert.ok(deface(unpackLinear(object)) > 0);
      sameDeep(stateOf(object, run), before, "after a write to a result of unpackLinear");
    });
  }

  it("are no part of the arrays that it was made of", () => {
    for (const options of OPTIONS) {
      const q = quantize(weight, options);
      const objects = [new QuantizedLinear(q), new Linear(q), new Embedding(q)];
      const runs = [forward, forward, select];
      const before = objects.map((object, i) => stateOf(object, runs[i]));
      assert.ok(deface(q) > 0);
      sameDeep(
        objects.map((object, i) => stateOf(object, runs[i])),
        before,
      );
    }
  });

  it("move over a connection without effect on the object there", async () => {
    const zp = await connect();
    try {
      for (const options of OPTIONS) {
        const q = quantize(weight, options);
        const layer = await zp.quantizedLinear(q, { bias });
        const expected = new QuantizedLinear(q, { bias });
        for (let i = 0; i < 3; i++) {
          sameDeep(await zp.unpackLinear(layer), unpackLinear(expected));
          sameDeep(await layer.qparams, expected.qparams);
          sameDeep(await layer.forward(x), expected.forward(x));
          const rows = options.axis === 0 || options.groupSize ? weight : q;
          await layer.append(rows, { bias });
          expected.append(rows, { bias });
        }
      }
    } finally {
      zp.dispose();
    }
  });
});
