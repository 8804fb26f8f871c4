// Memory of layers: growth of the process and of the core's heap by work on a large weight, in units of what the
// work must keep. Each case runs in a process of its own, after a small one of its kind.

import { memoryUsage, resourceUsage } from "node:process";
import { fileURLToPath } from "node:url";
import { capture, Failure } from "../../scripts/process/run.mjs";

const MIB = 2 ** 20;
const K = 4096;

/** Cases by title: bytes that stay, the work on `rows` rows, and the part of them that it may take at most. */
const CASES = {
  "QuantizedLinear of int8 codes": { bits: 8, most: 1.15, run: ofCodes("int8") },
  "QuantizedLinear of int4 codes": { bits: 4, most: 1.15, run: ofCodes("int4") },
  "QuantizedLinear of a float32 weight, int8": { bits: 8, most: 1.15, run: ofFloats("int8") },
  "QuantizedLinear of a float32 weight, int4": { bits: 4, most: 1.15, run: ofFloats("int4") },
  "linear with a float32 weight": { bits: 32, most: 0.15, run: floatLinear },
};

const MEBIBYTES = { full: 200, quick: 100, smoke: 1 };

function ofCodes(dtype) {
  return ({ QuantizedLinear }, rows) => {
    const weight = {
      data: new Int8Array(rows * K).fill(3),
      shape: [rows, K],
      dtype,
      scale: new Float32Array(rows).fill(0.1),
      zeroPoint: new Int32Array(rows),
      axis: 0,
    };
    return () => new QuantizedLinear(weight);
  };
}

function ofFloats(dtype) {
  return ({ QuantizedLinear }, rows) => {
    const weight = { data: new Float32Array(rows * K).fill(0.5), shape: [rows, K] };
    return () => new QuantizedLinear(weight, { dtype, axis: 0 });
  };
}

function floatLinear({ linear }, rows) {
  const weight = { data: new Float32Array(rows * K).fill(0.5), shape: [rows, K] };
  const x = { data: new Float32Array(K).fill(1), shape: [1, K] };
  return () => linear(x, weight);
}

/** Bytes of the process, after a collection, and of the core's heap. */
function held(core) {
  globalThis.gc();
  return { process: memoryUsage().rss, heap: core.module.HEAPU8.length };
}

async function measureHere(title, mebibytes) {
  const zeropoint = await import("../../dist/index.js");
  const { activeCore } = await import("../internal/core.mjs");
  await zeropoint.init({ build: "baseline" });
  const core = activeCore("memory");
  const { bits, run } = CASES[title];
  run(zeropoint, 16)()?.dispose?.();
  const work = run(zeropoint, (mebibytes * MIB * 8) / bits / K);
  const before = held(core);
  const result = work();
  // Linux counts the largest size of a process in KiB.
  const peak = resourceUsage().maxRSS * 1024;
  const after = held(core);
  result.dispose?.();
  return { title, mebibytes, before, after, peak };
}

/**
 * The cases' figures.
 * @param {"full" | "quick" | "smoke"} sizes
 */
export function measureMemory(sizes) {
  const file = fileURLToPath(import.meta.url);
  return Object.keys(CASES).map((title) => {
    const args = ["--expose-gc", file, title, String(MEBIBYTES[sizes] ?? MEBIBYTES.quick)];
    const { ok, stdout, stderr } = capture(process.execPath, args);
    if (!ok) throw new Failure(`memory of ${title}: ${stderr}`);
    return { ...JSON.parse(stdout), most: CASES[title].most };
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [title, mebibytes] = process.argv.slice(2);
  console.log(JSON.stringify(await measureHere(title, Number(mebibytes))));
}
