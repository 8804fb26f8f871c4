import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dequantize, init, quantize, tensor } from "zeropoint";
import { VectorIndex } from "zeropoint/search";
import { quantizePerTensor } from "zeropoint/torch";
import { Random, refuses, rejects, sameFloats } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";

await init();

const random = new Random(392);
const D = 20;
const rows = Array.from({ length: 300 }, () => random.normal(D));
const flat = Float32Array.from(rows.flatMap((row) => [...row]));
const query = random.normal(D);
const idsOf = ({ hits }) => hits.map(({ id }) => id);

/** An index of all rows. */
function indexOf(options, ids) {
  const index = new VectorIndex({ dimensions: D, originals: "float32", ...options });
  index.add(flat, ids);
  return index;
}

describe("VectorIndex", () => {
  it("keeps ids in the order of insertion, and gives the next whole numbers by default", () => {
    const index = new VectorIndex({ dimensions: 2 });
    assert.deepEqual(
      index.add([
        [1, 0],
        [0, 1],
      ]),
      [0, 1],
    );
    assert.deepEqual(index.add([3, 4], "a"), ["a"]);
    assert.deepEqual(index.add([5, 6], [7]), [7]);
    assert.deepEqual(index.add([7, 8]), [8]);
    assert.deepEqual(index.ids(), [0, 1, "a", 7, 8]);
    assert.equal(index.size, 5);
    assert.equal(index.dimensions, 2);
    assert.ok(index.has("a") && index.has(7) && !index.has("7") && !index.has(2));
    assert.equal(index.remove([8, 0, "b", 8]), 2);
    assert.deepEqual(index.ids(), [1, "a", 7]);
    assert.deepEqual(index.add([9, 9]), [9]);
    index.clear();
    assert.deepEqual(index.ids(), []);
    assert.deepEqual(index.add([9, 9]), [0]);
  });

  it('distinguishes 1 from "1", and takes -0 for 0', () => {
    const index = new VectorIndex({ dimensions: 1, metric: "dot", originals: "float32" });
    index.add([1, 2, 3, 4], [1, "1", 0, 2 ** 40 + 0.5]);
    assert.equal(index.vector(1)[0], 1);
    assert.equal(index.vector("1")[0], 2);
    assert.equal(index.vector(-0)[0], 3);
    assert.equal(index.vector(2 ** 40 + 0.5)[0], 4);
    index.add([9], [-0]);
    assert.equal(index.vector(0)[0], 9);
    assert.equal(index.size, 4);
  });

  it("gives what a new index of the same rows gives, after any adds, replacements and removals", () => {
    for (const ids of ["numbers", "strings"]) {
      const nameOf = (n) => (ids === "numbers" ? n : `row ${n}`);
      for (const metric of ["cosine", "dot", "euclidean"]) {
        const options = { dimensions: D, metric, dtype: "int4" };
        if (ids === "strings") options.groupSize = 6;
        const index = new VectorIndex(options);
        // A Map keeps the place of a key that is set again, as the index does.
        const expected = new Map();
        for (let step = 0; step < 60; step++) {
          const some = Array.from({ length: random.integer(1, 40) }, () => random.integer(0, 250));
          const names = some.map(nameOf);
          if (step % 3 === 2) {
            const present = new Set(names.filter((name) => expected.has(name)));
            assert.equal(index.remove(names), present.size);
            for (const name of names) expected.delete(name);
          } else {
            // Equal rows test the order of ties.
            const values = some.map((n) => rows[(n + step) % 7]);
            assert.deepEqual(index.add(values, names), names);
            for (const [i, name] of names.entries()) expected.set(name, values[i]);
          }
          assert.deepEqual(index.ids(), [...expected.keys()]);
        }
        const fresh = new VectorIndex(options);
        fresh.add([...expected.values()], [...expected.keys()]);
        assert.ok(expected.size > 20);
        for (const k of [1, 10, 1000]) {
          const [a, b] = [index, fresh].map((each) => each.search(query, { k }));
          assert.deepEqual(idsOf(a), idsOf(b));
          assert.deepEqual(
            a.hits.map(({ id: _, ...hit }) => hit),
            b.hits.map(({ id: _, ...hit }) => hit),
          );
        }
        for (const name of expected.keys()) sameFloats(index.vector(name), fresh.vector(name));
        assert.equal(index.remove(index.ids()), expected.size);
        assert.deepEqual(index.search(query), { hits: [], proven: "order", candidates: 0 });
      }
    }
  });

  it("keeps the last vector of an id that is given twice", () => {
    const index = new VectorIndex({ dimensions: 1, originals: "float32" });
    assert.deepEqual(index.add([[1], [2], [3]], ["a", "b", "a"]), ["a", "b", "a"]);
    assert.deepEqual(index.ids(), ["a", "b"]);
    assert.equal(index.vector("a")[0], 3);
  });

  it("is as before when vectors are refused", () => {
    const index = indexOf({}, undefined);
    const before = index.search(query);
    const bad = [...rows.slice(0, 9), Float32Array.from(query, () => Number.NaN)];
    const message = /^VectorIndex.add: vectors must hold finite numbers, got NaN in row 9$/;
    refuses(() => index.add(bad), RangeError, "ZP_NON_FINITE", message);
    const ids = bad.map((_, i) => 295 + i);
    refuses(() => index.add(bad, ids), RangeError, "ZP_NON_FINITE", message);
    assert.equal(index.size, 300);
    assert.deepEqual(index.search(query), before);
    assert.deepEqual(index.add(query), [300]);
  });

  it("restores vectors: originals, or the codes' values", () => {
    const x = tensor(flat, [300, D]);
    sameFloats(indexOf({}).vector(3), rows[3]);
    const half = indexOf({ originals: "float16" }).vector(3);
    for (const [i, value] of half.entries()) assert.ok(Math.abs(value - rows[3][i]) <= 2 ** -9);
    const own = indexOf({ originals: "none", metric: "dot" });
    const q = dequantize(quantize(x, { axis: 0 }));
    sameFloats(own.vector(3), q.data.slice(3 * D, 4 * D));
    assert.equal(own.vector("no"), undefined);
  });

  it("answers a batch as its queries one by one, in every form, with and without a filter", () => {
    const batch = Array.from({ length: 19 }, () => random.normal(D));
    const forms = [{}, { dtype: "int4" }, { dtype: "binary" }, { prefilter: "binary" }];
    for (const form of [...forms, { groupSize: 7 }, { dtype: "int4", groupSize: 7 }]) {
      const index = indexOf({ originals: "none", ...form });
      for (const filter of [undefined, (id) => id % 3 === 0]) {
        const options = { k: 5, filter };
        for (const count of [1, 2, 3, 16, 17, 19]) {
          const some = batch.slice(0, count);
          const each = some.map((own) => index.search(own, options));
          assert.deepEqual(index.search(some, options), each, `${count}, ${JSON.stringify(form)}`);
        }
      }
    }
  });

  it("gives the same hits with any number of queries, ids as a filter or a function, and k beyond its size", () => {
    const index = indexOf({ metric: "euclidean" });
    const batch = Array.from({ length: 40 }, () => random.normal(D));
    const results = index.search(batch, { k: 7 });
    assert.equal(results.length, 40);
    for (const [i, own] of batch.entries()) {
      assert.deepEqual(results[i], index.search(own, { k: 7 }));
    }
    const data = Float32Array.from(batch.flatMap((own) => [...own]));
    assert.deepEqual(index.search({ data, dims: [40, D], type: "float32" }, { k: 7 }), results);
    assert.deepEqual(index.search([], { k: 7 }), []);
    const all = index.search(query, { k: 1000 });
    assert.equal(all.hits.length, 300);
    const wanted = idsOf(all)
      .filter((id) => id % 3 === 0)
      .slice(0, 7);
    const isWanted = (id) => id % 3 === 0;
    for (const filter of [
      isWanted,
      index.ids().filter(isWanted),
      new Set([...wanted, "no", 2e9]),
    ]) {
      assert.deepEqual(idsOf(index.search(query, { k: 7, filter })), wanted);
    }
    const none = { hits: [], proven: "order", candidates: 0 };
    assert.deepEqual(index.search(query, { filter: [] }), none);
    assert.deepEqual(index.search(query, { filter: () => false }), none);
    assert.deepEqual(new VectorIndex({ dimensions: D }).search(query), none);
  });

  it("scans only the rows whose signs are nearest with a prefilter, and proves nothing", () => {
    const exact = indexOf({});
    const index = indexOf({ prefilter: "binary" });
    assert.equal(index.prefilter, "binary");
    const all = index.search(query, { prefilterFactor: 1000 });
    assert.deepEqual(all, { ...exact.search(query), proven: false });
    const few = index.search(query, { k: 3, prefilterFactor: 2 });
    const distance = (row) => row.filter((value, i) => value > 0 !== query[i] > 0).length;
    const sorted = rows.map(distance).sort((a, b) => a - b);
    for (const { id } of few.hits) assert.ok(distance(rows[id]) <= sorted[5]);
    const filter = [5, 6, 7];
    assert.deepEqual(
      idsOf(index.search(query, { filter })),
      idsOf(exact.search(query, { filter })),
    );
    assert.equal(index.remove(filter), 3);
    assert.equal(index.search(query, { filter }).hits.length, 0);
  });

  it("gives a zero vector the cosine 0, as query and as row", () => {
    const index = new VectorIndex({ dimensions: 2, originals: "float32" });
    index.add([
      [0, 0],
      [3, 4],
      [-1, 0],
    ]);
    assert.deepEqual(index.search([1, 0]).hits, [
      { id: 1, score: 0.6, error: 0 },
      { id: 0, score: 0, error: 0 },
      { id: 2, score: -1, error: 0 },
    ]);
    assert.deepEqual(
      index.search([0, 0]).hits.map(({ score }) => score),
      [0, 0, 0],
    );
  });

  it("corrects products with signs for their length, within their bounds", () => {
    const index = new VectorIndex({ dimensions: 4, dtype: "binary" });
    index.add([4, 0.1, 0.1, 0.1]);
    const norm = Math.sqrt(16.03);
    // Of the normalized row: signs of 1, their scale, and the norm of what they lose.
    const scale = 4.3 / (4 * norm);
    const error = Math.sqrt(1 - 4 * scale ** 2);
    for (const [query, product, exact] of [
      [[1, 0, 0, 0], scale, 4 / norm],
      [[1, 1, 1, 1], 2 * scale, 4.3 / (2 * norm)],
    ]) {
      const [hit] = index.search(query).hits;
      const expected = Math.min(product / (4 * scale ** 2), product + error);
      assert.ok(Math.abs(hit.score - expected) < 1e-6, `${hit.score} ${expected}`);
      assert.ok(Math.abs(hit.score - exact) <= hit.error);
    }
  });

  it("gives the same bits in every build and with any number of threads", () => {
    const n = 6000;
    const many = random.normal(n * 64);
    for (const [dtype, groupSize] of [["int8"], ["int4"], ["int4", 25], ["binary"]]) {
      for (const prefilter of dtype === "binary" ? ["none"] : ["none", "binary"]) {
        let expected;
        for (const zp of builds) {
          const index = new zp.VectorIndex({ dimensions: 64, dtype, groupSize, prefilter });
          index.add(many.subarray(0, 64 * 4000));
          index.add(many.subarray(64 * 4000));
          const queries = [3, 4, 5].map((row) => many.subarray(row * 64, row * 64 + 64));
          const results = [...index.search(queries), index.search(queries[0], { k: 3 })];
          index.dispose();
          expected ??= results;
          assert.deepEqual(results, expected, `${dtype} ${groupSize} ${zp.name}`);
        }
      }
    }
  });

  it("throws after dispose, and on anything but itself", () => {
    const index = indexOf({});
    index.dispose();
    index.dispose();
    for (const work of [
      () => index.add(query),
      () => index.search(query),
      () => index.remove(1),
      () => index.size,
      () => index.ids(),
      () => index.vector(1),
      () => index.export("int8"),
    ]) {
      refuses(work, TypeError, "ZP_DISPOSED", /the index is disposed and cannot be used any more/);
    }
    const proxy = new Proxy(new VectorIndex({ dimensions: 1 }), {});
    refuses(() => proxy.search([1]), TypeError, "ZP_INVALID_MODEL", /on the object itself/);
    refuses(
      () => JSON.stringify(new VectorIndex({ dimensions: 1 })),
      TypeError,
      "ZP_NOT_CLONEABLE",
      /save/,
    );
    if (typeof Symbol.dispose === "symbol") {
      const own = new VectorIndex({ dimensions: 1 });
      own[Symbol.dispose]();
      refuses(() => own.size, TypeError, "ZP_DISPOSED", /disposed/);
    }
  });
});

