import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  bytesSource,
  ggmlTypeNumber,
  ggufEntry,
  layoutGGUF,
  readGGUF,
  writeGGUF,
} from "../../internal/formats.mjs";
import {
  assertTensor,
  assertVerdict,
  collect,
  fuzzReader,
  openFully,
  property,
  tensorsOf,
  vectorsOf,
} from "../support/files/formats.mjs";
import { doubleFromHex } from "../support/vectors.mjs";

const vectors = vectorsOf("gguf");

/** A value of GGUF's metadata in the form of the vectors. */
function plain(type, value) {
  if (type === "float32" && typeof value === "number")
    return Number.isFinite(value) ? Math.fround(value) : String(value);
  if (typeof value === "bigint") return String(value);
  if (ArrayBuffer.isView(value) || Array.isArray(value))
    return Array.from(value, (item) => plain(type, item));
  return value;
}

function expectedValue(type, value) {
  if (type === "array") return value.values.map((item) => expectedValue(value.of, item));
  if (type === "float64") return doubleFromHex(value.hex);
  if (type === "float32" && typeof value === "number") return Math.fround(value);
  return value;
}

const rewrite = ({ tensors, metadata }) =>
  collect(writeGGUF(layoutGGUF(tensors.values(), metadata)));

describe("readGGUF", () => {
  for (const { file, version, alignment, data_offset: dataOffset, kv, tensors } of vectors.cases) {
    if (kv === undefined) continue;
    it(`reads the version and keys of ${file}`, async () => {
      const read = await readGGUF(vectors.source(file));
      assert.deepEqual([read.version, read.alignment], [version, alignment]);
      if (tensors.length > 0) assert.equal(read.dataOffset, dataOffset);
      assert.deepEqual(
        [...read.metadata.keys()],
        kv.map(({ key }) => key),
      );
      for (const { key, type, value } of kv) {
        const entry = read.metadata.get(key);
        assert.equal(entry.type, type, key);
        if (type === "array") assert.equal(entry.elementType, value.of, key);
        const of = type === "array" ? value.of : type;
        const actual = plain(of, entry.value);
        assert.deepEqual(actual, expectedValue(type, value), key);
      }
    });

    it(`reads the shapes and values of ${file}`, async () => {
      const read = await readGGUF(vectors.source(file));
      assert.deepEqual(
        [...read.tensors.keys()],
        tensors.map(({ name }) => name),
      );
      for (const { ne, type, ggml_type: number, nbytes, ...expected } of tensors) {
        const tensor = read.tensors.get(expected.name);
        assert.deepEqual([...tensor.shape], [...ne].reverse());
        assert.equal(ggmlTypeNumber(tensor.dtype), number, type);
        assert.equal(tensor.byteLength, nbytes);
        await assertTensor(tensor, expected, `${file} ${expected.name}`);
      }
    });
  }

  it("reads bytes of a subclass whose slice does not copy, like Node's Buffer, and leaves them as they are", async () => {
    class Buffer extends Uint8Array {
      slice(begin, end) {
        return this.subarray(begin, end);
      }
    }
    for (const file of ["kv-types.gguf", "big-endian.gguf"]) {
      const bytes = vectors.bytes(file);
      const buffer = new Buffer(bytes);
      const valuesOf = async (given) => {
        const { metadata, tensors } = await readGGUF(bytesSource(given));
        for (const tensor of tensors.values()) await collect(tensor.bytes());
        return Array.from(metadata.values(), ({ value }) => value);
      };
      assert.deepEqual(await valuesOf(buffer), await valuesOf(bytes));
      assert.deepEqual(new Uint8Array(buffer), bytes);
    }
  });

  it("names a tensor whose type was removed from ggml, and its type", async () => {
    const tensor = { name: "blk.0.w", dtype: "float32", shape: [32], bytes: () => [] };
    for (const [number, code, found] of [
      [31, "ZP_UNSUPPORTED_FILE", "31: Q4_0_4_4, which was removed from ggml"],
      [36, "ZP_UNSUPPORTED_FILE", "36: IQ4_NL_4_4, which was removed from ggml"],
      [66, "ZP_INVALID_FILE", "66"],
    ]) {
      const { header } = layoutGGUF([{ ...tensor, bytes: () => [new Uint8Array(128)] }], []);
      const bytes = new Uint8Array(header.length + 128);
      bytes.set(header);
      // Name, number of axes, one length, type.
      new DataView(bytes.buffer).setUint32(24 + 8 + 7 + 4 + 8, number, true);
      await assert.rejects(readGGUF(bytesSource(bytes)), (error) => {
        assert.equal(error.code, code);
        assert.match(error.message, /expected a known tensor type of "blk\.0\.w", found /);
        return error.found === found;
      });
    }
  });

  it("refuses blocks that are smaller than their place, as those of another build's types", async () => {
    const tensors = [
      { name: "a", dtype: "q8_0", shape: [32], bytes: () => [new Uint8Array(34)] },
      { name: "b", dtype: "float32", shape: [1], bytes: () => [new Uint8Array(4)] },
    ];
    const bytes = await collect(writeGGUF(layoutGGUF(tensors, [])));
    await readGGUF(bytesSource(bytes));
    // Name, number of axes, one length, type: q4_0 has 18 bytes.
    new DataView(bytes.buffer).setUint32(24 + 8 + 1 + 4 + 8, 2, true);
    await assert.rejects(readGGUF(bytesSource(bytes)), {
      code: "ZP_UNSUPPORTED_FILE",
      message: /expected q4_0 of 64 bytes up to the next tensor, found 18$/,
    });
  });

  it("reads big-endian files as little-endian ones", async () => {
    const read = await readGGUF(vectors.source("big-endian.gguf"));
    assert.equal(read.littleEndian, false);
    for (const tensor of read.tensors.values()) {
      await assertTensor(tensor, { shape: [...tensor.shape] }, tensor.name);
    }
    const again = await readGGUF(bytesSource(await rewrite(read)));
    assert.equal(again.littleEndian, true);
    for (const [key, { type, value }] of read.metadata) {
      assert.deepEqual(again.metadata.get(key).value, value);
      assert.equal(again.metadata.get(key).type, type);
    }
    assert.deepEqual([...again.tensors.keys()], [...read.tensors.keys()]);
  });

  for (const verdict of vectors.bad) {
    it(`${verdict.zeropoint}s ${verdict.file}: ${verdict.what}`, () =>
      assertVerdict(readGGUF, vectors.badBytes(verdict.file), verdict));
  }

  it("names offset, expected and found in its errors", async () => {
    const bytes = vectors.badBytes("06-version-1.gguf");
    const { error } = await openFully(readGGUF, bytes, "version");
    assert.equal(error.message, "readGGUF: at byte 4: expected version 2 or 3, found 1");
    assert.deepEqual([error.offset, error.found], [4, "1"]);
  });

  it("reads on where a header is longer than the first read", async () => {
    const words = Array.from({ length: 30_000 }, (_, i) => `word ${i}`);
    const metadata = [
      ["a", ggufEntry("array", words, "string")],
      ["b", ggufEntry("int64", -5n)],
    ];
    const bytes = await collect(writeGGUF(layoutGGUF([], metadata)));
    assert.ok(bytes.length > 2 ** 18);
    const read = await readGGUF(bytesSource(bytes));
    assert.deepEqual(read.metadata.get("a").value, words);
    assert.equal(read.metadata.get("b").value, -5n);
  });

  fuzzReader(it, readGGUF, vectors);

  const u64 = fc.oneof(
    fc.bigInt({ min: 0n, max: 5n }),
    fc.constantFrom(2n ** 32n, 2n ** 53n, 2n ** 61n, 2n ** 64n - 1n),
  );
  const u32 = fc.oneof(fc.nat(14), fc.constantFrom(31, 999, 2 ** 31, 2 ** 32 - 1));
  const pieces = fc.array(
    fc.oneof(
      u64.map((value) => [8, value]),
      u32.map((value) => [4, BigInt(value)]),
      fc.constantFrom("a", "general.alignment", "\u00e9").map((text) => [0, text]),
    ),
    { maxLength: 30 },
  );
  property(
    it,
    "reads any structure or refuses it",
    [fc.nat(3), fc.nat(3), pieces],
    async (tensors, keys, list) => {
      const parts = [[4, 0x46554747n], [4, 3n], [8, BigInt(tensors)], [8, BigInt(keys)], ...list];
      const bytes = parts.flatMap(([size, value]) => {
        if (size > 0)
          return Array.from({ length: size }, (_, i) => Number((value >> BigInt(8 * i)) & 255n));
        const text = new TextEncoder().encode(value);
        return [text.length, 0, 0, 0, 0, 0, 0, 0, ...text];
      });
      await openFully(readGGUF, Uint8Array.from(bytes), "structure");
    },
    1000,
  );
});

