import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, pack, quantize, tensor, unpack } from "zeropoint";
import { DTYPE_NAMES, DTYPES, LENGTHS, Random, refuses, sameCodes } from "../support/asserts.mjs";
import { packCodes } from "../support/reference.mjs";

await init();

const quantized = (dtype, codes, changes) => ({
  data: DTYPES[dtype].array.from(codes),
  shape: [codes.length],
  dtype,
  scheme: "affine",
  scale: 0.5,
  zeroPoint: 0,
  ...changes,
});

describe("pack", () => {
  const cases = [
    ["uint4", [1, 2, 3], [0x21, 0x03]],
    ["int4", [-1, -8, 7], [0x8f, 0x07]],
    ["uint2", [1, 2, 3, 0, 3], [0b00_11_10_01, 0b11]],
    ["int2", [-1, -2, 1, 0], [0b00_01_10_11]],
    ["uint1", [1, 0, 1, 1, 0, 0, 0, 0, 1], [0b0000_1101, 1]],
    ["uint3", [1, 2, 7, 4], [0b11_010_001, 0b0000_100_1]],
    ["int3", [-1, -4, 3], [0b11_100_111, 0]],
    ["int5", [-16, 15], [0b111_10000, 0b01]],
    ["int7", [-64, 63], [0b1_1000000, 0b011111]],
    ["uint8", [0, 255], [0, 255]],
    ["int8", [-1, -128], [255, 128]],
    ["int16", [-2, 258], [0xfe, 0xff, 0x02, 0x01]],
    ["uint16", [65535, 1], [0xff, 0xff, 0x01, 0x00]],
    ["int32", [-2], [0xfe, 0xff, 0xff, 0xff]],
    ["int4", [], []],
  ];
  for (const [dtype, codes, bytes] of cases) {
    it(`puts the first code of ${dtype} [${codes}] in the lowest bits`, () => {
      const packed = pack(quantized(dtype, codes));
      assert.ok(packed instanceof Uint8Array);
      assert.deepEqual([...packed], bytes);
    });
  }

  it("gives bytes of their own", () => {
    const q = quantized("int8", [1, 2, 3]);
    const bytes = pack(q);
    q.data[0] = 9;
    assert.deepEqual([...bytes], [1, 2, 3]);
    assert.equal(bytes.buffer.byteLength, 3);
  });

  it("takes codes that are a part of a buffer", () => {
    const memory = Int16Array.of(9, 1, 2, 9);
    const q = quantized("int16", [0, 0], { data: memory.subarray(1, 3) });
    assert.deepEqual([...pack(q)], [1, 0, 2, 0]);
  });
});

describe("pack and unpack", () => {
  for (const dtype of DTYPE_NAMES) {
    const { qmin, qmax, bits } = DTYPES[dtype];
    it(`are each other's inverse and the reference's for ${dtype} at every length`, () => {
      const random = new Random(41);
      for (const length of [...LENGTHS, 2, 3, 5, 31, 63, 64, 65, 129]) {
        const codes = Array.from({ length }, () => random.integer(qmin, qmax));
        const q = quantized(dtype, codes);
        const bytes = pack(q);
        assert.equal(bytes.length, Math.ceil((length * bits) / 8));
        sameCodes(bytes, packCodes(codes, bits));
        assert.deepEqual(unpack(bytes, q), q);
      }
    });
  }

  const x = tensor(
    new Float32Array(24).map((_, i) => i - 12),
    [2, 3, 4],
  );
  const options = [
    {},
    { dtype: "int4", axis: 1 },
    { dtype: "uint2", scheme: "affine", groupSize: 2 },
    { dtype: "int16", scale: [1, 2, 3, 4], zeroPoint: 5 },
    { dtype: "uint4", scheme: "affine", axis: -1 },
  ];
  for (const option of options) {
    it(`bring back every field: ${JSON.stringify(option)}`, () => {
      const q = quantize(x, option);
      const { data, ...meta } = q;
      assert.deepEqual(unpack(pack(q), q), q);
      assert.deepEqual(unpack(pack(q), meta), q);
      assert.deepEqual(
        unpack(
          pack(q),
          JSON.parse(
            JSON.stringify({
              shape: q.shape,
              dtype: q.dtype,
              scheme: q.scheme,
              scale: plain(q.scale),
              zeroPoint: plain(q.zeroPoint),
              axis: q.axis,
              groupSize: q.groupSize,
            }),
          ),
        ),
        q,
      );
      assert.equal(data.length, 24);
    });
  }

  /** As JSON keeps it. */
  function plain(value) {
    return typeof value === "number" ? value : { data: [...value.data], shape: value.shape };
  }

  it("share nothing", () => {
    const q = quantize(x, { axis: 0 });
    const back = unpack(pack(q), q);
    back.scale.data[0] = 9;
    back.shape[0] = 9;
    assert.notEqual(q.scale.data[0], 9);
    assert.equal(q.shape[0], 2);
  });
});

