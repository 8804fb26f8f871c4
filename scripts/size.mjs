// Measures what a page downloads: each entry of the package with all its exports and each build of the
// core, bundled and minified; plain, with gzip and with brotli, file by file.
//
//   npm run size [-- --check]     prints the README's table; --check fails if the budget is exceeded

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { buildCore, buildJs } from "./build.mjs";
import { Failure, root, runAsScript } from "./run.mjs";
import { setUp } from "./setup.mjs";

/**
 * What may be downloaded at most, in bytes with brotli: all of "zeropoint" and one build. It holds
 * what is there; the aim is 60 kB, and a change that comes nearer lowers it.
 */
export const BUDGET = 72_400;

/** The README's example, which is what most projects start with. */
const EXAMPLE = [
  "init",
  "tensor",
  "quantize",
  "dequantize",
  "quantizationError",
  "QuantizedLinear",
];

/** The modules of a build of the core. */
const CORE = /(?:^|\/)dist\/(?:core|chunks)\/([\w-]+)(?:\.text)?\.js$/;
/** What starts the workers of builds with threads. */
const START_WORKERS = /(?:^|\/)dist\/start-workers\.js$/;
/** What the asynchronous functions do: a chunk that is loaded when the first of them is called. */
const FORMS = /(?:^|\/)dist\/async\/forms\.js$/;
/** The script of the worker that they start: one file. */
const WORKER = join(root, "dist", "async", "async-worker.js");

const brotli = (bytes) =>
  brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_LGWIN]: 24,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });

const NO_SIZE = { minified: 0, gzip: 0, brotli: 0 };

const add = (a, b) => ({
  minified: a.minified + b.minified,
  gzip: a.gzip + b.gzip,
  brotli: a.brotli + b.brotli,
});

/** A file's sizes, in bytes. Each file is compressed by itself, as a server does. */
export function sizesOf(bytes) {
  return {
    minified: bytes.length,
    gzip: gzipSync(bytes, { level: 9 }).length,
    brotli: brotli(bytes).length,
  };
}

const ESBUILD = {
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  outdir: join(root, "build", "size"),
  absWorkingDir: root,
  write: false,
  logLevel: "error",
};

/** Leaves alone what is loaded later. */
const withoutChunks = {
  name: "without-chunks",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind }) => ({ external: kind === "dynamic-import" }));
  },
};

/**
 * Bundles a module and tells what is loaded with it, and what later: for each build of the core, and
 * for the asynchronous functions. esbuild puts what chunks share into one more file, Rollup, Vite and
 * webpack leave it in the entry; what is loaded with the module is counted as these do it.
 */
async function bundle(source) {
  // Not before it is sure to be installed.
  const { build } = await import("esbuild");
  const stdin = { contents: source, resolveDir: root, sourcefile: "entry.js" };
  const alone = await build({ ...ESBUILD, stdin, plugins: [withoutChunks] });
  const { outputFiles, metafile } = await build({
    ...ESBUILD,
    stdin,
    splitting: true,
    metafile: true,
  });
  const sizes = new Map(
    outputFiles.map(({ path, contents }) => [
      path.slice(root.length + 1).replaceAll("\\", "/"),
      sizesOf(contents),
    ]),
  );
  const { outputs } = metafile;
  /** A chunk and all that it imports before it runs, without what is loaded already. */
  const closure = (name, loaded = new Set(), found = new Set()) => {
    if (loaded.has(name) || found.has(name)) return found;
    found.add(name);
    for (const { path, kind } of outputs[name].imports) {
      if (kind === "import-statement") closure(path, loaded, found);
    }
    return found;
  };
  const total = (names) => [...names].reduce((sum, name) => add(sum, sizes.get(name)), NO_SIZE);
  const first = closure(
    Object.keys(outputs).find((name) => outputs[name].entryPoint === "entry.js"),
  );
  // What each build of the core needs: the module around the binary, and the binary as text or, for an
  // entry that does not bring it, as a file of its own.
  const later = new Map();
  let forms;
  let threads = [];
  for (const [name, { entryPoint }] of Object.entries(outputs)) {
    if (FORMS.test(entryPoint ?? "")) forms = total(closure(name, first));
    if (START_WORKERS.test(entryPoint ?? "")) threads = closure(name, first);
    const build = CORE.exec(entryPoint ?? "")?.[1];
    if (build === undefined || first.has(name)) continue;
    later.set(build, new Set([...(later.get(build) ?? []), ...closure(name, first)]));
  }
  return {
    first: sizesOf(alone.outputFiles[0].contents),
    forms: forms && add(forms, sizesOf(readFileSync(WORKER))),
    builds: [...later].map(([build, names]) => {
      const isWhole = [...names].some((name) => outputs[name].bytes > 50_000);
      const file = join(root, "dist", "core", `${build}.wasm`);
      const binary = isWhole ? NO_SIZE : sizesOf(readFileSync(file));
      const all = build.endsWith("-threads") ? new Set([...names, ...threads]) : names;
      return { build, ...add(total(all), binary) };
    }),
  };
}

