// Models of many small tensors: work grows with the number of tensors, and a long analysis gives other work a turn.

import assert from "node:assert/strict";
import { Session } from "node:inspector/promises";
import { after, before, describe, it } from "node:test";
import { init } from "zeropoint";
import {
  analyze,
  compare,
  openModel,
  plan,
  quantizeModel,
  storedRows,
  verify,
  verifyOutput,
} from "zeropoint/models";
import { ggufEntry, layoutGGUF, writeGGUF } from "../../internal/formats.mjs";
import { outputBytes, safetensorsOf } from "../support/files/checkpoints.mjs";
import { collect } from "../support/files/formats.mjs";
import { constant, normals, onnxModel } from "../support/onnx/models.mjs";

await init();
const values = normals(256);
const bytes = new Uint8Array(values.buffer);
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));

const MODELS = {
  safetensors: (count) =>
    safetensorsOf(
      Object.fromEntries(
        many(count, (i) => [`layers.${i}.up.weight`, ["float32", [8, 32], values]]),
      ),
    ),
  gguf: (count) => {
    const tensors = many(count, (i) => {
      const name = `blk.${i}.attn_q.weight`;
      return { name, dtype: "float32", shape: [8, 32], bytes: () => [bytes] };
    });
    const metadata = new Map([["general.architecture", ggufEntry("string", "llama")]]);
    return collect(writeGGUF(layoutGGUF(tensors, metadata)));
  },
  onnx: (count) =>
    onnxModel({
      nodes: many(count, (i) => {
        const inputs = ["x", `layers.${i}.weight`];
        return { opType: "MatMul", op: "MatMul", name: `m${i}`, inputs, outputs: [`y${i}`] };
      }),
      initializers: many(count, (i) => constant(`layers.${i}.weight`, [32, 8], values)),
      inputs: [{ name: "x", shape: ["n", 32] }],
      outputs: [{ name: "y0", shape: ["n", 8] }],
    }),
};

const drain = async (stream) => {
  for await (const _ of stream);
};
const rowsOf = async (model, options) => {
  const rows = [];
  for await (const row of analyze(model, options)) rows.push(row);
  return rows;
};
const analyzed = (options) => async (model) => {
  const rows = await rowsOf(model, options);
  await storedRows(model, rows);
  plan(rows, { ratio: 0.9 });
};
const quantized =
  (scheme, options = {}) =>
  async (model) => {
    const { files } = await quantizeModel(model, scheme, options);
    for (const file of files) await drain(file.stream());
  };
const written = async (model, scheme, options) => {
  const { files } = await quantizeModel(model, scheme, options);
  return await openModel(await outputBytes(files[0]));
};
const verified = (scheme) => async (model) => {
  const result = await quantizeModel(model, scheme);
  for (const file of result.files) await drain(file.stream());
  await verifyOutput(model, result);
  await verify(await written(model, scheme), model);
};
const requantized = (target) => async (model) => {
  const before = await written(model, "int8-channel", { target });
  await quantized("int4-g32", { requantize: true })(before);
};

const CASES = [
  ["safetensors", "analyzed", analyzed({ schemes: ["int8-channel", "int4-g32"] })],
  ["safetensors", "analyzed for MLX", analyzed({ schemes: ["int4-g32"], target: "mlx" })],
  ["gguf", "analyzed", analyzed({ schemes: ["q8_0", "q4_0"] })],
  ["onnx", "analyzed", analyzed({ schemes: ["int8-channel", "int8-tensor"] })],
  ["safetensors", "kept", quantized("keep")],
  ["safetensors", "quantized for MLX", quantized("int4-g32", { target: "mlx" })],
  ["safetensors", "compressed", quantized("int8-channel", { target: "compressed-tensors" })],
  ["safetensors", "as npz", quantized("float16", { format: "npz" })],
  ["safetensors", "as GGUF", quantized("q8_0", { format: "gguf" })],
  ["gguf", "quantized by a mix", quantized("q4_k_m")],
  ["onnx", "quantized for webgpu", quantized("int4-g32", { target: "webgpu" })],
  ["onnx", "quantized with inputs", quantized("int8-channel", { activations: "dynamic" })],
  ["onnx", "for transformers.js", quantized("q8", { target: "transformers.js" })],
  ["safetensors", "quantized again", requantized()],
  ["safetensors", "compressed, again", requantized("compressed-tensors")],
  ["safetensors", "compared", (model) => drain(compare(model, model))],
  ["safetensors", "verified", verified("int8-channel")],
  ["gguf", "verified", verified("q8_0")],
  ["onnx", "verified", verified("int8-channel")],
];

describe("a model of many tensors", () => {
  const session = new Session();
  before(async () => {
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  });
  after(() => session.disconnect());

  /** How often each block of the library's code runs. */
  async function countsOf(run) {
    await session.post("Profiler.takePreciseCoverage");
    await run();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const counts = new Map();
    for (const { url, functions } of result) {
      if (!url.includes("/dist/")) continue;
      for (const { functionName, ranges } of functions) {
        for (const { startOffset, endOffset, count } of ranges) {
          counts.set(`${url} ${functionName} ${startOffset}-${endOffset}`, count);
        }
      }
    }
    return counts;
  }

  for (const [format, title, run] of CASES) {
    it(`takes twice the work for twice the tensors: ${format}, ${title}`, async () => {
      const made = [await MODELS[format](40), await MODELS[format](80)];
      const job = (file) => async () => run(await openModel(file));
      // Modules are loaded, and functions compiled.
      await job(made[0])();
      const one = await countsOf(job(made[0]));
      const two = await countsOf(job(made[1]));
      // Of a loop over all tensors for each tensor, a block runs 40 · 40 / 2 and 80 · 80 / 2 times.
      const quadratic = [...one].filter(([block, count]) => {
        return count >= 700 && (two.get(block) ?? 0) >= 3 * count;
      });
      assert.deepEqual(quadratic, []);
    });
  }

  for (const [scheme, target] of [["int8-channel"], ["int4-g32", "webgpu"]]) {
    it(`writes an ONNX file in a few chunks for each weight: ${scheme}`, async () => {
      const model = await openModel(await MODELS.onnx(40));
      const { files } = await quantizeModel(model, scheme, { target });
      let chunks = 0;
      for await (const _ of files[0].stream()) chunks++;
      assert.ok(chunks <= 5 * 40, `${chunks} chunks`);
    });
  }

  it("gives a turn of the event loop before the layout of each scheme's file", async () => {
    const model = await openModel(await MODELS.safetensors(8));
    const schemes = ["int8-channel", "int4-channel", "int4-g32", "int2-g32", "int8-g32"];
    await rowsOf(model, { schemes });
    let turns = 0;
    const count = () => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await analyze(model, { schemes })[Symbol.asyncIterator]().next();
    clearImmediate(next);
    assert.ok(turns >= schemes.length, `${turns} turns`);
  });

  it("ends an analysis between the layouts of two files when its signal is aborted", async () => {
    const model = await openModel(await MODELS.safetensors(8));
    const controller = new AbortController();
    const reason = new Error("mine");
    const rows = rowsOf(model, {
      schemes: ["int8-channel", "int4-g32"],
      signal: controller.signal,
    });
    setImmediate(() => controller.abort(reason));
    await assert.rejects(rows, (error) => error === reason);
  });
});