describe("unpack", () => {
  it("infers a missing scheme", () => {
    const meta = { shape: [1], dtype: "int8", scale: 1, zeroPoint: 0 };
    assert.equal(unpack(new Uint8Array(1), meta).scheme, "symmetric");
    assert.equal(unpack(new Uint8Array(1), { ...meta, zeroPoint: 1 }).scheme, "affine");
  });

  it("ignores bits beyond the last code", () => {
    const meta = { shape: [3], dtype: "int4", scale: 1, zeroPoint: 0 };
    sameCodes(unpack(Uint8Array.of(0x21, 0xf3), meta).data, Int8Array.of(1, 2, 3));
  });

  it("takes bytes that are a part of a buffer, at an odd offset", () => {
    const memory = Uint8Array.of(9, 2, 1, 9);
    const meta = { shape: [1], dtype: "int16", scale: 1, zeroPoint: 0 };
    sameCodes(unpack(memory.subarray(1, 3), meta).data, Int16Array.of(258));
  });

  it("takes a Node buffer, which is a Uint8Array", () => {
    const meta = { shape: [2], dtype: "uint8", scale: 1, zeroPoint: 0 };
    sameCodes(unpack(Buffer.from([1, 255]), meta).data, Uint8Array.of(1, 255));
  });

  const meta = { shape: [3], dtype: "int4", scale: 1, zeroPoint: 0 };
  const refused = [
    [
      "too few bytes",
      new Uint8Array(1),
      meta,
      RangeError,
      "ZP_INVALID_BYTES",
      "unpack: bytes must have length 2 for 3 codes of dtype int4, got 1",
    ],
    [
      "too many bytes",
      new Uint8Array(3),
      meta,
      RangeError,
      "ZP_INVALID_BYTES",
      /must have length 2 .* got 3$/,
    ],
    [
      "signed bytes",
      new Int8Array(2),
      meta,
      TypeError,
      "ZP_INVALID_BYTES",
      "unpack: bytes must be of type Uint8Array, got Int8Array(2)",
    ],
    [
      "an ArrayBuffer",
      new ArrayBuffer(2),
      meta,
      TypeError,
      "ZP_INVALID_BYTES",
      /got an ArrayBuffer$/,
    ],
    ["an array", [1, 2], meta, TypeError, "ZP_INVALID_BYTES", /got \[1, 2\]$/],
    [
      "no meta",
      new Uint8Array(2),
      undefined,
      TypeError,
      "ZP_INVALID_TENSOR",
      "unpack: meta must be what bytes do not hold: { shape, dtype, scale, zeroPoint }, got undefined",
    ],
    [
      "meta without a shape",
      new Uint8Array(2),
      { ...meta, shape: undefined },
      TypeError,
      "ZP_INVALID_SHAPE",
      /^unpack: meta\.shape must be an array/,
    ],
    [
      "meta with a wrong scale",
      new Uint8Array(2),
      { ...meta, scale: -1 },
      RangeError,
      "ZP_INVALID_SCALE",
      /^unpack: meta\.scale must be finite/,
    ],
    [
      "meta with an unknown dtype",
      new Uint8Array(2),
      { ...meta, dtype: "int9" },
      RangeError,
      "ZP_INVALID_DTYPE",
      /^unpack: meta\.dtype must be/,
    ],
  ];
  for (const [name, bytes, given, type, code, message] of refused) {
    it(`refuses ${name}`, () => refuses(() => unpack(bytes, given), type, code, message));
  }

  it("refuses detached bytes", () => {
    const bytes = new Uint8Array(2);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    refuses(() => unpack(bytes, meta), TypeError, "ZP_DETACHED", /^unpack: the memory of bytes,/);
  });
});

describe("pack refuses", () => {
  it("codes outside the range of the dtype", () => {
    const q = quantized("int4", [0, 8]);
    const message = "pack: q.data[1] must be from -8 to 7 for dtype int4, got 8";
    refuses(() => pack(q), RangeError, "ZP_INVALID_CODES", message);
  });

  it("what is not a quantized tensor", () => {
    refuses(
      () => pack(tensor([1])),
      TypeError,
      "ZP_INVALID_TENSOR",
      /^pack: q must be a quantized/,
    );
  });

  it("and works on", () => {
    const q = quantize(tensor([1, 2]), { dtype: "int4" });
    assert.deepEqual(dequantize(unpack(pack(q), q)), dequantize(q));
  });
});
