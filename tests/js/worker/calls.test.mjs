// Calls of a connection: progress, aborting, disposal, lost workers, moved memory, turns of the event loop.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { dequantize, init, quantize } from "zeropoint";
import { connect } from "zeropoint/worker";
import { rejects, sameCodes, sameTensor } from "../support/asserts.mjs";

await init();

const LONG = 2 ** 22;
const long = Float32Array.from({ length: LONG }, (_, i) => Math.sin(i));
const script = new URL("../../../dist/worker/worker.js", import.meta.url);

/** An array with another constructor. */
class Rows extends Float32Array {
  constructor(rows, columns) {
    assert.ok(columns > 0);
    super(rows * columns);
  }
}

/** An array with methods and fields that say wrong things. */
class Odd extends Float32Array {
  slice() {
    return 5;
  }
  get length() {
    return 1;
  }
  get byteLength() {
    return 4;
  }
  get buffer() {
    return new ArrayBuffer(4);
  }
}

for (const place of ["a worker", "this thread"]) {
  describe(`Calls of a connection to ${place}`, () => {
    let zp;
    before(async () => {
      zp = await connect(place === "a worker" ? {} : { worker: false });
    });
    after(() => zp?.dispose());

    it("tell a progress that only grows, up to all of it", async () => {
      const seen = [];
      const onProgress = (progress) => seen.push(progress);
      await zp.quantize(long, { onProgress });
      // On this thread the call runs as a whole.
      assert.ok(seen.length > (zp.offThread ? 1 : 0), `${seen.length} steps`);
      seen.forEach(({ done, total }, i) => {
        assert.ok(done > (seen[i - 1]?.done ?? 0) && done <= total);
        assert.equal(total, seen[0].total);
      });
      assert.equal(seen.at(-1).done, seen[0].total);
    });

    it("take their options by themselves or among the function's own", async () => {
      let calls = 0;
      const onProgress = () => calls++;
      const q = quantize(long, { dtype: "int4" });
      sameCodes((await zp.quantize(long, { dtype: "int4" }, { onProgress })).data, q.data);
      const separate = calls;
      sameCodes((await zp.quantize(long, { dtype: "int4", onProgress })).data, q.data);
      assert.ok(separate > 0 && calls > separate);
    });

    it("are rejected with the signal's reason, at once", async () => {
      const reason = new Error("enough");
      await assert.rejects(zp.quantize(long, { signal: AbortSignal.abort(reason) }), reason);
      const controller = new AbortController();
      const pending = zp.quantize(long, { signal: controller.signal });
      if (zp.offThread) setTimeout(() => controller.abort(reason));
      else controller.abort(reason);
      await assert.rejects(pending, reason);
      sameCodes((await zp.quantize(long)).data, quantize(long).data);
    });

    it("stop at what onProgress throws", async () => {
      const reason = new Error("enough");
      const onProgress = () => {
        throw reason;
      };
      await assert.rejects(zp.quantize(long, { onProgress }), reason);
      await assert.rejects(zp.quantize(long.subarray(0, 2), { onProgress }), reason);
    });

    it("listen to a signal of another realm, and to a substitute", async () => {
      const controller = runInContext("({ AbortController })", createContext({ AbortController }));
      const foreign = new controller.AbortController();
      const pending = zp.quantize(long, { signal: foreign.signal });
      foreign.abort();
      await assert.rejects(pending, { name: "AbortError" });
      const listeners = [];
      const signal = {
        aborted: false,
        addEventListener: (_, listener) => listeners.push(listener),
        removeEventListener: () => undefined,
      };
      const other = zp.quantize(long, { signal });
      for (const listener of listeners) listener();
      await assert.rejects(other, { name: "AbortError" });
    });

    it("work ten at once, on one signal", async () => {
      const warnings = [];
      const listener = (warning) => warnings.push(warning);
      process.on("warning", listener);
      const { signal } = new AbortController();
      const parts = Array.from({ length: 12 }, (_, i) =>
        long.subarray(i * 9999, i * 9999 + 70_000 * (i + 1)),
      );
      const results = await Promise.all(parts.map((part) => zp.quantize(part, { signal })));
      results.forEach((q, i) => {
        sameCodes(q.data, quantize(parts[i]).data);
      });
      await new Promise((resolve) => setTimeout(resolve));
      process.off("warning", listener);
      assert.deepEqual(warnings, []);
    });

    it("move arrays that they are told to move", async () => {
      for (const transfer of [true, "list"]) {
        const x = long.slice();
        const options = { transfer: transfer === true || [x] };
        sameCodes((await zp.quantize(x, options)).data, quantize(long).data);
        assert.equal(x.length, 0);
      }
      await rejects(zp.quantize(long, { transfer: 3 }), TypeError, "ZP_INVALID_OPTION", /transfer/);
      for (const one of [{ data: long, shape: [LONG] }, 1, null, "x", [long]]) {
        const named = /options\.transfer\[1\] must be a typed array or its buffer, got/;
        const call = zp.quantize(long, { transfer: [long, one] });
        await rejects(call, TypeError, "ZP_INVALID_OPTION", named);
      }
      assert.equal(long.length, LONG);
    });

    it("read shared memory where it is", async () => {
      const x = new Float32Array(new SharedArrayBuffer(4 * LONG));
      x.set(long);
      sameCodes((await zp.quantize(x)).data, quantize(long).data);
    });

    // Sent with the message, copied before it, and read part by part.
    for (const length of [4, 30_000, 400_000]) {
      const arrays = () => [new Rows(length, 1), new Odd(length)];
      const expected = quantize(long.subarray(0, length));

      it(`take ${length} values of classes whose constructors and methods differ`, async () => {
        for (const x of arrays()) {
          x.set(long.subarray(0, length));
          sameCodes((await zp.quantize(x)).data, expected.data);
        }
      });

      it(`write ${length} values to arrays of such classes`, async () => {
        for (const out of arrays()) {
          const y = await zp.dequantize(expected, { out });
          assert.equal(y.data, out);
          assert.equal(out[length - 1], dequantize(expected).data[length - 1]);
        }
      });
    }

    it("refuse outputs on memory of an input, and memory that is gone, as the library does", async () => {
      const wrongOut = [RangeError, "ZP_INVALID_OUT", /options\.out must not share memory/];
      for (const length of [4, 30_000, 400_000]) {
        const x = long.slice(0, length);
        await rejects(zp.fakeQuantize(x, { out: x }), ...wrongOut);
        const codes = new Int8Array(x.buffer, 2, length);
        await rejects(zp.quantize(x, { out: codes }), ...wrongOut);
        const gone = long.slice(0, length);
        structuredClone(gone, { transfer: [gone.buffer] });
        const detached = [TypeError, "ZP_DETACHED", /detached/];
        await rejects(zp.quantize(gone), ...detached);
        await rejects(zp.quantize(gone, { transfer: true }), ...detached);
        await rejects(zp.fakeQuantize(x, { scale: 1, out: gone }), ...detached);
      }
      const bigints = new BigInt64Array(300_000);
      await rejects(zp.quantize(bigints), TypeError, "ZP_INVALID_TENSOR", /BigInts/);
    });

    it("name arguments that cannot be sent", async () => {
      const code = "ZP_INVALID_OPTION";
      const misspelt = zp.quantize(long, { onProgres: () => undefined });
      await rejects(
        misspelt,
        TypeError,
        code,
        /^quantize: "onProgres" must be data .* a function$/,
      );
      const circle = [];
      circle.push(circle);
      await rejects(zp.quantize(circle), TypeError, code, /levels/);
      await rejects(zp.quantize(Symbol("x")), TypeError, code, /got Symbol\(x\)/);
    });

    it("give instances of this realm's arrays", async () => {
      for (const x of [long, long.subarray(0, 5)]) {
        const q = await zp.quantize(x);
        assert.ok(q.data instanceof Int8Array);
        const y = await zp.dequantize(q);
        assert.ok(y.data instanceof Float32Array && y.data.buffer instanceof ArrayBuffer);
        sameTensor(y, dequantize(q));
      }
    });
  });
}

