// The hash of a tensor's bytes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Sha256, sha256 } from "../../../internal/models.mjs";
import { Random } from "../../support/asserts.mjs";

const random = new Random(41);

describe("Sha256", () => {
  it("is that of FIPS 180-4, in any chunks, as Node's own", () => {
    const hashOf = (bytes, step = 7) => {
      const hash = new Sha256();
      for (let at = 0; at < bytes.length; at += step) hash.update(bytes.subarray(at, at + step));
      return hash.digest();
    };
    const text = (value) => new TextEncoder().encode(value);
    assert.equal(
      hashOf(text("abc")),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
    assert.equal(
      hashOf(text("")),
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
    for (const length of [55, 56, 63, 64, 65, 1000]) {
      const bytes = Uint8Array.from({ length }, () => random.bits() & 255);
      const own = sha256();
      own.update(bytes);
      const expected = own.digest();
      for (const step of [1, 64, 100]) assert.equal(hashOf(bytes, step), expected);
    }
  });
});
