// Quantized tensors that say a large shape and hold a few codes: refused before scales are spread over the shape.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  dequantize,
  init,
  linear,
  pack,
  QuantizedLinear,
  quantizationError,
  tensor,
  unpack,
} from "zeropoint";
import { Embedding, Linear } from "zeropoint/torch";
import { connect } from "zeropoint/worker";

await init();
const bytes = new Uint8Array(256);
const shape = [65536, 65535];
const x = tensor(new Float32Array(65535), [1, 65535]);

/** What data of JSON may say about 256 codes: 1.4 billion scales of groups, 4.3 billion of channels. */
const hostile = [
  { shape, dtype: "int8", scale: 0.5, zeroPoint: 0, groupSize: 3 },
  { shape, dtype: "int8", scale: 0.5, offset: 0.25, groupSize: 3 },
  { shape: [2 ** 32 - 1, 1], dtype: "int8", scale: 0.5, zeroPoint: 0, axis: 0 },
];
const calls = {
  unpack: (meta) => unpack(bytes, meta),
  pack: (meta) => pack({ ...meta, data: new Int8Array(256) }),
  dequantize: (meta) => dequantize({ ...meta, data: new Int8Array(256) }),
  linear: (meta) => linear(x, { ...meta, data: new Int8Array(256) }),
  QuantizedLinear: (meta) => new QuantizedLinear({ ...meta, data: new Int8Array(256) }),
  quantizationError: (meta) => quantizationError(x, { ...meta, data: new Int8Array(256) }),
  Linear: (meta) => new Linear({ ...meta, data: new Int8Array(256) }),
  Embedding: (meta) => new Embedding({ ...meta, data: new Int8Array(256) }),
};

const CODES = ["ZP_INVALID_BYTES", "ZP_SHAPE_MISMATCH", "ZP_INVALID_TENSOR", "ZP_INVALID_SHAPE"];

/** Runs a call, which must be refused after little work. Processor time: other processes do not count. */
function refuse(call, meta) {
  const before = process.cpuUsage();
  assert.throws(
    () => call(meta),
    ({ code }) => CODES.includes(code),
  );
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 500_000, `refused after ${(user + system) / 1000} ms`);
}

describe("Codes that are fewer than their shape", () => {
  for (const [name, call] of Object.entries(calls)) {
    it(`are refused by ${name} before its scales are spread`, () => {
      for (const meta of hostile) refuse(call, meta);
    });
  }

  it("are refused in a worker, too", async () => {
    const zp = await connect();
    try {
      for (const meta of hostile) {
        await assert.rejects(zp.unpack(bytes, meta), ({ code }) => CODES.includes(code));
      }
    } finally {
      zp.dispose();
    }
  });
});
