// Time from a page's first script to its first result: each engine in a separate page, each time in a fresh browser
// context without a cache. The context shows an empty page first, and the browser's window gets time to load, so
// that starting them is not measured.

import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { root } from "../../scripts/process/run.mjs";
import { summary } from "./measure.mjs";
import { matMul } from "./onnx.mjs";

const folder = join(root, "build", "bench", "start");

/** Time for the browser to load its own window, in milliseconds. */
const SETTLED = 800;

/** Input of every page: four values to quantize. */
const VALUES = "[0.5, -1.5, 2.5, 127]";
const DONE =
  "globalThis.firstResult = { ms: performance.now() - startedAt, values: Array.from(result) };";

const html = (scripts) =>
  `<!doctype html><meta charset="utf-8" /><title>start</title><link rel="icon" href="data:," />\n` +
  `<script>globalThis.startedAt = performance.now();</script>\n${scripts}\n`;
const moduleScript = (src) => `<script type="module" src="${src}"></script>`;

/** The size of a build's binary. */
const coreSize = (build) => statSync(join(root, "dist", "wasm", `${build}.wasm`)).size;

const leb = (value) => {
  const bytes = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest & 127) | 128);
  }
};
const padded = (value) =>
  [0, 7, 14, 21].map((shift) => ((value >> shift) & 127) | (shift < 21 ? 128 : 0));
const section = (id, content) => [id, ...leb(content.length), ...content];

/**
 * A minimal module of the given size: functions of 1 KiB of additions, the first of which is called.
 */
function bareModule(size) {
  const header = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  const addOne = [0x20, 0x00, 0x41, 0x01, 0x6a, 0x21, 0x00]; // local 0 = local 0 + 1
  const bodySize = 1024;
  const adds = Math.floor((bodySize - 4) / addOne.length);
  const body = [0, ...Array.from({ length: adds }, () => addOne).flat(), 0x20, 0x00, 0x0b];
  const count = Math.max(1, Math.round((size - 64) / (body.length + 2)));
  const functions = Array.from({ length: count }, () => [...leb(body.length), ...body]).flat();
  return Uint8Array.from([
    ...header,
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]),
    ...section(3, [...leb(count), ...Array.from({ length: count }, () => 0)]),
    ...section(7, [1, 3, ...new TextEncoder().encode("run"), 0, 0]),
    10,
    ...padded(leb(count).length + functions.length),
    ...leb(count),
    ...functions,
  ]);
}

