// Files of one tensor of ONNX, as its test data are.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { bytesField, tensorMessage, varintField } from "../../../internal/formats.mjs";
import { rejects } from "../../support/asserts.mjs";
import { collect } from "../../support/files/formats.mjs";
import { constant, onnxModel } from "../../support/onnx/models.mjs";

await init();

const bytesOf = (parts) =>
  collect(
    (async function* () {
      for (const part of parts) {
        if (part instanceof Uint8Array) yield part;
        else yield* part.bytes();
      }
    })(),
  );

describe("a file of a TensorProto", () => {
  it("opens by its content: a matrix, a scalar and a long vector", async () => {
    for (const [shape, data] of [
      [[2, 3], Float32Array.of(1, 2, 3, 4, 5, 6)],
      [[], Float32Array.of(7)],
      [[40000], new Float32Array(40000).fill(0.5)],
    ]) {
      const file = await bytesOf(tensorMessage(constant("input_0", shape, data)));
      const model = await openModel(file);
      assert.equal(model.format, "pb");
      const read = await model.read("input_0");
      assert.deepEqual([read.data, [...read.shape]], [data, shape]);
      const { files } = await quantizeModel(model, "keep");
      assert.match(files[0].name, /\.npy$/);
    }
  });

  it("without a name is called tensor", async () => {
    const file = await bytesOf(tensorMessage(constant("", [1], Int8Array.of(-3))));
    assert.deepEqual((await (await openModel(file)).read("tensor")).data, Float32Array.of(-3));
  });

  it("of text is unreadable; a sequence of tensors is refused", async () => {
    const text = [...varintField(1, 1), ...varintField(2, 8), ...bytesField(6, "a")];
    const model = await openModel(await bytesOf([...text, ...bytesField(8, "words")]));
    assert.deepEqual([...model.unreadable], [["words", "of text"]]);
    const element = tensorMessage(constant("x", [1], Int8Array.of(1)));
    const sequence = await bytesOf([...varintField(2, 1), ...bytesField(3, element)]);
    await rejects(openModel(sequence), RangeError, "ZP_INVALID_FILE", /one tensor.*sequence/);
  });

  it("is no model, and a model is no such file", async () => {
    const w = constant("w", [1], Float32Array.of(1));
    const graph = { nodes: [], initializers: [w], outputs: [] };
    assert.equal((await openModel(await onnxModel(graph))).format, "onnx");
    const file = await bytesOf(tensorMessage(w));
    await rejects(openModel(file, { format: "onnx" }), RangeError, "ZP_INVALID_FILE", /expected/);
  });
});
