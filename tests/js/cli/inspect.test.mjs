import assert from "node:assert/strict";
import { closeSync, existsSync, openSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { ggufEntry, layoutGGUF, writeGGUF } from "../../internal/formats.mjs";
import { collect, vectorsOf } from "../support/files/formats.mjs";
import {
  makeFolder,
  safetensors,
  smallModel,
  start,
  write,
  writeShards,
  zeropoint,
} from "../support/processes/cli.mjs";
import { readVectors } from "../support/vectors.mjs";

const folder = makeFolder();
const inspect = (...args) => zeropoint(folder, ["inspect", ...args]);

before(async () => {
  write(folder, {
    "model.safetensors": await safetensors(smallModel(), [["format", "pt"]]),
    "broken.safetensors": (await safetensors(smallModel())).subarray(0, 5000),
    "empty.safetensors": "",
    "hostile.safetensors": await safetensors({
      "\u001b]0;x\u0007<b>=1": { shape: [1], values: Float32Array.of(1) },
    }),
  });
  await writeShards(join(folder, "sharded"), 3);
});

describe("zeropoint inspect", () => {
  it("prints format, metadata, dtypes and tensors", () => {
    const { code, stdout, stderr } = inspect("model.safetensors", "--include", "head.*");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(
      stdout,
      `file          model.safetensors
format        safetensors
size          2 of 8 tensors, 2.08 k values, 8.32 kB
dtypes        float32 100.0 %
quantization  none
  format      pt

name         dtype    shape      bytes
head.bias    float32  32         128 B
head.weight  float32  32 × 64  8.19 kB
`,
    );
  });

  it("prints JSON and CSV", () => {
    const { tensors, format } = JSON.parse(inspect("model.safetensors", "--json").stdout);
    assert.equal(format, "safetensors");
    assert.equal(tensors.length, 8);
    assert.deepEqual(tensors[0].shape, [32]);
    const lines = inspect("model.safetensors", "--csv").stdout.split("\r\n");
    assert.equal(lines[0], "name,dtype,shape,bytes");
    assert.equal(lines[1], "head.bias,float32,32,128");
    assert.equal(lines.length, 10);
  });

  it("writes one page of HTML without scripts", () => {
    assert.equal(inspect("hostile.safetensors", "-o", "page.html").code, 0);
    const html = readFileSync(join(folder, "page.html"), "utf8");
    assert.match(html, /^<!doctype html>/);
    for (const text of ["<script", "<b>", "\u001b"]) assert.ok(!html.includes(text));
    assert.match(html, /&lt;b&gt;=1/);
  });

  it("prints no control characters of names", () => {
    const { stdout } = inspect("hostile.safetensors");
    for (const text of ["\u001b", "\u0007"]) assert.ok(!stdout.includes(text));
  });

  it("opens a folder of shards, and standard input", () => {
    assert.match(inspect("sharded").stdout, /^size +11 tensors/m);
    const input = readFileSync(join(folder, "model.safetensors"));
    const { stdout } = zeropoint(folder, ["inspect", "-"], { input });
    assert.match(stdout, /^file +standard input$/m);
  });

  it("says which file of a folder it has opened, and that a shard is one of several", () => {
    const { stdout } = inspect("sharded");
    assert.match(stdout, /^opened +model\.safetensors\.index\.json$/m);
    assert.ok(!/^part /m.test(stdout));
    assert.match(
      inspect("sharded/model-00002-of-00003.safetensors").stdout,
      /^part +file 2 of 3 alone; model\.safetensors\.index\.json opens all$/m,
    );
    assert.ok(!/^(opened|part) /m.test(inspect("model.safetensors").stdout));
  });

  it("describes the quantization of a file", () => {
    writeFileSync(join(folder, "model.gguf"), vectorsOf("gguf").bytes("types.gguf"));
    const { code, stdout } = inspect("model.gguf");
    assert.equal(code, 0);
    assert.match(stdout, /^quantization +.*ggml q4_k/m);
  });

  it("prints lists of metadata, of 64-bit integers too, and no control characters of keys", async () => {
    const layout = layoutGGUF(
      [],
      [
        ["sections", ggufEntry("array", [16, 24, 24, 0], "int32")],
        ["offsets", ggufEntry("array", [1n, 2n ** 60n], "uint64")],
        ["k\u001b[2J", ggufEntry("bool", true)],
      ],
    );
    writeFileSync(join(folder, "lists.gguf"), await collect(writeGGUF(layout)));
    const { code, stdout } = inspect("lists.gguf");
    assert.equal(code, 0);
    assert.match(stdout, /^ {2}sections +\[16,24,24,0\]$/m);
    assert.match(stdout, /^ {2}offsets +\["1","1152921504606846976"\]$/m);
    assert.match(stdout, /^ {2}k\ufffd\[2J +true$/m);
    assert.deepEqual(JSON.parse(inspect("lists.gguf", "--json").stdout).metadata.sections, [
      ...[16, 24, 24, 0],
    ]);
  });

  it("tells for quantized weights in several tensors whether their layout is read", () => {
    const { tensors } = readVectors("formats/layouts").cases.find(({ layout }) => layout === "awq");
    const parts = Object.entries(tensors).map(([name, { dtype, shape, data }]) => ({
      ...{ name: `m.${name}`, dtype, shape, bytes: Buffer.from(data, "base64") },
    }));
    let end = 0;
    const entries = parts.map(({ name, dtype, shape, bytes }) => {
      const begin = end;
      end += bytes.length;
      return [name, { dtype, shape, data_offsets: [begin, end] }];
    });
    const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const file = Buffer.concat([length, header, ...parts.map(({ bytes }) => bytes)]);
    const config = (version) =>
      JSON.stringify({ quantization_config: { quant_method: "awq", bits: 4, version } });
    write(folder, {
      "gemm/model.safetensors": file,
      "gemm/config.json": config("gemm"),
      "gemv/model.safetensors": file,
      "gemv/config.json": config("gemv"),
    });
    assert.match(inspect("gemm").stdout, /^m\.weight +uint4 .*uint4 with scales$/m);
    assert.match(inspect("gemv").stdout, /^m\.qweight +int32 .*unknown quantization$/m);
  });

  it("does not overwrite a file without --force", () => {
    assert.equal(inspect("model.safetensors", "-o", "list.csv").code, 0);
    const { code, stderr } = inspect("model.safetensors", "-o", "list.csv");
    assert.deepEqual(
      [code, stderr],
      [...[4, "zeropoint inspect: list.csv exists already; --force overwrites it\n"]],
    );
    assert.equal(inspect("model.safetensors", "-o", "list.csv", "--force").code, 0);
  });

  for (const [file, line] of [
    ["none.safetensors", "none.safetensors: there is no such file or folder"],
    ["broken.safetensors", /^broken\.safetensors: at byte \d+: expected data_offsets .* found \[/],
    ["empty.safetensors", /^empty\.safetensors: /],
  ]) {
    it(`reports in one line why a file cannot be read: ${file}`, () => {
      const { code, stdout, stderr } = inspect(file);
      assert.deepEqual([code, stdout], [3, ""]);
      const said = /^zeropoint inspect: (.*)\n$/.exec(stderr)?.[1];
      if (typeof line === "string") assert.equal(said, line);
      else assert.match(said, line);
    });
  }

  it("prints no control characters of names that a file gives to others", () => {
    for (const control of ["\u001b", "\u009b"]) {
      const index = JSON.stringify({ weight_map: { a: `x${control}[2J.safetensors` } });
      write(folder, { "control/model.safetensors.index.json": index });
      const { code, stderr } = inspect("control");
      assert.equal(code, 3);
      assert.match(stderr, /^zeropoint inspect: control: at byte 15: expected a relative path/);
      assert.doesNotMatch(stderr.trimEnd(), /\p{Cc}/u);
    }
  });

  it("reports standard output that takes no bytes", {
    skip: !existsSync("/dev/full") && "there is no /dev/full",
  }, async () => {
    const full = openSync("/dev/full", "w");
    const { ended } = start(folder, ["inspect", "model.safetensors"], {
      stdio: ["ignore", full, "pipe"],
    });
    const { code, output } = await ended;
    closeSync(full);
    const line = "zeropoint: standard output: no space left on the device\n";
    assert.deepEqual([code, output], [4, line]);
  });

  it("says which file of a folder cannot be opened", {
    skip: process.platform === "win32" && "links need a permission",
  }, () => {
    write(folder, { "loop/readme.txt": "" });
    symlinkSync("model.safetensors", join(folder, "loop", "model.safetensors"));
    const { code, stderr } = inspect("loop");
    assert.equal(code, 3);
    assert.match(stderr, /: loop.model\.safetensors: it could not be opened$/m);
  });

  it("names the files that it looks for in a folder", () => {
    write(folder, { "other/readme.txt": "" });
    const { code, stderr } = inspect("other");
    assert.equal(code, 3);
    assert.match(
      stderr,
      /: other is a folder without any of model\.safetensors\.index\.json, .*; name the/,
    );
  });
});
