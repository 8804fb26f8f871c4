// What quantizeModel carries over from a checkpoint, and what it says of what it did not do.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { rejects } from "../../support/asserts.mjs";
import {
  openOutput,
  outputBytes,
  safetensorsOf,
  someValues,
} from "../../support/files/checkpoints.mjs";
import { makeLlama } from "../../support/files/llama.mjs";
import { openBytes } from "../../support/files/saved.mjs";

await init();

const json = (value) => new TextEncoder().encode(JSON.stringify(value));
const matrix = (seed, shape = [64, 128]) => [
  "float32",
  shape,
  someValues(
    shape.reduce((size, length) => size * length, 1),
    seed,
  ),
];

/** Opens files by name, as those of a folder. */
const openFiles = (files, main) =>
  openModel(files[main], {
    externalData: (path) => files[path] ?? new Uint8Array(0),
    format: "safetensors",
  });

const TARGETS = [
  ["int8-channel", undefined],
  ["W8A16", "compressed-tensors"],
  ["int4-g64", "mlx"],
];

describe("an index of shards", () => {
  for (const [scheme, target] of TARGETS) {
    it(`decides which tensors are written: ${target ?? "zeropoint"}`, async () => {
      const overlay = matrix(1);
      const files = {
        "a.safetensors": await safetensorsOf({
          "x.weight": matrix(2),
          "norm.weight": ["float32", [128], someValues(128)],
        }),
        "b.safetensors": await safetensorsOf({ "y.weight": matrix(3), "old.weight": matrix(4) }),
        "overlay.safetensors": await safetensorsOf({ "x.weight": overlay }),
        index: json({
          metadata: { total_size: 1, license: "mit", tied: true, revision: 7, others: { a: 1 } },
          weight_map: {
            "norm.weight": "a.safetensors",
            "x.weight": "overlay.safetensors",
            "y.weight": "b.safetensors",
          },
        }),
      };
      const model = await openFiles(files, "index");
      const { files: written } = await quantizeModel(model, scheme, target ? { target } : {});
      const names = [];
      for (const file of written.filter(({ name }) => name.endsWith(".safetensors"))) {
        names.push(...Object.keys(openBytes(await outputBytes(file)).tensors));
      }
      const index = written.find(({ name }) => name.includes("index"));
      const { metadata } = JSON.parse(new TextDecoder().decode(await outputBytes(index)));
      const { total_size: total, license, tied, revision, others } = metadata;
      assert.deepEqual([license, tied, revision, others], ["mit", true, 7, { a: 1 }]);
      assert.ok(total > 8192, String(total));
      assert.ok(!names.some((name) => name.startsWith("old")), names.join());
      assert.equal(new Set(names).size, names.length);
      const small = await openOutput(openModel, written);
      assert.deepEqual([...small.tensors.keys()].sort(), ["norm.weight", "x.weight", "y.weight"]);
      const { data } = await small.read("x.weight");
      const right = overlay[2];
      const off = data.reduce((sum, value, i) => sum + (value - right[i]) ** 2, 0);
      const size = right.reduce((sum, value) => sum + value ** 2, 0);
      assert.ok(off < size / 20, `${off} of ${size}`);
    });
  }
});

describe("the metadata of a safetensors file", () => {
  const given = [
    ["format", "pt"],
    ["license", "apache-2.0"],
  ];
  for (const [scheme, target] of TARGETS) {
    it(`stay, with the format that readers ask for: ${target ?? "zeropoint"}`, async () => {
      for (const metadata of [given, []]) {
        const bytes = await safetensorsOf({ "x.weight": matrix(1) }, metadata);
        const { files } = await quantizeModel(
          await openModel(bytes),
          scheme,
          target ? { target } : {},
        );
        const main = files.find(({ name }) => name.endsWith(".safetensors"));
        const { metadata: written } = openBytes(await outputBytes(main));
        const format = { "compressed-tensors": "pt", mlx: "mlx" }[target] ?? metadata[0]?.[1];
        assert.equal(written.format, format);
        assert.equal(written.license, metadata[1]?.[1]);
      }
    });
  }
});

describe("metadata for which a format has no place", () => {
  it("are named in a note", async () => {
    const tensors = { "x.weight": matrix(1) };
    const given = ["format", "author", "license", "x"].map((key) => [key, key]);
    const model = await openModel(await safetensorsOf(tensors, given));
    const notesOf = async (from, scheme, format) => {
      const { files, report } = await quantizeModel(from, scheme, { format });
      return [report.notes.join("\n"), await openModel(await outputBytes(files[0]))];
    };
    const [npz] = await notesOf(model, "float16", "npz");
    assert.match(npz, /^4 entries of .* left out: "format", "author", "license" …$/);
    const [kept, gguf] = await notesOf(model, "q8_0", "gguf");
    assert.doesNotMatch(kept, /left out/);
    assert.equal(gguf.metadata.get("safetensors.author"), "author");
    const [none] = await notesOf(await openModel(await safetensorsOf(tensors)), "float16", "npz");
    assert.equal(none, "");
  });

  it("are lists of a GGUF file in safetensors", async () => {
    const model = await openModel(await makeLlama({ layers: 1 }));
    const { report } = await quantizeModel(model, "int8-channel", { format: "safetensors" });
    const [note] = report.notes.filter((each) => each.includes("left out"));
    assert.match(note, /^3 entries of .* left out: "tokenizer\.ggml\.tokens", /);
  });
});

