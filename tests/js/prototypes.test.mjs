// Prototypes that a page changes: fields of Object.prototype and the species of typed arrays change no result.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import {
  chooseQParams,
  create,
  dequantize,
  dequantizeBlocks,
  fakeQuantize,
  init,
  linear,
  pack,
  QuantizedLinear,
  quantizationError,
  quantize,
  quantizeBlocks,
  tensor,
  unpack,
  unpackLinear,
} from "zeropoint";
import * as models from "zeropoint/models";
import { frontier, plan } from "zeropoint/models";
import * as notebook from "zeropoint/notebook";
import { VectorIndex } from "zeropoint/search";
import * as torch from "zeropoint/torch";
import {
  convert,
  Embedding,
  HistogramObserver,
  LayerNorm,
  Linear,
  predefinedQConfigs,
  prepare,
  quantizeDynamic,
  quantizePerChannel,
  quantizePerTensor,
  ReLU,
  Sequential,
  WeightOnlyQConfig,
} from "zeropoint/torch";
import { connect } from "zeropoint/worker";
import { hasFields, jsonText, parseJson } from "../internal/cli.mjs";
import { Random, sameDeep } from "./support/asserts.mjs";
import { optionalNames } from "./support/declared.mjs";
import { outputBytes, safetensorsOf } from "./support/files/checkpoints.mjs";
import { makeLlama } from "./support/files/llama.mjs";
import {
  LAYOUTS as REFERENCE_LAYOUTS,
  referenceCheckpoint,
} from "./support/files/reference-layouts.mjs";
import { bytesOf } from "./support/files/saved.mjs";
import {
  ARRAY_CLASSES,
  NAMES,
  polluted,
  pollutedAsync,
  SPECIES,
  withSpecies,
} from "./support/hostile.mjs";
import { LAYERS, modelOf } from "./support/onnx/layers.mjs";
import { normals } from "./support/onnx/models.mjs";
import { namesRead } from "./support/read-names.mjs";

await init();
const random = new Random(20);

