// Files under other names, in other memory, and with members that are no numbers.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { writeNpz } from "../../../internal/formats.mjs";
import { rejects } from "../../support/asserts.mjs";
import { outputBytes, safetensorsOf } from "../../support/files/checkpoints.mjs";
import { collect } from "../../support/files/formats.mjs";
import { bytesOf } from "../../support/files/saved.mjs";
import { constant, onnxModel } from "../../support/onnx/models.mjs";

await init();

const encode = (value) =>
  new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));

describe("an index of shards", () => {
  it("is told by its fields, under any name", async () => {
    const shard = await safetensorsOf({ w: ["float32", [2], Float32Array.of(1, 2)] });
    const index = encode({ metadata: {}, weight_map: { w: "s.safetensors" } });
    for (const name of ["model.safetensors.index.json", "index (1).json", "x.fp16.json", "a?b=1"]) {
      const model = await openModel(new File([index], name), { externalData: () => shard });
      assert.deepEqual([...(await model.read("w")).data], [1, 2], name);
    }
  });

  it("is not taken for one by its name", async () => {
    const manifest = [{ paths: ["s"], weights: [{ name: "w", shape: [1], dtype: "float32" }] }];
    const model = encode({ weightsManifest: manifest });
    const file = new File([model], "model.safetensors.index.json");
    const bytes = new Uint8Array(Float32Array.of(5).buffer);
    const { format } = await openModel(file, { externalData: () => bytes });
    assert.equal(format, "tfjs");
  });
});

describe("blanks before the header of a safetensors file", () => {
  it("are let pass, as the reference library does", async () => {
    const file = await safetensorsOf({ w: ["float32", [1], Float32Array.of(7)] });
    const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
    // The last length has a first byte that is a brace.
    for (const blanks of [" ", "\n\t\r ", " ".repeat(64), " ".repeat(0x7b + 256 - length)]) {
      const prefix = new Uint8Array(8);
      new DataView(prefix.buffer).setBigUint64(0, BigInt(length + blanks.length), true);
      const moved = new Blob([prefix, blanks, file.subarray(8)]);
      for (const options of [undefined, { format: "safetensors" }]) {
        const model = await openModel(moved, options);
        assert.deepEqual([...(await model.read("w")).data], [7]);
      }
    }
  });
});

describe("a folder as the Hub has it", () => {
  const made = mkdtempSync(join(tmpdir(), "zeropoint-folder-"));
  after(() => rmSync(made, { recursive: true, force: true }));

  /** A folder of files by name. */
  function folderOf(name, files) {
    for (const [path, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(made, name, path)), { recursive: true });
      writeFileSync(join(made, name, path), bytes);
    }
    return join(made, name);
  }
  const file = (value) => safetensorsOf({ w: ["float32", [1], Float32Array.of(value)] });

  it("opens by its only index or file of a format, under any name", async () => {
    const shard = { "a-1.safetensors": await file(3), "a-2.safetensors": await file(4) };
    const index = encode({ weight_map: { w: "a-2.safetensors" } });
    for (const [name, files, value] of [
      ["one", { "diffusion.safetensors": await file(2), "config.json": encode({}) }, 2],
      ["shards", { ...shard, "a.safetensors.index.fp16.json": index }, 4],
    ]) {
      const model = await openModel(folderOf(name, files));
      assert.deepEqual([...(await model.read("w")).data], [value], name);
      await model.close();
    }
    const two = openModel(folderOf("two", shard));
    await rejects(two, Error, "ZP_LOAD_FAILED", /is a folder without any of/);
  });

  it("opens by the model in its folder onnx", async () => {
    const graph = { nodes: [], inputs: [], outputs: [] };
    const bytes = await onnxModel({
      ...graph,
      initializers: [constant("w", [1], Float32Array.of(5))],
    });
    const model = await openModel(folderOf("onnx-model", { "onnx/model.onnx": bytes }));
    assert.equal(model.format, "onnx");
    assert.deepEqual([...(await model.read("w")).data], [5]);
    await model.close();
  });
});

