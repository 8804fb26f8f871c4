// The checksum by which a file that is made again is compared with the one that was streamed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Checksum } from "../../../internal/models.mjs";

function checksumOf(...chunks) {
  const checksum = new Checksum();
  for (const chunk of chunks) checksum.add(chunk);
  return checksum.value;
}

describe("Checksum", () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => (i * 7919) >>> 3);

  it("does not depend on the lengths of chunks, nor on their places in memory", () => {
    const whole = checksumOf(bytes);
    for (let first = 0; first <= 40; first++) {
      for (let second = first; second <= first + 40; second++) {
        const chunks = [
          bytes.subarray(0, first),
          bytes.subarray(first, second),
          bytes.subarray(second),
        ];
        assert.equal(
          checksumOf(...chunks),
          whole,
          `[0, ${first}), [${first}, ${second}) and the rest`,
        );
      }
    }
    for (let shift = 0; shift < 8; shift++) {
      const moved = new Uint8Array(108);
      moved.set(bytes, shift);
      assert.equal(checksumOf(moved.subarray(shift, shift + 100)), whole, `offset ${shift}`);
    }
  });

  it("tells streams apart that differ in one bit, in two equal bits, or in their length", () => {
    const zeros = new Uint8Array(64);
    const seen = new Set();
    for (let length = 0; length <= 64; length++) seen.add(checksumOf(zeros.subarray(0, length)));
    for (let bit = 0; bit < 512; bit++) {
      const one = zeros.slice();
      one[bit >> 3] ^= 1 << (bit & 7);
      seen.add(checksumOf(one));
      // The same bit of a word that the same sum takes.
      if (bit >= 384) continue;
      one[(bit >> 3) + 16] ^= 1 << (bit & 7);
      seen.add(checksumOf(one));
    }
    assert.equal(seen.size, 65 + 512 + 384);
  });
});
