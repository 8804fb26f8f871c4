// Layouts of other programs, byte by byte as their documentation has them.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { VectorIndex } from "zeropoint/search";
import { Random, refuses, sameCodes, sameFloats } from "../support/asserts.mjs";

await init();

const random = new Random(394);
const D = 16;
const rows = Array.from({ length: 9 }, () => random.normal(D));
const ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];

/** An index whose rows do not lie in their order. */
function indexOf(options) {
  const index = new VectorIndex({ dimensions: D, ...options });
  index.add([...rows, rows[0]], [...ids, "last"]);
  index.remove(["b", "last"]);
  return index;
}
const kept = rows.filter((_, i) => i !== 1);
const keptIds = ids.filter((id) => id !== "b");

/** Signs of a row, eight to a byte. */
const packed = (row, isLowest) =>
  Uint8Array.from({ length: D / 8 }, (_, byte) =>
    row
      .slice(8 * byte, 8 * byte + 8)
      .reduce((bits, value, i) => bits | (value > 0 ? 1 << (isLowest ? i : 7 - i) : 0), 0),
  );
const joined = (parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

describe("VectorIndex.export", () => {
  it('gives int8 codes with scales, also of int4 and binary codes, as "int8"', () => {
    for (const dtype of ["int8", "int4", "binary"]) {
      const index = indexOf({ dtype, metric: "dot" });
      const { data, ids: own, scales, ...form } = index.export("int8");
      assert.deepEqual(form, { dimensions: D, bytesPerRow: D, type: "int8" });
      assert.deepEqual(own, keptIds);
      assert.ok(data instanceof Int8Array);
      for (const [i, id] of own.entries()) {
        const restored = Float32Array.from(
          data.subarray(i * D, i * D + D),
          (code) => scales[i] * code,
        );
        sameFloats(restored, index.vector(id));
      }
    }
  });

  it('gives all scales of groups as "int8", and codes of one scale a row to programs without scales', () => {
    for (const dtype of ["int8", "int4"]) {
      for (const metric of ["cosine", "dot"]) {
        const index = indexOf({ dtype, metric, groupSize: 5 });
        const { data, scales, groupSize } = index.export("int8");
        assert.equal(groupSize, 5);
        assert.equal(scales.length, 4 * keptIds.length);
        for (const [i, id] of keptIds.entries()) {
          const restored = Float32Array.from(
            data.subarray(i * D, i * D + D),
            (code, j) => scales[4 * i + Math.floor(j / 5)] * code,
          );
          sameFloats(restored, index.vector(id));
        }
        const own = index.export("usearch");
        assert.ok(!("groupSize" in own));
        assert.equal(own.scales.length, keptIds.length);
        assert.equal(new Set(own.scales).size === 1, metric === "dot");
        for (const [i, id] of keptIds.entries()) {
          for (const [j, value] of index.vector(id).entries()) {
            const restored = own.scales[i] * own.data[i * D + j];
            assert.ok(Math.abs(restored - value) <= 0.5001 * own.scales[i], `${id} ${j}`);
          }
        }
        const { data: faiss } = index.export("faiss");
        sameCodes(
          faiss,
          Uint8Array.from(own.data, (code) => code + 128),
        );
      }
    }
  });

  it("gives cosine codes as they are to programs without scales", () => {
    const index = indexOf({});
    const { data: codes } = index.export("int8");
    const types = { "sqlite-vec": "int8[16]", usearch: "i8", faiss: "QT_8bit_direct_signed" };
    for (const [layout, type] of Object.entries(types)) {
      const { data, ids: own, ...form } = index.export(layout);
      assert.equal(form.type, type);
      assert.deepEqual(own, keptIds);
      if (layout === "faiss")
        sameCodes(
          data,
          Uint8Array.from(codes, (code) => code + 128),
        );
      else sameCodes(data, codes);
    }
  });

  it("gives codes of one scale for products and distances", () => {
    for (const metric of ["dot", "euclidean"]) {
      const index = indexOf({ metric });
      const { data, scales } = index.export("usearch");
      assert.equal(new Set(scales).size, 1);
      const largest = Math.max(...kept.flatMap((row) => [...row].map(Math.abs)));
      assert.ok(Math.abs(scales[0] * 127 - largest) < 1e-6);
      for (const [i, code] of data.entries()) {
        const value = kept[Math.floor(i / D)][i % D];
        // Half a step of both roundings.
        assert.ok(Math.abs(code * scales[0] - value) <= 1.001 * scales[0]);
      }
    }
  });

  it("gives signs with the first value in the lowest or the highest bit", () => {
    const index = indexOf({ dtype: "binary" });
    for (const [layout, type, order] of [
      ["sqlite-vec", "bit[16]", "lowest first"],
      ["usearch", "b1", "highest first"],
      ["faiss", "IndexBinaryFlat", "highest first"],
    ]) {
      const { data, ids: own, ...form } = index.export(layout);
      assert.deepEqual(own, keptIds);
      assert.deepEqual(form, { dimensions: D, bytesPerRow: 2, type, bitOrder: order });
      sameCodes(data, joined(kept.map((row) => packed(row, order === "lowest first"))));
    }
    const odd = new VectorIndex({ dimensions: 9, dtype: "binary" });
    refuses(
      () => odd.export("usearch"),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /whole bytes, got 9 dimensions/,
    );
  });

  it("gives PostgreSQL's binary format of bit and halfvec", () => {
    const { data, ids: own, ...form } = indexOf({ dtype: "binary" }).export("pgvector");
    assert.deepEqual(form, {
      dimensions: D,
      bytesPerRow: 6,
      type: "bit(16)",
      bitOrder: "highest first",
    });
    // bit_send: the number of bits as int32, then the bits, the first one in the highest.
    sameCodes(data, joined(kept.map((row) => [0, 0, 0, 16, ...packed(row, false)])));

    const index = new VectorIndex({ dimensions: 6, metric: "dot", originals: "float32" });
    // 1 + 2^-11 is halfway, and goes to the even 1; 2^-25 goes to 0, and a little more to 2^-24.
    index.add([1, -2, 1 + 2 ** -11, 2 ** -25, 1.5 * 2 ** -25, 65504]);
    const halves = index.export("pgvector");
    assert.deepEqual([halves.type, halves.bytesPerRow], ["halfvec(6)", 16]);
    // halfvec_send: the number of values and 0 as int16, then the values.
    sameCodes(
      halves.data,
      Uint8Array.of(0, 6, 0, 0, 0x3c, 0, 0xc0, 0, 0x3c, 0, 0, 0, 0, 1, 0x7b, 0xff),
    );
    const kept16 = new VectorIndex({ dimensions: 2, originals: "float16" });
    kept16.add([0.5, -65504]);
    sameCodes(kept16.export("pgvector").data, Uint8Array.of(0, 2, 0, 0, 0x38, 0, 0xfb, 0xff));
  });

  it("refuses other layouts", () => {
    refuses(
      () => indexOf({}).export("b1"),
      RangeError,
      "ZP_INVALID_OPTION",
      /layout must be "int8", "sqlite-vec"/,
    );
  });
});