/** All rows of the table: `{ what, build, minified, gzip, brotli }`, sizes in bytes. */
export async function measure() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const entries = Object.keys(exports).filter((entry) => exports[entry].types !== undefined);
  const everything = (entry) => `export * from "${entry.replace(/^\./, "zeropoint")}";`;
  const rows = [];
  const addRows = async (what, source, only = () => true) => {
    const { first, builds, forms } = await bundle(source);
    for (const { build, ...core } of builds.filter(({ build }) => only(build))) {
      rows.push({ what, build, ...add(first, core) });
    }
    return forms;
  };
  let asynchronous;
  for (const entry of entries) {
    // Builds for threads are for one entry as for the others.
    const only = (build) => entry === "." || build === "baseline";
    const name = entry.replace(/^\./, "zeropoint");
    const forms = await addRows(`\`${name}\`, every export`, everything(entry), only);
    if (entry === ".") asynchronous = forms;
  }
  const example = `export { ${EXAMPLE.join(", ")} } from "zeropoint";`;
  await addRows("`zeropoint`, the example above", example, (build) => build === "baseline");
  rows.push({ what: "the asynchronous forms, on first use", build: "any", ...asynchronous });
  return rows;
}

/** The rows that the budget is for, and that exceed it. */
export function tooLarge(rows, budget = BUDGET) {
  const counted = rows.filter(({ what }) => what === "`zeropoint`, every export");
  if (counted.length === 0) throw new Error("the main entry loads no build");
  return counted.filter(({ brotli }) => brotli > budget);
}

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

/** The table in the README's form. */
export function table(rows) {
  const lines = rows.map(({ what, build, minified, gzip, brotli }) => {
    const sizes = [minified, gzip, brotli].map(kilobytes);
    return `| ${[what, `\`${build}\``, ...sizes].join(" | ")} |`;
  });
  return [
    "| entry | build | minified | gzip | brotli |",
    "| --- | --- | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}

await runAsScript(import.meta.url, async (args) => {
  if (args.some((arg) => arg !== "--check")) throw new Failure("size takes --check or nothing");
  const { emscripten } = await setUp(["core"]);
  await buildCore(emscripten);
  await buildJs();
  const rows = await measure();
  console.log(`\n${table(rows)}\n`);
  const budget = kilobytes(BUDGET);
  const over = tooLarge(rows);
  if (over.length === 0) {
    console.log(
      `Within the budget: all of zeropoint and one build, at most ${budget} with brotli.`,
    );
    return;
  }
  const message = over.map(({ build, brotli }) => `${build} ${kilobytes(brotli)}`).join(", ");
  const line = `above the budget of ${budget} for all of zeropoint and one build: ${message}`;
  if (args.includes("--check")) throw new Failure(line);
  console.log(line);
});
