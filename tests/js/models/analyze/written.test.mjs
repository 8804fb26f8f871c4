// Rows of an analysis are those of the file that gets written: bytes and errors, for random models of every input
// format, every target and every scheme.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import fc from "fast-check";
import { init } from "zeropoint";
import { analyze, compare, openModel, plan, quantizeModel, storedRows } from "zeropoint/models";
import { sizeOf } from "../../../internal/tensor.mjs";
import { fuzzLimits } from "../../support/arbitraries.mjs";
import {
  bfloat16Of,
  openOutput,
  outputBytes,
  safetensorsOf,
} from "../../support/files/checkpoints.mjs";
import { constant, normals, onnxModel } from "../../support/onnx/models.mjs";

before(() => init());

// ---- models

const lengths = (most) => fc.integer({ min: 1, max: most });
const seeds = fc.integer({ min: 1, max: 2 ** 30 });

/** A weight of at least 256 values: a shape, an axis along which values grow by powers of ten, a seed. */
const weightOf = (shapes) =>
  fc
    .tuple(shapes, fc.nat(4), seeds)
    .filter(([shape]) => sizeOf(shape) >= 256 && sizeOf(shape) <= 2 ** 15)
    .map(([shape, axis, seed]) => ({ shape, axis: axis % shape.length, seed }));

function valuesOf({ shape, axis, seed }) {
  const inner = sizeOf(shape, axis + 1);
  return normals(sizeOf(shape), seed).map(
    (value, i) => value * 10 ** ((Math.floor(i / inner) % shape[axis]) % 4),
  );
}

const matrices = fc.tuple(lengths(80), fc.constantFrom(1, 7, 32, 48, 64, 96, 256));
const kernels = fc.oneof(
  fc.tuple(lengths(40), lengths(12), fc.constantFrom(1, 3, 8)),
  fc.tuple(lengths(24), lengths(12), lengths(3), fc.constantFrom(1, 3, 32)),
  fc.tuple(lengths(12), lengths(8), lengths(2), lengths(3), lengths(4)),
);

/** Tensors of a checkpoint, of which one is [inputs, outputs] in GPT-2. */
const checkpoints = fc.record({
  format: fc.constant("safetensors"),
  dtype: fc.constantFrom("float32", "float16", "bfloat16"),
  weights: fc.record({
    "a.weight": weightOf(matrices),
    "h.0.c_attn.weight": weightOf(matrices),
    "conv.weight": weightOf(kernels),
    "layers.switch_mlp.weight": weightOf(
      fc.tuple(lengths(4), lengths(20), fc.constantFrom(32, 64)),
    ),
  }),
});

const arrays = fc.record({
  format: fc.constantFrom("npz", "gguf"),
  dtype: fc.constant("float32"),
  // GGUF has at most four axes.
  weights: fc.record({
    "a.weight": weightOf(matrices),
    b: weightOf(kernels.filter(({ length }) => length < 5)),
  }),
});

/** Weights of layers of TensorFlow.js by the class of the layer. */
const layers = fc.record({
  format: fc.constant("tfjs"),
  dtype: fc.constant("float32"),
  weights: fc.record({
    "dense/kernel": weightOf(matrices),
    "conv/kernel": weightOf(fc.tuple(lengths(3), lengths(3), lengths(12), lengths(40))),
    "conv1/kernel": weightOf(fc.tuple(lengths(5), lengths(12), lengths(64))),
    "depthwise/depthwise_kernel": weightOf(
      fc.tuple(lengths(3), lengths(3), lengths(96), lengths(3)),
    ),
    "transposed/kernel": weightOf(fc.tuple(lengths(3), lengths(3), lengths(32), lengths(16))),
    "lstm/lstm_cell/kernel": weightOf(fc.tuple(lengths(40), fc.constant(32))),
    "embedding/embeddings": weightOf(matrices),
  }),
});

const LAYERS = Object.entries({
  dense: "Dense",
  conv: "Conv2D",
  conv1: "Conv1D",
  depthwise: "DepthwiseConv2D",
  transposed: "Conv2DTranspose",
  lstm: "LSTM",
  embedding: "Embedding",
}).map(([name, class_name]) => ({ class_name, config: { name } }));

/** Operators with their weights: how the weight is used, and shapes. */
const operators = fc.record({
  format: fc.constant("onnx"),
  dtype: fc.constantFrom("float32", "float32", "float16", "float64"),
  opset: fc.constantFrom(11, 13, 17, 21),
  weights: fc.record({
    MatMul: weightOf(fc.tuple(fc.constantFrom(1, 7, 32, 48, 64), lengths(80))),
    "MatMul batches": weightOf(fc.tuple(lengths(8), lengths(64), lengths(20))),
    "MatMul groups": weightOf(fc.tuple(lengths(3), lengths(3), lengths(40), lengths(20))),
    Gemm: weightOf(matrices),
    "Gemm transposed": weightOf(matrices),
    Gather: weightOf(matrices),
    Gather1: weightOf(matrices),
    Conv: weightOf(kernels),
    ConvTranspose: weightOf(kernels),
    LSTM: weightOf(
      fc.tuple(
        fc.constantFrom(1, 2),
        lengths(16).map((n) => 4 * n),
        lengths(40),
      ),
    ),
    Transpose: weightOf(matrices),
  }),
});

