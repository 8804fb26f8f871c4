// Models of more tensors than a call has room for arguments on the stack: lists of tensors are no arguments.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../support/processes/many-tensors.mjs", import.meta.url));

describe("a model of more tensors than a call has arguments", () => {
  // With a stack of 200 kB, a call has room for about 21,000 arguments; with the usual one for about 118,000.
  const COUNT = 25_000;
  for (const [format, title] of [
    ["gguf", "is quantized, as GGUF"],
    ["float8", "is opened, with as many quantized weights"],
  ]) {
    it(title, () => {
      const args = ["--stack-size=200", script, format, String(COUNT)];
      const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
      assert.equal(stdout.trim(), String(COUNT), stderr);
    });
  }
});