describe("groupSize of VectorIndex", () => {
  it("restores what quantize with the same groups restores, also where the last group is short", () => {
    const x = tensor(flat, [300, D]);
    for (const dtype of ["int8", "int4"]) {
      for (const groupSize of [1, 4, 7, 16, 19]) {
        const index = indexOf({ originals: "none", metric: "dot", dtype, groupSize });
        const expected = dequantize(quantize(x, { dtype, groupSize })).data;
        for (const id of [0, 3, 299]) {
          const text = `${dtype} ${groupSize}`;
          sameFloats(index.vector(id), expected.slice(id * D, id * D + D), text);
        }
        assert.equal(index.groupSize, groupSize);
        index.dispose();
      }
    }
  });

  it("is one scale a row where no second group begins", () => {
    for (const metric of ["cosine", "dot", "euclidean"]) {
      const index = indexOf({ originals: "none", metric });
      for (const groupSize of [D, D + 1, 2 ** 31 - 1]) {
        const own = indexOf({ originals: "none", metric, groupSize });
        assert.equal(own.groupSize, groupSize);
        assert.equal(own.sizeInBytes, index.sizeInBytes);
        assert.deepEqual(own.search(query, { k: 20 }), index.search(query, { k: 20 }));
      }
      assert.equal(index.groupSize, undefined);
    }
  });

  it("leaves fewer candidates than one scale a row, and the same hits", () => {
    const dimensions = 100;
    // Some values are ten times as large as the others, as in embeddings.
    const make = () => random.normal(dimensions).map((value, i) => (i % 25 === 7 ? 10 : 1) * value);
    const own = Array.from({ length: 2000 }, make);
    const queries = Array.from({ length: 8 }, make);
    for (const metric of ["cosine", "dot", "euclidean"]) {
      for (const dtype of ["int8", "int4"]) {
        const [byRow, byGroup] = [undefined, 5].map((groupSize) => {
          const index = new VectorIndex({
            dimensions,
            metric,
            dtype,
            groupSize,
            originals: "float32",
          });
          index.add(own);
          const results = index.search(queries);
          index.dispose();
          return results;
        });
        const count = (results) => results.reduce((sum, { candidates }) => sum + candidates, 0);
        const text = `${metric} ${dtype}: ${count(byGroup)} and ${count(byRow)}`;
        assert.ok(count(byGroup) < 0.8 * count(byRow), text);
        for (const [i, { hits, proven }] of byGroup.entries()) {
          assert.deepEqual(hits, byRow[i].hits, text);
          assert.equal(proven, "order");
        }
      }
    }
  });

  it("takes 4 bytes more for each group, and 12 for a row", () => {
    const dimensions = 256;
    const index = new VectorIndex({ dimensions, dtype: "int4", groupSize: 32 });
    for (let i = 0; i < 40; i++) index.add(random.normal(500 * dimensions));
    const most = 1.1 * index.size * (dimensions / 2 + 12 + 4 * 8);
    assert.ok(index.sizeInBytes <= most, `${index.sizeInBytes} is over ${most}`);
  });

  it("keeps values of groups of zeros, and rows of zeros", () => {
    const index = new VectorIndex({ dimensions: 6, metric: "euclidean", groupSize: 2 });
    index.add([
      [0, 0, 3, 0, 0, 0],
      [0, 0, 0, 0, 0, 0],
      [0, 0, 0, 0, 1e-45, 4],
    ]);
    sameFloats(index.vector(0), [0, 0, 3, 0, 0, 0]);
    const { hits } = index.search([0, 0, 0, 0, 0, 4], { k: 3 });
    assert.deepEqual(
      hits.map(({ id }) => id),
      [2, 1, 0],
    );
    for (const [i, exact] of [0, 4, 5].entries()) {
      assert.ok(Math.abs(hits[i].distance - exact) <= hits[i].error, `${i}`);
    }
  });
});

