// Streams of quantizeModel: readers may transfer their chunks.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { collect } from "../../support/files/formats.mjs";
import { LAYERS, modelOf } from "../../support/onnx/layers.mjs";
import { normals } from "../../support/onnx/models.mjs";
import { safetensors, smallModel } from "../../support/processes/cli.mjs";

/** Bytes of a model in each format. */
const models = new Map();

before(async () => {
  await init();
  const bytes = await safetensors(smallModel());
  models.set("safetensors", bytes);
  const model = await openModel(bytes);
  for (const format of ["gguf", "npz"]) {
    const { files } = await quantizeModel(model, "keep", { format });
    models.set(format, await collect(files[0].stream()));
  }
  const [layer] = Object.values(LAYERS);
  const length = layer.shape.reduce((a, b) => a * b, 1);
  models.set("onnx", await modelOf(layer, normals(length)));
});

/** Formats of files, and what they are quantized to. */
const OUTPUTS = [
  ["safetensors", "int8-channel"],
  ["safetensors", "keep"],
  ["gguf", "q8_0"],
  ["gguf", "keep"],
  ["npz", "keep"],
  ["onnx", "int8-channel"],
  ["onnx", "keep"],
];

/** All bytes of a stream, each of whose chunks is transferred as soon as it was read. */
async function collectAndTransfer(stream) {
  const parts = [];
  for await (const chunk of stream) {
    parts.push(chunk.slice());
    structuredClone(chunk.buffer, { transfer: [chunk.buffer] });
  }
  return Buffer.concat(parts);
}

describe("A stream of quantizeModel", () => {
  for (const own of ["safetensors", "gguf", "npz", "onnx"]) {
    for (const isBlob of [false, true]) {
      const kind = isBlob ? "a Blob" : "bytes";
      it(`hands out memory of its own: ${own} from ${kind}`, async () => {
        const bytes = new Uint8Array(models.get(own));
        const model = await openModel(isBlob ? new Blob([bytes]) : bytes);
        for (const [format, scheme] of OUTPUTS) {
          if (format === "onnx" && own !== "onnx") continue;
          const { files } = await quantizeModel(model, () => scheme, { format });
          const expected = await collect(files[0].stream());
          for (let i = 0; i < 2; i++) {
            const actual = await collectAndTransfer(files[0].stream());
            assert.ok(actual.equals(expected), `${format} ${scheme}`);
          }
        }
        assert.equal(bytes.length, models.get(own).length);
        await model.close();
      });
    }
  }
});
