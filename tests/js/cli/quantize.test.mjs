// zeropoint quantize: files and their names, refusal to overwrite.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { makeLlama } from "../support/files/llama.mjs";
import {
  makeFolder,
  safetensors,
  smallModel,
  write,
  zeropoint,
} from "../support/processes/cli.mjs";

await init();

const folder = makeFolder();
const quantize = (...args) => zeropoint(folder, ["quantize", ...args]);
const at = (...names) => join(folder, ...names);

before(async () => {
  write(folder, {
    "model.safetensors": await safetensors(smallModel()),
    "plan.json": JSON.stringify({ version: 1, schemes: { "head.weight": "int4-g32" } }),
    "nothing.json": "{}",
    "broken.json": "{",
  });
});

describe("zeropoint quantize", () => {
  it("writes a file that openModel reads, and reports it", async () => {
    const { code, stdout, stderr } = quantize(
      "model.safetensors",
      "int4-g32",
      "-o",
      "a.safetensors",
    );
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^a\.safetensors: .* kB in .* s, at most .* MB of memory\n/);
    assert.match(stdout, /; 5 of 8 tensors quantized, for zeropoint\nkept 2: /);
    const model = await openModel(at("a.safetensors"));
    assert.equal((await model.readQuantized("head.weight")).dtype, "int4");
    await model.close();
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith(".partial")),
      [],
    );
  });

  it("ends at once when the same job is done, and refuses another one", () => {
    const before = statSync(at("a.safetensors"));
    const again = quantize("model.safetensors", "INT4-g32", "-o", "a.safetensors");
    assert.equal(again.code, 0);
    assert.match(again.stdout, /^a\.safetensors: done already, nothing was written again$/m);
    assert.equal(statSync(at("a.safetensors")).mtimeMs, before.mtimeMs);
    const other = quantize("model.safetensors", "int8-channel", "-o", "a.safetensors");
    assert.deepEqual(
      [other.code, other.stdout, other.stderr],
      [...[4, "", "zeropoint quantize: a.safetensors exists already; --force overwrites it\n"]],
    );
    const forced = quantize(
      "model.safetensors",
      "int8-channel",
      "-o",
      "a.safetensors",
      "--force",
      "-q",
    );
    assert.deepEqual([forced.code, forced.stdout, forced.stderr], [0, "", ""]);
    assert.notEqual(statSync(at("a.safetensors")).size, before.size);
  });

  it("writes by a plan, to standard output as to a file", () => {
    const args = ["model.safetensors", "--plan", "plan.json", "-o"];
    assert.equal(quantize(...args, "planned.safetensors").code, 0);
    const { code, stdout } = zeropoint(folder, ["quantize", ...args, "-", "-q"], {
      encoding: null,
    });
    assert.equal(code, 0);
    assert.deepEqual(stdout, readFileSync(at("planned.safetensors")));
  });

  it("reads a plan from standard input", () => {
    const input = readFileSync(at("plan.json"));
    const args = ["quantize", "model.safetensors", "--plan", "-", "-o", "piped.safetensors", "-q"];
    assert.equal(zeropoint(folder, args, { input }).code, 0);
    assert.deepEqual(
      readFileSync(at("piped.safetensors")),
      readFileSync(at("planned.safetensors")),
    );
  });

  it("takes the types of embeddings and output for GGUF", async () => {
    write(folder, { "llama.gguf": await makeLlama({}) });
    const types = ["--token-embedding-type", "q8_0", "--output-tensor-type", "F16"];
    const { code, stderr } = quantize("llama.gguf", "Q4_K_M", ...types, "-o", "types.gguf");
    assert.deepEqual([code, stderr], [0, ""]);
    const model = await openModel(at("types.gguf"));
    const names = ["token_embd.weight", "output.weight"];
    const dtypes = names.map((name) => model.tensors.get(name).dtype);
    assert.deepEqual(dtypes, ["q8_0", "float16"]);
    await model.close();
  });

  const endings = [
    ["other.onnx", "int4-g32", "int4-g32 --format safetensors -o other.safetensors"],
    ["other.GGUF", "int8-channel", "q8_0 --format gguf -o other.GGUF"],
    ["two words.gguf", "Q4_0", "Q4_0 --format gguf -o 'two words.gguf'"],
    ["other.npz", "int8-channel", "float16 --format npz -o other.npz"],
  ];
  for (const [output, scheme, words] of endings) {
    it(`refuses the name ${output} for a safetensors file, with a command that works`, () => {
      const { code, stderr } = quantize("model.safetensors", scheme, "-o", output);
      const ending = output.split(".")[1].toLowerCase();
      const command = `quantize model.safetensors ${words}`;
      const line =
        `zeropoint quantize: -o ${output} has the ending of ${ending}, but the result is safetensors. ` +
        `This safetensors model can be written as safetensors, gguf, npz: zeropoint ${command}\n`;
      assert.deepEqual([code, stderr, existsSync(at(output))], [2, line, false]);
      const args = command.match(/'[^']*'|\S+/g).map((word) => word.replaceAll("'", ""));
      assert.equal(zeropoint(folder, args).code, 0);
    });
  }

  for (const output of ["report.json", "report.CSV", "report.html"]) {
    it(`refuses the name ${output} for a model, and names the option of the report`, () => {
      const { code, stderr } = quantize("model.safetensors", "int8-channel", "-o", output);
      const line = `zeropoint quantize: -o ${output} must name the model file to write; --json prints the report as JSON\n`;
      assert.deepEqual([code, stderr, existsSync(at(output))], [2, line, false]);
    });
  }

  it("says what a model without a graph can be written as instead of ONNX", () => {
    const args = ["model.safetensors", "int8-channel", "--format", "onnx", "-o", "other.onnx"];
    const { code, stderr } = quantize(...args);
    assert.equal(code, 3);
    assert.match(stderr, /which has no graph; --format can be safetensors, gguf, npz\n$/);
  });

  it("prints its report as JSON", () => {
    const args = ["model.safetensors", "int8-channel", "-o", "j.safetensors", "--json"];
    const { report, files } = JSON.parse(quantize(...args).stdout);
    assert.equal(report.rows.length, 8);
    assert.equal(files[0].size, statSync(at("j.safetensors")).size);
    assert.match(files[0].sha256, /^[0-9a-f]{64}$/);
  });

  it("writes into a folder, under the file's name there", () => {
    mkdirSync(at("results"));
    assert.equal(quantize("model.safetensors", "int8-channel", "-o", "results").code, 0);
    assert.ok(existsSync(at("results", "model.safetensors")));
    assert.ok(existsSync(at("results", "SHA256SUMS")));
  });

  for (const [args, code, line] of [
    [["model.safetensors", "int4-g32"], 2, "-o is missing: the file or folder to write"],
    [
      ["model.safetensors", "-o", "x"],
      2,
      "SCHEME and --plan say how to quantize: one of them is needed",
    ],
    [
      ["model.safetensors", "int4-g32", "--plan", "plan.json", "-o", "x"],
      2,
      "SCHEME and --plan say how to quantize: both are given",
    ],
    [
      ["model.safetensors", "--plan", "none.json", "-o", "x"],
      3,
      "--plan none.json: there is no such file or folder",
    ],
    [
      ["model.safetensors", "--plan", "nothing.json", "-o", "x"],
      3,
      "--plan nothing.json: it has no schemes; zeropoint plan -o writes plans",
    ],
    [
      ["model.safetensors", "--plan", "broken.json", "-o", "x"],
      3,
      /--plan broken\.json: it is not JSON/,
    ],
    [["model.safetensors", "int5-x", "-o", "x"], 2, /^scheme must be .*, got "int5-x"$/],
    [
      ["model.safetensors", "int4-g32", "-o", "x", "--target", "moon"],
      2,
      /^--target must be .*, got "moon"$/,
    ],
    [
      ["model.safetensors", "int4-g32", "-o", "x", "--threads", "0"],
      2,
      /^--threads takes a number/,
    ],
    [
      ["model.safetensors", "int4-g32", "-o", "x", "--shard", "0/2"],
      2,
      '--shard takes I/N with I from 1 to N, got "0/2"; where numbers begin with 0, add 1',
    ],
  ]) {
    it(`reports in one line the mistake in: ${args.join(" ")}`, () => {
      const result = quantize(...args);
      assert.deepEqual([result.code, result.stdout], [code, ""]);
      const said = /^zeropoint quantize: (.*)\n$/.exec(result.stderr)?.[1];
      if (typeof line === "string") assert.equal(said, line);
      else assert.match(said, line);
      assert.equal(existsSync(at("x")), false);
    });
  }
});
