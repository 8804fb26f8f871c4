// All cases in one engine: sets up the contestants, times them in turn, and checks their results.

import { analysisEntries } from "./cases/analysis.mjs";
import { blockEntries } from "./cases/blocks.mjs";
import { elementwiseEntries, GRANULARITIES } from "./cases/elementwise.mjs";
import { coldEntries, FORMATS, linearEntries } from "./cases/linear.mjs";
import { modelEntries } from "./cases/models.mjs";
import { smallEntries } from "./cases/small.mjs";
import { workerEntries } from "./cases/worker.mjs";
import { zeropointInstances } from "./contestants/zeropoint.mjs";
import { LIMITS, limitKernels } from "./limits/limits.mjs";
import { race } from "./measure.mjs";

/**
 * @typedef {object} Sizes
 * @property {{ m: number, k: number, n: number }[]} shapes
 * @property {string[]} [formats]       of the linear layers; default: all
 * @property {{ rows: number, features: number }[]} models
 * @property {number[]} elementwise     shape of the large tensor
 * @property {string[]} granularities
 * @property {number[]} [blocks]        shape of the tensor in block types; its rows are whole blocks
 * @property {{ k: number, n: number, bytes: number }} [cold]
 * @property {{ rows: number, columns: number, tensors: number }} [analysis]  shape of a weight, and tensors of a plan
 * @property {{ rows: number, columns: number }} [worker]  shape of the large tensors of connections
 * @property {number} bandwidthBytes    bytes of memory that the limits read and copy
 * @property {number} [instructions]    per run of a limit
 * @property {number} [threads]         only instances of so many threads
 * @property {import("./measure.mjs").Pace} pace
 */

/** @type {Record<string, Sizes>} */
export const SIZES = {
  full: {
    shapes: [
      { m: 1, k: 4096, n: 4096 },
      { m: 1, k: 1024, n: 4096 },
      { m: 16, k: 1024, n: 1024 },
      { m: 128, k: 1024, n: 1024 },
      { m: 512, k: 768, n: 3072 },
      { m: 7, k: 333, n: 129 },
    ],
    models: [
      { rows: 1, features: 1024 },
      { rows: 64, features: 1024 },
    ],
    elementwise: [4096, 4096],
    granularities: Object.keys(GRANULARITIES),
    blocks: [4096, 4096],
    cold: { k: 4096, n: 4096, bytes: 64 * 2 ** 20 },
    worker: { rows: 4096, columns: 4096 },
    analysis: { rows: 2048, columns: 4096, tensors: 100_000 },
    bandwidthBytes: 64 * 2 ** 20,
    pace: { rounds: 9, sampleMs: 20, warmUpMs: 60, budgetMs: 1200 },
  },
  quick: {
    shapes: [
      { m: 1, k: 4096, n: 4096 },
      { m: 128, k: 1024, n: 1024 },
    ],
    formats: ["w8a32-channel", "w4a32-group32", "w8a32-float32", "w8a8-dynamic", "float32"],
    models: [
      { rows: 1, features: 1024 },
      { rows: 64, features: 1024 },
    ],
    elementwise: [1024, 4096],
    granularities: ["tensor"],
    bandwidthBytes: 64 * 2 ** 20,
    pace: { rounds: 5, sampleMs: 8, warmUpMs: 20, budgetMs: 80 },
  },
  // For the second engine of a quick run.
  "quick-node": {
    shapes: [{ m: 1, k: 4096, n: 4096 }],
    formats: ["w8a32-channel", "w8a8-dynamic", "float32"],
    models: [],
    elementwise: [2048, 4096],
    granularities: [],
    bandwidthBytes: 64 * 2 ** 20,
    pace: { rounds: 5, sampleMs: 5, warmUpMs: 20, budgetMs: 100 },
  },
  // For a visitor's browser, whose clock may be coarse.
  page: {
    shapes: [
      { m: 1, k: 2048, n: 2048 },
      { m: 64, k: 1024, n: 1024 },
    ],
    formats: ["w8a32-channel", "w8a32-group32", "w4a32-group32", "w8a8-dynamic"],
    models: [],
    elementwise: [1024, 4096],
    granularities: ["tensor"],
    bandwidthBytes: 32 * 2 ** 20,
    pace: { rounds: 5, sampleMs: 20, warmUpMs: 40, budgetMs: 200 },
  },
  // The default beside both builds, in layers alone, on one thread. Many short samples: on a busy machine the fastest
  // ones are still those of the processor.
  builds: {
    shapes: [
      { m: 1, k: 2048, n: 2048 },
      { m: 16, k: 512, n: 512 },
      { m: 64, k: 512, n: 512 },
    ],
    formats: Object.keys(FORMATS).filter((format) => !format.startsWith("float32")),
    models: [
      { rows: 1, features: 1024 },
      { rows: 16, features: 512 },
    ],
    threads: 1,
    elementwise: [64, 64],
    granularities: [],
    bandwidthBytes: 16 * 2 ** 20,
    pace: { rounds: 101, sampleMs: 1, warmUpMs: 20 },
  },
  smoke: {
    shapes: [
      { m: 1, k: 64, n: 48 },
      { m: 3, k: 37, n: 5 },
    ],
    models: [{ rows: 3, features: 40 }],
    elementwise: [16, 256],
    granularities: Object.keys(GRANULARITIES),
    blocks: [16, 256],
    cold: { k: 64, n: 64, bytes: 2 ** 14 },
    worker: { rows: 512, columns: 768 },
    analysis: { rows: 32, columns: 256, tensors: 100 },
    bandwidthBytes: 2 ** 16,
    instructions: 20_000,
    pace: { rounds: 1, sampleMs: 0.1, warmUpMs: 0, budgetMs: 1 },
  },
};

