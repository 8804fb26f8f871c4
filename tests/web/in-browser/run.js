// Runs one file of the JavaScript tests, on one build: /run?file=…&build=…

import { isNodeOnly } from "./node-only.js";
import { runAll } from "./node-test.js";

const parameters = new URLSearchParams(location.search);
const file = parameters.get("file");
const build = parameters.get("build");

/** Simulates an engine without relaxed SIMD, as far as a page can detect it. */
function hideRelaxedSimd() {
  const { validate } = WebAssembly;
  // Relaxed instructions are the prefix 0xfd and numbers from 0x100 on, in LEB128.
  const isRelaxed = (/** @type {number} */ byte, /** @type {number} */ i, /** @type {any} */ all) =>
    byte === 0xfd && all[i + 1] >= 0x80 && all[i + 1] <= 0x93 && all[i + 2] === 0x02;
  WebAssembly.validate = (bytes) => {
    const all = new Uint8Array(ArrayBuffer.isView(bytes) ? bytes.buffer : bytes);
    return !all.some(isRelaxed) && validate(bytes);
  };
}

async function run() {
  if (build === "baseline") hideRelaxedSimd();
  const { create } = await import("/dist/index.js");
  const { build: loaded } = await create();
  try {
    await import(`/${file}`);
  } catch (error) {
    if (!isNodeOnly(error)) throw error;
    return { loaded, results: [{ name: "the file", outcome: "Node only", reason: String(error) }] };
  }
  return { loaded, results: await runAll() };
}

globalThis.finished = run().catch((error) => ({ error: `${error}\n${error.stack}` }));
