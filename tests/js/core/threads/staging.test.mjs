import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import * as library from "zeropoint";
import { ARRAYS } from "../../../internal/base.mjs";
import { embedded, loadBuild, Staging } from "../../../internal/core.mjs";
import { Random, sameCodes, sameFloats } from "../../support/asserts.mjs";

const { create, init } = library;

await init();

const TYPES = Object.values(ARRAYS);

const newHeap = () => new WebAssembly.Memory({ initial: 64, maximum: 1024, shared: true });

/** The reason why this engine has no staging memory; false if it has one. */
function whyNot() {
  try {
    new Staging(newHeap());
    return false;
  } catch {
    return "this engine knows one memory a module only";
  }
}

describe("Staging", { skip: whyNot() }, () => {
  let heap;
  let staging;
  before(() => {
    heap = newHeap();
    staging = new Staging(heap);
  });

  const AT = 4096;
  /** Lengths: none, a few, and about one, two and three times the size of the staging memory. */
  const lengths = (bytes) => [
    ...[0, 1, 7, 1000],
    ...[1, 2, 3].flatMap((times) => [-1, 0, 1].map((more) => (times * 128 * 1024) / bytes + more)),
  ];

  for (const Type of TYPES) {
    const { name, BYTES_PER_ELEMENT: size } = Type;

    it(`copies a ${name} of any length there and back, and no byte beyond it`, () => {
      for (const count of lengths(size)) {
        const values = Type.from({ length: count }, (_, i) => (i * 37) % 101);
        const all = new Uint8Array(heap.buffer).fill(0xee);
        staging.write(name, AT, values, count);
        const there = new Type(heap.buffer, AT, count);
        assert.ok(values.every((value, i) => value === there[i]));
        assert.equal(all[AT - 1], 0xee);
        assert.equal(all[AT + count * size], 0xee);
        const out = new Type(count + 2).fill(99);
        staging.read(name, AT, out.subarray(1), count);
        assert.equal(out[0], 99);
        assert.equal(out[count + 1], 99);
        assert.ok(values.every((value, i) => value === out[i + 1]));
      }
    });
  }

  it("converts numbers as typed arrays do", () => {
    const values = Float64Array.from({ length: 40_000 }, (_, i) => i / 3);
    staging.write("Float32Array", AT, values, values.length);
    const there = new Float32Array(heap.buffer, AT, values.length);
    assert.ok(values.every((value, i) => Math.fround(value) === there[i]));
  });

  it("takes an array at any offset, and calls none of its methods", () => {
    class Odd extends Float32Array {
      set() {
        throw new Error("asked");
      }
      subarray() {
        throw new Error("asked");
      }
      slice() {
        throw new Error("asked");
      }
    }
    const { buffer } = Float32Array.from({ length: 50_001 }, (_, i) => i);
    staging.write("Float32Array", AT, new Odd(buffer, 4), 50_000);
    const out = new Odd(50_000);
    staging.read("Float32Array", AT, out, 50_000);
    assert.ok(out.every((value, i) => value === i + 1));
  });

  it("reaches memory added by growth of the heap", () => {
    const pages = heap.grow(1) + 1;
    const end = pages * 65536;
    staging.write("Uint8Array", end - 5000, new Uint8Array(5000).fill(7), 5000);
    const out = new Uint8Array(5000);
    staging.read("Uint8Array", end - 5000, out, 5000);
    assert.ok(out.every((byte) => byte === 7));
  });
});

describe("A core with threads", () => {
  // Lengths of copies in both directions: around 4 KiB, one tile, and more than one.
  const sizes = [1023, 1024, 1025, 4095, 4096, 131_072, 300_001];

  it("has staging memory in engines that support it", async () => {
    const core = await loadBuild("test", embedded, { build: "baseline", threads: 2 });
    try {
      assert.equal(core.threads, 2);
      assert.equal(core.memory.staging instanceof Staging, whyNot() === false);
    } finally {
      core.dispose();
    }
  });

  it("gives the bits of a core without threads, for every way of copying", async () => {
    const threads = await create({ threads: 2 });
    try {
      for (const size of sizes) {
        const x = threads.tensor(new Random(size).normal(size));
        const results = [library, threads].map((zp) => {
          const q = zp.quantize(x, { dtype: "uint8", scheme: "affine" });
          const { scale } = q;
          return {
            q,
            scale,
            y: zp.dequantize(q),
            error: zp.quantizationError(x, zp.dequantize(q)),
          };
        });
        const [one, two] = results;
        sameCodes(two.q.data, one.q.data, `${size} values:`);
        assert.equal(two.scale, one.scale);
        assert.equal(two.error, one.error);
        sameFloats(two.y.data, one.y.data);
      }
    } finally {
      threads.dispose();
    }
  });
});