/**
 * @param {object} engine
 * @param {string} engine.name
 * @param {any} engine.zeropoint                     the package
 * @param {any} engine.torch                         zeropoint/torch
 * @param {{ build: string, load: () => Promise<any> }[]} engine.cores   the builds without the facade
 * @param {any} [engine.models]                      zeropoint/models
 * @param {any} [engine.connect]                     of zeropoint/worker
 * @param {any} [engine.ort]
 * @param {any} [engine.tf]
 * @param {Record<string, () => Promise<WebAssembly.Module>>} engine.limits
 * @param {Sizes} sizes
 * @param {(line: string) => void} log
 * @param {(results: import("./suite.d.mts").CaseResults) => void} [onCase]  called after each case
 */
export async function runSuite(engine, sizes, log, onCase = () => {}) {
  const { instances, unavailable } = await zeropointInstances(
    engine.zeropoint,
    engine.torch,
    sizes.threads,
  );
  const heaps = [];
  for (const { build, load } of engine.cores) {
    // Skip a build that `create` refuses.
    if (!instances.some((instance) => instance.build === build)) continue;
    try {
      heaps.push({ build, core: await load() });
    } catch (error) {
      unavailable.push({ name: `zeropoint ${build}, in its heap`, reason: error.message });
    }
  }
  const { ort, tf, connect, models, zeropoint } = engine;
  const contestants = { zeropoint: instances, heaps, ort, tf, connect };
  // Kernel choice affects layers only: elsewhere, "auto" equals one of the builds.
  const builds = instances.filter(({ build }) => build !== "auto");
  const withoutAuto = { ...contestants, zeropoint: builds };
  const auto = instances.find(({ build }) => build === "auto");
  const choice = auto && { build: auto.chosen, kernels: auto.kernels };
  if (choice) log(`${engine.name}: auto is ${choice.build} with ${choice.kernels} kernels`);

  const kernels = [];
  for (const [build, load] of Object.entries(engine.limits)) {
    try {
      kernels.push(
        ...limitKernels(await load(), {
          bytes: sizes.bandwidthBytes,
          instructions: sizes.instructions,
        }),
      );
    } catch (error) {
      unavailable.push({ name: `limits, ${build}`, reason: error.message });
    }
  }
  log(`${engine.name}: limits`);
  const limits = await measureLimits(kernels, sizes.pace);
  for (const [name, { value, unit, by }] of Object.entries(limits)) {
    log(`  ${LIMITS[name].title}: ${value.toFixed(1)} ${unit} (${by})`);
  }
  // The fastest form of each limit runs again in every case.
  const best = Object.values(limits).map(({ kernel }) => kernel);

  const cases = [];
  const results = [];
  const hasAnalysis = models !== undefined && sizes.analysis !== undefined;
  const hasWorker = sizes.worker !== undefined && connect !== undefined;
  const total =
    sizes.shapes.length +
    sizes.models.length +
    (sizes.cold ? 1 : 0) +
    sizes.granularities.length +
    (sizes.blocks ? 1 : 0) +
    1 +
    Number(hasAnalysis) +
    Number(hasWorker);
  const runCase = async (title, make, limitNames) => {
    log(`${engine.name}: ${title}`);
    const { entries, skipped, dispose } = await make();
    for (const skip of skipped) unavailable.push({ ...skip, case: title });
    try {
      for (const entry of entries) await judge(entry, log);
      const runners = entries.filter(({ verdict }) => !verdict.problem);
      const beside = best.filter(({ limit }) => limitNames.includes(limit));
      const timings = await race([...beside, ...runners], sizes.pace);
      const limitsHere = {};
      const bestLimits = {};
      beside.forEach(({ limit, work }, i) => {
        limitsHere[limit] = work / timings[i].median / 1e6;
        bestLimits[limit] = work / Math.min(...timings[i].samples) / 1e6;
      });
      runners.forEach((entry, i) => {
        entry.timing = timings[beside.length + i];
      });
      // Check again: by now the engine runs other, optimized code for the timed calls.
      for (const entry of runners) await judge(entry, log);
      for (const entry of runners) Object.assign(entry, await entry.stall?.());
      cases.push({ title, limits: limitsHere });
      const found = entries.map((entry) => resultOf(title, entry, limitsHere, bestLimits));
      results.push(...found);
      onCase({ title, done: cases.length, total, results: found });
    } finally {
      dispose();
    }
  };

  for (const shape of sizes.shapes) {
    const { m, k, n } = shape;
    await runCase(
      `linear, M = ${m}, K = ${k}, N = ${n}`,
      () => linearEntries(shape, { ...contestants, formats: sizes.formats }),
      ["madd", "muladd", "dot_i8", "dot_i16", "read"],
    );
  }
  if (sizes.cold) {
    await runCase(
      `linear, M = 1, ${sizes.cold.bytes / 2 ** 20} MiB of cold weights`,
      () => coldEntries(sizes.cold, contestants),
      ["madd", "muladd", "read"],
    );
  }
  for (const size of sizes.models) {
    const { rows, features } = size;
    await runCase(
      `model of two ${features} × ${features} layers, ${rows} rows`,
      () => modelEntries(size, contestants),
      [],
    );
  }
  for (const granularity of sizes.granularities) {
    const [rows, columns] = sizes.elementwise;
    await runCase(
      `element-wise, ${rows} × ${columns} values, ${GRANULARITIES[granularity].title}`,
      () => elementwiseEntries({ shape: sizes.elementwise, granularity }, withoutAuto),
      ["read", "copy", "move", "narrow", "widen"],
    );
  }
  if (hasAnalysis) {
    const { rows, columns, tensors } = sizes.analysis;
    await runCase(
      `analysis of ${rows} × ${columns} values`,
      () => analysisEntries({ rows, columns, tensors }, { heaps, zeropoint, models }),
      [],
    );
  }
  if (sizes.blocks) {
    const [rows, columns] = sizes.blocks;
    await runCase(
      `block types, ${rows} × ${columns} values`,
      () => blockEntries({ shape: sizes.blocks }, withoutAuto),
      ["copy"],
    );
  }
  await runCase("small calls", () => smallEntries(withoutAuto), []);
  if (hasWorker) {
    await runCase("connections", () => workerEntries(sizes.worker, withoutAuto), []);
  }

  return {
    engine: engine.name,
    auto: choice,
    limits: Object.fromEntries(
      Object.entries(limits).map(([name, { value, unit, by, forms }]) => [
        name,
        { value, unit, by, forms },
      ]),
    ),
    cases,
    results,
    unavailable,
  };
}

