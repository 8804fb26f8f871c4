// Block types in every build: the bytes of ggml, and values from bytes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Random, refuses, sameFloats } from "../support/asserts.mjs";
import { builds } from "../support/builds.mjs";
import { crc32, readVectors } from "../support/vectors.mjs";

const { rows, importance, cases } = readVectors("blocks");

const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
const floatsOf = (base64) => new Float32Array(bytesOf(base64).buffer);
const xOf = rows.map(({ x }) => floatsOf(x));
const importanceOf = importance.map(floatsOf);

/** NaN as in the vectors. */
function withPlainNaN(values) {
  const words = new Uint32Array(values.buffer);
  for (let i = 0; i < values.length; i++) if (Number.isNaN(values[i])) words[i] = 0x7fc00000;
  return values;
}

/** Values and bytes of a block. */
const SIZES = {
  f16: [1, 2],
  bf16: [1, 2],
  q8_0: [32, 34],
  q4_0: [32, 18],
  q4_1: [32, 20],
  q5_0: [32, 22],
  q5_1: [32, 24],
  q2_k: [256, 84],
  q3_k: [256, 110],
  q4_k: [256, 144],
  q5_k: [256, 176],
  q6_k: [256, 210],
  iq4_nl: [32, 18],
  iq4_xs: [256, 136],
  tq1_0: [256, 54],
  tq2_0: [256, 66],
  mxfp4: [32, 17],
  nvfp4: [64, 36],
  q1_0: [128, 18],
  q2_0: [64, 18],
};
const TYPES = Object.keys(SIZES);