describe("Object.prototype", () => {
  const x = tensor(random.normal(64), [8, 8]);
  const weight = tensor(random.normal(64), [8, 8]);
  const layer = new QuantizedLinear(weight, { axis: 0 });
  const dynamic = new QuantizedLinear(weight, { activations: "dynamic" });
  const q = quantize(x, { axis: 0 });
  const int4 = quantize(x, { dtype: "int4", groupSize: 4 });
  const torch = quantizePerTensor(x, 0.1, 0, "qint8");
  const channels = quantizePerChannel(x, new Array(8).fill(0.1), new Array(8).fill(0), 0, "quint8");
  const tall = tensor(random.normal(64), [2, 32]);
  const model = new Sequential({
    fc1: new Linear(weight),
    relu: new ReLU(),
    fc2: new Linear(weight),
  });
  const work = {
    quantize: () => quantize(x),
    "quantize with options": () => quantize(x, { dtype: "uint8", scheme: "affine" }),
    "quantize by group": () => quantize(x, { groupSize: 4, dtype: "int4" }),
    chooseQParams: () => chooseQParams(x),
    dequantize: () => dequantize(q),
    "dequantize of a torch tensor": () => dequantize(torch),
    "dequantize of torch channels": () => dequantize(channels),
    fakeQuantize: () => fakeQuantize(x),
    pack: () => pack(int4),
    unpack: () => unpack(pack(int4), int4),
    linear: () => linear(x, weight),
    "linear of a quantized weight": () => linear(x, q),
    "linear of a torch weight": () => linear(x, torch),
    "a layer": () => layer.forward(x),
    "a dynamic layer": () => dynamic.forward(x),
    "a new layer": () => new QuantizedLinear(weight, { dtype: "int4", groupSize: 4 }).forward(x),
    "a new dynamic layer": () => new QuantizedLinear(weight, { activations: "dynamic" }).forward(x),
    tensor: () => tensor([[1, 2]]),
    error: () => quantizationError(x, dequantize(q)),
    perTensor: () => quantizePerTensor(x, 0.1, 3, "quint8"),
    print: () => `${torch} ${channels} ${x} ${layer} ${model}`,
    observer: () => {
      const observer = new HistogramObserver({ bins: 32 });
      observer.observe(x);
      return [observer.calculateQParams(), HistogramObserver.fromJSON(observer.toJSON()).toJSON()];
    },
    model: () => {
      const prepared = prepare(model, predefinedQConfigs.default_qconfig);
      prepared.forward(x);
      const converted = convert(prepared);
      return [converted.forward(x), converted.report(x).toString(), String(converted)];
    },
    "a dynamic model": () => quantizeDynamic(model).forward(x),
    "a weight-only model": () => {
      const int4 = quantizeDynamic(model, new WeightOnlyQConfig({ dtype: "int4", groupSize: 4 }));
      return [int4.forward(x), int4.layers[0].weight];
    },
    "float zero points": () => {
      const options = { dtype: "uint4", groupSize: 3, zeroPoint: "float", range: "hqq" };
      const offsets = quantize(x, options);
      return [dequantize(unpack(pack(offsets), offsets)), linear(x, offsets)];
    },
    "a searched range": () => quantize(x, { dtype: "int3", axis: 0, range: "mse" }),
    "errors of rows": () => quantizationError(x, weight, "sqnr", { axis: 0 }),
    blocks: () => dequantizeBlocks(quantizeBlocks(tall, "q4_0"), "q4_0", tall.shape),
    "appended rows": () =>
      [{ axis: 0 }, { dtype: "int4", groupSize: 4 }, { activations: "dynamic" }].map((options) => {
        const grown = new QuantizedLinear(weight, options);
        grown.append(x);
        return [grown.forward(x), unpackLinear(grown)];
      }),
    "4-bit weights with 8-bit activations": () =>
      new QuantizedLinear(int4, { activations: "dynamic" }).forward(x),
    "layers of quantized weights": () => [
      new Linear(q).forward(x),
      new Embedding(int4).forward(Int32Array.of(7, 0)),
    ],
    plan: () => {
      const row = { name: "a", scheme: "int8-channel", bytes: 9, parameters: 9, relative: 0.5 };
      const rows = [row, { ...row, scheme: "int4-channel", bytes: 5, relative: 0.75 }];
      return [plan(rows, { bytes: 8 }), frontier(rows)];
    },
  };
  const values = [0.5, 3, {}, "x", () => 1, new Float32Array(3), null];
  // Every change of Object.prototype makes the engine recompile all functions: each name has one of the values alone,
  // and all names together have every value.
  const pollutions = [
    ...NAMES.map((name, i) => [[name], values[i % values.length]]),
    ...values.map((value) => [NAMES, value]),
  ];

  for (const [title, run] of Object.entries(work)) {
    it(`cannot change ${title}`, () => {
      const expected = run();
      for (const [names, value] of pollutions) {
        const pollution = `with Object.prototype.${names.join()} = ${String(value)}`;
        let got;
        try {
          got = polluted(names, value, run);
        } catch (error) {
          error.message += ` (${pollution})`;
          throw error;
        }
        sameDeep(got, expected, `${pollution}: result`);
      }
    });
  }
});

/** A result, or the error's code and message. */
const outcome = (run) => {
  try {
    return run();
  } catch ({ code, message }) {
    return [code, message];
  }
};
const isSame = (a, b) => {
  try {
    sameDeep(a, b, "result");
    return true;
  } catch {
    return false;
  }
};
const outcomeAsync = async (run) => {
  try {
    return await run();
  } catch ({ code, message }) {
    return [code, message];
  }
};

/** Options of functions: values that are right and wrong, alone and together, the same in every run. */
function drawnOptions(x, wide) {
  const random = new Random(37);
  const values = {
    dtype: ["int8", "uint8", "int4", "uint4", "int3", "float8_e4m3fn", "int5"],
    scheme: ["symmetric", "affine", "x"],
    axis: [0, 1, 2],
    groupSize: [2, 4, 3],
    blockShape: [[2, 4], [3]],
    range: ["minmax", "mse", "hqq", "percentile", "x"],
    percentile: [0.9, 99, 2],
    scale: [0.1, [0.1], -1],
    zeroPoint: [0, 3, "float"],
    includeZero: [true, false],
    reduceRange: [true, 1],
    nonFinite: ["ignore", "x"],
    activations: ["float32", "dynamic", "x"],
    accumulate: ["float32", "x"],
    bias: [null, new Float32Array(8)],
    zzz: [1],
  };
  const draw = () => {
    const given = {};
    for (const [name, each] of Object.entries(values)) {
      if (random.integer(0, 5) === 0) given[name] = random.pick(each);
    }
    return given;
  };
  return Array.from({ length: 30 }, () => {
    const options = draw();
    const { accumulate } = { __proto__: null, ...options };
    return [
      outcome(() => quantize(x, options)),
      outcome(() => fakeQuantize(x, options)),
      outcome(() => chooseQParams(x, options)),
      outcome(() => dequantize(quantize(x, options))),
      outcome(() => linear(x, quantize(x, options), undefined, { accumulate })),
      outcome(() => new QuantizedLinear(x, options).forward(x)),
      outcome(() => quantizationError(x, wide, "mse", options)),
      outcome(() => new Linear(x, options).forward(x)),
      outcome(() => new LayerNorm(8, options).forward(x)),
      outcome(() => new HistogramObserver(options).options),
      outcome(() => new VectorIndex({ dimensions: 8, ...options }).size),
    ];
  });
}

