import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init } from "zeropoint";
import { load, save } from "zeropoint/models";
import { VectorIndex } from "zeropoint/search";
import { Random, refuses, rejects, sameFloats } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { bytesOf } from "../support/files/saved.mjs";

await init();

const random = new Random(393);
const D = 21;
const rows = Array.from({ length: 150 }, () => random.normal(D));
const query = random.normal(D);

/** An index with ids, rows that were moved, and a largest square that is not there any more. */
function changed(options, nameOf) {
  const index = new VectorIndex({ dimensions: D, ...options });
  index.add(rows, nameOf === undefined ? undefined : rows.map((_, i) => nameOf(i)));
  index.remove(index.ids().filter((_, i) => i % 7 === 3));
  index.add(rows.slice(0, 5));
  return index;
}

/** Reads a file as the documented lines of Python do. */
function readLikePython(data) {
  const view = new DataView(data.buffer, data.byteOffset);
  const start = 8 + Number(view.getBigUint64(0, true));
  const text = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
  const { __metadata__, ...header } = text(data.subarray(8, start));
  const about = JSON.parse(__metadata__.zeropoint).thing;
  const types = {
    I8: Int8Array,
    U8: Uint8Array,
    U32: Uint32Array,
    F16: Uint16Array,
    F32: Float32Array,
  };
  const part = Object.fromEntries(
    Object.entries(header).map(
      ([
        name,
        {
          dtype,
          data_offsets: [from, to],
        },
      ]) => [name, new types[dtype](data.slice(start + from, start + to).buffer)],
    ),
  );
  const ids = part.ids ? text(part.ids) : Array.from({ length: about.rows }, (_, i) => i);
  const { dimensions, groupSize = dimensions } = about;
  const groups = Math.ceil(dimensions / groupSize);
  const vectors = Float32Array.from(part.codes, (code, i) => {
    const [row, place] = [Math.floor(i / dimensions), i % dimensions];
    return code * part.scales[row * groups + Math.floor(place / groupSize)];
  });
  return { about, part, ids, vectors };
}

