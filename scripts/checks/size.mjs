// Measures the download of a page: the package's entries and examples with a build of the core, bundled and
// minified; plain, with gzip and with brotli, each file compressed separately.
//
//   npm run size [-- --check]     prints the table of docs/sizes.md; --check fails if a budget is exceeded

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { buildCore, buildJs } from "../build/build.mjs";
import { Failure, root, runAsScript } from "../process/run.mjs";
import { setUp } from "../toolchain/setup.mjs";

/** The exports in the README's first example. */
const EXAMPLE = [
  "init",
  "tensor",
  "quantize",
  "dequantize",
  "quantizationError",
  "QuantizedLinear",
];

const OBSERVERS = [
  "MinMaxObserver",
  "MovingAverageMinMaxObserver",
  "PerChannelMinMaxObserver",
  "MovingAveragePerChannelMinMaxObserver",
  "HistogramObserver",
  "PlaceholderObserver",
  "NoopObserver",
  "RecordingObserver",
];

/** Rows of the table with a limit in bytes, with brotli. */
const EVERYTHING = "`zeropoint`, every export";
const ONLY_EXAMPLE = "`zeropoint`, README's first example";
const WITH_OBSERVERS = "`zeropoint`, README's example and all observers";
const TORCH = "`zeropoint/torch`, every export";
const WITH_SEARCH = "`zeropoint`, README's example and `VectorIndex`";
const MODELS = "`zeropoint/models`, every export";
const analyzing = (format) => `\`openModel\`, \`analyze\`, \`plan\`: ${format}`;
const converting = (format) => `\`openModel\`, \`quantizeModel\`: ${format}`;
// The core of every line holds the search of vectors (8.9 kB, of which scans for two queries at a time are 0.7 kB), and
// zeropoint/models keeps indexes in files (6 kB).
// zeropoint/torch holds the primitives of torchao (4.3 kB).
// The lines of safetensors hold the layouts of bitsandbytes, ComfyUI, Quark and DeepSeek-V4, and the search for weights that no
// layout claims, among them those whose scales an index leaves out or tiles hold (7 kB); all lines of `zeropoint/models` hold the refusal of such weights, Python's JSON (1 kB), and the axes, matrices and stacks of experts (0.9 kB). Lines that write hold the CRC-32
// of what streams gave (0.3 kB), and all exports the comparison of files with it and with written ones (0.5 kB). Lines that analyze
// hold the writer of their format, whose file they measure (11 to 19 kB). Writers compare values with
// written ones (1 kB), and the writer of ONNX dequantizes weights to quantize them again (4 kB).
export const BUDGETS = {
  [ONLY_EXAMPLE]: 96_300,
  [WITH_OBSERVERS]: 100_800,
  [WITH_SEARCH]: 104_200,
  [EVERYTHING]: 106_500,
  [TORCH]: 112_500,
  [MODELS]: 163_000,
  [analyzing("safetensors")]: 153_500,
  [analyzing("GGUF")]: 134_900,
  [analyzing("ONNX")]: 153_900,
  [converting("safetensors")]: 130_100,
  [converting("GGUF")]: 109_900,
  [converting("ONNX")]: 130_800,
};

/** Modules that zeropoint/models downloads when a file of a format is read, analyzed or written. */
const CHUNKS = {
  safetensors: {
    read: ["models/stored/checkpoints"],
    analyze: ["models/quantize/safetensors/write"],
    write: ["models/quantize/safetensors/write"],
  },
  GGUF: {
    read: ["formats/gguf/read"],
    analyze: ["models/quantize/gguf/writer"],
    write: ["models/quantize/gguf/writer"],
  },
  ONNX: {
    read: ["formats/onnx/read", "models/stored/onnx"],
    analyze: ["models/quantize/onnx/index"],
    write: ["models/quantize/onnx/index"],
  },
};

/** A build of the core as text, in a separate chunk. */
const CORE = /(?:^|\/)dist\/wasm\/([\w-]+)\.js$/;
const BUILDS = ["baseline", "relaxed", "baseline-threads", "relaxed-threads"];
/** Starts the workers of builds with threads. */
const START_WORKERS = /(?:^|\/)start-workers\.js$/;

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

/** A file's sizes in bytes. Each file is compressed separately, as a server does. */
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

/** Plugin: leaves dynamically imported chunks out of the bundle. */
const withoutChunks = {
  name: "without-chunks",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind }) => ({ external: kind === "dynamic-import" }));
  },
};

/**
 * Bundles a module; measures the files loaded with it, and the files loaded later for each build of the core.
 * @param later  modules that are loaded dynamically, counted with the first files
 * @throws {Error} if one of them is no chunk
 * esbuild puts modules shared by chunks into an extra file; Rollup, Vite and webpack keep them in the entry,
 * and so does this measurement.
 */
