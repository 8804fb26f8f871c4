// openModel with damaged files: bytes and structure. Each file is read, or refused with one of the library's errors.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { init } from "zeropoint";
import { openModel, quantizeModel } from "zeropoint/models";
import { layoutSafetensors, writeSafetensors } from "../../internal/formats.mjs";
import { effort } from "../support/effort.mjs";
import {
  collect,
  damage,
  damages,
  fromBase64,
  property,
  vectorsOf,
} from "../support/files/formats.mjs";
import { readVectors } from "../support/vectors.mjs";

await init();

/** Asserts that an error is the library's: a class, a code, and a message that names a public function or a tensor. */
function assertOwn(error) {
  const isOwn =
    (error instanceof TypeError || error instanceof RangeError) && /^ZP_/.test(error.code);
  if (!isOwn) throw error;
  assert.match(error.message, /^(openModel|Model\.\w+|bytes of .*?): /s);
}

/** Opens a model, and reads all its tensors in all ways. */
async function readAll(bytes, options) {
  let model;
  try {
    model = await openModel(bytes, options);
  } catch (error) {
    assertOwn(error);
    return;
  }
  for (const { name, shape, isQuantized } of model.tensors.values()) {
    // Damaged shapes may allocate no more memory than the file's size justifies.
    const reads = [model.read, model.readBytes, ...(isQuantized ? [model.readQuantized] : [])];
    for (const read of reads) {
      try {
        const result = await read.call(model, name);
        if (read !== model.readBytes) {
          const size = result.shape.reduce((product, length) => product * length, 1);
          assert.equal(result.data.length, size, `${name} ${shape}`);
        }
      } catch (error) {
        assertOwn(error);
      }
    }
  }
}

const { cases } = readVectors("formats/layouts");
const DTYPES = {
  F32: "float32",
  F16: "float16",
  BF16: "bfloat16",
  I8: "int8",
  I32: "int32",
  U32: "uint32",
  I64: "int64",
};
const BYTES = { float32: 4, float16: 2, bfloat16: 2, int8: 1, int32: 4, uint32: 4, int64: 8 };

/** A change of one tensor of a checkpoint: its dtype, its shape, or its presence. */
const changes = fc.array(
  fc.record({
    part: fc.nat(4),
    dtype: fc.option(fc.constantFrom(...Object.keys(BYTES))),
    shape: fc.option(fc.array(fc.nat(40), { maxLength: 3 })),
    isGone: fc.boolean(),
    seed: fc.nat(255),
  }),
  { maxLength: 2 },
);

/** Fields of a quantization_config. */
const configs = fc.record(
  {
    quant_method: fc.constantFrom("gptq", "awq", "compressed-tensors", "x", 7),
    bits: fc.constantFrom(0, 1, 2, 3, 4, 5, 8, 9, -1, 1.5, "4", 2 ** 40),
    group_size: fc.constantFrom(-1, 0, 1, 3, 32, 64, 128, 2 ** 31, 1e300, "x"),
    checkpoint_format: fc.constantFrom("gptq", "gptq_v2", "marlin", null),
    version: fc.constantFrom("gemm", "0.12.2", "0.18.0", 3),
    config_groups: fc.anything({ maxDepth: 2 }).map((weights) => ({ a: { weights } })),
    "model.m": fc.record({ bits: fc.integer(), group_size: fc.integer() }),
  },
  { requiredKeys: [] },
);

