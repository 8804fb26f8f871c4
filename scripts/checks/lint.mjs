// Checks formatting, lints the JavaScript and TypeScript, type-checks the page, and runs clang-tidy.
//
//   npm run lint [-- quick]     quick omits clang-tidy

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
import { setUp } from "../toolchain/setup.mjs";
import { cppFiles, formatCpp } from "./format.mjs";

const node = (script, ...args) =>
  run(process.execPath, [join(root, "node_modules", ...script.split("/")), ...args]);

const hash = (texts) => {
  const sum = createHash("sha256");
  for (const text of texts) sum.update(text);
  return sum.digest("hex");
};

/** Runs clang-tidy on each file that changed since it last passed; on all files if any header or rule changed. */
async function clangTidy() {
  await configureNative("native-lint");
  const program = which("clang-tidy-14") ?? which("clang-tidy") ?? "clang-tidy";
  const read = (path) => readFileSync(join(root, path));
  const headers = cppFiles(["include", "src", "tests/native"], /\.h$/).map(read);
  const common = hash([program, read(".clang-tidy"), read("CMakeLists.txt"), ...headers]);
  const passed = join(root, "build", "clang-tidy");
  mkdirSync(passed, { recursive: true });

  const tidy = async (file) => {
    const stamp = join(passed, hash([common, file, read(file)]));
    if (existsSync(stamp)) return;
    // For tests, the analyzer takes minutes in GoogleTest's headers, and speed is no concern.
    const checks = file.startsWith("tests")
      ? ["--checks=-clang-analyzer-*,-performance-inefficient-vector-operation"]
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
  if (args.some((arg) => arg !== "quick")) throw new Failure("lint takes quick or nothing");
  const isQuick = args.includes("quick");
  const native = isQuick ? [] : ["native", "lint"];
  const { emscripten } = await setUp(["core", "format", ...native]);
  const { attempt, finish } = tally();
  const check = (title, work) => attempt(title, () => step(title, work));
  await check("Biome", () => node("@biomejs/biome/bin/biome", "check", "--error-on-warnings"));
  await check("clang-format", () => formatCpp(true));
  if (!isQuick) await check("clang-tidy", clangTidy);
  // The page imports the package, so its types come from a build.
  await check("Types of the page", async () => {
    await buildCore(emscripten);
    await buildJs();
    await node("typescript/bin/tsc", "-p", "web/tsconfig.json");
  });
  finish();
});
