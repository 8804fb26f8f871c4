// The tarball in Deno and Bun, as npm brings them. Where their platform or the registry lacks them, the
// test is skipped with the command that failed.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { example, lines, OFF_THREAD, onAsync, promised } from "./example.mjs";
import { makeProjectOrSkip, run, versionOf } from "./project.mjs";

/** The program of a runtime: npm installs the package for this platform beside the one asked for. */
function program(project, scope, path) {
  const [platform] = readdirSync(join(project, "node_modules", scope));
  return join(project, "node_modules", scope, platform, ...path);
}

const ending = process.platform === "win32" ? ".exe" : "";

describe("The tarball", () => {
  it("runs in Deno", (t) => {
    const files = { "example.mjs": onAsync(example) };
    const project = makeProjectOrSkip(t, "deno", { tools: ["deno@2"], files });
    if (!project) return;
    t.diagnostic(`Deno ${versionOf(project, "deno")}`);
    const deno = program(project, "@deno", [`deno${ending}`]);
    // No permission is granted: the package reads no file and asks no server. --no-prompt makes
    // Deno refuse instead of asking.
    const result = run(project, deno, ["run", "--no-prompt", "--cached-only", "example.mjs"]);
    assert.equal(result.stderr, "");
    assert.deepEqual(lines(result.stdout), [OFF_THREAD, ...promised]);
  });

  it("runs in Bun", (t) => {
    const files = { "example.mjs": onAsync(example) };
    const project = makeProjectOrSkip(t, "bun", { tools: ["bun@1"], files });
    if (!project) return;
    t.diagnostic(`Bun ${versionOf(project, "bun")}`);
    const bun = program(project, "@oven", ["bin", `bun${ending}`]);
    const result = run(project, bun, ["run", "example.mjs"]);
    assert.equal(result.stderr, "");
    assert.deepEqual(lines(result.stdout), [OFF_THREAD, ...promised]);
  });
});