/** Values in a dtype. */
function storedAs(dtype, values) {
  if (dtype === "float32") return values;
  if (dtype === "float64") return Float64Array.from(values);
  if (dtype === "bfloat16") return bfloat16Of(values);
  // Steps of float16 below 2^15: exact in the upper bits of float32.
  return Uint16Array.from(values, (value) => {
    const word = new Uint32Array(Float32Array.of(value).buffer)[0];
    const exponent = ((word >>> 23) & 255) - 112;
    if (exponent <= 0) return (word >>> 16) & 0x8000;
    return ((word >>> 16) & 0x8000) | (exponent << 10) | ((word >>> 13) & 0x3ff);
  });
}

async function openRandom({ format, dtype, weights, opset }) {
  const names = Object.keys(weights);
  const values = Object.fromEntries(
    names.map((name) => [name, storedAs(dtype, valuesOf(weights[name]))]),
  );
  if (format === "onnx") return await openModel(await onnxOf(weights, values, dtype, opset));
  if (format === "tfjs") {
    const shapes = names.map((name) => ({ name, shape: weights[name].shape, dtype }));
    const shard = new Uint8Array(await new Blob(Object.values(values)).arrayBuffer());
    const model = {
      ...{ format: "layers-model" },
      modelTopology: { model_config: { config: { layers: LAYERS } } },
      weightsManifest: [{ paths: ["shard.bin"], weights: shapes }],
    };
    const text = new TextEncoder().encode(JSON.stringify(model));
    return await openModel(text, { externalData: () => shard });
  }
  const bytes = await safetensorsOf(
    Object.fromEntries(names.map((name) => [name, [dtype, weights[name].shape, values[name]]])),
  );
  const config = new TextEncoder().encode('{"model_type":"gpt2"}');
  const model = await openModel(bytes, {
    externalData: (path) => (path === "config.json" ? config : new Uint8Array(0)),
  });
  if (format === "safetensors") return model;
  const { files } = await quantizeModel(model, "keep", { format });
  return await openModel(await outputBytes(files[0]));
}

/** A model of ONNX with a node for each weight. */
async function onnxOf(weights, values, dtype, opset) {
  const input = (name, shape, type = dtype) => ({ name, shape, dtype: type });
  const nodes = [];
  const inputs = [input("ids", ["n"], "int64")];
  for (const [name, { shape }] of Object.entries(weights)) {
    const opType = name.replace(/1? .*|1$/, "");
    const x = `x ${name}`;
    const outputs = [`y ${name}`];
    const add = (type, own, attributes = {}) => {
      nodes.push({ opType: type, inputs: own, outputs, attributes });
    };
    if (opType === "Gather") {
      add("Gather", [name, "ids"], { axis: { int: name === "Gather1" ? 1 : 0 } });
      continue;
    }
    inputs.push(
      input(
        x,
        shape.map((_, i) => `${name} ${i}`),
      ),
    );
    if (opType === "Gemm") add("Gemm", [x, name], { transB: { int: name === "Gemm" ? 0 : 1 } });
    else if (opType === "LSTM") {
      const recurrent = `${name} r`;
      inputs.push(input(recurrent, [shape[0], shape[1], shape[1] / 4]));
      add("LSTM", [x, name, recurrent], {
        hidden_size: { int: shape[1] / 4 },
        ...(shape[0] === 2 && { direction: { string: "bidirectional" } }),
      });
    } else if (opType === "Transpose") {
      nodes.push({
        ...{ opType: "Transpose", inputs: [name], outputs: [`${name} t`] },
        attributes: { perm: { ints: [1, 0] } },
      });
      add("MatMul", [x, `${name} t`]);
    } else add(opType, [x, name]);
  }
  const graph = {
    ...{ inputs, nodes },
    outputs: Object.keys(weights).map((name) => ({ name: `y ${name}`, shape: ["n"], dtype })),
    initializers: Object.entries(weights).map(([name, { shape }]) =>
      constant(name, shape, values[name], dtype),
    ),
  };
  return await onnxModel(graph, { opsets: { "": opset } });
}

const models = fc.oneof(checkpoints, arrays, layers, operators, operators);

// ---- targets

const linear = (dtypes, units, searches) =>
  fc
    .tuple(fc.constantFrom(...dtypes), fc.constantFrom(...units), fc.constantFrom(...searches))
    .map(([dtype, unit, search]) =>
      `${dtype}-${unit}${dtype.startsWith("u") ? "-affine" : ""}${search}`.replace(
        "-affine-affine",
        "-affine",
      ),
    );

