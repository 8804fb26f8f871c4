import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { before, describe, it } from "node:test";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { create, init, QuantizedLinear, tensor } from "zeropoint";
import { embedded, examineEngine, loadBuild } from "../../../internal/core.mjs";
import { Random, sameFloats } from "../../support/asserts.mjs";

await init();

const builds = examineEngine().relaxed === true ? ["baseline", "relaxed"] : ["baseline"];
const load = (request) => loadBuild("test", embedded, request);

/** The number that the core's self-test computes for a part after this many steps. */
function expectedState(part, steps) {
  let state = part;
  for (let step = 0; step < steps; step++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  }
  return state;
}

/** Computes on all threads, and checks every part. */
function compute(core, parts, steps) {
  const [out] = core.memory.layOut("test", 4 * parts);
  core.memory.write("Uint32Array", out, new Uint32Array(parts).fill(0xdead));
  core.module.proveWorkers(out, parts, steps);
  const states = new Uint32Array(parts);
  core.memory.read(out, states);
  core.memory.end();
  for (const [part, state] of states.entries()) {
    if (state !== expectedState(part, steps)) assert.fail(`part ${part} of ${parts}: ${state}`);
  }
}

/** Runs work while another class of workers is installed. */
async function withWorkers(Class, work) {
  const { getBuiltinModule } = process;
  process.getBuiltinModule = (name) =>
    name === "node:worker_threads" ? { Worker: Class } : getBuiltinModule(name);
  try {
    return await work();
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
}

/** Runs work while all new workers are passed to `see`. */
function whileSeeingWorkers(see, work) {
  class Seen extends Worker {
    constructor(...args) {
      super(...args);
      see(this);
    }
  }
  return withWorkers(Seen, work);
}

// Values of a worker's state word, as in src/core/parallel.h.
const WORKING = 1;
const DEAD = 2;

/** Address of a stack with this much room: stacks grow downwards to the start of the memory. */
const ROOM = 512;

/**
 * Workers that count their terminations and give access to their state words. Workers of the given
 * indices have a stack that is just large enough to wait for work: a part of a W8A8 layer, which keeps its sums
 * on the stack, stops by an error.
 */
function withoutStack(workers, indices) {
  return class extends Worker {
    terminated = 0;
    #states;
    #at;

    constructor(...args) {
      super(...args);
      workers.push(this);
    }

    postMessage(message, transfer) {
      const { memory, index, state } = message;
      this.#states = new Int32Array(memory.buffer);
      this.#at = state / 4;
      super.postMessage(indices.includes(index) ? { ...message, stack: ROOM } : message, transfer);
    }

    get state() {
      return Atomics.load(this.#states, this.#at);
    }

    set state(value) {
      Atomics.store(this.#states, this.#at, value);
    }

    terminate() {
      this.terminated++;
      return super.terminate();
    }
  };
}

/** Multiplies until a worker without a stack has stopped within a part; the result has the bits of one thread. */
function multiplyUntilDead(zp, worker) {
  const random = new Random(2);
  const w = tensor(random.normal(512 * 512), [512, 512]);
  const x = tensor(random.normal(64 * 512), [64, 512]);
  const expected = new QuantizedLinear(w, { activations: "dynamic" }).forward(x).data;
  const layer = new zp.QuantizedLinear(w, { activations: "dynamic" });
  assert.notEqual(worker.state, DEAD);
  for (let round = 0; round < 1000 && worker.state !== DEAD; round++) {
    sameFloats(layer.forward(x).data, expected);
  }
  assert.equal(worker.state, DEAD, "what a worker says that stopped by an error");
}

/** Watches the state words of workers on another thread. @returns how many it has seen working at the same time */
async function watchStates(buffer, states) {
  const seen = new Int32Array(new SharedArrayBuffer(8));
  const code = `
    const { buffer, states, seen } = require("node:worker_threads").workerData;
    const words = new Int32Array(buffer);
    while (Atomics.load(seen, 1) === 0) {
      let working = 0;
      for (const state of states) if (Atomics.load(words, state / 4) === ${WORKING}) working++;
      if (working > Atomics.load(seen, 0)) Atomics.store(seen, 0, working);
    }`;
  const watcher = new Worker(code, { eval: true, workerData: { buffer, states, seen } });
  await new Promise((resolve) => watcher.once("online", resolve));
  const end = () => {
    Atomics.store(seen, 1, 1);
    return new Promise((resolve) => watcher.once("exit", resolve));
  };
  return { most: () => Atomics.load(seen, 0), end };
}

for (const build of builds) {
  describe(`threads of the ${build} build`, () => {
    const cores = {};
    before(async () => {
      for (const threads of [2, 4]) cores[threads] = await load({ build, threads });
    });

    it("are as many as requested", () => {
      for (const threads of [2, 4]) {
        assert.equal(cores[threads].threads, threads);
        assert.equal(cores[threads].reason, undefined);
        assert.equal(cores[threads].build, build);
      }
    });

    it("compute every part once", () => {
      for (const threads of [2, 4]) {
        for (const parts of [0, 1, 2, 3, 63, 1024, 1025, 5000]) compute(cores[threads], parts, 3);
        for (let job = 0; job < 300; job++) compute(cores[threads], 16, job);
      }
    });

    it("compute in parallel", async () => {
      for (const threads of [2, 4]) {
        const core = cores[threads];
        assert.ok(core.module.HEAPU8.buffer instanceof SharedArrayBuffer);
        const states = Array.from({ length: threads - 1 }, (_, i) => core.module.workerState(i));
        const { most, end } = await watchStates(core.module.HEAPU8.buffer, states);
        // Parts of some 10 ms, one a thread, until the watcher has seen all workers at work.
        for (let job = 0; job < 500 && most() < threads - 1; job++) {
          const [out] = core.memory.layOut("test", 4 * threads);
          core.module.proveWorkers(out, threads, 2 ** 23);
          core.memory.end();
        }
        await end();
        assert.equal(most(), threads - 1);
      }
    });

    it("give the bits of one thread", async () => {
      const random = new Random(1);
      const w = tensor(random.normal(96 * 64), [96, 64]);
      const x = tensor(random.normal(33 * 64), [33, 64]);
      const results = [];
      for (const threads of [1, 2, 4]) {
        const instance = await create({ build, threads });
        assert.equal(instance.threads, threads);
        const layer = new instance.QuantizedLinear(w, { axis: 0 });
        const dynamic = new instance.QuantizedLinear(w, { activations: "dynamic" });
        results.push([
          layer.forward(x).data,
          dynamic.forward(x).data,
          instance.linear(x, w).data,
          instance.dequantize(instance.quantize(x, { groupSize: 32 })).data,
        ]);
        instance.dispose();
      }
      for (const result of results.slice(1)) {
        for (const [i, data] of result.entries()) sameFloats(data, results[0][i]);
      }
    });

    it("survive workers that end between calls", async () => {
      const workers = [];
      const core = await whileSeeingWorkers(
        (worker) => workers.push(worker),
        () => load({ build, threads: 4 }),
      );
      compute(core, 100, 10);
      await workers[0].terminate();
      compute(core, 1000, 10);
      await Promise.all(workers.map((worker) => worker.terminate()));
      compute(core, 1000, 10);
      core.dispose();
    });

    it("survive workers that are ended while they compute", async () => {
      for (let round = 0; round < 5; round++) {
        const workers = [];
        const core = await whileSeeingWorkers(
          (worker) => workers.push(worker),
          () => load({ build, threads: 3 }),
        );
        for (const worker of workers) worker.terminate();
        compute(core, 50, 1e5); // they are still on their way out
        compute(core, 1000, 10);
        core.dispose();
      }
    });

    it("are not waited for, nor given up, when one stops by an error in its part", async () => {
      const workers = [];
      const Class = withoutStack(workers, [0]);
      const zp = await withWorkers(Class, () => create({ build, threads: 3 }));
      multiplyUntilDead(zp, workers[0]);
      const terminated = workers.map((worker) => worker.terminated);
      assert.deepEqual(terminated, [0, 0]);
      zp.dispose();
    });

    it("are not waited for, nor given up, when one was ended at work", async () => {
      const workers = [];
      const Class = withoutStack(workers, [1]);
      const zp = await withWorkers(Class, () => create({ build, threads: 3 }));
      const [ended, broken] = workers;
      ended.state = WORKING;
      await ended.terminate();
      // This worker is the last one with a part.
      multiplyUntilDead(zp, broken);
      const terminated = workers.map((worker) => worker.terminated);
      assert.deepEqual(terminated, [1, 0]);
      zp.dispose();
    });

    it("free no memory that a silent worker may still write to", async () => {
      const core = await load({ build, threads: 2 });
      const [old] = core.memory.layOut("test", 64);
      core.module.workerLost();
      assert.notEqual(core.memory.layOut("test", 64)[0], old);
      core.memory.end();
      compute(core, 100, 10);
      core.dispose();
    });

    it("come in many instances that do not disturb each other", async () => {
      const instances = await Promise.all(
        Array.from({ length: 6 }, (_, i) => load({ build, threads: 1 + (i % 3) })),
      );
      for (let round = 0; round < 20; round++) {
        for (const core of instances) if (core.threads > 1) compute(core, 64, round);
      }
      for (const core of instances) core.dispose();
    });
  });
}

describe("The workers of an instance", () => {
  it("end with the instance; workers of other instances go on", async () => {
    const ends = [];
    let ended = 0;
    const see = (worker) => {
      ends.push(new Promise((resolve) => worker.once("exit", resolve)).then(() => ended++));
    };
    const make = () => whileSeeingWorkers(see, () => create({ threads: 3 }));
    const [one, other] = [await make(), await make()];
    one.dispose();
    await Promise.all(ends.slice(0, 2));
    assert.deepEqual([...other.quantize(tensor([1, 2])).data], [64, 127]);
    assert.equal(ended, 2);
    other.dispose();
    await Promise.all(ends);
  });

  it("are terminated when one of them stops answering", async () => {
    let terminated = 0;
    class Counted extends Worker {
      terminate() {
        terminated++;
        return super.terminate();
      }
    }
    const core = await withWorkers(Counted, () => load({ build: "baseline", threads: 3 }));
    core.module.workerLost();
    assert.equal(terminated, 2);
    core.dispose();
  });

  it("end after the instance was garbage-collected", async () => {
    const { stdout } = await run(`
      import { setFlagsFromString } from "node:v8";
      import { runInNewContext } from "node:vm";
      import { Worker } from "node:worker_threads";
      import { create } from "zeropoint";
      const { getBuiltinModule } = process;
      let running = 0;
      class Counted extends Worker {
        constructor(...args) {
          super(...args);
          running++;
          this.once("exit", () => running--);
        }
      }
      process.getBuiltinModule = (name) =>
        name === "node:worker_threads" ? { Worker: Counted } : getBuiltinModule.call(process, name);
      await (async () => {
        const instance = await create({ threads: 2 });
        instance.quantize(new Float32Array(9));
      })();
      const before = running;
      setFlagsFromString("--expose-gc");
      const gc = runInNewContext("gc");
      for (let round = 0; round < 200 && running > 0; round++) {
        gc();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      console.log(before, running);
      process.exit();
    `);
    assert.equal(stdout, "1 0\n");
  });
});

describe("threads that are unavailable", () => {
  const falls = async (work, reason) => {
    const instance = await work();
    assert.equal(instance.threads, 1);
    assert.match(instance.reason, reason);
    assert.deepEqual([...instance.quantize(tensor([1, 2])).data], [64, 127]);
  };

  it("are one thread without SharedArrayBuffer", async () => {
    const { SharedArrayBuffer: shared } = globalThis;
    delete globalThis.SharedArrayBuffer;
    try {
      await falls(() => create({ threads: 2 }), /^there is no SharedArrayBuffer/);
    } finally {
      globalThis.SharedArrayBuffer = shared;
    }
  });

  it("are one thread in a page that is not isolated", async () => {
    // A page inherits a getter of that name.
    const descriptor = { value: false, configurable: true };
    Object.defineProperty(globalThis, "crossOriginIsolated", descriptor);
    try {
      await falls(() => create({ threads: 2 }), /^the page is not cross-origin isolated$/);
    } finally {
      delete globalThis.crossOriginIsolated;
    }
  });

  it("are one thread where workers do not start", async () => {
    class Forbidden {
      constructor() {
        throw new Error("forbidden here");
      }
    }
    await withWorkers(Forbidden, () =>
      falls(() => create({ threads: 2 }), /^a worker could not be started: forbidden here$/),
    );
  });

  it("are one thread where a worker ends at once", async () => {
    const exits = [];
    await whileSeeingWorkers(
      (worker) => {
        exits.push(new Promise((resolve) => worker.once("exit", resolve)));
        if (exits.length === 1) worker.terminate();
      },
      () =>
        falls(() => create({ threads: 3 }), /^a worker could not be started: it ended with [01]$/),
    );
    // The first worker has been terminated, too.
    assert.equal(exits.length, 2);
    await Promise.all(exits);
  });

  /** Runs work while the core's self-test of threads is replaced. */
  async function withSelfTest(replacement, work) {
    const { get } = WebAssembly.Table.prototype;
    WebAssembly.Table.prototype.get = function (index) {
      const real = get.call(this, index);
      // The core's table holds functions without names: exactly one of them takes 256 parts and 100 steps.
      return (...values) =>
        values[1] === 256 && values[2] === 100 ? replacement() : real(...values);
    };
    try {
      return await work();
    } finally {
      WebAssembly.Table.prototype.get = get;
    }
  }

  const trap = () => {
    throw new WebAssembly.RuntimeError("memory access out of bounds");
  };
  for (const [what, prove, reason] of [
    ["trap", trap, "RuntimeError: memory access out of bounds"],
    ["compute wrongly", () => {}, "they compute wrong values"],
  ]) {
    it(`are one thread, of another instance, where they ${what}`, async () => {
      let proofs = 0;
      const selfTest = () => {
        proofs++;
        return prove();
      };
      const core = await withSelfTest(selfTest, () => load({ build: "baseline", threads: 3 }));
      assert.equal(core.reason, `threads do not work here: ${reason}`);
      assert.deepEqual([core.threads, core.wantedThreads, proofs], [1, 3, 1]);
      compute(core, 100, 10);
      core.dispose();
    });
  }

  it("may be requested again with the same count, although the first call got fewer", async () => {
    const script = `
      import { init } from "zeropoint";
      globalThis.crossOriginIsolated = false;
      const first = await init({ threads: 2 });
      const again = await init({ threads: 2 });
      console.log(JSON.stringify([first.threads, again, (await init()).reason]));
    `;
    const { stdout } = await run(script);
    const reason = "the page is not cross-origin isolated";
    const [first, again, last] = JSON.parse(stdout);
    assert.deepEqual([first, again.threads, again.reason, last], [1, 1, reason, reason]);
  });
});

const run = (script) =>
  promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: new URL("../../../..", import.meta.url),
    timeout: 30_000,
  });

describe("a process with threads", () => {
  it("ends by itself", async () => {
    const { stdout } = await run(`
      import { init } from "zeropoint";
      console.log((await init({ threads: 3 })).threads);
    `);
    assert.equal(stdout, "3\n");
  });

  it("ends by itself after concurrent calls of init", async () => {
    const { stdout } = await run(`
      import { init } from "zeropoint";
      const results = await Promise.all([init({ threads: 2 }), init({ threads: 2 }), init()]);
      console.log(results.map(({ threads }) => threads).join());
    `);
    assert.equal(stdout, "2,2,2\n");
  });
});