describe("A connection", () => {
  it("rejects its calls when it is disposed of, and later ones", async () => {
    const zp = await connect();
    const pending = zp.quantize(long);
    zp.dispose();
    zp.dispose();
    await rejects(pending, TypeError, "ZP_DISPOSED", /^quantize: /);
    await rejects(zp.pack(quantize(long)), TypeError, "ZP_DISPOSED", /^pack: /);
  });

  it("lets go of a layer in the midst of its work, which ends", async () => {
    const zp = await connect({ entries: ["torch"] });
    const w = { data: long.subarray(0, 2 ** 18), shape: [512, 512] };
    const layer = await zp.quantizedLinear(w);
    const x = { data: long.subarray(0, 2 ** 20), shape: [2048, 512] };
    const pending = layer.forward(x);
    layer.dispose();
    assert.deepEqual((await pending).shape, [2048, 512]);
    await rejects(layer.forward(x), TypeError, "ZP_DISPOSED", /disposed/);
    const other = await connect({ entries: ["torch"] });
    const mine = await zp.minMaxObserver();
    await rejects(other.convert(mine), TypeError, "ZP_INVALID_OPTION", /another connection/);
    other.dispose();
    zp.dispose();
  });

  it("rejects calls of a worker that ends, and starts another one for the next", async () => {
    const workers = [];
    const worker = () => {
      workers.push(new Worker(script));
      return workers.at(-1);
    };
    const zp = await connect({ worker, entries: ["torch"] });
    const observer = await zp.minMaxObserver();
    const pending = zp.quantize(long);
    workers[0].terminate();
    await rejects(pending, Error, "ZP_WORKER_LOST", /^quantize: the worker ended/);
    await rejects(observer.observe([1]), Error, "ZP_WORKER_LOST", /make it again/);
    sameCodes((await zp.quantize(long)).data, quantize(long).data);
    assert.equal(workers.length, 2);
    zp.dispose();
  });

  it("keeps its worker and objects when a call stops while its arrays are read", async () => {
    const zp = await connect();
    const layer = await zp.quantizedLinear({ data: long.subarray(0, 4), shape: [2, 2] });
    const memory = new ArrayBuffer(4 * LONG, { maxByteLength: 4 * LONG });
    const pending = zp.chooseQParams(new Float32Array(memory), { range: "mse" });
    memory.resize(4);
    await rejects(pending, TypeError, "ZP_DETACHED", /resized/);
    const y = await layer.forward({ data: long.subarray(0, 2), shape: [1, 2] });
    assert.equal(y.data.length, 2);
    zp.dispose();
  });

  it("rejects a call that is aborted while another worker starts", async () => {
    const workers = [];
    const worker = () => {
      workers.push(new Worker(script));
      return workers.at(-1);
    };
    const zp = await connect({ worker });
    await workers[0].terminate();
    const controller = new AbortController();
    const pending = zp.quantize(long.subarray(0, 2), { signal: controller.signal });
    controller.abort("enough");
    assert.equal(await pending.catch((error) => error), "enough");
    assert.equal((await zp.quantize(long.subarray(0, 2))).data.length, 2);
    zp.dispose();
  });

  it("ignores messages that are not of the library", async () => {
    let own;
    const zp = await connect({
      worker: () => {
        own = new Worker(script);
        return own;
      },
    });
    for (const message of [null, undefined, 5, "x", {}, { kind: "file", request: 77 }]) {
      own.postMessage(message);
      own.emit("message", message);
    }
    assert.equal((await zp.quantize(long.subarray(0, 2))).data.length, 2);
    zp.dispose();
  });

  it("refuses a function that returns no worker", async () => {
    for (const value of [5, null, {}, Promise.resolve(), { postMessage() {}, terminate() {} }]) {
      const attempt = connect({ worker: () => value });
      await rejects(
        attempt,
        TypeError,
        "ZP_INVALID_OPTION",
        /options\.worker\(\) must be a Worker/,
      );
    }
  });

  it("runs on this thread where no worker starts, and says why", async () => {
    const missing = await connect({ worker: new URL("./missing.js", import.meta.url) });
    assert.equal(missing.offThread, false);
    assert.match(missing.reason, /^a worker could not be started: .*missing\.js/);
    sameCodes((await missing.quantize(long)).data, quantize(long).data);
    missing.dispose();
    const worker = () => {
      throw new Error("no");
    };
    const refused = await connect({ worker });
    assert.equal(refused.reason, "a worker could not be started: no");
    refused.dispose();
  });

  it("starts again on one thread if the library on two does not answer", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const terminated = [];
    let workers = 0;
    const worker = () => {
      if (++workers > 1) return new Worker(script);
      // Loads its script, and stops in the constructor of a worker of its own.
      let receive = () => undefined;
      queueMicrotask(() => receive({ kind: "loaded" }));
      return {
        on: (type, listener) => {
          if (type === "message") receive = listener;
        },
        postMessage: ({ kind }) => {
          assert.equal(kind, "start");
          queueMicrotask(() => {
            for (let second = 0; second < 15; second++) t.mock.timers.tick(1000);
          });
        },
        terminate: () => terminated.push(workers),
      };
    };
    const zp = await connect({ threads: 2, worker });
    assert.deepEqual([zp.offThread, zp.threads, workers, terminated], [true, 1, 2, [1]]);
    assert.match(zp.threadsReason, /^the library did not start within 15 s on 2 threads/);
    sameCodes((await zp.quantize(long)).data, quantize(long).data);
    zp.dispose();
  });

  it("takes threads, builds and binaries as create does", async () => {
    const zp = await connect({ threads: 2, build: "baseline" });
    assert.deepEqual([zp.build, zp.threads, zp.threadsReason], ["baseline", 2, undefined]);
    sameCodes((await zp.quantize(long)).data, quantize(long).data);
    zp.dispose();
    const wasm = new URL("../../../dist/wasm/baseline.wasm", import.meta.url);
    for (const source of [wasm, () => wasm]) {
      const own = await connect({ build: "baseline", wasm: source });
      assert.equal(own.offThread, true);
      own.dispose();
    }
    await rejects(connect({ build: "fast" }), RangeError, "ZP_INVALID_OPTION", /options.build/);
    // What no message holds is refused before a worker starts, and a binary that cannot be had has a code.
    for (const name of ["threads", "build", "wasm"]) {
      const odd = connect({ [name]: Symbol("odd") });
      await rejects(odd, TypeError, "ZP_INVALID_OPTION", new RegExp(`options.${name}`));
    }
    const missing = new URL("missing.wasm", import.meta.url);
    for (const given of ["", missing, Promise.resolve(missing), new Uint8Array(8)]) {
      await rejects(connect({ wasm: given }), Error, "ZP_LOAD_FAILED", /options.wasm/);
      await rejects(connect({ wasm: () => given }), Error, "ZP_LOAD_FAILED", /could not be loaded/);
    }
    await rejects(connect({ other: 1 }), TypeError, "ZP_UNKNOWN_OPTION", /other/);
    await rejects(connect({ entries: "torch" }), TypeError, "ZP_INVALID_OPTION", /options.entries/);
    await rejects(connect({ entries: ["x"] }), RangeError, "ZP_INVALID_OPTION", /entries\[0\]/);
    await rejects(connect({ worker: 3 }), TypeError, "ZP_INVALID_OPTION", /options.worker/);
  });

  it("keeps Node alive no longer than its calls last", () => {
    const source = `
      import { connect } from "zeropoint/worker";
      const zp = await connect();
      zp.quantize(new Float32Array(1e6)).then(({ data }) => console.log(data.length));`;
    const cwd = fileURLToPath(new URL("../../..", import.meta.url));
    const args = ["--input-type=module", "-e", source];
    const run = spawnSync(process.execPath, args, { cwd, encoding: "utf8", timeout: 60_000 });
    assert.deepEqual([run.stderr, run.stdout, run.status], ["", "1000000\n", 0]);
  });
});

describe("The calling thread", () => {
  it("is not kept for long while large arrays are handed over", async () => {
    const zp = await connect();
    const x = new Float32Array(2 ** 24).fill(0.5);
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const q = await zp.quantize(x);
    isOver = true;
    // 64 MiB, of which 5 milliseconds copy a few at most.
    assert.ok(turns > 3, `${turns} turns`);
    assert.equal(q.data.length, 2 ** 24);
    zp.dispose();
  });

  it("gets results of the realm that the library was loaded in", async () => {
    const program = fileURLToPath(new URL("../support/processes/realm.mjs", import.meta.url));
    const args = ["--experimental-vm-modules", "--no-warnings", program];
    const run = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
    assert.equal(run.stderr, "");
    assert.equal(run.stdout, "true false 127\ntrue false 127\ntrue ZP_INVALID_AXIS\n");
  });
});