describe("VectorIndex.add takes", () => {
  const same = (vectors, message, metric = "dot") => {
    const index = new VectorIndex({ dimensions: D, metric, originals: "float32" });
    assert.equal(index.add(vectors).length, 300, message);
    for (const id of [0, 1, 77, 299]) sameFloats(index.vector(id), rows[id], `${message} ${id}`);
    index.dispose();
  };

  it("tensors of any library, typed arrays, and lists of numbers and arrays", () => {
    same(tensor(flat, [300, D]), "tensor");
    same(flat, "values");
    same([...flat], "numbers");
    same(rows, "arrays");
    same(
      rows.map((row) => [...row]),
      "lists",
    );
    same(Float64Array.from(flat), "float64");
    same({ data: flat, dims: [300, D], type: "float32" }, "ONNX Runtime");
    same({ data: flat, shape: [30, 10, D] }, "three axes");
    // The tensor of transformers.js is a proxy with getters.
    class TransformersTensor {
      #data = flat;
      get data() {
        return this.#data;
      }
      get dims() {
        return [300, D];
      }
      get type() {
        return "float32";
      }
    }
    const own = new TransformersTensor();
    same(new Proxy(own, { get: (_, key) => own[key] }), "transformers.js");
    if (typeof SharedArrayBuffer === "function") {
      const shared = new Float32Array(new SharedArrayBuffer(flat.byteLength));
      shared.set(flat);
      same(shared, "shared");
    }
  });

  it("half floats", () => {
    const index = new VectorIndex({ dimensions: 2, originals: "float16" });
    index.add({ data: Uint16Array.of(0x3c00, 0xc000), shape: [1, 2], dtype: "float16" });
    assert.deepEqual([...index.vector(0)], [1, -2]);
    // Originals that float16 holds exactly decide.
    assert.deepEqual(index.search([1, 0]).proven, "order");
    if (typeof Float16Array === "function") {
      index.add(Float16Array.of(0.5, 3), "a");
      assert.deepEqual([...index.vector("a")], [0.5, 3]);
    }
  });

  it("quantized tensors with a scale for all, a row, a dimension or a group, and offsets", () => {
    const x = tensor(flat, [300, D]);
    for (const options of [
      {},
      { axis: 0 },
      { axis: 1 },
      { groupSize: 5 },
      { groupSize: 8 },
      { axis: 1, dtype: "uint8", scheme: "affine" },
      { axis: 0, dtype: "int4", scheme: "affine", zeroPoint: "float" },
    ]) {
      const q = quantize(x, options);
      const index = new VectorIndex({ dimensions: D, metric: "dot", originals: "float32" });
      index.add(q);
      const { data } = builds[0].dequantize(q);
      for (const id of [0, 123, 299]) {
        sameFloats(index.vector(id), data.slice(id * D, (id + 1) * D), JSON.stringify(options));
      }
    }
    const q = quantizePerTensor(x, 0.05, 0, "qint8");
    const index = new VectorIndex({ dimensions: D, originals: "float32" });
    index.add(q);
    assert.ok(Math.abs(index.vector(9)[3] - rows[9][3]) <= 0.025001);
  });

  it("int8 rows of calibrated ranges, as sentence-transformers makes them", () => {
    // quantize_embeddings: code = (x - min) / ((max - min) / 255) - 128.
    const [least, most] = [Math.min, Math.max].map((f) =>
      Float32Array.from({ length: D }, (_, i) => f(...rows.map((row) => row[i]))),
    );
    const steps = least.map((low, i) => (most[i] - low) / 255);
    const data = Int8Array.from(flat, (value, i) => (value - least[i % D]) / steps[i % D] - 128);
    const index = new VectorIndex({ dimensions: D, originals: "float32" });
    const scale = { data: steps, shape: [1, D] };
    const offset = { data: least.map((low, i) => low + 128 * steps[i]), shape: [1, D] };
    index.add({ data, shape: [300, D], dtype: "int8", scheme: "affine", axis: 1, scale, offset });
    for (const [i, value] of index.vector(42).entries()) {
      assert.ok(Math.abs(value - rows[42][i]) <= 1.01 * steps[i]);
    }
  });

  it("packed signs, the first value in the highest bit", () => {
    const index = new VectorIndex({ dimensions: 12, dtype: "binary", metric: "dot" });
    const data = Uint8Array.of(0b10110000, 0b01011111, 0xff, 0xff);
    index.add({ data, shape: [2, 2], dtype: "ubinary" });
    assert.deepEqual([...index.vector(0)], [1, -1, 1, 1, -1, -1, -1, -1, -1, 1, -1, 1]);
    assert.deepEqual(
      idsOf(index.search({ data: data.subarray(2), dtype: "ubinary" }, { k: 1 })),
      [1],
    );
    const one = { data: data.subarray(1), dtype: "ubinary" };
    refuses(() => index.add(one), RangeError, "ZP_SHAPE_MISMATCH", /2 bytes in each vector/);
    const wrong = { data: [1, 2], dtype: "ubinary" };
    refuses(() => index.add(wrong), TypeError, "ZP_INVALID_TENSOR", /Uint8Array of packed signs/);
  });

  it("arrays only while they are there, and no arrays of other lengths", () => {
    const index = new VectorIndex({ dimensions: D });
    for (const vectors of [new Float32Array(D + 1), [[1, 2]], { data: flat, shape: [D, 300] }]) {
      refuses(
        () => index.add(vectors),
        RangeError,
        "ZP_SHAPE_MISMATCH",
        /20 values in each vector/,
      );
    }
    refuses(() => index.search(flat), RangeError, "ZP_SHAPE_MISMATCH", /a batch has two axes/);
    refuses(() => index.add(3), TypeError, "ZP_INVALID_TENSOR", /vectors must be/);
    const moved = new Float32Array(D);
    structuredClone(moved, { transfer: [moved.buffer] });
    refuses(() => index.add(moved), TypeError, "ZP_DETACHED", /detached/);
    assert.deepEqual(index.add([]), []);
    assert.deepEqual(index.add(new Float32Array(0)), []);
    assert.deepEqual(index.add({ data: [], shape: [0, D] }), []);
  });
});

