// --activations of zeropoint analyze and plan: inputs of weights from .npz and .npy files.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { init } from "zeropoint";
import { analyze, openModel } from "zeropoint/models";
import { Random } from "../support/asserts.mjs";
import {
  makeFolder,
  safetensors,
  smallModel,
  weights,
  write,
  zeropoint,
} from "../support/processes/cli.mjs";

const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const run = (...args) => zeropoint(folder, args);
const FEW = ["--schemes", "int8-channel,int4-g32"];
const inputs = {
  "layers.0.up": weights(new Random(1), [20, 64]),
  "head.weight": weights(new Random(2), [2, 5, 64]),
};

before(async () => {
  await init();
  write(folder, {
    "model.safetensors": await safetensors(smallModel()),
    "inputs.safetensors": await safetensors(inputs),
    "head.safetensors": await safetensors({ "head.weight": inputs["head.weight"] }),
    "other.safetensors": await safetensors({ other: inputs["head.weight"] }),
  });
  for (const name of ["inputs", "other"]) {
    assert.equal(
      run("quantize", `${name}.safetensors`, "keep", "-o", `${name}.npz`, "--format", "npz").code,
      0,
    );
  }
  const args = ["quantize", "head.safetensors", "keep", "--format", "npy", "-o", "head.weight.npy"];
  assert.equal(run(...args).code, 0);
});

const tensorOf = ({ shape, values }) => ({ shape, data: values });

/** Rows of the command, and of the library. */
async function rowsOfBoth(file, activations) {
  const args = ["analyze", "model.safetensors", ...FEW, "--activations", file, "--json"];
  const { code, stdout, stderr } = run(...args);
  assert.deepEqual([code, stderr], [0, ""]);
  const model = await openModel(at("model.safetensors"));
  const own = [];
  const options = { schemes: ["int8-channel", "int4-g32"], activations };
  for await (const row of analyze(model, options)) own.push(row);
  await model.close();
  const errors = ({ name, scheme, outputMse, outputSqnr, shows }) =>
    JSON.parse(JSON.stringify({ name, scheme, outputMse, outputSqnr, shows }));
  return [JSON.parse(stdout).rows, own].map((rows) => rows.map(errors));
}

describe("--activations of zeropoint analyze", () => {
  it("gives the library's errors of outputs for the arrays of a .npz file", async () => {
    const { "layers.0.up": up, "head.weight": head } = inputs;
    const activations = { "layers.0.up.weight": tensorOf(up), "head.weight": tensorOf(head) };
    const [rows, own] = await rowsOfBoth("inputs.npz", activations);
    assert.deepEqual(rows, own);
    assert.equal(rows.filter(({ shows }) => shows === "outputs").length, 4);
  });

  it("takes the name of a .npy file as that of the weight", async () => {
    const [rows, own] = await rowsOfBoth("head.weight.npy", {
      "head.weight": tensorOf(inputs["head.weight"]),
    });
    assert.deepEqual(rows, own);
  });

  it("shows the errors of outputs with --metric output", () => {
    const args = ["analyze", "model.safetensors", ...FEW, "--metric", "output"];
    const { stdout } = run(...args, "--activations", "inputs.npz");
    assert.match(stdout, /^errors +SQNR of outputs in dB, of weights whose inputs are given$/m);
    assert.match(stdout, /^head\.weight +8\.19 kB +\d\d\.\d +\d\d\.\d$/m);
    assert.match(stdout, /^layers\.1\.up\.weight +32\.8 kB +– +–$/m);
    const { code, stderr } = run(...args);
    assert.equal(code, 2);
    assert.match(stderr, /: --metric output needs --activations, the inputs of weights\n$/);
  });

  it("marks errors of outputs that are estimated, because a weight has more than 512 inputs", async () => {
    const wide = { "wide.weight": weights(new Random(3), [32, 640]) };
    const given = { "wide.weight": weights(new Random(4), [8, 640]) };
    write(folder, {
      "wide.safetensors": await safetensors(wide),
      "given.safetensors": await safetensors(given),
    });
    const npz = ["quantize", "given.safetensors", "keep", "-o", "given.npz", "--format", "npz"];
    assert.equal(run(...npz).code, 0);
    const args = ["analyze", "wide.safetensors", ...FEW, "--activations", "given.npz"];
    const { stdout } = run(...args, "--metric", "output");
    assert.match(
      stdout,
      /^outputs +≈ estimated as if the inputs were uncorrelated: of 1 weight with more than 512/m,
    );
    assert.match(stdout, /^wide\.weight +81\.9 kB +≈ \d\d\.\d +≈ \d\d\.\d$/m);
    assert.doesNotMatch(run(...args).stdout, /≈/);
    assert.match(run(...args, "--csv").stdout, /,moments,[\s\S]*,diagonal,/);
  });

  it("measures again after the file of inputs has changed", () => {
    const args = ["analyze", "model.safetensors", ...FEW, "-o", "rows.json", "--force"];
    const job = (...more) => {
      assert.equal(run(...args, ...more).code, 0);
      return JSON.parse(readFileSync(at("rows.json"), "utf8")).job;
    };
    const jobs = [[], ["inputs.npz"], ["head.weight.npy"]].map((files) =>
      job(...files.flatMap((file) => ["--activations", file])),
    );
    assert.equal(new Set(jobs).size, 3);
  });

  for (const [file, line] of [
    ["other.npz", '--activations other.npz: the model has no weight "other"'],
    [
      "model.safetensors",
      "--activations model.safetensors: inputs are .npy or .npz files, not safetensors",
    ],
    ["none.npz", "none.npz: there is no such file or folder"],
  ]) {
    it(`says why ${file} gives no inputs`, () => {
      const { code, stderr } = run("analyze", "model.safetensors", "--activations", file);
      assert.deepEqual([code, stderr], [3, `zeropoint analyze: ${line}\n`]);
    });
  }
});

describe("--activations of zeropoint plan", () => {
  it("is needed for the metric output, before the model is read", () => {
    const { code, stderr } = run(
      "plan",
      "none.safetensors",
      "--size",
      "8bpw",
      "--metric",
      "output",
    );
    const line = "zeropoint plan: --metric output needs --activations, the inputs of weights\n";
    assert.deepEqual([code, stderr], [2, line]);
  });

  it("plans by the error of outputs", () => {
    const only = ["--activations", "head.weight.npy", "--metric", "output"];
    const rows = ["analyze", "model.safetensors", ...FEW, "--include", "head.*", "-o", "head.json"];
    assert.equal(run(...rows, "--activations", "head.weight.npy").code, 0);
    const { code, stdout } = run("plan", "head.json", "--size", "16bpw", "--json");
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).metric, "output");
    const late = run("plan", "head.json", "--size", "8bpw", ...only);
    assert.equal(late.code, 2);
    assert.match(late.stderr, /--activations are for a model; for rows, analyze takes them\n$/);
  });
});
