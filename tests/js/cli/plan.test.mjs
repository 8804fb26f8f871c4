// zeropoint plan: from a model or the rows of analyses to a plan.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { makeFolder, writeShards, zeropoint } from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const analyze = (...args) => zeropoint(folder, ["analyze", ...args]);
const plan = (...args) => zeropoint(folder, ["plan", ...args]);
const FEW = ["--schemes", "int8-channel,int4-g32"];

before(async () => {
  await writeShards(at("sharded"), 3);
  for (const part of ["1/2", "2/2"]) {
    assert.equal(analyze("sharded", ...FEW, "--shard", part, "-o", "stats").code, 0);
  }
});

describe("zeropoint plan", () => {
  it("gives one plan from a model, from its rows, and from the rows of jobs", () => {
    const size = ["--size", "21%", "-o"];
    assert.equal(analyze("sharded", ...FEW, "-o", "rows.json").code, 0);
    const said = plan("sharded", ...FEW, ...size, "a.json");
    assert.deepEqual([said.code, said.stderr], [0, ""]);
    assert.match(said.stdout, /^a\.json: 11 tensors, .* bits per weight; a file of 4\d\.\d kB$/m);
    assert.match(said.stdout, /of the least possible|the least possible/);
    assert.equal(plan("rows.json", ...size, "b.json").code, 0);
    assert.equal(plan("stats", ...size, "c.json").code, 0);
    const input = readFileSync(at("rows.json"));
    assert.equal(zeropoint(folder, ["plan", "-", ...size, "d.json"], { input }).code, 0);
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => {
      const { fileBytes, isFileExact, ...own } = JSON.parse(readFileSync(at(`${name}.json`)));
      return { file: { fileBytes, isFileExact }, text: JSON.stringify(own), ...own };
    });
    for (const { text } of [b, c, d]) assert.equal(text, a.text);
    // Rows alone say about how large the file becomes; with the model at hand, its writer says it to the byte.
    assert.equal(a.file.isFileExact, true);
    assert.deepEqual(d.file, b.file);
    assert.ok(b.file.isFileExact === undefined && b.file.fileBytes >= a.file.fileBytes);
    // Jobs see a file each, and not the index of all.
    assert.ok(Math.abs(c.file.fileBytes - a.file.fileBytes) < 2048, JSON.stringify(c.file));
    const { schemes, bytes, bytesBefore } = a;
    assert.equal(Object.keys(schemes).length, 11);
    assert.ok(bytes <= a.file.fileBytes && a.file.fileBytes <= 0.21 * bytesBefore);
  });

  it("prints a table, with pins and tensors that agree", () => {
    const args = [
      "rows.json",
      "--size",
      "20%",
      "--pin",
      "head.w*=int8-channel",
      "--same",
      "layers.*",
    ];
    const { code, stdout } = plan(...args);
    assert.equal(code, 0);
    assert.match(stdout, /^head\.weight +int8-channel +\S+ kB +pinned/m);
    const chosen = [...stdout.matchAll(/^layers\.\d\.up\.weight +(\S+)/gm)].map(([, s]) => s);
    assert.equal(chosen.length, 3);
    assert.equal(new Set(chosen).size, 1);
  });

  it("lists the tensors that have a choice, and in CSV all", () => {
    const { schemes } = JSON.parse(plan("rows.json", "--size", "20%", "--json").stdout);
    const norm = Object.keys(schemes).find((name) => name.endsWith("norm.weight"));
    assert.equal(schemes[norm], "keep");
    const listed = (...args) => plan("rows.json", "--size", "20%", ...args).stdout.includes(norm);
    assert.equal(listed(), false);
    assert.equal(listed("--csv"), true);
  });

  it("takes a TensorFlow.js model of any name for a model", () => {
    const weights = [{ name: "w", shape: [32, 32], dtype: "float32" }];
    const manifest = [{ paths: ["w.bin"], weights }];
    const model = { format: "graph-model", weightsManifest: manifest };
    const values = Float32Array.from({ length: 1024 }, (_, i) => Math.sin(i));
    writeFileSync(at("w.bin"), new Uint8Array(values.buffer));
    for (const [name, json] of [
      ["face.json", model],
      ["face-weights_manifest.json", manifest],
    ]) {
      writeFileSync(at(name), JSON.stringify(json));
      const result = plan(name, "--size", "50%", "--schemes", "int8-channel", "--json", "-q");
      assert.equal(result.code, 0, result.stderr);
      assert.deepEqual(JSON.parse(result.stdout).schemes, { w: "int8-channel" });
    }
  });

  it("says of a model without weights to quantize why its tensors are kept", () => {
    const weights = [{ name: "b", shape: [64], dtype: "float32" }];
    writeFileSync(at("b.bin"), new Uint8Array(256));
    writeFileSync(at("biases.json"), JSON.stringify([{ paths: ["b.bin"], weights }]));
    const { code, stderr } = plan("biases.json", "--size", "50%", "-q");
    const problem = "it has no tensor to choose a scheme for; all are kept";
    assert.equal(code, 3);
    assert.equal(
      stderr,
      `zeropoint plan: biases.json: ${problem}: one axis: a bias or a norm (256 B)\n`,
    );
  });

  it("takes bits per weight, bytes and decibels", () => {
    const json = (...args) => JSON.parse(plan("rows.json", ...args, "--json").stdout);
    assert.ok(json("--size", "6bpw").bitsPerWeight <= 6);
    assert.ok(json("--size", "50kB").bytes <= 50_000);
    const { schemes } = json("--min-sqnr", "30dB");
    assert.equal(schemes["head.weight"], "int8-channel");
  });

  it("prints the frontier of error against bytes", () => {
    const points = JSON.parse(plan("rows.json", "--frontier", "--json").stdout);
    assert.ok(points.length > 3);
    for (let i = 1; i < points.length; i++) {
      assert.ok(points[i].bytes > points[i - 1].bytes && points[i].error < points[i - 1].error);
    }
    assert.match(
      plan("rows.json", "--frontier").stdout,
      /^ *bytes +bits\/weight +of before +error$/m,
    );
  });

  it("refuses jobs' rows that are incomplete or of different analyses", () => {
    const [first] = readdirSync(at("stats")).sort();
    const text = readFileSync(at("stats", first), "utf8");
    rmSync(at("stats", first));
    const missing = plan("stats", "--size", "20%");
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      /^zeropoint plan: stats: 1 of 3 files are missing: model-00001-of-00003/,
    );
    writeFileSync(at("stats", first), text.replace(/"job":"./, '"job":"z'));
    const mixed = plan("stats", "--size", "20%");
    assert.equal(mixed.code, 1);
    assert.match(mixed.stderr, /is of another analysis \(schemes, or version\) than /);
    writeFileSync(at("stats", first), text);
  });

  for (const [args, code, line] of [
    [["rows.json"], 2, /^--size is missing: 1\.5GB, 40MiB, 4\.5bpw or 25%; or --min-sqnr/],
    [["rows.json", "--size", "big"], 2, '--size takes 1.5GB, 40MiB, 4.5bpw or 25%, got "big"'],
    [
      ["rows.json", "--size", "1kB"],
      2,
      /^--size must be at least \d+ bytes \(\S+ kB, headers included\) with these schemes, got 1kB$/,
    ],
    [["rows.json", "--size", "1MB", "--pin", "x"], 2, '--pin takes GLOB=SCHEME, got "x"'],
    [["rows.json", "--size", "1MB", "--frontier"], 2, "--frontier and --size exclude each other"],
    [
      ["rows.json", "--size", "1MB", "--schemes", "q4_k"],
      2,
      "--schemes: rows.json has no rows of q4_k",
    ],
    [["none.json", "--size", "1MB"], 3, "none.json: there is no such file or folder"],
    [["a.json", "--size", "1MB"], 3, "a.json: it has no rows of zeropoint analyze --json"],
  ]) {
    it(`reports in one line the mistake in: ${args.join(" ")}`, () => {
      const result = plan(...args);
      assert.deepEqual([result.code, result.stdout], [code, ""]);
      const said = /^zeropoint plan: (.*)\n$/.exec(result.stderr)?.[1];
      if (typeof line === "string") assert.equal(said, line);
      else assert.match(said, line);
    });
  }
});