describe("writeGGUF", () => {
  for (const { file, kv } of vectors.cases) {
    const isCanonical = ![
      "version2.gguf",
      "no-tail-padding.gguf",
      "big-endian.gguf",
      "empty.gguf",
    ].includes(file);
    if (kv === undefined || !isCanonical || file === "empty-arrays.gguf") continue;
    it(`writes the bytes of the reference: ${file}`, async () => {
      const bytes = vectors.bytes(file);
      assert.deepEqual(await rewrite(await readGGUF(bytesSource(bytes))), bytes);
    });
  }

  it("makes the entries of the reference from plain values", async () => {
    const { metadata } = await readGGUF(vectors.source("kv-types.gguf"));
    assert.equal(metadata.size, 27);
    for (const [key, entry] of metadata) {
      assert.deepEqual(ggufEntry(entry.type, entry.value).bytes, entry.bytes, key);
    }
    const { metadata: arrays } = await readGGUF(vectors.source("kv-arrays.gguf"));
    assert.equal(arrays.size, 14);
    for (const [key, { type, value, bytes, elementType }] of arrays) {
      assert.deepEqual(ggufEntry(type, value, elementType).bytes, bytes, key);
    }
  });

  it("refuses values that a type cannot hold", () => {
    for (const [type, value] of [
      ["uint8", 256],
      ["int32", 0.5],
      ["uint64", -1n],
      ["uint32", -1],
    ]) {
      assert.throws(() => ggufEntry(type, value), { code: "ZP_INVALID_OPTION" }, type);
    }
    assert.throws(() => ggufEntry("array", [1]), { code: "ZP_INVALID_OPTION" });
  });

  it("refuses dtypes, shapes and names that ggml does not take", () => {
    const layout = (name, dtype, shape) => () =>
      layoutGGUF([{ name, dtype, shape, bytes: () => [] }], []);
    assert.throws(layout("a", "uint8", [1]), { code: "ZP_UNSUPPORTED_DTYPE" });
    assert.throws(layout("a", "q8_0", [33]), { code: "ZP_INVALID_SHAPE" });
    assert.throws(layout("a", "float32", [1, 1, 1, 1, 1]), { code: "ZP_INVALID_SHAPE" });
    assert.throws(layout("x".repeat(64), "float32", [1]), { code: "ZP_INVALID_OPTION" });
  });

  const dtypes = [
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "int64",
    "q8_0",
    "q4_k",
    "iq1_m",
    "mxfp4",
  ];
  property(
    it,
    "gives back what it wrote, and writes the same bytes again",
    [
      tensorsOf(dtypes),
      fc.constantFrom(1, 32, 64),
      fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(fc.string(), fc.integer(), fc.boolean())),
    ],
    async (tensors, alignment, values) => {
      const metadata = new Map([["general.alignment", ggufEntry("uint32", alignment)]]);
      for (const [key, value] of Object.entries(values)) {
        const type = { string: "string", number: "int32", boolean: "bool" }[typeof value];
        metadata.set(key, ggufEntry(type, value));
      }
      const bytes = await collect(writeGGUF(layoutGGUF(tensors, metadata)));
      const read = await readGGUF(bytesSource(bytes));
      assert.deepEqual([...read.metadata.keys()], [...metadata.keys()]);
      for (const [key, { value }] of metadata)
        assert.deepEqual(read.metadata.get(key).value, value);
      for (const { name, dtype, shape, data } of tensors) {
        const tensor = read.tensors.get(name);
        assert.deepEqual([tensor.dtype, [...tensor.shape]], [dtype, shape]);
        assert.deepEqual(await collect(tensor.bytes()), data);
      }
      assert.deepEqual(await rewrite(read), bytes);
    },
    100,
  );
});
