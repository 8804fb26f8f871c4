// Calls of all functions and classes of the library, with small honest arguments, which hostile.test.mjs makes hostile.

import { frontier, klDivergence, plan } from "zeropoint/models";
import { Random } from "./asserts.mjs";
import { fieldNames, GARBAGE, overwrite } from "./hostile.mjs";

/**
 * The calls of the property test of hostile arguments, for one build: the work, its honest arguments, the index of an
 * argument that it writes to (`out`), whether it is called rarely (`rare`), and whether prototypes keep their species
 * (`withoutSpecies`).
 */
export function actionsOf(zp) {
  const random = new Random(11);
  const { tensor } = zp;
  const values = tensor(random.normal(32), [4, 8]);
  const x = { data: values.data, shape: [4, 8] };
  const w = tensor(random.normal(48), [6, 8]);
  const b = tensor(random.normal(6));
  const q = zp.quantize(w, { axis: 0 });
  const groups = zp.quantize(w, { dtype: "int4", groupSize: 4 });
  const torch = zp.quantizePerTensor(w, 0.05, 3, "qint8");
  const quint8 = zp.quantizePerTensor(values, 0.05, 100, "quint8");
  const channels = zp.quantizePerChannel(w, [1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0], 0, "qint8");
  const layer = new zp.QuantizedLinear(w, { axis: 0, bias: b });
  const dynamic = new zp.QuantizedLinear(w, { activations: "dynamic", bias: b });
  const model = new zp.Sequential({
    fc1: new zp.Linear(w, { bias: b }),
    relu: new zp.ReLU(),
    fc2: new zp.Linear(tensor(random.normal(18), [3, 6])),
  });
  const prepared = zp.prepare(model, zp.predefinedQConfigs.default_qconfig);
  prepared.forward(values);
  const converted = zp.convert(prepared);
  const dynamicModel = zp.quantizeDynamic(model);
  const plain = new zp.Linear(w, { bias: b });
  const table = new zp.Embedding(w);
  const norm = new zp.LayerNorm(8, { weight: tensor(random.normal(8)) });
  const softmax = new zp.Softmax();
  const out = () => ({ data: new Float32Array(24), shape: [4, 6] });
  const outTensor = () => tensor(new Float32Array(24), [4, 6]);
  const scales = Float32Array.of(0.1, 0.2, 0.3, 0.4);
  const zeros = Int32Array.of(1, 2, 3, 4);
  const tall = tensor(random.normal(140_000), [2, 70_000]);

  /** Observes a batch after writing to some of the observer's fields. */
  const observing = (Observer, options) => (given, fields) => {
    const observer = new Observer(options);
    observer.observe(given);
    writeFields(observer, fields);
    observer.observe(given);
    const { scale, zeroPoint } = observer.calculateQParams();
    return [scale, zeroPoint, observer.toJSON(), Observer.fromJSON(observer.toJSON()).toJSON()];
  };

  const of = (run, ...args) => ({ run, args: () => [...args] });
  return [
    of((a) => zp.quantize(a), x),
    of((a, o) => zp.quantize(a, o), x, { axis: 0 }),
    of((a, o) => zp.quantize(a, o), x, { dtype: "int4", groupSize: 4 }),
    of((a, o) => zp.quantize(a, o), x, { dtype: "uint8", scheme: "affine", axis: 1 }),
    of((a, o) => zp.quantize(a, o), x, { axis: 0, scale: scales, zeroPoint: zeros }),
    of((a, s, z) => zp.quantize(a, { scale: s, zeroPoint: z }), x, [[0.5]], [[3]]),
    of((a, s) => zp.quantize(a, { axis: 0, scale: s }), x, scales),
    of((a, o) => zp.chooseQParams(a, o), x, { dtype: "uint8", scheme: "affine" }),
    of((a) => zp.dequantize(a), q),
    of((a) => zp.dequantize(a), groups),
    of((a) => zp.dequantize(a), torch),
    of((a) => zp.dequantize(a), channels),
    of((a, o) => zp.fakeQuantize(a, o), x, { axis: 1 }),
    of((a) => zp.pack(a), groups),
    of((bytes, a) => zp.unpack(bytes, a), zp.pack(groups), groups),
    of((a, c, d) => zp.linear(a, c, d), x, w, b),
    of((a, c, d) => zp.linear(a, c, d), x, q, b),
    of((a, c, d) => zp.linear(a, c, d), x, groups, b),
    of((a, c, d, o) => zp.linear(a, c, d, o), x, torch, b, { accumulate: "float32" }),
    of((a, o) => makeAndRun(zp, a, o, values), w, { axis: 0, bias: b }),
    of((a, o) => makeAndRun(zp, a, o, values), w, { dtype: "int4", groupSize: 4, bias: b }),
    of((a, o) => makeAndRun(zp, a, o, values), w, { activations: "dynamic", axis: 0 }),
    of((a, o) => makeAndRun(zp, a, o, values), groups, { bias: b }),
    of((a) => layer.forward(a), x),
    of((a) => dynamic.forward(a), x),
    of((a, s, z) => zp.quantizePerTensor(a, s, z, "quint8"), x, [0.05], [100]),
    of((a, s, z) => zp.quantizePerChannel(a, s, z, 0, "qint8"), x, scales, zeros),
    of((a, s, z) => zp.fakeQuantizePerChannel(a, s, z, 0, 0, 15), x, scales, zeros),
    of((a, o) => zp.quantizePerTensorDynamic(a, "quint8", true, o), x, { compat: "torch" }),
    of((a) => zp.intRepr(a), channels),
    of((a, c) => zp.quantizationError(a, c, "sqnr"), x, values),
    of((a) => tensor(a), x),
    of(
      (a) => tensor(a),
      [
        [1, 2],
        [3, 4],
      ],
    ),
    of((a) => plain.forward(a), x),
    of((a) => table.forward(a), Int32Array.of(5, 0, 3)),
    of((a) => norm.forward(a), x),
    of((a) => softmax.forward(a), x),
    of((a) => converted.forward(a), x),
    of((a) => converted.forward(a), quint8),
    of((a) => dynamicModel.forward(a), x),
    { run: (a, o) => layer.forward(a, o), args: () => [x, out()], out: 1 },
    { run: (a, o) => layer.forward(a, o), args: () => [values, outTensor()], out: 1 },
    { run: (a, o) => dynamic.forward(a, o), args: () => [x, out()], out: 1 },
    { run: (a, o) => zp.linear(a, q, b, { out: o }), args: () => [x, out()], out: 1 },
    {
      run: (a, o) => zp.dequantize(a, { out: o }),
      args: () => [q, { data: new Float32Array(48), shape: [6, 8] }],
      out: 1,
    },
    {
      run: (a, o) => zp.quantize(a, { out: o }),
      args: () => [x, new Int8Array(32)],
      out: 1,
    },
    ...newerActions(zp, { values, x, w, b }),
    // With fields written between the calls.
    ...[
      [zp.MinMaxObserver, { dtype: "qint8" }],
      [zp.MovingAverageMinMaxObserver, { averagingConstant: 0.5 }],
      [zp.PerChannelMinMaxObserver, { chAxis: 1 }],
      [zp.MovingAveragePerChannelMinMaxObserver, { chAxis: 0 }],
      [zp.HistogramObserver, { bins: 32 }],
    ].map(([Observer, options]) => ({
      run: observing(Observer, options),
      args: (fields) => [x, fields],
    })),
    ...[
      [layer, (a) => layer.forward(a)],
      [dynamic, (a) => dynamic.forward(a)],
      [plain, (a) => plain.forward(a)],
      [table, () => table.forward(Int32Array.of(1, 5))],
      [norm, (a) => norm.forward(a)],
      [softmax, (a) => softmax.forward(a)],
      [converted, (a) => [converted.forward(a), converted.sizeInBytes]],
      [prepared, (a) => prepared.forward(a)],
      [model.layers[0].layer, (a) => [model.forward(a), converted.forward(a)]],
      [zp.predefinedQConfigs.default_qconfig, () => String(zp.predefinedQConfigs.default_qconfig)],
    ].map(([object, run]) => ({
      run: (a, fields) => {
        writeFields(object, fields);
        return run(a);
      },
      args: (fields) => [x, fields],
    })),
    {
      rare: true,
      run: (a) => {
        const made = zp.prepare(model, zp.predefinedQConfigs.default_qconfig);
        made.forward(a);
        const other = zp.convert(made);
        const results = [other.forward(a), String(other.report(a))];
        other.dispose();
        return results;
      },
      args: () => [values],
    },
    { rare: true, run: (a) => zp.dequantize(zp.quantize(a, { axis: 0 })), args: () => [tall] },
  ];
}

