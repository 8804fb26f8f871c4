// Formats all sources, or lists the files that are not formatted.
//
//   node scripts/checks/format.mjs [--check]

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Failure, root, run, runAsScript, which } from "../process/run.mjs";
import { setUp } from "../toolchain/setup.mjs";

/** The C++ files of some folders, by file extension. */
export function cppFiles(folders, pattern = /\.(cpp|h)$/) {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => pattern.test(name))
      .map((name) => join(folder, name))
      .sort(),
  );
}

/** .clang-format is written for version 14; other versions may break lines differently. */
const clangFormat = () => which("clang-format-14") ?? which("clang-format") ?? "clang-format";

export async function formatCpp(check) {
  const files = cppFiles(["include", "src", "tests/native", "tests/bench/limits"]);
  try {
    await run(clangFormat(), [...(check ? ["--dry-run", "-Werror"] : ["-i"]), ...files]);
  } catch {
    throw new Failure("clang-format: some files are not formatted; npm run format puts them right");
  }
}

await runAsScript(import.meta.url, async (args) => {
  const check = args.includes("--check");
  if (args.some((arg) => arg !== "--check")) throw new Failure("format takes --check or nothing");
  await setUp(["format"]);
  const biome = join(root, "node_modules", "@biomejs", "biome", "bin", "biome");
  await run(process.execPath, [biome, "format", ...(check ? [] : ["--write"])]);
  await formatCpp(check);
  console.log(check ? "All sources are formatted." : "Formatted all sources.");
});
