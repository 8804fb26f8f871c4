// Opened models that a caller tries to change, and sources and signals of the wrong kind.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { init, tensor } from "zeropoint";
import {
  analyze,
  compare,
  load,
  openModel,
  quantizeModel,
  save,
  verifyOutput,
} from "zeropoint/models";
import { rejects, sameFloats } from "../support/asserts.mjs";

await init();
const w = tensor([
  [1, -2, 3],
  [4, 5, -6],
]);
const bytes = new Uint8Array(await new Response(save({ w })).arrayBuffer());

/** All rows of an iterable. */
async function drain(rows) {
  for await (const _ of rows);
}

describe("an opened model", () => {
  it("describes its file by maps and shapes that cannot be changed", async () => {
    const model = await openModel(bytes);
    const code = { code: "ZP_INVALID_MODEL" };
    for (const map of [model.tensors, model.metadata]) {
      assert.throws(() => map.set("w", {}), code);
      assert.throws(() => map.delete("w"), code);
      assert.throws(() => map.clear(), code);
      assert.equal(new Map(map).set("other", 1).size, map.size + 1);
    }
    const described = model.tensors.get("w");
    assert.throws(() => described.shape.push(5), TypeError);
    assert.throws(() => Object.assign(described, { shape: [6] }), TypeError);
    sameFloats((await model.read("w")).data, w.data);
    const result = await quantizeModel(model, "int8-channel");
    assert.deepEqual((await verifyOutput(model, result)).problems, []);
    await model.close();
  });

  it("is opened by a file address, with its shards, or by that of its folder", async () => {
    const folder = mkdtempSync(join(tmpdir(), "zero point ä "));
    after(() => rmSync(folder, { recursive: true }));
    const shard = "model-00001-of-00001.safetensors";
    writeFileSync(join(folder, shard), bytes);
    const index = join(folder, "model.safetensors.index.json");
    writeFileSync(index, JSON.stringify({ metadata: {}, weight_map: { w: shard } }));
    const addresses = [folder, index, join(folder, shard)].map((path) => pathToFileURL(path));
    for (const source of [...addresses, ...addresses.map(String)]) {
      const model = await openModel(source);
      sameFloats((await model.read("w")).data, w.data);
      await model.close();
    }
  });

  it("is not made of a source without its size", async () => {
    const read = () => bytes;
    for (const size of [undefined, -1, 1.5, "9", 2 ** 53]) {
      await rejects(openModel({ size, read }), TypeError, "ZP_INVALID_OPTION", /\{ size, read/);
    }
  });
});

describe("functions of model files", () => {
  it("refuse what is no AbortSignal, and reject with a signal's reason", async () => {
    const model = await openModel(bytes);
    const result = await quantizeModel(model, "int8-channel");
    for (const run of [
      (signal) => openModel(bytes, { signal }),
      (signal) => load(bytes, { signal }),
      async (signal) => await drain(analyze(model, { signal })),
      (signal) => drain(compare(model, model, { signal })),
      (signal) => quantizeModel(model, "int8-channel", { signal }),
      (signal) => verifyOutput(model, result, { signal }),
    ]) {
      for (const value of [5, null, {}, "signal"]) {
        await rejects(run(value), TypeError, "ZP_INVALID_OPTION", /options\.signal must be an/);
      }
      const reason = new Error("enough");
      await assert.rejects(run(AbortSignal.abort(reason)), reason);
    }
    await model.close();
  });
});