/** Makes a layer, runs it and disposes of it. */
export function makeAndRun(zp, weight, options, x) {
  const layer = new zp.QuantizedLinear(weight, options);
  try {
    return [layer.forward(x), layer.qparams];
  } finally {
    layer.dispose();
  }
}

/** Writes garbage to an object's fields, and to fields of its tensors and arrays except their values. */
function writeFields(object, random) {
  if (random === undefined) return;
  const names = fieldNames(object);
  for (let i = 0; i < 2; i++) {
    const name = random.pick(names);
    const inner = object[name];
    const isTensor = inner?.data !== undefined && inner.shape !== undefined;
    if (isTensor && random.integer(0, 1) === 0) {
      const shape = inner.shape;
      if (Array.isArray(shape)) overwrite(shape, 0, random.pick(GARBAGE));
      overwrite(inner, random.pick(["data", "shape"]), random.pick(GARBAGE));
    } else {
      overwrite(object, name, random.pick(GARBAGE));
    }
  }
}

/** A row of an analysis. */
const planRow = {
  name: "a.weight",
  scheme: "int8-channel",
  bytes: 100,
  relative: 1e-5,
  parameters: 100,
};

/** Rows of two tensors. They stay as they are: `plan` passes over them several times. */
const PLAN_ROWS = [
  planRow,
  { ...planRow, scheme: "keep", bytes: 400, relative: 0 },
  { ...planRow, scheme: "int4-g32", bytes: 60, relative: 1e-3 },
  { ...planRow, name: "b.weight", parameters: 200 },
  { ...planRow, name: "b.weight", parameters: 200, scheme: "keep", bytes: 400, relative: 0 },
];