describe("load of an index reads its rows in parts", () => {
  const large = new VectorIndex({ dimensions: 1024, originals: "float16" });
  large.add(Array.from({ length: 1500 }, () => random.normal(1024)));

  it("of at most 1 MiB and a row, into two arrays in turn", async () => {
    const bytes = await bytesOf(large);
    const lengths = [];
    const read = (offset, length) => {
      lengths.push(length);
      return bytes.subarray(offset, offset + length);
    };
    const again = await load({ size: bytes.length, read });
    assert.ok(Math.max(...lengths) <= 2 ** 20 + 3 * 1024, String(lengths));
    assert.ok(lengths.length > 6);
    const one = random.normal(1024);
    assert.deepEqual(again.search(one), large.search(one));
    assert.deepEqual(await bytesOf(again), bytes);
    again.dispose();
  });

  it("and refuses what a later part holds", async () => {
    const bytes = await bytesOf(large);
    const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const { codes } = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
    bytes[start + codes.data_offsets[1] - 1] = 0x80;
    await assert.rejects(load(bytes), /codes within their range/);
    const read = async (offset, length) => {
      if (offset > start + 2 ** 20) throw new Error("the disk is gone");
      return bytes.subarray(offset, offset + length);
    };
    await assert.rejects(load({ size: bytes.length, read }), /the disk is gone/);
  });

  it("and refuses columns that something else has taken", async () => {
    const index = new VectorIndex({ dimensions: 4 });
    index.add([[1, 2, 3, 4]]);
    const bytes = await bytesOf({ a: index, b: index });
    const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const header = new TextDecoder().decode(bytes.subarray(8, start));
    const changed = header.replace(/b\.codes(?=\\")/, "a.codes");
    assert.notEqual(changed, header);
    const out = bytes.slice();
    new TextEncoder().encodeInto(changed, out.subarray(8, start));
    await assert.rejects(load(out), /not used before/);
  });
});

describe("save and load of an index", () => {
  const cases = [
    [{}, undefined],
    [{ dtype: "int4", metric: "euclidean", originals: "float16" }, (i) => `row ${i}`],
    [
      { dtype: "binary", metric: "dot", originals: "float32" },
      (i) => (i % 2 === 0 ? i / 4 : `"${i}\ud800`),
    ],
    [{ prefilter: "binary" }, (i) => 2 * i],
    [{ groupSize: 8, originals: "float16" }, undefined],
    [{ dtype: "int4", groupSize: 5, metric: "euclidean" }, (i) => i + 1],
  ];
  for (const [options, nameOf] of cases) {
    it(`brings back the same results: ${JSON.stringify(options)}`, async () => {
      const index = changed(options, nameOf);
      const bytes = await bytesOf(index);
      const again = await load(bytes);
      assert.ok(again instanceof VectorIndex);
      assert.equal(String(again), String(index));
      assert.deepEqual(again.ids(), index.ids());
      for (const id of index.ids()) sameFloats(again.vector(id), index.vector(id));
      for (const k of [1, 10, 1000]) {
        assert.deepEqual(again.search(query, { k }), index.search(query, { k }));
      }
      // They stay equal: ties, and ids that are given by default.
      for (const each of [index, again]) {
        each.remove(each.ids().slice(4, 9));
        each.add(rows.slice(3, 12));
      }
      assert.deepEqual(again.ids(), index.ids());
      assert.deepEqual(again.search(query), index.search(query));
      assert.deepEqual(await bytesOf(again), await bytesOf(index));
      for (const { load: own, name } of builds) {
        const other = await own(bytes);
        assert.deepEqual(
          other.search(query, { k: 3 }),
          (await load(bytes)).search(query, { k: 3 }),
          name,
        );
      }
    });
  }

  it("keeps an empty index, and indexes within other things", async () => {
    const empty = await load(await bytesOf(new VectorIndex({ dimensions: 3 })));
    assert.equal(empty.size, 0);
    assert.deepEqual(empty.add([1, 2, 3]), [0]);
    const { notes, list } = await load(
      await bytesOf({ notes: changed({}), list: [changed({ dtype: "int4" })] }),
    );
    assert.deepEqual(notes.search(query), changed({}).search(query));
    assert.equal(list[0].dtype, "int4");
  });

  it("keeps ids of more rows than are written at a time, as one list in JSON", async () => {
    for (const size of [4095, 4096, 4097, 10_000]) {
      const ids = Array.from({ length: size }, (_, i) => (i % 3 === 0 ? i : `ü"${i}`));
      const index = new VectorIndex({ dimensions: 1 });
      index.add(new Float32Array(size).fill(1), ids);
      const bytes = await bytesOf(index);
      assert.deepEqual(readLikePython(bytes).ids, ids);
      assert.deepEqual((await load(bytes)).ids(), ids);
    }
    const index = new VectorIndex({ dimensions: 1 });
    index.add([1], ["x"]);
    index.remove("x");
    assert.equal((await load(await bytesOf(index))).size, 0);
  });

  it("can be read with ten lines of Python", async () => {
    for (const groupSize of [undefined, 8]) {
      const index = changed({ metric: "dot", groupSize }, (i) => `é${i}`);
      const { about, ids, vectors } = readLikePython(await bytesOf(index));
      assert.deepEqual([about.metric, about.rows, about.dimensions], ["dot", index.size, D]);
      assert.deepEqual(new Set(ids), new Set(index.ids()));
      for (const [i, id] of ids.entries()) {
        sameFloats(index.vector(id), vectors.subarray(i * D, (i + 1) * D));
      }
    }
  });

  it("refuses a file that is read while the index changes", async () => {
    const index = changed({});
    const file = save(index);
    index.remove(index.ids()[0]);
    const reading = new Response(file).arrayBuffer();
    await rejects(reading, TypeError, "ZP_INVALID_STATE", /the index was changed/);
    index.dispose();
    refuses(() => save(index), TypeError, "ZP_DISPOSED", /disposed/);
  });

  it("refuses other groups than its columns have, and codes behind the last one of a group", async () => {
    const index = changed({ dtype: "int4", groupSize: 7 });
    const bytes = await bytesOf(index);
    const text = new TextDecoder("latin1").decode(bytes);
    const altered = (from, to) => Uint8Array.from(text.replace(from, to), (c) => c.charCodeAt(0));
    const refuse = (file, message) => rejects(load(file), RangeError, "ZP_INVALID_FILE", message);
    await refuse(altered('\\"groupSize\\":7', '\\"groupSize\\":6'), /shape \[\d+, \d+\]/);
    await refuse(altered('\\"groupSize\\":7', '\\"groupSize\\":0'), /groupSize/);
    await refuse(altered('\\"dtype\\":\\"int4', '\\"dtype\\":\\"int8'), /codes/);
    // A group of 7 codes has 4 bytes, the last one with its high half empty.
    const { part } = readLikePython(bytes);
    const codes = part.codes.slice();
    codes[3] |= 0x10;
    const [old, own] = [part.codes, codes].map((each) => new TextDecoder("latin1").decode(each));
    await refuse(altered(old, own), /codes within their range/);
  });

  it("refuses files that are not as save writes them", async () => {
    const bytes = await bytesOf(changed({ originals: "float32" }, (i) => `r${i}`));
    /** The same file with a change of its structure, whose text keeps its length, or of its bytes. */
    const altered = (from, to) => {
      const text = new TextDecoder("latin1").decode(bytes);
      assert.ok(text.includes(from) && from.length === to.length, from);
      return Uint8Array.from(text.replace(from, to), (char) => char.charCodeAt(0));
    };
    const refuse = async (file, message) => {
      await rejects(load(file), RangeError, "ZP_INVALID_FILE", message);
    };
    const { part } = readLikePython(bytes);
    const raw = (array, value, place) => {
      const copy = array.slice();
      copy[place] = value;
      const [old, own] = [array, copy].map((each) =>
        new TextDecoder("latin1").decode(new Uint8Array(each.buffer)),
      );
      return altered(old, own);
    };
    await refuse(raw(part.scales, Number.NaN, 3), /scales and errors that are finite/);
    await refuse(raw(part.errors, -1, 3), /scales and errors that are finite/);
    await refuse(raw(part.codes, -128, 3), /codes within their range/);
    await refuse(raw(part.originalValues, Infinity, 3), /finite originals/);
    await refuse(raw(part.orders, part.orders[0], 1), /different numbers below/);
    await refuse(altered('["r0","r1"', '["r0","r0"'), /each id once/);
    await refuse(altered('["r0"', "[null"), /a text or a number/);
    await refuse(altered('["r0"', '[["r0'), /a list of ids as JSON/);
    await refuse(
      altered('\\"metric\\":\\"cosine', '\\"metric\\":\\"cosina'),
      /"cosine" or "dot" or "euclidean"/,
    );
    const { mostSquares, rows: size } = readLikePython(bytes).about;
    const more = `\\"rows\\":${size + 1}`;
    await refuse(altered(`\\"rows\\":${size}`, more), /shape \[\d+, 21\]/);
    await refuse(
      altered('\\"originals\\":\\"float32', '\\"originals\\":\\"float16'),
      /originalValues/,
    );
    // The largest square is computed again: bounds would be wrong with a smaller one.
    const field = `\\"mostSquares\\":${mostSquares}`;
    const less = await load(
      altered(
        field,
        field.replace(/\d+$/, (digits) => "0".padEnd(digits.length)),
      ),
    );
    const own = await bytesOf(less);
    assert.ok(readLikePython(own).about.mostSquares > 0);
  });
});
