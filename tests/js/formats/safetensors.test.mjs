import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  bytesSource,
  layoutSafetensors,
  readSafetensors,
  readShardIndex,
  shardIndexText,
  writeSafetensors,
} from "../../internal/formats.mjs";
import {
  assertFileError,
  assertTensor,
  assertVerdict,
  collect,
  fuzzReader,
  openFully,
  property,
  tensorsOf,
  vectorsOf,
} from "../support/files/formats.mjs";

const vectors = vectorsOf("safetensors");
const encode = (text) => new TextEncoder().encode(text);

/** A file of a header text and data. */
function fileOf(header, data = new Uint8Array(0)) {
  const text = typeof header === "string" ? encode(header) : header;
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(data, 8 + text.length);
  return bytes;
}

/** A writable tensor of given bytes. */
const tensorOf = (name, dtype, shape, data) => ({ name, dtype, shape, bytes: () => [data] });

const write = (tensors, metadata) =>
  collect(writeSafetensors(layoutSafetensors(tensors, metadata)));

describe("readSafetensors", () => {
  for (const { file, metadata, tensors } of vectors.cases) {
    it(`reads metadata, shapes and values of ${file}`, async () => {
      const read = await readSafetensors(vectors.source(file));
      assert.deepEqual(Object.fromEntries(read.metadata), metadata ?? {});
      assert.equal(read.tensors.size, tensors.length);
      for (const expected of tensors) {
        const tensor = read.tensors.get(expected.name);
        await assertTensor(tensor, expected, `${file} ${expected.name}`);
        assert.equal(tensor.span.offset, expected.begin);
      }
    });
  }

  for (const verdict of vectors.bad) {
    it(`${verdict.zeropoint}s ${verdict.file}: ${verdict.what}`, () =>
      assertVerdict(readSafetensors, vectors.badBytes(verdict.file), verdict));
  }

  it("names offset, expected and found in its errors", async () => {
    const text = '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}';
    const { error } = await openFully(readSafetensors, fileOf(text, new Uint8Array(4)), "size");
    assert.equal(error.offset, 9);
    assert.equal(
      error.message,
      "readSafetensors: at byte 9: expected 8 whole bytes for float32 of shape [2], found data_offsets [0, 4]",
    );
    const unknown = '{"layer.weight":{"dtype":"F128","shape":[0],"data_offsets":[0,0]}}';
    const other = await openFully(readSafetensors, fileOf(unknown, new Uint8Array(0)), "size");
    assert.match(other.error.message, /expected a known dtype of "layer\.weight", found "F128"/);
  });

  it("reads the header alone, and nothing beyond it", async () => {
    const bytes = vectors.bytes("many.safetensors");
    let read = 0;
    const source = bytesSource(bytes);
    await readSafetensors({
      size: 2 ** 40,
      read: (offset, length) => {
        read += length;
        return source.read(offset, length);
      },
    }).catch((error) => assertFileError(error, "too short"));
    assert.ok(read < bytes.length + 2 ** 16);
  });

  it("refuses a source that is none, or that gives fewer bytes", async () => {
    await assert.rejects(readSafetensors(new Uint8Array(8)), { name: "TypeError" });
    await assert.rejects(readSafetensors({ size: 20, read: () => new Uint8Array(3) }), {
      code: "ZP_INVALID_FILE",
    });
    await assert.rejects(readSafetensors({ size: 20, read: () => "text" }), { name: "TypeError" });
  });

  fuzzReader(it, readSafetensors, vectors);

  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(
        "0",
        "1",
        "4",
        "8",
        "-1",
        "1.0",
        "1e3",
        "9007199254740993",
        "null",
        "true",
        "{",
        "]",
      ),
      fc.constantFrom('"F32"', '"F4"', '"U8"', '"dtype"', '"\\ud800"', '"\\u0000"', '""'),
      fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
      fc
        .array(fc.tuple(tie("key"), tie("value")), { maxLength: 4 })
        .map((members) => `{${members.map(([key, value]) => `${key}:${value}`).join(", ")}}`),
    ),
    key: fc.constantFrom(
      '"dtype"',
      '"shape"',
      '"data_offsets"',
      '"__metadata__"',
      '"a"',
      '"__proto__"',
      "1",
    ),
  })).value;
  property(it, "reads any header or refuses it", [json, fc.nat(32)], async (text, size) => {
    await openFully(readSafetensors, fileOf(`{"a":${text}}`, new Uint8Array(size)), text);
    await openFully(readSafetensors, fileOf(text, new Uint8Array(size)), text);
  });
});

