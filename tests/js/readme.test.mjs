// Runs the README's examples, and compares their output with their comments.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe("README", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const examples = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, text]) => text);
  // Only complete programs; tests/package/recipes.test.mjs runs the recipes' partial ones.
  const whole = examples.filter((text) => /^import /.test(text) && text.includes("console.log"));
  it("has examples, of which the first is complete", () => {
    assert.equal(whole.length, 7);
    assert.equal(whole[0], examples[0]);
  });

  for (const example of whole) {
    const [, names, from] = /^import { (.*) } from "(.*)";/.exec(example);
    it(`has an example of ${names} from ${from} that prints the lines in its comments`, () => {
      const promised = [...example.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(
        ([, text]) => text,
      );
      assert.equal(promised.length, example.match(/console\.log/g).length);
      const node = spawnSync(process.execPath, ["--input-type=module"], {
        cwd: root,
        input: example,
        encoding: "utf8",
      });
      assert.equal(node.stderr, "");
      assert.deepEqual(node.stdout.trimEnd().split("\n"), promised);
    });
  }

  it("links to files that exist", () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, target]) => target);
    const local = links.filter((target) => !/^[a-z]+:/.test(target));
    assert.ok(local.length > 5);
    for (const target of local) {
      assert.ok(existsSync(new URL(`../../${target}`, import.meta.url)), `${target} is missing`);
    }
  });

  it("names every command, and only existing ones", () => {
    const { scripts } = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
    );
    const named = new Set(
      [...readme.matchAll(/\bnpm (?:run )?([\w:-]+)/g)].map(([, name]) => name),
    );
    // Variants of other commands.
    const implied = ["format:check"];
    for (const name of Object.keys(scripts)) {
      assert.ok(
        named.has(name) || implied.includes(name),
        `npm run ${name} is missing in the README`,
      );
    }
    for (const [, name] of readme.matchAll(/\bnpm run ([\w:-]+)/g)) {
      assert.ok(name in scripts, `there is no npm run ${name}`);
    }
  });
});
