// @huggingface/gguf reads the headers of the files that quantizeModel writes.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { bytesSource, ggmlTypeNumber, readGGUF } from "../internal/formats.mjs";
import { makeImatrix, makeLlama } from "../js/support/files/llama.mjs";
import { quantize, TYPES } from "./llama-models.mjs";

const require = createRequire(join(process.env.ZEROPOINT_ENGINES ?? "", "node_modules", "x.js"));

describe("@huggingface/gguf", () => {
  const { GGMLQuantizationType, gguf } = require("@huggingface/gguf");
  const settings = { layers: 2, kv: 1, seed: 31 };
  let folder;
  let model;
  let imatrix;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "zeropoint-gguf-"));
    model = await makeLlama(settings);
    imatrix = await makeImatrix(settings);
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const type of TYPES.split(" ")) {
    it(`reads the header of a file of ${type}`, async () => {
      const bytes = await quantize(model, type, { imatrix });
      const file = join(folder, `${type}.gguf`);
      writeFileSync(file, bytes);
      const { metadata, tensorInfos } = await gguf(file, { allowLocalFile: true });
      const { metadata: keys, tensors, dataOffset } = await readGGUF(bytesSource(bytes));
      for (const [key, { type: kind, value }] of keys) {
        assert.deepEqual(metadata[key], kind === "array" ? Array.from(value) : value, key);
      }
      const read = tensorInfos.map(({ name, shape, dtype, offset }) => [
        name,
        shape.map(Number).reverse(),
        dtype,
        Number(offset),
      ]);
      const expected = Array.from(tensors.values(), ({ name, shape, dtype, span }) => [
        name,
        [...shape],
        ggmlTypeNumber(dtype),
        span.offset - dataOffset,
      ]);
      assert.deepEqual(read, expected);
      for (const [, , dtype] of read) assert.ok(dtype in GGMLQuantizationType || dtype > 39);
    });
  }
});
