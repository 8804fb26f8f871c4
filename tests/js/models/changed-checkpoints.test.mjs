// Random checkpoints of every layout, of which one part is renamed, missing, transposed or of another dtype: reading gives the
// values of the unchanged checkpoint, or refuses.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { safetensorsOf } from "../support/files/checkpoints.mjs";
import { property } from "../support/files/formats.mjs";

await init();

const json = (value) => new TextEncoder().encode(JSON.stringify(value));
const method = (name, fields = {}) => ({
  quantization_config: { quant_method: name, ...fields },
});

/** Deterministic bytes, none of which is NaN in float8 or a large power of two. */
const bytesOf = (length, seed) =>
  Uint8Array.from({ length }, (_, i) => 96 + ((Math.imul(i + seed, 2654435761) >>> 27) & 31) - 16);
const wordsOf = (length, seed) =>
  Int32Array.from({ length }, (_, i) => Math.imul(i + seed + 1, 2654435761));
const scalesOf = (length, seed) =>
  Float32Array.from({ length }, (_, i) => 0.25 + ((i * 7 + seed) % 97) / 97);
const halvesOf = (length, seed) => Uint16Array.from({ length }, (_, i) => 0x3000 + i * 3 + seed);

/** Makes the tensors of a weight m.weight of [rows, columns], multiples of 32 and 128, and its configuration. */
const LAYOUTS = {
  "float8 with one scale": (rows, columns, seed) => [
    {
      "m.weight": ["float8_e4m3fn", [rows, columns], bytesOf(rows * columns, seed)],
      "m.weight_scale": ["float32", [], scalesOf(1, seed)],
    },
    method("fp8"),
  ],
  "float8 with scales of rows": (rows, columns, seed) => [
    {
      "m.weight": ["float8_e4m3fn", [rows, columns], bytesOf(rows * columns, seed)],
      "m.weight_scale": ["float32", [rows, 1], scalesOf(rows, seed)],
    },
    method("compressed-tensors"),
  ],
  "float8 in blocks": (rows, columns, seed) => [
    {
      "m.weight": ["float8_e4m3fn", [rows, columns], bytesOf(rows * columns, seed)],
      "m.weight_scale_inv": [
        "float32",
        [Math.ceil(rows / 128), columns / 128],
        scalesOf(Math.ceil(rows / 128) * (columns / 128), seed),
      ],
    },
    method("fp8", { weight_block_size: [128, 128] }),
  ],
  "experts of DeepSeek-V4": (rows, columns, seed) => [
    {
      "m.weight": ["int8", [rows, columns / 2], bytesOf((rows * columns) / 2, seed)],
      "m.scale": ["float8_e8m0fnu", [rows, columns / 32], bytesOf((rows * columns) / 32, seed)],
    },
    method("fp8"),
  ],
  "NVFP4 of ModelOpt": (rows, columns, seed) => [
    {
      "m.weight": ["uint8", [rows, columns / 2], bytesOf((rows * columns) / 2, seed)],
      "m.weight_scale": [
        "float8_e4m3fn",
        [rows, columns / 16],
        bytesOf((rows * columns) / 16, seed),
      ],
      "m.weight_scale_2": ["float32", [], scalesOf(1, seed)],
    },
    method("modelopt"),
  ],
  "MXFP4 of Quark": (rows, columns, seed) => [
    {
      "m.weight": ["uint8", [rows, columns / 2], bytesOf((rows * columns) / 2, seed)],
      "m.weight_scale": ["uint8", [rows, columns / 32], bytesOf((rows * columns) / 32, seed)],
    },
    method("quark"),
  ],
  "int8 of bitsandbytes": (rows, columns, seed) => [
    {
      "m.weight": ["int8", [rows, columns], bytesOf(rows * columns, seed)],
      "m.SCB": ["float32", [rows], scalesOf(rows, seed)],
    },
    method("bitsandbytes"),
  ],
  MLX: (rows, columns, seed) => [
    {
      "m.weight": ["uint32", [rows, columns / 8], wordsOf((rows * columns) / 8, seed)],
      "m.scales": ["float16", [rows, columns / 64], halvesOf((rows * columns) / 64, seed)],
      "m.biases": ["float16", [rows, columns / 64], halvesOf((rows * columns) / 64, seed + 5)],
    },
    { quantization: { bits: 4, group_size: 64 } },
  ],
  GPTQ: (rows, columns, seed) => [
    {
      "m.qweight": ["int32", [columns / 8, rows], wordsOf((rows * columns) / 8, seed)],
      "m.qzeros": ["int32", [columns / 128, rows / 8], wordsOf((rows * columns) / 1024, seed)],
      "m.scales": ["float16", [columns / 128, rows], halvesOf((rows * columns) / 128, seed)],
      "m.g_idx": ["int32", [columns], Int32Array.from({ length: columns }, (_, i) => i >> 7)],
    },
    method("gptq", { bits: 4, group_size: 128 }),
  ],
  AWQ: (rows, columns, seed) => [
    {
      "m.qweight": ["int32", [columns, rows / 8], wordsOf((rows * columns) / 8, seed)],
      "m.qzeros": ["int32", [columns / 128, rows / 8], wordsOf((rows * columns) / 1024, seed)],
      "m.scales": ["float16", [columns / 128, rows], halvesOf((rows * columns) / 128, seed)],
    },
    method("awq", { bits: 4, group_size: 128, version: "gemm" }),
  ],
  "compressed-tensors": (rows, columns, seed) => [
    {
      "m.weight_packed": ["int32", [rows, columns / 8], wordsOf((rows * columns) / 8, seed)],
      "m.weight_scale": ["float16", [rows, columns / 32], halvesOf((rows * columns) / 32, seed)],
      "m.weight_shape": ["int64", [2], BigInt64Array.of(BigInt(rows), BigInt(columns))],
    },
    method("compressed-tensors"),
  ],
};

