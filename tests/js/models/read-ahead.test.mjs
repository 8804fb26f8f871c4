// Values are read ahead of their use: sources that answer in another order, or into one array, change none.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { layoutSafetensors, writeSafetensors } from "../../internal/formats.mjs";
import { floatsOf, readRuns, runsWithin, valueSourceOf } from "../../internal/models.mjs";
import { collect } from "../support/files/formats.mjs";

await init();

const RUN = 2 ** 12;
const VALUES = Float64Array.from({ length: 8 * RUN }, (_, i) => i % 251);

/** The high halves of float32 values, which have no other bits set. */
const bfloat16 = (values) =>
  Uint16Array.from(new Uint32Array(Float32Array.from(values).buffer), (bits) => bits >>> 16);

const FILES = [
  ["float64", VALUES],
  ["float32", Float32Array.from(VALUES)],
  ["bfloat16", bfloat16(VALUES)],
  ["uint8", Uint8Array.from(VALUES)],
].map(([dtype, data]) => {
  const w = { name: "w", dtype, shape: [data.length], bytes: () => [new Uint8Array(data.buffer)] };
  return { dtype, file: collect(writeSafetensors(layoutSafetensors([w]))) };
});

/** Sources of a file, by what they do. */
const SOURCES = {
  "that answers the first read after the second": (file) => {
    let reads = 0;
    return async (offset, length) => {
      await delay(reads++ === 0 ? 30 : 1);
      return file.slice(offset, offset + length);
    };
  },
  "that answers in any order": (file) => {
    let reads = 0;
    return async (offset, length) => {
      await delay([9, 1, 14, 3, 1][reads++ % 5]);
      return file.slice(offset, offset + length);
    };
  },
  "with one array for all reads": (file) => {
    const own = new Uint8Array(file.length);
    return (offset, length) => {
      own.fill(255);
      own.set(file.subarray(offset, offset + length));
      return own.subarray(0, length);
    };
  },
};

describe("Values of a source", () => {
  for (const { dtype, file } of FILES) {
    for (const [what, readerOf] of Object.entries(SOURCES)) {
      it(`${what}: ${dtype}`, async () => {
        const bytes = await file;
        let read = (offset, length) => bytes.slice(offset, offset + length);
        const model = await openModel({ size: bytes.length, read: (...at) => read(...at) });
        read = readerOf(bytes);
        const source = valueSourceOf("test", model, "w");
        let at = 0;
        for await (const { run, values } of readRuns(source, runsWithin(0, source.size, RUN))) {
          // Work during which the next run comes.
          await delay(5);
          assert.equal(run.begin, at);
          assert.deepEqual([...floatsOf(values)], [...VALUES.subarray(run.begin, run.end)]);
          at = run.end;
        }
        assert.equal(at, VALUES.length);
        await model.close();
      });
    }
  }
});
