// The library on the calling thread and through a connection: the time of a call, and how long the calling
// thread is kept.

import { normalValues } from "../random.mjs";
import { wrong } from "../reference.mjs";
import { disposeAll } from "./dispose.mjs";

/** Lets messages and timers run. */
function turn() {
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = () => {
      port1.close();
      resolve();
    };
    port1.postMessage(0);
  });
}

/**
 * Runs a call beside a probe that takes every turn of the event loop.
 * @returns the longest time between two turns, and this thread's processor time in it, in milliseconds;
 *   processor time is undefined where the engine does not tell it
 */
async function stallOf(run) {
  const cpu = globalThis.process?.threadCpuUsage;
  const used = () => {
    const { user, system } = cpu();
    return (user + system) / 1000;
  };
  let stallMs = 0;
  let stallCpuMs = cpu && 0;
  let isOver = false;
  await turn();
  const call = Promise.resolve(run()).finally(() => {
    isOver = true;
  });
  let time = performance.now();
  let before = cpu && used();
  while (!isOver) {
    await turn();
    const now = performance.now();
    stallMs = Math.max(stallMs, now - time);
    time = now;
    if (!cpu) continue;
    const total = used();
    stallCpuMs = Math.max(stallCpuMs, total - before);
    before = total;
  }
  await call;
  return { stallMs, stallCpuMs };
}

/** As `stallOf` of a synchronous function, which keeps the thread from its start to its end. */
function stallOfSync(run) {
  const start = performance.now();
  const cpu = globalThis.process?.threadCpuUsage;
  const before = cpu?.();
  run();
  const used = before && cpu(before);
  return {
    stallMs: performance.now() - start,
    stallCpuMs: used && (used.user + used.system) / 1000,
  };
}

/**
 * @param {{ rows: number, columns: number }} large  the shape of large tensors and weights
 * @returns {Promise<{ entries: any[], skipped: any[], dispose: () => void }>}
 */
export async function workerEntries({ rows, columns }, { zeropoint, connect }) {
  const entries = [];
  const skipped = [];
  const disposals = [];
  const [{ zp, build }] = zeropoint;
  const connection = await connect({ build, entries: ["torch"] });
  disposals.push(() => connection.dispose());
  if (!connection.offThread) {
    return {
      entries,
      skipped: [{ name: "zeropoint in a worker", reason: connection.reason }],
      dispose: disposeAll(disposals),
    };
  }
  for (const [size, shape] of [
    ["small", [16, 16]],
    ["large", [rows, columns]],
  ]) {
    const [n, k] = shape;
    const x = { data: normalValues(n * k, 21), shape };
    const q = zp.quantize(x);
    const weight = zp.quantize(x, { axis: 0 });
    const m = Math.min(128, n);
    const input = { data: normalValues(m * k, 22), shape: [m, k] };
    const layer = new zp.QuantizedLinear(weight);
    const handle = await connection.quantizedLinear(weight);
    disposals.push(() => layer.dispose());
    const calls = {
      quantize: [() => zp.quantize(x), () => connection.quantize(x)],
      dequantize: [() => zp.dequantize(q), () => connection.dequantize(q)],
      pack: [() => zp.pack(q), () => connection.pack(q)],
      linear: [() => zp.linear(input, weight), () => connection.linear(input, weight)],
      forward: [() => layer.forward(input), () => handle.forward(input)],
    };
    for (const [operation, [run, runAsync]] of Object.entries(calls)) {
      const title = `${operation}, ${n} × ${k}${/linear|forward/.test(operation) ? `, ${m} rows` : ""}`;
      let expected;
      const bytesOf = (result) => {
        const { buffer, byteOffset, byteLength } = result.data ?? result;
        return new Uint8Array(buffer, byteOffset, byteLength);
      };
      const common = {
        contestant: "zeropoint",
        build,
        threads: 1,
        size,
        title,
        unit: "µs",
        work: 1,
      };
      entries.push({
        ...common,
        place: "calling thread",
        operation: `${operation} here`,
        name: `zeropoint ${build}: ${title}, on the calling thread`,
        run,
        stall: () => stallOfSync(run),
        judge(result) {
          expected = bytesOf(result);
          return expected.length > 0 ? { worst: 0 } : wrong("no values");
        },
      });
      entries.push({
        ...common,
        place: "worker",
        operation: `${operation} in a worker`,
        name: `zeropoint ${build}: ${title}, in a worker`,
        isAsync: true,
        run: runAsync,
        stall: () => stallOf(runAsync),
        judge(result) {
          const actual = bytesOf(result);
          return sameBytes(actual, expected) ? { worst: 0 } : wrong("other bits than here");
        },
      });
    }
  }
  return { entries, skipped, dispose: disposeAll(disposals) };
}

const sameBytes = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);
