// verify: a quantized file passes only with the bytes that its source gives; what differs is named.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, tensor } from "zeropoint";
import { openModel, quantizeModel, save, verify } from "zeropoint/models";
import { documentOf } from "../../../internal/models.mjs";
import { Random, rejects } from "../../support/asserts.mjs";
import { effort } from "../../support/effort.mjs";
import { outputBytes, safetensorsOf, someValues } from "../../support/files/checkpoints.mjs";
import { collect } from "../../support/files/formats.mjs";
import { LAYERS, modelOf } from "../../support/onnx/layers.mjs";
import { normals } from "../../support/onnx/models.mjs";

await init();

const encode = (value) => new TextEncoder().encode(JSON.stringify(value));

/** Opens files by their names; the main one is an index, or the first. */
async function openFiles(files) {
  const names = Object.keys(files);
  const main = names.find((name) => name.endsWith(".index.json")) ?? names[0];
  const externalData = (name) => {
    if (Object.hasOwn(files, name)) return files[name];
    throw new Error(`there is no ${name}`);
  };
  return await openModel(files[main], { externalData });
}

async function filesOf({ files }) {
  const written = {};
  for (const file of files) written[file.name] = await outputBytes(file);
  return written;
}

const CONFIG = { "config.json": encode({ model_type: "llama", hidden_size: 256 }) };

/** A checkpoint in one file, with a configuration beside it. */
const checkpoint = async () =>
  await openFiles({
    "model.safetensors": await safetensorsOf(
      {
        "model.embed_tokens.weight": ["float32", [40, 256], someValues(40 * 256, 2)],
        "model.layers.0.up_proj.weight": ["float32", [32, 256], someValues(32 * 256, 3)],
        "model.layers.0.down_proj.weight": ["float32", [24, 128], someValues(24 * 128, 4)],
        "model.norm.weight": ["float32", [256], someValues(256, 5)],
        ids: ["int64", [2], BigInt64Array.of(2n ** 60n, 5n)],
      },
      Object.entries({ format: "pt", license: "mit" }),
    ),
    ...CONFIG,
  });

/** The same tensors in three shards. */
async function shards() {
  const tensors = {
    "a.weight": ["float32", [32, 256], someValues(32 * 256, 3)],
    "b.weight": ["float32", [24, 128], someValues(24 * 128, 4)],
    "c.bias": ["float32", [24], someValues(24, 5)],
  };
  const files = {};
  const weight_map = {};
  for (const [i, [name, each]] of Object.entries(tensors).entries()) {
    const file = `model-0000${i + 1}-of-00003.safetensors`;
    files[file] = await safetensorsOf({ [name]: each }, [["format", "pt"]]);
    weight_map[name] = file;
  }
  return await openFiles({
    "model.safetensors.index.json": encode({ metadata: {}, weight_map }),
    ...files,
    ...CONFIG,
  });
}

const onnx = async () =>
  await openModel(
    await modelOf(LAYERS["Gemm with transB and a bias"], normals(20 * 96, 3), {
      irVersion: 10,
      opsets: { "": 21 },
    }),
  );

const CASES = [
  [checkpoint, "int8-channel", {}],
  [checkpoint, "int4-g32", {}],
  [checkpoint, "uint4-g64-affine", {}],
  [checkpoint, "uint8-tensor-affine", {}],
  [checkpoint, "int2-g16-affine", {}],
  [checkpoint, "int4-g32-mse", {}],
  [checkpoint, "int8-tensor-mse", {}],
  [checkpoint, "int4-g32-mse", { target: "compressed-tensors" }],
  [checkpoint, "float16", {}],
  [checkpoint, "bfloat16", {}],
  [checkpoint, "keep", {}],
  [checkpoint, "w4a16", { target: "compressed-tensors" }],
  [checkpoint, "w4a16_asym", { target: "compressed-tensors" }],
  [checkpoint, "int3-g32-affine", { target: "compressed-tensors" }],
  [checkpoint, "int8-channel", { target: "compressed-tensors" }],
  [checkpoint, "w8a8", { target: "compressed-tensors" }],
  [checkpoint, "int4-g256", { target: "compressed-tensors" }],
  [checkpoint, "int4-g32", { target: "compressed-tensors", activations: "dynamic" }],
  [checkpoint, "int4-g64", { target: "mlx" }],
  [checkpoint, "int8-g32", { target: "mlx" }],
  [checkpoint, "int3-g64-hqq", { target: "mlx" }],
  [checkpoint, "q8_0", { format: "gguf" }],
  [checkpoint, "q5_k", { format: "gguf" }],
  [checkpoint, "float16", { format: "npz" }],
  [shards, "int4-g32", {}],
  [shards, "int4-g64", { target: "mlx" }],
  [shards, "w4a16", { target: "compressed-tensors" }],
  [shards, "q4_0", { format: "gguf" }],
  [onnx, "int8-channel", {}],
  [onnx, "int8-channel-mse", {}],
  [onnx, "int2-g16", {}],
  [onnx, "uint4-g32-affine", { target: "node" }],
  [onnx, "int4-g32", { target: "webgpu" }],
  [onnx, "int8-channel", { target: "web" }],
  [onnx, "int8-channel", { target: "web", activations: "dynamic" }],
  [onnx, "float16", {}],
  [onnx, "int4-g32", { format: "safetensors" }],
];

