// Scenarios of threads.test.mjs for the library's threads in a page, or in a worker of a page.

import { create, init, tensor } from "zeropoint";
import { embedded, loadBuild } from "../../internal/core.mjs";

const isPage = typeof document === "object";

/** Every worker started in this realm. */
const workers = [];
/** A word in memory shared with the page: 1 while this thread is in a worker's constructor. */
let constructing = new Int32Array(1);
globalThis.Worker = class extends Worker {
  constructor(...parameters) {
    Atomics.store(constructing, 0, 1);
    super(...parameters);
    Atomics.store(constructing, 0, 0);
    workers.push(this);
  }
};

/** Milliseconds after which a worker of the page counts as hanging. */
const ANSWER_LIMIT = 30_000;

const load = (threads) => loadBuild("test", embedded, { build: "auto", threads });

/** Runs a job on all threads of a core, and returns the number of correct parts. */
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

/** Bits of an instance's results, equal for all instances. */
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
  /** An instance's threads, and its results compared with an instance of one thread. */
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

  /** Many concurrent calls of init, and the number of workers they start. */
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

  /** Workers that end during a computation: the browser ends them with a delay, in the middle of their parts. */
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

  /** A call of a second or more, which begins after this function has returned; then a short one. */
  async longCall() {
    const core = await load(2);
    globalThis.longCall = new Promise((resolve) => {
      setTimeout(() => resolve([compute(core, 64, 1e7), compute(core, 1000, 10)]));
    });
    return core.threads;
  },

  /** Many instances, each with separate threads, called in turn. */
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

  /**
   * A scenario in a worker of the page, in which the library's workers are nested. On a busy machine Firefox
   * occasionally does not return from the constructor of a nested worker; only in this case the scenario is
   * repeated.
   */
  async inWorker({ scenario, options }) {
    for (let attempt = 0; attempt < 3; attempt++) {
      const word = new Int32Array(new SharedArrayBuffer(4));
      const worker = startSelf();
      const answer = await new Promise((resolve) => {
        worker.addEventListener("message", ({ data }) => resolve(data));
        worker.addEventListener("error", ({ message }) => resolve({ error: message }));
        worker.postMessage({ scenario, options, word });
        setTimeout(resolve, ANSWER_LIMIT);
      });
      worker.terminate();
      if (answer !== undefined) return answer;
      if (Atomics.load(word, 0) !== 1) return { error: "the worker does not answer" };
    }
    return { error: "the constructor of a nested worker never returns" };
  },

  /** A worker with the library, which the page ends during a call; then the page continues. */
  async endedOwner() {
    const mine = await load(2);
    const worker = startSelf();
    await new Promise((resolve) => {
      worker.addEventListener("message", resolve);
      worker.postMessage({ scenario: "longCall" });
    });
    // The worker computes for seconds, on two threads.
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
  globalThis.addEventListener("message", async ({ data: { scenario, options, word } }) => {
    if (word !== undefined) constructing = word;
    globalThis.postMessage(await run(scenario, options));
  });
}
