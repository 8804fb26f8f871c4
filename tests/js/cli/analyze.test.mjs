// zeropoint analyze and zeropoint plan, from a model to a plan, also in jobs.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
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
const plan = (...args) => zeropoint(folder, ["plan", ...args]);
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
      /rows\.json is of another analysis, or the model has changed; --force overwrites it\n$/,
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

describe("zeropoint plan", () => {
  it("gives one plan from a model, from its rows, and from the rows of jobs", () => {
    const size = ["--size", "20%", "-o"];
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
    assert.ok(bytes <= 0.2 * bytesBefore);
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

describe("a plan within a size", () => {
  for (const target of ["zeropoint", "compressed-tensors"]) {
    it(`is a file within that size, in the layout of ${target}`, () => {
      const name = `budget-${target}`;
      const made = plan(
        "model.safetensors",
        "--target",
        target,
        "--size",
        "40kB",
        "-o",
        `${name}.json`,
      );
      assert.deepEqual([made.code, made.stderr], [0, ""]);
      const args = ["quantize", "model.safetensors", "--plan", `${name}.json`, "-o", `${name}/`];
      const { code, stdout, stderr } = zeropoint(folder, args);
      assert.deepEqual([code, stderr], [0, ""]);
      // The plan remembers its target.
      assert.match(stdout, new RegExp(`for ${target}$`, "m"));
      const bytes = readdirSync(at(name), { withFileTypes: true })
        .filter((entry) => entry.isFile() && !/SUMS/.test(entry.name))
        .reduce((sum, entry) => sum + statSync(at(name, entry.name)).size, 0);
      assert.ok(bytes <= 40_000 && bytes > 30_000, `${bytes}`);
      const planned = JSON.parse(readFileSync(at(`${name}.json`)));
      assert.deepEqual([planned.fileBytes, planned.isFileExact], [bytes, true]);
      assert.match(made.stdout, /; a file of \d\d\.\d kB$/m);
    });
  }

  it("has no more error than one scheme for all weights in an ONNX file of that size", () => {
    const few = ["--schemes", "int8-channel,int4-g32,int4-g32-affine,float16"];
    assert.equal(analyze("model.onnx", ...few, "--json", "-o", "onnx.json").code, 0);
    const planned = (...args) => JSON.parse(plan("onnx.json", ...args, "--json").stdout);
    for (const scheme of ["int8-channel", "int4-g32", "int4-g32-affine"]) {
      const args = ["quantize", "model.onnx", scheme, "-o", `${scheme}.onnx`];
      assert.equal(zeropoint(folder, args).code, 0);
      const own = planned("--size", "100%", "--schemes", scheme);
      const best = planned("--size", `${statSync(at(`${scheme}.onnx`)).size}B`);
      assert.ok(best.error <= own.error, `${scheme}: ${best.error} instead of ${own.error}`);
    }
  });

  it("may be nominal: of packed codes and scales alone", () => {
    const args = ["model.safetensors", "--schemes", "int4-g32", "--size", "10MB", "--json"];
    const sizes = [[], ["--nominal"]].map(
      (more) => JSON.parse(plan(...args, ...more).stdout).bytes,
    );
    // Four bits a value and a float32 scale for 32 of them, beside a bias and two norms.
    assert.equal(sizes[1], (34_816 * 4) / 8 + (34_816 / 32) * 4 + 128 + 2 * 256);
    assert.ok(sizes[0] >= sizes[1]);
  });

  it("may be one of another format", () => {
    const args = [
      "model.safetensors",
      "--format",
      "gguf",
      "--schemes",
      "q8_0,q4_0",
      "--size",
      "45kB",
    ];
    assert.equal(plan(...args, "-o", "gguf.json").code, 0);
    const made = zeropoint(folder, [
      "quantize",
      "model.safetensors",
      "--plan",
      "gguf.json",
      "-o",
      "m.gguf",
    ]);
    assert.deepEqual([made.code, made.stderr], [0, ""]);
    assert.ok(statSync(at("m.gguf")).size <= 45_000);
  });
});