/** Schemes and options of functions that read and write files. */
async function drawnOptionsOfFiles({ safetensors, gguf, onnx }) {
  const found = [];
  for (const [model, scheme, options] of [
    [safetensors, "int8-channel", { exclude: ["a.*"] }],
    [safetensors, "int4-g32-mse", { include: ["a.weight"] }],
    [safetensors, "int4-g32-affine", { target: "compressed-tensors" }],
    [safetensors, "float16", {}],
    [safetensors, "x", {}],
    [safetensors, "int8-channel", { target: "x" }],
    [gguf, "Q2_K", {}],
    [gguf, "Q3_K_M", {}],
    [gguf, "q4_0", { tensorTypes: { "*output*": "q8_0" } }],
    [onnx, "int4-g32", { target: "webgpu" }],
  ]) {
    const result = await outcomeAsync(async () => {
      const { files, report } = await models.quantizeModel(model, scheme, options);
      return [await outputBytes(files[0]), report];
    });
    found.push(result);
  }
  return found;
}

describe("Every field that some object of the library may lack, as one of Object.prototype,", async () => {
  const x = tensor(random.normal(64), [8, 8]);
  const wide = tensor(random.normal(1024), [32, 32]);
  const int4 = quantize(x, { dtype: "int4", groupSize: 4 });
  const model = new Sequential({ fc: new Linear(x), relu: new ReLU(), table: new Linear(int4) });
  const files = {
    safetensors: await bytesOf({ "a.weight": wide, q: quantize(wide, { groupSize: 32 }) }),
    gguf: await makeLlama({}),
    onnx: modelOf(LAYERS.MatMul, normals(LAYERS.MatMul.shape.reduce((size, n) => size * n))),
  };
  const checkpoints = await Promise.all(
    Object.keys(REFERENCE_LAYOUTS).map(async (layout) => {
      const { tensors, config = {} } = referenceCheckpoint(layout, 32, 128, 1);
      const bytes = new TextEncoder().encode(JSON.stringify(config));
      const externalData = (name) => (name === "config.json" ? bytes : new Uint8Array(0));
      return [await safetensorsOf(tensors), { externalData }];
    }),
  );
  const readCheckpoint = async ([bytes, options]) => {
    const model = await models.openModel(bytes, options);
    const tensors = [...model.tensors.values()];
    return await Promise.all(
      tensors.map(async (each) => [each, await outcomeAsync(() => model.read(each.name))]),
    );
  };
  const saved = await bytesOf(quantizeDynamic(new Sequential({ fc: new Linear(x) })));
  const opened = {};
  for (const [format, bytes] of Object.entries(files)) {
    opened[format] = await models.openModel(bytes);
  }
  const all = async (iterable) => {
    const found = [];
    for await (const each of iterable) found.push(each);
    return found;
  };
  const rows = await all(models.analyze(opened.safetensors));
  const written = async (format, scheme, options) => {
    const { files, report } = await models.quantizeModel(opened[format], scheme, options);
    return [await outputBytes(files[0]), report];
  };
  const [int4Onnx, int4Report] = await written("onnx", "int4-g32");
  const derivations = [];
  for (const [format, scheme, options] of [
    ["safetensors", "int4-g32", {}],
    ["safetensors", "int8-channel", { target: "compressed-tensors" }],
    ["safetensors", "int4-g32", { target: "mlx" }],
    ["onnx", "int8-channel", {}],
    ["gguf", "q8_0", {}],
  ]) {
    const [bytes] = await written(format, scheme, options);
    derivations.push([await models.openModel(bytes), opened[format]]);
  }
  const zp = await connect({ worker: false, entries: ["torch", "search"] });
  const handle = await zp.quantizedLinear(int4);
  // Descriptors of Node's own streams inherit "get" and "set".
  const noStreams = ["get", "set"];
  // And the options of its responses.
  const noResponses = [...noStreams, "headers", "status"];
  const work = {
    "a plan by ratio": () => plan(rows, { ratio: 2 }),
    "a plan by bits": () => plan(rows, { bitsPerWeight: 16 }),
    "a frontier": () => frontier(rows),
    layers: () => [new Linear(x).forward(x), new Linear(int4).forward(x), `${model}`],
    "a converted model": () => {
      const prepared = prepare(model, predefinedQConfigs.default_qconfig).calibrate([x]);
      return convert(prepared).forward(x);
    },
    "a loaded model": async () => (await models.load(saved)).forward(x),
    "opened files": async () => {
      const [st, onnx, gguf] = await Promise.all(
        ["safetensors", "onnx", "gguf"].map((format) => models.openModel(files[format])),
      );
      return [await st.read("a.weight"), await st.readQuantized("q"), `${onnx}`, `${gguf}`];
    },
    "checkpoints of others": () => Promise.all(checkpoints.map(readCheckpoint)),
    "values of a quantized ONNX file": async () => {
      const quantized = await models.openModel(int4Onnx);
      const { name } = int4Report.rows.find(({ scheme }) => scheme === "int4-g32");
      return [await quantized.read(name), await quantized.readQuantized(name)];
    },
    analyses: async () => [
      await all(models.analyze(opened.safetensors)),
      await all(models.analyze(opened.onnx)),
    ],
    comparisons: () => all(models.compare(opened.safetensors, opened.safetensors)),
    "a verified file": [
      async () => {
        const result = await models.quantizeModel(opened.safetensors, "int4-g32");
        return models.verifyOutput(opened.safetensors, result);
      },
      noStreams,
    ],
    "a file that is compared with a written one": [
      async () => {
        const model = opened.safetensors;
        const result = await models.quantizeModel(model, "int8-channel");
        const bytes = await outputBytes(result.files[0]);
        return models.verifyOutput(model, result, { written: () => bytes });
      },
      noStreams,
    ],
    derivations: [() => Promise.all(derivations.map((pair) => models.verify(...pair))), noStreams],
    "stored rows": () => models.storedRows(opened.safetensors, rows, { target: "mlx" }),
    "calls of a connection": async () => [
      await zp.quantize(x, { axis: 0 }),
      await handle.forward(x),
      await (await zp.vectorIndex({ dimensions: 8 })).size,
    ],
    "an analysis by activations": () =>
      all(models.analyze(opened.safetensors, { activations: { "a.weight": wide } })),
    "opened blobs": [
      async () => {
        const blob = await models.openModel(new Blob([files.safetensors]));
        return [[...blob.tensors.values()], [...blob.metadata.keys()]];
      },
      noStreams,
    ],
    "an instance": async () => {
      const own = await create({ build: "baseline" }, torch);
      return [own.quantize(x, { axis: 0 }), String(new own.MinMaxObserver())];
    },
    searches: () => {
      const index = new VectorIndex({ dimensions: 8, prefilter: "binary", originals: "float32" });
      index.add(x, ["a", "b", "c", "d", "e", "f", "g", "h"]);
      index.remove("c");
      const found = index.search(x.data.slice(0, 8), { k: 3, filter: ["a", "b", "d", "e"] });
      return [found, index.vector("b"), index.export("int8"), `${index}`];
    },
    "the notebooks' tensors": () => {
      const t = notebook.torch.tensor([
        [1.5, 2],
        [3, 4],
      ]);
      const observer = new notebook.MinMaxObserver({ dtype: notebook.torch.qint8 });
      observer.forward(t);
      const q = notebook.torch.quantize_per_tensor(t, 0.1, 0, notebook.torch.qint8);
      const tuples = [t.max({ dim: 0 }), t.sort(1), t.split(1)];
      return [t.add(1), ...tuples, t.flip(0), q, observer.calculate_qparams(), t[0]].map(String);
    },
    "a written safetensors file": [() => written("safetensors", "int4-g32"), noStreams],
    "a file of MLX": [() => written("safetensors", "int4-g32", { target: "mlx" }), noStreams],
    "a written ONNX file": [() => written("onnx", "int8-channel"), noStreams],
    "a written GGUF file": [() => written("gguf", "q8_0"), noStreams],
    "a saved model": [() => bytesOf(model), noResponses],
    "drawn options of functions": () => drawnOptions(x, wide),
    "drawn options of files": [() => drawnOptionsOfFiles(opened), noStreams],
    "the command line's JSON": [
      () => [
        jsonText({ rows, map: new Map([["a", 1n]]) }),
        parseJson("a.json", '{"a":[1,{"b":null}]}'),
        hasFields({ name: "a" }, { name: "string" }),
      ],
    ],
  };
  // The engine itself looks these up in objects that it gets: promises, iterators.
  const ofLanguage = ["then", "return", "throw"];
  const names = [...new Set([...optionalNames(), ...namesRead()])].filter(
    (name) => !(name in Object.prototype) && !ofLanguage.includes(name),
  );

  const items = Object.entries(work).map(([title, given]) => {
    const [run, excluded = []] = typeof given === "function" ? [given] : given;
    return { title, run, excluded, got: new Map() };
  });
  const values = [3, "x", () => 1];

  // All names and all work at once: each change of Object.prototype makes the engine recompile all functions.
  before(async () => {
    for (const item of items) item.expected = await item.run();
    const excluded = new Set(items.flatMap((item) => item.excluded));
    const rest = names.filter((name) => !excluded.has(name));
    for (const [some, chosen] of [
      [rest, items],
      [[...excluded], items.filter((item) => item.excluded.length === 0)],
    ]) {
      for (const value of values) {
        await pollutedAsync(some, value, async () => {
          for (const { run, got } of chosen) {
            const result = await outcomeAsync(run);
            got.set(value, [...(got.get(value) ?? []), result]);
          }
        });
      }
    }
  });

  for (const item of items) {
    const { title, run, excluded, got } = item;
    it(`does not change ${title}`, async () => {
      const { expected } = item;
      /** Finds the names that change it. */
      const search = async (some, value) => {
        const result = await outcomeAsync(() => pollutedAsync(some, value, run));
        if (isSame(result, expected)) return [];
        if (some.length === 1) return some;
        const half = some.length / 2;
        return [
          ...(await search(some.slice(0, half), value)),
          ...(await search(some.slice(half), value)),
        ];
      };
      for (const value of values) {
        if (got.get(value).every((result) => isSame(result, expected))) continue;
        const found = await search(
          names.filter((name) => !excluded.includes(name)),
          value,
        );
        assert.fail(`Object.prototype has ${String(value)} as one of ${found.join(", ")}`);
      }
    });
  }
});