/** Files with a flipped bit in the middle of a tensor. */
async function flipped(files, name) {
  const copies = Object.fromEntries(
    Object.entries(files).map(([key, bytes]) => [key, bytes.slice()]),
  );
  const { files: tensors } = documentOf("test", "model", await openFiles(files));
  const tensor = tensors.get(name);
  const own = Buffer.from(await collect(tensor.bytes()));
  for (const copy of Object.values(copies)) {
    const bytes = Buffer.from(copy.buffer);
    // Arrays of npz have no place that is read as it is.
    const at = tensor.span?.offset ?? bytes.indexOf(own);
    if (at < 0 || !bytes.subarray(at, at + own.length).equals(own)) continue;
    copy[at + (own.length >> 1)] ^= 1;
    return copies;
  }
  throw new Error(`the bytes of ${name} are in no file`);
}

describe("verify", () => {
  it("tells a scale for each row from groups of the same size, which other modules have", async () => {
    const source = await checkpoint();
    const schemes = { up: "int4-g128", down: "int8-channel" };
    const choose = ({ name }) => schemes[/(up|down)_proj/.exec(name)?.[1]];
    const options = { target: "compressed-tensors", activations: "dynamic" };
    const files = await filesOf(await quantizeModel(source, choose, options));
    const { tensors, equal, different } = await verify(await openFiles(files), source);
    assert.deepEqual([different, equal], [[], tensors]);
  });

  for (const [makeSource, scheme, options] of CASES) {
    const title = `${makeSource.name} to ${scheme} ${JSON.stringify(options)}`;
    it(`confirms files of quantizeModel, and names a tensor with a flipped bit: ${title}`, async () => {
      const source = await makeSource();
      const files = await filesOf(await quantizeModel(source, scheme, options));
      const small = await openFiles(files);
      const { tensors, equal, different, ties, notes, statement } = await verify(small, source);
      assert.deepEqual([different, equal, ties], [[], tensors, 0]);
      const isFound = /-(mse|hqq)$/.test(scheme) && source.format !== "onnx";
      assert.match(
        notes.join("\n"),
        isFound ? /ranges of \d weights? .* by trial, \w+ \(\d\)$/ : /^$/,
      );
      assert.equal(statement.predicate.result.verdict, "equal");
      const names = [...documentOf("test", "model", small).files.keys()];
      assert.equal(tensors, names.length);
      // Shapes in compressed-tensors decide how the codes are read.
      for (const name of names.filter((each) => !each.endsWith("_shape"))) {
        const bytes = await openFiles(await flipped(files, name));
        if (options.format === "npz") {
          await assert.rejects(verify(bytes, source), /expected checksum/);
          continue;
        }
        const wrong = await verify(bytes, source);
        assert.equal(wrong.statement.predicate.result.verdict, "different", name);
        assert.deepEqual(
          // ONNX has values in fields of numbers, which are bytes of the graph, too.
          wrong.different
            .filter((each) => each.name !== "graph")
            .map((each) => [each.name, each.kind, each.bytes]),
          [[name, "values", 1]],
        );
        assert.equal(wrong.equal, tensors - 1);
      }
    });
  }

  it("says where bytes differ, and what they are", async () => {
    const values = new Float32Array(64).fill(1);
    const source = await openModel(save({ w: tensor(values, [8, 8]), b: tensor([1]) }));
    const bytes = await outputBytes((await quantizeModel(source, "keep")).files[0]);
    const at = bytes.length - 4 * 64 + 100;
    bytes[at] = 0xab;
    bytes[at + 1] = 0xcd;
    const { different } = await verify(await openModel(bytes), source);
    assert.deepEqual(different, [
      {
        ...{ name: "w", kind: "values", block: 3, byte: 100, bytes: 2, blocks: 1 },
        ...{ expected: "0000803f0000803f", found: "abcd803f0000803f" },
      },
    ]);
  });

  it("names tensors that are missing, extra, renamed, of another dtype or shape", async () => {
    const w = tensor(someValues(32 * 64), [32, 64]);
    const b = tensor(someValues(32), [32]);
    const source = await openModel(save({ w, b }));
    const check = async (thing) => {
      const { different, equal } = await verify(await openModel(save(thing)), source);
      return [
        equal,
        different
          .filter(({ kind }) => kind !== "metadata")
          .map(({ name, kind }) => `${name} ${kind}`),
      ];
    };
    assert.deepEqual(await check({ w }), [1, ["b missing"]]);
    assert.deepEqual(await check({ w, b, c: b }), [2, ["c extra"]]);
    assert.deepEqual(await check({ w, d: b }), [1, ["b missing", "d extra"]]);
    assert.deepEqual(await check({ w: tensor(w.data, [64, 32]), b }), [1, ["w shape"]]);
    const bits = { data: new Uint8Array(32), shape: [32] };
    assert.deepEqual(await check({ w, b: bits }), [1, ["b dtype"]]);
  });

  it("names metadata, and keys of config.json, that differ", async () => {
    const source = await checkpoint();
    const files = await filesOf(await quantizeModel(source, "int4-g64", { target: "mlx" }));
    const config = JSON.parse(new TextDecoder().decode(files["config.json"]));
    const changed = { ...files, "config.json": encode({ ...config, model_type: "mistral" }) };
    const { different } = await verify(await openFiles(changed), source);
    assert.deepEqual(different, [
      {
        ...{ name: "config.json model_type", kind: "metadata" },
        ...{ expected: '"llama"', found: '"mistral"' },
      },
    ]);
    const other = await openModel(
      await safetensorsOf(
        { a: ["float32", [1], Float32Array.of(5)] },
        Object.entries({ format: "pt", license: "gpl" }),
      ),
    );
    const first = await openModel(
      await safetensorsOf(
        { a: ["float32", [1], Float32Array.of(5)] },
        Object.entries({ format: "pt", license: "mit" }),
      ),
    );
    assert.deepEqual((await verify(other, first)).different, [
      { name: "metadata license", kind: "metadata", expected: "mit", found: "gpl" },
    ]);
  });

  it("names the graph of an ONNX model in which any other byte differs", async () => {
    const source = await onnx();
    const files = await filesOf(await quantizeModel(source, "int8-channel"));
    const [name] = Object.keys(files);
    const at = Buffer.from(files[name]).indexOf("Gemm");
    files[name][at] = "g".charCodeAt(0);
    const { different, equal, tensors } = await verify(await openFiles(files), source);
    assert.deepEqual(
      different.map((each) => [each.name, each.bytes]),
      [["graph", 1]],
    );
    assert.equal(equal, tensors);
  });

  it("derives weights that were quantized before, and copies those that were kept", async () => {
    const source = await openFiles(
      await filesOf(await quantizeModel(await checkpoint(), "int8-channel")),
    );
    for (const requantize of [false, true]) {
      const result = await quantizeModel(source, "int4-g32", { requantize });
      const { different, statement } = await verify(await openFiles(await filesOf(result)), source);
      assert.deepEqual(different, []);
      assert.equal(statement.predicate.derivation.requantize, requantize);
    }
  });

  it("finds how the ranges of each weight were chosen, also beside a flipped bit", async () => {
    const source = await checkpoint();
    const [up, down] = ["up", "down"].map((name) => `model.layers.0.${name}_proj.weight`);
    const schemes = { [up]: "int4-g32-mse", [down]: "int8-channel-hqq" };
    const files = await filesOf(await quantizeModel(source, { schemes }));
    const found = await verify(await openFiles(files), source);
    assert.deepEqual(found.different, []);
    assert.match(found.notes[0], /ranges of 2 weights were chosen: by trial, mse \(1\), hqq \(1\)/);
    const { schemes: counts } = found.statement.predicate.derivation;
    assert.equal(counts["int4-g32-mse"], 1);
    assert.equal(counts["int8-channel-hqq"], 1);
    const bad = await verify(await openFiles(await flipped(files, up)), source);
    assert.deepEqual(
      bad.different.map(({ name, kind, bytes }) => [name, kind, bytes]),
      [[up, "values", 1]],
    );
  });

  it("names weights in layouts that no writer makes, and calls nothing of them equal", async () => {
    const source = await openModel(
      await safetensorsOf({
        "a.weight": ["float32", [2, 4], someValues(8)],
        b: ["float32", [1], Float32Array.of(1)],
      }),
    );
    const small = await openModel(
      await safetensorsOf({
        "a.weight": ["float8_e4m3fn", [2, 4], new Uint8Array(8).fill(56)],
        "a.weight_scale": ["float32", [1], Float32Array.of(1)],
        b: ["float32", [1], Float32Array.of(1)],
      }),
    );
    const { different, equal, tensors } = await verify(small, source);
    assert.deepEqual([equal, tensors], [1, 3]);
    assert.deepEqual(
      different
        .filter(({ kind }) => kind !== "metadata")
        .map(({ name, kind, found }) => [name, kind, found]),
      [["a.weight", "not derived", "no writer makes the layout float8"]],
    );
  });

  it("refuses models without a tensor in common, and formats that are not written from the source's", async () => {
    const one = await openModel(save({ a: tensor([1]) }));
    const two = await openModel(save({ b: tensor([1]) }));
    const [range, code] = [RangeError, "ZP_INVALID_MODEL"];
    await rejects(
      verify(two, one),
      ...[range, code, 'verify: no tensor of quantized, such as "b", has a name of source'],
    );
    await rejects(
      verify(await onnx(), one),
      ...[range, "ZP_UNSUPPORTED_FILE"],
      "verify: quantized is a file of onnx, which is not written from one of safetensors",
    );
    await assert.rejects(verify(one, {}), { name: "TypeError", code });
    for (const [options, code] of [
      [{ range: "mse" }, "ZP_UNKNOWN_OPTION"],
      [{ onProgress: 1 }, "ZP_INVALID_FUNCTION"],
    ]) {
      await assert.rejects(verify(one, one, options), { code });
    }
  });

  it("finds a changed byte anywhere, or refuses the file with a code", async () => {
    const random = new Random(11);
    const cases = [
      [checkpoint, "int4-g32", {}],
      [checkpoint, "int4-g64", { target: "mlx" }],
      [onnx, "uint4-g32-affine", { target: "webgpu" }],
    ];
    for (const [makeSource, scheme, options] of cases) {
      const source = await makeSource();
      const files = await filesOf(await quantizeModel(source, scheme, options));
      const name = Object.keys(files).find((each) => /\.(safetensors|onnx)$/.test(each));
      for (let run = 0; run < effort(200); run++) {
        const bytes = files[name].slice();
        // The header is short beside the codes.
        const end = run % 2 === 0 ? bytes.length : Math.min(bytes.length, 2000);
        const at = random.integer(0, end - 1);
        bytes[at] ^= 1 << (run % 8);
        const label = `${scheme}, bit ${run % 8} of byte ${at}`;
        try {
          const small = await openFiles({ ...files, [name]: bytes });
          const { different } = await verify(small, source);
          assert.notEqual(different.length, 0, label);
        } catch (error) {
          assert.match(String(error.code), /^ZP_/, `${label}: ${error.stack}`);
        }
      }
    }
  });

  it("tells its progress, and ends with the signal's reason", async () => {
    const source = await checkpoint();
    const small = await openFiles(await filesOf(await quantizeModel(source, "int4-g32")));
    let last = { done: 0, total: 0 };
    await verify(small, source, {
      onProgress: (progress) => {
        assert.ok(progress.done >= last.done && progress.done <= progress.total);
        last = progress;
      },
    });
    assert.equal(last.done, last.total);
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(verify(small, source, { signal }), /enough/);
  });
});
