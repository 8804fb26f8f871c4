// The project's dependencies are pinned by content, come from one registry, and are used.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { differences } from "../../scripts/build/reproduce.mjs";
import {
  checkSignatures,
  problemsOfLock,
  problemsOfWorkflow,
  unusedDependencies,
} from "../../scripts/checks/supply-chain.mjs";
import { checkOutCommit } from "../../scripts/toolchain/emscripten-install.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8"));

describe("The lock file", () => {
  const lock = read("package-lock.json");
  const altered = (path, fields) => {
    const copy = structuredClone(lock);
    copy.packages[path] = { ...copy.packages[path], ...fields };
    return problemsOfLock(copy);
  };

  it("pins every package by a hash of its content, from one registry", () => {
    assert.deepEqual(problemsOfLock(lock), []);
    assert.deepEqual(problemsOfLock(read("tests/bench/package-lock.json")), []);
  });

  for (const [what, path, fields] of [
    ["a package without a hash", "node_modules/vite", { integrity: undefined }],
    ["a weak hash", "node_modules/vite", { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }],
    ["another address", "node_modules/vite", { resolved: "https://example.org/vite.tgz" }],
    ["a git address", "node_modules/vite", { version: "git+ssh://git@example.org/vite.git#1" }],
    ["a link", "node_modules/vite", { link: true }],
    ["a local folder", "vendor/vite", { version: "1.0.0" }],
    ["a new install script", "node_modules/vite", { hasInstallScript: true }],
    ["a git dependency", "", { devDependencies: { vite: "github:vitejs/vite" } }],
    ["a dependency without a version range", "", { devDependencies: { vite: "*" } }],
  ]) {
    it(`may not have ${what}`, () => assert.notEqual(altered(path, fields).length, 0));
  }
});

describe("Development dependencies", () => {
  it("are all used", () => {
    assert.deepEqual(unusedDependencies(read("package.json")), []);
  });

  it("fail the check if one is unused", () => {
    const name = ["left", "pad"].join("-");
    assert.deepEqual(unusedDependencies({ devDependencies: { [name]: "1.0.0" } }), [name]);
  });
});

describe("The compiler's installer", () => {
  it("is a commit, whatever its tag and branch name", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "zeropoint-commit-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const site = join(folder, "site");
    const git = (...args) => {
      const own = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
      const { status, stdout, stderr } = spawnSync("git", [...own, ...args], { encoding: "utf8" });
      assert.equal(status, 0, stderr);
      return stdout.trim();
    };
    const commit = (text) => {
      writeFileSync(join(site, "file"), text);
      git("-C", site, "add", "file");
      git("-C", site, "commit", "--quiet", "-m", text);
      git("-C", site, "tag", "--force", "1.0.0");
      return git("-C", site, "rev-parse", "HEAD");
    };
    git("init", "--quiet", site);
    const pinned = commit("as released");
    commit("moved");
    await checkOutCommit(site, pinned, join(folder, "copy"));
    assert.equal(readFileSync(join(folder, "copy", "file"), "utf8"), "as released");
    await assert.rejects(checkOutCommit(site, "0".repeat(40), join(folder, "other")));
  });
});

describe("The workflows", () => {
  const CHECKOUT = "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8";
  const folder = new URL("../../.github/workflows/", import.meta.url);
  const text = (name) => readFileSync(new URL(name, folder), "utf8");

  it("publish with provenance, with no other permissions", () => {
    const names = readdirSync(folder);
    assert.deepEqual(names, ["ci.yml", "release.yml"]);
    for (const name of names) assert.deepEqual(problemsOfWorkflow(text(name)), [], name);
  });

  for (const [what, from, to] of [
    ["a third party's action", "actions/checkout@", "someone/checkout@"],
    ["an action by its branch", CHECKOUT, "actions/checkout@main"],
    ["an action by its tag", CHECKOUT, "actions/checkout@v5"],
    ["a job with write permission", "timeout-minutes: 60", "permissions:\n      contents: write"],
    ["write permission for all jobs", "contents: read", "contents: write"],
    ["a token", "--access public", "--access public # secrets.NPM_TOKEN"],
    ["a tarball without provenance", " --provenance", ""],
    ["no identity", "id-token: write", "contents: read"],
    ["untested code", "needs: [test, pack]", "needs: [pack]"],
    [
      "installed packages in the publishing job",
      "- run: npm publish",
      "- run: npm ci && npm publish",
    ],
  ]) {
    it(`may not have ${what}`, () => {
      const altered = text("release.yml").replace(from, to);
      assert.notEqual(altered, text("release.yml"));
      assert.notDeepEqual(problemsOfWorkflow(altered), []);
    });
  }
});

describe("npm audit signatures", () => {
  const npm =
    (ok, stdout, stderr = "") =>
    () => ({ ok, stdout, stderr });

  it("passes on valid signatures", () => {
    const said = "audited 100 packages in 1s\n\n100 packages have verified registry signatures\n";
    assert.deepEqual(checkSignatures(npm(true, said)), {
      isGood: true,
      line: "100 packages have verified registry signatures",
    });
  });

  it("fails on an invalid signature or attestation", () => {
    const said = "audited 2 packages in 1s\n\n1 package has an invalid registry signature:\n";
    assert.equal(checkSignatures(npm(false, said)).isGood, false);
    assert.equal(
      checkSignatures(npm(false, "", "npm error code EATTESTATIONVERIFY\n")).isGood,
      false,
    );
  });

  it("gives no verdict when the registry is unreachable", () => {
    assert.equal(checkSignatures(npm(false, "", "npm error code ENOTFOUND\n")).isGood, undefined);
  });
});

describe("Two builds", () => {
  it("are compared file by file", () => {
    const a = new Map([
      ["x.js", "1"],
      ["y.js", "2"],
    ]);
    assert.deepEqual(differences(a, new Map(a)), []);
    assert.deepEqual(differences(a, new Map([...a, ["y.js", "3"]])), ["y.js"]);
    assert.deepEqual(differences(a, new Map([["x.js", "1"]])), ["y.js"]);
  });
});
