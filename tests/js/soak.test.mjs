// Hundreds of thousands of tensors, layers and models of changing size, made and dropped: the core's
// heap returns to where it was. ZEROPOINT_SOAK_OPERATIONS says how many; the default takes seconds.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { builds } from "./builds.mjs";

const operations = Number(process.env.ZEROPOINT_SOAK_OPERATIONS ?? 200_000);
const script = fileURLToPath(new URL("soak.mjs", import.meta.url));

describe("a long run", () => {
  for (const { name, build, threads } of builds) {
    it(`gives back all that it took from the heap, on ${name}`, async () => {
      const share = Math.ceil(operations / builds.length);
      const args = ["--expose-gc", script, build, String(threads), String(share)];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const result = JSON.parse(stdout);
      assert.equal(result.build, build);
      assert.equal(result.threads, threads);
      assert.ok(result.made >= share && result.forwards > share / 10, stdout);
      assert.equal(result.after, result.before, "bytes that layers hold");
      assert.equal(result.heapAtEnd, result.heapAfterWarmUp, "bytes of the heap");
    });
  }
});
