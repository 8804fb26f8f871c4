import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { bytesSource, readTfjs } from "../../internal/formats.mjs";
import {
  assertFileError,
  collect,
  openFully,
  property,
  valuesOf,
} from "../support/files/formats.mjs";

const encode = (value) =>
  bytesSource(new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)));

/** A model of one group of weights over two shards of 10 and 30 bytes: 0, 1, 2 … */
const SHARDS = {
  "a.bin": Uint8Array.from({ length: 10 }, (_, i) => i),
  "sub/b.bin": Uint8Array.from({ length: 30 }, (_, i) => 10 + i),
};
const openShard = (path) => (Object.hasOwn(SHARDS, path) ? bytesSource(SHARDS[path]) : undefined);
const modelOf = (weights, paths = ["a.bin", "sub/b.bin"]) => ({
  format: "layers-model",
  modelTopology: { deep: [[{}]] },
  weightsManifest: [{ paths, weights }],
});
const read = (model) => readTfjs(encode(model), openShard);

const WEIGHTS = [
  { name: "a/kernel", shape: [2], dtype: "float32" },
  {
    name: "b",
    shape: [2, 2],
    dtype: "float32",
    quantization: { dtype: "uint8", scale: 0.1, min: -1, original_dtype: "float32" },
  },
  {
    name: "c",
    shape: [3],
    dtype: "float32",
    quantization: { dtype: "uint16", scale: 0.5, min: 3 },
  },
  { name: "d", shape: [2], dtype: "float32", quantization: { dtype: "float16" } },
  { name: "e", shape: [], dtype: "int32" },
  { name: "f", shape: [3], dtype: "bool" },
];

describe("readTfjs", () => {
  it("reads weights one after the other, across shards", async () => {
    const { tensors, metadata } = await read(modelOf(WEIGHTS));
    assert.equal(metadata.get("format"), "layers-model");
    const dtypes = [...tensors.values()].map(({ dtype }) => dtype);
    assert.deepEqual(dtypes, ["float32", "uint8", "uint16", "float16", "int32", "bool"]);
    let at = 0;
    for (const tensor of tensors.values()) {
      const bytes = await collect(tensor.bytes());
      assert.deepEqual(
        [...bytes],
        Array.from(bytes, (_, i) => at + i),
        tensor.name,
      );
      assert.deepEqual(await collect(tensor.bytes(1)), bytes.subarray(1));
      at += bytes.length;
    }
    // Bytes 8 to 11 are in two shards.
    assert.equal(tensors.get("b").span, undefined);
    assert.equal(tensors.get("c").span.offset, 2);
    assert.deepEqual([...(await valuesOf(tensors.get("b")))], [8, 9, 10, 11]);
  });

  it("reads a manifest without model.json, as weights_manifest.json has it", async () => {
    const { weightsManifest } = modelOf(WEIGHTS);
    const { tensors, metadata } = await read(weightsManifest);
    assert.equal(metadata.size, 0);
    assert.deepEqual(
      [...tensors.keys()],
      WEIGHTS.map(({ name }) => name),
    );
    assert.deepEqual([...(await valuesOf(tensors.get("b")))], [8, 9, 10, 11]);
  });

  it("says how codes become values", async () => {
    const { tensors } = await read(modelOf(WEIGHTS));
    assert.deepEqual(tensors.get("b").quantization, { scale: 0.1, min: -1, dtype: "float32" });
    assert.equal(tensors.get("d").quantization, undefined);
    assert.equal(tensors.get("a/kernel").quantization, undefined);
  });

  const [weight] = WEIGHTS;
  const damaged = {
    "without a manifest": "{}",
    "of a list of numbers": "[1]",
    "without bytes": "",
    "that ends within a list": '{"weightsManifest":[{"paths":["a.bin"],"weights":[',
    "with a weight of more bytes than the shards": modelOf([{ ...weight, shape: [11] }]),
    "with a negative length": modelOf([{ ...weight, shape: [-1] }]),
    "with more values than a number counts": modelOf([{ ...weight, shape: [2 ** 40, 2 ** 40] }]),
    "with an infinite length": JSON.stringify(modelOf([{ ...weight, shape: 7 }])).replace(
      "7",
      "[1e999]",
    ),
    "with the dtype float64": modelOf([{ ...weight, dtype: "float64" }]),
    "with the dtype __proto__": modelOf([{ ...weight, dtype: "__proto__" }]),
    "with a string that is longer than the shards": modelOf([{ ...weight, dtype: "string" }]),
    "without a dtype": modelOf([{ name: "a", shape: [1] }]),
    "with two weights of one name": modelOf([weight, weight]),
    "with a missing shard": modelOf([weight], ["missing.bin"]),
    "with a shard in the folder above": modelOf([weight], ["../a.bin"]),
    "with a shard at an absolute path": modelOf([weight], ["/a.bin"]),
    "with a shard at an address": modelOf([weight], ["http://a/b"]),
    "with one shard twice": modelOf([weight], ["a.bin", "a.bin"]),
    "with codes without a scale": modelOf([
      { ...weight, quantization: { dtype: "uint8", min: 0 } },
    ]),
    "with int8 codes": modelOf([{ ...weight, quantization: { dtype: "int8", min: 0, scale: 1 } }]),
  };
  for (const [what, model] of Object.entries(damaged)) {
    it(`refuses a file ${what}`, async () => {
      const text = typeof model === "string" ? model : JSON.stringify(model);
      await assert.rejects(read(text), (error) => {
        assertFileError(error, text);
        return true;
      });
    });
  }

  property(it, "reads any JSON or refuses it", [fc.json(), fc.nat(400)], async (json, cut) => {
    const model = JSON.stringify(modelOf(WEIGHTS));
    for (const text of [
      json,
      model.slice(0, cut),
      model.slice(0, cut) + json,
      modelOf([JSON.parse(json)]),
    ]) {
      const bytes = new TextEncoder().encode(
        typeof text === "string" ? text : JSON.stringify(text),
      );
      await openFully((source) => readTfjs(source, openShard), bytes, "model.json");
    }
  });
});
