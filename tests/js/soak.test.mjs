// Hundreds of thousands of tensors, layers and models of changing size, made and dropped: the core's
// heap returns to where it was. ZEROPOINT_SOAK_OPERATIONS says how many; the default takes seconds.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { builds } from "./builds.mjs";

const operations = Number(process.env.ZEROPOINT_SOAK_OPERATIONS ?? 200_000);

/** What a script of this folder prints, of one that may collect garbage. */
async function run(script, args, flags = []) {
  const file = fileURLToPath(new URL(script, import.meta.url));
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
    it(`gives back all that it took from the heap, on ${name}`, async () => {
      const share = Math.ceil(operations / builds.length);
      const result = await run("soak.mjs", [build, String(threads), String(share)]);
      assert.equal(result.build, build);
      assert.equal(result.threads, threads);
      assert.ok(result.made >= share && result.forwards > share / 10, JSON.stringify(result));
      assert.equal(result.after, result.before, "bytes that layers hold");
      assert.equal(result.heapAtEnd, result.heapAfterWarmUp, "bytes of the heap");
    });
  }
});

describe("a layer in a loop that reuses its tensors", () => {
  const roomy = ["--min-semi-space-size=64", "--max-semi-space-size=64"];
  for (const { name, build } of builds.filter(({ threads }) => threads === 1)) {
    it(`makes no garbage, on ${name}`, async () => {
      const { bytesOfACall } = await run("garbage.mjs", [build], roomy);
      // What the engine itself takes now and then; the smallest object has 16 bytes.
      assert.ok(bytesOfACall < 8, `${bytesOfACall} bytes a call`);
    });
  }
});
