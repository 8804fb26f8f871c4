// Runs the examples, recipes and commands of README and docs, each once, and compares what they print with their comments.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { effort } from "./support/effort.mjs";
import { writeCheckpoint } from "./support/files/checkpoint-folder.mjs";
import { makeLlama } from "./support/files/llama.mjs";
import { constant, normals, onnxModel } from "./support/onnx/models.mjs";
import {
  inPosixShell,
  makeShell,
  safetensors,
  smallModel,
  write,
  writeShards,
} from "./support/processes/cli.mjs";
import {
  digitsFile,
  documents,
  examples,
  readRecipe,
  runRecipe,
} from "./support/processes/recipes.mjs";

const idOf = ({ language, heading }) => `${language} ${heading}`;
const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "zeropoint-readme-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

/** The examples that other tests run, by language and the heading above them: the test files. */
const ELSEWHERE = {
  "jsx A layer in React": "package/recipes.test.mjs",
  "js A Cloudflare Worker": "package/recipes.test.mjs",
  "js A single file": "package/recipes.test.mjs",
  "html A strict content security policy": "package/recipes.test.mjs",
  "py Saving and loading": "engines/python-safetensors.test.mjs",
  "js An index kept in a page": "web/search/recipes.test.mjs",
  "py Searching vectors": "engines/search-python.test.mjs",
};

/** The examples that are run below with files of their own. */
const RECIPES = [
  "js A network in 4 bits",
  "js Safetensors to int4, for Macs and vLLM",
  "js GGUF to Q4_K",
  "js ONNX for the browser",
];

const commands = examples.filter(({ language }) => language === "sh").map(({ text }) => text);

