// Random checkpoints of every layout, of which one part is changed: reading gives the values that plain loops compute of the
// unchanged checkpoint, or refuses.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { init } from "zeropoint";
import { openModel } from "zeropoint/models";
import { rejects } from "../support/asserts.mjs";
import { safetensorsOf } from "../support/files/checkpoints.mjs";
import { property } from "../support/files/formats.mjs";
import { LAYOUTS, referenceCheckpoint } from "../support/files/reference-layouts.mjs";

await init();

const json = (value) => new TextEncoder().encode(JSON.stringify(value));

/** The transpose of a matrix of a typed array. */
function turned(data, [rows, columns]) {
  const result = data.slice();
  for (let i = 0; i < data.length; i++) {
    result[(i % columns) * rows + Math.floor(i / columns)] = data[i];
  }
  return result;
}

/** Changes of a tensor beside the codes. They give undefined where nothing would change. */
const CHANGES = {
  renamed: (others, name, own) => ({ ...others, [`${name}_x`]: own }),
  "named otherwise": (others, name, own) => ({ ...others, [name.replace(/[^.]+$/, "other")]: own }),
  missing: (others) => others,
  transposed: (others, name, [dtype, shape, data]) => {
    const [rows, columns] = shape;
    // The transpose of a square matrix has its shape, and nothing tells it.
    if (shape.length !== 2 || rows === columns) return undefined;
    return { ...others, [name]: [dtype, [columns, rows], turned(data, shape)] };
  },
  "with its axes reversed": (others, name, [dtype, shape, data]) => ({
    ...others,
    [name]: [dtype, shape.toReversed(), data],
  }),
  "of int16": (others, name, [, shape, data]) => ({
    ...others,
    [name]: ["int16", shape, new Int16Array(data.length).fill(3)],
  }),
  "of float64": (others, name, [, shape, data]) => ({
    ...others,
    [name]: ["float64", shape, new Float64Array(data.length).fill(3)],
  }),
  "of uint8": (others, name, [dtype, shape, data]) =>
    dtype === "uint8" || dtype === "float8_e8m0fnu"
      ? undefined
      : { ...others, [name]: ["uint8", shape, new Uint8Array(data.length).fill(121)] },
  "with an axis more": (others, name, [dtype, shape, data]) => ({
    ...others,
    [name]: [dtype, [...shape, 1], data],
  }),
  "with an axis of 1 in front": (others, name, [dtype, shape, data]) => ({
    ...others,
    [name]: [dtype, [1, ...shape], data],
  }),
  "cut to half": (others, name, [dtype, [first, ...rest], data]) =>
    first > 1 && first % 2 === 0
      ? { ...others, [name]: [dtype, [first / 2, ...rest], data.slice(0, data.length / 2)] }
      : undefined,
  "beside an unknown one": (others, name, own) => ({
    ...others,
    [name]: own,
    [name.replace(/[^.]+$/, "weight_outlier_scale")]: ["float32", [1], Float32Array.of(2)],
  }),
};

/**
 * Changes that leave a whole checkpoint of another layout, which nothing in the file tells from the one that was meant.
 * @param part  the name of the changed tensor
 */
function isAnother(layout, part, how, isDescribed) {
  // Codes of the order of other writers.
  if (how === "missing" && part === "m.comfy_quant") return true;
  // A GPTQ checkpoint without act-order has no such tensor.
  if (how === "missing" && part === "m.g_idx" && !isDescribed) return true;
  if (how === "missing" && part === "m.weight_zero_point" && !isDescribed) return true;
  // Stacks have other tensors beside them.
  if (how === "named otherwise" && /stack/.test(layout) && !isDescribed) return true;
  // float8 alone is a tensor as it is, and half of its scales may be all of larger blocks.
  return !isDescribed && /float8/.test(layout) && (how === "missing" || how === "cut to half");
}

const open = async (tensors, config) =>
  openModel(await safetensorsOf(tensors), {
    externalData: (path) => (path === "config.json" ? json(config) : new Uint8Array(0)),
  });

const isSame = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

describe("MLX without a configuration", () => {
  it("is read where its shapes have one meaning, and else refused with what is missing", async () => {
    for (const [layout, isRead] of [
      ["MLX of 3 bits", true],
      ["MLX of 4 bits", false],
    ]) {
      const { tensors, values } = referenceCheckpoint(layout, 32, 128, 1);
      const model = await open(tensors, {});
      if (isRead) assert.ok(isSame((await model.read("m.weight")).data, values));
      else {
        const expected = /by bits and group size, which a config\.json beside it tells/;
        await rejects(model.read("m.weight"), RangeError, "ZP_UNSUPPORTED_FILE", expected);
      }
    }
  });
});

describe("a random checkpoint of which one part is changed", () => {
  for (const layout of Object.keys(LAYOUTS)) {
    property(
      it,
      `gives right values, or is refused: ${layout}`,
      [fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3 }), fc.nat(999), fc.boolean()],
      async (height, width, seed, isDescribed) => {
        const made = referenceCheckpoint(layout, 32 * height, 128 * width, seed);
        const { tensors, name, values } = made;
        // Without a configuration, the tensors tell the layout.
        const config = isDescribed || made.isByConfig ? made.config : {};
        const [codes, ...parts] = Object.keys(tensors);
        for (const part of parts) {
          const { [part]: own, ...others } = tensors;
          for (const [how, change] of Object.entries(CHANGES)) {
            const changed = change(others, part, own);
            if (changed === undefined || isAnother(layout, part, how, isDescribed)) continue;
            const model = await open(changed, config);
            let found;
            try {
              found = (await model.read(model.tensors.has(name) ? name : codes)).data;
            } catch (error) {
              assert.match(error.code ?? String(error), /^ZP_(UNSUPPORTED|INVALID)_FILE$/, part);
              continue;
            }
            const what = `${part} ${how} of [${made.shape}], config ${isDescribed}`;
            assert.ok(values !== undefined && isSame(found, values), what);
          }
        }
      },
      5,
    );
  }
});