/** Calls with real offsets, searched ranges, block types, half floats, 8-bit activations, and of plans. */
function newerActions(zp, { values, x, w, b }) {
  const random = new Random(14);
  const of = (run, ...args) => ({ run, args: () => [...args] });
  const scales = Float32Array.of(0.1, 0.2, 0.3, 0.4);
  const offsets = zp.quantize(w, { dtype: "uint3", axis: 0, zeroPoint: "float" });
  const offsetGroups = zp.quantize(w, { dtype: "uint4", groupSize: 3, zeroPoint: "float" });
  const int4 = zp.quantize(w, { dtype: "int4", groupSize: 4 });
  const wide = zp.tensor(random.normal(64), [2, 32]);
  const importance = Float32Array.from({ length: 32 }, () => random.between(0.1, 1));
  const blocks = zp.quantizeBlocks(wide, "q4_0");
  const half = { data: Uint16Array.of(0x3c00, 0xc000, 0x3800, 0), shape: [2, 2], dtype: "float16" };
  const taken = zp.tensor(random.normal(16), [2, 8]);
  const model = new zp.Sequential({
    table: new zp.Linear(int4, { bias: b }),
    own: new zp.QuantizedLinear(zp.tensor(random.normal(18), [3, 6]), { dtype: "int5" }),
  });
  const weightOnly = zp.quantizeDynamic(
    new zp.Sequential({ fc: new zp.Linear(w) }),
    new zp.WeightOnlyQConfig({ dtype: "int4", groupSize: 4 }),
  );
  const embedding = new zp.Embedding(offsets);
  const layer = new zp.QuantizedLinear(offsets, { bias: b });
  const w4a8 = new zp.QuantizedLinear(int4, { activations: "dynamic" });
  return [
    of((a, o) => zp.quantize(a, o), x, { dtype: "uint4", axis: 0, zeroPoint: "float" }),
    of((a, o) => zp.quantize(a, o), x, {
      dtype: "uint3",
      axis: 0,
      offset: scales,
      scale: scales,
    }),
    of((a, o) => zp.quantize(a, o), x, { dtype: "int4", axis: 0, range: "mse" }),
    of((a, o) => zp.quantize(a, o), x, {
      dtype: "uint4",
      groupSize: 4,
      zeroPoint: "float",
      range: "hqq",
    }),
    of((a, o) => zp.quantize(a, o), x, { range: { percentile: 90 }, axis: 0 }),
    of((a, o) => zp.chooseQParams(a, o), x, { dtype: "int3", groupSize: 5, range: "mse" }),
    of((a) => zp.quantize(a, { axis: 0 }), half),
    of((a) => zp.dequantize(a), offsets),
    of((a) => zp.dequantize(a), offsetGroups),
    of((a) => zp.pack(a), offsetGroups),
    of((bytes, a) => zp.unpack(bytes, a), zp.pack(offsets), offsets),
    of((a, c, d) => zp.linear(a, c, d), x, offsets, b),
    of((a, c, d) => zp.linear(a, c, d), x, offsetGroups, b),
    of((a, o) => makeAndRun(zp, a, o, values), offsetGroups, { bias: b }),
    of((a, o) => makeAndRun(zp, a, o, values), int4, { activations: "dynamic" }),
    of((a, o) => makeAndRun(zp, a, o, values), w, {
      activations: "dynamic",
      groupSize: 4,
      reduceRange: false,
    }),
    of((a, o) => makeAndRun(zp, a, o, values), w, { dtype: "int6", axis: 0, range: "mse" }),
    of((a, c, o) => zp.quantizationError(a, c, "mse", o), x, values, { axis: 1 }),
    of((a, c, o) => zp.quantizationError(a, c, "sqnr", o), x, values, { groupSize: 3 }),
    of((a, o) => zp.quantizeBlocks(a, "q4_0", o), wide, { importance }),
    of((a, o) => zp.quantizeBlocks(a, "q8_0", o), wide, {}),
    of((bytes, shape) => zp.dequantizeBlocks(bytes, "q4_0", shape), blocks, [2, 32]),
    {
      run: (a, o) => zp.quantizeBlocks(a, "q4_0", { out: o }),
      args: () => [wide, new Uint8Array(36)],
      out: 1,
    },
    {
      run: (a, o) => zp.dequantizeBlocks(a, "q4_0", [2, 32], { out: o }),
      args: () => [blocks, { data: new Float32Array(64), shape: [2, 32] }],
      out: 1,
    },
    of((a) => appended(zp, w, { axis: 0 }, a, values), taken),
    of((a) => appended(zp, w, { dtype: "int4", groupSize: 4 }, a, values), taken),
    of((a, o) => appended(zp, int4, undefined, a, values, o), taken, {
      bias: Float32Array.of(1, 2),
    }),
    of((a) => model.forward(a), x),
    of((a) => weightOnly.forward(a), x),
    of((a) => embedding.forward(a), Int32Array.of(5, 0, 3)),

    // JavaScript alone: a species of the page's could spoil the result, but no memory.
    ...[
      of((a) => klDivergence(a, values), x),
      of((o) => plan(PLAN_ROWS, o), { bytes: 560, pin: { "b.*": "keep" } }),
      of((o) => plan(PLAN_ROWS, o), { ratio: 0.3, metric: "relative" }),
      of((o) => frontier(PLAN_ROWS, o), { points: 4 }),
    ].map((action) => ({ ...action, withoutSpecies: true })),
    // With fields written between the calls.
    ...[
      [layer, (a) => [layer.forward(a), zp.unpackLinear(layer)]],
      [w4a8, (a) => [w4a8.forward(a), zp.unpackLinear(w4a8)]],
      [weightOnly, (a) => [weightOnly.forward(a), weightOnly.layers[0].weight.data]],
      [embedding, () => embedding.forward(Int32Array.of(1, 5))],
    ].map(([object, run]) => ({
      run: (a, fields) => {
        writeFields(object, fields);
        return run(a);
      },
      args: (fields) => [x, fields],
    })),
  ];
}

/** Makes a layer, appends rows and runs it. */
function appended(zp, weight, options, rows, x, appending) {
  const layer = new zp.QuantizedLinear(weight, {
    ...options,
    ...(appending && { bias: new Float32Array(6) }),
  });
  try {
    layer.append(rows, appending);
    return [layer.forward(x), zp.unpackLinear(layer)];
  } finally {
    layer.dispose();
  }
}