describe("writeSafetensors", () => {
  for (const file of ["numpy-saved", "torch-saved", "empty-header", "only-metadata"]) {
    it(`writes the bytes of the reference library: ${file}`, async () => {
      const bytes = vectors.bytes(`${file}.safetensors`);
      const { tensors, metadata } = await readSafetensors(bytesSource(bytes));
      const layout = layoutSafetensors([...tensors.values()].reverse(), metadata);
      assert.equal(layout.byteLength, bytes.length);
      assert.deepEqual(await collect(writeSafetensors(layout)), bytes);
    });
  }

  it("sorts tensors by dtype as the reference enumerates it, then by the bytes of the name", async () => {
    const name = ["b", "a", "\u{1f999}", "\uffee"];
    const tensors = name.map((each) => tensorOf(each, "int8", [1], Uint8Array.of(7)));
    tensors.push(tensorOf("c", "float32", [], new Uint8Array(4)));
    tensors.push(tensorOf("d", "float64", [], new Uint8Array(8)));
    tensors.push(tensorOf("e", "uint64", [], new Uint8Array(8)));
    const { tensors: read } = await readSafetensors(bytesSource(await write(tensors)));
    assert.deepEqual([...read.keys()], ["e", "d", "c", "a", "b", "\uffee", "\u{1f999}"]);
  });

  it("refuses dtypes, sizes and names that the format has not", () => {
    const layout =
      (...tensor) =>
      () =>
        layoutSafetensors([tensorOf(...tensor)]);
    assert.throws(layout("a", "q4_0", [32]), { code: "ZP_UNSUPPORTED_DTYPE" });
    assert.throws(layout("a", "float4_e2m1fn", [3]), { code: "ZP_INVALID_SHAPE" });
    assert.throws(layout("__metadata__", "int8", [1]), { code: "ZP_INVALID_FILE" });
    const twice = tensorOf("a", "int8", [1]);
    assert.throws(() => layoutSafetensors([twice, twice]), { code: "ZP_INVALID_FILE" });
  });

  it("refuses tensors that give more or fewer bytes than they have", async () => {
    for (const length of [0, 3, 5]) {
      const short = tensorOf("a", "float32", [1], new Uint8Array(length));
      await assert.rejects(write([short]), { name: "RangeError", code: "ZP_INVALID_BYTES" });
    }
  });

  const dtypes = [
    "bool",
    "uint8",
    "int8",
    "float8_e4m3fn",
    "float16",
    "bfloat16",
    "int32",
    "float32",
  ];
  property(
    it,
    "gives back what it wrote, and writes the same bytes again",
    [
      tensorsOf([...dtypes, "complex64", "float64", "int64", "float4_e2m1fn", "float6_e3m2fn"]),
      fc.array(fc.tuple(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }))),
    ],
    async (tensors, metadata) => {
      const texts = new Map(metadata);
      const bytes = await write(tensors, texts);
      const read = await readSafetensors(bytesSource(bytes));
      assert.deepEqual(read.metadata, texts);
      assert.equal(read.tensors.size, tensors.length);
      for (const { name, dtype, shape, data } of tensors) {
        const tensor = read.tensors.get(name);
        assert.deepEqual([tensor.dtype, [...tensor.shape]], [dtype, shape]);
        assert.deepEqual(await collect(tensor.bytes()), data);
      }
      assert.deepEqual(await write(read.tensors.values(), read.metadata), bytes);
    },
    100,
  );
});

describe("index of shards", () => {
  const text = new TextDecoder().decode(vectors.bytes("sharded/model.safetensors.index.json"));

  it("is read, and written byte for byte as Python writes it", async () => {
    const { weightMap, metadata } = await readShardIndex(bytesSource(encode(text)));
    assert.deepEqual([...metadata], [["total_size", "784"]]);
    assert.equal(weightMap.get("embed"), "model-00001-of-00003.safetensors");
    assert.equal(`${shardIndexText(metadata, weightMap)}\n`, `${text.trimEnd()}\n`);
  });

  it("keeps metadata of any kind as they are written", async () => {
    const own =
      '{"b": [1e-05, {"10": 1, "9": NaN}], "é": "\\u00e9é", "a": null, "total_size": "2"}';
    const index = encode(`{"metadata": ${own}, "weight_map": {"w": "f"}}`);
    const { weightMap, metadata } = await readShardIndex(bytesSource(index));
    const written = shardIndexText(metadata, weightMap);
    const lines = [
      ...['"a": null', '"b": [1e-05, {"10": 1, "9": NaN}]', '"total_size": "2"'],
      '"\\u00e9": "\\u00e9\\u00e9"',
    ];
    const head = `{\n  "metadata": {\n    ${lines.join(",\n    ")}\n  },\n`;
    assert.ok(written.startsWith(head), written);
  });

  it("keeps integer names in order and escapes other characters than ASCII", () => {
    const written = shardIndexText(
      new Map([["total_size", 1]]),
      [
        ["é", "f"],
        ["10", "f"],
        ["9", "f"],
      ],
      4,
    );
    const names = '        "10": "f",\n        "9": "f",\n        "\\u00e9": "f"\n';
    assert.ok(written.includes(names), written);
  });

  it("refuses files outside of its folder", async () => {
    for (const file of ["../a", "/a", "a/../../b", "c:\\a", "http://a/b", "", "\\a", "a\\..\\b"]) {
      const index = JSON.stringify({ weight_map: { w: file } });
      await assert.rejects(
        readShardIndex(bytesSource(encode(index))),
        { code: "ZP_INVALID_FILE" },
        file,
      );
    }
    await assert.rejects(readShardIndex(bytesSource(encode("{}"))), { code: "ZP_INVALID_FILE" });
  });
});