const UNITS = ["tensor", "channel", "g16", "g20", "g32", "g128"];
const SEARCHES = ["", "", "-affine", "-mse", "-hqq", "-affine-mse"];
const anyLinear = linear(
  ["int8", "int8", "int4", "int4", "int3", "int2", "uint8", "uint4", "uint2"],
  UNITS,
  SEARCHES,
);
const halves = fc.constantFrom("float16", "bfloat16");
const blocks = fc.constantFrom("q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q6_k", "q2_k", "iq4_nl");

/** Where a model is written to: options of quantizeModel, and a scheme. */
const outputsOf = (format) =>
  fc.oneof(
    fc.record({
      format: fc.constant("safetensors"),
      scheme: fc.oneof(anyLinear, anyLinear, halves),
    }),
    fc.record({
      format: fc.constant("safetensors"),
      target: fc.constant("compressed-tensors"),
      activations: fc.constantFrom("float32", "dynamic"),
      scheme: linear(["int8", "int4", "int3", "int2"], UNITS, ["", "-affine", "-mse", "-hqq"]),
    }),
    fc.record({
      format: fc.constant("safetensors"),
      target: fc.constant("mlx"),
      scheme: linear(["int8", "int4", "int3", "int2"], ["g32", "g64"], ["", "-mse", "-hqq"]),
    }),
    fc.record({ format: fc.constant("gguf"), scheme: fc.oneof(blocks, blocks, halves) }),
    fc.record({ format: fc.constant("npz"), scheme: fc.constant("float16") }),
    ...(format === "onnx"
      ? ["portable", "web", "node", "webgpu"].map((target) =>
          fc.record({
            format: fc.constant("onnx"),
            target: fc.constant(target),
            activations: fc.constantFrom("float32", "float32", "dynamic"),
            scheme: fc.oneof(anyLinear, anyLinear, anyLinear, halves),
          }),
        )
      : []),
  );

const cases = models.chain((model) =>
  fc.record({ model: fc.constant(model), output: outputsOf(model.format) }),
);

// ---- what must hold

async function collected(rows) {
  const list = [];
  for await (const row of rows) list.push(row);
  return list;
}

/** What a row of an analysis and one of a comparison say of the same values. */
const errorsOf = ({ mse, max, sqnr, cosine }) => ({ mse, max, sqnr, cosine });

/** Bytes by which the estimate of a file may be above it: digits of offsets, words of config.json. */
const MOST_ABOVE = 2048;

/** Checks the rows of a model for a file of one scheme. @returns how many weights it has */
async function checkRows({ model: given, output: { scheme, ...output } }) {
  const model = await openRandom(given);
  const { format, target } = output;
  const options = { format, ...(target !== undefined && { target }), schemes: [scheme] };
  const rows = await collected(analyze(model, options));
  const own = rows.filter((row) => row.scheme === scheme);
  const names = new Set(own.map(({ name }) => name));
  const choose = ({ name }) => (names.has(name) ? scheme : "keep");
  const isOfTarget = await isHeld(() => quantizeModel(model, choose, output));
  if (!isOfTarget) {
    for (const { name, isWritten } of own) assert.equal(isWritten, false, name);
    return 0;
  }
  const { files, report } = await quantizeModel(model, choose, output);
  const compared = await collected(compare(model, await openOutput(openModel, files)));
  const stored = await storedRows(model, rows, output);
  let found = 0;
  for (const row of own) {
    const { name, isWritten = true } = row;
    const written = report.rows.find((each) => each.name === name);
    assert.equal(written.scheme, isWritten ? scheme : "keep", name);
    if (!isWritten) continue;
    found++;
    const errors = compared.find((each) => each.name === name);
    assert.deepEqual(errorsOf(row), errorsOf(errors), name);
    // Rows are of a model that computes with float inputs.
    if (output.activations !== "dynamic") assert.equal(row.bytes, written.bytesAfter, name);
    const { bytes } = stored.rows.find((each) => each.name === name && each.scheme === scheme);
    assert.equal(bytes, written.bytesAfter, name);
  }
  const planned = plan(stored, {
    ratio: Number.MAX_VALUE,
    format: format === "npz" ? "safetensors" : format,
  });
  const { report: done } = await quantizeModel(model, planned, output);
  const above = planned.fileBytes - done.bytesAfter;
  assert.ok(above >= 0 && above < MOST_ABOVE, `${above} bytes above the file`);
  await model.close();
  return found;
}

/** Whether a model can be written. */
async function isHeld(write) {
  try {
    await write();
    return true;
  } catch (error) {
    // GGUF has four axes at most.
    if (error.code !== "ZP_INVALID_SHAPE") throw error;
    return false;
  }
}

describe("A row of an analysis", () => {
  it("has the bytes and, to the last bit, the errors of the file that gets written", async () => {
    let found = 0;
    const check = async (each) => {
      found += await checkRows(each);
    };
    await fc.assert(fc.asyncProperty(cases, check), fuzzLimits(1, 45));
    assert.ok(found > 100, `${found} rows`);
  });
});