describe("VectorIndex refuses", () => {
  it("options that it has not, and values that they have not", () => {
    const make = (options) => () => new VectorIndex(options);
    refuses(
      make(),
      TypeError,
      "ZP_INVALID_OPTION",
      /options.dimensions must be an integer from 1 to 65535/,
    );
    refuses(make({ dimensions: 0 }), RangeError, "ZP_INVALID_OPTION", /got 0/);
    refuses(make({ dimensions: 65536 }), RangeError, "ZP_INVALID_OPTION", /got 65536/);
    refuses(
      make({ dimensions: 2, metric: "l2" }),
      RangeError,
      "ZP_INVALID_OPTION",
      /"cosine", "dot" or "euclidean"/,
    );
    refuses(
      make({ dimensions: 2, dtype: "uint8" }),
      RangeError,
      "ZP_INVALID_OPTION",
      /options.dtype/,
    );
    refuses(
      make({ dimensions: 2, original: "none" }),
      TypeError,
      "ZP_UNKNOWN_OPTION",
      /did you mean originals/,
    );
    for (const more of [{ prefilter: "binary" }, { groupSize: 8 }]) {
      refuses(
        make({ dimensions: 2, dtype: "binary", ...more }),
        TypeError,
        "ZP_CONFLICTING_OPTIONS",
        /(prefilter|groupSize).* needs dtype "int8" or "int4"/,
      );
    }
    for (const groupSize of [0, 1.5, 2 ** 31]) {
      refuses(
        make({ dimensions: 2, groupSize }),
        RangeError,
        "ZP_INVALID_OPTION",
        /options.groupSize must be an integer from 1/,
      );
    }
  });

  it("queries that are not finite, and wrong options of a search", () => {
    const index = indexOf({});
    const bad = Float32Array.from(query, (value, i) => (i === 3 ? Infinity : value));
    refuses(() => index.search([query, bad]), RangeError, "ZP_NON_FINITE", /got Infinity in row 1/);
    refuses(() => index.search(query, { k: 0 }), RangeError, "ZP_INVALID_OPTION", /options.k/);
    refuses(() => index.search(query, { k: 1.5 }), RangeError, "ZP_INVALID_OPTION", /options.k/);
    refuses(
      () => index.search(query, { filter: "a" }),
      TypeError,
      "ZP_INVALID_OPTION",
      /options.filter/,
    );
    refuses(
      () => index.search(query, { filter: 3 }),
      TypeError,
      "ZP_INVALID_OPTION",
      /options.filter/,
    );
    refuses(
      () => index.search(query, { prefilterFactor: 3 }),
      TypeError,
      "ZP_CONFLICTING_OPTIONS",
      /prefilter "binary"/,
    );
    const filtered = indexOf({ prefilter: "binary" });
    refuses(
      () => filtered.search(query, { prefilterFactor: 0.5 }),
      RangeError,
      "ZP_INVALID_OPTION",
      />= 1/,
    );
    const removing = () => index.remove(0);
    refuses(
      () => index.search(query, { filter: removing }),
      TypeError,
      "ZP_INVALID_FUNCTION",
      /add or remove/,
    );
    assert.equal(index.search(query).hits.length, 10);
  });

  it("ids that are no strings and no finite numbers", () => {
    const index = new VectorIndex({ dimensions: 1 });
    refuses(
      () => index.add([1], [null]),
      TypeError,
      "ZP_INVALID_ID",
      /ids\[0\] must be a string or a finite number/,
    );
    refuses(() => index.add([1], Number.NaN), RangeError, "ZP_INVALID_ID", /got NaN/);
    refuses(() => index.remove([{}]), TypeError, "ZP_INVALID_ID", /ids\[0\]/);
    refuses(
      () => index.add([1, 2], ["a"]),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /as many as vectors, 2, got 1/,
    );
    index.add([1], Number.MAX_SAFE_INTEGER);
    refuses(() => index.add([1]), RangeError, "ZP_INVALID_ID", /ids must be given/);
    assert.equal(index.has(null), false);
  });
});

