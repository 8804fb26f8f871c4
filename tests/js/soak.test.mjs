// Creates and drops tens of thousands of tensors, layers and models of varying size: the core's heap returns to its
// initial state. ZEROPOINT_SOAK_OPERATIONS sets their number; the default takes seconds.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { builds } from "./support/builds.mjs";

const thorough = process.env.ZEROPOINT_THOROUGH === "1";
const operations = Number(process.env.ZEROPOINT_SOAK_OPERATIONS ?? (thorough ? 200_000 : 40_000));

/** The output of a script in support/processes/, run by a Node that exposes the garbage collector. */
async function run(script, args, flags = []) {
  const file = fileURLToPath(new URL(`support/processes/${script}`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--expose-gc",
    ...flags,
    file,
    ...args,
  ]);
  return JSON.parse(stdout);
}

describe("a long run", () => {
  for (const { name, build, threads } of builds) {
    it(`frees all heap memory, on ${name}`, async () => {
      const share = Math.ceil(operations / builds.length);
      const result = await run("soak.mjs", [build, String(threads), String(share)]);
      assert.equal(result.build, build);
      assert.equal(result.threads, threads);
      assert.ok(result.made >= share && result.forwards > share / 10, JSON.stringify(result));
      assert.equal(result.after, result.before, "bytes held by layers");
      assert.equal(result.heapAtEnd, result.heapAfterWarmUp, "bytes of the heap");
    });
  }
});

describe("a layer in a loop that reuses its tensors", () => {
  const roomy = ["--min-semi-space-size=64", "--max-semi-space-size=64"];
  for (const { name, build } of builds.filter(({ threads }) => threads === 1)) {
    it(`creates no garbage, on ${name}`, async () => {
      const { bytesOfACall } = await run("garbage.mjs", [build], roomy);
      // The engine allocates occasionally by itself; the smallest object has 16 bytes.
      assert.ok(bytesOfACall < 8, `${bytesOfACall} bytes per call`);
    });
  }
});