describe("a model of which nothing is quantized", () => {
  for (const [scheme, target] of TARGETS.slice(1)) {
    it(`claims no quantization in config.json: ${target}`, async () => {
      const bytes = await safetensorsOf({ "norm.weight": ["float32", [128], someValues(128)] });
      const files = { main: bytes, "config.json": json({ model_type: "x" }) };
      const { files: written, report } = await quantizeModel(
        await openFiles(files, "main"),
        scheme,
        { target },
      );
      assert.ok(!written.some(({ name }) => name === "config.json"));
      assert.match(report.notes.join("\n"), /no weight was quantized/);
    });
  }
});

describe("weights that a layout does not take", () => {
  const experts = { "m.experts.gate_up_proj": matrix(1, [4, 128, 128]) };
  const rest = { "m.q_proj.weight": matrix(2, [64, 128]) };

  for (const [scheme, target] of TARGETS.slice(1)) {
    it(`are named in a note with their share of the model: ${target}`, async () => {
      const model = await openModel(await safetensorsOf({ ...rest, ...experts }));
      const { report } = await quantizeModel(model, scheme, { target });
      const note = report.notes.find((each) => each.includes("stay as they were"));
      assert.match(note, /^1 of 2 weights, 8[89] % of the model's bytes, stay as they were: /);
      const isMlx = target === "mlx";
      assert.match(note, isMlx ? /docs\/formats\.md lists \(1\)$/ : /a matrix for each expert/);
    });
  }

  it("are not named where all are quantized", async () => {
    const model = await openModel(await safetensorsOf(rest));
    const { report } = await quantizeModel(model, "int8-channel");
    assert.deepEqual(
      report.notes.filter((note) => !/read twice/.test(note)),
      [],
    );
  });
});

describe("stacks of experts", () => {
  it("are quantized for MLX as the matrices that they are made of", async () => {
    const [, shape, data] = matrix(5, [3, 32, 128]);
    const stack = "l.mlp.switch_mlp.up_proj.weight";
    const single = Object.fromEntries(
      [0, 1, 2].map((i) => [
        `e${i}.weight`,
        ["float32", [32, 128], data.slice(i * 4096, (i + 1) * 4096)],
      ]),
    );
    const bytes = await safetensorsOf({ [stack]: ["float32", shape, data], ...single });
    const { files } = await quantizeModel(await openModel(bytes), "int4-g64", { target: "mlx" });
    const named = Object.fromEntries(files.map((file) => [file.name, file]));
    const { tensors } = openBytes(await outputBytes(named["model.safetensors"]));
    assert.deepEqual(tensors[stack].shape, [3, 32, 16]);
    assert.deepEqual(tensors[stack.replace("weight", "scales")].shape, [3, 32, 2]);
    const small = await openOutput(openModel, files);
    const all = await small.read(stack);
    assert.deepEqual([...all.shape], shape);
    for (const i of [0, 1, 2]) {
      const { data: one } = await small.read(`e${i}.weight`);
      assert.deepEqual(all.data.subarray(i * 4096, (i + 1) * 4096), one);
    }
  });
});

describe("GPT-2's layers, whose weights are [inputs, outputs]", () => {
  const tensors = { "h.0.attn.c_attn.weight": matrix(6, [32, 128]) };
  const open = async (config) =>
    openFiles({ main: await safetensorsOf(tensors), ...config }, "main");

  it("have a scale for each output, by their configuration", async () => {
    for (const [type, shape] of [
      ["gpt2", [1, 128]],
      ["qwen", [32, 1]],
    ]) {
      const model = await open({ "config.json": json({ model_type: type }) });
      const { files } = await quantizeModel(model, "int8-channel");
      const { tensors: written } = openBytes(await outputBytes(files[0]));
      assert.deepEqual(written["h.0.attn.c_attn.weight_scale"].shape, shape, type);
    }
  });

  it("are kept for layouts that take rows, and an unreadable configuration is an error", async () => {
    const model = await open({ "config.json": json({ model_type: "gpt2" }) });
    const { report } = await quantizeModel(model, "W8A16", { target: "compressed-tensors" });
    assert.match(report.notes.join("\n"), /its outputs are columns/);
    const broken = await open({ "config.json": new TextEncoder().encode('{"model_type": ') });
    const quantizing = quantizeModel(broken, "int8-channel");
    await rejects(quantizing, RangeError, "ZP_INVALID_FILE", /^config\.json: /);
  });
});
