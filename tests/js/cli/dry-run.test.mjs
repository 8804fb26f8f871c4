// zeropoint quantize --dry-run, --tensor-type, and --target transformers.js.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { makeLlama } from "../support/files/llama.mjs";
import { LAYERS, modelOf } from "../support/onnx/layers.mjs";
import { normals } from "../support/onnx/models.mjs";
import {
  makeFolder,
  safetensors,
  smallModel,
  write,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const quantize = (...args) => zeropoint(folder, ["quantize", ...args]);
const at = (...names) => join(folder, ...names);

before(async () => {
  const layer = LAYERS["Gemm with transB and a bias"];
  write(folder, {
    "model.safetensors": await safetensors(smallModel()),
    "model.gguf": await makeLlama({ layers: 1, vocabulary: 261 }),
    "hub/config.json": JSON.stringify({ model_type: "bert" }),
    "hub/tokenizer.json": "{}",
    "hub/onnx/model.onnx": await modelOf(layer, normals(20 * 96, 3), {
      irVersion: 10,
      opsets: { "": 21 },
    }),
  });
});

describe("quantize --dry-run", () => {
  it("prints files to the byte, tensors by scheme and notes, and writes nothing", () => {
    const names = readdirSync(folder).sort();
    const { code, stdout, stderr } = quantize("model.safetensors", "int4-g32", "--dry-run");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^would write model\.safetensors: \d+ bytes$/m);
    assert.match(stdout, /^int4-g32: 5 tensors, /m);
    assert.match(stdout, /^keep: 3 tensors, /m);
    assert.deepEqual(readdirSync(folder).sort(), names);
    const [, size] = /: (\d+) bytes$/m.exec(stdout);
    const out = ["-o", "small.safetensors", "-q"];
    assert.equal(quantize("model.safetensors", "int4-g32", ...out, "--dry-run").code, 0);
    assert.ok(!existsSync(at("small.safetensors")));
    assert.equal(quantize("model.safetensors", "int4-g32", ...out).code, 0);
    assert.equal(statSync(at("small.safetensors")).size, Number(size));
  });

  it("prints JSON, and fails as quantizing would", () => {
    const { code, stdout } = quantize("model.safetensors", "float16", "--dry-run", "--json");
    const { files, report } = JSON.parse(stdout);
    assert.deepEqual([code, files.length, files[0].size], [0, 1, report.bytesAfter]);
    assert.equal(quantize("model.safetensors", "int99-g32", "--dry-run").code, 2);
    assert.equal(quantize("none.safetensors", "int4-g32", "--dry-run").code, 3);
  });
});

describe("quantize --tensor-type", () => {
  it("gives weights types by expressions, and refuses what is none", () => {
    const types = ["--tensor-type", "attn_[qk]=Q8_0", "--tensor-type", "ffn_down=f16"];
    const { stdout } = quantize("model.gguf", "Q4_0", "--dry-run", "--json", ...types);
    const rows = new Map(JSON.parse(stdout).report.rows.map((row) => [row.name, row.scheme]));
    const schemes = ["attn_q", "attn_k", "attn_v", "ffn_down"].map((part) =>
      rows.get(`blk.0.${part}.weight`),
    );
    assert.deepEqual(schemes, ["q8_0", "q8_0", "q4_0", "float16"]);
    for (const [type, problem] of [
      ["ffn", /--tensor-type takes PATTERN=TYPE, such as ffn_down=q6_k, got "ffn"/],
      ["(=q4_0", /the names of --tensor-types must be regular expressions, got "\("/],
      ["ffn=q9", /--tensor-types\["ffn"\] must be "q8_0"/],
    ]) {
      const { code, stderr } = quantize("model.gguf", "Q4_0", "--dry-run", "--tensor-type", type);
      assert.equal(code, 2);
      assert.match(stderr, problem);
    }
  });
});

describe("quantize --target transformers.js", () => {
  it("writes the folder that it looks for, with configuration and tokenizer", () => {
    const args = ["q4", "--target", "transformers.js", "-o"];
    const { code, stderr } = quantize("hub", ...args, "out");
    assert.deepEqual([code, stderr], [0, ""]);
    const names = readdirSync(at("out")).filter((name) => !name.startsWith("."));
    assert.deepEqual(names.sort(), ["SHA256SUMS", "config.json", "onnx", "tokenizer.json"]);
    assert.ok(existsSync(at("out", "onnx", "model_q4.onnx")));
    assert.match(readFileSync(at("out", "SHA256SUMS"), "utf8"), / {2}onnx\/model_q4\.onnx\n/);
    // Other dtypes go beside it, also from the path of the file.
    const more = quantize(
      "hub/onnx/model.onnx",
      "q8",
      "--target",
      "transformers.js",
      "-o",
      "out",
      "--verify",
    );
    assert.deepEqual([more.code, more.stderr], [0, ""]);
    assert.deepEqual(
      readdirSync(at("out", "onnx"))
        .filter((name) => !name.startsWith("."))
        .sort(),
      [...["model_q4.onnx", "model_quantized.onnx"]],
    );
    const file = quantize("hub", ...args, "model_q4.onnx");
    assert.equal(file.code, 2);
    assert.match(file.stderr, /-o must name a folder for 1 file \(onnx\/model_q4\.onnx/);
  });
});