/** A folder of a recipe's own. */
function makeFolder(name) {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

describe("README and docs", () => {
  const here = examples.filter((each) => {
    const id = idOf(each);
    return !(id in ELSEWHERE) && !RECIPES.includes(id) && each.language !== "sh";
  });
  // Programs with a comment for each line that they print.
  const whole = here.map(({ text }) => text).filter((text) => text.includes("console.log"));

  it("have no example that no test runs", () => {
    assert.equal(whole.length, 17);
    const rest = here.filter(({ text }) => !whole.includes(text)).map(idOf);
    assert.deepEqual(rest, ["js Opening model files"]);
    for (const id of [...Object.keys(ELSEWHERE), ...RECIPES]) {
      assert.ok(
        examples.some((example) => idOf(example) === id),
        `there is no example "${id}"`,
      );
    }
    for (const file of Object.values(ELSEWHERE)) {
      assert.ok(existsSync(new URL(`../${file}`, import.meta.url)), `${file} is missing`);
    }
  });

  it("have an example that opens a model file", async () => {
    const cwd = makeFolder("opening");
    writeFileSync(join(cwd, "model.gguf"), await makeLlama({ layers: 1 }));
    const [{ text }] = here.filter((each) => idOf(each) === "js Opening model files");
    const { printed } = runRecipe(
      `${text}console.log(first.name, data.constructor.name, data.length);\n`,
      cwd,
    );
    assert.match(printed[0], /^token_embd\.weight Float32Array \d+$/);
  });

  for (const example of whole) {
    const [, names, from] = /^import { (.*) } from "(.*)";/.exec(example);
    it(`have an example of ${names} from ${from} that prints the lines in its comments`, () => {
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

  it("link to files and headings that exist", () => {
    // The name that GitHub gives a heading.
    const anchorOf = (title) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-");
    let count = 0;
    for (const { path, text } of documents) {
      for (const [, target] of text.matchAll(/\]\(([^)]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        count++;
        const url = new URL(target, new URL(`../../${path}`, import.meta.url));
        const anchor = url.hash.slice(1);
        url.hash = "";
        assert.ok(existsSync(url), `${path}: ${target} is missing`);
        if (anchor === "") continue;
        const titles = readFileSync(url, "utf8").matchAll(/^#+ (.*)$/gm);
        const anchors = Array.from(titles, ([, title]) => anchorOf(title));
        assert.ok(anchors.includes(anchor), `${path}: ${target} has no such heading`);
      }
    }
    assert.ok(count > 40, `${count} links`);
  });

  it("are each linked from README, which is short", () => {
    const [{ text: readme }, ...others] = documents;
    for (const { path } of others)
      assert.ok(readme.includes(`](${path})`), `${path} is not linked`);
    const lines = readme.trimEnd().split("\n");
    assert.ok(lines.length <= 260, `${lines.length} lines`);
    assert.deepEqual(
      lines.filter((line) => line.length > 120),
      [],
    );
  });

  it("name every command in README, and only existing ones", () => {
    const [{ text: readme }] = documents;
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
    for (const { path, text } of documents) {
      for (const [, name] of text.matchAll(/\bnpm run ([\w:-]+)/g)) {
        assert.ok(name in scripts, `${path}: there is no npm run ${name}`);
      }
    }
  });
});

describe("A recipe prints what its comments say", () => {
  it("A network in 4 bits, in 30 lines, on the network that reads digits", async () => {
    const cwd = makeFolder("digits");
    writeFileSync(join(cwd, "digits.safetensors"), await digitsFile());
    const recipe = readRecipe("A network in 4 bits");
    const { printed, promised } = runRecipe(recipe, cwd);
    assert.deepEqual(printed, promised);
    const lines = recipe.trimEnd().split("\n");
    assert.ok(lines.length <= 30, `${lines.length} lines`);
  });

  it("Safetensors to int4, on a small checkpoint", async () => {
    const cwd = makeFolder("safetensors");
    mkdirSync(join(cwd, "checkpoint"));
    await writeCheckpoint(join(cwd, "checkpoint"));
    const recipe = readRecipe("Safetensors to int4, for Macs and vLLM");
    const { printed, promised } = runRecipe(recipe, cwd);
    assert.deepEqual(printed, promised);
    const config = readFileSync(join(cwd, "for-vllm", "config.json"), "utf8");
    assert.match(config, /"rms_norm_eps": 1e-05,\n {2}"rope_theta": 10000.0/);
    const { ignore } = JSON.parse(config).quantization_config;
    assert.deepEqual(ignore, ["lm_head", "re:.*embed_tokens"]);
    const mlx = JSON.parse(readFileSync(join(cwd, "for-mac", "config.json"), "utf8"));
    assert.deepEqual(mlx.quantization, { group_size: 64, bits: 4, mode: "affine" });
  });

  it("GGUF to Q4_K, on a small model", async () => {
    const cwd = makeFolder("gguf");
    const model = await makeLlama({ layers: 2, kv: 1, dtype: "float16" });
    writeFileSync(join(cwd, "model-f16.gguf"), model);
    const { printed, promised } = runRecipe(readRecipe("GGUF to Q4_K"), cwd);
    assert.deepEqual(printed, promised);
    const { length } = readFileSync(join(cwd, "model-Q4_K_M.gguf"));
    assert.equal(length, Number(promised[0].split(" ")[1]));
  });

  it("ONNX for the browser, on two layers of 64, 128 and 16 values", async () => {
    const cwd = makeFolder("onnx");
    const gemm = (layer, input, output) => ({
      ...{ opType: "Gemm", inputs: [input, `${layer}.weight`, `${layer}.bias`], outputs: [output] },
      attributes: { transB: { int: 1 } },
    });
    const network = await onnxModel({
      inputs: [{ name: "x", shape: ["batch", 64] }],
      outputs: [{ name: "y", shape: ["batch", 16] }],
      nodes: [
        gemm("fc1", "x", "h"),
        { opType: "Relu", inputs: ["h"], outputs: ["r"] },
        gemm("fc2", "r", "y"),
      ],
      initializers: [
        constant("fc1.weight", [128, 64], normals(128 * 64, 1)),
        constant("fc1.bias", [128], normals(128, 2)),
        constant("fc2.weight", [16, 128], normals(16 * 128, 3)),
        constant("fc2.bias", [16], normals(16, 4)),
      ],
    });
    writeFileSync(join(cwd, "model.onnx"), network);
    const { printed, promised } = runRecipe(readRecipe("ONNX for the browser"), cwd);
    assert.ok(promised.length >= 3);
    assert.deepEqual(printed, promised);
    assert.ok(readFileSync(join(cwd, "int4-model.onnx")).length < 10_000);
  });
});

describe("The commands of README and docs", inPosixShell, () => {
  const [install, oneFile, manyFiles, ...others] = commands;
  const shell = makeShell(folder);

  it("are one walk through a file, one through shards, and the installation", () => {
    assert.equal(install, "npm install zeropoint\n");
    assert.deepEqual(others, []);
  });

  it("run on a file", async () => {
    const cwd = makeFolder("one file");
    write(cwd, { "model.safetensors": await safetensors(smallModel()) });
    const lines = oneFile.trimEnd().split("\n");
    assert.equal(lines.length, 6);
    for (const line of lines) {
      const { code, stderr } = shell(line, cwd);
      assert.deepEqual([code, stderr], [0, ""], line);
    }
  });

  it("run on shards, those of one shard for each of them", async () => {
    const cwd = makeFolder("many files");
    // By default fewer shards than in the text.
    const shards = effort(12);
    await writeShards(join(cwd, "model"), shards, { width: 32 });
    const jobs = manyFiles
      .trimEnd()
      .split("\n")
      .map((line) =>
        Array.from({ length: shards }, (_, i) => line.replace(" 3/12 ", ` ${i + 1}/${shards} `)),
      )
      .map((each) => [...new Set(each)]);
    assert.deepEqual(
      jobs.map((each) => each.length),
      [shards, 1, shards, 1],
    );
    for (const job of jobs.flat()) {
      const { code, stderr } = shell(job, cwd);
      assert.deepEqual([code, stderr], [0, ""], job);
    }
  });
});
