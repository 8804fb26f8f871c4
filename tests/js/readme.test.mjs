// Runs the README's examples, and compares their output with their comments.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { makeLlama } from "./support/files/llama.mjs";
import { runRecipe } from "./support/processes/recipes.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The examples that other tests run, by language and the heading above them: the test files. */
const ELSEWHERE = {
  "js A network in 4 bits": "js/models/walk.test.mjs",
  "js Safetensors to int4, for Macs and vLLM": "js/models/quantize/safetensors-walk.test.mjs",
  "js GGUF to Q4_K": "js/models/quantize/gguf-walk.test.mjs",
  "js ONNX for the browser": "js/models/quantize/onnx-walk.test.mjs",
  "jsx A layer in React": "package/recipes.test.mjs",
  "js A Cloudflare Worker": "package/recipes.test.mjs",
  "html A strict content security policy": "package/recipes.test.mjs",
  "py Saving and loading": "engines/python-safetensors.test.mjs",
  "js An index kept in a page": "package/search-page.test.mjs",
  "py Searching vectors": "js/search/save.test.mjs",
  "sh zeropoint": "js/cli/examples.test.mjs",
  "sh Command line": "js/cli/examples.test.mjs",
};

describe("README", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const blocks = [...readme.matchAll(/^#+ (.*)$|```(\w+)\n([\s\S]*?)```/gm)];
  const examples = [];
  let heading;
  for (const [, title, language, text] of blocks) {
    if (title !== undefined) heading = title;
    else examples.push({ id: `${language} ${heading}`, text });
  }
  const here = examples.filter(({ id }) => !(id in ELSEWHERE));
  // Programs with a comment for each line that they print.
  const whole = here.map(({ text }) => text).filter((text) => text.includes("console.log"));

  it("has no example that no test runs", () => {
    assert.equal(whole.length, 11);
    const rest = here.filter(({ text }) => !whole.includes(text)).map(({ id }) => id);
    assert.deepEqual(rest, ["js Opening model files"]);
    for (const [id, file] of Object.entries(ELSEWHERE)) {
      assert.ok(
        examples.some((example) => example.id === id),
        `there is no example "${id}"`,
      );
      assert.ok(existsSync(new URL(`../${file}`, import.meta.url)), `${file} is missing`);
    }
  });

  it("has an example that opens a model file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "zeropoint-readme-"));
    after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "model.gguf"), await makeLlama({ layers: 1 }));
    const [{ text }] = here.filter(({ id }) => id === "js Opening model files");
    const { printed } = runRecipe(
      `${text}console.log(first.name, data.constructor.name, data.length);\n`,
      folder,
    );
    assert.match(printed[0], /^token_embd\.weight Float32Array \d+$/);
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
