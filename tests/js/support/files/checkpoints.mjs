// Safetensors files made in memory, and deterministic values for them.

import assert from "node:assert/strict";
import { layoutSafetensors, writeSafetensors } from "../../../internal/formats.mjs";
import { collect } from "./formats.mjs";

/** A safetensors file of tensors by name: [dtype, shape, array]. @param metadata  pairs of texts */
export const safetensorsOf = (tensors, metadata) =>
  collect(
    writeSafetensors(
      layoutSafetensors(
        Object.entries(tensors).map(([name, [dtype, shape, array]]) => ({
          name,
          dtype,
          shape,
          bytes: () => [new Uint8Array(array.buffer, array.byteOffset, array.byteLength)],
        })),
        metadata,
      ),
    ),
  );

/** The bytes of an output file, which must be as many as it says. */
export async function outputBytes(file) {
  const bytes = await collect(file.stream());
  assert.equal(bytes.length, file.size, `size of ${file.name}`);
  return bytes;
}

/** Deterministic values around 0, of different sizes. */
export function someValues(count, seed = 1) {
  let state = seed;
  return new Float32Array(count).map(() => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 31 - 1) * (1 + (state & 7));
  });
}

/** The upper halves of float32 values: bfloat16, cut off. */
export const bfloat16Of = (values) =>
  Uint16Array.from(
    new Uint32Array(values.buffer, values.byteOffset, values.length),
    (word) => word >>> 16,
  );

/** Opens the files of quantizeModel as a folder. */
export async function openOutput(openModel, files) {
  const bytes = new Map();
  for (const file of files) bytes.set(file.name, await outputBytes(file));
  const main = [...bytes.keys()].find((name) => name.endsWith(".index.json")) ?? files[0].name;
  return await openModel(bytes.get(main), {
    externalData: (name) => {
      assert.ok(bytes.has(name), name);
      return bytes.get(name);
    },
  });
}
