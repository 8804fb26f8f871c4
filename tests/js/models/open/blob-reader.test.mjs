// Reads of blobs: bytes of any place, from streams that are all closed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BlobReader } from "../../../internal/models.mjs";

const BYTES = Uint8Array.from({ length: 5000 }, (_, i) => (i * 7) % 251);

/** A blob whose streams give byte chunks of a size; counts its streams, those that are open, and its other reads. */
function blobOf(bytes, { chunk = 700, isByteStream = true } = {}) {
  const counts = { streams: 0, open: 0, others: 0 };
  const slice = (begin, given) => ({
    stream() {
      const end = Math.min(given, bytes.length);
      let at = begin;
      return new ReadableStream({
        type: isByteStream ? "bytes" : undefined,
        start() {
          if (!isByteStream) return;
          counts.streams++;
          counts.open++;
        },
        pull(controller) {
          const length = Math.min(chunk, end - at);
          if (length === 0) {
            counts.open--;
            controller.close();
            controller.byobRequest?.respond(0);
            return;
          }
          controller.enqueue(bytes.slice(at, at + length));
          at += length;
        },
        cancel() {
          counts.open--;
        },
      });
    },
    async arrayBuffer() {
      counts.others++;
      return bytes.slice(begin, given).buffer;
    },
  });
  return { blob: { size: bytes.length, slice }, counts };
}

async function read(reader, offset, length) {
  const out = new Uint8Array(length);
  const count = await reader.readInto(offset, out);
  return out.subarray(0, count);
}

describe("BlobReader", () => {
  it("reads the bytes of any place, in any order", async () => {
    const reader = new BlobReader(blobOf(BYTES).blob);
    for (const [offset, length] of [
      [0, 10],
      [10, 1500],
      [4990, 10],
      [3, 4000],
      [10, 1],
      [77, 0],
    ]) {
      assert.deepEqual(
        await read(reader, offset, length),
        BYTES.subarray(offset, offset + length),
        `${offset} ${length}`,
      );
    }
  });

  it("gives fewer bytes at the end of the blob", async () => {
    const reader = new BlobReader(blobOf(BYTES).blob);
    assert.deepEqual(await read(reader, 4500, 1000), BYTES.subarray(4500));
  });

  it("leaves no stream open of places that do not follow each other", async () => {
    const { blob, counts } = blobOf(BYTES);
    const reader = new BlobReader(blob);
    for (let at = 0; at < 4000; at += 400) await read(reader, at, 10);
    assert.deepEqual(counts, { streams: 10, open: 0, others: 0 });
  });

  it("opens a stream of twice the length for a read that goes on where another one ended", async () => {
    const { blob, counts } = blobOf(BYTES);
    const reader = new BlobReader(blob);
    const streams = [];
    for (let at = 0; at < 5000; at += 100) {
      assert.deepEqual(await read(reader, at, 100), BYTES.subarray(at, at + 100));
      streams.push(counts.streams);
    }
    // Streams of 100, 200, 400, 800, 1600 and of the 1900 bytes that are left.
    assert.deepEqual(streams.slice(0, 8), [1, 2, 2, 3, 3, 3, 3, 4]);
    assert.deepEqual(counts, { streams: 6, open: 0, others: 0 });
  });

  it("goes on at two places in turn", async () => {
    const { blob, counts } = blobOf(BYTES);
    const reader = new BlobReader(blob);
    for (let at = 0; at < 2000; at += 100) {
      for (const place of [at, at + 2500]) {
        assert.deepEqual(await read(reader, place, 100), BYTES.subarray(place, place + 100));
      }
    }
    assert.equal(counts.streams, 10);
  });

  it("closes the streams that are open", async () => {
    const { blob, counts } = blobOf(BYTES);
    const reader = new BlobReader(blob);
    for (const at of [0, 100, 2500, 2600]) await read(reader, at, 100);
    assert.deepEqual(counts, { streams: 4, open: 2, others: 0 });
    reader.close();
    assert.equal(counts.open, 0);
    for (let at = 0; at < 20; at++)
      await read(reader, at * 200, 50).then(() => read(reader, at * 200 + 50, 50));
    assert.ok(counts.open <= 8, `${counts.open} streams are open`);
  });

  it("opens a new stream after a second, as browsers look for changes of a file then", async () => {
    const { blob, counts } = blobOf(BYTES);
    const reader = new BlobReader(blob);
    const { now } = performance;
    try {
      let time = 5000;
      performance.now = () => time;
      for (const at of [0, 100, 200]) await read(reader, at, 100);
      await read(reader, 300, 50);
      assert.equal(counts.streams, 3);
      time += 1001;
      assert.deepEqual(await read(reader, 350, 50), BYTES.subarray(350, 400));
      assert.equal(counts.streams, 4);
      assert.equal(counts.open, 1);
    } finally {
      performance.now = now;
    }
  });

  it("reads several places at the same time", async () => {
    const reader = new BlobReader(blobOf(BYTES).blob);
    const places = [0, 1000, 1000, 2000, 30, 4000, 30];
    const found = await Promise.all(places.map((at) => read(reader, at, 900)));
    for (const [i, at] of places.entries()) {
      assert.deepEqual(found[i], BYTES.subarray(at, at + 900));
    }
  });

  it("reads slices where blobs have no byte streams", async () => {
    const { blob, counts } = blobOf(BYTES, { isByteStream: false });
    const reader = new BlobReader(blob);
    assert.deepEqual(await read(reader, 100, 300), BYTES.subarray(100, 400));
    assert.deepEqual(await read(reader, 400, 300), BYTES.subarray(400, 700));
    assert.equal(counts.others, 2);
  });
});