/** Changes of a tensor beside the codes. */
const CHANGES = {
  renamed: (tensors, name, own) => ({ ...tensors, [`${name}_x`]: own }),
  "named otherwise": (tensors, _, own) => ({ ...tensors, "m.other": own }),
  missing: (tensors) => tensors,
  transposed: (tensors, name, [dtype, shape, data]) => ({
    ...tensors,
    [name]: [dtype, shape.toReversed(), data],
  }),
  "of int16": (tensors, name, [, shape, data]) => ({
    ...tensors,
    [name]: ["int16", shape, new Int16Array(data.length).fill(3)],
  }),
  "of float64": (tensors, name, [, shape, data]) => ({
    ...tensors,
    [name]: ["float64", shape, new Float64Array(data.length).fill(3)],
  }),
  "with an axis more": (tensors, name, [dtype, shape, data]) => ({
    ...tensors,
    [name]: [dtype, [...shape, 1], data],
  }),
  "cut to half": (tensors, name, own) => {
    const [dtype, [first, ...rest], data] = own;
    return first > 1 && first % 2 === 0
      ? { ...tensors, [name]: [dtype, [first / 2, ...rest], data.slice(0, data.length / 2)] }
      : { ...tensors, [name]: own };
  },
};

const open = async (tensors, config) =>
  openModel(await safetensorsOf(tensors), {
    externalData: (path) => (path === "config.json" ? json(config) : new Uint8Array(0)),
  });

describe("a random checkpoint of which one part is changed", () => {
  for (const [layout, make] of Object.entries(LAYOUTS)) {
    property(
      it,
      `gives the values of the unchanged one, or is refused: ${layout}`,
      [fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 4 }), fc.nat(999), fc.boolean()],
      async (height, width, seed, isDescribed) => {
        const [tensors, described] = make(32 * height, 128 * width, seed);
        // Without a configuration, the tensors tell the layout.
        const config = isDescribed ? described : {};
        const right = (await (await open(tensors, config)).read("m.weight")).data;
        const [codes, ...parts] = Object.keys(tensors);
        for (const part of parts) {
          const { [part]: own, ...others } = tensors;
          for (const [how, change] of Object.entries(CHANGES)) {
            // Without a configuration, float8 alone is a tensor as it is, and half of its scales may be all of larger blocks.
            const isOther = how === "missing" || how === "cut to half";
            if (isOther && !isDescribed && layout.startsWith("float8")) continue;
            const model = await open(change(others, part, own), config);
            let found;
            try {
              const name = model.tensors.has("m.weight") ? "m.weight" : codes;
              found = (await model.read(name)).data;
            } catch (error) {
              assert.match(error.code, /^ZP_(UNSUPPORTED|INVALID)_FILE$/, `${part} ${how}`);
              continue;
            }
            const isSame =
              found.length === right.length &&
              found.every((value, i) => Object.is(value, right[i]));
            assert.ok(isSame, `${part} ${how} of [${32 * height}, ${128 * width}]`);
          }
        }
      },
      16,
    );
  }
});
