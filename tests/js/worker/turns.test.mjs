// Many calls at once: what a connection copies in one turn of the event loop, and how many arrays are on their way.

import assert from "node:assert/strict";
import { it } from "node:test";
import { Worker } from "node:worker_threads";
import { init, quantize } from "zeropoint";
import { connect } from "zeropoint/worker";
import { sameCodes } from "../support/asserts.mjs";

await init();

const script = new URL("../../../dist/worker/worker.js", import.meta.url);
const MIB = 2 ** 20;

/** A worker, and the bytes of arrays that each turn of the event loop has posted to it. */
function watched() {
  const worker = new Worker(script);
  const turns = [];
  let reads = 0;
  let mostReads = 0;
  let current;
  const bytesIn = (value) => {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
    if (Object(value) !== value) return 0;
    return Object.values(value).reduce((sum, each) => sum + bytesIn(each), 0);
  };
  const { postMessage } = worker;
  worker.postMessage = (message, transfer) => {
    if (message.kind === "part") reads--;
    if (current === undefined) {
      current = turns.push(0) - 1;
      setImmediate(() => {
        current = undefined;
      });
    }
    turns[current] += bytesIn(message);
    postMessage.call(worker, message, transfer);
  };
  worker.on("message", ({ kind }) => {
    if (kind === "read") mostReads = Math.max(mostReads, ++reads);
  });
  return { worker, turns, mostReads: () => mostReads };
}

const { now } = performance;
let clock = performance.now();

for (const length of [5000, 50_000, 200_000, 600_000]) {
  it(`60 calls with ${length} values copy at most a part in a turn, and few wait for theirs`, async () => {
    const { worker, turns, mostReads } = watched();
    const zp = await connect({ worker: () => worker });
    const x = Float32Array.from({ length }, (_, i) => Math.sin(i));
    const expected = quantize(x).data;
    // After the turn in which the worker was started.
    await new Promise((resolve) => setImmediate(resolve));
    turns.length = 0;
    // Every look at the clock finds that a turn is over: what is copied between two looks is one turn's.
    performance.now = () => {
      clock += 6;
      return clock;
    };
    try {
      const calls = Array.from({ length: 60 }, () => zp.quantize(x));
      for (const { data } of await Promise.all(calls)) sameCodes(data, expected);
    } finally {
      performance.now = now;
      zp.dispose();
    }
    assert.ok(turns.length > 1, `${turns.length} turns`);
    assert.ok(Math.max(...turns) <= 2 * MIB, `${Math.max(...turns)} bytes in one turn`);
    // Two calls of three parts each.
    assert.ok(mostReads() <= 6, `${mostReads()} reads at once`);
  });
}

it("an aborted call that waits for others leaves them their turns", async () => {
  const zp = await connect();
  const x = new Float32Array(600_000).fill(0.5);
  const controller = new AbortController();
  const calls = Array.from({ length: 8 }, (_, i) =>
    zp.quantize(x, i % 2 === 1 ? { signal: controller.signal } : {}),
  );
  const settled = Promise.allSettled(calls);
  controller.abort("enough");
  const results = await settled;
  results.forEach(({ status, reason }, i) => {
    assert.equal(status, i % 2 === 1 ? "rejected" : "fulfilled", reason);
  });
  zp.dispose();
});
