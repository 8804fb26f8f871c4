// Builds the package into dist/ and the page into dist/web/.
//
//   node scripts/build.mjs [core] [js] [page]     builds the named parts, or all three

import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { alone } from "./alone.mjs";
import { embedBuilds } from "./embed.mjs";
import { capture, Failure, root, run, runAsScript, step } from "./run.mjs";
import { setUp } from "./setup.mjs";

const dist = join(root, "dist");

/** A step that writes what others read and write. */
const build = (title, work) => step(title, () => alone(work));

/** Configures a CMake preset if need be: afresh if its compiler or the presets have changed. */
async function configure(preset, { env = {}, identity = "" } = {}) {
  const folder = join(root, "build", preset);
  const stamp = join(folder, ".configured-with");
  const wanted = `${identity}\n${readFileSync(join(root, "CMakePresets.json"), "utf8")}`;
  const isConfigured = existsSync(join(folder, "build.ninja")) && existsSync(stamp);
  if (isConfigured && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  await run("cmake", ["--preset", preset], { env });
  writeFileSync(stamp, wanted);
}

/** The core: C++ to the four builds in dist/core. */
export function buildCore(emscripten) {
  return build("Core (WebAssembly)", async () => {
    await configure("wasm", emscripten);
    await run("cmake", ["--build", "--preset", "wasm"], { env: emscripten.env });
    embedBuilds(join(root, "build", "wasm"), join(dist, "core"));
  });
}

/** The package: TypeScript to ES modules and their types in dist/. */
export function buildJs() {
  return build("JavaScript", async () => {
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const built = capture(process.execPath, [tsc, "-p", "tsconfig.json", "--listEmittedFiles"]);
    const lines = built.stdout.split(/\r?\n/).filter(Boolean);
    const emitted = lines.filter((line) => line.startsWith("TSFILE: "));
    const messages = lines.filter((line) => !line.startsWith("TSFILE: "));
    for (const line of messages) console.log(line);
    if (!built.ok) throw new Failure(`tsc failed ${built.stderr}`.trim());
    removeStale(new Set(emitted.map((line) => resolve(root, line.slice("TSFILE: ".length)))));
    await bundleWorker();
  });
}

/** Makes one file of the asynchronous functions' worker: webpack copies it as it is, alone. */
async function bundleWorker() {
  // Not before it is sure to be installed.
  const esbuild = await import("esbuild");
  const worker = join(dist, "async", "async-worker.js");
  await esbuild.build({
    entryPoints: [worker],
    outfile: worker,
    allowOverwrite: true,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
  });
}

/** Removes from dist/ what no source makes any more; the core and the page have folders of their own. */
function removeStale(emitted, folder = dist) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (folder === dist && ["core", "web"].includes(entry.name)) continue;
    if (entry.isDirectory()) removeStale(emitted, path);
    else if (!emitted.has(path)) rmSync(path);
  }
}

/** The page: web/ and the package in dist/web/, and the API reference in dist/web/api/. */
export function buildPage() {
  return build("Page", async () => {
    const vite = join(root, "node_modules", "vite", "bin", "vite.js");
    await run(process.execPath, [vite, "build", "--config", "web/vite.config.mjs"]);
    cpSync(await buildApiPages(), join(dist, "web", "api"), { recursive: true });
  });
}

/** The API reference, in a folder of its own: written again only if what it is made of has changed. */
async function buildApiPages() {
  const folder = join(root, "build", "api");
  const stamp = join(root, "build", "api-made-from");
  const sources = [
    "src/js",
    "web/api",
    "web/build/api.mjs",
    "web/public/icon.svg",
    "web/style.css",
    "tsconfig.json",
    "package-lock.json",
  ];
  const hash = createHash("sha256");
  for (const file of sources.flatMap(filesIn)) hash.update(file).update(readFileSync(file));
  const wanted = hash.digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return folder;
  // Not before TypeDoc is sure to be installed.
  const { buildApi } = await import("../web/build/api.mjs");
  rmSync(stamp, { force: true });
  rmSync(folder, { recursive: true, force: true });
  await buildApi(folder);
  writeFileSync(stamp, wanted);
  return folder;
}

/** The files of a folder below the root, or the file itself. */
function filesIn(name) {
  const path = join(root, name);
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** The native library and its tests, by a preset's name. */
export function buildNative(preset) {
  return build(`Native build (${preset})`, async () => {
    await configure(preset);
    await run("cmake", ["--build", "--preset", preset]);
  });
}

/** Configures a native preset, which writes compile_commands.json for clang-tidy. */
export const configureNative = (preset) => alone(() => configure(preset));

await runAsScript(import.meta.url, async (names) => {
  const parts = names.length > 0 ? names : ["core", "js", "page"];
  const unknown = parts.find((part) => !["core", "js", "page"].includes(part));
  if (unknown) throw new Failure(`build takes core, js and page, got ${unknown}`);
  const { emscripten } = await setUp(parts.includes("core") ? ["core"] : []);
  if (parts.includes("core")) await buildCore(emscripten);
  if (parts.includes("js")) await buildJs();
  if (parts.includes("page")) await buildPage();
});
