// zeropoint analyze, also in jobs and after an interruption.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { LAYERS, modelOf } from "../support/onnx/layers.mjs";
import { normals } from "../support/onnx/models.mjs";
import {
  leave,
  makeFolder,
  safetensors,
  smallModel,
  start,
  write,
  writeShards,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const analyze = (...args) => zeropoint(folder, ["analyze", ...args]);
const FEW = ["--schemes", "int8-channel,int4-g32"];

before(async () => {
  write(folder, {
    "model.safetensors": await safetensors(smallModel()),
    "model.onnx": await modelOf(LAYERS.MatMul, normals(96 * 20)),
  });
  await writeShards(at("sharded"), 3);
});

describe("zeropoint analyze", () => {
  it("prints tensors and schemes, and the difference between error and accuracy", () => {
    const { code, stdout, stderr } = analyze("model.safetensors", ...FEW);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^tensors {2}5 analyzed, 3 kept$/m);
    assert.match(stdout, /^int8-channel +\S+ kB +26\.5 % +\S+$/m);
    assert.match(stdout, /^tensor +bytes +channel +g32$/m);
    assert.match(stdout, /^layers\.0\.up\.weight +32\.8 kB +\d\d\.\d +\d\d\.\d$/m);
    assert.match(stdout, /not accuracy/);
  });

  it("refuses patterns that leave no tensor", () => {
    const { code, stderr } = analyze("model.safetensors", "--include", "nothing");
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^zeropoint analyze: --include and --exclude leave none of \d+ tensors\n$/,
    );
  });

  it("prints another metric, certificates, and a line of CSV for each row", () => {
    const args = ["model.safetensors", ...FEW, "--include", "head.weight"];
    assert.match(
      analyze(...args, "--metric", "max").stdout,
      /^head\.weight +8\.19 kB +\d\.\d+e-4 +0\.01\d+$/m,
    );
    const certified = analyze(...args, "--certificate").stdout;
    assert.match(certified, /^head\.weight +int4-g32 +\S+ +\S+ +[0-9a-f]{64}$/m);
    const lines = analyze(...args, "--csv")
      .stdout.trimEnd()
      .split("\r\n");
    assert.equal(lines.length, 3);
    assert.match(lines[0], /^name,shape,dtype,parameters,scheme,bytes,/);
    assert.match(lines[2], /^head\.weight,32x64,float32,2048,int4-g32,/);
  });

  it("measures groups as the format of --format has them", () => {
    // Groups run along the inputs in ONNX, and along the last axis, that of the outputs, in safetensors.
    const args = ["analyze", "model.onnx", "--schemes", "int4-g20", "--json"];
    const maxOf = (...more) => {
      const { rows } = JSON.parse(zeropoint(folder, [...args, ...more]).stdout);
      return rows.find(({ scheme }) => scheme === "int4-g20").max;
    };
    const format = ["--format", "safetensors"];
    const job = ["quantize", "model.onnx", "int4-g20", ...format, "-o", "grouped.safetensors"];
    assert.equal(zeropoint(folder, job).code, 0);
    const compared = zeropoint(folder, ["compare", "model.onnx", "grouped.safetensors", "--json"]);
    const { rows } = JSON.parse(compared.stdout);
    assert.equal(maxOf(...format), Math.max(...rows.map(({ max }) => max)));
    assert.notEqual(maxOf(), maxOf(...format));
  });

  it("continues after an interruption with the missing tensors", async () => {
    write(folder, { "large.safetensors": await safetensors(smallModel(6, 256)) });
    const args = ["large.safetensors", "--schemes", "int4-g16-mse,int4-g32-mse", "-o"];
    const { child, ended } = start(folder, ["analyze", ...args, "cut/rows.json"]);
    const partials = () =>
      (existsSync(at("cut")) ? readdirSync(at("cut")) : []).filter((n) => /\.partial$/.test(n));
    while (partials().every((n) => statSync(at("cut", n)).size === 0)) await delay(5);
    child.kill("SIGINT");
    const { code, output } = await ended;
    assert.equal(code, 130);
    assert.match(output, /^zeropoint: interrupted; rows of \d+ tensors are kept, /);
    // A row that no analysis gives, in the journal: the result contains it, so its tensor was not measured again.
    const journal = at(
      "cut",
      partials().find((name) => !name.endsWith(".sum.partial")),
    );
    const lines = readFileSync(journal, "utf8");
    leave(journal, Buffer.from(lines.replace(/"mse":[^,]+/, '"mse":12345')));
    writeFileSync(journal, '[{"na', { flag: "a" });
    assert.equal(analyze(...args, "cut/rows.json").code, 0);
    assert.deepEqual(readdirSync(at("cut")), ["rows.json"]);
    assert.equal(analyze(...args, "whole.json").code, 0);
    const [cut, whole] = ["cut/rows.json", "whole.json"].map((name) =>
      JSON.parse(readFileSync(at(name), "utf8")),
    );
    const changed = cut.rows.findIndex(({ mse }) => mse === 12345);
    assert.notEqual(changed, -1);
    cut.rows[changed].mse = whole.rows[changed].mse;
    assert.deepEqual(cut, whole);
  });

  it("writes rows for each file of a model in shards, each once", () => {
    for (const part of ["1/2", "2/2"]) {
      assert.equal(analyze("sharded", ...FEW, "--shard", part, "-o", "stats").code, 0);
    }
    const names = readdirSync(at("stats"));
    assert.equal(names.length, 3);
    const before = statSync(at("stats", names[0])).mtimeMs;
    assert.match(
      analyze("sharded", ...FEW, "--shard", "1/1", "-o", "stats").stdout,
      /3 done already/,
    );
    assert.equal(statSync(at("stats", names[0])).mtimeMs, before);
    const other = analyze("sharded", "--schemes", "int8-g32", "--shard", "1/1", "-o", "stats");
    assert.equal(other.code, 4);
    assert.match(
      other.stderr,
      /rows\.json is of another analysis, or the model or the file itself has changed; --force overwrites it\n$/,
    );
  });

  for (const [args, line] of [
    [["model.safetensors", "--schemes", "int5"], /^--schemes must say .*, got "int5"$/],
    [
      ["model.safetensors", "--metric", "psnr"],
      '--metric takes sqnr, mse, max, cosine, output, got "psnr"',
    ],
    [["sharded", "--shard", "1/2"], "--shard needs -o, a folder for the rows"],
  ]) {
    it(`reports in one line the mistake in: ${args.join(" ")}`, () => {
      const { code, stdout, stderr } = analyze(...args);
      assert.deepEqual([code, stdout], [2, ""]);
      const said = /^zeropoint analyze: (.*)\n$/.exec(stderr)?.[1];
      if (typeof line === "string") assert.equal(said, line);
      else assert.match(said, line);
    });
  }
});
