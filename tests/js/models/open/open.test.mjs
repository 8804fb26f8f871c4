import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { dequantize, init, quantize, tensor } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { quantizePerTensor } from "zeropoint/torch";
import { isDecodable } from "../../../internal/formats.mjs";
import { rejects, sameDeep, sameTensor } from "../../support/asserts.mjs";
import { safetensorsOf } from "../../support/files/checkpoints.mjs";
import { expectedValues, fromBase64, sameValues, vectorsOf } from "../../support/files/formats.mjs";
import { bytesOf } from "../../support/files/saved.mjs";
import { floats } from "../../support/models.mjs";
import { constant, onnxModel } from "../../support/onnx/models.mjs";

await init();

const bytesOfArray = (array) => new Uint8Array(array.buffer);
describe("openModel", () => {
  let made;
  /** A folder for files, made by the first test that needs it. */
  const folder = () => (made ??= mkdtempSync(join(tmpdir(), "zeropoint-open-")));
  after(() => made && rmSync(made, { recursive: true, force: true }));

  it("gives the inputs that an ONNX model declares, without those that have values", async () => {
    const bytes = await onnxModel({
      nodes: [{ opType: "MatMul", inputs: ["x", "w"], outputs: ["y"] }],
      initializers: [constant("w", [2, 3], new Float32Array(6))],
      inputs: [
        { name: "x", shape: ["n", 2] },
        { name: "w", shape: [2, 3] },
      ],
      outputs: [{ name: "y", shape: ["n", 3] }],
    });
    const { inputs } = await openModel(bytes);
    assert.deepEqual(inputs, [{ name: "x", dtype: "float32", shape: ["n", 2] }]);
    const plain = await openModel(
      await safetensorsOf({ w: ["float32", [1], new Float32Array(1)] }),
    );
    assert.deepEqual(plain.inputs, []);
  });

  it("says where an ONNX file ends that is cut off at any byte", async () => {
    const bytes = await onnxModel({
      nodes: [],
      initializers: [constant("w", [2, 3], new Float32Array(6))],
      inputs: [],
      outputs: [],
    });
    for (let size = 1; size < bytes.length; size++) {
      const reading = openModel(bytes.subarray(0, size), { format: "onnx" });
      const message = new RegExp(`the file, which has ${size} bytes and may be cut off`);
      await rejects(reading, RangeError, "ZP_INVALID_FILE", message);
    }
  });

  it("says that the external data of an ONNX file is cut off", async () => {
    const place = { location: "w.bin", offset: 0, length: 24 };
    const bytes = await onnxModel({
      nodes: [],
      initializers: [{ ...constant("w", [2, 3], new Float32Array(6)), place }],
      inputs: [],
      outputs: [],
    });
    const model = await openModel(bytes, { externalData: () => new Uint8Array(20) });
    const message = /"w\.bin".*, found 20 bytes; the file may be cut off$/;
    await rejects(model.read("w"), RangeError, "ZP_INVALID_FILE", message);
  });

  it("says that a safetensors or GGUF file may be cut off", async () => {
    const parts = { w: ["float32", [64], new Float32Array(64)] };
    const file = await safetensorsOf(parts);
    const { files } = await quantizeModel(await openModel(file), "keep", { format: "gguf" });
    const gguf = new Uint8Array(await new Response(files[0].stream()).arrayBuffer());
    for (const bytes of [file, gguf]) {
      const cut = bytes.subarray(0, bytes.length - 100);
      await rejects(openModel(cut), RangeError, "ZP_INVALID_FILE", /; the file may be cut off$/);
    }
  });

  for (const format of ["safetensors", "gguf", "onnx", "npy"]) {
    const vectors = vectorsOf(format);
    it(`reads names, shapes and values of ${format} files, which it tells by their first bytes`, async () => {
      let read = 0;
      for (const { file, tensors, ...own } of vectors.cases) {
        if (!/\.(safetensors|gguf|onnx|npy|npz)$/.test(file)) continue;
        const externalData = (path) => fromBase64(vectors.files?.[path] ?? "");
        const model = await openModel(vectors.bytes(file), { externalData });
        assert.equal(model.format, file.endsWith(".npz") ? "npz" : format, file);
        for (const expected of tensors ?? [{ name: "array", ...own }]) {
          const { shape, dtype, byteLength } = model.tensors.get(expected.name ?? "array") ?? {};
          if (shape === undefined) continue;
          if (expected.shape) assert.deepEqual([...shape], expected.shape, file);
          const values = expectedValues(expected);
          if (values === undefined || !isDecodable(dtype) || expected.external) continue;
          const { data } = await model.read(expected.name ?? "array");
          sameValues(data, values, `${file} ${expected.name}`);
          assert.equal((await model.readBytes(expected.name ?? "array")).length, byteLength);
          read++;
        }
        await model.close();
      }
      assert.ok(read > 2, `${read} tensors`);
    });
  }

  const x = floats([6, 8]);
  const things = {
    x,
    int4: quantize(x, { dtype: "int4", groupSize: 4 }),
    uint2: quantize(x, { dtype: "uint2", scheme: "affine", axis: 0 }),
    double: quantize(x, { scheme: "affine" }),
    torch: quantizePerTensor(x, 0.1, 3, "quint8"),
  };
  const openThings = async () => openModel(await bytesOf(things));

  it("lists what save wrote: dtypes, shapes, and what is quantized", async () => {
    const model = await openThings();
    assert.match(String(model), /^Model\(safetensors, 5 tensors\)\n {2}/);
    assert.deepEqual(
      ["x", "int4", "torch"].map((name) => {
        const { dtype, shape, isQuantized } = model.tensors.get(name);
        return [dtype, shape, isQuantized];
      }),
      [
        ["float32", [6, 8], false],
        ["int4", [6, 8], true],
        ["uint8", [6, 8], true],
      ],
    );
  });

  it("reads what save wrote: floats, and codes with their qparams", async () => {
    const model = await openThings();
    sameTensor(await model.read("x"), x);
    for (const name of ["int4", "uint2", "double", "torch"]) {
      sameDeep(await model.readQuantized(name), things[name]);
      sameTensor(await model.read(name), dequantize(things[name]));
    }
  });

  it("reads the parts of a quantized tensor by names of their own", async () => {
    assert.deepEqual((await (await openThings()).read("int4_scale")).shape, [6, 2]);
  });

  it("refuses to read tensors that a model does not have, or that are not quantized", async () => {
    const model = await openModel(await bytesOf({ x: floats([6, 8]) }));
    await rejects(model.readQuantized("x"), RangeError, "ZP_INVALID_MODEL", /not quantized/);
    await rejects(model.read("y"), RangeError, "ZP_INVALID_MODEL", /no tensor "y"/);
  });

  it("reads codes of int8 with scales beside them, as checkpoints have them", async () => {
    const file = await safetensorsOf({
      "fc.weight": ["int8", [2, 3], Int8Array.of(1, -2, 3, 4, 5, -6)],
      "fc.weight_scale": ["float32", [2, 1], Float32Array.of(0.5, 2)],
    });
    const model = await openModel(file);
    const expected = tensor([
      [0.5, -1, 1.5],
      [8, 10, -12],
    ]);
    sameTensor(await model.read("fc.weight"), expected);
    const q = await model.readQuantized("fc.weight");
    assert.deepEqual([q.axis, q.scheme, [...q.scale.shape]], [0, "symmetric", [2, 1]]);
    sameTensor(dequantize(q), expected);
  });

  /** Writes two shards with an index: the folder, and the path and text of the index. */
  async function writeShards(name) {
    const path = join(folder(), name);
    mkdirSync(path);
    const parts = {
      a: ["float32", [1], Float32Array.of(1)],
      b: ["float32", [1], Float32Array.of(2)],
    };
    const files = { a: "one.safetensors", b: "two.safetensors" };
    for (const name of ["a", "b"]) {
      writeFileSync(join(path, files[name]), await safetensorsOf({ [name]: parts[name] }));
    }
    const index = join(path, "model.safetensors.index.json");
    const text = JSON.stringify({ weight_map: files });
    writeFileSync(index, text);
    return { path, index, text };
  }

  it("opens shards by their index or folder", async () => {
    const { path, index } = await writeShards("shards");
    for (const source of [index, path, `${path}/`]) {
      const model = await openModel(source);
      assert.deepEqual([...model.tensors.keys()], ["a", "b"]);
      assert.equal((await model.read("b")).data[0], 2);
      await model.close();
    }
  });

  it("opens shards by the bytes of their index, with options.externalData", async () => {
    const { path, text } = await writeShards("shards-of-bytes");
    const bytes = new TextEncoder().encode(text);
    const opened = await openModel(bytes, {
      externalData: (name) => join(path, name),
      format: "safetensors",
    });
    assert.equal((await opened.read("a")).data[0], 1);
    await rejects(
      openModel(bytes),
      RangeError,
      "ZP_UNSUPPORTED_FILE",
      /options\.externalData opens/,
    );
  });

  it("says which file is missing", async () => {
    const { path, index } = await writeShards("missing-shard");
    rmSync(join(path, "two.safetensors"));
    await rejects(
      openModel(index),
      Error,
      "ZP_LOAD_FAILED",
      /two\.safetensors could not be opened/,
    );
  });

  it("says that a folder holds no model", async () => {
    await rejects(
      openModel(folder()),
      Error,
      "ZP_LOAD_FAILED",
      /is a folder without any of .*model\.safetensors/,
    );
  });

  it("opens a model of TensorFlow.js, its shards beside it, and its quantized weights", async () => {
    const path = join(folder(), "tfjs");
    mkdirSync(path);
    const weights = [
      { name: "w", shape: [3], dtype: "float32" },
      {
        name: "q",
        shape: [2],
        dtype: "float32",
        quantization: { dtype: "uint8", scale: 0.5, min: -1 },
      },
    ];
    const manifest = { weightsManifest: [{ paths: ["a.bin"], weights }] };
    writeFileSync(join(path, "model.json"), JSON.stringify({ format: "graph-model", ...manifest }));
    const data = new Uint8Array(14);
    data.set(bytesOfArray(Float32Array.of(1, 2, 3)));
    data.set([3, 255], 12);
    writeFileSync(join(path, "a.bin"), data);
    for (const source of [path, join(path, "model.json")]) {
      const model = await openModel(source);
      assert.equal(model.format, "tfjs");
      assert.equal(model.metadata.get("format"), "graph-model");
      assert.deepEqual([...(await model.read("w")).data], [1, 2, 3]);
      assert.deepEqual([...(await model.read("q")).data], [0.5, 126.5]);
      await model.close();
    }
  });

  it("reads only headers until a value is requested, by ranges of an address", async () => {
    const big = new Float32Array(2 ** 18).fill(7);
    const bytes = await safetensorsOf({
      first: ["float32", [2 ** 18], big],
      second: ["float32", [2], Float32Array.of(3, 4)],
    });
    let sent = 0;
    const server = createServer(({ headers }, response) => {
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(headers.range).map(Number);
      const part = bytes.subarray(from, to + 1);
      sent += part.length;
      response.writeHead(206, { "content-range": `bytes ${from}-${to}/${bytes.length}` });
      response.end(part);
    });
    await new Promise((resolve) => server.listen(0, resolve));
    try {
      const model = await openModel(`http://127.0.0.1:${server.address().port}/m.safetensors`);
      assert.deepEqual([...(await model.read("second")).data], [3, 4]);
      assert.ok(sent < 70_000, `${sent} bytes were sent`);
      await model.close();
      await rejects(model.read("first"), TypeError, "ZP_DISPOSED", /closed/);
      await model.close();
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  describe("of an address", () => {
    /** Calls a function with the address of a server. */
    async function serve(answer, use) {
      const server = createServer(answer);
      await new Promise((resolve) => server.listen(0, resolve));
      try {
        await use(`http://127.0.0.1:${server.address().port}/m.safetensors`);
      } finally {
        server.close();
        server.closeAllConnections();
      }
    }
    const makeFile = () => safetensorsOf({ a: ["float32", [2 ** 16], new Float32Array(2 ** 16)] });
    const rangeOf = ({ headers }) =>
      /bytes=(\d+)-(\d+)/
        .exec(headers.range ?? "")
        ?.slice(1)
        .map(Number);

    it("says that the answer to a request was cut off", async () => {
      const bytes = await makeFile();
      const answer = (request, response) => {
        const [from, to] = rangeOf(request);
        const part = bytes.subarray(from, to + 1);
        response.writeHead(206, {
          "content-range": `bytes ${from}-${to}/${bytes.length}`,
          "content-length": part.length,
        });
        if (from === 0) response.end(part);
        else response.write(part.subarray(1), () => response.destroy());
      };
      await serve(answer, async (address) => {
        const model = await openModel(address);
        await rejects(model.read("a"), Error, "ZP_LOAD_FAILED", /the body of http.* was cut off/);
      });
    });

    it("reads the whole file if a server does not say how long it is", async () => {
      const bytes = await makeFile();
      const answer = (request, response) => {
        const range = rangeOf(request);
        if (range === undefined) response.writeHead(200).end(bytes);
        else {
          response.writeHead(206, { "content-range": `bytes ${range.join("-")}/*` });
          response.end(bytes.subarray(range[0], range[1] + 1));
        }
      };
      await serve(answer, async (address) => {
        const { shape } = await (await openModel(address)).read("a");
        assert.deepEqual([...shape], [2 ** 16]);
      });
    });

    it("rejects with the reason of a signal that is aborted while the body comes", async () => {
      const reason = new Error("enough");
      const stop = new AbortController();
      const answer = (_, response) => {
        response.writeHead(200, { "content-length": 1000 });
        response.write("x", () => setTimeout(() => stop.abort(reason), 20));
      };
      await serve(answer, async (address) => {
        await assert.rejects(openModel(address, { signal: stop.signal }), reason);
      });
    });
  });

  it("stops when its signal is aborted", async () => {
    const reason = new Error("enough");
    const stop = new AbortController();
    const file = await safetensorsOf({ a: ["float32", [1], Float32Array.of(1)] });
    const model = await openModel(file, { signal: stop.signal });
    stop.abort(reason);
    await assert.rejects(model.read("a"), reason);
    await assert.rejects(openModel(file, { signal: stop.signal }), reason);
  });

  for (const format of ["safetensors", "gguf", "onnx", "npy", "npz", "tfjs"]) {
    it(`names itself in messages about a damaged file: ${format}`, async () => {
      const bytes = new Uint8Array(9);
      await rejects(openModel(bytes, { format }), RangeError, "ZP_INVALID_FILE", /^openModel: at/);
    });
  }

  it("names the damaged shard", async () => {
    const text = JSON.stringify({ weight_map: { a: "one.safetensors" } });
    const externalData = () => new Uint8Array(9);
    await rejects(
      openModel(new TextEncoder().encode(text), { externalData, format: "safetensors" }),
      RangeError,
      "ZP_INVALID_FILE",
      /^openModel: one\.safetensors: at byte 0: /,
    );
  });

  for (const [what, text, message] of [
    ["an empty file", "", /expected the beginning of a file .*, found an empty file$/],
    [
      "a Git LFS pointer",
      "version https://git-lfs.github.com/spec/v1\n",
      /found a Git LFS pointer: git lfs pull/,
    ],
    ["HTML", "<!DOCTYPE html>", /found HTML/],
    ["HDF5", "\x89HDF\r\n\x1a\n\0\0", /found HDF5/],
    ["TensorFlow Lite", "\x1c\0\0\0TFL3", /found TensorFlow Lite/],
    ["a Python pickle of protocol 2", "\x80\x02}q\0.", /found a Python pickle/],
    ["a Python pickle of protocol 3", "\x80\x03}q\0.", /found a Python pickle/],
    ["a Python pickle of protocol 4", "\x80\x04}q\0.", /found a Python pickle/],
    ["a Python pickle of protocol 5", "\x80\x05}q\0.", /found a Python pickle/],
    ["ONNX Runtime's own format", "\x1c\0\0\0ORTM", /found ONNX Runtime's own format/],
    ["ggml from before GGUF", "lmgg\x99\xca\0\0", /found a file of ggml from before GGUF/],
    // Field 1, a version, and field 500: Core ML's neural network.
    ["Core ML", "\x08\x04\xa2\x1f\x00", /or be of Core ML or TensorFlow/],
    ["a gzip file", "\x1f\x8b\x08\0", /found a gzip file/],
    ["a Zstandard file", "\x28\xb5\x2f\xfd", /found a Zstandard file/],
    ["an image", "GIF89a, and so on and on", /bytes 71 73 70/],
    ["another JSON file", "{}", /weightsManifest/],
  ]) {
    it(`refuses ${what}, and says what it found`, async () => {
      const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
      await rejects(openModel(bytes), RangeError, "ZP_INVALID_FILE", message);
    });
  }

  it("refuses PyTorch's archives of pickles", async () => {
    const archive = fromBase64(
      // zipfile: archive/data.pkl, stored
      "UEsDBBQAAAAAAAAAIQDykQLFBgAAAAYAAAAQAAAAYXJjaGl2ZS9kYXRhLnBrbIACfXEALlBLAQIUAxQAAAAAAAAAIQDykQLFBgAAAAYAAAAQAAAAAAAAAAAAAACAAQAAAABhcmNoaXZlL2RhdGEucGtsUEsFBgAAAAABAAEAPgAAADQAAAAAAA==",
    );
    await rejects(
      openModel(archive),
      RangeError,
      "ZP_UNSUPPORTED_FILE",
      /PyTorch's archive of pickles/,
    );
  });

  it("refuses archives without arrays, such as a Keras model or a MediaPipe task", async () => {
    const archive = fromBase64(
      // zipfile: metadata.json, stored
      "UEsDBBQAAAAAAAAAIQBDv6ajAgAAAAIAAAANAAAAbWV0YWRhdGEuanNvbnt9UEsBAhQDFAAAAAAAAAAhAEO/pqMCAAAAAgAAAA0AAAAAAAAAAAAAAIABAAAAAG1ldGFkYXRhLmpzb25QSwUGAAAAAAEAAQA7AAAALQAAAAAA",
    );
    await rejects(
      openModel(archive),
      RangeError,
      "ZP_INVALID_FILE",
      /expected an archive of \.npy files, found a zip archive without any; it has "metadata\.json"$/,
    );
  });

  it("opens the manifest of TensorFlow.js weights that has no model.json", async () => {
    const weights = [{ name: "w", shape: [2], dtype: "float32" }];
    const manifest = JSON.stringify([{ paths: ["w-shard1"], weights }]);
    const shard = new Uint8Array(Float32Array.of(1, 2).buffer);
    const model = await openModel(new TextEncoder().encode(`\n${manifest}`), {
      externalData: () => shard,
    });
    assert.equal(model.format, "tfjs");
    assert.deepEqual([...(await model.read("w")).data], [1, 2]);
  });

  it("takes an async iterable of bytes, as Node's streams are", async () => {
    const bytes = await safetensorsOf({ w: ["float32", [2], Float32Array.of(1, 2)] });
    async function* chunks() {
      // One buffer for all chunks.
      const buffer = new Uint8Array(16);
      for (let at = 0; at < bytes.length; at += buffer.length) {
        const part = bytes.subarray(at, at + buffer.length);
        buffer.set(part);
        yield buffer.subarray(0, part.length);
      }
    }
    const model = await openModel(chunks());
    assert.deepEqual([...(await model.read("w")).data], [1, 2]);
    async function* text() {
      yield "text";
    }
    const message = /^openModel: each chunk of source must be a Uint8Array, got/;
    await rejects(openModel(text()), TypeError, "ZP_INVALID_OPTION", message);
  });

  it("refuses signals and functions for external data that are none, also where it needs none", async () => {
    const file = await safetensorsOf({ a: ["float32", [1], new Float32Array(1)] });
    for (const [options, code, message] of [
      [{ signal: {} }, "ZP_INVALID_OPTION", /options\.signal must be an AbortSignal, got/],
      [{ externalData: {} }, "ZP_INVALID_FUNCTION", /options\.externalData must be a function/],
    ]) {
      await rejects(openModel(file, options), TypeError, code, message);
    }
  });

  it("refuses other sources and formats", async () => {
    await rejects(openModel("/no/such/file"), Error, "ZP_LOAD_FAILED", /could not be opened|404/);
    await rejects(openModel(3), TypeError, "ZP_INVALID_OPTION", /^openModel: source must be/);
    await rejects(
      openModel(new Uint8Array(9), { format: "pt" }),
      RangeError,
      "ZP_INVALID_OPTION",
      /^openModel: options\.format must be/,
    );
  });
});
