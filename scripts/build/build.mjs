// Builds the package into dist/ and the page into dist/web/.

import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { alone } from "../process/alone.mjs";
import { capture, Failure, root, run, runAsScript, step } from "../process/run.mjs";
import { setUp } from "../toolchain/setup.mjs";
import { embedBuilds } from "./embed.mjs";
import { rollUpTypes } from "./types.mjs";

const HELP = `
npm run build [-- part ...]

Sets up what is missing and builds the named parts; without a name core, js and page.

  core   the C++ core as WebAssembly, in dist/wasm
  js     the package, in dist
  page   the page and its API reference, in dist/web
  api    the API reference only
`;

const dist = join(root, "dist");

/** A titled step under the checkout's lock, because it writes files that other commands use. */
const build = (title, work) => step(title, () => alone(work));

/** Configures a CMake preset if needed: again if its compiler, the presets or the folder have changed. */
async function configure(preset, { env = {}, identity = "" } = {}) {
  const folder = join(root, "build", preset);
  const stamp = join(folder, ".configured-with");
  // Contains the checkout's path, because CMake refuses a build folder that was moved.
  const wanted = [root, identity, readFileSync(join(root, "CMakePresets.json"), "utf8")].join("\n");
  const isConfigured = existsSync(join(folder, "build.ninja")) && existsSync(stamp);
  if (isConfigured && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  await run("cmake", ["--preset", preset], { env });
  writeFileSync(stamp, wanted);
}

/** Compiles the core, C++ to the four builds in dist/wasm; or only the named builds, without their types. */
export function buildCore(emscripten, builds) {
  return build("Core (WebAssembly)", async () => {
    await configure("wasm", emscripten);
    const targets = builds ? ["--target", ...builds] : [];
    await run("cmake", ["--build", "--preset", "wasm", ...targets], { env: emscripten.env });
    embedBuilds(join(root, "build", "wasm"), join(dist, "wasm"), builds);
  });
}

/** Transpiles the package's modules without type checks: about a second, enough to run them. */
export function transpileJs() {
  return build("JavaScript", async () => {
    rmSync(jsStamp, { force: true });
    // Imported late: an earlier step installs it.
    const esbuild = await import("esbuild");
    const sources = filesIn("src/js").filter((file) => /\.ts$/.test(file));
    await esbuild.build({
      entryPoints: sources,
      outbase: join(root, "src", "js"),
      outdir: dist,
      format: "esm",
      target: "es2022",
      logLevel: "warning",
    });
    await bundleWorkers();
  });
}

/** What the package's modules in dist/ were last built from. */
const jsStamp = join(root, "build", "js-made-from");

/** The package: TypeScript to ES modules and their types in dist/, only if its sources have changed. */
export function buildJs() {
  return build("JavaScript", async () => {
    const scripts = ["scripts/build/build.mjs", "scripts/build/types.mjs"];
    const wanted = hashOf([
      "src/js",
      "dist/wasm",
      "tsconfig.json",
      "package-lock.json",
      ...scripts,
    ]);
    const made = [join(dist, "index.js"), join(dist, "types", "index.d.ts")];
    if (made.every(existsSync) && isMadeFrom(jsStamp, wanted)) return;
    rmSync(jsStamp, { force: true });
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const built = capture(process.execPath, [tsc, "-p", "tsconfig.json", "--listEmittedFiles"]);
    const lines = built.stdout.split(/\r?\n/).filter(Boolean);
    const emitted = lines.filter((line) => line.startsWith("TSFILE: "));
    const messages = lines.filter((line) => !line.startsWith("TSFILE: "));
    for (const line of messages) console.log(line);
    if (!built.ok) throw new Failure(`tsc failed ${built.stderr}`.trim());
    removeStale(new Set(emitted.map((line) => resolve(root, line.slice("TSFILE: ".length)))));
    await bundleWorkers();
    await rollUpTypes();
    mkdirSync(dirname(jsStamp), { recursive: true });
    writeFileSync(jsStamp, wanted);
  });
}

/** Bundles the workers' scripts into one file each: some bundlers copy a script without its imports. */
async function bundleWorkers() {
  for (const name of ["worker", "models-worker"]) await bundleWorker(name);
}

async function bundleWorker(name) {
  // Imported late: an earlier step installs it.
  const esbuild = await import("esbuild");
  const worker = join(dist, "worker", `${name}.js`);
  /** Makes the addresses of other scripts relative to the bundle. */
  const addresses = {
    name: "addresses",
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        const found = /new URL\("([^"]+)", import\.meta\.url\)/g;
        const contents = readFileSync(path, "utf8").replace(found, (_, address) => {
          const to = relative(dirname(worker), resolve(dirname(path), address));
          return `new URL("${to.replaceAll("\\", "/")}", import.meta.url)`;
        });
        return { contents };
      });
    },
  };
  await esbuild.build({
    entryPoints: [worker],
    outfile: worker,
    allowOverwrite: true,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    logLevel: "warning",
    plugins: [addresses],
  });
}