async function bundle(source, later = []) {
  // Imported late: an earlier step installs it.
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
  /** A chunk and all that it imports statically, without the files already loaded. */
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
  const loaded = new Set(first);
  for (const module of later) {
    const entry = `dist/${module}.js`;
    const name = Object.keys(outputs).find((each) => outputs[each].entryPoint === entry);
    if (name === undefined) throw new Error(`no chunk of ${entry}`);
    for (const each of closure(name, first)) loaded.add(each);
  }
  const more = total([...loaded].filter((name) => !first.has(name)));
  const chunks = new Map();
  let threads = [];
  for (const [name, { entryPoint }] of Object.entries(outputs)) {
    if (START_WORKERS.test(entryPoint ?? "")) threads = closure(name, loaded);
    const build = CORE.exec(entryPoint ?? "")?.[1];
    if (build !== undefined) chunks.set(build, closure(name, loaded));
  }
  return {
    first: add(sizesOf(alone.outputFiles[0].contents), more),
    builds: BUILDS.map((build) => {
      const chunk = chunks.get(build);
      // An entry without chunks loads the binary as a file.
      const file = join(root, "dist", "wasm", `${build}.wasm`);
      const core = chunk ? total(chunk) : sizesOf(readFileSync(file));
      const more = build.endsWith("-threads") ? total(threads) : NO_SIZE;
      return { build, ...add(core, more) };
    }),
  };
}

/** All rows of the table: `{ what, build, minified, gzip, brotli }`, sizes in bytes. */
export async function measure() {
  const rows = [];
  const addRows = async (what, source, wanted = ["baseline"], later = []) => {
    const { first, builds } = await bundle(source, later);
    for (const { build, ...core } of builds) {
      if (wanted.includes(build)) rows.push({ what, build, ...add(first, core) });
    }
  };
  const only = (names, entry = "zeropoint") => `export { ${names.join(", ")} } from "${entry}";`;
  await addRows(ONLY_EXAMPLE, only(EXAMPLE));
  await addRows(WITH_OBSERVERS, only(EXAMPLE) + only(OBSERVERS, "zeropoint/torch"));
  await addRows(WITH_SEARCH, only(EXAMPLE) + only(["VectorIndex"], "zeropoint/search"));
  await addRows(EVERYTHING, 'export * from "zeropoint";', BUILDS);
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const entry of Object.keys(exports)) {
    if (entry === "." || !exports[entry].types || entry.endsWith(".wasm")) continue;
    const name = entry.replace(/^\./, "zeropoint");
    await addRows(`\`${name}\`, every export`, `export * from "${name}";`);
  }
  const modelsOnly = (names) => `${only(["init"])} export { ${names} } from "zeropoint/models";`;
  for (const [format, { read, analyze, write }] of Object.entries(CHUNKS)) {
    const analysis = modelsOnly("openModel, analyze, plan");
    await addRows(analyzing(format), analysis, ["baseline"], [...read, ...analyze]);
    const conversion = modelsOnly("openModel, quantizeModel");
    await addRows(converting(format), conversion, ["baseline"], [...read, ...write]);
  }
  const connected = `${only(EXAMPLE)} export { connect } from "zeropoint/worker";`;
  await addRows("`zeropoint`, README's example and `connect`", connected);
  for (const [file, what] of [
    ["worker", "the script of `connect`'s worker"],
    ["models-worker", "the same with `zeropoint/models`"],
  ]) {
    const script = readFileSync(join(root, "dist", "worker", `${file}.js`));
    rows.push({ what, build: "any", ...sizesOf(script) });
  }
  return rows;
}

/** The rows above their budget. @throws {Error} if a budget has no row */
export function tooLarge(rows, budgets = BUDGETS) {
  for (const what of Object.keys(budgets)) {
    if (!rows.some((row) => row.what === what)) throw new Error(`nothing measured for ${what}`);
  }
  return rows.filter(({ what, brotli }) => brotli > budgets[what]);
}

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

/** The table of docs/sizes.md. */
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
  const budgets = Object.entries(BUDGETS).map(([what, most]) => `${what} ${kilobytes(most)}`);
  const over = tooLarge(rows);
  if (over.length === 0) {
    console.log(`Within the budgets, with brotli: ${budgets.join("; ")}.`);
    return;
  }
  const message = over.map(
    ({ what, build, brotli }) =>
      `${what}, ${build}: ${kilobytes(brotli)} of ${kilobytes(BUDGETS[what])}`,
  );
  const line = `above the budget: ${message.join("; ")}`;
  if (args.includes("--check")) throw new Failure(line);
  console.log(line);
});
