// The tarball in Deno and Bun, installed by npm. If the platform or the registry lacks them, the test is skipped
// with the command that failed.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { example, lines, onConnection, promised } from "./example.mjs";
import { makeProjectOrSkip, run, versionOf } from "./project.mjs";

/** The program of a runtime: npm installs this platform's package as a dependency of the requested one. */
function program(project, scope, path) {
  const [platform] = readdirSync(join(project, "node_modules", scope));
  return join(project, "node_modules", scope, platform, ...path);
}

const ending = process.platform === "win32" ? ".exe" : "";

describe("The tarball", () => {
  it("runs in Deno", (t) => {
    const files = { "example.mjs": example, "connection.mjs": onConnection(example) };
    const project = makeProjectOrSkip(t, "deno", { tools: ["deno@2"], files });
    if (!project) return;
    t.diagnostic(`Deno ${versionOf(project, "deno")}`);
    const deno = program(project, "@deno", [`deno${ending}`]);
    // No permission is granted: the package reads no file and makes no request. With --no-prompt, Deno
    // refuses instead of prompting.
    const result = run(project, deno, ["run", "--no-prompt", "--cached-only", "example.mjs"]);
    assert.equal(result.stderr, "");
    assert.deepEqual(lines(result.stdout), promised);
    const connected = run(project, deno, ["run", "--no-prompt", "--cached-only", "connection.mjs"]);
    assert.equal(connected.stderr, "");
    assert.deepEqual(lines(connected.stdout), ["in a worker", ...promised]);
  });

  it("runs in Bun", (t) => {
    const files = { "example.mjs": example, "connection.mjs": onConnection(example) };
    const project = makeProjectOrSkip(t, "bun", { tools: ["bun@1"], files });
    if (!project) return;
    t.diagnostic(`Bun ${versionOf(project, "bun")}`);
    const bun = program(project, "@oven", ["bin", `bun${ending}`]);
    const result = run(project, bun, ["run", "example.mjs"]);
    assert.equal(result.stderr, "");
    assert.deepEqual(lines(result.stdout), promised);
    const connected = run(project, bun, ["run", "connection.mjs"]);
    assert.equal(connected.stderr, "");
    assert.deepEqual(lines(connected.stdout), ["in a worker", ...promised]);
  });
});
