// Many calls at once: what a connection copies and posts in one turn of the event loop, and what is on its way.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { init, quantize } from "zeropoint";
import { connect } from "zeropoint/worker";
import { sameCodes } from "../support/asserts.mjs";

await init();

const script = new URL("../../../dist/worker/worker.js", import.meta.url);
const MIB = 2 ** 20;

/** A worker, and the messages that each turn of the event loop has posted to it: their kinds, and the bytes of their arrays. */
function watched() {
  const worker = new Worker(script);
  const turns = [];
  let onWay = 0;
  let mostOnWay = 0;
  const sizes = new Map();
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
      current = turns.length;
      turns.push({ bytes: 0, kinds: [] });
      setImmediate(() => {
        current = undefined;
      });
    }
    const bytes = bytesIn(message);
    turns[current].bytes += bytes;
    turns[current].kinds.push(message.kind);
    if (message.kind === "call") {
      sizes.set(message.id, bytes);
      onWay += bytes;
      mostOnWay = Math.max(mostOnWay, onWay);
    }
    postMessage.call(worker, message, transfer);
  };
  worker.on("message", ({ kind, id }) => {
    if (kind === "read") mostReads = Math.max(mostReads, ++reads);
    if (kind === "done") onWay -= sizes.get(id);
  });
  return { worker, turns, mostReads: () => mostReads, mostOnWay: () => mostOnWay };
}

const { now } = performance;
let clock = performance.now();

/** Runs a function while every look at the clock finds that a turn is over: what happens between two looks is one turn's. */
async function withFastClock(run) {
  performance.now = () => {
    clock += 6;
    return clock;
  };
  try {
    await run();
  } finally {
    performance.now = now;
  }
}

const kindsOf = ({ kinds }) => kinds;
const mostPosts = (turns) => Math.max(...turns.map(({ kinds }) => kinds.length));

/** Waits for the turn after the one in which a worker was started. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

for (const length of [5000, 50_000, 200_000, 600_000]) {
  it(`60 calls with ${length} values copy at most a part in a turn, and few wait for theirs`, async () => {
    const { worker, turns, mostReads, mostOnWay } = watched();
    const zp = await connect({ worker: () => worker });
    const x = Float32Array.from({ length }, (_, i) => Math.sin(i));
    const expected = quantize(x).data;
    await nextTurn();
    turns.length = 0;
    await withFastClock(async () => {
      const calls = Array.from({ length: 60 }, () => zp.quantize(x));
      for (const { data } of await Promise.all(calls)) sameCodes(data, expected);
    });
    zp.dispose();
    assert.ok(turns.length > 1, `${turns.length} turns`);
    const most = Math.max(...turns.map(({ bytes }) => bytes));
    assert.ok(most <= 2 * MIB, `${most} bytes in one turn`);
    // Two calls of three parts each.
    assert.ok(mostReads() <= 6, `${mostReads()} reads at once`);
    assert.ok(
      mostOnWay() <= 8 * MIB,
      `${mostOnWay()} bytes in messages of calls that have not settled`,
    );
    assert.ok(mostPosts(turns) <= 9, `${mostPosts(turns)} messages in one turn`);
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

describe("300 calls at once", () => {
  const firstOf = ({ data: [value] }) => value;
  const data = new Int8Array(4);
  const q = { data, shape: [4], dtype: "int8", scale: 1, zeroPoint: 0 };

  it("are posted in many turns, in their order, with the values that small arrays had at each call", async () => {
    const { worker, turns } = watched();
    const zp = await connect({ worker: () => worker });
    await nextTurn();
    turns.length = 0;
    await withFastClock(async () => {
      const order = [];
      const calls = Array.from({ length: 300 }, (_, i) => {
        data.fill(i % 100);
        return zp.dequantize({ ...q, scale: i + 1 }).finally(() => order.push(i));
      });
      assert.deepEqual(turns.map(kindsOf), [Array(8).fill("call")]);
      const results = await Promise.all(calls);
      const expected = results.map((_, i) => (i % 100) * (i + 1));
      assert.deepEqual(results.map(firstOf), expected);
      assert.deepEqual(order, [...order.keys()]);
    });
    assert.ok(mostPosts(turns) <= 9, `${mostPosts(turns)} messages in one turn`);
    zp.dispose();
  });

  it("move their arrays at once", async () => {
    const zp = await connect();
    const calls = Array.from({ length: 300 }, (_, i) => {
      const x = new Float32Array(100).fill(i + 1);
      const call = zp.quantize(x, { scale: i + 1, zeroPoint: 0, transfer: true });
      assert.equal(x.length, 0);
      return call;
    });
    for (const codes of await Promise.all(calls)) sameCodes(codes.data, new Int8Array(100).fill(1));
    zp.dispose();
  });

  it("that are aborted before their turn are never posted", async () => {
    const { worker, turns } = watched();
    const zp = await connect({ worker: () => worker });
    const controller = new AbortController();
    const { signal } = controller;
    await nextTurn();
    turns.length = 0;
    const calls = Array.from({ length: 300 }, (_, i) => zp.dequantize(q, i < 32 ? {} : { signal }));
    const settled = Promise.allSettled(calls);
    controller.abort("enough");
    const results = await settled;
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 32);
    await zp.dequantize(q);
    assert.deepEqual(turns.flatMap(kindsOf), Array(33).fill("call"));
    zp.dispose();
  });

  it("end before the object that they use is released", async () => {
    const zp = await connect();
    const layer = await zp.quantizedLinear({ ...q, data: new Int8Array(4).fill(1), shape: [2, 2] });
    const calls = Array.from({ length: 300 }, (_, i) => layer.forward(new Float32Array(2).fill(i)));
    layer.dispose();
    const results = await Promise.all(calls);
    assert.deepEqual(
      results.map(firstOf),
      results.map((_, i) => 2 * i),
    );
    zp.dispose();
  });

  it("are rejected when the connection ends, and refuse an array that was moved away before its turn", async () => {
    const zp = await connect();
    const xs = Array.from({ length: 60 }, () => new Float32Array(100_000));
    const calls = Promise.allSettled(xs.map((x) => zp.quantize(x)));
    structuredClone(0, { transfer: [xs[30].buffer] });
    await zp.quantize(new Float32Array(10));
    zp.dispose();
    const codes = (await calls).map(({ reason }) => reason?.code);
    assert.equal(codes[0], undefined);
    assert.equal(codes[30], "ZP_DETACHED");
    assert.ok(codes.every((code) => [undefined, "ZP_DETACHED", "ZP_DISPOSED"].includes(code)));
  });
});
