import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const tsc = createRequire(import.meta.url).resolve("typescript/lib/tsc.js");

describe("the types", () => {
  it("promise what types.test-d.ts says, without the libraries of browsers or Node", () => {
    const project = fileURLToPath(new URL(".", import.meta.url));
    const { stdout, status } = spawnSync(process.execPath, [tsc, "-p", project], {
      encoding: "utf8",
    });
    assert.equal(stdout, "");
    assert.equal(status, 0);
  });
});
