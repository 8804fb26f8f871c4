import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { init, quantize, tensor } from "zeropoint";
import { refuses, sameCodes } from "../support/asserts.mjs";
import { x } from "./small.mjs";

await init();

describe("quantize into out", () => {
  it("writes the codes there and returns the same array", () => {
    const out = new Int8Array(9);
    const q = quantize(x, { out });
    assert.equal(q.data, out);
    sameCodes(out, quantize(x).data);
    const given = new Uint16Array(9);
    assert.equal(quantize(x, { dtype: "uint16", scale: 1, out: given }).data, given);
    assert.deepEqual([...given.slice(0, 3)], [192, 0, 729]);
  });

  it("writes to a part of a buffer and nothing beside it", () => {
    const memory = new Int8Array(13).fill(77);
    quantize(x, { out: memory.subarray(2, 11) });
    assert.deepEqual([...memory.slice(0, 2), ...memory.slice(11)], [77, 77, 77, 77]);
    sameCodes(memory.slice(2, 11), quantize(x).data);
  });

  it("writes to memory shared between threads", () => {
    const out = new Int8Array(new SharedArrayBuffer(9));
    quantize(x, { out });
    sameCodes(out.slice(), quantize(x).data);
  });

  it("refuses another type", () => {
    const message = "quantize: options.out must be of type Int8Array, got Uint8Array(9)";
    const out = new Uint8Array(9);
    refuses(() => quantize(x, { out }), TypeError, "ZP_INVALID_OUT", message);
    refuses(() => quantize(x, { out: [] }), TypeError, "ZP_INVALID_OUT", /got \[\]$/);
    refuses(() => quantize(x, { out: null }), TypeError, "ZP_INVALID_OUT", /got null$/);
  });

  it("refuses another length", () => {
    const message = "quantize: options.out must have length 9, got 8";
    refuses(() => quantize(x, { out: new Int8Array(8) }), RangeError, "ZP_INVALID_OUT", message);
  });

  it("refuses the memory of its input", () => {
    const buffer = new ArrayBuffer(64);
    const input = { data: new Float32Array(buffer, 0, 9), shape: [9] };
    const message = "quantize: options.out must not share memory with an input";
    const options = { out: new Int8Array(buffer, 35, 9) };
    refuses(() => quantize(input, options), RangeError, "ZP_INVALID_OUT", message);
    assert.equal(quantize(input, { out: new Int8Array(buffer, 36, 9) }).data.length, 9);
  });

  it("refuses the memory of given qparams", () => {
    const message = "quantize: options.out must not share memory with an input";
    for (const name of ["scale", "zeroPoint"]) {
      const given = {
        axis: 0,
        scale: { data: new Float32Array(3).fill(2), shape: [3, 1] },
        zeroPoint: { data: new Int32Array(3), shape: [3, 1] },
      };
      const out = new Int8Array(given[name].data.buffer, 1, 9);
      refuses(() => quantize(x, { ...given, out }), RangeError, "ZP_INVALID_OUT", message);
    }
  });

  it("shares the memory of given qparams with a result in out, and copies them otherwise", () => {
    const given = {
      axis: 0,
      scale: { data: new Float32Array(3).fill(2), shape: [3, 1] },
      zeroPoint: { data: new Int32Array(3), shape: [3, 1] },
    };
    const [kept, copied] = [quantize(x, { ...given, out: new Int8Array(9) }), quantize(x, given)];
    assert.deepEqual(kept, copied);
    for (const name of ["scale", "zeroPoint"]) {
      assert.equal(kept[name].data.buffer, given[name].data.buffer);
      assert.notEqual(copied[name].data.buffer, given[name].data.buffer);
    }
  });

  it("calls no method of given qparams", () => {
    class Odd extends Float32Array {
      get length() {
        return 1;
      }
      subarray() {
        throw new Error("subarray was called");
      }
    }
    const scale = { data: new Odd([0.5, 1, 2]), shape: [3, 1] };
    const plain = { data: Float32Array.of(0.5, 1, 2), shape: [3, 1] };
    const out = new Int8Array(9);
    sameCodes(
      quantize(x, { axis: 0, scale, out }).data,
      quantize(x, { axis: 0, scale: plain }).data,
    );
  });

  it("leaves out unchanged on any error", () => {
    const out = new Int8Array(9).fill(77);
    const wrong = [{ scale: 0 }, { scale: 1, zeroPoint: 500 }, { axis: 5 }, { groupSize: 0 }];
    for (const options of wrong) assert.throws(() => quantize(x, { ...options, out }), RangeError);
    const nan = tensor(new Float32Array(9).fill(Number.NaN));
    assert.throws(() => quantize(nan, { out }), { code: "ZP_NON_FINITE" });
    assert.deepEqual([...new Set(out)], [77]);
  });
});
