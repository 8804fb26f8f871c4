// The checksum of zip files.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32 } from "../../internal/formats.mjs";

/** CRC-32 bit by bit. */
function reference(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe("crc32", () => {
  const bytes = Uint8Array.from({ length: 64 }, (_, i) => (i * 7919) >>> 3);

  it("is CRC-32 for every length and every offset in memory", () => {
    for (let begin = 0; begin < 8; begin++) {
      for (let end = begin; end <= 48; end++) {
        const part = bytes.subarray(begin, end);
        assert.equal(crc32(part), reference(part), `bytes [${begin}, ${end})`);
      }
    }
  });

  it("continues from the CRC of the bytes before", () => {
    for (let at = 0; at <= bytes.length; at++) {
      const before = crc32(bytes.subarray(0, at));
      assert.equal(crc32(bytes.subarray(at), before), reference(bytes), `${at} bytes before`);
    }
  });
});