/** Removes files from dist/ whose source is gone; the folders of the core, the page and the rolled-up types are left alone. */
function removeStale(emitted, folder = dist) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (folder === dist && ["types", "wasm", "web"].includes(entry.name)) continue;
    if (entry.isDirectory()) removeStale(emitted, path);
    else if (!emitted.has(path)) rmSync(path);
  }
}

/** The page: web/ and the package in dist/web/, and the API reference in dist/web/api/. */
export async function buildPage() {
  await build("Page", async () => {
    const vite = join(root, "node_modules", "vite", "bin", "vite.js");
    await run(process.execPath, [vite, "build", "--config", "web/vite.config.mjs"]);
  });
  await buildApi();
}

/** Vite plugin: replaces each missing build of the core with a module that throws when it is loaded. */
const absentBuilds = {
  name: "zeropoint-absent-builds",
  resolveId: (id, importer) =>
    /\/wasm\/[\w-]+\.js$/.test(id) && !existsSync(join(dirname(importer ?? ""), id))
      ? `\0absent ${id}`
      : undefined,
  load: (id) =>
    id.startsWith("\0absent ")
      ? `throw new Error("npm start makes no ${id.slice(8)}; npm run build does"); export default [];`
      : undefined,
};

/** Builds the page only, with those builds of the core that exist. */
export function buildPageAlone() {
  return build("Page", async () => {
    const vite = await import("vite");
    await vite.build({
      configFile: join(root, "web", "vite.config.mjs"),
      plugins: [absentBuilds],
      // Vite bundles workers separately, with a separate list of plugins.
      worker: { plugins: () => [absentBuilds] },
    });
  });
}

/** The API reference in dist/web/api/. */
export function buildApi() {
  return build("API reference", async () => {
    cpSync(await buildApiPages(), join(dist, "web", "api"), { recursive: true });
  });
}

/** Builds the API reference in its own folder, only if its sources have changed. */
async function buildApiPages() {
  const folder = join(root, "build", "api");
  const stamp = join(root, "build", "api-made-from");
  const sources = [
    "docs",
    "src/js",
    "web/api",
    "web/build/api.mjs",
    "web/public/icon.svg",
    "web/styles/tokens.css",
    "tsconfig.json",
    "package-lock.json",
  ];
  const wanted = hashOf(sources);
  if (isMadeFrom(stamp, wanted)) return folder;
  // Imported late: an earlier step installs TypeDoc.
  const typedoc = await import("../../web/build/api.mjs");
  rmSync(stamp, { force: true });
  rmSync(folder, { recursive: true, force: true });
  await typedoc.buildApi(folder);
  writeFileSync(stamp, wanted);
  return folder;
}

/** A hash of files and of all files in folders, with their names. */
function hashOf(names) {
  const hash = createHash("sha256");
  for (const file of names.flatMap(filesIn)) hash.update(file).update(readFileSync(file));
  return hash.digest("hex");
}

/** Whether a file holds the hash of what a result was last made from. */
const isMadeFrom = (stamp, wanted) => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;

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

async function main(names) {
  const known = ["core", "js", "page", "api"];
  const parts = names.length > 0 ? names : ["core", "js", "page"];
  const unknown = parts.find((part) => !known.includes(part));
  if (unknown) throw new Failure(`build takes ${known.join(", ")}, got ${unknown}`);
  const { emscripten } = await setUp(parts.includes("core") ? ["core"] : []);
  if (parts.includes("core")) await buildCore(emscripten);
  if (parts.includes("js")) await buildJs();
  if (parts.includes("page")) await buildPage();
  else if (parts.includes("api")) await buildApi();
}

await runAsScript(import.meta.url, main, HELP);
