// Checks formatting, lints the JavaScript and TypeScript, type-checks the page, and runs clang-tidy.
//
//   npm run lint [-- quick | changed]     quick omits clang-tidy; changed runs it on what changed since CI's base

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildCore, buildJs, configureNative } from "../build/build.mjs";
import {
  Failure,
  root,
  run,
  runAsScript,
  sideBySide,
  step,
  tally,
  which,
} from "../process/run.mjs";
import { cacheFolder } from "../toolchain/cache.mjs";
import { setUp } from "../toolchain/setup.mjs";
import { changedFiles } from "./changes.mjs";
import { cppFiles, formatCpp } from "./format.mjs";

const node = (script, ...args) =>
  run(process.execPath, [join(root, "node_modules", ...script.split("/")), ...args]);

const hash = (texts) => {
  const sum = createHash("sha256");
  for (const text of texts) sum.update(text);
  return sum.digest("hex");
};

const read = (path) => readFileSync(join(root, path), "utf8");

/** Files that decide what clang-tidy reports of any file. */
const RULES = [".clang-tidy", "CMakeLists.txt", "CMakePresets.json"];

/** A C++ file and the project's headers that it includes, directly or not, as paths from the root. */
function withHeaders(file, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, name] of read(file).matchAll(/^#include "(.+)"$/gm)) {
    const folders = [dirname(file), "src", "include", "tests/native"];
    const header = folders
      .map((folder) => join(folder, name))
      .find((path) => existsSync(join(root, path)));
    if (header !== undefined) withHeaders(header, found);
  }
  return found;
}

/**
 * Runs clang-tidy on each file that changed, with its headers and the rules, since it last passed in any checkout of this
 * user: all files take ten minutes of CPU time.
 * @param ofChange  only files that changed since the base of the change, all of which passed there
 */
async function clangTidy(ofChange) {
  await configureNative("native-lint");
  const program = which("clang-tidy-14") ?? which("clang-tidy") ?? "clang-tidy";
  const common = hash([program, ...RULES.map(read)]);
  const passed = join(cacheFolder(), "clang-tidy");
  mkdirSync(passed, { recursive: true });
  const changed = ofChange ? changedFiles() : undefined;
  const isChanged = (path) => changed?.includes(path) ?? true;
  const isAnyRule = RULES.some(isChanged);

  const tidy = async (file) => {
    const sources = [...withHeaders(file)];
    const stamp = join(passed, hash([common, ...sources, ...sources.map(read)]));
    if (existsSync(stamp) || !(isAnyRule || sources.some(isChanged))) return;
    // For tests, the analyzer takes minutes in GoogleTest's headers, names that it reserves a fifth of the rest, and speed
    // is no concern.
    const checks = file.startsWith("tests")
      ? [
          "--checks=-clang-analyzer-*,-bugprone-reserved-identifier,-performance-inefficient-vector-operation",
        ]
      : [];
    const args = ["-p", join("build", "native-lint"), "--quiet", ...checks, file];
    // Findings go to standard output; standard error only counts suppressed warnings.
    await run(program, args, { stderr: "ignore" });
    writeFileSync(stamp, file);
  };
  // The bindings have no native compile command: only Emscripten compiles them.
  const files = cppFiles(["src/core", "src/kernels", "tests/native"], /\.cpp$/);
  await sideBySide(files.map((file) => [file, () => tidy(file)]));
}

await runAsScript(import.meta.url, async (args) => {
  const [mode] = args;
  if (args.length > 1 || ![undefined, "quick", "changed"].includes(mode)) {
    throw new Failure("lint takes quick, changed or nothing");
  }
  const isQuick = mode === "quick";
  const native = isQuick ? [] : ["native", "lint"];
  const { emscripten } = await setUp(["core", "format", ...native]);
  const { attempt, finish } = tally();
  const check = (title, work) => attempt(title, () => step(title, work));
  await check("Biome", () => node("@biomejs/biome/bin/biome", "check", "--error-on-warnings"));
  await check("clang-format", () => formatCpp(true));
  if (!isQuick) await check("clang-tidy", () => clangTidy(mode === "changed"));
  // The page imports the package, so its types come from a build.
  await check("Types of the page", async () => {
    await buildCore(emscripten);
    await buildJs();
    await node("typescript/bin/tsc", "-p", "web/tsconfig.json");
  });
  finish();
});
