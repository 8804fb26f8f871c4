// Rolls the package's declarations up: dist/types has one file for each entry, one that they share, so that a class
// is the same type in all of them, and one for the binaries.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Failure, root } from "../process/run.mjs";

const dist = join(root, "dist");

/** The module that each entry's declarations begin with. */
const ENTRIES = {
  index: "index",
  torch: "torch",
  models: "models/index",
  search: "search",
  worker: "worker/index",
  notebook: "notebook/index",
  slim: "slim",
};

/** The type of a file of WebAssembly that a tool imports as a module. */
const BINARY = `/** The compiled module, for the option \`wasm\`; \`never\` without the types of a platform. */
declare const module: typeof globalThis extends { WebAssembly: { Module: { prototype: infer Module } } }
  ? Module
  : never;
export default module;
`;

/** The declarations of the compiler in dist, without those of the command line. */
function declarations(folder = dist) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return path.endsWith(".d.ts") ? [path] : [];
    const skipped = ["cli", "types", "web"].map((name) => join(dist, name));
    return skipped.includes(path) ? [] : declarations(path);
  });
}

/** The entries that a module's declarations reach, by way of those that import it. */
function reaching(id, getModuleInfo, entries) {
  const seen = new Set([id]);
  for (const each of seen) for (const importer of getModuleInfo(each).importers) seen.add(importer);
  return new Set([...seen].filter((each) => entries.has(each)));
}

/** Writes dist/types, if the compiler's declarations have changed. */
export async function rollUpTypes() {
  const folder = join(dist, "types");
  const stamp = join(root, "build", "types-made-from");
  const hash = createHash("sha256").update(readFileSync(new URL(import.meta.url)));
  const references = new Set();
  for (const path of declarations()) {
    const text = readFileSync(path, "utf8");
    hash.update(relative(dist, path)).update(text);
    for (const [line] of text.matchAll(/^\/\/\/ <reference lib=.*$/gm)) references.add(line);
  }
  const wanted = hash.digest("hex");
  if (existsSync(folder) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  // Imported late: an earlier step installs them.
  const [{ rollup }, { dts }] = await Promise.all([import("rollup"), import("rollup-plugin-dts")]);
  const input = Object.entries(ENTRIES).map(([name, path]) => [name, join(dist, `${path}.d.ts`)]);
  const entries = new Set(input.map(([, path]) => path));
  const bundle = await rollup({
    input: Object.fromEntries(input),
    plugins: [dts()],
    onwarn: (warning) => {
      // Private types without a name in an entry: tests/package/types.test.mjs has a library that names what it infers.
      if (warning.message.includes("no public re-export")) return;
      throw new Failure(`types: ${warning.message}`);
    },
  });
  rmSync(folder, { recursive: true, force: true });
  await bundle.write({
    dir: folder,
    entryFileNames: "[name].d.ts",
    chunkFileNames: "[name].d.ts",
    minifyInternalExports: false,
    // Rolling up drops the directives.
    banner: [...references].join("\n"),
    manualChunks: (id, { getModuleInfo }) =>
      reaching(id, getModuleInfo, entries).size < 2 ? undefined : "shared",
  });
  await bundle.close();
  writeFileSync(join(folder, "binary.d.ts"), BINARY);
  mkdirSync(join(root, "build"), { recursive: true });
  writeFileSync(stamp, wanted);
}