/** Checks a contestant's result: sets its `verdict`. */
async function judge(entry, log) {
  try {
    entry.clear?.();
    entry.verdict = entry.judge(await entry.run());
  } catch (error) {
    entry.verdict = { worst: Number.POSITIVE_INFINITY, problem: `it throws ${error.message}` };
  }
  if (entry.verdict.problem) log(`  WRONG: ${entry.name}: ${entry.verdict.problem}`);
}

/** Checks the result of each kernel again, after the other kernels have run. */
function checkAll(kernels) {
  for (const { limit, name, check } of kernels) {
    const problem = check();
    if (problem) throw new Error(`wrong result of the limit ${limit}, ${name}: ${problem}`);
  }
}

/** For each limit, the faster of its forms. */
async function measureLimits(kernels, pace) {
  checkAll(kernels);
  const timings = await race(kernels, pace);
  checkAll(kernels);
  const limits = {};
  kernels.forEach((kernel, i) => {
    const value = kernel.work / timings[i].median / 1e6;
    const { unit } = LIMITS[kernel.limit];
    limits[kernel.limit] ??= { value: 0, unit, forms: {} };
    const limit = limits[kernel.limit];
    limit.forms[kernel.name] = value;
    if (value > limit.value) Object.assign(limit, { value, by: kernel.name, kernel });
  });
  return limits;
}

/**
 * The record of an entry, without its functions. `ratio` compares medians; `bestRatio` compares the fastest
 * samples, which are more reliable on a busy machine.
 */
function resultOf(title, entry, limits, bestLimits) {
  const { run, clear, judge, stall, timing, verdict, ...plain } = entry;
  const result = { case: title, ...plain, check: verdict };
  if (!timing) return result;
  const at = (ms) => (plain.unit === "µs" ? ms * 1000 : plain.work / ms / 1e6);
  const quartiles = [at(timing.q1), at(timing.q3)];
  const value = at(timing.median);
  Object.assign(result, {
    timing,
    value,
    low: Math.min(...quartiles),
    high: Math.max(...quartiles),
  });
  const limit = limits[plain.limit];
  if (limit === undefined) return result;
  result.ratio = value / limit;
  result.bestRatio = at(Math.min(...timing.samples)) / bestLimits[plain.limit];
  if (plain.loop !== undefined) result.ratioToRoof = value / limits[plain.loop];
  if (plain.rows === 1) {
    // Two operations per weight read.
    result.weightBandwidth = (value / 2) * (plain.bitsPerWeight / 8);
    // Cold weights cannot be read faster than memory allows.
    const reading = (limits.read * 2 * 8) / plain.bitsPerWeight;
    result.roof = plain.isCold ? Math.min(limit, reading) : limit;
    result.ratioToRoof = value / result.roof;
  }
  return result;
}
