// options.maxBytes: small files that describe much are refused, by all files of a model together, and work is done once.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { rejects } from "../../support/asserts.mjs";
import { safetensorsOf } from "../../support/files/checkpoints.mjs";
import {
  emptyObjects,
  escapedText,
  ggufArrays,
  ggufTexts,
  indexOf,
  manyTensors,
  npzColumns,
  npzMembers,
  npzZeros,
} from "../../support/files/costly-files.mjs";
import { crc32 } from "../../support/vectors.mjs";

await init();

const MIB = 2 ** 20;

/** The checksum of bytes; Node 20 has none. */
const checksum = (bytes) => zlib.crc32?.(bytes) ?? Number(`0x${crc32(bytes)}`);

/** The bytes of a blob as a source that counts its reads. */
async function counted(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const source = {
    size: bytes.length,
    reads: 0,
    bytesRead: 0,
    read: (offset, length) => {
      source.reads++;
      source.bytesRead += length;
      return bytes.subarray(offset, offset + length);
    },
  };
  return source;
}

describe("options.maxBytes", () => {
  const shards = (count) => Array.from({ length: count }, (_, i) => `s${i}`);
  const shard = manyTensors(200);
  /** A function that opens shards, but has no configuration beside them. */
  const only = (open) => (name) => (name.endsWith(".json") ? new Uint8Array(0) : open());
  for (const [what, source, options] of [
    ["arrays of GGUF", ggufArrays(MIB / 4)],
    ["texts of GGUF", ggufTexts(MIB / 2)],
    ["a text of escapes", escapedText(2 * MIB)],
    ["zeros in an npz file", npzZeros(1)],
    ["members of an npz file", npzMembers(1000, () => 0, false)],
    [
      "shards of an index, each small enough",
      indexOf(shards(30)),
      { externalData: only(() => shard) },
    ],
    ["names of shards", indexOf(shards(200)), { externalData: only(() => manyTensors(200)) }],
  ]) {
    it(`bounds the memory of ${what}`, async () => {
      await rejects(
        openModel(source, { ...options, maxBytes: MIB }),
        RangeError,
        "ZP_UNSUPPORTED_FILE",
        /^openModel: .*at most options\.maxBytes, 1048576 bytes/,
      );
      const model = await openModel(source, { ...options, maxBytes: 64 * MIB });
      await model.close();
    });
  }

  it("bounds the memory of a configuration beside the model", async () => {
    const weights = { "a.qweight": ["int32", [1, 8], new Int32Array(8)] };
    const source = await safetensorsOf(weights);
    const config = emptyObjects(MIB / 4);
    const externalData = (name) => (name === "config.json" ? config : new Uint8Array(0));
    const small = openModel(source, { externalData, maxBytes: MIB });
    await rejects(small, RangeError, "ZP_UNSUPPORTED_FILE", /config\.json: .*options\.maxBytes/);
    await openModel(source, { externalData });
  });

  it("bounds the pairs of tensors of one module that are compared", async () => {
    const entry = (name) => [name, ["uint8", [1, 1], new Uint8Array(1)]];
    const names = Array.from({ length: 800 }, (_, i) => [`m.c${i}`, `m.s${i}_scale`]).flat();
    const file = await safetensorsOf(Object.fromEntries(names.map(entry)));
    const small = openModel(file, { maxBytes: 2 * MIB });
    await rejects(small, RangeError, "ZP_UNSUPPORTED_FILE", /m\.c\d+: .*options\.maxBytes/);
    await openModel(file);
  });

  it("lets many tensors of one module pass by default", async () => {
    const model = await openModel(manyTensors(20_000));
    assert.equal(model.tensors.size, 20_000);
  });

  it("is 512 MiB by default", async () => {
    const externalData = (name) =>
      name.endsWith(".json") ? new Uint8Array(0) : manyTensors(1, Number(name.slice(1)));
    const many = openModel(indexOf(shards(8200)), { externalData });
    await rejects(many, RangeError, "ZP_UNSUPPORTED_FILE", /at most options\.maxBytes, 536870912/);
  });

  it("is a number above 0", async () => {
    for (const maxBytes of [0, -1, Number.NaN, "1GB", null]) {
      const error = typeof maxBytes === "number" ? RangeError : TypeError;
      const opened = openModel(manyTensors(1), { maxBytes });
      await rejects(opened, error, "ZP_INVALID_OPTION", /options\.maxBytes must be a number/);
    }
    await openModel(manyTensors(1), { maxBytes: Number.POSITIVE_INFINITY });
  });
});

describe("shards of an index", () => {
  it("are opened once, whatever they are called", async () => {
    const opened = [];
    const names = Array.from({ length: 20 }, (_, i) => `${"./".repeat(i)}a`);
    const externalData = (name) => {
      opened.push(name);
      return name === "a" ? manyTensors(20) : new Uint8Array(0);
    };
    const model = await openModel(indexOf(names), { externalData });
    assert.equal(model.tensors.size, 20);
    assert.deepEqual(
      opened.filter((name) => name === "a"),
      ["a"],
    );
  });
});

describe("metadata of GGUF", () => {
  it("is decoded once, when it is asked for", async () => {
    const { metadata } = await openModel(ggufTexts(100));
    const model = await openModel(ggufTexts(100));
    assert.deepEqual(metadata.get("k"), Array(10).fill("ab"));
    assert.equal(model.metadata, model.metadata);
  });
});

describe("npz files", () => {
  const zero = () => 0;

  it("are read in few pieces, if their members are small", async () => {
    const source = await counted(npzMembers(2000, zero, false));
    const model = await openModel(source);
    assert.equal(model.tensors.size, 2000);
    assert.ok(source.reads < source.size / 2 ** 15 + 10, `${source.reads} reads`);
  });

  it("inflate a column-major array once", async () => {
    const source = await counted(npzColumns(4100, 4100, checksum));
    const model = await openModel(source);
    source.bytesRead = 0;
    const bytes = await model.readBytes("a");
    assert.ok(source.bytesRead < 1.1 * source.size, `${source.bytesRead / source.size} passes`);
    const values = new Float32Array(bytes.buffer);
    for (const [row, column] of [
      [0, 1],
      [1, 0],
      [4099, 4099],
      [2100, 77],
    ]) {
      assert.equal(values[row * 4100 + column], (column * 4100 + row) % 1021);
    }
  });
});
