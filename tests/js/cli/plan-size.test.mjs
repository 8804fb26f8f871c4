// A plan of zeropoint plan, and the file that zeropoint quantize writes by it within the plan's size.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
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
const at = (...names) => join(folder, ...names);
const analyze = (...args) => zeropoint(folder, ["analyze", ...args]);
const plan = (...args) => zeropoint(folder, ["plan", ...args]);

before(async () => {
  write(folder, {
    "model.safetensors": await safetensors(smallModel()),
    "model.onnx": await modelOf(LAYERS.MatMul, normals(96 * 20)),
  });
});

describe("a plan within a size", () => {
  it("says for each tensor once that the target stores it by no scheme", () => {
    const args = ["--format", "safetensors", "--target", "compressed-tensors", "--size", "50%"];
    const { code, stderr } = plan("model.onnx", ...args, "-q");
    const reason = "no scheme that the target stores (7.68 kB)";
    const problem = `it has no tensor to choose a scheme for; all are kept: ${reason}`;
    assert.deepEqual([code, stderr], [3, `zeropoint plan: model.onnx: ${problem}\n`]);
  });

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
