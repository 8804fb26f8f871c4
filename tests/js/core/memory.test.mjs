import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { embedded, loadBuild, Memory } from "../../internal/core.mjs";
import { refuses } from "../support/asserts.mjs";

const MIB = 2 ** 20;

describe("Memory", () => {
  let core;
  let memory;
  beforeEach(async () => {
    core = await loadBuild("test", embedded, { build: "baseline" });
    memory = core.memory;
  });

  /** Lays out one buffer, and ends the call. */
  const visit = (bytes) => {
    const [base] = memory.layOut("test", bytes);
    const { capacity } = memory;
    memory.end();
    return { base, capacity };
  };

  it("places buffers one after the other, each at a multiple of 16", () => {
    const [first, ...others] = memory.layOut("test", 1, 17, 0, 5);
    assert.equal(first % 16, 0);
    assert.deepEqual(others, [first + 16, first + 48, first + 48]);
    memory.end();
    assert.deepEqual(memory.layOut("test", 3), [first]);
  });

  it("keeps one block for many small calls", () => {
    const { base, capacity } = visit(100);
    for (const bytes of [1, 5000, 40_000, 0]) assert.deepEqual(visit(bytes), { base, capacity });
  });

  it("at least doubles a block that it outgrows", () => {
    const { capacity } = visit(70_000);
    assert.equal(visit(capacity + 16).capacity, 2 * capacity);
  });

  it("frees a huge block at the end of the call", () => {
    const { capacity } = visit(40 * MIB);
    assert.equal(capacity, 40 * MIB);
    assert.equal(memory.capacity, 0);
    assert.ok(visit(100).capacity < MIB);
  });

  it("reuses the memory of a huge call for the next one", () => {
    const { base } = visit(40 * MIB);
    const heap = core.module.HEAPU8.length;
    for (let i = 0; i < 20; i++) assert.equal(visit(40 * MIB).base, base);
    assert.equal(core.module.HEAPU8.length, heap);
  });

  it("copies in and out after the heap has grown", () => {
    const at = memory.allocate("test", 16);
    memory.write("Float32Array", at, [1, 2, 3]);
    const before = core.module.HEAPU8.length;
    visit(64 * MIB);
    assert.ok(core.module.HEAPU8.length > before, "the heap grew");
    memory.writeOne("Float32Array", at + 4, 7);
    const out = new Float32Array(3);
    memory.read(at, out);
    assert.deepEqual([...out], [1, 7, 3]);
    assert.equal(memory.readOne("Float32Array", at + 8), 3);
    memory.release(at);
  });

  it("copies in and out after the heap was grown by other code", () => {
    const at = memory.allocate("test", 16);
    const out = new Float32Array(3);
    memory.write("Float32Array", at, [1, 2, 3]);
    memory.read(at, out);
    const before = core.module.HEAPU8.length;
    const grown = core.module.allocate(64 * MIB);
    assert.ok(core.module.HEAPU8.length > before, "the heap grew");
    memory.writeOne("Float32Array", at, 7);
    memory.read(at, out); // the same place as before
    assert.deepEqual([...out], [7, 2, 3]);
    core.module.release(grown);
    memory.release(at);
  });

  it("converts as typed arrays do when it copies in", () => {
    const at = memory.allocate("test", 16);
    memory.write("Float32Array", at, Float64Array.of(0.1, 1e300));
    assert.equal(memory.readOne("Float32Array", at), Math.fround(0.1));
    assert.equal(memory.readOne("Float32Array", at + 4), Number.POSITIVE_INFINITY);
    memory.release(at);
  });

  const failures = [
    ["more than 32 bits address", 2 ** 32],
    ["more than 2^53 bytes", 2 ** 60],
  ];
  for (const [name, bytes] of failures) {
    it(`refuses ${name} with the size in the message, and works on`, () => {
      refuses(
        () => memory.layOut("quantize", bytes),
        RangeError,
        "ZP_OUT_OF_MEMORY",
        new RegExp(`^quantize: the core needs ${bytes} bytes`),
      );
      assert.notEqual(memory.layOut("quantize", 4)[0], 0);
    });
  }

  it("refuses sizes beyond the heap's room, and stays usable", () => {
    const scarce = new Memory({ ...core.module, allocate: (n) => (n > MIB ? 0 : 80) });
    refuses(
      () => scarce.layOut("linear", 2 * MIB),
      RangeError,
      "ZP_OUT_OF_MEMORY",
      "linear: the core needs 2097152 bytes (2.0 MiB) for this call, more than it can have",
    );
    refuses(() => scarce.allocate("linear", 2 * MIB), RangeError, "ZP_OUT_OF_MEMORY", /2097152/);
    assert.deepEqual(scarce.layOut("linear", 16), [80]);
  });

  it("allocates the exact size of a call where there is no room to double", () => {
    const allocated = [];
    const allocate = (bytes) => {
      allocated.push(bytes);
      return bytes > 100_000 ? 0 : 64;
    };
    const scarce = new Memory({ ...core.module, allocate, release: () => undefined });
    scarce.layOut("test", 80_000);
    scarce.layOut("test", 90_000);
    assert.deepEqual(allocated, [80_000, 160_000, 90_000]);
  });
});
