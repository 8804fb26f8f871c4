// Builds limits.cpp twice, without and with relaxed SIMD, with the project's Emscripten.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, Failure, root } from "../../../scripts/process/run.mjs";
import { provideEmscripten } from "../../../scripts/toolchain/emscripten.mjs";
import { problemsOf } from "./limits.mjs";

const source = join(root, "tests", "bench", "limits", "limits.cpp");
const folder = join(root, "build", "bench");

const FLAGS = [
  "-std=c++20",
  "-O3",
  "-msimd128",
  "-mbulk-memory",
  "-mbulk-memory-opt",
  "-ffp-contract=off",
  "-fno-exceptions",
  "-fno-rtti",
  "--no-entry",
  "-sSTANDALONE_WASM=1",
  "-sALLOW_MEMORY_GROWTH=1",
  "-sMAXIMUM_MEMORY=1GB",
  "-sSTACK_SIZE=64KB",
];

export const limitFile = (/** @type {string} */ build) => join(folder, `limits-${build}.wasm`);

/** Builds build/bench/limits-baseline.wasm and limits-relaxed.wasm, unless they exist. */
export async function buildLimits() {
  const stamp = join(folder, "limits.built-from");
  const identity = createHash("sha256")
    .update(readFileSync(source))
    .update(FLAGS.join(" "))
    .digest("hex");
  const isThere = existsSync(stamp) && readFileSync(stamp, "utf8") === identity;
  if (isThere && existsSync(limitFile("baseline")) && existsSync(limitFile("relaxed"))) return;
  const { env } = await provideEmscripten({ threads: false });
  mkdirSync(folder, { recursive: true });
  rmSync(stamp, { force: true });
  for (const [build, more] of [
    ["baseline", []],
    ["relaxed", ["-mrelaxed-simd"]],
  ]) {
    const args = [source, ...FLAGS, ...more, "-o", limitFile(build)];
    const built = capture(join(env.EMSCRIPTEN_ROOT, "em++"), args, { env });
    if (!built.ok) throw new Failure(`limits.cpp: ${built.stderr.trim()}`);
    const problems = problemsOf(readFileSync(limitFile(build)));
    if (problems.length > 0) {
      throw new Failure(
        `limits.cpp: the compiler changed the measured loops\n${problems.join("\n")}`,
      );
    }
  }
  writeFileSync(stamp, identity);
}