describe("VectorIndex.rescore", () => {
  it("gives the exact search from originals of the candidates alone", async () => {
    for (const metric of ["cosine", "dot", "euclidean"]) {
      for (const dtype of ["int8", "int4", "binary"]) {
        for (const originals of ["none", "float16"]) {
          const index = indexOf({ metric, dtype, originals });
          const expected = indexOf({ metric, dtype }).search(query, { k: 5 });
          const result = index.search(query, { k: 5 });
          index.remove(result.hits[0].id);
          let asked;
          const { hits, proven } = await index.rescore(result, async (ids) => {
            asked = ids;
            return ids.map((id) => rows[id]);
          });
          assert.deepEqual(hits, expected.hits);
          assert.equal(proven, "order");
          assert.equal(asked.length, result.candidates);
        }
      }
    }
  });

  it("returns a result that originals have decided, and proves nothing with a prefilter", async () => {
    const decided = indexOf({}).search(query);
    const index = indexOf({ originals: "none", prefilter: "binary" });
    const read = (ids) => Float32Array.from(ids.flatMap((id) => [...rows[id]]));
    assert.equal(await index.rescore(decided, read), decided);
    const { proven, hits } = await index.rescore(index.search(query), read);
    assert.equal(proven, false);
    assert.equal(hits[0].error, 0);
    const empty = index.search(query, { filter: [] });
    assert.deepEqual(await index.rescore(empty, read), empty);
  });

  it("refuses other objects, and vectors that are not those of the ids", async () => {
    const index = indexOf({ originals: "none" });
    const result = index.search(query);
    const read = () => [];
    await rejects(
      index.rescore({ ...result }, read),
      TypeError,
      "ZP_INVALID_OPTION",
      /a result of search/,
    );
    await rejects(
      index.rescore(result),
      TypeError,
      "ZP_INVALID_FUNCTION",
      /read must be a function/,
    );
    await rejects(
      index.rescore(result, read),
      RangeError,
      "ZP_SHAPE_MISMATCH",
      /a vector for each of \d+ ids, got 0/,
    );
    const nan = (ids) => new Float32Array(ids.length * D).fill(Number.NaN);
    await rejects(
      index.rescore(result, nan),
      RangeError,
      "ZP_NON_FINITE",
      /got NaN for the id \d+/,
    );
  });
});

describe("Memory of an index", () => {
  it("is at most 1.1 times codes, 8 bytes a row and originals, however rows come", () => {
    const dimensions = 256;
    for (const [options, each] of [
      [{}, dimensions],
      [{ dtype: "int4" }, dimensions / 2],
      [{ originals: "float32" }, 5 * dimensions],
    ]) {
      const { VectorIndex: Own } = builds[0];
      const index = new Own({ dimensions, ...options });
      const some = random.normal(500 * dimensions);
      for (let i = 0; i < 40; i++) index.add(some);
      assert.equal(index.size, 20_000);
      const most = 1.1 * index.size * (each + 8);
      assert.ok(index.sizeInBytes <= most, `${index.sizeInBytes} is over ${most}`);
      assert.equal(index.remove(index.ids().slice(1)), 19_999);
      assert.ok(index.sizeInBytes <= 20_000 * each, `${index.sizeInBytes} after removal`);
      index.clear();
      assert.ok(index.sizeInBytes < 4096);
    }
  });
});