describe("bytes in shared or resizable memory", () => {
  /** Runs a function while TextDecoder refuses such memory, as in browsers. */
  async function asBrowsers(run) {
    const { decode } = TextDecoder.prototype;
    TextDecoder.prototype.decode = function (bytes, options) {
      const { buffer } = bytes ?? {};
      if (buffer instanceof SharedArrayBuffer || buffer?.resizable) throw new TypeError("shared");
      return decode.call(this, bytes, options);
    };
    try {
      return await run();
    } finally {
      TextDecoder.prototype.decode = decode;
    }
  }

  it("open as in any other memory, in every format", async () => {
    const name = `ä${"x".repeat(61)}`;
    const saved = await bytesOf({ [name]: tensor(new Float32Array(256).fill(2), [256]) });
    const model = await openModel(saved);
    const files = [saved];
    for (const format of ["gguf", "npz", "npy"]) {
      const { files: written } = await quantizeModel(model, "keep", { format });
      files.push(await outputBytes(written[0]));
    }
    for (const bytes of files) {
      for (const buffer of [
        new SharedArrayBuffer(bytes.length),
        new ArrayBuffer(bytes.length, { maxByteLength: bytes.length + 8 }),
      ]) {
        const copy = new Uint8Array(buffer);
        copy.set(bytes);
        for (const source of [
          copy,
          buffer,
          { size: copy.length, read: (a, n) => copy.subarray(a, a + n) },
        ]) {
          await asBrowsers(async () => {
            const opened = await openModel(source);
            const [first] = opened.tensors.keys();
            assert.equal((await opened.read(first)).data[255], 2, opened.format);
          });
        }
      }
    }
  });
});

describe("members that are no numbers", () => {
  const data = new Uint8Array(64);

  /** An npz file of float32 members, of which one has another dtype. */
  async function npzWith(descr) {
    const tensors = ["weight", "labels"].map((name) => {
      return { name, dtype: "float32", shape: [16], bytes: () => [data] };
    });
    const text = String.fromCharCode(...(await collect(writeNpz(tensors))));
    const at = text.lastIndexOf("<f4");
    const changed = `${text.slice(0, at)}${descr}${text.slice(at + 3)}`;
    return Uint8Array.from(changed, (letter) => letter.charCodeAt(0));
  }

  it("are listed as unreadable, and the rest of an npz file opens", async () => {
    const model = await openModel(await npzWith("<U1"));
    assert.deepEqual([...model.tensors.keys()], ["weight"]);
    assert.deepEqual([...model.unreadable], [["labels", 'of "<U1"']]);
    assert.equal((await model.read("weight")).data.length, 16);
    await rejects(model.read("labels"), RangeError, "ZP_UNSUPPORTED_FILE", /"labels" .* of "<U1"/);
    const { report } = await quantizeModel(model, "float16");
    assert.match(report.notes.join("\n"), /left out, as they are not read: "labels"/);
  });

  it("may be of another method of compression, too", async () => {
    const bytes = await npzWith("<f4");
    const view = new DataView(bytes.buffer);
    const signatures = { local: [0x04034b50, 8], central: [0x02014b50, 10] };
    for (const [signature, field] of Object.values(signatures)) {
      let at = bytes.length - 4;
      while (view.getUint32(at, true) !== signature) at--;
      view.setUint16(at + field, 14, true);
    }
    const model = await openModel(bytes);
    assert.deepEqual([...model.tensors.keys()], ["weight"]);
    assert.deepEqual([...model.unreadable], [["labels", "of compression method 14"]]);
  });

  /** A model of TensorFlow.js in one shard. */
  const openTfjs = (weights, ...parts) => {
    const shard = new Blob(parts.map((part) => part));
    const manifest = encode({ weightsManifest: [{ paths: ["s"], weights }] });
    return openModel(manifest, { externalData: () => shard });
  };
  const length = (count) => new Uint8Array(Uint32Array.of(count).buffer);

  it("are stepped over in a model of TensorFlow.js, by the lengths of their strings", async () => {
    const long = "y".repeat(70_000);
    const texts = [long, "", "é", long].flatMap((text) => {
      const bytes = encode(text);
      return [length(bytes.length), bytes];
    });
    const weights = [
      { name: "words", shape: [2, 2], dtype: "string" },
      { name: "w", shape: [2], dtype: "float32" },
    ];
    const model = await openTfjs(weights, ...texts, new Uint8Array(Float32Array.of(1, 2).buffer));
    assert.deepEqual([...(await model.read("w")).data], [1, 2]);
    assert.deepEqual([...model.unreadable], [["words", "text"]]);
  });

  it("are damaged where a string ends behind the shards", async () => {
    const weights = [{ name: "words", shape: [2], dtype: "string" }];
    for (const parts of [
      [length(3), encode("abc")],
      [length(9), encode("abc"), length(0)],
    ]) {
      await rejects(openTfjs(weights, ...parts), RangeError, "ZP_INVALID_FILE", /string [01]$/);
    }
  });

  it("leave the rest of the numbers, of which infinities are some", async () => {
    const text =
      '{"modelTopology":{"deep":[NaN]},"weightsManifest":[{"paths":["s"],"weights":[{"name":"w","shape":[2],"dtype":"float32","quantization":{"dtype":"uint8","min":-Infinity,"scale":1}}]}]}';
    const model = await openModel(encode(text), { externalData: () => Uint8Array.of(0, 7) });
    assert.deepEqual([...(await model.read("w")).data], [-Infinity, -Infinity]);
    await rejects(model.readQuantized("w"), RangeError, "ZP_INVALID_MODEL", /offset -Infinity/);
  });
});
