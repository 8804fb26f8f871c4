// The command line in a project that installed the tarball.

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { safetensors, smallModel } from "../js/support/processes/cli.mjs";
import { makeProject, run, versionOf } from "./project.mjs";

describe("The tarball's command line", () => {
  let project;
  let zeropoint;
  before(async () => {
    project = makeProject("cli");
    writeFileSync(join(project, "model.safetensors"), await safetensors(smallModel()));
    const bin = join(project, "node_modules", ".bin", "zeropoint");
    // On Windows npm makes a .cmd file, which only a shell runs.
    const isWindows = process.platform === "win32";
    const script = join("node_modules", "zeropoint", "dist", "cli", "main.js");
    zeropoint = (...args) =>
      isWindows ? run(project, process.execPath, [script, ...args]) : run(project, bin, args);
  });

  it("runs by the name zeropoint", () => {
    assert.equal(zeropoint("--version").stdout.trim(), versionOf(project, "zeropoint"));
    assert.match(zeropoint("--help").stdout, /^zeropoint: see what quantization costs/);
  });

  it("walks from a file to a smaller one", () => {
    const walk = [
      ["inspect", "model.safetensors"],
      ["analyze", "model.safetensors", "-o", "rows.json"],
      ["plan", "rows.json", "--size", "25%", "-o", "plan.json"],
      ["quantize", "model.safetensors", "--plan", "plan.json", "-o", "small.safetensors"],
      ["compare", "model.safetensors", "small.safetensors", "--tolerance", "10dB"],
    ];
    for (const args of walk) {
      const { code, stderr } = zeropoint(...args);
      assert.deepEqual([code, stderr], [0, ""], args.join(" "));
    }
    assert.ok(existsSync(join(project, "small.safetensors")));
  });
});
