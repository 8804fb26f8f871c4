// What threads.test.mjs lets a page, or a worker of a page, do with the library's threads.

import { create, init, tensor } from "zeropoint";
import { loadBuild } from "../../../dist/build.js";
import { embedded } from "../../../dist/embedded.js";

const isPage = typeof document === "object";

/** Every worker that was started here. */
const workers = [];
globalThis.Worker = class extends Worker {
  constructor(...parameters) {
    super(...parameters);
    workers.push(this);
  }
};

const load = (threads) => loadBuild("test", embedded, { build: "auto", threads });

/** Lets all threads of a core compute, and says how many of the parts came out right. */
function compute(core, parts, steps) {
  const [out] = core.memory.layOut("test", 4 * parts);
  core.memory.write("Uint32Array", out, new Uint32Array(parts).fill(0xdead));
  core.module.proveWorkers(out, parts, steps);
  const states = new Uint32Array(parts);
  core.memory.read(out, states);
  core.memory.end();
  return states.filter((state, part) => {
    let expected = part;
    for (let step = 0; step < steps; step++) {
      expected = (Math.imul(expected, 1664525) + 1013904223) >>> 0;
    }
    return state === expected;
  }).length;
}

/** Bits of what an instance computes: every instance's must be the same. */
function results({ quantize, dequantize, linear, QuantizedLinear }) {
  const wave = (n, step) => Float32Array.from({ length: n }, (_, i) => Math.sin(i * step));
  const x = tensor(wave(33 * 64, 0.37), [33, 64]);
  const w = tensor(wave(96 * 64, 0.11), [96, 64]);
  const layer = new QuantizedLinear(w, { axis: 0 });
  const dynamic = new QuantizedLinear(w, { activations: "dynamic" });
  const all = [
    layer.forward(x),
    dynamic.forward(x),
    linear(x, w),
    dequantize(quantize(x, { groupSize: 32 })),
  ].flatMap(({ data }) => [...new Uint32Array(data.buffer, data.byteOffset, data.length)]);
  layer.dispose();
  dynamic.dispose();
  return all.reduce((hash, bits) => (Math.imul(hash, 31) + bits) >>> 0, all.length);
}

const scenarios = {
  /** An instance's threads, and what it computes beside one of one thread. */
  async instance({ threads }) {
    const [one, many] = [await create(), await create({ threads })];
    const seen = {
      isIsolated: globalThis.crossOriginIsolated,
      threads: many.threads,
      reason: many.reason ?? null,
      started: workers.length,
      isSame: results(one) === results(many),
    };
    many.dispose();
    return seen;
  },

  /** Many calls of init at once, and how many workers that starts. */
  async init({ threads }) {
    const calls = [init({ threads }), init({ threads }), init(), init({ threads })];
    const answers = await Promise.all(calls);
    return { answers, later: await init({ threads }), started: workers.length };
  },

  /** Workers that end between calls. */
  async ended() {
    const core = await load(4);
    const right = [compute(core, 1000, 10)];
    workers[0].terminate();
    right.push(compute(core, 1000, 10));
    for (const worker of workers) worker.terminate();
    right.push(compute(core, 1000, 10));
    core.dispose();
    return { right, usable: results(await create({ threads: 2 })) === results(await create()) };
  },

  /** Workers that end while they compute: the browser ends them late, in the midst of their parts. */
  async endedInTheMidst() {
    const right = [];
    for (let round = 0; round < 3; round++) {
      workers.length = 0;
      const core = await load(3);
      for (const worker of workers) worker.terminate();
      right.push(compute(core, 50, 1e5), compute(core, 1000, 10));
      core.dispose();
    }
    return { right, usable: results(await create({ threads: 2 })) === results(await create()) };
  },

  /** A call of a second or more, which begins when this has answered; then a short one. */
  async longCall() {
    const core = await load(2);
    globalThis.longCall = new Promise((resolve) => {
      setTimeout(() => resolve([compute(core, 64, 1e7), compute(core, 1000, 10)]));
    });
    return core.threads;
  },

  /** Many instances, each on threads of its own, in turns. */
  async many() {
    const counts = [1, 2, 3, 2, 4, 2];
    const cores = await Promise.all(counts.map((threads) => load(threads)));
    const right = [];
    for (let round = 0; round < 10; round++) {
      for (const core of cores) if (core.threads > 1) right.push(compute(core, 64, round));
      if (round === 4) cores[1].dispose();
      if (round === 6) for (const worker of workers.slice(0, 2)) worker.terminate();
    }
    const threads = cores.map((core) => core.threads);
    for (const core of cores) core.dispose();
    return { threads, wrong: right.filter((count) => count !== 64).length, calls: right.length };
  },

  /** A scenario in a worker of the page's own, which the library's workers are nested in. */
  async inWorker({ scenario, options }) {
    const worker = startSelf();
    const answer = await new Promise((resolve) => {
      worker.addEventListener("message", ({ data }) => resolve(data));
      worker.postMessage({ scenario, options });
    });
    worker.terminate();
    return answer;
  },

  /** A worker with the library, which the page ends in the midst of a call; then the page goes on. */
  async endedOwner() {
    const mine = await load(2);
    const worker = startSelf();
    await new Promise((resolve) => {
      worker.addEventListener("message", resolve);
      worker.postMessage({ scenario: "longCall" });
    });
    // The worker now computes for seconds, on two threads.
    const right = [compute(mine, 1000, 10)];
    worker.terminate();
    right.push(compute(mine, 1000, 10));
    mine.dispose();
    return { right, usable: results(await create({ threads: 2 })) === results(await create()) };
  },
};

function startSelf() {
  const policy = globalThis.trustedTypes?.createPolicy("test", { createScriptURL: (url) => url });
  const url = import.meta.url;
  return new Worker(policy ? policy.createScriptURL(url) : url, { type: "module" });
}

const run = (scenario, options = {}) =>
  scenarios[scenario](options).catch((error) => ({ error: `${error}\n${error.stack}` }));

if (isPage) globalThis.run = run;
else {
  globalThis.addEventListener("message", async ({ data: { scenario, options } }) => {
    globalThis.postMessage(await run(scenario, options));
  });
}
