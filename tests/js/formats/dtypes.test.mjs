import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { bytesOf, decodeValues, isDecodable, swapBytes } from "../../internal/formats.mjs";
import { fromBase64, property, sameValues } from "../support/files/formats.mjs";
import { crc32, readVectors } from "../support/vectors.mjs";

const NAMES = {
  f16: "float16",
  bf16: "bfloat16",
  e4m3fn: "float8_e4m3fn",
  e5m2: "float8_e5m2",
  e4m3fnuz: "float8_e4m3fnuz",
  e5m2fnuz: "float8_e5m2fnuz",
  e8m0: "float8_e8m0fnu",
  e2m1: "float4_e2m1fn",
};

/** All codes of a dtype, in order. */
function allCodes(dtype) {
  if (dtype.endsWith("16")) {
    return new Uint8Array(Uint16Array.from({ length: 65536 }, (_, i) => i).buffer);
  }
  if (dtype === "float4_e2m1fn")
    return Uint8Array.from({ length: 8 }, (_, i) => (2 * i) | ((2 * i + 1) << 4));
  return Uint8Array.from({ length: 256 }, (_, i) => i);
}

const decode = (dtype, bytes, count) => decodeValues(dtype, bytes, new Float32Array(count));
const ofBig = (...values) => new Uint8Array(BigInt64Array.from(values).buffer);

describe("decodeValues", () => {
  for (const { id, from, f32, crc32: sum } of readVectors("formats/floats").cases) {
    it(`decodes every code as the reference does: ${id}`, () => {
      const dtype = NAMES[from];
      const bytes = allCodes(dtype);
      const values = decode(
        dtype,
        bytes,
        (8 * bytes.length) / (dtype.includes("16") ? 16 : dtype.includes("4_") ? 4 : 8),
      );
      if (f32 !== undefined) sameValues(values, new Float32Array(fromBase64(f32).buffer), id);
      else {
        values.forEach((value, i) => {
          if (Number.isNaN(value)) values[i] = Number.NaN;
        });
        const words = new Uint32Array(values.buffer);
        values.forEach((value, i) => {
          if (Number.isNaN(value)) words[i] = 0x7fc00000;
        });
        assert.equal(crc32(values), sum);
      }
    });
  }

  it("keeps the payload of float32 NaN", () => {
    const bytes = new Uint8Array([1, 0, 0x80, 0x7f, 0, 0, 0x80, 0x3f]);
    assert.deepEqual(new Uint8Array(decode("float32", bytes, 2).buffer), bytes);
  });

  it("takes sub-byte values low bits first, with two's complement for signed ones", () => {
    assert.deepEqual([...decode("int4", new Uint8Array([0x87, 0xf1]), 3)], [7, -8, 1]);
    assert.deepEqual([...decode("uint4", new Uint8Array([0x87, 0xf1]), 4)], [7, 8, 1, 15]);
    assert.deepEqual([...decode("int2", new Uint8Array([0b11100100]), 4)], [0, 1, -2, -1]);
    assert.deepEqual([...decode("uint2", new Uint8Array([0b11100100, 2]), 5)], [0, 1, 2, 3, 2]);
  });

  it("rounds 64-bit integers to float32 once", () => {
    const tie = 2n ** 54n + 2n ** 30n;
    const bytes = ofBig(
      tie,
      tie + 1n,
      tie - 1n,
      -tie,
      -tie - 1n,
      -(2n ** 63n),
      2n ** 63n - 1n,
      -1n,
    );
    const up = 2 ** 54 + 2 ** 31;
    const expected = [2 ** 54, up, 2 ** 54, -(2 ** 54), -up, -(2 ** 63), 2 ** 63, -1];
    assert.deepEqual([...decode("int64", bytes, 8)], expected);
    assert.deepEqual([...decode("uint64", ofBig(-1n, tie + 1n, 5n), 3)], [2 ** 64, up, 5]);
  });

  it("reads every bool byte but 0 as 1", () => {
    assert.deepEqual([...decode("bool", new Uint8Array([0, 1, 2, 255]), 4)], [0, 1, 1, 1]);
  });

  it("decodes floats of 6 bits, four of them in three bytes", () => {
    // Codes 1, 8, 31 and 63, low bits first.
    const codes = [1, 8, 31, 63];
    const bits = codes.reduce((sum, code, i) => sum + code * 64 ** i, 0);
    const bytes = Uint8Array.of(bits & 255, (bits >> 8) & 255, bits >> 16);
    const decode = (dtype) => [...decodeValues(dtype, bytes, new Float32Array(4))];
    assert.deepEqual(decode("float6_e2m3fn"), [0.125, 1, 7.5, -7.5]);
    assert.deepEqual(decode("float6_e3m2fn"), [0.0625, 0.5, 28, -28]);
  });

  it("refuses dtypes without float32 values", () => {
    for (const dtype of ["q4_0", "complex64", "complex128"]) {
      assert.ok(!isDecodable(dtype));
      assert.throws(() => decode(dtype, new Uint8Array(64), 1), {
        name: "RangeError",
        code: "ZP_UNSUPPORTED_DTYPE",
      });
    }
  });

  property(
    it,
    "rounds any 64-bit integer to its nearest float32",
    [
      fc.oneof(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.bigInt({ min: -(2n ** 40n), max: 2n ** 40n }),
      ),
    ],
    (value) => {
      const [rounded] = decode("int64", ofBig(value), 1);
      const distance = (other) => {
        const difference = BigInt(other) - value;
        return difference < 0n ? -difference : difference;
      };
      const bits = new Int32Array(Float32Array.of(rounded).buffer);
      for (const step of [-1, 1]) {
        const [neighbour] = new Float32Array(Int32Array.of(bits[0] + step).buffer);
        if (!Number.isInteger(neighbour)) continue;
        const [mine, other] = [distance(rounded), distance(neighbour)];
        assert.ok(mine < other || (mine === other && bits[0] % 2 === 0), `${value}: ${rounded}`);
      }
    },
  );
});

describe("sizes", () => {
  it("are whole bytes for sub-byte values, whole blocks for ggml's types", () => {
    assert.equal(bytesOf("int4", 5), 3);
    assert.equal(bytesOf("uint2", 7), 2);
    assert.equal(bytesOf("q4_k", 512), 288);
    assert.equal(bytesOf("q4_k", 100), undefined);
    assert.equal(bytesOf("complex128", 3), 48);
    assert.equal(bytesOf("float64", 2 ** 50), undefined);
  });

  it("swapBytes reverses each element", () => {
    assert.deepEqual([...swapBytes(new Uint8Array([1, 2, 3, 4]), 2)], [2, 1, 4, 3]);
    assert.deepEqual([...swapBytes(new Uint8Array([1, 2, 3, 4]), 4)], [4, 3, 2, 1]);
    assert.deepEqual([...swapBytes(new Uint8Array([1, 2, 3]), 1)], [1, 2, 3]);
  });
});