for (const zp of builds) {
  const { quantizeBlocks, dequantizeBlocks, tensor } = zp;

  describe(`blocks in the ${zp.name} build`, () => {
    it("have the bytes of ggml, and give its values", () => {
      for (const { id, type, row, imatrix, q, y_crc32 } of cases) {
        const expected = bytesOf(q);
        if (row !== undefined) {
          const x = xOf[row];
          const weights = importanceOf[imatrix];
          const options = weights && {
            importance: Float32Array.from(x, (_, i) => weights[i % weights.length]),
          };
          const got = quantizeBlocks(x, type, options);
          assert.equal(String(got), String(expected), id);
        }
        const [values, bytes] = SIZES[type];
        const shape = [(expected.length / bytes) * values];
        const y = dequantizeBlocks(expected, type, shape);
        assert.equal(crc32(withPlainNaN(y.data)), y_crc32, id);
      }
    });

    for (const type of TYPES) {
      it(`of ${type} do not depend on the number of tiles`, () => {
        const random = new Random(7);
        const [values, bytes] = SIZES[type];
        const shape = [3, 200, 512];
        const x = { data: random.normal(3 * 200 * 512), shape };
        const whole = quantizeBlocks(x, type);
        assert.equal(whole.length, (x.data.length / values) * bytes);
        const row = (512 / values) * bytes;
        for (const i of [0, 255, 256, 511, 599]) {
          const own = quantizeBlocks(x.data.subarray(512 * i, 512 * (i + 1)), type);
          assert.deepEqual(whole.subarray(i * row, (i + 1) * row), own, `row ${i}`);
        }
        const y = dequantizeBlocks(whole, type, shape);
        const last = dequantizeBlocks(whole.subarray(599 * row), type, [512]);
        sameFloats(y.data.subarray(599 * 512), last.data);
      });
    }

    it("with importance do not depend on the number of tiles", () => {
      const random = new Random(8);
      const x = random.normal(600 * 512);
      const weights = random.normal(512).map(Math.abs);
      for (const type of ["q4_0", "q5_1", "q4_k", "iq4_nl"]) {
        const whole = quantizeBlocks({ data: x, shape: [600, 512] }, type, { importance: weights });
        const own = quantizeBlocks(x.subarray(599 * 512), type, { importance: weights });
        assert.deepEqual(whole.subarray(-own.length), own);
      }
    });

    it("come from half floats and doubles as from their float32 values", () => {
      const halves = Uint16Array.from({ length: 64 }, (_, i) => 0x3c00 + 37 * i);
      const values = dequantizeBlocks(new Uint8Array(halves.buffer), "f16", [2, 32]);
      const expected = quantizeBlocks(values, "q4_0");
      const x = { data: halves, shape: [2, 32], dtype: "float16" };
      assert.deepEqual(quantizeBlocks(x, "Q4_0"), expected);
      assert.deepEqual(quantizeBlocks(Float64Array.from(values.data), "Q4_0"), expected);
      const bits = { data: halves, shape: [64], type: "bfloat16" };
      assert.deepEqual(quantizeBlocks(bits, "BF16"), new Uint8Array(halves.buffer));
    });

    it("are written to out", () => {
      const x = tensor(Array.from({ length: 32 }, (_, i) => i));
      const out = new Uint8Array(34);
      assert.equal(quantizeBlocks(x, "q8_0", { out }), out);
      const values = new Float32Array(32);
      assert.equal(dequantizeBlocks(out, "q8_0", [1, 32], { out: values }).data, values);
      assert.equal(values[31], 31.005859375); // 127 * float16(31 / 127)
    });

    it("of no values are no bytes", () => {
      assert.equal(quantizeBlocks({ data: [], shape: [4, 0] }, "q4_k").length, 0);
      assert.deepEqual(dequantizeBlocks(new Uint8Array(0), "q4_k", [0, 256]).shape, [0, 256]);
    });

    it("refuse NaN and infinities, naming the first one", () => {
      const x = new Float32Array(300 * 1024);
      for (const [value, index] of [
        [NaN, 0],
        [Infinity, 131072],
        [-Infinity, 300 * 1024 - 1],
      ]) {
        for (const type of TYPES) {
          const bad = x.slice();
          bad[index] = value;
          refuses(
            () => quantizeBlocks(bad, type),
            RangeError,
            "ZP_NON_FINITE",
            new RegExp(`value ${index} is ${value}`),
          );
        }
      }
      refuses(() => quantizeBlocks([1e39], "f16"), TypeError, "ZP_INVALID_TENSOR", /tensor/);
      const large = Float64Array.of(1, 1e39);
      refuses(() => quantizeBlocks(large, "f16"), RangeError, "ZP_NON_FINITE", /value 1 is 1e\+39/);
    });

    const x = new Float32Array(256);
    const blocks = new Uint8Array(34);
    const refusals = {
      "unknown types": [
        [() => quantizeBlocks(x, "q4_9"), RangeError, "ZP_INVALID_DTYPE", /type must be .*"q4_k"/],
        [() => quantizeBlocks(x, "iq2_xs"), RangeError, "ZP_INVALID_DTYPE", /type/],
        [() => quantizeBlocks(x, "toString"), RangeError, "ZP_INVALID_DTYPE", /type/],
        [() => quantizeBlocks(x, 8), TypeError, "ZP_INVALID_DTYPE", /type/],
      ],
      "rows that are not a multiple of the block": [
        [
          () => quantizeBlocks({ data: x, shape: [8, 32] }, "q4_k"),
          RangeError,
          "ZP_SHAPE_MISMATCH",
          /multiple of 256 as its last length for q4_k, got \[8, 32\]/,
        ],
        [
          () => dequantizeBlocks(blocks, "q8_0", [2, 16]),
          RangeError,
          "ZP_SHAPE_MISMATCH",
          /multiple of 32/,
        ],
      ],
      "importance of another length, negative or NaN": [
        [
          () => quantizeBlocks(x, "q4_k", { importance: new Float32Array(32) }),
          RangeError,
          "ZP_SHAPE_MISMATCH",
          /one weight for each of 256 columns, got 32/,
        ],
        [
          () => quantizeBlocks(x, "q4_k", { importance: x.map((_, i) => (i === 3 ? -1 : 1)) }),
          RangeError,
          "ZP_INVALID_OPTION",
          /weight 3 is -1/,
        ],
        [
          () => quantizeBlocks(x, "q4_k", { importance: x.map(() => NaN) }),
          RangeError,
          "ZP_INVALID_OPTION",
          /weight 0 is NaN/,
        ],
      ],
      "out of another length, or that overlaps the values": [
        [
          () => quantizeBlocks(x, "q4_k", { out: new Uint8Array(3) }),
          RangeError,
          "ZP_INVALID_OUT",
          /out/,
        ],
        [
          () => quantizeBlocks(x, "q4_k", { out: new Uint8Array(x.buffer, 0, 144) }),
          RangeError,
          "ZP_INVALID_OUT",
          /share memory/,
        ],
      ],
      "unknown options": [
        [
          () => quantizeBlocks(x, "q4_k", { weights: x }),
          TypeError,
          "ZP_UNKNOWN_OPTION",
          /weights/,
        ],
      ],
      "bytes of another kind or number": [
        [() => dequantizeBlocks(x, "q8_0", [32]), TypeError, "ZP_INVALID_BYTES", /Uint8Array/],
        [
          () => dequantizeBlocks(new Uint8Array(33), "q8_0", [32]),
          RangeError,
          "ZP_INVALID_BYTES",
          /length 34 for q8_0 of shape \[32\], got 33/,
        ],
      ],
      "a missing or too large shape": [
        [
          () => dequantizeBlocks(blocks, "q8_0", [2 ** 20, 2 ** 20]),
          RangeError,
          "ZP_SIZE_OVERFLOW",
          /2\^32/,
        ],
        [() => dequantizeBlocks(blocks, "q8_0"), TypeError, "ZP_INVALID_SHAPE", /shape/],
      ],
    };
    for (const [what, cases] of Object.entries(refusals)) {
      it(`refuse ${what}`, () => {
        for (const [run, type, code, message] of cases) refuses(run, type, code, message);
      });
    }
  });
}
