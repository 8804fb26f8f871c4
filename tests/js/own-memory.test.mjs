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

const { analyze, frontier, openModel, plan, quantizeModel, storedRows, verify, verifyOutput } =
  models;

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

describe("Results of verify and verifyOutput", () => {
  const open = async () => await openModel(await modelOf(LAYERS.MatMul, normals(96 * 20)));

  it("are no part of one another, of what was given, or of later results", async () => {
    const model = await open();
    const result = await quantizeModel(model, "int8-channel");
    const bytes = new Uint8Array(await new Response(result.files[0].stream()).arrayBuffer());
    const small = await openModel(bytes);
    const { statement } = await verify(small, model);
    const given = structuredClone(statement);
    const results = async () => [
      await verify(small, model, { statement: given }),
      await verifyOutput(model, result),
    ];
    const first = await results();
    const before = structuredClone([first, given, result.report]);
    assert.ok(first[1].rows.length > 0);
    const second = await results();
    overwrite(second);
    sameDeep([first, given, result.report], before);
    overwrite(await results());
    sameDeep([await results(), given, result.report], before);
  });
});

describe("Results of torchao's functions", () => {
  const w = () => tensor(weight.data.slice(0, 32), [4, 8]);
  const functions = { ...torch };
  const scale = () => ({ data: Float32Array.of(0.1, 0.2, 0.3, 0.4), shape: [4, 1] });
  const zeroPoint = () => ({ data: Int32Array.of(1, -2, 3, 4), shape: [4, 1] });
  const half = (dtype) =>
    torch.dequantizeAffine(
      torch.quantizeAffine(w(), { blockSize: [-1, -1], scale: 1, zeroPoint: 0 }),
      {
        outputDtype: dtype,
      },
    );
  const inputs = { float32: w, float16: () => half("float16"), bfloat16: () => half("bfloat16") };
  const rows = [1, -1];
  const qparams = [
    () => ({ blockSize: [-1, -1], scale: 0.1, zeroPoint: 1 }),
    () => ({ blockSize: [...rows], scale: scale(), zeroPoint: zeroPoint() }),
    () => ({ blockSize: [...rows], scale: scale(), zeroPointDomain: "none" }),
    () => ({ blockSize: [...rows], scale: scale(), zeroPoint: scale(), zeroPointDomain: "float" }),
    () => {
      const [halves] = torch.chooseQParamsAffine(half("float16"), { blockSize: rows });
      return { blockSize: [...rows], scale: halves, zeroPoint: zeroPoint() };
    },
  ];
  const float8 = () => ({ blockSize: [...rows], scale: scale() });
  const cases = Object.entries(inputs).flatMap(([dtype, x]) => [
    ...qparams.flatMap((options) => [
      ["quantizeAffine", () => [x(), options()]],
      ["fakeQuantizeAffine", () => [x(), options()]],
      ["dequantizeAffine", () => [torch.quantizeAffine(x(), options()), { outputDtype: dtype }]],
    ]),
    ["chooseQParamsAffine", () => [x(), { blockSize: [...rows], keepdim: true }]],
    ["chooseQParamsAffine", () => [undefined, { min: x(), max: x() }]],
    ["chooseScaleFloat8", () => [x(), { blockSize: [...rows] }]],
    ["quantizeFloat8", () => [x(), float8()]],
    ["dequantizeFloat8", () => [torch.quantizeFloat8(x(), float8())]],
    ...[{}, { axis: 0 }, { raw: true }, { scaleOnly: true }].map((own) => [
      "quantizeHqq",
      () => [x(), { groupSize: 4, ...own }],
    ]),
    ["perTensor", () => [x()]],
    ["perRow", () => [x()]],
    ["perAxis", () => [x(), 0]],
    ["perGroup", () => [x(), 4]],
    ["perBlock", () => [x(), [2, 4]]],
  ]);
  cases.push(["intx", () => [4, 32]], ["int4Tinygemm", () => [32]]);

  it("are their own", () => {
    for (const [name, args] of cases) {
      const given = args();
      const before = structuredClone(given);
      const expected = structuredClone(functions[name](...given));
      overwrite(functions[name](...given));
      sameDeep(structuredClone(given), before, `${name}: arguments after a write to the result`);
      const result = functions[name](...given);
      overwrite(given);
      sameDeep(structuredClone(result), expected, `${name}: result after a write to the arguments`);
    }
  });

  it("have arrays of the types that their dtypes name, whatever was given", () => {
    const types = {
      ...{ float32: Float32Array, float16: Uint16Array, bfloat16: Uint16Array },
      ...{ int8: Int8Array, int32: Int32Array, int64: Int32Array },
    };
    const [float16] = torch.chooseQParamsAffine(half("float16"), { blockSize: rows });
    const [bfloat16] = torch.chooseQParamsAffine(half("bfloat16"), { blockSize: rows });
    const scales = [
      ...[float16, bfloat16, scale(), { data: Float64Array.of(0.1, 0.2, 0.3, 0.4), shape: [4] }],
      { data: [1, 2, 3, 4], shape: [4] },
    ];
    const arrays = [Int8Array, Uint8Array, Int16Array, Int32Array, Float32Array, Float64Array];
    for (const own of scales) {
      for (const ArrayType of arrays) {
        const zeros = { data: ArrayType.of(1, 2, 3, 4), shape: [4] };
        const q = torch.quantizeAffine(w(), { blockSize: rows, scale: own, zeroPoint: zeros });
        for (const { data, dtype } of [q.scale, q.zeroPoint]) {
          assert.equal(Object.getPrototypeOf(data), types[dtype].prototype, dtype);
        }
        sameDeep([...q.zeroPoint.data], [1, 2, 3, 4]);
        const again = { blockSize: rows, scale: q.scale, zeroPoint: q.zeroPoint };
        sameDeep(torch.quantizeAffine(w(), again), q);
      }
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