/** Writes the pages. @returns their names and addresses, and their expected results */
async function writePages(builds, withOthers) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const write = (name, content) => writeFileSync(join(folder, name), content);
  write("empty.html", html(""));
  const pages = [];

  const { build: bundle } = await import("vite");
  /** A page with the package, bundled as in most projects. */
  const addPage = async (name, contestant, build, entry, options) => {
    write(
      `${name}.mjs`,
      `import { init, quantize } from ${JSON.stringify(join(root, "dist", `${entry}.js`))};\n` +
        `await init(${options});\n` +
        `const x = { data: Float32Array.from(${VALUES}), shape: [4] };\n` +
        `const result = quantize(x, { scale: 1, zeroPoint: 0 }).data;\n${DONE}`,
    );
    write(`${name}.html`, html(moduleScript(`./${name}.mjs`)));
    await bundle({
      configFile: false,
      root: folder,
      base: "./",
      logLevel: "error",
      build: {
        target: "es2022",
        outDir: join(folder, name),
        rollupOptions: { input: join(folder, `${name}.html`) },
      },
    });
    pages.push({
      name: `${contestant} ${build}`,
      contestant,
      build,
      page: `${name}/${name}.html`,
      expected: [0, -2, 2, 127],
    });
  };
  for (const build of builds) {
    await addPage(`zeropoint-${build}`, "zeropoint", build, "index", `{ build: "${build}" }`);
    const wasm = '(file) => new URL("/dist/wasm/" + file, location.href)';
    const options = `{ build: "${build}", wasm: ${wasm} }`;
    await addPage(`slim-${build}`, "zeropoint/slim", build, "slim", options);
  }

  const bare = bareModule(coreSize(builds[0]));
  write("bare.wasm", bare);
  write(
    "bare.mjs",
    `const { instance } = await WebAssembly.instantiateStreaming(fetch("bare.wasm"));\n` +
      `const result = [instance.exports.run(-144)];\n${DONE}`,
  );
  write("bare.html", html(moduleScript("bare.mjs")));
  pages.push({
    name: "a bare module of that size",
    contestant: "bare module",
    page: "bare.html",
    expected: [1],
  });

  if (withOthers) {
    const at = "/tests/bench/node_modules";
    const weights = Float32Array.from([2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2]);
    write("model.onnx", matMul({ m: 1, k: 4, n: 4 }, weights));
    write(
      "ort.mjs",
      `import * as ort from "${at}/onnxruntime-web/dist/ort.wasm.min.mjs";\n` +
        `ort.env.wasm.numThreads = 1;\n` +
        `const session = await ort.InferenceSession.create("model.onnx", { executionProviders: ["wasm"] });\n` +
        `const x = new ort.Tensor("float32", Float32Array.from(${VALUES}), [1, 4]);\n` +
        `const result = (await session.run({ x })).y.data;\n${DONE}`,
    );
    write("ort.html", html(moduleScript("ort.mjs")));
    pages.push({
      name: "onnxruntime-web",
      contestant: "onnxruntime-web",
      page: "ort.html",
      expected: [1, -3, 5, 254],
    });

    const tfScripts = [
      "tfjs-core/dist/tf-core.min.js",
      "tfjs-backend-wasm/dist/tf-backend-wasm.min.js",
    ];
    write(
      "tf.mjs",
      `const { tf } = globalThis;\n` +
        `tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);\n` +
        `tf.wasm.setWasmPaths("${at}/@tensorflow/tfjs-backend-wasm/dist/");\n` +
        `await tf.setBackend("wasm");\n` +
        `const result = tf.mul(tf.tensor1d(${VALUES}), 2).dataSync();\n${DONE}`,
    );
    write(
      "tf.html",
      html(
        tfScripts.map((name) => `<script src="${at}/@tensorflow/${name}"></script>`).join("\n") +
          moduleScript("tf.mjs"),
      ),
    );
    pages.push({
      name: "tfjs wasm",
      contestant: "tfjs",
      page: "tf.html",
      expected: [1, -3, 5, 254],
    });
  }
  return pages;
}

const gzipSize = (files) =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0);

/**
 * @param {import("puppeteer-core").Browser} browser
 * @param {{ url: string, served: string[] }} server
 * @param {{ builds: string[], withOthers: boolean, rounds: number }} options
 */
export async function measureStart(browser, server, { builds, withOthers, rounds }) {
  const pages = await writePages(builds, withOthers);
  const samples = pages.map(() => []);
  const verdicts = pages.map(() => ({ worst: 0 }));
  const sizes = [];
  for (let round = 0; round < rounds; round++) {
    for (const [i, { page: name, expected }] of pages.entries()) {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await page.goto(`${server.url}build/bench/start/empty.html`);
      await sleep(SETTLED);
      server.served.length = 0;
      await page.goto(`${server.url}build/bench/start/${name}`);
      await page.waitForFunction(() => globalThis.firstResult, { timeout: 30_000, polling: 50 });
      const { ms, values } = await page.evaluate(() => globalThis.firstResult);
      await context.close();
      samples[i].push(ms);
      sizes[i] ??= gzipSize(server.served.filter((file) => /\.(m?js|wasm)$/.test(file)));
      if (expected.some((value, j) => value !== values[j])) {
        verdicts[i] = { worst: Number.POSITIVE_INFINITY, problem: `its first result is ${values}` };
      }
    }
  }
  const timings = samples.map((values) => summary(values));
  const bare = timings[pages.findIndex(({ contestant }) => contestant === "bare module")].median;
  return pages.map(({ name, contestant, build }, i) => ({
    case: "a page's first script to its first result",
    operation: "start",
    name,
    title: name,
    contestant,
    build,
    // Left out for the bare module: its repetitive content compresses to nothing.
    gzip: contestant === "bare module" ? undefined : sizes[i],
    unit: "ms",
    timing: timings[i],
    value: timings[i].median,
    low: timings[i].q1,
    high: timings[i].q3,
    ratio: timings[i].median / bare,
    check: verdicts[i],
  }));
}
