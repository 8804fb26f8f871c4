// Tests quantized models in the engines that run them. Installs each engine into build/model-engines, and runs its
// tests in tests/engines.
//
//   npm run check:engines [-- part of a title ...]

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root, run, runAsScript, step, tally, which } from "../process/run.mjs";
import { runTestFiles } from "../test/test-files.mjs";

/** The engines: their npm packages, and the file with their tests. */
const ENGINES = [
  {
    title: "ONNX Runtime: onnxruntime-node, and onnxruntime-web with more schemes than in npm test",
    packages: ["onnxruntime-node@1.30.0"],
    file: join("tests", "engines", "onnxruntime-node.test.mjs"),
  },
  {
    title: "transformers.js: the files that it looks for, loaded offline",
    packages: ["@huggingface/transformers@4.3.2"],
    file: join("tests", "engines", "transformers-js.test.mjs"),
  },
  {
    title: "llama.cpp: the same bytes as llama-quantize, and decoding",
    packages: [],
    file: join("tests", "engines", "llama-cpp.test.mjs"),
  },
  {
    title: "wllama in Chromium",
    packages: ["@wllama/wllama@3.8.1"],
    file: join("tests", "engines", "wllama.test.mjs"),
  },
  {
    title: "Python's safetensors: the same bytes, and the documented lines of Python",
    packages: [],
    file: join("tests", "engines", "python-safetensors.test.mjs"),
  },
  {
    title: "ONNX's own models and test data: to safetensors, npz and GGUF",
    packages: [],
    file: join("tests", "engines", "onnx-testdata.test.mjs"),
  },
  {
    title: "@huggingface/gguf",
    packages: ["@huggingface/gguf@0.4.6"],
    file: join("tests", "engines", "huggingface-gguf.test.mjs"),
  },
  {
    title: "NumPy and faiss: a saved index by the documented lines, and exported codes",
    packages: [],
    file: join("tests", "engines", "search-python.test.mjs"),
  },
  {
    title: "PostgreSQL with pgvector: exported rows",
    packages: [],
    file: join("tests", "engines", "pgvector.test.mjs"),
  },
  {
    title: "sqlite-vec and usearch: exported codes of an index",
    packages: ["sqlite-vec@0.1.9", "usearch@2.26.2"],
    file: join("tests", "engines", "vector-programs.test.mjs"),
  },
];

/** A separate folder for each engine's packages, because npm removes other packages when it installs some. */
const folderOf = (file) => join(root, "build", "model-engines", basename(file, ".test.mjs"));

/** Installs packages, "name@version", into a folder, without their scripts, unless they are there. */
export async function install(packages, folder) {
  const isThere = (specifier) => {
    const [, name, version] = /^(.+)@(.+)$/.exec(specifier);
    const file = join(folder, "node_modules", name, "package.json");
    return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === version;
  };
  if (packages.every(isThere)) return;
  mkdirSync(folder, { recursive: true });
  const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = process.env.npm_execpath ?? "";
  const args = ["install", "--prefix", folder, ...flags, ...packages];
  if (/npm-cli\.c?js$/.test(npm)) await run(process.execPath, [npm, ...args]);
  else await run(which("npm") ?? "npm", args);
}

/** Runs the tests of all engines, or of those whose titles contain one of the given words. */
async function checkEngines(words = []) {
  const { attempt, finish } = tally();
  const isChosen = ({ title }) => words.length === 0 || words.some((word) => title.includes(word));
  for (const { title, packages, file } of ENGINES.filter(isChosen)) {
    await attempt(title, () =>
      step(title, async () => {
        const folder = folderOf(file);
        await install(packages, folder);
        const env = { ZEROPOINT_ENGINES: folder };
        await runTestFiles([file], { name: title, env, seconds: 900 });
      }),
    );
  }
  finish();
}

await runAsScript(import.meta.url, () => checkEngines(process.argv.slice(2)));
