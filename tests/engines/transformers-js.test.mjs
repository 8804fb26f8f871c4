// Files of quantizeModel for transformers.js, loaded and run by it, offline. Run by npm run check:engines, which installs it
// into ZEROPOINT_ENGINES.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { outputBytes } from "../js/support/files/checkpoints.mjs";
import { constant, normals, onnxModel } from "../js/support/onnx/models.mjs";

const require = createRequire(join(process.env.ZEROPOINT_ENGINES ?? "", "node_modules", "x.js"));
const folder = mkdtempSync(join(tmpdir(), "zeropoint-transformers-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Values above 2^-14 as float16, cut off; smaller ones are 0. */
const halves = (values) =>
  Uint16Array.from(new Uint32Array(values.buffer), (word) => {
    const size = word & 0x7fffffff;
    return (
      ((word >>> 16) & 0x8000) | (size < 0x38800000 ? 0 : ((size >>> 13) - (112 << 10)) & 0x7fff)
    );
  });

/** A weight in either type of float. */
const weight = (name, shape, values, isHalf) =>
  isHalf ? constant(name, shape, halves(values), "float16") : constant(name, shape, values);

/** A model of BERT's inputs and output: a look-up and two products, in float32 or float16. */
const network = (isHalf = false) =>
  onnxModel(
    {
      inputs: [
        { name: "input_ids", shape: ["batch", "length"], dtype: "int64" },
        { name: "attention_mask", shape: ["batch", "length"], dtype: "int64" },
      ],
      outputs: [{ name: "last_hidden_state", shape: ["batch", "length", 32] }],
      nodes: [
        { opType: "Gather", inputs: ["table", "input_ids"], outputs: ["x"] },
        { opType: "MatMul", inputs: ["x", "up"], outputs: ["h"] },
        { opType: "Relu", inputs: ["h"], outputs: ["r"] },
        { opType: "MatMul", inputs: ["r", "down"], outputs: ["y"] },
        {
          ...{ opType: "Cast", inputs: ["attention_mask"], outputs: ["seen"] },
          attributes: { to: { int: isHalf ? 10 : 1 } },
        },
        { opType: "Unsqueeze", inputs: ["seen", "axes"], outputs: ["mask"] },
        { opType: "Mul", inputs: ["y", "mask"], outputs: ["seen_y"] },
        {
          ...{ opType: "Cast", inputs: ["seen_y"], outputs: ["last_hidden_state"] },
          attributes: { to: { int: 1 } },
        },
      ],
      initializers: [
        weight("table", [64, 32], normals(64 * 32, 1), isHalf),
        weight("up", [32, 64], normals(32 * 64, 2), isHalf),
        weight("down", [64, 32], normals(64 * 32, 3), isHalf),
        {
          name: "axes",
          shape: [1],
          dtype: "int64",
          bytes: () => [new Uint8Array(BigInt64Array.of(2n).buffer)],
        },
      ],
    },
    { irVersion: 10, opsets: { "": 21 } },
  );

const CONFIG = {
  ...{ model_type: "bert", architectures: ["BertModel"], hidden_size: 32, vocab_size: 64 },
  ...{ num_attention_heads: 4, num_hidden_layers: 1, intermediate_size: 64 },
};

describe("transformers.js loads, by its own names of dtypes,", () => {
  let transformers;
  let expected;
  const inputs = () => {
    const tensor = (values) =>
      new transformers.Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);
    return { input_ids: tensor([1, 5, 9, 63]), attention_mask: tensor([1, 1, 1, 1]) };
  };
  const load = async (name, dtype) => {
    const options = { dtype, device: "cpu", local_files_only: true };
    const model = await transformers.AutoModel.from_pretrained(name, options);
    const { last_hidden_state: y } = await model(inputs());
    await model.dispose();
    return y.data;
  };

  before(async () => {
    await init();
    transformers = await import(pathToFileURL(require.resolve("@huggingface/transformers")).href);
    Object.assign(transformers.env, { allowRemoteModels: false, localModelPath: folder });
    expected = {};
    for (const [name, isHalf] of [
      ["small", false],
      ["half", true],
    ]) {
      mkdirSync(join(folder, name, "onnx"), { recursive: true });
      writeFileSync(join(folder, name, "config.json"), JSON.stringify(CONFIG));
      writeFileSync(join(folder, name, "onnx", "model.onnx"), await network(isHalf));
      expected[name] = await load(name, "fp32");
    }
  });

  for (const [dtype, least, name = "small"] of [
    ["q8", 25],
    ["int8", 25],
    ["uint8", 25],
    ["q4", 12],
    ["q4f16", 12, "half"],
    ["fp16", 55],
  ]) {
    it(`${dtype}`, async () => {
      const source = await openModel(join(folder, name));
      const { files } = await quantizeModel(source, dtype, { target: "transformers.js" });
      for (const file of files) {
        const path = join(folder, name, file.name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, await outputBytes(file));
      }
      const found = await load(name, dtype);
      let [signal, noise] = [0, 0];
      for (const [i, value] of expected[name].entries()) {
        signal += value * value;
        noise += (value - found[i]) ** 2;
      }
      const sqnr = 10 * Math.log10(signal / noise);
      assert.ok(sqnr > least && sqnr < Infinity, `${sqnr} dB`);
      await source.close();
    });
  }
});