describe("openModel", () => {
  property(
    it,
    "reads checkpoints whose tensors and configuration do not fit each other, or refuses them",
    [fc.nat(cases.length - 1), changes, configs, fc.boolean()],
    async (index, edits, config, isMlx) => {
      const tensors = Object.entries(cases[index].tensors).map(([name, given]) => ({
        name: `model.m.${name}`,
        dtype: DTYPES[given.dtype],
        shape: given.shape,
        data: fromBase64(given.data),
      }));
      for (const { part, dtype, shape, isGone, seed } of edits) {
        const at = part % tensors.length;
        if (isGone && tensors.length > 1) {
          tensors.splice(at, 1);
          continue;
        }
        const own = { ...tensors[at], dtype: dtype ?? tensors[at].dtype };
        own.shape = shape ?? own.shape;
        const count = own.shape.reduce((product, length) => product * length, 1);
        own.data = new Uint8Array(count * BYTES[own.dtype]).map((_, i) => i * 37 + seed);
        tensors[at] = own;
      }
      const listed = tensors.map(({ data, ...rest }) => ({ ...rest, bytes: () => [data] }));
      const file = await collect(writeSafetensors(layoutSafetensors(listed)));
      const key = isMlx ? "quantization" : "quantization_config";
      let text;
      try {
        text = JSON.stringify({ [key]: config });
      } catch {
        // Not JSON.
        text = "{";
      }
      const externalData = () => new TextEncoder().encode(text);
      await readAll(file, { externalData });
    },
    400,
  );

  for (const format of ["safetensors", "gguf", "onnx", "npy"]) {
    const vectors = vectorsOf(format);
    const names = vectors.names.filter((name) => /\.(safetensors|gguf|onnx|npy|npz)$/.test(name));
    const originals = names
      .map((name) => vectors.bytes(name))
      .filter(({ length }) => length < 9000);
    property(
      it,
      `reads all of a damaged ${format} file in all ways, or refuses it`,
      [fc.nat(originals.length - 1), damages],
      async (index, list) => {
        const externalData = () => new Uint8Array(64);
        await readAll(damage(originals[index], list), { format, externalData });
      },
      150,
    );
  }

  // Weights in subgraphs, in functions, in nodes Constant, in external data, and of several nodes.
  const graphs = vectorsOf("onnx");
  const seeds = graphs.names.filter((name) =>
    /^(if|loop|scan|function|store-constant|external|shared|wire|matmul|dq|weight).*\.onnx$/.test(
      name,
    ),
  );
  property(
    it,
    "quantizes damaged ONNX graphs with subgraphs, functions and constants to files that it reads, or refuses them",
    [
      fc.nat(seeds.length - 1),
      fc.oneof(fc.constant([]), damages),
      fc.constantFrom("int8-tensor", "int8-channel", "uint8-affine", "int4-g32", "float16"),
      fc.boolean(),
    ],
    async (index, list, scheme, isStatic) => {
      const externalData = () => new Uint8Array(9000).map((_, i) => i * 41);
      const bytes = damage(graphs.bytes(seeds[index]), list);
      try {
        const model = await openModel(bytes, { format: "onnx", externalData });
        const names = [...model.tensors.keys()];
        const options = isStatic ? {} : { activations: "dynamic" };
        const { files } = await quantizeModel(model, scheme, options);
        const written = new Map();
        for (const { name, stream } of files) written.set(name, await collect(stream()));
        const [main] = [...written.keys()].filter((name) => name.endsWith(".onnx"));
        const own = (path) => written.get(path) ?? externalData();
        const again = await openModel(written.get(main), { format: "onnx", externalData: own });
        // A tensor has its name, or further ones of its codes and scales.
        if (list.length === 0) {
          const found = [...again.tensors.keys()].join("\n");
          for (const name of names) assert.ok(found.includes(name), `${seeds[index]}: ${name}`);
        }
        for (const name of again.tensors.keys()) await again.readBytes(name);
      } catch (error) {
        const isOwn =
          /^ZP_/.test(error.code) &&
          /^(openModel|quantizeModel|Model|bytes of)/.test(error.message);
        if (!isOwn) throw error;
        assert.ok(list.length > 0 || error.code !== "ZP_INVALID_FILE", error.message);
      }
    },
    effort(400),
  );

  property(
    it,
    "reads a model of TensorFlow.js with any manifest, or refuses it",
    [
      fc.array(
        fc.record({
          name: fc.string({ maxLength: 3 }),
          shape: fc.array(fc.oneof(fc.nat(5), fc.integer(), fc.double()), { maxLength: 3 }),
          dtype: fc.constantFrom("float32", "int32", "bool", "string", "uint8", 3),
          quantization: fc.option(
            fc.record({
              dtype: fc.constantFrom("uint8", "uint16", "float16", "int4"),
              scale: fc.double(),
              min: fc.double(),
              original_dtype: fc.constantFrom("float32", "int32"),
            }),
            { nil: undefined },
          ),
        }),
        { maxLength: 4 },
      ),
      fc.nat(200),
    ],
    async (weights, size) => {
      const manifest = { weightsManifest: [{ paths: ["a.bin"], weights }] };
      const json = new TextEncoder().encode(JSON.stringify(manifest));
      const externalData = () => new Uint8Array(size).map((_, i) => i * 91);
      await readAll(json, { format: "tfjs", externalData });
    },
  );
});
