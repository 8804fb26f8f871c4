// The README's example is what a newcomer runs first, so it is run here, and every line that it says it
// prints is compared.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe("README", () => {
  it("has an example that prints what its comments say", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1];
    assert.ok(example, "the README has a JavaScript example");
    const promised = [...example.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(
      ([, text]) => text,
    );
    assert.equal(promised.length, 3);
    const node = spawnSync(process.execPath, ["--input-type=module"], {
      cwd: root,
      input: example,
      encoding: "utf8",
    });
    assert.equal(node.stderr, "");
    assert.deepEqual(node.stdout.trimEnd().split("\n"), promised);
  });

  it("links to files that exist", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, target]) => target);
    const local = links.filter((target) => !/^[a-z]+:/.test(target));
    assert.ok(local.length > 10);
    for (const target of local) {
      assert.ok(existsSync(new URL(`../../${target}`, import.meta.url)), `${target} is missing`);
    }
  });

  it("names every command, and none that is missing", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const { scripts } = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
    );
    const named = new Set(
      [...readme.matchAll(/\bnpm (?:run )?([\w:-]+)/g)].map(([, name]) => name),
    );
    // Shorter forms of other commands.
    const implied = ["format:check"];
    for (const name of Object.keys(scripts)) {
      assert.ok(named.has(name) || implied.includes(name), `npm run ${name} is not named`);
    }
    for (const [, name] of readme.matchAll(/\bnpm run ([\w:-]+)/g)) {
      assert.ok(name in scripts, `there is no npm run ${name}`);
    }
  });
});