describe("Symbol.species", () => {
  const x = tensor(random.normal(300_000), [3, 100_000]);
  const small = tensor(random.normal(64), [8, 8]);
  const weight = tensor(random.normal(64), [8, 8]);
  const model = new Sequential({
    fc1: new Linear(weight),
    relu: new ReLU(),
    fc2: new Linear(weight),
  });
  const work = {
    quantize: () => quantize(x, { axis: 0 }),
    "quantize with many scales": () => quantize(x, { groupSize: 1 }),
    dequantize: () => dequantize(quantize(x, { axis: 0 })),
    pack: () => unpack(pack(quantize(x, { dtype: "int4" })), quantize(x, { dtype: "int4" })),
    torch: () => dequantize(quantizePerChannel(x, [1, 2, 3], [0, 0, 0], 0, "qint8")),
    observer: () => {
      const observer = new HistogramObserver({ bins: 32 });
      observer.observe(x);
      return [observer.histogram, observer.minVal, observer.calculateQParams()];
    },
    model: () => {
      const prepared = prepare(model, predefinedQConfigs.default_qconfig);
      prepared.forward(small);
      return convert(prepared).forward(small);
    },
    layers: () => [
      new LayerNorm(8).forward(small),
      new Embedding(small).forward(Int32Array.of(1, 2)),
    ],
  };
  for (const [title, run] of Object.entries(work)) {
    it(`does not affect ${title}`, () => {
      const expected = run();
      for (const type of ARRAY_CLASSES) {
        for (const Species of SPECIES) {
          const got = withSpecies(type, Species, run);
          sameDeep(got, expected, `species of ${type.name}: result`);
        }
      }
    });
  }
});
