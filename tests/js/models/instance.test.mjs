// Files through an instance, in a process whose default instance was never started: an instance's functions run on it
// after an await, too, and everything that it makes can be saved.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, init, tensor } from "zeropoint";
import * as models from "zeropoint/models";
import * as torch from "zeropoint/torch";
import { sameCodes, sameTensor } from "../support/asserts.mjs";
import { openOutput, outputBytes, safetensorsOf } from "../support/files/checkpoints.mjs";
import { makeLlama } from "../support/files/llama.mjs";
import { bytesOf } from "../support/files/saved.mjs";
import { LAYERS, modelOf } from "../support/onnx/layers.mjs";
import { normals } from "../support/onnx/models.mjs";

const z = await create({ build: "baseline" }, torch, models);
const weight = tensor(normals(64 * 256), [64, 256]);
const small = tensor(normals(16), [4, 4]);

/** Files by format. */
const files = {
  safetensors: await safetensorsOf({ "a.weight": ["float32", weight.shape, weight.data] }),
  gguf: await makeLlama({}),
  onnx: modelOf(LAYERS.MatMul, normals(LAYERS.MatMul.shape.reduce((size, n) => size * n))),
};

/** What is written of each file: scheme, and options. */
const WRITTEN = {
  safetensors: [
    ...["int8-channel", "int4-g32", "int8-tensor-mse", "int8-tensor-hqq"].map((name) => [name]),
    ["int4-g32-affine-hqq"],
    ...["int4-g32", "int4-g32-mse"].map((name) => [name, { target: "compressed-tensors" }]),
    ...["int4-g32-affine", "int4-g32-hqq"].map((name) => [name, { target: "mlx" }]),
    ["q4_0", { format: "gguf" }],
  ],
  gguf: [["Q4_K_M"], ["q8_0"], ["int8-channel", { format: "safetensors" }]],
  onnx: [["int8-channel"], ["int8-tensor"], ["int4-g32"], ["int8-tensor-mse"], ["int4-g32-mse"]],
};

/** What is made of the files with the functions of an instance, or of the modules. */
async function madeBy(zp) {
  const made = {};
  for (const [format, list] of Object.entries(WRITTEN)) {
    const model = await zp.openModel(files[format]);
    for (const [scheme, options] of list) {
      const result = await zp.quantizeModel(model, scheme, options);
      const title = `${format} as ${scheme} ${JSON.stringify(options ?? {})}`;
      made[title] = await Promise.all(result.files.map(outputBytes));
      const written = await openOutput(zp.openModel, result.files);
      for (const { name } of written.tensors.values()) {
        made[`${title}: ${name}`] = (await written.read(name)).data;
      }
      const { rows } = await zp.verifyOutput(model, result);
      made[`${title}: verified`] = rows.map(({ sqnr }) => sqnr);
    }
    const rows = [];
    for await (const row of zp.analyze(model)) rows.push([row.name, row.scheme, row.sqnr]);
    made[`${format}: analyzed`] = rows;
  }
  return made;
}

/** Things that an instance makes, by name. */
function thingsOf(zp) {
  const q = zp.quantize(small, { dtype: "int4", axis: 0 });
  const model = new zp.Sequential({ fc: new zp.Linear(small), relu: new zp.ReLU() });
  const prepared = zp.prepare(model, zp.predefinedQConfigs.default_qconfig);
  prepared.forward(small);
  return {
    "codes of 4 bits": q,
    "codes of 3 bits": zp.quantize(small, { dtype: "uint3", scheme: "affine", groupSize: 3 }),
    "a quantized Linear": new zp.Linear(q),
    "an Embedding": new zp.Embedding(q),
    "a QuantizedLinear": new zp.QuantizedLinear(q),
    "a QuantizedLinear of 5 bits": new zp.QuantizedLinear(small, { dtype: "int5" }),
    "a model": model,
    "a prepared model": prepared,
    "a quantized model": zp.convert(prepared),
    "a weight-only model": zp.quantizeDynamic(model, new zp.WeightOnlyQConfig({ dtype: "int4" })),
    "an observer": new zp.HistogramObserver(),
    "a QConfig": zp.predefinedQConfigs.default_qconfig,
  };
}

describe("An instance without a default one", () => {
  let made;
  const saved = {};

  it("opens, analyzes, quantizes and verifies files", async () => {
    made = await madeBy(z);
    assert.ok(Object.keys(made).length > 40);
  });

  for (const [what, thing] of Object.entries(thingsOf(z))) {
    it(`has ${what} saved and restored`, async () => {
      saved[what] = await bytesOf(thing);
      const restored = await z.load(saved[what]);
      if (restored.forward !== undefined) {
        const x = what === "an Embedding" ? Int32Array.of(2, 0) : small;
        sameTensor(restored.forward(x), thing.forward(x));
      }
      sameCodes(await bytesOf(restored), saved[what]);
    });
  }

  it("restores QConfigs whose observers are made on it", async () => {
    const restored = await z.load(await bytesOf(z.predefinedQConfigs.default_qconfig));
    assert.equal(typeof restored.weight().observe, "function");
    const { inner } = await z.load(await bytesOf({ inner: z.predefinedQConfigs.default_qconfig }));
    assert.equal(typeof inner.weight().observe, "function");
  });

  it("writes and reads the same bytes as the default one", async () => {
    await init();
    assert.deepEqual(await madeBy({ ...torch, ...models }), made);
    const zp = { ...(await import("zeropoint")), ...torch };
    for (const [what, thing] of Object.entries(thingsOf(zp))) {
      sameCodes(await bytesOf(thing), saved[what], what);
    }
  });
});
